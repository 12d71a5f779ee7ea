/*-------------------------------------------------------------------------
 *
 * link.c
 *		What the kernel says of a socket that frames go to.
 *
 * Linux has it in TCP_INFO, since 4.10.  The C library's struct is shorter than
 * the kernel's, and the two headers cannot be included together: so this file
 * knows nothing of PostgreSQL's connections.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __linux__
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

#include "transport/link.h"

bool
px_link_read(int fd, px_link_state *state)
{
#ifdef __linux__
	struct tcp_info info;
	socklen_t	nbytes = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &nbytes) != 0 ||
		nbytes < offsetof(struct tcp_info, tcpi_sndbuf_limited))
		return false;
	state->acked_nbytes = info.tcpi_bytes_acked;
	state->refused_us = info.tcpi_rwnd_limited;
	state->busy_us = info.tcpi_busy_time;
	state->round_trip_us = info.tcpi_min_rtt == UINT32_MAX ? 0 : info.tcpi_min_rtt;
	state->unsent_nbytes = info.tcpi_notsent_bytes;
	return true;
#else
	return false;
#endif
}
