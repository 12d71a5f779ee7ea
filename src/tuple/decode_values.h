/*-------------------------------------------------------------------------
 *
 * decode_values.h
 *		Making Datums of what is in a chunk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_DECODE_VALUES_H
#define PX_TUPLE_DECODE_VALUES_H

#include "tuple/decode_state.h"

/*
 * Decode a chunk into column->values; column->nulls has been set.  encoded is
 * what px_chunk_unpack made of it.  Raises an error for whatever is not a
 * value of the column's type, but for what is left to column->late, which it
 * sets.
 */
extern void px_decode_values(px_decoder *decoder, decode_column *column,
							 const px_chunk *chunk, const uint8_t *encoded);

/*
 * Do the late steps for the rows begin .. end - 1, one by one and column by
 * column.  Serves interrupts.
 */
extern void px_decode_window(px_decoder *decoder, uint32 begin, uint32 end);

/*
 * Add nbytes to one of the decoder's sums, before memory is taken for them.
 * An honest batch keeps each of them within its raw size.
 */
extern void px_decode_account(const px_decoder *decoder, uint64 *sum,
							  uint64 nbytes);

/* The next nbytes of the arena, which prepare_batch has made large enough. */
static inline char *
px_decode_take(px_decoder *decoder, Size nbytes)
{
	char	   *p = decoder->arena + decoder->arena_used;

	decoder->arena_used += MAXALIGN(nbytes);
	Assert(decoder->arena_used <= decoder->arena_nbytes);
	return p;
}

#endif							/* PX_TUPLE_DECODE_VALUES_H */
