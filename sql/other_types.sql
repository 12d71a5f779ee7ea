--
-- Columns that the foreign table declares with another type than the server's
-- column has.  postgres_fdw reads the output of the one as input of the other,
-- which a cast would not do.
--
CREATE SCHEMA other_types_test;
SET search_path = other_types_test, public;
SET TimeZone = 'America/New_York';
CREATE TYPE remote.ot_enum AS ENUM ('b', 'a');
CREATE DOMAIN remote.ot_domain AS int;

-- The columns: here, there, and a value there of the number i.
CREATE TABLE pairs (name text, here text, there text, value text);
INSERT INTO pairs VALUES
	('char_text', 'text', 'char(10)', $$'k' || i % 40$$),
	('char_char', 'char(5)', 'char(5)', $$'k' || i % 40$$),
	('text_char', 'char(5)', 'text', $$'k' || i % 40$$),
	('varchar_text', 'text', 'varchar(10)', $$'k' || i % 40$$),
	('text_varchar', 'varchar', 'text', $$'k' || i % 40$$),
	('bool_text', 'text', 'bool', $$i % 2 = 0$$),
	('inet_text', 'text', 'inet', $$('10.0.0.' || i % 40)::inet$$),
	('float_text', 'text', 'float8', $$0.1 * (i % 40)$$),
	('float_numeric', 'numeric', 'float8', $$1.0 / 3 + i % 40$$),
	('float4_float8', 'float8', 'float4', $$0.1 + i % 40$$),
	('numeric_scale', 'numeric(8,1)', 'numeric', $$i % 40 + 0.26$$),
	('stamp_tz', 'timestamptz', 'timestamp', $$timestamp '2024-07-01 00:00' + i % 40 * interval '1 hour'$$),
	('tz_stamp', 'timestamp', 'timestamptz', $$timestamptz '2024-07-01 00:00+00' + i % 40 * interval '1 hour'$$),
	('enum_text', 'text', 'remote.ot_enum', $$(CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END)::remote.ot_enum$$),
	('int4_int8', 'int8', 'int4', $$i % 40$$),
	('int8_int4', 'int4', 'int8', $$i % 40$$),
	('domain_int', 'int', 'remote.ot_domain', $$i % 40$$),
	('text_int', 'int', 'text', $$' ' || i % 40$$),
	('same_text', 'text', 'text', $$'k' || i % 40$$),
	('same_date', 'date', 'date', $$date '2024-01-01' + i % 40$$),
	('same_uuid', 'uuid', 'uuid', $$md5((i % 40)::text)::uuid$$);

-- A table of each pair, twice as big as its index would need; and few keys.
SELECT format('CREATE TABLE remote.ot_%s (id int, k %s, filler text)', name, there),
	format('INSERT INTO remote.ot_%s SELECT i, CASE WHEN i %% 11 > 0 THEN %s END, repeat(''x'', 50) FROM generate_series(1, 4000) i', name, value),
	format('CREATE FOREIGN TABLE %s (id int, k %s, filler text) SERVER loopback OPTIONS (schema_name ''remote'', table_name ''ot_%s'')', name, here, name),
	format('CREATE TABLE keys_%s (k %s)', name, here),
	format('CREATE TABLE remote.otk_%s (k %s)', name, here),
	format('CREATE FOREIGN TABLE there_%s (k %s) SERVER loopback OPTIONS (schema_name ''remote'', table_name ''otk_%s'')', name, here, name)
FROM pairs \gexec
SET pg_exchange.enabled = off;
SELECT format('INSERT INTO keys_%s SELECT DISTINCT k FROM %s WHERE id IN (1, 5, 11)', name, name),
	format('INSERT INTO remote.otk_%s TABLE keys_%s', name, name),
	format('ANALYZE %s, keys_%s, there_%s', name, name, name)
FROM pairs \gexec
RESET pg_exchange.enabled;

-- Run a query of every pair, in which PAIR stands for its name: does the plan
-- have the way, how many rows came from the server, and is the answer that of
-- postgres_fdw?
CREATE FUNCTION compare(query text, way text)
RETURNS TABLE (pair text, planned boolean, rows_there text, same boolean, answer_is_empty boolean) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	sql text;
	a text;
	b text;
