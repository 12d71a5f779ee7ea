#!/usr/bin/env python3
"""make bench-write: how fast are rows written to the shards?

A coordinator and four shards on this machine, each in a network namespace of
its own (bench/netns.py; needs root). Rows of TPC-H lineitem, with 4 and with
all 16 columns, are written by postgres_fdw (batch_size 1000), as frames, and
into local tables, in turns; medians. The parts:

insert   INSERT ... SELECT into a heap, and into a table with a primary key
copy     psql's \\copy of a file
servers  the same rows to one server and to two, half of them each
links    one server, and four, behind links of 100 Mbit/s each; also without
         compression, as with it the cores may be slower than four links
changes  UPDATE and DELETE of rows that a join with a local table finds
pgbench  pgbench -i, whose accounts are partitioned over four servers

What the shards have afterwards is compared with what was sent. Bytes are those
of both directions, as the links count them.

Before PostgreSQL 16, COPY by postgres_fdw sends one row at a time. It copies a
tenth of the rows there, pgbench's too, and times are compared by row. The part
copy is also run with PostgreSQL 17, in a root of scripts/roots.py (--majors).

--matrix measures something else: whether any statement gets slower (see
bench/write_matrix.py).

Writes bench/report/write.csv (every run), write.md and write.svg (where
matplotlib is to be had). Exit status 1 if a goal is missed."""
import argparse
import contextlib
import os
import re
import sys
import time

import cluster
import write_matrix
import write_report
from harness import (ROOT, Failure, Server, Session, load_tpch, main,
                     plot, run)
from netns import connect, namespaces, shape, why_not
from write_report import (EXCHANGE, FDW, LOCAL, ONE_BY_ONE, PLAIN, Case)

PARTS = ("insert", "copy", "servers", "links", "changes", "pgbench")
SHARDS = 4
SETTINGS = {"autovacuum": "off", "jit": "off", "wal_level": "minimal",
            "max_wal_senders": "0", "max_wal_size": "8GB",
            "min_wal_size": "2GB", "checkpoint_timeout": "1h",
            "shared_buffers": "512MB",
            "synchronize_seqscans": "off", "listen_addresses": "*"}

# The columns of lineitem in the narrow tables
NARROW = {"": ("l_orderkey", "l_linenumber", "l_extendedprice", "l_shipdate"),
          "text": ("l_orderkey", "l_linenumber", "l_extendedprice",
                   "l_comment")}
KEY = "l_orderkey, l_linenumber"

# Settings of each way to write
WAYS = {
    FDW: "SET pg_exchange.enabled = off; SET pg_exchange.writes = off;",
    EXCHANGE: "", ONE_BY_ONE: "", LOCAL: "",
    PLAIN: "SET pg_exchange.compression = none;",
}

# Schemas of the coordinator's tables, and how many shards those are on
PLACES = {"one": 1, "two": 2, "four": 4, "one_by_one": 1, "local": 0}

# The tables of pgbench: accounts in a place, and the others beside them
ACCOUNTS = "aid int NOT NULL, bid int, abalance int, filler char(84)"
PGBENCH = """CREATE TABLE {place}.pgbench_branches
    (bid int NOT NULL, bbalance int, filler char(88));
CREATE TABLE {place}.pgbench_tellers
    (tid int NOT NULL, bid int, tbalance int, filler char(84));
CREATE TABLE {place}.pgbench_history
    (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
"""


def definitions():
    """The tables: {name: column definitions}."""
    wide = cluster.TPCH["lineitem"]
    tables = {"heap16": wide, "key16": wide}
    for kind, names in NARROW.items():
        columns = ", ".join(re.search(rf"{name} .*?NOT NULL", wide).group()
                            for name in names)
        for table in ("text4",) if kind else ("heap4", "key4"):
            tables[table] = columns
    return tables


def source_of(table):
    """The table whose rows go to a table."""
    return re.sub("heap|key", "source", table)


def schema_of(case, way):
    return {LOCAL: "local", ONE_BY_ONE: "one_by_one"}.get(way, case.place)


# ---- servers -------------------------------------------------------------

