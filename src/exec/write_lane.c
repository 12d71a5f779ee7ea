/*-------------------------------------------------------------------------
 *
 * write_lane.c
 *		Lanes: the servers that a writer sends to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/fdwapi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "compat_executor.h"
#include "conn/remote_text.h"
#include "exec/clocks.h"
#include "exec/write_call.h"
#include "exec/write_deposit.h"
#include "exec/write_error.h"
#include "exec/write_lane.h"
#include "exec/write_progress.h"
#include "guc.h"
#include "stats/progress.h"
#include "wire/apply_words.h"
#include "wire/held_error.h"

/*
 * No more calls of a statement have a subtransaction.  With more than 64,
 * which a backend has room for, snapshots of all sessions would take longer.
 */
#define HELD_CALLS_MAX		60

/* ---------------------------------------------------------------------
 * Lanes
 * --------------------------------------------------------------------- */

px_write_lane *
px_write_lane_get(px_write_state *writer, const px_write_plan *plan)
{
	Oid			relid = RelationGetRelid(plan->relinfo->ri_RelationDesc);
	Oid			serverid = GetForeignServerIdByRelId(relid);
	px_write_lane *lane = writer->lanes;
	MemoryContext oldcontext;

	while (lane && lane->serverid != serverid)
		lane = lane->next;
	if (lane)
		return lane;

	oldcontext = MemoryContextSwitchTo(writer->context);
	lane = palloc0(sizeof(px_write_lane));
	lane->writer = writer;
	lane->serverid = serverid;
	lane->contact_ns = plan->begun_ns;
	lane->next = writer->lanes;
	writer->lanes = lane;
	writer->nlanes++;
	MemoryContextSwitchTo(oldcontext);
	return lane;
}

/*
 * All targets of a statement are written to as the same user: that of the
 * table that the statement names.
 */
void
px_write_lane_identify(px_write_lane *lane, const px_write_plan *plan)
{
	Oid			userid;

	if (lane->user)
		return;
	userid = px_result_relation_user(plan->relinfo, lane->writer->estate);
	lane->servername = GetForeignServer(lane->serverid)->servername;
	lane->user = GetUserMapping(userid, lane->serverid);
}

/* ---------------------------------------------------------------------
 * Calls
 * --------------------------------------------------------------------- */

/* The lane's downlink, made for the first call. */
static px_downlink *
downlink_for(px_write_target *target)
{
	px_write_lane *lane = target->lane;

	if (lane->downlink == NULL)
		lane->downlink = px_downlink_new(target->plan.mtstate,
										 target->plan.relinfo);
	return lane->downlink;
}

typedef enum lane_operation
{
	LANE_CALL,					/* send, and wait for the result */
	LANE_SEND,
	LANE_POLL,					/* has the result of what was sent arrived? */
	LANE_COLLECT				/* wait for it */
} lane_operation;

/*
 * Do that, with errors raised as postgres_fdw would.  The error context is
 * that of the row which happens to be processed now, so it is not in force
 * while an error of another row may be raised.
 */
static text *
guarded(lane_operation operation, px_write_target *target, const char *sql,
		px_write_piece *piece)
{
	px_downlink *downlink = downlink_for(target);
	text	   *argument = piece ? piece->armoured : NULL;
	const char *reported = target->plan.sql;
	ErrorContextCallback *stack = error_context_stack;
	text	   *volatile result = NULL;

	error_context_stack = NULL;
	PG_TRY();
	{
		switch (operation)
		{
			case LANE_CALL:
				result = px_downlink_call(downlink, sql, argument, reported);
				break;
			case LANE_SEND:
				px_downlink_send(downlink, sql, argument, reported);
				break;
			case LANE_POLL:
				target->lane->has_result = px_downlink_has_result(downlink);
				break;
			case LANE_COLLECT:
				result = px_downlink_collect(downlink);
				break;
		}
	}
	PG_CATCH();
	{
		/* The call in flight, if it was polled, has failed with the lane. */
		target->lane->target = NULL;
		px_write_fail(target, piece, -1, stack);
	}
	PG_END_TRY();
	error_context_stack = stack;
	target->lane->contact_ns = px_wall_ns();
	return result;
}

text *
px_write_lane_ask(px_write_target *target, const char *sql, bool want_socket)
{
	/* postgres_fdw would complete the call in flight, and lose its error. */
	px_write_lane_collect(target->lane);
	if (!want_socket)
		return guarded(LANE_CALL, target, sql, NULL);
	(void) guarded(LANE_SEND, target, sql, NULL);
	return guarded(LANE_COLLECT, target, NULL, NULL);
}

/* ---------------------------------------------------------------------
 * Results
 * --------------------------------------------------------------------- */

void
px_write_uncount(px_write_target *target, uint64 rows)
{
	if (target->plan.set_processed)
		target->writer->estate->es_processed -= rows;
}

