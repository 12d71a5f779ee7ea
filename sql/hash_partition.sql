--
-- ExchangeHashPartition: joins of two large sides on the servers, which cut
-- rows by their keys.
--
DO $$
BEGIN
	FOR i IN 1 .. 3 LOOP
		EXECUTE format('CREATE SERVER part%s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L)',
			i, current_database(), split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
		EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER part%s', i);
	END LOOP;
END
$$;

-- Make a table whose partitions are on the servers in turn.
CREATE FUNCTION spread(name text, columns text, method text, key text, VARIADIC bounds text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (%s) PARTITION BY %s (%s)', name, columns, method, key);
	FOR i IN 1 .. array_length(bounds, 1) LOOP
		EXECUTE format('CREATE TABLE remote.%I (LIKE %I)', name || i, name);
		EXECUTE format('CREATE FOREIGN TABLE %I PARTITION OF %I %s SERVER %I OPTIONS (schema_name ''remote'')', name || i, name, bounds[i], 'part' || i % 3 + 1);
	END LOOP;
END
$$;

--
-- Rows of a query as text, without exchanges of joins and by HashPartition;
-- counts what differs both ways, and tells which sides were cut.
--
CREATE FUNCTION partition_differences(query text)
RETURNS TABLE (rows bigint, without_only bigint, with_only bigint, cut text, not_sent text)
LANGUAGE plpgsql AS $$
DECLARE
	old text := current_setting('pg_exchange.join_exchange');
BEGIN
	PERFORM set_config('pg_exchange.join_exchange', 'off', false);
	EXECUTE format('CREATE TEMP TABLE without AS SELECT t::text AS row FROM (%s) t', query);
	PERFORM set_config('pg_exchange.join_exchange', 'hash_partition', false);
	EXECUTE format('CREATE TEMP TABLE by_partition AS SELECT t::text AS row FROM (%s) t', query);
	SELECT count(*) INTO rows FROM by_partition;
	SELECT count(*) INTO without_only FROM (TABLE without EXCEPT ALL TABLE by_partition) x;
	SELECT count(*) INTO with_only FROM (TABLE by_partition EXCEPT ALL TABLE without) x;
	SELECT CASE WHEN bool_or(line ~ 'inbox\(2,') THEN 'both' WHEN bool_or(line ~ 'inbox\(1,') THEN 'one' ELSE 'none' END INTO cut
		FROM explain_stable(query, 'VERBOSE') line;
	SELECT string_agg(DISTINCT substring(line, 'Not Sent: (.*)'), ', ') INTO not_sent
		FROM explain_stable(query, 'ANALYZE, TIMING OFF, COSTS OFF') line;
	DROP TABLE without, by_partition;
	PERFORM set_config('pg_exchange.join_exchange', old, false);
	RETURN NEXT;
END
$$;

-- orders by ranges of their number, with gaps; items by the hash of their own; notes by a list
CREATE TABLE remote.horder_all AS
	SELECT i AS id, i % 37 AS customer, i % 5 AS priority, 'o' || i % 600 AS code, date '2026-01-01' + i % 90 AS day, i * 0.5 AS total
	FROM generate_series(1, 1500) i WHERE i NOT BETWEEN 900 AND 999;
CREATE TABLE remote.hitem_all AS
	SELECT i AS nr, CASE WHEN i % 11 > 0 THEN i * 7 % 1600 END AS ord, i * 7 % 1600 AS ord8, i % 9 AS qty, (i % 100) / 4.0 AS price, 'o' || i % 700 AS code,
		date '2026-01-01' + i % 120 AS day
	FROM generate_series(1, 4000) i;
CREATE TABLE remote.hnote_all AS SELECT i % 2000 AS ord, i % 3 AS kind, 'note ' || i % 13 AS note FROM generate_series(1, 1200) i;
SELECT spread('horder', 'id int, customer int, priority int, code text, day date, total numeric', 'RANGE', 'id',
	'FOR VALUES FROM (MINVALUE) TO (400)', 'FOR VALUES FROM (400) TO (900)', 'FOR VALUES FROM (1000) TO (MAXVALUE)');
INSERT INTO horder TABLE remote.horder_all;
SELECT spread('hitem', 'nr int, ord int, ord8 bigint, qty int, price numeric, code text, day date', 'HASH', 'nr',
	'FOR VALUES WITH (MODULUS 3, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 3, REMAINDER 1)', 'FOR VALUES WITH (MODULUS 3, REMAINDER 2)');
INSERT INTO hitem TABLE remote.hitem_all;
SELECT spread('hnote', 'ord int, kind int, note text', 'LIST', 'kind', 'FOR VALUES IN (0)', 'FOR VALUES IN (1, 2)');
INSERT INTO hnote TABLE remote.hnote_all;
ANALYZE horder, hitem, hnote;

SET pg_exchange.join_exchange = hash_partition;
-- the side goes to the partitions that have its keys
SELECT regexp_replace(line, '\{3,\d+\}', '{3,N}') AS line
	FROM explain_stable('SELECT o.priority, sum(n.kind) FROM horder o JOIN hnote n ON n.ord = o.id WHERE n.ord > 2 GROUP BY 1', 'COSTS OFF, VERBOSE') line;
-- both sides go to where the hash says
SELECT explain_stable('SELECT o.priority, sum(i.qty) FROM hitem i JOIN horder o ON o.code = i.code GROUP BY 1', 'COSTS OFF, VERBOSE');
SELECT regexp_replace(line, '\d+ bytes', 'N bytes')
	FROM explain_stable('SELECT o.priority, sum(i.qty) FROM hitem i JOIN horder o ON o.code = i.code GROUP BY 1', 'COSTS OFF, ANALYZE, TIMING OFF') line;
SELECT o.priority, sum(i.price), count(*) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1 ORDER BY 1;
SELECT * FROM partition_differences('SELECT o.priority, sum(i.price) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1');

-- keys of other types than the partitions' key; several keys; further conditions
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord8 GROUP BY 1');
SELECT * FROM partition_differences('SELECT i.qty, max(o.total) FROM hitem i JOIN horder o ON o.id = i.ord AND o.day = i.day GROUP BY 1');
SELECT * FROM partition_differences('SELECT i.qty, max(o.total) FROM hitem i JOIN horder o ON o.id = i.ord AND o.customer > i.qty AND i.day >= ''2026-02-01'' WHERE o.priority < 4 GROUP BY 1');
SELECT * FROM partition_differences('SELECT i.nr, o.id, sum(o.total) FROM hitem i JOIN horder o ON o.day = i.day AND o.code = i.code GROUP BY 1, 2');
-- fragments have rows of other partitions than the one that they are named after
SET plan_cache_mode = force_generic_plan;
PREPARE later(int) AS SELECT count(*), count(i.nr), sum(i.qty) FROM hitem i RIGHT JOIN horder o ON o.id = i.ord WHERE o.id >= $1;
SELECT line ~ 'ExchangeHashPartition' AS cut FROM explain_stable('EXECUTE later(500)') line LIMIT 1 OFFSET 1;
EXECUTE later(500);
EXECUTE later(1200);
EXECUTE later(1);
DEALLOCATE later;
SET pg_exchange.enabled = off;
PREPARE later(int) AS SELECT count(*), count(i.nr), sum(i.qty) FROM hitem i RIGHT JOIN horder o ON o.id = i.ord WHERE o.id >= $1;
EXECUTE later(500);
EXECUTE later(1200);
EXECUTE later(1);
RESET pg_exchange.enabled;
DEALLOCATE later;
RESET plan_cache_mode;
-- partitions of neither or of the smaller side matter; a self-join
SELECT * FROM partition_differences('SELECT n.kind, count(*) FROM hitem i JOIN hnote n ON n.ord = i.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT n.note, count(*) FROM hnote n JOIN horder o ON o.id = n.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT n.note, count(*) FROM hnote n JOIN horder o ON o.code = n.note GROUP BY 1');
SELECT * FROM partition_differences('SELECT i.qty, count(*) FROM hitem i JOIN hitem j ON i.nr = j.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT i.qty, count(*) FROM hitem i JOIN hitem j ON i.price = j.price AND i.qty = j.qty GROUP BY 1');
-- three tables, of which one is sent to all servers: a local one, a foreign one, a subquery
CREATE TABLE hcustomer AS SELECT i AS id, 'town ' || i % 4 AS town FROM generate_series(0, 36) i;
ANALYZE hcustomer;
SELECT * FROM partition_differences('SELECT c.town, sum(i.price) FROM hitem i JOIN horder o ON o.id = i.ord JOIN hcustomer c ON c.id = o.customer GROUP BY 1');
SELECT * FROM partition_differences('SELECT c.town, sum(i.price) FROM hitem i JOIN horder o ON o.code = i.code JOIN hcustomer c ON c.id = i.qty GROUP BY 1');
SELECT * FROM partition_differences('SELECT n.note, sum(i.price) FROM hitem i JOIN horder o ON o.id = i.ord JOIN hnote n ON n.ord = i.nr GROUP BY 1');
SELECT * FROM partition_differences('SELECT c.id, d.id, sum(i.qty) FROM hitem i JOIN horder o ON o.code = i.code JOIN hcustomer c ON c.id = i.qty JOIN (SELECT town, max(id) AS id FROM hcustomer GROUP BY town) d ON d.id = o.priority GROUP BY 1, 2');

-- groups, aggregates and what is done above
SELECT * FROM partition_differences('SELECT count(*), sum(i.price), avg(o.total) FROM hitem i JOIN horder o ON o.id = i.ord');
SELECT * FROM partition_differences('SELECT i.qty, o.priority FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1, 2');
SELECT * FROM partition_differences('SELECT i.qty + o.priority, min(o.day), max(i.day) FROM hitem i JOIN horder o ON o.code = i.code GROUP BY 1');
SELECT * FROM partition_differences('SELECT i.qty, count(*) FILTER (WHERE o.priority > i.qty), sum(o.total) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1 HAVING count(*) > 300');
SELECT * FROM partition_differences('SELECT i.qty, count(DISTINCT o.priority) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.id, sum(i.price) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 7');
SELECT * FROM partition_differences('SELECT DISTINCT count(*) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY o.id');
SELECT * FROM partition_differences('SELECT o.priority, rank() OVER (ORDER BY sum(i.qty)) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1 UNION ALL SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.code = i.code GROUP BY 1');
SELECT * FROM partition_differences('SELECT x.n, y.n FROM (SELECT o.priority, count(*) AS n FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1) x JOIN (SELECT i.qty, count(*) AS n FROM hitem i JOIN horder o ON o.code = i.code GROUP BY 1) y ON x.priority = y.qty');

-- no rows: of a side, of either, of all; partitions that are pruned
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord WHERE i.price > 1000 GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord WHERE o.total < 0 GROUP BY 1');
SELECT * FROM partition_differences('SELECT count(*), sum(i.qty) FROM hitem i JOIN horder o ON o.code = i.code WHERE o.total < 0 AND i.price < 0');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord WHERE o.id < 600 GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord WHERE o.id < 300 OR o.id > 1200 GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord WHERE o.id < 300 GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.code = i.code WHERE i.nr IN (3, 4, 5) GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord WHERE false GROUP BY 1');
-- nearly all rows have one key
CREATE TABLE remote.hskew_all AS SELECT CASE WHEN i % 10 = 0 THEN i ELSE 7 END AS ord, i % 3 AS shop, i AS nr FROM generate_series(1, 3000) i;
SELECT spread('hskew', 'ord int, shop int, nr int', 'RANGE', 'nr', 'FOR VALUES FROM (1) TO (1500)', 'FOR VALUES FROM (1500) TO (9000)');
INSERT INTO hskew TABLE remote.hskew_all;
ANALYZE hskew;
SELECT * FROM partition_differences('SELECT o.priority, s.shop, count(*) FROM hskew s JOIN horder o ON o.id = s.ord GROUP BY 1, 2');
SELECT * FROM partition_differences('SELECT i.qty, s.shop, count(*) FROM hskew s JOIN hitem i ON i.ord = s.ord GROUP BY 1, 2');

-- hash partitions with several moduli, of which some are missing; a list; a default partition and gaps; partitions of partitions
CREATE TABLE remote.hmod_all AS SELECT i AS id, i % 6 AS kind, i % 700 AS ord FROM generate_series(1, 1500) i;
SELECT spread('hmod', 'id int, kind int, ord int', 'HASH', 'id', 'FOR VALUES WITH (MODULUS 2, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 4, REMAINDER 1)',
	'FOR VALUES WITH (MODULUS 8, REMAINDER 3)');
INSERT INTO remote.hmod1 SELECT * FROM remote.hmod_all WHERE exchange.partition_number(2, id) = 0;
INSERT INTO remote.hmod2 SELECT * FROM remote.hmod_all WHERE exchange.partition_number(4, id) = 1;
INSERT INTO remote.hmod3 SELECT * FROM remote.hmod_all WHERE exchange.partition_number(8, id) = 3;
SELECT spread('hlist', 'id int, kind int, ord int', 'LIST', 'id', 'FOR VALUES IN (1, 2, 3, 5, 8, NULL)', 'DEFAULT');
INSERT INTO hlist TABLE remote.hmod_all;
SELECT spread('hdefault', 'id int, kind int, ord int', 'RANGE', 'id', 'FOR VALUES FROM (100) TO (200)', 'DEFAULT', 'FOR VALUES FROM (300) TO (900)',
	'FOR VALUES FROM (900) TO (901)');
INSERT INTO hdefault TABLE remote.hmod_all;
CREATE TABLE hparts (id int, kind int, ord int) PARTITION BY RANGE (id);
CREATE TABLE hparts_low PARTITION OF hparts FOR VALUES FROM (1) TO (1000) PARTITION BY HASH (kind);
CREATE TABLE remote.hparts_1 (LIKE hparts);
CREATE TABLE remote.hparts_2 (LIKE hparts);
CREATE TABLE remote.hparts_3 (LIKE hparts);
CREATE FOREIGN TABLE hparts_1 PARTITION OF hparts_low FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER part1 OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE hparts_2 PARTITION OF hparts_low FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER part2 OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE hparts_3 PARTITION OF hparts FOR VALUES FROM (1000) TO (3000) SERVER part3 OPTIONS (schema_name 'remote');
INSERT INTO hparts TABLE remote.hmod_all;
ANALYZE hmod, hlist, hparts, hdefault, hdefault1, hdefault3, hdefault4;
SELECT name, d.* FROM unnest('{hmod,hlist,hdefault,hparts}'::text[]) name, partition_differences(format(
	'SELECT b.kind, count(*), sum(i.ord) FROM %I b JOIN hnote i ON i.ord = b.id GROUP BY 1', name)) d;
SELECT name, d.* FROM unnest('{hmod,hlist,hdefault,hparts}'::text[]) name, partition_differences(format(
	'SELECT b.kind, count(*), sum(i.qty) FROM %I b JOIN hitem i ON i.ord8 = b.id GROUP BY 1', name)) d;
SELECT name, substring(line, '\(''.* 1\]') FROM unnest('{hmod,hdefault}'::text[]) name, explain_stable(format(
	'SELECT b.kind, count(*) FROM %I b JOIN hnote1 n ON n.ord = b.id GROUP BY 1', name), 'COSTS OFF, VERBOSE') line WHERE line ~ 'int4\[]';

-- keys of all types: of both sides, and of partitions by range and by hash
CREATE TABLE remote.htyped_all AS SELECT i AS nr, i % 7 AS g, (i % 90)::int2 AS i2, i % 90 AS i4, (i % 90)::int8 AS i8, (i % 90 / 3.0)::float4 AS f4,
	CASE i % 50 WHEN 0 THEN '-0'::float8 WHEN 1 THEN 'NaN' WHEN 2 THEN 'infinity' WHEN 3 THEN 0 ELSE i % 90 / 7.0::float8 END AS f8,
	CASE i % 40 WHEN 3 THEN 'NaN' ELSE round((i % 90)::numeric, i % 3) END AS n, 'v' || i % 90 AS t, ('c' || i % 90)::char(6) AS c, ('v' || i % 90)::varchar(9) AS v,
	('v' || i % 90)::name AS nm, decode(md5((i % 90)::text), 'hex') AS y, CASE i % 40 WHEN 3 THEN 'infinity' ELSE date '2026-01-01' + i % 90 END AS d,
	time '00:00' + i % 90 * interval '1 min' AS tm, timestamp '2026-01-01' + i % 90 * interval '1 h' AS ts, timestamptz '2026-01-01 00:00 UTC' + i % 90 * interval '1 h' AS tz,
	md5((i % 90)::text)::uuid AS u, (i % 90)::oid AS o, chr(65 + i % 50)::"char" AS ch, i % 7 = 0 AS b,
	('08:00:2b:01:02:' || lpad(to_hex(i % 90), 2, '0'))::macaddr AS m, ('12:00'::time + i % 90 * interval '1 min')::timetz AS ttz
	FROM generate_series(1, 900) i;
INSERT INTO remote.htyped_all (nr) VALUES (901), (902), (0), (-5);
CREATE FUNCTION columns_of(relation regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = relation AND attnum > 0;
$$;
SELECT spread('htyped', columns_of('remote.htyped_all'), 'RANGE', 'nr', 'FOR VALUES FROM (MINVALUE) TO (400)', 'FOR VALUES FROM (400) TO (MAXVALUE)');
INSERT INTO htyped TABLE remote.htyped_all;
ANALYZE htyped;
CREATE TABLE by_type (method text, key name, rows bigint, without_only bigint, with_only bigint, cut text, not_sent text);
CREATE PROCEDURE partition_by_types(method text) LANGUAGE plpgsql AS $$
DECLARE
	key name;
	name name;
	ends text[];
	bounds text[];
BEGIN
	FOR key IN SELECT attname FROM pg_attribute WHERE attrelid = 'htyped'::regclass AND attnum > 2 ORDER BY attnum LOOP
		name := 'h' || method || key;
		EXECUTE format('SELECT array_agg(%1$I::text ORDER BY %1$I) FROM (SELECT DISTINCT %1$I FROM remote.htyped_all WHERE %1$I IS NOT NULL) d', key) INTO ends;
		bounds := CASE method WHEN 'hash' THEN '{"FOR VALUES WITH (MODULUS 2, REMAINDER 0)", "FOR VALUES WITH (MODULUS 2, REMAINDER 1)"}'::text[]
			ELSE ARRAY[format('FOR VALUES FROM (MINVALUE) TO (%L)', ends[array_length(ends, 1) / 3 + 1]),
				format('FOR VALUES FROM (%L) TO (%L)', ends[array_length(ends, 1) / 3 + 1], ends[array_length(ends, 1)]), 'DEFAULT'] END;
		PERFORM spread(name, columns_of('remote.htyped_all'), method, quote_ident(key), VARIADIC bounds);
		COMMIT;
		EXECUTE format('INSERT INTO %I TABLE remote.htyped_all', name);
		COMMIT;
		EXECUTE format('ANALYZE %I', name || 1);
		INSERT INTO by_type SELECT method, key, d.* FROM partition_differences(format(
			'SELECT s.g, count(*), sum(t.nr) FROM %2$I s JOIN htyped t ON s.%1$I = t.%1$I AND t.nr < 300 GROUP BY 1', key, name)) d;
	END LOOP;
END $$;
CALL partition_by_types('range');
CALL partition_by_types('hash');
INSERT INTO by_type SELECT 'none', attname, d.* FROM pg_attribute, partition_differences(format(
	'SELECT s.g, count(*), sum(t.nr) FROM htyped s JOIN htyped t ON s.%1$I = t.%1$I AND t.nr < 800 GROUP BY 1', attname)) d
	WHERE attrelid = 'htyped'::regclass AND attnum > 2;
SELECT method, rows, without_only, with_only, cut, not_sent, string_agg(key, ' ') AS keys FROM by_type GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2;
-- types that differ
SELECT a.x || ' = ' || b.y AS equality, d.* FROM unnest('{i2,i2,i4,f4,v,nm,n}'::text[], '{i4,i8,i8,f8,t,t,i4}'::text[]) WITH ORDINALITY AS a(x, y, n),
	LATERAL (SELECT a.y) b, partition_differences(format('SELECT s.g, count(*), sum(t.nr) FROM htyped s JOIN htyped t ON s.%I = t.%I AND t.nr < 800 GROUP BY 1', a.x, a.y)) d ORDER BY a.n;

-- tables that are joined where they are: as the big table, and as a side
CREATE TABLE remote.hpay_all AS SELECT i AS ord, i % 4 AS kind, i % 10 / 2.0 AS paid FROM generate_series(1, 1500) i;
SELECT spread('hpay', 'ord int, kind int, paid numeric', 'RANGE', 'ord',
	'FOR VALUES FROM (MINVALUE) TO (400)', 'FOR VALUES FROM (400) TO (900)', 'FOR VALUES FROM (1000) TO (MAXVALUE)');
INSERT INTO hpay SELECT * FROM remote.hpay_all WHERE ord NOT BETWEEN 900 AND 999;
ANALYZE hpay;
SET enable_partitionwise_join = on;
SELECT * FROM partition_differences('SELECT p.kind, count(*), sum(o.total) FROM horder o JOIN hpay p ON p.ord = o.id JOIN hitem i ON i.code = o.code GROUP BY 1');
SELECT * FROM partition_differences('SELECT i.qty, count(*), sum(p.paid) FROM horder o JOIN hpay p ON p.ord = o.id JOIN hitem i ON i.ord = o.id GROUP BY 1');
RESET enable_partitionwise_join;

-- wide values; long queues; small frames; every mode
CREATE TABLE remote.hwide_all AS SELECT i AS nr, i % 500 AS ord, repeat(md5(i::text), 1 + i % 7 * (i % 90 / 80) * 400) AS note FROM generate_series(1, 900) i;
SELECT spread('hwide', 'nr int, ord int, note text', 'HASH', 'nr', 'FOR VALUES WITH (MODULUS 2, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 2, REMAINDER 1)');
INSERT INTO hwide TABLE remote.hwide_all;
ANALYZE hwide;
SELECT * FROM partition_differences('SELECT o.priority, sum(length(w.note)), count(DISTINCT w.note) FROM hwide w JOIN horder o ON o.id = w.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, sum(length(w.note)), count(w.note) FROM hwide w JOIN horder o ON o.id = w.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT substr(w.note, 1, 2), count(*) FROM hwide w JOIN horder o ON o.id = w.ord GROUP BY 1');
SET pg_exchange.receive_buffer = '64kB';
SET pg_exchange.batch_rows_max = 1;
SET work_mem = '64kB';
SELECT * FROM partition_differences('SELECT o.priority, sum(length(w.note)), count(w.note) FROM hwide w JOIN horder o ON o.id = w.ord GROUP BY 1');
RESET pg_exchange.receive_buffer;
RESET pg_exchange.batch_rows_max;
RESET work_mem;
CREATE FUNCTION cut_bytes(mode text, scope text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('pg_exchange.compression', mode, true), set_config('pg_exchange.local_scope', scope, true);
	RETURN (SELECT sum(substring(line, 'Cut: \d+ rows, (\d+) bytes')::bigint) FROM
		explain_stable('SELECT w.note, count(*) FROM hwide w JOIN horder o ON o.id = w.ord GROUP BY 1', 'ANALYZE, TIMING OFF') line);
END
$$;
SELECT cut_bytes('none', 'none') > 600000 AS plain, cut_bytes('fast', 'none') < 200000 AS fast, cut_bytes('high_compression', 'none') < 200000 AS high,
	cut_bytes('auto', 'none') < 600000 AS auto, cut_bytes('high_compression', 'host') > 600000 AS local;
SELECT mode, d.* FROM unnest('{none,fast,high_compression,auto}'::text[]) mode, set_config('pg_exchange.compression', mode, false) AS is_set,
	partition_differences('SELECT substr(w.note, 1, 2), count(*) FROM hwide w JOIN horder o ON o.id = w.ord WHERE ''' || is_set || ''' = ''' || mode || ''' GROUP BY 1') d;
RESET pg_exchange.compression;

-- how a query was run
CREATE FUNCTION partition_ways(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT DISTINCT regexp_replace(line, '^ *(-> *)?| *\(actual.*', '', 'g') AS line FROM explain_stable(query, 'ANALYZE, TIMING OFF, COSTS OFF') line
	WHERE line ~ 'Transport:|ExchangeHashPartition|Not Sent|Never' ORDER BY 1;
$$;
-- connections: none, one, or as many as there are partitions
SET pg_exchange.max_connections_per_server = 1;
SELECT * FROM partition_differences('SELECT b.kind, count(*), sum(i.ord) FROM hdefault b JOIN hnote i ON i.ord = b.id GROUP BY 1');
SET pg_exchange.max_connections_per_server = 2;
SELECT * FROM partition_differences('SELECT b.kind, count(*), sum(i.ord) FROM hdefault b JOIN hnote i ON i.ord = b.id GROUP BY 1');
SELECT * FROM partition_differences('SELECT b.kind, count(*), sum(i.nr) FROM hitem i JOIN hdefault b ON i.ord8 = b.ord GROUP BY 1');
SET pg_exchange.max_connections_per_server = 3;
SELECT * FROM partition_differences('SELECT b.kind, count(*), sum(i.ord) FROM hdefault b JOIN hnote i ON i.ord = b.id GROUP BY 1');
SET plan_cache_mode = force_generic_plan;
PREPARE one(int, text) AS SELECT b.kind, sum(i.ord) FROM hdefault b JOIN hnote i ON i.ord = b.id WHERE b.ord > $1 AND i.note <> $2 GROUP BY 1 ORDER BY 1;
PREPARE two(int, text) AS SELECT o.priority, sum(i.qty) FROM hitem i JOIN horder o ON o.code = i.code WHERE i.qty < $1 AND o.code <> $2 GROUP BY 1 ORDER BY 1;
SELECT partition_ways('EXECUTE one(100, ''note 1'')');
SELECT partition_ways('EXECUTE two(7, ''o5'')');
EXECUTE one(100, 'note 1');
EXECUTE one(600, NULL);
EXECUTE two(7, 'o5');
SET pg_exchange.enabled = off;
EXECUTE one(100, 'note 1');
EXECUTE two(7, 'o5');
SELECT partition_ways('EXECUTE one(100, ''note 1'')');
RESET pg_exchange.enabled;
-- connections, settings and writes of later
SET pg_exchange.max_connections_per_server = 1;
SELECT way FROM partition_ways('EXECUTE two(7, ''o5'')') way WHERE way !~ 'Transport';
SET pg_exchange.max_connections_per_server = 2;
SELECT partition_ways('EXECUTE one(100, ''note 1'')');
RESET pg_exchange.max_connections_per_server;
SET pg_exchange.transport = session;
SELECT partition_ways('EXECUTE two(7, ''o5'')');
EXECUTE two(7, 'o5');
SET pg_exchange.transport = stream;
SELECT partition_ways('EXECUTE two(7, ''o5'')');
RESET pg_exchange.transport;
BEGIN;
INSERT INTO hitem VALUES (9999, 3, 3, 6, 5, 'o6', NULL);
SELECT partition_ways('EXECUTE two(7, ''o5'')');
EXECUTE two(7, 'o5');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT partition_ways('EXECUTE two(7, ''o5'')');
EXECUTE two(7, 'o5');
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT partition_ways('EXECUTE two(7, ''o5'')');
SAVEPOINT s;
SELECT partition_ways('EXECUTE two(7, ''o5'')');
ROLLBACK TO s;
SELECT partition_ways('EXECUTE two(7, ''o5'')');
COMMIT;
BEGIN;
SAVEPOINT s;
SELECT partition_ways('EXECUTE two(7, ''o5'')');
EXECUTE two(7, 'o5');
COMMIT;
RESET plan_cache_mode;
DEALLOCATE one;
DEALLOCATE two;
-- a cursor; an InitPlan; rescans, with the same parameters and with others
BEGIN;
DECLARE c CURSOR FOR SELECT o.id, sum(i.price) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1 ORDER BY 1;
FETCH 2 FROM c;
SELECT count(*) FROM hitem i JOIN horder o ON o.id = i.ord;
FETCH 2 FROM c;
COMMIT;
SELECT * FROM partition_differences('SELECT o.priority, sum(i.qty) FROM hitem i JOIN horder o ON o.code = i.code WHERE i.qty < (SELECT max(id) FROM hcustomer WHERE id < 5) GROUP BY 1');
SELECT s.id, x.* FROM hcustomer s CROSS JOIN LATERAL
	(SELECT o.priority, sum(i.qty) FROM hitem i JOIN horder o ON o.id = i.ord WHERE i.qty = s.id AND o.priority > s.id GROUP BY 1) x WHERE s.id < 3 ORDER BY 1, 2;
SELECT s.id, (SELECT sum(i.qty) FROM hitem i JOIN horder o ON o.code = i.code WHERE i.qty = s.id) FROM hcustomer s WHERE s.id < 4 ORDER BY 1;
SELECT partition_ways('SELECT s.id, (SELECT sum(i.qty) + s.id FROM hitem i JOIN horder o ON o.code = i.code) FROM hcustomer s WHERE s.id < 4 ORDER BY 1');
SELECT s.id, (SELECT sum(i.qty) + s.id FROM hitem i JOIN horder o ON o.code = i.code) FROM hcustomer s WHERE s.id < 4 ORDER BY 1;
-- views there and here; row security there and here
CREATE VIEW remote.hitem_view AS SELECT nr, ord, qty FROM remote.hitem1 WHERE qty < 7;
CREATE FOREIGN TABLE hview (nr int, ord int, qty int) SERVER part1 OPTIONS (schema_name 'remote', table_name 'hitem_view');
ANALYZE hview;
CREATE VIEW horders AS SELECT id AS number, priority + 1 AS next FROM horder WHERE total > 10;
SELECT * FROM partition_differences('SELECT o.next, count(*) FROM horders o JOIN hitem i ON i.ord = o.number GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM horder o JOIN hview v ON v.ord = o.id GROUP BY 1');
CREATE ROLE hreader LOGIN;
GRANT USAGE ON SCHEMA remote TO hreader;
GRANT SELECT ON ALL TABLES IN SCHEMA remote TO hreader;
GRANT SELECT ON horder, hitem TO hreader;
CREATE USER MAPPING FOR hreader SERVER part1 OPTIONS (user 'hreader', password_required 'false');
CREATE USER MAPPING FOR hreader SERVER part2 OPTIONS (user 'hreader', password_required 'false');
CREATE USER MAPPING FOR hreader SERVER part3 OPTIONS (user 'hreader', password_required 'false');
ALTER TABLE remote.horder2 ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON remote.horder2 TO hreader USING (priority < 2);
SET ROLE hreader;
SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1 ORDER BY 1;
SELECT partition_ways('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1 ORDER BY 1');
RESET ROLE;
ALTER TABLE horder ENABLE ROW LEVEL SECURITY;
CREATE POLICY fewer ON horder TO hreader USING (priority <> 0);
SET ROLE hreader;
SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1 ORDER BY 1;
SELECT partition_ways('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1 ORDER BY 1');
RESET ROLE;
ALTER TABLE horder DISABLE ROW LEVEL SECURITY;
ALTER TABLE remote.horder2 DISABLE ROW LEVEL SECURITY;

-- semijoins; not for outer joins and inequalities; functions of users run here
CREATE FUNCTION hash_twice(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN i * 2; END';
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i LEFT JOIN horder o ON o.id = i.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM horder o WHERE o.id IN (SELECT ord FROM hitem) GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id > i.ord AND o.id < i.ord + 3 GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON hash_twice(o.id) = i.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT hash_twice(o.priority), count(*) FROM hitem i JOIN horder o ON o.id = i.ord GROUP BY 1');
SELECT * FROM partition_differences('SELECT o.priority, count(*) FROM hitem i JOIN horder o ON o.id = i.ord WHERE hash_twice(i.qty) > 8 GROUP BY 1');
-- large sides are cut into parts, which inboxes return one after the other
CREATE TABLE remote.hmany_all AS SELECT i AS nr, i * 7 % 12000 AS key, i % 9 AS qty FROM generate_series(1, 45000) i;
CREATE TABLE remote.hfew_all AS SELECT i AS nr, i * 11 % 12007 AS key, i % 5 AS kind FROM generate_series(1, 12000) i;
SELECT spread('hmany', 'nr int, key int, qty int', 'HASH', 'nr',
	'FOR VALUES WITH (MODULUS 3, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 3, REMAINDER 1)', 'FOR VALUES WITH (MODULUS 3, REMAINDER 2)');
SELECT spread('hfew', 'nr int, key int, kind int', 'HASH', 'nr',
	'FOR VALUES WITH (MODULUS 3, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 3, REMAINDER 1)', 'FOR VALUES WITH (MODULUS 3, REMAINDER 2)');
INSERT INTO hmany TABLE remote.hmany_all;
INSERT INTO hfew TABLE remote.hfew_all;
ANALYZE hmany, hfew;
SELECT DISTINCT substring(line, 'partition_number\(\d+')
	FROM explain_stable('SELECT f.kind, sum(m.qty) FROM hmany m JOIN hfew f USING (key) GROUP BY 1', 'COSTS OFF, VERBOSE') line WHERE line ~ 'partition_number';
SELECT * FROM partition_differences('SELECT f.kind, sum(m.qty) FROM hmany m JOIN hfew f USING (key) GROUP BY 1');
SELECT * FROM partition_differences('SELECT m.nr, f.nr FROM hmany m JOIN hfew f USING (key)');
-- not if the keys have few rows
SELECT DISTINCT substring(line, 'partition_number\(\d+')
	FROM explain_stable('SELECT f.kind, sum(m.qty) FROM hmany m JOIN hfew f USING (key) WHERE f.nr < 2000 GROUP BY 1', 'COSTS OFF, VERBOSE') line WHERE line ~ 'partition_number';

-- a semi-join that is sent as a whole, the rows of which are cut: the fragment
-- reads nothing but inboxes, and has no parameter
SET enable_partitionwise_join = on;
SET plan_cache_mode = force_generic_plan;
SET pg_exchange.join_exchange = hash_partition;
PREPARE cut(int) AS SELECT count(*), sum(x.nr) FROM hmany x
	WHERE x.nr IN (SELECT y.nr FROM hmany y WHERE y.qty < 3) AND x.key IN (SELECT f.key FROM hfew f) AND x.nr < $1;
SELECT DISTINCT substring(line, 'Exchange Type: HashPartition|inbox\(\d') AS cut
	FROM explain_stable('EXECUTE cut(20000)', 'COSTS OFF, VERBOSE') line WHERE line ~ 'HashPartition$|inbox\(' ORDER BY 1;
EXECUTE cut(20000);
SET pg_exchange.enabled = off;
EXECUTE cut(20000);
RESET pg_exchange.enabled;
DEALLOCATE cut;
RESET plan_cache_mode;
RESET enable_partitionwise_join;

-- fragment_memory counts there, if work_mem allows less
CREATE FUNCTION hash_batches() RETURNS text LANGUAGE sql RETURN (
	SELECT string_agg(DISTINCT substring(line, 'Batches: (\d+)'), ', ')
	FROM explain_stable('SELECT m.qty, f.kind FROM hmany m JOIN hfew f USING (key)', 'COSTS OFF, ANALYZE, TIMING OFF') line WHERE line ~ 'Buckets:');
SET pg_exchange.explain_remote = on;
ALTER SERVER part1 OPTIONS (ADD options '-c work_mem=64kB');
ALTER SERVER part2 OPTIONS (ADD options '-c work_mem=64kB');
ALTER SERVER part3 OPTIONS (ADD options '-c work_mem=64kB');
SELECT hash_batches();
ALTER SERVER part1 OPTIONS (SET options '-c work_mem=64kB -c pg_exchange.fragment_memory=0');
ALTER SERVER part2 OPTIONS (SET options '-c work_mem=64kB -c pg_exchange.fragment_memory=0');
ALTER SERVER part3 OPTIONS (SET options '-c work_mem=64kB -c pg_exchange.fragment_memory=0');
SELECT hash_batches();
SELECT * FROM partition_differences('SELECT f.kind, sum(m.qty) FROM hmany m JOIN hfew f USING (key) GROUP BY 1');
-- functions are recognized under any names that the servers print
SET quote_all_identifiers = on;
ALTER SERVER part1 OPTIONS (SET options '-c quote_all_identifiers=on');
ALTER SERVER part2 OPTIONS (SET options '-c quote_all_identifiers=on');
ALTER SERVER part3 OPTIONS (SET options '-c quote_all_identifiers=on');
SELECT * FROM partition_differences('SELECT f.kind, sum(m.qty) FROM hmany m JOIN hfew f USING (key) GROUP BY 1');
RESET quote_all_identifiers;
ALTER SERVER part1 OPTIONS (DROP options);
ALTER SERVER part2 OPTIONS (DROP options);
ALTER SERVER part3 OPTIONS (DROP options);
RESET pg_exchange.explain_remote;

RESET pg_exchange.join_exchange;
-- Each source has a stream: for few rows of many partitions that is too much.
SELECT spread(name, 'id int, k int', 'HASH', 'id', VARIADIC array_agg(format('FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i - 1) ORDER BY i))
FROM unnest(ARRAY['hsmall', 'htiny']) name, generate_series(1, 16) i GROUP BY name;
INSERT INTO hsmall SELECT i, i % 4000 FROM generate_series(1, 12000) i;
INSERT INTO htiny TABLE hsmall;
ANALYZE hsmall, htiny;
SELECT count(*) AS hash_partitions FROM explain_stable('SELECT count(*) FROM hsmall a JOIN htiny b USING (k)') line WHERE line ~ 'Type: HashPartition';
DROP TABLE hsmall, htiny;
DO $$
BEGIN
	FOR i IN 1 .. 16 LOOP
		EXECUTE format('DROP TABLE remote.hsmall%s, remote.htiny%s', i, i);
	END LOOP;
END
$$;
DROP OWNED BY hreader;
DROP ROLE hreader;
