--
-- pg_exchange.partitionwise: joins and aggregates of foreign partitions are
-- considered although core's settings are off.
--
SELECT remote_table('pw_' || n, n * 1000, n * 1000 + 999) FROM generate_series(0, 2) n;
CREATE TABLE pw (id int, k int, v text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE pw_0 PARTITION OF pw FOR VALUES FROM (0) TO (1000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'pw_0');
CREATE FOREIGN TABLE pw_1 PARTITION OF pw FOR VALUES FROM (1000) TO (2000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'pw_1');
CREATE TABLE pw_rest PARTITION OF pw FOR VALUES FROM (2000) TO (9000) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE pw_2 PARTITION OF pw_rest FOR VALUES FROM (2000) TO (3000)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'pw_2');
ANALYZE pw;

CREATE TABLE own (id int, v text) PARTITION BY RANGE (id);
CREATE TABLE own_0 PARTITION OF own FOR VALUES FROM (0) TO (1000);
CREATE TABLE own_1 PARTITION OF own FOR VALUES FROM (1000) TO (2000);

-- How many joins does the plan have, here or there, and how many aggregates
-- there?
CREATE FUNCTION shape(query text, OUT joins int, OUT aggregates int) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	joins := 0;
	aggregates := 0;
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line ~ '(Hash|Merge|Left|Right|Semi) Join|Nested Loop|ExchangeLookup|SQL: .*JOIN' THEN
			joins := joins + 1;
		END IF;
		IF line ~ '^ *Remote SQL: .*(count|sum)\(' THEN
			aggregates := aggregates + 1;
		END IF;
	END LOOP;
END
$$;

SELECT explain_stable('SELECT a.v, b.v FROM pw a JOIN pw b USING (id)');
SELECT * FROM exchange_differences('SELECT a.v, b.v FROM pw a JOIN pw b USING (id)');
SELECT explain_stable('SELECT id, count(*) FROM pw GROUP BY id');
SELECT * FROM exchange_differences('SELECT id, count(*) FROM pw GROUP BY id');
SELECT * FROM shape('SELECT id, count(*) FROM pw a JOIN pw b USING (id) LEFT JOIN pw c USING (id) GROUP BY id');
SELECT * FROM shape('SELECT * FROM pw a LEFT JOIN (pw b LEFT JOIN pw c ON b.id = c.id) ON a.id = b.id');
SELECT * FROM shape('SELECT id, count(*) FROM pw WHERE id IN (SELECT id FROM pw WHERE k + random() < 2) GROUP BY id');
SELECT * FROM exchange_differences('SELECT id, count(*) FROM pw WHERE id IN (SELECT id FROM pw WHERE k = 1) GROUP BY id');
-- one partition is left
SELECT * FROM shape('SELECT id, count(*) FROM pw a JOIN pw b USING (id) WHERE id BETWEEN 10 AND 50 GROUP BY id');
SELECT explain_stable('SELECT id, sum(k) FROM pw WHERE id < 500 GROUP BY id');

-- partitions are pruned when the query runs: what is pruned is not joined
PREPARE few(int) AS SELECT count(*) FROM pw WHERE id BETWEEN $1 AND $1 + 9;
PREPARE most(int) AS SELECT k, count(*) FROM pw WHERE id > $1 GROUP BY id, k;
SET plan_cache_mode = force_generic_plan;
SELECT line FROM explain_stable('EXECUTE few(10)') line WHERE line ~ 'Subplans Removed';
SELECT * FROM shape('EXECUTE most(10)');
RESET plan_cache_mode;
DEALLOCATE few;
DEALLOCATE most;

-- each query level for itself
SELECT * FROM shape('SELECT * FROM (SELECT id, count(*) FROM pw GROUP BY id OFFSET 0) s JOIN pw USING (id) JOIN pw b USING (id)');
CREATE FUNCTION items() RETURNS TABLE (id int, n bigint) LANGUAGE sql STABLE AS 'SELECT id, count(*) FROM pw GROUP BY id';
SELECT * FROM shape('SELECT * FROM items()');
CREATE VIEW item_pairs AS SELECT a.id, count(*) FROM pw a JOIN pw b USING (id) GROUP BY a.id;
SELECT * FROM shape('SELECT * FROM item_pairs');
SELECT * FROM shape('SELECT * FROM own a JOIN own b USING (id) WHERE a.id > (SELECT max(n) FROM items())');
SELECT * FROM shape('INSERT INTO own SELECT id, count(*) FROM pw GROUP BY id');

-- not considered: partitions here, whole rows, locked rows, the setting
SELECT * FROM shape('SELECT a.id, count(*) FROM own a JOIN own b USING (id) GROUP BY a.id');
SELECT * FROM shape('SELECT a, b.v FROM pw a JOIN pw b USING (id)');
SELECT * FROM shape('SELECT a.v, b.v FROM pw a JOIN pw b USING (id) FOR UPDATE');
SELECT * FROM shape('UPDATE own SET v = n FROM (SELECT id, count(*) n FROM pw a JOIN pw b USING (id) GROUP BY id) s WHERE own.id = s.id');
SET pg_exchange.partitionwise = off;
SELECT * FROM shape('SELECT id, count(*) FROM pw a JOIN pw b USING (id) GROUP BY id');
SET enable_partitionwise_join = on;
SELECT * FROM shape('SELECT id, count(*) FROM pw a JOIN pw b USING (id) GROUP BY id');
RESET enable_partitionwise_join;
RESET pg_exchange.partitionwise;
SET pg_exchange.enabled = off;
SELECT * FROM shape('SELECT id, count(*) FROM pw a JOIN pw b USING (id) GROUP BY id');
RESET pg_exchange.enabled;

