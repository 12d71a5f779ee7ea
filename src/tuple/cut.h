/*-------------------------------------------------------------------------
 *
 * cut.h
 *		The senders of a participant: one, or one for each target.
 *
 * If a request asks for targets, the last column of a row is its target.  A
 * participant of the query, which is the backend itself or a parallel worker,
 * then has a fill and a frame maker for each target.  Otherwise it has one of
 * each.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_CUT_H
#define PX_TUPLE_CUT_H

#include "compat.h"
#include "tuple/fill.h"
#include "tuple/frame_maker.h"

typedef struct px_cut
{
	px_request	request;		/* with the limits of one target's batch */
	uint32		targets;		/* 1 .. PX_REQUEST_TARGETS_MAX */
	int			attribute;		/* number of the column with the target, from
								 * 1; 0: none has it */
	px_fill   **fills;			/* [targets] */
	px_frame_maker **makers;	/* [targets], each with its target's fill */
	uint32		next;			/* that gets the next row for PX_TARGET_ANY */

	/*
	 * Written by node/send.c: the child's row, while batches must be sent
	 * before all targets have it; and how many have it.
	 */
	TupleTableSlot *row_for_all;
	uint32		reached;
} px_cut;

/*
 * Make the senders of a participant, 0 for the backend itself or n for
 * parallel worker n-1, in the current memory context.  columns are as for
 * px_fill_new, and then the number of the column with the target, or 0 if the
 * caller computes it.  There is no memory for rows before px_cut_begin.
 * Errors: ERRCODE_INVALID_PARAMETER_VALUE if that column is not an int4.
 */
extern px_cut *px_cut_new(TupleDesc desc, const List *columns,
						  const px_request *request,
						  const px_request_column *column_requests,
						  int encoding, uint32 participant);

/* Allocate the buffers, in the current memory context; once. */
extern void px_cut_begin(px_cut *cut);

/* Begin a new stream; see px_frame_maker_restart. */
extern void px_cut_restart(px_cut *cut);

/* The highest number of a participant whose frames have valid senders. */
#define PX_CUT_PARTICIPANT_MAX(targets) \
	((PX_FRAME_SENDER_MAX + 1) / Max(targets, 1) - 1)

/*
 * What a value means that is no number of a target: one in its place, or
 * PX_TARGET_ALL.  Errors: ERRCODE_INVALID_PARAMETER_VALUE if it means nothing.
 */
extern int32 px_cut_choose(px_cut *cut, int32 target);

/*
 * The target that a row's value means, or PX_TARGET_ALL.  A row whose value is
 * null must not be sent.  Only with targets.
 */
static inline int32
px_cut_target(px_cut *cut, Datum value)
{
	int32		target = DatumGetInt32(value);

	if (unlikely((uint32) target >= cut->targets))
		target = px_cut_choose(cut, target);
	return target;
}

/* The totals of all targets, without send_wait_us and link_rate. */
typedef struct px_cut_totals
{
	uint64		frames;
	px_end		end;
	instr_time	encode_time;
} px_cut_totals;

extern px_cut_totals px_cut_sum(const px_cut *cut);

#endif							/* PX_TUPLE_CUT_H */
