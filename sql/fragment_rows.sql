--
-- Joins on the servers whose rows are wanted, and outer joins, semijoins and
-- antijoins there.
--
DO $$
BEGIN
	EXECUTE format('CREATE SERVER loopback_rows FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
				   current_database(), split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback_rows;
CREATE TABLE remote.rfact_1 AS
	SELECT i AS id, CASE WHEN i % 9 > 0 THEN i % 200 END AS item, i % 7 AS shop, i % 50 AS qty,
		CASE WHEN i % 3 > 0 THEN 'code ' || i % 40 END AS code
	FROM generate_series(1, 3000) i;
CREATE TABLE remote.rfact_2 AS
	SELECT i AS id, CASE WHEN i % 9 > 0 THEN i % 200 END AS item, i % 7 AS shop, i % 50 AS qty,
		CASE WHEN i % 3 > 0 THEN 'code ' || i % 40 END AS code
	FROM generate_series(3001, 6000) i;
CREATE TABLE rfact (id int, item int, shop int, qty int, code text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE rfact_1 PARTITION OF rfact FOR VALUES FROM (1) TO (3001)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'rfact_1');
CREATE FOREIGN TABLE rfact_2 PARTITION OF rfact FOR VALUES FROM (3001) TO (6001)
	SERVER loopback_rows OPTIONS (schema_name 'remote', table_name 'rfact_2');
-- the same rows by another key: no partition-wise join
CREATE TABLE remote.rpart_1 AS SELECT * FROM remote.rfact_1 WHERE qty < 25 UNION ALL SELECT * FROM remote.rfact_2 WHERE qty < 25;
CREATE TABLE remote.rpart_2 AS SELECT * FROM remote.rfact_1 WHERE qty >= 25 UNION ALL SELECT * FROM remote.rfact_2 WHERE qty >= 25;
CREATE TABLE rpart (id int, item int, shop int, qty int, code text) PARTITION BY RANGE (qty);
CREATE FOREIGN TABLE rpart_1 PARTITION OF rpart FOR VALUES FROM (0) TO (25)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'rpart_1');
CREATE FOREIGN TABLE rpart_2 PARTITION OF rpart FOR VALUES FROM (25) TO (50)
	SERVER loopback_rows OPTIONS (schema_name 'remote', table_name 'rpart_2');
ANALYZE rfact, rfact_1, rfact_2, rpart, rpart_1, rpart_2;
CREATE TABLE ritem AS
	SELECT CASE WHEN i % 10 > 0 THEN i END AS id, 'brand ' || i % 6 AS brand, 'code ' || i % 50 AS code, i % 5 AS rank, i % 2 = 0 AS even
	FROM generate_series(1, 60) i UNION ALL SELECT i, 'again', NULL, i, NULL FROM generate_series(1, 10) i;
CREATE TABLE rshop AS SELECT i AS id, 'town ' || i % 3 AS town, i AS rank FROM generate_series(1, 5) i;
ANALYZE ritem, rshop;

--
-- Rows of a query as text: counts what differs without fragments, by broadcast
-- and by hash partition, and how often these are in the plans.
--
CREATE FUNCTION fragment_differences(query text)
RETURNS TABLE (rows bigint, broadcasts bigint, differences bigint, partitions bigint, differences_by_hash bigint)
LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL pg_exchange.join_exchange = off;
	EXECUTE format('CREATE TEMP TABLE without AS SELECT t::text AS row FROM (%s) t', query);
	SELECT count(*) INTO rows FROM without;
	SET LOCAL pg_exchange.join_exchange = broadcast;
	EXECUTE format('CREATE TEMP TABLE joined AS SELECT t::text AS row FROM (%s) t', query);
	SELECT count(*) INTO broadcasts FROM explain_stable(query) line WHERE line ~ 'ExchangeBroadcast';
	SELECT count(*) INTO differences FROM ((TABLE without EXCEPT ALL TABLE joined) UNION ALL (TABLE joined EXCEPT ALL TABLE without)) x;
	DROP TABLE joined;
	SET LOCAL pg_exchange.join_exchange = hash_partition;
	EXECUTE format('CREATE TEMP TABLE joined AS SELECT t::text AS row FROM (%s) t', query);
	SELECT count(*) INTO partitions FROM explain_stable(query) line WHERE line ~ 'ExchangeHashPartition';
	SELECT count(*) INTO differences_by_hash FROM ((TABLE without EXCEPT ALL TABLE joined) UNION ALL (TABLE joined EXCEPT ALL TABLE without)) x;
	DROP TABLE without, joined;
	RETURN NEXT;
