/*-------------------------------------------------------------------------
 *
 * states.c
 *		Functions of SQL for scripts/check_states.py.
 *
 * A query here is one whose last column is an aggregate.  It is parsed for
 * that aggregate, and not planned or run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "parser/parse_agg.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "tuple/agg_state.h"

PG_MODULE_MAGIC;

/* A copy of the catalog's entry of an aggregate. */
static Form_pg_aggregate
read_aggregate(Oid function, Datum *initial, bool *initial_isnull)
{
	HeapTuple	tuple = SearchSysCacheCopy1(AGGFNOID,
											ObjectIdGetDatum(function));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "no aggregate %u", function);
	if (initial)
		*initial = SysCacheGetAttr(AGGFNOID, tuple,
								   Anum_pg_aggregate_agginitval,
								   initial_isnull);
	return (Form_pg_aggregate) GETSTRUCT(tuple);
}

/* Parse a query; its last column, and that column's aggregate. */
static Query *
parse(text *sql, TargetEntry **column, Aggref **aggref)
{
	const char *string = text_to_cstring(sql);
	RawStmt    *raw = linitial_node(RawStmt, pg_parse_query(string));
	Query	   *query = linitial_node(
		Query,
		pg_analyze_and_rewrite_fixedparams(raw, string, NULL, 0, NULL));
	Oid			types[FUNC_MAX_ARGS];
	int			ntypes;

	*column = llast_node(TargetEntry, query->targetList);
	*aggref = castNode(Aggref, (*column)->expr);
	ntypes = get_aggregate_argtypes(*aggref, types);
	(*aggref)->aggtranstype = resolve_aggregate_transtype(
		(*aggref)->aggfnoid,
		read_aggregate((*aggref)->aggfnoid, NULL, NULL)->aggtranstype, types,
		ntypes);
	return query;
}

/*
 * The query with the plain aggregates a1, a2, ... in the place of its own; NULL
 * if there is no rule for it.  Arguments: the query, and whether it must be
 * exact.
 */
PG_FUNCTION_INFO_V1(states_query);
Datum
states_query(PG_FUNCTION_ARGS)
{
	TargetEntry *column;
	Aggref	   *aggref;
	Query	   *query = parse(PG_GETARG_TEXT_PP(0), &column, &aggref);
	const px_agg_rule *rule = px_agg_rule_for(aggref, PG_GETARG_BOOL(1));
	int			n = 0;
	ListCell   *lc;

	if (rule == NULL)
		PG_RETURN_NULL();
	query->targetList = list_delete_last(query->targetList);
	foreach(lc, px_agg_plain_aggrefs(rule, aggref))
		query->targetList = lappend(
			query->targetList,
			makeTargetEntry(lfirst(lc),
							(AttrNumber) list_length(query->targetList) + 1,
							psprintf("a%d", ++n), false));
	if (n > PX_AGG_VALUES_MAX)
		elog(ERROR, "%d plain aggregates", n);
	PG_RETURN_TEXT_P(cstring_to_text(pg_get_querydef(query, false)));
}

/* What px_key_is_exact says of a column: a type, a typmod and a collation. */
PG_FUNCTION_INFO_V1(states_key);
Datum
states_key(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(px_key_is_exact(PG_GETARG_OID(0), PG_GETARG_INT32(1),
								   PG_GETARG_OID(2)));
}

/*
 * The state, as text.  Arguments: a query, and the values of its plain
 * aggregates as text[].
 */
PG_FUNCTION_INFO_V1(states_state);
Datum
states_state(PG_FUNCTION_ARGS)
{
	TargetEntry *column;
	Aggref	   *aggref;
	Oid			type;
	const px_agg_rule *rule;
	List	   *plain;
	ListCell   *lc;
	Datum	   *texts;
	bool	   *isnull;
	int			n;
	Datum		values[PX_AGG_VALUES_MAX] = {0};
	Datum		state;
	bool		state_isnull;
	Oid			function;
	bool		is_varlena;
	int			i = 0;

	parse(PG_GETARG_TEXT_PP(0), &column, &aggref);
	rule = px_agg_rule_for(aggref, false);
	plain = px_agg_plain_aggrefs(rule, aggref);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false,
					  TYPALIGN_INT, &texts, &isnull, &n);
	if (n != list_length(plain))
		elog(ERROR, "%d values for %d aggregates", n, list_length(plain));
	foreach(lc, plain)
	{
		Oid			in;
		Oid			param;

		getTypeInputInfo(lfirst_node(Aggref, lc)->aggtype, &in, &param);
		if (!isnull[i])
			values[i] = OidInputFunctionCall(
				in, TextDatumGetCString(texts[i]), param, -1);
		i++;
	}
	state = px_agg_state(rule, "test", values, isnull, &state_isnull);
	if (state_isnull)
		PG_RETURN_NULL();
	type = aggref->aggtranstype == INTERNALOID ? BYTEAOID
											   : aggref->aggtranstype;
	getTypeOutputInfo(type, &function, &is_varlena);
	PG_RETURN_TEXT_P(cstring_to_text(OidOutputFunctionCall(function, state)));
}

