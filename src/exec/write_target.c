/*-------------------------------------------------------------------------
 *
 * write_target.c
 *		A target: from its rows to pieces that are sent.
 *
 * The first rows are kept as tuples.  When there are more of them than
 * min_write_rows, the remote is asked about the statement, and from then on
 * rows go into columns, and columns become frames.  A frame ends at batch_rows
 * or batch_bytes, as when rows are read; a piece when it is worth its round
 * trip.
 *
 * Pieces begin and end where statements of postgres_fdw would, which have
 * batch_size rows, unless these are very large: so errors can name the
 * statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "adapt/choice.h"
#include "compat.h"
#include "exec/clocks.h"
#include "exec/transmission.h"
#include "exec/write_ask.h"
#include "exec/write_kept.h"
#include "exec/write_lane.h"
#include "exec/write_replay.h"
#include "exec/write_target.h"
#include "guc.h"
#include "wire/piece.h"

/*
 * Raw bytes after which a piece is worth its round trips.  They are counted
 * before compression: what they take is work of the remote, which it does
 * while the next piece is made.  So the first pieces are smaller, and each
 * next one is twice as large.
 */
#define PIECE_NBYTES		(1024 * 1024)
#define PIECE_FIRST_NBYTES	(256 * 1024)

/* What targets have of receive_buffer; pieces in flight have the rest. */
#define BUFFER_SHARE_OF_TARGETS		2

/* A frame has no fewer rows, however many targets there are. */
#define FRAME_ROWS_MIN		64

/* An estimate of the memory that a value takes in columns and frames. */
#define VALUE_NBYTES		32

/* The same for a column without values, and for what belongs to no column. */
#define COLUMN_NBYTES		8192
#define TARGET_NBYTES		65536

/* Keep no more bytes of rows as tuples, however few rows these are. */
#define KEPT_NBYTES_MAX		(1024 * 1024)

/*
 * postgres_fdw needs a tenth of the time for a row if its statements have at
 * least so many rows.  Then the question about the statement, which takes as
 * long as some 200 such rows, pays only for more of them.
 */
#define LARGE_BATCH_ROWS	10
#define LARGE_BATCH_FACTOR	4

/* ---------------------------------------------------------------------
 * Memory
 * --------------------------------------------------------------------- */

void
px_write_target_count_memory(px_write_target *target)
{
	size_t		nbytes = 0;

	if (target->kept.context)
		nbytes += MemoryContextMemAllocated(target->kept.context, false);
	if (target->buffers)
		nbytes += MemoryContextMemAllocated(target->buffers, true);
	if (target->piece)
		nbytes += MemoryContextMemAllocated(target->piece->context, true);
	target->writer->nbytes += nbytes - target->nbytes;
	target->nbytes = nbytes;
}

/*
 * Are there so many targets that columns for all of them would leave little
 * room for rows?  Then rows are kept as tuples until their target is flushed.
 */
static bool
is_crowded(const px_write_target *target)
{
	size_t		nbytes = TARGET_NBYTES +
		(size_t) COLUMN_NBYTES * target->request.ncolumns;

	return target->fill == NULL &&
		nbytes * target->writer->ntargets >
		(size_t) px_receive_buffer / BUFFER_SHARE_OF_TARGETS;
}

/*
 * Rows of a frame: fewer if many targets have to share the memory, and at
 * least those of a statement of postgres_fdw.  The remote reads all values of
 * a statement before it executes that, so an error of theirs comes first.
 */
static uint32
frame_rows_max(const px_write_target *target)
{
	size_t		share = (size_t) px_receive_buffer /
		BUFFER_SHARE_OF_TARGETS / target->writer->ntargets;
	size_t		rows = share / (VALUE_NBYTES * target->request.ncolumns);

	rows = Min(rows, PX_PIECE_VALUES_MAX / target->request.ncolumns);
	return (uint32) Min(Max(rows, FRAME_ROWS_MIN),
						(size_t) Max(px_batch_rows_max,
									 target->plan.batch_size));
}

