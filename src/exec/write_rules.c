/*-------------------------------------------------------------------------
 *
 * write_rules.c
 *		Which writes may travel as frames.
 *
 * With postgres_fdw each row is on its server before the next one is looked
 * for, or batch_size rows are.  Frames come later.  So there are frames only
 * if nobody here can tell the difference; what the server says about its own
 * side is asked later (exec/writer.h).  Three kinds of things could tell:
 *
 * - Something that wants the row that was written: RETURNING, triggers, ...
 *
 * - Functions that may run queries while the rows are made.  With batch_size
 *	 over 1, they see some of the rows with postgres_fdw, too, and how many
 *	 that are is no promise.
 *
 * - A scan of the same server that reads after the first row was written:
 *	 views may call functions that look, and a scan that locks rows skips those
 *	 that were changed.  Before our own scans begin, and before they fetch a
 *	 portion, they have the writer send what postgres_fdw would have sent: with
 *	 batch_size over 1, whole statements.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
#include "utils/typcache.h"

#include "admit/row_triggers.h"
#include "admit/user_code.h"
#include "compat.h"
#include "compat_executor.h"
#include "exec/plan_walk.h"
#include "exec/write_rules.h"
#include "guc.h"

/* ---------------------------------------------------------------------
 * Functions
 * --------------------------------------------------------------------- */

/*
 * Functions of PostgreSQL that run queries which they are given, or read any
 * table.
 */
static const Oid query_functions[] = {
	F_QUERY_TO_XML,
	F_QUERY_TO_XMLSCHEMA,
	F_QUERY_TO_XML_AND_XMLSCHEMA,
	F_CURSOR_TO_XML,
	F_CURSOR_TO_XMLSCHEMA,
	F_TABLE_TO_XML,
	F_TABLE_TO_XML_AND_XMLSCHEMA,
	F_SCHEMA_TO_XML,
	F_SCHEMA_TO_XML_AND_XMLSCHEMA,
	F_DATABASE_TO_XML,
	F_DATABASE_TO_XML_AND_XMLSCHEMA,
	F_TS_STAT_TEXT,
	F_TS_STAT_TEXT_TEXT,
	F_TS_REWRITE_TSQUERY_TEXT,
};

/*
 * A user's function that is declared immutable promises to read no table.  But
 * in constraints and the like, others can't be used, so they are not believed:
 * context is not NULL then.
 */
static bool
is_user_code(Oid function, void *context)
{
	if (function >= FirstNormalObjectId)
		return context != NULL || px_is_user_code(function);
	for (size_t i = 0; i < lengthof(query_functions); i++)
	{
		if (function == query_functions[i])
			return true;
	}
	return false;
}

static bool calls_user_code(Node *node, void *context);

static bool
domain_calls_user_code(Oid domain)
{
	ListCell   *lc;

	foreach(lc, px_domain_constraints(domain))
	{
		DomainConstraintState *constraint = lfirst(lc);

		/* In constraints, functions are not believed. */
		if (calls_user_code((Node *) constraint->check_expr, constraint))
			return true;
	}
	return false;
}

/* Does the input function of a type, with domains, call user code? */
static bool
input_calls_user_code(Oid type)
{
	Oid			element;
	TupleDesc	columns;
	bool		found = false;

	/* The domains that initdb makes have no OID as low as this. */
	if (type < FirstGenbkiObjectId)
		return false;
	check_stack_depth();
	element = get_element_type(type);
	if (OidIsValid(element))
		return input_calls_user_code(element);
	switch (get_typtype(type))
	{
		case TYPTYPE_DOMAIN:
			return domain_calls_user_code(type) ||
				input_calls_user_code(getBaseType(type));
		case TYPTYPE_RANGE:
			return input_calls_user_code(get_range_subtype(type));
		case TYPTYPE_MULTIRANGE:
			return input_calls_user_code(get_multirange_range(type));
		case TYPTYPE_COMPOSITE:
			columns = lookup_rowtype_tupdesc(type, -1);
			for (int i = 0; !found && i < columns->natts; i++)
			{
				Form_pg_attribute column = TupleDescAttr(columns, i);

				found = !column->attisdropped &&
					input_calls_user_code(column->atttypid);
			}
			ReleaseTupleDesc(columns);
			return found;
		default:
			return false;
	}
}

