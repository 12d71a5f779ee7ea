/*-------------------------------------------------------------------------
 *
 * estimate.c
 *		Estimates for foreign tables that were never analyzed here.
 *
 * This file keeps what the servers have told, for the session, and gives it to
 * the planner.  ask_statistics.c asks.  parent_stats.c derives statistics of
 * partitioned tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/parallel.h"
#include "catalog/pg_statistic.h"
#include "commands/defrem.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "plan/ask_statistics.h"
#include "plan/column_stats.h"
#include "plan/estimate.h"
#include "plan/known_stats.h"
#include "plan/parent_stats.h"
#include "plan/plain_explain.h"

static get_relation_stats_hook_type next_relation_stats = NULL;
static get_attavgwidth_hook_type next_attavgwidth = NULL;

/* May estimates of servers be used at all? */
static bool
is_wanted(void)
{
	return px_enabled && px_remote_statistics &&
		px_transport_setting != PX_TRANSPORT_SESSION;
}

/* The table's option counts, if it has one. */
bool
px_uses_remote_estimate(const ForeignTable *table)
{
	List	   *options[] = {table->options,
							GetForeignServer(table->serverid)->options};

	for (size_t i = 0; i < lengthof(options); i++)
	{
		ListCell   *lc;

		foreach(lc, options[i])
		{
			DefElem    *option = lfirst_node(DefElem, lc);

			if (strcmp(option->defname, "use_remote_estimate") == 0)
				return defGetBoolean(option);
		}
	}
	return false;
}

/* ---------------------------------------------------------------------
 * Asking
 * --------------------------------------------------------------------- */

static Oid
user_of(const RelOptInfo *rel)
{
	return OidIsValid(rel->userid) ? rel->userid : GetUserId();
}

/* Is this a foreign table of postgres_fdw that was never analyzed? */
static bool
is_unknown(PlannerInfo *root, const RelOptInfo *rel,
		   GetForeignRelSize_function get_size)
{
	return rel != NULL && IS_SIMPLE_REL(rel) && rel->fdwroutine != NULL &&
		rel->fdwroutine->GetForeignRelSize == get_size && rel->tuples < 0 &&
		planner_rt_fetch(rel->relid, root)->rtekind == RTE_RELATION;
}

/*
 * Add a table to the question, if its server is to be asked and has not been
 * asked of late.
 */
static void
add_question(PlannerInfo *root, RelOptInfo *rel, List **asked, List **known)
{
	Oid			relid = planner_rt_fetch(rel->relid, root)->relid;
	px_known_table *entry = px_known_table_get(relid, user_of(rel));

	if (px_known_is_fresh(entry))
		return;
	px_known_table_renew(entry);
	if (px_uses_remote_estimate(GetForeignTable(relid)))
		return;
	*asked = lappend(*asked, px_asked_table_new(relid, user_of(rel)));
	*known = lappend(*known, entry);
}

/* Ask about all tables of the query that need it. */
static void
ask_about_query(PlannerInfo *root, GetForeignRelSize_function get_size)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_exchange statistics",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	List	   *asked = NIL;
	List	   *known = NIL;
	ListCell   *question;
	ListCell   *entry;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (is_unknown(root, root->simple_rel_array[i], get_size))
			add_question(root, root->simple_rel_array[i], &asked, &known);
	}
	if (asked != NIL)
	{
		px_ask_statistics(asked);
		forboth(question, asked, entry, known)
			px_known_table_fill(lfirst(entry), lfirst(question));
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ---------------------------------------------------------------------
 * Sizes
 * --------------------------------------------------------------------- */

/* Rows of a table that was analyzed nowhere: see plancat.c. */
static double
guess_tuples(Oid relid, double nbytes)
{
	int			width = MAXALIGN(get_relation_data_width(relid, NULL)) +
		MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData);

	return nbytes / BLCKSZ * ((BLCKSZ - SizeOfPageHeaderData) / width);
}

