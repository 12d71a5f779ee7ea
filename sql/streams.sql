--
-- Several scans at once, and connections that are kept or not.
--
-- several scans of one server at once
SELECT count(*) FROM numbers a JOIN numbers b ON a.name = b.name || '' JOIN numbers c ON c.name = a.name || '';
SET pg_exchange.max_connections_per_server = 1;
SELECT count(*) FROM numbers a JOIN numbers b ON a.name = b.name || '';
BEGIN;
DECLARE busy CURSOR FOR SELECT id FROM numbers;
FETCH 1 FROM busy;
SELECT transport('SELECT name FROM numbers');
CLOSE busy;
SELECT transport('SELECT name FROM numbers');
COMMIT;
RESET pg_exchange.max_connections_per_server;

-- a server whose connections are not to be kept
SELECT comes_true('EXISTS (SELECT FROM streams)');
ALTER SERVER loopback OPTIONS (ADD keep_connections 'off');
SELECT transport('SELECT * FROM numbers');
SELECT comes_true('NOT EXISTS (SELECT FROM streams)');
ALTER SERVER loopback OPTIONS (DROP keep_connections);