static bool
any_input_calls_user_code(const List *types)
{
	ListCell   *lc;

	foreach(lc, types)
	{
		if (input_calls_user_code(lfirst_oid(lc)))
			return true;
	}
	return false;
}

/* May the node check domains in the values that it makes? */
static bool
checks_by_user_code(Node *node)
{
	switch (nodeTag(node))
	{
		case T_CoerceToDomain:
			return domain_calls_user_code(
				((const CoerceToDomain *) node)->resulttype);
		case T_CoerceViaIO:
		case T_FuncExpr:
			return input_calls_user_code(exprType(node));
		case T_RangeTblFunction:
			return any_input_calls_user_code(
				((const RangeTblFunction *) node)->funccoltypes);
		case T_TableFunc:
			return any_input_calls_user_code(
				((const TableFunc *) node)->coltypes);
		default:
			return false;
	}
}

static bool
calls_user_code(Node *node, void *context)
{
	if (node == NULL || IsA(node, Var) || IsA(node, Const))
		return false;
	if (check_functions_in_node(node, is_user_code, context) ||
		checks_by_user_code(node))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, calls_user_code, context, 0);
	return expression_tree_walker(node, calls_user_code, context);
}

/* Do generated columns of the target, which are computed here? */
static bool
generated_calls_user_code(Relation relation)
{
	TupleDesc	desc = RelationGetDescr(relation);

	if (desc->constr == NULL || !desc->constr->has_generated_stored)
		return false;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attgenerated != '\0' && !attr->attisdropped &&
			calls_user_code(build_column_default(relation, i + 1), desc))
			return true;
	}
	return false;
}

/*
 * May what a table evaluates for each of its rows run queries: constraints,
 * indexes and generated columns?
 */
static bool
table_calls_user_code(Relation relation)
{
	const TupleConstr *constr = RelationGetDescr(relation)->constr;
	List	   *indexes = RelationGetIndexList(relation);
	bool		found = generated_calls_user_code(relation);
	ListCell   *lc;

	for (int i = 0; constr && i < constr->num_check; i++)
		found |= calls_user_code(stringToNode(constr->check[i].ccbin),
								 relation);
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		found |= calls_user_code((Node *) RelationGetIndexExpressions(index),
								 relation) ||
			calls_user_code((Node *) RelationGetIndexPredicate(index),
							relation);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return found;
}

bool
px_write_calls_user_code(Node *node)
{
	return calls_user_code(node, NULL);
}

/* ---------------------------------------------------------------------
 * Scans
 * --------------------------------------------------------------------- */

/* When a node may be run, seen from the first row that is written. */
typedef struct node_time
{
	bool		late;			/* begun after it, perhaps anew */
	bool		streams;		/* after it, as its rows are wanted */
} node_time;

typedef struct reads_context
{
	Oid			serverid;
	Index		target;			/* its index in the range table; 0: routed */
} reads_context;

static int	reads_below(Plan *plan, const reads_context *context,
						node_time time);

static int
reads_of_list(List *plans, const reads_context *context, node_time time,
			  bool late_rest)
{
	int			found = 0;
	ListCell   *lc;

	foreach(lc, plans)
	{
		found |= reads_below(lfirst(lc), context, time);
		time.late = late_rest;
	}
	return found;
}

static int
reads_of_scan(const ForeignScan *scan, const reads_context *context,
			  node_time time)
{
	if (scan->fs_server != context->serverid ||
		!(time.late || time.streams))
		return 0;
	if (!time.late && scan->scan.scanrelid > 0 &&
		scan->scan.scanrelid == context->target)
		return PX_READS_TARGET;
	return PX_READS_FDW;
}

/*
 * May the inner side of a join begin when rows were already returned?  A merge
 * join returns rows of the outer side whose key is NULL, if they come first,
 * before it looks for the inner side.
 */
