"""What a client of scripts/check_write_load.py does, and what must be there.

A client writes transactions of random statements, each to one server or to
several, over foreign partitions. It knows what its own rows must be, for it
follows what it was told: a COMMIT, an error, or nothing since the connection
was lost. Each transaction leaves its number at every server that it writes to,
so in the end the servers say which ones they have."""
import collections
import random
import re
import subprocess
import threading
import time

import harness

SERVERS = 4
STATEMENT_TIMEOUT = 120     # seconds; more than a crash and a recovery take
BATCHES_MAX = 10            # of a client at a server; then the oldest go
ROWS = [1, 20, 150, 1000, 5000, 30000]
ROWS_WEIGHTS = [4, 6, 6, 6, 2, 1]

SHARD = """
    CREATE EXTENSION pg_exchange;
    CREATE TABLE rows (server int NOT NULL, batch bigint, n int, v bigint,
        t text NOT NULL, d numeric(12,2), PRIMARY KEY (batch, n));
    CREATE TABLE sizes (server int NOT NULL, batch bigint PRIMARY KEY,
        rows int NOT NULL);
    CREATE TABLE marks (server int NOT NULL,
        transaction bigint PRIMARY KEY);"""

# A function that stays here: rows are read, and travel back as frames.
COORDINATOR = """
    CREATE FUNCTION plus(a bigint, b bigint) RETURNS bigint IMMUTABLE
        LANGUAGE plpgsql AS 'BEGIN RETURN a + b; END';
    CREATE TABLE rows (server int NOT NULL, batch bigint, n int, v bigint,
        t text NOT NULL, d numeric(12,2)) PARTITION BY LIST (server);
    CREATE TABLE sizes (server int NOT NULL, batch bigint, rows int NOT NULL)
        PARTITION BY LIST (server);
    CREATE TABLE marks (server int NOT NULL, transaction bigint)
        PARTITION BY LIST (server);"""
PARTITIONS = """
    CREATE SERVER shard{number} FOREIGN DATA WRAPPER postgres_fdw
        OPTIONS (host '127.0.0.1', port '{port}', dbname 'postgres',
                 batch_size '{batch_size}');
    CREATE USER MAPPING FOR CURRENT_USER SERVER shard{number}
        OPTIONS (user 'postgres');
    CREATE FOREIGN TABLE rows{number} PARTITION OF rows
        FOR VALUES IN ({number}) SERVER shard{number}
        OPTIONS (table_name 'rows');
    CREATE FOREIGN TABLE sizes{number} PARTITION OF sizes
        FOR VALUES IN ({number}) SERVER shard{number}
        OPTIONS (table_name 'sizes');
    CREATE FOREIGN TABLE marks{number} PARTITION OF marks
        FOR VALUES IN ({number}) SERVER shard{number}
        OPTIONS (table_name 'marks');
    CREATE FOREIGN TABLE prepared{number} (name text) SERVER shard{number}
        OPTIONS (schema_name 'pg_catalog',
                 table_name 'pg_prepared_statements');"""

# Choices of a transaction.
SETTINGS = {
    "transport": ["auto", "auto", "stream", "session"],
    "write_streams": ["0", "0", "1", "2"],
    "min_write_rows": ["128", "128", "0", "5"],
    "receive_buffer": ["64MB", "1MB"],
    "compression": ["auto", "fast", "none"],
    "debug_random_choices": ["off", "on"],  # on: pieces are deposited, too
    "enabled": ["on", "on", "on", "on", "off"],
}


class Lost(Exception):
    """The connection is gone."""


class SQLError(Exception):
    """A statement has failed."""

    def __init__(self, sqlstate, statement, printed):
        super().__init__(f"{sqlstate}: {statement}\n{printed}")
        self.sqlstate = sqlstate


