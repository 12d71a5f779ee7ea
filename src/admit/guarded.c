/*-------------------------------------------------------------------------
 *
 * guarded.c
 *		Judging a statement that may fail, and saying what was found.
 *
 * If the statement fails, its error must be raised when it is run, because
 * there the coordinator expects it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "mb/pg_wchar.h"
#include "utils/guc.h"
#include "utils/resowner.h"

#include "admit/guarded.h"
#include "admit/tried_locks.h"
#include "wire/admission.h"

/*
 * Must this error be raised, although it happened while judging the query?  It
 * must if it is not about the query: a cancel, a deadlock, a lock that was not
 * available in time, lack of memory.
 */
static bool
must_be_raised(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		sqlerrcode == ERRCODE_T_R_DEADLOCK_DETECTED ||
		ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION ||
		ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES;
}

/* With a trial's owner of locks, do not wait for any. */
static char *
judge_guarded(char *(*judge) (void *arg), void *arg, ResourceOwner trial)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	char	   *volatile reason = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		int			nest_level = NewGUCNestLevel();
		ResourceOwner locks = NULL;

		if (trial)
		{
			(void) set_config_option("lock_timeout", "1ms", PGC_USERSET,
									 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
									 false);
			locks = CurrentResourceOwner =
				ResourceOwnerCreate(CurrentResourceOwner, "pg_exchange query");
		}
		reason = judge(arg);
		AtEOXact_GUC(true, nest_level);
		if (trial)
		{
			CurrentResourceOwner = CurTransactionResourceOwner;
			px_tried_locks_keep(locks, trial);
		}
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		reason = PX_QUERY_FAILS;
		if (trial && error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
			reason = PX_AGAINST_DEFERRED;
		else if (must_be_raised(error->sqlerrcode))
			ReThrowError(error);
		FreeErrorData(error);
	}
	PG_END_TRY();
	return reason;
}

char *
px_judge_guarded(char *(*judge) (void *arg), void *arg)
{
	return judge_guarded(judge, arg, NULL);
}

char *
px_judge_trying(char *(*judge) (void *arg), void *arg, uint32 trial)
{
	ResourceOwner owner = px_tried_locks_begin(trial);
	char	   *reason = NULL;

	if (owner == NULL)
		return judge_guarded(judge, arg, NULL);
	PG_TRY();
	{
		reason = judge_guarded(judge, arg, owner);
	}
	PG_FINALLY();
	{
		px_tried_locks_end();
	}
	PG_END_TRY();
	return reason;
}

/*
 * Set the reason in the client's encoding, cut at a character if it is too
 * long.  It may have a name that the client's encoding cannot represent, but
 * that must not be an error: the client can read the rows all the
 * same.  So if the encodings differ, other characters than ASCII become "?".
 */
void
px_set_against(char *against, int cap, const char *reason)
{
	char	   *text;
	int			nbytes;

	text = pstrdup(reason);
	if (pg_get_client_encoding() != GetDatabaseEncoding())
	{
		for (char *c = text; *c; c++)
		{
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
		}
	}
	nbytes = pg_encoding_mbcliplen(pg_get_client_encoding(), text,
								   (int) strlen(text),
								   cap - 1);
	memcpy(against, text, nbytes);
	against[nbytes] = '\0';
}
