--
-- Partitions that are pruned when the query runs, below joins and aggregates
-- of partitions.
--
SELECT remote_table('lp_' || n, n * 1000, n * 1000 + 999) FROM generate_series(0, 2) n;
CREATE TABLE lp (id int, k int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE lp_0 PARTITION OF lp FOR VALUES FROM (0) TO (1000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'lp_0');
CREATE FOREIGN TABLE lp_1 PARTITION OF lp FOR VALUES FROM (1000) TO (2000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'lp_1');
CREATE TABLE lp_rest PARTITION OF lp FOR VALUES FROM (2000) TO (9000) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE lp_2 PARTITION OF lp_rest FOR VALUES FROM (2000) TO (3000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'lp_2');
CREATE TABLE lp_here PARTITION OF lp_rest FOR VALUES FROM (3000) TO (4000);
INSERT INTO lp SELECT i, i % 100, 'row ' || i FROM generate_series(3000, 3999) i;
ANALYZE lp;

-- Is the result that of postgres_fdw, and how many partitions are not begun,
-- or not executed?  The server nowhere cannot be reached.
CREATE SERVER nowhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1', connect_timeout '2');
CREATE USER MAPPING FOR CURRENT_USER SERVER nowhere;
CREATE FUNCTION pruned(query text, OUT same bool, OUT rows int, OUT partitions int) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plain text[];
	result text[];
BEGIN
	PERFORM set_config('pg_exchange.enabled', 'off', true);
	EXECUTE format('PREPARE q AS SELECT coalesce(array_agg(t::text ORDER BY t::text), ''{}'') FROM (%s) t', query);
	EXECUTE 'EXECUTE q(' || current_setting('lp.bound') || ')' INTO plain;
	DEALLOCATE q;
	PERFORM set_config('pg_exchange.enabled', 'on', true);
	EXECUTE format('PREPARE q AS SELECT coalesce(array_agg(t::text ORDER BY t::text), ''{}'') FROM (%s) t', query);
	EXECUTE 'EXECUTE q(' || current_setting('lp.bound') || ')' INTO result;
	same := plain = result;
	rows := cardinality(result);
	partitions := 0;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE q(' || current_setting('lp.bound') || ')' LOOP
		partitions := partitions + coalesce(substring(line, 'Subplans Removed: (\d+)'), '0')::int;
		IF line ~ '(ExchangeReceive|Aggregate|Join).*never executed' THEN
			partitions := partitions + 1;
		END IF;
	END LOOP;
	DEALLOCATE q;
END
$$;
SET plan_cache_mode = force_generic_plan;
SET lp.bound = 1000;

-- Aggregates in two steps, and of whole groups: one server is asked.
SELECT explain_stable('SELECT count(*), sum(k) FROM lp WHERE id < current_setting(''lp.bound'')::int');
PREPARE q(int) AS SELECT count(*), sum(k) FROM lp WHERE id < $1;
SELECT explain_stable('EXECUTE q(1000)');
EXECUTE q(1000);
EXECUTE q(-5);
EXECUTE q(NULL);
DEALLOCATE q;
SELECT * FROM pruned('SELECT count(*), sum(k) FROM lp WHERE id < $1');
SELECT * FROM pruned('SELECT count(*), sum(k), avg(k) FROM lp WHERE id = $1');
SELECT * FROM pruned('SELECT k, count(*) FROM lp WHERE id < $1 GROUP BY k');
SELECT * FROM pruned('SELECT id, count(*), max(v) FROM lp WHERE id < $1 GROUP BY id');
SELECT * FROM pruned('SELECT k, count(*) FROM lp WHERE id = ANY (ARRAY[$1, 3]) GROUP BY k');
SELECT * FROM pruned('SELECT count(*) FROM lp WHERE id BETWEEN $1 AND 2500 AND v <> pg_backend_pid()::text');
SELECT * FROM pruned('SELECT id % 10, count(*) FROM lp WHERE id >= $1 * 3 GROUP BY 1');
-- a value that a subquery computes, a new one for each row
SELECT * FROM pruned('SELECT count(*), sum(k) FROM lp WHERE id < (SELECT min(id) + $1 FROM lp_here) - 3000');
SELECT * FROM pruned('SELECT n, (SELECT count(*) FROM lp WHERE id BETWEEN n AND n + $1 / 2) FROM generate_series(0, 4000, 900) n');
-- The value is first wanted where the server is asked about types.
SELECT * FROM pruned('SELECT z.k, count(*), max(z.v) FROM (SELECT id, k, v FROM lp UNION ALL SELECT id, k, v FROM lp) z
					 WHERE z.id > (SELECT min(x.id) + $1 FROM lp_here x JOIN lp_here y ON x.id = y.id) - 3000 GROUP BY z.k');
SET enable_sort = off;
SELECT * FROM pruned('SELECT z.k, count(*), max(z.v) FROM (SELECT id, k, v FROM lp UNION ALL SELECT id, k, v FROM lp) z
					 WHERE z.id > (SELECT min(x.id) + $1 FROM lp_here x JOIN lp_here y ON x.id = y.id) - 3000 GROUP BY z.k');
RESET enable_sort;
-- a condition on one table of a join with the other one's keys
SELECT * FROM pruned('SELECT n, (SELECT sum(a.id) FROM lp a JOIN lp b ON a.id = b.id WHERE b.id IN (n, n + $1) AND a.k < n % 100) FROM generate_series(0, 4000, 450) n');
BEGIN;
SET LOCAL pg_exchange.partitionwise = off;
SET LOCAL pg_exchange.lookup_joins = off;
SET LOCAL pg_exchange.join_exchange = off;
SET LOCAL enable_nestloop = off;
SET LOCAL enable_mergejoin = off;
SELECT * FROM pruned('SELECT n, (SELECT sum(a.id) FROM lp a JOIN lp b ON a.id = b.id WHERE b.id IN (n, n + $1)) FROM generate_series(0, 4000, 450) n');
SELECT * FROM pruned('SELECT n, (SELECT sum(a.id) FROM lp a JOIN lp b ON a.id = b.id WHERE b.id IN (n, n + $1) AND a.id < 5000) FROM generate_series(0, 4000, 450) n');
SELECT * FROM pruned('SELECT n, (SELECT sum(a.id) FROM lp a JOIN lp b ON a.id = b.id WHERE b.id IN (n, n + $1) AND a.k < $1) FROM generate_series(0, 4000, 450) n');
COMMIT;
-- each query level for itself
SELECT * FROM pruned('SELECT * FROM (SELECT count(*) FROM lp WHERE id < $1) a, (SELECT max(k) FROM lp WHERE id > $1 * 2) b');
SELECT * FROM pruned('SELECT count(*) FROM lp WHERE id < $1 UNION ALL SELECT sum(k) FROM lp WHERE id >= $1');
SELECT * FROM pruned('SELECT sum(n) FROM (SELECT k, count(*) AS n FROM lp WHERE id < $1 GROUP BY k UNION ALL SELECT id, 1 FROM lp WHERE id > $1) x');
-- a condition without columns
SELECT * FROM pruned('SELECT count(*) FROM lp WHERE $1 > 5000');
SELECT * FROM pruned('SELECT k, count(*) FROM lp WHERE $1 > 5000 AND id < $1 GROUP BY k');
SET enable_partition_pruning = off;
SELECT * FROM pruned('SELECT count(*), sum(k) FROM lp WHERE id < $1');
RESET enable_partition_pruning;

-- Joins of partitions.
SET enable_partitionwise_join = on;
SELECT * FROM pruned('SELECT a.v, b.k FROM lp a JOIN lp b USING (id) WHERE id < $1');
SELECT * FROM pruned('SELECT a.k, count(*) FROM lp a JOIN lp b USING (id) WHERE a.id < $1 AND b.k = 7 GROUP BY a.k');
SELECT * FROM pruned('SELECT a.id, b.k FROM lp a LEFT JOIN lp b ON a.id = b.id AND b.k = 7 WHERE a.id >= $1 * 2');
SELECT * FROM pruned('SELECT a.id FROM lp a WHERE EXISTS (SELECT FROM lp b WHERE a.id = b.id AND b.k < 7 AND b.id < $1)');
-- rows of partitions that the other side has not
SELECT * FROM pruned('SELECT a.id, b.k FROM lp a LEFT JOIN lp b ON a.id = b.id AND b.id < $1');
SELECT * FROM pruned('SELECT a.k, count(b.k), count(*) FROM lp a LEFT JOIN lp b ON a.id = b.id AND b.id < $1 GROUP BY a.k');
SELECT * FROM pruned('SELECT a.id, b.k FROM (SELECT * FROM lp WHERE id < $1) b RIGHT JOIN lp a ON a.id = b.id');
SELECT * FROM pruned('SELECT a.id, b.k FROM lp a FULL JOIN (SELECT * FROM lp WHERE id < $1) b ON a.id = b.id');
SELECT * FROM pruned('SELECT count(*) FROM (SELECT * FROM lp WHERE id < $1) a FULL JOIN (SELECT * FROM lp WHERE id > $1 / 2) b ON a.id = b.id');
SELECT * FROM pruned('SELECT a.id FROM lp a WHERE NOT EXISTS (SELECT FROM lp b WHERE a.id = b.id AND b.id < $1)');
SELECT * FROM pruned('SELECT k, count(*) FROM lp a WHERE NOT EXISTS (SELECT FROM lp b WHERE a.id = b.id AND b.id < $1) GROUP BY k');
-- keys that are compared, but not equal; or only where another table has rows; or in another way
SELECT * FROM pruned('SELECT count(*), sum(a.id) FROM lp a JOIN lp b ON a.id = b.id WHERE a.id >= $1 AND EXISTS (SELECT FROM lp c WHERE c.k = a.k AND c.id <> a.id AND c.id > 3000)');
SELECT * FROM pruned('SELECT count(*), sum(a.id), count(e.id) FROM lp a JOIN lp d ON a.id = d.id JOIN lp b ON a.k = b.k LEFT JOIN lp_here e ON a.id = b.id AND e.id = a.id
					 WHERE a.id >= $1 AND b.id BETWEEN 3000 AND 3005');
CREATE TABLE remote.lpt_0 (t text, x int);
CREATE TABLE remote.lpt_1 (t text, x int);
CREATE TABLE lpt (t text, x int) PARTITION BY RANGE (t);
CREATE FOREIGN TABLE lpt_0 PARTITION OF lpt FOR VALUES FROM (MINVALUE) TO ('M ') SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE lpt_1 PARTITION OF lpt FOR VALUES FROM ('M ') TO (MAXVALUE) SERVER loopback OPTIONS (schema_name 'remote');
CREATE TABLE lpt_own (t text, x int) PARTITION BY RANGE (t);
CREATE TABLE lpt_own_0 PARTITION OF lpt_own FOR VALUES FROM (MINVALUE) TO ('M ');
CREATE TABLE lpt_own_1 PARTITION OF lpt_own FOR VALUES FROM ('M ') TO (MAXVALUE);
INSERT INTO lpt SELECT t, x FROM unnest('{A,M,"M ",m}'::text[]) t, generate_series(1, 200) x;
INSERT INTO lpt_own TABLE lpt;
ANALYZE lpt, lpt_own;
SET pg_exchange.lookup_joins = off;
SET pg_exchange.join_exchange = off;
SET enable_nestloop = off;
SELECT * FROM pruned('SELECT count(*), sum(a.x) FROM lpt a JOIN lpt b ON a.t = b.t AND a.x = b.x WHERE a.x >= $1 - 900 AND a.t >= repeat(''A'', $1 / 1000)
					 AND EXISTS (SELECT FROM lpt_own c WHERE c.t::bpchar = a.t::bpchar AND c.t <= ''M'' AND c.x >= a.x + b.x - 200)');
RESET pg_exchange.lookup_joins;
RESET pg_exchange.join_exchange;
RESET enable_nestloop;
-- GEQO frees what it has tried
SET geqo_threshold = 2;
SELECT * FROM pruned('SELECT count(*) FROM lp a WHERE a.id < $1 AND EXISTS (SELECT FROM lp b WHERE b.id = a.id AND b.k = a.k)');
SELECT * FROM pruned('SELECT count(*) FROM lp a WHERE a.id < $1 AND NOT EXISTS (SELECT FROM lp b WHERE b.id = a.id AND b.k = a.k)');
SELECT * FROM pruned('SELECT a.k, count(*) FROM lp a JOIN lp b USING (id) JOIN lp c USING (id) WHERE a.id < $1 AND EXISTS (SELECT FROM lp d WHERE d.id = a.id) GROUP BY a.k');
RESET geqo_threshold;
RESET enable_partitionwise_join;

-- Hash partitions, and two keys.
CREATE TABLE lph (a int, b int, v text) PARTITION BY HASH (a, b);
CREATE FOREIGN TABLE lph_0 PARTITION OF lph FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER loopback OPTIONS (schema_name 'remote', table_name 'lph_0');
CREATE FOREIGN TABLE lph_1 PARTITION OF lph FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER loopback OPTIONS (schema_name 'remote', table_name 'lph_1');
CREATE TABLE remote.lph_0 (a int, b int, v text);
CREATE TABLE remote.lph_1 (a int, b int, v text);
INSERT INTO lph SELECT i, i % 3, 'row ' || i FROM generate_series(1, 2000) i;
ANALYZE lph;
SELECT * FROM pruned('SELECT count(*), max(v) FROM lph WHERE a = $1 AND b = 1');
SELECT * FROM pruned('SELECT count(*), max(v) FROM lph WHERE a = $1');

-- What is pruned is not asked: its server may be out of reach, before and
-- after the query is planned anew.
CREATE FOREIGN TABLE lp_nowhere PARTITION OF lp FOR VALUES FROM (9000) TO (10000) SERVER nowhere;
SELECT * FROM pruned('SELECT count(*), sum(k) FROM lp WHERE id < $1');
SELECT * FROM pruned('SELECT k, count(*) FROM lp WHERE id < $1 GROUP BY k');
SELECT * FROM pruned('SELECT a.k, count(*) FROM lp a JOIN lp b USING (id) WHERE a.id < $1 AND b.id < $1 GROUP BY a.k');
-- conditions on one table are conditions on the other one, by their keys
CREATE TABLE lp2 (id int, k int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE lp2_0 PARTITION OF lp2 FOR VALUES FROM (0) TO (1000) SERVER loopback OPTIONS (schema_name 'remote', table_name 'lp_0');
CREATE FOREIGN TABLE lp2_1 PARTITION OF lp2 FOR VALUES FROM (1000) TO (2000) SERVER loopback OPTIONS (schema_name 'remote', table_name 'lp_1');
CREATE FOREIGN TABLE lp2_rest PARTITION OF lp2 FOR VALUES FROM (2000) TO (9000) SERVER nowhere;
CREATE FOREIGN TABLE lp2_nowhere PARTITION OF lp2 FOR VALUES FROM (9000) TO (10000) SERVER nowhere;
CREATE TABLE lp3 (id int, k int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE lp3_0 PARTITION OF lp3 FOR VALUES FROM (0) TO (1000) SERVER nowhere;
CREATE FOREIGN TABLE lp3_1 PARTITION OF lp3 FOR VALUES FROM (1000) TO (2000) SERVER loopback OPTIONS (schema_name 'remote', table_name 'lp_1');
CREATE FOREIGN TABLE lp3_rest PARTITION OF lp3 FOR VALUES FROM (2000) TO (9000) SERVER loopback OPTIONS (schema_name 'remote', table_name 'lp_2');
CREATE FOREIGN TABLE lp3_nowhere PARTITION OF lp3 FOR VALUES FROM (9000) TO (10000) SERVER loopback OPTIONS (schema_name 'remote', table_name 'lp_2');
SELECT same, rows, partitions > 0 AS pruned FROM pruned('SELECT a.k, count(*) FROM lp3 a JOIN lp2 b USING (id) WHERE a.id >= $1 AND b.id < $1 * 2 GROUP BY a.k');
SELECT same, rows, partitions > 0 AS pruned FROM pruned('SELECT a.id, b.v FROM lp2 a JOIN lp3 b ON a.id = b.id AND a.k = b.k WHERE b.id >= $1 AND a.id < $1 * 2');
SET pg_exchange.join_exchange = off;
SELECT same, rows, partitions > 0 AS pruned FROM pruned('SELECT count(*) FROM lp2 a WHERE a.id < $1 * 2 AND EXISTS (SELECT FROM lp3 b WHERE b.id = a.id AND b.id >= $1)');
RESET pg_exchange.join_exchange;
PREPARE q(int) AS SELECT count(*), sum(k) FROM lp WHERE id < $1;
EXECUTE q(1000);
\set VERBOSITY terse
EXECUTE q(9500);
\set VERBOSITY default
EXECUTE q(2000);
DEALLOCATE q;
RESET plan_cache_mode;
RESET lp.bound;

SET client_min_messages = warning;
DROP TABLE lp, lp2, lp3, lph, lpt, lpt_own CASCADE;
DROP FUNCTION pruned;
DROP SERVER nowhere CASCADE;
RESET client_min_messages;
