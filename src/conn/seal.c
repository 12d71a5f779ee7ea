/*-------------------------------------------------------------------------
 *
 * seal.c
 *		Whether a remote's functions are still those that were genuine.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "conn/dynamic.h"
#include "conn/seal.h"
#include "conn/stamp.h"

#define DIGITS		"0123456789"
#define HEX_DIGITS	DIGITS "abcdef"

/* Digits of OID_MAX. */
#define OID_DIGITS		10

/* Hex digits of the digest. */
#define DIGEST_NBYTES	64

/* How many characters a list of oids has, "12,345"; 0 if it is malformed. */
static int
oids_nchars(const char *list)
{
	const char *next = list;

	for (;; next++)
	{
		size_t		ndigits = strspn(next, DIGITS);

		if (ndigits == 0 || ndigits > OID_DIGITS ||
			strtoull(next, NULL, 10) > OID_MAX)
			return 0;
		next += ndigits;
		if (*next != ',')
			return (int) (next - list);
	}
}

/*
 * Split a seal: how many characters its schema and its functions have.  False
 * if it is malformed: it becomes a part of what we send.
 */
static bool
split(const char *seal, int *schema, int *functions)
{
	const char *list;
	const char *digest;

	*schema = oids_nchars(seal);
	if (*schema == 0 || seal[*schema] != ' ' ||
		memchr(seal, ',', *schema))
		return false;
	list = seal + *schema + 1;
	*functions = oids_nchars(list);
	if (*functions == 0 || list[*functions] != ' ')
		return false;
	digest = list + *functions + 1;
	return strlen(digest) == DIGEST_NBYTES &&
		strspn(digest, HEX_DIGITS) == DIGEST_NBYTES;
}

void
px_seal_keep(px_peer *peer, const char *answer)
{
	const char *begin = strstr(answer, PX_SEAL_BEGIN);
	const char *end = begin ? strstr(begin, PX_SEAL_END) : NULL;
	int			schema;
	int			functions;

	if (end == NULL)
		return;
	begin += strlen(PX_SEAL_BEGIN);
	if (end - begin >= PX_SEAL_NBYTES)
		return;
	memcpy(peer->seal, begin, end - begin);
	peer->seal[end - begin] = '\0';
	if (!split(peer->seal, &schema, &functions))
		px_seal_break(peer);
}

void
px_seal_break(px_peer *peer)
{
	peer->seal[0] = peer->read_stamp[0] = peer->write_stamp[0] = '\0';
}

bool
px_is_sealed(const px_peer *peer)
{
	return peer->seal[0] != '\0';
}

const char *
px_is_genuine_sql(const px_peer *peer)
{
	const char *list;
	int			schema;
	int			functions;

	if (!px_is_sealed(peer) || !split(peer->seal, &schema, &functions))
		return PX_IS_GENUINE;
	list = peer->seal + schema + 1;
	return psprintf("(SELECT " PX_SEAL_DIGEST("o", "") PX_EQ "'%s'"
					" AND pg_catalog.bool_and("
					"pg_catalog.has_function_privilege(o, 'EXECUTE'))"
					" AND pg_catalog.has_schema_privilege(%.*s::pg_catalog.oid,"
					" 'USAGE') FROM pg_catalog.unnest("
					"'{%.*s}'::pg_catalog.oid[]) o)",
					list + functions + 1, schema, peer->seal, functions, list);
}

/*
 * The comparison is a string: so it is neither parsed nor planned if it is not
 * due.
 */
const char *
px_is_still_genuine_sql(const px_peer *peer, const char *stamp)
{
	const char *is_genuine = px_is_genuine_sql(peer);

	if (stamp[0] == '\0' || !px_is_sealed(peer))
		return is_genuine;
	return psprintf("CASE WHEN %s THEN true ELSE %s IS NOT NULL END",
					px_stamp_is_shown_sql(stamp),
					px_dynamic_sql(psprintf("SELECT 'sealed' WHERE %s",
											is_genuine)));
}
