--
-- ExchangeLookup: joins that send the keys of one side to the tables of the
-- other.
--
-- filters would do as well
SET pg_exchange.runtime_filters = off;

CREATE TABLE remote.detail AS
	SELECT i AS id, i % 4000 AS head, i % 40 AS kind, 'row ' || i AS note, (i % 1000) / 10.0 AS amount,
		timestamptz '2026-01-01 00:00 UTC' + (i % 5000) * interval '1 hour' AS at,
		CASE WHEN i % 3 > 0 THEN 'code ' || i % 2500 END AS code
	FROM generate_series(1, 20000) i;
CREATE FOREIGN TABLE detail (id int, head int, kind int, note text, amount numeric, at timestamptz, code text)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'detail');
ANALYZE detail;
CREATE TABLE head AS
	SELECT i AS id, i::bigint * 10 AS big, CASE WHEN i % 5 > 0 THEN i END AS maybe, 'code ' || i AS code, i / 10.0 AS amount,
		timestamptz '2026-01-01 01:00 Europe/Berlin' + i * interval '1 day' AS at, i % 2 = 0 AS even
	FROM generate_series(1, 100) i;
ANALYZE head;

--
-- Rows of a query as text, without lookups and with as many as there can be;
-- counts what differs both ways, and the lookups.
--
CREATE FUNCTION lookup_differences(query text)
RETURNS TABLE (rows bigint, without_only bigint, with_only bigint, lookups bigint)
LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL pg_exchange.lookup_joins = off;
	EXECUTE format('CREATE TEMP TABLE without AS SELECT t::text AS row FROM (%s) t', query);
	SET LOCAL pg_exchange.lookup_joins = on;
	SET LOCAL enable_hashjoin = off;
	SET LOCAL enable_mergejoin = off;
	EXECUTE format('CREATE TEMP TABLE by_lookup AS SELECT t::text AS row FROM (%s) t', query);
	SELECT count(*) INTO rows FROM by_lookup;
	SELECT count(*) INTO without_only FROM (TABLE without EXCEPT ALL TABLE by_lookup) x;
	SELECT count(*) INTO with_only FROM (TABLE by_lookup EXCEPT ALL TABLE without) x;
	SELECT count(*) INTO lookups FROM explain_stable(query) line WHERE line ~ 'ExchangeLookup';
	DROP TABLE without, by_lookup;
	SET LOCAL enable_hashjoin = on;
	SET LOCAL enable_mergejoin = on;
	RETURN NEXT;
END
$$;

SELECT explain_stable('SELECT h.id, d.note FROM head h JOIN detail d ON d.head = h.id', 'COSTS OFF, VERBOSE');
SELECT explain_stable('SELECT h.id, d.note FROM head h JOIN detail d ON d.head = h.id WHERE h.even AND h.id + d.kind > 50',
					  'COSTS OFF, ANALYZE, TIMING OFF');

-- the same rows as by postgres_fdw; keys of several types, and nulls
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON d.head = h.id');
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON d.head = h.maybe');
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON h.big = d.id');
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON d.code = h.code');
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON d.at = h.at');
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON d.amount = h.amount AND h.id < 9');
-- two keys; a key and other quals
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON d.head = h.id AND d.code = h.code');
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON d.head = h.id AND d.kind + 30 > h.id WHERE d.id > h.big');
-- keys that look different but are equal; a collation, a domain, an enum
SELECT * FROM lookup_differences('SELECT h.n, d FROM (VALUES (1.0), (1.00), (2.5)) h(n) JOIN detail d ON d.amount = h.n');
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON d.code = h.code COLLATE "C"');
SELECT * FROM lookup_differences('SELECT h.code, d FROM (SELECT code::varchar(20) FROM head) h JOIN detail d ON d.code = h.code');
-- a key is an expression
SELECT * FROM lookup_differences('SELECT h, d FROM head h JOIN detail d ON d.head = h.id + 1000');
SELECT * FROM lookup_differences('SELECT h, d FROM (SELECT DISTINCT id / 7 AS k, even FROM head) h JOIN detail d ON d.head = h.k');

