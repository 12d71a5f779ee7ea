/*-------------------------------------------------------------------------
 *
 * guarded.c
 *		Calling functions that may find fault with data.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/resowner.h"

#include "admit/resource_owner.h"
#include "plan/guarded.h"

/* Is it about data, or a limit that the data exceed? */
static bool
is_about_data(int sqlerrcode)
{
	/* A label of an enum that this transaction has added. */
	if (sqlerrcode == ERRCODE_UNSAFE_NEW_ENUM_VALUE_USAGE)
		return true;
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_DATA_EXCEPTION:
		case ERRCODE_FEATURE_NOT_SUPPORTED:
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED:
		case ERRCODE_TO_CATEGORY(ERRCODE_SYNTAX_ERROR):
			return true;
		default:
			return false;
	}
}

bool
px_guarded(void (*function) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner outer = CurrentResourceOwner;
	ResourceOwner owner = ResourceOwnerCreate(outer, "pg_exchange guarded");
	volatile bool ok = true;

	CurrentResourceOwner = owner;
	PG_TRY();
	{
		function(arg);
		CurrentResourceOwner = outer;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		CurrentResourceOwner = outer;
		error = CopyErrorData();
		if (!is_about_data(error->sqlerrcode))
			PG_RE_THROW();
		FlushErrorState();
		elog(DEBUG1, "went on without: %s", error->message);
		FreeErrorData(error);
		ok = false;
	}
	PG_END_TRY();
	px_resource_owner_end(owner, ok);
	return ok;
}
