#!/usr/bin/env python3
"""Random join queries over tables on several servers, and over the same rows
on one server: scripts/check_joins.py [QUERIES [SEED [FIRST]]] [--every]
[--form FORM]

3,000 queries and seed 1 if not given; FIRST is the number of the first one.
join_tables.py makes the tables, anew for each 40 queries, join_cases.py the
queries. Settings that change how much is sent at a time are drawn for each
query. Each is then asked in several ways: as it is, with each way to exchange
rows that the server knows, without each of them, by each transport, and with
each way to join forbidden. Most queries are asked in some of the ways, in
turns; --every asks each query in each way. FORM is what all queries are about
(FORMS in join_cases.py).

Answers and SQLSTATEs must be equal, and so must the order of rows where
ORDER BY fixes it. The plans say how often each kind of exchange was used:
each kind that the server knows must have been.

A query that fails is asked by postgres_fdw, too, and made smaller as long as
it fails. --show SEED NUMBER prints a query and its tables. Prints TAP."""
import argparse
import os
import random
import re
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "bench"))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import report  # noqa: E402
from asking import (  # noqa: E402
    Asker, assignments, check_crashes, is_error, smallest)
from join_cases import FORMS, Generator  # noqa: E402
from join_tables import FUNCTION, SHARDS, TYPES, World  # noqa: E402

SERVERS = {"shared_buffers": "64MB", "autovacuum": "off", "jit": "off",
           "max_worker_processes": "16", "max_connections": "200",
           "max_wal_size": "4GB", "full_page_writes": "off",
           "min_parallel_table_scan_size": "0", "parallel_setup_cost": "0",
           "parallel_tuple_cost": "0"}
TIMEOUT = "5s"
QUERIES_OF_A_WORLD = 40
TURNS = 3               # ways of OTHER_WAYS that each query is asked in
SHOWN_MAX = 12          # failures that are shown in full

# Drawn for each query; a setting that this build does not have is left out.
SETTINGS = {
    "pg_exchange.min_bytes": ["0", "0", "0", "64kB"],
    "pg_exchange.batch_rows_max": ["1", "7", "100", "4096", "4096"],
    "pg_exchange.slices": ["1", "1", "3"],
    "pg_exchange.max_connections_per_server": ["1", "2", "4"],
    "pg_exchange.receive_buffer": ["64kB", "32MB"],
    "pg_exchange.compression": ["auto", "auto", "none", "high_compression"],
    "pg_exchange.remote_statistics": ["on", "on", "off"],
    "pg_exchange.min_write_rows": ["1", "128"],
    "enable_partitionwise_join": ["off", "on"],
    "enable_partitionwise_aggregate": ["off", "on"],
    "enable_eager_aggregate": ["on", "on", "off"],
    "min_eager_agg_group_size": ["0", "8"],
    "enable_memoize": ["on", "off"],
    "enable_material": ["on", "on", "off"],
    "enable_hashagg": ["on", "on", "off"],
    "max_parallel_workers_per_gather": ["0", "0", "2"],
    "work_mem": ["64kB", "4MB"],
    "plan_cache_mode": ["auto", "auto", "force_generic_plan",
                        "force_custom_plan"],
    "join_collapse_limit": ["8", "8", "1"],
}
NO_HASH, NO_MERGE, NO_LOOP = (
    {f"enable_{name}": "off"} for name in ("hashjoin", "mergejoin",
                                           "nestloop"))
