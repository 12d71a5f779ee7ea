/*-------------------------------------------------------------------------
 *
 * redistribute.c
 *		Which rows of a join are cut by their keys, and how.
 *
 * A row's target is a number that its server computes in the query of the
 * scan.  Rows that are equal in the key have the same target, whichever side
 * they are of: the hash is that of hash partitioning, which is the same on all
 * machines, and for all types of an operator family.  Rows whose key is null
 * have no target, because only inner joins get here.
 *
 * If the other side of the join is partitioned by the key, its rows stay where
 * they are, and the target is the partition.  If both sides are cut, rows of
 * frequent keys are not left to one target (plan/frequent_keys.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type_d.h"
#include "foreign/fdwapi.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "partitioning/partbounds.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "guc.h"
#include "node/receive.h"
#include "plan/frequent_keys.h"
#include "plan/join_key.h"
#include "plan/leaves.h"
#include "plan/paths.h"
#include "plan/redistribute.h"
#include "plan/semi_join.h"
#include "plan/shippable.h"
#include "plan/target.h"
#include "wire/delivery.h"
#include "wire/request.h"

/*
 * Parts of a fragment's rows: see parts_of_hash.  A processor's cache of the
 * second level has 256 kB or more, and a join needs it for other things, too.
 * With fewer rows, frames are so small that they cost more than they save.
 */
#define PART_NBYTES			(128 * 1024)
#define PART_ROWS_MIN		1024

/* What a hash table has of a row beside the values: headers and a bucket. */
#define HASHED_ROW_NBYTES	40

/* The path of a source. */
typedef struct source_path
{
	CustomPath	path;			/* must be first */
	const px_source *source;
} source_path;

static Plan *plan_source(PlannerInfo *root, RelOptInfo *rel,
						 CustomPath *best_path, List *tlist, List *clauses,
						 List *custom_plans);

static const CustomPathMethods source_path_methods = {
	.CustomName = "ExchangeReceive",
	.PlanCustomPath = plan_source,
};

/* ---------------------------------------------------------------------
 * The key
 * --------------------------------------------------------------------- */

/* Do the types' default hash functions belong to the operator's family? */
static bool
is_default_hash(Oid operator, Oid left, Oid right)
{
	TypeCacheEntry *left_entry = lookup_type_cache(left,
												   TYPECACHE_HASH_OPFAMILY);
	TypeCacheEntry *right_entry = lookup_type_cache(right,
													TYPECACHE_HASH_OPFAMILY);

	return OidIsValid(left_entry->hash_opf) &&
		left_entry->hash_opf == right_entry->hash_opf &&
		left_entry->hash_opf < FirstGenbkiObjectId &&
		op_in_opfamily(operator, left_entry->hash_opf);
}

/* Is the column of the type that the operator takes? */
static bool
has_type(const Var *column, Oid type)
{
	return column && (column->vartype == type ||
					  (column->vartype == VARCHAROID && type == TEXTOID));
}

/* Is the clause an equality of a column of big with one of the side? */
static bool
find_key_of_clause(const px_fragment_join *join, const px_fragment_side *side,
				   const RestrictInfo *rinfo, px_cut_key *key)
{
	Relids		big = join->fragment.big->relids;
	const OpExpr *op = (const OpExpr *) rinfo->clause;
	Node	   *left;
	Node	   *right;
	Oid			left_type;
	Oid			right_type;
	bool		is_left;

	if (!rinfo->can_join || !IsA(op, OpExpr) || list_length(op->args) != 2)
		return false;
	left = linitial(op->args);
	right = lsecond(op->args);
	is_left = bms_is_subset(rinfo->left_relids, big);
	op_input_types(op->opno, &left_type, &right_type);
	if (!px_is_join_key(op->opno, op->inputcollid, left, right) ||
		!has_type(px_join_column(right), right_type) ||
		!is_default_hash(op->opno, left_type, right_type) ||
		!bms_is_subset(is_left ? rinfo->left_relids : rinfo->right_relids,
					   big) ||
		!bms_is_subset(is_left ? rinfo->right_relids : rinfo->left_relids,
					   side->rel->relids))
		return false;
	key->big = px_join_column(is_left ? left : right);
	key->side = px_join_column(is_left ? right : left);
	key->big_type = is_left ? left_type : right_type;
	key->side_type = is_left ? right_type : left_type;
	return true;
}

