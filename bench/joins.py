#!/usr/bin/env python3
"""make bench-joins: how fast are tables of several servers joined?

A coordinator and four shards on this machine, each in a network namespace of
its own (bench/netns.py; needs root), behind links of --links Mbit/s, and one
server with all the rows, which needs no link. The parts:

keys    1,000 random keys of a local table against a foreign table of three
        million rows, of which two columns are selected; with the statistics
        of the keys and without
part    TPC-H lineitem and part, which are partitioned by their own keys:
        three columns, summed up, for all parts and for a fortieth of them;
        and all columns of both
orders  lineitem, partitioned by order, and orders, partitioned by customer:
        summed up, and rows
star    random queries over a fact table on the shards and four dimensions:
        two on the coordinator, one on a shard, one partitioned over all

Each query is run in several ways, in turns; medians. The answers must be
those of the one server; of a query for all columns, the number of rows. Bytes
are those of both directions, as the links count them. CPU seconds are those
of all servers.

Writes bench/report/joins.csv (every run), joins.md and joins.svg (where
matplotlib is to be had). Exit status 1 if a goal is missed."""
import argparse
import collections
import os
import random
import re
import sys
import time

import cluster
import joins_report
from harness import ROOT, Failure, Server, Session, main, plot
from joins_report import (CLASSIC, EXCHANGE, FDW, FDW_100, NO_FILTERS, SERVER,
                          WAYS)
from netns import connect, namespaces, shape, why_not

PARTS = ("keys", "part", "orders", "star")
SHARDS = 4
SETTINGS = {**cluster.SETTINGS, "shared_buffers": "512MB",
            "synchronize_seqscans": "off", "listen_addresses": "*"}
TPCH = ("part", "orders", "lineitem")

# A number that row i has: the same on every server.
FUNCTION = """CREATE FUNCTION h(i int, n int) RETURNS int IMMUTABLE
    LANGUAGE sql RETURN hashint4(i * 97 + n) & 2147483647;"""

# The dimensions: how many rows, and what row i has.
DIMENSIONS = {
    "day": (2500, "i AS day_id, date '2018-01-01' + i AS day,"
            " 2018 + i / 365 AS year, i / 30 % 12 + 1 AS month"),
    "store": (1000, "i AS store_id, 'store ' || i AS store_name,"
              " 'region ' || h(i, 1) % 12 AS region, h(i, 2) % 5 AS size"),
    "product": (50000, "i AS product_id, 'brand ' || h(i, 3) % 400 AS brand,"
                " 'category ' || h(i, 4) % 20 AS category,"
                " (h(i, 5) % 10000)::numeric(8,2) AS list_price"),
    "client": (100000, "i AS client_id, 'client ' || i AS client_name,"
               " 'city ' || h(i, 6) % 300 AS city, h(i, 7) % 90 AS age"),
}
FACT = """i AS fact_id, h(i, 11) % 2500 + 1 AS day_id,
    CASE h(i, 12) % 4 WHEN 0 THEN 7 ELSE h(i, 13) % 1000 + 1 END AS store_id,
    h(i, 14) % 50000 + 1 AS product_id, h(i, 15) % 100000 + 1 AS client_id,
    h(i, 16) % 50 AS quantity,
    (h(i, 17) % 100000 / 100.0)::numeric(10,2) AS amount"""
FAR = "i AS id, h(i, 21) AS value, md5(i::text) AS filler"
KEYS = "SELECT DISTINCT h(i, 22) % {rows} + 1 AS id" \
       " FROM generate_series(1, 1000) i"

# A query, its part, and whether only its rows are counted
Query = collections.namedtuple("Query", "part name sql counted")


def tpch_queries():
    summed = "SELECT p_brand, count(*), sum(l_extendedprice)" \
             " FROM lineitem JOIN part ON p_partkey = l_partkey"
    yield Query("part", "lineitem, part: three columns, summed up",
                f"{summed} GROUP BY 1 ORDER BY 1", False)
    yield Query("part", "lineitem, part: the same for a fortieth of parts",
                f"{summed} WHERE p_container = 'MED BOX' GROUP BY 1"
                " ORDER BY 1", False)
    yield Query("part", "lineitem, part: all columns",
                "SELECT * FROM lineitem JOIN part ON p_partkey = l_partkey",
                True)
    yield Query("orders", "lineitem, orders by customer: summed up",
                "SELECT o_orderpriority, count(*), sum(l_extendedprice)"
                " FROM lineitem JOIN orders ON o_orderkey = l_orderkey"
                " GROUP BY 1 ORDER BY 1", False)
    yield Query("orders", "lineitem, orders by customer: four columns",
                "SELECT o_orderkey, o_custkey, l_linenumber, l_extendedprice"
                " FROM lineitem JOIN orders ON o_orderkey = l_orderkey"
                " WHERE o_orderdate >= '1995-01-01'", True)


