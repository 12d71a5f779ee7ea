--
-- exchange.send_text: a stream as pieces of text, by a cursor.
--
\set VERBOSITY terse
CREATE SCHEMA text_side;
SET search_path = text_side, public;
CREATE TABLE many AS SELECT i AS id, repeat(md5(i::text), 4) AS v FROM generate_series(1, 20000) i;
CREATE TABLE few AS SELECT i AS id FROM generate_series(1, 250) i;
CREATE FUNCTION request(columns text, more text DEFAULT '') RETURNS text LANGUAGE sql AS $$
	SELECT 'version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 '
		|| more || 'columns=' || columns
$$;
CREATE FUNCTION declaration(query text, columns text, more text DEFAULT '') RETURNS text LANGUAGE sql AS $$
	SELECT format('DECLARE c CURSOR FOR SELECT exchange.send_text(%L, t.*) FROM (%s) t', request(columns, more), query)
$$;
-- all pieces of cursor c: lengths, and whether it is the characters 1 to 127
CREATE FUNCTION pieces() RETURNS TABLE (n int, nchars int, armour bool) LANGUAGE plpgsql AS $$
DECLARE
	piece text;
BEGIN
	n := 0;
	LOOP
		EXECUTE 'FETCH 1 FROM c' INTO piece;
		EXIT WHEN piece IS NULL;
		n := n + 1;
		nchars := length(piece);
		armour := octet_length(piece) = nchars AND length(piece) % 121 <> 1;
		RETURN NEXT;
	END LOOP;
	EXECUTE 'CLOSE c';
END
$$;

-- growing pieces; little, and nothing, in one
BEGIN;
SELECT declaration('SELECT * FROM many', '23:-1,25:-1') \gexec
SELECT n, armour, nchars BETWEEN 1 AND 1048576 AS limited, nchars > lag(nchars) OVER (ORDER BY n) AS grows FROM pieces();
SELECT declaration('SELECT * FROM few WHERE id < 50', '23:-1') \gexec
SELECT n, armour FROM pieces();
SELECT declaration('SELECT * FROM few WHERE id < 0', '23:-1') \gexec
SELECT n, armour FROM pieces();
-- the first has fetch_rows rows at most, here two times
SELECT declaration('SELECT * FROM few', '23:-1', 'fetch_rows=10 ') \gexec
SELECT count(*) > 3 AS more FROM pieces();
-- a LIMIT says how many rows are wanted, and not a part of them
CREATE TABLE sorted AS SELECT i AS id, i % 100 AS k FROM generate_series(1, 20000) i;
CREATE INDEX ON sorted (id);
ANALYZE sorted;
SELECT explain_stable(declaration('SELECT id FROM sorted WHERE k = 1 ORDER BY id LIMIT 150', '23:-1'));
DROP TABLE sorted;
-- a FETCH does not spill to disk, whatever the rows
SET LOCAL work_mem = '64kB';
SELECT declaration('SELECT * FROM many', '23:-1,25:-1') \gexec
SELECT bool_and(armour), max(nchars) <= 32768 AS limited FROM pieces();
SELECT declaration('SELECT string_agg(v, '''') FROM many', '25:-1') \gexec
SET LOCAL log_temp_files = 0;
SET LOCAL client_min_messages = log;
FETCH 1 FROM c \g /dev/null
RESET client_min_messages;
RESET log_temp_files;
SELECT bool_and(armour), max(nchars) <= 32768 AS limited, count(*) > 80 AS several FROM pieces();
RESET work_mem;
-- with the plan
SELECT declaration('SELECT * FROM few WHERE id < 50', '23:-1', 'explain=1 ') \gexec
SELECT n, armour FROM pieces();
COMMIT;

-- one FETCH locks as many rows as postgres_fdw's would
BEGIN;
SELECT declaration('SELECT * FROM few FOR UPDATE', '23:-1', 'fetch_rows=100 fixed=1 ') \gexec
FETCH 1 FROM c \g /dev/null
SELECT count(*) FROM few WHERE xmax::text <> '0';
FETCH 1 FROM c \g /dev/null
SELECT count(*) FROM few WHERE xmax::text <> '0';
FETCH 1 FROM c \g /dev/null
SELECT count(*) FROM few WHERE xmax::text <> '0';
SELECT n, armour FROM pieces();
ROLLBACK;
BEGIN;
SELECT declaration('SELECT * FROM many FOR UPDATE', '23:-1,25:-1', 'fetch_rows=15000 fixed=1 ') \gexec
FETCH 1 FROM c \g /dev/null
SELECT count(*) FROM many WHERE xmax::text <> '0';
FETCH 1 FROM c \g /dev/null
SELECT count(*) FROM many WHERE xmax::text <> '0';
FETCH 1 FROM c \g /dev/null
SELECT count(*) FROM many WHERE xmax::text <> '0';
SELECT bool_and(armour), count(*) > 1 AS more FROM pieces();
SELECT count(*) FROM many WHERE xmax::text <> '0';
ROLLBACK;

-- rows that take their time come alone
CREATE SEQUENCE taken;
BEGIN;
SELECT declaration('SELECT nextval(''taken'')::int FROM few WHERE pg_sleep(0.25)::text = ''''', '23:-1') \gexec
FETCH 1 FROM c \g /dev/null
SELECT last_value FROM taken;
ROLLBACK;

