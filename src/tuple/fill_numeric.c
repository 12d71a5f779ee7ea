/*-------------------------------------------------------------------------
 *
 * fill_numeric.c
 *		Numerics that take more than a look: exceptions, and other forms.
 *
 * The numerics of a batch are scaled integers of one display scale, that of
 * the first one that can be.  What does not fit travels beside them as
 * numeric_send writes it (column/patched.h); where that is too much, or the
 * receiver cannot read it, all values of the batch travel like that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "column/patched.h"
#include "tuple/fill_values.h"
#include "tuple/numeric.h"

void
px_fill_numeric_reset(px_fill_source *source, px_column *column)
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
	column->scale = scaled ? PX_FILL_SCALE_UNKNOWN : 0;
}

/* Append what numeric_send makes of a numeric. */
static void
append_sent(px_fill *fill, px_column *column, const struct varlena *datum)
{
	MemoryContext old_context = MemoryContextSwitchTo(fill->row_context);
	bytea	   *sent = DatumGetByteaPP(
		DirectFunctionCall1(numeric_send, PointerGetDatum(datum)));

	MemoryContextSwitchTo(old_context);
	fill->row_context_used = true;
	px_fill_append_bytes(fill, column, VARDATA_ANY(sent),
						 VARSIZE_ANY_EXHDR(sent));
}

/*
 * The batch cannot have scaled integers: rewrite the values so far as bytes.
 * The nulls and their positions stay as they are, so this works on a copy of
 * the column that has values only.
 */
static void
unscale(px_fill *fill, px_fill_source *source, px_column *column)
{
	px_column	bytes = *column;
	px_column	sent = {0};
	const uint8_t *sent_value;
	uint32		exception = 0;
	union
	{
		char		data[PX_NUMERIC_SCALED_NBYTES_MAX];
		int32		align;
	}			datum;

	if (column->sent)
		sent = *column->sent;
	sent_value = sent.values;
	bytes.form = PX_FORM_BYTES;
	bytes.width = 0;
	bytes.is_signed = false;
	bytes.scale = 0;
	px_column_reset(&bytes);
	bytes.values_cap = PX_FILL_BYTES_INITIAL;
	bytes.values = MemoryContextAlloc(fill->context, bytes.values_cap);

	for (uint32 i = 0; i < column->nvalues; i++)
	{
		int64 value = (int64) px_load_u64(column->values + i * sizeof(int64));

		if (exception < sent.nvalues && column->positions[exception] == i)
		{
			uint32		nbytes = sent.lengths[exception++];

			px_fill_append_bytes(fill, &bytes, sent_value, nbytes);
			sent_value += nbytes;
			continue;
		}
		(void) px_numeric_from_scaled(value, column->scale, datum.data);
		append_sent(fill, &bytes, (struct varlena *) datum.data);
		MemoryContextReset(fill->row_context);
	}

	Assert(bytes.nvalues == column->nvalues && exception == sent.nvalues);
	bytes.nnulls = column->nnulls;
	pfree(column->values);
	*column = bytes;

	px_fill_back_off(source);
}

/* The first scaled integer of a batch sets the scale. */
static void
set_scale(px_column *column, int64 scaled, int dscale)
{
	column->scale = (uint8) dscale;

	/* In the places of exceptions, a number that does not widen the range. */
	for (uint32 i = 0; i < column->nvalues; i++)
		px_store_u64(column->values + i * sizeof(int64), (uint64) scaled);
}

static void
append_exception(px_fill *fill, px_column *column, const struct varlena *datum)
{
	uint64		number = 0;

	if (column->nvalues > 0)
		number = px_load_u64(column->values + column->values_nbytes -
							 sizeof(int64));
	column->positions[column->sent->nvalues] = column->nvalues;
	append_sent(fill, column->sent, datum);
	px_column_append_u64(column, number);
}

void
px_fill_numeric(px_fill *fill, px_fill_source *source, px_column *column,
				Datum value)
{
	struct varlena *datum = px_fill_plain_varlena(fill, value);

	if (column->form == PX_FORM_FIXED)
	{
		int64		scaled;
		int			dscale;

		if (px_numeric_to_scaled(datum, &scaled, &dscale))
		{
			if (column->scale == PX_FILL_SCALE_UNKNOWN)
				set_scale(column, scaled, dscale);
			if (column->scale == dscale)
			{
				px_column_append_u64(column, (uint64) scaled);
				return;
			}
		}
		if (column->sent &&
			column->sent->nvalues < PX_PATCHES_MAX(fill->rows_max))
		{
			append_exception(fill, column, datum);
			return;
		}
		unscale(fill, source, column);

		/* If it was detoasted, unscale has freed the copy. */
		datum = px_fill_plain_varlena(fill, value);
	}
	append_sent(fill, column, datum);
}

void
px_fill_numeric_finish(px_fill *fill, px_fill_source *source,
					   px_column *column)
{
	if (column->form != PX_FORM_FIXED)
		return;
	if (column->sent &&
		column->sent->nvalues > PX_PATCHES_MAX(column->nvalues))
		unscale(fill, source, column);
	else if (column->scale == PX_FILL_SCALE_UNKNOWN)
		column->scale = 0;
}
