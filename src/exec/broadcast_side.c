/*-------------------------------------------------------------------------
 *
 * broadcast_side.c
 *		The rows of a side, as pieces for the servers of a broadcast.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "port/pg_bitutils.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "adapt/adapt.h"
#include "adapt/choice.h"
#include "compat.h"
#include "exec/broadcast_side.h"
#include "exec/clocks.h"
#include "exec/write_piece.h"
#include "miscadmin.h"
#include "transport/transmission.h"
#include "tuple/frame_maker.h"
#include "wire/piece.h"

#define NMODES	(PX_MODE_AUTO + 1)

/* The frames of a mode. */
typedef struct side_copy
{
	px_request	request;
	px_adapt	adapt;			/* in mode auto */
	px_frame_maker *maker;
	px_write_piece *piece;		/* NULL if the mode is not needed */
} side_copy;

struct px_broadcast_side
{
	MemoryContext context;		/* of all that belongs to it */
	px_fill    *fill;			/* which all copies share */
	int64		fill_begun;		/* by px_wall_ns */
	uint64		rows;			/* that were added */
	size_t		raw_nbytes;		/* of the batches that are frames */
	side_copy	copies[NMODES];
};

/* What would be the request of a receiver that reads the side. */
static px_request
make_request(const px_broadcast_peers *peers, px_mode mode, int ncolumns)
{
	px_request	request = {
		.version = peers->version,
		.server_version = PG_VERSION_NUM,
		.batch_rows = (uint32) Min(px_batch_rows_max,
								   PX_PIECE_VALUES_MAX / ncolumns),
		.batch_bytes = px_batch_bytes_max,
		.slices = 1,
		.ncolumns = (uint16) ncolumns
	};

	px_choices_ask(&request, px_mode_choices(mode), peers->codecs);
	request.encodings &= peers->encodings;
	if (request.adaptive)
	{
		request.cpu_limit = (uint32) rint(px_compression_cpu_limit * 1000);
		request.random = px_debug_random_choices;
		if (peers->upload_ns > 0)
			request.link_rate = (uint64) Min(
				1e9 / peers->upload_ns, (double) PX_REQUEST_LINK_RATE_MAX);
	}
	return request;
}

static void
begin_copy(px_broadcast_side *side, side_copy *copy)
{
	uint64		seed = 0;

	if (copy->request.adaptive)
	{
		if (copy->request.random)
			seed = 1 | ((uint64) GetCurrentTimestamp() ^
						((uint64) MyProcPid << 40));
		px_adapt_init(&copy->adapt, px_choices_asked(&copy->request),
					  copy->request.cpu_limit / 1000.0,
					  (double) copy->request.link_rate, false, seed);
	}
	copy->maker = px_frame_maker_new(&copy->request, side->fill, 0);
	px_frame_maker_begin(copy->maker, px_frame_tools_for(NULL, &copy->request));
	px_frame_maker_restart(copy->maker);
	copy->piece = px_write_piece_new(side->context);
	px_write_piece_add(copy->piece, px_frame_maker_schema(copy->maker));
}

/* The fill asks for each column as it is: so all of them travel raw. */
static px_fill *
make_fill(TupleDesc desc, const px_request *request)
{
	px_request_column *columns = palloc(desc->natts *
										sizeof(px_request_column));
	List	   *attnos = NIL;
	int			nestlevel = px_transmission_begin();
	px_fill    *fill;

	for (int i = 0; i < desc->natts; i++)
	{
		columns[i].type_oid = TupleDescAttr(desc, i)->atttypid;
		columns[i].typmod = -1;
		attnos = lappend_int(attnos, i + 1);
	}
	fill = px_fill_new(desc, attnos, request, columns, GetDatabaseEncoding());
	AtEOXact_GUC(true, nestlevel);
	px_fill_begin(fill);
	px_fill_reset(fill);
	return fill;
}

