#!/usr/bin/env python3
"""Random aggregate queries over partitions on several servers, and over the
same rows on one server: scripts/check_aggregates.py [QUERIES [SEED [FIRST]]]
[--form FORM]

5,000 queries and seed 1 if not given; FIRST is the number of the first one,
FORM what all of them are about (FORMS in aggregate_queries.py).
aggregate_queries.py makes them. The settings are drawn anew for each query.
Answers and SQLSTATEs must be equal, and so must the order of rows where
ORDER BY fixes it. Results are compared digit for digit, but for two kinds of
aggregates that give other last digits for another order of addition, also
on one server (close). What is left of the plan says how many queries were
answered by partial aggregates, lookup joins, rewritten queries and pushed
limits: each kind must have been used.

postgres_fdw may have the remote sort by an expression before a local filter
drops the rows that it fails for. Such an error is no fault of ours if the
same query raises it without exchanges.

A query that fails is asked again with each feature off, and made smaller as
long as it fails. Prints TAP."""
import argparse
import dataclasses
import json
import math
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
    Asker, assignments, check_crashes, is_error, nodes, smallest)
from aggregate_queries import (  # noqa: E402
    COLUMNS, EXACT, FORMS, RISKS, SQUARE, TABLES, Generator)

SERVERS = {"shared_buffers": "64MB", "autovacuum": "off", "jit": "off",
           "max_worker_processes": "16", "max_connections": "200",
           "min_parallel_table_scan_size": "0", "parallel_setup_cost": "0",
           "parallel_tuple_cost": "0"}
TIMEOUT = "60s"
SHOWN_MAX = 12          # failures that are shown in full

# Where the same foreign tables stand with other options: "near" has core's
# costs, "far" pays much for each row, "fresh" was never analyzed.
SCHEMAS = {"near": "0.01", "far": "0.5", "fresh": "0.01"}

# A setting that this build does not have is left out.
SETTINGS = {
    "search_path": ["near, public", "far, public", "far, public",
                    "fresh, public"],
    "pg_exchange.partial_aggregates": ["on", "on", "exact"],
    "pg_exchange.partitionwise": ["on", "on", "on", "off"],
    "pg_exchange.transport": ["auto", "auto", "auto", "session", "stream"],
    "pg_exchange.min_bytes": ["0", "64kB"],
    "pg_exchange.slices": ["1", "1", "3"],
    "pg_exchange.max_connections_per_server": ["1", "2", "4"],
    "pg_exchange.batch_rows_max": ["1", "100", "100", "4096"],
    "pg_exchange.receive_buffer": ["64kB", "32MB"],
    "enable_partitionwise_join": ["off", "on"],
    "enable_partitionwise_aggregate": ["off", "on"],
    "enable_hashagg": ["on", "on", "off"],
    "enable_hashjoin": ["on", "on", "on", "off"],
    "enable_sort": ["on", "on", "on", "off"],
    "enable_eager_aggregate": ["on", "on", "off"],
    "min_eager_agg_group_size": ["0", "8"],
    "enable_memoize": ["on", "off"],
    "max_parallel_workers_per_gather": ["0", "0", "2"],
    "work_mem": ["64kB", "4MB"],
    "plan_cache_mode": ["auto", "force_generic_plan"],
    "default_transaction_isolation": ["read committed"] * 9 +
    ["serializable"],
}
# What is tried, one after the other, to name the part that failed.
SUSPECTS = {
    "pg_exchange.enabled": "off", "pg_exchange.partial_aggregates": "off",
    "pg_exchange.partitionwise": "off", "pg_exchange.transport": "session",
    "max_parallel_workers_per_gather": "0",
}


# ---- tables --------------------------------------------------------------

def column_list():
    return ", ".join(f"{name} {kind}" for name, (kind, _, _)
                     in COLUMNS.items())


def row_values(rows, first):
    """SELECT of rows; one value in eleven is null, and so are those of the
    group k = 5."""
    values = ", ".join(
        f"CASE WHEN (i + {number}) % 11 = 0 OR"
        f" (i % 9 = 5 AND '{name}' NOT IN ('k', 'fk')) THEN NULL"
        f" ELSE {value} END" if nullable else value
        for number, (name, (_, value, nullable)) in enumerate(
            COLUMNS.items()))
    return f"SELECT {values} FROM generate_series({first}," \
           f" {first + rows - 1}) i"


