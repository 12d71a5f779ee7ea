/*-------------------------------------------------------------------------
 *
 * receipt.h
 *		The receipt that exchange.deposit returns, and exchange.apply takes.
 *
 * It is the handle of a segment of shared memory and a secret, as in
 *
 *		2831041793.0f1e2d3c4b5a6978.8796a5b4c3d2e1f0
 *
 * a decimal number, and twice 16 lower-case hexadecimal digits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_RECEIPT_H
#define PX_WIRE_RECEIPT_H

#include "base/status.h"
#include "base/text.h"

/* The greatest length of a receipt, with the NUL. */
#define PX_RECEIPT_NBYTES_MAX	(10 + 2 * (1 + 16) + 1)

typedef struct px_receipt
{
	uint32_t	handle;			/* 0: no deposit */
	uint64_t	secret[2];
} px_receipt;

extern void px_receipt_put(px_text *text, const px_receipt *receipt);

/*
 * Read a receipt, and move *at after it.  Errors, with "deposit" as
 * fault->what: PX_BAD_HEADER for any other form, PX_OVER_LIMIT for a handle
 * that is 0 or out of range.
 */
extern px_status px_receipt_take(const char **at, px_receipt *receipt,
								 px_fault *fault);

#endif							/* PX_WIRE_RECEIPT_H */
