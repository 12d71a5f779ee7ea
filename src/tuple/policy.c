/*-------------------------------------------------------------------------
 *
 * policy.c
 *		Which types may travel raw, and how.
 *
 * A type is listed only if the receiver can check every value of it before the
 * executor sees it, and if its representation is the same in all versions of
 * PostgreSQL that we support.  These are not listed:
 *
 *	other arrays, ranges, jsonb, inet, bit, tsvector, geometric types, ...
 *		they are structured: unchecked bytes could crash a backend
 *	enums, reg*, composites
 *		their values name objects, whose OIDs differ from server to server
 *	money, aclitem, user-defined types
 *		their text depends on settings or on unknown code
 *	xml
 *		xml_out removes the encoding from the declaration, so the stored bytes
 *		are not always those that postgres_fdw would get
 *
 * This table is about types only.  A column of a stream is raw only if both
 * ends also have the same type and typmod: see fill_columns.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type_d.h"
#include "utils/lsyscache.h"

#include "tuple/policy.h"

typedef struct policy_entry
{
	Oid			type;
	px_type_policy policy;
} policy_entry;

#define FIXED_BYVAL(w, s, c) \
	{.class = PX_CLASS_FIXED, .width = (w), .is_signed = (s), \
	 .kind = PX_DATUM_BYVAL, .check = (c)}
#define FIXED_BYREF(w, c) \
	{.class = PX_CLASS_FIXED, .width = (w), \
	 .kind = PX_DATUM_BYREF, .check = (c)}
#define ARRAY(e, w, s, c) \
	{.class = PX_CLASS_ARRAY, .width = (w), .is_signed = (s), \
	 .kind = PX_DATUM_ARRAY, .check = (c), .element = (e)}
#define BYTES(k, c) \
	{.class = PX_CLASS_BYTES, .kind = (k), .check = (c)}

/*
 * is_signed is that of the type's ...GetDatum function, so that a decoded
 * Datum equals one that the server makes.  Floats travel as their bits, which
 * Float4GetDatum and Float8GetDatum treat as signed integers.
 */
static const policy_entry policies[] = {
	{BOOLOID, FIXED_BYVAL(1, false, PX_CHECK_BOOL)},
#if CHAR_MIN < 0

	/*
	 * CharGetDatum extends the sign if C's char is signed.  That is part of
	 * the format: so on machines where char is unsigned, "char" is text.
	 */
	{CHAROID, FIXED_BYVAL(1, true, PX_CHECK_NONE)},
#endif
	{INT2OID, FIXED_BYVAL(2, true, PX_CHECK_NONE)},
	{INT4OID, FIXED_BYVAL(4, true, PX_CHECK_NONE)},
	{INT8OID, FIXED_BYVAL(8, true, PX_CHECK_NONE)},
	{OIDOID, FIXED_BYVAL(4, false, PX_CHECK_NONE)},
	{XIDOID, FIXED_BYVAL(4, false, PX_CHECK_NONE)},
	{XID8OID, FIXED_BYVAL(8, false, PX_CHECK_NONE)},
	{PG_LSNOID, FIXED_BYVAL(8, false, PX_CHECK_NONE)},
	{FLOAT4OID, FIXED_BYVAL(4, true, PX_CHECK_NONE)},
	{FLOAT8OID, FIXED_BYVAL(8, true, PX_CHECK_NONE)},
	{DATEOID, FIXED_BYVAL(4, true, PX_CHECK_DATE)},
	{TIMEOID, FIXED_BYVAL(8, true, PX_CHECK_TIME)},
	{TIMESTAMPOID, FIXED_BYVAL(8, true, PX_CHECK_TIMESTAMP)},
	{TIMESTAMPTZOID, FIXED_BYVAL(8, true, PX_CHECK_TIMESTAMP)},

	{TIMETZOID, FIXED_BYREF(12, PX_CHECK_TIMETZ)},
	{INTERVALOID, FIXED_BYREF(16, PX_CHECK_NONE)},
	{UUIDOID, FIXED_BYREF(16, PX_CHECK_NONE)},
	{MACADDROID, FIXED_BYREF(6, PX_CHECK_NONE)},
	{MACADDR8OID, FIXED_BYREF(8, PX_CHECK_NONE)},
	{TIDOID, FIXED_BYREF(6, PX_CHECK_NONE)},

	{TEXTOID, BYTES(PX_DATUM_VARLENA, PX_CHECK_ENCODING)},
	{VARCHAROID, BYTES(PX_DATUM_VARLENA, PX_CHECK_ENCODING)},
	{BPCHAROID, BYTES(PX_DATUM_VARLENA, PX_CHECK_ENCODING)},
	{JSONOID, BYTES(PX_DATUM_VARLENA, PX_CHECK_ENCODING)},
	{BYTEAOID, BYTES(PX_DATUM_VARLENA, PX_CHECK_NONE)},
	{NAMEOID, BYTES(PX_DATUM_NAME, PX_CHECK_ENCODING)},

	{BOOLARRAYOID, ARRAY(BOOLOID, 1, false, PX_CHECK_BOOL)},
	{INT2ARRAYOID, ARRAY(INT2OID, 2, true, PX_CHECK_NONE)},
	{INT4ARRAYOID, ARRAY(INT4OID, 4, true, PX_CHECK_NONE)},
	{INT8ARRAYOID, ARRAY(INT8OID, 8, true, PX_CHECK_NONE)},
	{OIDARRAYOID, ARRAY(OIDOID, 4, false, PX_CHECK_NONE)},
	{FLOAT4ARRAYOID, ARRAY(FLOAT4OID, 4, true, PX_CHECK_NONE)},
	{FLOAT8ARRAYOID, ARRAY(FLOAT8OID, 8, true, PX_CHECK_NONE)},
	{DATEARRAYOID, ARRAY(DATEOID, 4, true, PX_CHECK_DATE)},
	{TIMESTAMPARRAYOID, ARRAY(TIMESTAMPOID, 8, true, PX_CHECK_TIMESTAMP)},
	{TIMESTAMPTZARRAYOID, ARRAY(TIMESTAMPTZOID, 8, true, PX_CHECK_TIMESTAMP)},

	{NUMERICOID, {.class = PX_CLASS_NUMERIC, .is_signed = true,
	.kind = PX_DATUM_NUMERIC, .check = PX_CHECK_NONE}},
};

/* Since this version, an interval may be infinite. */
#define INTERVAL_INFINITY_VERSION	170000

px_type_policy
px_type_lookup(Oid type, uint32 peer_version)
{
	static const px_type_policy text_policy = {
		.class = PX_CLASS_TEXT,
		.kind = PX_DATUM_INPUT,
		.check = PX_CHECK_NONE,
	};

	if (type == INTERVALOID &&
		(peer_version >= INTERVAL_INFINITY_VERSION) !=
		(PG_VERSION_NUM >= INTERVAL_INFINITY_VERSION))
		return text_policy;

	for (size_t i = 0; i < lengthof(policies); i++)
	{
		if (policies[i].type == type)
			return policies[i].policy;
	}
	return text_policy;
}

bool
px_type_names_objects(Oid type)
{
	Oid			element;

	type = getBaseType(type);
	element = get_element_type(type);
	if (OidIsValid(element))
		type = getBaseType(element);
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGCOLLATIONOID:
		case REGTYPEOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
#if PG_VERSION_NUM >= 190000
		case REGDATABASEOID:
#endif
		case ACLITEMOID:
			return true;
		default:
			return false;
	}
}
