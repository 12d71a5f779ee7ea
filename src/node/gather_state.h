/*-------------------------------------------------------------------------
 *
 * gather_state.h
 *		The state of an ExchangeGather: gather.c, gather_start.c and
 *		gather_parallel.c write it, gather_explain.c shows it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_GATHER_STATE_H
#define PX_NODE_GATHER_STATE_H

#include "executor/execPartition.h"
#include "portability/instr_time.h"

#include "exec/merge.h"
#include "exec/siblings.h"
#include "node/gather_order.h"

typedef struct px_gather_child
{
	PlanState  *node;
	px_receive_state *receive;	/* if its rows come right from there, else
								 * NULL */
	bool		done;
	bool		passed_on;		/* another child has got its connection */
	bool		rescanned;		/* see px_gather_rescan_child */

	/* In a parallel plan. */
	List	   *streams;		/* px_receive_states: receive; or those of a
								 * subtree that can begin ahead */
	bool		given_back;		/* this participant got no connection for it */
} px_gather_child;

typedef struct px_gather_state
{
	CustomScanState css;		/* must be first */

	/* Fixed at begin. */
	const Plan *append;			/* Append or MergeAppend that it replaces */
	int			nchildren;
	px_gather_child *children;
	PartitionPruneState *prune_state;	/* NULL without run-time pruning */
	int			npruned;		/* removed before execution began */
	px_merge   *merge;			/* NULL in place of an Append */
	px_siblings *siblings;
	px_stream **waiting;		/* room for all streams of the children */
	bool		any_order;		/* the plan does not rely on the children's
								 * order */
	double		wanted_rows;	/* expected to be wanted; 0 if that is all */

	/* Of the current scan. */
	bool		started;
	int			nparticipants;	/* of a parallel plan; else 1 */
	Bitmapset  *unpruned;		/* children that were not pruned away */
	Bitmapset  *valid;			/* those of them that are being read */
	Bitmapset  *later;			/* those that are read when these are done */
	px_gather_child *awaited;	/* others begin when this one has a row, or
								 * none; NULL if they have begun */
	double		expected_rows;	/* of the children that are, or were, read */
	double		returned_rows;
	px_gather_order order;		/* PX_GATHER_FIRST_IN_ORDER becomes
								 * PX_GATHER_ANY when a child holds up
								 * others */
	long		patience_ms;	/* how long children may still be waited for,
								 * in PX_GATHER_FIRST_IN_ORDER */
	int			local_turns;	/* of children without a stream */
	int		   *reading;		/* children whose streams were begun, in order;
								 * valid if reading_known, but some may be done
								 * meanwhile */
	int			nreading;
	bool		reading_known;
	int			current;		/* the child whose turn it is; -1 before the
								 * first */
	int			local_rows;		/* it has returned since the sockets were
								 * looked at */
	instr_time	receive_wait;	/* when no child was ready; over all scans */
} px_gather_state;

#endif							/* PX_NODE_GATHER_STATE_H */
