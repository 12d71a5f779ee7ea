/*-------------------------------------------------------------------------
 *
 * slices.c
 *		Who reads which slice of a scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "stats/wait_event.h"
#include "transport/slices.h"
#include "tuple/fault.h"
#include "wire/request.h"

void
px_slices_init(px_slices *slices, uint32 wanted)
{
	StaticAssertStmt(PX_REQUEST_SLICES_MAX <= 64, "pending has too few bits");
	Assert(wanted >= 1 && wanted <= PX_REQUEST_SLICES_MAX);

	SpinLockInit(&slices->mutex);
	ConditionVariableInit(&slices->changed);
	slices->wanted = wanted;
	slices->pending = wanted == 64 ? PG_UINT64_MAX :
		(UINT64CONST(1) << wanted) - 1;
	slices->unsure = 0;
	slices->announced = slices->leader_came = false;
	memset(&slices->slice, 0, sizeof(px_slice));
}

int
px_slices_claim(px_slices *slices, bool may_wait)
{
	for (;;)
	{
		int			slice = -1;
		bool		known;

		SpinLockAcquire(&slices->mutex);
		known = slices->announced || (slices->pending & 1) != 0 ||
			slices->wanted == 1;
		if (known && slices->pending != 0)
		{
			slice = pg_rightmost_one_pos64(slices->pending);
			slices->pending &= ~(UINT64CONST(1) << slice);
			slices->unsure |= UINT64CONST(1) << slice;
		}
		else if (known && may_wait)
			known = slices->unsure == 0;
		SpinLockRelease(&slices->mutex);
		if (known)
		{
			ConditionVariableCancelSleep();
			return slice;
		}
		ConditionVariableSleep(&slices->changed, px_wait_event(PX_WAIT_SLICE));
	}
}

void
px_slices_accept(px_slices *slices, int slice)
{
	SpinLockAcquire(&slices->mutex);
	slices->unsure &= ~(UINT64CONST(1) << slice);
	SpinLockRelease(&slices->mutex);
	ConditionVariableBroadcast(&slices->changed);
}

void
px_slices_return(px_slices *slices, int slice)
{
	SpinLockAcquire(&slices->mutex);
	slices->pending |= UINT64CONST(1) << slice;
	slices->unsure &= ~(UINT64CONST(1) << slice);
	SpinLockRelease(&slices->mutex);
	ConditionVariableBroadcast(&slices->changed);
}

bool
px_slices_are_left(px_slices *slices)
{
	bool		left;

	SpinLockAcquire(&slices->mutex);
	left = slices->pending != 0;
	SpinLockRelease(&slices->mutex);
	return left;
}

void
px_slices_come(px_slices *slices)
{
	bool		came;

	SpinLockAcquire(&slices->mutex);
	came = slices->leader_came;
	slices->leader_came = true;
	SpinLockRelease(&slices->mutex);
	if (!came)
		ConditionVariableBroadcast(&slices->changed);
}

void
px_slices_await_leader(px_slices *slices)
{
	for (;;)
	{
		bool		came;

		SpinLockAcquire(&slices->mutex);
		came = slices->leader_came;
		SpinLockRelease(&slices->mutex);
		if (came)
			break;
		ConditionVariableSleep(&slices->changed, px_wait_event(PX_WAIT_SLICE));
	}
	ConditionVariableCancelSleep();
}

void
px_slices_announce(px_slices *slices, int slice, const px_slice *said,
				   const char *servername)
{
	px_slice	agreed;

	if (slice == 0 && said->slices != 1)
		px_require(servername, "slices", slices->wanted, said->slices);

	SpinLockAcquire(&slices->mutex);
	if (!slices->announced && slice == 0)
	{
		slices->slice = *said;
		slices->announced = true;
		if (said->slices == 1)
			slices->pending = 0;
	}
	agreed = slices->slice;
	SpinLockRelease(&slices->mutex);
	ConditionVariableBroadcast(&slices->changed);

	px_require(servername, "slices", agreed.slices, said->slices);
	px_require(servername, "blocks", agreed.blocks, said->blocks);
	if (said->file != agreed.file)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("table on server \"%s\" was rewritten while slices of it were read",
						servername),
				 errhint("Run the query again.")));
}
