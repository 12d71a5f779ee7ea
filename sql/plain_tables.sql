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
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM stock s WHERE s.k = w.k) AS m FROM wanted w OFFSET 0) z;
RESET pg_exchange.transport;

-- a table
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM stock s WHERE s.k = w.k) AS m FROM wanted w OFFSET 0) z;
SELECT is_join('SELECT id, (SELECT max(x) FROM stock s WHERE s.k = w.k) FROM wanted w');

-- views
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM quotas q WHERE q.k = w.k) AS m FROM wanted w OFFSET 0) z;
SELECT count(m), sum(m) FROM (SELECT (SELECT count(*) FROM quotas q WHERE q.k = w.k AND x > 3) AS m FROM wanted w OFFSET 0) z;
SELECT count(*) FROM wanted w WHERE id > (SELECT sum(x) FROM quotas q WHERE q.k = w.k);
SELECT is_join('SELECT id, (SELECT max(x) FROM quotas q WHERE q.k = w.k) FROM wanted w');
BEGIN;
SELECT count(m), sum(m) FROM (SELECT (SELECT sum(x) FROM noted n WHERE n.k = w.k) AS m FROM wanted w OFFSET 0) z;
COMMIT;
SELECT count(*), min(k) FROM remote.asked_rows;

-- row security, and a partition that is a view elsewhere
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM guarded g WHERE g.k = w.k) AS m FROM wanted w OFFSET 0) z;
SELECT is_join('SELECT id, (SELECT max(x) FROM guarded g WHERE g.k = w.k) FROM wanted w');
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM members g WHERE g.k = w.k) AS m FROM wanted w WHERE id < 50 OFFSET 0) z;
SELECT is_join('SELECT id, (SELECT max(x) FROM members g WHERE g.k = w.k) FROM wanted w');

-- columns of other types, a domain, columns and rights that are missing
CREATE TABLE remote.texts AS SELECT k, CASE k WHEN 2900 THEN 'abc' ELSE y::text END AS x FROM remote.stock;
CREATE FOREIGN TABLE texts (k int, x int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE DOMAIN not_96 AS int CHECK (VALUE <> 96);
CREATE FOREIGN TABLE domains (k int, x not_96 OPTIONS (column_name 'y')) SERVER loopback OPTIONS (schema_name 'remote', table_name 'stock');
CREATE FOREIGN TABLE fewer (k int, x int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'stock');
UPDATE pg_class SET reltuples = 3000, relpages = 14 WHERE oid IN ('texts'::regclass, 'domains'::regclass, 'fewer'::regclass);
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM texts t WHERE t.k = w.k) AS m FROM wanted w OFFSET 0) z;
SELECT count(m), sum(m) FROM (SELECT (SELECT max(x) FROM domains t WHERE t.k = w.k) AS m FROM wanted w WHERE id < 80 OFFSET 0) z;
SELECT count(m) FROM (SELECT CASE WHEN id < 0 THEN (SELECT max(x) FROM fewer s WHERE s.k = w.k) END AS m FROM wanted w OFFSET 0) z;
DROP FOREIGN TABLE texts, domains, fewer;
DROP DOMAIN not_96;
DROP TABLE remote.texts;

-- another table by the same name
ALTER FOREIGN TABLE stock OPTIONS (table_name 'quotas');
SELECT count(m), sum(m) FROM (SELECT (SELECT count(x) FROM stock s WHERE s.k = w.k) AS m FROM wanted w OFFSET 0) z;
SELECT is_join('SELECT id, (SELECT max(x) FROM stock s WHERE s.k = w.k) FROM wanted w');

DROP FUNCTION is_join;
DROP TABLE wanted;
DROP FOREIGN TABLE stock, quotas, noted, guarded, members;
DROP TABLE remote.stock, remote.guarded, remote.members, remote.asked_rows CASCADE;
DROP FUNCTION remote.note_row, remote.may_see;
