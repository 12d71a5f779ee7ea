/*-------------------------------------------------------------------------
 *
 * receive.h
 *		ExchangeReceive: the scan node that reads a stream of frames.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_RECEIVE_H
#define PX_NODE_RECEIVE_H

#include "nodes/extensible.h"
#include "nodes/value.h"

#include "exec/receive_state.h"

/*
 * What stands in CustomScan.custom_private: Integers, and at the end
 * lists, in this order.
 */
typedef enum px_receive_private
{
	PX_RECEIVE_PRIVATE_STREAMS, /* of the query, which share
								 * receive_buffer */
	PX_RECEIVE_PRIVATE_SORTED,	/* number of keys by which rows are sorted;
								 * the planner may rely on it */
	PX_RECEIVE_PRIVATE_ASYNC,	/* 1 if postgres_fdw would run
								 * asynchronously */
	PX_RECEIVE_PRIVATE_SMALL,	/* a px_smallness */
	PX_RECEIVE_PRIVATE_LOCKS,	/* 1 if the remote query locks rows, 2 if that
								 * is for an UPDATE or DELETE */
	PX_RECEIVE_PRIVATE_USER_CODE,	/* 1 if the query calls functions that
									 * might run others */
	PX_RECEIVE_PRIVATE_FEW_ROWS,	/* 1 if a LIMIT is going to end the scan
									 * early */
	PX_RECEIVE_PRIVATE_KEYS,	/* 1 if its parameters are the keys of an
								 * ExchangeLookup or the sides of an
								 * ExchangeBroadcast, and else constant */
	PX_RECEIVE_PRIVATE_CONSTANT,	/* 1 if init plans set its parameters once
									 * for the query, or if it has none */
	PX_RECEIVE_PRIVATE_MISSED,	/* a px_missed */
	PX_RECEIVE_PRIVATE_LIMITED, /* 1 if a LIMIT was added to the remote query,
								 * whose rows are merged with others */
	PX_RECEIVE_PRIVATE_SEMI_JOIN,	/* 1 if the remote query is one of
									 * plan/semi_join.c */
	PX_RECEIVE_PRIVATE_INPUT,	/* how many rows the remote is expected to read
								 * by its conditions */
	PX_RECEIVE_PRIVATE_PARTIAL, /* not an Integer: NIL, or what
								 * px_partial_new takes */
	PX_RECEIVE_PRIVATE_FILTERS, /* the runtime filters, a list of what
								 * px_scan_filter_begin takes */
	PX_RECEIVE_PRIVATE_LOOKUP,	/* keys of an ExchangeLookup: what
								 * px_scan_keys_begin takes */
	PX_RECEIVE_PRIVATE_TYPES,	/* what px_ask_types_begin takes.  If the plan
								 * below the child is one, it returns the
								 * child's rows */
	PX_RECEIVE_PRIVATE_PLAIN,	/* of a source whose query spreads frequent
								 * keys: a String, the query that does not, for
								 * older servers; else NIL */
	PX_RECEIVE_PRIVATE_ITEMS	/* their number */
} px_receive_private;

/* An Integer that stands there. */
static inline int
px_receive_get(const CustomScan *scan, px_receive_private item)
{
	return intVal(list_nth(scan->custom_private, item));
}

/*
 * Set one, also of a path's list, which is the same.  Lists share their
 * Integers: so it is replaced, and not changed.
 */
static inline void
px_receive_set(List *private, px_receive_private item, int value)
{
	if (intVal(list_nth(private, item)) != value)
		lfirst(list_nth_cell(private, item)) = makeInteger(value);
}

/*
 * For a CustomScan whose single custom plan is the ForeignScan that it
 * replaces.  That child must yield scan tuples of this node, unfiltered; or,
 * if the node makes partial aggregates, the plain rows that these are made of.
 */
extern const CustomScanMethods px_receive_scan_methods;

/*
 * Read on until the next ExecProcNode has a row, or the end, or the child to
 * run.  If wait is false, do not wait for that, and return false if it would
 * take waiting, or if no stream was begun.
 */
extern bool px_receive_advance(px_receive_state *state, bool wait);

/*
 * If the session reads, and no row of it is left here, have it ask for more
 * without waiting: others may be run meanwhile.  Only where postgres_fdw would
 * execute the scan asynchronously.
 */
extern void px_receive_ask_session(px_receive_state *state);

/* The ExchangeReceive that node is, or NULL. */
extern px_receive_state *px_receive_from_node(PlanState *node);

/*
 * Rows are there: see px_receive_advance.  Read the rest of them into a spool,
 * so that the stream's connection is free.  Blocks until they have come,
 * serving interrupts.  Does nothing if the session reads.
 */
extern void px_receive_spool(px_receive_state *state);

/*
 * The node cannot advance: collect the streams that it waits for, at most
 * nslices_max of them, and return how many they are.  0 if no stream of it was
 * begun, or if it need not wait.
 */
extern int	px_receive_waiting(px_receive_state *state, px_stream **streams);

/* Register the node; called by _PG_init. */
extern void px_receive_init(void);

#endif							/* PX_NODE_RECEIVE_H */
