/*-------------------------------------------------------------------------
 *
 * link.h
 *		What the link carries, or the receiver takes.
 *
 * The rate can be measured only while there is a backlog: data that the sender
 * has handed over, and that has not left it.  Without one, the last rate holds
 * for a while.  Then the link is taken to be faster, step by step.  If that
 * was wrong, there is a backlog again, and the next attempt comes later.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADAPT_LINK_H
#define PX_ADAPT_LINK_H

#include "adapt/cost.h"

/* How the socket did since the last sample. */
typedef struct px_link_sample
{
	bool		backlog;		/* there is something left to send */
	double		ns;				/* time in which there always was; without a
								 * backlog, all the time since */
	double		nbytes;			/* that have left in it */
	double		receiver_ns;	/* part of ns in which the receiver would not
								 * take more; < 0 if that is not known */
} px_link_sample;

typedef struct px_link
{
	bool		receiver_waits; /* the receiver of the last stream did, for
								 * frames */
	bool		backlog;		/* the last sample had one */
	bool		is_measured;	/* enough has left during a backlog to tell
								 * the rate */
	px_mean		drain;			/* bytes, by nanoseconds, during a backlog */
	px_mean		recent;			/* the same, since it was last compared with
								 * drain */
	px_mean		receiver;		/* receiver_ns, by nanoseconds of a backlog */
	px_mean		carried;		/* bytes, by nanoseconds, while the link was
								 * the bottleneck; for reports */
	px_mean		passed;			/* bytes, by nanoseconds, since the last
								 * backlog */
	double		drain_ns;		/* per byte, as last measured */
	uint32_t	quiet;			/* samples without a backlog, in a row */
	uint32_t	quiet_max;		/* of these, before the link is taken to be
								 * faster */
} px_link;

/*
 * Begin to learn.  rate is what the last stream on the link has carried, in
 * bytes per second, 0 if that is not known.
 */
extern void px_link_init(px_link *link, px_costs *costs, double rate,
						 bool receiver_waits);

/*
 * Learn from a sample: sets costs->link_ns or costs->consume_ns.  Batches are
 * made by current.
 */
extern void px_link_learn(px_link *link, px_costs *costs, px_choice current,
						  const px_link_sample *sample);

/*
 * Bytes per second that the link carried while it was the bottleneck, over the
 * last second or so of that; 0 if it never was.
 */
extern double px_link_rate(const px_link *link);

#endif							/* PX_ADAPT_LINK_H */
