#!/usr/bin/env python3
"""make bench-tpch: does a cluster answer TPC-H about as fast as one server?

One server with TPC-H, and four servers on the same machine that hold the same
rows as partitions: by hash, then by range. All 22 queries are run by the one
server, by postgres_fdw, by exchanges, and by exchanges where the foreign
tables were never analyzed: in turns, medians. Core's settings have their
defaults, but for autovacuum and fsync. A query that takes longer than --limit
seconds is cut off and not repeated. Every answer is compared with that of the
one server.

Q1 is also compared with the partial query that a user would write by hand,
run by all four servers at once. "Top 10" is SELECT * FROM lineitem
ORDER BY l_extendedprice DESC LIMIT 10 over 64 partitions.

The CPU time of all servers is measured, too: on a busy machine, more
processes get more of the cores, and times favour the cluster.

Writes bench/report/tpch.csv (every run), tpch.md and tpch.svg (where
matplotlib is to be had). Exit status 1 if a goal is missed."""
import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections import namedtuple

import cluster
from goals import goals
from harness import (ROOT, Failure, Server, Session, main, plot)

SHARDS = 4
PARTS = 64              # partitions of the table for the top 10
LAYOUTS = ("hash", "range")
SERVER, FDW, EXCHANGE = "one server", "postgres_fdw", "exchange"
UNANALYZED = "exchange without ANALYZE"
BY_HAND = "by hand"
WAYS = (SERVER, FDW, EXCHANGE, UNANALYZED)
TOP = "Top 10"
TOP_QUERY = "SELECT * FROM lineitem ORDER BY l_extendedprice DESC LIMIT 10"
SETTINGS = {"autovacuum": "off", "wal_level": "minimal",
            "max_wal_senders": "0", "max_wal_size": "8GB"}

# What a user would have each server compute for Q1.
PARTIAL_Q1 = """SELECT l_returnflag, l_linestatus, sum(l_quantity),
    sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), sum(l_discount),
    count(*)
FROM lineitem
WHERE l_shipdate <= date '1998-12-01' - interval '90' day
GROUP BY l_returnflag, l_linestatus"""

# The goals
WORST_QUERY = 2.0       # times the one server's time
WORST_SUM = 1.0
WORST_UNANALYZED = 2.0  # times the sum with ANALYZE
WORST_BY_HAND = 1.2
WIRE_MAX = 100000       # bytes, of Q1 and of the top 10

Cluster = namedtuple("Cluster", "single shards coordinator")


def queries(scale):
    """The 22 queries for a scale: {"Q1": SQL, ...}."""
    asked = cluster.queries()
    # Q11 asks for a fraction that depends on the scale.
    fraction = f"{0.0001 / scale:.10f}".rstrip("0")
    asked["Q11"] = re.sub(r"\* 0\.001\b", f"* {fraction}", asked["Q11"])
    return asked


# ---- servers -------------------------------------------------------------

def name_of(layout, number):
    return f"{layout}{number}"


def cut_lineitem(single, shards):
    """The shards' lineitem in 64 tables lineitem_<number>."""
    bounds = cluster.range_bounds(single, PARTS, ("lineitem",))["lineitem"]
    ends = [None, *bounds, None]
    for number in range(PARTS):
        low, high = ends[number], ends[number + 1]
        where = " AND ".join(
            ([f"l_orderkey >= {low}"] if low else []) +
            ([f"l_orderkey < {high}"] if high else []))
        shards[number * SHARDS // PARTS].sql(
            f"CREATE TABLE lineitem_{number} AS SELECT * FROM lineitem"
            f" WHERE {where}; VACUUM (ANALYZE) lineitem_{number};", "range")
    return bounds


