--
-- ExchangeHashPartition: keys that many rows have. Uses the servers and
-- functions of hash_partition.
--
CREATE FUNCTION skewed(query text, OUT frequent int, OUT most_to_mean numeric, OUT rows bigint, OUT without_only bigint, OUT with_only bigint,
	OUT cut text, OUT not_sent text) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	SELECT * INTO rows, without_only, with_only, cut, not_sent FROM partition_differences(query);
	PERFORM set_config('pg_exchange.join_exchange', 'hash_partition', true);
	EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) %s', query) INTO plan;
	PERFORM set_config('pg_exchange.join_exchange', 'auto', true);
	SELECT max(number::int) INTO frequent FROM jsonb_path_query(plan, '$.**."Frequent Keys"') number;
	SELECT round(max(number::int) / avg(number::int), 1) INTO most_to_mean FROM jsonb_path_query(plan, '$.**."Sent Rows"') number;
END
$$;

-- Half of the facts have one key, a fifth another one; a tenth has none. The values of those have what a query has to quote.
CREATE TABLE remote.sfact_all AS
	SELECT i AS nr, i % 4 AS g, k::int2 AS i2, k AS i4, k::int8 AS i8, (k / 8.0)::float4 AS f4, CASE k WHEN 7 THEN 'NaN' WHEN 11 THEN '-0' ELSE k / 8.0::float8 END AS f8,
		CASE k WHEN 7 THEN CASE i % 3 WHEN 0 THEN 7.0 WHEN 1 THEN 7 ELSE 7.000 END ELSE k END AS n,
		CASE k WHEN 7 THEN E'it''s "%s" {a,b} \\ 100 %' WHEN 11 THEN 'NULL' ELSE 'v' || k END AS t, CASE k WHEN 7 THEN 'a ' ELSE 'c' || k END::char(6) AS c,
		('v' || k)::varchar(9) AS v, ('v' || k)::name AS nm, decode(md5(k::text), 'hex') AS y, CASE k WHEN 7 THEN 'infinity' ELSE date '2026-01-01' + k END AS d,
		time '00:00' + k * interval '1 min' AS tm, timestamp '2026-01-01' + k * interval '1 h' AS ts, timestamptz '2026-01-01 00:00 UTC' + k * interval '1 h' AS tz,
		md5(k::text)::uuid AS u, k::oid AS o, k = 7 AS b
	FROM generate_series(1, 3000) i, LATERAL (SELECT CASE WHEN i % 10 < 5 THEN 7 WHEN i % 10 < 7 THEN 11 WHEN i % 10 < 9 THEN 20 + i % 311 END AS k) x;
CREATE TABLE remote.sdim_all AS SELECT x.* FROM generate_series(20, 339) k, LATERAL (SELECT * FROM remote.sfact_all WHERE i4 = k LIMIT 1) x;
INSERT INTO remote.sdim_all SELECT DISTINCT ON (i4) * FROM remote.sfact_all WHERE i4 IN (7, 11) OR i4 IS NULL ORDER BY i4, nr;
SELECT spread('sfact', columns_of('remote.sfact_all'), 'HASH', 'nr', 'FOR VALUES WITH (MODULUS 3, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 3, REMAINDER 1)',
	'FOR VALUES WITH (MODULUS 3, REMAINDER 2)');
SELECT spread('sdim', columns_of('remote.sdim_all'), 'LIST', 'g', 'FOR VALUES IN (0, 1)', 'FOR VALUES IN (2, 3)');
INSERT INTO sfact TABLE remote.sfact_all;
INSERT INTO sdim TABLE remote.sdim_all;
ANALYZE sfact, sdim;

-- the plan
SET pg_exchange.join_exchange = hash_partition;
SELECT explain_stable('SELECT d.g, count(*) FROM sfact f JOIN sdim d ON d.t = f.t GROUP BY 1', 'COSTS OFF, VERBOSE');
SELECT regexp_replace(line, '\d+ bytes', 'N bytes')
	FROM explain_stable('SELECT d.g, count(*), sum(f.nr) FROM sfact f JOIN sdim d ON d.i4 = f.i4 GROUP BY 1', 'COSTS OFF, ANALYZE, TIMING OFF') line
	WHERE line ~ 'Keys|Cut|Sent|Spread';
