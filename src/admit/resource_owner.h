/*-------------------------------------------------------------------------
 *
 * resource_owner.h
 *		The end of a resource owner.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_RESOURCE_OWNER_H
#define PX_ADMIT_RESOURCE_OWNER_H

#include "utils/resowner.h"

/*
 * Delete a resource owner that is not current.  What it holds yet, locks above
 * all, becomes its parent's if keep is true, and is released otherwise.
 */
extern void px_resource_owner_end(ResourceOwner owner, bool keep);

#endif							/* PX_ADMIT_RESOURCE_OWNER_H */
