/*-------------------------------------------------------------------------
 *
 * redistribute.h
 *		Rows of some servers go to inboxes on others.
 *
 * The sources are ExchangeReceives whose remote queries name a target for each
 * row.  Their servers cut the rows into one stream for each target.  The
 * frames are checked and passed on as they come, and no rows are decoded.  Each
 * target is an ExchangeReceive, too: its query reads inboxes of its own session,
 * which are filled before it begins.
 *
 * Or a target pulls its frames from all sources (exec/pull_links.h).
 *
 * While a target cannot take its next frames, no source is read: so there is
 * no more in memory here than two calls to each target, and no file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_REDISTRIBUTE_H
#define PX_EXEC_REDISTRIBUTE_H

#include "exec/redistribute_state.h"

/*
 * Once their servers have been asked: do the sources spread frequent keys?  If
 * one of the servers cannot, none of them does so from now on.
 */
extern bool px_redistribute_choose_queries(px_redistribute_source *sources,
										   int nsources);

/*
 * Read all sources to their ends, and fill the inboxes of all targets.
 * Afterwards each target's stream waits for its query, which its next
 * ExecProcNode sends.  Or returns why that cannot be, palloc'd: then all
 * streams are closed, and nothing is left on the servers.  The parameters of
 * all queries must be set.  Blocks, serving interrupts.  Errors are those of
 * the sources' queries.
 */
extern const char *px_redistribute(px_redistribute_source *sources,
								   int nsources,
								   px_redistribute_target *targets,
								   int ntargets);

#endif							/* PX_EXEC_REDISTRIBUTE_H */
