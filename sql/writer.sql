--
-- Rows that are written as frames: the same rows, counts and errors as with
-- postgres_fdw alone.
--
-- Other tests have tables of the same names.
CREATE SCHEMA writer_test;
SET search_path = writer_test, public;
CREATE TABLE remote.sale (id int PRIMARY KEY, item text CHECK (item <> 'bad'), price numeric(10,2), day date NOT NULL);
CREATE TABLE remote.part0 (id int PRIMARY KEY, n int CHECK (n >= 0));
CREATE TABLE remote.part1 (id int PRIMARY KEY, n int CHECK (n >= 0));
CREATE TABLE remote.part2 (id int PRIMARY KEY, n int CHECK (n >= 0));

DO $$
BEGIN
	EXECUTE format('CREATE SERVER loopback_too FOREIGN DATA WRAPPER postgres_fdw
					OPTIONS (dbname %L, host %L, port %L)',
				   current_database(),
				   split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'));
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback_too;

-- one row in a statement of postgres_fdw; then 100
CREATE FOREIGN TABLE sale (id int, item text, price numeric(10,2), day date)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sale');
CREATE FOREIGN TABLE sale100 (id int, item text, price numeric(10,2), day date)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sale', batch_size '100');

-- two partitions on one server, one of them with batches, one on another
-- server, and one here
CREATE TABLE parted (id int, n int) PARTITION BY HASH (id);
CREATE FOREIGN TABLE parted0 PARTITION OF parted FOR VALUES WITH (MODULUS 4, REMAINDER 0)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'part0');
CREATE FOREIGN TABLE parted1 PARTITION OF parted FOR VALUES WITH (MODULUS 4, REMAINDER 1)
	SERVER loopback_too OPTIONS (schema_name 'remote', table_name 'part1');
CREATE FOREIGN TABLE parted2 PARTITION OF parted FOR VALUES WITH (MODULUS 4, REMAINDER 2)
	SERVER loopback_too OPTIONS (schema_name 'remote', table_name 'part2', batch_size '100');
CREATE TABLE parted3 PARTITION OF parted FOR VALUES WITH (MODULUS 4, REMAINDER 3);

-- What a statement does: rows counted and contents, or all of its error. It is
-- rolled back.
CREATE FUNCTION write_result(statement text, OUT counted bigint, OUT contents text, OUT error text) LANGUAGE plpgsql AS $$
DECLARE
	state text; message text; detail text; hint text; context text;
BEGIN
	EXECUTE statement;
	GET DIAGNOSTICS counted = ROW_COUNT;
	SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) INTO contents
	FROM (SELECT s::text FROM sale s UNION ALL SELECT p::text FROM parted p) t;
	RAISE EXCEPTION USING ERRCODE = 'PX000';
EXCEPTION
	WHEN SQLSTATE 'PX000' THEN
	WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
			hint = PG_EXCEPTION_HINT, context = PG_EXCEPTION_CONTEXT;
		error := concat_ws(' | ', state, message, detail, hint, context);
END
$$;

-- Compare a statement with postgres_fdw alone.
CREATE FUNCTION write_compare(statement text, OUT counted bigint, OUT same boolean, OUT first_error text) LANGUAGE plpgsql AS $$
DECLARE
	writes text;
	got record;
	results text[];
BEGIN
	FOREACH writes IN ARRAY '{off,on}'::text[] LOOP
		PERFORM set_config('pg_exchange.writes', writes, false);
		SELECT * INTO got FROM write_result(statement);
		results := results || got::text;
	END LOOP;
	counted := got.counted;
	first_error := split_part(got.error, ' | ', 2);
	same := results[1] = results[2];
	IF NOT same THEN
		RAISE WARNING E'postgres_fdw: %\nframes: %', left(results[1], 1000), left(results[2], 1000);
	END IF;
END
$$;

