/*-------------------------------------------------------------------------
 *
 * frame.c
 *		Frame headers, and the bodies of all frames but batches.
 *
 * The byte layout is that of doc/wire.md, field after field.  column/batch.c
 * writes and reads the bodies of batch frames.
 *
 * These functions see one frame at a time, so they cannot check the order of
 * frames.  transport/stream_reader.c does, and compares the totals of the end
 * frame.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "wire/crc.h"
#include "wire/frame.h"

/* "PGXF", read as a little-endian integer. */
#define PX_FRAME_MAGIC			0x46584750

/* The CRC is the last field of the header, and covers the fields before it. */
#define PX_FRAME_CRC_OFFSET		(PX_FRAME_HEADER_NBYTES - 4)

void
px_frame_finish(uint8_t *frame, const px_frame_header *header)
{
	px_writer	w = {frame, PX_FRAME_HEADER_NBYTES, 0};
	uint32_t	crc;
	bool		fits;

	fits = px_write_u32(&w, PX_FRAME_MAGIC) &&
		px_write_u16(&w, header->version) &&
		px_write_u8(&w, header->kind) &&
		px_write_u8(&w, header->choice) &&
		px_write_u32(&w, header->sender) &&
		px_write_u32(&w, header->sequence) &&
		px_write_u32(&w, header->rows) &&
		px_write_u16(&w, header->columns) &&
		px_write_u16(&w, 0) &&
		px_write_u64(&w, header->raw_nbytes) &&
		px_write_u32(&w, header->body_nbytes);
	Assert(fits && w.pos == PX_FRAME_CRC_OFFSET);

	crc = px_crc32c(frame, PX_FRAME_CRC_OFFSET,
					frame + PX_FRAME_HEADER_NBYTES, header->body_nbytes);
	fits = fits && px_write_u32(&w, crc);
	Assert(fits);
	(void) fits;
}

/* Check rows, columns and raw size against what the kind allows. */
static px_status
px_frame_check_counts(const px_frame_header *header, px_fault *fault)
{
	uint32_t	rows_min = 0;
	uint32_t	rows_max = 0;
	uint16_t	columns_min = 0;
	uint16_t	columns_max = 0;
	uint64_t	raw_nbytes_max = 0;

	switch (header->kind)
	{
		case PX_FRAME_SCHEMA:
			columns_min = 1;
			columns_max = PX_FRAME_COLUMNS_MAX;
			break;
		case PX_FRAME_BATCH:
			rows_min = 1;
			rows_max = PX_FRAME_ROWS_MAX;
			columns_min = 1;
			columns_max = PX_FRAME_COLUMNS_MAX;
			raw_nbytes_max = PX_FRAME_NBYTES_MAX;
			break;
		default:
			break;
	}

	if (header->rows < rows_min)
		return px_fail(fault, PX_BAD_HEADER, "rows", rows_min, header->rows);
	if (header->rows > rows_max)
		return px_fail(fault, PX_OVER_LIMIT, "rows", rows_max, header->rows);
	if (header->columns < columns_min)
		return px_fail(fault, PX_BAD_HEADER, "columns",
					   columns_min, header->columns);
	if (header->columns > columns_max)
		return px_fail(fault, PX_OVER_LIMIT, "columns",
					   columns_max, header->columns);
	if (header->raw_nbytes > raw_nbytes_max)
		return px_fail(fault, PX_OVER_LIMIT, "raw_nbytes",
					   raw_nbytes_max, header->raw_nbytes);

	return PX_OK;
}

/* Check body_nbytes against its limit and against the bytes that follow. */
static px_status
px_frame_check_nbytes(const px_frame_header *header, size_t body_nbytes,
					  px_fault *fault)
{
	const uint32_t limit = PX_FRAME_NBYTES_MAX - PX_FRAME_HEADER_NBYTES;

	if (header->body_nbytes > limit)
		return px_fail(fault, PX_OVER_LIMIT, "body_nbytes",
					   limit, header->body_nbytes);
	if (header->body_nbytes > body_nbytes)
		return px_fail(fault, PX_TRUNCATED, "frame body",
					   header->body_nbytes, body_nbytes);
	if (header->body_nbytes < body_nbytes)
		return px_fail(fault, PX_TRAILING, "frame body",
					   header->body_nbytes, body_nbytes);

	return PX_OK;
}

