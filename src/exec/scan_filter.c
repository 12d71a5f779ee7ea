/*-------------------------------------------------------------------------
 *
 * scan_filter.c
 *		The runtime filters of an ExchangeReceive.
 *
 * The remote query becomes a subquery, whose columns we compare with the keys.
 * So it does not matter what postgres_fdw has put into it: a join, an
 * aggregate or a LIMIT returns the same rows, and the filters drop some of
 * these.  The remote's planner moves the comparisons down to where they may be
 * evaluated.
 *
 * A scan of a partition gets only the keys that can lie in it; without such a
 * key it is not read at all.  No row of it would be joined, whatever the
 * remote query does with the rows.
 *
 * postgres_fdw's session is asked about the query without the filters, whose
 * functions and operators are PostgreSQL's own and immutable.  So it has the
 * locks that it would have without them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/string.h"
#include "executor/instrument.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "exec/filter.h"
#include "exec/key_places.h"
#include "exec/scan_filter.h"
#include "guc.h"
#include "transport/transmission.h"

/* Room for the names of columns, types and operators. */
#define COLUMN_NBYTES	16
#define CONDITION_NBYTES	(8 * NAMEDATALEN)

/* A filter must be expected to save so many times the bytes that it takes. */
#define COST_FACTOR		2

/* Parallel to what the planner says: see px_scan_filter_item. */
typedef struct px_scan_filter
{
	px_filter  *filter;
	int			position;		/* see px_scan_filter_item */
	Oid			column_type;
	int			source;
	Oid			operator;
	double		saved;
	Node	   *column;
	List	   *levels;			/* see px_partition_levels; set when the first
								 * keys are complete */
	bool		levels_known;

	/* Of the scan that begins, or has begun. */
	uint64		taken;			/* generation that it has; 0: none */
	uint64		chosen;			/* generation that the rest is of; 0: none */
	bool		excludes;		/* no key can be in a row */
	uint64		nkeys;			/* that can be in its rows, as far as known */
	char	   *some_keys_text; /* literal of these; NULL if they are all */
} px_scan_filter;

static int
item_int(const List *items, px_scan_filter_item at)
{
	return intVal(list_nth(items, at));
}

void
px_scan_filter_begin(px_receive_state *state, const List *filters)
{
	EState	   *estate = state->css.ss.ps.state;
	int			i = 0;
	ListCell   *lc;

	state->read_sql = state->remote_sql;
	state->nfilters = list_length(filters);
	if (filters == NIL)
		return;
	state->filters = palloc0(state->nfilters * sizeof(px_scan_filter));
	foreach(lc, filters)
	{
		const List *items = lfirst_node(List, lc);
		px_scan_filter *filter = &state->filters[i++];

		filter->filter = px_filter_get(estate, item_int(items,
														PX_SCAN_FILTER_PARAM));
		filter->position = item_int(items, PX_SCAN_FILTER_POSITION);
		filter->column_type = item_int(items, PX_SCAN_FILTER_COLUMN_TYPE);
		filter->source = item_int(items, PX_SCAN_FILTER_SOURCE);
		filter->operator = item_int(items, PX_SCAN_FILTER_OPERATOR);
		filter->saved = floatVal(list_nth(items, PX_SCAN_FILTER_SAVED));
		filter->column = list_nth(items, PX_SCAN_FILTER_COLUMN);
	}
}

/* How many columns has the remote query?  One, if none is retrieved. */
static int
number_of_columns(const px_receive_state *state)
{
	return Max(list_length(lsecond(state->foreign->fdw_private)), 1);
}

Size
px_scan_filter_nbytes(const px_receive_state *state)
{
	Size		nbytes = 0;

	/* See is_useful. */
	for (int i = 0; i < state->nfilters; i++)
		nbytes += CONDITION_NBYTES +
			(Size) Min(state->filters[i].saved / COST_FACTOR,
					   PX_FILTER_NBYTES_MAX);
	if (nbytes > 0)
		nbytes += (Size) number_of_columns(state) * COLUMN_NBYTES;
	return nbytes;
}

