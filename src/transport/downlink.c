/*-------------------------------------------------------------------------
 *
 * downlink.c
 *		Calls on the connection that postgres_fdw has, for writing.
 *
 * The synchronous way: postgres_fdw is given a statement to prepare which is
 * not an INSERT, but a SELECT, and has RETURNING.  It prepares it, executes it
 * with the columns of a slot as parameters, and stores the row that it returns
 * in the slot.  What it looks at is made in memory: a relation with a single
 * column of type text, a ResultRelInfo and a ModifyTableState.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "compat_executor.h"
#include "transport/depositor.h"
#include "transport/downlink.h"
#include "transport/fdw_cursor.h"
#include "transport/remote_error.h"

/*
 * How often frames are sent on, on connections of our own, while a result is
 * waited for: a socket's buffer empties in that time, on a link of 25 MB/s and
 * with 128 kB, which it has at first.
 */
#define SEND_ON_MS	5

/* A statement that is prepared on the remote; in the query's memory. */
typedef struct prepared_call
{
	char	   *sql;
	bool		has_argument;
	ModifyTableState mtstate;
	PlanState	outer;			/* of which nothing is looked at */
	RelationData relation;
	ResultRelInfo relinfo;
	TupleTableSlot *slot;		/* argument, then result */
} prepared_call;

struct px_downlink
{
	EState	   *estate;
	ResultRelInfo *target;
	FdwRoutine *routine;		/* postgres_fdw's own */
	Oid			serverid;
	Oid			userid;
	prepared_call *prepared;	/* of the last synchronous call, or NULL */
	px_fdw_cursor *cursor;		/* of the last asynchronous call, or NULL */
	bool		busy;			/* its result was not collected */
	pgsocket	socket;
};

px_downlink *
px_downlink_new(ModifyTableState *mtstate, ResultRelInfo *target)
{
	EState	   *estate = mtstate->ps.state;
	MemoryContext oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	px_downlink *downlink = palloc0(sizeof(px_downlink));
	Oid			relid = RelationGetRelid(target->ri_RelationDesc);

	downlink->estate = estate;
	downlink->target = target;
	downlink->serverid = GetForeignTable(relid)->serverid;
	downlink->userid = px_result_relation_user(target, estate);
	downlink->routine = GetFdwRoutineByServerId(downlink->serverid);
	downlink->socket = PGINVALID_SOCKET;
	MemoryContextSwitchTo(oldcontext);
	return downlink;
}

/* ---------------------------------------------------------------------
 * The synchronous way
 * --------------------------------------------------------------------- */

/* A relation that looks like the foreign table, but for its columns. */
static void
make_relation(prepared_call *prepared, Relation table)
{
	Relation	relation = &prepared->relation;
	TupleDesc	columns = CreateTemplateTupleDesc(1);

	TupleDescInitEntry(columns, 1, "argument", TEXTOID, -1, 0);
	TupleDescFinalize(columns);
	relation->rd_id = RelationGetRelid(table);
	relation->rd_rel = palloc(CLASS_TUPLE_SIZE);
	memcpy(relation->rd_rel, table->rd_rel, CLASS_TUPLE_SIZE);
	relation->rd_att = columns;
}

/* The parts that postgres_fdw looks at, for the user of target. */
static void
make_relinfo(prepared_call *prepared, const ResultRelInfo *target)
{
	ResultRelInfo *relinfo = &prepared->relinfo;

	NodeSetTag(relinfo, T_ResultRelInfo);
	relinfo->ri_RelationDesc = &prepared->relation;
	relinfo->ri_RootResultRelInfo = target->ri_RootResultRelInfo;
	relinfo->ri_RangeTableIndex = target->ri_RangeTableIndex;
	if (relinfo->ri_RangeTableIndex == 0)	/* rows are routed to it */
		relinfo->ri_RangeTableIndex =
			target->ri_RootResultRelInfo->ri_RangeTableIndex;
}

static void
make_mtstate(prepared_call *prepared, EState *estate)
{
	ModifyTableState *mtstate = &prepared->mtstate;

	NodeSetTag(mtstate, T_ModifyTableState);
	NodeSetTag(&prepared->outer, T_ResultState);
	mtstate->ps.state = estate;
	mtstate->operation = CMD_INSERT;
	outerPlanState(mtstate) = &prepared->outer;
}

/* What postgresPlanForeignModify would return. */
static List *
make_private(char *sql, bool has_argument)
{
	return list_make5(makeString(sql),
					  has_argument ? list_make1_int(1) : NIL,
					  makeInteger(0),	/* no end of VALUES */
					  makeBoolean(true),	/* it returns rows */
					  list_make1_int(1));
}

