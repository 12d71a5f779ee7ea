/*-------------------------------------------------------------------------
 *
 * unpack.c
 *		Executing ExchangeUnpack: a piece in, rows out.
 *
 * The rows are decoded one batch at a time, and nothing is stored.  If the
 * statement is that of exchange.apply, the piece is read by its reader, which
 * outlives the statement: there may be one statement for some of the rows, and
 * another for the next ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "utils/memutils.h"

#include "admit/session.h"
#include "exec/apply_state.h"
#include "exec/timeout.h"
#include "node/row_function.h"
#include "node/unpack.h"
#include "tuple/piece_reader.h"

PG_FUNCTION_INFO_V1(px_sql_unpack);

static const CustomExecMethods unpack_exec_methods;

typedef struct px_unpack_state
{
	px_row_function base;		/* must be first */

	px_apply   *apply;			/* whose statement this is; NULL: nobody's */
	px_piece_reader *reader;	/* NULL before the first row */
	bool		opened;			/* the reader has the piece */
	uint64		rows_begin;		/* apply: the first row of the statement */
} px_unpack_state;

/*
 * The exchange.apply whose piece this is.  A rule, view or policy of a user
 * may call exchange.unpack in the same statement, with a piece of its own and
 * other columns.  But only the call that exchange.apply has made has the
 * statement's parameter: stored queries have no parameters.
 */
static px_apply *
find_apply(const FuncExpr *call, ParamListInfo params)
{
	const Param *piece = linitial(call->args);

	if (!IsA(piece, Param) || piece->paramkind != PARAM_EXTERN)
		return NULL;
	return px_apply_find(params);
}

/* Begin to read the piece; false if it is null. */
static bool
open_piece(px_unpack_state *state)
{
	EState	   *estate = state->base.css.ss.ps.state;
	MemoryContext oldcontext;
	Datum		piece;

	if (state->apply)
	{
		state->reader = state->apply->reader;
		state->rows_begin = px_piece_reader_position(state->reader);
		state->opened = true;
		return true;
	}

	if (!px_row_function_argument(&state->base, &piece))
		return false;
	oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	if (state->reader == NULL)
		state->reader = px_piece_reader_new(state->base.tupdesc,
											PX_ROW_FUNCTION_WINDOW_ROWS,
											false);
	px_piece_reader_open(state->reader, DatumGetTextPP(piece));
	MemoryContextSwitchTo(oldcontext);
	state->opened = true;
	return true;
}

/*
 * Another row of exchange.apply: maybe of another statement of postgres_fdw.
 */
static void
begin_row(px_apply *apply)
{
	apply->row = px_piece_reader_position(apply->reader);
	if (apply->timed && apply->row % apply->batch_size == 0)
		px_timeout_next_statement();
}

static bool
unpack_next(px_row_function *base, Datum *values, bool *isnull)
{
	px_unpack_state *state = (px_unpack_state *) base;

	if (!state->opened && !open_piece(state))
		return false;
	if (state->apply &&
		px_piece_reader_position(state->reader) >= state->apply->rows_end)
		return false;
	if (state->apply)
		begin_row(state->apply);
	return px_piece_reader_next(state->reader, values, isnull);
}

static Node *
unpack_create_state(CustomScan *scan)
{
	return px_row_function_create(sizeof(px_unpack_state),
								  &unpack_exec_methods);
}

/*
 * In the statement of exchange.apply, only rechecks want the whole row: it is
 * an UPDATE or DELETE.  Where a concurrent change is an error, there is no
 * recheck, and no time is spent on the row.
 */
static void
unpack_begin(CustomScanState *node, EState *estate, int eflags)
{
	px_unpack_state *state = (px_unpack_state *) node;
	const FuncExpr *call = px_row_function_begin(&state->base, estate);

	state->apply = find_apply(call, estate->es_param_list_info);
	state->base.next = unpack_next;
	state->base.lacks_row = state->apply && IsolationUsesXactSnapshot();
}

static void
unpack_rescan(CustomScanState *node)
{
	px_unpack_state *state = (px_unpack_state *) node;

	ExecScanReScan(&node->ss);
	if (!state->opened)
		return;
	if (state->apply)
		px_piece_reader_seek(state->reader, state->rows_begin);
	else if (node->ss.ps.chgParam != NULL)
		state->opened = false;
	else
		px_piece_reader_seek(state->reader, 0);
}

const CustomScanMethods px_unpack_scan_methods = {
	.CustomName = "ExchangeUnpack",
	.CreateCustomScanState = unpack_create_state,
};

static const CustomExecMethods unpack_exec_methods = {
	.CustomName = "ExchangeUnpack",
	.BeginCustomScan = unpack_begin,
	.ExecCustomScan = px_row_function_exec,
	.EndCustomScan = px_row_function_end,
	.ReScanCustomScan = unpack_rescan,
};

void
px_unpack_node_init(void)
{
	RegisterCustomScanMethods(&px_unpack_scan_methods);
	px_session_set_unpack(px_sql_unpack);
}

/* exchange.unpack(piece text) returns setof record */
Datum
px_sql_unpack(PG_FUNCTION_ARGS)
{
	px_row_function_not_planned("unpack");
	PG_RETURN_NULL();			/* keep compilers quiet */
}
