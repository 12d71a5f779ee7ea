#!/usr/bin/env python3
"""Writes under failures: scripts/check_write_load.py [SECONDS]

First pgbench fills its tables, which are partitioned over four servers: by
frames and by postgres_fdw, timed. Then 16 sessions write and read for ten
minutes, or so many seconds, while servers are killed (kill -9) and started
again, and sessions are terminated and cancelled. In the end, what a client saw
committed is at each server, and what failed before its COMMIT is not. There is
no two-phase commit: if a COMMIT has no answer, each server may have its part
or not, but a part is whole. Half of the sessions last all the time; their
memory must not grow. Nothing is left behind. Less than 300 seconds are too
few to tell growth from the beginning. Prints TAP."""
import collections
import glob
import os
import random
import re
import signal
import statistics
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "bench"))
import harness  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import write_load  # noqa: E402
from write_load import SERVERS, Client, array, figures  # noqa: E402

CLIENTS = 16
LASTING = 8         # clients that are never terminated
SCALE = 1           # of pgbench: 100,000 accounts
# What memory may grow by, as in check_load.py; these sessions have their
# largest transactions at random, so it is more.
NOISE = 0.05
GROWTH_SECONDS_MIN = 300   # until all buffers had their largest rows

SETTINGS = {
    "shared_buffers": "128MB", "jit": "off", "max_connections": "200",
    "max_wal_size": "2GB", "dynamic_shared_memory_type": "mmap",
}

# pgbench's own tables, hash-partitioned: name, columns, key.
PGBENCH = [
    ("branches", "bid int, bbalance int, filler char(88)", "bid"),
    ("tellers", "tid int, bid int, tbalance int, filler char(84)", "tid"),
    ("accounts", "aid int, bid int, abalance int, filler char(84)", "aid"),
    ("history", "tid int, bid int, aid int, delta int, mtime timestamp, "
                "filler char(22)", "aid"),
]


# ---- pgbench -------------------------------------------------------------

def pgbench_tables(coordinator, shards):
    for name, columns, key in PGBENCH:
        primary = "" if name == "history" else f", PRIMARY KEY ({key})"
        for shard in shards:
            shard.sql(f"CREATE TABLE pgbench_{name} ({columns}{primary})")
        coordinator.sql(f"CREATE TABLE pgbench_{name} ({columns}) "
                        f"PARTITION BY HASH ({key})")
        for number in range(SERVERS):
            coordinator.sql(
                f"CREATE FOREIGN TABLE pgbench_{name}{number} PARTITION OF "
                f"pgbench_{name} FOR VALUES WITH (MODULUS {SERVERS}, "
                f"REMAINDER {number}) SERVER shard{number + 1} OPTIONS "
                f"(table_name 'pgbench_{name}')")


def pgbench(coordinator, *arguments):
    """Seconds, and what it has printed."""
    started = time.monotonic()
    printed = harness.run(
        coordinator.work, "pgbench", "-h", coordinator.work, "-p",
        str(coordinator.port), "-U", "postgres", *arguments, "postgres")
    return time.monotonic() - started, printed


def check_pgbench(coordinator, shards):
    """Steps g, G and v of pgbench -i. Its tables are there (t), with their
    keys (p), which a partitioned table with foreign partitions cannot have."""
    pgbench_tables(coordinator, shards)
    rows = SCALE * 100000
    for step, how in (("g", "COPY"), ("G", "INSERT ... SELECT")):
        seconds = {}
        for writes in ("off", "on"):
            coordinator.sql("ALTER SYSTEM SET pg_exchange.writes = "
                            f"{writes}; SELECT pg_reload_conf()")
            # --partitions: no COPY FREEZE, which such tables do not take
            seconds[writes], _ = pgbench(
                coordinator, "-i", "-I", step + "v", "-s", str(SCALE), "-q",
                "--partitions", str(SERVERS))
            found = [shard.sql("SELECT count(*), count(DISTINCT aid), "
                               "count(filler) FROM pgbench_accounts")
                     for shard in shards]
            sums = [sum(map(int, column)) for column in zip(
                *(line.split("|") for line in found))]
            report.ok(sums == [rows] * 3, f"pgbench -i (step {step}, writes "
                      f"{writes}) fills tables of {SERVERS} servers", found)
        report.comment(
            f"pgbench -i, step {step} ({how}), {rows} accounts: "
            f"{seconds['off']:.1f} s by postgres_fdw, {seconds['on']:.1f} s "
            f"by frames: {seconds['off'] / seconds['on']:.1f} times as fast")
    pgbench(coordinator, "-n", "-c", "1", "-t", "100")
    balances = coordinator.sql(
        "SELECT (SELECT sum(abalance) FROM pgbench_accounts), "
        "(SELECT sum(tbalance) FROM pgbench_tellers), "
        "(SELECT sum(bbalance) FROM pgbench_branches), "
        "(SELECT sum(delta) FROM pgbench_history)").split("|")
    report.ok(len(set(balances)) == 1, "pgbench's balances agree", balances)


# ---- failures ------------------------------------------------------------

