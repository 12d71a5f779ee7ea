#!/usr/bin/env python3
"""A coordinator and a shard are upgraded from 1.0 to this version while sessions run on them; prints TAP.

The old library is the real one: that of tag v1.0, or of the commit that it is for, built by its own Makefile.  Each node
has an installation of its own.  First the shard is upgraded and then the coordinator, and the other way around; each with the
library loaded by sessions (session_preload_libraries on the coordinator), and by the servers (shared_preload_libraries on both).

In every state on the way the answers of old and new sessions are right, whether they are idle meanwhile, in a transaction, have
a cursor open or run a prepared statement.  So are those of sessions that read and write all the time.  No error is raised but
those that doc/operations.md announces, and EXPLAIN tells how a scan travels.

    scripts/check_rolling.py [shard|coordinator [session|shared]]     one order, one way to load the library

Skipped where the history is not there: in an archive, or in a shallow clone."""
import os
import re
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import harness  # noqa: E402
import installation  # noqa: E402
import report  # noqa: E402

OLD_TAG = "v1.0"
OLD_COMMIT = "b34c853"   # the last one of 1.0, for clones without tags

OLD, STREAM, TOO_OLD = "exchange v1", "exchange v1, stream", "postgres_fdw (remote's pg_exchange is too old)"
ROWS = "SELECT i AS id, 'row ' || i AS name FROM generate_series(1, 6000) i"
SCAN = "SELECT count(*), sum(id), md5(string_agg(name, ',' ORDER BY id)) FROM (TABLE {} OFFSET 0) x"
# What 1.1 does on the shard, with the right answer: aggregates, joins, runtime filters, writes, reads after them
QUERIES = {
    "SELECT count(*), sum(id) FROM parts": "6000|18003000",
    "SELECT count(*), sum(h.id) FROM here h JOIN far USING (name) WHERE h.id < 100": "99|4950",
    "SELECT sum(p.id) FROM parts p JOIN far USING (id)": "18003000",
    "BEGIN; INSERT INTO written SELECT * FROM here; " + SCAN.format("written") + "; ROLLBACK": None,
}
WRITE = "INSERT INTO written SELECT * FROM here WHERE id > 0"
# Parallel workers load the library anew, where the server has not.
PARALLEL = "SET max_parallel_workers = 8; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
# What a session is told whose server is restarted, by server and libpq
CUT = "terminating connection|server closed the connection|could not connect|connection to server|starting up|shutting down|SSL SYSCALL|" \
      "could not receive|no connection to the server|could not send"


