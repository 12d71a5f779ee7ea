/*-------------------------------------------------------------------------
 *
 * adapt.h
 *		What a stream's senders have learned, and how the next batch is to be
 *		compressed.
 *
 * Everything is measured while the stream runs, by trying a choice on a batch
 * that is sent in any case.  The caller feeds in samples and asks for a choice
 * before each batch.  Pure arithmetic: nothing here reads a clock or a socket.
 * Several senders of a stream may share one px_adapt, if they take turns.
 *
 *		cost.h		what each choice costs: moving averages, the bottleneck
 *		link.h		what the link carries
 *		probe.h		when to try a choice whose cost is not known well
 *		sender.h	what one sender measures, and feeds in here
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADAPT_ADAPT_H
#define PX_ADAPT_ADAPT_H

#include "adapt/cost.h"
#include "adapt/link.h"
#include "adapt/probe.h"

/* A batch of fewer raw bytes is not worth a codec. */
#define PX_CODEC_RAW_NBYTES_MIN		4096

typedef struct px_adapt
{
	px_costs	costs;
	px_link		link;
	px_probe	probe;
	px_choice	current;		/* of batches that are not probes */
	bool		random;			/* do not choose, draw: for tests */
	uint64_t	seed;
} px_adapt;

/*
 * Begin to learn.  allowed is a bit set of px_choice.  link_rate is what the
 * last stream on the link has carried, in bytes per second, 0 if that is not
 * known; receiver_waits, whether its receiver waited for frames.  cpu_limit is
 * how much of a core encoding may take, 0 .. 1.  seed > 0 has choices drawn at
 * random.
 */
extern void px_adapt_init(px_adapt *adapt, uint32_t allowed, double cpu_limit,
						  double link_rate, bool receiver_waits,
						  uint64_t seed);

/* How to compress the next batch, of raw_nbytes. */
extern px_choice px_adapt_choose(px_adapt *adapt, double raw_nbytes);

/* The same choice, made for a batch that has become one of raw_nbytes. */
extern px_choice px_adapt_for_size(const px_adapt *adapt, px_choice choice,
								   double raw_nbytes);

/* A batch was made; see px_costs_learn_batch. */
extern void px_adapt_learn_batch(px_adapt *adapt, px_choice choice,
								 double raw_nbytes, double wire_nbytes,
								 double fill_ns, double cpu_ns,
								 double encode_ns, bool typical);

/* The socket was asked; see px_link_learn. */
extern void px_adapt_learn_link(px_adapt *adapt,
								const px_link_sample *sample);

#endif							/* PX_ADAPT_ADAPT_H */
