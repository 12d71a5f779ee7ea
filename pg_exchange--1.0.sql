/* pg_exchange--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_exchange" to load this file. \quit

GRANT USAGE ON SCHEMA exchange TO PUBLIC;

CREATE FUNCTION exchange.hello(hello text)
RETURNS text
AS 'MODULE_PATHNAME', 'px_sql_hello'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.hello(text) IS
'introduce a coordinator to this server, and answer with what this server speaks';

CREATE FUNCTION exchange.send_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'px_sql_send_support'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.send_support(internal) IS
'planner support for exchange.send';

-- Not STRICT, so that no call of it is ever replaced by a null; VOLATILE, so
-- that none is evaluated while planning.
CREATE FUNCTION exchange.send(request text, "row" record)
RETURNS bytea
AS 'MODULE_PATHNAME', 'px_sql_send'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE
SUPPORT exchange.send_support;

COMMENT ON FUNCTION exchange.send(text, record) IS
'mark a query whose rows are to be sent as frames: SELECT exchange.send(request, t.*) FROM (query) t';
