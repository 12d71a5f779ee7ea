/*-------------------------------------------------------------------------
 *
 * slices.h
 *		Who reads which slice of a scan.
 *
 * Streams of one node, and in a parallel scan those of all participants, claim
 * slices until none is left.  Slice 0 goes first: its sender says what the
 * slices are, or that there are none and all rows come by that stream.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_SLICES_H
#define PX_TRANSPORT_SLICES_H

#include "storage/condition_variable.h"
#include "storage/spin.h"

#include "wire/frame.h"

/* In local memory, or in the memory that participants share. */
typedef struct px_slices
{
	slock_t		mutex;			/* protects the rest */
	uint32		wanted;			/* how many we ask for */
	uint64		pending;		/* bit k is set: slice k is not claimed */
	uint64		unsure;			/* bit k is set: it was claimed, and may be
								 * returned */
	bool		announced;		/* slice is valid */
	bool		leader_came;	/* the leader of a parallel plan is at the
								 * scan, or is not going to be */
	px_slice	slice;
	ConditionVariable changed;	/* announced or leader_came was set, or a slice
								 * accepted or returned */
} px_slices;

/* There are wanted slices, and none of them is claimed. */
extern void px_slices_init(px_slices *slices, uint32 wanted);

/*
 * Take the next slice; -1 if there is none.  While slice 0 is somebody's and
 * was not announced, waits for that, serving interrupts.  If may_wait is true,
 * also waits while others may return what they have claimed: whoever has
 * claimed must then be about to accept or return it, and wait for nobody.
 */
extern int	px_slices_claim(px_slices *slices, bool may_wait);

/* A claimed slice is being read: it will not be returned. */
extern void px_slices_accept(px_slices *slices, int slice);

/* Give back a slice that was not begun. */
extern void px_slices_return(px_slices *slices, int slice);

/* Is there a slice that nobody has claimed? */
extern bool px_slices_are_left(px_slices *slices);

/* Leader: I am at the scan, and stay until it is read; or I do not come. */
extern void px_slices_come(px_slices *slices);

/* Worker: wait for px_slices_come, serving interrupts. */
extern void px_slices_await_leader(px_slices *slices);

/*
 * The sender of a slice has said what the slices are.  That of slice 0 is
 * believed, as long as they are as many as wanted, or one; the others must
 * agree.  Errors name the server: ERRCODE_PROTOCOL_VIOLATION, and
 * ERRCODE_T_R_SERIALIZATION_FAILURE if the table was rewritten.
 */
extern void px_slices_announce(px_slices *slices, int slice,
							   const px_slice *said, const char *servername);

#endif							/* PX_TRANSPORT_SLICES_H */
