"""A remote that breaks the protocol, at every phase of a conversation and in every way (lying_proxy.LIES).

Whatever it says, the coordinator's session ends each statement by an error or by the right result, within
bounded time; it heeds statement_timeout, pg_cancel_backend and pg_terminate_backend; it is usable
afterwards; and no backend crashes. Where postgres_fdw alone fails as well, a test is marked TODO."""
import os
import queue
import select
import signal
import threading
import time

import harness
import report
from lying_proxy import DEAF, LIES, Proxy
from nodes import COMMON
from wire_client import Client, Lost, cancel

SIDE_BY_SIDE = 16
ROWS = 250
# Seconds that a statement may take, on however busy a machine: postgres_fdw gives its own cancel 30 s, once for each level of a transaction.
BOUND, DEAF_BOUND = 60, 180
TIMEOUT = 0.6       # seconds after which a statement is stopped; longer if it does not come to the lie so soon
SCRIPT = ("BEGIN", "SELECT count(*), sum(i), count(s) FROM (SELECT * FROM ft{0} OFFSET 0) x", "SAVEPOINT a",
          "SELECT count(*), sum(i), count(s) FROM (SELECT * FROM ft{0} OFFSET 0) x", "DECLARE c CURSOR FOR SELECT i, s FROM ft{0}",
          "FETCH 2 FROM c", "MOVE 120 IN c", "CLOSE c", "RELEASE a", "COMMIT")
AFTERWARDS = ("BEGIN", "SELECT count(*), sum(i), count(s) FROM (SELECT * FROM ft{0} OFFSET 0) x", "COMMIT")
THREE_WAYS = ("silence", "CopyOut", "a huge length", "silence after a row")   # stopped by each of HOW
HOW = ("statement_timeout", "pg_cancel_backend", "pg_terminate_backend")
RIGHT = f"{ROWS} | {ROWS * (ROWS + 1) // 2} | {ROWS}"


def hangs_postgres_fdw(phase, lie):
    """Is this a phase of postgres_fdw's own connection, and a lie that hangs postgres_fdw for good? It takes
    any Copy response for one more result, for ever, connects without listening, and waits 30 s for a cancel, once
    for each level of the transaction (15.18). Nothing of ours can help then, and each takes its time to be
    found deaf: tried with -v alone."""
    if phase.startswith("startup of the first"):
        return lie.name.startswith("silence")
    ours = phase.startswith("stream") or "second" in phase or phase in ("hello", "check")
    return not ours and (lie.then == "deaf" or lie.name.startswith("Copy") and lie.name not in ("CopyData", "CopyDone"))