def children(pid):
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue    # it ended just now
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(path.split("/")[2]))
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Chaos(threading.Thread):
    """Kills, terminates and cancels until it is told to stop. All servers
    are up then."""

    def __init__(self, coordinator, shards, clients):
        super().__init__(daemon=True)
        self.coordinator, self.shards = coordinator, shards
        self.clients = clients
        self.stop = threading.Event()
        self.random = random.Random(1)
        self.counts = collections.Counter()
        self.failure = None

    def run(self):
        actions = [self.kill_postmaster, self.kill_postmaster,
                   self.kill_server, self.kill_backend, self.terminate_remote,
                   self.terminate, self.terminate, self.cancel]
        try:
            while not self.stop.wait(self.random.uniform(0.2, 5)):
                action = self.random.choice(actions)
                action(self.random.choice(self.shards))
                self.counts[action.__name__] += 1
        except Exception as failure:    # ours: the test is broken
            self.failure = repr(failure)

    def kill_postmaster(self, shard):
        kill(shard.pid)
        time.sleep(self.random.choice([0, 0.5, 2]))
        harness.start_again(shard)

    def kill_server(self, shard):
        pids = children(shard.pid)
        kill(shard.pid)
        for pid in pids:
            kill(pid)
        time.sleep(self.random.choice([0, 0.5, 2]))
        harness.start_again(shard)

    def kill_backend(self, shard):
        """A server that recovers from the crash of one of its backends."""
        try:
            pids = self.backends(shard)
        except harness.Failure:
            return      # it is recovering
        if pids:
            kill(self.random.choice(pids))

    def backends(self, server):
        return [int(pid) for pid in server.sql(
            "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'").split()]

    def terminate_remote(self, shard):
        try:
            shard.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                      "WHERE pid <> pg_backend_pid() AND backend_type = "
                      "'client backend' AND random() < 0.3")
        except harness.Failure:
            pass        # it is recovering

    def terminate(self, _shard):
        pids = [client.connection.pid for client in self.clients[LASTING:]
                if (connection := client.connection) and connection.pid]
        chosen = self.random.sample(pids, min(len(pids), 2))
        self.coordinator.sql(f"SELECT pg_terminate_backend(pid) FROM unnest("
                             f"{array(chosen)}::int[]) pid")

    def cancel(self, _shard):
        self.coordinator.sql(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid <> "
            "pg_backend_pid() AND backend_type = 'client backend' "
            "AND random() < 0.3")


# ---- the load ------------------------------------------------------------

def look_at_memory(clients, seconds):
    """A list of samples, one each second."""
    samples, deadline = [], time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(1)
        samples.append([processes.anonymous(client.connection.pid)
                        if client.connection else 0
                        for client in clients[:LASTING]])
    return samples


def judge_contexts(clients, started, seconds):
    """What the sessions have allocated between two transactions."""
    def level(begin):
        """By name: the sum of all sessions' medians."""
        total = collections.Counter()
        for client in clients[:LASTING]:
            looks = [used for when, used in client.memory
                     if begin <= (when - started) / seconds < begin + 0.125]
            for name in {name for used in looks for name in used}:
                total[name] += statistics.median(
                    used.get(name, 0) for used in looks)
        return total
    early, late = level(0.5), level(0.875)
    before, after = sum(early.values()), sum(late.values())
    test = "memory contexts of sessions that last do not grow"
    report.comment(f"memory contexts: {before / 2**20:.2f} MB after half of "
                   f"the time, {after / 2**20:.2f} MB at the end")
    if seconds < GROWTH_SECONDS_MIN:
        report.skip(test, f"{seconds} seconds are too few")
    else:
        report.ok(0 < after < before * (1 + NOISE), test,
                  (late - early).most_common(10))


