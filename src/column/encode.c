/*-------------------------------------------------------------------------
 *
 * encode.c
 *		Writing the payload of one chunk: encoding, then codec.
 *
 * A column is sampled in the first batch of a stream, and then at intervals
 * that double; in between, the encoding that was chosen is used without
 * looking further, unless the form is another.  Where it turns out not to suit a batch (a value that is
 * no multiple, a dictionary that overflows), that batch is written plain, and
 * the next one is sampled.
 *
 * The codec is tried on what encodings leave of text.  If that saves too
 * little it is not tried for a number of batches, which doubles with each
 * failure: random bytes cost next to nothing.
 *
 * Readers limit what the encoded values of a batch add up to, before the
 * codec.  An encoding that is written in full before the codec has it cannot
 * take more than plain values, as the writer has no more room.  The one that
 * goes through the codec piece by piece (lengths and bytes) is measured first.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/array.h"
#include "column/choose.h"
#include "column/constant.h"
#include "column/encode.h"
#include "column/fixed.h"
#include "column/patched.h"
#include "column/plain.h"
#include "column/toasted.h"

/*
 * A compressed chunk is kept if it saves at least this fraction of the
 * encoded bytes: less is not worth the reader's time.  It must also save
 * PX_ALIGN_NBYTES, as chunks are padded to a multiple of that.
 */
#define PX_CODEC_SAVING_FRACTION	16

/* Batches between two samples, and without a codec, are at most so many. */
#define PX_SAMPLE_INTERVAL_MAX		64
#define PX_CODEC_SKIP_MAX			64

/* Entries of a dictionary, and a constant, that are worth a codec. */
#define PX_DICTIONARY_CODEC_NBYTES	512
#define PX_CONSTANT_CODEC_NBYTES	4096

/* ---------------------------------------------------------------------
 * Codec
 * --------------------------------------------------------------------- */

/* Is this a batch in which to try the codec? */
static bool
px_codec_is_due(const px_encode_options *options, px_column_state *state)
{
	if (options->codec == PX_CODEC_NONE)
		return false;
	if (options->codec >= PX_CODEC_COUNT)
		return true;			/* to be refused */
	if (state->codec_skip[options->codec] > 0)
	{
		state->codec_skip[options->codec]--;
		return false;
	}

	return true;
}

/*
 * Compress bytes to the writer's position, if that saves enough.  Does not
 * move the writer.  PX_NO_SPACE if it does not save enough.
 */
static px_status
px_codec_try(const px_writer *out, const uint8_t *bytes, size_t nbytes,
			 const px_encode_options *options, px_column_state *state,
			 size_t *stored_nbytes)
{
	const px_codec *codec = px_codec_by_id(options->codec);
	size_t		saving = (nbytes + PX_CODEC_SAVING_FRACTION - 1) / PX_CODEC_SAVING_FRACTION;
	px_status	status = PX_NO_SPACE;
	uint32_t   *skip;
	uint32_t   *skip_next;

	if (codec == NULL)
		return PX_BAD_CODEC;
	skip = &state->codec_skip[codec->id];
	skip_next = &state->codec_skip_next[codec->id];
	saving = Max(saving, PX_ALIGN_NBYTES);
	if (nbytes <= saving)
		return PX_NO_SPACE;

	status = codec->compress(options->context, options->level, bytes, nbytes,
							 out->data + out->pos,
							 Min(nbytes - saving, px_writer_left(out)),
							 stored_nbytes);
	if (status == PX_OK)
		*skip_next = 1;
	else if (status == PX_NO_SPACE)
	{
		*skip = Max(*skip_next, 1);
		*skip_next = Min(*skip * 2, PX_CODEC_SKIP_MAX);
	}

	return status;
}

/* The chunk ends with these bytes, compressed if that is due and helps. */
static px_status
px_tail_write(px_writer *out, const uint8_t *bytes, size_t nbytes,
			  const px_encode_options *options, px_column_state *state,
			  uint8_t *codec)
{
	size_t		stored_nbytes;

	if (px_codec_is_due(options, state))
	{
		px_status	status = px_codec_try(out, bytes, nbytes, options, state,
										  &stored_nbytes);

		if (status == PX_OK)
		{
			*codec = options->codec;
			out->pos += stored_nbytes;
		}
		if (status != PX_NO_SPACE)
			return status;
	}

	return px_write_bytes(out, bytes, nbytes) ? PX_OK : PX_NO_SPACE;
}

