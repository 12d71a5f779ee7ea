/*-------------------------------------------------------------------------
 *
 * decode.c
 *		From the columns of a batch to the Datums of rows.
 *
 * Memory: the arrays of a column grow to the largest batch; all that is
 * decoded for one batch (undone codecs, by-reference values) goes to one
 * arena whose size is known before decoding starts; what input functions
 * allocate goes to batch_context, reset with each batch.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "codec/codec.h"
#include "column/column.h"
#include "compat.h"
#include "exec/check.h"
#include "exec/decode.h"
#include "type/numeric.h"
#include "type/policy.h"

/* Size of an array with one dimension up to the end of its lower bound. */
#define ARRAY_HEADER_NBYTES	(sizeof(ArrayType) + 2 * sizeof(int))

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
	bool		is_domain;
	Oid			input_param;	/* for the input function */
	FmgrInfo	input;
	FmgrInfo	receive;		/* of arrays; fn_oid 0 until needed */
	Oid			receive_param;
	void	   *domain_extra;	/* domain_check's cache */
	px_schema_column schema;	/* as the sender ships it */
	px_type_policy policy;		/* what that means */
	Datum	   *values;			/* rows_max of them */
	bool	   *nulls;
	uint8_t    *buffer;			/* what values point to; NULL until needed */
	Size		buffer_nbytes;
	numeric_table *numerics;	/* NULL until needed */
} decode_column;

struct px_decoder
{
	MemoryContext context;		/* the decoder's own, for what grows */
	MemoryContext batch_context;
	const char *servername;
	uint16		ncolumns;
	px_request_column *requests;	/* ncolumns */
	decode_column *columns;
	px_chunk   *chunks;			/* of the current batch */
	bool		have_schema;
	uint32		rows_max;		/* size of the columns' arrays */

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
	int			current;		/* column being converted, for error contexts */
};

static void
close_codec(void *arg)
{
	px_codec_close(arg);
}

/* Look up what the local type asks for; the type the sender has comes later. */
static void
init_column(decode_column *column, px_request_column *request,
			TupleDesc tupdesc, int attno, const char *context)
{
	Form_pg_attribute attr = TupleDescAttr(tupdesc, attno - 1);
	Oid			input;
	Oid			base_type;
	int32		base_typmod = attr->atttypmod;

	column->index = attno - 1;
	column->context = context;
	column->name = NameStr(attr->attname);
	column->type = attr->atttypid;
	column->typmod = attr->atttypmod;
	base_type = getBaseTypeAndTypmod(attr->atttypid, &base_typmod);
	column->is_domain = base_type != attr->atttypid;
	getTypeInputInfo(attr->atttypid, &input, &column->input_param);
	fmgr_info(input, &column->input);

	if (base_type < FirstGenbkiObjectId &&
		px_type_lookup(base_type, PG_VERSION_NUM).class != PX_CLASS_TEXT)
	{
		request->type_oid = base_type;
		request->typmod = base_typmod;
	}
}

px_decoder *
px_decoder_new(const char *servername, TupleDesc tupdesc,
			   List *retrieved_attrs, const char **contexts)
{
	px_decoder *decoder = palloc0(sizeof(px_decoder));
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	ListCell   *lc;
	int			i = 0;

	decoder->context = CurrentMemoryContext;
	decoder->batch_context = AllocSetContextCreate(CurrentMemoryContext,
												   "pg_exchange batch",
												   ALLOCSET_DEFAULT_SIZES);
	decoder->servername = servername;
	decoder->current = -1;
	initStringInfo(&decoder->text);

	decoder->codec = px_codec_open();
	if (decoder->codec == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	callback->func = close_codec;
	callback->arg = decoder->codec;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);

	/* "SELECT NULL" has one column, of which nothing is wanted. */
	decoder->ncolumns = Max(list_length(retrieved_attrs), 1);
	decoder->requests = palloc0(decoder->ncolumns * sizeof(px_request_column));
	decoder->columns = palloc0(decoder->ncolumns * sizeof(decode_column));
	decoder->chunks = palloc0(decoder->ncolumns * sizeof(px_chunk));
	decoder->picks = palloc0(decoder->ncolumns * sizeof(struct decode_pick));
	decoder->references = palloc0(decoder->ncolumns * sizeof(int64_t *));
	decoder->room.references = decoder->references;
	for (i = 0; i < decoder->ncolumns; i++)
	{
		decoder->requests[i].typmod = -1;
		decoder->columns[i].index = -1;
	}

	i = 0;
	foreach(lc, retrieved_attrs)
	{
		int			attno = lfirst_int(lc);

		init_column(&decoder->columns[i], &decoder->requests[i], tupdesc, attno,
					contexts[attno - 1]);
		i++;
	}
	return decoder;
}

