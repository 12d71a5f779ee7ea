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

#include "stats/counters.h"
#include "transport/session.h"
#include "transport/slices.h"
#include "transport/stream.h"
#include "tuple/decode.h"

/* Sums over all streams of a node: slices and rescans make several. */
typedef struct px_receive_stats
{
	uint64		streams;
	uint64		sessions;		/* reads by postgres_fdw's session */
	uint64		batches;
	uint64		raw_nbytes;
	uint64		wire_nbytes;
	uint64		encode_us;		/* told by the end frames */
	uint64		send_wait_us;
	uint64		choices[PX_CHOICE_COUNT];	/* batches, by px_choice */
	uint64		link_rate;		/* bytes per second, as a sender saw it last; 0: none
								 * has, but it was at least ... */
	uint64		link_rate_min;	/* ... so much */
	instr_time	receive_wait;
	instr_time	decode;
} px_receive_stats;

/* What one sender has sent so far, to be held against its end frame. */
typedef struct px_sender_totals
{
	uint32		sender;
	uint32		next_sequence;
	bool		ended;
	px_end		received;		/* rows, batches and sizes counted here */
} px_sender_totals;

typedef struct px_stream_reader
{
	px_stream  *stream;
	px_session *session;		/* NULL unless it has read */
	bool		session_active; /* frames come by session, not by stream */
	px_decoder *decoder;
	px_receive_stats *stats;	/* of the node */

	/* To be set with the stream that is begun. */
	px_slices  *slices;			/* of the node */
	uint16		version;		/* protocol version agreed on */
	uint32		peer_version;	/* the server's server_version_num */
	uint32		batch_rows_max; /* as requested */
	bool		same_host;		/* whatever the settings make of it */
	px_lesson  *lesson;			/* the peer's, to be learned; NULL if mode is not auto */

	int			slice;			/* of slices; 0 if there is but one */
	bool		active;			/* a slice is being read */
	bool		has_begun;		/* a frame of it has come */
	bool		begins_scan;	/* its next frame makes a scan of it, in statistics */
	uint32		explain;		/* as requested; 0: no plan is to follow */
	bool		retried;		/* on a new connection, for want of ExchangeSend */

	/* For the lesson: of this stream, since its first frame. */
	bool		has_frames;
	instr_time	first_frame_at;
	uint64		wire_nbytes;
	uint64		link_rate;
	instr_time	idle;			/* time in which a frame was wanted */
	bool		wanting;		/* since when we do, without waiting for it */
	instr_time	wanting_since;

	bool		finished;		/* every sender has ended */
	bool		has_plan;		/* it has come, after those */
	char	   *plan_text;		/* of the last stream that had one; NULL before */
	char	   *plan_json;
	uint64		nbatches;		/* that have come */
	bool		keeps_first;	/* the first of them stays for a rescan */
	uint8_t    *first_frame;	/* its frame, in context; else NULL */
	uint32		batch_rows;		/* of the batch in the decoder */
	uint32		next_row;		/* of these */
	px_sender_totals *senders;
	int			nsenders;
	int			senders_max;
	MemoryContext context;		/* for senders, and what is kept */
} px_stream_reader;

/* A reader in the current memory context; takes stream and decoder as they are. */
extern px_stream_reader *px_stream_reader_new(px_stream *stream, px_decoder *decoder,
											  px_receive_stats *stats);

/* Forget the last stream before the next one. */
extern void px_stream_reader_reset(px_stream_reader *reader);

/*
 * Read up to the next batch, when the rows of the last one were taken:
 * PX_STREAM_OK and its rows can be picked, or there are none yet but it is now
 * known what the slices are; PX_STREAM_END if there are no more;
 * PX_STREAM_NOT_PLANNED or PX_STREAM_DECLINED, as px_stream_next.  Blocks,
 * serving interrupts; or, if wait is false, returns PX_STREAM_PENDING where it
 * would.
 */
extern px_stream_status px_stream_reader_next(px_stream_reader *reader, bool wait);

#endif							/* PX_TRANSPORT_STREAM_READER_H */
