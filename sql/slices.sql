--
-- One remote table read in several block ranges at a time.
--
CREATE TABLE remote.big AS
	SELECT i AS id, i % 100 AS k, repeat('x', i % 50) AS v FROM generate_series(1, 20000) i;
DELETE FROM remote.big WHERE id BETWEEN 5000 AND 9000;
VACUUM remote.big;
INSERT INTO remote.big SELECT i, i % 100, 'late' FROM generate_series(30000, 30500) i;
CREATE FOREIGN TABLE big (id int, k int, v text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'big');
CREATE TABLE remote.labels AS SELECT k, 'label ' || k AS label FROM generate_series(0, 120) AS g(k);
CREATE FOREIGN TABLE labels (k int, label text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'labels');
ANALYZE big;
ANALYZE labels;

SET pg_exchange.slices = 3;
SELECT explain_stable('SELECT * FROM big', 'COSTS OFF, ANALYZE, VERBOSE, TIMING OFF');
SELECT * FROM exchange_differences('SELECT * FROM big');
SELECT * FROM exchange_differences('SELECT v, id FROM big WHERE k < 30');
SELECT * FROM exchange_differences('SELECT * FROM big WHERE id = 77');
SELECT * FROM exchange_differences('SELECT id FROM big WHERE false OR id < 0');
SELECT count(*) FROM (SELECT * FROM big OFFSET 0) b;
SELECT count(*) FROM (SELECT FROM big OFFSET 0) b;

-- joins: a table of which each row counts once
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT explain_stable('SELECT b.id, l.label FROM big b LEFT JOIN labels l USING (k)', 'COSTS OFF, ANALYZE, TIMING OFF');
SELECT * FROM exchange_differences('SELECT b.id, l.label FROM big b JOIN labels l USING (k)');
SELECT * FROM exchange_differences('SELECT b.id, l.label FROM big b LEFT JOIN labels l USING (k)');
SELECT * FROM exchange_differences('SELECT b.id, l.label FROM labels l LEFT JOIN big b USING (k)');
SELECT * FROM exchange_differences('SELECT b.id, l.label FROM labels l FULL JOIN big b USING (k)');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;

-- what falls apart into no slices, and why
CREATE FUNCTION not_sliced(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT trim(line) FROM explain_stable(query, 'COSTS OFF, ANALYZE, VERBOSE, TIMING OFF') line WHERE line ~ 'Slice'
$$;
CREATE VIEW remote.sorted AS SELECT * FROM remote.big ORDER BY id;
CREATE VIEW remote.both_ways AS SELECT * FROM remote.big UNION ALL SELECT * FROM remote.big;
CREATE TABLE remote.parent (id int, k int, v text);
CREATE TABLE remote.child () INHERITS (remote.parent);
INSERT INTO remote.child SELECT * FROM remote.big;
CREATE FOREIGN TABLE view (id int, k int, v text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'sorted');
CREATE FOREIGN TABLE both_ways (id int, k int, v text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'both_ways');
CREATE FOREIGN TABLE family (id int, k int, v text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'parent');
SELECT * FROM not_sliced('SELECT * FROM big');
SELECT * FROM not_sliced('SELECT * FROM labels');
SELECT * FROM not_sliced('SELECT k, count(*) FROM big GROUP BY k');
SELECT * FROM not_sliced('SELECT DISTINCT k FROM big');
SELECT * FROM not_sliced('SELECT * FROM big LIMIT 10');
SELECT * FROM not_sliced('SELECT * FROM big ORDER BY id');
SELECT * FROM not_sliced('SELECT * FROM view');
SELECT * FROM not_sliced('SELECT * FROM both_ways');
SELECT * FROM not_sliced('SELECT * FROM family');
-- nor what a table is joined with, if that would be evaluated for each slice, and could differ
CREATE VIEW remote.ranked AS SELECT id AS ranked, row_number() OVER (ORDER BY k) AS place FROM remote.big;
CREATE VIEW remote.one AS SELECT id AS one_id FROM (SELECT id FROM remote.big LIMIT 1) b;
CREATE VIEW remote.by_k AS SELECT k AS group_k, count(*) AS n FROM remote.big GROUP BY k;
CREATE VIEW remote.numbered AS SELECT n AS numbered FROM generate_series(1, 10) AS g(n);
IMPORT FOREIGN SCHEMA remote LIMIT TO (ranked, one, by_k, numbered) FROM SERVER loopback INTO public;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT * FROM not_sliced('SELECT b.id, place FROM big b JOIN ranked ON id = ranked');
SELECT * FROM not_sliced('SELECT b.id, one_id FROM big b JOIN one ON id <> one_id');
SELECT * FROM not_sliced('SELECT b.id, n FROM big b JOIN by_k ON k = group_k');
SELECT * FROM not_sliced('SELECT b.id FROM big b JOIN numbered ON k = numbered');
SELECT * FROM not_sliced('SELECT b.id, label FROM big b JOIN labels l USING (k)');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;
DROP FOREIGN TABLE ranked, one, by_k, numbered;
DROP VIEW remote.ranked, remote.one, remote.by_k, remote.numbered;
SELECT * FROM exchange_differences('SELECT * FROM view');
SELECT * FROM exchange_differences('SELECT * FROM both_ways');
SELECT * FROM exchange_differences('SELECT * FROM family');

-- fewer connections than slices: one after the other
SET pg_exchange.max_connections_per_server = 1;
SELECT * FROM exchange_differences('SELECT * FROM big');
SELECT * FROM exchange_differences('SELECT a.id, b.v FROM (SELECT * FROM big OFFSET 0) a JOIN (SELECT * FROM big OFFSET 0) b ON a.id = b.id AND a.v = b.v');
BEGIN;
DECLARE a CURSOR FOR SELECT id FROM big;
DECLARE b CURSOR FOR SELECT id FROM big;
MOVE 10 FROM a;
MOVE 10 FROM b;
SELECT n FROM rest_of('a');
SELECT n FROM rest_of('b');
COMMIT;
SET pg_exchange.max_connections_per_server = 2;
SELECT * FROM exchange_differences('SELECT * FROM big');
RESET pg_exchange.max_connections_per_server;

-- rescans
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*) FROM generate_series(1, 3) x, LATERAL (SELECT * FROM big OFFSET 0) b;
SELECT count(*) FROM generate_series(1, 3) x, LATERAL (SELECT * FROM big WHERE id > x * 1000 OFFSET 0) b;
SELECT count(*) FROM generate_series(1, 3) x, LATERAL (SELECT * FROM (SELECT * FROM big OFFSET 0) b LIMIT 10) b;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- partitions in slices
SELECT * FROM exchange_differences('SELECT * FROM (SELECT * FROM big UNION ALL SELECT * FROM family) u');

\c

-- asked by hand
SELECT exchange.send('version=1 encodings=1 codec=none level=0 batch_rows=100 batch_bytes=65536 server_version=150000 slices=2 slice=2 blocks=10 columns=23:-1', t.*)
	FROM (SELECT id FROM remote.big) t;
SELECT exchange.send('version=1 encodings=1 codec=none level=0 batch_rows=100 batch_bytes=65536 server_version=150000 slices=2 slice=1 blocks=10 columns=23:-1', t.*)
	FROM (SELECT id FROM remote.big LIMIT 5) t;
