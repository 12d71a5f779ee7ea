/*-------------------------------------------------------------------------
 *
 * choose.c
 *		Which encoding is likely to make a column smallest.
 *
 * A choice looks at a whole batch, but is made for the batches after it too:
 * see encode.c for when.  Sizes of integer streams are exact; what the codec
 * makes of text is not known here, so half of it is what an encoding without
 * a codec has to beat.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/choose.h"
#include "column/size.h"

/* How a column is encoded if nothing else is worth while. */
static px_encoding_id
px_default_encoding(const px_column *column, uint32_t encodings)
{
	if (column->form == PX_FORM_BYTES)
		return px_encodings_have(encodings, PX_ENCODING_BIT(PX_ENC_SPLIT)) ?
			PX_ENC_SPLIT : PX_ENC_PLAIN;
	return px_width_is_int(column->width) ? PX_ENC_FOR : PX_ENC_PLAIN;
}

/* Set *plan to an encoding, and *nbytes to the size that it would make. */
static px_status
px_candidate_size(const px_encode_input *input, uint8_t id,
				  px_encode_plan *plan, size_t *nbytes)
{
	memset(plan, 0, sizeof(*plan));
	plan->encoding = id;

	return px_encoding_by_id(id)->size(input, plan, nbytes);
}

void
px_choose(const px_encode_input *input, uint32_t encodings,
		  px_encode_plan *plan)
{
	const px_column *column = input->column;
	px_encoding_id fallback = px_default_encoding(column, encodings);
	size_t		fallback_nbytes = px_column_values_nbytes(column);
	size_t		best_nbytes;

	memset(plan, 0, sizeof(*plan));
	if (fallback != PX_ENC_PLAIN)
		(void) px_candidate_size(input, fallback, plan, &fallback_nbytes);
	best_nbytes = fallback_nbytes;

	/* Of two that are equally good, the later one is. */
	for (uint8_t id = PX_ENCODING_COUNT; id-- > 0;)
	{
		const px_encoding *encoding = px_encoding_by_id(id);
		uint32_t	fraction = encoding->saving_fraction;
		px_encode_plan		candidate;
		size_t		nbytes;

		if (id == fallback || encoding->size == NULL ||
			!px_encodings_have(encodings, PX_ENCODING_BIT(id)) ||
			!encoding->suits(column->form, column->width) ||
			px_candidate_size(input, id, &candidate, &nbytes) != PX_OK)
			continue;
		if (fraction > 0 &&
			nbytes >= fallback_nbytes - fallback_nbytes / fraction)
			continue;
		if (nbytes < best_nbytes)
		{
			*plan = candidate;
			best_nbytes = nbytes;
		}
	}
}
