/*-------------------------------------------------------------------------
 *
 * siblings_ask.h
 *		What the servers of one gather are asked, before its scans begin.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_SIBLINGS_ASK_H
#define PX_EXEC_SIBLINGS_ASK_H

#include "exec/siblings.h"

/*
 * Ask postgres_fdw's sessions about the queries of the scans that have not
 * begun, and connect where streams may begin: all servers at the same time,
 * and about all scans of a server at once.  Locks of the first scan are waited
 * for if waits is true.  Blocks, serving interrupts.
 */
extern void px_siblings_ask(px_siblings *siblings, bool waits);

/*
 * The first child whose locks are going to be waited for when its rows are
 * wanted: those after it are not to begin; the number of children if there is
 * none.
 */
extern int	px_siblings_first_to_wait(const px_siblings *siblings);

/*
 * It is the turn of a scan that could not have its locks at once.  Ask about it
 * anew, and wait for them; and about those after it, which were not asked about
 * for that reason.  False if there is none.  Blocks, serving interrupts.
 */
extern bool px_siblings_ask_deferred(px_siblings *siblings);

/*
 * The gather ends, or is to begin anew.  Blocks for a round trip to each
 * server that was asked.
 */
extern void px_siblings_end(px_siblings *siblings);

#endif							/* PX_EXEC_SIBLINGS_ASK_H */
