/*-------------------------------------------------------------------------
 *
 * simulator.c
 *		Simulated senders, links and receivers for mode auto.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <math.h>

#include "simulator.h"

#define STEP_NS			10e3
#define RECEIVE_BUFFER	4e6		/* bytes */
#define SEND_NBYTES		32e3	/* of a frame at a time */
#define PIECE_NBYTES	256e3	/* as in node/armour.c */
#define HANDOVER_NS		0.3		/* CPU time per wire byte, of either end */
#define DELAYED_ACK_NS	40e6
#define NEW_MEMORY_NS	1.0		/* per byte, when it is first touched */
#define STALL_INTERVAL_NS	50e6	/* between two stalls of the link */
#define STALL_NS_MAX	4e6

/* Clocks do not begin at 0: that is "never" where times are compared. */
#define EPOCH_NS		INT64CONST(1000000000)

const sim_data sim_lineitem = {
	"lineitem", 540e3, 0.7, {0.1, 0.45, 0.65, 1.0}, {1, 0.29, 0.195, 0.165}
};
const sim_data sim_documents = {
	"documents", 1e6, 0.15, {0.1, 0.15, 0.9, 2.0}, {1, 1, 0.35, 0.22}
};
const sim_data sim_random_bytes = {
	"random bytes", 1e6, 0.15, {0.1, 0.12, 0.13, 0.15}, {1, 1, 1, 1}
};
const sim_data sim_uuids = {
	"uuids", 98e3, 0.9, {0.1, 0.4, 0.42, 0.5}, {1, 0.75, 0.75, 0.74}
};
const sim_data *const sim_all_data[4] = {
	&sim_lineitem, &sim_documents, &sim_random_bytes, &sim_uuids
};

void
sim_init(sim *s, const sim_data *data, double link, int fixed)
{
	memset(s, 0, sizeof(*s));
	s->data = data;
	s->link = link;
	s->fixed = fixed;
	px_adapt_init(&s->shared.adapt, (1u << PX_CHOICE_COUNT) - 1, 1.0, 0,
				  false, 0);
	px_sender_init(&s->sender, false);
}

/* ---------------------------------------------------------------------
 * Time, clocks and the socket
 * --------------------------------------------------------------------- */

static void advance_workers(sim *s);

/* A number from 0 to 1; the same for the same seed. */
static double
draw(sim *s)
{
	s->noise = s->noise * UINT64CONST(6364136223846793005) +
		UINT64CONST(1442695040888963407);
	return (double) (s->noise >> 11) / (double) (UINT64CONST(1) << 53);
}

/* Packets wait for a core now and then: the link stands still. */
static double
moves(sim *s, double step)
{
	if (s->noise > 0 && s->now >= s->stalled_until &&
		draw(s) < step / STALL_INTERVAL_NS)
		s->stalled_until = s->now + draw(s) * STALL_NS_MAX;
	if (s->now < s->stalled_until)
		return 0;
	return Min(s->queued, s->link * step);
}

/* What encoding takes: an interrupt now and then takes much of the time. */
static double
disturbed(sim *s, double ns)
{
	if (s->noise == 0)
		return ns;
	ns *= 0.9 + 0.2 * draw(s);
	return draw(s) < 0.02 ? ns * 10 : ns;
}

/* A frame that is larger than any before touches memory that is new. */
static double
new_memory_ns(sim *s, double nbytes)
{
	double		more = Max(nbytes - s->frame_nbytes_max, 0);

	s->frame_nbytes_max += more;
	return s->noise > 0 ? more * NEW_MEMORY_NS : 0;
}

/* Are encodings looked for?  In batches 0, 1, 3, 7, ... and each 64th. */
static bool
is_sampled(const sim *s)
{
	uint32_t	number = s->batches - 1;

	return s->noise > 0 && (number % 64 == 63 ||
							(number < 64 && (number & (number + 1)) == 0));
}

