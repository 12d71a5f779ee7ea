/*-------------------------------------------------------------------------
 *
 * value_set.h
 *		A hash table of values of one type, compared by their images.
 *
 * An instance of simplehash, static in each file that includes this.  Values
 * that are equal but look different, as 1.0 and 1.00, are different ones.  The
 * caller gives each value's hash, which must be the same for the same image,
 * and keeps what a value points to.  private_data is the px_value_type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_VALUE_SET_H
#define PX_EXEC_VALUE_SET_H

#include "utils/datum.h"

typedef struct px_value_type
{
	Oid			type;
	int16		typlen;
	bool		typbyval;
	char		typalign;
} px_value_type;

typedef struct px_value
{
	Datum		value;
	uint32		hash;
	char		status;			/* simplehash.h's */
} px_value;

static inline bool
px_is_same_image(const px_value_type *type, Datum a, Datum b)
{
	return type->typbyval ? a == b :
		datum_image_eq(a, b, false, type->typlen);
}

#define SH_PREFIX valueset
#define SH_ELEMENT_TYPE px_value
#define SH_KEY_TYPE Datum
#define SH_KEY value
#define SH_HASH_KEY(tb, key) (0)	/* callers pass the hash value */
#define SH_EQUAL(tb, a, b) px_is_same_image((tb)->private_data, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a) ((a)->hash)
#define SH_SCOPE pg_attribute_unused() static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#endif							/* PX_EXEC_VALUE_SET_H */
