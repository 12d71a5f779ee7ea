--
-- When an exchange cannot be had, the child runs and the reason is shown.
--

-- a database without the extension
CREATE DATABASE regression_without;
DO $$
BEGIN
	EXECUTE format('CREATE SERVER without FOREIGN DATA WRAPPER postgres_fdw
					OPTIONS (dbname ''regression_without'', host %L, port %L)',
				   split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'));
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER without;
CREATE FOREIGN TABLE without_extension (amname name, amtype "char")
	SERVER without OPTIONS (schema_name 'pg_catalog', table_name 'pg_am');
SELECT transport('SELECT * FROM without_extension');
SELECT amname FROM without_extension WHERE amtype = 't';
SELECT explain_stable('SELECT amname FROM without_extension WHERE random() < 2',
	'ANALYZE, COSTS OFF, TIMING OFF, VERBOSE');

-- remembered, until the server changes
SELECT comes_true($$NOT EXISTS (SELECT FROM streams WHERE datname = 'regression_without')$$);
ALTER SERVER without OPTIONS (SET dbname 'regression');
SELECT transport('SELECT * FROM without_extension');

-- functions that are not the extension's are not called, whoever made them
ALTER EXTENSION pg_exchange DROP FUNCTION exchange.hello(text);
ALTER FUNCTION exchange.hello(text) RENAME TO hello_saved;
CREATE FUNCTION exchange.hello(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
	$$BEGIN RAISE WARNING 'called'; PERFORM pg_notify('called', ''); RETURN 'hi'; END$$;
\c
SELECT transport('SELECT * FROM without_extension');
DROP FUNCTION exchange.hello(text);
ALTER FUNCTION exchange.hello_saved(text) RENAME TO hello;
\c
SELECT transport('SELECT * FROM without_extension');
ALTER EXTENSION pg_exchange ADD FUNCTION exchange.hello(text);
ALTER FUNCTION exchange.hello(text) SECURITY DEFINER;
\c
SELECT transport('SELECT * FROM without_extension');
ALTER FUNCTION exchange.hello(text) SECURITY INVOKER;
CREATE ROLE regress_px_user;
ALTER SCHEMA exchange OWNER TO regress_px_user;
\c
SELECT transport('SELECT * FROM without_extension');
ALTER SCHEMA exchange OWNER TO CURRENT_USER;
DROP ROLE regress_px_user;

-- a remote of another protocol: for its functions to be called, have it count wrongly
SET allow_system_table_mods = on;
CREATE FUNCTION remote.always(bigint, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
UPDATE pg_operator SET oprcode = 'remote.always' WHERE oprcode = 'int84eq'::regproc;
RESET allow_system_table_mods;
CREATE FUNCTION remote.hello_of_the_future(text) RETURNS text LANGUAGE sql AS
	$$SELECT 'protocol=7-9 codecs=7 encodings=7 endian=little encoding=UTF8 server_version=190000 instance=0123456789abcdef0123456789abcdef export=1'$$;
ALTER EXTENSION pg_exchange DROP FUNCTION exchange.hello(text);
ALTER FUNCTION exchange.hello(text) RENAME TO hello_saved;
ALTER FUNCTION remote.hello_of_the_future(text) RENAME TO hello;
ALTER FUNCTION remote.hello(text) SET SCHEMA exchange;
\c
SELECT transport('SELECT * FROM without_extension');
CREATE OR REPLACE FUNCTION exchange.hello(text) RETURNS text LANGUAGE sql AS
	$$SELECT 'protocol=1-1 codecs=7 encodings=7 endian=big encoding=UTF8 server_version=190000 instance=0123456789abcdef0123456789abcdef export=1'$$;
\c
SELECT transport('SELECT * FROM without_extension');
CREATE OR REPLACE FUNCTION exchange.hello(text) RETURNS text LANGUAGE sql AS $$SELECT 'hi'$$;
\c
SELECT transport('SELECT * FROM without_extension');
DROP FUNCTION exchange.hello(text);
\c
SELECT transport('SELECT * FROM without_extension');
ALTER FUNCTION exchange.hello_saved(text) RENAME TO hello;
ALTER EXTENSION pg_exchange ADD FUNCTION exchange.hello(text);
SET allow_system_table_mods = on;
UPDATE pg_operator SET oprcode = 'int84eq' WHERE oprcode = 'remote.always'::regproc;
RESET allow_system_table_mods;
\c
SELECT transport('SELECT * FROM without_extension');

-- the same user there may not do more than with postgres_fdw
CREATE ROLE regress_px_user LOGIN;
CREATE USER MAPPING FOR regress_px_user SERVER without;
GRANT USAGE ON FOREIGN SERVER without TO regress_px_user;
GRANT SELECT ON without_extension TO regress_px_user;
SET ROLE regress_px_user;
\set VERBOSITY sqlstate
SELECT count(*) FROM without_extension;	-- a password is required
\set VERBOSITY default
RESET ROLE;
ALTER USER MAPPING FOR regress_px_user SERVER without OPTIONS (ADD password_required 'false');
SET ROLE regress_px_user;
SELECT count(*) > 0 AS some FROM without_extension;
RESET ROLE;
DROP OWNED BY regress_px_user;
DROP ROLE regress_px_user;

DROP FOREIGN TABLE without_extension;
DROP USER MAPPING FOR CURRENT_USER SERVER without;
DROP SERVER without;
