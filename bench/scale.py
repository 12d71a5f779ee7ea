#!/usr/bin/env python3
"""make bench-scale: what do many servers and many partitions cost?

A coordinator, and 4, 32, 128 and 256 foreign servers, which are databases of
a few instances on this machine. A partitioned table of two million rows lies
on all of them, with 1 to 64 partitions on each: a layout. In each layout all
rows are read by postgres_fdw, by postgres_fdw with asynchronous execution,
and by exchanges, in turns, each time in fresh sessions:

timed   the first query of the session, some more of them, planning, and the
        first row of SELECT * in this session
first   the first row of SELECT *, as the first query of a session
memory  (once for each layout and way) what the coordinator's backend takes:
        fresh, after planning, at most in the query, and afterwards, when all
        connections are idle; what each backend on the instances takes

Then memory again with other limits of connections, for what one connection
takes. Every answer must be that of a table here.

Writes bench/report/scale.csv (every run), scale_memory.csv, scale.md and
scale.svg (where matplotlib is to be had). Exit status 1 if a goal is
missed."""
import argparse
import json
import os
import statistics
import sys
import time

import scale_report
from client import Client
from harness import ROOT, Failure, main, plot
from processes import Peak, memory
from scale_cluster import QUERY, Many
from scale_report import ASYNC, EXCHANGE, FDW, STREAMS, WAYS

FIRST_ROW = "SELECT * FROM t"
# postgres_fdw alone: the library is not even loaded
WITHOUT = "-c session_preload_libraries="
OPTIONS = {FDW: WITHOUT + " -c enable_async_append=off", ASYNC: WITHOUT,
           EXCHANGE: ""}
PLANNED = 3     # times that planning is measured
IDLE = 2        # seconds, after which a session has given free memory back


def planning(session):
    """Milliseconds that the planner takes for the query."""
    text = "\n".join(row[0] for row in session.run(
        f"EXPLAIN (SUMMARY, FORMAT JSON) {QUERY}"))
    return json.loads(text)[0]["Planning Time"]


def connections_here(session, way):
    """How many the session has: of postgres_fdw, of exchanges."""
    own = "0" if way != EXCHANGE else session.value(
        "SELECT count(*) FROM exchange.connections")
    return int(session.value("SELECT count(*) FROM"
                             " postgres_fdw_get_connections()")), int(own)


