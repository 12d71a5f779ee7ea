/*-------------------------------------------------------------------------
 *
 * codec.c
 *		The table of codecs, and the context they share.
 *
 * A new codec is one file, one line in the table and one id in codec.h; ids
 * travel in chunk headers and are never reused.  Which codec to use is not
 * decided here.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "codec/codec.h"
#include "codec/context.h"

static const px_codec *const px_codecs[PX_CODEC_COUNT] = {
	[PX_CODEC_NONE] = &px_codec_none,
	[PX_CODEC_LZ4] = &px_codec_lz4,
	[PX_CODEC_ZSTD] = &px_codec_zstd,
};

const px_codec *
px_codec_by_id(uint8_t id)
{
	return id < PX_CODEC_COUNT ? px_codecs[id] : NULL;
}

px_codec_context *
px_codec_open(void)
{
	return calloc(1, sizeof(px_codec_context));
}

void
px_codec_close(px_codec_context *context)
{
	if (context == NULL)
		return;

	free(context->lz4_state);
	ZSTD_freeCCtx(context->zstd_cctx);	/* both accept NULL */
	ZSTD_freeDCtx(context->zstd_dctx);
	free(context);
}
