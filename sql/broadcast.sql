--
-- ExchangeBroadcast: joins and aggregates on the servers, which are sent the
-- small side.
--
CREATE TABLE remote.bfact_1 AS
	SELECT i AS id, i % 200 AS item, i % 7 AS shop, i % 50 AS qty, (i % 1000) / 10.0 AS price,
		CASE WHEN i % 3 > 0 THEN 'code ' || i % 40 END AS code, date '2026-01-01' + i % 90 AS day
	FROM generate_series(1, 10000) i;
CREATE TABLE remote.bfact_2 AS
	SELECT i AS id, i % 200 AS item, i % 7 AS shop, i % 50 AS qty, (i % 1000) / 10.0 AS price,
		CASE WHEN i % 3 > 0 THEN 'code ' || i % 40 END COLLATE "C" AS code, date '2026-01-01' + i % 90 AS day
	FROM generate_series(10001, 20000) i;
CREATE TABLE bfact (id int, item int, shop int, qty int, price numeric, code text, day date) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE bfact_1 PARTITION OF bfact FOR VALUES FROM (1) TO (10001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'bfact_1');
CREATE FOREIGN TABLE bfact_2 PARTITION OF bfact FOR VALUES FROM (10001) TO (20001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'bfact_2');
ANALYZE bfact, bfact_1, bfact_2;
CREATE TABLE bitem AS
	SELECT i AS id, i::bigint AS big, CASE WHEN i % 5 > 0 THEN i END AS maybe, 'brand ' || i % 6 AS brand,
		'code ' || i AS code, i / 4.0 AS weight, i % 2 = 0 AS even, date '2026-01-01' + i AS since
	FROM generate_series(1, 60) i;
CREATE TABLE bshop AS SELECT i AS id, 'town ' || i % 3 AS town, i AS rank FROM generate_series(0, 6) i;
ANALYZE bitem, bshop;

--
-- Rows of a query as text, without broadcasts and with; counts what differs
-- both ways, and the broadcasts.
--
CREATE FUNCTION broadcast_differences(query text)
RETURNS TABLE (rows bigint, without_only bigint, with_only bigint, broadcasts bigint)
LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL pg_exchange.join_exchange = off;
	EXECUTE format('CREATE TEMP TABLE without AS SELECT t::text AS row FROM (%s) t', query);
	SET LOCAL pg_exchange.join_exchange = broadcast;
	EXECUTE format('CREATE TEMP TABLE by_broadcast AS SELECT t::text AS row FROM (%s) t', query);
	SELECT count(*) INTO rows FROM by_broadcast;
	SELECT count(*) INTO without_only FROM (TABLE without EXCEPT ALL TABLE by_broadcast) x;
	SELECT count(*) INTO with_only FROM (TABLE by_broadcast EXCEPT ALL TABLE without) x;
	SELECT count(*) INTO broadcasts FROM explain_stable(query) line WHERE line ~ 'ExchangeBroadcast';
	DROP TABLE without, by_broadcast;
	RETURN NEXT;
END
$$;

SET pg_exchange.join_exchange = broadcast;
SELECT explain_stable('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY i.brand',
					  'COSTS OFF, VERBOSE');
SELECT explain_stable('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY i.brand',
					  'COSTS OFF, ANALYZE, TIMING OFF');
SELECT i.brand, sum(f.price), count(*) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY i.brand ORDER BY 1;
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY i.brand');
-- columns of other types than over there are compared and added as they are here
CREATE TABLE remote.bmixed AS SELECT id, item::text AS item, price FROM remote.bfact_1;
CREATE FOREIGN TABLE bmixed (id int, item int, price numeric(10,0)) SERVER loopback OPTIONS (schema_name 'remote');
ANALYZE bmixed;
SELECT * FROM broadcast_differences('SELECT i.brand, sum(m.item), sum(m.price) FROM bmixed m JOIN bitem i ON i.id = m.item GROUP BY i.brand');
SELECT * FROM broadcast_differences('SELECT i.brand, count(*) FROM bmixed m JOIN bitem i ON i.id = m.price GROUP BY i.brand');
DROP FOREIGN TABLE bmixed;
DROP TABLE remote.bmixed;

