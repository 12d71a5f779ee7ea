/*-------------------------------------------------------------------------
 *
 * fill.c
 *		From rows to columns: filling the columns of a batch from slots.
 *
 * px_fill_row is the hot path: it runs once per row and value of a stream,
 * and for the common types neither allocates nor calls through a pointer.
 * The rest (detoasting, output functions, encoding conversion, numerics that
 * are no scaled integers) works in a context that is reset after the row.
 *
 * Values are stored as they lie in memory, which is the wire's byte order on
 * little-endian machines only.  A coordinator sees in the hello when the
 * other end is not one, and does not open a stream.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/tupmacs.h"
#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "send/fill.h"
#include "type/numeric.h"
#include "type/policy.h"

/* First size of a buffer for values of any length; grows by doubling. */
#define BYTES_INITIAL		8192

/* Values of one column in a frame; the chunk's and frame's headers need some. */
#define COLUMN_NBYTES_MAX	((size_t) PX_FRAME_NBYTES_MAX - 1024)

/* Upper limit of px_fill_source.skip. */
#define SKIP_MAX	64

/* ---------------------------------------------------------------------
 * Deciding how columns travel
 * --------------------------------------------------------------------- */

/*
 * The encoding that text must have.  Not pg_get_client_encoding(): in a
 * parallel worker that is the database's, because workers talk to their
 * leader; but what is in a frame goes through the leader unread.  The
 * setting itself is the leader's in workers too.
 */
static int
client_encoding(void)
{
	const char *name = GetConfigOption("client_encoding", false, false);
	int			encoding = pg_char_to_encoding(name);

	return encoding >= 0 ? encoding : pg_get_client_encoding();
}

/*
 * The policy for a column of the given type (domains flattened), which the
 * receiver asked for as wanted: raw only if both ends mean the same.
 */
static px_type_policy
column_policy(Oid type, int32 typmod, const px_request_column *wanted,
			  uint32 peer_version)
{
	if (wanted->type_oid != type || type >= FirstGenbkiObjectId ||
		(wanted->typmod != -1 && wanted->typmod != typmod))
		type = InvalidOid;
	return px_type_lookup(type, peer_version);
}

static px_fill_kind
fill_kind(px_datum_kind kind)
{
	switch (kind)
	{
		case PX_DATUM_BYVAL:
			return PX_FILL_BYVAL;
		case PX_DATUM_BYREF:
			return PX_FILL_BYREF;
		case PX_DATUM_VARLENA:
			return PX_FILL_VARLENA;
		case PX_DATUM_NAME:
			return PX_FILL_NAME;
		case PX_DATUM_NUMERIC:
			return PX_FILL_NUMERIC;
		case PX_DATUM_ARRAY:
			return PX_FILL_ARRAY;
		case PX_DATUM_INPUT:
			return PX_FILL_TEXT;
	}
	elog(ERROR, "unrecognized datum kind: %d", (int) kind);
	return PX_FILL_TEXT;		/* keep compilers quiet */
}

