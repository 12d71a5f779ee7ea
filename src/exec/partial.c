/*-------------------------------------------------------------------------
 *
 * partial.c
 *		Rows of partial aggregates, made from plain rows of the remote.
 *
 * The remote computes plain aggregates of its rows: count(x) and sum(x), say.
 * The Finalize Aggregate above the node wants transition states: that of
 * avg(x).  They are made here, row by row; a state itself is never received.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "exec/partial.h"
#include "tuple/agg_state.h"

/* One column of the node's scan tuples. */
typedef struct partial_column
{
	const px_agg_rule *rule;	/* NULL for a grouping key */
	int			nvalues;
	int			values[PX_AGG_VALUES_MAX];	/* 0-based columns of the remote */
} partial_column;

struct px_partial
{
	const char *servername;
	int			ncolumns;
	partial_column columns[FLEXIBLE_ARRAY_MEMBER];
};

px_partial *
px_partial_new(const CustomScan *scan, List *columns, const char *servername)
{
	int			ncolumns = list_length(columns);
	px_partial *partial = palloc0(offsetof(px_partial, columns) +
								  ncolumns * sizeof(partial_column));
	ListCell   *lc;

	Assert(ncolumns == list_length(scan->custom_scan_tlist));
	partial->servername = servername;
	foreach(lc, scan->custom_scan_tlist)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);
		List	   *values = list_nth(columns, partial->ncolumns);
		partial_column *column = &partial->columns[partial->ncolumns++];
		ListCell   *value;

		if (IsA(target->expr, Aggref))
		{
			column->rule = px_agg_rule_for((Aggref *) target->expr, false);
			if (column->rule == NULL)
				elog(ERROR, "aggregate %u has no partial states",
					 ((Aggref *) target->expr)->aggfnoid);
		}
		Assert(list_length(values) <= PX_AGG_VALUES_MAX);
		foreach(value, values)
			column->values[column->nvalues++] = lfirst_int(value) - 1;
	}
	return partial;
}

TupleTableSlot *
px_partial_remote_slot(EState *estate, const ForeignScan *foreign)
{
	return ExecInitExtraTupleSlot(estate,
								  ExecTypeFromTL(foreign->fdw_scan_tlist),
								  &TTSOpsVirtual);
}

static void
make_column(const px_partial *partial, const partial_column *column,
			const TupleTableSlot *remote, Datum *value, bool *isnull)
{
	Datum		values[PX_AGG_VALUES_MAX];
	bool		nulls[PX_AGG_VALUES_MAX];

	if (column->rule == NULL)
	{
		*isnull = column->nvalues == 0 ||
			remote->tts_isnull[column->values[0]];
		*value = *isnull ? (Datum) 0 : remote->tts_values[column->values[0]];
		return;
	}
	for (int i = 0; i < column->nvalues; i++)
	{
		values[i] = remote->tts_values[column->values[i]];
		nulls[i] = remote->tts_isnull[column->values[i]];
	}
	*value = px_agg_state(column->rule, partial->servername, values, nulls,
						  isnull);
}

void
px_partial_make_row(const px_partial *partial, const TupleTableSlot *remote,
					TupleTableSlot *slot)
{
	for (int i = 0; i < partial->ncolumns; i++)
		make_column(partial, &partial->columns[i], remote,
					&slot->tts_values[i], &slot->tts_isnull[i]);
	ExecStoreVirtualTuple(slot);
}
