/*-------------------------------------------------------------------------
 *
 * senders.h
 *		The senders of a stream, and what each has sent so far.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_SENDERS_H
#define PX_TUPLE_SENDERS_H

#include "utils/palloc.h"

#include "wire/totals.h"

/* All zero but for the context: none so far. */
typedef struct px_senders
{
	MemoryContext context;
	px_sender_totals *all;
	int			n;
	int			max;
} px_senders;

/*
 * The sender of this number, new if it has sent nothing so far.  Valid until
 * the next call.
 */
extern px_sender_totals *px_senders_find(px_senders *senders, uint32 sender);

/* Is there a sender, and has every one ended? */
extern bool px_senders_have_ended(const px_senders *senders);

/*
 * Raise an error for the stream of that server unless they have.  See
 * tuple/fault.h about the name.
 */
extern void px_senders_require_ends(const px_senders *senders,
									const char *servername);

#endif							/* PX_TUPLE_SENDERS_H */
