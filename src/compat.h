/*-------------------------------------------------------------------------
 *
 * compat.h
 *		Differences between PostgreSQL 15, 16, 17, 18 and 19, in one place.
 *
 * No version test stands anywhere else, but in compat_executor.h, which has
 * those of the executor.  Each entry says since when the newer form exists;
 * the names follow the newer form.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COMPAT_H
#define PX_COMPAT_H

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "pg_exchange supports PostgreSQL 15 to 19"
#endif

#if SIZEOF_DATUM != 8
#error "pg_exchange needs a 64-bit platform"
#endif

#include "catalog/pg_foreign_server.h"
#include "catalog/pg_proc.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "postmaster/postmaster.h"
#include "rewrite/rewriteManip.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procsignal.h"
#include "storage/shmem.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
#include "utils/wait_event.h"

/* get_database_name moved to utils/lsyscache.h: 19. */
#if PG_VERSION_NUM < 190000
#include "commands/dbcommands.h"
#endif

#if PG_VERSION_NUM >= 180000
#include "common/base64.h"
#include "optimizer/optimizer.h"
#endif

/*
 * May the current user run ANALYZE on a table?  If not, that gives a WARNING.
 * Renamed with the privilege MAINTAIN: 17.
 */
static inline bool
px_may_analyze(Oid relid, Form_pg_class reltuple)
{
#if PG_VERSION_NUM >= 170000
	return vacuum_is_permitted_for_relation(relid, reltuple, VACOPT_ANALYZE);
#else
	return vacuum_is_relation_owner(relid, reltuple, VACOPT_ANALYZE);
#endif
}

/* The search_path of what maintains a table, as its owner: 17. */
static inline void
px_restrict_search_path(void)
{
#if PG_VERSION_NUM >= 170000
	RestrictSearchPath();
#endif
}

/* vacuum, called by a function.  It takes a memory context: 16. */
static inline void
px_vacuum(List *relations, VacuumParams *params, BufferAccessStrategy strategy)
{
#if PG_VERSION_NUM >= 160000
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_exchange analyze",
												  ALLOCSET_DEFAULT_SIZES);

	vacuum(relations, params, strategy, context, false);
	MemoryContextDelete(context);
#else
	vacuum(relations, params, strategy, false);
#endif
}

/*
 * planner_hook is also given the state of the EXPLAIN that wants the plan:
 * 19.  The parameters of such a function, and the same as arguments for the
 * next one, with this query or another in its place.
 */
#if PG_VERSION_NUM >= 190000
#define PX_PLANNER_PARAMETERS \
	Query *parse, const char *query_string, int cursor_options, \
	ParamListInfo params, ExplainState *es
#define PX_PLANNER_ARGUMENTS(query) \
	query, query_string, cursor_options, params, es
#else
#define PX_PLANNER_PARAMETERS \
	Query *parse, const char *query_string, int cursor_options, \
	ParamListInfo params
#define PX_PLANNER_ARGUMENTS(query) \
	query, query_string, cursor_options, params
#endif

/* pg_plan_query, likewise. */
static inline PlannedStmt *
px_plan_query(Query *query, const char *text, int cursor_options)
{
#if PG_VERSION_NUM >= 190000
	return pg_plan_query(query, text, cursor_options, NULL, NULL);
#else
	return pg_plan_query(query, text, cursor_options, NULL);
#endif
}

/*
 * build_simple_rel_hook: 19.  It took the place of get_relation_info_hook and
 * is called just after that was: when the planner has read the catalogs'
 * entries for a table.  Other kinds of range table entries come there as well.
 */
#if PG_VERSION_NUM >= 190000
#define PX_BUILD_SIMPLE_REL_PARAMETERS \
	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define PX_BUILD_SIMPLE_REL_ARGUMENTS	root, rel, rte
#else
#define build_simple_rel_hook get_relation_info_hook
#define build_simple_rel_hook_type get_relation_info_hook_type
#define PX_BUILD_SIMPLE_REL_PARAMETERS \
	PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define PX_BUILD_SIMPLE_REL_ARGUMENTS	root, relid, inhparent, rel
#endif

/* Give free pages of malloc's heap back to the operating system. */
#ifdef __GLIBC__
#include <malloc.h>
#define px_malloc_trim()	((void) malloc_trim(0))
#else
#define px_malloc_trim()	((void) 0)
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

