--
-- Errors of the remote, and of conversion here: the same with an exchange as
-- without, and the session goes on.
--
CREATE FUNCTION same_error(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	enabled text;
	state text; message text; detail text; hint text; context text;
	found text[] := '{}';
BEGIN
	FOREACH enabled IN ARRAY '{off,on}'::text[] LOOP
		PERFORM set_config('pg_exchange.enabled', enabled, false);
		BEGIN
			EXECUTE query;
			found := found || 'no error'::text;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
				detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT;
			found := found || format(E'%s: %s\nDETAIL: %s\nHINT: %s\nCONTEXT: %s', state, message, detail, hint, context);
		END;
	END LOOP;
	IF found[1] = found[2] THEN
		RETURN 'same: ' || split_part(found[1], E'\n', 1);
	END IF;
	RETURN format(E'without: %s\nwith: %s', found[1], found[2]);
END
$$;

CREATE FUNCTION remote.fail_at(i int, at int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF i = at THEN
		RAISE 'failed at %', i USING ERRCODE = 'XX123', DETAIL = 'some detail', HINT = 'some hint';
	END IF;
	RETURN i;
END
$$;
CREATE VIEW remote.fails_at_once AS SELECT remote.fail_at(id, 1) AS i, name FROM remote.numbers;
CREATE VIEW remote.fails_late AS SELECT remote.fail_at(id, 9999) AS i, name FROM remote.numbers;
CREATE FOREIGN TABLE fails_at_once (i int, name text) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE fails_late (i int, name text) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE no_such_table (i int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE no_such_column (id int, nothing int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'numbers');
CREATE FOREIGN TABLE other_type (id int, name int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'numbers');

CREATE FOREIGN TABLE other_typmods (id int, name varchar(8)) SERVER loopback OPTIONS (schema_name 'remote', table_name 'numbers');
CREATE FOREIGN TABLE other_scale (c_numeric numeric(5,2)) SERVER loopback OPTIONS (schema_name 'remote', table_name 'types');

-- both by exchange: a first use of the server in an exception block would not be
BEGIN;
SELECT count(*) FROM (SELECT * FROM digits OFFSET 0) x;
SELECT same_error('SELECT count(i) FROM (SELECT i FROM fails_at_once OFFSET 0) x');
SELECT same_error('SELECT count(i) FROM (SELECT i FROM fails_late OFFSET 0) x');
SELECT same_error('SELECT count(i) FROM (SELECT i FROM no_such_table OFFSET 0) x');
SELECT same_error('SELECT count(nothing) FROM (SELECT nothing FROM no_such_column OFFSET 0) x');
SELECT same_error('SELECT count(name) FROM (SELECT name FROM other_type OFFSET 0) x');
SELECT same_error('SELECT count(b.name) FROM other_type a JOIN other_type b USING (id) WHERE random() < 2');
SELECT same_error('SELECT count(name) FROM (SELECT name FROM other_typmods OFFSET 0) x');
SELECT same_error('SELECT count(c_numeric) FROM (SELECT c_numeric FROM other_scale OFFSET 0) x');
SELECT same_error('SELECT max(1 / (id - 5000)) FROM (SELECT id FROM numbers OFFSET 0) x');
SELECT transport('SELECT * FROM numbers');
COMMIT;

-- an error elsewhere in the query
SELECT 1 / (n.id - 5000) FROM numbers n, digits d WHERE random() < 2 AND d.digit = n.digit LIMIT 1 OFFSET 9000;
SELECT transport('SELECT * FROM numbers');
SELECT comes_true($$(SELECT count(*) > 0 AND bool_and(state = 'idle') FROM streams)$$);

DROP FOREIGN TABLE fails_at_once, fails_late, no_such_table, no_such_column, other_type, other_typmods, other_scale;
