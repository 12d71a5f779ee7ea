--
-- What EXPLAIN shows, in plans and after running them.
--
CREATE TABLE remote.numbers AS
	SELECT i AS id, i % 10 AS digit, 'number ' || i AS name FROM generate_series(1, 10000) i;
CREATE FOREIGN TABLE numbers (id int, digit int, name text)
	SERVER loopback OPTIONS (schema_name 'remote', table_name 'numbers');
ANALYZE numbers;

SELECT explain_stable('SELECT * FROM numbers');
SELECT explain_stable('SELECT name FROM numbers n WHERE digit = 3 AND random() < 2', 'COSTS OFF, VERBOSE');
SET pg_exchange.compression = none;
SELECT explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF, TIMING OFF');
SET pg_exchange.compression = fast;
SELECT explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF, TIMING OFF');
SET pg_exchange.compression = high_compression;
SELECT explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF, TIMING OFF');
SET pg_exchange.compression = auto;
SELECT explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF, TIMING OFF');
RESET pg_exchange.compression;

-- the times, on one line
SELECT count(*) FROM explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF') line
WHERE line ~ 'Time: encode N ms, send wait N ms, receive wait N ms, decode N ms$';

-- traffic within the instance is not compressed while it counts as local
SET pg_exchange.local_scope = instance;
SELECT explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF, TIMING OFF');
SET pg_exchange.local_scope = host;
SELECT explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF, TIMING OFF');
RESET pg_exchange.local_scope;

-- properties of the other formats
CREATE FUNCTION explain_json(query text, options text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT JSON, %s) %s', options, query) INTO plan;
	RETURN plan->0->'Plan';
END
$$;
SELECT key, CASE WHEN jsonb_typeof(value) = 'number' OR key LIKE 'Link%' THEN jsonb_typeof(value)
	ELSE regexp_replace(value::text, '(:|lz4|zstd|none) \d+', '\1 n', 'g') END AS value
FROM jsonb_each(explain_json('SELECT * FROM numbers', 'ANALYZE, VERBOSE, COSTS OFF, BUFFERS OFF'))
WHERE key NOT LIKE 'Actual%' AND key <> 'Disabled' ORDER BY key COLLATE "C";
SELECT (p->>'Wire Bytes')::bigint < (p->>'Raw Bytes')::bigint AS compressed,
	(p->>'Raw Bytes')::bigint > 100000 AS raw, (p->>'Wire Batches')::int BETWEEN 2 AND 12 AS batches
FROM explain_json('SELECT * FROM numbers', 'ANALYZE') p;

-- the far side's plan
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=7 codec=lz4 level=0 batch_rows=100 batch_bytes=65536 server_version=150000 columns=23:-1,0:-1,25:-1', t)
	FROM (SELECT * FROM remote.numbers) t$$);

-- min_bytes leaves small results alone
SET pg_exchange.min_bytes = '64kB';
SELECT explain_stable('SELECT * FROM numbers WHERE id = 1');
SELECT explain_stable('SELECT * FROM numbers');
RESET pg_exchange.min_bytes;
