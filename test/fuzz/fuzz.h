/*-------------------------------------------------------------------------
 *
 * fuzz.h
 *		What the fuzz targets share: guarded buffers, and a reader of chunks.
 *
 * A target is one fuzz_*.c with a LLVMFuzzerTestOneInput.  Linked with
 * libFuzzer it is a fuzzer; linked with replay.c it is a test that runs the
 * inputs of the corpus.  A target fails by crashing: FUZZ_REQUIRE aborts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TEST_FUZZ_H
#define PX_TEST_FUZZ_H

#include "codec/codec.h"
#include "column/batch.h"
#include "column/decode.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_REQUIRE(condition) \
	((condition) ? (void) 0 : fuzz_fail(#condition, __FILE__, __LINE__))

extern void fuzz_fail(const char *text, const char *file, int line)
	__attribute__((noreturn));

/*
 * Memory of n bytes that ends at a page that cannot be accessed; 8-aligned if
 * n is a multiple of 8.  It belongs to the slot, whose memory before this is
 * gone, and is filled with 0xa5.
 */
typedef enum fuzz_slot
{
	SLOT_INPUT,
	SLOT_FRAME,
	SLOT_UNPACKED,
	SLOT_SCRATCH,
	SLOT_VALUES,
	SLOT_ELEMENTS,
	SLOT_BUFFER,
	SLOT_ENCODE_SCRATCH,
	SLOT_COUNT
} fuzz_slot;

extern uint8_t *fuzz_guarded(fuzz_slot slot, size_t n);
extern uint8_t *fuzz_guarded_copy(fuzz_slot slot, const void *data, size_t n);

/* The input as a string, which ends with its NUL at that page. */
extern const char *fuzz_text(const uint8_t *data, size_t size);

/* More memory than this no input gets: what asks for it is not decoded. */
#define FUZZ_NBYTES_MAX		((size_t) 8 * 1024 * 1024)

/* Read every byte, so that sanitizers see it. */
extern void fuzz_touch(const void *data, size_t n);

/* One context for all; never closed. */
extern px_codec_context *fuzz_codec_context(void);

/*
 * Decode a chunk that px_batch_read has accepted, in each of the ways that
 * its form allows, and look at everything that comes out: every pointer is
 * within what it may point into, every integer is one of the chunk's width,
 * text that px_chunk_text shows to be ASCII is.  Columns before it are
 * references[nreferences].  Writes the chunk's integers to
 * numbers[chunk->rows] and returns true, if it has integers and no nulls.
 */
extern bool fuzz_decode_chunk(const px_chunk *chunk,
							  const int64_t *const *references,
							  uint16_t nreferences, int64_t *numbers);

/* Input bytes, one after the other; zeros behind the end. */
typedef struct fuzz_input
{
	const uint8_t *data;
	size_t		left;
} fuzz_input;

static inline uint8_t
fuzz_take(fuzz_input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->data++;
}

static inline uint32_t
fuzz_take_u16(fuzz_input *input)
{
	uint32_t	low = fuzz_take(input);

	return low | (uint32_t) fuzz_take(input) << 8;
}

#endif							/* PX_TEST_FUZZ_H */
