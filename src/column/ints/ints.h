/*-------------------------------------------------------------------------
 *
 * ints.h
 *		Streams of integers: writing and reading.
 *
 * A stream is n integers of one width.  It is the payload of a chunk, or a
 * "child" inside another encoding: the codes of a dictionary, the lengths of
 * strings, the differences of a delta.  So each transform (delta, rle, scaled)
 * is written once, and frame of reference packs whatever comes out of it.
 *
 * A child has a header of 8 bytes: encoding (1), width (1), zero (2), size in
 * bytes (4); then its bytes, padded with zeros to a multiple of 8.
 *
 * A transform's own child has width 8 and is signed, whatever the width of
 * the stream: differences wrap around modulo 2^64 and back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_INTS_INTS_H
#define PX_COLUMN_INTS_INTS_H

#include "column/encoding.h"
#include "column/ints/plan.h"

/* Transforms inside of transforms: deeper streams are refused. */
#define PX_INTS_DEPTH_MAX		4

/* --- writing ----------------------------------------------------------- */

/*
 * Write the stream by the plan.  If the plan does not suit the values (a
 * difference that is no multiple of the factor, hardly any runs), they are
 * written without transforms and *stale is set to true.  scratch has room for
 * 2 * n values of 8 bytes; NULL if the plan has no transforms.  PX_NO_SPACE.
 */
extern px_status px_ints_write(px_writer *out, const px_ints *ints,
							   const px_ints_plan *plan, uint8_t *scratch,
							   uint8_t *encoding, bool *stale);

/* The same as a child: with its header, padded. */
extern px_status px_child_write(px_writer *out, const px_ints *ints,
								const px_ints_plan *plan, uint8_t *scratch,
								bool *stale);

/* As a child without a transform; plain if pack is false. */
extern px_status px_flat_child_write(px_writer *out, const px_ints *ints,
									 bool pack);

/*
 * What a transform leaves, n integers of 64 bits, as a child by the plan's
 * transforms from step on.  The values are spoilt; scratch[n].  PX_UNSUITABLE,
 * PX_NO_SPACE.
 */
extern px_status px_step_child_write(px_writer *out, uint64_t *values,
									 uint32_t n, const px_ints_plan *plan,
									 int step, uint64_t *scratch);

/* --- reading ----------------------------------------------------------- */

/*
 * Decode a stream to values[stream->n], extended to 64 bits; it must take up
 * its bytes exactly.  scratch[n] is for the lengths of runs; NULL where runs
 * are refused.  PX_TRUNCATED, PX_TRAILING, PX_BAD_VALUE, PX_BAD_ENCODING,
 * PX_OVER_LIMIT.
 */
extern px_status px_ints_read(const px_int_stream *stream, int64_t *scratch,
							  int64_t *values, px_fault *fault);

/*
 * Find the child of n values at the reader's position, which is a multiple of
 * 8, and move the reader to what comes after it.  PX_TRUNCATED, PX_BAD_VALUE,
 * PX_BAD_HEADER.
 */
extern px_status px_child_find(px_reader *r, uint32_t n, uint8_t width,
							   bool is_signed, px_int_stream *child,
							   px_fault *fault);

/* Find it and decode it.  Errors of both. */
extern px_status px_child_read(px_reader *r, uint32_t n, uint8_t width,
							   bool is_signed, int64_t *scratch,
							   int64_t *values, px_fault *fault);

/* --- for the encodings of streams -------------------------------------- */

/* Are there exactly as many bytes as expected?  PX_TRUNCATED, PX_TRAILING. */
extern px_status px_ints_check_nbytes(const char *what, size_t expected,
									  size_t nbytes, px_fault *fault);

/*
 * Begin to read a transform: sets the reader to the stream's bytes.
 * PX_OVER_LIMIT if it stands in too many others.
 */
extern px_status px_transform_begin(const px_int_stream *stream, px_reader *r,
									px_fault *fault);

/* Read a transform's own child of n values; scratch as above. */
extern px_status px_transform_child_read(const px_int_stream *stream,
										 px_reader *r, uint32_t n,
										 int64_t *scratch,
										 int64_t *values, px_fault *fault);

/*
 * Finish it: all bytes must be used up, and all values fit the stream's width,
 * as transforms compute with 64 bits.  PX_TRUNCATED, PX_TRAILING,
 * PX_BAD_VALUE.
 */
extern px_status px_transform_end(const px_int_stream *stream,
								  const px_reader *r, const int64_t *values,
								  px_fault *fault);

#endif							/* PX_COLUMN_INTS_INTS_H */
