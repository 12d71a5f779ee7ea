/*-------------------------------------------------------------------------
 *
 * link.h
 *		What the kernel says of a socket that frames go to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_LINK_H
#define PX_TRANSPORT_LINK_H

typedef struct px_link_state
{
	uint64		acked_nbytes;	/* that the other end has, in total */
	uint64		refused_us;		/* time its receive buffer was full, in total */
	uint64		busy_us;		/* time something was under way or waiting, in total */
	uint32		unsent_nbytes;	/* in the socket's buffer: what is under way is not */
	uint32		round_trip_us;	/* the shortest lately */
} px_link_state;

/*
 * Ask about the TCP connection fd.  False if that is none, or if this kernel
 * does not say.  Never blocks.
 */
extern bool px_link_read(int fd, px_link_state *state);

#endif							/* PX_TRANSPORT_LINK_H */
