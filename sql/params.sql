--
-- Parameters: nested loops that ask anew for each outer row.
--
CREATE TABLE local_ids AS SELECT i AS id FROM generate_series(1, 20) i;
ANALYZE local_ids;

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


-- types and nulls of parameters
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT * FROM exchange_differences('SELECT v.i, x.c FROM (VALUES (1, NULL::text, date ''2000-01-05'', 1.50), (2, ''text 7'', NULL, NULL)) v(i, t, d, n)
	LEFT JOIN LATERAL (SELECT count(*) AS c FROM types WHERE c_text = v.t OR c_date = v.d OR c_numeric_15_2 = v.n OFFSET 0) x ON true');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- what an init plan sets once is as good as a constant, also in a subquery
-- that is run again; what an outer row sets is not
SET pg_exchange.join_exchange = off;
SELECT * FROM transport_counts('SELECT name FROM numbers WHERE id > (SELECT max(id) - 5 FROM numbers)');
SELECT * FROM exchange_differences('SELECT * FROM numbers WHERE id > (SELECT max(id) - 5 FROM numbers)');
SELECT * FROM exchange_differences('SELECT l.id, (SELECT count(*) FROM numbers n WHERE n.id > (SELECT max(id) - 5 FROM numbers) + 0 * random()) FROM local_ids l');
SELECT * FROM transport_counts('SELECT l.id, (SELECT count(*) FROM numbers n WHERE n.id > l.id + (SELECT max(id) - 25 FROM numbers)) FROM local_ids l');
SELECT * FROM exchange_differences('SELECT l.id, (SELECT count(*) FROM numbers n WHERE n.id > l.id + (SELECT max(id) - 25 FROM numbers)) FROM local_ids l');
SELECT * FROM exchange_differences('SELECT l.id, (SELECT count(*) FROM numbers n WHERE n.id > (SELECT max(m.id) - l.id FROM numbers m)) FROM local_ids l');
-- an error in the init plan; the next query finds all as before
SELECT name FROM numbers WHERE id > (SELECT 1 / (count(*) - count(*)) FROM local_ids);
PREPARE above(int) AS SELECT count(*) FROM numbers WHERE id > (SELECT max(id) - $1 FROM numbers);
EXECUTE above(3);
EXECUTE above(7);
RESET pg_exchange.join_exchange;

-- an init plan that writes, before the query that its result is for
CREATE TABLE remote.written_first (id int);
CREATE FOREIGN TABLE written_first (id int) SERVER loopback OPTIONS (schema_name 'remote');
INSERT INTO remote.written_first SELECT generate_series(1, 2000);
CREATE FUNCTION write_first() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.written_first VALUES (3000); RETURN 1999; END $$;
BEGIN;
SELECT count(*) FROM written_first WHERE id > (SELECT write_first());
SELECT count(*) FROM written_first WHERE id > (SELECT write_first() OFFSET 0);
ROLLBACK;
BEGIN;
SET LOCAL pg_exchange.enabled = off;
SELECT count(*) FROM written_first WHERE id > (SELECT write_first());
SELECT count(*) FROM written_first WHERE id > (SELECT write_first() OFFSET 0);
ROLLBACK;

-- the same, by a view there; and init plans that need the connection
CREATE FUNCTION remote.write_first() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO remote.written_first VALUES (3000); RETURN 1999; END $$;
CREATE VIEW remote.writer AS SELECT remote.write_first() AS id;
CREATE FOREIGN TABLE writer (id int) SERVER loopback OPTIONS (schema_name 'remote');
BEGIN;
SELECT count(*) FROM (SELECT * FROM written_first WHERE id > (SELECT id FROM writer) OFFSET 0) t;
SET LOCAL pg_exchange.transport = stream;
SELECT count(*) FROM (SELECT * FROM written_first WHERE id > (SELECT id FROM writer) OFFSET 0) t;
SET LOCAL pg_exchange.enabled = off;
SELECT count(*) FROM (SELECT * FROM written_first WHERE id > (SELECT id FROM writer) OFFSET 0) t;
ROLLBACK;
SET pg_exchange.transport = stream;
SET pg_exchange.max_connections_per_server = 1;
SELECT * FROM transport_counts('SELECT * FROM written_first WHERE id > (SELECT max(id) - 5 FROM (SELECT * FROM written_first OFFSET 0) t)');
RESET pg_exchange.max_connections_per_server;
-- one that keeps a hash table until the query ends
SET pg_exchange.transport = session;
SELECT count(*) FROM (SELECT * FROM written_first WHERE id > (SELECT count(*) FROM written_first a FULL JOIN written_first b ON a.id = b.id) - 5 OFFSET 0) t;
RESET pg_exchange.transport;
DROP FOREIGN TABLE written_first, writer;
DROP VIEW remote.writer;
DROP TABLE remote.written_first;
