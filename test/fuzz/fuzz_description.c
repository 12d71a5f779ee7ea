/*-------------------------------------------------------------------------
 *
 * fuzz_description.c
 *		Descriptions, and orders and results of exchange.apply.
 *
 * The input is one of these texts, without the terminating zero.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "wire/apply_words.h"
#include "wire/description.h"
#include "wire/held_error.h"

static void
read_order(const char *text)
{
	char		written[PX_APPLY_WORDS_NBYTES_MAX];
	px_apply_order order;
	px_fault	fault = {0};
	px_status	status = px_apply_order_read(text, &order, &fault);

	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return;
	FUZZ_REQUIRE(px_apply_order_write(written, sizeof(written), &order) <
				 sizeof(written));
	FUZZ_REQUIRE(strcmp(written, text) == 0);
}

static void
read_result(const char *text)
{
	char		written[PX_APPLY_WORDS_NBYTES_MAX];
	px_apply_result result;
	px_fault	fault = {0};
	px_status	status = px_apply_result_read(text, &result, &fault);

	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return;
	FUZZ_REQUIRE(px_apply_result_write(written, sizeof(written), &result) <
				 sizeof(written));
	FUZZ_REQUIRE(strcmp(written, text) == 0);
}

/* The texts of an error take no more room than its spelling. */
static void
read_held(const char *text)
{
	char	   *room = malloc(strlen(text) + 1);
	char	   *written = malloc(strlen(text) + 1);
	px_held_error error;
	px_fault	fault = {0};
	px_status	status = px_held_error_read(text, &error, room, &fault);

	FUZZ_REQUIRE(status == fault.status);
	if (status == PX_OK)
	{
		FUZZ_REQUIRE(px_held_error_write(written, strlen(text) + 1, &error) ==
					 strlen(text));
		FUZZ_REQUIRE(strcmp(written, text) == 0);
	}
	free(room);
	free(written);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char written[PX_DESCRIPTION_NBYTES_MAX + 1];
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	const char *text = fuzz_text(data, size);
	px_description description;
	px_description again;
	px_fault	fault = {0};
	px_status	status;

	read_order(text);
	read_result(text);
	read_held(text);
	status = px_description_read(text, &description, columns, &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return 0;

	/* What follows the hello has one spelling. */
	FUZZ_REQUIRE(px_description_write(written, sizeof(written), &description,
									  columns) < sizeof(written));
	FUZZ_REQUIRE(strcmp(strstr(written, " against="),
						strstr(text, " against=")) == 0);
	FUZZ_REQUIRE(px_description_read(written, &again, columns, NULL) == PX_OK);
	FUZZ_REQUIRE(again.ncolumns == description.ncolumns &&
				 again.effects == description.effects &&
				 again.exact == description.exact &&
				 again.keys == description.keys &&
				 strcmp(again.against, description.against) == 0);
	return 0;
}