/*
 * The same for bytes that stand before the writer's position already, from
 * start on: they are compressed to the room behind them, and moved back.
 */
static px_status
px_tail_compress(px_writer *out, size_t start,
				 const px_encode_options *options, px_column_state *state,
				 uint8_t *codec)
{
	size_t		stored_nbytes;
	px_status	status;

	if (!px_codec_is_due(options, state))
		return PX_OK;
	status = px_codec_try(out, out->data + start, out->pos - start, options,
						  state, &stored_nbytes);
	if (status == PX_NO_SPACE)
		return PX_OK;
	if (status != PX_OK)
		return status;
	memmove(out->data + start, out->data + out->pos, stored_nbytes);
	out->pos = start + stored_nbytes;
	*codec = options->codec;

	return PX_OK;
}

/* ---------------------------------------------------------------------
 * Encodings
 * --------------------------------------------------------------------- */

/* What an encoder has to say of its result. */
typedef struct px_encoded
{
	uint8_t		encoding;
	uint8_t		codec;
	size_t		head_nbytes;	/* in front of what the codec may have */
	size_t		encoded_nbytes; /* of all */
} px_encoded;

static px_status
px_plain_write(px_writer *out, const px_column *column,
			   const px_encode_options *options, px_column_state *state,
			   px_encoded *result)
{
	size_t		start = out->pos;
	px_status	status;

	result->encoding = PX_ENC_PLAIN;
	if (px_column_is_patched(column))
	{
		status = px_patched_write(out, column, NULL, NULL, NULL);
		result->encoding = PX_ENC_PATCHED;
		result->encoded_nbytes = out->pos - start;
		return status;
	}
	if (column->form == PX_FORM_FIXED)
	{
		result->encoded_nbytes = column->values_nbytes;
		return px_tail_write(out, column->values, column->values_nbytes,
							 options, state, &result->codec);
	}

	status = px_packed_values_write(out, column);
	if (status != PX_OK)
		return status;
	result->encoded_nbytes = out->pos - start;

	/* A codec that has no room to try says nothing about the values. */
	if (px_writer_left(out) < result->encoded_nbytes)
		return PX_OK;

	return px_tail_compress(out, start, options, state, &result->codec);
}

/*
 * Is there only one value?  Then write it.  A large one is good for the codec:
 * a row that fills a batch has nothing but such values.
 */
static bool
px_constant_write(px_writer *out, const px_column *column,
				  const px_encode_options *options, px_column_state *state,
				  px_encoded *result)
{
	size_t		start = out->pos;
	uint8_t    *encoded;

	if (column->form == PX_FORM_BYTES)
	{
		uint32_t	nbytes = column->lengths[0];

		if (!px_constant_bytes(column->values, column->lengths, column->nvalues))
			return false;
		result->encoded_nbytes = px_packed_end(0, Max(nbytes, column->pad));
		if (nbytes >= PX_CONSTANT_CODEC_NBYTES && column->pad == 0)
		{
			result->head_nbytes = result->encoded_nbytes - nbytes;
			if (!px_write_u32(out, (nbytes + 4) << 2) ||
				px_tail_write(out, column->values, nbytes, options, state, &result->codec) != PX_OK)
			{
				*result = (px_encoded) {0};
				out->pos = start;
				return false;
			}
		}
		else
		{
			if (!px_write_reserve(out, result->encoded_nbytes, &encoded))
				return false;
			(void) px_plain_encode_value(encoded, 0, column->values, nbytes, column->pad);
		}
	}
	else
	{
		if (px_constant_measure_fixed(column->values, column->nvalues, column->width) == 0)
			return false;
		result->encoded_nbytes = column->width;
		if (!px_write_bytes(out, column->values, column->width))
			return false;
	}
	result->encoding = PX_ENC_CONSTANT;

	return true;
}

