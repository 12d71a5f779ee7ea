/*-------------------------------------------------------------------------
 *
 * hello_self.c
 *		What this server says about itself in a hello.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "codec/codec.h"
#include "compat.h"
#include "conn/hello_self.h"
#include "tuple/pglz.h"
#include "wire/frame.h"

/*
 * The name of this run of this server: the same for all its backends, another
 * for every other server and after a restart.  A hash, so that nobody takes
 * it for the numbers it is made of; 128 bits, so that no two are the same.
 * With a databaseid, the name of that database of it.
 */
static void
instance_id(Oid databaseid, char *out, size_t cap)
{
	uint64		parts[4];
	uint64		high;
	uint64		low;

	parts[0] = GetSystemIdentifier();
	parts[1] = (uint64) PgStartTime;
	parts[2] = (uint64) PostPortNumber;
	parts[3] = (uint64) databaseid;
	high =
		hash_bytes_extended((const unsigned char *) parts, sizeof(parts), 0);
	low = hash_bytes_extended((const unsigned char *) parts, sizeof(parts), 1);
	snprintf(out, cap, "%016llx%016llx",
			 (unsigned long long) high, (unsigned long long) low);
}

void
px_hello_self(px_hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	hello->protocol_min = PX_PROTOCOL_MIN;
	hello->protocol_max = PX_PROTOCOL_MAX;
	hello->codecs = PX_CODECS_ALL;
	hello->encodings = px_encodings_here();
#ifndef WORDS_BIGENDIAN
	hello->little_endian = true;
#endif
	strlcpy(hello->encoding, GetDatabaseEncodingName(),
			sizeof(hello->encoding));
	hello->server_version = PG_VERSION_NUM;
	hello->can_spread = true;
	instance_id(InvalidOid, hello->instance, sizeof(hello->instance));
	instance_id(MyDatabaseId, hello->pull_id, sizeof(hello->pull_id));
	hello->can_export =
		px_function_aclcheck(F_PG_EXPORT_SNAPSHOT, GetUserId()) == ACLCHECK_OK;
}

/*
 * Superusers may have the last ones, but coordinators need not be superusers.
 * To count them is a walk along a list that is locked: so no more are counted
 * than it takes.
 */
static bool
has_free_connections(int n)
{
	return px_have_free_procs(px_reserved_connections() + n);
}

/* How many are free if so many are used, of a limit? */
static px_free
free_of_limit(int limit, int used)
{
	if (limit < 0)
		return PX_FREE_MANY;
	if (limit - used < limit / 10)
		return PX_FREE_FEW;
	return 4 * (limit - used) < limit ? PX_FREE_QUARTER : PX_FREE_MANY;
}

/* By the connection limits of role and database, if they are the user's. */
static px_free
free_of_own(void)
{
	Oid			role = GetSessionUserId();
	HeapTuple	tuple;
	px_free		of_role = PX_FREE_MANY;
	px_free		of_database = PX_FREE_MANY;
	int			limit;

	if (superuser_arg(role))
		return PX_FREE_MANY;
	tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(role));
	if (HeapTupleIsValid(tuple))
	{
		limit = ((Form_pg_authid) GETSTRUCT(tuple))->rolconnlimit;
		of_role = free_of_limit(limit, limit < 0 ? 0 : CountUserBackends(role));
		ReleaseSysCache(tuple);
	}
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	if (HeapTupleIsValid(tuple))
	{
		limit = ((Form_pg_database) GETSTRUCT(tuple))->datconnlimit;
		of_database = free_of_limit(limit, limit < 0 ? 0 :
									CountDBConnections(MyDatabaseId));
		ReleaseSysCache(tuple);
	}
	return Max(of_role, of_database);
}

/*
 * Only postgres_fdw's sessions are to have the last tenth: they fail without
 * one, where a stream is read by them instead.  If there is none at all, who
 * tries to connect is told why.
 */
void
px_hello_self_answer(px_hello *hello, bool is_stream)
{
	px_hello_self(hello);
	if (!has_free_connections(MaxConnections / 10) &&
		(is_stream || has_free_connections(1)))
		hello->free = PX_FREE_FEW;
	else if (is_stream)
		hello->free = free_of_own();
}

void
px_hello_check(px_status status, const px_fault *fault)
{
	char		detail[PX_FAULT_NBYTES_MAX];

	if (status != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid exchange hello: %s", px_status_text(status)),
				 errdetail_internal("%s", px_fault_text(fault, detail))));
}

void
px_hello_receive(const text *line, px_hello *peer)
{
	px_fault	fault = {0};

	px_hello_check(px_hello_read(text_to_cstring(line), peer, &fault), &fault);
}
