/*-------------------------------------------------------------------------
 *
 * auto.h
 *		Mode auto: clocks, socket and shared memory for what a sender measures.
 *
 * ExchangeSend, ExchangeForward and ExchangeArmour say what they are doing.
 * See adapt/sender.h, whose functions have the same names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_AUTO_H
#define PX_EXEC_AUTO_H

#include "storage/spin.h"

#include "adapt/sender.h"
#include "column/encode.h"
#include "wire/request.h"

/* What the senders of a stream share; a lone one has it to itself. */
typedef struct px_auto_shared
{
	slock_t		mutex;			/* protects the rest */
	px_adapt_shared adapt;
} px_auto_shared;

typedef struct px_auto
{
	px_auto_shared *shared;		/* local, or in a parallel query's memory */
	px_auto_shared local;
	px_sender	sender;
	uint64		counts[PX_CHOICE_COUNT];	/* batches of this sender */
} px_auto;

/* For a request with codec=auto; allocated in the current context. */
extern px_auto *px_auto_new(const px_request *request);

/* A new stream begins.  What earlier ones have measured stays. */
extern void px_auto_restart(px_auto *state);

extern void px_auto_called(px_auto *state);

/* How the next batch will be encoded, as far as its size does not matter. */
extern px_choice px_auto_choose(px_auto *state);

/* The choice for a batch of raw_nbytes: without a codec if that is little. */
extern px_choice px_auto_filled(px_auto *state, size_t raw_nbytes);

/* columns[ncolumns] is what was left by the batch. */
extern void px_auto_encoded(px_auto *state, size_t raw_nbytes,
							size_t wire_nbytes, const px_column_state *columns,
							int ncolumns);

extern void px_auto_forwarding(px_auto *state);

/* The frame has wire_nbytes. */
extern void px_auto_forwarded(px_auto *state, size_t wire_nbytes);

extern void px_auto_fetching(px_auto *state);

/* The piece has nchars characters. */
extern void px_auto_fetched(px_auto *state, size_t nchars);

/* Bytes per second that the link carried; see px_link_rate. */
extern uint64 px_auto_link_rate(px_auto *state);

/*
 * Parallel queries.  The leader moves what it has into shared memory, of
 * sizeof(px_auto_shared), and takes it back before that goes; workers join.
 */
extern void px_auto_share(px_auto *state, px_auto_shared *shared);
extern void px_auto_unshare(px_auto *state);
extern void px_auto_join(px_auto *state, px_auto_shared *shared);

#endif							/* PX_EXEC_AUTO_H */
