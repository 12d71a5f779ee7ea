#!/usr/bin/env python3
"""make demo: one foreign table, fetched by postgres_fdw and by pg_exchange in each mode.

Two real servers on this machine (bench/harness.py starts them, as an unprivileged user, in a
temporary folder that is gone afterwards), TPC-H at scale 0.1, under two minutes."""
import statistics
import sys
import time

from harness import Failure, Session, main, measure, two_nodes

SCALE, ROUNDS = 0.1, 3
SHOWN = ("postgres_fdw", "none", "fast", "high_compression")


def demo(work):
    started = time.monotonic()
    shard, coordinator = two_nodes(work, SCALE)
    coordinator.sql("ANALYZE tpch.lineitem")
    print(f"fetching lineitem, {ROUNDS} times in each mode", flush=True)
    runs = {mode: [] for mode in SHOWN}
    for _ in range(ROUNDS):
        for mode in SHOWN:
            with Session(coordinator) as session:
                runs[mode].append(measure(session, shard, coordinator, mode))
    if len({r["rows"] for mode in runs.values() for r in mode}) != 1:
        raise Failure("the modes returned different numbers of rows")

    peer = statistics.median(r["seconds"] for r in runs["postgres_fdw"])
    peer_bytes = statistics.median(r["wire_bytes"] for r in runs["postgres_fdw"])
    print(f"\nSELECT * FROM lineitem, {runs['none'][0]['rows']:,} rows, shard to coordinator over TCP, median of {ROUNDS}, "
          "fetch_size 10000.\nMB on the wire: payload that TCP delivered, by the kernel's count (ss -i);"
          " reported: by EXPLAIN.\n")
    print(f"{'':18} {'seconds':>8} {'faster by':>10} {'MB on the wire':>15} {'reported':>9} {'smaller by':>11}")
    for mode in SHOWN:
        seconds = statistics.median(r["seconds"] for r in runs[mode])
        wire = statistics.median(r["wire_bytes"] for r in runs[mode])
        reported = runs[mode][0]["reported_bytes"]
        print(f"{mode:18} {seconds:8.3f} {peer / seconds:9.1f}x {wire / 1e6:15.1f} "
              f"{'' if reported is None else f'{reported / 1e6:.1f}':>9} {peer_bytes / max(wire, 1):10.1f}x")

    query = "EXPLAIN (ANALYZE, TIMING OFF) SELECT l_orderkey, l_shipmode FROM tpch.lineitem WHERE l_quantity < 10"
    print(f"\n{query};\n")
    print(coordinator.sql(f"SET pg_exchange.compression = fast; {query};"))
    print(f"\n{time.monotonic() - started:.0f} seconds in all")
    return 0


sys.exit(main(demo))
