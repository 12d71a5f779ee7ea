/*-------------------------------------------------------------------------
 *
 * fragment_memory.c
 *		Memory for the hash tables of fragments that read inboxes.
 *
 * A hash table that is too large is split into batches, and the rows of both
 * sides are written to files and read again.  A coordinator cuts the rows of
 * its servers into as many tables as there are fragments, and those of typical
 * queries are not much larger than work_mem allows.
 *
 * The session's own settings are not changed: the coordinator compares them
 * with those of postgres_fdw's session.  The executor looks at the limit when
 * it initializes an aggregate, and when it builds the table of a join.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "exec/fragment_memory.h"
#include "guc.h"
#include "transport/inbox.h"

/* No level of settings is 0: the first function that has some is at 1. */
#define NOT_RAISED		0

/* The greatest value of hash_mem_multiplier. */
#define MULTIPLIER_MAX	1000.0

int
px_fragment_memory_begin(void)
{
	double		multiplier = px_fragment_memory / (work_mem * 1024.0);
	char		value[DOUBLE_SHORTEST_DECIMAL_LEN];
	int			nestlevel;

	if (multiplier <= hash_mem_multiplier || px_inbox_nbytes() == 0)
		return NOT_RAISED;
	nestlevel = NewGUCNestLevel();
	double_to_shortest_decimal_buf(Min(multiplier, MULTIPLIER_MAX), value);
	(void) set_config_option("hash_mem_multiplier", value, PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

void
px_fragment_memory_end(int nestlevel)
{
	if (nestlevel != NOT_RAISED)
		AtEOXact_GUC(true, nestlevel);
}
