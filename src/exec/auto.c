/*-------------------------------------------------------------------------
 *
 * auto.c
 *		Mode auto: what a sender measures, and the choice for each batch.
 *
 * Encoding is measured in CPU time, which other processes do not disturb;
 * filling in wall time, as reading a table may have to wait.  Of handing over,
 * CPU time is work and the rest is being blocked.
 *
 * Being blocked says little about the link: the kernel takes megabytes before
 * it blocks, and the cause may as well be the receiver.  So the socket is asked,
 * twice for a batch, what it has still to send.  As long as that is never
 * nothing, what was acknowledged meanwhile is what the link carried, or what the
 * receiver took.  Of a parallel query the leader has the socket, and asks for all
 * senders, as it hands their frames over.  Not all kernels say: then being
 * blocked has to do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "access/parallel.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/timestamp.h"

#include "adapt/choice.h"
#include "codec/codec.h"
#include "exec/auto.h"

/*
 * Of a Port only its first member is wanted, the socket: do without the headers
 * of libraries, which need not be installed.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq-be.h"

/* A sender that is blocked for this part of its time has a backlog. */
#define BLOCKED_SHARE		0.25

/* What the leader's socket has told holds for so long for its workers. */
#define SOCKET_RECENT_NS	100e6

/* A frame that is larger than any before takes memory that is new. */
#define LARGER_FACTOR		1.125

/* So long a TCP may wait for company before it acknowledges what it got. */
#define DELAYED_ACK_NS		40e6

/* A receiver that waited less, in thousandths, was itself in the way. */
#define IDLE_PERMILLE_MIN	100

/* CPU time of this process in nanoseconds. */
static double
cpu_ns(void)
{
#ifdef CLOCK_PROCESS_CPUTIME_ID
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0)
		return now.tv_sec * 1e9 + now.tv_nsec;
#endif
	return (double) clock() * (1e9 / CLOCKS_PER_SEC);
}

static double
ns_between(instr_time begin, instr_time end)
{
	INSTR_TIME_SUBTRACT(end, begin);
	return INSTR_TIME_GET_DOUBLE(end) * 1e9;
}

/* Is a frame larger than any before, of which *max_nbytes is the largest? */
static bool
is_larger(double *max_nbytes, double nbytes)
{
	if (nbytes <= *max_nbytes * LARGER_FACTOR)
		return false;
	*max_nbytes = nbytes;
	return true;
}

px_auto *
px_auto_new(const px_request *request)
{
	px_auto    *state = palloc0(sizeof(px_auto));
	uint64		seed = 0;

	if (request->random)
		seed = ((uint64) GetCurrentTimestamp() ^ ((uint64) MyProcPid << 40)) | 1;
	state->shared = &state->local;
	SpinLockInit(&state->local.mutex);
	px_adapt_init(&state->local.adapt, px_choices_asked(request),
				  request->cpu_limit / 1000.0, (double) request->link_rate,
				  request->idle >= IDLE_PERMILLE_MIN, seed);
	return state;
}

void
px_auto_restart(px_auto *state)
{
	state->returned_nbytes = state->forwarded_nbytes = 0;
	state->has_link = state->has_backlog = false;
	state->blocked_ns = 0;
	memset(&state->sample, 0, sizeof(state->sample));
	memset(state->counts, 0, sizeof(state->counts));
}

/*
 * Ask the socket, and count what has left it since it was last asked, if it
 * never ran empty.  It did not if there was something before and there is now:
 * what is handed over in between only adds to that.  Nor if it was full for most
 * of the time, blocked_ns.  Otherwise the first interval of a backlog does not
 * count: what it begins with has yet to be acknowledged.
 */
static void
ask_socket(px_auto *state, instr_time now, double blocked_ns)
{
	px_link_sample *sample = &state->sample;
	px_link_state last = state->link;
	double		ns = ns_between(state->link_at, now);
	bool		had_link = state->has_link;
	bool		had_backlog = state->has_backlog;
	bool		was_full = blocked_ns > ns / 2;

	state->has_link = MyProcPort && whereToSendOutput == DestRemote &&
		px_link_read(MyProcPort->sock, &state->link);
	state->link_at = now;
	if (!had_link || !state->has_link)
		return;

	sample->backlog = state->link.unsent_nbytes > 0;
	state->has_backlog = sample->backlog && (last.unsent_nbytes > 0 || was_full);
	if (state->has_backlog && (had_backlog || was_full))
	{
		sample->ns += ns;
		sample->nbytes += (double) (state->link.acked_nbytes - last.acked_nbytes);
		sample->receiver_ns += (double) (state->link.refused_us - last.refused_us) * 1000;
	}
}

