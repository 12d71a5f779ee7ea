--
-- What EXPLAIN tells of the stages of a broadcast, and what statistics count of
-- each kind of join.
--
CREATE SCHEMA join_stats;
SET search_path = join_stats, public;
CREATE TABLE remote.js_1 AS SELECT i AS id, i % 1000 AS item, i % 7 AS shop FROM generate_series(1, 10000) i;
CREATE TABLE remote.js_2 AS SELECT i AS id, i % 1000 AS item, i % 7 AS shop FROM generate_series(10001, 20000) i;
CREATE TABLE fact (id int, item int, shop int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE fact_1 PARTITION OF fact FOR VALUES FROM (1) TO (10001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'js_1');
CREATE FOREIGN TABLE fact_2 PARTITION OF fact FOR VALUES FROM (10001) TO (20001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'js_2');
CREATE TABLE item AS SELECT i AS id, 'brand ' || i % 3 AS brand FROM generate_series(1, 20) i;
ANALYZE fact, fact_1, fact_2, item;
CREATE VIEW counted AS
	SELECT scans, filtered_scans, rows_filtered, lookups, semi_joins, joins_not_sent AS not_sent,
		broadcasts, broadcast_rows, broadcast_bytes > 0 AS broadcast_bytes,
		hash_partitions, partition_rows, partition_bytes
	FROM exchange.pg_stat_exchange WHERE srvname = 'loopback';

-- a scan, which is none of them
SELECT exchange.reset_stats();
SELECT count(item) FROM (SELECT * FROM fact OFFSET 0) x;
SELECT * FROM counted;

-- a broadcast: one for each fragment
SET pg_exchange.join_exchange = broadcast;
SELECT exchange.reset_stats();
SELECT i.brand, count(*) FROM fact f JOIN item i ON i.id = f.item GROUP BY 1 ORDER BY 1;
SELECT * FROM counted;

-- EXPLAIN: the same bytes, and the times of the stages
SELECT regexp_replace(line, '^ *| in \d+ batches|\d+(\.\d+)?( bytes|$)| N ms', '', 'g') AS line
FROM explain_stable('SELECT i.brand, count(*) FROM fact f JOIN item i ON i.id = f.item GROUP BY 1', 'COSTS OFF, ANALYZE') line
WHERE line ~ '^ *(Exchange Type|Keys|Sent|Skew|Time: ask)';
CREATE TABLE explained AS
	SELECT jsonb_path_query_first(explain_json('SELECT i.brand, count(*) FROM fact f JOIN item i ON i.id = f.item GROUP BY 1', 'ANALYZE'),
								  '$.** ? (@."Exchange Type" == "Broadcast")') AS plan;
SELECT (plan->>'Ask Time (ms)')::float8 >= 0 AS ask, (plan->>'Read Sides Time (ms)')::float8 > 0 AS read_sides,
	(plan->>'First Row Time (ms)')::float8 > 0 AS first_row, (plan->>'Skew')::float8 BETWEEN 1 AND 2 AS skew
FROM explained;
-- the skew is the longest time of a fragment, divided by their mean
SELECT count(*), abs(max(ms) / avg(ms) - min(skew)) < 0.01 AS skew_is_right
FROM (SELECT (sent->>'Fragment Time (ms)')::float8 AS ms, (plan->>'Skew')::float8 AS skew
	  FROM explained, jsonb_array_elements(plan->'Sent') sent) x;
-- without TIMING, none of them
SELECT count(*) FROM jsonb_path_query(
	explain_json('SELECT i.brand, count(*) FROM fact f JOIN item i ON i.id = f.item GROUP BY 1', 'ANALYZE, TIMING OFF'),
	'strict $.** ? (@.type() == "object").keyvalue()') x
WHERE x->>'key' IN ('Ask Time (ms)', 'Read Sides Time (ms)', 'First Row Time (ms)', 'Fragment Time (ms)', 'Skew');
-- a fragment has no skew
SELECT count(*) FROM explain_stable('SELECT i.brand, count(*) FROM fact_1 f JOIN item i ON i.id = f.item GROUP BY 1', 'COSTS OFF, ANALYZE') line
WHERE line ~ 'Skew';
DROP TABLE explained;

-- what EXPLAIN says was sent is what is counted; also over rescans
CREATE FUNCTION sent(query text, OUT rows bigint, OUT bytes bigint) LANGUAGE sql AS $$
	SELECT sum((s->>'Sent Rows')::bigint), sum((s->>'Sent Bytes')::bigint)
	FROM jsonb_path_query(explain_json(query, 'ANALYZE'), 'strict $.** ? (@."Exchange Type" == "Broadcast").Sent[*]') s;
$$;
SELECT exchange.reset_stats();
SELECT rows, bytes FROM sent('SELECT i.brand, count(*) FROM fact f JOIN item i ON i.id = f.item GROUP BY 1') \gset
SELECT broadcasts, broadcast_rows = :rows AS rows, broadcast_bytes = :bytes AS bytes FROM exchange.pg_stat_exchange WHERE srvname = 'loopback';
SELECT exchange.reset_stats();
SELECT rows, bytes FROM sent('SELECT n, x.* FROM generate_series(1, 3) n CROSS JOIN LATERAL
	(SELECT count(*) FROM fact f JOIN item i ON i.id = f.item AND i.id > n OFFSET 0) x') \gset
SELECT broadcasts, broadcast_rows = :rows AS rows, broadcast_bytes = :bytes AS bytes FROM exchange.pg_stat_exchange WHERE srvname = 'loopback';

-- progress: while the sides are read, by a function that they call
CREATE FUNCTION watched(id int, at int) RETURNS int STABLE LANGUAGE plpgsql AS $$
BEGIN
	IF id = at THEN
		RAISE NOTICE '%', (SELECT string_agg(format('%s: %s of %s rows in %s batches, %s, %s', direction, rows, estimated_rows, batches, blocked_on,
				remote_query ~ 'exchange.unpack' AND raw_bytes > 0 AND wire_bytes > 0), ' | ')
			FROM exchange.pg_stat_progress_exchange WHERE srvname = 'loopback');
	END IF;
	RETURN 1 / (350 - id) + id;
END
$$;
SET pg_exchange.batch_rows_max = 64;
SELECT count(*) FROM fact f JOIN (SELECT watched(id, 200) AS id FROM generate_series(1, 300) id OFFSET 0) i ON i.id = f.item;
SELECT count(*) FROM exchange.pg_stat_progress_exchange;
-- an error ends it, also if it is caught
DO $$
BEGIN
	PERFORM count(*) FROM fact f JOIN (SELECT watched(id, 340) AS id FROM generate_series(1, 400) id OFFSET 0) i ON i.id = f.item;
EXCEPTION WHEN division_by_zero THEN
	RAISE NOTICE 'rows of progress: %', (SELECT count(*) FROM exchange.pg_stat_progress_exchange);
END
$$;
RESET pg_exchange.batch_rows_max;
-- a broadcast that cannot be sent: counted for the servers that would have had it
PREPARE p AS SELECT count(*) FROM fact f JOIN item i ON i.id = f.item;
SET plan_cache_mode = force_generic_plan;
EXECUTE p;
SELECT exchange.reset_stats();
SET pg_exchange.enabled = off;
EXECUTE p;
SELECT not_sent, broadcasts FROM counted;
RESET pg_exchange.enabled;
RESET plan_cache_mode;
SET pg_exchange.join_exchange = off;

-- runtime filters, and rows that did not come
SET pg_exchange.lookup_joins = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT exchange.reset_stats();
SELECT count(*) FROM (SELECT f.shop, i.brand FROM fact_1 f JOIN item i ON i.id = f.item OFFSET 0) x;
SELECT * FROM counted;
SET pg_exchange.runtime_filters = off;
SELECT exchange.reset_stats();
SELECT count(*) FROM (SELECT f.shop, i.brand FROM fact_1 f JOIN item i ON i.id = f.item OFFSET 0) x;
SELECT * FROM counted;
RESET pg_exchange.lookup_joins;
RESET enable_nestloop;

-- lookups
SET enable_hashjoin = off;
SELECT exchange.reset_stats();
SELECT count(*) FROM (SELECT f.shop, i.brand FROM fact_1 f JOIN item i ON i.id = f.item OFFSET 0) x;
SELECT * FROM counted;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET pg_exchange.runtime_filters;

-- semi-joins by the server: NOT EXISTS, in all versions
SELECT exchange.reset_stats();
SELECT count(*) FROM (SELECT f.id FROM fact_1 f WHERE NOT EXISTS (SELECT FROM fact_2 g WHERE g.item = f.shop AND g.id > 19003) OFFSET 0) x;
SELECT * FROM counted;

RESET search_path;
RESET pg_exchange.join_exchange;
DROP SCHEMA join_stats CASCADE;
DROP TABLE remote.js_1, remote.js_2;
