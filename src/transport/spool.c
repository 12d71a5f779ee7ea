/*-------------------------------------------------------------------------
 *
 * spool.c
 *		Frames that were read ahead of their reader.
 *
 * A spool is a tuplestore, of which each tuple has one bytea: a frame.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "transport/spool.h"

struct px_spool
{
	Tuplestorestate *store;
	TupleTableSlot *slot;		/* the frame that was read last */
};

px_spool *
px_spool_new(MemoryContext context, ResourceOwner owner)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	ResourceOwner oldowner = CurrentResourceOwner;
	px_spool   *spool = palloc(sizeof(px_spool));
	TupleDesc	tupdesc = CreateTemplateTupleDesc(1);

	CurrentResourceOwner = owner;
	spool->store = tuplestore_begin_heap(false, false, work_mem);
	CurrentResourceOwner = oldowner;

	TupleDescInitEntry(tupdesc, 1, "frame", BYTEAOID, -1, 0);
	TupleDescFinalize(tupdesc);
	spool->slot = MakeSingleTupleTableSlot(tupdesc, &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(oldcontext);
	return spool;
}

void
px_spool_put(px_spool *spool, const void *frame, size_t nbytes)
{
	bytea	   *copy = palloc(VARHDRSZ + nbytes);
	Datum		value = PointerGetDatum(copy);
	bool		isnull = false;

	SET_VARSIZE(copy, VARHDRSZ + nbytes);
	memcpy(VARDATA(copy), frame, nbytes);
	tuplestore_putvalues(spool->store, spool->slot->tts_tupleDescriptor,
						 &value, &isnull);
	pfree(copy);
}

const void *
px_spool_next(px_spool *spool, size_t *nbytes)
{
	bytea	   *value;
	bool		isnull;

	if (!tuplestore_gettupleslot(spool->store, true, false, spool->slot))
		return NULL;
	value = (bytea *) DatumGetPointer(slot_getattr(spool->slot, 1, &isnull));
	*nbytes = VARSIZE_ANY_EXHDR(value);
	return VARDATA_ANY(value);
}

void
px_spool_free(px_spool *spool)
{
	if (spool == NULL)
		return;
	ExecDropSingleTupleTableSlot(spool->slot);
	tuplestore_end(spool->store);
	pfree(spool);
}
