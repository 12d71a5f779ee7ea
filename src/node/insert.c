/*-------------------------------------------------------------------------
 *
 * insert.c
 *		Executing ExchangeInsert: rows of frames into a table.
 *
 * Rows are gathered, and stored by table_multi_insert, as COPY does it.  Then
 * each gets its index entries and triggers.  exec/insert_mode.c says when rows
 * may be gathered, and how the first error is raised nevertheless.
 *
 * If postgres_fdw would send a statement for each row, the remote would check
 * the foreign keys of a row before it saw the next row.  So triggers are fired
 * here after as many rows as a statement of postgres_fdw has.  Only foreign
 * keys and deferrable unique constraints have triggers here: plan/insert.c
 * leaves tables with others to ModifyTable.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "commands/explain.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "compat_executor.h"
#include "exec/apply_state.h"
#include "exec/insert_mode.h"
#include "library.h"
#include "node/insert.h"

/* Limits of a batch, as in COPY. */
#define BATCH_ROWS_MAX		1000
#define BATCH_NBYTES_MAX	65536

typedef struct px_insert_state
{
	CustomScanState css;		/* must be first */

	px_apply   *apply;			/* NULL: the statement is a user's own */
	ResultRelInfo *target;
	px_insert_mode mode;
	bool		count;			/* in es_processed? */
	bool		generated;		/* are there stored generated columns? */
	bool		triggers;		/* are there AFTER ROW triggers? */
	uint64		statement_rows; /* fire them after so many; 0: at the end */
	uint64		pending_rows;	/* whose triggers have not been fired */
	bool		done;

	/* The batch. */
	MemoryContext context;		/* of the slots and their rows */
	TupleDesc	tupdesc;		/* of the slots */
	BulkInsertState bulk;
	TupleTableSlot **slots;		/* the first nslots have been made */
	uint64	   *rows;			/* their numbers, see px_apply */
	int			nslots;
	int			nrows;
	Size		nbytes;
} px_insert_state;

/* ---------------------------------------------------------------------
 * Storing rows
 * --------------------------------------------------------------------- */

/* Fire the triggers of rows that would be a statement of their own. */
static void
end_statement(px_insert_state *state)
{
	state->pending_rows = 0;
	AfterTriggerEndQuery(state->css.ss.ps.state);
}

/* The row is in the table: make its index entries, and queue its triggers. */
static void
complete_row(px_insert_state *state, TupleTableSlot *slot)
{
	EState	   *estate = state->css.ss.ps.state;
	ResultRelInfo *target = state->target;
	List	   *recheck = NIL;

	if (state->triggers && state->statement_rows > 0 &&
		state->pending_rows++ == 0)
		AfterTriggerBeginQuery();
	if (target->ri_NumIndices > 0)
		recheck = px_insert_index_tuples(target, slot, estate);
	if (state->triggers)
		ExecARInsertTriggers(estate, target, slot, recheck, NULL);
	list_free(recheck);
	if (state->pending_rows > 0 &&
		state->pending_rows == state->statement_rows)
		end_statement(state);
}

/* Say which row is being processed; -1: that is not known. */
static void
set_row(px_insert_state *state, int i)
{
	if (state->apply == NULL)
		return;
	state->apply->has_row = i >= 0;
	if (i >= 0)
		state->apply->row = state->rows[i];
}

/* Store the rows of the batch, and begin a new one. */
static void
store_batch(px_insert_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	Relation	relation = state->target->ri_RelationDesc;
	bool		completes = state->target->ri_NumIndices > 0 ||
		state->triggers;
	int			i;

	set_row(state, state->nrows == 1 ? 0 : -1);
	if (state->nrows == 1)
		table_tuple_insert(relation, state->slots[0], estate->es_output_cid, 0,
						   state->bulk);
	else if (state->nrows > 1)
	{
		MemoryContext old_context =
			MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));

		table_multi_insert(relation, state->slots, state->nrows,
						   estate->es_output_cid, 0, state->bulk);
		MemoryContextSwitchTo(old_context);
	}

	for (i = 0; i < state->nrows; i++)
	{
		if (completes)
		{
			CHECK_FOR_INTERRUPTS();
			ResetPerTupleExprContext(estate);
			set_row(state, i);
			complete_row(state, state->slots[i]);
		}
		ExecClearTuple(state->slots[i]);
	}
	if (state->count)
		estate->es_processed += state->nrows;
	state->nrows = 0;
	state->nbytes = 0;
}

