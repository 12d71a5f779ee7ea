/*-------------------------------------------------------------------------
 *
 * fill_columns.c
 *		How columns travel, and their buffers.
 *
 * How a column travels is decided once for a stream.  Buffers are kept from
 * batch to batch, unless a huge value has made them huge.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "column/encoding.h"
#include "column/fixed/patched.h"
#include "column/strings/toasted.h"
#include "compat.h"
#include "tuple/fill.h"
#include "tuple/fill_values.h"
#include "tuple/policy.h"

/* Limit for the values of one column, which leaves room for headers. */
#define COLUMN_NBYTES_MAX	((size_t) PX_FRAME_NBYTES_MAX - 1024)

/* ---------------------------------------------------------------------
 * Deciding how columns travel
 * --------------------------------------------------------------------- */

/*
 * The encoding that text must have.  In a parallel worker,
 * pg_get_client_encoding() is the encoding of the database, because the leader
 * converts the rows of workers.  But the leader does not convert frames.  So
 * we look at the setting, which workers have from the leader.
 */
int
px_fill_client_encoding(void)
{
	const char *name = GetConfigOption("client_encoding", false, false);
	int			encoding = pg_char_to_encoding(name);

	return encoding >= 0 ? encoding : pg_get_client_encoding();
}

/*
 * Does the output function round values of this type?  postgres_fdw sets
 * extra_float_digits so that it does not, but a function of the remote may
 * have changed it.  Then rows must have the rounded values, so we send text.
 */
static bool
is_text_rounded(Oid type)
{
	return extra_float_digits <= 0 &&
		(type == FLOAT4OID || type == FLOAT8OID || type == FLOAT4ARRAYOID ||
		 type == FLOAT8ARRAYOID);
}

/*
 * The policy for a column of the given type (domains flattened), for which the
 * receiver requests wanted.  Raw requires the same type on both ends, and the
 * same typmod unless the receiver requests none.
 */
static px_type_policy
column_policy(Oid type, int32 typmod, const px_request_column *wanted,
			  uint32 peer_version)
{
	if (wanted->type_oid != type || type >= FirstGenbkiObjectId ||
		(wanted->typmod != -1 && wanted->typmod != typmod) ||
		is_text_rounded(type))
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

/* Look up the function that a column of kind text or array calls. */
static FmgrInfo *
lookup_output(px_fill_kind kind, Oid declared_type, Oid base_type)
{
	FmgrInfo   *output;
	Oid			function;
	bool		is_varlena;

	if (kind == PX_FILL_ARRAY)
		getTypeBinaryOutputInfo(base_type, &function, &is_varlena);
	else if (kind == PX_FILL_TEXT)
		getTypeOutputInfo(declared_type, &function, &is_varlena);
	else
		return NULL;
	output = palloc(sizeof(FmgrInfo));
	fmgr_info(function, output);
	return output;
}

/* Set the form of a column's chunks.  Numerics begin with scaled integers. */
static void
set_form(px_column *column, const px_type_policy *policy)
{
	switch (policy->class)
	{
		case PX_CLASS_FIXED:
			column->form = PX_FORM_FIXED;
			column->width = policy->width;
			column->is_signed = policy->is_signed;
			break;
		case PX_CLASS_ARRAY:
			column->form = PX_FORM_ARRAY;
			column->width = policy->width;
			column->is_signed = policy->is_signed;
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
}

/* Decide how column i, an attribute of the rows, travels. */
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
	column->is_float = px_fill_is_float(type);
	column->relatable = policy.kind == PX_DATUM_BYVAL && !column->is_float;
	source->convert = fill->encoding != GetDatabaseEncoding() &&
		(source->kind == PX_FILL_TEXT || policy.check == PX_CHECK_ENCODING);
	/*
	 * PX_FILL_PADDED is for char(n), which is never empty.  bpchar without a
	 * length may be, and is not padded.
	 */
	if (source->kind == PX_FILL_VARLENA && type == BPCHAROID && typmod >= 0 &&
		!source->convert)
		source->kind = PX_FILL_PADDED;
	source->element = policy.element;
	source->output = lookup_output(source->kind, attribute->atttypid, type);
	set_form(column, &policy);
	if (column->form == PX_FORM_FIXED)
		fill->row_nbytes += column->width;
	fill->last_attribute = Max(fill->last_attribute, attribute->attnum);
}

px_fill *
px_fill_new(TupleDesc desc, List *columns, const px_request *request,
			const px_request_column *column_requests, int encoding)
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
	fill->patches = px_encodings_have(request->encodings, PX_ENCODINGS_INTS |
									  PX_ENCODING_BIT(PX_ENC_PATCHED));
	fill->encoding = encoding;
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

/* The size of a column's buffer at the beginning of a batch. */
static size_t
initial_nbytes(const px_fill *fill, const px_column *column)
{
	if (column->form == PX_FORM_FIXED)
		return (size_t) fill->rows_max * column->width;
	return PX_FILL_BYTES_INITIAL;
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
		if (column->form != PX_FORM_FIXED ||
			fill->schema[i].class == PX_CLASS_NUMERIC)
			column->lengths = palloc(fill->rows_max * sizeof(uint32));
		if (column->form == PX_FORM_ARRAY)
		{
			column->sent = palloc0(sizeof(px_column));
			column->sent->form = PX_FORM_BYTES;
			column->sent->lengths = palloc(fill->rows_max * sizeof(uint32));
		}
		if (fill->sources[i].kind == PX_FILL_NUMERIC && fill->patches &&
			PX_PATCHES_MAX(fill->rows_max) > 0)
		{
			Size nbytes = PX_PATCHES_MAX(fill->rows_max) * sizeof(uint32);

			column->sent = palloc0(sizeof(px_column));
			column->sent->form = PX_FORM_BYTES;
			column->sent->lengths = palloc(nbytes);
			column->positions = palloc(nbytes);
		}
	}
	MemoryContextSwitchTo(old_context);
}

