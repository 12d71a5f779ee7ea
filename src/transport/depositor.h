/*-------------------------------------------------------------------------
 *
 * depositor.h
 *		Bringing frames to a server on a connection of our own.
 *
 * postgres_fdw sends a query with its parameters, and does nothing else until
 * the remote has them.  Behind a slow link that takes longer than all the
 * rest, and meanwhile other servers wait for their frames.  So the frames may
 * be deposited over there (admit/deposit.h), on a connection of the pool, and
 * postgres_fdw's session is told where they are.  Only the bytes take that
 * way: snapshot, locks and rights are those of postgres_fdw's session.
 *
 * What is to be sent leaves in the functions below, for all depositors, so
 * they have to be called now and then.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_DEPOSITOR_H
#define PX_TRANSPORT_DEPOSITOR_H

#include "foreign/foreign.h"
#include "portability/instr_time.h"

#include "wire/receipt.h"

typedef struct px_depositor px_depositor;

/*
 * A depositor for a server, in the current memory context, which must be that
 * of a local query.  After an error it is left and freed with that.
 */
extern px_depositor *px_depositor_new(UserMapping *user,
									  const char *servername);

/*
 * Begin to send, when nothing is being sent.  bytes need not stay valid.
 * False if there is no connection to be had, or an earlier deposit did not
 * succeed.  Blocks while connecting, serving interrupts.
 */
extern bool px_depositor_send(px_depositor *depositor, const void *bytes,
							  size_t nbytes);

/* Was something sent, and the receipt not taken? */
extern bool px_depositor_is_busy(const px_depositor *depositor);

/* Would px_depositor_take return at once, as far as is known? */
extern bool px_depositor_is_ready(const px_depositor *depositor);

/*
 * Wait for the receipt of what was sent, and set *time to the time that it
 * took.  False if it was not deposited: then the depositor cannot be used any
 * more.  Blocks, serving interrupts, which are the only errors.
 */
extern bool px_depositor_take(px_depositor *depositor, px_receipt *receipt,
							  instr_time *time);

/*
 * Send on, as far as that does not block.  Returns whether some depositor has
 * more to send.
 */
extern bool px_depositors_send_on(void);

#endif							/* PX_TRANSPORT_DEPOSITOR_H */
