/*-------------------------------------------------------------------------
 *
 * auto.h
 *		Mode auto: what a sender measures, and the choice for each batch.
 *
 * The model is adapt/adapt.h; here are the clocks, the socket and the memory
 * that parallel senders share.  ExchangeSend says what it is doing:
 *
 *		px_auto_called		it was called: what it returned has been handed over
 *		px_auto_choose		a batch is to be filled; how will it be encoded?
 *		px_auto_filled		it is filled
 *		px_auto_encoded		the batch is a frame, and about to be returned
 *
 * and ExchangeForward, above the Gather of a parallel query:
 *
 *		px_auto_forwarding	it was called: what it returned has been handed over
 *		px_auto_forwarded	it has a frame of some sender's, about to be returned
 *
 * and ExchangeArmour, in the session transport:
 *
 *		px_auto_fetching	it was called, by another FETCH: the last piece is there
 *		px_auto_fetched		it has a piece, about to be returned
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_AUTO_H
#define PX_EXEC_AUTO_H

#include "portability/instr_time.h"
#include "storage/spin.h"

#include "adapt/adapt.h"
#include "column/encode.h"
#include "transport/link.h"
#include "wire/request.h"

/* What the senders of a stream share; a lone one has it to itself. */
typedef struct px_auto_shared
{
	slock_t		mutex;			/* protects the rest */
	px_adapt	adapt;
	uint64		handed_nbytes;	/* frames that all senders have handed over */
	instr_time	socket_at;		/* when the leader last asked the socket; or 0 */
} px_auto_shared;

typedef struct px_auto
{
	px_auto_shared *shared;		/* local, or in the memory of a parallel query */
	px_auto_shared local;
	uint64		counts[PX_CHOICE_COUNT];	/* batches of this sender */
	double		made_nbytes;	/* raw bytes of this sender */

	/* The batch under construction. */
	instr_time	called_at;
	double		raw_nbytes;		/* of the last one */
	double		filled_cpu_ns;
	double		fill_ns;
	px_choice	choice;

	/* The frame last returned; valid if returned_nbytes > 0. */
	instr_time	returned_at;
	double		returned_cpu_ns;
	double		returned_nbytes;
	double		returned_max_nbytes;	/* of all so far */
	bool		returned_larger;	/* than any before */
	double		blocked_ns;		/* while it was handed over */
	instr_time	filled_at;
	uint64		handed_nbytes;	/* of all, when the batch was filled */

	/* The frame last forwarded; valid if forwarded_nbytes > 0. */
	bool		forwards;		/* ExchangeForward asks the socket */
	instr_time	forwarded_at;
	double		forwarded_cpu_ns;
	double		forwarded_nbytes;
	double		forwarded_max_nbytes;	/* of all so far */
	bool		forwarded_larger;	/* than any before */
	double		forward_blocked_ns; /* while it was handed over */

	/* The piece last returned is what was forwarded; valid if so. */
	bool		pieces;			/* ExchangeArmour asks the socket */

	/* The socket. */
	bool		has_link;		/* what follows is valid */
	instr_time	link_at;		/* when link was read */
	px_link_state link;
	bool		has_backlog;	/* it has not been empty for some time */
	px_link_sample sample;		/* since the last batch was filled, as far as there was a backlog */
} px_auto;

/* For a request with codec=auto; allocated in the current context. */
extern px_auto *px_auto_new(const px_request *request);

/* A new stream begins, with what earlier ones have taught. */
extern void px_auto_restart(px_auto *state);

extern void px_auto_called(px_auto *state);

/* How the next batch will be encoded, as far as its size does not matter. */
extern px_choice px_auto_choose(px_auto *state);

/* The batch has raw_nbytes: the choice for it, without a codec if that is little. */
extern px_choice px_auto_filled(px_auto *state, size_t raw_nbytes);

/* columns[ncolumns] is what was left by the batch. */
extern void px_auto_encoded(px_auto *state, size_t raw_nbytes, size_t wire_nbytes,
							const px_column_state *columns, int ncolumns);

extern void px_auto_forwarding(px_auto *state);

/* The frame has wire_nbytes. */
extern void px_auto_forwarded(px_auto *state, size_t wire_nbytes);

extern void px_auto_fetching(px_auto *state);

/* The piece has nchars characters. */
extern void px_auto_fetched(px_auto *state, size_t nchars);

/* Bytes per second that the link carried; see px_adapt_link_rate. */
extern uint64 px_auto_link_rate(px_auto *state);

/*
 * Parallel queries.  The leader moves what it has into shared memory, of
 * sizeof(px_auto_shared), and takes it back before that goes; workers join.
 */
extern void px_auto_share(px_auto *state, px_auto_shared *shared);
extern void px_auto_unshare(px_auto *state);
extern void px_auto_join(px_auto *state, px_auto_shared *shared);

#endif							/* PX_EXEC_AUTO_H */
