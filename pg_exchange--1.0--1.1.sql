/* pg_exchange--1.0--1.1.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_exchange UPDATE TO '1.1'" to load this file. \quit

--
-- The session transport.
--

-- VOLATILE and not STRICT, like exchange.send.
CREATE FUNCTION exchange.send_text(request pg_catalog.text, "row" pg_catalog.record)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_send_text'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE
SUPPORT exchange.send_support;

COMMENT ON FUNCTION exchange.send_text(pg_catalog.text, pg_catalog.record) IS
'mark a query whose rows are to be sent as frames, in pieces of text: SELECT exchange.send_text(request, t.*) FROM (query) t';

-- Not STRICT: without a query, it says what the session is.
CREATE FUNCTION exchange.admit(hello pg_catalog.text, query pg_catalog.text, want_snapshot pg_catalog.bool)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_admit'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.admit(pg_catalog.text, pg_catalog.text, pg_catalog.bool) IS
'say whether another session may run a query, and what that session has to know';
