/*-------------------------------------------------------------------------
 *
 * fill_values.h
 *		Appending values: what the files of the fill have in common.
 *
 * fill.c has the hot path; fill_columns.c decides how columns travel and keeps
 * their buffers; fill_numeric.c is for numerics that take more than a look.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FILL_VALUES_H
#define PX_TUPLE_FILL_VALUES_H

#include "access/detoast.h"
#include "catalog/pg_type_d.h"
#include "utils/array.h"

#include "tuple/fill_state.h"

/* First size of a buffer for values of any length; grows by doubling. */
#define PX_FILL_BYTES_INITIAL	8192

/* A numeric column of form fixed that has no scaled integer yet. */
#define PX_FILL_SCALE_UNKNOWN	UINT8_MAX

/* Upper limit of px_fill_source.skip. */
#define PX_FILL_SKIP_MAX		64

/*
 * --- fill_columns.c --------------------------------------------------------
 */

/* Make room for n more bytes of values. */
extern void px_fill_grow(px_fill *fill, px_column *column, size_t n);

/*
 * Append a value as TOAST has compressed it.  False, and nothing is done, if
 * it is not compressed, or hardly.
 */
extern bool px_fill_toasted(px_fill *fill, px_column *column,
							struct varlena *datum);

/*
 * Give the NaNs among n floats of width 4 or 8 the bits that the type's input
 * function gives them.
 */
extern void px_fill_canonical_nans(char *values, uint32 n, uint8 width);

/*
 * A copy of an array, in the current context, of which that is done to the
 * elements.
 */
extern ArrayType *px_fill_canonical_array(ArrayType *array, uint8 width);

/*
 * --- fill_numeric.c --------------------------------------------------------
 */

/* Choose the form of a numeric column for a new batch. */
extern void px_fill_numeric_reset(px_fill_source *source, px_column *column);

/*
 * Append a numeric: as a scaled integer, as one of few exceptions to them, or
 * in a batch with many of those as numeric_send's bytes.
 */
extern void px_fill_numeric(px_fill *fill, px_fill_source *source,
							px_column *column, Datum value);

/* Settle the form of a numeric column when its batch is complete. */
extern void px_fill_numeric_finish(px_fill *fill, px_fill_source *source,
								   px_column *column);

/*
 * --- inline ----------------------------------------------------------------
 */

static inline bool
px_fill_is_float(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

/* An attempt failed: leave out the next ones, each time twice as many. */
static inline void
px_fill_back_off(px_fill_source *source)
{
	source->skip = source->skip_next;
	source->skip_next = Min(source->skip_next * 2, PX_FILL_SKIP_MAX);
}

static inline void
px_fill_append_bytes(px_fill *fill, px_column *column, const void *bytes,
					 size_t n)
{
	if (unlikely(column->values_cap - column->values_nbytes <
				 n + PX_APPEND_SLACK))
		px_fill_grow(fill, column, n);
	fill->raw_nbytes += n + 1;
	px_column_append_bytes(column, bytes, n);
}

/* The varlena itself, or a detoasted copy that lives as long as the row. */
static inline struct varlena *
px_fill_plain_varlena(px_fill *fill, Datum value)
{
	struct varlena *datum = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_COMPRESSED(datum) || VARATT_IS_EXTERNAL(datum)))
	{
		MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);

		datum = detoast_attr(datum);
		MemoryContextSwitchTo(old_context);
		fill->row_context_used = true;
	}
	return datum;
}

#endif							/* PX_TUPLE_FILL_VALUES_H */
