/*-------------------------------------------------------------------------
 *
 * check.h
 *		Checks of raw values before the executor sees them.
 *
 * Each function checks a whole column as the type's receive function checks
 * one value, and raises the same error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_CHECK_H
#define PX_TUPLE_CHECK_H

#include "column/chunk.h"
#include "tuple/policy.h"

/*
 * Check decoded values[rows].  A null row must hold 0, which every check
 * accepts, or be set in nulls[rows], which only types by reference need.
 * PX_CHECK_ENCODING does nothing here: call px_check_encoding.  Errors: those
 * of the type's receive function.
 */
extern void px_check_values(px_value_check check, const Datum *values,
							const bool *nulls, uint32 rows);

/*
 * Check that the packed values of a chunk are valid in the database encoding
 * and have no NUL.  values[rows] are pointers to them, NULL where null.
 * encoded are the chunk's bytes after the codec was undone.  Returns true if
 * all values are known to be ASCII.  Errors:
 * ERRCODE_CHARACTER_NOT_IN_REPERTOIRE.  Checks for interrupts.
 */
extern bool px_check_encoding(const px_chunk *chunk, const uint8_t *encoded,
							  const Datum *values);

/*
 * Do all values fit a column of this built-in type and typmod?  If not, or if
 * this cannot be told here, each of them must go through the type's coercion
 * function.  typmod is not -1.  type is any type that travels raw but numeric.
 * ascii is the result of px_check_encoding.
 */
extern bool px_values_fit(Oid type, int32 typmod, const Datum *values,
						  const bool *nulls, uint32 rows, bool ascii);

/*
 * The same for numerics in the range min .. max, which are scaled by 10^scale.
 * typmod may be -1.
 */
extern bool px_scaled_fit(int32 typmod, int64 min, int64 max, int scale);

#endif							/* PX_TUPLE_CHECK_H */
