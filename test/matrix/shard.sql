-- The shard of scripts/check_matrix.py: a table with a column of each type that travels raw (the script
-- holds this against src/tuple/policy.c) and of others, and two tables to join. Must run on PostgreSQL 15.
SET client_min_messages = warning;
CREATE EXTENSION pg_exchange;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE types (
	id int PRIMARY KEY,
	c_bool bool, c_char "char", c_int2 int2, c_int8 int8, c_oid oid, c_xid xid, c_xid8 xid8, c_pg_lsn pg_lsn,
	c_float4 float4, c_float8 float8, c_date date, c_time time, c_timestamp timestamp, c_timestamptz timestamptz,
	c_timetz timetz, c_interval interval, c_uuid uuid, c_macaddr macaddr, c_macaddr8 macaddr8, c_tid tid,
	c_text text, c_varchar varchar(20), c_bpchar char(10), c_json json, c_bytea bytea, c_name name,
	c_numeric numeric, c_numeric_15_2 numeric(15,2),
	c_xml xml, c_inet inet, c_varbit varbit, c_jsonb jsonb, c_array int[], c_range int4range, c_multirange int4multirange,
	c_tsvector tsvector, c_point point, c_mood mood, c_money money, c_jsonpath jsonpath,
	c_bools bool[], c_int2s int2[], c_int4s int4[], c_int8s int8[], c_oids oid[], c_float4s float4[], c_float8s float8[],
	c_dates date[], c_timestamps timestamp[], c_timestamptzs timestamptz[]
);
INSERT INTO types
SELECT i, i % 2 = 0, chr(65 + i % 26)::"char", i, i * 10000000000, i, i::text::xid, i::text::xid8, format('1/%s', to_hex(i))::pg_lsn,
	i / 3.0, i / 7.0, date '2000-01-01' + i, time '00:00' + i * interval '1 second', timestamp '2000-01-01' + i * interval '1 day 1 ms',
	timestamptz '2000-01-01Z' + i * interval '1 hour', '12:34:56.789+05:30', i * interval '1 month 2 days 3.5 seconds',
	md5(i::text)::uuid, '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', format('(%s,%s)', i, i % 100 + 1)::tid,
	'text ' || i, 'varchar ' || i, 'char ' || i, format('{"a": %s}', i)::json, decode(md5(i::text), 'hex'), 'name ' || i,
	i / 7.0, i / 100.0, format('<a>%s</a>', i)::xml, inet '10.0.0.1' + i, (i % 32)::bit(5)::varbit, format('{"a": [%s, null]}', i)::jsonb,
	ARRAY[i, NULL, i + 1], int4range(i, i + 10), int4multirange(int4range(i, i + 1)), to_tsvector('simple', 'word' || i),
	point(i, i), (ARRAY['sad', 'ok', 'happy'])[i % 3 + 1]::mood, i::money, '$.a[*] ? (@ > 1)',
	ARRAY[i % 2 = 0, true], ARRAY[i, -i], ARRAY[i, -i * 1000], ARRAY[i * 10000000000, -i], ARRAY[i::oid, '4294967295'], ARRAY[i / 3.0, 'NaN'],
	ARRAY[i / 7.0, '-Infinity'], ARRAY[date '2000-01-01' + i, 'infinity'], ARRAY[timestamp '2000-01-01' + i * interval '1 day 1 ms'],
	ARRAY[timestamptz '2000-01-01Z' + i * interval '1 hour', '-infinity']
FROM generate_series(1, 5000) i;
INSERT INTO types (id) SELECT i FROM generate_series(5001, 5100) i;
INSERT INTO types (id, c_char, c_int2, c_int8, c_oid, c_float4, c_float8, c_date, c_time, c_timetz, c_timestamp, c_timestamptz,
	c_interval, c_xid, c_xid8, c_pg_lsn, c_text, c_varchar, c_bpchar, c_name, c_bytea, c_numeric, c_numeric_15_2) VALUES
(6000, '', -32768, -9223372036854775808, 0, '-Infinity', '-Infinity', '-infinity', '00:00', '00:00+15:59', '-infinity', '-infinity',
	'-178000000 years', '0', '0', '0/0', '', '', '', '', '', '-Infinity', -9999999999999.99),
(6001, '\377', 32767, 9223372036854775807, 4294967295, 'Infinity', 'Infinity', 'infinity', '24:00', '24:00-15:59', 'infinity', 'infinity',
	'178000000 years', '4294967295', '18446744073709551615', 'FFFFFFFF/FFFFFFFF', repeat('x', 126), repeat('é', 20), '          ',
	repeat('n', 63), '\x00ff00', 'Infinity', 9999999999999.99),
(6002, '\001', 0, 0, 1, 'NaN', 'NaN', '4713-01-01 BC', '23:59:59.999999', '23:59:59.999999-07', '4713-01-01 BC',
	'294276-12-31 23:59:59.999999Z', '-1 us', '1', '1', '0/1', repeat('ж', 300), 'a b', 'ä', 'ü', NULL, 'NaN', 'NaN'),
(6003, 'a', 1, 1, 1, '-0', '-0', '5874897-12-31', '00:00:00.000001', '00:00:00.000001+00', '294276-12-31 23:59:59.999999',
	'4713-01-01 BC', '1 mon -1 day', '1', '1', '0/1', repeat('long ', 100000), NULL, NULL, NULL, NULL, 1e-38, 0.01);
INSERT INTO types (id, c_bools, c_int2s, c_int4s, c_int8s, c_oids, c_float4s, c_float8s, c_dates, c_timestamps, c_timestamptzs) VALUES
(6004, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'),
(6005, '[0:1]={t,f}', '[0:1]={1,-2}', '[0:1]={1,-2}', '[0:1]={1,-2}', '[0:1]={1,2}', '[0:1]={1,-2}', '[0:1]={1,-2}',
	'[0:1]={2000-01-01,infinity}', '[0:1]={2000-01-01,infinity}', '[0:1]={2000-01-01,infinity}'),
(6006, '{{t},{f}}', '{{1},{-2}}', '{{1},{-2}}', '{{1},{-2}}', '{{1},{2}}', '{{1},{-2}}', '{{1},{-2}}',
	'{{2000-01-01},{infinity}}', '{{2000-01-01},{infinity}}', '{{2000-01-01},{infinity}}'),
(6007, '{t,NULL}', '{1,NULL}', '{1,NULL}', '{1,NULL}', '{1,NULL}', '{1,NULL}', '{1,NULL}', '{2000-01-01,NULL}', '{2000-01-01,NULL}', '{2000-01-01,NULL}');
ANALYZE types;

CREATE TABLE orders AS
	SELECT i AS id, i % 100 AS customer, (i % 9973)::numeric(12,2) AS price, date '2026-01-01' + i % 365 AS day
	FROM generate_series(1, 20000) i;
ALTER TABLE orders ADD PRIMARY KEY (id);
CREATE TABLE customers AS SELECT i AS id, 'customer ' || i AS name FROM generate_series(0, 99) i;
ANALYZE orders, customers;

-- Infinite intervals exist since PostgreSQL 17; an older coordinator cannot read them.
CREATE VIEW endless AS SELECT id, CASE WHEN current_setting('server_version_num')::int >= 170000
	THEN 'infinity'::text ELSE '1 day' END::interval AS span FROM orders;
