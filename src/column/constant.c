/*-------------------------------------------------------------------------
 *
 * constant.c
 *		Detection and decoding of columns with a single value.
 *
 * Bytes that repeat with a period of p are equal to themselves moved by p, so
 * one memcmp finds out whether all values are equal, and leaves at the first
 * that is not.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/column.h"
#include "column/constant.h"
#include "column/plain.h"

size_t
px_constant_measure_fixed(const uint8_t *values, uint32_t n, unsigned width)
{
	if (memcmp(values, values + width, (size_t) (n - 1) * width) != 0)
		return 0;

	return width;
}

bool
px_constant_bytes(const uint8_t *values, const uint32_t *lengths, uint32_t n)
{
	size_t		nbytes = lengths[0];

	for (uint32_t i = 1; i < n; i++)
	{
		if (lengths[i] != nbytes ||
			memcmp(values + i * nbytes, values, nbytes) != 0)
			return false;
	}

	return true;
}

void
px_constant_decode_ints(const uint8_t *encoded, uint32_t n, unsigned width,
						bool is_signed, int64_t *out)
{
	int64_t		value;

	px_plain_decode_ints(encoded, 1, width, is_signed, &value);
	for (uint32_t i = 0; i < n; i++)
		out[i] = value;
}

void
px_constant_decode_fixed(const uint8_t *encoded, uint32_t n,
						 const uint8_t **out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = encoded;
}

px_status
px_constant_decode_bytes(const uint8_t *encoded, size_t encoded_nbytes,
						 uint32_t n, const uint8_t **out, px_fault *fault)
{
	const uint8_t *value;
	px_status	status;

	status = px_plain_decode_bytes(encoded, encoded_nbytes, 1, &value, fault);
	if (status != PX_OK)
		return status;

	for (uint32_t i = 0; i < n; i++)
		out[i] = value;

	return PX_OK;
}
