/*-------------------------------------------------------------------------
 *
 * writer.c
 *		Rows of a statement that writes, sent to their servers as frames.
 *
 * The writers of the statements that are being executed are in a list, in
 * which they are found by their executor state.  A callback of its memory
 * context takes them out, whatever ends the statement.
 *
 * postgres_fdw writes a row when it comes, so the first error of a statement
 * is that of its first bad row.  Here, another target's row, or the source of
 * the rows, may raise one before the first bad row is sent.  So after an error
 * the rows before it are written, too, and an earlier error is preferred.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "foreign/foreign.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "compat.h"
#include "conn/foreign_server.h"
#include "exec/clocks.h"
#include "exec/write_error.h"
#include "exec/write_kept.h"
#include "exec/write_lane.h"
#include "exec/write_replay.h"
#include "exec/write_progress.h"
#include "exec/write_target.h"
#include "exec/writer.h"

/* Of all executor states, the last one first. */
static px_write_state *writers = NULL;

static px_write_state *
find_writer(const EState *estate)
{
	px_write_state *writer = writers;

	while (writer && writer->estate != estate)
		writer = writer->next;
	return writer;
}

static void
forget_writer(void *arg)
{
	px_write_state **link = &writers;

	while (*link && *link != arg)
		link = &(*link)->next;
	if (*link)
		*link = (*link)->next;
	px_write_progress_end(arg);
}

static px_write_state *
make_writer(EState *estate)
{
	px_write_state *writer = MemoryContextAllocZero(estate->es_query_cxt,
												sizeof(px_write_state));

	writer->estate = estate;
	writer->targets_end = &writer->targets;
	writer->context = estate->es_query_cxt;
	writer->forget.func = forget_writer;
	writer->forget.arg = writer;
	MemoryContextRegisterResetCallback(writer->context, &writer->forget);
	writer->nest_level = GetCurrentTransactionNestLevel();
	writer->owner = CurrentResourceOwner;
	writer->next = writers;
	writers = writer;
	return writer;
}

/* The name of the remote table, as postgres_fdw's statements have it. */
static char *
name_remote_table(Relation relation)
{
	const char *schema;
	const char *name;

	px_remote_table_name(RelationGetRelid(relation), &schema, &name);
	return quote_qualified_identifier(schema, name);
}

