/*-------------------------------------------------------------------------
 *
 * child_keys.c
 *		The keys of an ExchangeLookup where postgres_fdw reads.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "conn/foreign_server.h"
#include "exec/ask_types.h"
#include "exec/child_keys.h"
#include "exec/scan_keys.h"
#include "exec/scan_tuple.h"
#include "transport/transmission.h"

/* What is asked, in this order. */
typedef enum keys_question
{
	QUESTION_TYPES,				/* types and collations, and whether more may
								 * be asked */
	QUESTION_MODIFIERS,
	QUESTIONS
} keys_question;

struct px_child_keys
{
	/* Fixed at begin. */
	PlanState  *asking;			/* the scan that asks for the keys */
	px_fdw_cursor *question;
	char	   *sql[QUESTIONS]; /* the second one is NULL without modifiers */
	Bitmapset  *params;			/* the numbers of the shared arrays */

	/* Of the fallback. */
	bool		due;			/* it is to begin (anew) with the next row */
	bool		declined;		/* types are others, or not known */
	SubTransactionId subid;		/* in which they were the same */
	char	   *encoding;		/* of the remote's database; valid with subid */
	int			nscans;			/* begun by the child */

	/* The rows of the child, from its second scan on, or if one follows. */
	Tuplestorestate *rows;		/* NULL: they are not kept */
	TupleTableSlot *row;		/* with the ctid as its last column */
	bool		child_done;		/* all are in rows */
};

/* ---------------------------------------------------------------------
 * The questions
 * --------------------------------------------------------------------- */

/*
 * The types whose values are, put out and read as one of the declared type, the
 * same values: as OIDs, which all built-in types have for ever.
 */
static const char *
types_like(Oid type, int32 typmod)
{
	if (typmod < 0)
	{
		switch (type)
		{
			case INT4OID:
				return psprintf("%u,%u", INT4OID, INT2OID);
			case INT8OID:
				return psprintf("%u,%u,%u", INT8OID, INT4OID, INT2OID);
			case TEXTOID:
			case VARCHAROID:
				return psprintf("%u,%u", TEXTOID, VARCHAROID);
		}
	}
	return psprintf("%u", type);
}

static void
append_type_test(StringInfo sql, const List *key)
{
	const Var  *column = list_nth_node(Var, key, PX_SCAN_KEY_COLUMN);

	appendStringInfo(sql,
					 "%spg_catalog.pg_typeof(k.c%d) OPERATOR(pg_catalog.=)"
					 " ANY ('{%s}'::pg_catalog.regtype[])",
					 sql->len > 0 ? " AND " : "",
					 intVal(list_nth(key, PX_SCAN_KEY_POSITION)),
					 types_like(column->vartype, column->vartypmod));
}

/*
 * Are strings equal only if their bytes are?  PostgreSQL's own collations are
 * deterministic.  Their names have no schema, because search_path is
 * pg_catalog.  The name can be asked for only after the type has been found to
 * be that of strings.
 */
static void
append_collation_test(StringInfo sql, const List *key)
{
	appendStringInfo(sql,
					 " AND pg_catalog.pg_collation_for(k.c%d)"
					 " COLLATE pg_catalog.\"C\""
					 " OPERATOR(pg_catalog.~) '^(\"[^\"]*\"|[^\".]*)$'",
					 intVal(list_nth(key, PX_SCAN_KEY_POSITION)));
}

/* The name of the remote table, as postgres_fdw's queries have it. */
static const char *
remote_table(Oid relid)
{
	const char *schema;
	const char *name;

	px_remote_table_name(relid, &schema, &name);
	return quote_qualified_identifier(schema, name);
}

/*
 * Values do not tell their modifier, but the catalog does.  It is read in the
 * snapshot in which the rows are read.  Rows that this snapshot shows were
 * written with the modifier that it shows, or have been rewritten for it.
 */
