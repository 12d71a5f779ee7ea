--
-- exchange.compare: a query by each mode and by postgres_fdw.
--
CREATE TABLE remote.compared AS
	SELECT i AS id, 'value ' || i % 10 AS name FROM generate_series(1, 20000) i;
CREATE FOREIGN TABLE compared (id int, name text) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FUNCTION write_one() RETURNS int LANGUAGE sql VOLATILE
	AS 'INSERT INTO remote.compared VALUES (0); SELECT 1';

-- times vary, and so do the bytes of auto
SET client_min_messages = warning;
CREATE VIEW comparison AS
	SELECT way, rows, raw_bytes > 100000 AS raw, wire_bytes > 0 AS wire, elapsed > 0 AS elapsed,
		speedup > 0 AS speedup, complete
	FROM exchange.compare('SELECT * FROM compared', 300);
SELECT * FROM comparison;
SELECT way, rows, complete FROM exchange.compare('compared', 300);
SELECT way, rows, complete FROM exchange.compare('public.compared'::regclass, 300);
CREATE VIEW "two words" AS SELECT 1 AS one;
SELECT count(*) FROM exchange.compare('"two words"', 300);
DROP VIEW "two words";
SELECT way, rows FROM exchange.compare('WITH c AS (SELECT id FROM compared) SELECT sum(id) FROM c', 300);
-- nothing is compressed by none
SELECT max(wire_bytes) FILTER (WHERE way = 'none') > 2 * max(wire_bytes) FILTER (WHERE way = 'high_compression') AS smaller
	FROM exchange.compare('compared', 300);
-- not more digits than a measurement has
SELECT bool_and(length(split_part(elapsed::text, '.', 2)) <= 4 AND length(split_part(speedup::text, '.', 2)) <= 2) AS short
	FROM exchange.compare('compared', 300);
-- a query that is left to postgres_fdw by all ways
SELECT way, rows, wire_bytes FROM exchange.compare('VALUES (1), (2)', 300);

-- stopped when the time is up: between two rows
SELECT way, coalesce(rows, 0) < 20000 AS fewer, complete FROM exchange.compare('SELECT id, pg_sleep(0.01) FROM compared', 1);
-- when the time of all is up, nothing more begins
SELECT way, rows, elapsed, speedup, complete FROM exchange.compare('SELECT pg_sleep(0.2)', 0.1);

-- settings are as before, also after an error
SET pg_exchange.compression = fast;
BEGIN;
SELECT count(*) FROM exchange.compare('compared', 300);
SELECT name, setting FROM pg_settings
	WHERE name IN ('pg_exchange.enabled', 'pg_exchange.compression', 'pg_exchange.server_compression', 'transaction_read_only') ORDER BY 1;
SAVEPOINT s;
SELECT count(*) FROM exchange.compare('SELECT 1 / (id - id) FROM compared', 300);
ROLLBACK TO s;
SELECT name, setting FROM pg_settings
	WHERE name IN ('pg_exchange.enabled', 'pg_exchange.compression', 'transaction_read_only') ORDER BY 1;
-- the transaction may write
INSERT INTO remote.compared VALUES (-1);
DELETE FROM remote.compared WHERE id = -1;
COMMIT;
RESET pg_exchange.compression;

-- one query that only reads
SELECT exchange.compare('DELETE FROM compared', 1);
SELECT exchange.compare('SELECT 1; SELECT 2', 1);
SELECT exchange.compare('SELECT id INTO other FROM compared', 1);
SELECT exchange.compare('SELECT id FROM compared FOR UPDATE', 1);
SELECT exchange.compare('SELECT id FROM (SELECT id FROM compared FOR UPDATE) c', 1);
SELECT exchange.compare('WITH d AS (DELETE FROM compared RETURNING id) SELECT id FROM d', 1);
\set VERBOSITY terse
SELECT exchange.compare('SELECT write_one()', 1);
\set VERBOSITY default
SELECT exchange.compare('SELECT $1::int', 1);
SELECT exchange.compare('', 1);
SELECT exchange.compare('no_such_table', 1);
SELECT exchange.compare('compared', 0);
SELECT exchange.compare('compared', 'NaN');
SELECT count(*) FROM remote.compared;

-- the caller's rights
CREATE ROLE regress_px_compares;
SET ROLE regress_px_compares;
SELECT exchange.compare('public.compared', 1);
RESET ROLE;
DROP ROLE regress_px_compares;

-- it can be cancelled
SET statement_timeout = '300ms';
SELECT exchange.compare('SELECT pg_sleep(60) FROM compared', 300);
RESET statement_timeout;
SELECT count(*) FROM exchange.connections WHERE state <> 'idle';
RESET client_min_messages;

DROP VIEW comparison;
DROP FUNCTION write_one;
DROP FOREIGN TABLE compared;
DROP TABLE remote.compared;
