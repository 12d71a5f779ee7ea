--
-- Columns whose collation on the server is another one than the foreign table
-- declares.  postgres_fdw compares what it reads under the collation here.
--
CREATE SCHEMA other_collations_test;
SET search_path = other_collations_test, public;
CREATE COLLATION remote.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION remote.own (provider = icu, locale = 'und');

-- The same strings under each collation: 20 for equality of bytes, 10 for ci.
-- Upper case comes first in the order of bytes, and last in that of ICU.
CREATE TABLE remote.cl_ci (id int, k int, t text COLLATE remote.ci);
CREATE TABLE remote.cl_icu (id int, k int, t text COLLATE "en-x-icu");
CREATE TABLE remote.cl_same (id int, k int, t text);
CREATE TABLE remote.cl_c (id int, k int, t text COLLATE "C");
CREATE TABLE remote.cl_own (id int, k int, t text COLLATE remote.own);
CREATE DOMAIN remote.cl_domain AS text COLLATE remote.ci;
CREATE TABLE remote.cl_dom (id int, k int, t remote.cl_domain);
CREATE TABLE kinds (name text, there text, declared text);
INSERT INTO kinds VALUES ('ci', 'ci', ''), ('icu', 'icu', ''), ('same', 'same', ''), ('c', 'c', ''), ('dom', 'dom', ''),
	('icu_icu', 'icu', 'COLLATE "en-x-icu"'), ('c_icu', 'c', 'COLLATE "en-x-icu"'), ('ci_ci', 'ci', 'COLLATE remote.ci'),
	('same_ci', 'same', 'COLLATE remote.ci'), ('own_own', 'own', 'COLLATE remote.own');
SELECT format('INSERT INTO remote.cl_%s SELECT i, i %% 50, CASE i %% 2 WHEN 0 THEN ''aa'' ELSE ''AA'' END || chr(97 + i / 2 %% 10) FROM generate_series(1, 2000) i', there)
FROM kinds GROUP BY there ORDER BY there \gexec
SELECT format('CREATE FOREIGN TABLE %s (id int, k int, t text %s) SERVER loopback OPTIONS (schema_name ''remote'', table_name ''cl_%s'')', name, declared, there),
	format('CREATE TABLE parts_%s (id int, k int, t text %s) PARTITION BY RANGE (id)', name, declared),
	format('CREATE FOREIGN TABLE parts_%s_1 PARTITION OF parts_%s FOR VALUES FROM (1) TO (2001) SERVER loopback OPTIONS (schema_name ''remote'', table_name ''cl_%s'')', name, name, there),
	format('CREATE FOREIGN TABLE parts_%s_2 PARTITION OF parts_%s FOR VALUES FROM (2001) TO (4001) SERVER loopback OPTIONS (schema_name ''remote'', table_name ''cl_%s'')', name, name, there),
	format('CREATE TABLE keys_%s (k int, t text %s)', name, declared),
	format('INSERT INTO keys_%s VALUES (1, ''aaa''), (2, ''AAb''), (3, ''AAc''), (4, ''aac'')', name),
	format('ANALYZE %s, parts_%s, keys_%s', name, name, name)
FROM kinds \gexec

