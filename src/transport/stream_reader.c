/*-------------------------------------------------------------------------
 *
 * stream_reader.c
 *		From the frames of one stream to rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "column/encoding.h"
#include "transport/stream_reader.h"
#include "tuple/decode.h"
#include "tuple/fault.h"
#include "wire/request.h"


px_stream_reader *
px_stream_reader_new(px_stream *stream, px_decoder *decoder,
					 px_receive_stats *stats)
{
	px_stream_reader *reader = palloc0(sizeof(px_stream_reader));

	reader->stream = stream;
	reader->decoder = decoder;
	reader->stats = stats;
	reader->context = reader->senders.context = CurrentMemoryContext;
	return reader;
}

void
px_stream_reader_reset(px_stream_reader *reader)
{
	reader->finished = reader->session_active = reader->has_begun = false;
	reader->has_plan = false;
	reader->batch_rows = reader->next_row = 0;
	reader->nbatches = 0;
	reader->senders.n = 0;
	if (reader->first_frame)
		pfree(reader->first_frame);
	reader->first_frame = NULL;
	reader->has_frames = reader->wanting = false;
	reader->wire_nbytes = reader->link_rate = 0;
	INSTR_TIME_SET_ZERO(reader->idle);
	px_decoder_reset(reader->decoder);
}

static void
require(const px_stream_reader *reader, const char *what, uint64 expected,
		uint64 got)
{
	px_require(reader->stream->holder.servername, what, expected, got);
}

/* Compare a sender's end frame with what has arrived. */
static void
finish_sender(px_stream_reader *reader, px_sender_totals *totals,
			  const uint8_t *body, const px_frame_header *header)
{
	px_end		end;
	px_fault	fault;

	if (px_totals_finish(totals, body, header, &end, &fault) != PX_OK)
		px_raise_fault(reader->stream->holder.servername, &fault);
	reader->stats->encode_us += end.encode_us;
	reader->stats->send_wait_us += end.send_wait_us;
	reader->stream->counters->encode_us += end.encode_us;
	reader->stream->counters->send_wait_us += end.send_wait_us;
	if (end.link_rate > 0)
		reader->link_rate = reader->stats->link_rate = end.link_rate;
}

static void
take_batch(px_stream_reader *reader, const uint8_t *body,
		   const px_frame_header *header)
{
	/* Decoding takes memory for each row, however small the frame is. */
	if (header->rows > reader->batch_rows_max)
		require(reader, "rows of a batch", reader->batch_rows_max,
				header->rows);
	px_decoder_batch(reader->decoder, body, header);

	reader->stats->raw_nbytes += header->raw_nbytes;
	reader->stats->batches++;
	reader->stats->rows += header->rows;
	reader->stats->choices[header->choice]++;
	reader->batch_rows = header->rows;
	reader->next_row = 0;
	reader->nbatches++;
}

/*
 * Count a frame in the statistics of the server.  Headers, and what else is
 * not a compressed payload, are bytes without a codec.
 */
static void
count_frame(px_stream_reader *reader, px_frame_kind kind, size_t nbytes,
			const px_frame_header *header)
{
	px_counters *counters = reader->stream->counters;
	uint64	   *wire_nbytes = counters->wire_nbytes[reader->same_host];
	const px_batch_contents *contents = px_decoder_contents(reader->decoder);
	uint64		compressed = 0;

	counters->streams += header->sequence == 0 && reader->senders.n == 1 &&
		!reader->session_active;
	if (reader->begins_scan)
		px_counters_add_scan(counters, reader->scan_kinds);
	reader->begins_scan = false;
	px_progress_frame(reader->stream->progress, nbytes);
	if (kind == PX_FRAME_BATCH)
	{
		for (int codec = PX_CODEC_NONE + 1; codec < PX_CODEC_COUNT; codec++)
		{
			wire_nbytes[codec] += contents->stored_nbytes[codec];
			compressed += contents->stored_nbytes[codec];
		}
		counters->rows += header->rows;
		counters->raw_nbytes += header->raw_nbytes;
		counters->batches++;
		if (contents->encodings == PX_ENCODINGS_PLAIN &&
			contents->codecs == PX_CODEC_BIT(PX_CODEC_NONE))
			counters->batches_plain++;
		px_progress_batch(reader->stream->progress, header->rows,
						  header->raw_nbytes, contents->encodings,
						  contents->codecs);
	}
	wire_nbytes[PX_CODEC_NONE] += nbytes - compressed;
}

