/*-------------------------------------------------------------------------
 *
 * decode_state.h
 *		The decoder's state.
 *
 * decode.c, which reads batches, and decode_values.c, which makes Datums of
 * chunks, share it.  Other files must not look into it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_DECODE_STATE_H
#define PX_TUPLE_DECODE_STATE_H

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "codec/codec.h"
#include "column/batch.h"
#include "column/decode.h"
#include "tuple/numeric.h"
#include "tuple/policy.h"
#include "wire/request.h"

/* What a batch consists of. */
typedef struct px_batch_contents
{
	uint64		stored_nbytes[PX_CODEC_COUNT];	/* of payloads, by codec */
	uint32		encodings;		/* bit set: 1 << px_encoding */
	uint32		codecs;			/* bit set: 1 << px_codec_id */
} px_batch_contents;

/*
 * A cache of numerics for the scaled integers first ..
 * first + NUMERIC_TABLE_SIZE - 1.  A column of discounts or quantities has few
 * different values: each is made once, and rows of all batches point to it.
 */
#define NUMERIC_TABLE_SIZE	8192

typedef struct numeric_table
{
	int64		first;
	int			dscale;
	char	   *end;			/* of the used part of data */
	char	   *numerics[NUMERIC_TABLE_SIZE];	/* NULL: not made yet */
	char		data[NUMERIC_TABLE_SIZE * PX_NUMERIC_SCALED_NBYTES_MAX]
				pg_attribute_aligned(MAXIMUM_ALIGNOF);
} numeric_table;

/*
 * What must still be done with the values of a batch when the first row of
 * their window is picked.
 */
typedef enum px_late_step
{
	PX_LATE_NONE,
	PX_LATE_INPUT,				/* call the type's input function */
	PX_LATE_JSON,				/* check that it is well-formed */
	PX_LATE_COERCE				/* coerce to the typmod */
} px_late_step;

typedef struct decode_column
{
	int			index;			/* in the tuple, 0-based; -1: value unused */
	const char *context;		/* line for error contexts */
	const char *name;			/* of the attribute */
	uint64		nbytes;			/* of all chunks so far, with their headers */
	uint32		encodings_seen; /* bit set: 1 << px_encoding */
	uint32		codecs_seen;	/* bit set: 1 << px_codec_id */
	Oid			type;			/* of the attribute */
	int32		typmod;
	Oid			base_type;		/* of a domain, else type */
	int32		base_typmod;
	int16		typlen;
	bool		typbyval;
	bool		is_domain;
	Oid			input_param;	/* for the input function */
	FmgrInfo	input;
	FmgrInfo	coerce;			/* to base_typmod; fn_oid 0 until needed */
	FmgrInfo	receive;		/* of arrays; fn_oid 0 until needed */
	Oid			receive_param;
	void	   *domain_extra;	/* domain_check's cache */
	px_schema_column schema;	/* how the sender sends it; valid once the
								 * decoder has a schema */
	px_type_policy policy;		/* of schema's type */

	/* Of the current batch. */
	px_late_step late;
	Datum	   *values;			/* [rows_max] */
	bool	   *nulls;			/* [rows_max] */
	uint8_t    *buffer;			/* where values point to; NULL until needed */
	Size		buffer_nbytes;
	numeric_table *numerics;	/* kept; NULL until needed */
	bool		scaled_fit;		/* do all scaled integers fit the typmod? */
} decode_column;

typedef struct px_decoder
{
	MemoryContext context;		/* the decoder's own, for buffers that grow */
	MemoryContext batch_context;	/* reset before each batch */
	MemoryContext window_context;	/* results of late steps; reset before
									 * each window */
	MemoryContext row_context;	/* garbage of late steps; reset after each
								 * row */
	const char *servername;
	uint16		ncolumns;
	px_request_column *requests;	/* [ncolumns] */
	decode_column *columns;		/* [ncolumns] */
	px_chunk   *chunks;			/* [ncolumns], of the current batch */
	bool		have_schema;
	uint32		rows_max;		/* size of the columns' arrays */

	/*
	 * A window is fetch_size rows of the scan, those that postgres_fdw would
	 * convert at a time.  It ends with the batch, too.
	 */
	uint32		fetch_size;
	uint64		rows_before;	/* rows of the scan before the current batch */
	uint32		rows;			/* of the current batch */
	uint32		window_begin;	/* row of the batch with which it begins */
	uint32		window_end;		/* row of the batch before which late steps are
								 * done; PG_UINT32_MAX: none are needed */

	/* Of the current batch, see account in decode_values.c. */
	uint64		raw_nbytes;		/* from the frame's header */
	uint64		buffered_nbytes;	/* in buffers of columns, without slack */
	uint64		converted_nbytes;	/* passed to functions of the types */

	/*
	 * What picking a row needs of the columns.  In an array of its own, so
	 * that few cache lines are read for each row.
	 */
	int			npicks;
	struct decode_pick
	{
		const Datum *values;
		const bool *nulls;
		int			index;		/* in the tuple */
	}		   *picks;			/* [ncolumns] */
	char	   *arena;			/* NULL until a batch needs it */
	Size		arena_nbytes;
	Size		arena_used;
	const uint8_t **pointers;	/* [rows_max], scratch */
	const int64_t **references; /* [ncolumns], see px_decode_room */
	px_decode_room room;
	StringInfoData text;		/* NUL-terminated copy for input functions */
	px_codec_context *codec;
	uint32		codecs_seen;
	px_batch_contents contents; /* of the current batch */
	int			current;		/* column being converted, for error contexts;
								 * -1: none */
	int64		current_row;	/* of the batch, in a late step; -1: none */
	bool		parameters;		/* the columns are parameters of a statement */
} px_decoder;

#endif							/* PX_TUPLE_DECODE_STATE_H */
