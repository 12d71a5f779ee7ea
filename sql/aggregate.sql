--
-- Aggregates, DISTINCT, ORDER BY and LIMIT that postgres_fdw pushes down;
-- partition-wise joins and aggregates.
--
-- aggregates, HAVING here and there, DISTINCT, ORDER BY, LIMIT and OFFSET
SELECT explain_stable('SELECT digit, count(*), sum(id) FROM numbers GROUP BY digit HAVING count(*) > 10 ORDER BY digit', 'VERBOSE, COSTS OFF');
SELECT * FROM exchange_differences('SELECT digit, count(*), sum(id), avg(id), min(name), array_agg(id ORDER BY id) FROM numbers GROUP BY digit');
SELECT * FROM exchange_differences('SELECT digit, count(*) FROM numbers GROUP BY digit HAVING sum(id) > 1000 AND random() < 2');
SELECT * FROM exchange_differences('SELECT d.label, count(n.id), max(n.name) FROM digits d LEFT JOIN numbers n USING (digit) GROUP BY d.label');
SELECT * FROM exchange_differences('SELECT count(*), sum(id)::numeric / 3, stddev(id) FROM numbers');
SELECT * FROM exchange_differences('SELECT DISTINCT digit, digit % 3 FROM numbers');
SELECT explain_stable('SELECT * FROM numbers ORDER BY id DESC LIMIT 10 OFFSET 5', 'VERBOSE, COSTS OFF');
SELECT * FROM exchange_differences('SELECT * FROM numbers ORDER BY id DESC LIMIT 10 OFFSET 5');

-- order is kept
SET pg_exchange.enabled = off;
SELECT string_agg(name, ',') AS expected FROM (SELECT name FROM numbers ORDER BY name COLLATE "C" DESC LIMIT 500) x \gset
RESET pg_exchange.enabled;
SELECT string_agg(name, ',') = :'expected' AS same FROM (SELECT name FROM numbers ORDER BY name COLLATE "C" DESC LIMIT 500) x;

-- partitions: partition-wise join and aggregate
CREATE TABLE remote.part_1 AS SELECT i AS id, i % 7 AS v FROM generate_series(1, 999) i;
CREATE TABLE remote.part_2 AS SELECT i AS id, i % 7 AS v FROM generate_series(1000, 1999) i;
CREATE TABLE parted (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (1000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'part_1');
CREATE FOREIGN TABLE parted_2 PARTITION OF parted FOR VALUES FROM (1000) TO (2000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'part_2');
ANALYZE parted;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT * FROM exchange_differences('SELECT * FROM parted');
SELECT * FROM exchange_differences('SELECT a.id, b.v FROM parted a JOIN parted b USING (id)');
SELECT * FROM exchange_differences('SELECT v, count(*), sum(id) FROM parted GROUP BY v');
SELECT * FROM exchange_differences('SELECT id, count(*) FROM parted GROUP BY id');
SELECT * FROM exchange_differences('SELECT tableoid::regclass, * FROM parted ORDER BY id LIMIT 1500');
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;

-- aggregates that nobody reads: one row, although postgres_fdw would send a query without them
SELECT count(*) FROM (SELECT count(*), sum(n.id) FROM numbers n JOIN numbers m USING (id)) q;
SELECT count(*) FROM (VALUES (1), (2)) l (i), (SELECT max(n.id) FROM numbers n JOIN numbers m USING (id) HAVING random() < 2) q;
SELECT EXISTS (SELECT FROM (SELECT count(*) FROM numbers n LEFT JOIN numbers m USING (id) WHERE n.id < 0) q);
SELECT count(*) FROM (SELECT count(*) FROM numbers OFFSET 0) q;
SELECT count(*) FROM (SELECT max(a.v) FROM parted a JOIN parted b USING (id)) q;
SELECT count(*) FROM (SELECT max(id) FROM numbers HAVING count(*) > 1) q;
SELECT explain_stable('SELECT count(*) FROM (SELECT digit FROM numbers n JOIN numbers m USING (id, digit) GROUP BY digit) q', 'VERBOSE, COSTS OFF');

-- DISTINCT of constants
SELECT * FROM exchange_differences('SELECT DISTINCT coalesce(5, id) FROM numbers');
SELECT * FROM exchange_differences('SELECT DISTINCT w, x FROM (SELECT 5 AS w, ''x'' AS x, * FROM parted) q');
SELECT * FROM exchange_differences('SELECT DISTINCT coalesce(false, n.id > 3) FROM numbers n, numbers m WHERE n.id < 5 AND m.id < 5');
SELECT * FROM exchange_differences('SELECT w FROM (SELECT 5 AS w, * FROM parted) q GROUP BY w');
