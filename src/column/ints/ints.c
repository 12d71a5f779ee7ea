/*-------------------------------------------------------------------------
 *
 * ints.c
 *		Streams of integers: writing and reading; see ints.h.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/ints/bitpack.h"
#include "column/ints/ints.h"
#include "column/ints/load.h"

/* ---------------------------------------------------------------------
 * Writing
 * --------------------------------------------------------------------- */

/* Without transforms: plain, constant or frame of reference. */
static px_status
px_flat_write(px_writer *out, const px_ints *ints, bool pack,
			  uint8_t *encoding)
{
	uint8_t    *encoded;
	int64_t		base;
	unsigned	b;
	size_t		nbytes = (size_t) ints->n * ints->width;

	*encoding = PX_ENC_PLAIN;
	if (pack && ints->n > 0)
	{
		px_bitpack_measure(ints->values, ints->n, ints->width, ints->is_signed,
						   &base, &b);
		if (b == 0)
		{
			*encoding = PX_ENC_CONSTANT;
			nbytes = ints->width;
		}
		else if (b < 8u * ints->width &&
				 px_bitpack_nbytes(ints->n, b) < nbytes)
		{
			*encoding = PX_ENC_FOR;
			nbytes = px_bitpack_nbytes(ints->n, b);
		}
	}

	if (!px_write_reserve(out, nbytes, &encoded))
		return PX_NO_SPACE;
	if (*encoding == PX_ENC_FOR)
		px_bitpack_encode(ints->values, ints->n, ints->width, base, b,
						  encoded);
	else if (nbytes > 0)
		memcpy(encoded, ints->values, nbytes);

	return PX_OK;
}

/* Room for a child's header; its bytes come next. */
static px_status
px_child_begin(px_writer *out, uint8_t **header)
{
	return px_write_reserve(out, PX_CHILD_HEADER_NBYTES, header) ? PX_OK :
		PX_NO_SPACE;
}

/* The header of the child whose bytes end here, and its padding. */
static px_status
px_child_end(px_writer *out, uint8_t *header, uint8_t encoding, uint8_t width)
{
	size_t		nbytes = (size_t) (out->data + out->pos - header) -
	PX_CHILD_HEADER_NBYTES;

	header[0] = encoding;
	header[1] = width;
	px_store_u16(header + 2, 0);
	px_store_u32(header + 4, (uint32_t) nbytes);

	return px_write_align(out) ? PX_OK : PX_NO_SPACE;
}

px_status
px_flat_child_write(px_writer *out, const px_ints *ints, bool pack)
{
	uint8_t    *header;
	uint8_t		encoding;
	px_status	status;

	if ((status = px_child_begin(out, &header)) != PX_OK ||
		(status = px_flat_write(out, ints, pack, &encoding)) != PX_OK)
		return status;
	return px_child_end(out, header, encoding, ints->width);
}

/* Write 64-bit integers by the plan's transforms from step on. */
static px_status
px_step_write(px_writer *out, uint64_t *values, uint32_t n,
			  const px_ints_plan *plan, int step, uint64_t *scratch,
			  uint8_t *encoding)
{
	px_ints		ints = px_numbers((const uint8_t *) values, n);

	if (plan->transforms[step] == PX_ENC_PLAIN)
		return px_flat_write(out, &ints, true, encoding);

	*encoding = plan->transforms[step];
	return px_encoding_by_id(*encoding)->write_stream(out, values, n, plan,
													  step, scratch);
}

px_status
px_step_child_write(px_writer *out, uint64_t *values, uint32_t n,
					const px_ints_plan *plan, int step, uint64_t *scratch)
{
	uint8_t    *header;
	uint8_t		encoding;
	px_status	status;

	if ((status = px_child_begin(out, &header)) != PX_OK ||
		(status = px_step_write(out, values, n, plan, step, scratch,
								&encoding)) != PX_OK)
		return status;
	return px_child_end(out, header, encoding, 8);
}

px_status
px_ints_write(px_writer *out, const px_ints *ints, const px_ints_plan *plan,
			  uint8_t *scratch, uint8_t *encoding, bool *stale)
{
	uint64_t   *values = (uint64_t *) scratch;
	size_t		start = out->pos;
	px_status	status;

	if (plan->transforms[0] == PX_ENC_PLAIN || ints->n < PX_INTS_TRANSFORM_MIN)
		return px_flat_write(out, ints, true, encoding);

	px_ints_load(ints->values, ints->n, ints->width, ints->is_signed,
				 (int64_t *) values);
	status = px_step_write(out, values, ints->n, plan, 0, values + ints->n,
						   encoding);
	if (status != PX_UNSUITABLE)
		return status;

	*stale = true;
	out->pos = start;
	return px_flat_write(out, ints, true, encoding);
}

