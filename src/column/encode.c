/*-------------------------------------------------------------------------
 *
 * encode.c
 *		Writing the payload of one chunk: encoding, then codec.
 *
 * A column is sampled in the first batch of a stream, and then at intervals
 * that double; in between, the encoding that was chosen is used without
 * looking further, unless the form is another.  Where it turns out not to
 * suit a batch (a value that is no multiple, a dictionary that overflows),
 * that batch is written plain, and the next one is sampled.
 *
 * The codec is tried on what encodings leave of text.  If that saves too
 * little it is not tried for a number of batches, which doubles with each
 * failure: random bytes cost next to nothing.
 *
 * Readers limit what the encoded values of a batch add up to, before the
 * codec.  An encoding that is written in full before the codec has it cannot
 * take more than plain values, as the writer has no more room.  One that
 * leaves its tail to the codec (lengths and bytes) is measured first.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/choose.h"
#include "column/encode.h"
#include "column/fixed/patched.h"
#include "column/size.h"
#include "column/strings/toasted.h"

/*
 * A compressed chunk is kept if it saves at least this fraction of the
 * encoded bytes: less is not worth the reader's time.  It must also save
 * PX_ALIGN_NBYTES, as chunks are padded to a multiple of that.
 */
#define PX_CODEC_SAVING_FRACTION	16

/* Batches between two samples, and without a codec, are at most so many. */
#define PX_SAMPLE_INTERVAL_MAX		64
#define PX_CODEC_SKIP_MAX			64

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
 * move the writer.  PX_NOT_SMALLER if it does not save enough.
 */
static px_status
px_codec_try(const px_writer *out, const uint8_t *bytes, size_t nbytes,
			 const px_encode_options *options, px_column_state *state,
			 size_t *stored_nbytes)
{
	const px_codec *codec = px_codec_by_id(options->codec);
	size_t		saving =
		(nbytes + PX_CODEC_SAVING_FRACTION - 1) / PX_CODEC_SAVING_FRACTION;
	px_status	status;
	uint32_t   *skip;
	uint32_t   *skip_next;

	if (codec == NULL)
		return PX_BAD_CODEC;
	skip = &state->codec_skip[codec->id];
	skip_next = &state->codec_skip_next[codec->id];
	saving = Max(saving, PX_ALIGN_NBYTES);
	if (nbytes <= saving)
		return PX_NOT_SMALLER;

	status = codec->compress(options->context, options->level, bytes, nbytes,
							 out->data + out->pos,
							 Min(nbytes - saving, px_writer_left(out)),
							 stored_nbytes);
	if (status == PX_OK)
		*skip_next = 1;
	else if (status == PX_NOT_SMALLER)
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
		if (status != PX_NOT_SMALLER)
			return status;
	}

	return px_write_bytes(out, bytes, nbytes) ? PX_OK : PX_NO_SPACE;
}

/*
 * The same for bytes that stand before the writer's position already, from
 * start on: they are compressed to the room after them, and moved back.
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
	if (status == PX_NOT_SMALLER)
		return PX_OK;
	if (status != PX_OK)
		return status;
	memmove(out->data + start, out->data + out->pos, stored_nbytes);
	out->pos = start + stored_nbytes;
	*codec = options->codec;

	return PX_OK;
}

/* ---------------------------------------------------------------------
 * Encoding
 * --------------------------------------------------------------------- */

size_t
px_encode_scratch_nbytes(uint32_t rows_max)
{
	size_t		fixed_nbytes = 0;

	for (uint8_t id = 0; id < PX_ENCODING_COUNT; id++)
		fixed_nbytes = Max(fixed_nbytes,
						   px_encoding_by_id(id)->scratch_nbytes);

	return PX_ALIGN(fixed_nbytes) + (size_t) rows_max * 4 * 8;
}

static px_encode_scratch
px_encode_scratch_take(uint8_t *scratch, uint32_t rows)
{
	px_encode_scratch result;

	result.values = scratch;
	result.rest = result.values + (size_t) rows * 8;
	result.fixed = result.rest + (size_t) rows * 24;

	return result;
}

/* The chunk that is being written. */
typedef struct px_encode_job
{
	px_encode_input input;
	const px_encode_options *options;
	px_column_state *state;
	size_t		plain_nbytes;	/* of the values */
	size_t		encoded_max;	/* that they may take before the codec */
	px_chunk   *chunk;
} px_encode_job;

/* Was an encoding not worth while, rather than something wrong? */
static inline bool
px_is_refusal(px_status status)
{
	return status == PX_UNSUITABLE || status == PX_NOT_SMALLER;
}

/*
 * Write the values in an encoding, by the state's plan, then let the codec
 * have what it may.  *stale is set if the plan suits the values in part only.
 * PX_UNSUITABLE; PX_NOT_SMALLER if they would take too much before the codec;
 * PX_NO_SPACE.
 */
