/*-------------------------------------------------------------------------
 *
 * test_adapt.c
 *		Tests of the choice by measurement, on simulated links.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/adapt.h"
#include "simulator.h"
#include "unit.h"

/* What a failed check is reported with. */
static void
print_sim(const sim *s, double best)
{
	printf("# %s at %g Gbit/s: %.1f ms, best %.1f; "
		   "plain %u, encoded %u, lz4 %u, zstd %u\n",
		   s->data->name, s->link / GBIT, s->now / 1e6, best / 1e6,
		   s->counts[PX_CHOICE_PLAIN], s->counts[PX_CHOICE_ENCODED],
		   s->counts[PX_CHOICE_LZ4], s->counts[PX_CHOICE_ZSTD]);
}

/* A batch of 1 MB was made, and took cpu_ns to encode. */
static void
learn_batch(px_adapt *adapt, px_choice choice, double wire_nbytes,
			double cpu_ns, bool typical)
{
	px_adapt_learn_batch(adapt, choice, 1e6, wire_nbytes, 0.7e6, cpu_ns,
						 cpu_ns, typical);
}

/* Is the rate that is reported of a link of 50 Mbit/s within share of that? */
static bool
rate_is_right(const sim *s, double share)
{
	double		rate = px_link_rate(&s->shared.adapt.link);

	return rate > (1 - share) * 6.25e6 && rate < (1 + share) * 6.25e6;
}

/* 1 Gbit/s, 50 Mbit/s, and back. */
static void
follows_the_link(void)
{
	sim			s;
	uint32_t	before;

	sim_init(&s, &sim_lineitem, 1 * GBIT, -1);
	(void) sim_run(&s, 300);
	CHECK(s.shared.adapt.current != PX_CHOICE_ZSTD);

	s.link = 50 * MBIT;
	sim_run(&s, 20);
	CHECK_EQ(s.shared.adapt.current, PX_CHOICE_ZSTD);
	before = s.counts[PX_CHOICE_ZSTD];
	sim_run(&s, 100);
	CHECK(s.counts[PX_CHOICE_ZSTD] - before >= 98);
	CHECK(rate_is_right(&s, 0.1));

	s.link = 1 * GBIT;
	sim_run(&s, 20);
	CHECK(s.shared.adapt.current != PX_CHOICE_ZSTD);
	before = s.counts[PX_CHOICE_ZSTD];
	sim_run(&s, 200);
	CHECK(s.counts[PX_CHOICE_ZSTD] - before <= 4);
}

/*
 * What scripts/check_auto.py does on a real link: 1 Gbit/s, three seconds of
 * 50 Mbit/s, and back.  How many batches cross the slow link follows from the
 * bytes that do.  But for 20, and those that wait in the socket's buffer when
 * the rate changes, they must be zstd's, and no others.
 */
static void
follows_a_link_that_changes_in_mid_scan(void)
{
	static const sim_data events = {
		"events", 320e3, 1.2, {0.1, 0.45, 0.65, 1.0}, {1, 0.2, 0.13, 0.09}
	};
	const double lz4_nbytes = 320e3 * 0.13;
	const double zstd_nbytes = 320e3 * 0.09;
	const double waiting = SIM_SEND_BUFFER / zstd_nbytes;

	for (uint64_t noise = 0; noise < 8; noise++)
	{
		sim			s;
		double		slow_nbytes;
		double		until;
		double		zstd;
		double		least;
		double		most;

		sim_init(&s, &events, 1 * GBIT, -1);
		s.noise = noise;
		sim_run(&s, 300);
		s.link = 50 * MBIT;
		zstd = s.counts[PX_CHOICE_ZSTD];
		slow_nbytes = s.sent;
		for (until = s.now + 3e9; s.now < until;)
			sim_run(&s, 1);
		slow_nbytes = s.sent - slow_nbytes;
		s.link = 1 * GBIT;
		sim_run(&s, 600);
		zstd = s.counts[PX_CHOICE_ZSTD] - zstd;
		least = (slow_nbytes - (20 + waiting) * lz4_nbytes) / zstd_nbytes;
		most = slow_nbytes / zstd_nbytes + 20 + waiting;
		if (!CHECK(zstd >= least) || !CHECK(zstd <= most))
			printf("# noise %d: %.1f MB, %g batches by zstd\n",
				   (int) noise, slow_nbytes / 1e6, zstd);
	}
}

