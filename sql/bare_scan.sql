--
-- Scans below ExchangeSend do not project: it takes the columns, and the
-- target of a row, out of the table's own tuples.
--
CREATE TABLE remote.bare (id int NOT NULL, small int2, word text, amount numeric(10,2), flag bool, nullable int8, day date, long text);
INSERT INTO remote.bare SELECT i, (i % 300)::int2, repeat('w', i % 30), i / 4.0, i % 3 = 0, CASE WHEN i % 5 > 0 THEN i * 10000000000 END,
	date '2026-01-01' + i % 50, CASE WHEN i % 700 = 0 THEN repeat(md5(i::text), 200) END FROM generate_series(1, 3000) i;
CREATE INDEX ON remote.bare (day);
ALTER TABLE remote.bare SET (parallel_workers = 0);
ANALYZE remote.bare;
CREATE FOREIGN TABLE bare (id int NOT NULL, small int2, word text, amount numeric(10,2), flag bool, nullable int8, day date, long text)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'bare');
-- the same columns in another order
CREATE FOREIGN TABLE bare_turned (long text, nullable int8, id int, day date, word text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'bare');

-- What the scan below a sender returns.
CREATE FUNCTION scan_output(query text, n int, words text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (VERBOSE, COSTS OFF) SELECT exchange.send(%L, t) FROM (%s) t',
			'version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 ' || words ||
			'columns=' || (SELECT string_agg('25:-1', ',') FROM generate_series(1, n)), query) LOOP
		CONTINUE WHEN line !~ 'Scan|Output' OR line ~ 'exchange.send\(';
		RETURN NEXT trim(regexp_replace(line, '(SubPlan )expr_(\d+)', '\1\2'));
	END LOOP;
END
$$;
SELECT scan_output('SELECT word, id FROM remote.bare', 2);
SELECT scan_output('SELECT word, word, day FROM remote.bare WHERE id > 7', 3);
SELECT scan_output('SELECT word FROM remote.bare WHERE day = ''2026-01-07'' ORDER BY day', 1);
SELECT scan_output('SELECT word FROM remote.bare WHERE small = ANY (''{1,2,3,4,5,6,7,8,9}'')', 1);
SELECT scan_output('SELECT id, exchange.partition_number(4, id::int8) FROM remote.bare', 1, 'targets=4 ');
SELECT scan_output('SELECT id, nullable::int4 FROM remote.bare', 1, 'targets=4 ');
-- what has to be computed is projected
SELECT scan_output('SELECT id, upper(word) FROM remote.bare', 2);
SELECT scan_output('SELECT id, ctid FROM remote.bare', 2);
SELECT scan_output('SELECT b FROM remote.bare b', 1);
SELECT scan_output('SELECT id, (SELECT min(x.id) FROM remote.bare x WHERE x.small = b.small) FROM remote.bare b', 1, 'targets=4 ');
SELECT scan_output('SELECT upper(word), id % 4 FROM remote.bare b', 1, 'targets=4 ');
-- the target's type is looked at all the same
SELECT scan_output('SELECT id, id::int8 % 4 FROM remote.bare b', 1, 'targets=4 ');