def add_many_partitions(coordinator, bounds):
    """Schema many: lineitem with 64 foreign partitions."""
    ends = ["MINVALUE", *bounds, "MAXVALUE"]
    coordinator.sql(
        "CREATE SCHEMA many; CREATE TABLE many.lineitem "
        f"({cluster.TPCH['lineitem']}) PARTITION BY RANGE (l_orderkey);" +
        "".join(
            f"CREATE FOREIGN TABLE many.lineitem_{number} PARTITION OF"
            f" many.lineitem FOR VALUES FROM ({ends[number]}) TO"
            f" ({ends[number + 1]})"
            f" SERVER {name_of('range', number * SHARDS // PARTS)}"
            f" OPTIONS (schema_name 'public');" for number in range(PARTS)))


def analyze(coordinator, schema, tables=tuple(cluster.TPCH)):
    coordinator.sql(f"SET search_path = {schema}; "
                    f"ANALYZE {', '.join(tables)};")


def set_up(work, options):
    """The servers. The coordinator has schemas hash, range and many, and
    hash_new and range_new, which are not analyzed."""
    print(f"loading TPC-H at scale {options.scale:g}", flush=True)
    single = cluster.load_single(work, options.scale, settings=SETTINGS)
    shards = [Server(work, f"shard{number}", SETTINGS)
              for number in range(SHARDS)]
    coordinator = Server(work, "coordinator", {
        **SETTINGS, "session_preload_libraries": "pg_exchange"})
    coordinator.sql("CREATE EXTENSION postgres_fdw;"
                    "CREATE EXTENSION pg_exchange;")
    for layout in options.layouts:
        print(f"partitioning by {layout}", flush=True)
        bounds = (cluster.range_bounds(single, SHARDS)
                  if layout == "range" else None)
        names = [name_of(layout, number) for number in range(SHARDS)]
        for name, shard in zip(names, shards):
            shard.sql(f"CREATE DATABASE {layout}")
            cluster.add_server(coordinator, name, shard, database=layout)
        cluster.spread(single, shards, bounds=bounds, database=layout)
        for schema in (layout, f"{layout}_new"):
            cluster.partition(coordinator, names, schema=schema,
                              bounds=bounds)
        analyze(coordinator, layout)
    if "range" in options.layouts and TOP in options.queries:
        add_many_partitions(coordinator, cut_lineitem(single, shards))
        analyze(coordinator, "many", ("lineitem",))
    for server in (single, *shards, coordinator):
        server.sql("CHECKPOINT")
    return Cluster(single, shards, coordinator)


# ---- asking --------------------------------------------------------------

class Asker:
    """A session with settings, opened anew after a query that failed."""

    def __init__(self, server, settings, limit=0, database="postgres"):
        self.server, self.database, self.session = server, database, None
        self.settings = f"{settings} SET statement_timeout = '{limit}s';"

    def ask(self, sql, begin=""):
        """Run a query: (seconds, answer). begin is run before it."""
        if not self.session:
            self.session = Session(self.server, self.database)
            self.session.run(self.settings)
        try:
            if begin:
                self.session.run(begin)
            started = time.monotonic()
            answer = self.session.run(sql)
            return time.monotonic() - started, answer
        except Failure:
            self.close()
            raise

    def close(self):
        if self.session:
            self.session.kill()
        self.session = None


def asker(servers, layout, way, limit):
    """A session for one way to run queries, which has connected before."""
    if way == SERVER:
        return Asker(servers.single, "SELECT count(*) FROM region;", limit)
    schema = f"{layout}_new" if way == UNANALYZED else layout
    settings = f"SET search_path = {schema};"
    if way == FDW:
        settings += "SET pg_exchange.enabled = off;"
    return Asker(servers.coordinator,
                 settings + "SELECT count(*) FROM region;", limit)


def received(shards):
    """Bytes that clients have received, by connection."""
    ports = " or ".join(f"dport = :{shard.port}" for shard in shards)
    out = subprocess.check_output(
        ["ss", "-tinH", "state", "established", "dst", "127.0.0.1",
         f"( {ports} )"], text=True)
    return {client: int(nbytes) for client, nbytes in re.findall(
        r"^\S+\s+\S+\s+(\S+).*\n.*?\bbytes_received:(\d+)", out, re.M)}


def received_since(shards, before):
    return sum(nbytes - before.get(client, 0)
               for client, nbytes in received(shards).items())


