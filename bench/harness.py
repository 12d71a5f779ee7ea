#!/usr/bin/env python3
"""Real PostgreSQL servers for tests, demo and benchmarks (standard library only).

How servers start: initdb and pg_ctl of the PostgreSQL that find_pg_config() names, as user
"postgres" when called by root (initdb refuses root) and as the caller otherwise, in a folder made
by mkdtemp, on a free port of 127.0.0.1 and a Unix socket in that folder. workdir() stops every
server below the folder and removes it at the end, on failure and on signals.

    python3 bench/harness.py pg_config      prints the pg_config in use
"""
import contextlib
import glob
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Failure(Exception):
    """Something to tell the user in one paragraph, without a stack trace."""


# ---- PostgreSQL and the user it runs as ------------------------------------------------------

def find_pg_config():
    """$PG_CONFIG, else the newest PostgreSQL that Debian's packages put there, else $PATH."""
    if os.environ.get("PG_CONFIG"):
        return os.environ["PG_CONFIG"]
    debian = [p for p in glob.glob("/usr/lib/postgresql/*/bin/pg_config")
              if os.path.exists(os.path.join(os.path.dirname(p), "postgres"))]
    if debian:
        return max(debian, key=lambda p: int(p.split("/")[4]))
    found = shutil.which("pg_config")
    if not found:
        raise Failure("pg_config not found: run scripts/install_deps.sh, or set PG_CONFIG")
    return found


def pg_config(what):
    return subprocess.check_output([find_pg_config(), "--" + what], text=True).strip()


def server_user():
    """Account that servers run under, as a pwd entry."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid())
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        raise Failure("user postgres does not exist, and PostgreSQL refuses to run as root") from None


def environment(work):
    """The caller's environment without its PostgreSQL settings, and with a stable locale."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PG") and k != "MAKEFLAGS"}
    env.update(PATH=pg_config("bindir") + ":" + env["PATH"], LC_ALL="C.UTF-8", TMPDIR=work, HOME=work,
               USER=server_user().pw_name, PG_CONFIG=find_pg_config())
    return env


def as_server_user():
    """Popen arguments that run a child as the server user, in a session (process group) of its own."""
    if os.getuid() != 0:
        return {"start_new_session": True}
    user = server_user()
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "start_new_session": True}


