/*-------------------------------------------------------------------------
 *
 * adapt.c
 *		What a sender has learned, and how the next batch is to be compressed.
 *
 * See adapt.h for the model.  A choice that was not tried yet is assumed to be
 * as good as it can be; if it then promises to win it is tried on one batch, a
 * probe, and from then on judged by what it did.  What probes waste is limited
 * by a credit that grows with the stream.
 *
 * The link's rate can be measured only while there is a backlog.  Without one
 * it is as it last was, for a while, and then taken to be faster by and by: if
 * that was wrong, a backlog says so, and the next attempt comes later.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/adapt.h"

/* Costs are averaged over some batches of the usual size, 1 MB at most. */
#define PX_COST_MEMORY_NBYTES	(4.0 * 1024 * 1024)

/* How busy the CPU is, over some batches. */
#define PX_WORK_MEMORY_NS		20e6

/* The link over some round trips of a network nearby; for reports over longer. */
#define PX_LINK_MEMORY_NS		100e6
#define PX_REPORT_MEMORY_NS		300e6
#define PX_REPORT_NS_MIN		20e6

/*
 * Less says nothing about a link: timers jitter by about a millisecond, and
 * acknowledgements come in bursts, for several packets of 64 kB at a time.  Of
 * a link that was not in the way a moment ago it takes more to believe that it has
 * become slow: where cores are few, packets wait for one.
 */
#define PX_LINK_KNOWN_NS		1e6
#define PX_LINK_DOUBT_NS		8e6
#define PX_LINK_BURST_NBYTES	(256.0 * 1024)

/*
 * From fewer raw bytes nothing is known of a choice: the first ones are dear.  And
 * from fewer than that, not for sure: it is worth another try.
 */
#define PX_COST_KNOWN_NBYTES	(64.0 * 1024)
#define PX_COST_SETTLED_NBYTES	(256.0 * 1024)

/* What costs more than so many times the mean does not do so again. */
#define PX_OUTLIER_FACTOR		2.0

/* A batch that was dear for once counts so much less: it takes two to know. */
#define PX_UNSETTLED_WEIGHT		(1.0 / 32)

/* Decoding takes a quarter of encoding, or less: see bench/README.md. */
#define PX_DECODE_SHARE			0.25

/*
 * Stages do not overlap perfectly, and the faster ones cost CPU too: besides
 * the slowest stage, so much of all of them counts.
 */
#define PX_SUM_SHARE			(1.0 / 16)

/* What must be gained to change, in fractions of the time. */
#define PX_GAIN_MIN				0.03

/* Probes may waste so much of the time. */
#define PX_PROBE_SHARE			(1.0 / 64)
#define PX_PROBE_NBYTES			(256.0 * 1024)	/* in the beginning */

/* Raw bytes before the first probe, and batches between two. */
#define PX_PROBE_AFTER_NBYTES	(2.0 * 1024 * 1024)
#define PX_PROBE_INTERVAL		3

/*
 * Batches for which it may stay unknown whether the link is slow, and those of
 * them that may be sent smaller in case.
 */
#define PX_UNCERTAIN_MAX		8
#define PX_CAUTIOUS_MAX			3

/* After so many batches what is known of a choice may be out of date ... */
#define PX_STALE_BATCHES		64

/* ... by so much; an untried zstd may be so much smaller than lz4, and dearer. */
#define PX_STALE_FACTOR			0.8
#define PX_ZSTD_RATIO_MIN		0.7
#define PX_ZSTD_CPU_MIN			1.25

/* What a choice may cost more than those that it includes. */
#define PX_DEARER_FACTOR		2.5

/* Ratio that encodings can be hoped to reach where none was tried. */
#define PX_ENCODED_RATIO_MIN	0.1

/* Samples of each sender without a backlog before the link is taken to be faster. */
#define PX_QUIET_MIN			8
#define PX_QUIET_MAX			1024
#define PX_QUIET_DECAY			0.9

/* Rates that differ by less are the same; or so over a longer time. */
#define PX_SAME_RATE			0.7
#define PX_SIMILAR_RATE			0.5

