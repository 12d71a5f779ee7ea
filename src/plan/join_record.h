/*-------------------------------------------------------------------------
 *
 * join_record.h
 *		How the planner may join the relations of a query.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_JOIN_RECORD_H
#define PX_PLAN_JOIN_RECORD_H

#include "nodes/pathnodes.h"

/*
 * Each row of outer is joined with rows of inner, and is kept or not as the
 * type says: JOIN_INNER, JOIN_LEFT, JOIN_SEMI or JOIN_ANTI.
 */
typedef struct px_join_step
{
	RelOptInfo *outer;
	RelOptInfo *inner;
	RelOptInfo *joinrel;		/* the result */
	JoinType	jointype;
	List	   *clauses;		/* RestrictInfos: of ON, and those of WHERE
								 * that can be evaluated here first */
} px_join_step;

/* What is known of a query level.  It lives as long as its PlannerInfo. */
typedef struct px_join_record
{
	PlannerInfo *root;
	List	   *steps;			/* of px_join_step */
	bool		recording;		/* are steps added? */
	List	   *found;			/* belongs to plan/broadcast.c */
	MemoryContextCallback callback;
	struct px_join_record *next;
} px_join_record;

/* The record of a query level; NULL if there is none. */
extern px_join_record *px_join_record_find(const PlannerInfo *root);

/*
 * The same; it is made if there is none.  Whoever sets recording gets a step
 * for each pair of relations that the planner considers from then on, and only
 * for legal ones.
 */
extern px_join_record *px_join_record_get(PlannerInfo *root);

/* Install the planner's hook for joins; called by _PG_init. */
extern void px_join_record_init(void);

#endif							/* PX_PLAN_JOIN_RECORD_H */