static bool
begins_late(const Plan *join)
{
	if (IsA(join, MergeJoin))
		return ((const Join *) join)->jointype == JOIN_LEFT ||
			((const Join *) join)->jointype == JOIN_FULL ||
			((const Join *) join)->jointype == JOIN_ANTI;
	return IsA(join, NestLoop);
}

/* Does a node read all of its input before it returns a row? */
static bool
reads_all_first(const Plan *plan)
{
	if (IsA(plan, Agg))
		return ((const Agg *) plan)->aggstrategy == AGG_PLAIN ||
			((const Agg *) plan)->aggstrategy == AGG_HASHED;
	return IsA(plan, Sort) || IsA(plan, Hash);
}

/* What in plan, which may be NULL, reads when rows were already returned? */
static int
reads_below(Plan *plan, const reads_context *context, node_time time)
{
	node_time	inner;

	if (plan == NULL)
		return 0;
	check_stack_depth();

	switch (nodeTag(plan))
	{
		case T_ForeignScan:
			return reads_of_scan((const ForeignScan *) plan, context, time);
		case T_Append:
			return reads_of_list(((Append *) plan)->appendplans, context,
								 time, true);
		case T_MergeAppend:
			return reads_of_list(((MergeAppend *) plan)->mergeplans, context,
								 time, time.late);
		case T_SubqueryScan:
			return reads_below(((SubqueryScan *) plan)->subplan, context,
							   time);
		case T_CustomScan:
			if (((CustomScan *) plan)->custom_plans == NIL)
				break;			/* ExchangeKeys */
			if (!px_plan_is_receive(plan))
				return reads_of_list(((CustomScan *) plan)->custom_plans,
									 context, (node_time) {true, true}, true);

			/* Its child would read what it reads. */
			return reads_of_list(((CustomScan *) plan)->custom_plans, context,
								 time, time.late) ? PX_READS_OURS : 0;
		case T_RecursiveUnion:
			time.late = true;
			break;
		default:
			break;
	}
	if (reads_all_first(plan))
		time.streams = false;
	inner = time;
	inner.late = time.late || begins_late(plan);
	return reads_below(plan->lefttree, context, time) |
		reads_below(plan->righttree, context, inner);
}

static int
reads_of_source(const ModifyTableState *mtstate, const ResultRelInfo *target)
{
	reads_context context;

	context.serverid =
		GetForeignServerIdByRelId(RelationGetRelid(target->ri_RelationDesc));
	context.target = target->ri_RangeTableIndex;
	return reads_below(mtstate->ps.plan->lefttree, &context,
					   (node_time) {false, true}) |
		reads_of_list(mtstate->ps.state->es_plannedstmt->subplans, &context,
					  (node_time) {true, true}, true);
}

/* ---------------------------------------------------------------------
 * Statements
 * --------------------------------------------------------------------- */

/* Row triggers of the foreign table itself. */
static bool
fires_for_rows(const TriggerDesc *triggers, CmdType operation)
{
	if (triggers == NULL)
		return false;
	switch (operation)
	{
		case CMD_INSERT:
			return triggers->trig_insert_before_row ||
				triggers->trig_insert_after_row;
		case CMD_UPDATE:
			return triggers->trig_update_before_row ||
				triggers->trig_update_after_row;
		default:
			return triggers->trig_delete_before_row ||
				triggers->trig_delete_after_row;
	}
}

static bool
wants_transition_tables(const TriggerDesc *triggers)
{
	return triggers &&
		(triggers->trig_insert_new_table || triggers->trig_update_old_table ||
		 triggers->trig_update_new_table || triggers->trig_delete_old_table);
}

/* The columns of a partition's ancestor that have the names of root's. */
static Bitmapset *
columns_by_name(Relation root, const Bitmapset *columns, Oid relid)
{
	Bitmapset  *result = NULL;
	int			column = -1;

	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	attno = column + FirstLowInvalidHeapAttributeNumber;
		const char *name =
			get_attname(RelationGetRelid(root), attno, false);

		result = bms_add_member(result, get_attnum(relid, name) -
								FirstLowInvalidHeapAttributeNumber);
	}
	return result;
}

