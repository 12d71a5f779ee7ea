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
DROP TABLE remote.jit;
