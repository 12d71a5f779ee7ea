/*-------------------------------------------------------------------------
 *
 * broadcast_state.h
 *		State of an ExchangeBroadcast, for the files that execute it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_BROADCAST_STATE_H
#define PX_NODE_BROADCAST_STATE_H

#include "nodes/execnodes.h"
#include "utils/tuplestore.h"

#include "exec/broadcast_side.h"
#include "exec/receive_state.h"
#include "exec/redistribute.h"
#include "exec/send_progress.h"

typedef enum px_broadcast_phase
{
	PX_BROADCAST_NEW,			/* nothing was done yet for this (re)scan */
	PX_BROADCAST_FRAGMENTS,		/* the fragments run */
	PX_BROADCAST_EMPTY,			/* a side has no rows: nothing runs */
	PX_BROADCAST_LOCAL			/* the local plan runs, for good */
} px_broadcast_phase;

/* What takes time, in this order. */
typedef enum px_broadcast_stage
{
	PX_BROADCAST_STAGE_ASK,		/* can the servers take frames? */
	PX_BROADCAST_STAGE_SIDES,	/* the sides are read, and become frames */
	PX_BROADCAST_STAGE_MOVE,	/* sources are read, and inboxes filled */
	PX_BROADCAST_STAGE_FRAGMENTS	/* until the first row of a fragment */
} px_broadcast_stage;

#define PX_BROADCAST_STAGE_COUNT	(PX_BROADCAST_STAGE_FRAGMENTS + 1)

typedef struct px_broadcast_state
{
	CustomScanState css;		/* must be first */

	/* Fixed at begin. */
	PlanState  *fragments;
	PlanState  *local;
	int			nsides;
	PlanState **side_plans;
	int			nsources;		/* 0: nothing is cut */
	PlanState **source_plans;
	List	   *inboxes;		/* of each: see px_broadcast_private */
	int			nreceives;		/* of the fragments */
	px_receive_state **receives;	/* NULL before the first row */
	List	   *keys;			/* char *: by what the sides are joined */
	const List *decisive;		/* see px_broadcast_private */
	bool		all_rows;		/* likewise */
	bool		joined;			/* likewise */
	int			nfrequent;		/* likewise */

	/* Of the current scan. */
	px_broadcast_phase phase;
	bool		sides_read;		/* some of them: to be rescanned */
	TupleTableSlot **first_rows;	/* [nsides]: of sides that are begun and
									 * not read; else NULL */
	px_mode    *modes;			/* [nreceives]: of the pieces; settings, and
								 * what is known of a server, may change while
								 * sides are read */
	px_broadcast_side **sides;	/* NULL but in PX_BROADCAST_FRAGMENTS */
	px_send_progress *progress; /* NULL before the first row */
	bool		awaits_row;		/* none has come of the fragments yet */
	px_receive_attempt attempt; /* open until a row of these is returned */
	Tuplestorestate *held;		/* their first rows */
	TupleTableSlot *held_slot;
	bool		ended;			/* no more rows of them come */
	instr_time	stage_begun;
	instr_time	fragments_begun;

	/*
	 * Of the current scan, if there are sources: what has come of these, and
	 * what was sent to each of receives.
	 */
	px_redistribute_source *sources;
	px_redistribute_target *targets;

	/* For EXPLAIN. */
	const char *local_reason;	/* why the local plan runs, or NULL */
	bool		spreads;		/* sources spread the frequent keys */
	uint64	   *sent_nbytes;	/* [nreceives], over all scans */
	uint64	   *sent_rows;		/* likewise */
	uint64	   *source_rows;	/* [nsources], likewise */
	uint64	   *source_nbytes;
	int			links;			/* from sources to receives; over all scans */
	int			links_pulled;	/* of these; likewise */
	uint64		pulled_nbytes;	/* likewise */
	instr_time	stage_times[PX_BROADCAST_STAGE_COUNT];	/* likewise */
	instr_time *fragment_times; /* [nreceives], of the scans that were read to
								 * their end */
} px_broadcast_state;

#endif							/* PX_NODE_BROADCAST_STATE_H */
