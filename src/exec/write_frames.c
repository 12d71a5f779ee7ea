/*-------------------------------------------------------------------------
 *
 * write_frames.c
 *		Rows of a target become columns, these frames, and these pieces.
 *
 * A frame ends at batch_rows or batch_bytes, as when rows are read; a piece
 * when it is worth its round trip.
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
#include "exec/write_frames.h"
#include "exec/write_lane.h"
#include "transport/transmission.h"
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

bool
px_write_frames_is_crowded(const px_write_target *target)
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

	target->request.batch_rows = Max((uint32) px_batch_rows_max, rows);
	writer->tools = px_frame_tools_for(writer->tools, &target->request);
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

void
px_write_frames_note_row(const px_write_target *target, uint64 position)
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

	px_write_frames_note_row(target, position);
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

/* End the frame, and the piece, if they are full. */
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

void
px_write_frames_end_row(px_write_target *target)
{
	bool		at_end = target->batch_left == 0;

	if (at_end)
		target->batch_left = (uint32) Max(target->plan.batch_size, 1);
	end_if_full(target, at_end && !px_write_is_copy_batch(target));
}

/* COPY: end them before a row if they are full, and if the statements before it are complete. */
static void
end_before_row(px_write_target *target, uint64 position)
{
	const px_write_piece *piece = target->piece;

	if (px_write_is_copy_batch(target) && piece && piece->rows > 0 &&
		piece->positions[piece->rows - 1] != position)
		end_if_full(target, true);
}

TupleTableSlot *
px_write_frames_append(px_write_target *target, TupleTableSlot *slot,
					   TupleTableSlot *plan_slot, uint64 position)
{
	ItemPointerData ctid;
	px_write_piece *piece;

	/* An error of other rows may have kept it from being sent. */
	if (target->piece && target->piece->ended)
		send_piece(target, false);
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

void
px_write_frames_send(px_write_target *target, bool last)
{
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

void
px_write_frames_begin(px_write_target *target)
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