# Ways to ask; each is left out if the server does not know a setting of it.
MAIN_WAYS = {
    "as it is": {},
    # Lookups are chosen wherever they can be.
    "without joins of core": {**NO_HASH, **NO_MERGE, **NO_LOOP},
    # Runtime filters are used wherever they can be.
    "hash joins only": {**NO_MERGE, **NO_LOOP,
                        "pg_exchange.lookup_joins": "off"},
    "by broadcast": {"pg_exchange.join_exchange": "broadcast"},
    "by hash partition": {"pg_exchange.join_exchange": "hash_partition"},
    "without runtime filters": {"pg_exchange.runtime_filters": "off"},
    "by workers": {"max_parallel_workers_per_gather": "3",
                   "pg_exchange.join_exchange": "off",
                   "pg_exchange.runtime_filters": "off",
                   "pg_exchange.partial_aggregates": "off",
                   "pg_exchange.lookup_joins": "off", **NO_LOOP},
}
SESSION = {"pg_exchange.transport": "session"}
OTHER_WAYS = {
    # The leader of a parallel plan must not do without a stream.
    "by stream": {"pg_exchange.transport": "stream",
                  "max_parallel_workers_per_gather": "0"},
    "by session": SESSION,
    "by session and broadcast": {
        **SESSION, "pg_exchange.join_exchange": "broadcast"},
    "by session and hash partition": {
        **SESSION, "pg_exchange.join_exchange": "hash_partition"},
    "without hash joins": NO_HASH,
    "without merge joins": NO_MERGE,
    "without nested loops": NO_LOOP,
    "merge joins only": {**NO_HASH, **NO_LOOP},
    "nested loops only": {**NO_HASH, **NO_MERGE},
    "without lookups": {"pg_exchange.lookup_joins": "off"},
    "without partial aggregates": {"pg_exchange.partial_aggregates": "off"},
    "with exact partial aggregates": {
        "pg_exchange.partial_aggregates": "exact"},
    "not partition-wise": {"pg_exchange.partitionwise": "off"},
    "without exchanges of joins": {"pg_exchange.join_exchange": "off"},
    "by broadcast, without lookups": {
        "pg_exchange.join_exchange": "broadcast",
        "pg_exchange.lookup_joins": "off"},
    "by postgres_fdw": {"pg_exchange.enabled": "off"},
}
# What a plan shows of each kind, and the setting that a server which knows
# it has, with its value, if it is one of several.
KINDS = {
    "scan": (r"\(ExchangeReceive\)", "enabled", ""),
    "gather": (r"\(ExchangeGather\)", "enabled", ""),
    "gather of workers": (r"Parallel Custom Scan \(ExchangeGather\)",
                          "enabled", ""),
    "lookup": (r"\(ExchangeLookup\)", "lookup_joins", ""),
    "partial aggregate": (r"PARTIAL ", "partial_aggregates", ""),
    "runtime filter": (r"Runtime Filter: ", "runtime_filters", ""),
    "broadcast": (r"Exchange Type: Broadcast", "join_exchange", "broadcast"),
    "hash partition": (r"Exchange Type: HashPartition", "join_exchange",
                       "hash_partition"),
    "frequent keys": (r"Frequent Keys: \d", "join_exchange",
                      "hash_partition"),
    # What servers do with the rows that they are sent.
    "join of rows": (r"Remote SQL: SELECT [rs]\d*\.(?=.* JOIN exchange\.)"
                     r"(?!.* GROUP BY)", "join_exchange", "broadcast"),
    "outer join": (r" LEFT JOIN exchange\.", "join_exchange", "broadcast"),
    "semijoin": (r"(?<! NOT) EXISTS \(SELECT FROM exchange\.",
                 "join_exchange", "broadcast"),
    "antijoin": (r" NOT EXISTS \(SELECT FROM exchange\.", "join_exchange",
                 "broadcast"),
}


def difference(got, expected, ordered):
    """What differs, in a line; empty if nothing does."""
    if is_error(got) or is_error(expected):
        one, two = (answer[:1] if is_error(answer) else ["no error"]
                    for answer in (got, expected))
        return "" if one == two else \
            f"{got if is_error(got) else one} instead of" \
            f" {expected if is_error(expected) else two}"
    if not ordered:
        got, expected = sorted(got), sorted(expected)
    if got == expected:
        return ""
    if len(got) != len(expected):
        return f"{len(got)} rows instead of {len(expected)}"
    return next(f"{mine} instead of {wanted}" for mine, wanted
                in zip(got, expected) if mine != wanted)


def is_slow(answer):
    return is_error(answer) and answer[0] == "57014"


class Nodes:
    """A coordinator, and a server whose databases are the shards."""

    def __init__(self, work):
        self.shard = harness.Server(work, "shard", SERVERS)
        self.coordinator = harness.coordinator(work, SERVERS)
        self.coordinator.sql(TYPES + FUNCTION)
        for number in range(SHARDS):
            self.shard.sql(f"CREATE DATABASE d{number}")
            self.shard.sql("CREATE EXTENSION pg_exchange;" + TYPES,
                           f"d{number}")

    def load(self, world):
        """Have the tables of a world; both schemas must have equal rows."""
        for number in range(SHARDS):
            self.shard.sql(world.at_shard(number), f"d{number}")
        self.coordinator.sql(world.at_coordinator(self.shard.port))
        for number in range(SHARDS):
            self.shard.sql(world.analyze_at_shard(number), f"d{number}")
        here, there = (self.coordinator.sql(
            f"SET search_path = {schema}, public;" + ";".join(
                world.checks())) for schema in ("here", "there"))
        if here != there:
            raise harness.Failure(f"not loaded alike:\n{here}\n{there}")


