/*-------------------------------------------------------------------------
 *
 * probe.h
 *		When to try a choice whose cost is not known well.
 *
 * A choice that was not tried lately is taken to cost as little as it can.  If
 * it would then be better than the current one, one batch is sent that way: a
 * probe.  From then on the choice is judged by what it did.  A credit that
 * grows with the stream limits the time that probes may waste.
 *
 * Source: optimistic initial values, Sutton, Barto, "Reinforcement Learning"
 * (2018), 2.6.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADAPT_PROBE_H
#define PX_ADAPT_PROBE_H

#include "adapt/cost.h"
#include "adapt/link.h"

/*
 * To leave the current choice, so much of the time must be gained.  With 0,
 * simulated senders that cannot ask the socket go back and forth between
 * choices, and take 10 % longer.
 */
#define PX_GAIN_MIN				0.03

typedef struct px_probe
{
	uint64_t	batches;		/* chosen so far */
	double		raw_nbytes;		/* of these, about */
	uint64_t	learned_at[PX_CHOICE_COUNT];	/* number of the last batch
												 * that was made so */
	uint64_t	probed_at;		/* number of the batch that was last a probe */
	uint32_t	uncertain;		/* batches before the link's rate was known */
	uint32_t	cautious;		/* those that were sent smaller in case */
	double		credit;			/* raw bytes' time that probes may waste */
} px_probe;

extern void px_probe_init(px_probe *probe);

/* Another batch, of raw_nbytes, is to be chosen for. */
extern void px_probe_count(px_probe *probe, double raw_nbytes);

/* The choice to try on this batch, or the current one. */
extern px_choice px_probe_choose(px_probe *probe, const px_costs *costs,
								 const px_link *link, px_choice current,
								 double raw_nbytes);

/* A batch of raw_nbytes was made by that choice, at that cost. */
extern void px_probe_learn(px_probe *probe, const px_costs *costs,
						   px_choice current, px_choice choice,
						   double raw_nbytes, px_cost cost);

#endif							/* PX_ADAPT_PROBE_H */