/* The partitions of big are those of its column partexprs. */
static bool
is_partition_key(const px_fragment_join *join, const Var *column)
{
	const RelOptInfo *big = join->fragment.big;

	return IS_SIMPLE_REL(big) && big->part_scheme && big->boundinfo &&
		big->part_scheme->partnatts == 1 && big->partexprs &&
		list_member(big->partexprs[0], column);
}

/* Is each leaf a partition of big, and no partition of another one? */
static bool
are_partitions(const px_fragment_join *join)
{
	ListCell   *lc;

	foreach(lc, join->leaves)
	{
		const RelOptInfo *leaf = lfirst(lc);
		const AppendRelInfo *info = join->root->append_rel_array[leaf->relid];

		if (info->parent_relid != join->fragment.big->relid)
			return false;
	}
	return true;
}

/*
 * The key with the most values, so that targets get alike many rows; or only
 * one that is the partition key of big.
 */
static bool
find_key(const px_fragment_join *join, const px_fragment_side *side,
		 bool partitioned, px_cut_key *best)
{
	double		best_values = -1;
	ListCell   *lc;

	foreach(lc, side->clauses)
	{
		px_cut_key	key;
		double		values;

		if (!find_key_of_clause(join, side, lfirst_node(RestrictInfo, lc),
								&key) ||
			(partitioned && !is_partition_key(join, key.big)))
			continue;
		values = px_distinct_values(join->root,
									(Node *) copyObject(key.side));
		if (values <= best_values)
			continue;
		best_values = values;
		*best = key;
	}
	return best_values >= 0;
}

/* ---------------------------------------------------------------------
 * Parts
 * --------------------------------------------------------------------- */

/* What a hash table with rel's rows takes. */
static double
hash_table_nbytes(const RelOptInfo *rel)
{
	return rel->rows * (rel->reltarget->width + HASHED_ROW_NBYTES);
}

/*
 * Into how many parts the rows for each fragment are cut.
 *
 * A hash join reads its table at random, so most of its time may pass in
 * waiting for memory.  An inbox returns the rows of one part after the other.
 * So each part of the other side's rows meets those rows of the table that
 * were also put into it together, which the cache can hold.
 */
static int
parts_of_hash(const RelOptInfo *big, const RelOptInfo *side, int nsources,
			  int ntargets)
{
	double		nbytes = Min(hash_table_nbytes(big), hash_table_nbytes(side)) /
		ntargets;
	double		rows = Max(big->rows, side->rows) / ntargets / nsources;
	int			parts = 1;

	while (parts * 2 * ntargets <= PX_REQUEST_TARGETS_MAX &&
		   parts * 2 * nsources <= PX_INBOX_SOURCES_MAX &&
		   parts * PART_NBYTES < nbytes && parts * 2 * PART_ROWS_MIN <= rows)
		parts *= 2;
	return parts;
}

/* ---------------------------------------------------------------------
 * Sources
 * --------------------------------------------------------------------- */

/*
 * The rows of the target that has the most frequent key, divided by the mean:
 * the key has this part of all rows, and the others are shared evenly.
 */
static double
skew_of(double part, int ntargets)
{
	return 1 + Min(part, 1) * (ntargets - 1);
}

/* Add the leaves of rel, whose rows go to an inbox, in so many parts. */
static void
add_sources(px_fragment_join *join, RelOptInfo *rel, List *leaves,
			List *columns, int inbox, const px_fragment_cut *cut, int parts)
{
	ListCell   *lc;

	foreach(lc, leaves)
	{
		px_source  *source = palloc(sizeof(px_source));

		source->rel = rel;
		source->leaf = lfirst(lc);
		source->columns = columns;
		source->inbox = inbox;
		source->number = foreach_current_index(lc);
		source->parts = parts;
		source->cut = *cut;
		join->sources = lappend(join->sources, source);
	}
}

/* Is the leaf one that an exchange reads? */
static bool
is_foreign(const RelOptInfo *leaf)
{
	return IS_SIMPLE_REL(leaf) ? px_paths_have_plain(leaf) :
		px_paths_foreign(leaf) != NULL;
}