/* The remote has written so many of the rows of a piece. */
static void
count_rows(px_write_target *target, const px_write_piece *piece, uint64 rows)
{
	if (rows > piece->rows || (rows < piece->rows && target->exact))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"",
						target->lane->servername),
				 errdetail("Expected %u rows to be written, got %llu.",
						   piece->rows, (unsigned long long) rows)));
	px_write_uncount(target, piece->rows - rows);
}

/*
 * Sending took sent_ns; waiting for the result, waited_ns, after which the
 * remote says that it has worked for us.  It may have been there for long.
 */
static void
learn_link(px_write_lane *lane, const px_write_piece *piece, int64 sent_ns,
		   int64 waited_ns, uint64 us)
{
	double		worked_ns = us * 1000.0;
	px_link_sample sample = {
		.backlog = true,
		.ns = sent_ns + Max(waited_ns, worked_ns),
		.nbytes = (double) px_write_piece_wire_nbytes(piece),
		.receiver_ns = worked_ns,
	};

	if (lane->mode == PX_MODE_AUTO)
		px_adapt_learn_link(&lane->adapt, &sample);
}

/* Only a deposit may be gone. */
static void
read_result(const char *servername, text *result, bool by_deposit,
			px_apply_result *applied)
{
	px_fault	fault;
	char		detail[PX_FAULT_NBYTES_MAX];

	if (result && px_apply_result_read(text_to_cstring(result), applied,
									   &fault) == PX_OK)
	{
		if (!applied->gone || by_deposit)
			return;
		px_fail(&fault, PX_BAD_HEADER, "deposit", 0, 1);
	}
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid response from server \"%s\"", servername),
			 result ? errdetail_internal(
						  "%s", px_remote_text(px_fault_text(&fault, detail)))
					: errdetail("Expected the result of exchange.apply.")));
}

static bool
must_hold(px_write_lane *lane)
{
	return lane->ntargets > 1 && lane->nheld++ < HELD_CALLS_MAX;
}

/*
 * The call for the text of a piece.  If rows of other targets go to the same
 * server, some may come before a bad row of this one, and have an error, too.
 * So the server must not be stopped by the first error.  That takes it a
 * subtransaction.
 */
static const char *
call_for(px_write_target *target)
{
	return must_hold(target->lane) ? target->hold_sql : target->call_sql;
}

/*
 * A piece was written: result is what exchange.apply has returned.  Times as
 * for learn_link.
 */
static void
finish_piece(px_write_target *target, px_write_piece *piece, text *result,
			 bool by_deposit, int64 sent_ns, int64 waited_ns)
{
	px_apply_result applied;

	if (result && px_held_error_is(text_to_cstring(result)))
		px_write_raise_held(target, piece, text_to_cstring(result));
	read_result(target->lane->servername, result, by_deposit, &applied);
	if (applied.gone)
	{
		/*
		 * The session that had the deposit has ended, or was another one's
		 * behind a pooler.
		 */
		target->lane->deposit_failed = true;
		px_write_piece_armour(piece);
		result = guarded(LANE_CALL, target, call_for(target), piece);
		if (result && px_held_error_is(text_to_cstring(result)))
			px_write_raise_held(target, piece, text_to_cstring(result));
		read_result(target->lane->servername, result, false, &applied);
	}
	count_rows(target, piece, applied.rows);
	learn_link(target->lane, piece, sent_ns, waited_ns,
			   applied.us);
	if (!by_deposit)
		px_write_deposit_learn(target->lane,
							   sent_ns > 0 ? sent_ns :
							   waited_ns - (int64) applied.us * 1000,
							   px_write_piece_wire_nbytes(piece));
	target->stats.wait_ms += (sent_ns + waited_ns) / 1e6;
	target->stats.apply_ms += applied.us / 1000.0;
	target->stats.rows += piece->rows;
	target->stats.wire_nbytes += px_write_piece_wire_nbytes(piece);
	px_write_progress_written(target, piece,
							  px_write_piece_wire_nbytes(piece));
	px_write_piece_free(piece);
}

/* ---------------------------------------------------------------------
 * Sending
 * --------------------------------------------------------------------- */

/*
 * Is it better not to wait for the result?  The next rows are made meanwhile,
 * or other servers are sent theirs.  With neither, waiting is cheaper.
 */
static bool
is_asynchronous(const px_write_lane *lane, const px_write_piece *piece)
{
	return !piece->last || lane->writer->nlanes > 1 || lane->target;
}

