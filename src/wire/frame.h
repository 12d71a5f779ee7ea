/*-------------------------------------------------------------------------
 *
 * frame.h
 *		Frames: what travels between an ExchangeSend and an ExchangeReceive.
 *
 * A stream is a sequence of frames, each the value of one bytea.  Every sender
 * of a stream (the backend itself, and each parallel worker) numbers its own
 * frames from 0.  It sends one schema frame, any number of batch frames and
 * one end frame.  If a slice was requested, a slice frame comes first.  If the
 * remote plan was requested, a plan frame follows the end frames of all
 * senders.  doc/wire.md is the normative description of the bytes.
 *
 * A frame is read in three steps.  px_frame_peek reads the header and applies
 * the limits.  px_frame_verify checks the CRC over every byte.  Only then is
 * the body read.  No function here allocates memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_FRAME_H
#define PX_WIRE_FRAME_H

#include "base/bytes.h"
#include "base/status.h"

/* Protocol versions that this library reads and writes. */
#define PX_PROTOCOL_MIN		1
#define PX_PROTOCOL_MAX		1

#define PX_FRAME_HEADER_NBYTES	40

/*
 * Hard limits, applied before anything is allocated.  A frame is the value of
 * a bytea, so it is smaller than 1 GB.  A batch may have 16 times the default
 * of pg_exchange.batch_rows_max, and MaxTupleAttributeNumber columns.
 */
#define PX_FRAME_NBYTES_MAX		0x3fffffff
#define PX_FRAME_ROWS_MAX		65536
#define PX_FRAME_COLUMNS_MAX	1664

/*
 * The limit for frames that we send.  A frame has to fit into a tuple with its
 * headers: parallel workers send tuples, and a receiver may spool frames to a
 * tuplestore.
 */
#define PX_FRAME_SENT_NBYTES_MAX	(PX_FRAME_NBYTES_MAX - 1024)

/*
 * The greatest raw_nbytes of a batch whose body has body_nbytes: a few bytes
 * must not make the receiver allocate a lot.  LZ4 makes at most 255 bytes of
 * one, so the ratio matters for Zstandard, for values that are compressed
 * twice, and for values of megabytes.
 */
#define PX_RAW_FREE_NBYTES		(8 * 1024 * 1024)
#define PX_RAW_RATIO_MAX		256
#define PX_RAW_NBYTES_MAX(body_nbytes, ratio) \
	(PX_RAW_FREE_NBYTES + (uint64_t) (body_nbytes) * (ratio))

/* The backend, and as many parallel workers as PostgreSQL allows at all. */
#define PX_FRAME_SENDER_MAX		1024

typedef enum px_frame_kind
{
	PX_FRAME_SCHEMA = 1,
	PX_FRAME_BATCH = 2,
	PX_FRAME_END = 3,
	PX_FRAME_SLICE = 4,
	PX_FRAME_PLAN = 5
} px_frame_kind;

/*
 * How a batch was to be compressed.  A chunk that would not become smaller
 * travels without an encoding or a codec; the chunk's header says which it
 * has.  The values are in the order of their costs for the sender.
 */
typedef enum px_choice
{
	PX_CHOICE_PLAIN = 0,		/* plain columns */
	PX_CHOICE_ENCODED = 1,		/* encodings, no codec */
	PX_CHOICE_LZ4 = 2,			/* encodings and LZ4 */
	PX_CHOICE_ZSTD = 3			/* encodings and zstd */
} px_choice;

#define PX_CHOICE_COUNT		4

