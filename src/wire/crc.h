/*-------------------------------------------------------------------------
 *
 * crc.h
 *		CRC32C (Castagnoli), by PostgreSQL's own implementation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_CRC_H
#define PX_WIRE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC32C of a[a_nbytes] followed by b[b_nbytes].  Either may be NULL and 0. */
extern uint32_t px_crc32c(const void *a, size_t a_nbytes,
						  const void *b, size_t b_nbytes);

#endif							/* PX_WIRE_CRC_H */
