/*-------------------------------------------------------------------------
 *
 * batches.h
 *		Batches for unit tests: columns to fill, the body that is written of
 *		them, and the chunks that are read from it.
 *
 * What is read lies in memory that ends at a guard page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TEST_BATCHES_H
#define PX_TEST_BATCHES_H

#include "column/batch.h"
#include "column/decode.h"
#include "unit.h"

/* The context of all tests of a program; px_codec_close is for nobody. */
extern px_codec_context *unit_codec_context(void);

/*
 * Give a column the arrays that it needs, of whatever form: for so many rows,
 * and values_cap bytes of values.  What else it has stays as it is.
 */
extern void unit_column_alloc(px_column *column, uint32_t rows,
							  size_t values_cap);
extern void unit_column_free(px_column *column);

/* Is a row null? */
extern bool unit_column_null(const px_column *column, uint32_t row);

/* What columns take as plain chunks. */
extern size_t unit_plain_nbytes(const px_column *columns, uint16_t ncolumns);

/* px_batch_write, or unit_batch_write, which verifies the result. */
typedef px_status (*unit_batch_writer)(px_writer *, const px_column *,
									   uint16_t, const px_encode_options *,
									   px_column_state *);

/*
 * Write columns as a body of *nbytes, by `write`.  It has the room that plain
 * chunks would take.
 */
extern px_status unit_body_write(unit_batch_writer write, uint8_t *body,
								 size_t *nbytes, const px_column *columns,
								 uint16_t ncolumns, uint32_t encodings,
								 uint8_t codec, px_column_state *states);

/* The header that a body of these columns has. */
extern px_frame_header unit_body_header(const px_column *columns,
										uint16_t ncolumns, size_t body_nbytes);

/* A chunk whose codec is undone, and the memory to decode it with. */
typedef struct unit_chunk
{
	const px_chunk *chunk;
	const uint8_t *encoded;
	px_decode_room room;
	unit_guarded unpacked;
	unit_guarded scratch;
	unit_guarded buffer;
} unit_chunk;

/* Close it even if opening fails. */
extern px_status unit_chunk_open(unit_chunk *opened, const px_chunk *chunk,
								 px_fault *fault);

/*
 * px_chunk_decode_pointers, with a buffer.  A forged chunk may want more
 * memory than anyone has: that is PX_OVER_LIMIT.
 */
extern px_status unit_chunk_pointers(unit_chunk *opened,
									 const uint8_t **values, px_fault *fault);
extern void unit_chunk_close(unit_chunk *opened);

/* Does a packed value have these bytes, and blanks up to pad bytes? */
extern bool unit_same_packed(const uint8_t *packed, const uint8_t *bytes,
							 size_t nbytes, size_t pad);

#endif							/* PX_TEST_BATCHES_H */
