--
-- statement_timeout: a portion of a stream counts like a FETCH of postgres_fdw.
--
-- where it strikes is chance
\set SHOW_CONTEXT never
CREATE SCHEMA timeout_side;
SET search_path = timeout_side, public;
CREATE TABLE few AS SELECT i AS id FROM generate_series(1, 200) i;
-- it says that it is immutable, so streams run it
CREATE FUNCTION slow(id int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN id; END $$;
\set head 'version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000'
SELECT :'head' || ' columns=23:-1' AS request, :'head' || ' fetch_rows=10 columns=23:-1' AS by_tens \gset

-- 2 seconds of work: in portions, and as whole batches
SET statement_timeout = '1s';
SELECT exchange.send(:'by_tens', t.*) FROM (SELECT slow(id) FROM few) t \g /dev/null
SELECT exchange.send(:'request', t.*) FROM (SELECT slow(id) FROM few) t \g /dev/null
SHOW statement_timeout;
-- the time-out is that of a statement again
SELECT pg_sleep(5);
-- a portion may not take longer
SELECT exchange.send(:'by_tens', t.*) FROM (SELECT CASE WHEN id = 20 THEN (SELECT max(slow(id)) FROM few) ELSE id END FROM few) t \g /dev/null
-- by text and a cursor, whose batches end earlier: like postgres_fdw's FETCH
BEGIN;
DECLARE c CURSOR FOR SELECT exchange.send_text('version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 fetch_rows=10 columns=23:-1', t.*)
	FROM (SELECT slow(id) FROM few) t;
FETCH ALL FROM c \g /dev/null
ROLLBACK;
-- below a Gather, frames count
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE few SET (parallel_workers = 1);
SELECT replace(:'request', 'batch_rows=1000', 'batch_rows=10') AS small \gset
SELECT exchange.send(:'small', t.*) FROM (SELECT slow(slow(id)) FROM few) t \g /dev/null
RESET statement_timeout;

SET client_min_messages = warning;
DROP SCHEMA timeout_side CASCADE;
\c