static void
append_modifier_test(StringInfo sql, Oid relid, const Var *column)
{
	const char *name = px_remote_column_name(relid, column->varattno);

	appendStringInfo(sql, "%s(SELECT a.atttypmod FROM pg_catalog.pg_attribute a"
					 " WHERE a.attrelid OPERATOR(pg_catalog.=)"
					 " pg_catalog.to_regclass(%s)::pg_catalog.oid"
					 " AND a.attname OPERATOR(pg_catalog.=) %s::pg_catalog.name)"
					 " OPERATOR(pg_catalog.=) %d",
					 sql->len > 0 ? " AND " : "",
					 quote_literal_cstr(remote_table(relid)),
					 quote_literal_cstr(name), column->vartypmod);
}

/*
 * A query of one row: the encoding of the database, or null.  The outer join
 * reads no row of the table, and both queries have the same parameters.
 */
static char *
make_question(const char *tests, const char *from)
{
	return psprintf("SELECT CASE WHEN %s"
					" THEN pg_catalog.getdatabaseencoding()::pg_catalog.text"
					" END FROM (SELECT) d LEFT JOIN %s ON false", tests, from);
}

static void
make_questions(const px_receive_state *state, px_child_keys *keys,
			   const char *from)
{
	Oid			relid = RelationGetRelid(state->css.ss.ss_currentRelation);
	StringInfoData types;
	StringInfoData modifiers;
	ListCell   *lc;

	initStringInfo(&types);
	initStringInfo(&modifiers);
	foreach(lc, state->keys)
	{
		const List *key = lfirst_node(List, lc);
		const Var  *column = list_nth_node(Var, key, PX_SCAN_KEY_COLUMN);

		append_type_test(&types, key);
		if (OidIsValid(column->varcollid))
			append_collation_test(&types, key);
		if (column->vartypmod >= 0)
			append_modifier_test(&modifiers, relid, column);
	}
	if (modifiers.len > 0)
	{
		/* To lack the right to read it would be an error. */
		appendStringInfoString(&types, " AND pg_catalog.has_table_privilege("
							   "'pg_catalog.pg_attribute', 'SELECT')");
		keys->sql[QUESTION_MODIFIERS] = make_question(modifiers.data, from);
	}
	keys->sql[QUESTION_TYPES] = make_question(types.data, from);
}

/* The answer, valid until the next question; or NULL. */
static text *
ask(const px_receive_state *state, px_child_keys *keys, keys_question question)
{
	px_fdw_cursor_rescan(keys->question);
	px_fdw_cursor_set_sql(keys->question, keys->sql[question]);
	px_fdw_cursor_request(keys->question);
	return px_ask_types_fetch(keys->question, state->foreign->fs_server);
}

/* The remote's encoding if it has the types, or NULL. */
static char *
ask_types(const px_receive_state *state, px_child_keys *keys)
{
	text	   *answer = ask(state, keys, QUESTION_TYPES);

	if (answer && keys->sql[QUESTION_MODIFIERS])
		answer = ask(state, keys, QUESTION_MODIFIERS);
	return answer ? text_to_cstring(answer) : NULL;
}

/* ---------------------------------------------------------------------
 * The scan that asks for the keys
 * --------------------------------------------------------------------- */

/* The remote query as an item of FROM. */
static char *
make_from(const px_receive_state *state)
{
	const ForeignScan *foreign = state->foreign;
	int			ncolumns = list_length(lsecond(foreign->fdw_private));
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "(%s) k(", strVal(linitial(foreign->fdw_private)));
	for (int i = 1; i <= ncolumns; i++)
		appendStringInfo(&sql, "%sc%d", i > 1 ? ", " : "", i);
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