/* The same for the bytes of the next piece. */
static size_t
piece_nbytes_max(const px_write_target *target)
{
	size_t		nbytes = PIECE_FIRST_NBYTES;

	for (uint64 i = 0; i < target->npieces && nbytes < PIECE_NBYTES; i++)
		nbytes *= 2;
	return Min(nbytes,
			   (size_t) px_receive_buffer / 4 / target->writer->ntargets);
}

/* Where frames end so that they end with a statement of postgres_fdw. */
static uint32
rounded_frame_rows(const px_write_target *target, uint32 rows)
{
	uint32		size = (uint32) Max(target->plan.batch_size, 1);

	return rows > size ? rows - rows % size : rows;
}

/* Do settings matter for a column that travels as text? */
static bool
needs_settings(const px_write_target *target)
{
	const px_fill *fill = target->fill;
	ListCell   *lc;
	int			i = 0;

	foreach(lc, target->attrs)
	{
		Form_pg_attribute attribute = TupleDescAttr(target->desc,
													lfirst_int(lc) - 1);

		if (fill->schema[i++].class == PX_CLASS_TEXT &&
			px_transmission_matters(attribute->atttypid))
			return true;
	}
	return false;
}

static void
begin_buffers(px_write_target *target)
{
	px_write_state *writer = target->writer;
	MemoryContext oldcontext = MemoryContextSwitchTo(writer->context);
	uint32		rows = frame_rows_max(target);

	if (writer->tools == NULL || writer->tools->rows_max < rows)
	{
		target->request.batch_rows = Max((uint32) px_batch_rows_max, rows);
		writer->tools = px_frame_tools_new(&target->request);
	}
	target->request.batch_rows = rows;
	target->frame_rows = rounded_frame_rows(target,
											target->request.batch_rows);

	target->buffers = AllocSetContextCreate(writer->context, "ExchangeWrite",
											ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(target->buffers);
	target->fill = px_fill_new(target->desc, target->attrs, &target->request,
							   target->columns, GetDatabaseEncoding());
	target->needs_settings = needs_settings(target);
	target->maker = px_frame_maker_new(&target->request, target->fill, 0);
	px_fill_begin(target->fill);
	px_fill_reset(target->fill);
	px_frame_maker_begin(target->maker, writer->tools);
	MemoryContextSwitchTo(oldcontext);
	px_write_target_count_memory(target);
}

static void
free_buffers(px_write_target *target)
{
	if (target->buffers)
		MemoryContextDelete(target->buffers);
	target->buffers = NULL;
	target->fill = NULL;
	target->maker = NULL;
	px_write_target_count_memory(target);
}

/* ---------------------------------------------------------------------
 * Pieces
 * --------------------------------------------------------------------- */

/*
 * The target has a row at position.  The pieces that went before need to know
 * it: their last statement is executed no earlier.
 */
static void
note_next_row(const px_write_target *target, uint64 position)
{
	const px_write_lane *lane = target->lane;

	if (lane->target == target && lane->piece->next_position == 0)
		lane->piece->next_position = position;
	if (lane->deposit_target == target && lane->deposit_piece &&
		lane->deposit_piece->next_position == 0)
		lane->deposit_piece->next_position = position;
}

static void
begin_piece(px_write_target *target, uint64 position)
{
	px_write_piece *piece = px_write_piece_new(target->writer->context);

	note_next_row(target, position);
	if (px_copy_is_reading() || target->kept.lines)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(piece->context);

		piece->lines = px_copy_lines_new();
		MemoryContextSwitchTo(oldcontext);
	}
	target->piece = piece;
	target->batch_left = (uint32) Max(target->plan.batch_size, 1);
	target->piece_nbytes = 0;
	target->piece_nbytes_max = piece_nbytes_max(target);
	target->frame_nbytes_max = Min((size_t) px_batch_bytes_max,
								   target->piece_nbytes_max);
	target->npieces++;
	px_frame_maker_restart(target->maker);
	px_write_piece_add(piece, px_frame_maker_schema(target->maker));
	target->fill_begun = px_wall_ns();
}

