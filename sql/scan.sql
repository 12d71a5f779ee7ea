--
-- Scans of one table and where they stand in a query; what stays with
-- postgres_fdw.
--
-- quals there and here, projection here
SELECT * FROM exchange_differences('SELECT id + 1, upper(name) FROM numbers WHERE digit = 3 AND length(name) > 9');
-- ordered by the far side
SELECT * FROM exchange_differences('SELECT name FROM numbers ORDER BY name LIMIT 100');
-- none at all, one
SELECT * FROM exchange_differences('SELECT * FROM numbers WHERE id < 0');
SELECT * FROM exchange_differences('SELECT * FROM numbers WHERE id = 77');
-- a one-time filter
SELECT * FROM exchange_differences('SELECT * FROM numbers WHERE now() > ''2000-01-01'' AND id < 10');
SELECT * FROM exchange_differences('SELECT * FROM numbers WHERE now() < ''2000-01-01'' AND id < 10');

-- INSERT ... SELECT, CTE, UNION ALL, InitPlan, views, PL/pgSQL
CREATE TABLE copied (LIKE remote.numbers);
EXPLAIN (COSTS OFF) INSERT INTO copied SELECT * FROM numbers;
INSERT INTO copied SELECT * FROM numbers;
SELECT count(*) FROM (TABLE copied EXCEPT ALL TABLE remote.numbers) x;
WITH n AS MATERIALIZED (SELECT * FROM numbers) SELECT count(*), (SELECT max(name) FROM n) FROM n;
SELECT count(*) FROM (SELECT name FROM numbers UNION ALL SELECT name FROM numbers WHERE digit = 1) x;
CREATE VIEW some_numbers AS SELECT id, name FROM numbers WHERE digit < 5;
SELECT count(name) FROM (SELECT * FROM some_numbers OFFSET 0) x;
DO $$
DECLARE
	n int := 0;
	r record;
BEGIN
	FOR r IN SELECT * FROM numbers WHERE digit = 9 LOOP
		n := n + 1;
		EXIT WHEN n = 500;
	END LOOP;
	RAISE NOTICE 'read %', n;
END
$$;

-- ctid, by frames and by the child, which projects if a column was dropped
SELECT * FROM exchange_differences('SELECT ctid, tableoid, id FROM numbers WHERE ctid <> ''(0,1)'' AND random() >= 0');
CREATE TABLE remote.dropped AS SELECT id, digit, name FROM remote.numbers WHERE id < 1000;
CREATE FOREIGN TABLE dropped (id int, digit int, name text) SERVER loopback OPTIONS (schema_name 'remote');
ALTER TABLE remote.dropped DROP digit;
ALTER FOREIGN TABLE dropped DROP digit;
SELECT * FROM exchange_differences('SELECT name, ctid FROM dropped');
SELECT count(*) FROM (SELECT name, ctid FROM dropped EXCEPT SELECT name, ctid FROM remote.dropped) x;
SET pg_exchange.transport = stream;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT transport('SELECT name, ctid FROM dropped');
SELECT count(*) FROM (SELECT name, ctid FROM dropped EXCEPT SELECT name, ctid FROM remote.dropped) x;
COMMIT;
RESET pg_exchange.transport;
-- a relation there whose rows have none
CREATE VIEW remote.without_ctid AS SELECT i AS id, NULL::tid AS ctid FROM generate_series(1, 3) i;
CREATE FOREIGN TABLE without_ctid (id int) SERVER loopback OPTIONS (schema_name 'remote');
SELECT * FROM exchange_differences('SELECT ctid, id FROM without_ctid');

-- what must stay with postgres_fdw
EXPLAIN (COSTS OFF) SELECT * FROM numbers FOR UPDATE;
EXPLAIN (COSTS OFF) UPDATE numbers SET digit = digit + 1;
EXPLAIN (COSTS OFF) SELECT xmin, * FROM numbers;
EXPLAIN (COSTS OFF) SELECT id FROM numbers WHERE cmin = '0' OR random() < 0;
