/*-------------------------------------------------------------------------
 *
 * compat.h
 *		Differences between PostgreSQL 15, 16, 17 and 18, in one place.
 *
 * No version test stands anywhere else.  Each entry says since when the
 * newer form exists; the names follow the newer form.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COMPAT_H
#define PX_COMPAT_H

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "pg_exchange supports PostgreSQL 15 to 18"
#endif

#if SIZEOF_DATUM != 8
#error "pg_exchange needs a 64-bit platform"
#endif

#include "catalog/pg_proc.h"
#include "foreign/foreign.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/acl.h"

/*
 * The keys of a SCRAM login, in Port: 18.  Its header wants those of GSSAPI
 * and OpenSSL, which need not be installed; Port is laid out the same without
 * them, on purpose.
 */
#if PG_VERSION_NUM >= 180000
#include "common/base64.h"
#include "miscadmin.h"
#pragma push_macro("ENABLE_GSS")
#pragma push_macro("USE_OPENSSL")
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq-be.h"
#pragma pop_macro("USE_OPENSSL")
#pragma pop_macro("ENABLE_GSS")
#endif

/* VARDATA_ANY and its like moved out of postgres.h: 16. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* EXPLAIN's headers were split: 18. */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/*
 * ForeignScan.fs_base_relids, checkAsUser: 16.  Before, the user stands in
 * the range table entry.
 */
static inline void
px_foreignscan_set_relids(ForeignScan *scan, Bitmapset *relids)
{
	scan->fs_relids = relids;
#if PG_VERSION_NUM >= 160000
	scan->fs_base_relids = relids;
#endif
}

static inline Bitmapset *
px_foreignscan_relids(const ForeignScan *scan)
{
#if PG_VERSION_NUM >= 160000
	return scan->fs_base_relids;
#else
	return scan->fs_relids;
#endif
}

static inline void
px_foreignscan_set_user(ForeignScan *scan, Oid userid)
{
#if PG_VERSION_NUM >= 160000
	scan->checkAsUser = userid;
#endif
}

/* InvalidOid: the current user. */
static inline Oid
px_foreignscan_user(const ForeignScan *scan, const RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return scan->checkAsUser;
#else
	return rte->checkAsUser;
#endif
}

/* pg_noreturn, before a declaration: 18. */
#ifndef pg_noreturn
#define pg_noreturn __attribute__((noreturn))
#endif

/* Plan.disabled_nodes: 18. */
static inline void
px_plan_copy_disabled(Plan *plan, const Plan *from)
{
#if PG_VERSION_NUM >= 180000
	plan->disabled_nodes = from->disabled_nodes;
#endif
}

/*
 * CustomPath.custom_restrictinfo, ForeignPath.fdw_restrictinfo: 17.  What a
 * join was pushed down with; the planner takes from it the quals that are to
 * be checked once, before any row.  Before, postgres_fdw pushes down no join
 * that has such.
 */
static inline void
px_custompath_copy_restrictinfo(CustomPath *path, const ForeignPath *from)
{
#if PG_VERSION_NUM >= 170000
	path->custom_restrictinfo = from->fdw_restrictinfo;
#endif
}

/* May the role execute the function?  object_aclcheck: 16. */
static inline AclResult
px_function_aclcheck(Oid function, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE);
#else
	return pg_proc_aclcheck(function, role, ACL_EXECUTE);
#endif
}

#if PG_VERSION_NUM >= 180000
static inline char *
px_scram_key_text(const uint8 *key)
{
	int			nbytes = pg_b64_enc_len(SCRAM_MAX_KEY_LEN);
	char	   *text = palloc0(nbytes + 1);

	if (pg_b64_encode(key, SCRAM_MAX_KEY_LEN, text, nbytes) < 0)
		elog(ERROR, "could not encode a SCRAM key");
	return text;
}
#endif

/*
 * The keys with which this session's client proved by SCRAM who it is, as
 * libpq's options scram_client_key and scram_server_key take them (palloc'd).
 * False if it did not log in that way; always before 18, which began to keep
 * them.
 */
static inline bool
px_scram_keys(char **client_key, char **server_key)
{
#if PG_VERSION_NUM >= 180000
	if (MyProcPort == NULL || !MyProcPort->has_scram_keys)
		return false;
	*client_key = px_scram_key_text(MyProcPort->scram_ClientKey);
	*server_key = px_scram_key_text(MyProcPort->scram_ServerKey);
	return true;
#else
	return false;
#endif
}

#endif							/* PX_COMPAT_H */
