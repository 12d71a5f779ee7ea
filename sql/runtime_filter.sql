--
-- Runtime filters: a hash join hands the keys of its inner side to the scans
-- of its outer side.
--
SET pg_exchange.join_exchange = off;
CREATE SCHEMA filter;
SET search_path = filter, public;
CREATE TABLE remote.filter_sales AS
	SELECT i AS id, i % 4000 AS item, (i % 4000)::bigint * 10 AS big, CASE WHEN i % 3 > 0 THEN i % 500 END AS maybe,
		'code ' || i % 2500 AS code, ('c' || i % 2500)::char(10) AS padded, (i % 1000) / 10.0 AS amount,
		timestamptz '2026-01-01 00:00 UTC' + (i % 5000) * interval '1 hour' AS at, date '2026-01-01' + i % 2000 AS day
	FROM generate_series(1, 20000) i;
CREATE FOREIGN TABLE sales (id int, item int, big bigint, maybe int, code text, padded char(10), amount numeric,
		at timestamptz, day date)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'filter_sales');
ANALYZE sales;
CREATE TABLE item AS
	SELECT i AS id, i * 10 AS ten, i::smallint AS small, CASE WHEN i % 5 > 0 THEN i END AS maybe, 'code ' || i AS code,
		('c' || i)::char(6) AS padded, i / 10.0 AS amount,
		timestamptz '2026-01-01 01:00 Europe/Berlin' + i * interval '1 day' AS at, date '2026-01-01' + i AS day
	FROM generate_series(1, 40) i;
ANALYZE item;
SET pg_exchange.lookup_joins = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;

SELECT explain_stable('SELECT s.id, i.code FROM sales s JOIN item i ON s.item = i.id');
SELECT explain_stable('SELECT s.id, i.code FROM sales s JOIN item i ON s.item = i.id', 'COSTS OFF, VERBOSE');
SELECT explain_stable('SELECT s.id, i.code FROM sales s JOIN item i ON s.item = i.id', 'COSTS OFF, ANALYZE, TIMING OFF');
SELECT explain_json('SELECT s.id FROM sales s JOIN item i ON s.item = i.id', 'ANALYZE')->'Plans'->0->'Runtime Filters' AS filters;

--
-- Rows of a query as text, without filters and with them, by each transport;
-- counts what differs, and shows the filters.
--
CREATE FUNCTION filter_differences(query text)
RETURNS TABLE (rows bigint, without_only bigint, with_only bigint, filters text)
LANGUAGE plpgsql AS $$
DECLARE
	way text;
BEGIN
	SET LOCAL pg_exchange.runtime_filters = off;
	EXECUTE format('CREATE TEMP TABLE without AS SELECT t::text AS row FROM (%s) t', query);
	SET LOCAL pg_exchange.runtime_filters = on;
	without_only := 0;
	with_only := 0;
	FOREACH way IN ARRAY '{auto,session}'::text[] LOOP
		PERFORM set_config('pg_exchange.transport', way, true);
		EXECUTE format('CREATE TEMP TABLE filtered AS SELECT t::text AS row FROM (%s) t', query);
		SELECT count(*) INTO rows FROM filtered;
		without_only := without_only + (SELECT count(*) FROM (TABLE without EXCEPT ALL TABLE filtered) x);
		with_only := with_only + (SELECT count(*) FROM (TABLE filtered EXCEPT ALL TABLE without) x);
		DROP TABLE filtered;
	END LOOP;
	SET LOCAL pg_exchange.transport = auto;
	SELECT string_agg(regexp_replace(line, ' *Runtime Filter: |, about \d+ rows not sent', '', 'g'), ', ') INTO filters
		FROM explain_stable(query, 'COSTS OFF, ANALYZE, TIMING OFF') line WHERE line ~ 'Runtime Filter:';
	DROP TABLE without;
	RETURN NEXT;
END
$$;

-- types: equal ones, two integers of different size, nulls, and values that are equal but look different
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.item = i.id');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.big = i.ten');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.big = i.small');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.item = i.maybe');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.maybe = i.maybe');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.code = i.code');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.padded = i.padded');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.at = i.at');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.day = i.day');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.amount = i.amount');
SELECT * FROM filter_differences('SELECT s, i.n FROM sales s JOIN (VALUES (1.0), (1.00), (2.5), (NULL)) i(n) ON s.amount = i.n');
-- keys with quotes, backslashes, commas, NULL as a word, an empty string
SELECT * FROM filter_differences($$SELECT s, i FROM sales s JOIN
	(VALUES ('code 1'), ('it''s'), ('back\slash'), ('a,b'), ('"'), ('NULL'), (''), ('{}')) i(code) ON s.code = i.code$$);
