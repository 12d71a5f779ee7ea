--
-- Costs count the bytes of a row, where postgres_fdw has a flat fdw_tuple_cost.
--
SET max_parallel_workers_per_gather = 0;
CREATE TABLE remote.costs (id int PRIMARY KEY, digit int, wide text, wider text);
ALTER TABLE remote.costs ALTER wide SET STORAGE PLAIN, ALTER wider SET STORAGE PLAIN;
INSERT INTO remote.costs SELECT i, i % 100, repeat('x', 600), repeat('x', 2000) FROM generate_series(1, 10000) i;
ANALYZE remote.costs;
CREATE FOREIGN TABLE costs (id int, digit int, wide text, wider text)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'costs', use_remote_estimate 'true');
ANALYZE costs;
ALTER SERVER loopback OPTIONS (ADD fdw_tuple_cost '1.0');
-- what part of fdw_tuple_cost is left: 4, 604 and 2004 of 1280 bytes, and never more than all of it
CREATE FUNCTION tuple_cost_left(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	by_exchange jsonb;
	by_postgres_fdw jsonb;
BEGIN
	by_exchange := explain_json(query, 'COSTS ON');
	SET LOCAL pg_exchange.enabled = off;
	by_postgres_fdw := explain_json(query, 'COSTS ON');
	SET LOCAL pg_exchange.enabled = on;
	RETURN round(1.0 - ((by_postgres_fdw->>'Total Cost')::numeric - (by_exchange->>'Total Cost')::numeric) / (by_exchange->>'Plan Rows')::numeric, 1);
END
$$;
SELECT query, tuple_cost_left(query) FROM unnest('{SELECT id FROM costs,"SELECT wide FROM costs","SELECT wider FROM costs","SELECT id, wide FROM costs WHERE digit < 50",
	"SELECT a.id FROM costs a JOIN costs b ON a.id = b.id","SELECT id FROM costs ORDER BY id"}'::text[]) query;
-- a small result is postgres_fdw's, at its price
SET pg_exchange.min_bytes = '1MB';
SELECT tuple_cost_left('SELECT id FROM costs');
RESET pg_exchange.min_bytes;
-- a change of the option counts at once: 2.0 less for each row
ALTER SERVER loopback OPTIONS (SET fdw_tuple_cost '2.0');
SELECT tuple_cost_left('SELECT id FROM costs');
ALTER SERVER loopback OPTIONS (SET fdw_tuple_cost '1.0');
-- all rows by exchange are cheaper than a few round trips; by postgres_fdw they are not
CREATE TABLE few AS SELECT i * 100 AS id FROM generate_series(1, 30) i;
ANALYZE few;
SELECT explain_json('SELECT c.id FROM few JOIN costs c USING (id)', 'COSTS OFF')->>'Node Type' AS by_exchange;
SET pg_exchange.enabled = off;
SELECT explain_json('SELECT c.id FROM few JOIN costs c USING (id)', 'COSTS OFF')->>'Node Type' AS by_postgres_fdw;
RESET pg_exchange.enabled;
SELECT * FROM exchange_differences('SELECT c.id FROM few JOIN costs c USING (id)');
ALTER SERVER loopback OPTIONS (DROP fdw_tuple_cost);
RESET max_parallel_workers_per_gather;

-- No fdw_tuple_cost makes servers that aggregate at the same time gain more than they cost.
CREATE TABLE groups (id int, digit int) PARTITION BY RANGE (digit);
CREATE FOREIGN TABLE groups_1 PARTITION OF groups FOR VALUES FROM (0) TO (50) SERVER loopback OPTIONS (schema_name 'remote', table_name 'costs');
CREATE FOREIGN TABLE groups_2 PARTITION OF groups FOR VALUES FROM (50) TO (100) SERVER loopback OPTIONS (schema_name 'remote', table_name 'costs');
ANALYZE groups;
CREATE FUNCTION has_costs_below_zero(tuple_cost text, workers int) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan text;
BEGIN
	EXECUTE format('ALTER SERVER loopback OPTIONS (ADD fdw_tuple_cost %L)', tuple_cost);
	PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
	plan := explain_json('SELECT id, count(*), max(digit) FROM groups GROUP BY id', 'COSTS ON');
	ALTER SERVER loopback OPTIONS (DROP fdw_tuple_cost);
	RETURN plan ~ 'Cost": -';
END
$$;
SELECT c AS tuple_cost, w AS workers, has_costs_below_zero(c, w) FROM unnest('{0.01,0.2,5}'::text[]) c, unnest('{0,2,8}'::int[]) w;
DROP FUNCTION has_costs_below_zero;
DROP TABLE groups;

-- A nested loop is as cheap as a hash join if one outer row is expected.  Here,
-- 500 rows come.  Without an equality there is nothing else.
CREATE TABLE guess AS SELECT i AS id, i % 2 AS a, i % 2 AS b FROM generate_series(1, 1000) i;
ANALYZE guess;
SET pg_exchange.lookup_joins = off;
SELECT explain_stable('SELECT * FROM guess g LEFT JOIN numbers n ON n.id = g.id AND n.digit > g.a WHERE a = 1 AND b = 1 AND a + b = 2');
SELECT explain_stable('SELECT * FROM guess g JOIN numbers n ON n.digit > g.a WHERE a = 1 AND b = 1 AND a + b = 2');
RESET pg_exchange.lookup_joins;
DROP TABLE guess;
-- Nobody knows how many keys this one has: workers share no hash table.
CREATE TABLE remote.keys_unknown AS SELECT i AS id, i % 100 AS k FROM generate_series(1, 1000) i;
CREATE FOREIGN TABLE keys_unknown (id int, k int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE TABLE keys_split (id int, k int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE keys_split_1 PARTITION OF keys_split FOR VALUES FROM (0) TO (500) SERVER loopback OPTIONS (schema_name 'remote', table_name 'keys_unknown');
CREATE FOREIGN TABLE keys_split_2 PARTITION OF keys_split FOR VALUES FROM (500) TO (1001) SERVER loopback OPTIONS (schema_name 'remote', table_name 'keys_unknown');
UPDATE pg_class SET reltuples = 100000, relpages = 500 WHERE relname ~ '^keys_(unknown|split_.)$';
SET pg_exchange.join_exchange = off;
SET pg_exchange.lookup_joins = off;
CREATE FUNCTION join_nodes(query text) RETURNS SETOF text LANGUAGE sql AS
	$$SELECT substring(line FROM '(?:Parallel )?(?:Hash|Merge|Nested).*') FROM explain_stable(query) line WHERE line ~ '(Join|Loop|Hash)$'$$;
SET enable_mergejoin = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT join_nodes('SELECT count(*) FROM keys_unknown u JOIN keys_split s USING (k)');
ANALYZE keys_unknown, keys_split;
UPDATE pg_class SET reltuples = 100000, relpages = 500 WHERE relname ~ '^keys_(unknown|split_.)$';
SELECT join_nodes('SELECT count(*) FROM keys_unknown u JOIN keys_split s USING (k)');
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET enable_mergejoin;
RESET pg_exchange.lookup_joins;
RESET pg_exchange.join_exchange;
DROP FUNCTION join_nodes;
DROP FOREIGN TABLE keys_unknown;
DROP TABLE keys_split, remote.keys_unknown;
