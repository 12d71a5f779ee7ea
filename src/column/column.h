/*-------------------------------------------------------------------------
 *
 * column.h
 *		Columns of a batch under construction: filling them.
 *
 * A batch is a number of rows in columnar form.  Each column has a form:
 *
 *	fixed	every value has the same width (1, 2, 4, 6, 8, 12 or 16 bytes),
 *			little-endian for widths 1, 2, 4 and 8, else just bytes
 *	bytes	values of any length
 *	array	arrays of fixed-width elements; see array.h
 *
 * The values are "dense": nulls take no space.  Each column travels as one
 * chunk (chunk.h), which an encoding (encoding.h) and perhaps a codec has made
 * smaller.
 *
 * Like the rest of the pure layers, nothing in column/ allocates or raises
 * errors: callers own all buffers, and functions say how large they must be.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_COLUMN_H
#define PX_COLUMN_COLUMN_H

#include "port/pg_bitutils.h"

#include "base/bytes.h"
#include "wire/frame.h"

typedef enum px_form
{
	PX_FORM_FIXED = 0,
	PX_FORM_BYTES = 1,
	PX_FORM_ARRAY = 2
} px_form;

/* Size of a null bitmap; at least one row. */
#define PX_BITMAP_NBYTES(rows)	(((size_t) (rows) + 7) / 8)

typedef struct px_column
{
	uint8_t		form;			/* px_form */
	uint8_t		width;			/* fixed: bytes per value; array: per element;
								 * bytes: 0 */
	bool		is_signed;		/* fixed, width <= 8: order of the values */
	bool		is_float;		/* fixed, width 4 or 8: IEEE 754 bits */
	bool		relatable;		/* fixed, width <= 8: the reader will have it
								 * as integers, for others to be related to */
	uint8_t		scale;			/* numeric as scaled integer: dscale, else 0 */
	uint32_t	nvalues;		/* non-null values so far */
	uint32_t	nnulls;			/* nulls so far; rows are nvalues + nnulls */
	uint8_t    *values;			/* caller's buffer: fixed, dense values; bytes,
								 * the bytes of all values, without headers */
	size_t		values_nbytes;	/* used */
	size_t		values_cap;		/* size of the buffer */
	struct px_column *sent;		/* array, numeric: values in another form, of
								 * form bytes; NULL if there never were any */
	uint32_t   *positions;		/* which of the values are special, from 0,
								 * ascending.  numeric: those in sent, see
								 * patched.h; bytes: those in toasts */
	uint32_t   *toasts;			/* bytes: see toasted.h; NULL if never any */
	uint32_t	ntoasts;
	uint32_t   *lengths;		/* bytes, array: caller's buffer, for as many
								 * values as there may be rows; else NULL */
	uint32_t	pad;			/* bytes: > 0 if each value goes on with blanks
								 * to this length, which are not in values */
	uint8_t    *nulls;			/* caller's bitmap, (rows_max + 7) / 8 bytes */
} px_column;

/* Forget the values of a batch; buffers, form, width and sign stay. */
static inline void
px_column_reset(px_column *column)
{
	column->nvalues = 0;
	column->nnulls = 0;
	column->values_nbytes = 0;
	column->pad = 0;
	column->ntoasts = 0;
	if (column->sent)
	{
		column->sent->nvalues = 0;
		column->sent->values_nbytes = 0;
	}
}

/* Rows so far. */
static inline uint32_t
px_column_rows(const px_column *column)
{
	return column->nvalues + column->nnulls;
}

/*
 * Append a null.  The bitmap is written lazily: bits of rows before the
 * first null are cleared when that null arrives, so a column without nulls
 * never touches it.
 */
extern void px_column_append_null(px_column *column);

