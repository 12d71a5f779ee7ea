/*-------------------------------------------------------------------------
 *
 * decode.c
 *		From the columns of a batch to the Datums of rows.
 *
 * Batches are read here; decode_values.c converts their columns.
 *
 * Memory: the arrays of a column grow to the largest batch.  Undone codecs and
 * values of fixed size are in one arena, whose size is known before decoding
 * starts.  Values of variable size are in a buffer of each column.  Receive
 * functions allocate in batch_context, which is reset before each batch.
 * Results of input functions are in window_context, which is reset before each
 * window.  Anything else that these allocate is in row_context, which is reset
 * after each row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/stringinfo_mb.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "guc.h"
#include "tuple/decode.h"
#include "tuple/decode_values.h"
#include "tuple/fault.h"

static void
close_codec(void *arg)
{
	px_codec_close(arg);
}

px_request_column
px_decoder_request(Oid type, int32 typmod)
{
	int32		base_typmod = typmod;
	Oid			base_type = getBaseTypeAndTypmod(type, &base_typmod);

	/*
	 * Arrays with a typmod come as text: there is no function here that would
	 * check each element's typmod.
	 */
	if (base_type < FirstGenbkiObjectId &&
		px_type_lookup(base_type, PG_VERSION_NUM).class != PX_CLASS_TEXT &&
		!(base_typmod >= 0 && OidIsValid(get_element_type(base_type))))
		return (px_request_column) {base_type, base_typmod};
	return (px_request_column) {InvalidOid, -1};
}

/*
 * Set up a column by its local type.  The sender's type is not known before
 * the schema frame.
 */
static void
init_column(decode_column *column, TupleDesc tupdesc, int attno,
			const char *context)
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
	column->base_type = base_type;
	column->base_typmod = base_typmod;
	column->typlen = attr->attlen;
	column->typbyval = attr->attbyval;
	getTypeInputInfo(attr->atttypid, &input, &column->input_param);
	fmgr_info(input, &column->input);
}

px_decoder *
px_decoder_new(const char *servername, TupleDesc tupdesc,
			   List *retrieved_attrs, const char **contexts,
			   int fetch_size)
{
	px_decoder *decoder = palloc0(sizeof(px_decoder));
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	ListCell   *lc;
	int			i = 0;

	decoder->context = CurrentMemoryContext;
	decoder->batch_context = AllocSetContextCreate(CurrentMemoryContext,
												   "pg_exchange batch",
												   ALLOCSET_START_SMALL_SIZES);
	decoder->window_context = AllocSetContextCreate(CurrentMemoryContext,
													"pg_exchange window",
													ALLOCSET_START_SMALL_SIZES);
	decoder->row_context = AllocSetContextCreate(CurrentMemoryContext,
												 "pg_exchange row",
												 ALLOCSET_START_SMALL_SIZES);
	decoder->fetch_size = Max(fetch_size, 1);
	decoder->window_end = PG_UINT32_MAX;
	decoder->servername = servername;
	decoder->current = -1;
	decoder->current_row = -1;
	initStringInfo(&decoder->text);

	decoder->codec = px_codec_open();
	if (decoder->codec == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	callback->func = close_codec;
	callback->arg = decoder->codec;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);

	/* If no columns are retrieved, the query is "SELECT NULL". */
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

		init_column(&decoder->columns[i], tupdesc, attno, contexts[attno - 1]);
		decoder->requests[i] = px_decoder_request(
			decoder->columns[i].type, decoder->columns[i].typmod);
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
	decoder->rows_before = decoder->rows = 0;
	decoder->window_end = PG_UINT32_MAX;
	MemoryContextReset(decoder->batch_context);
	MemoryContextReset(decoder->window_context);
}

static void *
free_if(void *memory)
{
	if (memory)
		pfree(memory);
	return NULL;
}

