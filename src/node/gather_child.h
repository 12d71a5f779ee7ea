/*-------------------------------------------------------------------------
 *
 * gather_child.h
 *		A child of an ExchangeGather, and the ExchangeReceive that its rows are
 *		of.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_GATHER_CHILD_H
#define PX_NODE_GATHER_CHILD_H

#include "node/gather_state.h"

/*
 * If each row of the node comes right from an ExchangeReceive, projected and
 * filtered maybe, that; else NULL.
 */
extern px_receive_state *px_gather_find_receive(PlanState *node);

/*
 * A rescan has left it to each node to rescan those below it when it is run.
 * Streams are begun before that: so do it now, down to the child's receive.
 * False if there is nothing to do.  The nodes of a subtree still learn of it
 * when they are run.
 */
extern bool px_gather_rescan_child(const px_gather_child *child);

#endif							/* PX_NODE_GATHER_CHILD_H */
