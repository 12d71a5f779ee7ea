--
-- A statement that writes to the server that it reads: between two FETCHes,
-- postgres_fdw writes the rows of the first one.
--
CREATE SCHEMA portions;
CREATE SCHEMA below;
SET search_path = portions, public;
CREATE TABLE below.source AS SELECT i AS id FROM generate_series(1, 450) i;
CREATE TABLE below.target (id int, seen bigint);
CREATE FUNCTION below.seen() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM below.target); END';
CREATE VIEW below.looks AS SELECT id, below.seen() AS seen FROM below.source;

-- a trigger that changes rows which are read later
CREATE TABLE below.chain (id int PRIMARY KEY, n int);
INSERT INTO below.chain SELECT i, 0 FROM generate_series(1, 450) i;
CREATE FUNCTION below.change_later() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		UPDATE below.chain SET n = 1000 WHERE id = new.id + 105;
	END IF;
	RETURN new;
END
$$;
CREATE TRIGGER change_later BEFORE UPDATE ON below.chain FOR EACH ROW EXECUTE FUNCTION below.change_later();

CREATE TABLE below.noted (n int);
CREATE FUNCTION below.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO below.noted VALUES (1); RETURN new; END';
CREATE TRIGGER note AFTER UPDATE ON below.chain FOR EACH STATEMENT EXECUTE FUNCTION below.note();

-- ctids that name a row of each partition
CREATE TABLE below.parted (id int, n int) PARTITION BY LIST (id);
CREATE TABLE below.parted1 PARTITION OF below.parted FOR VALUES IN (1);
CREATE TABLE below.parted2 PARTITION OF below.parted FOR VALUES IN (2);
CREATE TRIGGER note AFTER UPDATE ON below.parted FOR EACH STATEMENT EXECUTE FUNCTION below.note();
INSERT INTO below.parted SELECT 1 + i % 2, 0 FROM generate_series(1, 450) i;

CREATE TABLE below.plain AS SELECT i AS id, 0 AS n FROM generate_series(1, 450) i;

-- other rows that show when they were evaluated
CREATE TABLE below.checks (n bigint);
CREATE FUNCTION below.check_it(int) RETURNS bool LANGUAGE plpgsql AS 'BEGIN INSERT INTO below.checks SELECT count(*) FROM below.target; RETURN true; END';
CREATE DOMAIN below.looked_at AS int CHECK (below.check_it(VALUE));
CREATE VIEW below.checked AS SELECT (id + 0)::below.looked_at::int AS id FROM below.source;
CREATE TABLE below.locked AS SELECT i AS id, 0 AS n FROM generate_series(1, 450) i;
ALTER TABLE below.locked ADD PRIMARY KEY (id);
CREATE VIEW below.locking AS SELECT id FROM below.locked FOR UPDATE;
CREATE TABLE below.counted (id int, n int);
CREATE FUNCTION below.change_locked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE below.locked SET n = 1 WHERE id = new.id + 150;
	RETURN new;
END
$$;
CREATE TRIGGER change_locked AFTER INSERT ON below.counted FOR EACH ROW EXECUTE FUNCTION below.change_locked();
CREATE TABLE below.numbered (id int, seen bigint, n serial);
CREATE VIEW below.last AS SELECT id, (SELECT last_value + id * 0 FROM below.numbered_n_seq) AS last FROM below.source;
CREATE FUNCTION below.add(bigint, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM below.target); END';
CREATE AGGREGATE below.seen_by_each (int) (SFUNC = below.add, STYPE = bigint);
CREATE VIEW below.aggregating AS SELECT id, below.seen_by_each(id) OVER (ROWS BETWEEN CURRENT ROW AND CURRENT ROW) AS seen FROM below.source;

