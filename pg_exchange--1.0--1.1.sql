/* pg_exchange--1.0--1.1.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_exchange UPDATE TO '1.1'" to load this file. \quit

--
-- Check that nobody else owns the schema, or may create objects in it.  Such a
-- role could make the objects that are created here use an operator or a
-- function of its own.  CREATE EXTENSION uses an existing schema of this name
-- as it is, so this check comes first.
--
-- The check itself must not call anything in the schema.  search_path begins
-- with the schema, so every operator, function and type below is named with
-- its own schema.
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
            -- superusers and the current user could do all this anyway
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
-- Statistics.
--
-- Users may have views that depend on ours.  So ours are replaced and not
-- dropped, which allows new columns only at their ends.
--
-- Every operator is named with its schema.  Otherwise somebody could create an
-- operator that fits better, and it would be called.
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
    OUT stats_reset pg_catalog.timestamptz,
    OUT writes bigint, OUT write_fallbacks bigint, OUT rows_sent bigint, OUT bytes_sent bigint,
    OUT filtered_scans bigint, OUT lookups bigint, OUT semi_joins bigint, OUT rows_filtered bigint,
    OUT joins_not_sent bigint, OUT broadcasts bigint, OUT broadcast_rows bigint, OUT broadcast_bytes bigint,
    OUT hash_partitions bigint, OUT partition_rows bigint, OUT partition_bytes bigint,
    OUT connections_refused bigint)
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
           s.sessions, s.writes, s.write_fallbacks, s.rows_sent, s.bytes_sent,
           s.filtered_scans, s.lookups, s.semi_joins, s.rows_filtered, s.joins_not_sent,
           s.broadcasts, s.broadcast_rows, s.broadcast_bytes,
           s.hash_partitions, s.partition_rows, s.partition_bytes, s.connections_refused
    FROM exchange.stat_get_exchange() s LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.datid;

DROP FUNCTION exchange.stat_get_exchange_1_0();

ALTER FUNCTION exchange.stat_get_progress() RENAME TO stat_get_progress_1_0;

CREATE FUNCTION exchange.stat_get_progress(
    OUT pid integer, OUT datid pg_catalog.oid, OUT usesysid pg_catalog.oid, OUT srvid pg_catalog.oid,
    OUT srvname pg_catalog.text, OUT remote_pid integer, OUT slice integer, OUT started pg_catalog.timestamptz,
    OUT rows bigint, OUT estimated_rows bigint, OUT batches bigint, OUT raw_bytes bigint, OUT wire_bytes bigint,
    OUT encodings pg_catalog.text, OUT codecs pg_catalog.text, OUT blocked_on pg_catalog.text,
    OUT direction pg_catalog.text, OUT remote_query pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_stat_get_progress_1_1'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

-- No nullif or similar here: these look up an operator by name themselves.
CREATE OR REPLACE VIEW exchange.pg_stat_progress_exchange AS
    SELECT s.pid, s.datid, d.datname, s.usesysid, pg_catalog.pg_get_userbyid(s.usesysid) AS usename,
           s.srvid, s.srvname, s.remote_pid, s.slice, s.started, s.rows, s.estimated_rows,
           CASE WHEN s.estimated_rows OPERATOR(pg_catalog.>) 0 THEN
               least(100.0, pg_catalog.round((100.0 OPERATOR(pg_catalog.*) s.rows)
                                             OPERATOR(pg_catalog./) s.estimated_rows, 1)) END AS percent,
           s.batches, s.raw_bytes, s.wire_bytes,
           CASE WHEN s.seconds OPERATOR(pg_catalog.>) 0 THEN
               pg_catalog.round(s.wire_bytes OPERATOR(pg_catalog./) s.seconds) END AS bytes_per_second,
           s.encodings, s.codecs, s.blocked_on, s.remote_query, s.direction
    FROM (SELECT p.*, extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) p.started) AS seconds
          FROM exchange.stat_get_progress() p) s
         LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.datid;

DROP FUNCTION exchange.stat_get_progress_1_0();

CREATE FUNCTION exchange.get_links(
    OUT srvname pg_catalog.text, OUT read_rate bigint, OUT write_rate bigint, OUT measured pg_catalog.timestamptz)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_get_links'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW exchange.links AS
    SELECT l.srvname, l.read_rate, l.write_rate, l.measured FROM exchange.get_links() l;

COMMENT ON VIEW exchange.links IS
'what sessions have measured of the links to servers';

GRANT SELECT ON exchange.links TO PUBLIC;

CREATE FUNCTION exchange.stat_get_connections(
    OUT pid integer, OUT datid pg_catalog.oid, OUT usesysid pg_catalog.oid, OUT srvid pg_catalog.oid,
    OUT srvname pg_catalog.text, OUT remote_pid integer, OUT state pg_catalog.text,
    OUT since pg_catalog.timestamptz, OUT state_change pg_catalog.timestamptz,
    OUT streams bigint, OUT wire_bytes bigint)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_stat_get_connections'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW exchange.pg_stat_exchange_connections AS
    SELECT s.pid, s.datid, d.datname, s.usesysid, pg_catalog.pg_get_userbyid(s.usesysid) AS usename,
           s.srvid, s.srvname, s.remote_pid, s.state, s.since, s.state_change, s.streams, s.wire_bytes
    FROM exchange.stat_get_connections() s LEFT JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.datid;

GRANT SELECT ON exchange.pg_stat_exchange_connections TO PUBLIC;

--
-- The session transport.
--

-- VOLATILE and not STRICT, for the same reasons as exchange.send.
CREATE FUNCTION exchange.send_text(request pg_catalog.text, "row" pg_catalog.record)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_send_text'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE
SUPPORT exchange.send_support;

COMMENT ON FUNCTION exchange.send_text(pg_catalog.text, pg_catalog.record) IS
'send the rows of a query as frames, in pieces of text: SELECT exchange.send_text(request, t.*) FROM (query) t';

-- Not STRICT: if the query is NULL, the answer describes the session alone.
CREATE FUNCTION exchange.admit(hello pg_catalog.text, query pg_catalog.text, want_snapshot pg_catalog.bool)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_admit'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.admit(pg_catalog.text, pg_catalog.text, pg_catalog.bool) IS
'tell whether another session may run a query, and what that session must know';

--
-- Writes as frames.
--

CREATE FUNCTION exchange.unpack_support(pg_catalog.internal) RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'px_sql_unpack_support'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.unpack_support(pg_catalog.internal) IS
'planner support for exchange.unpack';

-- STABLE: it may call input functions.
CREATE FUNCTION exchange.unpack(frames pg_catalog.text) RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_unpack'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED
SUPPORT exchange.unpack_support;

COMMENT ON FUNCTION exchange.unpack(pg_catalog.text) IS
'return the rows of frames: SELECT * FROM exchange.unpack(frames) AS t(column type, ...)';

CREATE FUNCTION exchange.unpack(frames pg_catalog.text, distinct_values pg_catalog.float8[])
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_unpack'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED
SUPPORT exchange.unpack_support;

COMMENT ON FUNCTION exchange.unpack(pg_catalog.text, pg_catalog.float8[]) IS
'the same, with the number of distinct values of each column for the planner; 0: not known';

CREATE FUNCTION exchange.describe(hello pg_catalog.text, statement pg_catalog.text)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_describe'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.describe(pg_catalog.text, pg_catalog.text) IS
'tell whether a statement that writes a row can take its rows from frames, and the types of its parameters';

CREATE FUNCTION exchange.apply(request pg_catalog.text, statement pg_catalog.text, frames pg_catalog.text)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_apply'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.apply(pg_catalog.text, pg_catalog.text, pg_catalog.text) IS
'run a statement that writes a row for all rows of frames';

-- Not STRICT: null frees what the session keeps.
CREATE FUNCTION exchange.deposit(frames pg_catalog.bytea) RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_deposit'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.deposit(pg_catalog.bytea) IS
'keep frames in shared memory for another session of the user, and return the receipt that exchange.apply takes';

--
-- Inboxes.
--

CREATE FUNCTION exchange.fill_inbox(frames pg_catalog.bytea) RETURNS bigint
AS 'MODULE_PATHNAME', 'px_sql_fill_inbox'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.fill_inbox(pg_catalog.bytea) IS
'keep frames in inboxes of this session until the transaction ends, and return the bytes that all of them have';

CREATE FUNCTION exchange.inbox_support(pg_catalog.internal) RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'px_sql_inbox_support'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.inbox_support(pg_catalog.internal) IS
'planner support for exchange.inbox';

-- STABLE: nothing can be brought to an inbox that a query reads.
CREATE FUNCTION exchange.inbox(number integer) RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_inbox'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED
SUPPORT exchange.inbox_support;

COMMENT ON FUNCTION exchange.inbox(integer) IS
'return the rows of frames in an inbox: SELECT * FROM exchange.inbox(number) AS t(column type, ...)';

CREATE FUNCTION exchange.inbox(number integer, distinct_values pg_catalog.float8[])
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_inbox'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED
SUPPORT exchange.inbox_support;

COMMENT ON FUNCTION exchange.inbox(integer, pg_catalog.float8[]) IS
'the same, with the number of distinct values of each column for the planner; 0: not known';

--
-- Rows that servers of a join get from each other.  Whoever knows a token may
-- collect what it is for, once.  All of them refuse to do anything while
-- pg_exchange.join_pull is off.
--

CREATE FUNCTION exchange.offer(links pg_catalog.text) RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_offer'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.offer(pg_catalog.text) IS
'let other sessions collect frames that this one sends in its transaction, and return the token for it';

CREATE FUNCTION exchange.collect(token pg_catalog.text, link integer) RETURNS SETOF pg_catalog.bytea
AS 'MODULE_PATHNAME', 'px_sql_collect'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.collect(pg_catalog.text, integer) IS
'return the frames of a link that another session has offered';

CREATE FUNCTION exchange.can_pull(peers pg_catalog.text, ms integer DEFAULT 5000) RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_can_pull'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.can_pull(pg_catalog.text, integer) IS
'tell which servers of a join can be reached by the foreign servers of the same names, as the user';

CREATE FUNCTION exchange.pull(links pg_catalog.text) RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'px_sql_pull'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.pull(pg_catalog.text) IS
'collect frames from other servers, keep them in inboxes of this session, and return what has come';

--
-- Runtime filters.
--
-- Coordinators call these with arguments of exactly these types.
--

CREATE FUNCTION exchange.in_filter(filter pg_catalog.bytea, key bigint) RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_in_filter_int8'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.in_filter(pg_catalog.bytea, bigint) IS
'tell whether an integer may be among the keys that a Bloom filter was made of';

CREATE FUNCTION exchange.in_filter(filter pg_catalog.bytea, key pg_catalog.bytea) RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_in_filter_bytea'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.in_filter(pg_catalog.bytea, pg_catalog.bytea) IS
'tell whether bytes may be among the keys that a Bloom filter was made of';

CREATE FUNCTION exchange.in_filter(filter pg_catalog.bytea, key pg_catalog.text) RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_in_filter_text'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.in_filter(pg_catalog.bytea, pg_catalog.text) IS
'tell whether a string may be among the keys that a Bloom filter was made of';

-- The planner of a sender puts these in place of key = ANY (keys).
CREATE FUNCTION exchange.in_keys(keys smallint[], key smallint) RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_in_keys_int2'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.in_keys(smallint[], smallint) IS
'tell whether a key is among the keys that are not null';

CREATE FUNCTION exchange.in_keys(keys integer[], key integer) RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_in_keys_int4'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.in_keys(integer[], integer) IS
'tell whether a key is among the keys that are not null';

CREATE FUNCTION exchange.in_keys(keys bigint[], key bigint) RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_in_keys_int8'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.in_keys(bigint[], bigint) IS
'tell whether a key is among the keys that are not null';

-- The planner replaces calls of these two, and looks at the types of the row's
-- fields.  The row is of type record, so that calls are unambiguous.
CREATE FUNCTION exchange.may_match_support(pg_catalog.internal) RETURNS pg_catalog.internal
AS 'MODULE_PATHNAME', 'px_sql_may_match_support'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.may_match_support(pg_catalog.internal) IS
'planner support for exchange.has_type and exchange.may_match';

CREATE FUNCTION exchange.has_type("column" pg_catalog.record, typmod integer) RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_has_type'
LANGUAGE C CALLED ON NULL INPUT IMMUTABLE PARALLEL SAFE
SUPPORT exchange.may_match_support;

COMMENT ON FUNCTION exchange.has_type(pg_catalog.record, integer) IS
'tell whether a foreign table may declare a column with a type: exchange.has_type(ROW(column, NULL::type [, collation]), typmod)';

CREATE FUNCTION exchange.may_match("column" pg_catalog.record, typmod integer) RETURNS boolean
AS 'MODULE_PATHNAME', 'px_sql_may_match'
LANGUAGE C CALLED ON NULL INPUT IMMUTABLE PARALLEL SAFE
SUPPORT exchange.may_match_support;

COMMENT ON FUNCTION exchange.may_match(pg_catalog.record, integer) IS
'tell whether a column may be one of some keys, if it has the type: exchange.may_match(ROW(column, NULL::type, keys), typmod)';

--
-- Rows that are cut by the hash of a key.
--

-- Not STRICT: the keys have any types, and the result is null if one of them
-- is null.
CREATE FUNCTION exchange.partition_number(modulus integer, VARIADIC keys "any") RETURNS integer
AS 'MODULE_PATHNAME', 'px_sql_partition_number'
LANGUAGE C CALLED ON NULL INPUT IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION exchange.partition_number(integer, "any") IS
'tell the remainder, by a modulus, by which hash partitioning would choose the partition of the keys';

--
-- Statistics of foreign tables.
--

CREATE FUNCTION exchange.analyze(schema pg_catalog.name,
    OUT relation pg_catalog.regclass, OUT rows bigint, OUT sampled_rows bigint, OUT milliseconds double precision)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_analyze'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.analyze(pg_catalog.name) IS
'analyze all foreign tables of postgres_fdw in a schema, and the tables they are partitions of';

--
-- What is wrong with a server, and what to do about it.
--

CREATE FUNCTION exchange.check_here(
    OUT server pg_catalog.text, OUT item pg_catalog.text, OUT ok boolean, OUT fault pg_catalog.text,
    OUT found pg_catalog.text, OUT advice pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_check_here'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.check_here() IS
'exchange.check for this server and session alone';

CREATE FUNCTION exchange.check_there(server_name pg_catalog.text,
    OUT server pg_catalog.text, OUT item pg_catalog.text, OUT ok boolean, OUT fault pg_catalog.text,
    OUT found pg_catalog.text, OUT advice pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_check_there'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.check_there(pg_catalog.text) IS
'exchange.check for a foreign server alone';

CREATE FUNCTION exchange.check(server_name pg_catalog.text,
    OUT server pg_catalog.text, OUT item pg_catalog.text, OUT ok boolean, OUT fault pg_catalog.text,
    OUT found pg_catalog.text, OUT advice pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE sql STRICT VOLATILE PARALLEL UNSAFE
AS $$
    SELECT h.server, h.item, h.ok, h.fault, h.found, h.advice FROM exchange.check_here() h
    UNION ALL
    SELECT t.server, t.item, t.ok, t.fault, t.found, t.advice FROM exchange.check_there(server_name) t
$$;

COMMENT ON FUNCTION exchange.check(pg_catalog.text) IS
'try a foreign server as exchanges use it, and tell what is wrong and what to do about it';

-- All servers of postgres_fdw that the current user has a mapping for.
CREATE FUNCTION exchange.check(
    OUT server pg_catalog.text, OUT item pg_catalog.text, OUT ok boolean, OUT fault pg_catalog.text,
    OUT found pg_catalog.text, OUT advice pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE sql VOLATILE PARALLEL UNSAFE
AS $$
    SELECT h.server, h.item, h.ok, h.fault, h.found, h.advice FROM exchange.check_here() h
    UNION ALL
    SELECT c.server, c.item, c.ok, c.fault, c.found, c.advice
    FROM (SELECT DISTINCT m.srvname::pg_catalog.text
          FROM pg_catalog.pg_user_mappings m
              JOIN pg_catalog.pg_foreign_server s ON s.oid OPERATOR(pg_catalog.=) m.srvid
              JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid OPERATOR(pg_catalog.=) s.srvfdw
          WHERE w.fdwname OPERATOR(pg_catalog.=) 'postgres_fdw'
              AND (m.umuser OPERATOR(pg_catalog.=) 0::pg_catalog.oid OR m.usename OPERATOR(pg_catalog.=) CURRENT_USER)
          ORDER BY 1) n(name), LATERAL exchange.check_there(n.name) c
$$;

COMMENT ON FUNCTION exchange.check() IS
'exchange.check for this server, and for all foreign servers that the current user has a user mapping for';

--
-- What exchanges gain.
--

CREATE FUNCTION exchange.compare(query pg_catalog.text, seconds double precision DEFAULT 30,
    OUT way pg_catalog.text, OUT rows bigint, OUT raw_bytes bigint, OUT wire_bytes bigint,
    OUT elapsed double precision, OUT speedup double precision, OUT complete boolean)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'px_sql_compare'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION exchange.compare(pg_catalog.text, double precision) IS
'run a query by each mode of compression and by postgres_fdw, and tell rows, bytes and seconds';

CREATE FUNCTION exchange.compare(relation pg_catalog.regclass, seconds double precision DEFAULT 30,
    OUT way pg_catalog.text, OUT rows bigint, OUT raw_bytes bigint, OUT wire_bytes bigint,
    OUT elapsed double precision, OUT speedup double precision, OUT complete boolean)
RETURNS SETOF pg_catalog.record
LANGUAGE sql STRICT VOLATILE PARALLEL UNSAFE
AS $$
    SELECT c.way, c.rows, c.raw_bytes, c.wire_bytes, c.elapsed, c.speedup, c.complete
    FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) r.relnamespace,
        LATERAL exchange.compare(pg_catalog.format('TABLE %I.%I', n.nspname, r.relname), seconds) c
    WHERE r.oid OPERATOR(pg_catalog.=) relation::pg_catalog.oid
$$;

COMMENT ON FUNCTION exchange.compare(pg_catalog.regclass, double precision) IS
'exchange.compare of a scan of the whole relation';

--
-- Comments on objects of 1.0.
--

COMMENT ON FUNCTION exchange.hello(pg_catalog.text) IS
'tell this server what the coordinator supports, and return what this server supports';

COMMENT ON FUNCTION exchange.send(pg_catalog.text, pg_catalog.record) IS
'send the rows of a query as frames: SELECT exchange.send(request, t.*) FROM (query) t';

COMMENT ON FUNCTION exchange.send_support(pg_catalog.internal) IS
'planner support for exchange.send and exchange.send_text';

COMMENT ON VIEW exchange.pg_stat_exchange IS
'counters of exchanges, by database, user and server';

COMMENT ON FUNCTION exchange.reset_stats() IS
'remove all rows of exchange.pg_stat_exchange';

COMMENT ON VIEW exchange.pg_stat_progress_exchange IS
'progress of the running streams, session reads and writes';

COMMENT ON VIEW exchange.connections IS
'connections of the streams of this session';

COMMENT ON VIEW exchange.pg_stat_exchange_connections IS
'connections of the streams of all sessions';
