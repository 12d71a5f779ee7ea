/*-------------------------------------------------------------------------
 *
 * encode.h
 *		Writing the payload of one chunk: encoding, then codec.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_ENCODE_H
#define PX_COLUMN_ENCODE_H

#include "column/column.h"

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
