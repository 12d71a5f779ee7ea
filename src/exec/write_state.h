/*-------------------------------------------------------------------------
 *
 * write_state.h
 *		The state of a writer, shared by writer.c and the write_*.c files.
 *
 * A row goes this way:
 *
 *		write_target.c	the first ones to postgres_fdw,
 *		write_kept.c	or they are kept as tuples
 *		write_frames.c	into columns, and these into frames
 *		write_piece.c	frames become a piece, which is one text
 *		write_lane.c	the piece is sent to its server
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_STATE_H
#define PX_EXEC_WRITE_STATE_H

#include "executor/executor.h"
#include "utils/resowner.h"

#include "adapt/adapt.h"
#include "conn/link.h"
#include "conn/peer.h"
#include "exec/write_piece.h"
#include "exec/write_plan.h"
#include "guc.h"
#include "transport/depositor.h"
#include "transport/downlink.h"
#include "tuple/frame_maker.h"

/* A server that is written to. */
typedef struct px_write_lane
{
	struct px_write_lane *next;
	struct px_write_state *writer;
	Oid			serverid;
	const char *servername;		/* NULL before the first question */
	UserMapping *user;			/* the same */
	px_downlink *downlink;		/* NULL before the first call */
	bool		failed;			/* its session takes no more commands */
	bool		has_frames;		/* of some target, or had them */
	int			ntargets;		/* that are written to there */
	int			nheld;			/* calls with errors held */
	int64		contact_ns;		/* when the session was last sent something, or
								 * answered; by px_wall_ns */
	const char *declined;		/* why postgres_fdw writes all that is left;
								 * NULL: it does not */

	/* How frames are compressed; valid once a target has been described. */
	bool		is_described;
	px_link_id	link;			/* to the server, when the statement began */
	px_locality locality;
	bool		is_local;		/* under pg_exchange.local_scope */
	px_mode		mode;			/* that is in force: none if it is local */
	px_adapt	adapt;			/* mode auto; else not valid */
	int			idle_ms;		/* the session's idle time-out; 0: none */

	/* The call in flight: sent, and not collected. */
	px_write_target *target;	/* NULL: there is none */
	px_write_piece *piece;
	int64		sent_ns;		/* how long sending took */
	uint64		number;			/* counts calls, to find the oldest */
	bool		by_deposit;		/* the frames were deposited */
	bool		has_result;		/* was seen to have arrived */

	/* The piece that is brought meanwhile: see write_deposit.h. */
	px_depositor *depositor;	/* NULL until needed */
	px_write_target *deposit_target;	/* NULL: there is none */
	px_write_piece *deposit_piece;
	bool		deposit_failed; /* do not try again */

	struct px_progress *progress;	/* NULL: not shown */
	bool		was_shown;		/* or there was no room to */
} px_write_lane;

typedef enum px_write_phase
{
	PX_WRITE_KEEPING,			/* rows are kept as tuples */
	PX_WRITE_FRAMES,			/* rows become frames */
	PX_WRITE_DECLINED			/* rows go to postgres_fdw */
} px_write_phase;

/* A row that is kept as a tuple. */
typedef struct px_kept_row
{
	MinimalTuple tuple;			/* NULL for a DELETE */
	ItemPointerData ctid;		/* UPDATE, DELETE */
	uint64		position;		/* see px_write_position */
} px_kept_row;

/* Rows that are kept as tuples. */
typedef struct px_kept_rows
{
	MemoryContext context;		/* reset when they have been replayed */
	px_kept_row *rows;			/* NULL until the first */
	int			nrows;
	int			replayed;		/* so many of them are written */
	int			cap;
	uint64		next_position;	/* of the target's next row; 0: none came */
	size_t		nbytes;			/* of tuples */
	px_copy_lines *lines;		/* NULL if it is no COPY */
	TupleTableSlot **slots;		/* [nslots], for replay; NULL before */
	int			nslots;
	int			slots_cap;
	TupleDesc	desc;			/* of the slots */
	TupleTableSlot *plan_slot;	/* UPDATE, DELETE: like the plan's */
} px_kept_rows;

struct px_write_target
{
	px_write_plan plan;
	struct px_write_state *writer;
	px_write_target *next;
	int			number;			/* in the order of creation */
	px_write_lane *lane;
	const char *table;			/* of the remote, qualified; NULL unless its
								 * lane has other targets */
	uint32		table_hash;		/* of that */
	AttrNumber *varlena;		/* columns whose values may be large */
	int			nvarlena;
	px_write_phase phase;
	int64		nseen;			/* rows in phase PX_WRITE_KEEPING */
	uint64		large_nbytes;	/* of their values of varying length */
	px_kept_rows kept;

