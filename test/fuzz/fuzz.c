/*-------------------------------------------------------------------------
 *
 * fuzz.c
 *		What the fuzz targets share; see fuzz.h.
 *
 * The reader of chunks does what tuple/decode.c does, without the executor,
 * and asserts what that relies on.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

void
fuzz_fail(const char *text, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
	fflush(stderr);
	abort();
}

/* ---------------------------------------------------------------------
 * Memory
 * --------------------------------------------------------------------- */

/* A mapping is kept from input to input, and replaced by a larger one. */
typedef struct guarded_map
{
	uint8_t    *start;
	uint8_t    *end;			/* the first byte of the guard page */
} guarded_map;

static guarded_map maps[SLOT_COUNT];

/* What was read goes somewhere. */
static volatile uint8_t sink;

uint8_t *
fuzz_guarded(fuzz_slot slot, size_t n)
{
	guarded_map *map = &maps[slot];
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	uint8_t    *memory;

	if (map->start == NULL || (size_t) (map->end - map->start) < n)
	{
		size_t		nbytes = (n / page + 1) * page;
		void	   *mapped;

		if (map->start)
			munmap(map->start, (size_t) (map->end - map->start) + page);
		mapped = mmap(NULL, nbytes + page, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mapped == MAP_FAILED ||
			mprotect((uint8_t *) mapped + nbytes, page, PROT_NONE) != 0)
		{
			perror("mmap");
			exit(EXIT_FAILURE);
		}
		map->start = mapped;
		map->end = map->start + nbytes;
	}
	memory = map->end - n;
	memset(memory, 0xa5, n);
	return memory;
}

uint8_t *
fuzz_guarded_copy(fuzz_slot slot, const void *data, size_t n)
{
	uint8_t    *memory = fuzz_guarded(slot, n);

	if (n > 0)
		memcpy(memory, data, n);
	return memory;
}

const char *
fuzz_text(const uint8_t *data, size_t size)
{
	char	   *text = (char *) fuzz_guarded(SLOT_INPUT, size + 1);

	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';

	return text;
}

void
fuzz_touch(const void *data, size_t n)
{
	const uint8_t *bytes = data;
	uint8_t		all = 0;

	for (size_t i = 0; i < n; i++)
		all ^= bytes[i];
	sink ^= all;
}

px_codec_context *
fuzz_codec_context(void)
{
	static px_codec_context *context;

	if (context == NULL)
		context = px_codec_open();
	FUZZ_REQUIRE(context != NULL);
	return context;
}

/* ---------------------------------------------------------------------
 * Reading chunks
 * --------------------------------------------------------------------- */

/* A chunk whose codec is undone, and where its decoded values may point. */
typedef struct unpacked
{
	const px_chunk *chunk;
	const uint8_t *encoded;
	px_decode_room room;
	size_t		buffer_nbytes;
} unpacked;

static bool
is_within(const uint8_t *p, size_t n, const uint8_t *area, size_t area_nbytes)
{
	return p >= area && (size_t) (p - area) <= area_nbytes &&
		n <= area_nbytes - (size_t) (p - area);
}

static bool
is_ascii(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		if (bytes[i] == 0 || bytes[i] > 0x7f)
			return false;
	}
	return true;
}

static bool
is_null(const px_chunk *chunk, uint32_t row)
{
	if (chunk->null_layout == PX_NULLS_BITMAP)
		return (chunk->bitmap[row / 8] >> row % 8 & 1) != 0;
	return chunk->null_layout == PX_NULLS_ALL;
}

/* A packed value must lie where values may, as a whole. */
static void
check_packed(const unpacked *u, const uint8_t *packed)
{
	size_t		header_nbytes = *packed & 1 ? 1 : 4;
	size_t		n;

	FUZZ_REQUIRE(
		is_within(packed, header_nbytes, u->encoded,
				  u->chunk->encoded_nbytes) ||
		is_within(packed, header_nbytes, u->room.buffer, u->buffer_nbytes));
	n = px_packed_nbytes(packed);
	FUZZ_REQUIRE(is_within(packed, header_nbytes + n, u->encoded,
						   u->chunk->encoded_nbytes) ||
				 is_within(packed, header_nbytes + n, u->room.buffer,
						   u->buffer_nbytes));
	FUZZ_REQUIRE(header_nbytes + n <= PX_FRAME_NBYTES_MAX);
	fuzz_touch(px_packed_data(packed), n);
}

/* What a Datum of this width and sign would be. */
static void
check_int(const px_chunk *chunk, bool is_signed, int64_t value)
{
	int			shift = 64 - 8 * chunk->width;

	if (is_signed)
		FUZZ_REQUIRE(value == (int64_t) ((uint64_t) value << shift) >> shift);
	else
		FUZZ_REQUIRE((uint64_t) value == (uint64_t) value << shift >> shift);
}

