/*-------------------------------------------------------------------------
 *
 * choose.h
 *		Which encoding is likely to make a column smallest.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_CHOOSE_H
#define PX_COLUMN_CHOOSE_H

#include "column/encoding.h"

/*
 * Choose, among a set of encodings, how to encode a column of this batch, and
 * of the batches to come.  Looks at all values, several times.
 */
extern void px_choose(const px_encode_input *input, uint32_t encodings,
					  px_encode_plan *plan);

#endif							/* PX_COLUMN_CHOOSE_H */