TYPES = """CREATE EXTENSION pg_exchange;
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE DOMAIN small AS int CHECK (VALUE < 100);
    CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2',
        deterministic = false);
    CREATE FUNCTION h(i int, n int) RETURNS int IMMUTABLE LANGUAGE sql
        RETURN hashint4(i * 64 + n) & 2147483647;
    """


def leaves():
    """Name, parent, FOR VALUES and server of each partition or child.

    The server is None for a local one, the parent "" for a table that
    stands alone."""
    yield "one", "", "", 2
    yield "dim", "", "", 1
    bounds = [1, 300, 800, 1200, 1500, 9999]
    for number, server in enumerate((0, "sub", None, 1, 2)):
        yield (f"parts_{number}", "parts", f"FROM ({bounds[number]}) TO"
               f" ({bounds[number + 1]})", server)
    for number in range(2):
        yield (f"parts_1_{number}", "parts_1", "WITH (MODULUS 2, REMAINDER"
               f" {number})", number)
    for table in ("byk", "dimk"):
        for number in range(4):
            yield (f"{table}_{number}", table, "WITH (MODULUS 4, REMAINDER"
                   f" {number})", number % 3)
    for number in range(12):
        yield (f"many_{number}", "many", f"FROM ({number * 60}) TO"
               f" ({number * 60 + 60})", 0)
    for number in range(3):
        yield f"void_{number}", "void", f"IN ({number})", number
        yield f"inh_{number}", "INHERITS inh", "", number
        yield f"uni_{number}", "VIEW uni", "", number


PARENTS = {"parts": "RANGE (id)", "byk": "HASH (k)", "dimk": "HASH (k)",
           "many": "RANGE (id)", "void": "LIST (k)"}


def create_foreign(schema):
    """The SQL that makes all tables of a schema of the coordinator."""
    columns, text = column_list(), f"CREATE SCHEMA {schema};" \
        f"SET search_path = {schema}, public;"
    for number in range(3):
        text += f"""CREATE SERVER {schema}_{number}
            FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1',
            port ':port', dbname 'postgres', fetch_size '1000',
            batch_size '500', fdw_tuple_cost '{SCHEMAS[schema]}',
            use_remote_estimate '{str(number == 2 != (schema == "fresh"))}',
            async_capable '{str(number > 0)}');
            CREATE USER MAPPING FOR CURRENT_USER SERVER {schema}_{number}
            OPTIONS (user 'postgres');"""
    text += f"CREATE TABLE loc AS SELECT * FROM here.loc;" \
        f"CREATE TABLE inh ({columns});"
    for name, key in PARENTS.items():
        text += f"CREATE TABLE {name} ({columns}) PARTITION BY {key};"
    for name, parent, values, server in leaves():
        kind = "TABLE" if server in (None, "sub") else "FOREIGN TABLE"
        text += f"CREATE {kind} {name} "
        if parent in PARENTS or parent == "parts_1":
            text += f"PARTITION OF {parent} FOR VALUES {values}"
        elif parent.startswith("INHERITS"):
            text += "() INHERITS (inh)"
        else:
            text += f"({columns})"
        if server == "sub":
            text += " PARTITION BY HASH (id)"
        elif server is not None:
            text += f" SERVER {schema}_{server}" \
                    " OPTIONS (schema_name 'public')"
        text += ";"
    return text + "CREATE VIEW uni AS " + " UNION ALL ".join(
        f"SELECT * FROM uni_{number}" for number in range(3)) + ";"


