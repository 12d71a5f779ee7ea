--
-- Several scans at once, and connections that are kept or not.
--
-- several scans of one server at once
SELECT count(*) FROM numbers a JOIN numbers b ON a.name = b.name || '' JOIN numbers c ON c.name = a.name || '';
SET pg_exchange.max_connections_per_server = 1;
SELECT count(*) FROM numbers a JOIN numbers b ON a.name = b.name || '';
-- a stream that another one took the connection from goes on with what was read for it
CREATE FUNCTION rest_of(c refcursor, OUT n bigint, OUT total bigint) LANGUAGE plpgsql AS $$
DECLARE
  id int;
BEGIN
  n := 0;
  total := 0;
  LOOP
    FETCH c INTO id;
    EXIT WHEN NOT FOUND;
    n := n + 1;
    total := total + id;
  END LOOP;
END
$$;
SELECT count(*), sum(id) FROM numbers;
SET work_mem = '64kB'; -- so that it takes a file
BEGIN;
DECLARE busy CURSOR FOR SELECT id FROM numbers;
DECLARE other CURSOR FOR SELECT id FROM numbers;
DECLARE untouched CURSOR FOR SELECT id FROM numbers;
FETCH 1 FROM busy;
SELECT transport('SELECT name FROM numbers');
FETCH 1 FROM other;
SELECT * FROM rest_of('busy');
SELECT * FROM rest_of('untouched');
SELECT * FROM rest_of('other');
COMMIT;

-- also when the connection was taken in a subtransaction, whatever becomes of that
BEGIN;
DECLARE busy CURSOR FOR SELECT id FROM numbers;
FETCH 1 FROM busy;
SAVEPOINT s;
SELECT transport('SELECT name FROM numbers');
ROLLBACK TO s;
SELECT * FROM rest_of('busy');
COMMIT;

-- a held cursor is read to its end by the commit
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id FROM numbers;
FETCH 1 FROM held;
SELECT transport('SELECT name FROM numbers');
COMMIT;
SELECT transport('SELECT name FROM numbers');
SELECT * FROM rest_of('held');
CLOSE held;

-- an error of the remote comes when its place is reached
CREATE VIEW remote.failing AS SELECT id, 1 / (id - 5000) AS x FROM remote.numbers;
CREATE FOREIGN TABLE failing (id int, x int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'failing');
BEGIN;
DECLARE busy CURSOR FOR SELECT id FROM failing WHERE x IS NOT NULL;
FETCH 1 FROM busy;
SELECT transport('SELECT name FROM numbers');
SELECT * FROM rest_of('busy');
ROLLBACK;
SELECT transport('SELECT * FROM numbers');
DROP FOREIGN TABLE failing;
DROP VIEW remote.failing;
RESET work_mem;

-- the outer of two streams in a nested loop
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*), sum(a.id) FROM numbers a, LATERAL (SELECT * FROM numbers b WHERE b.id = a.id OFFSET 0) b WHERE a.id <= 50;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET pg_exchange.max_connections_per_server;

-- a server whose connections are not to be kept
SELECT comes_true('EXISTS (SELECT FROM streams)');
ALTER SERVER loopback OPTIONS (ADD keep_connections 'off');
SELECT transport('SELECT * FROM numbers');
SELECT comes_true('NOT EXISTS (SELECT FROM streams)');
ALTER SERVER loopback OPTIONS (DROP keep_connections);
