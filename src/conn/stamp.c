/*-------------------------------------------------------------------------
 *
 * stamp.c
 *		Has nothing changed in a remote session since its functions were looked
 *		at?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "conn/dynamic.h"
#include "conn/stamp.h"

#define DIGITS		"0123456789"
#define HEX_DIGITS	DIGITS "abcdef"

/* ---------------------------------------------------------------------
 * Where it is asked for
 * --------------------------------------------------------------------- */

/* A stamp becomes a part of what we send. */
static bool
is_stamp(const char *text)
{
	size_t		pid = strspn(text, DIGITS);
	size_t		digits;

	if (pid == 0 || text[pid] != ' ')
		return false;
	text += pid + 1;
	digits = strspn(text, HEX_DIGITS);
	if (digits == 0 || text[digits] != '.')
		return false;
	text += digits + 1;
	return *text != '\0' && strspn(text, DIGITS) == strlen(text);
}

const char *
px_stamp_along_dynamic_sql(void)
{
	return px_dynamic_sql("SELECT " PX_STAMP_ALONG);
}

void
px_stamp_keep(char *stamp, const char *shown)
{
	stamp[0] = '\0';
	if (strlen(shown) < PX_STAMP_NBYTES && is_stamp(shown))
		strlcpy(stamp, shown, PX_STAMP_NBYTES);
}

void
px_stamp_take(char *stamp, char *answer)
{
	char	   *begin = NULL;

	stamp[0] = '\0';
	for (char *next = answer; (next = strstr(next, PX_STAMP_BEGIN)); next++)
		begin = next;
	if (begin == NULL)
		return;
	*begin = '\0';
	px_stamp_keep(stamp, begin + strlen(PX_STAMP_BEGIN));
}

const char *
px_stamp_is_shown_sql(const char *stamp)
{
	return psprintf(PX_STAMP_SHOWN PX_EQ "'%s'", stamp);
}

/* ---------------------------------------------------------------------
 * Where it is shown
 * --------------------------------------------------------------------- */

/* Changes are noticed from the first time on that the stamp is shown. */
static bool watching;

/* When something changed the last time. */
static TimestampTz changed_at;

/* The random number; both are 0 if a new one is due. */
static uint32 numbers[2];

static void
note_change(Datum arg, int cacheid, uint32 hashvalue)
{
	changed_at = GetCurrentTimestamp();
	numbers[0] = numbers[1] = 0;
}

/* What may decide whether a function is the extension's, and may be called. */
static void
watch(void)
{
	CacheRegisterSyscacheCallback(PROCOID, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, note_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, note_change, (Datum) 0);
	watching = true;
	note_change((Datum) 0, 0, 0);
}

/* What current_setting() returns. */
static const char *
show_stamp(void)
{
	static char shown[PX_STAMP_NBYTES];

	if (!IsTransactionState())
		return "";
	if (!watching)
		watch();

	/* Locks bring such messages along, but the check may take none. */
	AcceptInvalidationMessages();
	if (changed_at >= GetCurrentStatementStartTimestamp())
		return "";
	if (numbers[0] == 0 && numbers[1] == 0 &&
		!pg_strong_random(numbers, sizeof(numbers)))
		return "";
	snprintf(shown, sizeof(shown), "%08x%08x.%u", numbers[0], numbers[1],
			 GetUserId());
	return shown;
}

/* Nobody sets it. */
static bool
check_stamp(char **newval, void **extra, GucSource source)
{
	return source <= PGC_S_DYNAMIC_DEFAULT;
}

void
px_stamp_init(void)
{
	static char *unused;

	DefineCustomStringVariable("pg_exchange.stamp",
							   "Shows coordinators whether functions, schemas or roles have changed.",
							   NULL,
							   &unused,
							   "",
							   PGC_INTERNAL,
							   GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE |
							   GUC_DISALLOW_IN_FILE,
							   check_stamp, NULL, show_stamp);
}
