--
-- exchange.admit: what speaks against running a query in another session.
--
\set VERBOSITY terse
\set hello 'protocol=1-1 codecs=7 encodings=7 endian=little encoding=UTF8 server_version=150000 instance=0123456789abcdef0123456789abcdef export=1'
CREATE FUNCTION admission(query text, want_snapshot bool DEFAULT false, word text DEFAULT '') RETURNS text LANGUAGE sql AS $$
	SELECT exchange.admit('protocol=1-1 codecs=7 encodings=7 endian=little encoding=UTF8 server_version=150000 instance=0123456789abcdef0123456789abcdef export=1' || word,
		query, want_snapshot)
$$;
CREATE FUNCTION against(query text) RETURNS text LANGUAGE sql AS $$
	SELECT replace(replace(substring(public.admission(query) FROM 'against=(.*)$'), '%20', ' '), '%22', '"')
$$;
SELECT regexp_replace(admission(NULL), '\m(server_version|instance|pull|pid|session)=[0-9a-f]+', '\1=…', 'g');
SELECT substring(admission(NULL) FROM ' pid=(\d+) ')::int = pg_backend_pid() AS pid;
SELECT exchange.admit('hello', 'SELECT 1', false);
SELECT exchange.admit(NULL, 'SELECT 1', false);

