/*-------------------------------------------------------------------------
 *
 * cost.h
 *		What each choice costs the sender, the link and the receiver.
 *
 * The model is a pipeline of three stages that work at the same time: the
 * sender fills, encodes and hands over; the link carries; the receiver decodes
 * and consumes.  A choice is as good as its slowest stage is fast:
 *
 *		sender		(fill + contention * (encode[choice] +
 *					handover * ratio[choice])) / speedup
 *		link		link * ratio[choice]
 *		receiver	consume + encode[choice] / 4 + handover * ratio[choice]
 *
 * All of it in nanoseconds per raw byte, but handover and link, which are per
 * wire byte.  ratio is wire bytes per raw byte.  contention is wall time per
 * CPU time of encoding.  speedup is what all senders have made by what the
 * busiest has made.
 *
 * Source: the bottleneck as the measure of a pipeline, Williams, Waterman,
 * Patterson, "Roofline" (CACM 2009).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADAPT_COST_H
#define PX_ADAPT_COST_H

#include "adapt/mean.h"
#include "wire/frame.h"

/* Decoding takes a quarter of encoding's time or less: bench/README.md. */
#define PX_DECODE_SHARE			0.25

/* What a choice costs the sender, and what it makes of the data. */
typedef struct px_cost
{
	double		cpu_ns;			/* of encoding, per raw byte */
	double		ratio;			/* wire bytes per raw byte */
} px_cost;

/* What was measured of a choice. */
typedef struct px_choice_cost
{
	px_mean		cpu;			/* nanoseconds of encoding, by raw bytes */
	px_mean		wire;			/* wire bytes, by raw bytes */
} px_choice_cost;

typedef struct px_costs
{
	/* Limits. */
	uint32_t	allowed;		/* bit set of px_choice; plain is in it */
	double		cpu_limit;		/* of encoding, in cores; 1 is no limit */

	/* The sender. */
	px_choice_cost choices[PX_CHOICE_COUNT];
	px_mean		fill;			/* nanoseconds, by raw bytes */
	px_mean		handover;		/* nanoseconds of CPU time, by wire bytes */
	px_mean		contention;		/* wall time of encoding, by its CPU time */
	uint32_t	senders;		/* that work at the same time */
	double		made_nbytes;	/* raw bytes of all senders ... */
	double		busiest_nbytes; /* ... and of the one that has made most */

	/* The link and the receiver: set by link.c. */
	double		link_ns;		/* per wire byte; 0: not known to be the
								 * bottleneck */
	double		consume_ns;		/* per raw byte, of the receiver; 0 as above */
} px_costs;

/* Has the choice been measured on enough data? */
extern bool px_costs_is_known(const px_costs *costs, px_choice choice);

/* As measured; or, as long as nothing was, as usual. */
extern px_cost px_costs_expect(const px_costs *costs, px_choice choice);

/* The least and the most that the choice may cost. */
extern px_cost px_costs_lower_bound(const px_costs *costs, px_choice choice);
extern px_cost px_costs_upper_bound(const px_costs *costs, px_choice choice);

/* Nanoseconds per raw byte of the slowest stage. */
extern double px_costs_bottleneck(const px_costs *costs, px_cost cost);

/* What choices are compared by: less is better. */
extern double px_costs_score(const px_costs *costs, px_cost cost);

/*
 * What a batch of that cost wastes if the others are made by current, in parts
 * of its time.  That is nothing if it keeps no stage busy for longer than the
 * slowest stage is.
 */
extern double px_costs_waste(const px_costs *costs, px_cost cost,
							 px_choice current);

/* Is the link the slowest stage for batches of that choice? */
extern bool px_costs_link_is_bottleneck(const px_costs *costs,
										px_choice choice);

/* May the choice be made, if that is what it costs? */
extern bool px_costs_permit(const px_costs *costs, px_choice choice,
							px_cost cost);

/*
 * A batch was made: it took fill_ns to fill (wall time), and cpu_ns to encode
 * (CPU time) in encode_ns of wall time.  typical is false if a cause that does
 * not last made it expensive: encodings were looked for, or memory was touched
 * for the first time.
 */
extern void px_costs_learn_batch(px_costs *costs, px_choice choice,
								 double raw_nbytes, double wire_nbytes,
								 double fill_ns, double cpu_ns,
								 double encode_ns, bool typical);

/*
 * One of several senders made a batch.  With it, this sender has made
 * sender_raw_nbytes.
 */
extern void px_costs_learn_share(px_costs *costs, double raw_nbytes,
								 double sender_raw_nbytes);

/*
 * Handing over wire_nbytes took cpu_ns of CPU time; waiting does not count.
 * typical as above.
 */
extern void px_costs_learn_handover(px_costs *costs, double wire_nbytes,
									double cpu_ns, bool typical);

#endif							/* PX_ADAPT_COST_H */
