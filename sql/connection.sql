--
-- Connections from scan to scan: PREPARE TRANSACTION, DISCARD ALL, and servers
-- and user mappings that change or go.
--
CREATE SERVER changing FOREIGN DATA WRAPPER postgres_fdw;
DO $$
BEGIN
	EXECUTE format('ALTER SERVER changing OPTIONS (dbname %L, host %L, port %L)',
				   current_database(),
				   split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'));
END
$$;
CREATE ROLE regress_px_a LOGIN;
CREATE ROLE regress_px_b LOGIN;
CREATE USER MAPPING FOR CURRENT_USER SERVER changing OPTIONS (user 'regress_px_a');
GRANT USAGE ON SCHEMA remote TO regress_px_a, regress_px_b;

-- the session at the far end; a stream calls no function that does not say it is immutable
CREATE FUNCTION remote.session_pid() RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT pg_backend_pid()';
CREATE FUNCTION remote.session_name() RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT current_setting(''application_name'')';
CREATE VIEW remote.session AS
	SELECT remote.session_pid() AS pid, current_user::text AS who, remote.session_name() AS name;
GRANT SELECT ON remote.session TO regress_px_a, regress_px_b;
CREATE FOREIGN TABLE session (pid int, who text, name text) SERVER changing OPTIONS (schema_name 'remote');
SELECT who FROM session;

-- PREPARE TRANSACTION is refused as by postgres_fdw, whoever has read
BEGIN;
SET LOCAL pg_exchange.enabled = off;
SELECT who FROM session;
PREPARE TRANSACTION 'regress_px';
BEGIN;
SELECT who FROM session;
PREPARE TRANSACTION 'regress_px';
BEGIN;
DECLARE c CURSOR FOR SELECT generate_series(1, 100000), who FROM session;
FETCH 1 FROM c;
PREPARE TRANSACTION 'regress_px';
SELECT gid FROM pg_prepared_xacts;
SELECT transport('SELECT * FROM session');
-- a transaction that has only planned with it may be prepared
BEGIN;
EXPLAIN (COSTS OFF) SELECT who FROM session;
PREPARE TRANSACTION 'regress_px';
COMMIT PREPARED 'regress_px';

-- DISCARD ALL leaves connections alone, and settings as they were at first
SELECT pid FROM session \gset before_
SET pg_exchange.enabled = off;
SET pg_exchange.compression = none;
DISCARD ALL;
SHOW pg_exchange.enabled;
SHOW pg_exchange.compression;
SELECT pid = :before_pid AS same FROM session;
SELECT transport('SELECT * FROM session');

-- a server that changes: connect anew
ALTER SERVER changing OPTIONS (ADD application_name 'regress_px altered');
SELECT pid = :before_pid AS same, name FROM session;
SELECT comes_true('NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ' || :before_pid || ')');
-- also for a plan that was made before
SET plan_cache_mode = force_generic_plan;
PREPARE names (text) AS SELECT name FROM session WHERE name <> $1;
EXECUTE names ('');
ALTER SERVER changing OPTIONS (SET application_name 'regress_px again');
EXECUTE names ('');
DEALLOCATE names;
RESET plan_cache_mode;

-- a user mapping that changes
ALTER USER MAPPING FOR CURRENT_USER SERVER changing OPTIONS (SET user 'regress_px_b');
SELECT who FROM session;
SELECT transport('SELECT * FROM session');
SELECT comes_true($$NOT EXISTS (SELECT FROM pg_stat_activity WHERE usename = 'regress_px_a')$$);

-- in mid-transaction: postgres_fdw keeps its connection up to the end
BEGIN;
SELECT who FROM session;
ALTER USER MAPPING FOR CURRENT_USER SERVER changing OPTIONS (SET user 'regress_px_a');
SELECT transport('SELECT * FROM session');
SELECT who FROM session;
SET LOCAL pg_exchange.enabled = off;
SELECT who FROM session;
COMMIT;
SELECT who FROM session;
SELECT transport('SELECT * FROM session');

-- a cursor goes on with the connection that it began with
BEGIN;
DECLARE c CURSOR FOR SELECT who FROM session a NATURAL JOIN generate_series(1, 3) i;
FETCH 1 FROM c;
ALTER USER MAPPING FOR CURRENT_USER SERVER changing OPTIONS (SET user 'regress_px_b');
FETCH ALL FROM c;
COMMIT;
SELECT who FROM session;

-- a user mapping that goes, and one that comes
SELECT pid FROM session \gset before_
DROP USER MAPPING FOR CURRENT_USER SERVER changing;
-- "user mapping not found", with the user's name
\set VERBOSITY sqlstate
SET pg_exchange.enabled = off;
SELECT who FROM session;
SET pg_exchange.enabled = on;
SELECT who FROM session;
\set VERBOSITY default
SELECT comes_true('NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ' || :before_pid || ')');
CREATE USER MAPPING FOR PUBLIC SERVER changing OPTIONS (user 'regress_px_a');
SELECT who FROM session;
CREATE USER MAPPING FOR CURRENT_USER SERVER changing OPTIONS (user 'regress_px_b');
SELECT who FROM session;
DROP USER MAPPING FOR CURRENT_USER SERVER changing;
SELECT who FROM session;
SELECT transport('SELECT * FROM session');

-- a server that goes
SELECT pid FROM session \gset before_
DROP SERVER changing CASCADE;
SELECT comes_true('NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ' || :before_pid || ')');
DROP OWNED BY regress_px_a, regress_px_b;
DROP ROLE regress_px_a;
DROP ROLE regress_px_b;
