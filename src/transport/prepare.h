/*-------------------------------------------------------------------------
 *
 * prepare.h
 *		How the transaction of a stream begins: SQL.
 *
 * PX_STREAM_HELD_IDLE_S is in transport/stream.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_PREPARE_H
#define PX_TRANSPORT_PREPARE_H

#include "conn/genuine.h"

/*
 * What a transaction begins with once it has its snapshot.
 *
 * A stream must not wait long for a lock.  Another session may be queued for
 * that lock, and wait for postgres_fdw's session, which waits for us.  The
 * server does not know that, and would not find the deadlock.
 *
 * Behind a pooler this may be another backend than the one that has answered
 * the hello: so it is checked once more that the extension is genuine.
 */
#define PX_START	"START TRANSACTION ISOLATION LEVEL REPEATABLE READ"
#define PX_PREPARE \
	"SELECT pg_catalog.set_config('lock_timeout', '100ms', true), " \
	PX_REQUIRE_STILL_GENUINE

/*
 * What the next query of such a transaction begins with, if it may lock other
 * relations: the sender has reset the time-out once it had its locks.
 */
#define PX_PREPARE_NEXT \
	"SELECT pg_catalog.set_config('lock_timeout', '100ms', true)"

/*
 * What a transaction begins with that is held, in whose session inboxes are
 * filled.  It is idle as long as its sources have nothing for it.  0 is no
 * time-out.
 */
#define PX_IDLE_TIMEOUT	"idle_in_transaction_session_timeout"
#define PX_OWN_IDLE_TIMEOUT \
	"pg_catalog.current_setting('" PX_IDLE_TIMEOUT "')"
#define PX_HELD_IDLE_TIMEOUT \
	"'" CppAsString2(PX_STREAM_HELD_IDLE_S) "s'"
#define PX_PREPARE_HELD \
	PX_PREPARE ", " PX_REQUIRE_CAN_REPARTITION ", " PX_OWN_IDLE_TIMEOUT ", " \
	"pg_catalog.set_config('" PX_IDLE_TIMEOUT "', CASE WHEN " \
	PX_OWN_IDLE_TIMEOUT " OPERATOR(pg_catalog.<>) '0' AND " \
	PX_OWN_IDLE_TIMEOUT "::pg_catalog.interval OPERATOR(pg_catalog.<) " \
	PX_HELD_IDLE_TIMEOUT "::pg_catalog.interval THEN " PX_HELD_IDLE_TIMEOUT \
	" ELSE " PX_OWN_IDLE_TIMEOUT " END, true)"

/* The columns of the answer. */
#define PX_PREPARE_COLUMNS				2
#define PX_PREPARE_NEXT_COLUMNS			1
#define PX_PREPARE_HELD_COLUMNS			5
#define PX_PREPARE_HELD_IDLE_TIMEOUT	3

#endif							/* PX_TRANSPORT_PREPARE_H */