def prepare(shard, coordinator):
    """Fill the shard's tables and those of schema "here" with equal rows."""
    columns = column_list()
    shard.sql(TYPES + "".join(
        f"CREATE TABLE {name} ({columns});" for name, _, _, server
        in leaves() if server in (0, 1, 2)))
    coordinator.sql(TYPES.replace("CREATE EXTENSION pg_exchange;", "") +
                    "CREATE SCHEMA here;" + "".join(
        f"CREATE TABLE here.{name} ({columns}); INSERT INTO here.{name} "
        f"{row_values(rows, 1)};" for name, rows in TABLES.items()))
    for schema in SCHEMAS:
        coordinator.sql("SET pg_exchange.enabled = off;" + create_foreign(
            schema).replace(":port", str(shard.port)))
    spread = "SET pg_exchange.enabled = off; SET search_path = near, public;"
    for name in TABLES:
        if name in ("uni", "inh"):
            spread += "".join(
                f"INSERT INTO {name}_{number} SELECT * FROM here.{name}"
                f" WHERE id % 3 = {number};" for number in range(3))
        elif name != "loc":
            spread += f"INSERT INTO {name} SELECT * FROM here.{name};"
    for schema in ("far", "fresh"):
        spread += f"INSERT INTO {schema}.parts_2 SELECT * FROM parts_2;"
    spread += "".join(f"CREATE INDEX ON here.{name} (fk); CREATE INDEX ON"
                      f" here.{name} (k);" for name in TABLES)
    spread += "ANALYZE here." + ", here.".join(TABLES) + ";"
    for schema in ("near", "far"):
        spread += "".join(f"ANALYZE {schema}.{name};" for name in
                          [*PARENTS, *(leaf[0] for leaf in leaves())])
    coordinator.sql(spread)
    shard.sql("ANALYZE;")
    for name in TABLES:
        counts = {coordinator.sql(
            f"SET search_path = {schema}, public; SELECT count(*),"
            f" sum(hashtextextended(x::text, 0)::numeric) FROM {name} x")
            for schema in ("here", *SCHEMAS)}
        if len(counts) != 1:
            raise harness.Failure(f"{name} is not loaded alike: {counts}")


# ---- asking --------------------------------------------------------------

def close(one, two, tolerance):
    """Whether two floats differ in last digits only.

    LINEAR: sums and averages of positive values may be added in any order,
    also on one server: 1,024 ulps are allowed (2e-13), 17 were the most in
    500 queries. SQUARE: variances and their kin are differences of sums of
    squares, so digits cancel: 8,192 ulps are allowed (2e-12), 192 were the
    most. What should be zero, as the variance of equal values, may be off by
    1e-9; a wrong result that is smaller than that is not found."""
    if "NULL" in (one, two) or one == two:
        return one == two
    one, two = float(one), float(two)
    if math.isnan(one) or math.isnan(two) or math.isinf(one - two):
        return repr(one) == repr(two)
    larger = math.ulp(max(abs(one), abs(two)))
    if tolerance == SQUARE:
        return abs(one - two) <= max(8192 * larger, 1e-9)
    return abs(one - two) <= 1024 * larger


def difference(query, got, expected):
    """What differs, in a line; empty if nothing does."""
    if is_error(got) or is_error(expected):
        one, two = (answer[:1] if is_error(answer) else ["no error"]
                    for answer in (got, expected))
        return "" if one == two else \
            f"{got if is_error(got) else one} instead of" \
            f" {expected if is_error(expected) else two}"
    if len(got) != len(expected):
        return f"{len(got)} rows instead of {len(expected)}"
    kinds = [item.tolerance for item in query.items] if not query.wrap \
        else [EXACT] * 20

    def sortable(row):
        exact = [cell for cell, kind in zip(row, kinds) if kind == EXACT]
        return exact, [cell for cell in row if cell not in exact]
    if query.order and not query.wrap:
        columns = [number - 1 for number, _ in query.ordering()]
        for number, (mine, theirs) in enumerate(zip(got, expected)):
            if [mine[c] for c in columns] != [theirs[c] for c in columns]:
                return f"row {number} in order: {mine} instead of {theirs}"
    for mine, theirs in zip(sorted(got, key=sortable),
                            sorted(expected, key=sortable)):
        for cell, wanted, kind in zip(mine, theirs, kinds):
            if cell != wanted and (kind == EXACT or
                                   not close(cell, wanted, kind)):
                return f"{mine} instead of {theirs}"
    return ""


# ---- plans ---------------------------------------------------------------

