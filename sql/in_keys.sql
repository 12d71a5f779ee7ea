--
-- exchange.in_keys, and where a sender's plan has it in place of key = ANY (keys).
--
CREATE TABLE remote.keyed AS SELECT (i % 32000)::int2 AS small, i AS plain, i * 10000000000 AS large, i % 7 AS other FROM generate_series(-5000, 5000) i
	UNION ALL SELECT v::int2, v * 65536, v * 281474976710656, 0 FROM (VALUES (-32768), (32767)) x(v) UNION ALL SELECT NULL, NULL, NULL, 1;
ANALYZE remote.keyed;

-- by constants, which are looked up in a table, and by values
CREATE FUNCTION key_differences() RETURNS TABLE (type text, keys int, rows bigint, differs bigint) LANGUAGE plpgsql AS $$
DECLARE
	name text;
	keys text;
BEGIN
	FOREACH name IN ARRAY ARRAY['small', 'plain', 'large'] LOOP
		type := (SELECT format_type(atttypid, -1) FROM pg_attribute WHERE attrelid = 'remote.keyed'::regclass AND attname = name);
		FOR keys IN EXECUTE format('SELECT * FROM unnest(ARRAY[''{}'', ''{NULL}'', ''{7}'', ''{7,NULL,7,-7,NULL}'', ''[5:6]={1,2}'',
			(SELECT array_agg(k)::text FROM (SELECT %1$I AS k FROM remote.keyed WHERE plain %% 10 = 0 OR plain < -5000 ORDER BY plain::bigint * 7919 %% 101) x),
			(SELECT array_agg(%1$I)::text FROM remote.keyed)])', name) LOOP
			RETURN QUERY EXECUTE format('SELECT %3$L::text, cardinality(%2$L::%3$s[]), count(*) FILTER (WHERE exchange.in_keys(%2$L::%3$s[], %1$I)),
				count(*) FILTER (WHERE exchange.in_keys(%2$L::%3$s[], %1$I) IS DISTINCT FROM
					CASE WHEN %1$I IS NOT NULL THEN coalesce(%1$I = ANY (%2$L::%3$s[]), false) END)
				FROM remote.keyed', name, keys, type);
		END LOOP;
	END LOOP;
END
$$;
SELECT * FROM key_differences();
-- the lowest values there are: what an empty place has is none of them
SELECT count(*) FROM generate_series(-9223372036854775808, -9223372036854775789) k WHERE exchange.in_keys('{-9223372036854775808,-9223372036854775807,-9223372036854775805}', k);
SELECT k, exchange.in_keys(ARRAY[k - 1, NULL, k + 1, 3], k) FROM generate_series(1, 4) k;
SELECT exchange.in_keys(NULL::int[], 1), exchange.in_keys('{1}', NULL::int);
-- a cached expression with other keys each time
DO $$
DECLARE
	keys int[];
BEGIN
	FOR i IN 1..3 LOOP
		keys := ARRAY[i, i * 10];
		ASSERT exchange.in_keys(keys, i) AND exchange.in_keys(keys, i * 10) AND NOT exchange.in_keys(keys, i + 1);
	END LOOP;
END
$$;

-- plans of senders: many keys, of one type with the column, as a filter
CREATE FUNCTION sender_filter(condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT exchange.send(%L, t) FROM (SELECT large FROM remote.keyed WHERE %s) t',
			'version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=20:-1', condition) LOOP
		IF line ~ 'Filter|Cond' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END
$$;
SELECT * FROM sender_filter('plain = ANY (''{1,2,3,4,5,6,7,8,9}'')');
SELECT * FROM sender_filter('large = ANY (''{1,2,3,4,5,6,7,8,NULL}'') AND other = 1');
SELECT * FROM sender_filter('small = ANY (''{1,2,3,4,5,6,7,8,9}''::int2[])');
SELECT * FROM sender_filter('plain = ANY (''{1,2,3,4,5,6,7,8}'')');
-- of integers of another width, those that can be equal
SELECT * FROM sender_filter('large = ANY (''{1,2,3,4,5,6,7,8,NULL,9}''::int4[])');
SELECT * FROM sender_filter('large = ANY (''{1,2,3,4,5,6,7,8,9}''::int2[])');
SELECT * FROM sender_filter('plain = ANY (''{1,2,3,4,5,6,7,8,2147483647,2147483648}''::int8[])');
SELECT * FROM sender_filter('plain = ANY (''{1,2,3,4,5,6,7,8,9}''::int2[])');
SELECT * FROM sender_filter('small = ANY (''{1,2,3,4,5,6,7,8,-32768,-32769,32768}''::int4[])');
SELECT * FROM sender_filter('small = ANY (''{100000,100001,100002,100003,100004,100005,100006,100007,100008}''::int8[])');
SELECT * FROM sender_filter('small = ANY (''{1,2,3,4,5,6,7,8,9}''::int[])');
SELECT * FROM sender_filter('plain <> ALL (''{1,2,3,4,5,6,7,8,9}'')');
SELECT * FROM sender_filter('plain = ANY (''{1,2,3,4,5,6,7,8,9}'') OR other = 1');
-- other queries have core's
EXPLAIN (COSTS OFF) SELECT large FROM remote.keyed WHERE plain = ANY ('{1,2,3,4,5,6,7,8,9}');
-- who may not call the function gets core's
CREATE ROLE regress_px_keys;
GRANT SELECT ON remote.keyed TO regress_px_keys;
GRANT USAGE ON SCHEMA remote TO regress_px_keys;
REVOKE EXECUTE ON FUNCTION exchange.in_keys(int[], int) FROM PUBLIC;
PREPARE kept AS SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=20:-1', t)
	FROM (SELECT large FROM remote.keyed WHERE plain = ANY ('{1,2,3,4,5,6,7,8,9}')) t;
EXPLAIN (COSTS OFF) EXECUTE kept;
SET ROLE regress_px_keys;
SELECT * FROM sender_filter('plain = ANY (''{1,2,3,4,5,6,7,8,9}'')');
EXPLAIN (COSTS OFF) EXECUTE kept;
RESET ROLE;
DEALLOCATE kept;
GRANT EXECUTE ON FUNCTION exchange.in_keys(int[], int) TO PUBLIC;
-- an index is asked for the keys
CREATE INDEX ON remote.keyed (plain);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM sender_filter('plain = ANY (''{1,2,3,4,5,6,7,8,9}'')');
RESET enable_seqscan;
RESET enable_bitmapscan;
-- a plan that is kept knows that the function is gone
DROP INDEX remote.keyed_plain_idx;
PREPARE kept AS SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=20:-1', t)
	FROM (SELECT large FROM remote.keyed WHERE plain = ANY ('{1,2,3,4,5,6,7,8,9}')) t;
EXPLAIN (COSTS OFF) EXECUTE kept;
BEGIN;
ALTER EXTENSION pg_exchange DROP FUNCTION exchange.in_keys(int[], int);
DROP FUNCTION exchange.in_keys(int[], int);
EXPLAIN (COSTS OFF) EXECUTE kept;
ROLLBACK;
DEALLOCATE kept;

-- keys that all want the same place: found, and not sought among all others; keys, in whatever order, in a time in proportion
CREATE TABLE remote.crowd AS
	SELECT array_agg((CASE WHEN k < 9223372036854775808 THEN k ELSE k - 18446744073709551616 END)::bigint) AS keys
	FROM generate_series(1, 400000) i, LATERAL (SELECT i * 17428512612931826493::numeric % 18446744073709551616 AS k) x;
CREATE FUNCTION count_found(keys bigint[], OUT members bigint, OUT others bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT count(*) FILTER (WHERE exchange.in_keys($1, k)), count(*) FILTER (WHERE exchange.in_keys($1, k + 1))
		FROM unnest($1) WITH ORDINALITY AS u(k, n) WHERE n % 7 = 0' INTO members, others USING keys;
END
$$;
SET statement_timeout = '20s';
SELECT c.* FROM remote.crowd, count_found(keys) c;
RESET statement_timeout;
DROP TABLE remote.crowd;
DROP FUNCTION count_found;

DROP TABLE remote.keyed;
DROP FUNCTION key_differences, sender_filter;
REVOKE USAGE ON SCHEMA remote FROM regress_px_keys;
DROP ROLE regress_px_keys;
