/*-------------------------------------------------------------------------
 *
 * insert_mode.c
 *		How ExchangeInsert may gather rows before it stores them.
 *
 * To gather rows changes the order of events.  Row 5 is fetched, and its
 * constraints are checked, before row 3 is in the table and in its indexes.
 * So, if row 3 violates a unique constraint and row 5 a check constraint, the
 * error of row 5 would come first.
 *
 * Where storing a row may fail, the error of row 5 is caught, rows 1 to 4 are
 * stored, and then it is raised again.  The transaction is aborted in any
 * case.  But something is done in it after an error, so the error must not
 * have left anything behind: a lock of shared memory, a query that runs.  That
 * is certain if nothing but PostgreSQL's own immutable C functions was called.
 *
 * A row that is too large is found out only when it is stored.  So there are
 * no batches if rows may be too large.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "exec/insert_mode.h"

/* What a value takes in a row at most if it is moved to the TOAST table. */
#define TOASTED_NBYTES_MAX	32

/* ---------------------------------------------------------------------
 * Functions that leave nothing behind when they fail
 * --------------------------------------------------------------------- */

static bool
is_clean_function(Oid function)
{
	HeapTuple	tuple;
	Form_pg_proc proc;
	bool		clean;

	if (function >= FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	clean = proc->provolatile == PROVOLATILE_IMMUTABLE &&
		proc->prolang == INTERNALlanguageId;
	ReleaseSysCache(tuple);
	return clean;
}

/*
 * The same for a type's input function, which need not be immutable: that of
 * date knows datestyle.  Those of arrays call that of the element.  Those of
 * domains, composite types and ranges may call any function.
 */
static bool
has_clean_input(Oid type)
{
	Oid			element = get_element_type(type);
	Oid			function;
	Oid			ioparam;
	char		kind;

	if (OidIsValid(element))
		return has_clean_input(element);
	kind = get_typtype(type);
	getTypeInputInfo(type, &function, &ioparam);
	return (kind == TYPTYPE_BASE || kind == TYPTYPE_ENUM) &&
		function < FirstNormalObjectId;
}

static bool
is_unclean_function(Oid function, void *context)
{
	return !is_clean_function(function);
}

/*
 * Functions on values of somebody's types may call somebody's functions:
 * comparisons of arrays and rows do.  Enums have only PostgreSQL's own.
 */
static bool
has_foreign_argument(const List *args)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		Oid			type = exprType(lfirst(lc));

		if (type == RECORDOID ||
			(type >= FirstNormalObjectId && !type_is_enum(type)))
			return true;
	}
	return false;
}

/* Might evaluating the expression fail and leave something behind? */
static bool
is_unclean(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			if (has_foreign_argument(((FuncExpr *) node)->args))
				return true;
			break;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			if (has_foreign_argument(((OpExpr *) node)->args))
				return true;
			break;
		case T_ScalarArrayOpExpr:
			if (has_foreign_argument(((ScalarArrayOpExpr *) node)->args))
				return true;
			break;
		case T_MinMaxExpr:
			if (has_foreign_argument(((MinMaxExpr *) node)->args))
				return true;
			break;
		case T_CoerceViaIO:
			if (exprType((Node *) ((CoerceViaIO *) node)->arg) >=
				FirstNormalObjectId ||
				!has_clean_input(((CoerceViaIO *) node)->resulttype))
				return true;
			return expression_tree_walker(node, is_unclean, context);
		case T_TargetEntry:
		case T_List:
		case T_Var:
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_ArrayExpr:
		case T_ArrayCoerceExpr:
		case T_SQLValueFunction:
			break;
		default:
			return true;
	}
	if (check_functions_in_node(node, is_unclean_function, context))
		return true;
	return expression_tree_walker(node, is_unclean, context);
}

/* ---------------------------------------------------------------------
 * What is evaluated for a row
 * --------------------------------------------------------------------- */

