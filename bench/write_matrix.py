"""bench/write.py --matrix: does any INSERT take longer with the extension?

INSERT ... SELECT of 1 to a million rows of four columns, with batch_size 1,
100 and 1000, into a foreign table and into one partitioned over four servers,
in 1, 2 and 8 sessions at once: in backends with pg_exchange loaded and in
backends without. All servers are on this machine, which is where postgres_fdw
is fastest.

The two ways take turns of some hundredths of a second, so that what else the
machine does slows down both. A long statement is a turn of its own. The first
statements of a session, which connect, are not counted. The ratio of a cell is
the median of its turns' ratios. A cell above the limit is measured again, some
times, and then has the median of all its turns. Statements by postgres_fdw are
cut off when they have taken several times as long as by the extension.

Writes write_matrix.csv and write_matrix.md to the output folder. Exit status 1
if a cell takes more than 1.05 times as long."""
import collections
import csv
import ctypes
import os
import statistics
import threading
import time

import cluster
from harness import Failure, Server, pg_config

ROWS = (1, 2, 10, 100, 127, 129, 1000, 10000, 1000000)
BATCH_SIZES = (1, 100, 1000)
SERVERS = (1, 4)
SESSIONS = (1, 2, 8)
LIMIT = 1.05            # times as long as without the extension
TURN = 0.03             # seconds that a turn is to take at least
BACKENDS = 4            # pairs of them that a cell is measured with
LONG = 1.0              # seconds of a statement that has few turns
CUT_OFF = 3             # times as long as by the extension

WITHOUT, WITH = "postgres_fdw", "pg_exchange"
LIBRARIES = {WITHOUT: "", WITH: "pg_exchange"}
SETTINGS = {"autovacuum": "off", "jit": "off", "wal_level": "minimal",
            "max_wal_senders": "0", "max_wal_size": "8GB",
            "checkpoint_timeout": "1h", "shared_buffers": "256MB"}
COLUMNS = "id bigint, number integer, price numeric(15,2), comment text"

Cell = collections.namedtuple("Cell", "rows batch_size servers sessions")


class CutOff(Exception):
    """A statement took longer than it was allowed to."""


class Connection:
    """A backend, by libpq: psql would add as much as a short statement."""
    libpq = None

    def __init__(self, server, options):
        if not Connection.libpq:
            libpq = ctypes.CDLL(os.path.join(pg_config("libdir"),
                                             "libpq.so.5"))
            for name in ("PQconnectdb", "PQexec"):
                getattr(libpq, name).restype = ctypes.c_void_p
            libpq.PQerrorMessage.restype = ctypes.c_char_p
            Connection.libpq = libpq
        self.handle = ctypes.c_void_p(self.libpq.PQconnectdb(
            f"host={server.work} port={server.port} user=postgres"
            f" dbname=postgres options='{options}'".encode()))
        self.run("SELECT 1")

    def run(self, sql):
        """Run a statement: seconds."""
        text = sql.encode()
        started = time.perf_counter()
        result = ctypes.c_void_p(self.libpq.PQexec(self.handle, text))
        seconds = time.perf_counter() - started
        status = self.libpq.PQresultStatus(result)
        self.libpq.PQclear(result)
        if status not in (1, 2):    # a command, or rows
            message = self.libpq.PQerrorMessage(self.handle).decode()
            if "statement timeout" in message:
                raise CutOff(message)
            raise Failure(f"{sql}: {message}")
        return seconds

    def close(self):
        self.libpq.PQfinish(self.handle)


class Sessions:
    """Backends that run the same statements at once."""

    def __init__(self, server, way, count):
        self.connections = [
            Connection(server, f"-c session_preload_libraries="
                               f"{LIBRARIES[way]}") for _ in range(count)]

    def run(self, sql, times):
        """Run a statement so many times in each: all their seconds."""
        results, failures = [], []

        def work(connection):
            try:
                results.extend([connection.run(sql) for _ in range(times)])
            except (CutOff, Failure) as failure:
                failures.append(failure)
        threads = [threading.Thread(target=work, args=(connection,))
                   for connection in self.connections[1:]]
        for thread in threads:
            thread.start()
        work(self.connections[0])
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return results

    def close(self):
        for connection in self.connections:
            connection.close()


