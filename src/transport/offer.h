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
 * The queues are shm_mqs of a fixed size in one segment of shared memory,
 * which is gone when both ends have left it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_OFFER_H
#define PX_TRANSPORT_OFFER_H

#include "storage/dsm.h"
#include "storage/shm_mq.h"

#include "wire/receipt.h"
#include "wire/request.h"

/*
 * Sender: if the frame belongs to a link that the request says is pulled, put
 * it into that link's queue, and return true.  Waits for room, serving
 * interrupts.  If its collector has gone, the frame is dropped: whoever asked
 * for it has an error.  Errors: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if
 * this transaction has not made such an offer.
 */
extern bool px_offer_put(const px_request *request, const uint8_t *frame,
						 size_t nbytes);

/*
 * Sender: there are no more frames.  Waits until each queue was opened, for
 * they are gone with the transaction.  Serves interrupts.
 */
extern void px_offer_finish(const px_request *request);

/*
 * Collector: open the queue of a link, in the current memory context.  NULL if
 * there is no such offer, or it was opened before.  *segment is to be
 * detached from in the end.
 */
extern shm_mq_handle *px_offer_open(const px_receipt *token, uint32 link,
									dsm_segment **segment);

/*
 * Either end, while it waits for the other: end the session (FATAL) if the
 * client has gone.  Nothing is sent to it or read from it, so nobody else
 * would notice.
 */
extern void px_offer_check_client(void);

#endif							/* PX_TRANSPORT_OFFER_H */
