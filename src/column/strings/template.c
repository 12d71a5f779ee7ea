/*-------------------------------------------------------------------------
 *
 * template.c
 *		Strings of one length that differ in digits only: numbers in a frame
 *		of constant text, as in "Customer#000000042" or "25-989-741-2988".
 *
 * The digits that differ, read as one number, become a stream of integers.
 *
 * Encoded form: length of each value L (1 byte, 1 .. 126), number of digits d
 * (1 byte, 1 .. 18), zero (6 bytes); d positions (1 byte each, ascending,
 * below L); L bytes, with '0' at these positions; zeros up to a multiple of
 * 8; child of the numbers (width 8).
 *
 * Source: Raman and Swart, "How to Wring a Table Dry" (VLDB 2006), section
 * 2.1.2, type-specific transforms.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/ints/ints.h"
#include "column/packed.h"

#define PX_TEMPLATE_HEADER_NBYTES	8
#define PX_TEMPLATE_DIGITS_MAX		18

typedef struct px_template
{
	uint8_t		nbytes;			/* of each value, without padding */
	uint8_t		ndigits;		/* that differ */
	uint8_t		positions[PX_TEMPLATE_DIGITS_MAX];	/* ascending */
} px_template;

static const int64_t px_powers[PX_TEMPLATE_DIGITS_MAX + 1] = {
	INT64_C(1), INT64_C(10), INT64_C(100), INT64_C(1000), INT64_C(10000),
	INT64_C(100000), INT64_C(1000000), INT64_C(10000000), INT64_C(100000000),
	INT64_C(1000000000), INT64_C(10000000000), INT64_C(100000000000),
	INT64_C(1000000000000), INT64_C(10000000000000), INT64_C(100000000000000),
	INT64_C(1000000000000000), INT64_C(10000000000000000),
	INT64_C(100000000000000000), INT64_C(1000000000000000000)
};

/*
 * Find the template of a column, and write the number that each value's
 * digits make to numbers (8 bytes each).  False if the values are not of such
 * a form.
 */
static bool
px_template_find(const px_column *column, px_template *template,
				 uint8_t *numbers)
{
	const uint8_t *first = column->values;
	const uint8_t *value = column->values;
	size_t		nbytes = column->lengths[0];
	uint8_t		differs[PX_PACKED_SHORT_MAX] = {0};
	unsigned	not_digits = 0;

	if (nbytes < 1 || Max(nbytes, column->pad) > PX_PACKED_SHORT_MAX)
		return false;
	for (uint32_t i = 1; i < column->nvalues; i++)
	{
		if (column->lengths[i] != nbytes)
			return false;
	}

	for (uint32_t i = 1; i < column->nvalues; i++)
	{
		value += nbytes;
		for (size_t k = 0; k < nbytes; k++)
			differs[k] |= value[k] ^ first[k];
	}
	template->nbytes = (uint8_t) nbytes;
	template->ndigits = 0;
	for (size_t k = 0; k < nbytes; k++)
	{
		if (differs[k] == 0)
			continue;
		/* digits are 0x30 .. 0x39: among them only the low bits differ */
		if (differs[k] > 15 || template->ndigits == PX_TEMPLATE_DIGITS_MAX)
			return false;
		template->positions[template->ndigits++] = (uint8_t) k;
	}
	if (template->ndigits == 0)
		return false;

	for (uint32_t i = 0; i < column->nvalues; i++)
	{
		uint64_t	number = 0;

		for (unsigned d = 0; d < template->ndigits; d++)
		{
			unsigned	digit = (unsigned) first[template->positions[d]] - '0';

			not_digits |= digit > 9;
			number = number * 10 + digit;
		}
		px_store_u64(numbers + (size_t) i * 8, number);
		first += nbytes;
	}

	return not_digits == 0;
}

static px_status
px_template_size(const px_encode_input *input, px_encode_plan *plan,
				 size_t *nbytes)
{
	px_ints		numbers = px_numbers(input->scratch.values,
									 input->column->nvalues);
	px_template template;

	if (!px_template_find(input->column, &template, input->scratch.values))
		return PX_UNSUITABLE;

	px_ints_choose(&numbers, &plan->ints, nbytes);
	*nbytes += template.nbytes;

	return PX_OK;
}

static px_status
px_template_write(px_writer *out, const px_encode_input *input,
				  const px_encode_plan *plan, px_encoded *result)
{
	const px_column *column = input->column;
	px_ints		numbers = px_numbers(input->scratch.values, column->nvalues);
	px_template template;
	size_t		nbytes;
	uint8_t    *text;

	if (!px_template_find(column, &template, input->scratch.values))
		return PX_UNSUITABLE;

	result->codec_use = PX_CODEC_USE_ON_INTS;
	nbytes = Max(template.nbytes, column->pad);
	if (!px_write_u8(out, (uint8_t) nbytes) ||
		!px_write_u8(out, template.ndigits) ||
		!px_write_u16(out, 0) ||
		!px_write_u32(out, 0) ||
		!px_write_bytes(out, template.positions, template.ndigits) ||
		!px_write_reserve(out, nbytes, &text) ||
		!px_write_align(out))
		return PX_NO_SPACE;
	memset(text, ' ', nbytes);
	memcpy(text, column->values, template.nbytes);
	for (unsigned d = 0; d < template.ndigits; d++)
		text[template.positions[d]] = '0';

	return px_child_write(out, &numbers, &plan->ints, input->scratch.rest,
						  &result->stale);
}

