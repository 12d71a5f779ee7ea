/*-------------------------------------------------------------------------
 *
 * load.c
 *		Integers as they stand in a column, extended to 64 bits.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/bytes.h"
#include "column/ints/load.h"

/* Loops over one type each, which compilers can turn into vector code. */
#define PX_INTS_LOAD(ctype, load) \
	do { \
		for (uint32_t i = 0; i < n; i++) \
			out[i] = (int64_t) (ctype) load(values + i * sizeof(ctype)); \
	} while (0)

void
px_ints_load(const uint8_t *values, uint32_t n, unsigned width,
			 bool is_signed, int64_t *pg_restrict out)
{
	switch (width)
	{
		case 1:
			if (is_signed)
				PX_INTS_LOAD(int8_t, *);
			else
				PX_INTS_LOAD(uint8_t, *);
			break;
		case 2:
			if (is_signed)
				PX_INTS_LOAD(int16_t, px_load_u16);
			else
				PX_INTS_LOAD(uint16_t, px_load_u16);
			break;
		case 4:
			if (is_signed)
				PX_INTS_LOAD(int32_t, px_load_u32);
			else
				PX_INTS_LOAD(uint32_t, px_load_u32);
			break;
		default:
			PX_INTS_LOAD(int64_t, px_load_u64);
			break;
	}
}
