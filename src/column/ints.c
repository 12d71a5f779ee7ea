/*-------------------------------------------------------------------------
 *
 * ints.c
 *		Streams of integers; see ints.h.
 *
 * Encoded forms of the transforms, doc/wire.md §6 in short:
 *
 *	delta		first value (8 bytes); child of n - 1 differences
 *	run length	number of runs (4), zero (4); child of lengths less 1; child
 *				of values
 *	scaled		base (8), factor (8); child of n quotients
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "port/pg_bitutils.h"

#include "column/constant.h"
#include "column/for.h"
#include "column/ints.h"
#include "column/plain.h"
#include "column/transform.h"

/*
 * A transform must save this fraction of the flat size, as it costs both ends
 * time: TPC-H's l_linenumber would be 1 % smaller as differences.
 */
#define PX_INTS_SAVING_FRACTION		16

/* ---------------------------------------------------------------------
 * Choosing
 * --------------------------------------------------------------------- */

static unsigned
px_bits(uint64_t range)
{
	return range == 0 ? 0 : (unsigned) pg_leftmost_one_pos64(range) + 1;
}

/* Size of n flat integers in a range, where a plain one takes width bytes. */
static size_t
px_flat_nbytes(uint32_t n, uint64_t range, uint8_t width)
{
	unsigned	b = px_bits(range);

	if (b == 0)
		return width;
	if (b >= 8u * width)
		return (size_t) n * width;
	return Min(px_for_nbytes(n, b), (size_t) n * width);
}

/* Smallest and largest of a set of signed numbers. */
typedef struct px_range
{
	int64_t		min;
	int64_t		max;
} px_range;

#define PX_RANGE_EMPTY	{INT64_MAX, INT64_MIN}

static inline void
px_range_add(px_range *range, int64_t value)
{
	range->min = Min(range->min, value);
	range->max = Max(range->max, value);
}

static inline uint64_t
px_range_size(const px_range *range)
{
	return range->min > range->max ? 0 :
		(uint64_t) range->max - (uint64_t) range->min;
}

typedef struct px_ints_stats
{
	px_range	values;
	px_range	deltas;
	px_range	steps;			/* deltas other than 0 */
	uint32_t	nruns;
	uint32_t	longest;		/* run */
	uint64_t	factor;			/* of all differences; 0 if all are equal */
} px_ints_stats;

static void
px_ints_measure(const px_ints *ints, px_ints_stats *stats)
{
	/* Makes the order of unsigned numbers that of signed ones. */
	uint64_t	bias = ints->is_signed ? 0 : UINT64_C(1) << 63;
	int64_t		value;
	int64_t		previous = 0;
	int64_t		first;
	uint32_t	run = 0;

	px_plain_decode_ints(ints->values, 1, ints->width, ints->is_signed, &first);
	*stats = (px_ints_stats) {
		PX_RANGE_EMPTY, PX_RANGE_EMPTY, PX_RANGE_EMPTY, 0, 0, 0
	};
	for (uint32_t i = 0; i < ints->n; i++)
	{
		int64_t		delta;

		px_plain_decode_ints(ints->values + (size_t) i * ints->width, 1,
							 ints->width, ints->is_signed, &value);
		px_range_add(&stats->values, (int64_t) ((uint64_t) value ^ bias));
		delta = (int64_t) ((uint64_t) value - (uint64_t) previous);
		previous = value;
		if (i > 0)
			px_range_add(&stats->deltas, delta);
		if (i > 0 && delta == 0)
			run++;
		else
		{
			if (i > 0)
			{
				px_range_add(&stats->steps, delta);
				if (stats->factor != 1)
					stats->factor = px_scaled_gcd(value > first ?
												  (uint64_t) value - (uint64_t) first :
												  (uint64_t) first - (uint64_t) value,
												  stats->factor);
			}
			run = 1;
			stats->nruns++;
		}
		stats->longest = Max(stats->longest, run);
	}
}

/* Consider a shape, whose result has nbytes. */
static void
px_plan_improve(px_ints_plan *plan, size_t *best_nbytes, px_ints_shape shape,
				uint64_t factor, size_t nbytes)
{
	if (factor > 1)
		nbytes += 16 + PX_CHILD_HEADER_NBYTES;
	if (nbytes >= *best_nbytes)
		return;
	*best_nbytes = nbytes;
	plan->shape = shape;
	plan->factor = factor;
}