void
px_decoder_release(px_decoder *decoder)
{
	px_decoder_reset(decoder);
	for (int i = 0; i < decoder->ncolumns; i++)
	{
		decode_column *column = &decoder->columns[i];

		column->values = free_if(column->values);
		column->nulls = free_if(column->nulls);
		column->buffer = free_if(column->buffer);
		column->buffer_nbytes = 0;
		column->numerics = free_if(column->numerics);
	}
	decoder->arena = free_if(decoder->arena);
	decoder->arena_nbytes = decoder->arena_used = 0;
	decoder->pointers = free_if(decoder->pointers);
	decoder->room.scratch = free_if(decoder->room.scratch);
	decoder->rows_max = 0;
}

bool
px_decoder_can_pick(const px_decoder *decoder, uint32 row)
{
	return decoder->window_end == PG_UINT32_MAX ||
		decoder->window_end == 0 || row >= decoder->window_begin;
}

void
px_decoder_set_parameters(px_decoder *decoder)
{
	decoder->parameters = true;
}

bool
px_decoder_can_rewind(const px_decoder *decoder)
{
	return decoder->window_end == PG_UINT32_MAX ||
		decoder->window_end <= decoder->fetch_size;
}

const px_batch_contents *
px_decoder_contents(const px_decoder *decoder)
{
	return &decoder->contents;
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
			appendStringInfo(&line, "%s%s", separator,
							 px_encoding_name(encoding));
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

/* ---------------------------------------------------------------------
 * Schema
 * --------------------------------------------------------------------- */

/*
 * Check that a column that is sent raw has the form that was requested.  The
 * sender may send a column as text although raw was requested, but not raw in
 * any other form.
 */
static void
check_raw_column(const px_decoder *decoder, const px_schema_column *schema,
				 const px_request_column *request,
				 const px_type_policy *policy)
{
	px_require(decoder->servername, "column type", request->type_oid,
			   schema->type_oid);
	px_require(decoder->servername, "column class", policy->class,
			   schema->class);
	px_require(decoder->servername, "column width", policy->width,
			   schema->width);
	if (request->typmod != -1)
		px_require(decoder->servername, "column typmod",
				   (uint32) request->typmod, (uint32) schema->typmod);
}

/* Read a schema frame, which has the first ncolumns columns. */
static void
read_schema(px_decoder *decoder, int ncolumns, const uint8_t *body,
			const px_frame_header *header, uint32 peer_version)
{
	px_schema_column *schema = palloc(header->columns *
									  sizeof(px_schema_column));
	px_fault	fault;

	px_require(decoder->servername, "columns", ncolumns, header->columns);
	if (px_schema_read(body, header, schema, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);

	for (int i = 0; i < ncolumns; i++)
	{
		decode_column *column = &decoder->columns[i];
		px_type_policy policy = px_type_lookup(InvalidOid, peer_version);

		if (schema[i].class != PX_CLASS_TEXT)
		{
			policy = px_type_lookup(decoder->requests[i].type_oid,
									peer_version);
			check_raw_column(decoder, &schema[i], &decoder->requests[i],
							 &policy);
		}
		if (decoder->have_schema)
			px_require(decoder->servername, "column class of a further sender",
					   column->schema.class, schema[i].class);
		column->schema = schema[i];
		column->policy = policy;
	}
	decoder->have_schema = true;
	pfree(schema);
}

void
px_decoder_schema(px_decoder *decoder, const uint8_t *body,
				  const px_frame_header *header, uint32 peer_version)
{
	read_schema(decoder, decoder->ncolumns, body, header, peer_version);
}

void
px_decoder_cut_schema(px_decoder *decoder, const uint8_t *body,
					  const px_frame_header *header, uint32 peer_version)
{
	read_schema(decoder, decoder->ncolumns - 1, body, header, peer_version);
}

/* ---------------------------------------------------------------------
 * Batch
 * --------------------------------------------------------------------- */

/* The bytes of the arena that converting a column's values takes. */
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
 * Make room for the batch: an arena for its bytes, and arrays for its rows.
 * After an unusually large batch, the arena is replaced by a smaller one.
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
			decoder->arena = MemoryContextAllocHuge(decoder->context,
													needed + needed / 8);
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
			column->values = MemoryContextAlloc(decoder->context,
												rows * sizeof(Datum));
			column->nulls = MemoryContextAlloc(decoder->context,
											   rows * sizeof(bool));
		}
		if (decoder->pointers)
			pfree(decoder->pointers);
		decoder->pointers = MemoryContextAlloc(decoder->context,
											   rows * sizeof(uint8_t *));
		if (decoder->room.scratch)
			pfree(decoder->room.scratch);
		decoder->room.scratch = MemoryContextAlloc(
			decoder->context, PX_DECODE_SCRATCH_WORDS(rows) * sizeof(int64_t));
		decoder->rows_max = rows;
		set_picks(decoder);
	}
}

