/*-------------------------------------------------------------------------
 *
 * writer.c
 *		Rows of a statement that writes, sent to their servers as frames.
 *
 * The writers of the statements that are being executed are in a list, in
 * which they are found by their executor state.  A callback of its memory
 * context takes them out, whatever ends the statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "exec/write_lane.h"
#include "exec/write_target.h"
#include "exec/writer.h"

/* Of all executor states, the last one first. */
static px_write_state *writers = NULL;

static px_write_state *
find_writer(const EState *estate)
{
	px_write_state *writer = writers;

	while (writer && writer->estate != estate)
		writer = writer->next;
	return writer;
}

static void
forget_writer(void *arg)
{
	px_write_state **link = &writers;

	while (*link && *link != arg)
		link = &(*link)->next;
	if (*link)
		*link = (*link)->next;
}

static px_write_state *
make_writer(EState *estate)
{
	px_write_state *writer = MemoryContextAllocZero(estate->es_query_cxt,
												sizeof(px_write_state));

	writer->estate = estate;
	writer->targets_end = &writer->targets;
	writer->context = estate->es_query_cxt;
	writer->forget.func = forget_writer;
	writer->forget.arg = writer;
	MemoryContextRegisterResetCallback(writer->context, &writer->forget);
	writer->next = writers;
	writers = writer;
	return writer;
}

px_write_target *
px_writer_add(const px_write_plan *plan)
{
	EState	   *estate = plan->mtstate->ps.state;
	px_write_state *writer = find_writer(estate);
	px_write_target *target;

	if (writer == NULL)
		writer = make_writer(estate);
	target = MemoryContextAllocZero(writer->context, sizeof(px_write_target));
	target->plan = *plan;
	target->writer = writer;
	target->lane = px_write_lane_get(writer, plan);
	target->stats.transport = "postgres_fdw (too few rows)";
	*writer->targets_end = target;
	writer->targets_end = &target->next;
	writer->ntargets++;
	return target;
}

/*
 * If the targets use more memory than they may, flush the fullest ones, until
 * a good part of it is free: so this is not done for each row.
 */
static void
limit_memory(px_write_state *writer)
{
	size_t		limit = (size_t) px_receive_buffer;

	if (writer->nbytes <= limit)
		return;
	while (writer->nbytes > limit / 4 * 3)
	{
		px_write_target *fullest = writer->targets;
		size_t		before = writer->nbytes;

		for (px_write_target *target = fullest; target; target = target->next)
		{
			if (px_write_target_fullness(target) >
				px_write_target_fullness(fullest))
				fullest = target;
		}
		px_write_target_flush(fullest, false);
		if (writer->nbytes >= before)
			break;
	}
}

TupleTableSlot *
px_writer_row(px_write_target *target, TupleTableSlot *slot,
			  TupleTableSlot *plan_slot)
{
	slot = px_write_target_row(target, slot, plan_slot);
	limit_memory(target->writer);
	return slot;
}

void
px_writer_flush(EState *estate)
{
	px_write_state *writer = find_writer(estate);

	if (writer == NULL)
		return;
	for (px_write_target *target = writer->targets; target;
		 target = target->next)
		px_write_target_flush(target, true);
	for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
		px_write_lane_collect(lane);
}

const px_write_stats *
px_writer_stats(const px_write_target *target)
{
	return &target->stats;
}
