/*-------------------------------------------------------------------------
 *
 * write_target.c
 *		A target: from its rows to pieces that are sent.
 *
 * The first rows are kept as tuples.  When there are more of them than
 * min_write_rows, the remote is asked about the statement, and from then on
 * rows become frames (write_frames.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "exec/write_ask.h"
#include "exec/write_kept.h"
#include "exec/write_lane.h"
#include "exec/write_replay.h"
#include "exec/write_statement.h"
#include "exec/write_target.h"
#include "guc.h"

/* Keep no more bytes of rows as tuples, however few rows these are. */
#define KEPT_NBYTES_MAX		(1024 * 1024)

/*
 * A row of more bytes is postgres_fdw's.  A piece travels as a text, which is
 * larger than its frames by 121/105, and has at most 1 GB.
 */
#define ROW_NBYTES_MAX		((Size) 512 * 1024 * 1024)

/*
 * On a local connection, rows of 2 kB are written in 0.4 of postgres_fdw's
 * time, rows of 19 kB in the same, and rows of 192 kB in 1.3 times that.
 */
#define LARGE_ROW_NBYTES	(16 * 1024)

/*
 * postgres_fdw needs a tenth of the time for a row if its statements have at
 * least so many rows.  Then the question about the statement, which takes as
 * long as some 200 such rows, pays only for more of them.
 */
#define LARGE_BATCH_ROWS	10
#define LARGE_BATCH_FACTOR	4

/* ---------------------------------------------------------------------
 * From tuples to frames
 * --------------------------------------------------------------------- */

/* The kept row number i becomes one of a frame. */
static void
append_kept_row(px_write_target *target, int i)
{
	px_copy_lines *lines = target->kept.lines;
	TupleTableSlot *slot;
	TupleTableSlot *plan_slot;

	px_write_kept_row(target, i, &slot, &plan_slot);
	if (px_write_frames_append(target, slot, plan_slot,
							   target->kept.rows[i].position) == NULL)
		px_write_uncount(target, 1);
	else if (lines)
		px_copy_lines_add_from(target->piece->lines, lines, i);
}

/*
 * Turn the rows that were kept into frames: before the last ones only those of
 * statements that are due, if somebody could see others.  An error may come up
 * when a full piece is sent, and be one of other rows.  Then those that come
 * before it are still written, none of them twice.
 */
static void
append_kept(px_write_target *target, bool last)
{
	int			n = target->plan.whole_statements && !last ?
		px_write_kept_due(target) : target->kept.nrows;
	volatile int nappended = 0;

	PG_TRY();
	{
		while (nappended < n)
		{
			append_kept_row(target, nappended);
			nappended++;
			px_write_frames_end_row(target);
		}
	}
	PG_FINALLY();
	{
		px_write_forget_kept(target, nappended);
	}
	PG_END_TRY();
	px_write_target_count_memory(target);
}

void
px_write_target_decline(px_write_target *target, const char *reason)
{
	target->stats.transport =
		MemoryContextStrdup(target->writer->context,
							psprintf("%spostgres_fdw (%s)",
									 target->phase == PX_WRITE_FRAMES ?
									 "exchange and " : "", reason));
	target->phase = PX_WRITE_DECLINED;
}

void
px_write_lane_decline(px_write_lane *lane, const char *against)
{
	px_write_state *writer = lane->writer;
	px_write_target *target;

	lane->declined = against;
	for (target = writer->targets; target; target = target->next)
	{
		if (target->lane == lane && target->phase == PX_WRITE_FRAMES)
			px_write_target_flush(target, false);
	}
	px_write_lane_collect(lane);
	px_write_replay_all(writer, lane,
						PX_WRITE_ROW_POSITION(writer->nrows + 1));
	for (target = writer->targets; target; target = target->next)
	{
		if (target->lane == lane && target->phase != PX_WRITE_DECLINED)
			px_write_target_decline(target, against);
	}
}

/* Ask the remote about the statement, once.  Returns what speaks against it. */
static const char *
describe(px_write_target *target)
{
	const char *against;

	if (target->is_described)
		return NULL;
	px_write_statement_make(&target->plan);
	against = px_write_statement_reason(&target->plan);
	if (against == NULL)
		against = px_write_ask(target);
	target->is_described = against == NULL;
	return against;
}

const char *
px_write_lane_describe(px_write_lane *lane)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(lane->writer->context);
	const char *against = lane->declined;

	for (px_write_target *target = lane->writer->targets;
		 target && against == NULL; target = target->next)
	{
		if (target->lane != lane)
			continue;
		against = describe(target);
		if (against == NULL && target->is_dependent && lane->ntargets > 1)
			against = PX_WRITE_ORDER;
	}
	MemoryContextSwitchTo(oldcontext);
	return against;
}

/*
 * Are the rows so large that it takes longer to make frames of them, which do
 * not get smaller on a local connection, than to pass each on?
 */