const px_request_column *
px_decoder_columns(px_decoder *decoder, uint16 *ncolumns)
{
	*ncolumns = decoder->ncolumns;
	return decoder->requests;
}

void
px_decoder_reset(px_decoder *decoder)
{
	decoder->have_schema = false;
	MemoryContextReset(decoder->batch_context);
}

uint32
px_decoder_codecs(const px_decoder *decoder)
{
	return decoder->codecs_seen;
}

List *
px_decoder_report(const px_decoder *decoder)
{
	List	   *report = NIL;

	for (int i = 0; i < decoder->ncolumns; i++)
	{
		const decode_column *column = &decoder->columns[i];
		StringInfoData line;
		const char *separator = "";

		if (column->index < 0)
			continue;
		initStringInfo(&line);
		appendStringInfo(&line, "%s (", column->name);
		for (uint8 encoding = 0; encoding < PX_ENCODING_COUNT; encoding++)
		{
			if (!(column->encodings_seen & (1u << encoding)))
				continue;
			appendStringInfo(&line, "%s%s", separator, px_encoding_name(encoding));
			separator = "/";
		}
		for (uint8 codec = PX_CODEC_NONE + 1; codec < PX_CODEC_COUNT; codec++)
		{
			if (column->codecs_seen & (1u << codec))
				appendStringInfo(&line, " + %s", px_codec_by_id(codec)->name);
		}
		appendStringInfo(&line, ": " UINT64_FORMAT " bytes)", column->nbytes);
		report = lappend(report, line.data);
	}
	return report;
}

void
px_raise_fault(const char *servername, const px_fault *fault)
{
	bool		corrupt = (fault->status == PX_BAD_CHECKSUM ||
						   fault->status == PX_BAD_VALUE ||
						   fault->status == PX_CODEC_FAILED);

	char		detail[PX_FAULT_NBYTES_MAX];

	ereport(ERROR,
			(errcode(corrupt ? ERRCODE_DATA_CORRUPTED : ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid frame from server \"%s\": %s",
					servername, px_status_text(fault->status)),
			 errdetail_internal("%s", px_fault_text(fault, detail))));
}

/* ---------------------------------------------------------------------
 * Schema
 * --------------------------------------------------------------------- */

