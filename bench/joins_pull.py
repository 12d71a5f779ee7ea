#!/usr/bin/env python3
"""How much faster is a join whose servers pull their rows from each other?

A coordinator and --shards servers on this machine, each in a network namespace
of its own (bench/netns.py; needs root). All of them hang on one switch, by
links of --mbit Mbit/s each way. orders is partitioned by its id, items by its
own number, of --rows rows each on every server. items is sent to where the
orders are; then both are cut by the hash of another key.

Each query runs --runs times with pg_exchange.join_pull off and on, in turns;
medians. Bytes are those of the coordinator's link, and of all others, both
ways, as the links count them. The answers must be the same."""
import argparse
import statistics
import sys
import time

import cluster
from harness import Failure, Server, Session, main
from netns import connect, namespaces, shape, why_not

SETTINGS = {**cluster.SETTINGS, "listen_addresses": "*",
            "pg_exchange.join_exchange": "hash_partition",
            "session_preload_libraries": "pg_exchange"}
JOIN = "SELECT o.priority, count(*), sum(i.qty), sum(length(i.note))" \
       " FROM orders o JOIN items i ON i.{} = o.{} GROUP BY 1 ORDER BY 1"
QUERIES = {"one side is cut": JOIN.format("ord", "id"),
           "both sides are cut": JOIN.format("code", "code")}


def link_bytes(switch):
    """Bytes over the coordinator's link, and over all others."""
    counts = {}
    for line in switch.run("cat", "/proc/net/dev").splitlines():
        if "link" in line:
            name, rest = line.split(":")
            fields = rest.split()
            counts[name.strip()] = int(fields[0]) + int(fields[8])
    return counts["link1"], sum(counts.values()) - counts["link1"]


def load(options, coordinator, shards, addresses):
    rows, number = options.rows, len(shards)
    for server in (coordinator, *shards):
        server.sql("CREATE EXTENSION postgres_fdw;"
                   "CREATE EXTENSION pg_exchange;")
        for other, address in zip(shards, addresses):
            if other is not server:
                cluster.add_server(server, other.name, other, "", address)
    tables = "CREATE TABLE orders (id int, priority int, code int)" \
             " PARTITION BY RANGE (id);" \
             "CREATE TABLE items (nr int, ord int, code int, qty int," \
             " note text) PARTITION BY RANGE (nr);"
    for place, shard in enumerate(shards):
        low, high = place * rows + 1, (place + 1) * rows
        shard.sql(f"""CREATE TABLE orders AS
            SELECT i AS id, i % 7 AS priority,
                hashint4(i) & 2147483647 AS code
            FROM generate_series({low}, {high}) i;
            CREATE TABLE items AS
            SELECT i AS nr, o AS ord, hashint4(o) & 2147483647 AS code,
                i % 9 AS qty, md5(i::text) AS note
            FROM (SELECT i, (hashint4(i) & 2147483647) % {rows * number} + 1
                FROM generate_series({low}, {high}) i) t(i, o)""")
        shard.sql("VACUUM (FREEZE, ANALYZE); CHECKPOINT")
        for table in ("orders", "items"):
            tables += f"CREATE FOREIGN TABLE {table}_{place} PARTITION OF" \
                      f" {table} FOR VALUES FROM ({low}) TO ({high + 1})" \
                      f" SERVER {shard.name} OPTIONS (table_name '{table}');"
    coordinator.sql(tables)
    coordinator.sql("SET pg_exchange.enabled = off; ANALYZE orders;"
                    "ANALYZE items")


def measure(options, switch, coordinator):
    answers, runs = {}, {}
    for number in range(options.runs):
        for name, query in QUERIES.items():
            for way in ("off", "on"):
                with Session(coordinator) as session:
                    session.run(f"SET pg_exchange.join_pull = {way};"
                                f"SET pg_exchange.compression = '{options.mode}'")
                    plan = session.run(f"EXPLAIN (ANALYZE) {query}")
                    if ("Pulled: " in plan) != (way == "on"):
                        raise Failure(plan)
                    before, started = link_bytes(switch), time.monotonic()
                    answer = session.run(query)
                    seconds = time.monotonic() - started
                    moved = [after - before for after, before
                             in zip(link_bytes(switch), before)]
                if answers.setdefault(name, answer) != answer:
                    raise Failure(f"{name}: two answers")
                runs.setdefault((name, way), []).append((seconds, *moved))
                print(f"# run {number}, {name}, join_pull = {way}:"
                      f" {seconds:.2f} s, coordinator {moved[0] / 1e6:.1f} MB,"
                      f" others {moved[1] / 1e6:.1f} MB", flush=True)
    print("| query | join_pull | s | MB of the coordinator's link |"
          " MB of the others' |\n|---|---|---|---|---|")
    for (name, way), values in runs.items():
        seconds, own, others = map(statistics.median, zip(*values))
        print(f"| {name} | `{way}` | {seconds:.2f} | {own / 1e6:.1f} |"
              f" {others / 1e6:.1f} |")


def bench(options, work):
    reason = why_not()
    if reason:
        raise Failure(reason)
    with namespaces(options.shards + 2) as (switch, *nodes):
        switch.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        addresses = []
        for number, node in enumerate(nodes, 1):
            near, far = connect(switch, node, number)
            node.run("ip", "route", "add", "default", "via", near)
            addresses.append(far)
        servers = []
        for number, node in enumerate(nodes):
            pulls = {"pg_exchange.join_pull": "on"} if number else {}
            servers.append(Server(work, f"shard{number}" if number else
                                  "coordinator", {**SETTINGS, **pulls}, node))
            with open(servers[-1].data + "/pg_hba.conf", "a",
                      encoding="utf-8") as hba:
                hba.write("host all all 10.99.0.0/16 trust\n")
            servers[-1].sql("SELECT pg_reload_conf()")
        load(options, servers[0], servers[1:], addresses[1:])
        for number, node in enumerate(nodes, 1):
            shape(switch, node, number, options.mbit)
        measure(options, switch, servers[0])
    return 0


def read_options():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=4, help="servers (4)")
    parser.add_argument("--rows", type=int, default=500000,
                        help="of each table on each server (500000)")
    parser.add_argument("--mbit", type=int, default=100,
                        help="speed of each link (100)")
    parser.add_argument("--mode", default="auto",
                        help="pg_exchange.compression (auto)")
    parser.add_argument("--runs", type=int, default=3, help="runs (3)")
    return parser.parse_args()


if __name__ == "__main__":
    given = read_options()
    sys.exit(main(lambda work: bench(given, work)))
