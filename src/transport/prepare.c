/*-------------------------------------------------------------------------
 *
 * prepare.c
 *		How the transaction of a stream begins.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "conn/seal.h"
#include "transport/prepare.h"

/*
 * What a transaction begins with once it has its snapshot.
 *
 * A stream must not wait long for a lock.  Another session may be queued for
 * that lock, and wait for postgres_fdw's session, which waits for us.  The
 * server does not know that, and would not find the deadlock.
 *
 * Behind a pooler this may be another backend than the one that has answered
 * the hello: so it is checked once more that the extension is genuine.  Behind
 * none, the session shows the stamp of the last check.
 */
#define START	"START TRANSACTION ISOLATION LEVEL REPEATABLE READ"
#define PREPARE \
	"SELECT pg_catalog.set_config('lock_timeout', '100ms', true), " \
	PX_REQUIRE("%s") ", " PX_STAMP_SHOWN

/*
 * What the next query of such a transaction begins with, if it may lock other
 * relations: the sender has reset the time-out once it had its locks.
 */
#define PREPARE_NEXT	"SET LOCAL lock_timeout = '100ms'"

/*
 * What a transaction begins with that is held, in whose session inboxes are
 * filled.  It is idle as long as its sources have nothing for it.  0 is no
 * time-out.
 */
#define IDLE_TIMEOUT	"idle_in_transaction_session_timeout"
#define OWN_IDLE_TIMEOUT \
	"pg_catalog.current_setting('" IDLE_TIMEOUT "')"
#define HELD_IDLE_TIMEOUT \
	"'" CppAsString2(PX_HELD_IDLE_S) "s'"
#define PREPARE_HELD \
	PREPARE ", " PX_REQUIRE_CAN_REPARTITION ", " OWN_IDLE_TIMEOUT ", " \
	"pg_catalog.set_config('" IDLE_TIMEOUT "', CASE WHEN " \
	OWN_IDLE_TIMEOUT " OPERATOR(pg_catalog.<>) '0' AND " \
	OWN_IDLE_TIMEOUT "::pg_catalog.interval OPERATOR(pg_catalog.<) " \
	HELD_IDLE_TIMEOUT "::pg_catalog.interval THEN " HELD_IDLE_TIMEOUT \
	" ELSE " OWN_IDLE_TIMEOUT " END, true)"

static bool
send_statement(PGconn *pg, const char *sql)
{
	return PQsendQueryParams(pg, sql, 0, NULL, NULL, NULL, NULL, 0);
}

bool
px_prepare_send(PGconn *pg, px_preparation preparation, const px_peer *peer,
				const char *stamp)
{
	char	   *import;
	char	   *prepare;
	bool		sent;

	if (preparation == PX_PREPARE_NEXT)
		return send_statement(pg, PREPARE_NEXT);

	/* The snapshot id comes from the remote: quote it like any string. */
	import = psprintf("SET TRANSACTION SNAPSHOT %s",
					  quote_literal_cstr(peer->snapshot));
	prepare = psprintf(preparation == PX_PREPARE_HELD ? PREPARE_HELD : PREPARE,
					   px_is_still_genuine_sql(peer, stamp));
	sent = send_statement(pg, START) && send_statement(pg, import) &&
		send_statement(pg, prepare);
	pfree(import);
	pfree(prepare);
	return sent;
}

int
px_prepare_columns(px_preparation preparation)
{
	switch (preparation)
	{
		case PX_PREPARE_FIRST:
			return 3;
		case PX_PREPARE_NEXT:
			return 0;
		case PX_PREPARE_HELD:
			return 6;
	}
	return 0;					/* keep compiler quiet */
}

bool
px_prepare_send_restore(PGconn *pg, const char *idle_timeout)
{
	char	   *restore = psprintf("SET LOCAL " IDLE_TIMEOUT " = %s",
								   quote_literal_cstr(idle_timeout));
	bool		sent = send_statement(pg, restore);

	pfree(restore);
	return sent;
}
