/*-------------------------------------------------------------------------
 *
 * request.h
 *		The request: what a receiver asks of exchange.send.
 *
 * A request is the first argument of exchange.send.  It is text, so that it
 * can be read in logs and in EXPLAIN: one line of key=value words in the order
 * below, separated by single spaces.
 *
 *	version=1			protocol version of the stream
 *	encodings=7			bit i: encoding i may be used; bit 0, plain, is set
 *	codec=lz4			codec to try: none, lz4 or zstd; auto: see below
 *	level=0				the codec's level, 0 for its default
 *	batch_rows=4096		a batch ends at this many rows
 *	batch_bytes=1048576	or when its raw size exceeds this
 *	server_version=150020	the receiver's server_version_num
 *	codecs=6 cpu_limit=1000 link=6250000 idle=900 random=0	see below
 *	slices=3 slice=1 blocks=1024	only if the stream is to be a slice
 *	explain=3			only to have the plan sent: what to measure of it
 *	targets=4			only to have the rows cut into targets: see below
 *	spread=1			optional, after targets: see below
 *	links=2 pulled=0000000000000003 plain=…	optional, after targets
 *	fetch_rows=100		optional: rows of a FETCH of postgres_fdw
 *	fixed=1				optional, after fetch_rows: see below
 *	session=0123456789abcdef	optional: the session's fingerprint
 *	columns=20:-1,1700:983042,0:-1
 *
 * With codec=auto the sender chooses for each batch by what it measures:
 * plain columns, encodings, or encodings with one of the codecs (bit i set:
 * codec i).  These five words are there only then:
 *
 *	codecs		the codecs to choose from, a bit set
 *	cpu_limit	the thousandths of a core that encoding may take
 *	link		the bytes per second that the link to the receiver carried
 *				when it was last the bottleneck; 0: it never was
 *	idle		the thousandths of its time that the receiver of the last
 *				stream waited for frames
 *	random		1: make random choices instead, for tests
 *
 * slice counts from 0.  blocks is what the slice frame of slice 0 said, or 0
 * for slice 0 itself.
 *
 * With targets=T, the query has one more column than the request.  It is the
 * last one and an int4: the row's target, from 0 to T - 1, or null, and then
 * the row is not sent.  The column itself is not sent.  Each participant has a
 * sender number for each target (doc/wire.md, 1).  With spread=1 it may also
 * be PX_TARGET_ANY or PX_TARGET_ALL.  Only a server whose hello says so reads
 * that word.
 *
 * With links=L, target t belongs to link t % L.  pulled has bit i if the frames
 * of link i are not returned, but collected by another session from what
 * exchange.offer has made in this one (transport/offer.h); plain, a subset of
 * it, if they do not leave their host: so they are not compressed.  Only a
 * server whose hello has the key pull reads these words.
 *
 * For the sender's statement_timeout, fetch_rows rows count as one statement,
 * and the first batch has no more rows than that.  With fixed=1 the sender
 * evaluates the query in steps of fetch_rows rows, and begins a step only when
 * its first frame is wanted: for queries that lock rows, or have other
 * effects.  Such rows cannot have targets.  session is the word of an
 * admission (admission.h): a session with another fingerprint declines the
 * request.
 *
 * Each of columns names the built-in type (domains flattened) and the typmod
 * that the receiver has for the column; type 0 asks for text.  The sender
 * sends a column raw only if it has the same type and typmod, and says in the
 * schema frame what it does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_REQUEST_H
#define PX_WIRE_REQUEST_H

#include "base/status.h"
#include "base/text.h"

#define PX_REQUEST_BATCH_BYTES_MAX	0x10000000	/* 256 MB */
#define PX_REQUEST_SLICES_MAX		64
#define PX_REQUEST_TARGETS_MAX		64
#define PX_REQUEST_LINK_RATE_MAX	(INT64_C(1) << 48)	/* bytes per second */