static bool
decode_ints(const unpacked *u, bool is_signed, int64_t *numbers)
{
	const px_chunk *chunk = u->chunk;
	px_fault	fault = {0};
	px_status	status;

	status = px_chunk_decode_ints(chunk, u->encoded, is_signed, &u->room,
								  numbers, &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return false;
	for (uint32_t row = 0; row < chunk->rows; row++)
	{
		check_int(chunk, is_signed, numbers[row]);
		FUZZ_REQUIRE(!is_null(chunk, row) || numbers[row] == 0);
	}
	return true;
}

static void
decode_numerics(const unpacked *u, int64_t *numbers)
{
	px_patches	patches;
	px_fault	fault = {0};
	px_status	status;
	int64_t		previous = -1;

	status = px_chunk_decode_patched(u->chunk, u->encoded, &u->room, numbers,
									 &patches, &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return;
	for (uint32_t i = 0; i < patches.n; i++)
	{
		FUZZ_REQUIRE(patches.rows[i] > previous &&
					 patches.rows[i] < (int64_t) u->chunk->rows);
		FUZZ_REQUIRE(!is_null(u->chunk, (uint32_t) patches.rows[i]));
		previous = patches.rows[i];
		check_packed(u, patches.sent[i]);
	}
}

static void
decode_pointers(unpacked *u)
{
	const px_chunk *chunk = u->chunk;
	const uint8_t **values = (const uint8_t **) fuzz_guarded(
		SLOT_VALUES, chunk->rows * sizeof(*values));
	const uint8_t *text;
	size_t		text_nbytes;
	bool		ascii;
	px_fault	fault = {0};
	px_status	status;

	status = px_chunk_buffer_nbytes(chunk, u->encoded, &u->buffer_nbytes,
									&fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK || u->buffer_nbytes > FUZZ_NBYTES_MAX)
		return;
	u->room.buffer = fuzz_guarded(SLOT_BUFFER, PX_ALIGN(u->buffer_nbytes));
	status = px_chunk_decode_pointers(chunk, u->encoded, &u->room, values,
									  &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return;

	if (chunk->form == PX_FORM_FIXED)
	{
		for (uint32_t row = 0; row < chunk->rows; row++)
		{
			FUZZ_REQUIRE((values[row] == NULL) == is_null(chunk, row));
			if (values[row])
				fuzz_touch(values[row], chunk->width);
		}
		return;
	}
	ascii = px_chunk_text(chunk, u->encoded, &text, &text_nbytes);
	FUZZ_REQUIRE(
		is_within(text, text_nbytes, u->encoded, chunk->encoded_nbytes));
	ascii = ascii && is_ascii(text, text_nbytes);
	for (uint32_t row = 0; row < chunk->rows; row++)
	{
		FUZZ_REQUIRE((values[row] == NULL) == is_null(chunk, row));
		if (values[row] == NULL)
			continue;
		check_packed(u, values[row]);
		FUZZ_REQUIRE(!ascii ||
					 is_ascii(px_packed_data(values[row]),
							  px_packed_nbytes(values[row])));
	}
}

static void
decode_arrays(const unpacked *u)
{
	const px_chunk *chunk = u->chunk;
	px_arrays	arrays;
	uint64_t	nelements = 0;
	uint32_t	nsent = 0;
	int64_t    *elements;
	px_fault	fault = {0};
	px_status	status;

	status = px_chunk_decode_arrays(chunk, u->encoded, &u->room, &arrays,
									&fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return;
	for (uint32_t i = 0; i < chunk->nvalues; i++)
	{
		if (arrays.counts[i] == 0)
			check_packed(u, arrays.sent[nsent++]);
		else
			nelements += (uint64_t) arrays.counts[i] - 1;
	}
	FUZZ_REQUIRE(nsent == arrays.nsent && nelements == arrays.nelements);
	fuzz_touch(arrays.elements.encoded, arrays.elements.nbytes);
	if (nelements * sizeof(int64_t) > FUZZ_NBYTES_MAX)
		return;

	elements = (int64_t *) fuzz_guarded(SLOT_ELEMENTS,
										nelements * sizeof(int64_t));
	for (int is_signed = 0; is_signed < 2; is_signed++)
	{
		status = px_chunk_decode_elements(&arrays, is_signed, elements,
										  &fault);
		FUZZ_REQUIRE(status == PX_OK || status == fault.status);
		for (uint32_t i = 0; status == PX_OK && i < arrays.nelements; i++)
			check_int(chunk, is_signed, elements[i]);
	}
}

bool
fuzz_decode_chunk(const px_chunk *chunk, const int64_t *const *references,
				  uint16_t nreferences, int64_t *numbers)
{
	unpacked	u = {.chunk = chunk};
	bool		integers = false;
	uint8_t    *buffer = NULL;
	px_fault	fault = {0};
	px_status	status;

	if (chunk->encoded_nbytes > FUZZ_NBYTES_MAX)
		return false;
	if (chunk->codec != PX_CODEC_NONE)
		buffer = fuzz_guarded(SLOT_UNPACKED, chunk->encoded_nbytes);
	status = px_chunk_unpack(chunk, fuzz_codec_context(), buffer, &u.encoded,
							 &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return false;
	u.room.scratch = (int64_t *) fuzz_guarded(
		SLOT_SCRATCH, PX_DECODE_SCRATCH_WORDS(chunk->rows) * sizeof(int64_t));
	u.room.references = references;
	u.room.nreferences = nreferences;

	switch ((px_form) chunk->form)
	{
		case PX_FORM_FIXED:
			decode_pointers(&u);
			if (!px_width_is_int(chunk->width))
				break;
			if (chunk->width == sizeof(int64_t))
				decode_numerics(&u, numbers);
			(void) decode_ints(&u, false, numbers);
			integers = decode_ints(&u, true, numbers) &&
				chunk->null_layout == PX_NULLS_NONE;
			break;
		case PX_FORM_BYTES:
			decode_pointers(&u);
			break;
		case PX_FORM_ARRAY:
			if (chunk->nvalues > 0)
				decode_arrays(&u);
			break;
	}
	return integers;
}
