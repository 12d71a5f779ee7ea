/*-------------------------------------------------------------------------
 *
 * receipt.c
 *		Write and read the receipt of a deposit.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "wire/receipt.h"

void
px_receipt_put(px_text *text, const px_receipt *receipt)
{
	px_text_put_number(text, receipt->handle);
	for (int i = 0; i < 2; i++)
	{
		px_text_put(text, ".");
		px_text_put_hex(text, receipt->secret[i]);
	}
}

px_status
px_receipt_take(const char **at, px_receipt *receipt, px_fault *fault)
{
	int64_t		handle;
	px_status	status = px_text_take_number(at, "deposit", 1, UINT32_MAX,
											 &handle, fault);

	if (status != PX_OK)
		return status;
	receipt->handle = (uint32_t) handle;
	for (int i = 0; i < 2; i++)
	{
		if (!px_text_take(at, ".") ||
			!px_text_take_hex(at, &receipt->secret[i]))
			return px_fail(fault, PX_BAD_HEADER, "deposit", 0, 0);
	}
	return PX_OK;
}
