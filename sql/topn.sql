--
-- LIMIT in the remote queries of partitions.
--
CREATE SCHEMA topn;
CREATE TABLE topn.t (id int, k int, n numeric, d date, v text) PARTITION BY RANGE (id);
DO $$
BEGIN
	FOR p IN 0 .. 5 LOOP
		EXECUTE format('CREATE TABLE remote.top_%s AS SELECT i AS id, i %% 17 AS k, nullif(i * 7919 %% 1009, 5) / 10.0 AS n,
						date ''2020-01-01'' + i * 31 %% 400 AS d, ''v'' || i %% 101 AS v FROM generate_series(%s, %s) i', p, p * 1000, p * 1000 + 999);
		EXECUTE format('CREATE FOREIGN TABLE topn.t_%s PARTITION OF topn.t FOR VALUES FROM (%s) TO (%s)
						SERVER loopback OPTIONS (schema_name ''remote'', table_name ''top_%1$s'')', p, p * 1000, p * 1000 + 1000);
	END LOOP;
END
$$;
ANALYZE topn.t;
SET search_path = topn, public;

-- What the remote queries end with, and by which transport they came.
CREATE FUNCTION ends(query text) RETURNS TABLE (scans bigint, remote_end text, transport text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	ends text[];
	transports text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) ' || query LOOP
		IF line ~ 'Remote SQL: ' THEN
			ends := ends || coalesce(substring(line from '.*( ORDER BY .*)'), substring(line from ' (LIMIT .*)'), substring(line from ' (FETCH .*)'), '');
		ELSIF line ~ 'Transport: ' THEN
			transports := transports || substring(line from 'Transport: (.*)');
		END IF;
	END LOOP;
	RETURN QUERY SELECT count(*), u.e, u.t FROM unnest(ends, transports) u(e, t) GROUP BY 2, 3 ORDER BY 2, 3;
END
$$;
-- The same rows in the same order as by postgres_fdw?  The query must fix the
-- order.
CREATE FUNCTION same(query text, OUT same boolean, OUT n bigint) LANGUAGE plpgsql AS $$
DECLARE
	a text;
	b text;
BEGIN
	EXECUTE format('SELECT string_agg(q::text, '';'') FROM (%s) q', query) INTO a;
	SET LOCAL pg_exchange.enabled = off;
	EXECUTE format('SELECT string_agg(q::text, '';''), count(*) FROM (%s) q', query) INTO b, n;
	SET LOCAL pg_exchange.enabled = on;
	same := a IS NOT DISTINCT FROM b;
END
$$;
CREATE FUNCTION top_n(query text) RETURNS TABLE (scans bigint, remote_end text, transport text, same boolean, n bigint) LANGUAGE sql AS
	'SELECT e.*, s.* FROM same(query) s LEFT JOIN ends(query) e ON true';

-- a volatile function is called for as many rows as without us
CREATE SEQUENCE calls;
CREATE FUNCTION counted(x int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''topn.calls''); RETURN x; END';
CREATE FUNCTION count_next(a int, b int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''topn.calls''); RETURN greatest(a, b); END';
CREATE AGGREGATE counted_max (int) (SFUNC = count_next, STYPE = int);
CREATE FUNCTION ncalls(query text, OUT postgres_fdw bigint, OUT exchange bigint) LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL pg_exchange.enabled = off;
	EXECUTE query;
	postgres_fdw := currval('topn.calls');
	SET LOCAL pg_exchange.enabled = on;
	EXECUTE query;
	exchange := currval('topn.calls') - postgres_fdw;
	PERFORM setval('topn.calls', 1, false);
END
$$;
SELECT q, n.* FROM unnest(ARRAY[
	'SELECT id FROM t ORDER BY id, nextval(''topn.calls'') LIMIT 3',
	'SELECT id, counted(k) FROM t ORDER BY id, 2 LIMIT 3',
	'SELECT id FROM (SELECT id, counted(k) AS c FROM t OFFSET 0) s ORDER BY id, c LIMIT 3',
	'SELECT id FROM t ORDER BY id, (SELECT counted(t.k)) LIMIT 3',
	'WITH c AS (SELECT k, max(counted(k)) FROM t GROUP BY k ORDER BY k) SELECT * FROM c LIMIT 1',
	'SELECT k, max((SELECT counted(t.k))) FROM t GROUP BY k ORDER BY k LIMIT 1',
	'SELECT k, count(*) FROM t WHERE counted(k) >= 0 GROUP BY k ORDER BY k LIMIT 1',
	'SELECT id, max(counted(k)) FROM t GROUP BY id ORDER BY id LIMIT 1',
	'SELECT k, max(counted(k)) FROM t GROUP BY k ORDER BY k LIMIT 1',
	'SELECT k, counted_max(k) FROM t GROUP BY k ORDER BY k LIMIT 1',
	'SELECT x.id FROM t x JOIN t y USING (id) WHERE counted(x.k) >= 0 ORDER BY x.id LIMIT 1',
	'SELECT counted(k), count(*) FROM t GROUP BY k',
	'SELECT id, count(*) FROM t GROUP BY id HAVING counted(id) >= 0 ORDER BY id LIMIT 1',
	'SELECT id FROM (SELECT * FROM t_1 UNION ALL SELECT * FROM t_2) u GROUP BY id HAVING counted(id) >= 0 ORDER BY id LIMIT 1'
]) q, ncalls(q) n;
SELECT line FROM explain_stable('SELECT counted(k), count(*) FROM t GROUP BY k') line WHERE line ~ 'Relations' LIMIT 1;
DROP AGGREGATE counted_max (int);
DROP FUNCTION ncalls, counted, count_next;
DROP SEQUENCE calls;

-- sorted by the remote
SELECT * FROM top_n('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
SELECT * FROM top_n('SELECT * FROM t ORDER BY n, id OFFSET 90 FETCH FIRST 10 ROWS ONLY');
SELECT * FROM top_n('SELECT id FROM t ORDER BY n DESC NULLS LAST, id LIMIT 101');
-- of each partition a sixth is expected to be read: ten FETCHes, or more
SELECT * FROM top_n('SELECT id FROM t ORDER BY n DESC, id LIMIT 2000');
ALTER SERVER loopback OPTIONS (ADD fetch_size '20');
SELECT * FROM top_n('SELECT id FROM t ORDER BY n DESC, id LIMIT 2000');
ALTER SERVER loopback OPTIONS (DROP fetch_size);
SELECT * FROM top_n('SELECT id FROM t WHERE k < 4 ORDER BY d, id LIMIT 7');
SELECT * FROM top_n('SELECT id + 1, upper(v) FROM t ORDER BY d, id LIMIT 7');
SELECT * FROM top_n('SELECT id FROM t ORDER BY v COLLATE "C", id LIMIT 7');
SELECT * FROM top_n('SELECT id FROM t ORDER BY k, id LIMIT 0');
SELECT * FROM top_n('SELECT id FROM t ORDER BY k, id LIMIT ALL OFFSET 5990');
-- ties
SELECT * FROM ends('SELECT k FROM t ORDER BY k FETCH FIRST 10 ROWS WITH TIES');
SELECT * FROM same('SELECT k, count(*) FROM (SELECT k FROM t ORDER BY k FETCH FIRST 10 ROWS WITH TIES) q GROUP BY k');
SELECT * FROM same('SELECT n, count(*) FROM (SELECT n FROM t ORDER BY n DESC OFFSET 3 FETCH FIRST 9 ROWS WITH TIES) q GROUP BY n ORDER BY n');
SELECT * FROM top_n('SELECT k, d, count(*) FROM (SELECT k, d FROM t ORDER BY d, k FETCH FIRST 20 ROWS WITH TIES) q GROUP BY k, d ORDER BY k, d');
-- without an order, and in the order of the partitions
SELECT * FROM ends('SELECT * FROM t LIMIT 10');
SELECT * FROM top_n('SELECT count(*) FROM (SELECT * FROM t OFFSET 5 LIMIT 1500) q');
SELECT * FROM top_n('SELECT id FROM t ORDER BY id LIMIT 10 OFFSET 2');

-- sorted here: aggregates, and what the remote cannot sort; since 17 the
-- default of fdw_tuple_cost is greater
ALTER SERVER loopback OPTIONS (ADD fdw_tuple_cost '0.01');
SELECT * FROM top_n('SELECT id, sum(n) s FROM t GROUP BY id ORDER BY s DESC, id LIMIT 5');
SELECT * FROM top_n('SELECT id, min(v) m, sum(n) FROM t GROUP BY id ORDER BY sum(n) NULLS FIRST, min(v), id DESC LIMIT 5');
SELECT * FROM top_n('SELECT id, min(v) FROM t GROUP BY id ORDER BY min(v) || ''x'', id LIMIT 5');
SELECT * FROM top_n('SELECT * FROM (SELECT min(id) m FROM t GROUP BY id ORDER BY max(d) FETCH FIRST 3 ROWS WITH TIES) q ORDER BY m');
SELECT * FROM top_n('SELECT x + 1 y, s FROM (SELECT id x, sum(n) s FROM t GROUP BY id OFFSET 0) q ORDER BY s, x LIMIT 5');
SELECT * FROM top_n('SELECT x + 1 y, s FROM (SELECT id x, sum(n) s FROM t GROUP BY id) q ORDER BY s, x LIMIT 5');
SELECT * FROM top_n('SELECT id, sum(k) s FROM t GROUP BY id ORDER BY s DESC, id LIMIT 5000 OFFSET 5');
SELECT * FROM top_n('SELECT id FROM t ORDER BY k, v || id, id LIMIT 4');
CREATE FUNCTION minus(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN -$1; END';
SELECT * FROM top_n('SELECT id FROM t ORDER BY k, minus(id), id LIMIT 4');
ALTER SERVER loopback OPTIONS (DROP fdw_tuple_cost);
-- UNION ALL
SELECT * FROM top_n('SELECT id, n FROM (SELECT id, n FROM t_0 UNION ALL SELECT id, n FROM t_1 WHERE k = 3 UNION ALL SELECT k, n + 1 FROM t_2) u ORDER BY n, id LIMIT 4');

-- rows are dropped or added above the scan, or LIMIT is there already
SELECT * FROM top_n('SELECT id FROM t WHERE v || random() <> '''' ORDER BY n, id LIMIT 5');
SELECT * FROM top_n('SELECT id FROM t ORDER BY n, id, generate_series(1, 2) LIMIT 5');
SELECT * FROM top_n('SELECT DISTINCT n FROM t ORDER BY n LIMIT 5');
SELECT * FROM top_n('SELECT * FROM (SELECT id, row_number() OVER (ORDER BY n, id) r FROM t) q WHERE r % 2 = 0 ORDER BY r LIMIT 5');
SELECT * FROM top_n('SELECT a.id FROM t a JOIN generate_series(1, 9000, 700) g ON a.id = g ORDER BY a.n, a.id LIMIT 5');
SELECT * FROM top_n('SELECT id FROM ((SELECT id, n FROM t_0 ORDER BY n, id LIMIT 3) UNION ALL (SELECT id, n FROM t_1 ORDER BY n, id LIMIT 4) UNION ALL SELECT id, n FROM t_2) u ORDER BY n, id LIMIT 6');
SELECT * FROM ends('SELECT id FROM t ORDER BY n, id LIMIT 5 FOR UPDATE');
-- a condition that is checked once
SELECT * FROM top_n('SELECT id FROM t WHERE (SELECT 1) = 1 ORDER BY n, id LIMIT 5');

-- the number is not known before
PREPARE top(bigint, bigint) AS SELECT id FROM t ORDER BY n DESC, id LIMIT $1 OFFSET $2;
PREPARE top_int(int) AS SELECT id FROM t ORDER BY n DESC, id LIMIT $1;
PREPARE top_ties(bigint, bigint) AS SELECT k FROM t ORDER BY k DESC OFFSET $2 FETCH FIRST ($1) ROWS WITH TIES;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM ends('EXECUTE top(5, 2)');
EXECUTE top(5, 2);
EXECUTE top(5, NULL);
EXECUTE top(NULL, 5997);
EXECUTE top(0, 0);
EXECUTE top(9223372036854775807, 5998);
EXECUTE top(-1, 0);
EXECUTE top(1, -1);
EXECUTE top(-1, -1);
SELECT * FROM ends('EXECUTE top_int(3)');
EXECUTE top_int(3);
SELECT * FROM ends('EXECUTE top_ties(1, 2)');
EXECUTE top_ties(9223372036854775807, 5998);
EXECUTE top_ties(NULL, 5998);
PREPARE top_of_one(bigint, bigint) AS SELECT id FROM t ORDER BY -id, v LIMIT $1 OFFSET $2;
EXECUTE top_of_one(2, 5);
RESET plan_cache_mode;
EXECUTE top(9223372036854775807, 5998);
EXECUTE top(-1, 0);
EXECUTE top(1, -1);
SELECT * FROM ends('SELECT id FROM t ORDER BY n, id LIMIT (SELECT 3)');
SELECT * FROM same('SELECT g, s.id FROM generate_series(1, 4) g, LATERAL (SELECT id FROM t WHERE k = g ORDER BY n, id LIMIT g) s ORDER BY g, s.id');
SELECT * FROM same('SELECT g, s.id FROM generate_series(1, 4) g, LATERAL (SELECT id FROM t WHERE k = g ORDER BY n, id LIMIT 2) s ORDER BY g, s.id');
DEALLOCATE top;
DEALLOCATE top_int;
DEALLOCATE top_ties;

-- fewer connections than partitions
SET pg_exchange.max_connections_per_server = 2;
SELECT * FROM top_n('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
ALTER SERVER loopback OPTIONS (ADD fetch_size '20');
SELECT * FROM top_n('SELECT * FROM t ORDER BY n DESC, id LIMIT 5000');
ALTER SERVER loopback OPTIONS (DROP fetch_size);
SELECT * FROM top_n('SELECT * FROM t ORDER BY n DESC, id');
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY n DESC, id LIMIT 10;
FETCH 2 FROM c;
SELECT * FROM top_n('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
FETCH 3 FROM c;
COMMIT;
RESET pg_exchange.max_connections_per_server;

-- one remote query for several partitions
CREATE FUNCTION groups(query text) RETURNS TABLE (partitions int, grouped boolean, remote_end text, transport text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	n int;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) ' || query LOOP
		IF line ~ 'Transport: ' THEN
			transport := substring(line from 'Transport: (.*)');
		ELSIF line ~ 'Remote SQL: ' THEN
			partitions := regexp_count_of(line, ' FROM remote\.');
			grouped := line ~ ' UNION ALL ';
			remote_end := coalesce(substring(line from '.*( ORDER BY .*)'), '');
			RETURN NEXT;
		END IF;
	END LOOP;
END
$$;
CREATE FUNCTION regexp_count_of(string text, pattern text) RETURNS int IMMUTABLE LANGUAGE sql AS
	'SELECT count(*)::int FROM regexp_matches(string, pattern, ''g'')';
CREATE FUNCTION top_groups(query text) RETURNS TABLE (scans bigint, partitions int, grouped boolean, remote_end text, transport text, same boolean, n bigint) LANGUAGE sql AS
	'SELECT count(*), g.*, s.* FROM same(query) s, groups(query) g GROUP BY g.partitions, g.grouped, g.remote_end, g.transport, s.same, s.n ORDER BY 2, 4';
SET pg_exchange.max_connections_per_server = 2;
SELECT explain_stable('SELECT v, n, id, d FROM t ORDER BY n DESC, id LIMIT 10', 'VERBOSE, COSTS OFF');
SELECT explain_stable('SELECT id, n FROM t ORDER BY n NULLS FIRST, id LIMIT 3', 'ANALYZE, COSTS OFF, TIMING OFF');
SELECT v, n, id, d FROM t ORDER BY n DESC, id LIMIT 8;
SELECT * FROM top_groups('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
SELECT * FROM top_groups('SELECT * FROM t ORDER BY n NULLS FIRST, id DESC OFFSET 3 LIMIT 10');
SELECT * FROM top_groups('SELECT id, id, k FROM t WHERE k > 3 ORDER BY k, n DESC NULLS LAST, id LIMIT 100');
SELECT * FROM top_groups('SELECT v FROM t ORDER BY n, id LIMIT 0');
SELECT * FROM top_groups('SELECT id, n + 1 FROM t ORDER BY n DESC, id LIMIT 10');
SET pg_exchange.transport = session;
SELECT * FROM top_groups('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
RESET pg_exchange.transport;
-- as many groups as connections
SET pg_exchange.max_connections_per_server = 5;
SELECT * FROM top_groups('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
SET pg_exchange.max_connections_per_server = 6;
SELECT * FROM top_groups('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
SET pg_exchange.max_connections_per_server = 1;
SELECT * FROM top_groups('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
SET pg_exchange.max_connections_per_server = 2;
-- sorted here
SELECT * FROM top_groups('SELECT id, n FROM (SELECT id, n FROM t_0 UNION ALL SELECT id, n FROM t_1 WHERE k = 3 UNION ALL SELECT id, n FROM t_2 UNION ALL SELECT id, n FROM t_3) u ORDER BY n, id LIMIT 4');
-- not grouped: a key with a collation, or of a type whose input function is not
-- immutable; a computed column, system columns; more rows than a FETCH, an
-- unknown number of them; ties; an order that is that of the partitions
SELECT * FROM top_groups('SELECT id FROM t ORDER BY d, id LIMIT 7');
SELECT * FROM top_groups('SELECT id FROM t ORDER BY n, id LIMIT 101');
SELECT * FROM top_groups('SELECT id FROM t ORDER BY v COLLATE "C", id LIMIT 7');
SELECT * FROM top_groups('SELECT id, k FROM t ORDER BY n + k, id LIMIT 7');
SELECT * FROM top_groups('SELECT tableoid::regclass, id FROM t ORDER BY n, id LIMIT 7');
SELECT * FROM top_groups('SELECT t FROM t ORDER BY n, id LIMIT 7');
SELECT * FROM groups('SELECT id FROM t ORDER BY n, id LIMIT (SELECT 3)');
SELECT * FROM groups('SELECT k FROM t ORDER BY k FETCH FIRST 10 ROWS WITH TIES');
SELECT * FROM top_groups('SELECT id FROM t ORDER BY id LIMIT 10');
SELECT * FROM top_groups('SELECT id FROM t WHERE v || random() <> '''' ORDER BY n, id LIMIT 5');
SET plan_cache_mode = force_generic_plan;
PREPARE top_of(int) AS SELECT id FROM t WHERE k = $1 ORDER BY n DESC, id LIMIT 3;
SELECT * FROM groups('EXECUTE top_of(5)');
PREPARE top_from(int) AS SELECT id FROM t WHERE id >= $1 ORDER BY n DESC, id LIMIT 3;
SELECT * FROM groups('EXECUTE top_from(3000)');
EXECUTE top_from(3000);
RESET plan_cache_mode;
-- the values of an expression that changes
SELECT g, s.* FROM generate_series(1, 2) g, LATERAL (SELECT id, n FROM t ORDER BY n DESC NULLS LAST, id LIMIT 2) s;
-- rescans
SELECT g, (SELECT sum(id) FROM (SELECT id FROM t ORDER BY n DESC, id LIMIT 5 OFFSET 0) q WHERE g > 0) FROM generate_series(0, 2) g;

-- types: those of the remote tables differ from those here, and from each
-- other
SET DateStyle = 'ISO';
CREATE DOMAIN topn.amount AS numeric;
CREATE TYPE topn.color AS ENUM ('red', 'green');
CREATE TABLE remote.typed_0 (k int, b boolean, s smallint, i int, l bigint, r real, f float8, n numeric(8, 2), d date, t time, z timetz,
	ts timestamp, tz timestamptz, iv interval, c char(6), v varchar(10), x text, u uuid, y bytea);
INSERT INTO remote.typed_0 SELECT i, i % 2 = 0, i, -i, i * 10000000000, i / 3.0, i / 7.0, i / 8.0, date '2000-01-01' - i * 100000,
	time '10:00' + i * interval '1 s', timetz '10:00+02' + i * interval '1 s', timestamp '2000-01-01' + i * interval '1.5 day', 'infinity',
	make_interval(months => i, days => -i, secs => -i / 8.0), 'c' || i, 'v ' || i, E'x\t" ''\\%' || i, md5(i::text)::uuid, decode(md5(i::text), 'hex')
	FROM generate_series(1, 20) i;
INSERT INTO remote.typed_0 (k) VALUES (0);
INSERT INTO remote.typed_0 VALUES (21, true, 0, 0, 0, '-0', 'nan', 'nan', '-infinity', '24:00', '24:00-01', '-infinity', '0044-03-15 BC', '0', '', '', '', md5('')::uuid, '');
CREATE TABLE remote.typed_1 AS SELECT k + 100 AS k, CASE WHEN b THEN ' yes' ELSE 'off ' END::char(10) AS b, s::text, i::smallint, l::numeric, r::text, f::text,
	n::varchar, d::timestamp, t::text, z::text, ts::char(40), tz::text, iv::text, v AS c, k % 2 = 0 AS v, c AS x, u::text, y::text FROM remote.typed_0;
CREATE TABLE remote.typed_2 AS SELECT k + 200 AS k, b::text, s::float8, i::char(9), l::text, f AS r, r AS f, n, d, z::time AS t, z, tz AS ts, ts::date AS tz, t::interval AS iv,
	x::char(30) AS c, '10.0.0.1'::inet AS v, k % 2 = 0 AS x, u, x AS y FROM remote.typed_0 WHERE k IN (0, 21);
CREATE TABLE topn.typed (k int, b boolean, s smallint, i int, l bigint, r real, f float8, n numeric(8, 2), d date, t time(0), z timetz,
	ts timestamp, tz timestamptz, iv interval, c char(6), v varchar(10), x text, u uuid, y bytea, m amount, o numeric) PARTITION BY RANGE (k);
DO $$
BEGIN
	FOR p IN 0 .. 2 LOOP
		EXECUTE format('ALTER TABLE remote.typed_%s ADD m numeric DEFAULT %1$s, ADD o numeric', p);
		EXECUTE format('UPDATE remote.typed_%s SET o = n::numeric', p);
		EXECUTE format('CREATE FOREIGN TABLE topn.typed_%s PARTITION OF topn.typed FOR VALUES FROM (%s) TO (%s)
						SERVER loopback OPTIONS (schema_name ''remote'')', p, p * 100, p * 100 + 100);
	END LOOP;
END
$$;
SET pg_exchange.max_connections_per_server = 1;
SET DateStyle = 'SQL, DMY';
SELECT * FROM top_groups('SELECT k, b, s, i, l, r, f, n, d, t, z, ts, tz, iv, c, v, x, u, y FROM typed WHERE k < 200 ORDER BY o DESC, k LIMIT 30');
SELECT * FROM top_groups('SELECT k, x, v, b, i, l, f, d, t, y, ts FROM typed ORDER BY o DESC NULLS LAST, k LIMIT 30');
SELECT k, b, v, x, c FROM typed ORDER BY i DESC NULLS LAST, k DESC LIMIT 5;
RESET DateStyle;
-- an error of a value is the same, in a key, too
UPDATE remote.typed_1 SET l = 1.5 WHERE k = 121;
UPDATE remote.typed_1 SET s = 'few' WHERE k = 119;
\set VERBOSITY sqlstate
SELECT k, l FROM typed ORDER BY n DESC, k LIMIT 30;
SELECT k FROM typed ORDER BY s, k LIMIT 30;
SET pg_exchange.enabled = off;
SELECT k, l FROM typed ORDER BY n DESC, k LIMIT 30;
SELECT k FROM typed ORDER BY s, k LIMIT 30;
SET pg_exchange.enabled = on;
\set VERBOSITY default
-- other types, but not as keys
SELECT * FROM top_groups('SELECT k, m FROM typed ORDER BY o, k LIMIT 5');
SELECT * FROM top_groups('SELECT k, m FROM typed ORDER BY m, k LIMIT 5');
ALTER TABLE typed DROP COLUMN m, ADD m color;
ALTER TABLE remote.typed_0 DROP m, ADD m topn.color;
ALTER TABLE remote.typed_1 DROP m, ADD m topn.color;
ALTER TABLE remote.typed_2 DROP m, ADD m topn.color;
UPDATE remote.typed_0 SET m = 'green' WHERE k % 3 = 0;
ALTER TABLE typed ADD a int[];
ALTER TABLE remote.typed_0 ADD a text[] DEFAULT '{1,NULL}';
ALTER TABLE remote.typed_1 ADD a text DEFAULT '[3:4]={5,6}';
ALTER TABLE remote.typed_2 ADD a int[];
SELECT * FROM top_groups('SELECT k, m, a FROM typed ORDER BY o, k LIMIT 25');
SELECT * FROM top_groups('SELECT k, m, a FROM typed ORDER BY n, k LIMIT 25');
SELECT * FROM top_groups('SELECT k FROM typed ORDER BY m, k LIMIT 5');
-- other users, and other servers
CREATE SERVER loopback_topn FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'regression');
DO $$
BEGIN
	EXECUTE format('ALTER SERVER loopback_topn OPTIONS (ADD host %L, ADD port %L, SET dbname %L)', split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'), current_database());
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback_topn;
CREATE FOREIGN TABLE other_0 (id int, n numeric) SERVER loopback_topn OPTIONS (schema_name 'remote', table_name 'top_0');
CREATE FOREIGN TABLE other_1 (id int, n numeric) SERVER loopback_topn OPTIONS (schema_name 'remote', table_name 'top_1');
SELECT * FROM top_groups('SELECT id, n FROM (SELECT id, n FROM t_0 UNION ALL SELECT id, n FROM other_1 UNION ALL SELECT id, n FROM t_2 UNION ALL SELECT id, n FROM other_0) u ORDER BY n, id LIMIT 4');
CREATE ROLE topn_owner SUPERUSER;
CREATE USER MAPPING FOR topn_owner SERVER loopback OPTIONS (user 'CURRENT');
DO $$ BEGIN EXECUTE format('ALTER USER MAPPING FOR topn_owner SERVER loopback OPTIONS (SET user %L)', current_user); END $$;
CREATE VIEW owned_0 AS SELECT id, n FROM t_0;
CREATE VIEW owned_1 AS SELECT id, n FROM t_1;
ALTER VIEW owned_0 OWNER TO topn_owner;
ALTER VIEW owned_1 OWNER TO topn_owner;
SELECT * FROM top_groups('SELECT id, n FROM (SELECT id, n FROM t_2 UNION ALL SELECT id, n FROM owned_0 UNION ALL SELECT id, n FROM t_3 UNION ALL SELECT id, n FROM owned_1) u ORDER BY n, id LIMIT 4');
DROP VIEW owned_0, owned_1;
DROP USER MAPPING FOR topn_owner SERVER loopback;
DROP ROLE topn_owner;
DROP SERVER loopback_topn CASCADE;
RESET pg_exchange.max_connections_per_server;

-- an error in the remote query of one partition
CREATE VIEW remote.top_bad AS SELECT id, k, 1.0 / (id - 3) AS n, d, v FROM remote.top_0;
ALTER FOREIGN TABLE t_0 OPTIONS (SET table_name 'top_bad');
SELECT id FROM t ORDER BY n, id LIMIT 3;
SET pg_exchange.max_connections_per_server = 1;
SELECT id FROM t ORDER BY n, id LIMIT 3;
RESET pg_exchange.max_connections_per_server;
RESET search_path;
DROP SCHEMA topn CASCADE;
