/*-------------------------------------------------------------------------
 *
 * write_effects.c
 *		Does it matter how many rows a statement writes?
 *
 * What is called for each row may run queries.  Of PostgreSQL's own functions
 * we know that they do not, but for those that are listed or volatile.  Of
 * others we know nothing, whatever their volatility says: a CHECK constraint
 * that looks at other rows is a known trick.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "admit/row_triggers.h"
#include "admit/user_code.h"
#include "admit/write_effects.h"
#include "compat.h"

/* ---------------------------------------------------------------------
 * Functions
 * --------------------------------------------------------------------- */

/* Volatile functions that do not look at tables. */
static const Oid volatile_functions[] = {
	F_NEXTVAL, F_CURRVAL, F_LASTVAL, PX_F_RANDOM, F_GEN_RANDOM_UUID,
	F_CLOCK_TIMESTAMP, F_TIMEOFDAY
};

/* Stable functions that look at tables, or have a value for a statement. */
static const Oid query_functions[] = {
	F_STATEMENT_TIMESTAMP,
	F_TABLE_TO_XML, F_TABLE_TO_XML_AND_XMLSCHEMA, F_SCHEMA_TO_XML,
	F_SCHEMA_TO_XML_AND_XMLSCHEMA, F_DATABASE_TO_XML,
	F_DATABASE_TO_XML_AND_XMLSCHEMA
};

static bool
is_listed(Oid function, const Oid *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		if (list[i] == function)
			return true;
	}
	return false;
}

/* context: the oid of exchange.unpack, which runs no queries; or NULL. */
static bool
function_may_query(Oid function, void *context)
{
	char		volatility;

	if (context != NULL && function == *(const Oid *) context)
		return false;
	if (function >= FirstGenbkiObjectId)
		return true;
	volatility = func_volatile(function);
	if (volatility == PROVOLATILE_VOLATILE)
		return !is_listed(function, volatile_functions,
						  lengthof(volatile_functions));
	return volatility == PROVOLATILE_STABLE &&
		is_listed(function, query_functions, lengthof(query_functions));
}

static bool expression_may_query(Node *node, void *context);

/* May a constraint of the domain, or of one it is based on, run queries? */
static bool
domain_may_query(Oid type)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_exchange domain",
												  ALLOCSET_SMALL_SIZES);
	DomainConstraintRef *ref = MemoryContextAlloc(context, sizeof(*ref));
	ListCell   *lc;
	bool		found = false;

	InitDomainConstraintRef(type, ref, context, false);
	foreach(lc, ref->constraints)
	{
		const DomainConstraintState *constraint = lfirst(lc);

		found |= expression_may_query((Node *) constraint->check_expr, NULL);
	}
	MemoryContextDelete(context);
	return found;
}

/* May checks of a value of this type run queries? */
static bool
type_may_query(Oid type)
{
	Oid			element = get_element_type(type);

	if (OidIsValid(element))
		return type_may_query(element);
	switch (get_typtype(type))
	{
		case TYPTYPE_DOMAIN:
			return domain_may_query(type) || type_may_query(getBaseType(type));
		case TYPTYPE_COMPOSITE:	/* of domains, maybe */
			return true;
		case TYPTYPE_RANGE:
		case TYPTYPE_MULTIRANGE:
			return type >= FirstGenbkiObjectId;
		default:
			return false;
	}
}

static bool
expression_may_query(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (check_functions_in_node(node, function_may_query, context))
		return true;
	if (IsA(node, CoerceToDomain) &&
		type_may_query(((CoerceToDomain *) node)->resulttype))
		return true;

	/* Row security and views: their subqueries may read what is written. */
	if (IsA(node, SubLink))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, expression_may_query, context,
								 0);
	return expression_tree_walker(node, expression_may_query, context);
}

/* ---------------------------------------------------------------------
 * Relations
 * --------------------------------------------------------------------- */

