--
-- A correlated subquery becomes a join only if the foreign tables stand for
-- tables: what a view computes for other rows may fail, or write.
--
CREATE TABLE remote.stock AS SELECT i AS k, i % 97 AS y FROM generate_series(1, 3000) i;
CREATE VIEW remote.quotas AS SELECT k, 1000 / (k - 5) AS x, y FROM remote.stock;
CREATE TABLE remote.asked_rows (k int);
CREATE FUNCTION remote.note_row(k int) RETURNS int VOLATILE LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO remote.asked_rows VALUES (k);
	RETURN k;
END
$$;
CREATE VIEW remote.noted AS SELECT k, remote.note_row(k) AS x FROM remote.stock WHERE k < 50;
CREATE FUNCTION remote.may_see(k int) RETURNS bool STABLE LANGUAGE sql AS 'SELECT 1 / (k - 5) >= 0';
CREATE TABLE remote.guarded AS SELECT k, y AS x FROM remote.stock;
ALTER TABLE remote.guarded ENABLE ROW LEVEL SECURITY;
ALTER TABLE remote.guarded FORCE ROW LEVEL SECURITY;
CREATE POLICY visible ON remote.guarded USING (remote.may_see(k));
CREATE TABLE remote.members (k int, x int, y int) PARTITION BY LIST (y);
CREATE TABLE remote.members_1 PARTITION OF remote.members FOR VALUES IN (1);
INSERT INTO remote.members SELECT k, k, 1 FROM remote.stock;
CREATE FOREIGN TABLE remote.members_2 PARTITION OF remote.members FOR VALUES IN (2)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'quotas');

CREATE FOREIGN TABLE stock (k int, x int OPTIONS (column_name 'y')) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE quotas (k int, x int, y int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE noted (k int, x int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE guarded (k int, x int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE members (k int, x int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE TABLE wanted AS SELECT i AS id, i + 10 AS k FROM generate_series(1, 300) i;
ANALYZE stock, wanted;
-- ANALYZE would read the views
UPDATE pg_class SET reltuples = 3000, relpages = 14 WHERE oid IN ('quotas'::regclass, 'noted'::regclass, 'guarded'::regclass, 'members'::regclass);

CREATE FUNCTION is_join(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'SubPlan' THEN
			RETURN false;
		END IF;
	END LOOP;
	RETURN true;
END
$$;

-- EXPLAIN, which does not ask, takes for a table what it does not know
SELECT is_join('SELECT id, (SELECT max(x) FROM quotas q WHERE q.k = w.k) FROM wanted w');
-- unless its plan is kept
SET plan_cache_mode = force_generic_plan;
PREPARE maxima AS SELECT id, (SELECT max(x) FROM stock s WHERE s.k = w.k) FROM wanted w;
SELECT is_join('EXECUTE maxima');
DEALLOCATE maxima;
RESET plan_cache_mode;
SET pg_exchange.transport = session;
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM stock s WHERE s.k = w.k) AS m FROM wanted w) z;
RESET pg_exchange.transport;

-- a table
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM stock s WHERE s.k = w.k) AS m FROM wanted w) z;
SELECT is_join('SELECT id, (SELECT max(x) FROM stock s WHERE s.k = w.k) FROM wanted w');

-- by two names
CREATE FOREIGN TABLE stock_too (k int, y int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'stock');
CREATE FOREIGN TABLE stock_again (k int, y int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'stock');
ANALYZE stock_too, stock_again;
SELECT count(m), sum(m) FROM (SELECT (SELECT sum(y) FROM stock_too s WHERE s.k = t.k) AS m FROM stock_again t WHERE t.k < 300) z;
SELECT is_join('SELECT (SELECT sum(y) FROM stock_too s WHERE s.k = t.k) FROM stock_again t WHERE t.k < 300');
DROP FOREIGN TABLE stock_too, stock_again;

-- views
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM quotas q WHERE q.k = w.k) AS m FROM wanted w) z;
SELECT count(m), sum(m) FROM (SELECT (SELECT count(*) FROM quotas q WHERE q.k = w.k AND x > 3) AS m FROM wanted w) z;
SELECT count(*) FROM wanted w WHERE id > (SELECT sum(x) FROM quotas q WHERE q.k = w.k);
SELECT is_join('SELECT id, (SELECT max(x) FROM quotas q WHERE q.k = w.k) FROM wanted w');
BEGIN;
SELECT count(m), sum(m) FROM (SELECT (SELECT sum(x) FROM noted n WHERE n.k = w.k) AS m FROM wanted w) z;
COMMIT;
SELECT count(*), min(k) FROM remote.asked_rows;

