/*-------------------------------------------------------------------------
 *
 * link.c
 *		What the link carries, or the receiver takes.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/link.h"

/*
 * A shorter backlog says nothing about a link: timers jitter by about a
 * millisecond.  With 0, simulated streams of 8 MB take 8 % longer.
 */
#define PX_LINK_KNOWN_NS		1e6

/*
 * A shorter backlog does not make a link slow that had none a moment ago, and
 * its rate is not reported: where cores are few, packets wait for one.  See
 * stall_does_not_make_link_slow in test_adapt.c.
 */
#define PX_LINK_DOUBT_NS		8e6

/*
 * Fewer bytes say nothing about a link: acknowledgements come in bursts, for
 * several packets of 64 kB at a time.
 */
#define PX_LINK_BURST_NBYTES	(256.0 * 1024)

/*
 * After so many samples of each sender without a backlog, the link is taken to
 * be faster, by so much with each further one.  With 32, simulated streams
 * over links that become faster take 1 % longer.
 */
#define PX_QUIET_MIN			8
#define PX_QUIET_DECAY			0.9

/*
 * So many samples at most, however often the link was taken to be faster and
 * was not: else a link that has become faster long after that is not noticed.
 */
#define PX_QUIET_MAX			(16 * PX_QUIET_MIN)

/* Rates that differ by less are the same: the mean need not begin anew. */
#define PX_SAME_RATE			0.7

static bool
px_is_same_rate(double a, double b)
{
	return a >= b * PX_SAME_RATE && a * PX_SAME_RATE <= b;
}

void
px_link_init(px_link *link, px_costs *costs, double rate, bool receiver_waits)
{
	memset(link, 0, sizeof(*link));
	link->receiver_waits = receiver_waits;
	link->quiet_max = PX_QUIET_MIN;
	if (rate > 0)
	{
		costs->link_ns = link->drain_ns = 1e9 / rate;
		link->is_measured = true;
	}
}

/* Were there too many samples without a backlog for the last rate to hold? */
static bool
px_quiet_is_long(const px_link *link, const px_costs *costs)
{
	return link->quiet > link->quiet_max * costs->senders;
}

/* Another sample has nothing that confirms the rate. */
static void
px_count_quiet(px_link *link, px_costs *costs)
{
	link->quiet++;
	if (px_quiet_is_long(link, costs))
	{
		costs->link_ns *= PX_QUIET_DECAY;
		costs->consume_ns *= PX_QUIET_DECAY;
	}
}

/*
 * There is no backlog: all that was handed over has left.  So the bottleneck
 * may be another one by now.
 */
static void
px_learn_quiet(px_link *link, px_costs *costs, const px_link_sample *sample)
{
	double		nbytes;

	/* A burst may have been under way before. */
	px_mean_add(&link->passed, sample->ns, sample->nbytes, PX_TIME_MEMORY_NS);
	nbytes = link->passed.sum - PX_LINK_BURST_NBYTES;
	if (nbytes > 0)
		costs->link_ns = Min(costs->link_ns, link->passed.weight / nbytes);
	memset(&link->drain, 0, sizeof(link->drain));
	memset(&link->recent, 0, sizeof(link->recent));
	memset(&link->receiver, 0, sizeof(link->receiver));
	px_count_quiet(link, costs);
}

/*
 * What has left in the time of drain.  A burst may have left that was not
 * acknowledged yet, and is added.  The more has left, the less is added:
 * nothing from four bursts on.  So a link that stands still for a moment is
 * not slow, and one that goes on standing still becomes so.
 */
static double
px_drained(const px_link *link)
{
	return link->drain.sum +
		Max(PX_LINK_BURST_NBYTES - link->drain.sum / 4, 0);
}

/*
 * Nanoseconds per byte that drain allows for.  As long as a burst matters,
 * that is an interval.  Of that it is what comes nearest to the last rate, or
 * the fastest one if none is known.
 */
static double
px_drain_ns(const px_link *link, const px_costs *costs)
{
	double		fastest = link->drain.weight / px_drained(link);
	double		slowest = link->drain.weight / Max(link->drain.sum, 1);

	return Max(fastest, Min(costs->link_ns, slowest));
}

/*
 * Add to the mean.  When a burst has left since the last comparison, or should
 * have left, compare the rates: if they differ, the mean begins anew.
 */
