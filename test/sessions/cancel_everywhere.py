"""A cancel at every round trip: a proxy holds each message between coordinator and shard back for a moment,
and a conversation is cancelled after its first message, in the next run after its second, and so on from
the connection to the commit. Each time the statement ends soon; the session repeats all of it and
succeeds; no connection is left in use, and nothing is left running on the shard. A transaction or savepoint
that has ended has no locks on the shard, however late the COMMIT of its stream is."""
import queue
import select
import threading
import time

import harness
import report
from lying_proxy import Proxy
from nodes import COMMON
from wire_client import Client, Lost, cancel

SIDE_BY_SIDE = 20   # they wait for their proxies
DELAY = 0.02
LATE = 0.3
BOUND = 60          # seconds that a cancelled statement may take to end, on however busy a machine
ROWS = 1000
SCRIPTS = {
    "a scan": ("SELECT count(*), sum(i), count(s) FROM (SELECT * FROM t OFFSET 0) x",),
    "a cursor in a transaction": ("BEGIN", "SELECT count(*), sum(i), count(s) FROM (SELECT * FROM t OFFSET 0) x",
                                  "SAVEPOINT a", "DECLARE c CURSOR FOR SELECT * FROM t", "MOVE 150 IN c", "CLOSE c", "COMMIT"),
}
ENDS = {
    "a transaction": ("BEGIN", SCRIPTS["a scan"][0], "COMMIT"),
    "a statement": SCRIPTS["a scan"],
    "a savepoint": ("BEGIN", "SAVEPOINT a", SCRIPTS["a scan"][0], "ROLLBACK TO a"),
}
RIGHT = f"  {ROWS} | {ROWS * (ROWS + 1) // 2} | {ROWS}"