def kinds_used(sql, plan):
    """Which features a plan shows: a subset of KINDS."""
    used, subplans = set(), False
    for name, node, above in nodes(plan):
        remote = node.get("Remote SQL", "")
        subplans |= "SubPlan" in node.get("Subplan Name", "")
        if name == "ExchangeReceive" or name == "Foreign Scan":
            used.add("exchange") if name == "ExchangeReceive" else None
            several = {"Append", "Merge Append", "ExchangeGather"} & {*above}
            if any("PARTIAL" in text for text in node.get("Output", [])):
                used.add("partial aggregate")
            elif " GROUP BY " in remote and several and \
                    {"Aggregate", "Group", "Unique"} & {*above}:
                used.add("partial grouping")
            if re.search(r" LIMIT | FETCH FIRST ", remote) and above and \
                    above[-1] in several:
                used.add("pushed limit")
        if name == "ExchangeLookup":
            used.add("lookup join")
    if "(SELECT" in sql and re.search(r"[<>=] \(SELECT .*q\.", sql) \
            and not subplans:
        used.add("rewritten subquery")
    if re.search(r"count\(DISTINCT", sql) and re.search(
            r" GROUP BY ", json.dumps(plan)) and "partial grouping" in used:
        used.add("rewritten count(DISTINCT)")
    return used


# Under "exact", no server adds floats of its own rows.  Core may add them for
# each partition here; their order is nobody's promise.
INEXACT = re.compile(r"PARTIAL (sum|avg|var\w*|stddev\w*|corr|covar\w*|"
                     r"regr_(?!count)\w*)\(\w+\.(fx|fy|fc|fh|r4)\b")

# A kind that is True must be used by some query of a long run.
KINDS = {"exchange": True, "partial aggregate": True,
         "partial grouping": True, "lookup join": True,
         "rewritten subquery": True, "rewritten count(DISTINCT)": False,
         "pushed limit": True}


# ---- the run -------------------------------------------------------------

class Run:
    """Two sessions, and what was found."""

    def __init__(self, coordinator):
        self.here = Asker(coordinator, "SET search_path = here, public;"
                          "SET max_parallel_workers_per_gather = 0;",
                          TIMEOUT)
        self.there = Asker(coordinator, "", TIMEOUT)
        known = {row[0] for row in self.there.ask(
            "LOAD 'pg_exchange'; SELECT name FROM pg_settings")}
        self.known = {name: values for name, values in SETTINGS.items()
                      if name in known}
        self.suspects = {name: value for name, value in SUSPECTS.items()
                         if name in known}
        self.different = self.shared = self.raised = 0
        self.slow = self.shown = self.inexact = 0
        self.used, self.errors, self.rows, self.empty = {}, {}, 0, 0
        self.seconds = {"here": 0, "there": 0}

    def compare(self, query, settings):
        """A difference, or "" (also for one that took too long)."""
        expected = self.here.ask(query.text())
        got = self.there.ask(assignments(settings) + query.text())
        if any(is_error(answer) and answer[0] == "57014"
               for answer in (got, expected)):
            return "slow"
        return difference(query, got, expected)

    def ask(self, label, query, settings):
        begun = time.monotonic()
        expected = self.here.ask(query.text())
        half = time.monotonic()
        got = self.there.ask(assignments(settings) + query.text())
        self.seconds["here"] += half - begun
        self.seconds["there"] += time.monotonic() - half
        self.rows += len(expected)
        self.empty += not expected
        state = expected[0] if is_error(expected) else ""
        if state:
            self.errors[state] = self.errors.get(state, 0) + 1
        if "57014" in (state, got[:1] and got[0]):
            self.slow += 1
            report.comment(f"{label} took too long:"
                           f" {'here' if state == '57014' else 'there'}:"
                           f" {settings}\n{query.text()}")
            return
        found = difference(query, got, expected)
        if not state:
            plan = self.there.ask(query.text(
                "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) "))
            text = "\n".join("\t".join(row) for row in plan)
            if is_error(plan):
                found = found or f"EXPLAIN: {plan}"
            else:
                top = json.loads(text)[0]["Plan"]
                for kind in kinds_used(query.sql(), top):
                    self.used[kind] = self.used.get(kind, 0) + 1
                if settings.get("pg_exchange.partial_aggregates") == "exact" \
                        and any(INEXACT.search(" ".join(
                                    node.get("Output", [])))
                                for name, node, _ in nodes(top)
                                if name == "ExchangeReceive"):
                    self.inexact += 1
                    report.comment(f"{label} adds floats in parts:\n"
                                   f"{query.text()}")
        if found:
            self.explain_failure(label, query, settings, found)

    def explain_failure(self, label, query, settings, found):
        """Show a failure: what cures it, and the smallest query with it."""
        settings = dict(settings)
        off = self.there.ask(assignments(settings) + "SET pg_exchange.enabled"
                             " = off;" + query.text())
        self.there.ask("RESET ALL")
        if is_error(off) and off[0] in RISKS and \
                not difference(query, self.there.ask(
                    assignments(settings) + query.text()), off):
            self.raised += 1
            report.comment(f"{label}: postgres_fdw raises {off[0]}, too\n"
                           f"{query.text()}")
            return
        cures = []
        for name, value in self.suspects.items():
            if not self.compare(query, {**settings, name: value}):
                cures.append(f"{name} = {value}")
            self.there.ask(f"RESET {name}")
        if "pg_exchange.enabled = off" in cures:
            self.different += 1
        else:
            self.shared += 1
        self.shown += 1
        report.comment(f"{label}: {found}\nright with: {cures}")
        if self.shown > SHOWN_MAX:
            return
        query, settings = smallest(
            query, settings, self.differs,
            lambda name: self.there.ask(f"RESET {name}"))
        self.there.ask("RESET ALL")
        plan = self.there.ask(assignments(settings) + query.text(
            "EXPLAIN (VERBOSE, COSTS OFF) "))
        report.comment("smallest: " + (self.compare(query, settings) or "?")
                       + f"\n{assignments(settings)}\n{query.text()};\n" +
                       "\n".join("\t".join(row) for row in plan))
        self.there.ask("RESET ALL")

    def differs(self, query, settings):
        return self.compare(query, settings) not in ("", "slow")


