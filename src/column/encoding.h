/*-------------------------------------------------------------------------
 *
 * encoding.h
 *		The contract of encodings, and the table of them.
 *
 * An encoding turns the values of a column into fewer bytes, and back.  Each
 * one is a file that fills a px_encoding with designated initialisers: who
 * knows template.c knows dictionary.c.  encodinglist.h names them all.
 *
 * Integers are packed by "streams" (ints/ints.h): a stream is a chunk of
 * integers, or a part of another encoding, such as the codes of a dictionary.
 * The encodings of streams may stand inside each other.
 *
 * Which encoding a column gets is choose.c's business; what becomes of what it
 * has written, encode.c's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_ENCODING_H
#define PX_COLUMN_ENCODING_H

#include "column/chunk.h"
#include "column/column.h"

typedef enum px_encoding_id
{
#define PX_ENCODING(constant, number, entry)	constant = number,
#include "column/encodinglist.h"
#undef PX_ENCODING
} px_encoding_id;

enum
{
	PX_ENCODING_COUNT = 0
#define PX_ENCODING(constant, number, entry)	+ 1
#include "column/encodinglist.h"
#undef PX_ENCODING
};

/*
 * Sets of encodings, as hello and request have them: bit i is encoding i.
 * Without all of PX_ENCODINGS_INTS only plain is used.
 */
#define PX_ENCODING_BIT(id)	(UINT32_C(1) << (id))
#define PX_ENCODINGS_PLAIN	PX_ENCODING_BIT(PX_ENC_PLAIN)
#define PX_ENCODINGS_INTS	(PX_ENCODING_BIT(PX_ENC_SCALED + 1) - 1)
#define PX_ENCODINGS_ALL	(PX_ENCODING_BIT(PX_ENCODING_COUNT) - 1)

/* Does a set have all of some encodings? */
static inline bool
px_encodings_have(uint32_t set, uint32_t wanted)
{
	return (set & wanted) == wanted;
}

/* ---------------------------------------------------------------------
 * What the operations are given
 * --------------------------------------------------------------------- */

/* Working memory of a sender: px_encode_scratch_nbytes(), taken apart. */
typedef struct px_encode_scratch
{
	uint8_t    *values;			/* 8 bytes for each value */
	uint8_t    *rest;			/* 24 bytes for each value, right after them */
	uint8_t    *fixed;			/* scratch_nbytes of the encoding */
} px_encode_scratch;

/* Transforms inside each other that a plan has at most. */
#define PX_TRANSFORMS_MAX	3

/* The column to encode; it has values. */
typedef struct px_encode_input
{
	const px_column *columns;	/* of the batch; [index] is the column */
	const px_column *column;
	uint16_t	index;
	bool		pack;			/* pack the integers; false: plain children */
	px_encode_scratch scratch;	/* all NULL if pack is false */
} px_encode_input;

/* How a stream of integers is to be written; all zeros: packed as it is. */
typedef struct px_ints_plan
{
	uint8_t		transforms[PX_TRANSFORMS_MAX + 1];	/* px_encoding_id, the
													 * outermost first; ends
													 * with PX_ENC_PLAIN */
	uint64_t	factor;			/* of PX_ENC_SCALED */
} px_ints_plan;

/* How a column is to be encoded, for this batch and those to come. */
typedef struct px_encode_plan
{
	uint8_t		encoding;		/* px_encoding_id; for streams of integers
								 * PX_ENC_FOR, and ints says more */
	px_ints_plan ints;			/* of the integers that the encoding makes */
	uint32_t	parameter;		/* whatever else the encoding has found out:
								 * see its file */
} px_encode_plan;

/* May the codec have what an encoding has written? */
typedef enum px_codec_use
{
	PX_CODEC_USE_NEVER = 0,
	PX_CODEC_USE_ON_INTS,		/* if px_encode_options.codec_on_ints */
	PX_CODEC_USE
} px_codec_use;

/* What an encoding says of what it has written; all zeros before. */
typedef struct px_encoded
{
	uint8_t		encoding;		/* px_encoding_id, already set to the plan's */
	bool		stale;			/* the plan suits these values no more, or only
								 * in part: choose anew for the next batch */
	px_codec_use codec_use;		/* for all but the head */
	size_t		head_nbytes;	/* in front of what the codec may have */
	const uint8_t *tail;		/* bytes that are still to be written after the
								 * others, plain or by the codec; or NULL */
	size_t		tail_nbytes;
} px_encoded;

/* A stream of integers to be read. */
typedef struct px_int_stream
{
	uint8_t		encoding;		/* px_encoding_id */
	uint8_t		width;			/* of its integers */
	bool		is_signed;
	uint8_t		depth;			/* streams that it stands in */
	uint32_t	n;				/* integers */
	const uint8_t *encoded;
	size_t		nbytes;
} px_int_stream;

