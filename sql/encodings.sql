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

-- numerics of mixed scales: few exceptions travel beside the integers, many make all of a batch travel as sent
CREATE TABLE remote.numerics AS
	SELECT i AS id, CASE i % 1000 WHEN 0 THEN 'NaN' WHEN 101 THEN 'Infinity' WHEN 202 THEN '-Infinity' WHEN 303 THEN 12345678901234567.89
			WHEN 404 THEN 1.5 WHEN 505 THEN 7 WHEN 606 THEN 0.000000000000000000001 WHEN 707 THEN 1e200 WHEN 808 THEN -0.10
			WHEN 909 THEN repeat('9', 600)::numeric ELSE (i * 37 % 5000)::numeric / 100 END AS unscaled,
		CASE i % 1000 WHEN 0 THEN 'NaN' WHEN 101 THEN 'Infinity' WHEN 202 THEN '-Infinity' WHEN 303 THEN 12345678901234567.89
			WHEN 404 THEN 1.5 WHEN 505 THEN 7 WHEN 606 THEN 0.000000000000000000001 WHEN 707 THEN 1e200 WHEN 808 THEN -0.10
			WHEN 909 THEN repeat('9', 600)::numeric ELSE (i * 37 % 5000 / 100.0)::numeric(12, 2) END AS few,
		CASE WHEN i % 5 = 0 THEN NULL WHEN i % 101 = 0 THEN 'NaN' ELSE -i::numeric END AS nulls,
		CASE WHEN i % 3 = 0 THEN i::numeric ELSE (i / 4.0)::numeric(10, 1) END AS many,
		CASE WHEN i >= 8000 OR i < 100 THEN 'NaN' ELSE 0.00 END AS clustered,
		CASE WHEN i = 9999 THEN 0.1 ELSE 1.00 END AS late,
		CASE WHEN i < 5000 THEN 'NaN' END::numeric AS only
	FROM generate_series(0, 9999) i;
IMPORT FOREIGN SCHEMA remote LIMIT TO (numerics) FROM SERVER loopback INTO public;
SELECT * FROM exchange_differences('SELECT * FROM numerics');
SELECT * FROM exchange_differences('SELECT * FROM numerics WHERE id % 1000 IN (0, 101, 303, 404, 909)');
SELECT * FROM exchange_differences('SELECT id, few::text, scale(few), nulls::text FROM numerics ORDER BY id');
SET pg_exchange.compression = fast;
SELECT regexp_replace(column_report, ': .*', ')') AS column_report
FROM jsonb_array_elements_text(explain_json('SELECT * FROM numerics', 'ANALYZE, VERBOSE, COSTS OFF')->'Column Encodings') AS column_report;
SET pg_exchange.compression = none;
SELECT regexp_replace(column_report, ': .*', ')') AS column_report
FROM jsonb_array_elements_text(explain_json('SELECT few, nulls FROM numerics', 'ANALYZE, VERBOSE, COSTS OFF')->'Column Encodings') AS column_report;
RESET pg_exchange.compression;
-- a receiver that does not know this does not get it
CREATE FUNCTION numeric_frames(encodings text) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT exchange.send(%L, t) FROM (SELECT few FROM remote.numerics WHERE id < 500) t',
		format('version=1 encodings=%s codec=none level=0 batch_rows=500 batch_bytes=1048576 server_version=150000 columns=1700:-1', encodings));
END
$$;
SELECT encodings, get_byte(f, 40) AS encoding, get_byte(f, 43) AS form
FROM unnest('{8191,4095,4097,1}'::text[]) encodings, numeric_frames(encodings) f WHERE get_byte(f, 6) = 2;
DROP FUNCTION numeric_frames;

-- values that TOAST has compressed travel as they are, beside others
CREATE TABLE remote.compressed (id int, t text, b bytea, u text);
SET default_toast_compression = pglz;
INSERT INTO remote.compressed
	SELECT i, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN repeat('größer ', i % 500) ELSE 'short ' || i END,
		decode(repeat(md5(i::text), i % 500), 'hex'), repeat(md5(i::text), 1 + i % 2 * 500) || sin(i)
	FROM generate_series(1, 1500) i;
RESET default_toast_compression;
-- by lz4 where the server has it
DO $$
BEGIN
	SET LOCAL default_toast_compression = lz4;
	INSERT INTO remote.compressed SELECT i, repeat('lz4 ' || i, 2000), decode(repeat('00', i), 'hex'), repeat('u', 100000) FROM generate_series(1501, 1600) i;
EXCEPTION WHEN OTHERS THEN
	INSERT INTO remote.compressed SELECT i, repeat('lz4 ' || i, 2000), decode(repeat('00', i), 'hex'), repeat('u', 100000) FROM generate_series(1501, 1600) i;
END
$$;
IMPORT FOREIGN SCHEMA remote LIMIT TO (compressed) FROM SERVER loopback INTO public;
SELECT * FROM exchange_differences('SELECT * FROM compressed');
SELECT * FROM exchange_differences('SELECT id, upper(t), length(b), u || t FROM compressed WHERE t > ''g''');
SET pg_exchange.compression = fast;
SELECT regexp_replace(column_report, ': .*', ')') AS column_report
FROM jsonb_array_elements_text(explain_json('SELECT t, b FROM compressed', 'ANALYZE, VERBOSE, COSTS OFF')->'Column Encodings') AS column_report;
-- zstd makes less of the values themselves
SET pg_exchange.compression = high_compression;
SELECT regexp_replace(column_report, ': .*', ')') AS column_report
FROM jsonb_array_elements_text(explain_json('SELECT t, b FROM compressed', 'ANALYZE, VERBOSE, COSTS OFF')->'Column Encodings') AS column_report;
RESET pg_exchange.compression;
-- a receiver that does not know this does not get it
CREATE FUNCTION text_frames(encodings text) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT exchange.send(%L, r) FROM (SELECT t FROM remote.compressed WHERE id < 500) r',
		format('version=1 encodings=%s codec=none level=0 batch_rows=500 batch_bytes=100000000 server_version=150000 columns=25:-1', encodings));
END
$$;
SELECT encodings, get_byte(f, 40) AS encoding FROM unnest('{16383,8191,1}'::text[]) encodings, text_frames(encodings) f WHERE get_byte(f, 6) = 2;
DROP FUNCTION text_frames;