class Everywhere:
    def __init__(self, work):
        self.shard = harness.Server(work, "shard", COMMON)
        self.coord = harness.coordinator(work, COMMON)
        self.shard.sql(f"""CREATE EXTENSION pg_exchange; CREATE TABLE t AS SELECT i, 'row ' || i AS s FROM generate_series(1, {ROWS}) i;
            GRANT SELECT ON t TO PUBLIC;""")
        self.proxies = []
        for n in range(SIDE_BY_SIDE):   # a user each, so that what is left of a conversation is known
            proxy = Proxy(self.shard.port)
            self.proxies.append(proxy)
            self.shard.sql(f"CREATE ROLE w{n} LOGIN;")
            self.coord.sql(f"""CREATE SCHEMA w{n};
                CREATE SERVER f{n} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{proxy.port}', dbname 'postgres');
                CREATE USER MAPPING FOR postgres SERVER f{n} OPTIONS (user 'w{n}', password_required 'false');
                CREATE FOREIGN TABLE w{n}.t (i int, s text) SERVER f{n} OPTIONS (schema_name 'public');""")

    def converse(self, session, script):
        """Run a script to its first error: (SQLSTATE, what is wrong)."""
        for sql in script:
            session.lines = []
            began = time.monotonic()
            session.query(sql)
            while session.busy:
                if select.select([session], [], [], 0.5)[0]:
                    session.read()
                if time.monotonic() - began > 2 * BOUND:
                    return "", "does not end"
            if session.lost:
                return "", "session lost: " + " / ".join(session.lines)
            if session.sqlstate:
                return session.sqlstate, None if session.sqlstate == "57014" else " / ".join(session.lines)
            if sql.startswith("SELECT") and session.lines[0] != RIGHT:
                return "", f"wrong result: {session.lines}"
        return "", None

    def case(self, n, script, settings, k):
        """Cancel at the k-th message: (was that many reached, what is wrong)."""
        proxy = self.proxies[n]
        options = " ".join(f"-c {key}={value}" for key, value in {**settings, "search_path": f"w{n}"}.items())
        session = Client(self.coord.port, "postgres", options=options)
        admin = Client(self.coord.port, "postgres")
        cancelled = []

        done = threading.Event()

        def do_cancel():
            cancelled.append(time.monotonic())
            cancel(session.port, session.key)
            done.set()
        try:
            proxy.delay = DELAY
            proxy.count_to(k, do_cancel)
            sqlstate, wrong = self.converse(session, script)
            ended = time.monotonic()
            reached = bool(cancelled)
            if k is None:
                return proxy.count, wrong
            proxy.count_to()
            proxy.delay = 0.0
            if reached:
                done.wait(BOUND)   # the cancel may come after the end of the statement: not into the next
            if wrong:
                return reached, wrong
            if reached and ended - cancelled[0] > BOUND:
                return reached, f"ended {ended - cancelled[0]:.0f} s after the cancel"
            if session.status != "I":
                session.run("ROLLBACK")
            session.run("SELECT pg_sleep(0)")   # takes what of the cancel may come late
            _, wrong = self.converse(session, script)
            if wrong or session.sqlstate:
                return reached, f"repeated: {wrong or session.lines}"
            if session.rows("SELECT count(*) FROM exchange.connections WHERE in_use")[0][0] != "0":
                return reached, "a connection is left in use"
            return reached, self.left_behind(n)
        except Lost as lost:
            return bool(cancelled), f"afterwards: {lost}".replace("\n", " / ")
        finally:
            proxy.count_to()
            proxy.delay = 0.0
            session.close()
            admin.close()

    def left_behind(self, n):
        """What still runs on the shard a while after."""
        watcher = Client(self.shard.port, "postgres")
        try:
            left = harness.wait_for(lambda: watcher.rows(
                f"SELECT state, query FROM pg_stat_activity WHERE usename = 'w{n}' AND state <> 'idle'"), [])
            return f"left on the shard: {left}" if left else None
        finally:
            watcher.close()

    def locks_left(self, script, settings):
        """The locks that a script still has when it has ended, its stream's COMMIT being late."""
        options = " ".join(f"-c {key}={value}" for key, value in {**settings, "search_path": "w0"}.items())
        session, watcher = Client(self.coord.port, "postgres", options=options), Client(self.shard.port, "postgres")
        self.proxies[0].late = {"stream: commit": LATE}
        try:
            sqlstate, wrong = self.converse(session, script)
            return wrong or sqlstate or watcher.rows("""SELECT pid, mode FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE usename = 'w0' AND relation = 't'::regclass""")
        finally:
            self.proxies[0].late = {}
            session.close()
            watcher.close()

    def run(self, name, script, settings):
        total, wrong = self.case(0, script, settings, None)
        if wrong:
            report.ok(False, f"{name} goes well without a cancel", wrong)
            return
        todo, bad, lock = queue.Queue(), [], threading.Lock()
        for k in range(1, total + 1):
            todo.put(k)

        def work(n):
            while True:
                try:
                    k = todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    _, wrong = self.case(n, script, settings, k)
                except (Lost, OSError) as lost:
                    wrong = f"server lost: {lost}"
                if wrong:
                    with lock:
                        bad.append((k, wrong))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(SIDE_BY_SIDE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        report.ok(not bad, f"{name} can be cancelled at each of {total} messages",
                  "\n".join(f"message {k}: {wrong}" for k, wrong in sorted(bad)))


def run(work, _verbose):
    everywhere = Everywhere(work)
    session = Client(everywhere.coord.port, "postgres")
    try:
        session.run("SHOW pg_exchange.transport")
        ways = {f"transport {t}": {"pg_exchange.transport": t} for t in ("auto", "session")}
        for transport in ("auto", "stream"):
            for name, script in ENDS.items():
                left = everywhere.locks_left(script, {"pg_exchange.transport": transport})
                report.ok(not left, f"transport {transport}: {name} that has ended has no locks on the shard", left)
    except Lost:
        ways = {"exchange": {}}
    session.close()
    for way, settings in {"postgres_fdw": {"pg_exchange.enabled": "off"}, **ways}.items():
        for name, script in SCRIPTS.items():
            if way != "postgres_fdw" or len(script) == 1:
                everywhere.run(f"{way}, {name}", script, settings)