-- outer rows without a match
SELECT explain_stable('SELECT h.id, d.note FROM head h LEFT JOIN detail d ON d.head = h.maybe AND d.id > 10000');
SELECT * FROM lookup_differences('SELECT h, d FROM head h LEFT JOIN detail d ON d.head = h.maybe AND d.id > 19000');
SELECT * FROM lookup_differences('SELECT h, d FROM head h LEFT JOIN detail d ON d.head = h.maybe AND h.even');
SELECT * FROM lookup_differences('SELECT h, d FROM head h LEFT JOIN detail d ON d.head = h.maybe WHERE d.id IS NULL OR d.kind + 30 > h.id');
SELECT * FROM lookup_differences('SELECT h, d.n FROM head h LEFT JOIN (SELECT head, coalesce(code, ''none'') AS n FROM detail) d ON d.head = h.maybe');
SELECT * FROM lookup_differences('SELECT h, d, e FROM head h LEFT JOIN detail d ON d.id = h.maybe LEFT JOIN detail e ON e.id = d.head + h.id');
SELECT explain_stable('SELECT * FROM head h WHERE NOT EXISTS (SELECT FROM detail d WHERE d.id = h.maybe * 1000)');
SELECT * FROM lookup_differences('SELECT * FROM head h WHERE NOT EXISTS (SELECT FROM detail d WHERE d.id = h.maybe * 1000)');
SELECT * FROM lookup_differences('SELECT * FROM head h LEFT JOIN detail d ON d.id = h.maybe * 1000 WHERE d.id IS NULL');
SELECT explain_stable('SELECT * FROM head h WHERE EXISTS (SELECT FROM detail d WHERE d.head = h.maybe AND d.kind > h.id)');
SELECT * FROM lookup_differences('SELECT * FROM head h WHERE EXISTS (SELECT FROM detail d WHERE d.head = h.maybe AND d.kind + 40 > h.id)');
SELECT * FROM lookup_differences('SELECT * FROM head h WHERE maybe IN (SELECT id FROM detail)');
-- the foreign table is the one whose rows are wanted
SELECT explain_stable('SELECT d.note FROM detail d WHERE d.head IN (SELECT id / 2 FROM head)');
SELECT * FROM lookup_differences('SELECT * FROM detail d WHERE d.head IN (SELECT id / 2 FROM head)');

-- several batches: there is little memory for outer rows
CREATE TABLE many AS SELECT i AS id, i % 100 AS head, repeat('x', 200) AS filler FROM generate_series(1, 2000) i;
ANALYZE many;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT explain_stable('SELECT m.id, d.note FROM many m LEFT JOIN detail d ON d.id = m.id AND m.head > 50', 'COSTS OFF, ANALYZE, TIMING OFF');
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT * FROM lookup_differences('SELECT m.id, d FROM many m LEFT JOIN detail d ON d.id = m.id AND m.head > 50');
SELECT * FROM lookup_differences('SELECT m.id FROM many m WHERE NOT EXISTS (SELECT FROM detail d WHERE d.id = m.id AND d.kind <> 7)');
SELECT * FROM lookup_differences('SELECT m.id, d FROM many m JOIN detail d ON d.id = m.head');
-- so few rows of each batch that they would be kept for a rescan with the same keys
SELECT * FROM lookup_differences('SELECT m.id, d FROM many m JOIN detail d ON d.id = m.id AND d.kind = 7');
RESET work_mem;
RESET hash_mem_multiplier;

-- a LIMIT ends the join: first a small batch
SELECT explain_stable('SELECT m.id, d.note FROM many m JOIN detail d ON d.id = m.id LIMIT 5', 'COSTS OFF, ANALYZE, TIMING OFF');
SELECT count(*) FROM (SELECT m.id, d.note FROM many m JOIN detail d ON d.id = m.id LIMIT 150) x;

