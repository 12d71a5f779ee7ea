/*-------------------------------------------------------------------------
 *
 * sender.c
 *		What one sender measures.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/sender.h"

/*
 * A sender that is blocked for this part of its time has a backlog.  With 1/2,
 * simulated senders that cannot ask the socket take 4 % longer.
 */
#define PX_BLOCKED_SHARE		0.25

/*
 * A frame that is larger than any before takes memory that is new.  Sizes vary
 * from batch to batch: what is less than an eighth larger counts as the same.
 */
#define PX_LARGER_FACTOR		1.125

/*
 * So long a TCP may wait before it acknowledges what it got, for data to send
 * along: Linux's TCP_DELACK_MIN.
 */
#define PX_DELAYED_ACK_NS		40e6

void
px_sender_init(px_sender *sender, bool is_worker)
{
	memset(sender, 0, sizeof(*sender));
	sender->is_worker = is_worker;
}

void
px_sender_restart(px_sender *sender)
{
	sender->frame.nbytes = sender->forwarded.nbytes = 0;
	sender->frame.blocked_ns = 0;
	sender->has_socket = sender->has_backlog = false;
	memset(&sender->sample, 0, sizeof(sender->sample));
}

void
px_sender_join(px_adapt_shared *shared)
{
	shared->adapt.costs.senders++;
}

void
px_sender_continue_alone(const px_sender *sender, px_adapt_shared *shared)
{
	px_costs   *costs = &shared->adapt.costs;

	costs->senders = 1;
	costs->made_nbytes = costs->busiest_nbytes = sender->made_nbytes;
}

/* ---------------------------------------------------------------------
 * Handing over
 * --------------------------------------------------------------------- */

static void
px_handover_begin(px_handover *handover, px_clocks now, double nbytes)
{
	handover->nbytes = nbytes;
	handover->begun = now;
	handover->larger = nbytes > handover->nbytes_max * PX_LARGER_FACTOR;
	if (handover->larger)
		handover->nbytes_max = nbytes;
}

/* It has been handed over: returns the CPU time that it took. */
static double
px_handover_end(px_handover *handover, px_clocks now)
{
	double		cpu_ns = (double) (now.cpu_ns - handover->begun.cpu_ns);
	double		wall_ns = (double) (now.wall_ns - handover->begun.wall_ns);

	handover->blocked_ns = Max(wall_ns - cpu_ns, 0);
	return cpu_ns;
}

/* ---------------------------------------------------------------------
 * The socket
 * --------------------------------------------------------------------- */

/* Returns whether both the last state and this one are known. */
static bool
px_remember_socket(px_sender *sender, int64_t now, const px_socket *socket)
{
	bool		had_socket = sender->has_socket;

	if (!had_socket && socket)
	{
		sender->learned_at = now;
		sender->learned_acked_nbytes = socket->acked_nbytes;
	}
	sender->has_socket = socket != NULL;
	sender->socket_at = now;
	if (socket)
		sender->socket = *socket;
	return had_socket && socket;
}

/*
 * Count what has left the socket since it was last asked, if it never ran
 * empty.  It did not if there was something before and there is now: what is
 * handed over in between only adds to that.  It did not either if it was full
 * for most of the time, so that handing over took blocked_ns.  Otherwise the
 * first interval of a backlog does not count: what it begins with has yet to
 * be acknowledged.
 */
static void
px_watch_socket(px_sender *sender, int64_t now, const px_socket *socket,
				double blocked_ns)
{
	px_link_sample *sample = &sender->sample;
	px_socket	last = sender->socket;
	double		ns = (double) (now - sender->socket_at);
	bool		had_backlog = sender->has_backlog;
	bool		was_full = blocked_ns > ns / 2;

	if (!px_remember_socket(sender, now, socket))
		return;
	sample->backlog = socket->unsent_nbytes > 0;
	sender->has_backlog = sample->backlog &&
		(last.unsent_nbytes > 0 || was_full);
	if (sender->has_backlog && (had_backlog || was_full))
	{
		sample->ns += ns;
		sample->nbytes += (double) (socket->acked_nbytes - last.acked_nbytes);
		sample->receiver_ns +=
			(double) (socket->refused_us - last.refused_us) * 1000;
	}
}

