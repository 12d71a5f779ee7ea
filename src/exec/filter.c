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
	char	  **texts[] = {&filter->keys_text, &filter->lowest_text,
	&filter->highest_text, &filter->bloom_text};

	for (int i = 0; i < (int) lengthof(texts); i++)
	{
		if (*texts[i])
			pfree(*texts[i]);
		*texts[i] = NULL;
	}
	filter->nbytes = 0;
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

/* Text as a literal, in the current memory context. */
static char *
make_literal(px_filter *filter, char *text)
{
	char	   *literal = quote_literal_cstr(text);

	filter->nbytes += strlen(literal);
	pfree(text);
	return literal;
}

/* A value as a literal that the remote reads as it is here. */
static char *
value_literal(px_filter *filter, Oid type, Datum value)
{
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(type, &output, &is_varlena);
	return make_literal(filter, OidOutputFunctionCall(output, value));
}

static void
write_keys(px_filter *filter)
{
	filter->use = PX_FILTER_KEYS;
	filter->keys_text = value_literal(filter, get_array_type(filter->type),
									  px_key_set_array(filter->keys));
}

static void
write_summary(px_filter *filter)
{
	Datum		lowest;
	Datum		highest;
	bytea	   *bloom;

	if (px_key_set_bounds(filter->keys, &lowest, &highest))
	{
		filter->use = PX_FILTER_SUMMARY;
		filter->lowest_text = value_literal(filter, filter->type, lowest);
		filter->highest_text = value_literal(filter, filter->type, highest);
	}
	bloom = px_key_set_bloom(filter->keys);
	if (bloom)
	{
		Datum		encoded =
			DirectFunctionCall2(binary_encode, PointerGetDatum(bloom),
								CStringGetTextDatum("base64"));

		filter->use = PX_FILTER_SUMMARY;
		filter->bloom_text = make_literal(filter,
										  TextDatumGetCString(encoded));
		pfree(DatumGetPointer(encoded));
		pfree(bloom);
	}
}

void
px_filter_complete(px_filter *filter, double keys_max)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(GetMemoryChunkContext(filter));
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
