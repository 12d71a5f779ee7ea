/*-------------------------------------------------------------------------
 *
 * fuzz_admission.c
 *		Admissions.  The input is one, without the terminating zero.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "wire/admission.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = fuzz_text(data, size);
	char		written[PX_ADMISSION_NBYTES_MAX + 1];
	px_admission admission;
	px_admission again;
	px_fault	fault = {0};
	px_status	status;

	status = px_admission_read(text, &admission, &fault);
	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return 0;

	/* What follows the hello has one spelling. */
	FUZZ_REQUIRE(px_admission_write(written, sizeof(written), &admission) <
				 sizeof(written));
	FUZZ_REQUIRE(strcmp(strstr(written, " pid="), strstr(text, " pid=")) == 0);
	FUZZ_REQUIRE(px_admission_read(written, &again, NULL) == PX_OK);
	FUZZ_REQUIRE(again.hello.protocol_max == admission.hello.protocol_max &&
				 strcmp(again.hello.instance, admission.hello.instance) == 0 &&
				 again.cost == admission.cost &&
				 again.same_types == admission.same_types && again.pid == admission.pid &&
				 again.session == admission.session &&
				 strcmp(again.snapshot, admission.snapshot) == 0 &&
				 again.idle_ms == admission.idle_ms &&
				 strcmp(again.against, admission.against) == 0);
	return 0;
}
