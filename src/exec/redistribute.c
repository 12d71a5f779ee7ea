/*-------------------------------------------------------------------------
 *
 * redistribute.c
 *		Rows of some servers go to inboxes on others.
 *
 * First of all, each target's stream gets a connection and a transaction, and
 * its server plans the target's query there.  So it has all locks, and says so
 * if it will not run the query.  Then the sources are begun, as far as there
 * are connections for them, and others when these have ended.
 *
 * A source's rows for a target may come in parts.  Then each part is a source
 * of its own for the target's inbox, which returns the rows of one part of all
 * sources after the other.
 *
 * Nothing is returned by a target before all this has ended.  So whatever goes
 * wrong up to there is a reason to leave it, not an error, unless a source's
 * own query raises one.
 *
 * While a chunk waits for its target, no source is read.  So frames take a
 * fixed amount of memory here, and no file: a temp_file_limit of this server
 * may be lower than what is moved.  Nobody waits in a circle.  The sources
 * wait for us, and we for the targets.  A target that pulls waits for the
 * sources alone, and takes what comes from all of them.  Another one waits for
 * nobody: a call only copies frames into its session's memory or file.  It has
 * all locks of its query already, and needs nothing of what a source holds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "exec/ask_session.h"
#include "exec/open_reader.h"
#include "exec/pull_links.h"
#include "exec/redistribute.h"
#include "exec/start.h"
#include "transport/prepare.h"
#include "tuple/decode.h"
#include "tuple/fault.h"
#include "tuple/senders.h"
#include "wire/delivery.h"

/*
 * One call of exchange.fill_inbox has so many bytes, or up to a frame more.
 * While one is sent, the next one is gathered: so a target has something to do
 * as long as sources deliver as much as it takes.
 */
#define CHUNK_NBYTES	(1024 * 1024)

/* A call has one such frame more, and is less than 1 GB. */
#define FRAME_NBYTES_MAX	(512 * 1024 * 1024)

/* A session that is held hears from us more often than it may be idle. */
#define CALL_EVERY_MS	(PX_HELD_IDLE_S * 1000 / 4)

#define FILL	"SELECT exchange.fill_inbox($1::pg_catalog.bytea)"

typedef enum source_phase
{
	SOURCE_NEW,					/* not begun, maybe for want of a connection */
	SOURCE_READING,
	SOURCE_DONE
} source_phase;

typedef struct source
{
	px_redistribute_source *public;
	px_stream  *stream;
	source_phase phase;
	px_senders	senders;
	uint64		ended;			/* bit i: the query's target i has ended, or
								 * its frames do not come here */
	uint64		pulled;			/* bit i: these do not */
} source;

/* A target, and the frames that are on their way to it. */
typedef struct target
{
	px_redistribute_target *public;
	px_stream  *stream;
	StringInfoData chunk;		/* for the next call */
	TimestampTz called_at;		/* the last one */
	char	   *pull;			/* argument of PX_PULL, and then its frames do
								 * not come here; NULL: they do */
} target;

typedef struct redistribution
{
	source	   *sources;
	px_redistribute_source *source_publics;
	int			nsources;
	target	   *targets;
	int			ntargets;
	int			first;			/* source that is read first */
	int			nreading;		/* sources that are being read */
	int			ndone;
	px_stream **streams;		/* scratch: room for all */
	const char *against;		/* why it cannot be; NULL while it can */
	const char *not_pulled;		/* why a target does not pull; or NULL */
} redistribution;

/* Remember the first reason. */
static void
give_up(redistribution *all, const char *reason)
{
	if (reason && all->against == NULL)
		all->against = pstrdup(reason);
}

/* ---------------------------------------------------------------------
 * Targets
 * --------------------------------------------------------------------- */

static void
prepare_targets(redistribution *all)
{
	for (int i = 0; i < all->ntargets && all->against == NULL; i++)
	{
		target	   *to = &all->targets[i];

		give_up(all, px_start_hold(to->public->receive));
		to->stream = to->public->receive->readers[0]->stream;
	}
	for (int i = 0; i < all->ntargets && all->against == NULL; i++)
		give_up(all, px_start_confirm_hold(all->targets[i].public->receive));
}

