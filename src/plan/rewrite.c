/*-------------------------------------------------------------------------
 *
 * rewrite.c
 *		Queries over foreign tables in a form that is planned better.
 *
 * Some queries have two forms that return the same, and only one of them lets
 * the servers of foreign tables do the work.  The planner keeps to the form
 * that it is given.  So we change a copy of the query, have both planned, and
 * take the cheaper plan.  Only queries that can be changed are planned twice.
 *
 * The forms are those of decorrelate.c and distinct.c, the latter unless
 * pg_exchange.partial_aggregates is off.  SELECT DISTINCT becomes GROUP BY at
 * once, because that can only be better.
 *
 * The plan of another form may read more rows than the query asks for.  So all
 * its foreign tables must be plain ones on their servers (plain_tables.h).
 *
 * Queries are left alone that lock rows or write (but for INSERT ... SELECT),
 * have volatile functions, or have conditions of row security and of security
 * barriers, which must be evaluated before others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

#include "admit/user_code.h"
#include "compat.h"
#include "compat_executor.h"
#include "compat_query.h"
#include "guc.h"
#include "plan/decorrelate.h"
#include "plan/distinct.h"
#include "plan/foreign_query.h"
#include "plan/harmless.h"
#include "plan/lookup.h"
#include "plan/plain_tables.h"
#include "plan/rewrite.h"
#include "tuple/policy.h"

/*
 * A parallel plan must be cheaper than another form's serial plan by this
 * factor.  The costs of a parallel scan are divided by up to 2.4 (for two
 * workers), also those of the work of the remote server, which is the same for
 * both.  TPC-H Q20 at scale 0.1 takes 120 ms with restricted keys, which are
 * looked up serially, and 500 ms without, at costs of 28,800 and 25,100.
 */
#define PARALLEL_FACTOR		1.5

static planner_hook_type prev_planner_hook = NULL;

/* ---------------------------------------------------------------------
 * Which queries
 * --------------------------------------------------------------------- */

bool
px_may_be_resumed(int cursor_options)
{
	return (cursor_options & CURSOR_OPT_PARALLEL_OK) == 0;
}

/*
 * Does the query, or one in it, write, lock rows or need an order of quals?  Or
 * has it columns of values that are others on other servers, and that these
 * would compare in another form?
 */
static bool
must_be_kept(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return px_type_names_objects(((Var *) node)->vartype);
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		return rte->security_barrier || rte->securityQuals != NIL;
	}
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		return (query->commandType != CMD_SELECT &&
				query->commandType != CMD_INSERT) ||
			query->utilityStmt != NULL || query->rowMarks != NIL ||
			query->hasForUpdate || query->hasModifyingCTE ||
			query->hasRowSecurity ||
			query_tree_walker(query, must_be_kept, context,
							  QTW_EXAMINE_RTES_BEFORE);
	}
	return expression_tree_walker(node, must_be_kept, context);
}

static bool has_candidates(Node *node, void *context);

/* Is there something in a query that has another form, maybe? */
static bool
query_has_candidates(Query *query)
{
	ListCell   *lc;

	check_stack_depth();
	if (query->distinctClause != NIL && !query->hasDistinctOn)
		return true;
	if (query->hasAggs || query->hasSubLinks)
		return query_tree_walker(query, has_candidates, NULL, 0);

	/* Its expressions have nothing of that. */
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY &&
			has_candidates((Node *) rte->subquery, NULL))
			return true;
	}
	foreach(lc, query->cteList)
	{
		if (has_candidates(lfirst_node(CommonTableExpr, lc)->ctequery, NULL))
			return true;
	}
	return false;
}

/* The same of any node. */
static bool
has_candidates(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink) &&
		((SubLink *) node)->subLinkType == EXPR_SUBLINK)
		return true;
	if (IsA(node, Aggref) && ((Aggref *) node)->aggdistinct != NIL)
		return true;
	if (IsA(node, Query))
		return query_has_candidates((Query *) node);
	return expression_tree_walker(node, has_candidates, context);
}

/*
 * Could WHERE CURRENT OF name the cursor with this query?  That looks for the
 * scan of a table in the cursor's plan, and a query of another form may have
 * no such scan.
 */
static bool
may_be_updated(const Query *query, int cursor_options)
{
	return (cursor_options & CURSOR_OPT_FAST_PLAN) != 0 &&
		!query->hasAggs && query->groupClause == NIL &&
		query->distinctClause == NIL && query->setOperations == NULL;
}

