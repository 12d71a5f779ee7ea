--
-- exchange.send with targets: the rows are cut by their last column.
--
CREATE FUNCTION cut_frames(request text, query text) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT exchange.send(%L, t.*) FROM (%s) t', request, query);
END
$$;
CREATE FUNCTION u32(f bytea, at int) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	'SELECT get_byte(f, at) + 256 * get_byte(f, at + 1) + 65536 * get_byte(f, at + 2) + 16777216::bigint * get_byte(f, at + 3)';
CREATE FUNCTION cut(query text, words text, columns text, rows int DEFAULT 4096, bytes int DEFAULT 1048576, codec text DEFAULT 'lz4')
RETURNS TABLE (sender bigint, sequence bigint, kind int, rows_sent bigint, raw bigint, frame bytea) LANGUAGE sql AS $$
	SELECT u32(f, 8), u32(f, 12), get_byte(f, 6), u32(f, 16), u32(f, 24), f
	FROM cut_frames(format('version=1 encodings=16383 codec=%s level=0 batch_rows=%s batch_bytes=%s server_version=%s %scolumns=%s',
						   codec, rows, bytes, current_setting('server_version_num'), words, columns), query) f
$$;
CREATE TABLE remote.cut AS
	SELECT id, 'row ' || id AS name, CASE WHEN id % 5 = 0 THEN NULL ELSE id * 1.5 END AS amount FROM generate_series(1, 3000) id;
ANALYZE remote.cut;

-- each target has a whole sequence of frames, even if it has no rows
SELECT sender, sequence, kind, rows_sent FROM cut('SELECT id, id % 2 FROM remote.cut WHERE id <= 7 ORDER BY id', 'targets=3 ', '23:-1', 2)
	ORDER BY 1, 2;
-- and so if none has
SELECT sender, sequence, kind, rows_sent FROM cut('SELECT id, 1 FROM remote.cut WHERE id < 0', 'targets=2 ', '23:-1');
-- rows without a target are not sent
SELECT sender, sum(rows_sent) FROM cut('SELECT id, name, nullif(id % 3, 2) FROM remote.cut', 'targets=3 ', '23:-1,25:-1') GROUP BY 1 ORDER BY 1;
SELECT sum(rows_sent), count(*) FROM cut('SELECT id, NULL::int FROM remote.cut', 'targets=64 ', '23:-1');

-- All rows come, each to its target, in the order of the query: what goes to
-- target 0 is read, for each of the targets.
CREATE FUNCTION cut_rows(codec text, words text) RETURNS TABLE (target int, id int, name text, amount numeric, nr bigint) LANGUAGE plpgsql AS $$
DECLARE
	piece text;
BEGIN
	FOR t IN 0 .. 3 LOOP
		SELECT armour(string_agg(f.frame, '' ORDER BY f.sequence)) INTO piece
			FROM cut(format('SELECT *, (id %% 4 + 4 - %s) %% 4 FROM remote.cut ORDER BY id DESC', t), words || 'targets=4 ',
					 '23:-1,25:-1,1700:-1', 100, codec => cut_rows.codec) f WHERE f.sender = 0;
		RETURN QUERY SELECT t, u.*, row_number() OVER () FROM exchange.unpack(piece) AS u(id int, name text, amount numeric);
	END LOOP;
END
$$;
CREATE TABLE cut_result AS SELECT c.codec, r.* FROM (VALUES ('none', ''), ('zstd', ''), ('auto', 'codecs=7 cpu_limit=1000 link=0 idle=0 random=1 '))
	AS c(codec, words), cut_rows(c.codec, c.words) r;
SELECT codec, target, count(*), count(*) FILTER (WHERE id % 4 <> target) AS wrong, sum(id) FROM cut_result GROUP BY 1, 2 ORDER BY 1, 2;
SELECT codec, (SELECT count(*) FROM (SELECT id, name, amount FROM cut_result r WHERE r.codec = c.codec
									 EXCEPT ALL TABLE remote.cut) x) AS added,
	(SELECT count(*) FROM (TABLE remote.cut EXCEPT ALL SELECT id, name, amount FROM cut_result r WHERE r.codec = c.codec) x) AS lost
	FROM (SELECT DISTINCT codec FROM cut_result) c ORDER BY 1;
