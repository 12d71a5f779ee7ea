--
-- Deposits: frames that a connection of our own brings, for postgres_fdw's session.
--
CREATE SCHEMA deposit;
SET search_path = deposit, public;
CREATE TABLE items (id int, name text);

-- a receipt is good for the same user's sessions, as often as one likes
CREATE FUNCTION apply(receipt text, statement text DEFAULT 'INSERT INTO deposit.items VALUES ($1, $2)') RETURNS text LANGUAGE sql AS $$
	SELECT regexp_replace(exchange.apply('version=1 batch_size=100 deposit=' || receipt, statement, ''), ' us=\d+', '')
$$;
SELECT exchange.deposit(sent('SELECT i, ''item '' || i FROM generate_series(1, 5000) i', '23:-1,25:-1')) AS receipt \gset
SELECT :'receipt' ~ '^\d+\.[0-9a-f]{16}\.[0-9a-f]{16}$' AS form;
SELECT apply(:'receipt');
SELECT apply(:'receipt', 'DELETE FROM deposit.items WHERE ctid = $1');	-- not what the frames are for
SELECT count(*), sum(id), max(name) FROM items;

-- there is none with another handle or secret, for another user, or in another database
CREATE FUNCTION other(receipt text) RETURNS text LANGUAGE sql AS $$	-- the last digit is another one
	SELECT left(receipt, -1) || CASE right(receipt, 1) WHEN '0' THEN '1' ELSE '0' END
$$;
SELECT apply(other(:'receipt'));
SELECT apply(regexp_replace(:'receipt', '^\d+', '1'));
CREATE ROLE regress_px_depositor;
GRANT USAGE ON SCHEMA deposit TO regress_px_depositor;
GRANT INSERT ON items TO regress_px_depositor;
SET ROLE regress_px_depositor;
SELECT apply(:'receipt');
SELECT exchange.deposit(sent('SELECT i, ''mine '' || i FROM generate_series(1, 10) i', '23:-1,25:-1')) AS mine \gset
SELECT apply(:'mine');
RESET ROLE;
SELECT apply(:'mine');
DROP OWNED BY regress_px_depositor;
DROP ROLE regress_px_depositor;

-- a session keeps two
SELECT exchange.deposit('') AS third \gset
SELECT apply(:'receipt');
SELECT apply(:'third');			-- there, but no frames
SELECT exchange.deposit(NULL);
SELECT apply(:'third');

-- what is no receipt, and too large a deposit
SELECT apply('');
SELECT apply('1.0.0');
SELECT apply('0.0123456789abcdef.0123456789abcdef');
SELECT apply('4294967296.0123456789abcdef.0123456789abcdef');
SELECT apply('1.0123456789abcdef.0123456789abcdef ');
SELECT exchange.deposit(convert_to(repeat('x', 16777217), 'UTF8'));
-- nothing of this has disturbed the table
SELECT count(*) FROM items;

-- Statements that write.  The setting has most pieces deposited, though the link is fast.
SET pg_exchange.debug_random_choices = on;
CREATE FUNCTION add_server(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE (SELECT format('CREATE SERVER %I FOREIGN DATA WRAPPER postgres_fdw OPTIONS (%s, batch_size ''100'')', name,
				string_agg(format('%I %L', split_part(o, '=', 1), split_part(o, '=', 2)), ', '))
			 FROM pg_foreign_server, unnest(srvoptions) o WHERE srvname = 'loopback');
	EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER %I', name);
END
$$;
SELECT add_server(name) FROM unnest('{deposit_a, deposit_b}'::text[]) name;
CREATE TABLE remote.deposit_a (id int, name text);
CREATE TABLE remote.deposit_b (id int, name text);
CREATE TABLE both_servers (id int, name text) PARTITION BY LIST ((id % 2));
CREATE FOREIGN TABLE part_a PARTITION OF both_servers FOR VALUES IN (0) SERVER deposit_a OPTIONS (schema_name 'remote', table_name 'deposit_a');
CREATE FOREIGN TABLE part_b PARTITION OF both_servers FOR VALUES IN (1) SERVER deposit_b OPTIONS (schema_name 'remote', table_name 'deposit_b');
SET pg_exchange.compression = none;
CREATE VIEW connections AS SELECT srvname, state, streams > 0 AS used, wire_bytes > 0 AS bytes FROM exchange.connections WHERE srvname ~ '^deposit' ORDER BY 1;
CREATE VIEW stored AS SELECT count(*), sum(id), count(DISTINCT name) AS names FROM (TABLE remote.deposit_a UNION ALL TABLE remote.deposit_b) x;
INSERT INTO both_servers SELECT i, repeat('x', 100) || i FROM generate_series(1, 12000) i;
TABLE connections;
TABLE stored;
TRUNCATE remote.deposit_a, remote.deposit_b;

-- no connection with transport = session, to a local server, or with one server at a time
SELECT exchange.disconnect(name) FROM unnest('{deposit_a, deposit_b}'::name[]) name;
SET pg_exchange.transport = session;
INSERT INTO both_servers SELECT i, repeat('x', 100) || i FROM generate_series(1, 12000) i;
SET pg_exchange.transport = auto;
TABLE connections;
SET pg_exchange.local_scope = instance;
INSERT INTO both_servers SELECT i, repeat('x', 100) || i FROM generate_series(1, 12000) i;
RESET pg_exchange.local_scope;
TABLE connections;
SET pg_exchange.write_streams = 1;
INSERT INTO both_servers SELECT i, repeat('x', 100) || i FROM generate_series(1, 12000) i;
RESET pg_exchange.write_streams;
TABLE connections;
TABLE stored;
TRUNCATE remote.deposit_a, remote.deposit_b;

-- The session that had the deposits ends before they are applied: the frames are sent again.
SET pg_exchange.batch_rows_max = 256;	-- what was deposited is looked for after each frame
CREATE FUNCTION end_depositors(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i > 16000 AND i % 16 = 0 THEN
		PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
		PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE state = 'idle' AND query ~ '^SELECT exchange.deposit';
	END IF;
	RETURN i;
END
$$;
INSERT INTO both_servers SELECT end_depositors(i), repeat('x', 100) || i FROM generate_series(1, 24000) i;
RESET pg_exchange.batch_rows_max;
TABLE stored;
TRUNCATE remote.deposit_a, remote.deposit_b;

-- An error of the remote in a deposit; and one of the source while deposits are on their way.
ALTER TABLE remote.deposit_a ADD CHECK (id <> 2024);
\set SHOW_CONTEXT never
INSERT INTO both_servers SELECT i, repeat('x', 100) || i FROM generate_series(1, 12000) i;
\set SHOW_CONTEXT errors
ALTER TABLE remote.deposit_a DROP CONSTRAINT deposit_a_id_check;
INSERT INTO both_servers SELECT CASE i WHEN 24000 THEN 1 / (i - 24000) ELSE i END, repeat('x', 100) || i FROM generate_series(1, 26000) i;
BEGIN;
SAVEPOINT s;
INSERT INTO both_servers SELECT CASE i WHEN 24000 THEN 1 / (i - 24000) ELSE i END, repeat('x', 100) || i FROM generate_series(1, 26000) i;
ROLLBACK TO s;
INSERT INTO both_servers SELECT i, 'x' || i FROM generate_series(1, 2000) i;
COMMIT;
TABLE stored;

SET client_min_messages = warning;
DROP SCHEMA deposit CASCADE;
DROP SERVER deposit_a CASCADE;
DROP SERVER deposit_b CASCADE;
DROP TABLE remote.deposit_a, remote.deposit_b;