static void
px_learn_drain(px_link *link, double ns, double nbytes)
{
	px_mean    *recent = &link->recent;
	double		expected;

	px_mean_add(&link->drain, ns, nbytes, PX_TIME_MEMORY_NS);
	recent->weight += ns;
	recent->sum += nbytes;
	expected = recent->weight / link->drain.weight * px_drained(link);
	if (recent->weight < PX_LINK_KNOWN_NS ||
		Max(recent->sum, expected) < PX_LINK_BURST_NBYTES)
		return;
	if (!px_is_same_rate(recent->sum, expected))
		link->drain = *recent;
	memset(recent, 0, sizeof(*recent));
}

/*
 * In how much of the sample's time was the receiver the bottleneck?  If the
 * sample does not tell: as shortly before, else as in the last stream.
 */
static double
px_receiver_ns(const px_link *link, const px_link_sample *sample)
{
	if (sample->receiver_ns >= 0)
		return Min(sample->receiver_ns, sample->ns);
	if (link->receiver.weight > 0)
		return sample->ns * px_mean_get(&link->receiver);
	return link->receiver_waits ? 0 : sample->ns;
}

/*
 * The rate was measured again.  If it is the same, it was wrong to take the
 * link for faster: wait four times as long before that is done again.  So all
 * such attempts together cost little, however long the stream is.
 */
static void
px_learn_rate(px_link *link, const px_costs *costs, double drain_ns)
{
	if (!px_is_same_rate(drain_ns, link->drain_ns))
		link->quiet_max = PX_QUIET_MIN;
	else if (px_quiet_is_long(link, costs))
		link->quiet_max = Min(link->quiet_max * 4, PX_QUIET_MAX);
	link->quiet = 0;
	link->drain_ns = drain_ns;
}

/* What the receiver does besides reading and decoding, per raw byte. */
static double
px_consume_ns(const px_link *link, const px_costs *costs, px_choice current)
{
	px_cost		cost = px_costs_expect(costs, current);

	return Max((link->drain_ns - px_mean_get(&costs->handover)) * cost.ratio -
			   cost.cpu_ns * PX_DECODE_SHARE, 0);
}

void
px_link_learn(px_link *link, px_costs *costs, px_choice current,
			  const px_link_sample *sample)
{
	double		receiver_ns;
	double		drain_ns;

	link->backlog = sample->backlog;
	if (!sample->backlog)
	{
		px_learn_quiet(link, costs, sample);
		return;
	}

	/*
	 * A sender that is about as fast as the link sees a backlog that is a new
	 * one each time.  The first one of all says nothing yet.
	 */
	if (sample->ns <= 0)
	{
		if (costs->link_ns > 0)
			px_count_quiet(link, costs);
		return;
	}

	receiver_ns = px_receiver_ns(link, sample);
	px_learn_drain(link, sample->ns, sample->nbytes);
	px_mean_add(&link->receiver, sample->ns, receiver_ns, PX_TIME_MEMORY_NS);
	if (link->drain.sum >= PX_LINK_BURST_NBYTES)
		link->is_measured = true;
	if (link->drain.weight < PX_LINK_KNOWN_NS)
		return;
	drain_ns = px_drain_ns(link, costs);
	if (link->quiet > 0 && drain_ns > costs->link_ns &&
		link->drain.weight < PX_LINK_DOUBT_NS)
		return;
	px_learn_rate(link, costs, drain_ns);
	memset(&link->passed, 0, sizeof(link->passed));

	/*
	 * If as much leaves as the link was known to carry, it is the link that
	 * holds up frames, even if the receiver's window was full: that is small
	 * in a connection's first moments.
	 */
	if (px_mean_get(&link->receiver) < 0.5 ||
		px_is_same_rate(drain_ns, costs->link_ns))
	{
		costs->link_ns = drain_ns;
		costs->consume_ns = 0;
		if (px_costs_link_is_bottleneck(costs, current))
			px_mean_add(&link->carried, sample->ns, sample->nbytes,
						PX_TIME_MEMORY_NS);
	}
	else
	{
		costs->link_ns = 0;
		costs->consume_ns = px_consume_ns(link, costs, current);
	}
}

double
px_link_rate(const px_link *link)
{
	if (link->carried.weight < PX_LINK_DOUBT_NS)
		return 0;
	return px_mean_get(&link->carried) * 1e9;
}
