/*-------------------------------------------------------------------------
 *
 * join_record.c
 *		How the planner may join the relations of a query.
 *
 * The planner knows which pairs of relations it may join, by what type of join
 * and which clauses belong to that.  For outer joins this is hard to tell
 * afterwards: the order of joins is restricted, and a clause of WHERE is not
 * one of ON.  So we write down what the planner tells its hook.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/paths.h"

#include "compat.h"
#include "plan/join_record.h"

/* A query with more pairs is left to the planner alone. */
#define STEPS_MAX	20000

/* Those whose memory exists: of the queries that are being planned. */
static px_join_record *records = NULL;

static set_join_pathlist_hook_type prev_set_join_pathlist_hook = NULL;

px_join_record *
px_join_record_find(const PlannerInfo *root)
{
	for (px_join_record *record = records; record; record = record->next)
	{
		if (record->root == root)
			return record;
	}
	return NULL;
}

/* Its memory is about to be freed, after an error perhaps. */
static void
forget_record(void *arg)
{
	px_join_record **link = &records;

	while (*link != arg)
		link = &(*link)->next;
	*link = (*link)->next;
}

px_join_record *
px_join_record_get(PlannerInfo *root)
{
	px_join_record *record = px_join_record_find(root);

	if (record)
		return record;
	record = MemoryContextAllocZero(root->planner_cxt,
									sizeof(px_join_record));
	record->root = root;
	record->callback.func = forget_record;
	record->callback.arg = record;
	record->next = records;
	records = record;
	MemoryContextRegisterResetCallback(root->planner_cxt, &record->callback);
	return record;
}

/*
 * Is it a join of the types that we know, in this direction?  A semijoin may
 * be done as an inner join with rows of which duplicates were removed.
 */
static bool
is_step(JoinType jointype, const SpecialJoinInfo *sjinfo)
{
	switch (jointype)
	{
		case JOIN_INNER:
		case JOIN_LEFT:
		case JOIN_SEMI:
		case JOIN_ANTI:
			return sjinfo->jointype == jointype;
		default:
			return false;
	}
}

static void
record_join(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
			RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	px_join_record *record = px_join_record_find(root);
	px_join_step *step;

	if (prev_set_join_pathlist_hook)
		prev_set_join_pathlist_hook(root, joinrel, outerrel, innerrel,
									jointype, extra);
	if (record == NULL || !record->recording ||
		joinrel->reloptkind != RELOPT_JOINREL || px_rel_has_groups(joinrel) ||
		!is_step(jointype, extra->sjinfo) ||
		list_length(record->steps) >= STEPS_MAX)
		return;
	step = palloc(sizeof(px_join_step));
	step->outer = outerrel;
	step->inner = innerrel;
	step->joinrel = joinrel;
	step->jointype = jointype;
	step->clauses = extra->restrictlist;
	record->steps = lappend(record->steps, step);
}

void
px_join_record_init(void)
{
	prev_set_join_pathlist_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = record_join;
}
