/*-------------------------------------------------------------------------
 *
 * inbox_join.h
 *		Hash joins whose table has the rows of an inbox.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_INBOX_JOIN_H
#define PX_NODE_INBOX_JOIN_H

#include "nodes/execnodes.h"

/*
 * Have the inboxes below a node, which was just initialized, look whether the
 * integers that they are hashed by are all different.  If so, their hash joins
 * look for one row only, from the time when the hash table is complete.
 */
extern void px_inbox_join_watch(PlanState *node);

#endif							/* PX_NODE_INBOX_JOIN_H */
