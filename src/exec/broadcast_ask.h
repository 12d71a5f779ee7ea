/*-------------------------------------------------------------------------
 *
 * broadcast_ask.h
 *		Can the servers of fragments take the rows of the sides?
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_BROADCAST_ASK_H
#define PX_EXEC_BROADCAST_ASK_H

#include "exec/receive_state.h"

/* What all servers of the fragments can read. */
typedef struct px_broadcast_peers
{
	uint16		version;		/* of the protocol */
	uint32		codecs;			/* bit sets */
	uint32		encodings;
	double		upload_ns;		/* that a byte takes to the slowest server, as
								 * far as that is known; else 0 */
} px_broadcast_peers;

/*
 * Ask the servers of n fragments, all at once, on postgres_fdw's connections.
 * Returns NULL, and *peers is set; or why one of them cannot take frames.  If
 * redistribute is true, they must also be able to cut rows, and have inboxes.
 * Blocks, serving interrupts.
 */
extern const char *px_broadcast_ask(px_receive_state **fragments, int n,
									bool redistribute,
									px_broadcast_peers *peers);

/* How frames for the server of a fragment that was asked are compressed. */
extern px_mode px_broadcast_mode(const px_receive_state *fragment);

#endif							/* PX_EXEC_BROADCAST_ASK_H */