/* The target's statement is over, or going to be. */
static void
end_call(redistribution *all, target *to)
{
	give_up(all, px_stream_call_end(to->stream,
									&to->public->receive->stats.receive_wait));
}

/* The target has all that it has pulled, or has failed to. */
static void
end_pull(redistribution *all, target *to)
{
	char	   *answer;
	const char *reason =
		px_stream_call_text(to->stream,
							&to->public->receive->stats.receive_wait, &answer);

	if (reason)
		give_up(all, psprintf("%s: %s", to->public->receive->servername,
							  reason));
	to->pull = NULL;
	if (all->against == NULL &&
		(answer == NULL ||
		 !px_pull_links_count(answer, all->source_publics, all->nsources,
							  to->public)))
		give_up(all, "a server does not say what it has pulled");
}

/* Have the targets' servers plan their queries. */
static void
plan_targets(redistribution *all)
{
	for (int i = 0; i < all->ntargets; i++)
	{
		target	   *to = &all->targets[i];

		to->called_at = GetCurrentTimestamp();
		px_stream_call(to->stream, psprintf("EXPLAIN %s", to->stream->sql),
					   NULL, 0);
	}
	for (int i = 0; i < all->ntargets; i++)
		end_call(all, &all->targets[i]);
}

static bool
is_full(const target *to)
{
	return to->chunk.len >= CHUNK_NBYTES;
}

/* Must the sources wait, whose next frame may be for any target? */
static bool
is_any_full(const redistribution *all)
{
	for (int i = 0; i < all->ntargets; i++)
	{
		if (is_full(&all->targets[i]))
			return true;
	}
	return false;
}

/*
 * Send a chunk if the target can take it.  The last one is sent whatever its
 * size, and so is one that keeps the session awake.
 */
static void
send_chunk(redistribution *all, target *to)
{
	bool		last = all->ndone == all->nsources;
	TimestampTz now;

	if (to->stream->holder.connection == NULL)
	{
		give_up(all, "a connection was lost");
		return;
	}
	if (to->stream->phase == PX_STREAM_CALLING)
	{
		if (!px_stream_is_ready(to->stream))
			return;
		if (to->pull)
			end_pull(all, to);
		else
			end_call(all, to);
		if (all->against)
			return;
	}
	now = GetCurrentTimestamp();
	if (!is_full(to) && !(last && to->chunk.len > 0) &&
		!TimestampDifferenceExceeds(to->called_at, now, CALL_EVERY_MS))
		return;

	/* libpq copies what it cannot send at once. */
	px_stream_call(to->stream, FILL, to->chunk.data, to->chunk.len);
	to->called_at = now;
	resetStringInfo(&to->chunk);
}

/* Is anything to be sent to the target, or to be answered by it? */
static bool
is_busy(const target *to)
{
	return to->stream->phase == PX_STREAM_CALLING || to->chunk.len > 0;
}

/* Add a frame to the chunk, which is not full. */
static void
deliver(target *to, uint16 inbox, int number, const uint8_t *frame,
		size_t nbytes)
{
	uint8_t		header[PX_DELIVERY_HEADER_NBYTES];

	px_delivery_header_put(header, (uint32) nbytes, inbox, (uint16) number);
	appendBinaryStringInfo(&to->chunk, (const char *) header, sizeof(header));
	appendBinaryStringInfo(&to->chunk, (const char *) frame, (int) nbytes);
}

/* ---------------------------------------------------------------------
 * Sources
 * --------------------------------------------------------------------- */

/* The targets that a source's query tells apart. */
static int
targets_of_source(const redistribution *all, const source *from)
{
	return all->ntargets * from->public->parts;
}

/*
 * The session of postgres_fdw says that the server can, but a connection may
 * be of before it was updated.  What it answers is of no interest then.
 */
static bool
can_spread(const px_stream *stream)
{
	return stream->holder.connection &&
		stream->holder.connection->hello.can_spread;
}

/*
 * Begin the sources for which there are connections.  If none can be begun and
 * none is read, there will never be one.
 */
