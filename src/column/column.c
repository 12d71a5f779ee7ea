/*-------------------------------------------------------------------------
 *
 * column.c
 *		Columns under construction: nulls, and the size as a plain chunk.
 *
 * The appenders of values are inline, in column.h.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/array.h"
#include "column/column.h"
#include "column/patched.h"
#include "column/plain.h"
#include "column/toasted.h"

/* From the last value to the first, as each moves up. */
void
px_column_unpad(px_column *column)
{
	size_t		from = column->values_nbytes;
	size_t		to = (size_t) column->nvalues * column->pad;

	if (column->pad == 0)
		return;
	column->values_nbytes = to;
	for (uint32_t i = column->nvalues; i > 0; i--)
	{
		uint32_t	nbytes = column->lengths[i - 1];

		from -= nbytes;
		to -= column->pad;
		memmove(column->values + to, column->values + from, nbytes);
		memset(column->values + to + nbytes, ' ', column->pad - nbytes);
		column->lengths[i - 1] = column->pad;
	}
	column->pad = 0;
}

void
px_column_append_null(px_column *column)
{
	uint32_t	row = px_column_rows(column);

	if (column->nnulls == 0)
		memset(column->nulls, 0, row / 8 + 1);
	else if ((row & 7) == 0)
		column->nulls[row >> 3] = 0;

	column->nulls[row >> 3] |= (uint8_t) (1u << (row & 7));
	column->nnulls++;
}

size_t
px_column_values_nbytes(const px_column *column)
{
	if (column->form == PX_FORM_ARRAY)
		return px_array_plain_nbytes(column);
	if (px_column_is_patched(column))
		return px_patched_plain_nbytes(column);
	if (column->form == PX_FORM_FIXED)
		return column->values_nbytes;
	if (px_column_is_toasted(column))
		return px_toasted_true_nbytes(column);

	return px_packed_values_nbytes(column);
}

size_t
px_column_plain_nbytes(const px_column *column)
{
	size_t		nbytes = PX_CHUNK_HEADER_NBYTES;

	if (column->nvalues > 0 && column->nnulls > 0)
		nbytes += PX_ALIGN(PX_BITMAP_NBYTES(px_column_rows(column)));

	return nbytes + PX_ALIGN(px_column_values_nbytes(column));
}

const char *
px_encoding_name(uint8_t encoding)
{
	static const char *const names[PX_ENCODING_COUNT] = {
		[PX_ENC_PLAIN] = "plain",
		[PX_ENC_CONSTANT] = "constant",
		[PX_ENC_FOR] = "frame of reference",
		[PX_ENC_DELTA] = "delta",
		[PX_ENC_RLE] = "run length",
		[PX_ENC_SCALED] = "scaled",
		[PX_ENC_DECIMAL] = "decimal",
		[PX_ENC_PLANES] = "byte planes",
		[PX_ENC_RELATED] = "related",
		[PX_ENC_SPLIT] = "lengths and bytes",
		[PX_ENC_DICTIONARY] = "dictionary",
		[PX_ENC_TEMPLATE] = "template",
		[PX_ENC_PATCHED] = "patched",
		[PX_ENC_TOASTED] = "as toasted",
	};

	return encoding < PX_ENCODING_COUNT ? names[encoding] : "unknown";
}
