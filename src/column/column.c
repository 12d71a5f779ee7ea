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

#include "column/column.h"

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
px_column_plain_nbytes(const px_column *column)
{
	size_t		nbytes = PX_CHUNK_HEADER_NBYTES;

	if (column->nvalues > 0 && column->nnulls > 0)
		nbytes += PX_ALIGN(PX_BITMAP_NBYTES(px_column_rows(column)));

	return nbytes + PX_ALIGN(column->values_nbytes);
}

const char *
px_encoding_name(uint8_t encoding)
{
	switch (encoding)
	{
		case PX_ENC_PLAIN:
			return "plain";
		case PX_ENC_CONSTANT:
			return "constant";
		case PX_ENC_FOR:
			return "frame of reference";
		default:
			return "unknown";
	}
}
