/*-------------------------------------------------------------------------
 *
 * siblings.h
 *		The scans of one gather, by server: which of them begin, and when.
 *
 * Streams from several servers run at once.  So do several from one server, if
 * there is enough to read for each.  Otherwise the scans of a server take
 * turns: one goes on with the connection and the transaction of another that
 * has ended.
 *
 * Backends of this host take its processors from the one that reads.  Where
 * many are to be read there, most are held back until it has need of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_SIBLINGS_H
#define PX_EXEC_SIBLINGS_H

#include "nodes/bitmapset.h"

#include "exec/receive_state.h"

typedef struct px_siblings px_siblings;

/*
 * For a gather of n children: those that are no ExchangeReceives are NULL.
 * In a merge they take no turns, as it wants rows of all: they are only asked
 * about together.  Lives in the current memory context.
 */
extern px_siblings *px_siblings_new(int n, px_receive_state *const *scans,
									bool merge);

/*
 * The gather begins, perhaps anew, and reads the children in valid; in any
 * order, or each after those before it that may have effects.
 */
extern void px_siblings_reset(px_siblings *siblings, const Bitmapset *valid,
							  bool any_order);

/*
 * Begin the stream of child i, unless that was done.  False if there can be
 * none (then session_next is set), or if it is to wait for a connection, or for
 * others to have begun.  Blocks as px_start_begin does.
 */
extern bool px_siblings_begin(px_siblings *siblings, int i);

/*
 * May a scan begin that was held back until others have begun?  If so, the
 * caller begins what can be begun.
 */
extern bool px_siblings_may_begin_held(px_siblings *siblings);

/*
 * How long the caller may wait for streams before more should begin, in
 * milliseconds; -1 if none is held back.
 */
extern long px_siblings_patience_ms(const px_siblings *siblings);

/*
 * Nothing has come for so long: more may begin at a time.  If any was held
 * back, the caller begins what can be begun.
 */
extern bool px_siblings_hurry(px_siblings *siblings);

/*
 * The child that postgres_fdw's session reads, or read last, of those on the
 * server of child i; -1 if it has read none.  The caller says so for each that
 * is read.
 */
extern int	px_siblings_in_session(const px_siblings *siblings, int i);
extern void px_siblings_note_session(px_siblings *siblings, int i);

/* Has the stream of child i ended, and kept its connection? */
extern bool px_siblings_has_spare(const px_siblings *siblings, int i);

/*
 * If so, let the next sibling that has a number below limit, and has not
 * begun, go on with that connection, or else give it back.  False if no
 * sibling goes on.  Blocks as px_start_begin does.
 */
extern bool px_siblings_pass_on(px_siblings *siblings, int i, int limit);

#endif							/* PX_EXEC_SIBLINGS_H */