static void
px_plan_improve_all(px_ints_plan *plan, size_t *best_nbytes, uint32_t n,
					uint8_t width, const px_ints_stats *stats, uint64_t factor)
{
	uint64_t	range = px_range_size(&stats->values) / factor;
	uint64_t	delta_range = px_range_size(&stats->deltas) / factor;
	uint64_t	step_range = px_range_size(&stats->steps) / factor;
	size_t		runs_nbytes = 8 + 2 * PX_CHILD_HEADER_NBYTES +
	px_flat_nbytes(stats->nruns, stats->longest - 1, 8);

	px_plan_improve(plan, best_nbytes, PX_INTS_FLAT, factor,
					px_flat_nbytes(n, range, factor > 1 ? 8 : width));
	px_plan_improve(plan, best_nbytes, PX_INTS_DELTA, factor,
					8 + PX_CHILD_HEADER_NBYTES +
					px_flat_nbytes(n - 1, delta_range, 8));
	if (stats->nruns > n / 2)
		return;
	px_plan_improve(plan, best_nbytes, PX_INTS_RLE, factor, runs_nbytes +
					px_flat_nbytes(stats->nruns, range, 8));
	px_plan_improve(plan, best_nbytes, PX_INTS_RLE_DELTA, factor, runs_nbytes +
					8 + PX_CHILD_HEADER_NBYTES +
					px_flat_nbytes(stats->nruns, step_range, 8));
}

void
px_ints_choose(const px_ints *ints, px_ints_plan *plan, size_t *nbytes)
{
	px_ints_stats stats;
	size_t		flat_nbytes;

	plan->shape = PX_INTS_FLAT;
	plan->factor = 1;
	if (ints->n == 0)
	{
		*nbytes = 0;
		return;
	}

	px_ints_measure(ints, &stats);
	flat_nbytes = px_flat_nbytes(ints->n, px_range_size(&stats.values), ints->width);
	*nbytes = flat_nbytes;
	if (ints->n < PX_INTS_TRANSFORM_MIN || stats.nruns == 1)
		return;

	px_plan_improve_all(plan, nbytes, ints->n, ints->width, &stats, 1);
	if (stats.factor > 1)
		px_plan_improve_all(plan, nbytes, ints->n, ints->width, &stats,
							stats.factor);
	if (*nbytes >= flat_nbytes - flat_nbytes / PX_INTS_SAVING_FRACTION)
	{
		plan->shape = PX_INTS_FLAT;
		plan->factor = 1;
		*nbytes = flat_nbytes;
	}
}

/* ---------------------------------------------------------------------
 * Writing
 * --------------------------------------------------------------------- */

static px_status
px_flat_write(px_writer *out, const px_ints *ints, bool pack, uint8_t *encoding)
{
	uint8_t    *encoded;
	int64_t		base;
	unsigned	b;
	size_t		nbytes = (size_t) ints->n * ints->width;

	*encoding = PX_ENC_PLAIN;
	if (pack && ints->n > 0)
	{
		px_for_measure(ints->values, ints->n, ints->width, ints->is_signed,
					   &base, &b);
		if (b == 0)
		{
			*encoding = PX_ENC_CONSTANT;
			nbytes = ints->width;
		}
		else if (b < 8u * ints->width && px_for_nbytes(ints->n, b) < nbytes)
		{
			*encoding = PX_ENC_FOR;
			nbytes = px_for_nbytes(ints->n, b);
		}
	}

	if (!px_write_reserve(out, nbytes, &encoded))
		return PX_NO_SPACE;
	if (*encoding == PX_ENC_FOR)
		px_for_encode(ints->values, ints->n, ints->width, base, b, encoded);
	else if (nbytes > 0)
		memcpy(encoded, ints->values, nbytes);

	return PX_OK;
}

