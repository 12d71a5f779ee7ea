/*-------------------------------------------------------------------------
 *
 * fuzz_hello.c
 *		Hellos.  The input is one, without the terminating zero.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "wire/hello.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = fuzz_text(data, size);
	char		written[PX_HELLO_NBYTES_MAX + 1];
	px_hello	hello;
	px_hello	again;
	px_fault	fault = {0};
	px_status	status;

	status = px_hello_read(text, &hello, &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return 0;

	/* Unknown keys are gone, the order is ours, the contents are the same. */
	FUZZ_REQUIRE(px_hello_write(written, sizeof(written), &hello) <
				 sizeof(written));
	FUZZ_REQUIRE(px_hello_read(written, &again, NULL) == PX_OK);
	FUZZ_REQUIRE(again.protocol_min == hello.protocol_min &&
				 again.protocol_max == hello.protocol_max &&
				 again.codecs == hello.codecs &&
				 again.encodings == hello.encodings &&
				 again.little_endian == hello.little_endian &&
				 strcmp(again.encoding, hello.encoding) == 0 &&
				 again.server_version == hello.server_version &&
				 strcmp(again.instance, hello.instance) == 0 &&
				 again.can_export == hello.can_export &&
				 again.can_spread == hello.can_spread &&
				 again.free == hello.free &&
				 strcmp(again.pull_id, hello.pull_id) == 0);
	FUZZ_REQUIRE(px_hello_common_version(&hello, &again) ==
				 hello.protocol_max);
	return 0;
}