END
$$;

SET pg_exchange.join_exchange = broadcast;
SELECT explain_stable('SELECT f.id, f.qty, i.brand FROM rfact f JOIN ritem i ON i.id = f.item WHERE f.qty < i.rank', 'COSTS OFF, VERBOSE');
SELECT f.id, f.qty, i.brand FROM rfact f JOIN ritem i ON i.id = f.item WHERE f.qty < i.rank + 3 ORDER BY 1, 3 LIMIT 3;
SELECT explain_stable('SELECT f.id, i.rank FROM rfact f LEFT JOIN ritem i ON i.id = f.item AND i.even AND f.qty > 3 WHERE i.rank IS NULL OR i.rank > 2', 'COSTS OFF, VERBOSE');
SELECT explain_stable('SELECT count(*) FROM rfact f WHERE EXISTS (SELECT FROM ritem i WHERE i.id = f.item AND i.rank > f.qty)', 'COSTS OFF, VERBOSE');
SELECT explain_stable('SELECT f.shop, count(*) FROM rfact f LEFT JOIN rshop s ON s.id = f.shop WHERE NOT EXISTS (SELECT FROM ritem i WHERE i.id = f.item) GROUP BY 1', 'COSTS OFF, VERBOSE');
RESET pg_exchange.join_exchange;

-- rows of inner joins, and what stands above
SELECT * FROM fragment_differences('SELECT * FROM rfact f JOIN ritem i ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT f.id, s.town, i.brand FROM rfact f JOIN ritem i ON i.id = f.item JOIN rshop s ON s.id = f.shop AND s.rank < f.qty');
SELECT * FROM fragment_differences('SELECT f.id + i.rank AS x, upper(i.brand) FROM rfact f JOIN ritem i ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT DISTINCT f.shop, i.brand FROM rfact f JOIN ritem i ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f JOIN ritem i ON i.id = f.item ORDER BY i.brand, f.id, i.rank LIMIT 20');
SELECT * FROM fragment_differences('SELECT f.id, rank() OVER (PARTITION BY i.brand ORDER BY f.qty) FROM rfact f JOIN ritem i ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT i.brand, string_agg(f.code, '','' ORDER BY f.id, i.code) FROM rfact f JOIN ritem i ON i.id = f.item GROUP BY 1');
SELECT * FROM fragment_differences('SELECT i.brand, f.shop, count(DISTINCT f.qty) FROM rfact f JOIN ritem i ON i.id = f.item GROUP BY ROLLUP (1, 2)');
SELECT * FROM fragment_differences('SELECT f.id, i.brand, generate_series(1, 2) FROM rfact f JOIN ritem i ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT f.id, p.code FROM rfact f JOIN rpart p ON p.id = f.id WHERE f.shop = 3');
SELECT * FROM fragment_differences('SELECT f.id, p.code, i.brand FROM rfact f JOIN rpart p ON p.id = f.item JOIN ritem i ON i.id = p.item');
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f JOIN ritem i ON i.id = f.item WHERE f.id = 7');
SELECT * FROM fragment_differences('SELECT x.id, s.town FROM (SELECT f.id, f.shop FROM rfact f JOIN ritem i ON i.id = f.item OFFSET 0) x JOIN rshop s ON s.id = x.shop');
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f JOIN ritem i ON i.id = f.item UNION ALL SELECT f.id, s.town FROM rfact f JOIN rshop s ON s.id = f.shop');

