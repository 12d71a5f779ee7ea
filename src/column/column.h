/*-------------------------------------------------------------------------
 *
 * column.h
 *		Columns of a batch: filling, encoding, reading, decoding.
 *
 * A batch is a number of rows in columnar form.  Each column of it travels as
 * one chunk: a header, a null bitmap if some rows are null, and the non-null
 * values ("dense": nulls take no space), encoded, then perhaps compressed by
 * a codec.  A chunk comes in one of two forms:
 *
 *	fixed	every value has the same width (1, 2, 4, 6, 8, 12 or 16 bytes),
 *			little-endian for widths 1, 2, 4 and 8, else just bytes
 *	bytes	values of any length, "packed" one behind the other:
 *			a value of n <= 126 bytes is one byte ((n + 1) << 1 | 1) and the
 *			bytes; a longer one is zero bytes up to the next multiple of 4
 *			counted from the start of the values, a little-endian 32-bit
 *			(n + 4) << 2, and the bytes.  On a little-endian machine that is
 *			PostgreSQL's own varlena layout: a decoded value is a pointer into
 *			the batch, usable as a Datum.
 *
 * Like the rest of the pure layers, nothing here allocates or raises errors:
 * callers own all buffers, and functions say how large they must be.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_COLUMN_H
#define PX_COLUMN_COLUMN_H

#include "port/pg_bitutils.h"

#include "base/bytes.h"
#include "codec/codec.h"
#include "wire/frame.h"

typedef enum px_form
{
	PX_FORM_FIXED = 0,
	PX_FORM_BYTES = 1,
	PX_FORM_ARRAY = 2			/* of fixed-width elements; see array.h */
} px_form;

typedef enum px_encoding
{
	PX_ENC_PLAIN = 0,			/* both forms: the values as described above */
	PX_ENC_CONSTANT = 1,		/* both forms: one value, for all rows */
	PX_ENC_FOR = 2,				/* ints: frame of reference + bit-packing */
	PX_ENC_DELTA = 3,			/* ints: differences of neighbours */
	PX_ENC_RLE = 4,				/* ints: runs */
	PX_ENC_SCALED = 5,			/* ints: multiples of a common factor */
	PX_ENC_DECIMAL = 6,			/* floats that are decimal numbers */
	PX_ENC_PLANES = 7,			/* fixed: byte by byte */
	PX_ENC_RELATED = 8,			/* ints: difference to another column */
	PX_ENC_SPLIT = 9,			/* bytes: lengths, then all bytes */
	PX_ENC_DICTIONARY = 10,		/* bytes: codes, then the distinct values */
	PX_ENC_TEMPLATE = 11,		/* bytes: digits in a frame of constant text */
	PX_ENC_PATCHED = 12,		/* scaled numerics: ints and exceptions */
	PX_ENC_TOASTED = 13			/* bytes: some as TOAST has compressed them */
} px_encoding;

#define PX_ENCODING_COUNT	14

/* Sets of encodings: all there are, and those of integer streams. */
#define PX_ENCODINGS_ALL	((UINT32_C(1) << PX_ENCODING_COUNT) - 1)
#define PX_ENCODINGS_INTS	((UINT32_C(1) << (PX_ENC_SCALED + 1)) - 1)

typedef enum px_null_layout
{
	PX_NULLS_NONE = 0,			/* no row is null */
	PX_NULLS_ALL = 1,			/* every row is null; no values */
	PX_NULLS_BITMAP = 2			/* (rows + 7) / 8 bytes, bit i of byte i/8 set:
								 * row is null; spare bits are 0; neither none
								 * nor all of them are set */
} px_null_layout;

#define PX_CHUNK_HEADER_NBYTES	24

/* Size of a null bitmap; at least one row. */
#define PX_BITMAP_NBYTES(rows)	(((size_t) (rows) + 7) / 8)

/* Longest value with a packed header of one byte. */
#define PX_PACKED_SHORT_MAX		126

/* ---------------------------------------------------------------------
 * Filling: one px_column per column of the batch under construction.
 * --------------------------------------------------------------------- */

