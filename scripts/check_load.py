#!/usr/bin/env python3
"""Load: 32 pgbench clients with exchanges small and large, on two real servers: scripts/check_load.py [TRANSACTIONS]

2700 transactions of each client if not given, which takes ten minutes. The answers are checked by the queries themselves; one of
the foreign servers has fewer connections than the clients want. After half of the time the memory and the files
of every backend, on both sides, must not grow any more; in the end nothing is left behind.
Fewer than 100 transactions are too few to tell growth from the beginning. Prints TAP."""
import glob
import os
import re
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))
import harness  # noqa: E402
import report  # noqa: E402

CLIENTS = 32
TIGHT = CLIENTS + 8     # connections: one of postgres_fdw's for each client, and a few streams
SAMPLE = 1.0            # seconds between two looks at /proc
# What memory and files may grow by: what goes up and down by itself, over some thousand transactions.
NOISE = 0.02
KINDS = ("memory", "number of open files")

SETTINGS = {"shared_buffers": "128MB", "autovacuum": "off", "jit": "off", "max_connections": "250"}

SHARD = """
    CREATE EXTENSION pg_exchange;
    CREATE ROLE tight LOGIN CONNECTION LIMIT {tight};
    CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name, i % 100 AS grp, (i * 7919 % 100003)::numeric / 100 AS amount,
            timestamptz '2020-02-03 04:05:06+00' + i * interval '1 minute' AS at
        FROM generate_series(1, 50000) i;
    CREATE INDEX ON events (id);
    CREATE TABLE wide AS SELECT i AS id, repeat(md5(i::text), 20) AS filler, ARRAY[i, i + 1] AS pair,
            jsonb_build_object('id', i) AS doc FROM generate_series(1, 5000) i;
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO tight;
    ANALYZE;"""

COORDINATOR = """
    CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{port}', dbname 'postgres', fetch_size '1000');
    CREATE SERVER tight FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{port}', dbname 'postgres',
        fetch_size '1000', keep_connections 'on');
    CREATE USER MAPPING FOR CURRENT_USER SERVER shard OPTIONS (user 'postgres');
    CREATE USER MAPPING FOR CURRENT_USER SERVER tight OPTIONS (user 'tight', password_required 'false');
    CREATE SCHEMA tight;
    IMPORT FOREIGN SCHEMA public FROM SERVER shard INTO public;
    IMPORT FOREIGN SCHEMA public FROM SERVER tight INTO tight;
    CREATE TABLE here AS SELECT i AS id FROM generate_series(1, 30) i;
    SET pg_exchange.enabled = off;
    ANALYZE events, wide, tight.events, here;"""