px_broadcast_side *
px_broadcast_side_new(TupleDesc desc, const px_broadcast_peers *peers,
					  uint32 modes)
{
	MemoryContext context = AllocSetContextCreate(
		CurrentMemoryContext, "ExchangeBroadcast side",
		ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	px_broadcast_side *side = palloc0(sizeof(px_broadcast_side));

	side->context = context;
	for (int mode = 0; mode < NMODES; mode++)
		side->copies[mode].request = make_request(peers, mode, desc->natts);
	side->fill = make_fill(desc, &side->copies[PX_MODE_NONE].request);
	for (int mode = 0; mode < NMODES; mode++)
	{
		if (modes & (UINT32_C(1) << mode))
			begin_copy(side, &side->copies[mode]);
	}
	side->fill_begun = px_wall_ns();
	MemoryContextSwitchTo(oldcontext);
	return side;
}

void
px_broadcast_side_free(px_broadcast_side *side)
{
	MemoryContextDelete(side->context);
}

/* How the batch in the columns is to be compressed. */
static px_choice
choose(side_copy *copy, size_t raw_nbytes)
{
	px_choice	choice;

	if (!copy->request.adaptive)
		return (px_choice) pg_rightmost_one_pos32(
			px_choices_asked(&copy->request));
	choice = px_adapt_choose(&copy->adapt, (double) raw_nbytes);
	return px_adapt_for_size(&copy->adapt, choice, (double) raw_nbytes);
}

/* What mode auto learns from a frame. */
static void
learn(const px_broadcast_side *side, side_copy *copy, px_choice choice,
	  size_t raw_nbytes, size_t wire_nbytes, px_clocks begin, px_clocks end)
{
	bool		sampled = false;

	if (!copy->request.adaptive)
		return;
	for (int i = 0; i < side->fill->ncolumns; i++)
		sampled = sampled || copy->maker->columns[i].sampled;
	px_adapt_learn_batch(&copy->adapt, choice, (double) raw_nbytes,
						 (double) wire_nbytes,
						 (double) (begin.wall_ns - side->fill_begun),
						 (double) (end.cpu_ns - begin.cpu_ns),
						 (double) (end.wall_ns - begin.wall_ns), !sampled);
}

static void
add_frame(const px_broadcast_side *side, side_copy *copy)
{
	px_clocks	begin = px_clocks_read();
	size_t		raw_nbytes = px_frame_maker_raw_nbytes(copy->maker);
	px_choice	choice = choose(copy, raw_nbytes);
	bytea	   *frame;

	px_choice_options(&copy->request, choice, &copy->maker->options);
	frame = px_frame_maker_batch(copy->maker, raw_nbytes, choice);
	px_write_piece_add(copy->piece, frame);
	learn(side, copy, choice, raw_nbytes, PX_FRAME_OF_BYTEA_NBYTES(frame),
		  begin, px_clocks_read());
}

/* Make a frame of the rows in the columns, for each mode. */
static void
end_batch(px_broadcast_side *side)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(side->context);

	side->raw_nbytes += px_fill_nbytes(side->fill);
	px_fill_finish(side->fill);
	for (int mode = 0; mode < NMODES; mode++)
	{
		if (side->copies[mode].piece)
			add_frame(side, &side->copies[mode]);
	}
	px_fill_reset(side->fill);
	side->fill_begun = px_wall_ns();
	MemoryContextSwitchTo(oldcontext);
}

void
px_broadcast_side_add(px_broadcast_side *side, TupleTableSlot *slot)
{
	const px_request *request = &side->copies[PX_MODE_NONE].request;

	px_fill_row(side->fill, slot);
	side->rows++;
	if (px_broadcast_side_raw_nbytes(side) > PX_BROADCAST_RAW_NBYTES_MAX)
		return;
	if (side->fill->rows >= request->batch_rows ||
		px_fill_nbytes(side->fill) >= request->batch_bytes)
		end_batch(side);
}

size_t
px_broadcast_side_nbytes(const px_broadcast_side *side)
{
	size_t		nbytes = 0;

	for (int mode = 0; mode < NMODES; mode++)
	{
		const px_write_piece *piece = side->copies[mode].piece;

		if (piece)
			nbytes = Max(nbytes, px_write_piece_wire_nbytes(piece));
	}
	return nbytes;
}

size_t
px_broadcast_side_mode_nbytes(const px_broadcast_side *side, px_mode mode)
{
	return px_write_piece_wire_nbytes(side->copies[mode].piece);
}

size_t
px_broadcast_side_raw_nbytes(const px_broadcast_side *side)
{
	return side->raw_nbytes + px_fill_nbytes(side->fill);
}

uint64
px_broadcast_side_rows(const px_broadcast_side *side)
{
	return side->rows;
}

void
px_broadcast_side_finish(px_broadcast_side *side)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(side->context);

	if (side->fill->rows > 0)
		end_batch(side);
	for (int mode = 0; mode < NMODES; mode++)
	{
		side_copy  *copy = &side->copies[mode];

		if (copy->piece == NULL)
			continue;
		px_write_piece_add(copy->piece, px_frame_maker_end(copy->maker));
		px_write_piece_armour(copy->piece);
	}
	MemoryContextSwitchTo(oldcontext);
}

text *
px_broadcast_side_piece(const px_broadcast_side *side, px_mode mode)
{
	return side->copies[mode].piece->armoured;
}
