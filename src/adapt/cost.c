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

/* How busy the CPU is, over some batches. */
#define PX_WORK_MEMORY_NS		20e6

/* From fewer raw bytes nothing is known of a choice: the first ones are dear. */
#define PX_COST_KNOWN_NBYTES	(64.0 * 1024)

/* What costs more than so many times the mean does not do so again. */
#define PX_OUTLIER_FACTOR		2.0

/* A batch that was dear for once counts so much less: it takes two to know. */
#define PX_UNSETTLED_WEIGHT		(1.0 / 32)

/*
 * Stages do not overlap perfectly, and the faster ones cost CPU too: besides
 * the slowest stage, so much of all of them counts.
 */
#define PX_SUM_SHARE			(1.0 / 16)

/*
 * What is known of a choice may be out of date by so much; an untried zstd may
 * be so much smaller than lz4, and dearer.
 */
#define PX_STALE_FACTOR			0.8
#define PX_ZSTD_RATIO_MIN		0.7
#define PX_ZSTD_CPU_MIN			1.25

/* What a choice may cost more than those that it includes. */
#define PX_DEARER_FACTOR		2.5

/* Ratio that encodings can be hoped to reach where none was tried. */
#define PX_ENCODED_RATIO_MIN	0.1

/*
 * What choices are taken to cost, in nanoseconds per raw byte, and to save
 * until the first batch is made; for links that are known already.  TPC-H
 * orders on the machine of bench/README.md.
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
	px_cost		bound = {0, PX_ENCODED_RATIO_MIN};

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
		if (c == PX_CHOICE_LZ4 && choice == PX_CHOICE_ZSTD)
		{
			other.cpu_ns *= PX_ZSTD_CPU_MIN;
			bound.ratio = Max(bound.ratio, other.ratio * PX_ZSTD_RATIO_MIN);
		}
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
			bound.cpu_ns = Max(bound.cpu_ns, other.cpu_ns * PX_DEARER_FACTOR);
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
 * How many times as fast all senders are as one.  Frames of workers pass a
 * small queue, and a leader that encodes seldom looks into it.  So some senders
 * may get no work.
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
		.receiver = costs->consume_ns + cost.cpu_ns * PX_DECODE_SHARE + handover,
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

/*
 * The time of an interrupt is among what was measured.  A cost that is not
 * typical counts as if there were less of it: the cost per byte is the same.
 */
static void
px_cost_add(px_mean *mean, double nbytes, double ns, bool typical)
{
	double		share = typical ? 1.0 : PX_UNSETTLED_WEIGHT;

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
	px_mean_add(&costs->contention, cpu_ns, encode_ns, PX_WORK_MEMORY_NS);
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
