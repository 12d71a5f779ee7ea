/*-------------------------------------------------------------------------
 *
 * filter.c
 *		Runtime filters: the keys of a hash join's inner side, for the scans
 *		of its outer side.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "exec/filter.h"
#include "exec/transmission.h"

px_filter *
px_filter_get(EState *estate, int param)
{
	ParamExecData *data = &estate->es_param_exec_vals[param];

	if (DatumGetPointer(data->value) == NULL)
		data->value = PointerGetDatum(
			MemoryContextAllocZero(estate->es_query_cxt, sizeof(px_filter)));
	return (px_filter *) DatumGetPointer(data->value);
}

/* Free the literals. */
static void
forget_text(px_filter *filter)
{
	if (filter->first)
		pfree(filter->first);
	if (filter->last)
		pfree(filter->last);
	filter->first = filter->last = NULL;
	filter->use = PX_FILTER_UNKNOWN;
}

void
px_filter_begin(px_filter *filter, Oid type)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(GetMemoryChunkContext(filter));

	if (filter->keys)
		px_key_set_free(filter->keys);
	forget_text(filter);
	filter->keys = px_key_set_new(type);
	filter->type = type;
	filter->complete = false;
	filter->generation++;
	MemoryContextSwitchTo(oldcontext);
}

/*
 * A value as a literal that the remote reads as it is here; in filter's
 * memory.
 */
static char *
make_literal(const px_filter *filter, Oid type, Datum value)
{
	Oid			output;
	bool		is_varlena;
	char	   *text;
	char	   *literal;

	getTypeOutputInfo(type, &output, &is_varlena);
	text = OidOutputFunctionCall(output, value);
	literal = quote_literal_cstr(text);
	pfree(text);
	return literal;
}

static void
write_literals(px_filter *filter)
{
	int			nestlevel = px_transmission_begin();
	Datum		lowest;
	Datum		highest;

	if (px_key_set_is_exact(filter->keys))
	{
		filter->use = PX_FILTER_KEYS;
		filter->first = make_literal(filter, get_array_type(filter->type),
									 px_key_set_array(filter->keys));
	}
	else if (px_key_set_bounds(filter->keys, &lowest, &highest))
	{
		filter->use = PX_FILTER_BOUNDS;
		filter->first = make_literal(filter, filter->type, lowest);
		filter->last = make_literal(filter, filter->type, highest);
	}
	AtEOXact_GUC(true, nestlevel);
}

void
px_filter_complete(px_filter *filter, double keys_max)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(GetMemoryChunkContext(filter));

	filter->complete = true;
	if (keys_max >= (px_key_set_is_exact(filter->keys) ?
					 (double) px_key_set_count(filter->keys) :
					 PX_KEY_SET_KEYS_MAX))
		write_literals(filter);
	if (filter->first && strlen(filter->first) > PX_FILTER_NBYTES_MAX / 2)
		forget_text(filter);
	if (filter->first == NULL)
		filter->use = PX_FILTER_NONE;
	MemoryContextSwitchTo(oldcontext);
}