/*
 * May an UPDATE move rows into the target from other partitions, or out of it?
 * It may if it sets partition key columns of a table above the target.
 */
static bool
may_move_rows(const ModifyTableState *mtstate, const ResultRelInfo *target)
{
	ResultRelInfo *root = mtstate->rootResultRelInfo;
	Oid			relid = RelationGetRelid(target->ri_RelationDesc);
	Bitmapset  *columns;
	ListCell   *lc;

	if (root->ri_RelationDesc->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	columns = ExecGetUpdatedCols(root, mtstate->ps.state);
	foreach(lc, get_partition_ancestors(relid))
	{
		Oid			ancestor = lfirst_oid(lc);
		Relation	relation = table_open(ancestor, NoLock);
		bool		moves =
			has_partition_attrs(relation,
								columns_by_name(root->ri_RelationDesc, columns,
												ancestor),
								NULL);

		table_close(relation, NoLock);
		if (moves)
			return true;
		if (ancestor == RelationGetRelid(root->ri_RelationDesc))
			break;
	}
	return false;
}

/* What the statement itself asks for. */
static const char *
reason_of_statement(const ModifyTableState *mtstate,
					const ResultRelInfo *target, bool routed)
{
	const ModifyTable *plan = (const ModifyTable *) mtstate->ps.plan;
	const PlannedStmt *stmt = mtstate->ps.state->es_plannedstmt;

	if (mtstate->rootResultRelInfo == NULL)
		return "logical replication";
	if (plan == NULL)
		return NULL;			/* COPY */
	if (mtstate->operation == CMD_MERGE)
		return "MERGE";
	if (stmt == NULL || stmt->hasModifyingCTE ||
		stmt->planTree != mtstate->ps.plan)
		return "WITH that changes rows";
	if (plan->returningLists != NIL)
		return "RETURNING";
	if (plan->withCheckOptionLists != NIL)
		return "WITH CHECK OPTION";
	if (mtstate->operation == CMD_UPDATE &&
		(routed || may_move_rows(mtstate, target)))
		return "rows may move to other partitions";
	return NULL;
}

/*
 * Do triggers fire before a row of another table of the statement is changed?
 * Rows of this one may have been changed then, and their functions may look.
 */
static bool
others_fire_before_rows(const ModifyTableState *mtstate)
{
	for (int i = 0; i < mtstate->mt_nrels; i++)
	{
		const TriggerDesc *triggers = mtstate->resultRelInfo[i].ri_TrigDesc;

		if (triggers && (mtstate->operation == CMD_UPDATE ?
						 triggers->trig_update_before_row :
						 triggers->trig_delete_before_row))
			return true;
	}
	return false;
}

/*
 * May rows of local tables of the statement, which come in between, run
 * queries when they are stored?
 */
static bool
others_call_user_code(const ModifyTableState *mtstate, CmdType operation)
{
	Relation	root = mtstate->rootResultRelInfo->ri_RelationDesc;

	if (operation == CMD_INSERT)
		return root->rd_rel->relkind == RELKIND_PARTITIONED_TABLE &&
			px_has_user_checks_below(RelationGetRelid(root));
	for (int i = 0; operation == CMD_UPDATE && i < mtstate->mt_nrels; i++)
	{
		Relation	other = mtstate->resultRelInfo[i].ri_RelationDesc;

		if (other->rd_rel->relkind == RELKIND_RELATION &&
			table_calls_user_code(other))
			return true;
	}
	return false;
}

/* Triggers that fire here. */
static const char *
reason_of_triggers(const ModifyTableState *mtstate, ResultRelInfo *target,
				   CmdType operation)
{
	const ResultRelInfo *root = mtstate->rootResultRelInfo;
	bool		copy = mtstate->ps.plan == NULL;

	if (fires_for_rows(target->ri_TrigDesc, operation))
		return "row triggers";
	if (wants_transition_tables(root->ri_TrigDesc))
		return "transition tables";

	/* COPY fires them before it lets the FDW end. */
	if (copy && root->ri_TrigDesc &&
		root->ri_TrigDesc->trig_insert_after_statement)
		return "statement triggers of COPY";

	/*
	 * Rows for other partitions come in between.  Triggers that fire after a
	 * row wait for the end of an INSERT, but COPY fires them itself.
	 */
	if (operation == CMD_INSERT &&
		root->ri_RelationDesc->rd_rel->relkind == RELKIND_PARTITIONED_TABLE &&
		px_has_row_triggers_below(RelationGetRelid(root->ri_RelationDesc),
								  !copy))
		return "row triggers of other partitions";
	if (operation != CMD_INSERT && others_fire_before_rows(mtstate))
		return "row triggers of other partitions";
	return NULL;
}

static bool
is_marked(const ModifyTableState *mtstate, List *private)
{
	const ModifyTable *plan = (const ModifyTable *) mtstate->ps.plan;
	Node	   *last;

	if (private == NIL && plan->fdwPrivLists != NIL)
		private = linitial(plan->fdwPrivLists);
	if (private == NIL)
		return false;
	last = llast(private);
	return last && IsA(last, String) &&
		strcmp(strVal(last), PX_WRITE_MARK) == 0;
}

/* What may look at the target while rows are on their way. */
static const char *
reason_of_source(const ModifyTableState *mtstate, const ResultRelInfo *target,
				 List *private, int batch_size, int *reads)
{
	if (mtstate->ps.plan == NULL)
		return NULL;			/* COPY */
	if (batch_size == 1 && !is_marked(mtstate, private))
		return "functions may run queries";
	*reads = reads_of_source(mtstate, target);
	if ((*reads & PX_READS_FDW) != 0)
		return "its server is read meanwhile";
	return NULL;
}

const char *
px_write_reason(ModifyTableState *mtstate, ResultRelInfo *target, bool routed,
				List *private, int batch_size, int *reads)
{
	CmdType		operation = routed ? CMD_INSERT : mtstate->operation;
	const char *reason;

	*reads = 0;
	if (!px_enabled)
		return "pg_exchange.enabled is off";
	if (!px_writes)
		return "pg_exchange.writes is off";
	reason = reason_of_statement(mtstate, target, routed);
	if (reason == NULL)
		reason = reason_of_triggers(mtstate, target, operation);
	if (reason == NULL && batch_size == 1 && operation != CMD_DELETE &&
		(generated_calls_user_code(target->ri_RelationDesc) ||
		 others_call_user_code(mtstate, operation)))
		reason = "functions may run queries";
	if (reason == NULL)
		reason = reason_of_source(mtstate, target, private, batch_size, reads);
	return reason;
}

const char *
px_write_copy_reason(ResultRelInfo *target, int batch_size)
{
	const ErrorContextCallback *callback = error_context_stack;
	CopyFromState copy;
	ListCell   *lc;

	if (batch_size > 1 || callback == NULL ||
		callback->callback != CopyFromErrorCallback)
		return NULL;
	copy = (CopyFromState) callback->arg;

	foreach(lc, copy->attnumlist)
	{
		Form_pg_attribute column =
			TupleDescAttr(RelationGetDescr(copy->rel), lfirst_int(lc) - 1);

		if (input_calls_user_code(column->atttypid))
			return "functions may run queries";
	}
	if (px_write_calls_user_code(copy->whereClause))
		return "functions may run queries";
	for (int i = 0; i < copy->num_defaults; i++)
	{
		const ExprState *state = px_copy_default(copy, i);

		if (state && px_write_calls_user_code((Node *) state->expr))
			return "functions may run queries";
	}
	return NULL;
}

bool
px_write_is_small(const ModifyTableState *mtstate)
{
	const Plan *source;

	if (mtstate->ps.plan == NULL || mtstate->operation != CMD_INSERT)
		return false;
	source = mtstate->ps.plan->lefttree;
	if (IsA(source, Result))
		return source->lefttree == NULL && px_min_write_rows >= 1;
	if (IsA(source, ValuesScan))
		return list_length(((const ValuesScan *) source)->values_lists) <=
			px_min_write_rows;
	return false;
}
