--
-- Inboxes: frames that are brought to a session, and their rows.
--
CREATE SCHEMA inbox;
SET search_path = inbox, public;

-- frames one after the other, as exchange.send makes them: apart; as records
CREATE FUNCTION apart(frames bytea) RETURNS TABLE (n int, frame bytea) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	at int := 0;
	size int;
BEGIN
	n := 0;
	WHILE at < length(frames) LOOP
		size := 40 + get_byte(frames, at + 32) + 256 * get_byte(frames, at + 33) + 65536 * get_byte(frames, at + 34);
		frame := substr(frames, at + 1, size);
		RETURN NEXT;
		at := at + size;
		n := n + 1;
	END LOOP;
END
$$;
CREATE FUNCTION little(x bigint, size int) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(substr(int8send(x), 9 - i, 1), '' ORDER BY i) FROM generate_series(1, size) i
$$;
CREATE FUNCTION record(frame bytea, inbox int, source int DEFAULT 0) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT little(length(frame), 4) || little(inbox, 2) || little(source, 2) || frame
$$;
CREATE FUNCTION records(frames bytea, inbox int, source int DEFAULT 0) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(record(frame, inbox, source), '' ORDER BY n) FROM apart(frames)
$$;
CREATE FUNCTION ints(first int, last int, rows int DEFAULT 4096) RETURNS bytea LANGUAGE sql AS $$
	SELECT sent(format('SELECT i FROM generate_series(%s, %s) i', first, last), '23:-1', rows)
$$;
-- the same frames of another sender: its number is in the header, and the checksum depends on it
CREATE FUNCTION crc32c(bytes bytea) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	crc bigint := 4294967295;
BEGIN
	FOR i IN 0 .. length(bytes) - 1 LOOP
		crc := crc # get_byte(bytes, i);
		FOR bit IN 1 .. 8 LOOP
			crc := (crc >> 1) # CASE crc & 1 WHEN 1 THEN 2197175160 ELSE 0 END;
		END LOOP;
	END LOOP;
	RETURN crc # 4294967295;
END
$$;
SELECT to_hex(crc32c('123456789'));
CREATE FUNCTION of_sender(frames bytea, sender int) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(substr(f, 1, 36) || little(crc32c(substr(f, 1, 36) || substr(f, 41)), 4) || substr(f, 41), '' ORDER BY n)
	FROM (SELECT n, overlay(frame PLACING little(sender, 4) FROM 9) AS f FROM apart(frames) OFFSET 0) x
$$;
CREATE TABLE frames AS SELECT ints(1, 1000, 100) AS thousand, ints(1001, 1007) AS more, ints(1, 0) AS none,
	of_sender(ints(1, 20, 8), 3) AS three, of_sender(ints(21, 40, 8), 7) AS seven;
SELECT thousand, more, none, three, seven FROM frames \gset

-- filled in parts, and read; gone with the transaction
BEGIN;
SELECT exchange.fill_inbox('');
SELECT exchange.fill_inbox(records(:'thousand', 1)) = length(:'thousand'::bytea) AS bytes;
SELECT count(*), sum(i), min(i), max(i) FROM exchange.inbox(1) AS t(i int);
SELECT exchange.fill_inbox(record(frame, 2)) > length(:'thousand'::bytea) AS bytes FROM apart(:'more') ORDER BY n;
SELECT * FROM exchange.inbox(2) AS t(i int) ORDER BY i;
SELECT count(*) FROM exchange.inbox(1) AS a(i int) JOIN exchange.inbox(2) AS b(j int) ON a.i = b.j - 500;
COMMIT;
SELECT * FROM exchange.inbox(1) AS t(i int);
BEGIN;
SELECT exchange.fill_inbox(records(:'more', 1)) > 0 AS filled;
ROLLBACK;
SELECT * FROM exchange.inbox(1) AS t(i int);
-- a statement is a transaction, too
SELECT exchange.fill_inbox(records(:'more', 1)) > 0 AS filled;
SELECT * FROM exchange.inbox(1) AS t(i int);
BEGIN;
SELECT exchange.fill_inbox(records(:'more', 1)) > 0 AS filled;
PREPARE TRANSACTION 'inbox';
SELECT count(*) FROM exchange.inbox(1) AS t(i int);
COMMIT PREPARED 'inbox';

