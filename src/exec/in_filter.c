/*-------------------------------------------------------------------------
 *
 * in_filter.c
 *		The SQL functions exchange.in_filter: may a key be in a Bloom filter?
 *
 * A coordinator calls them in the remote queries of scans that have a runtime
 * filter of many keys.  Any user may call them with any bytes: the header of
 * the filter is checked in each call, which takes less than a cache miss.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"

#include "compat.h"
#include "wire/bloom.h"

PG_FUNCTION_INFO_V1(px_sql_in_filter_int8);
PG_FUNCTION_INFO_V1(px_sql_in_filter_bytea);
PG_FUNCTION_INFO_V1(px_sql_in_filter_text);

static px_bloom
open_filter(const bytea *filter)
{
	px_bloom	bloom;
	px_fault	fault;
	char		detail[PX_FAULT_NBYTES_MAX];

	if (px_bloom_open((const uint8_t *) VARDATA_ANY(filter),
					  VARSIZE_ANY_EXHDR(filter), &bloom, &fault) != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid exchange filter"),
				 errdetail_internal("%s", px_fault_text(&fault, detail))));
	return bloom;
}

static bool
has_bytes(const px_bloom *bloom, const struct varlena *key)
{
	return px_bloom_has(bloom,
						px_bloom_hash_bytes(
							(const uint8_t *) VARDATA_ANY(key),
							VARSIZE_ANY_EXHDR(key)));
}

/* exchange.in_filter(filter bytea, key bigint) returns boolean */
Datum
px_sql_in_filter_int8(PG_FUNCTION_ARGS)
{
	px_bloom	bloom = open_filter(PG_GETARG_BYTEA_PP(0));

	PG_RETURN_BOOL(px_bloom_has(&bloom,
								px_bloom_hash_int64(PG_GETARG_INT64(1))));
}

/* exchange.in_filter(filter bytea, key bytea) returns boolean */
Datum
px_sql_in_filter_bytea(PG_FUNCTION_ARGS)
{
	px_bloom	bloom = open_filter(PG_GETARG_BYTEA_PP(0));

	PG_RETURN_BOOL(has_bytes(&bloom, PG_GETARG_BYTEA_PP(1)));
}

/*
 * exchange.in_filter(filter bytea, key text) returns boolean
 *
 * Strings of another encoding have other bytes: then nothing is known.
 */
Datum
px_sql_in_filter_text(PG_FUNCTION_ARGS)
{
	px_bloom	bloom = open_filter(PG_GETARG_BYTEA_PP(0));

	PG_RETURN_BOOL(strcmp(bloom.encoding, GetDatabaseEncodingName()) != 0 ||
				   has_bytes(&bloom, PG_GETARG_TEXT_PP(1)));
}