/* Check that a chunk has a form of the class that the schema announced. */
static void
check_form(const px_decoder *decoder, const px_chunk *chunk,
		   const px_schema_column *schema)
{
	px_form		form = PX_FORM_BYTES;
	uint8		width = schema->width;

	if (schema->class == PX_CLASS_FIXED)
		form = PX_FORM_FIXED;
	else if (schema->class == PX_CLASS_ARRAY)
		form = PX_FORM_ARRAY;
	else if (schema->class == PX_CLASS_NUMERIC && chunk->form == PX_FORM_FIXED)
	{
		form = PX_FORM_FIXED;
		width = sizeof(int64);
	}
	px_require(decoder->servername, "chunk form", form, chunk->form);
	px_require(decoder->servername, "chunk width", width, chunk->width);
	if (schema->class != PX_CLASS_NUMERIC)
		px_require(decoder->servername, "chunk scale", 0, chunk->scale);
}

/*
 * The context of an error in a parameter, as PostgreSQL has it when it binds
 * one that is sent as text.
 */
static void
parameter_context(px_decoder *decoder)
{
	int64		row = decoder->current_row;
	int			row_of_statement = (int) ((decoder->rows_before + row) %
										  decoder->fetch_size);
	int			number = row_of_statement * decoder->ncolumns +
		decoder->current + 1;
	decode_column *column = &decoder->columns[decoder->current];
	StringInfoData quoted;
	char	   *value;

	decoder->current = decoder->current_row = -1;	/* do not recurse */
	if (column->nulls[row])
	{
		errcontext("unnamed portal parameter $%d", number);
		return;
	}
	if (column->late == PX_LATE_INPUT)
	{
		const uint8_t *packed = (const uint8_t *) DatumGetPointer(
			column->values[row]);

		value = pnstrdup((const char *) px_packed_data(packed),
						 px_packed_nbytes(packed));
	}
	else
	{
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(column->base_type, &output, &is_varlena);
		value = OidOutputFunctionCall(output, column->values[row]);
	}
	initStringInfo(&quoted);
	appendStringInfoStringQuoted(&quoted, value,
								 log_parameter_max_length_on_error);
	errcontext("unnamed portal parameter $%d = %s", number, quoted.data);
}

static void
decode_error_context(void *arg)
{
	px_decoder *decoder = arg;

	if (decoder->parameters)
	{
		if (decoder->current >= 0 && decoder->current_row >= 0)
			parameter_context(decoder);
	}
	else if (decoder->current >= 0 && decoder->columns[decoder->current].context)
		errcontext("%s", decoder->columns[decoder->current].context);
}

/* Count a chunk in the contents of the batch and of its column. */
static void
count_chunk(px_decoder *decoder, decode_column *column, const px_chunk *chunk)
{
	decoder->codecs_seen |= 1u << chunk->codec;
	decoder->contents.codecs |= 1u << chunk->codec;
	decoder->contents.encodings |= 1u << chunk->encoding;
	decoder->contents.stored_nbytes[chunk->codec] += PX_ALIGN(
		chunk->stored_nbytes);
	column->codecs_seen |= 1u << chunk->codec;
	column->encodings_seen |= 1u << chunk->encoding;
	column->nbytes += PX_CHUNK_HEADER_NBYTES + PX_ALIGN(chunk->stored_nbytes);
	if (chunk->null_layout == PX_NULLS_BITMAP)
		column->nbytes += PX_ALIGN(PX_BITMAP_NBYTES(chunk->rows));
}