-- the judgement
CREATE SCHEMA admit;
SET search_path = admit, public;
CREATE TABLE here (id int PRIMARY KEY, name text, day date, at timestamptz, amount float8);
CREATE TABLE parted (id int, name text) PARTITION BY LIST (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
CREATE TABLE half (id int, name text) PARTITION BY LIST (id);
CREATE TABLE half_1 PARTITION OF half FOR VALUES IN (1);
CREATE FOREIGN TABLE half_2 PARTITION OF half FOR VALUES IN (2) SERVER loopback OPTIONS (schema_name 'admit', table_name 'here');
CREATE TABLE mother (id int);
CREATE FOREIGN TABLE daughter () INHERITS (mother) SERVER loopback OPTIONS (schema_name 'admit', table_name 'here');
CREATE FOREIGN TABLE there (id int, name text) SERVER loopback OPTIONS (schema_name 'admit', table_name 'here');
CREATE VIEW over_there AS SELECT id FROM there WHERE id > 0;
CREATE VIEW over_here AS SELECT id, upper(name) AS name FROM here WHERE id > 0;
CREATE VIEW clock AS SELECT id, now() - at AS since FROM here;
CREATE VIEW tenant AS SELECT * FROM here WHERE name = current_setting('app.tenant', true);
CREATE TABLE secret (id int, owner name);
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE secret FORCE ROW LEVEL SECURITY;
CREATE POLICY by_user ON secret USING (owner = current_user);
CREATE TABLE hidden (id int, owner text);
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
ALTER TABLE hidden FORCE ROW LEVEL SECURITY;
CREATE POLICY by_setting ON hidden USING (owner = current_setting('app.owner'));
CREATE TEMP TABLE passing (id int);
CREATE TEMP VIEW passing_view AS SELECT id FROM here;
CREATE TEMP SEQUENCE passing_seq;
CREATE SEQUENCE lasting;
CREATE FUNCTION pure(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION steady(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION fickle(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION steady_plus(int, int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 + $2; END';
CREATE OPERATOR <+> (FUNCTION = steady_plus, LEFTARG = int, RIGHTARG = int);
CREATE AGGREGATE pure_sum (int) (SFUNC = int4pl, STYPE = int);
CREATE AGGREGATE steady_sum (int) (SFUNC = steady_plus, STYPE = int);
CREATE DOMAIN pure_domain AS int CHECK (pure(VALUE) > 0);
CREATE DOMAIN fickle_domain AS int CHECK (fickle(VALUE) > 0);
CREATE ROLE regress_px_admitted;
GRANT USAGE ON SCHEMA admit TO regress_px_admitted;

SELECT query, against(query) FROM unnest(ARRAY[
	-- nothing
	NULL,
	'SELECT * FROM here',
	'SELECT * FROM here WHERE id = $1::int AND name = $2::text',
	'SELECT * FROM over_here',
	'SELECT * FROM parted',
	'SELECT count(*), max(name), sum(amount) FROM here GROUP BY day HAVING count(*) > 1',
	'SELECT rank() OVER (ORDER BY id) FROM here',
	'WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 10) SELECT * FROM r',
	'SELECT * FROM generate_series(1, 10)',
	'SELECT relname FROM pg_catalog.pg_class',
	'SELECT * FROM here WHERE id::oid = 4294967295::oid',
	'SELECT last_value FROM lasting',
	'SELECT name || day, concat(id, at), format(''%s'', at), to_char(at, ''YYYY'') FROM here',
	'SELECT at::text, at::date, at + interval ''1 day'', day < at, date_trunc(''day'', at), extract(year FROM at) FROM here',
	'SELECT to_json(h), row_to_json(h), to_jsonb(at), json_agg(id) FROM here h GROUP BY h.*, at',
	'SELECT to_tsvector(name) @@ plainto_tsquery(''x'') FROM here',
	'SELECT array_to_string(array_agg(day), '','') FROM here',
	'SELECT current_user, session_user, current_database()',
	'SELECT pure(id), pure_sum(id) FROM here GROUP BY id',
	'SELECT id::pure_domain FROM here',
	'SELECT * FROM here TABLESAMPLE system (10) REPEATABLE (1)',
	-- relations
	'SELECT * FROM there',
	'SELECT * FROM over_there',
	'SELECT * FROM half',
	'SELECT * FROM half WHERE id = 1',
	'SELECT * FROM mother',
	'SELECT * FROM ONLY mother',
	'SELECT * FROM here WHERE EXISTS (SELECT FROM there t WHERE t.id = here.id)',
	'SELECT * FROM passing',
	'SELECT * FROM passing_view',
	'SELECT last_value FROM passing_seq',
	'SELECT * FROM here TABLESAMPLE system (10)',
	'SELECT * FROM parted WHERE id = $1::int',
	-- not only reading
	'SELECT * FROM here FOR UPDATE',
	'SELECT * FROM (SELECT * FROM here FOR SHARE) h',
	'WITH w AS (INSERT INTO here VALUES (1) RETURNING id) SELECT * FROM w',
	'INSERT INTO here VALUES (1)',
	'SELECT 1 INTO new_table',
	'SELECT 1; SELECT 2',
	'',
	'DROP TABLE here',
	-- functions
	'SELECT now() FROM here',
	'SELECT * FROM clock',
	'SELECT * FROM here WHERE day = current_date',
	'SELECT localtimestamp',
	'SELECT age(at) FROM here',
	'SELECT name::date FROM here',
	'SELECT name::regclass FROM here',
	'SELECT * FROM tenant',
	'SELECT random() FROM here',
	'SELECT nextval(''lasting'')',
	'SELECT pg_backend_pid()',
	'SELECT current_schema',
	'SELECT pg_table_is_visible(oid) FROM pg_class',
	'SELECT to_regclass(name) FROM here',
	'SELECT * FROM pg_stat_activity',
	'SELECT * FROM pg_locks',
	'SELECT * FROM pg_cursors',
	'SELECT steady(id) FROM here',
	'SELECT * FROM here ORDER BY fickle(id)',
	'SELECT id <+> 1 FROM here',
	'SELECT steady_sum(id) FROM here',
	'SELECT steady_sum(id) OVER (ORDER BY id) FROM here',
	'SELECT id::fickle_domain FROM here',
	'SELECT * FROM here h WHERE (SELECT max(steady(id)) FROM here) > 0',
	-- errors
	'SELECT * FROM nowhere',
	'SELECT * FORM here',
	'SELECT 1 / 0',
	'SELECT missing FROM here']) WITH ORDINALITY AS q(query, n) ORDER BY n;
GRANT SELECT ON secret, hidden TO regress_px_admitted;
SET ROLE regress_px_admitted;
SELECT against('SELECT * FROM here');
SELECT against('SELECT * FROM secret');
SELECT against('SELECT * FROM hidden');
RESET ROLE;
-- casts that PostgreSQL's functions call, and what XMLTABLE makes values of
SELECT against('SELECT x.* FROM here, xmltable(''/r'' PASSING (name::xml) COLUMNS a int PATH ''a'', b text PATH ''b'') x');
SELECT against('SELECT x.* FROM here, xmltable(''/r'' PASSING (name::xml) COLUMNS a timestamptz PATH ''a'') x');
SELECT against('SELECT x.* FROM here, xmltable(''/r'' PASSING (name::xml) COLUMNS a fickle_domain PATH ''a'') x');
CREATE TYPE cast_from AS ENUM ('a', 'b');
CREATE FUNCTION pure_cast(cast_from) RETURNS json IMMUTABLE LANGUAGE sql AS 'SELECT ''1''::json';
CREATE CAST (cast_from AS json) WITH FUNCTION pure_cast(cast_from);
SELECT against('SELECT to_json(name), ''x'' || id FROM here');
CREATE FUNCTION fickle_cast(cast_from) RETURNS json VOLATILE LANGUAGE sql AS 'SELECT ''1''::json';
DROP CAST (cast_from AS json);
CREATE CAST (cast_from AS json) WITH FUNCTION fickle_cast(cast_from);
SELECT against('SELECT to_json(name) FROM here');
SELECT against('SELECT json_agg(h) FROM here h');
SELECT against('SELECT name || ''x'', upper(name) FROM here');
DROP CAST (cast_from AS json);
CREATE FUNCTION fickle_text(cast_from) RETURNS text VOLATILE LANGUAGE sql AS 'SELECT ''1''';
CREATE CAST (cast_from AS text) WITH FUNCTION fickle_text(cast_from);
SELECT against('SELECT ''x'' || ''a''::cast_from FROM here');
SELECT against('SELECT quote_literal(''a''::cast_from) FROM here');
DROP CAST (cast_from AS text);
DROP FUNCTION pure_cast, fickle_cast, fickle_text;
DROP TYPE cast_from;

-- a long reason is cut at a character
CREATE FUNCTION "ääääääääääääääääääääääääääääää" () RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 1';
SELECT against('SELECT "ääääääääääääääääääääääääääääää"()');

-- the same judgement for streams
\set request 'version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1'
SELECT exchange.send(:'request', t.*) FROM (SELECT id FROM here) t \g /dev/null
SELECT exchange.send(:'request', t.*) FROM (SELECT id FROM over_there) t;
SELECT exchange.send(:'request', t.*) FROM (SELECT id FROM half) t;
SELECT exchange.send(:'request', t.*) FROM (SELECT id FROM passing) t;
SELECT exchange.send(:'request', t.*) FROM (SELECT steady(id) FROM here) t;
SELECT exchange.send(:'request', t.*) FROM (SELECT id FROM here FOR UPDATE) t;

-- locks stay as after DECLARE CURSOR; none of a query that fails
BEGIN;
SELECT against('SELECT * FROM here JOIN nowhere USING (id)');
SELECT against('SELECT p.* FROM parted p JOIN over_here USING (id)');
SELECT relation::regclass::text COLLATE "C", mode FROM pg_locks JOIN pg_class c ON c.oid = relation
WHERE pid = pg_backend_pid() AND relnamespace = 'admit'::regnamespace ORDER BY 1, 2;
SELECT pg_current_xact_id_if_assigned();
ROLLBACK;

-- an error that is not the query's is not hidden
CREATE FUNCTION sleepy() RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(10); RETURN 1; END';
SET statement_timeout = '50ms';
SELECT against('SELECT sleepy() FROM here');
RESET statement_timeout;

-- a transaction that has written
BEGIN;
INSERT INTO here (id) VALUES (1);
SELECT against('SELECT * FROM here');
SELECT against(NULL);
SAVEPOINT s;
SELECT against(NULL);
ROLLBACK;
BEGIN;
SAVEPOINT s;
INSERT INTO here (id) VALUES (1);
ROLLBACK TO s;
SELECT against(NULL);
ROLLBACK;

-- the snapshot
CREATE FUNCTION public.has_snapshot(want bool DEFAULT true) RETURNS bool LANGUAGE sql AS $$
	SELECT public.admission(NULL, want) ~ ' snapshot=[0-9A-F]+-[0-9A-F]+-\d+ '
$$;
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT has_snapshot(), has_snapshot(false);
SAVEPOINT s;
SELECT has_snapshot();
RELEASE s;
SELECT has_snapshot();
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT has_snapshot();
ROLLBACK;
BEGIN;
SELECT has_snapshot();
ROLLBACK;
REVOKE EXECUTE ON FUNCTION pg_export_snapshot() FROM PUBLIC;
SET ROLE regress_px_admitted;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT public.has_snapshot();
ROLLBACK;
RESET ROLE;
GRANT EXECUTE ON FUNCTION pg_export_snapshot() TO PUBLIC;

-- the fingerprint: settings that are different, or may be
CREATE FUNCTION public.fingerprint() RETURNS text LANGUAGE sql AS $$ SELECT substring(public.admission(NULL) FROM ' session=([0-9a-f]+) ') $$;
SELECT fingerprint() AS usual \gset
SELECT fingerprint() = :'usual' AS same;
SET application_name = 'another';
SET lock_timeout = '1s';
SET idle_in_transaction_session_timeout = '10s';
SET pg_exchange.compression = none;
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT fingerprint() = :'usual' AS same;
SELECT substring(admission(NULL) FROM ' idle=\d+ ');
COMMIT;
RESET application_name;
RESET lock_timeout;
RESET idle_in_transaction_session_timeout;
RESET pg_exchange.compression;
SET enable_seqscan = off;
SELECT fingerprint() = :'usual' AS same;
RESET enable_seqscan;
SET timezone = 'Europe/Vienna';
SELECT fingerprint() = :'usual' AS same;
RESET timezone;
SET app.tenant = 'x';
SELECT fingerprint() = :'usual' AS same;
\c
SET search_path = admit, public;
SELECT fingerprint() = :'usual' AS same;
GRANT regress_px_admitted TO CURRENT_USER;
SET ROLE regress_px_admitted;
SELECT public.fingerprint() = :'usual' AS same;
RESET ROLE;
-- it does not tell of a setting, maybe a secret one, whether a guess is right
SELECT ('x' || fingerprint())::bit(64)::bigint::numeric AS usual \gset
SET enable_seqscan = off;
SELECT (('x' || fingerprint())::bit(64)::bigint::numeric - :usual
    - hashtextextended('off', hashtextextended('enable_seqscan', 0))) % 18446744073709551616 = 0 AS guessed;
RESET enable_seqscan;
-- a stream declines if it has another
SELECT fingerprint() AS usual \gset
SELECT exchange.send('version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 session=0123456789abcdef columns=23:-1', t.*) FROM (SELECT id FROM here) t;
SELECT 'version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 session=' || :'usual' || ' columns=23:-1' AS request \gset
-- and waits for locks, but for those of its plan, as long as ever
BEGIN;
SET LOCAL lock_timeout = '100ms';
SELECT exchange.send(:'request', t.*) FROM (SELECT id FROM here) t \g /dev/null
SHOW lock_timeout;
COMMIT;

-- locks that were tried can be released: those of the last trial, and no others
CREATE FUNCTION tried(query text, word text) RETURNS text LANGUAGE sql AS
    $$SELECT substring(public.admission(query, false, ' locks=' || word) FROM 'against=(.*)$')$$;
CREATE VIEW locked AS SELECT relation::regclass::text FROM pg_locks
    WHERE pid = pg_backend_pid() AND relation IN ('here'::regclass, 'parted'::regclass, 'parted_1'::regclass, 'mother'::regclass);
BEGIN;
SELECT tried('SELECT id FROM here', 'try:1') AS here, tried('SELECT name FROM here', 'try:1') AS again;
SELECT tried('SELECT id FROM parted', 'try:2') AS parted, tried('SELECT id FROM no_table', 'try:2') AS none;
SELECT * FROM locked ORDER BY 1;
SELECT tried(NULL, 'release:1') AS earlier;
SELECT * FROM locked ORDER BY 1;
SELECT tried(NULL, 'release:2') AS last;
SELECT * FROM locked ORDER BY 1;
-- what others have locked, too, stays
SELECT count(*) FROM mother;
SELECT tried('SELECT id FROM mother', 'try:3') AS tried;
SAVEPOINT a;
SELECT tried('SELECT id FROM parted', 'try:3') AS below;
SAVEPOINT b;
RELEASE b;
ROLLBACK TO a;
SELECT * FROM locked ORDER BY 1;
SELECT tried('SELECT id FROM parted', 'try:3') AS below;
RELEASE a;
SELECT tried(NULL, 'release:3') AS left_to_the_transaction;
SELECT * FROM locked ORDER BY 1;
SELECT tried('SELECT id FROM mother', 'try:4') AS tried;
SELECT tried(NULL, 'release:4') AS last;
SELECT * FROM locked ORDER BY 1;
COMMIT;
SELECT * FROM locked ORDER BY 1;
-- many trials, one after the other
BEGIN;
SELECT count(*) FROM generate_series(1, 2000) i, tried('SELECT id FROM parted', 'try:' || i);
SELECT tried(NULL, 'release:2000') AS last;
SELECT * FROM locked ORDER BY 1;
ROLLBACK;
-- a query that does the same when it is planned
CREATE FUNCTION nested(word text) RETURNS text IMMUTABLE LANGUAGE plpgsql SET search_path = admit AS
    $$BEGIN RETURN tried('SELECT id FROM mother', word); EXCEPTION WHEN division_by_zero THEN RETURN 'no'; END$$;
BEGIN;
SELECT tried($$SELECT id, nested('release:1'), nested('try:1'), nested('try:2'), nested('release:2') FROM here$$, 'try:1') AS outside;
SELECT * FROM locked ORDER BY 1;
SAVEPOINT a;
SELECT tried($$SELECT id, nested('release:1') FROM parted$$, 'try:1') AS outside;
ROLLBACK TO a;
SELECT tried($$SELECT id, nested('release:3'), 1 / length('') FROM parted$$, 'try:3') AS fails;
SELECT tried(NULL, 'release:3') AS last;
SELECT * FROM locked ORDER BY 1;
COMMIT;
-- with a question about types, which is the last query of the text
CREATE FUNCTION asked(text text, word text DEFAULT '') RETURNS text LANGUAGE sql AS
    $$SELECT concat_ws(' ', substring(a FROM 'types=same'), replace(substring(a FROM 'against=.*$'), '%20', ' '))
        FROM public.admission(text, false, ' types=1' || word) a$$;
CREATE FUNCTION about(item text, type text) RETURNS text LANGUAGE sql AS
    $$SELECT format('SELECT CASE WHEN exchange.has_type(ROW(r.c, NULL::%s), -1) THEN ''same'' END FROM (SELECT) d LEFT JOIN (SELECT %s) r(c) ON false', type, item)$$;
SELECT text, asked(text) FROM unnest(ARRAY[
    about('id FROM here', 'int4'),
    about('id FROM here', 'text'),
    'SELECT id FROM here; ' || about('id FROM here', 'int4'),
    'SELECT id FROM here; ' || about('id FROM here', 'text'),
    'SELECT now() FROM here; ' || about('id FROM here', 'int4'),
    'SELECT missing FROM here; ' || about('id FROM here', 'int4'),
    'SELECT id FROM here; ' || about('missing FROM here', 'int4'),
    'SELECT id FROM here; SELECT id FROM here; ' || about('id FROM here', 'int4'),
    'SELECT id FROM here; SELECT FROM (VALUES (1)) v',
    'SELECT id FROM here; SELECT 1 WHERE false',
    'SELECT id FROM here; SELECT generate_series(1, 2)',
    'SELECT id FROM here; SELECT 1 INTO new_table',
    'SELECT id FROM here; DROP TABLE here',
    'SELECT id FROM here; SELECT * FORM here',
    '']) WITH ORDINALITY AS t(text, n) ORDER BY n;
BEGIN;
SELECT asked('SELECT id FROM here; ' || about('id FROM parted', 'int4'), ' locks=try:1');
SELECT * FROM locked ORDER BY 1;
SELECT tried(NULL, 'release:1') AS last;
SELECT * FROM locked ORDER BY 1;
INSERT INTO mother VALUES (1);
SELECT asked('SELECT id FROM here; ' || about('id FROM here', 'int4')) AS written;
ROLLBACK;
SELECT admission('SELECT 1', false, ' types=2');

SELECT tried('SELECT 1', 'try:0');
SELECT tried('SELECT 1', 'later');
SELECT tried('SELECT 1', 'release:4294967296');

-- a name that the client cannot read is no error
CREATE FUNCTION U&"\0444"() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
SET client_encoding = LATIN1;
SELECT against('SELECT U&"\0444"()');
RESET client_encoding;

SET search_path = public;
SET client_min_messages = warning;
DROP SCHEMA admit CASCADE;
DROP FUNCTION admission, against, has_snapshot, fingerprint;
DROP ROLE regress_px_admitted;
\c
