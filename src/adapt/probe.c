/*-------------------------------------------------------------------------
 *
 * probe.c
 *		When to try a choice whose cost is not known well.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/probe.h"

/*
 * Probes may waste so much of the time; see probes_are_cheap in test_adapt.c.
 * In the beginning they may waste the time of so many raw bytes: with 0,
 * simulated streams of 8 MB take 2 % longer.
 */
#define PX_PROBE_SHARE			(1.0 / 64)
#define PX_PROBE_NBYTES			(256.0 * 1024)

/*
 * Raw bytes before the first probe, and batches of each sender from one to the
 * next: the link has to show what the last one did.  With less, simulated
 * senders that cannot ask the socket take 10 % longer.
 */
#define PX_PROBE_AFTER_NBYTES	(2.0 * 1024 * 1024)
#define PX_PROBE_INTERVAL		3

/*
 * For so many batches it may stay unknown whether the link is slow; other
 * probes wait for that.  So many of them may be sent smaller in case it is
 * slow: with 0, simulated streams of 8 MB take 3 % longer.
 */
#define PX_UNCERTAIN_MAX		8
#define PX_CAUTIOUS_MAX			3

/*
 * After so many batches what is known of a choice may be out of date.  It is
 * also after so many at most that columns are sampled again.
 */
#define PX_STALE_BATCHES		64

void
px_probe_init(px_probe *probe)
{
	memset(probe, 0, sizeof(*probe));
	probe->credit = PX_PROBE_NBYTES;
}

void
px_probe_count(px_probe *probe, double raw_nbytes)
{
	probe->batches++;
	probe->raw_nbytes += raw_nbytes;
	probe->credit += raw_nbytes * PX_PROBE_SHARE;
}

/* Is there a backlog, and too little has left yet to tell the link's rate? */
static bool
px_link_is_uncertain(const px_probe *probe, const px_link *link)
{
	return link->backlog && !link->is_measured &&
		probe->uncertain < PX_UNCERTAIN_MAX;
}

/*
 * The link may be slow.  So do not send more, and find out what it takes to
 * send less.  As there is a backlog, the sender has time for that.
 */
static px_choice
px_choose_cautiously(px_probe *probe, const px_costs *costs,
					 const px_link *link, px_choice current)
{
	px_choice	next = (px_choice) (current + 1);
	uint32_t	cautious_max = link->drain.weight > 0 ? PX_CAUTIOUS_MAX : 1;
	px_cost		bound;

	probe->uncertain++;
	if (probe->cautious >= cautious_max ||
		!px_costs_is_known(costs, current) || next >= PX_CHOICE_COUNT)
		return current;
	bound = px_costs_lower_bound(costs, next);
	if (!px_costs_permit(costs, next, bound) ||
		bound.ratio > px_costs_expect(costs, current).ratio *
		(1 - PX_GAIN_MIN))
		return current;
	probe->cautious++;
	return next;
}

/*
 * Is it too early for a probe?  If the link is the bottleneck, it is not: the
 * sender has time to try, and each batch that is sent larger takes longer.
 */
static bool
px_is_too_early(const px_probe *probe, const px_costs *costs,
				px_choice current)
{
	return (probe->raw_nbytes < PX_PROBE_AFTER_NBYTES ||
			probe->batches - probe->probed_at <
			PX_PROBE_INTERVAL * costs->senders) &&
		!px_costs_link_is_bottleneck(costs, current);
}

/* Was the choice measured lately, on enough data? */
static bool
px_is_up_to_date(const px_probe *probe, const px_costs *costs,
				 px_choice choice)
{
	return px_costs_is_known(costs, choice) &&
		probe->batches - probe->learned_at[choice] < PX_STALE_BATCHES;
}

static bool
px_can_afford(const px_probe *probe, const px_costs *costs,
			  px_choice current, px_choice choice, double raw_nbytes)
{
	px_cost		bound = px_costs_upper_bound(costs, choice);
	double		waste = px_costs_waste(costs, bound, current) * raw_nbytes;

	return waste <= 0 || waste <= probe->credit;
}

px_choice
px_probe_choose(px_probe *probe, const px_costs *costs, const px_link *link,
				px_choice current, double raw_nbytes)
{
	px_choice	best = current;
	double		score;

	if (px_link_is_uncertain(probe, link))
		return px_choose_cautiously(probe, costs, link, current);
	if (px_is_too_early(probe, costs, current))
		return current;

	score = px_costs_score(costs, px_costs_expect(costs, best)) *
		(1 - PX_GAIN_MIN);
	for (int c = PX_CHOICE_PLAIN; c < PX_CHOICE_COUNT; c++)
	{
		px_choice	choice = (px_choice) c;
		px_cost		bound = px_costs_lower_bound(costs, choice);

		if (choice == current || px_is_up_to_date(probe, costs, choice) ||
			!px_costs_permit(costs, choice, bound) ||
			!px_can_afford(probe, costs, current, choice, raw_nbytes) ||
			px_costs_score(costs, bound) >= score)
			continue;
		best = choice;
		score = px_costs_score(costs, bound);
	}
	if (best != current)
		probe->probed_at = probe->batches;
	return best;
}

void
px_probe_learn(px_probe *probe, const px_costs *costs, px_choice current,
			   px_choice choice, double raw_nbytes, px_cost cost)
{
	probe->learned_at[choice] = probe->batches;
	if (choice != current)
		probe->credit -= raw_nbytes * px_costs_waste(costs, cost, current);
}
