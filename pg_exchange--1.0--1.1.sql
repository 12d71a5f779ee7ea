/* pg_exchange--1.0--1.1.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_exchange UPDATE TO '1.1'" to load this file. \quit

--
-- Whoever owns the schema, or may create objects in it, could have what is made
-- here use an operator or a function of theirs.  CREATE EXTENSION takes a schema
-- of this name as it is; so look at it, before anything of the extension is
-- used.  Nothing of the schema is called here: search_path begins with it, so
-- that every operator, function and type is named with its own.
--
DO LANGUAGE plpgsql $check$
DECLARE
    reason record;
BEGIN
    SELECT d.problem, d.hint INTO reason FROM (
        SELECT n.oid AS schema, r.oid AS role, 1 AS step,
               pg_catalog.format('It is owned by role "%s".', r.rolname) AS problem,
               'Drop the schema, or let a superuser own it: ALTER SCHEMA exchange OWNER TO CURRENT_USER.' AS hint
            FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
        UNION ALL
        SELECT n.oid, a.grantee, 2,
               pg_catalog.format('Role "%s" may create objects in it.',
                   CASE WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
                   ELSE pg_catalog.pg_get_userbyid(a.grantee)::pg_catalog.text END),
               'Revoke the privilege: REVOKE CREATE ON SCHEMA exchange FROM ...'
            FROM pg_catalog.pg_namespace n, LATERAL pg_catalog.aclexplode(n.nspacl) a
            WHERE a.privilege_type OPERATOR(pg_catalog.=) 'CREATE'::pg_catalog.text
        UNION ALL
        SELECT n.refobjid, o.refobjid, 3,
               pg_catalog.format('It contains %s, which is owned by role "%s".',
                   pg_catalog.pg_describe_object(n.classid, n.objid, 0), pg_catalog.pg_get_userbyid(o.refobjid)),
               'Drop the object, or let a superuser own it.'
            FROM pg_catalog.pg_depend n JOIN pg_catalog.pg_shdepend o
                ON o.classid OPERATOR(pg_catalog.=) n.classid AND o.objid OPERATOR(pg_catalog.=) n.objid
                AND o.deptype OPERATOR(pg_catalog.=) 'o'::pg_catalog."char"
                AND o.dbid OPERATOR(pg_catalog.=) (SELECT b.oid FROM pg_catalog.pg_database b
                    WHERE b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
            WHERE n.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass::pg_catalog.oid
                AND n.deptype OPERATOR(pg_catalog.=) 'n'::pg_catalog."char") d
        JOIN pg_catalog.pg_namespace e ON e.oid OPERATOR(pg_catalog.=) d.schema
        WHERE e.nspname OPERATOR(pg_catalog.=) 'exchange'::pg_catalog.name
            -- they could do anything anyway
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles t WHERE t.oid OPERATOR(pg_catalog.=) d.role
                AND (t.rolsuper OR t.rolname OPERATOR(pg_catalog.=) CURRENT_USER))
        ORDER BY d.step USING OPERATOR(pg_catalog.<), d.problem USING OPERATOR(pg_catalog.<)
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = 'schema "exchange" is not safe for extension "pg_exchange"',
            DETAIL = reason.problem, HINT = reason.hint;
    END IF;
END
$check$;

--
-- Statistics.  Views that somebody has made of ours stay: so ours are replaced,
-- which takes new columns at their ends.  Every operator is named with its
-- schema, whoever may create some that would fit better.
--

ALTER FUNCTION exchange.stat_get_exchange() RENAME TO stat_get_exchange_1_0;

CREATE FUNCTION exchange.stat_get_exchange(
    OUT datid pg_catalog.oid, OUT usesysid pg_catalog.oid, OUT srvid pg_catalog.oid, OUT srvname pg_catalog.text,
    OUT scans bigint, OUT fallbacks_disabled bigint, OUT fallbacks_no_extension bigint,
    OUT fallbacks_incompatible bigint, OUT fallbacks_connection bigint, OUT fallbacks_snapshot bigint,
    OUT fallbacks_own_writes bigint, OUT fallbacks_declined bigint,
    OUT streams bigint, OUT sessions bigint, OUT errors bigint, OUT rows bigint, OUT raw_bytes bigint,
    OUT remote_bytes_none bigint, OUT remote_bytes_lz4 bigint, OUT remote_bytes_zstd bigint,
    OUT local_bytes_none bigint, OUT local_bytes_lz4 bigint, OUT local_bytes_zstd bigint,
    OUT batches bigint, OUT batches_plain bigint,
    OUT encode_time double precision, OUT send_wait_time double precision,
    OUT receive_wait_time double precision, OUT decode_time double precision,
    OUT stats_reset pg_catalog.timestamptz)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_stat_get_exchange_1_1'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE OR REPLACE VIEW exchange.pg_stat_exchange AS
    SELECT s.datid, d.datname, s.usesysid, pg_catalog.pg_get_userbyid(s.usesysid) AS usename,
           s.srvid, s.srvname, s.scans,
           s.fallbacks_disabled OPERATOR(pg_catalog.+) s.fallbacks_no_extension
               OPERATOR(pg_catalog.+) s.fallbacks_incompatible OPERATOR(pg_catalog.+) s.fallbacks_connection
               OPERATOR(pg_catalog.+) s.fallbacks_snapshot OPERATOR(pg_catalog.+) s.fallbacks_own_writes
               OPERATOR(pg_catalog.+) s.fallbacks_declined AS fallbacks,
           s.fallbacks_disabled, s.fallbacks_no_extension, s.fallbacks_incompatible, s.fallbacks_connection,
           s.fallbacks_snapshot, s.fallbacks_own_writes, s.fallbacks_declined,
           s.streams, s.errors, s.rows, s.batches, s.batches_plain, s.raw_bytes,
           s.remote_bytes_none OPERATOR(pg_catalog.+) s.remote_bytes_lz4 OPERATOR(pg_catalog.+) s.remote_bytes_zstd
               OPERATOR(pg_catalog.+) s.local_bytes_none OPERATOR(pg_catalog.+) s.local_bytes_lz4
               OPERATOR(pg_catalog.+) s.local_bytes_zstd AS wire_bytes,
           s.remote_bytes_none, s.remote_bytes_lz4, s.remote_bytes_zstd,
           s.local_bytes_none, s.local_bytes_lz4, s.local_bytes_zstd,
           s.encode_time, s.send_wait_time, s.receive_wait_time, s.decode_time, s.stats_reset,
           s.sessions
    FROM exchange.stat_get_exchange() s LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.datid;

DROP FUNCTION exchange.stat_get_exchange_1_0();

-- nullif and its like would look for an operator by themselves
CREATE OR REPLACE VIEW exchange.pg_stat_progress_exchange AS
    SELECT s.pid, s.datid, d.datname, s.usesysid, pg_catalog.pg_get_userbyid(s.usesysid) AS usename,
           s.srvid, s.srvname, s.remote_pid, s.slice, s.started, s.rows, s.estimated_rows,
           CASE WHEN s.estimated_rows OPERATOR(pg_catalog.>) 0 THEN
               least(100.0, pg_catalog.round((100.0 OPERATOR(pg_catalog.*) s.rows)
                                             OPERATOR(pg_catalog./) s.estimated_rows, 1)) END AS percent,
           s.batches, s.raw_bytes, s.wire_bytes,
           CASE WHEN s.seconds OPERATOR(pg_catalog.>) 0 THEN
               pg_catalog.round(s.wire_bytes OPERATOR(pg_catalog./) s.seconds) END AS bytes_per_second,
           s.encodings, s.codecs, s.blocked_on, s.remote_query
    FROM (SELECT p.*, extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) p.started) AS seconds
          FROM exchange.stat_get_progress() p) s
         LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.datid;

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
