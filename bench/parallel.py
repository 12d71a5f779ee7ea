#!/usr/bin/env python3
"""make bench-parallel: do the senders of a parallel query wait for each other?

One real server on this machine (bench/harness.py), which runs EXPLAIN (ANALYZE) of senders with 0, 1, 2 and 4 workers,
with a leader that takes part and with one that only forwards. Instead of having a core of its own, each participant
sleeps while it fills a batch: 40 ms in 4,096 rows of 130 bytes, whose frames have 80 kB, and in 1,000 rows of 1 kB,
whose frames have 860 kB. The time that is left if nobody waits is that without workers, divided by the participants."""
import argparse
import re
import statistics
import sys

from harness import Server, Session, main

REQUEST = "version=1 encodings=16383 codec={} batch_rows=4096 batch_bytes=1048576 server_version=150000 columns={}"
TABLES = {
    "narrow": ("zstd level=3", "20:-1,23:-1,1700:-1,1082:-1,25:-1,25:-1", 512, 5),
    "wide": ("lz4 level=0", "20:-1,25:-1", 100, 4),
}
SETUP = """CREATE EXTENSION pg_exchange;
    CREATE FUNCTION nap(id bigint, ms float) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
        'BEGIN PERFORM pg_sleep(ms / 1000); RETURN true; END';
    CREATE TABLE narrow AS SELECT i::bigint AS id, i * 7919 % 200000 AS part, (i * 15485863::bigint % 10000000 / 100.0)::numeric(12, 2) AS price,
        date '1992-01-01' + i * 31 % 2500 AS day, md5(i::text) || md5((i / 2)::text) AS words, 'mode ' || i % 7 AS mode FROM generate_series(1, 200000) i;
    CREATE TABLE wide AS SELECT i::bigint AS id, (SELECT string_agg(sha512((i * 16 + k)::text::bytea)::text, '') FROM generate_series(1, 8) k) AS words
        FROM generate_series(1, 40000) i;
    ALTER TABLE narrow SET (parallel_workers = 8); ALTER TABLE wide SET (parallel_workers = 8); VACUUM ANALYZE;"""


def bench(options, work):
    server = Server(work, "shard", {"autovacuum": "off", "jit": "off", "session_preload_libraries": "pg_exchange",
                                    "parallel_setup_cost": "0", "parallel_tuple_cost": "0"})
    server.sql(SETUP)
    with Session(server) as session:
        for table, (codec, columns, rows, ms) in TABLES.items():
            alone = None
            for leader, workers in (("on", 0), ("on", 1), ("on", 2), ("on", 4), ("off", 4)):
                session.run(f"SET max_parallel_workers_per_gather = {workers}; SET parallel_leader_participation = {leader}")
                query = (f"EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT exchange.send('{REQUEST.format(codec, columns)}', t) "
                         f"FROM (SELECT * FROM {table} WHERE id % {rows} <> 0 OR nap(id, {ms})) t")
                plans = [session.run(query) for _ in range(options.runs)]
                seconds = statistics.median(float(re.search(r"Execution Time: ([\d.]+)", plan)[1]) for plan in plans) / 1000
                own = re.search(r"Frames: (\d+),", plans[-1])[1]
                alone = alone or seconds
                participants = workers + (leader == "on")
                print(f"{table:6}  workers {workers}  leader takes part {leader:3}  {seconds:6.3f} s, {alone / participants / seconds:4.0%} of the ideal "
                      f"speed; frames of the leader {own}")
    return 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--runs", type=int, default=3, help="runs of each case, of which the median counts (3)")
arguments = parser.parse_args()
sys.exit(main(lambda work: bench(arguments, work)))
