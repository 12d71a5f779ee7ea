/*-------------------------------------------------------------------------
 *
 * choose.c
 *		Which encoding makes a column smallest.
 *
 * Every encoding here has a size that is known from one pass over the values,
 * so the choice is exact and nothing is encoded in vain.  The codec is not
 * considered: it is tried on plain chunks only, because the others leave it
 * little to find and it would cost their speed.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/choose.h"
#include "column/constant.h"
#include "column/for.h"

/* Consider choice's encoding to become one of encoded_nbytes bytes. */
static bool
px_encoding_improve(px_encoding_choice *choice, uint8_t encoding,
					size_t encoded_nbytes)
{
	if (encoded_nbytes >= choice->encoded_nbytes)
		return false;
	choice->encoding = encoding;
	choice->encoded_nbytes = encoded_nbytes;

	return true;
}

static void
px_encoding_choose_ints(const px_column *column, px_encoding_choice *choice)
{
	int64_t		base;
	unsigned	b;

	px_for_measure(column->values, column->nvalues, column->width,
				   column->is_signed, &base, &b);

	if (b == 0)
		px_encoding_improve(choice, PX_ENC_CONSTANT, column->width);
	else if (b < 8u * column->width &&
			 px_encoding_improve(choice, PX_ENC_FOR,
								 px_for_nbytes(column->nvalues, b)))
	{
		choice->base = base;
		choice->b = b;
	}
}

void
px_encoding_choose(const px_column *column, bool encodings,
				   px_encoding_choice *choice)
{
	size_t		constant_nbytes;

	choice->encoding = PX_ENC_PLAIN;
	choice->encoded_nbytes = column->values_nbytes;
	choice->base = 0;
	choice->b = 0;

	if (!encodings)
		return;

	if (column->form == PX_FORM_FIXED && px_width_is_int(column->width))
	{
		px_encoding_choose_ints(column, choice);
		return;
	}

	if (column->form == PX_FORM_FIXED)
		constant_nbytes = px_constant_measure_fixed(column->values,
													column->nvalues,
													column->width);
	else
		constant_nbytes = px_constant_measure_bytes(column->values,
													column->values_nbytes,
													column->nvalues);
	if (constant_nbytes > 0)
		px_encoding_improve(choice, PX_ENC_CONSTANT, constant_nbytes);
}
