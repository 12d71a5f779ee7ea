/*-------------------------------------------------------------------------
 *
 * apply.c
 *		The SQL function exchange.apply: a statement for the rows of a piece.
 *
 * A coordinator calls it in postgres_fdw's session, in place of executing
 * postgres_fdw's prepared statement once for each row.  The statement is run
 * by the executor itself, with the rights of the caller.  So what it does, and
 * what it complains about, is what PostgreSQL does for such a statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_func.h"
#include "portability/instr_time.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "admit/write_effects.h"
#include "admit/deposit.h"
#include "admit/write_query.h"
#include "compat.h"
#include "compat_executor.h"
#include "exec/apply_plan.h"
#include "exec/apply_state.h"
#include "exec/timeout.h"
#include "exec/insert_mode.h"
#include "exec/tid_scan.h"
#include "tuple/fault.h"
#include "wire/apply_words.h"
#include "wire/held_error.h"

PG_FUNCTION_INFO_V1(px_sql_apply);

/* A call of exchange.apply, in a list of those that are under way. */
typedef struct apply_call
{
	px_apply	apply;			/* must be first */
	const char *sql;
	struct apply_call *outer;	/* NULL: none */
} apply_call;

static apply_call *innermost = NULL;

px_apply *
px_apply_current(void)
{
	return innermost ? &innermost->apply : NULL;
}

px_apply *
px_apply_find(ParamListInfo params)
{
	for (apply_call *call = innermost; call; call = call->outer)
	{
		if (params != NULL && call->apply.params == params)
			return &call->apply;
	}
	return NULL;
}

static void
read_order(text *line, px_apply_order *order)
{
	px_fault	fault = {0};
	char		detail[PX_FAULT_NBYTES_MAX];

	if (px_apply_order_read(text_to_cstring(line), order, &fault) != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid exchange order: %s",
						px_status_text(fault.status)),
				 errdetail_internal("%s", px_fault_text(&fault, detail))));
}

/* exchange.unpack(text), in the schema of exchange.apply: function. */
static Oid
find_unpack(Oid function)
{
	Oid			argument = TEXTOID;
	char *schema = get_namespace_name(get_func_namespace(function));
	List	   *name;

	/* A cursor may be older than that. */
	if (schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("extension \"%s\" was dropped meanwhile",
						"pg_exchange")));
	name = list_make2(makeString(schema), makeString("unpack"));
	return LookupFuncName(name, 1, &argument, false);
}

/* One piece of text as parameter $1. */
static ParamListInfo
make_params(text *piece)
{
	ParamListInfo params = makeParamList(1);

	params->params[0].value = PointerGetDatum(piece);
	params->params[0].isnull = false;
	params->params[0].pflags = 0;
	params->params[0].ptype = TEXTOID;
	return params;
}

/* A descriptor of the columns that the parameters become. */
static TupleDesc
make_tupdesc(const Oid *types, int ntypes)
{
	TupleDesc	tupdesc = CreateTemplateTupleDesc(ntypes);

	for (int i = 0; i < ntypes; i++)
	{
		TupleDescInitEntry(tupdesc, (AttrNumber) (i + 1), NULL, types[i], -1,
						   0);
		TupleDescInitEntryCollation(tupdesc, (AttrNumber) (i + 1),
									get_typcollation(types[i]));
	}
	TupleDescFinalize(tupdesc);
	return tupdesc;
}

/*
 * Say which row is being processed.  The coordinator removes the line, and
 * finds the row by it.
 */
static void
row_context(void *arg)
{
	const px_apply *apply = arg;

	if (apply->has_row)
		errcontext("pg_exchange row " UINT64_FORMAT, apply->row);
}

/* Run one planned statement; returns the rows that it has affected. */
static uint64
run_statement(apply_call *call, PlannedStmt *stmt)
{
	QueryDesc  *query;
	uint64		processed;

	CommandCounterIncrement();
	UpdateActiveSnapshotCommandId();
	query = CreateQueryDesc(stmt, call->sql, GetActiveSnapshot(),
							InvalidSnapshot, None_Receiver,
							call->apply.params, NULL, 0);
	ExecutorStart(query, 0);
	px_tid_scan_keep(query->planstate);
	px_executor_run(query);
	px_tid_scan_release(query->planstate);
	ExecutorFinish(query);
	processed = stmt->canSetTag ? query->estate->es_processed : 0;
	ExecutorEnd(query);
	FreeQueryDesc(query);
	return processed;
}

