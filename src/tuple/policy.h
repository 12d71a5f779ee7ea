/*-------------------------------------------------------------------------
 *
 * policy.h
 *		Which types may travel raw, and how.
 *
 * Both ends look types up here, so they agree.  A type that is not listed
 * travels as text: the sender calls its output function, and the receiver its
 * input function, as postgres_fdw does for every value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_POLICY_H
#define PX_TUPLE_POLICY_H

#include "catalog/pg_type_d.h"

#include "wire/frame.h"

/* How a decoded value becomes a Datum. */
typedef enum px_datum_kind
{
	PX_DATUM_INPUT,				/* by the type's input function, from text */
	PX_DATUM_BYVAL,				/* width bytes, passed by value */
	PX_DATUM_BYREF,				/* width bytes, passed by reference */
	PX_DATUM_VARLENA,			/* the packed value is the varlena */
	PX_DATUM_NAME,				/* bytes, padded to a NameData */
	PX_DATUM_ARRAY,				/* built from its elements, or received */
	PX_DATUM_NUMERIC			/* scaled integer or numeric_send form */
} px_datum_kind;

/* How the receiver checks a raw value before the executor sees it. */
typedef enum px_value_check
{
	PX_CHECK_NONE,				/* every bit pattern is a value */
	PX_CHECK_BOOL,				/* 0 or 1 */
	PX_CHECK_DATE,
	PX_CHECK_TIME,
	PX_CHECK_TIMETZ,
	PX_CHECK_TIMESTAMP,
	PX_CHECK_ENCODING			/* valid in the database encoding, no NUL */
} px_value_check;

typedef struct px_type_policy
{
	uint8_t		class;			/* px_class */
	uint8_t		width;			/* PX_CLASS_FIXED: bytes per value;
								 * PX_CLASS_ARRAY: bytes per element; else 0 */
	bool		is_signed;		/* by value: sign-extend */
	px_datum_kind kind;
	px_value_check check;		/* of the value, or of each element */
	uint32_t	element;		/* PX_CLASS_ARRAY: OID of its elements' type */
} px_type_policy;

/*
 * The policy for a type, domains already flattened.  Never fails: types that
 * are not listed have class PX_CLASS_TEXT and kind PX_DATUM_INPUT.
 * peer_version is the other end's server_version_num.  It matters for
 * interval: since version 17 some of its bit patterns mean infinity, which
 * older servers would misread.
 */
extern px_type_policy px_type_lookup(Oid type, uint32 peer_version);

/*
 * Are values of the type object identifiers that are written as names, as those
 * of regclass are?  Then the same text is another value on another server.
 * Domains over such types, and arrays of them, count.
 */
extern bool px_type_names_objects(Oid type);

/* smallint, integer, bigint: these are compared with one another. */
static inline bool
px_type_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* A value of such a type; or of date, or one that is stored as a bigint. */
static inline int64
px_integer_of_value(Oid type, Datum value)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/* A value of the type for what px_integer_of_value was given, if it has one. */
static inline Datum
px_value_of_integer(Oid type, int64 number)
{
	switch (type)
	{
		case INT2OID:
			return Int16GetDatum((int16) number);
		case INT4OID:
		case DATEOID:
			return Int32GetDatum((int32) number);
		default:
			return Int64GetDatum(number);
	}
}

#endif							/* PX_TUPLE_POLICY_H */