-- row security, and a partition that is a view elsewhere
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM guarded g WHERE g.k = w.k) AS m FROM wanted w) z;
SELECT is_join('SELECT id, (SELECT max(x) FROM guarded g WHERE g.k = w.k) FROM wanted w');
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM members g WHERE g.k = w.k) AS m FROM wanted w WHERE id < 50) z;
SELECT is_join('SELECT id, (SELECT max(x) FROM members g WHERE g.k = w.k) FROM wanted w');

-- columns of other types, a domain, columns and rights that are missing
CREATE TABLE remote.texts AS SELECT k, CASE k WHEN 2900 THEN 'abc' ELSE y::text END AS x FROM remote.stock;
CREATE FOREIGN TABLE texts (k int, x int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE DOMAIN not_96 AS int CHECK (VALUE <> 96);
CREATE FOREIGN TABLE domains (k int, x not_96 OPTIONS (column_name 'y')) SERVER loopback OPTIONS (schema_name 'remote', table_name 'stock');
CREATE FOREIGN TABLE fewer (k int, x int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'stock');
UPDATE pg_class SET reltuples = 3000, relpages = 14 WHERE oid IN ('texts'::regclass, 'domains'::regclass, 'fewer'::regclass);
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM texts t WHERE t.k = w.k) AS m FROM wanted w) z;
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM domains t WHERE t.k = w.k) AS m FROM wanted w WHERE id < 80) z;
SELECT count(m) FROM (SELECT CASE WHEN id < 0 THEN (SELECT max(x) FROM fewer s WHERE s.k = w.k) END AS m FROM wanted w) z;
DROP FOREIGN TABLE texts, domains, fewer;
DROP DOMAIN not_96;
DROP TABLE remote.texts;

-- types that have other values there; others of the table do not matter
CREATE TYPE mood AS ENUM ('calm', 'cross');
CREATE TABLE remote.moods AS SELECT k, y AS x, CASE k WHEN 2900 THEN 'cross' ELSE 'calm' END::mood AS m FROM remote.stock;
CREATE TYPE only_calm AS ENUM ('calm');
CREATE FOREIGN TABLE moods (k int, x int, m only_calm) SERVER loopback OPTIONS (schema_name 'remote');
UPDATE pg_class SET reltuples = 3000, relpages = 14 WHERE oid = 'moods'::regclass;
SELECT count(n), sum(n) FROM (SELECT (SELECT count(m) FROM moods t WHERE t.k = w.k) AS n FROM wanted w) z;
SELECT count(n), sum(n) FROM (SELECT (SELECT count(x) FROM moods t WHERE t.k = w.k) AS n FROM wanted w) z;
SELECT is_join('SELECT id, (SELECT count(m) FROM moods t WHERE t.k = w.k) FROM wanted w') AS of_moods,
	is_join('SELECT id, (SELECT count(x) FROM moods t WHERE t.k = w.k) FROM wanted w') AS of_numbers;
DROP FOREIGN TABLE moods;
DROP TABLE remote.moods;
DROP TYPE mood, only_calm;

-- equal values of which the first one is taken
CREATE TABLE remote.spans AS SELECT k % 40 AS k, CASE WHEN k <= 40 THEN interval '1 mon' ELSE interval '30 days' END AS x,
	CASE WHEN k <= 40 THEN 1.0 ELSE 1.00 END AS n, CASE WHEN k <= 40 THEN 0 ELSE '-0' END::float8 AS f FROM remote.stock WHERE k <= 400;
CREATE FOREIGN TABLE spans (k int, x interval, n numeric, f float8) SERVER loopback OPTIONS (schema_name 'remote');
ANALYZE remote.spans, spans;
CREATE TABLE spans_found AS SELECT (SELECT min(x) FROM spans s WHERE s.k = w.k) AS x, (SELECT max(n) FROM spans s WHERE s.k = w.k) AS n,
	(SELECT min(f) FROM spans s WHERE s.k = w.k) AS f FROM wanted w WHERE w.k < 40;
