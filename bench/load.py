#!/usr/bin/env python3
"""make bench-load: many sessions at once, by postgres_fdw and by exchanges.

Two coordinators, one without pg_exchange and one with it in
shared_preload_libraries, and four shards, on this machine. 200 sessions of
pgbench run four kinds of transactions over tables that are hash-partitioned
over the shards:

lookup     one row by its key
scan       10,000 rows, a quarter of them from each shard
aggregate  100,000 rows of 100 groups, summed up
write      INSERT of 4,000 rows, a quarter of them into each shard

kinds  each kind alone, by both coordinators in turns: throughput
mix    all kinds at once, for ten minutes each: latencies by kind, errors,
       memory of all backends over time
kill   the same mix by sessions that go on after errors, while every minute
       one of the shards is stopped (immediate mode) and started again: only
       transactions that met its absence may fail, no answer may be wrong,
       and memory must not grow

Writes bench/report/load.csv (latencies and throughput), load_memory.csv,
load.md and load.svg (where matplotlib is to be had). Exit status 1 if a goal
is missed."""
import argparse
import glob
import os
import re
import subprocess
import sys
import threading
import time

import load_report
from harness import (ROOT, Server, as_server_user, environment, main,
                     plot)
from load_kill import kill_part
from load_report import EXCHANGE, FDW, WAYS
from processes import anonymous, backends

SHARDS = 4
ROWS = 400000
SCAN, SUMMED, WRITTEN, GROUPS = 10000, 100000, 4000, 100
COMMON = {"autovacuum": "off", "jit": "off", "wal_level": "minimal",
          "max_wal_senders": "0", "max_wal_size": "8GB",
          "synchronous_commit": "off", "shared_buffers": "256MB"}

EVENTS = "id int NOT NULL, grp int, amount numeric(10,2), at timestamptz," \
         " name text"
JOURNAL = "id int NOT NULL, at timestamptz, name text, amount numeric(10,2)"
ROW = f"i, i % {GROUPS}, (i::bigint * 7919 % 1000003 / 100.0)::numeric(10,2)," \
      " timestamptz '2026-01-01 00:00:00+00' + i * interval '1 second'," \
      " 'event ' || i"

# A wrong answer is a division by zero. Each kind: (weight in the mix, the
# range of :id, SQL)
KINDS = {
    "lookup": (140, ROWS, "SELECT 1 / (name = 'event ' || :id)::int"
               " FROM events WHERE id = :id;"),
    "scan": (30, ROWS - SCAN, f"""SELECT 1 / (count(name) = {SCAN}
        AND sum(id) = {SCAN} * (:id::bigint * 2 + {SCAN} - 1) / 2)::int,
        sum(amount), max(at) FROM (SELECT * FROM events WHERE id
        BETWEEN :id AND :id + {SCAN - 1} OFFSET 0) e;"""),
    "aggregate": (10, ROWS - SUMMED, f"""SELECT 1 / (sum(n) = {SUMMED} AND
        count(*) = {GROUPS})::int FROM (SELECT grp, count(*) AS n,
        sum(amount), avg(amount), max(at) FROM events WHERE id
        BETWEEN :id AND :id + {SUMMED - 1} GROUP BY grp) g;"""),
    "write": (20, ROWS, f"""INSERT INTO journal SELECT i, now(),
        'entry ' || i, i / 4.0 FROM generate_series(:id::int,
        :id + {WRITTEN - 1}) i;"""),
}


def partitioned(name, columns):
    return f"CREATE TABLE {name} ({columns}) PARTITION BY HASH (id);" + \
        "".join(f"CREATE FOREIGN TABLE {name}{number} PARTITION OF {name} FOR"
                f" VALUES WITH (MODULUS {SHARDS}, REMAINDER {number}) SERVER"
                f" shard{number} OPTIONS (table_name '{name}');"
                for number in range(SHARDS))


