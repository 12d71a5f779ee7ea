/*-------------------------------------------------------------------------
 *
 * totals.c
 *		What a sender has sent so far, and whether a frame may come next.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "wire/totals.h"

/* PX_BAD_HEADER for the field "what" unless got is as expected. */
static px_status
require(const char *what, uint64_t expected, uint64_t got, px_fault *fault)
{
	if (expected == got)
		return PX_OK;
	return px_fail(fault, PX_BAD_HEADER, what, expected, got);
}

px_status
px_totals_take(px_sender_totals *totals, const px_frame_header *header,
			   bool has_slice, px_fault *fault)
{
	uint32_t	schema_sequence = has_slice ? 1 : 0;
	px_status	status;

	if ((status = require("frames after the end", 0, totals->ended ? 1 : 0,
						  fault)) != PX_OK ||
		(status = require("sequence number", totals->next_sequence,
						  header->sequence, fault)) != PX_OK ||
		(status = require("slice frame first",
						  header->sequence < schema_sequence,
						  header->kind == PX_FRAME_SLICE, fault)) != PX_OK ||
		(status = require("schema frame first",
						  header->sequence == schema_sequence,
						  header->kind == PX_FRAME_SCHEMA, fault)) != PX_OK)
		return status;
	totals->next_sequence++;
	return PX_OK;
}

void
px_totals_count(px_sender_totals *totals, const px_frame_header *header,
				size_t nbytes)
{
	totals->received.wire_nbytes += nbytes;
	if (header->kind != PX_FRAME_BATCH)
		return;
	totals->received.raw_nbytes += header->raw_nbytes;
	totals->received.rows += header->rows;
	totals->received.batches++;
}

px_status
px_totals_finish(px_sender_totals *totals, const uint8_t *body,
				 const px_frame_header *header, px_end *end, px_fault *fault)
{
	const px_end *received = &totals->received;
	px_status	status;

	if ((status = px_end_read(body, header, end, fault)) != PX_OK ||
		(status = require("total rows", end->rows, received->rows,
						  fault)) != PX_OK ||
		(status = require("total batches", end->batches, received->batches,
						  fault)) != PX_OK ||
		(status = require("total raw bytes", end->raw_nbytes,
						  received->raw_nbytes, fault)) != PX_OK ||
		(status = require("total wire bytes", end->wire_nbytes,
						  received->wire_nbytes, fault)) != PX_OK)
		return status;
	totals->ended = true;
	return PX_OK;
}

px_status
px_totals_add(px_sender_totals *totals, const uint8_t *frame,
			  const px_frame_header *header, px_fault *fault)
{
	px_end		end;
	px_status	status;

	if (header->kind == PX_FRAME_PLAN)
		return px_fail(fault, PX_BAD_HEADER, "plan", 0, 1);
	status = px_totals_take(totals, header, false, fault);
	if (status != PX_OK)
		return status;
	if (header->kind == PX_FRAME_END)
		return px_totals_finish(totals, frame + PX_FRAME_HEADER_NBYTES, header,
								&end, fault);
	px_totals_count(totals, header,
					PX_FRAME_HEADER_NBYTES + (size_t) header->body_nbytes);
	return PX_OK;
}
