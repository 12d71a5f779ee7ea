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

#include "column/plain.h"
#include "column/strings.h"

/* Multiplicative hashing: 2^64 / golden ratio, Knuth TAOCP 3, 6.4. */
#define PX_HASH_FACTOR	UINT64_C(0x9E3779B97F4A7C15)

/* The first n bytes of a little-endian word; n <= 8. */
static const uint64_t px_byte_masks[9] = {
	0, UINT64_C(0xff), UINT64_C(0xffff), UINT64_C(0xffffff),
	UINT64_C(0xffffffff), UINT64_C(0xffffffffff), UINT64_C(0xffffffffffff),
	UINT64_C(0xffffffffffffff), UINT64_MAX
};

/*
 * The code of a value, which becomes an entry if it is new.  Bytes behind the
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
	uint64_t	tail = px_load_u64(value + 8) & px_byte_masks[Min(Max(nbytes, 8) - 8, 8)];
	uint64_t	hash = (head + (tail << 23 | tail >> 41) + nbytes) * PX_HASH_FACTOR;
	uint32_t	slot;

	for (uint32_t i = 16; i < nbytes; i += 8)
		hash = (hash ^ hash >> 32 ^ px_load_u64(value + Min(i, nbytes - 8))) * PX_HASH_FACTOR;

	for (slot = (uint32_t) (hash >> 32) & mask;
		 dictionary->slots[slot] != 0;
		 slot = (slot + 1) & mask)
	{
		uint32_t	code = dictionary->slots[slot] - 1;

		entry = &dictionary->entries[code];
		if (entry->head == head && entry->tail == tail && entry->nbytes == nbytes &&
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

bool
px_dictionary_build(const px_column *column, uint32_t entries_max,
					px_dictionary *dictionary, uint8_t *codes)
{
	const uint8_t *value = column->values;
	uint32_t	nslots = UINT32_C(1) << (pg_leftmost_one_pos32(Max(entries_max, 2)) + 2);

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
										   Max(dictionary->entries[i].nbytes, column->pad));

	return true;
}

px_status
px_dictionary_write(px_writer *out, const px_dictionary *dictionary,
					const uint8_t *codes, uint32_t n, const px_ints_plan *plan,
					uint8_t *scratch, bool *stale)
{
	px_ints		ints = {codes, n, 2, false};

	if (!px_write_u32(out, dictionary->n) || !px_write_u32(out, 0))
		return PX_NO_SPACE;

	return px_child_write(out, &ints, plan, scratch, stale);
}

void
px_dictionary_pack(const px_dictionary *dictionary, size_t pad, uint8_t *out)
{
	size_t		pos = 0;

	for (uint32_t i = 0; i < dictionary->n; i++)
		pos = px_plain_encode_value(out, pos, dictionary->entries[i].value,
									dictionary->entries[i].nbytes, pad);
}

/* Read the codes; the entries stand in *text. */
static px_status
px_dictionary_read(const uint8_t *encoded, size_t encoded_nbytes,
				   uint32_t *nentries, px_child *codes, const uint8_t **text,
				   size_t *text_nbytes, px_fault *fault)
{
	px_reader	r = {encoded, encoded_nbytes, 0};
	uint32_t	reserved;
	px_status	status;

	if (!px_read_u32(&r, nentries) || !px_read_u32(&r, &reserved))
		return px_fail(fault, PX_TRUNCATED, "header of a dictionary", 8,
					   encoded_nbytes);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of a dictionary",
					   0, reserved);
	status = px_child_find(&r, 2, codes, fault);
	if (status != PX_OK)
		return status;
	*text = encoded + r.pos;
	*text_nbytes = px_reader_left(&r);

	return PX_OK;
}

px_status
px_dictionary_decode(const uint8_t *encoded, size_t encoded_nbytes, uint32_t n,
					 int64_t *scratch, const uint8_t **out, px_fault *fault)
{
	const uint8_t **entries = (const uint8_t **) scratch;
	int64_t    *codes = scratch + n;
	int64_t		all = 0;
	px_child	child;
	uint32_t	nentries;
	const uint8_t *text;
	size_t		text_nbytes;
	px_status	status;

	status = px_dictionary_read(encoded, encoded_nbytes, &nentries, &child,
								&text, &text_nbytes, fault);
	if (status != PX_OK)
		return status;
	if (nentries < 1 || nentries > n)
		return px_fail(fault, PX_BAD_VALUE, "entries of a dictionary", n, nentries);

	/* The entries come last: until then their place is good for run lengths. */
	status = px_ints_read(child.encoding, child.encoded, child.nbytes, n, 2,
						  false, codes, scratch, fault);
	if (status == PX_OK)
		status = px_plain_decode_bytes(text, text_nbytes, nentries, entries, fault);
	if (status != PX_OK)
		return status;

	for (uint32_t i = 0; i < n; i++)
		all = Max(all, codes[i]);	/* they are unsigned, of 16 bits */
	if (all >= (int64_t) nentries)
		return px_fail(fault, PX_BAD_VALUE, "code of a dictionary",
					   nentries - 1, (uint64_t) all);
	for (uint32_t i = 0; i < n; i++)
		out[i] = entries[codes[i]];

	return PX_OK;
}

void
px_dictionary_text(const uint8_t *encoded, size_t encoded_nbytes,
				   const uint8_t **text, size_t *text_nbytes)
{
	px_child	codes;
	uint32_t	nentries;

	*text = encoded;
	*text_nbytes = 0;
	(void) px_dictionary_read(encoded, encoded_nbytes, &nentries, &codes,
							  text, text_nbytes, NULL);
}
