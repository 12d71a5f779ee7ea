/*-------------------------------------------------------------------------
 *
 * stamp.h
 *		Has nothing changed in a remote session since its functions were looked
 *		at?
 *
 * To look at the functions of a remote, or to compare their digest
 * (conn/seal.h), takes as much CPU time as a short query, and is due twice in
 * each transaction.  So the library tells there whether it is due: it keeps a
 * stamp, a random number that it replaces when a function, a schema or a role
 * is changed.  An answer that comes with a check has the stamp along.  While
 * the session still shows the same one, the check need not be made again.
 *
 * It is shown by a setting of the library, because settings are read by a
 * function of pg_catalog.  Anybody may make up a setting in a session in which
 * the library is not loaded.  So a stamp has the process id, too, and it is
 * taken only from an answer for which a function of the library was called:
 * then the process has the library, and never loses it.
 *
 * A stamp must not be older than a change that the check has not seen, and not
 * newer than one that it has missed.  So there is none in a statement in which
 * something has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_STAMP_H
#define PX_CONN_STAMP_H

#include "conn/genuine.h"

/* Process id, space, random number, dot, oid of the role. */
#define PX_STAMP_NBYTES		64

/*
 * A text expression: the stamp of the remote session.  Not well-formed if it
 * has none, or its library is older than stamps.  Never null.
 */
#define PX_STAMP_SHOWN \
	"(pg_catalog.pg_backend_pid()::pg_catalog.text" \
	" OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) COALESCE(" \
	"pg_catalog.current_setting('pg_exchange.stamp', true), ''))"

/* The same in an answer that ends in it. */
#define PX_STAMP_BEGIN	"<stamp>"
#define PX_STAMP_ALONG \
	"'" PX_STAMP_BEGIN "' OPERATOR(pg_catalog.||) " PX_STAMP_SHOWN

/*
 * The same in memory of the current context, for a statement that comes before
 * it is known whether the user may call what it calls.
 */
extern const char *px_stamp_along_dynamic_sql(void);

/*
 * Keep what PX_STAMP_SHOWN has returned, in a buffer of PX_STAMP_NBYTES; "" if
 * that is not a stamp.
 */
extern void px_stamp_keep(char *stamp, const char *shown);

/*
 * The same of an answer that ends in PX_STAMP_ALONG, which is cut off; "" if
 * it does not.
 */
extern void px_stamp_take(char *stamp, char *answer);

/*
 * A boolean expression, in memory of the current context: a stamp that was
 * kept is the session's.
 */
extern const char *px_stamp_is_shown_sql(const char *stamp);

/* Define the setting.  To be called by _PG_init. */
extern void px_stamp_init(void);

#endif							/* PX_CONN_STAMP_H */
