--
-- ExchangeInsert: the rows of frames stored in batches, with the first error
-- of inserting one row after the other.
--
\set VERBOSITY terse
CREATE SCHEMA inserting;
SET search_path = inserting, public;

-- bytes as in doc/wire.md: blocks of 105, groups of 7, symbols of 7 bits
CREATE FUNCTION armour(bytes bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	padded bytea := bytes || '\x00000000000000';
	nbytes int := length(bytes);
	result text := '';
	symbols int[];
	n bigint;
	mask int;
BEGIN
	FOR block IN 0 .. (nbytes - 1) / 105 LOOP
		symbols := '{}';
		FOR i IN block * 105 .. least(block * 105 + 104, nbytes - 1) BY 7 LOOP
			n := get_byte(padded, i) | (get_byte(padded, i + 1) << 8) | (get_byte(padded, i + 2) << 16)
				| (get_byte(padded, i + 3)::bigint << 24) | (get_byte(padded, i + 4)::bigint << 32)
				| (get_byte(padded, i + 5)::bigint << 40) | (get_byte(padded, i + 6)::bigint << 48);
			symbols := symbols || ARRAY[n & 127, n >> 7 & 127, n >> 14 & 127, n >> 21 & 127, n >> 28 & 127, n >> 35 & 127,
				n >> 42 & 127, n >> 49 & 127]::int[];
		END LOOP;
		symbols := symbols[1:(least(105, nbytes - block * 105) * 8 + 6) / 7];
		SELECT max(m) INTO mask FROM generate_series(1, 127) m WHERE m <> ALL (symbols);
		result := result || chr(mask) ||
			(SELECT string_agg(chr(s # mask), '' ORDER BY o) FROM unnest(symbols) WITH ORDINALITY u(s, o));
	END LOOP;
	RETURN result;
END
$$;
CREATE FUNCTION frames(query text, columns text) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT exchange.send(%L, t) FROM (%s) t',
		'version=1 encodings=32767 codec=none level=0 batch_rows=700 batch_bytes=1048576 server_version=150000 columns='
		|| columns, query);
END
$$;
CREATE FUNCTION piece(query text, columns text) RETURNS text LANGUAGE sql AS $$
	SELECT armour(string_agg(f, '' ORDER BY n)) FROM frames(query, columns) WITH ORDINALITY u(f, n)
$$;
CREATE FUNCTION apply(statement text, frames text, batch_size int DEFAULT 1) RETURNS text LANGUAGE sql AS $$
	SELECT substring(exchange.apply('version=1 batch_size=' || batch_size, statement, frames) FROM 'rows=\d+')
$$;

--
-- Which plans have the node
--
CREATE FUNCTION plan_of(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		RETURN NEXT line;
	END LOOP;
END
$$;
-- only how the rows are inserted
CREATE FUNCTION how(target text, more text DEFAULT '') RETURNS text LANGUAGE sql AS $$
	SELECT coalesce((SELECT substring(line FROM 'Insert Mode: (.*)') FROM plan_of(format(
		'INSERT INTO %s(a, b) SELECT a, b FROM exchange.unpack(''x'') u(a int, b text) %s', target, more)) line
		WHERE line ~ 'Insert Mode'), 'ModifyTable')
$$;
CREATE TABLE heap (a int, b text);
SELECT plan_of($$INSERT INTO heap SELECT * FROM exchange.unpack('x') u(a int, b text)$$);
EXPLAIN (COSTS OFF, VERBOSE) INSERT INTO heap(b, a) SELECT b, a + 1 FROM exchange.unpack('x') u(a int, b text) WHERE a > 1;

CREATE TABLE keyed (a int PRIMARY KEY, b text);
CREATE TABLE indexed (a int, b text);
CREATE INDEX ON indexed (b);
CREATE TABLE referring (a int REFERENCES keyed, b text);
CREATE TABLE deferring (a int UNIQUE DEFERRABLE, b text);
CREATE TABLE checked (a int PRIMARY KEY CHECK (a > 0), b varchar(10) CHECK (b <> ''), c int GENERATED ALWAYS AS (a * 2) STORED);
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE moody (a int PRIMARY KEY, b text, m mood DEFAULT 'sad' CHECK (m <> 'happy'));
CREATE FUNCTION small(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 < 10; END';
CREATE FUNCTION any_size(int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE TABLE counted (a int, b text, s serial);
CREATE TABLE counted_keyed (a int, b text, s serial PRIMARY KEY);
CREATE TABLE user_check (a int CHECK (small(a)), b text);
CREATE TABLE user_check_keyed (a int PRIMARY KEY CHECK (small(a)), b text);
CREATE TABLE volatile_check (a int CHECK (any_size(a)), b text);
CREATE DOMAIN word AS text CHECK (VALUE <> '');
CREATE TABLE domain_keyed (a int PRIMARY KEY, b word);
CREATE TABLE part_of (a int PRIMARY KEY, b text) PARTITION BY RANGE (a);
CREATE TABLE part PARTITION OF part_of FOR VALUES FROM (0) TO (1000);
CREATE TABLE other_part PARTITION OF part_of FOR VALUES FROM (1000) TO (2000);
CREATE TABLE plain_storage (a int, b text);
ALTER TABLE plain_storage ALTER b SET STORAGE PLAIN;
CREATE VIEW view_of AS SELECT a, b FROM keyed;
SELECT t AS target, how(t) FROM unnest(ARRAY['heap', 'keyed', 'indexed', 'referring', 'deferring', 'checked', 'moody', 'part',
	'counted', 'counted_keyed', 'user_check', 'user_check_keyed', 'volatile_check', 'domain_keyed', 'plain_storage', 'view_of']) t;

-- not there
CREATE VIEW checking_view AS SELECT a, b FROM keyed WHERE a > 0 WITH CHECK OPTION;
CREATE TABLE ruled (a int, b text);
CREATE RULE r AS ON INSERT TO ruled DO INSTEAD UPDATE heap SET b = NEW.b WHERE a = NEW.a;
CREATE TABLE secured (a int, b text);
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
ALTER TABLE secured FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON secured WITH CHECK (a > 0);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE triggered_before (a int, b text);
CREATE TRIGGER t BEFORE INSERT ON triggered_before FOR EACH ROW EXECUTE FUNCTION note();
CREATE TABLE triggered_after (a int, b text);
CREATE TRIGGER t AFTER INSERT ON triggered_after FOR EACH ROW EXECUTE FUNCTION note();
CREATE TABLE triggered_statement (a int, b text);
CREATE TRIGGER t AFTER INSERT ON triggered_statement EXECUTE FUNCTION note();
CREATE TABLE triggered_update (a int, b text);
CREATE TRIGGER t BEFORE UPDATE ON triggered_update FOR EACH ROW EXECUTE FUNCTION note();
CREATE ROLE px_inserter;
GRANT USAGE ON SCHEMA inserting TO px_inserter;
GRANT ALL ON ALL TABLES IN SCHEMA inserting TO px_inserter;
SET ROLE px_inserter;
SELECT how('secured');
RESET ROLE;
SELECT t AS target, how(t) FROM unnest(ARRAY['checking_view', 'part_of', 'triggered_before', 'triggered_after',
	'triggered_statement', 'triggered_update']) t;
SELECT m AS more, how('keyed', m) FROM unnest(ARRAY['ON CONFLICT DO NOTHING', 'RETURNING a', 'LIMIT 1',
	'WHERE a = (SELECT max(a) FROM heap)', 'UNION ALL SELECT 1, ''x''']) m;
SELECT plan_of($$WITH w AS (INSERT INTO heap SELECT * FROM exchange.unpack('x') u(a int, b text)) SELECT 1$$);
SELECT count(*) AS nodes FROM plan_of($$INSERT INTO ruled SELECT * FROM exchange.unpack('x') u(a int, b text)$$) l WHERE l ~ 'ExchangeInsert';

--
-- Rows
--
CREATE TABLE many AS SELECT i AS a, CASE WHEN i % 7 > 0 THEN repeat(md5(i::text), i % 5) END AS b FROM generate_series(1, 3000) i;
SELECT piece('SELECT * FROM many', '23:-1,25:-1') AS many \gset
CREATE FUNCTION same(target text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	result boolean;
BEGIN
	EXECUTE format('SELECT count(*) = 0 FROM ((TABLE many EXCEPT SELECT a, b FROM %1$s) UNION ALL
		(SELECT a, b FROM %1$s EXCEPT TABLE many)) t', target) INTO result;
	RETURN result;
END
$$;
SELECT apply('INSERT INTO heap(a, b) VALUES ($1, $2)', :'many'), same('heap');
SELECT apply('INSERT INTO keyed(a, b) VALUES ($1, $2)', :'many'), same('keyed');
SELECT apply('INSERT INTO indexed(b, a) VALUES ($2, $1)', :'many'), same('indexed');
SELECT apply('INSERT INTO deferring(a, b) VALUES ($1, $2)', :'many', 100), same('deferring');
SELECT apply('INSERT INTO counted(a, b) VALUES ($1, $2)', :'many'), same('counted');
SELECT count(*), bool_and(s = a) FROM counted;
SELECT apply('INSERT INTO counted_keyed(a, b, s) VALUES ($1, $2, DEFAULT)', :'many'), same('counted_keyed');
BEGIN;
SELECT apply('INSERT INTO referring(a, b) VALUES ($1, $2)', :'many'), same('referring');
SELECT n_tup_ins FROM pg_stat_xact_user_tables WHERE relid = 'referring'::regclass;
ROLLBACK;
-- by one statement, unless a trigger or a function could tell
SELECT (SELECT count(DISTINCT cmin::text) FROM heap) AS heap, (SELECT count(DISTINCT cmin::text) FROM keyed) AS keyed;
-- all index entries are there
SET enable_seqscan = off;
SELECT count(*), sum(a), bool_and(b IS NOT NULL) FROM indexed WHERE b >= '';
SELECT count(*) FROM keyed WHERE a BETWEEN 1 AND 3000;
RESET enable_seqscan;
-- an INSERT of a user's own: the command tag, a filter, other columns
TRUNCATE heap;
\set QUIET off
INSERT INTO heap(a, b) SELECT -a, b || '!' FROM exchange.unpack(:'many') u(a int, b text) WHERE a > 2000;
\set QUIET on
SELECT count(*), min(a), max(a), count(b) FROM heap WHERE b IS NULL OR b ~ '!$';
-- wide values; a row of its own size
CREATE TABLE wide (a int PRIMARY KEY, b text);
ALTER TABLE wide ALTER b SET STORAGE EXTERNAL;
SELECT apply('INSERT INTO wide(a, b) VALUES ($1, $2)',
	piece('SELECT i, repeat(chr(64 + i), 5000 * (i % 3)) FROM generate_series(1, 20) i', '23:-1,25:-1'));
SELECT count(*), sum(length(b)), pg_relation_size((SELECT reltoastrelid FROM pg_class WHERE oid = 'wide'::regclass)) > 0 AS toasted FROM wide;
-- a dropped column, a column with a default that is added later
CREATE TABLE changed (x int, a int, b text);
ALTER TABLE changed DROP x, ADD y int DEFAULT 7, ADD z int GENERATED ALWAYS AS (a * 2) STORED;
SELECT apply('INSERT INTO changed(a, b) VALUES ($1, $2)', :'many'), same('changed');
SELECT bool_and(y = 7 AND z = 2 * a) FROM changed;
-- in a transaction: seen by the next statement, gone with the savepoint
BEGIN;
SAVEPOINT s;
SELECT apply('INSERT INTO wide(a, b) VALUES ($1, $2)', piece('SELECT 100, ''x''::text', '23:-1,25:-1'));
SELECT count(*) FROM wide WHERE a = 100;
ROLLBACK TO s;
SELECT count(*) FROM wide WHERE a = 100;
ROLLBACK;
BEGIN READ ONLY;
SELECT apply('INSERT INTO wide(a, b) VALUES ($1, $2)', piece('SELECT 100, ''x''::text', '23:-1,25:-1'));
ROLLBACK;

--
-- The first error
--
CREATE TABLE parent (id int PRIMARY KEY);
INSERT INTO parent VALUES (1);
-- a column for each way to fail
CREATE TABLE target (
	id int PRIMARY KEY,
	nn int NOT NULL,
	positive int CHECK (positive > 0),
	divisor int CHECK (10 / divisor > 0),
	parent int REFERENCES parent,
	excluded int, EXCLUDE USING btree (excluded WITH =),
	word varchar(5),
	big int, generated int GENERATED ALWAYS AS (big + 2000000000) STORED,
	logarithm float8,
	later int UNIQUE DEFERRABLE);
CREATE INDEX ON target (ln(logarithm));
CREATE FUNCTION column_list() RETURNS text LANGUAGE sql AS
	$$SELECT 'id, nn, positive, divisor, parent, excluded, word, big, logarithm, later'$$;
-- rows 0 to n - 1, where bad[1] fails in the column kinds[1], and so on
CREATE FUNCTION rows_with(n int, kinds text[], bad int[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	list text := '';
	good text;
	wrong text;
	kind text;
BEGIN
	FOREACH kind IN ARRAY string_to_array(column_list(), ', ') LOOP
		good := CASE kind WHEN 'id' THEN 'i' WHEN 'excluded' THEN 'i' WHEN 'later' THEN 'i' WHEN 'word' THEN '''abc''::varchar'
			WHEN 'logarithm' THEN '1.0::float8' ELSE '1' END;
		wrong := CASE kind WHEN 'id' THEN '0' WHEN 'excluded' THEN '0' WHEN 'later' THEN '0' WHEN 'nn' THEN 'NULL'
			WHEN 'word' THEN '''abcdefg''' WHEN 'big' THEN '2000000000' WHEN 'positive' THEN '-i' WHEN 'parent' THEN 'i + 1000'
			ELSE '0' END;
		list := list || CASE WHEN list = '' THEN '' ELSE ', ' END || 'CASE';
		FOR j IN 1 .. cardinality(kinds) LOOP
			IF kinds[j] = kind THEN
				list := list || format(' WHEN i = %s THEN %s', bad[j], wrong);
			END IF;
		END LOOP;
		list := list || format(' WHEN i < 0 THEN NULL ELSE %s END AS %s', good, kind);
	END LOOP;
	RETURN format('SELECT %s FROM generate_series(0, %s) i', list, n - 1);
END
$$;
-- the error of a statement: all of it, and the row that its context names
CREATE TYPE failure AS (state text, message text, detail text, hint text, "constraint" text, "column" text, "table" text, "row" int);
CREATE FUNCTION by_frames(query text, batch_size int, target text) RETURNS failure LANGUAGE plpgsql AS $$
DECLARE
	f failure;
	context text;
	list text := (SELECT string_agg('$' || n, ', ') FROM generate_series(1, 10) n);
BEGIN
	PERFORM apply(format('INSERT INTO %s(%s) VALUES (%s)', target, column_list(), list),
		piece(query, '23:-1,23:-1,23:-1,23:-1,23:-1,23:-1,1043:-1,23:-1,701:-1,23:-1'), batch_size);
	RAISE EXCEPTION 'all good';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS f.state = RETURNED_SQLSTATE, f.message = MESSAGE_TEXT, f.detail = PG_EXCEPTION_DETAIL,
		f.hint = PG_EXCEPTION_HINT, f.constraint = CONSTRAINT_NAME, f.column = COLUMN_NAME, f.table = TABLE_NAME,
		context = PG_EXCEPTION_CONTEXT;
	f.row := substring(context FROM 'pg_exchange row (\d+)');
	RETURN f;
END
$$;
-- the same by statements of batch_size rows
CREATE FUNCTION by_statements(query text, batch_size int, target text) RETURNS failure LANGUAGE plpgsql AS $$
DECLARE
	f failure;
	done int := 0;
	r record;
	parameters text := '';
BEGIN
	SET LOCAL plan_cache_mode = force_generic_plan;
	EXECUTE format('PREPARE insertion AS INSERT INTO %s(%s) VALUES %s', target, column_list(),
		(SELECT string_agg(format('($%s, $%s, $%s, $%s, $%s, $%s, $%s, $%s, $%s, $%s)', VARIADIC
			(SELECT array_agg(row * 10 + n) FROM generate_series(1, 10) n)), ', ')
		FROM generate_series(0, batch_size - 1) row));
	FOR r IN EXECUTE query LOOP
		parameters := parameters || CASE WHEN parameters = '' THEN '' ELSE ', ' END || format(
			'%L, %L, %L, %L, %L, %L, %L, %L, %L, %L', r.id, r.nn, r.positive, r.divisor, r.parent, r.excluded, r.word,
			r.big, r.logarithm, r.later);
		done := done + 1;
		IF done % batch_size = 0 THEN
			EXECUTE format('EXECUTE insertion(%s)', parameters);
			parameters := '';
		END IF;
	END LOOP;
	RAISE EXCEPTION 'all good';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS f.state = RETURNED_SQLSTATE, f.message = MESSAGE_TEXT, f.detail = PG_EXCEPTION_DETAIL,
		f.hint = PG_EXCEPTION_HINT, f.constraint = CONSTRAINT_NAME, f.column = COLUMN_NAME, f.table = TABLE_NAME;
	f.row := done - 1;
	DEALLOCATE insertion;
	RETURN f;
END
$$;
CREATE TABLE kinds AS SELECT unnest(ARRAY['id', 'nn', 'positive', 'divisor', 'parent', 'excluded', 'word', 'big', 'logarithm', 'later']) AS kind;
-- all pairs of two bad rows
CREATE FUNCTION differences(target text, batch_size int, n int, first int, second int, skip text[] DEFAULT '{}')
RETURNS TABLE (kinds text, frames text, statements text) LANGUAGE sql AS $$
	SELECT k.kind || ' ' || l.kind, x::text, y::text FROM kinds k, kinds l,
		rows_with(n, ARRAY[k.kind, l.kind], ARRAY[first, second]) query,
		by_frames(query, batch_size, target) x, by_statements(query, batch_size, target) y
	WHERE k.kind <> ALL (skip) AND l.kind <> ALL (skip) AND ((x.state, x.message, x.detail, x.hint, x.constraint, x.column, x.table)
		IS DISTINCT FROM (y.state, y.message, y.detail, y.hint, y.constraint, y.column, y.table)
		OR x.row / batch_size IS DISTINCT FROM y.row / batch_size OR x.message ~ 'all good')
$$;
SELECT plan_of(format('INSERT INTO target(%s) SELECT * FROM exchange.unpack(''x'')
	u(id int, nn int, positive int, divisor int, parent int, excluded int, word varchar, big int, logarithm float8, later int)',
	column_list()));
SELECT (by_frames(rows_with(12, '{}', '{}'), 1, 'target')).message;
SELECT (f).* FROM (SELECT by_frames(rows_with(12, ARRAY[kind], '{5}'), 1, 'target') f FROM kinds) t;
SELECT * FROM differences('target', 1, 12, 3, 5);
SELECT * FROM differences('target', 4, 12, 3, 5);
SELECT * FROM differences('target', 4, 12, 5, 6);
SELECT * FROM differences('target', 1, 12, 5, 5);
-- the same row by row, because of the function
ALTER TABLE target ADD CHECK (small(nn));
SELECT * FROM differences('target', 1, 12, 3, 5);
SELECT * FROM differences('target', 4, 12, 5, 6);
-- without indexes
CREATE TABLE bare (LIKE target INCLUDING CONSTRAINTS INCLUDING GENERATED);
SELECT * FROM differences('bare', 1, 12, 3, 5, '{id,parent,excluded,logarithm,later}');
-- in a later batch
ALTER TABLE target DROP CONSTRAINT target_nn_check;
SELECT (f).state, (f).message, (f).row FROM (SELECT by_frames(rows_with(2000, ARRAY[kind, 'nn'], '{1500,1999}'), 1, 'target') f FROM kinds) t;
ALTER TABLE bare DROP CONSTRAINT target_nn_check;
SELECT (f).state, (f).row FROM by_frames(rows_with(2000, '{nn}', '{1500}'), 1, 'bare') f;
-- a row that does not fit on a page
CREATE TABLE huge (a int PRIMARY KEY, b text, c int NOT NULL);
ALTER TABLE huge ALTER b SET STORAGE PLAIN;
SELECT apply('INSERT INTO huge(a, b, c) VALUES ($1, $2, $3)', piece($$SELECT CASE i WHEN 1 THEN 0 ELSE i END,
	repeat('x', CASE i WHEN 2 THEN 10000 ELSE 10 END), nullif(i, 3) FROM generate_series(0, 5) i$$, '23:-1,25:-1,23:-1'));

--
-- Foreign keys
--
-- a row must not refer to a later one, unless that is of the same statement
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree);
-- the check must not find the later row in the table either
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT apply('INSERT INTO tree(id, up) VALUES ($1, $2)', piece('SELECT i, nullif(i - 1, 0) FROM generate_series(1, 10) i', '23:-1,23:-1'));
SELECT apply('INSERT INTO tree(id, up) VALUES ($1, $2)', piece('SELECT i, 21 + (i - 20) % 10 FROM generate_series(21, 30) i', '23:-1,23:-1'));
SELECT apply('INSERT INTO tree(id, up) VALUES ($1, $2)', piece('SELECT i, CASE WHEN i % 2 = 1 THEN i + 1 ELSE i - 1 END FROM generate_series(21, 30) i', '23:-1,23:-1'), 2);
SELECT count(*) FROM tree;
RESET enable_indexscan;
RESET enable_bitmapscan;
-- deferred ones wait for the end of the transaction
CREATE TABLE patient (id int, parent int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
BEGIN;
SELECT apply('INSERT INTO patient(id, parent) VALUES ($1, $2)', piece('SELECT i, i FROM generate_series(1, 10) i', '23:-1,23:-1'));
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
-- a user's own INSERT checks at its end
INSERT INTO tree SELECT * FROM exchange.unpack(piece('SELECT i, 41 + i % 10 FROM generate_series(41, 50) i', '23:-1,23:-1')) u(a int, b int);
SELECT count(*) FROM tree;

-- a partition as the target
SELECT apply('INSERT INTO part(a, b) VALUES ($1, $2)', piece('SELECT i, ''x''::text FROM generate_series(998, 1002) i', '23:-1,25:-1'));
SELECT apply('INSERT INTO part(a, b) VALUES ($1, $2)', piece('SELECT i, ''x''::text FROM generate_series(998, 999) i', '23:-1,25:-1'));
-- rights
SELECT piece('SELECT 1000, 1', '23:-1,23:-1') AS one \gset
SET ROLE px_inserter;
SELECT apply('INSERT INTO tree(id, up) VALUES ($1, $2)', :'one');
RESET ROLE;

--
-- Lengths: what fits is stored as it is, what does not as a direct INSERT
-- would store it
--
CREATE TABLE lengths (id int, n numeric(8,2), wide numeric(5,-2), c char(4), v varchar(4), x text);
CREATE TABLE direct (LIKE lengths);
CREATE VIEW values_of AS
	SELECT row_number() OVER ()::int AS id, n, n AS wide, c::bpchar, v::varchar, c AS x
	FROM (VALUES (1.10, 'abcd', 'abcd'), (1.5, 'ab', ''), (1.125, '', 'abcd   '), (-12345.678, 'äbcd', 'ääää'),
		(99999.99, 'abcd   ', 'ä  '), (999999.99, 'ä', 'ab'), (0, 'äöüß', 'äöüß '), (0.00, NULL, NULL), (NULL, 'a b ', ' '),
		('NaN', '    ', '    '), (100000.00, 'äab', 'a'), (0.0000001, 'abcé ', 'é')) r(n, c, v);
SELECT apply('INSERT INTO lengths VALUES ($1, $2, $3, $4, $5, $6)',
	piece('SELECT * FROM values_of', '23:-1,1700:-1,1700:-1,1042:-1,1043:-1,25:-1'));
INSERT INTO direct SELECT * FROM values_of;
SELECT id, n, wide, c, v FROM lengths ORDER BY id;
SELECT count(*) AS different
FROM (SELECT l.*, octet_length(c) FROM lengths l) l FULL JOIN (SELECT d.*, octet_length(c) FROM direct d) d ON l::text = d::text
WHERE l.id IS NULL OR d.id IS NULL;
-- the same for a column that gets a constant
SELECT apply('INSERT INTO lengths (id, n, c, v) VALUES ($1, DEFAULT, ''ab'', $2)',
	piece('SELECT 13, ''abcd  ''::varchar', '23:-1,1043:-1'));
SELECT id, n, c, v FROM lengths WHERE id = 13;
SELECT apply('INSERT INTO lengths (n) VALUES ($1)', piece('SELECT 1000000.00', '1700:-1'));
SELECT apply('INSERT INTO lengths (n) VALUES ($1)', piece('SELECT 999999.995', '1700:-1'));
SELECT apply('INSERT INTO lengths (n) VALUES ($1)', piece('SELECT ''infinity''::numeric', '1700:-1'));
SELECT apply('INSERT INTO lengths (wide) VALUES ($1)', piece('SELECT 10000000.00', '1700:-1'));
SELECT apply('INSERT INTO lengths (c) VALUES ($1)', piece('SELECT ''abcde''::bpchar', '1042:-1'));
SELECT apply('INSERT INTO lengths (c) VALUES ($1)', piece('SELECT ''ääääb''::bpchar', '1042:-1'));
SELECT apply('INSERT INTO lengths (v) VALUES ($1)', piece('SELECT ''äääää''::varchar', '1043:-1'));

SET client_min_messages = warning;
DROP SCHEMA inserting CASCADE;
DROP OWNED BY px_inserter;
DROP ROLE px_inserter;