def run(work, *cmd, namespace=None, **kwargs):
    """Run a command as the server user; its output is the error message when it fails."""
    if namespace:   # to enter it takes root: the command itself changes the user
        user = server_user()
        who = {"start_new_session": True}
        full = namespace.command("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *cmd)
    else:
        who, full = as_server_user(), cmd
    done = subprocess.run(full, cwd=work, env=environment(work), stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **who, **kwargs)
    if done.returncode != 0:
        raise Failure(f"{' '.join(cmd)} failed:\n{done.stdout}")
    return done.stdout


def wait_for(get, wanted, seconds=180):
    """Call get() until it returns what is wanted, or so many seconds have passed, which a busy machine may need; its last result."""
    deadline = time.monotonic() + seconds
    while (got := get()) != wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    return got


# ---- the temporary folder --------------------------------------------------------------------

def _stop_servers(work):
    for pidfile in glob.glob(work + "/**/postmaster.pid", recursive=True):
        subprocess.run([pg_config("bindir") + "/pg_ctl", "-s", "-m", "immediate", "-D", os.path.dirname(pidfile), "stop"],
                       cwd="/", env=environment(work), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False, **as_server_user())


def _on_signal(number, _frame):
    raise SystemExit(128 + number)


@contextlib.contextmanager
def workdir():
    """A folder owned by the server user; its servers and itself are gone afterwards."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _on_signal)
    base = os.environ.get("TMPDIR", "/tmp")
    # The path of a Unix socket is limited to 107 bytes, and the server user must get there.
    if len(base) > 40 or subprocess.run(["test", "-w", base], check=False, **as_server_user()).returncode != 0:
        base = "/tmp"
    work = tempfile.mkdtemp(prefix="pgx.", dir=base)
    try:
        os.chown(work, server_user().pw_uid, server_user().pw_gid)
        yield work
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        for child in list(Session.open):
            child.kill()
        for _ in range(20):   # an initdb or a server just starting may still write: again until it is gone
            _stop_servers(work)
            shutil.rmtree(work, ignore_errors=True)
            if not os.path.exists(work):
                break
            time.sleep(0.25)


# ---- servers and sessions --------------------------------------------------------------------

class Server:
    """One cluster, running until its workdir ends; in a network namespace (netns.py), if one is given."""

    def __init__(self, work, name, settings, namespace=None):
        self.work, self.name = work, name
        self.data = os.path.join(work, name)
        self.log = os.path.join(work, name + ".log")
        run(work, "initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8",
            "--locale=C.UTF-8", "--no-sync")
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": work, "fsync": "off",
                    "timezone": "UTC", **settings}
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as conf:
            for key, value in settings.items():
                conf.write(f"{key} = '{value}'\n")
        for attempt in range(5):
            with socket.socket() as free:   # another process may take the port meanwhile: try again
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            try:
                run(work, "pg_ctl", "-s", "-w", "-D", self.data, "-l", self.log, "-o", f"-p {self.port}", "start",
                    namespace=namespace)
                break
            except Failure as failure:
                if attempt == 4:
                    with open(self.log, encoding="utf-8") as log:
                        raise Failure(f"{failure}\n{log.read()}") from None
        with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as pidfile:
            self.pid = int(pidfile.readline())

    def psql_command(self, database="postgres"):
        return ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.work, "-p", str(self.port),
                "-U", "postgres", "-d", database]

    def sql(self, text, database="postgres"):
        with Session(self, database) as session:
            return session.run(text)

    def cpu_seconds(self):
        """CPU used so far by this server: its live processes, and those it has reaped."""
        ticks = 0
        for path in glob.glob("/proc/[0-9]*/stat"):
            with contextlib.suppress(OSError):
                with open(path, encoding="utf-8", errors="replace") as stat:
                    fields = stat.read().rpartition(")")[2].split()   # fields[1] is ppid, 11..14 the times
                if int(path.split("/")[2]) == self.pid or int(fields[1]) == self.pid:
                    ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _bytes(self, directions):
        out = subprocess.check_output(["ss", "-tinH", "state", "established", "dst", "127.0.0.1",
                                       "dport", "=", f":{self.port}"], text=True)
        return sum(map(int, re.findall(rf"bytes_(?:{directions}):(\d+)", out)))

    def bytes_received_from(self):
        """Payload bytes that clients on this machine have received over their open connections to us."""
        return self._bytes("received")

    def bytes_exchanged(self):
        """Those that they have sent and we have acknowledged, too."""
        return self._bytes("received|acked")


def start_again(server):
    """Start a server whose processes may not have noticed its end yet."""
    deadline = time.monotonic() + 180
    while True:
        try:
            run(server.work, "pg_ctl", "-s", "-w", "-D", server.data, "-l", server.log, "-o", f"-p {server.port}", "start")
            break
        except Failure:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    with open(os.path.join(server.data, "postmaster.pid"), encoding="utf-8") as pidfile:
        server.pid = int(pidfile.readline())


def coordinator(work, settings, name="coordinator"):
    """A server for tests: it has the extensions, and all its scans are exchanges,
    however small they are, and though the other server is on this host."""
    server = Server(work, name, {"session_preload_libraries": "pg_exchange",
                                 "pg_exchange.local_scope": "none",
                                 "pg_exchange.min_bytes": "0", **settings})
    server.sql("CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange;")
    return server


class Session:
    """One backend: a psql that stays open, so that a second statement finds it warm."""
    open = set()

    def __init__(self, server, database="postgres"):
        self.process = subprocess.Popen(server.psql_command(database), cwd=server.work, env=environment(server.work),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, **as_server_user())
        Session.open.add(self)
        self.pid = int(self.run("SELECT pg_backend_pid();"))
        self.peak_rss = 0

    def run(self, text):
        """Run SQL and return what psql prints; an SQL error is a Failure."""
        lines = []
        try:
            self.process.stdin.write(text + "\n;\n\\echo :end-of-answer\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        for line in self.process.stdout:
            if line == ":end-of-answer\n":
                return "".join(lines).rstrip("\n")
            lines.append(line)
        raise Failure(f"{text}\n{''.join(lines)}")

    def explain(self, query):
        """Run EXPLAIN (ANALYZE) of a query: (wall seconds, plan tree as JSON).

        Samples the backend's anonymous memory meanwhile into peak_rss (bytes); shared pages do not count."""
        done = threading.Event()

        def sample():
            while not done.wait(0.02):
                with contextlib.suppress(OSError, StopIteration):
                    with open(f"/proc/{self.pid}/status", encoding="utf-8") as status:
                        anon = next(l for l in status if l.startswith("RssAnon:"))
                    self.peak_rss = max(self.peak_rss, int(anon.split()[1]) * 1024)
        sampler = threading.Thread(target=sample)
        sampler.start()
        started = time.monotonic()
        try:
            answer = self.run(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {query};")
            seconds = time.monotonic() - started
        finally:
            done.set()
            sampler.join()
        return seconds, json.loads(answer)[0]["Plan"]

    def kill(self):
        Session.open.discard(self)
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        Session.open.discard(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.kill()
        else:
            self.close()


def find_pgbouncer():
    """Its program; None if it is not installed."""
    return shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


class Pooler:
    """pgbouncer by transaction, which leads to every database of a server; Session.open has it ended."""

    def __init__(self, work, program, name, upstream, size):
        folder = os.path.join(work, name)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        os.mkdir(folder)
        os.chown(folder, server_user().pw_uid, server_user().pw_gid)
        with open(folder + "/pgbouncer.ini", "w", encoding="utf-8") as conf:
            conf.write(f"""[databases]
* = host=127.0.0.1 port={upstream} user=postgres pool_size={size}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
server_round_robin = 1
""")
        with open(folder + "/log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([program, folder + "/pgbouncer.ini"], cwd=work, env=environment(work),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, **as_server_user())
        Session.open.add(self)
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise Failure("pgbouncer does not start")

    def kill(self):
        Session.open.discard(self)
        self.process.kill()
        self.process.wait()


def exchange_nodes(plan):
    """The ExchangeReceive nodes of a JSON plan."""
    found = [plan] if plan.get("Custom Plan Provider") == "ExchangeReceive" else []
    for child in plan.get("Plans", []):
        found += exchange_nodes(child)
    return found


# ---- TPC-H -----------------------------------------------------------------------------------

TPCH = {
    "region": "r_regionkey integer NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152)",
    "nation": "n_nationkey integer NOT NULL, n_name char(25) NOT NULL, n_regionkey integer NOT NULL, n_comment varchar(152)",
    "supplier": "s_suppkey integer NOT NULL, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, "
                "s_nationkey integer NOT NULL, s_phone char(15) NOT NULL, s_acctbal numeric(15,2) NOT NULL, "
                "s_comment varchar(101) NOT NULL",
    "part": "p_partkey integer NOT NULL, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, p_brand char(10) NOT NULL, "
            "p_type varchar(25) NOT NULL, p_size integer NOT NULL, p_container char(10) NOT NULL, "
            "p_retailprice numeric(15,2) NOT NULL, p_comment varchar(23) NOT NULL",
    "partsupp": "ps_partkey integer NOT NULL, ps_suppkey integer NOT NULL, ps_availqty integer NOT NULL, "
                "ps_supplycost numeric(15,2) NOT NULL, ps_comment varchar(199) NOT NULL",
    "customer": "c_custkey integer NOT NULL, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, "
                "c_nationkey integer NOT NULL, c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL, "
                "c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL",
    "orders": "o_orderkey bigint NOT NULL, o_custkey integer NOT NULL, o_orderstatus char(1) NOT NULL, "
              "o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, "
              "o_clerk char(15) NOT NULL, o_shippriority integer NOT NULL, o_comment varchar(79) NOT NULL",
    "lineitem": "l_orderkey bigint NOT NULL, l_partkey integer NOT NULL, l_suppkey integer NOT NULL, "
                "l_linenumber integer NOT NULL, l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, "
                "l_discount numeric(15,2) NOT NULL, l_tax numeric(15,2) NOT NULL, l_returnflag char(1) NOT NULL, "
                "l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL, "
                "l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, "
                "l_comment varchar(44) NOT NULL",
}


def cache_dir():
    """What is kept between runs: the generator's venv and generated data ($PG_EXCHANGE_CACHE moves it)."""
    default = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pg_exchange")
    return os.environ.get("PG_EXCHANGE_CACHE") or default


def python_with(package):
    """Python with a package: this one, or that of a venv in the cache folder, made on first use."""
    if subprocess.run([sys.executable, "-c", f"import {package}"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return sys.executable
    venv = os.path.join(cache_dir(), f"{package}-venv")
    python = os.path.join(venv, "bin", "python")
    if not os.path.exists(python):
        subprocess.check_call([sys.executable, "-m", "venv", "--clear", venv])
    if subprocess.run([python, "-c", f"import {package}"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        subprocess.check_call([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", package])
    return python


def plot(folder):
    """Have bench/plot.py draw the pictures of a folder of reports, where its library is to be had."""
    try:
        subprocess.check_call([python_with("matplotlib"), os.path.join(ROOT, "bench", "plot.py"), folder])
    except subprocess.CalledProcessError as error:
        print(f"no plots: {error}", file=sys.stderr)


def tpch_data(scale):
    """Folder with the .tbl files of a scale, generated on first use."""
    cache = cache_dir()
    target = os.path.join(cache, f"tpch-{scale:g}")
    if os.path.isdir(target):
        return target
    os.makedirs(cache, exist_ok=True)
    generator = os.path.join(cache, "venv", "bin", "tpchgen-cli")
    if not os.path.exists(generator):
        print("fetching tpchgen-cli from PyPI", flush=True)
        subprocess.check_call([sys.executable, "-m", "venv", "--clear", os.path.join(cache, "venv")])
        subprocess.check_call([os.path.join(cache, "venv", "bin", "pip"), "install", "-q",
                               "--disable-pip-version-check", "tpchgen-cli"])
    print(f"generating TPC-H at scale {scale:g}", flush=True)
    # Renamed when complete: an interrupted run leaves nothing that looks finished.
    partial = tempfile.mkdtemp(prefix="partial-", dir=cache)
    try:
        subprocess.check_call([generator, "-s", f"{scale:g}", "--output-dir", partial],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.rename(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def load_tpch(server, scale, tables=tuple(TPCH)):
    """Create and fill TPC-H tables in schema public."""
    data = tpch_data(scale)
    for table in tables:
        # A .tbl line ends in one '|' too many. FREEZE sets the hint bits, as a VACUUM would.
        copy = f"BEGIN; CREATE TABLE {table} ({TPCH[table]}); COPY {table} FROM STDIN (DELIMITER '|', FREEZE); COMMIT; ANALYZE {table}"
        with open(os.path.join(data, table + ".tbl"), "rb") as tbl, \
                subprocess.Popen(["sed", "s/|$//"], stdin=tbl, stdout=subprocess.PIPE) as sed:
            commands = [word for part in copy.split("; ") for word in ("-c", part)]
            done = subprocess.run(server.psql_command() + commands, cwd=server.work, env=environment(server.work),
                                  stdin=sed.stdout, capture_output=True, text=True, check=False, **as_server_user())
        if done.returncode != 0:
            raise Failure(f"loading {table} failed:\n{done.stderr}")


# ---- two nodes -------------------------------------------------------------------------------

def two_nodes(work, scale, **settings):
    """A shard with TPC-H and a coordinator with pg_exchange loaded: (shard, coordinator).

    Foreign tables stand in schema tpch (fetch_size 10000), tpch_100 (fetch_size 100), tpch_few, which the planner
    takes to have 10 rows each, and, where pgbouncer is installed, tpch_pooled, which leads through it."""
    common = {"shared_buffers": "256MB", "wal_level": "minimal", "max_wal_senders": "0", "max_wal_size": "8GB",
              "autovacuum": "off", "jit": "off", **settings}
    print("starting two servers", flush=True)
    shard = Server(work, "shard", common)
    # Both nodes are one machine here: without local_scope = none nothing would be compressed.
    coordinator = Server(work, "coordinator", {**common, "session_preload_libraries": "pg_exchange",
                                               "pg_exchange.local_scope": "none"})
    data = tpch_data(scale)
    print(f"loading TPC-H at scale {scale:g} from {data}", flush=True)
    load_tpch(shard, scale)
    shard.sql("CREATE EXTENSION pg_exchange; CHECKPOINT;")
    coordinator.sql("CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange;")
    ways = [("tpch", 10000, shard.port), ("tpch_100", 100, shard.port), ("tpch_few", 10000, shard.port)]
    if find_pgbouncer():
        ways.append(("tpch_pooled", 10000, Pooler(work, find_pgbouncer(), "pooler", shard.port, 8).port))
    for schema, fetch_size, port in ways:
        coordinator.sql(f"""
            CREATE SERVER {schema} FOREIGN DATA WRAPPER postgres_fdw
                OPTIONS (host '127.0.0.1', port '{port}', dbname 'postgres', fetch_size '{fetch_size}');
            CREATE USER MAPPING FOR CURRENT_USER SERVER {schema} OPTIONS (user 'postgres');
            CREATE SCHEMA {schema};
            IMPORT FOREIGN SCHEMA public LIMIT TO ({', '.join(TPCH)}) FROM SERVER {schema} INTO {schema};""")
    shard.sql("CREATE TABLE written (i int)")
    coordinator.sql("CREATE FOREIGN TABLE tpch.written (i int) SERVER tpch OPTIONS (schema_name 'public')")
    coordinator.sql("UPDATE pg_class SET reltuples = 10, relpages = 1 WHERE relnamespace = 'tpch_few'::regnamespace")
    return shard, coordinator


# The ways to fetch a table: label -> (settings, schema of the foreign table,
# and, if it is not BEGIN, how the transaction begins)
STREAM, BY_SESSION = ("SET pg_exchange.transport = auto;", "SET pg_exchange.transport = session;")
MODES = {
    "postgres_fdw": ("SET pg_exchange.enabled = off;", "tpch"),
    "postgres_fdw, fetch_size 100": ("SET pg_exchange.enabled = off;", "tpch_100"),
    **{mode: (STREAM + f"SET pg_exchange.compression = {mode};", "tpch") for mode in ("none", "fast", "high_compression")},
    **{f"session, {mode}": (BY_SESSION + f"SET pg_exchange.compression = {mode};", "tpch")
       for mode in ("none", "fast", "high_compression")},
}

# What auto leaves to the session, and what a pooler is in between of
POOLED = "postgres_fdw, pgbouncer"
SITUATIONS = {
    "written before": (STREAM + "SET pg_exchange.compression = fast;", "tpch", "BEGIN; INSERT INTO tpch.written VALUES (1);"),
    "serializable": (STREAM + "SET pg_exchange.compression = fast;", "tpch", "BEGIN ISOLATION LEVEL SERIALIZABLE;"),
    "first in a savepoint": (STREAM + "SET pg_exchange.compression = fast;", "tpch", "BEGIN; SAVEPOINT s;"),
    "10 rows expected": (STREAM + "SET pg_exchange.compression = fast; SET pg_exchange.min_bytes = '64kB';", "tpch_few"),
}
if find_pgbouncer():
    MODES[POOLED] = ("SET pg_exchange.enabled = off;", "tpch_pooled")
    SITUATIONS["through pgbouncer"] = (BY_SESSION + "SET pg_exchange.compression = fast;", "tpch_pooled")


def measure(session, shard, coordinator, mode, table="lineitem"):
    """One scan of a table: seconds, rows, bytes received, CPU of both servers, and the exchange's figures.

    wire_bytes is what TCP delivered to the coordinator (payload, from the kernel's socket statistics);
    reported_bytes is what EXPLAIN says of the exchange (None for postgres_fdw)."""
    settings, schema, *begin = {**MODES, **SITUATIONS}[mode]
    session.run(settings + (begin[0] if begin else " BEGIN;"))   # stream connections stay open until the bytes are read off
    before = shard.bytes_received_from()
    cpu = coordinator.cpu_seconds(), shard.cpu_seconds()
    seconds, plan = session.explain(f"SELECT * FROM {schema}.{table}")
    result = {"mode": mode, "seconds": round(seconds, 4), "rows": int(plan["Actual Rows"]),
              "wire_bytes": shard.bytes_received_from() - before,
              "coordinator_cpu": round(coordinator.cpu_seconds() - cpu[0], 2),
              "shard_cpu": round(shard.cpu_seconds() - cpu[1], 2),
              "peak_rss": session.peak_rss, "reported_bytes": None}
    session.run("ROLLBACK;")
    nodes = exchange_nodes(plan)
    if mode.startswith("postgres_fdw"):
        if nodes:
            raise Failure(f"{mode}: an exchange was used with pg_exchange.enabled = off")
    elif not nodes or any(not str(n.get("Transport", "")).startswith("exchange") for n in nodes):
        raise Failure(f"{mode}: no exchange was used: {json.dumps(plan, indent=2)}")
    elif any(("session" in n["Transport"]) != (mode.startswith("session") or mode in SITUATIONS) for n in nodes):
        raise Failure(f"{mode}: {nodes[0]['Transport']}")
    else:
        result["reported_bytes"] = sum(n["Wire Bytes"] for n in nodes)
    return result


def main(body):
    """Run body(work) in a temporary folder; a Failure becomes a message and exit status 1."""
    try:
        with workdir() as work:
            return body(work)
    except (Failure, subprocess.CalledProcessError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    if sys.argv[1:] == ["pg_config"]:
        try:
            print(find_pg_config())
        except Failure as missing:
            sys.exit(f"error: {missing}")
    else:
        sys.exit(__doc__)
