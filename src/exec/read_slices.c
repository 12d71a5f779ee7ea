/*-------------------------------------------------------------------------
 *
 * read_slices.c
 *		Slices after the first, which several streams share.
 *
 * A slice that no stream can read, for want of a connection or because of
 * anything else that comes before its first row, goes back to the others; what
 * is left in the end is read by the session of postgres_fdw, which only the
 * leader of a parallel query has.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "compat.h"
#include "exec/parallel.h"
#include "exec/read_slices.h"
#include "exec/start.h"

/* Wait for a stream that was begun; false, and its slice is given back, if it will not be. */
static bool
confirm_slice(px_receive_state *state, px_stream_reader *reader)
{
	const char *reason;

	if (reader->stream->phase == PX_STREAM_BEGUN &&
		px_stream_confirm(reader->stream, &reason) == PX_STREAM_OK)
	{
		px_start_accept(state, reader);
		return true;
	}
	px_stream_close(reader->stream);
	px_slices_return(state->slices, reader->slice);
	return false;
}

void
px_receive_spread(px_receive_state *state)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(state->stream_context);
	int			nbegun = 1;

	/* Begin all before waiting for any. */
	state->spread = true;
	for (;; nbegun++)
	{
		int			slice = px_slices_claim(state->slices, false);
		px_stream_reader *reader;
		const char *reason;

		if (slice < 0)
			break;
		reader = nbegun < state->nreaders ? state->readers[nbegun] : px_start_add_reader(state);
		reader->slice = slice;
		if (!px_start_stream(state, reader, &reason))
		{
			/* Then one of the others will have to read it. */
			px_slices_return(state->slices, slice);
			break;
		}
	}
	for (int i = 1; i < nbegun; i++)
		(void) confirm_slice(state, state->readers[i]);
	MemoryContextSwitchTo(oldcontext);
}

/* Have reader go on with a slice; false if that cannot be by a stream. */
static bool
read_next_slice(px_receive_state *state, px_stream_reader *reader, int slice)
{
	const char *reason;

	reader->slice = slice;
	if (reader->stream->holder.connection)
	{
		px_start_next_query(state, reader);
		return true;
	}
	if (!px_start_stream(state, reader, &reason))
	{
		px_slices_return(state->slices, slice);
		return false;
	}
	return confirm_slice(state, reader);
}

void
px_receive_end_slice(px_receive_state *state, px_stream_reader *reader)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(state->stream_context);
	int			slice = -1;

	reader->active = false;
	if (reader->session_active)
		reader->session_active = false;
	else
		slice = px_slices_claim(state->slices, false);
	if (slice < 0 || !read_next_slice(state, reader, slice))
		px_stream_close(reader->stream);
	MemoryContextSwitchTo(oldcontext);
}

bool
px_receive_take_left_slice(px_receive_state *state)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(state->stream_context);
	px_stream_reader *reader = state->readers[0];
	int			slice = -1;

	/* Workers leave that to the leader. */
	if (state->session_cursor)
		slice = px_slices_claim(state->slices, true);
	if (slice >= 0)
	{
		const char *reason = "slice is left";
		const char *refusal;

		reader->slice = slice;
		refusal = px_start_session(state, reader, reason);
		if (refusal)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
					 errmsg("could not read slice %d of a scan on server \"%s\"",
							slice, state->servername),
					 errdetail_internal("%s", refusal)));
		state->reader = reader;
	}
	MemoryContextSwitchTo(oldcontext);
	return slice >= 0;
}