static void
begin_sources(redistribution *all)
{
	const char *reason = NULL;

	for (int i = 0; i < all->nsources && all->against == NULL; i++)
	{
		source	   *from = &all->sources[i];
		px_receive_state *receive = from->public->receive;

		if (from->phase != SOURCE_NEW)
			continue;
		if (!px_start_begin(receive, false))
		{
			give_up(all, receive->session_next);
			reason = "no connection is free";
			continue;
		}
		from->stream = receive->readers[0]->stream;
		from->stream->may_fail = true;
		if (receive->plain_sql && !can_spread(from->stream))
			give_up(all, "a connection is one of an older pg_exchange");
		from->phase = SOURCE_READING;
		all->nreading++;
		if (receive->css.ss.ps.instrument)
			InstrStartNode(receive->css.ss.ps.instrument);
	}
	if (all->nreading == 0 && all->ndone < all->nsources)
		give_up(all, reason);
}

/* Wait for those that were begun and not confirmed. */
static void
confirm_sources(redistribution *all)
{
	for (int i = 0; i < all->nsources && all->against == NULL; i++)
	{
		const source *from = &all->sources[i];

		if (from->phase == SOURCE_READING &&
			from->public->receive->phase != PX_RECEIVE_FRAMES)
			give_up(all, px_start_confirm_stream(from->public->receive));
	}
}

static void
end_source(redistribution *all, source *from)
{
	px_receive_state *receive = from->public->receive;

	/* A target does not know its sources, and misses no stream. */
	if (pg_popcount64(from->ended) != targets_of_source(all, from))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"",
						receive->servername),
				 errdetail("Expected ends of streams for %d targets, got %d.",
						   targets_of_source(all, from),
						   pg_popcount64(from->ended))));
	if (pg_popcount64(from->pulled) < targets_of_source(all, from))
		px_senders_require_ends(&from->senders, receive->servername);

	/* Its connection may be wanted by the next one. */
	px_stream_close(from->stream);
	receive->finished = true;
	from->phase = SOURCE_DONE;
	all->nreading--;
	all->ndone++;
	if (receive->css.ss.ps.instrument)
		InstrStopNode(receive->css.ss.ps.instrument,
					  (double) from->public->rows);
	begin_sources(all);
	confirm_sources(all);
}

/*
 * Check what is seen of a frame without decoding it: whether it is whole, the
 * next one of its sender, and has the columns that were requested.  A target
 * would find that, too, but does not know who has made the frame.
 */
static px_frame_header
check_frame(source *from, const uint8_t *frame, size_t nbytes)
{
	const px_receive_state *receive = from->public->receive;
	const px_stream_reader *reader = receive->readers[0];
	px_frame_header header;
	px_fault	fault;

	if (px_frame_peek(frame, nbytes, &header, &fault) != PX_OK ||
		px_frame_verify(frame, &header, &fault) != PX_OK ||
		px_totals_add(px_senders_find(&from->senders, header.sender), frame,
					  &header, &fault) != PX_OK)
		px_raise_fault(receive->servername, &fault);
	if (header.kind == PX_FRAME_SCHEMA)
		px_decoder_cut_schema(reader->decoder, frame + PX_FRAME_HEADER_NBYTES,
							  &header, reader->peer_version);
	return header;
}

/* Pass on a frame of a source. */
static void
pass_on(redistribution *all, source *from, const uint8_t *frame,
		size_t nbytes)
{
	px_receive_state *receive = from->public->receive;
	px_frame_header header = check_frame(from, frame, nbytes);
	uint32		number = header.sender % targets_of_source(all, from);
	target	   *to = &all->targets[number % all->ntargets];
	int			part = number / all->ntargets;

	if ((from->pulled & (UINT64CONST(1) << number)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"",
						receive->servername),
				 errdetail("Expected no frame for target %u, which pulls its rows.",
						   number)));
	if (nbytes > FRAME_NBYTES_MAX)
	{
		give_up(all, "a row is too large");
		return;
	}
	deliver(to, from->public->inbox,
			part * all->nsources + from->public->number, frame, nbytes);
	to->public->rows += header.rows;
	to->public->nbytes += nbytes;
	from->public->rows += header.rows;
	from->public->nbytes += nbytes;
	receive->stats.wire_nbytes += nbytes;
	receive->stats.raw_nbytes += header.raw_nbytes;
	if (header.kind == PX_FRAME_END)
		from->ended |= UINT64CONST(1) << number;
	else if (header.kind == PX_FRAME_BATCH)
	{
		receive->stats.batches++;
		receive->stats.choices[header.choice]++;
	}
}

