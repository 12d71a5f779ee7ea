/*-------------------------------------------------------------------------
 *
 * armour.c
 *		ExchangeArmour: frames in, pieces of text out.
 *
 * The node stands on top of the plan of exchange.send_text, which a cursor
 * reads.  Each call is a FETCH of the receiver's, and the receiver waits for
 * it.  So a call returns as much as is worth a round trip, but not much more
 * than the receiver has shown to want.  The first piece has the first batch;
 * each next one may have some times the rows of the last, up to a size.
 *
 * A FETCH puts its rows into a tuplestore, which goes to disk beyond work_mem.
 * So a piece has a limit, and larger frames go into several pieces.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "compat.h"
#include "exec/auto.h"
#include "library.h"
#include "node/armour.h"
#include "node/send.h"
#include "wire/armour.h"

/* Bytes of frames after which a piece is worth its round trip. */
#define PIECE_NBYTES		(256 * 1024)

/* No piece of text is longer; nor than half of work_mem. */
#define PIECE_NCHARS_MAX	(1024 * 1024)

/* How many times the rows of the last piece the next one may have. */
#define PIECE_ROWS_GROWTH	4

/* A piece that has a batch does not wait longer for another. */
#define PIECE_MS			200

typedef struct px_armour_state
{
	CustomScanState css;		/* must be first */
	PlanState  *send;			/* the ExchangeSend below */
	MemoryContext context;		/* for the node's lifetime */

	/* Bytes of frames that are still to be returned: data[pos .. len). */
	uint8_t    *data;			/* NULL until the first frame */
	size_t		cap;
	size_t		len;
	size_t		pos;
	bool		done;			/* there are no more frames */
	uint64		rows;			/* of the batches got for this piece */
	uint64		rows_max;		/* of the next piece; 0: one batch */

	/* The piece last returned. */
	text	   *piece;			/* NULL until the first */
	size_t		piece_cap;		/* characters that it has room for */
} px_armour_state;

static const CustomExecMethods armour_exec_methods;

/* ---------------------------------------------------------------------
 * Frames
 * --------------------------------------------------------------------- */

/* Append a frame to those that wait. */
static void
keep_frame(px_armour_state *state, const uint8_t *frame, size_t nbytes)
{
	if (state->pos > 0)
	{
		memmove(state->data, state->data + state->pos,
				state->len - state->pos);
		state->len -= state->pos;
		state->pos = 0;
	}
	if (nbytes > state->cap - state->len)
	{
		size_t		cap = Max(state->len + nbytes,
							  Max(state->cap * 2, PIECE_NBYTES));

		/* With fixed=1 all frames of a FETCH wait, so this may be large. */
		if (state->data == NULL)
			state->data = MemoryContextAllocHuge(state->context, cap);
		else
			state->data = repalloc_huge(state->data, cap);
		state->cap = cap;
	}
	memcpy(state->data + state->len, frame, nbytes);
	state->len += nbytes;
}

/* Get another frame, and return its kind; false if there is none. */
static bool
next_frame(px_armour_state *state, uint8_t *kind)
{
	TupleTableSlot *slot = ExecProcNode(linitial(state->css.custom_ps));
	struct varlena *datum;
	const uint8_t *frame;
	size_t		nbytes;
	px_frame_header header;
	px_fault	fault;

	if (TupIsNull(slot))
		return false;
	slot_getallattrs(slot);
	datum = (struct varlena *) DatumGetPointer(slot->tts_values[0]);
	frame = (const uint8_t *) VARDATA_ANY(datum);
	nbytes = VARSIZE_ANY_EXHDR(datum);
	if (px_frame_peek(frame, nbytes, &header, &fault) != PX_OK)
		elog(ERROR, "unexpected exchange frame: %s",
			 px_status_text(fault.status));
	keep_frame(state, frame, nbytes);
	state->rows += header.rows;
	*kind = header.kind;
	return true;
}

/*
 * Is what has been got so far, since the call began, enough for a piece?  What
 * comes after the last row takes no time, and would cost a round trip later.
 */
static bool
is_enough(const px_armour_state *state, instr_time begin)
{
	const px_request *request = px_send_request(state->send);
	instr_time	now;

	if (state->rows == 0 || px_send_is_exhausted(state->send))
		return false;
	if (request->fixed)
		return state->rows >= request->fetch_rows;
	if (state->rows >= state->rows_max ||
		state->len - state->pos >= PIECE_NBYTES)
		return true;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, begin);
	return INSTR_TIME_GET_MILLISEC(now) >= PIECE_MS;
}