-- Rows by core and by exchange: how many, and how many differ.
CREATE FUNCTION bare_rows(columns text, rest text DEFAULT '', name text DEFAULT 'bare', OUT rows bigint, OUT differs bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TEMP TABLE wanted AS SELECT t::text AS row FROM (SELECT %s FROM remote.bare %s) t', columns, rest);
	EXECUTE format('CREATE TEMP TABLE got AS SELECT t::text AS row FROM (SELECT %s FROM %I %s) t', columns, name, rest);
	SELECT count(*) INTO rows FROM wanted;
	SELECT count(*) INTO differs FROM ((TABLE wanted EXCEPT ALL TABLE got) UNION ALL (TABLE got EXCEPT ALL TABLE wanted)) x;
	DROP TABLE wanted, got;
END
$$;
CREATE FUNCTION all_rows(OUT rows bigint, OUT differs bigint) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT (bare_rows(c, r, n)).* FROM (VALUES ('id'), ('word, flag'), ('nullable, day'), ('id, long'), ('long, id, word')) a(c),
		(VALUES (''), ('WHERE id % 7 > 2'), ('WHERE nullable > 5000000000000'), ('WHERE day < ''2026-01-04'''), ('WHERE long IS NOT NULL')) b(r),
		(VALUES ('bare'), ('bare_turned')) d(n) WHERE n = 'bare' OR c !~ 'flag'
$$;
SELECT DISTINCT rows, differs FROM all_rows() ORDER BY 1, 2;
SET pg_exchange.transport = session;
SELECT DISTINCT rows, differs FROM all_rows() ORDER BY 1, 2;
RESET pg_exchange.transport;
-- Rows of a page are read without a call for each: all are counted as read, ranges that begin and end within a page are kept,
-- filters are evaluated, and what was deleted is not seen.
CREATE VIEW remote.bare_middle AS SELECT id, word FROM remote.bare WHERE ctid >= '(3,5)' AND ctid < '(7,2)';
CREATE VIEW remote.bare_page AS SELECT id, word FROM remote.bare WHERE ctid > '(3,5)' AND ctid <= '(3,9)' AND id > 0;
CREATE FOREIGN TABLE bare_middle (id int, word text) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE bare_page (id int, word text) SERVER loopback OPTIONS (schema_name 'remote');
DELETE FROM remote.bare WHERE id % 11 = 0;
SELECT scan_output('SELECT id FROM remote.bare_middle', 1);
SELECT (SELECT array_agg(id ORDER BY id) FROM remote.bare_middle) = array_agg(id ORDER BY id) AS same, count(*) > 2 AS some FROM (SELECT id FROM bare_middle OFFSET 0) m;
SELECT (SELECT array_agg(id ORDER BY id) FROM remote.bare_page) = array_agg(id ORDER BY id) AS same, count(*) > 2 AS some FROM (SELECT id FROM bare_page OFFSET 0) m;
SELECT DISTINCT rows, differs FROM all_rows() ORDER BY 1, 2;
SELECT * FROM bare_rows('id, word', 'WHERE 6000 / (small + 1) > 20 AND length(word) > 3');
SELECT pg_stat_force_next_flush();
SELECT seq_tup_read AS before FROM pg_stat_user_tables WHERE relname = 'bare' \gset
SELECT count(sent('SELECT id FROM remote.bare WHERE flag', '23:-1')) > 0 AS sent;
SELECT pg_stat_force_next_flush();
SELECT seq_tup_read - :before = (SELECT count(*) FROM remote.bare) AS all_read FROM pg_stat_user_tables WHERE relname = 'bare';
-- columns that were added or dropped after a row was written: the first is projected by core
ALTER TABLE remote.bare ADD COLUMN later int;
SELECT scan_output('SELECT word, id FROM remote.bare', 2);
SELECT DISTINCT rows, differs FROM all_rows() ORDER BY 1, 2;
ALTER TABLE remote.bare ADD COLUMN filled int DEFAULT 42;
SELECT scan_output('SELECT word, id FROM remote.bare', 2);
ALTER FOREIGN TABLE bare ADD COLUMN filled int;
SELECT * FROM bare_rows('id, filled');
ALTER TABLE remote.bare DROP COLUMN filled, DROP COLUMN amount;
ALTER FOREIGN TABLE bare DROP COLUMN filled, DROP COLUMN amount;
SELECT scan_output('SELECT word, id FROM remote.bare', 2);
SELECT DISTINCT rows, differs FROM all_rows() ORDER BY 1, 2;
-- the table is altered between two reads
PREPARE reads AS SELECT count(*), sum(id), max(day) FROM bare;
EXECUTE reads;
ALTER TABLE remote.bare DROP COLUMN later, ADD COLUMN newer text DEFAULT 'x';
EXECUTE reads;
-- the right to read a column is that of the query
CREATE ROLE bare_reader LOGIN;
GRANT USAGE ON SCHEMA remote TO bare_reader;
GRANT SELECT (id, word) ON remote.bare TO bare_reader;
SET ROLE bare_reader;
SELECT count(*) > 0 FROM scan_output('SELECT word, id FROM remote.bare', 2);
SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1', t)
	FROM (SELECT day FROM remote.bare) t;
RESET ROLE;
DROP OWNED BY bare_reader;
DROP ROLE bare_reader;
DROP FUNCTION all_rows(), bare_rows(text, text, text), scan_output(text, int, text);
DROP FOREIGN TABLE bare, bare_turned, bare_middle, bare_page;
DROP VIEW remote.bare_middle, remote.bare_page;
DROP TABLE remote.bare;