/*
 * What choices are taken to cost, in nanoseconds per raw byte, and to save
 * until the first batch is made; for links that are known already.  TPC-H
 * orders on the machine of bench/README.md.
 */
static const double px_usual_cpu[PX_CHOICE_COUNT] = {0.1, 0.5, 0.8, 1.3};
static const double px_usual_ratio[PX_CHOICE_COUNT] = {1.0, 0.45, 0.3, 0.24};

static void
px_mean_add(px_mean *mean, double amount, double value, double memory)
{
	double		keep = memory / (memory + amount);

	mean->amount = mean->amount * keep + amount;
	mean->value = mean->value * keep + value;
}

static double
px_mean_of(const px_mean *mean)
{
	return mean->amount > 0 ? mean->value / mean->amount : 0;
}

/*
 * The same for a cost: an interrupt's time is among what was measured.  What was
 * dear for once counts as if there were less of it: the cost per byte is the same.
 */
static void
px_cost_add(px_mean *mean, double amount, double value, bool settled)
{
	double		weight = settled ? 1.0 : PX_UNSETTLED_WEIGHT;

	amount *= weight;
	value *= weight;
	if (mean->amount >= PX_COST_KNOWN_NBYTES && mean->value > 0)
		value = Min(value, amount * px_mean_of(mean) * PX_OUTLIER_FACTOR);
	px_mean_add(mean, amount, value, PX_COST_MEMORY_NBYTES);
}

void
px_adapt_init(px_adapt *adapt, uint32_t allowed, double cpu_limit,
			  double link_rate, bool receiver_waits, uint64_t seed)
{
	memset(adapt, 0, sizeof(*adapt));
	adapt->allowed = allowed | (1u << PX_CHOICE_PLAIN);
	adapt->cpu_limit = cpu_limit;
	adapt->receiver_waits = receiver_waits;
	adapt->random = seed > 0;
	adapt->seed = seed;
	adapt->senders = 1;
	adapt->quiet_max = PX_QUIET_MIN;
	adapt->credit = PX_PROBE_NBYTES;
	if (link_rate > 0)
	{
		adapt->link_ns = adapt->drain_ns = 1e9 / link_rate;
		adapt->has_told = true;
	}

	/* As mode fast does, until something speaks against it. */
	adapt->current = PX_CHOICE_LZ4;
}

static bool
px_is_allowed(const px_adapt *adapt, px_choice choice)
{
	return (adapt->allowed & (1u << choice)) != 0;
}

static bool
px_is_known(const px_adapt *adapt, px_choice choice)
{
	return adapt->costs[choice].cpu.amount >= PX_COST_KNOWN_NBYTES;
}

/* What a choice costs the sender, and what it makes of the data. */
typedef struct px_expected
{
	double		cpu_ns;			/* per raw byte */
	double		ratio;
} px_expected;

/* As measured; or, as long as nothing was, as usual. */
static px_expected
px_known(const px_adapt *adapt, px_choice choice)
{
	const px_choice_cost *cost = &adapt->costs[choice];
	px_expected expected = {px_mean_of(&cost->cpu), px_mean_of(&cost->wire)};

	if (!px_is_known(adapt, choice))
	{
		expected.cpu_ns = px_usual_cpu[choice];
		expected.ratio = px_usual_ratio[choice];
	}
	return expected;
}

/*
 * The best that can be hoped for.  A choice that was not tried costs no less
 * CPU than what it includes, and saves no more than what includes it.
 */
