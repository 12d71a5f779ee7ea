/*-------------------------------------------------------------------------
 *
 * frame_maker.c
 *		Frames of one sender: slice, schema, batches, end.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "column/batch.h"
#include "compat.h"
#include "tuple/frame_maker.h"
#include "tuple/verify.h"

/*
 * A frame travels as a bytea in a DataRow message and, from a parallel worker,
 * in a tuple.  Both must stay below 1 GB including their headers.
 */
#define FRAME_NBYTES_MAX	((size_t) PX_FRAME_SENT_NBYTES_MAX)

/* The bytea begins at byte 4 of the buffer, so that the frame is 8-aligned. */
#define FRAME_OFFSET	8
#define BYTEA_OFFSET	(FRAME_OFFSET - VARHDRSZ)

px_frame_maker *
px_frame_maker_new(const px_request *request, const px_fill *fill,
				   uint32 sender)
{
	px_frame_maker *maker = palloc0(sizeof(px_frame_maker));

	maker->request = request;
	maker->fill = fill;
	maker->sender = sender;
	maker->context = CurrentMemoryContext;
	px_frame_maker_restart(maker);
	return maker;
}

static void
close_codec(void *arg)
{
	px_frame_tools *tools = arg;

	px_codec_close(tools->codec);
	tools->codec = NULL;
}

/*
 * Open the codec.  Its memory is malloc'd, so a callback frees it if the
 * transaction aborts.
 */
static void
open_codec(px_frame_tools *tools)
{
	tools->close_codec.func = close_codec;
	tools->close_codec.arg = tools;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &tools->close_codec);

	tools->codec = px_codec_open();
	if (tools->codec == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed while creating a compression context.")));
}

static bool
needs_scratch(const px_request *request)
{
	return (request->encodings & PX_ENCODINGS_ALL) != PX_ENCODINGS_PLAIN;
}

static bool
needs_codec(const px_request *request)
{
	return request->adaptive || request->codec != PX_CODEC_NONE;
}

px_frame_tools *
px_frame_tools_for(px_frame_tools *tools, const px_request *request)
{
	uint32		rows_max = request->batch_rows;
	bool		has_scratch = needs_scratch(request);
	bool		has_codec = needs_codec(request);

	if (tools && tools->rows_max >= rows_max &&
		(tools->scratch || !has_scratch) && (tools->codec || !has_codec))
		return tools;
	if (tools)
	{
		rows_max = Max(rows_max, tools->rows_max);
		has_scratch |= tools->scratch != NULL;
		has_codec |= tools->codec != NULL;
	}

	tools = palloc0(sizeof(px_frame_tools));
	tools->rows_max = rows_max;
	if (has_scratch)
		tools->scratch = palloc(px_encode_scratch_nbytes(rows_max));
	if (has_codec)
		open_codec(tools);
	return tools;
}

void
px_frame_maker_begin(px_frame_maker *maker, px_frame_tools *tools)
{
	Assert(tools->rows_max >= maker->request->batch_rows);
	Assert(tools->scratch || !needs_scratch(maker->request));
	Assert(tools->codec || !needs_codec(maker->request));
	maker->columns = MemoryContextAllocZero(maker->context,
											Max(maker->fill->ncolumns, 1) *
											sizeof(px_column_state));
	maker->tools = tools;
	maker->options.context = tools->codec;
	maker->options.scratch = tools->scratch;
}

void
px_frame_maker_restart(px_frame_maker *maker)
{
	maker->sequence = 0;
	memset(&maker->totals, 0, sizeof(maker->totals));
	INSTR_TIME_SET_ZERO(maker->encode_time);
}

static void
free_buffer(px_frame_maker *maker)
{
	if (maker->buffer)
		pfree(maker->buffer);
	maker->buffer = NULL;
	maker->frame_cap = 0;
}

void
px_frame_maker_trim(px_frame_maker *maker)
{
	if (maker->frame_cap > maker->fill->keep_nbytes)
		free_buffer(maker);
}

/* Make room for a frame, and return a writer positioned at its body. */
static px_writer
begin_frame(px_frame_maker *maker, size_t frame_nbytes)
{
	px_writer	writer;

	/* Do not keep the memory of a huge frame for the whole stream. */
	if (maker->frame_cap < frame_nbytes ||
		maker->frame_cap > Max(frame_nbytes, maker->fill->keep_nbytes))
	{
		free_buffer(maker);
		maker->buffer = MemoryContextAlloc(maker->context,
										   FRAME_OFFSET + frame_nbytes);
		maker->frame_cap = frame_nbytes;
	}
	writer.data = (uint8_t *) maker->buffer + FRAME_OFFSET;
	writer.cap = frame_nbytes;
	writer.pos = PX_FRAME_HEADER_NBYTES;
	return writer;
}