/* The expressions of generated columns and constraints. */
static List *
table_expressions(Relation relation)
{
	TupleDesc	tupdesc = RelationGetDescr(relation);
	const TupleConstr *constr = tupdesc->constr;
	List	   *expressions = NIL;
	int			i;

	for (i = 0; constr && i < constr->num_defval; i++)
	{
		const AttrDefault *value = &constr->defval[i];

		if (TupleDescAttr(tupdesc, value->adnum - 1)->attgenerated)
			expressions = lappend(expressions, stringToNode(value->adbin));
	}
	for (i = 0; constr && i < constr->num_check; i++)
		expressions = lappend(expressions,
							  stringToNode(constr->check[i].ccbin));
	if (relation->rd_rel->relispartition)
		expressions = lappend(expressions, RelationGetPartitionQual(relation));
	return expressions;
}

/* The values that the source reads may come as text. */
static bool
has_clean_columns(const Plan *source)
{
	ListCell   *lc;

	foreach(lc, ((const CustomScan *) source)->custom_scan_tlist)
	{
		const TargetEntry *column = lfirst(lc);

		if (!has_clean_input(exprType((Node *) column->expr)))
			return false;
	}
	return true;
}

/* ---------------------------------------------------------------------
 * What can fail when a row is stored
 * --------------------------------------------------------------------- */

/* Does each row fit on a page, however long its values are? */
static bool
always_fits(Relation relation)
{
	TupleDesc	tupdesc = RelationGetDescr(relation);
	Size		nbytes = SizeofHeapTupleHeader + BITMAPLEN(tupdesc->natts);
	int			i;

	for (i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		int32		value_nbytes = att->attlen;

		if (att->attisdropped)
			continue;
		if (att->attlen == -1 && OidIsValid(relation->rd_rel->reltoastrelid) &&
			att->attstorage != TYPSTORAGE_PLAIN)
			value_nbytes = TOASTED_NBYTES_MAX;
		else if (att->attlen < 0)
			value_nbytes = type_maximum_size(att->atttypid, att->atttypmod);
		if (value_nbytes < 0 || value_nbytes > (int32) MaxHeapTupleSize)
			return false;
		nbytes = MAXALIGN(nbytes + value_nbytes);
	}
	return MAXALIGN(nbytes) <= MaxHeapTupleSize;
}

/*
 * Might a row's foreign key refer to a row of the same table?  The check must
 * not see rows that come later.
 */
static bool
refers_to_itself(Relation relation)
{
	ListCell   *lc;

	foreach(lc, RelationGetFKeyList(relation))
	{
		const ForeignKeyCacheInfo *key = lfirst(lc);

		if (key->confrelid == RelationGetRelid(relation) ||
			(relation->rd_rel->relispartition &&
			 get_rel_relkind(key->confrelid) == RELKIND_PARTITIONED_TABLE))
			return true;
	}
	return false;
}

px_insert_mode
px_insert_choose(const ResultRelInfo *target, const Plan *source,
				 uint64 statement_rows)
{
	Relation	relation = target->ri_RelationDesc;
	List	   *expressions = table_expressions(relation);
	bool		has_triggers = target->ri_TrigDesc != NULL &&
		target->ri_TrigDesc->trig_insert_after_row;

	/* A volatile function may read the table. */
	if (!always_fits(relation) ||
		contain_volatile_functions_not_nextval((Node *) source->targetlist) ||
		contain_volatile_functions((Node *) source->qual) ||
		contain_volatile_functions((Node *) expressions))
		return PX_INSERT_ROWS;

	if (target->ri_NumIndices == 0 && !has_triggers)
		return PX_INSERT_BATCHES;

	if ((has_triggers && statement_rows > 0 && refers_to_itself(relation)) ||
		is_unclean((Node *) source->targetlist, NULL) ||
		is_unclean((Node *) source->qual, NULL) ||
		is_unclean((Node *) expressions, NULL) || !has_clean_columns(source))
		return PX_INSERT_ROWS;
	return PX_INSERT_GUARDED;
}

/* ---------------------------------------------------------------------
 * Plans
 * --------------------------------------------------------------------- */

bool
px_insert_is_on_top(const PlannedStmt *stmt)
{
	return stmt->planTree != NULL && IsA(stmt->planTree, CustomScan) &&
		strcmp(((const CustomScan *) stmt->planTree)->methods->CustomName,
			   PX_INSERT_NAME) == 0;
}