/*
 * Run the statements, of which there are several if there are rules, for the
 * rows before rows_end that were not read yet.
 */
static uint64
run_statements(apply_call *call, List *stmts)
{
	px_apply   *apply = &call->apply;
	uint64		first = px_piece_reader_position(apply->reader);
	uint64		processed = 0;
	ListCell   *lc;

	apply->row = first;
	apply->has_row = true;
	foreach(lc, stmts)
	{
		if (lc != list_head(stmts))
			px_piece_reader_seek(apply->reader, first);
		processed += run_statement(call, lfirst_node(PlannedStmt, lc));
	}

	/* A statement may have had no use for the rows. */
	px_piece_reader_seek(apply->reader, apply->rows_end);
	return processed;
}

/*
 * Run the statements for all rows of the piece: at once, or for as many rows
 * at a time as postgres_fdw would.
 */
static uint64
run_for_rows(apply_call *call, List *stmts)
{
	px_apply   *apply = &call->apply;
	uint64		rows = px_piece_reader_rows(apply->reader);
	uint64		processed = 0;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "exchange.apply",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);

	for (apply->rows_end = 0; apply->rows_end < rows;)
	{
		uint64		first = apply->rows_end;
		uint64		written;

		apply->rows_end = Min(first + apply->rows_at_once, rows);

		/* Defaults and triggers may want to know when their statement began. */
		if (first > 0)
			SetCurrentStatementStartTimestamp();

		/*
		 * A rule may have made several rows of one.  postgres_fdw counts no
		 * more rows than it has sent.
		 */
		written = run_statements(call, stmts);
		processed += Min(written, apply->rows_end - first);
		MemoryContextReset(context);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
	px_piece_reader_finish(apply->reader);
	return processed;
}

static List *
plan_statements(const apply_call *call, List *rewritten)
{
	List	   *stmts = NIL;
	ListCell   *lc;

	foreach(lc, rewritten)
	{
		Query	   *query = lfirst_node(Query, lc);

		if (query->commandType == CMD_UTILITY)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("statement cannot take its rows from an exchange"),
					 errdetail("A rule has a utility command.")));
		stmts = lappend(stmts, px_apply_plan(query, call->sql));
	}
	return stmts;
}

/*
 * Is the only statement executed by a node of ours, ExchangeInsert?  It makes
 * late checks after as many rows as postgres_fdw's statement would have.
 */
static bool
makes_late_checks(List *stmts)
{
	return list_length(stmts) == 1 &&
		px_insert_is_on_top(linitial_node(PlannedStmt, stmts));
}

/*
 * Have the reader read the piece, from a deposit if the order names one: false
 * if that is gone.
 */
static bool
open_piece(px_apply *apply, const px_apply_order *order, text *piece)
{
	dsm_segment *segment;
	const uint8_t *bytes;
	size_t		nbytes;

	if (order->deposit.handle == 0)
	{
		px_piece_reader_open(apply->reader, piece);
		return true;
	}
	bytes = px_deposit_open(&order->deposit, &nbytes, &segment);
	if (bytes == NULL)
		return false;
	px_piece_reader_open_bytes(apply->reader, bytes, nbytes);
	px_deposit_close(segment);
	return true;
}

