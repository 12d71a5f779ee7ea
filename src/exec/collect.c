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

#include "compat.h"
#include "exec/timeout.h"
#include "transport/offer.h"

extern PGDLLEXPORT Datum px_sql_collect(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_collect);

typedef struct collection
{
	dsm_segment *segment;		/* NULL: it has ended */
	shm_mq_handle *queue;
} collection;

/* The query has ended, maybe before all frames were read. */
static void
leave_collection(Datum arg)
{
	collection *from = (collection *) DatumGetPointer(arg);

	if (from->segment)
		dsm_detach(from->segment);
	from->segment = NULL;
}

static collection *
begin_collection(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *info = castNode(ReturnSetInfo, fcinfo->resultinfo);
	const char *at = text_to_cstring(PG_GETARG_TEXT_PP(0));
	collection *from = palloc0(sizeof(collection));
	px_receipt	token;

	if (px_receipt_take(&at, &token, NULL) != PX_OK || *at != '\0' ||
		PG_GETARG_INT32(1) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid token of rows to collect")));
	from->queue = px_offer_open(&token, (uint32) PG_GETARG_INT32(1),
								&from->segment);
	if (from->queue == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there are no rows to collect"),
				 errdetail("The session that offered them has ended, they were collected before, or the token is wrong.")));
	RegisterExprContextCallback(info->econtext, leave_collection,
								PointerGetDatum(from));
	return from;
}

/* The next frame; NULL at the end.  It is valid until the next call. */
static const void *
next_frame(collection *from, Size *nbytes)
{
	void	   *frame;
	shm_mq_result result;

	if (from->segment == NULL)
		return NULL;
	result = shm_mq_receive(from->queue, nbytes, &frame, true);
	if (result == SHM_MQ_WOULD_BLOCK)
	{
		/* What was returned is not to wait for what comes next. */
		if (whereToSendOutput == DestRemote)
			(void) pq_flush_if_writable();
		px_timeout_pause();
		result = shm_mq_receive(from->queue, nbytes, &frame, false);
	}
	px_timeout_next_statement();
	return result == SHM_MQ_SUCCESS ? frame : NULL;
}

/* exchange.collect(token text, link int) returns setof bytea */
Datum
px_sql_collect(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	const void *frame;
	Size		nbytes;
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
	frame = next_frame(call->user_fctx, &nbytes);
	if (frame == NULL)
	{
		collection *from = call->user_fctx;

		UnregisterExprContextCallback(
			((ReturnSetInfo *) fcinfo->resultinfo)->econtext,
			leave_collection, PointerGetDatum(from));
		leave_collection(PointerGetDatum(from));
		SRF_RETURN_DONE(call);
	}
	result = palloc(nbytes + VARHDRSZ);
	SET_VARSIZE(result, nbytes + VARHDRSZ);
	memcpy(VARDATA(result), frame, nbytes);
	SRF_RETURN_NEXT(call, PointerGetDatum(result));
}