/* The same where a range table entry is made. */
static inline void
px_rte_set_user(RangeTblEntry *rte, Oid userid)
{
#if PG_VERSION_NUM < 160000
	rte->checkAsUser = userid;
#endif
}

/* postgres_fdw's default of fdw_tuple_cost: higher since 17. */
#if PG_VERSION_NUM >= 170000
#define PX_FDW_TUPLE_COST_DEFAULT	0.2
#else
#define PX_FDW_TUPLE_COST_DEFAULT	0.01
#endif

/*
 * Are so many connections free, with those that are reserved?  The function
 * also counts: 16.
 */
static inline bool
px_have_free_procs(int n)
{
#if PG_VERSION_NUM >= 160000
	int			nfree;

	return HaveNFreeProcs(n, &nfree);
#else
	return HaveNFreeProcs(n);
#endif
}

/* Another parameter reserves some: 16. */
static inline int
px_reserved_connections(void)
{
#if PG_VERSION_NUM >= 160000
	return SuperuserReservedConnections + ReservedConnections;
#else
	return ReservedBackends;
#endif
}

/* pg_noreturn, before a declaration: 18. */
#ifndef pg_noreturn
#define pg_noreturn __attribute__((noreturn))
#endif

/* pg_fallthrough, in place of a break: 19. */
#ifndef pg_fallthrough
#define pg_fallthrough __attribute__((fallthrough))
#endif

/* PlannedStmt.resultRelationRelids, a set: 19.  Before, a list. */
static inline Bitmapset *
px_result_relation_relids(const PlannedStmt *stmt)
{
#if PG_VERSION_NUM >= 190000
	return stmt->resultRelationRelids;
#else
	Bitmapset  *relids = NULL;
	ListCell   *lc;

	foreach(lc, stmt->resultRelations)
		relids = bms_add_member(relids, lfirst_int(lc));
	return relids;
#endif
}

/*
 * Whether joins of partitions are considered for the join relations that are
 * made next.  PGS_CONSIDER_PARTITIONWISE: 19.  Before, the setting alone says
 * so.
 */
static inline void
px_consider_partitionwise_joins(PlannerInfo *root, bool consider)
{
#if PG_VERSION_NUM >= 190000
	if (consider)
		root->glob->default_pgs_mask |= PGS_CONSIDER_PARTITIONWISE;
	else
		root->glob->default_pgs_mask &= ~(uint64) PGS_CONSIDER_PARTITIONWISE;
#endif
}

/* Is the equality one of rows below an outer join only?  Not said since 16. */
static inline bool
px_is_below_outer_join(const EquivalenceClass *class)
{
#if PG_VERSION_NUM >= 160000
	return false;
#else
	return class->ec_below_outer_join;
#endif
}

/*
 * Are nested loops considered for a join relation, unless there is no other
 * join?  RelOptInfo.pgs_mask: 19.  Before, the setting alone says so.
 */
static inline bool
px_nestloops_allowed(const RelOptInfo *joinrel)
{
#if PG_VERSION_NUM >= 190000
	return (joinrel->pgs_mask & PGS_NESTLOOP_PLAIN) != 0;
#else
	return enable_nestloop;
#endif
}

/* Avoid nested loops; the result is for px_restore_nestloops. */
static inline uint64
px_avoid_nestloops(RelOptInfo *joinrel)
{
#if PG_VERSION_NUM >= 190000
	uint64		before = joinrel->pgs_mask;

	joinrel->pgs_mask &= ~(uint64) PGS_NESTLOOP_ANY;
	return before;
#else
	bool		before = enable_nestloop;

	enable_nestloop = false;
	return before;
#endif
}

static inline void
px_restore_nestloops(RelOptInfo *joinrel, uint64 before)
{
#if PG_VERSION_NUM >= 190000
	joinrel->pgs_mask = before;
#else
	enable_nestloop = before != 0;
#endif
}

/* Are there columns that are computed when they are read?  18. */
static inline bool
px_has_virtual_columns(TupleDesc desc)
{
#if PG_VERSION_NUM >= 180000
	return desc->constr != NULL && desc->constr->has_generated_virtual;
#else
	return false;
#endif
}

/*
 * Does a hash join drop outer rows that match no inner row?  JOIN_RIGHT_ANTI:
 * 16, JOIN_RIGHT_SEMI: 18.
 */
