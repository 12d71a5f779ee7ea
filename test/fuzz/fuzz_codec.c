/*-------------------------------------------------------------------------
 *
 * fuzz_codec.c
 *		Codecs, both ways.
 *
 * The input: codec (1 byte), decompressed size (2), level (1), bytes.  They
 * are decompressed as they are.  They are also compressed, to as much room as
 * the size says, and decompressed again.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_input	input = {data, size};
	const px_codec *codec = px_codec_by_id(fuzz_take(&input) %
										   (PX_CODEC_COUNT + 1));
	uint32_t	nbytes = fuzz_take_u16(&input);
	int			level = (int8_t) fuzz_take(&input) % 4;
	const uint8_t *src = fuzz_guarded_copy(SLOT_INPUT, input.data, input.left);
	uint8_t    *dst = fuzz_guarded(SLOT_UNPACKED, nbytes);
	size_t		packed_nbytes = 0;
	px_status	status;

	if (codec == NULL)
		return 0;
	status = codec->decompress(fuzz_codec_context(), src, input.left, dst,
							   nbytes);
	FUZZ_REQUIRE(status == PX_OK || status == PX_CODEC_FAILED);
	if (status == PX_OK)
		fuzz_touch(dst, nbytes);

	dst = fuzz_guarded(SLOT_UNPACKED, nbytes);
	status = codec->compress(fuzz_codec_context(), level, src, input.left, dst,
							 nbytes, &packed_nbytes);
	FUZZ_REQUIRE(status == PX_OK || status == PX_NOT_SMALLER);
	if (status == PX_OK)
	{
		uint8_t    *again = fuzz_guarded(SLOT_BUFFER, input.left);
		const uint8_t *packed;

		FUZZ_REQUIRE(packed_nbytes <= nbytes);
		packed = fuzz_guarded_copy(SLOT_VALUES, dst, packed_nbytes);
		FUZZ_REQUIRE(codec->decompress(fuzz_codec_context(), packed,
									   packed_nbytes, again,
									   input.left) == PX_OK);
		FUZZ_REQUIRE(memcmp(again, src, input.left) == 0);
	}
	return 0;
}
