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
#include "transport/transmission.h"

px_filter *
px_filter_get(EState *estate, int param)
{
	ParamExecData *data = &estate->es_param_exec_vals[param];

	if (DatumGetPointer(data->value) == NULL)
		data->value = PointerGetDatum(
			MemoryContextAllocZero(estate->es_query_cxt, sizeof(px_filter)));
	return (px_filter *) DatumGetPointer(data->value);
}

/* Let it be of no use. */
static void
forget_text(px_filter *filter)
{
	filter->use = PX_FILTER_UNKNOWN;
	filter->values = NULL;
	filter->nvalues = 0;
	filter->has_bounds = false;
	filter->keys_text = filter->bloom_text = NULL;
	filter->lowest_text = filter->highest_text = NULL;
	filter->nbytes = 0;
	filter->places = NIL;
}

void
px_filter_begin(px_filter *filter, Oid type)
{
	MemoryContext oldcontext;

	if (filter->context == NULL)
		filter->context = AllocSetContextCreate(GetMemoryChunkContext(filter),
												"ExchangeKeys filter",
												ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(filter->context);
	oldcontext = MemoryContextSwitchTo(filter->context);
	forget_text(filter);
	filter->keys = px_key_set_new(type);
	filter->type = type;
	filter->complete = false;
	filter->generation++;
	MemoryContextSwitchTo(oldcontext);
}

/* ---------------------------------------------------------------------
 * Literals
 * --------------------------------------------------------------------- */

/* A value as a literal that the remote reads as it is here. */
static char *
value_literal(Oid type, Datum value)
{
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(type, &output, &is_varlena);
	return quote_literal_cstr(OidOutputFunctionCall(output, value));
}

static char *
keys_literal(const px_filter *filter, Datum *values, int nvalues)
{
	Datum		array = px_key_set_array(filter->keys, values, nvalues);
	char	   *literal = value_literal(get_array_type(filter->type), array);

	pfree(DatumGetPointer(array));
	return literal;
}

static void
write_keys(px_filter *filter)
{
	filter->use = PX_FILTER_KEYS;
	filter->values = px_key_set_values(filter->keys, &filter->nvalues);
	filter->keys_text = keys_literal(filter, filter->values, filter->nvalues);
	filter->nbytes = strlen(filter->keys_text);
}

static void
write_summary(px_filter *filter)
{
	bytea	   *bloom;

	filter->has_bounds = px_key_set_bounds(filter->keys, &filter->lowest,
										   &filter->highest);
	if (filter->has_bounds)
	{
		filter->use = PX_FILTER_SUMMARY;
		filter->lowest_text = value_literal(filter->type, filter->lowest);
		filter->highest_text = value_literal(filter->type, filter->highest);
		filter->nbytes += strlen(filter->lowest_text) +
			strlen(filter->highest_text);
	}
	bloom = px_key_set_bloom(filter->keys);
	if (bloom)
	{
		Datum		encoded =
			DirectFunctionCall2(binary_encode, PointerGetDatum(bloom),
								CStringGetTextDatum("base64"));

		filter->use = PX_FILTER_SUMMARY;
		filter->bloom_text = quote_literal_cstr(TextDatumGetCString(encoded));
		filter->nbytes += strlen(filter->bloom_text);
		pfree(DatumGetPointer(encoded));
		pfree(bloom);
	}
}

void
px_filter_complete(px_filter *filter, double keys_max)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(filter->context);
	bool		few = (double) px_key_set_count(filter->keys) <= keys_max;
	int			nestlevel = px_transmission_begin();

	filter->complete = true;
	if (few && px_key_set_is_exact(filter->keys))
		write_keys(filter);
	else if (few)
		write_summary(filter);
	AtEOXact_GUC(true, nestlevel);

	if (filter->nbytes > PX_FILTER_NBYTES_MAX)
		forget_text(filter);
	if (filter->nbytes == 0)
		filter->use = PX_FILTER_NONE;
	MemoryContextSwitchTo(oldcontext);
}

/* ---------------------------------------------------------------------
 * Partitions
 * --------------------------------------------------------------------- */

/* The number of keys, or of ranges of keys, that are known. */
static int
number_of_places(const px_filter *filter)
{
	return filter->use == PX_FILTER_KEYS ? filter->nvalues :
		filter->has_bounds ? 1 : 0;
}

/* Where they lie among the partitions of a table: searched for once. */
static const px_key_places *
get_places(px_filter *filter, Oid parent, Oid operator)
{
	MemoryContext oldcontext;
	px_key_places *places;
	ListCell   *lc;

	foreach(lc, filter->places)
	{
		if (px_key_places_parent(lfirst(lc)) == parent)
			return lfirst(lc);
	}
	oldcontext = MemoryContextSwitchTo(filter->context);
	places = filter->use == PX_FILTER_KEYS ?
		px_key_places_of_keys(parent, operator, filter->values,
							  filter->nvalues) :
		px_key_places_of_range(parent, operator, filter->lowest,
							   filter->highest);
	filter->places = lappend(filter->places, places);
	MemoryContextSwitchTo(oldcontext);
	return places;
}

bool
px_filter_choose(px_filter *filter, const List *levels, Oid operator,
				 bool **chosen)
{
	int			nplaces = number_of_places(filter);
	int			nchosen = 0;
	bool	   *each;
	ListCell   *lc;

	*chosen = NULL;
	if (nplaces == 0)
		return filter->use != PX_FILTER_KEYS;
	if (levels == NIL)
		return true;
	each = palloc(nplaces * sizeof(bool));
	memset(each, true, nplaces * sizeof(bool));
	foreach(lc, levels)
	{
		const px_partition_level *level = lfirst(lc);

		px_key_places_choose(get_places(filter, level->parent, operator),
							 level->partition, each);
	}
	for (int i = 0; i < nplaces; i++)
		nchosen += each[i];
	if (filter->use == PX_FILTER_KEYS && nchosen < nplaces)
		*chosen = each;
	else
		pfree(each);
	return nchosen > 0;
}

char *
px_filter_chosen_text(const px_filter *filter, const bool *chosen)
{
	Datum	   *values = palloc(filter->nvalues * sizeof(Datum));
	int			nestlevel = px_transmission_begin();
	int			n = 0;
	char	   *text;

	for (int i = 0; i < filter->nvalues; i++)
	{
		if (chosen[i])
			values[n++] = filter->values[i];
	}
	text = keys_literal(filter, values, n);
	AtEOXact_GUC(true, nestlevel);
	pfree(values);
	return text;
}
