"""TPC-H over several shards: tables hash- or range-partitioned on a coordinator, whose partitions are
foreign tables, and a single server that holds the same rows. For the tests and benchmarks that need more
than the two nodes of harness.py."""
import os
import re

from harness import ROOT, TPCH, Failure, Server, load_tpch

# What each table is partitioned by. Orders and lineitem are partitioned alike, and so are part and
# partsupp: partition-wise, their joins are pushed down.
KEYS = {"region": "r_regionkey", "nation": "n_nationkey", "supplier": "s_suppkey", "part": "p_partkey",
        "partsupp": "ps_partkey", "customer": "c_custkey", "orders": "o_orderkey", "lineitem": "l_orderkey"}

# Whose keys are split into ranges, if they are not the table's own: tables
# that are joined by these keys have the same bounds.
KEYS_OF = {"partsupp": "part", "lineitem": "orders"}

# For the subqueries of Q2, Q17, Q20 and Q21, which are run once for each row of the outer query.
INDEXES = ("part (p_partkey)", "supplier (s_suppkey)", "partsupp (ps_partkey)", "customer (c_custkey)", "orders (o_orderkey)",
           "orders (o_custkey)", "lineitem (l_orderkey)", "lineitem (l_partkey)")

SETTINGS = {"shared_buffers": "64MB", "wal_level": "minimal", "max_wal_senders": "0", "max_wal_size": "8GB",
            "autovacuum": "off", "jit": "off"}


def queries():
    """The TPC-H queries: {"Q1": SQL without semicolon, …}."""
    with open(os.path.join(ROOT, "bench", "tpch_queries.sql"), encoding="utf-8") as text:
        parts = re.split(r"^-- (Q\d+)\n", text.read(), flags=re.M)[1:]
    return {name: query.strip().rstrip(";") for name, query in zip(parts[::2], parts[1::2])}


def load_single(work, scale, tables=tuple(TPCH), settings=None, **options):
    """A server "single" with TPC-H in schema public, indexed."""
    single = Server(work, "single", settings or SETTINGS, **options)
    load_tpch(single, scale, tables)
    single.sql("".join(f"CREATE INDEX ON {index};" for index in INDEXES if index.split()[0] in tables) + "ANALYZE;")
    return single


def range_bounds(single, parts, tables=tuple(TPCH)):
    """Bounds that split each table's keys into ranges of the same length:
    {table: [the first key of part 1, of part 2, ...]}."""
    bounds = {}
    for table in tables:
        keys = KEYS_OF.get(table, table)
        low, high = map(int, single.sql(
            f"SELECT min({KEYS[keys]}), max({KEYS[keys]}) FROM {keys}"
        ).split("|"))
        bounds[table] = [low + (high - low + 1) * part // parts
                         for part in range(1, parts)]
    return bounds


def _partition_by(table, bounds):
    return f"{'RANGE' if bounds else 'HASH'} ({KEYS[table]})"


def _values(table, bounds, number, parts):
    """The partition bound of part number as SQL."""
    if not bounds:
        return f"WITH (MODULUS {parts}, REMAINDER {number})"
    ends = ["MINVALUE", *map(str, bounds[table]), "MAXVALUE"]
    return f"FROM ({ends[number]}) TO ({ends[number + 1]})"


def _is_in(table, bounds, number, parts):
    """The same as a condition on the table's rows."""
    key = KEYS[table]
    if not bounds:
        return (f"satisfies_hash_partition('model'::regclass, {parts},"
                f" {number}, {key})")
    ends = [None, *bounds[table], None]
    sides = zip((">=", "<"), (ends[number], ends[number + 1]))
    return " AND ".join(f"{key} {operator} {end}" for operator, end in sides
                        if end is not None)


def spread(single, shards, tables=tuple(TPCH), bounds=None,
           database="postgres"):
    """Copy the rows of single's tables to the shards, which get pg_exchange:
    hash partitions of the same names, or ranges, if there are range_bounds.

    The shards may have other tables already; returns nothing."""
    for table in tables:
        # An empty table, for the partition bounds that satisfies_hash_partition goes by.
        single.sql(f"CREATE TABLE model (LIKE {table}) PARTITION BY {_partition_by(table, bounds)}")
        for number, shard in enumerate(shards):
            path = os.path.join(single.work, f"{table}.{number}.copy")
            single.sql(f"COPY (SELECT * FROM {table} WHERE {_is_in(table, bounds, number, len(shards))})"
                       f" TO '{path}' (FORMAT binary)")
            shard.sql(f"BEGIN; CREATE TABLE {table} ({TPCH[table]}); COPY {table} FROM '{path}' (FORMAT binary, FREEZE); COMMIT;",
                      database)
            os.remove(path)
        single.sql("DROP TABLE model")
    for shard in shards:
        shard.sql("".join(f"CREATE INDEX ON {index};" for index in INDEXES if index.split()[0] in tables) +
                  "ANALYZE; CREATE EXTENSION pg_exchange; CHECKPOINT;", database)


def add_server(coordinator, name, shard, options="", host="127.0.0.1", database="postgres"):
    """A foreign server of a shard's database, with further options as SQL."""
    coordinator.sql(f"""CREATE SERVER {name} FOREIGN DATA WRAPPER postgres_fdw
            OPTIONS (host '{host}', port '{shard.port}', dbname '{database}', fetch_size '10000'{options and ', ' + options});
        CREATE USER MAPPING FOR CURRENT_USER SERVER {name} OPTIONS (user 'postgres');""")


def partition(coordinator, servers, tables=tuple(TPCH), schema="public",
              bounds=None):
    """Partitioned tables over the foreign servers, which stand in the order
    that spread() had, with its bounds."""
    coordinator.sql(f"CREATE SCHEMA IF NOT EXISTS {schema};" + "".join(
        f"CREATE TABLE {schema}.{table} ({TPCH[table]}) PARTITION BY {_partition_by(table, bounds)};" + "".join(
            f"CREATE FOREIGN TABLE {schema}.{table}_{number} PARTITION OF {schema}.{table}"
            f" FOR VALUES {_values(table, bounds, number, len(servers))} SERVER {server}"
            f" OPTIONS (schema_name 'public', table_name '{table}');"
            for number, server in enumerate(servers))
        for table in tables))


def check_spread(coordinator, single, tables=tuple(TPCH)):
    """Every row must have got to the partition that the coordinator looks for it in."""
    for table in tables:
        counts = [server.sql(f"SELECT count(*) FROM {table}") for server in (single, coordinator)]
        if counts[0] != counts[1]:
            raise Failure(f"{table}: {counts[0]} rows on one server, {counts[1]} on the shards")
