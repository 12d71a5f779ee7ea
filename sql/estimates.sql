--
-- pg_exchange.remote_statistics: estimates for foreign tables that were not
-- analyzed, from what their server knows.
--
CREATE TABLE remote.known (id int PRIMARY KEY, k int, word text, day date, amount numeric(15, 2), "odd "" name" text);
INSERT INTO remote.known
	SELECT i, i % 500, 'word ' || i % 20, date '2020-01-01' + i % 100, i / 7.0, CASE WHEN i % 4 = 0 THEN E'two\nlines \\ "' END
	FROM generate_series(1, 20000) i;
CREATE TABLE remote.unknown AS SELECT i AS id, 'x' AS t FROM generate_series(1, 10000) i;
CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE TABLE remote.colours AS SELECT i AS id, (ARRAY['red', 'red', 'red', 'green'])[i % 4 + 1]::colour AS c FROM generate_series(1, 8000) i;
CREATE VIEW remote.viewed AS SELECT * FROM remote.known;
ANALYZE remote.known, remote.colours;

CREATE FOREIGN TABLE known (id int, k int, label text OPTIONS (column_name 'word'), day date, amount numeric(15, 2), "odd "" name" text)
	SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE unknown (id int, t text) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE colours (id int, c colour) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE viewed (id int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE missing (id int) SERVER loopback OPTIONS (schema_name 'remote');

CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan->0->'Plan'->>'Plan Rows';
END
$$;

-- a session's first use of a server, while caches are discarded: with assertions always, else if others alter servers
\c
SELECT count(*) FROM (SELECT set_config(name, least(max_val::int, 1)::text, false) FROM pg_settings WHERE name = 'debug_discard_caches') x;
SELECT count(*) FROM unknown;
RESET debug_discard_caches;

-- plain EXPLAIN does not connect, whichever way it comes
\c
SELECT estimate('SELECT * FROM known') < 2000 AS assumed;
PREPARE all_known AS SELECT * FROM known;
EXPLAIN (COSTS OFF) EXECUTE all_known;
SELECT count(*) FROM exchange.connections;
DEALLOCATE all_known;

-- a query asks, and EXPLAIN then knows
SELECT count(*) FROM known;
SELECT count(*) FROM exchange.connections;
SELECT estimate('SELECT * FROM known');
SELECT estimate('SELECT * FROM known WHERE k = 7');
SELECT estimate('SELECT * FROM known WHERE label = ''word 3''');
SELECT round(estimate('SELECT * FROM known WHERE day < ''2020-01-11''')::numeric, -2);
SELECT round(estimate('SELECT * FROM known WHERE amount < 1000')::numeric, -2);
SELECT estimate('SELECT * FROM known WHERE "odd "" name" IS NULL');
SELECT estimate('SELECT k FROM known GROUP BY k');
-- nothing is known of these yet
SELECT estimate('SELECT * FROM colours') < 3000 AS assumed;

-- all tables of a query are asked about; one that was never analyzed at its
-- server has a size; one that does not exist is no error here
SELECT count(*) FROM unknown, colours, viewed WHERE false;
SELECT count(*) FROM (SELECT id FROM unknown UNION ALL SELECT id FROM colours UNION ALL SELECT id FROM viewed) t;
SELECT estimate('SELECT * FROM colours'), estimate('SELECT * FROM colours WHERE c = ''green''');
SELECT estimate('SELECT * FROM unknown') BETWEEN 5000 AND 20000 AS from_size;
SELECT count(*) FROM missing;

-- ANALYZE here has precedence; a change of the table makes it ask again
INSERT INTO remote.known SELECT i FROM generate_series(20001, 30000) i;
ANALYZE remote.known;
SELECT estimate('SELECT * FROM known');
ALTER FOREIGN TABLE known OPTIONS (ADD fetch_size '200');
SELECT estimate('SELECT * FROM known') < 2000 AS forgotten;
SELECT count(*) FROM known;
SELECT estimate('SELECT * FROM known');
DELETE FROM remote.known WHERE id > 20000;
VACUUM ANALYZE remote.known;
ANALYZE known;
SELECT estimate('SELECT * FROM known');

-- partitions: the statistics of the table are derived from theirs
CREATE TABLE remote.part1 AS SELECT id, k, word FROM remote.known WHERE id <= 15000;
CREATE TABLE remote.part2 AS SELECT id, k, word FROM remote.known WHERE id > 15000;
ANALYZE remote.part1, remote.part2;
CREATE TABLE part (id int, k int, word text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE part1 PARTITION OF part FOR VALUES FROM (1) TO (15001) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE part2 PARTITION OF part FOR VALUES FROM (15001) TO (20001) SERVER loopback OPTIONS (schema_name 'remote');
SELECT count(*) FROM part;
SELECT estimate('SELECT * FROM part'), estimate('SELECT * FROM part WHERE k = 7');
SELECT estimate('SELECT id FROM part GROUP BY id'), estimate('SELECT k FROM part GROUP BY k'),
	estimate('SELECT word FROM part GROUP BY word');
SELECT estimate('SELECT k FROM (SELECT k FROM part1 UNION ALL SELECT k FROM part2) t GROUP BY k');
-- joins: one row of the other table for each
SELECT round(estimate('SELECT * FROM part JOIN known USING (id)')::numeric, -2);

-- values that a user may not see do not reach functions that could tell them,
-- while a query is planned that is going to be refused
CREATE ROLE regress_stats_reader;
CREATE FUNCTION tell(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'told'; RETURN true; END $$;
CREATE OPERATOR ?= (FUNCTION = tell, LEFTARG = int, RIGHTARG = int, RESTRICT = eqsel);
DO $$ BEGIN
	EXECUTE format('CREATE USER MAPPING FOR regress_stats_reader SERVER loopback OPTIONS (user %L, password_required ''false'')', current_user);
END $$;
SET ROLE regress_stats_reader;
SELECT k FROM part1 WHERE k ?= 1 LIMIT 1;
RESET ROLE;
SELECT streams FROM exchange.connections WHERE usename = 'regress_stats_reader';

-- what a server tells is checked: numbers that can't be, an unsorted histogram
-- (for us), values that are none here
CREATE TABLE remote.liar AS SELECT i AS a, i AS b, i AS c, 'v' || i AS d FROM generate_series(1, 1000) i;
ANALYZE remote.liar;
UPDATE pg_statistic SET stanullfrac = 'NaN' WHERE starelid = 'remote.liar'::regclass AND staattnum = 1;
UPDATE pg_statistic SET stadistinct = -5 WHERE starelid = 'remote.liar'::regclass AND staattnum = 2;
CREATE FOREIGN TABLE liar (a int, b int, c text, d int) SERVER loopback OPTIONS (schema_name 'remote');
SET pg_exchange.transport = stream;
SELECT count(*) FROM liar;
SELECT estimate('SELECT * FROM liar'), estimate('SELECT * FROM liar WHERE a = 5'), estimate('SELECT * FROM liar WHERE b = 5'),
	estimate('SELECT * FROM liar WHERE c = ''5'''), estimate('SELECT * FROM liar WHERE c < ''2'''), estimate('SELECT * FROM liar WHERE d = 5');
RESET pg_exchange.transport;
DROP FOREIGN TABLE liar;
DROP TABLE remote.liar;
-- a label that this transaction has added can't be used yet
CREATE TYPE shade AS ENUM ('green', 'blue');
CREATE FOREIGN TABLE shades (id int, c shade) SERVER loopback OPTIONS (schema_name 'remote', table_name 'colours');
BEGIN;
ALTER TYPE shade ADD VALUE 'red';
SELECT count(*) FROM shades WHERE id > 4000;
ROLLBACK;
DROP FOREIGN TABLE shades;
DROP TYPE shade;

-- switched off; by the session there is no connection to ask on
SET pg_exchange.remote_statistics = off;
SELECT estimate('SELECT * FROM part') < 5000 AS assumed;
RESET pg_exchange.remote_statistics;
SELECT count(*) FROM part;
SELECT estimate('SELECT * FROM part');
SET pg_exchange.transport = session;
SELECT estimate('SELECT * FROM part') < 5000 AS assumed;
\c
SET pg_exchange.transport = session;
SELECT count(*) FROM part;
SELECT count(*) FROM exchange.connections;
RESET pg_exchange.transport;

-- use_remote_estimate: postgres_fdw asks
ALTER FOREIGN TABLE colours OPTIONS (ADD use_remote_estimate 'true');
SELECT count(*) FROM colours;
\c
SELECT estimate('SELECT * FROM colours');
SELECT count(*) FROM exchange.connections;

-- what was told about tables that are gone is forgotten
DO $$
DECLARE
	n int;
BEGIN
	FOR i IN 1 .. 200 LOOP
		CREATE FOREIGN TABLE gone (id int, k int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'known');
		EXECUTE 'SELECT count(*) FROM (SELECT * FROM gone OFFSET 0) g' INTO n;
		DROP FOREIGN TABLE gone;
		COMMIT;
	END LOOP;
END
$$;
SELECT count(*) < 100 AS few FROM pg_backend_memory_contexts WHERE name = 'pg_exchange table statistics';

DROP USER MAPPING FOR regress_stats_reader SERVER loopback;
DROP ROLE regress_stats_reader;
DROP OPERATOR ?= (int, int);
DROP FUNCTION tell, estimate;
DROP TABLE part;
DROP FOREIGN TABLE known, unknown, colours, viewed, missing;
DROP VIEW remote.viewed;
DROP TABLE remote.known, remote.unknown, remote.colours, remote.part1, remote.part2;
DROP TYPE colour;