/* Finish the frame whose body ends at the writer's position. */
static bytea *
finish_frame(px_frame_maker *maker, const px_writer *writer,
			 px_frame_header *header)
{
	bytea	   *frame = (bytea *) (maker->buffer + BYTEA_OFFSET);

	header->version = maker->request->version;
	header->sender = maker->sender;
	header->sequence = maker->sequence++;
	header->body_nbytes = (uint32) (writer->pos - PX_FRAME_HEADER_NBYTES);
	px_frame_finish(writer->data, header);

	if (header->kind != PX_FRAME_END)
		maker->totals.wire_nbytes += writer->pos;
	SET_VARSIZE(frame, VARHDRSZ + writer->pos);
	Assert(px_frame_is_acceptable(writer->data, writer->pos, maker->request,
								  maker->fill,
								  maker->tools ? maker->tools->codec : NULL));
	return frame;
}

bytea *
px_frame_maker_slice(px_frame_maker *maker, const px_slice *slice)
{
	px_frame_header header = {.kind = PX_FRAME_SLICE};
	px_writer	writer = begin_frame(maker,
									 PX_FRAME_HEADER_NBYTES + PX_SLICE_NBYTES);

	if (px_slice_write(&writer, slice) != PX_OK)
		elog(ERROR, "exchange slice does not fit its frame");
	return finish_frame(maker, &writer, &header);
}

bytea *
px_frame_maker_schema(px_frame_maker *maker)
{
	const px_fill *fill = maker->fill;
	px_frame_header header = {.kind = PX_FRAME_SCHEMA,
							  .columns = fill->ncolumns};
	px_writer	writer = begin_frame(maker,
								   PX_FRAME_HEADER_NBYTES +
									   (size_t) fill->ncolumns *
										   PX_SCHEMA_COLUMN_NBYTES);

	if (px_schema_write(&writer, fill->schema, fill->ncolumns) != PX_OK)
		elog(ERROR, "exchange schema does not fit its frame");
	return finish_frame(maker, &writer, &header);
}

bytea *
px_frame_maker_end(px_frame_maker *maker)
{
	px_frame_header header = {.kind = PX_FRAME_END};
	px_writer	writer = begin_frame(maker,
									 PX_FRAME_HEADER_NBYTES + PX_END_NBYTES);

	maker->totals.encode_us = INSTR_TIME_GET_MICROSEC(maker->encode_time);
	if (px_end_write(&writer, &maker->totals) != PX_OK)
		elog(ERROR, "exchange totals do not fit their frame");
	return finish_frame(maker, &writer, &header);
}

size_t
px_frame_maker_raw_nbytes(const px_frame_maker *maker)
{
	const px_fill *fill = maker->fill;
	size_t		raw_nbytes = 0;

	for (int i = 0; i < fill->ncolumns; i++)
		raw_nbytes += px_column_plain_nbytes(&fill->columns[i]);
	if (PX_FRAME_HEADER_NBYTES + raw_nbytes > FRAME_NBYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too large for an exchange frame"),
				 errdetail("%u rows need %zu bytes, the limit is %zu.",
						   fill->rows, PX_FRAME_HEADER_NBYTES + raw_nbytes,
						   FRAME_NBYTES_MAX)));
	return raw_nbytes;
}

bytea *
px_frame_maker_batch(px_frame_maker *maker, size_t raw_nbytes,
					 px_choice choice)
{
	const px_fill *fill = maker->fill;
	px_frame_header header = {.kind = PX_FRAME_BATCH, .choice = choice};
	px_writer writer = begin_frame(maker, PX_FRAME_HEADER_NBYTES + raw_nbytes);
	px_status	status;

	status = px_batch_write(&writer, fill->columns, fill->ncolumns,
							&maker->options, maker->columns);
	if (status != PX_OK)
		elog(ERROR, "could not encode exchange batch: %s",
			 px_status_text(status));

	header.rows = fill->rows;
	header.columns = fill->ncolumns;
	header.raw_nbytes = raw_nbytes;
	maker->totals.rows += fill->rows;
	maker->totals.batches++;
	maker->totals.raw_nbytes += raw_nbytes;
	return finish_frame(maker, &writer, &header);
}