def old_commit():
    """The commit of 1.0; None, and why, if it is not here."""
    for name in (OLD_TAG, OLD_COMMIT):
        found = subprocess.run(["git", "-C", ROOT, "rev-parse", "-q", "--verify", name + "^{commit}"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if found.returncode == 0:
            return found.stdout.strip(), None
    return None, f"no {OLD_TAG} and no {OLD_COMMIT} here: an archive, or a shallow clone"


class Node:
    """A server with an installation of its own, which begins with 1.0."""

    def __init__(self, work, name, files, settings):
        self.pg_config = installation.copy_installation(work, name + ".inst")
        installation.replace_extension(self.pg_config, files)
        with installation.installed(self.pg_config):
            self.server = harness.Server(work, name, settings)
        self.sql = self.server.sql

    def restart(self):
        server = self.server
        with installation.installed(self.pg_config):
            harness.run(server.work, "pg_ctl", "-s", "-m", "fast", "-D", server.data, "stop")
            harness.start_again(server)


class Worker(threading.Thread):
    """A session that reads and writes all the time.  If it is cut off while it may be, it goes on with a new session."""

    def __init__(self, server, want):
        super().__init__(daemon=True)
        self.server, self.want = server, want
        self.may_be_cut, self.ended, self.rounds, self.faults = False, False, 0, []
        self.start()

    def run(self):
        session = None
        while not self.ended:
            may_be_cut = self.may_be_cut
            try:
                session = session or harness.Session(self.server)
                for query, want in {SCAN.format("far"): self.want, **QUERIES}.items():
                    got = session.run(query)
                    if got != (want or self.want):
                        self.faults.append(f"{query}\n{got}")
                self.rounds += 1
            except (harness.Failure, ValueError) as failure:    # ValueError: no session
                if not (may_be_cut or self.may_be_cut):
                    self.faults.append(str(failure))
                if session:
                    session.kill()
                session = None
            if len(self.faults) > 5:
                return
        if session:
            session.close()

    def wait_for_rounds(self, number=2):
        """Until so many more are complete."""
        goal = self.rounds + number
        harness.wait_for(lambda: self.rounds >= goal or not self.is_alive(), True)

    def end(self):
        self.ended = True
        self.join()


class Client:
    """A session of one kind, which stays open from state to state."""

    def __init__(self, kind, server, expected, want):
        self.kind, self.expected, self.want = kind, expected, want
        self.session = harness.Session(server)
        run = self.session.run
        if kind == "in a transaction":
            run("BEGIN ISOLATION LEVEL REPEATABLE READ; " + SCAN.format("far"))
        elif kind == "with a cursor":
            run("BEGIN; DECLARE c CURSOR FOR SELECT id FROM far")
            self.seen = set()
            self.fetch()
        elif kind == "with a prepared statement":
            run("SET plan_cache_mode = force_generic_plan; PREPARE p AS " + SCAN.format("far"))

    def fetch(self):
        rows = self.session.run("FETCH 150 FROM c").split()
        fresh = set(rows) - self.seen
        self.seen |= fresh
        return len(fresh)

    def faults(self):
        """What is wrong with its answers, or with how they travelled; an error is a Failure."""
        if self.kind == "with a cursor":
            number = self.fetch()
            return [] if number == 150 else [f"{number} new rows of 150"]
        query = "EXECUTE p" if self.kind == "with a prepared statement" else SCAN.format("far")
        got, plan = self.session.run(query), explain(self.session, query)
        found = [] if got == self.want else [f"answer {got}"]
        if transports(plan) != {self.expected}:
            found.append(f"expected {self.expected}:\n{plan}")
        return found

    def feature_faults(self):
        """The same for what is new in 1.1: it must say the same reason, or be used."""
        found = []
        for query, want in QUERIES.items():
            got = self.session.run(query)
            if got != (want or self.want):
                found.append(f"{query}\n{got}")
        for query in [query for query in QUERIES if not query.startswith("BEGIN")] + [WRITE]:
            self.session.run("BEGIN")
            plan = explain(self.session, query)
            self.session.run("ROLLBACK")
            if self.expected == TOO_OLD and transports(plan) != {TOO_OLD}:
                found.append(f"{query}\n{plan}")
            if self.expected == STREAM and (not transports(plan) or "too old" in plan):
                found.append(f"{query}\n{plan}")
        return found


KINDS = ("idle", "in a transaction", "with a cursor", "with a prepared statement")


def explain(session, query):
    return session.run("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) " + query)


def transports(plan):
    return set(re.findall(r"^ *Transport: (.*)", plan, re.M))


class Cluster:
    """Both nodes, the sessions on them, and what is there by now."""

    def __init__(self, work, first, files, loaded_by):
        setting = {loaded_by + "_preload_libraries": "pg_exchange"}
        self.name, self.loaded_by = f"{first} first, library loaded by {loaded_by}_preload_libraries", loaded_by
        folder = os.path.join(work, f"{first}.{loaded_by}")
        os.mkdir(folder)
        os.chown(folder, harness.server_user().pw_uid, harness.server_user().pw_gid)
        self.shard = Node(folder, "shard", files, setting if loaded_by == "shared" else {})
        self.coordinator = Node(folder, "coordinator", files, {
            **setting, "pg_exchange.local_scope": "none", "pg_exchange.min_bytes": "0"})
        self.shard.sql(f"""
            CREATE EXTENSION pg_exchange; CREATE TABLE near AS {ROWS}; CREATE TABLE written (id int, name text);
            CREATE TABLE even AS {ROWS} WHERE i % 2 = 0; CREATE TABLE odd AS {ROWS} WHERE i % 2 = 1; ANALYZE;""")
        server = "SERVER shard OPTIONS (table_name '{}')"
        self.coordinator.sql(f"""
            CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange;
            CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw
                OPTIONS (host '127.0.0.1', port '{self.shard.server.port}', dbname 'postgres');
            CREATE USER MAPPING FOR CURRENT_USER SERVER shard OPTIONS (user 'postgres');
            CREATE TABLE here AS {ROWS};
            CREATE FOREIGN TABLE far (id int, name text) {server.format('near')};
            CREATE FOREIGN TABLE written (id int, name text) {server.format('written')};
            CREATE TABLE parts (id int, name text) PARTITION BY LIST ((id % 2));
            CREATE FOREIGN TABLE parts_0 PARTITION OF parts FOR VALUES IN (0) {server.format('even')};
            CREATE FOREIGN TABLE parts_1 PARTITION OF parts FOR VALUES IN (1) {server.format('odd')};
            ANALYZE;""")
        self.want = self.coordinator.sql(SCAN.format("here"))
        self.new_library = self.new_definitions = False   # has the coordinator's next session the new library, has the shard the functions
        self.clients = []
        self.worker = Worker(self.coordinator.server, self.want)

    def expected(self):
        """How the scans of a session travel that begins now."""
        return OLD if not self.new_library else STREAM if self.new_definitions else TOO_OLD

    def look(self, state, cut=()):
        """Ask all sessions, and new ones.  Those of the kinds in cut may have lost their connection to the shard."""
        found = []
        self.clients += [Client(kind, self.coordinator.server, self.expected(), self.want) for kind in KINDS]
        for client in list(self.clients):
            try:
                faults = client.faults() + (client.feature_faults() if client.kind == "idle" else [])
            except harness.Failure as failure:
                faults = [] if client.kind in cut and re.search(CUT, str(failure)) else [str(failure)]
                self.clients.remove(client)
                client.session.kill()
            found += [f"session {client.kind}, {client.expected}: {fault}" for fault in faults]
        self.worker.wait_for_rounds()
        found += [f"session that works all the time: {fault}" for fault in self.worker.faults]
        self.worker.faults.clear()
        report.ok(not found and self.worker.is_alive(), f"{self.name}, {state}: right answers, travelling as they should", "\n".join(found))

    def check_says(self, item, fault):
        """exchange.check names the fault, or finds none if that is None."""
        found = self.coordinator.sql("SELECT item, fault FROM exchange.check('shard') WHERE NOT ok")
        report.ok(fault in found if fault else not found, f"{self.name}: exchange.check finds {fault or 'nothing wrong'}, {item}", found)

    def restart(self, node, state):
        self.worker.may_be_cut = True
        if node is self.coordinator:
            for client in self.clients:
                client.session.kill()
            self.clients.clear()
        node.restart()
        self.worker.wait_for_rounds()
        self.worker.may_be_cut = False
        if node is self.coordinator:
            self.new_library = True
        self.look(state, cut=("in a transaction", "with a cursor"))

    def set_parallel_workers(self, node, number):
        """In running sessions, too: as doc/operations.md has it done before the files are replaced."""
        node.sql(f"ALTER SYSTEM SET max_parallel_workers = {number}")
        node.sql("SELECT pg_reload_conf()")
        sessions = [client.session for client in self.clients] if node is self.coordinator else []
        harness.wait_for(lambda: {session.run("SHOW max_parallel_workers") for session in sessions} <= {str(number)}, True)
        self.worker.wait_for_rounds()

    def check_workers(self):
        """A worker with the new library does not read the plan of a leader with the old one."""
        session = next(client.session for client in self.clients if client.kind == "idle")
        try:
            said = session.run(PARALLEL + SCAN.format("far"))
        except harness.Failure as failure:
            said = str(failure)
            self.clients[:] = [client for client in self.clients if client.session is not session]
            session.kill()
        report.ok("library pg_exchange was replaced by version" in said,
                  f"{self.name}: a parallel worker with the new library refuses a leader with the old one", said)

    def upgrade(self, which):
        node = getattr(self, which)
        if self.loaded_by == "session":
            self.set_parallel_workers(node, 0)
        installation.replace_extension(node.pg_config, installation.extension_files(harness.find_pg_config()))
        if self.loaded_by == "shared":
            self.look(f"new files on the {which}")
            try:
                said = node.sql("ALTER EXTENSION pg_exchange UPDATE")
            except harness.Failure as failure:
                said = str(failure)
            report.ok("could not find function" in said, f"{self.name}: the {which} cannot be updated before it is restarted", said)
            self.restart(node, f"{which} restarted")
        else:
            self.new_library |= node is self.coordinator
            self.look(f"new files on the {which}")
            if node is self.coordinator:
                self.check_workers()
        node.sql("ALTER EXTENSION pg_exchange UPDATE")
        self.new_definitions |= node is self.shard
        self.look(f"{which} updated")
        if node is self.coordinator:
            self.check_says("with a shard that is " + ("new" if self.new_definitions else "old"),
                            None if self.new_definitions else "extension_too_old")

    def forgive(self):
        """A session that has found the shard too old uses it after exchange.disconnect."""
        for client in self.clients:
            if client.kind == "idle" and client.expected == TOO_OLD:
                client.session.run("SELECT exchange.disconnect('shard')")
                client.expected = STREAM
                faults = client.faults() + client.feature_faults()
                report.ok(not faults, f"{self.name}: a session that had found the shard too old uses it after exchange.disconnect", "\n".join(faults))
                return

    def logs(self):
        for node in (self.shard, self.coordinator):
            with open(node.server.log, encoding="utf-8", errors="replace") as log:
                bad = [line for line in log if re.search(r"PANIC|TRAP|terminated by signal|XX000|cache lookup|could not access file", line)]
            report.ok(not bad, f"{self.name}: no crash and no internal error on the {node.server.name}", "".join(bad))


def check_order(work, files, first, loaded_by):
    second = "coordinator" if first == "shard" else "shard"
    cluster = Cluster(work, first, files, loaded_by)
    cluster.look("both with 1.0")
    cluster.upgrade(first)
    cluster.upgrade(second)
    cluster.forgive()
    cluster.worker.end()
    cluster.logs()


def check(work):
    commit, missing = old_commit()
    if missing:
        report.skip("a cluster is upgraded from 1.0 with sessions running", missing)
        return report.done()
    files = installation.build(work, commit)
    for first in sys.argv[1:2] or ("shard", "coordinator"):
        for loaded_by in sys.argv[2:3] or ("session", "shared"):
            check_order(work, files, first, loaded_by)
    return report.done()


sys.exit(harness.main(check))
