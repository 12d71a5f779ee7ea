--
-- Many partitions of one server: they take turns on a connection, in one
-- transaction there, unless they are worth more connections.
--
CREATE SERVER many FOREIGN DATA WRAPPER postgres_fdw;
CREATE SERVER few FOREIGN DATA WRAPPER postgres_fdw;
DO $$ BEGIN
	EXECUTE format('ALTER SERVER many OPTIONS (host %L, port %L, dbname %L)',
				   split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
	EXECUTE format('ALTER SERVER few OPTIONS (host %L, port %L, dbname %L)',
				   split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER many;
CREATE USER MAPPING FOR CURRENT_USER SERVER few;

-- Which transaction of the remote reads a row? The function only claims to be
-- immutable, so that a stream may read the view.
CREATE FUNCTION remote.read_by(int) RETURNS text IMMUTABLE LANGUAGE sql
	AS $$ SELECT virtualtransaction FROM pg_catalog.pg_locks WHERE pid = pg_catalog.pg_backend_pid() AND locktype = 'virtualxid' $$;
CREATE TABLE remote.turn AS SELECT i AS id, 'turn ' || i AS v FROM generate_series(1, 800) i;
CREATE TABLE turns (id int, v text, read_by text, part int) PARTITION BY LIST (part);
DO $$
DECLARE
	server text;
BEGIN
	FOR part IN 1 .. 8 LOOP
		server := CASE WHEN part % 4 = 0 THEN 'few' ELSE 'many' END;
		EXECUTE format('CREATE VIEW remote.turn_%s AS SELECT *, remote.read_by(id) AS read_by, %s AS part FROM remote.turn WHERE id %% 8 = %s', part, part, part - 1);
		EXECUTE format('CREATE FOREIGN TABLE turn_%s PARTITION OF turns FOR VALUES IN (%s) SERVER %s OPTIONS (schema_name ''remote'')', part, part, server);
	END LOOP;
END $$;
ANALYZE turns;
CREATE VIEW turns_read AS
	SELECT count(*), sum(id), count(DISTINCT part) AS parts,
		count(DISTINCT read_by) FILTER (WHERE part % 4 <> 0) AS many,
		count(DISTINCT read_by) FILTER (WHERE part % 4 = 0) AS few
	FROM (SELECT * FROM turns OFFSET 0) t;
CREATE VIEW turns_connections AS
	SELECT srvname, count(*), sum(streams) AS streams FROM exchange.connections WHERE srvname IN ('many', 'few') GROUP BY 1 ORDER BY 1;

-- one connection each, and one transaction
SELECT * FROM turns_read;
SELECT * FROM turns_connections;
-- the same connections again
SELECT * FROM turns_read;
SELECT * FROM turns_connections;
SELECT * FROM exchange_differences('SELECT id, v, part FROM turns');
SELECT * FROM exchange_differences('SELECT id, part FROM (SELECT * FROM turns ORDER BY part, id OFFSET 0) t');
SELECT comes_true('NOT EXISTS (SELECT FROM streams WHERE state LIKE ''%transaction%'')') AS at_rest;

-- scans that are small share a stream, if they are not small together
SET pg_exchange.min_bytes = '4kB';
SELECT DISTINCT transport FROM transport('SELECT id, v, part FROM turns WHERE part IN (1, 2, 3, 5)') transport;
SET pg_exchange.min_bytes = '1GB';
SELECT DISTINCT transport FROM transport('SELECT id, v, part FROM turns WHERE part IN (1, 2, 3, 5)') transport;
RESET pg_exchange.min_bytes;

-- scans that are expected to take long have connections of their own
SELECT exchange.disconnect('many'), exchange.disconnect('few');
ALTER SERVER many OPTIONS (ADD fdw_startup_cost '10000');
SELECT many > 1 AS many_transactions, few FROM turns_read;
SELECT * FROM turns_connections;
SET pg_exchange.max_connections_per_server = 2;
SELECT exchange.disconnect('many');
SELECT many > 1 AS many_transactions, few FROM turns_read;
SELECT * FROM turns_connections;
RESET pg_exchange.max_connections_per_server;
ALTER SERVER many OPTIONS (DROP fdw_startup_cost);

-- left early, and again
SELECT count(*) FROM (SELECT id FROM turns LIMIT 1) t;
SELECT count(*) FROM (SELECT id, v FROM turns OFFSET 250 LIMIT 300) t;
SELECT many, few FROM turns_read;

-- in order
SELECT count(*), min(part), max(part) FROM (SELECT part FROM turns ORDER BY part LIMIT 500) t;
-- rescans, with the same and with other parameters; batches are not kept if they are too many
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET pg_exchange.lookup_joins = off;
SELECT a.x, s.n, s.total FROM generate_series(1, 3) a(x), LATERAL (SELECT count(*) n, sum(id) total FROM turns WHERE id % 5 > a.x OFFSET 0) s ORDER BY 1;
SELECT count(*), sum(t.id) FROM generate_series(1, 3) a(x) LEFT JOIN (SELECT * FROM turns OFFSET 0) t ON t.id > a.x * 100;
SET pg_exchange.receive_buffer = '64kB';
SELECT count(*), sum(t.id) FROM generate_series(1, 3) a(x) LEFT JOIN (SELECT * FROM turns OFFSET 0) t ON t.id > a.x * 100;
RESET pg_exchange.receive_buffer;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;
RESET pg_exchange.lookup_joins;

-- one that may not be a stream, between others
CREATE OR REPLACE VIEW remote.turn_3 AS SELECT id, v, pg_backend_pid()::text AS read_by, 3 AS part FROM remote.turn WHERE id % 8 = 2;
SELECT transport, count(*) FROM transport('SELECT * FROM turns') transport GROUP BY 1 ORDER BY 1;
SELECT count, sum, parts, few FROM turns_read;
CREATE OR REPLACE VIEW remote.turn_3 AS SELECT id, v, remote.read_by(id), 3 AS part FROM remote.turn WHERE id % 8 = 2;

-- an error in one of them
CREATE OR REPLACE VIEW remote.turn_5 AS SELECT id, v, remote.read_by(id / (id - 4)), 5 AS part FROM remote.turn WHERE id % 8 = 4;
SELECT * FROM turns_read;
BEGIN;
SELECT count(*) FROM turns WHERE part = 1;
SAVEPOINT s;
SELECT transport, count(*) FROM transport('SELECT * FROM turns WHERE part <> 5') transport GROUP BY 1 ORDER BY 1;
SELECT * FROM turns_read;
ROLLBACK TO s;
SELECT count(*) FROM (SELECT * FROM turns WHERE part <> 5 OFFSET 0) t;
COMMIT;
CREATE OR REPLACE VIEW remote.turn_5 AS SELECT id, v, remote.read_by(id), 5 AS part FROM remote.turn WHERE id % 8 = 4;
SELECT * FROM turns_read;
SELECT comes_true('NOT EXISTS (SELECT FROM streams WHERE state LIKE ''%transaction%'')') AS at_rest;

-- first use of the servers in a subtransaction
BEGIN;
SAVEPOINT s;
SELECT DISTINCT transport FROM transport('SELECT * FROM turns') transport;
ROLLBACK;

-- no stream that has ended keeps a lock: the query is over, its transaction is not
BEGIN;
SELECT many, few FROM turns_read;
SELECT comes_true($$NOT EXISTS (SELECT FROM pg_locks l JOIN streams s USING (pid) JOIN exchange.connections c ON c.remote_pid = l.pid WHERE relation = 'remote.turn'::regclass)$$) AS unlocked;
COMMIT;
SELECT exchange.disconnect('many'), exchange.disconnect('few');
DROP VIEW turns_read, turns_connections;
