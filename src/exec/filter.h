/*-------------------------------------------------------------------------
 *
 * filter.h
 *		Runtime filters: the keys of a hash join's inner side, for the scans
 *		of its outer side.
 *
 * An ExchangeKeys collects the keys, and ExchangeReceives ask their remotes
 * for rows with these keys only.  They find the filter by the number of a
 * PARAM_EXEC that nothing else uses.
 *
 * A filter leaves out only rows that the join would drop.  So a scan that
 * begins before the keys are complete reads all rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_FILTER_H
#define PX_EXEC_FILTER_H

#include "nodes/execnodes.h"

#include "exec/key_places.h"
#include "exec/key_set.h"

/*
 * The longest text of a filter.  It is sent to each server that has one of the
 * scans.
 */
#define PX_FILTER_NBYTES_MAX	(2 * 1024 * 1024)

/* What a scan does with a filter. */
typedef enum px_filter_use
{
	PX_FILTER_UNKNOWN,			/* the keys are not complete */
	PX_FILTER_KEYS,				/* each of them is sent */
	PX_FILTER_SUMMARY,			/* bounds, a Bloom filter, or both are sent */
	PX_FILTER_NONE				/* nothing is sent */
} px_filter_use;

typedef struct px_filter
{
	bool		complete;		/* all keys were added, and none will be until
								 * generation changes */
	uint64		generation;		/* another one each time it is begun */
	MemoryContext context;		/* of all that follows */
	Oid			type;			/* of the keys */
	px_key_set *keys;			/* NULL before it is begun */

	/* What a remote query has of it; valid if complete. */
	px_filter_use use;
	Datum	   *values;			/* the keys, if each of them is sent */
	int			nvalues;
	char	   *keys_text;		/* literal of an array; NULL for a summary */
	bool		has_bounds;		/* a summary has lowest and highest */
	Datum		lowest;
	Datum		highest;
	char	   *lowest_text;	/* literals of the bounds; NULL if the type has
								 * none */
	char	   *highest_text;
	char	   *bloom_text;		/* literal of the Bloom filter, in base64; NULL
								 * if there is none */
	size_t		nbytes;			/* of all these */

	/* Where the keys lie among partitions that were asked about. */
	List	   *places;			/* of px_key_places */
} px_filter;

/* The filter of a PARAM_EXEC; made if need be, in the query's memory. */
extern px_filter *px_filter_get(EState *estate, int param);

/* Begin to collect keys of a type. */
extern void px_filter_begin(px_filter *filter, Oid type);

/* Add a key, which must not be null. */
static inline void
px_filter_add(px_filter *filter, Datum key)
{
	px_key_set_add(filter->keys, key);
}

/*
 * All keys were added.  The filter is not used if there are more than keys_max
 * of them.
 */
extern void px_filter_complete(px_filter *filter, double keys_max);

/*
 * Which keys can rows of a table have, if it is a partition on these levels?
 * See px_partition_levels, to which the operator was passed.  The filter must
 * be complete.
 *
 * Of PX_FILTER_KEYS, set chosen, in the current memory context, to an element
 * for each of values, or to NULL if all of them are chosen.  Returns false if
 * it is none, or, of a summary, if none is possible.
 */
extern bool px_filter_choose(px_filter *filter, const List *levels,
							 Oid operator, bool **chosen);

/*
 * The keys that were chosen, as a literal of an array like keys_text, in the
 * current memory context.
 */
extern char *px_filter_chosen_text(const px_filter *filter,
								   const bool *chosen);

#endif							/* PX_EXEC_FILTER_H */
