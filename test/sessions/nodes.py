"""The servers that scenarios run on, and places in them: a place has a database on each node and is
cleaned before every run, so that several scenarios run at a time and none sees what another left."""
import glob
import os
import re
import socket
import time

import harness
from wire_client import Client, Lost

COMMON = {"autovacuum": "off", "jit": "off", "max_connections": "200", "max_prepared_transactions": "20",
          "shared_buffers": "64MB", "max_worker_processes": "24", "max_parallel_workers": "16",
          "log_line_prefix": "%m [%p] %d %a ", "log_min_messages": "fatal", "log_min_error_statement": "panic"}

# What a run may leave in a database. Extensions stay, with the schemas they own.
CLEAN = """
SET client_min_messages = error; SET lock_timeout = '20s';
DO $clean$
DECLARE r record;
BEGIN
    FOR r IN SELECT srvname FROM pg_foreign_server WHERE srvname <> 'third' LOOP
        EXECUTE format('DROP SERVER %I CASCADE', r.srvname);
    END LOOP;
    FOR r IN SELECT evtname FROM pg_event_trigger LOOP
        EXECUTE format('DROP EVENT TRIGGER %I', r.evtname);
    END LOOP;
    FOR r IN SELECT nspname FROM pg_namespace n WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
            AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_namespace'::regclass AND objid = n.oid AND deptype = 'e')
            AND NOT EXISTS (SELECT FROM pg_extension WHERE extnamespace = n.oid AND nspname <> 'public') LOOP
        IF r.nspname = 'public' THEN CONTINUE; END IF;
        EXECUTE format('DROP SCHEMA %I CASCADE', r.nspname);
    END LOOP;
    FOR r IN SELECT oid FROM pg_roles WHERE rolname LIKE '%\\_PLACE' LOOP
        EXECUTE format('DROP OWNED BY %s CASCADE', r.oid::regrole);
    END LOOP;
    EXECUTE format('ALTER DATABASE %I RESET ALL', current_database());
    FOR r IN SELECT setrole FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase
            WHERE d.datname = current_database() AND setrole <> 0 LOOP
        EXECUTE format('ALTER ROLE %s IN DATABASE %I RESET ALL', r.setrole::regrole, current_database());
    END LOOP;
END $clean$;
DROP SCHEMA public CASCADE;
CREATE SCHEMA public;
GRANT ALL ON SCHEMA public TO PUBLIC;
"""
EXTENSIONS = {"coord": ("postgres_fdw", "pg_exchange"), "shard": ("postgres_fdw", "pg_exchange"), "third": ("postgres_fdw",)}