/* Let time pass for link, receiver and workers. */
static void
pass(sim *s, double ns)
{
	const sim_data *data = s->data;
	double		ratio = data->ratio[s->choice];
	double		read_ns = s->consume_ns / ratio +
		data->cpu_ns[s->choice] / 4 / ratio + HANDOVER_NS;

	while (ns > 0)
	{
		double		step = Min(ns, STEP_NS);
		double		moved = moves(s, step);

		if (s->queued > 0)
			s->busy_ns += step;
		s->arrived -= Min(s->arrived, step / read_ns);
		if (moved > RECEIVE_BUFFER - s->arrived)
		{
			moved = RECEIVE_BUFFER - s->arrived;
			s->refused_ns += step;
		}
		s->queued -= moved;
		s->arrived += moved;
		s->sent += moved;
		s->now += step;
		ns -= step;
		advance_workers(s);
	}
}

/* The sender works for so long. */
static void
work(sim *s, double ns)
{
	pass(s, ns);
	s->cpu_ns += ns;
}

static px_clocks
clocks(const sim *s, double cpu_ns)
{
	return (px_clocks) {EPOCH_NS + (int64_t) s->now, (int64_t) cpu_ns};
}

static const px_socket *
read_socket(const sim *s, const px_sender *sender, px_socket *socket)
{
	if (s->blind || sender->is_worker)
		return NULL;
	*socket = (px_socket) {
		.acked_nbytes = (uint64_t) s->sent,
		.refused_us = (uint64_t) (s->refused_ns / 1000),
		.busy_us = (uint64_t) (s->busy_ns / 1000),
		.unsent_nbytes = (uint32_t) ceil(s->queued),
		.round_trip_us = (uint32_t) (s->round_trip_ns / 1000),
	};
	return socket;
}

/*
 * The frame is handed over bit by bit, as libpq does: the link begins to carry
 * the first bytes before the last are there.  The sender waits while the
 * socket's buffer is full.
 */
static void
hand_over(sim *s, double nbytes)
{
	while (nbytes > 0)
	{
		double		part = Min(nbytes, SEND_NBYTES);

		while (s->queued > 0 && s->queued + part > SIM_SEND_BUFFER)
			pass(s, STEP_NS);
		work(s, HANDOVER_NS * part);
		s->queued += part;
		nbytes -= part;
	}
}

/* ---------------------------------------------------------------------
 * Batches
 * --------------------------------------------------------------------- */

static void
begin_batch(sim *s, px_sender *sender, double cpu_ns)
{
	px_sender_called(sender, &s->shared, clocks(s, cpu_ns));
	(void) px_sender_choose(sender, &s->shared);
	if (s->fixed >= 0)
		sender->choice = (px_choice) s->fixed;
}

/* The batch is filled: returns how long it takes to encode. */
static double
begin_encoding(sim *s, px_sender *sender, double cpu_ns, double raw_nbytes)
{
	px_socket	socket;
	double		ns;

	s->choice = px_sender_filled(sender, &s->shared, clocks(s, cpu_ns),
								 read_socket(s, sender, &socket), raw_nbytes);
	s->counts[s->choice]++;
	s->raw_nbytes += raw_nbytes;
	s->batches++;
	ns = disturbed(s, s->data->cpu_ns[s->choice] * raw_nbytes);
	if (is_sampled(s))
		ns *= 2;
	ns += new_memory_ns(s, s->data->ratio[s->choice] * raw_nbytes);
	s->encoding_ns += ns;
	return ns;
}

/* The batch is encoded: returns the size of its frame. */
static double
end_batch(sim *s, px_sender *sender, double cpu_ns, double raw_nbytes)
{
	double		wire_nbytes = s->data->ratio[sender->choice] * raw_nbytes;
	px_socket	socket;

	px_sender_encoded(sender, &s->shared, clocks(s, cpu_ns),
					  read_socket(s, sender, &socket),
					  raw_nbytes, wire_nbytes, !is_sampled(s));
	return wire_nbytes;
}

/* Returns the size of the frame. */
static double
make_batch(sim *s, double raw_nbytes)
{
	begin_batch(s, &s->sender, s->cpu_ns);
	work(s, s->data->fill_ns * raw_nbytes);
	work(s, begin_encoding(s, &s->sender, s->cpu_ns, raw_nbytes));
	return end_batch(s, &s->sender, s->cpu_ns, raw_nbytes);
}

void
sim_batch(sim *s, double raw_nbytes)
{
	hand_over(s, make_batch(s, raw_nbytes));
}