class Cluster:
    """Four shards and a coordinator, behind links if there are namespaces."""

    def __init__(self, work, options, here=None, theres=()):
        self.options, self.here, self.theres = options, here, theres
        self.mbit = None
        addresses = ["127.0.0.1"] * SHARDS
        if here:
            addresses = [connect(here, there, number)[1]
                         for number, there in enumerate(theres, 1)]
        print(f"starting {SHARDS + 1} servers", flush=True)
        self.shards = [Server(work, f"shard{number + 1}", SETTINGS,
                              theres[number] if here else None)
                       for number in range(SHARDS)]
        self.coordinator = Server(work, "coordinator", {
            **SETTINGS, "session_preload_libraries": "pg_exchange"}, here)
        self.major = int(self.coordinator.sql("SHOW server_version_num")
                         ) // 10000
        for shard in self.shards:
            self.set_up_shard(shard)
        self.load()
        self.coordinator.sql("CREATE EXTENSION postgres_fdw;"
                             "CREATE EXTENSION pg_exchange;")
        for number, address in enumerate(addresses):
            cluster.add_server(self.coordinator, f"shard{number + 1}",
                               self.shards[number], host=address)
        self.make_tables()
        self.sessions = [Session(shard) for shard in self.shards]

    @staticmethod
    def set_up_shard(shard):
        with open(os.path.join(shard.data, "pg_hba.conf"), "a",
                  encoding="utf-8") as hba:
            hba.write("host all all 10.99.0.0/16 trust\n")
        tables = "".join(f"CREATE TABLE {name} ({columns});"
                         for name, columns in definitions().items())
        keys = "".join(f"ALTER TABLE key{columns} ADD PRIMARY KEY ({KEY});"
                       for columns in (4, 16))
        shard.sql("SELECT pg_reload_conf(); CREATE EXTENSION pg_exchange;"
                  f"{tables} {keys} CREATE TABLE pgbench_accounts"
                  f" ({ACCOUNTS}, PRIMARY KEY (aid));")

    def load(self):
        """Tables source4, text4 and source16, and files of their rows."""
        rows = max(self.options.rows, self.options.changes)
        scale = next((scale for scale in (0.01, 0.1, 0.25, 1)
                      if scale * 5900000 > rows), 10)
        print(f"loading {rows:,} rows", flush=True)
        load_tpch(self.coordinator, scale, ("lineitem",))
        self.coordinator.sql(f"""
            CREATE TABLE source16 AS SELECT * FROM lineitem LIMIT {rows};
            CREATE TABLE source4 AS SELECT {', '.join(NARROW[''])}
                FROM source16;
            CREATE TABLE text4 AS SELECT {', '.join(NARROW['text'])}
                FROM source16;
            DROP TABLE lineitem;
            CREATE TABLE changes AS SELECT {KEY} FROM source16
                LIMIT {self.options.changes};""")
        self.coordinator.sql("VACUUM (FREEZE, ANALYZE)")
        for table in ("heap4", "heap16"):
            for rows in {self.options.rows, self.copied_by_fdw(),
                         self.options.changes}:
                self.coordinator.sql(
                    f"COPY (SELECT * FROM {source_of(table)} LIMIT {rows})"
                    f" TO '{self.file(table, rows)}'")

    def file(self, table, rows):
        return os.path.join(self.coordinator.work,
                            f"{source_of(table)}.{rows}")

    def copied_by_fdw(self):
        return max(self.options.rows // (10 if self.major < 16 else 1), 1)

    def make_tables(self):
        """The schemas of PLACES on the coordinator."""
        sql = []
        for place, shards in PLACES.items():
            sql.append(f"CREATE SCHEMA {place};")
            for name, columns in definitions().items():
                sql += self.table(place, shards, name, columns)
        for place in ("four", "local"):
            sql.append(PGBENCH.format(place=place))
            sql += self.table(place, PLACES[place], "pgbench_accounts",
                              ACCOUNTS, "aid")
        self.coordinator.sql("".join(sql))

    @staticmethod
    def table(place, shards, name, columns, key="l_orderkey"):
        batch_size = 1 if place == "one_by_one" else 1000
        options = (f"OPTIONS (table_name '{name}', schema_name 'public',"
                   f" batch_size '{batch_size}');")
        if shards == 0:
            key = f", PRIMARY KEY ({KEY})" if name.startswith("key") else ""
            return [f"CREATE TABLE {place}.{name} ({columns}{key});"]
        if shards == 1:
            return [f"CREATE FOREIGN TABLE {place}.{name} ({columns})"
                    f" SERVER shard1 {options}"]
        return [f"CREATE TABLE {place}.{name} ({columns})"
                f" PARTITION BY HASH ({key});"] + [
            f"CREATE FOREIGN TABLE {place}.{name}_{number} PARTITION OF"
            f" {place}.{name} FOR VALUES WITH (MODULUS {shards},"
            f" REMAINDER {number}) SERVER shard{number + 1} {options}"
            for number in range(shards)]

    def shape(self, mbit):
        """Limit each link; None: as fast as the machine is."""
        if mbit != self.mbit:
            for number, there in enumerate(self.theres, 1):
                shape(self.here, there, number, mbit)
            self.mbit = mbit

    def link_bytes(self):
        """Bytes over all links, both ways, packet headers included."""
        if not self.here:
            return 0
        counts = [line.split(":")[1].split() for line in
                  self.here.run("cat", "/proc/net/dev").splitlines()
                  if "link" in line]
        return sum(int(count[0]) + int(count[8]) for count in counts)

    def shard_cpu(self):
        return sum(shard.cpu_seconds() for shard in self.shards)


# ---- measuring -----------------------------------------------------------

class Bench:
    """The measurement: runs has a row for each statement."""

    def __init__(self, servers, options):
        self.servers, self.options, self.runs = servers, options, []
        self.started = time.monotonic()
        self.expected, self.plans = {}, {}

    def cases(self):
        """What to measure: [(case, ways)]."""
        parts = self.options.parts
        cases = []
        for table in ("heap4", "key4", "heap16", "key16", "text4"):
            if "insert" in parts:
                cases.append((Case("insert", "INSERT", table, "one"),
                              [FDW, EXCHANGE, ONE_BY_ONE, LOCAL]))
        for table in ("heap4", "heap16"):
            if "copy" in parts:
                cases.append((Case("copy", "COPY", table, "one"),
                              [FDW, EXCHANGE, LOCAL]))
        for table in ("heap4", "key4", "heap16", "key16"):
            if "servers" in parts:
                cases += [(Case("servers", "INSERT", table, place),
                           [EXCHANGE]) for place in ("one", "two")]
        for table in ("heap4", "heap16"):
            if "links" in parts and self.servers.here:
                cases += [(Case("links", "INSERT", table, "one"),
                           [EXCHANGE, PLAIN]),
                          (Case("links", "INSERT", table, "four"),
                           [FDW, EXCHANGE, PLAIN])]
        if "changes" in parts:
            cases += [(Case("changes", operation, "heap4", "one"),
                       [FDW, EXCHANGE, LOCAL])
                      for operation in ("UPDATE", "DELETE")]
        if "pgbench" in parts:
            cases.append((Case("pgbench", "COPY", "pgbench_accounts", "four"),
                          [FDW, EXCHANGE, LOCAL]))
        return cases

    def rows(self, case, way):
        if case.part == "changes":
            return self.options.changes
        if case.operation == "COPY" and way == FDW:
            return self.servers.copied_by_fdw()
        return self.options.rows

    def statement(self, case, way):
        name = f"{schema_of(case, way)}.{case.table}"
        source = f"public.{source_of(case.table)}"
        rows = self.rows(case, way)
        found = "t.l_orderkey = c.l_orderkey" \
                " AND t.l_linenumber = c.l_linenumber"
        return {
            "INSERT": f"INSERT INTO {name} SELECT * FROM {source}"
                      f" LIMIT {rows}",
            "COPY": f"\\copy {name} FROM"
                    f" '{self.servers.file(case.table, rows)}'",
            "UPDATE": f"UPDATE {name} t SET l_extendedprice ="
                      " l_extendedprice + 1 FROM public.changes c"
                      f" WHERE {found}",
            "DELETE": f"DELETE FROM {name} t USING public.changes c"
                      f" WHERE {found}",
        }[case.operation]

    def where_rows_go(self, case, way, sql):
        """Run SQL on all servers that get rows; the answers."""
        place = schema_of(case, way)
        if place == "local":
            return [self.servers.coordinator.sql(
                f"SET search_path = local; {sql}")]
        return [session.run(sql)
                for session in self.servers.sessions[:PLACES[place]]]

    def prepare(self, case, way):
        """Have the tables as they are to be before the statement."""
        self.where_rows_go(case, way, f"TRUNCATE {case.table}")
        if case.part == "changes":
            path = self.servers.file(case.table, self.options.changes)
            self.where_rows_go(case, way, f"COPY {case.table} FROM '{path}'")
            self.where_rows_go(case, way, f"VACUUM (ANALYZE) {case.table}")
        # Files of the WAL are used again, as on servers that run for long.
        self.where_rows_go(case, way, "CHECKPOINT")

    def check(self, case, way):
        """Compare what is in the tables with what should be."""
        source, rows = source_of(case.table), self.rows(case, way)
        if case.operation == "DELETE":
            rows = 0
        columns = "*"
        if case.operation == "UPDATE":
            columns = ", ".join(NARROW[""]).replace("price", "price + 1")
        summary = "count(*), coalesce(sum(hash_record_extended(t, 0)" \
                  "::numeric), 0)"
        query = f"SELECT {summary} FROM (SELECT {columns}" \
                f" FROM public.{source} LIMIT {rows}) t"
        if query not in self.expected:
            self.expected[query] = self.servers.coordinator.sql(query)
        found = [answer.split("|") for answer in self.where_rows_go(
            case, way, f"SELECT {summary} FROM {case.table} t")]
        found = "|".join(str(sum(map(int, column)))
                         for column in zip(*found))
        if found != self.expected[query]:
            raise Failure(f"{case}, {way}: the servers have {found}, expected"
                          f" {self.expected[query]}")

    def measure(self, number, case, way):
        """One statement in a fresh backend that has connected before."""
        self.servers.shape(self.options.mbit if case.part == "links"
                           else None)
        self.prepare(case, way)
        coordinator = self.servers.coordinator
        with Session(coordinator) as session:
            session.run(WAYS[way])
            session.run(self.options.settings)
            session.run(f"SELECT 1 FROM {schema_of(case, way)}.{case.table}"
                        " LIMIT 1")
            cpu = coordinator.cpu_seconds(), self.servers.shard_cpu()
            nbytes = self.servers.link_bytes()
            started = time.monotonic()
            session.run(self.statement(case, way))
            seconds = time.monotonic() - started
            nbytes = self.servers.link_bytes() - nbytes
            cpu = (coordinator.cpu_seconds() - cpu[0],
                   self.servers.shard_cpu() - cpu[1])
        self.check(case, way)
        self.add(number, case, way, self.rows(case, way), seconds, nbytes,
                 cpu)

    def add(self, number, case, way, rows, seconds, nbytes, cpu):
        self.runs.append({
            "major": self.servers.major, **case._asdict(), "way": way,
            "run": number, "rows": rows, "seconds": round(seconds, 4),
            "bytes": nbytes, "coordinator_cpu": round(cpu[0], 2),
            "shard_cpu": round(cpu[1], 2)})
        print(f"{time.monotonic() - self.started:5.0f} s  {case.part},"
              f" {case.operation}, {case.table}, {case.place}, {way}:"
              f" {seconds:.2f} s, {nbytes / 1e6:.1f} MB,"
              f" CPU {cpu[0]:.2f} + {cpu[1]:.2f} s", flush=True)

    def measure_pgbench(self, number, case, way):
        """pgbench -i: its step g, which truncates and fills the tables."""
        servers = self.servers
        servers.shape(None)
        scale = max(self.rows(case, way) // 100000, 1)
        settings = "".join(
            f" -c {setting.replace(' = ', '=')}" for setting in re.findall(
                r"SET (.*?);", WAYS[way]))
        cpu = servers.coordinator.cpu_seconds(), servers.shard_cpu()
        nbytes, started = servers.link_bytes(), time.monotonic()
        run(servers.coordinator.work, "env", f"PGOPTIONS=-c search_path="
            f"{schema_of(case, way)}{settings}", "pgbench", "-q", "-i", "-I",
            "g", "--partitions=4", "-s", str(scale), "-h",
            servers.coordinator.work, "-p", str(servers.coordinator.port),
            "-U", "postgres", "postgres")
        seconds = time.monotonic() - started
        nbytes = servers.link_bytes() - nbytes
        cpu = (servers.coordinator.cpu_seconds() - cpu[0],
               servers.shard_cpu() - cpu[1])
        answers = self.where_rows_go(case, way, "SELECT count(*), sum(aid)"
                                     " FROM pgbench_accounts")
        found = [sum(map(int, column)) for column in zip(
            *(answer.split("|") for answer in answers))]
        count = scale * 100000
        if found != [count, count * (count + 1) // 2]:
            raise Failure(f"pgbench, {way}: the servers have {found}")
        self.add(number, case, way, count, seconds, nbytes, cpu)

    def explain(self, case):
        """What EXPLAIN says of a statement by frames, once."""
        self.prepare(case, EXCHANGE)
        with Session(self.servers.coordinator) as session:
            session.run(self.options.settings)
            plan = session.run("EXPLAIN (ANALYZE, TIMING OFF) " +
                               self.statement(case, EXCHANGE))
        top = plan.split("->")[0]
        lines = re.findall(r"^ *((?:Transport|Compression|Wire|Time): .*)",
                           top if case.place == "one" else plan, re.M)
        self.plans[case] = list(dict.fromkeys(lines))

    def run(self):
        cases = self.cases()
        for number in range(self.options.runs):
            for case, ways in cases:
                shift = number % len(ways)
                for way in ways[shift:] + ways[:shift]:
                    if way not in self.options.ways:
                        continue
                    if case.part == "pgbench":
                        self.measure_pgbench(number, case, way)
                    else:
                        self.measure(number, case, way)
        for case, _ in cases:
            if case.operation != "COPY" and EXCHANGE in self.options.ways:
                self.servers.shape(self.options.mbit if case.part == "links"
                                   else None)
                self.explain(case)


def bench(options, work):
    """Measure and report; the exit status."""
    reason = why_not()
    if reason:
        print(f"no links, bytes are not counted: {reason}")
    with contextlib.ExitStack() as stack:
        spaces = [] if reason else stack.enter_context(
            namespaces(SHARDS + 1))
        measured = Bench(Cluster(work, options, *(
            (spaces[0], spaces[1:]) if spaces else ())), options)
        measured.run()
        version = measured.servers.coordinator.sql("SELECT version()")
    runs = measured.runs
    for major in options.majors:
        if major != measured.servers.major and "copy" in options.parts:
            runs += write_report.run_in_root(major, options)
    missed = write_report.write(options, runs, measured.plans, version)
    if options.no_plot:
        return 1 if missed else 0
    plot(options.output)
    print(f"\nwritten: {options.output}/write.md, write.csv, write.svg")
    return 1 if missed else 0


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000000,
                        help="rows of INSERT and COPY (1000000)")
    parser.add_argument("--changes", type=int, default=50000,
                        help="rows of UPDATE and DELETE (50000)")
    parser.add_argument("--runs", type=int, default=5,
                        help="runs of each statement by each way (5)")
    parser.add_argument("--parts", default=",".join(PARTS),
                        help=f"of {', '.join(PARTS)}")
    parser.add_argument("--ways", default=";".join(WAYS),
                        help=f"of {'; '.join(WAYS)}")
    parser.add_argument("--mbit", type=int, default=100,
                        help="speed of each link in Mbit/s (100)")
    parser.add_argument("--settings", default="SELECT",
                        help="SQL to run in each session before")
    parser.add_argument("--majors", default="17",
                        help="further majors that copy is run with (17)")
    parser.add_argument("--output", default=os.path.join(ROOT, "bench",
                                                         "report"),
                        help="folder for the report")
    parser.add_argument("--no-plot", action="store_true",
                        help="do not make write.svg")
    parser.add_argument("--matrix", action="store_true",
                        help="measure small and large statements instead")
    write_matrix.add_options(parser)
    options = parser.parse_args()
    options.load = os.getloadavg()
    options.parts = options.parts.split(",")
    options.ways = options.ways.split(";")
    options.majors = [int(major) for major in options.majors.split(",")
                      if major]
    return options


if __name__ == "__main__":
    given = read_options()
    body = write_matrix.bench if given.matrix else bench
    sys.exit(main(lambda work: body(given, work)))
