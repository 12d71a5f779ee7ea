/*-------------------------------------------------------------------------
 *
 * pull_links.h
 *		Which servers of a join pull rows from each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_PULL_LINKS_H
#define PX_EXEC_PULL_LINKS_H

#include "exec/redistribute_state.h"

/* How a target calls for its rows. */
#define PX_PULL		"SELECT exchange.pull($1::pg_catalog.text)"

/*
 * The targets' streams are held, and the sources have their requests.  Find
 * out which targets can get their rows from all sources, and have the sources
 * offer them: calls[i] is the argument of PX_PULL for target i, palloc'd, or
 * NULL if the frames of target i are to be passed on.  If any target pulls,
 * all sources are held, otherwise none.  *not_pulled says why some target does
 * not, palloc'd; NULL if all do, or nothing was tried.
 *
 * A target pulls from all sources or from none.  While it does, its session
 * can take nothing from here: so it must not wait for a source that waits for
 * what it would have to take.
 *
 * NULL, or why there can be no redistribution at all: a session is lost.
 * Blocks for some round trips, and while the targets connect, which they do
 * until their set-up deadline.  Serves interrupts.
 */
extern const char *px_pull_links_agree(px_redistribute_source *sources,
									   int nsources,
									   px_redistribute_target *targets,
									   int ntargets, char **calls,
									   const char **not_pulled);

/*
 * A target has pulled: count what its answer says of each source.  False if
 * that makes no sense.
 */
extern bool px_pull_links_count(const char *answer,
								px_redistribute_source *sources, int nsources,
								px_redistribute_target *target);

#endif							/* PX_EXEC_PULL_LINKS_H */
