/*-------------------------------------------------------------------------
 *
 * fill_values.h
 *		Appending values: functions that the files of the fill share.
 *
 * fill.c has the hot path.  fill_columns.c decides how columns travel, and
 * manages their buffers.  fill_numeric.c appends numerics that the hot path
 * cannot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FILL_VALUES_H
#define PX_TUPLE_FILL_VALUES_H

#include "access/detoast.h"
#include "catalog/pg_type_d.h"
#include "utils/array.h"

#include "tuple/fill_state.h"

/* First size of a buffer for values of any length; it grows by doubling. */
#define PX_FILL_BYTES_INITIAL	8192

/* The scale of a numeric column that has no scaled integer yet. */
#define PX_FILL_SCALE_UNKNOWN	UINT8_MAX

/* Limit of px_fill_source.skip_next. */
#define PX_FILL_SKIP_MAX		64

/*
 * --- fill_columns.c --------------------------------------------------------
 */

/*
 * Make room for n more bytes of values, and PX_APPEND_SLACK.  Errors:
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED if the column exceeds the size of a frame.
 */
extern void px_fill_grow(px_fill *fill, px_column *column, size_t n);

/*
 * Append a value as TOAST has compressed it.  Returns false, and does nothing,
 * if the value is not compressed or compression saves hardly anything.
 */
extern bool px_fill_toasted(px_fill *fill, px_column *column,
							struct varlena *datum);

/* Copy an array of floats in the current context, with the NaNs that
 * input functions produce. */
extern ArrayType *px_fill_canonical_array(ArrayType *array, uint8 width);

/*
 * --- fill_numeric.c --------------------------------------------------------
 */

/* Choose the form of a numeric column for a new batch. */
extern void px_fill_numeric_reset(px_fill_source *source, px_column *column);

/*
 * Append a numeric: as a scaled integer, or as an exception among scaled
 * integers, or, in a batch with many exceptions, as the bytes of numeric_send.
 */
extern void px_fill_numeric(px_fill *fill, px_fill_source *source,
							px_column *column, Datum value);

/* Choose the final form of a numeric column when its batch is complete. */
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

/* An attempt failed: skip the next ones.  See px_fill_source. */
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

/* The varlena itself, or a detoasted copy in row_context. */
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
