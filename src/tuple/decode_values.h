/*-------------------------------------------------------------------------
 *
 * decode_values.h
 *		From a chunk of a batch to the Datums of one column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_DECODE_VALUES_H
#define PX_TUPLE_DECODE_VALUES_H

#include "tuple/decode_state.h"

/*
 * Decode a chunk into column->values, and set column->late.  column->nulls has
 * been set.  encoded is the result of px_chunk_unpack.  Raises an error if a
 * value is not one of the column's type, unless the late step is going to
 * check that.  Checks for interrupts.
 */
extern void px_decode_values(px_decoder *decoder, decode_column *column,
							 const px_chunk *chunk, const uint8_t *encoded);

/*
 * Do the late steps, and the checks of domains, for the rows begin .. end - 1:
 * row by row, and column by column within a row, as postgres_fdw does.
 * Errors: what input functions and domains raise.  Checks for interrupts.
 */
extern void px_decode_window(px_decoder *decoder, uint32 begin, uint32 end);

/* Take nbytes from the arena, which prepare_batch has made large enough. */
static inline char *
px_decode_take(px_decoder *decoder, Size nbytes)
{
	char	   *p = decoder->arena + decoder->arena_used;

	decoder->arena_used += MAXALIGN(nbytes);
	Assert(decoder->arena_used <= decoder->arena_nbytes);
	return p;
}

#endif							/* PX_TUPLE_DECODE_VALUES_H */