px_status
px_frame_peek_header(const uint8_t *data, size_t nbytes,
					 px_frame_header *header, px_fault *fault)
{
	px_reader	r = {data, nbytes, 0};
	uint32_t	magic;
	uint16_t	reserved;
	uint8_t		choice_max;

	if (!px_read_u32(&r, &magic) ||
		!px_read_u16(&r, &header->version) ||
		!px_read_u8(&r, &header->kind) ||
		!px_read_u8(&r, &header->choice) ||
		!px_read_u32(&r, &header->sender) ||
		!px_read_u32(&r, &header->sequence) ||
		!px_read_u32(&r, &header->rows) ||
		!px_read_u16(&r, &header->columns) ||
		!px_read_u16(&r, &reserved) ||
		!px_read_u64(&r, &header->raw_nbytes) ||
		!px_read_u32(&r, &header->body_nbytes) ||
		!px_read_u32(&r, &header->crc))
		return px_fail(fault, PX_TRUNCATED, "frame header",
					   PX_FRAME_HEADER_NBYTES, nbytes);

	if (magic != PX_FRAME_MAGIC)
		return px_fail(fault, PX_BAD_MAGIC, "magic", PX_FRAME_MAGIC, magic);
	if (header->version < PX_PROTOCOL_MIN || header->version > PX_PROTOCOL_MAX)
		return px_fail(fault, PX_BAD_VERSION, "version",
					   PX_PROTOCOL_MAX, header->version);
	if (header->kind < PX_FRAME_SCHEMA || header->kind > PX_FRAME_PLAN)
		return px_fail(fault, PX_BAD_KIND, "kind", PX_FRAME_PLAN,
					   header->kind);
	choice_max = header->kind == PX_FRAME_BATCH ? PX_CHOICE_COUNT - 1 : 0;
	if (header->choice > choice_max)
		return px_fail(fault, PX_BAD_HEADER, "choice", choice_max,
					   header->choice);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_HEADER, "reserved", 0, reserved);
	if (header->sender > PX_FRAME_SENDER_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "sender",
					   PX_FRAME_SENDER_MAX, header->sender);

	return px_frame_check_counts(header, fault);
}

px_status
px_frame_peek(const uint8_t *data, size_t nbytes,
			  px_frame_header *header, px_fault *fault)
{
	px_status	status = px_frame_peek_header(data, nbytes, header, fault);

	if (status != PX_OK)
		return status;
	return px_frame_check_nbytes(header, nbytes - PX_FRAME_HEADER_NBYTES,
								 fault);
}

px_status
px_frame_verify(const uint8_t *data, const px_frame_header *header,
				px_fault *fault)
{
	uint32_t	crc;

	crc = px_crc32c(data, PX_FRAME_CRC_OFFSET,
					data + PX_FRAME_HEADER_NBYTES, header->body_nbytes);
	if (crc != header->crc)
		return px_fail(fault, PX_BAD_CHECKSUM, "crc32c", header->crc, crc);

	return PX_OK;
}

/* Check that the body has exactly the length that its kind requires. */
static px_status
px_body_check_nbytes(const px_frame_header *header, uint32_t expected,
					 const char *what, px_fault *fault)
{
	if (header->body_nbytes < expected)
		return px_fail(fault, PX_TRUNCATED, what,
					   expected, header->body_nbytes);
	if (header->body_nbytes > expected)
		return px_fail(fault, PX_TRAILING, what,
					   expected, header->body_nbytes);

	return PX_OK;
}

px_status
px_schema_write(px_writer *out, const px_schema_column *columns,
				uint16_t ncolumns)
{
	for (uint16_t i = 0; i < ncolumns; i++)
	{
		const px_schema_column *column = &columns[i];

		if (!px_write_u32(out, column->type_oid) ||
			!px_write_u32(out, (uint32_t) column->typmod) ||
			!px_write_u8(out, column->class) ||
			!px_write_u8(out, column->width) ||
			!px_write_u16(out, 0))
			return PX_NO_SPACE;
	}

	return PX_OK;
}

static px_status
px_schema_column_check(const px_schema_column *column, px_fault *fault)
{
	bool		valid = column->width == 0;

	if (column->class > PX_CLASS_ARRAY)
		return px_fail(fault, PX_BAD_HEADER, "schema column class",
					   PX_CLASS_ARRAY, column->class);
	if (column->class == PX_CLASS_FIXED)
		valid = px_width_is_valid(column->width);
	else if (column->class == PX_CLASS_ARRAY)
		valid = px_width_is_int(column->width);
	if (!valid)
		return px_fail(fault, PX_BAD_HEADER, "schema column width",
					   0, column->width);

	return PX_OK;
}

px_status
px_schema_read(const uint8_t *body, const px_frame_header *header,
			   px_schema_column *columns, px_fault *fault)
{
	px_reader	r = {body, header->body_nbytes, 0};
	px_status	status;

	status = px_body_check_nbytes(header,
								  header->columns * PX_SCHEMA_COLUMN_NBYTES,
								  "schema body", fault);
	if (status != PX_OK)
		return status;

	for (uint16_t i = 0; i < header->columns; i++)
	{
		px_schema_column *column = &columns[i];
		uint32_t	typmod;
		uint16_t	reserved;

		if (!px_read_u32(&r, &column->type_oid) ||
			!px_read_u32(&r, &typmod) ||
			!px_read_u8(&r, &column->class) ||
			!px_read_u8(&r, &column->width) ||
			!px_read_u16(&r, &reserved))
			return px_fail(fault, PX_TRUNCATED, "schema body",
						   PX_SCHEMA_COLUMN_NBYTES, px_reader_left(&r));
		column->typmod = (int32_t) typmod;

		if (reserved != 0)
			return px_fail(fault, PX_BAD_HEADER, "schema column reserved",
						   0, reserved);
		status = px_schema_column_check(column, fault);
		if (status != PX_OK)
			return status;
	}

	return PX_OK;
}