static void
decide_column(px_fill *fill, int i, Form_pg_attribute attribute,
			  const px_request *request, const px_request_column *wanted)
{
	px_fill_source *source = &fill->sources[i];
	px_schema_column *schema = &fill->schema[i];
	px_column  *column = &fill->columns[i];
	int32		typmod = attribute->atttypmod;
	Oid			type = getBaseTypeAndTypmod(attribute->atttypid, &typmod);
	px_type_policy policy = column_policy(type, typmod, wanted,
										  request->server_version);

	schema->type_oid = type;
	schema->typmod = typmod;
	schema->class = policy.class;
	schema->width = policy.width;

	source->kind = fill_kind(policy.kind);
	source->attribute = attribute->attnum - 1;
	source->skip_next = 1;
	column->is_float = type == FLOAT4OID || type == FLOAT8OID;
	column->relatable = policy.kind == PX_DATUM_BYVAL && !column->is_float;
	source->convert = fill->encoding != GetDatabaseEncoding() &&
		(source->kind == PX_FILL_TEXT || policy.check == PX_CHECK_ENCODING);
	/* char(n) is never empty; bpchar without a length may be, and has few blanks. */
	if (source->kind == PX_FILL_VARLENA && type == BPCHAROID && typmod >= 0 &&
		!source->convert)
		source->kind = PX_FILL_PADDED;
	source->element = policy.element;
	if (source->kind == PX_FILL_TEXT || source->kind == PX_FILL_ARRAY)
	{
		Oid			function;
		bool		is_varlena;

		if (source->kind == PX_FILL_ARRAY)
			getTypeBinaryOutputInfo(type, &function, &is_varlena);
		else
			getTypeOutputInfo(attribute->atttypid, &function, &is_varlena);
		source->output = palloc(sizeof(FmgrInfo));
		fmgr_info(function, source->output);
	}

	switch (policy.class)
	{
		case PX_CLASS_FIXED:
			column->form = PX_FORM_FIXED;
			column->width = policy.width;
			column->is_signed = policy.is_signed;
			break;
		case PX_CLASS_ARRAY:
			column->form = PX_FORM_ARRAY;
			column->width = policy.width;
			column->is_signed = policy.is_signed;
			break;
		case PX_CLASS_NUMERIC:
			column->form = PX_FORM_FIXED;
			column->width = sizeof(int64);
			column->is_signed = true;
			break;
		default:
			column->form = PX_FORM_BYTES;
			break;
	}
	if (column->form == PX_FORM_FIXED)
		fill->row_nbytes += column->width;
	fill->last_attribute = Max(fill->last_attribute, attribute->attnum);
}

px_fill *
px_fill_new(TupleDesc desc, List *columns, const px_request *request,
			const px_request_column *column_requests)
{
	px_fill    *fill = palloc0(sizeof(px_fill));
	int			ncolumns = list_length(columns);
	ListCell   *lc;

	fill->ncolumns = (uint16) ncolumns;
	fill->columns = palloc0(ncolumns * sizeof(px_column));
	fill->schema = palloc0(ncolumns * sizeof(px_schema_column));
	fill->sources = palloc0(ncolumns * sizeof(px_fill_source));
	fill->rows_max = request->batch_rows;
	fill->keep_nbytes = (size_t) request->batch_bytes * 4;
	fill->encoding = client_encoding();
	fill->context = CurrentMemoryContext;

	foreach(lc, columns)
	{
		int			i = foreach_current_index(lc);

		decide_column(fill, i, TupleDescAttr(desc, lfirst_int(lc) - 1),
					  request, &column_requests[i]);
	}
	return fill;
}

int
px_fill_text_columns(const px_fill *fill)
{
	int			n = 0;

	for (int i = 0; i < fill->ncolumns; i++)
	{
		if (fill->schema[i].class == PX_CLASS_TEXT)
			n++;
	}
	return n;
}

/* ---------------------------------------------------------------------
 * Buffers
 * --------------------------------------------------------------------- */

/* Size that a column's buffer has at the beginning of a batch. */
static size_t
initial_nbytes(const px_fill *fill, const px_column *column)
{
	if (column->form == PX_FORM_FIXED)
		return (size_t) fill->rows_max * column->width;
	return BYTES_INITIAL;
}

/* An attempt failed: leave out the next ones, each time twice as many. */
static void
back_off(px_fill_source *source)
{
	source->skip = source->skip_next;
	source->skip_next = Min(source->skip_next * 2, SKIP_MAX);
}

