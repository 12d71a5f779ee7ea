--
-- Every type of the policy, with nulls, extremes, toasted values and empty
-- strings; dropped and added columns; local types that differ from the remote.
--
CREATE TYPE remote.mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE remote.pair AS (a int, b text);
CREATE DOMAIN remote.positive AS int CHECK (VALUE > 0);
CREATE DOMAIN remote.label AS text CHECK (VALUE <> 'forbidden');

CREATE TABLE remote.types (
	id int,
	gone text,
	c_bool bool, c_char "char", c_int2 int2, c_int4 int4, c_int8 int8,
	c_oid oid, c_float4 float4, c_float8 float8,
	c_date date, c_time time, c_timetz timetz, c_timestamp timestamp, c_timestamptz timestamptz,
	c_interval interval, c_uuid uuid, c_macaddr macaddr, c_macaddr8 macaddr8,
	c_tid tid, c_xid xid, c_xid8 xid8, c_pg_lsn pg_lsn,
	c_text text, c_varchar varchar(20), c_bpchar char(10), c_name name,
	c_json json, c_xml xml, c_bytea bytea,
	c_numeric numeric, c_numeric_15_2 numeric(15,2),
	c_inet inet, c_cidr cidr, c_bit bit(5), c_varbit varbit, c_jsonb jsonb,
	c_int4_array int4[], c_text_array text[], c_int4range int4range, c_nummultirange nummultirange,
	c_tsvector tsvector, c_tsquery tsquery, c_point point, c_box box, c_path path, c_polygon polygon, c_circle circle,
	c_mood remote.mood, c_pair remote.pair, c_regclass regclass, c_jsonpath jsonpath, c_money money,
	c_positive remote.positive, c_label remote.label
);
ALTER TABLE remote.types DROP COLUMN gone;

-- no nulls
INSERT INTO remote.types
SELECT i, i % 2 = 0, chr(65 + i % 26)::"char", i, i * 1000, i * 10000000000, i, i / 3.0, i / 7.0,
	'2000-01-01'::date + i, '00:00:00'::time + i * '1 minute'::interval, '12:34:56.789+05:30',
	'2000-01-01'::timestamp + i * '1 day 1 ms'::interval, '2000-01-01Z'::timestamptz + i * '1 hour'::interval,
	i * '1 month 2 days 3.5 seconds'::interval, md5(i::text)::uuid, '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05',
	format('(%s,%s)', i, i % 100 + 1)::tid, i::text::xid, i::text::xid8, format('1/%s', to_hex(i))::pg_lsn,
	'text ' || i, 'varchar ' || i, 'char ' || i, 'name ' || i,
	format('{"a": %s}', i)::json, format('<a>%s</a>', i)::xml, decode(md5(i::text), 'hex'),
	i / 7.0, i / 100.0,
	'10.0.0.1'::inet + i, '10.1.0.0/16', (i % 32)::bit(5), (i % 32)::bit(5)::varbit, format('{"a": [%s, null]}', i)::jsonb,
	ARRAY[i, NULL, i + 1], ARRAY['a', 'b ' || i, NULL], int4range(i, i + 10), nummultirange(numrange(i, i + 1)),
	to_tsvector('simple', 'word' || i || ' other'), 'a & b'::tsquery, point(i, i), box(point(0, 0), point(i, i)),
	'[(0,0),(1,1)]'::path, '((0,0),(1,1),(1,0))'::polygon, circle(point(i, i), 2),
	(ARRAY['sad', 'ok', 'happy'])[i % 3 + 1]::remote.mood, (i, 'x' || i)::remote.pair, 'pg_class'::regclass,
	'$.a[*] ? (@ > 1)'::jsonpath, i::money, i + 1, 'label ' || i
FROM generate_series(0, 999) i;

-- nothing but nulls, and some of each
INSERT INTO remote.types (id) SELECT i FROM generate_series(1000, 1099) i;
INSERT INTO remote.types (id, c_int4, c_text, c_numeric, c_mood, c_uuid)
SELECT i, nullif(i % 3, 0), nullif((i % 5)::text, '0'), nullif(i % 7, 0) / 8.0,
	CASE WHEN i % 2 = 0 THEN 'ok'::remote.mood END, CASE WHEN i % 2 = 0 THEN md5(i::text)::uuid END
FROM generate_series(1100, 1999) i;

-- extremes
INSERT INTO remote.types (id, c_char, c_int2, c_int4, c_int8, c_oid, c_float4, c_float8, c_date, c_time, c_timetz,
	c_timestamp, c_timestamptz, c_interval, c_xid, c_xid8, c_pg_lsn, c_text, c_varchar, c_bpchar, c_name, c_bytea, c_numeric,
	c_numeric_15_2, c_money) VALUES
