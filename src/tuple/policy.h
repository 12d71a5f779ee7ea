/*-------------------------------------------------------------------------
 *
 * policy.h
 *		Which types may travel raw, and how.
 *
 * Both ends look a type up here, so that they agree.  A type that is not
 * listed travels as the text of its output function and is read back by the
 * receiver's input function, which is what postgres_fdw does with every value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_POLICY_H
#define PX_TUPLE_POLICY_H

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

/* What the receiver checks in a raw value before the executor sees it. */
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
	uint8_t		width;			/* PX_CLASS_FIXED: bytes per value; ARRAY: per
								 * element; else 0 */
	bool		is_signed;		/* by value: sign-extend */
	uint8_t		align;			/* by reference: alignment of the datum */
	px_datum_kind kind;
	px_value_check check;		/* of the value, or of each element */
	uint32_t	element;		/* PX_CLASS_ARRAY: OID of its elements' type */
} px_type_policy;

/*
 * The policy for a type, domains already flattened.  Never fails: class
 * PX_CLASS_TEXT and kind PX_DATUM_INPUT for everything not listed.
 * peer_version is the other end's server_version_num: interval changed its
 * meaning with 17 (infinity), so it is raw only if both ends agree.
 */
extern px_type_policy px_type_lookup(Oid type, uint32 peer_version);

#endif							/* PX_TUPLE_POLICY_H */