void
px_decoder_schema(px_decoder *decoder, const uint8_t *body,
				  const px_frame_header *header, uint32 peer_version)
{
	px_schema_column *schema = palloc(header->columns * sizeof(px_schema_column));
	px_fault	fault;

	if (header->columns != decoder->ncolumns)
	{
		px_fail(&fault, PX_BAD_HEADER, "columns", decoder->ncolumns, header->columns);
		px_raise_fault(decoder->servername, &fault);
	}
	if (px_schema_read(body, header, schema, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);

	for (int i = 0; i < decoder->ncolumns; i++)
	{
		decode_column *column = &decoder->columns[i];
		px_type_policy policy = px_type_lookup(InvalidOid, peer_version);

		if (schema[i].class != PX_CLASS_TEXT)
		{
			/* The sender may decline what we asked for, but not do otherwise. */
			policy = px_type_lookup(decoder->requests[i].type_oid, peer_version);
			if (schema[i].type_oid != decoder->requests[i].type_oid)
				px_fail(&fault, PX_BAD_HEADER, "column type",
						decoder->requests[i].type_oid, schema[i].type_oid);
			else if (schema[i].class != policy.class)
				px_fail(&fault, PX_BAD_HEADER, "column class", policy.class, schema[i].class);
			else if (schema[i].width != policy.width)
				px_fail(&fault, PX_BAD_HEADER, "column width", policy.width, schema[i].width);
			else
				fault.status = PX_OK;
			if (fault.status != PX_OK)
				px_raise_fault(decoder->servername, &fault);
		}
		if (decoder->have_schema && schema[i].class != column->schema.class)
		{
			px_fail(&fault, PX_BAD_HEADER, "column class of a further sender",
					column->schema.class, schema[i].class);
			px_raise_fault(decoder->servername, &fault);
		}
		column->schema = schema[i];
		column->policy = policy;
	}
	decoder->have_schema = true;
	pfree(schema);
}

/* ---------------------------------------------------------------------
 * Batch
 * --------------------------------------------------------------------- */

/* Bytes that converting a column's values takes from the arena. */
static Size
converted_nbytes(const decode_column *column, const px_chunk *chunk)
{
	switch (column->policy.kind)
	{
		case PX_DATUM_BYREF:
			return (Size) chunk->rows * MAXALIGN(column->policy.width);
		case PX_DATUM_NAME:
			return (Size) chunk->rows * NAMEDATALEN;
		case PX_DATUM_NUMERIC:
			if (chunk->form == PX_FORM_FIXED)
				return (Size) chunk->rows * PX_NUMERIC_SCALED_NBYTES_MAX;
			return 0;
		case PX_DATUM_INPUT:
		case PX_DATUM_BYVAL:
		case PX_DATUM_VARLENA:
		case PX_DATUM_ARRAY:	/* has a buffer of its own */
			return 0;
	}
	return 0;
}

static void
set_picks(px_decoder *decoder)
{
	decoder->npicks = 0;
	for (int i = 0; i < decoder->ncolumns; i++)
	{
		const decode_column *column = &decoder->columns[i];
		struct decode_pick *pick = &decoder->picks[decoder->npicks];

		if (column->index < 0)
			continue;
		pick->values = column->values;
		pick->nulls = column->nulls;
		pick->index = column->index;
		decoder->npicks++;
	}
}

/*
 * Make room for the batch: arrays for its rows, and an arena for all that is
 * going to be taken from it.  An arena that an unusually large batch left
 * behind is given back.
 */
static void
prepare_batch(px_decoder *decoder, uint32 rows)
{
	Size		needed = 0;

	for (int i = 0; i < decoder->ncolumns; i++)
	{
		px_chunk   *chunk = &decoder->chunks[i];

		if (chunk->codec != PX_CODEC_NONE)
			needed += MAXALIGN(chunk->encoded_nbytes);
		needed += MAXALIGN(converted_nbytes(&decoder->columns[i], chunk));
	}

	if (needed > decoder->arena_nbytes || needed < decoder->arena_nbytes / 8)
	{
		if (decoder->arena)
			pfree(decoder->arena);
		decoder->arena = NULL;
		decoder->arena_nbytes = 0;
		if (needed > 0)
		{
			decoder->arena = MemoryContextAllocHuge(decoder->context, needed + needed / 8);
			decoder->arena_nbytes = needed + needed / 8;
		}
	}
	decoder->arena_used = 0;

	if (rows > decoder->rows_max)
	{
		for (int i = 0; i < decoder->ncolumns; i++)
		{
			decode_column *column = &decoder->columns[i];

			if (column->values)
			{
				pfree(column->values);
				pfree(column->nulls);
			}
			column->values = MemoryContextAlloc(decoder->context, rows * sizeof(Datum));
			column->nulls = MemoryContextAlloc(decoder->context, rows * sizeof(bool));
		}
		if (decoder->pointers)
			pfree(decoder->pointers);
		decoder->pointers = MemoryContextAlloc(decoder->context, rows * sizeof(uint8_t *));
		if (decoder->room.scratch)
			pfree(decoder->room.scratch);
		decoder->room.scratch = MemoryContextAlloc(decoder->context,
												   PX_DECODE_SCRATCH_WORDS(rows) * sizeof(int64_t));
		decoder->rows_max = rows;
		set_picks(decoder);
	}
}

static char *
take_arena(px_decoder *decoder, Size nbytes)
{
	char	   *p = decoder->arena + decoder->arena_used;

	decoder->arena_used += MAXALIGN(nbytes);
	Assert(decoder->arena_used <= decoder->arena_nbytes);
	return p;
}

/* Give a column room for what its values are going to point to. */
static void
grow_buffer(px_decoder *decoder, decode_column *column, Size needed)
{
	/* As with the arena: what an unusually large batch took is given back. */
	if (needed > column->buffer_nbytes || needed < column->buffer_nbytes / 8)
	{
		if (column->buffer)
			pfree(column->buffer);
		column->buffer = NULL;
		column->buffer_nbytes = 0;
		if (needed > 0)
		{
			column->buffer = MemoryContextAllocHuge(decoder->context, needed + needed / 8);
			column->buffer_nbytes = needed + needed / 8;
		}
	}
}

static void
decode_ints(px_decoder *decoder, const px_chunk *chunk, const uint8_t *encoded,
			bool is_signed, int64 *values)
{
	px_fault	fault;

	if (px_chunk_decode_ints(chunk, encoded, is_signed, &decoder->room,
							 (int64_t *) values, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);
}

static void
decode_pointers(px_decoder *decoder, decode_column *column, const px_chunk *chunk,
				const uint8_t *encoded, const uint8_t **values)
{
	size_t		needed;
	px_fault	fault;

	if (px_chunk_buffer_nbytes(chunk, encoded, &needed, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);
	grow_buffer(decoder, column, needed);
	decoder->room.buffer = column->buffer;
	if (px_chunk_decode_pointers(chunk, encoded, &decoder->room, values, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);
}

/* Does the chunk's form suit the class that the schema announced? */
static bool
form_suits_class(const px_chunk *chunk, const px_schema_column *schema)
{
	switch (schema->class)
	{
		case PX_CLASS_FIXED:
			return chunk->form == PX_FORM_FIXED && chunk->width == schema->width &&
				chunk->scale == 0;
		case PX_CLASS_ARRAY:
			return chunk->form == PX_FORM_ARRAY && chunk->width == schema->width;
		case PX_CLASS_NUMERIC:
			return chunk->form == PX_FORM_BYTES ||
				(chunk->form == PX_FORM_FIXED && chunk->width == sizeof(int64));
		default:
			return chunk->form == PX_FORM_BYTES;
	}
}

static void
decode_byref(px_decoder *decoder, decode_column *column, const px_chunk *chunk,
			 const uint8_t *encoded)
{
	Size		stride = MAXALIGN(column->policy.width);
	char	   *dst = take_arena(decoder, chunk->rows * stride);

	if (column->policy.width <= 8 && column->policy.width != 6)
	{
		/* Wide enough to have been taken for an integer (macaddr8). */
		decode_ints(decoder, chunk, encoded, false, (int64 *) dst);
		for (uint32 row = 0; row < chunk->rows; row++)
			column->values[row] = PointerGetDatum(dst + row * stride);
		return;
	}

	decode_pointers(decoder, column, chunk, encoded, decoder->pointers);
	for (uint32 row = 0; row < chunk->rows; row++)
	{
		if (decoder->pointers[row])
			memcpy(dst, decoder->pointers[row], column->policy.width);
		column->values[row] = PointerGetDatum(dst);
		dst += stride;
	}
}

static void
decode_name(px_decoder *decoder, decode_column *column, const px_chunk *chunk)
{
	px_fault	fault;
	char	   *dst = take_arena(decoder, (Size) chunk->rows * NAMEDATALEN);

	for (uint32 row = 0; row < chunk->rows; row++, dst += NAMEDATALEN)
	{
		const uint8_t *packed = (const uint8_t *) DatumGetPointer(column->values[row]);
		size_t		n;

		if (packed == NULL)
			continue;
		n = px_packed_nbytes(packed);
		if (n >= NAMEDATALEN)
		{
			px_fail(&fault, PX_BAD_VALUE, "length of a name", NAMEDATALEN - 1, n);
			px_raise_fault(decoder->servername, &fault);
		}
		memset(dst, 0, NAMEDATALEN);
		memcpy(dst, px_packed_data(packed), n);
		column->values[row] = PointerGetDatum(dst);
	}
}

/*
 * The column's table for scaled integers min .. max, or NULL if they are too
 * far apart for one.
 */
static numeric_table *
find_numeric_table(px_decoder *decoder, decode_column *column, int64 min, int64 max,
				   int dscale)
{
	numeric_table *table = column->numerics;
	uint64		range = (uint64) max - (uint64) min;

	if (range >= NUMERIC_TABLE_SIZE)
		return NULL;
	if (table == NULL)
		column->numerics = table = MemoryContextAlloc(decoder->context, sizeof(numeric_table));
	else if (table->dscale == dscale && min >= table->first &&
			 (uint64) max - (uint64) table->first < NUMERIC_TABLE_SIZE)
		return table;

	/* The next batch may well have values on both sides of this one's. */
	table->first = min - (int64) Min((uint64) min - (uint64) PG_INT64_MIN,
									 (NUMERIC_TABLE_SIZE - 1 - range) / 2);
	table->dscale = dscale;
	table->end = table->data;
	memset(table->numerics, 0, sizeof(table->numerics));
	return table;
}

static void
decode_scaled_numeric(px_decoder *decoder, decode_column *column,
					  const px_chunk *chunk, const uint8_t *encoded)
{
	int64	   *scaled = (int64 *) column->values;
	char	   *dst = take_arena(decoder, (Size) chunk->rows * PX_NUMERIC_SCALED_NBYTES_MAX);
	numeric_table *table;
	int64		min;
	int64		max;

	decode_ints(decoder, chunk, encoded, true, scaled);

	min = max = scaled[0];
	for (uint32 row = 1; row < chunk->rows; row++)
	{
		min = Min(min, scaled[row]);
		max = Max(max, scaled[row]);
	}
	table = find_numeric_table(decoder, column, min, max, chunk->scale);

	if (table == NULL)
	{
		for (uint32 row = 0; row < chunk->rows; row++)
		{
			int64		value = scaled[row];

			column->values[row] = PointerGetDatum(dst);
			dst += MAXALIGN(px_numeric_from_scaled(value, chunk->scale, dst));
		}
		return;
	}
	for (uint32 row = 0; row < chunk->rows; row++)
	{
		int64		value = scaled[row];
		char	  **numeric = &table->numerics[value - table->first];

		if (unlikely(*numeric == NULL))
		{
			*numeric = table->end;
			table->end += MAXALIGN(px_numeric_from_scaled(value, chunk->scale, table->end));
		}
		column->values[row] = PointerGetDatum(*numeric);
	}
}

/* Values that arrived in numeric_send's form; numeric_recv checks them. */
static void
decode_sent_numeric(px_decoder *decoder, decode_column *column, const px_chunk *chunk)
{
	for (uint32 row = 0; row < chunk->rows; row++)
	{
		const uint8_t *packed = (const uint8_t *) DatumGetPointer(column->values[row]);
		StringInfoData buf;

		if (packed == NULL)
			continue;
		buf.data = unconstify(char *, (const char *) px_packed_data(packed));
		buf.len = (int) px_packed_nbytes(packed);
		buf.maxlen = buf.len;
		buf.cursor = 0;
		column->values[row] = DirectFunctionCall3(numeric_recv, PointerGetDatum(&buf),
												  ObjectIdGetDatum(InvalidOid),
												  Int32GetDatum(-1));
		if (buf.cursor != buf.len)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("incorrect binary data format in numeric from server \"%s\"",
							decoder->servername)));
	}
}

/* Values that arrived as text, as every value does with postgres_fdw. */
static void
decode_input(px_decoder *decoder, decode_column *column, const px_chunk *chunk)
{
	for (uint32 row = 0; row < chunk->rows; row++)
	{
		const uint8_t *packed = (const uint8_t *) DatumGetPointer(column->values[row]);

		if (packed == NULL)
			continue;
		resetStringInfo(&decoder->text);
		appendBinaryStringInfo(&decoder->text, (const char *) px_packed_data(packed),
							   (int) px_packed_nbytes(packed));
		column->values[row] = InputFunctionCall(&column->input, decoder->text.data,
												column->input_param, column->typmod);
	}

	/* Do not keep the room that one huge value took. */
	if (decoder->text.maxlen > 1024 * 1024)
	{
		pfree(decoder->text.data);
		decoder->text.data = MemoryContextAlloc(decoder->context, 1024);
		decoder->text.maxlen = 1024;
		resetStringInfo(&decoder->text);
	}
}

/* An array that arrived in array_send's form; array_recv checks it. */
static Datum
receive_array(px_decoder *decoder, decode_column *column, const uint8_t *packed)
{
	Datum		value;

	if (!OidIsValid(column->receive.fn_oid))
	{
		Oid			function;

		getTypeBinaryInputInfo(column->schema.type_oid, &function, &column->receive_param);
		fmgr_info_cxt(function, &column->receive, decoder->context);
	}

	/* array_recv puts a NUL behind each element for a while: not in the frame. */
	resetStringInfo(&decoder->text);
	appendBinaryStringInfo(&decoder->text, (const char *) px_packed_data(packed),
						   (int) px_packed_nbytes(packed));
	value = ReceiveFunctionCall(&column->receive, &decoder->text,
								column->receive_param, -1);
	if (decoder->text.cursor != decoder->text.len)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("incorrect binary data format in array from server \"%s\"",
						decoder->servername)));
	return value;
}

