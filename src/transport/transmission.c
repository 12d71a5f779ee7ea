/*-------------------------------------------------------------------------
 *
 * transmission.c
 *		The settings under which postgres_fdw converts values to text, and
 *		names of types.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "transport/transmission.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"


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

/*
 * Changing settings takes longer than most output functions.  So these are
 * known not to look at them: those of text and integers, and of what is made
 * of them.
 */
bool
px_transmission_matters(Oid type)
{
	Oid			element;

	type = getBaseType(type);
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case TIDOID:
		case NUMERICOID:
		case UUIDOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case BYTEAOID:
		case JSONOID:
		case JSONBOID:
		case JSONPATHOID:
		case XMLOID:
		case INETOID:
		case CIDROID:
		case MACADDROID:
		case MACADDR8OID:
		case BITOID:
		case VARBITOID:
		case TSVECTOROID:
		case TSQUERYOID:
			return false;
	}
	if (type_is_enum(type))
		return false;
	element = get_element_type(type);
	if (!OidIsValid(element))
		element = get_range_subtype(type);
	return !OidIsValid(element) || px_transmission_matters(element);
}

char *
px_transmission_type(Oid type, int32 typmod)
{
	return format_type_extended(type, typmod, FORMAT_TYPE_TYPEMOD_GIVEN |
								FORMAT_TYPE_FORCE_QUALIFY);
}
