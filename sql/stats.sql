--
-- Statistics, connections, and who may see what. No sizes, no times: whether
-- they are there, and that they add up.
--
\d exchange.pg_stat_exchange
CREATE VIEW remote.series AS SELECT i AS id, 'row ' || i AS name, i / 7.0 AS amount FROM generate_series(1, 10000) i;
CREATE FOREIGN TABLE series (id int, name text, amount numeric) SERVER loopback OPTIONS (schema_name 'remote');

-- The library is not preloaded by the postmaster here: counters of this session.
\c
SELECT count(*) FROM exchange.pg_stat_exchange;
CREATE VIEW stats AS SELECT * FROM exchange.pg_stat_exchange WHERE srvname = 'loopback';
CREATE VIEW sums AS
	SELECT scans, streams, fallbacks, errors, rows, batches, batches_plain,
		raw_bytes > 0 AS raw, wire_bytes > 0 AS wire, wire_bytes < raw_bytes AS smaller,
		remote_bytes_none + remote_bytes_lz4 + remote_bytes_zstd = 0 AS only_local,
		local_bytes_none > 0 AS none, local_bytes_lz4 > 0 AS lz4, local_bytes_zstd > 0 AS zstd
	FROM stats;
SELECT count(id), min(name), max(amount) FROM series WHERE random() < 2;
SELECT datname = current_database() AS here, usename = current_user AS me, srvname,
	encode_time > 0 AS encode, send_wait_time >= 0 AS send_wait, receive_wait_time > 0 AS receive_wait,
	decode_time > 0 AS decode, stats_reset > now() - interval '1 minute' AS recent
FROM stats;
SELECT scans, streams, fallbacks, errors, rows FROM sums;