List *
px_foreign_leaves(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *leaves = NIL;
	ListCell   *lc;

	if (IS_SIMPLE_REL(rel) ?
		planner_rt_fetch(rel->relid, root)->rtekind != RTE_RELATION ||
		!px_leaves_collect(root, rel, &leaves) :
		!px_leaves_of_join(root, rel, &leaves))
		return NIL;
	foreach(lc, leaves)
	{
		if (!is_foreign(lfirst(lc)))
			return NIL;
	}
	return leaves;
}

bool
px_are_remote_alone(PlannerInfo *root, List *leaves)
{
	ListCell   *lc;

	foreach(lc, leaves)
	{
		RelOptInfo *leaf = lfirst(lc);
		Oid			relid = IS_SIMPLE_REL(leaf) ?
			planner_rt_fetch(leaf->relid, root)->relid : InvalidOid;
		const ForeignScan *scan = leaf->fdwroutine->GetForeignPlan(
			root, leaf, relid, px_paths_foreign(leaf), NIL,
			leaf->baserestrictinfo, NULL);

		if (scan->scan.plan.qual != NIL)
			return false;
	}
	return true;
}

/* One leaf of each server. */
static List *
one_of_each_server(List *leaves)
{
	List	   *servers = NIL;
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, leaves)
	{
		RelOptInfo *leaf = lfirst(lc);

		if (list_member_oid(servers, leaf->serverid))
			continue;
		servers = lappend_oid(servers, leaf->serverid);
		found = lappend(found, leaf);
	}
	return found;
}

/* The most fragments on a server, each of which keeps a connection. */
static int
most_on_a_server(List *hosts)
{
	int			most = 0;
	ListCell   *lc;

	foreach(lc, hosts)
	{
		int			n = 0;
		ListCell   *lc_other;

		foreach(lc_other, hosts)
		{
			if (((const RelOptInfo *) lfirst(lc_other))->serverid ==
				((const RelOptInfo *) lfirst(lc))->serverid)
				n++;
		}
		most = Max(most, n);
	}
	return most;
}

/* Are there connections and numbers for fragments of these leaves? */
static bool
can_be_hosts(List *hosts)
{
	return list_length(hosts) >= 2 &&
		list_length(hosts) <= PX_REQUEST_TARGETS_MAX &&
		most_on_a_server(hosts) < px_max_connections_per_server;
}

/* Do equal columns of both get rows to partitions of the same number? */
static bool
are_partitioned_alike(const RelOptInfo *one, const RelOptInfo *other)
{
	const PartitionScheme scheme = one->part_scheme;

	if (scheme == NULL || other->part_scheme != scheme ||
		scheme->partnatts != 1 || one->nparts != other->nparts ||
		one->part_rels == NULL || other->part_rels == NULL ||
		!partition_bounds_equal(1, scheme->parttyplen, scheme->parttypbyval,
								one->boundinfo, other->boundinfo))
		return false;
	for (int i = 0; i < one->nparts; i++)
	{
		const RelOptInfo *part = one->part_rels[i];
		const RelOptInfo *other_part = other->part_rels[i];

		/* One that was pruned has no rows. */
		if (part && other_part && (!OidIsValid(part->serverid) ||
								   part->serverid != other_part->serverid))
			return false;
	}
	return true;
}

/*
 * Are rows of the side on the server of those of big that they are joined
 * with?  Then the planner has joined their partitions there, which is cheaper,
 * whatever it seems to cost.
 */
static bool
is_in_place(const px_fragment_join *join, const px_fragment_side *side)
{
	const RelOptInfo *big = join->fragment.big;
	ListCell   *lc;

	if (px_join_exchange_setting == PX_JOIN_EXCHANGE_HASH_PARTITION ||
		!are_partitioned_alike(big, side->rel))
		return false;
	foreach(lc, side->clauses)
	{
		px_cut_key	key;

		if (find_key_of_clause(join, side, lfirst_node(RestrictInfo, lc),
							   &key) &&
			list_member(big->partexprs[0], key.big) &&
			list_member(side->rel->partexprs[0], key.side))
			return true;
	}
	return false;
}

