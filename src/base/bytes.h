/*-------------------------------------------------------------------------
 *
 * bytes.h
 *		Bounds-checked little-endian cursors over caller-owned memory.
 *
 * This is the only place that does cursor arithmetic on frames.  Nothing is
 * read or written unless it fits.  A check always has the form
 * "n <= len - pos", which cannot overflow, because pos <= len at all times.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_BASE_BYTES_H
#define PX_BASE_BYTES_H

#include <string.h>

#include "base/status.h"

/* Every chunk payload starts at a multiple of this within its frame. */
#define PX_ALIGN_NBYTES		8
#define PX_ALIGN(n) \
	(((size_t) (n) + (PX_ALIGN_NBYTES - 1)) & ~(size_t) (PX_ALIGN_NBYTES - 1))

/*
 * Unaligned little-endian loads and stores.  The caller has checked bounds.
 *
 * Shifts would do on every machine, but on little-endian ones we use memcpy.
 * Compilers turn memcpy into a move before they vectorise loops.  They combine
 * shifted bytes into a load only after that, too late for the loop.
 */
static inline uint16_t
px_load_u16(const uint8_t *p)
{
#ifdef WORDS_BIGENDIAN
	return (uint16_t) (p[0] | (uint16_t) p[1] << 8);
#else
	uint16_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
#endif
}

static inline uint32_t
px_load_u32(const uint8_t *p)
{
#ifdef WORDS_BIGENDIAN
	return (uint32_t) p[0] | (uint32_t) p[1] << 8 |
		(uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
#else
	uint32_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
#endif
}

static inline uint64_t
px_load_u64(const uint8_t *p)
{
#ifdef WORDS_BIGENDIAN
	return (uint64_t) px_load_u32(p) | (uint64_t) px_load_u32(p + 4) << 32;
#else
	uint64_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
#endif
}

static inline void
px_store_u16(uint8_t *p, uint16_t v)
{
#ifdef WORDS_BIGENDIAN
	p[0] = (uint8_t) v;
	p[1] = (uint8_t) (v >> 8);
#else
	memcpy(p, &v, sizeof(v));
#endif
}

static inline void
px_store_u32(uint8_t *p, uint32_t v)
{
#ifdef WORDS_BIGENDIAN
	px_store_u16(p, (uint16_t) v);
	px_store_u16(p + 2, (uint16_t) (v >> 16));
#else
	memcpy(p, &v, sizeof(v));
#endif
}

static inline void
px_store_u64(uint8_t *p, uint64_t v)
{
#ifdef WORDS_BIGENDIAN
	px_store_u32(p, (uint32_t) v);
	px_store_u32(p + 4, (uint32_t) (v >> 32));
#else
	memcpy(p, &v, sizeof(v));
#endif
}

typedef struct px_reader
{
	const uint8_t *data;
	size_t		len;
	size_t		pos;			/* <= len, always */
} px_reader;

typedef struct px_writer
{
	uint8_t    *data;
	size_t		cap;
	size_t		pos;			/* <= cap, always */
} px_writer;

static inline size_t
px_reader_left(const px_reader *r)
{
	return r->len - r->pos;
}

static inline size_t
px_writer_left(const px_writer *w)
{
	return w->cap - w->pos;
}

/*
 * The following functions return false, and leave the cursor where it is, if
 * the bytes do not fit.  px_read_bytes and px_write_reserve set *out to where
 * the n bytes are.
 */
static inline bool
px_read_bytes(px_reader *r, size_t n, const uint8_t **out)
{
	if (n > px_reader_left(r))
		return false;
	*out = r->data + r->pos;
	r->pos += n;
	return true;
}

static inline bool
px_write_reserve(px_writer *w, size_t n, uint8_t **out)
{
	if (n > px_writer_left(w))
		return false;
	*out = w->data + w->pos;
	w->pos += n;
	return true;
}

static inline bool
px_read_u8(px_reader *r, uint8_t *v)
{
	const uint8_t *p;

	if (!px_read_bytes(r, 1, &p))
		return false;
	*v = *p;
	return true;
}

static inline bool
px_read_u16(px_reader *r, uint16_t *v)
{
	const uint8_t *p;

	if (!px_read_bytes(r, 2, &p))
		return false;
	*v = px_load_u16(p);
	return true;
}

static inline bool
px_read_u32(px_reader *r, uint32_t *v)
{
	const uint8_t *p;

	if (!px_read_bytes(r, 4, &p))
		return false;
	*v = px_load_u32(p);
	return true;
}

static inline bool
px_read_u64(px_reader *r, uint64_t *v)
{
	const uint8_t *p;

	if (!px_read_bytes(r, 8, &p))
		return false;
	*v = px_load_u64(p);
	return true;
}

static inline bool
px_write_u8(px_writer *w, uint8_t v)
{
	uint8_t    *p;

	if (!px_write_reserve(w, 1, &p))
		return false;
	*p = v;
	return true;
}

static inline bool
px_write_u16(px_writer *w, uint16_t v)
{
	uint8_t    *p;

	if (!px_write_reserve(w, 2, &p))
		return false;
	px_store_u16(p, v);
	return true;
}

static inline bool
px_write_u32(px_writer *w, uint32_t v)
{
	uint8_t    *p;

	if (!px_write_reserve(w, 4, &p))
		return false;
	px_store_u32(p, v);
	return true;
}

static inline bool
px_write_u64(px_writer *w, uint64_t v)
{
	uint8_t    *p;

	if (!px_write_reserve(w, 8, &p))
		return false;
	px_store_u64(p, v);
	return true;
}

static inline bool
px_write_bytes(px_writer *w, const void *src, size_t n)
{
	uint8_t    *p;

	if (!px_write_reserve(w, n, &p))
		return false;
	if (n > 0)
		memcpy(p, src, n);
	return true;
}

/* Write zeros up to the next multiple of PX_ALIGN_NBYTES. */
static inline bool
px_write_align(px_writer *w)
{
	size_t		n = PX_ALIGN(w->pos) - w->pos;
	uint8_t    *p;

	if (!px_write_reserve(w, n, &p))
		return false;
	if (n > 0)
		memset(p, 0, n);
	return true;
}

/*
 * Skip to the next multiple of PX_ALIGN_NBYTES.  PX_TRUNCATED, or
 * PX_BAD_HEADER if a byte in between is not zero.
 */
static inline px_status
px_read_align(px_reader *r, px_fault *fault)
{
	size_t		n = PX_ALIGN(r->pos) - r->pos;
	size_t		left = px_reader_left(r);
	const uint8_t *padding;

	if (!px_read_bytes(r, n, &padding))
		return px_fail(fault, PX_TRUNCATED, "padding", n, left);
	for (; n > 0; n--)
	{
		if (padding[n - 1] != 0)
			return px_fail(fault, PX_BAD_HEADER, "padding", 0, padding[n - 1]);
	}

	return PX_OK;
}

#endif							/* PX_BASE_BYTES_H */