/* Replace a buffer by one of another size.  The contents are lost. */
static void
replace_buffer(px_fill *fill, px_column *column, size_t nbytes)
{
	pfree(column->values);
	column->values = NULL;
	column->values_cap = 0;
	column->values = MemoryContextAlloc(fill->context, nbytes);
	column->values_cap = nbytes;
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
			px_fill_numeric_reset(&fill->sources[i], column);
		else if (fill->sources[i].skip > 0)
			fill->sources[i].skip--;
		px_column_reset(column);
		if (column->sent && column->sent->values_cap > fill->keep_nbytes)
			replace_buffer(fill, column->sent, PX_FILL_BYTES_INITIAL);

		/* Do not keep the memory of a huge value for the whole stream. */
		nbytes = initial_nbytes(fill, column);
		if (column->values_cap < nbytes ||
			column->values_cap > Max(nbytes, fill->keep_nbytes))
			replace_buffer(fill, column, nbytes);
	}
}

void
px_fill_grow(px_fill *fill, px_column *column, size_t n)
{
	size_t		needed = Max(column->values_nbytes,
						(size_t) column->nvalues * column->pad) +
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

bool
px_fill_toasted(px_fill *fill, px_column *column, struct varlena *datum)
{
	MemoryContext old_context;
	struct varlena *stored = datum;
	size_t		nbytes;
	uint32		toast;

	if (VARATT_IS_EXTERNAL_ONDISK(datum))
	{
		struct varatt_external pointer;

		VARATT_EXTERNAL_GET_POINTER(pointer, datum);
		if (!VARATT_EXTERNAL_IS_COMPRESSED(pointer))
			return false;
		old_context = MemoryContextSwitchTo(fill->row_context);
		stored = detoast_external_attr(datum);
		MemoryContextSwitchTo(old_context);
		fill->row_context_used = true;
	}
	if (!VARATT_IS_COMPRESSED(stored))
		return false;

	/* The word va_tcinfo, by macros that exist in all major versions. */
	toast = VARDATA_COMPRESSED_GET_EXTSIZE(stored) |
		(uint32) VARDATA_COMPRESSED_GET_COMPRESS_METHOD(stored)
			<< VARLENA_EXTSIZE_BITS;
	nbytes = VARSIZE(stored) - VARHDRSZ_COMPRESSED;
	if (nbytes + PX_TOAST_SAVING_MIN > PX_TOAST_NBYTES(toast))
		return false;

	if (column->toasts == NULL)
	{
		Size		room = fill->rows_max * sizeof(uint32);

		column->toasts = MemoryContextAlloc(fill->context, room);
		column->positions = MemoryContextAlloc(fill->context, room);
	}
	column->positions[column->ntoasts] = column->nvalues;
	column->toasts[column->ntoasts++] = toast;
	px_fill_append_bytes(fill, column, (char *) stored + VARHDRSZ_COMPRESSED,
						 nbytes);
	fill->raw_nbytes += PX_TOAST_NBYTES(toast) - nbytes;
	return true;
}

/* ---------------------------------------------------------------------
 * Floats
 * --------------------------------------------------------------------- */

/*
 * A NaN has many bit patterns: infinity - infinity yields another one than
 * 'NaN'::float8.  As integers without the sign, all of them are greater than
 * infinity.
 */
#define INFINITY4_BITS	UINT32_C(0x7f800000)
#define INFINITY8_BITS	UINT64CONST(0x7ff0000000000000)

/*
 * Give each NaN among n floats of width 4 or 8 the bits that the type's input
 * function produces.  The rows of postgres_fdw have these, and float8send, for
 * instance, shows the difference.
 */
static void
canonicalize_nans(char *values, uint32 n, uint8 width)
{
	if (width == sizeof(float4))
	{
		const float4 nan = get_float4_nan();

		for (uint32 i = 0; i < n; i++)
		{
			char	   *value = values + (Size) i * sizeof(float4);

			if (unlikely((px_load_u32((uint8_t *) value) & PG_INT32_MAX) >
						 INFINITY4_BITS))
				memcpy(value, &nan, sizeof(nan));
		}
	}
	else
	{
		const float8 nan = get_float8_nan();

		for (uint32 i = 0; i < n; i++)
		{
			char	   *value = values + (Size) i * sizeof(float8);

			if (unlikely((px_load_u64((uint8_t *) value) & PG_INT64_MAX) >
						 INFINITY8_BITS))
				memcpy(value, &nan, sizeof(nan));
		}
	}
}

ArrayType *
px_fill_canonical_array(ArrayType *array, uint8 width)
{
	ArrayType  *copy = DatumGetArrayTypePCopy(PointerGetDatum(array));
	char	   *elements = ARR_DATA_PTR(copy);

	/* Nulls take no space among the elements. */
	canonicalize_nans(
		elements, (uint32) ((char *) copy + ARR_SIZE(copy) - elements) / width,
		width);
	return copy;
}

void
px_fill_finish(px_fill *fill)
{
	for (int i = 0; i < fill->ncolumns; i++)
	{
		px_column  *column = &fill->columns[i];

		if (fill->sources[i].kind == PX_FILL_NUMERIC)
			px_fill_numeric_finish(fill, &fill->sources[i], column);
		else if ((column->form == PX_FORM_FIXED && column->is_float) ||
				 (column->form == PX_FORM_ARRAY &&
				  px_fill_is_float(fill->sources[i].element)))
			canonicalize_nans(
				(char *) column->values,
				(uint32) (column->values_nbytes / column->width),
				column->width);
	}
}
