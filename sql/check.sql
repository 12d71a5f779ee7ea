--
-- exchange.check: what it looks at, and who may call it.  What it finds when
-- something is broken is in test/t/035_check.pl.
--
CREATE TABLE remote.check_numbers AS SELECT i AS id FROM generate_series(1, 10) i;
CREATE FOREIGN TABLE check_numbers (id int) SERVER loopback OPTIONS (schema_name 'remote');

-- what varies is left out: addresses, versions, numbers
CREATE VIEW check_loopback AS
	SELECT server, item, ok, fault,
		CASE WHEN item NOT IN ('server', 'postgresql', 'postgresql there', 'connections there', 'link') THEN replace(found, current_user, 'current_user') END AS found
	FROM exchange.check('loopback');
SELECT * FROM check_loopback;
SELECT found ~ '^host=\S+ port=\d+ dbname=regression$' FROM exchange.check('loopback') WHERE item = 'server';
SELECT found ~ '^\d+ free$' FROM exchange.check('loopback') WHERE item = 'connections there';
SELECT found ~ '^round trip \d+\.\d\d ms' FROM exchange.check('loopback') WHERE item = 'link';
SELECT item, found, advice IS NOT NULL AS advice FROM exchange.check_here() WHERE advice IS NOT NULL;

-- settings
SET pg_exchange.enabled = off;
SET pg_exchange.transport = session;
SET pg_exchange.writes = off;
SET pg_exchange.local_scope = host;
SET pg_exchange.max_connections_per_server = 200;
SELECT item, ok, fault, regexp_replace(found, '^\d+ free', 'N free') AS found, advice FROM exchange.check('loopback')
	WHERE item IN ('enabled', 'transport', 'writes', 'compression', 'connections there');
RESET pg_exchange.max_connections_per_server;
SET pg_exchange.local_scope = instance;
SET pg_exchange.transport = stream;
SELECT item, ok, fault, found, advice FROM exchange.check('loopback') WHERE item IN ('transport', 'compression');
RESET pg_exchange.enabled;
RESET pg_exchange.transport;
RESET pg_exchange.writes;
RESET pg_exchange.local_scope;
SET pg_exchange.max_connections_per_backend = 1;
SELECT item, fault, found FROM exchange.check('loopback') WHERE NOT ok;
RESET pg_exchange.max_connections_per_backend;

-- options of the server
CREATE SERVER checked FOREIGN DATA WRAPPER postgres_fdw OPTIONS (fetch_size '10', keep_connections 'off', application_name 'not shown');
SELECT item, ok, fault, replace(found, current_user, 'current_user') AS found, advice FROM exchange.check_there('checked');
SELECT exchange.check_there('nobody');
SELECT * FROM exchange.check(NULL);

-- a transaction and its savepoints are as before; nothing is left open
SELECT exchange.disconnect_all();
BEGIN READ ONLY;
SAVEPOINT s;
SELECT count(*) FROM check_loopback WHERE ok;
ROLLBACK TO s;
SELECT count(*) FROM check_loopback WHERE ok;
SELECT sum(id) FROM check_numbers;
COMMIT;
SELECT count(*) FROM exchange.connections;
BEGIN;
SELECT count(*) FROM check_loopback WHERE ok;
SELECT transport('SELECT * FROM check_numbers');
COMMIT;
SHOW pg_exchange.enabled;

-- whoever may not use the server is told nothing about it
CREATE ROLE regress_px_checker;
SET ROLE regress_px_checker;
SELECT item, fault, advice FROM exchange.check_there('loopback') WHERE NOT ok;
SELECT server, item FROM exchange.check() WHERE server IS NOT NULL;
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER loopback TO regress_px_checker;
SET ROLE regress_px_checker;
SELECT item, fault, found FROM exchange.check_there('loopback') WHERE NOT ok;
RESET ROLE;
CREATE USER MAPPING FOR regress_px_checker SERVER loopback;
SET ROLE regress_px_checker;
SELECT item, ok, fault FROM exchange.check_there('loopback') WHERE ok IS NOT true;
SELECT DISTINCT server FROM exchange.check();
RESET ROLE;
-- its tables are as good as the server
REVOKE USAGE ON FOREIGN SERVER loopback FROM regress_px_checker;
GRANT SELECT ON check_numbers TO regress_px_checker;
SET ROLE regress_px_checker;
SELECT item, ok, fault FROM exchange.check_there('loopback') WHERE ok IS NOT true;
RESET ROLE;
-- or a right on one of their columns, or to write
REVOKE SELECT ON check_numbers FROM regress_px_checker;
GRANT SELECT (id) ON check_numbers TO regress_px_checker;
SET ROLE regress_px_checker;
SELECT item, ok, fault FROM exchange.check_there('loopback') WHERE ok IS NOT true;
RESET ROLE;
REVOKE SELECT (id) ON check_numbers FROM regress_px_checker;
GRANT INSERT ON check_numbers TO regress_px_checker;
SET ROLE regress_px_checker;
SELECT item, ok, fault FROM exchange.check_there('loopback') WHERE ok IS NOT true;
RESET ROLE;

-- all servers with a user mapping
SELECT DISTINCT server FROM exchange.check() WHERE server IN ('loopback', 'checked');

DROP OWNED BY regress_px_checker;
DROP ROLE regress_px_checker;
DROP SERVER checked;
DROP VIEW check_loopback;
DROP FOREIGN TABLE check_numbers;
DROP TABLE remote.check_numbers;
