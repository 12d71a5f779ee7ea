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
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/jsonfuncs.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM >= 180000
#include "common/base64.h"
#include "miscadmin.h"
#endif

/*
 * ExecutorRun_hook lost execute_once: 18.  The parameters of such a function,
 * and the same as arguments for the next one.
 */
#if PG_VERSION_NUM >= 180000
#define PX_EXECUTOR_RUN_PARAMETERS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define PX_EXECUTOR_RUN_ARGUMENTS	queryDesc, direction, count
#else
#define PX_EXECUTOR_RUN_PARAMETERS                               \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, \
		bool		execute_once
#define PX_EXECUTOR_RUN_ARGUMENTS	queryDesc, direction, count, execute_once
#endif

/* VARDATA_ANY and its like moved out of postgres.h: 16. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * pq_flush, and Port.  Their header wants those of GSSAPI and OpenSSL, which
 * need not be installed; Port is laid out the same without them, on purpose.
 */
#pragma push_macro("ENABLE_GSS")
#pragma push_macro("USE_OPENSSL")
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq.h"
#pragma pop_macro("USE_OPENSSL")
#pragma pop_macro("ENABLE_GSS")

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

/* postgres_fdw's default of fdw_tuple_cost: higher since 17. */
#if PG_VERSION_NUM >= 170000
#define PX_FDW_TUPLE_COST_DEFAULT	0.2
#else
#define PX_FDW_TUPLE_COST_DEFAULT	0.01
#endif

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

/* Wait event sets belong to resource owners: 17.  Ours is freed at once. */
static inline WaitEventSet *
px_create_wait_event_set(int nevents)
{
#if PG_VERSION_NUM >= 170000
	return CreateWaitEventSet(NULL, nevents);
#else
	return CreateWaitEventSet(CurrentMemoryContext, nevents);
#endif
}

/* Callbacks of the JSON parser return a status: 16. */
#if PG_VERSION_NUM >= 160000
typedef JsonParseErrorType px_json_result;
#define PX_JSON_DONE	JSON_SUCCESS
#else
typedef void px_json_result;
#define PX_JSON_DONE
#endif

/* makeJsonLexContext can use memory of the caller's: 17. */
static inline JsonLexContext *
px_json_lexer(text *json)
{
#if PG_VERSION_NUM >= 170000
	return makeJsonLexContext(NULL, json, true);
#else
	return makeJsonLexContext(json, true);
#endif
}

/* The same for a text in the database encoding; only to look at its form. */
static inline JsonLexContext *
px_json_form_lexer(const char *json, int nbytes)
{
#if PG_VERSION_NUM >= 170000
	return makeJsonLexContextCstringLen(NULL, json, nbytes,
										GetDatabaseEncoding(), false);
#else
	return makeJsonLexContextCstringLen(unconstify(char *, json), nbytes,
										GetDatabaseEncoding(), false);
#endif
}

/* WaitEventExtensionNew: 17. */
static inline uint32
px_new_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

/*
 * Run-time pruning of an Append's children: the pruning steps stand in the
 * node, since 18 in the PlannedStmt.  *valid is set to the children that are
 * left before execution; NULL is returned if no more can be said later.
 */
static inline PartitionPruneState *
px_begin_pruning(PlanState *node, int nplans, const Plan *append,
				 Bitmapset **valid)
{
	PartitionPruneState *state = NULL;
#if PG_VERSION_NUM >= 180000
	int			index = IsA(append, Append) ?
		((const Append *) append)->part_prune_index :
		((const MergeAppend *) append)->part_prune_index;
	const Bitmapset *relids = IsA(append, Append) ?
		((const Append *) append)->apprelids :
		((const MergeAppend *) append)->apprelids;

	if (index >= 0)
		state = ExecInitPartitionExecPruning(
			node, nplans, index, unconstify(Bitmapset *, relids), valid);
#else
	PartitionPruneInfo *info = IsA(append, Append) ?
		((const Append *) append)->part_prune_info :
		((const MergeAppend *) append)->part_prune_info;

	if (info)
		state = ExecInitPartitionPruning(node, nplans, info, valid);
#endif
	if (state == NULL)
		*valid = nplans > 0 ? bms_add_range(NULL, 0, nplans - 1) : NULL;
	else if (!state->do_exec_prune)
		state = NULL;
	return state;
}

/* The children that are left for the current parameters. */
static inline Bitmapset *
px_prune(PartitionPruneState *state)
{
#if PG_VERSION_NUM >= 180000
	return ExecFindMatchingSubPlans(state, false, NULL);
#else
	return ExecFindMatchingSubPlans(state, false);
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

/* All settings, *n of them: get_guc_variables counts since 16. */
static inline struct config_generic **
px_settings(int *n)
{
#if PG_VERSION_NUM >= 160000
	return get_guc_variables(n);
#else
	*n = GetNumConfigOptions();
	return get_guc_variables();
#endif
}

/*
 * Raise the error that executing the plan would if the user lacks a right.
 * ExecCheckPermissions: 16, which moved rights out of the range table.
 */
static inline void
px_check_permissions(PlannedStmt *stmt)
{
#if PG_VERSION_NUM >= 160000
	(void) ExecCheckPermissions(stmt->rtable, stmt->permInfos, true);
#else
	(void) ExecCheckRTPerms(stmt->rtable, true);
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
