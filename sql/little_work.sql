--
-- Queries that look like much work here, and are little for a server that has
-- an index: they are left to postgres_fdw's session.
--
-- For these servers it is much work to read many rows.
CREATE SERVER indexed FOREIGN DATA WRAPPER postgres_fdw OPTIONS (options '-c cpu_tuple_cost=0.5');
CREATE SERVER indexed_too FOREIGN DATA WRAPPER postgres_fdw OPTIONS (options '-c cpu_tuple_cost=0.5');
DO $$ BEGIN
	EXECUTE format('ALTER SERVER indexed OPTIONS (ADD host %L, ADD port %L, ADD dbname %L)',
				   split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
	EXECUTE format('ALTER SERVER indexed_too OPTIONS (ADD host %L, ADD port %L, ADD dbname %L)',
				   split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER indexed;
CREATE USER MAPPING FOR CURRENT_USER SERVER indexed_too;
CREATE TABLE remote.indexed (id int PRIMARY KEY, k int, v text, u int);
INSERT INTO remote.indexed SELECT i, i % 1000, repeat('v', 60), i % 1000 FROM generate_series(1, 20000) i;
CREATE INDEX indexed_k ON remote.indexed (k);
ANALYZE remote.indexed;
CREATE FOREIGN TABLE indexed (id int, k int, v text, u int) SERVER indexed OPTIONS (schema_name 'remote');
CREATE TABLE ranges (id int, k int, v text, u int) PARTITION BY RANGE (id);
DO $$ BEGIN
	FOR p IN 0 .. 3 LOOP
		EXECUTE format('CREATE TABLE remote.range_%s (LIKE remote.indexed INCLUDING ALL)', p);
		EXECUTE format('INSERT INTO remote.range_%s SELECT * FROM remote.indexed WHERE id BETWEEN %s AND %s', p, p * 5000 + 1, p * 5000 + 5000);
		EXECUTE format('ANALYZE remote.range_%s', p);
		EXECUTE format('CREATE FOREIGN TABLE range_%s PARTITION OF ranges FOR VALUES FROM (%s) TO (%s) SERVER %s OPTIONS (schema_name ''remote'')',
					   p, p * 5000 + 1, p * 5000 + 5001, CASE WHEN p % 2 = 0 THEN 'indexed' ELSE 'indexed_too' END);
	END LOOP;
END $$;
ANALYZE indexed;
ANALYZE ranges;

SET pg_exchange.min_bytes = '64kB';
SET seq_page_cost = 20;
SELECT * FROM transport('SELECT count(*) FROM indexed WHERE k = 77');
SELECT * FROM transport('SELECT count(*) FROM indexed WHERE u = 77');
SELECT * FROM exchange_differences('SELECT count(*), sum(id) FROM indexed WHERE k = 77');
-- some hundred rows come in frames
SELECT * FROM transport('SELECT id FROM indexed WHERE k BETWEEN 70 AND 80');
SELECT * FROM transport('SELECT id FROM indexed WHERE u BETWEEN 70 AND 80');
SELECT * FROM exchange_differences('SELECT * FROM indexed WHERE k BETWEEN 70 AND 80');
-- not if much is expected, or if sizes do not count
SELECT * FROM transport('SELECT * FROM indexed WHERE k < 900');
SET pg_exchange.min_bytes = 0;
SELECT * FROM transport('SELECT count(*) FROM indexed WHERE k = 77');
SET pg_exchange.min_bytes = '64kB';

-- what the server has said is known for a while, and taken to grow with the rows
SELECT * FROM transport('SELECT sum(id) FROM indexed WHERE k BETWEEN 70 AND 80');
SELECT * FROM transport('SELECT sum(id) FROM indexed WHERE k BETWEEN 1 AND 998');
SELECT * FROM transport('SELECT sum(id) FROM indexed WHERE k BETWEEN 70 AND 81');
DROP INDEX remote.indexed_k;
SELECT * FROM transport('SELECT count(*) FROM indexed WHERE k = 78');
SELECT * FROM transport('SELECT count(id) FROM indexed WHERE k = 78');
\c -
SET pg_exchange.min_bytes = '64kB';
SET seq_page_cost = 20;
SELECT * FROM transport('SELECT count(*) FROM indexed WHERE k = 77');
CREATE INDEX indexed_k ON remote.indexed (k);
SELECT * FROM transport('SELECT count(*) FROM indexed WHERE k = 77');

-- in a transaction in which a stream was read, and in one in which it is read later
BEGIN;
SELECT * FROM transport('SELECT sum(u) FROM indexed WHERE u = 77');
SELECT * FROM transport('SELECT sum(u) FROM indexed WHERE k = 77');
SELECT * FROM transport('SELECT sum(u) FROM indexed WHERE u = 77');
COMMIT;
BEGIN;
SELECT * FROM transport('SELECT count(u) FROM indexed WHERE k = 77');
SELECT * FROM transport('SELECT count(u) FROM indexed WHERE u = 77');
SAVEPOINT a;
SELECT * FROM transport('SELECT avg(u) FROM indexed WHERE k = 77');
SELECT * FROM transport('SELECT avg(u) FROM indexed WHERE u = 77');
COMMIT;

-- partitions
SELECT * FROM transport_counts('SELECT count(*) FROM ranges WHERE k = 77');
SELECT * FROM transport_counts('SELECT count(*) FROM ranges WHERE u = 77');
SELECT * FROM transport_counts('SELECT * FROM ranges ORDER BY k LIMIT 7');
SELECT * FROM transport_counts('SELECT * FROM ranges ORDER BY u LIMIT 7');
SELECT * FROM exchange_differences('SELECT count(*), avg(id), sum(u::numeric) FROM ranges WHERE k = 77');
-- more rows than are looked up
SELECT * FROM transport_counts('SELECT avg(id) FROM ranges WHERE k BETWEEN 70 AND 99');
SELECT * FROM exchange_differences('SELECT count(*), avg(id), sum(u::numeric) FROM ranges WHERE k BETWEEN 70 AND 99');
-- a few rows of one partition, by its index or in their order: as text, too
SELECT * FROM transport_counts('SELECT count(*), avg(id) FROM ranges WHERE id BETWEEN 6001 AND 6007');
SELECT * FROM transport_counts('SELECT * FROM ranges ORDER BY id LIMIT 7');
SELECT * FROM exchange_differences('SELECT id, k FROM (SELECT * FROM ranges ORDER BY id OFFSET 4997 LIMIT 7) x');
SELECT * FROM transport_counts('SELECT * FROM ranges ORDER BY id LIMIT 700');
-- little for each of them, but not for all of them, one after the other
SELECT * FROM transport_counts('SELECT avg(u) FROM ranges WHERE k BETWEEN 70 AND 998');
-- DISTINCT, whose local plan reads the rows
SELECT * FROM transport_counts('SELECT DISTINCT v FROM indexed WHERE k = 77');
-- the inner side of a loop that is run once, below a LIMIT
CREATE TABLE outer_rows AS SELECT 1 AS i;
ANALYZE outer_rows;
SELECT * FROM transport_counts('SELECT * FROM outer_rows, indexed WHERE u < 500 LIMIT 5');

-- one of them has no index
DROP INDEX remote.range_1_k_idx;
\c -
SET pg_exchange.min_bytes = '64kB';
SET seq_page_cost = 20;
SELECT * FROM transport_counts('SELECT count(*) FROM ranges WHERE k = 77');
SELECT * FROM transport_counts('SELECT * FROM ranges ORDER BY k LIMIT 7');
SELECT * FROM exchange_differences('SELECT count(*), avg(id) FROM ranges WHERE k = 77');

-- quotes and numbers in names are no constants
CREATE TABLE remote."a'1" (id int, "1" int, v text);
INSERT INTO remote."a'1" SELECT i, i, repeat('v', 60) FROM generate_series(1, 20000) i;
CREATE INDEX ON remote."a'1" ("1");
CREATE TABLE remote."a'2" (id int, "1" int, v text);
INSERT INTO remote."a'2" SELECT i, i, repeat('v', 60) FROM generate_series(1, 20000) i;
ANALYZE remote."a'1", remote."a'2";
CREATE FOREIGN TABLE "a'1" (id int, "1" int, v text) SERVER indexed OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE "a'2" (id int, "1" int, v text) SERVER indexed OPTIONS (schema_name 'remote');
ANALYZE "a'1";
ANALYZE "a'2";
SELECT * FROM transport($$SELECT count(*) FROM "a'1" WHERE "1" = 7 AND v <> 'it''s "1'$$);
SELECT * FROM transport($$SELECT count(*) FROM "a'2" WHERE "1" = 7 AND v <> 'it''s "1'$$);
SELECT * FROM transport($$SELECT count(*) FROM "a'1" WHERE "1" = 8 AND v <> 'it"s \'$$);
RESET seq_page_cost;
RESET pg_exchange.min_bytes;