(2000, '', -32768, -2147483648, -9223372036854775808, 0, '-Infinity', '-Infinity', '-infinity', '00:00', '00:00+15:59',
	'-infinity', '-infinity', '-178000000 years', '0', '0', '0/0', '', '', '', '', '', '-Infinity', -9999999999999.99, '-92233720368547758.08'),
(2001, '\377', 32767, 2147483647, 9223372036854775807, 4294967295, 'Infinity', 'Infinity', 'infinity', '24:00', '24:00-15:59',
	'infinity', 'infinity', '178000000 years', '4294967295', '18446744073709551615', 'FFFFFFFF/FFFFFFFF', repeat('x', 126), repeat('é', 20),
	'          ', repeat('n', 63), '\x00ff00', 'Infinity', 9999999999999.99, '92233720368547758.07'),
(2002, '\001', 0, 0, 0, 1, 'NaN', 'NaN', '4713-01-01 BC', '23:59:59.999999', '23:59:59.999999-07',
	'4713-01-01 BC', '294276-12-31 23:59:59.999999Z', '-1 us', '1', '1', '0/1', repeat('y', 127), 'a b', 'ä', 'ü', NULL, 'NaN', 'NaN', 0),
(2003, 'a', 1, 1, 1, 1, '-0', '-0', '5874897-12-31', '00:00:00.000001', '00:00:00.000001+00',
	'294276-12-31 23:59:59.999999', '4713-01-01 BC', '1 mon -1 day', '1', '1', '0/1', repeat('ж', 100), NULL, NULL, NULL, NULL,
	0.00000000000000000000000000000000000001, 0.01, 1);
INSERT INTO remote.types (id, c_numeric, c_float8, c_float4) VALUES
(2010, 0, 1e-308, 1e-37), (2011, 0.000, 5e-324, 1e-45), (2012, -0.10, 1.7976931348623157e308, 3.4028235e38),
(2013, 10000, 0.1, 0.1), (2014, 100000000.00000000, 1/3.0, 1/3.0), (2015, 123456789012345678, NULL, NULL),
(2016, 1234567890123456789, NULL, NULL), (2017, 1e200, NULL, NULL), (2018, -1e-200, NULL, NULL), (2019, 0.9999, NULL, NULL),
(2020, 12345.678900, NULL, NULL), (2021, 99990000, NULL, NULL), (2022, -1, NULL, NULL);

-- toasted: compressed in line, external, external and compressed
ALTER TABLE remote.types ALTER c_bytea SET STORAGE EXTERNAL;
INSERT INTO remote.types (id, c_text, c_bytea, c_json, c_jsonb, c_numeric, c_text_array, c_label)
SELECT 3000 + i, repeat('compressible ', 300 * i), convert_to(repeat(md5(i::text), 400), 'UTF8'),
	to_json(repeat('json', 5000)), to_jsonb(repeat('jsonb', 5000)), repeat('1234567890', 300)::numeric,
	ARRAY(SELECT md5(n::text) FROM generate_series(1, 500) n), string_agg(md5(n::text), '')
FROM generate_series(1, 5) i, generate_series(1, 500) n GROUP BY i;

-- added with a default that old rows do not store
ALTER TABLE remote.types ADD COLUMN added text DEFAULT 'added later';
ALTER TABLE remote.types ADD COLUMN added_numeric numeric(10,4) DEFAULT 12.5;

CREATE FOREIGN TABLE types (
	c_text text, gone_here int, id int,
	c_bool bool, c_char "char", c_int2 int2, c_int4 int4, c_int8 int8,
	c_oid oid, c_float4 float4, c_float8 float8,
	c_date date, c_time time, c_timetz timetz, c_timestamp timestamp, c_timestamptz timestamptz,
	c_interval interval, c_uuid uuid, c_macaddr macaddr, c_macaddr8 macaddr8,
	c_tid tid, c_xid xid, c_xid8 xid8, c_pg_lsn pg_lsn,
	c_varchar varchar(20), c_bpchar char(10), c_name name,
	c_json json, c_xml xml, c_bytea bytea,
	c_numeric numeric, c_numeric_15_2 numeric(15,2),
	c_inet inet, c_cidr cidr, c_bit bit(5), c_varbit varbit, c_jsonb jsonb,
	c_int4_array int4[], c_text_array text[], c_int4range int4range, c_nummultirange nummultirange,
	c_tsvector tsvector, c_tsquery tsquery, c_point point, c_box box, c_path path, c_polygon polygon, c_circle circle,
	c_mood remote.mood, c_pair remote.pair, c_regclass regclass, c_jsonpath jsonpath, c_money money,
	c_positive remote.positive, c_label remote.label
) SERVER loopback OPTIONS (schema_name 'remote', table_name 'types');
ALTER FOREIGN TABLE types DROP COLUMN gone_here;
ALTER FOREIGN TABLE types ADD COLUMN added text, ADD COLUMN added_numeric numeric(10,4);

