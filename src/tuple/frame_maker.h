/*-------------------------------------------------------------------------
 *
 * frame_maker.h
 *		Frames of one sender: slice, schema, batches, end.
 *
 * A frame maker numbers the frames of a stream, counts the totals for the end
 * frame, and owns the buffers and the codec that batches need.  It depends
 * neither on the node that fills batches nor on how frames travel, so both
 * ends can use it.
 *
 * Each function that makes a frame returns it as a bytea, which is valid until
 * the next frame is made.  The frame inside the bytea is 8-aligned.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FRAME_MAKER_H
#define PX_TUPLE_FRAME_MAKER_H

#include "portability/instr_time.h"

#include "column/encode.h"
#include "tuple/fill.h"
#include "wire/frame.h"
#include "wire/request.h"

/* Working memory, which several frame makers may share. */
typedef struct px_frame_tools
{
	uint32		rows_max;		/* of a batch */
	px_codec_context *codec;	/* NULL if none is needed */
	uint8	   *scratch;		/* NULL if nothing is encoded */
	MemoryContextCallback close_codec;
} px_frame_tools;

typedef struct px_frame_maker
{
	/* Fixed when it is made. */
	const px_request *request;
	const px_fill *fill;		/* its columns become batches */
	uint32		sender;
	MemoryContext context;		/* for buffers that grow */

	/*
	 * How the next batch is encoded.  The caller may change encodings, codec,
	 * codec_on_ints and level before each batch.
	 */
	px_encode_options options;
	px_column_state *columns;	/* [fill->ncolumns], kept from batch to batch;
								 * NULL before px_frame_maker_begin */

	px_frame_tools *tools;		/* NULL before px_frame_maker_begin */

	/* The stream; see px_frame_maker_restart. */
	uint32		sequence;		/* of the next frame */
	px_end		totals;			/* the caller sets send_wait_us, link_rate */
	instr_time	encode_time;

	/* The last frame, and room for the next one. */
	char	   *buffer;			/* NULL until the first frame */
	size_t		frame_cap;		/* bytes of room for a frame in buffer */
} px_frame_maker;

/*
 * Make a frame maker for a sender (see px_frame_header), in the current memory
 * context.  request and fill must live as long as it does.  It has no memory
 * for batches before px_frame_maker_begin.
 */
extern px_frame_maker *px_frame_maker_new(const px_request *request,
										  const px_fill *fill, uint32 sender);

/*
 * Tools for batches as in the request, and for all that tools did for, unless
 * that is NULL: tools, if they do; or new ones in the current memory context,
 * and tools are left as they are.  Errors: ERRCODE_OUT_OF_MEMORY if there is no
 * memory for a codec.
 */
extern px_frame_tools *px_frame_tools_for(px_frame_tools *tools,
										  const px_request *request);

/*
 * Allocate the memory that batches need; once, before the first batch.  tools
 * must do for the request, and live as long as the maker.
 */
extern void px_frame_maker_begin(px_frame_maker *maker,
								 px_frame_tools *tools);

/* Begin a new stream: sequence numbers and totals start at zero. */
extern void px_frame_maker_restart(px_frame_maker *maker);

extern bytea *px_frame_maker_slice(px_frame_maker *maker,
								   const px_slice *slice);
extern bytea *px_frame_maker_schema(px_frame_maker *maker);
extern bytea *px_frame_maker_end(px_frame_maker *maker);

/*
 * The size of the fill's rows as plain chunks.  Errors:
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED if that exceeds the limit of a frame.
 */
extern size_t px_frame_maker_raw_nbytes(const px_frame_maker *maker);

/*
 * Encode the rows of the fill by the options.  raw_nbytes is the result of
 * px_frame_maker_raw_nbytes.  choice is the name of the options for the
 * frame's header.
 */
extern bytea *px_frame_maker_batch(px_frame_maker *maker, size_t raw_nbytes,
								   px_choice choice);

/* Free the memory of the last frame, unless it is little enough to be kept. */
extern void px_frame_maker_trim(px_frame_maker *maker);

/* The size of a frame, without the header of the bytea. */
#define PX_FRAME_OF_BYTEA_NBYTES(frame)	((size_t) VARSIZE(frame) - VARHDRSZ)

#endif							/* PX_TUPLE_FRAME_MAKER_H */