/*
 * Learn what the socket told since this was last called.  Without a backlog,
 * what was handed over has left, but need not have arrived: queues on the way
 * may take it.  So what was acknowledged counts.
 */
static void
px_learn_socket(px_sender *sender, px_adapt_shared *shared)
{
	px_link_sample *sample = &sender->sample;

	if (!sample->backlog)
	{
		sample->ns = (double) (sender->socket_at - sender->learned_at);
		sample->nbytes = (double) (sender->socket.acked_nbytes -
								   sender->learned_acked_nbytes);
	}
	sender->learned_at = sender->socket_at;
	sender->learned_acked_nbytes = sender->socket.acked_nbytes;
	px_adapt_learn_link(&shared->adapt, sample);
	shared->socket_at = sender->socket_at;
}

/*
 * Learn from how long the sender was blocked, and from what all senders have
 * handed over meanwhile.
 */
static void
px_learn_blocked(const px_sender *sender, px_adapt_shared *shared, int64_t now)
{
	px_link_sample sample = {
		.ns = (double) (now - sender->filled.wall_ns),
		.nbytes = (double) (shared->handover_nbytes - sender->handover_nbytes),
		.receiver_ns = -1,
	};

	sample.backlog = sender->frame.blocked_ns > sample.ns * PX_BLOCKED_SHARE;
	px_adapt_learn_link(&shared->adapt, &sample);
}

/*
 * Between two pieces, for gap_ns, the sender waits until the receiver has got
 * the first and has asked for the next: there is never a backlog.  But the
 * kernel counts the time in which something was under way.  Less a round trip,
 * that is the time that the link has taken.
 *
 * If the gap is longer, the receiver had something else to do.  Then its last
 * acknowledgement was delayed, and that too is in the kernel's count.
 */
static void
px_learn_piece(px_sender *sender, px_adapt_shared *shared,
			   const px_socket *last, double gap_ns)
{
	const px_socket *socket = &sender->socket;
	double		busy_ns = (double) (socket->busy_us - last->busy_us) * 1000;
	double		link_ns = busy_ns - socket->round_trip_us * 1000.0;
	px_link_sample sample = {
		.nbytes = (double) (socket->acked_nbytes - last->acked_nbytes),
		.receiver_ns = (double) (socket->refused_us - last->refused_us) * 1000,
	};

	if (gap_ns > busy_ns + PX_DELAYED_ACK_NS / 8)
		link_ns -= PX_DELAYED_ACK_NS;
	sample.backlog = link_ns > 0;
	sample.ns = sample.backlog ? link_ns : busy_ns;
	px_adapt_learn_link(&shared->adapt, &sample);
}

/* ---------------------------------------------------------------------
 * Batches
 * --------------------------------------------------------------------- */

void
px_sender_called(px_sender *sender, px_adapt_shared *shared, px_clocks now)
{
	px_handover *frame = &sender->frame;
	double		cpu_ns;

	sender->called_at = now.wall_ns;
	if (frame->nbytes <= 0)
		return;
	cpu_ns = px_handover_end(frame, now);
	shared->handover_nbytes += (uint64_t) frame->nbytes;

	/* A worker hands over to its leader's queue, and so does not know. */
	if (!sender->forwards && !sender->is_worker)
		px_costs_learn_handover(&shared->adapt.costs, frame->nbytes, cpu_ns,
								!frame->larger);
}

px_choice
px_sender_choose(px_sender *sender, px_adapt_shared *shared)
{
	sender->choice = px_adapt_choose(&shared->adapt,
									 Max(sender->raw_nbytes,
										 PX_CODEC_RAW_NBYTES_MIN));
	return sender->choice;
}

