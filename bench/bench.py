#!/usr/bin/env python3
"""make bench: the measurement behind the claims of README.md.

Two real servers on this machine (bench/harness.py starts them, as an unprivileged user, in a
temporary folder). Each round fetches lineitem once in every mode, each time in a fresh backend and,
for postgres_fdw, once more in a backend that stays open: its malloc thresholds have grown there,
which makes it faster. The faster of the two is what the exchange is compared with. Writes
bench/results/lineitem.md and .csv; exit status 1 if a threshold is missed."""
import argparse
import csv
import os
import platform
import statistics
import sys
import time

from harness import MODES, POOLED, ROOT, SITUATIONS, Failure, Session, main, measure, two_nodes

THRESHOLDS = {"none": 6.0, "fast": 10.0, "high_compression": 8.0,
              "session, none": 3.0, "session, fast": 5.0, "session, high_compression": 5.0,
              "written before": 5.0, "serializable": 5.0, "first in a savepoint": 5.0, "10 rows expected": 4.0, "through pgbouncer": 5.0}
WIRE_LIMIT = 1.2   # bytes of a session read by those of a stream
WARM = "postgres_fdw, warm backend"
COLUMNS = ("mode", "seconds", "rows", "wire_bytes", "reported_bytes", "coordinator_cpu", "shard_cpu", "peak_rss")


def measure_rounds(shard, coordinator, rounds):
    """Interleaved runs; each round starts with another mode, so that none always follows the same one."""
    plan = [*MODES, *SITUATIONS, WARM]
    runs, started = [], time.monotonic()
    with Session(coordinator) as warm:
        measure(warm, shard, coordinator, "postgres_fdw")
        for number in range(rounds):
            shift = number % len(plan)
            for step, mode in enumerate(plan[shift:] + plan[:shift]):
                print(f"\r[{number * len(plan) + step + 1}/{rounds * len(plan)}] "
                      f"{time.monotonic() - started:4.0f} s  {mode:32}", end="", flush=True)
                if mode == WARM:
                    run = measure(warm, shard, coordinator, "postgres_fdw")
                else:
                    with Session(coordinator) as session:
                        run = measure(session, shard, coordinator, mode)
                runs.append({**run, "mode": mode})
    print("\r" + " " * 60 + "\r", end="")
    return plan, runs


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())


def header(shard, coordinator, options):
    """Versions and settings, as Markdown lines."""
    settings = coordinator.sql("SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name) FROM pg_settings "
                               "WHERE name ~ '^pg_exchange\\.' OR name IN ('shared_buffers', 'jit', 'max_parallel_workers_per_gather')")
    sizes = shard.sql("SELECT pg_size_pretty(pg_table_size('lineitem'))")
    return [
        f"{time.strftime('%Y-%m-%d')}: TPC-H scale {options.scale:g} ({sizes} lineitem), medians of {options.runs} interleaved runs",
        shard.sql("SELECT version()"),
        "pg_exchange " + coordinator.sql("SELECT extversion FROM pg_extension WHERE extname = 'pg_exchange'"),
        f"{cpu_model()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}; both servers on it, TCP over loopback",
        f"Settings: {settings}; on the shard {shard.sql('SHOW max_parallel_workers_per_gather')} workers per gather",
        "`EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM lineitem`, wall time at the client; wire bytes: payload that TCP "
        "delivered by the kernel's count, and as EXPLAIN reports; CPU: all processes of a server; memory: peak anonymous "
        "pages of the coordinator's backend",
    ]


def bench(options, work):
    shard, coordinator = two_nodes(work, options.scale)
    for schema in ("tpch", "tpch_100"):
        coordinator.sql(f"SET pg_exchange.enabled = off; ANALYZE {schema}.lineitem")
    plan, runs = measure_rounds(shard, coordinator, options.runs)
    if len({run["rows"] for run in runs}) != 1:
        raise Failure("the modes returned different numbers of rows")

    def median(mode, what):
        values = [run[what] for run in runs if run["mode"] == mode and run[what] is not None]
        return statistics.median(values) if values else None
    peer = min(median(mode, "seconds") for mode in ("postgres_fdw", WARM))
    rows = runs[0]["rows"]
    lines = ["# lineitem", ""] + [f"- {line}" for line in header(shard, coordinator, options)] + [
        "", "| | seconds | faster by | wire B/row | reported B/row | coordinator CPU s | shard CPU s | coordinator memory MB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for mode in sorted(plan, key=lambda m: (not m.startswith("postgres_fdw"), plan.index(m))):
        seconds, reported = median(mode, "seconds"), median(mode, "reported_bytes")
        lines.append(f"| {mode} | {seconds:.2f} | {peer / seconds:.2f}x | {median(mode, 'wire_bytes') / rows:.1f} | "
                     f"{'' if reported is None else f'{reported / rows:.1f}'} | {median(mode, 'coordinator_cpu'):.2f} | "
                     f"{median(mode, 'shard_cpu'):.2f} | {median(mode, 'peak_rss') / 2**20:.1f} |")
    missed = []
    lines.append("")
    for mode, least in THRESHOLDS.items():
        if mode not in plan:
            continue   # pgbouncer is not installed
        ratio = (median(POOLED, "seconds") if mode == "through pgbouncer" else peer) / median(mode, "seconds")
        lines.append(f"- {mode}: {ratio:.2f}x the speed of postgres_fdw (the faster of fresh and warm), at least {least:g}x wanted"
                     + ("" if ratio >= least else " — **missed**"))
        if ratio < least:
            missed.append(mode)

    for mode in ("none", "fast", "high_compression"):
        ratio = median(f"session, {mode}", "wire_bytes") / median(mode, "wire_bytes")
        lines.append(f"- {mode}: a session read takes {ratio:.3f} times the bytes of a stream, at most {WIRE_LIMIT} wanted"
                     + ("" if ratio <= WIRE_LIMIT else " — **missed**"))
        if ratio > WIRE_LIMIT:
            missed.append(mode)

    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "lineitem.md"), "w", encoding="utf-8") as report:
        report.write("\n".join(lines) + "\n")
    with open(os.path.join(options.output, "lineitem.csv"), "w", encoding="utf-8", newline="") as table:
        writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(runs)
    print("\n".join(lines))
    print(f"\nwritten: {options.output}/lineitem.md, lineitem.csv")
    return 1 if missed else 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor (1)")
parser.add_argument("--runs", type=int, default=5, help="runs of each mode (5)")
parser.add_argument("--output", default=os.path.join(ROOT, "bench", "results"), help="folder for the report")
arguments = parser.parse_args()
sys.exit(main(lambda work: bench(arguments, work)))
