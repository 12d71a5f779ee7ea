--
-- exchange.unpack: the rows of a piece, for any user.
--
CREATE SCHEMA unpack;
SET search_path = unpack, public;

-- columns of all kinds, raw and as text
CREATE TABLE kinds (i int, big bigint, num numeric(10,2), f float8, t text, v varchar(20), d date, at timestamptz, span interval,
	u uuid, raw bytea, a int[], j json, b jsonb, yes bool, n name);
INSERT INTO kinds SELECT i, i * 10000000000, i / 7.0, i / 3.0, repeat('word ' || i, i % 9), 'v' || i, date '2026-01-01' + i,
	timestamptz '2026-01-01Z' + i * interval '1 hour', i * interval '1 day', md5(i::text)::uuid, decode(md5(i::text), 'hex'),
	ARRAY[i, i + 1], format('{"a": %s}', i)::json, format('[%s]', i)::jsonb, i % 2 = 0, 'name ' || i FROM generate_series(1, 500) i;
INSERT INTO kinds (i) VALUES (501), (502);
\set declared 'i int, big bigint, num numeric(10,2), f float8, t text, v varchar(20), d date, at timestamptz, span interval, u uuid, raw bytea, a int[], j json, b jsonb, yes bool, n name'
CREATE TABLE pieces AS SELECT 'raw' AS name, piece('SELECT * FROM kinds ORDER BY i',
	'23:-1,20:-1,1700:655366,701:-1,25:-1,1043:24,1082:-1,1184:-1,1186:-1,2950:-1,17:-1,1007:-1,114:-1,0:-1,16:-1,19:-1', 100) AS piece;
INSERT INTO pieces SELECT 'text', piece('SELECT * FROM kinds ORDER BY i',
	'0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1,0:-1', 100);
SELECT name, count(*), count(*) FILTER (WHERE r::text IS DISTINCT FROM k::text) AS different
	FROM pieces, exchange.unpack(piece) AS r(:declared) JOIN kinds k USING (i) GROUP BY name ORDER BY name;
SELECT count(*), array_agg(i ORDER BY ordinality) = array_agg(i ORDER BY i) AS in_order
	FROM (SELECT i, row_number() OVER () AS ordinality FROM pieces, exchange.unpack(piece) AS t(:declared) WHERE name = 'raw') x;

-- no rows, no piece
SELECT * FROM exchange.unpack(piece('SELECT 1 WHERE false', '23:-1')) AS t(i int);
SELECT * FROM exchange.unpack(NULL) AS t(i int);

