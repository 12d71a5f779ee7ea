/*-------------------------------------------------------------------------
 *
 * resource_owner.c
 *		The end of a resource owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "admit/resource_owner.h"

void
px_resource_owner_end(ResourceOwner owner, bool keep)
{
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, keep, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_LOCKS, keep, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_AFTER_LOCKS, keep, false);
	ResourceOwnerDelete(owner);
}