bool
px_redistribute_find(const px_fragment_join *join, int *side)
{
	double		nbytes = -1;
	ListCell   *lc;

	foreach(lc, join->fragment.sides)
	{
		const px_fragment_side *this = lfirst(lc);
		px_cut_key	key;
		double		this_nbytes = this->rel->rows *
			this->rel->reltarget->width;

		if (this_nbytes <= nbytes ||
			px_foreign_leaves(join->root, this->rel) == NIL ||
			!find_key(join, this, false, &key) || is_in_place(join, this))
			continue;
		nbytes = this_nbytes;
		*side = foreach_current_index(lc);
	}
	return nbytes >= 0 &&
		px_are_remote_alone(join->root, px_foreign_leaves(
								join->root,
								((const px_fragment_side *) list_nth(
									join->fragment.sides, *side))->rel));
}

bool
px_redistribute_by_bounds(px_fragment_join *join, int side)
{
	px_fragment_side *cut = list_nth(join->fragment.sides, side);
	char	   *target = NULL;
	px_cut_key	key;

	join->sources = NIL;
	if (!can_be_hosts(join->leaves) || !find_key(join, cut, true, &key) ||
		!are_partitions(join))
		return false;
	switch (join->fragment.big->part_scheme->strategy)
	{
		case PARTITION_STRATEGY_HASH:
			target = px_target_by_hash_bounds(join, &key);
			break;
		case PARTITION_STRATEGY_RANGE:
			target = px_target_by_range(join, &key);
			break;
		default:
			break;
	}
	if (target == NULL)
		return false;
	join->hosts = join->leaves;
	join->fragment.ntargets = list_length(join->hosts);
	cut->inbox = 1;
	cut->key = key.side;
	add_sources(join, cut->rel, px_foreign_leaves(join->root, cut->rel),
				cut->columns, cut->inbox,
				&(px_fragment_cut) {.key = key.side, .target = target}, 1);
	join->skew = skew_of(px_most_frequent(join->root, key.side),
						 join->fragment.ntargets);
	return true;
}

/* Can rows of big be anywhere?  Then their columns are like those of sides. */
static bool
can_move_big(const px_fragment_join *join)
{
	ListCell   *lc;

	if (!px_are_columns_shippable(join->fragment.big->reltarget->exprs))
		return false;
	foreach(lc, join->fragment.target->exprs)
	{
		if (!px_is_shippable(lfirst(lc), NULL))
			return false;
	}
	foreach(lc, join->fragment.sides)
	{
		const px_fragment_side *side = lfirst(lc);
		ListCell   *lc_clause;

		foreach(lc_clause, side->clauses)
		{
			if (!px_is_shippable((Node *) lfirst_node(
									 RestrictInfo, lc_clause)->clause, NULL))
				return false;
		}
	}
	return true;
}

/*
 * How big and a side are cut by a hash: rows of frequent keys get to all
 * targets.  A row of big may look for one of the side, and must be on a single
 * target then.
 */
static px_frequent_keys
find_frequent_keys(px_fragment_join *join, const px_fragment_side *side,
				   const px_cut_key *key)
{
	int			ntargets = join->fragment.ntargets;
	const RelOptInfo *big = join->fragment.big;
	px_keyed_rows rows[2] = {
		{key->big, key->big_type, big->rows, true},
		{key->side, key->side_type, side->rel->rows,
			side->jointype == JOIN_INNER},
	};
	px_frequent_keys frequent = px_frequent_keys_find(join->root, rows,
													  ntargets);

	join->nfrequent = frequent.n;
	join->copies = frequent.copies;
	join->skew = skew_of(frequent.largest / (rows[0].rows + rows[1].rows),
						 ntargets);
	return frequent;
}

/* How the rows of one side, or of big, are cut into so many parts by a hash. */
static px_fragment_cut
cut_by_hash(const px_frequent_keys *frequent, int side, const Var *key,
			Oid type, int ntargets)
{
	return (px_fragment_cut) {
		.key = key,
		.target = px_target_by_hash(ntargets, type),
		.spread = {frequent->spread[0], frequent->spread[1]},
		.spread_type = frequent->type,
		.side = side
	};
}