/*
 * Waiting for a server is not a part of what filling in rows takes.  Without
 * this, all targets would seem to be filled as slowly as the links carry, and
 * better compression would seem to be in vain.
 */
static void
forget_wait(px_write_state *writer, int64 begin)
{
	int64		waited = px_wall_ns() - begin;

	for (px_write_target *target = writer->targets; target;
		 target = target->next)
		target->fill_begun += waited;
}

static void
send_piece(px_write_target *target, bool last)
{
	px_write_piece *piece = target->piece;
	int64		begin;

	if (!piece->ended)
		px_write_piece_add(piece, px_frame_maker_end(target->maker));
	piece->ended = true;
	piece->last = last;
	begin = px_wall_ns();
	px_write_lane_send(target);
	forget_wait(target->writer, begin);
	px_write_target_count_memory(target);
}

/* ---------------------------------------------------------------------
 * Frames
 * --------------------------------------------------------------------- */

static px_choice
choose(px_write_target *target, size_t raw_nbytes)
{
	px_write_lane *lane = target->lane;
	px_choice	choice;

	if (lane->mode != PX_MODE_AUTO || !target->request.adaptive)
		return (px_choice) pg_rightmost_one_pos32(
			px_choices_asked(&target->request));
	choice = px_adapt_choose(&lane->adapt, (double) raw_nbytes);
	return px_adapt_for_size(&lane->adapt, choice, (double) raw_nbytes);
}

/* What mode auto learns from a frame. */
static void
learn(px_write_target *target, px_choice choice, size_t raw_nbytes,
	  size_t wire_nbytes, px_clocks begin, px_clocks end)
{
	bool		sampled = false;

	if (target->lane->mode != PX_MODE_AUTO)
		return;
	for (int i = 0; i < target->fill->ncolumns; i++)
		sampled = sampled || target->maker->columns[i].sampled;
	px_adapt_learn_batch(&target->lane->adapt, choice, (double) raw_nbytes,
						 (double) wire_nbytes,
						 (double) (begin.wall_ns - target->fill_begun),
						 (double) (end.cpu_ns - begin.cpu_ns),
						 (double) (end.wall_ns - begin.wall_ns), !sampled);
}

/* Make a frame of the rows in columns, and append it to the piece. */
static void
make_frame(px_write_target *target)
{
	px_frame_maker *maker = target->maker;
	px_clocks	begin = px_clocks_read();
	px_clocks	end;
	size_t		raw_nbytes;
	px_choice	choice;
	bytea	   *frame;

	px_fill_finish(target->fill);
	raw_nbytes = px_frame_maker_raw_nbytes(maker);
	choice = choose(target, raw_nbytes);
	px_choice_options(&target->request, choice, &maker->options);
	frame = px_frame_maker_batch(maker, raw_nbytes, choice);
	px_write_piece_add(target->piece, frame);

	end = px_clocks_read();
	learn(target, choice, raw_nbytes, PX_FRAME_OF_BYTEA_NBYTES(frame), begin,
		  end);
	target->fill_begun = end.wall_ns;
	target->stats.frames++;
	target->stats.raw_nbytes += raw_nbytes;
	target->piece_nbytes += raw_nbytes;
	target->stats.choices[choice]++;
	target->stats.encode_ms += (end.wall_ns - begin.wall_ns) / 1e6;
	px_fill_reset(target->fill);
	px_write_target_count_memory(target);
	px_write_lanes_go_on(target->writer);
	forget_wait(target->writer, end.wall_ns);
}

/* ---------------------------------------------------------------------
 * Rows
 * --------------------------------------------------------------------- */

/* Put the ctid and the new values of a row into target->row. */
static TupleTableSlot *
combine_row(px_write_target *target, TupleTableSlot *slot,
			TupleTableSlot *plan_slot, const ItemPointerData *ctid)
{
	TupleTableSlot *row = target->row;
	ListCell   *lc;
	int			i = 1;

	ExecClearTuple(row);
	row->tts_values[0] = PointerGetDatum(ctid);
	row->tts_isnull[0] = false;
	foreach(lc, target->plan.attrs)
	{
		row->tts_values[i] = slot_getattr(slot, lfirst_int(lc),
										  &row->tts_isnull[i]);
		i++;
	}
	return ExecStoreVirtualTuple(row);
}

