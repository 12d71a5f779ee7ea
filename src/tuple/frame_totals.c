/*-------------------------------------------------------------------------
 *
 * frame_totals.c
 *		What a sender has sent so far, and whether a frame may come next.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tuple/fault.h"
#include "tuple/frame_totals.h"

void
px_totals_check_order(const char *servername, px_sender_totals *totals,
					  const px_frame_header *header, bool has_slice)
{
	uint32		schema_sequence = has_slice ? 1 : 0;

	px_require(servername, "frames after the end", 0, totals->ended ? 1 : 0);
	px_require(servername, "sequence number", totals->next_sequence,
			   header->sequence);
	px_require(servername, "slice frame first",
			   header->sequence < schema_sequence,
			   header->kind == PX_FRAME_SLICE);
	px_require(servername, "schema frame first",
			   header->sequence == schema_sequence,
			   header->kind == PX_FRAME_SCHEMA);
	totals->next_sequence++;
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

void
px_totals_finish(const char *servername, px_sender_totals *totals,
				 const uint8_t *body, const px_frame_header *header,
				 px_end *end)
{
	px_fault	fault;

	if (px_end_read(body, header, end, &fault) != PX_OK)
		px_raise_fault(servername, &fault);
	px_require(servername, "total rows", end->rows, totals->received.rows);
	px_require(servername, "total batches", end->batches,
			   totals->received.batches);
	px_require(servername, "total raw bytes", end->raw_nbytes,
			   totals->received.raw_nbytes);
	px_require(servername, "total wire bytes", end->wire_nbytes,
			   totals->received.wire_nbytes);
	totals->ended = true;
}
