/*-------------------------------------------------------------------------
 *
 * offer.h
 *		Frames that a sender offers to other sessions of its server.
 *
 * The targets of a join may pull their rows from a source, instead of getting
 * them from the coordinator.  The session of the source makes an offer in its
 * transaction, which returns a token.  Its ExchangeSend then puts the frames
 * of each link, which is a target server's, into a queue of the offer.  Any
 * session of this server, and of the same database, that knows the token may
 * open each queue once.
 *
 * An offer is for one run of one query, outside of subtransactions.  Nothing
 * but whole frames gets into a queue, each as the pieces that it is cut into.
 * If anything interrupts the run between the first frame and the last, the
 * offer is void: the queues end where they are, and nobody can put anything
 * into them any more.  So what is in a queue is always in step, whatever the
 * sender's user does.
 *
 * The queues are shm_mqs of a fixed size in one segment of shared memory,
 * which is gone when both ends have left it.
 *
 * None of this is to be had while pg_exchange.join_pull is off.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_OFFER_H
#define PX_TRANSPORT_OFFER_H

#include "wire/receipt.h"
#include "wire/request.h"

/*
 * Raise ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE unless pg_exchange.join_pull
 * is on: for each SQL function of those that pull and offer.
 */
extern void px_offer_require_allowed(void);

/*
 * Sender: a run of a query.  0 is one that has offered nothing so far; the
 * rest is offer.c's.
 */
typedef uint64 px_offer_run;

/*
 * Sender: if the frame belongs to a link that the request says is pulled, put
 * it into that link's queue, and return true.  Waits for room, serving
 * interrupts.  If its collector has gone, the frame is dropped: whoever asked
 * for it has an error.  Errors: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if
 * this transaction has not made such an offer, if it is void, another run's,
 * or in a subtransaction.
 */
extern bool px_offer_put(px_offer_run *run, const px_request *request,
						 const uint8_t *frame, size_t nbytes);

/*
 * Sender: there are no more frames.  Waits until each queue was opened, for
 * they are gone with the transaction.  Serves interrupts.  Errors as above.
 */
extern void px_offer_finish(px_offer_run *run, const px_request *request);

/* Sender: the run has ended, or begins anew: an offer half sent is void. */
extern void px_offer_leave(px_offer_run *run);

/* Collector: a queue that was opened. */
typedef struct px_collection px_collection;

typedef enum px_collected
{
	PX_COLLECTED_FRAME,
	PX_COLLECTED_NOTHING,		/* so far: wait for the latch */
	PX_COLLECTED_END			/* there is no more, whether all has come or
								 * not */
} px_collected;

/*
 * Collector: open the queue of a link, in the current memory context.  NULL if
 * there is no such offer, or it was opened before.  To be closed in the end.
 */
extern px_collection *px_offer_open(const px_receipt *token, uint32 link);
extern void px_offer_close(px_collection *from);

/*
 * Collector: take a frame, which is valid until the next call.  Its header was
 * checked, and its size compared with pg_exchange.max_frame_bytes, before
 * memory is taken for it.  Does not wait.  Errors: those of px_raise_fault,
 * with that name of a server.
 */
extern px_collected px_offer_collect(px_collection *from,
									 const char *servername,
									 const uint8_t **frame, size_t *nbytes);

/*
 * Collector: is a query sending what is in the queue?  Then its session's
 * statement_timeout limits how long it takes, and not the collector's.
 */
extern bool px_offer_is_sent(const px_collection *from);

/* Collector: how many collections this session has open. */
extern int	px_offer_collections(void);

/*
 * Wait until the latch is set, or for a second, serving interrupts.  What was
 * returned to the client before is flushed.  False if the second has passed.
 */
extern bool px_offer_wait(uint32 wait_event);

/*
 * Either end, while it works or waits: end the session (FATAL) if the client
 * has gone, which is looked at once a second.  Nothing is sent to it or read
 * from it, so nobody else would notice.
 */
extern void px_offer_check_client(void);

#endif							/* PX_TRANSPORT_OFFER_H */