void
px_fill_begin(px_fill *fill)
{
	MemoryContext old_context = MemoryContextSwitchTo(fill->context);

	fill->row_context = AllocSetContextCreate(fill->context,
											  "ExchangeSend row",
											  ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < fill->ncolumns; i++)
	{
		px_column  *column = &fill->columns[i];

		column->values_cap = initial_nbytes(fill, column);
		column->values = palloc(column->values_cap);
		column->nulls = palloc((fill->rows_max + 7) / 8);
		if (column->form != PX_FORM_FIXED || fill->schema[i].class == PX_CLASS_NUMERIC)
			column->lengths = palloc(fill->rows_max * sizeof(uint32));
		if (column->form == PX_FORM_ARRAY)
		{
			column->sent = palloc0(sizeof(px_column));
			column->sent->form = PX_FORM_BYTES;
			column->sent->lengths = palloc(fill->rows_max * sizeof(uint32));
		}
	}
	MemoryContextSwitchTo(old_context);
}

/* Replace a buffer by one of another size, without its contents. */
static void
replace_buffer(px_fill *fill, px_column *column, size_t nbytes)
{
	pfree(column->values);
	column->values = NULL;
	column->values_cap = 0;
	column->values = MemoryContextAlloc(fill->context, nbytes);
	column->values_cap = nbytes;
}

/* Choose the form of a numeric column for a new batch. */
static void
reset_numeric(px_fill_source *source, px_column *column)
{
	bool		scaled = source->skip == 0;

	if (scaled)
	{
		/* The last attempt went well to the end: forget older failures. */
		if (column->form == PX_FORM_FIXED)
			source->skip_next = 1;
	}
	else
		source->skip--;
	column->form = scaled ? PX_FORM_FIXED : PX_FORM_BYTES;
	column->width = scaled ? sizeof(int64) : 0;
	column->is_signed = scaled;
	column->scale = 0;
}

void
px_fill_reset(px_fill *fill)
{
	fill->rows = 0;
	fill->raw_nbytes = 0;
	for (int i = 0; i < fill->ncolumns; i++)
	{
		px_column  *column = &fill->columns[i];
		size_t		nbytes;

		if (fill->sources[i].kind == PX_FILL_NUMERIC)
			reset_numeric(&fill->sources[i], column);
		else if (fill->sources[i].skip > 0)
			fill->sources[i].skip--;
		px_column_reset(column);
		if (column->sent && column->sent->values_cap > fill->keep_nbytes)
			replace_buffer(fill, column->sent, BYTES_INITIAL);

		/* A huge value must not keep its memory for the rest of the stream. */
		nbytes = initial_nbytes(fill, column);
		if (column->values_cap < nbytes ||
			column->values_cap > Max(nbytes, fill->keep_nbytes))
			replace_buffer(fill, column, nbytes);
	}
}

/* Make room for n more bytes of values. */
static void
grow_buffer(px_fill *fill, px_column *column, size_t n)
{
	size_t		needed = Max(column->values_nbytes, (size_t) column->nvalues * column->pad) +
	n + PX_APPEND_SLACK;
	size_t		nbytes;

	if (n > COLUMN_NBYTES_MAX || needed > COLUMN_NBYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value is too large for an exchange frame"),
				 errdetail("The values of a column need %zu bytes, the limit is %zu.",
						   needed, COLUMN_NBYTES_MAX)));
	nbytes = Max(needed, Min(column->values_cap * 2, COLUMN_NBYTES_MAX));
	column->values = column->values ? repalloc(column->values, nbytes) :
		MemoryContextAlloc(fill->context, nbytes);
	column->values_cap = nbytes;
}

/* ---------------------------------------------------------------------
 * Appending values
 * --------------------------------------------------------------------- */

static inline void
append_bytes(px_fill *fill, px_column *column, const void *bytes, size_t n)
{
	if (unlikely(column->values_cap - column->values_nbytes < n + PX_APPEND_SLACK))
		grow_buffer(fill, column, n);
	fill->raw_nbytes += n + 1;
	px_column_append_bytes(column, bytes, n);
}