/* Nothing is sent to the remote until it is executed. */
static prepared_call *
prepare_call(px_downlink *downlink, const char *sql, bool has_argument)
{
	MemoryContext context = downlink->estate->es_query_cxt;
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	prepared_call *prepared = palloc0(sizeof(prepared_call));

	prepared->sql = pstrdup(sql);
	prepared->has_argument = has_argument;
	make_relation(prepared, downlink->target->ri_RelationDesc);
	make_relinfo(prepared, downlink->target);
	make_mtstate(prepared, downlink->estate);
	prepared->slot = MakeSingleTupleTableSlot(prepared->relation.rd_att,
											  &TTSOpsVirtual);
	downlink->routine->BeginForeignModify(
		&prepared->mtstate, &prepared->relinfo,
		make_private(prepared->sql, has_argument), 0, 0);
	MemoryContextSwitchTo(oldcontext);
	return prepared;
}

static void
unprepare_call(px_downlink *downlink)
{
	prepared_call *prepared = downlink->prepared;

	if (prepared == NULL)
		return;
	downlink->prepared = NULL;
	downlink->routine->EndForeignModify(downlink->estate, &prepared->relinfo);
	ExecDropSingleTupleTableSlot(prepared->slot);
	pfree(prepared);
}

/* Execute it.  The result is in the slot, unless NULL is returned. */
static TupleTableSlot *
execute_call(px_downlink *downlink, text *argument)
{
	prepared_call *prepared = downlink->prepared;
	TupleTableSlot *slot = prepared->slot;
	MemoryContext context = downlink->estate->es_query_cxt;
	MemoryContext oldcontext = MemoryContextSwitchTo(context);

	ExecClearTuple(slot);
	slot->tts_values[0] = PointerGetDatum(argument);
	slot->tts_isnull[0] = argument == NULL;
	ExecStoreVirtualTuple(slot);
	slot = downlink->routine->ExecForeignInsert(
		downlink->estate, &prepared->relinfo, slot, slot);
	MemoryContextSwitchTo(oldcontext);
	return slot;
}

text *
px_downlink_call(px_downlink *downlink, const char *sql, text *argument,
				 const char *reported)
{
	MemoryContext context = CurrentMemoryContext;
	TupleTableSlot *volatile result = NULL;
	bool		has_argument = argument != NULL;

	Assert(!downlink->busy);
	if (downlink->prepared &&
		(downlink->prepared->has_argument != has_argument ||
		 strcmp(downlink->prepared->sql, sql) != 0))
		unprepare_call(downlink);
	if (downlink->prepared == NULL)
		downlink->prepared = prepare_call(downlink, sql, has_argument);

	PG_TRY();
	{
		result = execute_call(downlink, argument);
	}
	PG_CATCH();
	{
		px_remote_error_rethrow(context, sql, reported);
	}
	PG_END_TRY();
	if (TupIsNull(result) || result->tts_isnull[0])
		return NULL;
	return (text *) DatumGetPointer(result->tts_values[0]);
}

/* ---------------------------------------------------------------------
 * The asynchronous way
 * --------------------------------------------------------------------- */

/* Close the cursor of the last call, which takes a round trip. */
static void
end_cursor(px_downlink *downlink)
{
	px_fdw_cursor *cursor = downlink->cursor;

	downlink->cursor = NULL;
	if (cursor)
		px_fdw_cursor_end(cursor);
}

/*
 * The same before the next call.  An error, such as a lost connection, is one
 * of that call.
 */
static void
end_cursor_for(px_downlink *downlink, const char *reported)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		end_cursor(downlink);
	}
	PG_CATCH();
	{
		px_remote_error_rethrow(context, PX_CLOSE_CURSOR, reported);
	}
	PG_END_TRY();
}

void
px_downlink_send(px_downlink *downlink, const char *sql, text *argument,
				 const char *reported)
{
	Oid			relid = RelationGetRelid(downlink->target->ri_RelationDesc);

	Assert(!downlink->busy);
	end_cursor_for(downlink, reported);
	downlink->cursor = px_fdw_cursor_new_call(downlink->estate,
											  downlink->serverid, relid,
											  downlink->userid, sql, argument,
											  reported);
	downlink->busy = true;
	px_fdw_cursor_start(downlink->cursor);
}

bool
px_downlink_is_busy(const px_downlink *downlink)
{
	return downlink->busy;
}

bool
px_downlink_has_result(px_downlink *downlink)
{
	Assert(downlink->busy);
	return px_fdw_cursor_wait(downlink->cursor, 0);
}

text *
px_downlink_collect(px_downlink *downlink)
{
	text	   *result;

	Assert(downlink->busy);
	while (px_depositors_send_on() &&
		   !px_fdw_cursor_wait(downlink->cursor, SEND_ON_MS))
		;
	result = px_fdw_cursor_fetch(downlink->cursor);
	downlink->busy = false;
	downlink->socket = px_fdw_cursor_socket(downlink->cursor);
	return result;
}

const ErrorData *
px_downlink_kept_error(const px_downlink *downlink)
{
	return downlink->busy ? px_fdw_cursor_kept_error(downlink->cursor) : NULL;
}

pgsocket
px_downlink_socket(const px_downlink *downlink)
{
	return downlink->socket;
}

void
px_downlink_end(px_downlink *downlink)
{
	Assert(!downlink->busy);
	end_cursor(downlink);
	unprepare_call(downlink);
	pfree(downlink);
}
