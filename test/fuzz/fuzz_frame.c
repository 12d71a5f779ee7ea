/*-------------------------------------------------------------------------
 *
 * fuzz_frame.c
 *		Frame headers, and the bodies of schema, slice, plan and end frames.
 *
 * The input is a frame.  Its checksum is made right, once it was looked at,
 * so that bodies are reached.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "wire/crc.h"

#define OFF_CRC		(PX_FRAME_HEADER_NBYTES - 4)

/* What was read is written as the same bytes. */
static void
check_rewritten(const uint8_t *body, const px_frame_header *header,
				px_writer *out)
{
	FUZZ_REQUIRE(out->pos == header->body_nbytes);
	FUZZ_REQUIRE(memcmp(out->data, body, out->pos) == 0);
}

static void
read_body(const uint8_t *body, const px_frame_header *header)
{
	static px_schema_column columns[PX_FRAME_COLUMNS_MAX];
	px_writer	out = {fuzz_guarded(SLOT_VALUES, header->body_nbytes),
					 header->body_nbytes, 0};
	px_slice	slice;
	px_end		end;
	px_plan		plan;
	px_fault	fault = {0};
	px_status	status = PX_OK;

	switch (header->kind)
	{
		case PX_FRAME_SCHEMA:
			status = px_schema_read(body, header, columns, &fault);
			if (status == PX_OK)
				FUZZ_REQUIRE(px_schema_write(&out, columns, header->columns) ==
							 PX_OK);
			break;
		case PX_FRAME_SLICE:
			status = px_slice_read(body, header, &slice, &fault);
			if (status == PX_OK)
				FUZZ_REQUIRE(px_slice_write(&out, &slice) == PX_OK);
			break;
		case PX_FRAME_END:
			status = px_end_read(body, header, &end, &fault);
			if (status == PX_OK)
				FUZZ_REQUIRE(px_end_write(&out, &end) == PX_OK);
			break;
		case PX_FRAME_PLAN:
			status = px_plan_read(body, header, &plan, &fault);
			if (status == PX_OK)
				FUZZ_REQUIRE(px_plan_write(&out, &plan) == PX_OK);
			break;
		default:
			return;				/* fuzz_batch.c's */
	}
	FUZZ_REQUIRE(status == fault.status);
	if (status == PX_OK)
		check_rewritten(body, header, &out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *frame = fuzz_guarded_copy(SLOT_FRAME, data, size);
	char		text[PX_FAULT_NBYTES_MAX];
	px_frame_header header;
	px_fault	fault = {0};
	px_status	status;

	status = px_frame_peek(frame, size, &header, &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
	{
		FUZZ_REQUIRE(strlen(px_fault_text(&fault, text)) <
					 PX_FAULT_NBYTES_MAX);
		FUZZ_REQUIRE(strlen(px_status_text(status)) > 0);
		return 0;
	}
	FUZZ_REQUIRE(header.body_nbytes == size - PX_FRAME_HEADER_NBYTES);
	(void) px_frame_verify(frame, &header, &fault);

	header.crc = px_crc32c(frame, OFF_CRC, frame + PX_FRAME_HEADER_NBYTES,
						   header.body_nbytes);
	px_store_u32(frame + OFF_CRC, header.crc);
	FUZZ_REQUIRE(px_frame_verify(frame, &header, &fault) == PX_OK);
	read_body(frame + PX_FRAME_HEADER_NBYTES, &header);

	/* The header is what a writer would write. */
	{
		uint8_t    *copy = fuzz_guarded_copy(SLOT_INPUT, frame, size);

		memset(copy, 0, PX_FRAME_HEADER_NBYTES);
		px_frame_finish(copy, &header);
		FUZZ_REQUIRE(memcmp(copy, frame, size) == 0);
	}
	return 0;
}
