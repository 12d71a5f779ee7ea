/*-------------------------------------------------------------------------
 *
 * jit.h
 *		Whether a query over exchanges is worth compiling.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_JIT_H
#define PX_PLAN_JIT_H

#include "nodes/plannodes.h"

/*
 * Take back what core has chosen to compile, unless the work that is left to
 * this server is worth it.  Must be called while the exchanges stand where
 * core has put them.
 */
extern void px_jit_choose(PlannedStmt *stmt);

#endif							/* PX_PLAN_JIT_H */
