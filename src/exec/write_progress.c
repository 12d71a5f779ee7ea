/*-------------------------------------------------------------------------
 *
 * write_progress.c
 *		Running writes in pg_stat_progress_exchange.
 *
 * Each server has a row while a statement writes to it, from the first piece
 * on.  It shows the statement of the table that was written to last.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "adapt/choice.h"
#include "codec/codec.h"
#include "exec/write_progress.h"
#include "stats/progress.h"

/* Rows that the planner expects for the lane; 0 if that is not known. */
static double
expected_rows(const px_write_target *target)
{
	const Plan *plan = target->plan.mtstate->ps.plan;

	if (plan == NULL || target->writer->nlanes > 1)
		return 0;
	return plan->lefttree->plan_rows;
}

void
px_write_progress_send(px_write_target *target)
{
	px_write_lane *lane = target->lane;

	if (!lane->was_shown)
	{
		lane->was_shown = true;
		lane->progress = px_progress_begin();
		if (lane->progress == NULL)
			return;
		lane->progress->userid = GetSessionUserId();
		lane->progress->serverid = lane->serverid;
		lane->progress->remote_pid = 0;
		lane->progress->slice = 0;
		lane->progress->estimated_rows = expected_rows(target);
		lane->progress->direction = PX_DIRECTION_WRITE;
		px_progress_show(lane->progress, lane->servername, target->plan.sql);
	}
	px_progress_blocked(lane->progress, PX_BLOCKED_SERVER);
}

static uint32
codecs_used(const px_write_stats *stats)
{
	uint32		codecs = 0;

	if (stats->choices[PX_CHOICE_PLAIN] + stats->choices[PX_CHOICE_ENCODED] >
		0)
		codecs |= 1u << PX_CODEC_NONE;
	if (stats->choices[PX_CHOICE_LZ4] > 0)
		codecs |= 1u << PX_CODEC_LZ4;
	if (stats->choices[PX_CHOICE_ZSTD] > 0)
		codecs |= 1u << PX_CODEC_ZSTD;
	return codecs;
}

/* Frames that were made since the last piece count, too. */
void
px_write_progress_written(px_write_target *target,
						  const px_write_piece *piece, uint64 wire_nbytes)
{
	const px_write_stats *stats = &target->stats;

	px_progress_written(target->lane->progress, piece->rows,
						stats->frames - target->frames_shown,
						stats->raw_nbytes - target->raw_nbytes_shown,
						wire_nbytes, codecs_used(stats));
	target->frames_shown = stats->frames;
	target->raw_nbytes_shown = stats->raw_nbytes;
	px_progress_blocked(target->lane->progress, PX_BLOCKED_QUERY);
}

void
px_write_progress_end(px_write_state *writer)
{
	for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
	{
		px_progress_end(lane->progress);
		lane->progress = NULL;
	}
}
