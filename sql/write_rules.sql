--
-- Which writes may travel as frames, and what EXPLAIN and the statistics say.
--
SET pg_exchange.min_write_rows = 0;
SELECT exchange.reset_stats();

CREATE TABLE remote.wr(a int, b text, c int GENERATED ALWAYS AS (a * 2) STORED);
CREATE FOREIGN TABLE wr(a int, b text, c int GENERATED ALWAYS AS (a * 2) STORED)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr');
CREATE FOREIGN TABLE wr_batch(a int, b text, c int GENERATED ALWAYS AS (a * 2) STORED)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr', batch_size '10');

SELECT explain_stable('INSERT INTO wr SELECT g, g FROM generate_series(1, 100) g',
					  'ANALYZE, COSTS OFF, TIMING OFF');
-- The size of postgres_fdw's statements is shown as ever.
SELECT explain_stable('INSERT INTO wr_batch SELECT g, g FROM generate_series(1, 100) g',
					  'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF');
-- Without ANALYZE nothing is asked.
SELECT explain_stable('INSERT INTO wr SELECT g, g FROM generate_series(1, 100) g');
SELECT count(*), sum(c) FROM remote.wr;

-- Properties that differ between two runs are left out.
CREATE FUNCTION explain_keys(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT key || CASE WHEN key ~ 'Time|Ratio|Bytes|Compression' THEN '' ELSE ': ' || value END
		FROM json_each_text(plan->0->'Plan')
		WHERE key ~ '^(Foreign|Compression|Transport|Wire|Raw|Ratio|.*Time \(ms\))';
END
$$;
SELECT explain_keys('INSERT INTO wr SELECT g, g FROM generate_series(1, 100) g');

-- Few rows: without a look at them, or when there are no more.
SET pg_exchange.min_write_rows = 3;
SELECT transport('INSERT INTO wr VALUES (1)');
SELECT transport('INSERT INTO wr VALUES (1), (2), (3)');
SELECT transport('INSERT INTO wr VALUES (1), (2), (3), (4)');
SELECT transport('INSERT INTO wr SELECT g FROM generate_series(1, 3) g');
SELECT transport('INSERT INTO wr SELECT g FROM generate_series(1, 4) g');
SET pg_exchange.min_write_rows = 0;
SELECT transport('INSERT INTO wr VALUES (1)');

--
-- Reasons
--
SELECT transport('INSERT INTO wr VALUES (1) RETURNING a');
SELECT transport('WITH x AS (INSERT INTO wr VALUES (1) RETURNING a) SELECT a FROM x');
SELECT transport('WITH x AS (INSERT INTO remote.wr VALUES (1)) INSERT INTO wr VALUES (1)');

CREATE VIEW wr_view AS SELECT a, b FROM wr WHERE a > 0 WITH CHECK OPTION;
SELECT transport('INSERT INTO wr_view VALUES (1)');
DROP VIEW wr_view;

CREATE FUNCTION wr_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER row_trigger AFTER INSERT ON wr FOR EACH ROW EXECUTE FUNCTION wr_trigger();
SELECT transport('INSERT INTO wr VALUES (1)');
DROP TRIGGER row_trigger ON wr;
CREATE TRIGGER row_trigger BEFORE UPDATE ON wr FOR EACH ROW EXECUTE FUNCTION wr_trigger();
SELECT transport('INSERT INTO wr VALUES (1)');
DROP TRIGGER row_trigger ON wr;

-- Statement triggers fire when all rows are there; but COPY fires them first.
CREATE TRIGGER statement_trigger AFTER INSERT ON wr FOR EACH STATEMENT EXECUTE FUNCTION wr_trigger();
SELECT transport('INSERT INTO wr VALUES (1)');
SET client_min_messages = debug1;
COPY wr (a, b) FROM stdin;
1	one
\.
RESET client_min_messages;
DROP TRIGGER statement_trigger ON wr;

CREATE FOREIGN TABLE wr_none() SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr');
SELECT transport('INSERT INTO wr_none DEFAULT VALUES');

SET pg_exchange.writes = off;
SELECT transport('INSERT INTO wr VALUES (1)');
SET pg_exchange.writes = on;
SET pg_exchange.enabled = off;
SELECT transport('INSERT INTO wr VALUES (1)');
SET pg_exchange.enabled = on;

--
-- Functions that may look at the rows.  With batch_size over 1, postgres_fdw
-- does not promise what they see.
--
CREATE FUNCTION wr_count(int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT count(*)::int FROM wr WHERE b = ''seen''';
CREATE FUNCTION wr_next(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 + 1; END';
SELECT transport('INSERT INTO wr SELECT wr_count(g), ''seen'' FROM generate_series(1, 3) g');
SELECT a FROM remote.wr WHERE b = 'seen' ORDER BY a;
SELECT transport('INSERT INTO wr_batch SELECT wr_count(g) FROM generate_series(1, 3) g');
SELECT transport('INSERT INTO wr SELECT wr_next(g) FROM generate_series(1, 3) g');
SELECT transport('INSERT INTO wr SELECT random() FROM generate_series(1, 3) g');
SELECT transport($$INSERT INTO wr SELECT g, query_to_xml('SELECT 1', false, false, '') FROM generate_series(1, 3) g$$);
CREATE DOMAIN wr_domain AS int CHECK (wr_count(VALUE) >= 0);
SELECT transport('INSERT INTO wr SELECT g::wr_domain FROM generate_series(1, 3) g');

-- An aggregate is what its functions are.
CREATE FUNCTION wr_step(int, int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT wr_count($2)';
CREATE FUNCTION wr_last(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $2';
CREATE AGGREGATE wr_counts(int) (sfunc = wr_step, stype = int, initcond = 0);
CREATE AGGREGATE wr_lasts(int) (sfunc = wr_last, stype = int, initcond = 0);
SELECT transport('INSERT INTO wr SELECT wr_counts(g) OVER (ORDER BY g), ''seen'' FROM generate_series(1, 3) g');
SELECT a FROM remote.wr WHERE b = 'seen' ORDER BY a;
SELECT transport('INSERT INTO wr SELECT wr_lasts(g) OVER (ORDER BY g) FROM generate_series(1, 3) g');
DROP AGGREGATE wr_counts(int);
DROP AGGREGATE wr_lasts(int);
DROP FUNCTION wr_step, wr_last;

-- Values of domains that input functions make.
CREATE TYPE wr_pair AS (x int, y wr_domain);
SELECT transport('INSERT INTO wr SELECT ((''('' || g || '',1)'')::wr_pair).x FROM generate_series(1, 3) g');
SELECT transport('INSERT INTO wr SELECT y FROM generate_series(1, 3) g, json_to_record(json_build_object(''y'', g)) AS r(y wr_domain)');
SELECT transport('INSERT INTO wr SELECT (json_populate_record(NULL::wr_pair, json_build_object(''y'', g))).y FROM generate_series(1, 3) g');
CREATE FOREIGN TABLE wr_checked(a wr_domain, b text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr');
SET client_min_messages = debug1;
COPY wr_checked FROM stdin;
1	checked
2	checked
\.
COPY wr_checked (b) FROM stdin;
not checked
\.
RESET client_min_messages;
DROP FOREIGN TABLE wr_checked;
DROP TYPE wr_pair;

-- In constraints and generated columns, functions must be declared immutable.
CREATE DOMAIN wr_domain_immutable AS int CHECK (wr_next(VALUE) >= 0);
SELECT transport('INSERT INTO wr SELECT g::wr_domain_immutable FROM generate_series(1, 3) g');
CREATE FOREIGN TABLE wr_generated(a int, b text, c int GENERATED ALWAYS AS (wr_next(a)) STORED)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr');
SELECT transport('INSERT INTO wr_generated SELECT g FROM generate_series(1, 3) g');

-- Defaults and conditions of COPY, too.
CREATE FOREIGN TABLE wr_default(a int DEFAULT wr_count(1), b text, c int GENERATED ALWAYS AS (a * 2) STORED)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr');
SET client_min_messages = debug1;
COPY wr_default (b) FROM stdin;
default
default
\.
COPY wr (a, b) FROM stdin WHERE wr_count(a) > 0;
1	condition
\.
COPY wr (a, b) FROM stdin WHERE wr_next(a) > 2;
1	next
2	next
\.
RESET client_min_messages;
SELECT b, count(*) FROM remote.wr WHERE b IN ('default', 'condition', 'next') GROUP BY b ORDER BY b;

--
-- Scans of the same server that begin after rows were written: those of
-- postgres_fdw would miss rows; ours have them sent before.
--
TRUNCATE remote.wr;
INSERT INTO remote.wr VALUES (1), (2);
SELECT transport('INSERT INTO wr SELECT g, (SELECT b FROM wr w WHERE w.a = g LIMIT 1) FROM generate_series(3, 4) g');
SET pg_exchange.min_bytes = '1MB';		-- so that the subquery is a lookup
SELECT transport('INSERT INTO wr SELECT g, (SELECT b FROM wr w WHERE w.a = g LIMIT 1) FROM generate_series(3, 4) g');
RESET pg_exchange.min_bytes;
SELECT transport('INSERT INTO wr SELECT a + 10 FROM wr UNION ALL SELECT a + 100 FROM wr');
SELECT a FROM remote.wr ORDER BY a;
-- The same by postgres_fdw alone.
TRUNCATE remote.wr;
INSERT INTO remote.wr VALUES (1), (2), (3), (4);
SET pg_exchange.enabled = off;
INSERT INTO wr SELECT a + 10 FROM wr UNION ALL SELECT a + 100 FROM wr;
SET pg_exchange.enabled = on;
SELECT a FROM remote.wr ORDER BY a;

-- A merge join may begin its inner side after rows without a key.
CREATE TABLE remote.wr_few AS SELECT g AS a, 'few' AS b FROM generate_series(1, 3) g;
CREATE FOREIGN TABLE wr_few(a int, b text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr_few');
ANALYZE wr_few;
SET pg_exchange.min_bytes = '1MB';		-- so postgres_fdw reads it
CREATE TABLE wr_keys AS SELECT nullif(g, 5) AS a FROM generate_series(1, 5) g;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT transport('INSERT INTO wr_few SELECT k.a, f.b FROM wr_keys k JOIN wr_few f ON k.a = wr_next(f.a) ORDER BY k.a DESC');
SELECT transport('INSERT INTO wr_few SELECT 4, coalesce(f.b, ''none'') FROM wr_keys k LEFT JOIN wr_few f ON k.a = wr_next(f.a) ORDER BY k.a DESC');
SELECT a, b, count(*) FROM remote.wr_few GROUP BY 1, 2 ORDER BY 1, 2;
-- Rows that postgres_fdw returns one by one may be of a view that looks.
SELECT transport('INSERT INTO wr_few SELECT a, b FROM wr_few');
RESET enable_hashjoin;
RESET enable_nestloop;
RESET pg_exchange.min_bytes;
DROP FOREIGN TABLE wr_few;
DROP TABLE remote.wr_few, wr_keys;

--
-- Two foreign tables for the same remote table: the first row with a key stays.
--
CREATE TABLE remote.wr_same(a int, b int PRIMARY KEY, c text);
CREATE TABLE wr_same(a int, b int, c text) PARTITION BY LIST (a);
CREATE FOREIGN TABLE wr_same_1 PARTITION OF wr_same FOR VALUES IN (1)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr_same');
CREATE FOREIGN TABLE wr_same_2 PARTITION OF wr_same FOR VALUES IN (2)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr_same');
INSERT INTO wr_same SELECT 1 + g % 2, g % 3, 'row ' || g FROM generate_series(1, 9) g ON CONFLICT DO NOTHING;
SELECT * FROM remote.wr_same ORDER BY b;
SELECT transport('INSERT INTO wr_same SELECT 1 + g % 2, g FROM generate_series(11, 19) g');
SELECT transport('INSERT INTO wr_same SELECT 1, g FROM generate_series(21, 29) g');

-- As with postgres_fdw, no index is locked any longer than needed.
BEGIN;
INSERT INTO wr_same SELECT 1, g FROM generate_series(31, 39) g;
SELECT relation::regclass, mode FROM pg_locks
	WHERE relation::regclass::text LIKE 'remote.wr_same%' AND pid <> pg_backend_pid();
COMMIT;
DROP TABLE wr_same, remote.wr_same;

-- A default that each statement has another value of.
CREATE TABLE remote.wr_time(a int, b timestamptz DEFAULT statement_timestamp() PRIMARY KEY);
CREATE FOREIGN TABLE wr_time(a int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr_time');
INSERT INTO wr_time SELECT generate_series(1, 20);
ALTER FOREIGN TABLE wr_time OPTIONS (ADD batch_size '2');
ALTER TABLE remote.wr_time DROP CONSTRAINT wr_time_pkey;
INSERT INTO wr_time SELECT generate_series(21, 40);
SELECT count(*), count(DISTINCT b) FROM remote.wr_time;
DROP FOREIGN TABLE wr_time;
DROP TABLE remote.wr_time;

-- An index of a remote partition may look at the rows that are there.
CREATE TABLE remote.wr_rows(a int) PARTITION BY LIST (a);
CREATE TABLE remote.wr_rows_1 PARTITION OF remote.wr_rows DEFAULT;
CREATE FUNCTION remote.wr_rows(int) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS
	'BEGIN RETURN (SELECT count(*) FROM remote.wr_rows); END';
CREATE UNIQUE INDEX ON remote.wr_rows_1 (remote.wr_rows(a));
CREATE FOREIGN TABLE wr_rows(a int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr_rows');
SELECT transport('INSERT INTO wr_rows SELECT generate_series(1, 9)');
SELECT count(*) FROM remote.wr_rows;
DROP FOREIGN TABLE wr_rows;
DROP TABLE remote.wr_rows;
DROP FUNCTION remote.wr_rows;

--
-- Rows that are routed
--
CREATE TABLE wr_parent(a int, b text) PARTITION BY LIST (a);
CREATE TABLE remote.wr_1(b text, a int);
CREATE TABLE remote.wr_2(a int, b text);
CREATE FOREIGN TABLE wr_1(b text, a int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr_1');
ALTER TABLE wr_parent ATTACH PARTITION wr_1 FOR VALUES IN (1);
CREATE FOREIGN TABLE wr_2 PARTITION OF wr_parent FOR VALUES IN (2)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'wr_2');
CREATE TABLE wr_3 PARTITION OF wr_parent FOR VALUES IN (3);
SELECT explain_stable('INSERT INTO wr_parent SELECT 1 + g % 3, g FROM generate_series(1, 300) g',
					  'ANALYZE, COSTS OFF, TIMING OFF');
COPY wr_parent FROM stdin;
1	copied
2	copied
3	copied
\.
SET pg_exchange.min_write_rows = 5;
SELECT explain_stable('INSERT INTO wr_parent SELECT 1 + (g % 10 = 0)::int, g FROM generate_series(1, 30) g',
					  'ANALYZE, COSTS OFF, TIMING OFF');
SELECT explain_keys('INSERT INTO wr_parent SELECT 1 + (g % 10 = 0)::int, g FROM generate_series(1, 30) g');
SET pg_exchange.min_write_rows = 0;
SELECT a, count(*), sum(b::int) FILTER (WHERE b <> 'copied') FROM wr_parent GROUP BY a ORDER BY a;

-- Rows may move from a local partition into one that is written to.
SELECT transport('UPDATE wr_parent SET a = 1 WHERE b = ''copied'' AND random() > 2');
SELECT transport('UPDATE wr_parent SET b = b || ''!'' WHERE a = 1 AND random() > 2');

INSERT INTO wr_parent VALUES (1, 'copied');
SELECT transport('UPDATE wr_parent SET b = b || wr_next(1) WHERE wr_next(a) < 10');
SELECT transport('UPDATE wr_parent SET a = a WHERE wr_next(a) < 10');
SELECT transport('DELETE FROM wr_parent WHERE b = ''copied2'' AND wr_next(a) < 10');
CREATE TRIGGER row_trigger BEFORE UPDATE ON wr_3 FOR EACH ROW EXECUTE FUNCTION wr_trigger();
SELECT transport('UPDATE wr_parent SET b = b || wr_next(1) WHERE wr_next(a) < 10');
DROP TRIGGER row_trigger ON wr_3;

-- A trigger of a partition may look at the others.
CREATE TRIGGER row_trigger BEFORE INSERT ON wr_3 FOR EACH ROW EXECUTE FUNCTION wr_trigger();
SELECT transport('INSERT INTO wr_parent SELECT 1 + g % 3, g FROM generate_series(1, 300) g');
DROP TRIGGER row_trigger ON wr_3;
SELECT transport('INSERT INTO wr_parent SELECT 1 + g % 3, g FROM generate_series(1, 300) g');

CREATE TRIGGER row_trigger AFTER INSERT ON wr_3 FOR EACH ROW EXECUTE FUNCTION wr_trigger();
SELECT transport('INSERT INTO wr_parent SELECT 1 + g % 3, g FROM generate_series(1, 300) g');
SET client_min_messages = debug1;
COPY wr_parent FROM stdin;
1	copied
\.
RESET client_min_messages;
DROP TRIGGER row_trigger ON wr_3;

-- So may its constraints and indexes.
ALTER TABLE wr_3 ADD CONSTRAINT looks CHECK (wr_count(a) >= 0);
SELECT transport('INSERT INTO wr_parent SELECT 1 + g % 3, g FROM generate_series(1, 300) g');
SELECT transport('UPDATE wr_parent SET b = b || wr_next(1) WHERE wr_next(a) < 10');
ALTER TABLE wr_3 DROP CONSTRAINT looks;
CREATE INDEX wr_3_looks ON wr_3 (wr_next(a));
SELECT transport('INSERT INTO wr_parent SELECT 1 + g % 3, g FROM generate_series(1, 300) g');
SELECT transport('UPDATE wr_parent SET b = b || wr_next(1) WHERE wr_next(a) < 10');
DROP INDEX wr_3_looks;
SELECT transport('INSERT INTO wr_parent SELECT 1 + g % 3, g FROM generate_series(1, 300) g');

CREATE TRIGGER transition_trigger AFTER INSERT ON wr_parent REFERENCING NEW TABLE AS added
	FOR EACH STATEMENT EXECUTE FUNCTION wr_trigger();
\set VERBOSITY terse
SELECT transport('INSERT INTO wr_parent SELECT 3, g FROM generate_series(1, 3) g');
INSERT INTO wr_parent VALUES (1, 'one');
DROP TRIGGER transition_trigger ON wr_parent;

--
-- Rows that the remote skips are not counted, by COPY neither.
--
CREATE FUNCTION remote.skip_odd() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN IF new.a % 2 = 1 THEN RETURN NULL; END IF; RETURN new; END';
CREATE TRIGGER skip_odd BEFORE INSERT ON remote.wr FOR EACH ROW EXECUTE FUNCTION remote.skip_odd();
CREATE FUNCTION row_count(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE query;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END
$$;
SELECT row_count('COPY wr (a) FROM PROGRAM ''echo 1; echo 2; echo 3''');
SELECT row_count('INSERT INTO wr SELECT g FROM generate_series(1, 3) g');
SELECT row_count('COPY wr_batch (a) FROM PROGRAM ''echo 1; echo 2; echo 3''');
SELECT row_count('INSERT INTO wr_batch SELECT g FROM generate_series(1, 3) g');
SET pg_exchange.min_write_rows = 128;
SELECT row_count('COPY wr (a) FROM PROGRAM ''echo 1; echo 2; echo 3''');
SELECT row_count('INSERT INTO wr SELECT g FROM generate_series(1, 3) g');
SELECT row_count('COPY wr_batch (a) FROM PROGRAM ''echo 1; echo 2; echo 3''');
SELECT row_count('INSERT INTO wr_batch SELECT g FROM generate_series(1, 3) g');

SELECT writes > 0 AS writes, write_fallbacks > 0 AS fallbacks, rows_sent > 0 AS rows_sent, bytes_sent > 0 AS bytes_sent
FROM exchange.pg_stat_exchange WHERE srvname = 'loopback';

-- What is running, seen by a function of the statement.
SET pg_exchange.compression = none;
CREATE FUNCTION wr_progress(int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN (SELECT format('%s %s: %s rows of %s, %s', srvname, direction,
						  CASE WHEN blocked_on IN ('query', 'server') AND rows BETWEEN 1 AND estimated_rows AND batches > 0 AND raw_bytes > wire_bytes * 0.8
							   THEN 'some' END, estimated_rows, remote_query)
			FROM exchange.pg_stat_progress_exchange);
END
$$;
DROP TRIGGER skip_odd ON remote.wr;
INSERT INTO wr SELECT g, CASE WHEN g = 10000 THEN wr_progress(g) ELSE repeat('x', 1000) END
	FROM generate_series(1, 10000) g;
SELECT b FROM remote.wr WHERE a = 10000;
SELECT wr_progress(1);

-- The relation cache may have routines from before the library was loaded.
-- Partitions are left to postgres_fdw then.
\c -reuse-previous=on "options='-c session_preload_libraries='"
SELECT count(*) FROM wr, wr_parent p WHERE p.a = wr.a AND p.b = 'late';
LOAD 'pg_exchange';
SET pg_exchange.min_write_rows = 0;
SELECT transport('INSERT INTO wr VALUES (7)');
SELECT transport('INSERT INTO wr_parent VALUES (1, ''late''), (2, ''late'')');
SELECT count(*) FROM wr_parent WHERE b = 'late';

DROP FOREIGN TABLE wr, wr_batch, wr_none, wr_default, wr_generated;
DROP TABLE wr_parent;
DROP TABLE remote.wr, remote.wr_1, remote.wr_2;
DROP DOMAIN wr_domain_immutable;
DROP FUNCTION wr_trigger, wr_next, wr_progress, remote.skip_odd, row_count, explain_keys;
DROP DOMAIN wr_domain;
DROP FUNCTION wr_count;