-- How are rows written?
SELECT * FROM explain_stable('INSERT INTO sale SELECT i, ''x'', i, ''2024-01-01'' FROM generate_series(1, 1000) i', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
-- large rows, by a local connection and by others
SET pg_exchange.local_scope = host;
SELECT line FROM explain_stable('INSERT INTO sale SELECT -i, repeat(''x'', 20000), i, ''2024-01-01'' FROM generate_series(1, 500) i', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') line WHERE line ~ 'Transport';
SELECT line FROM explain_stable('INSERT INTO sale SELECT -500 - i, repeat(''x'', 200), i, ''2024-01-01'' FROM generate_series(1, 500) i', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') line WHERE line ~ 'Transport';
RESET pg_exchange.local_scope;
SELECT line FROM explain_stable('INSERT INTO sale SELECT -1000 - i, repeat(''x'', 20000), i, ''2024-01-01'' FROM generate_series(1, 500) i', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') line WHERE line ~ 'Transport';
SELECT length(item), count(*) FROM sale WHERE id < 0 GROUP BY 1 ORDER BY 1;
DELETE FROM sale;
SELECT * FROM explain_stable('INSERT INTO parted SELECT i, i FROM generate_series(1, 2000) i', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
DELETE FROM parted;
INSERT INTO sale SELECT i, 'old', 0, '2024-01-01' FROM generate_series(1, 50) i;

-- one target, with and without batches: rows of several frames and pieces
SELECT t, c.* FROM unnest('{sale,sale100}'::text[]) t,
	write_compare(format('INSERT INTO %s SELECT i, ''item '' || i, i, ''2024-01-01'' FROM generate_series(101, 9000) i', t)) c;
SELECT t, c.* FROM unnest('{sale,sale100}'::text[]) t,
	write_compare(format('INSERT INTO %s SELECT i, ''item '' || i, i, ''2024-01-01'' FROM generate_series(1, 3000) i ON CONFLICT DO NOTHING', t)) c;

-- the first bad row
SELECT t, bad, c.* FROM unnest('{sale,sale100}'::text[]) t, unnest('{101,228,230,1000,1234,2099,2100}'::int[]) bad,
	write_compare(format('INSERT INTO %s SELECT CASE WHEN i = %s THEN 7 ELSE i END, CASE WHEN i = 2000 THEN ''bad'' END, i, ''2024-01-01''
						  FROM generate_series(101, 2100) i', t, bad)) c;
SELECT t, bad, c.* FROM unnest('{sale,sale100}'::text[]) t, unnest('{150,1500}'::int[]) bad,
	write_compare(format('INSERT INTO %s SELECT i, ''x'', i, CASE WHEN i <> %s THEN date ''2024-01-01'' END
						  FROM generate_series(101, 2100) i', t, bad)) c;

-- all values of a statement are read before it is executed, in however small
-- batches rows travel
CREATE FOREIGN TABLE sale100_text (id int, item text, price numeric(10,2), day text)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'sale', batch_size '100');
SET pg_exchange.batch_rows_max = 30;
SELECT bad, c.* FROM unnest('{1105,1250}'::int[]) bad,
	write_compare(format('INSERT INTO sale100_text SELECT i, CASE WHEN i = %s THEN ''bad'' END, i, CASE WHEN i = 1295 THEN ''2024-02-31'' ELSE ''2024-01-01'' END
						  FROM generate_series(101, 2100) i', bad)) c;
RESET pg_exchange.batch_rows_max;
DROP FOREIGN TABLE sale100_text;

-- errors of the source, before and after the bad row
SELECT t, bad, c.* FROM unnest('{sale,sale100}'::text[]) t, unnest('{110,1510,1490,1390,1210,2000}'::int[]) bad,
	write_compare(format('INSERT INTO %s SELECT i, CASE WHEN i = %s THEN ''bad'' END, 1 / (1500 - i), ''2024-01-01''
						  FROM generate_series(101, 2100) i', t, bad)) c;

-- postgres_fdw's statement of 100 rows is executed when the next row comes:
-- after an error of that row, it is not
SELECT t, bad, fails, c.* FROM unnest('{sale,sale100}'::text[]) t, unnest('{190,1490}'::int[]) bad, unnest('{200,201,202,1501,1502}'::int[]) fails,
	write_compare(format('INSERT INTO %s SELECT i, CASE WHEN i = %s THEN ''bad'' END, 1 / (%s - i), ''2024-01-01''
						  FROM generate_series(101, 2100) i', t, bad, fails)) c;
SELECT min_rows, fails, c.* FROM unnest('{0,128,10000}'::int[]) min_rows, unnest('{1201,1202}'::int[]) fails,
	set_config('pg_exchange.min_write_rows', min_rows::text, false) setting,
	write_compare(format('INSERT INTO sale100 SELECT i, CASE WHEN i = 1190 THEN ''bad'' END, 1 / (%s - i), ''2024-01-01''
						  FROM generate_series(101, 1300) i -- %s', fails, setting)) c;
RESET pg_exchange.min_write_rows;

-- Scans of the server that begin later see what postgres_fdw would have
-- written by then: with batches, whole statements.
SELECT t, n, c.* FROM unnest('{sale,sale100}'::text[]) t, unnest('{350,1150}'::int[]) n,
	write_compare(format('INSERT INTO %s SELECT i, ''x'', i, date ''2024-01-01'' FROM generate_series(101, %s) i
						  UNION ALL SELECT id + 10000, ''y'', id, ''2024-01-01'' FROM sale', t, n)) c;
SET pg_exchange.min_write_rows = 16;
SELECT t, way, c.* FROM unnest('{sale,sale100}'::text[]) t, unnest('{auto,session,stream}'::text[]) way,
	set_config('pg_exchange.transport', way, false) setting,
	write_compare(format('INSERT INTO %s SELECT i, (SELECT count(*) FROM (SELECT id FROM sale s WHERE s.id > i - 250 OFFSET 0) s), i, ''2024-01-01''
						  FROM generate_series(101, 450) i -- %s', t, setting)) c;
RESET pg_exchange.min_write_rows;
RESET pg_exchange.transport;

-- the context of a remote error may have the statement itself: of a server behind the remote, for instance; or in a name
CREATE FUNCTION remote.fail_230() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.id = 230 THEN RAISE 'refused'; END IF; RETURN NEW; END $$;
CREATE TABLE remote.s (id int);
CREATE FOREIGN TABLE s100 (id int) SERVER loopback OPTIONS (schema_name 'remote', table_name 's', batch_size '100');
ALTER FUNCTION remote.fail_230() RENAME TO "
remote SQL command: INSERT INTO remote.s(id) VALUES ($1)";
CREATE TRIGGER fail AFTER INSERT ON remote.s FOR EACH ROW EXECUTE FUNCTION remote."
remote SQL command: INSERT INTO remote.s(id) VALUES ($1)"();
SELECT counted, same FROM write_compare('INSERT INTO s100 SELECT i FROM generate_series(1, 1000) i');
DROP FOREIGN TABLE s100;
DROP TABLE remote.s;
DROP FUNCTION remote."
remote SQL command: INSERT INTO remote.s(id) VALUES ($1)"();

-- several targets
SELECT bad, c.* FROM unnest('{20,120,1300,1301,1302,1990,1999,2001}'::int[]) bad,
	write_compare(format('INSERT INTO parted SELECT i, CASE WHEN i BETWEEN %s AND %s THEN -1 ELSE i END FROM generate_series(1, 2000) i', bad, bad + 9)) c;
SELECT c.* FROM write_compare('INSERT INTO parted SELECT i % 1500, 1 FROM generate_series(1, 2000) i') c;
SELECT c.* FROM write_compare('INSERT INTO parted SELECT i, CASE WHEN i IN (1490, 1491, 1492, 1493, 1494, 1495) THEN -1 ELSE 1 / (1500 - i) END
							   FROM generate_series(1, 2000) i') c;
SELECT c.* FROM write_compare('INSERT INTO parted SELECT i, 1 FROM generate_series(1, 6000) i') c;

-- the same with batches for one of them
ALTER FOREIGN TABLE parted1 OPTIONS (ADD batch_size '100');
SELECT bad, c.* FROM unnest('{20,120,1300,1301,1302,1990,1999}'::int[]) bad,
	write_compare(format('INSERT INTO parted SELECT i, CASE WHEN i BETWEEN %s AND %s THEN -1 ELSE i END FROM generate_series(1, 2000) i', bad, bad + 9)) c;
ALTER FOREIGN TABLE parted1 OPTIONS (DROP batch_size);

-- Few rows are expected, so postgres_fdw writes the first ones of each target.
-- Not any more when another target of the server has frames.
CREATE FUNCTION few(n int) RETURNS SETOF int LANGUAGE plpgsql IMMUTABLE ROWS 10 AS 'BEGIN RETURN QUERY SELECT generate_series(1, n); END';
ALTER FOREIGN TABLE parted2 OPTIONS (SET batch_size '1');
SELECT bad, c.* FROM unnest('{3,300,600,780,790}'::int[]) bad,
	write_compare(format('INSERT INTO parted SELECT i, CASE WHEN i >= %s THEN -1 ELSE i END FROM few(1020) i
						  WHERE satisfies_hash_partition(''parted''::regclass, 4, CASE WHEN i < 800 THEN 1 ELSE 2 END, i)', bad)) c;
SELECT c.* FROM unnest('{3,100,500,501,502,503,504,509,512,540,2000}'::int[]) n, write_compare(format('INSERT INTO parted SELECT i, i FROM few(%s) i', n)) c;

-- One of two tables of a server is postgres_fdw's: after an error of its row, rows
-- of the other one that came before can't be written any more.
CREATE FUNCTION write_nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER nothing AFTER INSERT OR UPDATE ON parted1 FOR EACH ROW EXECUTE FUNCTION write_nothing();
SELECT first_error, count(*), bool_and(same) AS same FROM unnest('{6,7,8,9,10,11,12,1000,1001,1002,1003,1004,1005}'::int[]) bad,
	write_compare(format('INSERT INTO parted SELECT i, CASE WHEN i BETWEEN %s AND %s THEN -1 ELSE i END FROM generate_series(1, 2000) i', bad, bad + 30)) c
GROUP BY first_error ORDER BY first_error;
SELECT * FROM explain_stable('INSERT INTO parted SELECT i, i FROM generate_series(1, 2000) i', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
DROP TRIGGER nothing ON parted1;
CREATE TRIGGER nothing AFTER UPDATE ON parted2 FOR EACH ROW EXECUTE FUNCTION write_nothing();
SELECT c.* FROM write_compare('UPDATE parted SET n = CASE WHEN tableoid = ''parted0''::regclass THEN 1 ELSE -1 + floor(random()) END WHERE id < 300') c;
DROP TRIGGER nothing ON parted2;
DELETE FROM parted;
ALTER FOREIGN TABLE parted2 OPTIONS (SET batch_size '100');
DROP FUNCTION write_nothing;

-- the same in little memory
SET pg_exchange.receive_buffer = '64kB';
SELECT t, c.* FROM unnest('{sale,sale100}'::text[]) t,
	write_compare(format('INSERT INTO %s SELECT i, repeat(''item '' || i, i %% 100), i, ''2024-01-01'' FROM generate_series(101, 3000) i', t)) c;
SELECT c.* FROM write_compare('INSERT INTO parted SELECT i, 1 FROM generate_series(1, 4000) i') c;
SELECT bad, c.* FROM generate_series(1200, 3700, 500) bad,
	write_compare(format('INSERT INTO parted SELECT i, CASE WHEN i > %s THEN -1 ELSE 1 END FROM generate_series(1, 4000) i', bad)) c;
RESET pg_exchange.receive_buffer;

-- few rows, or from the first one on
SET pg_exchange.min_write_rows = 0;
SELECT t, n, c.* FROM unnest('{sale,sale100}'::text[]) t, unnest('{0,1,2,99,100,101}'::int[]) n,
	write_compare(format('INSERT INTO %s SELECT i, ''x'', i, ''2024-01-01'' FROM generate_series(101, 100 + %s) i', t, n)) c;
SELECT t, c.* FROM unnest('{sale,sale100}'::text[]) t,
	write_compare(format('INSERT INTO %s SELECT i, ''x'', i, ''2024-01-01'' FROM generate_series(150, 1, -1) i', t)) c;

-- The statement of 1000 rows fails whatever these are, but the source before it
-- is complete.
CREATE TABLE remote.late (id int PRIMARY KEY DEFERRABLE);
CREATE FOREIGN TABLE late (id int) SERVER loopback OPTIONS (schema_name 'remote', table_name 'late', batch_size '1000');
SELECT c.* FROM write_compare('INSERT INTO late SELECT 1 / (i - 10) FROM generate_series(1, 100) i ON CONFLICT DO NOTHING') c;
SELECT c.* FROM write_compare('INSERT INTO late SELECT 1 / (i - 1010) FROM generate_series(1, 2000) i ON CONFLICT DO NOTHING') c;
DROP FOREIGN TABLE late;
DROP TABLE remote.late;
RESET pg_exchange.min_write_rows;

-- COPY: the line of the bad row
SELECT t, bad, c.* FROM unnest('{sale,sale100}'::text[]) t, unnest('{102,220,900,1000}'::int[]) bad,
	write_compare(format('COPY %s FROM PROGRAM ''for i in $(seq 101 1000); do if [ $i = %s ]; then i=5; fi; echo $i,line$i,1.5,2024-01-01; done'' CSV', t, bad)) c;
-- which error comes first depends on the version: since 16, COPY keeps rows
SELECT t, bad, counted, same FROM unnest('{sale,sale100}'::text[]) t, unnest('{150,850}'::int[]) bad,
	write_compare(format('COPY %s FROM PROGRAM ''for i in $(seq 101 1000); do p=1; [ $i = 800 ] && p=wrong; n=$i; [ $i = %s ] && n=5; echo $n,a,$p,2024-01-01; done'' CSV', t, bad)) c;
SELECT c.* FROM write_compare('COPY parted FROM PROGRAM ''for i in $(seq 1 1000); do n=1; [ $i -gt 800 ] && n=-1; echo $i,$n; done'' CSV') c;
SELECT c.* FROM write_compare('COPY parted FROM PROGRAM ''for i in $(seq 1 1000); do echo $i,1; done'' CSV') c;
-- the same for several bad rows, with batches for one partition and for two
SELECT bad, rows, counted, same FROM unnest('{195,1747}'::int[]) bad, unnest('{3,3000}'::int[]) rows,
	write_compare(format('COPY parted FROM PROGRAM ''for i in $(seq 1 2000); do n=1; [ $i -gt %s ] && [ $i -le %s ] && n=-1; echo $i,$n; done'' CSV', bad, bad + rows));
ALTER FOREIGN TABLE parted1 OPTIONS (ADD batch_size '30');
SELECT bad, rows, counted, same FROM unnest('{195,1747}'::int[]) bad, unnest('{3,3000}'::int[]) rows,
	write_compare(format('COPY parted FROM PROGRAM ''for i in $(seq 1 2000); do n=1; [ $i -gt %s ] && [ $i -le %s ] && n=-1; echo $i,$n; done'' CSV', bad, bad + rows));
SET pg_exchange.min_write_rows = 0;
SELECT bad, rows, counted, same FROM unnest('{195,1747}'::int[]) bad, unnest('{3,3000}'::int[]) rows,
	write_compare(format('COPY parted FROM PROGRAM ''for i in $(seq 1 2000); do n=1; [ $i -gt %s ] && [ $i -le %s ] && n=-1; echo $i,$n; done'' CSV', bad, bad + rows));
ALTER FOREIGN TABLE parted1 OPTIONS (DROP batch_size);
SELECT bad, rows, counted, same FROM unnest('{195,1747}'::int[]) bad, unnest('{3,3000}'::int[]) rows,
	write_compare(format('COPY parted FROM PROGRAM ''for i in $(seq 1 2000); do n=1; [ $i -gt %s ] && [ $i -le %s ] && n=-1; echo $i,$n; done'' CSV', bad, bad + rows));
RESET pg_exchange.min_write_rows;

-- a long line, of characters of several bytes
SELECT c.* FROM write_compare('COPY sale (id, item, day) FROM PROGRAM
	''for i in $(seq 101 400); do n=$i; [ $i = 350 ] && n=5; printf "%s\t%0.s\303\251" $n; for k in $(seq 1 90); do printf "\303\251"; done; printf "\t2024-01-01\n"; done''') c;

-- A trigger there sees how many rows its statement has. So without batches
-- postgres_fdw writes.
CREATE FUNCTION remote.pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN CASE WHEN NEW.id % 3 > 0 THEN NEW END; END';
CREATE TRIGGER pass BEFORE INSERT ON remote.sale FOR EACH ROW EXECUTE FUNCTION remote.pass();
SELECT t, c.* FROM unnest('{sale,sale100}'::text[]) t,
	write_compare(format('INSERT INTO %s SELECT i, ''x'', i, ''2024-01-01'' FROM generate_series(101, 1150) i', t)) c;
SELECT t, c.* FROM unnest('{sale,sale100}'::text[]) t,
	write_compare(format('INSERT INTO %s SELECT i, CASE WHEN i = 226 THEN ''bad'' END, i, ''2024-01-01'' FROM generate_series(101, 1150) i', t)) c;
DROP TRIGGER pass ON remote.sale;

-- values that travel as text, whatever the settings here
CREATE TYPE size AS ENUM ('small', 'large');
CREATE TABLE remote.kinds (id int, s size, r int4range, p point, t text[], w timestamptz, i interval, f float8, j jsonb);
CREATE FOREIGN TABLE kinds (id int, s size, r int4range, p point, t text[], w timestamptz, i interval, f float8, j jsonb)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'kinds');
SET datestyle = 'German';
SET intervalstyle = 'iso_8601';
SET extra_float_digits = -3;
INSERT INTO kinds SELECT i, CASE i % 2 WHEN 0 THEN size 'small' ELSE 'large' END, int4range(i, 2 * i), point(i / 7.0, 1), ARRAY['a', NULL, '"' || i],
	timestamptz '2024-01-31 12:00+00' + i * interval '1 hour', i * interval '1 day 2 seconds', i / 7.0::float8, jsonb_build_object('n', i)
FROM generate_series(1, 1000) i;
RESET datestyle;
RESET intervalstyle;
RESET extra_float_digits;
SELECT count(*), bool_and(s = CASE id % 2 WHEN 0 THEN size 'small' ELSE 'large' END AND r = int4range(id, 2 * id) AND p ~= point(id / 7.0, 1)
		AND t = ARRAY['a', NULL, '"' || id] AND w = timestamptz '2024-01-31 12:00+00' + id * interval '1 hour'
		AND i = id * interval '1 day 2 seconds' AND f = id / 7.0::float8 AND j = jsonb_build_object('n', id)) AS right
FROM remote.kinds;

-- a piece that is full while the first rows, which were kept, become frames,
-- and cannot be sent because another target's row is refused
CREATE TABLE remote.wide0 (id int PRIMARY KEY, v text);
CREATE TABLE remote.wide1 (id int PRIMARY KEY, v text);
CREATE TABLE remote.wide2 (id int PRIMARY KEY, v text);
CREATE TABLE wide (id int, v text) PARTITION BY HASH (id);
CREATE FOREIGN TABLE wide0 PARTITION OF wide FOR VALUES WITH (MODULUS 3, REMAINDER 0)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'wide0');
CREATE FOREIGN TABLE wide1 PARTITION OF wide FOR VALUES WITH (MODULUS 3, REMAINDER 1)
	SERVER loopback_too OPTIONS (schema_name 'remote', table_name 'wide1');
CREATE FOREIGN TABLE wide2 PARTITION OF wide FOR VALUES WITH (MODULUS 3, REMAINDER 2)
	SERVER loopback_too OPTIONS (schema_name 'remote', table_name 'wide2');
CREATE FUNCTION insert_wide(settings text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), true) FROM unnest(string_to_array(settings, ' ')) setting;
	INSERT INTO wide SELECT g, repeat('x', 4000) FROM generate_series(1, 1200) g;
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END
$$;
CREATE TABLE refused (first int, without text, with_streams text, with_one text, deposited text);
DO $$
DECLARE
	start int;
BEGIN
	FOREACH start IN ARRAY '{1,100,260,900}'::int[] LOOP
		INSERT INTO remote.wide0 SELECT id, v FROM (SELECT g AS id, 'there' AS v FROM generate_series(start, start + 50) g) x
			WHERE satisfies_hash_partition('wide'::regclass, 3, 0, id);
		INSERT INTO remote.wide1 SELECT id, v FROM (SELECT g AS id, 'there' AS v FROM generate_series(start, start + 50) g) x
			WHERE satisfies_hash_partition('wide'::regclass, 3, 1, id);
		COMMIT;
		INSERT INTO refused VALUES (start, insert_wide('pg_exchange.enabled=off'), insert_wide('pg_exchange.write_streams=0'),
			insert_wide('pg_exchange.write_streams=1'),
			insert_wide('pg_exchange.debug_random_choices=on pg_exchange.batch_bytes_max=1024 pg_exchange.receive_buffer=65536'));
		COMMIT;
		DELETE FROM remote.wide0;
		DELETE FROM remote.wide1;
		COMMIT;
	END LOOP;
END
$$;
SELECT first, without ~ '^duplicate key' AS refused, without = with_streams AS streams, without = with_one AS one, without = deposited AS deposited FROM refused ORDER BY 1;
DROP TABLE wide, refused;
DROP FUNCTION insert_wide;

-- Two servers are sent the same statement: the earlier row's error is raised,
-- and none is waited for where a call has failed
CREATE TABLE remote.guarded (id int PRIMARY KEY, sh int, v int CHECK (v <> 77), pad text);
INSERT INTO remote.guarded VALUES (-2, 1, 1);
CREATE TABLE guarded (id int, sh int, v int, pad text) PARTITION BY LIST (sh);
CREATE FOREIGN TABLE guarded1 PARTITION OF guarded FOR VALUES IN (1) SERVER loopback OPTIONS (schema_name 'remote', table_name 'guarded', batch_size '10000');
CREATE FOREIGN TABLE guarded2 PARTITION OF guarded FOR VALUES IN (2) SERVER loopback_too OPTIONS (schema_name 'remote', table_name 'guarded', batch_size '100');
CREATE FUNCTION itself(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
CREATE FUNCTION count_there(i int) RETURNS int LANGUAGE plpgsql AS $$BEGIN RETURN (SELECT count(*) % 40 FROM guarded1 WHERE id > 1000); END$$;
CREATE FUNCTION same_refusal(settings text, statement text, OUT refusal text, OUT same bool) LANGUAGE plpgsql AS $$
DECLARE
	refused text;
	by_frames text;
BEGIN
	PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), true) FROM unnest(string_to_array(settings, ' ')) setting;
	FOREACH by_frames IN ARRAY '{off,on}'::text[] LOOP
		PERFORM set_config('pg_exchange.writes', by_frames, true);
		BEGIN
			EXECUTE statement;
			refused := 'none';
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS refused = CONSTRAINT_NAME;
			refused := concat_ws(' ', SQLSTATE, coalesce(nullif(refused, ''), SQLERRM));
		END;
		same := refused = refusal;
		refusal := refused;
	END LOOP;
END
$$;
SELECT * FROM same_refusal('pg_exchange.write_streams=1 pg_exchange.receive_buffer=65536 pg_exchange.min_write_rows=0', $$
	INSERT INTO guarded SELECT CASE WHEN i = 162 THEN -2 ELSE i END, 1 + i % 2, CASE WHEN itself(i) % 17 = 0 THEN count_there(i) ELSE 0 END, repeat(md5(i::text), 2)
	FROM generate_series(0, 3000) i$$);
CREATE FUNCTION remote.stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER stays BEFORE INSERT ON remote.guarded FOR EACH ROW EXECUTE FUNCTION remote.stay();
ALTER FOREIGN TABLE guarded1 OPTIONS (SET batch_size '1');
ALTER FOREIGN TABLE guarded2 OPTIONS (SET batch_size '7');
SELECT refusal, same FROM generate_series(1802, 2802, 500) at, same_refusal('pg_exchange.write_streams=0', format($$
	INSERT INTO guarded SELECT CASE WHEN i = %s THEN -2 ELSE i END, 1 + i %% 2, CASE WHEN i = 1701 THEN 77 ELSE 1 END, repeat(md5(i::text), 32)
	FROM generate_series(0, 5000) i$$, at));
DROP FOREIGN TABLE guarded1, guarded2;
DROP TABLE guarded, remote.guarded;
DROP FUNCTION remote.stay, itself, count_there, same_refusal;

DROP FOREIGN TABLE sale, sale100, kinds;
DROP TABLE parted;
DROP SERVER loopback_too CASCADE;
DROP TABLE remote.sale, remote.part0, remote.part1, remote.part2, remote.wide0, remote.wide1, remote.wide2, remote.kinds;
DROP FUNCTION remote.pass, write_result, write_compare, few;
DROP TYPE size;
