/*-------------------------------------------------------------------------
 *
 * deposit.h
 *		Deposits: bytes that another session of the same user has brought.
 *
 * A coordinator behind a slow link sends frames on a connection of its own,
 * while postgres_fdw's session works on the frames before them.  The session
 * over there deposits them in shared memory: exchange.deposit(bytes) returns a
 * receipt, which is the segment's handle and a random secret.  The session of
 * postgres_fdw finds them by the receipt.
 *
 * A session keeps its last two deposits, until it deposits more or ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_DEPOSIT_H
#define PX_ADMIT_DEPOSIT_H

#include "storage/dsm.h"

#include "wire/receipt.h"

/*
 * A piece has about a megabyte, and more only if a row has.  A session takes
 * no more than twice this of the machine's shared memory.
 */
#define PX_DEPOSIT_NBYTES_MAX	(16 * 1024 * 1024)

/*
 * The bytes of a deposit, until it is closed or the transaction ends; NULL if
 * there is none with that receipt for the current user in this database.
 * *segment is for px_deposit_close, and may be NULL.  The bytes may be changed
 * meanwhile by whoever deposited them.
 */
extern const uint8_t *px_deposit_open(const px_receipt *receipt,
									  size_t *nbytes, dsm_segment **segment);

extern void px_deposit_close(dsm_segment *segment);

#endif							/* PX_ADMIT_DEPOSIT_H */