def cpu_seconds(servers):
    """CPU that all servers have used so far."""
    return sum(server.cpu_seconds() for server in (
        servers.single, *servers.shards, servers.coordinator))


def prices(answer):
    """Column l_extendedprice: rows of the same price come in any order."""
    return [line.split("|")[5] for line in answer.splitlines()]


def is_equal(query, answer, expected):
    if query == TOP:
        return prices(answer) == prices(expected)
    return answer == expected


def run_by_hand(servers, layout):
    """Q1's partial query on all shards at once: seconds."""
    askers = [Asker(shard, "SELECT count(*) FROM region;", database=layout)
              for shard in servers.shards]
    for one in askers:
        one.ask("SELECT 1")
    threads = [threading.Thread(target=one.ask, args=(PARTIAL_Q1,))
               for one in askers]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - started
    for one in askers:
        one.close()
    return seconds


def measure(servers, one, way, sql):
    """One query: its figures, and its answer."""
    figures = {"seconds": "", "outcome": "", "wire_bytes": "",
               "cpu_seconds": ""}
    answer = None
    cpu = cpu_seconds(servers)
    before = received(servers.shards) if way != SERVER else None
    started = time.monotonic()
    try:
        # Connections stay open until the bytes are read off.
        seconds, answer = one.ask(sql, "BEGIN")
        figures["seconds"] = round(seconds, 4)
        if way != SERVER:
            figures["wire_bytes"] = received_since(servers.shards, before)
        figures["cpu_seconds"] = round(cpu_seconds(servers) - cpu, 2)
        one.ask("COMMIT")
    except Failure as failure:
        figures["seconds"] = round(time.monotonic() - started, 4)
        cut_off = "statement timeout" in str(failure)
        figures["outcome"] = "cut off" if cut_off else "failed"
        if not cut_off:
            print(str(failure)[-1000:], file=sys.stderr, flush=True)
    return figures, answer


class Bench:
    """The measurement: runs has a row for each query by each way."""

    def __init__(self, servers, options):
        self.servers, self.options, self.runs = servers, options, []
        self.expected = {}      # the one server's answers
        self.slow = set()       # (layout, query, way) that was cut off
        self.started = time.monotonic()
        self.queries = {**queries(options.scale), TOP: TOP_QUERY}
        self.queries = {name: self.queries[name]
                        for name in options.queries}

    def run_query(self, number, layout, query, askers):
        shift = number % len(askers)
        ways = list(askers)
        for way in ways[shift:] + ways[:shift]:
            if (layout, query, way) in self.slow or (
                    way == FDW and number >= self.options.fdw_runs):
                continue
            sql = self.queries[query]
            if query == TOP and way != SERVER:
                sql = sql.replace("lineitem", "many.lineitem")
            figures, answer = measure(self.servers, askers[way], way, sql)
            if answer is not None and not is_equal(
                    query, answer, self.expected[query]):
                figures["outcome"] = "differs"
            if figures["outcome"] in ("cut off", "failed"):
                self.slow.add((layout, query, way))
            self.add(number, layout, query, way, figures)
        if query == "Q1":
            seconds = run_by_hand(self.servers, layout)
            self.add(number, layout, query, BY_HAND, {
                "seconds": round(seconds, 4), "outcome": "",
                "wire_bytes": "", "cpu_seconds": ""})

    def add(self, number, layout, query, way, figures):
        self.runs.append({"run": number, "layout": layout, "query": query,
                          "way": way, **figures})
        nbytes = figures["wire_bytes"]
        print(f"{time.monotonic() - self.started:5.0f} s  {layout}, {query},"
              f" {way}: {figures['seconds']:.2f} s"
              f"{'' if nbytes == '' else f', {nbytes / 1e6:.3f} MB'}"
              f" {figures['outcome']}", flush=True)

    def run_layout(self, number, layout):
        """All queries, by all ways in turns."""
        askers = {way: asker(self.servers, layout, way, self.options.limit)
                  for way in self.options.ways}
        for query in self.queries:
            if query != TOP:
                self.run_query(number, layout, query, askers)
            elif layout == "range":
                self.run_query(number, layout, query, {
                    way: one for way, one in askers.items()
                    if way != UNANALYZED})
        for one in askers.values():
            one.close()

    def warm_up(self):
        """Have the kernel read all tables of the shards."""
        for layout in self.options.layouts:
            for shard in self.servers.shards:
                for name in cluster.TPCH:
                    shard.sql(f"SELECT count(*) FROM {name}", layout)

    def run(self):
        self.warm_up()
        one = asker(self.servers, None, SERVER, 0)
        for query, sql in self.queries.items():
            self.expected[query] = one.ask(sql)[1]
        one.close()
        for number in range(self.options.runs):
            for layout in self.options.layouts:
                self.run_layout(number, layout)
                write(self.options, self.runs)

    def keep_plans(self):
        """EXPLAIN (ANALYZE) of each query by exchange, and on one server."""
        with open(self.options.plans, "w", encoding="utf-8") as target:
            for layout in self.options.layouts:
                for way in self.options.ways:
                    if way == FDW or way == SERVER and layout != "hash":
                        continue
                    one = asker(self.servers, layout, way,
                                self.options.limit)
                    for query, sql in self.queries.items():
                        if query == TOP:
                            continue
                        try:
                            plan = one.ask("EXPLAIN (ANALYZE, VERBOSE) " +
                                           sql)[1]
                        except Failure:
                            plan = one.ask("EXPLAIN (VERBOSE) " + sql)[1]
                        target.write(f"==== {layout}, {way}, {query}\n"
                                     f"{plan}\n\n")
                    one.close()


