/*-------------------------------------------------------------------------
 *
 * fuzz_batch.c
 *		Whole batch frames, as the receiver reads them.
 *
 * The input is a frame.  Size and checksum in its header are made right.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "fuzz.h"
#include "wire/crc.h"

#define OFF_BODY_NBYTES		32
#define OFF_CRC				36

/* Columns times rows that are kept for columns to be related to. */
#define REFERENCES_MAX		((size_t) 1024 * 1024)

static void
read_batch(const uint8_t *body, const px_frame_header *header)
{
	static px_chunk chunks[PX_FRAME_COLUMNS_MAX];
	static const int64_t *references[PX_FRAME_COLUMNS_MAX];
	static int64_t *numbers;
	px_fault	fault = {0};
	px_status	status;

	if (numbers == NULL)
		numbers = malloc(REFERENCES_MAX * sizeof(int64_t));
	FUZZ_REQUIRE(numbers != NULL);
	status = px_batch_read(body, header, chunks, &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK ||
		(size_t) header->columns * header->rows > REFERENCES_MAX)
		return;

	for (uint16_t i = 0; i < header->columns; i++)
	{
		int64_t    *column = numbers + (size_t) i * header->rows;

		references[i] = NULL;
		if (fuzz_decode_chunk(&chunks[i], references, i, column))
			references[i] = column;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *frame;
	px_frame_header header;

	if (size < PX_FRAME_HEADER_NBYTES)
		return 0;
	frame = fuzz_guarded_copy(SLOT_FRAME, data, size);
	px_store_u32(frame + OFF_BODY_NBYTES,
				 (uint32_t) (size - PX_FRAME_HEADER_NBYTES));
	px_store_u32(frame + OFF_CRC,
				 px_crc32c(frame, OFF_CRC, frame + PX_FRAME_HEADER_NBYTES,
						   size - PX_FRAME_HEADER_NBYTES));
	if (px_frame_peek(frame, size, &header, NULL) == PX_OK &&
		header.kind == PX_FRAME_BATCH)
	{
		FUZZ_REQUIRE(px_frame_verify(frame, &header, NULL) == PX_OK);
		read_batch(frame + PX_FRAME_HEADER_NBYTES, &header);
	}
	return 0;
}