/* Note that, unless it is known. */
static void
note_remote_table(px_write_target *target)
{
	MemoryContext oldcontext;

	if (target->table)
		return;
	oldcontext = MemoryContextSwitchTo(target->writer->context);
	target->table = name_remote_table(target->plan.relinfo->ri_RelationDesc);
	target->table_hash = string_hash(target->table, strlen(target->table) + 1);
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Is the target's remote table that of another target of its lane?  Then the
 * order of their rows matters: of two rows with the same key, the first one
 * stays.
 */
static bool
is_written_twice(px_write_target *target)
{
	if (target->lane->ntargets == 1)
		return false;
	note_remote_table(target);
	for (px_write_target *other = target->writer->targets; other;
		 other = other->next)
	{
		if (other->lane != target->lane || other == target)
			continue;
		note_remote_table(other);
		if (other->table_hash == target->table_hash &&
			strcmp(other->table, target->table) == 0)
			return true;
	}
	return false;
}

/*
 * The lane has got another target.  If rows of others are frames already, the
 * remote must be asked about this one before it has rows.
 */
static void
join_lane(px_write_lane *lane, px_write_target *target)
{
	const char *against = lane->declined;

	if (against == NULL && is_written_twice(target))
		against = PX_WRITE_TWICE;
	if (against == NULL && lane->has_frames)
		against = px_write_lane_describe(lane);
	if (against == NULL)
		return;
	px_write_target_decline(target, against);
	if (lane->declined == NULL)
		px_write_lane_decline(lane, against);
}

/* The writer of the executor state, made if there is none. */
static px_write_state *
get_writer(EState *estate)
{
	px_write_state *writer = find_writer(estate);

	return writer ? writer : make_writer(estate);
}

void
px_writer_leave(const px_write_plan *plan, const char *reason)
{
	px_write_state *writer = get_writer(plan->mtstate->ps.state);
	px_write_lane *lane = px_write_lane_get(writer, plan);

	if (lane->declined == NULL)
		px_write_lane_decline(lane, reason);
}

px_write_target *
px_writer_add(const px_write_plan *plan)
{
	px_write_state *writer = get_writer(plan->mtstate->ps.state);
	px_write_target *target;

	target = MemoryContextAllocZero(writer->context, sizeof(px_write_target));
	target->plan = *plan;
	target->writer = writer;
	target->lane = px_write_lane_get(writer, plan);
	target->stats.transport = "postgres_fdw (too few rows)";
	px_write_target_begin(target);
	*writer->targets_end = target;
	writer->targets_end = &target->next;
	target->number = writer->ntargets++;
	target->lane->ntargets++;
	join_lane(target->lane, target);
	return target;
}

/*
 * Have postgres_fdw write the rows that are kept for a server, as far as its
 * statements are complete.  After an error of theirs the server takes no more
 * rows.  So rows of its other targets, which may come before, are sent first.
 */
static void
flush_kept(px_write_state *writer, const px_write_lane *lane)
{
	px_write_target *target;

	for (target = writer->targets; target; target = target->next)
	{
		if (target->lane == lane && !px_write_has_kept(target))
			px_write_target_catch_up(target);
	}
	px_write_replay_all(writer, lane, PX_WRITE_ROW_POSITION(writer->nrows));
	for (target = writer->targets; target; target = target->next)
	{
		if (target->lane == lane)
			px_write_target_count_memory(target);
	}
}

/* The target that has most to be flushed; NULL if there is none. */
static px_write_target *
fullest_target(px_write_state *writer)
{
	px_write_target *fullest = NULL;

	for (px_write_target *target = writer->targets; target;
		 target = target->next)
	{
		if (px_write_has_kept(target) &&
			px_write_replay_position(target) >= PX_WRITE_AT_END)
			continue;
		if (fullest == NULL || px_write_target_fullness(target) >
			px_write_target_fullness(fullest))
			fullest = target;
	}
	return fullest;
}

/*
 * If the targets use more memory than they may, flush the fullest ones, until
 * a good part of it is free: so this is not done for each row.
 */
static void
limit_memory(px_write_state *writer)
{
	size_t		limit = (size_t) px_receive_buffer;

	if (writer->nbytes <= limit)
		return;
	while (writer->nbytes > limit / 4 * 3)
	{
		px_write_target *fullest = fullest_target(writer);
		size_t		before = writer->nbytes;

		if (fullest == NULL)
			break;
		if (px_write_has_kept(fullest))
			flush_kept(writer, fullest->lane);
		else
			px_write_target_flush(fullest, false);
		if (writer->nbytes >= before)
			break;
	}
}

/*
 * COPY keeps rows for an FDW with batches, of all targets together, until
 * there are so many, or so many bytes of lines, or there is a row for a target
 * without.
 */
#define COPY_ROWS_MAX		1000
#define COPY_NBYTES_MAX		65535

/*
 * Rows that come slowly are kept no longer before the remote was asked: it may
 * have an idle_in_transaction_session_timeout.
 */
#define KEPT_MS				500

/* Once it was asked, it hears of us so often before that has passed. */
#define CONTACTS			8

static void
note_copy_flush(px_write_state *writer)
{
	writer->copy_rows = writer->copy_nbytes = 0;
	writer->copy_given = writer->nrows;
}

/*
 * Servers that postgres_fdw would have sent the rows to by now must not end
 * their sessions as idle in a transaction.
 */
static void
keep_awake(px_write_state *writer)
{
	int64		now = 0;		/* it takes as long as to route a row */

	for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
	{
		int64		ms = lane->is_described ?
			(lane->idle_ms + CONTACTS - 1) / CONTACTS : KEPT_MS;

		if (ms == 0 || lane->failed || lane->declined)
			continue;
		if (now == 0)
			now = px_wall_ns();
		if (now - lane->contact_ns < ms * 1000000)
			continue;
		lane->contact_ns = now;
		if (lane->is_described)
			px_write_lane_keep_awake(lane);
		else
			flush_kept(writer, lane);
	}
}

TupleTableSlot *
px_writer_row(px_write_target *target, TupleTableSlot *slot,
			  TupleTableSlot *plan_slot)
{
	px_write_state *writer = target->writer;
	bool		is_copy_batch = px_write_is_copy_batch(target);

	if (target->plan.mtstate->ps.plan == NULL && !is_copy_batch)
		note_copy_flush(writer);
	slot = px_write_target_row(target, slot, plan_slot);
	writer->nrows++;
	if (is_copy_batch)
	{
		writer->copy_rows++;
		writer->copy_nbytes += px_copy_line_nbytes();
		if (writer->copy_rows >= COPY_ROWS_MAX ||
			writer->copy_nbytes >= COPY_NBYTES_MAX)
			note_copy_flush(writer);
	}
	limit_memory(writer);
	keep_awake(writer);
	return slot;
}

static void
collect_all(px_write_state *writer)
{
	for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
		px_write_lane_start(lane);
	for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
		px_write_lane_collect(lane);
}

/*
 * Frames come first: after an error of theirs the server goes on, if it has
 * other targets, too.
 */
void
px_writer_flush(EState *estate)
{
	px_write_state *writer = find_writer(estate);
	bool		keeps = false;

	if (writer == NULL)
		return;
	for (px_write_target *target = writer->targets; target;
		 target = target->next)
	{
		if (px_write_has_kept(target))
			keeps = true;
		else
			px_write_target_flush(target, true);
	}
	collect_all(writer);
	if (keeps)
		px_write_replay_all(writer, NULL, PG_UINT64_MAX);
	for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
		px_write_lane_end(lane);
}

/* ---------------------------------------------------------------------
 * The first error
 * --------------------------------------------------------------------- */

/*
 * The innermost writer: that of estate, or with NULL that of a COPY.  NULL if
 * there is none, or it cannot be used in the current subtransaction.
 */
static px_write_state *
failed_writer(const EState *estate)
{
	px_write_state *writer = writers;

	if (writer == NULL || writer->targets == NULL ||
		writer->nest_level != GetCurrentTransactionNestLevel())
		return NULL;
	if (estate == NULL)
		return writer->targets->plan.mtstate->ps.plan == NULL ? writer : NULL;
	return writer->estate == estate ? writer : NULL;
}

/*
 * Is it an error of the data?  After others, such as a cancellation or a lost
 * connection, nothing more is to be sent.
 */
static bool
is_about_data(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_CONNECTION_EXCEPTION:
		case ERRCODE_INVALID_TRANSACTION_STATE:
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
		case ERRCODE_INTERNAL_ERROR:
			return false;
	}
	return sqlstate != ERRCODE_LOCK_NOT_AVAILABLE;
}

