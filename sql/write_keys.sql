--
-- Foreign keys between tables of one server that a statement writes to: each
-- row may refer to the rows before it.
--
CREATE SCHEMA write_keys;
CREATE SCHEMA write_keys_there;
SET search_path = write_keys, public;
SET pg_exchange.min_write_rows = 10;
SET pg_exchange.batch_rows_max = 16;

CREATE TABLE write_keys_there.tree (id int PRIMARY KEY, parent int REFERENCES write_keys_there.tree) PARTITION BY HASH (id);
CREATE TABLE write_keys_there.tree_0 PARTITION OF write_keys_there.tree FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE write_keys_there.tree_1 PARTITION OF write_keys_there.tree FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE tree (id int, parent int) PARTITION BY HASH (id);
CREATE FOREIGN TABLE tree_0 PARTITION OF tree FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER loopback OPTIONS (schema_name 'write_keys_there');
CREATE FOREIGN TABLE tree_1 PARTITION OF tree FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER loopback OPTIONS (schema_name 'write_keys_there');

CREATE TABLE write_keys_there.orders (kind text, id int PRIMARY KEY, ref int);
CREATE TABLE write_keys_there.lines (kind text, id int, ref int REFERENCES write_keys_there.orders);
CREATE TABLE both_kinds (kind text, id int, ref int) PARTITION BY LIST (kind);
CREATE FOREIGN TABLE both_lines PARTITION OF both_kinds FOR VALUES IN ('line') SERVER loopback OPTIONS (schema_name 'write_keys_there', table_name 'lines');
CREATE FOREIGN TABLE both_orders PARTITION OF both_kinds FOR VALUES IN ('order') SERVER loopback OPTIONS (schema_name 'write_keys_there', table_name 'orders');

-- The outcome by postgres_fdw and by frames, and by whom it was written.
CREATE FUNCTION outcome(statement text, OUT result text, OUT transports text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	detail text;
	rows bigint;
BEGIN
	transports := '';
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF) ' || statement LOOP
			IF line ~ 'Transport: ' THEN
				transports := transports || regexp_replace(line, '.*Transport: ', '') || ';';
			END IF;
		END LOOP;
		SELECT (SELECT count(*) FROM tree) + (SELECT count(*) FROM both_kinds) INTO rows;
		RAISE EXCEPTION USING ERRCODE = 'PX999', MESSAGE = rows || ' rows';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
		result := concat_ws(' ', SQLERRM, nullif(detail, ''));
	END;
END
$$;
CREATE FUNCTION outcomes(statement text) RETURNS TABLE (same bool, result text, transports text) LANGUAGE plpgsql AS $$
DECLARE
	expected text;
BEGIN
	SET LOCAL pg_exchange.writes = off;
	SELECT o.result INTO expected FROM outcome(statement) o;
	SET LOCAL pg_exchange.writes = on;
	RETURN QUERY SELECT o.result = expected, o.result, o.transports FROM outcome(statement) o;
END
$$;

-- partitions of one table: frames, and then row by row
SELECT * FROM outcomes('INSERT INTO tree SELECT g, nullif(g - 1, 0) FROM generate_series(1, 300) g');
-- a row that refers to a later one
SELECT * FROM outcomes('INSERT INTO tree SELECT g, nullif(g + 1, 301) FROM generate_series(1, 300) g');
-- too few rows to ask the remote
SELECT * FROM outcomes('INSERT INTO both_kinds VALUES (''order'', 1, NULL), (''line'', 1, 1), (''order'', 2, NULL), (''line'', 2, 2)');
SELECT * FROM outcomes('INSERT INTO both_kinds VALUES (''order'', 1, NULL), (''line'', 1, 1), (''line'', 2, 2), (''order'', 2, NULL)');
-- lines come to the first target, and refer to orders, which come to the other
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g % 2 = 1 THEN ''order'' ELSE ''line'' END, g, CASE WHEN g % 2 = 0 THEN g - 1 END FROM generate_series(1, 300) g');
-- many orders before the first line, and a new target after that
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g <= 150 THEN ''order'' ELSE ''line'' END, g, CASE WHEN g > 150 THEN g - 150 END FROM generate_series(1, 300) g');
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g <= 150 THEN ''line'' ELSE ''order'' END, g, NULL FROM generate_series(1, 300) g');
-- one line before all orders: too few lines for frames of their own
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g = 1 THEN ''line'' ELSE ''order'' END, g, CASE WHEN g = 1 THEN 2 END FROM generate_series(1, 300) g');
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g = 300 THEN ''line'' ELSE ''order'' END, g, CASE WHEN g = 300 THEN 2 END FROM generate_series(1, 300) g');
-- no foreign key, but a function that looks into the other table
ALTER TABLE write_keys_there.lines DROP CONSTRAINT lines_ref_fkey;
CREATE FUNCTION write_keys_there.has_order(id int) RETURNS bool LANGUAGE plpgsql AS $$
	BEGIN RETURN EXISTS (SELECT FROM write_keys_there.orders o WHERE o.id = has_order.id); END$$;
ALTER TABLE write_keys_there.lines ADD CHECK (write_keys_there.has_order(ref));
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g = 1 THEN ''line'' ELSE ''order'' END, g, CASE WHEN g = 1 THEN 2 END FROM generate_series(1, 300) g');
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g = 300 THEN ''line'' ELSE ''order'' END, g, CASE WHEN g = 300 THEN 2 END FROM generate_series(1, 300) g');
-- statements of several rows: those of both tables are sent as they are complete
ALTER FOREIGN TABLE both_lines OPTIONS (ADD batch_size '10');
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g <= 5 THEN ''order'' ELSE ''line'' END, g, CASE WHEN g > 5 THEN 1 + g % 5 END FROM generate_series(1, 300) g');
ALTER FOREIGN TABLE both_lines OPTIONS (DROP batch_size);
ALTER TABLE write_keys_there.lines DROP CONSTRAINT lines_ref_check;
-- a table by another name
CREATE VIEW write_keys_there.orders_too AS SELECT * FROM write_keys_there.orders;
CREATE FOREIGN TABLE both_too PARTITION OF both_kinds FOR VALUES IN ('too') SERVER loopback OPTIONS (schema_name 'write_keys_there', table_name 'orders_too');
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g % 2 = 0 THEN ''order'' ELSE ''too'' END, CASE g WHEN 201 THEN 50 WHEN 203 THEN 4 ELSE g END, NULL FROM generate_series(1, 300) g');
DROP FOREIGN TABLE both_too;
-- no relation between them
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g <= 50 THEN ''order'' ELSE ''line'' END, g, g FROM generate_series(1, 300) g');
ALTER TABLE write_keys_there.lines ADD FOREIGN KEY (ref) REFERENCES write_keys_there.orders;
ALTER SERVER loopback OPTIONS (ADD batch_size '10');
SELECT * FROM outcomes('INSERT INTO both_kinds SELECT CASE WHEN g <= 150 THEN ''order'' ELSE ''line'' END, g, CASE WHEN g > 150 THEN g - 150 END FROM generate_series(1, 300) g');
ALTER SERVER loopback OPTIONS (DROP batch_size);

SET client_min_messages = warning;
DROP SCHEMA write_keys, write_keys_there CASCADE;