void
sim_run(sim *s, int batches)
{
	for (int i = 0; i < batches; i++)
		sim_batch(s, s->data->batch_nbytes);
}

double
sim_stream(sim *s, int batches)
{
	static const double first[] = {1.0 / 64, 1.0 / 16, 0.25};

	for (int i = 0; i < 3; i++)
		sim_batch(s, s->data->batch_nbytes * first[i]);
	sim_run(s, batches);
	while (s->queued > 0 || s->arrived > 0)
		pass(s, STEP_NS);
	return s->now;
}

/* ---------------------------------------------------------------------
 * Pieces
 * --------------------------------------------------------------------- */

void
sim_piece(sim *s)
{
	double		nbytes = 0;
	double		idle_ns;
	px_socket	socket;

	px_sender_fetching(&s->sender, &s->shared, clocks(s, s->cpu_ns),
					   read_socket(s, &s->sender, &socket));
	while (nbytes < PIECE_NBYTES)
		nbytes += make_batch(s, s->data->batch_nbytes);
	px_sender_fetched(&s->sender, clocks(s, s->cpu_ns),
					  read_socket(s, &s->sender, &socket), nbytes);

	/* The receiver asks for the next piece before it decodes this one. */
	hand_over(s, nbytes);
	while (s->queued > 0)
		pass(s, STEP_NS);
	pass(s, s->round_trip_ns);
	s->busy_ns += s->round_trip_ns;

	/* Unless it still has the last but one: then it acknowledges later. */
	idle_ns = s->now;
	while (s->arrived > nbytes)
		pass(s, STEP_NS);
	idle_ns = s->now - idle_ns;
	s->busy_ns += Min(idle_ns, DELAYED_ACK_NS);
}

/* ---------------------------------------------------------------------
 * Workers
 * --------------------------------------------------------------------- */

static void
begin_worker_batch(sim *s, sim_worker *worker)
{
	double		ns = s->data->fill_ns * s->data->batch_nbytes;

	begin_batch(s, &worker->sender, worker->cpu_ns);
	worker->doing = SIM_FILLS;
	worker->until = s->now + ns;
	worker->cpu_ns += ns;
}

static void
advance_workers(sim *s)
{
	double		raw_nbytes = s->data->batch_nbytes;

	for (int i = 0; i < s->nworkers; i++)
	{
		sim_worker *worker = &s->workers[i];
		double		ns;

		if (worker->doing == SIM_WAITS || s->now < worker->until)
			continue;
		if (worker->doing == SIM_FILLS)
		{
			ns = begin_encoding(s, &worker->sender, worker->cpu_ns,
								raw_nbytes);
			worker->doing = SIM_ENCODES;
			worker->until = s->now + ns;
			worker->cpu_ns += ns;
			continue;
		}
		worker->frame_nbytes = end_batch(s, &worker->sender, worker->cpu_ns,
										 raw_nbytes);
		worker->doing = SIM_WAITS;
	}
}

void
sim_begin_workers(sim *s, int nworkers)
{
	for (int i = 0; i < nworkers; i++)
	{
		px_sender_init(&s->workers[i].sender, true);
		px_sender_join(&s->shared);
		begin_worker_batch(s, &s->workers[i]);
	}
	s->nworkers = nworkers;
}

/* A worker whose frame is ready, in turns; or NULL. */
static sim_worker *
ready_worker(sim *s)
{
	for (int i = 0; i < s->nworkers; i++)
	{
		sim_worker *worker = &s->workers[++s->last_worker % s->nworkers];

		if (worker->doing == SIM_WAITS)
			return worker;
	}
	return NULL;
}

void
sim_forward(sim *s)
{
	sim_worker *worker = NULL;
	double		nbytes;
	px_socket	socket;

	px_sender_forwarding(&s->sender, &s->shared, clocks(s, s->cpu_ns));

	/* A leader that finds no frame makes one itself. */
	worker = ready_worker(s);
	if (worker)
		nbytes = worker->frame_nbytes;
	else
		nbytes = make_batch(s, s->data->batch_nbytes);
	px_sender_forwarded(&s->sender, &s->shared, clocks(s, s->cpu_ns),
						read_socket(s, &s->sender, &socket), nbytes);
	if (worker)
		begin_worker_batch(s, worker);
	hand_over(s, nbytes);
}
