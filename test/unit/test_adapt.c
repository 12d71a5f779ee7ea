/*-------------------------------------------------------------------------
 *
 * test_adapt.c
 *		Tests of the choice by measurement (adapt/adapt.h), on simulated links.
 *
 * A simulated stream has a sender, a socket buffer, a link, a receive buffer
 * and a receiver, and time that passes in small steps.  What the model is told
 * is what a sender can see of that.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/adapt.h"
#include "unit.h"

#define STEP_NS			10e3
#define SEND_BUFFER		1e6		/* bytes */
#define RECEIVE_BUFFER	4e6
#define GBIT			0.125	/* bytes per nanosecond */
#define MBIT			(GBIT / 1000)

/* What there is to send: costs per raw byte in nanoseconds. */
typedef struct sim_data
{
	const char *name;
	double		batch_nbytes;
	double		fill_ns;
	double		cpu_ns[PX_CHOICE_COUNT];
	double		ratio[PX_CHOICE_COUNT];
} sim_data;

static const sim_data lineitem = {
	"lineitem", 540e3, 0.7, {0.1, 0.45, 0.65, 1.0}, {1, 0.29, 0.195, 0.165}
};
static const sim_data documents = {
	"documents", 1e6, 0.15, {0.1, 0.15, 0.9, 2.0}, {1, 1, 0.35, 0.22}
};
static const sim_data random_bytes = {
	"random bytes", 1e6, 0.15, {0.1, 0.12, 0.13, 0.15}, {1, 1, 1, 1}
};
static const sim_data uuids = {
	"uuids", 98e3, 0.9, {0.1, 0.4, 0.42, 0.5}, {1, 0.75, 0.75, 0.74}
};
static const sim_data *const all_data[] = {&lineitem, &documents, &random_bytes, &uuids};

typedef struct sim
{
	const sim_data *data;
	double		link;			/* bytes per nanosecond */
	double		consume_ns;		/* of the receiver, per raw byte */
	bool		blind;			/* the sender cannot tell the receiver from the link */
	int			fixed;			/* a px_choice for all batches; -1: choose */

	px_adapt	adapt;
	px_choice	choice;			/* of the last batch */
	double		now;			/* nanoseconds */
	double		queued;			/* bytes in the socket buffer */
	double		arrived;		/* bytes in the receive buffer */
	double		sent;			/* bytes that have left the socket buffer, in total */
	double		refused_ns;		/* time in which the receive buffer was full */
	double		encoding_ns;
	double		asked_at;		/* of the socket */
	double		asked_sent;
	double		asked_queued;
	double		asked_refused_ns;
	bool		has_backlog;
	double		chosen_at;
	double		handed_nbytes;	/* of the last batch */
	double		blocked_ns;
	px_link_sample sample;		/* since the last choice */
	uint32_t	counts[PX_CHOICE_COUNT];
} sim;

static void
sim_init(sim *s, const sim_data *data, double link, int fixed)
{
	memset(s, 0, sizeof(*s));
	s->data = data;
	s->link = link;
	s->fixed = fixed;
	px_adapt_init(&s->adapt, (1u << PX_CHOICE_COUNT) - 1, 1.0, 0, false, 0);
}

/* Let time pass for link and receiver. */
static void
sim_pass(sim *s, double ns)
{
	const sim_data *data = s->data;
	double		ratio = data->ratio[s->choice];
	double		read_ns = s->consume_ns / ratio +
		data->cpu_ns[s->choice] / 4 / ratio + 0.3;

	while (ns > 0)
	{
		double		step = Min(ns, STEP_NS);
		double		moved = Min(s->queued, s->link * step);

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
	}
}

/* What the sender sees of the socket; see px_watch_socket in adapt/sender.c. */
static void
sim_ask(sim *s, bool was_full)
{
	px_link_sample *sample = &s->sample;
	bool		had_backlog = s->has_backlog;

	sample->backlog = s->queued > 0;
	s->has_backlog = sample->backlog && (s->asked_queued > 0 || was_full);
	if (s->has_backlog && (had_backlog || was_full))
	{
		sample->ns += s->now - s->asked_at;
		sample->nbytes += s->sent - s->asked_sent;
		sample->receiver_ns += s->refused_ns - s->asked_refused_ns;
	}
	s->asked_at = s->now;
	s->asked_sent = s->sent;
	s->asked_queued = s->queued;
	s->asked_refused_ns = s->refused_ns;
}