/* Room for a child's header; its bytes come next. */
static px_status
px_child_begin(px_writer *out, uint8_t **header)
{
	return px_write_reserve(out, PX_CHILD_HEADER_NBYTES, header) ? PX_OK : PX_NO_SPACE;
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

/* What a transform leaves: n numbers of 64 bits. */
static px_status
px_numbers_write(px_writer *out, const uint64_t *values, uint32_t n)
{
	px_ints		ints = {(const uint8_t *) values, n, 8, true};

	return px_flat_child_write(out, &ints, true);
}

static px_status
px_delta_write(px_writer *out, uint64_t *values, uint32_t n, uint8_t *encoding)
{
	*encoding = PX_ENC_DELTA;
	if (!px_write_u64(out, values[0]))
		return PX_NO_SPACE;
	px_delta_encode(values, n);

	return px_numbers_write(out, values + 1, n - 1);
}

static px_status
px_rle_write(px_writer *out, uint64_t *values, uint32_t n, bool delta,
			 uint64_t *lengths, uint8_t *encoding, bool *stale)
{
	uint32_t	nruns = px_rle_encode(values, n, lengths);
	uint8_t    *header;
	uint8_t		child_encoding;
	px_status	status;

	*encoding = PX_ENC_RLE;
	if (nruns > n / 2)
	{
		*stale = true;
		return PX_OK;
	}

	if (!px_write_u32(out, nruns) || !px_write_u32(out, 0))
		return PX_NO_SPACE;
	status = px_numbers_write(out, lengths, nruns);
	if (status != PX_OK)
		return status;
	if (!delta || nruns < 2)
		return px_numbers_write(out, values, nruns);

	if ((status = px_child_begin(out, &header)) != PX_OK ||
		(status = px_delta_write(out, values, nruns, &child_encoding)) != PX_OK)
		return status;
	return px_child_end(out, header, child_encoding, 8);
}

/* Write 64-bit values in a shape; they are spoilt, and so is lengths[n]. */
static px_status
px_shape_write(px_writer *out, uint64_t *values, uint32_t n, uint8_t shape,
			   uint64_t *lengths, uint8_t *encoding, bool *stale)
{
	px_ints		ints = {(const uint8_t *) values, n, 8, true};

	switch (shape)
	{
		case PX_INTS_DELTA:
			return px_delta_write(out, values, n, encoding);
		case PX_INTS_RLE:
			return px_rle_write(out, values, n, false, lengths, encoding, stale);
		case PX_INTS_RLE_DELTA:
			return px_rle_write(out, values, n, true, lengths, encoding, stale);
		default:
			return px_flat_write(out, &ints, true, encoding);
	}
}

static px_status
px_scaled_write(px_writer *out, uint64_t *values, uint32_t n,
				const px_ints_plan *plan, uint64_t *lengths,
				uint8_t *encoding, bool *stale)
{
	uint64_t	base = values[0];
	uint8_t    *header;
	uint8_t		child_encoding;
	px_status	status;

	*encoding = PX_ENC_SCALED;
	for (uint32_t i = 1; i < n; i++)
		base = (uint64_t) Min((int64_t) base, (int64_t) values[i]);
	if (!px_scaled_encode(values, n, base, plan->factor))
	{
		*stale = true;
		return PX_OK;
	}

	if (!px_write_u64(out, base) || !px_write_u64(out, plan->factor))
		return PX_NO_SPACE;
	if ((status = px_child_begin(out, &header)) != PX_OK ||
		(status = px_shape_write(out, values, n, plan->shape, lengths,
								 &child_encoding, stale)) != PX_OK)
		return status;
	return px_child_end(out, header, child_encoding, 8);
}

px_status
px_ints_write(px_writer *out, const px_ints *ints, const px_ints_plan *plan,
			  uint8_t *scratch, uint8_t *encoding, bool *stale)
{
	uint64_t   *values = (uint64_t *) scratch;
	uint64_t   *lengths;
	size_t		start = out->pos;
	bool		unsuitable = false;
	px_status	status;

	if ((plan->shape == PX_INTS_FLAT && plan->factor <= 1) ||
		ints->n < PX_INTS_TRANSFORM_MIN)
		return px_flat_write(out, ints, true, encoding);

	lengths = values + ints->n; /* not before: flat streams may have no scratch */
	px_plain_decode_ints(ints->values, ints->n, ints->width, ints->is_signed,
						 (int64_t *) values);
	if (plan->factor > 1)
		status = px_scaled_write(out, values, ints->n, plan, lengths,
								 encoding, &unsuitable);
	else
		status = px_shape_write(out, values, ints->n, plan->shape, lengths,
								encoding, &unsuitable);
	if (!unsuitable)
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
		(status = px_ints_write(out, ints, plan, scratch, &encoding, stale)) != PX_OK)
		return status;
	return px_child_end(out, header, encoding, ints->width);
}