typedef struct px_frame_header
{
	uint16_t	version;
	uint8_t		kind;			/* px_frame_kind */
	uint8_t		choice;			/* batch: px_choice; else 0 */
	uint32_t	sender;			/* 0: the backend itself, n: parallel worker
								 * n-1; .. PX_FRAME_SENDER_MAX */
	uint32_t	sequence;		/* counts this sender's frames from 0 */
	uint32_t	rows;			/* batch: 1 .. PX_FRAME_ROWS_MAX; else 0 */
	uint16_t	columns;		/* schema, batch: 1 .. PX_FRAME_COLUMNS_MAX;
								 * else 0 */
	uint64_t	raw_nbytes;		/* batch: size of its values as plain chunks */
	uint32_t	body_nbytes;	/* bytes after the header */
	uint32_t	crc;			/* CRC32C of header (without this) and body */
} px_frame_header;

/*
 * Write the header of a frame, and compute the CRC over header and body.  The
 * body, of header->body_nbytes bytes, must already be at
 * frame + PX_FRAME_HEADER_NBYTES.  header->crc is ignored.
 */
extern void px_frame_finish(uint8_t *frame, const px_frame_header *header);

/*
 * Read and check the header of the frame in [data, data + nbytes).
 *
 * Checks, in this order: length, magic, version, kind, choice and reserved
 * bytes, limits of sender, of rows, columns and raw size for the kind, and
 * that body_nbytes is exactly what follows.  Errors: PX_TRUNCATED,
 * PX_TRAILING, PX_BAD_MAGIC, PX_BAD_VERSION, PX_BAD_KIND, PX_BAD_HEADER,
 * PX_OVER_LIMIT.  The checksum has not been checked yet: call px_frame_verify
 * next.
 */
extern px_status px_frame_peek(const uint8_t *data, size_t nbytes,
							   px_frame_header *header, px_fault *fault);

/*
 * The same, but body_nbytes is not compared with the bytes that follow the
 * header.  For a caller that has only the beginning of a frame, or several
 * frames.
 */
extern px_status px_frame_peek_header(const uint8_t *data, size_t nbytes,
									  px_frame_header *header,
									  px_fault *fault);

/*
 * Check the CRC of a frame whose header px_frame_peek has accepted.  Returns
 * PX_BAD_CHECKSUM if it differs.
 */
extern px_status px_frame_verify(const uint8_t *data,
								 const px_frame_header *header,
								 px_fault *fault);

/*
 * How the values of one column travel in a whole stream.  The encoding is
 * another thing: it is chosen for each chunk, see column/encode.c.
 */
typedef enum px_class
{
	PX_CLASS_TEXT = 0,			/* text of the output function; form bytes */
	PX_CLASS_FIXED = 1,			/* fixed width, little-endian */
	PX_CLASS_BYTES = 2,			/* the value's bytes: text-like types, bytea */
	PX_CLASS_NUMERIC = 3,		/* scaled int64; or numeric_send's bytes */
	PX_CLASS_ARRAY = 4			/* arrays of fixed-width elements */
} px_class;

/* May fixed-width values have this width? */
static inline bool
px_width_is_valid(uint8_t width)
{
	return width == 1 || width == 2 || width == 4 || width == 6 ||
		width == 8 || width == 12 || width == 16;
}

/* Are values of this width integers, which encodings can compute with? */
static inline bool
px_width_is_int(uint8_t width)
{
	return width == 1 || width == 2 || width == 4 || width == 8;
}

#define PX_SCHEMA_COLUMN_NBYTES	12

typedef struct px_schema_column
{
	uint32_t	type_oid;		/* sender's type, domains flattened */
	int32_t		typmod;
	uint8_t		class;			/* px_class */
	uint8_t		width;			/* PX_CLASS_FIXED: bytes per value;
								 * PX_CLASS_ARRAY: bytes per element, 1, 2, 4
								 * or 8; else 0 */
} px_schema_column;

/*
 * Write ncolumns descriptions of PX_SCHEMA_COLUMN_NBYTES each to *out.
 * Returns PX_NO_SPACE if they do not fit.
 */
extern px_status px_schema_write(px_writer *out,
								 const px_schema_column *columns,
								 uint16_t ncolumns);

/*
 * Read the body of a schema frame into columns[header->columns].  Errors:
 * PX_TRUNCATED, PX_TRAILING, PX_BAD_HEADER (the class is unknown, the class
 * does not allow the width, or reserved bytes are set).
 */
