--
-- Columns that the foreign table declares with another type than the server's
-- column has.  postgres_fdw reads the output of the one as input of the other,
-- which a cast would not do.
--
CREATE SCHEMA other_types_test;
SET search_path = other_types_test, public;
SET TimeZone = 'America/New_York';
CREATE TYPE remote.ot_enum AS ENUM ('b', 'a');
CREATE DOMAIN remote.ot_domain AS int;

-- The columns: here, there, and a value there of the number i.
CREATE TABLE pairs (name text, here text, there text, value text);
INSERT INTO pairs VALUES
	('char_text', 'text', 'char(10)', $$'k' || i % 40$$),
	('char_char', 'char(5)', 'char(5)', $$'k' || i % 40$$),
	('text_char', 'char(5)', 'text', $$'k' || i % 40$$),
	('varchar_text', 'text', 'varchar(10)', $$'k' || i % 40$$),
	('text_varchar', 'varchar', 'text', $$'k' || i % 40$$),
	('bool_text', 'text', 'bool', $$i % 2 = 0$$),
	('inet_text', 'text', 'inet', $$('10.0.0.' || i % 40)::inet$$),
	('float_text', 'text', 'float8', $$0.1 * (i % 40)$$),
	('float_numeric', 'numeric', 'float8', $$1.0 / 3 + i % 40$$),
	('float4_float8', 'float8', 'float4', $$0.1 + i % 40$$),
	('numeric_scale', 'numeric(8,1)', 'numeric', $$i % 40 + 0.26$$),
	('stamp_tz', 'timestamptz', 'timestamp', $$timestamp '2024-07-01 00:00' + i % 40 * interval '1 hour'$$),
	('tz_stamp', 'timestamp', 'timestamptz', $$timestamptz '2024-07-01 00:00+00' + i % 40 * interval '1 hour'$$),
	('enum_text', 'text', 'remote.ot_enum', $$(CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END)::remote.ot_enum$$),
	('int4_int8', 'int8', 'int4', $$i % 40$$),
	('int8_int4', 'int4', 'int8', $$i % 40$$),
	('domain_int', 'int', 'remote.ot_domain', $$i % 40$$),
	('text_int', 'int', 'text', $$' ' || i % 40$$),
	('same_text', 'text', 'text', $$'k' || i % 40$$),
	('same_date', 'date', 'date', $$date '2024-01-01' + i % 40$$),
	('same_uuid', 'uuid', 'uuid', $$md5((i % 40)::text)::uuid$$);

-- A table of each pair, twice as big as its index would need; and few keys.
SELECT format('CREATE TABLE remote.ot_%s (id int, k %s, filler text)', name, there),
	format('INSERT INTO remote.ot_%s SELECT i, CASE WHEN i %% 11 > 0 THEN %s END, repeat(''x'', 50) FROM generate_series(1, 4000) i', name, value),
	format('CREATE FOREIGN TABLE %s (id int, k %s, filler text) SERVER loopback OPTIONS (schema_name ''remote'', table_name ''ot_%s'')', name, here, name),
	format('CREATE TABLE keys_%s (k %s)', name, here),
	format('CREATE TABLE remote.otk_%s (k %s)', name, here),
	format('CREATE FOREIGN TABLE there_%s (k %s) SERVER loopback OPTIONS (schema_name ''remote'', table_name ''otk_%s'')', name, here, name)
FROM pairs \gexec
SET pg_exchange.enabled = off;
SELECT format('INSERT INTO keys_%s SELECT DISTINCT k FROM %s WHERE id IN (1, 5, 11)', name, name),
	format('INSERT INTO remote.otk_%s TABLE keys_%s', name, name),
	format('ANALYZE %s, keys_%s, there_%s', name, name, name)
FROM pairs \gexec
RESET pg_exchange.enabled;

-- Run a query of every pair, in which PAIR stands for its name: does the plan
-- have the way, how many rows came from the server, and is the answer that of
-- postgres_fdw?
CREATE FUNCTION compare(query text, way text)
RETURNS TABLE (pair text, planned boolean, rows_there text, same boolean, answer_is_empty boolean) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	sql text;
	a text;
	b text;
BEGIN
	FOR pair IN SELECT name FROM pairs ORDER BY ctid LOOP
		sql := replace(query, 'PAIR', pair);
		PERFORM set_config('pg_exchange.enabled', 'off', false);
		a := run(sql);
		PERFORM set_config('pg_exchange.enabled', 'on', false);
		b := run(sql);
		same := a = b;
		answer_is_empty := a = '0 ';
		IF NOT same THEN
			RAISE NOTICE '%: % %', pair, left(a, 60), left(b, 60);
		END IF;
		planned := false;
		rows_there := '';
		FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || sql LOOP
			planned := planned OR line ~ way;
			IF line ~ 'ExchangeReceive|Foreign Scan' THEN
				rows_there := rows_there || ' ' || coalesce(substring(line, 'actual rows=(\d+)'), '-');
			END IF;
		END LOOP;
		RETURN NEXT;
	END LOOP;
END
$$;

-- The rows of a query, or its error.
CREATE FUNCTION run(query text, OUT answer text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT concat(count(*), '' '', string_agg(q::text, '','' ORDER BY q::text COLLATE "C")) FROM (%s) q', query) INTO answer;
EXCEPTION WHEN OTHERS THEN
	answer := SQLSTATE;
END
$$;

-- runtime filters
SET pg_exchange.lookup_joins = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT * FROM compare('SELECT t.id FROM PAIR t JOIN keys_PAIR USING (k)', 'Runtime Filter');
RESET pg_exchange.lookup_joins;
RESET enable_mergejoin;
RESET enable_nestloop;

-- key lists
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT * FROM compare('SELECT t.id FROM PAIR t JOIN keys_PAIR USING (k)', 'ExchangeLookup');
SET pg_exchange.transport = session;
SELECT * FROM compare('SELECT t.id FROM keys_PAIR LEFT JOIN PAIR t USING (k)', 'ExchangeLookup');
RESET pg_exchange.transport;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;

-- semi-joins and anti-joins by the server, one of another
SET pg_exchange.lookup_joins = off;
SET pg_exchange.runtime_filters = off;
SELECT * FROM compare('SELECT t.id FROM PAIR t WHERE EXISTS (SELECT FROM there_PAIR s WHERE s.k = t.k)', 'EXISTS');
SET pg_exchange.transport = session;
SELECT * FROM compare('SELECT t.id FROM PAIR t WHERE NOT EXISTS (SELECT FROM there_PAIR s WHERE s.k = t.k)', 'EXISTS');
RESET pg_exchange.transport;
SELECT * FROM compare('SELECT count(*) FROM PAIR t WHERE NOT EXISTS (SELECT FROM there_PAIR s WHERE s.k = t.k) AND EXISTS (SELECT FROM same_text s WHERE s.id = t.id AND s.id < 100)', 'EXISTS.*EXISTS');
RESET pg_exchange.lookup_joins;
RESET pg_exchange.runtime_filters;

-- joins on the servers
SET pg_exchange.join_exchange = broadcast;
SELECT * FROM compare('SELECT t.k, count(*), max(t.id) FROM PAIR t JOIN keys_PAIR USING (k) GROUP BY t.k', 'ExchangeBroadcast');
SET pg_exchange.transport = session;
SELECT * FROM compare('SELECT count(*), count(t.k), sum(t.id) FROM PAIR t JOIN keys_PAIR USING (k)', 'ExchangeBroadcast');
RESET pg_exchange.transport;
RESET pg_exchange.join_exchange;
