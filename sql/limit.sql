--
-- Scans that are left before their end.
--
-- left early: the connection serves the next scan
SELECT id FROM numbers LIMIT 1;
SELECT EXISTS (SELECT 1 FROM numbers WHERE random() < 2);
SELECT count(*) FROM numbers;

-- an error behind the rows that are wanted, no further than a FETCH of
-- postgres_fdw goes: it is not met
CREATE VIEW remote.late AS SELECT i AS id, 1 / (250 - i) AS x FROM generate_series(1, 5000) i;
CREATE FOREIGN TABLE late (id int, x int)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'late', fetch_size '100');
CREATE FUNCTION keep(id int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN id > 0; END';
CREATE FUNCTION read_late(transport text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int;
	r record;
	c CURSOR FOR SELECT * FROM late WHERE keep(id);
BEGIN
	PERFORM set_config('pg_exchange.transport', transport, true);
	SELECT count(*) INTO n FROM (SELECT * FROM late WHERE keep(id) LIMIT 150) q;
	FOR r IN SELECT * FROM late WHERE keep(id) LOOP
		n := n + 1;
		EXIT WHEN n = 310;
	END LOOP;
	OPEN c;
	MOVE 170 IN c;
	CLOSE c;
	RETURN transport || ': ' || n;
END
$$;
SELECT read_late(transport) FROM unnest(ARRAY['auto', 'stream', 'session']) transport;
SELECT count(*) FROM late;
DROP FUNCTION read_late, keep;
DROP FOREIGN TABLE late;
DROP VIEW remote.late;
