--
-- Runtime filters of partitions: each gets the keys that can lie in it, and is
-- not read if there is none.  filter_differences is that of runtime_filter.
--
CREATE SCHEMA parts_there;
SET search_path = filter, public;
SET pg_exchange.join_exchange = off;
SET pg_exchange.lookup_joins = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;

-- A table of foreign partitions, whose remote tables are partitions with the
-- same bounds: so the rows are where PostgreSQL puts them.
CREATE TABLE model (id int, big bigint, item int, code text, amount numeric, half float4, day date, uid uuid);
INSERT INTO model
	SELECT i, i * 10, CASE WHEN i % 10 > 0 THEN i % 8 END, 'code ' || i % 3000, i / 4.0, i / 2.0, date '2026-01-01' + i % 3000,
		md5(i::text)::uuid
	FROM generate_series(0, 11999) i;
CREATE PROCEDURE make_parts(name text, key text, bounds text[]) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE parts_there.%1$s (LIKE model) PARTITION BY %2$s; CREATE TABLE %1$s (LIKE model) PARTITION BY %2$s', name, key);
	FOR i IN 1 .. cardinality(bounds) LOOP
		EXECUTE format('CREATE TABLE parts_there.%1$s_%2$s PARTITION OF parts_there.%1$s %3$s;
			CREATE FOREIGN TABLE %1$s_%2$s PARTITION OF %1$s %3$s SERVER loopback OPTIONS (schema_name ''parts_there'')', name, i, bounds[i]);
	END LOOP;
	EXECUTE format('INSERT INTO parts_there.%1$s SELECT * FROM model', name);
	COMMIT;
	EXECUTE format('ANALYZE %1$s', name);
END
$$;

-- ranges, with a gap for the default partition
CALL make_parts('ranges', 'RANGE (id)', '{FOR VALUES FROM (MINVALUE) TO (3000),FOR VALUES FROM (3000) TO (6000),
	FOR VALUES FROM (8000) TO (11000),DEFAULT}');
SELECT explain_stable('SELECT r.id FROM ranges r JOIN (VALUES (2), (2999), (6500)) k(id) ON r.id = k.id', 'COSTS OFF, ANALYZE, TIMING OFF');
SELECT jsonb_path_query(explain_json('SELECT r.id FROM ranges r JOIN (VALUES (2), (2999), (6500)) k(id) ON r.id = k.id', 'ANALYZE'),
	'strict $.**."Runtime Filters"[*]') - 'Estimated Rows Not Sent' AS filters;
SELECT * FROM filter_differences('SELECT r, k FROM ranges r JOIN (VALUES (2999), (2999)) k(id) ON r.id = k.id');
SELECT * FROM filter_differences('SELECT r, k FROM ranges r JOIN (VALUES (3000), (5999)) k(id) ON r.id = k.id');
SELECT * FROM filter_differences('SELECT r, k FROM ranges r JOIN (VALUES (6000), (7999), (11000), (2000000000)) k(id) ON r.id = k.id');
SELECT * FROM filter_differences('SELECT r, k FROM ranges r JOIN (VALUES (8000), (10999), (NULL)) k(id) ON r.id = k.id');
-- integers of other sizes, also beyond those that the column can have
SELECT * FROM filter_differences('SELECT r, k FROM ranges r JOIN (VALUES (2::int2), (3000)) k(id) ON r.id = k.id');
SELECT * FROM filter_differences('SELECT r, k FROM ranges r JOIN (VALUES (3000::bigint), (4294970296), (-5000000000)) k(id) ON r.id = k.id');
-- no key is theirs: all are null, or in no partition
SELECT * FROM filter_differences('SELECT r, k FROM ranges r JOIN (VALUES (NULL::int), (NULL)) k(id) ON r.id = k.id');
-- another column, and two, one of which is the partitions'
SELECT * FROM filter_differences('SELECT r, k FROM ranges r JOIN (VALUES (20::bigint), (50000)) k(big) ON r.big = k.big');
SELECT * FROM filter_differences('SELECT r, k FROM ranges r JOIN (VALUES (20, ''code 20''), (3100, ''code 100'')) k(id, code) ON r.id = k.id AND r.code = k.code');
-- outer rows whose keys are null, and joins that keep outer rows
SELECT * FROM filter_differences('SELECT r FROM ranges r WHERE id IN (SELECT id FROM item)');
SELECT * FROM filter_differences('SELECT r, i FROM item i LEFT JOIN ranges r ON r.id = i.ten');
SELECT * FROM filter_differences('SELECT r, i FROM ranges r LEFT JOIN item i ON r.id = i.ten');

-- a list; that of null gets no key
CALL make_parts('lists', 'LIST (item)', '{"FOR VALUES IN (1, 3)","FOR VALUES IN (2, 5)",FOR VALUES IN (NULL),DEFAULT}');
SELECT * FROM filter_differences('SELECT l.id, k FROM lists l JOIN (VALUES (1), (3)) k(item) ON l.item = k.item');
SELECT * FROM filter_differences('SELECT l.id, k FROM lists l JOIN (VALUES (5), (NULL), (7), (0)) k(item) ON l.item = k.item');
SELECT * FROM filter_differences('SELECT l.id, k FROM lists l JOIN (VALUES (4::bigint), (-1)) k(item) ON l.item = k.item');
CALL make_parts('null_list', 'LIST (item)', '{"FOR VALUES IN (NULL, 3)",FOR VALUES IN (2),DEFAULT}');
SELECT * FROM filter_differences('SELECT l.id, k FROM null_list l JOIN (VALUES (3), (NULL)) k(item) ON l.item = k.item');
SELECT * FROM filter_differences('SELECT l.id, k FROM null_list l JOIN (VALUES (2), (NULL)) k(item) ON l.item = k.item');
-- no bound has a value
CALL make_parts('null_only', 'LIST (item)', '{FOR VALUES IN (NULL),DEFAULT}');
SELECT * FROM filter_differences('SELECT l.id, k FROM null_only l JOIN (VALUES (2), (NULL)) k(item) ON l.item = k.item');
CALL make_parts('default_only', 'RANGE (id)', '{DEFAULT}');
SELECT * FROM filter_differences('SELECT d.id, k FROM default_only d JOIN (VALUES (2), (NULL)) k(id) ON d.id = k.id');
-- strings
CALL make_parts('names', 'LIST (code)', '{"FOR VALUES IN (''code 3'', ''it''''s'')","FOR VALUES IN (''code 5'')",DEFAULT}');
SELECT * FROM filter_differences('SELECT n.id, k FROM names n JOIN (VALUES (''code 7''), (''code 5''), (''"'')) k(code) ON n.code = k.code');

-- hash, of several types, with moduli that differ
CALL make_parts('hashed', 'HASH (big)', '{"FOR VALUES WITH (MODULUS 2, REMAINDER 1)","FOR VALUES WITH (MODULUS 4, REMAINDER 0)",
	"FOR VALUES WITH (MODULUS 8, REMAINDER 2)","FOR VALUES WITH (MODULUS 8, REMAINDER 6)"}');
SELECT * FROM filter_differences('SELECT h, k FROM hashed h JOIN (VALUES (10::bigint), (70)) k(big) ON h.big = k.big');
SELECT * FROM filter_differences('SELECT h, k FROM hashed h JOIN (VALUES (10), (30)) k(id) ON h.big = k.id');
SELECT * FROM filter_differences('SELECT h, k FROM hashed h JOIN (SELECT (n * 10)::int2 AS n FROM generate_series(1, 100) n) k ON h.big = k.n');
DO $$
DECLARE
	col text;
	thirds text[] := ARRAY(SELECT format('FOR VALUES WITH (MODULUS 3, REMAINDER %s)', i) FROM generate_series(0, 2) i);
BEGIN
	FOREACH col IN ARRAY '{id,code,amount,half,day,uid}'::text[] LOOP
		CALL make_parts('by_' || col, format('HASH (%s)', col), thirds);
	END LOOP;
END
$$;
SELECT col, d.* FROM unnest('{id,code,amount,half,day,uid}'::text[]) col,
	filter_differences(format('SELECT h.id FROM by_%1$s h JOIN (SELECT DISTINCT %1$s FROM model WHERE id IN (7, 8)) k USING (%1$s)', col)) d;

-- several columns: a range by the first one; the rows with nulls in others are in the default partition
CALL make_parts('pairs', 'RANGE (item, id)', '{"FOR VALUES FROM (0, MINVALUE) TO (2, 3000)","FOR VALUES FROM (2, 3000) TO (2, 9000)",
	"FOR VALUES FROM (2, 9000) TO (5, MINVALUE)","FOR VALUES FROM (5, MINVALUE) TO (6, MAXVALUE)",DEFAULT}');
INSERT INTO parts_there.pairs SELECT NULL, 0, i % 8 FROM generate_series(1, 2000) i;
ANALYZE pairs;
SELECT * FROM filter_differences('SELECT p.id, k FROM pairs p JOIN (VALUES (1), (NULL)) k(item) ON p.item = k.item');
SELECT * FROM filter_differences('SELECT p.id, k FROM pairs p JOIN (VALUES (2), (NULL)) k(item) ON p.item = k.item');
SELECT * FROM filter_differences('SELECT p.id, k FROM pairs p JOIN (VALUES (5), (6)) k(item) ON p.item = k.item');
SELECT * FROM filter_differences('SELECT p.id, k FROM pairs p JOIN (VALUES (7), (NULL)) k(item) ON p.item = k.item');
SELECT * FROM filter_differences('SELECT p.id, k FROM pairs p JOIN (VALUES (7), (4000)) k(id) ON p.id = k.id');
CALL make_parts('hash_pairs', 'HASH (item, id)', '{"FOR VALUES WITH (MODULUS 2, REMAINDER 0)","FOR VALUES WITH (MODULUS 2, REMAINDER 1)"}');
SELECT * FROM filter_differences('SELECT p.id, k FROM hash_pairs p JOIN (VALUES (7), (4000)) k(id) ON p.id = k.id');

-- expressions, other equalities and other types get all keys
CALL make_parts('halves', 'RANGE ((id / 2))', '{FOR VALUES FROM (0) TO (3000),FOR VALUES FROM (3000) TO (6000)}');
SELECT * FROM filter_differences('SELECT h.id, k FROM halves h JOIN (VALUES (7), (4000)) k(id) ON h.id = k.id');
CALL make_parts('floats', 'RANGE (half)', '{FOR VALUES FROM (0) TO (3000),FOR VALUES FROM (3000) TO (6000)}');
SELECT * FROM filter_differences('SELECT f.id, k FROM floats f JOIN (VALUES (7.5::float8), (8)) k(half) ON f.half = k.half');
SELECT * FROM filter_differences('SELECT f.id, k FROM floats f JOIN (VALUES (7.5::float4), (8)) k(half) ON f.half = k.half');
CREATE OPERATOR CLASS own_int4_ops FOR TYPE int4 USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int4, int4);
CALL make_parts('own', 'RANGE (id filter.own_int4_ops)', '{FOR VALUES FROM (0) TO (6000),FOR VALUES FROM (6000) TO (12000)}');
SELECT * FROM filter_differences('SELECT o.id, k FROM own o JOIN (VALUES (7), (8)) k(id) ON o.id = k.id');
-- operator classes and collations of strings that have the same equality
CALL make_parts('patterns', 'RANGE (code text_pattern_ops)', '{FOR VALUES FROM (MINVALUE) TO (''code 2''),FOR VALUES FROM (''code 2'') TO (MAXVALUE)}');
SELECT * FROM filter_differences('SELECT p.id, k FROM patterns p JOIN (VALUES (''code 1''), (''code 10'')) k(code) ON p.code = k.code');
CALL make_parts('collated', 'RANGE (code COLLATE "POSIX")', '{FOR VALUES FROM (MINVALUE) TO (''code 2''),FOR VALUES FROM (''code 2'') TO (MAXVALUE)}');
SELECT * FROM filter_differences('SELECT c.id, k FROM collated c JOIN (VALUES (''code 1''), (''code 10'')) k(code) ON c.code = k.code');

-- partitions of partitions, whose columns are in another order
CREATE TABLE tree (code text, id int, item int) PARTITION BY RANGE (id);
CREATE TABLE tree_low (item int, dropped text, id int, code text) PARTITION BY LIST (item);
ALTER TABLE tree_low DROP COLUMN dropped;
CREATE FOREIGN TABLE tree_low_1 (id int, code text, item int) SERVER loopback OPTIONS (schema_name 'parts_there');
CREATE FOREIGN TABLE tree_low_2 (id int, item int, code text) SERVER loopback OPTIONS (schema_name 'parts_there');
CREATE FOREIGN TABLE tree_high (item int, id int, code text) SERVER loopback OPTIONS (schema_name 'parts_there');
CREATE TABLE parts_there.tree_low_1 AS SELECT id, code, item FROM model WHERE id < 6000 AND item < 4;
CREATE TABLE parts_there.tree_low_2 AS SELECT id, item, code FROM model WHERE id < 6000 AND (item >= 4 OR item IS NULL);
CREATE TABLE parts_there.tree_high AS SELECT item, id, code FROM model WHERE id >= 6000;
ALTER TABLE tree_low ATTACH PARTITION tree_low_1 FOR VALUES IN (0, 1, 2, 3);
ALTER TABLE tree_low ATTACH PARTITION tree_low_2 DEFAULT;
ALTER TABLE tree ATTACH PARTITION tree_low FOR VALUES FROM (0) TO (6000);
ALTER TABLE tree ATTACH PARTITION tree_high FOR VALUES FROM (6000) TO (MAXVALUE);
ANALYZE tree, tree_low_1, tree_low_2, tree_high;
SELECT * FROM filter_differences('SELECT t, k FROM tree t JOIN (VALUES (1), (2), (9000)) k(id) ON t.id = k.id');
SELECT * FROM filter_differences('SELECT t, k FROM tree t JOIN (VALUES (1), (2)) k(item) ON t.item = k.item');
SELECT * FROM filter_differences('SELECT t, k FROM tree t JOIN (VALUES (1, 2), (9000, 5)) k(id, item) ON t.id = k.id AND t.item = k.item');
-- a query of a partition does not lock the whole table
BEGIN;
SELECT * FROM filter_differences('SELECT t, k FROM tree_high t JOIN (VALUES (1), (2)) k(id) ON t.id = k.id');
SELECT count(*) FROM pg_locks WHERE relation = 'tree'::regclass AND pid = pg_backend_pid();
COMMIT;
-- the same table by two columns
SELECT * FROM filter_differences('SELECT t, k FROM (SELECT id, code FROM ranges UNION ALL SELECT item, code FROM ranges) t JOIN (VALUES (3), (4000)) k(id) ON t.id = k.id');

-- more keys than are sent each: their bounds decide
CREATE TABLE wide_keys AS SELECT i + 20000 AS id FROM generate_series(1, 12000) i;
ANALYZE wide_keys;
CREATE TABLE parts_there.long AS SELECT i AS id, repeat('pad ', 8) AS pad FROM generate_series(0, 99999) i;
CREATE TABLE long (id int, pad text) PARTITION BY RANGE (id);
DO $$
BEGIN
	FOR i IN 0 .. 9 LOOP
		EXECUTE format('CREATE TABLE parts_there.long_%1$s AS SELECT * FROM parts_there.long WHERE id BETWEEN %2$s AND %2$s + 9999;
			CREATE FOREIGN TABLE long_%1$s PARTITION OF long FOR VALUES FROM (%2$s) TO (%2$s + 10000) SERVER loopback OPTIONS (schema_name ''parts_there'')', i, i * 10000);
	END LOOP;
	EXECUTE format('CREATE TABLE parts_there.long_default (id int, pad text); CREATE FOREIGN TABLE long_default PARTITION OF long DEFAULT SERVER loopback OPTIONS (schema_name ''parts_there'')');
END
$$;
ANALYZE long;
SELECT * FROM filter_differences('SELECT l FROM long l JOIN wide_keys k ON l.id = k.id');
-- a list has values between the bounds, or not; the default partition may have any others; and so may those by hash
CREATE TABLE long_list (id int, pad text) PARTITION BY LIST (id);
CREATE FOREIGN TABLE long_list_1 PARTITION OF long_list FOR VALUES IN (5, 70000) SERVER loopback OPTIONS (schema_name 'parts_there');
CREATE FOREIGN TABLE long_list_2 PARTITION OF long_list FOR VALUES IN (6, 32000, 80000) SERVER loopback OPTIONS (schema_name 'parts_there');
CREATE FOREIGN TABLE long_list_3 PARTITION OF long_list DEFAULT SERVER loopback OPTIONS (schema_name 'parts_there');
CREATE TABLE parts_there.long_list_1 AS SELECT * FROM parts_there.long WHERE id IN (5, 70000);
CREATE TABLE parts_there.long_list_2 AS SELECT * FROM parts_there.long WHERE id IN (6, 32000, 80000);
CREATE TABLE parts_there.long_list_3 AS SELECT * FROM parts_there.long WHERE id NOT IN (5, 6, 32000, 70000, 80000);
CREATE TABLE long_hash (id int, pad text) PARTITION BY HASH (id);
CREATE FOREIGN TABLE long_hash_1 PARTITION OF long_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER loopback OPTIONS (schema_name 'parts_there');
CREATE FOREIGN TABLE long_hash_2 PARTITION OF long_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER loopback OPTIONS (schema_name 'parts_there');
CREATE TABLE parts_there.long_hash_1 AS SELECT * FROM parts_there.long WHERE satisfies_hash_partition('long_hash'::regclass, 2, 0, id);
CREATE TABLE parts_there.long_hash_2 AS SELECT * FROM parts_there.long WHERE satisfies_hash_partition('long_hash'::regclass, 2, 1, id);
ANALYZE long_list, long_hash;
SELECT * FROM filter_differences('SELECT l FROM long_list l JOIN wide_keys k ON l.id = k.id');
SELECT * FROM filter_differences('SELECT l FROM long_hash l JOIN wide_keys k ON l.id = k.id');

-- the join runs again, with the same keys
SELECT * FROM filter_differences('SELECT n, (SELECT count(*) FROM ranges r JOIN item i ON r.id = i.ten WHERE r.big > n) FROM generate_series(0, 2) n');
SELECT * FROM filter_differences('SELECT n, c FROM generate_series(1, 3) n, LATERAL (SELECT count(*) + n FROM ranges r JOIN item i ON r.id = i.ten) x(c)');
-- and reads its inner side again
SET work_mem = '64kB';
SELECT * FROM filter_differences('SELECT n, (SELECT count(*) FROM long l JOIN wide_keys k ON l.id = k.id WHERE l.id + k.id > n * 20000) FROM generate_series(1, 3) n');
RESET work_mem;
SELECT * FROM filter_differences('SELECT r.id FROM ranges r JOIN (SELECT ten FROM item WHERE id < (SELECT count(*) FROM item)) i ON r.id = i.ten');

-- below joins and groups that the servers have for each partition
SELECT * FROM filter_differences('SELECT r.id FROM (SELECT id, count(*) FROM ranges GROUP BY id) r JOIN (VALUES (2), (3500)) k(id) ON r.id = k.id');
SELECT * FROM filter_differences('SELECT * FROM (SELECT r.id FROM ranges r JOIN ranges s USING (id) OFFSET 0) x JOIN (VALUES (2), (3500)) k(id) USING (id)');
SELECT * FROM filter_differences('SELECT * FROM (SELECT s.id, r.item FROM ranges s LEFT JOIN ranges r USING (id) OFFSET 0) x JOIN (VALUES (2), (3500)) k(id) USING (id)');

-- nothing is asked of a partition without keys: its table over there may be missing
ALTER TABLE parts_there.ranges_3 RENAME TO ranges_gone;
SELECT r.id FROM ranges r JOIN (VALUES (2), (3500)) k(id) ON r.id = k.id ORDER BY 1;
SELECT exchange.reset_stats();
SELECT r.id FROM ranges r JOIN (VALUES (2), (NULL)) k(id) ON r.id = k.id ORDER BY 1;
SELECT scans, streams, sessions, filtered_scans, rows, rows_filtered FROM exchange.pg_stat_exchange WHERE srvname = 'loopback';
INSERT INTO many (id) SELECT r.id FROM ranges r JOIN (VALUES (3500), (NULL)) k(id) ON r.id = k.id RETURNING id;
SET pg_exchange.transport = session;
SELECT r.id FROM ranges r JOIN (VALUES (2), (3500)) k(id) ON r.id = k.id ORDER BY 1;
RESET pg_exchange.transport;
-- prepared statements: of other keys, without pg_exchange, and of other partitions
SET plan_cache_mode = force_generic_plan;
PREPARE of_keys (int) AS SELECT r.id FROM ranges r JOIN (SELECT ten FROM item WHERE id < $1) k ON r.id = k.ten + 2990;
EXECUTE of_keys(4);
SELECT line FROM explain_stable('EXECUTE of_keys(1)', 'COSTS OFF, ANALYZE, TIMING OFF') line WHERE line ~ 'Runtime';
SELECT count(*) FROM explain_stable('EXECUTE of_keys(4)', 'COSTS OFF, ANALYZE, TIMING OFF') line WHERE line ~ 'not scanned';
SET pg_exchange.enabled = off;
\set VERBOSITY sqlstate
EXECUTE of_keys(4);
\set VERBOSITY default
RESET pg_exchange.enabled;
ALTER TABLE parts_there.ranges_gone RENAME TO ranges_3;
ALTER TABLE ranges DETACH PARTITION ranges_2;
EXECUTE of_keys(4);
ALTER TABLE ranges ATTACH PARTITION ranges_2 FOR VALUES FROM (3000) TO (6000);
EXECUTE of_keys(4);
DEALLOCATE of_keys;
RESET plan_cache_mode;

-- the planner knows: a lookup would send all keys to each partition
RESET pg_exchange.lookup_joins;
RESET enable_mergejoin;
RESET enable_nestloop;
CREATE TABLE some_keys AS SELECT i * 200 AS id FROM generate_series(1, 400) i;
ANALYZE some_keys;
SELECT substring(line, '(Hash Join|Exchange(Lookup|Keys))') AS node
	FROM explain_stable('SELECT l.pad FROM long l JOIN some_keys k ON l.id = k.id') line WHERE line ~ 'Hash Join|Exchange(Lookup|Keys)';

RESET search_path;
