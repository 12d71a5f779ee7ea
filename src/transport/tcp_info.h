/*-------------------------------------------------------------------------
 *
 * tcp_info.h
 *		What the kernel says of a socket that frames go to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_TCP_INFO_H
#define PX_TRANSPORT_TCP_INFO_H

#include "adapt/sender.h"

/*
 * Ask about the TCP connection fd.  False if that is none, or if this kernel
 * does not say.  Never blocks.
 */
extern bool px_tcp_info_read(int fd, px_socket *socket);

#endif							/* PX_TRANSPORT_TCP_INFO_H */
