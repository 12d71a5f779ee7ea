#!/usr/bin/env python3
"""32 foreign servers with 8 partitions each, the short version of
bench/scale.py, without its times: the same answers by postgres_fdw and by
exchanges in each way, no more connections than allowed, all of them gone with
the session, and bounds of the coordinator's memory. Prints TAP."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "bench"))
import client  # noqa: E402
import harness  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
from scale_cluster import QUERY, Many, rows_of  # noqa: E402
from scale_report import IDLE_MAX, STREAMS  # noqa: E402

SERVERS, PARTITIONS, ROWS = 32, 8, 128000
# The scans are small, the servers are on this host: exchanges all the same.
SETTINGS = {"pg_exchange.min_bytes": "0", "pg_exchange.local_scope": "none"}
# name: (settings, connections for each server besides postgres_fdw's)
OFF = "-c pg_exchange.enabled=off"
ONE = "-c pg_exchange.max_connections_per_server=1"
WAYS = {
    "postgres_fdw": (OFF + " -c enable_async_append=off", 0),
    "postgres_fdw, asynchronous": (OFF, 0),
    "exchange": ("", STREAMS),
    "exchange, one connection each": (ONE, 1),
    "exchange, by session": ("-c pg_exchange.transport=session", 0),
    "exchange, compressed": ("-c pg_exchange.compression=high_compression",
                             STREAMS),
}
REPEATED = 8            # queries of a session that must not take more memory
IDLE_TIMEOUT = 60       # seconds for an idle session to give memory back
# Bytes: what comes and goes by itself, and what a session has once
GROWTH_MAX = 4 * 2**20
OVERHEAD = 8 * 2**20
# 1.2 GB of values in all, made on the fly
WIDE = "CREATE VIEW wide AS SELECT i, repeat(md5(i::text), 64) AS filler" \
       " FROM generate_series(1, 18000) i"
BUFFER = 8 * 2**20
# Of each stream, whatever receive_buffer: libpq's buffers, decoders, plan
STREAM_MAX = 768 * 1024
MERGED = "SELECT count(*), sum(id::bigint), min(id), max(id) FROM" \
         " (SELECT * FROM t ORDER BY amount, id LIMIT 5000) x"
GROUPED = "SELECT grp, count(*), sum(amount) FROM t GROUP BY grp ORDER BY grp"


def connections(session):
    """How many the session has: of postgres_fdw, of exchanges."""
    return [int(session.value(f"SELECT count(*) FROM {source}"))
            for source in ("postgres_fdw_get_connections()",
                           "exchange.connections")]


def check_way(many, way, expected):
    """Some queries in one session; what postgres_fdw answers is expected."""
    options, limit = WAYS[way]
    with client.Client(many.coordinator, options=options) as session:
        for name, query in (("all rows", QUERY), ("a merge", MERGED),
                            ("groups", GROUPED)):
            wanted = expected.setdefault(name, session.run(query))
            for when in ("first", "again"):
                found = session.run(query)
                report.ok(found == wanted, f"{way}: {name}, {when}",
                          f"expected {wanted[:3]}, got {found[:3]}")
        counts = connections(session)
        there = len(many.backends_there())
        report.ok(counts[0] == SERVERS, f"{way}: postgres_fdw has one"
                  " connection to each server", counts)
        report.ok(counts[1] <= SERVERS * limit, f"{way}: exchanges have at"
                  f" most {limit} to each server", counts)
        report.ok(there == sum(counts), f"{way}: the servers have no others",
                  f"{counts} here, {there} there")
    report.ok(harness.wait_for(lambda: len(many.backends_there()), 0) == 0,
              f"{way}: all connections end with the session")


def check_transport(many):
    """Do these tests test anything?"""
    with client.Client(many.coordinator) as session:
        plan = "\n".join(row[0] for row in session.run(
            f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {QUERY}"))
    streams = plan.count("Transport: exchange v1, stream\n")
    others = plan.count("Transport:") - streams
    report.ok(streams >= SERVERS and not others, "all partitions are read by"
              " streams", plan[-4000:])
    report.ok("(ExchangeGather)" in plan, "one gather reads them")


def check_memory(many):
    """Of a backend that reads all partitions again and again, and then has
    its connections idle."""
    with client.Client(many.coordinator) as session:
        session.run("EXPLAIN " + QUERY)
        planned = processes.memory(session.pid)[0]
        for _ in range(REPEATED):
            session.run(QUERY)
        settled = processes.memory(session.pid)[0]
        for _ in range(REPEATED):
            session.run(QUERY)
        again = processes.memory(session.pid)[0]
        connections_there = sum(connections(session))
        most = planned + OVERHEAD + connections_there * IDLE_MAX

        # A session that is idle gives free memory back, after a second.
        until = time.monotonic() + IDLE_TIMEOUT
        while (idle := processes.memory(session.pid)[0]) >= most and \
                time.monotonic() < until:
            time.sleep(0.1)
    report.comment(f"{planned / 2**20:.1f} MB when the query was planned,"
                   f" {settled / 2**20:.1f} after {REPEATED} runs,"
                   f" {again / 2**20:.1f} after {2 * REPEATED},"
                   f" {idle / 2**20:.1f} when idle,"
                   f" {connections_there} connections")
    report.ok(again < settled + GROWTH_MAX, f"{REPEATED} more queries take no"
              " more memory", f"{settled}, then {again}")
    report.ok(idle < most, "an idle session takes little more than its"
              " connections", f"{idle} bytes, at most {most}")


def check_receive_buffer(many):
    """Wide rows of all servers at once stay within the setting."""
    for number in range(SERVERS):
        rows_of(many.instance(number), WIDE, f"d{number}")
    many.coordinator.sql("CREATE TABLE wide (i int, filler text)"
                         " PARTITION BY LIST (i);" + "".join(
                             f"CREATE FOREIGN TABLE wide{number} (i int,"
                             f" filler text) SERVER s{number} OPTIONS"
                             " (table_name 'wide');"
                             for number in range(SERVERS)) +
                         "CREATE VIEW all_wide AS " + " UNION ALL ".join(
                             f"SELECT * FROM wide{number}"
                             for number in range(SERVERS)))
    with client.Client(many.coordinator, options=(
            f"-c pg_exchange.receive_buffer={BUFFER // 1024}"
            " -c pg_exchange.compression=none")) as session:
        query = "SELECT count(*), sum(length(filler)) FROM" \
                " (SELECT * FROM all_wide OFFSET 0) x"
        session.run("EXPLAIN " + query)
        session.run(QUERY)      # its connections and decoders are there
        before = processes.memory(session.pid)[0]
        peak = processes.Peak(session.pid)
        found = session.run(query)
        most = peak.stop() - before
    report.ok(found == [[str(SERVERS * 18000), str(SERVERS * 18000 * 2048)]],
              "wide rows of all servers", found)
    allowed = BUFFER + SERVERS * STREAM_MAX
    report.comment(f"{most / 2**20:.1f} MB for {SERVERS} streams of wide rows,"
                   f" with a receive_buffer of {BUFFER / 2**20:.0f} MB")
    report.ok(most < allowed, "frames stay within receive_buffer",
              f"{most} bytes, at most {allowed}")


def main(work):
    many = Many(work, SERVERS, 2, SETTINGS)
    many.lay_out(SERVERS, PARTITIONS, ROWS)
    expected = {"all rows": [many.expected(ROWS)]}
    for way in WAYS:
        check_way(many, way, expected)
    check_transport(many)
    check_memory(many)
    check_receive_buffer(many)
    for server in (many.coordinator, *many.instances):
        with open(server.log, encoding="utf-8", errors="replace") as log:
            crashes = [line for line in log if "PANIC" in line or
                       "was terminated by signal" in line or "TRAP" in line]
        report.ok(not crashes, f"{server.name} has not crashed",
                  "".join(crashes))
    return report.done()


sys.exit(harness.main(main))