def key_queries():
    for table, name in (("keys", ""), ("fresh_keys", ", no statistics")):
        yield Query("keys", f"1,000 keys, 3 million rows{name}",
                    f"SELECT f.id, f.value FROM {table} k JOIN far f"
                    " ON f.id = k.id ORDER BY 1", False)


def star_query(rng):
    """A random query over the fact table and some dimensions."""
    filters = {
        "day": ["year = 2020", "month IN (1, 2)", "day < '2018-03-01'",
                "day BETWEEN '2020-06-01' AND '2020-06-14'"],
        "store": [f"region = 'region {rng.randrange(12)}'", "size = 3",
                  "store_id < 20"],
        "product": [f"category = 'category {rng.randrange(20)}'",
                    f"brand = 'brand {rng.randrange(400)}'",
                    "list_price > 9900"],
        "client": [f"city = 'city {rng.randrange(300)}'", "age < 4",
                   f"client_name LIKE 'client {rng.randint(1, 9)}1%'"],
    }
    groups = {"day": ["year", "month"], "store": ["region", "size"],
              "product": ["category", "brand"], "client": ["city", "age"]}
    used = rng.sample(list(DIMENSIONS), rng.choice([1, 2, 2, 3, 3, 4]))
    joins, where = [], []
    for number, name in enumerate(used):
        condition = rng.choice(filters[name])
        if number and rng.random() < 0.25:
            where.append(f"f.{name}_id IN (SELECT {name}_id FROM {name}"
                         f" WHERE {condition})")
            continue
        joins.append(name)
        if rng.random() < 0.7 or len(used) == 1:
            where.append(condition)
    keys = [rng.choice(groups[name]) for name in rng.sample(
        joins, min(len(joins), rng.choice([1, 1, 2])))]
    items = [*keys, "count(*)", rng.choice(
        ["sum(amount)", "sum(amount * quantity)", "max(amount)",
         "avg(quantity)", "sum(quantity)", "min(f.fact_id)"])]
    text = f"SELECT {', '.join(items)} FROM fact f" + "".join(
        f" JOIN {name} USING ({name}_id)" for name in joins)
    if rng.random() < 0.3:
        where.append("quantity < 5")
    if where:
        text += " WHERE " + " AND ".join(where)
    order = ", ".join(str(number + 1) for number in range(len(keys)))
    text += f" GROUP BY {', '.join(keys)} ORDER BY {order}"
    return text + rng.choice(["", "", " LIMIT 10"])


def queries(options):
    made = [*key_queries(), *tpch_queries()]
    for number in range(options.queries):
        rng = random.Random(f"{options.seed}/{number}")
        made.append(Query("star", f"star {number + 1}", star_query(rng),
                          False))
    return [query for query in made if query.part in options.parts]


# ---- servers -------------------------------------------------------------

def foreign_table(name, model, server, extra=""):
    """A foreign table with the columns that a local table has."""
    return f"""DO $$BEGIN EXECUTE (SELECT 'CREATE FOREIGN TABLE {name} (' ||
        string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', '
        ORDER BY attnum) || ') SERVER {server} OPTIONS (schema_name ''public'',
        table_name ''{model}'')' FROM pg_attribute WHERE attnum > 0 AND
        attrelid = '{model}_model'::regclass); END$$; {extra}"""