	/* What the remote has said; valid if is_described. */
	bool		is_described;
	bool		exact;
	bool		is_dependent;	/* rows of other tables may matter to it */
	char	   *call_sql;		/* of the call of exchange.apply */
	char	   *hold_sql;		/* the same, with errors held */
	px_request	request;
	px_request_column *columns; /* [request.ncolumns] */
	TupleDesc	desc;			/* of the rows that are filled in */
	List	   *attrs;			/* of these, the columns that are sent */
	TupleTableSlot *row;		/* UPDATE, DELETE: ctid and new values; NULL
								 * if the rows' own slots are filled in */
	bool		needs_settings; /* for columns that travel as text */

	uint64		npieces;

	/* Frames that are made.  NULL if there are no rows. */
	MemoryContext buffers;		/* of fill and maker */
	px_fill    *fill;
	px_frame_maker *maker;
	px_write_piece *piece;
	size_t		piece_nbytes;	/* raw bytes of its frames */
	size_t		piece_nbytes_max;	/* the piece ends at so many */
	size_t		frame_nbytes_max;	/* a frame ends at so many raw bytes, */
	uint32		frame_rows;		/* or at so many rows */
	uint32		batch_left;		/* rows until batch_size is reached */
	int64		fill_begun;		/* when the last frame was ready */
	size_t		nbytes;			/* of memory, in the writer's sum */

	px_write_stats stats;
	uint64		frames_shown;	/* of those in stats: see write_progress.c */
	uint64		raw_nbytes_shown;
};

typedef struct px_write_state
{
	EState	   *estate;
	MemoryContext context;		/* estate's es_query_cxt */
	MemoryContextCallback forget;
	struct px_write_state *next;
	px_write_target *targets;	/* the first one first */
	px_write_target **targets_end;
	int			ntargets;
	px_write_lane *lanes;
	int			nlanes;
	uint64		ncalls;
	px_frame_tools *tools;		/* for all frame makers; NULL at first */
	size_t		nbytes;			/* of memory that targets use */
	uint64		nrows;			/* that have come */

	/* What COPY would have in its buffers, if targets have batches. */
	int			copy_rows;
	int			copy_nbytes;
	uint64		copy_given;		/* rows that it would have given to FDWs */

	/* Where it was begun. */
	int			nest_level;
	ResourceOwner owner;

	/* Where postgres_fdw is writing a row in a statement of its own. */
	const px_write_lane *passes_to;

	/* A row could not be written. */
	bool		failed;
	uint64		failed_at;		/* its position, or PX_WRITE_AT_END + n */
} px_write_state;

/*
 * Positions tell which of two rows postgres_fdw would have written first: they
 * have the number of a row among those of the statement, and below that the
 * number of a target.  No row has a position as high as PX_WRITE_AT_END.
 */
#define PX_WRITE_ROW_POSITION(row)	((uint64) (row) << 16)
#define PX_WRITE_AT_END		(UINT64CONST(1) << 62)

/*
 * Does COPY keep rows of the target for statements of several?  It has no
 * plan.
 */
static inline bool
px_write_is_copy_batch(const px_write_target *target)
{
	return target->plan.mtstate->ps.plan == NULL &&
		target->plan.batch_size > 1;
}

/*
 * The position of the row that has just come.  COPY gives the rows that it
 * keeps to FDWs target by target: so all those of a target have one position,
 * after that of a row which had them given before it.
 */
static inline uint64
px_write_position(const px_write_target *target)
{
	if (px_write_is_copy_batch(target))
		return PX_WRITE_ROW_POSITION(target->writer->copy_given) +
			(uint64) Min(target->number + 1, PG_UINT16_MAX);
	return PX_WRITE_ROW_POSITION(target->writer->nrows);
}

/* COPY keeps rows: has it given those of that position to postgres_fdw? */
static inline bool
px_write_was_given(const px_write_state *writer, uint64 position)
{
	return position < PX_WRITE_ROW_POSITION(writer->copy_given);
}

/* The ctid in a row of the plan of an UPDATE or DELETE. */
static inline ItemPointerData
px_write_ctid(const px_write_plan *plan, TupleTableSlot *plan_slot)
{
	bool		isnull;
	Datum		ctid = ExecGetJunkAttribute(plan_slot, plan->ctid_attno,
											&isnull);

	if (isnull)
		elog(ERROR, "ctid is NULL");
	return *(ItemPointer) DatumGetPointer(ctid);
}

#endif							/* PX_EXEC_WRITE_STATE_H */