bool
px_redistribute_by_hash(px_fragment_join *join, int side)
{
	px_fragment_side *cut = list_nth(join->fragment.sides, side);
	RelOptInfo *big = join->fragment.big;
	List	   *side_leaves;
	int			ntargets;
	px_frequent_keys frequent;
	px_fragment_cut big_cut;
	px_fragment_cut side_cut;
	int			parts = 1;
	px_cut_key	key;

	join->sources = NIL;
	join->hosts = one_of_each_server(join->leaves);
	ntargets = list_length(join->hosts);
	if (!can_be_hosts(join->hosts) || !can_move_big(join) ||
		!find_key(join, cut, false, &key))
		return false;
	join->fragment.ntargets = ntargets;
	join->fragment.inbox = 1;
	join->fragment.key = key.big;
	join->fragment.columns = big->reltarget->exprs;
	cut->inbox = 2;
	cut->key = key.side;
	side_leaves = px_foreign_leaves(join->root, cut->rel);
	frequent = find_frequent_keys(join, cut, &key);

	/* A row that goes to all targets would go to each part of a fragment. */
	if (frequent.n == 0)
		parts = parts_of_hash(big, cut->rel, list_length(join->leaves) +
							  list_length(side_leaves), ntargets);
	big_cut = cut_by_hash(&frequent, 0, key.big, key.big_type,
						  ntargets * parts);
	side_cut = cut_by_hash(&frequent, 1, key.side, key.side_type,
						   ntargets * parts);
	add_sources(join, big, join->leaves, join->fragment.columns,
				join->fragment.inbox, &big_cut, parts);
	add_sources(join, cut->rel, side_leaves, cut->columns, cut->inbox,
				&side_cut, parts);
	return true;
}

/* ---------------------------------------------------------------------
 * Paths and plans
 * --------------------------------------------------------------------- */

Path *
px_redistribute_source_path(PlannerInfo *root, const px_source *source)
{
	source_path *path = palloc(sizeof(source_path));
	RelOptInfo *leaf = source->leaf;
	PathTarget *target = create_empty_pathtarget();
	ListCell   *lc;

	foreach(lc, source->columns)
		add_column_to_pathtarget(
			target, (Expr *) px_leaf_translate(root, lfirst(lc), source->rel,
											   leaf), 0);
	add_column_to_pathtarget(
		target, (Expr *) makeNullConst(INT4OID, -1, InvalidOid), 0);
	(void) set_pathtarget_cost_width(root, target);

	path->path = *px_receive_path(root, px_paths_foreign(leaf));
	path->path.path.pathtarget = target;
	path->path.path.parallel_safe = false;
	path->path.methods = &source_path_methods;
	path->path.custom_paths = list_make1(
		px_semi_join_alone(px_paths_foreign(leaf)));
	path->source = source;
	return &path->path.path;
}

/* Have the server of a leaf compute the target of each row. */
static Plan *
plan_source(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
			List *tlist, List *clauses, List *custom_plans)
{
	const px_source *source = ((const source_path *) best_path)->source;
	ForeignScan *foreign = linitial_node(ForeignScan, custom_plans);
	const char *scan_sql = strVal(linitial(foreign->fdw_private));
	List	   *columns = px_fragment_scan_columns(root, foreign);
	List	   *retrieved = NIL;
	CustomScan *scan;
	char	   *sql;

	sql = px_fragment_source_sql(root, source->rel, source->leaf, scan_sql,
								 columns, source->columns, &source->cut, true);
	for (int i = 1; i <= list_length(source->columns) + 1; i++)
		retrieved = lappend_int(retrieved, i);
	foreign->fdw_private = list_make3(makeString(sql), retrieved,
									  lthird(foreign->fdw_private));
	foreign->fdw_recheck_quals = NIL;
	foreign->fdw_scan_tlist = make_tlist_from_pathtarget(
		best_path->path.pathtarget);
	foreign->scan.scanrelid = 0;
	scan = (CustomScan *) px_receive_plan(root, rel, best_path, tlist, clauses,
										  custom_plans);

	if (source->cut.spread[0] || source->cut.spread[1])
		lfirst(list_nth_cell(scan->custom_private, PX_RECEIVE_PRIVATE_PLAIN)) =
			makeString(px_fragment_source_sql(root, source->rel, source->leaf,
											  scan_sql, columns,
											  source->columns, &source->cut,
											  false));

	/* Nobody else could read it. */
	px_receive_set(scan->custom_private, PX_RECEIVE_PRIVATE_SMALL, 0);
	px_receive_set(scan->custom_private, PX_RECEIVE_PRIVATE_SORTED, 1);
	return px_paths_set_types(
		&scan->scan.plan,
		px_fragment_types(linitial(best_path->custom_paths), scan_sql, columns,
						  NIL, list_length(foreign->fdw_exprs)));
}
