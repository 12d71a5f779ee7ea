/*-------------------------------------------------------------------------
 *
 * verify.c
 *		Reading a sender's frames with the checks of their receiver.
 *
 * This is for assertions only.  It makes a wrong frame fail in the sender, in
 * whichever test makes it, and not in a receiver that has other limits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "column/verify.h"
#include "tuple/verify.h"

static uint8_t *
take(void *arg, size_t nbytes)
{
	return MemoryContextAllocHuge((MemoryContext) arg, nbytes);
}

static px_status
verify_batch(const uint8_t *body, const px_frame_header *header,
			 const px_request *request, const px_fill *fill,
			 px_codec_context *codec, px_fault *fault)
{
	px_batch_limits limits = {request->batch_rows, PX_RAW_RATIO_MAX};
	px_verify_memory memory = {take, NULL};
	px_status	status;

	memory.arg = AllocSetContextCreate(CurrentMemoryContext,
									   "ExchangeSend verification",
									   ALLOCSET_DEFAULT_SIZES);
	status = px_verify_written(body, header, &limits, fill->columns, codec,
							   &memory, fault);
	MemoryContextDelete((MemoryContext) memory.arg);
	return status;
}

static px_status
verify_schema(const uint8_t *body, const px_frame_header *header,
			  px_fault *fault)
{
	px_schema_column *columns = palloc(header->columns *
									   sizeof(px_schema_column));
	px_status	status = px_schema_read(body, header, columns, fault);

	pfree(columns);
	return status;
}

bool
px_frame_is_acceptable(const uint8_t *frame, size_t nbytes,
					   const px_request *request, const px_fill *fill,
					   px_codec_context *codec)
{
	const uint8_t *body = frame + PX_FRAME_HEADER_NBYTES;
	char		text[PX_FAULT_NBYTES_MAX];
	px_frame_header header;
	px_slice	slice;
	px_end		end;
	px_fault	fault;
	px_status	status;

	status = px_frame_peek(frame, nbytes, &header, &fault);
	if (status == PX_OK)
		status = px_frame_verify(frame, &header, &fault);
	if (status == PX_OK && nbytes > PX_FRAME_SENT_NBYTES_MAX)
		status = px_fail(&fault, PX_OVER_LIMIT, "frame",
						 PX_FRAME_SENT_NBYTES_MAX, nbytes);
	if (status == PX_OK)
	{
		switch (header.kind)
		{
			case PX_FRAME_SCHEMA:
				status = verify_schema(body, &header, &fault);
				break;
			case PX_FRAME_BATCH:
				status = verify_batch(body, &header, request, fill, codec,
									  &fault);
				break;
			case PX_FRAME_SLICE:
				status = px_slice_read(body, &header, &slice, &fault);
				break;
			default:
				status = px_end_read(body, &header, &end, &fault);
				break;
		}
	}
	if (status != PX_OK)
		elog(ERROR, "exchange frame would be refused by its receiver: %s: %s",
			 px_status_text(status), px_fault_text(&fault, text));
	return true;
}
