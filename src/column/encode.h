/*-------------------------------------------------------------------------
 *
 * encode.h
 *		Writing the payload of one chunk: encoding, then codec.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_ENCODE_H
#define PX_COLUMN_ENCODE_H

#include "codec/codec.h"
#include "column/chunk.h"
#include "column/encoding.h"

/* How much compression the mode in force allows. */
typedef struct px_encode_options
{
	uint32_t	encodings;		/* set of those that the reader knows */
	bool		codec_on_ints;	/* try the codec on packed integers, too */
	uint8_t		codec;			/* px_codec_id to try, or PX_CODEC_NONE */
	int			level;			/* the codec's level, 0 its default */
	px_codec_context *context;	/* NULL only if codec is PX_CODEC_NONE */
	uint8_t    *scratch;		/* px_encode_scratch_nbytes(), 8-aligned; NULL
								 * only if nothing but plain is used */
} px_encode_options;

/* Working memory to encode batches of up to rows_max rows. */
extern size_t px_encode_scratch_nbytes(uint32_t rows_max);

/*
 * What is known of a column of a stream: the choice made for it, which holds
 * for the batches to come, until the next sample or until it proves wrong.
 * All zeros in the beginning.
 */
typedef struct px_column_state
{
	/* What became of the last chunk, for counters. */
	uint8_t		encoding;		/* px_encoding_id */
	uint8_t		codec;			/* px_codec_id */
	bool		sampled;		/* the encoding was looked for */

	uint8_t		form;			/* px_form that the plan is for: numeric may
								 * change it */
	px_encode_plan		plan;
	uint32_t	sample_in;		/* batches until the next sample */
	uint32_t	sample_interval;	/* then; doubles each time */
	uint32_t	codec_skip[PX_CODEC_COUNT]; /* batches for which the codec is
											 * not tried */
	uint32_t	codec_skip_next[PX_CODEC_COUNT];	/* after the next failure;
													 * doubles, too */
} px_column_state;

/*
 * Write the values of columns[index], which has some, to out, and say how in
 * *chunk: encoding, codec and sizes.  Never writes more than the plain values
 * take.  Before the codec they take at most *spare_nbytes more than that,
 * which is changed to what is left of it for the columns to come.  Errors are
 * those of px_batch_write.
 */
extern px_status px_values_write(px_writer *out, const px_column *columns,
								 uint16_t index,
								 const px_encode_options *options,
								 px_column_state *state, size_t *spare_nbytes,
								 px_chunk *chunk);

#endif							/* PX_COLUMN_ENCODE_H */