class Cluster:
    """A coordinator and four shards behind links, and the one server."""

    def __init__(self, work, options, here, theres):
        self.options, self.here, self.theres = options, here, theres
        self.mbit = None
        print(f"starting {SHARDS + 2} servers, loading", flush=True)
        # Orders by customer, so that its partitions do not match lineitem's
        cluster.KEYS["orders"] = "o_custkey"
        tpch = TPCH if {"part", "orders"} & {*options.parts} else ()
        self.single = cluster.load_single(work, options.scale, tpch, SETTINGS)
        self.shards = [Server(work, f"shard{number}", SETTINGS, there)
                       for number, there in enumerate(theres, 1)]
        self.coordinator = Server(work, "coordinator", {
            **SETTINGS, "session_preload_libraries": "pg_exchange"}, here)
        for shard in self.shards:
            with open(os.path.join(shard.data, "pg_hba.conf"), "a",
                      encoding="utf-8") as hba:
                hba.write("host all all 10.99.0.0/16 trust\n")
            shard.sql("SELECT pg_reload_conf()")
        cluster.spread(self.single, self.shards, tpch)
        self.coordinator.sql("CREATE EXTENSION postgres_fdw;"
                             "CREATE EXTENSION pg_exchange;")
        self.names = [f"shard{number}" for number in range(1, SHARDS + 1)]
        for number, (name, shard, there) in enumerate(
                zip(self.names, self.shards, theres), 1):
            cluster.add_server(self.coordinator, name, shard,
                               "async_capable 'true'",
                               connect(here, there, number)[1])
        cluster.partition(self.coordinator, self.names, tpch)
        for server in (self.single, self.coordinator, *self.shards):
            server.sql(FUNCTION)
        if "keys" in options.parts:
            self.load_keys()
        if "star" in options.parts:
            self.load_star()
        self.finish(tpch)

    def load_keys(self):
        rows = self.options.rows
        far = f"CREATE TABLE far AS SELECT {FAR}" \
              f" FROM generate_series(1, {rows}) i;"
        keys = f"CREATE TABLE keys AS {KEYS.format(rows=rows)};" \
               "CREATE TABLE fresh_keys AS SELECT * FROM keys;" \
               "ANALYZE keys;"
        self.single.sql(far + keys)
        self.shards[0].sql(far)
        self.coordinator.sql(
            f"CREATE TABLE far_model AS SELECT {FAR} FROM"
            " generate_series(1, 0) i;" + keys +
            foreign_table("far", "far", "shard1", "DROP TABLE far_model;"))

    def load_star(self):
        facts = self.options.facts
        indexes = "".join(f"CREATE UNIQUE INDEX ON {name} ({name}_id);"
                          for name in DIMENSIONS)
        dimension = {
            name: f"SELECT {values} FROM generate_series(1, {rows}) i"
            for name, (rows, values) in DIMENSIONS.items()}
        self.single.sql("".join(
            f"CREATE TABLE {name} AS {select};"
            for name, select in dimension.items()) + indexes +
            f"CREATE TABLE fact AS SELECT {FACT}"
            f" FROM generate_series(1, {facts}) i;")
        ends = [facts * number // SHARDS for number in range(SHARDS + 1)]
        text = "".join(f"CREATE TABLE {name} AS {dimension[name]};"
                       f"CREATE UNIQUE INDEX ON {name} ({name}_id);"
                       for name in ("day", "store"))
        text += f"""CREATE TABLE fact_model AS SELECT {FACT}
            FROM generate_series(1, 0) i;
            CREATE TABLE client_model AS {dimension['client']} LIMIT 0;
            CREATE TABLE product_model AS {dimension['product']} LIMIT 0;
            CREATE TABLE fact (LIKE fact_model)
                PARTITION BY RANGE (fact_id);
            CREATE TABLE client (LIKE client_model)
                PARTITION BY RANGE (client_id);"""
        clients = DIMENSIONS["client"][0]
        for number, name in enumerate(self.names):
            low, high = ends[number:number + 2]
            parts = [number * clients // SHARDS,
                     (number + 1) * clients // SHARDS]
            self.shards[number].sql(
                f"CREATE TABLE fact AS SELECT {FACT} FROM generate_series("
                f"{low + 1}, {high}) i; CREATE TABLE client AS SELECT"
                f" {DIMENSIONS['client'][1]} FROM generate_series("
                f"{parts[0] + 1}, {parts[1]}) i;"
                "CREATE UNIQUE INDEX ON client (client_id);")
            for table, (first, last) in (("fact", (low, high)),
                                         ("client", parts)):
                text += foreign_table(f"{table}_{number}", table, name)
                text += f"ALTER TABLE {table} ATTACH PARTITION" \
                        f" {table}_{number} FOR VALUES FROM ({first + 1})" \
                        f" TO ({last + 1});"
        self.shards[1].sql(f"CREATE TABLE product AS {dimension['product']};"
                           "CREATE UNIQUE INDEX ON product (product_id);")
        self.coordinator.sql(text + foreign_table(
            "product", "product", "shard2", "DROP TABLE fact_model,"
            " client_model, product_model;"))

    def finish(self, tpch):
        """Freeze the rows, and make statistics; but not of fresh_keys."""
        for server in (self.single, *self.shards):
            server.sql("VACUUM (FREEZE, ANALYZE); CHECKPOINT;")
        tables = list(tpch)
        if "keys" in self.options.parts:
            tables.append("far")
            self.single.sql("DELETE FROM pg_statistic WHERE starelid ="
                            " 'fresh_keys'::regclass")
        if "star" in self.options.parts:
            tables += ["fact", *DIMENSIONS]
        self.coordinator.sql("SET pg_exchange.enabled = off;" + "".join(
            f"ANALYZE {table};" for table in tables) + "CHECKPOINT")

    def shape(self, mbit):
        if mbit != self.mbit:
            for number, there in enumerate(self.theres, 1):
                shape(self.here, there, number, mbit)
            self.mbit = mbit

    def set_fetch_size(self, rows):
        """For the sessions that begin after it."""
        self.coordinator.sql("".join(
            f"ALTER SERVER {name} OPTIONS (SET fetch_size '{rows}');"
            for name in self.names))

    def link_bytes(self):
        """Bytes over all links, both ways, packet headers included."""
        counts = [line.split(":")[1].split() for line in
                  self.here.run("cat", "/proc/net/dev").splitlines()
                  if "link" in line]
        return sum(int(count[0]) + int(count[8]) for count in counts)

    def cpu(self):
        """CPU seconds so far: of the coordinator or one server, of shards."""
        return (self.coordinator.cpu_seconds() + self.single.cpu_seconds(),
                sum(shard.cpu_seconds() for shard in self.shards))


# ---- measuring -----------------------------------------------------------

class Bench:
    """The measurement: runs has a row for each run of a query."""

    def __init__(self, servers, options):
        self.servers, self.options, self.runs = servers, options, []
        self.started, self.expected, self.plans = time.monotonic(), {}, {}
        with Session(servers.coordinator) as session:
            known = dict(line.split("|") for line in session.run(
                "LOAD 'pg_exchange'; SELECT name, coalesce(enumvals::text,"
                " '') FROM pg_settings WHERE name LIKE 'pg_exchange.%'"
            ).split("\n"))
        self.ways = {}
        for way, settings in WAYS.items():
            usable = {name: value for name, value in settings.items()
                      if name in known and (not known[name] or value in
                                            known[name].strip("{}").split(
                                                ","))}
            # Version 1.0's plan: what came later is off, if it is there.
            if way in options.ways and (usable == settings or way == CLASSIC):
                self.ways[way] = "".join(
                    f"SET {name} = '{value}';"
                    for name, value in usable.items())

    def runs_of(self, way):
        return min(self.options.runs, self.options.fdw_runs
                   if way in (FDW, FDW_100, CLASSIC) else self.options.runs)

    def steps(self):
        """(run, link, query, way) in the order in which to measure."""
        for link in self.options.links:
            for number in range(self.options.runs):
                for query in queries(self.options):
                    if link != self.options.links[0] and (
                            query.counted or query.part == "star"):
                        continue
                    ways = [way for way in self.ways
                            if number < self.runs_of(way)]
                    if query.part == "star":
                        ways = [way for way in ways if way in (
                            SERVER, EXCHANGE, NO_FILTERS) or
                                self.options.star_ways == "all"]
                    # One server is the first: it has the answer.
                    shift = number % len(ways)
                    rest = [way for way in ways if way != SERVER]
                    shift = number % len(rest) if rest else 0
                    for way in [SERVER, *rest[shift:], *rest[:shift]]:
                        yield number, link, query, way

    def measure(self, number, link, query, way):
        """One run in a fresh backend that has connected before."""
        servers, cut = self.servers, self.options.limit
        servers.shape(link)
        server = servers.single if way == SERVER else servers.coordinator
        outcome, answer = "", None
        if way == FDW_100:
            servers.set_fetch_size(100)
        session = Session(server)
        try:
            session.run("SET timezone = 'UTC';" + self.ways.get(way, ""))
            if way != SERVER:
                self.connect(session, query)
            session.run(f"SET statement_timeout = '{cut}s'")
            before = servers.cpu(), servers.link_bytes()
            started = time.monotonic()
            if query.counted:
                seconds, plan = session.explain(query.sql)
                answer = str(plan["Actual Rows"])
            else:
                answer = session.run(query.sql)
                seconds = time.monotonic() - started
            session.close()
        except Failure as failure:
            session.kill()
            seconds = time.monotonic() - started
            outcome = "cut off" if "statement timeout" in str(failure) \
                else "failed"
            if outcome == "failed":
                print(str(failure)[-600:], flush=True)
        cpu, nbytes = servers.cpu(), servers.link_bytes() - before[1]
        if way == FDW_100:
            servers.set_fetch_size(10000)
        if way == SERVER:
            if self.expected.setdefault(query.name, answer) != answer:
                raise Failure(f"{query.name}: one server has two answers")
        elif not outcome and answer != self.expected[query.name]:
            outcome = "differs"
        self.runs.append({
            "part": query.part, "query": query.name, "link": link,
            "way": way, "run": number, "seconds": round(seconds, 4),
            "bytes": 0 if way == SERVER else nbytes,
            "cpu": round(cpu[0] - before[0][0], 2),
            "shard_cpu": round(cpu[1] - before[0][1], 2),
            "outcome": outcome,
            "plan": "" if way == SERVER else self.kinds(query, way)})
        print(f"{time.monotonic() - self.started:5.0f} s  {query.name},"
              f" {link} Mbit/s, {way}: {seconds:.2f} s,"
              f" {nbytes / 1e6:.1f} MB, CPU {self.runs[-1]['cpu']:.2f} +"
              f" {self.runs[-1]['shard_cpu']:.2f} s {outcome}", flush=True)

    @staticmethod
    def connect(session, query):
        """Have the session's connections, and the caches, as usual."""
        tables = {"keys": ["far"], "star": ["fact", "client", "product"]
                  }.get(query.part, TPCH)
        for table in tables:
            session.run(f"SELECT count(*) FROM (SELECT 1 FROM {table}"
                        " LIMIT 1) t")
        session.run(f"EXPLAIN {query.sql}")

    def kinds(self, query, way):
        """What the plan has of exchanges; asked once for each way."""
        if (query.name, way) not in self.plans:
            with Session(self.servers.coordinator) as session:
                session.run(self.ways[way])
                self.plans[query.name, way] = session.run(
                    f"EXPLAIN (VERBOSE) {query.sql}")
        plan = self.plans[query.name, way]
        found = re.findall(r"Exchange Type: (\w+)|(Runtime Filter):|"
                           r"\(Exchange(Lookup)\)", plan)
        return "; ".join(sorted({"".join(kind) for kind in found}))

    def run(self):
        for step in self.steps():
            self.measure(*step)
        if self.options.plans:
            with open(self.options.plans, "w", encoding="utf-8") as target:
                for (name, way), plan in self.plans.items():
                    target.write(f"-- {name}, {way}\n{plan}\n\n")


def bench(options, work):
    reason = why_not()
    if reason:
        raise Failure(f"cannot measure: {reason}")
    with namespaces(SHARDS + 1) as (here, *theres):
        measured = Bench(Cluster(work, options, here, theres), options)
        measured.run()
        version = measured.servers.coordinator.sql("SELECT version()")
    missed = joins_report.write(options, measured.runs, version)
    if not options.no_plot:
        plot(options.output)
    print(f"\nwritten: {options.output}/joins.md, joins.csv, joins.svg")
    return 1 if missed else 0


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0,
                        help="TPC-H scale factor (1)")
    parser.add_argument("--rows", type=int, default=3000000,
                        help="rows of the foreign table of keys (3000000)")
    parser.add_argument("--facts", type=int, default=10000000,
                        help="rows of the fact table (10000000)")
    parser.add_argument("--queries", type=int, default=40,
                        help="queries of star (40)")
    parser.add_argument("--seed", default="1", help="of these (1)")
    parser.add_argument("--runs", type=int, default=3,
                        help="runs of each query by each way (3)")
    parser.add_argument("--fdw-runs", type=int, default=1,
                        help=f"of these, by {FDW} and {CLASSIC} (1)")
    parser.add_argument("--limit", type=int, default=120,
                        help="seconds until a query is cut off (120)")
    parser.add_argument("--links", default="1000,100",
                        help="speeds of the links in Mbit/s; star and all "
                        "columns have the first alone (1000,100)")
    parser.add_argument("--parts", default=",".join(PARTS),
                        help=f"of {', '.join(PARTS)}")
    parser.add_argument("--ways", default=";".join(WAYS),
                        help=f"of {'; '.join(WAYS)}")
    parser.add_argument("--star-ways", choices=("few", "all"), default="few",
                        help="all: star also by postgres_fdw and others")
    parser.add_argument("--plans", metavar="FILE",
                        help="file for EXPLAIN (VERBOSE) of each")
    parser.add_argument("--output", default=os.path.join(ROOT, "bench",
                                                         "report"),
                        help="folder for the report")
    parser.add_argument("--no-plot", action="store_true",
                        help="do not make joins.svg")
    options = parser.parse_args()
    options.load = os.getloadavg()
    options.links = [int(link) for link in options.links.split(",")]
    options.parts = options.parts.split(",")
    options.ways = options.ways.split(";")
    return options


if __name__ == "__main__":
    given = read_options()
    sys.exit(main(lambda work: bench(given, work)))
