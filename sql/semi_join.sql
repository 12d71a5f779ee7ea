--
-- IN, EXISTS and NOT EXISTS that the server evaluates.
--
CREATE SCHEMA semi_join_test;
SET search_path = semi_join_test, public;
CREATE TABLE remote.so (id int, k int, t text, c varchar(10), d date, u text COLLATE "C");
CREATE TABLE remote.si (id int, k bigint, t text, c varchar(10), d timestamp, u text COLLATE "C");
INSERT INTO remote.so SELECT i, nullif(i % 50, 7), 't' || i % 20, 'c' || i % 7, date '2024-01-01' + i % 30, chr(65 + i % 26) FROM generate_series(1, 2000) i;
INSERT INTO remote.si SELECT i, nullif(i % 90, 8), 't' || i % 31, 'c' || i % 5, timestamp '2024-01-01' + i % 40 * interval '12 hours', chr(60 + i % 12) FROM generate_series(1, 3000, 4) i;
CREATE FOREIGN TABLE so (id int, k int, t text, c varchar(10), d date, u text COLLATE "C") SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE si (id int, k bigint, t text, c varchar(10), d timestamp, u text COLLATE "C") SERVER loopback OPTIONS (schema_name 'remote');
ANALYZE so, si;

-- Is the join made there, by postgres_fdw since 17 if it is a semi-join, and is
-- the answer that of postgres_fdw?
CREATE FUNCTION semi_join(query text, OUT joined_there boolean, OUT same boolean, OUT nrows bigint) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	answers text[];
	answer text;
	n bigint;
BEGIN
	joined_there := false;
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		joined_there := joined_there OR line ~ 'EXISTS \(SELECT (1|NULL) FROM';
	END LOOP;
	FOR i IN 1..2 LOOP
		PERFORM set_config('pg_exchange.enabled', CASE i WHEN 1 THEN 'off' ELSE 'on' END, false);
		EXECUTE format('SELECT count(*), md5(string_agg(q::text, '','' ORDER BY q::text COLLATE "C")) FROM (%s) q', query) INTO n, answer;
		answers := answers || concat(n, answer);
		nrows := n;
	END LOOP;
	same := answers[1] = answers[2];
END
$$;

EXPLAIN (VERBOSE, COSTS OFF) SELECT o.id, o.t FROM so o WHERE o.id < 1000 AND NOT EXISTS (SELECT FROM si i WHERE i.k = o.k AND i.d > o.d);
EXPLAIN (VERBOSE, COSTS OFF) SELECT o.id FROM so o WHERE NOT EXISTS (SELECT FROM si i WHERE i.k = o.k AND i.id <> o.id);
SELECT q, j.* FROM unnest(ARRAY[
	'SELECT * FROM so o WHERE EXISTS (SELECT FROM si i WHERE i.k = o.k)',
	'SELECT * FROM so o WHERE NOT EXISTS (SELECT FROM si i WHERE i.k = o.k)',
	'SELECT id FROM so o WHERE k IN (SELECT k FROM si i WHERE i.id > 100)',
	'SELECT id FROM so o WHERE t IN (SELECT t FROM si i)',
	'SELECT id FROM so o WHERE c IN (SELECT c FROM si i) AND t <> ''t3''',
	'SELECT id FROM so o WHERE c IN (SELECT t FROM si i)',
	'SELECT id FROM so o WHERE NOT EXISTS (SELECT FROM si i WHERE i.k = o.k AND i.id <> o.id AND i.t < o.t)',
	'SELECT id FROM so o WHERE EXISTS (SELECT FROM si i WHERE i.u = o.u AND o.d = i.d)',
	'SELECT o.id, p.t FROM so o JOIN so p ON o.id = p.id WHERE EXISTS (SELECT FROM si i WHERE i.k = o.k AND i.id <> p.id)',
	'SELECT o.id FROM so o WHERE EXISTS (SELECT FROM si i WHERE i.k = o.k AND i.id > 5) AND NOT EXISTS (SELECT FROM si i WHERE i.k = o.id)',
	'SELECT o.id, s.k FROM so o LEFT JOIN si s ON s.k = o.k WHERE s.k IS NULL',
	'SELECT o.k, count(*) FROM so o WHERE EXISTS (SELECT FROM si i WHERE i.k = o.k) GROUP BY o.k',
	'SELECT o FROM so o WHERE NOT EXISTS (SELECT FROM si i WHERE i.k = o.k)',
	'SELECT o.tableoid::regclass, o.id FROM so o WHERE NOT EXISTS (SELECT FROM si i WHERE i.k = o.k)',
	'SELECT id FROM so o WHERE k NOT IN (SELECT k FROM si i WHERE k IS NOT NULL)',
	'SELECT id FROM so o WHERE NOT EXISTS (SELECT FROM si i WHERE i.k = o.k + 1)',
	'SELECT id FROM so o WHERE EXISTS (SELECT FROM si i WHERE i.k = o.k AND random() >= 0)',
	'SELECT id FROM so o WHERE EXISTS (SELECT FROM si i WHERE i.k = o.k LIMIT 5)',
	'SELECT id FROM (SELECT * FROM so o WHERE EXISTS (SELECT FROM si i WHERE i.k = o.k) ORDER BY id LIMIT 7) s']) q, semi_join(q) j;