BEGIN
	FOR pair IN SELECT name FROM pairs ORDER BY ctid LOOP
		sql := replace(query, 'PAIR', pair);
		PERFORM set_config('pg_exchange.enabled', 'off', false);
		a := run(sql);
		PERFORM set_config('pg_exchange.enabled', 'on', false);
		b := run(sql);
		same := a = b;
		answer_is_empty := a = '0 ';
		IF NOT same THEN
			RAISE NOTICE '%: % %', pair, left(a, 60), left(b, 60);
		END IF;
		planned := false;
		rows_there := '';
		BEGIN
			FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || sql LOOP
				planned := planned OR line ~ way;
				IF line ~ 'ExchangeReceive|Foreign Scan' THEN
					rows_there := rows_there || ' ' || coalesce(substring(line, 'actual rows=(\d+)'), '-');
				END IF;
			END LOOP;
		EXCEPTION WHEN undefined_function THEN
			rows_there := 'error';	-- see compare_semi
		END;
		RETURN NEXT;
	END LOOP;
END
$$;

-- The rows of a query, or its error.
CREATE FUNCTION run(query text, OUT answer text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT concat(count(*), '' '', string_agg(q::text, '','' ORDER BY q::text COLLATE "C")) FROM (%s) q', query) INTO answer;
EXCEPTION WHEN OTHERS THEN
	answer := SQLSTATE;
END
$$;

-- runtime filters
SET pg_exchange.lookup_joins = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT * FROM compare('SELECT t.id FROM PAIR t JOIN keys_PAIR USING (k)', 'Runtime Filter');
RESET pg_exchange.lookup_joins;
RESET enable_mergejoin;
RESET enable_nestloop;

-- bounds and Bloom filters: more keys than a list has
CREATE TABLE remote.long (id int, t char(14), i int, n bigint, u varchar);
INSERT INTO remote.long SELECT i, left(md5((i % 40000)::text), 12), i % 40000, i % 40000, left(md5((i % 40000)::text), 12) FROM generate_series(1, 80000) i;
CREATE FOREIGN TABLE long (id int, t text, i bigint, n int, u text) SERVER loopback OPTIONS (schema_name 'remote');
CREATE TABLE many AS SELECT left(md5(i::text), 12) || '  ' AS t, i::bigint AS i, i AS n, left(md5(i::text), 12) AS u FROM generate_series(1000, 11999) i;
ANALYZE long, many;
SET pg_exchange.lookup_joins = off;
SET pg_exchange.join_exchange = off;
CREATE FUNCTION filtered(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	a text;
BEGIN
	PERFORM set_config('pg_exchange.enabled', 'off', false);
	a := run(query);
	PERFORM set_config('pg_exchange.enabled', 'on', false);
	RETURN NEXT CASE WHEN run(query) = a THEN 'same as ' ELSE 'not ' END || split_part(a, ' ', 1) || ' rows';
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Runtime Filter|ExchangeReceive' THEN
			RETURN NEXT regexp_replace(replace(line, '.00 ', ' '), '^.*(Runtime|actual rows)', '\1');
		END IF;
	END LOOP;
END
$$;
SELECT filtered('SELECT l.id FROM long l JOIN many m USING (t)');
SELECT filtered('SELECT l.id FROM long l JOIN many m USING (i)');
SELECT filtered('SELECT l.id FROM long l JOIN many m USING (n)');
SELECT filtered('SELECT l.id FROM long l JOIN many m USING (u)');
RESET pg_exchange.lookup_joins;
RESET pg_exchange.join_exchange;

-- key lists
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT * FROM compare('SELECT t.id FROM PAIR t JOIN keys_PAIR USING (k)', 'ExchangeLookup');
SET pg_exchange.transport = session;
SELECT * FROM compare('SELECT t.id FROM keys_PAIR LEFT JOIN PAIR t USING (k)', 'ExchangeLookup');
RESET pg_exchange.transport;

-- the same where postgres_fdw reads
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL pg_exchange.transport = stream;
SELECT * FROM compare('SELECT t.id FROM PAIR t JOIN keys_PAIR USING (k)', 'ExchangeLookup');
COMMIT;

-- in several batches, with ctids, and in a subquery that has a parameter, too
CREATE TABLE batches AS SELECT i AS k, left(md5(i::text), 12) || '  ' AS t, repeat('x', 500) AS filler FROM generate_series(39001, 40500) i;
ANALYZE batches;
SET pg_exchange.join_exchange = off;
CREATE FUNCTION by_fdw(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	a text;
BEGIN
	PERFORM set_config('pg_exchange.enabled', 'off', false);
	PERFORM set_config('enable_hashjoin', 'on', false);
	a := run(query);
	PERFORM set_config('pg_exchange.enabled', 'on', false);
	PERFORM set_config('enable_hashjoin', 'off', false);
	RETURN NEXT CASE WHEN run(query) = a THEN 'same as ' ELSE 'not ' END || split_part(a, ' ', 1) || ' rows';
	FOR line IN SELECT explain_stable(query, 'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF') LOOP
		IF line ~ 'Batches|ExchangeReceive|Foreign Scan|Remote SQL' THEN
			RETURN NEXT regexp_replace(line, '^[ >-]*', '');
		END IF;
	END LOOP;
END
$$;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL pg_exchange.transport = stream;
SET LOCAL work_mem = '64kB';
SET LOCAL hash_mem_multiplier = 1;
SELECT by_fdw('SELECT l.ctid, l.id, b.filler FROM long l JOIN batches b ON b.k = l.i');
SELECT by_fdw('SELECT l.ctid, l.id, b.filler FROM long l JOIN batches b ON b.k = l.n');
SELECT by_fdw('SELECT b.k, l.id FROM batches b LEFT JOIN long l USING (t)');
SELECT by_fdw('SELECT k, (SELECT concat(count(*), max(l.ctid)) FROM batches b JOIN long l ON b.k = l.n WHERE l.id < o.k * 1000) FROM keys_int4_int8 o');
SELECT by_fdw('SELECT k, (SELECT concat(count(*), max(l.ctid)) FROM batches b JOIN long l ON b.k = l.n WHERE b.k < o.k * 13000) FROM keys_int4_int8 o');
SELECT by_fdw('SELECT * FROM batches b WHERE EXISTS (SELECT FROM long l WHERE b.k = l.n)');
COMMIT;

-- modifiers that may not be looked at there
CREATE ROLE other_types_reader LOGIN;
GRANT USAGE ON SCHEMA remote TO other_types_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA remote TO other_types_reader;
DO $$
BEGIN
	EXECUTE (SELECT format('CREATE SERVER reading FOREIGN DATA WRAPPER postgres_fdw OPTIONS (%s)', string_agg(format('%s %L', split_part(o, '=', 1), split_part(o, '=', 2)), ', '))
			 FROM pg_foreign_server, unnest(srvoptions) o WHERE srvname = 'loopback');
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER reading OPTIONS (user 'other_types_reader', password_required 'false');
CREATE FOREIGN TABLE read_char (id int, key char(5) OPTIONS (column_name 'k')) SERVER reading OPTIONS (schema_name 'remote', table_name 'ot_char_char');
CREATE FOREIGN TABLE read_text (id int, key text OPTIONS (column_name 'k')) SERVER reading OPTIONS (schema_name 'remote', table_name 'ot_same_text');
ANALYZE read_char, read_text;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL pg_exchange.transport = stream;
SELECT by_fdw('SELECT t.id FROM read_char t JOIN keys_char_char k ON k.k = t.key');
COMMIT;
REVOKE SELECT ON pg_attribute FROM public;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL pg_exchange.transport = stream;
SELECT by_fdw('SELECT t.id FROM read_char t JOIN keys_char_char k ON k.k = t.key');
SELECT by_fdw('SELECT t.id FROM read_text t JOIN keys_same_text k ON k.k = t.key');
COMMIT;
GRANT SELECT ON pg_attribute TO public;
RESET pg_exchange.join_exchange;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;

--
-- Semi-joins and anti-joins by the server, one of another.  Since 17
-- postgres_fdw has semi-joins of its own, which may read other rows, or fail:
-- then only the answers count.  Before, so do the plan, and the rows that are
-- read there: for pairs that are alike, for those whose values are few, and for
-- others.
--
CREATE FUNCTION has_semi_joins() RETURNS boolean LANGUAGE sql RETURN current_setting('server_version_num')::int >= 170000;
CREATE FUNCTION compare_semi(query text, way text, alike text, few text, others text)
RETURNS TABLE (pair text, correct boolean) LANGUAGE sql AS $$
	SELECT c.pair, c.same AND (has_semi_joins() OR (c.planned AND NOT c.answer_is_empty AND c.rows_there =
		CASE WHEN c.pair IN ('char_char', 'varchar_text', 'text_varchar', 'int4_int8', 'domain_int', 'same_text', 'same_date', 'same_uuid') THEN alike
			WHEN c.pair IN ('bool_text', 'enum_text') THEN few ELSE others END))
	FROM compare(query, way) c;
$$;
SET pg_exchange.lookup_joins = off;
SET pg_exchange.runtime_filters = off;
SELECT * FROM compare_semi('SELECT t.id FROM PAIR t WHERE EXISTS (SELECT FROM there_PAIR s WHERE s.k = t.k)', 'EXISTS', ' 182', ' 1818 4000 2', ' 182 4000 3');
SET pg_exchange.transport = session;
SELECT * FROM compare_semi('SELECT t.id FROM PAIR t WHERE NOT EXISTS (SELECT FROM there_PAIR s WHERE s.k = t.k)', 'EXISTS', ' 3818', ' 2182 4000 2', ' 3818 4000 3');
RESET pg_exchange.transport;
SELECT * FROM compare_semi('SELECT count(*) FROM PAIR t WHERE NOT EXISTS (SELECT FROM there_PAIR s WHERE s.k = t.k) AND EXISTS (SELECT FROM same_text s WHERE s.id = t.id AND s.id < 100)', 'EXISTS.*EXISTS', ' 93', ' 54 4000 99 2', ' 93 4000 99 3');
RESET pg_exchange.lookup_joins;
RESET pg_exchange.runtime_filters;

-- joins on the servers
SET pg_exchange.join_exchange = broadcast;
SELECT * FROM compare('SELECT t.k, count(*), max(t.id) FROM PAIR t JOIN keys_PAIR USING (k) GROUP BY t.k', 'ExchangeBroadcast');
SET pg_exchange.transport = session;
SELECT * FROM compare('SELECT count(*), count(t.k), sum(t.id) FROM PAIR t JOIN keys_PAIR USING (k)', 'ExchangeBroadcast');
RESET pg_exchange.transport;
RESET pg_exchange.join_exchange;

-- aggregates of partitions
DO $$
DECLARE
	pair record;
BEGIN
	FOR pair IN SELECT * FROM pairs LOOP
		EXECUTE format('CREATE TABLE parts_%s (id int, k %s, filler text) PARTITION BY RANGE (id)', pair.name, pair.here);
		FOR i IN 0 .. 1 LOOP
			EXECUTE format('CREATE FOREIGN TABLE parts_%s_%s PARTITION OF parts_%s FOR VALUES FROM (%s) TO (%s) SERVER loopback OPTIONS (schema_name ''remote'', table_name ''ot_%s'')',
						   pair.name, i, pair.name, i * 4000 + 1, i * 4000 + 4001, pair.name);
		END LOOP;
		EXECUTE format('ANALYZE parts_%s', pair.name);
	END LOOP;
END
$$;
SET enable_partitionwise_aggregate = on;
SELECT * FROM compare('SELECT k, count(*), max(id) FROM parts_PAIR GROUP BY k', 'Aggregate on');
SELECT * FROM compare('SELECT count(k), max(k::text), min(id) FILTER (WHERE k IS NOT NULL) FROM parts_PAIR WHERE id > (SELECT 5 - length(''ab''))', 'Aggregate on');
SET pg_exchange.transport = session;
SELECT * FROM compare('SELECT k::text, count(*) FROM parts_PAIR WHERE filler <> ''x'' GROUP BY 1', 'Aggregate on');
RESET pg_exchange.transport;
SELECT filtered(format('SELECT sum(k), min(k), count(*) FROM parts_%s', name)) FROM pairs WHERE name IN ('float_numeric', 'numeric_scale', 'text_int', 'int8_int4', 'int4_int8');
SELECT filtered('SELECT count(*), max(id) FROM parts_char_text');
-- of which the server would return others
CREATE TABLE remote.summed (id int, n float8, t int, d numeric);
INSERT INTO remote.summed SELECT i, 0.1 * i, i, i / 8.0 FROM generate_series(1, 1000) i;
CREATE TABLE summed (id int, n numeric, t text, d numeric(8, 1)) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE summed_1 PARTITION OF summed FOR VALUES FROM (1) TO (1001) SERVER loopback OPTIONS (schema_name 'remote', table_name 'summed');
CREATE FOREIGN TABLE summed_2 PARTITION OF summed FOR VALUES FROM (1001) TO (2001) SERVER loopback OPTIONS (schema_name 'remote', table_name 'summed');
ANALYZE summed;
SELECT * FROM exchange_differences('SELECT sum(n) FROM summed');
SELECT * FROM exchange_differences('SELECT max(t), count(*) FROM summed');
SELECT * FROM exchange_differences('SELECT sum(d), avg(d) FROM summed');
SELECT regexp_replace(line, 'Memory: \d+kB', 'Memory: (size)') AS line FROM explain_stable('SELECT k, count(*) FROM parts_char_text GROUP BY k', 'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF') line;
RESET enable_partitionwise_aggregate;

-- LIMIT where rows are sorted here, or merged.  The server sorts by postgres_fdw
-- as ever; here, only what has the same type.
CREATE FUNCTION minus(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN -$1; END';
SELECT * FROM compare('SELECT id, k FROM PAIR ORDER BY k DESC NULLS LAST, minus(id) LIMIT 5', 'Remote SQL: .* FETCH FIRST');
SELECT * FROM compare('SELECT id, k FROM parts_PAIR ORDER BY k NULLS FIRST, minus(id) OFFSET 720 LIMIT 15', 'Remote SQL: .* FETCH FIRST');
SET pg_exchange.max_connections_per_server = 1;
SELECT * FROM compare('SELECT id, k FROM parts_PAIR ORDER BY k, id LIMIT 5', 'Remote SQL: .* UNION ALL');
SELECT * FROM compare('SELECT k FROM parts_PAIR ORDER BY k FETCH FIRST 3 ROWS WITH TIES', 'Remote SQL: .* FETCH FIRST');
-- what differs there, but not here
CREATE TABLE remote.rounded AS SELECT i AS id, 1 + i % 50 / 1000.0 AS n FROM generate_series(1, 3000) i;
CREATE TABLE rounded (id int, n numeric(8, 1)) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE rounded_1 PARTITION OF rounded FOR VALUES FROM (1) TO (3001) SERVER loopback OPTIONS (schema_name 'remote', table_name 'rounded');
CREATE FOREIGN TABLE rounded_2 PARTITION OF rounded FOR VALUES FROM (3001) TO (6001) SERVER loopback OPTIONS (schema_name 'remote', table_name 'rounded');
ANALYZE rounded;
SELECT * FROM exchange_differences('SELECT n, id FROM rounded ORDER BY n, minus(id) LIMIT 5');
SELECT * FROM exchange_differences('SELECT n, count(*) FROM (SELECT n FROM rounded ORDER BY n FETCH FIRST 5 ROWS WITH TIES) r GROUP BY n');
SELECT regexp_replace(line, 'Memory: \d+kB', 'Memory: (size)') AS line FROM explain_stable('SELECT n, id FROM rounded ORDER BY n, minus(id) LIMIT 5', 'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF') line;
SELECT explain_stable('SELECT n FROM rounded ORDER BY n, id LIMIT 5', 'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF');
RESET pg_exchange.max_connections_per_server;

-- DISTINCT, as groups of the server
SELECT * FROM compare('SELECT DISTINCT k FROM PAIR', 'Remote SQL: .* GROUP BY');
SELECT * FROM compare('SELECT DISTINCT k FROM parts_PAIR', 'Remote SQL: .* GROUP BY');
SELECT * FROM compare('SELECT DISTINCT a.k FROM PAIR a JOIN same_text b USING (id)', 'Remote SQL: .* GROUP BY');
SET enable_sort = off;
SELECT * FROM compare('SELECT DISTINCT k FROM PAIR WHERE id > (SELECT 5 - length(''ab'')) ORDER BY k DESC', 'Remote SQL: .* GROUP BY .* ORDER BY');
SELECT * FROM compare('SELECT DISTINCT k FROM PAIR ORDER BY k DESC LIMIT 100', 'Remote SQL: .* GROUP BY .* ORDER BY .* LIMIT');
-- what differs there, but not here
CREATE FOREIGN TABLE rounded_all (id int, n numeric(8, 1)) SERVER loopback OPTIONS (schema_name 'remote', table_name 'rounded');
ANALYZE rounded_all;
SELECT * FROM exchange_differences('SELECT DISTINCT n FROM rounded_all');
SELECT * FROM exchange_differences('SELECT DISTINCT n FROM rounded_all ORDER BY n OFFSET 1 LIMIT 3');
SELECT * FROM exchange_differences('SELECT DISTINCT n FROM rounded');
SELECT * FROM exchange_differences('SELECT DISTINCT a.n FROM rounded_all a JOIN rounded_all b USING (id)');
SELECT regexp_replace(line, 'Memory: \d+kB', 'Memory: (size)') AS line FROM explain_stable('SELECT DISTINCT n FROM rounded_all ORDER BY n LIMIT 30', 'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF') line WHERE line !~ 'Disabled: ';
RESET enable_sort;

-- partitions that are aggregated one by one
CREATE TABLE remote.grouped AS SELECT 1 + i % 100 AS id, 1 + i / 1000 % 5 / 100.0 AS n FROM generate_series(1, 10000) i;
CREATE TABLE grouped (id int, n numeric(8, 1)) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE grouped_1 PARTITION OF grouped FOR VALUES FROM (1) TO (101) SERVER loopback OPTIONS (schema_name 'remote', table_name 'grouped');
CREATE TABLE grouped_2 PARTITION OF grouped FOR VALUES FROM (101) TO (201);
INSERT INTO grouped_2 SELECT i, i FROM generate_series(101, 150) i;
ANALYZE grouped;
SELECT * FROM exchange_differences('SELECT id, n, count(*) FROM grouped GROUP BY id, n');
SELECT * FROM exchange_differences('SELECT id, count(DISTINCT n) + 1, sum(n)::text || ''x'' FROM grouped GROUP BY id HAVING count(DISTINCT n) < 2 AND minus(max(id)) < -2');
SELECT * FROM exchange_differences('SELECT id + 1, count(DISTINCT n), array_agg(n ORDER BY n DESC) FROM grouped WHERE id <= 100 GROUP BY id HAVING min(n) < 4');
SET enable_partitionwise_aggregate = on;
SELECT * FROM exchange_differences('SELECT id, n, count(*) FROM grouped GROUP BY id, n');
RESET enable_partitionwise_aggregate;

-- the type is altered there, after a plan was made
CREATE TABLE remote.altered (id int, k text);
CREATE INDEX ON remote.altered (k);
INSERT INTO remote.altered SELECT i, 'k' || i % 40 FROM generate_series(1, 4000) i;
CREATE FOREIGN TABLE altered (id int, k text) SERVER loopback OPTIONS (schema_name 'remote');
ANALYZE altered;
SET plan_cache_mode = force_generic_plan;
SET pg_exchange.lookup_joins = off;
PREPARE by_filter AS SELECT count(*) FROM altered JOIN keys_char_text USING (k);
EXECUTE by_filter;
SET pg_exchange.runtime_filters = off;
PREPARE by_server AS SELECT count(*) FROM altered a WHERE EXISTS (SELECT FROM there_char_text s WHERE s.k = a.k);
EXECUTE by_server;
SET pg_exchange.join_exchange = broadcast;
PREPARE by_fragment AS SELECT count(*) FROM altered JOIN keys_char_text USING (k);
EXECUTE by_fragment;
SET pg_exchange.join_exchange = off;
SET pg_exchange.lookup_joins = on;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
PREPARE by_keys AS SELECT count(*) FROM altered JOIN keys_char_text USING (k);
EXECUTE by_keys;
ALTER TABLE remote.altered ALTER k TYPE char(10);
EXECUTE by_filter;
CREATE FUNCTION executed(statement text, OUT n bigint) LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement INTO n; END $$;
SELECT executed('EXECUTE by_server') = CASE WHEN has_semi_joins() THEN 0 ELSE 200 END AS as_by_postgres_fdw;
EXECUTE by_fragment;
EXECUTE by_keys;
SELECT has_semi_joins() OR array_agg(line) = ARRAY[
	'Aggregate (actual rows=1 loops=1)',
	'  ->  Custom Scan (ExchangeReceive) (actual rows=200 loops=1)',
	'        Server: loopback',
	'        Compression: NONE (postgres_fdw)',
	'        Transport: postgres_fdw (columns have other types on the server)',
	'        Relations: (altered a) SEMI JOIN (there_char_text s)',
	'        ->  Hash Semi Join (actual rows=200 loops=1)',
	'              Hash Cond: (a.k = s.k)',
	'              ->  Foreign Scan on altered a (actual rows=4000 loops=1)',
	'              ->  Hash (actual rows=2 loops=1)',
	'                    Buckets: 1024  Batches: 1  Memory Usage: (size)',
	'                    ->  Foreign Scan on there_char_text s (actual rows=3 loops=1)'] AS as_planned
FROM explain_stable('EXECUTE by_server', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') line;
SELECT explain_stable('EXECUTE by_fragment', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
ALTER TABLE remote.altered ALTER k TYPE text;
UPDATE remote.altered SET k = rpad(k, 10);
EXECUTE by_filter;
EXECUTE by_server;
EXECUTE by_fragment;
EXECUTE by_keys;
RESET ALL;
SET search_path = other_types_test, public;

-- the remote's planner replaces the calls: an index can be used
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM remote.altered WHERE exchange.may_match(ROW(k, NULL::text, '{k1,k2}'::text[]), -1);
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT * FROM remote.altered WHERE exchange.may_match(ROW(k, NULL::char(3), '{k1,k2}'::bpchar[]), -1);
EXPLAIN (COSTS OFF) SELECT * FROM remote.ot_int4_int8 WHERE exchange.may_match(ROW(k, NULL::bigint, 5::bigint, 7::bigint), -1);
EXPLAIN (COSTS OFF) SELECT * FROM remote.ot_int4_int8 WHERE exchange.may_match(ROW(k, NULL::bigint, ''::bytea), -1) AND exchange.has_type(ROW(k, NULL::bigint), -1);
SELECT explain_stable('SELECT * FROM remote.ot_int4_int8 WHERE exchange.has_type(ROW(k, NULL::smallint), -1)');
EXPLAIN (COSTS OFF) SELECT * FROM remote.ot_varchar_text WHERE exchange.has_type(ROW(k, NULL::varchar), 14) AND exchange.has_type(ROW(k, NULL::varchar), -1) AND exchange.has_type(ROW(k, NULL::text), -1);
SELECT explain_stable('SELECT * FROM remote.ot_varchar_text WHERE exchange.has_type(ROW(k, NULL::varchar), 13)');
-- arguments that coordinators do not use
SELECT exchange.has_type(NULL, 1);
SELECT exchange.has_type(ROW(), 1);
SELECT exchange.has_type(ROW(1, 2), i) FROM generate_series(1, 2) i;
SELECT exchange.has_type(ROW(1, 2), NULL);
SELECT exchange.may_match(ROW(1, 2), -1);
SELECT exchange.may_match(ROW(1, 2, 3), -1), exchange.may_match(ROW(1, 2, 1, 'x'::text), -1), exchange.may_match(ROW(1, 2, 1, 0), -1);
SELECT exchange.may_match(ROW(1, 2, '{1}'::int[], 4, 5, 6), -1), exchange.may_match(ROW('1'::json, NULL::json, ARRAY['1'::json]), -1);


-- a view whose column is a constant
CREATE VIEW remote.ot_view AS TABLE remote.ot_same_text;
CREATE FOREIGN TABLE constant (id int, k text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'ot_view');
ANALYZE constant;
CREATE OR REPLACE VIEW remote.ot_view AS SELECT id, 'k1'::text AS k, filler FROM remote.ot_same_text;
SET pg_exchange.join_exchange = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM constant JOIN keys_same_text USING (k);
SELECT count(*) FROM constant JOIN keys_same_text USING (k);
SELECT count(*) FROM constant JOIN keys_char_text USING (k);
SET enable_hashjoin = on;
SET pg_exchange.lookup_joins = off;
SELECT count(*) FROM constant JOIN keys_same_text USING (k);
SELECT count(*) FROM constant c WHERE EXISTS (SELECT FROM there_same_text s WHERE s.k = c.k);

SET client_min_messages = warning;
DROP SERVER reading CASCADE;
DROP OWNED BY other_types_reader;
DROP ROLE other_types_reader;
DROP SCHEMA other_types_test CASCADE;
DROP VIEW remote.ot_view;
DROP TABLE remote.long, remote.summed, remote.rounded, remote.grouped;
SELECT format('DROP TABLE remote.%s', relname) FROM pg_class WHERE relnamespace = 'remote'::regnamespace AND relname ~ '^(ot_|otk_|altered)' AND relkind = 'r' ORDER BY relname COLLATE "C" \gexec
DROP TYPE remote.ot_enum;
DROP DOMAIN remote.ot_domain;
