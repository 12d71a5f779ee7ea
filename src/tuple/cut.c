/*-------------------------------------------------------------------------
 *
 * cut.c
 *		The senders of a participant: one, or one for each target.
 *
 * The batches of all targets are filled at the same time.  So each of them is
 * smaller than the only batch of a sender without targets, and the memory
 * hardly depends on the number of targets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/builtins.h"

#include "tuple/cut.h"

/*
 * Each target gets its part of batch_bytes, but not less than this.  Smaller
 * batches compress worse, and their headers weigh more.
 */
#define TARGET_BYTES_MIN		(64 * 1024)

/*
 * The buffers have room for the rows of a batch, so that should not be many
 * more than fit into its bytes.  Most columns need this many bytes or more.
 */
#define TARGET_COLUMN_BYTES		8
#define TARGET_ROWS_MIN			64

/* The request with the limits of one target's batch. */
static px_request
target_request(const px_request *request)
{
	px_request	result = *request;
	uint32		rows;

	if (request->targets <= 1)
		return result;
	result.batch_bytes = Min(request->batch_bytes,
							 Max(request->batch_bytes / request->targets,
								 TARGET_BYTES_MIN));
	rows = result.batch_bytes / (TARGET_COLUMN_BYTES * request->ncolumns);
	result.batch_rows = Min(request->batch_rows, Max(rows, TARGET_ROWS_MIN));
	return result;
}

/* The target of a row is a column, or else a node above computes it. */
static void
check_target(const px_cut *cut, TupleDesc desc)
{
	Oid			type = cut->attribute == 0 ? INT4OID :
		TupleDescAttr(desc, cut->attribute - 1)->atttypid;

	if (type != INT4OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("exchange request does not fit the query"),
				 errdetail("The last column, the target, has type %s, expected was integer.",
						   format_type_be(type))));
}

px_cut *
px_cut_new(TupleDesc desc, const List *columns, const px_request *request,
		   const px_request_column *column_requests, int encoding,
		   uint32 participant)
{
	px_cut	   *cut = palloc0(sizeof(px_cut));
	List	   *sent = list_copy(columns);

	cut->request = target_request(request);
	cut->targets = Max(request->targets, 1);
	cut->next = participant % cut->targets;
	if (request->targets > 1)
	{
		cut->attribute = llast_int(columns);
		check_target(cut, desc);
		sent = list_delete_last(sent);
	}

	cut->fills = palloc(cut->targets * sizeof(px_fill *));
	cut->makers = palloc(cut->targets * sizeof(px_frame_maker *));
	for (uint32 i = 0; i < cut->targets; i++)
	{
		cut->fills[i] = px_fill_new(desc, sent, &cut->request,
									column_requests, encoding);
		cut->makers[i] = px_frame_maker_new(&cut->request, cut->fills[i],
											participant * cut->targets + i);
	}
	list_free(sent);
	return cut;
}

void
px_cut_begin(px_cut *cut)
{
	px_frame_tools *tools = px_frame_tools_for(NULL, &cut->request);

	for (uint32 i = 0; i < cut->targets; i++)
	{
		px_fill_begin(cut->fills[i]);
		px_frame_maker_begin(cut->makers[i], tools);
	}
}

void
px_cut_restart(px_cut *cut)
{
	cut->row_for_all = NULL;
	for (uint32 i = 0; i < cut->targets; i++)
		px_frame_maker_restart(cut->makers[i]);
}

int32
px_cut_choose(px_cut *cut, int32 target)
{
	uint32		next = cut->next;

	if (cut->request.spread && target == PX_TARGET_ALL)
		return target;
	if (!cut->request.spread || target != PX_TARGET_ANY)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("row has an impossible exchange target"),
				 errdetail("The target is %d, expected was 0 to %u.", target,
						   cut->targets - 1)));
	cut->next = (next + 1) % cut->targets;
	return (int32) next;
}

px_cut_totals
px_cut_sum(const px_cut *cut)
{
	px_cut_totals sum = {0};

	for (uint32 i = 0; i < cut->targets; i++)
	{
		const px_frame_maker *maker = cut->makers[i];

		sum.frames += maker->sequence;
		sum.end.rows += maker->totals.rows;
		sum.end.batches += maker->totals.batches;
		sum.end.raw_nbytes += maker->totals.raw_nbytes;
		sum.end.wire_nbytes += maker->totals.wire_nbytes;
		INSTR_TIME_ADD(sum.encode_time, maker->encode_time);
	}
	return sum;
}
