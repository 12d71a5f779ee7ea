/*-------------------------------------------------------------------------
 *
 * write_kept.c
 *		Rows that are kept as tuples, and written by postgres_fdw.
 *
 * postgres_fdw gets the rows in slots as it would have got them: for an INSERT
 * many at once if batch_size allows it, for an UPDATE or DELETE with the ctid
 * in a row like the plan's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "exec/write_error.h"
#include "exec/write_kept.h"
#include "exec/write_lane.h"

#define KEPT_INITIAL	16

static px_kept_row *
new_row(px_write_target *target)
{
	px_kept_rows *kept = &target->kept;

	if (kept->context == NULL)
		kept->context = AllocSetContextCreate(target->writer->context,
											  "ExchangeWrite rows",
											  ALLOCSET_SMALL_SIZES);
	if (kept->rows == NULL)
	{
		kept->cap = KEPT_INITIAL;
		kept->rows = MemoryContextAlloc(kept->context,
										kept->cap * sizeof(px_kept_row));
	}
	else if (kept->nrows == kept->cap)
	{
		kept->cap *= 2;
		kept->rows = repalloc(kept->rows, kept->cap * sizeof(px_kept_row));
	}
	return &kept->rows[kept->nrows++];
}

/* Like the plan's rows, of which only the ctid is wanted. */
static void
make_plan_slot(px_write_target *target, const TupleTableSlot *plan_slot)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(target->writer->context);
	TupleDesc	desc = CreateTupleDescCopy(plan_slot->tts_tupleDescriptor);

	target->kept.plan_slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	MemoryContextSwitchTo(oldcontext);
}

void
px_write_keep(px_write_target *target, TupleTableSlot *slot,
			  TupleTableSlot *plan_slot)
{
	px_kept_rows *kept = &target->kept;
	px_kept_row *row;
	MemoryContext oldcontext;

	/* Some statements were executed, and the last one is incomplete. */
	if (kept->replayed > 0)
		px_write_forget_kept(target, kept->replayed);
	row = new_row(target);
	oldcontext = MemoryContextSwitchTo(kept->context);

	row->tuple = NULL;
	row->position = px_write_position(target);
	if (target->plan.operation != CMD_DELETE)
	{
		row->tuple = ExecCopySlotMinimalTuple(slot);
		kept->nbytes += row->tuple->t_len;
	}
	if (target->plan.operation != CMD_INSERT)
	{
		if (kept->plan_slot == NULL)
			make_plan_slot(target, plan_slot);
		row->ctid = px_write_ctid(&target->plan, plan_slot);
	}
	if (kept->lines == NULL && px_copy_is_reading())
		kept->lines = px_copy_lines_new();
	if (kept->lines)
		px_copy_lines_add(kept->lines);
	MemoryContextSwitchTo(oldcontext);
}

/*
 * The slot that rows of a batch are put into, number i.  They are made in that
 * order, and only as many as a batch has had: batch_size may be large.
 */
static TupleTableSlot *
get_slot(px_write_target *target, int i)
{
	px_kept_rows *kept = &target->kept;
	Relation	table = target->plan.relinfo->ri_RelationDesc;
	MemoryContext oldcontext;

	Assert(i <= kept->nslots);
	if (i < kept->nslots)
		return kept->slots[i];

	oldcontext = MemoryContextSwitchTo(target->writer->context);
	if (kept->slots == NULL)
	{
		kept->slots_cap = KEPT_INITIAL;
		kept->slots = palloc(kept->slots_cap * sizeof(TupleTableSlot *));
		kept->desc = CreateTupleDescCopy(RelationGetDescr(table));
	}
	else if (kept->nslots == kept->slots_cap)
	{
		kept->slots_cap *= 2;
		kept->slots = repalloc(kept->slots,
							   kept->slots_cap * sizeof(TupleTableSlot *));
	}
	kept->slots[i] = MakeSingleTupleTableSlot(kept->desc,
											  &TTSOpsMinimalTuple);
	kept->nslots++;
	MemoryContextSwitchTo(oldcontext);
	return kept->slots[i];
}

/* Put kept row i into slot number n. */
static TupleTableSlot *
store_row(px_write_target *target, int i, int n)
{
	TupleTableSlot *slot = get_slot(target, n);
	MinimalTuple tuple = target->kept.rows[i].tuple;

	if (tuple)
		ExecStoreMinimalTuple(tuple, slot, false);
	else
		ExecClearTuple(slot);
	return slot;
}