SELECT count(*) AS out_of_order FROM (SELECT id > lag(id) OVER (PARTITION BY codec, target ORDER BY nr) AS wrong FROM cut_result) x WHERE wrong;

-- rows for any target go to each in turn, rows for all to each of them, in batches that end as they should
SELECT sender, kind, sum(rows_sent), count(*), max(rows_sent) FROM cut('SELECT id, CASE WHEN id % 3 = 0 THEN -1 WHEN id % 3 = 1 THEN -2 WHEN id % 5 > 0 THEN 1 END
	FROM remote.cut ORDER BY id', 'targets=4 spread=1 ', '23:-1', 10) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT sender, kind, sum(rows_sent), count(*) FROM cut('SELECT id, -2 FROM remote.cut WHERE id <= 100', 'targets=2 spread=1 ', '23:-1', bytes => 1) GROUP BY 1, 2 ORDER BY 1, 2;
SELECT sum(rows_sent), min(rows_sent), max(rows_sent) FROM cut('SELECT id, -1 FROM remote.cut', 'targets=64 spread=1 ', '23:-1') WHERE kind = 2;
SELECT sender, sum(rows_sent) FROM cut('SELECT id, name, amount, CASE WHEN id > 10 THEN NULL ELSE -2 END FROM remote.cut', 'targets=3 spread=1 ', '23:-1,25:-1,1700:-1')
	GROUP BY 1 ORDER BY 1;

-- what is no target
\set SHOW_CONTEXT never
SELECT count(*) FROM cut('SELECT id, CASE id WHEN 2999 THEN 3 ELSE 0 END FROM remote.cut', 'targets=3 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, -1 FROM remote.cut', 'targets=3 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, -2 FROM remote.cut', 'targets=3 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, -3 FROM remote.cut', 'targets=3 spread=1 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, 3 FROM remote.cut', 'targets=3 spread=1 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, 0 FROM remote.cut', 'spread=1 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, 0::int8 FROM remote.cut', 'targets=3 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, ''0'' AS name FROM remote.cut', 'targets=3 ', '23:-1');
SELECT count(*) FROM cut('SELECT id FROM remote.cut', 'targets=3 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, 0 FROM remote.cut', '', '23:-1');
SELECT count(*) FROM cut('SELECT id, 0 FROM remote.cut', 'targets=1 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, 0 FROM remote.cut', 'targets=65 ', '23:-1');
SELECT count(*) FROM cut('SELECT id, 0 FROM remote.cut FOR UPDATE', 'targets=2 fetch_rows=10 fixed=1 ', '23:-1');
SELECT exchange.send_text('version=1 encodings=1 codec=none level=0 batch_rows=10 batch_bytes=1000 server_version=150000 targets=2 columns=23:-1', t.*)
	FROM (SELECT 1, 0) t;

-- with slices, and with the plan
SELECT sender, sequence, kind, rows_sent > 0 AS rows FROM cut('SELECT id, id % 2 FROM remote.cut', 'slices=2 slice=0 blocks=0 targets=2 ', '23:-1', 3000)
	ORDER BY 1, 2;
CREATE TABLE remote.cut_blocks AS SELECT u32(frame, 44) AS blocks FROM cut('SELECT id, 0 FROM remote.cut', 'slices=2 slice=0 blocks=0 targets=2 ', '23:-1')
	WHERE kind = 4 AND sender = 0;
SELECT sum(rows_sent) FROM (SELECT rows_sent FROM cut('SELECT id, id % 2 FROM remote.cut', 'slices=2 slice=0 blocks=0 targets=2 ', '23:-1')
	UNION ALL SELECT s.rows_sent FROM remote.cut_blocks,
		LATERAL cut('SELECT id, id % 2 FROM remote.cut', format('slices=2 slice=1 blocks=%s targets=2 ', blocks), '23:-1') s) x;
SELECT sender, sequence, kind FROM cut('SELECT id, 0 FROM remote.cut', 'explain=1 targets=2 fetch_rows=100 ', '23:-1');

-- the batches of many targets are smaller than that of one, but not tiny
SELECT targets, max(raw) BETWEEN 0.9 * bytes AND 1.1 * bytes AS fit, count(*) FILTER (WHERE raw < 0.9 * bytes) <= targets AS full, sum(rows_sent)
	FROM (VALUES (2, 524288), (8, 131072), (64, 65536)) t(targets, bytes),
	LATERAL cut(format('SELECT id, repeat(''x'', 4000), id %% %s FROM remote.cut', targets), format('targets=%s ', targets), '23:-1,25:-1', codec => 'none')
	WHERE kind = 2 GROUP BY 1, bytes ORDER BY 1;
SELECT max(rows_sent), count(*) FILTER (WHERE rows_sent < 10) <= 64 AS full, sum(rows_sent)
	FROM cut('SELECT id, id % 64 FROM remote.cut', 'targets=64 ', '23:-1', 10) WHERE kind = 2;
-- no target keeps the memory of a wide row
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT exchange.send('version=1 encodings=1 codec=none level=0 batch_rows=4096 batch_bytes=1048576 server_version=150000 targets=64 columns=25:-1', t.*)
	FROM (SELECT repeat('x', 2000000), i % 64 FROM generate_series(1, 256) i) t;
MOVE 300 FROM c;
SELECT sum(total_bytes) BETWEEN 2000000 AND 20000000 AS bounded FROM pg_backend_memory_contexts WHERE name = 'ExchangeSend';
COMMIT;

-- below a Gather, each participant has a sender for each target
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 targets=4 columns=23:-1', t.*)
	FROM (SELECT id, id % 2 FROM remote.cut) t$$, 'ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF');
