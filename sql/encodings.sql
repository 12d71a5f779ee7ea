--
-- Values for every encoding, in every mode: equal to postgres_fdw's, and sent
-- as they should be.
--
CREATE TABLE remote.encoded AS
	SELECT i AS id, i / 10 AS run, '2026-01-01Z'::timestamptz + i * 7919 % 86400 * '1 second'::interval AS seconds,
		'2026-01-01'::date + i * 31 % 1000 AS ordered, '2026-01-01'::date + i * 31 % 1000 + i % 30 AS received,
		format('Customer#%s', lpad((i * 37 % 10000)::text, 9, '0')) AS template, (ARRAY['', 'AIR', 'REG AIR', 'größer'])[i % 4 + 1] AS word,
		md5(i::text) || repeat(' and so on', i % 5) AS text, rpad('code ' || i % 100, 20)::char(30) AS padded,
		CASE WHEN i % 100 = 7 THEN 'größer' ELSE 'small' END::char(12) AS wide,
		(i % 1000) / 100.0::float8 AS price, CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '-Infinity' ELSE i / 8.0 END::float4 AS mixed,
		sin(i)::float8 AS measured, ('00000000-0000-4000-8000-' || substr(md5(i::text), 1, 12))::uuid AS uuid,
		(i % 50)::numeric(15,2) AS quantity,
		CASE WHEN i BETWEEN 1000 AND 3000 THEN i * 1000.5 WHEN i = 9000 THEN 'NaN' ELSE i / 100.0 END::numeric AS amount
	FROM generate_series(0, 9999) i;
CREATE TABLE remote.arrays AS
	SELECT i AS id, CASE WHEN i % 7 = 0 THEN NULL WHEN i % 11 = 0 THEN '{}' WHEN i % 13 = 0 THEN ARRAY[[1, 2], [3, i]]
			WHEN i % 17 = 0 THEN ARRAY[1, NULL, i] WHEN i % 19 = 0 THEN '[5:6]={1,2}'
			ELSE ARRAY(SELECT x * i FROM generate_series(1, i % 50 + 1) x) END::int4[] AS int4s,
		CASE WHEN i % 5 > 0 THEN ARRAY[i / 7.0, 'NaN', '-0', i, '-Infinity'] END::float8[] AS float8s,
		ARRAY[i % 2 = 0, true] AS bools, ARRAY['2026-01-01'::date + i, 'infinity'] AS dates, ARRAY[i::int2, -i::int2] AS int2s,
		ARRAY['2026-01-01Z'::timestamptz + i * '1 s'::interval, 'epoch', '-infinity'] AS times, ARRAY[i * 1000000000::bigint] AS int8s,
		ARRAY[i / 3.0]::float4[] AS float4s, ARRAY[i]::oid[] AS oids, ARRAY['a', 'b', NULL] AS texts
	FROM generate_series(1, 5000) i;
IMPORT FOREIGN SCHEMA remote LIMIT TO (encoded, arrays) FROM SERVER loopback INTO public;
SELECT * FROM exchange_differences('SELECT * FROM encoded');
SELECT * FROM exchange_differences('SELECT * FROM arrays');

-- a filter has deformed part of the row; columns are added, dropped, in another order
SELECT * FROM exchange_differences('SELECT * FROM encoded WHERE run % 3 = 1');
SELECT * FROM exchange_differences('SELECT quantity, text, id FROM encoded WHERE length(text) > 40');
ALTER TABLE remote.encoded DROP COLUMN run, ADD COLUMN added int DEFAULT 7, ADD COLUMN null_added text;
INSERT INTO remote.encoded (id, added) VALUES (10000, NULL), (10001, 8);
CREATE FOREIGN TABLE encoded_later (id int, word text, padded char(30), quantity numeric(15,2), added int, null_added text)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'encoded');
SELECT * FROM exchange_differences('SELECT * FROM encoded_later');

-- how the columns came
SET pg_exchange.compression = fast;
SELECT regexp_replace(column_report, ': .*', ')') AS column_report
FROM jsonb_array_elements_text(explain_json('SELECT * FROM encoded_later', 'ANALYZE, VERBOSE, COSTS OFF')->'Column Encodings') AS column_report;
SET pg_exchange.compression = none;
SELECT regexp_replace(column_report, ': .*', ')') AS column_report
FROM jsonb_array_elements_text(explain_json('SELECT * FROM encoded_later', 'ANALYZE, VERBOSE, COSTS OFF')->'Column Encodings') AS column_report;
RESET pg_exchange.compression;