class Run:
    """Two sessions, and what was found."""

    def __init__(self, nodes, every):
        self.every = every
        self.here = Asker(nodes.coordinator, "SET search_path = here, public;"
                          "SET max_parallel_workers_per_gather = 0;", TIMEOUT)
        self.there = Asker(nodes.coordinator,
                           "SET search_path = there, public;", TIMEOUT)
        self.known = {row[0]: row[1] for row in self.there.ask(
            "LOAD 'pg_exchange'; SELECT name, enumvals FROM pg_settings")}
        self.main_ways, self.other_ways = (
            {name: settings for name, settings in ways.items()
             if all(self.knows(*setting) for setting in settings.items())}
            for ways in (MAIN_WAYS, OTHER_WAYS))
        self.kinds = {kind: 0 for kind, (_, name, value) in KINDS.items()
                      if self.knows("pg_exchange." + name, value)}
        self.different = self.shared = self.slow = self.shown = 0
        self.asked = self.rows = self.empty = 0
        self.errors, self.seconds = {}, {"here": 0, "there": 0}

    def knows(self, name, value):
        """Whether the server has a setting, and a value of it."""
        values = self.known.get(name)
        if values is None or values == "NULL" or not value:
            return values is not None
        return value in values.strip("{}").split(",")

    def settings(self, rng):
        return {name: value for name, value in (
            (name, rng.choice(values)) for name, values in SETTINGS.items())
            if name in self.known}

    def ways(self, number):
        """The ways to ask a query of this number in."""
        names = list(self.other_ways)
        if not self.every:
            names = [names[(number * TURNS + turn) % len(names)]
                     for turn in range(TURNS)]
        return {**self.main_ways,
                **{name: self.other_ways[name] for name in names}}

    def timed(self, where, asker, sql):
        begun = time.monotonic()
        answer = asker.ask(sql)
        self.seconds[where] += time.monotonic() - begun
        return answer

    def ask(self, number, label, query, settings):
        expected = self.timed("here", self.here, query.text())
        self.rows += len(expected)
        self.empty += not expected
        if is_error(expected):
            self.errors[expected[0]] = self.errors.get(expected[0], 0) + 1
        if is_error(expected) and expected[0].startswith("42"):
            report.comment(f"{label} is wrong: {expected}\n{query.text()}")
        if is_slow(expected):
            self.slow += 1
            report.comment(f"{label} takes too long here:\n{query.text()}")
            return
        for way, changes in self.ways(number).items():
            if "enable_mergejoin" in changes and "enable_hashjoin" in \
                    changes and not query.loops:
                continue
            both = {**settings, **changes}
            self.asked += 1
            got = self.timed("there", self.there,
                             assignments(both) + query.text())
            if is_slow(got):
                self.slow += 1
                report.comment(f"{label}, {way}, takes too long:"
                               f" {assignments(both)}\n{query.text()}")
            else:
                found = difference(got, expected, query.is_ordered())
                if not found and way in self.main_ways:
                    found = self.count_kinds(query)
                if found:
                    self.explain_failure(f"{label}, {way}", query, both,
                                         found)
                    break
            self.reset(changes)
        self.there.ask("RESET ALL; SET search_path = there, public;"
                       f"SET statement_timeout = '{TIMEOUT}'")

    def reset(self, names):
        self.there.ask("".join(f"RESET {name};" for name in names))

    def count_kinds(self, query):
        """See what the plan has; an error if there is none."""
        plan = self.there.ask(query.text("EXPLAIN (VERBOSE, COSTS OFF) "))
        if is_error(plan):
            return f"EXPLAIN: {plan}" if plan[0].startswith("XX") else ""
        text = "\n".join("\t".join(row) for row in plan)
        for kind in self.kinds:
            self.kinds[kind] += bool(re.search(KINDS[kind][0], text))
        return ""

    def differs(self, query, settings):
        expected = self.here.ask(query.text())
        got = self.there.ask(assignments(settings) + query.text())
        return not is_slow(expected) and not is_slow(got) and bool(
            difference(got, expected, query.is_ordered()))

    def explain_failure(self, label, query, settings, found):
        """Show a failure, and the smallest query with it."""
        off = {**settings, "pg_exchange.enabled": "off"}
        shared = self.differs(query, off)
        self.reset(["pg_exchange.enabled"])
        if shared:
            self.shared += 1
        else:
            self.different += 1
        self.shown += 1
        report.comment(f"{label}: {found}\n" + (
            "postgres_fdw has this difference, too" if shared else ""))
        if self.shown > SHOWN_MAX:
            return
        query, settings = smallest(query, settings, self.differs,
                                   lambda name: self.reset([name]))
        self.reset(off)
        expected = self.here.ask(query.text())
        got = self.there.ask(assignments(settings) + query.text())
        plan = self.there.ask(query.text("EXPLAIN (VERBOSE, COSTS OFF) "))
        report.comment(
            "smallest: " + difference(got, expected, query.is_ordered()) +
            f"\n{assignments(settings)}\n{query.text()};\n" +
            "\n".join("\t".join(row) for row in plan))


