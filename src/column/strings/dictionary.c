/*-------------------------------------------------------------------------
 *
 * dictionary.c
 *		Dictionary of a batch: its distinct values, and a code for each row.
 *
 * Encoded form: number of entries (4 bytes), zero (4), child of codes (width
 * 2), then the entries as packed values up to the end: a decoded value is a
 * pointer to its entry.
 *
 * The entries are numbered as they come, so that the codes of sorted and of
 * clustered values have runs.
 *
 * Source: Abadi, Madden, Ferreira, "Integrating Compression and Execution in
 * Column-Oriented Database Systems" (SIGMOD 2006), section 3.3.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "port/pg_bitutils.h"

#include "column/ints/ints.h"
#include "column/packed.h"

/* Distinct values of a batch beyond which no dictionary is made. */
#define PX_DICTIONARY_MAX		4096

/* A dictionary pays off only if its entries are used this often. */
#define PX_DICTIONARY_USES		4

/* Room for new entries in later batches before the choice is made anew. */
#define PX_DICTIONARY_GROWTH	2
#define PX_DICTIONARY_SMALL		16

/* Entries that are worth a codec. */
#define PX_DICTIONARY_CODEC_NBYTES	512

/* px_encode_scratch.fixed; the codes stand in px_encode_scratch.values. */
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

/* Multiplicative hashing: 2^64 / golden ratio, Knuth TAOCP 3, 6.4. */
#define PX_HASH_FACTOR	UINT64_C(0x9E3779B97F4A7C15)

/* The first n bytes of a little-endian word; n <= 8. */
static const uint64_t px_byte_masks[9] = {
	0, UINT64_C(0xff), UINT64_C(0xffff), UINT64_C(0xffffff),
	UINT64_C(0xffffffff), UINT64_C(0xffffffffff), UINT64_C(0xffffffffffff),
	UINT64_C(0xffffffffffffff), UINT64_MAX
};

/*
 * The code of a value, which becomes an entry if it is new.  Bytes after the
 * value are read and masked, which PX_APPEND_SLACK allows: short values of
 * various lengths are common, and branches on the length would be guessed
 * wrong.
 */
static inline uint32_t
px_dictionary_code(px_dictionary *dictionary, uint32_t mask,
				   const uint8_t *value, uint32_t nbytes)
{
	struct px_dictionary_entry *entry;
	uint64_t	head = px_load_u64(value) & px_byte_masks[Min(nbytes, 8)];
	uint64_t	tail =
		px_load_u64(value + 8) & px_byte_masks[Min(Max(nbytes, 8) - 8, 8)];
	uint64_t	hash =
		(head + (tail << 23 | tail >> 41) + nbytes) * PX_HASH_FACTOR;
	uint32_t	slot;

	for (uint32_t i = 16; i < nbytes; i += 8)
		hash = (hash ^ hash >> 32 ^ px_load_u64(value + Min(i, nbytes - 8))) *
			PX_HASH_FACTOR;

	for (slot = (uint32_t) (hash >> 32) & mask;
		 dictionary->slots[slot] != 0;
		 slot = (slot + 1) & mask)
	{
		uint32_t	code = dictionary->slots[slot] - 1;

		entry = &dictionary->entries[code];
		if (entry->head == head && entry->tail == tail &&
			entry->nbytes == nbytes &&
			(nbytes <= 16 || memcmp(entry->value, value, nbytes) == 0))
			return code;
	}

	if (dictionary->n < PX_DICTIONARY_MAX)
	{
		entry = &dictionary->entries[dictionary->n];
		entry->head = head;
		entry->tail = tail;
		entry->value = value;
		entry->nbytes = nbytes;
		dictionary->slots[slot] = dictionary->n + 1;
	}

	return dictionary->n++;
}

/*
 * Collect the distinct values, and write a 2-byte code for each value to
 * codes.  False if there are more than entries_max (at most
 * PX_DICTIONARY_MAX).
 */
static bool
px_dictionary_build(const px_column *column, uint32_t entries_max,
					px_dictionary *dictionary, uint8_t *codes)
{
	const uint8_t *value = column->values;
	uint32_t	nslots =
		UINT32_C(1) << (pg_leftmost_one_pos32(Max(entries_max, 2)) + 2);

	memset(dictionary->slots, 0, nslots * sizeof(uint32_t));
	dictionary->n = 0;
	for (uint32_t i = 0; i < column->nvalues; i++)
	{
		uint32_t	code = px_dictionary_code(dictionary, nslots - 1, value,
											  column->lengths[i]);

		if (code >= entries_max)
			return false;
		px_store_u16(codes + (size_t) i * 2, (uint16_t) code);
		value += column->lengths[i];
	}

	dictionary->nbytes = 0;
	for (uint32_t i = 0; i < dictionary->n; i++)
		dictionary->nbytes = px_packed_end(dictionary->nbytes,
										   Max(dictionary->entries[i].nbytes,
											   column->pad));

	return true;
}