/* In the session transport there is never a backlog. */
static void
pieces_follow_the_link(void)
{
	for (uint64_t noise = 0; noise < 4; noise++)
	{
		sim			s;

		sim_init(&s, &sim_lineitem, 10 * GBIT, -1);
		s.noise = noise;
		s.round_trip_ns = 200e3;
		for (int i = 0; i < 100; i++)
			sim_piece(&s);
		CHECK(s.shared.adapt.current < PX_CHOICE_ZSTD);

		s.link = 50 * MBIT;
		for (int i = 0; i < 20; i++)
			sim_piece(&s);
		CHECK_EQ(s.shared.adapt.current, PX_CHOICE_ZSTD);
		for (int i = 0; i < 20; i++)
			sim_piece(&s);
		CHECK(rate_is_right(&s, 0.2));

		s.link = 10 * GBIT;
		for (int i = 0; i < 20; i++)
			sim_piece(&s);
		CHECK(s.shared.adapt.current < PX_CHOICE_ZSTD);
	}
}

/*
 * The receiver of pieces has something else to do.  It acknowledges late what
 * has arrived at once.
 */
static void
a_delayed_acknowledgement_is_not_a_slow_link(void)
{
	sim			s;

	sim_init(&s, &sim_lineitem, 10 * GBIT, -1);
	s.round_trip_ns = 200e3;
	s.consume_ns = 200;
	for (int i = 0; i < 100; i++)
		sim_piece(&s);
	CHECK(s.shared.adapt.current < PX_CHOICE_ZSTD);
	CHECK(s.counts[PX_CHOICE_ZSTD] < 20);
}

/* Workers have no socket: they follow what the leader learns of it. */
static void
workers_follow_what_the_leader_sees(void)
{
	for (uint64_t noise = 0; noise < 4; noise++)
	{
		sim			s;
		uint32_t	zstd;

		sim_init(&s, &sim_lineitem, 10 * GBIT, -1);
		s.noise = noise;
		sim_begin_workers(&s, 3);
		for (int i = 0; i < 300; i++)
			sim_forward(&s);
		CHECK(s.shared.adapt.current < PX_CHOICE_ZSTD);

		s.link = 50 * MBIT;
		for (int i = 0; i < 30; i++)
			sim_forward(&s);
		zstd = s.counts[PX_CHOICE_ZSTD];
		for (int i = 0; i < 60; i++)
			sim_forward(&s);
		CHECK(s.counts[PX_CHOICE_ZSTD] - zstd >= 55);

		/* Each of the four samples less often than a lone sender does. */
		s.link = 10 * GBIT;
		for (int i = 0; i < 600; i++)
			sim_forward(&s);
		CHECK(s.shared.adapt.current < PX_CHOICE_ZSTD);
	}
}

/* What may be out of date is measured again. */
static void
follows_data_that_change(void)
{
	sim_data	data = sim_lineitem;
	sim			s;

	data.ratio[PX_CHOICE_ZSTD] = data.ratio[PX_CHOICE_LZ4] * 0.98;
	sim_init(&s, &data, 200 * MBIT, -1);
	sim_run(&s, 200);
	CHECK_EQ(s.shared.adapt.current, PX_CHOICE_LZ4);
	data.ratio[PX_CHOICE_ZSTD] = data.ratio[PX_CHOICE_LZ4] * 0.85;
	sim_run(&s, 100);
	CHECK_EQ(s.shared.adapt.current, PX_CHOICE_ZSTD);
}

/*
 * Interrupts, memory that is new, encodings that are looked for, and packets
 * that wait for a core make measurements vary.
 */
