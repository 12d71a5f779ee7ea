/*-------------------------------------------------------------------------
 *
 * write_explain.h
 *		What EXPLAIN says of foreign tables that are written to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_EXPLAIN_H
#define PX_EXEC_WRITE_EXPLAIN_H

#include "commands/explain.h"

#include "exec/writer.h"

/* A foreign table that is written to, for EXPLAIN. */
typedef struct px_write_explained
{
	Oid			relid;
	const char *reason;			/* why postgres_fdw writes; NULL if frames are
								 * not ruled out */
	const px_write_stats *stats;	/* NULL if there was no row, or reason */
} px_write_explained;

/* Explain one, or all partitions to which rows were routed, as a sum. */
extern void px_write_explain(const px_write_explained *targets, int ntargets,
							 ExplainState *es);

#endif							/* PX_EXEC_WRITE_EXPLAIN_H */