static bool
is_suitable(Query *query, int cursor_options)
{
	return px_enabled && has_candidates((Node *) query, NULL) &&
		!may_be_updated(query, cursor_options) &&
		!must_be_kept((Node *) query, NULL) && px_query_is_foreign(query) &&
		!contain_volatile_functions((Node *) query);
}

/* ---------------------------------------------------------------------
 * Forms
 * --------------------------------------------------------------------- */

/* How to change a query, and whether anything was changed. */
typedef struct form
{
	px_decorrelate_options options;	/* but for outermost and passed_on */
	bool		keeps_subqueries;	/* each sees what was written before it */
	List	   *needed;			/* queries all of whose columns and groups are */
	const Query *outermost;		/* next query whose rows are all needed */
	bool		passed_on;		/* queries around that have subqueries */
	bool		changed;
	bool		reads_more;		/* rows than the query asks for, maybe */
} form;

static bool
is_volatile_user_function(Oid function)
{
	return function >= FirstNormalObjectId &&
		func_volatile(function) == PROVOLATILE_VOLATILE;
}

static bool
may_write(Oid function, void *context)
{
	return px_any_function(function, is_volatile_user_function);
}

/* Does it call functions of users that may write to foreign tables? */
static bool
calls_writers(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (check_functions_in_node(node, may_write, NULL))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, calls_writers, context, 0);
	return expression_tree_walker(node, calls_writers, context);
}

/* Do constraints of the table call such functions, or, maybe, its domains? */
static bool
checks_by_writers(const Relation relation)
{
	TupleDesc	desc = RelationGetDescr(relation);
	const TupleConstr *constr = desc->constr;

	for (int i = 0; constr && i < constr->num_check; i++)
	{
		if (calls_writers(stringToNode(constr->check[i].ccbin), NULL))
			return true;
	}
	for (int i = 0; i < desc->natts; i++)
	{
		Oid			type = TupleDescAttr(desc, i)->atttypid;

		if (OidIsValid(type) && getBaseType(type) != type)
			return true;
	}
	return false;
}

/*
 * May rows of foreign tables be written before all rows of the query are read?
 * The table that it inserts into is foreign, or may have foreign partitions, or
 * triggers and constraints call functions meanwhile.
 */
static bool
writes_meanwhile(const Query *query)
{
	Relation	relation;
	const TriggerDesc *triggers;
	bool		result;

	if (query->commandType != CMD_INSERT)
		return false;

	/* The parser or the plan cache has locked it. */
	relation = table_open(
		rt_fetch(query->resultRelation, query->rtable)->relid, NoLock);
	triggers = relation->trigdesc;
	result = relation->rd_rel->relkind != RELKIND_RELATION ||
		(triggers && (triggers->trig_insert_before_row ||
					  triggers->trig_insert_before_statement)) ||
		checks_by_writers(relation);
	table_close(relation, NoLock);
	return result;
}

/*
 * The subquery that all of FROM is, if all that it returns is read.  Others
 * lose the columns that are not.
 */
static Query *
subquery_read_wholly(const Query *query)
{
	const Query *subquery = px_subquery_of_all(query);
	Bitmapset  *columns = NULL;
	ListCell   *lc;
	int			rtindex;

	if (subquery == NULL)
		return NULL;

	/* Expressions may have subqueries of their own, which read it, too. */
	rtindex = linitial_node(RangeTblRef, query->jointree->fromlist)->rtindex;
	foreach(lc, pull_vars_of_level((Node *) query->targetList, 0))
	{
		const Var  *var = lfirst(lc);

		if (IsA(var, Var) && var->varno == rtindex)
			columns = bms_add_member(columns,
									 var->varattno -
									 FirstLowInvalidHeapAttributeNumber);
	}
	if (bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber,
					  columns))
		return unconstify(Query *, subquery);	/* the whole row */
	foreach(lc, subquery->targetList)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!target->resjunk &&
			!bms_is_member(target->resno - FirstLowInvalidHeapAttributeNumber,
						   columns))
			return NULL;
	}
	return unconstify(Query *, subquery);
}