/* Decode the chunk of column i. */
static void
decode_chunk(px_decoder *decoder, int i)
{
	decode_column *column = &decoder->columns[i];
	px_chunk   *chunk = &decoder->chunks[i];
	uint8_t    *buffer = NULL;
	const uint8_t *encoded;
	px_fault	fault;

	decoder->references[i] = NULL;
	count_chunk(decoder, column, chunk);
	check_form(decoder, chunk, &column->schema);
	if (column->index < 0)
		return;

	if (chunk->codec != PX_CODEC_NONE)
		buffer = (uint8_t *) px_decode_take(decoder, chunk->encoded_nbytes);
	if (px_chunk_unpack(chunk, decoder->codec, buffer, &encoded, &fault) !=
		PX_OK)
		px_raise_fault(decoder->servername, &fault);
	px_chunk_nulls(chunk, column->nulls);
	decoder->room.nreferences = (uint16_t) i;
	px_decode_values(decoder, column, chunk, encoded);

	/* Later columns may be encoded as differences from this one. */
	if (column->policy.kind == PX_DATUM_BYVAL &&
		chunk->null_layout == PX_NULLS_NONE)
		decoder->references[i] = (const int64_t *) column->values;
	if (column->late != PX_LATE_NONE || column->is_domain)
		decoder->window_end = 0;
}

void
px_decoder_batch(px_decoder *decoder, const uint8_t *body,
				 const px_frame_header *header)
{
	/* stream_reader.c has checked the number of rows. */
	px_batch_limits limits = {PX_FRAME_ROWS_MAX,
							  (uint32) px_max_decompression_ratio};
	ErrorContextCallback callback;
	MemoryContext oldcontext;
	px_fault	fault;

	px_require(decoder->servername, "columns",
			   decoder->have_schema ? decoder->ncolumns : 0, header->columns);

	/*
	 * The raw size limits the memory for decoding, and the frame's own size
	 * limits the raw size.  Otherwise a frame of a few bytes could make us
	 * allocate a lot.
	 */
	if (px_batch_verify(body, header, &limits, decoder->chunks, &fault) !=
		PX_OK)
		px_raise_fault(decoder->servername, &fault);
	decoder->raw_nbytes = header->raw_nbytes;
	decoder->buffered_nbytes = decoder->converted_nbytes = 0;

	MemoryContextReset(decoder->batch_context);
	MemoryContextReset(decoder->window_context);
	decoder->rows_before += decoder->rows;
	decoder->rows = header->rows;
	decoder->window_end = PG_UINT32_MAX;
	prepare_batch(decoder, header->rows);
	memset(&decoder->contents, 0, sizeof(decoder->contents));

	callback.callback = decode_error_context;
	callback.arg = decoder;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	oldcontext = MemoryContextSwitchTo(decoder->batch_context);

	for (int i = 0; i < decoder->ncolumns; i++)
	{
		CHECK_FOR_INTERRUPTS();
		decoder->current = i;
		decode_chunk(decoder, i);
	}

	decoder->current = -1;
	MemoryContextSwitchTo(oldcontext);
	error_context_stack = callback.previous;
}

/* Do the late steps for the window that begins with this row. */
static void
enter_window(px_decoder *decoder, uint32 row)
{
	ErrorContextCallback callback;
	MemoryContext oldcontext;
	uint32		done = (uint32) ((decoder->rows_before + row) %
							decoder->fetch_size);
	uint32		n = Min(decoder->fetch_size - done, decoder->rows - row);

	callback.callback = decode_error_context;
	callback.arg = decoder;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	MemoryContextReset(decoder->window_context);
	oldcontext = MemoryContextSwitchTo(decoder->row_context);
	decoder->window_begin = row;
	px_decode_window(decoder, row, row + n);
	MemoryContextSwitchTo(oldcontext);
	decoder->window_end = row + n;

	decoder->current = -1;
	error_context_stack = callback.previous;
}

void
px_decoder_row(px_decoder *decoder, uint32 row, Datum *values, bool *isnull)
{
	const struct decode_pick *pick = decoder->picks;
	const struct decode_pick *end = pick + decoder->npicks;

	if (unlikely(row >= decoder->window_end))
		enter_window(decoder, row);
	for (; pick < end; pick++)
	{
		values[pick->index] = pick->values[row];
		isnull[pick->index] = pick->nulls[row];
	}
}
