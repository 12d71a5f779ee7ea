/*-------------------------------------------------------------------------
 *
 * zstd.c
 *		Zstandard, one zstd frame per block.
 *
 * The level is zstd's own, negative ones included, except that 0 means our
 * default and not zstd's.
 *
 * Source: RFC 8878
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <zstd.h>
#include <zstd_errors.h>

#include "codec/codec.h"
#include "codec/context.h"

/* Higher ones gain little after column encodings and cost a lot of time. */
#define PX_ZSTD_LEVEL_DEFAULT	1

static px_status
px_zstd_compress(px_codec_context *context, int level,
				 const uint8_t *src, size_t src_nbytes,
				 uint8_t *dst, size_t dst_cap, size_t *out_nbytes)
{
	size_t		result;

	if (context->zstd_cctx == NULL)
		context->zstd_cctx = ZSTD_createCCtx();
	if (context->zstd_cctx == NULL)
		return PX_CODEC_FAILED;

	result = ZSTD_compressCCtx(context->zstd_cctx, dst, dst_cap,
							   src, src_nbytes,
							   level ? level : PX_ZSTD_LEVEL_DEFAULT);
	if (ZSTD_isError(result))
	{
		if (ZSTD_getErrorCode(result) == ZSTD_error_dstSize_tooSmall)
			return PX_NOT_SMALLER;
		return PX_CODEC_FAILED;
	}
	*out_nbytes = result;

	return PX_OK;
}

static px_status
px_zstd_decompress(px_codec_context *context,
				   const uint8_t *src, size_t src_nbytes,
				   uint8_t *dst, size_t dst_nbytes)
{
	size_t		result;

	if (context->zstd_dctx == NULL)
		context->zstd_dctx = ZSTD_createDCtx();
	if (context->zstd_dctx == NULL)
		return PX_CODEC_FAILED;

	result = ZSTD_decompressDCtx(context->zstd_dctx, dst, dst_nbytes,
								 src, src_nbytes);
	if (ZSTD_isError(result) || result != dst_nbytes)
		return PX_CODEC_FAILED;

	return PX_OK;
}

const px_codec px_codec_zstd = {
	.id = PX_CODEC_ZSTD,
	.name = "zstd",
	.compress = px_zstd_compress,
	.decompress = px_zstd_decompress
};