static px_expected
px_hoped(const px_adapt *adapt, px_choice choice)
{
	px_expected hoped = {0, PX_ENCODED_RATIO_MIN};

	if (px_is_known(adapt, choice))
	{
		hoped = px_known(adapt, choice);
		hoped.cpu_ns *= PX_STALE_FACTOR;
		if (choice != PX_CHOICE_PLAIN)
			hoped.ratio *= PX_STALE_FACTOR;
		return hoped;
	}

	for (int c = PX_CHOICE_PLAIN; c < PX_CHOICE_COUNT; c++)
	{
		px_expected known = px_known(adapt, (px_choice) c);

		if (!px_is_known(adapt, (px_choice) c))
			continue;
		if (c == PX_CHOICE_LZ4 && choice == PX_CHOICE_ZSTD)
		{
			known.cpu_ns *= PX_ZSTD_CPU_MIN;
			hoped.ratio = Max(hoped.ratio, known.ratio * PX_ZSTD_RATIO_MIN);
		}
		if (c < (int) choice)
			hoped.cpu_ns = Max(hoped.cpu_ns, known.cpu_ns);
		else
			hoped.ratio = Max(hoped.ratio, known.ratio);
	}
	if (choice == PX_CHOICE_PLAIN)
		hoped.ratio = 1.0;
	return hoped;
}

/* How long work takes that needs the CPU for a nanosecond: it has to share that. */
static double
px_contention(const px_adapt *adapt)
{
	return Max(px_mean_of(&adapt->contention), 1.0);
}

/*
 * How many times as fast all senders are as one.  Not all may get to work: frames
 * of workers pass a small queue, and a leader that encodes seldom looks into it.
 */
static double
px_speedup(const px_adapt *adapt)
{
	return adapt->busiest_nbytes > 0 ? adapt->made_nbytes / adapt->busiest_nbytes : adapt->senders;
}

/* Nanoseconds per raw byte of the slowest stage. */
static double
px_bottleneck(const px_adapt *adapt, px_expected expected, double *sum)
{
	double		handing = px_mean_of(&adapt->handing) * expected.ratio;
	double		work = (expected.cpu_ns + handing) * px_contention(adapt);
	double		sender = (px_mean_of(&adapt->fill) + work) / px_speedup(adapt);
	double		link = adapt->link_ns * expected.ratio;
	double		receiver = adapt->consume_ns + expected.cpu_ns * PX_DECODE_SHARE + handing;

	*sum = sender + link + receiver;
	return Max(Max(sender, link), receiver);
}

/* What is compared: less is better. */
static double
px_score(const px_adapt *adapt, px_expected expected)
{
	double		sum;
	double		slowest = px_bottleneck(adapt, expected, &sum);

	return slowest + sum * PX_SUM_SHARE;
}

/* Would encoding take more of a core than it may? */
static bool
px_exceeds_limit(const px_adapt *adapt, px_choice choice, px_expected expected)
{
	double		sum;

	return choice != PX_CHOICE_PLAIN && adapt->cpu_limit < 1.0 &&
		expected.cpu_ns > adapt->cpu_limit * px_bottleneck(adapt, expected, &sum);
}

/*
 * Settle on the best of the choices that are known; of all, by what is usual,
 * before the first batch of a stream whose link is known.
 */
static void
px_settle(px_adapt *adapt)
{
	bool		first = !px_is_known(adapt, adapt->current);
	px_choice	best;
	double		score;

	if (!first || adapt->link_ns > 0)
	{
		best = adapt->current;
		score = px_score(adapt, px_known(adapt, best)) * (1 - PX_GAIN_MIN);
		for (int c = PX_CHOICE_PLAIN; c < PX_CHOICE_COUNT; c++)
		{
			px_expected expected = px_known(adapt, (px_choice) c);

			if (px_is_allowed(adapt, (px_choice) c) &&
				(first || px_is_known(adapt, (px_choice) c)) &&
				!px_exceeds_limit(adapt, (px_choice) c, expected) &&
				px_score(adapt, expected) < score)
			{
				best = (px_choice) c;
				score = px_score(adapt, expected);
			}
		}
		adapt->current = best;
	}

	while (adapt->current > PX_CHOICE_PLAIN &&
		   (!px_is_allowed(adapt, adapt->current) ||
			px_exceeds_limit(adapt, adapt->current, px_known(adapt, adapt->current))))
		adapt->current--;
}

/*
 * The worst that is to be feared.  A choice that was not tried saves no less
 * than what it includes, and costs no more CPU than what includes it.
 */
