/*-------------------------------------------------------------------------
 *
 * sender.h
 *		What one sender measures.
 *
 * The caller says what the sender is doing, and what clocks and the socket
 * show at that moment.  A sender of batches:
 *
 *		px_sender_called		the frame returned last has been handed over
 *		px_sender_choose		a batch is to be filled; how will it be made?
 *		px_sender_filled		it is filled
 *		px_sender_encoded		the batch is a frame, about to be returned
 *
 * Above the Gather of a parallel query, for frames of all senders:
 *
 *		px_sender_forwarding	the frame returned last has been handed over
 *		px_sender_forwarded		another one is about to be returned
 *
 * In the session transport, where the receiver asks for each piece:
 *
 *		px_sender_fetching		another is asked for: the last one has arrived
 *		px_sender_fetched		it is about to be returned
 *
 * The last four are called beside the first four, with the same px_sender.
 *
 * Encoding is measured in CPU time, which other processes do not disturb;
 * filling in wall time, as reading a table may have to wait.  Of handing over,
 * CPU time is work, and the rest is being blocked.
 *
 * Being blocked says little about the link.  The kernel takes megabytes before
 * it blocks, and the cause may as well be the receiver.  So the socket is
 * asked twice for each batch what it has still to send.  As long as that is
 * never nothing, what was acknowledged meanwhile is what the link carried, or
 * what the receiver took.  In a parallel query only the leader has the socket.
 * It asks for all senders as it forwards their frames.
 *
 * Not all kernels say.  Then the time that senders are blocked has to do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADAPT_SENDER_H
#define PX_ADAPT_SENDER_H

#include "adapt/adapt.h"

/* What clocks show, in nanoseconds since some moment that stays the same. */
typedef struct px_clocks
{
	int64_t		wall_ns;		/* the same for all processes */
	int64_t		cpu_ns;			/* CPU time of this process */
} px_clocks;

/* What the kernel says of the socket that frames go to. */
typedef struct px_socket
{
	uint64_t	acked_nbytes;	/* that the other end has, in total */
	uint64_t	refused_us;		/* time that its receive buffer was full, in
								 * total */
	uint64_t	busy_us;		/* time something was under way or waiting, in
								 * total */
	uint32_t	unsent_nbytes;	/* in the socket's buffer: what is under way is
								 * not */
	uint32_t	round_trip_us;	/* the shortest lately */
} px_socket;

/* What the senders of a stream share; a lone one has it to itself. */
typedef struct px_adapt_shared
{
	px_adapt	adapt;
	uint64_t	handover_nbytes;	/* that all senders have handed over */
	int64_t		socket_at;		/* when the socket last told something; or 0 */
} px_adapt_shared;

/* Frames or pieces that are handed over one after the other. */
typedef struct px_handover
{
	double		nbytes;			/* of the last one; 0: there was none yet */
	double		nbytes_max;		/* of all so far */
	bool		larger;			/* the last one was larger than any before */
	px_clocks	begun;			/* when it was returned */
	double		blocked_ns;		/* while it was handed over; valid when that
								 * is done */
} px_handover;

typedef struct px_sender
{
	bool		is_worker;		/* has no socket */
	bool		forwards;		/* the socket is asked when frames are
								 * forwarded, or pieces fetched */
	bool		fetches;		/* pieces are fetched */
	double		made_nbytes;	/* raw bytes of all batches */

	/* The batch under construction. */
	px_choice	choice;
	double		raw_nbytes;		/* of the last one */
	int64_t		called_at;
	double		fill_ns;
	px_clocks	filled;
	uint64_t	handover_nbytes;	/* of all senders, when it was filled */

	px_handover frame;			/* of this sender's */
	px_handover forwarded;		/* a frame of any sender's, or a piece */

	/* The socket. */
	bool		has_socket;		/* what follows is valid */
	int64_t		socket_at;		/* when socket was read */
	px_socket	socket;
	bool		has_backlog;	/* it has not been empty for some time */
	px_link_sample sample;		/* since the last one was learned, as far as
								 * there was a backlog */
	int64_t		learned_at;		/* when that was */
	uint64_t	learned_acked_nbytes;	/* of socket then */
} px_sender;

extern void px_sender_init(px_sender *sender, bool is_worker);

/* Another sender joins those that share. */
extern void px_sender_join(px_adapt_shared *shared);

/* All other senders are gone. */
extern void px_sender_continue_alone(const px_sender *sender,
									 px_adapt_shared *shared);

/* A new stream begins.  What earlier ones have measured stays. */
extern void px_sender_restart(px_sender *sender);

/*
 * socket is NULL if the kernel does not say; it is not looked at if
 * sender->forwards is set.
 */
extern void px_sender_called(px_sender *sender, px_adapt_shared *shared,
							 px_clocks now);
extern px_choice px_sender_choose(px_sender *sender, px_adapt_shared *shared);

/* The batch has raw_nbytes.  If that is little, its choice has no codec. */
extern px_choice px_sender_filled(px_sender *sender, px_adapt_shared *shared,
								  px_clocks now, const px_socket *socket,
								  double raw_nbytes);

/* typical: see px_costs_learn_batch. */
extern void px_sender_encoded(px_sender *sender, px_adapt_shared *shared,
							  px_clocks now, const px_socket *socket,
							  double raw_nbytes, double wire_nbytes,
							  bool typical);

extern void px_sender_forwarding(px_sender *sender, px_adapt_shared *shared,
								 px_clocks now);

/* The frame has wire_nbytes. */
extern void px_sender_forwarded(px_sender *sender, px_adapt_shared *shared,
								px_clocks now, const px_socket *socket,
								double wire_nbytes);

extern void px_sender_fetching(px_sender *sender, px_adapt_shared *shared,
							   px_clocks now, const px_socket *socket);

/* The piece has wire_nbytes. */
extern void px_sender_fetched(px_sender *sender, px_clocks now,
							  const px_socket *socket, double wire_nbytes);

#endif							/* PX_ADAPT_SENDER_H */
