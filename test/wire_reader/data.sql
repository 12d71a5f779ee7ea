-- Tables for scripts/check_wire.py, after test/matrix/shard.sql: values for which the sender takes each
-- encoding, and codecs of heads and bodies.
CREATE DOMAIN small AS int CHECK (VALUE < 100000);
CREATE TABLE encoded AS
	SELECT i AS id, 7 AS same, 'same'::text AS word, i * 31 % 1000 AS narrow, (i / 40)::small AS runs, (i * 7919 % 6007) * 1000::bigint AS factor,
		(i * 31 % 1000) / 100.0::float8 AS price, CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE i / 8.0 END::float4 AS mixed,
		sin(i)::float8 AS measured, ('00000000-0000-4000-8000-' || substr(md5(i::text), 1, 12))::uuid AS planes,
		date '2026-01-01' + i * 31 % 1000 AS ordered, date '2026-01-01' + i * 31 % 1000 + i % 30 AS received,
		md5(i::text) || repeat(' and so on', i % 5) AS lengths, rpad('code ' || i % 100, 20)::char(30) AS padded,
		(ARRAY['', 'AIR', 'REG AIR', 'größer'])[i % 4 + 1] AS dictionary, 'Customer#' || lpad((i * 37 % 10000)::text, 9, '0') AS template,
		repeat(md5((i % 10)::text), 5) AS long, CASE WHEN i % 400 = 7 THEN 'NaN' WHEN i % 1000 = 8 THEN 1e30 ELSE (i % 5000)::numeric / 100 END::numeric AS patched,
		CASE WHEN i % 3 = 0 THEN i::numeric ELSE (i / 4.0)::numeric(10, 1) END AS scales, NULL::int AS nothing,
		CASE WHEN i % 7 > 0 THEN i END AS nulls, CASE WHEN i % 5 > 0 THEN ARRAY[i, -i, i % 3] END AS elements,
		jsonb_build_object('i', i) AS jsonb, E'tab\tline\nback\\slash ' || i % 100 AS escapes
	FROM generate_series(1, 6000) i;
CREATE TABLE big AS SELECT i AS id, i % 100 AS k, repeat('x', i % 50) AS v FROM generate_series(1, 20000) i;
CREATE TABLE toasted (id int, p text COMPRESSION pglz, l text COMPRESSION lz4, b bytea COMPRESSION pglz);
INSERT INTO toasted SELECT i, repeat(md5(i::text), i % 200), repeat(md5(i::text), i % 300), decode(repeat(md5(i::text), i % 400), 'hex')
	FROM generate_series(1, 600) i;
INSERT INTO toasted VALUES (601, repeat('x', 100000), repeat('y', 100000), NULL);
ANALYZE encoded, big, toasted;