def world_of(seed, number):
    """The tables that a query is about, by its number."""
    return World(random.Random(f"{seed}/tables {number}"))


def run(work, options):
    nodes, loaded = Nodes(work), None
    asked = Run(nodes, options.every)
    for number in range(options.first, options.first + options.count):
        if number % 250 == 249:
            report.comment(f"{number + 1} of {options.first + options.count}")
        if number // QUERIES_OF_A_WORLD != loaded:
            loaded = number // QUERIES_OF_A_WORLD
            world = world_of(options.seed, loaded)
            nodes.load(world)
        rng = random.Random(f"{options.seed}/{number}")
        query = Generator(rng, world, options.form).query()
        asked.ask(number, f"query {number} of seed {options.seed}", query,
                  asked.settings(rng))
    conclude(asked, options)
    check_crashes((nodes.coordinator, nodes.shard))
    return report.done()


def conclude(asked, options):
    count = options.count
    errors = sum(asked.errors.values())
    seconds = ", ".join(f"{value:.0f} s {name}"
                        for name, value in asked.seconds.items())
    report.comment(f"{count} queries, asked {asked.asked} times, {asked.rows}"
                   f" rows, {asked.empty} empty, {seconds}; {errors} errors"
                   f" {asked.errors}, {asked.slow} too slow; plans with"
                   f" exchanges: {asked.kinds}")
    report.ok(not asked.different, f"{count} join queries have one server's"
              " answers", f"{asked.different} have not")
    report.ok(not asked.shared, "and so have they by postgres_fdw",
              f"{asked.shared} have not")
    report.ok(asked.slow * 20 <= asked.asked, "few of them take too long",
              f"{asked.slow} of {asked.asked} do")
    if count < 80:
        return
    report.ok(asked.empty * 3 <= count, "most of them have rows",
              f"{asked.empty} have none")
    report.ok(errors * 20 <= count, "few of them are errors",
              f"{errors}: {asked.errors}")
    for kind, times in asked.kinds.items() if not options.form else ():
        report.ok(times, f"some plans have a {kind}")


def show(seed, number):
    world = world_of(seed, number // QUERIES_OF_A_WORLD)
    for shard in range(SHARDS):
        print(f"-- shard {shard}\n{world.at_shard(shard)}")
    print(f"-- coordinator\n{TYPES}{FUNCTION}\n{world.at_coordinator(5432)}")
    query = Generator(random.Random(f"{seed}/{number}"), world).query()
    print(f"-- query\n{query.text()};")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=3000)
    parser.add_argument("seed", nargs="?", default="1")
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--every", action="store_true",
                        help="ask each query in each way")
    parser.add_argument("--form", choices=sorted({*FORMS}))
    parser.add_argument("--show", nargs=2, metavar=("SEED", "NUMBER"),
                        help="print a query and its tables, and end")
    options = parser.parse_args()
    if options.show:
        return show(options.show[0], int(options.show[1]))
    return harness.main(lambda work: run(work, options))


sys.exit(main())