static px_status
px_dictionary_encode(px_writer *out, const px_column *column,
					 const px_encode_options *options, px_column_state *state,
					 const px_encode_scratch *scratch, px_encoded *result,
					 bool *stale)
{
	size_t		start = out->pos;
	uint8_t    *entries;
	px_status	status;

	if (!px_dictionary_build(column, Min(state->entries_max, column->nvalues),
							 scratch->dictionary, scratch->values))
	{
		*stale = true;
		return PX_NO_SPACE;
	}
	status = px_dictionary_write(out, scratch->dictionary, scratch->values,
								 column->nvalues, &state->ints, scratch->rest,
								 stale);
	if (status != PX_OK)
		return status;
	if (!px_write_reserve(out, scratch->dictionary->nbytes, &entries))
		return PX_NO_SPACE;
	px_dictionary_pack(scratch->dictionary, column->pad, entries);

	result->encoding = PX_ENC_DICTIONARY;
	result->encoded_nbytes = out->pos - start;
	result->head_nbytes = result->encoded_nbytes - scratch->dictionary->nbytes;
	if (scratch->dictionary->nbytes < PX_DICTIONARY_CODEC_NBYTES)
		return PX_OK;

	return px_tail_compress(out, start + result->head_nbytes, options, state,
							&result->codec);
}

static px_status
px_split_encode(px_writer *out, const px_column *column, size_t encoded_max,
				const px_encode_options *options, px_column_state *state,
				const px_encode_scratch *scratch, px_encoded *result,
				bool *stale)
{
	size_t		start = out->pos;
	px_status	status;

	status = px_split_write(out, column, &state->ints, scratch->rest, stale);
	if (status != PX_OK)
		return status;
	result->encoding = PX_ENC_SPLIT;
	result->head_nbytes = out->pos - start;
	result->encoded_nbytes = result->head_nbytes + column->values_nbytes;

	/* A few short values: their lengths take more than plain headers do. */
	if (result->encoded_nbytes > encoded_max)
		return PX_NO_SPACE;

	return px_tail_write(out, column->values, column->values_nbytes, options,
						 state, &result->codec);
}

/* The encodings that leave nothing but packed integers. */
static px_status
px_packed_encode(px_writer *out, const px_column *columns, uint16_t index,
				 px_column_state *state, const px_encode_scratch *scratch,
				 px_encoded *result, bool *stale)
{
	const px_column *column = &columns[index];
	px_ints		ints = {column->values, column->nvalues, column->width, column->is_signed};
	px_template template;

	if (px_column_is_patched(column))
	{
		result->encoding = PX_ENC_PATCHED;
		return px_patched_write(out, column, &state->ints, scratch->rest, stale);
	}
	result->encoding = state->planned;
	switch (state->planned)
	{
		case PX_ENC_DECIMAL:
			return px_decimal_write(out, column->values, column->nvalues,
									column->width, state->decimals,
									&state->ints, scratch->values, stale);
		case PX_ENC_PLANES:
			return px_planes_write(out, column->values, column->nvalues,
								   column->width, scratch->values);
		case PX_ENC_RELATED:
			if (px_related_suits(column, &columns[state->related]))
				return px_related_write(out, columns, index, state->related,
										scratch->values);
			break;
		case PX_ENC_TEMPLATE:
			if (px_template_find(column, &template, scratch->values))
				return px_template_write(out, column, &template, scratch->values,
										 &state->ints, scratch->rest, stale);
			break;
		default:
			return px_ints_write(out, &ints, &state->ints, scratch->rest,
								 &result->encoding, stale);
	}
	*stale = true;

	return PX_NO_SPACE;
}

/* Write by the plan; PX_NO_SPACE if the values are to be plain. */
static px_status
px_planned_write(px_writer *out, const px_column *columns, uint16_t index,
				 size_t encoded_max, const px_encode_options *options,
				 px_column_state *state, const px_encode_scratch *scratch,
				 px_encoded *result, bool *stale)
{
	const px_column *column = &columns[index];
	size_t		start = out->pos;
	px_status	status;

	switch (state->planned)
	{
		case PX_ENC_PLAIN:
			return PX_NO_SPACE;
		case PX_ENC_SPLIT:
			return px_split_encode(out, column, encoded_max, options, state,
								   scratch, result, stale);
		case PX_ENC_DICTIONARY:
			return px_dictionary_encode(out, column, options, state, scratch,
										result, stale);
		default:
			status = px_packed_encode(out, columns, index, state, scratch,
									  result, stale);
			break;
	}
	if (status != PX_OK)
		return status;
	if (*stale && out->pos == start)
		return PX_NO_SPACE;
	result->encoded_nbytes = out->pos - start;
	if (options->codec_on_ints || result->encoding == PX_ENC_PLAIN)
		return px_tail_compress(out, start, options, state, &result->codec);

	return PX_OK;
}

