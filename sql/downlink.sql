--
-- Frames on postgres_fdw's connection, which others use meanwhile.
--
CREATE SCHEMA downlink;
SET search_path = downlink, public;
SET pg_exchange.compression = none;
CREATE TABLE remote.downlink (id int CHECK (id NOT IN (20000, 30000)), name text);
CREATE TABLE remote.downlink_source AS SELECT i AS id, repeat('x', 100) || i AS name FROM generate_series(1, 40000) i;
CREATE VIEW remote.downlink_failing AS SELECT id + 1 / (id - 25000) AS id, name FROM remote.downlink_source;
ANALYZE remote.downlink_source;
CREATE FOREIGN TABLE target (id int, name text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'downlink', batch_size '100');
CREATE FOREIGN TABLE source (id int, name text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'downlink_source', fetch_size '1000');
CREATE FOREIGN TABLE failing (id int, name text) SERVER loopback OPTIONS (schema_name 'remote', table_name 'downlink_failing', fetch_size '1000');

-- what comes of a statement, as frames and by postgres_fdw, if that is the same
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	detail text;
	context text;
BEGIN
	EXECUTE statement;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n || ' rows';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN concat_ws('; ', SQLSTATE || ': ' || SQLERRM, left(nullif(detail, ''), 40), substring(context FROM '^(.*?)\n?SQL statement'));
END
$$;
CREATE FUNCTION compared(statement text) RETURNS TABLE (same bool, result text) LANGUAGE plpgsql AS $$
DECLARE
	other text;
BEGIN
	SET LOCAL pg_exchange.writes = off;
	other := outcome(statement);
	SET LOCAL pg_exchange.writes = on;
	result := outcome(statement);
	same := result = other;
	result := CASE WHEN same THEN left(result, 180) ELSE result || ' <> ' || other END;
	RETURN NEXT;
END
$$;
CREATE FUNCTION transports(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
		CONTINUE WHEN line !~ 'Transport:';
		RETURN NEXT trim(line);
	END LOOP;
END
$$;

-- a scan in the same session: its next rows are asked for while a piece is being written
SELECT * FROM transports('INSERT INTO target SELECT * FROM source WHERE id < 19000');
SELECT count(*), sum(id), count(DISTINCT name) FROM remote.downlink;
TRUNCATE remote.downlink;
SELECT * FROM compared('INSERT INTO target SELECT * FROM source WHERE id < 19000');
TRUNCATE remote.downlink;
-- it meets the error of a row, or has one itself
SELECT * FROM compared('INSERT INTO target SELECT * FROM source');
SELECT * FROM compared('INSERT INTO target SELECT * FROM failing WHERE id > 20000');
SELECT * FROM compared('INSERT INTO target SELECT * FROM failing');
-- the same by postgres_fdw's own scan
SET pg_exchange.min_bytes = '1GB';
SET pg_exchange.lookup_joins = off;
SELECT * FROM compared('INSERT INTO target SELECT * FROM source');
SELECT * FROM compared('INSERT INTO target SELECT * FROM failing WHERE id > 20000');
RESET pg_exchange.lookup_joins;
RESET pg_exchange.min_bytes;

-- savepoints, queries and writes on the connection while a piece is being written
CREATE FUNCTION catching(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i % 1000 = 0 THEN
		BEGIN
			IF i % 2000 = 0 THEN
				PERFORM count(*) FROM source WHERE id = i;
			END IF;
			PERFORM 1 / (i % 3000);
		EXCEPTION WHEN division_by_zero THEN
			RETURN i;
		END;
	END IF;
	RETURN i;
END
$$;
SELECT * FROM compared('INSERT INTO target SELECT catching(i), repeat(''x'', 100) FROM generate_series(1, 19000) i');
SELECT * FROM compared('INSERT INTO target SELECT catching(i), repeat(''x'', 100) FROM generate_series(10000, 29000) i');
TRUNCATE remote.downlink;
CREATE FUNCTION writing(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i % 1000 = 0 THEN
		INSERT INTO target SELECT -i * 1000 - j, repeat('y', 100) FROM generate_series(1, i % 7000) j;
	END IF;
	RETURN i;
END
$$;
SELECT * FROM compared('INSERT INTO target SELECT writing(i), repeat(''x'', 100) FROM generate_series(1, 19000) i');
SELECT count(*), sum(id) FROM remote.downlink;
TRUNCATE remote.downlink;
SELECT * FROM compared('INSERT INTO target SELECT writing(i), repeat(''x'', 100) FROM generate_series(1, 29000) i');

-- a statement that is cancelled while the remote works, and the rest of its transaction
CREATE FUNCTION remote.slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.id = 5000 THEN
		PERFORM pg_sleep(60);
	END IF;
	RETURN NEW;
END
$$;
CREATE TRIGGER slow BEFORE INSERT ON remote.downlink FOR EACH ROW EXECUTE FUNCTION remote.slow();
BEGIN;
INSERT INTO target SELECT i, 'first' FROM generate_series(1, 1000) i;
SAVEPOINT s;
SET LOCAL statement_timeout = '500ms';
INSERT INTO target SELECT i, repeat('x', 100) FROM generate_series(1, 29000) i;
ROLLBACK TO s;
INSERT INTO target SELECT i, 'second' FROM generate_series(1, 1000) i;
COMMIT;
SELECT name, count(*) FROM remote.downlink GROUP BY 1 ORDER BY 1;
-- the same while a subtransaction is about to begin: at the top, and below a savepoint
\set VERBOSITY terse
BEGIN;
SET LOCAL statement_timeout = '500ms';
INSERT INTO target SELECT catching(i), repeat('x', 100) FROM generate_series(2001, 29000) i;
ROLLBACK;
BEGIN;
SAVEPOINT s;
SET LOCAL statement_timeout = '500ms';
INSERT INTO target SELECT catching(i), repeat('x', 100) FROM generate_series(2001, 29000) i;
ROLLBACK TO s;
INSERT INTO target SELECT catching(i), 'third' FROM generate_series(1001, 3000) i;
COMMIT;
\set VERBOSITY default
SELECT name, count(*) FROM remote.downlink GROUP BY 1 ORDER BY 1;

DROP TABLE remote.downlink, remote.downlink_source CASCADE;
DROP FUNCTION remote.slow();
SET client_min_messages = warning;
DROP SCHEMA downlink CASCADE;