-- collations: another one than the column's; one in which different strings are equal
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.code = i.code COLLATE "C"');

-- two keys; a key and another condition; an expression is no key
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.item = i.id AND s.code = i.code');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.item = i.id AND s.id > i.ten * 50');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.item + 1 = i.id');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.item = i.id + 1');

-- joins that drop rows of the outer side, and others
SELECT * FROM filter_differences('SELECT s FROM sales s WHERE item IN (SELECT id FROM item)');
SELECT * FROM filter_differences('SELECT s FROM sales s WHERE EXISTS (SELECT FROM item i WHERE i.id = s.item AND i.ten <> s.id)');
SELECT * FROM filter_differences('SELECT i, s FROM item i LEFT JOIN sales s ON s.item = i.id');
SELECT * FROM filter_differences('SELECT i FROM item i WHERE EXISTS (SELECT FROM sales s WHERE s.item = i.id)');
-- since 16 a right anti-join, which may have a filter
SELECT rows, without_only, with_only FROM filter_differences('SELECT i FROM item i WHERE NOT EXISTS (SELECT FROM sales s WHERE s.item = i.id)');
SELECT * FROM filter_differences('SELECT s, i FROM sales s LEFT JOIN item i ON s.item = i.id');
SELECT * FROM filter_differences('SELECT s, i FROM sales s FULL JOIN item i ON s.item = i.id');
SELECT * FROM filter_differences('SELECT s FROM sales s WHERE NOT EXISTS (SELECT FROM item i WHERE i.id = s.item)');

