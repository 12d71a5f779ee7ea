/*-------------------------------------------------------------------------
 *
 * write_explain.h
 *		What EXPLAIN says of a foreign table that is written to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_EXPLAIN_H
#define PX_EXEC_WRITE_EXPLAIN_H

#include "commands/explain.h"
#include "utils/relcache.h"

#include "exec/writer.h"

/*
 * Explain a target: reason says why postgres_fdw writes, NULL if frames are
 * not ruled out.  stats is NULL if there was no row.
 */
extern void px_write_explain(Relation relation, const px_write_stats *stats,
							 const char *reason, ExplainState *es);

#endif							/* PX_EXEC_WRITE_EXPLAIN_H */