-- keys of several types, with nulls and duplicates; no key, no aggregate
SELECT * FROM broadcast_differences('SELECT i.brand, count(*) FROM bfact f JOIN bitem i ON i.maybe = f.item GROUP BY i.brand');
SELECT * FROM broadcast_differences('SELECT i.brand, count(*) FROM bfact f JOIN bitem i ON i.big = f.item GROUP BY i.brand');
SELECT * FROM broadcast_differences('SELECT i.id, avg(f.qty), min(f.day) FROM bfact f JOIN bitem i ON i.code = f.code GROUP BY i.id');
SELECT * FROM broadcast_differences('SELECT f.qty, max(i.weight) FROM bfact f JOIN bitem i ON i.weight = f.price GROUP BY f.qty');
SELECT * FROM broadcast_differences('SELECT i.even, variance(f.qty) FROM bfact f JOIN bitem i ON i.since = f.day GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT count(*), sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item');
SELECT * FROM broadcast_differences('SELECT f.shop, i.brand FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY f.shop, i.brand');
SELECT * FROM broadcast_differences('SELECT d.x, count(*) FROM bfact f JOIN (VALUES (1, 2), (1, 2), (1, NULL), (NULL, 4)) d(k, x) ON d.k = f.item GROUP BY 1');
-- several keys, other clauses, expressions
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item AND i.code = f.code GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item AND i.id + f.qty > 70 WHERE f.day >= ''2026-02-01'' AND i.even GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.weight * 2 + f.shop, sum(CASE WHEN i.even THEN f.price * (1 - i.weight) ELSE 0 END) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, count(*) FILTER (WHERE i.weight > f.shop) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1 HAVING sum(f.qty) > 24000');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item AND i.brand IN (''brand 1'', ''brand 2'') AND (f.code = i.brand OR i.id < 9) GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item AND f.day BETWEEN i.since AND i.since + 20 GROUP BY 1');
-- a star; sides that are joined with each other; a self-join
SELECT * FROM broadcast_differences('SELECT i.brand, s.town, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item JOIN bshop s ON s.id = f.shop GROUP BY 1, 2');
SELECT * FROM broadcast_differences('SELECT s.town, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item JOIN bshop s ON s.rank = i.id GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, s.town, count(*) FROM bfact f JOIN bitem i ON i.id = f.item JOIN bshop s ON s.id = f.shop AND s.rank < i.id + f.qty GROUP BY 1, 2');
SELECT * FROM broadcast_differences('SELECT g.shop, count(*) FROM bfact f JOIN bfact g ON g.id = f.item WHERE g.id < 100 GROUP BY 1');
-- a side that is a subquery, a result of aggregates, empty, or of another server's rows
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact f JOIN (SELECT brand, max(id) AS id FROM bitem GROUP BY brand) i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact f JOIN (SELECT * FROM bitem ORDER BY weight LIMIT 5) i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item WHERE i.weight < 0 GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT count(*), sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item WHERE i.weight < 0');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact_1 f JOIN bitem i ON i.id = f.item GROUP BY 1');
-- not a subquery that cannot be planned twice: of partitions, with subqueries, or with InitPlans
SELECT * FROM broadcast_differences('SELECT f.shop, count(*) FROM bfact f JOIN (SELECT item, count(*) FROM bfact WHERE id < 50 GROUP BY item) x ON x.item = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.shop, count(*) FROM bfact_1 f JOIN (SELECT item, qty FROM bfact WHERE id % 200 = 7 UNION ALL SELECT item, qty FROM bfact WHERE id % 200 = 9) x ON x.item = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.shop, count(*) FROM bfact_1 f JOIN (SELECT id, id + 0 AS qty FROM bitem WHERE id % 4 = 2 UNION ALL SELECT id, id + 1 FROM bitem WHERE id % 5 = 2) x ON x.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.shop, count(*) FROM bfact f JOIN (SELECT id FROM bitem UNION ALL SELECT id FROM bshop) x ON x.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.shop, count(*) FROM bfact_1 f JOIN (SELECT g.item, count(*) FROM bfact_2 g JOIN (SELECT max(id) AS id FROM bitem GROUP BY brand) i ON i.id = g.item GROUP BY 1) x ON x.item = f.item GROUP BY 1');
CREATE INDEX bitem_id ON bitem (id);
SELECT * FROM broadcast_differences('SELECT f.shop, count(*) FROM bfact f JOIN (SELECT max(id) AS id FROM bitem) x ON x.id = f.item GROUP BY 1');
DROP INDEX bitem_id;
-- HAVING, ORDER BY, LIMIT, DISTINCT and window functions above
SELECT * FROM broadcast_differences('SELECT i.id, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5');
SELECT * FROM broadcast_differences('SELECT DISTINCT count(*) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY i.id');
SELECT * FROM broadcast_differences('SELECT i.brand, rank() OVER (ORDER BY sum(f.qty)) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, count(DISTINCT f.shop) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');