-- outer joins: rows without a match, null keys, conditions of ON and of WHERE
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f LEFT JOIN ritem i ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM ritem i RIGHT JOIN rfact f ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f LEFT JOIN ritem i ON i.id = f.item AND i.even AND f.qty > 30');
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f LEFT JOIN ritem i ON i.id = f.item AND i.rank + f.qty > 20 WHERE i.even IS NOT TRUE AND f.qty < 40');
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f LEFT JOIN ritem i ON i.id = f.item WHERE i.code IS NULL OR i.rank > f.shop');
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f LEFT JOIN ritem i ON i.id = f.item WHERE f.item IN (7, 9)');
SELECT * FROM fragment_differences('SELECT f.id, i.brand, s.town FROM rfact f LEFT JOIN ritem i ON i.id = f.item LEFT JOIN rshop s ON s.id = f.shop WHERE s.rank IS DISTINCT FROM i.rank');
SELECT * FROM fragment_differences('SELECT f.id, i.brand, s.town FROM rfact f LEFT JOIN ritem i ON i.id = f.item LEFT JOIN rshop s ON s.id = i.rank');
SELECT * FROM fragment_differences('SELECT f.id, i.brand, s.town FROM rfact f LEFT JOIN (ritem i JOIN rshop s ON s.id = i.rank) ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT f.id, i.brand, s.town FROM rfact f LEFT JOIN ritem i ON i.id = f.item JOIN rshop s ON s.id = f.shop AND (i.rank IS NULL OR s.rank < i.rank)');
SELECT * FROM fragment_differences('SELECT f.id, i.brand, s.town FROM rfact f JOIN ritem i ON i.id = f.item LEFT JOIN rshop s ON s.id = coalesce(i.rank, f.shop)');
SELECT * FROM fragment_differences('SELECT i.brand, count(*), count(i.id), sum(f.qty) FROM rfact f LEFT JOIN ritem i ON i.id = f.item GROUP BY 1');
SELECT * FROM fragment_differences('SELECT f.id, p.code FROM rfact f LEFT JOIN rpart p ON p.id = f.item');
SELECT * FROM fragment_differences('SELECT f.qty, count(p.id), count(*) FROM rfact f LEFT JOIN rpart p ON p.id = f.id AND p.shop < 4 GROUP BY 1');
SELECT * FROM fragment_differences('SELECT f.id, p.code FROM rpart f LEFT JOIN rfact p ON p.id = f.item');
SELECT * FROM fragment_differences('SELECT f.id, p.code, i.brand FROM rfact f JOIN rpart p ON p.id = f.item LEFT JOIN ritem i ON i.id = p.item');

-- semijoins and antijoins
SELECT * FROM fragment_differences('SELECT f.id FROM rfact f WHERE f.item IN (SELECT id FROM ritem)');
SELECT * FROM fragment_differences('SELECT f.id FROM rfact f WHERE EXISTS (SELECT FROM ritem i WHERE i.id = f.item AND i.rank < f.qty)');
SELECT * FROM fragment_differences('SELECT f.id FROM rfact f WHERE EXISTS (SELECT FROM ritem i JOIN rshop s ON s.id = i.rank WHERE i.id = f.item)');
SELECT * FROM fragment_differences('SELECT f.id FROM rfact f WHERE NOT EXISTS (SELECT FROM ritem i WHERE i.id = f.item)');
SELECT * FROM fragment_differences('SELECT f.id, f.item FROM rfact f WHERE NOT EXISTS (SELECT FROM ritem i WHERE i.id = f.item AND i.rank < f.qty AND i.even)');
SELECT * FROM fragment_differences('SELECT f.id FROM rfact f LEFT JOIN ritem i ON i.id = f.item WHERE i.id IS NULL');
SELECT * FROM fragment_differences('SELECT f.id, i.id FROM rfact f LEFT JOIN ritem i ON i.id = f.item WHERE i.id IS NULL');
SELECT * FROM fragment_differences('SELECT f.shop, count(*) FROM rfact f WHERE f.item IN (SELECT id FROM ritem WHERE even) AND NOT EXISTS (SELECT FROM rshop s WHERE s.id = f.shop AND s.rank < 3) GROUP BY 1');
SELECT * FROM fragment_differences('SELECT f.id, i.brand, s.town FROM rfact f JOIN ritem i ON i.id = f.item LEFT JOIN rshop s ON s.id = f.shop WHERE EXISTS (SELECT FROM ritem j WHERE j.id = f.qty AND j.rank > i.rank)');
SELECT * FROM fragment_differences('SELECT f.id FROM rfact f WHERE EXISTS (SELECT FROM rpart p WHERE p.id = f.item AND p.shop = f.shop)');
SELECT * FROM fragment_differences('SELECT count(*) FROM rpart f WHERE EXISTS (SELECT FROM rfact p WHERE p.id = f.item)');
SELECT * FROM fragment_differences('SELECT count(*) FROM rfact f WHERE NOT EXISTS (SELECT FROM rpart p WHERE p.id = f.item AND p.shop < 5)');
SELECT * FROM fragment_differences('SELECT count(*), sum(qty) FROM rpart f WHERE NOT EXISTS (SELECT FROM rfact p WHERE p.id = f.item)');

