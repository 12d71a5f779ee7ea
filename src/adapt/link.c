/*-------------------------------------------------------------------------
 *
 * link.c
 *		What the link carries, or the receiver takes.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/link.h"

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

/* Samples of each sender without a backlog before the link is taken to be faster. */
#define PX_QUIET_MIN			8
#define PX_QUIET_MAX			1024
#define PX_QUIET_DECAY			0.9

/* Rates that differ by less are the same; or so over a longer time. */
#define PX_SAME_RATE			0.7
#define PX_SIMILAR_RATE			0.5

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

/* Have there been too many samples without a backlog for the last rate to hold? */
static bool
px_quiet_is_long(const px_link *link, const px_costs *costs)
{
	return link->quiet > link->quiet_max * costs->senders;
}

/*
 * There is no backlog: all that was handed over has left.  So the bottleneck
 * may be another one by now.
 */
static void
px_learn_quiet(px_link *link, px_costs *costs, const px_link_sample *sample)
{
	if (sample->nbytes > 0)
		costs->link_ns = Min(costs->link_ns, sample->ns / sample->nbytes);
	memset(&link->drain, 0, sizeof(link->drain));
	memset(&link->recent, 0, sizeof(link->recent));
	memset(&link->receiver, 0, sizeof(link->receiver));
	link->quiet++;
	if (px_quiet_is_long(link, costs))
	{
		costs->link_ns *= PX_QUIET_DECAY;
		costs->consume_ns *= PX_QUIET_DECAY;
	}
}

/*
 * What has left in the time of drain: if that is little, a burst may have left
 * that was not acknowledged yet.  So a link that stands still for a moment is
 * not slow, and one that is becomes so from sample to sample.
 */
static double
px_drained(const px_link *link)
{
	return link->drain.sum +
		Max(PX_LINK_BURST_NBYTES - link->drain.sum / 4, 0);
}

/*
 * Add to the mean; or let it begin anew, when as many bytes as are telling have
 * come, or were to be expected, at another rate.
 */
static void
px_learn_drain(px_link *link, double ns, double nbytes)
{
	px_mean    *recent = &link->recent;
	double		expected;

	px_mean_add(&link->drain, ns, nbytes, PX_LINK_MEMORY_NS);
	recent->weight += ns;
	recent->sum += nbytes;
	expected = recent->weight / link->drain.weight * px_drained(link);
	if (recent->weight < PX_LINK_KNOWN_NS ||
		Max(recent->sum, expected) < PX_LINK_BURST_NBYTES)
		return;
	if (recent->sum < expected * PX_SAME_RATE ||
		recent->sum * PX_SAME_RATE > expected)
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
 * The rate was measured again.  If it was wrong to take the link for faster,
 * wait longer next time.
 */
static void
px_learn_rate(px_link *link, const px_costs *costs, double drain_ns)
{
	if (drain_ns < link->drain_ns * PX_SIMILAR_RATE ||
		drain_ns * PX_SIMILAR_RATE > link->drain_ns)
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
	if (sample->ns <= 0)
		return;

	receiver_ns = px_receiver_ns(link, sample);
	px_learn_drain(link, sample->ns, sample->nbytes);
	px_mean_add(&link->receiver, sample->ns, receiver_ns, PX_LINK_MEMORY_NS);
	if (link->drain.sum >= PX_LINK_BURST_NBYTES)
		link->is_measured = true;
	if (link->drain.weight < PX_LINK_KNOWN_NS)
		return;
	drain_ns = link->drain.weight / px_drained(link);
	if (link->quiet > 0 && drain_ns > costs->link_ns &&
		link->drain.weight < PX_LINK_DOUBT_NS)
		return;
	px_learn_rate(link, costs, drain_ns);

	if (px_mean_get(&link->receiver) < 0.5)
	{
		costs->link_ns = drain_ns;
		costs->consume_ns = 0;
		if (px_costs_link_is_bottleneck(costs, current))
			px_mean_add(&link->carried, sample->ns, sample->nbytes,
						PX_REPORT_MEMORY_NS);
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
	if (link->carried.weight < PX_REPORT_NS_MIN)
		return 0;
	return px_mean_get(&link->carried) * 1e9;
}