-- no key at all; and keys that are all null
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.item = i.id WHERE i.code = ''none''');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN (SELECT NULLIF(id, id) AS id FROM item) i ON s.item = i.id');

-- through other joins, by the side whose rows may be dropped; several filters of one scan
SELECT * FROM filter_differences('SELECT s, i, x FROM sales s JOIN item i ON s.item = i.id JOIN item x ON s.code = x.code');
SELECT * FROM filter_differences('SELECT s, i, l FROM sales s LEFT JOIN sales l ON l.id = s.id JOIN item i ON s.item = i.id');
SELECT * FROM filter_differences('SELECT s, i, l FROM sales s LEFT JOIN sales l ON l.id = s.id JOIN item i ON l.item = i.id');
SELECT * FROM filter_differences('SELECT s, i, l FROM (sales s JOIN sales l ON l.id = s.id) JOIN item i ON l.item = i.id AND s.code = i.code');
-- through groups, by their column; not through a LIMIT or a window
SELECT * FROM filter_differences('SELECT s, i FROM (SELECT item, count(*), sum(amount) FROM sales GROUP BY item) s JOIN item i ON s.item = i.id');
SELECT * FROM filter_differences('SELECT s, i FROM (SELECT item, count(DISTINCT code) FROM sales WHERE id % 7 > 0 GROUP BY item) s JOIN item i ON s.item = i.id');
SELECT * FROM filter_differences('SELECT s, i FROM (SELECT DISTINCT item, maybe FROM sales) s JOIN item i ON s.item = i.id');
SELECT * FROM filter_differences('SELECT s, i FROM (SELECT item, row_number() OVER (ORDER BY id) FROM sales) s JOIN item i ON s.item = i.id');
SELECT * FROM filter_differences('SELECT s, i FROM (SELECT * FROM sales ORDER BY id LIMIT 5000) s JOIN item i ON s.item = i.id');

-- partitions, by a filter of each; and members of UNION ALL
CREATE TABLE parts (id int, item int, code text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (10000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'filter_part_1');
CREATE FOREIGN TABLE part_2 PARTITION OF parts FOR VALUES FROM (10000) TO (20000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'filter_part_2');
CREATE TABLE part_3 PARTITION OF parts FOR VALUES FROM (20000) TO (30000);
CREATE TABLE remote.filter_part_1 AS SELECT id, item, code FROM remote.filter_sales WHERE id < 10000;
CREATE TABLE remote.filter_part_2 AS SELECT id, item, code FROM remote.filter_sales WHERE id BETWEEN 10000 AND 19999;
INSERT INTO part_3 SELECT id, item, code FROM remote.filter_sales WHERE id >= 20000;
ANALYZE parts;
SELECT explain_stable('SELECT p.id FROM parts p JOIN item i ON p.item = i.id');
SELECT * FROM filter_differences('SELECT p, i FROM parts p JOIN item i ON p.item = i.id');
SELECT * FROM filter_differences('SELECT p, i FROM parts p JOIN item i ON p.id = i.ten');
SELECT * FROM filter_differences('SELECT p, i FROM (SELECT item, avg(id), count(*) FROM parts GROUP BY item) p JOIN item i ON p.item = i.id');
SELECT * FROM filter_differences('SELECT p, i FROM (SELECT id, item FROM sales UNION ALL SELECT item, id FROM sales) p JOIN item i ON p.item = i.id');

-- the join runs again, with the same keys, and with others
SELECT * FROM filter_differences('SELECT n, (SELECT count(*) FROM sales s JOIN item i ON s.item = i.id WHERE s.id > n * 1000) FROM generate_series(1, 3) n');
SELECT * FROM filter_differences('SELECT n, (SELECT count(*) FROM sales s JOIN item i ON s.item = i.id WHERE i.id > n) FROM generate_series(1, 3) n');
SELECT * FROM filter_differences('SELECT n, c FROM generate_series(1, 3) n, LATERAL (SELECT count(*) + n FROM sales s JOIN item i ON s.item = i.id) x(c)');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.item = i.id AND i.id < (SELECT max(id) / 2 FROM item)');

-- more keys than are sent each: bounds and a Bloom filter are
CREATE TABLE many AS SELECT i + 1000000 AS id, i::bigint + 1000000 AS big, timestamp '2026-01-01' + i * interval '1 minute' AS at,
		'many ' || i AS name, ('x' || i)::char(9) AS padded, md5(i::text)::uuid AS uid, decode(md5(i::text), 'hex') AS bytes
	FROM generate_series(1, 12000) i;
ANALYZE many;
CREATE TABLE remote.filter_wide AS SELECT i * 7 AS id, timestamp '2025-12-01' + i * interval '5 minutes' AS at,
		('many ' || i * 7)::varchar(20) AS name, ('x' || i * 7)::char(9) AS padded, md5((i * 7)::text)::uuid AS uid,
		decode(md5((i * 7)::text), 'hex') AS bytes
	FROM generate_series(1, 160000) i;
CREATE FOREIGN TABLE wide (id int, at timestamp, name varchar(20), padded char(9), uid uuid, bytes bytea)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'filter_wide');
ANALYZE wide;
SELECT * FROM filter_differences('SELECT w.id, m.id FROM wide w JOIN many m ON w.id = m.id');
SELECT * FROM filter_differences('SELECT w.id, m.id FROM wide w JOIN many m ON w.id = m.big');
SELECT * FROM filter_differences('SELECT w.id, m.id FROM wide w JOIN many m ON w.at = m.at');
SELECT * FROM filter_differences('SELECT w.id, m.id FROM wide w JOIN many m ON w.name = m.name');
SELECT * FROM filter_differences('SELECT w.id, m.id FROM wide w JOIN many m ON w.padded = m.padded');
SELECT * FROM filter_differences('SELECT w.id, m.id FROM wide w JOIN many m ON w.uid = m.uid');
SELECT * FROM filter_differences('SELECT w.id, m.id FROM wide w JOIN many m ON w.bytes = m.bytes');
-- rows that came: those within the bounds, of which the Bloom filter lets few through that it should not
SELECT (explain_json('SELECT w.id FROM wide w JOIN many m ON w.uid = m.uid', 'ANALYZE')->'Plans'->0->>'Actual Rows')::float BETWEEN 1714 AND 3000 AS few;
SELECT (explain_json('SELECT w.id FROM wide w JOIN many m ON w.at = m.at', 'ANALYZE')->'Plans'->0->>'Actual Rows')::float BETWEEN 2400 AND 2401 AS few;
-- forged filters, by any user
\set VERBOSITY terse
SELECT exchange.in_filter('', 1::bigint);
SELECT exchange.in_filter(decode(repeat('00', 64), 'hex'), 1::bigint);
SELECT exchange.in_filter('PXBF\002'::bytea || decode(repeat('00', 59), 'hex'), ''::bytea);
SELECT exchange.in_filter('PXBF\001\000\000\000\377\377\377\377'::bytea || decode(repeat('00', 52), 'hex'), 'x'::text);
SELECT exchange.in_filter('PXBF\001\000\000\000\001'::bytea || decode(repeat('00', 23), 'hex'), 'x'::text);
-- an empty one; and one that knows nothing of strings in this database's encoding
SELECT exchange.in_filter(f, 1::bigint) AS number, exchange.in_filter(f, ''::bytea) AS bytes, exchange.in_filter(f, 'x'::text) AS text,
	exchange.in_filter(f, NULL::text) AS nothing
FROM (SELECT 'PXBF\001\000\000\000\001'::bytea || decode(repeat('00', 55), 'hex')) x(f);
\set VERBOSITY default

-- the join runs again, and reads its inner side again, because that does not fit into memory
SET work_mem = '64kB';
SELECT * FROM filter_differences('SELECT n, (SELECT count(*) FROM wide w JOIN many m ON w.id = m.id WHERE w.id + m.id > n * 2000000) FROM generate_series(0, 2) n');
RESET work_mem;

-- not worth it: keys of most rows; few rows
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN (SELECT id FROM generate_series(1, 3500) id) i ON s.item = i.id');
SELECT * FROM filter_differences('SELECT s, i FROM sales s JOIN item i ON s.item = i.id WHERE s.id < 100');
-- there are more keys than expected
INSERT INTO item SELECT i, i * 10, i, i, 'code ' || i, 'c' || i, i / 10.0, '2026-01-01', '2026-01-01' FROM generate_series(41, 3900) i;
SELECT * FROM filter_differences('SELECT s.id, i.id FROM sales s JOIN item i ON s.item = i.id');
DELETE FROM item WHERE id > 40;

-- not where it could be noticed: volatile functions, row locks, security barriers, row security
SELECT * FROM filter_differences('SELECT s.id, i FROM sales s JOIN item i ON s.item = i.id WHERE random() < 2');
BEGIN;
SELECT count(*) FROM explain_stable('SELECT s.id FROM sales s JOIN item i ON s.item = i.id FOR UPDATE OF s') line WHERE line ~ 'Runtime Filter';
SELECT count(*) FROM explain_stable('UPDATE sales s SET code = i.code FROM item i WHERE s.item = i.id') line WHERE line ~ 'Runtime Filter';
ROLLBACK;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM sales WHERE id > 10;
SELECT * FROM filter_differences('SELECT s, i FROM barrier s JOIN item i ON s.item = i.id');
-- rows of an INSERT
CREATE TEMP TABLE taken (id int, code text);
SELECT count(*) FROM explain_stable('INSERT INTO taken SELECT s.id, i.code FROM sales s JOIN item i ON s.item = i.id') line WHERE line ~ 'Runtime Filter';
INSERT INTO taken SELECT s.id, i.code FROM sales s JOIN item i ON s.item = i.id;
SELECT count(*), sum(id) FROM taken;

-- a column that has another type over there
CREATE TABLE remote.filter_odd AS SELECT i::text AS id, i % 3000 AS item FROM generate_series(1, 9000) i;
CREATE FOREIGN TABLE odd (id int, item bigint) SERVER loopback OPTIONS (schema_name 'remote', table_name 'filter_odd');
ANALYZE odd;
SELECT * FROM filter_differences('SELECT o, i FROM odd o JOIN item i ON o.id = i.id');
SELECT * FROM filter_differences('SELECT o, i FROM odd o JOIN item i ON o.item = i.id');

-- LIMIT, cursors, prepared statements with plans of either kind
SELECT count(*) FROM (SELECT s.id FROM sales s JOIN item i ON s.item = i.id LIMIT 5) x;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT s.id, i.id FROM sales s JOIN item i ON s.item = i.id ORDER BY 1, 2;
FETCH 2 FROM c;
MOVE LAST FROM c;
FETCH ABSOLUTE 1 FROM c;
COMMIT;
PREPARE filtered (int) AS SELECT count(*), sum(s.id) FROM sales s JOIN item i ON s.item = i.id WHERE i.id <= $1;
EXECUTE filtered(40);
SET plan_cache_mode = force_generic_plan;
EXECUTE filtered(40);
EXECUTE filtered(3);
EXECUTE filtered(NULL);
RESET plan_cache_mode;

-- a plan of many filters, one below the other, is not larger when it is kept
SET join_collapse_limit = 1;
SET from_collapse_limit = 1;
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
DO $$
DECLARE
	query text := 'SELECT id FROM chain_1 WHERE id < 10';
BEGIN
	EXECUTE format('CREATE SERVER chain_server FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
				   current_database(), split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'));
	CREATE USER MAPPING FOR CURRENT_USER SERVER chain_server;
	FOR i IN 1..12 LOOP
		EXECUTE format('CREATE FOREIGN TABLE chain_%s (id int, item int) SERVER %s
						OPTIONS (schema_name ''remote'', table_name ''filter_sales'')',
					   i, CASE i % 2 WHEN 0 THEN 'loopback' ELSE 'chain_server' END);
		EXECUTE format('ANALYZE chain_%s', i);
		UPDATE pg_class SET reltuples = 20000 * 2.5 ^ i, relpages = 100 * 2.5 ^ i WHERE relname = 'chain_' || i;
		IF i > 1 THEN
			query := format('SELECT t%1$s.id FROM chain_%1$s t%1$s JOIN (%2$s) x%1$s ON x%1$s.id = t%1$s.id', i, query);
		END IF;
	END LOOP;
	EXECUTE 'PREPARE chain AS ' || query;
END
$$;
SELECT count(*) > 8 AS many FROM explain_stable('EXECUTE chain') line WHERE line ~ 'Runtime Filter';
SELECT sum(total_bytes) < 2000000 FROM pg_backend_memory_contexts WHERE name LIKE 'CachedPlan%';
DEALLOCATE chain;
DO $$ BEGIN FOR i IN 1..12 LOOP EXECUTE format('DROP FOREIGN TABLE chain_%s', i); END LOOP; END $$;
DROP USER MAPPING FOR CURRENT_USER SERVER chain_server;
DROP SERVER chain_server;
RESET plan_cache_mode;
RESET max_parallel_workers_per_gather;
RESET from_collapse_limit;
RESET join_collapse_limit;

-- a column with another modifier than over there: values are rounded, then compared
CREATE FOREIGN TABLE rounded (id int, amount numeric(10,0))
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'filter_sales');
ANALYZE rounded;
CREATE TABLE integral AS SELECT i::numeric AS amount FROM generate_series(1, 5) i;
ANALYZE integral;
SELECT * FROM filter_differences('SELECT r.id FROM rounded r JOIN integral i ON r.amount = i.amount');

-- keys with characters that the other database's encoding lacks
CREATE DATABASE regression_latin1 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;
DO $$
BEGIN
	EXECUTE format('CREATE SERVER latin1 FOREIGN DATA WRAPPER postgres_fdw
					OPTIONS (dbname ''regression_latin1'', host %L, port %L)',
				   split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'));
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER latin1;
SELECT current_database() AS here \gset
\c regression_latin1
CREATE EXTENSION pg_exchange;
CREATE TABLE word AS SELECT i AS id, CASE WHEN i % 1000 = 0 THEN chr(233) ELSE 'code ' || i END AS code
	FROM generate_series(1, 5000) i;
\c :here
SET search_path = filter, public;
SET pg_exchange.join_exchange = off;
SET pg_exchange.lookup_joins = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
CREATE FOREIGN TABLE word (id int, code text) SERVER latin1 OPTIONS (schema_name 'public');
ANALYZE word;
CREATE TABLE wanted AS SELECT U&'\65E5\672C' AS code UNION ALL SELECT chr(233) UNION ALL SELECT 'code 7';
ANALYZE wanted;
SELECT * FROM filter_differences('SELECT w.id FROM word w JOIN wanted USING (code)');
SELECT * FROM filter_differences('SELECT w.id FROM word w JOIN wanted USING (code) WHERE wanted.code < ''d''');
DROP FOREIGN TABLE word;
DROP USER MAPPING FOR CURRENT_USER SERVER latin1;
DROP SERVER latin1;
SELECT 1 AS ok FROM postgres_fdw_disconnect_all();
DROP DATABASE regression_latin1 WITH (FORCE);

-- errors over there name the query of postgres_fdw
ALTER FOREIGN TABLE sales OPTIONS (SET table_name 'nowhere');
\set VERBOSITY sqlstate
SELECT count(*) FROM sales s JOIN item i ON s.item = i.id;
ALTER FOREIGN TABLE sales OPTIONS (SET table_name 'filter_sales');

-- the planner knows: it takes neither a parallel plan nor a hash table of the larger side
RESET enable_mergejoin;
RESET enable_nestloop;
SET parallel_setup_cost = 0;
SELECT explain_stable('SELECT count(*) FROM wide w JOIN many m ON w.uid = m.uid');
RESET parallel_setup_cost;

RESET pg_exchange.lookup_joins;
RESET search_path;
