/*-------------------------------------------------------------------------
 *
 * fill.c
 *		From rows to columns: filling the columns of a batch from slots.
 *
 * px_fill_row is the hot path.  For the common types it neither allocates
 * memory nor calls through a pointer.  Everything else (detoasting, output
 * functions, encoding conversion, numerics that are not scaled integers) works
 * in a context that is reset after the row.
 *
 * Values are stored as they are in memory, which is the byte order of the wire
 * only on little-endian machines.  The hello says so if the remote is another
 * machine, and the coordinator does not open a stream.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "column/array.h"
#include "compat.h"
#include "tuple/fill.h"
#include "tuple/fill_values.h"
#include "tuple/numeric.h"

/* ---------------------------------------------------------------------
 * Appending values
 * --------------------------------------------------------------------- */

/* Append n bytes of text in the database's encoding. */
static inline void
append_text(px_fill *fill, const px_fill_source *source, px_column *column,
			const char *text, size_t n)
{
	if (unlikely(source->convert))
	{
		MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);
		char *converted = pg_server_to_any(text, (int) n, fill->encoding);

		MemoryContextSwitchTo(old_context);
		fill->row_context_used = true;
		if (converted != text)
		{
			text = converted;
			n = strlen(converted);
		}
	}
	px_fill_append_bytes(fill, column, text, n);
}

/*
 * Append a name.  In the receiver's encoding it may be too long for a name.
 * Then it is cut as namein would cut it there.
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
			n = (size_t) pg_encoding_mbcliplen(fill->encoding, name, (int) n,
											   NAMEDATALEN - 1);
	}
	px_fill_append_bytes(fill, column, name, n);
}

/* Append a varlena's bytes; it may be toasted or have a short header. */
static inline void
append_varlena(px_fill *fill, const px_fill_source *source, px_column *column,
			   Datum value)
{
	struct varlena *datum = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_COMPRESSED(datum) || VARATT_IS_EXTERNAL(datum)))
	{
		if (fill->toasted && !source->convert &&
			px_fill_toasted(fill, column, datum))
			return;
		datum = px_fill_plain_varlena(fill, value);
	}
	append_text(fill, source, column, VARDATA_ANY(datum),
				VARSIZE_ANY_EXHDR(datum));
}

/*
 * Append a char(n) without its trailing blanks.  All values of the batch must
 * have the same length in bytes, so that the blanks can be added again.  They
 * have, unless some contain multibyte characters.
 */