static void
take_slice(px_stream_reader *reader, const uint8_t *body,
		   const px_frame_header *header)
{
	px_slice	slice;
	px_fault	fault;

	if (px_slice_read(body, header, &slice, &fault) != PX_OK)
		px_raise_fault(reader->stream->holder.servername, &fault);
	px_slices_announce(reader->slices, reader->slice, &slice,
					   reader->stream->holder.servername);
}

/* A copy of a text from the remote, which must be in our encoding. */
static char *
copy_text(px_stream_reader *reader, const uint8_t *text, uint32 nbytes)
{
	char	   *copy = MemoryContextAlloc(reader->context, (Size) nbytes + 1);

	memcpy(copy, text, nbytes);
	copy[nbytes] = '\0';
	(void) pg_verifymbstr(copy, (int) nbytes, false);
	return copy;
}

/* The plan comes last, and is of no sender. */
static void
take_plan(px_stream_reader *reader, const uint8_t *body,
		  const px_frame_header *header)
{
	px_plan		plan;
	px_fault	fault;

	require(reader, "plan", 1, reader->explain != 0 && !reader->has_plan);
	require(reader, "sender", 0, header->sender);
	require(reader, "sequence number", 0, header->sequence);
	px_senders_require_ends(&reader->senders,
							reader->stream->holder.servername);
	if (px_plan_read(body, header, &plan, &fault) != PX_OK)
		px_raise_fault(reader->stream->holder.servername, &fault);

	if (reader->plan_text)
	{
		pfree(reader->plan_text);
		pfree(reader->plan_json);
		reader->plan_text = reader->plan_json = NULL;
	}
	reader->plan_text = copy_text(reader, plan.text, plan.text_nbytes);
	reader->plan_json = copy_text(reader, plan.json, plan.json_nbytes);
	reader->has_plan = true;
}

/*
 * Keep the first batch's frame, which its values point into: the end of the
 * stream takes the frame away, and a rescan may want the rows after that.
 */
static const uint8_t *
keep_first_frame(px_stream_reader *reader, const uint8_t *frame, size_t nbytes)
{
	reader->first_frame = MemoryContextAllocHuge(reader->context, nbytes);
	memcpy(reader->first_frame, frame, nbytes);
	return reader->first_frame;
}

/* Take one frame apart; returns its kind. */
static px_frame_kind
take_frame(px_stream_reader *reader, const uint8_t *frame, size_t nbytes)
{
	px_frame_header header;
	px_sender_totals *totals;
	const uint8_t *body = frame + PX_FRAME_HEADER_NBYTES;
	px_fault	fault;

	if (px_frame_peek(frame, nbytes, &header, &fault) != PX_OK ||
		px_frame_verify(frame, &header, &fault) != PX_OK)
		px_raise_fault(reader->stream->holder.servername, &fault);
	require(reader, "version", reader->version, header.version);

	reader->stats->wire_nbytes += nbytes;
	reader->wire_nbytes += nbytes;
	if (header.kind == PX_FRAME_PLAN)
	{
		take_plan(reader, body, &header);
		count_frame(reader, header.kind, nbytes, &header);
		return header.kind;
	}
	require(reader, "frames after the plan", 0, reader->has_plan);

	/* A slice frame comes first where slices were asked for. */
	totals = px_senders_find(&reader->senders, header.sender);
	if (px_totals_take(totals, &header, reader->slices->wanted > 1,
					   &fault) != PX_OK)
		px_raise_fault(reader->stream->holder.servername, &fault);
	switch (header.kind)
	{
		case PX_FRAME_SLICE:
			take_slice(reader, body, &header);
			break;

		case PX_FRAME_SCHEMA:
			px_decoder_schema(reader->decoder, body, &header,
							  reader->peer_version);
			break;

		case PX_FRAME_BATCH:
			if (reader->keeps_first && reader->nbatches == 0)
				body = keep_first_frame(reader, frame, nbytes) +
					PX_FRAME_HEADER_NBYTES;
			take_batch(reader, body, &header);
			break;

		default:
			finish_sender(reader, totals, body, &header);
			break;
	}
	if (header.kind != PX_FRAME_END)
		px_totals_count(totals, &header, nbytes);
	count_frame(reader, header.kind, nbytes, &header);
	return header.kind;
}

/*
 * Keep what the stream has measured of the link.  What an earlier stream has
 * measured stays if this one was too short for the link to slow it down.
 */
