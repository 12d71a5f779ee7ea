/*-------------------------------------------------------------------------
 *
 * request.h
 *		The request: what a receiver asks of exchange.send.
 *
 * A request is the first argument of exchange.send, a line of text made of
 * key=value words separated by single spaces, in the order below, so that it
 * can be read in logs and in EXPLAIN:
 *
 *	version=1			protocol version of the stream
 *	encodings=7			bit i set: encoding i may be used (bit 0, plain, always)
 *	codec=lz4			codec to try: none, lz4 or zstd; auto: see below
 *	level=0				the codec's level, 0 for its default
 *	batch_rows=4096		a batch ends at this many rows
 *	batch_bytes=1048576	or when its raw size passes this
 *	server_version=150020	the receiver's server_version_num
 *	codecs=6 cpu_limit=1000 link=6250000 idle=900 random=0	only with codec=auto
 *	slices=3 slice=1 blocks=1024	only if the stream is to be a slice
 *	explain=3			only if the plan is to follow: what to measure of it
 *	fetch_rows=100		rows that a FETCH of postgres_fdw would take
 *	fixed=1				only after fetch_rows: so many rows at a time, no more
 *	session=0123456789abcdef	only if the session must be such a one
 *	columns=20:-1,1700:983042,0:-1
 *
 * With codec=auto the sender chooses for each batch, by what it measures, among
 * plain columns, encodings, and encodings with one of the codecs (bit i set:
 * codec i).  Encoding may take cpu_limit thousandths of a core.  The link to
 * the receiver carried so many bytes per second when it was last in the way (0:
 * never), and the last stream's receiver waited for frames for idle thousandths
 * of its time.  random=1 has choices drawn instead, for tests.
 *
 * The last three may each be missing.  fetch_rows is the unit in which a
 * statement is measured for time-outs, and the first batch has no more.
 * fixed=1 has rows fetched by the query in steps of so many, a step no sooner
 * than its first frame is wanted: because the query locks them.  session is
 * that of an admission (admission.h): a session with another fingerprint
 * declines.
 *
 * slice counts from 0.  blocks is what the slice frame of slice 0 said, or 0
 * for slice 0 itself.
 *
 * Each column names the built-in type (domains flattened) and typmod that the
 * receiver stores the column in; type 0 asks for text.  The sender ships a
 * column raw only where its own type and typmod agree, and says in the schema
 * frame what it does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_REQUEST_H
#define PX_WIRE_REQUEST_H

#include "base/status.h"

#define PX_REQUEST_BATCH_BYTES_MAX	0x10000000	/* 256 MB */
#define PX_REQUEST_SLICES_MAX		64
#define PX_REQUEST_LINK_RATE_MAX	(INT64_C(1) << 48)	/* bytes per second */

/* What to measure of the plan, which is then sent as well: a bit set. */
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
	uint32_t	slices;			/* 1: not to be sliced; .. PX_REQUEST_SLICES_MAX */
	uint32_t	slice;			/* < slices */
	uint32_t	blocks;			/* of the table; 0 if slice is */
	uint32_t	explain;		/* 0: no plan; .. PX_EXPLAIN_MAX */
	uint32_t	fetch_rows;		/* 0: unknown; .. INT32_MAX */
	bool		fixed;			/* only with fetch_rows */
	bool		has_session;
	uint64_t	session;		/* 0 without has_session */
	uint16_t	ncolumns;		/* 1 .. PX_FRAME_COLUMNS_MAX */
} px_request;

/*
 * Write the request as a NUL-terminated string to buffer.  Returns the length
 * it has, or would have were cap larger, without the NUL, as snprintf does.
 */
extern size_t px_request_write(char *buffer, size_t cap,
							   const px_request *request,
							   const px_request_column *columns);

/*
 * Parse a request.  columns must have room for PX_FRAME_COLUMNS_MAX.
 * Strict: any deviation from the form above is PX_BAD_HEADER (fault->what
 * names the key), a number out of range PX_OVER_LIMIT, a version that is not
 * spoken PX_BAD_VERSION, an unknown codec PX_BAD_CODEC.
 */
extern px_status px_request_read(const char *text, px_request *request,
								 px_request_column *columns,
								 px_fault *fault);

#endif							/* PX_WIRE_REQUEST_H */
