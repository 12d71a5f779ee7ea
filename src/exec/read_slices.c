/*-------------------------------------------------------------------------
 *
 * read_slices.c
 *		The slices of a scan after the first: who reads them, and when.
 *
 * A stream may not get a connection, or fail before its first row.  Then its
 * slice is given back, and another stream reads it.  Slices that are left in
 * the end are read by postgres_fdw's session, which only the leader of a
 * parallel query has.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/open_reader.h"
#include "exec/read_slices.h"

/*
 * Wait for a stream that was begun.  False if it cannot read: then its slice
 * is given back.
 */
static bool
confirm_slice(px_receive_state *state, px_stream_reader *reader)
{
	if (reader->stream->phase == PX_STREAM_BEGUN &&
		px_is_ok(px_stream_confirm(reader->stream)))
	{
		px_open_accept(state, reader);
		return true;
	}
	px_stream_close(reader->stream);
	px_slices_return(state->slices, reader->slice);
	return false;
}

void
px_read_other_slices(px_receive_state *state)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(state->stream_context);
	int			nbegun = 1;

	/* Begin all before waiting for any. */
	state->spread = true;
	for (;; nbegun++)
	{
		int			slice = px_slices_claim(state->slices, false);
		px_stream_reader *reader;

		if (slice < 0)
			break;
		reader = nbegun < state->nreaders ? state->readers[nbegun] :
			px_open_add_reader(state);
		reader->slice = slice;
		if (!px_is_ok(px_open_stream(state, reader)))
		{
			/* One of the other streams reads it when it is done. */
			px_slices_return(state->slices, slice);
			break;
		}
	}
	for (int i = 1; i < nbegun; i++)
		(void) confirm_slice(state, state->readers[i]);
	MemoryContextSwitchTo(oldcontext);
}

/* Have reader's stream read slice; false if it cannot. */
static bool
read_slice(px_receive_state *state, px_stream_reader *reader, int slice)
{
	reader->slice = slice;
	if (reader->stream->holder.connection)
	{
		px_open_next_query(state, reader);
		return true;
	}
	if (!px_is_ok(px_open_stream(state, reader)))
	{
		px_slices_return(state->slices, slice);
		return false;
	}
	return confirm_slice(state, reader);
}

void
px_read_next_slice(px_receive_state *state, px_stream_reader *reader)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(state->stream_context);
	int			slice = -1;
	bool		is_handed_on;

	reader->active = false;
	if (reader->session_active)
		reader->session_active = false;
	else
		slice = px_slices_claim(state->slices, false);

	/* The gather hands the connection on to a sibling, or closes it. */
	is_handed_on = slice < 0 && px_receive_takes_turns(state) &&
		state->nreaders == 1;
	Assert(!is_handed_on || reader->stream->phase == PX_STREAM_CLOSED);
	if (!is_handed_on && (slice < 0 || !read_slice(state, reader, slice)))
		px_stream_close(reader->stream);
	MemoryContextSwitchTo(oldcontext);
}

bool
px_read_left_slice(px_receive_state *state)
{
	MemoryContext oldcontext;
	px_stream_reader *reader = state->readers[0];
	px_outcome	outcome;
	int			slice;

	/* Workers have no session, and leave that to the leader. */
	if (state->session_cursor == NULL)
		return false;
	oldcontext = MemoryContextSwitchTo(state->stream_context);
	slice = px_slices_claim(state->slices, true);
	if (slice >= 0)
	{
		reader->slice = slice;
		state->claimed = true;
		outcome = px_open_session(state, reader, "slice is left");
		if (!px_is_ok(outcome))
			ereport(ERROR,
					(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
					 errmsg("could not read slice %d of a scan on server \"%s\"",
							slice, state->servername),
					 errdetail_internal("%s", outcome.reason)));
		state->reader = reader;
	}
	MemoryContextSwitchTo(oldcontext);
	return slice >= 0;
}