/* Put the ctid of kept row i into a slot like the plan's. */
static TupleTableSlot *
store_ctid(px_write_target *target, int i)
{
	TupleTableSlot *slot = target->kept.plan_slot;
	AttrNumber	attno = target->plan.ctid_attno;

	ExecStoreAllNullTuple(slot);
	slot->tts_values[attno - 1] =
		PointerGetDatum(&target->kept.rows[i].ctid);
	slot->tts_isnull[attno - 1] = false;
	return slot;
}

void
px_write_kept_row(px_write_target *target, int i, TupleTableSlot **slot,
				  TupleTableSlot **plan_slot)
{
	*slot = target->plan.operation == CMD_DELETE ? NULL :
		store_row(target, i, 0);
	*plan_slot = target->plan.operation == CMD_INSERT ? NULL :
		store_ctid(target, i);
}

static void
clear_slots(px_write_target *target)
{
	px_kept_rows *kept = &target->kept;

	for (int i = 0; i < kept->nslots; i++)
		ExecClearTuple(kept->slots[i]);
	if (kept->plan_slot)
		ExecClearTuple(kept->plan_slot);
}

static void
forget_all(px_write_target *target)
{
	px_kept_rows *kept = &target->kept;

	clear_slots(target);
	if (kept->context)
		MemoryContextReset(kept->context);
	kept->rows = NULL;
	kept->nrows = 0;
	kept->replayed = 0;
	kept->next_position = 0;
	kept->nbytes = 0;
	kept->lines = NULL;
}

/* The rows that are left move, so that memory is freed. */
void
px_write_forget_kept(px_write_target *target, int n)
{
	px_kept_rows *kept = &target->kept;
	px_kept_rows old = *kept;

	if (n == 0)
		return;
	if (n == kept->nrows)
	{
		forget_all(target);
		return;
	}
	clear_slots(target);
	kept->context = NULL;
	kept->rows = NULL;
	kept->nrows = kept->replayed = 0;
	kept->next_position = 0;
	kept->nbytes = 0;
	kept->lines = NULL;
	for (int i = n; i < old.nrows; i++)
	{
		px_kept_row *row = new_row(target);
		MemoryContext oldcontext = MemoryContextSwitchTo(kept->context);

		*row = old.rows[i];
		if (row->tuple)
		{
			row->tuple = palloc(row->tuple->t_len);
			memcpy(row->tuple, old.rows[i].tuple, old.rows[i].tuple->t_len);
			kept->nbytes += row->tuple->t_len;
		}
		if (old.lines && kept->lines == NULL)
			kept->lines = px_copy_lines_new();
		if (old.lines)
			px_copy_lines_add_from(kept->lines, old.lines, i);
		MemoryContextSwitchTo(oldcontext);
	}
	MemoryContextDelete(old.context);
}

/* Have postgres_fdw write row i; returns the number of rows written. */
static int
replay_row(px_write_target *target, int i)
{
	const px_write_plan *plan = &target->plan;
	EState	   *estate = target->writer->estate;
	TupleTableSlot *slot = store_row(target, i, 0);

	switch (plan->operation)
	{
		case CMD_INSERT:
			slot = plan->fdw->ExecForeignInsert(estate, plan->relinfo, slot,
												slot);
			break;
		case CMD_UPDATE:
			slot = plan->fdw->ExecForeignUpdate(estate, plan->relinfo, slot,
												store_ctid(target, i));
			break;
		case CMD_DELETE:
			slot = plan->fdw->ExecForeignDelete(estate, plan->relinfo, slot,
												store_ctid(target, i));
			break;
		default:
			elog(ERROR, "unrecognized operation: %d", (int) plan->operation);
	}
	return slot ? 1 : 0;
}

/* The same for n rows from i, by one statement. */
static int
replay_batch(px_write_target *target, int i, int n)
{
	const px_write_plan *plan = &target->plan;
	TupleTableSlot **slots;
	int			nwritten = n;

	if (n == 1)
		return replay_row(target, i);
	for (int k = 0; k < n; k++)
		(void) store_row(target, i + k, k);
	slots = target->kept.slots;
	slots = plan->fdw->ExecForeignBatchInsert(target->writer->estate,
											  plan->relinfo, slots, slots,
											  &nwritten);
	return slots ? nwritten : 0;
}

