--
-- UPDATE and DELETE: the scans that feed them, and the rows that are changed.
--
CREATE SCHEMA updates;
CREATE SCHEMA there;
SET search_path = updates, public;
CREATE TABLE there.stock (id int PRIMARY KEY, warehouse int, amount int CHECK (amount >= 0), note text);
CREATE TABLE there.delivery (id int, item int, amount int);
INSERT INTO there.stock SELECT i, i % 10, i % 7, 'item ' || i FROM generate_series(1, 1000) i;
INSERT INTO there.delivery SELECT i, i * 3, i % 5 FROM generate_series(1, 300) i;
ANALYZE there.stock, there.delivery;
IMPORT FOREIGN SCHEMA there LIMIT TO (stock, delivery) FROM SERVER loopback INTO updates;
ANALYZE stock, delivery;
CREATE TABLE here AS SELECT i AS id, i * 2 AS amount FROM generate_series(1, 400) i;
ANALYZE here;

-- a function of a user runs here: what calls it is not pushed down
CREATE FUNCTION same(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';

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
SELECT * FROM update_differences('DELETE FROM stock WHERE same(id) > 700');
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
SELECT * FROM update_differences('DELETE FROM stock USING delivery WHERE item = stock.id AND same(delivery.id) < 150');
-- the other way round: rows here, by what is over there
SELECT explain_stable('UPDATE here SET amount = same(stock.amount) FROM stock, delivery WHERE item = stock.id AND here.id = delivery.id');
SELECT * FROM update_differences('UPDATE here SET amount = same(stock.amount) FROM stock, delivery WHERE item = stock.id AND here.id = delivery.id', '{here}');
SELECT * FROM update_differences('DELETE FROM here USING stock WHERE here.id = stock.id AND stock.amount > 3', '{here}');
-- partitions: here, over there, and both in one table
CREATE TABLE there.parted_1 (id int, part int, amount int);
CREATE TABLE there.parted_2 (LIKE there.parted_1);
CREATE TABLE parted (id int, part int, amount int) PARTITION BY LIST (part);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES IN (3);
CREATE FOREIGN TABLE parted_1 PARTITION OF parted FOR VALUES IN (1) SERVER loopback OPTIONS (schema_name 'there');
CREATE FOREIGN TABLE parted_2 PARTITION OF parted FOR VALUES IN (2) SERVER loopback OPTIONS (schema_name 'there');
INSERT INTO parted SELECT i, i % 3 + 1, i % 11 FROM generate_series(1, 900) i;
ANALYZE parted_3, there.parted_1, there.parted_2, parted_1, parted_2;
SELECT explain_stable('UPDATE parted SET amount = same(amount) + 1');
SELECT * FROM update_differences('UPDATE parted SET amount = same(amount) + 1', '{parted}');
SELECT explain_stable('UPDATE parted SET amount = 5 WHERE amount = 3 OR part = 3');
SELECT * FROM update_differences('UPDATE parted SET amount = parted.amount + 1 FROM here WHERE here.id = parted.id', '{parted}');
SELECT * FROM update_differences('DELETE FROM parted USING stock WHERE stock.id = parted.id AND same(stock.amount) > 3', '{parted}');
SELECT * FROM update_differences('UPDATE parted SET part = 3 WHERE same(id) < 400', '{parted}');

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
SELECT explain_stable('UPDATE stock SET amount = same(amount) WHERE id < 150');
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
-- postgres_fdw reads for a plan with an exchange
PREPARE decrease AS UPDATE stock SET amount = same(amount) - 1 WHERE amount > 0;
BEGIN;
EXECUTE decrease;
SET LOCAL pg_exchange.enabled = off;
EXECUTE decrease;
SELECT sum(amount), count(*) FILTER (WHERE amount = 0) FROM stock;
SELECT transport('EXECUTE decrease');
ROLLBACK;
-- WHERE CURRENT OF is postgres_fdw's to refuse
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM stock FOR UPDATE;
MOVE 1 FROM c;
UPDATE stock SET amount = same(id) WHERE CURRENT OF c;
ROLLBACK;
-- a data-modifying CTE, a function that updates while a scan goes on
SELECT * FROM update_differences('WITH d AS (DELETE FROM delivery WHERE same(id) < 100 RETURNING item) UPDATE stock SET amount = same(id) FROM d WHERE d.item = stock.id', '{stock,delivery}');
CREATE FUNCTION take(wanted int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	UPDATE stock SET amount = same(id) WHERE id = wanted + 1;
	RETURN wanted;
END
$$;
SELECT * FROM update_differences('UPDATE stock SET note = take(id) WHERE id BETWEEN 100 AND 400 AND id % 2 = 0');

--
-- What the remote has to do for a row: with postgres_fdw a statement each.
-- From here on, all rows go as frames.
--
SET pg_exchange.min_write_rows = 0;

-- The error of a statement, with all that is said about it, or its row count.
CREATE FUNCTION error_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	m text; d text; h text; t text; c text; col text; context text;
BEGIN
	BEGIN
		EXECUTE statement;
		GET DIAGNOSTICS n = ROW_COUNT;
		SET CONSTRAINTS ALL IMMEDIATE;
		RAISE EXCEPTION 'undone';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT, t = TABLE_NAME,
			c = CONSTRAINT_NAME, col = COLUMN_NAME, context = PG_EXCEPTION_CONTEXT;
		IF m = 'undone' THEN
			RETURN n || ' rows';
		END IF;
		RETURN concat_ws(E'\n', SQLSTATE || ' ' || m, 'detail: ' || d, nullif('hint: ' || h, 'hint: '), 'of: ' || t || ' ' || c || ' ' || col,
						 'context: ' || split_part(context, E'\n', 1));
	END;
END
$$;

CREATE FUNCTION error_differences(statement text) RETURNS TABLE (same boolean, outcome text) LANGUAGE plpgsql AS $$
DECLARE
	alone text;
BEGIN
	PERFORM set_config('pg_exchange.enabled', 'off', false);
	alone := error_of(statement);
	PERFORM set_config('pg_exchange.enabled', 'on', false);
	outcome := error_of(statement);
	same := alone = outcome;
	IF NOT same THEN
		outcome := format(E'by postgres_fdw: %s\nby frames: %s', alone, outcome);
	END IF;
	RETURN NEXT;
END
$$;

-- the first bad row is the first to fail, whatever is wrong with it
CREATE TABLE there.checked (id int PRIMARY KEY, v int NOT NULL CHECK (v < 1000), u int UNIQUE, w numeric(4,1), g int GENERATED ALWAYS AS (v * 2) STORED);
INSERT INTO there.checked SELECT i, i, i, i FROM generate_series(1, 200) i;
ANALYZE there.checked;
IMPORT FOREIGN SCHEMA there LIMIT TO (checked) FROM SERVER loopback INTO updates;
SELECT * FROM update_differences('UPDATE checked SET v = same(v) + 1, u = u + 1000', '{checked}');
SELECT * FROM error_differences('UPDATE checked SET v = CASE same(id) WHEN 150 THEN NULL WHEN 151 THEN 2000 ELSE v END');
SELECT * FROM error_differences('UPDATE checked SET v = CASE same(id) WHEN 150 THEN 2000 WHEN 151 THEN NULL ELSE v END');
SELECT * FROM error_differences('UPDATE checked SET u = CASE same(id) WHEN 150 THEN 151 ELSE u END, v = CASE id WHEN 160 THEN 2000 ELSE v END');
SELECT * FROM error_differences('UPDATE checked SET u = CASE same(id) WHEN 150 THEN 151 ELSE u END, v = CASE id WHEN 140 THEN 2000 ELSE v END');
SELECT * FROM error_differences('UPDATE checked SET w = CASE same(id) WHEN 150 THEN 12345 ELSE w END');
SELECT * FROM error_differences('UPDATE checked SET g = DEFAULT, v = same(v) + 5');
SELECT * FROM error_differences('UPDATE checked SET u = u + same(1)');		-- each in the place of the next one
SELECT * FROM error_differences('UPDATE checked SET u = same(-u)');
-- in the order in which the rows are found, which is not that of the table there
CREATE TABLE there.backwards (id int, v int NOT NULL CHECK (v < 1000));
INSERT INTO there.backwards SELECT 5001 - i, i % 1000 FROM generate_series(1, 5000) i;
ANALYZE there.backwards;
CREATE FOREIGN TABLE backwards (id int, v int) SERVER loopback OPTIONS (schema_name 'there');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT explain_stable('UPDATE backwards SET v = here.amount FROM here WHERE here.id = backwards.id', 'VERBOSE, COSTS OFF');
SELECT * FROM error_differences('UPDATE backwards SET v = CASE here.id WHEN 150 THEN NULL WHEN 250 THEN 2000 ELSE 1 END FROM here WHERE here.id = backwards.id');
SELECT * FROM error_differences('UPDATE backwards SET v = CASE here.id WHEN 150 THEN 2000 WHEN 250 THEN NULL ELSE 1 END FROM here WHERE here.id = backwards.id');
SELECT * FROM error_differences('UPDATE backwards SET v = CASE here.id WHEN 4 THEN 2000 WHEN 5 THEN NULL ELSE 1 END FROM here WHERE here.id = backwards.id AND here.id IN (3, 4, 5)');
RESET enable_hashjoin;
RESET enable_nestloop;

-- unique at the end of each statement only
CREATE TABLE there.later (id int PRIMARY KEY DEFERRABLE, v int);
INSERT INTO there.later SELECT i, i FROM generate_series(1, 200) i;
CREATE FOREIGN TABLE later (id int, v int) SERVER loopback OPTIONS (schema_name 'there');
SELECT * FROM error_differences('UPDATE later SET id = same(id) + 1');
SELECT * FROM update_differences('UPDATE later SET id = same(id) + 1000', '{later}');

-- foreign keys: from the table, to it, to itself, with deletes that go on
CREATE TABLE there.parent (id int PRIMARY KEY, up int REFERENCES there.parent);
CREATE TABLE there.child (id int PRIMARY KEY, parent int REFERENCES there.parent, v int CHECK (v < 1000));
CREATE TABLE there.toy (child int REFERENCES there.child ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO there.parent SELECT i, CASE WHEN i > 100 THEN i - 100 END FROM generate_series(1, 200) i;
INSERT INTO there.child SELECT i, i, i FROM generate_series(1, 150) i;
INSERT INTO there.toy SELECT i % 90 + 1 FROM generate_series(1, 150) i;
IMPORT FOREIGN SCHEMA there LIMIT TO (parent, child, toy) FROM SERVER loopback INTO updates;
SELECT * FROM update_differences('UPDATE child SET v = same(v) + 1', '{child,toy}');
SELECT * FROM error_differences('UPDATE child SET parent = same(parent) + 100, v = CASE id WHEN 120 THEN 2000 ELSE v END');
SELECT * FROM error_differences('UPDATE child SET parent = same(parent) + 100, v = CASE id WHEN 90 THEN 2000 ELSE v END');
SELECT * FROM error_differences('DELETE FROM parent WHERE same(id) > 120');	-- nothing refers to 151 and up
SELECT * FROM error_differences('DELETE FROM parent WHERE same(id) > 150');
SELECT * FROM error_differences('DELETE FROM parent WHERE same(id) IN (60, 160)');
SELECT * FROM update_differences('DELETE FROM child WHERE same(id) > 20', '{child,toy}');
SELECT * FROM update_differences('UPDATE child SET id = same(id) + 1000', '{child,toy}');
CREATE TABLE there.tree (id int PRIMARY KEY, up int REFERENCES there.tree ON DELETE CASCADE);
INSERT INTO there.tree SELECT i, CASE WHEN i > 1 THEN i / 2 END FROM generate_series(1, 200) i;
CREATE FOREIGN TABLE tree (id int, up int) SERVER loopback OPTIONS (schema_name 'there');
SELECT * FROM update_differences('DELETE FROM tree WHERE same(id) >= 5', '{tree}');
ALTER TABLE there.tree DROP CONSTRAINT tree_up_fkey, ADD FOREIGN KEY (up) REFERENCES there.tree;
SELECT * FROM error_differences('DELETE FROM tree WHERE same(id) IN (50, 100, 101, 200)');
ALTER TABLE there.tree ALTER CONSTRAINT tree_up_fkey DEFERRABLE INITIALLY DEFERRED;
SELECT * FROM error_differences('DELETE FROM tree WHERE same(id) IN (50, 100, 101, 200)');
SELECT * FROM error_differences('DELETE FROM tree WHERE same(id) IN (50, 100, 200)');

-- triggers there see one row after the other
CREATE TABLE there.watched (id int, v int, seen bigint);
INSERT INTO there.watched SELECT i, 0 FROM generate_series(1, 200) i;
CREATE TABLE there.log (what text, n bigint);
CREATE FUNCTION there.watch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_LEVEL = 'STATEMENT' THEN
		INSERT INTO there.log SELECT 'statement', sum(v) FROM there.watched;
		RETURN NULL;
	END IF;
	IF TG_WHEN = 'AFTER' THEN
		INSERT INTO there.log SELECT 'row', sum(v) FROM there.watched;
		RETURN NULL;
	END IF;
	IF OLD.id % 50 = 0 THEN
		RETURN NULL;
	END IF;
	NEW.seen := (SELECT sum(v) FROM there.watched);
	RETURN NEW;
END
$$;
CREATE TRIGGER before_row BEFORE UPDATE ON there.watched FOR EACH ROW EXECUTE FUNCTION there.watch();
CREATE FOREIGN TABLE watched (id int, v int, seen bigint) SERVER loopback OPTIONS (schema_name 'there');
CREATE FOREIGN TABLE log (what text, n bigint) SERVER loopback OPTIONS (schema_name 'there');
SELECT * FROM update_differences('UPDATE watched SET v = same(id)', '{watched}');
CREATE TRIGGER after_row AFTER UPDATE ON there.watched FOR EACH ROW EXECUTE FUNCTION there.watch();
CREATE TRIGGER after_statement AFTER UPDATE OR DELETE ON there.watched FOR EACH STATEMENT EXECUTE FUNCTION there.watch();
SELECT * FROM update_differences('UPDATE watched SET v = same(id)', '{watched,log}');
SELECT * FROM update_differences('DELETE FROM watched WHERE same(id) < 20', '{watched,log}');
-- a constraint that looks at the table; a rule; row security
CREATE FUNCTION there.sum_of_later() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT sum(v) FROM there.later';
ALTER TABLE there.later ADD CHECK (v < 300 OR there.sum_of_later() < 25000);
SELECT * FROM error_differences('UPDATE later SET v = same(v) + 200');
CREATE TABLE there.ruled AS SELECT i AS id, i AS v FROM generate_series(1, 200) i;
CREATE RULE note AS ON UPDATE TO there.ruled DO ALSO INSERT INTO there.log VALUES ('rule', NEW.v);
CREATE FOREIGN TABLE ruled (id int, v int) SERVER loopback OPTIONS (schema_name 'there');
SELECT * FROM update_differences('UPDATE ruled SET v = same(v) + 7', '{ruled,log}');
-- partitions and children there: a ctid may be that of several rows
CREATE TABLE there.family (id int, v int);
CREATE TABLE there.family_child () INHERITS (there.family);
INSERT INTO there.family SELECT i, i FROM generate_series(1, 100) i;
INSERT INTO there.family_child SELECT i, i FROM generate_series(101, 300) i;
CREATE FOREIGN TABLE family (id int, v int) SERVER loopback OPTIONS (schema_name 'there');
SELECT * FROM update_differences('UPDATE family SET v = same(v) + 1 WHERE id <= 10', '{family}');
SELECT * FROM update_differences('DELETE FROM family WHERE same(id) > 250', '{family}');
-- a view there that has the ctid of its table
CREATE VIEW there.window AS SELECT ctid, id, v FROM there.ruled WHERE v < 150 WITH CHECK OPTION;
DROP RULE note ON there.ruled;
CREATE FOREIGN TABLE "window" (id int, v int) SERVER loopback OPTIONS (schema_name 'there');
SELECT * FROM update_differences('UPDATE "window" SET v = same(v) + 1 WHERE id < 140', '{ruled}');
SELECT * FROM error_differences('UPDATE "window" SET v = same(v) + 1');
-- it is found by its ctid, whatever the settings there, and the size of the table
ALTER SERVER loopback OPTIONS (ADD options '-c enable_tidscan=off -c enable_nestloop=off');
SELECT * FROM update_differences('UPDATE stock SET amount = same(amount) + 1 WHERE id < 400');
ALTER SERVER loopback OPTIONS (DROP options);

-- triggers here: of the table; of partitions that are here
CREATE FUNCTION count_foreign() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.amount := (SELECT max(amount) FROM parted_1);
	RETURN NEW;
END
$$;
CREATE TRIGGER counts BEFORE UPDATE ON parted_3 FOR EACH ROW EXECUTE FUNCTION count_foreign();
SELECT * FROM update_differences('UPDATE parted SET amount = parted.amount + 1 FROM here WHERE here.id = parted.id', '{parted}');
DROP TRIGGER counts ON parted_3;
CREATE TRIGGER counts BEFORE UPDATE ON parted_1 FOR EACH ROW EXECUTE FUNCTION count_foreign();
SELECT * FROM update_differences('UPDATE parted SET amount = parted.amount + 1 FROM here WHERE here.id = parted.id', '{parted}');
RESET pg_exchange.min_write_rows;