/* Append n bytes of text in the database's encoding. */
static inline void
append_text(px_fill *fill, const px_fill_source *source, px_column *column,
			const char *text, size_t n)
{
	if (unlikely(source->convert))
	{
		MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);
		char	   *converted = pg_server_to_any(text, (int) n, fill->encoding);

		MemoryContextSwitchTo(old_context);
		fill->row_context_used = true;
		if (converted != text)
		{
			text = converted;
			n = strlen(converted);
		}
	}
	append_bytes(fill, column, text, n);
}

/*
 * Append a name.  It may be longer in the receiver's encoding than a name can
 * be: then it is cut as namein cuts it there.
 */
static inline void
append_name(px_fill *fill, const px_fill_source *source, px_column *column,
			const char *name)
{
	size_t		n = strlen(name);

	if (unlikely(source->convert))
	{
		MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);

		name = pg_server_to_any(name, (int) n, fill->encoding);
		MemoryContextSwitchTo(old_context);
		fill->row_context_used = true;
		n = strlen(name);
		if (n >= NAMEDATALEN)
			n = (size_t) pg_encoding_mbcliplen(fill->encoding, name, (int) n, NAMEDATALEN - 1);
	}
	append_bytes(fill, column, name, n);
}

/* The varlena itself, or a detoasted copy that lives as long as the row. */
static inline struct varlena *
plain_varlena(px_fill *fill, Datum value)
{
	struct varlena *datum = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_COMPRESSED(datum) || VARATT_IS_EXTERNAL(datum)))
	{
		MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);

		datum = detoast_attr(datum);
		MemoryContextSwitchTo(old_context);
		fill->row_context_used = true;
	}
	return datum;
}

/* Append a varlena's bytes, whatever its header. */
static inline void
append_varlena(px_fill *fill, const px_fill_source *source, px_column *column,
			   Datum value)
{
	struct varlena *datum = plain_varlena(fill, value);

	append_text(fill, source, column, VARDATA_ANY(datum),
				VARSIZE_ANY_EXHDR(datum));
}

/*
 * Append a char(n) without the blanks at its end.  That takes values that are
 * all of the same length in bytes, which they are unless some have characters
 * of several bytes.
 */
static inline void
append_padded(px_fill *fill, px_fill_source *source, px_column *column,
			  const char *text, size_t n)
{
	if (likely(source->skip == 0))
	{
		if (unlikely(column->values_cap - column->values_nbytes < n + PX_APPEND_SLACK))
			grow_buffer(fill, column, n);
		if (px_column_append_padded(column, text, n))
		{
			fill->raw_nbytes += n + 1;
			return;
		}
		grow_buffer(fill, column, n);
		px_column_unpad(column);
		back_off(source);
	}
	append_bytes(fill, column, text, n);
}

static void
append_output(px_fill *fill, px_fill_source *source, px_column *column,
			  Datum value)
{
	MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);
	char	   *text = OutputFunctionCall(source->output, value);

	MemoryContextSwitchTo(old_context);
	fill->row_context_used = true;
	append_text(fill, source, column, text, strlen(text));
}

/* Append what numeric_send makes of a numeric. */
static void
append_numeric_bytes(px_fill *fill, px_column *column,
					 const struct varlena *datum)
{
	MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);
	bytea	   *sent = DatumGetByteaPP(DirectFunctionCall1(numeric_send,
														   PointerGetDatum(datum)));

	MemoryContextSwitchTo(old_context);
	fill->row_context_used = true;
	append_bytes(fill, column, VARDATA_ANY(sent), VARSIZE_ANY_EXHDR(sent));
}

/*
 * A value of the batch does not fit its scaled integers: rewrite the ones so
 * far as bytes.  The nulls and their positions stay as they are, so this
 * works on a copy of the column that has values only.
 */
