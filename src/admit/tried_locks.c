/*-------------------------------------------------------------------------
 *
 * tried_locks.c
 *		Locks that were taken without waiting, and can be released.
 *
 * They have a resource owner of their own, below that of the transaction or
 * subtransaction, as those of a portal have.  When that one ends, it takes them
 * over, or releases them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "admit/resource_owner.h"
#include "admit/tried_locks.h"

/* The last trial's, and where it was made. */
static ResourceOwner owner = NULL;
static uint32 owner_trial;
static int	owner_level;
static bool owner_in_use = false;	/* a query is being judged */

static void
forget_at_end(XactEvent event, void *arg)
{
	owner = NULL;
}

/* Subtransactions that began after it do not matter. */
static void
forget_at_subend(SubXactEvent event, SubTransactionId mine,
				 SubTransactionId parent, void *arg)
{
	if ((event == SUBXACT_EVENT_COMMIT_SUB ||
		 event == SUBXACT_EVENT_ABORT_SUB) &&
		GetCurrentTransactionNestLevel() <= owner_level)
		owner = NULL;
}

/* Make the owner of a trial the last one. */
static void
renew_owner(uint32 trial)
{
	static bool registered = false;
	int			level = GetCurrentTransactionNestLevel();
	ResourceOwner earlier = owner;

	if (owner && owner_trial == trial && owner_level == level)
		return;
	if (!registered)
	{
		RegisterXactCallback(forget_at_end, NULL);
		RegisterSubXactCallback(forget_at_subend, NULL);
		registered = true;
	}
	owner = NULL;
	if (earlier)
		px_resource_owner_end(earlier, true);
	owner = ResourceOwnerCreate(CurTransactionResourceOwner,
								"pg_exchange trial");
	owner_trial = trial;
	owner_level = level;
}

ResourceOwner
px_tried_locks_begin(uint32 trial)
{
	if (owner_in_use)
		return NULL;
	renew_owner(trial);
	owner_in_use = true;
	return owner;
}

void
px_tried_locks_end(void)
{
	owner_in_use = false;
}

void
px_tried_locks_keep(ResourceOwner from, ResourceOwner trial)
{
	ResourceOwnerNewParent(from, trial);
	px_resource_owner_end(from, true);
}

void
px_tried_locks_release(uint32 trial)
{
	ResourceOwner released = owner;

	if (released == NULL || owner_trial != trial || owner_in_use)
		return;
	owner = NULL;
	px_resource_owner_end(released, false);
}
