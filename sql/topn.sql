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
			ends := ends || coalesce(substring(line from '( ORDER BY .*)'), substring(line from ' (LIMIT .*)'), substring(line from ' (FETCH .*)'), '');
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

-- sorted by the remote
SELECT * FROM top_n('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
SELECT * FROM top_n('SELECT * FROM t ORDER BY n, id OFFSET 90 FETCH FIRST 10 ROWS ONLY');
SELECT * FROM top_n('SELECT id FROM t ORDER BY n DESC NULLS LAST, id LIMIT 101');
SELECT * FROM top_n('SELECT id FROM t ORDER BY n DESC, id LIMIT 2000');
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
SELECT * FROM top_n('SELECT * FROM t ORDER BY n DESC, id LIMIT 5000');
SELECT * FROM top_n('SELECT * FROM t ORDER BY n DESC, id');
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY n DESC, id LIMIT 10;
FETCH 2 FROM c;
SELECT * FROM top_n('SELECT * FROM t ORDER BY n DESC, id LIMIT 10');
FETCH 3 FROM c;
COMMIT;
RESET pg_exchange.max_connections_per_server;

-- an error in the remote query of one partition
CREATE VIEW remote.top_bad AS SELECT id, k, 1 / (id - 3) AS n, d, v FROM remote.top_0;
ALTER FOREIGN TABLE t_0 OPTIONS (SET table_name 'top_bad');
SELECT id FROM t ORDER BY n, id LIMIT 3;
SET pg_exchange.max_connections_per_server = 1;
SELECT id FROM t ORDER BY n, id LIMIT 3;
RESET pg_exchange.max_connections_per_server;
RESET search_path;
DROP SCHEMA topn CASCADE;
