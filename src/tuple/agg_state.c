/*-------------------------------------------------------------------------
 *
 * agg_state.c
 *		Transition states of aggregates, made from plain values.
 *
 * Everything that is known of an aggregate is one line of the table of rules:
 * its OID, the kind of its state, and whether its result may depend on how the
 * rows are divided.  An aggregate that is not listed is never computed in
 * parts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "tuple/agg_state.h"

/* What a state is, and so which plain aggregates it is made of. */
typedef enum agg_kind
{
	KIND_COUNT,					/* the value, a count */
	KIND_VALUE,					/* the value */
} agg_kind;

/* When is the result the same, digit for digit, as that of one server? */
typedef enum agg_exactness
{
	EXACT_ALWAYS,
	EXACT_AS_KEY,				/* if the argument's equal values look equal */
	EXACT_NEVER
} agg_exactness;

struct px_agg_rule
{
	Oid			function;
	agg_kind	kind;
	agg_exactness exactness;
};

static const px_agg_rule rules[] = {
	{F_COUNT_, KIND_COUNT, EXACT_ALWAYS},
	{F_COUNT_ANY, KIND_COUNT, EXACT_ALWAYS},
	{F_REGR_COUNT, KIND_COUNT, EXACT_ALWAYS},

	{F_SUM_INT2, KIND_VALUE, EXACT_ALWAYS},
	{F_SUM_INT4, KIND_VALUE, EXACT_ALWAYS},
	{F_SUM_MONEY, KIND_VALUE, EXACT_ALWAYS},
	{F_SUM_FLOAT4, KIND_VALUE, EXACT_NEVER},
	{F_SUM_FLOAT8, KIND_VALUE, EXACT_NEVER},

	{F_BOOL_AND, KIND_VALUE, EXACT_ALWAYS},
	{F_BOOL_OR, KIND_VALUE, EXACT_ALWAYS},
	{F_EVERY, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_AND_INT2, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_AND_INT4, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_AND_INT8, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_AND_BIT, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_OR_INT2, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_OR_INT4, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_OR_INT8, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_OR_BIT, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_XOR_INT2, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_XOR_INT4, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_XOR_INT8, KIND_VALUE, EXACT_ALWAYS},
	{F_BIT_XOR_BIT, KIND_VALUE, EXACT_ALWAYS},

	{F_MAX_INT2, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_INT4, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_INT8, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_OID, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_FLOAT4, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_FLOAT8, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_NUMERIC, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_MONEY, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_DATE, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_TIME, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_TIMETZ, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_TIMESTAMP, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_TIMESTAMPTZ, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_INTERVAL, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_TEXT, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_BPCHAR, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_INET, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_PG_LSN, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_TID, KIND_VALUE, EXACT_AS_KEY},
	{F_MAX_XID8, KIND_VALUE, EXACT_AS_KEY},

	{F_MIN_INT2, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_INT4, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_INT8, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_OID, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_FLOAT4, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_FLOAT8, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_NUMERIC, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_MONEY, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_DATE, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_TIME, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_TIMETZ, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_TIMESTAMP, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_TIMESTAMPTZ, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_INTERVAL, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_TEXT, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_BPCHAR, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_INET, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_PG_LSN, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_TID, KIND_VALUE, EXACT_AS_KEY},
	{F_MIN_XID8, KIND_VALUE, EXACT_AS_KEY},
};

bool
px_key_is_exact(Oid type, int32 typmod, Oid collation)
{
	type = getBaseTypeAndTypmod(type, &typmod);
	switch (type)
	{
		case BOOLOID:
		case BYTEAOID:
		case CHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case CASHOID:
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case BITOID:
		case VARBITOID:
		case PG_LSNOID:
		case TIDOID:
		case XID8OID:
			return true;

			/* 1.0 and 1.00 are equal, and so are 'a' and 'a '. */
		case NUMERICOID:
			return typmod >= (int32) VARHDRSZ;
		case BPCHAROID:
			if (typmod < (int32) VARHDRSZ)
				return false;
			return get_collation_isdeterministic(collation);

		case NAMEOID:
		case TEXTOID:
		case VARCHAROID:
			return get_collation_isdeterministic(collation);

			/* float8 has -0 and 0; interval has '1 month' and '30 days'. */
		default:
			return false;
	}
}

/* Is the aggregate's result the same, however the rows are divided? */
static bool
is_exact(const px_agg_rule *rule, const Aggref *aggref)
{
	Node	   *arg;

	if (rule->exactness != EXACT_AS_KEY)
		return rule->exactness == EXACT_ALWAYS;
	arg = (Node *) linitial_node(TargetEntry, aggref->args)->expr;
	return px_key_is_exact(exprType(arg), exprTypmod(arg),
						   aggref->inputcollid);
}

const px_agg_rule *
px_agg_rule_for(const Aggref *aggref, bool exact)
{
	if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggvariadic ||
		aggref->aggdistinct != NIL || aggref->aggorder != NIL ||
		aggref->agglevelsup != 0)
		return NULL;
	for (size_t i = 0; i < lengthof(rules); i++)
		if (rules[i].function == aggref->aggfnoid)
			return !exact || is_exact(&rules[i], aggref) ? &rules[i] : NULL;
	return NULL;
}

/* The aggregate itself, over the same rows, computed as a whole. */
static Aggref *
plain_itself(const Aggref *partial)
{
	Aggref	   *plain = copyObject((Aggref *) partial);

	plain->aggtype = get_func_rettype(plain->aggfnoid);
	plain->aggsplit = AGGSPLIT_SIMPLE;
	plain->aggno = -1;
	plain->aggtransno = -1;
	plain->location = -1;
	return plain;
}

List *
px_agg_plain_aggrefs(const px_agg_rule *rule, const Aggref *partial)
{
	switch (rule->kind)
	{
		case KIND_COUNT:
		case KIND_VALUE:
			return list_make1(plain_itself(partial));
	}
	pg_unreachable();
}

/* Raise an error: the values cannot be those of any rows. */
pg_noreturn static void
refuse(const px_agg_rule *rule, const char *servername, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid partial aggregate from server \"%s\"",
					servername),
			 errdetail("%s: %s.", get_func_name(rule->function), why)));
}

/* A count, which is never NULL nor negative. */
static int64
count_value(const px_agg_rule *rule, const char *servername, Datum value,
			bool isnull)
{
	if (isnull)
		refuse(rule, servername, "a count is NULL");
	if (DatumGetInt64(value) < 0)
		refuse(rule, servername, "a count is negative");
	return DatumGetInt64(value);
}

Datum
px_agg_state(const px_agg_rule *rule, const char *servername,
			 const Datum *values, const bool *isnull, bool *state_isnull)
{
	*state_isnull = false;
	switch (rule->kind)
	{
		case KIND_COUNT:
			return Int64GetDatum(count_value(rule, servername, values[0],
											 isnull[0]));
		case KIND_VALUE:
			*state_isnull = isnull[0];
			return values[0];
	}
	pg_unreachable();
}
