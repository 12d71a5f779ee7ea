/*-------------------------------------------------------------------------
 *
 * apply_words.c
 *		Write and read the order and the result of exchange.apply.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/text.h"
#include "wire/apply_words.h"
#include "wire/frame.h"

size_t
px_apply_order_write(char *buffer, size_t cap, const px_apply_order *order)
{
	px_text		text = {buffer, cap, 0};

	px_text_put(&text, "version=");
	px_text_put_number(&text, order->version);
	px_text_put(&text, " batch_size=");
	px_text_put_number(&text, order->batch_size);
	if (order->hold)
		px_text_put(&text, " hold=1");
	if (order->deposit.handle != 0)
	{
		px_text_put(&text, " deposit=");
		px_receipt_put(&text, &order->deposit);
	}
	return px_text_end(&text);
}

size_t
px_apply_result_write(char *buffer, size_t cap, const px_apply_result *result)
{
	px_text		text = {buffer, cap, 0};

	px_text_put(&text, "rows=");
	px_text_put_number(&text, (int64_t) result->rows);
	px_text_put(&text, " us=");
	px_text_put_number(&text, (int64_t) result->us);
	if (result->gone)
		px_text_put(&text, " deposit=gone");
	return px_text_end(&text);
}

/* Read "key=number". */
static px_status
take_word(const char **at, const char *key, int64_t min, int64_t max,
		  int64_t *number, px_fault *fault)
{
	if (!px_text_take(at, key) || !px_text_take(at, "="))
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	return px_text_take_number(at, key, min, max, number, fault);
}

/* The last word was key: nothing must follow it. */
static px_status
take_end(const char *at, const char *key, px_fault *fault)
{
	if (*at != '\0')
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	return PX_OK;
}

px_status
px_apply_order_read(const char *text, px_apply_order *order, px_fault *fault)
{
	const char *at = text;
	int64_t		number;
	px_status	status;

	/* Other versions may have other words, so the version is checked first. */
	status = take_word(&at, "version", 0, UINT16_MAX, &number, fault);
	if (status != PX_OK)
		return status;
	if (number < PX_PROTOCOL_MIN || number > PX_PROTOCOL_MAX)
		return px_fail(fault, PX_BAD_VERSION, "version", PX_PROTOCOL_MAX,
					   (uint64_t) number);
	order->version = (uint16_t) number;

	if (!px_text_take(&at, " "))
		return px_fail(fault, PX_BAD_HEADER, "batch_size", 0, 0);
	status = take_word(&at, "batch_size", 1, INT32_MAX, &number, fault);
	if (status != PX_OK)
		return status;
	order->batch_size = (uint32_t) number;
	order->hold = px_text_take(&at, " hold=1");
	order->deposit.handle = 0;
	if (!px_text_take(&at, " deposit="))
		return take_end(at, "batch_size", fault);
	status = px_receipt_take(&at, &order->deposit, fault);
	if (status != PX_OK)
		return status;
	return take_end(at, "deposit", fault);
}

px_status
px_apply_result_read(const char *text, px_apply_result *result,
					 px_fault *fault)
{
	const char *at = text;
	int64_t		rows;
	int64_t		us;
	px_status	status;

	status = take_word(&at, "rows", 0, INT64_MAX, &rows, fault);
	if (status != PX_OK)
		return status;
	if (!px_text_take(&at, " "))
		return px_fail(fault, PX_BAD_HEADER, "us", 0, 0);
	status = take_word(&at, "us", 0, INT64_MAX, &us, fault);
	if (status != PX_OK)
		return status;
	result->rows = (uint64_t) rows;
	result->us = (uint64_t) us;
	result->gone = px_text_take(&at, " deposit=gone");
	return take_end(at, "us", fault);
}