/* ---------------------------------------------------------------------
 * Gathering rows
 * --------------------------------------------------------------------- */

static TupleTableSlot *
next_slot(px_insert_state *state)
{
	if (state->nrows == state->nslots)
	{
		MemoryContext old_context = MemoryContextSwitchTo(state->context);
		Relation	relation = state->target->ri_RelationDesc;

		state->slots[state->nslots++] = MakeSingleTupleTableSlot(
			state->tupdesc, table_slot_callbacks(relation));
		MemoryContextSwitchTo(old_context);
	}
	return state->slots[state->nrows];
}

static Size
row_nbytes(TupleTableSlot *slot)
{
	if (TTS_IS_BUFFERTUPLE(slot))
		return ((const HeapTupleTableSlot *) slot)->tuple->t_len;
	slot_getallattrs(slot);
	return heap_compute_data_size(slot->tts_tupleDescriptor, slot->tts_values,
								  slot->tts_isnull);
}

/* Add the source's next row to the batch.  Returns false if there is none. */
static bool
gather_row(px_insert_state *state)
{
	EState	   *estate = state->css.ss.ps.state;
	ResultRelInfo *target = state->target;
	Relation	relation = target->ri_RelationDesc;
	TupleTableSlot *slot = next_slot(state);
	TupleTableSlot *source;

	CHECK_FOR_INTERRUPTS();
	ResetPerTupleExprContext(estate);
	if (state->apply)
		state->apply->has_row = true;	/* ExchangeUnpack says which */
	source = ExecProcNode(linitial(state->css.custom_ps));
	if (TupIsNull(source))
		return false;

	/*
	 * Values of generated columns can be put into our slot only.  Else the
	 * constraints are checked before the row is formed, because its values
	 * need not be taken out of it then.
	 */
	if (state->generated)
	{
		ExecCopySlot(slot, source);
		slot->tts_tableOid = RelationGetRelid(relation);
		ExecComputeStoredGenerated(target, estate, slot, CMD_INSERT);
		source = slot;
	}
	source->tts_tableOid = RelationGetRelid(relation);
	if (RelationGetDescr(relation)->constr)
		ExecConstraints(target, source, estate);
	if (relation->rd_rel->relispartition)
		(void) ExecPartitionCheck(target, source, estate, true);
	if (source != slot)
	{
		ExecCopySlot(slot, source);
		slot->tts_tableOid = RelationGetRelid(relation);
	}
	ExecMaterializeSlot(slot);

	if (state->apply)
		state->rows[state->nrows] = state->apply->row;
	state->nrows++;
	state->nbytes += row_nbytes(slot);
	return true;
}

/* Gather a batch.  Returns false if the source has no more rows. */
static bool
gather_batch(px_insert_state *state)
{
	int			rows_max = state->mode == PX_INSERT_ROWS ? 1 : BATCH_ROWS_MAX;

	while (state->nrows < rows_max && state->nbytes < BATCH_NBYTES_MAX)
	{
		if (!gather_row(state))
			return false;
	}
	return true;
}

/*
 * May rows be stored after this error?  Not if it tells of a server in
 * trouble, or that the statement is to end now.
 */
static bool
is_of_a_row(const ErrorData *error)
{
	switch (ERRCODE_TO_CATEGORY(error->sqlerrcode))
	{
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
		case ERRCODE_INTERNAL_ERROR:
		case ERRCODE_TRANSACTION_ROLLBACK:
			return false;
		default:
			return true;
	}
}

/*
 * The same as gather_batch.  If a row fails, first store the rows before it,
 * which may raise another error.
 */
static bool
gather_guarded(px_insert_state *state)
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;
	volatile bool more = false;

	PG_TRY();
	{
		more = gather_batch(state);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (!is_of_a_row(error))
			PG_RE_THROW();
		FlushErrorState();
	}
	PG_END_TRY();

	if (error)
	{
		store_batch(state);
		ReThrowError(error);
	}
	return more;
}

/* ---------------------------------------------------------------------
 * The node
 * --------------------------------------------------------------------- */

static const CustomExecMethods insert_exec_methods;

static Node *
insert_create_state(CustomScan *scan)
{
	px_insert_state *state = palloc0(sizeof(px_insert_state));

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &insert_exec_methods;
	return (Node *) state;
}