static px_expected
px_feared(const px_adapt *adapt, px_choice choice)
{
	px_expected feared = {0, 1.0};
	bool		is_dearer_known = false;

	if (px_is_known(adapt, choice))
		return px_known(adapt, choice);

	for (int c = PX_CHOICE_PLAIN; c < PX_CHOICE_COUNT; c++)
	{
		px_expected known = px_known(adapt, (px_choice) c);

		if (!px_is_known(adapt, (px_choice) c))
			continue;
		if (c < (int) choice)
		{
			feared.cpu_ns = Max(feared.cpu_ns, known.cpu_ns * PX_DEARER_FACTOR);
			feared.ratio = Min(feared.ratio, known.ratio);
		}
		else if (!is_dearer_known)
		{
			feared.cpu_ns = known.cpu_ns;
			is_dearer_known = true;
		}
	}
	return feared;
}

/*
 * What a batch wastes that is sent another way, in parts of its time: nothing, as
 * long as it keeps no stage busy for longer than the slowest is.
 */
static double
px_waste(const px_adapt *adapt, px_expected expected)
{
	double		sum;

	return Max(px_bottleneck(adapt, expected, &sum) /
			   px_bottleneck(adapt, px_known(adapt, adapt->current), &sum) - 1, 0);
}

static bool
px_can_afford(const px_adapt *adapt, px_choice choice, double raw_nbytes)
{
	double		waste = px_waste(adapt, px_feared(adapt, choice)) * raw_nbytes;

	return waste <= 0 || waste <= adapt->credit;
}

/* Does the link take longer than anything else? */
static bool
px_link_is_slow(const px_adapt *adapt)
{
	px_expected current = px_known(adapt, adapt->current);
	double		sum;

	return px_is_known(adapt, adapt->current) &&
		adapt->link_ns * current.ratio >= px_bottleneck(adapt, current, &sum);
}

/*
 * Is there a backlog, and too little has left yet to tell how slow the link is?
 */
static bool
px_link_is_uncertain(const px_adapt *adapt)
{
	return adapt->backlog && !adapt->has_told && adapt->uncertain < PX_UNCERTAIN_MAX;
}

/*
 * The link may be slow: do not send more, and find out what sending less takes.
 * As there is a backlog, the sender has time for that.
 */
static px_choice
px_choose_cautiously(const px_adapt *adapt)
{
	px_choice	next = (px_choice) (adapt->current + 1);

	if (adapt->cautious >= (adapt->drain.amount > 0 ? PX_CAUTIOUS_MAX : 1) ||
		!px_is_known(adapt, adapt->current) || next >= PX_CHOICE_COUNT ||
		!px_is_allowed(adapt, next) ||
		px_exceeds_limit(adapt, next, px_hoped(adapt, next)) ||
		px_hoped(adapt, next).ratio > px_known(adapt, adapt->current).ratio * (1 - PX_GAIN_MIN))
		return adapt->current;
	return next;
}

/* The choice to try on this batch, or the current one. */
static px_choice
px_choose_probe(const px_adapt *adapt, double raw_nbytes)
{
	px_choice	best = adapt->current;
	double		score = px_score(adapt, px_known(adapt, best)) * (1 - PX_GAIN_MIN);

	/* A slow link is a reason not to wait: there is time to try, and time to lose. */
	if ((adapt->raw_nbytes < PX_PROBE_AFTER_NBYTES ||
		 adapt->batches - adapt->probed_at < PX_PROBE_INTERVAL * adapt->senders) &&
		!px_link_is_slow(adapt))
		return best;
	for (int c = PX_CHOICE_PLAIN; c < PX_CHOICE_COUNT; c++)
	{
		const px_choice_cost *cost = &adapt->costs[c];
		px_expected hoped = px_hoped(adapt, (px_choice) c);

		if (c == (int) adapt->current || !px_is_allowed(adapt, (px_choice) c) ||
			(cost->cpu.amount >= PX_COST_SETTLED_NBYTES &&
			 adapt->batches - cost->learned_at < PX_STALE_BATCHES) ||
			px_exceeds_limit(adapt, (px_choice) c, hoped) ||
			!px_can_afford(adapt, (px_choice) c, raw_nbytes))
			continue;
		if (px_score(adapt, hoped) < score)
		{
			best = (px_choice) c;
			score = px_score(adapt, hoped);
		}
	}
	return best;
}