-- The rows of a query.
CREATE FUNCTION run(query text, OUT answer text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT concat(count(*), '' '', string_agg(q::text, '','' ORDER BY q::text COLLATE "C")) FROM (%s) q', query) INTO answer;
END
$$;

-- Run a query of every kind, in which KIND stands for its name: is the answer
-- that of postgres_fdw, does the plan have the way, and what has it done?
CREATE FUNCTION compare(query text, way text, shown text)
RETURNS TABLE (kind text, same boolean, planned boolean, done text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	sql text;
	a text;
BEGIN
	FOR kind IN SELECT name FROM kinds ORDER BY ctid LOOP
		sql := replace(query, 'KIND', kind);
		PERFORM set_config('pg_exchange.enabled', 'off', false);
		a := run(sql);
		PERFORM set_config('pg_exchange.enabled', 'on', false);
		same := a = run(sql);
		planned := false;
		done := NULL;
		FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || sql LOOP
			planned := planned OR line ~ way;
			IF done IS NULL AND line ~ shown THEN
				done := replace(substring(line, shown), '.00', '');
			END IF;
		END LOOP;
		RETURN NEXT;
	END LOOP;
END
$$;

-- runtime filters and key lists
SET pg_exchange.join_exchange = off;
SET pg_exchange.lookup_joins = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT * FROM compare('SELECT x.id FROM KIND x JOIN keys_KIND USING (t)', 'Runtime Filter', 'ExchangeReceive.*actual rows=([\d.]+)');
RESET pg_exchange.lookup_joins;
SET enable_hashjoin = off;
SELECT * FROM compare('SELECT x.id FROM KIND x JOIN keys_KIND USING (t)', 'ExchangeLookup', 'ExchangeReceive.*actual rows=([\d.]+)');
SELECT * FROM compare('SELECT x.id FROM KIND x JOIN keys_KIND y ON x.t = y.t AND x.k = y.k', 'ExchangeLookup', 'ExchangeReceive.*actual rows=([\d.]+)');
-- where postgres_fdw reads
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL pg_exchange.transport = stream;
SELECT * FROM compare('SELECT x.id FROM KIND x JOIN keys_KIND USING (t)', 'ExchangeLookup', 'Foreign Scan.*actual rows=([\d.]+)');
COMMIT;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;

-- joins on the servers
SET pg_exchange.join_exchange = broadcast;
SELECT * FROM compare('SELECT count(*), sum(x.id) FROM parts_KIND x JOIN keys_KIND y USING (t)', 'ExchangeBroadcast', 'Not Sent: (.*)');
SELECT * FROM compare('SELECT y.k, min(x.t), max(x.t) FROM parts_KIND x JOIN keys_KIND y USING (k) GROUP BY y.k', 'ExchangeBroadcast', 'Not Sent: (.*)');
SELECT * FROM compare('SELECT count(y.k), count(*) FROM parts_KIND x LEFT JOIN keys_KIND y ON x.k = y.k AND x.t < ''aac''', 'ExchangeBroadcast', 'Not Sent: (.*)');
SELECT * FROM compare('SELECT x.k, count(*) FROM parts_KIND x WHERE NOT EXISTS (SELECT FROM keys_KIND y WHERE x.t = y.t) GROUP BY x.k', 'ExchangeBroadcast', 'Not Sent: (.*)');
RESET pg_exchange.join_exchange;

-- rows that are cut by the hash of a string: of both sides, or of one
SET client_min_messages = warning;
DO $$
BEGIN
	FOR i IN 1 .. 2 LOOP
		EXECUTE format('CREATE SERVER hashed%s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
			i, current_database(), split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
		EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER hashed%s', i);
	END LOOP;
END
$$;
RESET client_min_messages;
SELECT format('CREATE TABLE hashed_%s (id int, k int, t text %s) PARTITION BY RANGE (id)', name, declared),
	format('CREATE FOREIGN TABLE hashed_%s_1 PARTITION OF hashed_%s FOR VALUES FROM (1) TO (2001) SERVER hashed1 OPTIONS (schema_name ''remote'', table_name ''cl_%s'')', name, name, there),
	format('CREATE FOREIGN TABLE hashed_%s_2 PARTITION OF hashed_%s FOR VALUES FROM (2001) TO (4001) SERVER hashed2 OPTIONS (schema_name ''remote'', table_name ''cl_%s'')', name, name, there),
	format('ANALYZE hashed_%s', name)
FROM kinds \gexec
CREATE TABLE hashed_by_t (id int, t text) PARTITION BY HASH (t);
CREATE TABLE remote.cl_by_t0 (id int, t text);
CREATE TABLE remote.cl_by_t1 (id int, t text);
CREATE FOREIGN TABLE hashed_by_t0 PARTITION OF hashed_by_t FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER hashed1 OPTIONS (schema_name 'remote', table_name 'cl_by_t0');
CREATE FOREIGN TABLE hashed_by_t1 PARTITION OF hashed_by_t FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER hashed2 OPTIONS (schema_name 'remote', table_name 'cl_by_t1');
INSERT INTO hashed_by_t SELECT id, t FROM hashed_same;
ANALYZE hashed_by_t;
SET pg_exchange.join_exchange = hash_partition;
SELECT * FROM compare('SELECT count(*), sum(x.id) FROM hashed_KIND x JOIN hashed_same y ON x.t = y.t AND x.k = y.k', 'ExchangeHashPartition', 'Not Sent: (.*)');
SELECT * FROM compare('SELECT count(*), sum(x.id) FROM hashed_by_t x JOIN hashed_KIND y ON x.t = y.t AND x.id = y.id', 'ExchangeHashPartition', 'Not Sent: (.*)');
RESET pg_exchange.join_exchange;

-- aggregates of partitions
SELECT * FROM compare('SELECT t, count(*) FROM parts_KIND GROUP BY t', 'Aggregate on', 'Transport: (.*)');
SELECT * FROM compare('SELECT min(t), max(t), count(t) FROM parts_KIND', 'Aggregate on', 'Transport: (.*)');
SELECT * FROM compare('SELECT count(*) FILTER (WHERE t > ''aac''), sum(id) FROM parts_KIND', 'Aggregate on', 'Transport: (.*)');
SELECT * FROM compare('SELECT count(*), count(t), sum(id) FROM parts_KIND', 'Aggregate on', 'Transport: (.*)');

-- DISTINCT, as groups of the server
SELECT * FROM compare('SELECT DISTINCT t FROM KIND', 'Remote SQL: .* GROUP BY', 'Transport: (.*)');
-- postgres_fdw may have the server sort, in its order
SELECT kind, planned, done, CASE WHEN planned THEN run(format('SELECT count(DISTINCT t) FROM parts_%s', kind)) END AS answer
FROM compare('SELECT count(DISTINCT t) FROM parts_KIND', 'Aggregate on', 'Transport: (.*)');
SET enable_sort = off;
SELECT kind, planned, done FROM compare('SELECT DISTINCT t FROM KIND ORDER BY t DESC OFFSET 3 LIMIT 100', 'Remote SQL: .* GROUP BY .* ORDER BY .* LIMIT', 'Transport: (.*)');
RESET enable_sort;

-- ties here that are none there
CREATE TABLE remote.cl_two (id int, t text);
INSERT INTO remote.cl_two SELECT i, CASE WHEN i <= 10 THEN 'AA' ELSE 'aa' END FROM generate_series(1, 2000) i;
CREATE TABLE two (id int, t text COLLATE remote.ci) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE two_1 PARTITION OF two FOR VALUES FROM (1) TO (2001) SERVER loopback OPTIONS (schema_name 'remote', table_name 'cl_two');
CREATE FOREIGN TABLE two_2 PARTITION OF two FOR VALUES FROM (2001) TO (4001) SERVER loopback OPTIONS (schema_name 'remote', table_name 'cl_two');
ANALYZE two;
SET enable_sort = off;
SELECT mode, rows, only_postgres_fdw, only_exchange FROM exchange_differences('SELECT t FROM two ORDER BY t FETCH FIRST 3 ROWS WITH TIES');
RESET enable_sort;

-- Semi-joins by the server.  Since 17 postgres_fdw has some of its own, which
-- read as the server compares.
CREATE FUNCTION compare_semi(query text, refused text[])
RETURNS TABLE (kind text, correct boolean) LANGUAGE sql AS $$
	SELECT c.kind, current_setting('server_version_num')::int >= 170000 OR (c.same AND c.planned = (c.kind NOT IN ('ci_ci', 'same_ci')) AND
		c.done = CASE WHEN c.kind = ANY (refused) THEN 'postgres_fdw (columns have other types on the server)' ELSE 'exchange v1, stream' END)
	FROM compare(query, 'EXISTS', 'Transport: (.*)') c;
$$;
SELECT format('CREATE FOREIGN TABLE few_%s (id int, k int, t text %s) SERVER loopback OPTIONS (schema_name ''remote'', table_name ''cl_%s'')', name, declared, there)
FROM kinds \gexec
SET pg_exchange.lookup_joins = off;
SET pg_exchange.runtime_filters = off;
SELECT * FROM compare_semi('SELECT x.id FROM KIND x WHERE EXISTS (SELECT FROM few_KIND y WHERE y.t = x.t AND y.id % 2 = 1)', '{ci,dom}');
SELECT * FROM compare_semi('SELECT x.id FROM KIND x WHERE NOT EXISTS (SELECT FROM few_KIND y WHERE y.t = x.t AND y.id % 2 = 1)', '{ci,dom}');
SELECT * FROM compare_semi('SELECT x.id FROM KIND x WHERE EXISTS (SELECT FROM few_KIND y WHERE y.k = x.k AND y.t < x.t)', '{ci,dom,icu,c,c_icu,own_own}');
RESET pg_exchange.lookup_joins;
RESET pg_exchange.runtime_filters;

-- the remote's planner replaces the calls
SELECT line FROM explain_stable('SELECT * FROM remote.cl_icu WHERE exchange.has_type(ROW(t, NULL::text), -1) AND exchange.has_type(ROW(t, NULL::text, ''en-x-icu''::text), -1)') line WHERE line !~ 'Replaces: ';
SELECT line FROM explain_stable('SELECT * FROM remote.cl_icu WHERE exchange.has_type(ROW(t, NULL::text, ''default''::text), -1)') line WHERE line !~ 'Replaces: ';
SELECT line FROM explain_stable('SELECT * FROM remote.cl_same WHERE exchange.has_type(ROW(t, NULL::text, ''default''::text), -1) AND exchange.has_type(ROW(k, NULL::int), -1)') line WHERE line !~ 'Replaces: ';
SELECT line FROM explain_stable('SELECT * FROM remote.cl_own WHERE exchange.has_type(ROW(t, NULL::text, ''own''::text), -1)') line WHERE line !~ 'Replaces: ';
SELECT line FROM explain_stable('SELECT * FROM remote.cl_ci WHERE exchange.has_type(ROW(t, NULL::text), -1)') line WHERE line !~ 'Replaces: ';
SELECT line FROM explain_stable('SELECT * FROM remote.cl_ci WHERE exchange.may_match(ROW(t, NULL::text, ''{aaa}''::text[]), -1)') line WHERE line !~ 'Replaces: ';
SELECT exchange.has_type(ROW('a'::text COLLATE "C", NULL::text, 'C'::text), -1), exchange.has_type(ROW('a'::text COLLATE remote.ci, NULL::text), -1),
	exchange.has_type(ROW('a'::text, NULL::text, NULL::text), -1), exchange.has_type(ROW('a'::text, NULL::text, 1), -1);

SET client_min_messages = warning;
DROP SCHEMA other_collations_test CASCADE;
DROP SERVER hashed1 CASCADE;
DROP SERVER hashed2 CASCADE;
DROP TABLE remote.cl_ci, remote.cl_icu, remote.cl_same, remote.cl_c, remote.cl_own, remote.cl_dom, remote.cl_two, remote.cl_by_t0, remote.cl_by_t1;
DROP DOMAIN remote.cl_domain;
DROP COLLATION remote.ci, remote.own;