class Connection:
    """A psql that goes on after errors."""

    def __init__(self, server):
        command = [word for word in server.psql_command()
                   if word not in ("-q", "-v", "ON_ERROR_STOP=1")]
        self.process = subprocess.Popen(
            command, cwd=server.work, env=harness.environment(server.work),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, **harness.as_server_user())
        harness.Session.open.add(self)
        self.pid = int(self.run("SELECT pg_backend_pid()"))
        self.run("\\set VERBOSITY verbose")

    def run(self, statement):
        """What psql prints, with the command's tag."""
        lines = []
        end = "" if statement.startswith("\\") else ";"
        try:
            self.process.stdin.write(
                f"{statement}{end}\n"
                "\\echo :end\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        for line in self.process.stdout:
            if line == ":end\n":
                printed = "".join(lines).rstrip("\n")
                # \copy sets neither ERROR nor SQLSTATE
                error = re.search(r"^ERROR:  (\w{5}):", printed, re.M)
                if error:
                    raise SQLError(error[1], statement, printed)
                return printed
            lines.append(line)
        raise Lost("".join(lines))

    def kill(self):
        harness.Session.open.discard(self)
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def close(self):
        harness.Session.open.discard(self)
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()
        self.process.stdout.close()


# The rows of a batch: n is 1 to rows, v is one of four by n % 4.
Batch = collections.namedtuple("Batch", "rows v")
NONE = Batch(0, (0, 0, 0, 0))


def figures(batch):
    """What BATCHES returns for it."""
    total = sum(value * sum(range(rest or 4, batch.rows + 1, 4))
                for rest, value in enumerate(batch.v))
    return batch.rows, total, 0


BATCHES = """SELECT server, batch, count(*), sum(v * n), count(*) FILTER
    (WHERE t IS DISTINCT FROM 'row ' || n OR d IS DISTINCT FROM n / 4.0)
    FROM (SELECT * FROM rows WHERE {condition} OFFSET 0) r
    GROUP BY server, batch"""


def read_batches(run, condition):
    """{(server, batch): figures} of the batches that are there."""
    found = {}
    for line in run(BATCHES.format(condition=condition)).splitlines():
        server, batch, *numbers = map(int, line.split("|"))
        found[server, batch] = tuple(numbers)
    return found


def array(servers):
    return "'{%s}'" % ",".join(map(str, servers))


class Client(threading.Thread):
    """Writes and reads until it is told to stop."""

    def __init__(self, number, server, lasts):
        super().__init__(daemon=True)
        self.number, self.server, self.lasts = number, server, lasts
        self.random = random.Random(number)
        self.stop = threading.Event()
        self.connection = None
        self.transactions = 0
        # What is committed, by (server, batch); of the rest nobody knows.
        self.batches, self.usable = {}, set()
        self.committed, self.failed, self.unknown = [], [], []
        self.counts = collections.Counter()
        self.wrong = []     # what must not happen
        self.memory = []    # (time, memory contexts), if it lasts
        # of the transaction
        self.txn, self.servers, self.pending = 0, [], {}

    # ---- the thread --------------------------------------------------------

    def run(self):
        while not self.stop.is_set():
            try:
                if self.connection is None:
                    self.connect()
                self.transaction()
                if self.lasts and self.transactions % 5 == 0:
                    self.memory.append((time.monotonic(), self.contexts()))
            except Lost as lost:
                self.lose(lost)
            except Exception as failure:    # ours: the test is broken
                self.wrong.append(f"client {self.number}: {failure!r}")
                return

    def connect(self):
        self.connection = Connection(self.server)
        self.connection.run("SET client_min_messages = error")
        self.connection.run(f"SET statement_timeout = '{STATEMENT_TIMEOUT}s'")

    def lose(self, lost):
        self.counts["connections lost"] += 1
        if self.lasts:
            self.wrong.append(f"client {self.number} was disconnected: {lost}")
        if self.connection:
            self.connection.kill()
        self.connection = None

    def contexts(self):
        """Bytes in use by the name of the memory context."""
        lines = self.sql("SELECT name, sum(used_bytes) FROM "
                         "pg_backend_memory_contexts GROUP BY name")
        return {name: int(used) for name, used in (
            line.rsplit("|", 1) for line in lines.splitlines())}

    def sql(self, statement):
        return self.connection.run(statement)

    # ---- a transaction -----------------------------------------------------

    def transaction(self):
        self.transactions += 1
        self.txn = self.number * 10**6 + self.transactions
        several = self.random.random() < 0.3
        count = self.random.randint(2, SERVERS) if several else 1
        self.servers = sorted(
            self.random.sample(range(1, SERVERS + 1), count))
        self.pending = {}
        end = "COMMIT" if self.random.random() < 0.85 else "ROLLBACK"
        try:
            self.statements()
        except SQLError as error:
            self.count_error(error)
            end = "ROLLBACK"
        except Lost:
            self.failed.append((self.txn, self.servers))
            raise
        self.end(end)

    def statements(self):
        self.sql("BEGIN ISOLATION LEVEL " + self.random.choice(
            ["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"]))
        for name, values in SETTINGS.items():
            self.sql(f"SET LOCAL pg_exchange.{name} = "
                     f"'{self.random.choice(values)}'")
        self.sql("INSERT INTO marks SELECT s, "
                 f"{self.txn} FROM unnest({array(self.servers)}::int[]) s")
        for number in range(self.random.randint(1, 4)):
            self.step(number)

    def step(self, number):
        """A statement, perhaps in a savepoint, then perhaps a look at it."""
        kind = self.random.random()
        before = dict(self.pending)
        if kind < 0.4:
            self.write(number)
        else:
            self.sql("SAVEPOINT s")
            keep = kind >= 0.7
            try:
                self.write(number)
                if kind < 0.55:
                    self.conflict()
            except SQLError as error:
                self.count_error(error)
                self.counts["savepoints after an error"] += 1
                keep = False
            if keep:
                self.sql("RELEASE s")
            else:
                self.sql("ROLLBACK TO s")
                self.pending = before
        if self.random.random() < 0.4:
            self.look()

    def end(self, how):
        try:
            tag = self.sql(how)
        except SQLError as error:
            self.count_error(error)
            self.sql("ROLLBACK")
            tag = "?"
        except Lost:
            if how == "COMMIT":
                self.end_unknown()
            else:
                self.failed.append((self.txn, self.servers))
            raise
        if tag == "COMMIT":
            self.committed.append((self.txn, self.servers))
            self.batches.update(self.pending)
            self.usable |= set(self.pending)
            self.counts["committed"] += 1
        elif how == "COMMIT":
            self.end_unknown()
        else:
            self.failed.append((self.txn, self.servers))
            self.counts["rolled back"] += 1

    def end_unknown(self):
        """Servers may or may not have it: its batches are left alone."""
        self.counts["COMMIT without an answer"] += 1
        self.unknown.append((self.txn, self.servers, dict(self.pending)))
        self.usable -= set(self.pending)

    def count_error(self, error):
        self.counts["SQLSTATE " + error.sqlstate] += 1
        # connection, shutdown or crash, cancel, and our conflicts
        if error.sqlstate[:2] != "08" and error.sqlstate not in (
                "57P01", "57P02", "57P03", "57014", "23505"):
            self.wrong.append(f"client {self.number}: {error}")
        if error.sqlstate == "08001":
            time.sleep(0.2)     # a server is down

    # ---- statements --------------------------------------------------------

    def state(self, key):
        return self.pending.get(key, self.batches.get(key, NONE))

    def mine(self):
        """Batches at the servers of the transaction, the oldest first."""
        keys = self.usable | set(self.pending)
        return sorted((batch, server) for server, batch in keys
                      if server in self.servers
                      and self.state((server, batch)).rows)

    def write(self, number):
        mine = self.mine()
        kind = self.random.choice(["insert", "copy", "update", "delete"])
        if len(mine) > BATCHES_MAX * len(self.servers):
            self.delete(*mine[0], 0)
        elif kind == "update" and mine:
            self.update(*self.random.choice(mine))
        elif kind == "delete" and mine:
            batch, server = self.random.choice(mine)
            rows = self.state((server, batch)).rows
            self.delete(batch, server, self.random.randint(0, rows))
        elif kind == "copy":
            self.insert(number, self.copy)
        else:
            self.insert(number, self.insert_select)
        self.counts["statements"] += 1

    def insert(self, number, how):
        batch, v = self.txn * 10 + number, self.txn % 1000
        rows = self.random.choices(ROWS, ROWS_WEIGHTS)[0]
        tag = how(batch, rows, v)
        self.expect(tag, f"{rows * len(self.servers)}", "insert")
        self.sql(f"INSERT INTO sizes SELECT s, {batch}, {rows} FROM "
                 f"unnest({array(self.servers)}::int[]) s")
        for server in self.servers:
            self.pending[server, batch] = Batch(rows, (v, v, v, v))

    def insert_select(self, batch, rows, v):
        return self.sql(
            f"INSERT INTO rows SELECT s, {batch}, n, {v}, 'row ' || n, "
            f"n / 4.0 FROM generate_series(1, {rows}) n, "
            f"unnest({array(self.servers)}::int[]) s")

    def copy(self, batch, rows, v):
        line = r"\n".join(f"{server}|{batch}|&|{v}|row &|"
                          for server in self.servers)
        # d by a calculation of the shell's tools would cost more than COPY
        tag = self.sql(f"\\copy rows FROM PROGRAM 'seq 1 {rows} | "
                       f"sed \"s/.*/{line}/\"' (DELIMITER '|', NULL '')")
        self.sql(f"UPDATE rows SET d = n / 4.0 WHERE batch = {batch} AND "
                 f"server = ANY({array(self.servers)})")
        return tag

    def update(self, batch, server):
        rows, v = self.state((server, batch))
        plus = self.random.randint(1, 9)
        rest = self.random.randint(0, 4)    # 4: all rows
        term = self.random.choice(["plus(v, {})", "plus(v, {})", "v + {}"])
        condition = f" AND n % 4 = {rest}" if rest < 4 else ""
        tag = self.sql(f"UPDATE rows SET v = {term.format(plus)} WHERE server "
                       f"= {server} AND batch = {batch}{condition}")
        changed = [n for n in range(4) if rest in (n, 4)]
        self.pending[server, batch] = Batch(rows, tuple(
            v[n] + plus * (n in changed) for n in range(4)))
        self.expect(tag, str(sum(len(range(n or 4, rows + 1, 4))
                                 for n in changed)), "update")

    def delete(self, batch, server, left):
        rows, v = self.state((server, batch))
        term = self.random.choice(["plus(n, 0)", "plus(n, 0)", "n"])
        tag = self.sql(f"DELETE FROM rows WHERE server = {server} AND batch = "
                       f"{batch} AND {term} > {left}")
        self.expect(tag, f"{rows - left}", "delete")
        self.sql(f"UPDATE sizes SET rows = {left} WHERE server = {server} "
                 f"AND batch = {batch}")
        self.pending[server, batch] = Batch(left, v)

    def conflict(self):
        """Rows of which the last ones are there."""
        for batch, server in self.mine():
            rows = self.state((server, batch)).rows
            try:
                self.sql(f"INSERT INTO rows SELECT {server}, {batch}, n, 0, "
                         f"'', 0 FROM generate_series({rows + 1000}, {rows}, "
                         "-1) n")
            except SQLError as error:
                if error.sqlstate == "23505":
                    self.counts["conflicts"] += 1
                raise
            self.wrong.append(f"no conflict: transaction {self.txn}")
            return

    def look(self):
        """Its own rows, as this transaction must see them; and those of
        another client, which must be whole transactions."""
        expected = {key: figures(self.state(key))
                    for key in self.usable | set(self.pending)
                    if key[0] in self.servers and self.state(key).rows}
        batches = ",".join(str(batch) for _, batch in expected) or "0"
        found = read_batches(
            self.sql, f"server = ANY({array(self.servers)}) "
            f"AND batch = ANY('{{{batches}}}')")
        # a batch number may be at other servers of the transaction, too
        found = {key: value for key, value in found.items() if key in expected
                 or key in self.usable or key in self.pending}
        if found != expected:
            self.wrong.append(
                f"transaction {self.txn} reads "
                f"{set(found.items()) ^ set(expected.items())}")
        low = self.random.randint(1, 16) * 10**7
        other = f"BETWEEN {low} AND {low + 10**7 - 1}"
        server = self.servers[0]
        partial = self.sql(
            "SELECT count(*) FROM (SELECT * FROM sizes WHERE server = "
            f"{server} AND batch {other} OFFSET 0) s LEFT JOIN (SELECT batch, "
            f"count(*) FROM (SELECT * FROM rows WHERE server = {server} AND "
            f"batch {other} OFFSET 0) r GROUP BY batch) r USING (batch) "
            "WHERE rows <> coalesce(count, 0)")
        self.expect(partial, "0", "part of a transaction")
        self.counts["looks"] += 1

    def expect(self, printed, number, what):
        if printed.split()[-1:] != [number]:
            self.wrong.append(f"{what} of transaction {self.txn}: {printed} "
                              f"instead of {number}")
