--
-- UPDATE and DELETE: the scans that feed them.
--
CREATE TABLE remote.stock (id int PRIMARY KEY, warehouse int, amount int CHECK (amount >= 0), note text);
CREATE TABLE remote.delivery (id int, item int, amount int);
INSERT INTO remote.stock SELECT i, i % 10, i % 7, 'item ' || i FROM generate_series(1, 3000) i;
INSERT INTO remote.delivery SELECT i, i * 3, i % 5 FROM generate_series(1, 500) i;
ANALYZE remote.stock, remote.delivery;
IMPORT FOREIGN SCHEMA remote LIMIT TO (stock, delivery) FROM SERVER loopback INTO public;
ANALYZE stock, delivery;
CREATE TABLE here AS SELECT i AS id, i * 2 AS amount FROM generate_series(1, 700) i;
ANALYZE here;

-- not immutable, so it runs here: what calls it is not pushed down
CREATE FUNCTION same(int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';

-- Rows that a statement changes, and what the tables have then, rolled back.
CREATE FUNCTION run_and_undo(statement text, tables text[], OUT changed bigint, OUT contents text) LANGUAGE plpgsql AS $$
DECLARE
	name text;
	content text;
BEGIN
	EXECUTE statement;
	GET DIAGNOSTICS changed = ROW_COUNT;
	contents := '';
	FOREACH name IN ARRAY tables LOOP
		EXECUTE format('SELECT md5(string_agg(t::text, ''|'' ORDER BY t::text)) FROM %s t', name) INTO content;
		contents := contents || content;
	END LOOP;
	RAISE EXCEPTION 'undone';
EXCEPTION WHEN raise_exception THEN
	IF SQLERRM <> 'undone' THEN
		RAISE;
	END IF;
END
$$;

-- A statement by postgres_fdw alone, and with exchanges: the same rows? And
-- how were the scans run?
CREATE FUNCTION update_differences(statement text, tables text[] DEFAULT '{stock}')
RETURNS TABLE (changed bigint, same boolean, transports text) LANGUAGE plpgsql AS $$
DECLARE
	alone record;
	exchanged record;
BEGIN
	PERFORM set_config('pg_exchange.enabled', 'off', false);
	SELECT * INTO alone FROM run_and_undo(statement, tables);
	PERFORM set_config('pg_exchange.enabled', 'on', false);
	SELECT * INTO exchanged FROM run_and_undo(statement, tables);
	changed := exchanged.changed;
	same := alone = exchanged;
	BEGIN
		SELECT string_agg(t, ', ') INTO transports FROM transport(statement) t;
		RAISE EXCEPTION 'undone';
	EXCEPTION WHEN raise_exception THEN
	END;
	RETURN NEXT;
END
$$;

-- what the remote can do as a whole is pushed down, as ever
SELECT explain_stable('UPDATE stock SET amount = amount + 1');
SELECT explain_stable('DELETE FROM stock WHERE id > 10 RETURNING note');
SELECT explain_stable('UPDATE stock SET amount = delivery.amount FROM delivery WHERE item = stock.id');

-- of one table: conditions and values that are computed here
SELECT explain_stable('UPDATE stock SET amount = same(amount) + 1', 'VERBOSE, COSTS OFF');
SELECT * FROM update_differences('UPDATE stock SET amount = same(amount) + 1');
SELECT * FROM update_differences('UPDATE stock SET amount = amount + 1 WHERE same(id) % 3 = 0');
SELECT * FROM update_differences('UPDATE stock SET note = note || same(id), amount = NULL WHERE amount > 3');
SELECT * FROM update_differences('DELETE FROM stock WHERE same(id) > 2000');
SELECT * FROM update_differences('DELETE FROM stock WHERE same(id) < 0');
-- with tables here
SELECT explain_stable('UPDATE stock SET amount = stock.amount + here.amount FROM here WHERE here.id = stock.id', 'VERBOSE, COSTS OFF');
SELECT * FROM update_differences('UPDATE stock SET amount = stock.amount + here.amount FROM here WHERE here.id = stock.id');
SELECT * FROM update_differences('DELETE FROM stock USING here WHERE here.id = stock.id AND here.amount > 500');
SELECT * FROM update_differences('UPDATE stock SET note = (SELECT max(here.amount) FROM here WHERE here.id = stock.id)');
SELECT * FROM update_differences('UPDATE stock s SET note = t FROM (SELECT same(id) t FROM stock WHERE id < 9) x WHERE t = s.id');
-- a row that joins twice is changed once
SELECT * FROM update_differences('UPDATE stock SET amount = stock.amount + 1 FROM here WHERE here.id % 100 = stock.id');
-- a join over there
SELECT explain_stable('UPDATE stock SET amount = same(delivery.amount) FROM delivery WHERE item = stock.id', 'VERBOSE, COSTS OFF');
SELECT * FROM update_differences('UPDATE stock SET amount = same(delivery.amount) FROM delivery WHERE item = stock.id');
SELECT * FROM update_differences('DELETE FROM stock USING delivery WHERE item = stock.id AND same(delivery.id) < 200');
-- the other way round: rows here, by what is over there
SELECT explain_stable('UPDATE here SET amount = same(stock.amount) FROM stock, delivery WHERE item = stock.id AND here.id = delivery.id');
SELECT * FROM update_differences('UPDATE here SET amount = same(stock.amount) FROM stock, delivery WHERE item = stock.id AND here.id = delivery.id', '{here}');
SELECT * FROM update_differences('DELETE FROM here USING stock WHERE here.id = stock.id AND stock.amount > 3', '{here}');
-- partitions: here, over there, and both in one table
CREATE TABLE remote.parted_1 (id int, part int, amount int);
CREATE TABLE remote.parted_2 (LIKE remote.parted_1);
CREATE TABLE parted (id int, part int, amount int) PARTITION BY LIST (part);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0);
CREATE FOREIGN TABLE parted_1 PARTITION OF parted FOR VALUES IN (1) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE parted_2 PARTITION OF parted FOR VALUES IN (2) SERVER loopback OPTIONS (schema_name 'remote');
INSERT INTO parted SELECT i, i % 3, i % 11 FROM generate_series(1, 1500) i;
ANALYZE parted_0, remote.parted_1, remote.parted_2, parted_1, parted_2;
SELECT explain_stable('UPDATE parted SET amount = same(amount) + 1');
SELECT * FROM update_differences('UPDATE parted SET amount = same(amount) + 1', '{parted}');
SELECT explain_stable('UPDATE parted SET amount = 5 WHERE amount = 3 OR part = 0');
SELECT * FROM update_differences('UPDATE parted SET amount = parted.amount + 1 FROM here WHERE here.id = parted.id', '{parted}');
SELECT * FROM update_differences('DELETE FROM parted USING stock WHERE stock.id = parted.id AND same(stock.amount) > 3', '{parted}');
SELECT * FROM update_differences('UPDATE parted SET part = 0 WHERE same(id) < 400', '{parted}');

