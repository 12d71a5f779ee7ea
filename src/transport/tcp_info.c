/*-------------------------------------------------------------------------
 *
 * tcp_info.c
 *		What the kernel says of a socket that frames go to.
 *
 * Linux has had all of it in TCP_INFO since 4.10.  The C library's struct is
 * shorter than the kernel's, and the two headers cannot be included together.
 * PostgreSQL's headers of connections include the C library's: so this file
 * does without them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __linux__
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

#include "transport/tcp_info.h"

bool
px_tcp_info_read(int fd, px_socket *socket)
{
#ifdef __linux__
	struct tcp_info info;
	socklen_t	nbytes = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &nbytes) != 0 ||
		nbytes < offsetof(struct tcp_info, tcpi_sndbuf_limited))
		return false;
	socket->acked_nbytes = info.tcpi_bytes_acked;
	socket->refused_us = info.tcpi_rwnd_limited;
	socket->busy_us = info.tcpi_busy_time;
	if (info.tcpi_min_rtt == UINT32_MAX)	/* not measured yet */
		socket->round_trip_us = 0;
	else
		socket->round_trip_us = info.tcpi_min_rtt;
	socket->unsent_nbytes = info.tcpi_notsent_bytes;
	return true;
#else
	return false;
#endif
}