static bool
change_queries(Node *node, void *arg)
{
	form	   *wanted = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		px_decorrelate_options options = wanted->options;
		bool		needs_all;

		options.outermost = node == (Node *) wanted->outermost;
		options.passed_on = wanted->passed_on;
		if (options.outermost)
		{
			wanted->outermost = px_subquery_of_all((Query *) node);
			wanted->passed_on |= ((Query *) node)->hasSubLinks;
		}
		needs_all = list_member_ptr(wanted->needed, node);
		if (needs_all)
			wanted->needed = lappend(wanted->needed,
									 subquery_read_wholly((Query *) node));
		if (px_partial_aggregates_setting != PX_PARTIAL_OFF &&
			px_aggregate_twice((Query *) node, needs_all))
		{
			wanted->changed = true;
			wanted->reads_more |= !needs_all;
		}
		if (!wanted->keeps_subqueries &&
			px_decorrelate((Query *) node, options))
			wanted->changed = wanted->reads_more = true;
		return query_tree_walker((Query *) node, change_queries, arg, 0);
	}
	if (IsA(node, SubLink))
	{
		SubLink    *sublink = (SubLink *) node;

		/* Others may end early, or become joins. */
		if (sublink->subLinkType == EXPR_SUBLINK ||
			sublink->subLinkType == ARRAY_SUBLINK)
			wanted->needed = lappend(wanted->needed, sublink->subselect);
	}
	return expression_tree_walker(node, change_queries, arg);
}

/* The query in another form, or NULL if there is none. */
static Query *
change_query(const Query *query, px_decorrelate_options options,
			 bool keeps_subqueries, bool *reads_more)
{
	Query	   *copy = copyObject(unconstify(Query *, query));
	form		wanted = {.options = options,
						  .keeps_subqueries = keeps_subqueries,
						  .outermost = copy};

	if (!keeps_subqueries)
		wanted.needed = list_make1(copy->commandType == CMD_INSERT ?
								   unconstify(Query *, px_subquery_of_all(copy)) :
								   copy);

	(void) change_queries((Node *) copy, &wanted);
	*reads_more = wanted.reads_more;
	return wanted.changed ? copy : NULL;
}

/*
 * Turn SELECT DISTINCT into GROUP BY where the planner can do the same with
 * both.  It knows that the columns of a subquery are unique only by DISTINCT,
 * so a subquery that is joined with others is left alone.
 */
static void
group_instead_of_distinct(Query *query)
{
	ListCell   *lc;

	check_stack_depth();
	px_group_instead_of_distinct(query);
	if (query->commandType == CMD_SELECT && query->setOperations == NULL &&
		list_length(query->rtable) != 1)
		return;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY)
			group_instead_of_distinct(rte->subquery);
	}
}

/* Is a plan cheaper than another one, for so much of the rows as is wanted? */
static bool
is_cheaper(const PlannedStmt *a, const PlannedStmt *b, int cursor_options)
{
	const Plan *plans[] = {a->planTree, b->planTree};
	double		fraction = (cursor_options & CURSOR_OPT_FAST_PLAN)
		? cursor_tuple_fraction
		: 1.0;
	double		factor = 1.0;
	double		costs[2];

	for (int i = 0; i < 2; i++)
		costs[i] = plans[i]->startup_cost +
			fraction * (plans[i]->total_cost - plans[i]->startup_cost);
	if (a->parallelModeNeeded && !b->parallelModeNeeded)
		factor = PARALLEL_FACTOR;
	if (px_plan_disabled(plans[0]) != px_plan_disabled(plans[1]))
		return px_plan_disabled(plans[0]) < px_plan_disabled(plans[1]);
	return costs[0] * factor < costs[1];
}

/* Has one of the rights in a list, or several, all that is read by another? */
static bool
covers(const List *rights, const px_table_rights *wanted)
{
	Bitmapset  *columns = NULL;
	bool		found = false;
	ListCell   *lc;

	foreach(lc, rights)
	{
		const px_table_rights *each = lfirst(lc);

		if (each->relid != wanted->relid ||
			each->checkAsUser != wanted->checkAsUser ||
			(each->requiredPerms & ACL_SELECT) == 0)
			continue;
		found = true;
		columns = bms_add_members(columns, each->selectedCols);
	}
	return found && bms_is_subset(wanted->selectedCols, columns);
}

/*
 * Does a plan read nothing that the user needs other rights for than for the
 * plain plan, unless he has them?  The planner drops subqueries that nobody
 * needs, but not once they are joins.
 */
static bool
needs_no_rights(PlannedStmt *stmt, const PlannedStmt *plain)
{
	ListCell   *lc;

	foreach(lc, px_planned_rights(stmt))
	{
		const px_table_rights *rights = lfirst(lc);

		if ((rights->requiredPerms & ACL_SELECT) != 0 &&
			!covers(px_planned_rights(plain), rights))
		{
			stmt->dependsOnRole = true;
			return px_check_permissions(stmt, false);
		}
	}
	return true;
}