/* One batch: rows in a column buffer, a frame, and the socket has it. */
static void
sim_batch(sim *s, double raw_nbytes)
{
	const sim_data *data = s->data;
	double		wire_nbytes;
	double		handed_at;

	sim_pass(s, data->fill_ns * raw_nbytes);
	sim_ask(s, s->blocked_ns > (s->now - s->asked_at) / 2);
	if (!s->sample.backlog)
	{
		s->sample.ns = s->now - s->chosen_at;
		s->sample.nbytes = s->handed_nbytes;
	}
	s->chosen_at = s->now;
	if (s->blind)
		s->sample.receiver_ns = -1;
	px_adapt_learn_link(&s->adapt, &s->sample);
	memset(&s->sample, 0, sizeof(s->sample));
	s->choice = px_adapt_choose(&s->adapt, raw_nbytes);
	if (s->fixed >= 0)
		s->choice = (px_choice) s->fixed;
	s->counts[s->choice]++;

	sim_pass(s, data->cpu_ns[s->choice] * raw_nbytes);
	s->encoding_ns += data->cpu_ns[s->choice] * raw_nbytes;
	wire_nbytes = data->ratio[s->choice] * raw_nbytes;
	px_adapt_learn_batch(&s->adapt, s->choice, raw_nbytes, wire_nbytes,
						 data->fill_ns * raw_nbytes, data->cpu_ns[s->choice] * raw_nbytes,
						 data->cpu_ns[s->choice] * raw_nbytes, true);
	sim_ask(s, false);

	sim_pass(s, 0.3 * wire_nbytes);
	px_costs_learn_handover(&s->adapt.costs, wire_nbytes, 0.3 * wire_nbytes, true);
	handed_at = s->now;
	while (s->queued > 0 && s->queued + wire_nbytes > SEND_BUFFER)
		sim_pass(s, STEP_NS);
	s->blocked_ns = s->now - handed_at;
	s->queued += wire_nbytes;
	s->handed_nbytes = wire_nbytes;
}

static void
sim_run(sim *s, int batches)
{
	for (int i = 0; i < batches; i++)
		sim_batch(s, s->data->batch_nbytes);
}

/* All batches, and until the receiver has it all: nanoseconds. */
static double
sim_stream(sim *s, int batches)
{
	static const double first[] = {1.0 / 64, 1.0 / 16, 0.25};

	for (int i = 0; i < 3; i++)
		sim_batch(s, s->data->batch_nbytes * first[i]);
	sim_run(s, batches);
	while (s->queued > 0 || s->arrived > 0)
		sim_pass(s, STEP_NS);
	return s->now;
}

/* ---------------------------------------------------------------------
 * Tests
 * --------------------------------------------------------------------- */

/* 1 Gbit/s, 50 Mbit/s, and back. */
static void
follows_the_link(void)
{
	sim			s;
	uint32_t	before;

	sim_init(&s, &lineitem, 1 * GBIT, -1);
	(void) sim_run(&s, 300);
	CHECK(s.adapt.current != PX_CHOICE_ZSTD);

	s.link = 50 * MBIT;
	sim_run(&s, 20);
	CHECK_EQ(s.adapt.current, PX_CHOICE_ZSTD);
	before = s.counts[PX_CHOICE_ZSTD];
	sim_run(&s, 100);
	CHECK(s.counts[PX_CHOICE_ZSTD] - before >= 98);
	CHECK(px_link_rate(&s.adapt.link) > 0.9 * 6.25e6 && px_link_rate(&s.adapt.link) < 1.1 * 6.25e6);

	s.link = 1 * GBIT;
	sim_run(&s, 20);
	CHECK(s.adapt.current != PX_CHOICE_ZSTD);
	before = s.counts[PX_CHOICE_ZSTD];
	sim_run(&s, 200);
	CHECK(s.counts[PX_CHOICE_ZSTD] - before <= 4);
}

