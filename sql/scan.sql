--
-- Scans in their surroundings: parameters and rescans, LIMIT, prepared
-- statements, cursors, subqueries, INSERT ... SELECT, views, PL/pgSQL.
--
CREATE TABLE local_ids AS SELECT i AS id FROM generate_series(1, 20) i;
ANALYZE local_ids;

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

-- a nested loop that asks for each outer row
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
ALTER SERVER loopback OPTIONS (ADD use_remote_estimate 'true');
CREATE UNIQUE INDEX ON remote.numbers (id);
ANALYZE remote.numbers;
SELECT explain_stable('SELECT * FROM local_ids l JOIN LATERAL (SELECT * FROM numbers n WHERE n.id = l.id OFFSET 0) n ON true',
	'VERBOSE, COSTS OFF');
SELECT count(*), sum(n.digit), max(n.name) FROM local_ids l JOIN LATERAL (SELECT * FROM numbers n WHERE n.id = l.id OFFSET 0) n ON true;
SELECT * FROM exchange_differences('SELECT l.id, n.* FROM local_ids l LEFT JOIN LATERAL
	(SELECT * FROM numbers n WHERE n.id > l.id ORDER BY n.id LIMIT 3) n ON true');
SELECT count(*) FROM local_ids l, numbers n WHERE n.id % 1000 = l.id;
ALTER SERVER loopback OPTIONS (DROP use_remote_estimate);
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- a server whose connections are not to be kept
ALTER SERVER loopback OPTIONS (ADD keep_connections 'off');
SELECT transport('SELECT * FROM numbers');
SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND pg_sleep(0.2) IS NOT NULL;
ALTER SERVER loopback OPTIONS (DROP keep_connections);

-- left early: the connection serves the next scan
SELECT id FROM numbers LIMIT 1;
SELECT EXISTS (SELECT 1 FROM numbers WHERE random() < 2);
SELECT count(*) FROM numbers;

-- several scans of one server at once
SELECT count(*) FROM numbers a JOIN numbers b ON a.name = b.name || '' JOIN numbers c ON c.name = a.name || '';
SET pg_exchange.max_connections_per_server = 1;
SELECT count(*) FROM numbers a JOIN numbers b ON a.name = b.name || '';
BEGIN;
DECLARE busy CURSOR FOR SELECT id FROM numbers;
FETCH 1 FROM busy;
SELECT transport('SELECT name FROM numbers');
CLOSE busy;
SELECT transport('SELECT name FROM numbers');
COMMIT;
RESET pg_exchange.max_connections_per_server;

-- prepared, custom and generic
PREPARE by_digit(int) AS SELECT count(name) FROM (SELECT name FROM numbers WHERE digit = $1 OFFSET 0) x;
EXECUTE by_digit(3);
SET plan_cache_mode = force_generic_plan;
EXECUTE by_digit(3);
EXECUTE by_digit(NULL);
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE by_digit(3);
RESET plan_cache_mode;
SET pg_exchange.enabled = off;
EXECUTE by_digit(4);
RESET pg_exchange.enabled;
DEALLOCATE by_digit;

-- cursors, two at once, one that outlives its transaction
BEGIN;
DECLARE one CURSOR FOR SELECT id FROM numbers;
DECLARE two SCROLL CURSOR FOR SELECT id FROM numbers ORDER BY id;
DECLARE held CURSOR WITH HOLD FOR SELECT id FROM numbers ORDER BY id;
FETCH 2 FROM two;
FETCH 2 FROM one;
FETCH 2 FROM two;
FETCH BACKWARD 2 FROM two;
FETCH ABSOLUTE 9999 FROM two;
CLOSE one;
COMMIT;
FETCH 2 FROM held;
CLOSE held;

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

-- what must stay with postgres_fdw
EXPLAIN (COSTS OFF) SELECT * FROM numbers FOR UPDATE;
EXPLAIN (COSTS OFF) UPDATE numbers SET digit = digit + 1;
EXPLAIN (COSTS OFF) DELETE FROM numbers WHERE random() < 0;
EXPLAIN (COSTS OFF) SELECT ctid, * FROM numbers;
EXPLAIN (COSTS OFF) SELECT id FROM numbers WHERE ctid = '(0,1)' OR random() < 0;