CREATE FOREIGN TABLE rother (id int, item int, qty int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'rother');
CREATE FOREIGN TABLE rsame (id int, item int, qty int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'rfact_1');
CREATE TABLE remote.rother AS SELECT id::text AS id, item, qty FROM remote.rfact_1, generate_series(1, 20);
ANALYZE rother, rsame;
-- a column that equals one of EXISTS is not taken from there
SELECT * FROM fragment_differences('SELECT f.id, s.town FROM rfact f JOIN rshop s ON s.id = f.item WHERE EXISTS (SELECT FROM ritem i WHERE i.id = f.item)');
SELECT * FROM fragment_differences('SELECT f.id FROM rfact f WHERE EXISTS (SELECT FROM ritem i WHERE i.id = f.item) AND EXISTS (SELECT FROM rshop s WHERE s.id = f.item)');
-- the big side may be such joins of partitions, pair by pair, that their servers do
SET pg_exchange.join_exchange = broadcast;
SELECT explain_stable('SELECT f.id, i.brand FROM rfact f JOIN ritem i ON i.id = f.item WHERE EXISTS (SELECT FROM rfact g WHERE g.id = f.id AND g.shop < f.qty)');
RESET pg_exchange.join_exchange;
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f JOIN ritem i ON i.id = f.item WHERE EXISTS (SELECT FROM rfact g WHERE g.id = f.id AND g.shop < f.qty)');
SELECT * FROM fragment_differences('SELECT i.brand, count(*) FROM rfact f JOIN ritem i ON i.id = f.item WHERE NOT EXISTS (SELECT FROM rfact g WHERE g.id = f.id AND g.shop > f.qty) GROUP BY 1');
SELECT * FROM fragment_differences('SELECT f.id, g.code, i.brand FROM rfact f LEFT JOIN rfact g ON g.id = f.id AND g.shop > 3 JOIN ritem i ON i.id = f.item');
-- a column of another type over there: the join runs here
SET pg_exchange.join_exchange = broadcast;
SELECT trim(line) AS line FROM explain_stable('SELECT f.id, i.brand FROM rsame f JOIN ritem i ON i.id = f.item WHERE NOT EXISTS (SELECT FROM rother g WHERE g.id = f.id AND g.qty <> f.qty)',
	'ANALYZE, TIMING OFF, COSTS OFF') line WHERE line ~ 'Broadcast|Not Sent';
RESET pg_exchange.join_exchange;
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rsame f JOIN ritem i ON i.id = f.item WHERE NOT EXISTS (SELECT FROM rother g WHERE g.id = f.id AND g.qty <> f.qty)');