static void
unscale_numeric(px_fill *fill, px_fill_source *source, px_column *column)
{
	px_column	bytes = *column;
	union
	{
		char		data[PX_NUMERIC_SCALED_NBYTES_MAX];
		int32		align;
	}			datum;

	bytes.form = PX_FORM_BYTES;
	bytes.width = 0;
	bytes.is_signed = false;
	bytes.scale = 0;
	px_column_reset(&bytes);
	bytes.values_cap = BYTES_INITIAL;
	bytes.values = MemoryContextAlloc(fill->context, bytes.values_cap);

	for (uint32 i = 0; i < column->nvalues; i++)
	{
		int64		value = (int64) px_load_u64(column->values + i * sizeof(int64));

		(void) px_numeric_from_scaled(value, column->scale, datum.data);
		append_numeric_bytes(fill, &bytes, (struct varlena *) datum.data);
		MemoryContextReset(fill->row_context);
	}

	Assert(bytes.nvalues == column->nvalues);
	bytes.nnulls = column->nnulls;
	pfree(column->values);
	*column = bytes;

	back_off(source);
}

static void
append_numeric(px_fill *fill, px_fill_source *source, px_column *column,
			   Datum value)
{
	struct varlena *datum = plain_varlena(fill, value);

	if (likely(column->form == PX_FORM_FIXED))
	{
		int64		scaled;
		int			dscale;

		if (px_numeric_to_scaled(datum, &scaled, &dscale) &&
			(dscale == column->scale || column->nvalues == 0))
		{
			column->scale = (uint8) dscale;
			px_column_append_u64(column, (uint64) scaled);
			return;
		}
		unscale_numeric(fill, source, column);

		/* If it was detoasted, unscale_numeric has freed the copy. */
		datum = plain_varlena(fill, value);
	}
	append_numeric_bytes(fill, column, datum);
}

/* The same for a datum with a short header, whose bytes these are. */
static inline void
append_short_numeric(px_fill *fill, px_fill_source *source, px_column *column,
					 const char *bytes, size_t n)
{
	int64		scaled;
	int			dscale;

	if (likely(column->form == PX_FORM_FIXED) &&
		px_numeric_short_to_scaled(bytes, n, &scaled, &dscale) &&
		(dscale == column->scale || column->nvalues == 0))
	{
		column->scale = (uint8) dscale;
		px_store_u64(column->values + column->values_nbytes, (uint64) scaled);
		column->values_nbytes += sizeof(int64);
		px_column_mark_value(column);
	}
	else
		append_numeric(fill, source, column, PointerGetDatum(bytes - 1));
}

/*
 * Append an array: its elements, if it has one dimension with the usual lower
 * bound and no nulls, or is empty; else what its send function writes.
 */
static void
append_array(px_fill *fill, px_fill_source *source, px_column *column, Datum value)
{
	MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			ndim = ARR_NDIM(array);
	uint32		nelements = ndim == 0 ? 0 : (uint32) ARR_DIMS(array)[0];

	fill->row_context_used = true;
	if (ndim > 1 || ARR_HASNULL(array) || ARR_ELEMTYPE(array) != source->element ||
		(ndim == 1 && ARR_LBOUND(array)[0] != 1) ||
		nelements > PX_ARRAY_ELEMENTS_MAX - column->values_nbytes / column->width)
	{
		bytea	   *sent = SendFunctionCall(source->output, PointerGetDatum(array));

		MemoryContextSwitchTo(old_context);
		append_bytes(fill, column->sent, VARDATA_ANY(sent), VARSIZE_ANY_EXHDR(sent));
		nelements = 0;
		column->lengths[column->nvalues] = 0;
	}
	else
	{
		size_t		nbytes = (size_t) nelements * column->width;

		MemoryContextSwitchTo(old_context);
		if (column->values_cap - column->values_nbytes < nbytes + PX_APPEND_SLACK)
			grow_buffer(fill, column, nbytes);
		if (nbytes > 0)
			memcpy(column->values + column->values_nbytes, ARR_DATA_PTR(array), nbytes);
		column->values_nbytes += nbytes;
		fill->raw_nbytes += nbytes + sizeof(uint32);
		column->lengths[column->nvalues] = nelements + 1;
	}
	px_column_mark_value(column);
}

