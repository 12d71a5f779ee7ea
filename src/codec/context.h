/*-------------------------------------------------------------------------
 *
 * context.h
 *		Working memory of the codecs; private to codec/.
 *
 * Each member belongs to the codec it is named after, which allocates it
 * when first used and reuses it from then on; px_codec_close frees them all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CODEC_CONTEXT_H
#define PX_CODEC_CONTEXT_H

#include <zstd.h>

struct px_codec_context
{
	void	   *lz4_state;		/* LZ4_sizeofState() bytes; NULL until used */
	ZSTD_CCtx  *zstd_cctx;		/* NULL until zstd compresses */
	ZSTD_DCtx  *zstd_dctx;		/* NULL until zstd decompresses */
};

#endif							/* PX_CODEC_CONTEXT_H */
