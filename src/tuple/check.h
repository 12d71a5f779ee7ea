/*-------------------------------------------------------------------------
 *
 * check.h
 *		Checks of raw values before the executor sees them.
 *
 * Each does for a whole column what the type's receive function does for one
 * value, and raises the same error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_CHECK_H
#define PX_TUPLE_CHECK_H

#include "column/column.h"
#include "tuple/policy.h"

/*
 * Check decoded values[rows] (PX_CHECK_ENCODING is px_check_encoding's
 * business).  Null rows are skipped, or hold 0, which every check accepts.
 */
extern void px_check_values(px_value_check check, const Datum *values,
							const bool *nulls, uint32 rows);

/*
 * Check that packed values are valid in the database encoding, without NUL.
 * values[rows] are pointers to them, or NULL; encoded is what they stand in.
 * True if all of it is ASCII.  Serves interrupts.
 */
extern bool px_check_encoding(const px_chunk *chunk, const uint8_t *encoded,
							  const Datum *values);

/*
 * Are all values what a column of a built-in type with typmod (not -1) can
 * have?  values as above, of a type that travels raw, but numeric; ascii is
 * what px_check_encoding says of them.  False if they have to be looked at one
 * by one.
 */
extern bool px_values_fit(Oid type, int32 typmod, const Datum *values,
						  const bool *nulls, uint32 rows, bool ascii);

/* The same for numerics min .. max, scaled by 10^scale; typmod may be -1. */
extern bool px_scaled_fit(int32 typmod, int64 min, int64 max, int scale);

#endif							/* PX_TUPLE_CHECK_H */
