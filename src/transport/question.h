/*-------------------------------------------------------------------------
 *
 * question.h
 *		What postgres_fdw's session says before an exchange reads.
 *
 * One statement asks all: is pg_exchange there, and is it the extension's own;
 * what does it speak; which snapshot has the session; and would a query answer
 * the same in another session?  For that, the remote parses and plans the
 * query, and keeps the locks which that takes until its transaction ends, as it
 * would for postgres_fdw's own cursor.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_QUESTION_H
#define PX_TRANSPORT_QUESTION_H

#include "conn/pool.h"
#include "transport/fdw_cursor.h"

/* How much room a question about query (or NULL) takes. */
extern Size px_question_nbytes(const char *query);

/*
 * Ask, by a cursor with so much room; query may be NULL if nothing is to be
 * judged.  A snapshot is asked for if the peer has none yet in this transaction
 * and wants_snapshot is true.  Waits until the remote has planned the question,
 * not for the answer.
 */
extern void px_question_ask(px_fdw_cursor *cursor, const px_peer *peer,
							const char *query, bool wants_snapshot);

/*
 * Wait for the answer, which stands in peer->admission until the transaction
 * ends.  Returns NULL, or why the peer cannot be used at all; that
 * is remembered for the session.  *timed_out is set if there is none within
 * timeout_ms: ask again then.  Errors are postgres_fdw's, and
 * ERRCODE_PROTOCOL_VIOLATION if the answer cannot be read.
 */
extern const char *px_question_answer(px_fdw_cursor *cursor, px_peer *peer,
									  const char *servername, long timeout_ms,
									  bool *timed_out);

#endif							/* PX_TRANSPORT_QUESTION_H */
