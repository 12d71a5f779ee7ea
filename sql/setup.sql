--
-- A loopback server, and the functions that the other tests compare with.
-- Runs first.  regress.conf: local_scope = none, min_bytes = 0.
--
CREATE EXTENSION postgres_fdw;
CREATE EXTENSION pg_exchange;

DO $$
BEGIN
	EXECUTE format('CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw
					OPTIONS (dbname %L, host %L, port %L)',
				   current_database(),
				   split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'));
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback;

CREATE SCHEMA remote;			-- tables as the far side has them

-- EXPLAIN without what differs from run to run: sizes, ratios, times; nor from
-- 18 on, which shows buffers and fractions of rows unasked.
CREATE FUNCTION explain_stable(query text, options text DEFAULT 'COSTS OFF')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		line := regexp_replace(line, '^(\s*Wire: ).* in (\d+) batches, .*$', '\1(size) in \2 batches');
		line := regexp_replace(line, '(Request: ).*', '\1(request)');
		line := regexp_replace(line, '(Frames: \d+), raw .* kB, wire .* kB', '\1 (size)');
		line := regexp_replace(line, 'AUTO \(lz4 \d+ batches, zstd \d+, none \d+\)$', 'AUTO (measured)');
		line := regexp_replace(line, '-?\d+\.\d+ ms', 'N ms', 'g');
		line := regexp_replace(line, '(Memory Usage: )\d+kB', '\1(size)');
		IF line ~ '\mrows=\d+\.\d' THEN
			line := regexp_replace(line, '\mrows=\d+\.\d+', 'rows=' || round(substring(line, '\mrows=(\d+\.\d+)')::numeric));
		END IF;
		line := regexp_replace(line, '(SubPlan )expr_(\d+)', '\1\2');
		CONTINUE WHEN line ~ '^\s*((Planning|Execution) Time|Planning|Buffers|Column Encodings|Link|Replaces):';
		RETURN NEXT line;
	END LOOP;
END
$$;

-- In a transaction: from 19 on, have the planner aggregate tables before it joins them, where it can.
CREATE FUNCTION aggregate_early() RETURNS void LANGUAGE sql AS $$
	SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'min_eager_agg_group_size';
$$;

-- How the scans of a query were run: the Transport of each ExchangeReceive.
CREATE FUNCTION transport(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) ' || query LOOP
		IF line ~ '^ *Transport: ' THEN
			RETURN NEXT regexp_replace(line, '^ *Transport: ', '');
		END IF;
	END LOOP;
END
$$;

-- The same, with how many exchanges say so.
CREATE FUNCTION transport_counts(query text) RETURNS TABLE (transport text, n bigint) LANGUAGE sql AS
	'SELECT t, count(*) FROM transport(query) t GROUP BY 1 ORDER BY 1';

--
-- Rows of a query as text, by postgres_fdw alone and by exchange in each mode;
-- counts what differs both ways, duplicates included.
--
CREATE FUNCTION exchange_differences(query text)
RETURNS TABLE (mode text, rows bigint, only_postgres_fdw bigint, only_exchange bigint, transports text)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('pg_exchange.enabled', 'off', false);
	EXECUTE format('CREATE TEMP TABLE by_postgres_fdw AS SELECT t::text AS row FROM (%s) t', query);
	PERFORM set_config('pg_exchange.enabled', 'on', false);

	FOREACH mode IN ARRAY '{none,fast,high_compression,auto}'::text[] LOOP
		PERFORM set_config('pg_exchange.compression', mode, false);
		EXECUTE format('CREATE TEMP TABLE by_exchange AS SELECT t::text AS row FROM (%s) t', query);
		SELECT count(*) INTO rows FROM by_exchange;
		SELECT count(*) INTO only_postgres_fdw
			FROM (TABLE by_postgres_fdw EXCEPT ALL TABLE by_exchange) x;
		SELECT count(*) INTO only_exchange
			FROM (TABLE by_exchange EXCEPT ALL TABLE by_postgres_fdw) x;
		SELECT string_agg(DISTINCT t, ', ') INTO transports FROM transport(query) t;
		DROP TABLE by_exchange;
		RETURN NEXT;
	END LOOP;
	DROP TABLE by_postgres_fdw;
	PERFORM set_config('pg_exchange.compression', 'auto', false);
END
$$;

-- Backends that serve exchanges. PGAPPNAME of pg_regress gives all the same
-- application_name, but a COMMIT alone is an exchange's.
CREATE VIEW streams AS
	SELECT pid, datname, state FROM pg_stat_activity
	WHERE pid <> pg_backend_pid() AND (query = 'COMMIT' OR query LIKE '%exchange.%');

-- Does a condition hold, or come to hold within seconds? Backends take a while
-- to end, and to say what they are at.
CREATE FUNCTION comes_true(condition text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	result bool;
BEGIN
	FOR i IN 1..50 LOOP
		PERFORM pg_stat_clear_snapshot();
		EXECUTE 'SELECT ' || condition INTO result;
		EXIT WHEN result;
		PERFORM pg_sleep(0.1);
	END LOOP;
	RETURN result;
END
$$;

-- The rows of a query as a piece for exchange.unpack and exchange.apply: the frames of exchange.send in an armour.
CREATE FUNCTION armour(frames bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	blocks text[] := '{}';
	symbols int[];
	at int := 0;
	block_end int;
	n int;
	x bigint;
	mask int;
BEGIN
	WHILE at < length(frames) LOOP
		block_end := least(at + 105, length(frames));
		symbols := '{}';
		WHILE at < block_end LOOP
			n := least(7, block_end - at);
			x := 0;
			FOR i IN 0 .. n - 1 LOOP
				x := x | (get_byte(frames, at + i)::bigint << 8 * i);
			END LOOP;
			FOR i IN 0 .. n LOOP
				symbols := symbols || ((x >> 7 * i) & 127)::int;
			END LOOP;
			at := at + n;
		END LOOP;
		SELECT max(m) INTO mask FROM generate_series(1, 127) m WHERE m <> ALL (symbols);
		blocks := blocks || (SELECT chr(mask) || string_agg(chr(s # mask), '' ORDER BY o) FROM unnest(symbols) WITH ORDINALITY u(s, o));
	END LOOP;
	RETURN array_to_string(blocks, '');
END
$$;
CREATE FUNCTION sent(query text, columns text, rows int DEFAULT 4096) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	frame bytea;
	frames bytea := '';
BEGIN
	FOR frame IN EXECUTE format('SELECT exchange.send(%L, t.*) FROM (%s) t', format('version=1 encodings=16383 codec=lz4 level=0 '
		'batch_rows=%s batch_bytes=1048576 server_version=%s columns=%s', rows, current_setting('server_version_num'), columns), query)
	LOOP
		frames := frames || frame;
	END LOOP;
	RETURN frames;
END
$$;
CREATE FUNCTION piece(query text, columns text, rows int DEFAULT 4096) RETURNS text LANGUAGE sql AS $$
	SELECT armour(sent(query, columns, rows))
$$;
