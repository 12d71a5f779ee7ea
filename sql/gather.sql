--
-- ExchangeGather: partitions, inheritance and UNION ALL, at once or in order.
--
CREATE FUNCTION remote_table(name text, low int, high int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE remote.%I AS SELECT i AS id, i %% 7 AS k, ''row '' || i AS v FROM generate_series(%s, %s) i',
				   name, low, high);
END
$$;
SELECT remote_table('sale_1', 1, 1999), remote_table('sale_2', 2000, 3999), remote_table('sale_3', 6000, 7999);
CREATE TABLE sale (id int, k int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE sale_1 PARTITION OF sale FOR VALUES FROM (0) TO (2000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sale_1');
CREATE FOREIGN TABLE sale_2 PARTITION OF sale FOR VALUES FROM (2000) TO (4000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sale_2');
CREATE TABLE sale_local PARTITION OF sale FOR VALUES FROM (4000) TO (6000);
CREATE FOREIGN TABLE sale_3 PARTITION OF sale FOR VALUES FROM (6000) TO (8000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sale_3');
INSERT INTO sale SELECT i, i % 7, 'row ' || i FROM generate_series(4000, 5999) i;
ANALYZE sale;

SELECT explain_stable('SELECT * FROM sale');
SELECT explain_stable('SELECT v FROM sale WHERE k = 3', 'COSTS OFF, VERBOSE');
SELECT * FROM exchange_differences('SELECT * FROM sale');
SELECT * FROM exchange_differences('SELECT tableoid::regclass, sale FROM sale WHERE v LIKE ''%9''');
SELECT * FROM exchange_differences('SELECT max(id), count(*), k FROM sale GROUP BY k');

-- a filter that few rows pass, here
SELECT count(*) FROM sale WHERE random() < 0;
SELECT count(*) FROM sale WHERE v || '' = 'row 7777';

-- partitions in the order of their bounds: an Append, to be read in order
SELECT explain_stable('SELECT * FROM sale ORDER BY id');
SELECT * FROM exchange_differences('SELECT s, row_number() OVER () FROM (SELECT * FROM sale ORDER BY id) s');
-- else merged
SELECT explain_stable('SELECT * FROM sale ORDER BY v COLLATE "C" DESC, id', 'COSTS OFF, VERBOSE');
SELECT * FROM exchange_differences('SELECT s, row_number() OVER () FROM (SELECT * FROM sale ORDER BY v COLLATE "C" DESC, id) s');
SELECT * FROM (SELECT * FROM sale ORDER BY k DESC, v COLLATE "C" LIMIT 3) s;

-- left early
SELECT count(*) FROM (SELECT id FROM sale LIMIT 1) s;
SELECT count(*) FROM (SELECT id FROM sale OFFSET 1998 LIMIT 3) s;
SELECT EXISTS (SELECT FROM sale WHERE k = 5), (SELECT v FROM sale WHERE id = 6001);

-- pruned before and while it runs
SELECT explain_stable('SELECT * FROM sale WHERE id IN (77, 2077)');
SET plan_cache_mode = force_generic_plan;
PREPARE some_sales(int, int) AS SELECT count(*), min(id), max(id) FROM (SELECT id FROM sale WHERE id BETWEEN $1 AND $2 OFFSET 0) s;
SELECT explain_stable('EXECUTE some_sales(1990, 2010)', 'COSTS OFF, ANALYZE, TIMING OFF');
EXECUTE some_sales(1990, 2010);
EXECUTE some_sales(5990, 6010);
EXECUTE some_sales(5000, 5010);
EXECUTE some_sales(10, 1);
RESET plan_cache_mode;
DEALLOCATE some_sales;

-- rescans, with other parameters and with the same
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET pg_exchange.lookup_joins = off;
SELECT explain_stable('SELECT a.x, s.v FROM generate_series(1000, 7000, 1500) a(x) LEFT JOIN sale s ON s.id = a.x');
SELECT a.x, s.v FROM generate_series(1000, 7000, 1500) a(x) LEFT JOIN sale s ON s.id = a.x ORDER BY 1;
SELECT a.x, s.n FROM generate_series(1, 3) a(x), LATERAL (SELECT count(*) n FROM sale WHERE id % 5000 > a.x * 1000 OFFSET 0) s ORDER BY 1;
SELECT a.x, s.id FROM generate_series(1, 3) a(x), LATERAL (SELECT id FROM sale WHERE k = a.x ORDER BY v COLLATE "C" DESC LIMIT 2) s ORDER BY 1, 2;
SELECT count(*) FROM generate_series(1, 3) a(x), LATERAL (SELECT id FROM sale OFFSET 0) s;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;
RESET pg_exchange.lookup_joins;

-- joins and aggregates of partitions
SELECT remote_table('item_1', 1, 1999), remote_table('item_2', 2000, 3999);
CREATE TABLE item (id int, k int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (2000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'item_1');
CREATE FOREIGN TABLE item_2 PARTITION OF item FOR VALUES FROM (2000) TO (4000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'item_2');
ANALYZE item;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT explain_stable('SELECT a.v, b.v FROM item a JOIN item b USING (id)');
SELECT * FROM exchange_differences('SELECT a.v, b.v FROM item a JOIN item b USING (id)');
SELECT explain_stable('SELECT k, sum(id) FROM item GROUP BY k');
SELECT * FROM exchange_differences('SELECT k, sum(id), count(*) FROM sale GROUP BY k');
SELECT * FROM exchange_differences('SELECT id, count(*) FROM sale JOIN item USING (id) GROUP BY id HAVING count(*) > 0');
SET pg_exchange.partial_aggregates = off;
SELECT explain_stable('SELECT count(*) FROM item a JOIN item b USING (id) WHERE a.v || '''' = b.v || '''' GROUP BY a.id % 2');
RESET pg_exchange.partial_aggregates;
SELECT * FROM exchange_differences('SELECT a.id % 2, count(*) FROM item a JOIN item b USING (id) WHERE a.v || '''' = b.v || '''' GROUP BY a.id % 2');
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;

-- inheritance and UNION ALL
CREATE TABLE parent (id int, k int, v text);
INSERT INTO parent VALUES (0, 0, 'own');
CREATE FOREIGN TABLE child () INHERITS (parent) SERVER loopback OPTIONS (schema_name 'remote', table_name 'item_1');
SELECT explain_stable('SELECT * FROM parent');
SELECT * FROM exchange_differences('SELECT * FROM parent');
SELECT explain_stable('SELECT id, v FROM item_1 UNION ALL SELECT 1, ''x'' UNION ALL SELECT k, v || ''.'' FROM item_2 WHERE k < 3');
SELECT * FROM exchange_differences('SELECT id, v FROM item_1 UNION ALL SELECT 1, ''x'' UNION ALL SELECT k, v || ''.'' FROM item_2 WHERE k < 3');
SELECT * FROM exchange_differences('SELECT id, k FROM item_1 UNION SELECT id % 10, k FROM item_2');
SELECT * FROM exchange_differences('SELECT * FROM (SELECT id, v FROM item_1 UNION ALL SELECT id, v FROM item_2) u WHERE v LIKE ''%7'' ORDER BY id DESC LIMIT 40');

-- fewer connections than streams
SET pg_exchange.max_connections_per_server = 1;
SELECT * FROM exchange_differences('SELECT * FROM sale');
SELECT * FROM exchange_differences('SELECT s, row_number() OVER () FROM (SELECT * FROM sale ORDER BY v COLLATE "C" DESC, id) s');
SELECT * FROM exchange_differences('SELECT a.id, b.v FROM sale a JOIN sale b ON a.v || '''' = b.v || '''' AND a.k = b.k');
BEGIN;
DECLARE a CURSOR FOR SELECT id FROM item ORDER BY id;
DECLARE b CURSOR FOR SELECT id FROM item ORDER BY k, id;
FETCH 2 FROM a;
FETCH 2 FROM b;
SELECT * FROM rest_of('a');
SELECT * FROM rest_of('b');
COMMIT;
RESET pg_exchange.max_connections_per_server;

-- an error in one stream ends all; the connections are good for more
CREATE VIEW remote.bad AS SELECT id, k, v, 1 / (id - 3000) AS x FROM remote.sale_2;
CREATE FOREIGN TABLE bad (id int, k int, v text, x int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'bad');
SELECT count(*), sum(x) FROM (SELECT id, k AS x FROM sale_1 UNION ALL SELECT id, x FROM bad OFFSET 0) u;
SELECT * FROM transport('SELECT * FROM sale');

-- one child that cannot be an exchange
CREATE FUNCTION remote.busy() RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
CREATE VIEW remote.volatile AS SELECT id, k, v, remote.busy() AS x FROM remote.sale_2;
CREATE FOREIGN TABLE not_sent (id int, k int, v text, x int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'volatile');
SELECT * FROM transport('SELECT id, x FROM not_sent UNION ALL SELECT id, k FROM sale_1');
SELECT count(*), sum(id) FROM (SELECT id, x FROM not_sent UNION ALL SELECT id, k FROM sale_1 OFFSET 0) u;

-- WHERE CURRENT OF finds local tables
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM parent;
FETCH 1 FROM c;
UPDATE ONLY parent SET v = 'changed' WHERE CURRENT OF c;
SELECT * FROM ONLY parent;
CLOSE c;
DECLARE c CURSOR FOR SELECT id, v FROM ONLY parent TABLESAMPLE bernoulli (100) UNION ALL SELECT id, v FROM item_1;
FETCH 1 FROM c;
UPDATE ONLY parent SET v = 'sampled' WHERE CURRENT OF c;
SELECT * FROM ONLY parent;
ROLLBACK;

-- a write in the transaction: all is left to postgres_fdw
BEGIN;
INSERT INTO sale_1 VALUES (1999, 0, 'new');
SELECT * FROM transport('SELECT * FROM sale');
SELECT count(*) FROM sale WHERE v = 'new' OR random() < 0;
ROLLBACK;

-- INSERT: nulls stand for dropped and generated columns
CREATE TABLE has_dropped (id int, gone int, v text);
ALTER TABLE has_dropped DROP gone;
CREATE TABLE has_generated (id int, v text, len int GENERATED ALWAYS AS (length(v)) STORED);
INSERT INTO has_dropped SELECT id, v FROM sale;
INSERT INTO has_generated SELECT id, v FROM sale WHERE id % 2 = 0;
SELECT (SELECT count(*) FROM sale) = count(*) AS all_rows, sum(id) = (SELECT sum(id) FROM sale) AS right_rows FROM has_dropped;
SELECT count(*) > 0 AS some, bool_and(len = length(v)) AS generated FROM has_generated;
DROP TABLE has_dropped, has_generated;