/* ---------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------- */

px_status
px_padding_read(px_reader *r, px_fault *fault)
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

px_status
px_child_find(px_reader *r, uint8_t width, px_child *child, px_fault *fault)
{
	size_t		left = px_reader_left(r);
	uint8_t		child_width;
	uint16_t	reserved;
	uint32_t	nbytes;

	if (!px_read_u8(r, &child->encoding) || !px_read_u8(r, &child_width) ||
		!px_read_u16(r, &reserved) || !px_read_u32(r, &nbytes))
		return px_fail(fault, PX_TRUNCATED, "child header",
					   PX_CHILD_HEADER_NBYTES, left);
	if (child_width != width)
		return px_fail(fault, PX_BAD_VALUE, "child width", width, child_width);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE, "child reserved", 0, reserved);
	child->nbytes = nbytes;
	left = px_reader_left(r);
	if (!px_read_bytes(r, nbytes, &child->encoded))
		return px_fail(fault, PX_TRUNCATED, "child", nbytes, left);

	return px_padding_read(r, fault);
}

/* Are there exactly nbytes? */
static px_status
px_check_nbytes(const char *what, size_t expected, size_t nbytes,
				px_fault *fault)
{
	if (nbytes < expected)
		return px_fail(fault, PX_TRUNCATED, what, expected, nbytes);
	if (nbytes > expected)
		return px_fail(fault, PX_TRAILING, what, expected, nbytes);

	return PX_OK;
}

static px_status px_stream_read(const px_child *stream, uint32_t n,
								uint8_t width, bool is_signed, int64_t *out,
								int64_t *scratch, int depth, px_fault *fault);

/* Read a transform's own child. */
static px_status
px_stream_read_child(px_reader *r, uint32_t n, int64_t *out, int64_t *scratch,
					 int depth, px_fault *fault)
{
	px_child	child;
	px_status	status;

	status = px_child_find(r, 8, &child, fault);
	if (status != PX_OK)
		return status;
	return px_stream_read(&child, n, 8, true, out, scratch, depth + 1, fault);
}

static px_status
px_delta_read(px_reader *r, uint32_t n, int64_t *out, int64_t *scratch,
			  int depth, px_fault *fault)
{
	uint64_t	first;
	px_status	status;

	if (n < 2)
		return px_fail(fault, PX_BAD_VALUE, "values of a delta", 2, n);
	if (!px_read_u64(r, &first))
		return px_fail(fault, PX_TRUNCATED, "first value of a delta", 8,
					   px_reader_left(r));
	status = px_stream_read_child(r, n - 1, out + 1, scratch, depth, fault);
	if (status != PX_OK)
		return status;
	out[0] = (int64_t) first;
	px_delta_decode((uint64_t *) out, n);

	return PX_OK;
}

