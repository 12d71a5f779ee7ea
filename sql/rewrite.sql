--
-- Queries that are planned in another form: scalar subqueries as joins, DISTINCT
-- as GROUP BY.
--
CREATE TABLE remote.items AS
	SELECT i AS id, nullif(i % 40, 7) AS part, i % 3 AS kind, (i % 17 * 1.25)::numeric(8,2) AS qty,
		i::numeric AS size, 'item ' || i % 5 AS label, timestamp '2026-01-01' + i % 11 * interval '1 day' AS made
	FROM generate_series(1, 1000) i;
CREATE TABLE remote.parts AS
	SELECT i::bigint AS part, nullif(i % 5, 4) AS brand, (i % 7 * 2.5)::numeric(8,2) AS wanted, 'item ' || i % 6 AS label,
		timestamptz '2026-01-01' + i * interval '1 day' AS made
	FROM generate_series(1, 60) i;
CREATE FOREIGN TABLE items (id int, part int, kind int, qty numeric(8,2), size numeric, label text, made timestamp)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'items');
CREATE FOREIGN TABLE parts (part bigint, brand int, wanted numeric(8,2), label text, made timestamptz)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'parts');
CREATE TABLE remote.names AS SELECT id, label::varchar(20) FROM remote.items;
CREATE FOREIGN TABLE names (id int, label varchar(20)) SERVER loopback OPTIONS (schema_name 'remote');
CREATE TABLE local_parts AS SELECT * FROM remote.parts;
ANALYZE items;
ANALYZE names;
ANALYZE parts;
ANALYZE local_parts;

