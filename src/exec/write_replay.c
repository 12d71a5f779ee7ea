/*-------------------------------------------------------------------------
 *
 * write_replay.c
 *		Kept rows of several targets, in the order of the statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"

#include "exec/write_kept.h"
#include "exec/write_replay.h"

bool
px_write_has_kept(const px_write_target *target)
{
	return target->phase != PX_WRITE_FRAMES && target->kept.nrows > 0;
}

/* Which target is to be replayed first? */
static int
compare_positions(Datum a, Datum b, void *arg)
{
	uint64		a_at = px_write_replay_position(
		(const px_write_target *) DatumGetPointer(a));
	uint64		b_at = px_write_replay_position(
		(const px_write_target *) DatumGetPointer(b));

	return a_at < b_at ? 1 : a_at > b_at ? -1 : 0;
}

void
px_write_replay_all(px_write_state *writer, const px_write_lane *lane,
					uint64 position)
{
	binaryheap *heap = NULL;

	for (px_write_target *target = writer->targets; target;
		 target = target->next)
	{
		if (!px_write_has_kept(target) || target->lane->failed ||
			(lane && target->lane != lane))
			continue;
		if (heap == NULL)
			heap = binaryheap_allocate(writer->ntargets, compare_positions,
									   NULL);
		binaryheap_add_unordered(heap, PointerGetDatum(target));
	}
	if (heap == NULL)
		return;
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
	{
		px_write_target *target = (px_write_target *)
			DatumGetPointer(binaryheap_first(heap));

		if (px_write_replay_position(target) >= position)
			break;
		px_write_replay_next(target);
		if (px_write_has_kept(target))
			binaryheap_replace_first(heap, PointerGetDatum(target));
		else
			(void) binaryheap_remove_first(heap);
	}
	binaryheap_free(heap);
}