SELECT * FROM exchange_differences('SELECT * FROM types');
SELECT * FROM exchange_differences('SELECT id, c_int4, c_numeric, c_text FROM types WHERE id < 1500 ORDER BY id');
SELECT count(*) FROM types;
SELECT id, c_numeric, c_float8, c_float4 FROM types WHERE id BETWEEN 2000 AND 2022 ORDER BY id;

-- local types that differ: what postgres_fdw's text would give, or the same error
CREATE FOREIGN TABLE other_types (
	id text, c_int4 int8, c_int8 numeric, c_text varchar, c_varchar text, c_bpchar char(12),
	c_numeric_15_2 numeric(20,1), c_date timestamp, c_timestamp date, c_mood text, c_uuid text, c_name text
) SERVER loopback OPTIONS (schema_name 'remote', table_name 'types');
SELECT * FROM exchange_differences('SELECT * FROM other_types WHERE c_name LIKE ''name %''');

CREATE FOREIGN TABLE narrow (id int2, c_int4 int2) SERVER loopback OPTIONS (schema_name 'remote', table_name 'types');
SET pg_exchange.enabled = off;
SELECT * FROM narrow;
SET pg_exchange.enabled = on;
SELECT * FROM narrow;

-- domains here over plain types there: checked, nulls too
CREATE DOMAIN below_1500 AS int CHECK (VALUE < 1500);
CREATE DOMAIN not_nothing AS text NOT NULL;
CREATE FOREIGN TABLE domain_id (id below_1500) SERVER loopback OPTIONS (schema_name 'remote', table_name 'types');
CREATE FOREIGN TABLE domain_text (id int, c_text not_nothing) SERVER loopback OPTIONS (schema_name 'remote', table_name 'types');
SELECT count(*) FROM (SELECT * FROM domain_id WHERE id < 1400 OFFSET 0) x;
SELECT count(id) FROM (SELECT * FROM domain_id OFFSET 0) x;
SELECT count(c_text) FROM (SELECT * FROM domain_text WHERE id < 1000 OFFSET 0) x;
SELECT count(c_text) FROM (SELECT * FROM domain_text OFFSET 0) x;

-- tableoid, whole rows, no columns at all
SELECT DISTINCT tableoid::regclass FROM types;
SELECT count(*), count(t), count(DISTINCT (t).id) FROM (SELECT t FROM types t OFFSET 0) x;
SELECT * FROM exchange_differences('SELECT 1 AS one FROM types');

-- a column with the name of the subquery that the query is wrapped in
CREATE TABLE remote.named_t AS SELECT i AS t, i + 1 AS u FROM generate_series(1, 10) i;
CREATE FOREIGN TABLE named_t (t int, u int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'named_t');
SELECT * FROM exchange_differences('SELECT * FROM named_t');

-- types of extensions, arrays of any shape, domains over them
CREATE EXTENSION hstore;
CREATE EXTENSION citext;
CREATE DOMAIN remote.matrix AS int[][] CHECK (array_ndims(VALUE) = 2);
CREATE TABLE remote.extras (id int, h hstore, c citext, a int[], t text[], n numeric[], m remote.matrix,
	r tstzrange, mr datemultirange, p remote.pair[], j jsonb[]);
INSERT INTO remote.extras VALUES
	(1, 'a=>1, b=>NULL', 'CaSe', '{}', '{}', '{}', '{{1,2},{3,4}}', 'empty', '{}', '{}', '{}'),
	(2, '', '', '{{{1,NULL},{3,4}}}', '{a,"b,c",NULL,""}', '{1.5,NaN,NULL}', NULL, '(,)', '{[2020-01-01,2020-02-01),[2021-01-01,)}',
		ARRAY[(1, 'x'), NULL]::remote.pair[], ARRAY['{"a":1}', 'null', NULL]::jsonb[]),
	(3, NULL, NULL, '[5:7]={1,2,3}', '[0:1][2:3]={{a,b},{c,d}}', NULL, '{{1}}', '[2020-01-01,2020-01-02)', NULL, NULL, NULL);
CREATE FOREIGN TABLE extras (id int, h hstore, c citext, a int[], t text[], n numeric[], m remote.matrix,
	r tstzrange, mr datemultirange, p remote.pair[], j jsonb[]) SERVER loopback OPTIONS (schema_name 'remote', table_name 'extras');
SELECT * FROM exchange_differences('SELECT * FROM extras');
SELECT * FROM exchange_differences('SELECT id FROM extras WHERE c = ''case''');
