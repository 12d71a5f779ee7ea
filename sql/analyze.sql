--
-- exchange.analyze: statistics of all foreign tables of a schema.
--
CREATE SCHEMA analyzed;
CREATE TABLE remote.small AS SELECT i AS id, i % 7 AS seven, CASE WHEN i % 2 = 0 THEN 'even' END AS word FROM generate_series(1, 2000) i;
CREATE TABLE remote.large AS SELECT i AS id, i % 7 AS seven FROM generate_series(1, 40000) i;
CREATE TABLE remote.never AS SELECT i AS id FROM generate_series(1, 30000) i;
CREATE TABLE remote.empty (id int);
CREATE VIEW remote.view AS SELECT * FROM remote.small;
ANALYZE remote.small, remote.large, remote.empty;

CREATE TABLE analyzed.whole (id int, seven int) PARTITION BY RANGE (id);
CREATE TABLE analyzed.local PARTITION OF analyzed.whole FOR VALUES FROM (100001) TO (200001);
INSERT INTO analyzed.local SELECT i, i % 7 FROM generate_series(100001, 110000) i;
CREATE FOREIGN TABLE analyzed.large PARTITION OF analyzed.whole FOR VALUES FROM (1) TO (100001) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE analyzed.small (gone int, word text, seven int, id int) SERVER loopback OPTIONS (schema_name 'remote');
ALTER FOREIGN TABLE analyzed.small DROP COLUMN gone;
CREATE FOREIGN TABLE analyzed.never (id int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE analyzed.empty (id int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FOREIGN TABLE analyzed."a ""view""" (id int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'view');
CREATE TABLE analyzed.plain AS SELECT 1 AS id;

CREATE VIEW known AS
	SELECT c.oid::regclass AS relation, round(c.reltuples::numeric, -4) AS reltuples, c.relpages > 0 AS pages,
		(SELECT count(*) FROM pg_statistic s WHERE s.starelid = c.oid) AS columns
	FROM pg_class c WHERE c.relnamespace = 'analyzed'::regnamespace ORDER BY 1;

-- ANALYZE without names knows nothing of foreign tables
\c
SET default_statistics_target = 10;	-- 3000 rows
CREATE TEMP TABLE answer AS SELECT * FROM exchange.analyze('analyzed');
SELECT relation, round(rows, -4) AS rows, sampled_rows, milliseconds > 0 AS took_time FROM answer;
SELECT * FROM known;
-- ANALYZE has used these samples, and not read the tables anew
SELECT count(*) AS other FROM answer JOIN pg_class c ON c.oid = relation WHERE c.reltuples <> rows;
SELECT rows <> 40000 AS estimated FROM answer WHERE relation = 'analyzed.large'::regclass;
-- by frames, and only the sample
SELECT sum(streams) > 0 AS streams, sum(wire_bytes) < 300000 AS sampled FROM exchange.connections;
SELECT attname, null_frac, n_distinct, avg_width FROM pg_stats WHERE schemaname = 'analyzed' AND tablename = 'small';
SELECT attname, n_distinct, inherited, (histogram_bounds::text::int[])[11] > 105000 AS has_local
FROM pg_stats WHERE schemaname = 'analyzed' AND tablename = 'whole';

-- the tables as they are now; an error leaves nothing behind
INSERT INTO remote.empty SELECT generate_series(1, 2500);
CREATE FOREIGN TABLE analyzed.missing (id int) SERVER loopback OPTIONS (schema_name 'remote');
SELECT * FROM exchange.analyze('analyzed');
DROP FOREIGN TABLE analyzed.missing;
SELECT rows, sampled_rows FROM exchange.analyze('analyzed') WHERE relation = 'analyzed.empty'::regclass;
-- postgres_fdw's own ANALYZE is as before
DELETE FROM remote.empty WHERE id <= 1000;
ANALYZE analyzed.empty;
SELECT reltuples FROM pg_class WHERE oid = 'analyzed.empty'::regclass;

-- postgres_fdw's session, too
\c
SET default_statistics_target = 10;
SET pg_exchange.transport = session;
SELECT relation, round(rows, -4) AS rows, sampled_rows FROM exchange.analyze('analyzed');
SET pg_exchange.enabled = off;
SELECT relation, round(rows, -4) AS rows, sampled_rows FROM exchange.analyze('analyzed');
RESET pg_exchange.enabled;

-- rights are those of ANALYZE; each table is read as its owner
CREATE ROLE regress_analyzer;
GRANT USAGE ON SCHEMA analyzed, exchange TO regress_analyzer;
ALTER FOREIGN TABLE analyzed.small OWNER TO regress_analyzer;
DO $$ BEGIN
	EXECUTE format('CREATE USER MAPPING FOR regress_analyzer SERVER loopback OPTIONS (user %L, password_required ''false'')', current_user);
END $$;
SET ROLE regress_analyzer;
SET client_min_messages = error;
SELECT relation, rows, sampled_rows FROM exchange.analyze('analyzed');
RESET client_min_messages;
RESET ROLE;
SELECT relation, rows FROM exchange.analyze('analyzed') WHERE relation = 'analyzed.small'::regclass;
SELECT relation FROM exchange.analyze('remote');
SELECT relation FROM exchange.analyze('nowhere');

-- the greatest statistics target
SET default_statistics_target = 10000;
SELECT relation, rows, sampled_rows FROM exchange.analyze('analyzed') WHERE relation IN ('analyzed.small'::regclass, 'analyzed.large'::regclass);
SET default_statistics_target = 10;

-- ANALYZE may call it, and it may call ANALYZE: neither can run in the other
CREATE SCHEMA nested;
CREATE TABLE nested.plain AS SELECT i AS id FROM generate_series(1, 100) i;
CREATE FOREIGN TABLE nested.small (id int, t int OPTIONS (column_name 'seven')) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FUNCTION nested.run(sql text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE sql; RETURN 1; END $$;
CREATE FUNCTION nested.analyze(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN RETURN (SELECT nested.run('ANALYZE nested.plain')); END $$;
CREATE FUNCTION nested.analyze_foreign(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN RETURN (SELECT nested.run('SELECT exchange.analyze(''nested'')')); END $$;
CREATE STATISTICS nested.of_small ON nested.analyze(id) FROM nested.small;
CREATE STATISTICS nested.of_plain ON nested.analyze_foreign(id) FROM nested.plain;
\set VERBOSITY terse
SELECT relation FROM exchange.analyze('nested');
DROP STATISTICS nested.of_small;
ANALYZE nested.plain;
\set VERBOSITY default
SELECT relation, rows FROM exchange.analyze('nested');

-- what the owner of a table has called while its sample is read sets nothing here
CREATE FUNCTION nested.set_path(int) RETURNS boolean LANGUAGE sql AS
$$ SELECT set_config('search_path', 'nested', false) = 'nested' $$;
CREATE DOMAIN nested.setting AS int CHECK (nested.set_path(value));
CREATE FOREIGN TABLE nested.sets (id nested.setting) SERVER loopback OPTIONS (schema_name 'remote', table_name 'small');
SELECT relation, rows FROM exchange.analyze('nested');
SHOW search_path;
SET pg_exchange.enabled = off;
SELECT relation, rows FROM exchange.analyze('nested');
SHOW search_path;
RESET pg_exchange.enabled;

-- it may change a table whose sample was read: that is read anew
CREATE SCHEMA changed;
CREATE FOREIGN TABLE changed.first (id int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'small');
CREATE FOREIGN TABLE changed.second (id int, seven int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'small');
CREATE FUNCTION changed.change() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT atttypid FROM pg_attribute WHERE attrelid = 'changed.second'::regclass AND attname = 'seven') = 'int'::regtype THEN
		ALTER FOREIGN TABLE changed.second ALTER seven TYPE text;
		PERFORM * FROM changed.second LIMIT 0;
	END IF;
	RETURN 1;
END
$$;
CREATE FUNCTION changed.of(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN (SELECT changed.change()) + $1; END $$;
CREATE STATISTICS changed.of_first ON changed.of(id) FROM changed.first;
SELECT relation, rows FROM exchange.analyze('changed');
SELECT array_length(most_common_vals::text::text[], 1) AS seven FROM pg_stats WHERE schemaname = 'changed' AND tablename = 'second' AND attname = 'seven';

SET client_min_messages = warning;
DROP VIEW known;
DROP SCHEMA analyzed, nested, changed CASCADE;
DROP VIEW remote.view;
DROP TABLE remote.small, remote.large, remote.never, remote.empty;
DROP USER MAPPING FOR regress_analyzer SERVER loopback;
DROP OWNED BY regress_analyzer;
DROP ROLE regress_analyzer;