/* Run the statement for the rows of the piece; for none if it is gone. */
static uint64
apply_piece(apply_call *call, Oid function, const px_apply_order *order,
			text *piece, bool *gone)
{
	px_apply   *apply = &call->apply;
	Query	   *query;
	List	   *rewritten;
	List	   *stmts;
	Oid		   *types;
	int			ntypes;
	Oid			unpack;
	px_write_effects effects;
	uint64		rows;
	uint64		processed;

	query = px_write_query_analyze(call->sql, &types, &ntypes);
	unpack = find_unpack(function);
	query = px_write_query_from_rows(query, unpack, types, ntypes);
	if (query->commandType != CMD_INSERT)
		apply->batch_size = 1;
	apply->timed = px_timeout_is_of_call(function);
	apply->params = make_params(piece);
	apply->reader = px_piece_reader_new(make_tupdesc(types, ntypes),
										(int) apply->batch_size, true);
	*gone = !open_piece(apply, order, piece);
	if (*gone)
		return 0;
	rows = px_piece_reader_rows(apply->reader);

	/*
	 * All rows at once, unless that could be seen: then as many as
	 * postgres_fdw's statement would have.
	 */
	rewritten = QueryRewrite(query);
	px_write_effects_judge(rewritten, types, ntypes, unpack, &effects);
	apply->rows_at_once = effects.visible || effects.late_checks
		? Min(apply->batch_size, rows)
		: rows;

	PushActiveSnapshot(GetTransactionSnapshot());
	stmts = plan_statements(call, rewritten);
	if (!effects.visible && makes_late_checks(stmts))
		apply->rows_at_once = rows;
	processed = run_for_rows(call, stmts);
	PopActiveSnapshot();
	return processed;
}

/*
 * Is it not about a row?  Then it is raised in any case: a cancel, a deadlock,
 * a serialization failure, a lock that was not available, lack of memory.
 */
static bool
must_be_raised(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
			return true;
	}
	return sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE;
}

/* The error as the answer of exchange.apply. */
static text *
held_error(const ErrorData *error)
{
	px_held_error held = {
		.message = error->message ? error->message : "",
		.detail = error->detail ? error->detail : "",
		.hint = error->hint ? error->hint : "",
		.context = error->context ? error->context : "",
	};
	size_t		nbytes;
	char	   *words;

	strlcpy(held.sqlstate, unpack_sql_state(error->sqlerrcode),
			sizeof(held.sqlstate));
	nbytes = px_held_error_write(NULL, 0, &held) + 1;
	words = palloc(nbytes);
	px_held_error_write(words, nbytes, &held);
	return cstring_to_text(words);
}

/*
 * Run the statement in a subtransaction.  Returns NULL; or, if a row has
 * failed, the error, and nothing is left of what was done.
 */
static text *
apply_and_hold(apply_call *call, Oid function, const px_apply_order *order,
			   text *piece, px_apply_result *result)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	text	   *volatile answer = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		result->rows = apply_piece(call, function, order, piece,
								   &result->gone);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (must_be_raised(error->sqlerrcode))
			ReThrowError(error);
		answer = held_error(error);
	}
	PG_END_TRY();
	return answer;
}

/*
 * exchange.apply(request text, statement text, frames text) returns text
 */
Datum
px_sql_apply(PG_FUNCTION_ARGS)
{
	apply_call	call = {0};
	px_apply_order order;
	px_apply_result result = {0};
	char		answer[PX_APPLY_WORDS_NBYTES_MAX];
	text	   *volatile held = NULL;
	ErrorContextCallback callback;
	instr_time	begin;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(begin);
	read_order(PG_GETARG_TEXT_PP(0), &order);
	call.apply.batch_size = order.batch_size;
	call.sql = text_to_cstring(PG_GETARG_TEXT_PP(1));
	call.outer = innermost;

	callback.callback = row_context;
	callback.arg = &call;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	innermost = &call;
	PG_TRY();
	{
		if (order.hold)
			held = apply_and_hold(&call, fcinfo->flinfo->fn_oid, &order,
								  PG_GETARG_TEXT_PP(2), &result);
		else
			result.rows = apply_piece(&call, fcinfo->flinfo->fn_oid, &order,
									  PG_GETARG_TEXT_PP(2), &result.gone);
	}
	PG_FINALLY();
	{
		innermost = call.outer;
	}
	PG_END_TRY();
	error_context_stack = callback.previous;
	if (held)
		PG_RETURN_TEXT_P(held);

	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, begin);
	result.us = (uint64) INSTR_TIME_GET_MICROSEC(end);
	px_apply_result_write(answer, sizeof(answer), &result);
	PG_RETURN_TEXT_P(cstring_to_text(answer));
}