static void
fill_row(px_write_target *target, TupleTableSlot *slot)
{
	int			nestlevel;

	if (!target->needs_settings)
	{
		px_fill_row(target->fill, slot);
		return;
	}
	nestlevel = px_transmission_begin();
	px_fill_row(target->fill, slot);
	AtEOXact_GUC(true, nestlevel);
}

/*
 * End the frame, and the piece, if they are full.  Statements of postgres_fdw
 * are not cut, unless they are twice as large as a piece is to be.
 */
static void
end_if_full(px_write_target *target, bool at_end)
{
	px_fill    *fill = target->fill;
	size_t		piece_max = target->piece_nbytes_max;
	size_t		frame_max = target->frame_nbytes_max;
	size_t		nbytes = px_fill_nbytes(fill);

	if (fill->rows < target->frame_rows && nbytes < frame_max &&
		!(at_end && target->piece_nbytes >= piece_max))
		return;
	if (!at_end && fill->rows < target->request.batch_rows &&
		nbytes < 2 * frame_max)
		return;
	if (fill->rows > 0)
		make_frame(target);
	if (target->piece_nbytes >= (at_end ? piece_max : 2 * piece_max))
		send_piece(target, false);
}

/* The same after a row. */
static void
end_after_row(px_write_target *target)
{
	bool		at_end = target->batch_left == 0;

	if (at_end)
		target->batch_left = (uint32) Max(target->plan.batch_size, 1);
	end_if_full(target, at_end && !px_write_is_copy_batch(target));
}

/* COPY: the same before a row, if the statements before it are complete. */
static void
end_before_row(px_write_target *target, uint64 position)
{
	const px_write_piece *piece = target->piece;

	if (px_write_is_copy_batch(target) && piece && piece->rows > 0 &&
		piece->positions[piece->rows - 1] != position)
		end_if_full(target, true);
}

/* Append a row to the frames.  NULL if its ctid has come before. */
static TupleTableSlot *
append_row(px_write_target *target, TupleTableSlot *slot,
		   TupleTableSlot *plan_slot, uint64 position)
{
	ItemPointerData ctid;
	px_write_piece *piece;

	end_before_row(target, position);
	if (target->fill == NULL)
		begin_buffers(target);
	if (target->piece == NULL)
		begin_piece(target, position);
	piece = target->piece;
	if (target->row)
	{
		ctid = px_write_ctid(&target->plan, plan_slot);
		if (target->plan.may_repeat && !px_write_piece_add_ctid(piece, &ctid))
			return NULL;
		fill_row(target, combine_row(target, slot, plan_slot, &ctid));
	}
	else
		fill_row(target, slot);

	px_write_piece_count(piece, position);
	target->batch_left--;
	return slot ? slot : plan_slot;
}

/* ---------------------------------------------------------------------
 * From tuples to frames
 * --------------------------------------------------------------------- */

