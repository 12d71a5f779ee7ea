/*-------------------------------------------------------------------------
 *
 * fuzz_chunk.c
 *		The decoders of one column.
 *
 * The input: rows less 1 (2 bytes), chunk header (24), null bitmap if the
 * header says so, payload up to the end.  What follows from the rest is made
 * right: nvalues, stored_nbytes, without a codec encoded_nbytes and
 * head_nbytes, spare bits and padding.  So nearly all inputs reach a decoder;
 * fuzz_batch.c has the rest.  Two columns stand before it: integers, and
 * something else.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "port/pg_bitutils.h"

enum
{
	OFF_CODEC = 1, OFF_NULLS = 2, OFF_NVALUES = 8, OFF_ENCODED_NBYTES = 12,
	OFF_STORED_NBYTES = 16, OFF_HEAD_NBYTES = 20
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int64_t numbers[PX_FRAME_ROWS_MAX];
	static int64_t earlier[PX_FRAME_ROWS_MAX];
	const int64_t *references[2] = {earlier, NULL};
	fuzz_input	input = {data, size};
	uint32_t	rows = fuzz_take_u16(&input) + 1;
	uint32_t	nvalues = rows;
	uint8_t		header[PX_CHUNK_HEADER_NBYTES];
	px_frame_header frame = {.kind = PX_FRAME_BATCH,
							 .rows = rows,
							 .columns = 1,
							 .raw_nbytes = PX_FRAME_NBYTES_MAX};
	px_writer	out = {0};
	size_t		bitmap_nbytes = 0;
	px_chunk	chunk;
	px_fault	fault = {0};
	px_status	status;

	for (size_t i = 0; i < sizeof(header); i++)
		header[i] = fuzz_take(&input);
	if (header[OFF_NULLS] == PX_NULLS_BITMAP)
		bitmap_nbytes = PX_BITMAP_NBYTES(rows);
	if (input.left < bitmap_nbytes)
		return 0;

	frame.body_nbytes = (uint32_t) (sizeof(header) + PX_ALIGN(bitmap_nbytes) +
									PX_ALIGN(input.left - bitmap_nbytes));
	out.data = fuzz_guarded(SLOT_FRAME, frame.body_nbytes);
	out.cap = frame.body_nbytes;
	out.pos = sizeof(header);
	if (bitmap_nbytes > 0)
	{
		uint8_t    *bitmap = out.data + out.pos;

		(void) px_write_bytes(&out, input.data, bitmap_nbytes);
		if (rows % 8 != 0)
			bitmap[bitmap_nbytes - 1] &= (uint8_t) ((1u << rows % 8) - 1);
		for (size_t i = 0; i < bitmap_nbytes; i++)
			nvalues -= pg_number_of_ones[bitmap[i]];
		(void) px_write_align(&out);
	}
	else if (header[OFF_NULLS] == PX_NULLS_ALL)
		nvalues = 0;
	(void) px_write_bytes(&out, input.data + bitmap_nbytes,
						  input.left - bitmap_nbytes);
	px_store_u32(header + OFF_NVALUES, nvalues);
	px_store_u32(header + OFF_STORED_NBYTES,
				 (uint32_t) (input.left - bitmap_nbytes));
	if (header[OFF_CODEC] == PX_CODEC_NONE)
	{
		px_store_u32(header + OFF_ENCODED_NBYTES,
					 (uint32_t) (input.left - bitmap_nbytes));
		px_store_u32(header + OFF_HEAD_NBYTES, 0);
	}
	memcpy(out.data, header, sizeof(header));
	(void) px_write_align(&out);
	FUZZ_REQUIRE(out.pos == out.cap);

	status = px_batch_read(out.data, &frame, &chunk, &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return 0;
	for (uint32_t row = 0; row < rows; row++)
		earlier[row] = (int64_t) row * 1000003 - 7;
	(void) fuzz_decode_chunk(&chunk, references, lengthof(references),
							 numbers);
	return 0;
}