/* ---------------------------------------------------------------------
 * Rows
 * --------------------------------------------------------------------- */

static void
append_value(px_fill *fill, px_fill_source *source, px_column *column, Datum value)
{
	struct varlena *datum;

	switch (source->kind)
	{
		case PX_FILL_BYVAL:
			px_column_append_u64(column, (uint64) value);
			break;
		case PX_FILL_BYREF:
			px_column_append_fixed(column, DatumGetPointer(value));
			break;
		case PX_FILL_VARLENA:
			append_varlena(fill, source, column, value);
			break;
		case PX_FILL_PADDED:
			datum = plain_varlena(fill, value);
			append_padded(fill, source, column, VARDATA_ANY(datum),
						  VARSIZE_ANY_EXHDR(datum));
			break;
		case PX_FILL_NAME:
			append_name(fill, source, column, NameStr(*DatumGetName(value)));
			break;
		case PX_FILL_NUMERIC:
			append_numeric(fill, source, column, value);
			break;
		case PX_FILL_ARRAY:
			append_array(fill, source, column, value);
			break;
		case PX_FILL_TEXT:
			append_output(fill, source, column, value);
			break;
	}
}

/* Append the n bytes of a varlena with a short header. */
static inline void
append_short(px_fill *fill, px_fill_source *source, px_column *column,
			 const char *bytes, size_t n)
{
	switch (source->kind)
	{
		case PX_FILL_VARLENA:
			append_text(fill, source, column, bytes, n);
			break;
		case PX_FILL_PADDED:
			append_padded(fill, source, column, bytes, n);
			break;
		case PX_FILL_NUMERIC:
			append_short_numeric(fill, source, column, bytes, n);
			break;
		default:
			append_value(fill, source, column, PointerGetDatum(bytes - 1));
			break;
	}
}

/* Append a by-value attribute or one of fixed width, at p. */
static inline void
append_fixed(px_fill *fill, px_fill_source *source, px_column *column,
			 const px_fill_attribute *attribute, const char *p)
{
	uint8	   *dst = column->values + column->values_nbytes;

	if (unlikely(source->kind != PX_FILL_BYVAL && source->kind != PX_FILL_BYREF))
	{
		append_value(fill, source, column,
					 attribute->byval ? fetch_att(p, true, attribute->length) :
					 PointerGetDatum(p));
		return;
	}

	/* What is in the tuple are the low bytes of the Datum. */
	switch (attribute->length)
	{
		case 4:
			memcpy(dst, p, 4);
			break;
		case 8:
			memcpy(dst, p, 8);
			break;
		default:
			memcpy(dst, p, column->width);
			break;
	}
	column->values_nbytes += column->width;
	px_column_mark_value(column);
}

/*
 * Prepare to take tuples of a descriptor apart.  False if that cannot be done
 * attribute by attribute, in order.
 */
static bool
prepare_tuples(px_fill *fill, TupleDesc desc)
{
	int			next = 0;

	fill->tuple_desc = desc;
	fill->tuples = false;
	if (desc->natts < fill->last_attribute)
		return false;
	if (fill->attributes == NULL)
		fill->attributes = MemoryContextAlloc(fill->context,
											  fill->last_attribute * sizeof(px_fill_attribute));
	for (int i = 0; i < fill->last_attribute; i++)
	{
		Form_pg_attribute form = TupleDescAttr(desc, i);
		px_fill_attribute *attribute = &fill->attributes[i];

		attribute->length = form->attlen;
		attribute->byval = form->attbyval;
		attribute->align_mask = (uint8) (att_align_nominal(1, form->attalign) - 1);
		attribute->column = NULL;
		if (next < fill->ncolumns && fill->sources[next].attribute == i)
		{
			attribute->source = &fill->sources[next];
			attribute->column = &fill->columns[next++];
		}
	}
	fill->tuples = next == fill->ncolumns;
	return fill->tuples;
}

