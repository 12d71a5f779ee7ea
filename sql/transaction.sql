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