bool
px_scan_filter_is_awaited(const px_receive_state *state)
{
	for (int i = 0; i < state->nfilters; i++)
	{
		if (!state->filters[i].filter->complete)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------------
 * The remote query
 * --------------------------------------------------------------------- */

/*
 * exchange.may_match(ROW(column, NULL::type, ...), typmod): what it compares
 * the column with follows, and then end_match.  If the remote's column has
 * another type than ours, which casts could not make ours, that is true.
 */
static void
begin_match(StringInfo sql, const px_scan_filter *filter)
{
	appendStringInfo(sql, "exchange.may_match(ROW(c%d, NULL::%s, ",
					 filter->position,
					 px_transmission_type(filter->column_type, -1));
}

static void
end_match(StringInfo sql, const px_scan_filter *filter)
{
	appendStringInfo(sql, "), %d)", exprTypmod(filter->column));
}

/* The keys as a literal; NULL if a summary is sent. */
static const char *
keys_text(const px_scan_filter *filter)
{
	return filter->some_keys_text ? filter->some_keys_text :
		filter->filter->keys_text;
}

/* Are column and keys hashed in the same way? */
static bool
fits_bloom(const px_scan_filter *filter)
{
	return filter->filter->bloom_text &&
		px_key_hash_of(filter->column_type) ==
		px_key_hash_of(filter->filter->type);
}

static void
append_bloom(StringInfo sql, const px_scan_filter *filter)
{
	begin_match(sql, filter);
	appendStringInfo(sql, "pg_catalog.decode(%s, 'base64')",
					 filter->filter->bloom_text);
	end_match(sql, filter);
}

static void
append_bounds(StringInfo sql, const px_scan_filter *filter)
{
	const px_filter *keys = filter->filter;
	const char *key_type = px_transmission_type(keys->type, -1);

	begin_match(sql, filter);
	appendStringInfo(sql, "%s::%s, %s::%s", keys->lowest_text, key_type,
					 keys->highest_text, key_type);
	end_match(sql, filter);
}

static void
append_condition(StringInfo sql, const px_scan_filter *filter)
{
	const px_filter *keys = filter->filter;

	if (keys_text(filter))
	{
		begin_match(sql, filter);
		appendStringInfo(sql, "%s::%s[]", keys_text(filter),
						 px_transmission_type(keys->type, -1));
		end_match(sql, filter);
		return;
	}
	if (keys->lowest_text)
		append_bounds(sql, filter);
	if (keys->lowest_text && fits_bloom(filter))
		appendStringInfoString(sql, " AND ");
	if (fits_bloom(filter))
		append_bloom(sql, filter);
}

static void
append_query(StringInfo sql, const px_receive_state *state)
{
	const char *before = " WHERE ";

	appendStringInfo(sql, "SELECT * FROM (%s) f(", state->remote_sql);
	for (int i = 1; i <= number_of_columns(state); i++)
		appendStringInfo(sql, "%sc%d", i > 1 ? ", " : "", i);
	appendStringInfoChar(sql, ')');
	for (int i = 0; i < state->nfilters; i++)
	{
		if (state->filters[i].taken == 0)
			continue;
		appendStringInfoString(sql, before);
		append_condition(sql, &state->filters[i]);
		before = " AND ";
	}
}

/* Is there something to send, which is not too much for what it saves? */
static bool
is_useful(const px_scan_filter *filter)
{
	const px_filter *keys = filter->filter;
	Size		nbytes = filter->some_keys_text ?
		strlen(filter->some_keys_text) : keys->nbytes;

	return keys->complete && nbytes * COST_FACTOR <= filter->saved &&
		(keys->keys_text || keys->lowest_text || fits_bloom(filter));
}

/* Where the column is one of a partition, the levels that it decides. */
static void
find_levels(const px_receive_state *state, px_scan_filter *filter)
{
	EState	   *estate = state->css.ss.ps.state;
	const CustomScan *scan = (const CustomScan *) state->css.ss.ps.plan;
	const Var  *var = (const Var *) filter->column;
	const RangeTblEntry *rte;
	MemoryContext oldcontext;

	/* A scan of a join has the columns of its tables in a list. */
	if (var->varno == INDEX_VAR)
		var = (const Var *) list_nth_node(TargetEntry, scan->custom_scan_tlist,
										  var->varattno - 1)->expr;
	filter->levels_known = true;
	rte = exec_rt_fetch(var->varno, estate);
	if (rte->rtekind != RTE_RELATION)
		return;
	oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	filter->levels = px_partition_levels(estate, rte->relid, var->varattno,
										 filter->operator);
	MemoryContextSwitchTo(oldcontext);
}

/* Which of its keys can be in rows of the scan? */
static void
choose_keys(const px_receive_state *state, px_scan_filter *filter)
{
	px_filter  *keys = filter->filter;
	MemoryContext oldcontext;
	bool	   *chosen;

	/* A scan that gets no connection is begun again. */
	if (keys->complete && filter->chosen == keys->generation)
		return;
	if (filter->some_keys_text)
		pfree(filter->some_keys_text);
	filter->some_keys_text = NULL;
	filter->excludes = false;
	filter->chosen = 0;
	if (!keys->complete || !px_enabled)
		return;
	if (!filter->levels_known)
		find_levels(state, filter);
	filter->excludes = !px_filter_choose(keys, filter->levels,
										 filter->operator, &chosen);
	filter->nkeys = px_key_set_count(keys->keys);
	filter->chosen = keys->generation;
	if (chosen == NULL)
		return;
	filter->nkeys = 0;
	for (int i = 0; i < keys->nvalues; i++)
		filter->nkeys += chosen[i];
	oldcontext =
		MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	filter->some_keys_text = px_filter_chosen_text(keys, chosen);
	MemoryContextSwitchTo(oldcontext);
	pfree(chosen);
}

/* Make the query that has the filters that were taken. */
static void
make_query(px_receive_state *state)
{
	bool		any = false;
	MemoryContext oldcontext;
	StringInfoData sql;

	if (state->read_sql != state->remote_sql)
		pfree(unconstify(char *, state->read_sql));
	state->read_sql = state->remote_sql;
	for (int i = 0; i < state->nfilters; i++)
		any |= state->filters[i].taken > 0;
	if (!any)
		return;

	oldcontext = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	initStringInfo(&sql);
	append_query(&sql, state);
	state->read_sql = sql.data;
	MemoryContextSwitchTo(oldcontext);
}

void
px_scan_filter_take(px_receive_state *state)
{
	if (state->nfilters == 0)
		return;
	state->filters_rewound = false;
	state->filtered_since = state->stats.rows;
	state->excluded = false;
	for (int i = 0; i < state->nfilters; i++)
	{
		px_scan_filter *filter = &state->filters[i];

		choose_keys(state, filter);
		state->excluded |= filter->excludes;
		filter->taken = filter->excludes || is_useful(filter) ?
			filter->filter->generation : 0;
	}
	make_query(state);
}

bool
px_scan_filter_excludes(const px_receive_state *state)
{
	return state->excluded && !state->filters_rewound;
}

void
px_scan_filter_fit(px_receive_state *state, const px_hello *hello)
{
	bool		any = false;

	if (state->nfilters == 0 ||
		pg_char_to_encoding(hello->encoding) == GetDatabaseEncoding())
		return;
	for (int i = 0; i < state->nfilters; i++)
	{
		px_scan_filter *filter = &state->filters[i];

		/* Bounds are numbers, and a Bloom filter says its encoding. */
		if (filter->taken == 0 || keys_text(filter) == NULL ||
			pg_is_ascii(keys_text(filter)))
			continue;
		filter->taken = 0;
		any = true;
	}
	if (any)
		make_query(state);
}

bool
px_scan_filter_has_changed(const px_receive_state *state)
{
	for (int i = 0; i < state->nfilters; i++)
	{
		const px_scan_filter *filter = &state->filters[i];

		if (filter->taken > 0 &&
			(!filter->filter->complete ||
			 filter->taken != filter->filter->generation))
			return true;
	}
	return false;
}

void
px_scan_filter_count(const px_receive_state *state)
{
	double		expected = state->css.ss.ps.plan->plan_rows;
	uint64		came = state->stats.rows - state->filtered_since;

	if ((state->excluded || state->read_sql != state->remote_sql) &&
		expected > came)
		state->readers[0]->stream->counters->rows_filtered +=
			(uint64) (expected - came);
}

/* ---------------------------------------------------------------------
 * EXPLAIN
 * --------------------------------------------------------------------- */

/* What was sent. */
static const char *
sent_text(const px_receive_state *state, const px_scan_filter *filter)
{
	const px_filter *keys = filter->filter;

	if (filter->taken == 0 || state->excluded)
		return "none";
	if (keys_text(filter))
		return "keys";
	if (!fits_bloom(filter))
		return "bounds";
	return keys->lowest_text ? "bounds and bloom" : "bloom";
}

/* " of part" */
static char *
source_text(const px_scan_filter *filter, ExplainState *es)
{
	const char *name = filter->source > 0 &&
		filter->source <= list_length(es->rtable_names) ?
		list_nth(es->rtable_names, filter->source - 1) : NULL;

	return name ? psprintf(" of %s", quote_identifier(name)) : "";
}

/* Rows that did not come, of those that were expected; 0 if more came. */
static double
rows_not_sent(const px_receive_state *state)
{
	const PlanState *node = &state->css.ss.ps;
	double		came;

	if (node->instrument == NULL || node->instrument->nloops == 0)
		return 0;
	came = node->instrument->ntuples / node->instrument->nloops;
	return Max(node->plan->plan_rows - came, 0);
}

/*
 * (1204 keys of part, about 5900000 rows not sent); of a partition
 * (37 of 1204 keys of part, about 187000 rows not sent), or
 * (not scanned: none of 1204 keys of part)
 */
static char *
use_text(const px_receive_state *state, const px_scan_filter *filter,
		 ExplainState *es)
{
	const px_filter *keys = filter->filter;
	uint64		nkeys;
	StringInfoData text;

	if (keys->keys == NULL)
		return "(not sent)";
	nkeys = px_key_set_count(keys->keys);
	initStringInfo(&text);
	appendStringInfoChar(&text, '(');
	if (filter->excludes)
		appendStringInfoString(&text, "not scanned: none of ");
	else if (filter->taken == 0 || state->excluded)
		appendStringInfoString(&text, "not sent: ");
	else if (keys_text(filter) == NULL)
		appendStringInfo(&text, "%s of ", sent_text(state, filter));
	else if (filter->nkeys < nkeys)
		appendStringInfo(&text, UINT64_FORMAT " of ", filter->nkeys);
	appendStringInfo(&text, UINT64_FORMAT " keys%s", nkeys,
					 source_text(filter, es));
	if (filter->taken > 0 && rows_not_sent(state) > 0)
		appendStringInfo(&text, ", about %.0f rows not sent",
						 rows_not_sent(state));
	appendStringInfoChar(&text, ')');
	return text.data;
}

static void
explain_properties(const px_receive_state *state,
				   const px_scan_filter *filter, const char *column,
				   ExplainState *es)
{
	const px_filter *keys = filter->filter;
	const char *sent = sent_text(state, filter);

	ExplainOpenGroup("Runtime Filter", NULL, true, es);
	ExplainPropertyText("Column", column, es);
	if (es->analyze)
	{
		ExplainPropertyText("Sent", sent, es);
		ExplainPropertyUInteger("Keys", NULL, keys->keys ?
								px_key_set_count(keys->keys) : 0, es);
		if (strcmp(sent, "keys") == 0)
			ExplainPropertyUInteger("Keys Sent", NULL, filter->nkeys, es);
		ExplainPropertyBool("Not Scanned", filter->excludes, es);
		ExplainPropertyFloat("Estimated Rows Not Sent", NULL,
							 filter->taken > 0 ? rows_not_sent(state) : 0, 0,
							 es);
	}
	ExplainCloseGroup("Runtime Filter", NULL, true, es);
}

void
px_scan_filter_explain(px_receive_state *state, List *ancestors,
					   ExplainState *es)
{
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;
	bool		useprefix = list_length(es->rtable) > 1 || es->verbose;
	List	   *context;

	if (state->nfilters == 0)
		return;
	context = set_deparse_context_plan(es->deparse_cxt,
									   state->css.ss.ps.plan, ancestors);
	if (!text)
		ExplainOpenGroup("Runtime Filters", "Runtime Filters", false, es);
	for (int i = 0; i < state->nfilters; i++)
	{
		const px_scan_filter *filter = &state->filters[i];
		char	   *column = deparse_expression(filter->column, context,
												useprefix, false);

		if (!text)
			explain_properties(state, filter, column, es);
		else
			ExplainPropertyText("Runtime Filter", es->analyze ?
								psprintf("%s %s", column,
										 use_text(state, filter, es)) :
								column, es);
	}
	if (!text)
		ExplainCloseGroup("Runtime Filters", "Runtime Filters", false, es);
}