/* May what a table evaluates for each of its rows run queries? */
static bool
table_may_query(Relation rel)
{
	const TupleConstr *constr = rel->rd_att->constr;
	List	   *indexes;
	ListCell   *lc;
	bool		found = false;

	for (int i = 0; constr && i < constr->num_check; i++)
	{
		if (expression_may_query(stringToNode(constr->check[i].ccbin), NULL))
			return true;
	}
	if (rel->rd_rel->relispartition &&
		expression_may_query((Node *) RelationGetPartitionQual(rel), NULL))
		return true;
	if (constr && constr->has_generated_stored)
	{
		for (int i = 0; i < constr->num_defval; i++)
		{
			if (expression_may_query(stringToNode(constr->defval[i].adbin),
									 NULL))
				return true;
		}
	}

	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);

		found |= expression_may_query((Node *) RelationGetIndexExpressions(
											index), NULL) ||
			expression_may_query((Node *) RelationGetIndexPredicate(index),
								 NULL);
		index_close(index, RowExclusiveLock);
	}
	list_free(indexes);
	return found;
}

/* Is any of the constraint's columns, on one of its sides, set? */
static bool
sets_key(Oid constraint, int side, const Bitmapset *columns)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID,
										ObjectIdGetDatum(constraint));
	bool		found = true;

	if (!HeapTupleIsValid(tuple))
		return true;
	{
		bool		isnull;
		Datum		keys = SysCacheGetAttr(
			CONSTROID, tuple, side == RI_TRIGGER_PK ?
			Anum_pg_constraint_confkey : Anum_pg_constraint_conkey, &isnull);

		if (!isnull)
		{
			ArrayType  *array = DatumGetArrayTypeP(keys);
			const int16 *attnos = (const int16 *) ARR_DATA_PTR(array);

			found = false;
			for (int i = 0; i < ARR_DIMS(array)[0]; i++)
				found |= bms_is_member(attnos[i], columns);
		}
	}
	ReleaseSysCache(tuple);
	return found;
}

/*
 * Does the trigger only look for references to deleted rows in another table?
 * No other check of a DELETE may fail.  So the first error is the same at the
 * end of one statement as at the end of each of many.
 */
static bool
only_refuses(const Trigger *trigger, Oid relid)
{
	return (trigger->tgfoid == F_RI_FKEY_NOACTION_DEL ||
			trigger->tgfoid == F_RI_FKEY_RESTRICT_DEL) &&
		trigger->tgconstrrelid != relid;
}

/* Judge a trigger of table relid that fires for the operation. */
static void
judge_trigger(const Trigger *trigger, Oid relid, CmdType operation,
			  const Bitmapset *columns, px_write_effects *effects)
{
	int			side = RI_FKey_trigger_type(trigger->tgfoid);

	if (trigger->tgisinternal && side != RI_TRIGGER_NONE &&
		trigger->tgconstrrelid != relid)
		effects->keys = true;
	if (!trigger->tgisinternal ||
		(side == RI_TRIGGER_NONE && trigger->tgfoid != F_UNIQUE_KEY_RECHECK))
	{
		effects->visible = true;
		effects->leaves_out |= !TRIGGER_FOR_AFTER(trigger->tgtype) &&
			TRIGGER_FOR_ROW(trigger->tgtype);
	}
	else if (operation == CMD_DELETE ? !only_refuses(trigger, relid) :
			 operation != CMD_UPDATE || side == RI_TRIGGER_NONE ||
			 sets_key(trigger->tgconstraint, side, columns))
		effects->late_checks = true;
}

static bool
fires(const Trigger *trigger, CmdType operation)
{
	if (trigger->tgenabled == TRIGGER_DISABLED)
		return false;
	switch (operation)
	{
		case CMD_INSERT:
			return TRIGGER_FOR_INSERT(trigger->tgtype);
		case CMD_UPDATE:
			return TRIGGER_FOR_UPDATE(trigger->tgtype);
		default:
			return TRIGGER_FOR_DELETE(trigger->tgtype);
	}
}