static void
disturbances_cost_little(void)
{
	static const double links[] = {40 * GBIT, 1 * GBIT, 200 * MBIT, 50 * MBIT};

	for (unsigned d = 0; d < lengthof(sim_all_data); d++)
		for (unsigned l = 0; l < lengthof(links); l++)
		{
			const sim_data *data = sim_all_data[d];
			int			batches = (int) (400e6 / data->batch_nbytes);
			double		best = 0;
			double		ns;
			sim			s;

			for (int fixed = -1; fixed < PX_CHOICE_COUNT; fixed++)
			{
				sim_init(&s, sim_all_data[d], links[l], fixed);
				s.noise = d * 10 + l + 1;
				ns = sim_stream(&s, batches);
				if (fixed >= 0 && (best == 0 || ns < best))
					best = ns;
			}
			sim_init(&s, sim_all_data[d], links[l], -1);
			s.noise = d * 10 + l + 1;
			ns = sim_stream(&s, batches);
			if (!CHECK(ns < best * 1.10))
				print_sim(&s, best);
		}
}

/* Whatever the data and the link: as good as the best, and as plain. */
static void
is_as_good_as_the_best(void)
{
	static const double links[] = {40 * GBIT, 1 * GBIT, 200 * MBIT, 50 * MBIT};

	for (unsigned d = 0; d < lengthof(sim_all_data); d++)
		for (unsigned l = 0; l < lengthof(links); l++)
		{
			const sim_data *data = sim_all_data[d];
			int			batches = (int) (120e6 / data->batch_nbytes);
			double		best = 0;
			double		plain = 0;
			double		ns;
			sim			s;

			for (int fixed = PX_CHOICE_PLAIN; fixed < PX_CHOICE_COUNT; fixed++)
			{
				sim_init(&s, sim_all_data[d], links[l], fixed);
				ns = sim_stream(&s, batches);
				if (fixed == PX_CHOICE_PLAIN)
					plain = ns;
				if (best == 0 || ns < best)
					best = ns;
			}
			sim_init(&s, sim_all_data[d], links[l], -1);
			ns = sim_stream(&s, batches);
			if (!CHECK(ns < best * 1.10) || !CHECK(ns < plain * 1.05))
				print_sim(&s, best);
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
			sim_init(&s, &sim_lineitem, mbit * MBIT, fixed);
			ns = sim_stream(&s, 1000);
			if (best == 0 || ns < best)
				best = ns;
		}
		sim_init(&s, &sim_lineitem, mbit * MBIT, -1);
		ns = sim_stream(&s, 1000);
		if (!CHECK(ns < best * 1.08))
			print_sim(&s, best);
	}
}

/* Of the sender and the link, per raw byte. */
static double
slowest_stage_ns(const sim *s, px_choice choice)
{
	double		ratio = s->data->ratio[choice];

	return Max(s->data->fill_ns + s->data->cpu_ns[choice] + 0.3 * ratio,
			   ratio / s->link);
}

static void
probes_are_cheap(void)
{
	static const double links[] = {40 * GBIT, 1 * GBIT, 200 * MBIT, 50 * MBIT};

	for (unsigned d = 0; d < lengthof(sim_all_data); d++)
		for (unsigned l = 0; l < lengthof(links); l++)
		{
			double		total = 0;
			double		waste = 0;
			sim			s;

			/* By true costs: what took longer than the current choice. */
			sim_init(&s, sim_all_data[d], links[l], -1);
			for (int i = 0; i < 1000; i++)
			{
				const sim_data *data = s.data;
				double		now = s.now;
				px_choice	current = s.shared.adapt.current;
				double		usual;
				double		took;

				sim_run(&s, 1);
				total += s.now - now;
				if (s.choice == s.shared.adapt.current || i < 10)
					continue;
				usual = slowest_stage_ns(&s, current);
				took = slowest_stage_ns(&s, s.choice);
				waste += Max(took - usual, 0) * data->batch_nbytes;
			}
			if (!CHECK(waste < 0.02 * total))
				printf("# %s at %g Gbit/s: %.1f of %.1f ms\n", s.data->name,
					   links[l] / GBIT, waste / 1e6, total / 1e6);
		}
}

/* A short stream begins with the last one's link rate, else as fast. */
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

/*
 * How much longer streams take that choose, and begin with a link rate that is
 * known (Mbit/s), than those of the best choice.  On a machine that is
 * disturbed, and on one that is not.
 */
