/*-------------------------------------------------------------------------
 *
 * in_keys.h
 *		The SQL functions exchange.in_keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_IN_KEYS_H
#define PX_EXEC_IN_KEYS_H

#include "fmgr.h"

/*
 * exchange.in_keys(keys smallint[], key smallint), and the same of integer and
 * bigint: is the key among the keys that are not null?
 */
extern Datum px_sql_in_keys_int2(PG_FUNCTION_ARGS);
extern Datum px_sql_in_keys_int4(PG_FUNCTION_ARGS);
extern Datum px_sql_in_keys_int8(PG_FUNCTION_ARGS);

/* Is the function one of them? */
extern bool px_in_keys_is(Oid function);

#endif							/* PX_EXEC_IN_KEYS_H */