/*
 * Partitions are not locked yet, and may be many: look at the catalog only.
 */
static void
judge_partitions(Relation rel, px_write_effects *effects)
{
	List *oids = find_all_inheritors(RelationGetRelid(rel), NoLock, NULL);
	ListCell   *lc;

	foreach(lc, oids)
	{
		HeapTuple	tuple = SearchSysCache1(RELOID,
											ObjectIdGetDatum(lfirst_oid(lc)));
		Form_pg_class form;

		if (!HeapTupleIsValid(tuple))
			continue;
		form = (Form_pg_class) GETSTRUCT(tuple);
		if (form->relhastriggers || form->relchecks > 0)
			effects->visible = true;
		if (form->relkind != RELKIND_RELATION &&
			form->relkind != RELKIND_PARTITIONED_TABLE)
			effects->visible = effects->leaves_out = true;
		ReleaseSysCache(tuple);
	}
	list_free(oids);
	effects->visible |= px_has_user_checks_below(RelationGetRelid(rel));
	effects->leaves_out |= px_has_row_triggers_below(RelationGetRelid(rel),
													 true);
}

/* Judge the table that a query writes to. */
static void
judge_target(const Query *query, px_write_effects *effects)
{
	const RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);
	Relation	rel = table_open(rte->relid, NoLock);
	const TriggerDesc *triggers = rel->trigdesc;
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);

		columns = bms_add_member(columns, target->resno);
	}

	/* A generated column may be part of a key. */
	if (query->commandType == CMD_UPDATE && rel->rd_att->constr &&
		rel->rd_att->constr->has_generated_stored)
		columns = bms_add_range(columns, 1,
								RelationGetNumberOfAttributes(rel));

	for (int i = 0; triggers && i < triggers->numtriggers; i++)
	{
		if (fires(&triggers->triggers[i], query->commandType))
			judge_trigger(&triggers->triggers[i], RelationGetRelid(rel),
						  query->commandType, columns, effects);
	}
	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
			effects->visible |= table_may_query(rel);
			break;
		case RELKIND_PARTITIONED_TABLE:
			effects->visible |= table_may_query(rel);
			judge_partitions(rel, effects);
			break;
		default:
			/* Foreign tables, views with INSTEAD OF triggers. */
			effects->visible = effects->leaves_out = true;
			break;
	}

	/* WHERE ctid = $1 may find a row in each of several tables. */
	if (query->commandType != CMD_INSERT)
	{
		effects->leaves_out = true;
		if (rte->inh && has_subclass(rte->relid))
			effects->visible = true;
	}
	table_close(rel, NoLock);
}

/*
 * Have rules made these statements, or what they do?  Then a row may become
 * none or several.  A rule with a condition and INSTEAD NOTHING leaves only
 * the original statement, to which it adds the inverse condition: an INSERT of
 * postgres_fdw has none itself.
 */
static bool
are_by_rules(List *rewritten)
{
	const Query *query;

	if (list_length(rewritten) != 1)
		return true;
	query = linitial_node(Query, rewritten);
	return query->querySource != QSRC_ORIGINAL ||
		(query->commandType == CMD_INSERT && query->jointree->quals != NULL);
}

void
px_write_effects_judge(List *rewritten, const Oid *types, int ntypes,
					   Oid unpack, px_write_effects *effects)
{
	ListCell   *lc;

	memset(effects, 0, sizeof(*effects));
	for (int i = 0; i < ntypes; i++)
		effects->visible |= type_may_query(types[i]);

	if (are_by_rules(rewritten))
		effects->visible = effects->leaves_out = true;

	foreach(lc, rewritten)
	{
		Query	   *query = lfirst_node(Query, lc);

		effects->visible |= expression_may_query((Node *) query, &unpack);
		effects->leaves_out |= query->onConflict != NULL;
		if (query->resultRelation > 0)
			judge_target(query, effects);
	}
}
