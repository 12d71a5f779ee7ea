--
-- What runs within a query that a stream is read for, or slower than the rows
-- come: no lock is waited for that we hold, and no session is taken to be idle.
--
SET statement_timeout = '10s';
SET pg_exchange.compression = none;

CREATE TABLE remote.waits AS
	SELECT i AS id, repeat(md5(i::text), 4) AS v FROM generate_series(1, 100000) i;
ANALYZE remote.waits;
CREATE FUNCTION remote.lock_waits() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	LOCK TABLE remote.waits IN ACCESS EXCLUSIVE MODE;
	RETURN 1;
END
$$;
CREATE VIEW remote.locks_waits AS SELECT remote.lock_waits() AS x;
CREATE FOREIGN TABLE waits (id int, v text)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'waits');
CREATE FOREIGN TABLE locks_waits (x int)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'locks_waits');
ANALYZE waits, locks_waits;
CREATE FUNCTION lock_it() RETURNS int LANGUAGE plpgsql PARALLEL RESTRICTED AS $$
BEGIN
	RETURN (SELECT x FROM locks_waits);
END
$$;
CREATE FUNCTION lock_it_as_before() RETURNS int LANGUAGE plpgsql
SET pg_exchange.enabled = off AS $$
BEGIN
	RETURN (SELECT x FROM locks_waits);
END
$$;

-- a lookup, which postgres_fdw reads, within a function
SET pg_exchange.min_bytes = '64kB';
SELECT count(y) FROM (SELECT length(v), CASE WHEN id = 3 THEN lock_it() END y FROM waits OFFSET 0) q;
RESET pg_exchange.min_bytes;
SELECT count(y) FROM (SELECT length(v), CASE WHEN id = 3 THEN lock_it_as_before() END y FROM waits OFFSET 0) q;

-- a child in place of a stream that may not be
SET pg_exchange.transport = stream;
SELECT count(y) FROM (SELECT length(v), CASE WHEN id = 3 THEN (SELECT x FROM locks_waits WHERE x < id) END y
					  FROM waits OFFSET 0) q;
RESET pg_exchange.transport;

-- slices that the lock keeps all streams from: the session reads one by one
SET pg_exchange.slices = 4;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 3;
SELECT count(y) FROM (SELECT length(v), CASE WHEN id = 3 THEN lock_it() END y FROM waits OFFSET 0) q;
RESET pg_exchange.slices;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET max_parallel_workers_per_gather;

-- a large piece that is consumed slowly
DO $$
BEGIN
	EXECUTE format('CREATE SERVER impatient FOREIGN DATA WRAPPER postgres_fdw
					OPTIONS (dbname %L, host %L, port %L, options %L)',
				   current_database(),
				   split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'), '-c idle_in_transaction_session_timeout=700ms');
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER impatient;
CREATE FOREIGN TABLE impatient (id int, v text)
	SERVER impatient OPTIONS (schema_name 'remote', table_name 'waits');
CREATE FUNCTION slowly(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.003);
	RETURN i;
END
$$;
BEGIN;
DECLARE slow CURSOR FOR SELECT slowly(id) FROM impatient WHERE id <= 1000;
MOVE 900 slow;
FETCH 1 slow;
COMMIT;

-- a stream that is silent for longer
CREATE FUNCTION remote.think(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF i % 50000 = 2 THEN
		PERFORM pg_sleep(1.5);
	END IF;
	RETURN i;
END
$$;
CREATE VIEW remote.silent AS SELECT remote.think(id) AS id, v FROM remote.waits;
CREATE FOREIGN TABLE silent (id int, v text)
	SERVER impatient OPTIONS (schema_name 'remote', table_name 'silent');
SELECT sum(id) FROM silent;
SELECT sum(id) FROM (SELECT id FROM silent UNION ALL SELECT id FROM waits) q;

-- rows that come slowly, and are kept, or become frames
CREATE TABLE remote.slow (id int, n int);
CREATE FOREIGN TABLE slow (id int, n int) SERVER impatient OPTIONS (schema_name 'remote');
INSERT INTO slow SELECT i, length(pg_sleep(0.02)::text) FROM generate_series(1, 60) i;
SET pg_exchange.min_write_rows = 0;
INSERT INTO slow SELECT i, length(pg_sleep(0.02)::text) FROM generate_series(1, 60) i;
UPDATE slow SET n = n + 1 + length(pg_sleep(0.02)::text) WHERE id <= 30;
RESET pg_exchange.min_write_rows;
SELECT count(*), sum(n) FROM slow;

-- a lock that the question about a statement waits for
CREATE FOREIGN TABLE slow3 (id int, n int) SERVER impatient OPTIONS (schema_name 'remote', table_name 'slow', batch_size '3');
ALTER SERVER impatient OPTIONS (SET options '-c lock_timeout=200ms');
SET pg_exchange.min_write_rows = 0;
BEGIN;
LOCK TABLE remote.slow;
\set SHOW_CONTEXT never
INSERT INTO slow3 SELECT i, i FROM generate_series(1, 30) i;
\set SHOW_CONTEXT errors
ROLLBACK;
RESET pg_exchange.min_write_rows;

SET client_min_messages = warning;
DROP SERVER impatient CASCADE;
DROP FOREIGN TABLE waits, locks_waits;
DROP FUNCTION lock_it, lock_it_as_before, slowly;
DROP TABLE remote.waits, remote.slow CASCADE;
DROP FUNCTION remote.lock_waits, remote.think CASCADE;
RESET pg_exchange.compression;
RESET client_min_messages;
RESET statement_timeout;