ANALYZE below.locked, below.source, below.chain, below.parted, below.plain;
IMPORT FOREIGN SCHEMA below LIMIT TO (source, looks, target, chain, noted, parted, plain, checked, checks, locking, counted, last, aggregating) FROM SERVER loopback INTO portions;
CREATE FOREIGN TABLE target100 (id int, seen bigint) SERVER loopback OPTIONS (schema_name 'below', table_name 'target', batch_size '100');
CREATE FOREIGN TABLE looks7 (id int, seen bigint) SERVER loopback OPTIONS (schema_name 'below', table_name 'looks', fetch_size '7');
CREATE FOREIGN TABLE chain7 (id int, n int) SERVER loopback OPTIONS (schema_name 'below', table_name 'chain', fetch_size '7');
CREATE FOREIGN TABLE looks100000 (id int, seen bigint) SERVER loopback OPTIONS (schema_name 'below', table_name 'looks', fetch_size '100000');
CREATE FOREIGN TABLE numbered (id int, seen bigint) SERVER loopback OPTIONS (schema_name 'below');
ANALYZE source, looks, chain, parted, plain, looks7, chain7;
CREATE FUNCTION same(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';

-- What a statement makes of a table, in short; rolled back.
CREATE FUNCTION outcome(statement text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	changed bigint;
BEGIN
	EXECUTE statement;
	GET DIAGNOSTICS changed = ROW_COUNT;
	EXECUTE query INTO result;
	RAISE EXCEPTION 'undone';
EXCEPTION WHEN raise_exception THEN
	RETURN changed || ' rows: ' || result;
END
$$;

-- The same by postgres_fdw and by frames?
CREATE FUNCTION outcomes(statement text, query text) RETURNS TABLE (way text, outcome text) LANGUAGE plpgsql AS $$
DECLARE
	settings text[];
	ways text[] = '{{pg_exchange.enabled,off}, {pg_exchange.min_write_rows,128}, {pg_exchange.min_write_rows,5},
		{pg_exchange.transport,stream}, {pg_exchange.batch_rows_max,3}}';
BEGIN
	FOREACH settings SLICE 1 IN ARRAY ways LOOP
		way := settings[1] || ' = ' || settings[2];
		PERFORM set_config(settings[1], settings[2], false);
		outcome := portions.outcome(statement, query);
		EXECUTE 'RESET ' || settings[1];
		RETURN NEXT;
	END LOOP;
END
$$;

SELECT * FROM outcomes('INSERT INTO target SELECT id, seen FROM looks', $$ SELECT string_agg(DISTINCT to_char(seen, 'FM000'), ' ') FROM target $$);
SELECT * FROM outcomes('INSERT INTO target SELECT id, seen FROM looks FOR UPDATE', $$ SELECT string_agg(DISTINCT to_char(seen, 'FM000'), ' ') FROM target $$);
SELECT * FROM outcomes('INSERT INTO target SELECT id, seen FROM looks LIMIT 220', $$ SELECT string_agg(DISTINCT to_char(seen, 'FM000'), ' ') FROM target $$);
SELECT * FROM outcomes('INSERT INTO target100 SELECT id, seen FROM looks', $$ SELECT string_agg(DISTINCT to_char(seen, 'FM000'), ' ') FROM target $$);
SELECT * FROM outcomes('INSERT INTO target SELECT id, seen FROM looks7', $$ SELECT count(DISTINCT seen) || ' times, ' || max(seen) FROM target $$);
SELECT * FROM outcomes('INSERT INTO target100 SELECT id, seen FROM looks7', $$ SELECT count(DISTINCT seen) || ' times, ' || max(seen) FROM target $$);

-- FOR UPDATE skips rows that the transaction has changed meanwhile. (So would
-- the UPDATE of such a row, but its triggers fire.)
SELECT * FROM outcomes('UPDATE chain SET n = same(n) + 1', 'SELECT sum(n) || '', statements: '' || (SELECT count(*) FROM noted) FROM chain');
SELECT * FROM outcomes('UPDATE chain7 SET n = same(n) + 1', 'SELECT sum(n) || '', statements: '' || (SELECT count(*) FROM noted) FROM chain');
SELECT * FROM outcomes('UPDATE parted SET n = same(n) + 1', 'SELECT sum(n) || '', statements: '' || (SELECT count(*) FROM noted) FROM parted');
SELECT * FROM outcomes('UPDATE plain SET n = same(n) + 1', 'SELECT sum(n) FROM plain');

-- What else shows when a row was evaluated: checks of a domain, row locks in a
-- view, the value of a sequence, an aggregate's functions.
SELECT * FROM outcomes('INSERT INTO target SELECT id, 0 FROM checked', $$ SELECT string_agg(DISTINCT to_char(n, 'FM000'), ' ') FROM checks $$);
SELECT * FROM outcomes('INSERT INTO counted SELECT id, 0 FROM locking', $$ SELECT count(*)::text FROM counted $$);
SELECT * FROM outcomes('INSERT INTO numbered SELECT id, last FROM last', 'SELECT count(DISTINCT seen) || '' values'' FROM numbered');
SELECT * FROM outcomes('INSERT INTO target SELECT id, seen FROM aggregating', $$ SELECT string_agg(DISTINCT to_char(seen, 'FM000'), ' ') FROM target $$);

-- more rows at a time than a frame may have
SELECT * FROM outcomes('INSERT INTO target SELECT id, seen FROM looks100000', $$ SELECT string_agg(DISTINCT to_char(seen, 'FM000'), ' ') FROM target $$);

-- the same if rows are written by statements of their own
SELECT * FROM outcomes('DO $do$ DECLARE r record; BEGIN FOR r IN SELECT * FROM portions.looks100000 LOOP INSERT INTO portions.target VALUES (r.id, r.seen); END LOOP; END $do$',
					   $$ SELECT string_agg(DISTINCT to_char(seen, 'FM000'), ' ') FROM target $$);

-- Frames are sent no more often than that.
BEGIN;
SELECT transport('INSERT INTO target SELECT id, seen FROM looks');
ROLLBACK;
BEGIN;
SELECT transport('UPDATE plain SET n = same(n) + 1');
ROLLBACK;

-- A scan of postgres_fdw's does not tell when it fetches rows.  If it finds the
-- rows of the target, postgres_fdw writes the first ones as they come.
BEGIN;
SELECT transport('UPDATE plain SET n = same(n) + 1 WHERE id < 100');
ROLLBACK;
UPDATE pg_class SET reltuples = 1, relpages = 1 WHERE oid IN ('plain'::regclass, 'chain'::regclass, 'looks'::regclass);
SET pg_exchange.min_bytes = '1MB';
BEGIN;
SELECT transport('UPDATE plain SET n = same(n) + 1');
ROLLBACK;
SELECT * FROM outcomes('UPDATE plain SET n = same(n) + 1', 'SELECT sum(n) FROM plain');
BEGIN;
SELECT transport('UPDATE chain SET n = same(n) + 1');
ROLLBACK;
SELECT * FROM outcomes('UPDATE chain SET n = same(n) + 1', 'SELECT sum(n) || '', statements: '' || (SELECT count(*) FROM noted) FROM chain');
BEGIN;
SELECT transport('INSERT INTO target SELECT id, seen FROM looks');
ROLLBACK;
SELECT * FROM outcomes('INSERT INTO target SELECT id, seen FROM looks', $$ SELECT string_agg(DISTINCT to_char(seen, 'FM000'), ' ') FROM target $$);
RESET pg_exchange.min_bytes;

RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA portions, below CASCADE;