/* Read and check everything but the numbers. */
static px_status
px_template_read(const px_chunk *chunk, const uint8_t *encoded,
				 px_template *template, const uint8_t **text,
				 px_int_stream *numbers, px_fault *fault)
{
	px_reader	r = {encoded, chunk->encoded_nbytes, 0};
	uint16_t	reserved16;
	uint32_t	reserved32;
	const uint8_t *positions;
	px_status	status;

	if (!px_read_u8(&r, &template->nbytes) ||
		!px_read_u8(&r, &template->ndigits) ||
		!px_read_u16(&r, &reserved16) ||
		!px_read_u32(&r, &reserved32))
		return px_fail(fault, PX_TRUNCATED, "header of a template",
					   PX_TEMPLATE_HEADER_NBYTES, chunk->encoded_nbytes);
	if (reserved16 != 0 || reserved32 != 0)
		return px_fail(fault, PX_BAD_VALUE, "reserved bytes of a template",
					   0, reserved16 | reserved32);
	if (template->nbytes < 1 || template->nbytes > PX_PACKED_SHORT_MAX)
		return px_fail(fault, PX_BAD_VALUE, "length of a template",
					   PX_PACKED_SHORT_MAX, template->nbytes);
	if (template->ndigits < 1 || template->ndigits > PX_TEMPLATE_DIGITS_MAX)
		return px_fail(fault, PX_BAD_VALUE, "digits of a template",
					   PX_TEMPLATE_DIGITS_MAX, template->ndigits);

	if (!px_read_bytes(&r, template->ndigits, &positions) ||
		!px_read_bytes(&r, template->nbytes, text))
		return px_fail(fault, PX_TRUNCATED, "template",
					   (uint64_t) template->ndigits + template->nbytes,
					   px_reader_left(&r));
	for (unsigned d = 0; d < template->ndigits; d++)
	{
		if (positions[d] >= template->nbytes ||
			(d > 0 && positions[d] <= positions[d - 1]))
			return px_fail(fault, PX_BAD_VALUE, "position in a template",
						   template->nbytes - 1, positions[d]);
		if ((*text)[positions[d]] != '0')
			return px_fail(fault, PX_BAD_VALUE, "digit in a template", '0',
						   (*text)[positions[d]]);
		template->positions[d] = positions[d];
	}

	status = px_read_align(&r, fault);
	if (status == PX_OK)
		status = px_child_find(&r, chunk->nvalues, 8, true, numbers, fault);
	if (status == PX_OK && px_reader_left(&r) > 0)
		status = px_fail(fault, PX_TRAILING, "template", r.pos,
						 chunk->encoded_nbytes);

	return status;
}

static px_status
px_template_verify(const px_chunk *chunk, const uint8_t *encoded,
				   size_t *buffer_nbytes, px_fault *fault)
{
	px_template template;
	const uint8_t *text;
	px_int_stream	numbers;
	px_status	status;

	status = px_template_read(chunk, encoded, &template, &text, &numbers,
							  fault);
	if (status == PX_OK)
		*buffer_nbytes = (size_t) chunk->nvalues * (template.nbytes + 1);

	return status;
}

static px_status
px_template_read_pointers(const px_chunk *chunk, const uint8_t *encoded,
						  const px_decode_room *room, const uint8_t **values,
						  px_fault *fault)
{
	uint32_t	n = chunk->nvalues;
	uint8_t    *buffer = room->buffer;
	int64_t    *numbers = room->scratch;
	px_template template;
	const uint8_t *text;
	px_int_stream	child;
	uint8_t		packed[1 + PX_PACKED_SHORT_MAX];
	size_t		nbytes;
	px_status	status;

	status = px_template_read(chunk, encoded, &template, &text, &child, fault);
	if (status == PX_OK)
		status = px_ints_read(&child, room->scratch + n, numbers, fault);
	if (status != PX_OK)
		return status;

	nbytes = (size_t) template.nbytes + 1;
	packed[0] = (uint8_t) (nbytes << 1 | 1);
	memcpy(packed + 1, text, template.nbytes);
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	number = (uint64_t) numbers[i];

		if (number >= (uint64_t) px_powers[template.ndigits])
			return px_fail(fault, PX_BAD_VALUE, "number in a template",
						   (uint64_t) px_powers[template.ndigits] - 1, number);
		memcpy(buffer, packed, nbytes);
		for (unsigned d = template.ndigits; d > 0; d--)
		{
			buffer[1 + template.positions[d - 1]] =
				(uint8_t) ('0' + number % 10);
			number /= 10;
		}
		values[i] = buffer;
		buffer += nbytes;
	}

	return PX_OK;
}

static void
px_template_text(const px_chunk *chunk, const uint8_t *encoded,
				 const uint8_t **text, size_t *text_nbytes)
{
	px_template template = {0};
	px_int_stream	numbers;

	*text = encoded;
	(void) px_template_read(chunk, encoded, &template, text, &numbers, NULL);
	*text_nbytes = template.nbytes;
}

const px_encoding px_encoding_template = {
	.name = "template",
	.suits = px_suits_bytes,
	.size = px_template_size,
	.write = px_template_write,
	.verify = px_template_verify,
	.read_pointers = px_template_read_pointers,
	.text = px_template_text
};