/*
 * Does it come of an earlier error?  The remote transaction has failed: for a
 * row that postgres_fdw has written, say, because the server declined frames
 * for one of its tables.  Or postgres_fdw looks for the result of a request
 * whose error it has raised.
 */
static bool
is_consequence(int sqlstate)
{
	return sqlstate == ERRCODE_IN_FAILED_SQL_TRANSACTION ||
		sqlstate == ERRCODE_CONNECTION_FAILURE;
}

/* Let go of what an error may have left, as the end of a transaction does. */
static void
release_locks(const px_write_state *writer)
{
	LWLockReleaseAll();
	ConditionVariableCancelSleep();
	pgstat_report_wait_end();
	UnlockBuffers();
	LockErrorCleanup();
	CurrentResourceOwner = writer->owner;
}

/*
 * Write what comes before the error at position: by frames for target, or by
 * postgres_fdw if that is NULL.  If that fails, and at an earlier position,
 * returns that error; else NULL.
 */
static ErrorData *
catch_up(px_write_state *writer, px_write_target *target, uint64 *position)
{
	ErrorData  *volatile earlier = NULL;
	MemoryContext context = CurrentMemoryContext;

	/* Errors that are not of a row do not say where they stand. */
	writer->failed_at = PG_UINT64_MAX;
	PG_TRY();
	{
		if (target)
			px_write_target_catch_up(target);
		else
			px_write_replay_all(writer, NULL, *position);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		release_locks(writer);
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
			ERRCODE_OPERATOR_INTERVENTION)
			ReThrowError(error);
		if (writer->failed_at < *position &&
			!is_consequence(error->sqlerrcode))
		{
			*position = writer->failed_at;
			earlier = error;
		}
	}
	PG_END_TRY();
	return earlier;
}

