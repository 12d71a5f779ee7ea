/*-------------------------------------------------------------------------
 *
 * auto.c
 *		Mode auto: clocks, socket and shared memory for what a sender measures.
 *
 * What is measured, and what follows from it, is in adapt/.  Its functions are
 * short, and call nothing: so all of them are called under the spin lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/timestamp.h"

#include "adapt/choice.h"
#include "exec/auto.h"
#include "exec/clocks.h"
#include "transport/tcp_info.h"

/*
 * Of a Port only the first member is wanted, the socket.  So do without the
 * headers of libraries, which need not be installed.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq-be.h"

/*
 * A receiver that waited for frames in less of its time, in thousandths, was
 * itself the bottleneck.
 */
#define IDLE_PERMILLE_MIN	100

/* NULL if frames do not go to a socket, or the kernel does not say. */
static const px_socket *
read_socket(px_socket *socket)
{
	if (MyProcPort && whereToSendOutput == DestRemote &&
		px_tcp_info_read(MyProcPort->sock, socket))
		return socket;
	return NULL;
}

px_auto *
px_auto_new(const px_request *request)
{
	px_auto    *state = palloc0(sizeof(px_auto));
	uint64		seed = 0;

	if (request->random)
		seed = 1 | ((uint64) GetCurrentTimestamp() ^
					((uint64) MyProcPid << 40));
	state->shared = &state->local;
	SpinLockInit(&state->local.mutex);
	px_adapt_init(&state->local.adapt.adapt, px_choices_asked(request),
				  request->cpu_limit / 1000.0, (double) request->link_rate,
				  request->idle >= IDLE_PERMILLE_MIN, seed);
	px_sender_init(&state->sender, IsParallelWorker());
	return state;
}

void
px_auto_restart(px_auto *state)
{
	px_sender_restart(&state->sender);
	memset(state->counts, 0, sizeof(state->counts));
}

void
px_auto_called(px_auto *state)
{
	px_clocks	now = px_clocks_read();

	SpinLockAcquire(&state->shared->mutex);
	px_sender_called(&state->sender, &state->shared->adapt, now);
	SpinLockRelease(&state->shared->mutex);
}

px_choice
px_auto_choose(px_auto *state)
{
	px_choice	choice;

	SpinLockAcquire(&state->shared->mutex);
	choice = px_sender_choose(&state->sender, &state->shared->adapt);
	SpinLockRelease(&state->shared->mutex);
	return choice;
}

px_choice
px_auto_filled(px_auto *state, size_t raw_nbytes)
{
	px_socket	buffer;
	const px_socket *socket = NULL;
	px_clocks	now;
	px_choice	choice;

	/* Asking the socket is no part of encoding. */
	now.wall_ns = px_wall_ns();
	if (!state->sender.forwards)
		socket = read_socket(&buffer);
	now.cpu_ns = px_cpu_ns();

	SpinLockAcquire(&state->shared->mutex);
	choice = px_sender_filled(&state->sender, &state->shared->adapt, now,
							  socket, (double) raw_nbytes);
	SpinLockRelease(&state->shared->mutex);
	state->counts[choice]++;
	return choice;
}

void
px_auto_encoded(px_auto *state, size_t raw_nbytes, size_t wire_nbytes,
				const px_column_state *columns, int ncolumns)
{
	px_clocks	now = px_clocks_read();
	px_socket	buffer;
	const px_socket *socket = NULL;
	bool		sampled = false;

	for (int i = 0; i < ncolumns; i++)
		sampled = sampled || columns[i].sampled;
	if (!state->sender.forwards)
		socket = read_socket(&buffer);

	SpinLockAcquire(&state->shared->mutex);
	px_sender_encoded(&state->sender, &state->shared->adapt, now, socket,
					  (double) raw_nbytes, (double) wire_nbytes, !sampled);
	SpinLockRelease(&state->shared->mutex);
}

void
px_auto_forwarding(px_auto *state)
{
	px_clocks	now = px_clocks_read();

	SpinLockAcquire(&state->shared->mutex);
	px_sender_forwarding(&state->sender, &state->shared->adapt, now);
	SpinLockRelease(&state->shared->mutex);
}

void
px_auto_forwarded(px_auto *state, size_t wire_nbytes)
{
	px_socket	buffer;
	const px_socket *socket;
	px_clocks	now;

	/* Asking the socket is no part of handing over. */
	now.wall_ns = px_wall_ns();
	socket = read_socket(&buffer);
	now.cpu_ns = px_cpu_ns();

	SpinLockAcquire(&state->shared->mutex);
	px_sender_forwarded(&state->sender, &state->shared->adapt, now, socket,
						(double) wire_nbytes);
	SpinLockRelease(&state->shared->mutex);
}

void
px_auto_fetching(px_auto *state)
{
	px_clocks	now = px_clocks_read();
	px_socket	buffer;
	const px_socket *socket = read_socket(&buffer);

	SpinLockAcquire(&state->shared->mutex);
	px_sender_fetching(&state->sender, &state->shared->adapt, now, socket);
	SpinLockRelease(&state->shared->mutex);
}

void
px_auto_fetched(px_auto *state, size_t nchars)
{
	px_socket	buffer;
	const px_socket *socket = read_socket(&buffer);

	px_sender_fetched(&state->sender, px_clocks_read(), socket, (double) nchars);
}

uint64
px_auto_link_rate(px_auto *state)
{
	double		rate;

	SpinLockAcquire(&state->shared->mutex);
	rate = px_link_rate(&state->shared->adapt.adapt.link);
	SpinLockRelease(&state->shared->mutex);
	return (uint64) Min(rate, (double) PX_REQUEST_LINK_RATE_MAX);
}

void
px_auto_share(px_auto *state, px_auto_shared *shared)
{
	*shared = state->local;
	SpinLockInit(&shared->mutex);
	state->shared = shared;
}

void
px_auto_unshare(px_auto *state)
{
	if (state->shared == &state->local)
		return;
	SpinLockAcquire(&state->shared->mutex);
	state->local.adapt = state->shared->adapt;
	SpinLockRelease(&state->shared->mutex);
	state->shared = &state->local;
	px_sender_continue_alone(&state->sender, &state->local.adapt);
}

void
px_auto_join(px_auto *state, px_auto_shared *shared)
{
	SpinLockAcquire(&shared->mutex);
	px_sender_join(&shared->adapt);
	SpinLockRelease(&shared->mutex);
	state->shared = shared;
}
