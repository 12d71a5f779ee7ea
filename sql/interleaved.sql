--
-- Queries between whose rows others write: cursors, loops, triggers.  Each row
-- sees what it sees with postgres_fdw.
--
CREATE TABLE remote.lots AS SELECT g AS id, g % 100 AS v FROM generate_series(1, 30000) g;
ALTER TABLE remote.lots ADD PRIMARY KEY (id);
ANALYZE remote.lots;
CREATE FOREIGN TABLE lots (id int, v int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE TABLE picked AS SELECT g AS id FROM generate_series(1, 400) g;
CREATE TABLE many AS SELECT 1 + g % 400 AS id, repeat('.', 100) AS filler FROM generate_series(1, 5000) g;
ANALYZE lots, picked, many;

-- What a query returns, a row at a time, while lots is updated: how many rows,
-- and the sum of the values.
CREATE FUNCTION loop_over(query text, enabled bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	x record;
	n int := 0;
	total bigint := 0;
BEGIN
	PERFORM set_config('pg_exchange.enabled', enabled::text, true);
	BEGIN
		FOR x IN EXECUTE query LOOP
			n := n + 1;
			total := total + coalesce(x.v, 0);
			IF n % 50 = 1 THEN
				UPDATE lots SET v = 1000 WHERE lots.id <= 400;
			END IF;
		END LOOP;
		RAISE division_by_zero;		-- undo
	EXCEPTION WHEN division_by_zero THEN
	END;
	RETURN n || ' ' || total;
END
$$;
CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN DECLARE c CURSOR FOR ' || query LOOP
		found := found || coalesce(substring(line, 'ExchangeLookup|SubPlan') || ' ', '');
	END LOOP;
	RETURN found;
END
$$;

-- lookups of one batch and of several
SET work_mem = '64kB';
SELECT n, plan_of(q), loop_over(q, false) = loop_over(q, true) AS same FROM unnest(ARRAY[
	'SELECT p.id::bigint AS v FROM picked p WHERE EXISTS (SELECT FROM lots l WHERE l.id = p.id AND l.v < 500)',
	'SELECT l.v::bigint FROM picked p LEFT JOIN lots l ON l.id = p.id',
	'SELECT l.v::bigint FROM picked p JOIN lots l ON l.id = p.id WHERE l.v < 500',
	'SELECT l.v::bigint FROM picked p JOIN lots l ON l.id = p.id LIMIT 150'
]) WITH ORDINALITY AS q(q, n);
SELECT loop_over('SELECT l.v::bigint, m.filler FROM many m LEFT JOIN lots l ON l.id = m.id', false) AS postgres_fdw \gset
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT substring(line, 'Batches: (\d+)  Keys')::int > 1 AS several
FROM explain_stable('SELECT l.v::bigint, m.filler FROM many m LEFT JOIN lots l ON l.id = m.id', 'ANALYZE, COSTS OFF, TIMING OFF') line
WHERE line ~ 'Keys:';
SELECT plan_of(q), loop_over(q, true) = :'postgres_fdw' AS same
FROM (VALUES ('SELECT l.v::bigint, m.filler FROM many m LEFT JOIN lots l ON l.id = m.id')) q(q);
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;
BEGIN;
DECLARE c CURSOR FOR SELECT p.id, l.v FROM picked p LEFT JOIN lots l ON l.id = p.id ORDER BY p.id OFFSET 0;
DECLARE d CURSOR FOR SELECT p.id FROM picked p WHERE EXISTS (SELECT FROM lots l WHERE l.id = p.id AND l.v < 500);
FETCH 1 FROM c;
MOVE 5 FROM d;
UPDATE lots SET v = 1000 WHERE id <= 400;
MOVE 300 FROM c;
FETCH 1 FROM c;
MOVE 350 FROM d;
FETCH 1 FROM d;
ROLLBACK;
RESET work_mem;

-- a caller that wants one row does not make a lookup read all
CREATE FUNCTION asks_once() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	x bool;
BEGIN
	SELECT l.v >= 0 INTO x FROM picked p JOIN lots l ON l.id = p.id LIMIT 1;
	RETURN x;
END
$$;
SELECT asks_once();

-- correlated subqueries
SELECT n, plan_of(q), loop_over(q, false) = loop_over(q, true) AS same FROM unnest(ARRAY[
	'SELECT (SELECT sum(l.v) FROM lots l WHERE l.id = p.id) AS v FROM picked p',
	'SELECT p.id::bigint AS v FROM picked p WHERE p.id > (SELECT sum(l.v) FROM lots l WHERE l.id = p.id)'
]) WITH ORDINALITY AS q(q, n);
CREATE TABLE results (id int, v bigint);
CREATE FUNCTION update_lots() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE lots SET v = 1000 WHERE id = 400 - new.id;
	RETURN new;
END
$$;
CREATE TRIGGER update_lots BEFORE INSERT ON results FOR EACH ROW EXECUTE FUNCTION update_lots();
BEGIN;
INSERT INTO results SELECT p.id, (SELECT sum(l.v) FROM lots l WHERE l.id = p.id) FROM picked p;
SELECT count(*), count(*) FILTER (WHERE v = 1000) AS written FROM results;
ROLLBACK;
BEGIN;
SET LOCAL work_mem = '64kB';
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_nestloop = off;
SELECT plan_of('SELECT m.id, l.v, m.filler FROM many m LEFT JOIN lots l ON l.id = m.id');
INSERT INTO results SELECT m.id, l.v FROM many m LEFT JOIN lots l ON l.id = m.id AND m.filler <> '';
SELECT count(*), count(*) FILTER (WHERE v = 1000) AS written FROM results;
ROLLBACK;

-- functions in the query, rescans, functions that are read lazily, constraints
CREATE TABLE thousands AS SELECT g AS id FROM generate_series(1, 6000) g;
ANALYZE thousands;
CREATE FUNCTION writes(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF i % 8 = 0 THEN
		UPDATE lots SET v = 1000 WHERE id <= 400 AND v < 1000;
	END IF;
	RETURN i;
END
$$;
CREATE FUNCTION lazily() RETURNS SETOF bigint LANGUAGE sql VOLATILE
	AS 'SELECT l.v::bigint FROM generate_series(1, 400) p(id) JOIN lots l ON l.id = p.id';
CREATE FUNCTION outcome(query text, enabled bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('pg_exchange.enabled', enabled::text, true);
	BEGIN
		EXECUTE query INTO result;
		RAISE division_by_zero;		-- undo
	EXCEPTION WHEN division_by_zero THEN
	END;
	RETURN result;
END
$$;
SELECT n, outcome(q, false) = outcome(q, true) AS same FROM unnest(ARRAY[
	'SELECT sum(v) FROM (SELECT l.v, writes(p.id) FROM thousands p JOIN lots l ON l.id = p.id LIMIT 150) z',
	'SELECT sum(v) FROM (SELECT l.v FROM (SELECT writes(id) AS id FROM picked OFFSET 0) p JOIN lots l ON l.id = p.id) z'
]) WITH ORDINALITY AS q(q, n);
SELECT n, loop_over(q, false) = loop_over(q, true) AS same FROM unnest(ARRAY[
	'SELECT (SELECT max(l.v) FROM picked b LEFT JOIN lots l ON l.id = b.id + p.id)::bigint AS v FROM picked p WHERE p.id < 60',
	'SELECT lazily() AS v'
]) WITH ORDINALITY AS q(q, n);
CREATE TABLE checked (id int CHECK (writes(id) > 0), v bigint);
BEGIN;
INSERT INTO checked SELECT p.id, (SELECT sum(l.v) FROM lots l WHERE l.id = p.id) FROM picked p WHERE id < 60;
SELECT count(*), count(*) FILTER (WHERE v = 1000) AS written FROM checked;
ROLLBACK;
DROP TABLE thousands, checked;
DROP FUNCTION writes, lazily, outcome;

-- An InitPlan is executed with the settings of the session
CREATE FOREIGN TABLE lots_too (id int, v int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'lots');
CREATE TABLE border (x int);
INSERT INTO border VALUES (50);
CREATE FUNCTION border() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT x FROM border); END';
SET intervalstyle = 'iso_8601';
SELECT sum(CASE WHEN v > (SELECT border()) THEN 1 ELSE 0 END) FROM (SELECT * FROM lots UNION ALL SELECT * FROM lots_too) u;
SELECT sum(CASE WHEN v > (SELECT length(min(interval '1 day 2 hours')::text) FROM picked) THEN 1 ELSE 0 END)
	FROM (SELECT * FROM lots UNION ALL SELECT * FROM lots_too) u;
SELECT * FROM exchange_differences('SELECT v % 3 AS k, max(CASE WHEN v > (SELECT length(min(interval ''1 day 2 hours'')::text) FROM picked) THEN 1 ELSE 0 END) AS m
	FROM (SELECT * FROM lots UNION ALL SELECT * FROM lots_too) u GROUP BY 1');
CREATE TABLE parts (id int, v int) PARTITION BY HASH (id);
CREATE FOREIGN TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER loopback OPTIONS (schema_name 'remote', table_name 'even');
CREATE FOREIGN TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER loopback OPTIONS (schema_name 'remote', table_name 'odd');
CREATE TABLE hashed (id int) PARTITION BY HASH (id);
CREATE TABLE remote.even AS SELECT * FROM remote.lots WHERE satisfies_hash_partition('hashed'::regclass, 2, 0, id);
CREATE TABLE remote.odd AS SELECT * FROM remote.lots WHERE satisfies_hash_partition('hashed'::regclass, 2, 1, id);
ANALYZE parts;
SELECT q, d.* FROM unnest(ARRAY[
	'SELECT id, sum(CASE WHEN v > (SELECT border()) THEN 1 ELSE 0 END) FROM parts WHERE id < 400 GROUP BY id',
	'SELECT id, count(*) FROM parts WHERE id < 400 GROUP BY id HAVING max(v) > (SELECT border())',
	'SELECT v, count(*) FROM parts GROUP BY v HAVING max(v) > (SELECT border())',
	'SELECT DISTINCT v > (SELECT border()) FROM lots',
	'SELECT DISTINCT v > (SELECT border()) FROM parts',
	'SELECT count(*) FROM parts a JOIN parts b ON a.id = b.id AND a.v + b.v > (SELECT border())',
	'SELECT count(*) FROM parts a JOIN parts b ON a.id = b.id AND a.v = b.v + (SELECT border()) - 50'
]) q, LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;
-- in HAVING it is, too, and the servers group
INSERT INTO remote.even SELECT e.* FROM remote.even e, generate_series(1, 9);
INSERT INTO remote.odd SELECT o.* FROM remote.odd o, generate_series(1, 9);
ANALYZE parts;
SELECT line FROM explain_stable('SELECT id, count(*) FROM parts GROUP BY id HAVING max(v) > (SELECT border()) AND count(*) > 9', 'VERBOSE, COSTS OFF') line WHERE line ~ 'Remote SQL|Group';
SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences('SELECT id, count(*) FROM parts GROUP BY id HAVING max(v) > (SELECT border()) AND count(*) > 9');
-- the conditions of HAVING in the order of the planner, and none of them over there without the others
SELECT id, count(*) FROM parts GROUP BY id HAVING 1 / (count(*) - 10) > 0 AND count(*) > (SELECT 100000);
SELECT id, count(*) FROM parts GROUP BY id HAVING coalesce(sum(v), 0) > 100000000 AND 1 / (count(*) - 10) + 0 > 0;
SELECT count(*) FROM (SELECT id FROM parts GROUP BY id HAVING coalesce(count(*) > 5, true) AND min(v) > 40) s;
SELECT count(*) FROM (SELECT id FROM parts GROUP BY id HAVING coalesce(count(*) > 5) AND min(v) > 40) s;
SELECT v, count(DISTINCT id) FROM parts GROUP BY v HAVING 1 / (min(id) - min(id)) > 0 AND count(*) > 1000000;
DROP TABLE parts, hashed, remote.even, remote.odd;
RESET intervalstyle;

DROP TABLE picked, many, results, border;
DROP FUNCTION loop_over, plan_of, asks_once, update_lots, border;
DROP FOREIGN TABLE lots, lots_too;
DROP TABLE remote.lots;