-- the plan: estimates, filters, projection
CREATE FUNCTION estimated(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN format('%s: %s rows', plan #>> '{0,Plan,Custom Plan Provider}', plan #>> '{0,Plan,Plan Rows}');
END
$$;
SELECT piece AS small FROM (SELECT piece('SELECT i FROM generate_series(1, 37) i', '23:-1')) x \gset
SELECT estimated(format('SELECT * FROM exchange.unpack(%L) AS t(i int)', :'small'));
SELECT estimated('SELECT * FROM exchange.unpack(''no piece'') AS t(i int)');
SELECT estimated('SELECT * FROM exchange.unpack((SELECT ''later'')) AS t(i int)');
SELECT estimated(format('SELECT * FROM exchange.unpack(%L, ''{5}'') AS t(i int)', :'small'));
SELECT sum(i) FROM exchange.unpack(:'small', '{5}') AS t(i int) WHERE i > 30;
EXPLAIN (VERBOSE, COSTS OFF) SELECT i * 2 FROM exchange.unpack('no piece') AS t(i int, j int) WHERE j > 3;
PREPARE numbers(text) AS SELECT i * 2 AS twice FROM exchange.unpack($1) AS t(i int) WHERE i > 35;
EXECUTE numbers(:'small');
SET plan_cache_mode = force_generic_plan;
EXECUTE numbers(:'small');
RESET plan_cache_mode;

-- read again: for other arguments, for the same one, from the beginning after a part of it
SELECT x, count(*), min(i), max(i) FROM generate_series(1, 3) x,
	LATERAL exchange.unpack(piece(format('SELECT i FROM generate_series(1, %s) i', x * 10), '23:-1', 7)) AS t(i int) GROUP BY x ORDER BY x;
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT x, count(*), sum(i) FROM generate_series(1, 3) x LEFT JOIN exchange.unpack(piece('SELECT i FROM generate_series(1, 200) i', '23:-1', 50)) AS t(i int)
	ON i % x = 0 GROUP BY x ORDER BY x;
SELECT x, (SELECT i FROM exchange.unpack(:'small') AS t(i int) WHERE i > x LIMIT 1) FROM generate_series(10, 30, 10) x;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM exchange.unpack(:'small') AS t(i int);
FETCH 2 FROM c;
MOVE 30 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ABSOLUTE 1 FROM c;
COMMIT;

-- the row as a whole
SELECT t, (t).i FROM exchange.unpack(piece('SELECT i, ''x'' || i FROM generate_series(1, 2) i', '23:-1,25:-1')) AS t(i int, v text);
SELECT row_to_json(t), t::text FROM exchange.unpack(piece('SELECT i, ''x'' || i FROM generate_series(1, 2) i', '23:-1,25:-1')) AS t(i int, v text);
SELECT i FROM exchange.unpack(piece('SELECT i, ''x'' || i FROM generate_series(1, 2) i', '23:-1,25:-1')) AS t(i int, v text) WHERE t::text LIKE '%x2%';
SELECT count(t), max(n.i) FROM exchange.unpack(piece('SELECT i FROM generate_series(1, 3) i', '23:-1')) AS t(i int)
	RIGHT JOIN generate_series(1, 5) n(i) ON t.i = n.i AND t IS NOT NULL WHERE coalesce(t::text, 'none') <> '(2)';

-- types that check or change values
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
SELECT * FROM exchange.unpack(piece('SELECT 2 - i FROM generate_series(1, 3) i', '23:-1')) AS t(i positive);
SELECT * FROM exchange.unpack(piece('SELECT 2 - i FROM generate_series(1, 3) i', '23:-1')) AS t(i positive) LIMIT 0;
SELECT * FROM exchange.unpack(piece('SELECT ''ab'' || i FROM generate_series(1, 2) i', '0:-1')) AS t(v varchar(2));
SELECT * FROM exchange.unpack(piece('SELECT ''one''', '0:-1')) AS t(i int);

-- not in other forms
SELECT * FROM ROWS FROM (exchange.unpack(:'small') AS (i int), generate_series(1, 2)) x;
SELECT exchange.unpack(:'small');

-- other columns than the piece has
SELECT * FROM exchange.unpack(:'small') AS t(i bigint);
SELECT * FROM exchange.unpack(:'small') AS t(i int, j int);
SELECT * FROM exchange.unpack(:'small') AS t(i text);

-- who may call it
CREATE ROLE regress_px_unpacker;
GRANT USAGE ON SCHEMA unpack TO regress_px_unpacker;
SET ROLE regress_px_unpacker;
SELECT count(*) FROM exchange.unpack(:'small') AS t(i int);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION exchange.unpack(text) FROM PUBLIC;
SET ROLE regress_px_unpacker;
SELECT count(*) FROM exchange.unpack(:'small') AS t(i int);
RESET ROLE;
GRANT EXECUTE ON FUNCTION exchange.unpack(text) TO PUBLIC;

-- texts that are no pieces
CREATE FUNCTION outcome(text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	detail text;
BEGIN
	SELECT count(*) INTO n FROM exchange.unpack($1) AS t(i int);
	RETURN n || ' rows';
EXCEPTION WHEN protocol_violation OR data_corrupted THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ': ' || SQLERRM || ' (' || detail || ')';
END
$$;
SELECT outcome(text) FROM (VALUES (:'small'), (''), ('x'), ('größer'), (left(:'small', 121))) v(text);
SELECT sent('SELECT i FROM generate_series(1, 200) i', '23:-1', 100) AS bytes \gset
-- frames: schema of 52 bytes, the batches, an end of 96 bytes
SELECT outcome(armour(frames)) FROM (SELECT :'bytes'::bytea, length(:'bytes'::bytea)) x(b, n), LATERAL (VALUES
	(b), (substr(b, 53)), (substr(b, 1, n - 96)), (b || substr(b, n - 95)), (b || '\x00')) v(frames);
-- every byte changed, and every length
SELECT substr(outcome(armour(set_byte(:'bytes'::bytea, i, get_byte(:'bytes'::bytea, i) # 16))), 1, 5) AS sqlstate, count(*)
	FROM generate_series(0, length(:'bytes'::bytea) - 1) i GROUP BY 1 ORDER BY 1;
SELECT substr(outcome(armour(substr(:'bytes'::bytea, 1, i))), 1, 5) AS sqlstate, count(*)
	FROM generate_series(0, length(:'bytes'::bytea) - 1) i GROUP BY 1 ORDER BY 1;
SELECT substr(outcome(overlay(:'small' PLACING chr(ascii(substr(:'small', i, 1)) # 8 | 1) FROM i)), 1, 5) IN ('08P01', 'XX001') AS refused, count(*) > 200 AS many
	FROM generate_series(1, length(:'small')) i GROUP BY 1 ORDER BY 1;
SELECT substr(outcome(:'small' || :'small'), 1, 5) IN ('08P01', 'XX001') AS refused;
DROP SCHEMA unpack CASCADE;
DROP ROLE regress_px_unpacker;