/* With spread=1: what is no number of a target. */
#define PX_TARGET_ANY	(-1)	/* each row to the next target in turn */
#define PX_TARGET_ALL	(-2)	/* to each of them */

/* What to measure of the plan for a plan frame: a bit set. */
#define PX_EXPLAIN_ROWS		1
#define PX_EXPLAIN_TIMING	2
#define PX_EXPLAIN_BUFFERS	4
#define PX_EXPLAIN_WAL		8
#define PX_EXPLAIN_MAX		15

typedef struct px_request_column
{
	uint32_t	type_oid;		/* 0: send as text */
	int32_t		typmod;			/* -1: any */
} px_request_column;

typedef struct px_request
{
	uint16_t	version;
	uint32_t	encodings;		/* bit set of px_encoding */
	uint8_t		codec;			/* px_codec_id; not valid if adaptive */
	bool		adaptive;		/* codec=auto */
	int32_t		level;
	uint32_t	batch_rows;		/* 1 .. PX_FRAME_ROWS_MAX */
	uint32_t	batch_bytes;	/* 1 .. PX_REQUEST_BATCH_BYTES_MAX */
	uint32_t	server_version;
	uint32_t	codecs;			/* adaptive: bit set of px_codec_id; else 0 */
	uint32_t	cpu_limit;		/* adaptive: .. 1000 */
	uint64_t	link_rate;		/* adaptive: .. PX_REQUEST_LINK_RATE_MAX */
	uint32_t	idle;			/* adaptive: .. 1000 */
	bool		random;			/* adaptive */
	uint32_t	slices;			/* 1: no slices; .. PX_REQUEST_SLICES_MAX */
	uint32_t	slice;			/* < slices */
	uint32_t	blocks;			/* of the table; 0 if slice is */
	uint32_t	explain;		/* 0: no plan; .. PX_EXPLAIN_MAX */
	uint32_t	targets;		/* 0 or 1: the rows are not cut into targets;
								 * .. PX_REQUEST_TARGETS_MAX */
	bool		spread;			/* only with targets */
	uint32_t	links;			/* 0: none are pulled; only with targets */
	uint64_t	pulled;			/* bit i: link i is; 0 without links */
	uint64_t	plain;			/* of these: not compressed */
	uint32_t	fetch_rows;		/* 0: unknown; .. INT32_MAX */
	bool		fixed;			/* only with fetch_rows, without targets */
	bool		has_session;
	uint64_t	session;		/* 0 without has_session */
	uint16_t	ncolumns;		/* 1 .. PX_FRAME_COLUMNS_MAX */
} px_request;

/*
 * Write the request with its columns[request->ncolumns] to buffer[cap],
 * NUL-terminated.  Returns the length that it has, or would have with a larger
 * cap, without the NUL, as snprintf does.
 */
extern size_t px_request_write(char *buffer, size_t cap,
							   const px_request *request,
							   const px_request_column *columns);

/*
 * Parse a request.  columns must have room for PX_FRAME_COLUMNS_MAX.  Errors,
 * where fault->what names the key: PX_BAD_HEADER for any deviation from the
 * form above, PX_OVER_LIMIT for a number out of range, PX_BAD_VERSION for a
 * version outside PX_PROTOCOL_MIN .. MAX, PX_BAD_CODEC for an unknown codec.
 * *request and columns are undefined after an error.
 */
extern px_status px_request_read(const char *text, px_request *request,
								 px_request_column *columns,
								 px_fault *fault);

/*
 * The last word alone, which descriptions (description.h) have, too: append
 * "columns=oid:typmod,..."; or read it, which must be the rest of the text.
 */
extern void px_columns_put(px_text *text, const px_request_column *columns,
						   uint16_t ncolumns);
extern px_status px_columns_take(const char **at, px_request_column *columns,
								 uint16_t *ncolumns, px_fault *fault);

#endif							/* PX_WIRE_REQUEST_H */