# ---- the report ----------------------------------------------------------

class Results:
    """Medians of runs, in which each layout has some queries."""

    def __init__(self, runs):
        self.cells = {}
        for run in runs:
            key = run["layout"], run["query"], run["way"]
            self.cells.setdefault(key, []).append(run)
        self.layouts = list(dict.fromkeys(run["layout"] for run in runs))

    def queries(self, layout):
        """Those of TPC-H that were run, in their order."""
        return list(dict.fromkeys(query for where, query, _ in self.cells
                                  if where == layout and query != TOP))

    def has(self, layout, query, way):
        return (layout, query, way) in self.cells

    def median(self, layout, query, way, what="seconds"):
        values = [float(run[what]) for run in self.cells[layout, query, way]
                  if run[what] != ""]
        return statistics.median(values) if values else None

    def outcome(self, layout, query, way):
        """"", or what went wrong in one of the runs."""
        found = {run["outcome"] for run in self.cells[layout, query, way]}
        return max(found)

    def total(self, layout, way, what="seconds"):
        return sum(self.median(layout, query, way, what) or 0
                   for query in self.queries(layout))

    def incomplete(self, layout, way):
        return [query for query in self.queries(layout)
                if self.outcome(layout, query, way) in ("cut off", "failed")]

    def ways(self, layout):
        return list(dict.fromkeys(way for where, query, way in self.cells
                                  if where == layout and way != BY_HAND))


def judge_layout(results, layout):
    """(text, whether it is met) for each goal of a layout."""
    names, ways = results.queries(layout), results.ways(layout)
    verdicts = []

    def verdict(text, met):
        verdicts.append((f"{layout}: {text}", met))
    for way in [way for way in ways if way != SERVER]:
        wrong = [query for query in names
                 if results.outcome(layout, query, way) == "differs"]
        unknown = results.incomplete(layout, way)
        if wrong or way != FDW:
            verdict(f"{way}: answers equal to one server's in "
                    f"{len(names) - len(wrong) - len(unknown)} of "
                    f"{len(names)} queries", not wrong and not unknown)
    if SERVER in ways and EXCHANGE in ways:
        ratios = {query: results.median(layout, query, EXCHANGE) /
                  results.median(layout, query, SERVER) for query in names}
        slow = sorted((query for query in names
                       if ratios[query] > WORST_QUERY),
                      key=ratios.get, reverse=True)
        verdict(f"queries that take more than {WORST_QUERY:g} times as long "
                "as on one server: " + (", ".join(
                    f"{query} ({ratios[query]:.1f})" for query in slow) or
                    "none"), not slow)
        ratio = results.total(layout, EXCHANGE) / results.total(layout,
                                                                SERVER)
        verdict(f"sum of all queries / one server {ratio:.2f} "
                f"(at most {WORST_SUM:g})", ratio <= WORST_SUM and
                not results.incomplete(layout, EXCHANGE))
    if EXCHANGE in ways and UNANALYZED in ways:
        ratio = (results.total(layout, UNANALYZED) /
                 results.total(layout, EXCHANGE))
        verdict(f"sum without ANALYZE / with {ratio:.2f} "
                f"(at most {WORST_UNANALYZED:g})",
                ratio <= WORST_UNANALYZED and
                not results.incomplete(layout, UNANALYZED))
    return verdicts