static double
loss_with_rate(const sim_data *data, double link, double known, int batches)
{
	double		ns[PX_CHOICE_COUNT + 1] = {0};
	double		best = 0;

	for (uint64_t noise = 0; noise < 4; noise++)
	{
		for (int fixed = -1; fixed < PX_CHOICE_COUNT; fixed++)
		{
			sim			s;

			sim_init(&s, data, link, fixed);
			px_adapt_init(&s.shared.adapt, 15, 1.0, known * MBIT * 1e9, false,
						  0);
			s.noise = noise;
			ns[fixed + 1] += sim_stream(&s, batches);
		}
	}
	for (int fixed = 0; fixed < PX_CHOICE_COUNT; fixed++)
		if (best == 0 || ns[fixed + 1] < best)
			best = ns[fixed + 1];
	return ns[0] / best;
}

/* Streams that know a slow link lose next to nothing, however short. */
static void
a_known_link_is_as_good_as_the_best(void)
{
	for (unsigned d = 0; d < lengthof(sim_all_data); d++)
		for (double nbytes = 4e6; nbytes <= 128e6; nbytes *= 2)
		{
			const sim_data *data = sim_all_data[d];
			int			batches = (int) (nbytes / data->batch_nbytes);

			CHECK(loss_with_rate(data, 50 * MBIT, 50, batches) < 1.01);
			CHECK(loss_with_rate(data, 200 * MBIT, 200, batches) < 1.01);

			/* Here CPU and link take about the same time. */
			CHECK(nbytes < 8e6 ||
				  loss_with_rate(data, 1 * GBIT, 1000, batches) < 1.06);
		}
}

/* It was measured while others used the link, say. */
static void
a_wrong_link_rate_costs_little(void)
{
	for (unsigned d = 0; d < lengthof(sim_all_data); d++)
	{
		const sim_data *data = sim_all_data[d];
		int			batches = (int) (120e6 / data->batch_nbytes);

		CHECK(loss_with_rate(data, 200 * MBIT, 10, batches) < 1.01);
		CHECK(loss_with_rate(data, 1 * GBIT, 10, batches) < 1.14);
		CHECK(loss_with_rate(data, 200 * MBIT, 10000, batches) < 1.12);
	}
}

/* Queues on the way take some data faster than the link carries them. */
static void
a_burst_does_not_make_a_known_link_fast(void)
{
	px_link_sample sample = {.ns = 1e6, .nbytes = 200e3};
	px_costs	costs = {.senders = 1};
	px_link		link;

	px_link_init(&link, &costs, 6.25e6, false);
	px_link_learn(&link, &costs, PX_CHOICE_ZSTD, &sample);
	CHECK(costs.link_ns > 159);
	for (int i = 0; i < 20; i++)
		px_link_learn(&link, &costs, PX_CHOICE_ZSTD, &sample);
	CHECK(costs.link_ns < 10);
}

static void
what_is_under_way_has_not_arrived(void)
{
	px_clocks	now = {1000000000, 0};
	px_socket	socket = {0};
	px_adapt_shared shared = {0};
	px_sender	sender;

	px_adapt_init(&shared.adapt, 15, 1.0, 6.25e6, false, 0);
	px_sender_init(&sender, false);
	for (int i = 0; i < 6; i++)
	{
		px_sender_called(&sender, &shared, now);
		(void) px_sender_choose(&sender, &shared);
		now.wall_ns += 1000000;
		(void) px_sender_filled(&sender, &shared, now, &socket, 1e6);
		now.wall_ns += 1000000;
		now.cpu_ns += 1000000;
		px_sender_encoded(&sender, &shared, now, &socket, 1e6, 2e5, true);
	}
	CHECK(shared.adapt.costs.link_ns > 159);
}

/* The rate of the last stream is forgotten when the link has another. */
static void
a_wrong_link_rate_is_forgotten(void)
{
	sim			s;

	sim_init(&s, &sim_lineitem, 10 * GBIT, -1);
	px_adapt_init(&s.shared.adapt, 15, 1.0, 6.25e6, false, 0);
	sim_run(&s, 1);
	CHECK_EQ(s.choice, PX_CHOICE_ZSTD);
	sim_run(&s, 60);
	CHECK(s.shared.adapt.current < PX_CHOICE_ZSTD);
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

		sim_init(&s, &sim_lineitem, 10 * GBIT, PX_CHOICE_PLAIN);
		s.consume_ns = 5;
		plain = sim_stream(&s, 500);

		sim_init(&s, &sim_lineitem, 10 * GBIT, -1);
		s.consume_ns = 5;
		s.blind = blind;
		ns = sim_stream(&s, 500);
		CHECK(s.counts[PX_CHOICE_ZSTD] < 20);
		CHECK(ns < plain * 1.02);
	}
}

