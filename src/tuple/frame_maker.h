/*-------------------------------------------------------------------------
 *
 * frame_maker.h
 *		Frames of one sender: slice, schema, batches, end.
 *
 * A maker numbers the frames of a stream, counts what its end frame will say,
 * and has the buffers and the codec that batches need.  It knows neither the
 * node that fills batches nor how frames travel, so both ends can have one.
 *
 * Each function that makes a frame returns it as a bytea, which is valid until
 * the next frame is made.  The frame itself is 8-aligned.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FRAME_MAKER_H
#define PX_TUPLE_FRAME_MAKER_H

#include "portability/instr_time.h"

#include "column/column.h"
#include "tuple/fill.h"
#include "wire/frame.h"
#include "wire/request.h"

typedef struct px_frame_maker
{
	/* Fixed when it is made. */
	const px_request *request;
	const px_fill *fill;		/* its columns become batches */
	uint32		sender;
	MemoryContext context;		/* for buffers that grow */

	/*
	 * How the next batch is to be encoded: the caller may set encodings, codec
	 * and level from batch to batch.
	 */
	px_encode_options options;
	px_column_state *columns;	/* [fill->ncolumns], from batch to batch; NULL
								 * before px_frame_maker_begin */

	/* NULL before px_frame_maker_begin, and always without a codec. */
	px_codec_context *codec;
	MemoryContextCallback close_codec;

	/* The stream; see px_frame_maker_restart. */
	uint32		sequence;		/* of the next frame */
	px_end		totals;			/* the caller adds times and the link's rate */
	instr_time	encode_time;

	/* The frame last made, and room for the next one. */
	char	   *buffer;			/* NULL until the first frame */
	size_t		frame_cap;		/* bytes of room for a frame in buffer */
} px_frame_maker;

/*
 * A maker in the current memory context, for the sender of that number.
 * request and fill must live as long.  It takes no memory for batches yet.
 */
extern px_frame_maker *px_frame_maker_new(const px_request *request,
										  const px_fill *fill, uint32 sender);

/*
 * Allocate what batches need; once, before the first.  Errors:
 * ERRCODE_OUT_OF_MEMORY if there is no memory for a codec.
 */
extern void px_frame_maker_begin(px_frame_maker *maker);

/* A new stream: frames and totals count from zero. */
extern void px_frame_maker_restart(px_frame_maker *maker);

extern bytea *px_frame_maker_slice(px_frame_maker *maker,
								   const px_slice *slice);
extern bytea *px_frame_maker_schema(px_frame_maker *maker);
extern bytea *px_frame_maker_end(px_frame_maker *maker);

/*
 * What the rows of the fill measure as plain chunks.  Errors:
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED if that is too much for a frame.
 */
extern size_t px_frame_maker_raw_nbytes(const px_frame_maker *maker);

/*
 * Encode the rows of the fill, of raw_nbytes, as the options say.  choice is
 * what the frame's header calls that.
 */
extern bytea *px_frame_maker_batch(px_frame_maker *maker, size_t raw_nbytes,
								   px_choice choice);

/* Bytes of a frame without the bytea's own header. */
#define PX_FRAME_OF_BYTEA_NBYTES(frame)	((size_t) VARSIZE(frame) - VARHDRSZ)

#endif							/* PX_TUPLE_FRAME_MAKER_H */
