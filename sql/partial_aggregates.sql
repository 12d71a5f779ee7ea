--
-- Partial aggregates: each server aggregates its own rows, and the states are
-- made here of what it returns.
--
CREATE TABLE remote.sales_1 AS
	SELECT i AS id, i % 7 AS k, (i % 100)::smallint AS s, i * 3::bigint AS b,
		   md5(i::text) AS x, date '2020-01-01' + i % 300 AS d,
		   NULLIF(i % 4, 3) AS maybe
	FROM generate_series(1, 2000) i;
CREATE TABLE remote.sales_2 AS
	SELECT i AS id, i % 7 AS k, (i % 100)::smallint AS s, i * 3::bigint AS b,
		   md5(i::text) AS x, date '2020-01-01' + i % 300 AS d,
		   NULLIF(i % 4, 3) AS maybe
	FROM generate_series(2001, 4000) i;
CREATE TABLE sales (LIKE remote.sales_1) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE sales_1 PARTITION OF sales FOR VALUES FROM (1) TO (2001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sales_1');
CREATE FOREIGN TABLE sales_2 PARTITION OF sales FOR VALUES FROM (2001) TO (4001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sales_2');
CREATE FOREIGN TABLE sales_0 PARTITION OF sales FOR VALUES FROM (-100) TO (1)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sales_0');
CREATE TABLE remote.sales_0 (LIKE remote.sales_1);	-- stays empty
ANALYZE sales;
SET enable_partitionwise_aggregate = on;
SET enable_partitionwise_join = on;

SELECT explain_stable('SELECT k, count(*), sum(id), min(x), max(d) FROM sales GROUP BY k', 'VERBOSE, COSTS OFF');
SELECT * FROM exchange_differences('SELECT k, count(*), sum(id), min(x), max(d) FROM sales GROUP BY k');
-- the other transports, and without pg_exchange on the remote
SET pg_exchange.transport = session;
SELECT * FROM exchange_differences('SELECT k, count(*), sum(id), min(x), max(d) FROM sales GROUP BY k');
RESET pg_exchange.transport;
PREPARE by_child AS SELECT k, count(*), sum(id), min(x), max(d) FROM sales WHERE id > 0 GROUP BY k ORDER BY k;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_child;
SET pg_exchange.enabled = off;
EXECUTE by_child;
RESET pg_exchange.enabled;
RESET plan_cache_mode;
-- one group, even of no rows; nulls; FILTER; HAVING, which is checked here
SELECT * FROM exchange_differences('SELECT count(*), count(maybe), sum(maybe), min(maybe) FROM sales');
SELECT * FROM exchange_differences('SELECT count(*), count(maybe), sum(maybe), min(x) FROM sales WHERE b < 0');
SELECT * FROM exchange_differences('SELECT maybe, count(maybe), sum(maybe), max(b) FROM sales GROUP BY maybe');
SELECT * FROM exchange_differences('SELECT k, count(*) FILTER (WHERE s < 50), sum(s) FILTER (WHERE maybe IS NULL) FROM sales GROUP BY k');
SELECT explain_stable('SELECT k FROM sales GROUP BY k HAVING sum(id) > 1143000 AND count(*) > 10', 'VERBOSE, COSTS OFF');
SELECT * FROM exchange_differences('SELECT k FROM sales GROUP BY k HAVING sum(id) > 1143000 AND count(*) > 10');
-- keys that are expressions, constants, or found redundant; no aggregates
SELECT explain_stable('SELECT k % 3 AS third, k + 1 AS next, count(*) + 1 FROM sales GROUP BY 1, 2 ORDER BY 3', 'VERBOSE, COSTS OFF');
SELECT * FROM exchange_differences('SELECT k % 3 AS third, k + 1 AS next, count(*) + 1 FROM sales GROUP BY 1, 2');
SELECT * FROM exchange_differences('SELECT k, s, count(*) FROM sales WHERE k = 3 GROUP BY k, s');
SELECT * FROM exchange_differences('SELECT k, k + 1 AS next, count(*) FROM sales WHERE k + 1 = 3 GROUP BY k, k + 1');
SELECT * FROM exchange_differences('SELECT k, d FROM sales GROUP BY k, d');
SELECT * FROM exchange_differences('SELECT k, lag(sum(id)) OVER (ORDER BY k) FROM sales GROUP BY k');
-- joins of partitions; parameters; subqueries
SELECT regexp_replace(line, '\mr\d+\M', 'r', 'g') AS line
	FROM explain_stable('SELECT a.k, count(*), max(b.x) FROM sales a JOIN sales b USING (id) GROUP BY a.k', 'VERBOSE, COSTS OFF') line;
SELECT * FROM exchange_differences('SELECT a.k, count(*), max(b.x) FROM sales a JOIN sales b USING (id) GROUP BY a.k');
SELECT * FROM exchange_differences('SELECT j, (SELECT sum(id + j) FROM sales WHERE k = j) FROM generate_series(0, 8) j');
SELECT * FROM exchange_differences('SELECT max(total) FROM (SELECT k, sum(id) AS total FROM sales GROUP BY k) t');
-- a local partition is aggregated here
CREATE TABLE sales_3 PARTITION OF sales FOR VALUES FROM (4001) TO (9999);
INSERT INTO sales_3 SELECT 4000 + id, k, s, b, x, d, maybe FROM remote.sales_1;
ANALYZE sales_3;
SELECT explain_stable('SELECT k, count(*), sum(id) FROM sales GROUP BY k', 'VERBOSE, COSTS OFF');
SELECT * FROM exchange_differences('SELECT k, count(*), sum(id), min(x), max(d) FROM sales GROUP BY k');
-- UNION ALL, with constants and expressions, and of what has partitions
CREATE VIEW all_sales AS
	SELECT id, k, x, 'one' AS source FROM sales_1
	UNION ALL SELECT id, k + 1, x, 'two' FROM sales_2
	UNION ALL SELECT id, k, x, 'local' FROM sales_3;
SELECT explain_stable('SELECT source, count(*), sum(k) FROM all_sales GROUP BY source', 'VERBOSE, COSTS OFF');
SELECT * FROM exchange_differences('SELECT source, count(*), sum(k) FROM all_sales GROUP BY source');
SELECT * FROM exchange_differences('SELECT k % 3, source, min(x), sum(k) FROM all_sales WHERE k > 1 GROUP BY 1, 2 HAVING count(*) > 100');
SELECT * FROM exchange_differences('SELECT count(*), max(x) FILTER (WHERE k > 3) FROM all_sales');
SELECT * FROM exchange_differences('SELECT k FROM all_sales GROUP BY k');
CREATE VIEW more_sales AS
	SELECT k, id FROM sales UNION ALL SELECT k, id FROM sales_1 UNION ALL SELECT 9, 9;
SELECT explain_stable('SELECT k, count(*), sum(id) FROM more_sales WHERE k <> 3 GROUP BY k');
SELECT * FROM exchange_differences('SELECT k, count(*), sum(id) FROM more_sales WHERE k <> 3 GROUP BY k');
-- inheritance
CREATE TABLE kin (id int, k int);
INSERT INTO kin SELECT i, i % 10 FROM generate_series(1, 100) i;
CREATE FOREIGN TABLE kin_1 () INHERITS (kin)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sales_1');
CREATE FOREIGN TABLE kin_2 (x text) INHERITS (kin)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sales_2');
ANALYZE kin; ANALYZE kin_1; ANALYZE kin_2;
SELECT explain_stable('SELECT k, count(*), sum(id) FROM kin GROUP BY k', 'VERBOSE, COSTS OFF');
SELECT * FROM exchange_differences('SELECT k, count(*), sum(id) FROM kin GROUP BY k');
-- a cast that the parser has added counts for all that the state is made of
SELECT * FROM exchange_differences('SELECT k, round(regr_avgy((s / 7.0)::real, id)::numeric, 9), round(regr_avgx(id, (s / 7.0)::real)::numeric, 9) FROM sales GROUP BY k');
-- keys that are sets
SELECT * FROM exchange_differences('SELECT unnest(ARRAY[k, s]) AS key, count(*) FROM sales GROUP BY 1');
SET enable_partitionwise_aggregate = off;
SELECT * FROM exchange_differences('SELECT unnest(ARRAY[k, s]) AS key, id, count(*) FROM sales GROUP BY 1, 2');
SELECT * FROM exchange_differences('SELECT generate_series(1, 3) AS key, count(*) FROM (SELECT id FROM sales_1 UNION ALL SELECT id FROM sales_3) t GROUP BY 1');
CREATE TABLE remote.split_words AS SELECT i AS id, 'a b' || i % 9 AS words FROM generate_series(1, 3000) i;
CREATE TABLE remote.more_words AS SELECT id + 3000 AS id, words FROM remote.split_words;
CREATE TABLE words (LIKE remote.split_words) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE words_1 PARTITION OF words FOR VALUES FROM (1) TO (3001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'split_words');
CREATE FOREIGN TABLE words_2 PARTITION OF words FOR VALUES FROM (3001) TO (6001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'more_words');
ANALYZE words;
SELECT * FROM exchange_differences('SELECT regexp_split_to_table(words, '' '') AS key, count(*) FROM words GROUP BY 1');
DROP TABLE words;
SET enable_partitionwise_aggregate = on;
-- which table a row is of is known here only
SELECT * FROM exchange_differences('SELECT tableoid::regclass, count(*) FROM kin GROUP BY 1');
SELECT * FROM exchange_differences('SELECT tableoid::regclass, count(*) FROM sales GROUP BY 1');
-- nothing is aggregated in parts if an aggregate is not listed, if the remote
-- cannot compute one, or if the setting says so
SELECT explain_stable('SELECT k, count(*), xmlagg(NULL) FROM sales GROUP BY k');
SELECT explain_stable('SELECT k, count(*), sum(id) FILTER (WHERE random() < 2) FROM sales GROUP BY k');
SELECT explain_stable('SELECT k, count(*) FROM sales WHERE random() < 2 GROUP BY k');
CREATE FUNCTION shows_partial(query text) RETURNS bool LANGUAGE sql AS $$
	SELECT bool_or(line ~ 'Aggregate on') FROM explain_stable(query) line
$$;
SET pg_exchange.partial_aggregates = exact;
SELECT explain_stable('SELECT k, count(*), sum(id) FROM sales GROUP BY k');
SELECT shows_partial('SELECT k, sum(id::float8) FROM sales GROUP BY k');
SELECT shows_partial('SELECT k::numeric, count(*) FROM sales GROUP BY 1');
SET pg_exchange.partial_aggregates = on;
SELECT shows_partial('SELECT k, sum(id::float8) FROM sales GROUP BY k');
SELECT shows_partial('SELECT k::numeric, count(*) FROM sales GROUP BY 1');
-- exact adds in the order of one server: each 1 is lost; nor does core add in
-- parts because of partitionwise
RESET enable_partitionwise_aggregate;
CREATE VIEW float_sum AS
	SELECT sum(CASE id WHEN 2000 THEN 1e16 WHEN 2005 THEN -1e16 ELSE (id BETWEEN 2001 AND 2004)::int END::float8) FROM sales;
CREATE TABLE remote.scaled_keys_1 AS SELECT 1 AS part, (i % 30)::numeric AS g FROM generate_series(1, 3000) i;
CREATE TABLE remote.scaled_keys_2 AS SELECT 2 AS part, (i % 30)::numeric(5,2) AS g FROM generate_series(1, 3000) i;
CREATE TABLE scaled_keys (part int, g numeric) PARTITION BY LIST (part);
CREATE FOREIGN TABLE scaled_keys_1 PARTITION OF scaled_keys FOR VALUES IN (1) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE scaled_keys_2 PARTITION OF scaled_keys FOR VALUES IN (2) SERVER loopback OPTIONS (schema_name 'remote');
ANALYZE scaled_keys;
CREATE VIEW keys_as_text AS SELECT string_agg(g::text, ' ' ORDER BY g) FROM (SELECT g, count(*) FROM scaled_keys GROUP BY g) x;
SET pg_exchange.partial_aggregates = exact;
SELECT * FROM float_sum, keys_as_text;
SELECT bool_or(line ~ 'Partial') FROM explain_stable('SELECT * FROM keys_as_text') line;
SET pg_exchange.partial_aggregates = on;
SELECT * FROM float_sum;
DROP VIEW float_sum, keys_as_text;
DROP TABLE scaled_keys, remote.scaled_keys_1, remote.scaled_keys_2;
SET pg_exchange.partial_aggregates = off;
SELECT explain_stable('SELECT k, count(*), sum(id) FROM sales GROUP BY k');
RESET pg_exchange.partial_aggregates;
-- few groups for each of several values: a lookup
SET pg_exchange.min_bytes = '64kB';
SELECT transport('SELECT n, (SELECT count(*) FROM sales s WHERE s.s = n) FROM generate_series(1, 3) n');
SELECT * FROM exchange_differences('SELECT n, (SELECT count(*) FROM sales s WHERE s.s = n), (SELECT avg(id) FROM sales s WHERE s.k = n) FROM generate_series(1, 3) n');
SELECT transport('SELECT count(*) FROM sales s WHERE s.s = 1');
RESET pg_exchange.min_bytes;
DROP FUNCTION shows_partial;
DROP TABLE kin, sales CASCADE;