def judge_wire(results, layout):
    """The goals of Q1 and of the top 10."""
    verdicts = []

    def verdict(text, met):
        verdicts.append((f"{layout}: {text}", met))
    for query in [query for query in ("Q1", TOP)
                  if results.has(layout, query, EXCHANGE)]:
        nbytes = results.median(layout, query, EXCHANGE, "wire_bytes")
        verdict(f"{query} by exchange: {nbytes or 0:,.0f} bytes on the wire "
                f"(under {WIRE_MAX:,})",
                nbytes is not None and nbytes < WIRE_MAX)
    pairs = [("Q1", BY_HAND, "the queries by hand", WORST_BY_HAND),
             (TOP, FDW, "postgres_fdw", 1.0)]
    for query, way, name, worst in pairs:
        if (results.has(layout, query, way) and
                results.has(layout, query, EXCHANGE)):
            ratio = (results.median(layout, query, EXCHANGE) /
                     results.median(layout, query, way))
            verdict(f"{query} by exchange / {name} {ratio:.2f} "
                    f"(at most {worst:g})", ratio <= worst)
    return verdicts


def judge(results):
    verdicts = []
    for layout in results.layouts:
        if results.queries(layout):
            verdicts += judge_layout(results, layout)
        verdicts += judge_wire(results, layout)
    return verdicts


def format_seconds(results, layout, query, way):
    if not results.has(layout, query, way):
        return ""
    seconds = results.median(layout, query, way)
    outcome = results.outcome(layout, query, way)
    if outcome == "cut off":
        return f"> {seconds:.0f}"
    return f"{seconds:.2f}" + (f" **{outcome}**" if outcome else "")


def format_wire(results, layout, query, way):
    if not results.has(layout, query, way):
        return ""
    nbytes = results.median(layout, query, way, "wire_bytes")
    return "" if nbytes is None else f"{nbytes / 1e6:,.2f}"


def format_ratio(results, layout, query):
    if not (results.has(layout, query, SERVER) and
            results.has(layout, query, EXCHANGE)):
        return ""
    ratio = (results.median(layout, query, EXCHANGE) /
             results.median(layout, query, SERVER))
    return f"**{ratio:.2f}**" if ratio > WORST_QUERY else f"{ratio:.2f}"


