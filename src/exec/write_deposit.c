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
 * Deposits pay if a byte takes longer than this to be sent: a link of 25 MB/s.
 * On a faster one, sending a piece takes less time than the remote needs to
 * store its rows.
 */
#define SLOW_NS		40.0

/*
 * Less says little about the link, and so does the time that round trips take,
 * or a remote that is busy.  A piece that was compressed often has no more
 * than 100 kB.
 */
#define MEASURED_NBYTES_MIN	(64 * 1024)
#define LATENCY_NS			1000000

/* With random choices, one piece in so many is not deposited. */
#define RANDOM_PERIOD		3

static bool
pays(const px_write_lane *lane, size_t nbytes)
{
	if (px_transport_setting == PX_TRANSPORT_SESSION ||
		px_write_streams == 1 || lane->is_local || lane->deposit_failed ||
		nbytes > PX_DEPOSIT_NBYTES_MAX)
		return false;
	if (px_debug_random_choices)
		return lane->writer->ncalls % RANDOM_PERIOD != 0;
	return px_peer_recall_upload_ns(px_peer_get(lane->user)) >= SLOW_NS;
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

/*
 * The last piece tells more than those before it: many links carry the first
 * bytes after a pause faster than the rest.  A busy machine makes the link
 * look slower than it is; then a connection is made in vain, and the deposit
 * is measured, too.
 */
void
px_write_deposit_learn(px_write_lane *lane, int64 ns, size_t nbytes)
{
	if (nbytes >= MEASURED_NBYTES_MIN && !lane->is_local)
		px_peer_learn_upload_ns(px_peer_get(lane->user), lane->link,
								(double) Max(ns - LATENCY_NS, 1) / nbytes);
}