static px_status
px_rle_read(px_reader *r, uint32_t n, int64_t *out, int64_t *scratch,
			int depth, px_fault *fault)
{
	uint32_t	nruns;
	uint32_t	reserved;
	px_status	status;

	if (scratch == NULL)
		return px_fail(fault, PX_BAD_ENCODING, "encoding of runs",
					   PX_ENC_FOR, PX_ENC_RLE);
	if (!px_read_u32(r, &nruns) || !px_read_u32(r, &reserved))
		return px_fail(fault, PX_TRUNCATED, "number of runs", 8,
					   px_reader_left(r));
	if (nruns < 1 || nruns > n)
		return px_fail(fault, PX_BAD_VALUE, "number of runs", n, nruns);
	if (reserved != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of runs", 0, reserved);

	status = px_stream_read_child(r, nruns, scratch, NULL, depth, fault);
	if (status == PX_OK)
		status = px_stream_read_child(r, nruns, out + n - nruns, NULL, depth, fault);
	if (status == PX_OK)
		status = px_rle_decode((uint64_t *) out, n, scratch, nruns, fault);

	return status;
}

static px_status
px_scaled_read(px_reader *r, uint32_t n, int64_t *out, int64_t *scratch,
			   int depth, px_fault *fault)
{
	uint64_t	base;
	uint64_t	factor;
	px_status	status;

	if (!px_read_u64(r, &base) || !px_read_u64(r, &factor))
		return px_fail(fault, PX_TRUNCATED, "base and factor", 16,
					   px_reader_left(r));
	status = px_stream_read_child(r, n, out, scratch, depth, fault);
	if (status == PX_OK)
		px_scaled_decode((uint64_t *) out, n, base, factor);

	return status;
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
			wrong |= (uint64_t) values[i] ^
				(uint64_t) ((int64_t) ((uint64_t) values[i] << shift) >> shift);
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

static px_status
px_transform_read(const px_child *stream, uint32_t n, uint8_t width,
				  bool is_signed, int64_t *out, int64_t *scratch, int depth,
				  px_fault *fault)
{
	px_reader	r = {stream->encoded, stream->nbytes, 0};
	px_status	status;

	if (depth >= PX_INTS_DEPTH_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "depth of encodings",
					   PX_INTS_DEPTH_MAX, depth);
	switch (stream->encoding)
	{
		case PX_ENC_DELTA:
			status = px_delta_read(&r, n, out, scratch, depth, fault);
			break;
		case PX_ENC_RLE:
			status = px_rle_read(&r, n, out, scratch, depth, fault);
			break;
		case PX_ENC_SCALED:
			status = px_scaled_read(&r, n, out, scratch, depth, fault);
			break;
		default:
			return px_fail(fault, PX_BAD_ENCODING, "encoding of integers",
						   PX_ENC_SCALED, stream->encoding);
	}
	if (status == PX_OK)
		status = px_check_nbytes("encoded integers", r.pos, stream->nbytes, fault);
	if (status == PX_OK)
		status = px_ints_check_width(out, n, width, is_signed, fault);

	return status;
}

static px_status
px_stream_read(const px_child *stream, uint32_t n, uint8_t width,
			   bool is_signed, int64_t *out, int64_t *scratch, int depth,
			   px_fault *fault)
{
	px_status	status;

	if (n == 0 && stream->encoding != PX_ENC_PLAIN)
		return px_fail(fault, PX_BAD_ENCODING, "encoding of no values",
					   PX_ENC_PLAIN, stream->encoding);

	switch (stream->encoding)
	{
		case PX_ENC_PLAIN:
			status = px_check_nbytes("plain integers", (size_t) n * width,
									 stream->nbytes, fault);
			if (status == PX_OK)
				px_plain_decode_ints(stream->encoded, n, width, is_signed, out);
			return status;
		case PX_ENC_CONSTANT:
			status = px_check_nbytes("constant integer", width,
									 stream->nbytes, fault);
			if (status == PX_OK)
				px_constant_decode_ints(stream->encoded, n, width, is_signed, out);
			return status;
		case PX_ENC_FOR:
			return px_for_decode(stream->encoded, stream->nbytes, n, width,
								 is_signed, out, fault);
		default:
			return px_transform_read(stream, n, width, is_signed, out, scratch,
									 depth, fault);
	}
}

px_status
px_ints_read(uint8_t encoding, const uint8_t *encoded, size_t nbytes,
			 uint32_t n, uint8_t width, bool is_signed, int64_t *out,
			 int64_t *scratch, px_fault *fault)
{
	px_child	stream = {encoding, encoded, nbytes};

	return px_stream_read(&stream, n, width, is_signed, out, scratch, 0, fault);
}

px_status
px_child_read(px_reader *r, uint32_t n, uint8_t width, bool is_signed,
			  int64_t *out, int64_t *scratch, px_fault *fault)
{
	px_child	child;
	px_status	status;

	status = px_child_find(r, width, &child, fault);
	if (status != PX_OK)
		return status;
	return px_stream_read(&child, n, width, is_signed, out, scratch, 0, fault);
}
