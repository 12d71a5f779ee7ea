/*-------------------------------------------------------------------------
 *
 * decode_values.c
 *		From a chunk of a batch to the Datums of one column.
 *
 * A whole column is converted at a time.  Integers are decoded directly into
 * the array of Datums.  Strings become pointers into the frame or into the
 * column's buffer.  Numerics and arrays are built from checked parts.  Input
 * functions, typmods and domains come later, row by row, when the rows are
 * wanted: see px_decode_window.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "compat_json.h"
#include "tuple/check.h"
#include "tuple/decode_values.h"
#include "tuple/fault.h"

/* Size of an array's header and one dimension, without the padding. */
#define ARRAY_HEADER_NBYTES	(sizeof(ArrayType) + 2 * sizeof(int))

/*
 * Add nbytes to one of the decoder's sums, before memory is allocated for
 * them.  Raises ERRCODE_PROTOCOL_VIOLATION if the sum exceeds the batch's raw
 * size: no batch of a correct sender does that.
 */
static void
account(const px_decoder *decoder, uint64 *sum, uint64 nbytes)
{
	*sum += nbytes;
	px_require_within(decoder->servername, "decoded bytes",
					  decoder->raw_nbytes, *sum);
}

/*
 * Give a column a buffer that its values are going to point to.  As with the
 * arena, the buffer is replaced by a smaller one after an unusually large
 * batch.
 */