/* Wait for the call in flight, if there is one. */
static void
collect_call(px_write_lane *lane)
{
	px_write_target *target = lane->target;
	int64		begin = px_wall_ns();
	text	   *result;

	if (target == NULL)
		return;
	lane->target = NULL;
	px_progress_blocked(lane->progress, PX_BLOCKED_SERVER);
	result = guarded(LANE_COLLECT, target, NULL, lane->piece);
	finish_piece(target, lane->piece, result, lane->by_deposit, lane->sent_ns,
				 px_wall_ns() - begin);
}

/* Wait until fewer servers work than write_streams allows. */
static void
limit_streams(px_write_state *writer)
{
	while (px_write_streams > 0)
	{
		px_write_lane *oldest = NULL;
		int			nbusy = 0;

		for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
		{
			if (lane->target == NULL)
				continue;
			nbusy++;
			if (oldest == NULL || lane->number < oldest->number)
				oldest = lane;
		}
		if (nbusy < px_write_streams)
			return;
		collect_call(oldest);
	}
}

/* Have the remote work on a piece, by that call, and do not wait for it. */
static void
send_call(px_write_target *target, px_write_piece *piece, const char *sql)
{
	px_write_lane *lane = target->lane;
	int64		begin = px_wall_ns();

	guarded(LANE_SEND, target, sql, piece);
	lane->target = target;
	lane->piece = piece;
	lane->by_deposit = lane->has_result = false;
	lane->sent_ns = px_wall_ns() - begin;
	lane->number = lane->writer->ncalls++;
	px_progress_blocked(lane->progress, PX_BLOCKED_QUERY);
}

static void
send_deposit(px_write_target *target, px_write_piece *piece,
			 const px_receipt *receipt, int64 brought_ns)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(piece->context);
	char *sql = px_write_call_sql(&target->plan, target->request.version,
								  must_hold(target->lane),
								  receipt);

	MemoryContextSwitchTo(oldcontext);
	send_call(target, piece, sql);
	target->lane->by_deposit = true;
	target->lane->sent_ns = brought_ns;
}

void
px_write_lane_start(px_write_lane *lane)
{
	px_write_target *target = lane->deposit_target;
	px_write_piece *piece = lane->deposit_piece;
	px_receipt	receipt;
	int64		brought_ns;
	bool		is_there;

	if (piece == NULL)
		return;
	if (lane->ntargets > 1)
		collect_call(lane);		/* has an error before the piece is taken */
	is_there = px_write_deposit_take(lane, &receipt, &brought_ns);
	if (!is_there)
		px_write_piece_armour(piece);
	collect_call(lane);
	limit_streams(lane->writer);
	if (is_there)
		send_deposit(target, piece, &receipt, brought_ns);
	else
		send_call(target, piece, call_for(target));
}

/* Is the remote done with the last call? */
static bool
is_idle(px_write_lane *lane)
{
	if (lane->target && !lane->has_result)
		guarded(LANE_POLL, lane->target, NULL, lane->piece);
	return lane->target == NULL || lane->has_result;
}

void
px_write_lane_keep_awake(px_write_lane *lane)
{
	px_write_target *target = lane->writer->targets;

	if (!is_idle(lane))
		return;
	while (target->lane != lane)
		target = target->next;
	(void) px_write_lane_ask(target, "SELECT NULL::pg_catalog.text", false);
}

void
px_write_lanes_go_on(px_write_state *writer)
{
	(void) px_depositors_send_on();
	for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
	{
		if (lane->deposit_piece && !lane->failed &&
			px_depositor_is_ready(lane->depositor) &&
			px_write_streams == 0 && is_idle(lane))
			px_write_lane_start(lane);
	}
}

void
px_write_lane_send(px_write_target *target)
{
	px_write_lane *lane = target->lane;
	px_write_piece *piece = target->piece;
	bool		asynchronous;
	int64		begin;
	text	   *result;

	px_write_lane_start(lane);
	px_write_progress_send(target);
	if (piece->armoured == NULL && px_write_deposit_begin(target, piece))
	{
		target->piece = NULL;
		return;
	}

	/*
	 * The remote still works on the last piece while this is prepared.  If
	 * that one has an error, this one is still the target's.
	 */
	if (piece->armoured == NULL)
		px_write_piece_armour(piece);
	asynchronous = is_asynchronous(lane, piece);
	collect_call(lane);
	limit_streams(lane->writer);
	target->piece = NULL;
	if (asynchronous)
	{
		send_call(target, piece, call_for(target));
		return;
	}
	begin = px_wall_ns();
	result = guarded(LANE_CALL, target, call_for(target), piece);
	finish_piece(target, piece, result, false, 0, px_wall_ns() - begin);
}

void
px_write_lane_collect(px_write_lane *lane)
{
	px_write_lane_start(lane);
	collect_call(lane);
}

void
px_write_lane_end(px_write_lane *lane)
{
	px_write_lane_collect(lane);
	if (lane->downlink)
		px_downlink_end(lane->downlink);
	lane->downlink = NULL;
}
