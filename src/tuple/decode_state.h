/*-------------------------------------------------------------------------
 *
 * decode_state.h
 *		What a decoder consists of.
 *
 * Shared by decode.c, which takes batches apart, and decode_values.c, which
 * makes Datums of what is in a chunk.  Others leave it alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_DECODE_STATE_H
#define PX_TUPLE_DECODE_STATE_H

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "codec/codec.h"
#include "column/column.h"
#include "tuple/numeric.h"
#include "tuple/policy.h"
#include "wire/request.h"

/* What a batch consists of. */
typedef struct px_batch_contents
{
	uint64		stored_nbytes[PX_CODEC_COUNT];	/* payloads, by codec */
	uint32		encodings;		/* bit set: 1 << px_encoding */
	uint32		codecs;			/* bit set: 1 << px_codec_id */
} px_batch_contents;

/*
 * Numerics that were made of scaled integers between first and
 * first + NUMERIC_TABLE_SIZE - 1: discounts, quantities and the like are made
 * once, and then pointed to in all batches.
 */
#define NUMERIC_TABLE_SIZE	8192

typedef struct numeric_table
{
	int64		first;
	int			dscale;
	char	   *end;			/* of what is used of data */
	char	   *numerics[NUMERIC_TABLE_SIZE];	/* NULL: not made yet */
	char		data[NUMERIC_TABLE_SIZE * PX_NUMERIC_SCALED_NBYTES_MAX]
				pg_attribute_aligned(MAXIMUM_ALIGNOF);
} numeric_table;

/* What is done with the values of a batch when their window comes. */
typedef enum px_late_step
{
	PX_LATE_NONE,
	PX_LATE_INPUT,				/* text to the type's input function */
	PX_LATE_JSON,				/* must be well-formed */
	PX_LATE_COERCE				/* some may not fit the typmod */
} px_late_step;

typedef struct decode_column
{
	int			index;			/* in the tuple, 0-based; -1: value unused */
	const char *context;		/* line for error contexts */
	const char *name;			/* of the attribute */
	uint64		nbytes;			/* chunks so far, with their headers */
	uint32		encodings_seen; /* 1 << px_encoding */
	uint32		codecs_seen;	/* 1 << px_codec_id */
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
	px_schema_column schema;	/* as the sender ships it */
	px_type_policy policy;		/* what that means */
	px_late_step late;			/* of the current batch */
	Datum	   *values;			/* rows_max of them */
	bool	   *nulls;
	uint8_t    *buffer;			/* what values point to; NULL until needed */
	Size		buffer_nbytes;
	numeric_table *numerics;	/* NULL until needed */
	bool		scaled_fit;		/* scaled integers of the batch, the typmod */
} decode_column;

typedef struct px_decoder
{
	MemoryContext context;		/* the decoder's own, for what grows */
	MemoryContext batch_context;
	MemoryContext window_context;	/* what late steps make; for a window */
	MemoryContext row_context;	/* what they leave behind; for a row */
	const char *servername;
	uint16		ncolumns;
	px_request_column *requests;	/* ncolumns */
	decode_column *columns;
	px_chunk   *chunks;			/* of the current batch */
	bool		have_schema;
	uint32		rows_max;		/* size of the columns' arrays */

	/*
	 * A window is fetch_size rows of the scan, or as many of them as are in
	 * the current batch.
	 */
	uint32		fetch_size;
	uint64		rows_before;	/* of the scan, before the current batch */
	uint32		rows;			/* of the current batch */
	uint32		window_end;		/* row of the batch up to which late steps were
								 * done; PG_UINT32_MAX if there are none */

	/* Of the current batch, see px_decode_account. */
	uint64		raw_nbytes;		/* as its header says */
	uint64		buffered_nbytes;	/* in buffers of columns, besides slack */
	uint64		converted_nbytes;	/* given to functions of the types */

	/* What a row is picked from, apart from all the rest of the columns. */
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
	const uint8_t **pointers;	/* rows_max, scratch */
	const int64_t **references; /* ncolumns; see px_decode_room */
	px_decode_room room;
	StringInfoData text;		/* NUL-terminated copy for input functions */
	px_codec_context *codec;
	uint32		codecs_seen;
	px_batch_contents contents; /* of the current batch */
	int			current;		/* column being converted, for error contexts */
} px_decoder;

#endif							/* PX_TUPLE_DECODE_STATE_H */
