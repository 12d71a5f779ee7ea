/*-------------------------------------------------------------------------
 *
 * limit.h
 *		LIMIT in the remote queries below a Limit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_LIMIT_H
#define PX_PLAN_LIMIT_H

#include "nodes/plannodes.h"

/*
 * Add LIMIT, and ORDER BY where rows are sorted here, to the remote queries of
 * all ExchangeReceives of a finished plan of which no more rows can be wanted.
 * Some may become one (limit_group.h).  Call it before px_early_end_mark and
 * place_gathers in place.c.  Changes the ForeignScans below them.
 */
extern void px_limit_push_all(const PlannedStmt *stmt);

#endif							/* PX_PLAN_LIMIT_H */
