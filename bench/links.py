#!/usr/bin/env python3
"""make bench-links: do four servers behind links of their own send four times as fast as one?

Four shards and a coordinator, each in a network namespace of its own (bench/netns.py; needs root);
links of 100 Mbit/s, shaped by tbf, join each shard to the coordinator. TPC-H lineitem is
hash-partitioned over the shards, and stands whole on the first one. A scan of the partitioned table
is measured against one of the whole table, by pg_exchange in mode fast and by postgres_fdw with
async_capable (its Append then waits for all servers at once), in turns; medians. Writes
bench/results/links.md; exit status 1 if pg_exchange is less than 3.5 times as fast over four links."""
import argparse
import os
import statistics
import sys
import time

import cluster
from harness import ROOT, Failure, Server, Session, exchange_nodes, main
from netns import connect, namespaces, why_not

SHARDS = 4
LEAST = 3.5
MODES = {"pg_exchange, fast": "SET pg_exchange.compression = fast;", "postgres_fdw, async": "SET pg_exchange.enabled = off;"}
TABLES = {"one link": "whole.lineitem", f"{SHARDS} links": "spread.lineitem"}


def set_up(work, options, here, theres):
    """The coordinator, whose tables stand in schemas whole and spread, and the servers of the shards."""
    settings = {**cluster.SETTINGS, "shared_buffers": "256MB", "listen_addresses": "*"}
    print(f"starting {SHARDS + 2} servers, loading lineitem at scale {options.scale:g}", flush=True)
    single = cluster.load_single(work, options.scale, ("lineitem",))
    shards = [Server(work, f"shard{number}", settings, there) for number, there in enumerate(theres, 1)]
    for shard in shards:
        with open(os.path.join(shard.data, "pg_hba.conf"), "a", encoding="utf-8") as hba:
            hba.write("host all all 10.99.0.0/16 trust\n")
        shard.sql("SELECT pg_reload_conf()")
    cluster.spread(single, shards, ("lineitem",))

    # The whole table, in another database: names are the same there.
    whole = os.path.join(work, "whole.copy")
    single.sql(f"COPY lineitem TO '{whole}' (FORMAT binary)")
    shards[0].sql("CREATE DATABASE whole")
    shards[0].sql(f"BEGIN; CREATE TABLE lineitem ({cluster.TPCH['lineitem']}); COPY lineitem FROM '{whole}' (FORMAT binary, FREEZE); "
                  "COMMIT; ANALYZE; CREATE EXTENSION pg_exchange; CHECKPOINT;", "whole")
    os.remove(whole)

    coordinator = Server(work, "coordinator", {**settings, "session_preload_libraries": "pg_exchange"}, here)
    coordinator.sql("CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange;")
    for number, (shard, there) in enumerate(zip(shards, theres), 1):
        address = connect(here, there, number, options.mbit)[1]
        cluster.add_server(coordinator, f"shard{number}", shard, "async_capable 'true'", address)
        if number == 1:
            cluster.add_server(coordinator, "whole", shard, "async_capable 'true'", address, database="whole")
    cluster.partition(coordinator, [f"shard{number}" for number in range(1, SHARDS + 1)], ("lineitem",), "spread")
    coordinator.sql("""CREATE SCHEMA whole; IMPORT FOREIGN SCHEMA public LIMIT TO (lineitem) FROM SERVER whole INTO whole;
        SET pg_exchange.enabled = off; ANALYZE whole.lineitem; ANALYZE spread.lineitem;""")
    return coordinator, shards


def received(here):
    """Bytes that have come in over the links, packet headers included."""
    return sum(int(line.split(":")[1].split()[0]) for line in here.run("cat", "/proc/net/dev").splitlines() if "link" in line)


def scan(coordinator, here, mode, where):
    """One scan in a fresh backend that has connected before: seconds and bytes."""
    with Session(coordinator) as session:
        table = TABLES[where]
        session.run(MODES[mode])
        session.run(f"SELECT * FROM {table} LIMIT 1")
        before = received(here)
        seconds, plan = session.explain(f"SELECT * FROM {table}")
    by_exchange = [node for node in exchange_nodes(plan) if str(node["Transport"]).startswith("exchange")]
    wanted = 0 if mode.startswith("postgres_fdw") else 1 if where == "one link" else SHARDS
    if len(by_exchange) != wanted:
        raise Failure(f"{mode}, {where}: {len(by_exchange)} exchanges, expected {wanted}")
    return {"mode": mode, "where": where, "seconds": seconds, "bytes": received(here) - before, "rows": int(plan["Actual Rows"])}


def bench(options, work):
    reason = why_not()
    if reason:
        raise Failure(f"cannot measure: {reason}")
    with namespaces(SHARDS + 1) as (here, *theres):
        coordinator, _ = set_up(work, options, here, theres)
        steps = [(mode, where) for mode in MODES for where in TABLES]
        runs, started = [], time.monotonic()
        for number in range(options.runs):
            shift = number % len(steps)
            for step, (mode, where) in enumerate(steps[shift:] + steps[:shift], number * len(steps) + 1):
                print(f"[{step}/{options.runs * len(steps)}] {time.monotonic() - started:4.0f} s  {mode}, {where}", flush=True)
                runs.append(scan(coordinator, here, mode, where))
        version = coordinator.sql("SELECT version()")
    if len({run["rows"] for run in runs}) != 1:
        raise Failure("the scans returned different numbers of rows")

    def median(mode, where, what):
        return statistics.median(run[what] for run in runs if (run["mode"], run["where"]) == (mode, where))
    ratios = {mode: median(mode, "one link", "seconds") / median(mode, f"{SHARDS} links", "seconds") for mode in MODES}
    lines = ["# links", "",
             f"- {time.strftime('%Y-%m-%d')}: TPC-H scale {options.scale:g}, {runs[0]['rows']:,} rows of lineitem, medians of "
             f"{options.runs} interleaved runs; links of {options.mbit} Mbit/s by tbf between network namespaces of one machine "
             f"with {os.cpu_count()} cores",
             f"- {version}",
             "- `EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM lineitem`, wall time at the client; bytes as the links count them", "",
             f"| | one link: s | MB | {SHARDS} links: s | MB | faster by |", "|---|--:|--:|--:|--:|--:|"]
    for mode in MODES:
        cells = [f"{median(mode, where, 'seconds'):.2f} | {median(mode, where, 'bytes') / 1e6:.1f}" for where in TABLES]
        lines.append(f"| {mode} | {' | '.join(cells)} | {ratios[mode]:.2f}x |")
    ratio = ratios["pg_exchange, fast"]
    lines += ["", f"- {SHARDS} links: {ratio:.2f}x the speed of one by pg_exchange, at least {LEAST:g}x wanted" +
              ("" if ratio >= LEAST else " — **missed**")]
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "links.md"), "w", encoding="utf-8") as report:
        report.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    print(f"\nwritten: {options.output}/links.md")
    return 0 if ratio >= LEAST else 1


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--scale", type=float, default=0.25, help="TPC-H scale factor (0.25)")
parser.add_argument("--runs", type=int, default=5, help="runs of each kind (5)")
parser.add_argument("--mbit", type=int, default=100, help="speed of each link in Mbit/s (100)")
parser.add_argument("--output", default=os.path.join(ROOT, "bench", "results"), help="folder for the report")
arguments = parser.parse_args()
sys.exit(main(lambda work: bench(arguments, work)))