static px_status
px_encode(px_writer *out, const px_encode_job *job, px_encoding_id id,
		  bool *stale)
{
	px_encoded	result = {.encoding = id};
	size_t		start = out->pos;
	size_t		encoded_nbytes;
	uint8_t		codec = PX_CODEC_NONE;
	px_status	status;

	status = px_encoding_by_id(id)->write(out, &job->input, &job->state->plan,
										  &result);
	*stale = result.stale;
	if (status != PX_OK)
		return status;
	encoded_nbytes = out->pos - start + result.tail_nbytes;
	if (encoded_nbytes > job->encoded_max)
		return PX_NOT_SMALLER;

	if (result.tail)
		status = px_tail_write(out, result.tail, result.tail_nbytes,
							   job->options, job->state, &codec);
	else if (result.codec_use == PX_CODEC_USE ||
			 (result.codec_use == PX_CODEC_USE_ON_INTS &&
			  job->options->codec_on_ints))
		status = px_tail_compress(out, start + result.head_nbytes,
								  job->options, job->state, &codec);

	job->chunk->encoding = result.encoding;
	job->chunk->codec = codec;
	job->chunk->encoded_nbytes = (uint32_t) encoded_nbytes;
	job->chunk->head_nbytes = codec == PX_CODEC_NONE ? 0 :
		(uint32_t) result.head_nbytes;

	return status;
}

/* The same in no more room than plain values take; else PX_NOT_SMALLER. */
static px_status
px_encode_smaller(px_writer *out, const px_encode_job *job, px_encoding_id id,
				  bool *stale)
{
	px_writer	limited =
		{out->data, Min(out->cap, out->pos + job->plain_nbytes), out->pos};
	px_status	status = px_encode(&limited, job, id, stale);

	if (status == PX_OK)
		out->pos = limited.pos;

	return status == PX_NO_SPACE ? PX_NOT_SMALLER : status;
}

/* Nothing is packed: each value as it is. */
static px_status
px_encode_plain(px_writer *out, px_encode_job *job)
{
	bool		stale;

	job->input.pack = false;
	return px_encode(out, job, px_column_is_patched(job->input.column) ?
					 PX_ENC_PATCHED : PX_ENC_PLAIN, &stale);
}

/* A constant, or by the plan, which is made if that is due; or plain. */
static px_status
px_encode_planned(px_writer *out, px_encode_job *job)
{
	const px_column *column = job->input.column;
	px_column_state *state = job->state;
	bool		patched = px_column_is_patched(column);
	bool		stale = false;
	px_status	status;

	if (!patched)
	{
		status = px_encode_smaller(out, job, PX_ENC_CONSTANT, &stale);
		if (!px_is_refusal(status))
			return status;
	}

	if (state->sample_in == 0 || state->form != column->form)
	{
		state->form = column->form;
		px_choose(&job->input, job->options->encodings, &state->plan);
		state->sample_interval = Min(Max(state->sample_interval * 2, 1),
									 PX_SAMPLE_INTERVAL_MAX);
		state->sample_in = state->sample_interval;
		state->sampled = true;
	}
	state->sample_in--;
	if (state->plan.encoding == PX_ENC_PLAIN && !patched)
		return px_encode_plain(out, job);

	status = px_encode_smaller(out, job,
							   patched ? PX_ENC_PATCHED : state->plan.encoding,
							   &stale);
	if (stale || status == PX_UNSUITABLE)
		state->sample_in = state->sample_interval = 0;

	return px_is_refusal(status) ? px_encode_plain(out, job) : status;
}

px_status
px_values_write(px_writer *out, const px_column *columns, uint16_t index,
				const px_encode_options *options, px_column_state *state,
				size_t *spare_nbytes, px_chunk *chunk)
{
	const px_column *column = &columns[index];
	size_t		plain_nbytes = px_column_values_nbytes(column);
	px_encode_job job = {
		.input = {.columns = columns, .column = column, .index = index},
		.options = options,
		.state = state,
		.plain_nbytes = plain_nbytes,
		.encoded_max = plain_nbytes + *spare_nbytes,
		.chunk = chunk
	};
	size_t		start = out->pos;
	bool		stale;
	px_status	status;

	if (px_encodings_have(options->encodings, PX_ENCODINGS_INTS))
	{
		job.input.pack = true;
		job.input.scratch = px_encode_scratch_take(options->scratch,
												   column->nvalues);
	}

	/* Of the first two only the integers in front can be packed. */
	if (column->form == PX_FORM_ARRAY)
		status = px_encode(out, &job, PX_ENC_PLAIN, &stale);
	else if (px_column_is_toasted(column))
	{
		/* PX_TOAST_SAVING_MIN sees to it that this is smaller than plain. */
		status = px_encode_smaller(out, &job, PX_ENC_TOASTED, &stale);
		if (status == PX_NOT_SMALLER)
			status = PX_NO_SPACE;
	}
	else if (job.input.pack)
		status = px_encode_planned(out, &job);
	else
		status = px_encode_plain(out, &job);
	if (status != PX_OK)
		return status;

	chunk->stored_nbytes = (uint32_t) (out->pos - start);
	Assert(chunk->encoded_nbytes <= plain_nbytes + *spare_nbytes);
	Assert(chunk->stored_nbytes <= plain_nbytes);
	*spare_nbytes += plain_nbytes - chunk->encoded_nbytes;
	state->encoding = chunk->encoding;
	state->codec = chunk->codec;

	return PX_OK;
}