/* Whatever the data and the link: as good as the best, and as plain. */
static void
is_as_good_as_the_best(void)
{
	static const double links[] = {40 * GBIT, 1 * GBIT, 200 * MBIT, 50 * MBIT};

	for (unsigned d = 0; d < lengthof(all_data); d++)
		for (unsigned l = 0; l < lengthof(links); l++)
		{
			int			batches = (int) (100e6 / all_data[d]->batch_nbytes);
			double		best = 0;
			double		plain = 0;
			double		ns;
			sim			s;

			for (int fixed = PX_CHOICE_PLAIN; fixed < PX_CHOICE_COUNT; fixed++)
			{
				sim_init(&s, all_data[d], links[l], fixed);
				ns = sim_stream(&s, batches);
				if (fixed == PX_CHOICE_PLAIN)
					plain = ns;
				if (best == 0 || ns < best)
					best = ns;
			}
			sim_init(&s, all_data[d], links[l], -1);
			ns = sim_stream(&s, batches);
			if (!CHECK(ns < best * 1.10) || !CHECK(ns < plain * 1.05))
				printf("# %s at %g Gbit/s: %.1f ms, best %.1f, plain %.1f; plain %u, encoded %u, lz4 %u, zstd %u\n",
					   all_data[d]->name, links[l] / GBIT, ns / 1e6, best / 1e6, plain / 1e6,
					   s.counts[0], s.counts[1], s.counts[2], s.counts[3]);
		}
}

/* Between two choices whose order depends on the link's rate, too. */
static void
settles_where_choices_meet(void)
{
	for (int mbit = 300; mbit <= 1500; mbit += 50)
	{
		double		best = 0;
		double		ns;
		sim			s;

		for (int fixed = PX_CHOICE_PLAIN; fixed < PX_CHOICE_COUNT; fixed++)
		{
			sim_init(&s, &lineitem, mbit * MBIT, fixed);
			ns = sim_stream(&s, 1000);
			if (best == 0 || ns < best)
				best = ns;
		}
		sim_init(&s, &lineitem, mbit * MBIT, -1);
		ns = sim_stream(&s, 1000);
		if (!CHECK(ns < best * 1.08))
			printf("# %d Mbit/s: %.1f ms, best %.1f; plain %u, encoded %u, lz4 %u, zstd %u\n", mbit, ns / 1e6,
				   best / 1e6, s.counts[0], s.counts[1], s.counts[2], s.counts[3]);
	}
}

static void
probes_are_cheap(void)
{
	static const double links[] = {40 * GBIT, 1 * GBIT, 200 * MBIT, 50 * MBIT};

	for (unsigned d = 0; d < lengthof(all_data); d++)
		for (unsigned l = 0; l < lengthof(links); l++)
		{
			double		total = 0;
			double		waste = 0;
			sim			s;

			/* What batches took in excess of the current choice's, by their true costs. */
			sim_init(&s, all_data[d], links[l], -1);
			for (int i = 0; i < 1000; i++)
			{
				const sim_data *data = s.data;
				double		now = s.now;
				px_choice	current = s.adapt.current;
				double		usual;
				double		took;

				sim_run(&s, 1);
				total += s.now - now;
				if (s.choice == s.adapt.current || i < 10)
					continue;
				usual = Max(data->fill_ns + data->cpu_ns[current] + 0.3 * data->ratio[current],
							data->ratio[current] / s.link);
				took = Max(data->fill_ns + data->cpu_ns[s.choice] + 0.3 * data->ratio[s.choice],
						   data->ratio[s.choice] / s.link);
				waste += Max(took - usual, 0) * data->batch_nbytes;
			}
			if (!CHECK(waste < 0.02 * total))
				printf("# %s at %g Gbit/s: %.1f of %.1f ms\n", s.data->name, links[l] / GBIT, waste / 1e6, total / 1e6);
		}
}