extern px_status px_schema_read(const uint8_t *body,
								const px_frame_header *header,
								px_schema_column *columns,
								px_fault *fault);

/* Why a stream is not a slice, although a slice was requested. */
typedef enum px_unsliced
{
	PX_SLICED,					/* it is a slice */
	PX_UNSLICED_SHAPE,			/* more than a join: aggregates, LIMIT, … */
	PX_UNSLICED_SORTED,			/* the rows must come sorted */
	PX_UNSLICED_NO_HEAP,		/* no table can be split, see plan/slice.c */
	PX_UNSLICED_SMALL			/* the table is too small */
} px_unsliced;

#define PX_SLICE_NBYTES	16

/*
 * A slice is a range of the blocks of one table.  Slice k of n begins with
 * block (uint64) blocks * k / n and ends before slice k + 1 begins.  The last
 * slice has no end: so it includes blocks that were added after the table was
 * measured.
 */
typedef struct px_slice
{
	uint32_t	slices;			/* n; 1: all rows come in this stream */
	uint32_t	blocks;			/* of the table as measured; n = 1: 0 */
	uint32_t	file;			/* relfilenode, which changes when the table
								 * is rewritten; n = 1: 0 */
	uint32_t	reason;			/* px_unsliced; PX_SLICED if and only if
								 * n > 1 */
} px_slice;

/* Write the body of a slice frame.  Returns PX_NO_SPACE if it does not fit. */
extern px_status px_slice_write(px_writer *out, const px_slice *slice);

/*
 * Read the body of a slice frame.  Errors: PX_TRUNCATED, PX_TRAILING,
 * PX_BAD_HEADER (slices is 0, the reason is unknown, or blocks, file or reason
 * contradict slices).
 */
extern px_status px_slice_read(const uint8_t *body,
							   const px_frame_header *header,
							   px_slice *slice, px_fault *fault);

#define PX_PLAN_HEAD_NBYTES	8

/*
 * What EXPLAIN ANALYZE says of the plan that has sent the stream, in two of
 * its formats.  The texts are not NUL-terminated.  px_plan_read sets pointers
 * into the frame's body.
 */
typedef struct px_plan
{
	const uint8_t *text;
	uint32_t	text_nbytes;
	const uint8_t *json;		/* an object that has the field "Plan" */
	uint32_t	json_nbytes;
} px_plan;

/* Write the body of a plan frame.  Returns PX_NO_SPACE if it does not fit. */
extern px_status px_plan_write(px_writer *out, const px_plan *plan);

/* Read the body of a plan frame.  Errors: PX_TRUNCATED, PX_TRAILING. */
extern px_status px_plan_read(const uint8_t *body,
							  const px_frame_header *header,
							  px_plan *plan, px_fault *fault);

#define PX_END_NBYTES	56

/* Totals of one sender; sizes and counts do not include the end frame. */
typedef struct px_end
{
	uint64_t	rows;
	uint64_t	batches;
	uint64_t	raw_nbytes;		/* sum of the batches' raw_nbytes */
	uint64_t	wire_nbytes;	/* sum of all frames' sizes, with headers */
	uint64_t	encode_us;		/* encoding and compressing */
	uint64_t	send_wait_us;	/* outside the node, sending frames */
	uint64_t	link_rate;		/* bytes per second that the link carried
								 * while it was the bottleneck; 0: not
								 * measured, or it never was */
} px_end;

/* Write the body of an end frame.  Returns PX_NO_SPACE if it does not fit. */
extern px_status px_end_write(px_writer *out, const px_end *end);

/* Read the body of an end frame.  Errors: PX_TRUNCATED, PX_TRAILING. */
extern px_status px_end_read(const uint8_t *body,
							 const px_frame_header *header,
							 px_end *end, px_fault *fault);

#endif							/* PX_WIRE_FRAME_H */
