--
-- exchange.partition_number: the partition that PostgreSQL's hash partitioning chooses.
--
CREATE TABLE remote.keys AS SELECT i AS nr, (i * 7 % 30000)::int2 AS i2, i * 1234567 % 2000000011 AS i4, i::int8 * 123456789012345 AS i8,
	'key ' || i AS t, ('v' || i)::varchar(20) AS v, ('b' || i)::char(12) AS b, (i * 1.25)::numeric AS n, date '2000-01-01' + i AS d,
	timestamp '2000-01-01' + i * interval '1 hour' AS ts, timestamptz '2000-01-01 00:00 UTC' + i * interval '1 hour' AS tz,
	md5(i::text)::uuid AS u, i / 3.0::float8 AS f8, (i / 7.0)::float4 AS f4, i % 2 = 0 AS bo, decode(md5(i::text), 'hex') AS by,
	ARRAY[i, i + 1] AS a, ('n' || i)::name AS na
	FROM generate_series(-500, 500) i;

-- For each type and modulus, a table with these partitions; how many rows are
-- in another one than is told?
CREATE FUNCTION misplaced(columns text, modulus int, others text DEFAULT NULL) RETURNS TABLE (rows bigint, partitions bigint, wrong bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE remote.hashed (LIKE remote.keys) PARTITION BY HASH (%s)', columns);
	FOR i IN 0 .. modulus - 1 LOOP
		EXECUTE format('CREATE TABLE remote.hashed_%s PARTITION OF remote.hashed FOR VALUES WITH (MODULUS %s, REMAINDER %s)', i, modulus, i);
	END LOOP;
	INSERT INTO remote.hashed SELECT * FROM remote.keys;
	RETURN QUERY EXECUTE format('SELECT count(*), count(DISTINCT tableoid), count(*) FILTER (WHERE tableoid::regclass::text IS DISTINCT FROM '
		'''remote.hashed_'' || exchange.partition_number(%s, %s)) FROM remote.hashed', modulus, coalesce(others, columns));
	DROP TABLE remote.hashed;
END
$$;
SELECT c AS columns, m.* FROM unnest('{i2,i4,i8,t,v,b,n,d,ts,tz,u,f8,f4,bo,by,a,na,"i4, t","u, d, n"}'::text[]) c, misplaced(c, 7) m;
SELECT modulus, m.* FROM unnest('{1,2,64}'::int[]) modulus, misplaced('i4', modulus) m;
-- other columns have another hash, and so have those in another order
SELECT m.wrong > 0 AS differs FROM (VALUES ('i4', 'i2'), ('i4, t', 't, i4')) c(columns, others), misplaced(columns, 7, others) m;
SELECT wrong FROM misplaced('i4', 7, 'i4::int8');

-- nulls, which equal nothing
SELECT exchange.partition_number(4, NULL::int) AS a, exchange.partition_number(4, 1, NULL::text) AS b, exchange.partition_number(NULL, 1) AS c;
SELECT exchange.partition_number(8, k) FROM (VALUES (1), (NULL), (3)) v(k);

-- values that are equal in another form
SELECT exchange.partition_number(65536, 1.0) = exchange.partition_number(65536, 1.000) AS numerics,
	exchange.partition_number(65536, 0::float8) = exchange.partition_number(65536, '-0'::float8) AS zeros,
	exchange.partition_number(65536, 'a'::char(5)) = exchange.partition_number(65536, 'a'::bpchar) AS blanks;
CREATE DOMAIN remote.key AS int CHECK (value < 100);
SELECT exchange.partition_number(65536, 5) = exchange.partition_number(65536, 5::remote.key) AS domains;
CREATE TYPE remote.color AS ENUM ('red', 'green');
SELECT exchange.partition_number(65536, c) IS NOT NULL AS enums FROM unnest('{red,green}'::remote.color[]) c;
SELECT sum(exchange.partition_number(65536, repeat(t, 1000))) = sum(exchange.partition_number(65536, big)) AS toasted
	FROM (SELECT t, repeat(t, 1000) AS big FROM remote.keys OFFSET 0) x;

-- keys may differ in their collations
SELECT exchange.partition_number(65536, c, p) = exchange.partition_number(65536, t, v) AS collations
	FROM (SELECT t, v, t COLLATE "C" AS c, v COLLATE "POSIX" AS p FROM remote.keys WHERE nr = 1 OFFSET 0) x;

-- errors
SELECT exchange.partition_number(0, 1);
SELECT exchange.partition_number(65537, 1);
SELECT exchange.partition_number(-1, 1);
SELECT exchange.partition_number(4, '(1,2)'::point);
SELECT exchange.partition_number(4, '{}'::xml[]) FROM (SELECT 1 OFFSET 0) x;
SELECT exchange.partition_number(4, VARIADIC ARRAY[1, 2]);
\set VERBOSITY sqlstate
SELECT exchange.partition_number(4);
\set VERBOSITY default
SELECT exchange.partition_number(4, 'unknown');

-- it is computed where the rows are read, in workers, too
EXPLAIN (COSTS OFF, VERBOSE) SELECT exchange.partition_number(4, 1);
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 targets=4 columns=23:-1', t.*)
	FROM (SELECT i4, exchange.partition_number(4, i4) FROM remote.keys) t$$);
\c
DROP TABLE remote.keys;
DROP FUNCTION misplaced;
DROP DOMAIN remote.key;
DROP TYPE remote.color;