/* Read what a source has, up to a full chunk; false if that is nothing. */
static bool
read_source(redistribution *all, source *from)
{
	bool		any = false;

	while (from->phase == SOURCE_READING && all->against == NULL &&
		   !is_any_full(all) && px_stream_is_ready(from->stream))
	{
		const uint8_t *frame;
		size_t		nbytes;
		px_stream_status status;

		any = true;
		status = px_stream_next(from->stream, &frame, &nbytes,
								&from->public->receive->stats.receive_wait);
		if (status == PX_STREAM_OK)
			pass_on(all, from, frame, nbytes);
		else if (status == PX_STREAM_END)
			end_source(all, from);
		else
			give_up(all, px_start_status_reason(from->stream, status));
		CHECK_FOR_INTERRUPTS();
	}
	return any;
}

/*
 * Read what the sources have.  Each time another one is the first, so that all
 * of them get on if they deliver more than the targets take.
 */
static bool
read_sources(redistribution *all)
{
	bool		any = false;

	for (int i = 0; i < all->nsources; i++)
	{
		source	   *from = &all->sources[(all->first + i) % all->nsources];

		any = read_source(all, from) || any;
	}
	all->first = (all->first + 1) % all->nsources;
	return any;
}

/* ---------------------------------------------------------------------
 * All together
 * --------------------------------------------------------------------- */

/*
 * See px_ask_keep_awake: the sooner of its time-out and the one given.
 */
static long
keep_awake(px_receive_state *receive, long timeout)
{
	long		ms = px_ask_keep_awake(receive);

	return ms < 0 || (timeout >= 0 && timeout < ms) ? timeout : ms;
}

/*
 * Wait until a source has something that there is room for, or a target is
 * done with its chunk.  The sessions of postgres_fdw are kept awake meanwhile,
 * and those of targets need to be after the time-out.
 */
static void
wait_for_any(redistribution *all)
{
	bool		full = is_any_full(all);
	long		timeout = CALL_EVERY_MS;
	int			n = 0;
	instr_time	wait;

	INSTR_TIME_SET_ZERO(wait);
	for (int i = 0; i < all->nsources; i++)
	{
		const source *from = &all->sources[i];

		timeout = keep_awake(from->public->receive, timeout);
		if (from->phase == SOURCE_READING && !full)
			all->streams[n++] = from->stream;
	}
	for (int i = 0; i < all->ntargets; i++)
	{
		const target *to = &all->targets[i];

		timeout = keep_awake(to->public->receive, timeout);
		if (to->stream->phase == PX_STREAM_CALLING)
			all->streams[n++] = to->stream;
	}

	/* What keeps a session awake may have made one ready. */
	for (int i = 0; i < n; i++)
	{
		if (px_stream_is_ready(all->streams[i]))
			return;
	}
	(void) px_stream_wait_any(all->streams, n, timeout, &wait);
}

static void
move_frames(redistribution *all)
{
	bool		busy = true;

	while (all->against == NULL && (busy || all->ndone < all->nsources))
	{
		bool		any = read_sources(all);

		busy = false;
		for (int i = 0; i < all->ntargets && all->against == NULL; i++)
		{
			send_chunk(all, &all->targets[i]);
			busy = busy || is_busy(&all->targets[i]);
		}
		if (!any && all->against == NULL && (busy || all->nreading > 0))
			wait_for_any(all);
	}
}

/* Leave all streams, and with them what the servers have got. */
static void
leave(redistribution *all)
{
	for (int i = 0; i < all->nsources; i++)
		px_start_rescan(all->sources[i].public->receive);
	for (int i = 0; i < all->ntargets; i++)
		px_start_rescan(all->targets[i].public->receive);
}

/* Frames are compressed if there is a server that they cross a link to. */
static bool
is_any_target_remote(const redistribution *all)
{
	for (int i = 0; i < all->ntargets; i++)
	{
		if (!all->targets[i].public->receive->local)
			return true;
	}
	return false;
}