class Cluster:
    """Four shards, and a coordinator for each way."""

    def __init__(self, work, options):
        sessions = options.sessions * (1 + options.streams)
        self.shards = [Server(work, f"shard{number}", {
            **COMMON, "max_connections": str(sessions + 40)})
            for number in range(SHARDS)]
        for number, shard in enumerate(self.shards):
            shard.sql(f"""CREATE EXTENSION pg_exchange;
                CREATE TABLE model (id int) PARTITION BY HASH (id);
                CREATE TABLE events ({EVENTS});
                INSERT INTO events SELECT {ROW} FROM
                    generate_series(1, {ROWS}) i WHERE
                    satisfies_hash_partition('model'::regclass, {SHARDS},
                                             {number}, i);
                ALTER TABLE events ADD PRIMARY KEY (id);
                CREATE TABLE journal ({JOURNAL}); VACUUM (FREEZE, ANALYZE);
                CHECKPOINT""")
        self.coordinators = {way: Server(work, name, {
            **COMMON, "max_connections": str(options.sessions + 20),
            "shared_preload_libraries": libraries})
            for way, name, libraries in ((FDW, "plain", ""),
                                         (EXCHANGE, "coordinator",
                                          "pg_exchange"))}
        for way, coordinator in self.coordinators.items():
            coordinator.sql("CREATE EXTENSION postgres_fdw;" + (
                "CREATE EXTENSION pg_exchange;" if way == EXCHANGE else ""))
            for number, shard in enumerate(self.shards):
                coordinator.sql(f"""CREATE SERVER shard{number}
                    FOREIGN DATA WRAPPER postgres_fdw OPTIONS (
                    host '127.0.0.1', port '{shard.port}', dbname 'postgres',
                    fetch_size '1000', batch_size '{options.batch_size}',
                    async_capable 'true');
                    CREATE USER MAPPING FOR CURRENT_USER SERVER
                    shard{number} OPTIONS (user 'postgres')""")
            coordinator.sql(partitioned("events", EVENTS) +
                            partitioned("journal", JOURNAL) +
                            "ANALYZE events, journal; CHECKPOINT")
        self.options = options

    def truncate(self):
        """Begin a run: forget what was written."""
        for shard in self.shards:
            shard.sql("TRUNCATE journal; CHECKPOINT")

    def backends(self, way):
        """Process ids of the sessions: of the coordinator, of the shards."""
        return (backends(self.coordinators[way], "postgres"),
                [pid for shard in self.shards
                 for pid in backends(shard, "postgres")])


class Watch(threading.Thread):
    """Looks at the memory of all backends every few seconds; samples has
    (seconds since the beginning, backends here, bytes, there, bytes)."""

    def __init__(self, servers, way, every):
        super().__init__(daemon=True)
        self.servers, self.way, self.every = servers, way, every
        self.samples, self.done = [], threading.Event()
        self.began = time.monotonic()
        self.start()

    def run(self):
        while not self.done.wait(self.every):
            here, there = self.servers.backends(self.way)
            bytes_here = [*filter(None, map(anonymous, here))]
            bytes_there = [*filter(None, map(anonymous, there))]
            self.samples.append((
                round(time.monotonic() - self.began, 1), len(bytes_here),
                sum(bytes_here), len(bytes_there), sum(bytes_there)))

    def stop(self):
        self.done.set()
        self.join()
        return self.samples


def read_log(prefix):
    """Transactions of pgbench: (when it ended, kind, seconds), by time.
    "failed" and "skipped" do not occur: an error ends a client."""
    found = []
    for path in glob.glob(prefix + ".*"):
        with open(path, encoding="utf-8") as log:
            for line in log:
                words = line.split()
                found.append((int(words[4]) + int(words[5]) / 1e6,
                              int(words[3]), int(words[2]) / 1e6))
        os.remove(path)
    return sorted(found)