-- everything that belongs to the session: its writes, time, tables, functions, savepoints
BEGIN ISOLATION LEVEL SERIALIZABLE;
CREATE TEMP TABLE passing AS SELECT 1 AS id;
INSERT INTO few VALUES (0);
SAVEPOINT s;
SELECT declaration('SELECT f.id, now()::text, random()::text FROM few f JOIN passing ON f.id < passing.id', '23:-1,25:-1,25:-1') \gexec
SELECT n, armour FROM pieces();
ROLLBACK TO s;
SELECT declaration('SELECT id FROM few WHERE id < 1', '23:-1') \gexec
RELEASE s;
SELECT n, armour FROM pieces();
ROLLBACK;

-- parameters
CREATE FUNCTION with_parameter(upto int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	piece text;
BEGIN
	OPEN c FOR SELECT exchange.send_text('version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1', t.*)
		FROM (SELECT id FROM few WHERE id <= upto) t;
	FETCH c INTO piece;
	RETURN length(piece);
END
$$;
SELECT with_parameter(2) - with_parameter(0) > 0 AS more;

SELECT explain_stable(format('SELECT exchange.send_text(%L, t.*) FROM (SELECT id FROM few) t', request('23:-1', 'explain=1 ')), 'COSTS OFF, ANALYZE, TIMING OFF');
SELECT explain_stable(format('SELECT exchange.send_text(%L, t.*) FROM (SELECT id FROM few FOR SHARE) t', request('23:-1', 'fetch_rows=100 fixed=1 ')));

-- not so
BEGIN;
SELECT replace(declaration('SELECT id FROM few', '23:-1'), 'CURSOR', 'SCROLL CURSOR') \gexec
ROLLBACK;
SELECT exchange.send_text('nonsense', t.*) FROM (SELECT 1) t;
SELECT exchange.send_text(request('23:-1'), t.*) FROM (SELECT 1) t;
SELECT exchange.send_text(NULL, ROW(1));
-- a slice that no stream can read
BEGIN;
SELECT format('DECLARE c CURSOR FOR SELECT exchange.send_text(%L, t.*) FROM (SELECT id FROM many) t', request('23:-1', 'slices=2 slice=0 blocks=0 ')) \gexec
MOVE ALL IN c;
ROLLBACK;
SELECT format('SELECT exchange.send_text(%L, t.*) FROM (SELECT id FROM many) t LIMIT 1', request('23:-1')) \gexec
REVOKE EXECUTE ON FUNCTION exchange.send_text(text, record) FROM PUBLIC;
CREATE ROLE regress_px_texts;
GRANT USAGE ON SCHEMA text_side TO regress_px_texts;
SELECT format('SELECT exchange.send_text(%L, t.*) FROM (SELECT 1) t', request('23:-1')) AS query \gset
SET ROLE regress_px_texts;
:query;
RESET ROLE;
GRANT EXECUTE ON FUNCTION exchange.send_text(text, record) TO PUBLIC;
DROP OWNED BY regress_px_texts;
DROP ROLE regress_px_texts;

-- a function that is only called like ours is not called
CREATE FUNCTION exchange.send(request varchar, "row" anyelement) RETURNS SETOF text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'caught'; END $$;
CREATE FUNCTION exchange.send_text(request varchar, "row" record) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'caught'; END $$;
CREATE FUNCTION caught(text, varchar, record) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'caught'; END $$;
SELECT exchange.send_text('x'::varchar, t.*) FROM (SELECT 1) t;
SELECT exchange.send('x'::varchar, t.id) FROM (SELECT id FROM few) t;
DROP FUNCTION exchange.send_text(varchar, record);
DROP FUNCTION exchange.send(varchar, anyelement);
CREATE AGGREGATE exchange.send(varchar, record) (SFUNC = caught, STYPE = text);
SELECT exchange.send('x'::varchar, t.*) FROM (SELECT 1) t;
DROP AGGREGATE exchange.send(varchar, record);
-- in another schema it may be called as it likes
CREATE FUNCTION send_text(varchar) RETURNS text LANGUAGE sql AS 'SELECT $1';
SELECT send_text('x'::varchar) FROM (SELECT 1) t;

SET client_min_messages = warning;
DROP SCHEMA text_side CASCADE;
\c