static void
update_link_history(px_stream_reader *reader)
{
	instr_time	now;
	double		us;
	double		rate;
	px_link_reading reading;

	if (reader->link_history == NULL || !reader->has_frames)
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, reader->first_frame_at);
	us = Max((double) INSTR_TIME_GET_MICROSEC(now), 1);
	rate =
		Min(reader->wire_nbytes / us * 1e6, (double) PX_REQUEST_LINK_RATE_MAX);
	reader->stats->link_rate_min =
		Max(reader->stats->link_rate_min, (uint64) rate);

	if (reader->link_rate == 0 && reader->wire_nbytes < PX_LINK_NBYTES_MIN)
		return;
	reading = (px_link_reading) {
		.link = reader->link,
		.link_rate = reader->link_rate,
		.carried_rate = (uint64) rate,
		.idle = (uint32) Min(INSTR_TIME_GET_MICROSEC(reader->idle) / us * 1000,
							 1000),
	};
	px_link_history_learn_reading(reader->link_history, &reading);
}

/* The remote query is complete: was every sender? */
static void
finish_stream(px_stream_reader *reader)
{
	px_senders_require_ends(&reader->senders,
							reader->stream->holder.servername);
	require(reader, "plan frame", reader->explain != 0, reader->has_plan);
	reader->finished = true;
	INSTR_TIME_SET_CURRENT(reader->finished_at);
	update_link_history(reader);
}

/*
 * A frame is here.  Add the time in which it was wanted: since wanting_since;
 * or, if it was waited for at once, what was added to receive_wait since that
 * was wait_before.
 */
static void
count_idle(px_stream_reader *reader, instr_time wait_before)
{
	instr_time	idle;

	if (reader->wanting)
	{
		INSTR_TIME_SET_CURRENT(idle);
		INSTR_TIME_SUBTRACT(idle, reader->wanting_since);
	}
	else
	{
		idle = reader->stats->receive_wait;
		INSTR_TIME_SUBTRACT(idle, wait_before);
	}
	reader->wanting = false;
	if (reader->has_frames)
		INSTR_TIME_ADD(reader->idle, idle);
	else
		INSTR_TIME_SET_CURRENT(reader->first_frame_at);
	reader->has_frames = true;
}

/* Have all senders ended, and has the plan come if one is to? */
static bool
is_complete(const px_stream_reader *reader)
{
	return px_senders_have_ended(&reader->senders) &&
		(reader->explain == 0 || reader->has_plan);
}

/* The next frame, by whichever way they come. */
static px_stream_status
next_frame(px_stream_reader *reader, const uint8_t **frame, size_t *nbytes)
{
	px_stream_status status;
	uint64		overhead_nbytes;

	if (!reader->session_active)
		return px_stream_next(reader->stream, frame, nbytes,
							  &reader->stats->receive_wait);

	/* A cursor is not asked for what cannot come. */
	if (is_complete(reader))
	{
		px_session_finish(reader->session);
		return PX_STREAM_END;
	}
	px_progress_blocked(reader->stream->progress, PX_BLOCKED_SERVER);
	status = px_session_next(reader->session, frame, nbytes,
							 &reader->stats->receive_wait);
	overhead_nbytes = px_session_take_overhead(reader->session);
	reader->stats->wire_nbytes += overhead_nbytes;
	reader->stream->counters->wire_nbytes[reader->same_host][PX_CODEC_NONE] +=
		overhead_nbytes;
	px_progress_blocked(reader->stream->progress, PX_BLOCKED_QUERY);
	return status;
}

px_stream_status
px_stream_reader_next(px_stream_reader *reader, bool wait)
{
	while (!reader->finished)
	{
		const uint8_t *frame = NULL;
		size_t		nbytes = 0;
		instr_time	begin;
		instr_time	end;
		px_frame_kind kind;
		px_stream_status status;
		instr_time	wait_before = reader->stats->receive_wait;

		if (!wait && !reader->session_active &&
			!px_stream_is_ready(reader->stream))
		{
			if (!reader->wanting)
				INSTR_TIME_SET_CURRENT(reader->wanting_since);
			reader->wanting = true;
			return PX_STREAM_PENDING;
		}
		status = next_frame(reader, &frame, &nbytes);
		count_idle(reader, wait_before);
		if (status == PX_STREAM_END)
			finish_stream(reader);
		if (status != PX_STREAM_OK)
			return status;

		INSTR_TIME_SET_CURRENT(begin);
		kind = take_frame(reader, frame, nbytes);
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_ACCUM_DIFF(reader->stats->decode, end, begin);
		INSTR_TIME_ACCUM_DIFF(reader->stream->counters->decode, end, begin);
		px_counters_flush_if_due(end);
		if (kind == PX_FRAME_BATCH || kind == PX_FRAME_SLICE)
			return PX_STREAM_OK;
	}
	return PX_STREAM_END;
}