/* A sender that cannot tell goes by whether the last receiver waited. */
static void
a_blind_sender_goes_by_the_last_receiver(void)
{
	sim			s;

	sim_init(&s, &sim_lineitem, 50 * MBIT, -1);
	px_adapt_init(&s.shared.adapt, 15, 1.0, 0, true, 0);
	s.blind = true;
	sim_run(&s, 40);
	CHECK_EQ(s.shared.adapt.current, PX_CHOICE_ZSTD);
}

static void
cpu_is_limited(void)
{
	static const double limits[] = {0.0, 0.05, 0.2, 0.35};

	for (unsigned i = 0; i < lengthof(limits); i++)
	{
		sim			s;

		sim_init(&s, &sim_lineitem, 400 * MBIT, -1);
		px_adapt_init(&s.shared.adapt, 15, limits[i], 0, false, 0);
		(void) sim_stream(&s, 500);

		/* Plain columns are always allowed. */
		if (!CHECK(s.encoding_ns < limits[i] * 1.05 * s.now ||
				   s.counts[PX_CHOICE_PLAIN] > 490))
			printf("# limit %g: %g\n", limits[i], s.encoding_ns / s.now);
	}
}

/*
 * LZ4 and zstd over 1 Gbit/s.  A sender gets a core for one part of contention
 * of the time.
 */
static void
learn_lz4_and_zstd(px_adapt *adapt, double contention)
{
	px_link_sample sample = {true, 1e6, 0.125e6, 0};

	px_adapt_init(adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 10; i++)
	{
		px_adapt_learn_batch(adapt, PX_CHOICE_LZ4, 1e6, 0.195e6, 0.7e6,
							 0.65e6, 0.65e6 * contention, true);
		px_adapt_learn_batch(adapt, PX_CHOICE_ZSTD, 1e6, 0.165e6, 0.7e6,
							 1.0e6, 1.0e6 * contention, true);
		px_adapt_learn_link(adapt, &sample);
	}
}

/* Many senders are fast together: then the link is the bottleneck. */
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
idle_senders_do_not_count(void)
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
	learn_batch(&adapt, PX_CHOICE_LZ4, 0.2e6, 1e6, true);
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
expensive_first_batches_are_tried_again(void)
{
	px_adapt	adapt;
	int			tried = 0;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 40; i++)
	{
		if (px_adapt_choose(&adapt, 1e6) == PX_CHOICE_ENCODED)
		{
			double		cpu_ns = tried < 2 ? 0.9e6 : 0.2e6;

			learn_batch(&adapt, PX_CHOICE_ENCODED, 0.9e6, cpu_ns, tried >= 2);
			tried++;
		}
		else
			learn_batch(&adapt, PX_CHOICE_LZ4, 0.2e6, 1.5e6, true);
		px_costs_learn_handover(&adapt.costs, 0.2e6, 0.2e6, true);
	}
	CHECK(tried > 2);
	CHECK_EQ(adapt.current, PX_CHOICE_ENCODED);
}

/* The same of frames that are the first of their size. */
static void
expensive_first_frames_are_forgotten(void)
{
	px_adapt	adapt;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	px_costs_learn_handover(&adapt.costs, 1e6, 5e6, false);
	px_costs_learn_handover(&adapt.costs, 1e6, 1e6, true);
	CHECK(px_mean_get(&adapt.costs.handover) < 1.2);
}

/* Before the link's rate is known, a backlog is a reason to send less. */
static void
first_backlog_is_answered(void)
{
	px_adapt	adapt;
	px_link_sample begins = {true, 0, 0, 0};
	px_link_sample slow = {true, 1e6, 1000, 0};
	uint32_t	smaller = 0;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 3; i++)
		learn_batch(&adapt, px_adapt_choose(&adapt, 1e6), 0.195e6, 0.65e6,
					true);
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

