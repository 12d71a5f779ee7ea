/*-------------------------------------------------------------------------
 *
 * size.c
 *		How large a column would be as a plain, uncompressed chunk.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/array.h"
#include "column/chunk.h"
#include "column/fixed/patched.h"
#include "column/packed.h"
#include "column/size.h"
#include "column/strings/toasted.h"

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