RESET pg_exchange.join_exchange;

-- keys of all types, and of two types: of integers alone, values are sure to be the same
SELECT s.*, string_agg(attname, ' ' ORDER BY attnum) AS keys FROM pg_attribute, skewed(format(
	'SELECT d.g, count(*), sum(f.nr) FROM sfact f JOIN sdim d ON d.%1$I = f.%1$I GROUP BY 1', attname)) s
	WHERE attrelid = 'sfact'::regclass AND attnum > 2 GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2;
SELECT a.x || ' = ' || b.y AS equality, s.* FROM unnest('{i2,i2,i8,i4,f4,v,nm,n}'::text[], '{i4,i8,i2,i8,f8,t,t,i4}'::text[]) WITH ORDINALITY AS a(x, y, n),
	LATERAL (SELECT a.y) b, skewed(format('SELECT d.g, count(*), sum(f.nr) FROM sfact f JOIN sdim d ON f.%I = d.%I GROUP BY 1', a.x, a.y)) s ORDER BY a.n;

-- rows in place of groups; wide ones, with few to a batch; large inboxes; a third table, and a small one that keeps rows without a match
SELECT * FROM skewed('SELECT f.nr, d.nr AS dim, f.t FROM sfact f JOIN sdim d ON d.i4 = f.i4');
SET pg_exchange.batch_rows_max = 3;
SET work_mem = '64kB';
SELECT * FROM skewed('SELECT f.nr, repeat(d.t, 10), f.* FROM sfact f JOIN sdim d ON d.i4 = f.i4');
SET pg_exchange.batch_bytes_max = '1kB';
SELECT * FROM skewed('SELECT f.nr, repeat(d.t, 10), f.* FROM sfact f JOIN sdim d ON d.i4 = f.i4 WHERE f.nr < 300');
RESET pg_exchange.batch_rows_max;
RESET pg_exchange.batch_bytes_max;
RESET work_mem;
CREATE TABLE ssmall AS SELECT i AS g, i * 10 AS x FROM generate_series(1, 2) i;
ANALYZE ssmall;
SELECT * FROM skewed('SELECT s.x, count(*), sum(d.nr) FROM sfact f JOIN sdim d ON d.i4 = f.i4 JOIN ssmall s ON s.g = f.g GROUP BY 1');
SELECT * FROM skewed('SELECT s.x, count(*), sum(d.nr) FROM sfact f JOIN sdim d ON d.i4 = f.i4 LEFT JOIN ssmall s ON s.g = f.g GROUP BY 1');
SELECT * FROM skewed('SELECT f.g, count(*), sum(d.nr) FROM sfact f JOIN sdim d ON d.i4 = f.i4 WHERE NOT EXISTS (SELECT FROM ssmall s WHERE s.g = f.g) GROUP BY 1');
SELECT * FROM skewed('SELECT f.g, count(*), sum(d.nr) FROM sfact f JOIN sdim d ON d.i4 = f.i4 AND d.nr > f.nr GROUP BY 1');
-- parallel senders
ALTER TABLE remote.sfact1 SET (parallel_workers = 2);
ALTER TABLE remote.sdim1 SET (parallel_workers = 2);
ALTER ROLE CURRENT_USER SET parallel_setup_cost = 0;
ALTER ROLE CURRENT_USER SET parallel_tuple_cost = 0;
ALTER ROLE CURRENT_USER SET min_parallel_table_scan_size = 0;
\c
SELECT frequent, rows, without_only, with_only FROM skewed('SELECT d.g, count(*), sum(f.nr) FROM sfact f JOIN sdim d ON d.i4 = f.i4 GROUP BY 1');
ALTER ROLE CURRENT_USER RESET ALL;
\c

