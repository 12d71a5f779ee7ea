#!/usr/bin/env python3
"""make bench-latency: does the extension slow down the scans that it leaves alone?

Two real servers on this machine (bench/harness.py). pgbench fetches one row by primary key through
a foreign table, in backends with pg_exchange loaded and in backends without, in turns; compares the
medians of all single transactions. Exit status 1 if the extension costs more than 5 %."""
import argparse
import glob
import os
import statistics
import subprocess
import sys

from harness import Failure, Server, as_server_user, environment, main

LIMIT = 1.05
ROWS = 100000
SCRIPT = f"\\set id random(1, {ROWS})\nSELECT filler FROM items WHERE id = :id;\n"


def run_pgbench(work, coordinator, libraries, transactions):
    """One pgbench run in a fresh backend: latencies of its transactions in microseconds."""
    prefix = os.path.join(work, "latency")
    env = {**environment(work), "PGOPTIONS": f"-c session_preload_libraries={libraries}"}
    done = subprocess.run(["pgbench", "-n", "-h", work, "-p", str(coordinator.port), "-U", "postgres", "-t", str(transactions),
                           "-f", os.path.join(work, "fetch.sql"), "-l", "--log-prefix", prefix, "postgres"],
                          cwd=work, env=env, capture_output=True, text=True, check=False, **as_server_user())
    if done.returncode != 0:
        raise Failure(done.stderr)
    latencies = []
    for path in glob.glob(prefix + ".*"):
        with open(path, encoding="utf-8") as log:
            latencies += [int(line.split()[2]) for line in log]
        os.remove(path)
    return latencies[transactions // 10:]   # the first ones fill caches


def bench(options, work):
    settings = {"autovacuum": "off", "jit": "off"}
    shard, coordinator = Server(work, "shard", settings), Server(work, "coordinator", settings)
    shard.sql(f"""CREATE EXTENSION pg_exchange;
        CREATE TABLE items AS SELECT i AS id, repeat('x', 100) AS filler FROM generate_series(1, {ROWS}) i;
        ALTER TABLE items ADD PRIMARY KEY (id); VACUUM ANALYZE items;""")
    coordinator.sql(f"""CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange;
        CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{shard.port}', dbname 'postgres');
        CREATE USER MAPPING FOR CURRENT_USER SERVER shard OPTIONS (user 'postgres');
        IMPORT FOREIGN SCHEMA public LIMIT TO (items) FROM SERVER shard INTO public;
        ANALYZE items;""")
    with open(os.path.join(work, "fetch.sql"), "w", encoding="utf-8") as script:
        script.write(SCRIPT)

    variants = {"without": "", "with": "pg_exchange"}
    latencies = {name: [] for name in variants}
    for number in range(options.rounds):
        print(f"\r[{number + 1}/{options.rounds}]", end="", flush=True)
        for name in list(variants) if number % 2 else list(reversed(variants)):
            latencies[name] += run_pgbench(work, coordinator, variants[name], options.transactions // options.rounds)
    medians = {name: statistics.median(values) for name, values in latencies.items()}
    ratio = medians["with"] / medians["without"]
    print(f"\rprimary-key fetch, {options.transactions} transactions each: median without pg_exchange {medians['without']:.0f} us, "
          f"with {medians['with']:.0f} us, ratio {ratio:.3f}, at most {LIMIT} wanted" + ("" if ratio <= LIMIT else ": missed"))
    return 0 if ratio <= LIMIT else 1


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--transactions", type=int, default=10000, help="transactions of each variant (10000)")
parser.add_argument("--rounds", type=int, default=20, help="turns that they are run in (20)")
arguments = parser.parse_args()
sys.exit(main(lambda work: bench(arguments, work)))