class Forged:
    def __init__(self, work, verbose):
        self.verbose = verbose
        self.shard = harness.Server(work, "shard", COMMON)
        # the second connection is to be that of a stream
        self.coord = harness.coordinator(work, {**COMMON, "pg_exchange.remote_statistics": "off"})
        self.shard.sql(f"CREATE EXTENSION pg_exchange; CREATE TABLE t AS SELECT i, 'row ' || i AS s FROM generate_series(1, {ROWS}) i;")
        self.proxies = []
        self.reached = set()
        self.stopped = []

    def add_proxy(self):
        proxy, n = Proxy(self.shard.port), len(self.proxies)
        self.proxies.append(proxy)
        self.coord.sql(f"""CREATE SERVER f{n} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{proxy.port}', dbname 'postgres');
            CREATE USER MAPPING FOR postgres SERVER f{n} OPTIONS (user 'postgres');
            CREATE FOREIGN TABLE ft{n} (i int, s text) SERVER f{n} OPTIONS (table_name 't');""")
        return n

    def open(self, settings, timeout):
        session = Client(self.coord.port, "postgres", options=" ".join(f"-c {k}={v}" for k, v in settings.items()))
        session.run(f"SET statement_timeout = '{timeout}s'")
        return session

    def converse(self, session, n, stop=None, timeout=TIMEOUT):
        """The script, to its first error: (what is wrong, its error, seconds that the longest statement took)."""
        longest = 0
        for sql in SCRIPT:
            session.lines = []
            began = time.monotonic()
            session.query(sql.format(n))
            stopped = False
            while session.busy:
                if select.select([session], [], [], 0.05)[0]:
                    session.read()
                elapsed = time.monotonic() - began
                if stop and not stopped and elapsed > timeout:
                    stop(session)
                    stopped = True
                if elapsed > self.bound:
                    return "does not end", "", elapsed
            longest = max(longest, time.monotonic() - began)
            if session.lost or session.sqlstate:
                return None, "\n".join(session.lines), longest
            if sql.startswith("SELECT") and session.lines[:1] != ["  " + RIGHT]:
                return f"wrong result: {session.lines}", "", longest
        return None, "", longest

    def stop_by(self, how):
        def by_cancel(session):
            cancel(session.port, session.key)

        def by_terminate(session):
            admin = Client(self.coord.port, "postgres")
            admin.run(f"SELECT pg_terminate_backend({session.pid})")
            admin.close()
        return {"statement_timeout": None, "pg_cancel_backend": by_cancel, "pg_terminate_backend": by_terminate}[how]

    def case(self, n, phase, lie, settings, how):
        """What is wrong with how the coordinator takes it; None if nothing is; "not reached"."""
        timeout, wrong = TIMEOUT, "too slow"
        while wrong == "too slow" and timeout < BOUND:
            wrong = self.try_case(n, phase, lie, settings, how, timeout)
            timeout *= 4
        return wrong

    def try_case(self, n, phase, lie, settings, how, timeout):
        """The same; "too slow" if the conversation was stopped before it came to the lie."""
        proxy = self.proxies[n]
        self.bound = DEAF_BOUND if lie.then == "deaf" else BOUND
        bound = self.bound
        session = self.open(settings, timeout if how == "statement_timeout" else 0)
        pid = session.pid
        try:
            proxy.arm(phase, lie)
            wrong, said, longest = self.converse(session, n, self.stop_by(how), timeout)
            told = proxy.told
            proxy.arm()
            if wrong == "does not end":
                return self.after_hang(session, pid, longest)
            if not told:
                return "too slow" if "57014" in said or session.lost else "not reached"
            if wrong:
                return wrong
            if "57P02" in said or (session.lost and how != "pg_terminate_backend"):
                return f"lost the session: {said}"
            if longest > bound:
                return f"took {longest:.0f} s"
            if session.lost or how == "pg_terminate_backend":
                session.close()
                session = self.open(settings, 60)
            return self.usable(session, n)
        finally:
            proxy.arm()
            proxy.drop_all()
            session.close()

    def after_hang(self, session, pid, longest):
        """A backend that does not end: what does it listen to? One that listens to nothing is stopped, as
        only SIGKILL would end it, and with it all others."""
        cancel(session.port, session.key)
        time.sleep(1)
        session.read()
        if not session.busy:
            return f"only a second cancel ended it after {longest:.0f} s"
        os.kill(pid, signal.SIGTERM)
        for _ in range(20):
            time.sleep(0.1)
            if not os.path.exists(f"/proc/{pid}"):
                return f"only pg_terminate_backend ended it after {longest:.0f} s"
        os.kill(pid, signal.SIGSTOP)
        self.stopped.append(pid)
        return "deaf to time-out, cancel and terminate"

    def usable(self, session, n):
        """Afterwards, with a remote that behaves: what is wrong with the session."""
        try:
            if session.status != "I":
                session.run("ROLLBACK")
            session.run("SET statement_timeout = '60s'")
            for attempt in (1, 2):
                try:
                    for sql in AFTERWARDS:
                        lines = list(session.run(sql.format(n)))
                        if sql.startswith("SELECT") and lines[0] != "  " + RIGHT:
                            return f"afterwards, wrong result: {lines}"
                    break
                except Lost as lost:
                    if session.lost or attempt == 2:
                        return f"unusable afterwards: {lost}"
                    session.run("ROLLBACK")
            if session.rows("SELECT count(*) FROM exchange.connections WHERE in_use")[0][0] != "0":
                return "afterwards, a connection is left in use"
            return None
        except Lost as lost:
            return f"unusable afterwards: {lost}"

    def phases(self, settings):
        """The phases that an undisturbed conversation goes through."""
        n = self.add_proxy()
        proxy = self.proxies[n]
        proxy.arm()
        session = self.open(settings, 60)
        wrong, said, _ = self.converse_calmly(session, n)
        session.close()
        if wrong or said:
            raise harness.Failure(f"undisturbed conversation: {wrong} {said}")
        return [phase for phase in proxy.seen if phase != "sync"]

    def converse_calmly(self, session, n):
        self.bound = BOUND
        return self.converse(session, n)

    def run(self, name, settings):
        phases = [phase for phase in self.phases(settings) if phase not in self.reached]
        self.reached.update(phases)
        report.comment(f"{name}: " + ", ".join(phases))
        todo, results, lock = queue.Queue(), {}, threading.Lock()
        expected = {}
        for phase in phases:
            for lie in [*DEAF, *LIES]:
                if hangs_postgres_fdw(phase, lie) and not self.verbose:
                    continue
                ways = HOW if lie.name in THREE_WAYS else HOW[:1]
                if phase in ("release", "commit") and lie.then != "go on":
                    ways = HOW[1:]   # PostgreSQL has no statement_timeout there
                for how in ways:
                    todo.put((phase, lie, how))
                    expected[phase] = expected.get(phase, 0) + 1

        def work(n):
            while True:
                try:
                    phase, lie, how = todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    wrong = self.case(n, phase, lie, settings, how)
                    if wrong and wrong != "not reached":
                        as_rows = phase.replace("question:", "rows:").replace("session:", "rows:")
                        other = self.case(n, as_rows, lie, {"pg_exchange.enabled": "off"}, how)
                        if other and other != "not reached":
                            wrong = f"TODO as postgres_fdw alone: {other}"
                except (Lost, OSError) as lost:
                    wrong = f"server lost: {lost}"
                    time.sleep(1)
                with lock:
                    results.setdefault(phase, []).append((lie.name, how, wrong))
                    if len(results[phase]) == expected[phase]:
                        self.count(f"{name}, {phase}", results[phase])
        numbers = [self.add_proxy() for _ in range(SIDE_BY_SIDE)]
        threads = [threading.Thread(target=work, args=(n,)) for n in numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def count(self, name, results):
        """One test for each phase, and one for what postgres_fdw does as badly."""
        tried = [r for r in results if r[2] != "not reached"]
        bad = [r for r in tried if r[2] and not r[2].startswith("TODO")]
        todo = [r for r in tried if r[2] and r[2].startswith("TODO")]
        report.ok(not bad and tried, f"each of {len(tried)} lies is an error: {name}", in_lines(bad))
        if todo:
            report.ok(False, f"each of {len(todo)} more lies is an error: {name}", in_lines(todo), todo="postgres_fdw alone does no better")


def in_lines(results):
    return "\n".join(f"{lie} ({how}): {wrong.removeprefix('TODO ')}".replace("\n", " / ") for lie, how, wrong in results)



ALL_PHASES = {"hello", "check", "question: declare", "question: fetch", "question: close", "stream: start", "stream: snapshot",
              "stream: query", "stream: commit", "start", "savepoint", "release", "commit", "session: declare",
              "session: fetch", "session: close", "rows: declare", "rows: fetch", "rows: close"}


def run(work, verbose):
    forged = Forged(work, verbose)
    session = Client(forged.coord.port, "postgres")
    try:
        session.run("SHOW pg_exchange.transport")
        ways = {f"transport {t}": {"pg_exchange.transport": t, "pg_exchange.compression": "fast"} for t in ("auto", "session")}
    except Lost:
        ways = {"exchange": {"pg_exchange.compression": "fast"}}
    session.close()
    for name, settings in ways.items():
        forged.run(name, settings)
    missing = ALL_PHASES - forged.reached
    if missing:
        report.comment("phases that were not reached: " + ", ".join(sorted(missing)))
    for pid in forged.stopped:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
