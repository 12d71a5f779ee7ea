/*-------------------------------------------------------------------------
 *
 * send_progress.c
 *		Rows that are about to be sent to fragments, in
 *		pg_stat_progress_exchange.
 *
 * Each fragment has a row while what it is going to be sent is collected.
 * When the fragment runs, its stream has one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "exec/send_progress.h"

struct px_send_progress
{
	px_receive_state **fragments;
	int			n;
	px_progress **slots;		/* [n]; NULL where nothing is shown */
	MemoryContextCallback callback;
};

static void
hide(void *arg)
{
	px_send_progress_end(arg);
}

px_send_progress *
px_send_progress_new(px_receive_state **fragments, int n)
{
	px_send_progress *progress = palloc0(sizeof(px_send_progress));

	progress->fragments = fragments;
	progress->n = n;
	progress->slots = palloc0(n * sizeof(px_progress *));
	progress->callback.func = hide;
	progress->callback.arg = progress;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &progress->callback);
	return progress;
}

void
px_send_progress_begin(px_send_progress *progress, px_direction direction,
					   double estimated_rows)
{
	for (int i = 0; i < progress->n; i++)
	{
		const px_receive_state *fragment = progress->fragments[i];
		px_progress *slot = px_progress_begin();

		progress->slots[i] = slot;
		if (slot == NULL)
			return;
		slot->userid = GetSessionUserId();
		slot->serverid = fragment->foreign->fs_server;
		slot->remote_pid = 0;
		slot->slice = 0;
		slot->estimated_rows = estimated_rows;
		slot->direction = direction;
		px_progress_show(slot, fragment->servername, fragment->remote_sql);
		px_progress_blocked(slot, PX_BLOCKED_QUERY);
	}
}

void
px_send_progress_set(px_send_progress *progress, int i, uint64 rows,
					 uint64 raw_nbytes, uint64 wire_nbytes)
{
	px_progress_set(progress->slots[i], rows, raw_nbytes, wire_nbytes);
}

void
px_send_progress_end(px_send_progress *progress)
{
	for (int i = 0; i < progress->n; i++)
	{
		px_progress_end(progress->slots[i]);
		progress->slots[i] = NULL;
	}
}