void
px_estimate_size(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	px_known_table *known;

	if (!is_wanted() ||
		!is_unknown(root, rel, rel->fdwroutine->GetForeignRelSize))
		return;
	known = px_known_table_get(rte->relid, user_of(rel));
	if (!px_known_is_fresh(known) && !px_in_plain_explain() &&
		!IsParallelWorker())
	{
		ask_about_query(root, rel->fdwroutine->GetForeignRelSize);
		known = px_known_table_get(rte->relid, user_of(rel));
	}
	if (!known->answered)
		return;

	rel->tuples = rint(known->tuples +
					   guess_tuples(rte->relid, known->nbytes_unknown));
	rel->pages = (BlockNumber) Min(ceil(known->nbytes / BLCKSZ),
								   (double) MaxBlockNumber);

	/* The width was computed before the average widths were known. */
	memset(rel->attr_widths, 0,
		   (rel->max_attr - rel->min_attr + 1) * sizeof(int32));
	set_foreign_size_estimates(root, rel);
}

bool
px_estimate_is_known(Oid relid)
{
	return is_wanted() && px_known_table_any(relid) != NULL;
}

/* ---------------------------------------------------------------------
 * Statistics of columns
 * --------------------------------------------------------------------- */

/* The relation of a range table entry, or NULL. */
static RelOptInfo *
rel_of_entry(PlannerInfo *root, const RangeTblEntry *rte)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (root->simple_rte_array[i] == rte)
			return root->simple_rel_array[i];
	}
	return NULL;
}

/*
 * May the user read all values of the relation?  If not, the planner shows
 * statistics to leakproof functions only.  For a partition, the rights on the
 * table that the query names count.
 */
static bool
may_read_all(PlannerInfo *root, const RelOptInfo *rel)
{
	Index		rti = rel->relid;
	RangeTblEntry *rte;

	while (root->append_rel_array && root->append_rel_array[rti] &&
		   root->simple_rte_array[root->append_rel_array[rti]->parent_relid]
			   ->rtekind == RTE_RELATION)
		rti = root->append_rel_array[rti]->parent_relid;
	rte = root->simple_rte_array[rti];
	return rte->rtekind == RTE_RELATION && rte->securityQuals == NIL &&
		pg_class_aclcheck(rte->relid, user_of(rel), ACL_SELECT) ==
		ACLCHECK_OK;
}

static void
free_tuple(HeapTuple tuple)
{
	heap_freetuple(tuple);
}

/* get_relation_stats_hook */
static bool
relation_stats(PlannerInfo *root, RangeTblEntry *rte, AttrNumber attnum,
			   VariableStatData *vardata)
{
	if (is_wanted() && attnum > 0)
	{
		RelOptInfo *rel = rel_of_entry(root, rte);
		HeapTuple	tuple = NULL;

		if (rel == NULL)
			 /* nothing is known */ ;
		else if (rte->inh)
			tuple = px_parent_stats(root, rel, rte, attnum);
		else if (rte->rtekind == RTE_RELATION && rel->fdwroutine != NULL)
			tuple = px_known_column(rte->relid, user_of(rel), attnum);
		if (tuple != NULL)
		{
			/* An invalidation may free what is known. */
			vardata->statsTuple = heap_copytuple(tuple);
			vardata->freefunc = free_tuple;
			vardata->acl_ok = may_read_all(root, rel);
			return true;
		}
	}
	return next_relation_stats &&
		next_relation_stats(root, rte, attnum, vardata);
}

/* get_attavgwidth_hook */
static int32
attavgwidth(Oid relid, AttrNumber attnum)
{
	int32		width = 0;

	if (is_wanted())
	{
		px_known_table *known = px_known_table_any(relid);
		HeapTuple	tuple = known && attnum > 0 && attnum <= known->ncolumns ?
			known->columns[attnum - 1] : NULL;

		if (tuple != NULL)
			width = ((Form_pg_statistic) GETSTRUCT(tuple))->stawidth;
	}
	if (width <= 0 && next_attavgwidth)
		width = next_attavgwidth(relid, attnum);
	return width;
}

void
px_estimate_init(void)
{
	next_relation_stats = get_relation_stats_hook;
	get_relation_stats_hook = relation_stats;
	next_attavgwidth = get_attavgwidth_hook;
	get_attavgwidth_hook = attavgwidth;
}
