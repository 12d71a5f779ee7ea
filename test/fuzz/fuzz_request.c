/*-------------------------------------------------------------------------
 *
 * fuzz_request.c
 *		Requests.  The input is one, without the terminating zero.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "wire/request.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static px_request_column columns[PX_FRAME_COLUMNS_MAX];
	const char *text = fuzz_text(data, size);
	char	   *written;
	px_request	request;
	px_fault	fault = {0};
	px_status	status;

	status = px_request_read(text, &request, columns, &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return 0;

	/* Every request has one spelling. */
	written = (char *) fuzz_guarded(SLOT_VALUES, strlen(text) + 1);
	FUZZ_REQUIRE(px_request_write(written, strlen(text) + 1, &request,
								  columns) == strlen(text));
	FUZZ_REQUIRE(strcmp(written, text) == 0);
	return 0;
}