/* The plan's parameter is the number of entries that it is good for. */
static px_status
px_dictionary_size(const px_encode_input *input, px_encode_plan *plan,
				   size_t *nbytes)
{
	px_dictionary *dictionary = (px_dictionary *) input->scratch.fixed;
	uint32_t	n = input->column->nvalues;
	uint32_t	entries_max = Min(n / PX_DICTIONARY_USES + 1,
								  PX_DICTIONARY_MAX);
	px_ints		codes = {input->scratch.values, n, 2, false};

	if (!px_dictionary_build(input->column, entries_max, dictionary,
							 input->scratch.values))
		return PX_UNSUITABLE;

	px_ints_choose(&codes, &plan->ints, nbytes);
	*nbytes += dictionary->nbytes;
	plan->parameter =
		Min(dictionary->n * PX_DICTIONARY_GROWTH + PX_DICTIONARY_SMALL,
			PX_DICTIONARY_MAX);

	return PX_OK;
}

static px_status
px_dictionary_write(px_writer *out, const px_encode_input *input,
					const px_encode_plan *plan, px_encoded *result)
{
	px_dictionary *dictionary = (px_dictionary *) input->scratch.fixed;
	const px_column *column = input->column;
	px_ints		codes = {input->scratch.values, column->nvalues, 2, false};
	size_t		start = out->pos;
	size_t		pos = 0;
	uint8_t    *entries;
	px_status	status;

	if (!px_dictionary_build(column, Min(plan->parameter, column->nvalues),
							 dictionary, input->scratch.values))
		return PX_UNSUITABLE;

	if (!px_write_u32(out, dictionary->n) || !px_write_u32(out, 0))
		return PX_NO_SPACE;
	status = px_child_write(out, &codes, &plan->ints, input->scratch.rest,
							&result->stale);
	if (status != PX_OK)
		return status;
	result->head_nbytes = out->pos - start;

	if (!px_write_reserve(out, dictionary->nbytes, &entries))
		return PX_NO_SPACE;
	for (uint32_t i = 0; i < dictionary->n; i++)
		pos = px_packed_put(entries, pos, dictionary->entries[i].value,
							dictionary->entries[i].nbytes, column->pad);
	if (dictionary->nbytes >= PX_DICTIONARY_CODEC_NBYTES)
		result->codec_use = PX_CODEC_USE;

	return PX_OK;
}

/* Read what is in front of the entries, which stand in *text. */
static px_status
px_dictionary_read(const px_chunk *chunk, const uint8_t *encoded,
				   uint32_t *nentries, px_int_stream *codes,
				   const uint8_t **text, size_t *text_nbytes, px_fault *fault)
{
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};
	uint32_t	reserved;
	px_status	status;

	if (!px_read_u32(&r, nentries) || !px_read_u32(&r, &reserved))
		return px_fail(fault, PX_TRUNCATED, "header of a dictionary", 8,
					   chunk->encoded_nbytes);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of a dictionary",
					   0, reserved);
	status = px_child_find(&r, chunk->nvalues, 2, false, codes, fault);
	if (status != PX_OK)
		return status;
	*text = encoded + r.pos;
	*text_nbytes = px_reader_left(&r);

	return PX_OK;
}

static px_status
px_dictionary_read_pointers(const px_chunk *chunk, const uint8_t *encoded,
							const px_decode_room *room, const uint8_t **values,
							px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	const uint8_t **entries = (const uint8_t **) room->scratch;
	int64_t    *codes = room->scratch + n;
	int64_t		all = 0;
	px_int_stream	child;
	uint32_t	nentries;
	const uint8_t *text;
	size_t		text_nbytes;
	px_status	status;

	status = px_dictionary_read(chunk, encoded, &nentries, &child, &text,
								&text_nbytes, fault);
	if (status != PX_OK)
		return status;
	if (nentries < 1 || nentries > n)
		return px_fail(fault, PX_BAD_VALUE, "entries of a dictionary", n,
					   nentries);

	/* The entries come last: until then their place is for run lengths. */
	status = px_ints_read(&child, room->scratch, codes, fault);
	if (status == PX_OK)
		status = px_packed_values_read(text, text_nbytes, nentries, entries,
									   fault);
	if (status != PX_OK)
		return status;

	for (uint32_t i = 0; i < n; i++)
		all = Max(all, codes[i]);	/* they are unsigned, of 16 bits */
	if (all >= (int64_t) nentries)
		return px_fail(fault, PX_BAD_VALUE, "code of a dictionary",
					   nentries - 1, (uint64_t) all);
	for (uint32_t i = 0; i < n; i++)
		values[i] = entries[codes[i]];

	return PX_OK;
}

static void
px_dictionary_text(const px_chunk *chunk, const uint8_t *encoded,
				   const uint8_t **text, size_t *text_nbytes)
{
	px_int_stream	codes;
	uint32_t	nentries;

	*text = encoded;
	*text_nbytes = 0;
	(void) px_dictionary_read(chunk, encoded, &nentries, &codes, text,
							  text_nbytes, NULL);
}

const px_encoding px_encoding_dictionary = {
	.name = "dictionary",
	.suits = px_suits_bytes,
	.size = px_dictionary_size,
	.scratch_nbytes = sizeof(px_dictionary),
	.write = px_dictionary_write,
	.read_pointers = px_dictionary_read_pointers,
	.text = px_dictionary_text
};
