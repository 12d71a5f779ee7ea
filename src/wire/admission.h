/*-------------------------------------------------------------------------
 *
 * admission.h
 *		The admission: what exchange.admit says about a query.
 *
 * A stream is read in a session of its own.  Before the coordinator opens
 * one, it asks postgres_fdw's session on the remote whether another session
 * would return the same rows.  The answer is one line of text.  It has the
 * words of the remote's hello (hello.h), and these, in any order:
 *
 *	cost=8				what the query costs, by the planner, rounded up
 *	types=same			the server has the types that were asked about
 *
 * Then come these words, in this order:
 *
 *	pid=4711			process id of the session that was asked
 *	session=0123456789abcdef	fingerprint of its settings and users
 *	snapshot=00000003-0000001B-1	exported snapshot; - if there is none
 *	idle=60000			its idle_in_transaction_session_timeout, in ms
 *	against=calls%20function%20now	why only it can run the query
 *
 * cost is missing if the query was not planned, and is not written by early
 * servers.  types is missing if it was not asked about, too.  session has 16 hex digits.  against is empty if another session
 * can run the query.  Later versions may add words before pid.  Unknown words
 * are skipped, as in a hello.
 *
 * The hello that is given to exchange.admit may have further words, too:
 *
 *	locks=wait:17		take the query's locks, even if it is known at once
 *						that only this session can run it
 *	locks=try:17		the same, without waiting
 *	locks=release:17	release those that were taken so in this trial
 *	types=1				the last query of the text asks about types: it has
 *						one row, which is null unless they are the same
 *
 * With the second, the query is only judged if its locks are to be had at once,
 * and if there is time for it; else against is PX_AGAINST_DEFERRED.  The number
 * is the asker's, for all that it tries at a time.  Locks of an earlier trial
 * are kept until the end of the transaction, and so are those of the first.
 *
 * In against, all bytes but letters, digits, "_", "." and "-" are written as %
 * and two upper-case hex digits.  So the word needs no escapes in XML, and is
 * not changed by a conversion between encodings.  Its bytes are in the
 * encoding of the client, that is, the coordinator.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_ADMISSION_H
#define PX_WIRE_ADMISSION_H

#include "wire/hello.h"

/* What it may be answered whose locks are not waited for. */
#define PX_AGAINST_DEFERRED		"it was not judged yet"

typedef enum px_lock_wish
{
	PX_LOCKS_AS_JUDGED,			/* nothing: wait for those that are needed to
								 * judge it */
	PX_LOCKS_WAIT,
	PX_LOCKS_TRY,
	PX_LOCKS_RELEASE
} px_lock_wish;

/* What an asker adds to its hello. */
typedef struct px_wish
{
	px_lock_wish locks;
	uint32_t	trial;			/* 0 with PX_LOCKS_AS_JUDGED */
	bool		types;			/* the text ends with a question about types */
} px_wish;

#define PX_WISH_NBYTES_MAX	40

/* A hello, and the other words at their greatest length. */
#define PX_ADMISSION_NBYTES_MAX	(PX_HELLO_NBYTES_MAX + 551)

typedef struct px_admission
{
	px_hello	hello;
	uint32_t	cost;			/* .. INT32_MAX; 0: unknown */
	bool		same_types;
	int32_t		pid;			/* > 0 */
	uint64_t	session;
	char		snapshot[64];	/* digits, A to F and "-"; empty: none */
	uint32_t	idle_ms;		/* .. INT32_MAX; 0: no time-out */
	char		against[128];	/* empty: nothing.  The encoding of what was
								 * read is unverified: verify it before you
								 * show it */
} px_admission;

/*
 * Write the admission to buffer[cap], NUL-terminated.  Returns the length that
 * it has, or would have with a larger cap, without the NUL, as snprintf does.
 */
extern size_t px_admission_write(char *buffer, size_t cap,
								 const px_admission *admission);

/*
 * Parse an admission.  Errors: those of px_hello_read; PX_BAD_HEADER
 * (fault->what names the key) if a word is missing, malformed or out of order,
 * or if anything follows the last word; PX_OVER_LIMIT if a number or a text is
 * out of range.  *admission is undefined after an error.
 */
extern px_status px_admission_read(const char *text, px_admission *admission,
								   px_fault *fault);

/*
 * The words of a wish, each with a blank before it; nothing for one of zeros.
 * Writes to buffer[PX_WISH_NBYTES_MAX], NUL-terminated.
 */
extern void px_wish_write(char *buffer, const px_wish *wish);

/*
 * Find them in a hello.  Errors: PX_BAD_HEADER (fault->what names the key) if
 * one is malformed, PX_OVER_LIMIT if the number is out of range.
 */
extern px_status px_wish_read(const char *hello, px_wish *wish,
							  px_fault *fault);

#endif							/* PX_WIRE_ADMISSION_H */
