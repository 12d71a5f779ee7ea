/*-------------------------------------------------------------------------
 *
 * write_rules.h
 *		Which writes may travel as frames.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_RULES_H
#define PX_EXEC_WRITE_RULES_H

#include "nodes/execnodes.h"

/* A reason of the writer's own: see pg_exchange.min_write_rows. */
#define PX_WRITE_FEW_ROWS "too few rows"

/*
 * What the planner adds to the FDW's private list of a target if no function
 * of the query can look at what is written (plan/write_mark.c).  postgres_fdw
 * looks at the items before it only.
 */
#define PX_WRITE_MARK "pg_exchange: functions do not look"

/*
 * What of a statement reads the target's server when rows were already
 * written?  Values can be combined.
 */
#define PX_READS_OURS	1		/* an ExchangeReceive */
#define PX_READS_TARGET	2		/* postgres_fdw's scan that finds the rows of
								 * the target, which are to be changed */
#define PX_READS_FDW	4		/* another scan of postgres_fdw's */

/*
 * Why a target of a statement may not be written to by frames, as a phrase for
 * EXPLAIN; NULL if it may.  routed: rows come by tuple routing or COPY, so
 * BeginForeignInsert was called.  private is what BeginForeignModify was
 * given, else NIL.  batch_size: see px_write_plan.  *reads: PX_READS_*, valid
 * if NULL is returned.  Nothing is sent.
 */
extern const char *px_write_reason(ModifyTableState *mtstate,
								   ResultRelInfo *target, bool routed,
								   List *private, int batch_size, int *reads);

/*
 * The same for what is known when the first row of a COPY comes.  Returns NULL
 * in other statements.
 */
extern const char *px_write_copy_reason(ResultRelInfo *target,
										int batch_size);

/*
 * Have statements whose source has at most min_write_rows rows, which is seen
 * from the plan, nothing to do with frames.
 */
extern bool px_write_is_small(const ModifyTableState *mtstate);

/* Calls this expression functions that may run queries? */
extern bool px_write_calls_user_code(Node *node);

#endif							/* PX_EXEC_WRITE_RULES_H */