static bool
is_better_passed(const px_write_target *target)
{
	return target->lane->is_local && target->nseen > 0 &&
		target->large_nbytes / target->nseen > LARGE_ROW_NBYTES;
}

/*
 * Ask the remote about the statement, and begin with frames if it agrees.  If
 * not, postgres_fdw writes the rows kept so far, and the others as they come.
 */
static void
ask(px_write_target *target)
{
	px_write_lane *lane = target->lane;
	const char *against = px_write_lane_describe(lane);

	if (against == NULL && is_better_passed(target))
		against = PX_WRITE_LARGE_ROWS;
	if (against)
	{
		px_write_target_decline(target, against);
		if (lane->declined == NULL)
			px_write_lane_decline(lane, against);
		px_write_replay(target);
		return;
	}
	target->stats.transport =
		MemoryContextStrdup(target->writer->context,
							psprintf("exchange v%d", target->request.version));
	target->phase = PX_WRITE_FRAMES;
	lane->has_frames = true;
	px_write_frames_begin(target);
	append_kept(target, false);
}

/* How many rows are kept, before it pays to ask? */
static int64
kept_rows_max(const px_write_target *target)
{
	return (int64) px_min_write_rows *
		(target->plan.batch_size < LARGE_BATCH_ROWS ? 1 : LARGE_BATCH_FACTOR);
}

void
px_write_target_settle(px_write_target *target)
{
	if (target->phase == PX_WRITE_KEEPING && target->kept.nrows > 0 &&
		target->nseen >= kept_rows_max(target) / 2)
		ask(target);
}

/* A row while rows are kept. */
static TupleTableSlot *
keep_row(px_write_target *target, TupleTableSlot *slot,
		 TupleTableSlot *plan_slot)
{
	target->nseen++;
	px_write_keep(target, slot, plan_slot);
	px_write_target_count_memory(target);
	if (target->kept.nrows > kept_rows_max(target) ||
		target->kept.nbytes > KEPT_NBYTES_MAX)
		ask(target);
	return slot ? slot : plan_slot;
}

/* A row of one among many targets. */
static TupleTableSlot *
keep_crowded(px_write_target *target, TupleTableSlot *slot,
			 TupleTableSlot *plan_slot)
{
	px_write_keep(target, slot, plan_slot);
	px_write_target_count_memory(target);
	if (target->kept.nbytes > KEPT_NBYTES_MAX)
		px_write_target_flush(target, false);
	return slot ? slot : plan_slot;
}

/*
 * A row of statements that are not sent before postgres_fdw would execute them.
 */
static TupleTableSlot *
keep_statement(px_write_target *target, TupleTableSlot *slot,
			   TupleTableSlot *plan_slot)
{
	px_write_frames_note_row(target, px_write_position(target));
	if (target->kept.nrows >= target->plan.batch_size)
	{
		target->kept.next_position = px_write_position(target);
		append_kept(target, false);
	}
	px_write_keep(target, slot, plan_slot);
	px_write_target_count_memory(target);
	return slot ? slot : plan_slot;
}

/* Have postgres_fdw write a row, in a statement of its own. */
static TupleTableSlot *
write_row(px_write_target *target, TupleTableSlot *slot,
		  TupleTableSlot *plan_slot)
{
	const px_write_plan *plan = &target->plan;
	px_write_state *writer = target->writer;
	EState	   *estate = writer->estate;
	TupleTableSlot *written;

	/*
	 * An error is this row's: see px_write_claim_error.  A DELETE returns its
	 * slot, whichever that is: nothing is stored there.
	 */
	writer->passes_to = target->lane;
	if (plan->operation == CMD_UPDATE)
		written = plan->fdw->ExecForeignUpdate(estate, plan->relinfo, slot,
											   plan_slot);
	else if (plan->operation == CMD_DELETE)
		written = plan->fdw->ExecForeignDelete(estate, plan->relinfo,
											   plan_slot, plan_slot);
	else
		written = plan->fdw->ExecForeignInsert(estate, plan->relinfo, slot,
											   plan_slot);
	writer->passes_to = NULL;
	return written;
}

/* A row that postgres_fdw writes, in statements of batch_size rows. */
static TupleTableSlot *
pass_row(px_write_target *target, TupleTableSlot *slot,
		 TupleTableSlot *plan_slot)
{
	const px_write_plan *plan = &target->plan;

	if (plan->operation != CMD_INSERT || plan->batch_size <= 1)
		return write_row(target, slot, plan_slot);
	if (target->kept.nrows >= plan->batch_size)
	{
		target->kept.next_position = px_write_position(target);
		px_write_replay(target);
	}
	px_write_keep(target, slot, plan_slot);
	px_write_target_count_memory(target);
	return slot;
}