static void
resize_buffer(px_decoder *decoder, decode_column *column, Size needed)
{
	if (needed > column->buffer_nbytes || needed < column->buffer_nbytes / 8)
	{
		if (column->buffer)
			pfree(column->buffer);
		column->buffer = NULL;
		column->buffer_nbytes = 0;
		if (needed > 0)
		{
			column->buffer = MemoryContextAllocHuge(decoder->context,
													needed + needed / 8);
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
decode_pointers(px_decoder *decoder, decode_column *column,
				const px_chunk *chunk, const uint8_t *encoded,
				const uint8_t **values)
{
	size_t		needed;
	px_fault	fault;

	if (px_chunk_buffer_nbytes(chunk, encoded, &needed, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);
	account(decoder, &decoder->buffered_nbytes,
					  px_buffer_counted_nbytes(needed, chunk->rows));
	resize_buffer(decoder, column, needed);
	decoder->room.buffer = column->buffer;
	if (px_chunk_decode_pointers(chunk, encoded, &decoder->room, values,
								 &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);
}

static void
decode_byref(px_decoder *decoder, decode_column *column, const px_chunk *chunk,
			 const uint8_t *encoded)
{
	Size		stride = MAXALIGN(column->policy.width);
	char	   *dst = px_decode_take(decoder, chunk->rows * stride);

	if (column->policy.width <= 8 && column->policy.width != 6)
	{
		/* Values of these widths are encoded as integers: macaddr8. */
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
	char *dst = px_decode_take(decoder, (Size) chunk->rows * NAMEDATALEN);

	for (uint32 row = 0; row < chunk->rows; row++, dst += NAMEDATALEN)
	{
		const uint8_t *packed = (const uint8_t *) DatumGetPointer(
			column->values[row]);
		size_t		n;

		if (packed == NULL)
			continue;
		n = px_packed_nbytes(packed);
		if (n >= NAMEDATALEN)
		{
			px_fail(&fault, PX_BAD_VALUE, "length of a name", NAMEDATALEN - 1,
					n);
			px_raise_fault(decoder->servername, &fault);
		}
		memset(dst, 0, NAMEDATALEN);
		memcpy(dst, px_packed_data(packed), n);
		column->values[row] = PointerGetDatum(dst);
	}
}

/*
 * The column's table for the scaled integers min .. max, or NULL if the table
 * is too small for this range.
 */
static numeric_table *
find_numeric_table(px_decoder *decoder, decode_column *column, int64 min,
				   int64 max, int dscale)
{
	numeric_table *table = column->numerics;
	uint64		range = (uint64) max - (uint64) min;

	if (range >= NUMERIC_TABLE_SIZE)
		return NULL;
	if (table == NULL)
		column->numerics = table = MemoryContextAlloc(decoder->context,
													  sizeof(numeric_table));
	else if (table->dscale == dscale && min >= table->first &&
			 (uint64) max - (uint64) table->first < NUMERIC_TABLE_SIZE)
		return table;

	/* Leave room on both sides: the next batch may have other values. */
	table->first = min - (int64) Min((uint64) min - (uint64) PG_INT64_MIN,
									 (NUMERIC_TABLE_SIZE - 1 - range) / 2);
	table->dscale = dscale;
	table->end = table->data;
	memset(table->numerics, 0, sizeof(table->numerics));
	return table;
}

/* Replace the scaled integers in column->values by numerics. */
static void
build_numerics(px_decoder *decoder, decode_column *column,
			   const px_chunk *chunk)
{
	const int64 *scaled = (const int64 *) column->values;
	char	   *dst = px_decode_take(
		decoder, (Size) chunk->rows * PX_NUMERIC_SCALED_NBYTES_MAX);
	numeric_table *table;
	int64		min;
	int64		max;

	min = max = scaled[0];
	for (uint32 row = 1; row < chunk->rows; row++)
	{
		min = Min(min, scaled[row]);
		max = Max(max, scaled[row]);
	}
	column->scaled_fit = px_scaled_fit(column->base_typmod, min, max,
									   chunk->scale);
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
			table->end += MAXALIGN(
				px_numeric_from_scaled(value, chunk->scale, table->end));
		}
		column->values[row] = PointerGetDatum(*numeric);
	}
}

/* Complain that a receive function has not used all bytes of its value. */
static void
raise_left_over(const px_decoder *decoder, const char *type, int expected,
				int got)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 decoder->servername ?
			 errmsg("incorrect binary data format in %s from server \"%s\"",
					type, decoder->servername) :
			 errmsg("incorrect binary data format in %s from the client",
					type),
			 errdetail("Expected %d bytes, got %d.", expected, got)));
}

/*
 * Read a numeric in the form of numeric_send.  numeric_recv checks the value
 * and that it fits the typmod.
 */
static Datum
receive_numeric(px_decoder *decoder, const decode_column *column,
				const uint8_t *packed)
{
	StringInfoData buf;
	Datum		value;

	account(decoder, &decoder->converted_nbytes,
					  px_packed_nbytes(packed));
	buf.data = unconstify(char *, (const char *) px_packed_data(packed));
	buf.len = (int) px_packed_nbytes(packed);
	buf.maxlen = buf.len;
	buf.cursor = 0;
	value = DirectFunctionCall3(numeric_recv, PointerGetDatum(&buf),
								ObjectIdGetDatum(InvalidOid),
								Int32GetDatum(column->base_typmod));
	if (buf.cursor != buf.len)
		raise_left_over(decoder, "numeric", buf.cursor, buf.len);
	return value;
}

static void
decode_scaled_numeric(px_decoder *decoder, decode_column *column,
					  const px_chunk *chunk, const uint8_t *encoded)
{
	px_patches	patches;
	px_fault	fault;

	if (px_chunk_decode_patched(chunk, encoded, &decoder->room,
								(int64_t *) column->values, &patches,
								&fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);
	build_numerics(decoder, column, chunk);
	for (uint32 i = 0; i < patches.n; i++)
		column->values[patches.rows[i]] = receive_numeric(decoder, column,
														  patches.sent[i]);
}

static void
decode_sent_numeric(px_decoder *decoder, decode_column *column,
					const px_chunk *chunk)
{
	for (uint32 row = 0; row < chunk->rows; row++)
	{
		const uint8_t *packed = (const uint8_t *) DatumGetPointer(
			column->values[row]);

		if (packed)
		{
			CHECK_FOR_INTERRUPTS();
			column->values[row] = receive_numeric(decoder, column, packed);
		}
	}
}

/* Read an array in the form of array_send.  array_recv checks the value. */
static Datum
receive_array(px_decoder *decoder, decode_column *column,
			  const uint8_t *packed)
{
	Datum		value;

	if (!OidIsValid(column->receive.fn_oid))
	{
		Oid			function;

		getTypeBinaryInputInfo(column->schema.type_oid, &function,
							   &column->receive_param);
		fmgr_info_cxt(function, &column->receive, decoder->context);
	}

	/*
	 * array_recv writes a NUL after each element for a while, so it must not
	 * work in the frame.
	 */
	resetStringInfo(&decoder->text);
	appendBinaryStringInfo(&decoder->text,
						   (const char *) px_packed_data(packed),
						   (int) px_packed_nbytes(packed));
	value = ReceiveFunctionCall(&column->receive, &decoder->text,
								column->receive_param, -1);
	if (decoder->text.cursor != decoder->text.len)
		raise_left_over(decoder, "array", decoder->text.cursor,
						decoder->text.len);
	return value;
}

/*
 * Write an array with one dimension, or an empty one, to dst.  Returns the
 * aligned end of it.
 */
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
 * The elements of all arrays of a chunk, in their own width.  Plain elements
 * that need no check are used where they are in the chunk.  Others are decoded
 * into numbers, which has room for arrays->nelements 64-bit integers, checked,
 * and narrowed in place.
 */
static const uint8_t *
decode_elements(px_decoder *decoder, const decode_column *column,
				const px_chunk *chunk, const px_arrays *arrays, int64 *numbers)
{
	uint8_t    *narrow = (uint8_t *) numbers;
	px_fault	fault;

	if (arrays->elements.encoding == PX_ENC_PLAIN &&
		column->policy.check == PX_CHECK_NONE)
		return arrays->elements.encoded;

	if (px_chunk_decode_elements(arrays, column->policy.is_signed,
								 (int64_t *) numbers, &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);
	px_check_values(column->policy.check, (const Datum *) numbers, NULL,
					arrays->nelements);

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

/*
 * Check the sizes of arrays before memory is allocated for them: all elements
 * must be within the batch's raw size, and each array must fit a datum.
 */
static void
check_arrays(px_decoder *decoder, const px_chunk *chunk,
			 const px_arrays *arrays)
{
	uint64		nelements_max = (MaxAllocSize - ARR_OVERHEAD_NONULLS(1)) /
		chunk->width;

	account(decoder, &decoder->buffered_nbytes,
					  (uint64) arrays->nelements * chunk->width);
	if (arrays->nelements <= nelements_max)
		return;
	for (uint32 i = 0; i < chunk->nvalues; i++)
		px_require_within(
			decoder->servername, "elements of an array", nelements_max,
			arrays->counts[i] > 0 ? (uint64) arrays->counts[i] - 1 : 0);
}

static void
decode_arrays(px_decoder *decoder, decode_column *column,
			  const px_chunk *chunk, const uint8_t *encoded)
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
	if (px_chunk_decode_arrays(chunk, encoded, &decoder->room, &arrays,
							   &fault) != PX_OK)
		px_raise_fault(decoder->servername, &fault);

	check_arrays(decoder, chunk, &arrays);

	/* The buffer has the decoded elements first, and then the arrays. */
	numbers_nbytes = (Size) arrays.nelements * sizeof(int64);
	elements_nbytes = (Size) arrays.nelements * chunk->width;
	resize_buffer(decoder, column,
				  numbers_nbytes + elements_nbytes +
					  (Size) chunk->nvalues *
						  (ARR_OVERHEAD_NONULLS(1) + MAXIMUM_ALIGNOF));
	elements = decode_elements(decoder, column, chunk, &arrays,
							   (int64 *) column->buffer);

	dst = (char *) column->buffer + numbers_nbytes;
	for (uint32 row = 0; row < chunk->rows; row++)
	{
		int64		count;

		column->values[row] = (Datum) 0;
		if (column->nulls[row])
			continue;
		CHECK_FOR_INTERRUPTS();
		count = arrays.counts[value++];
		if (count == 0)
		{
			column->values[row] = receive_array(decoder, column,
												arrays.sent[sent++]);
			continue;
		}
		column->values[row] = PointerGetDatum(dst);
		dst = build_array(dst, &column->policy, (uint32) (count - 1),
						  elements);
		elements += (Size) (count - 1) * chunk->width;
	}
}

/*
 * Decide what must be done with the values when their rows are wanted.
 *
 * Values that fit their typmod need no coercion: in columns of tables, all do.
 * But the columns of a record that a function returns may have values that do
 * not fit the declared typmod.  Input functions would coerce them, so we do.
 */
static void
set_late_step(decode_column *column, const px_chunk *chunk, bool ascii)
{
	column->late = PX_LATE_NONE;
	if (column->policy.kind == PX_DATUM_INPUT)
		column->late = PX_LATE_INPUT;
	else if (column->base_type == JSONOID)
		column->late = PX_LATE_JSON;
	else if (column->policy.kind == PX_DATUM_NUMERIC)
	{
		/* If the form is bytes, numeric_recv has applied the typmod. */
		column->late = chunk->form == PX_FORM_FIXED && !column->scaled_fit
			? PX_LATE_COERCE
			: PX_LATE_NONE;
	}
	else if (column->base_typmod >= 0 &&
			 !px_values_fit(column->base_type, column->base_typmod,
							column->values, column->nulls, chunk->rows, ascii))
		column->late = PX_LATE_COERCE;
}

void
px_decode_values(px_decoder *decoder, decode_column *column,
				 const px_chunk *chunk, const uint8_t *encoded)
{
	bool		ascii = false;

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
			pg_fallthrough;

		case PX_DATUM_VARLENA:
		case PX_DATUM_NAME:
		case PX_DATUM_INPUT:
			decode_pointers(decoder, column, chunk, encoded,
							(const uint8_t **) column->values);
			if (column->policy.check == PX_CHECK_ENCODING ||
				column->policy.kind == PX_DATUM_INPUT)
				ascii = px_check_encoding(chunk, encoded, column->values);
			if (column->policy.kind == PX_DATUM_NAME)
				decode_name(decoder, column, chunk);
			else if (column->policy.kind == PX_DATUM_NUMERIC)
				decode_sent_numeric(decoder, column, chunk);
			break;
	}
	if (column->policy.kind != PX_DATUM_ARRAY)	/* elements were checked */
		px_check_values(column->policy.check, column->values, column->nulls,
						chunk->rows);
	set_late_step(column, chunk, ascii);
}

/* ---------------------------------------------------------------------
 * Late steps
 * --------------------------------------------------------------------- */

/* Convert a value that came as text, as postgres_fdw does with every value. */
static Datum
input_value(px_decoder *decoder, decode_column *column, const uint8_t *packed)
{
	account(decoder, &decoder->converted_nbytes,
					  px_packed_nbytes(packed));
	resetStringInfo(&decoder->text);
	appendBinaryStringInfo(&decoder->text,
						   (const char *) px_packed_data(packed),
						   (int) px_packed_nbytes(packed));
	return InputFunctionCall(&column->input, decoder->text.data,
							 column->input_param, column->typmod);
}

/* Check that a json value is well-formed, as json_in does. */
static void
check_json(const uint8_t *packed)
{
	static const JsonSemAction nothing;

	pg_parse_json_or_ereport(
		px_json_form_lexer((const char *) px_packed_data(packed),
						   (int) px_packed_nbytes(packed)),
		unconstify(JsonSemAction *, &nothing));
}

/*
 * Coerce a value to the typmod, or raise an error, as the type's input
 * function would.
 */
static Datum
coerce_value(px_decoder *decoder, decode_column *column, Datum value)
{
	if (!OidIsValid(column->coerce.fn_oid))
	{
		Oid			function;

		if (find_typmod_coercion_function(column->base_type, &function) !=
			COERCION_PATH_FUNC)
			elog(ERROR, "type %u has a typmod, but no function for it",
				 column->base_type);
		fmgr_info_cxt(function, &column->coerce, decoder->context);
	}
	return FunctionCall3(&column->coerce, value,
						 Int32GetDatum(column->base_typmod),
						 BoolGetDatum(false));
}

/*
 * Do the late step for a value.  Functions work in row_context, so a new value
 * is copied to window_context, where it lives until the next window.
 */
static void
finish_value(px_decoder *decoder, decode_column *column, uint32 row)
{
	Datum		old = column->values[row];
	Datum		value = old;

	if (!column->nulls[row])
	{
		if (column->late == PX_LATE_INPUT)
			value = input_value(decoder, column,
								(const uint8_t *) DatumGetPointer(old));
		else if (column->late == PX_LATE_JSON)
			check_json((const uint8_t *) DatumGetPointer(old));
		else if (column->late == PX_LATE_COERCE)
			value = coerce_value(decoder, column, old);
		if (!column->typbyval && value != old)
		{
			MemoryContext oldcontext = MemoryContextSwitchTo(
				decoder->window_context);

			value = datumCopy(value, false, column->typlen);
			MemoryContextSwitchTo(oldcontext);
		}
		column->values[row] = value;
	}

	/* domain_in has checked values that came as text, but not nulls. */
	if (column->is_domain &&
		(column->late != PX_LATE_INPUT || column->nulls[row]))
		domain_check(value, column->nulls[row], column->type,
					 &column->domain_extra, decoder->context);
}

void
px_decode_window(px_decoder *decoder, uint32 begin, uint32 end)
{
	for (uint32 row = begin; row < end; row++)
	{
		decoder->current_row = row;
		for (int i = 0; i < decoder->ncolumns; i++)
		{
			decode_column *column = &decoder->columns[i];

			if (column->index < 0 ||
				(column->late == PX_LATE_NONE && !column->is_domain))
				continue;
			CHECK_FOR_INTERRUPTS();
			decoder->current = i;
			finish_value(decoder, column, row);
		}
		MemoryContextReset(decoder->row_context);
	}

	decoder->current_row = -1;

	/* Do not keep the memory of a huge value. */
	if (decoder->text.maxlen > 1024 * 1024)
	{
		pfree(decoder->text.data);
		decoder->text.data = MemoryContextAlloc(decoder->context, 1024);
		decoder->text.maxlen = 1024;
		resetStringInfo(&decoder->text);
	}
}