-- core's settings are the user's again, also after an error in the planner
SHOW enable_partitionwise_join;
SHOW enable_partitionwise_aggregate;
CREATE FUNCTION fail() RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
	RAISE 'failed';
END
$$;
EXPLAIN SELECT * FROM (SELECT id, count(*) FROM pw GROUP BY id OFFSET 0) s JOIN pw USING (id) WHERE pw.k < fail();
SHOW enable_partitionwise_join;
SHOW enable_partitionwise_aggregate;
-- a function that is evaluated by the planner plans its own queries
CREATE TABLE nested_shapes (joins int, aggregates int);
CREATE FUNCTION explain_own() RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO nested_shapes SELECT * FROM shape('SELECT a.id, count(*) FROM own a JOIN own b USING (id) GROUP BY a.id');
	RETURN count(*) FROM pw WHERE pw.id < 5;
END
$$;
CREATE FUNCTION nested() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN explain_own(); END';
SELECT count(*) > 0 FROM explain_stable('SELECT * FROM (SELECT id, count(*) FROM pw GROUP BY id OFFSET 0) s JOIN pw USING (id) WHERE pw.k < nested()');
SELECT DISTINCT * FROM nested_shapes;
SHOW enable_partitionwise_join;

-- too many joins of partitions: the largest tables are joined by partitions
CREATE TABLE many (id int, v text) PARTITION BY HASH (id);
DO $$
BEGIN
	FOR n IN 0 .. 63 LOOP
		EXECUTE format('CREATE FOREIGN TABLE many_%s PARTITION OF many FOR VALUES WITH (MODULUS 64, REMAINDER %s)
						SERVER loopback OPTIONS (schema_name ''remote'', table_name ''many'')', n, n);
	END LOOP;
END
$$;
SELECT joins % 64 AS whole FROM shape('SELECT * FROM many a JOIN many b USING (id)');
SELECT joins % 64 AS whole FROM shape('SELECT * FROM many a JOIN many b USING (id) JOIN many c USING (id) JOIN many d USING (id)');
SELECT joins % 64 AS whole FROM shape('SELECT * FROM many a JOIN many b USING (id) JOIN many c USING (id) JOIN many d USING (id) JOIN many e USING (id)');

-- One row of the whole table fulfils the condition, not one of each partition.
CREATE FUNCTION expected_rows(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END
$$;
SELECT expected_rows('SELECT * FROM pw a, pw b WHERE a.v = ''row 5'' AND a.k = b.k') BETWEEN 300 AND 600 AS one_row;
DROP FUNCTION expected_rows;

-- If the last join can be made partition by partition, core forgets its other
-- paths.  With four servers, a lookup as a whole is cheaper here.
CREATE TABLE whole (id int, k int, v text) PARTITION BY RANGE (id);
DO $$
DECLARE
	server text;
BEGIN
	FOR n IN 0 .. 3 LOOP
		server := 'whole_' || n;
		EXECUTE format('CREATE SERVER %I FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
					   server, current_database(),
					   split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
		EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER %I', server);
		PERFORM remote_table(server, n * 50000, n * 50000 + 49999);
		EXECUTE format('CREATE FOREIGN TABLE %I PARTITION OF whole FOR VALUES FROM (%s) TO (%s)
						SERVER %I OPTIONS (schema_name ''remote'')', server, n * 50000, n * 50000 + 50000, server);
	END LOOP;
END
$$;
ANALYZE whole;
CREATE FUNCTION cost(query text, partitionwise bool) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('pg_exchange.partitionwise', partitionwise::text, true);
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	PERFORM set_config('pg_exchange.partitionwise', 'on', true);
	RETURN plan -> 0 -> 'Plan' ->> 'Total Cost';
END
$$;
SELECT cost(q, true) < cost(q, false) * 1.2 AS cheap, d.* FROM unnest(ARRAY[
	'SELECT * FROM whole a LEFT JOIN whole b ON a.id = b.id AND b.v <> pg_backend_pid()::text WHERE a.v LIKE ''row 10%'' AND a.k = 1',
	'SELECT k, count(*) FROM whole a WHERE EXISTS (SELECT FROM whole b WHERE b.id = a.id AND b.v <> pg_backend_pid()::text) AND a.k = 1 GROUP BY k'
]) q, LATERAL (SELECT min(rows) AS rows, sum(only_postgres_fdw) AS missing, sum(only_exchange) AS wrong FROM exchange_differences(q)) d;
SET client_min_messages = warning;
DROP TABLE whole;
DROP FUNCTION cost;
DROP SERVER whole_0, whole_1, whole_2, whole_3 CASCADE;
RESET client_min_messages;

DROP TABLE pw, own, many, nested_shapes CASCADE;
DROP FUNCTION shape, items, fail, explain_own, nested;
