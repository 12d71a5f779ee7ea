/*-------------------------------------------------------------------------
 *
 * chunk.h
 *		One column of a batch as it travels: header, nulls, stored bytes.
 *
 * A chunk is a header, a null bitmap if some rows are null, and the values
 * that are not null, encoded, then perhaps compressed by a codec.  Here the
 * codec is undone; batch.h reads and writes headers, and decode.h undoes the
 * encoding.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_CHUNK_H
#define PX_COLUMN_CHUNK_H

#include "codec/codec.h"
#include "column/column.h"

typedef enum px_null_layout
{
	PX_NULLS_NONE = 0,			/* no row is null */
	PX_NULLS_ALL = 1,			/* every row is null; no values */
	PX_NULLS_BITMAP = 2			/* (rows + 7) / 8 bytes, bit i of byte i/8 set:
								 * row is null; spare bits are 0; neither none
								 * nor all of them are set */
} px_null_layout;

#define PX_CHUNK_HEADER_NBYTES	24

/* One chunk of a verified batch frame; pointers are into the frame. */
typedef struct px_chunk
{
	uint8_t		encoding;		/* px_encoding_id */
	uint8_t		codec;			/* px_codec_id */
	uint8_t		null_layout;	/* px_null_layout */
	uint8_t		form;			/* px_form */
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
 * Undo the codec.  Without one *encoded is chunk->stored; with one the bytes
 * are put into buffer (chunk->encoded_nbytes bytes, 8-aligned) and *encoded
 * is buffer.  PX_CODEC_FAILED.
 */
extern px_status px_chunk_unpack(const px_chunk *chunk,
								 px_codec_context *context, uint8_t *buffer,
								 const uint8_t **encoded, px_fault *fault);

/* Is a row of a chunk with PX_NULLS_BITMAP null? */
static inline bool
px_bitmap_is_null(const uint8_t *bitmap, uint32_t row)
{
	return (bitmap[row >> 3] >> (row & 7)) & 1;
}

/* Fill nulls[rows]. */
extern void px_chunk_nulls(const px_chunk *chunk, bool *nulls);

/* Working memory of those who decode chunks, the caller's. */
typedef struct px_decode_room
{
	int64_t    *scratch;		/* PX_DECODE_SCRATCH_WORDS(rows) */
	uint8_t    *buffer;			/* what px_chunk_buffer_nbytes says, 8-aligned;
								 * decoded pointers may point into it */

	/*
	 * For each earlier column of the batch, its decoded integers; NULL if it
	 * has none, or nulls.
	 */
	const int64_t *const *references;	/* [nreferences] */
	uint16_t	nreferences;
} px_decode_room;

#define PX_DECODE_SCRATCH_WORDS(rows)	(3 * (size_t) (rows))

#endif							/* PX_COLUMN_CHUNK_H */