def judge_memory(samples, seconds):
    """What they take of the machine, with libpq's buffers."""
    test = "the memory of sessions that last does not grow"
    totals = [sum(sample) for sample in samples]
    window = len(totals) // 8 + 1
    middle = totals[len(totals) // 2:][:window]
    early, late = statistics.median(middle), statistics.median(
        totals[-window:])
    report.comment(
        f"{LASTING} sessions of the coordinator: {early / 2**20:.1f} MB after "
        f"half of the time, {late / 2**20:.1f} MB at the end, the largest "
        f"{max(samples[-1]) / 2**20:.1f} MB")
    if seconds < GROWTH_SECONDS_MIN:
        report.skip(test, f"{seconds} seconds are too few")
    else:
        report.ok(late < early * (1 + NOISE), test,
                  " ".join(f"{total / 2**20:.0f}" for total in totals[::10]))


def run_load(coordinator, shards, seconds):
    clients = [Client(number, coordinator, number <= LASTING)
               for number in range(1, CLIENTS + 1)]
    for client in clients:
        client.start()
    chaos = Chaos(coordinator, shards, clients)
    chaos.start()
    samples = look_at_memory(clients, seconds)
    chaos.stop.set()
    chaos.join()
    report.ok(chaos.failure is None, "failures come as planned",
              chaos.failure)
    report.comment(", ".join(f"{name}: {count}" for name, count
                             in sorted(chaos.counts.items())))
    for client in clients:
        client.stop.set()
    deadline = time.monotonic() + 2 * write_load.STATEMENT_TIMEOUT
    for client in clients:
        client.join(max(0, deadline - time.monotonic()))
    hanging = [client.number for client in clients if client.is_alive()]
    report.ok(not hanging, "no session hangs", hanging and coordinator.sql(
        "SELECT pid, wait_event, state, query FROM pg_stat_activity"))
    counts = sum((client.counts for client in clients), collections.Counter())
    report.comment(", ".join(f"{name}: {count}" for name, count
                             in sorted(counts.items())))
    wrong = [problem for client in clients for problem in client.wrong]
    report.ok(not wrong, "no wrong answer, and no error but of what was "
              "killed or cancelled", "\n".join(wrong))
    return clients, samples


# ---- what is there in the end --------------------------------------------

def check_committed(shards, clients):
    """Compare the servers with what the clients know."""
    lost, revived, changed = [], [], []
    for number, shard in enumerate(shards, 1):
        marks = set(map(int, shard.sql(
            "SELECT transaction FROM marks").split()))
        expected = {}
        for client in clients:
            lost += [(number, txn) for txn, servers in client.committed
                     if number in servers and txn not in marks]
            revived += [(number, txn) for txn, servers in client.failed
                        if number in servers and txn in marks]
            expected.update({key: state for key, state
                             in client.batches.items() if key[0] == number})
            for txn, _servers, pending in client.unknown:
                if txn in marks:
                    expected.update({key: state for key, state
                                     in pending.items() if key[0] == number})
        found = write_load.read_batches(shard.sql, "true")
        wanted = {key: figures(state) for key, state in expected.items()
                  if state.rows}
        changed += sorted(set(found.items()) ^ set(wanted.items()))
    report.ok(not lost, "each server has what clients saw committed", lost)
    report.ok(not revived, "no server has what failed before its COMMIT",
              revived)
    report.ok(not changed, "rows of transactions are there as a whole, or not "
              "at all", changed)


def check_sessions(clients):
    """What postgres_fdw's sessions of the clients still have."""
    prepared = []
    for client in clients:
        if client.connection is None:
            continue
        client.connection.run("SET pg_exchange.enabled = off")
        for number in range(1, SERVERS + 1):
            prepared += client.connection.run(
                f"SELECT name FROM prepared{number}").split()
    report.ok(not prepared, "no prepared statement is left", prepared)
    for client in clients:
        if client.connection:
            client.connection.close()


def segments(servers):
    return {server.name: len(os.listdir(server.data + "/pg_dynshmem"))
            for server in servers}


def check_left(coordinator, shards, segments_before):
    for shard in shards:
        left = harness.wait_for(lambda shard=shard: shard.sql(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = "
            "'client backend' AND pid <> pg_backend_pid()"), "0")
        report.ok(left == "0", f"no session is left on {shard.name}", left)
    servers = [coordinator, *shards]
    after = segments(servers)
    report.ok(after == segments_before, "no segment of shared memory is left",
              f"{segments_before}, then {after}")
    files = [path for server in servers
             for folder in ("pg_snapshots", "base/pgsql_tmp")
             for path in glob.glob(f"{server.data}/{folder}/*")]
    report.ok(not files, "no snapshot and no temporary file is left", files)
    for server in servers:
        ours = "" if server is coordinator else r"(?! 9:)"
        with open(server.log, encoding="utf-8", errors="replace") as log:
            crashes = re.findall(
                r".*(?:PANIC|was terminated by signal" + ours + "|TRAP).*",
                log.read())
        report.ok(not crashes, f"{server.name} has not crashed by itself",
                  "\n".join(crashes))
    used = coordinator.sql(
        "SELECT sum(writes), sum(rows_sent) FROM exchange.pg_stat_exchange")
    report.comment(f"writes by frames, and their rows: {used}")
    report.ok(int(used.split("|")[0] or 0) > 0, "frames were used", used)


def main(work):
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    shards = [harness.Server(work, f"shard{number}", SETTINGS)
              for number in range(1, SERVERS + 1)]
    coordinator = harness.coordinator(
        work, {**SETTINGS, "shared_preload_libraries": "pg_exchange"})
    coordinator.sql(write_load.COORDINATOR)
    for number, shard in enumerate(shards, 1):
        shard.sql(write_load.SHARD)
        coordinator.sql(write_load.PARTITIONS.format(
            number=number, port=shard.port,
            batch_size=1 if number == 1 else 100))
    segments_before = segments([coordinator, *shards])
    check_pgbench(coordinator, shards)
    started = time.monotonic()
    clients, samples = run_load(coordinator, shards, seconds)
    judge_contexts(clients, started, seconds)
    judge_memory(samples, seconds)
    check_committed(shards, clients)
    check_sessions(clients)
    check_left(coordinator, shards, segments_before)
    return report.done()


sys.exit(harness.main(main))
