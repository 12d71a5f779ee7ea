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

#include "column/fixed.h"
#include "column/for.h"
#include "column/plain.h"

/* Values of a batch that are looked at to find a related column. */
#define PX_RELATED_SAMPLE	256

bool
px_related_suits(const px_column *column, const px_column *reference)
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
	px_plain_decode_ints(column->values, n, column->width, column->is_signed,
						 (int64_t *) differences);
	px_plain_decode_ints(reference->values, n, column->width, column->is_signed,
						 (int64_t *) other);
	for (uint32_t i = 0; i < n; i++)
		differences[i] -= other[i];
}

int
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

	px_for_measure(column->values, n, column->width, column->is_signed,
				   &base, &best_b);
	best_b -= best_b / 4;
	for (int i = index - 1; i >= 0 && candidates < PX_RELATED_CANDIDATES; i--)
	{
		unsigned	related_b;

		if (!px_related_suits(column, &columns[i]))
			continue;
		candidates++;
		px_related_subtract(column, &columns[i], n, differences, other);
		px_for_measure((const uint8_t *) differences, n, 8, true,
					   &base, &related_b);
		if (related_b < best_b)
		{
			best_b = *b = related_b;
			best = i;
		}
	}

	return best;
}

px_status
px_related_write(px_writer *out, const px_column *columns, uint16_t index,
				 uint16_t reference, uint8_t *scratch)
{
	static const px_ints_plan flat = {PX_INTS_FLAT, 1};
	uint32_t	n = columns[index].nvalues;
	uint64_t   *differences = (uint64_t *) scratch;
	px_ints		ints = {scratch, n, 8, true};
	bool		stale = false;

	px_related_subtract(&columns[index], &columns[reference], n, differences,
						differences + n);
	if (!px_write_u16(out, reference) || !px_write_u16(out, 0) ||
		!px_write_u32(out, 0))
		return PX_NO_SPACE;

	return px_child_write(out, &ints, &flat, NULL, &stale);
}

px_status
px_related_decode(const uint8_t *encoded, size_t encoded_nbytes, uint32_t n,
				  uint8_t width, bool is_signed,
				  const int64_t *const *references, uint16_t nreferences,
				  int64_t *out, int64_t *scratch, px_fault *fault)
{
	px_reader	r = {encoded, encoded_nbytes, 0};
	uint16_t	reference;
	uint16_t	reserved16;
	uint32_t	reserved32;
	const int64_t *other;
	int			shift = 64 - 8 * width;
	uint64_t	wrong = 0;
	px_status	status;

	if (!px_read_u16(&r, &reference) || !px_read_u16(&r, &reserved16) ||
		!px_read_u32(&r, &reserved32))
		return px_fail(fault, PX_TRUNCATED, "header of differences", 8,
					   encoded_nbytes);
	if (reserved16 != 0 || reserved32 != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of differences", 0,
					   reserved16 | reserved32);
	if (reference >= nreferences || references[reference] == NULL)
		return px_fail(fault, PX_BAD_VALUE, "related column", nreferences, reference);
	other = references[reference];

	status = px_child_read(&r, n, 8, true, out, scratch, fault);
	if (status == PX_OK && px_reader_left(&r) > 0)
		status = px_fail(fault, PX_TRAILING, "differences", r.pos, encoded_nbytes);
	if (status != PX_OK)
		return status;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	value = (uint64_t) out[i] + (uint64_t) other[i];

		out[i] = (int64_t) value;
		wrong |= is_signed ? value ^ (uint64_t) ((int64_t) (value << shift) >> shift) :
			value & ~(UINT64_MAX >> shift);
	}
	if (wrong != 0)
		return px_fail(fault, PX_BAD_VALUE, "bits of a value", 0, wrong);

	return PX_OK;
}
