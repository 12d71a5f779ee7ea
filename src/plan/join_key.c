/*-------------------------------------------------------------------------
 *
 * join_key.c
 *		Which equalities of a join a remote can evaluate as they are here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "plan/collation.h"
#include "plan/join_key.h"
#include "tuple/policy.h"

const Var *
px_join_column(const Node *expr)
{
	while (IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	return IsA(expr, Var) && ((const Var *) expr)->varattno > 0 ?
		(const Var *) expr : NULL;
}

bool
px_is_plain_type(Oid type)
{
	return type < FirstGenbkiObjectId && get_typtype(type) == TYPTYPE_BASE &&
		OidIsValid(get_array_type(type)) && !px_type_names_objects(type);
}

bool
px_is_operand(const Var *column, Oid type)
{
	return column->vartype == type ||
		(column->vartype == VARCHAROID && type == TEXTOID);
}

bool
px_is_join_key(Oid operator, Oid collation, const Node *inner,
			   const Node *outer)
{
	Oid			left;
	Oid			right;
	Oid			left_hash;
	Oid			right_hash;
	const Var  *column = px_join_column(inner);

	if (column == NULL || !OidIsValid(operator) ||
		operator >= FirstGenbkiObjectId ||
		!get_op_hash_functions(operator, &left_hash, &right_hash))
		return false;
	op_input_types(operator, &left, &right);

	return px_is_operand(column, left) && px_is_plain_type(left) &&
		px_is_plain_type(right) && px_is_plain_type(exprType(outer)) &&
		op_strict(operator) &&
		op_volatile(operator) == PROVOLATILE_IMMUTABLE &&
		px_is_deterministic(collation) &&
		(!OidIsValid(collation) ||
		 (collation == column->varcollid &&
		  collation == exprCollation(inner)));
}

bool
px_keys_are_hashed(Oid operator)
{
	Oid			left;
	Oid			right;

	op_input_types(operator, &left, &right);
	if (px_type_is_integer(left) && px_type_is_integer(right))
		return true;
	return get_op_hash_functions(operator, &left, &right) && left == right;
}

double
px_distinct_values(PlannerInfo *root, Node *expr)
{
	VariableStatData vardata;
	bool		is_default;
	double		ndistinct;

	examine_variable(root, expr, 0, &vardata);
	ndistinct = get_variable_numdistinct(&vardata, &is_default);
	ReleaseVariableStats(vardata);
	return is_default ? 0 : ndistinct;
}
