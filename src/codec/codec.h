/*-------------------------------------------------------------------------
 *
 * codec.h
 *		General-purpose compression behind one contract: none, lz4, zstd.
 *
 * A codec turns a block of bytes into a smaller one and back.  The exact
 * decompressed size is always known to the reader (it stands in the chunk
 * header), so a decoder that would produce one byte more or less fails.
 *
 * A context holds the libraries' working memory for one stream and is reused
 * from block to block; it is the only thing here that is allocated (by the
 * libraries, with malloc), and only by px_codec_open.  Contexts are not
 * thread safe.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CODEC_CODEC_H
#define PX_CODEC_CODEC_H

#include "base/status.h"

typedef enum px_codec_id
{
	PX_CODEC_NONE = 0,
	PX_CODEC_LZ4 = 1,
	PX_CODEC_ZSTD = 2
} px_codec_id;

#define PX_CODEC_COUNT	3

/* Sets of codecs, as hello and request have them: bit i is codec i. */
#define PX_CODEC_BIT(id)	(UINT32_C(1) << (id))
#define PX_CODECS_ALL		(PX_CODEC_BIT(PX_CODEC_COUNT) - 1)

typedef struct px_codec_context px_codec_context;

/*
 * What a codec implements.  Each one stands in its own file and fills this
 * with designated initialisers; who knows lz4.c knows zstd.c.
 */
typedef struct px_codec
{
	px_codec_id id;
	const char *name;			/* as EXPLAIN and the hello spell it */

	/*
	 * Compress src into at most dst_cap bytes of dst.  Returns PX_OK and sets
	 * *out_nbytes, or PX_NOT_SMALLER if the result would be larger than
	 * dst_cap (callers pass less than src_nbytes, so that incompressible data
	 * is refused), or PX_CODEC_FAILED.  level is the codec's own; 0 means its
	 * default.
	 */
	px_status	(*compress) (px_codec_context *context, int level,
							 const uint8_t *src, size_t src_nbytes,
							 uint8_t *dst, size_t dst_cap,
							 size_t *out_nbytes);

	/*
	 * Decompress src into exactly dst_nbytes bytes of dst.  Any other outcome
	 * is PX_CODEC_FAILED, whatever the input bytes; nothing is written
	 * outside dst.
	 */
	px_status	(*decompress) (px_codec_context *context,
							   const uint8_t *src, size_t src_nbytes,
							   uint8_t *dst, size_t dst_nbytes);
} px_codec;

extern const px_codec px_codec_none;
extern const px_codec px_codec_lz4;
extern const px_codec px_codec_zstd;

/* The codec with this id, or NULL if there is none. */
extern const px_codec *px_codec_by_id(uint8_t id);

/*
 * Allocate a context, usable with every codec in both directions; working
 * memory of a library is allocated when it is first used.  NULL when out of
 * memory.  Free with px_codec_close, which accepts NULL.
 */
extern px_codec_context *px_codec_open(void);
extern void px_codec_close(px_codec_context *context);

#endif							/* PX_CODEC_CODEC_H */