SELECT x::text, n::text, f::text, count(*) FROM spans_found GROUP BY 1, 2, 3;
DROP TABLE spans_found;
DROP FOREIGN TABLE spans;
DROP TABLE remote.spans;

-- what the remote user must not read, and what has no rows yet
CREATE ROLE regress_px_plain;
GRANT SELECT ON remote.stock TO regress_px_plain;
CREATE SCHEMA hidden;
CREATE TABLE hidden.stock AS TABLE remote.stock;
GRANT SELECT ON hidden.stock TO regress_px_plain;
CREATE MATERIALIZED VIEW remote.unfilled AS TABLE remote.stock WITH NO DATA;
DO $$
BEGIN
	EXECUTE format('CREATE SERVER as_other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L, options %L)',
		split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database(), '-c role=regress_px_plain');
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER as_other;
CREATE FOREIGN TABLE hidden_stock (k int, y int) SERVER as_other OPTIONS (schema_name 'hidden', table_name 'stock');
CREATE FOREIGN TABLE unfilled (k int, y int) SERVER loopback OPTIONS (schema_name 'remote');
UPDATE pg_class SET reltuples = 3000, relpages = 14 WHERE oid IN ('hidden_stock'::regclass, 'unfilled'::regclass);
SELECT count(m) FROM (SELECT CASE WHEN id < 0 THEN (SELECT max(y) FROM hidden_stock s WHERE s.k = w.k) END AS m FROM wanted w) z;
SELECT count(m) FROM (SELECT CASE WHEN id < 0 THEN (SELECT max(y) FROM unfilled s WHERE s.k = w.k) END AS m FROM wanted w) z;
DROP FOREIGN TABLE hidden_stock, unfilled;
DROP USER MAPPING FOR CURRENT_USER SERVER as_other;
DROP SERVER as_other;
DROP MATERIALIZED VIEW remote.unfilled;
DROP TABLE hidden.stock;
DROP SCHEMA hidden;
REVOKE ALL ON remote.stock FROM regress_px_plain;
DROP ROLE regress_px_plain;