px_status
px_slice_write(px_writer *out, const px_slice *slice)
{
	if (!px_write_u32(out, slice->slices) ||
		!px_write_u32(out, slice->blocks) ||
		!px_write_u32(out, slice->file) ||
		!px_write_u32(out, slice->reason))
		return PX_NO_SPACE;

	return PX_OK;
}

px_status
px_slice_read(const uint8_t *body, const px_frame_header *header,
			  px_slice *slice, px_fault *fault)
{
	px_reader	r = {body, header->body_nbytes, 0};
	px_status	status;

	status = px_body_check_nbytes(header, PX_SLICE_NBYTES, "slice body",
								  fault);
	if (status != PX_OK)
		return status;

	if (!px_read_u32(&r, &slice->slices) ||
		!px_read_u32(&r, &slice->blocks) ||
		!px_read_u32(&r, &slice->file) ||
		!px_read_u32(&r, &slice->reason))
		return px_fail(fault, PX_TRUNCATED, "slice body",
					   PX_SLICE_NBYTES, header->body_nbytes);
	if (slice->slices == 0)
		return px_fail(fault, PX_BAD_HEADER, "slices", 1, 0);
	if (slice->reason > PX_UNSLICED_SMALL)
		return px_fail(fault, PX_BAD_HEADER, "reason not to slice",
					   PX_UNSLICED_SMALL, slice->reason);
	if ((slice->slices > 1) != (slice->reason == PX_SLICED))
		return px_fail(fault, PX_BAD_HEADER, "slices with that reason",
					   1, slice->slices);
	if (slice->slices == 1 && (slice->blocks != 0 || slice->file != 0))
		return px_fail(fault, PX_BAD_HEADER, "blocks and file of one slice",
					   0, slice->blocks != 0 ? slice->blocks : slice->file);

	return PX_OK;
}

px_status
px_plan_write(px_writer *out, const px_plan *plan)
{
	if (!px_write_u32(out, plan->text_nbytes) ||
		!px_write_u32(out, plan->json_nbytes) ||
		!px_write_bytes(out, plan->text, plan->text_nbytes) ||
		!px_write_bytes(out, plan->json, plan->json_nbytes))
		return PX_NO_SPACE;

	return PX_OK;
}

px_status
px_plan_read(const uint8_t *body, const px_frame_header *header,
			 px_plan *plan, px_fault *fault)
{
	px_reader	r = {body, header->body_nbytes, 0};

	if (!px_read_u32(&r, &plan->text_nbytes) ||
		!px_read_u32(&r, &plan->json_nbytes) ||
		!px_read_bytes(&r, plan->text_nbytes, &plan->text) ||
		!px_read_bytes(&r, plan->json_nbytes, &plan->json))
		return px_fail(fault, PX_TRUNCATED, "plan body", r.pos,
					   header->body_nbytes);
	if (px_reader_left(&r) > 0)
		return px_fail(fault, PX_TRAILING, "plan body", r.pos,
					   header->body_nbytes);

	return PX_OK;
}

px_status
px_end_write(px_writer *out, const px_end *end)
{
	if (!px_write_u64(out, end->rows) ||
		!px_write_u64(out, end->batches) ||
		!px_write_u64(out, end->raw_nbytes) ||
		!px_write_u64(out, end->wire_nbytes) ||
		!px_write_u64(out, end->encode_us) ||
		!px_write_u64(out, end->send_wait_us) ||
		!px_write_u64(out, end->link_rate))
		return PX_NO_SPACE;

	return PX_OK;
}

px_status
px_end_read(const uint8_t *body, const px_frame_header *header,
			px_end *end, px_fault *fault)
{
	px_reader	r = {body, header->body_nbytes, 0};
	px_status	status;

	status = px_body_check_nbytes(header, PX_END_NBYTES, "end body", fault);
	if (status != PX_OK)
		return status;

	if (!px_read_u64(&r, &end->rows) ||
		!px_read_u64(&r, &end->batches) ||
		!px_read_u64(&r, &end->raw_nbytes) ||
		!px_read_u64(&r, &end->wire_nbytes) ||
		!px_read_u64(&r, &end->encode_us) ||
		!px_read_u64(&r, &end->send_wait_us) ||
		!px_read_u64(&r, &end->link_rate))
		return px_fail(fault, PX_TRUNCATED, "end body",
					   PX_END_NBYTES, header->body_nbytes);

	return PX_OK;
}
