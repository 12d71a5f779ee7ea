--
-- exchange.hello and exchange.send called by hand.
--
SELECT exchange.hello('hello');
SELECT exchange.hello('protocol=1-1 codecs=7 encodings=7 endian=little encoding=UTF8 server_version=150000 instance=0123456789abcdef0123456789abcdef export=1')
	~ '^protocol=1-1 codecs=7 encodings=16383 endian=little encoding=UTF8 server_version=[0-9]+ instance=[0-9a-f]{32} export=1 spread=1 pull=[0-9a-f]{32}$' AS answered;

-- frames: a schema, batches that grow, an end
\set request 'version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1'
CREATE FUNCTION frames(request text, query text) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT exchange.send(%L, t) FROM (%s) t', request, query);
END
$$;
-- kind, sender, sequence, rows (doc/wire.md)
SELECT convert_from(substr(f, 1, 4), 'UTF8') AS magic, get_byte(f, 6) AS kind, get_byte(f, 8) AS sender,
	get_byte(f, 12) AS sequence, get_byte(f, 16) + 256 * get_byte(f, 17) AS rows
FROM frames(:'request', 'SELECT id FROM remote.numbers ORDER BY id LIMIT 3000') f;
SELECT get_byte(f, 6) AS kind, get_byte(f, 16) AS rows
FROM frames(:'request', 'SELECT id FROM remote.numbers WHERE id < 0') f;
PREPARE send(int) AS SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1', t)
	FROM (SELECT id FROM remote.numbers WHERE id <= $1) t;
EXPLAIN (COSTS OFF) EXECUTE send(5000);

-- nonsense
SELECT exchange.send('nonsense', t) FROM (SELECT 1) t;
SELECT exchange.send('version=2 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1', t) FROM (SELECT 1) t;
SELECT exchange.send('version=1 encodings=7 codec=snappy level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1', t) FROM (SELECT 1) t;
SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=0 batch_bytes=1048576 server_version=150000 columns=23:-1', t) FROM (SELECT 1) t;
SELECT exchange.send(:'request', t) FROM (SELECT 1, 2) t;
SELECT exchange.send(:'request', t) FROM (SELECT 1) t WHERE true;
SELECT exchange.send(:'request', t) FROM (SELECT 1) t WHERE random() > 2;
SELECT exchange.send(:'request', t) FROM (SELECT 1) t LIMIT 1;
SELECT exchange.send(:'request', t), 1 FROM (SELECT 1) t;
SELECT exchange.send(:'request', ROW(1));
SELECT exchange.send(NULL, t) FROM (SELECT 1) t;

-- permissions
CREATE ROLE regress_px_sender;
REVOKE EXECUTE ON FUNCTION exchange.send(text, record) FROM PUBLIC;
SET ROLE regress_px_sender;
SELECT exchange.send(:'request', t) FROM (SELECT 1) t;
RESET ROLE;
GRANT EXECUTE ON FUNCTION exchange.send(text, record) TO PUBLIC;
SET ROLE regress_px_sender;
SELECT exchange.send(:'request', t) FROM (SELECT id FROM remote.numbers) t;
RESET ROLE;
DROP ROLE regress_px_sender;

-- parallel plans have the node below Gather
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1,25:-1', t)
	FROM (SELECT id, name FROM remote.numbers WHERE digit = 1) t$$);
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1,25:-1', t)
	FROM (SELECT id, name FROM remote.numbers ORDER BY id) t$$);
-- there few frames pass it, whatever parallel_tuple_cost takes for a row; but not where rows pass it
EXPLAIN (COSTS OFF) SELECT id, name FROM remote.numbers;
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1,25:-1', t)
	FROM (SELECT id, name FROM remote.numbers) t$$);
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1,25:-1', t)
	FROM (SELECT id, name FROM remote.numbers ORDER BY name) t$$);
SHOW parallel_tuple_cost;
SET parallel_tuple_cost = 0;
SELECT explain_stable($$SELECT exchange.send('version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 columns=23:-1,25:-1', t)
	FROM (SELECT id, name FROM remote.numbers ORDER BY name) t$$);
-- and the receiver tells their senders apart
ALTER TABLE remote.numbers SET (parallel_workers = 2);
ALTER ROLE CURRENT_USER SET parallel_setup_cost = 0;
ALTER ROLE CURRENT_USER SET parallel_tuple_cost = 0;
ALTER ROLE CURRENT_USER SET min_parallel_table_scan_size = 0;
\c
SELECT * FROM exchange_differences('SELECT * FROM numbers');
ALTER ROLE CURRENT_USER RESET ALL;
\c

-- servers pull no rows from each other where that is not allowed
SELECT exchange.offer('1 0000000000000001');
SELECT exchange.collect('1.0123456789abcdef.0123456789abcdef', 0);
SELECT exchange.can_pull('shard 0123456789abcdef0123456789abcdef');
SELECT exchange.pull('shard 0123456789abcdef0123456789abcdef 1.0123456789abcdef.0123456789abcdef 1 0 1 1 0 1');
\set pulling 'version=1 encodings=7 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 targets=2 links=2 pulled=0000000000000001 plain=0000000000000000 columns=23:-1'
SELECT exchange.send(:'pulling', t) FROM (SELECT 1, 0) t;
CREATE ROLE regress_px_puller;
SET ROLE regress_px_puller;
SET pg_exchange.join_pull = on;
RESET ROLE;
DROP ROLE regress_px_puller;
SET pg_exchange.join_pull = on;
SELECT exchange.collect('1.0123456789abcdef.0123456789abcdef', 0);
SELECT exchange.can_pull('shard 0123456789abcdef0123456789abcdef');
SELECT exchange.send(:'pulling', t) FROM (SELECT 1, 0) t;
BEGIN;
SAVEPOINT s;
SELECT exchange.offer('2 0000000000000001');
ROLLBACK TO s;
SELECT exchange.pull('nonsense');
ROLLBACK TO s;
SELECT exchange.offer('2 0000000000000004');
ROLLBACK;
RESET pg_exchange.join_pull;
