--
-- What the extension consists of, and that it can be dropped, made anew and
-- updated while sessions have its library loaded.
--
-- \dx+, but without types: row types of views are among them from 17 on
SELECT pg_describe_object(classid, objid, 0) AS "Object description" FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_exchange')
	AND deptype = 'e' AND classid <> 'pg_type'::regclass ORDER BY 1;
SELECT extversion, extrelocatable, nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace
WHERE extname = 'pg_exchange';
ALTER EXTENSION pg_exchange UPDATE;

PREPARE marked AS SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1', t)
	FROM (SELECT id FROM remote.numbers WHERE id < 0) t;
CREATE TEMP TABLE frames AS EXECUTE marked;
SELECT count(*) FROM frames;
DROP EXTENSION pg_exchange;
\set VERBOSITY sqlstate
EXECUTE marked;
\set VERBOSITY default
-- a kept connection has had its hello; the next is refused
\c
SELECT transport('SELECT * FROM numbers');
CREATE EXTENSION pg_exchange VERSION '1.0';
\c
SELECT transport('SELECT * FROM numbers');

-- which is too old to read from, while its definitions serve with a newer library; views that were made of its views stay when it is updated
SELECT scans, streams, fallbacks_incompatible > 0 AS incompatible FROM exchange.pg_stat_exchange WHERE srvname = 'loopback';
SELECT column_name FROM information_schema.columns WHERE table_schema = 'exchange' AND column_name = 'sessions';
CREATE VIEW monitored AS SELECT srvname, streams, stats_reset FROM exchange.pg_stat_exchange;
CREATE VIEW watched AS SELECT pid, percent, bytes_per_second FROM exchange.pg_stat_progress_exchange;
ALTER EXTENSION pg_exchange UPDATE;
\c
SELECT transport('SELECT * FROM numbers');
SELECT streams > 0 AS streams FROM monitored WHERE srvname = 'loopback';
SELECT streams > 0 AS streams, sessions FROM exchange.pg_stat_exchange WHERE srvname = 'loopback';
DROP VIEW monitored, watched;