static ForeignScan *
make_asking_plan(const px_receive_state *state, const char *from)
{
	ForeignScan *plan = px_scan_tuple_plan(state->foreign,
										   px_receive_table(state));
	int			param = list_length(plan->fdw_exprs);
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT * FROM %s WHERE ", from);
	foreach(lc, state->keys)
	{
		const List *key = lfirst_node(List, lc);
		const Param *array = list_nth_node(Param, key, PX_SCAN_KEY_OWN);

		appendStringInfo(&sql, "%sk.c%d OPERATOR(pg_catalog.=) ANY ($%d::%s)",
						 foreach_current_index(lc) > 0 ? " AND " : "",
						 intVal(list_nth(key, PX_SCAN_KEY_POSITION)), ++param,
						 px_transmission_type(array->paramtype, -1));
	}
	plan->fdw_private = list_copy(plan->fdw_private);
	linitial(plan->fdw_private) = makeString(sql.data);
	plan->fdw_exprs = state->params;
	return plan;
}

void
px_child_keys_begin(px_receive_state *state, int eflags)
{
	EState	   *estate = state->css.ss.ps.state;
	px_child_keys *keys;
	char	   *from;
	Size		sql_nbytes;
	ListCell   *lc;

	if (state->keys == NIL)
		return;
	keys = palloc0(sizeof(px_child_keys));
	from = make_from(state);
	make_questions(state, keys, from);
	sql_nbytes = strlen(keys->sql[QUESTION_TYPES]) + 1;
	if (keys->sql[QUESTION_MODIFIERS])
		sql_nbytes = Max(sql_nbytes,
						 strlen(keys->sql[QUESTION_MODIFIERS]) + 1);
	keys->question = px_fdw_cursor_new(
		estate, state->foreign->fs_server, state->rtindex, state->userid,
		state->foreign->fdw_exprs, state->remote_sql, sql_nbytes);
	keys->asking = ExecInitNode((Plan *) make_asking_plan(state, from), estate,
								eflags);
	foreach(lc, state->keys)
		keys->params = bms_add_member(
			keys->params,
			list_nth_node(Param, lfirst_node(List, lc),
						  PX_SCAN_KEY_SHARED)->paramid);
	state->child_keys = keys;
}

/* ---------------------------------------------------------------------
 * The rows of the child
 * --------------------------------------------------------------------- */

/* A slot for a row with its ctid. */
static TupleTableSlot *
make_row_slot(const px_receive_state *state)
{
	TupleDesc	scan_desc =
		((ScanState *) state->child)->ss_ScanTupleSlot->tts_tupleDescriptor;
	int			natts = scan_desc->natts;
	TupleDesc	desc = CreateTemplateTupleDesc(natts + 1);

	for (int i = 1; i <= natts; i++)
		TupleDescCopyEntry(desc, i, scan_desc, i);
	TupleDescInitEntry(desc, natts + 1, NULL, TIDOID, -1, 0);
	TupleDescFinalize(desc);
	return ExecInitExtraTupleSlot(state->css.ss.ps.state, desc,
								  &TTSOpsMinimalTuple);
}

/* Keep the child's rows from now on. */
static void
keep_rows(const px_receive_state *state, px_child_keys *keys)
{
	if (keys->row == NULL)
		keys->row = make_row_slot(state);
	keys->rows = tuplestore_begin_heap(false, false, work_mem);
	tuplestore_set_eflags(keys->rows, EXEC_FLAG_REWIND);
}

static void
forget_rows(px_child_keys *keys)
{
	if (keys->rows)
		tuplestore_end(keys->rows);
	keys->rows = NULL;
	keys->child_done = false;
}

static void
put_row(px_child_keys *keys, TupleTableSlot *slot)
{
	TupleDesc	desc = keys->row->tts_tupleDescriptor;
	int			natts = desc->natts;
	Datum	   *values = palloc(natts * sizeof(Datum));
	bool	   *isnull = palloc(natts * sizeof(bool));

	slot_getallattrs(slot);
	memcpy(values, slot->tts_values, (natts - 1) * sizeof(Datum));
	memcpy(isnull, slot->tts_isnull, (natts - 1) * sizeof(bool));
	values[natts - 1] = PointerGetDatum(&slot->tts_tid);
	isnull[natts - 1] = false;
	tuplestore_putvalues(keys->rows, desc, values, isnull);
	pfree(values);
	pfree(isnull);
}

