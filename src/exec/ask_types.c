/*-------------------------------------------------------------------------
 *
 * ask_types.c
 *		Has the remote the types that the foreign tables declare?
 *
 * The question names the same relations as the remote query, as sides of outer
 * joins without a match: so it reads none of their rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace_d.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "compat.h"
#include "conn/pool.h"
#include "exec/ask_types.h"
#include "transport/stream.h"
#include "transport/transmission.h"
#include "tuple/policy.h"

/*
 * How long the answer may take while streams are open.  One of these may hold
 * a lock that a third session waits for, and the question may wait for that
 * session.  The remote does not know that the stream waits for us.
 */
#define ANSWER_TIMEOUT_MS	1000

char *
px_collation_name(Oid collation)
{
	HeapTuple	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	Form_pg_collation form;
	char	   *name = NULL;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	form = (Form_pg_collation) GETSTRUCT(tuple);
	if (form->collnamespace == PG_CATALOG_NAMESPACE)
		name = pstrdup(NameStr(form->collname));
	ReleaseSysCache(tuple);
	return name;
}

char *
px_ask_types_test(const char *column, Oid type, int32 typmod, Oid collation)
{
	const char *test_of_order = "";

	/* Of equal text, it makes another value. */
	if (px_type_names_objects(type))
		return pstrdup("false");
	if (OidIsValid(collation))
	{
		const char *name = px_collation_name(collation);

		/* What others mean there is anybody's guess. */
		if (name == NULL)
			return pstrdup("false");
		test_of_order = psprintf(", %s::pg_catalog.text",
								 quote_literal_cstr(name));
	}
	return psprintf("exchange.has_type(ROW(%s, NULL::%s%s), %d)", column,
					px_transmission_type(type, -1), test_of_order, typmod);
}

char *
px_ask_types_sql(const char *tests, const char *from)
{
	return psprintf("SELECT CASE WHEN %s THEN 'same'::pg_catalog.text END"
					" FROM (SELECT) d%s", tests, from);
}

/* The parameters of the question. */
static List *
question_params(const px_receive_state *state, int nparams)
{
	const Plan *plan = &state->foreign->scan.plan;

	if (nparams != PX_ASK_TYPES_LOCAL_PARAMS)
		return list_copy_head(state->params, nparams);
	do
		plan = outerPlan(plan);
	while (!IsA(plan, ForeignScan));
	return ((const ForeignScan *) plan)->fdw_exprs;
}

void
px_ask_types_begin(px_receive_state *state, List *items)
{
	const char *sql;

	if (items == NIL)
		return;
	sql = strVal(list_nth(items, PX_ASK_TYPES_SQL));
	state->types_question = px_fdw_cursor_new(
		state->css.ss.ps.state, state->foreign->fs_server, state->rtindex,
		state->userid,
		question_params(state, intVal(list_nth(items, PX_ASK_TYPES_NPARAMS))),
		state->remote_sql, strlen(sql) + 1);
	state->types_sql = sql;
	state->types_alone =
		question_params(state, intVal(list_nth(items,
											   PX_ASK_TYPES_NPARAMS))) != NIL;
}

bool
px_ask_types_is_due(const px_receive_state *state)
{
	return state->types_question != NULL &&
		state->types_subid != GetCurrentSubTransactionId();
}

const char *
px_ask_types_along(const px_receive_state *state)
{
	return px_ask_types_is_due(state) && !state->types_alone ?
		state->types_sql : NULL;
}

void
px_ask_types_note(px_receive_state *state, bool same)
{
	state->types_subid = same ? GetCurrentSubTransactionId() :
		InvalidSubTransactionId;
	state->types_differ = !same;
}

void
px_ask_types_request(px_receive_state *state)
{
	px_fdw_cursor_rescan(state->types_question);
	px_fdw_cursor_set_sql(state->types_question, state->types_sql);
	px_fdw_cursor_request(state->types_question);
}

text *
px_ask_types_fetch(px_fdw_cursor *question, Oid serverid)
{
	if (px_connection_in_use(serverid) &&
		!px_fdw_cursor_wait(question, ANSWER_TIMEOUT_MS))
		px_streams_spool_all(serverid);
	return px_fdw_cursor_fetch(question);
}

bool
px_ask_types_answer(px_receive_state *state)
{
	bool		same = px_ask_types_fetch(state->types_question,
										  state->foreign->fs_server) != NULL;

	px_ask_types_note(state, same);
	return same;
}
