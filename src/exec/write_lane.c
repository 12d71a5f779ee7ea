/*-------------------------------------------------------------------------
 *
 * write_lane.c
 *		Lanes: the servers that a writer sends to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "conn/remote_text.h"
#include "exec/clocks.h"
#include "exec/write_error.h"
#include "exec/write_lane.h"
#include "guc.h"
#include "wire/apply_words.h"

/* ---------------------------------------------------------------------
 * Lanes
 * --------------------------------------------------------------------- */

/*
 * All targets of a statement are written to as the same user: that of the
 * table that the statement names.
 */
px_write_lane *
px_write_lane_get(px_write_state *writer, const px_write_plan *plan)
{
	Oid			relid = RelationGetRelid(plan->relinfo->ri_RelationDesc);
	Oid			serverid = GetForeignTable(relid)->serverid;
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
	lane->servername = GetForeignServer(serverid)->servername;
	lane->user = GetUserMapping(px_result_relation_user(plan->relinfo,
														writer->estate),
								serverid);
	lane->downlink = px_downlink_new(plan->mtstate, plan->relinfo);
	lane->next = writer->lanes;
	writer->lanes = lane;
	writer->nlanes++;
	MemoryContextSwitchTo(oldcontext);
	return lane;
}

/* ---------------------------------------------------------------------
 * Calls
 * --------------------------------------------------------------------- */

typedef enum lane_operation
{
	LANE_CALL,					/* send, and wait for the result */
	LANE_SEND,
	LANE_COLLECT				/* wait for the result of what was sent */
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
	px_downlink *downlink = target->lane->downlink;
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
			case LANE_COLLECT:
				result = px_downlink_collect(downlink);
				break;
		}
	}
	PG_CATCH();
	{
		px_write_fail(target, piece, -1, stack);
	}
	PG_END_TRY();
	error_context_stack = stack;
	return result;
}

text *
px_write_lane_ask(px_write_target *target, const char *sql)
{
	return guarded(LANE_CALL, target, sql, NULL);
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
		.nbytes = (double) VARSIZE(piece->armoured),
		.receiver_ns = worked_ns,
	};

	if (lane->mode == PX_MODE_AUTO)
		px_adapt_learn_link(&lane->adapt, &sample);
}

static void
read_result(const char *servername, text *result, px_apply_result *applied)
{
	px_fault	fault;
	char		detail[PX_FAULT_NBYTES_MAX];

	if (result && px_apply_result_read(text_to_cstring(result), applied,
									   &fault) == PX_OK)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid response from server \"%s\"", servername),
			 result ? errdetail_internal("%s",
										 px_remote_text(px_fault_text(&fault,
																	  detail))) :
			 errdetail("Expected the result of exchange.apply.")));
}

/*
 * A piece was written: result is what exchange.apply has returned.  Times as
 * for learn_link.
 */
static void
finish_piece(px_write_target *target, px_write_piece *piece, text *result,
			 int64 sent_ns, int64 waited_ns)
{
	px_apply_result applied;

	read_result(target->lane->servername, result, &applied);
	count_rows(target, piece, applied.rows);
	learn_link(target->lane, piece, sent_ns, waited_ns,
			   applied.us);
	target->stats.wait_ms += (sent_ns + waited_ns) / 1e6;
	target->stats.apply_ms += applied.us / 1000.0;
	target->stats.rows += piece->rows;
	target->stats.wire_nbytes += VARSIZE(piece->armoured) - VARHDRSZ;
	px_write_piece_free(piece);
}

/* ---------------------------------------------------------------------
 * Sending
 * --------------------------------------------------------------------- */

/*
 * With one server, a synchronous call is one round trip; asynchronous ones
 * take three.
 */
static bool
is_asynchronous(const px_write_state *writer)
{
	return writer->nlanes > 1 && px_write_streams != 1;
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
		px_write_lane_collect(oldest);
	}
}

void
px_write_lane_send(px_write_target *target, px_write_piece *piece)
{
	px_write_lane *lane = target->lane;
	int64		begin;

	/* The remote still works on the last piece while this is prepared. */
	px_write_piece_armour(piece);
	px_write_lane_collect(lane);
	limit_streams(lane->writer);

	begin = px_wall_ns();
	if (is_asynchronous(lane->writer))
	{
		guarded(LANE_SEND, target, target->call_sql, piece);
		lane->target = target;
		lane->piece = piece;
		lane->sent_ns = px_wall_ns() - begin;
		lane->number = lane->writer->ncalls++;
	}
	else
	{
		text	   *result = guarded(LANE_CALL, target, target->call_sql,
									 piece);

		finish_piece(target, piece, result, 0, px_wall_ns() - begin);
	}
}

void
px_write_lane_collect(px_write_lane *lane)
{
	px_write_target *target = lane->target;
	int64		begin = px_wall_ns();
	text	   *result;

	if (target == NULL)
		return;
	lane->target = NULL;
	result = guarded(LANE_COLLECT, target, NULL, lane->piece);
	finish_piece(target, lane->piece, result, lane->sent_ns,
				 px_wall_ns() - begin);
}
