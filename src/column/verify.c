/*-------------------------------------------------------------------------
 *
 * verify.c
 *		A batch that has just been written, read as a receiver reads it.
 *
 * What is counted against the raw size, and when, is as in tuple/decode.c.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/decode.h"
#include "column/verify.h"

/* A batch that is being read. */
typedef struct verify_state
{
	const px_frame_header *header;
	const px_verify_memory *memory;
	const int64_t **references; /* [columns] */
	px_decode_room room;
	uint64_t	counted_nbytes; /* of buffers, besides slack */
	px_fault   *fault;
} verify_state;

static void *
verify_take(const verify_state *state, size_t nbytes)
{
	return state->memory->take(state->memory->arg, PX_ALIGN(Max(nbytes, 1)));
}

/* Count what a receiver takes memory for, before it does. */
static px_status
verify_count(verify_state *state, uint64_t nbytes)
{
	state->counted_nbytes += nbytes;
	if (state->counted_nbytes > state->header->raw_nbytes)
		return px_fail(state->fault, PX_OVER_LIMIT, "decoded bytes",
					   state->header->raw_nbytes, state->counted_nbytes);

	return PX_OK;
}

static px_status
verify_pointers(verify_state *state, const px_chunk *chunk,
				const uint8_t *encoded)
{
	const uint8_t **values = verify_take(state, chunk->rows * sizeof(*values));
	size_t		nbytes;
	px_status	status;

	status = px_chunk_buffer_nbytes(chunk, encoded, &nbytes, state->fault);
	if (status == PX_OK)
		status = verify_count(state,
							  px_buffer_counted_nbytes(nbytes, chunk->rows));
	if (status != PX_OK)
		return status;
	state->room.buffer = verify_take(state, nbytes);

	return px_chunk_decode_pointers(chunk, encoded, &state->room, values,
									state->fault);
}

static px_status
verify_arrays(verify_state *state, const px_chunk *chunk,
			  const uint8_t *encoded, bool is_signed)
{
	px_arrays	arrays;
	int64_t    *values;
	px_status	status;

	if (chunk->nvalues == 0)
		return PX_OK;
	status = px_chunk_decode_arrays(chunk, encoded, &state->room, &arrays,
									state->fault);
	if (status == PX_OK)
		status = verify_count(state,
							  (uint64_t) arrays.nelements * chunk->width);
	if (status != PX_OK)
		return status;

	values = verify_take(state, arrays.nelements * sizeof(*values));
	return px_chunk_decode_elements(&arrays, is_signed, values, state->fault);
}

static px_status
verify_ints(verify_state *state, const px_chunk *chunk, const uint8_t *encoded,
			const px_column *column, uint16_t index)
{
	int64_t    *values = verify_take(state, chunk->rows * sizeof(*values));
	px_patches	patches;
	px_status	status;

	if (column->sent)
		return px_chunk_decode_patched(chunk, encoded, &state->room, values,
									   &patches, state->fault);
	status = px_chunk_decode_ints(chunk, encoded, column->is_signed,
								  &state->room, values, state->fault);
	if (column->relatable && chunk->null_layout == PX_NULLS_NONE)
		state->references[index] = values;

	return status;
}

static px_status
verify_chunk(verify_state *state, const px_chunk *chunk,
			 const px_column *column, uint16_t index,
			 px_codec_context *context)
{
	uint8_t    *buffer = NULL;
	const uint8_t *encoded;
	px_status	status;

	if (chunk->form != column->form)
		return px_fail(state->fault, PX_BAD_HEADER, "form", column->form,
					   chunk->form);
	if (chunk->width != column->width)
		return px_fail(state->fault, PX_BAD_HEADER, "width", column->width,
					   chunk->width);
	if (chunk->scale != column->scale)
		return px_fail(state->fault, PX_BAD_HEADER, "scale", column->scale,
					   chunk->scale);
	if (chunk->nvalues != column->nvalues)
		return px_fail(state->fault, PX_BAD_HEADER, "nvalues",
					   column->nvalues, chunk->nvalues);

	if (chunk->codec != PX_CODEC_NONE)
		buffer = verify_take(state, chunk->encoded_nbytes);
	status = px_chunk_unpack(chunk, context, buffer, &encoded, state->fault);
	if (status != PX_OK)
		return status;

	state->room.nreferences = index;
	state->references[index] = NULL;
	if (chunk->form == PX_FORM_ARRAY)
		return verify_arrays(state, chunk, encoded, column->is_signed);
	if (chunk->form == PX_FORM_FIXED && px_width_is_int(chunk->width))
		return verify_ints(state, chunk, encoded, column, index);
	return verify_pointers(state, chunk, encoded);
}

px_status
px_verify_written(const uint8_t *body, const px_frame_header *header,
				  const px_batch_limits *limits, const px_column *columns,
				  px_codec_context *context, const px_verify_memory *memory,
				  px_fault *fault)
{
	verify_state state = {header, memory, .fault = fault};
	px_chunk   *chunks = verify_take(&state,
									 header->columns * sizeof(*chunks));
	uint64_t	plain_nbytes = 0;
	px_status	status;

	for (uint16_t i = 0; i < header->columns; i++)
		plain_nbytes += px_column_plain_nbytes(&columns[i]);
	if (header->raw_nbytes != plain_nbytes)
		return px_fail(fault, PX_BAD_HEADER, "raw_nbytes", plain_nbytes,
					   header->raw_nbytes);
	if (header->body_nbytes > plain_nbytes)
		return px_fail(fault, PX_OVER_LIMIT, "body_nbytes", plain_nbytes,
					   header->body_nbytes);
	status = px_batch_verify(body, header, limits, chunks, fault);
	if (status != PX_OK)
		return status;

	state.references = verify_take(&state, header->columns *
								   sizeof(*state.references));
	state.room.references = (const int64_t *const *) state.references;
	state.room.scratch = verify_take(&state, sizeof(int64_t) *
									 PX_DECODE_SCRATCH_WORDS(header->rows));
	for (uint16_t i = 0; status == PX_OK && i < header->columns; i++)
		status = verify_chunk(&state, &chunks[i], &columns[i], i, context);

	return status;
}