/* The source must return rows of the table, as the executor also checks. */
static void
check_row_type(Relation relation, TupleDesc source)
{
	TupleDesc	tupdesc = RelationGetDescr(relation);
	int			i;

	if (source->natts != tupdesc->natts)
		elog(ERROR, "ExchangeInsert gets %d columns for %d", source->natts,
			 tupdesc->natts);
	for (i = 0; i < source->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (!att->attisdropped && !att->attgenerated &&
			att->atttypid != TupleDescAttr(source, i)->atttypid)
			elog(ERROR, "ExchangeInsert gets another type for column \"%s\"",
				 NameStr(att->attname));
	}
}

static void
insert_begin(CustomScanState *node, EState *estate, int eflags)
{
	px_insert_state *state = (px_insert_state *) node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	Plan	   *source = linitial(scan->custom_plans);
	ResultRelInfo *target = makeNode(ResultRelInfo);
	TupleDesc	tupdesc;

	state->count = linitial_int(scan->custom_private) != 0;
	state->apply = px_apply_find(estate->es_param_list_info);
	state->statement_rows = state->apply ? state->apply->batch_size : 0;

	/* The executor closes the table and its indexes. */
	ExecInitResultRelation(estate, target, scan->scan.scanrelid);
	ExecOpenIndices(target, false);
	state->target = target;
	tupdesc = RelationGetDescr(target->ri_RelationDesc);
	state->generated = tupdesc->constr &&
		tupdesc->constr->has_generated_stored;
	state->triggers = target->ri_TrigDesc != NULL &&
		target->ri_TrigDesc->trig_insert_after_row;
	state->mode = px_insert_choose(target, source, state->statement_rows);

	node->custom_ps = list_make1(ExecInitNode(source, estate, eflags));
	check_row_type(target->ri_RelationDesc,
				   ExecGetResultType(linitial(node->custom_ps)));
}

static void
start(px_insert_state *state)
{
	MemoryContext old_context;

	state->context = AllocSetContextCreate(
		state->css.ss.ps.state->es_query_cxt, "ExchangeInsert",
		ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(state->context);

	/*
	 * The resource owner would count each slot's use of the relation's own
	 * descriptor, which is slow if there are many slots.
	 */
	state->tupdesc = CreateTupleDescCopyConstr(
		RelationGetDescr(state->target->ri_RelationDesc));
	state->slots = palloc(BATCH_ROWS_MAX * sizeof(TupleTableSlot *));
	state->rows = palloc(BATCH_ROWS_MAX * sizeof(uint64));
	state->bulk = GetBulkInsertState();
	MemoryContextSwitchTo(old_context);
}

static void
finish(px_insert_state *state)
{
	FreeBulkInsertState(state->bulk);
	table_finish_bulk_insert(state->target->ri_RelationDesc, 0);
	MemoryContextDelete(state->context);
	state->done = true;
}

/* Insert all rows.  Like a ModifyTable without RETURNING, return none. */
static TupleTableSlot *
insert_exec(CustomScanState *node)
{
	px_insert_state *state = (px_insert_state *) node;
	bool		more = true;

	if (state->done)
		return NULL;
	start(state);
	while (more)
	{
		more = state->mode == PX_INSERT_GUARDED ? gather_guarded(state) :
			gather_batch(state);
		store_batch(state);
	}
	if (state->pending_rows > 0)
		end_statement(state);
	finish(state);
	return NULL;
}

static void
insert_end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void
insert_rescan(CustomScanState *node)
{
	elog(ERROR, "ExchangeInsert cannot be rescanned");
}

static void
insert_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	static const char *const names[] = {
		[PX_INSERT_ROWS] = "Rows",
		[PX_INSERT_BATCHES] = "Batches",
		[PX_INSERT_GUARDED] = "Guarded Batches",
	};

	ExplainPropertyText("Insert Mode",
						names[((px_insert_state *) node)->mode], es);
}

const CustomScanMethods px_insert_scan_methods = {
	.CustomName = PX_INSERT_NAME,
	.CreateCustomScanState = insert_create_state,
};

static const CustomExecMethods insert_exec_methods = {
	.CustomName = PX_INSERT_NAME,
	.BeginCustomScan = insert_begin,
	.ExecCustomScan = insert_exec,
	.EndCustomScan = insert_end,
	.ReScanCustomScan = insert_rescan,
	.ExplainCustomScan = insert_explain,
};

void
px_insert_node_init(void)
{
	RegisterCustomScanMethods(&px_insert_scan_methods);
}