class Bench:
    """The measurement: runs has a row for each run, looks at memory one for
    each look."""

    def __init__(self, many, options):
        self.many, self.options = many, options
        self.runs, self.looks = [], []
        self.expected = many.expected(options.rows)
        self.started = time.monotonic()

    def say(self, text):
        print(f"{time.monotonic() - self.started:5.0f} s  {text}", flush=True)

    def session(self, way, extra=""):
        """A fresh one; the sessions before have ended everywhere."""
        self.many.wait_until_idle()
        return Client(self.many.coordinator, options=OPTIONS[way] + extra)

    def query(self, session):
        seconds, rows = session.timed(QUERY)
        if rows[0] != self.expected:
            raise Failure(f"expected {self.expected}, got {rows[0]}")
        return seconds

    def cpu(self):
        return sum(server.cpu_seconds() for server in (
            self.many.coordinator, *self.many.instances))

    def timed(self, layout, way, number):
        servers, partitions = layout
        with self.session(way) as session:
            cpu = [self.cpu()]
            first = self.query(session)
            cpu.append(self.cpu())
            later = [self.query(session) for _ in range(self.options.later)]
            cpu.append(self.cpu())
            plan = [planning(session) for _ in range(PLANNED)]
            counts = connections_here(session, way)
            first_row_later = session.first_row(FIRST_ROW)
        with self.session(way) as session:
            first_row = session.first_row(FIRST_ROW)
        with self.session(way) as session:
            plan_first = planning(session)
        self.runs.append({
            "servers": servers, "partitions": partitions, "way": way,
            "run": number, "first_s": round(first, 4),
            "later_s": round(statistics.median(later), 4),
            "first_cpu_s": round(cpu[1] - cpu[0], 2),
            "later_cpu_s": round((cpu[2] - cpu[1]) / len(later), 2),
            "first_row_s": round(first_row, 4),
            "first_row_later_s": round(first_row_later, 4),
            "plan_first_ms": round(plan_first, 2),
            "plan_ms": round(statistics.median(plan), 2),
            "fdw_connections": counts[0], "own_connections": counts[1]})
        self.say(f"{servers} x {partitions}, {way}: first {first:.2f} s,"
                 f" later {statistics.median(later):.2f} s, first row"
                 f" {first_row:.2f} and {first_row_later:.2f} s, planning"
                 f" {plan_first:.0f} and {statistics.median(plan):.0f} ms,"
                 f" {counts[0]} + {counts[1]} connections")

    def look(self, layout, way, streams):
        """Memory here and there, with so many streams for each server."""
        with self.session(way, f" -c pg_exchange.max_connections_per_server="
                          f"{streams}" if way == EXCHANGE else "") as session:
            session.run("SELECT 1")
            fresh = memory(session.pid)
            planning(session)
            planning(session)
            planned = memory(session.pid)
            peak = Peak(session.pid)
            self.query(session)
            most = peak.stop()
            time.sleep(IDLE)
            idle = memory(session.pid)
            counts = connections_here(session, way)
            there = [memory(pid) for pid in self.many.backends_there()]
        self.looks.append({
            "servers": layout[0], "partitions": layout[1], "way": way,
            "streams": streams, "fresh": fresh[0], "planned": planned[0],
            "peak": max(most, idle[0]), "idle": idle[0], "idle_pss": idle[1],
            "fdw_connections": counts[0], "own_connections": counts[1],
            "there": len(there),
            "there_private": sum(look[0] for look in there) // len(there),
            "there_pss": sum(look[1] for look in there) // len(there)})
        self.say(f"{layout[0]} x {layout[1]}, {way}, {streams} streams:"
                 f" fresh {fresh[0] / 2**20:.1f}, planned"
                 f" {planned[0] / 2**20:.1f}, most {most / 2**20:.1f}, idle"
                 f" {idle[0] / 2**20:.1f} MB, {counts[0]} + {counts[1]}"
                 f" connections, {len(there)} there with"
                 f" {self.looks[-1]['there_private'] / 2**20:.1f} MB each")

    def run(self):
        for layout in self.options.layouts:
            self.say(f"{layout[0]} servers with {layout[1]} partitions each")
            self.many.lay_out(*layout, self.options.rows)
            for number in range(self.options.runs):
                ways = [*WAYS]
                shift = number % len(ways)
                for way in [*ways[shift:], *ways[:shift]]:
                    self.timed(layout, way, number)
            for way in WAYS:
                self.look(layout, way, STREAMS)
            for streams in self.options.streams:
                self.look(layout, EXCHANGE, streams)


def bench(options, work):
    servers = max(layout[0] for layout in options.layouts)
    print(f"starting {options.instances} instances, {servers} databases",
          flush=True)
    measured = Bench(Many(work, servers, options.instances), options)
    measured.run()
    version = measured.many.coordinator.sql("SELECT version()")
    missed = scale_report.write(options, measured.runs, measured.looks,
                                version)
    if not options.no_plot:
        plot(options.output)
    print(f"\nwritten: {options.output}/scale.md, scale.csv, scale.svg")
    return 1 if missed else 0


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000000,
                        help="rows in all (2000000)")
    parser.add_argument("--layouts", default=",".join(
        f"{servers}x{partitions}" for servers in (4, 32, 128, 256)
        for partitions in (1, 8, 64) if servers * partitions <= 8192),
                        help="servers x partitions on each (4, 32, 128, 256"
                        " x 1, 8, 64, but 256x64)")
    parser.add_argument("--runs", type=int, default=3,
                        help="runs of each way in each layout (3)")
    parser.add_argument("--later", type=int, default=3,
                        help="queries after the first one (3)")
    parser.add_argument("--streams", default="1,2", help="other limits of"
                        " connections for each server to look at memory with"
                        " (1,2)")
    parser.add_argument("--instances", type=int, default=4,
                        help="instances that have the databases (4)")
    parser.add_argument("--output", default=os.path.join(ROOT, "bench",
                                                         "report"),
                        help="folder for the report")
    parser.add_argument("--no-plot", action="store_true",
                        help="do not make scale.svg")
    options = parser.parse_args()
    options.load = os.getloadavg()
    options.layouts = [tuple(map(int, layout.split("x")))
                       for layout in options.layouts.split(",")]
    options.streams = [int(streams) for streams in
                       options.streams.split(",") if streams]
    return options


if __name__ == "__main__":
    given = read_options()
    sys.exit(main(lambda work: bench(given, work)))