static inline bool
px_join_drops_outer_rows(JoinType jointype)
{
#if PG_VERSION_NUM >= 180000
	if (jointype == JOIN_RIGHT_SEMI)
		return true;
#endif
#if PG_VERSION_NUM >= 160000
	if (jointype == JOIN_RIGHT_ANTI)
		return true;
#endif
	return jointype == JOIN_INNER || jointype == JOIN_SEMI ||
		jointype == JOIN_RIGHT;
}

/* Plan.disabled_nodes: 18. */
static inline void
px_plan_copy_disabled(Plan *plan, const Plan *from)
{
#if PG_VERSION_NUM >= 180000
	plan->disabled_nodes = from->disabled_nodes;
#endif
}

static inline int
px_plan_disabled(const Plan *plan)
{
#if PG_VERSION_NUM >= 180000
	return plan->disabled_nodes;
#else
	return 0;
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

/*
 * PlannerInfo.processed_groupClause: 16.  The grouping keys without redundant
 * ones; before, there were all of them.
 */
static inline List *
px_group_clause(const PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	return root->processed_groupClause;
#else
	return root->parse->groupClause;
#endif
}

/*
 * Has the relation partial groups of its rows, and not these?  From 19 on, the
 * planner may aggregate before it joins, and joins such relations, too.
 */
static inline bool
px_rel_has_groups(const RelOptInfo *rel)
{
#if PG_VERSION_NUM >= 190000
	return IS_GROUPED_REL(rel);
#else
	return false;
#endif
}

/*
 * Path.disabled_nodes: 18.  Of two paths, the one with fewer is preferred,
 * whatever they cost.  Before, disabled nodes are a part of the costs.
 */
static inline int
px_path_disabled(const Path *path)
{
#if PG_VERSION_NUM >= 180000
	return path->disabled_nodes;
#else
	return 0;
#endif
}

/* The same: 18.  Set that of a join. */
static inline void
px_path_sum_disabled(Path *path, const Path *outer, const Path *inner)
{
#if PG_VERSION_NUM >= 180000
	path->disabled_nodes = outer->disabled_nodes + inner->disabled_nodes;
#endif
}

/* create_append_path takes its children as a struct: 19. */
static inline Path *
px_append_path(PlannerInfo *root, RelOptInfo *rel, List *children)
{
#if PG_VERSION_NUM >= 190000
	AppendPathInput input = {.subpaths = children};

	return (Path *) create_append_path(root, rel, input, NIL, NULL, 0, false,
									   -1);
#else
	return (Path *) create_append_path(root, rel, children, NIL, NIL, NULL, 0,
									   false, -1);
#endif
}

/*
 * The path of a semijoin's inner side that returns each row once.  NULL if
 * there is none.  From 19 on, the join has a relation of its own for that.
 */
static inline Path *
px_unique_path(PlannerInfo *root, RelOptInfo *rel, SpecialJoinInfo *sjinfo)
{
#if PG_VERSION_NUM >= 190000
	return rel->cheapest_total_path;
#else
	return (Path *) create_unique_path(root, rel, rel->cheapest_total_path,
									   sjinfo);
#endif
}

/*
 * Vars say which outer joins may have made them null: 16.  The range table
 * index of a join that does so, or 0.
 */
static inline int
px_ojrelid(const SpecialJoinInfo *sjinfo)
{
#if PG_VERSION_NUM >= 160000
	return sjinfo->ojrelid;
#else
	return 0;
#endif
}

/*
 * Is an outer join at its place, so that all of its inner Vars get its mark
 * above it?  Not if it may be commuted with another one.
 */
static inline bool
px_nulls_are_simple(const SpecialJoinInfo *sjinfo)
{
#if PG_VERSION_NUM >= 160000
	return sjinfo->commute_above_l == NULL &&
		sjinfo->commute_above_r == NULL && sjinfo->commute_below_l == NULL &&
		sjinfo->commute_below_r == NULL;
#else
	return true;
#endif
}

/*
 * The clauses that equivalence classes imply for an inner join of outer with
 * inner.  The function is also given the outer join: 16.
 */
static inline List *
px_join_implied_equalities(PlannerInfo *root, Relids both, Relids outer,
						   RelOptInfo *inner)
{
#if PG_VERSION_NUM >= 160000
	return generate_join_implied_equalities(root, both, outer, inner, NULL);
#else
	return generate_join_implied_equalities(root, both, outer, inner);
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

/* May the role use the foreign server?  Likewise. */
static inline AclResult
px_server_aclcheck(Oid serverid, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ForeignServerRelationId, serverid, role, ACL_USAGE);
#else
	return pg_foreign_server_aclcheck(serverid, role, ACL_USAGE);
#endif
}

/* Wait events got the names that pg_stat_activity shows: 17. */
#if PG_VERSION_NUM < 170000
#define WAIT_EVENT_MESSAGE_QUEUE_RECEIVE	WAIT_EVENT_MQ_RECEIVE
#define WAIT_EVENT_MESSAGE_QUEUE_SEND		WAIT_EVENT_MQ_SEND
#endif

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
 * The part of a setting that depends on its type, bool for instance: inside
 * of struct config_generic since 19, around it before.
 */
#if PG_VERSION_NUM >= 190000
#define PX_SETTING(type, setting)	(&(setting)->_##type)
#else
#define PX_SETTING(type, setting)	((struct config_##type *) (setting))
#endif

/* The name of the value of an enum setting.  It takes any setting: 19. */
static inline const char *
px_enum_setting_name(struct config_generic *setting)
{
	int			value = *PX_SETTING(enum, setting)->variable;

#if PG_VERSION_NUM >= 190000
	return config_enum_lookup_by_value(setting, value);
#else
	return config_enum_lookup_by_value(PX_SETTING(enum, setting), value);
#endif
}

/*
 * The transition states of aggregates (tuple/agg_state.c).  Those of sum and
 * avg of interval are internal, and the same: 17.  In the serialized form of a
 * state, sums of integers are integers of 128 bits instead of numerics: 19.
 * The regr_* functions also keep the value that all X or all Y have: 19.
 */
#define PX_INTERVAL_STATE_IS_INTERNAL	(PG_VERSION_NUM >= 170000)
#define PX_INTEGER_STATE_IS_INT128		(PG_VERSION_NUM >= 190000)
#define PX_REGRESSION_STATE_HAS_COMMON	(PG_VERSION_NUM >= 190000)

/* DomainHasConstraints can also say whether one is volatile: 19. */
static inline bool
px_domain_has_constraints(Oid domain)
{
#if PG_VERSION_NUM >= 190000
	return DomainHasConstraints(domain, NULL);
#else
	return DomainHasConstraints(domain);
#endif
}

/* ShmemInitHash has a single number of entries: 19. */
static inline HTAB *
px_shmem_init_hash(const char *name, int nentries, HASHCTL *ctl, int flags)
{
#if PG_VERSION_NUM >= 190000
	return ShmemInitHash(name, nentries, ctl, flags);
#else
	return ShmemInitHash(name, nentries, nentries, ctl, flags);
#endif
}

/*
 * A tuple descriptor that was made column by column may be used only after
 * TupleDescFinalize: 19.
 */
#if PG_VERSION_NUM < 190000
static inline void
TupleDescFinalize(TupleDesc tupdesc)
{
}
#endif

/* Is the operator a comparison?  get_op_index_interpretation: 18. */
static inline bool
px_is_comparison(Oid operator)
{
#if PG_VERSION_NUM >= 180000
	return get_op_index_interpretation(operator) != NIL;
#else
	return get_op_btree_interpretation(operator) != NIL;
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

/*
 * An index scan for an array of keys is charged with a descent for each key,
 * where 17 knows that it reads no more than the pages of the index.
 */
#define PX_BTREE_CHARGES_EACH_KEY	(PG_VERSION_NUM < 170000)

/*
 * Have another backend catch up with invalidations.  If it waits for a command
 * outside a transaction, it does that by a transaction of its own.
 */
static inline void
px_send_catchup(pid_t pid)
{
#if PG_VERSION_NUM >= 170000
	(void) SendProcSignal(pid, PROCSIG_CATCHUP_INTERRUPT,
						  INVALID_PROC_NUMBER);
#else
	(void) SendProcSignal(pid, PROCSIG_CATCHUP_INTERRUPT, InvalidBackendId);
#endif
}

/* There are several functions random: 17.  F_... of the one of 16. */
#if PG_VERSION_NUM >= 170000
#define PX_F_RANDOM		F_RANDOM_
#else
#define PX_F_RANDOM		F_RANDOM
#endif

#endif							/* PX_COMPAT_H */