class Results:
    """Seconds of all statements, and the medians of turns, by cell and way."""

    def __init__(self):
        self.seconds = collections.defaultdict(list)
        self.turns = collections.defaultdict(list)
        self.cut_off = set()

    def add(self, cell, way, seconds):
        self.seconds[cell, way] += seconds
        self.turns[cell, way].append(statistics.median(seconds))

    def median_ms(self, cell, way):
        return statistics.median(self.seconds[cell, way]) * 1000

    def ratios(self, cell):
        """Those of single turns, which had the same machine."""
        return [ours / theirs for ours, theirs in zip(
            self.turns[cell, WITH], self.turns[cell, WITHOUT])]

    def ratio(self, cell):
        return statistics.median(self.ratios(cell))

    def interval(self, cell):
        """Where that median is, with 95 %."""
        ratios = sorted(self.ratios(cell))
        margin = 0.98 * len(ratios) ** 0.5
        low = max(round(len(ratios) / 2 - margin), 0)
        high = min(round(len(ratios) / 2 + margin), len(ratios) - 1)
        return ratios[low], ratios[high]

    def is_met(self, cell):
        return self.ratio(cell) <= LIMIT


class Matrix:
    def __init__(self, work, options):
        self.options, self.results = options, Results()
        print("starting servers", flush=True)
        count = max(options.servers)
        self.shards = [Server(work, f"shard{number}", SETTINGS)
                       for number in range(count)]
        self.coordinator = Server(work, "coordinator", SETTINGS)
        for shard in self.shards:
            shard.sql(f"CREATE EXTENSION pg_exchange;"
                      f"CREATE TABLE target ({COLUMNS});")
        self.coordinator.sql(f"""
            CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange;
            CREATE TABLE source ({COLUMNS});
            INSERT INTO source
                SELECT i, i % 7, i * 1.01, 'line ' || md5(i::text)
                FROM generate_series(1, {max(options.matrix_rows)}) i;
            ALTER TABLE source ADD PRIMARY KEY (id);""")
        self.coordinator.sql("VACUUM (FREEZE, ANALYZE) source")
        for number, shard in enumerate(self.shards):
            cluster.add_server(self.coordinator, f"shard{number}", shard)
        for servers in options.servers:
            for batch_size in options.batch_sizes:
                self.make_table(servers, batch_size)
        self.truncating = [Connection(shard, "") for shard in self.shards]
        self.started = time.monotonic()

    @staticmethod
    def name(cell):
        return f"target_{cell.servers}_{cell.batch_size}"

    def make_table(self, servers, batch_size):
        name = self.name(Cell(0, batch_size, servers, 0))
        options = f"OPTIONS (table_name 'target', batch_size '{batch_size}')"
        if servers == 1:
            self.coordinator.sql(f"CREATE FOREIGN TABLE {name} ({COLUMNS})"
                                 f" SERVER shard0 {options}")
            return
        self.coordinator.sql(
            f"CREATE TABLE {name} ({COLUMNS}) PARTITION BY HASH (id);" +
            "".join(f"CREATE FOREIGN TABLE {name}_{number} PARTITION OF"
                    f" {name} FOR VALUES WITH (MODULUS {servers}, REMAINDER"
                    f" {number}) SERVER shard{number} {options};"
                    for number in range(servers)))

    def truncate(self):
        for connection in self.truncating:
            connection.run("TRUNCATE target")

    def statement(self, cell):
        return f"INSERT INTO {self.name(cell)} SELECT * FROM source" \
               f" WHERE id <= {cell.rows}"

    def turn(self, cell, sessions, way, times):
        """One turn by one way."""
        if cell.rows * cell.sessions >= 10000:
            self.truncate()
        limit = 0
        if way == WITHOUT and self.results.seconds[cell, WITH]:
            limit = max(1, *self.results.seconds[cell, WITH]) * CUT_OFF
        try:
            sessions[way].run("SET statement_timeout ="
                              f" {int(limit * 1000)}", 1)
            self.results.add(cell, way, sessions[way].run(
                self.statement(cell), times))
        except CutOff:
            self.results.cut_off.add(cell)
            self.results.add(cell, way, [limit])

    def connect(self, cell, number):
        """New backends by each way, which have run the statement before."""
        ways = [WITH, WITHOUT]
        if number % 2:
            ways.reverse()
        sessions = {way: Sessions(self.coordinator, way, cell.sessions)
                    for way in ways}
        for way in ways:
            sessions[way].run(self.statement(cell._replace(
                rows=min(cell.rows, 1000))), 3)
        self.truncate()
        return sessions

    @staticmethod
    def close(sessions):
        for way in sessions:
            sessions[way].close()

    def measure(self, cell, share):
        """Measure a cell, for a share of the usual time."""
        sessions = self.connect(cell, 0)
        seconds = statistics.median(sessions[WITH].run(
            self.statement(cell), 1))
        times = int(TURN / seconds) + 1
        turns = int(self.options.seconds / (times * seconds) * share) + 4
        if seconds > LONG:
            turns = 2
        for number in range(turns):
            # A pair of backends may have better places than another one.
            if number * BACKENDS // turns > (number - 1) * BACKENDS // turns:
                self.close(sessions)
                sessions = self.connect(cell, number * BACKENDS // turns)
            ways = [WITH, WITHOUT]
            if number % 2:
                ways.reverse()
            for way in ways:
                self.turn(cell, sessions, way, times)
        self.close(sessions)
        low, high = self.results.interval(cell)
        print(f"{time.monotonic() - self.started:5.0f} s  {cell.rows} rows,"
              f" batch_size {cell.batch_size}, {cell.servers} servers,"
              f" {cell.sessions} sessions: "
              f"{self.results.median_ms(cell, WITHOUT):.3f} ms, with"
              f" {self.results.median_ms(cell, WITH):.3f} ms, ratio"
              f" {self.results.ratio(cell):.3f} ({low:.3f} to {high:.3f})",
              flush=True)

    def run(self):
        cells = [Cell(rows, batch_size, servers, sessions)
                 for rows in self.options.matrix_rows
                 for batch_size in self.options.batch_sizes
                 for servers in self.options.servers
                 for sessions in self.options.sessions]
        for cell in cells:
            self.measure(cell, 1)
        for _ in range(self.options.repeats):
            for cell in cells:
                if not self.results.is_met(cell):
                    self.measure(cell, 2)
        return cells


def report(options, results, cells, version):
    missed = [cell for cell in cells if not results.is_met(cell)]
    ratios = [results.ratio(cell) for cell in cells]
    lines = [
        "# Writes: never slower", "",
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores for all "
        f"servers, {version.split(' on ')[0]}. `INSERT ... SELECT` of four "
        "columns; milliseconds, medians of all statements in at least "
        f"{options.seconds:g} s of turns. The ratio is the median of the "
        "turns' ratios. The range is where that median is, with 95 %.",
        "",
        f"{len(cells) - len(missed)} of {len(cells)} cells take at most "
        f"{LIMIT} times as long as without the extension. The median of all "
        f"ratios is {statistics.median(ratios):.3f}, the largest "
        f"{max(ratios):.3f}.", "",
        "| rows | batch_size | servers | sessions | postgres_fdw"
        " | pg_exchange | ratio | range |", "|" + "--:|" * 8]
    for cell in cells:
        low, high = results.interval(cell)
        ratio = f"{results.ratio(cell):.3f}"
        theirs = f"{results.median_ms(cell, WITHOUT):.3f}"
        if cell in results.cut_off:
            theirs, ratio = "> " + theirs, "< " + ratio
        if cell in missed:
            ratio = f"**{ratio}**"
        lines.append(f"| {cell.rows:,} | {cell.batch_size} | {cell.servers}"
                     f" | {cell.sessions} | {theirs}"
                     f" | {results.median_ms(cell, WITH):.3f} | {ratio}"
                     f" | {low:.3f} to {high:.3f} |")
    return lines, missed


def bench(options, work):
    """Measure and report; the exit status."""
    matrix = Matrix(work, options)
    cells = matrix.run()
    results = matrix.results
    lines, missed = report(options, results, cells,
                           matrix.coordinator.sql("SELECT version()"))
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "write_matrix.md"), "w",
              encoding="utf-8") as target:
        target.write("\n".join(lines) + "\n")
    with open(os.path.join(options.output, "write_matrix.csv"), "w",
              encoding="utf-8", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow([*Cell._fields, "way", "statements", "median_ms"])
        for (cell, way), seconds in results.seconds.items():
            writer.writerow([*cell, way, len(seconds),
                             round(results.median_ms(cell, way), 4)])
    print("\n".join(lines))
    return 1 if missed else 0


def add_options(parser):
    def numbers(text):
        return tuple(map(int, text.split(",")))
    for name, default in (("matrix-rows", ROWS), ("batch-sizes", BATCH_SIZES),
                          ("servers", SERVERS), ("sessions", SESSIONS)):
        text = ",".join(map(str, default))
        parser.add_argument(f"--{name}", type=numbers, default=default,
                            help=f"of the matrix ({text})")
    parser.add_argument("--seconds", type=float, default=2,
                        help="that each cell of the matrix is measured by "
                        "each way (2)")
    parser.add_argument("--repeats", type=int, default=3,
                        help="times that cells above the limit are measured "
                        "again (3)")
