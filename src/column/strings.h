/*-------------------------------------------------------------------------
 *
 * strings.h
 *		Encodings of values of any length, decoded to packed values.
 *
 * Each file has an encoder, the number of bytes that the decoded values will
 * take, and a decoder.  Decoders fill out[n] with pointers to packed values
 * (see column.h) and take:
 *
 *	scratch		2 * n words of working memory
 *	buffer		as many bytes as the ..._nbytes function said, 8-aligned; the
 *				decoded values stand there.  Not used if that is 0.
 *
 * The bytes of a column under construction stand one behind the other, with
 * their lengths beside them; blanks that pad them all to the same length
 * (char(n)) have been left out: see px_column.pad.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_STRINGS_H
#define PX_COLUMN_STRINGS_H

#include "column/column.h"
#include "column/ints.h"

/* --- split.c: lengths, then all bytes, for a codec ----------------------- */

/* Everything but the bytes, which are to follow as they are. */
extern px_status px_split_write(px_writer *out, const px_column *column,
								const px_ints_plan *plan, uint8_t *scratch,
								bool *stale);
extern px_status px_split_nbytes(const uint8_t *encoded, size_t encoded_nbytes,
								 uint32_t n, size_t *nbytes, px_fault *fault);
extern px_status px_split_decode(const uint8_t *encoded, size_t encoded_nbytes,
								 uint32_t n, int64_t *scratch, uint8_t *buffer,
								 const uint8_t **out, px_fault *fault);

/* The bytes of all values; of encoded that px_split_decode has accepted. */
extern void px_split_text(const uint8_t *encoded, size_t encoded_nbytes,
						  const uint8_t **text, size_t *text_nbytes);

/* --- dictionary.c: the distinct values, and a code for each value -------- */

/* Distinct values of a batch beyond which no dictionary is made. */
#define PX_DICTIONARY_MAX		4096

/* Working memory of the encoder besides that for the codes. */
typedef struct px_dictionary
{
	uint32_t	n;				/* entries */
	size_t		nbytes;			/* of the entries, packed and padded */
	uint32_t	slots[4 * PX_DICTIONARY_MAX];	/* entry number + 1, or 0 */
	struct px_dictionary_entry
	{
		uint64_t	head;		/* bytes 0 .. 7, then zeros */
		uint64_t	tail;		/* bytes 8 .. 15, then zeros */
		const uint8_t *value;
		uint32_t	nbytes;		/* without padding */
	}			entries[PX_DICTIONARY_MAX];
} px_dictionary;

/*
 * Collect the distinct values, and write a 2-byte code for each value to
 * codes.  False if there are more than entries_max (at most
 * PX_DICTIONARY_MAX).
 */
extern bool px_dictionary_build(const px_column *column, uint32_t entries_max,
								px_dictionary *dictionary, uint8_t *codes);

/* The codes.  The entries are to follow: px_dictionary_pack. */
extern px_status px_dictionary_write(px_writer *out,
									 const px_dictionary *dictionary,
									 const uint8_t *codes, uint32_t n,
									 const px_ints_plan *plan,
									 uint8_t *scratch, bool *stale);

/* dictionary->nbytes bytes. */
extern void px_dictionary_pack(const px_dictionary *dictionary, size_t pad,
							   uint8_t *out);
extern px_status px_dictionary_decode(const uint8_t *encoded,
									  size_t encoded_nbytes, uint32_t n,
									  int64_t *scratch, const uint8_t **out,
									  px_fault *fault);

/* The entries, packed; of encoded that px_dictionary_decode has accepted. */
extern void px_dictionary_text(const uint8_t *encoded, size_t encoded_nbytes,
							   const uint8_t **text, size_t *text_nbytes);

/* --- template.c: strings that differ in some of their digits only -------- */

#define PX_TEMPLATE_DIGITS_MAX	18

typedef struct px_template
{
	uint8_t		nbytes;			/* of each value, without padding */
	uint8_t		ndigits;		/* that differ */
	uint8_t		positions[PX_TEMPLATE_DIGITS_MAX];	/* ascending */
} px_template;

/*
 * Find the template of a column, and write the number that each value's
 * digits make to numbers (8 bytes each).  False if the values are not of such
 * a form.
 */
extern bool px_template_find(const px_column *column, px_template *template,
							 uint8_t *numbers);
extern px_status px_template_write(px_writer *out, const px_column *column,
								   const px_template *template,
								   const uint8_t *numbers,
								   const px_ints_plan *plan, uint8_t *scratch,
								   bool *stale);
extern px_status px_template_nbytes(const uint8_t *encoded,
									size_t encoded_nbytes, uint32_t n,
									size_t *nbytes, px_fault *fault);
extern px_status px_template_decode(const uint8_t *encoded,
									size_t encoded_nbytes, uint32_t n,
									int64_t *scratch, uint8_t *buffer,
									const uint8_t **out, px_fault *fault);

/* What stands for all values; of encoded that was decoded. */
extern void px_template_text(const uint8_t *encoded, size_t encoded_nbytes,
							 const uint8_t **text, size_t *text_nbytes);

/* --- for decoders --------------------------------------------------------- */

/* Bytes behind the end of a buffer that px_copy_short may write. */
#define PX_COPY_SLACK	32

/*
 * As px_copy, but without looking at n closely if src and dst have room for
 * more.  src_left counts from src; dst has n + PX_COPY_SLACK bytes of room.
 */
static inline void
px_copy_short(uint8_t *dst, const uint8_t *src, size_t n, size_t src_left)
{
	if (n <= 32 && src_left >= 32)
	{
		memcpy(dst, src, 16);
		memcpy(dst + 16, src + 16, 16);
	}
	else
		memcpy(dst, src, n);
}

/* Header of a packed value of nbytes at or behind *end; returns its data. */
static inline uint8_t *
px_packed_begin(uint8_t *buffer, size_t *pos, size_t nbytes,
				const uint8_t **packed)
{
	uint8_t    *p = buffer + *pos;

	if (nbytes <= PX_PACKED_SHORT_MAX)
	{
		*packed = p;
		*p = (uint8_t) ((nbytes + 1) << 1 | 1);
		*pos += nbytes + 1;
		return p + 1;
	}
	*pos = (*pos + 3) & ~(size_t) 3;
	p = buffer + *pos;
	*packed = p;
	px_store_u32(p, (uint32_t) (nbytes + 4) << 2);
	*pos += nbytes + 4;
	return p + 4;
}

#endif							/* PX_COLUMN_STRINGS_H */
