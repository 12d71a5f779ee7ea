/*-------------------------------------------------------------------------
 *
 * compat_json.h
 *		Differences between PostgreSQL 15 to 19 in JSON.
 *
 * The same as compat.h, of which it is a part.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COMPAT_JSON_H
#define PX_COMPAT_JSON_H

#include "mb/pg_wchar.h"
#include "nodes/primnodes.h"
#include "utils/fmgroids.h"
#include "utils/jsonfuncs.h"

/* JSON_OBJECT() and the like, which call no function that one sees: 16. */
#if PG_VERSION_NUM >= 160000
#define PX_IS_JSON_CONSTRUCTOR(node)	IsA(node, JsonConstructorExpr)
#else
#define PX_IS_JSON_CONSTRUCTOR(node)	false
#endif

/* Aggregates that make json of any type, besides those of 15: 16. */
#if PG_VERSION_NUM >= 160000
#define PX_JSON_AGGREGATES \
	F_JSON_AGG_STRICT, F_JSON_OBJECT_AGG_STRICT, F_JSON_OBJECT_AGG_UNIQUE, \
	F_JSON_OBJECT_AGG_UNIQUE_STRICT, F_JSONB_AGG_STRICT, \
	F_JSONB_OBJECT_AGG_STRICT, F_JSONB_OBJECT_AGG_UNIQUE, \
	F_JSONB_OBJECT_AGG_UNIQUE_STRICT
#else
#define PX_JSON_AGGREGATES
#endif

/* JSON_VALUE() and the like, which make values of any type: 17. */
#if PG_VERSION_NUM >= 170000
#define PX_IS_JSON_QUERY(node)	IsA(node, JsonExpr)
#else
#define PX_IS_JSON_QUERY(node)	false
#endif

/* Callbacks of the JSON parser return a status: 16. */
#if PG_VERSION_NUM >= 160000
typedef JsonParseErrorType px_json_result;
#define PX_JSON_DONE	JSON_SUCCESS
#else
typedef void px_json_result;
#define PX_JSON_DONE
#endif

/* makeJsonLexContext can use memory of the caller's: 17. */
static inline JsonLexContext *
px_json_lexer(text *json)
{
#if PG_VERSION_NUM >= 170000
	return makeJsonLexContext(NULL, json, true);
#else
	return makeJsonLexContext(json, true);
#endif
}

/* The same for a text in the database encoding; only to look at its form. */
static inline JsonLexContext *
px_json_form_lexer(const char *json, int nbytes)
{
#if PG_VERSION_NUM >= 170000
	return makeJsonLexContextCstringLen(NULL, json, nbytes,
										GetDatabaseEncoding(), false);
#else
	return makeJsonLexContextCstringLen(unconstify(char *, json), nbytes,
										GetDatabaseEncoding(), false);
#endif
}

#endif							/* PX_COMPAT_JSON_H */
