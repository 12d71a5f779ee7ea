/*-------------------------------------------------------------------------
 *
 * adapt.h
 *		What a sender has learned, and how the next batch is to be compressed.
 *
 * The model is a pipeline of three stages that work at the same time: the
 * sender fills, encodes and hands over; the link carries; the receiver decodes
 * and consumes.  A choice is as good as its slowest stage is fast:
 *
 *		sender		(fill + contention * (encode[choice] +
 *					handing over * ratio[choice])) / speedup
 *		link		time per byte * ratio[choice]
 *		receiver	consuming + encode[choice] / 4 + handing over * ratio[choice]
 *
 * All of it in nanoseconds per byte of raw data; ratio is wire bytes per raw
 * byte, contention the time that goes by per CPU time, speedup what all senders
 * have made by what the busiest has.  Everything is measured while the stream
 * runs, by trying a choice on a batch that is sent in any case.
 *
 * The caller feeds in samples and asks for a choice before each batch.  Pure
 * arithmetic: nothing here reads a clock or a socket, so tests can simulate
 * links (test/unit/test_adapt.c).  Several senders of a stream may share one
 * px_adapt, if they take turns.
 *
 * Sources: the bottleneck as the measure of a pipeline, Williams, Waterman,
 * Patterson, "Roofline" (CACM 2009); trying what looks good while it is
 * unknown, Sutton, Barto, "Reinforcement Learning" (2018), 2.6.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADAPT_ADAPT_H
#define PX_ADAPT_ADAPT_H

#include "wire/frame.h"

/* A batch of fewer raw bytes is not worth a codec. */
#define PX_CODEC_RAW_NBYTES_MIN		4096

/* A moving average: sums in which older samples weigh less and less. */
typedef struct px_mean
{
	double		amount;			/* 0: no sample yet */
	double		value;
} px_mean;

/* What is known of a choice. */
typedef struct px_choice_cost
{
	px_mean		cpu;			/* nanoseconds of encoding, by raw bytes */
	px_mean		wire;			/* wire bytes, by raw bytes */
	uint64_t	learned_at;		/* number of the batch */
} px_choice_cost;

typedef struct px_adapt
{
	/* Set by px_adapt_init. */
	uint32_t	allowed;		/* bit set of px_choice; plain is always in it */
	double		cpu_limit;		/* of encoding, in cores; 1 is no limit */
	bool		receiver_waits;	/* the last stream's receiver did, for frames */
	bool		random;			/* do not choose, draw: for tests */
	uint64_t	seed;

	/* The sender. */
	px_choice_cost costs[PX_CHOICE_COUNT];
	px_mean		fill;			/* nanoseconds, by raw bytes */
	px_mean		handing;		/* nanoseconds of work, by wire bytes */
	px_mean		contention;		/* nanoseconds gone by, by those of encoding */
	uint32_t	senders;		/* that work at the same time */
	double		made_nbytes;	/* raw bytes of all senders ... */
	double		busiest_nbytes; /* ... and of the one that has made most of them */

	/* The link, and the receiver behind it. */
	bool		backlog;		/* the last sample had one */
	bool		has_told;		/* enough has left during one to tell the rate */
	double		link_ns;		/* per wire byte; 0: not known to be in the way */
	double		consume_ns;		/* per raw byte, of the receiver; 0 as above */
	px_mean		drain;			/* bytes, by nanoseconds, while there was a backlog */
	px_mean		recent;			/* the same, since it was last compared with drain */
	px_mean		receiver;		/* those of them in which the receiver was in the way */
	px_mean		carried;		/* bytes, by nanoseconds, while the link was; for reports */
	double		drain_ns;		/* drain per byte as last measured */
	uint32_t	quiet;			/* samples without a backlog, in a row */
	uint32_t	quiet_max;		/* of these, before the link is taken to be faster */

	/* The choice. */
	px_choice	current;
	uint64_t	batches;		/* chosen so far */
	double		raw_nbytes;		/* of these, about */
	uint64_t	probed_at;		/* number of the batch that was last a probe */
	uint32_t	uncertain;		/* batches before the link has told its rate */
	uint32_t	cautious;		/* those that were sent smaller in case */
	double		credit;			/* raw bytes' time that probes may waste */
} px_adapt;

/*
 * Begin to learn.  link_rate is what the last stream on the link has carried,
 * in bytes per second, 0 if that is not known.  cpu_limit as above, 0 .. 1.
 * seed > 0 has choices drawn at random.
 */
extern void px_adapt_init(px_adapt *adapt, uint32_t allowed, double cpu_limit,
						  double link_rate, bool receiver_waits, uint64_t seed);

/* How to compress the next batch, of raw_nbytes. */
extern px_choice px_adapt_choose(px_adapt *adapt, double raw_nbytes);

/* The same choice, made for a batch that has become one of raw_nbytes. */
extern px_choice px_adapt_for_size(const px_adapt *adapt, px_choice choice,
								   double raw_nbytes);

/*
 * A batch was made: it took fill_ns to fill (wall time), and cpu_ns to encode
 * (CPU time), for which encode_ns went by.
 * settled is false if it was dear for once: encodings were looked for, or memory
 * was touched for the first time.
 */
extern void px_adapt_learn_batch(px_adapt *adapt, px_choice choice,
								 double raw_nbytes, double wire_nbytes,
								 double fill_ns, double cpu_ns, double encode_ns,
								 bool settled);

/* One of several senders made a batch, and has made sender_raw_nbytes with it. */
extern void px_adapt_learn_share(px_adapt *adapt, double raw_nbytes,
								 double sender_raw_nbytes);

/*
 * Handing over wire_nbytes took so much work; waiting does not count.  settled as
 * above.
 */
extern void px_adapt_learn_handing(px_adapt *adapt, double wire_nbytes,
								   double cpu_ns, bool settled);

/* How the socket did since the last sample. */
typedef struct px_link_sample
{
	bool		backlog;		/* there is something left to send */
	double		ns;				/* time in which there always was; without a
								 * backlog, all the time since */
	double		nbytes;			/* that have left in it */
	double		receiver_ns;	/* part of ns in which the receiver would not take
								 * more; < 0 if that is not known */
} px_link_sample;

extern void px_adapt_learn_link(px_adapt *adapt, const px_link_sample *sample);

/*
 * Bytes per second that the link carried while it was in the way, over the
 * last second or so of that; 0 if it never was.
 */
extern double px_adapt_link_rate(const px_adapt *adapt);

#endif							/* PX_ADAPT_ADAPT_H */