/* ---------------------------------------------------------------------
 * The contract
 * --------------------------------------------------------------------- */

/*
 * Parameters come in one order: the writer, the input, working memory, what is
 * filled, the fault.  NULL where an operation does not apply.
 */
typedef struct px_encoding
{
	const char *name;			/* as EXPLAIN spells it */

	/* May chunks of this form and width have the encoding? */
	bool		(*suits) (uint8_t form, uint8_t width);

	/* --- Sender --- */

	/*
	 * Look at all values: set *nbytes to the size that they would take, about,
	 * and all of *plan but its encoding to what write needs.  PX_UNSUITABLE if
	 * the encoding does not suit the values.  NULL: not a matter of choice.
	 */
	px_status	(*size) (const px_encode_input *input, px_encode_plan *plan,
						 size_t *nbytes);

	/*
	 * The encoding is chosen only if it saves this fraction of what the column
	 * takes by default: 16 is a sixteenth.  0: if it saves anything.
	 */
	uint32_t	saving_fraction;
	size_t		scratch_nbytes; /* of px_encode_scratch.fixed */

	/*
	 * Write the values by the plan, which may have been made for another
	 * batch.  PX_UNSUITABLE if it does not suit these values, PX_NO_SPACE if
	 * out has no more room: then what stands after out's old position does
	 * not count.
	 */
	px_status	(*write) (px_writer *out, const px_encode_input *input,
						  const px_encode_plan *plan, px_encoded *result);

	/* --- Receiver --- */

	/*
	 * The sizes that the encoded values of a chunk can have, found out before
	 * the codec is undone.  NULL: a child's header, or more.
	 */
	void		(*range) (const px_chunk *chunk, uint64_t *min, uint64_t *max);

	/*
	 * Check as much of the encoded bytes as is needed to say how many bytes of
	 * room->buffer read_pointers will fill, before they are allocated.  NULL:
	 * none.
	 */
	px_status	(*verify) (const px_chunk *chunk, const uint8_t *encoded,
						   size_t *buffer_nbytes, px_fault *fault);

	/*
	 * Read the nvalues dense values: as integers, extended to 64 bits; as
	 * pointers to values of form fixed, or to packed ones.  The contracts are
	 * those of px_chunk_decode_ints and px_chunk_decode_pointers (decode.h),
	 * but nulls are not looked at.  NULL: the encoding cannot be read like
	 * that.
	 */
	px_status	(*read_ints) (const px_chunk *chunk, const uint8_t *encoded,
							  bool is_signed, const px_decode_room *room,
							  int64_t *values, px_fault *fault);
	px_status	(*read_pointers) (const px_chunk *chunk,
								  const uint8_t *encoded,
								  const px_decode_room *room,
								  const uint8_t **values, px_fault *fault);

	/*
	 * Where in encoded, which read_pointers has accepted, the bytes of all
	 * strings are: see px_chunk_text (decode.h).  They need not be whole
	 * characters.  NULL: nowhere.
	 */
	void		(*text) (const px_chunk *chunk, const uint8_t *encoded,
						 const uint8_t **text, size_t *text_nbytes);

	/* --- Streams of integers --- */

	/*
	 * Write n integers, which are spoilt, as the plan's transform number step;
	 * its children by the transforms after that.  scratch has room for n more.
	 * PX_UNSUITABLE, PX_NO_SPACE.  NULL: not a transform.
	 */
	px_status	(*write_stream) (px_writer *out, uint64_t *values, uint32_t n,
								 const px_ints_plan *plan, int step,
								 uint64_t *scratch);

	/* As px_ints_read.  NULL: not an encoding of streams. */
	px_status	(*read_stream) (const px_int_stream *stream, int64_t *scratch,
								int64_t *values, px_fault *fault);
} px_encoding;

#define PX_ENCODING(constant, number, entry)	extern const px_encoding entry;
#include "column/encodinglist.h"
#undef PX_ENCODING

extern const px_encoding *const px_encodings[PX_ENCODING_COUNT];

/* The encoding with this number, or NULL if there is none. */
static inline const px_encoding *
px_encoding_by_id(uint8_t id)
{
	return id < PX_ENCODING_COUNT ? px_encodings[id] : NULL;
}

/* EXPLAIN's names; "unknown" for a value out of range. */
extern const char *px_encoding_name(uint8_t id);

/* --- for the entries ----------------------------------------------------- */

/* Chunks of any form; of form fixed; of form bytes; of integers. */
extern bool px_suits_any(uint8_t form, uint8_t width);
extern bool px_suits_fixed(uint8_t form, uint8_t width);
extern bool px_suits_bytes(uint8_t form, uint8_t width);
extern bool px_suits_ints(uint8_t form, uint8_t width);

#endif							/* PX_COLUMN_ENCODING_H */