/* Tell the sources' requests about the targets, which all have a stream. */
static void
tell_sources(redistribution *all)
{
	bool		compress = is_any_target_remote(all);
	uint32		codecs = PG_UINT32_MAX;
	uint32		encodings = PG_UINT32_MAX;

	for (int i = 0; i < all->ntargets; i++)
	{
		const px_hello *hello =
			&all->targets[i].stream->holder.connection->hello;

		codecs &= hello->codecs;
		encodings &= hello->encodings;
	}
	for (int i = 0; i < all->nsources; i++)
	{
		px_receive_state *receive = all->sources[i].public->receive;

		receive->ntargets = targets_of_source(all, &all->sources[i]);
		receive->compress = compress;
		receive->target_codecs = codecs;
		receive->target_encodings = encodings;
		receive->links = 0;
		receive->pulled = receive->plain = 0;
	}
}

/*
 * Have the targets that can pull their rows from the sources begin to do so.
 */
static void
begin_pulls(redistribution *all, px_redistribute_target *targets)
{
	char	  **calls = palloc(all->ntargets * sizeof(char *));

	give_up(all, px_pull_links_agree(all->source_publics, all->nsources,
									 targets, all->ntargets, calls,
									 &all->not_pulled));
	for (int i = 0; i < all->ntargets && all->against == NULL; i++)
	{
		target	   *to = &all->targets[i];

		to->pull = calls[i];
		if (to->pull == NULL)
			continue;
		px_stream_call(to->stream, PX_PULL, to->pull, strlen(to->pull));
		to->called_at = GetCurrentTimestamp();
		for (int j = 0; j < all->nsources; j++)
		{
			source	   *from = &all->sources[j];

			for (int k = 0; k < from->public->parts; k++)
				from->pulled |= UINT64CONST(1) << (k * all->ntargets + i);
			from->ended = from->pulled;
		}
	}
}

static void
run(redistribution *all, px_redistribute_target *targets)
{
	prepare_targets(all);
	if (all->against == NULL)
		plan_targets(all);
	if (all->against)
		return;
	tell_sources(all);
	begin_pulls(all, targets);
	begin_sources(all);
	confirm_sources(all);
	move_frames(all);
}

/* The query of a source without frequent keys, from now on. */
static void
take_plain_sql(px_receive_state *receive)
{
	if (receive->read_sql == receive->remote_sql)
		receive->read_sql = receive->plain_sql;
	receive->remote_sql = receive->plain_sql;
	receive->plain_sql = NULL;
}

bool
px_redistribute_choose_queries(px_redistribute_source *sources, int nsources)
{
	bool		all_can = true;

	for (int i = 0; i < nsources; i++)
	{
		const px_receive_state *receive = sources[i].receive;

		all_can = all_can && receive->plain_sql &&
			px_receive_peer(receive)->admission.hello.can_spread;
	}
	for (int i = 0; i < nsources && !all_can; i++)
	{
		if (sources[i].receive->plain_sql)
			take_plain_sql(sources[i].receive);
	}
	return all_can;
}

const char *
px_redistribute(px_redistribute_source *sources, int nsources,
				px_redistribute_target *targets, int ntargets)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "redistribution",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	redistribution all = {
		.sources = palloc0(nsources * sizeof(source)),
		.source_publics = sources,
		.nsources = nsources,
		.targets = palloc0(ntargets * sizeof(target)),
		.ntargets = ntargets,
		.streams = palloc((nsources + ntargets) * sizeof(px_stream *))
	};
	const char *against;

	for (int i = 0; i < nsources; i++)
	{
		all.sources[i].public = &sources[i];
		all.sources[i].senders.context = context;
		sources[i].rows = sources[i].nbytes = 0;
	}
	for (int i = 0; i < ntargets; i++)
	{
		all.targets[i].public = &targets[i];
		targets[i].rows = targets[i].nbytes = 0;
		targets[i].pulled = false;
		targets[i].not_pulled = NULL;
		initStringInfo(&all.targets[i].chunk);
	}
	run(&all, targets);
	if (all.against)
		leave(&all);
	MemoryContextSwitchTo(oldcontext);
	against = all.against ? pstrdup(all.against) : NULL;
	for (int i = 0; i < ntargets && all.not_pulled; i++)
		targets[i].not_pulled = pstrdup(all.not_pulled);
	MemoryContextDelete(context);
	return against;
}
