/*-------------------------------------------------------------------------
 *
 * lz4.c
 *		LZ4, in its block format.
 *
 * Block format, because the frame around it already has sizes and checksum.
 * The level is LZ4's "acceleration": more is faster and compresses less.
 *
 * Source: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <limits.h>
#include <stdlib.h>

#include <lz4.h>

#include "codec/codec.h"
#include "codec/context.h"

/* Acceleration above 1 costs more ratio than it saves time. */
#define PX_LZ4_LEVEL_DEFAULT	1

static px_status
px_lz4_compress(px_codec_context *context, int level,
				const uint8_t *src, size_t src_nbytes,
				uint8_t *dst, size_t dst_cap, size_t *out_nbytes)
{
	int			result;

	if (src_nbytes > LZ4_MAX_INPUT_SIZE)
		return PX_CODEC_FAILED;
	if (dst_cap == 0)
		return PX_NOT_SMALLER;

	if (context->lz4_state == NULL)
		context->lz4_state = malloc(LZ4_sizeofState());
	if (context->lz4_state == NULL)
		return PX_CODEC_FAILED;

	result = LZ4_compress_fast_extState(context->lz4_state,
										(const char *) src, (char *) dst,
										(int) src_nbytes,
										(int) Min(dst_cap, INT_MAX),
										level ? level : PX_LZ4_LEVEL_DEFAULT);
	if (result <= 0)
		return PX_NOT_SMALLER;		/* the only failure it knows */
	*out_nbytes = (size_t) result;

	return PX_OK;
}

static px_status
px_lz4_decompress(px_codec_context *context,
				  const uint8_t *src, size_t src_nbytes,
				  uint8_t *dst, size_t dst_nbytes)
{
	int			result;

	(void) context;

	if (src_nbytes > INT_MAX || dst_nbytes > INT_MAX)
		return PX_CODEC_FAILED;

	result = LZ4_decompress_safe((const char *) src, (char *) dst,
								 (int) src_nbytes, (int) dst_nbytes);
	if (result < 0 || (size_t) result != dst_nbytes)
		return PX_CODEC_FAILED;

	return PX_OK;
}

const px_codec px_codec_lz4 = {
	.id = PX_CODEC_LZ4,
	.name = "lz4",
	.compress = px_lz4_compress,
	.decompress = px_lz4_decompress
};