typedef struct px_column
{
	uint8_t		form;			/* px_form */
	uint8_t		width;			/* fixed: bytes per value; array: per element;
								 * bytes: 0 */
	bool		is_signed;		/* fixed, width <= 8: order of the values */
	bool		is_float;		/* fixed, width 4 or 8: IEEE 754 bits */
	bool		relatable;		/* fixed, width <= 8: the reader will have it as
								 * integers, for others to be related to */
	uint8_t		scale;			/* numeric as scaled integer: its dscale; else 0 */
	uint32_t	nvalues;		/* non-null values so far */
	uint32_t	nnulls;			/* nulls so far; row number = nvalues + nnulls */
	uint8_t    *values;			/* caller's buffer: fixed, dense values; bytes,
								 * the bytes of all values, without headers */
	size_t		values_nbytes;	/* used */
	size_t		values_cap;		/* size of the buffer */
	struct px_column *sent;		/* array, numeric: values in another form, of form
								 * bytes; NULL if there never were any */
	uint32_t   *positions;		/* which of the values are special, from 0,
								 * ascending.  numeric: those in sent, see
								 * patched.h; bytes: those in toasts */
	uint32_t   *toasts;			/* bytes: see toasted.h; NULL if never any */
	uint32_t	ntoasts;
	uint32_t   *lengths;		/* bytes, array: caller's buffer, for as many values as
								 * there may be rows; else NULL */
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

/* Where a packed value of n bytes ends if the one before it ends at pos. */
static inline size_t
px_packed_end(size_t pos, size_t n)
{
	if (n <= PX_PACKED_SHORT_MAX)
		return pos + 1 + n;
	return ((pos + 3) & ~(size_t) 3) + 4 + n;
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

/* Bytes of room that there must be behind the values of a column. */
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
		uint64_t	others = px_load_u64((const uint8_t *) value + stripped - 8) ^ PX_BLANKS;

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

/* ---------------------------------------------------------------------
 * Encoding
 * --------------------------------------------------------------------- */

/* How much compression the mode in force allows. */
typedef struct px_encode_options
{
	uint32_t	encodings;		/* bit set of px_encoding: those that the reader
								 * knows.  Without all of PX_ENCODINGS_INTS only
								 * plain is used. */
	bool		codec_on_ints;	/* try the codec on packed integers, too */
	uint8_t		codec;			/* px_codec_id to try, PX_CODEC_NONE for none */
	int			level;			/* the codec's level, 0 its default */
	px_codec_context *context;	/* NULL only if codec is PX_CODEC_NONE */
	uint8_t    *scratch;		/* px_encode_scratch_nbytes(), 8-aligned; NULL
								 * only if nothing but plain is used */
} px_encode_options;

/* Working memory to encode batches of up to rows_max rows. */
extern size_t px_encode_scratch_nbytes(uint32_t rows_max);

/* How the integers of a chunk are written; see ints.h. */
typedef struct px_ints_plan
{
	uint8_t		shape;			/* px_ints_shape */
	uint64_t	factor;			/* > 1: all differences are multiples of it */
} px_ints_plan;

/*
 * What is known of a column of a stream: the choice made for it, which holds
 * for the batches to come, until the next sample or until it proves wrong.
 * All zeros in the beginning.
 */
typedef struct px_column_state
{
	/* What became of the last chunk, for counters. */
	uint8_t		encoding;		/* px_encoding */
	uint8_t		codec;			/* px_codec_id */
	bool		sampled;		/* the encoding was looked for */

	uint8_t		form;			/* px_form that the plan is for: numeric changes */
	uint8_t		planned;		/* px_encoding to try; for integer streams
								 * PX_ENC_FOR, and ints says more */
	px_ints_plan ints;			/* of the integers that the encoding makes */
	uint8_t		decimals;		/* PX_ENC_DECIMAL */
	uint16_t	related;		/* PX_ENC_RELATED: the other column */
	uint32_t	entries_max;	/* PX_ENC_DICTIONARY: beyond it, sample again */
	uint32_t	sample_in;		/* batches until the next sample */
	uint32_t	sample_interval;	/* then; doubles each time */
	uint32_t	codec_skip[PX_CODEC_COUNT]; /* batches for which the codec is not tried */
	uint32_t	codec_skip_next[PX_CODEC_COUNT];	/* after the next failure; doubles, too */
} px_column_state;

/* Size of the values as they stand in a plain chunk. */
extern size_t px_column_values_nbytes(const px_column *column);

/*
 * Size of the column as a plain, uncompressed chunk: header, bitmap and
 * values, each aligned.  px_batch_write never writes more for a column, and
 * the sum over the columns is the batch's raw size.
 */
extern size_t px_column_plain_nbytes(const px_column *column);

/*
 * Encode a batch: the body of a batch frame, that is all chunk headers and
 * then all payloads, each padded to PX_ALIGN_NBYTES.
 *
 * All columns must have the same number of rows, at least one.  out must
 * have room for the sum of px_column_plain_nbytes, and must start aligned as
 * the frame body will (PX_FRAME_HEADER_NBYTES is a multiple of 8).  What is
 * written passes px_batch_verify with that sum as the raw size, and with
 * PX_RAW_RATIO_MAX: columns whose encoded values would be too many, or whose
 * compressed ones too few, stay plain.
 * states[ncolumns] is what earlier batches of the stream have left.
 * Returns PX_OK, PX_NO_SPACE (the caller's buffer was too small),
 * PX_BAD_CODEC (options->codec is none of px_codec_id) or PX_CODEC_FAILED
 * (the codec's library is out of memory).
 */
extern px_status px_batch_write(px_writer *out, const px_column *columns,
								uint16_t ncolumns,
								const px_encode_options *options,
								px_column_state *states);

/* ---------------------------------------------------------------------
 * Decoding
 * --------------------------------------------------------------------- */

/* One chunk of a verified batch frame; pointers are into the frame. */
typedef struct px_chunk
{
	uint8_t		encoding;
	uint8_t		codec;
	uint8_t		null_layout;
	uint8_t		form;
	uint8_t		width;
	uint8_t		scale;
	uint32_t	rows;			/* of the batch */
	uint32_t	nvalues;		/* non-null rows */
	uint32_t	encoded_nbytes; /* after the codec is undone */
	uint32_t	stored_nbytes;	/* as it stands in the frame */
	uint32_t	head_nbytes;	/* of both: what the codec has left alone */
	const uint8_t *bitmap;		/* NULL unless PX_NULLS_BITMAP */
	const uint8_t *stored;		/* stored_nbytes bytes */
} px_chunk;

/*
 * Read the chunk headers of a batch body into chunks[header->columns].
 *
 * Everything that can be checked without undoing codec and encoding is
 * checked here: unknown encodings, codecs, layouts, forms and widths,
 * reserved bytes, sizes against the body (which must be used up exactly),
 * padding bytes (zero), nvalues against rows and the bitmap, encoded_nbytes
 * against what form, encoding and nvalues call for where that is known, a
 * codec of none whose two sizes differ, and that the encoded sizes together
 * stay within header->raw_nbytes.  So after PX_OK, encoded_nbytes is as safe to
 * size a buffer with as that is: see PX_RAW_NBYTES_MAX.
 */
extern px_status px_batch_read(const uint8_t *body,
							   const px_frame_header *header,
							   px_chunk *chunks, px_fault *fault);

/* What a receiver allows, besides what the format does. */
typedef struct px_batch_limits
{
	uint32_t	rows_max;		/* PX_FRAME_ROWS_MAX at most */
	uint32_t	ratio_max;		/* of PX_RAW_NBYTES_MAX */
} px_batch_limits;

/*
 * The same, within limits: PX_OVER_LIMIT if the batch has more rows, or a
 * larger raw size for its body.  Receivers call this for each batch before
 * they decode it, and tests of senders for each batch that is written.
 */
extern px_status px_batch_verify(const uint8_t *body,
								 const px_frame_header *header,
								 const px_batch_limits *limits,
								 px_chunk *chunks, px_fault *fault);

/*
 * Undo the codec.  Without one *encoded is chunk->stored; with one the bytes
 * are put into buffer (chunk->encoded_nbytes bytes, 8-aligned) and *encoded
 * is buffer.  PX_CODEC_FAILED.
 */
extern px_status px_chunk_unpack(const px_chunk *chunk,
								 px_codec_context *context, uint8_t *buffer,
								 const uint8_t **encoded, px_fault *fault);

/* Working memory of the decoders, the caller's. */
typedef struct px_decode_room
{
	int64_t    *scratch;		/* PX_DECODE_SCRATCH_WORDS(rows) */
	uint8_t    *buffer;			/* what px_chunk_buffer_nbytes says, 8-aligned;
								 * decoded pointers may point into it */
	const int64_t *const *references;	/* [nreferences]: for each earlier column
										 * of the batch, its decoded integers,
										 * or NULL if there are none, or nulls */
	uint16_t	nreferences;
} px_decode_room;

#define PX_DECODE_SCRATCH_WORDS(rows)	(3 * (size_t) (rows))

/*
 * Bytes of room->buffer that px_chunk_decode_pointers is going to need; 0 for
 * most encodings.  No more than PX_BUFFER_SLACK above what the values take as
 * plain ones, if the sender is honest, which is for the caller to check; and
 * never much above PX_FRAME_NBYTES_MAX.
 */
#define PX_BUFFER_SLACK(rows)	(8 * (size_t) (rows) + 32)

extern px_status px_chunk_buffer_nbytes(const px_chunk *chunk,
										const uint8_t *encoded, size_t *nbytes,
										px_fault *fault);

/*
 * What such a buffer counts for: what those of all chunks count for, and the
 * elements of arrays, is within the batch's raw size.
 */
static inline size_t
px_buffer_counted_nbytes(size_t nbytes, uint32_t rows)
{
	return nbytes > PX_BUFFER_SLACK(rows) ? nbytes - PX_BUFFER_SLACK(rows) : 0;
}

/*
 * Decode a chunk of form fixed and width 1, 2, 4 or 8 to values[rows],
 * extended to 64 bits by sign or with zeros as is_signed says; 0 where null.
 * The null flags are px_chunk_nulls' business.  room->buffer is not used.
 * PX_BAD_VALUE, PX_TRUNCATED, PX_TRAILING, PX_BAD_ENCODING, PX_OVER_LIMIT if
 * an encoding is malformed.
 */
extern px_status px_chunk_decode_ints(const px_chunk *chunk,
									  const uint8_t *encoded, bool is_signed,
									  const px_decode_room *room,
									  int64_t *values, px_fault *fault);

/* Rows of a chunk whose integers do not count; pointers as in px_decode_room. */
typedef struct px_patches
{
	uint32_t	n;
	const int64_t *rows;		/* [n] ascending */
	const uint8_t **sent;		/* [n] their values, packed */
} px_patches;

/*
 * The same for a chunk of class numeric: of encoding patched, or any of the
 * others, which have no patches.  Valid until the room is used again.
 */
extern px_status px_chunk_decode_patched(const px_chunk *chunk,
										 const uint8_t *encoded,
										 const px_decode_room *room,
										 int64_t *values, px_patches *patches,
										 px_fault *fault);

/*
 * Decode a chunk of any form to values[rows], pointers to each row's value,
 * NULL where null.  Form fixed: pointer to width bytes, of any alignment; only
 * encodings plain, constant and planes.  Form bytes: pointer to a packed
 * value, whose long form is 4-aligned if encoded and buffer are; every length
 * has been checked against the bounds, padding is zero, and the values use
 * the bytes up.  Valid as long as encoded and room->buffer are.  Errors as
 * above.
 */
extern px_status px_chunk_decode_pointers(const px_chunk *chunk,
										  const uint8_t *encoded,
										  const px_decode_room *room,
										  const uint8_t **values,
										  px_fault *fault);

/*
 * Of a chunk of form bytes that was decoded: a piece of encoded that holds
 * all the bytes that its values are made of, besides ASCII digits and blanks,
 * and perhaps the headers of packed values.  False if there is none.
 */
extern bool px_chunk_text(const px_chunk *chunk, const uint8_t *encoded,
						  const uint8_t **text, size_t *nbytes);

/* Elements of all arrays of a chunk: as 64-bit integers they fit a frame. */
#define PX_ARRAY_ELEMENTS_MAX	(PX_FRAME_NBYTES_MAX / 8)

/* A chunk of form array, taken apart; pointers as in px_decode_room. */
typedef struct px_arrays
{
	const int64_t *counts;		/* [nvalues] 0: see sent; else elements + 1 */
	uint32_t	nsent;
	const uint8_t **sent;		/* [nsent] packed values, in order */
	uint32_t	nelements;		/* of all arrays together */
	uint8_t		elements_encoding;	/* PX_ENC_PLAIN: the elements as they are */
	const uint8_t *elements;
	size_t		elements_nbytes;
} px_arrays;

/*
 * Take a chunk of form array that has values apart.  Errors as above.  With
 * encoding plain, elements_nbytes has been checked.
 */
extern px_status px_chunk_decode_arrays(const px_chunk *chunk,
										const uint8_t *encoded,
										const px_decode_room *room,
										px_arrays *arrays, px_fault *fault);

/* Decode the elements to values[nelements], extended to 64 bits. */
extern px_status px_chunk_decode_elements(const px_chunk *chunk,
										  const px_arrays *arrays,
										  bool is_signed, int64_t *values,
										  px_fault *fault);

/* Fill nulls[rows]. */
extern void px_chunk_nulls(const px_chunk *chunk, bool *nulls);

/* Length and start of the bytes of a packed value. */
static inline size_t
px_packed_nbytes(const uint8_t *packed)
{
	if (*packed & 1)
		return (size_t) (*packed >> 1) - 1;
	return (size_t) (px_load_u32(packed) >> 2) - 4;
}

static inline const uint8_t *
px_packed_data(const uint8_t *packed)
{
	return packed + ((*packed & 1) ? 1 : 4);
}

/* EXPLAIN's names; "unknown" for a value out of range. */
extern const char *px_encoding_name(uint8_t encoding);

#endif							/* PX_COLUMN_COLUMN_H */