/*
 * Append a row straight from its heap tuple: deforming into the slot first
 * would store each value only to load it again.  The rules are those of
 * heap_deform_tuple.
 */
static void
append_tuple(px_fill *fill, HeapTupleHeader tuple)
{
	const bits8 *nulls = (tuple->t_infomask & HEAP_HASNULL) ? tuple->t_bits : NULL;
	const char *data = (const char *) tuple + tuple->t_hoff;
	const px_fill_attribute *attribute = fill->attributes;
	uint32		offset = 0;

	for (int i = 0; i < fill->last_attribute; i++, attribute++)
	{
		px_fill_source *source = attribute->source;
		px_column  *column = attribute->column;
		const char *p;

		if (nulls && att_isnull(i, nulls))
		{
			if (column)
				px_column_append_null(column);
			continue;
		}

		if (attribute->length > 0)
		{
			offset = (offset + attribute->align_mask) & ~(uint32) attribute->align_mask;
			p = data + offset;
			offset += attribute->length;
			if (column)
				append_fixed(fill, source, column, attribute, p);
			continue;
		}

		/* A short header is not aligned, and not 0 as the bytes of padding are. */
		p = data + offset;
		if (attribute->length == -1 && likely(VARATT_IS_SHORT(p) && !VARATT_IS_EXTERNAL(p)))
		{
			uint32		nbytes = VARSIZE_SHORT(p);

			offset += nbytes;
			if (column)
				append_short(fill, source, column, p + VARHDRSZ_SHORT,
							 nbytes - VARHDRSZ_SHORT);
			continue;
		}

		if (attribute->length != -1 || !VARATT_NOT_PAD_BYTE(p))
			offset = (offset + attribute->align_mask) & ~(uint32) attribute->align_mask;
		p = data + offset;
		offset += attribute->length == -1 ? VARSIZE_ANY(p) : strlen(p) + 1;
		if (column)
			append_value(fill, source, column, PointerGetDatum(p));
	}
}

/* The tuple in the slot if it can be taken apart here, or NULL. */
static inline HeapTupleHeader
tuple_in_slot(px_fill *fill, TupleTableSlot *slot)
{
	HeapTuple	tuple;

	if (!TTS_IS_BUFFERTUPLE(slot) && !TTS_IS_HEAPTUPLE(slot))
		return NULL;
	tuple = ((HeapTupleTableSlot *) slot)->tuple;

	/* What a filter has deformed is used as it is; see above for the rest. */
	if (tuple == NULL || slot->tts_nvalid >= fill->last_attribute ||
		HeapTupleHeaderGetNatts(tuple->t_data) < fill->last_attribute)
		return NULL;
	if (slot->tts_tupleDescriptor == fill->tuple_desc)
		return fill->tuples ? tuple->t_data : NULL;
	return prepare_tuples(fill, slot->tts_tupleDescriptor) ? tuple->t_data : NULL;
}

/* Append a row from the values of its slot. */
static void
append_slot(px_fill *fill, TupleTableSlot *slot)
{
	slot_getsomeattrs(slot, fill->last_attribute);
	for (int c = 0; c < fill->ncolumns; c++)
	{
		int			attribute = fill->sources[c].attribute;

		if (slot->tts_isnull[attribute])
			px_column_append_null(&fill->columns[c]);
		else
			append_value(fill, &fill->sources[c], &fill->columns[c],
						 slot->tts_values[attribute]);
	}
}

void
px_fill_row(px_fill *fill, TupleTableSlot *slot)
{
	HeapTupleHeader tuple = tuple_in_slot(fill, slot);

	if (tuple)
		append_tuple(fill, tuple);
	else
		append_slot(fill, slot);

	fill->rows++;
	fill->raw_nbytes += fill->row_nbytes;
	if (fill->row_context_used)
	{
		MemoryContextReset(fill->row_context);
		fill->row_context_used = false;
	}
}
