/*-------------------------------------------------------------------------
 *
 * send_state.h
 *		The state of an ExchangeSend, shared by send.c and send_explain.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_SEND_STATE_H
#define PX_NODE_SEND_STATE_H

#include "nodes/execnodes.h"
#include "portability/instr_time.h"

#include "exec/auto.h"
#include "exec/frame_queue.h"
#include "exec/page_rows.h"
#include "transport/offer.h"
#include "tuple/cut.h"

typedef enum px_send_phase
{
	PX_SEND_SLICE,				/* only if a slice was requested */
	PX_SEND_SCHEMA,
	PX_SEND_BATCHES,
	PX_SEND_END,
	PX_SEND_DONE
} px_send_phase;

typedef struct px_send_state
{
	CustomScanState css;		/* must be first */

	px_request	request;
	px_slice	slice;
	bool		below_gather;
	bool		single_copy;	/* that Gather runs its child in one worker */
	bool		text;			/* an ExchangeArmour is above */
	px_page_rows rows;			/* of the child */
	px_cut	   *cut;
	ExprState  *computed_target;	/* NULL if it is a column of the child's */
	MemoryContext context;		/* for the node's lifetime */

	px_choice	choice;			/* for the next batch */
	px_auto    *adaptive;		/* makes the choice for each batch; NULL if
								 * there is only one */

	/*
	 * Below a Gather: how frames get from workers to the leader, if not
	 * through Gather's own queues.
	 */
	px_frame_queues *queues;	/* the leader's; NULL while there are none */
	shm_mq_handle *queue;		/* a worker's; NULL if there is none */
	bool		had_queues;		/* this stream: did the leader have them? */
	uint64		worker_frames;	/* this stream: that it took out of them */

	px_offer_run offer;			/* not below a Gather: of its frames */

	/* The target of the next frame, or of the last batch. */
	uint32		target;			/* 0 without targets */
	px_fill    *fill;			/* of the target */
	px_frame_maker *maker;		/* of the target */

	/* The stream; see send_restart. */
	px_send_phase phase;
	bool		started;		/* have buffers been allocated? */
	bool		exhausted;		/* the child has no more rows */
	uint32		batch_rows;		/* limit for the next batch */
	uint32		fetched_rows;	/* rows since the last multiple of the
								 * request's fetch_rows */
	instr_time	send_wait_time; /* sum of times outside the node that no end
								 * frame has said */
	instr_time	returned_at;	/* zero until a frame was returned */
	instr_time	flushed_at;		/* zero at first */
} px_send_state;

#endif							/* PX_NODE_SEND_STATE_H */
