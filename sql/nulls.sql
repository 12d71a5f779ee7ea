--
-- Nulls in every layout: none, all, some; over batches of every shape.
--
CREATE TABLE remote.nulls AS
	SELECT i AS id, NULL::int AS never, i AS always,
		nullif(i % 2, 0) AS every_second, CASE WHEN i = 1 THEN i END AS first, CASE WHEN i = 5000 THEN i END AS last,
		nullif('text ' || i % 3, 'text 1') AS t, nullif(i % 5, 0)::numeric / 4 AS n, CASE WHEN i > 2500 THEN md5(i::text)::uuid END AS u,
		CASE WHEN i <= 4096 THEN i END AS first_batch, nullif(i % 7, 0)::bool::int::bool AS b,
		CASE WHEN i % 3 = 0 THEN ARRAY[i, NULL] END AS a
	FROM generate_series(1, 5000) i;
CREATE FOREIGN TABLE nulls (id int, never int, always int, every_second int, first int, last int, t text, n numeric, u uuid,
	first_batch int, b bool, a int[]) SERVER loopback OPTIONS (schema_name 'remote');
SELECT * FROM exchange_differences('SELECT * FROM nulls');
SET pg_exchange.batch_rows_max = 7;
SELECT * FROM exchange_differences('SELECT * FROM nulls WHERE id <= 100');
SET pg_exchange.batch_rows_max = 8;
SELECT * FROM exchange_differences('SELECT * FROM nulls WHERE id <= 100');
RESET pg_exchange.batch_rows_max;
SELECT * FROM exchange_differences('SELECT never, n IS NULL FROM nulls');
SELECT * FROM exchange_differences('SELECT count(never), count(first), count(t), count(*) FROM nulls GROUP BY every_second');
SELECT count(every_second), count(t), sum(n), count(a) FROM (SELECT * FROM nulls OFFSET 0) x;
