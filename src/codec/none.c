/*-------------------------------------------------------------------------
 *
 * none.c
 *		The codec that copies.
 *
 * It exists so that the table has no hole; px_chunk_unpack saves the copy
 * for chunks that are not compressed.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "codec/codec.h"

static px_status
px_none_compress(px_codec_context *context, int level,
				 const uint8_t *src, size_t src_nbytes,
				 uint8_t *dst, size_t dst_cap, size_t *out_nbytes)
{
	(void) context;
	(void) level;

	if (src_nbytes > dst_cap)
		return PX_NOT_SMALLER;
	if (src_nbytes > 0)
		memcpy(dst, src, src_nbytes);
	*out_nbytes = src_nbytes;

	return PX_OK;
}

static px_status
px_none_decompress(px_codec_context *context,
				   const uint8_t *src, size_t src_nbytes,
				   uint8_t *dst, size_t dst_nbytes)
{
	(void) context;

	if (src_nbytes != dst_nbytes)
		return PX_CODEC_FAILED;
	if (src_nbytes > 0)
		memcpy(dst, src, src_nbytes);

	return PX_OK;
}

const px_codec px_codec_none = {
	.id = PX_CODEC_NONE,
	.name = "none",
	.compress = px_none_compress,
	.decompress = px_none_decompress
};
