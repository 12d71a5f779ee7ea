/*-------------------------------------------------------------------------
 *
 * writer.h
 *		Rows of a statement that writes, sent to their servers as frames.
 *
 * A writer belongs to an executor state: to a statement or a COPY.  It has a
 * target for each foreign table that is written to, and a lane for each
 * server.  Rows go from the slot into the columns of their target.  Full
 * targets become frames, which are sent on the lane of their server: one call
 * is in flight for each server, and the next frames are made meanwhile.
 *
 * The first min_write_rows rows of a target are kept as tuples.  If no more
 * come, or the remote declines, postgres_fdw gets them: nothing has happened
 * until then.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITER_H
#define PX_EXEC_WRITER_H

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
	const char *sql;			/* postgres_fdw's statement for one row */
	List	   *attrs;			/* the columns that it sends, from 1: generated
								 * ones are left out */
	AttrNumber	ctid_attno;		/* UPDATE, DELETE: in the plan's rows */
	bool		may_repeat;		/* UPDATE, DELETE: a ctid may come twice */
	int			batch_size;		/* postgres_fdw's rows of a statement */
	bool		do_nothing;		/* ON CONFLICT DO NOTHING */
	bool		set_processed;	/* correct es_processed if fewer rows were
								 * written than counted */
} px_write_plan;

/*
 * A target for plan, in es_query_cxt.  The executor state's writer is made
 * with the first target, and freed with the executor state.
 */
extern px_write_target *px_writer_add(const px_write_plan *plan);

/*
 * Write a row: what ExecForeignInsert, Update and Delete return.  slot is NULL
 * for a DELETE, as there.  NULL if a ctid comes for the second time.  Errors:
 * those of the remote for this and earlier rows.  May block.
 */
extern TupleTableSlot *px_writer_row(px_write_target *target,
									 TupleTableSlot *slot,
									 TupleTableSlot *plan_slot);

/*
 * Send all rows of the executor state's targets, and wait until they are
 * written.  Then counts are right, and later rows begin anew.  Does nothing
 * for an executor state without a writer.
 */
extern void px_writer_flush(EState *estate);

/* What EXPLAIN shows of a target, valid after px_writer_flush. */
typedef struct px_write_stats
{
	const char *transport;		/* "exchange v1", "postgres_fdw (reason)" */
	uint64		rows;			/* sent as frames */
	uint64		frames;
	uint64		raw_nbytes;
	uint64		wire_nbytes;
	uint64		choices[8];		/* frames, by px_choice */
	double		encode_ms;
	double		wait_ms;		/* for the remote */
	double		apply_ms;		/* as told by the remote */
} px_write_stats;

extern const px_write_stats *px_writer_stats(const px_write_target *target);

#endif							/* PX_EXEC_WRITER_H */
