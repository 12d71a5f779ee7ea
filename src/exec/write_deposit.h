/*-------------------------------------------------------------------------
 *
 * write_deposit.h
 *		Pieces that a connection of our own brings to the server.
 *
 * postgres_fdw's session works on one piece of a lane; the next one may be on
 * its way meanwhile, as a deposit (transport/depositor.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_DEPOSIT_H
#define PX_EXEC_WRITE_DEPOSIT_H

#include "exec/write_state.h"

/*
 * Begin to bring the target's piece, if that pays, and the lane brings none
 * yet.  False if the piece is to be sent by postgres_fdw's session.  May block
 * while connecting.
 */
extern bool px_write_deposit_begin(px_write_target *target,
								   px_write_piece *piece);

/*
 * Wait until the lane's piece has been brought, and set *receipt to what
 * exchange.apply takes, *ns to the time that bringing it took.  False if it
 * has not: then it is to be sent as others are.  The lane brings none
 * afterwards.
 */
extern bool px_write_deposit_take(px_write_lane *lane, px_receipt *receipt,
								  int64 *ns);

/*
 * Learn how long a piece took that was sent by postgres_fdw's session, without
 * the time that the remote worked.
 */
extern void px_write_deposit_learn(px_write_lane *lane, int64 ns,
								   size_t nbytes);

#endif							/* PX_EXEC_WRITE_DEPOSIT_H */