# Each client begins with postgres_fdw's connections, before streams take the rest; then all its streams do everything, in plain
# frames first: libpq keeps a buffer for the largest, and mode auto tries such frames when it likes.
PREAMBLE = r"""
\if :warm = 0
SET pg_exchange.enabled = off;
SELECT count(*) FROM events WHERE id = 1;
SELECT count(*) FROM tight.events WHERE id = 1;
SELECT pg_sleep(3);
RESET pg_exchange.enabled;
SET statement_timeout = '60s';
SET pg_exchange.compression = none;
{everything}
SET pg_exchange.compression = high_compression;
{once}
RESET pg_exchange.compression;
\set warm 1
\endif
"""
STREAMS = 4     # pg_exchange.max_connections_per_server
# A wrong answer is a division by zero.
RIGHT = "SELECT 1 / (({query}) = {answer})::int;"
# name: (weight, SQL). OFFSET 0 keeps a query from being pushed down as a whole.
SCRIPTS = {
    "point": (10, r"\set id random(1, 50000)" + "\n" + RIGHT.format(query="SELECT id FROM events WHERE id = :id", answer=":id")),
    "range": (6, r"\set id random(1, 49000)" + "\n" + RIGHT.format(
        query="SELECT count(name) FROM (SELECT name FROM events WHERE id BETWEEN :id AND :id + 999 OFFSET 0) x", answer=1000)),
    "large": (2, RIGHT.format(query="SELECT sum(id + length(name)) FROM (SELECT * FROM events OFFSET 0) x", answer=1250025000 + 538894)),
    "slices": (1, "BEGIN; SET LOCAL pg_exchange.slices = 4;\n" + RIGHT.format(
        query="SELECT sum(id) FROM (SELECT * FROM events OFFSET 0) x", answer=1250025000) + "\nCOMMIT;"),
    "wide": (2, RIGHT.format(query="SELECT sum(length(filler) + pair[1]) FROM (SELECT * FROM wide OFFSET 0) x", answer=5000 * 640 + 12502500)),
    "limit": (4, RIGHT.format(query="SELECT count(*) FROM (SELECT * FROM wide LIMIT 7) x", answer=7)),
    "join": (2, RIGHT.format(
        query="SELECT count(*) FROM (SELECT * FROM events OFFSET 0) e JOIN (SELECT * FROM wide OFFSET 0) w USING (id)", answer=5000)),
    "parameters": (2, "BEGIN; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;\n" + RIGHT.format(
        query="SELECT sum(e.id) FROM here h CROSS JOIN LATERAL (SELECT id FROM events x WHERE x.id = h.id OFFSET 0) e", answer=465) + "\nCOMMIT;"),
    "cursors": (2, "BEGIN; DECLARE a CURSOR FOR SELECT id, filler FROM wide ORDER BY id; DECLARE b CURSOR FOR SELECT name FROM events;\n"
                   "FETCH 100 FROM a; FETCH 100 FROM b; MOVE 2000 FROM a; SAVEPOINT s; FETCH 10 FROM b; ROLLBACK TO s;\n" + RIGHT.format(
                       query="SELECT count(*) FROM (SELECT id FROM wide OFFSET 0) x", answer=5000) + "\nCLOSE a; COMMIT;"),
    "cancelled": (1, "BEGIN; SAVEPOINT s; SET LOCAL statement_timeout = '60s';\n" + RIGHT.format(
        query="SELECT count(*) FROM (SELECT * FROM wide LIMIT 1) x", answer=1) + "\nROLLBACK TO s; ROLLBACK;"),
    "tight": (4, RIGHT.format(query="SELECT sum(id) FROM (SELECT * FROM tight.events OFFSET 0) x", answer=1250025000)),
}


