/*-------------------------------------------------------------------------
 *
 * stream_reader.h
 *		From the frames of one stream to rows.
 *
 * A reader checks the frames of a stream one by one, sequence and totals
 * included, and has each batch decoded, of which rows are then picked.
 * Whatever is wrong is an error that names the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_STREAM_READER_H
#define PX_TRANSPORT_STREAM_READER_H

#include "portability/instr_time.h"

#include "conn/link.h"
#include "transport/session.h"
#include "transport/slices.h"
#include "transport/stream.h"
#include "tuple/decode.h"
#include "tuple/senders.h"

/*
 * A shorter stream may fit into the buffers on its way: how fast it came says
 * nothing about the link.
 */
#define PX_LINK_NBYTES_MIN	(1024 * 1024)

/* Sums over all streams of a node: slices and rescans make several. */
typedef struct px_receive_stats
{
	uint64		streams;
	uint64		sessions;		/* reads by postgres_fdw's session */
	uint64		batches;
	uint64		rows;
	uint64		raw_nbytes;
	uint64		wire_nbytes;
	uint64		encode_us;		/* told by the end frames */
	uint64		send_wait_us;
	uint64		choices[PX_CHOICE_COUNT];	/* batches, by px_choice */
	uint64		link_rate;		/* bytes per second, as a sender measured it
								 * last; 0: the link was never the bottleneck,
								 * and carried at least ... */
	uint64		link_rate_min;	/* ... that much */
	instr_time	receive_wait;
	instr_time	decode;
} px_receive_stats;

/*
 * Whoever has the reader (exec/open_reader.c) writes the first two groups of
 * fields, before and while a stream or session read begins.  The third one is
 * stream_reader.c's own, but that next_row is advanced by whoever takes rows.
 */
typedef struct px_stream_reader
{
	/* Fixed when the reader is made. */
	px_stream  *stream;
	px_decoder *decoder;
	px_receive_stats *stats;	/* of the node */
	MemoryContext context;		/* for what is kept */
	bool		keeps_first;	/* the first batch stays for a rescan */

	/* What is read now. */
	px_slices  *slices;			/* of the node */
	int			slice;			/* of slices; 0 if there is but one */
	bool		active;			/* the slice is being read */
	bool		has_begun;		/* a frame of it has come */
	px_session *session;		/* NULL before the first session read */
	bool		session_active; /* frames come by session, not by stream */
	uint16		version;		/* protocol version agreed on */
	uint32		peer_version;	/* the server's server_version_num */
	bool		same_host;		/* whatever the settings make of that */
	uint32		batch_rows_max; /* as requested */
	uint32		explain;		/* as requested; 0: no plan is to follow */
	px_link_history *link_history;	/* the peer's, updated at the end of the
									 * stream; NULL if mode is not auto */
	px_link_id	link;			/* to the server, when the stream began */
	bool		begins_scan;	/* count a scan with the next frame ... */
	uint32		scan_kinds;		/* ... of these kinds: PX_SCAN_BITs */
	bool		retried;		/* on a new connection, because the backend did
								 * not know exchange.send */

	/* Of the stream or session read so far. */
	bool		has_frames;
	instr_time	first_frame_at;
	uint64		wire_nbytes;
	uint64		link_rate;		/* told by the end frames; 0: not known */
	instr_time	idle;			/* time since the first frame in which the next
								 * one was wanted */
	bool		wanting;		/* one is wanted, but was not waited for ... */
	instr_time	wanting_since;	/* ... since then */
	px_senders	senders;
	uint64		nbatches;		/* that have come */
	uint8_t    *first_frame;	/* the first batch's, in context; NULL unless
								 * keeps_first */
	uint32		batch_rows;		/* of the batch in the decoder */
	uint32		next_row;		/* of these */
	bool		finished;		/* every sender has ended ... */
	instr_time	finished_at;	/* ... then */
	bool		has_plan;		/* it has come, after the ends */
	char	   *plan_text;		/* of the last stream that had one; or NULL */
	char	   *plan_json;
} px_stream_reader;

/*
 * A reader in the current memory context.  stream, decoder and stats must last
 * as long.
 */
extern px_stream_reader *px_stream_reader_new(px_stream *stream,
											  px_decoder *decoder,
											  px_receive_stats *stats);

/* Forget the last stream before the next one. */
extern void px_stream_reader_reset(px_stream_reader *reader);

/*
 * Read up to the next batch, when the rows of the last one were taken.
 * PX_STREAM_OK: its rows can be picked; or it is now known what the slices
 * are, and there are no rows yet.  PX_STREAM_END: there are no more.  What
 * else px_stream_next returns is passed on.  Blocks, serving interrupts; or,
 * if wait is false, returns PX_STREAM_PENDING instead.
 */
extern px_stream_status px_stream_reader_next(px_stream_reader *reader,
											  bool wait);

#endif							/* PX_TRANSPORT_STREAM_READER_H */
