/*-------------------------------------------------------------------------
 *
 * adapt.c
 *		What a stream's senders have learned, and how the next batch is to be
 *		compressed.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/adapt.h"

/*
 * Before the first batch, choices are taken to cost so many times the CPU time
 * that they usually do: rows have to be filled in, too, and data or machine
 * may be others.  Where that decides, mode fast is the better beginning.  With
 * 1, simulated streams over a link of 1 Gbit/s take 10 % longer.
 */
#define PX_FIRST_CPU_FACTOR		2.0

void
px_adapt_init(px_adapt *adapt, uint32_t allowed, double cpu_limit,
			  double link_rate, bool receiver_waits, uint64_t seed)
{
	memset(adapt, 0, sizeof(*adapt));
	adapt->costs.allowed = allowed | (1u << PX_CHOICE_PLAIN);
	adapt->costs.cpu_limit = cpu_limit;
	adapt->costs.senders = 1;
	px_link_init(&adapt->link, &adapt->costs, link_rate, receiver_waits);
	px_probe_init(&adapt->probe);
	adapt->random = seed > 0;
	adapt->seed = seed;

	/* As mode fast does, until something speaks against it. */
	adapt->current = PX_CHOICE_LZ4;
}

/* What a choice is expected to cost; first: before the first batch. */
static px_cost
px_expect(const px_costs *costs, px_choice choice, bool first)
{
	px_cost		cost = px_costs_expect(costs, choice);

	if (first)
		cost.cpu_ns *= PX_FIRST_CPU_FACTOR;
	return cost;
}

/*
 * The best of the choices that are known.  Before the first batch of a stream
 * whose link is known, it is the best of all, by what they usually cost.
 */
static px_choice
px_best_choice(const px_adapt *adapt)
{
	const px_costs *costs = &adapt->costs;
	bool		first = !px_costs_is_known(costs, adapt->current);
	px_choice	best = adapt->current;
	double		score;

	if (first && costs->link_ns <= 0)
		return best;
	score = px_costs_score(costs, px_expect(costs, best, first)) *
		(1 - PX_GAIN_MIN);
	for (int c = PX_CHOICE_PLAIN; c < PX_CHOICE_COUNT; c++)
	{
		px_choice	choice = (px_choice) c;
		px_cost		cost = px_expect(costs, choice, first);

		if ((first || px_costs_is_known(costs, choice)) &&
			px_costs_permit(costs, choice, cost) &&
			px_costs_score(costs, cost) < score)
		{
			best = choice;
			score = px_costs_score(costs, cost);
		}
	}
	return best;
}

/* Change the current choice if another one is better, or it is not allowed. */
static void
px_settle(px_adapt *adapt)
{
	const px_costs *costs = &adapt->costs;

	adapt->current = px_best_choice(adapt);
	while (adapt->current > PX_CHOICE_PLAIN &&
		   !px_costs_permit(costs, adapt->current,
							px_costs_expect(costs, adapt->current)))
		adapt->current--;
}

/* splitmix64: Steele, Lea, Flood (OOPSLA 2014). */
static uint64_t
px_random(px_adapt *adapt)
{
	uint64_t	z = (adapt->seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static px_choice
px_random_choice(px_adapt *adapt)
{
	px_choice	choice;

	do
		choice = (px_choice) (px_random(adapt) % PX_CHOICE_COUNT);
	while ((adapt->costs.allowed & (1u << choice)) == 0);
	return choice;
}

px_choice
px_adapt_for_size(const px_adapt *adapt, px_choice choice, double raw_nbytes)
{
	px_choice	most = adapt->costs.allowed & (1u << PX_CHOICE_ENCODED) ?
		PX_CHOICE_ENCODED : PX_CHOICE_PLAIN;

	if (raw_nbytes >= PX_CODEC_RAW_NBYTES_MIN || adapt->random)
		return choice;
	return Min(choice, most);
}

px_choice
px_adapt_choose(px_adapt *adapt, double raw_nbytes)
{
	px_probe_count(&adapt->probe, raw_nbytes);
	if (adapt->random)
		return px_random_choice(adapt);
	px_settle(adapt);
	if (raw_nbytes < PX_CODEC_RAW_NBYTES_MIN)
		return px_adapt_for_size(adapt, adapt->current, raw_nbytes);
	return px_probe_choose(&adapt->probe, &adapt->costs, &adapt->link,
						   adapt->current, raw_nbytes);
}

void
px_adapt_learn_batch(px_adapt *adapt, px_choice choice,
					 double raw_nbytes, double wire_nbytes, double fill_ns,
					 double cpu_ns, double encode_ns, bool typical)
{
	px_costs_learn_batch(&adapt->costs, choice, raw_nbytes, wire_nbytes,
						 fill_ns, cpu_ns, encode_ns, typical);
	if (raw_nbytes > 0)
		px_probe_learn(&adapt->probe, &adapt->costs, adapt->current, choice,
					   raw_nbytes, (px_cost) {
						   cpu_ns / raw_nbytes, wire_nbytes / raw_nbytes
					   });
}

void
px_adapt_learn_link(px_adapt *adapt, const px_link_sample *sample)
{
	px_link_learn(&adapt->link, &adapt->costs, adapt->current, sample);
}
