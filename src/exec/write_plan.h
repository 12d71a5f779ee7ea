/*-------------------------------------------------------------------------
 *
 * write_plan.h
 *		What a target of a writer is made of, and what is known of it after.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_PLAN_H
#define PX_EXEC_WRITE_PLAN_H

#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"

typedef struct px_write_target px_write_target;

/* What a target is made of; all must live as long as the executor state. */
typedef struct px_write_plan
{
	ModifyTableState *mtstate;	/* as given to postgres_fdw's Begin function */
	ResultRelInfo *relinfo;
	const FdwRoutine *fdw;		/* postgres_fdw's own */
	void	   *fdw_state;		/* what its Begin function has made */
	CmdType		operation;		/* CMD_INSERT, CMD_UPDATE, CMD_DELETE */
	const char *sql;			/* postgres_fdw's statement for one row; NULL
								 * until the remote is asked if rows are
								 * routed or copied */
	List	   *attrs;			/* the columns that it sends, from 1: generated
								 * ones are left out; as sql */
	AttrNumber	ctid_attno;		/* UPDATE, DELETE: in the plan's rows */
	int64		begun_ns;		/* when postgres_fdw began, by px_wall_ns */
	bool		may_repeat;		/* UPDATE, DELETE: a ctid may come twice */
	int			batch_size;		/* postgres_fdw's rows of a statement */
	bool		whole_statements;	/* send only these before the end */
	bool		passes_first;	/* no row is kept: postgres_fdw writes the
								 * first ones as they come */
	bool		expects_few;	/* the same, as more are not expected, until
								 * frames of the server are made */
	bool		do_nothing;		/* ON CONFLICT DO NOTHING */
	bool		set_processed;	/* correct es_processed if fewer rows were
								 * written than counted */
} px_write_plan;

/* What EXPLAIN shows of a target, valid after px_writer_flush. */
typedef struct px_write_stats
{
	const char *transport;		/* "exchange v1", "postgres_fdw (reason)" */
	const char *local;			/* why nothing is compressed, as "same host";
								 * NULL: it is */
	uint64		rows;			/* sent as frames */
	uint64		frames;
	uint64		raw_nbytes;
	uint64		wire_nbytes;
	uint64		choices[8];		/* frames, by px_choice */
	double		encode_ms;
	double		wait_ms;		/* for the remote */
	double		apply_ms;		/* as told by the remote */
} px_write_stats;

#endif							/* PX_EXEC_WRITE_PLAN_H */
