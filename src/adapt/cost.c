/*-------------------------------------------------------------------------
 *
 * cost.c
 *		What each choice costs the sender, the link and the receiver.
 *
 * See cost.h for the model.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/cost.h"

/* Costs are averaged over some batches of the usual size, 1 MB at most. */
#define PX_COST_MEMORY_NBYTES	(4.0 * 1024 * 1024)

/*
 * From fewer raw bytes nothing is known of a choice: the first batches are
 * small, and touch new memory.  With 16 kB, simulated streams on a machine
 * that is disturbed take 2 % longer.
 */
#define PX_COST_KNOWN_NBYTES	(256.0 * 1024)

/*
 * What costs more than so many times the mean counts as that: an interrupt's
 * time is among what was measured, and won't be the next time.  Without a
 * limit, simulated streams on a machine that is disturbed take 2 % longer.
 */
#define PX_OUTLIER_FACTOR		2.0

/*
 * A batch whose cost is not typical counts as if it had so much less data: one
 * of 1 MB is not enough to know a choice by.  If all batches count in full,
 * simulated streams on a machine that is disturbed take 2 % longer.
 */
#define PX_UNTYPICAL_WEIGHT		(1.0 / 32)

/*
 * Stages do not overlap perfectly, and the faster ones cost CPU time too.  So
 * besides the slowest stage, this much of all of them counts.  It decides
 * between choices that a slow receiver makes equally fast.
 */
#define PX_SUM_SHARE			(1.0 / 16)

/*
 * What is known of a choice may be out of date by so much: columns whose zstd
 * becomes a fifth better are noticed.
 */
#define PX_STALE_FACTOR			0.8

/*
 * A choice takes at most this many times the CPU time of one that it includes:
 * zstd takes 2.2 times as long as LZ4 for JSON documents.
 */
#define PX_UPPER_CPU_FACTOR		2.5

/*
 * What choices are taken to cost until the first batch is made, if the link is
 * known already: nanoseconds of CPU time per raw byte, and the ratio.  They
 * were measured for TPC-H's orders on the machine of bench/README.md.
 */
static const px_cost px_usual[PX_CHOICE_COUNT] = {
	[PX_CHOICE_PLAIN] = {0.1, 1.0},
	[PX_CHOICE_ENCODED] = {0.5, 0.45},
	[PX_CHOICE_LZ4] = {0.8, 0.3},
	[PX_CHOICE_ZSTD] = {1.3, 0.24},
};

/* ---------------------------------------------------------------------
 * What choices cost
 * --------------------------------------------------------------------- */

bool
px_costs_is_known(const px_costs *costs, px_choice choice)
{
	return costs->choices[choice].cpu.weight >= PX_COST_KNOWN_NBYTES;
}

px_cost
px_costs_expect(const px_costs *costs, px_choice choice)
{
	const px_choice_cost *measured = &costs->choices[choice];

	if (!px_costs_is_known(costs, choice))
		return px_usual[choice];
	return (px_cost) {
		px_mean_get(&measured->cpu), px_mean_get(&measured->wire)
	};
}

/*
 * A choice that was not tried costs no less CPU than what it includes, and
 * saves no more than what includes it.
 */
px_cost
px_costs_lower_bound(const px_costs *costs, px_choice choice)
{
	px_cost		bound = {0, 0};

	if (px_costs_is_known(costs, choice))
	{
		bound = px_costs_expect(costs, choice);
		bound.cpu_ns *= PX_STALE_FACTOR;
		if (choice != PX_CHOICE_PLAIN)
			bound.ratio *= PX_STALE_FACTOR;
		return bound;
	}

	for (int c = PX_CHOICE_PLAIN; c < PX_CHOICE_COUNT; c++)
	{
		px_cost		other = px_costs_expect(costs, (px_choice) c);

		if (!px_costs_is_known(costs, (px_choice) c))
			continue;
		if (c < (int) choice)
			bound.cpu_ns = Max(bound.cpu_ns, other.cpu_ns);
		else
			bound.ratio = Max(bound.ratio, other.ratio);
	}
	if (choice == PX_CHOICE_PLAIN)
		bound.ratio = 1.0;
	return bound;
}

/*
 * A choice that was not tried saves no less than what it includes, and costs
 * no more CPU than what includes it.
 */
px_cost
px_costs_upper_bound(const px_costs *costs, px_choice choice)
{
	px_cost		bound = {0, 1.0};
	bool		has_superset = false;

	if (px_costs_is_known(costs, choice))
		return px_costs_expect(costs, choice);

	for (int c = PX_CHOICE_PLAIN; c < PX_CHOICE_COUNT; c++)
	{
		px_cost		other = px_costs_expect(costs, (px_choice) c);

		if (!px_costs_is_known(costs, (px_choice) c))
			continue;
		if (c < (int) choice)
		{
			bound.cpu_ns = Max(bound.cpu_ns,
							   other.cpu_ns * PX_UPPER_CPU_FACTOR);
			bound.ratio = Min(bound.ratio, other.ratio);
		}
		else if (!has_superset)
		{
			bound.cpu_ns = other.cpu_ns;
			has_superset = true;
		}
	}
	return bound;
}

