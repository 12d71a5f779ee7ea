/*-------------------------------------------------------------------------
 *
 * partition_key.c
 *		Partition keys in the conditions of a query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/pathnode.h"

#include "compat.h"
#include "plan/partition_key.h"

/* Strip what does not change the value from a key or a side of a clause. */
static const Node *
strip_relabel(const Node *node)
{
	while (node && IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return node;
}

bool
px_is_partition_key(const void *expr, const RelOptInfo *rel, int column)
{
	const Node *node = strip_relabel(expr);
	ListCell   *lc;

	foreach(lc, rel->partexprs[column])
	{
		const Node *key = strip_relabel(lfirst(lc));

		if (IsA(key, Var) && IsA(node, Var) ?
			((const Var *) key)->varno == ((const Var *) node)->varno &&
			((const Var *) key)->varattno == ((const Var *) node)->varattno :
			equal(key, node))
			return true;
	}
	return false;
}

/* Has the class this column of the keys of both tables? */
static bool
class_has_keys(const EquivalenceClass *class, const RelOptInfo *a,
			   const RelOptInfo *b, int column)
{
	bool		has_a = false;
	bool		has_b = false;
	ListCell   *lc;

	foreach(lc, class->ec_members)
	{
		const EquivalenceMember *em = lfirst_node(EquivalenceMember, lc);

		if (em->em_is_child)
			continue;
		has_a = has_a || px_is_partition_key(em->em_expr, a, column);
		has_b = has_b || px_is_partition_key(em->em_expr, b, column);
	}
	return has_a && has_b;
}

/* Does a condition of the query compare this column of the keys? */
static bool
column_is_joined(PlannerInfo *root, const RelOptInfo *a, const RelOptInfo *b,
				 int column)
{
	ListCell   *lc;

	foreach(lc, root->eq_classes)
	{
		const EquivalenceClass *class = lfirst_node(EquivalenceClass, lc);

		if (bms_is_subset(a->relids, class->ec_relids) &&
			bms_is_subset(b->relids, class->ec_relids) &&
			class_has_keys(class, a, b, column))
			return true;
	}

	/* The clauses of outer joins are not in equivalence classes. */
	foreach(lc, a->joininfo)
	{
		const RestrictInfo *info = lfirst_node(RestrictInfo, lc);
		const OpExpr *op = (const OpExpr *) info->clause;

		if (info->can_join && is_opclause(op) && list_length(op->args) == 2 &&
			((px_is_partition_key(linitial(op->args), a, column) &&
			  px_is_partition_key(lsecond(op->args), b, column)) ||
			 (px_is_partition_key(linitial(op->args), b, column) &&
			  px_is_partition_key(lsecond(op->args), a, column))))
			return true;
	}
	return false;
}

bool
px_partition_keys_joined(PlannerInfo *root, const RelOptInfo *a,
						 const RelOptInfo *b)
{
	if (a->part_scheme != b->part_scheme)
		return false;
	for (int i = 0; i < a->part_scheme->partnatts; i++)
	{
		if (!column_is_joined(root, a, b, i))
			return false;
	}
	return true;
}

/*
 * Are columns of the keys equal in all rows that the query returns?  The class
 * must be one of what partitions are made by: 'a' and 'A' may be equal by
 * another collation.
 */
static bool
column_is_equal(PlannerInfo *root, const RelOptInfo *a, const RelOptInfo *b,
				int column)
{
	ListCell   *lc;

	foreach(lc, root->eq_classes)
	{
		const EquivalenceClass *class = lfirst_node(EquivalenceClass, lc);

		if (!class->ec_has_volatile && !px_is_below_outer_join(class) &&
			class->ec_collation == a->part_scheme->partcollation[column] &&
			list_member_oid(class->ec_opfamilies,
							a->part_scheme->partopfamily[column]) &&
			class_has_keys(class, a, b, column))
			return true;
	}
	return false;
}

bool
px_partition_keys_equal(PlannerInfo *root, const RelOptInfo *a,
						const RelOptInfo *b)
{
	if (a->part_scheme != b->part_scheme)
		return false;
	for (int i = 0; i < a->part_scheme->partnatts; i++)
	{
		if (!column_is_equal(root, a, b, i))
			return false;
	}
	return true;
}
