--
-- The session transport: frames by postgres_fdw's own connection.
--
CREATE TABLE remote.words (id int PRIMARY KEY, grp int, word text, price numeric(10,2));
INSERT INTO remote.words SELECT i, i % 7, 'word ' || i % 100, (i % 997) / 100.0 FROM generate_series(1, 20000) i;
CREATE TABLE remote.handful AS SELECT i AS id, 'few ' || i AS word FROM generate_series(1, 5) i;
CREATE VIEW remote.clock AS SELECT id, now() AS at FROM remote.handful;
CREATE FOREIGN TABLE words (id int, grp int, word text, price numeric(10,2))
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'words');
CREATE FOREIGN TABLE handful (id int, word text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'handful');
CREATE FOREIGN TABLE clock (id int, at timestamptz) SERVER loopback OPTIONS (schema_name 'remote', table_name 'clock');
ANALYZE remote.words, remote.handful, words, handful;

-- each way when it is asked for, with the same rows
SELECT transport('SELECT * FROM words');
SET pg_exchange.transport = stream;
SELECT transport('SELECT * FROM words');
SET pg_exchange.transport = session;
SELECT transport('SELECT * FROM words');
SELECT * FROM exchange_differences('SELECT * FROM words');
SELECT * FROM exchange_differences('SELECT * FROM handful');
SELECT * FROM exchange_differences('SELECT * FROM handful WHERE id < 0');
SELECT * FROM exchange_differences('SELECT count(*) FROM words');
SELECT explain_stable('SELECT * FROM words', 'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF');
SELECT count(*) FROM exchange.connections;	-- of our own

-- what a stream may not do is done so by itself
RESET pg_exchange.transport;
SELECT transport('SELECT * FROM clock');
BEGIN;
INSERT INTO handful VALUES (6, 'mine');
SELECT transport('SELECT * FROM handful');
SELECT count(*) FILTER (WHERE word = 'mine') AS mine, count(*) FROM handful;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT transport('SELECT * FROM words');
COMMIT;
BEGIN;
SAVEPOINT a;
SELECT transport('SELECT * FROM words');
ROLLBACK TO a;
SELECT transport('SELECT * FROM words');
COMMIT;
SELECT transport('SELECT * FROM words WHERE id < 5 FOR UPDATE');
SELECT id, word FROM words WHERE id < 4 ORDER BY id FOR UPDATE;
-- no more of them than a LIMIT wants: the remote does all of it
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM words LIMIT 3 FOR UPDATE;
SELECT transport('SELECT w.* FROM handful f, LATERAL (SELECT * FROM words WHERE words.id = f.id * 3 OFFSET 0) w');
INSERT INTO handful SELECT id, word FROM handful;
SELECT count(*) FROM handful;
DELETE FROM handful WHERE ctid > '(0,5)';

-- and never, if it is not to be
SET pg_exchange.transport = stream;
SELECT transport('SELECT * FROM clock');
RESET pg_exchange.transport;

-- cursors: in portions, across savepoints, some at once
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM words ORDER BY id;
FETCH 2 FROM c;
SAVEPOINT a;
MOVE 150 IN c;
FETCH 1 FROM c;
ROLLBACK TO a;
FETCH 1 FROM c;
SAVEPOINT b;
MOVE 7000 IN c;
DECLARE d CURSOR FOR SELECT id FROM words ORDER BY id DESC;
FETCH 1 FROM d;
MOVE 7000 IN d;
RELEASE b;
FETCH 1 FROM c;
FETCH 1 FROM d;
MOVE ALL IN c;
MOVE ALL IN d;
COMMIT;

-- pieces are asked for ahead while a loop goes in and out of subtransactions
DO $$
DECLARE
	r record;
	n int := 0;
	caught int := 0;
BEGIN
	FOR r IN SELECT id FROM words LOOP
		BEGIN
			n := n + 1;
			IF n % 1000 = 0 THEN
				UPDATE handful SET word = word WHERE id = 1;
				PERFORM 1 / (n % 2000);
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			caught := caught + 1;
		END;
	END LOOP;
	RAISE NOTICE '% rows, % errors', n, caught;
END
$$;