-- several sources, their frames in turns; and several senders of one
BEGIN;
SELECT exchange.fill_inbox(string_agg(record(frame, inbox, source), '' ORDER BY n, source)) > 0 AS filled
	FROM (SELECT 1 AS inbox, 0 AS source, * FROM apart(:'thousand') UNION ALL SELECT 1, 5, * FROM apart(:'more')
		UNION ALL SELECT 1, 4095, * FROM apart(:'none') UNION ALL SELECT 256, 3, * FROM apart(:'none')) x;
SELECT count(*), sum(i) FROM exchange.inbox(1) AS t(i int);
SELECT count(*), sum(i) FROM exchange.inbox(256) AS t(i int);
SELECT exchange.fill_inbox(string_agg(record(frame, 7), '' ORDER BY n, sender)) > 0 AS filled
	FROM (SELECT 3 AS sender, * FROM apart(:'three') UNION ALL SELECT 7, * FROM apart(:'seven')) x;
SELECT count(*), sum(i) FROM exchange.inbox(7) AS t(i int);
SELECT array_agg(i) FROM (SELECT i FROM exchange.inbox(7) AS t(i int) LIMIT 20) x;
COMMIT;

-- values of all kinds, raw and as text; columns as the source has sent them
CREATE TABLE kinds AS SELECT i, i * 10000000000 AS big, (i / 7.0)::numeric(10,2) AS num, repeat('word ' || i, i % 9) AS t,
	CASE WHEN i % 3 > 0 THEN date '2026-01-01' + i END AS d, ARRAY[i, i + 1] AS a, format('{"a": %s}', i)::jsonb AS b FROM generate_series(1, 500) i;
BEGIN;
SELECT exchange.fill_inbox(records(sent('TABLE kinds', '23:-1,20:-1,1700:655366,25:-1,1082:-1,1007:-1,0:-1', 100), 1, 0)
	|| records(sent('TABLE kinds', '0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1', 64), 1, 1)) > 0 AS filled;
SELECT count(*), count(*) FILTER (WHERE r::text IS DISTINCT FROM k::text) AS different
	FROM exchange.inbox(1) AS r(i int, big bigint, num numeric(10,2), t text, d date, a int[], b jsonb) JOIN kinds k USING (i);
SELECT r, (r).d FROM exchange.inbox(1) AS r(i int, big bigint, num numeric(10,2), t text, d date, a int[], b jsonb) WHERE i = 3;
SAVEPOINT s;
SELECT count(*) FROM exchange.inbox(1) AS r(i int, big bigint);
ROLLBACK TO s;
SELECT count(*) FROM exchange.inbox(1) AS r(i int, big text, num numeric(10,2), t text, d date, a int[], b jsonb);
COMMIT;

