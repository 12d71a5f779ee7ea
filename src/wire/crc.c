/*-------------------------------------------------------------------------
 *
 * crc.c
 *		CRC32C (Castagnoli), by PostgreSQL's own implementation.
 *
 * No other file of the pure layers links code of PostgreSQL: they use c.h and
 * inline functions only.  We use libpgport here because it selects the CPU's
 * CRC instructions at run time.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "port/pg_crc32c.h"

#include "wire/crc.h"

uint32_t
px_crc32c(const void *a, size_t a_nbytes, const void *b, size_t b_nbytes)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	if (a_nbytes > 0)
		COMP_CRC32C(crc, a, a_nbytes);
	if (b_nbytes > 0)
		COMP_CRC32C(crc, b, b_nbytes);
	FIN_CRC32C(crc);

	return crc;
}
