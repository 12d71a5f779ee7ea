/*-------------------------------------------------------------------------
 *
 * apply_state.h
 *		What exchange.apply is doing: shared with the nodes below it.
 *
 * exchange.apply executes a statement whose rows come from ExchangeUnpack.
 * The nodes of that statement find here where the rows are, and say which of
 * them is being processed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_APPLY_STATE_H
#define PX_EXEC_APPLY_STATE_H

#include "fmgr.h"
#include "nodes/params.h"

#include "tuple/piece_reader.h"

typedef struct px_apply
{
	ParamListInfo params;		/* of the statement: $1 is the piece */
	px_piece_reader *reader;	/* has the piece */
	uint32		batch_size;		/* rows that postgres_fdw would have in a
								 * statement */

	/*
	 * The rows that the running statement is given: those before rows_end that
	 * were not read yet, which are rows_at_once, or less at the end.
	 */
	uint64		rows_end;
	uint64		rows_at_once;

	/* statement_timeout begins anew with each batch_size rows. */
	bool		timed;

	/*
	 * The row being processed, from 0, for error messages.  Whoever processes
	 * rows later than ExchangeUnpack has returned them sets it.
	 */
	uint64		row;
	bool		has_row;
} px_apply;

/*
 * The exchange.apply whose statement has these parameters
 * (estate->es_param_list_info); NULL if there is none.  Valid while the
 * statement runs.
 */
extern px_apply *px_apply_find(ParamListInfo params);

/* The innermost exchange.apply that plans or runs its statement, or NULL. */
extern px_apply *px_apply_current(void);

/* exchange.apply; plan/apply_call.c compares its address. */
extern PGDLLEXPORT Datum px_sql_apply(PG_FUNCTION_ARGS);

#endif							/* PX_EXEC_APPLY_STATE_H */