/* The next row that was kept.  False if there is none. */
static bool
next_kept_row(px_child_keys *keys)
{
	TupleTableSlot *row = keys->row;
	int			last = row->tts_tupleDescriptor->natts - 1;

	if (!tuplestore_gettupleslot(keys->rows, true, false, row))
		return false;
	slot_getallattrs(row);
	row->tts_tid = *(ItemPointer) DatumGetPointer(row->tts_values[last]);
	return true;
}

static TupleTableSlot *
next_fallback_row(px_receive_state *state)
{
	TupleTableSlot *slot = ExecProcNode(state->fallback);

	/* A row that was projected has lost its ctid. */
	if (!TupIsNull(slot) && IsA(state->fallback, ForeignScanState))
		slot->tts_tid =
			((ScanState *) state->fallback)->ss_ScanTupleSlot->tts_tid;
	return slot;
}

/* ---------------------------------------------------------------------
 * The fallback
 * --------------------------------------------------------------------- */

bool
px_child_keys_rescan(px_receive_state *state, const Bitmapset *changed)
{
	px_child_keys *keys = state->child_keys;

	if (keys == NULL)
		return false;
	keys->due = true;
	if (!bms_is_subset(changed, keys->params))
		forget_rows(keys);
	return true;
}

static void
rescan(PlanState *node)
{
	/* Any changed parameter has postgres_fdw open a new cursor. */
	bms_free(node->chgParam);
	node->chgParam = bms_make_singleton(0);
	ExecReScan(node);
}

/* Do the keys go along? */
static bool
may_ask(const px_receive_state *state, px_child_keys *keys)
{
	SubTransactionId subid = GetCurrentSubTransactionId();

	/* The end of another one may have released locks. */
	if (keys->declined || keys->subid == subid)
		return !keys->declined;
	keys->encoding = ask_types(state, keys);
	keys->declined = keys->encoding == NULL;
	keys->subid = subid;
	return !keys->declined;
}

/* Begin a scan of the child, or go back in the rows that were kept. */
static void
begin_child(px_receive_state *state, px_child_keys *keys)
{
	if (keys->rows)
		tuplestore_rescan(keys->rows);
	else
	{
		rescan(state->child);
		if (state->rescan_follows || keys->nscans > 0)
			keep_rows(state, keys);
		keys->nscans++;
	}
}

/* Begin to return rows for the keys. */
static void
begin_fallback(px_receive_state *state, px_child_keys *keys)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	keys->due = false;
	if (may_ask(state, keys))
	{
		state->fallback = keys->asking;
		px_scan_keys_fit(state, keys->encoding);
		rescan(keys->asking);
	}
	else
	{
		state->fallback = state->child;
		begin_child(state, keys);
	}
	MemoryContextSwitchTo(oldcontext);
}

/* The next row of those that are kept, or one more of the child. */
static TupleTableSlot *
next_child_row(px_receive_state *state, px_child_keys *keys)
{
	TupleTableSlot *slot;

	if (next_kept_row(keys))
		return keys->row;
	if (keys->child_done)
		return NULL;
	slot = next_fallback_row(state);
	if (TupIsNull(slot))
		keys->child_done = true;
	else
		put_row(keys, slot);
	return slot;
}

TupleTableSlot *
px_child_keys_next(px_receive_state *state)
{
	px_child_keys *keys = state->child_keys;

	if (keys && keys->due)
		begin_fallback(state, keys);
	if (keys && keys->rows && state->fallback == state->child)
		return next_child_row(state, keys);
	return next_fallback_row(state);
}

void
px_child_keys_end(px_receive_state *state)
{
	px_child_keys *keys = state->child_keys;

	if (keys == NULL)
		return;
	forget_rows(keys);
	ExecEndNode(keys->asking);
	px_fdw_cursor_end(keys->question);
}