px_choice
px_sender_filled(px_sender *sender, px_adapt_shared *shared, px_clocks now,
				 const px_socket *socket, double raw_nbytes)
{
	const px_handover *frame = &sender->frame;

	sender->fill_ns = (double) (now.wall_ns - sender->called_at);
	if (!sender->forwards)
		px_watch_socket(sender, now.wall_ns, socket, frame->blocked_ns);
	if (frame->nbytes > 0)
	{
		if (!sender->forwards && sender->has_socket)
			px_learn_socket(sender, shared);
		else if (!sender->fetches &&
				 (double) (now.wall_ns - shared->socket_at) >
				 PX_TIME_MEMORY_NS)
			px_learn_blocked(sender, shared, now.wall_ns);
	}
	memset(&sender->sample, 0, sizeof(sender->sample));

	sender->handover_nbytes = shared->handover_nbytes;
	sender->filled = now;
	sender->raw_nbytes = raw_nbytes;
	sender->choice = px_adapt_for_size(&shared->adapt, sender->choice,
									   raw_nbytes);
	return sender->choice;
}

void
px_sender_encoded(px_sender *sender, px_adapt_shared *shared, px_clocks now,
				  const px_socket *socket, double raw_nbytes,
				  double wire_nbytes, bool typical)
{
	px_clocks	filled = sender->filled;

	px_handover_begin(&sender->frame, now, wire_nbytes);
	px_adapt_learn_batch(&shared->adapt, sender->choice, raw_nbytes,
						 wire_nbytes, sender->fill_ns,
						 (double) (now.cpu_ns - filled.cpu_ns),
						 (double) (now.wall_ns - filled.wall_ns),
						 typical && !sender->frame.larger);
	sender->made_nbytes += raw_nbytes;
	px_costs_learn_share(&shared->adapt.costs, raw_nbytes,
						 sender->made_nbytes);
	if (!sender->forwards)
		px_watch_socket(sender, now.wall_ns, socket, 0);
}

/* ---------------------------------------------------------------------
 * Frames of all senders
 * --------------------------------------------------------------------- */

void
px_sender_forwarding(px_sender *sender, px_adapt_shared *shared,
					 px_clocks now)
{
	px_handover *forwarded = &sender->forwarded;
	double		cpu_ns;

	sender->forwards = true;
	forwarded->blocked_ns = 0;
	if (forwarded->nbytes <= 0)
		return;
	cpu_ns = px_handover_end(forwarded, now);
	px_costs_learn_handover(&shared->adapt.costs, forwarded->nbytes, cpu_ns,
							!forwarded->larger);
}

void
px_sender_forwarded(px_sender *sender, px_adapt_shared *shared, px_clocks now,
					const px_socket *socket, double wire_nbytes)
{
	px_handover *forwarded = &sender->forwarded;

	px_watch_socket(sender, now.wall_ns, socket, forwarded->blocked_ns);
	if (sender->has_socket && forwarded->nbytes > 0)
		px_learn_socket(sender, shared);
	memset(&sender->sample, 0, sizeof(sender->sample));
	px_handover_begin(forwarded, now, wire_nbytes);
}

/* ---------------------------------------------------------------------
 * Pieces
 * --------------------------------------------------------------------- */

void
px_sender_fetching(px_sender *sender, px_adapt_shared *shared, px_clocks now,
				   const px_socket *socket)
{
	px_handover *piece = &sender->forwarded;
	px_socket	last = sender->socket;
	double		cpu_ns;

	sender->forwards = sender->fetches = true;
	if (piece->nbytes <= 0)
		return;
	cpu_ns = px_handover_end(piece, now);
	px_costs_learn_handover(&shared->adapt.costs, piece->nbytes, cpu_ns,
							!piece->larger);
	if (px_remember_socket(sender, now.wall_ns, socket))
		px_learn_piece(sender, shared, &last, piece->blocked_ns);
}

void
px_sender_fetched(px_sender *sender, px_clocks now, const px_socket *socket,
				  double wire_nbytes)
{
	(void) px_remember_socket(sender, now.wall_ns, socket);
	px_handover_begin(&sender->forwarded, now, wire_nbytes);
}
