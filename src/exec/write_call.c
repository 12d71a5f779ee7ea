/*-------------------------------------------------------------------------
 *
 * write_call.c
 *		The call of exchange.apply.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "exec/write_call.h"
#include "wire/apply_words.h"

char *
px_write_call_sql(const px_write_plan *plan, uint16 version,
				  bool hold, const px_receipt *deposit)
{
	px_apply_order order = {
		.version = version,
		.batch_size = (uint32) Max(plan->batch_size, 1),
		.hold = hold,
	};
	char		words[PX_APPLY_WORDS_NBYTES_MAX];

	if (deposit)
		order.deposit = *deposit;
	px_apply_order_write(words, sizeof(words), &order);
	return psprintf("SELECT exchange.apply(%s::pg_catalog.text,"
					" %s::pg_catalog.text, %s::pg_catalog.text)",
					quote_literal_cstr(words), quote_literal_cstr(plan->sql),
					deposit ? "''" : "$1");
}
