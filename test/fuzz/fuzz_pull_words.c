/*-------------------------------------------------------------------------
 *
 * fuzz_pull_words.c
 *		What is said about rows that are pulled.  The input is a peer, a link,
 *		an offer or a sum, without the terminating zero.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "wire/pull_words.h"

/* What was read has one spelling: it is written as it was. */
#define TRY(name, type) \
	do \
	{ \
		const char *at = text; \
		type		value; \
		px_fault	fault = {0}; \
		px_status	status = px_pull_##name##_take(&at, &value, &fault); \
\
		FUZZ_REQUIRE(status == fault.status); \
		if (status == PX_OK) \
		{ \
			size_t		nbytes = (size_t) (at - text); \
			char	   *written = (char *) fuzz_guarded(SLOT_VALUES, \
														nbytes + 1); \
			px_text		out = {written, nbytes + 1, 0}; \
\
			px_pull_##name##_put(&out, &value); \
			FUZZ_REQUIRE(px_text_end(&out) == nbytes); \
			FUZZ_REQUIRE(memcmp(written, text, nbytes) == 0); \
		} \
	} while (0)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = fuzz_text(data, size);

	TRY(peer, px_pull_peer);
	TRY(link, px_pull_link);
	TRY(offer, px_pull_offer);
	TRY(sum, px_pull_sum);
	return 0;
}
