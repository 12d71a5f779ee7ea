/*-------------------------------------------------------------------------
 *
 * hash_partition.h
 *		The part of an ExchangeHashPartition that an ExchangeBroadcast lacks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_HASH_PARTITION_H
#define PX_NODE_HASH_PARTITION_H

#include "exec/broadcast_ask.h"
#include "node/broadcast_state.h"

/* The fragments are known: set up sources and targets; once. */
extern void px_hash_partition_begin(px_broadcast_state *state);

/* px_broadcast_ask for the servers of fragments and of sources. */
extern const char *px_hash_partition_ask(px_broadcast_state *state,
										 px_broadcast_peers *peers);

/*
 * The fragments have their parameters: fill the inboxes of their sessions, and
 * let them be ready to run.  NULL, or why that cannot be.  Blocks, serving
 * interrupts.
 */
extern const char *px_hash_partition_move(px_broadcast_state *state);

#endif							/* PX_NODE_HASH_PARTITION_H */