-- partitions, on the server and here; inheritance; UNION ALL
CREATE TABLE section (id int, k int, v text) PARTITION BY RANGE (id);
CREATE TABLE remote.section_1 AS SELECT i AS id, i % 5000 AS k, 'v' || i AS v FROM generate_series(0, 9999) i;
CREATE TABLE remote.section_2 (v text, gone int, k int, id int);
ALTER TABLE remote.section_2 DROP COLUMN gone;
INSERT INTO remote.section_2 SELECT 'v' || i, i % 5000, i FROM generate_series(10000, 19999) i;
CREATE FOREIGN TABLE section_1 PARTITION OF section FOR VALUES FROM (0) TO (10000) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE section_2 (v text, gone int, k int, id int) SERVER loopback OPTIONS (schema_name 'remote');
ALTER FOREIGN TABLE section_2 DROP COLUMN gone;
ALTER TABLE section ATTACH PARTITION section_2 FOR VALUES FROM (10000) TO (20000);
CREATE TABLE section_3 PARTITION OF section FOR VALUES FROM (20000) TO (21000);
INSERT INTO section SELECT i, i % 5000, 'v' || i FROM generate_series(20000, 20999) i;
ANALYZE section, section_1, section_2, section_3;
SELECT explain_stable('SELECT h.id, p.v FROM head h JOIN section p ON p.k = h.id', 'COSTS OFF, VERBOSE');
SELECT * FROM lookup_differences('SELECT h, p FROM head h JOIN section p ON p.k = h.id');
SELECT * FROM lookup_differences('SELECT h, p FROM head h LEFT JOIN section p ON p.k = h.maybe AND p.id < 10000');
SELECT * FROM lookup_differences('SELECT p.tableoid::regclass, p FROM section p WHERE p.k IN (SELECT maybe FROM head)');
CREATE VIEW both_kinds AS SELECT head AS k, note FROM detail UNION ALL SELECT k, v FROM section_2;
SELECT explain_stable('SELECT h.id, b.note FROM head h JOIN both_kinds b ON b.k = h.id');
SELECT * FROM lookup_differences('SELECT h, b FROM head h JOIN both_kinds b ON b.k = h.id');

-- rescans, with other parameters; prepared statements; a cursor
SELECT h.id, (SELECT count(*) FROM head g JOIN detail d ON d.head = g.id WHERE g.id % 10 = h.id) FROM head h WHERE h.id <= 3 ORDER BY 1;
SELECT h.id, s.n FROM generate_series(1, 2) h(id), LATERAL (SELECT count(d.note) AS n FROM head g LEFT JOIN detail d ON d.head = g.id OFFSET 0) s;
SET plan_cache_mode = force_generic_plan;
PREPARE details(int) AS SELECT count(*), max(d.id) FROM head h JOIN detail d ON d.head = h.id WHERE h.id <= $1;
EXECUTE details(2);
EXECUTE details(20);
DEALLOCATE details;
RESET plan_cache_mode;
BEGIN;
DECLARE pairs CURSOR FOR SELECT h.id, d.id FROM head h JOIN detail d ON d.head = h.id ORDER BY 2;
FETCH 2 FROM pairs;
SAVEPOINT s;
FETCH 1 FROM pairs;
ROLLBACK TO s;
FETCH 1 FROM pairs;
ROLLBACK;

SELECT * FROM transport('SELECT h.id, d.note FROM head h JOIN detail d ON d.head = h.id');
SET pg_exchange.transport = session;
SELECT * FROM lookup_differences('SELECT h, p FROM head h LEFT JOIN section p ON p.k = h.maybe');
RESET pg_exchange.transport;
SELECT transport('SELECT h.id, (SELECT count(*) FROM head g JOIN detail d ON d.head = g.id WHERE g.id % 10 = h.id) FROM head h WHERE h.id <= 3');

-- nested
SELECT * FROM lookup_differences('SELECT h.id, d, p FROM head h JOIN detail d ON d.head = h.id JOIN section p ON p.id = d.id WHERE h.id < 20');

