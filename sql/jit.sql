--
-- What the remote does is no reason to compile the rest of a query here.
--
CREATE TABLE remote.jit AS
	SELECT i AS id, i % 10 AS k, 'row ' || i AS v FROM generate_series(1, 20000) i;
CREATE FOREIGN TABLE jit (id int, k int, v text) SERVER loopback
	OPTIONS (schema_name 'remote', table_name 'jit');
ANALYZE jit;

-- Is the query compiled, as far as this PostgreSQL can?
CREATE FUNCTION is_compiled(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ '^JIT:' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN NOT pg_jit_available();
END
$$;

SET jit = on;
SET jit_above_cost = 500;
-- The rows come from the remote, and are counted here.
EXPLAIN (COSTS OFF) SELECT count(v) FROM jit WHERE k % 2 = 1 AND random() >= 0;
SELECT is_compiled('SELECT count(v) FROM jit WHERE k % 2 = 1 AND random() >= 0') AND pg_jit_available() AS compiled;
-- So they do each time that a join asks for them.
SELECT is_compiled('SELECT count(*) FROM (SELECT * FROM jit WHERE id < 200 LIMIT 100) a LEFT JOIN LATERAL (SELECT id FROM jit b WHERE b.k = a.k OFFSET 0) l ON true') AND pg_jit_available() AS compiled;
-- And so they do, by a Foreign Scan or not, for a subquery of each row.
SELECT is_compiled('SELECT id, (SELECT v FROM jit b WHERE b.k = a.k ORDER BY id LIMIT 1), (SELECT count(*) FROM jit c WHERE c.k = a.k) FROM jit a WHERE id < 200') AND pg_jit_available() AS compiled;
SELECT is_compiled('SELECT id, (SELECT v FROM jit b WHERE b.k = a.id ORDER BY id LIMIT 1) FROM generate_series(1, 200) a (id)') AND pg_jit_available() AS compiled;
SELECT is_compiled('SELECT id FROM generate_series(1, 200) a (id) WHERE (SELECT id FROM jit b WHERE b.k = a.id ORDER BY id LIMIT 1) > 5') AND pg_jit_available() AS compiled;
SELECT is_compiled('SELECT id FROM generate_series(1, 200) a (id) WHERE id NOT IN (SELECT k FROM jit WHERE v <> ''row 5'' ORDER BY id LIMIT 20000)') AND pg_jit_available() AS compiled;
-- A subquery that is run here counts.
CREATE TABLE jit_here AS TABLE jit;
ANALYZE jit_here;
SELECT is_compiled('SELECT id, (SELECT max(b.v) FROM jit_here b WHERE b.k <> a.k) FROM jit a WHERE id < 200') AS compiled;
SELECT is_compiled('SELECT id FROM jit a WHERE id < (SELECT max(b.id) FROM jit_here b WHERE b.k <> a.k)') AS compiled;
-- With the extension off, core decides.
SET pg_exchange.enabled = off;
SELECT is_compiled('SELECT count(v) FROM jit WHERE k % 2 = 1 AND random() >= 0') AS compiled;
RESET pg_exchange.enabled;
-- The work that is left here counts.
SELECT is_compiled('SELECT count(*) FROM jit a, jit b WHERE a.k + random() > b.k AND random() >= 0') AS compiled;

RESET jit;
RESET jit_above_cost;
DROP FUNCTION is_compiled;
DROP FOREIGN TABLE jit;
DROP TABLE jit_here;
DROP TABLE remote.jit;