-- the plan: the rows of the headers, filters, projection; and it knows no more of an inbox that is empty yet
CREATE FUNCTION estimated(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN format('%s: %s rows', plan #>> '{0,Plan,Custom Plan Provider}', plan #>> '{0,Plan,Plan Rows}');
END
$$;
BEGIN;
SELECT exchange.fill_inbox(records(:'more', 1) || records(:'thousand', 1, 1) || records(:'none', 2)) > 0 AS filled;
SELECT number, estimated(format('SELECT * FROM exchange.inbox(%L) AS t(i int)', number)) FROM (VALUES ('1'), ('2'), ('3'), ('-1'), (NULL)) v(number);
SELECT estimated('SELECT * FROM exchange.inbox((SELECT 1)) AS t(i int)');
EXPLAIN (VERBOSE, COSTS OFF) SELECT i * 2 FROM exchange.inbox(1) AS t(i int, j int) WHERE j > 3;
-- the distinct values that the coordinator expects; what it can't expect counts for nothing
CREATE FUNCTION groups(arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT json) SELECT i FROM exchange.inbox(1%s) AS t(i int) GROUP BY i', arguments) INTO plan;
	RETURN format('%s of %s', plan #>> '{0,Plan,Plan Rows}', plan #>> '{0,Plan,Plans,0,Plan Rows}');
END
$$;
SELECT v, groups(CASE WHEN v = '' THEN '' ELSE format(', %L', v) END) FROM unnest(ARRAY['', '{5}', '{700,3}', '{5000}', '{0.5}', '{0}', '{-7}',
	'{NaN}', '{Infinity}', '{NULL}', '{}', '{{5}}', '[3:3]={5}']) v;
SELECT count(*), sum(i) FROM exchange.inbox(1, '{5}') AS t(i int);
SELECT count(*) FROM exchange.inbox(1, NULL) AS t(i int);
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT i % 50000 AS j FROM generate_series(1, 20000) i OFFSET 0) b, exchange.inbox(1, '{1000}') AS a(i int) WHERE i = j;
COMMIT;
SELECT count(*) FROM exchange.inbox(1, (SELECT '{5}'::float8[])) AS t(i int);
EXPLAIN (COSTS OFF) SELECT * FROM exchange.inbox(1) AS a(i int), exchange.inbox(2) AS b(j int) WHERE i = j;
PREPARE sums(int) AS SELECT count(*), sum(i * 2) AS twice FROM exchange.inbox($1) AS t(i int) WHERE i > 35;
EXECUTE sums(1);
BEGIN;
SELECT exchange.fill_inbox(records(:'more', 1) || records(:'thousand', 2)) > 0 AS filled;
EXECUTE sums(1);
SET LOCAL plan_cache_mode = force_generic_plan;
EXECUTE sums(1);
EXECUTE sums(2);
EXECUTE sums(NULL);
EXECUTE sums(3);
COMMIT;

-- read again: another inbox, the same one, from the beginning after a part of it; two scans at once
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
BEGIN;
SELECT exchange.fill_inbox(records(:'thousand', 1) || records(:'more', 2) || records(:'three', 3) || records(:'seven', 3, 1)) > 0 AS filled;
SELECT x, count(*), sum(i) FROM generate_series(1, 3) x, LATERAL exchange.inbox(x) AS t(i int) GROUP BY x ORDER BY x;
SELECT x, count(*), sum(i) FROM generate_series(1, 3) x LEFT JOIN exchange.inbox(1) AS t(i int) ON i % x = 0 GROUP BY x ORDER BY x;
EXPLAIN (COSTS OFF) SELECT count(*), sum(a.i) FROM exchange.inbox(3) AS a(i int), exchange.inbox(3) AS b(i int) WHERE a.i <= b.i;
SELECT count(*), sum(a.i) FROM exchange.inbox(3) AS a(i int), exchange.inbox(3) AS b(i int) WHERE a.i <= b.i;
SELECT x, (SELECT i FROM exchange.inbox(3) AS t(i int) WHERE i > x LIMIT 1) FROM generate_series(5, 35, 10) x;
COMMIT;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- cursors, one of which outlives the transaction
BEGIN;
SELECT exchange.fill_inbox(records(:'thousand', 1)) > 0 AS filled;
DECLARE c SCROLL CURSOR FOR SELECT * FROM exchange.inbox(1) AS t(i int);
FETCH 2 FROM c;
MOVE 300 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ABSOLUTE 1 FROM c;
DECLARE held CURSOR WITH HOLD FOR SELECT * FROM exchange.inbox(1) AS t(i int) WHERE i > 998;
COMMIT;
FETCH ALL FROM held;
CLOSE held;

-- what is read cannot be filled: by the same query, or while a cursor is open
BEGIN;
SELECT exchange.fill_inbox(records(:'thousand', 1)) > 0 AS filled;
SELECT exchange.fill_inbox(records(:'more', 1, i)) FROM exchange.inbox(1) AS t(i int);
ROLLBACK;
BEGIN;
SELECT exchange.fill_inbox(records(:'thousand', 1)) > 0 AS filled;
DECLARE c CURSOR FOR SELECT * FROM exchange.inbox(1) AS t(i int);
SELECT exchange.fill_inbox(records(:'more', 1, 1)) > 0 AS before_the_first_row;
FETCH 1 FROM c;
SELECT exchange.fill_inbox(records(:'more', 2)) > 0 AS another_one;
CLOSE c;
SELECT exchange.fill_inbox(records(:'more', 1, 2)) > 0 AS after_the_cursor;
SELECT count(*) FROM exchange.inbox(1) AS t(i int);
DECLARE c CURSOR FOR SELECT * FROM exchange.inbox(1) AS t(i int);
FETCH 1 FROM c;
SELECT exchange.fill_inbox(records(:'more', 1, 3));
ROLLBACK;

-- savepoints: not filled below one, because it could not be undone; what was filled before stays
BEGIN;
SELECT exchange.fill_inbox(records(:'more', 1)) > 0 AS filled;
SAVEPOINT s;
SELECT count(*) FROM exchange.inbox(1) AS t(i int);
DECLARE c CURSOR FOR SELECT * FROM exchange.inbox(1) AS t(i int);
FETCH 1 FROM c;
SELECT exchange.fill_inbox(records(:'more', 2));
ROLLBACK TO s;
RELEASE s;
SELECT exchange.fill_inbox(records(:'thousand', 1, 1)) > 0 AS filled;	-- the cursor is gone
SELECT count(*) FROM exchange.inbox(1) AS t(i int);
COMMIT;

-- In memory up to work_mem, for all inboxes together, and then in a temporary file.
CREATE TABLE large AS SELECT records(sent('SELECT i, md5(i::text) || md5((-i)::text) FROM generate_series(1, 5000) i', '23:-1,25:-1', 500), 1) AS records;
CREATE VIEW temporary_files AS SELECT count(*) FROM pg_ls_tmpdir() WHERE name LIKE 'pgsql_tmp' || pg_backend_pid() || '.%';
SELECT length(records) > 300000 AS large FROM large;
BEGIN;
SELECT exchange.fill_inbox(records) > 0 AS filled FROM large;
TABLE temporary_files;
COMMIT;
SET work_mem = '64kB';
BEGIN;
SELECT exchange.fill_inbox(records(:'more', 2)) > 0 AS filled;
TABLE temporary_files;
DECLARE c CURSOR FOR SELECT * FROM exchange.inbox(2) AS t(i int);
FETCH 1 FROM c;
SELECT exchange.fill_inbox(records) > 0 AS filled FROM large;
TABLE temporary_files;
FETCH ALL FROM c;
SELECT exchange.fill_inbox(records(:'thousand', 3)) > 0 AS filled;
SELECT count(*), sum(i), count(*) FILTER (WHERE v = md5(i::text) || md5((-i)::text)) AS right FROM exchange.inbox(1) AS t(i int, v text);
SELECT count(*), sum(i) FROM exchange.inbox(3) AS t(i int);
-- two scans take turns
SELECT count(*) FILTER (WHERE a.v = b.v) AS same FROM (SELECT *, row_number() OVER () AS n FROM exchange.inbox(1) AS t(i int, v text)) a
	JOIN (SELECT *, row_number() OVER () AS n FROM exchange.inbox(1) AS t(i int, v text)) b USING (n);
SELECT exchange.fill_inbox(records(:'more', 2, 1));	-- still read
ROLLBACK;
BEGIN;
SELECT exchange.fill_inbox(records) > 0 AS filled FROM large;
TABLE temporary_files;
COMMIT;
TABLE temporary_files;
SET temp_file_limit = '100kB';
BEGIN;
\set VERBOSITY sqlstate
SELECT exchange.fill_inbox(records) FROM large;
\set VERBOSITY default
ROLLBACK;
TABLE temporary_files;
RESET temp_file_limit;
RESET work_mem;

-- limits, records that are none, and frames that are none
SELECT exchange.fill_inbox(records(:'more', 256, 4095)) > 0 AS filled;
SELECT exchange.fill_inbox(records(:'more', 257));
SELECT exchange.fill_inbox(records(:'more', 1, 4096));
SELECT exchange.fill_inbox(records(:'more', 0));
SELECT exchange.fill_inbox(records(:'more', 1) || '\x010203');
SELECT exchange.fill_inbox(substr(record, 1, length(record) - 1)) FROM records(:'more', 1) record;
SELECT exchange.fill_inbox(record('', 1));
SELECT exchange.fill_inbox(record('no frame at all, but forty bytes or more', 1));
SELECT exchange.fill_inbox(record(:'more'::bytea, 1));
SELECT exchange.fill_inbox(NULL);
-- nothing is kept of what is refused in part: so the transaction ends
BEGIN;
SELECT exchange.fill_inbox(records(:'more', 1) || records(:'more', 0));
SELECT 1;
ROLLBACK;

-- what is wrong is found when it is read: never a short result
CREATE FUNCTION outcome(number int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	detail text;
BEGIN
	SELECT count(*) INTO n FROM exchange.inbox(number) AS t(i int);
	RETURN n || ' rows';
EXCEPTION WHEN protocol_violation OR data_corrupted THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ': ' || SQLERRM || ' (' || detail || ')';
END
$$;
BEGIN;
CREATE TEMP TABLE cases AS SELECT row_number() OVER ()::int AS number, * FROM (
	SELECT 'whole' AS what, records(:'thousand', 1) AS records
	UNION ALL SELECT 'without the last frame', string_agg(record(frame, 1), '' ORDER BY n) FROM apart(:'thousand') WHERE n < 11
	UNION ALL SELECT 'without the first frame', string_agg(record(frame, 1), '' ORDER BY n) FROM apart(:'thousand') WHERE n > 0
	UNION ALL SELECT 'without a batch', string_agg(record(frame, 1), '' ORDER BY n) FROM apart(:'thousand') WHERE n <> 5
	UNION ALL SELECT 'two batches in the wrong order', string_agg(record(frame, 1), '' ORDER BY CASE n WHEN 5 THEN 6 WHEN 6 THEN 5 ELSE n END) FROM apart(:'thousand')
	UNION ALL SELECT 'the end twice', string_agg(record(frame, 1), '' ORDER BY n) FROM (SELECT * FROM apart(:'more') UNION ALL SELECT n + 1, frame FROM apart(:'more') WHERE n = 2) x
	UNION ALL SELECT 'one sender has ended, the other one has not', string_agg(record(frame, 1), '' ORDER BY n) FROM
		(SELECT * FROM apart(:'three') UNION ALL SELECT * FROM apart(:'seven') WHERE n < 2) x
	UNION ALL SELECT 'one source has ended, the other one has not', records(:'more', 1) || record(frame, 1, 2) FROM apart(:'none') WHERE n = 0
	UNION ALL SELECT 'one source goes on as another one', string_agg(record(frame, 1, n / 5), '' ORDER BY n) FROM apart(:'thousand')
	UNION ALL SELECT 'another column', records(sent('SELECT 1, 2', '23:-1,23:-1'), 1)
	UNION ALL SELECT 'another type', records(sent('SELECT 1::bigint', '20:-1'), 1)
	UNION ALL SELECT 'one sender in another class', records(:'three' || of_sender(sent('SELECT 1', '0:-1'), 5), 1)) x;
SELECT exchange.fill_inbox(string_agg(record(substr(records, at, size), number, source), '')) > 0 AS filled FROM (
	WITH RECURSIVE r AS (
		SELECT number, records, 9 AS at, get_byte(records, 0) + 256 * get_byte(records, 1) AS size, get_byte(records, 6) AS source FROM cases
		UNION ALL SELECT number, records, at + size + 8, get_byte(records, at + size - 1) + 256 * get_byte(records, at + size), get_byte(records, at + size + 5)
		FROM r WHERE at + size + 7 < length(records))
	SELECT * FROM r ORDER BY number, at OFFSET 0) x;
SELECT what, outcome(number) FROM cases ORDER BY number;
ROLLBACK;
-- every byte of the bodies changed, and of the checksums: each in an inbox of its own
BEGIN;
SELECT exchange.fill_inbox(string_agg(record(CASE WHEN f.n = p.n THEN set_byte(frame, at, get_byte(frame, at) # 16) ELSE frame END, number::int), '' ORDER BY number, f.n)) > 0 AS filled
FROM (SELECT row_number() OVER (ORDER BY n, at) AS number, n, at FROM apart(:'more'), generate_series(36, length(frame) - 1) at) p, apart(:'more') f WHERE number <= 256;
SELECT left(outcome(number), 5) AS sqlstate, count(*) > 100 AS many FROM generate_series(1, 256) number WHERE estimated(format('SELECT * FROM exchange.inbox(%s) AS t(i int)', number)) ~ ': 7 rows' GROUP BY 1;
ROLLBACK;

-- not in other forms
SELECT * FROM ROWS FROM (exchange.inbox(1) AS (i int), generate_series(1, 2)) x;
SELECT exchange.inbox(1);

-- who may call them
CREATE ROLE regress_px_inbox;
GRANT USAGE ON SCHEMA inbox TO regress_px_inbox;
SET ROLE regress_px_inbox;
BEGIN;
SELECT exchange.fill_inbox(records(:'more', 1)) > 0 AS filled;
SELECT count(*) FROM exchange.inbox(1) AS t(i int);
COMMIT;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION exchange.inbox(int) FROM PUBLIC;
SET ROLE regress_px_inbox;
SELECT count(*) FROM exchange.inbox(1) AS t(i int);
RESET ROLE;
GRANT EXECUTE ON FUNCTION exchange.inbox(int) TO PUBLIC;

-- A query that reads an inbox of its session, and no other volatile or stable function, is harmless; it has no slices.
CREATE TABLE items AS SELECT i AS id, 'item ' || i AS name FROM generate_series(1, 2000) i;
ANALYZE items;
CREATE FUNCTION marked(query text, columns text, extra text DEFAULT '') RETURNS SETOF bytea LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT exchange.send(%L, t.*) FROM (%s) t', format('version=1 encodings=16383 codec=lz4 level=0 '
		'batch_rows=4096 batch_bytes=1048576 server_version=%s %scolumns=%s', current_setting('server_version_num'), extra, columns), query);
END
$$;
SELECT substring(exchange.admit(exchange.hello('protocol=1-1 codecs=7 encodings=16383 endian=little encoding=UTF8 server_version=150000 '
	'instance=0123456789abcdef0123456789abcdef export=1'), query, false) FROM 'against=.*') AS admitted
FROM (VALUES ('SELECT name FROM inbox.items JOIN exchange.inbox(1) r(i int4) ON id = i'),
	('SELECT name, r.i, now() FROM inbox.items JOIN exchange.inbox(1) r(i int4) ON id = i'),
	('SELECT name FROM inbox.items, LATERAL exchange.inbox(id) r(i int4)')) v(query);
BEGIN;
SELECT exchange.fill_inbox(records(:'thousand', 1) || records(:'more', 1, 1)) > 0 AS filled;
SELECT get_byte(m, 6) AS kind, get_byte(m, 16) AS rows FROM marked('SELECT name FROM inbox.items JOIN exchange.inbox(1) r(i int4) ON id = i WHERE i > 998', '25:-1') m;
-- the slice frame says why not: 1 is the shape
SELECT get_byte(m, 6) AS kind, get_byte(m, 40) AS slices, get_byte(m, 52) AS reason
	FROM marked('SELECT name FROM inbox.items JOIN exchange.inbox(1) r(i int4) ON id = i WHERE i > 998', '25:-1', 'slices=2 slice=0 blocks=0 ') m WHERE get_byte(m, 6) = 4;
COMMIT;
-- Two tables cut by the hash of their key into three targets, by several workers each; the targets are joined one by one.
CREATE TABLE orders AS SELECT i AS id, i % 700 AS customer FROM generate_series(1, 20000) i;
CREATE TABLE customers AS SELECT i AS id, 'customer ' || i AS name FROM generate_series(1, 600) i;
ANALYZE orders, customers;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CREATE TABLE sent_frames AS
	SELECT 0 AS side, n, f FROM marked('SELECT id, customer, abs(hashint4(customer)) % 3 FROM inbox.orders', '23:-1,23:-1', 'targets=3 ') WITH ORDINALITY m(f, n)
	UNION ALL SELECT 3, n, f FROM marked('SELECT id, name, abs(hashint4(id)) % 3 FROM inbox.customers', '23:-1,25:-1', 'targets=3 ') WITH ORDINALITY m(f, n);
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
SELECT count(DISTINCT get_byte(f, 8)) > 3 AS workers FROM sent_frames WHERE side = 0;
CREATE TABLE joined (id int, name text);
BEGIN;
SELECT exchange.fill_inbox(string_agg(record(f, side + 1 + get_byte(f, 8) % 3, 9), '' ORDER BY n)) > 0 AS filled FROM sent_frames;
DO $$
BEGIN
	FOR t IN 1 .. 3 LOOP
		INSERT INTO joined SELECT o.id, c.name FROM exchange.inbox(t) o(id int, customer int) JOIN exchange.inbox(t + 3) c(id int, name text) ON o.customer = c.id;
	END LOOP;
END
$$;
COMMIT;
SELECT count(*), count(*) FILTER (WHERE j.name = c.name) AS right FROM joined j RIGHT JOIN (orders o JOIN customers c ON o.customer = c.id) ON j.id = o.id;
SELECT count(*) FROM joined;
-- An inbox that is hashed by an integer column: are its values unique?  Above exchange.send, the join stops at the first row if they are.
CREATE FUNCTION unique_key(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT exchange.send(%L, t.*) FROM (%s) t',
		'version=1 encodings=16383 codec=lz4 level=0 batch_rows=4096 batch_bytes=1048576 server_version='
		|| current_setting('server_version_num') || ' columns=20:-1,20:-1', query)
	LOOP
		IF line ~ 'Unique Key|Hash.* Join' THEN
			RETURN NEXT regexp_replace(line, '^ *(-> *)?| \(.*', '', 'g');
		END IF;
	END LOOP;
END
$$;
CREATE TABLE probes AS SELECT i, i::bigint AS big, i::smallint AS small FROM generate_series(-20000, 20000) i;
INSERT INTO probes VALUES (NULL), (2147483647, 9223372036854775807), (-2147483648, -9223372036854775808);
ANALYZE probes;
CREATE TABLE joins (n serial, query text);
INSERT INTO joins (query) VALUES
	('SELECT count(*), sum(p.i)::bigint FROM probes p JOIN exchange.inbox(%s, ''{1000}'') AS t(i int) ON p.i = t.i'),
	('SELECT count(*), sum(p.i)::bigint FROM probes p JOIN exchange.inbox(%s, ''{1000}'') AS t(i int) ON p.big = t.i'),
	('SELECT count(*), sum(p.i)::bigint FROM probes p JOIN exchange.inbox(%s, ''{1000}'') AS t(i int) ON p.small = t.i'),
	('SELECT count(*), sum(t.i)::bigint FROM probes p LEFT JOIN exchange.inbox(%s, ''{1000}'') AS t(i int) ON p.i = t.i AND p.big + t.i > 10'),
	('SELECT count(*), sum(t.i)::bigint FROM probes p FULL JOIN exchange.inbox(%s, ''{1000}'') AS t(i int) ON p.i = t.i'),
	('SELECT count(*), sum(p.i)::bigint FROM probes p JOIN exchange.inbox(%s, ''{1000}'') AS t(i int) ON p.i = t.i WHERE t.i <> 7'),
	('SELECT count(*), sum(p.i)::bigint FROM probes p JOIN exchange.inbox(%s, ''{1000}'') AS t(i int) ON p.i = t.i %% 10'),
	('SELECT count(*), sum(p.i)::bigint FROM probes p WHERE EXISTS (SELECT FROM exchange.inbox(%s, ''{1000}'') AS t(i int) WHERE p.i = t.i)'),
	('SELECT count(*), sum(p.i)::bigint FROM probes p WHERE NOT EXISTS (SELECT FROM exchange.inbox(%s, ''{1000}'') AS t(i int) WHERE p.i = t.i)'),
	('SELECT count(*), sum(p.i)::bigint FROM generate_series(1, 2) x, LATERAL (SELECT p.i FROM probes p JOIN exchange.inbox(%s, ''{1000}'') AS t(i int) ON p.i = t.i AND p.big <> x OFFSET 0) p');
SET enable_mergejoin = off;
SET enable_nestloop = off;
CREATE TABLE cases AS SELECT * FROM (VALUES
	(1, 'unique', 'SELECT i FROM generate_series(-500, 500) i'),
	(2, 'twice', 'SELECT i FROM generate_series(-500, 500) i UNION ALL SELECT 7'),
	(3, 'nulls', 'SELECT i FROM generate_series(-500, 500) i UNION ALL VALUES (NULL::int), (NULL)'),
	(4, 'downwards', 'SELECT -i FROM generate_series(1, 1000) i UNION ALL SELECT 64'),
	(5, 'far apart', 'VALUES (2147483647), (-2147483648)'),
	(6, 'none', 'SELECT 1 WHERE false')) v(number, name, query);
-- without exchange.send, joins go on: what they return is right
CREATE FUNCTION compare() RETURNS TABLE (number int, n int, rows bigint, same bool, keys text) LANGUAGE plpgsql AS $$
DECLARE
	c cases;
	j joins;
	here record;
	there record;
	q text;
BEGIN
	FOR c IN SELECT * FROM cases LOOP
		PERFORM exchange.fill_inbox(records(sent(c.query, '23:-1'), c.number));
	END LOOP;
	FOR c IN SELECT * FROM cases ORDER BY cases.number LOOP FOR j IN SELECT * FROM joins ORDER BY joins.n LOOP
		q := format(j.query, c.number);
		EXECUTE format('SELECT * FROM (%s) t (a, b)', q) INTO here;
		PERFORM exchange.fill_inbox(records(sent(q, '20:-1,20:-1'), c.number * 20 + j.n));
		EXECUTE format('SELECT * FROM exchange.inbox(%s) AS t(a bigint, b bigint)', c.number * 20 + j.n) INTO there;
		RETURN QUERY SELECT c.number, j.n, here.a, here IS NOT DISTINCT FROM there, string_agg(k, ', ') FROM unique_key(q) k;
	END LOOP; END LOOP;
END
$$;
BEGIN;
CREATE TEMP TABLE compared ON COMMIT DROP AS SELECT * FROM compare();
SELECT number, name, rows, same, keys FROM compared JOIN cases USING (number) WHERE n = 1 ORDER BY 1;
SELECT n, rows, same, keys, query FROM compared JOIN joins USING (n) WHERE number = 1 ORDER BY 1;
SELECT number, n FROM compared WHERE NOT same;
COMMIT;
RESET enable_mergejoin;
RESET enable_nestloop;
SET client_min_messages = warning;
DROP SCHEMA inbox CASCADE;
DROP ROLE regress_px_inbox;