-- Does a join take the place of the subquery?  If that is restricted to certain
-- keys, the table of the keys is scanned twice.
CREATE FUNCTION form(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	subquery bool := false;
	scans int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		-- that of (VALUES (1), (2)) is for errors
		subquery := (subquery OR line ~ 'SubPlan') AND line !~ 'Values Scan';
		scans := scans + (line ~ ' on (local_twice|parts)\M')::int;
	END LOOP;
	RETURN CASE WHEN subquery THEN 'subquery' WHEN scans > 1 THEN 'join, keys' ELSE 'join' END;
END
$$;
SELECT explain_stable('SELECT count(*) FROM parts p, items i WHERE p.part = i.part AND brand = 2 AND i.qty < (SELECT 0.5 * avg(qty) FROM items WHERE part = p.part)');

-- The same rows: aggregates, kinds of operators, forms of conditions
SELECT form(q), d.* FROM unnest(ARRAY[
	'SELECT p.part, i.id FROM parts p, items i WHERE p.part = i.part AND brand = 2 AND i.qty < (SELECT 0.5 * avg(qty) FROM items WHERE part = p.part)',
	'SELECT * FROM parts p WHERE wanted = (SELECT min(qty) FROM items WHERE part = p.part AND kind = 1)',
	'SELECT * FROM parts p WHERE wanted <= (SELECT max(qty) FROM items i, parts q WHERE i.part = p.part AND q.part = i.part AND q.brand = 3)',
	'SELECT * FROM parts p WHERE (SELECT sum(id) FROM items i WHERE p.part = i.part AND p.label = i.label) > 100 AND brand IN (1, 2)',
	'SELECT * FROM parts p WHERE 100 < (SELECT sum(id) FROM items WHERE part = p.part) AND wanted > (SELECT avg(id) / 100.0 FROM items WHERE label = p.label)',
	'SELECT * FROM local_parts p WHERE wanted > (SELECT 0.1 * sum(qty) FROM items WHERE part = p.part AND kind <> 2)',
	'SELECT * FROM parts p LEFT JOIN items i ON p.part = i.part AND i.kind = 5 WHERE wanted < (SELECT max(qty) FROM items x WHERE x.part = p.part)',
	'SELECT * FROM parts p LEFT JOIN items i ON p.part = i.part AND i.kind = 1 WHERE p.wanted < (SELECT max(qty) FROM items x WHERE x.id = i.id)',
	'SELECT * FROM parts WHERE part IN (SELECT part FROM items i WHERE i.part IN (SELECT part FROM parts WHERE brand = 1) AND qty > (SELECT 0.5 * sum(wanted) FROM parts p WHERE p.part = i.part AND p.label = i.label))',
	'SELECT label, (SELECT count(*) FROM items i WHERE i.part = p.part AND i.qty = (SELECT max(qty) FROM items x WHERE x.kind = i.kind)) FROM parts p',
	'SELECT * FROM parts p WHERE wanted < (SELECT avg(qty) + count(*) FROM items WHERE part = p.part)',
	'SELECT * FROM parts p WHERE wanted < (SELECT sum(qty) FILTER (WHERE kind = 1) FROM items WHERE part = p.part)',
	'SELECT brand, count(*) FROM parts p WHERE label < (SELECT max(label) FROM items WHERE part = p.part) GROUP BY brand HAVING count(*) > 1'
]) q, LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;

-- More of them than the planner can try in all orders
SET geqo = off;
SET statement_timeout = '2min';
SELECT d.* FROM (SELECT 'SELECT part FROM parts p WHERE part < 6 AND ' || string_agg(format('wanted < (SELECT sum(qty) + %s FROM items WHERE part = p.part AND kind <= %s)', k, k), ' AND ') FROM generate_series(0, 15) k) s(q),
	LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;
SELECT d.* FROM (SELECT 'SELECT part, ' || string_agg(format('(SELECT count(*) + %s FROM items WHERE part = p.part AND kind < %s)', k, k), ', ') || ' FROM parts p WHERE part < 4' FROM generate_series(0, 39) k) s(q),
	LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;
RESET statement_timeout;
RESET geqo;

-- Rows for which the subquery finds nothing stay where that may matter
SELECT form(q), d.* FROM unnest(ARRAY[
	'SELECT * FROM parts p WHERE 5 > (SELECT count(*) FROM items WHERE part = p.part)',
	'SELECT * FROM parts p WHERE (SELECT max(qty) FROM items WHERE part = p.part) IS NULL',
	'SELECT * FROM parts p WHERE (SELECT max(qty) FROM items WHERE part = p.part) > 3 OR brand = 1',
	'SELECT * FROM parts p WHERE coalesce((SELECT max(qty) FROM items WHERE part = p.part), 0) < 3',
	'SELECT * FROM parts p WHERE 5 > (SELECT coalesce(max(qty), 0) FROM items WHERE part = p.part)',
	'SELECT brand, count(*) FROM parts p WHERE (SELECT count(*) FROM items WHERE part = p.part) IN (0, 25) AND wanted < (SELECT max(qty) FROM items WHERE label = p.label) GROUP BY brand',
	'SELECT part, (SELECT count(*) FROM items WHERE part = p.part), (SELECT sum(qty) / 2.0 FROM items WHERE part = p.part AND kind = 1) FROM parts p',
	'SELECT part, CASE WHEN brand = 1 THEN (SELECT max(label) FROM items WHERE part = p.part) ELSE label END FROM local_parts p WHERE wanted > 5 ORDER BY 2 DESC, 1',
	'SELECT part, 100 / (SELECT count(*) FROM items WHERE part = p.part) FROM parts p WHERE part BETWEEN 20 AND 39',
	'SELECT p.part, q.part, (SELECT min(made) FROM items WHERE part = q.part) FROM parts p LEFT JOIN parts q ON p.part = q.part AND q.brand = 1',
	'SELECT DISTINCT (SELECT count(kind) FILTER (WHERE kind = 2) FROM items WHERE part = p.part) FROM parts p JOIN items i USING (part) WHERE p.brand = 2',
	'SELECT part, (SELECT count(*) FROM items WHERE part = p.part) FROM parts p ORDER BY 2 DESC, 1 LIMIT 7',
	'SELECT DISTINCT CASE WHEN 10 / part > 2 THEN (SELECT count(*) FROM items WHERE part = p.part) END FROM parts p',
	'SELECT part, n, rank() OVER (ORDER BY n) FROM (SELECT part, (SELECT count(*) FROM items WHERE part = p.part AND label = p.label) AS n FROM parts p) q WHERE n < 3',
	'SELECT part, rank() OVER (ORDER BY (SELECT count(*) FROM items WHERE part = p.part), part) FROM parts p',
	-- one row
	'SELECT id, (SELECT label FROM parts WHERE part = i.part), (SELECT wanted FROM parts p WHERE i.part = p.part AND brand = 1) FROM items i',
	'SELECT id, (SELECT coalesce(brand, -1) FROM parts p WHERE p.part = i.part AND p.wanted < 9.5) + kind FROM items i WHERE kind < 2',
	'SELECT part, (SELECT label FROM names WHERE id = p.part), (SELECT 1 FROM items WHERE id = p.part AND kind = 0), (SELECT ''x'' FROM items WHERE id = p.part) FROM parts p',
	'SELECT part, CASE WHEN part > 39 THEN (SELECT id FROM items WHERE part = p.part) END FROM parts p'
]) q, LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;
SELECT explain_stable('SELECT part, (SELECT label FROM items WHERE part = p.part) FROM parts p');

-- In the list of SELECT it is left alone if a LIMIT has it evaluated for few rows
SELECT form(q) FROM unnest(ARRAY[
	'SELECT part, (SELECT count(*) FROM items WHERE part = p.part) FROM parts p ORDER BY part LIMIT 7',
	'SELECT part, (SELECT count(*) FROM items WHERE part = p.part) FROM parts p LIMIT 7',
	'SELECT part, (SELECT count(*) FROM items WHERE part = p.part) FROM parts p ORDER BY part LIMIT 107',
	'SELECT part, (SELECT count(*) FROM items WHERE part = p.part) FROM parts p ORDER BY part LIMIT 7 OFFSET 100',
	'SELECT part, (SELECT count(*) FROM items WHERE part = p.part) FROM parts p ORDER BY 2 LIMIT 7',
	'SELECT DISTINCT part, (SELECT count(*) FROM items WHERE part = p.part) FROM parts p LIMIT 7',
	'SELECT part, rank() OVER (ORDER BY part), (SELECT count(*) FROM items WHERE part = p.part) FROM parts p LIMIT 7',
	'SELECT * FROM parts p WHERE 5 > (SELECT count(*) FROM items WHERE part = p.part) ORDER BY part LIMIT 7'
]) q;

-- Subqueries of the same rows are joined once, with the rights for all of them
SELECT explain_stable('SELECT part, (SELECT label FROM items WHERE part = p.part), (SELECT count(qty) FROM items WHERE part = p.part), (SELECT max(id) FROM items WHERE part = p.part AND kind = 1) FROM parts p');
SELECT form(q), d.* FROM unnest(ARRAY[
	'SELECT part, (SELECT label FROM items WHERE id = p.part), (SELECT count(qty) FROM items WHERE id = p.part) + 1, (SELECT made FROM items WHERE id = p.part) FROM parts p WHERE (SELECT max(id) FROM items WHERE id = p.part) > 3',
	'SELECT part, (SELECT count(*) FROM items WHERE part = p.part), (SELECT max(qty + p.wanted) FROM items WHERE part = p.part) FROM parts p'
]) q, LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;
CREATE ROLE rewrite_reader;
GRANT SELECT ON parts TO rewrite_reader;
GRANT SELECT (id, label) ON items TO rewrite_reader;
CREATE USER MAPPING FOR rewrite_reader SERVER loopback OPTIONS (user :'USER', password_required 'false');
SET ROLE rewrite_reader;
SELECT part, (SELECT label FROM items WHERE id = p.part), (SELECT count(*) FROM items WHERE id = p.part) FROM parts p WHERE part = 3;
SELECT part, (SELECT label FROM items WHERE id = p.part), (SELECT qty FROM items WHERE id = p.part) FROM parts p WHERE part BETWEEN 2 AND 3;
RESET ROLE;
DROP OWNED BY rewrite_reader;
DROP ROLE rewrite_reader;

-- Two rows are an error, where they are asked for
SELECT form('SELECT part, (SELECT id FROM items WHERE part = p.part) FROM parts p WHERE part > 38');
SELECT part, (SELECT id FROM items WHERE part = p.part) FROM parts p WHERE part > 38;
SELECT part, (SELECT id FROM items WHERE part = p.part) FROM parts p WHERE part > 39 AND part < 41;

-- Restricted keys: the rows of few parts are looked up among many. The
-- conditions are on the table of the keys, or say what is to be looked up.
CREATE TABLE local_items AS
	SELECT i % 5000 AS part, i % 3 AS kind, (i % 17 * 1.25)::numeric(8,2) AS qty FROM generate_series(1, 50000) i;
CREATE INDEX ON local_items (part, kind);
CREATE TABLE local_twice AS SELECT * FROM local_parts UNION ALL SELECT * FROM local_parts;
ANALYZE local_items, local_twice;
SELECT form(q), d.* FROM unnest(ARRAY[
	'SELECT * FROM parts p WHERE brand = 3 AND wanted > (SELECT avg(qty) FROM local_items WHERE part = p.part)',
	'SELECT p.part, i.kind, qty FROM local_twice p JOIN items i ON p.part = i.id WHERE p.brand IN (1, 2) AND qty < (SELECT sum(qty) FROM local_items WHERE part = p.part AND kind = i.kind)',
	'SELECT * FROM local_items i WHERE qty > (SELECT 0.5 * avg(qty) FROM local_items WHERE part = i.part AND kind = i.kind) AND part IN (SELECT part FROM parts WHERE brand = 2)',
	'SELECT * FROM local_items i WHERE qty > (SELECT 0.5 * avg(qty) FROM local_items WHERE part = i.part AND kind = i.kind) AND part IN (SELECT part FROM parts WHERE brand = 2 ORDER BY label)',
	'SELECT * FROM local_items i WHERE qty > (SELECT 0.5 * avg(qty) FROM local_items WHERE part = i.part AND kind = i.kind) AND part IN (SELECT part FROM parts WHERE brand = 2 GROUP BY part, label)',
	'SELECT * FROM local_twice p WHERE wanted < (SELECT sum(qty) FROM local_items WHERE part = p.part) AND part IN (SELECT part FROM parts) AND part + brand > 8',
	'SELECT * FROM local_twice p WHERE wanted < (SELECT sum(qty) FROM local_items WHERE part = p.part) AND part > ANY (SELECT part FROM parts WHERE brand = 1)',
	'SELECT * FROM parts q LEFT JOIN local_twice p ON p.part = q.part AND q.brand = 1 WHERE p.wanted < (SELECT sum(qty) FROM local_items WHERE part = p.part) AND p.label = ''item 3'''
]) q, LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;

-- What would be different, or might be, stays as it is
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM items WHERE kind = 1;
CREATE FUNCTION pass(int) RETURNS bool LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN true; END';
SELECT q, form(q) FROM unnest(ARRAY[
	-- other groups
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part < p.part)',
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part + 1 = p.part)',
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE made = p.made)',
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part LIMIT 1)',
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part HAVING max(id) > 3)',
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty + p.wanted) FROM items WHERE part = p.part)',
	-- may raise errors for other rows
	'SELECT * FROM parts p WHERE wanted < (SELECT max(1000 / id) FROM items WHERE part = p.part)',
	'SELECT * FROM parts p WHERE wanted < (SELECT 10 / max(qty) FROM items WHERE part = p.part)',
	'SELECT * FROM parts p WHERE wanted < (SELECT sum(size) FROM items WHERE part = p.part)',
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part AND 10 / id > 1)',
	'SELECT * FROM parts p JOIN items i ON p.part = i.part AND 10 / i.id > 1 WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part)',
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part) AND label LIKE ''item\''',
	'SELECT part, (SELECT max(1000 / id) FROM items WHERE part = p.part) FROM parts p',
	'SELECT part, (SELECT 1000 / id FROM items WHERE id = p.part) FROM parts p',
	'SELECT part, (SELECT label FROM items WHERE id = p.part) FROM parts p WHERE 10 / part < 3',
	-- need not be evaluated for all rows
	'SELECT part, 100 / (SELECT count(*) FROM items WHERE part = p.part) FROM parts p ORDER BY part LIMIT 39',
	'SELECT part, (SELECT 100 / count(*) FROM items WHERE part = p.part) FROM parts p ORDER BY part LIMIT 39',
	'SELECT part, (SELECT label FROM items WHERE id = p.part) FROM parts p LIMIT 39',
	'SELECT part, (SELECT label FROM items WHERE id = p.part) FROM parts p ORDER BY part',
	'SELECT part, 100 / (SELECT count(*) FROM items WHERE part = p.part) FROM parts p ORDER BY part',
	'WITH c AS MATERIALIZED (SELECT part, (SELECT label FROM items WHERE id = p.part) FROM parts p ORDER BY part) SELECT EXISTS (SELECT FROM c)',
	-- is not looked at
	'SELECT part FROM parts p WHERE 1 = 2 AND wanted < (SELECT max(qty) FROM items WHERE part = p.part AND kind > 1 / 0)',
	'SELECT part FROM parts p WHERE 1 = 2 AND part NOT IN (SELECT part FROM items i WHERE qty < (SELECT max(wanted) FROM parts q WHERE q.part = i.part) AND kind > 1 / 0)',
	-- any of several rows, or none of its own
	'SELECT part, (SELECT label FROM items WHERE part = p.part LIMIT 1) FROM parts p',
	'SELECT part, (SELECT DISTINCT label FROM items WHERE id = p.part) FROM parts p',
	'SELECT part, (SELECT kind = 1 FROM items WHERE id = p.part) FROM parts p',
	'SELECT part, (SELECT p.label FROM items WHERE id = p.part) FROM parts p',
	-- may choose other rows when it is executed again
	'SELECT * FROM items i WHERE id > (SELECT avg(id) FROM items WHERE part = i.part) AND part IN (SELECT DISTINCT ON (kind) id FROM items)',
	'SELECT * FROM items i WHERE id > (SELECT avg(id) FROM items WHERE part = i.part) AND part IN (SELECT id FROM items LIMIT 3)',
	-- an order of evaluation, or effects
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM barrier b WHERE part = p.part)',
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part) AND pass(brand)',
	'SELECT pass(brand) FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part)',
	'SELECT * FROM parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part) FOR UPDATE',
	'UPDATE parts p SET brand = 1 WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part)',
	'DECLARE c CURSOR FOR SELECT * FROM local_parts p WHERE wanted < (SELECT max(qty) FROM items WHERE part = p.part)'
]) q;
SET pg_exchange.enabled = off;
SELECT form('SELECT * FROM parts p WHERE wanted = (SELECT min(qty) FROM items WHERE part = p.part)');
RESET pg_exchange.enabled;
SELECT form('SELECT * FROM local_parts p WHERE wanted = (SELECT min(wanted) FROM local_parts WHERE part = p.part)') AS local_tables;
SELECT form('INSERT INTO local_parts SELECT * FROM parts p WHERE wanted = (SELECT min(qty) FROM items WHERE part = p.part)') AS insert_select;

-- Each subquery sees what the statement has inserted before
SELECT form('INSERT INTO parts SELECT part, (SELECT count(*) FROM parts WHERE part = p.part) FROM local_parts p');

-- Row security counts, of either table
CREATE ROLE rewrite_reader;
GRANT SELECT ON items, local_parts TO rewrite_reader;
CREATE USER MAPPING FOR rewrite_reader SERVER loopback OPTIONS (user :'USER', password_required 'false');
CREATE POLICY first_brand ON local_parts USING (brand = 1);
ALTER TABLE local_parts ENABLE ROW LEVEL SECURITY;
SET ROLE rewrite_reader;
SELECT form('SELECT * FROM local_parts p WHERE wanted > (SELECT 0.1 * sum(qty) FROM items WHERE part = p.part)');
RESET ROLE;
ALTER TABLE local_parts DISABLE ROW LEVEL SECURITY;

-- Rights: the keys of local_parts are read with those of the query
SELECT explain_stable('SELECT * FROM local_parts p WHERE brand = 3 AND wanted > (SELECT 0.1 * sum(qty) FROM items WHERE part = p.part)');
SET ROLE rewrite_reader;
SELECT count(*) FROM local_parts p WHERE brand = 3 AND wanted > (SELECT 0.1 * sum(qty) FROM items WHERE part = p.part);
RESET ROLE;
REVOKE SELECT ON local_parts FROM rewrite_reader;
SET ROLE rewrite_reader;
SELECT count(*) FROM local_parts p WHERE brand = 3 AND wanted > (SELECT 0.1 * sum(qty) FROM items WHERE part = p.part);
RESET ROLE;
DROP OWNED BY rewrite_reader;
DROP ROLE rewrite_reader;

-- A prepared statement is planned anew, and parameters are known as before
PREPARE above(int, numeric) AS SELECT count(*) FROM parts p WHERE brand = $1 AND wanted > $2 * (SELECT 0.1 * sum(qty) FROM items WHERE part = p.part);
SET plan_cache_mode = force_generic_plan;
EXECUTE above(1, 0.1);
EXECUTE above(2, 0.5);
SET plan_cache_mode = force_custom_plan;
EXECUTE above(1, 0.1);
EXECUTE above(2, 0.5);
RESET plan_cache_mode;
DEALLOCATE above;

DROP VIEW barrier;
DROP FUNCTION pass(int);
DROP TABLE local_parts, local_items, local_twice;
DROP FOREIGN TABLE items, names, parts;

--
-- DISTINCT
--
CREATE TABLE remote.visits AS
	SELECT i AS id, i % 6 AS site, nullif(i % 70, 3) AS visitor, i % 4 = 0 AS new, (i % 30 * 0.75)::numeric(8,2) AS paid,
		trim_scale(i % 9 * 0.5) AS any_numeric, (i % 100)::smallint AS small, i::bigint * 1000000007 AS big,
		'page ' || i % 12 AS page, (i % 13 - 6) * 0.5::float8 AS ratio
	FROM generate_series(1, 2000) i;
CREATE TABLE visits (id int, site int, visitor int, new bool, paid numeric(8,2), any_numeric numeric, small smallint,
	big bigint, page text, ratio float8) PARTITION BY RANGE (id);
CREATE VIEW remote.visits_1 AS SELECT * FROM remote.visits WHERE id <= 1000;
CREATE VIEW remote.visits_2 AS SELECT * FROM remote.visits WHERE id > 1000;
CREATE FOREIGN TABLE visits_1 PARTITION OF visits FOR VALUES FROM (1) TO (1001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'visits_1');
CREATE FOREIGN TABLE visits_2 PARTITION OF visits FOR VALUES FROM (1001) TO (2001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'visits_2');
ANALYZE visits;
ANALYZE visits_1, visits_2;

-- Does EXPLAIN (VERBOSE) of a query show this?
CREATE FUNCTION shows(query text, what text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		result := result OR line ~ what;
	END LOOP;
	RETURN result;
END
$$;

-- SELECT DISTINCT: the remote groups
SELECT shows(q, 'GROUP BY') AS grouped, d.* FROM unnest(ARRAY[
	'SELECT DISTINCT site, new FROM visits_1',
	'SELECT DISTINCT site, site * 2 AS twice FROM visits_1 ORDER BY site DESC, twice LIMIT 3',
	'SELECT DISTINCT site, 1 AS one FROM visits_1',
	'SELECT count(*) FROM (SELECT DISTINCT site, page FROM visits_1) d',
	'SELECT DISTINCT site FROM visits_1 UNION ALL SELECT DISTINCT visitor FROM visits_2',
	'SELECT DISTINCT site, new FROM visits',
	-- and not
	'SELECT DISTINCT ON (site) site, new FROM visits_1 ORDER BY site, new',
	'SELECT DISTINCT site, any_numeric FROM visits_1',
	'SELECT DISTINCT site, ratio FROM visits_1',
	'SELECT DISTINCT site, random() > 2 FROM visits_1',
	'SELECT DISTINCT site, (SELECT 1 FROM visits_2 LIMIT 1) FROM visits_1'
]) q, LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;

-- Aggregates of DISTINCT values: over values that are distinct
SELECT shows(q, 'DISTINCT') AS once, d.* FROM unnest(ARRAY[
	'SELECT site, count(DISTINCT visitor), avg(paid), count(*) FROM visits GROUP BY site',
	'SELECT count(DISTINCT visitor), sum(DISTINCT visitor), avg(DISTINCT visitor), min(page), max(paid), bool_or(new), bit_or(small) FROM visits',
	'SELECT count(DISTINCT visitor), count(*), count(visitor), sum(small), sum(id), sum(big), sum(paid), avg(small), avg(id), avg(big), avg(paid), sum(any_numeric), avg(any_numeric) FROM visits',
	'SELECT count(DISTINCT visitor), count(*), count(paid), sum(id), avg(id), sum(paid), avg(paid), max(page) FROM visits WHERE paid < (SELECT -1.0)',
	'SELECT site % 2, count(DISTINCT visitor) AS c, count(*) FILTER (WHERE new) AS new, avg(paid) FILTER (WHERE id < 0), sum(id) FILTER (WHERE id < 0) FROM visits GROUP BY site % 2 HAVING count(DISTINCT visitor) > 3 AND site % 2 < 9 ORDER BY c DESC, site % 2 + count(*) LIMIT 4',
	'SELECT site, count(DISTINCT paid) FROM visits WHERE id IN (SELECT id FROM visits_1) GROUP BY site',
	'SELECT site, new, count(DISTINCT v.page) + 1 FROM visits v LEFT JOIN visits_1 w USING (id, site, new) GROUP BY site, new',
	'SELECT DISTINCT count(DISTINCT visitor) > 70 FROM visits GROUP BY site',
	'SELECT i, (SELECT count(DISTINCT visitor) FROM visits) FROM generate_series(1, 3) i',
	'SELECT site, count(DISTINCT 12 / (visitor + 1)), sum(any_numeric) FROM visits GROUP BY site ORDER BY 2, site LIMIT 3',
	-- and not
	'SELECT count(DISTINCT visitor), (SELECT count(*) FROM visits_1) FROM visits',
	'SELECT count(DISTINCT visitor + (SELECT 1)) FROM visits',
	'SELECT count(DISTINCT visitor), count(*) FILTER (WHERE site IN (SELECT site FROM visits_1)) FROM visits',
	'SELECT site, count(DISTINCT visitor) FROM visits GROUP BY site HAVING EXISTS (SELECT FROM visits_1)',
	'SELECT site, count(DISTINCT any_numeric) FROM visits GROUP BY site',
	'SELECT site, count(DISTINCT ratio) FROM visits GROUP BY site',
	'SELECT any_numeric, count(DISTINCT visitor) FROM visits GROUP BY any_numeric',
	'SELECT site, count(DISTINCT visitor), count(DISTINCT page) FROM visits GROUP BY site',
	'SELECT site, count(DISTINCT visitor) FILTER (WHERE new) FROM visits GROUP BY site',
	'SELECT site, count(DISTINCT visitor), max(any_numeric) FROM visits GROUP BY site',
	'SELECT site, count(DISTINCT visitor), max(ratio) FROM visits GROUP BY site',
	'SELECT site, count(DISTINCT visitor), sum(ratio) FROM visits GROUP BY site',
	'SELECT site, count(DISTINCT visitor), string_agg(page, '','' ORDER BY id) FROM visits GROUP BY site',
	'SELECT site, new, count(DISTINCT visitor) FROM visits GROUP BY ROLLUP (site, new)',
	'SELECT site, count(DISTINCT visitor), sum(count(*)) OVER () FROM visits GROUP BY site',
	'SELECT i, (SELECT count(DISTINCT visitor) FROM visits WHERE site = i) FROM generate_series(1, 3) i'
]) q, LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;
SET pg_exchange.partial_aggregates = off;
SELECT shows('SELECT DISTINCT site FROM visits_1', 'GROUP BY'), shows('SELECT site, count(DISTINCT visitor) FROM visits GROUP BY site', 'DISTINCT');
RESET pg_exchange.partial_aggregates;
SET pg_exchange.enabled = off;
SELECT shows('SELECT DISTINCT site FROM visits_1', 'GROUP BY'), shows('SELECT site, count(DISTINCT visitor) FROM visits GROUP BY site', 'DISTINCT');
RESET pg_exchange.enabled;
-- all columns of a view, and not
CREATE VIEW by_site AS SELECT site, count(DISTINCT 12 / (visitor + 1)) AS n FROM visits GROUP BY site;
SELECT shows('SELECT * FROM by_site', 'DISTINCT') AS wholly, shows('SELECT n, site + 1 FROM by_site', 'DISTINCT') AS in_expressions, shows('SELECT n FROM by_site', 'DISTINCT') AS one_column;
DROP VIEW by_site;
DROP TABLE visits;

-- what may raise an error, and is not read
CREATE TABLE remote.clicks_0 AS SELECT i % 3 AS k, i % 2 AS a FROM generate_series(1, 60) i;
CREATE TABLE remote.clicks_1 AS SELECT 5 + i % 5 AS k, i % 3 AS a FROM generate_series(1, 60) i;
CREATE TABLE clicks (k int, a int) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE clicks_0 PARTITION OF clicks FOR VALUES FROM (0) TO (5) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE clicks_1 PARTITION OF clicks FOR VALUES FROM (5) TO (10) SERVER loopback OPTIONS (schema_name 'remote');
ANALYZE clicks;
SELECT k, count(DISTINCT a), sum(12 / (k - 1)) FROM clicks_0 GROUP BY k ORDER BY k LIMIT 1;
SELECT EXISTS (SELECT k, count(DISTINCT a), sum(12 / (k - 1)) FROM clicks_0 GROUP BY k);
SELECT count(*) FROM (SELECT k, count(DISTINCT 12 / (k - 7)) FROM clicks WHERE k IN (SELECT k FROM clicks_1) GROUP BY k) x;
SELECT k, count(DISTINCT 12 / (k - 7)) FROM clicks GROUP BY k HAVING k IN (1, 6) ORDER BY 2 LIMIT 1;
CREATE TABLE remote.clicks_text AS SELECT k, 'x' AS a FROM remote.clicks_1;
CREATE FOREIGN TABLE clicks_text (k int, a int) SERVER loopback OPTIONS (schema_name 'remote');
SELECT count(*) FROM (SELECT k, count(DISTINCT a) FROM clicks_text WHERE k IN (SELECT k FROM clicks_1) GROUP BY k) x;
DROP FOREIGN TABLE clicks_text;
CREATE VIEW quotients AS SELECT k, a, 12 / (k - 1) AS s FROM clicks_0;
SELECT k, count(DISTINCT a), sum(s) FROM quotients GROUP BY k ORDER BY k LIMIT 1;
SELECT EXISTS (SELECT k, count(DISTINCT a), sum(s) FROM quotients GROUP BY k);
DROP VIEW quotients;
-- a subquery that is not planned at all
CREATE VIEW unseen AS SELECT k, (SELECT count(DISTINCT k) FROM clicks_1 WHERE 1 / 0 = 1) AS n FROM clicks_0;
SELECT count(*) FROM unseen;
WITH c AS (SELECT count(DISTINCT k) FROM clicks_1 WHERE 1 / 0 = 1) SELECT count(*) FROM clicks_0;
SELECT count(*) FROM (SELECT CASE WHEN false THEN (SELECT count(*) FROM clicks_1 m WHERE m.k = n.k AND 1 / 0 = 1) END AS x FROM clicks_0 n) s;
DROP VIEW unseen;
DROP TABLE clicks;