-- a query that is not read to its end
CREATE TABLE remote.doubled AS SELECT k, y FROM remote.stock UNION ALL SELECT 11, 11;
CREATE FOREIGN TABLE doubled (k int, y int) SERVER loopback OPTIONS (schema_name 'remote');
ANALYZE doubled;
INSERT INTO wanted SELECT 301 + i, 11 FROM generate_series(0, 1) i;
SELECT EXISTS (SELECT FROM (SELECT (SELECT y FROM doubled d WHERE d.k = w.k) AS y FROM wanted w WHERE w.k > 11 OR id > 300) z WHERE y > 0);
SELECT EXISTS (SELECT FROM (SELECT 1 / (302 - id) + (SELECT count(*) FROM doubled d WHERE d.k = w.k) AS y FROM wanted w) z WHERE y > 0);
WITH c AS MATERIALIZED (SELECT 1 / (302 - id) + (SELECT count(*) FROM doubled d WHERE d.k = w.k) AS y FROM wanted w) SELECT EXISTS (SELECT FROM c WHERE y > 0);
WITH c AS (SELECT (SELECT y FROM doubled d WHERE d.k = w.k) AS y FROM wanted w WHERE w.k > 11 OR id > 300) SELECT EXISTS (SELECT FROM c WHERE y > 0), EXISTS (SELECT FROM c WHERE y > 13);
DELETE FROM wanted WHERE id > 300;
-- or whose expressions the planner has evaluated elsewhere
CREATE TABLE plain_few AS SELECT id FROM wanted WHERE id <= 20;
ALTER TABLE plain_few ADD PRIMARY KEY (id);
CREATE TABLE plain_more AS SELECT i AS id, 1 + i % 200 AS k FROM generate_series(1, 1000) i UNION ALL SELECT 1001, 0;
ALTER TABLE plain_more ADD PRIMARY KEY (id);
ANALYZE plain_few, plain_more;
CREATE FUNCTION dear(k int) RETURNS bool IMMUTABLE COST 10000000 LANGUAGE plpgsql AS 'BEGIN RETURN 1 / k >= 0; END';
SELECT count(*) FROM (SELECT m.id, (SELECT max(d.k) FROM doubled d WHERE d.k = m.k) AS y FROM plain_more m) z WHERE 100 / (y - 2000) > -1000;
SELECT min(z.id) FROM (SELECT m.id, 1 / m.k + (SELECT count(*) FROM doubled d WHERE d.k = m.k) AS y FROM plain_more m) z WHERE y = 1;
SELECT count(*), sum(y) FROM plain_few LEFT JOIN (SELECT m.id, 1 / m.k + (SELECT count(*) FROM doubled d WHERE d.k = m.k) AS y FROM plain_more m) z USING (id);
SELECT count(*), sum(y) FROM plain_few LEFT JOIN (SELECT m.id, (SELECT y FROM doubled d WHERE d.k = m.k) AS y FROM plain_more m) z USING (id) WHERE id < 10;
SELECT count(*) FROM (SELECT m.id, m.k, (SELECT count(*) FROM doubled d WHERE d.k = m.k) AS n FROM plain_more m) z WHERE n > 1000 AND dear(k);
SELECT y FROM (SELECT m.id, (SELECT max(d.k) FROM doubled d WHERE d.k = m.k) AS y FROM plain_more m) z GROUP BY y HAVING 100 / (y - 2000) > 1000;
SELECT m.id, 1 / m.k AS x FROM plain_more m WHERE (SELECT count(*) FROM doubled d WHERE d.k = m.k) > 0 ORDER BY m.id LIMIT 2;
SELECT 1 / m.k AS x, (SELECT count(*) FROM doubled d WHERE d.k = m.k) AS n FROM plain_more m ORDER BY m.id LIMIT 2;
SELECT m.id FROM plain_more m WHERE (SELECT count(*) FROM doubled d WHERE d.k = m.k) > 0 ORDER BY m.id, 1 / m.k LIMIT 2;
INSERT INTO plain_few VALUES (2000) RETURNING (SELECT count(*) FROM (SELECT (SELECT max(d.k) FROM doubled d WHERE d.k = m.k) AS y FROM (SELECT * FROM plain_more) m) z WHERE 100 / (y - 2000) > -1000) AS n;
INSERT INTO plain_few VALUES (2000) ON CONFLICT (id) DO UPDATE SET id = 2001
	WHERE (SELECT count(*) FROM (SELECT (SELECT max(d.k) FROM doubled d WHERE d.k = m.k) AS y FROM (SELECT * FROM plain_more) m) z WHERE 100 / (y - 2000) > -1000) > 0;
SELECT count(*) FROM (SELECT m.id FROM plain_more m WHERE (SELECT count(*) FROM doubled d WHERE d.k = m.k) > 0 GROUP BY m.id, m.k HAVING (SELECT y FROM doubled d WHERE d.k = m.k) > 0 LIMIT 2) z;
-- harmless ones may
SELECT is_join('SELECT count(*) FROM (SELECT m.id, (SELECT max(d.k) FROM doubled d WHERE d.k = m.k) AS y FROM plain_more m WHERE m.k < 100) z WHERE y > 7') AS harmless,
	is_join('SELECT count(*) FROM (SELECT m.id, (SELECT max(d.k) FROM doubled d WHERE d.k = m.k) AS y FROM plain_more m WHERE m.k < 100) z WHERE 100 / y > 7') AS harmful,
	is_join('SELECT y FROM (SELECT m.id, (SELECT max(d.k) FROM doubled d WHERE d.k = m.k) AS y FROM plain_more m) z GROUP BY y HAVING 100 / (y - 2000) > 1000') AS having;
-- constants may, if they have a value: of others only the planner knows whether anybody needs them
SELECT is_join('SELECT count(*) FROM plain_more m WHERE 5 < (SELECT max(d.k) FROM doubled d WHERE d.k = m.k AND d.y > 4 / 2)') AS value,
	is_join('SELECT count(*) FROM plain_more m WHERE 5 < (SELECT max(d.k) FROM doubled d WHERE d.k = m.k AND d.y > CASE WHEN 1 > 2 THEN 4 / 0 ELSE 1 + 1 END)') AS unseen,
	is_join('SELECT count(*) FROM plain_more m WHERE 5 < (SELECT max(d.k) FROM doubled d WHERE d.k = m.k AND dear(2))') AS function;