/* Write an array with one dimension, or an empty one; returns its end. */
static char *
build_array(char *dst, const px_type_policy *policy, uint32 nelements,
			const uint8_t *elements)
{
	ArrayType  *array = (ArrayType *) dst;
	Size		nbytes = ARR_OVERHEAD_NONULLS(nelements > 0 ? 1 : 0);

	array->ndim = nelements > 0 ? 1 : 0;
	array->dataoffset = 0;
	array->elemtype = policy->element;
	if (nelements > 0)
	{
		ARR_DIMS(array)[0] = (int) nelements;
		ARR_LBOUND(array)[0] = 1;
		memset(dst + ARRAY_HEADER_NBYTES, 0, nbytes - ARRAY_HEADER_NBYTES);
		memcpy(dst + nbytes, elements, (Size) nelements * policy->width);
		nbytes += (Size) nelements * policy->width;
	}
	SET_VARSIZE(dst, nbytes);
	return dst + MAXALIGN(nbytes);
}

/*
 * The elements of all arrays of a chunk in their own width: as they stand in
 * the chunk if that is all there is to do, else decoded and checked.  numbers
 * has room for them as 64-bit integers, which they are narrowed in place from.
 */
static const uint8_t *
decode_elements(px_decoder *decoder, const decode_column *column, const px_chunk *chunk,
				const px_arrays *arrays, int64 *numbers)
{
	uint8_t    *narrow = (uint8_t *) numbers;
	px_fault	fault;

	if (arrays->elements_encoding == PX_ENC_PLAIN && column->policy.check == PX_CHECK_NONE)
		return arrays->elements;

	if (px_chunk_decode_elements(chunk, arrays, column->policy.is_signed,
								 (int64_t *) numbers, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);
	px_check_values(column->policy.check, (const Datum *) numbers, NULL, arrays->nelements);

	switch (chunk->width)
	{
		case 1:
			for (uint32 i = 0; i < arrays->nelements; i++)
				narrow[i] = (uint8_t) numbers[i];
			break;
		case 2:
			for (uint32 i = 0; i < arrays->nelements; i++)
				px_store_u16(narrow + (Size) i * 2, (uint16_t) numbers[i]);
			break;
		case 4:
			for (uint32 i = 0; i < arrays->nelements; i++)
				px_store_u32(narrow + (Size) i * 4, (uint32_t) numbers[i]);
			break;
		default:
			break;
	}
	return narrow;
}

static void
decode_arrays(px_decoder *decoder, decode_column *column, const px_chunk *chunk,
			  const uint8_t *encoded)
{
	px_arrays	arrays;
	px_fault	fault;
	Size		numbers_nbytes;
	Size		elements_nbytes;
	const uint8_t *elements;
	char	   *dst;
	uint32		value = 0;
	uint32		sent = 0;

	if (chunk->nvalues == 0)
	{
		memset(column->values, 0, chunk->rows * sizeof(Datum));
		return;
	}
	if (px_chunk_decode_arrays(chunk, encoded, &decoder->room, &arrays, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);

	/* First the numbers, then the arrays that are made of them. */
	numbers_nbytes = (Size) arrays.nelements * sizeof(int64);
	elements_nbytes = (Size) arrays.nelements * chunk->width;
	grow_buffer(decoder, column, numbers_nbytes + elements_nbytes +
				(Size) chunk->nvalues * (ARR_OVERHEAD_NONULLS(1) + MAXIMUM_ALIGNOF));
	elements = decode_elements(decoder, column, chunk, &arrays, (int64 *) column->buffer);

	dst = (char *) column->buffer + numbers_nbytes;
	for (uint32 row = 0; row < chunk->rows; row++)
	{
		int64		count;

		column->values[row] = (Datum) 0;
		if (column->nulls[row])
			continue;
		count = arrays.counts[value++];
		if (count == 0)
		{
			column->values[row] = receive_array(decoder, column, arrays.sent[sent++]);
			continue;
		}
		column->values[row] = PointerGetDatum(dst);
		dst = build_array(dst, &column->policy, (uint32) (count - 1), elements);
		elements += (Size) (count - 1) * chunk->width;
	}
}

/* Domains check values that did not come through their input function. */
static void
check_domain(px_decoder *decoder, decode_column *column, uint32 rows)
{
	for (uint32 row = 0; row < rows; row++)
	{
		/* domain_in has checked what came as text, but never saw the nulls. */
		if (column->policy.kind == PX_DATUM_INPUT && !column->nulls[row])
			continue;
		domain_check(column->values[row], column->nulls[row], column->type,
					 &column->domain_extra, decoder->context);
	}
}

static void
decode_column_values(px_decoder *decoder, decode_column *column, const px_chunk *chunk,
					 const uint8_t *encoded)
{
	switch (column->policy.kind)
	{
		case PX_DATUM_BYVAL:
			decode_ints(decoder, chunk, encoded, column->policy.is_signed,
						(int64 *) column->values);
			break;

		case PX_DATUM_BYREF:
			decode_byref(decoder, column, chunk, encoded);
			break;

		case PX_DATUM_ARRAY:
			decode_arrays(decoder, column, chunk, encoded);
			break;

		case PX_DATUM_NUMERIC:
			if (chunk->form == PX_FORM_FIXED)
			{
				decode_scaled_numeric(decoder, column, chunk, encoded);
				break;
			}
			/* FALLTHROUGH */

		case PX_DATUM_VARLENA:
		case PX_DATUM_NAME:
		case PX_DATUM_INPUT:
			decode_pointers(decoder, column, chunk, encoded,
							(const uint8_t **) column->values);
			if (column->policy.check == PX_CHECK_ENCODING ||
				column->policy.kind == PX_DATUM_INPUT)
				px_check_encoding(chunk, encoded, column->values);
			if (column->policy.kind == PX_DATUM_NAME)
				decode_name(decoder, column, chunk);
			else if (column->policy.kind == PX_DATUM_NUMERIC)
				decode_sent_numeric(decoder, column, chunk);
			else if (column->policy.kind == PX_DATUM_INPUT)
				decode_input(decoder, column, chunk);
			break;
	}
	if (column->policy.kind != PX_DATUM_ARRAY)	/* checked by element */
		px_check_values(column->policy.check, column->values, column->nulls, chunk->rows);
	if (column->is_domain)
		check_domain(decoder, column, chunk->rows);
}

static void
decode_error_context(void *arg)
{
	px_decoder *decoder = arg;

	if (decoder->current >= 0 && decoder->columns[decoder->current].context)
		errcontext("%s", decoder->columns[decoder->current].context);
}

void
px_decoder_batch(px_decoder *decoder, const uint8_t *body, const px_frame_header *header)
{
	ErrorContextCallback callback;
	MemoryContext oldcontext;
	px_fault	fault;

	if (!decoder->have_schema || header->columns != decoder->ncolumns)
	{
		px_fail(&fault, PX_BAD_HEADER, "columns",
				decoder->have_schema ? decoder->ncolumns : 0, header->columns);
		px_raise_fault(decoder->servername, &fault);
	}
	if (px_batch_read(body, header, decoder->chunks, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);

	MemoryContextReset(decoder->batch_context);
	prepare_batch(decoder, header->rows);

	callback.callback = decode_error_context;
	callback.arg = decoder;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	oldcontext = MemoryContextSwitchTo(decoder->batch_context);

	for (int i = 0; i < decoder->ncolumns; i++)
	{
		decode_column *column = &decoder->columns[i];
		px_chunk   *chunk = &decoder->chunks[i];
		uint8_t    *buffer = NULL;
		const uint8_t *encoded;

		decoder->current = i;
		decoder->references[i] = NULL;
		decoder->codecs_seen |= 1u << chunk->codec;
		column->codecs_seen |= 1u << chunk->codec;
		column->encodings_seen |= 1u << chunk->encoding;
		column->nbytes += PX_CHUNK_HEADER_NBYTES + PX_ALIGN(chunk->stored_nbytes);
		if (chunk->null_layout == PX_NULLS_BITMAP)
			column->nbytes += PX_ALIGN(PX_BITMAP_NBYTES(chunk->rows));
		if (!form_suits_class(chunk, &column->schema))
		{
			px_fail(&fault, PX_BAD_HEADER, "chunk width", column->schema.width, chunk->width);
			px_raise_fault(decoder->servername, &fault);
		}
		if (column->index < 0)
			continue;
		if (chunk->codec != PX_CODEC_NONE)
			buffer = (uint8_t *) take_arena(decoder, chunk->encoded_nbytes);
		if (px_chunk_unpack(chunk, decoder->codec, buffer, &encoded, &fault) != PX_OK)
			px_raise_fault(decoder->servername, &fault);
		px_chunk_nulls(chunk, column->nulls);
		decoder->room.nreferences = (uint16_t) i;
		decode_column_values(decoder, column, chunk, encoded);
		if (column->policy.kind == PX_DATUM_BYVAL && chunk->null_layout == PX_NULLS_NONE)
			decoder->references[i] = (const int64_t *) column->values;
	}

	decoder->current = -1;
	MemoryContextSwitchTo(oldcontext);
	error_context_stack = callback.previous;
}

void
px_decoder_row(const px_decoder *decoder, uint32 row, Datum *values, bool *isnull)
{
	const struct decode_pick *pick = decoder->picks;
	const struct decode_pick *end = pick + decoder->npicks;

	for (; pick < end; pick++)
	{
		values[pick->index] = pick->values[row];
		isnull[pick->index] = pick->nulls[row];
	}
}
