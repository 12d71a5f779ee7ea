/*-------------------------------------------------------------------------
 *
 * admission.h
 *		The admission: what exchange.admit says about a query.
 *
 * Before a coordinator reads a query by a stream, a session of its own, it
 * asks the remote session that postgres_fdw has there whether anybody could
 * tell the difference.  The answer is one line of text: the words of the
 * remote's hello (hello.h), in whatever order, and then these, in this order:
 *
 *	pid=4711			process id of the session that was asked
 *	session=0123456789abcdef	fingerprint of its settings and users, 16 hex digits
 *	snapshot=00000003-0000001B-1	exported snapshot; - if there is none
 *	idle=60000			its idle_in_transaction_session_timeout, in ms
 *	against=calls%20function%20now	why only it can run the query; empty if others can
 *
 * Later versions may add words before pid: unknown ones are skipped, as in a
 * hello.
 *
 * In against, all bytes but letters, digits, "_", "." and "-" are written as %
 * and two upper-case hex digits.  So nothing of it needs an escape in XML, and
 * nothing of it is converted between encodings: it is in the encoding of the
 * client, the coordinator.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_ADMISSION_H
#define PX_WIRE_ADMISSION_H

#include "wire/hello.h"

/* Beyond the hello, with every word as long as it may be. */
#define PX_ADMISSION_NBYTES_MAX	(PX_HELLO_NBYTES_MAX + 520)

typedef struct px_admission
{
	px_hello	hello;
	int32_t		pid;			/* > 0 */
	uint64_t	session;
	char		snapshot[64];	/* digits, A to F and "-"; empty: none */
	uint32_t	idle_ms;		/* .. INT32_MAX; 0: no time-out */
	char		against[128];	/* empty: nothing.  What was read is no more than
								 * bytes: whoever shows it verifies its encoding */
} px_admission;

/* Write to buffer, NUL-terminated; returns the length as snprintf does. */
extern size_t px_admission_write(char *buffer, size_t cap,
								 const px_admission *admission);

/*
 * Parse.  Errors: those of px_hello_read; PX_BAD_HEADER (fault->what names the
 * key) for words that are missing, malformed or in another order, or anything
 * after the last; PX_OVER_LIMIT if a number or the text is out of range.
 */
extern px_status px_admission_read(const char *text, px_admission *admission,
								   px_fault *fault);

#endif							/* PX_WIRE_ADMISSION_H */
