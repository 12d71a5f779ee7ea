/*-------------------------------------------------------------------------
 *
 * packed.c
 *		Packed values; see packed.h.
 *
 * The values of a peer are walked one by one, because each one's length
 * decides where the next one starts.  This walk is all that stands between a
 * forged length and a read out of bounds.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/packed.h"

size_t
px_packed_put(uint8_t *out, size_t pos, const uint8_t *value,
			  size_t nbytes, size_t pad)
{
	size_t		padded = Max(nbytes, pad);
	uint8_t    *p;

	if (padded <= PX_PACKED_SHORT_MAX)
	{
		p = out + pos;
		*p++ = (uint8_t) ((padded + 1) << 1 | 1);
	}
	else
	{
		while (pos & 3)
			out[pos++] = 0;
		p = out + pos;
		px_store_u32(p, (uint32_t) (padded + 4) << 2);
		p += 4;
	}
	if (nbytes > 0)
		memcpy(p, value, nbytes);
	if (padded > nbytes)
		memset(p + nbytes, ' ', padded - nbytes);

	return (size_t) (p - out) + padded;
}

size_t
px_packed_values_nbytes(const px_column *column)
{
	uint32_t	longest = column->pad;
	size_t		pos = 0;

	for (uint32_t i = 0; i < column->nvalues; i++)
		longest = Max(longest, column->lengths[i]);
	if (longest <= PX_PACKED_SHORT_MAX)
		return column->nvalues + (column->pad > 0 ?
								  (size_t) column->nvalues * column->pad :
								  column->values_nbytes);
	for (uint32_t i = 0; i < column->nvalues; i++)
		pos = px_packed_end(pos, Max(column->lengths[i], column->pad));

	return pos;
}

px_status
px_packed_values_write(px_writer *out, const px_column *column)
{
	const uint8_t *value = column->values;
	size_t		nbytes = px_packed_values_nbytes(column);
	size_t		pos = 0;
	uint8_t    *packed;

	if (!px_write_reserve(out, nbytes, &packed))
		return PX_NO_SPACE;
	for (uint32_t i = 0; i < column->nvalues; i++)
	{
		pos = px_packed_put(packed, pos, value, column->lengths[i],
							column->pad);
		value += column->lengths[i];
	}
	Assert(pos == nbytes);

	return PX_OK;
}

/*
 * Check the long value that starts, after its padding, at or after *pos;
 * move *pos to it and return its size in *nbytes.
 */
static px_status
px_packed_check_long(const uint8_t *encoded, size_t encoded_nbytes,
					 size_t *pos, size_t *nbytes, px_fault *fault)
{
	size_t		padding = -*pos & 3;
	uint32_t	header;

	if (padding + 4 > encoded_nbytes - *pos)
		return px_fail(fault, PX_TRUNCATED, "packed value header",
					   padding + 4, encoded_nbytes - *pos);

	for (; padding > 0; padding--)
	{
		if (encoded[*pos] != 0)
			return px_fail(fault, PX_BAD_VALUE, "packed value padding",
						   0, encoded[*pos]);
		(*pos)++;
	}

	header = px_load_u32(encoded + *pos);
	*nbytes = header >> 2;
	if ((header & 3) != 0)
		return px_fail(fault, PX_BAD_VALUE, "packed value header",
					   0, header & 3);
	if (*nbytes <= 4 + PX_PACKED_SHORT_MAX)
		return px_fail(fault, PX_BAD_VALUE, "packed value size",
					   4 + PX_PACKED_SHORT_MAX + 1, *nbytes);

	return PX_OK;
}

px_status
px_packed_values_read(const uint8_t *encoded, size_t encoded_nbytes,
					  uint32_t n, const uint8_t **out, px_fault *fault)
{
	size_t		pos = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		size_t		nbytes;

		if (pos == encoded_nbytes)
			return px_fail(fault, PX_TRUNCATED, "packed values", n, i);

		if (encoded[pos] & 1)
		{
			nbytes = encoded[pos] >> 1;
			if (nbytes == 0)
				return px_fail(fault, PX_BAD_VALUE, "packed value size", 1, 0);
		}
		else
		{
			px_status	status;

			status = px_packed_check_long(encoded, encoded_nbytes,
										  &pos, &nbytes, fault);
			if (status != PX_OK)
				return status;
		}

		if (nbytes > encoded_nbytes - pos)
			return px_fail(fault, PX_TRUNCATED, "packed value",
						   nbytes, encoded_nbytes - pos);
		out[i] = encoded + pos;
		pos += nbytes;
	}

	if (pos != encoded_nbytes)
		return px_fail(fault, PX_TRAILING, "packed values",
					   pos, encoded_nbytes);

	return PX_OK;
}