-- not sent: full joins, the big table on the wrong side, lateral, volatile,
-- functions of users, types without a form of their own, no equality, locks,
-- subplans, recursion
CREATE FUNCTION rtwice(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN i * 2; END';
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f FULL JOIN ritem i ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM ritem i LEFT JOIN rfact f ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT i.brand FROM ritem i WHERE NOT EXISTS (SELECT FROM rfact f WHERE i.id = f.item)');
SELECT * FROM fragment_differences('SELECT f.id, x.brand FROM rfact f, LATERAL (SELECT brand FROM ritem i WHERE i.id = f.item LIMIT 1) x');
SELECT * FROM fragment_differences('SELECT f.id FROM rfact f JOIN ritem i ON i.id = f.item WHERE random() < 2');
SELECT * FROM fragment_differences('SELECT f.id FROM rfact f JOIN ritem i ON i.id = f.item AND rtwice(f.qty) > i.rank');
SELECT * FROM fragment_differences('SELECT f.id, i.r FROM rfact f JOIN (SELECT id, int4range(0, id) AS r FROM ritem OFFSET 0) i ON i.id = f.item');
SELECT * FROM fragment_differences('SELECT f.id, i.id FROM rfact f JOIN ritem i ON i.id > f.item WHERE f.id < 50');
SELECT * FROM fragment_differences('SELECT f.id, i.id FROM rfact f LEFT JOIN ritem i ON i.id = f.item AND i.code < f.code');
SELECT * FROM fragment_differences('SELECT f.id, (SELECT max(town) FROM rshop s WHERE s.id <= f.shop) FROM rfact f JOIN ritem i ON i.id = f.item');
SELECT * FROM fragment_differences('WITH RECURSIVE r(id, n) AS (SELECT 1, 0 UNION ALL SELECT f.id, n + 1 FROM r JOIN rfact f ON f.item = r.id WHERE n < 2) SELECT * FROM r');
SET pg_exchange.join_exchange = broadcast;
SELECT bool_or(line LIKE '%Broadcast%') AS sent FROM explain_stable('SELECT f.id FROM rfact f JOIN ritem i ON i.id = f.item FOR UPDATE OF i') line;
RESET pg_exchange.join_exchange;

-- cursors that go back, prepared statements, rescans, writes, both transports
SET pg_exchange.join_exchange = broadcast;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT f.id, i.brand FROM rfact_1 f JOIN ritem i ON i.id = f.item WHERE i.id IN (1, 2) AND i.code = 'code 1' AND f.id < 650;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
CLOSE c;
COMMIT;
PREPARE p(int) AS SELECT count(*) FROM (SELECT f.id FROM rfact f JOIN ritem i ON i.id = f.item AND i.rank < $1 WHERE f.shop < $1 OFFSET 0) x;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(1);
EXECUTE p(4);
RESET plan_cache_mode;
DEALLOCATE p;
SELECT s.id, x.* FROM rshop s CROSS JOIN LATERAL
	(SELECT f.id, i.brand FROM rfact f JOIN ritem i ON i.id = f.item WHERE f.shop = s.id ORDER BY f.id, i.brand LIMIT 2) x ORDER BY 1, 2, 3;
CREATE TABLE rcopy (id int, brand text);
INSERT INTO rcopy SELECT f.id, i.brand FROM rfact f LEFT JOIN ritem i ON i.id = f.item;
SELECT count(*), count(brand) FROM rcopy;
DROP TABLE rcopy;
BEGIN;
UPDATE rfact SET qty = 1000 WHERE id = 1;
INSERT INTO ritem VALUES (1, 'own', NULL, 1, NULL);
SELECT f.id, f.qty, i.brand FROM rfact f JOIN ritem i ON i.id = f.item WHERE f.id < 3 ORDER BY 1, 3;
ROLLBACK;
SET pg_exchange.transport = session;
SELECT * FROM fragment_differences('SELECT f.id, i.brand FROM rfact f LEFT JOIN ritem i ON i.id = f.item');
RESET pg_exchange.transport;
-- the join runs here if it cannot run there
CREATE TABLE rwide AS SELECT i % 200 AS id, repeat('note', 4000000) AS note FROM generate_series(1, 5) i;
ANALYZE rwide;
UPDATE pg_class SET reltuples = 10, relpages = 1 WHERE relname = 'rwide';
SELECT count(*), max(length(note)) FROM (SELECT f.id, w.note FROM rfact f JOIN rwide w ON w.id = f.item WHERE f.id < 2000 OFFSET 0) x;
DROP TABLE rwide;
-- settings may change while a side is read
CREATE FUNCTION rsetting(i int) RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF i = 3000 THEN
		PERFORM set_config('pg_exchange.compression', 'fast', true);
	END IF;
	RETURN i;
END
$$;
BEGIN;
SELECT count(*) FROM rfact f JOIN (SELECT rsetting(i) AS id FROM generate_series(1, 9000) i OFFSET 0) x ON x.id = f.id;
SHOW pg_exchange.compression;
COMMIT;
RESET pg_exchange.join_exchange;

-- who wants one row gets no error of a row that postgres_fdw has not computed
CREATE TABLE remote.rlong AS SELECT i AS id, i % 60 AS item FROM generate_series(1, 5000) i;
CREATE FOREIGN TABLE rlong (id int, item int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE TABLE rlocal AS SELECT i AS id, i AS key FROM generate_series(1, 2000) i;
ANALYZE rlong, rlocal;
CREATE FUNCTION first_of(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN EXECUTE query LOOP
		RETURN r.v;
	END LOOP;
END $$;
SET pg_exchange.join_exchange = broadcast;
SELECT first_of('SELECT 1 / (l.id - 4999) AS v FROM rlong l JOIN ritem i ON i.id = l.item');
RESET pg_exchange.join_exchange;
-- which side is read first is for the planner of each version
CREATE FUNCTION outcome(query text, enabled bool) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('pg_exchange.enabled', enabled::text, true);
	RETURN first_of(query);
EXCEPTION WHEN division_by_zero THEN
	RETURN SQLERRM;
END $$;
SELECT outcome(q, false) = outcome(q, true) AS same
FROM (VALUES ('SELECT 1 / (l.id - 1900) AS v FROM rlocal l WHERE 1 / (l.id - 1900) > -9 AND EXISTS (SELECT FROM rlong b WHERE b.id = l.key)')) q(q);
DROP TABLE rlocal, remote.rlong;
DROP FOREIGN TABLE rlong;
DROP FUNCTION first_of, outcome;

-- chosen where little comes back, not where all rows do
CREATE FUNCTION fragment_nodes(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT substring(line, '\((Exchange(?:Broadcast|HashPartition))\)') FROM explain_stable(query) line
	WHERE line ~ 'ExchangeBroadcast|ExchangeHashPartition';
$$;
BEGIN;
UPDATE pg_class SET reltuples = 50000 WHERE oid IN ('rfact_1'::regclass, 'rfact_2'::regclass);
SELECT fragment_nodes('SELECT f.id, f.code, i.brand FROM rfact f JOIN ritem i ON i.code = f.code AND f.qty + i.rank = 52');
SELECT fragment_nodes('SELECT f.id, f.code, i.brand FROM rfact f LEFT JOIN ritem i ON i.id = f.item WHERE f.qty + i.rank = 52 OR i.even IS NULL AND f.code IS NULL');
SELECT fragment_nodes('SELECT f.id, f.code FROM rfact f WHERE NOT EXISTS (SELECT FROM ritem i WHERE i.id = f.item) AND f.shop = 3');
SELECT fragment_nodes('SELECT f.*, i.brand FROM rfact f JOIN ritem i ON i.id = f.item');
ROLLBACK;
-- joined rows repeat the columns of the small side
CREATE TABLE rwide AS SELECT i AS id, i % 7 AS rank, repeat(md5(i::text), 10) AS filler FROM generate_series(1, 200) i;
ANALYZE rwide;
BEGIN;
UPDATE pg_class SET reltuples = 3000000 WHERE oid IN ('rfact_1'::regclass, 'rfact_2'::regclass);
SET LOCAL work_mem = '64kB';
SELECT fragment_nodes('SELECT f.*, w.rank FROM rfact f JOIN rwide w ON w.id = f.item');
SELECT fragment_nodes('SELECT f.*, w.rank, w.filler FROM rfact f JOIN rwide w ON w.id = f.item');
ROLLBACK;
DROP TABLE rwide;