SELECT count(*) FROM plain_more m WHERE false AND 5 < (SELECT max(d.k) FROM doubled d WHERE d.k = m.k AND d.y > 4 / 0);
SELECT count(*), count(y) FROM (SELECT CASE WHEN false THEN (SELECT max(d.k) FROM doubled d WHERE d.k = m.k AND d.y > 1 / 0) END AS y FROM plain_more m) z;
-- the error of two rows is not evaluated before a server is asked
CREATE VIEW plain_one AS SELECT m.id, (SELECT y FROM doubled d WHERE d.k = m.k) AS y FROM plain_more m WHERE m.k < 10;
SELECT count(y), sum(n) FROM (SELECT y, (SELECT count(*) FROM stock s WHERE s.k = p.y) AS n FROM plain_one p) z;
SELECT count(*) FROM plain_one p WHERE EXISTS (SELECT FROM stock s WHERE s.k = p.y AND s.k > 1);
DROP VIEW plain_one;
-- and rights are needed only for what is read
CREATE ROLE plain_reader;
CREATE USER MAPPING FOR plain_reader SERVER loopback OPTIONS (user :'USER', password_required 'false');
GRANT SELECT ON wanted, doubled TO plain_reader;
GRANT SELECT (k) ON stock TO plain_reader;
SET ROLE plain_reader;
SELECT count(*), sum(n) FROM (SELECT (SELECT max(q.k) FROM quotas q WHERE q.k = w.k) AS m, (SELECT count(*) FROM doubled d WHERE d.k = w.k) AS n FROM wanted w) z;
SELECT count(*), sum(n) FROM (SELECT (SELECT max(s.x) FROM stock s WHERE s.k = w.k) AS m, (SELECT count(*) FROM stock s WHERE s.k = w.k) AS n FROM wanted w) z;
RESET ROLE;
SELECT is_join('SELECT n FROM (SELECT (SELECT max(s.x) FROM stock s WHERE s.k = w.k) AS m, (SELECT count(*) FROM stock s WHERE s.k = w.k) AS n FROM wanted w) z') AS who_has_rights;
DROP OWNED BY plain_reader;
DROP ROLE plain_reader;
DROP TABLE plain_few, plain_more;
DROP FUNCTION dear;

-- columns of another collation
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE remote.loosely AS SELECT chr(97 + k % 5 - 32 * (k % 2)) COLLATE loose AS t, k FROM remote.stock;
CREATE TABLE remote.otherwise AS SELECT k, CASE k % 2 WHEN 0 THEN 'B' ELSE 'c' END COLLATE "en-x-icu" AS t FROM remote.stock;
CREATE FOREIGN TABLE loosely (t text, k int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE otherwise (k int, t text) SERVER loopback OPTIONS (schema_name 'remote');
ANALYZE loosely, otherwise;
CREATE TABLE letters AS SELECT DISTINCT chr(97 + k % 5) AS t FROM wanted;
INSERT INTO letters SELECT 'letter ' || k FROM wanted;
ANALYZE letters;
CREATE TABLE found AS SELECT t, (SELECT count(*) FROM loosely e WHERE e.t = l.t) AS n FROM letters l;
SELECT * FROM found WHERE n > 0 ORDER BY t;
SELECT count(*) FROM wanted w WHERE 'b' > (SELECT min(t) FROM otherwise o WHERE o.k = w.k);
DROP TABLE found, letters;
DROP FOREIGN TABLE loosely, otherwise;
DROP TABLE remote.loosely, remote.otherwise;
DROP COLLATION loose;

DROP FOREIGN TABLE doubled;
DROP TABLE remote.doubled;

-- another table by the same name
ALTER FOREIGN TABLE stock OPTIONS (table_name 'quotas');
SELECT count(m), sum(m) FROM (SELECT (SELECT count(x) FROM stock s WHERE s.k = w.k) AS m FROM wanted w) z;
SELECT is_join('SELECT id, (SELECT max(x) FROM stock s WHERE s.k = w.k) FROM wanted w');

DROP FUNCTION is_join;
DROP TABLE wanted;
DROP FOREIGN TABLE stock, quotas, noted, guarded, members;
DROP TABLE remote.stock, remote.guarded, remote.members, remote.asked_rows CASCADE;
DROP FUNCTION remote.note_row, remote.may_see;
