/*-------------------------------------------------------------------------
 *
 * size.h
 *		How large a column would be as a plain, uncompressed chunk.
 *
 * That is what a column counts for in the raw size of its batch, and what an
 * encoding has to beat.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_SIZE_H
#define PX_COLUMN_SIZE_H

#include "column/column.h"

/* Size of the values as they stand in a plain chunk. */
extern size_t px_column_values_nbytes(const px_column *column);

/*
 * Size of the column as a plain, uncompressed chunk: header, bitmap and
 * values, each aligned.  px_batch_write never writes more for a column, and
 * the sum over the columns is the batch's raw size.
 */
extern size_t px_column_plain_nbytes(const px_column *column);

#endif							/* PX_COLUMN_SIZE_H */
