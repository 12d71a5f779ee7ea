/*-------------------------------------------------------------------------
 *
 * transmission.c
 *		The settings under which postgres_fdw converts values to text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/float.h"
#include "utils/guc.h"

#include "exec/transmission.h"

static void
set_option(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

int
px_transmission_begin(void)
{
	int			nestlevel = NewGUCNestLevel();

	if (DateStyle != USE_ISO_DATES)
		set_option("datestyle", "ISO");
	if (IntervalStyle != INTSTYLE_POSTGRES)
		set_option("intervalstyle", "postgres");
	if (extra_float_digits < 3)
		set_option("extra_float_digits", "3");
	set_option("search_path", "pg_catalog");
	return nestlevel;
}
