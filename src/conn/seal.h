/*-------------------------------------------------------------------------
 *
 * seal.h
 *		Whether a remote's functions are still those that were genuine.
 *
 * The check of conn/genuine.h takes the remote 0.5 ms, most of it to parse and
 * to plan: as much as a short scan.  It is made twice in each transaction.  So
 * the first answer in a session brings a seal along: the oids of the schema
 * and of the functions, and a digest of all that the check looks at in them.
 * A later check only compares the digest.  What it calls looks at what is
 * there now, so it finds functions that were dropped, renamed, altered or
 * replaced since, and other rights.  What it does not look at again are the
 * schema's owner and the extension's members.  Only the owner or a superuser
 * can have changed those, and it would not make another function of the ones
 * that are looked at.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_SEAL_H
#define PX_CONN_SEAL_H

#include "conn/genuine.h"
#include "conn/peer.h"

/* What stands around the seal in an answer. */
#define PX_SEAL_BEGIN	"<seal>"
#define PX_SEAL_END		"</seal>"

/* What is compared, of the functions o in the order in which they come. */
#define PX_SEAL_DIGEST(o, order) \
	"pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(" \
	"pg_catalog.string_agg(pg_catalog.pg_get_functiondef(" o ")" \
	" OPERATOR(pg_catalog.||) " PX_IDENTITY(o) ", ''" order ")," \
	" 'SQL_ASCII')), 'hex')"

/*
 * A text expression: the seal of the functions to read, if they are there,
 * else ''.  To be asked for in a statement that finds PX_IS_GENUINE.  Only
 * members of the extension are looked at: to identify all functions of a
 * database would take 10 ms.
 */
#define PX_SEAL \
	"COALESCE((SELECT '" PX_SEAL_BEGIN "' OPERATOR(pg_catalog.||)" \
	" p.pronamespace::pg_catalog.text OPERATOR(pg_catalog.||) ' '" \
	" OPERATOR(pg_catalog.||) pg_catalog.string_agg(" \
	"p.oid::pg_catalog.text, ',' ORDER BY p.oid)" \
	" OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) " \
	PX_SEAL_DIGEST("p.oid", " ORDER BY p.oid") \
	" OPERATOR(pg_catalog.||) '" PX_SEAL_END "'" \
	" FROM pg_catalog.pg_proc p WHERE p.oid" PX_EQ "ANY (ARRAY(" \
	"SELECT d.objid FROM pg_catalog.pg_extension e, pg_catalog.pg_depend d" \
	" WHERE e.extname" PX_EQ "'pg_exchange' AND " PX_IS_MEMBER "))" \
	" AND " PX_IS_ONE_OF(PX_READ_FUNCTIONS) \
	" GROUP BY p.pronamespace), '')"

/*
 * Keep the seal that an answer has, until px_seal_break.  Nothing is kept of
 * one that has none, or a malformed one.
 */
extern void px_seal_keep(px_peer *peer, const char *answer);

/* Forget it, and the stamps: the next check is made in full. */
extern void px_seal_break(px_peer *peer);

/* Is there one? */
extern bool px_is_sealed(const px_peer *peer);

/*
 * A boolean expression, in memory of the current context: what the seal is of
 * is there and may be used.  Without a seal: PX_IS_GENUINE.  Never raises an
 * error.
 */
extern const char *px_is_genuine_sql(const px_peer *peer);

/*
 * The same for a session that has shown a stamp (conn/stamp.h), or "": it
 * compares the seal only if the stamp is another one now.
 */
extern const char *px_is_still_genuine_sql(const px_peer *peer,
										   const char *stamp);

#endif							/* PX_CONN_SEAL_H */