/* A short stream follows what the last one was taught, else it is as fast. */
static void
short_streams_follow_the_last(void)
{
	px_adapt	adapt;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	CHECK_EQ(px_adapt_choose(&adapt, 1e5), PX_CHOICE_LZ4);
	px_adapt_init(&adapt, 15, 1.0, 6.25e6, false, 0);
	CHECK_EQ(px_adapt_choose(&adapt, 1e5), PX_CHOICE_ZSTD);
	px_adapt_init(&adapt, 15, 1.0, 1e10, false, 0);
	CHECK(px_adapt_choose(&adapt, 1e5) < PX_CHOICE_ZSTD);
	px_adapt_init(&adapt, 1u << PX_CHOICE_ENCODED, 1.0, 6.25e6, false, 0);
	CHECK_EQ(px_adapt_choose(&adapt, 1e5), PX_CHOICE_ENCODED);
	px_adapt_init(&adapt, 0, 1.0, 0, false, 0);
	CHECK_EQ(px_adapt_choose(&adapt, 1e5), PX_CHOICE_PLAIN);
}

/* What was taught is forgotten when the link is another. */
static void
a_wrong_lesson_is_forgotten(void)
{
	sim			s;

	sim_init(&s, &lineitem, 10 * GBIT, -1);
	px_adapt_init(&s.adapt, 15, 1.0, 6.25e6, false, 0);
	sim_run(&s, 1);
	CHECK_EQ(s.choice, PX_CHOICE_ZSTD);
	sim_run(&s, 60);
	CHECK(s.adapt.current < PX_CHOICE_ZSTD);
}

/* Being blocked by a slow receiver is no reason to compress more. */
static void
a_slow_receiver_is_not_a_slow_link(void)
{
	for (int blind = 0; blind <= 1; blind++)
	{
		sim			s;
		double		plain;
		double		ns;

		sim_init(&s, &lineitem, 10 * GBIT, PX_CHOICE_PLAIN);
		s.consume_ns = 5;
		plain = sim_stream(&s, 500);

		sim_init(&s, &lineitem, 10 * GBIT, -1);
		s.consume_ns = 5;
		s.blind = blind;
		ns = sim_stream(&s, 500);
		CHECK(s.counts[PX_CHOICE_ZSTD] < 20);
		CHECK(ns < plain * 1.02);
	}
}

/* A sender that cannot tell goes by what the last stream's receiver said. */
static void
a_blind_sender_believes_the_receiver(void)
{
	sim			s;

	sim_init(&s, &lineitem, 50 * MBIT, -1);
	px_adapt_init(&s.adapt, 15, 1.0, 0, true, 0);
	s.blind = true;
	sim_run(&s, 40);
	CHECK_EQ(s.adapt.current, PX_CHOICE_ZSTD);
}

static void
cpu_is_limited(void)
{
	static const double limits[] = {0.0, 0.05, 0.2, 0.35};

	for (unsigned i = 0; i < lengthof(limits); i++)
	{
		sim			s;

		sim_init(&s, &lineitem, 400 * MBIT, -1);
		px_adapt_init(&s.adapt, 15, limits[i], 0, false, 0);
		(void) sim_stream(&s, 500);

		/* Plain columns are always allowed. */
		if (!CHECK(s.encoding_ns < limits[i] * 1.05 * s.now || s.counts[PX_CHOICE_PLAIN] > 490))
			printf("# limit %g: %g\n", limits[i], s.encoding_ns / s.now);
	}
}

/* LZ4 and zstd over 1 Gbit/s, by senders that get a core for one part of contention. */
static void
learn_lz4_and_zstd(px_adapt *adapt, double contention)
{
	px_link_sample sample = {true, 1e6, 0.125e6, 0};

	px_adapt_init(adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 10; i++)
	{
		px_adapt_learn_batch(adapt, PX_CHOICE_LZ4, 1e6, 0.195e6, 0.7e6, 0.65e6, 0.65e6 * contention, true);
		px_adapt_learn_batch(adapt, PX_CHOICE_ZSTD, 1e6, 0.165e6, 0.7e6, 1.0e6, 1.0e6 * contention, true);
		px_adapt_learn_link(adapt, &sample);
	}
}

/* Many senders are fast together: the link gets in their way. */
static void
many_senders_share_the_link(void)
{
	px_adapt	adapt;

	learn_lz4_and_zstd(&adapt, 1);
	(void) px_adapt_choose(&adapt, 1e6);
	CHECK(adapt.current < PX_CHOICE_ZSTD);
	adapt.costs.senders = 4;
	(void) px_adapt_choose(&adapt, 1e6);
	CHECK_EQ(adapt.current, PX_CHOICE_ZSTD);
}