-- rows are locked as many at a time as postgres_fdw would
ALTER SERVER loopback OPTIONS (ADD fetch_size '70');
BEGIN;
SELECT explain_stable('UPDATE stock SET amount = same(amount) + 1', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
ROLLBACK;
ALTER SERVER loopback OPTIONS (DROP fetch_size);
-- an UPDATE of few rows is not worth an exchange; min_write_rows counts, too
SET pg_exchange.min_bytes = '64kB';
SELECT explain_stable('UPDATE stock SET amount = same(amount) WHERE id < 100');
SELECT explain_stable('UPDATE stock SET amount = same(amount) WHERE id < 200');
SET pg_exchange.min_write_rows = 0;
SELECT explain_stable('UPDATE stock SET amount = same(amount) WHERE id < 100');
RESET pg_exchange.min_write_rows;
RESET pg_exchange.min_bytes;
-- an error of the remote; scans by text
SELECT * FROM update_differences('UPDATE stock SET amount = -same(amount) WHERE id = 8');
BEGIN;
SET LOCAL pg_exchange.transport = stream;
SELECT * FROM update_differences('UPDATE stock SET amount = same(amount) + 1');
COMMIT;
PREPARE increase AS UPDATE stock SET amount = same(amount) + 1;
SET pg_exchange.enabled = off;
BEGIN;
EXECUTE increase;
SELECT sum(amount) FROM stock;
ROLLBACK;
RESET pg_exchange.enabled;
-- WHERE CURRENT OF is postgres_fdw's to refuse
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM stock FOR UPDATE;
MOVE 1 FROM c;
UPDATE stock SET amount = same(1) WHERE CURRENT OF c;
ROLLBACK;
-- a data-modifying CTE, a function that updates while a scan goes on
SELECT * FROM update_differences('WITH d AS (DELETE FROM delivery WHERE same(id) < 100 RETURNING item) UPDATE stock SET amount = same(3) FROM d WHERE d.item = stock.id', '{stock,delivery}');
CREATE FUNCTION take(wanted int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	UPDATE stock SET amount = same(0) WHERE id = wanted + 1;
	RETURN wanted;
END
$$;
SELECT * FROM update_differences('UPDATE stock SET note = take(id) WHERE id BETWEEN 100 AND 400 AND id % 2 = 0');
