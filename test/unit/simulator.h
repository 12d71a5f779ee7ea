/*-------------------------------------------------------------------------
 *
 * simulator.h
 *		Simulated senders, links and receivers for mode auto.
 *
 * A simulated stream has a sender, a socket buffer, a link, a receive buffer
 * and a receiver, and time that passes in small steps.  The code under test is
 * the sender's own (adapt/sender.h): it is shown simulated clocks and a
 * simulated socket, and nothing else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIMULATOR_H
#define SIMULATOR_H

#include "adapt/sender.h"

#define GBIT			0.125	/* bytes per nanosecond */
#define MBIT			(GBIT / 1000)
#define SIM_WORKERS_MAX	4
#define SIM_SEND_BUFFER	1e6		/* bytes that the socket takes */

/* What there is to send: costs per raw byte in nanoseconds. */
typedef struct sim_data
{
	const char *name;
	double		batch_nbytes;
	double		fill_ns;
	double		cpu_ns[PX_CHOICE_COUNT];
	double		ratio[PX_CHOICE_COUNT];
} sim_data;

/* A worker of a parallel query, and what it is doing. */
typedef struct sim_worker
{
	px_sender	sender;
	enum
	{
		SIM_FILLS, SIM_ENCODES, SIM_WAITS
	}			doing;
	double		until;			/* when that is done; SIM_WAITS: unused */
	double		cpu_ns;			/* CPU time so far */
	double		frame_nbytes;	/* of the frame that waits for the leader */
} sim_worker;

typedef struct sim
{
	/* What is simulated; the caller may change it at any time. */
	const sim_data *data;
	double		link;			/* bytes per nanosecond */
	double		consume_ns;		/* of the receiver, per raw byte */
	double		round_trip_ns;	/* of pieces */
	bool		blind;			/* the kernel does not tell about the socket */
	int			fixed;			/* a px_choice for all batches; -1: choose */
	uint64_t	noise;			/* > 0: seed of what disturbs a real machine */

	/* What is tested. */
	px_adapt_shared shared;
	px_sender	sender;			/* of a parallel query: the leader's */
	sim_worker	workers[SIM_WORKERS_MAX];
	int			nworkers;
	int			last_worker;	/* whose frame was forwarded */

	/* State of the simulation. */
	double		now;			/* nanoseconds */
	double		cpu_ns;			/* CPU time of the sender */
	double		queued;			/* bytes in the socket buffer */
	double		arrived;		/* bytes in the receive buffer */
	double		sent;			/* bytes that have left the socket buffer */
	double		refused_ns;		/* time in which the receive buffer was full */
	double		busy_ns;		/* time in which something was under way */
	double		stalled_until;	/* the link, by noise */
	double		frame_nbytes_max;	/* of all so far */
	uint32_t	batches;

	/* What was seen. */
	px_choice	choice;			/* of the last batch */
	uint32_t	counts[PX_CHOICE_COUNT];	/* batches */
	double		encoding_ns;
	double		raw_nbytes;
} sim;

extern const sim_data sim_lineitem;
extern const sim_data sim_documents;
extern const sim_data sim_random_bytes;
extern const sim_data sim_uuids;
extern const sim_data *const sim_all_data[4];

/* A stream that knows nothing yet; fixed: a px_choice, or -1. */
extern void sim_init(sim *s, const sim_data *data, double link, int fixed);

/* One batch: rows in a column buffer, a frame, and the socket has it. */
extern void sim_batch(sim *s, double raw_nbytes);
extern void sim_run(sim *s, int batches);

/*
 * A whole stream: the first batches are small.  Returns when the receiver has
 * it all, and how many nanoseconds that took.
 */
extern double sim_stream(sim *s, int batches);

/*
 * Session transport: the sender makes batches until they are worth a round
 * trip, returns them as a piece, and waits until the receiver asks for the
 * next one.
 */
extern void sim_piece(sim *s);

/*
 * A parallel query: workers fill and encode, each with a core of its own, and
 * the leader forwards one frame.
 */
extern void sim_begin_workers(sim *s, int nworkers);
extern void sim_forward(sim *s);

#endif							/* SIMULATOR_H */
