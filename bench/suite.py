#!/usr/bin/env python3
"""make bench-suite: sizes, speed, CPU and memory by table, column and peer, with plots.

Two real servers on this machine, as in bench.py. Parts, of which --parts runs some:

  tables   every TPC-H table in every mode: bytes on the wire, CPU, how each column was encoded
  peers    lineitem in every mode, against postgres_fdw (fetch_size 100 and 10000), COPY (FORMAT binary),
           dblink, and the same scan on the shard itself with every column deformed; interleaved
  arrays   encode and decode of int4[] and float8[] of 1024 elements, against array_send alone

Writes bench/report/*.csv and suite.md; plots as SVG where matplotlib is there (a venv in the cache folder
is made for it)."""
import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import time

from harness import (MODES, ROOT, TPCH, Failure, Session, as_server_user, environment, exchange_nodes, main, measure,
                     plot, two_nodes)

EXCHANGE = ("none", "fast", "high_compression")
LOCAL = "local scan"
# All columns deformed: the last one is looked at.
LOCAL_SCAN = "SELECT * FROM lineitem WHERE l_comment IS NOT NULL"


def write_csv(options, name, rows):
    path = os.path.join(options.output, name)
    with open(path, "w", encoding="utf-8", newline="") as table:
        writer = csv.DictWriter(table, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def columns_of(plan):
    """What EXPLAIN (ANALYZE, VERBOSE) says of each column: (name, encodings, bytes)."""
    found = []
    for node in exchange_nodes(plan):
        for line in node.get("Column Encodings", []):
            name, encodings, nbytes = re.fullmatch(r"(\S+) \((.*): (\d+) bytes\)", line).groups()
            found.append((name, encodings, int(nbytes)))
    return found


def tables(options, shard, coordinator):
    """Bytes a row by table and column, CPU a row by table, in every mode of the exchange."""
    by_table, by_column = [], []
    for table in TPCH:
        for mode in EXCHANGE:
            with Session(coordinator) as session:
                session.run("SET pg_exchange.min_bytes = 0;")
                run = measure(session, shard, coordinator, mode, table)
                answer = session.run(f"EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, FORMAT JSON) SELECT * FROM tpch.{table};")
            rows = run["rows"]
            by_table.append({"table": table, "mode": mode, "rows": rows,
                             "wire_bytes_per_row": round(run["reported_bytes"] / rows, 2),
                             "shard_cpu_us_per_row": round(run["shard_cpu"] / rows * 1e6, 3),
                             "coordinator_cpu_us_per_row": round(run["coordinator_cpu"] / rows * 1e6, 3)})
            for name, encodings, nbytes in columns_of(json.loads(answer)[0]["Plan"]):
                by_column.append({"table": table, "column": name, "mode": mode, "encodings": encodings,
                                  "bytes_per_row": round(nbytes / rows, 3)})
            print(f"{table} {mode}: {by_table[-1]['wire_bytes_per_row']} B/row", flush=True)
    write_csv(options, "tables.csv", by_table)
    write_csv(options, "columns.csv", by_column)
    lines = ["## Bytes a row on the wire", "", "| table | rows | " + " | ".join(EXCHANGE) + " |", "|---|--:|" + "--:|" * len(EXCHANGE)]
    for table in TPCH:
        cells = [row for row in by_table if row["table"] == table]
        lines.append(f"| {table} | {cells[0]['rows']} | " + " | ".join(f"{c['wire_bytes_per_row']:.1f}" for c in cells) + " |")
    lines += ["", "## How columns travel (fast)", "", "| column | encodings | B/row |", "|---|---|--:|"]
    lines += [f"| {c['column']} | {c['encodings']} | {c['bytes_per_row']:.2f} |" for c in by_column if c["mode"] == "fast"]
    return lines


def timed(shard, coordinator, action):
    """Run action(): its seconds and the CPU of both servers together."""
    cpu, started = coordinator.cpu_seconds() + shard.cpu_seconds(), time.monotonic()
    action()
    return {"seconds": time.monotonic() - started, "cpu": coordinator.cpu_seconds() + shard.cpu_seconds() - cpu, "peak_rss": 0}


def copy_binary(shard):
    """A client that fetches lineitem by COPY over TCP and throws it away."""
    command = ["psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(shard.port), "-U", "postgres", "-d", "postgres",
               "-c", "COPY lineitem TO STDOUT (FORMAT binary)"]
    subprocess.run(command, cwd=shard.work, env=environment(shard.work), stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, check=True, **as_server_user())


def one_run(what, shard, coordinator):
    if what == LOCAL:
        with Session(shard) as session:
            return timed(shard, coordinator, lambda: session.explain(LOCAL_SCAN))
    if what == "COPY binary":
        return timed(shard, coordinator, lambda: copy_binary(shard))
    if what == "dblink":
        columns = TPCH["lineitem"].replace(" NOT NULL", "")
        query = (f"SELECT * FROM dblink('host=127.0.0.1 port={shard.port} dbname=postgres user=postgres', "
                 f"'SELECT * FROM lineitem') AS t({columns})")
        with Session(coordinator) as session:
            return timed(shard, coordinator, lambda: session.explain(query))
    with Session(coordinator) as session:
        run = measure(session, shard, coordinator, what)
    return {"seconds": run["seconds"], "cpu": run["coordinator_cpu"] + run["shard_cpu"], "peak_rss": run["peak_rss"]}


def peers(options, shard, coordinator):
    """lineitem by every way there is, interleaved."""
    whats = [LOCAL, *EXCHANGE, "postgres_fdw", "postgres_fdw, fetch_size 100", "COPY binary", "dblink"]
    coordinator.sql("CREATE EXTENSION dblink")
    for schema in ("tpch", "tpch_100"):
        coordinator.sql(f"SET pg_exchange.enabled = off; ANALYZE {schema}.lineitem")
    runs = []
    for number in range(options.runs):
        shift = number % len(whats)
        for what in whats[shift:] + whats[:shift]:
            runs.append({"what": what, **one_run(what, shard, coordinator)})
            print(f"[{len(runs)}/{options.runs * len(whats)}] {what}: {runs[-1]['seconds']:.2f} s", flush=True)
            write_csv(options, "peers.csv", runs)

    def median(what, key):
        return statistics.median(run[key] for run in runs if run["what"] == what)
    base, local = median("postgres_fdw", "seconds"), median(LOCAL, "seconds")
    lines = ["", "## lineitem against others", "", f"Medians of {options.runs} interleaved runs.", "",
             "| | seconds | faster than postgres_fdw | of the local scan | CPU s, both servers | CPU of postgres_fdw | coordinator memory MB |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    for what in whats:
        seconds, cpu, memory = (median(what, key) for key in ("seconds", "cpu", "peak_rss"))
        lines.append(f"| {what} | {seconds:.2f} | {base / seconds:.1f}x | {seconds / local:.2f}x | {cpu:.2f} | "
                     f"1/{median('postgres_fdw', 'cpu') / cpu:.1f} | {'' if memory == 0 else f'{memory / 2**20:.0f}'} |")
    return lines


def arrays(options, shard, coordinator):
    """Encode and decode of arrays, as EXPLAIN reports them, against array_send alone: array_recv cannot be called from SQL."""
    lines = ["", "## Arrays of 1024 elements", "", "Milliseconds for 2000 arrays, medians; array_recv, which costs about as much as "
             "array_send, is not counted.", "", "| type | encode + decode | array_send | |", "|---|--:|--:|--:|"]
    results = []
    for kind, expression in (("int4", "(random() * 1000000)::int4"), ("float8", "random()")):
        table = f"arrays_{kind}"
        shard.sql(f"CREATE TABLE {table} AS SELECT i AS id, ARRAY(SELECT {expression} FROM generate_series(1, 1024 + 0 * i)) AS a "
                  f"FROM generate_series(1, 2000) i")
        coordinator.sql(f"IMPORT FOREIGN SCHEMA public LIMIT TO ({table}) FROM SERVER tpch INTO tpch")
        ours, theirs = [], []
        with Session(coordinator) as here, Session(shard) as there:
            here.run("SET pg_exchange.min_bytes = 0; SET pg_exchange.compression = fast;")
            there.run("SET max_parallel_workers_per_gather = 0;")
            for _ in range(options.runs):
                answer = here.run(f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT a FROM tpch.{table};")
                node = exchange_nodes(json.loads(answer)[0]["Plan"])[0]
                ours.append(node["Encode Time (ms)"] + node["Decode Time (ms)"])
                times = []
                for query in (f"SELECT sum(octet_length(array_send(a))) FROM {table}", f"SELECT sum(cardinality(a)) FROM {table}"):
                    times.append(json.loads(there.run(f"EXPLAIN (ANALYZE, FORMAT JSON) {query};"))[0]["Execution Time"])
                theirs.append(times[0] - times[1])   # without reading and detoasting
        result = {"type": kind, "encode_decode_ms": statistics.median(ours), "array_send_ms": statistics.median(theirs)}
        results.append(result)
        lines.append(f"| {kind}[] | {result['encode_decode_ms']:.1f} | {result['array_send_ms']:.1f} | "
                     f"{result['array_send_ms'] / result['encode_decode_ms']:.1f}x |")
    write_csv(options, "arrays.csv", results)
    return lines


def suite(options, work):
    os.makedirs(options.output, exist_ok=True)
    shard, coordinator = two_nodes(work, options.scale)
    lines = ["# Suite", "", f"{time.strftime('%Y-%m-%d')}, TPC-H scale {options.scale:g}, {os.cpu_count()} cores, both servers on them.", ""]
    for part in options.parts.split(","):
        lines += {"tables": tables, "peers": peers, "arrays": arrays}[part](options, shard, coordinator)
    with open(os.path.join(options.output, "suite.md"), "w", encoding="utf-8") as report:
        report.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    plot(options.output)
    return 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor (1)")
parser.add_argument("--runs", type=int, default=5, help="runs of each peer (5)")
parser.add_argument("--parts", default="tables,peers,arrays", help="tables,peers,arrays")
parser.add_argument("--output", default=os.path.join(ROOT, "bench", "report"), help="folder for the report")
arguments = parser.parse_args()
sys.exit(main(lambda work: suite(arguments, work)))