-- collations: equality by any deterministic one, order by a foreign column's
SELECT * FROM broadcast_differences('SELECT i.brand, count(*) FROM bfact f JOIN bitem i ON i.code = f.code COLLATE "C" GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, max(f.code), min(f.code) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand || left(f.code, 6), count(i.brand) FROM bfact f JOIN bitem i ON i.id = f.item WHERE i.brand LIKE ''%d 1'' OR i.code LIKE f.code GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.shop, max(i.brand) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.shop, count(*) FROM bfact f JOIN bitem i ON i.id = f.item AND i.code < f.code GROUP BY 1');

-- sent, but aggregated here: what servers cannot aggregate in parts; not sent:
-- volatile functions, conditions with functions of users, types without a form
-- of their own, row security, row locks, no equality
CREATE FUNCTION twice(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN i * 2; END';
SELECT * FROM broadcast_differences('SELECT i.brand, count(*) FROM bfact f LEFT JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.shop, count(*) FROM bfact f WHERE f.item IN (SELECT id FROM bitem) GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, count(*) FROM bfact f JOIN bitem i ON i.id = f.item WHERE random() < 2 GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(twice(f.qty)) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item WHERE twice(f.qty) > 20 GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, string_agg(f.code, '','' ORDER BY f.id) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.r, count(*) FROM bfact f JOIN (SELECT id, int4range(0, id) AS r FROM bitem OFFSET 0) i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.shop, count(*) FROM bfact f JOIN bitem i ON i.id > f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, f.shop, count(*) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY GROUPING SETS (1, 2)');

-- partial_aggregates
ALTER TABLE bshop ADD COLUMN share float8;
UPDATE bshop SET share = 1 / (rank + 1.5);
SET pg_exchange.partial_aggregates = exact;
SELECT * FROM broadcast_differences('SELECT s.town, sum(f.price) FROM bfact f JOIN bshop s ON s.id = f.shop GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT s.town, sum(s.share) FROM bfact f JOIN bshop s ON s.id = f.shop GROUP BY 1');
SET pg_exchange.partial_aggregates = off;
SELECT * FROM broadcast_differences('SELECT s.town, sum(f.price) FROM bfact f JOIN bshop s ON s.id = f.shop GROUP BY 1');
RESET pg_exchange.partial_aggregates;

-- both transports; own writes; a cursor; prepared statements; rescans
CREATE FUNCTION broadcast_transports(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT DISTINCT regexp_replace(line, '^ *', '') FROM explain_stable(query, 'ANALYZE, TIMING OFF, COSTS OFF') line
	WHERE line ~ 'Transport:|ExchangeBroadcast|Not Sent|Never' ORDER BY 1;
$$;
SET pg_exchange.transport = session;
SELECT broadcast_transports('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SET pg_exchange.transport = stream;
SELECT broadcast_transports('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
RESET pg_exchange.transport;
BEGIN;
UPDATE bfact SET qty = 1000 WHERE id = 1;
INSERT INTO bfact VALUES (10000, 1, 1, 5000, 1, NULL, '2026-01-01');
INSERT INTO bitem VALUES (1, 1, NULL, 'own', NULL, NULL, NULL, NULL);
SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item WHERE i.id = 1 OR i.brand = 'own' GROUP BY 1 ORDER BY 1;
SELECT broadcast_transports('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT i.id, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1 ORDER BY 1;
FETCH 2 FROM c;
SAVEPOINT s;
SELECT count(*) FROM bfact f JOIN bitem i ON i.id = f.item;
ROLLBACK TO s;
FETCH 2 FROM c;
CLOSE c;
COMMIT;
PREPARE p(int, text) AS SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item
	WHERE f.shop < $1 AND i.brand <> $2 GROUP BY 1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
SELECT explain_stable('EXECUTE p(3, ''brand 1'')', 'COSTS OFF, VERBOSE');
EXECUTE p(3, 'brand 1');
EXECUTE p(5, 'brand 2');
SET pg_exchange.enabled = off;
SELECT broadcast_transports('EXECUTE p(5, ''brand 2'')');
EXECUTE p(5, 'brand 2');
RESET pg_exchange.enabled;
RESET plan_cache_mode;
DEALLOCATE p;
SELECT s.id, x.* FROM bshop s CROSS JOIN LATERAL
	(SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item WHERE f.shop = s.id AND i.id > s.rank * 9 GROUP BY 1) x
	WHERE s.id < 3 ORDER BY 1, 2;
SELECT s.id, (SELECT sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item WHERE i.id > s.rank * 9 AND f.shop = s.id)
	FROM bshop s ORDER BY 1;

-- a side that is too large: the join runs here
CREATE TABLE bwide AS SELECT i % 200 AS id, (SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, 20) j) AS note
	FROM generate_series(1, 20000) i;
ANALYZE bwide;
UPDATE pg_class SET reltuples = 1000, relpages = 100 WHERE relname = 'bwide';
SET pg_exchange.compression = none;
SELECT broadcast_transports('SELECT length(w.note), count(w.note) FROM bfact f JOIN bwide w ON w.id = f.item WHERE f.id < 20 GROUP BY 1');
SELECT length(w.note), count(w.note) FROM bfact f JOIN bwide w ON w.id = f.item WHERE f.id < 20 GROUP BY 1;
-- parallel workers that read the side make room for those of the local plan
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 2;
SELECT line FROM explain_stable('SELECT length(w.note), count(w.note) FROM bfact f JOIN bwide w ON w.id = f.item WHERE f.id < 20 GROUP BY 1',
								'ANALYZE, COSTS OFF, TIMING OFF') line WHERE line ~ 'Not Sent|Workers';
RESET max_parallel_workers;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
RESET pg_exchange.compression;
TRUNCATE bwide;
INSERT INTO bwide SELECT i, repeat('note', 4000000) FROM generate_series(1, 5) i;	-- nearly nothing as frames
SELECT broadcast_transports('SELECT length(w.note), count(w.note) FROM bfact f JOIN bwide w ON w.id = f.item WHERE f.id < 20 GROUP BY 1');
SELECT length(w.note), count(w.note) FROM bfact f JOIN bwide w ON w.id = f.item WHERE f.id < 20 GROUP BY 1;
DROP TABLE bwide;

-- never chosen where it is not cheaper; off
SET pg_exchange.join_exchange = off;
SELECT broadcast_transports('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
RESET pg_exchange.join_exchange;
BEGIN;
UPDATE pg_class SET reltuples = 50000 WHERE oid IN ('bfact_1'::regclass, 'bfact_2'::regclass);
SELECT broadcast_transports('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
ROLLBACK;
SELECT broadcast_transports('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT broadcast_transports('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item WHERE f.id = 3 GROUP BY 1');
SET pg_exchange.join_exchange = broadcast;

-- partitions whose columns stand elsewhere, and have other names there; constants as keys
CREATE TABLE remote.bfact_3 AS SELECT code, day, price AS cost, qty, shop, item, id + 20000 AS id FROM remote.bfact_1 WHERE id < 500;
CREATE FOREIGN TABLE bfact_3 (code text, gone int, day date, price numeric OPTIONS (column_name 'cost'), qty int, shop int, item int, id int)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'bfact_3');
ALTER FOREIGN TABLE bfact_3 DROP COLUMN gone;
ALTER TABLE bfact ATTACH PARTITION bfact_3 FOR VALUES FROM (20001) TO (30001);
SELECT * FROM broadcast_differences('SELECT i.brand, f.day, sum(f.price), count(f.code) FROM bfact f JOIN bitem i ON i.id = f.item AND f.qty > 3 GROUP BY 1, 2');
SELECT * FROM broadcast_differences('SELECT 1 AS one, i.brand, NULL::text AS nothing, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1, 2, 3');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item WHERE i.id = 7 GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item WHERE false GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item WHERE f.item % 2 = i.id % 2 AND f.qty IS DISTINCT FROM i.id GROUP BY 1');
ALTER TABLE bfact DETACH PARTITION bfact_3;

-- the big side may be a join that servers do, of two tables or of partitions pair by pair
CREATE TABLE remote.bnote_1 AS SELECT i AS fact, i % 11 AS author, 'note ' || i % 3 AS kind FROM generate_series(1, 10000) i WHERE i % 3 > 0;
CREATE TABLE remote.bnote_2 AS SELECT i AS fact, i % 11 AS author, 'note ' || i % 3 AS kind FROM generate_series(10001, 20000) i WHERE i % 3 > 0;
CREATE TABLE bnote (kind text, fact int, author int) PARTITION BY RANGE (fact);
CREATE FOREIGN TABLE bnote_1 PARTITION OF bnote FOR VALUES FROM (1) TO (10001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'bnote_1');
CREATE FOREIGN TABLE bnote_2 PARTITION OF bnote FOR VALUES FROM (10001) TO (20001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'bnote_2');
ANALYZE bnote, bnote_1, bnote_2;
SELECT explain_stable('SELECT i.brand, n.kind, count(*) FROM bfact f JOIN bnote n ON n.fact = f.id JOIN bitem i ON i.id = f.item GROUP BY 1, 2');
SELECT * FROM broadcast_differences('SELECT i.brand, n.kind, count(*) FROM bfact f JOIN bnote n ON n.fact = f.id JOIN bitem i ON i.id = f.item GROUP BY 1, 2');
SELECT * FROM broadcast_differences('SELECT i.brand, n.author + s.rank, sum(f.price) FROM bfact f JOIN bnote n ON n.fact = f.id AND n.author < f.qty JOIN bitem i ON i.id = f.item JOIN bshop s ON s.id = n.author WHERE f.day > ''2026-01-09'' AND n.kind LIKE ''%1'' GROUP BY 1, 2');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(n.author) FROM bfact_1 f JOIN bnote_1 n ON n.fact = f.id JOIN bitem i ON i.id = f.item AND i.id > n.author GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(n.author) FROM bfact f JOIN bnote n ON n.fact = f.id AND twice(n.author) > 4 JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(n.author) FROM bfact f JOIN bnote n ON n.fact = f.shop JOIN bitem i ON i.id = f.item GROUP BY 1');

-- types of the sides' columns
CREATE TABLE remote.typed AS SELECT i AS id, i % 9 AS k, i % 5 = 0 AS b, i::int2 AS i2, i::int8 AS i8, (i / 3.0)::float4 AS f4, i / 7.0::float8 AS f8,
	(i * 1.5)::numeric(9,3) AS n, 'v' || i AS t, ('c' || i % 4)::char(6) AS c, ('vc' || i)::varchar(9) AS v, ('n' || i)::name AS nm, i::text::bytea AS y,
	date '2026-01-01' + i AS d, time '10:00' + i * interval '1 min' AS tm, timestamp '2026-01-01' + i * interval '1 h' AS ts,
	timestamptz '2026-01-01 00:00 UTC' + i * interval '1 h' AS tz, md5(i::text)::uuid AS u, ARRAY[i, NULL, 2] AS a, i::text::"char" AS ch
	FROM generate_series(1, 40) i;
INSERT INTO remote.typed (id, k) VALUES (41, 1), (42, NULL);
CREATE TABLE remote.typed_often AS SELECT t.* FROM remote.typed t, generate_series(1, 50);
CREATE FOREIGN TABLE typed (id int, k int, b bool, i2 int2, i8 int8, f4 float4, f8 float8, n numeric(9,3), t text, c char(6), v varchar(9), nm name,
	y bytea, d date, tm time, ts timestamp, tz timestamptz, u uuid, a int[], ch "char")
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'typed_often');
ANALYZE typed;
SELECT attname, d.* FROM pg_attribute, broadcast_differences(format(
	'SELECT s.%I, count(*), sum(f.qty) FROM bfact f JOIN remote.typed s ON s.k = f.item GROUP BY 1', attname)) d
	WHERE attrelid = 'typed'::regclass AND attnum > 0 ORDER BY attnum;
SELECT attname, d.* FROM pg_attribute, broadcast_differences(format(
	'SELECT f.%1$I, count(s.id) FROM typed f JOIN remote.typed s ON s.%1$I = f.%1$I GROUP BY 1', attname)) d
	WHERE attrelid = 'typed'::regclass AND attnum > 0 ORDER BY attnum;

-- tables that could be aggregated before they are joined
BEGIN;
SELECT aggregate_early();
SELECT * FROM broadcast_differences('SELECT f.shop, max(i.weight), count(*) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.item, i.brand, sum(s.rank) FROM bfact f JOIN bitem i ON i.id = f.item JOIN bshop s ON s.id = f.shop GROUP BY 1, 2');
SELECT * FROM broadcast_differences('SELECT s.town, avg(i.weight) FROM bfact f LEFT JOIN bitem i ON i.id = f.item JOIN bshop s ON s.id = f.shop GROUP BY 1');
SELECT * FROM broadcast_differences('SELECT f.code, count(s.id) FROM bfact f JOIN bshop s ON s.id = f.shop WHERE f.item IN (SELECT id FROM bitem) GROUP BY 1');
COMMIT;

-- servers that cannot take the side: nothing is sent
BEGIN;
SET LOCAL pg_exchange.transport = stream;
UPDATE bfact SET qty = 7 WHERE id = 2;
SELECT broadcast_transports('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item WHERE i.id < 4 GROUP BY 1 ORDER BY 1;
ROLLBACK;
ALTER EXTENSION pg_exchange DROP FUNCTION exchange.unpack(text);
ALTER FUNCTION exchange.unpack(text) RENAME TO unpack_saved;
CREATE FUNCTION exchange.unpack(text) RETURNS SETOF record LANGUAGE plpgsql IMMUTABLE AS
	$$BEGIN RAISE WARNING 'called'; END$$;
SELECT broadcast_transports('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');
DROP FUNCTION exchange.unpack(text);
ALTER FUNCTION exchange.unpack_saved(text) RENAME TO unpack;
ALTER EXTENSION pg_exchange ADD FUNCTION exchange.unpack(text);
SELECT broadcast_transports('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');

-- cancel while the side is read, and while the fragments run; then all is as before
CREATE FUNCTION slow(i int, seconds float8) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN PERFORM pg_sleep(seconds); RETURN i; END';
\set VERBOSITY terse
SET statement_timeout = '300ms';
SELECT i.brand, sum(f.qty) FROM bfact f JOIN (SELECT brand, slow(id, 0.2) AS id FROM bitem OFFSET 0) i ON i.id = f.item GROUP BY 1;
CREATE VIEW remote.slow_fact AS SELECT id, slow(item, 0.01) AS item, qty FROM remote.bfact_1;
CREATE FOREIGN TABLE slow_fact (id int, item int, qty int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'slow_fact');
SELECT i.brand, sum(f.qty) FROM slow_fact f JOIN bitem i ON i.id = f.item GROUP BY 1;
RESET statement_timeout;
\set VERBOSITY default
SELECT comes_true($$NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'active' AND query LIKE '%unpack%')$$);
SELECT * FROM broadcast_differences('SELECT i.brand, sum(f.price) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1');

-- a subquery that locks rows is planned once; backslashes, whatever a server takes them for
SELECT count(*) FROM (SELECT * FROM bitem FOR UPDATE) i JOIN bfact f ON f.item = i.id;
SELECT count(*) FROM bfact WHERE item IN (SELECT id FROM bitem FOR UPDATE);
PREPARE by_code(text) AS SELECT i.brand, count(*) FILTER (WHERE f.code = $1), count(*) FILTER (WHERE f.code <> $1) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1 ORDER BY 1 LIMIT 2;
EXPLAIN (COSTS OFF) EXECUTE by_code('code 7');
EXECUTE by_code('code 7');
EXPLAIN (COSTS OFF) EXECUTE by_code(E'\\'' OR true) --');
EXECUTE by_code(E'\\'' OR true) --');
SET client_min_messages = error;
DO $$ BEGIN SET standard_conforming_strings = off; EXCEPTION WHEN OTHERS THEN NULL; END $$;	-- not since 19
EXECUTE by_code('code 7');
EXECUTE by_code('co\\de 7');
RESET standard_conforming_strings;
RESET client_min_messages;
DEALLOCATE by_code;

-- errors name the server; JSON
SELECT i.brand, sum(1 / (f.shop - i.id)) FROM bfact_1 f JOIN bitem i ON i.id = f.item GROUP BY 1;
CREATE FUNCTION explain_json(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan;
END
$$;
SELECT jsonb_path_query_array(plan, 'strict $.**."Exchange Type"') AS types, jsonb_path_query(plan, 'strict $.**."Keys"') AS keys,
	jsonb_array_length(jsonb_path_query_first(plan, 'strict $.**."Sent"')) AS sent,
	jsonb_path_query_array(plan, 'strict $.**."Sent Rows"') AS rows
FROM explain_json('SELECT i.brand, sum(f.qty) FROM bfact f JOIN bitem i ON i.id = f.item GROUP BY 1') plan;

-- compressed as the mode for the server says, and never for a local server
CREATE TABLE bnames AS SELECT i AS id, 'a rather long name of number ' || i % 300 AS name FROM generate_series(1, 3000) i;
ANALYZE bnames;
CREATE FUNCTION side_bytes(mode text, scope text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('pg_exchange.compression', mode, true), set_config('pg_exchange.local_scope', scope, true);
	RETURN (SELECT jsonb_path_query_first(plan, 'strict $.**."Sent Bytes"') FROM
		explain_json('SELECT n.name, sum(f.qty) FROM bfact f JOIN bnames n ON n.id = f.item GROUP BY 1') plan);
END
$$;
SELECT side_bytes('none', 'none') > 100000 AS plain, side_bytes('fast', 'none') < 40000 AS fast, side_bytes('high_compression', 'none') < 40000 AS high,
	side_bytes('auto', 'none') < 60000 AS auto, side_bytes('high_compression', 'host') > 100000 AS local;
DROP TABLE bnames;
-- a side has no more columns than a list of column definitions
DO $$
BEGIN
	EXECUTE (SELECT 'CREATE TABLE bwide_a AS SELECT k, ' || string_agg('1 AS a' || i, ', ') || ' FROM generate_series(0, 6) k' FROM generate_series(1, 800) i);
	EXECUTE (SELECT 'CREATE TABLE bwide_b AS SELECT k, ' || string_agg('1 AS b' || i, ', ') || ' FROM generate_series(0, 6) k' FROM generate_series(1, 800) i);
END
$$;
ANALYZE bwide_a, bwide_b;
SELECT n + 802 AS columns, d.* FROM generate_series(798, 799) n,
	LATERAL broadcast_differences('SELECT count(*), sum(f.shop + a.' || (SELECT string_agg('a' || i, ' + a.') FROM generate_series(1, 800) i) ||
		' + b.' || (SELECT string_agg('b' || i, ' + b.') FROM generate_series(1, n) i) ||
		') FROM bfact f JOIN bwide_a a ON a.k = f.shop JOIN bwide_b b ON b.k = a.k') d;
DROP TABLE bwide_a, bwide_b;
RESET pg_exchange.join_exchange;
-- not of rows that are so few that postgres_fdw reads them
DO $$
BEGIN
	EXECUTE format('CREATE SERVER loopback_b FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
		current_database(), split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback_b;
CREATE TABLE bsplit (LIKE bfact) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE bsplit_1 PARTITION OF bsplit FOR VALUES FROM (1) TO (10001) SERVER loopback OPTIONS (schema_name 'remote', table_name 'bfact_1');
CREATE FOREIGN TABLE bsplit_2 PARTITION OF bsplit FOR VALUES FROM (10001) TO (20001) SERVER loopback_b OPTIONS (schema_name 'remote', table_name 'bfact_2');
ANALYZE bsplit;
UPDATE pg_class SET reltuples = 500000, relpages = 10000 WHERE relname ~ '^bsplit_[12]$';
SET pg_exchange.min_bytes = '64kB';
SELECT count(*) AS broadcasts FROM explain_stable('SELECT count(*) FROM bsplit f JOIN bshop s ON s.id = f.shop WHERE f.item = 5 AND f.qty = 5') line WHERE line ~ 'ExchangeBroadcast';
SELECT count(*) AS broadcasts FROM explain_stable('SELECT count(*) FROM bsplit f JOIN bshop s ON s.id = f.shop WHERE f.item < 100') line WHERE line ~ 'ExchangeBroadcast';
RESET pg_exchange.min_bytes;
DROP TABLE bsplit;
DROP SERVER loopback_b CASCADE;