void
px_writer_after_error(const EState *estate)
{
	px_write_state *writer = failed_writer(estate);
	ErrorData  *error;
	ErrorData  *earlier = NULL;
	bool		claimed;
	uint64		position;

	if (writer == NULL)
		return;
	MemoryContextSwitchTo(writer->context);
	error = CopyErrorData();
	claimed = !writer->failed && px_write_claim_error(writer, error);
	if (!claimed && !is_about_data(error->sqlerrcode))
		return;
	FlushErrorState();
	if (!is_about_data(error->sqlerrcode))
		ThrowErrorData(error);
	position = writer->failed ? writer->failed_at :
		PX_WRITE_ROW_POSITION(writer->nrows);
	release_locks(writer);
	for (px_write_target *target = writer->targets; target;
		 target = target->next)
	{
		if (!px_write_has_kept(target) &&
			px_write_target_precedes(target, position))
			earlier = catch_up(writer, target, &position);
		if (earlier)
			error = earlier;
		claimed = claimed && earlier == NULL;
		earlier = NULL;
	}
	earlier = catch_up(writer, NULL, &position);
	if (earlier)
		ReThrowError(earlier);
	if (claimed)
		ThrowErrorData(error);
	ReThrowError(error);
}

/*
 * Have the server see what it would have seen by now.  Targets whose rows
 * become frames are left alone if spare.
 */
static void
bring_up_to_date(px_write_state *writer, Oid serverid, bool spare)
{
	px_write_lane *keeps = NULL;

	for (px_write_target *target = writer->targets; target;
		 target = target->next)
	{
		if (target->lane->serverid != serverid)
			continue;
		if (px_write_has_kept(target))
			keeps = target->lane;
		else if (!spare)
		{
			px_write_target_flush(target, !target->plan.whole_statements);
			px_write_lane_collect(target->lane);
		}
	}

	/* Statements that are not whole come after all rows. */
	if (keeps)
		px_write_replay_all(writer, keeps,
							PX_WRITE_ROW_POSITION(writer->nrows + 1));
}

void
px_writer_before_scan(EState *estate, Oid serverid)
{
	px_write_state *writer = find_writer(estate);

	if (writer)
		bring_up_to_date(writer, serverid, false);
}

void
px_writer_before_portion(EState *estate, Oid serverid, bool finds_targets)
{
	px_write_state *writer = find_writer(estate);

	if (writer == NULL)
		return;
	for (px_write_target *target = writer->targets; target;
		 target = target->next)
	{
		if (target->lane->serverid == serverid)
			px_write_target_settle(target);
	}
	bring_up_to_date(writer, serverid, finds_targets);
}

const px_write_stats *
px_writer_stats(const px_write_target *target)
{
	return &target->stats;
}
