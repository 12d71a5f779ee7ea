--
-- Transactions: one snapshot per server, own writes, subtransactions, locks.
--
CREATE TABLE remote.accounts AS SELECT i AS id, 100 AS balance FROM generate_series(1, 1000) i;
CREATE FOREIGN TABLE accounts (id int, balance int)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'accounts');

-- repeatable reads, whoever reads
BEGIN;
SELECT transport('SELECT * FROM accounts');
SELECT sum(balance) FROM accounts;
SET LOCAL pg_exchange.enabled = off;
SELECT sum(balance) FROM accounts;
COMMIT;

-- own writes are seen, because the scan is left to postgres_fdw
BEGIN;
SELECT sum(balance) FROM (SELECT balance FROM accounts OFFSET 0) x;
UPDATE accounts SET balance = balance + 1 WHERE id <= 10;
SELECT sum(balance) FROM (SELECT balance FROM accounts OFFSET 0) x;
SELECT transport('SELECT * FROM accounts');
ROLLBACK;
SELECT transport('SELECT * FROM accounts');

-- TRUNCATE after reading: no stream holds a lock any more
BEGIN;
SELECT sum(balance) FROM (SELECT balance FROM accounts OFFSET 0) x;
SET LOCAL statement_timeout = '20s';
TRUNCATE accounts;
SELECT count(*) FROM (SELECT balance FROM accounts OFFSET 0) x;
ROLLBACK;
BEGIN;
SELECT id > 0 AS some FROM accounts LIMIT 1;
SET LOCAL statement_timeout = '20s';
TRUNCATE accounts;
ROLLBACK;

-- subtransactions: the first use of a server in one cannot export a snapshot
BEGIN;
SAVEPOINT s;
SELECT transport('SELECT * FROM accounts');
ROLLBACK TO s;
SELECT transport('SELECT * FROM accounts');
RELEASE s;
SELECT transport('SELECT * FROM accounts');
SAVEPOINT s;
SELECT transport('SELECT * FROM accounts');
SELECT 1 / (balance - 100) FROM (SELECT balance FROM accounts OFFSET 0) x;
ROLLBACK TO s;
SELECT transport('SELECT * FROM accounts');
COMMIT;

-- a stream that began before a savepoint survives it, one of its own does not
BEGIN;
DECLARE outside CURSOR FOR SELECT id FROM accounts;
FETCH 1 FROM outside;
SAVEPOINT s;
DECLARE inside CURSOR FOR SELECT id FROM accounts;
FETCH 1 FROM inside;
FETCH 1 FROM outside;
ROLLBACK TO s;
FETCH 1 FROM inside;
ROLLBACK TO s;
MOVE 990 FROM outside;
FETCH ALL FROM outside;
COMMIT;

-- serializable
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT transport('SELECT * FROM accounts');
COMMIT;

-- a remote error keeps its SQLSTATE
CREATE VIEW remote.failing AS SELECT 1 / (id - 500) AS x FROM remote.accounts;
CREATE FOREIGN TABLE failing (x int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'failing');
DO $$
BEGIN
	PERFORM count(*) FROM (SELECT x FROM failing OFFSET 0) y;
EXCEPTION WHEN division_by_zero THEN
	RAISE NOTICE 'caught % %', SQLSTATE, SQLERRM;
END
$$;
SELECT transport('SELECT * FROM accounts');

-- the far side keeps no transaction open after a scan
BEGIN;
SELECT count(*) FROM (SELECT * FROM accounts OFFSET 0) x;
SELECT comes_true($$(SELECT count(*) > 0 AND bool_and(state = 'idle') FROM streams)$$);
COMMIT;

-- what a volatile function does there belongs to the local transaction, and
-- what tells about the session is that of postgres_fdw: declined by the remote
CREATE TABLE remote.log (at int);
CREATE FUNCTION remote.log_reading(i int) RETURNS int LANGUAGE sql AS
	'INSERT INTO remote.log VALUES (i) RETURNING at';
CREATE VIEW remote.logged AS SELECT remote.log_reading(id) AS id FROM remote.accounts WHERE id <= 10;
CREATE FOREIGN TABLE logged (id int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE log (at int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE VIEW remote.whoami AS SELECT pg_backend_pid() AS pid;
CREATE FOREIGN TABLE whoami (pid int) SERVER loopback OPTIONS (schema_name 'remote');
BEGIN;
SELECT transport('SELECT * FROM logged');
SELECT count(*) FROM (SELECT * FROM log OFFSET 0) x;
ROLLBACK;
SELECT count(*) FROM (SELECT * FROM log OFFSET 0) x;
BEGIN;
SELECT transport('SELECT * FROM whoami');
SET LOCAL pg_exchange.enabled = off;
SELECT pid AS before FROM whoami \gset
SET LOCAL pg_exchange.enabled = on;
SELECT pid = :before AS same FROM whoami;
COMMIT;

-- nor may the time of the transaction, which is one for all that it reads
CREATE VIEW remote.recent AS SELECT id, name FROM remote.numbers WHERE now() > '2000-01-01';
CREATE VIEW remote.today AS SELECT id, current_date AS day FROM remote.numbers;
CREATE VIEW remote.mine AS SELECT id, current_user AS who FROM remote.numbers;
CREATE FOREIGN TABLE recent (id int, name text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'recent');
CREATE FOREIGN TABLE today (id int, day date) SERVER loopback OPTIONS (schema_name 'remote', table_name 'today');
CREATE FOREIGN TABLE mine (id int, who text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'mine');
SELECT transport('SELECT * FROM recent');
SELECT transport('SELECT * FROM today');
SELECT transport('SELECT id FROM today');
SELECT transport('SELECT * FROM mine');
DROP FOREIGN TABLE recent, today, mine;
DROP VIEW remote.recent, remote.today, remote.mine;

-- the right to the schema is revoked after the hello
CREATE ROLE regress_px_reader LOGIN;
GRANT USAGE ON SCHEMA remote TO regress_px_reader;
GRANT SELECT ON remote.numbers TO regress_px_reader;
CREATE FOREIGN TABLE read_numbers (id int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'numbers');
GRANT SELECT ON read_numbers TO regress_px_reader;
GRANT USAGE ON FOREIGN SERVER loopback TO regress_px_reader;
CREATE USER MAPPING FOR regress_px_reader SERVER loopback OPTIONS (password_required 'false', user 'regress_px_reader');
SET ROLE regress_px_reader;
SELECT transport('SELECT * FROM read_numbers');
RESET ROLE;
REVOKE USAGE ON SCHEMA exchange FROM PUBLIC;
SET ROLE regress_px_reader;
SELECT transport('SELECT * FROM read_numbers');
SELECT count(*) FROM (SELECT * FROM read_numbers OFFSET 0) n;
RESET ROLE;
REVOKE SELECT ON remote.numbers FROM regress_px_reader;
SET ROLE regress_px_reader;
SELECT count(*) FROM (SELECT * FROM read_numbers OFFSET 0) n;
RESET ROLE;
GRANT USAGE ON SCHEMA exchange TO PUBLIC;
DROP FOREIGN TABLE read_numbers;
DROP USER MAPPING FOR regress_px_reader SERVER loopback;
DROP OWNED BY regress_px_reader;
DROP ROLE regress_px_reader;