/* The aggregate states_result(aggregate, state): as a Finalize Aggregate. */
typedef struct final_state
{
	Oid			function;
	Form_pg_aggregate form;
	Datum		value;
	bool		isnull;
} final_state;

/* Call a function of an aggregate on behalf of this one. */
static Datum
call(FunctionCallInfo fcinfo, Oid function, int nargs, Datum arg1,
	 bool arg1_isnull, Datum arg2, bool arg2_isnull, bool *isnull)
{
	FmgrInfo	info;
	Datum		result;

	LOCAL_FCINFO(inner, 2);

	fmgr_info(function, &info);
	InitFunctionCallInfoData(*inner, &info, nargs, DEFAULT_COLLATION_OID,
							 fcinfo->context, NULL);
	inner->args[0].value = arg1;
	inner->args[0].isnull = arg1_isnull;
	inner->args[1].value = arg2;
	inner->args[1].isnull = arg2_isnull;
	*isnull = info.fn_strict && (arg1_isnull || (nargs > 1 && arg2_isnull));
	if (*isnull)
		return (Datum) 0;
	result = FunctionCallInvoke(inner);
	*isnull = inner->isnull;
	return result;
}

static Datum
input(Oid type, Datum value)
{
	Oid			in;
	Oid			param;

	getTypeInputInfo(type, &in, &param);
	return OidInputFunctionCall(in, TextDatumGetCString(value), param, -1);
}

/* Keep a state for as long as the aggregate. */
static void
keep(final_state *state, MemoryContext context, Datum value, bool isnull)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	state->isnull = isnull;
	if (isnull)
		state->value = (Datum) 0;
	else if (state->form->aggtranstype == INTERNALOID)
		state->value = value;
	else
		state->value = datumCopy(value,
								 get_typbyval(state->form->aggtranstype),
								 get_typlen(state->form->aggtranstype));
	MemoryContextSwitchTo(old);
}

static final_state *
begin_final(Oid function, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	final_state *state = palloc0(sizeof(final_state));
	Datum		initial;

	state->function = function;
	state->form = read_aggregate(function, &initial, &state->isnull);
	if (!state->isnull)
		state->value = input(state->form->aggtranstype, initial);
	MemoryContextSwitchTo(old);
	return state;
}

PG_FUNCTION_INFO_V1(states_combine);
Datum
states_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context;
	final_state *state;
	bool		isnull = PG_ARGISNULL(2);
	Datum		value = (Datum) 0;
	bool		strict;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "not in an aggregate");
	if (PG_ARGISNULL(0))
		state = begin_final(PG_GETARG_OID(1), context);
	else
		state = (final_state *) PG_GETARG_POINTER(0);

	if (state->form->aggtranstype != INTERNALOID && !isnull)
		value = input(state->form->aggtranstype, PG_GETARG_DATUM(2));
	else if (!isnull)
		value = call(fcinfo, state->form->aggdeserialfn, 2,
					 input(BYTEAOID, PG_GETARG_DATUM(2)), false, (Datum) 0,
					 false, &isnull);

	strict = func_strict(state->form->aggcombinefn);
	if (strict && isnull)
		PG_RETURN_POINTER(state);
	if (strict && state->isnull)
		keep(state, context, value, false);
	else
	{
		value = call(fcinfo, state->form->aggcombinefn, 2, state->value,
					 state->isnull, value, isnull, &isnull);
		keep(state, context, value, isnull);
	}
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(states_final);
Datum
states_final(PG_FUNCTION_ARGS)
{
	final_state *state;
	Datum		value;
	bool		isnull;
	Oid			out;
	bool		is_varlena;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (final_state *) PG_GETARG_POINTER(0);
	value = state->value;
	isnull = state->isnull;
	if (OidIsValid(state->form->aggfinalfn))
		value = call(fcinfo, state->form->aggfinalfn, 1, state->value,
					 state->isnull, (Datum) 0, true, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	getTypeOutputInfo(get_func_rettype(state->function), &out, &is_varlena);
	PG_RETURN_TEXT_P(cstring_to_text(OidOutputFunctionCall(out, value)));
}
