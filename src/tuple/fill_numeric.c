/*-------------------------------------------------------------------------
 *
 * fill_numeric.c
 *		Appending numerics that the hot path cannot.
 *
 * The numerics of a batch are scaled integers of one display scale: that of
 * the first value that can be scaled.  Values that do not fit are exceptions:
 * they travel beside the integers in the form of numeric_send
 * (column/fixed/patched.h).  If there are too many exceptions, or the
 * receiver cannot read them, all values of the batch travel in that form.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "column/fixed/patched.h"
#include "tuple/fill_values.h"
#include "tuple/numeric.h"

void
px_fill_numeric_reset(px_fill_source *source, px_column *column)
{
	bool		scaled = source->skip == 0;

	if (scaled)
	{
		/* The last attempt succeeded: forget older failures. */
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

/* Append a numeric in the form of numeric_send. */
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
 * The batch cannot have scaled integers: rewrite the values so far in the form
 * of numeric_send.  Nulls and their positions do not change, so the values are
 * appended to a copy of the column that has no nulls.
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

/* Set the scale of a batch, at its first scaled integer. */
static void
set_scale(px_column *column, int64 scaled, int dscale)
{
	column->scale = (uint8) dscale;

	/*
	 * All values so far are exceptions.  Put a number in their places that
	 * does not widen the range of the integers.
	 */
	for (uint32 i = 0; i < column->nvalues; i++)
		px_store_u64(column->values + i * sizeof(int64), (uint64) scaled);
}

/*
 * Append a numeric as an exception.  The last integer is repeated in its
 * place, which does not widen the range.
 */
static void
append_exception(px_fill *fill, px_column *column, const struct varlena *datum)
{
	uint64		filler = 0;

	if (column->nvalues > 0)
		filler = px_load_u64(column->values + column->values_nbytes -
							 sizeof(int64));
	column->positions[column->sent->nvalues] = column->nvalues;
	append_sent(fill, column->sent, datum);
	px_column_append_u64(column, filler);
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

		/* unscale resets row_context, where a detoasted copy would be. */
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
