/*-------------------------------------------------------------------------
 *
 * link.h
 *		What the kernel says of a socket that frames go to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_SEND_LINK_H
#define PX_SEND_LINK_H

typedef struct px_link_state
{
	uint64		acked_nbytes;	/* that the other end has, in total */
	uint64		refused_us;		/* time its receive buffer was full, in total */
	uint32		unsent_nbytes;	/* in the socket's buffer: what is under way is not */
} px_link_state;

/*
 * Ask about the TCP connection fd.  False if that is none, or if this kernel
 * does not say.  Never blocks.
 */
extern bool px_link_read(int fd, px_link_state *state);

#endif							/* PX_SEND_LINK_H */