/* Record that the row just appended is not null; called by the appenders. */
static inline void
px_column_mark_value(px_column *column)
{
	if (column->nnulls > 0)
	{
		uint32_t	row = px_column_rows(column);

		if ((row & 7) == 0)
			column->nulls[row >> 3] = 0;
		else
			column->nulls[row >> 3] &= (uint8_t) ~(1u << (row & 7));
	}
	column->nvalues++;
}

/*
 * Append a fixed-width value of width 1, 2, 4 or 8 (its low bytes), or a
 * pointer to one of any width.  The caller has seen to room in values.
 */
static inline void
px_column_append_u64(px_column *column, uint64_t value)
{
	uint8_t    *p = column->values + column->values_nbytes;

	switch (column->width)
	{
		case 1:
			p[0] = (uint8_t) value;
			break;
		case 2:
			px_store_u16(p, (uint16_t) value);
			break;
		case 4:
			px_store_u32(p, (uint32_t) value);
			break;
		default:
			px_store_u64(p, value);
			break;
	}
	px_column_mark_value(column);
	column->values_nbytes += column->width;
}

static inline void
px_column_append_fixed(px_column *column, const void *value)
{
	memcpy(column->values + column->values_nbytes, value, column->width);
	px_column_mark_value(column);
	column->values_nbytes += column->width;
}

/*
 * Copy n bytes, the last ones twice where that saves a loop: a call of memcpy
 * costs more than most values are long.
 */
static inline void
px_copy(uint8_t *dst, const void *src, size_t n)
{
	const uint8_t *from = (const uint8_t *) src;

	if (n > 32)
		memcpy(dst, from, n);
	else if (n >= 16)
	{
		memcpy(dst, from, 16);
		memcpy(dst + n - 16, from + n - 16, 16);
	}
	else if (n >= 8)
	{
		memcpy(dst, from, 8);
		memcpy(dst + n - 8, from + n - 8, 8);
	}
	else if (n >= 4)
	{
		memcpy(dst, from, 4);
		memcpy(dst + n - 4, from + n - 4, 4);
	}
	else
	{
		for (size_t i = 0; i < n; i++)
			dst[i] = from[i];
	}
}

/* Bytes of room that there must be after the values of a column. */
#define PX_APPEND_SLACK		32

/*
 * Append a value of n bytes to a column of form bytes.  The caller has seen
 * to n + PX_APPEND_SLACK bytes of room, and n < PX_FRAME_NBYTES_MAX.
 */
static inline void
px_column_append_bytes(px_column *column, const void *value, size_t n)
{
	px_copy(column->values + column->values_nbytes, value, n);
	column->values_nbytes += n;
	column->lengths[column->nvalues] = (uint32_t) n;
	px_column_mark_value(column);
}

#define PX_BLANKS	UINT64_C(0x2020202020202020)

/*
 * Append a value of n > 0 bytes to a column all of whose values so far have
 * this length: without the blanks at its end.  False, and nothing is done, if
 * they have another: see px_column_unpad.  Room as above.
 */
static inline bool
px_column_append_padded(px_column *column, const char *value, size_t n)
{
	size_t		stripped = n;

	if (column->nvalues == 0)
		column->pad = (uint32_t) n;
	else if (column->pad != n)
		return false;

	/* The byte of highest worth that is no blank is the last one. */
	while (stripped >= 8)
	{
		uint64_t	others =
			px_load_u64((const uint8_t *) value + stripped - 8) ^ PX_BLANKS;

		if (others != 0)
		{
			stripped -= (63 - (size_t) pg_leftmost_one_pos64(others)) / 8;
			break;
		}
		stripped -= 8;
	}
	if (stripped < 8)
	{
		while (stripped > 0 && value[stripped - 1] == ' ')
			stripped--;
	}
	px_column_append_bytes(column, value, stripped);

	return true;
}

/*
 * Put the blanks back into values; the buffer has room for nvalues * pad.
 * From then on values of any length can be appended.
 */
extern void px_column_unpad(px_column *column);

#endif							/* PX_COLUMN_COLUMN_H */