class Bench:
    """The measurement: lines for the report, and memory."""

    def __init__(self, servers, options):
        self.servers, self.options = servers, options
        self.lines, self.memory, self.errors = [], [], []
        self.work = servers.shards[0].work
        self.started = time.monotonic()
        for kind, (_, most, sql) in KINDS.items():
            with open(f"{self.work}/{kind}.sql", "w",
                      encoding="utf-8") as script:
                script.write(f"\\set id random(1, {most})\n" +
                             sql.replace("\n", " ") + "\n")

    def say(self, text):
        print(f"{time.monotonic() - self.started:5.0f} s  {text}", flush=True)

    def pgbench(self, way, kinds, seconds):
        """Run kinds for some seconds, after as many as it takes to warm up:
        {kind: [seconds of each transaction]} and samples of memory."""
        options, server = self.options, self.servers.coordinators[way]
        prefix = f"{self.work}/transactions"
        self.servers.truncate()
        scripts = [word for kind in kinds for word in (
            "-f", f"{self.work}/{kind}.sql@{KINDS[kind][0]}")]
        watch = Watch(self.servers, way, options.every)
        try:
            done = subprocess.run(
                ["pgbench", "-n", "-c", str(options.sessions), "-j", "2",
                 "-T", str(options.warm + seconds), "-l", "--log-prefix",
                 prefix, "--random-seed=1", "-h", self.work, "-p",
                 str(server.port), "-U", "postgres", *scripts, "postgres"],
                cwd=self.work, env=environment(self.work), text=True,
                capture_output=True, check=False, **as_server_user())
        finally:
            samples = watch.stop()
        wrong = [line for line in done.stderr.splitlines()
                 if re.search("error|abort|ERROR", line)]
        if wrong or done.returncode:
            self.errors.append(f"{', '.join(kinds)} by {way}: {len(wrong)}"
                               f" errors, the first: {wrong[:1]}")
            self.say(self.errors[-1])
        log = read_log(prefix)
        # All sessions connect before the first transaction begins.
        begin = log[0][0] - log[0][2] + options.warm if log else 0
        found = {kind: [] for kind in kinds}
        for when, script, taken in log:
            if begin <= when < begin + seconds:
                found[list(kinds)[script]].append(taken)
        return found, samples

    def keep(self, part, way, found, seconds, number=0):
        for kind, taken in found.items():
            line = load_report.line_of(part, way, kind, number, taken,
                                       seconds)
            self.lines.append(line)
            self.say(f"{part}, {kind}, {way}: {line['per_second']:.1f} a"
                     f" second, median {line['p50_ms']:.1f}, 99 %"
                     f" {line['p99_ms']:.1f} ms")

    def kinds(self):
        for number in range(self.options.rounds):
            for kind in KINDS:
                for way in WAYS if number % 2 else WAYS[::-1]:
                    found, _ = self.pgbench(way, [kind],
                                            self.options.kind_seconds)
                    self.keep("kinds", way, found, self.options.kind_seconds,
                              number)

    def keep_memory(self, part, way, samples):
        self.memory += [{"part": part, "way": way, "seconds": seconds,
                         "here": here, "here_bytes": here_nbytes,
                         "there": there, "there_bytes": there_nbytes}
                        for seconds, here, here_nbytes, there, there_nbytes
                        in samples]

    def mix(self):
        for way in WAYS:
            found, samples = self.pgbench(way, KINDS, self.options.seconds)
            self.keep("mix", way, found, self.options.seconds)
            self.keep_memory("mix", way, samples)

    def kill(self):
        for way in WAYS:
            self.servers.truncate()
            watch = Watch(self.servers, way, self.options.every)
            try:
                found, errors, notes = kill_part(
                    self.servers, way, KINDS, self.options, self.say)
            finally:
                samples = watch.stop()
            self.keep("kill", way, found, self.options.kill_seconds)
            self.keep_memory("kill", way, samples)
            self.errors += errors
            self.say(notes)

    def run(self):
        for part in self.options.parts:
            getattr(self, part)()


def bench(options, work):
    print(f"starting {SHARDS + 2} servers", flush=True)
    measured = Bench(Cluster(work, options), options)
    measured.run()
    version = measured.servers.shards[0].sql("SELECT version()")
    missed = load_report.write(options, measured, version)
    if not options.no_plot:
        plot(options.output)
    print(f"\nwritten: {options.output}/load.md, load.csv, load.svg")
    return 1 if missed else 0


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--sessions", type=int, default=200, help="sessions (200)")
    add("--seconds", type=int, default=600, help="of the mix, by each way"
        " (600)")
    add("--kill-seconds", type=int, default=600, help="with shards that are"
        " killed, by each way (600)")
    add("--period", type=float, default=60, help="seconds from one kill to"
        " the next (60)")
    add("--down", type=float, default=5, help="seconds that a shard is down"
        " (5)")
    add("--kind-seconds", type=int, default=20, help="seconds of a run of one"
        " kind (20)")
    add("--rounds", type=int, default=3, help="such runs by each way (3)")
    add("--warm", type=int, default=40, help="seconds of each run that do not"
        " count: sessions make their connections, and where some already work"
        " the last ones take up to 37 s on two cores (40)")
    add("--every", type=float, default=5, help="seconds between two looks at"
        " memory (5)")
    add("--batch-size", type=int, default=100, help="batch_size of the"
        " servers (100)")
    add("--streams", type=int, default=1, help="connections that a session"
        " has on a shard, besides postgres_fdw's: the shards allow for them"
        " (1)")
    add("--parts", default="kinds,mix,kill", help="(kinds,mix,kill)")
    add("--output", default=os.path.join(ROOT, "bench", "report"),
        help="folder for the report")
    add("--no-plot", action="store_true", help="do not make load.svg")
    options = parser.parse_args()
    options.load = os.getloadavg()
    options.parts = options.parts.split(",")
    if not set(options.parts) <= {"kinds", "mix", "kill"}:
        parser.error("unknown part")
    return options


if __name__ == "__main__":
    given = read_options()
    sys.exit(main(lambda work: bench(given, work)))
