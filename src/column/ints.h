/*-------------------------------------------------------------------------
 *
 * ints.h
 *		Streams of integers: which encodings to combine, writing, reading.
 *
 * A stream is n integers of one width.  It is the payload of a chunk, or a
 * "child" inside another encoding: the codes of a dictionary, the lengths of
 * strings, the differences of a delta.  So each transform below is written
 * once, and frame of reference packs whatever comes out of it.
 *
 * A child has a header of 8 bytes: encoding (1), width (1), zero (2), size in
 * bytes (4); then its bytes, padded with zeros to a multiple of 8.
 *
 * A transform's own child has width 8 and is signed, whatever the width of
 * the stream: differences wrap around modulo 2^64 and back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_INTS_H
#define PX_COLUMN_INTS_H

#include "column/column.h"

#define PX_CHILD_HEADER_NBYTES	8

/* Transforms inside of transforms: deeper streams are refused. */
#define PX_INTS_DEPTH_MAX		4

/* Streams of fewer values are not worth a transform. */
#define PX_INTS_TRANSFORM_MIN	16

typedef enum px_ints_shape
{
	PX_INTS_FLAT = 0,			/* plain, constant or frame of reference */
	PX_INTS_DELTA,				/* differences of neighbours */
	PX_INTS_RLE,				/* lengths and values of runs */
	PX_INTS_RLE_DELTA			/* the same, with differences of the values */
} px_ints_shape;

/* A stream to write; width 1, 2, 4 or 8, values little-endian and dense. */
typedef struct px_ints
{
	const uint8_t *values;
	uint32_t	n;
	uint8_t		width;
	bool		is_signed;
} px_ints;

/*
 * Choose a plan from all of the values: the one whose result is smallest,
 * unless the flat one is hardly larger.  *nbytes is an estimate of the
 * encoded size.
 */
extern void px_ints_choose(const px_ints *ints, px_ints_plan *plan,
						   size_t *nbytes);

/*
 * Write the stream by the plan.  If the plan does not suit the values (a
 * difference that is no multiple of the factor, hardly any runs), they are
 * written flat and plan->shape is left alone, but *stale set to true.
 * scratch has room for 2 * n values of 8 bytes.  PX_NO_SPACE.
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
 * Decode a stream of exactly n values from exactly nbytes bytes to out[n],
 * extended to 64 bits.  scratch[n] is for the lengths of runs, which are
 * refused inside of runs.  PX_TRUNCATED, PX_TRAILING, PX_BAD_VALUE,
 * PX_BAD_ENCODING.
 */
extern px_status px_ints_read(uint8_t encoding, const uint8_t *encoded,
							  size_t nbytes, uint32_t n, uint8_t width,
							  bool is_signed, int64_t *out, int64_t *scratch,
							  px_fault *fault);

/*
 * Read a child of n values of the given width at the reader's position, which
 * is a multiple of 8, and its padding.  Errors as above.
 */
extern px_status px_child_read(px_reader *r, uint32_t n, uint8_t width,
							   bool is_signed, int64_t *out, int64_t *scratch,
							   px_fault *fault);

/*
 * Read only the header of a child, and move the reader behind the child.
 */
typedef struct px_child
{
	uint8_t		encoding;
	const uint8_t *encoded;
	size_t		nbytes;
} px_child;

extern px_status px_child_find(px_reader *r, uint8_t width, px_child *child,
							   px_fault *fault);

/* All padding of a payload is zeros: skip to the next multiple of 8. */
extern px_status px_padding_read(px_reader *r, px_fault *fault);

#endif							/* PX_COLUMN_INTS_H */