-- what is looked for: rows of the facts are spread, each of them is returned once; rows that are kept without a match stay where they are
SELECT * FROM skewed('SELECT f.g, count(*), sum(f.nr) FROM sfact f WHERE f.i4 IN (SELECT i4 FROM sdim WHERE nr > 3) GROUP BY 1');
SELECT * FROM skewed('SELECT d.g, count(*) FROM sdim d WHERE EXISTS (SELECT FROM sfact f WHERE f.i4 = d.i4) GROUP BY 1');
SELECT * FROM skewed('SELECT d.g, count(*) FROM sfact f LEFT JOIN sdim d ON f.i4 = d.i4 GROUP BY 1');
SELECT * FROM skewed('SELECT f.g, count(*) FROM sdim d LEFT JOIN sfact f ON f.i4 = d.i4 GROUP BY 1');
SELECT * FROM skewed('SELECT f.g, count(*) FROM sfact f WHERE NOT EXISTS (SELECT FROM sdim d WHERE f.i4 = d.i4) GROUP BY 1');

-- keys that are frequent on both sides: as often, or one here and one there
SELECT * FROM skewed('SELECT a.g, count(*), sum(a.nr - b.nr) FROM sfact a JOIN sfact b ON a.i4 = b.i4 WHERE a.nr < 300 AND b.nr < 300 GROUP BY 1');
CREATE TABLE remote.sother_all AS SELECT i AS nr, CASE WHEN i % 10 < 6 THEN 25 WHEN i % 10 < 9 THEN 7 ELSE i % 400 END AS k, i % 5 AS h FROM generate_series(1, 2000) i;
SELECT spread('sother', 'nr int, k int, h int', 'HASH', 'nr', 'FOR VALUES WITH (MODULUS 2, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 2, REMAINDER 1)');
INSERT INTO sother TABLE remote.sother_all;
ANALYZE sother;
SELECT * FROM skewed('SELECT o.h, count(*), sum(f.nr) FROM sfact f JOIN sother o ON f.i4 = o.k GROUP BY 1');
SELECT * FROM skewed('SELECT f.g, count(*), sum(f.nr) FROM sfact f WHERE f.i4 IN (SELECT k FROM sother WHERE h < 4) GROUP BY 1');
SELECT * FROM skewed('SELECT o.h, count(*), sum(o.nr) FROM sother o WHERE o.k IN (SELECT i4 FROM sfact WHERE g < 3) GROUP BY 1');

-- one key alone, no rows of it on the other side, no rows at all
CREATE TABLE remote.sone_all AS SELECT i AS nr, 7 AS k FROM generate_series(1, 2000) i;
SELECT spread('sone', 'nr int, k int', 'HASH', 'nr', 'FOR VALUES WITH (MODULUS 2, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 2, REMAINDER 1)');
INSERT INTO sone TABLE remote.sone_all;
ANALYZE sone;
SELECT * FROM skewed('SELECT d.g, count(*), sum(o.nr) FROM sone o JOIN sdim d ON o.k = d.i4 GROUP BY 1');
SELECT * FROM skewed('SELECT d.g, count(*), sum(o.nr) FROM sone o JOIN sdim d ON o.k = d.i4 WHERE d.i4 <> 7 GROUP BY 1');
SELECT * FROM skewed('SELECT d.g, count(*), sum(o.nr) FROM sone o JOIN sdim d ON o.k = d.i4 WHERE d.nr < 0 GROUP BY 1');
SELECT * FROM skewed('SELECT d.g, count(*), sum(o.nr) FROM sone o JOIN sdim d ON o.k = d.i4 WHERE o.nr < 0 GROUP BY 1');

-- Statistics that are not those of the rows, or of no rows.
SELECT * FROM skewed('SELECT d.g, count(*), sum(o.nr) FROM sone o JOIN sdim d ON o.k = d.i4 GROUP BY 1');
UPDATE remote.sone1 SET k = 11;
UPDATE remote.sone2 SET k = nr;
SELECT * FROM skewed('SELECT d.g, count(*), sum(o.nr) FROM sone o JOIN sdim d ON o.k = d.i4 GROUP BY 1');
DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relname ~ '^(sone|sdim|sfact)\d*$');
SELECT * FROM skewed('SELECT d.g, count(*), sum(o.nr) FROM sone o JOIN sdim d ON o.k = d.i4 GROUP BY 1');
SELECT * FROM skewed('SELECT d.g, count(*), sum(f.nr) FROM sfact f JOIN sdim d ON d.i4 = f.i4 GROUP BY 1');
