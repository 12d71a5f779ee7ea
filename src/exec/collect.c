/*-------------------------------------------------------------------------
 *
 * collect.c
 *		The SQL function exchange.collect: frames that another session offers.
 *
 * Any user may call it: the token is what counts.  It is called in the target
 * list, so that each frame is returned as soon as it comes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "exec/timeout.h"
#include "transport/offer.h"
#include "tuple/frame_rows.h"

extern PGDLLEXPORT Datum px_sql_collect(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_collect);

/*
 * Each has a segment of shared memory, of which the server has not many.  A
 * server that pulls rows has one call in each session.
 */
#define COLLECTIONS_MAX		16

/* The query has ended, maybe before all frames were read. */
static void
leave_collection(Datum arg)
{
	px_offer_close((px_collection *) DatumGetPointer(arg));
}

static px_collection *
begin_collection(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *info = castNode(ReturnSetInfo, fcinfo->resultinfo);
	const char *at = text_to_cstring(PG_GETARG_TEXT_PP(0));
	px_collection *from;
	px_receipt	token;

	px_offer_require_allowed();
	if (px_offer_collections() >= COLLECTIONS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many calls of exchange.collect are open in this session"),
				 errdetail("There may be %d.", COLLECTIONS_MAX)));
	if (px_receipt_take(&at, &token, NULL) != PX_OK || *at != '\0' ||
		PG_GETARG_INT32(1) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid token of rows to collect")));
	from = px_offer_open(&token, (uint32) PG_GETARG_INT32(1));
	if (from == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there are no rows to collect"),
				 errdetail("The session that offered them has ended, they were collected before, or the token is wrong.")));
	RegisterExprContextCallback(info->econtext, leave_collection,
								PointerGetDatum(from));
	return from;
}

/*
 * The next frame, which is valid until the next call; PX_COLLECTED_NOTHING if
 * none has come for a second.
 *
 * While a query sends the frames, its session's statement_timeout says how
 * long that may take, and it may wait for other collectors: so ours does not
 * count.  It does as long as nobody sends anything.
 */
static px_collected
next_frame(px_collection *from, const uint8_t **frame, size_t *nbytes)
{
	px_collected got;

	px_offer_check_client();
	while ((got = px_offer_collect(from, PX_THE_CLIENT, frame, nbytes)) ==
		   PX_COLLECTED_NOTHING)
	{
		if (px_offer_is_sent(from))
			px_timeout_pause();
		if (!px_offer_wait(WAIT_EVENT_MESSAGE_QUEUE_RECEIVE))
			return got;
	}
	px_timeout_next_statement();
	return got;
}

/*
 * exchange.collect(token text, link int) returns setof bytea
 *
 * An empty value says that we are still there.
 */
Datum
px_sql_collect(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	const uint8_t *frame = NULL;
	size_t		nbytes = 0;
	bytea	   *result;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext oldcontext;

		call = SRF_FIRSTCALL_INIT();
		oldcontext = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		call->user_fctx = begin_collection(fcinfo);
		MemoryContextSwitchTo(oldcontext);
	}
	call = SRF_PERCALL_SETUP();
	if (next_frame(call->user_fctx, &frame, &nbytes) == PX_COLLECTED_END)
	{
		UnregisterExprContextCallback(
			((ReturnSetInfo *) fcinfo->resultinfo)->econtext,
			leave_collection, PointerGetDatum(call->user_fctx));
		px_offer_close(call->user_fctx);
		SRF_RETURN_DONE(call);
	}

	/* It is below 1 GB: see PX_FRAME_SENT_NBYTES_MAX. */
	result = palloc(nbytes + VARHDRSZ);
	SET_VARSIZE(result, nbytes + VARHDRSZ);
	if (nbytes > 0)
		memcpy(VARDATA(result), frame, nbytes);
	SRF_RETURN_NEXT(call, PointerGetDatum(result));
}