static inline void
append_padded(px_fill *fill, px_fill_source *source, px_column *column,
			  const char *text, size_t n)
{
	if (likely(source->skip == 0))
	{
		if (unlikely(column->values_cap - column->values_nbytes <
					 n + PX_APPEND_SLACK))
			px_fill_grow(fill, column, n);
		if (px_column_append_padded(column, text, n))
		{
			fill->raw_nbytes += n + 1;
			return;
		}
		px_fill_grow(fill, column, n);
		px_column_unpad(column);
		px_fill_back_off(source);
	}
	px_fill_append_bytes(fill, column, text, n);
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

/* Append a numeric.  bytes[n] are those after the header of value. */
static inline void
append_numeric(px_fill *fill, px_fill_source *source, px_column *column,
			   const char *bytes, size_t n, Datum value)
{
	int64		scaled;
	int			dscale;

	if (likely(column->form == PX_FORM_FIXED) &&
		px_numeric_short_to_scaled(bytes, n, &scaled, &dscale) &&
		dscale == column->scale)
	{
		px_store_u64(column->values + column->values_nbytes, (uint64) scaled);
		column->values_nbytes += sizeof(int64);
		px_column_mark_value(column);
	}
	else
		px_fill_numeric(fill, source, column, value);
}

/*
 * Append an array.  If it is empty, or has one dimension, lower bound 1 and no
 * nulls, its elements are appended; otherwise what its send function returns.
 */
static void
append_array(px_fill *fill, px_fill_source *source, px_column *column,
			 Datum value)
{
	MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			ndim = ARR_NDIM(array);
	uint32		nelements = ndim == 0 ? 0 : (uint32) ARR_DIMS(array)[0];

	fill->row_context_used = true;
	if (ndim > 1 || ARR_HASNULL(array) ||
		ARR_ELEMTYPE(array) != source->element ||
		(ndim == 1 && ARR_LBOUND(array)[0] != 1) ||
		nelements >
			PX_ARRAY_ELEMENTS_MAX - column->values_nbytes / column->width)
	{
		bytea	   *sent;

		if (px_fill_is_float(source->element) &&
			ARR_ELEMTYPE(array) == source->element)
			array = px_fill_canonical_array(array, column->width);
		sent = SendFunctionCall(source->output, PointerGetDatum(array));
		MemoryContextSwitchTo(old_context);
		px_fill_append_bytes(fill, column->sent, VARDATA_ANY(sent),
							 VARSIZE_ANY_EXHDR(sent));
		nelements = 0;
		column->lengths[column->nvalues] = 0;
	}
	else
	{
		size_t		nbytes = (size_t) nelements * column->width;

		MemoryContextSwitchTo(old_context);
		if (column->values_cap - column->values_nbytes <
			nbytes + PX_APPEND_SLACK)
			px_fill_grow(fill, column, nbytes);
		if (nbytes > 0)
			memcpy(column->values + column->values_nbytes, ARR_DATA_PTR(array),
				   nbytes);
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
append_value(px_fill *fill, px_fill_source *source, px_column *column,
			 Datum value)
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
			datum = px_fill_plain_varlena(fill, value);
			append_padded(fill, source, column, VARDATA_ANY(datum),
						  VARSIZE_ANY_EXHDR(datum));
			break;
		case PX_FILL_NAME:
			append_name(fill, source, column, NameStr(*DatumGetName(value)));
			break;
		case PX_FILL_NUMERIC:
			datum = (struct varlena *) DatumGetPointer(value);
			if (unlikely(VARATT_IS_COMPRESSED(datum) ||
						 VARATT_IS_EXTERNAL(datum)))
				px_fill_numeric(fill, source, column, value);
			else
				append_numeric(fill, source, column, VARDATA_ANY(datum),
							   VARSIZE_ANY_EXHDR(datum), value);
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
			append_numeric(fill, source, column, bytes, n,
						   PointerGetDatum(bytes - VARHDRSZ_SHORT));
			break;
		default:
			append_value(fill, source, column, PointerGetDatum(bytes - 1));
			break;
	}
}

/* Append an attribute of fixed width, which is at p. */
static inline void
append_fixed(px_fill *fill, px_fill_source *source, px_column *column,
			 const px_fill_attribute *attribute, const char *p)
{
	uint8	   *dst = column->values + column->values_nbytes;

	if (unlikely(source->kind != PX_FILL_BYVAL &&
				 source->kind != PX_FILL_BYREF))
	{
		append_value(fill, source, column,
					 attribute->byval ? fetch_att(p, true, attribute->length) :
					 PointerGetDatum(p));
		return;
	}

	/* A tuple has the low bytes of the Datum. */
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
 * Prepare append_tuple for tuples of a descriptor.  It reads the attributes in
 * order, so it cannot be used if columns are sent in another order or twice.
 * Returns false then.
 */
static bool
prepare_tuples(px_fill *fill, TupleDesc desc)
{
	int			next = 0;

	fill->tuple_desc = desc;
	fill->can_deform = false;
	if (desc->natts < fill->last_attribute)
		return false;
	if (fill->attributes == NULL)
		fill->attributes = MemoryContextAlloc(
			fill->context, fill->last_attribute * sizeof(px_fill_attribute));
	for (int i = 0; i < fill->last_attribute; i++)
	{
		Form_pg_attribute form = TupleDescAttr(desc, i);
		px_fill_attribute *attribute = &fill->attributes[i];

		attribute->length = form->attlen;
		attribute->byval = form->attbyval;
		attribute->align_mask = (uint8) (att_align_nominal(1, form->attalign) -
										 1);
		attribute->column = NULL;
		if (next < fill->ncolumns && fill->sources[next].attribute == i)
		{
			attribute->source = &fill->sources[next];
			attribute->column = &fill->columns[next++];
		}
	}
	fill->can_deform = next == fill->ncolumns;
	return fill->can_deform;
}

/*
 * Append a row directly from its heap tuple.  Deforming it into the slot first
 * would store each value only to load it again.  The rules are those of
 * heap_deform_tuple.
 */
static void
append_tuple(px_fill *fill, HeapTupleHeader tuple)
{
	const uint8 *nulls = (tuple->t_infomask & HEAP_HASNULL) ? tuple->t_bits
															: NULL;
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
			offset = (offset + attribute->align_mask) &
				~(uint32) attribute->align_mask;
			p = data + offset;
			offset += attribute->length;
			if (column)
				append_fixed(fill, source, column, attribute, p);
			continue;
		}

		/*
		 * A varlena with a short header is not aligned.  Its first byte is not
		 * 0, but a byte of padding is.
		 */
		p = data + offset;
		if (attribute->length == -1 &&
			likely(VARATT_IS_SHORT(p) && !VARATT_IS_EXTERNAL(p)))
		{
			uint32		nbytes = VARSIZE_SHORT(p);

			offset += nbytes;
			if (column)
				append_short(fill, source, column, p + VARHDRSZ_SHORT,
							 nbytes - VARHDRSZ_SHORT);
			continue;
		}

		if (attribute->length != -1 || !VARATT_NOT_PAD_BYTE(p))
			offset = (offset + attribute->align_mask) &
				~(uint32) attribute->align_mask;
		p = data + offset;
		offset += attribute->length == -1 ? VARSIZE_ANY(p) : strlen(p) + 1;
		if (column)
			append_value(fill, source, column, PointerGetDatum(p));
	}
}

/* The tuple in the slot if append_tuple can read it, else NULL. */
static inline HeapTupleHeader
tuple_in_slot(px_fill *fill, TupleTableSlot *slot)
{
	HeapTuple	tuple;

	if (!TTS_IS_BUFFERTUPLE(slot) && !TTS_IS_HEAPTUPLE(slot))
		return NULL;
	tuple = ((HeapTupleTableSlot *) slot)->tuple;

	/*
	 * If a filter has deformed the tuple already, use the slot's values.  A
	 * tuple may also lack attributes that were added to the table after it was
	 * written.
	 */
	if (tuple == NULL || slot->tts_nvalid >= fill->last_attribute ||
		HeapTupleHeaderGetNatts(tuple->t_data) < fill->last_attribute)
		return NULL;
	if (slot->tts_tupleDescriptor == fill->tuple_desc)
		return fill->can_deform ? tuple->t_data : NULL;
	return prepare_tuples(fill, slot->tts_tupleDescriptor) ? tuple->t_data
														   : NULL;
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
