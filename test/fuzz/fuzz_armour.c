/*-------------------------------------------------------------------------
 *
 * fuzz_armour.c
 *		Armour.  The input is a piece of it, and then bytes to armour.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "wire/armour.h"

static void
decode(const uint8_t *data, size_t size)
{
	const char *text = (const char *) fuzz_guarded_copy(SLOT_INPUT, data,
														size);
	size_t		cap = px_armour_decoded_nbytes(size);
	uint8_t    *decoded = fuzz_guarded(SLOT_BUFFER, cap);
	size_t		nbytes = 0;
	px_fault	fault = {0};
	px_status	status = px_armour_decode(text, size, decoded, cap, &nbytes,
										&fault);
	char	   *again;

	FUZZ_REQUIRE(status == fault.status);
	if (status != PX_OK)
		return;
	FUZZ_REQUIRE(nbytes == cap && px_armour_nbytes(nbytes) == size);
	for (size_t i = 0; i < size; i++)
		FUZZ_REQUIRE(data[i] >= 1 && data[i] <= 127);

	/* But for the mask, there is one spelling. */
	again = (char *) fuzz_guarded(SLOT_FRAME, size);
	px_armour_encode(again, decoded, nbytes);
	for (size_t begin = 0; begin < size; begin += PX_ARMOUR_BLOCK_NCHARS)
	{
		FUZZ_REQUIRE(again[begin] >= text[begin]);
		for (size_t i = begin; i < Min(size, begin + PX_ARMOUR_BLOCK_NCHARS);
			 i++)
			FUZZ_REQUIRE(i == begin ||
						 (again[i] ^ again[begin]) == (text[i] ^ text[begin]));
	}
}

static void
encode(const uint8_t *data, size_t size)
{
	const uint8_t *bytes = fuzz_guarded_copy(SLOT_INPUT, data, size);
	size_t		nchars = px_armour_nbytes(size);
	char	   *text = (char *) fuzz_guarded(SLOT_FRAME, nchars);
	uint8_t    *decoded = fuzz_guarded(SLOT_BUFFER, size);
	size_t		nbytes = SIZE_MAX;

	px_armour_encode(text, bytes, size);
	FUZZ_REQUIRE(
		px_armour_decode(text, nchars, decoded, size, &nbytes, NULL) == PX_OK);
	FUZZ_REQUIRE(nbytes == size && memcmp(decoded, bytes, size) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode(data, size);
	encode(data, size);
	return 0;
}
