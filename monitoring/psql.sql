-- What pg_exchange is doing, for psql: \i monitoring/psql.sql
-- Each query also stands by itself.

\echo 'Servers: rows, bytes on the wire, ratio, waits'
SELECT datname, srvname, usename, scans, fallbacks, errors, rows,
       pg_size_pretty(wire_bytes) AS wire,
       round(raw_bytes::numeric / nullif(wire_bytes, 0), 2) AS ratio,
       round(receive_wait_time) AS receive_wait_ms, round(decode_time) AS decode_ms,
       round(encode_time) AS remote_encode_ms, round(send_wait_time) AS remote_send_wait_ms
FROM exchange.pg_stat_exchange
ORDER BY wire_bytes DESC LIMIT 20;

\echo 'Bytes on the wire by codec and locality'
SELECT srvname, locality, codec, pg_size_pretty(sum(bytes)) AS bytes
FROM exchange.pg_stat_exchange,
     LATERAL (VALUES ('remote', 'none', remote_bytes_none), ('remote', 'lz4', remote_bytes_lz4),
                     ('remote', 'zstd', remote_bytes_zstd), ('local', 'none', local_bytes_none),
                     ('local', 'lz4', local_bytes_lz4), ('local', 'zstd', local_bytes_zstd)) v (locality, codec, bytes)
GROUP BY srvname, locality, codec HAVING sum(bytes) > 0
ORDER BY sum(bytes) DESC;

\echo 'Why scans were left to postgres_fdw'
SELECT srvname, reason, sum(n) AS scans
FROM exchange.pg_stat_exchange,
     LATERAL (VALUES ('disabled', fallbacks_disabled), ('no_extension', fallbacks_no_extension),
                     ('incompatible', fallbacks_incompatible), ('connection', fallbacks_connection),
                     ('snapshot', fallbacks_snapshot), ('own_writes', fallbacks_own_writes),
                     ('declined', fallbacks_declined)) v (reason, n)
GROUP BY srvname, reason HAVING sum(n) > 0
ORDER BY 3 DESC;

\echo 'Joins, by kind'
SELECT srvname, kind, sum(n) AS n, pg_size_pretty(sum(bytes)) AS sent
FROM exchange.pg_stat_exchange,
     LATERAL (VALUES ('filtered scan', filtered_scans, 0), ('lookup', lookups, 0), ('semi-join', semi_joins, 0),
                     ('broadcast', broadcasts, broadcast_bytes),
                     ('hash partition', hash_partitions, partition_bytes),
                     ('not sent', joins_not_sent, 0)) v (kind, n, bytes)
GROUP BY srvname, kind HAVING sum(n) > 0
ORDER BY 3 DESC;

\echo 'Writes, as frames and left to postgres_fdw'
SELECT srvname, sum(writes) AS writes, sum(write_fallbacks) AS by_postgres_fdw, sum(rows_sent) AS rows,
       pg_size_pretty(sum(bytes_sent)) AS sent
FROM exchange.pg_stat_exchange
GROUP BY srvname HAVING sum(writes + write_fallbacks) > 0
ORDER BY 4 DESC;

\echo 'Streams that run, and the queries that they are part of'
SELECT p.pid, p.srvname, p.remote_pid, p.percent, p.rows, pg_size_pretty(p.wire_bytes) AS wire,
       pg_size_pretty(p.bytes_per_second) AS per_second, p.codecs, p.blocked_on, a.wait_event,
       left(a.query, 60) AS query, left(p.remote_query, 60) AS remote_query
FROM exchange.pg_stat_progress_exchange p LEFT JOIN pg_stat_activity a USING (pid)
ORDER BY p.started;

\echo 'Connections of this session'
SELECT srvname, usename, remote_pid, state, locality, since, streams, pg_size_pretty(wire_bytes) AS wire
FROM exchange.connections;

\echo 'Open connections of all sessions, by server'
SELECT datname, srvname, count(*) AS connections, count(*) FILTER (WHERE state = 'active') AS active,
       count(*) FILTER (WHERE state = 'idle') AS idle, count(DISTINCT pid) AS processes,
       max(clock_timestamp() - state_change) FILTER (WHERE state = 'idle') AS idle_for
FROM exchange.pg_stat_exchange_connections
GROUP BY 1, 2 ORDER BY 3 DESC;