def table(results, layout):
    """The lines of a layout's table."""
    columns = [way for way in (SERVER, FDW, EXCHANGE, UNANALYZED)
               if way in results.ways(layout)]
    lines = [f"## Partitions by {layout}", "",
             "| query | " + " | ".join(columns) +
             " | exchange / one server | MB by postgres_fdw"
             " | MB by exchange |",
             "|---|" + "--:|" * (len(columns) + 3)]
    names = results.queries(layout)
    for query in names + ([TOP] if results.has(layout, TOP, SERVER) else []):
        cells = [query, *(format_seconds(results, layout, query, way)
                          for way in columns),
                 format_ratio(results, layout, query),
                 *(format_wire(results, layout, query, way)
                   for way in (FDW, EXCHANGE))]
        lines.append(f"| {' | '.join(cells)} |")
    sums = []
    for way in columns:
        least = "> " if results.incomplete(layout, way) else ""
        sums.append(f"{least}{results.total(layout, way):.1f}")
    ratio = ""
    if SERVER in columns and EXCHANGE in columns:
        ratio = results.total(layout, EXCHANGE) / results.total(layout,
                                                                SERVER)
        ratio = f"{ratio:.2f}"
    lines.append(f"| sum of Q1 to Q22 | {' | '.join(sums)} | {ratio} | | |")
    cpu = ", ".join(f"{way} {results.total(layout, way, 'cpu_seconds'):.1f}"
                    for way in columns
                    if not results.incomplete(layout, way))
    lines += ["", f"CPU seconds of all servers, Q1 to Q22: {cpu}."]
    if results.has(layout, "Q1", BY_HAND):
        lines += ["", "The four partial queries of Q1 by hand take "
                  f"{results.median(layout, 'Q1', BY_HAND):.2f} s."]
    return lines + [""]


def report(options, results, version):
    runs = (f"medians of {options.runs} interleaved runs"
            if options.runs > 1 else "one run")
    if options.fdw_runs < options.runs and FDW in options.ways:
        runs += f" ({options.fdw_runs} of them by postgres_fdw)"
    lines = ["# TPC-H", "",
             f"{time.strftime('%Y-%m-%d')}: scale {options.scale:g}, "
             f"{SHARDS} servers and a coordinator on one machine with "
             f"{os.cpu_count()} cores, {version.split(' on ')[0]}. Seconds "
             f"at the client, {runs}. "
             "Core's settings have their defaults. All tables are analyzed, "
             f"but for the column \"{UNANALYZED}\". A query that takes "
             f"longer than {options.limit} s is cut off. Top 10 is "
             f"`{TOP_QUERY}` over {PARTS} partitions. MB are what the "
             "coordinator received.", ""]
    for layout in results.layouts:
        lines += table(results, layout)
    verdicts, missed = goals(judge(results))
    lines += verdicts
    return lines, missed


def write(options, runs):
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "tpch.csv"), "w",
              encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, runs[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(runs)


def bench(options, servers):
    """Measure and report; the exit status."""
    measured = Bench(servers, options)
    measured.run()
    if options.plans:
        measured.keep_plans()
    lines, missed = report(options, Results(measured.runs),
                           servers.coordinator.sql("SELECT version()"))
    with open(os.path.join(options.output, "tpch.md"), "w",
              encoding="utf-8") as target:
        target.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    plot(options.output)
    print(f"\nwritten: {options.output}/tpch.md, tpch.csv, tpch.svg")
    return 1 if missed else 0


def read_options(arguments=None):
    names = [*cluster.queries(), TOP]
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0,
                        help="TPC-H scale factor (1)")
    parser.add_argument("--runs", type=int, default=3,
                        help="runs of each query by each way (3)")
    parser.add_argument("--fdw-runs", type=int, default=3,
                        help="of these, runs by postgres_fdw, which takes "
                        "most of the time (3)")
    parser.add_argument("--limit", type=int, default=60,
                        help="seconds until a query is cut off (60)")
    parser.add_argument("--layouts", default=",".join(LAYOUTS),
                        help=f"of {', '.join(LAYOUTS)}")
    parser.add_argument("--ways", default=",".join(WAYS),
                        help=f"of {', '.join(WAYS)}")
    parser.add_argument("--queries", default=",".join(names),
                        help=f"of Q1 to Q22 and {TOP}")
    parser.add_argument("--plans", metavar="FILE",
                        help="file for EXPLAIN (ANALYZE, VERBOSE) of each")
    parser.add_argument("--output", default=os.path.join(ROOT, "bench",
                                                         "report"),
                        help="folder for the report")
    options = parser.parse_args(arguments)
    options.layouts = options.layouts.split(",")
    options.queries = options.queries.split(",")
    options.ways = options.ways.split(",")
    return options


if __name__ == "__main__":
    given = read_options()
    sys.exit(main(lambda work: bench(given, set_up(work, given))))
