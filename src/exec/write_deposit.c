/*-------------------------------------------------------------------------
 *
 * write_deposit.c
 *		Pieces that a connection of our own brings to the server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "admit/deposit.h"
#include "compat.h"
#include "conn/pool.h"
#include "exec/write_deposit.h"
#include "guc.h"

/*
 * Deposits pay if a byte takes longer than this to be sent: a link of 50 MB/s.
 * On a faster one, sending a piece takes less time than the remote needs to
 * store its rows, and a deposit costs it a millisecond.
 */
#define SLOW_NS		20.0

/* Less says little about the link: it is about its latency. */
#define MEASURED_NBYTES_MIN	(128 * 1024)

/*
 * If the link is not known yet, deposits begin with a piece of this size.  The
 * statement is large then, and a new connection is worth its time.
 */
#define PROBE_NBYTES_MIN	(512 * 1024)

static bool
pays(const px_write_lane *lane, size_t nbytes)
{
	double		upload_ns = px_peer_get(lane->user)->link_history.upload_ns;

	if (px_transport_setting == PX_TRANSPORT_SESSION ||
		px_write_streams == 1 || lane->is_local || lane->deposit_failed ||
		nbytes > PX_DEPOSIT_NBYTES_MAX)
		return false;
	if (upload_ns == 0)
		return lane->writer->nlanes > 1 && nbytes >= PROBE_NBYTES_MIN;
	return upload_ns >= SLOW_NS;
}

bool
px_write_deposit_begin(px_write_target *target, px_write_piece *piece)
{
	px_write_lane *lane = target->lane;

	Assert(lane->deposit_piece == NULL);
	if (!pays(lane, piece->frames_nbytes))
		return false;
	if (lane->depositor == NULL)
	{
		MemoryContext oldcontext =
			MemoryContextSwitchTo(lane->writer->context);

		lane->depositor = px_depositor_new(lane->user, lane->servername);
		MemoryContextSwitchTo(oldcontext);
	}
	if (!px_depositor_send(lane->depositor, piece->frames,
						   piece->frames_nbytes))
	{
		lane->deposit_failed = true;
		return false;
	}
	lane->deposit_target = target;
	lane->deposit_piece = piece;
	return true;
}

bool
px_write_deposit_take(px_write_lane *lane, px_receipt *receipt, int64 *ns)
{
	size_t		nbytes = lane->deposit_piece->frames_nbytes;
	instr_time	time;

	lane->deposit_target = NULL;
	lane->deposit_piece = NULL;
	if (!px_depositor_take(lane->depositor, receipt, &time))
	{
		lane->deposit_failed = true;
		return false;
	}
	*ns = (int64) INSTR_TIME_GET_MICROSEC(time) * 1000;
	px_write_deposit_learn(lane, *ns, nbytes);
	return true;
}

void
px_write_deposit_learn(px_write_lane *lane, int64 ns, size_t nbytes)
{
	if (nbytes >= MEASURED_NBYTES_MIN)
		px_peer_get(lane->user)->link_history.upload_ns =
			Max((double) ns, 1) / nbytes;
}