/*
 * Arrays, and values as TOAST has compressed some: there is no choice but
 * whether to pack the integers in front.  The codec may be of use to what is
 * behind them, and finds out soon if it is not.
 */
static px_status
px_headed_encode(px_writer *out, const px_column *column, bool encodings,
				 const px_encode_options *options, px_column_state *state,
				 px_encoded *result)
{
	size_t		start = out->pos;
	px_status	status;

	if (column->form == PX_FORM_ARRAY)
	{
		result->encoding = PX_ENC_PLAIN;
		status = px_array_write(out, column, encodings, &result->head_nbytes);
	}
	else
	{
		result->encoding = PX_ENC_TOASTED;
		status = px_toasted_write(out, column, encodings, &result->head_nbytes);
	}
	if (status != PX_OK)
		return status;
	result->encoded_nbytes = out->pos - start;
	if (result->head_nbytes == result->encoded_nbytes)
		return PX_OK;

	return px_tail_compress(out, start + result->head_nbytes, options, state,
							&result->codec);
}

px_status
px_values_write(px_writer *out, const px_column *columns, uint16_t index,
				const px_encode_options *options, px_column_state *state,
				size_t *spare_nbytes, px_chunk *chunk)
{
	const px_column *column = &columns[index];
	size_t		plain_nbytes = px_column_values_nbytes(column);
	px_writer	limited = {out->data, Min(out->cap, out->pos + plain_nbytes), out->pos};
	px_encoded	result = {0};
	bool		encodings = (options->encodings & PX_ENCODINGS_INTS) == PX_ENCODINGS_INTS;
	px_status	status = PX_NO_SPACE;

	if (column->form == PX_FORM_ARRAY || px_column_is_toasted(column))
	{
		if (column->form == PX_FORM_ARRAY)
			limited.cap = out->cap;
		status = px_headed_encode(&limited, column, encodings, options, state, &result);
		if (status != PX_OK)
			return status;
	}
	else if (encodings && (px_column_is_patched(column) ||
						   !px_constant_write(&limited, column, options, state, &result)))
	{
		px_encode_scratch scratch = px_encode_scratch_take(options->scratch, column->nvalues);
		bool		stale = false;

		if (state->sample_in == 0 || state->form != column->form)
		{
			state->form = column->form;
			px_choose(columns, index, options->encodings, &scratch, state);
			state->sample_interval = Min(Max(state->sample_interval * 2, 1),
										 PX_SAMPLE_INTERVAL_MAX);
			state->sample_in = state->sample_interval;
			state->sampled = true;
		}
		state->sample_in--;

		status = px_planned_write(&limited, columns, index,
								  plain_nbytes + *spare_nbytes, options, state,
								  &scratch, &result, &stale);
		if (stale)
			state->sample_in = state->sample_interval = 0;
	}
	else if (encodings)
		status = PX_OK;

	if (status == PX_NO_SPACE)
	{
		result = (px_encoded) {0};
		limited = *out;
		status = px_plain_write(&limited, column, options, state, &result);
	}
	if (status != PX_OK)
		return status;

	Assert(result.encoded_nbytes <= plain_nbytes + *spare_nbytes);
	Assert(limited.pos - out->pos <= plain_nbytes);
	*spare_nbytes += plain_nbytes - result.encoded_nbytes;

	chunk->encoding = result.encoding;
	chunk->codec = result.codec;
	chunk->encoded_nbytes = (uint32_t) result.encoded_nbytes;
	chunk->stored_nbytes = (uint32_t) (limited.pos - out->pos);
	chunk->head_nbytes = result.codec == PX_CODEC_NONE ? 0 : (uint32_t) result.head_nbytes;
	state->encoding = chunk->encoding;
	state->codec = chunk->codec;
	out->pos = limited.pos;

	return PX_OK;
}
