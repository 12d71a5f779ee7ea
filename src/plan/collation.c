/*-------------------------------------------------------------------------
 *
 * collation.c
 *		What a remote server may do with strings of its own collations.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/collation.h"

bool
px_is_deterministic(Oid collation)
{
	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

bool
px_is_collation_blind(Oid function)
{
	switch (function)
	{
		case F_TEXTEQ:
		case F_TEXTNE:
		case F_BPCHAREQ:
		case F_BPCHARNE:
		case F_NAMEEQ:
		case F_NAMENE:
		case F_NAMEEQTEXT:
		case F_NAMENETEXT:
		case F_TEXTEQNAME:
		case F_TEXTNENAME:
		case F_TEXTLIKE:
		case F_TEXTNLIKE:
		case F_BPCHARLIKE:
		case F_BPCHARNLIKE:
		case F_TEXTCAT:
		case F_LENGTH_TEXT:
		case F_LENGTH_BPCHAR:
		case F_SUBSTR_TEXT_INT4:
		case F_SUBSTR_TEXT_INT4_INT4:
		case F_SUBSTRING_TEXT_INT4:
		case F_SUBSTRING_TEXT_INT4_INT4:
		case F_LEFT:
		case F_RIGHT:
		case F_TEXT_BPCHAR:
		case F_COUNT_ANY:
			return true;
		default:
			return false;
	}
}

static bool
is_not_blind(Oid function, void *context)
{
	return !px_is_collation_blind(function);
}

/* Does this node look at more of its arguments than whether they are equal? */
static bool
depends_on_order(Node *node)
{
	if (IsA(node, Aggref) && ((Aggref *) node)->aggorder != NIL)
		return true;
	return OidIsValid(exprInputCollation(node)) &&
		(IsA(node, MinMaxExpr) ||
		 check_functions_in_node(node, is_not_blind, NULL));
}

static bool
find_ordered_columns(Node *node, void *context)
{
	List	  **columns = context;

	if (node == NULL)
		return false;
	if (!depends_on_order(node))
		return expression_tree_walker(node, find_ordered_columns, context);
	*columns = list_concat(*columns,
						   pull_var_clause(node, PVC_RECURSE_AGGREGATES |
										   PVC_RECURSE_WINDOWFUNCS |
										   PVC_RECURSE_PLACEHOLDERS));
	return false;
}

List *
px_ordered_columns(Node *exprs)
{
	List	   *columns = NIL;

	(void) find_ordered_columns(exprs, &columns);
	return columns;
}

bool
px_is_column_of(const Var *column, const List *columns)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		const Var  *member = lfirst_node(Var, lc);

		if (member->varno == column->varno &&
			member->varattno == column->varattno)
			return true;
	}
	return false;
}