/* What being blocked tells, and what all senders have handed over meanwhile. */
static void
ask_clock(px_auto *state, instr_time now, uint64 handed_nbytes)
{
	px_link_sample *sample = &state->sample;

	sample->ns = ns_between(state->filled_at, now);
	sample->nbytes = (double) (handed_nbytes - state->handed_nbytes);
	sample->backlog = state->blocked_ns > sample->ns * BLOCKED_SHARE;
	sample->receiver_ns = -1;
}

/* Learn what the socket told since a frame of nbytes began to be handed over. */
static void
learn_socket(px_auto *state, instr_time since, double nbytes)
{
	px_link_sample *sample = &state->sample;

	if (!sample->backlog)
	{
		sample->ns = ns_between(since, state->link_at);
		sample->nbytes = nbytes;
	}
	px_adapt_learn_link(&state->shared->adapt, sample);
	state->shared->socket_at = state->link_at;
}

void
px_auto_called(px_auto *state)
{
	double		called_cpu_ns;
	double		work_ns;

	INSTR_TIME_SET_CURRENT(state->called_at);
	if (state->returned_nbytes <= 0)
		return;

	called_cpu_ns = cpu_ns();
	work_ns = called_cpu_ns - state->returned_cpu_ns;
	state->blocked_ns = Max(ns_between(state->returned_at, state->called_at) - work_ns, 0);

	/* Of a parallel query, ExchangeForward knows what the socket takes. */
	SpinLockAcquire(&state->shared->mutex);
	state->shared->handed_nbytes += (uint64) state->returned_nbytes;
	if (!state->forwards && !IsParallelWorker())
		px_adapt_learn_handing(&state->shared->adapt, state->returned_nbytes, work_ns,
							   !state->returned_larger);
	SpinLockRelease(&state->shared->mutex);
}

px_choice
px_auto_choose(px_auto *state)
{
	SpinLockAcquire(&state->shared->mutex);
	state->choice = px_adapt_choose(&state->shared->adapt,
									Max(state->raw_nbytes, PX_CODEC_RAW_NBYTES_MIN));
	SpinLockRelease(&state->shared->mutex);
	return state->choice;
}

px_choice
px_auto_filled(px_auto *state, size_t raw_nbytes)
{
	px_auto_shared *shared = state->shared;
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	state->fill_ns = ns_between(state->called_at, now);
	if (!state->forwards)
		ask_socket(state, now, state->blocked_ns);

	SpinLockAcquire(&shared->mutex);
	if (state->returned_nbytes > 0)
	{
		if (!state->forwards && state->has_link)
			learn_socket(state, state->filled_at, state->returned_nbytes);
		else if (!state->pieces && ns_between(shared->socket_at, now) > SOCKET_RECENT_NS)
		{
			ask_clock(state, now, shared->handed_nbytes);
			px_adapt_learn_link(&shared->adapt, &state->sample);
		}
	}
	state->handed_nbytes = shared->handed_nbytes;
	SpinLockRelease(&shared->mutex);

	memset(&state->sample, 0, sizeof(state->sample));
	state->filled_at = now;
	state->raw_nbytes = (double) raw_nbytes;
	state->choice = px_adapt_for_size(&shared->adapt, state->choice, (double) raw_nbytes);
	state->counts[state->choice]++;
	state->filled_cpu_ns = cpu_ns();
	return state->choice;
}

void
px_auto_encoded(px_auto *state, size_t raw_nbytes, size_t wire_nbytes,
				const px_column_state *columns, int ncolumns)
{
	bool		settled = true;
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	state->returned_cpu_ns = cpu_ns();
	for (int i = 0; i < ncolumns; i++)
		settled = settled && !columns[i].sampled;
	state->returned_larger = is_larger(&state->returned_max_nbytes, (double) wire_nbytes);
	settled = settled && !state->returned_larger;

	SpinLockAcquire(&state->shared->mutex);
	px_adapt_learn_batch(&state->shared->adapt, state->choice, (double) raw_nbytes,
						 (double) wire_nbytes, state->fill_ns,
						 state->returned_cpu_ns - state->filled_cpu_ns,
						 ns_between(state->filled_at, now), settled);
	state->made_nbytes += (double) raw_nbytes;
	px_adapt_learn_share(&state->shared->adapt, (double) raw_nbytes, state->made_nbytes);
	SpinLockRelease(&state->shared->mutex);

	if (!state->forwards)
		ask_socket(state, now, 0);
	state->returned_at = now;
	state->returned_nbytes = (double) wire_nbytes;
}

