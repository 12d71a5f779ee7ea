--
-- ExchangeKeyScan: the rows of a heap that have certain keys.
--
-- Each type of key: before all columns of varying width, behind a null, behind text, added later, and behind a dropped column.
CREATE TABLE remote.held (id int NOT NULL, small int2 NOT NULL, plain int NOT NULL, large int8 NOT NULL, gone int8, maybe int2, nullable int, word text,
	after_text int8);
INSERT INTO remote.held SELECT i, (i % 300)::int2, i % 1000, (i % 500) * 10000000000, i, CASE WHEN i % 3 = 0 THEN (i % 100)::int2 END,
	CASE WHEN i % 4 > 0 THEN i % 200 END, repeat('x', i % 40), i % 700 FROM generate_series(1, 6000) i;
ALTER TABLE remote.held DROP COLUMN gone;
ALTER TABLE remote.held ADD COLUMN later int DEFAULT 42, ADD COLUMN empty int;
INSERT INTO remote.held SELECT i, (i % 300)::int2, i % 1000, i, NULL, i, 'y', i, i % 50, i FROM generate_series(6001, 9000) i;
-- not all of them are seen
DELETE FROM remote.held WHERE id % 13 = 0;
UPDATE remote.held SET plain = plain + 1 WHERE id % 17 = 0;
BEGIN;
UPDATE remote.held SET plain = plain + 1 WHERE id % 19 = 0;
ROLLBACK;
ALTER TABLE remote.held SET (parallel_workers = 0);
ANALYZE remote.held;
CREATE FOREIGN TABLE held (id int NOT NULL, small int2, plain int, large int8, maybe int2, nullable int, word text, after_text int8, later int, empty int)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'held');

-- The scans of a sender's plan, and their conditions but for the keys.
CREATE FUNCTION sender_scans(query text, options text DEFAULT 'COSTS OFF', words text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) SELECT exchange.send(%L, t) FROM (%s) t', options,
			'version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 ' || words || 'columns=23:-1', query) LOOP
		IF line ~ 'Scan|Filter|Cond' AND line !~ 'ExchangeSend|ExchangeForward' THEN
			IF line ~ '\mrows=\d+\.\d' THEN
				line := regexp_replace(line, '\mrows=\d+\.\d+', 'rows=' || round(substring(line, '\mrows=(\d+\.\d+)')::numeric));
			END IF;
			line := regexp_replace(line, '\$0|\(InitPlan (?:expr_)?1\)\.col1', '(value)');
			RETURN NEXT trim(regexp_replace(line, '''\{[^}]*\}''', '''(keys)''', 'g'));
		END IF;
	END LOOP;
