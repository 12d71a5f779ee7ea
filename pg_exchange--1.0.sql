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

--
-- Statistics.
--

CREATE FUNCTION exchange.stat_get_exchange(
    OUT datid oid, OUT usesysid oid, OUT srvid oid, OUT srvname text,
    OUT scans bigint, OUT fallbacks_disabled bigint, OUT fallbacks_no_extension bigint,
    OUT fallbacks_incompatible bigint, OUT fallbacks_connection bigint, OUT fallbacks_snapshot bigint,
    OUT fallbacks_own_writes bigint, OUT fallbacks_declined bigint,
    OUT streams bigint, OUT errors bigint, OUT rows bigint, OUT raw_bytes bigint,
    OUT remote_bytes_none bigint, OUT remote_bytes_lz4 bigint, OUT remote_bytes_zstd bigint,
    OUT local_bytes_none bigint, OUT local_bytes_lz4 bigint, OUT local_bytes_zstd bigint,
    OUT batches bigint, OUT batches_plain bigint,
    OUT encode_time double precision, OUT send_wait_time double precision,
    OUT receive_wait_time double precision, OUT decode_time double precision,
    OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'px_sql_stat_get_exchange'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW exchange.pg_stat_exchange AS
    SELECT s.datid, d.datname, s.usesysid, pg_catalog.pg_get_userbyid(s.usesysid) AS usename,
           s.srvid, s.srvname, s.scans,
           s.fallbacks_disabled + s.fallbacks_no_extension + s.fallbacks_incompatible + s.fallbacks_connection
               + s.fallbacks_snapshot + s.fallbacks_own_writes + s.fallbacks_declined AS fallbacks,
           s.fallbacks_disabled, s.fallbacks_no_extension, s.fallbacks_incompatible, s.fallbacks_connection,
           s.fallbacks_snapshot, s.fallbacks_own_writes, s.fallbacks_declined,
           s.streams, s.errors, s.rows, s.batches, s.batches_plain, s.raw_bytes,
           s.remote_bytes_none + s.remote_bytes_lz4 + s.remote_bytes_zstd
               + s.local_bytes_none + s.local_bytes_lz4 + s.local_bytes_zstd AS wire_bytes,
           s.remote_bytes_none, s.remote_bytes_lz4, s.remote_bytes_zstd,
           s.local_bytes_none, s.local_bytes_lz4, s.local_bytes_zstd,
           s.encode_time, s.send_wait_time, s.receive_wait_time, s.decode_time, s.stats_reset
    FROM exchange.stat_get_exchange() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.datid;

COMMENT ON VIEW exchange.pg_stat_exchange IS
'what exchanges have done, by database, user and server';

GRANT SELECT ON exchange.pg_stat_exchange TO PUBLIC;

CREATE FUNCTION exchange.reset_stats()
RETURNS void
AS 'MODULE_PATHNAME', 'px_sql_reset_stats'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION exchange.reset_stats() IS
'forget the counters of exchange.pg_stat_exchange';

REVOKE ALL ON FUNCTION exchange.reset_stats() FROM PUBLIC;

CREATE FUNCTION exchange.stat_get_progress(
    OUT pid integer, OUT datid oid, OUT usesysid oid, OUT srvid oid, OUT srvname text,
    OUT remote_pid integer, OUT slice integer, OUT started timestamptz, OUT rows bigint,
    OUT estimated_rows bigint, OUT batches bigint, OUT raw_bytes bigint, OUT wire_bytes bigint,
    OUT encodings text, OUT codecs text, OUT blocked_on text, OUT remote_query text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'px_sql_stat_get_progress'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW exchange.pg_stat_progress_exchange AS
    SELECT s.pid, s.datid, d.datname, s.usesysid, pg_catalog.pg_get_userbyid(s.usesysid) AS usename,
           s.srvid, s.srvname, s.remote_pid, s.slice, s.started, s.rows, s.estimated_rows,
           least(100.0, pg_catalog.round(100.0 * s.rows / nullif(s.estimated_rows, 0), 1)) AS percent,
           s.batches, s.raw_bytes, s.wire_bytes,
           pg_catalog.round(s.wire_bytes
               / nullif(extract(epoch FROM pg_catalog.clock_timestamp() - s.started), 0)) AS bytes_per_second,
           s.encodings, s.codecs, s.blocked_on, s.remote_query
    FROM exchange.stat_get_progress() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.datid;

COMMENT ON VIEW exchange.pg_stat_progress_exchange IS
'how far the running streams are';

GRANT SELECT ON exchange.pg_stat_progress_exchange TO PUBLIC;

--
-- Connections of this session.
--

CREATE FUNCTION exchange.get_connections(
    OUT srvname text, OUT usesysid oid, OUT remote_pid integer, OUT state text, OUT in_use boolean,
    OUT valid boolean, OUT locality text, OUT since timestamptz, OUT streams bigint, OUT wire_bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'px_sql_get_connections'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW exchange.connections AS
    SELECT c.srvname, c.usesysid, pg_catalog.pg_get_userbyid(c.usesysid) AS usename,
           c.remote_pid, c.state, c.in_use, c.valid, c.locality, c.since, c.streams, c.wire_bytes
    FROM exchange.get_connections() c;

COMMENT ON VIEW exchange.connections IS
'the connections that exchanges of this session have';

GRANT SELECT ON exchange.connections TO PUBLIC;

CREATE FUNCTION exchange.disconnect(server_name text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_disconnect'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION exchange.disconnect(text) IS
'close the connections of this session to a server that are not in use';

CREATE FUNCTION exchange.disconnect_all()
RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_disconnect_all'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION exchange.disconnect_all() IS
'close all connections of this session that are not in use';