/* A link stands still for milliseconds while packets wait for a core. */
static void
stall_does_not_make_link_slow(void)
{
	px_adapt	adapt;
	px_link_sample quiet = {false, 1e6, 200e3, 0};
	px_link_sample stall = {true, 2e6, 0, 0};

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 20; i++)
	{
		learn_batch(&adapt, px_adapt_choose(&adapt, 1e6), 0.3e6, 1e6, true);
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

/* How many samples without a backlog, until 50 Mbit/s are not believed? */
static int
count_until_faster(px_adapt *adapt)
{
	px_link_sample quiet = {false, 1e6, 1e3, 0};
	int			n = 0;

	for (; n < 10000 && adapt->costs.link_ns > 120; n++)
		px_adapt_learn_link(adapt, &quiet);
	return n;
}

/* However often the link was taken to be faster, and was not. */
static void
a_faster_link_is_noticed_at_last(void)
{
	px_adapt	adapt;
	px_link_sample slow = {true, 40e6, 250e3, 0};
	int			n;

	px_adapt_init(&adapt, 15, 1.0, 6.25e6, false, 0);
	for (int i = 0; i < 6; i++)
	{
		(void) count_until_faster(&adapt);
		for (int j = 0; j < 4; j++)
			px_adapt_learn_link(&adapt, &slow);
		CHECK(adapt.costs.link_ns > 120);
	}
	n = count_until_faster(&adapt);
	CHECK(n > 100);
	CHECK(n < 140);
}

static void
outlier_does_not_make_a_choice_expensive(void)
{
	px_adapt	adapt;

	px_adapt_init(&adapt, 15, 1.0, 0, false, 0);
	for (int i = 0; i < 10; i++)
		learn_batch(&adapt, PX_CHOICE_ENCODED, 0.9e6, 0.3e6, true);
	learn_batch(&adapt, PX_CHOICE_ENCODED, 0.9e6, 20e6, true);
	CHECK(px_costs_expect(&adapt.costs, PX_CHOICE_ENCODED).cpu_ns < 0.4);

	/* What stays so is believed. */
	for (int i = 0; i < 20; i++)
		learn_batch(&adapt, PX_CHOICE_ENCODED, 0.9e6, 2e6, true);
	CHECK(px_costs_expect(&adapt.costs, PX_CHOICE_ENCODED).cpu_ns > 1.9);
}

static void
small_batches_have_no_codec(void)
{
	px_adapt	adapt;

	px_adapt_init(&adapt, 15, 1.0, 6.25e6, false, 0);
	CHECK_EQ(px_adapt_choose(&adapt, PX_CODEC_RAW_NBYTES_MIN - 1),
			 PX_CHOICE_ENCODED);
	CHECK_EQ(px_adapt_choose(&adapt, PX_CODEC_RAW_NBYTES_MIN),
			 PX_CHOICE_ZSTD);
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
	RUN(follows_a_link_that_changes_in_mid_scan);
	RUN(pieces_follow_the_link);
	RUN(a_delayed_acknowledgement_is_not_a_slow_link);
	RUN(workers_follow_what_the_leader_sees);
	RUN(follows_data_that_change);
	RUN(disturbances_cost_little);
	RUN(is_as_good_as_the_best);
	RUN(settles_where_choices_meet);
	RUN(probes_are_cheap);
	RUN(short_streams_follow_the_last);
	RUN(a_known_link_is_as_good_as_the_best);
	RUN(a_wrong_link_rate_costs_little);
	RUN(a_burst_does_not_make_a_known_link_fast);
	RUN(what_is_under_way_has_not_arrived);
	RUN(a_wrong_link_rate_is_forgotten);
	RUN(a_slow_receiver_is_not_a_slow_link);
	RUN(a_blind_sender_goes_by_the_last_receiver);
	RUN(cpu_is_limited);
	RUN(many_senders_share_the_link);
	RUN(few_cores_do_not_make_senders_fast);
	RUN(idle_senders_do_not_count);
	RUN(senders_probe_in_turns);
	RUN(expensive_first_batches_are_tried_again);
	RUN(expensive_first_frames_are_forgotten);
	RUN(first_backlog_is_answered);
	RUN(stall_does_not_make_link_slow);
	RUN(a_faster_link_is_noticed_at_last);
	RUN(outlier_does_not_make_a_choice_expensive);
	RUN(small_batches_have_no_codec);
	RUN(random_choices_are_all_allowed_ones);
	return unit_done();
}