/*
 * Does postgres_fdw get the first rows as they come?  To keep some, and have
 * it write them in the end, takes longer.  But after an error of its row the
 * server takes no more frames; passes_first means that there is no other
 * target.
 */
static bool
passes_rows(const px_write_target *target)
{
	return target->phase == PX_WRITE_KEEPING &&
		(target->plan.passes_first ||
		 (target->plan.expects_few && !target->lane->has_frames));
}

void
px_write_target_begin(px_write_target *target)
{
	TupleDesc desc = RelationGetDescr(target->plan.relinfo->ri_RelationDesc);

	if (target->plan.operation == CMD_DELETE)
		return;
	target->varlena = MemoryContextAlloc(target->writer->context,
										 Max(desc->natts, 1) *
										 sizeof(AttrNumber));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (attribute->attlen == -1 && !attribute->attisdropped)
			target->varlena[target->nvarlena++] = attribute->attnum;
	}
}

/* The bytes of a row's values of varying length. */
static Size
large_nbytes(const px_write_target *target, TupleTableSlot *slot)
{
	Size		nbytes = 0;

	for (int i = 0; i < target->nvarlena; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, target->varlena[i], &isnull);

		if (!isnull && !VARATT_IS_SHORT(DatumGetPointer(value)))
			nbytes += toast_raw_datum_size(value);
	}
	return nbytes;
}

/* Look at a row's size before anything is done with it. */
static void
note_size(px_write_target *target, TupleTableSlot *slot)
{
	Size		nbytes;

	if (target->phase == PX_WRITE_DECLINED)
		return;
	nbytes = large_nbytes(target, slot);
	if (target->phase == PX_WRITE_KEEPING)
		target->large_nbytes += nbytes;
	if (nbytes > ROW_NBYTES_MAX)
		px_write_lane_decline(target->lane, "a row is too large");
}

TupleTableSlot *
px_write_target_row(px_write_target *target, TupleTableSlot *slot,
					TupleTableSlot *plan_slot)
{
	note_size(target, slot);
	if (passes_rows(target))
	{
		if (target->nseen++ < kept_rows_max(target))
			return pass_row(target, slot, plan_slot);
		ask(target);
	}
	switch (target->phase)
	{
		case PX_WRITE_KEEPING:
			return keep_row(target, slot, plan_slot);
		case PX_WRITE_DECLINED:
			return pass_row(target, slot, plan_slot);
		case PX_WRITE_FRAMES:
			if (px_write_frames_is_crowded(target))
				return keep_crowded(target, slot, plan_slot);
			if (target->plan.whole_statements)
				return keep_statement(target, slot, plan_slot);
			break;
	}
	slot = px_write_frames_append(target, slot, plan_slot,
								  px_write_position(target));
	if (slot)
	{
		if (target->piece->lines)
			px_copy_lines_add(target->piece->lines);
		px_write_frames_end_row(target);
	}
	return slot;
}

void
px_write_target_flush(px_write_target *target, bool last)
{
	Assert(!px_write_has_kept(target));
	if (target->kept.nrows > 0 && target->phase == PX_WRITE_FRAMES)
		append_kept(target, last);
	px_write_frames_send(target, last);
}

/* The position of the first row that was not sent; UINT64_MAX without one. */
static uint64
first_position(const px_write_target *target)
{
	if (target->piece && target->piece->rows > 0)
		return target->piece->positions[0];
	if (target->kept.nrows > 0)
		return target->kept.rows[0].position;
	return PG_UINT64_MAX;
}

bool
px_write_target_precedes(const px_write_target *target, uint64 position)
{
	const px_write_lane *lane = target->lane;

	return !lane->failed &&
		(first_position(target) < position ||
		 (lane->target == target && lane->piece->positions[0] < position) ||
		 (lane->deposit_target == target && lane->deposit_piece &&
		  lane->deposit_piece->positions[0] < position));
}

/* Would postgres_fdw have kept all rows that were not sent? */
static bool
is_incomplete(const px_write_target *target)
{
	const px_write_plan *plan = &target->plan;
	uint32		rows = target->kept.nrows;

	if (plan->operation != CMD_INSERT || plan->batch_size <= 1)
		return false;
	if (px_write_is_copy_batch(target))
		return !px_write_was_given(target->writer, first_position(target));
	if (target->piece)
		rows += target->piece->rows;
	return rows <= (uint32) plan->batch_size;
}

void
px_write_target_catch_up(px_write_target *target)
{
	if (is_incomplete(target))
	{
		px_write_lane_collect(target->lane);
		return;
	}
	px_write_target_flush(target, false);
	px_write_lane_collect(target->lane);
}

size_t
px_write_target_fullness(const px_write_target *target)
{
	return target->kept.nbytes +
		(target->fill ? px_fill_nbytes(target->fill) : 0) +
		(target->piece ? target->piece->frames_nbytes : 0);
}
