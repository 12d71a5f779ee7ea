--
-- exchange.send below a Gather: frames get from workers to the leader.
--
CREATE TABLE remote.many AS SELECT i AS id, sha256(i::text::bytea) || sha256((-i)::text::bytea) AS bytes FROM generate_series(1, 5000) i;
CREATE TABLE remote.single AS SELECT 0 AS id, ''::bytea AS bytes;
ANALYZE remote.many, remote.single;
ALTER TABLE remote.many SET (parallel_workers = 0);
ALTER TABLE remote.single SET (parallel_workers = 0);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 1;
-- These are not immutable, but a sender would not run them otherwise.
CREATE FUNCTION is_worker() RETURNS bool LANGUAGE sql PARALLEL SAFE AS
	'SELECT leader_pid IS NOT NULL FROM pg_stat_activity WHERE pid = pg_backend_pid()';
-- In the leader: wait until there is a worker, and then until there is none.
CREATE FUNCTION after_worker(id int) RETURNS bytea LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 40000 AS $$
DECLARE
	deadline timestamptz := clock_timestamp() + interval '1 minute';
	workers int := 0;
BEGIN
	WHILE workers = 0 AND clock_timestamp() < deadline LOOP
		PERFORM pg_stat_clear_snapshot();
		SELECT count(*) INTO workers FROM pg_stat_activity WHERE leader_pid = pg_backend_pid();
	END LOOP;
	WHILE workers > 0 AND clock_timestamp() < deadline LOOP
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
		SELECT count(*) INTO workers FROM pg_stat_activity WHERE leader_pid = pg_backend_pid();
	END LOOP;
	RAISE NOTICE 'the worker ended while the leader was at its first row: %', clock_timestamp() < deadline;
	RETURN '';
END
$$;
-- In a worker: wait until the leader waits for that.
CREATE FUNCTION after_leader(event text, id int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10 AS $$
BEGIN
	WHILE is_worker() AND NOT EXISTS (SELECT FROM pg_stat_activity a, pg_stat_activity w
			WHERE w.pid = pg_backend_pid() AND a.pid = w.leader_pid AND a.wait_event = event) LOOP
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
	END LOOP;
	RETURN true;
END
$$;

-- A worker makes frame after frame, however long the leader takes for its own first one. No table is read by both: in a
-- Parallel Append, a worker begins with the most expensive one, and the leader with the cheapest.
\set request 'version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1,17:-1'
SELECT format($$SELECT exchange.send(%L, t) FROM (
	SELECT id, bytes FROM remote.many WHERE id <> 1 OR after_leader('PgSleep', id) UNION ALL SELECT id, after_worker(id) FROM remote.single) t$$, :'request') AS query \gset
SELECT l FROM explain_stable(:'query', 'ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF') l WHERE l ~ 'Frames|Workers Launched';
-- kind, sender, sequence, rows (doc/wire.md)
CREATE FUNCTION sent(query text) RETURNS TABLE (sender int, kinds text, in_order bool, rows_sent bigint, nbytes bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$SELECT get_byte(f, 8), string_agg(get_byte(f, 6)::text, '' ORDER BY ordinality),
			bool_and(get_byte(f, 12) = n), sum(CASE WHEN get_byte(f, 6) = 2 THEN get_byte(f, 16) + 256 * get_byte(f, 17) END), sum(octet_length(f))
		FROM (SELECT *, row_number() OVER (PARTITION BY get_byte(f, 8) ORDER BY ordinality) - 1 AS n
			FROM frames(%L) WITH ORDINALITY AS frames(f, ordinality)) f GROUP BY 1 ORDER BY 1$q$, query);
END
$$;
CREATE FUNCTION frames(query text) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE query;
END
$$;
SELECT sender, kinds, in_order, rows_sent FROM sent(:'query');

-- frames of hundreds of kilobytes through queues of 64 kB
\set small 'version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1000 server_version=150000 columns=23:-1,17:-1'
SELECT format($$SELECT exchange.send(%L, t) FROM (
	SELECT id, decode(repeat(md5(id::text), 10000), 'hex') FROM remote.many WHERE id <= 50) t$$, :'small') AS wide \gset
ALTER TABLE remote.many SET (parallel_workers = 2);
SET max_parallel_workers_per_gather = 2;
SELECT bool_and(in_order) AS in_order, sum(rows_sent) AS rows, sum(nbytes) > 50 * 160000 AS whole FROM sent(:'wide');
-- without the leader, Gather's own queues do
SET parallel_leader_participation = off;
SELECT bool_and(in_order AND sender > 0) AS in_order, sum(rows_sent) AS rows, sum(nbytes) > 50 * 160000 AS whole FROM sent(:'wide');
SELECT l FROM explain_stable(:'wide', 'ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF') l WHERE l ~ 'Frames|Workers Launched';
RESET parallel_leader_participation;
-- nor where it does not run the plan if it has a worker
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT sender, kinds, in_order, rows_sent FROM sent(format('SELECT exchange.send(%L, t) FROM (SELECT id, bytes FROM remote.single) t', :'request'));
SELECT count(set_config(name, 'off', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
-- without workers
SET max_parallel_workers = 0;
SELECT sender, in_order, rows_sent, nbytes > 50 * 160000 AS whole FROM sent(:'wide');
SELECT l FROM explain_stable(:'wide', 'ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF') l WHERE l ~ 'Frames|Workers Launched';
RESET max_parallel_workers;
ALTER TABLE remote.many SET (parallel_workers = 0);
SET max_parallel_workers_per_gather = 1;

-- an error of a worker that the leader waits for; one of a leader that has taken nothing of what a worker put
CREATE FUNCTION with_worker(id int) RETURNS bytea LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 40000 AS $$
BEGIN
	WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE leader_pid = pg_backend_pid() AND wait_event = 'PgSleep') LOOP
		PERFORM pg_stat_clear_snapshot();
	END LOOP;
	RETURN '';
END
$$;
CREATE FUNCTION fails(id int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10 AS $$
BEGIN
	RAISE 'of a %', CASE WHEN is_worker() THEN 'worker' ELSE 'leader' END;
END
$$;
\set VERBOSITY terse
SELECT count(*) FROM frames(format($$SELECT exchange.send(%L, t) FROM (
	SELECT id, bytes FROM remote.many WHERE id <> 1 OR after_leader('ExecuteGather', id) AND fails(id)
	UNION ALL SELECT id, with_worker(id) FROM remote.single) t$$, :'request'));
SELECT count(*) FROM frames(replace(:'query', 'remote.single', 'remote.single WHERE after_worker(id) IS NOT NULL AND fails(id)'));
-- a leader that waits for a frame can be cancelled
CREATE FUNCTION sleeps(id int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10 AS $$
BEGIN
	PERFORM pg_sleep(60);
	RETURN true;
END
$$;
SET statement_timeout = '500ms';
SELECT count(*) FROM frames(format($$SELECT exchange.send(%L, t) FROM (
	SELECT id, bytes FROM remote.many WHERE id <> 1 OR sleeps(id)
	UNION ALL SELECT id, with_worker(id) FROM remote.single) t$$, :'request'));
RESET statement_timeout;
\c
DROP TABLE remote.many, remote.single;
DROP FUNCTION sent(text), frames(text), after_worker, after_leader, is_worker, with_worker, fails, sleeps;
