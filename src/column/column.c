/*-------------------------------------------------------------------------
 *
 * column.c
 *		Columns under construction: nulls and blanks.
 *
 * The appenders of values are inline, in column.h.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/column.h"

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
