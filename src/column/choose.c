/*-------------------------------------------------------------------------
 *
 * choose.c
 *		Which encoding is likely to make a column smallest.
 *
 * A choice looks at a whole batch, but is made for the batches behind it too:
 * see encode.c for when.  Sizes of integer streams are exact; what the codec
 * makes of text is not known here, so half of it is what an encoding without
 * a codec has to beat.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/choose.h"
#include "column/fixed.h"
#include "column/for.h"

/* An encoding must save one byte in so many to be better than plain values. */
#define PX_SAVING_FRACTION		16

/* A dictionary pays off only if its entries are used this often. */
#define PX_DICTIONARY_USES		4

/* Room for new entries in later batches before the choice is made anew. */
#define PX_DICTIONARY_GROWTH	2
#define PX_DICTIONARY_SMALL		16

#define PX_TEXT_RATIO			2

size_t
px_encode_scratch_nbytes(uint32_t rows_max)
{
	return PX_ALIGN(sizeof(px_dictionary)) + (size_t) rows_max * 4 * 8;
}

px_encode_scratch
px_encode_scratch_take(uint8_t *scratch, uint32_t rows)
{
	px_encode_scratch result;

	result.dictionary = (px_dictionary *) scratch;
	result.values = scratch + PX_ALIGN(sizeof(px_dictionary));
	result.rest = result.values + (size_t) rows * 8;

	return result;
}

static inline bool
px_allows(uint32_t encodings, px_encoding encoding)
{
	return (encodings >> encoding) & 1;
}

static void
px_choose_opaque(const px_column *column, uint32_t encodings,
				 px_column_state *state)
{
	size_t		nbytes = column->values_nbytes;

	state->planned = PX_ENC_PLAIN;
	if (px_allows(encodings, PX_ENC_PLANES) &&
		px_planes_nbytes(column->values, column->nvalues, column->width) <
		nbytes - nbytes / PX_SAVING_FRACTION)
		state->planned = PX_ENC_PLANES;
}

static void
px_choose_float(const px_column *column, uint32_t encodings,
				const px_encode_scratch *scratch, px_column_state *state)
{
	px_ints		bits = {column->values, column->nvalues, column->width, column->is_signed};
	px_ints		numbers = {scratch->values, column->nvalues, 8, true};
	px_ints_plan plan;
	int			decimals = -1;
	size_t		best;
	size_t		nbytes;

	state->planned = PX_ENC_FOR;
	px_ints_choose(&bits, &state->ints, &best);
	best -= best / PX_SAVING_FRACTION;

	nbytes = px_planes_nbytes(column->values, column->nvalues, column->width);
	if (nbytes < best && px_allows(encodings, PX_ENC_PLANES))
	{
		state->planned = PX_ENC_PLANES;
		best = nbytes;
	}
	if (px_allows(encodings, PX_ENC_DECIMAL))
		decimals = px_decimal_find(column->values, column->nvalues, column->width);
	if (decimals < 0)
		return;
	px_decimal_numbers(column->values, column->nvalues, column->width, decimals,
					   scratch->values);
	px_ints_choose(&numbers, &plan, &nbytes);
	if (nbytes < best)
	{
		state->planned = PX_ENC_DECIMAL;
		state->decimals = (uint8_t) decimals;
		state->ints = plan;
	}
}

static void
px_choose_ints(const px_column *columns, uint16_t index, uint32_t encodings,
			   px_column_state *state)
{
	const px_column *column = &columns[index];
	px_ints		ints = {column->values, column->nvalues, column->width, column->is_signed};
	size_t		nbytes;
	int			related = -1;
	unsigned	b = 0;

	state->planned = PX_ENC_FOR;
	px_ints_choose(&ints, &state->ints, &nbytes);
	if (px_allows(encodings, PX_ENC_RELATED) && column->relatable &&
		column->nvalues >= PX_INTS_TRANSFORM_MIN)
		related = px_related_find(columns, index, &b);
	if (related >= 0 && px_for_nbytes(column->nvalues, Max(b, 1)) < nbytes - nbytes / 8)
	{
		state->planned = PX_ENC_RELATED;
		state->related = (uint16_t) related;
	}
}

static void
px_choose_bytes(const px_column *column, uint32_t encodings,
				const px_encode_scratch *scratch, px_column_state *state)
{
	px_ints		lengths = {(const uint8_t *) column->lengths, column->nvalues, 4, false};
	px_ints		codes = {scratch->values, column->nvalues, 2, false};
	px_ints		numbers = {scratch->values, column->nvalues, 8, true};
	uint32_t	entries_max = Min(column->nvalues / PX_DICTIONARY_USES + 1, PX_DICTIONARY_MAX);
	px_template template;
	px_ints_plan plan;
	size_t		best;
	size_t		nbytes;

	state->planned = PX_ENC_PLAIN;
	best = px_column_values_nbytes(column);
	if (px_allows(encodings, PX_ENC_SPLIT))
	{
		state->planned = PX_ENC_SPLIT;
		px_ints_choose(&lengths, &state->ints, &best);
		best += column->values_nbytes / PX_TEXT_RATIO;
	}

	if (px_allows(encodings, PX_ENC_TEMPLATE) &&
		px_template_find(column, &template, scratch->values))
	{
		px_ints_choose(&numbers, &plan, &nbytes);
		nbytes += template.nbytes;
		if (nbytes < best)
		{
			state->planned = PX_ENC_TEMPLATE;
			state->ints = plan;
			best = nbytes;
		}
	}
	if (px_allows(encodings, PX_ENC_DICTIONARY) &&
		px_dictionary_build(column, entries_max, scratch->dictionary, scratch->values))
	{
		uint32_t	n = scratch->dictionary->n;

		px_ints_choose(&codes, &plan, &nbytes);
		nbytes += scratch->dictionary->nbytes;
		if (nbytes < best)
		{
			state->planned = PX_ENC_DICTIONARY;
			state->ints = plan;
			state->entries_max = Min(n * PX_DICTIONARY_GROWTH + PX_DICTIONARY_SMALL,
									 PX_DICTIONARY_MAX);
		}
	}
}

void
px_choose(const px_column *columns, uint16_t index, uint32_t encodings,
		  const px_encode_scratch *scratch, px_column_state *state)
{
	const px_column *column = &columns[index];

	if (column->form == PX_FORM_BYTES)
		px_choose_bytes(column, encodings, scratch, state);
	else if (!px_width_is_int(column->width))
		px_choose_opaque(column, encodings, state);
	else if (column->is_float)
		px_choose_float(column, encodings, scratch, state);
	else
		px_choose_ints(columns, index, encodings, state);
}