END
$$;
-- Rows by core and by exchange: how many, how many differ, and the sender's scan.
CREATE FUNCTION key_rows(condition text, OUT rows bigint, OUT differs bigint, OUT scan text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TEMP TABLE wanted AS SELECT h::text AS row FROM remote.held h WHERE %s', condition);
	EXECUTE format('CREATE TEMP TABLE got AS SELECT h::text AS row FROM held h WHERE %s', condition);
	SELECT count(*) INTO rows FROM wanted;
	SELECT count(*) INTO differs FROM ((TABLE wanted EXCEPT ALL TABLE got) UNION ALL (TABLE got EXCEPT ALL TABLE wanted)) x;
	SELECT string_agg(s, '; ') INTO scan FROM sender_scans(format('SELECT id FROM remote.held WHERE %s', condition)) s;
	DROP TABLE wanted, got;
END
$$;
SET pg_exchange.transport = stream;
SELECT * FROM key_rows('small = ANY (''{1,2,3,4,5,6,7,8,9,299}''::int2[])');
SELECT * FROM key_rows('plain = ANY (''{1,2,3,4,5,6,7,8,9,999}'')');
SELECT * FROM key_rows('large = ANY (''{10000000000,20000000000,3,4,5,6,6007,8000,9000,9001}''::int8[])');
SELECT * FROM key_rows('maybe = ANY (''{0,3,6,9,12,15,18,21,NULL,99}''::int2[])');
SELECT * FROM key_rows('nullable = ANY (''{1,2,3,4,5,6,7,8,9,199,8999}'')');
SELECT * FROM key_rows('after_text = ANY (''{1,2,3,4,5,6,7,8,9,699,8999}''::int8[])');
SELECT * FROM key_rows('later = ANY (''{42,2,3,4,5,6,7,8,9}'')');
SELECT * FROM key_rows('empty = ANY (''{6001,2,3,4,5,6,7,8,8999}'')');
SELECT * FROM key_rows('plain = ANY (''{-1,-2,-3,-4,-5,-6,-7,-8,-9}'')');
SELECT * FROM key_rows('plain = ANY (''{NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL}'')');
-- all rows have keys; and both keys of two conditions
SELECT * FROM key_rows(format('id = ANY (%L)', (SELECT array_agg(i) FROM generate_series(1, 9000) i)));
SELECT * FROM key_rows('plain = ANY (''{1,2,3,4,5,6,7,8,9,999}'') AND nullable = ANY (''{1,2,3,4,5,6,7,8,9,199}'')');
-- with other conditions: before it only those that cannot fail
SELECT * FROM key_rows('plain = ANY (''{1,2,3,4,5,6,7,8,9,999}'') AND id > 5000 AND word LIKE ''%x''');
SELECT sender_scans('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'') AND maybe IS DISTINCT FROM (SELECT 10 / min(g) FROM generate_series(0, 3) g)');
SELECT * FROM key_rows('plain = ANY (''{1,2,3,4,5,6,7,8,9,999}'') AND 100 / small > 20');
SELECT * FROM key_rows('plain = ANY (''{1,2,3,4,5,6,7,8,9,999}'') AND small > 0 AND 100 / small > 20');
SELECT sender_scans('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'') OR id = 3');
SELECT sender_scans('SELECT id FROM remote.held WHERE plain + 1 = ANY (''{1,2,3,4,5,6,7,8,9}'')');
-- system columns and whole rows
SELECT count(*), count(DISTINCT ctid) FROM held WHERE plain = ANY ('{1,2,3,4,5,6,7,8,9}');
SELECT sender_scans('SELECT (ctid::text::point)[0]::int FROM remote.held h WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'')', 'COSTS OFF, VERBOSE');

-- Each row that was not sent counts as filtered, and as read.
SELECT sender_scans('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'')', 'COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF');
SELECT explain_stable('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'')', 'COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF');
SELECT pg_stat_force_next_flush();
SELECT seq_tup_read AS before FROM pg_stat_user_tables WHERE relname = 'held' \gset
SELECT count(sent('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'')', '23:-1'));
SELECT pg_stat_force_next_flush();
SELECT seq_tup_read - :before = (SELECT count(*) FROM remote.held) FROM pg_stat_user_tables WHERE relname = 'held';

-- a part of the blocks, as several streams read it
SELECT sender_scans('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'')', words => 'slices=3 slice=1 blocks=60 ');
SET pg_exchange.slices = 3;
SELECT * FROM key_rows('plain = ANY (''{1,2,3,4,5,6,7,8,9,999}'')');
RESET pg_exchange.slices;
SELECT sender_scans('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'') AND ctid > ''(3,0)''');
SELECT c.conditions, k.rows, k.differs FROM (VALUES ('ctid >= ''(3,7)'''), ('ctid < ''(5,9)'''), ('ctid >= ''(3,7)'' AND ctid < ''(5,9)'''),
	('ctid >= ''(5,9)'' AND ctid < ''(3,7)'''), ('ctid < ''(0,0)'''), ('ctid >= ''(4294967295,65535)'''), ('ctid >= ''(2,1)'' AND ctid >= ''(3,1)''')) c(conditions),
	key_rows(format('nullable = ANY (%L) AND %s', (SELECT array_agg(i) FROM generate_series(1, 9000, 7) i), conditions)) k;

-- in workers, also where they do not send
ALTER TABLE remote.held SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT sender_scans('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'')');
SELECT sender_scans('SELECT count(*)::int FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'')');
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
ALTER SERVER loopback OPTIONS (ADD options '-c parallel_setup_cost=0 -c parallel_tuple_cost=0 -c min_parallel_table_scan_size=0');
SET pg_exchange.slices = 1;
SELECT rows, differs FROM key_rows('plain = ANY (''{1,2,3,4,5,6,7,8,9,999}'')');
SELECT count(*), sum(id), max(word) FROM held WHERE plain = ANY ('{1,2,3,4,5,6,7,8,9,999}');
SELECT count(*), sum(id), max(word) FROM remote.held WHERE plain = ANY ('{1,2,3,4,5,6,7,8,9,999}');
RESET pg_exchange.slices;
ALTER SERVER loopback OPTIONS (DROP options);
ALTER TABLE remote.held SET (parallel_workers = 0);

-- anew for each outer row
SELECT sender_scans('SELECT x.n FROM generate_series(2000, 6000, 2000) g(i), LATERAL (SELECT count(*)::int AS n FROM remote.held h
	WHERE h.id + 1 + 2 + 3 + 4 + 5 + 6 > g.i AND h.plain = ANY (''{1,2,3,4,5,6,7,8,9}'') ) x', 'COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF');
SELECT sender_scans('SELECT x.n FROM generate_series(2000, 6000, 2000) g(i), LATERAL (SELECT count(*)::int AS n FROM remote.held h
	WHERE h.id + 1 + 2 + 3 + 4 + 5 + 6 > g.i AND h.plain = ANY (''{1,2,3,4,5,6,7,8,9}'') AND h.ctid >= ''(2,0)'') x', 'COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF');

-- all that is a heap: partitions, materialized views, temporary tables; nothing else
CREATE TABLE remote.split (plain int, note text) PARTITION BY RANGE (plain);
CREATE TABLE remote.split_low (note text, plain int);
ALTER TABLE remote.split ATTACH PARTITION remote.split_low FOR VALUES FROM (0) TO (500);
CREATE TABLE remote.split_high PARTITION OF remote.split FOR VALUES FROM (500) TO (1000);
INSERT INTO remote.split SELECT i, 'note' FROM generate_series(0, 999) i;
CREATE MATERIALIZED VIEW remote.kept AS SELECT * FROM remote.split;
SELECT sender_scans('SELECT plain FROM remote.split WHERE plain = ANY (''{1,2,3,4,5,6,7,8,999}'')', 'COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF');
SELECT sender_scans('SELECT plain FROM remote.kept WHERE plain = ANY (''{1,2,3,4,5,6,7,8,999}'')', 'COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF');
CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE remote.other (plain int) USING other_heap;
SELECT sender_scans('SELECT plain FROM remote.other WHERE plain = ANY (''{1,2,3,4,5,6,7,8,999}'')');
DROP TABLE remote.other;
DROP ACCESS METHOD other_heap;

-- row security: its conditions come first
CREATE ROLE regress_px_held;
GRANT USAGE ON SCHEMA remote TO regress_px_held;
GRANT SELECT ON remote.held TO regress_px_held;
ALTER TABLE remote.held ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON remote.held USING (id % 2 = 1);
SET ROLE regress_px_held;
SELECT sender_scans('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'')');
RESET ROLE;
DROP POLICY odd ON remote.held;
CREATE POLICY low ON remote.held USING (id < 1000);
SET ROLE regress_px_held;
SELECT sender_scans('SELECT id FROM remote.held WHERE plain = ANY (''{1,2,3,4,5,6,7,8,9}'')', 'COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF');
RESET ROLE;
DROP POLICY low ON remote.held;
ALTER TABLE remote.held DISABLE ROW LEVEL SECURITY;

RESET pg_exchange.transport;
DROP FOREIGN TABLE held;
DROP MATERIALIZED VIEW remote.kept;
DROP TABLE remote.held, remote.split;
DROP FUNCTION key_rows, sender_scans;
REVOKE USAGE ON SCHEMA remote FROM regress_px_held;
DROP ROLE regress_px_held;
