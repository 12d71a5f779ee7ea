#!/usr/bin/env python3
"""Two real servers (bench/harness.py), TPC-H at scale 0.1: is every table the same by exchange as by
postgres_fdw, in every mode, and does the receiver's memory stay bounded? Prints TAP."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))
import harness  # noqa: E402
import report  # noqa: E402

SCALE = 0.1
EXCHANGE_MODES = ("none", "fast", "high_compression", "auto")
# About 1 GB of values, made on the fly by the remote.
BIG = "CREATE VIEW big AS SELECT i, repeat(md5(i::text), 32) AS filler FROM generate_series(1, 1000000) i"
RECEIVE_BUFFER = 32 * 1024 * 1024
SLACK = 8 * 1024 * 1024     # "a few MB": caches, the executor, libpq


def compare(session, table):
    """EXCEPT ALL both ways, between a copy by postgres_fdw and one by each mode of the exchange."""
    session.run(f"SET pg_exchange.enabled = off; CREATE TEMP TABLE expected AS SELECT * FROM tpch.{table};")
    rows = int(session.run("SELECT count(*) FROM expected;"))
    session.run("SET pg_exchange.enabled = on;")
    for mode in EXCHANGE_MODES:
        session.run(f"SET pg_exchange.compression = {mode}; CREATE TEMP TABLE got AS SELECT * FROM tpch.{table};")
        same = session.run("""SELECT count(*) FROM got;
            SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE expected) x;
            SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) x;""").split()
        session.run("DROP TABLE got;")
        report.ok(rows > 0 and same == [str(rows), "0", "0"], f"all {rows} rows of {table} are equal by {mode}",
                  f"rows, only exchange, only postgres_fdw: {same}")
    session.run("DROP TABLE expected;")


def measure_memory(coordinator, mode):
    with harness.Session(coordinator) as session:
        session.run(f"SET pg_exchange.compression = {mode}; SET pg_exchange.receive_buffer = '{RECEIVE_BUFFER}B';")
        session.explain("SELECT * FROM tpch.region")    # caches, connections and code are there
        before, session.peak_rss = session.peak_rss, 0
        _, plan = session.explain("SELECT * FROM tpch.big")
        node = harness.exchange_nodes(plan)[0]
        grown = session.peak_rss - before
        report.ok(node["Raw Bytes"] > 10**9 and grown < RECEIVE_BUFFER + SLACK,
             f"1 GB by {mode} needs no memory beyond receive_buffer",
                  f"{node['Raw Bytes']} raw bytes, memory grew by {grown} bytes")
        report.comment(f"{mode}: {node['Raw Bytes'] / 1e6:.0f} MB raw, memory grew by {grown / 1e6:.1f} MB")


def body(work):
    shard, coordinator = harness.two_nodes(work, SCALE, **{"pg_exchange.min_bytes": "0"})
    shard.sql(BIG)
    coordinator.sql("IMPORT FOREIGN SCHEMA public LIMIT TO (big) FROM SERVER tpch INTO tpch;")
    with harness.Session(coordinator) as session:
        for table in harness.TPCH:
            compare(session, table)
            report.ok("exchange v1" in session.run(f"EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM tpch.{table};"),
                      f"{table} comes by exchange")
    for mode in ("none", "fast", "high_compression"):
        measure_memory(coordinator, mode)
    return report.done()


sys.exit(harness.main(body))