px_status
px_child_write(px_writer *out, const px_ints *ints, const px_ints_plan *plan,
			   uint8_t *scratch, bool *stale)
{
	uint8_t    *header;
	uint8_t		encoding;
	px_status	status;

	if ((status = px_child_begin(out, &header)) != PX_OK ||
		(status = px_ints_write(out, ints, plan, scratch, &encoding,
								stale)) != PX_OK)
		return status;
	return px_child_end(out, header, encoding, ints->width);
}

/* ---------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------- */

px_status
px_child_find(px_reader *r, uint32_t n, uint8_t width, bool is_signed,
			  px_int_stream *child, px_fault *fault)
{
	size_t		left = px_reader_left(r);
	uint16_t	reserved;
	uint32_t	nbytes;

	if (!px_read_u8(r, &child->encoding) || !px_read_u8(r, &child->width) ||
		!px_read_u16(r, &reserved) || !px_read_u32(r, &nbytes))
		return px_fail(fault, PX_TRUNCATED, "child header",
					   PX_CHILD_HEADER_NBYTES, left);
	if (child->width != width)
		return px_fail(fault, PX_BAD_VALUE, "child width", width,
					   child->width);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE, "child reserved", 0, reserved);
	child->is_signed = is_signed;
	child->depth = 0;
	child->n = n;
	child->nbytes = nbytes;
	left = px_reader_left(r);
	if (!px_read_bytes(r, nbytes, &child->encoded))
		return px_fail(fault, PX_TRUNCATED, "child", nbytes, left);

	return px_read_align(r, fault);
}

px_status
px_ints_read(const px_int_stream *stream, int64_t *scratch, int64_t *values,
			 px_fault *fault)
{
	const px_encoding *encoding = px_encoding_by_id(stream->encoding);

	if (stream->n == 0 && stream->encoding != PX_ENC_PLAIN)
		return px_fail(fault, PX_BAD_ENCODING, "encoding of no values",
					   PX_ENC_PLAIN, stream->encoding);
	if (encoding == NULL || encoding->read_stream == NULL)
		return px_fail(fault, PX_BAD_ENCODING, "encoding of integers",
					   PX_ENC_SCALED, stream->encoding);

	return encoding->read_stream(stream, scratch, values, fault);
}

px_status
px_child_read(px_reader *r, uint32_t n, uint8_t width, bool is_signed,
			  int64_t *scratch, int64_t *values, px_fault *fault)
{
	px_int_stream	child;
	px_status	status;

	status = px_child_find(r, n, width, is_signed, &child, fault);
	if (status != PX_OK)
		return status;
	return px_ints_read(&child, scratch, values, fault);
}

px_status
px_ints_check_nbytes(const char *what, size_t expected, size_t nbytes,
					 px_fault *fault)
{
	if (nbytes < expected)
		return px_fail(fault, PX_TRUNCATED, what, expected, nbytes);
	if (nbytes > expected)
		return px_fail(fault, PX_TRAILING, what, expected, nbytes);

	return PX_OK;
}

/* Do all values fit the width?  Transforms compute with 64 bits. */
static px_status
px_ints_check_width(const int64_t *values, uint32_t n, uint8_t width,
					bool is_signed, px_fault *fault)
{
	int			shift = 64 - 8 * width;
	uint64_t	wrong = 0;

	if (width == 8)
		return PX_OK;
	if (is_signed)
	{
		for (uint32_t i = 0; i < n; i++)
		{
			uint64_t	value = (uint64_t) values[i];

			wrong |= value ^ (uint64_t) ((int64_t) (value << shift) >> shift);
		}
	}
	else
	{
		for (uint32_t i = 0; i < n; i++)
			wrong |= (uint64_t) values[i] >> (64 - shift);
	}
	if (wrong != 0)
		return px_fail(fault, PX_BAD_VALUE, "bits of a value", 0, wrong);

	return PX_OK;
}

px_status
px_transform_begin(const px_int_stream *stream, px_reader *r, px_fault *fault)
{
	*r = (px_reader) {stream->encoded, stream->nbytes, 0};
	if (stream->depth >= PX_INTS_DEPTH_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "depth of encodings",
					   PX_INTS_DEPTH_MAX, stream->depth);

	return PX_OK;
}

px_status
px_transform_child_read(const px_int_stream *stream, px_reader *r, uint32_t n,
						int64_t *scratch, int64_t *values, px_fault *fault)
{
	px_int_stream	child;
	px_status	status;

	status = px_child_find(r, n, 8, true, &child, fault);
	if (status != PX_OK)
		return status;
	child.depth = stream->depth + 1;
	return px_ints_read(&child, scratch, values, fault);
}

px_status
px_transform_end(const px_int_stream *stream, const px_reader *r,
				 const int64_t *values, px_fault *fault)
{
	px_status	status;

	status = px_ints_check_nbytes("encoded integers", r->pos, stream->nbytes,
								  fault);
	if (status != PX_OK)
		return status;
	return px_ints_check_width(values, stream->n, stream->width,
							   stream->is_signed, fault);
}