def run(work, count, seed, first, form):
    shard = harness.Server(work, "shard", SERVERS)
    coordinator = harness.coordinator(work, SERVERS)
    prepare(shard, coordinator)
    asked = Run(coordinator)
    for number in range(first, first + count):
        if number % 500 == 499:
            report.comment(f"{number + 1} of {first + count}")
        rng = random.Random(f"{seed}/{number}")
        query = Generator(rng, form).query()
        settings = {name: rng.choice(values)
                    for name, values in SETTINGS.items()}
        settings = {name: settings[name] for name in asked.known}
        asked.ask(f"query {number} of seed {seed}", query, settings)
    errors = sum(asked.errors.values())
    seconds = ", ".join(f"{value:.0f} s {name}"
                        for name, value in asked.seconds.items())
    report.comment(f"{count} queries, {asked.rows} rows, {asked.empty} empty,"
                   f" {seconds}; {errors} of them errors"
                   f" {asked.errors}, {asked.slow} too slow,"
                   f" {asked.different} differ, {asked.shared} also differ"
                   f" by postgres_fdw; used: {asked.used}")
    report.ok(not asked.different,
              f"{count} aggregate queries have one server's answers",
              f"{asked.different} have not")
    report.ok(not asked.shared, "and so have they by postgres_fdw",
              f"{asked.shared} have not")
    report.ok(asked.raised * 100 <= max(count, 200), "hardly any raise an"
              " error that only postgres_fdw's order of evaluation does",
              f"{asked.raised} do")
    report.ok(not asked.inexact,
              "and under exact, no server adds floats in parts")
    report.ok(asked.slow * 50 <= count, "few of them take too long")
    report.ok(0 < errors * 8 <= count or count < 100, "some of them, and not"
              " many, are errors", f"{errors}: {asked.errors}")
    unknown = {"42883", "42703", "42601", "42P10", "42804"} & {*asked.errors}
    report.ok(sum(asked.errors[state] for state in unknown) * 50 <= count,
              "hardly any of them are wrong", str(asked.errors))
    for kind, wanted in KINDS.items():
        if wanted and count >= 100 and not form:
            report.ok(asked.used.get(kind), f"some of them use: {kind}")
    check_crashes((coordinator, shard))
    return report.done()


def main(work):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=5000)
    parser.add_argument("seed", nargs="?", default="1")
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--form", choices=sorted({*FORMS}))
    options = parser.parse_args()
    return run(work, options.count, options.seed, options.first,
               options.form)


sys.exit(harness.main(main))