/* Get frames for a piece; the last one may have left some bytes for it. */
static void
gather_frames(px_armour_state *state)
{
	uint8_t		kind;
	instr_time	begin;

	INSTR_TIME_SET_CURRENT(begin);
	state->rows = 0;
	while (!state->done && !is_enough(state, begin))
		state->done = !next_frame(state, &kind);
	state->rows_max = state->rows * PIECE_ROWS_GROWTH;
}

/* ---------------------------------------------------------------------
 * Pieces
 * --------------------------------------------------------------------- */

/* How many bytes a piece may stand for: whole blocks of armour. */
static size_t
piece_nbytes_max(void)
{
	size_t		nchars = Min((size_t) PIECE_NCHARS_MAX,
							 (size_t) work_mem * 1024 / 2);

	return nchars / PX_ARMOUR_BLOCK_NCHARS * PX_ARMOUR_BLOCK_NBYTES;
}

static TupleTableSlot *
return_piece(px_armour_state *state, size_t nbytes)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	size_t		nchars = px_armour_nbytes(nbytes);

	if (state->piece_cap < nchars)
	{
		if (state->piece)
			pfree(state->piece);
		state->piece = NULL;
		state->piece_cap = 0;
		state->piece = MemoryContextAlloc(state->context, VARHDRSZ + nchars);
		state->piece_cap = nchars;
	}
	px_armour_encode(VARDATA(state->piece), state->data + state->pos, nbytes);
	SET_VARSIZE(state->piece, VARHDRSZ + nchars);
	state->pos += nbytes;

	slot->tts_values[0] = PointerGetDatum(state->piece);
	slot->tts_isnull[0] = false;
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
armour_exec(CustomScanState *node)
{
	px_armour_state *state = (px_armour_state *) node;
	px_auto    *adaptive = px_send_adaptive(state->send);
	bool		fixed = px_send_request(state->send)->fixed;
	size_t		nbytes;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	if (adaptive)
		px_auto_fetching(adaptive);

	/* Rows that are locked together are returned before others are locked. */
	if (state->pos == state->len ||
		(!fixed && state->len - state->pos < PIECE_NBYTES))
		gather_frames(state);

	nbytes = Min(state->len - state->pos, piece_nbytes_max());
	if (nbytes == 0)
		return node->ss.ss_ScanTupleSlot;
	(void) return_piece(state, nbytes);
	if (adaptive)
		px_auto_fetched(adaptive, VARSIZE(state->piece));
	return node->ss.ss_ScanTupleSlot;
}

/* ---------------------------------------------------------------------
 * The node
 * --------------------------------------------------------------------- */

static Node *
armour_create_state(CustomScan *scan)
{
	px_armour_state *state = palloc0(sizeof(px_armour_state));

	px_library_check();
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &armour_exec_methods;
	return (Node *) state;
}

static void
armour_begin(CustomScanState *node, EState *estate, int eflags)
{
	px_armour_state *state = (px_armour_state *) node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	Plan	   *plan = linitial(scan->custom_plans);
	PlanState  *child = ExecInitNode(plan, estate, eflags);

	node->custom_ps = list_make1(child);
	state->send = px_send_below(child);
	state->context = AllocSetContextCreate(estate->es_query_cxt,
										   "ExchangeArmour",
										   ALLOCSET_DEFAULT_SIZES);
}

static void
armour_end(CustomScanState *node)
{
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	ExecEndNode(linitial(node->custom_ps));
	MemoryContextDelete(((px_armour_state *) node)->context);
}

static void
armour_rescan(CustomScanState *node)
{
	px_armour_state *state = (px_armour_state *) node;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	state->len = state->pos = 0;
	state->done = false;
	state->rows = state->rows_max = 0;
	px_send_rescan_child(node);
}

const CustomScanMethods px_armour_scan_methods = {
	.CustomName = "ExchangeArmour",
	.CreateCustomScanState = armour_create_state,
};

static const CustomExecMethods armour_exec_methods = {
	.CustomName = "ExchangeArmour",
	.BeginCustomScan = armour_begin,
	.ExecCustomScan = armour_exec,
	.EndCustomScan = armour_end,
	.ReScanCustomScan = armour_rescan,
};

void
px_armour_node_init(void)
{
	RegisterCustomScanMethods(&px_armour_scan_methods);
}
