/*-------------------------------------------------------------------------
 *
 * ask_session.h
 *		What an ExchangeReceive asks postgres_fdw's session.
 *
 * May a stream read the query, or would another session than postgres_fdw's
 * return something else?  The question itself is transport/question.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_ASK_SESSION_H
#define PX_EXEC_ASK_SESSION_H

#include "exec/receive_state.h"
#include "transport/question.h"

/* Why there is no stream, if the server says that the query is cheap. */
#define PX_LITTLE_WORK	"little work for the server"

/* A (re)scan begins: nothing was asked about the query for it. */
extern void px_ask_forget(px_receive_state *state);

/*
 * A stream is about to begin: is it still known that the query allows one?
 * That is so in the command in which the session was asked, and wherever the
 * leader of a parallel plan has asked it.
 */
extern bool px_ask_is_known(px_receive_state *state);

/*
 * Ask whether the peer can be used at all, and about types if that is due; and
 * wait for the answer: PX_OUTCOME_OK, then peer->admission is valid, or
 * PX_OUTCOME_REFUSED.
 * Blocks for two round trips, serving interrupts.
 */
extern px_outcome px_ask_peer(px_receive_state *state);

/*
 * A question was sent to a server.  If the answer takes long, have the streams
 * from there come to their ends: it may wait for their locks.
 */
extern void px_ask_let_answer(px_fdw_cursor *question, Oid serverid);

/*
 * Ask about the query, and wait for the answer: PX_OUTCOME_OK if a stream may
 * read it, and the peer has a snapshot for that; else PX_OUTCOME_REFUSED.
 * Blocks for two round trips, serving interrupts.
 */
extern px_outcome px_ask_query(px_receive_state *state);

/*
 * Must the answer be known before a stream begins, because the server may say
 * that it is not worth it?
 */
extern bool px_ask_whether_cheap(const px_receive_state *state);

/* Has it said so, now or of such a query before? */
extern bool px_ask_is_cheap(const px_receive_state *state);

/*
 * Ask about the query while its stream begins.  The peer must have a snapshot
 * already.  Blocks for one round trip, serving interrupts.
 */
extern void px_ask_query_ahead(px_receive_state *state);

/*
 * Wait for the answer to that: PX_OUTCOME_OK if the stream may go on; else it
 * may have been closed.  PX_OUTCOME_OK also if nothing was asked ahead.
 */
extern px_outcome px_ask_collect(px_receive_state *state);

/*
 * The same for a question about several scans.  It was sent, in a trial of
 * locks or with 0, and is also about the types of this one, or not; and it was
 * deferred, or answered: see px_question_answer.
 */
extern void px_ask_note_asked(px_receive_state *state, bool types,
							  uint32 trial);
extern void px_ask_defer(px_receive_state *state);

/* It was deferred, or its locks were released: it can be asked about again. */
extern void px_ask_renew(px_receive_state *state);
extern px_outcome px_ask_note_answer(px_receive_state *state,
									 px_outcome outcome,
									 const px_question_item *item);

/*
 * The session is about to read the query: may the locks that this takes
 * conflict with those of a stream from there, which waits for us?  Asks about
 * the query, if that was not done.
 */
extern bool px_ask_conflicts(px_receive_state *state);

/* The session was asked for something: it is not idle. */
extern void px_ask_note_contact(px_receive_state *state);

/* The scan reads frames now.  Note how long the session may be idle. */
extern void px_ask_note_idle_timeout(px_receive_state *state);

/*
 * May px_ask_keep_awake have something to do, for any scan?  Whoever has a
 * thousand of them need not look at each.
 */
extern bool px_ask_has_idle_timeouts(void);

/*
 * A row is wanted: send the session a trivial query if nothing was asked of it
 * for half of its idle time-out.  Returns how many ms the next row may be
 * waited for before this must be called again, or -1 for ever.  Blocks for a
 * round trip if it sends one.
 */
extern long px_ask_keep_awake(px_receive_state *state);

#endif							/* PX_EXEC_ASK_SESSION_H */