-- what was asked for ahead fails: the loop does, not the block that begins
CREATE VIEW remote.fails AS SELECT id, word, 1 / (id - 15000) AS one FROM remote.words;
CREATE FOREIGN TABLE fails (id int, word text, one int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'fails');
CREATE FUNCTION refuse(id int, bound int) RETURNS int LANGUAGE plpgsql AS
	$$ BEGIN IF id >= bound THEN RAISE 'refused'; END IF; RETURN id; END $$;
CREATE FUNCTION sum_words() RETURNS bigint LANGUAGE sql AS 'SELECT sum(refuse(id, 4000)) FROM words';
SET pg_exchange.transport = session;
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT * FROM fails LOOP
		BEGIN
			PERFORM 1;
		EXCEPTION WHEN others THEN
			RAISE NOTICE 'in the loop: %', sqlerrm;
		END;
	END LOOP;
EXCEPTION WHEN others THEN
	RAISE NOTICE 'around the loop: %', sqlerrm;
END
$$;

-- it was asked for in a subtransaction that is gone: nobody waits for it
DO $$
DECLARE
	n bigint;
BEGIN
	BEGIN
		n := sum_words();
	EXCEPTION WHEN others THEN
		RAISE NOTICE '%', sqlerrm;
	END;
	BEGIN
		n := 1;
	EXCEPTION WHEN others THEN
		RAISE NOTICE 'not expected: %', sqlerrm;
	END;
	RAISE NOTICE '% words', (SELECT count(*) FROM words);
END
$$;

-- a cursor that is fetched from within a savepoint for the first time survives that
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM words ORDER BY id;
SAVEPOINT a;
MOVE 9000 IN c;
UPDATE handful SET word = word WHERE id = 1;
MOVE 1000 IN c;
ROLLBACK TO a;
MOVE 9999 IN c;
FETCH 2 FROM c;
COMMIT;

-- one that fails there is gone, and postgres_fdw does not look for it
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM fails;
SAVEPOINT a;
MOVE ALL IN c;
ROLLBACK TO a;
FETCH 1 FROM c;
ROLLBACK TO a;
DO $$
BEGIN
	PERFORM count(*) FROM words;
EXCEPTION WHEN others THEN
	RAISE NOTICE 'the transaction there is aborted';
END
$$;
ROLLBACK;
SELECT count(*) FROM words;
DROP FUNCTION refuse, sum_words;
DROP FOREIGN TABLE fails;
DROP VIEW remote.fails;
RESET pg_exchange.transport;

-- rescans, with parameters and without
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
SET pg_exchange.transport = session;
SELECT f.id, count(*), sum(w.price) FROM handful f JOIN words w ON w.grp = f.id GROUP BY 1 ORDER BY 1;
SELECT f.id, w.n FROM handful f, LATERAL (SELECT count(*) AS n FROM words WHERE words.grp = f.id OFFSET 0) w ORDER BY 1;
SELECT count(*) FROM handful a, (SELECT * FROM handful OFFSET 0) b;
-- a subplan that is done with its scan while the next portion is on its way
CREATE VIEW remote.long AS SELECT i AS id, repeat(md5(i::text), 4) AS word FROM generate_series(1, 60000) i;
CREATE FOREIGN TABLE long (id int, word text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'long');
SELECT i, EXISTS (SELECT FROM (SELECT * FROM long OFFSET 0) l WHERE l.id > 30000 + i AND l.word > '') FROM generate_series(1, 3) i;
DROP FOREIGN TABLE long;
DROP VIEW remote.long;
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material;
PREPARE q(int) AS SELECT count(*) FROM words WHERE grp = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE q(1);
EXECUTE q(8);
RESET plan_cache_mode;

-- errors name the query that postgres_fdw would have sent
ALTER FOREIGN TABLE handful OPTIONS (SET table_name 'gone');
SELECT * FROM handful;
SET pg_exchange.enabled = off;
SELECT * FROM handful;
RESET pg_exchange.enabled;
ALTER FOREIGN TABLE handful OPTIONS (SET table_name 'handful');
RESET pg_exchange.transport;

DROP FOREIGN TABLE words, handful, clock;
DROP VIEW remote.clock;
DROP TABLE remote.words, remote.handful;