-- tables that could be aggregated before they are joined
BEGIN;
SELECT aggregate_early();
SELECT * FROM lookup_differences('SELECT d.kind, sum(m.id), count(*) FROM many m JOIN detail d ON d.id = m.head GROUP BY 1');
SELECT * FROM lookup_differences('SELECT d.kind, m.head, avg(m.id / 2.0) FROM many m LEFT JOIN detail d ON d.id = m.head AND d.kind > 20 GROUP BY 1, 2');
SELECT * FROM lookup_differences('SELECT h.even, d.kind, sum(m.id) FROM many m JOIN head h ON h.id = m.head JOIN detail d ON d.id = m.head GROUP BY 1, 2');
SELECT * FROM lookup_differences('SELECT m.head, sum(m.id) FROM many m WHERE m.head IN (SELECT d.head FROM detail d) GROUP BY 1');
COMMIT;

-- not for volatile quals, rows that are locked, or where rows are protected
CREATE FUNCTION has_lookup(query text) RETURNS bool LANGUAGE sql AS
$$ SELECT bool_or(line ~ 'ExchangeLookup') FROM explain_stable(query) line $$;
SELECT has_lookup('SELECT h.id, d.note FROM head h JOIN detail d ON d.head = h.id');
SELECT has_lookup('SELECT h.id, d.note FROM head h JOIN detail d ON d.head = h.id AND random() < 2');
SELECT has_lookup('SELECT h.id, d.note FROM head h JOIN detail d ON d.head = h.id FOR UPDATE OF h');
SELECT has_lookup('SELECT h.id, d.note FROM head h, (SELECT * FROM detail WHERE random() < 2) d WHERE d.head = h.id');
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM detail WHERE kind < 30;
SELECT has_lookup('SELECT h.id, d.note FROM head h JOIN barrier d ON d.head = h.id');
SELECT has_lookup('SELECT h.id, d.note FROM head h FULL JOIN detail d ON d.head = h.id');
SELECT has_lookup('SELECT m.id, d.note FROM (SELECT generate_series(1, 4000) AS id) m JOIN detail d ON d.head = m.id');
SET pg_exchange.lookup_joins = off;
SELECT has_lookup('SELECT h.id, d.note FROM head h JOIN detail d ON d.head = h.id');
RESET pg_exchange.lookup_joins;

-- the server uses an index on the keys, however many there are
CREATE TABLE remote.many_keys AS SELECT i % 20000 AS key FROM generate_series(1, 100000) i;
CREATE INDEX ON remote.many_keys (key);
VACUUM (ANALYZE) remote.many_keys;
CREATE FUNCTION scans_below_send(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT exchange.send(''version=1 encodings=1 codec=none level=0 batch_rows=4096 batch_bytes=1048576 server_version=150000 columns=23:-1'', t.*) FROM ('
		|| query || ') t' LOOP
		IF line ~ ' Scan ' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
SELECT scans_below_send(format('SELECT * FROM (SELECT key FROM remote.many_keys) k(c1) WHERE exchange.may_match(ROW(c1, NULL::integer, %L::integer[]), -1)', array_agg(i))) FROM generate_series(1, 5000) i;

-- a cursor's batches, whose keys are freed while a session's request for their
-- rows waits for its turn (make check-assert shows what is read then)
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE FUNCTION found_in_loop() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n bigint := 0;
BEGIN
	FOR r IN SELECT s.id FROM section s WHERE s.k < 300 AND EXISTS (SELECT FROM section q WHERE q.id = s.id) LOOP
		n := n + 1;
	END LOOP;
	RETURN n;
END $$;
SELECT has_lookup('SELECT s.id FROM section s WHERE s.k < 300 AND EXISTS (SELECT FROM section q WHERE q.id = s.id)');
SELECT found_in_loop();
SET pg_exchange.enabled = off;
SELECT found_in_loop();
RESET pg_exchange.enabled;
RESET enable_hashjoin;
RESET enable_mergejoin;
DROP FUNCTION found_in_loop;

DROP TABLE head, many, section CASCADE;
DROP FOREIGN TABLE detail CASCADE;
DROP FUNCTION has_lookup, lookup_differences, scans_below_send;
DROP TABLE remote.detail, remote.section_1, remote.section_2, remote.many_keys;