/* ---------------------------------------------------------------------
 * The hook
 * --------------------------------------------------------------------- */

static PlannedStmt *
plan_query(PX_PLANNER_PARAMETERS)
{
	return prev_planner_hook ?
		prev_planner_hook(PX_PLANNER_ARGUMENTS(parse)) :
		standard_planner(PX_PLANNER_ARGUMENTS(parse));
}

/*
 * Has the query items that could be joined?  The table that rows are inserted
 * into is not one of them: what INSERT ... SELECT joins is in its subquery.
 */
static bool
may_join(const Query *query)
{
	int			nitems = query->commandType == CMD_INSERT ? -1 : 0;
	ListCell   *lc;

	if (query->hasSubLinks || query->cteList != NIL)
		return true;
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY)
			return true;
		if (rte->rtekind != RTE_JOIN && rte->rtekind != RTE_RESULT)
			nitems++;
	}
	return nitems > 1;
}

static PlannedStmt *
plan_without_lookups(PX_PLANNER_PARAMETERS)
{
	PlannedStmt *volatile stmt = NULL;

	px_lookup_joins = false;
	PG_TRY();
	{
		stmt = plan_query(PX_PLANNER_ARGUMENTS(parse));
	}
	PG_FINALLY();
	{
		px_lookup_joins = true;
	}
	PG_END_TRY();
	return stmt;
}

/*
 * A plan of the query in one form.  Each batch of a lookup is a query of its
 * own, where postgres_fdw reads the foreign table once.  So there is none if
 * functions in the query may write to the table.  If statements or triggers
 * may, in between, a lookup sees the same rows each time (node/lookup.c), but
 * some do not suit that.
 */
static PlannedStmt *
plan_form(PX_PLANNER_PARAMETERS)
{
	bool		calls;
	PlannedStmt *stmt;
	Query	   *copy;

	/* Most queries end here.  To look for foreign partitions takes longer. */
	if (!px_lookup_joins || !may_join(parse))
		return plan_query(PX_PLANNER_ARGUMENTS(parse));
	calls = calls_writers((Node *) parse, NULL);
	if (!calls && !px_may_be_resumed(cursor_options) && !writes_meanwhile(parse))
		return plan_query(PX_PLANNER_ARGUMENTS(parse));

	if (!px_query_is_foreign(parse))
		return plan_query(PX_PLANNER_ARGUMENTS(parse));
	if (calls)
		return plan_without_lookups(PX_PLANNER_ARGUMENTS(parse));
	copy = copyObject(parse);
	stmt = plan_query(PX_PLANNER_ARGUMENTS(parse));
	return px_lookup_suits_writes(stmt) ? stmt :
		plan_without_lookups(PX_PLANNER_ARGUMENTS(copy));
}

static PlannedStmt *
rewrite_planner(PX_PLANNER_PARAMETERS)
{
	Query	   *forms[2] = {NULL, NULL};
	bool		reads_more = false;
	PlannedStmt *plain;
	PlannedStmt *best;

	if (is_suitable(parse, cursor_options))
	{
		bool		keeps_subqueries = writes_meanwhile(parse) ||
			px_may_be_resumed(cursor_options);
		px_decorrelate_options options = {
			.harmless = !keeps_subqueries && px_statement_is_harmless(parse),
			.restrict_keys = true};

		if (px_partial_aggregates_setting != PX_PARTIAL_OFF)
			group_instead_of_distinct(parse);
		forms[0] = change_query(parse, options, keeps_subqueries,
								&reads_more);
		options.restrict_keys = false;
		if (forms[0])
			forms[1] = change_query(parse, options, keeps_subqueries,
								&reads_more);
		if (forms[1] && equal(forms[0], forms[1]))
			forms[1] = NULL;
	}

	best = plain = plan_form(PX_PLANNER_ARGUMENTS(parse));
	for (int i = 0; i < (int) lengthof(forms); i++)
	{
		PlannedStmt *other;

		if (forms[i] == NULL)
			continue;
		other = plan_form(PX_PLANNER_ARGUMENTS(forms[i]));
		if (is_cheaper(other, best, cursor_options) &&
			needs_no_rights(other, plain) &&
			(!reads_more || px_reads_plain_tables(other)))
			best = other;
	}
	return best;
}

void
px_rewrite_init(void)
{
	prev_planner_hook = planner_hook;
	planner_hook = rewrite_planner;
}