-- what EXPLAIN says of a scan is what is counted
SELECT exchange.reset_stats();
SELECT count(*) FROM stats;
CREATE FUNCTION explained(query text) RETURNS TABLE (wire bigint, raw bigint, batches bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	plan := jsonb_path_query_first(plan, '$.** ? (@."Custom Plan Provider" == "ExchangeReceive")');
	RETURN QUERY SELECT (plan->>'Wire Bytes')::bigint, (plan->>'Raw Bytes')::bigint, (plan->>'Wire Batches')::bigint;
END
$$;
SELECT * FROM explained('SELECT * FROM series') \gset
SELECT wire_bytes = :wire AS wire, raw_bytes = :raw AS raw, batches = :batches AS batches FROM stats;

-- by codec
SET pg_exchange.compression = none;
SELECT exchange.reset_stats();
SELECT count(id), min(name), max(amount) FROM series WHERE random() < 2;
SELECT batches = batches_plain AS all_plain, smaller, only_local, none, lz4, zstd FROM sums;
SET pg_exchange.compression = fast;
SELECT exchange.reset_stats();
SELECT count(id), min(name), max(amount) FROM series WHERE random() < 2;
SELECT batches_plain, smaller, only_local, none, lz4, zstd FROM sums;
SET pg_exchange.compression = high_compression;
SELECT exchange.reset_stats();
SELECT count(id), min(name), max(amount) FROM series WHERE random() < 2;
SELECT batches_plain, smaller, only_local, none, lz4, zstd FROM sums;
RESET pg_exchange.compression;

-- rescans, in one transaction: seen before it ends
SELECT exchange.reset_stats();
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
BEGIN;
SELECT count(*) FROM generate_series(1, 5) i, LATERAL (SELECT * FROM series WHERE id = i OFFSET 0) x;
SELECT scans, streams, fallbacks, rows FROM sums;
COMMIT;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- a scan that is left early is none that failed
SELECT exchange.reset_stats();
SELECT count(*) FROM (SELECT id FROM series WHERE random() < 2 LIMIT 10) x;
SELECT scans, streams, errors, rows BETWEEN 10 AND 9999 AS some_rows FROM sums;

-- errors: of the remote, and here while a stream is read; what had come counts
CREATE VIEW remote.dividing AS SELECT i AS id, 1 / (9000 - i) AS quotient FROM generate_series(1, 10000) i;
CREATE FOREIGN TABLE dividing (id int, quotient int) SERVER loopback OPTIONS (schema_name 'remote');
SELECT exchange.reset_stats();
\set VERBOSITY sqlstate
SELECT count(quotient) FROM (SELECT * FROM dividing OFFSET 0) x;
SELECT scans, streams, fallbacks, errors, rows > 0 AS some_rows FROM sums;
SELECT sum(1 / (id - 5000)) FROM (SELECT * FROM series OFFSET 0) x;
SELECT scans, streams, fallbacks, errors, rows > 5000 AS some_rows FROM sums;
-- also if the error is caught, after a good scan
BEGIN;
SELECT count(name) FROM series WHERE random() < 2;
DO $$
BEGIN
	PERFORM count(quotient) FROM (SELECT * FROM dividing OFFSET 0) x;
EXCEPTION WHEN division_by_zero THEN
	NULL;
END
$$;
SELECT scans, streams, fallbacks, errors FROM sums;
COMMIT;
SELECT scans, streams, fallbacks, errors FROM sums;
\set VERBOSITY default
DROP FOREIGN TABLE dividing;

-- fallbacks, by reason
SELECT exchange.reset_stats();
CREATE VIEW reasons AS
	SELECT srvname, scans, fallbacks, fallbacks_disabled AS disabled, fallbacks_no_extension AS no_extension,
		fallbacks_incompatible AS incompatible, fallbacks_connection AS connection, fallbacks_snapshot AS snapshot,
		fallbacks_own_writes AS own_writes, fallbacks_declined AS declined
	FROM exchange.pg_stat_exchange;
PREPARE prepared AS SELECT count(*) FROM (SELECT * FROM series OFFSET 0) x;
SET plan_cache_mode = force_generic_plan;
EXECUTE prepared;
SET pg_exchange.enabled = off;
EXECUTE prepared;
SET pg_exchange.enabled = on;
BEGIN ISOLATION LEVEL SERIALIZABLE;
EXECUTE prepared;
COMMIT;
BEGIN;
SAVEPOINT s;
EXECUTE prepared;
COMMIT;
CREATE TABLE remote.written (i int);
CREATE FOREIGN TABLE written (i int) SERVER loopback OPTIONS (schema_name 'remote');
BEGIN;
INSERT INTO written VALUES (1);
EXECUTE prepared;
ROLLBACK;
RESET plan_cache_mode;
CREATE VIEW remote.session_pid AS SELECT pg_backend_pid() AS pid;
CREATE FOREIGN TABLE session_pid (pid int) SERVER loopback OPTIONS (schema_name 'remote');
SELECT pid > 0 AS ok FROM session_pid;
CREATE DATABASE regression_stats;
DO $$
BEGIN
	EXECUTE format('CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw
					OPTIONS (dbname ''regression_stats'', host %L, port %L)',
				   split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'));
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER elsewhere;
CREATE FOREIGN TABLE elsewhere (amname name) SERVER elsewhere OPTIONS (schema_name 'pg_catalog', table_name 'pg_am');
SELECT count(*) > 0 AS ok FROM (SELECT * FROM elsewhere OFFSET 0) x;
SELECT * FROM reasons ORDER BY 1;

-- progress: of a stream that a cursor holds open
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM series;
FETCH 1 FROM c;
SELECT pid = pg_backend_pid() AS mine, datname = current_database() AS here, usename = current_user AS me, srvname,
	remote_pid > 0 AS remote, slice, started <= clock_timestamp() AS started, rows > 0 AS rows, rows <= 10000 AS not_all,
	estimated_rows > 0 AS estimated, percent BETWEEN 0 AND 100 AS percent, batches > 0 AS batches,
	raw_bytes > 0 AS raw, wire_bytes > 0 AS wire, bytes_per_second > 0 AS rate,
	encodings <> '' AS encodings, codecs <> '' AS codecs, blocked_on, remote_query
FROM exchange.pg_stat_progress_exchange;
MOVE ALL FROM c;
SELECT count(*) FROM exchange.pg_stat_progress_exchange;
ROLLBACK;

-- connections
SELECT srvname, usename = current_user AS me, remote_pid > 0 AS remote, state, in_use, valid, locality,
	since <= clock_timestamp() AS since, streams > 0 AS streams, wire_bytes > 0 AS wire
FROM exchange.connections;
BEGIN;
DECLARE c CURSOR FOR SELECT a.id FROM series a, generate_series(1, 100000);
FETCH 1 FROM c;
SELECT srvname, state, in_use FROM exchange.connections;
SELECT exchange.disconnect('loopback');
FETCH 1 FROM c;
ROLLBACK;
SELECT srvname, state, in_use FROM exchange.connections;
SELECT exchange.disconnect('elsewhere');
SELECT exchange.disconnect('loopback');
SELECT count(*) FROM exchange.connections;
SELECT exchange.disconnect('loopback');
SELECT exchange.disconnect_all();
SELECT exchange.disconnect('nobody');
SELECT exchange.disconnect(NULL);
EXECUTE prepared;
SELECT exchange.disconnect_all();
SELECT count(*) FROM exchange.connections;

-- privileges
CREATE ROLE regress_px_other;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO regress_px_other;
SET ROLE regress_px_other;
SELECT exchange.reset_stats();
SELECT count(*) >= 0 AS ok FROM exchange.pg_stat_exchange;
SELECT count(*) >= 0 AS ok FROM exchange.connections;
SELECT exchange.disconnect_all() IS NOT NULL AS ok;
RESET ROLE;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM series;
FETCH 1 FROM c;
SET LOCAL ROLE regress_px_other;
SELECT pid = pg_backend_pid() AS mine, datname, usename <> current_user AS other, srvname, rows, remote_query
FROM exchange.pg_stat_progress_exchange;
RESET ROLE;
GRANT pg_read_all_stats TO regress_px_other;
SET LOCAL ROLE regress_px_other;
SELECT srvname, rows > 0 AS rows, remote_query FROM exchange.pg_stat_progress_exchange;
ROLLBACK;

DROP VIEW reasons, sums, stats;
DROP FUNCTION explained;
DROP FOREIGN TABLE series, written, session_pid, elsewhere;
DROP VIEW remote.series, remote.dividing, remote.session_pid;
DROP TABLE remote.written;
DROP USER MAPPING FOR CURRENT_USER SERVER elsewhere;
DROP SERVER elsewhere;
DROP DATABASE regression_stats;
DROP OWNED BY regress_px_other;
DROP ROLE regress_px_other;
