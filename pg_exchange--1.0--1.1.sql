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
