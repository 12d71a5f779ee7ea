#!/usr/bin/env python3
"""make demo: what scans, aggregates, joins and writes of foreign tables take by postgres_fdw and by pg_exchange.

Two real servers on this machine (bench/harness.py starts them, as an unprivileged user, in a
temporary folder that is gone afterwards), TPC-H at scale 0.1, under two minutes. Both ways must give
the same rows. --scale and --rounds make it shorter: scripts/check_docs.py runs it so."""
import argparse
import functools
import re
import statistics
import sys
import time

from harness import Failure, Session, main, two_nodes

WAYS = {"postgres_fdw": "SET pg_exchange.enabled = off",
        **{mode: f"SET pg_exchange.enabled = on; SET pg_exchange.compression = {mode}"
           for mode in ("none", "fast", "high_compression", "auto")}}
PEER, BEST = "postgres_fdw", "auto"
SCAN = "SELECT * FROM lineitem"
# What it shows, and the statement; all but the scan are run by postgres_fdw and in mode auto.
STATEMENTS = {
    SCAN: "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF) SELECT * FROM tpch.lineitem",
    "aggregate of two partitions": "SELECT l_returnflag, l_linestatus, count(*), sum(l_quantity), max(l_comment)"
                                   " FROM lineitem GROUP BY 1, 2 ORDER BY 1, 2",
    "first 10 rows of two partitions": "SELECT l_orderkey, l_linenumber, l_extendedprice FROM lineitem"
                                       " ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 10",
    "join with a local table": "SELECT w.brand, count(*), sum(l_extendedprice) FROM wanted w JOIN tpch.lineitem ON l_partkey = w.partkey"
                               " GROUP BY 1 ORDER BY 1",
    "INSERT … SELECT": "INSERT INTO sink SELECT l_orderkey, l_linenumber, l_extendedprice, l_shipdate, l_comment FROM source",
    "UPDATE with a local function": "UPDATE sink SET note = local_name(note) WHERE line = 1 AND price > 2000",
}
WRITTEN = "SELECT count(*), sum(price), sum(hashtext(note)) FROM sink"


def prepare(shard, coordinator):
    """Two partitions of lineitem on the shard; local rows to join and to write; a table to write to."""
    shard.sql("""CREATE TABLE low AS SELECT * FROM lineitem WHERE l_orderkey % 2 = 0; CREATE TABLE high AS SELECT * FROM lineitem WHERE l_orderkey % 2 = 1;
        CREATE TABLE sink (ord bigint, line int, price numeric(15,2), ship date, note text); ANALYZE low, high""")
    coordinator.sql("""
        CREATE TABLE lineitem (LIKE tpch.lineitem) PARTITION BY LIST ((l_orderkey % 2));
        CREATE FOREIGN TABLE low PARTITION OF lineitem FOR VALUES IN (0) SERVER tpch;
        CREATE FOREIGN TABLE high PARTITION OF lineitem FOR VALUES IN (1) SERVER tpch;
        CREATE FOREIGN TABLE sink (ord bigint, line int, price numeric(15,2), ship date, note text) SERVER tpch OPTIONS (batch_size '1000');
        CREATE TABLE wanted AS SELECT p_partkey AS partkey, p_brand AS brand FROM tpch.part WHERE p_size = 7 AND p_brand LIKE 'Brand#1%';
        CREATE TABLE source AS SELECT * FROM tpch.lineitem WHERE l_orderkey % 6 = 0;
        CREATE FUNCTION local_name(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN upper($1); END $$;
        ANALYZE tpch.lineitem, lineitem, low, high, wanted, source""")


def run(session, shard, way, statement):
    """One run: seconds, bytes both ways by the kernel's count, and the answer."""
    # Connections must stay open until their bytes are read off: no workers, which have some of their own; one transaction.
    session.run(f"{WAYS[way]}; SET max_parallel_workers_per_gather = 0; BEGIN")
    before, started = shard.bytes_exchanged(), time.monotonic()
    answer = session.run(statement)
    seconds, nbytes = time.monotonic() - started, shard.bytes_exchanged() - before
    session.run("COMMIT")
    return seconds, nbytes, answer


def rows_of(session, way, what, answer):
    """What must be equal by all ways."""
    if what != SCAN:
        return answer or session.run(WRITTEN)
    if ("Transport: exchange" in answer) != (way != PEER):
        raise Failure(f"{way}: {answer}")
    return re.search(r"actual rows=(\d+)", answer)[1]


def measure(coordinator, shard, what, rounds):
    """{way: (median seconds, median bytes)}."""
    runs = {way: [] for way in (WAYS if what == SCAN else (PEER, BEST))}
    for _ in range(rounds):
        for way, found in runs.items():
            with Session(coordinator) as session:
                if what.startswith("INSERT"):
                    shard.sql("TRUNCATE sink")
                elif what.startswith("UPDATE"):
                    shard.sql("UPDATE sink SET note = lower(note); VACUUM sink")
                    session.run("ANALYZE sink")
                seconds, nbytes, answer = run(session, shard, way, STATEMENTS[what])
                found.append((seconds, nbytes, rows_of(session, way, what, answer)))
    if len({rows for found in runs.values() for _, _, rows in found}) != 1:
        raise Failure(f"{what}: the answers differ: { {way: found[0][2] for way, found in runs.items()} }")
    return {way: tuple(statistics.median(figure[i] for figure in found) for i in (0, 1)) for way, found in runs.items()}


def show(results):
    """The table."""
    print(f"\n{'':32} {'':18} {'seconds':>8} {'faster by':>10} {'MB':>8} {'smaller by':>11}")
    for what, ways in results.items():
        peer_seconds, peer_bytes = ways[PEER]
        for way, (seconds, nbytes) in ways.items():
            gains = ("", "") if way == PEER else (f"{peer_seconds / seconds:.1f}x", f"{peer_bytes / max(nbytes, 1):.1f}x")
            print(f"{what if way == PEER else '':32} {way:18} {seconds:8.3f} {gains[0]:>10} {nbytes / 1e6:8.2f} {gains[1]:>11}")


def demo(work, arguments):
    started = time.monotonic()
    shard, coordinator = two_nodes(work, arguments.scale)
    prepare(shard, coordinator)
    results = {}
    for what in STATEMENTS:
        print(f"{what}: {arguments.rounds} times each way", flush=True)
        results[what] = measure(coordinator, shard, what, arguments.rounds)
    query = "EXPLAIN (ANALYZE, TIMING OFF) SELECT l_orderkey, l_shipmode FROM tpch.lineitem WHERE l_quantity < 10"
    print(f"\nYour own queries show what travelled by EXPLAIN:\n\n{query};\n")
    print(coordinator.sql(f"{query};"))
    show(results)
    print(f"\nTPC-H at scale {arguments.scale:g}. Medians of {arguments.rounds}. fetch_size is 10000, batch_size 1000; mode auto is the default."
          "\nMB: payload in both directions, by the kernel's count (ss -i). Both servers share this machine, and its"
          "\nloopback interface is the link: over a network, bytes count for more. All ways gave the same rows.")
    print(f"\n{time.monotonic() - started:.0f} seconds in all")
    return 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--scale", type=float, default=0.1, help="of TPC-H")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each statement, each way")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(functools.partial(demo, arguments=parse())))