static bool
can_batch(const px_write_plan *plan)
{
	return plan->operation == CMD_INSERT && plan->batch_size > 1 &&
		plan->fdw->ExecForeignBatchInsert != NULL;
}

/* What errors of the kept rows need. */
static void
fill_piece(const px_kept_rows *kept, px_write_piece *piece)
{
	memset(piece, 0, sizeof(*piece));
	piece->lines = kept->lines;
	piece->rows = (uint32) kept->nrows;
	piece->next_position = kept->next_position;
	piece->positions = MemoryContextAlloc(kept->context,
										  kept->nrows * sizeof(uint64));
	for (int i = 0; i < kept->nrows; i++)
		piece->positions[i] = kept->rows[i].position;
}

/*
 * Where does the statement of postgres_fdw end that begins with kept row
 * begin?  *due: where would it have executed it by now, as for px_write_fail?
 * UINT64_MAX: it would not, because the statement may get more rows.  One of
 * several rows is executed when the target's next row comes.
 */
static int
statement_end(const px_write_target *target, int begin, uint64 *due)
{
	const px_kept_rows *kept = &target->kept;
	int			size = can_batch(&target->plan) ? target->plan.batch_size : 1;
	int			end = begin;

	*due = PG_UINT64_MAX;
	if (!px_write_is_copy_batch(target))
	{
		end = Min(begin + size, kept->nrows);
		if (size == 1)
			*due = kept->rows[begin].position;
		else if (end < kept->nrows)
			*due = kept->rows[end].position;
		else if (end == begin + size && kept->next_position > 0)
			*due = kept->next_position;
		return end;
	}
	while (end < kept->nrows && end < begin + size &&
		   kept->rows[end].position == kept->rows[begin].position)
		end++;
	if (px_write_was_given(target->writer, kept->rows[begin].position))
		*due = kept->rows[begin].position;
	return end;
}

int
px_write_kept_due(const px_write_target *target)
{
	int			end = 0;

	while (end < target->kept.nrows)
	{
		uint64		due;
		int			next = statement_end(target, end, &due);

		if (due == PG_UINT64_MAX)
			break;
		end = next;
	}
	return end;
}

/* Replay rows from kept->replayed on, before the row number end. */
static void
replay(px_write_target *target, int end)
{
	px_kept_rows *kept = &target->kept;
	ErrorContextCallback *stack = error_context_stack;
	MemoryContext context = CurrentMemoryContext;
	uint64		due;
	px_write_piece piece;

	/* postgres_fdw keeps the name of its prepared statement, for instance. */
	MemoryContextSwitchTo(target->writer->context);
	error_context_stack = NULL;
	PG_TRY();
	{
		while (kept->replayed < end)
		{
			int			n = statement_end(target, kept->replayed, &due) -
				kept->replayed;
			int			nwritten = replay_batch(target, kept->replayed, n);

			px_write_uncount(target, (uint64) Max(n - nwritten, 0));
			kept->replayed += n;
		}
	}
	PG_CATCH();
	{
		fill_piece(kept, &piece);
		px_write_fail(target, &piece, kept->replayed, stack);
	}
	PG_END_TRY();
	error_context_stack = stack;
	MemoryContextSwitchTo(context);
}

void
px_write_replay(px_write_target *target)
{
	px_kept_rows *kept = &target->kept;
	int			end;

	if (kept->replayed > 0)
		px_write_forget_kept(target, kept->replayed);
	end = px_write_kept_due(target);
	if (end == 0)
		return;
	replay(target, end);
	px_write_forget_kept(target, end);
}

uint64
px_write_replay_position(const px_write_target *target)
{
	const px_kept_rows *kept = &target->kept;
	uint64		due;

	if (kept->replayed == kept->nrows)
		return PG_UINT64_MAX;
	(void) statement_end(target, kept->replayed, &due);
	return due < PG_UINT64_MAX ? due : PX_WRITE_AT_END + target->number;
}

void
px_write_replay_next(px_write_target *target)
{
	px_kept_rows *kept = &target->kept;
	uint64		due;

	replay(target, statement_end(target, kept->replayed, &due));
	if (kept->replayed == kept->nrows)
		forget_all(target);
}
