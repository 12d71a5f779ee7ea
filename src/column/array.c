/*-------------------------------------------------------------------------
 *
 * array.c
 *		Arrays of fixed-width elements: counts, then the elements of all.
 *
 * Encoded form: number of values as sent (4 bytes), zero (4); child of counts
 * (width 4): 0 for a value as sent, else the number of elements plus 1; child
 * of the elements; then the values as sent, packed.
 *
 * Source: Melnik et al., "Dremel" (VLDB 2010) has the general case; Apache
 * Arrow's variable-size list layout is the one without nesting.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/array.h"
#include "column/ints/ints.h"
#include "column/packed.h"

static uint32_t
px_array_elements(const px_column *column)
{
	return (uint32_t) (column->values_nbytes / column->width);
}

size_t
px_array_plain_nbytes(const px_column *column)
{
	return 8 + 2 * PX_CHILD_HEADER_NBYTES +
		PX_ALIGN((size_t) column->nvalues * 4) +
		PX_ALIGN(column->values_nbytes) +
		(column->sent ? px_packed_values_nbytes(column->sent) : 0);
}

px_status
px_array_write(px_writer *out, const px_column *column, bool pack,
			   px_encoded *result)
{
	px_ints		counts =
		{(const uint8_t *) column->lengths, column->nvalues, 4, false};
	px_ints		elements =
		{column->values, px_array_elements(column), column->width,
		column->is_signed};
	const px_column *sent = column->sent;
	uint32_t	nsent = sent ? sent->nvalues : 0;
	size_t		start = out->pos;
	const uint8_t *header;
	px_status	status;

	if (!px_write_u32(out, nsent) || !px_write_u32(out, 0))
		return PX_NO_SPACE;
	status = px_flat_child_write(out, &counts, pack);
	if (status != PX_OK)
		return status;
	header = out->data + out->pos;
	result->head_nbytes = out->pos - start + PX_CHILD_HEADER_NBYTES;
	status = px_flat_child_write(out, &elements, pack);
	if (status == PX_OK && nsent > 0)
		status = px_packed_values_write(out, sent);
	if (status != PX_OK)
		return status;

	/* Packed elements are nothing for a codec, and so all is head. */
	if (header[0] != PX_ENC_PLAIN)
		result->head_nbytes = out->pos - start;
	if (result->head_nbytes < out->pos - start)
		result->codec_use = PX_CODEC_USE;

	return PX_OK;
}

px_status
px_array_read(const px_chunk *chunk, const uint8_t *encoded,
			  const px_decode_room *room, px_arrays *arrays, px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	int64_t    *scratch = room->scratch;
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};
	uint32_t	reserved;
	uint64_t	nelements = 0;
	uint32_t	nsent = 0;
	px_int_stream	elements;
	px_status	status;

	if (!px_read_u32(&r, &arrays->nsent) || !px_read_u32(&r, &reserved))
		return px_fail(fault, PX_TRUNCATED, "header of arrays", 8,
					   chunk->encoded_nbytes);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of arrays", 0,
					   reserved);
	if (arrays->nsent > n)
		return px_fail(fault, PX_BAD_VALUE, "arrays as sent", n,
					   arrays->nsent);
	status = px_child_read(&r, n, 4, false, scratch + n, scratch, fault);
	if (status != PX_OK)
		return status;

	/* At most 2^16 counts of 32 bits: the sum does not overflow. */
	for (uint32_t i = 0; i < n; i++)
	{
		if (scratch[i] == 0)
			nsent++;
		else
			nelements += (uint64_t) scratch[i] - 1;
	}
	if (nsent != arrays->nsent)
		return px_fail(fault, PX_BAD_VALUE, "arrays as sent", arrays->nsent,
					   nsent);
	if (nelements > PX_ARRAY_ELEMENTS_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "elements of arrays",
					   PX_ARRAY_ELEMENTS_MAX, nelements);

	status = px_child_find(&r, (uint32_t) nelements, chunk->width, false,
						   &elements, fault);
	if (status != PX_OK)
		return status;
	arrays->counts = scratch;
	arrays->sent = (const uint8_t **) (scratch + n);
	arrays->nelements = (uint32_t) nelements;
	arrays->elements = elements;

	if (nsent == 0 && px_reader_left(&r) > 0)
		return px_fail(fault, PX_TRAILING, "arrays", r.pos,
					   chunk->encoded_nbytes);
	if (nsent > 0)
		status = px_packed_values_read(encoded + r.pos, px_reader_left(&r),
									   nsent, arrays->sent, fault);

	return status;
}
