--
-- Writes as frames to a remote whose functions are not the extension's, or lie.
--
CREATE TABLE remote.ledger (id int, note text);
CREATE FOREIGN TABLE ledger (id int, note text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'ledger');
CREATE FUNCTION transport_of_writes() RETURNS SETOF text LANGUAGE sql AS
	$$SELECT transport('INSERT INTO ledger SELECT i, ''note '' || i FROM generate_series(1, 200) i') $$;
SELECT transport_of_writes();

-- functions that are not the extension's are not called, whoever made them
CREATE FUNCTION exchange.apply(varchar, varchar, varchar) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'caught'; END $$;
CREATE FUNCTION exchange.describe(varchar, varchar) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'caught'; END $$;
\c
SELECT transport_of_writes();
DROP FUNCTION exchange.apply(varchar, varchar, varchar), exchange.describe(varchar, varchar);
ALTER EXTENSION pg_exchange DROP FUNCTION exchange.describe(text, text);
ALTER FUNCTION exchange.describe(text, text) RENAME TO describe_saved;
CREATE FUNCTION exchange.describe(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'caught'; END $$;
\c
SELECT transport_of_writes();
DROP FUNCTION exchange.describe(text, text);
\c
SELECT transport_of_writes();
ALTER FUNCTION exchange.describe_saved(text, text) RENAME TO describe;
\c
SELECT transport_of_writes();
ALTER EXTENSION pg_exchange ADD FUNCTION exchange.describe(text, text);
ALTER FUNCTION exchange.apply(text, text, text) SECURITY DEFINER;
\c
SELECT transport_of_writes();
ALTER FUNCTION exchange.apply(text, text, text) SECURITY INVOKER;
REVOKE EXECUTE ON FUNCTION exchange.unpack(text) FROM PUBLIC;
CREATE ROLE regress_px_user LOGIN;
GRANT INSERT ON ledger, remote.ledger TO regress_px_user;
GRANT USAGE ON SCHEMA remote TO regress_px_user;
CREATE USER MAPPING FOR regress_px_user SERVER loopback OPTIONS (user 'regress_px_user', password_required 'false');
SET ROLE regress_px_user;
SELECT transport_of_writes();
RESET ROLE;
GRANT EXECUTE ON FUNCTION exchange.unpack(text) TO PUBLIC;
\c
SET ROLE regress_px_user;
SELECT transport_of_writes();
RESET ROLE;
DROP OWNED BY regress_px_user;
DROP ROLE regress_px_user;
SELECT count(*) % 200 AS cut FROM remote.ledger;

-- answers that are lies: for the functions to be called, have the remote count wrongly
SET allow_system_table_mods = on;
CREATE FUNCTION remote.always(bigint, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
UPDATE pg_operator SET oprcode = 'remote.always' WHERE oprcode = 'int84eq'::regproc;
RESET allow_system_table_mods;
CREATE TABLE remote.lie (of_describe text, of_apply text);
INSERT INTO remote.lie VALUES (NULL, NULL);
ALTER EXTENSION pg_exchange DROP FUNCTION exchange.describe(text, text);
ALTER EXTENSION pg_exchange DROP FUNCTION exchange.apply(text, text, text);
ALTER FUNCTION exchange.describe(text, text) RENAME TO describe_saved;
ALTER FUNCTION exchange.apply(text, text, text) RENAME TO apply_saved;
CREATE FUNCTION exchange.describe(text, text) RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN RETURN (SELECT CASE WHEN of_describe IS NULL THEN exchange.describe_saved($1, $2)
		ELSE regexp_replace(exchange.describe_saved($1, $2), 'against.*', of_describe) END FROM remote.lie); END $$;
CREATE FUNCTION exchange.apply(text, text, text) RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN RETURN (SELECT coalesce(of_apply, exchange.apply_saved($1, $2, $3)) FROM remote.lie); END $$;
\c
CREATE FUNCTION outcome() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	RETURN transport_of_writes();
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(': ', SQLSTATE, SQLERRM, detail);
END
$$;
\set QUIET on
\pset tuples_only on
SELECT format('UPDATE remote.lie SET of_describe = %L', of_describe), format('SELECT %L, outcome()', of_describe) FROM (VALUES (''), ('against='), ('against= effects=0 exact=1 keys=0 columns=23:-1'),
	('against= effects=0 exact=1 keys=0 columns=23:-1,25:-1,25:-1'), ('against= effects=0 exact=1 keys=0 columns=25:-1,23:-1'),
	('against= effects=0 exact=1 keys=0 columns=0:-1,0:-1'), ('against= effects=0 exact=1 keys=0 columns=999999:-1,25:7'),
	('against=%FF%FE%01 effects=0 exact=1 keys=0 columns=0:-1'), ('against=moon%20phase effects=0 exact=0 keys=0 columns=0:-1'),
	('against= effects=1 exact=1 keys=0 columns=23:-1,25:-1'), (NULL)) v(of_describe) \gexec
SELECT format('UPDATE remote.lie SET of_apply = %L', of_apply), format('SELECT %L, outcome()', of_apply) FROM (VALUES (''), ('rows=199 us=1'), ('rows=18446744073709551615 us=1'),
	('rows=201 us=1'), ('rows=200'), ('rows=200 us=1 deposit=gone'), (repeat('x', 100)), ('rows=200 us=1'), (NULL)) v(of_apply) \gexec
\pset tuples_only off
\set QUIET off
CREATE OR REPLACE FUNCTION exchange.apply(text, text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
SELECT outcome();
CREATE OR REPLACE FUNCTION exchange.apply(text, text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING DETAIL = 'pg_exchange row 7'; END $$;
SELECT outcome();
SELECT count(*) % 200 AS cut FROM remote.ledger;

DROP FUNCTION exchange.describe(text, text), exchange.apply(text, text, text);
ALTER FUNCTION exchange.describe_saved(text, text) RENAME TO describe;
ALTER FUNCTION exchange.apply_saved(text, text, text) RENAME TO apply;
ALTER EXTENSION pg_exchange ADD FUNCTION exchange.describe(text, text);
ALTER EXTENSION pg_exchange ADD FUNCTION exchange.apply(text, text, text);
SET allow_system_table_mods = on;
UPDATE pg_operator SET oprcode = 'int84eq' WHERE oprcode = 'remote.always'::regproc;
RESET allow_system_table_mods;
\c
SELECT transport_of_writes();
DROP FUNCTION outcome(), transport_of_writes(), remote.always(bigint, int);
DROP TABLE remote.lie, remote.ledger;
DROP FOREIGN TABLE ledger;
