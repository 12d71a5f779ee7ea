/*-------------------------------------------------------------------------
 *
 * question.h
 *		What postgres_fdw's session says before an exchange reads.
 *
 * One statement asks all: is pg_exchange there, and is it the extension's own;
 * what does it speak; which snapshot has the session; and would a query answer
 * the same in another session?  For that, the remote parses and plans the
 * query, and keeps the locks which that takes until its transaction ends, as
 * it would for postgres_fdw's own cursor.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_QUESTION_H
#define PX_TRANSPORT_QUESTION_H

#include "conn/outcome.h"
#include "conn/peer.h"
#include "transport/fdw_cursor.h"

/*
 * How much room a question about query (or NULL) takes, with another one (or
 * NULL) about types.
 */
extern Size px_question_nbytes(const char *query, const char *types);

/* What is asked about one scan, and answered. */
typedef struct px_question_item
{
	const char *query;			/* NULL if nothing is to be judged */
	const char *types;			/* what px_ask_types_sql returns, without
								 * parameters; NULL if types are not asked
								 * about */
	px_lock_wish locks;			/* with PX_LOCKS_TRY it may be deferred */
	uint32		trial;			/* the number of that trial; 0 without */

	/* The answer, once there is one. */
	char		against[sizeof(((px_admission *) NULL)->against)];
	uint32		cost;			/* as in px_admission */
	bool		same_types;
	bool		deferred;		/* to be asked about when it is begun */
} px_question_item;

/*
 * Ask about n items in one statement, by a cursor with so much room for each.
 * A snapshot is asked for if the peer has none yet in this transaction and
 * wants_snapshot is true.  Waits until the remote has planned the question,
 * not for the answer.
 */
extern void px_question_ask(px_fdw_cursor *cursor, const px_peer *peer,
							const px_question_item *items, int n,
							bool wants_snapshot);

/*
 * Ask only whether all that an earlier transaction was told still holds, but
 * for the snapshot; for the idle time-out; and about types, unless that is
 * NULL, as in px_question_item.  Waits for the answer.  False if it does not,
 * or if no transaction was told anything: then ask in full.
 */
extern bool px_question_is_answered(px_fdw_cursor *cursor, px_peer *peer,
									const char *types, bool *same_types);

/*
 * Wait for the answer for at most timeout_ms, or for ever with -1.
 *
 * PX_OUTCOME_OK: it stands in the n items, and what is not about one of them
 * in peer->admission until the transaction ends.
 * PX_OUTCOME_REFUSED: the peer cannot be used at all, which is remembered for
 * the session; or its functions have changed since they were last looked at,
 * and the next question looks at them again.
 * PX_OUTCOME_SILENT: there is no answer yet, most likely because of a lock,
 * and it can be waited for again.
 * Errors are postgres_fdw's, and ERRCODE_PROTOCOL_VIOLATION if the answer
 * cannot be read.
 */
extern px_outcome px_question_answer(px_fdw_cursor *cursor, px_peer *peer,
									 const char *servername, long timeout_ms,
									 px_question_item *items, int n);

/*
 * Free the cursor of questions.  The first one of a transaction is not closed,
 * which would be a round trip: it has only its one row.
 */
extern void px_question_end(px_fdw_cursor *cursor, px_peer *peer);

#endif							/* PX_TRANSPORT_QUESTION_H */
