/*-------------------------------------------------------------------------
 *
 * related.c
 *		A column as its difference to an earlier one of the same batch: a
 *		date of receipt some days after that of shipment, a time of change
 *		close to that of creation.
 *
 * Encoded form: number of the other column (2 bytes), zero (6 bytes); child
 * of the differences (width 8).  The other column stands before this one and
 * has the same width and sign; neither has nulls.
 *
 * Source: Glas et al., "Corra: Correlation-Aware Column Compression" (VLDB
 * workshops 2024).
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/ints/bitpack.h"
#include "column/ints/ints.h"
#include "column/ints/load.h"

/* Values of a batch that are looked at to find a related column. */
#define PX_RELATED_SAMPLE	256

/* Earlier columns that are looked at. */
#define PX_RELATED_CANDIDATES	8

/* May the two columns of a batch be written as a difference? */
static bool
px_related_fits(const px_column *column, const px_column *reference)
{
	return column->relatable && reference->relatable &&
		column->form == PX_FORM_FIXED && reference->form == PX_FORM_FIXED &&
		px_width_is_int(column->width) &&
		column->width == reference->width &&
		column->is_signed == reference->is_signed &&
		column->nnulls == 0 && reference->nnulls == 0;
}

/* The first n differences, as 64-bit integers. */
static void
px_related_subtract(const px_column *column, const px_column *reference,
					uint32_t n, uint64_t *differences, uint64_t *other)
{
	px_ints_load(column->values, n, column->width, column->is_signed,
				 (int64_t *) differences);
	px_ints_load(reference->values, n, column->width, column->is_signed,
				 (int64_t *) other);
	for (uint32_t i = 0; i < n; i++)
		differences[i] -= other[i];
}

/*
 * Among the columns before columns[index], find one whose difference to it
 * takes at least a quarter fewer bits than the value alone (*b), or return
 * -1.  Looks at a sample.
 */
static int
px_related_find(const px_column *columns, uint16_t index, unsigned *b)
{
	const px_column *column = &columns[index];
	uint32_t	n = Min(column->nvalues, PX_RELATED_SAMPLE);
	uint64_t	differences[PX_RELATED_SAMPLE];
	uint64_t	other[PX_RELATED_SAMPLE];
	unsigned	best_b;
	int			best = -1;
	int			candidates = 0;
	int64_t		base;

	px_bitpack_measure(column->values, n, column->width, column->is_signed,
					   &base, &best_b);
	best_b -= best_b / 4;
	for (int i = index - 1; i >= 0 && candidates < PX_RELATED_CANDIDATES; i--)
	{
		unsigned	related_b;

		if (!px_related_fits(column, &columns[i]))
			continue;
		candidates++;
		px_related_subtract(column, &columns[i], n, differences, other);
		px_bitpack_measure((const uint8_t *) differences, n, 8, true,
						   &base, &related_b);
		if (related_b < best_b)
		{
			best_b = *b = related_b;
			best = i;
		}
	}

	return best;
}

/* The plan's parameter is the number of the other column. */
static px_status
px_related_size(const px_encode_input *input, px_encode_plan *plan,
				size_t *nbytes)
{
	const px_column *column = input->column;
	unsigned	b = 0;
	int			related;

	if (!column->relatable || column->nvalues < PX_INTS_TRANSFORM_MIN)
		return PX_UNSUITABLE;
	related = px_related_find(input->columns, input->index, &b);
	if (related < 0)
		return PX_UNSUITABLE;

	*nbytes = px_bitpack_nbytes(column->nvalues, Max(b, 1));
	plan->parameter = (uint32_t) related;

	return PX_OK;
}

static px_status
px_related_write(px_writer *out, const px_encode_input *input,
				 const px_encode_plan *plan, px_encoded *result)
{
	const px_column *column = input->column;
	const px_column *reference = &input->columns[plan->parameter];
	uint32_t	n = column->nvalues;
	uint64_t   *differences = (uint64_t *) input->scratch.values;
	px_ints		ints = px_numbers(input->scratch.values, n);

	if (!px_related_fits(column, reference))
		return PX_UNSUITABLE;
	px_related_subtract(column, reference, n, differences,
						(uint64_t *) input->scratch.rest);

	result->codec_use = PX_CODEC_USE_ON_INTS;
	if (!px_write_u16(out, (uint16_t) plan->parameter) ||
		!px_write_u16(out, 0) || !px_write_u32(out, 0))
		return PX_NO_SPACE;

	return px_flat_child_write(out, &ints, true);
}

static px_status
px_related_read_ints(const px_chunk *chunk, const uint8_t *encoded,
					 bool is_signed, const px_decode_room *room,
					 int64_t *values, px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};
	uint16_t	reference;
	uint16_t	reserved16;
	uint32_t	reserved32;
	const int64_t *other;
	int			shift = 64 - 8 * chunk->width;
	uint64_t	wrong = 0;
	px_status	status;

	if (chunk->null_layout != PX_NULLS_NONE)
		return px_fail(fault, PX_BAD_ENCODING, "nulls of a related column",
					   0, chunk->rows - chunk->nvalues);
	if (!px_read_u16(&r, &reference) || !px_read_u16(&r, &reserved16) ||
		!px_read_u32(&r, &reserved32))
		return px_fail(fault, PX_TRUNCATED, "header of differences", 8,
					   chunk->encoded_nbytes);
	if (reserved16 != 0 || reserved32 != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of differences", 0,
					   reserved16 | reserved32);
	if (reference >= room->nreferences || room->references[reference] == NULL)
		return px_fail(fault, PX_BAD_VALUE, "related column",
					   room->nreferences, reference);
	other = room->references[reference];

	status = px_child_read(&r, n, 8, true, room->scratch, values, fault);
	if (status == PX_OK && px_reader_left(&r) > 0)
		status = px_fail(fault, PX_TRAILING, "differences", r.pos,
						 chunk->encoded_nbytes);
	if (status != PX_OK)
		return status;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	value = (uint64_t) values[i] + (uint64_t) other[i];

		values[i] = (int64_t) value;
		wrong |= is_signed ?
			value ^ (uint64_t) ((int64_t) (value << shift) >> shift) :
			value & ~(UINT64_MAX >> shift);
	}
	if (wrong != 0)
		return px_fail(fault, PX_BAD_VALUE, "bits of a value", 0, wrong);

	return PX_OK;
}

const px_encoding px_encoding_related = {
	.name = "related",
	.suits = px_suits_ints,
	.size = px_related_size,
	.saving_fraction = 8,
	.write = px_related_write,
	.read_ints = px_related_read_ints
};