/* But not if they wait for each other's cores. */
static void
few_cores_do_not_make_senders_fast(void)
{
	px_adapt	adapt;

	learn_lz4_and_zstd(&adapt, 8);
	adapt.costs.senders = 4;
	(void) px_adapt_choose(&adapt, 1e6);
	CHECK(adapt.current < PX_CHOICE_ZSTD);
}

/* Nor if one of them makes all there is: then they are as fast as that one. */
static void
idle_senders_are_none(void)
{
	px_adapt	adapt;

	learn_lz4_and_zstd(&adapt, 1);
	adapt.costs.senders = 4;
	px_costs_learn_share(&adapt.costs, 1e8, 1e8);
	(void) px_adapt_choose(&adapt, 1e6);
	CHECK(adapt.current < PX_CHOICE_ZSTD);

	px_costs_learn_share(&adapt.costs, 3e8, 1e8);
	(void) px_adapt_choose(&adapt, 1e6);
	CHECK_EQ(adapt.current, PX_CHOICE_ZSTD);
}

/* One probe at a time, however many senders there are. */
static void
senders_probe_in_turns(void)
{
	px_adapt	adapt;
	int			last = -100;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	adapt.costs.senders = 4;
	px_adapt_learn_batch(&adapt, PX_CHOICE_LZ4, 1e6, 0.2e6, 0.7e6, 1e6, 1e6, true);
	for (int i = 0; i < 100; i++)
	{
		if (px_adapt_choose(&adapt, 1e6) == PX_CHOICE_LZ4)
			continue;
		CHECK(i - last >= 12);
		last = i;
	}
	CHECK(last > 0);
}

/* A choice whose first batches touched new memory is not given up for that. */
static void
dear_first_batches_are_tried_again(void)
{
	px_adapt	adapt;
	int			tried = 0;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 40; i++)
	{
		if (px_adapt_choose(&adapt, 1e6) == PX_CHOICE_ENCODED)
		{
			double		cpu_ns = tried < 2 ? 0.9e6 : 0.2e6;

			px_adapt_learn_batch(&adapt, PX_CHOICE_ENCODED, 1e6, 0.9e6, 0.7e6, cpu_ns, cpu_ns, tried >= 2);
			tried++;
		}
		else
			px_adapt_learn_batch(&adapt, PX_CHOICE_LZ4, 1e6, 0.2e6, 0.7e6, 1.5e6, 1.5e6, true);
		px_costs_learn_handover(&adapt.costs, 0.2e6, 0.2e6, true);
	}
	CHECK(tried > 2);
	CHECK_EQ(adapt.current, PX_CHOICE_ENCODED);
}

/* The same of frames that are the first of their size. */
static void
dear_first_frames_are_forgotten(void)
{
	px_adapt	adapt;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	px_costs_learn_handover(&adapt.costs, 1e6, 5e6, false);
	px_costs_learn_handover(&adapt.costs, 1e6, 1e6, true);
	CHECK(adapt.costs.handover.sum < 1.2 * adapt.costs.handover.weight);
}

/* Before the link has told how slow it is, its backlog is a reason to send less. */
static void
first_backlog_is_answered(void)
{
	px_adapt	adapt;
	px_link_sample begins = {true, 0, 0, 0};
	px_link_sample slow = {true, 1e6, 1000, 0};
	uint32_t	smaller = 0;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 3; i++)
		px_adapt_learn_batch(&adapt, px_adapt_choose(&adapt, 1e6), 1e6, 0.195e6, 0.7e6, 0.65e6, 0.65e6, true);
	CHECK_EQ(adapt.current, PX_CHOICE_LZ4);

	px_adapt_learn_link(&adapt, &begins);
	CHECK_EQ(px_adapt_choose(&adapt, 1e6), PX_CHOICE_ZSTD);
	px_adapt_learn_link(&adapt, &begins);
	CHECK_EQ(px_adapt_choose(&adapt, 1e6), PX_CHOICE_LZ4);
	for (int i = 0; i < 6; i++)
	{
		px_adapt_learn_link(&adapt, &slow);
		smaller += px_adapt_choose(&adapt, 4096) == PX_CHOICE_ZSTD;
	}
	CHECK_EQ(smaller, 2);
}