/* The rows that are filled in: for an UPDATE and DELETE the ctid is first. */
static void
make_row(px_write_target *target)
{
	TupleDesc table = RelationGetDescr(target->plan.relinfo->ri_RelationDesc);
	MemoryContext oldcontext = MemoryContextSwitchTo(target->writer->context);
	ListCell   *lc;
	int			i = 1;

	target->desc = table;
	target->attrs = target->plan.attrs;
	if (target->plan.operation != CMD_INSERT)
	{
		target->desc =
			CreateTemplateTupleDesc(list_length(target->plan.attrs) + 1);
		TupleDescInitEntry(target->desc, 1, "ctid", TIDOID, -1, 0);
		target->attrs = list_make1_int(1);
		foreach(lc, target->plan.attrs)
		{
			i++;
			TupleDescCopyEntry(target->desc, i, table, lfirst_int(lc));
			target->attrs = lappend_int(target->attrs, i);
		}
		TupleDescFinalize(target->desc);
		target->row = MakeSingleTupleTableSlot(target->desc, &TTSOpsVirtual);
	}
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Turn the rows that were kept into frames: before the last ones only those of
 * statements that are due, if somebody could see others.
 */
static void
append_kept(px_write_target *target, bool last)
{
	px_copy_lines *lines = target->kept.lines;
	int			n = target->plan.whole_statements && !last ?
		px_write_kept_due(target) : target->kept.nrows;

	for (int i = 0; i < n; i++)
	{
		TupleTableSlot *slot;
		TupleTableSlot *plan_slot;

		px_write_kept_row(target, i, &slot, &plan_slot);
		if (append_row(target, slot, plan_slot,
					   target->kept.rows[i].position) == NULL)
			px_write_uncount(target, 1);
		else
		{
			if (lines)
				px_copy_lines_add_from(target->piece->lines, lines, i);
			end_after_row(target);
		}
	}
	px_write_forget_kept(target, n);
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

/*
 * Ask the remote about the statement, and begin with frames if it agrees.  If
 * not, postgres_fdw writes the rows kept so far, and the others as they come.
 */
static void
ask(px_write_target *target)
{
	px_write_lane *lane = target->lane;
	MemoryContext oldcontext = MemoryContextSwitchTo(target->writer->context);
	const char *against = lane->declined ? lane->declined :
		px_write_ask(target);

	if (against == NULL && target->keys && target->lane->ntargets > 1 &&
		target->plan.batch_size <= 1)
		against = PX_WRITE_KEYS;
	MemoryContextSwitchTo(oldcontext);
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
	make_row(target);
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
	note_next_row(target, px_write_position(target));
	if (target->kept.nrows >= target->plan.batch_size)
	{
		target->kept.next_position = px_write_position(target);
		append_kept(target, false);
	}
	px_write_keep(target, slot, plan_slot);
	px_write_target_count_memory(target);
	return slot ? slot : plan_slot;
}

/* A row that postgres_fdw writes, in statements of batch_size rows. */
static TupleTableSlot *
pass_row(px_write_target *target, TupleTableSlot *slot,
		 TupleTableSlot *plan_slot)
{
	const px_write_plan *plan = &target->plan;
	EState	   *estate = target->writer->estate;

	if (plan->operation == CMD_UPDATE)
		return plan->fdw->ExecForeignUpdate(estate, plan->relinfo, slot,
											plan_slot);

	/* It returns the slot, whichever that is: nothing is stored there. */
	if (plan->operation == CMD_DELETE)
		return plan->fdw->ExecForeignDelete(estate, plan->relinfo, plan_slot,
											plan_slot);
	if (plan->batch_size <= 1)
		return plan->fdw->ExecForeignInsert(estate, plan->relinfo, slot,
											plan_slot);
	if (target->kept.nrows >= plan->batch_size)
	{
		target->kept.next_position = px_write_position(target);
		px_write_replay(target);
	}
	px_write_keep(target, slot, plan_slot);
	px_write_target_count_memory(target);
	return slot;
}

TupleTableSlot *
px_write_target_row(px_write_target *target, TupleTableSlot *slot,
					TupleTableSlot *plan_slot)
{
	if (target->phase == PX_WRITE_KEEPING && target->plan.passes_first)
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
			if (is_crowded(target))
				return keep_crowded(target, slot, plan_slot);
			if (target->plan.whole_statements)
				return keep_statement(target, slot, plan_slot);
			break;
	}
	slot = append_row(target, slot, plan_slot, px_write_position(target));
	if (slot)
	{
		if (target->piece->lines)
			px_copy_lines_add(target->piece->lines);
		end_after_row(target);
	}
	return slot;
}

void
px_write_target_flush(px_write_target *target, bool last)
{
	Assert(!px_write_has_kept(target));
	if (target->kept.nrows > 0 && target->phase == PX_WRITE_FRAMES)
		append_kept(target, last);
	if (target->fill && target->fill->rows > 0)
		make_frame(target);
	if (target->piece && target->piece->rows > 0)
		send_piece(target, last);
	else if (target->piece)
	{
		px_write_piece_free(target->piece);
		target->piece = NULL;
	}
	free_buffers(target);
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