void
px_auto_forwarding(px_auto *state)
{
	instr_time	now;
	double		work_ns;

	INSTR_TIME_SET_CURRENT(now);
	state->forwards = true;
	state->forward_blocked_ns = 0;
	if (state->forwarded_nbytes <= 0)
		return;

	work_ns = cpu_ns() - state->forwarded_cpu_ns;
	state->forward_blocked_ns = ns_between(state->forwarded_at, now) - work_ns;
	SpinLockAcquire(&state->shared->mutex);
	px_adapt_learn_handing(&state->shared->adapt, state->forwarded_nbytes, work_ns,
						   !state->forwarded_larger);
	SpinLockRelease(&state->shared->mutex);
}

void
px_auto_forwarded(px_auto *state, size_t wire_nbytes)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	ask_socket(state, now, state->forward_blocked_ns);
	if (state->has_link && state->forwarded_nbytes > 0)
	{
		SpinLockAcquire(&state->shared->mutex);
		learn_socket(state, state->forwarded_at, state->forwarded_nbytes);
		SpinLockRelease(&state->shared->mutex);
	}
	memset(&state->sample, 0, sizeof(state->sample));
	state->forwarded_larger = is_larger(&state->forwarded_max_nbytes, (double) wire_nbytes);
	state->forwarded_at = now;
	state->forwarded_nbytes = (double) wire_nbytes;
	state->forwarded_cpu_ns = cpu_ns();
}

/*
 * Between two pieces the sender waits until the receiver has got the first, and
 * has said so: there is never a backlog.  But the kernel counts the time in
 * which something was under way: but for a round trip that is what the link has
 * taken.  If the receiver then had something else to do, that time may end with
 * an acknowledgement that was held back.
 */
static void
learn_piece(px_auto *state, const px_link_state *last, double gap_ns)
{
	px_link_sample sample = {.nbytes = (double) (state->link.acked_nbytes - last->acked_nbytes)};
	double		busy_ns = (double) (state->link.busy_us - last->busy_us) * 1000;
	double		link_ns = busy_ns - state->link.round_trip_us * 1000.0;

	if (gap_ns > busy_ns + DELAYED_ACK_NS / 8)
		link_ns -= DELAYED_ACK_NS;
	sample.backlog = link_ns > 0;
	sample.ns = sample.backlog ? link_ns : busy_ns;
	sample.receiver_ns = (double) (state->link.refused_us - last->refused_us) * 1000;
	px_adapt_learn_link(&state->shared->adapt, &sample);
}

void
px_auto_fetching(px_auto *state)
{
	px_link_state last = state->link;
	bool		had_link = state->has_link;
	double		work_ns;
	instr_time	now;

	state->forwards = state->pieces = true;
	if (state->forwarded_nbytes <= 0)
		return;
	INSTR_TIME_SET_CURRENT(now);
	work_ns = cpu_ns() - state->forwarded_cpu_ns;
	state->has_link = MyProcPort && whereToSendOutput == DestRemote &&
		px_link_read(MyProcPort->sock, &state->link);

	SpinLockAcquire(&state->shared->mutex);
	px_adapt_learn_handing(&state->shared->adapt, state->forwarded_nbytes, work_ns,
						   !state->forwarded_larger);
	if (had_link && state->has_link)
		learn_piece(state, &last, ns_between(state->forwarded_at, now) - work_ns);
	SpinLockRelease(&state->shared->mutex);
}

void
px_auto_fetched(px_auto *state, size_t nchars)
{
	state->has_link = MyProcPort && whereToSendOutput == DestRemote &&
		px_link_read(MyProcPort->sock, &state->link);
	state->forwarded_larger = is_larger(&state->forwarded_max_nbytes, (double) nchars);
	INSTR_TIME_SET_CURRENT(state->forwarded_at);
	state->forwarded_nbytes = (double) nchars;
	state->forwarded_cpu_ns = cpu_ns();
}

uint64
px_auto_link_rate(px_auto *state)
{
	double		rate;

	SpinLockAcquire(&state->shared->mutex);
	rate = px_adapt_link_rate(&state->shared->adapt);
	SpinLockRelease(&state->shared->mutex);
	return (uint64) Min(rate, (double) PX_REQUEST_LINK_RATE_MAX);
}

void
px_auto_share(px_auto *state, px_auto_shared *shared)
{
	*shared = state->local;
	SpinLockInit(&shared->mutex);
	shared->adapt.senders = 1;
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
	state->local.adapt.senders = 1;
	state->local.adapt.made_nbytes = state->local.adapt.busiest_nbytes = state->made_nbytes;
	state->shared = &state->local;
}

void
px_auto_join(px_auto *state, px_auto_shared *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->adapt.senders++;
	SpinLockRelease(&shared->mutex);
	state->shared = shared;
}
