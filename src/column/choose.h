/*-------------------------------------------------------------------------
 *
 * choose.h
 *		Which encoding is likely to make a column smallest.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_CHOOSE_H
#define PX_COLUMN_CHOOSE_H

#include "column/column.h"
#include "column/strings.h"

/* px_encode_options.scratch, taken apart. */
typedef struct px_encode_scratch
{
	px_dictionary *dictionary;
	uint8_t    *values;			/* 8 bytes for each row: codes, numbers */
	uint8_t    *rest;			/* 24 bytes for each row */
} px_encode_scratch;

extern px_encode_scratch px_encode_scratch_take(uint8_t *scratch,
												uint32_t rows);

/*
 * Choose how to encode columns[index] of a batch, which has values, and those
 * of the batches to come: sets planned and what goes with it in *state.
 * Looks at all values, several times.
 */
extern void px_choose(const px_column *columns, uint16_t index,
					  uint32_t encodings, const px_encode_scratch *scratch,
					  px_column_state *state);

#endif							/* PX_COLUMN_CHOOSE_H */