def backends(server):
    """{pid: (anonymous memory in bytes, open files)} of the server's client backends."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="utf-8") as file:
                status = file.read()
            if f"\nPPid:\t{server.pid}\n" not in status:
                continue
            folder = os.path.dirname(path)
            with open(folder + "/cmdline", encoding="utf-8", errors="replace") as file:
                if not re.match(r"postgres: \S+ postgres ", file.read()):
                    continue
            anonymous = int(re.search(r"^RssAnon:\s+(\d+)", status, re.M)[1]) * 1024
            found[int(os.path.basename(folder))] = anonymous, len(os.listdir(folder + "/fd"))
        except (OSError, TypeError):
            continue    # it ended just now
    return found


def watch(coordinator, shard, process):
    """Look at all backends until the process ends, or the first client has left: for each server a list of backends."""
    looks = []
    while process.poll() is None:
        looks.append((backends(coordinator), backends(shard)))
        time.sleep(SAMPLE)
    while looks and len(looks[-1][0]) < CLIENTS:
        looks.pop()
    return zip(*looks)


def level(samples, pids, which):
    """What these backends have together: the median of some samples."""
    return statistics.median(sum(found[pid][which] for pid in pids if pid in found) for found in samples)


def levels(name, samples):
    """{what: (after half of the samples, in the end)} of the backends that were there all the time, and for a while before; and
    how many these are."""
    lasting, window = samples[len(samples) // 3:], len(samples) // 8 + 1
    early, late = samples[len(samples) // 2:][:window], lasting[-window:]
    pids = set(lasting[0]) & set(lasting[-1])   # in between, a backend may be missed that changes its title just then
    found = {what: [level(part, pids, which) for part in (early, late)] for which, what in enumerate(KINDS)}
    most = max(backend[pid][0] for backend in late for pid in backend)
    (memory, files) = found.values()
    report.comment(f"{name}: {len(pids)} backends, {memory[0] / 2**20:.1f} to {memory[1] / 2**20:.1f} MB (the largest {most / 2**20:.1f}), "
                   f"{files[0]:.0f} to {files[1]:.0f} files")
    return found, len(pids)


def grown(found):
    return [what for what, (before, after) in found.items() if after >= before * (1 + NOISE)]


def judge(name, found, npids):
    """Has anything grown since half of the time?"""
    for what, (before, after) in found.items():
        test = f"the {what} of the {name}'s backends does not grow"
        if npids < CLIENTS:
            report.skip(test, f"only {npids} sessions have lasted")
        else:
            report.ok(what not in grown(found), test, f"{before}, then {after}")


def load(work, coordinator, shard, arguments, transactions):
    """Run the clients to their end: (pgbench, what it printed, for each server a list of backends)."""
    with open(work + "/pgbench.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(["pgbench", "-n", "-c", str(CLIENTS), "-j", "2", "-t", str(transactions), "-D", "warm=0", "-r",
                                    "--random-seed=1", "-h", work, "-p", str(coordinator.port), "-U", "postgres", *arguments, "postgres"],
                                   cwd=work, env=harness.environment(work), stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, **harness.as_server_user())
        try:
            series = watch(coordinator, shard, process)
        finally:
            process.kill()
            process.wait()
    with open(work + "/pgbench.log", encoding="utf-8") as log:
        return process, log.read(), series


def run(work, transactions):
    shard = harness.Server(work, "shard", SETTINGS)
    coordinator = harness.coordinator(work, {**SETTINGS, "pg_exchange.min_bytes": "1000"})
    shard.sql(SHARD.format(tight=TIGHT))
    coordinator.sql(COORDINATOR.format(port=shard.port))
    once = "\n".join(sql for _, sql in SCRIPTS.values())
    preamble = PREAMBLE.format(everything="\n".join([once] * STREAMS), once=once)
    arguments = []
    for name, (weight, sql) in SCRIPTS.items():
        path = f"{work}/{name}.sql"
        with open(path, "w", encoding="utf-8") as file:
            file.write(preamble + sql + "\n")
        arguments += ["-f", f"{path}@{weight}"]
    process, printed, series = load(work, coordinator, shard, arguments, transactions)
    report.ok(process.returncode == 0, f"{CLIENTS} clients end without an error", printed)
    report.comment("\n".join(line for line in printed.splitlines() if re.match(r"tps|number of|latency average|duration", line)))
    report.ok(re.search(rf"^number of transactions actually processed: ({CLIENTS * transactions})\b", printed, re.M),
              f"each client does {transactions} transactions", printed)
    report.ok(re.search(r"^number of failed transactions: 0 ", printed, re.M), "no transaction fails", printed)
    servers = ("coordinator", "shard")
    found = [levels(name, samples) for name, samples in zip(servers, series)]
    if any(grown(kinds) for kinds, _ in found):
        # A backend that has met each of its streams late grows once; what leaks grows by twice as much in twice the time.
        report.comment("once more, for twice as long")
        _, _, series = load(work, coordinator, shard, arguments, 2 * transactions)
        found = [levels(name, samples) for name, samples in zip(servers, series)]
    for name, (kinds, npids) in zip(servers, found):
        judge(name, kinds, npids)
    afterwards(coordinator, shard)


def afterwards(coordinator, shard):
    with open(shard.log, encoding="utf-8", errors="replace") as log:
        refused = log.read().count('too many connections for role "tight"')
    report.comment(f"{refused} streams found no connection")
    report.ok(refused > 0, "the limit of connections was reached")
    left = harness.wait_for(lambda: shard.sql(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name IN ('pg_exchange', 'postgres_fdw')"), "0")
    report.ok(left == "0", "no session is left on the shard", left)
    files = [path for server in (coordinator, shard) for folder in ("pg_snapshots", "base/pgsql_tmp")
             for path in glob.glob(f"{server.data}/{folder}/*")]
    report.ok(not files, "no snapshot and no temporary file is left", files)
    for server in (coordinator, shard):
        with open(server.log, encoding="utf-8", errors="replace") as log:
            crashes = re.findall(r".*(?:PANIC|was terminated by signal|TRAP).*", log.read())
        report.ok(not crashes, f"{server.name} has not crashed", "\n".join(crashes))
    plan = coordinator.sql("EXPLAIN (ANALYZE) SELECT * FROM wide")
    report.ok("Transport: exchange v1" in plan, "such scans travel by exchange", plan)


def main(work):
    run(work, int(sys.argv[1]) if len(sys.argv) > 1 else 2700)
    return report.done()


sys.exit(harness.main(main))
