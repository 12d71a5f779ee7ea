/*-------------------------------------------------------------------------
 *
 * ask_together.h
 *		One question about several scans of a server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_ASK_TOGETHER_H
#define PX_EXEC_ASK_TOGETHER_H

#include "exec/receive_state.h"

typedef struct px_ask_together px_ask_together;

/*
 * Ask postgres_fdw's session about the first of n scans of the same server,
 * for the same user, all of which have yet to begin: as many as fit into a
 * question, at least one.  Locks of the first scan are waited for if waits is
 * true; those of others are tried (wire/admission.h), and a scan that cannot
 * have them is deferred (px_receive_asked).  The result lives in the current memory
 * context, which must be that of the query, and refers to scans.  Blocks for
 * one round trip, serving interrupts; does not wait for the answer.
 */
extern px_ask_together *px_ask_together_send(px_receive_state *const *scans,
											 int n, bool waits, uint32 trial);

/*
 * Wait for the answer, and note it in the scans: streams may begin, or
 * session_next is set.  Serves interrupts.
 */
extern void px_ask_together_collect(px_ask_together *asked);

/*
 * Release the locks that were tried at the server in that trial, this question
 * and others before it: to be called for the last of them.  The first blocks
 * for one round trip, the second waits for the answer.
 */
extern void px_ask_together_send_release(px_ask_together *asked);
extern void px_ask_together_collect_release(px_ask_together *asked);

/* Close the cursor: a round trip.  Before the query ends, or is rescanned. */
extern void px_ask_together_end(px_ask_together *asked);

#endif							/* PX_EXEC_ASK_TOGETHER_H */
