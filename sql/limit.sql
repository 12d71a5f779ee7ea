--
-- Scans that are left before their end.
--
-- left early: the connection serves the next scan
SELECT id FROM numbers LIMIT 1;
SELECT EXISTS (SELECT 1 FROM numbers WHERE random() < 2);
SELECT count(*) FROM numbers;

-- an error behind the rows that are wanted, no further than a FETCH of
-- postgres_fdw goes: it is not met
CREATE VIEW remote.late AS SELECT i AS id, 1 / (250 - i) AS x FROM generate_series(1, 5000) i;
CREATE FOREIGN TABLE late (id int, x int)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'late', fetch_size '100');
CREATE FUNCTION keep(id int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN id > 0; END';
CREATE FUNCTION read_late(transport text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int;
	r record;
	c CURSOR FOR SELECT * FROM late WHERE keep(id);
BEGIN
	PERFORM set_config('pg_exchange.transport', transport, true);
	SELECT count(*) INTO n FROM (SELECT * FROM late WHERE keep(id) LIMIT 150) q;
	FOR r IN SELECT * FROM late WHERE keep(id) LOOP
		n := n + 1;
		EXIT WHEN n = 310;
	END LOOP;
	OPEN c;
	MOVE 170 IN c;
	CLOSE c;
	RETURN transport || ': ' || n;
END
$$;
SELECT read_late(transport) FROM unnest(ARRAY['auto', 'stream', 'session']) transport;
-- by no stream, which would begin the whole scan there
SELECT transport('SELECT EXISTS (SELECT FROM late WHERE x < 1000)');
SELECT count(*) FROM late;
DROP FUNCTION read_late, keep;
DROP FOREIGN TABLE late;
DROP VIEW remote.late;

-- An EXISTS, like a small LIMIT, takes no lock at servers that it does not get
-- to: the second one may be waited for, the first one has a row.
CREATE TABLE remote.ex1 AS SELECT i AS id, repeat('x', 100) AS filler FROM generate_series(1, 3000) i;
CREATE TABLE remote.ex2 AS TABLE remote.ex1;
CREATE TABLE ex (id int, filler text, nr int) PARTITION BY LIST (nr);
DO $$
BEGIN
	EXECUTE format('CREATE SERVER loopback_ex FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
		current_database(), split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback_ex;
CREATE VIEW remote.ex1_nr AS SELECT id, filler, 1 AS nr FROM remote.ex1;
CREATE VIEW remote.ex2_nr AS SELECT id, filler, 2 AS nr FROM remote.ex2;
CREATE FOREIGN TABLE ex1 PARTITION OF ex FOR VALUES IN (1) SERVER loopback OPTIONS (schema_name 'remote', table_name 'ex1_nr');
CREATE FOREIGN TABLE ex2 PARTITION OF ex FOR VALUES IN (2) SERVER loopback_ex OPTIONS (schema_name 'remote', table_name 'ex2_nr');
ANALYZE ex, ex1, ex2;
-- (a stream of a query before may still be about to end)
CREATE VIEW ex_locks AS SELECT DISTINCT relation::regclass FROM pg_locks
	WHERE relation IN ('remote.ex1'::regclass, 'remote.ex2'::regclass) AND mode = 'AccessShareLock' ORDER BY 1;
BEGIN;
SELECT EXISTS (SELECT FROM ex WHERE id > 5);
SELECT * FROM ex_locks;
COMMIT;
BEGIN;
SELECT EXISTS (SELECT FROM ex WHERE id > 5000);
SELECT * FROM ex_locks;
COMMIT;

-- Nor does a LIMIT that wants more rows begin a stream, or take a lock, at a
-- server before it is expected to need that one's rows.
BEGIN;
SELECT count(*), min(nr), max(nr) FROM (SELECT * FROM ex LIMIT 2500) q;
SELECT * FROM ex_locks;
SELECT count(*), min(nr), max(nr) FROM (SELECT id, min(nr) OVER (ROWS 2 PRECEDING) AS nr FROM ex LIMIT 2500) q;
SELECT * FROM ex_locks;
SELECT count(*), min(nr), max(nr) FROM (SELECT * FROM ex OFFSET 500 LIMIT 2500) q;
SELECT * FROM ex_locks;
SELECT count(*), min(nr), max(nr) FROM (SELECT * FROM ex OFFSET 501 LIMIT 2500) q;
SELECT * FROM ex_locks;
COMMIT;

-- the first one has fewer rows than was expected, or none
DELETE FROM remote.ex1 WHERE id > 1700;
SELECT count(*), count(*) FILTER (WHERE nr = 2) FROM (SELECT * FROM ex LIMIT 2500) q;
SELECT count(*), count(*) FILTER (WHERE nr = 2) FROM (SELECT * FROM ex LIMIT 4690) q;
SELECT count(*), count(*) FILTER (WHERE nr = 2) FROM (SELECT * FROM ex LIMIT 4710) q;
TRUNCATE remote.ex1;
SELECT count(*), count(*) FILTER (WHERE nr = 2) FROM (SELECT * FROM ex LIMIT 2500) q;

-- more rows are wanted than was expected, and in each of several scans
SET plan_cache_mode = force_generic_plan;
PREPARE limited(int) AS SELECT count(*), count(*) FILTER (WHERE nr = 2) FROM (SELECT * FROM ex LIMIT $1) q;
EXECUTE limited(2900);
EXECUTE limited(3100);
RESET plan_cache_mode;
SELECT k, count FROM generate_series(2300, 2900, 300) k,
	LATERAL (SELECT count(*) FROM (SELECT * FROM ex WHERE id > k - 2300 LIMIT 2500) q) n;
-- an aggregate of a window may need all rows
SELECT transport('SELECT id, count(*) OVER () FROM ex2 LIMIT 10');
SELECT transport('SELECT id, max(id) OVER (ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM ex2 LIMIT 10');
SELECT transport('SELECT id, max(id) OVER (ROWS 2 PRECEDING), row_number() OVER () FROM ex2 LIMIT 10');
-- a number of rows ends a scan, if nothing needs all of them
SELECT transport('SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM ex2) x WHERE n <= 10');
SELECT transport('SELECT * FROM (SELECT id, rank() OVER (ORDER BY id) AS n FROM ex2) x WHERE 10::bigint > n');
SELECT transport('SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM ex2) x WHERE n <= 1500');
SELECT transport('SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM ex2) x WHERE n >= 10');
SELECT transport('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY id % 2 ORDER BY id) AS n FROM ex2) x WHERE n <= 10');
SELECT transport('SELECT * FROM (SELECT id, row_number() OVER w AS n, ntile(4) OVER w FROM ex2 WINDOW w AS (ORDER BY id)) x WHERE n <= 10');
SELECT * FROM exchange_differences('SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM ex2) x WHERE n <= 10');
-- Rows of sorted partitions, as many as ties want, and of nested limits.
CREATE TABLE remote.so1 AS SELECT i AS id FROM generate_series(1, 3000) i;
CREATE TABLE remote.so2 AS SELECT i AS id FROM generate_series(3001, 6000) i;
CREATE VIEW remote.so1_x AS SELECT id, 1 AS x FROM remote.so1;
CREATE VIEW remote.so2_x AS SELECT id, 2 AS x FROM remote.so2;
CREATE TABLE so (id int, x int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE so1 PARTITION OF so FOR VALUES FROM (1) TO (3001) SERVER loopback OPTIONS (schema_name 'remote', table_name 'so1_x');
CREATE FOREIGN TABLE so2 PARTITION OF so FOR VALUES FROM (3001) TO (6001) SERVER loopback_ex OPTIONS (schema_name 'remote', table_name 'so2_x');
CREATE TABLE here AS SELECT i AS id, i % 100 AS k FROM generate_series(1, 5000) i;
ANALYZE so1, so2, here;
CREATE OR REPLACE VIEW remote.so2_x AS SELECT id, 1 / 0 AS x FROM remote.so2;
SELECT count(x) FROM (SELECT * FROM so ORDER BY id FETCH FIRST 5 ROWS WITH TIES) q;
SELECT count(x) FROM (SELECT * FROM so ORDER BY id FETCH FIRST 2999 ROWS WITH TIES) q;
SELECT count(x) FROM (SELECT * FROM (SELECT * FROM so LIMIT 5900) z LIMIT 2500) q;
SET enable_hashjoin = off;
SELECT count(x) FROM (SELECT * FROM so JOIN here USING (id) ORDER BY id LIMIT 50) q;
SELECT count(x) FROM (SELECT * FROM so JOIN here USING (id) ORDER BY id LIMIT 2500) q;
RESET enable_hashjoin;

-- a join that is sorted as it comes, by a loop that ends early
EXPLAIN (COSTS OFF) SELECT * FROM so a JOIN here b ON a.id < b.k ORDER BY a.id LIMIT 10;
DROP TABLE so, here;
DROP TABLE remote.so1, remote.so2 CASCADE;

-- A merge reads a part of each partition.
CREATE TABLE remote.merged1 AS SELECT i AS id, 1 AS nr FROM generate_series(1, 6000) i;
CREATE TABLE remote.merged2 AS SELECT id, 2 AS nr FROM remote.merged1;
CREATE TABLE merged (id int, nr int) PARTITION BY LIST (nr);
CREATE FOREIGN TABLE merged1 PARTITION OF merged FOR VALUES IN (1) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE merged2 PARTITION OF merged FOR VALUES IN (2) SERVER loopback_ex OPTIONS (schema_name 'remote');
ANALYZE merged, merged1, merged2;
SELECT transport('SELECT * FROM merged ORDER BY id LIMIT 1900');
SELECT transport('SELECT * FROM merged ORDER BY id LIMIT 2100');
DROP TABLE merged, remote.merged1, remote.merged2;

-- What is done here instead reads as many rows as before: so the server has the LIMIT.
CREATE TABLE remote.limited AS SELECT i AS id, i AS v FROM generate_series(1, 6000) i;
CREATE TABLE limited (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE limited_1 PARTITION OF limited FOR VALUES FROM (1) TO (10000) SERVER loopback OPTIONS (schema_name 'remote', table_name 'limited');
CREATE FOREIGN TABLE limited_2 PARTITION OF limited FOR VALUES FROM (10000) TO (20000) SERVER loopback_ex OPTIONS (schema_name 'remote', table_name 'limited');
ANALYZE limited, limited_1, limited_2;
SET pg_exchange.min_bytes = '64kB';
SELECT transport('SELECT id, count(*) FROM limited GROUP BY id LIMIT 10');
RESET pg_exchange.min_bytes;
-- A merge join ends when one of its inputs does, and is planned for that.
CREATE TABLE limits AS SELECT i AS id FROM generate_series(1, 10) i;
ANALYZE limits;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET pg_exchange.lookup_joins = off;
SET pg_exchange.runtime_filters = off;
SET pg_exchange.join_exchange = off;
SELECT transport('SELECT * FROM limited_1 a JOIN limits b ON a.id = b.id ORDER BY a.id');
SELECT transport('SELECT * FROM limited_1 a JOIN limits b ON a.id = b.id * 1000 ORDER BY a.id');
RESET pg_exchange.join_exchange;
RESET pg_exchange.runtime_filters;
RESET pg_exchange.lookup_joins;
RESET enable_nestloop;
RESET enable_hashjoin;
DROP TABLE limited, limits, remote.limited;

-- A server is not waited for whose rows are not needed in the end: the first
-- one has more groups than was expected.
DELETE FROM remote.ex2 WHERE id > 100;
INSERT INTO remote.ex1 SELECT * FROM remote.ex2;
ANALYZE ex1, ex2;
INSERT INTO remote.ex1 SELECT i, 'more' FROM generate_series(101, 3000) i;
BEGIN;
LOCK TABLE remote.ex2;
PREPARE TRANSACTION 'ex2_locked';
SET statement_timeout = '5s';
SET enable_partitionwise_aggregate = on;
SELECT count(*), max(nr) FROM (SELECT nr, id, count(*) FROM ex GROUP BY nr, id LIMIT 2500) q;
RESET enable_partitionwise_aggregate;
RESET statement_timeout;
ROLLBACK PREPARED 'ex2_locked';
DROP VIEW ex_locks;
DROP TABLE ex;
DROP SERVER loopback_ex CASCADE;
DROP TABLE remote.ex1, remote.ex2 CASCADE;