/* Where packets have to wait for a core, a link stands still for milliseconds. */
static void
stall_does_not_make_link_slow(void)
{
	px_adapt	adapt;
	px_link_sample quiet = {false, 1e6, 200e3, 0};
	px_link_sample stall = {true, 2e6, 0, 0};

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 20; i++)
	{
		px_adapt_learn_batch(&adapt, px_adapt_choose(&adapt, 1e6), 1e6, 0.3e6, 0.7e6, 1e6, 1e6, true);
		px_adapt_learn_link(&adapt, &quiet);
	}
	for (int i = 0; i < 3; i++)
		px_adapt_learn_link(&adapt, &stall);
	CHECK(adapt.costs.link_ns == 0);

	/* But one that goes on standing still is. */
	for (int i = 0; i < 3; i++)
		px_adapt_learn_link(&adapt, &stall);
	CHECK(adapt.costs.link_ns > 0);
}

static void
outlier_does_not_make_choice_dear(void)
{
	px_adapt	adapt;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 10; i++)
		px_adapt_learn_batch(&adapt, PX_CHOICE_ENCODED, 1e6, 0.9e6, 0.7e6, 0.3e6, 0.3e6, true);
	px_adapt_learn_batch(&adapt, PX_CHOICE_ENCODED, 1e6, 0.9e6, 0.7e6, 20e6, 20e6, true);
	CHECK(adapt.costs.choices[PX_CHOICE_ENCODED].cpu.sum < 0.4 * adapt.costs.choices[PX_CHOICE_ENCODED].cpu.weight);

	/* What stays so is believed. */
	for (int i = 0; i < 20; i++)
		px_adapt_learn_batch(&adapt, PX_CHOICE_ENCODED, 1e6, 0.9e6, 0.7e6, 2e6, 2e6, true);
	CHECK(adapt.costs.choices[PX_CHOICE_ENCODED].cpu.sum > 1.9 * adapt.costs.choices[PX_CHOICE_ENCODED].cpu.weight);
}

static void
small_batches_have_no_codec(void)
{
	px_adapt	adapt;

	px_adapt_init(&adapt, 15, 1.0, 6.25e6, false, 0);
	CHECK_EQ(px_adapt_choose(&adapt, PX_CODEC_RAW_NBYTES_MIN - 1), PX_CHOICE_ENCODED);
	CHECK_EQ(px_adapt_choose(&adapt, PX_CODEC_RAW_NBYTES_MIN), PX_CHOICE_ZSTD);
}

static void
random_choices_are_all_allowed_ones(void)
{
	uint32_t	counts[PX_CHOICE_COUNT] = {0};
	px_adapt	adapt;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 1);
	for (int i = 0; i < 1000; i++)
		counts[px_adapt_choose(&adapt, 1)]++;
	for (int c = 0; c < PX_CHOICE_COUNT; c++)
		CHECK(counts[c] > 150);

	px_adapt_init(&adapt, 1u << PX_CHOICE_LZ4, 1.0, 0, false, 7);
	for (int i = 0; i < 1000; i++)
	{
		px_choice	choice = px_adapt_choose(&adapt, 1e6);

		CHECK(choice == PX_CHOICE_PLAIN || choice == PX_CHOICE_LZ4);
	}
}

int
main(void)
{
	RUN(follows_the_link);
	RUN(is_as_good_as_the_best);
	RUN(settles_where_choices_meet);
	RUN(probes_are_cheap);
	RUN(short_streams_follow_the_last);
	RUN(a_wrong_lesson_is_forgotten);
	RUN(a_slow_receiver_is_not_a_slow_link);
	RUN(a_blind_sender_believes_the_receiver);
	RUN(cpu_is_limited);
	RUN(many_senders_share_the_link);
	RUN(few_cores_do_not_make_senders_fast);
	RUN(idle_senders_are_none);
	RUN(senders_probe_in_turns);
	RUN(dear_first_batches_are_tried_again);
	RUN(dear_first_frames_are_forgotten);
	RUN(first_backlog_is_answered);
	RUN(stall_does_not_make_link_slow);
	RUN(outlier_does_not_make_choice_dear);
	RUN(small_batches_have_no_codec);
	RUN(random_choices_are_all_allowed_ones);
	return unit_done();
}
