/*-------------------------------------------------------------------------
 *
 * frequent_keys.c
 *		Keys with so many rows that no single target should have them.
 *
 * The statistics say which keys these are.  If they are wrong, or are none,
 * rows are still joined as they should be: both sides look for the same
 * values, whether these are frequent or not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_statistic.h"
#include "catalog/pg_type_d.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "compat.h"
#include "plan/frequent_keys.h"
#include "transport/transmission.h"
#include "tuple/policy.h"

/*
 * A key is frequent if it has more than this part of the rows that each target
 * has on average.  Keys below that are many, and their targets differ: a
 * target with one of them has at most half as much again as the mean, and it
 * is unlikely that two of them meet there.  A key above it costs each row a
 * comparison, about 10 ns, and a few copies of the other side's rows.
 */
#define FREQUENT_SHARE		0.5

/*
 * More of them would make queries long.  There are twice as many as targets at
 * most, so 16 targets or fewer never have more.
 */
#define FREQUENT_MAX		32

/* Neither does a longer value, in text, go into a query. */
#define VALUE_NBYTES_MAX	256

/* The most common values of a side. */
typedef struct common_values
{
	VariableStatData vardata;
	AttStatsSlot slot;
	int			n;				/* 0: they are not known */
} common_values;

/*
 * Statistics show values of rows.  So there are none for a user who might not
 * read all of these.
 */
static common_values
begin_values(PlannerInfo *root, const Var *key, Oid type)
{
	common_values values = {0};
	Oid			found;

	examine_variable(root, (Node *) copyObject(key), 0, &values.vardata);
	if (!HeapTupleIsValid(values.vardata.statsTuple) ||
		!values.vardata.acl_ok ||
		!get_attstatsslot(&values.slot, values.vardata.statsTuple,
						  STATISTIC_KIND_MCV, InvalidOid,
						  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
		return values;
	found = values.slot.valuetype;
	if (found == type || (found == VARCHAROID && type == TEXTOID))
		values.n = Min(values.slot.nvalues, values.slot.nnumbers);
	return values;
}

static void
end_values(common_values *values)
{
	free_attstatsslot(&values->slot);
	ReleaseVariableStats(values->vardata);
}

/* How many rows has the other side with this value? */
static double
rows_of_value(const px_keyed_rows *side, const common_values *values,
			  Datum value, Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR_FINFO);

	for (int i = 0; i < values->n; i++)
	{
		Datum		other = values->slot.values[i];

		if (px_type_is_integer(type) ?
			px_integer_of_value(type, value) ==
			px_integer_of_value(side->type, other) :
			DatumGetBool(FunctionCall2Coll(&entry->eq_opr_finfo,
										   side->key->varcollid, value,
										   other)))
			return values->slot.numbers[i] * side->rows;
	}
	return 0;
}

/* Is the value one that a query can have? */
static bool
is_short(Datum value, Oid type)
{
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(type, &output, &is_varlena);
	return strlen(OidOutputFunctionCall(output, value)) <= VALUE_NBYTES_MAX;
}

/* The SQL of an array of the values. */
static char *
array_sql(const Datum *values, int n, Oid type)
{
	int16		typlen;
	bool		typbyval;
	char		typalign;
	ArrayType  *array;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	array = construct_array(unconstify(Datum *, values), n, type, typlen,
							typbyval, typalign);
	return psprintf("%s::%s[]",
					quote_literal_cstr(OidOutputFunctionCall(
						F_ARRAY_OUT, PointerGetDatum(array))),
					px_transmission_type(type, -1));
}

/*
 * Find the keys that one side has many rows of, and more than the other one.
 * The common values of either are in values.
 */
static void
find_of_side(const px_keyed_rows sides[2], const common_values values[2],
			 int side, double least, Oid sql_type, px_frequent_keys *found)
{
	const px_keyed_rows *this = &sides[side];
	Datum	   *keys = palloc(FREQUENT_MAX * sizeof(Datum));
	bool		last = false;
	int			n = 0;

	for (int i = 0; i < values[side].n && !last; i++)
	{
		Datum		value = values[side].slot.values[i];
		double		rows = values[side].slot.numbers[i] * this->rows;
		double		others = rows_of_value(&sides[1 - side],
										   &values[1 - side], value,
										   this->type);

		last = rows < least;	/* the rest is less frequent */
		if (rows < others || (side > 0 && rows == others))
			continue;			/* it is one of the other side's */
		if (last || !this->may_spread || found->n == FREQUENT_MAX ||
			!is_short(value, this->type))
			found->largest = Max(found->largest, rows + others);
		else
		{
			keys[n++] = sql_type == INT8OID ?
				Int64GetDatum(px_integer_of_value(this->type, value)) : value;
			found->n++;
			found->copies += others;
		}
	}
	if (n > 0)
		found->spread[side] = array_sql(keys, n, sql_type);
}

px_frequent_keys
px_frequent_keys_find(PlannerInfo *root, const px_keyed_rows sides[2],
					  int ntargets)
{
	px_frequent_keys found = {0};
	double		least = FREQUENT_SHARE * (sides[0].rows + sides[1].rows) /
		ntargets;
	Oid			type = sides[0].type;
	common_values values[2];
	int			nestlevel;

	/* Else a value of one type might not be the same in the other. */
	if (px_type_is_integer(type) && px_type_is_integer(sides[1].type))
		type = INT8OID;
	else if (type != sides[1].type)
		return found;
	nestlevel = px_transmission_begin();
	for (int i = 0; i < 2; i++)
		values[i] = begin_values(root, sides[i].key, sides[i].type);
	for (int i = 0; i < 2; i++)
		find_of_side(sides, values, i, least, type, &found);
	for (int i = 0; i < 2; i++)
		end_values(&values[i]);
	found.type = px_transmission_type(type, -1);
	found.copies *= ntargets - 1;
	AtEOXact_GUC(true, nestlevel);
	return found;
}

double
px_most_frequent(PlannerInfo *root, const Var *key)
{
	common_values values = begin_values(root, key, key->vartype);
	double		share = values.n > 0 ? values.slot.numbers[0] : 0;

	end_values(&values);
	return share;
}