/* ---------------------------------------------------------------------
 * The pipeline
 * --------------------------------------------------------------------- */

/* Nanoseconds per raw byte of each stage. */
typedef struct px_stages
{
	double		sender;
	double		link;
	double		receiver;
} px_stages;

/*
 * How many times as fast all senders are as one.  It may be fewer times than
 * there are senders: a worker whose queue is full has to wait while its leader
 * makes a batch of its own.
 */
static double
px_speedup(const px_costs *costs)
{
	if (costs->busiest_nbytes <= 0)
		return costs->senders;
	return costs->made_nbytes / costs->busiest_nbytes;
}

static px_stages
px_stages_of(const px_costs *costs, px_cost cost)
{
	double		handover = px_mean_get(&costs->handover) * cost.ratio;
	double		contention = Max(px_mean_get(&costs->contention), 1.0);
	double		work = (cost.cpu_ns + handover) * contention;

	return (px_stages) {
		.sender = (px_mean_get(&costs->fill) + work) / px_speedup(costs),
		.link = costs->link_ns * cost.ratio,
		.receiver = costs->consume_ns + handover +
			cost.cpu_ns * PX_DECODE_SHARE,
	};
}

double
px_costs_bottleneck(const px_costs *costs, px_cost cost)
{
	px_stages	stages = px_stages_of(costs, cost);

	return Max(Max(stages.sender, stages.link), stages.receiver);
}

double
px_costs_score(const px_costs *costs, px_cost cost)
{
	px_stages	stages = px_stages_of(costs, cost);

	return px_costs_bottleneck(costs, cost) +
		(stages.sender + stages.link + stages.receiver) * PX_SUM_SHARE;
}

double
px_costs_waste(const px_costs *costs, px_cost cost, px_choice current)
{
	px_cost		usual = px_costs_expect(costs, current);

	return Max(px_costs_bottleneck(costs, cost) /
			   px_costs_bottleneck(costs, usual) - 1, 0);
}

bool
px_costs_link_is_bottleneck(const px_costs *costs, px_choice choice)
{
	px_cost		cost = px_costs_expect(costs, choice);

	return px_costs_is_known(costs, choice) &&
		costs->link_ns * cost.ratio >= px_costs_bottleneck(costs, cost);
}

/* Would encoding take more of a core than it may? */
static bool
px_exceeds_cpu_limit(const px_costs *costs, px_choice choice, px_cost cost)
{
	return choice != PX_CHOICE_PLAIN && costs->cpu_limit < 1.0 &&
		cost.cpu_ns > costs->cpu_limit * px_costs_bottleneck(costs, cost);
}

bool
px_costs_permit(const px_costs *costs, px_choice choice, px_cost cost)
{
	return (costs->allowed & (1u << choice)) != 0 &&
		!px_exceeds_cpu_limit(costs, choice, cost);
}

/* ---------------------------------------------------------------------
 * Measuring
 * --------------------------------------------------------------------- */

/* A cost that is not typical counts less, but is the same per byte. */
static void
px_cost_add(px_mean *mean, double nbytes, double ns, bool typical)
{
	double		share = typical ? 1.0 : PX_UNTYPICAL_WEIGHT;

	nbytes *= share;
	ns *= share;
	if (mean->weight >= PX_COST_KNOWN_NBYTES && mean->sum > 0)
		ns = Min(ns, nbytes * px_mean_get(mean) * PX_OUTLIER_FACTOR);
	px_mean_add(mean, nbytes, ns, PX_COST_MEMORY_NBYTES);
}

void
px_costs_learn_batch(px_costs *costs, px_choice choice,
					 double raw_nbytes, double wire_nbytes, double fill_ns,
					 double cpu_ns, double encode_ns, bool typical)
{
	px_choice_cost *measured = &costs->choices[choice];

	px_cost_add(&measured->cpu, raw_nbytes, cpu_ns, typical);
	px_mean_add(&measured->wire, raw_nbytes, wire_nbytes,
				PX_COST_MEMORY_NBYTES);
	px_mean_add(&costs->fill, raw_nbytes, fill_ns, PX_COST_MEMORY_NBYTES);
	px_mean_add(&costs->contention, cpu_ns, encode_ns, PX_TIME_MEMORY_NS);
}

void
px_costs_learn_share(px_costs *costs, double raw_nbytes,
					 double sender_raw_nbytes)
{
	costs->made_nbytes += raw_nbytes;
	costs->busiest_nbytes = Max(costs->busiest_nbytes, sender_raw_nbytes);
}

void
px_costs_learn_handover(px_costs *costs, double wire_nbytes, double cpu_ns,
						bool typical)
{
	px_cost_add(&costs->handover, wire_nbytes, cpu_ns, typical);
}