class Nodes:
    """The coordinator and the shard; the third node is another database of the shard's server."""

    def __init__(self, work, settings=None):
        self.work = work
        self.shard = harness.Server(work, "shard", COMMON)
        self.coord = harness.Server(work, "coord", {
            **COMMON, "session_preload_libraries": "pg_exchange", "pg_exchange.local_scope": "none",
            "pg_exchange.min_bytes": "0", **(settings or {})})
        self.server = {"coord": self.coord, "shard": self.shard, "third": self.shard}

    def add(self, what):
        """Start what only some scenarios need: True if it can be had."""
        if what == "standby":
            self.server["standby"] = Standby(self.work, self.shard)
        elif what == "pooler":
            program = harness.find_pgbouncer()
            if not program:
                return False
            self.server["pooler"] = harness.Pooler(self.work, program, "pooler", self.shard.port, 8)
            self.server["narrow"] = harness.Pooler(self.work, program, "narrow", self.shard.port, 1)
        return True

    def replay(self):
        """Wait until the standby has what the shard has written."""
        shard, standby = self.connect("shard"), self.connect("standby")
        lsn = shard.rows("SELECT pg_current_wal_insert_lsn()")[0][0]
        while standby.rows(f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'") != [["t"]]:
            shard.run("SELECT txid_current()")   # its commit flushes what was written before
            time.sleep(0.05)
        shard.close()
        standby.close()

    def connect(self, node, database="postgres", **parameters):
        """A session, as soon as the server takes one: it may be recovering from a crash."""
        for attempt in range(120):
            try:
                return Client(self.server[node].port, database, **parameters)
            except Lost as lost:
                if attempt == 119 or not re.search(r"57P03|refused|reset|connection lost", str(lost)):
                    raise
            time.sleep(0.25)
        raise Lost(node)

    def has_transport(self):
        """Does this pg_exchange have the setting pg_exchange.transport?"""
        session = self.connect("coord")
        try:
            return bool(session.rows("SHOW pg_exchange.transport"))
        except Lost:
            return False
        finally:
            session.close()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Standby:
    """A hot standby of a server; it ends with the work folder, as every server below that."""

    def __init__(self, work, primary):
        data, self.port = os.path.join(work, "standby"), free_port()
        harness.run(work, "pg_basebackup", "-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres", "-D", data, "-R", "-c", "fast", "--no-sync")
        harness.run(work, "pg_ctl", "-s", "-w", "-D", data, "-l", data + ".log", "-o", f"-p {self.port}", "start")


class Place:
    """Databases of its own on each node, of one number."""

    def __init__(self, nodes, number):
        self.nodes, self.mark = nodes, f"px{number}"
        self.database = {"coord": f"{self.mark}db", "shard": f"{self.mark}db", "third": f"{self.mark}third"}
        self.observers = {}
        for node, database in self.database.items():
            admin = nodes.connect(node)
            admin.run(f"CREATE DATABASE {database}")
            admin.close()
            session = nodes.connect(node, database)
            for extension in EXTENSIONS[node]:
                session.run(f"CREATE EXTENSION {extension}" + (" SCHEMA pg_catalog" if extension == "postgres_fdw" else ""))
            if node == "shard":
                session.run(server_sql("third", nodes.shard.port, self.database["third"]))
            session.close()

    def observer(self, node):
        """A session on the node's server that looks after the others; a new one after a crash."""
        node = "shard" if node == "third" else node
        if node not in self.observers or self.observers[node].lost:
            self.observers[node] = self.nodes.connect(node)
        return self.observers[node]

    def fill_in(self, text):
        """Replace what differs from place to place: @run@, @coord_port@, @shard_db@ and the like."""
        def word(match):
            if match[1] == "run":
                return self.mark
            node, what = match[1].split("_")
            return str(self.nodes.server[node].port) if what == "port" else self.database[node]
        return re.sub(r"@(run|(?:coord|shard|third|pooler|narrow|standby)_(?:port|db))@", word, text)

    def blur(self, text):
        """The same for all places and runs: what a run prints."""
        text = text.replace(self.mark, "px")
        for pattern, blurred in BLURRED:
            text = pattern.sub(blurred, text)
        return text

    def end_backends(self):
        """End what still runs in our databases. The pids of those that do not even then."""
        deaf = []
        for node in ("coord", "shard"):
            databases = ", ".join(f"'{name}'" for name in set(self.database.values()))
            for _ in range(3):
                try:
                    self.observer(node).run(f"SELECT pg_cancel_backend(pid), pg_terminate_backend(pid, 5000) "
                                            f"FROM pg_stat_activity WHERE datname IN ({databases})")
                    deaf += [(node, int(pid)) for pid, in self.observer(node).rows(
                        f"SELECT pid FROM pg_stat_activity WHERE datname IN ({databases})")]
                    break
                except Lost:
                    continue
        return deaf

    def clean(self):
        self.end_backends()
        for node, database in self.database.items():
            session = self.nodes.connect(node, database, options="-c session_preload_libraries= -c statement_timeout=60s"
                                         " -c lock_timeout=20s -c default_transaction_read_only=off")
            for gid, in session.rows("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"):
                session.run(f"ROLLBACK PREPARED '{gid}'")
            session.run(CLEAN.replace("PLACE", self.mark))
            if node == "shard":
                session.run("DROP SERVER IF EXISTS third CASCADE")
                session.run(server_sql("third", self.nodes.shard.port, self.database["third"]))
            session.close()
        for node in ("coord", "shard"):
            observer = self.observer(node)
            for role, in observer.rows(f"SELECT rolname FROM pg_roles WHERE rolname LIKE '%\\_{self.mark}'"):
                observer.run(f'DROP ROLE "{role}"')


def server_sql(name, port, database):
    return (f"CREATE SERVER {name} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{port}', "
            f"dbname '{database}'); CREATE USER MAPPING FOR PUBLIC SERVER {name} "
            "OPTIONS (user 'postgres', password_required 'false')")


# What must differ from run to run.
BLURRED = [(re.compile(pattern), blurred) for pattern, blurred in (
    (r'\bcursor "c\d+"', 'cursor "c"'), (r"\b(DECLARE|CLOSE|FROM|IN) c\d+\b", r"\1 c"),
    (r"\b([Pp]rocess|pid|PID) \d+", r"\1 N"), (r"\b(relation|tuple \(\d+,\d+\) of relation|database|transaction) \d+", r"\1 N"),
    (r"virtual transaction \d+/\d+", "virtual transaction N"), (r"\b(s\d+_|pg_temp_)\d+", r"\1N"))]


# ---- whose connection is whose ---------------------------------------------------------------

def outgoing_ports(pids):
    """Ports on 127.0.0.1 from which processes are connected to others: pid -> set of ports."""
    port_of = {}
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table:
            fields = line.split()
            if fields[0] != "sl":
                port_of[fields[9]] = int(fields[1].split(":")[1], 16)
    ports = {}
    for pid in pids:
        ports[pid] = set()
        for path in glob.glob(f"/proc/{pid}/fd/*"):
            try:
                target = os.readlink(path)
            except OSError:
                continue
            if target.startswith("socket:[") and target[8:-1] in port_of:
                ports[pid].add(port_of[target[8:-1]])
    return ports