-- columns of other types than over there are compared as they are here
CREATE TABLE remote.semi_mixed AS SELECT id, k::text AS k, id / 3.0 AS n FROM remote.so;
CREATE FOREIGN TABLE mixed (id int, k int, n numeric(10,0)) SERVER loopback OPTIONS (schema_name 'remote', table_name 'semi_mixed');
ANALYZE mixed;
SELECT q, j.* FROM unnest(ARRAY[
	'SELECT id FROM so o WHERE NOT EXISTS (SELECT FROM mixed m WHERE m.k = o.k)',
	'SELECT id FROM mixed m WHERE NOT EXISTS (SELECT FROM si i WHERE i.k = m.k)',
	'SELECT id FROM mixed m WHERE NOT EXISTS (SELECT FROM mixed x WHERE x.n = m.id)']) q, semi_join(q) j;

-- parameters
PREPARE anti(int, text) AS SELECT count(*) FROM so o WHERE o.id > $1 AND NOT EXISTS (SELECT FROM si i WHERE i.k = o.k);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE anti(1000, 'x');
EXECUTE anti(1000, 'x');
EXECUTE anti(1900, 'x');
RESET plan_cache_mode;

-- partitions, pair by pair
CREATE TABLE remote.po0 AS SELECT * FROM remote.so WHERE id % 2 = 0;
CREATE TABLE remote.po1 AS SELECT * FROM remote.so WHERE id % 2 = 1;
CREATE TABLE remote.pi0 AS SELECT id % 1500 AS id, k FROM remote.si WHERE id % 1500 % 2 = 0;
CREATE TABLE remote.pi1 AS SELECT id % 1500 AS id, k FROM remote.si WHERE id % 1500 % 2 = 1;
CREATE TABLE po (id int, k int, t text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE po0 PARTITION OF po FOR VALUES FROM (0) TO (700) SERVER loopback OPTIONS (schema_name 'remote', table_name 'po0');
CREATE FOREIGN TABLE po1 PARTITION OF po FOR VALUES FROM (700) TO (3000) SERVER loopback OPTIONS (schema_name 'remote', table_name 'po1');
DELETE FROM remote.po0 WHERE id >= 700;
DELETE FROM remote.po1 WHERE id < 700;
CREATE TABLE pi (id int, k bigint) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE pi0 PARTITION OF pi FOR VALUES FROM (0) TO (700) SERVER loopback OPTIONS (schema_name 'remote', table_name 'pi0');
CREATE FOREIGN TABLE pi1 PARTITION OF pi FOR VALUES FROM (700) TO (3000) SERVER loopback OPTIONS (schema_name 'remote', table_name 'pi1');
DELETE FROM remote.pi0 WHERE id >= 700;
DELETE FROM remote.pi1 WHERE id < 700;
ANALYZE po, pi;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM po WHERE NOT EXISTS (SELECT FROM pi WHERE pi.id = po.id AND pi.k <> po.k);
SELECT q, j.* FROM unnest(ARRAY[
	'SELECT * FROM po WHERE EXISTS (SELECT FROM pi WHERE pi.id = po.id AND pi.k <> po.k)',
	'SELECT * FROM po WHERE NOT EXISTS (SELECT FROM pi WHERE pi.id = po.id AND pi.k = po.k)',
	'SELECT po.t, count(*) FROM po WHERE id IN (SELECT id FROM pi) GROUP BY po.t']) q, semi_join(q) j;

-- not for rows that are locked, or behind a security barrier
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM so WHERE t <> 't4';
SELECT * FROM semi_join('SELECT id FROM barrier b WHERE EXISTS (SELECT FROM si i WHERE i.k = b.k)');
EXPLAIN (VERBOSE, COSTS OFF) SELECT o.id FROM so o WHERE EXISTS (SELECT FROM si i WHERE i.k = o.k) FOR UPDATE;
DROP SCHEMA semi_join_test CASCADE;
DROP TABLE remote.so, remote.si, remote.po0, remote.po1, remote.pi0, remote.pi1, remote.semi_mixed;
