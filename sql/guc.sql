--
-- Settings: their defaults, and what they refuse.
--
SELECT name, boot_val, unit, context, min_val, max_val, enumvals
FROM pg_settings WHERE name LIKE 'pg\_exchange.%' ORDER BY name COLLATE "C";

SET pg_exchange.compression = 'lz4';
SET pg_exchange.compression = 'unspecified';
SHOW pg_exchange.compression;
RESET pg_exchange.compression;
SET pg_exchange.local_scope = 'planet';
SET pg_exchange.batch_rows_max = 0;
SET pg_exchange.batch_bytes_max = '1TB';
SET pg_exchange.max_connections_per_server = 0;
-- out of range, which is told with or without units
\set VERBOSITY sqlstate
SET pg_exchange.receive_buffer = '1kB';
SET pg_exchange.min_bytes = -1;
\set VERBOSITY default
SET pg_exchange.unknown = 1;
SET pg_exchange.server_compression = 'loopback';
SET pg_exchange.server_compression = 'loopback=lz4';
SET pg_exchange.server_compression = '=none';
SET pg_exchange.server_compression = 'a=none, "b';
SET pg_exchange.server_compression = 'a=none b=none';
SET pg_exchange.server_compression = ', a=none';
SET pg_exchange.server_compression = 'a=none, "b=""," = fast';

-- the override wins over compression, for its server alone
SET pg_exchange.compression = none;
SET pg_exchange.server_compression = 'other=fast, loopback = high_compression';
SELECT explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF, TIMING OFF');
SET pg_exchange.server_compression = 'other=fast';
SELECT explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF, TIMING OFF');
RESET pg_exchange.server_compression;
RESET pg_exchange.compression;

-- batches end at rows or bytes, whichever comes first; results stay the same
SET pg_exchange.batch_rows_max = 1000;
SELECT explain_stable('SELECT * FROM numbers', 'ANALYZE, COSTS OFF, TIMING OFF');
SET pg_exchange.batch_rows_max = 1;
SELECT * FROM exchange_differences('SELECT * FROM numbers WHERE id <= 100');
RESET pg_exchange.batch_rows_max;
SET pg_exchange.batch_bytes_max = 1024;
SELECT * FROM exchange_differences('SELECT * FROM numbers WHERE id <= 2000');
RESET pg_exchange.batch_bytes_max;

-- what takes connections and memory, and what shows more than postgres_fdw does, is set by those who were allowed to
CREATE ROLE regress_px_setter;
SET ROLE regress_px_setter;
SET pg_exchange.max_connections_per_server = 1000;
SET pg_exchange.max_connections = 0;
SET pg_exchange.max_connections_per_backend = 0;
SET pg_exchange.slices = 64;
SET pg_exchange.receive_buffer = '1GB';
SET pg_exchange.fragment_memory = '1GB';
SET pg_exchange.max_frame_bytes = '1GB';
SET pg_exchange.max_decompression_ratio = 10000;
SET pg_exchange.explain_remote = on;
RESET ROLE;
GRANT SET ON PARAMETER pg_exchange.slices TO regress_px_setter;
SET ROLE regress_px_setter;
SET pg_exchange.slices = 2;
SHOW pg_exchange.slices;
RESET pg_exchange.slices;
SET pg_exchange.min_bytes = 0;
RESET pg_exchange.min_bytes;
RESET ROLE;
REVOKE SET ON PARAMETER pg_exchange.slices FROM regress_px_setter;
DROP ROLE regress_px_setter;