ALTER TABLE remote.cut SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 targets=4 columns=23:-1', t.*)
	FROM (SELECT id, id % 3 FROM remote.cut) t$$);
-- a worker may find no rows left, but says so for each target
SELECT sender / 4 > 0 AS worker, sender % 4 AS target, sum(rows_sent), bool_and(whole) AS whole
	FROM (SELECT sender, sum(rows_sent) AS rows_sent, string_agg(kind::text, '' ORDER BY sequence) ~ '^12*3$' AND count(*) = max(sequence) + 1 AS whole
		  FROM cut('SELECT id, id % 3 FROM remote.cut', 'targets=4 ', '23:-1', 50) GROUP BY 1) x GROUP BY 1, 2 ORDER BY 1, 2;
-- and there are no more participants than numbers of senders
ALTER TABLE remote.cut SET (parallel_workers = 1000);
SET max_parallel_workers_per_gather = 1000;
SELECT targets, most, workers FROM (VALUES ('', 1000), ('targets=2 ', 511), ('targets=64 ', 15)) t(targets, most),
	LATERAL (SELECT substring(l, 'Workers Planned: (\d+)')::int AS workers FROM explain_stable(format($$SELECT
	exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 %scolumns=23:-1', t.*)
	FROM (SELECT id%s FROM remote.cut) t$$, targets, CASE WHEN targets <> '' THEN ', id % 2' END)) l WHERE l ~ 'Workers Planned') x;
SHOW max_parallel_workers_per_gather;
\c
-- a huge row for all targets is in one batch at a time
SELECT coalesce(substring(pg_read_file('/proc/self/status', 0, 100000, true), 'VmHWM:\s+(\d+)')::bigint, 0) AS before \gset
SELECT exchange.send('version=1 encodings=16383 codec=lz4 level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 targets=64 spread=1 columns=25:-1,23:-1', t.*)
	FROM (SELECT repeat('abcdefgh', 500000), i, -2 FROM generate_series(1, 2) i) t \g /dev/null
SELECT coalesce(substring(pg_read_file('/proc/self/status', 0, 100000, true), 'VmHWM:\s+(\d+)')::bigint, 0) - :before < 100000 AS fits;
DROP TABLE remote.cut_blocks, cut_result;
DROP TABLE remote.cut;
DROP FUNCTION cut_rows, cut, u32, cut_frames;