/* splitmix64: Steele, Lea, Flood (OOPSLA 2014). */
static uint64_t
px_draw(px_adapt *adapt)
{
	uint64_t	z = (adapt->seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

px_choice
px_adapt_for_size(const px_adapt *adapt, px_choice choice, double raw_nbytes)
{
	px_choice	most = px_is_allowed(adapt, PX_CHOICE_ENCODED) ?
		PX_CHOICE_ENCODED : PX_CHOICE_PLAIN;

	if (raw_nbytes >= PX_CODEC_RAW_NBYTES_MIN || adapt->random)
		return choice;
	return Min(choice, most);
}

px_choice
px_adapt_choose(px_adapt *adapt, double raw_nbytes)
{
	px_choice	choice;

	adapt->batches++;
	adapt->raw_nbytes += raw_nbytes;
	if (adapt->random)
	{
		do
			choice = (px_choice) (px_draw(adapt) % PX_CHOICE_COUNT);
		while (!px_is_allowed(adapt, choice));
		return choice;
	}

	adapt->credit += raw_nbytes * PX_PROBE_SHARE;
	px_settle(adapt);
	if (raw_nbytes < PX_CODEC_RAW_NBYTES_MIN)
		return px_adapt_for_size(adapt, adapt->current, raw_nbytes);

	if (px_link_is_uncertain(adapt))
	{
		choice = px_choose_cautiously(adapt);
		if (choice != adapt->current)
			adapt->cautious++;
		adapt->uncertain++;
		return choice;
	}
	choice = px_choose_probe(adapt, raw_nbytes);
	if (choice != adapt->current)
		adapt->probed_at = adapt->batches;
	return choice;
}

void
px_adapt_learn_batch(px_adapt *adapt, px_choice choice,
					 double raw_nbytes, double wire_nbytes,
					 double fill_ns, double cpu_ns, double encode_ns, bool settled)
{
	px_choice_cost *cost = &adapt->costs[choice];

	px_cost_add(&cost->cpu, raw_nbytes, cpu_ns, settled);
	px_mean_add(&cost->wire, raw_nbytes, wire_nbytes, PX_COST_MEMORY_NBYTES);
	px_mean_add(&adapt->fill, raw_nbytes, fill_ns, PX_COST_MEMORY_NBYTES);
	px_mean_add(&adapt->contention, cpu_ns, encode_ns, PX_WORK_MEMORY_NS);
	cost->learned_at = adapt->batches;
	if (choice != adapt->current && raw_nbytes > 0)
		adapt->credit -= raw_nbytes *
			px_waste(adapt, (px_expected) {cpu_ns / raw_nbytes, wire_nbytes / raw_nbytes});
}

void
px_adapt_learn_share(px_adapt *adapt, double raw_nbytes, double sender_raw_nbytes)
{
	adapt->made_nbytes += raw_nbytes;
	adapt->busiest_nbytes = Max(adapt->busiest_nbytes, sender_raw_nbytes);
}

void
px_adapt_learn_handing(px_adapt *adapt, double wire_nbytes, double cpu_ns, bool settled)
{
	px_cost_add(&adapt->handing, wire_nbytes, cpu_ns, settled);
}

/*
 * There is no backlog: all that was handed over has left, and what was in the
 * way may not be any more.
 */
static void
px_learn_quiet(px_adapt *adapt, const px_link_sample *sample)
{
	if (sample->nbytes > 0)
		adapt->link_ns = Min(adapt->link_ns, sample->ns / sample->nbytes);
	memset(&adapt->drain, 0, sizeof(adapt->drain));
	memset(&adapt->recent, 0, sizeof(adapt->recent));
	memset(&adapt->receiver, 0, sizeof(adapt->receiver));
	adapt->quiet++;
	if (adapt->quiet > adapt->quiet_max * adapt->senders)
	{
		adapt->link_ns *= PX_QUIET_DECAY;
		adapt->consume_ns *= PX_QUIET_DECAY;
	}
}

/*
 * What has left in the time of drain: if that is little, a burst may have left
 * that was not acknowledged yet.  So a link that stands still for a moment is
 * not slow, and one that is becomes so from sample to sample.
 */
static double
px_drained(const px_adapt *adapt)
{
	return adapt->drain.value +
		Max(PX_LINK_BURST_NBYTES - adapt->drain.value / 4, 0);
}

/*
 * Add to the mean; or let it begin anew, when as many bytes as are telling have
 * come, or were to be expected, at another rate.
 */
static void
px_learn_drain(px_adapt *adapt, double ns, double nbytes)
{
	px_mean    *recent = &adapt->recent;
	double		expected;

	px_mean_add(&adapt->drain, ns, nbytes, PX_LINK_MEMORY_NS);
	recent->amount += ns;
	recent->value += nbytes;
	expected = recent->amount / adapt->drain.amount * px_drained(adapt);
	if (recent->amount < PX_LINK_KNOWN_NS ||
		Max(recent->value, expected) < PX_LINK_BURST_NBYTES)
		return;
	if (recent->value < expected * PX_SAME_RATE || recent->value * PX_SAME_RATE > expected)
		adapt->drain = *recent;
	memset(recent, 0, sizeof(*recent));
}

void
px_adapt_learn_link(px_adapt *adapt, const px_link_sample *sample)
{
	double		receiver_ns = sample->receiver_ns;
	double		drain_ns;

	adapt->backlog = sample->backlog;
	if (!sample->backlog)
	{
		px_learn_quiet(adapt, sample);
		return;
	}
	if (sample->ns <= 0)
		return;

	/* Others may have known, a moment ago; else see the last stream. */
	if (receiver_ns < 0)
		receiver_ns = sample->ns * (adapt->receiver.amount > 0 ? px_mean_of(&adapt->receiver) :
									adapt->receiver_waits ? 0 : 1);
	px_learn_drain(adapt, sample->ns, sample->nbytes);
	px_mean_add(&adapt->receiver, sample->ns, Min(receiver_ns, sample->ns), PX_LINK_MEMORY_NS);
	if (adapt->drain.value >= PX_LINK_BURST_NBYTES)
		adapt->has_told = true;
	if (adapt->drain.amount < PX_LINK_KNOWN_NS)
		return;
	drain_ns = adapt->drain.amount / px_drained(adapt);
	if (adapt->quiet > 0 && drain_ns > adapt->link_ns && adapt->drain.amount < PX_LINK_DOUBT_NS)
		return;

	/* Was it wrong to take the link for faster?  Then wait longer next time. */
	if (drain_ns < adapt->drain_ns * PX_SIMILAR_RATE || drain_ns * PX_SIMILAR_RATE > adapt->drain_ns)
		adapt->quiet_max = PX_QUIET_MIN;
	else if (adapt->quiet > adapt->quiet_max * adapt->senders)
		adapt->quiet_max = Min(adapt->quiet_max * 4, PX_QUIET_MAX);
	adapt->quiet = 0;
	adapt->drain_ns = drain_ns;

	if (px_mean_of(&adapt->receiver) < 0.5)
	{
		adapt->link_ns = drain_ns;
		adapt->consume_ns = 0;
		if (px_link_is_slow(adapt))
			px_mean_add(&adapt->carried, sample->ns, sample->nbytes, PX_REPORT_MEMORY_NS);
	}
	else
	{
		/* What the receiver does besides reading and decoding. */
		px_expected current = px_known(adapt, adapt->current);
		double		other_ns = (drain_ns - px_mean_of(&adapt->handing)) * current.ratio -
			current.cpu_ns * PX_DECODE_SHARE;

		adapt->link_ns = 0;
		adapt->consume_ns = Max(other_ns, 0);
	}
}

double
px_adapt_link_rate(const px_adapt *adapt)
{
	if (adapt->carried.amount < PX_REPORT_NS_MIN)
		return 0;
	return px_mean_of(&adapt->carried) * 1e9;
}
