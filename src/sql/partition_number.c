/*-------------------------------------------------------------------------
 *
 * partition_number.c
 *		The SQL function exchange.partition_number: the hash partition of a
 *		row.
 *
 * A coordinator calls it in the queries of streams whose rows are cut into
 * targets, for each row.  So the hash functions are looked up once.  The
 * result is that of compute_partition_hash_value in PostgreSQL's partbounds.c,
 * so it also tells the partition of a table PARTITION BY HASH.  Only the
 * default operator classes of the types are considered.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(px_sql_partition_number);

#define MODULUS_MAX		65536

typedef struct px_partition_key
{
	FmgrInfo	hash;			/* extended hash function of the type */
	Oid			collation;
} px_partition_key;

/* The collation of argument i, from 0.  Keys may differ in it. */
static Oid
argument_collation(FunctionCallInfo fcinfo, int i)
{
	Node	   *call = fcinfo->flinfo->fn_expr;

	if (call == NULL || !IsA(call, FuncExpr))
		return PG_GET_COLLATION();
	return exprCollation(list_nth(((FuncExpr *) call)->args, i));
}

static void
lookup_key(FunctionCallInfo fcinfo, int i, px_partition_key *key)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, i);
	TypeCacheEntry *entry;

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not determine data type for argument %d",
						i + 1)));
	entry = lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	if (!OidIsValid(entry->hash_extended_proc_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an extended hash function for type %s",
						format_type_be(type))));
	fmgr_info_copy(&key->hash, &entry->hash_extended_proc_finfo,
				   fcinfo->flinfo->fn_mcxt);
	key->collation = argument_collation(fcinfo, i);
}

/* The keys of this call in its query: found once, kept with the call. */
static px_partition_key *
lookup_keys(FunctionCallInfo fcinfo)
{
	px_partition_key *keys;

	if (get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("exchange.partition_number does not take its keys as an array")));
	keys = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
								  PG_NARGS() * sizeof(px_partition_key));
	for (int i = 1; i < PG_NARGS(); i++)
		lookup_key(fcinfo, i, &keys[i]);
	fcinfo->flinfo->fn_extra = keys;
	return keys;
}

/*
 * exchange.partition_number(modulus integer, VARIADIC keys "any") returns
 * integer
 *
 * Null if any argument is null: such a row equals no other one.
 */
Datum
px_sql_partition_number(PG_FUNCTION_ARGS)
{
	px_partition_key *keys = fcinfo->flinfo->fn_extra;
	int32		modulus;
	uint64		hash = 0;

	if (keys == NULL)
		keys = lookup_keys(fcinfo);
	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	}

	modulus = PG_GETARG_INT32(0);
	if (modulus < 1 || modulus > MODULUS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("modulus of a hash partition is out of range"),
				 errdetail("The modulus is %d, expected was 1 to %d.",
						   modulus, MODULUS_MAX)));
	for (int i = 1; i < PG_NARGS(); i++)
	{
		Datum		key_hash = FunctionCall2Coll(&keys[i].hash,
											   keys[i].collation,
											   PG_GETARG_DATUM(i),
											   UInt64GetDatum(
												   HASH_PARTITION_SEED));

		hash = hash_combine64(hash, DatumGetUInt64(key_hash));
	}
	PG_RETURN_INT32((int32) (hash % (uint64) modulus));
}
