--
-- Mode auto: whatever is chosen for a batch, the rows are the same.
--
CREATE TABLE remote.mixed AS
	SELECT i AS id, i % 7 AS few, (i * 2654435761) % 4294967296 AS many, i / 100.0 AS amount,
		CASE WHEN i % 500 = 0 THEN 'NaN'::numeric ELSE round((i * 37 % 1000) / 7.0, 2) END AS patched,
		CASE WHEN i % 3 > 0 THEN 'the same words over and over ' || i % 50 END AS words,
		md5(i::text) AS hex, md5(i::text)::uuid AS uuid, sqrt(i) AS root,
		date '2000-01-01' + i % 1000 AS day, ARRAY[i, i + 1] AS pair, point(i, i) AS place
	FROM generate_series(1, 20000) i;
IMPORT FOREIGN SCHEMA remote LIMIT TO (mixed) FROM SERVER loopback INTO public;

-- every batch by a choice of its own, drawn at random
SET pg_exchange.debug_random_choices = on;
SET pg_exchange.batch_rows_max = 64;
SELECT * FROM exchange_differences('SELECT * FROM mixed') WHERE mode = 'auto';
SELECT * FROM exchange_differences('SELECT * FROM types') WHERE mode = 'auto';
SET pg_exchange.compression = auto;
SELECT (p->>'Plain Batches')::int > 20 AS plain, (p->>'Encoded Batches')::int > 20 AS encoded,
	(p->>'LZ4 Batches')::int > 20 AS lz4, (p->>'Zstd Batches')::int > 20 AS zstd,
	(p->>'Plain Batches')::int + (p->>'Encoded Batches')::int + (p->>'LZ4 Batches')::int +
	(p->>'Zstd Batches')::int = (p->>'Wire Batches')::int AS all
FROM explain_json('SELECT * FROM mixed', 'ANALYZE') p;
RESET pg_exchange.batch_rows_max;

-- by parallel senders, which share what they learn
ALTER TABLE remote.mixed SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=8191 codec=auto level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 codecs=6 cpu_limit=1000 link=0 idle=0 random=0 columns=23:-1,0:-1', t)
	FROM (SELECT id, words FROM remote.mixed) t$$);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
ALTER ROLE CURRENT_USER SET parallel_setup_cost = 0;
ALTER ROLE CURRENT_USER SET parallel_tuple_cost = 0;
ALTER ROLE CURRENT_USER SET min_parallel_table_scan_size = 0;
DO $$
BEGIN
	EXECUTE format('CREATE SERVER parallel FOREIGN DATA WRAPPER postgres_fdw
					OPTIONS (dbname %L, host %L, port %L)',
				   current_database(),
				   split_part(current_setting('unix_socket_directories'), ',', 1),
				   current_setting('port'));
END
$$;
CREATE USER MAPPING FOR CURRENT_USER SERVER parallel;
CREATE FOREIGN TABLE parallel_mixed (id int, few int, words text, hex text, place point)
	SERVER parallel OPTIONS (schema_name 'remote', table_name 'mixed');
SELECT * FROM exchange_differences('SELECT * FROM parallel_mixed') WHERE mode = 'auto';
RESET pg_exchange.debug_random_choices;
SELECT * FROM exchange_differences('SELECT * FROM parallel_mixed') WHERE mode = 'auto';
ALTER ROLE CURRENT_USER RESET parallel_setup_cost;
ALTER ROLE CURRENT_USER RESET parallel_tuple_cost;
ALTER ROLE CURRENT_USER RESET min_parallel_table_scan_size;

-- Without codecs there is nothing but encodings; without those, plain columns.
-- A link that was slow a moment ago is taken to be slow.
CREATE FUNCTION choices(encodings int, words text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT exchange.send(''version=1 encodings=%s codec=auto level=0 batch_rows=4096 '
		'batch_bytes=1048576 server_version=150000 %s columns=0:-1'', t) FROM (%s) t', encodings, words, query) INTO plan;
	RETURN regexp_replace(plan->0->'Plan'->>'Choices', ' [1-9]\d*', ' some', 'g');
END
$$;
SELECT choices(8191, 'codecs=6 cpu_limit=1000 link=0 idle=0 random=0', 'SELECT words FROM remote.mixed LIMIT 300') AS fast,
	choices(8191, 'codecs=6 cpu_limit=1000 link=1000000 idle=0 random=0', 'SELECT words FROM remote.mixed LIMIT 300') AS slow_link,
	choices(8191, 'codecs=0 cpu_limit=1000 link=0 idle=0 random=0', 'SELECT words FROM remote.mixed LIMIT 300') AS no_codecs,
	choices(1, 'codecs=6 cpu_limit=1000 link=0 idle=0 random=0', 'SELECT words FROM remote.mixed LIMIT 300') AS no_encodings,
	choices(8191, 'codecs=6 cpu_limit=0 link=1000000 idle=0 random=0', 'SELECT words FROM remote.mixed LIMIT 300') AS no_cpu,
	choices(8191, 'codecs=6 cpu_limit=1000 link=1000000 idle=0 random=0', 'SELECT words FROM remote.mixed LIMIT 10') AS tiny;

-- explicit modes win, for all servers or for one
SET pg_exchange.compression = none;
SELECT DISTINCT line FROM explain_stable('SELECT * FROM mixed', 'ANALYZE, COSTS OFF, TIMING OFF') line WHERE line ~ 'Compression';
SET pg_exchange.compression = auto;
SET pg_exchange.server_compression = 'loopback=high_compression';
SELECT DISTINCT line FROM explain_stable('SELECT * FROM mixed', 'ANALYZE, COSTS OFF, TIMING OFF') line WHERE line ~ 'Compression';
SET pg_exchange.compression = fast;
SET pg_exchange.server_compression = 'loopback=auto';
SELECT DISTINCT line FROM explain_stable('SELECT * FROM mixed', 'ANALYZE, COSTS OFF, TIMING OFF') line WHERE line ~ 'Compression';
RESET pg_exchange.server_compression;
RESET pg_exchange.compression;

-- the link, as text
SELECT count(*) FROM (SELECT 1) x, LATERAL (SELECT explain_json('SELECT * FROM mixed', 'ANALYZE') p) y
WHERE (p->>'Link Rate (Mbit/s)')::float > 0 AND p ? 'Link Was Bottleneck';
