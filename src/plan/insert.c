/*-------------------------------------------------------------------------
 *
 * insert.c
 *		Putting ExchangeInsert on top of a plan.
 *
 * ModifyTable stores one row after the other.  ExchangeInsert takes its place
 * over an ExchangeUnpack, in an INSERT without ON CONFLICT or RETURNING into a
 * simple table.  There, nothing can tell the difference but the clock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "nodes/extensible.h"
#include "optimizer/clauses.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "compat.h"
#include "node/insert.h"
#include "node/unpack.h"
#include "plan/insert.h"

/*
 * Are these AFTER ROW triggers at most, of foreign keys and deferrable unique
 * constraints?
 */
static bool
are_simple_triggers(const TriggerDesc *triggers)
{
	int			i;

	if (triggers == NULL)
		return true;
	if (triggers->trig_insert_before_row ||
		triggers->trig_insert_instead_row ||
		triggers->trig_insert_before_statement ||
		triggers->trig_insert_after_statement ||
		triggers->trig_insert_new_table)
		return false;
	for (i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (TRIGGER_FOR_INSERT(trigger->tgtype) &&
			trigger->tgfoid != F_UNIQUE_KEY_RECHECK &&
			RI_FKey_trigger_type(trigger->tgfoid) != RI_TRIGGER_FK)
			return false;
	}
	return true;
}

static bool
is_simple_table(Oid relid)
{
	Relation	relation = table_open(relid, NoLock);	/* by the planner */
	bool		simple = relation->rd_rel->relkind == RELKIND_RELATION &&
		!IsSystemRelation(relation) &&
		are_simple_triggers(relation->trigdesc);

	table_close(relation, NoLock);
	return simple;
}

static bool
is_simple_insert(const PlannedStmt *stmt, const ModifyTable *modify)
{
	const Plan *source = modify->plan.lefttree;

	return modify->operation == CMD_INSERT && modify->rootRelation == 0 &&
		list_length(modify->resultRelations) == 1 &&
		modify->withCheckOptionLists == NIL && modify->returningLists == NIL &&
		modify->onConflictAction == ONCONFLICT_NONE && source != NULL &&
		px_is_unpack(source) &&
		!contain_subplans((Node *) source->targetlist) &&
		!contain_subplans((Node *) source->qual) &&
		is_simple_table(
			   rt_fetch(linitial_int(modify->resultRelations), stmt->rtable)
				   ->relid);
}

void
px_insert_place(PlannedStmt *stmt)
{
	const ModifyTable *modify = (const ModifyTable *) stmt->planTree;
	CustomScan *scan;
	Plan	   *plan;

	if (stmt->commandType != CMD_INSERT || stmt->hasModifyingCTE ||
		stmt->subplans != NIL || !IsA(modify, ModifyTable) ||
		!is_simple_insert(stmt, modify))
		return;

	scan = makeNode(CustomScan);
	plan = &scan->scan.plan;
	*plan = modify->plan;
	plan->type = T_CustomScan;
	plan->lefttree = NULL;
	scan->scan.scanrelid = linitial_int(modify->resultRelations);
	scan->custom_plans = list_make1(modify->plan.lefttree);
	scan->custom_private = list_make1_int(modify->canSetTag);
	scan->methods = &px_insert_scan_methods;
	stmt->planTree = plan;
}
