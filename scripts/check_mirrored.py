#!/usr/bin/env python3
"""Run PostgreSQL's own regression tests over foreign tables and print TAP: scripts/check_mirrored.py [-v] [FILE ...]

The files about writing (FILES) run in pairs of databases: the tables are there, with all that their definitions say, and here are
foreign tables of the same names over loopback. What defines something is run there by postgres_fdw's own session,
in the same transaction (scripts/mirror_script.py, test/mirror/). Each file runs without pg_exchange, and with writes as frames from the
first row, the 6th and the 129th; each of these with partitioned tables there, and with partitioned tables, views and triggers here;
and each of these with batch_size 1, and 7. The outputs may differ in EXPLAIN alone (scripts/compare_regress.py).

The tests are those of the source package of the distribution's PostgreSQL of this major version (scripts/source.py), kept in
harness.cache_dir(). Where they cannot be had, all is skipped. Needs the network on first use only."""
import concurrent.futures
import fnmatch
import itertools
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "scripts")]
import harness  # noqa: E402
import mirror_script  # noqa: E402
import report  # noqa: E402
from source import Unavailable, cached_files, numbers  # noqa: E402

FILES = ("insert", "insert_conflict", "copy", "copy2", "generated*", "identity", "domain", "foreign_key", "partition_*", "rowsecurity", "triggers",
         "updatable_views", "with", "update", "delete", "merge")
TIMEOUT = 600   # seconds for one file
SETTINGS = {"shared_buffers": "128MB", "autovacuum": "off", "jit": "off", "fsync": "off", "full_page_writes": "off", "max_connections": "60",
            "log_statement": "all", "log_parameter_max_length": "200", "timezone": "PST8PDT", "datestyle": "Postgres, MDY",
            "intervalstyle": "postgres_verbose", "max_wal_size": "2GB"}
# Statistics of the remote would have other statements pushed down, with other errors.
EXCHANGE = {"session_preload_libraries": "pg_exchange", "pg_exchange.local_scope": "none", "pg_exchange.remote_statistics": "off"}
# Ways to run the files: name -> settings of the server
WAYS = {"postgres_fdw": {}, "min_write_rows 0": {**EXCHANGE, "pg_exchange.min_write_rows": "0"},
        "min_write_rows 5": {**EXCHANGE, "pg_exchange.min_write_rows": "5"}, "min_write_rows 128": {**EXCHANGE, "pg_exchange.min_write_rows": "128"}}
PLACES = {"there": "off", "here": "on"}
BATCH_SIZES = (1, 7)


class Mirror:
    """A server with a pair of databases for each file."""

    def __init__(self, work, tests, way, place, batch_size):
        self.work, self.way, self.place = work, way, place
        name = f"{list(WAYS).index(way)}{place}{batch_size}"
        self.folder = os.path.join(work, "files-" + name)
        # Files of all ways have the same paths, as far as they are printed.
        shutil.copytree(tests, self.folder + "/regress")
        for folder in ("results", "scripts"):
            os.mkdir(f"{self.folder}/{folder}")
        subprocess.check_call(["chown", "-R", str(harness.server_user().pw_uid), self.folder])
        self.server = harness.Server(work, name, {**SETTINGS, **WAYS[way], "mirror.here": PLACES[place]})
        self.exchange = "CREATE EXTENSION pg_exchange;" if WAYS[way] else ""
        self.server.sql("CREATE DATABASE first_there LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;"
                        "CREATE DATABASE first_here LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;")
        for database in ("first_there", "first_here"):
            self.server.sql("CREATE EXTENSION postgres_fdw;" + self.exchange, database)
        self.server.sql(read(f"{ROOT}/test/mirror/there.sql"), "first_there")
        self.server.sql(f"CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{self.server.port}',"
                        f"dbname 'first_there', fetch_size '1000', batch_size '{batch_size}'); GRANT USAGE ON FOREIGN SERVER loopback TO PUBLIC;" +
                        read(f"{ROOT}/test/mirror/here.sql"), "first_here")
        self.psql("test_setup", "first_here")

    def psql(self, name, database):
        """What a file prints."""
        path = f"{self.folder}/scripts/{name}.sql"
        with open(path, "w", encoding="utf-8") as file:
            file.write(mirror_script.rewrite(read(f"{self.folder}/regress/sql/{name}.sql")))
        env = {**harness.environment(self.work), "PGTZ": "PST8PDT", "PGDATESTYLE": "Postgres, MDY", "PGUSER": "postgres",
               "PGOPTIONS": "-c intervalstyle=postgres_verbose", "PG_ABS_SRCDIR": self.folder + "/regress", "PG_ABS_BUILDDIR": self.folder,
               "PG_LIBDIR": harness.pg_config("pkglibdir"), "PG_DLSUFFIX": ".so", "PGHOST": self.work, "PGPORT": str(self.server.port)}
        with open(path, encoding="utf-8") as file:
            done = subprocess.run(["psql", "-X", "-a", "-q", "-d", database, "-v", "HIDE_TABLEAM=on", "-v", "HIDE_TOAST_COMPRESSION=on"],
                                  cwd=self.folder, env=env, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                  timeout=TIMEOUT, **harness.as_server_user())
        return self.stable(done.stdout.decode("utf-8", "replace"))

    def stable(self, text):
        """Without what differs from server to server."""
        text = text.replace(self.folder, "FOLDER").replace(f"port '{self.server.port}'", "port 'PORT'").replace(f":{self.server.port}", ":PORT")
        return re.sub(f"port {self.server.port}", "port PORT", text)

    def run(self, name):
        """Run a file in databases of its own; what it prints, and the pieces that were applied."""
        there, here = f"{name}_there", f"{name}_here"
        before = os.path.getsize(self.server.log)
        self.server.sql(f"CREATE DATABASE {there} TEMPLATE first_there")
        self.server.sql(f"CREATE DATABASE {here} TEMPLATE first_here")
        self.server.sql(f"ALTER SERVER loopback OPTIONS (SET dbname '{there}')", here)
        text = self.psql(name, here)
        for database in (here, there):
            self.server.sql(f"DROP DATABASE {database} WITH (FORCE)")
        for role in self.server.sql("SELECT rolname FROM pg_roles WHERE rolname ~ '^regress'").split():
            self.server.sql(f'DROP ROLE "{role}"', "first_here") if self.owns_nothing(role) else None
        with open(self.server.log, "rb") as log:
            log.seek(before)
            applied = len(re.findall(rb"exchange\.apply\(", log.read()))
        return text, applied

    def owns_nothing(self, role):
        self.server.sql(f'DROP USER MAPPING IF EXISTS FOR "{role}" SERVER loopback; DROP OWNED BY "{role}"', "first_here")
        self.server.sql(f'DROP OWNED BY "{role}"', "first_there")
        return True


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def sorted_answers(text):
    """Text with the rows of each answer in some order of ours: another plan may give them in another one."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        if re.fullmatch(r"--[-+]+", lines[at]) and lines[at - 1].startswith(" ") and lines[at - 1].strip() != "QUERY PLAN":
            end = next((i for i in range(at + 1, len(lines)) if not lines[i] or re.fullmatch(r"\(\d+ rows?\)", lines[i])), at)
            lines[at + 1:end] = sorted(lines[at + 1:end])
            at = max(end, at)
        at += 1
    return "\n".join(lines)


def compare(work, name, expected, got):
    paths = []
    for kind, text in (("without", expected), ("with", got)):
        paths.append(f"{work}/{name}.{kind}")
        with open(paths[-1], "w", encoding="utf-8", errors="replace") as file:
            # Functions of the tests that explain a query: as if psql had done it
            file.write(sorted_answers(re.sub(r"(?m)^ *explain_\w+ *\n(?=-+$)", " QUERY PLAN\n", text)))
    known = os.path.join(ROOT, "test", "mirror", "differences")
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "compare_regress.py"), *paths, *([known] if os.path.exists(known) else [])],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode == 0, re.sub(r"(?m)^(plan of another shape:\n(    .*\n)+|known difference that did not occur.*\n)", "", done.stdout)


def run_place(work, tests, names, place, batch_size, say):
    """Run the files all ways with tables in one place; failures are shown."""
    mirrors = {way: Mirror(work, tests, way, place, batch_size) for way in WAYS}
    settings = f"tables {place}, batch_size {batch_size}"
    frames = dict.fromkeys(WAYS, 0)
    for name in names:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = dict(zip(WAYS, pool.map(lambda mirror: mirror.run(name), mirrors.values())))
        expected, _ = answers["postgres_fdw"]
        if say:
            print(f"# {name}, {settings}: {expected.count(chr(10))} lines, {len(re.findall('^ERROR:', expected, re.M))} errors, "
                  f"pieces {[pieces for _, pieces in answers.values()]}", flush=True)
            with open(f"{say}/{name}.{place}.{batch_size}.out", "w", encoding="utf-8", errors="replace") as file:
                file.write(expected)
        for way, (text, pieces) in answers.items():
            frames[way] += pieces
            if way != "postgres_fdw":
                ok, note = compare(work, f"{name}.{place}.{batch_size}.{way.replace(' ', '_')}", expected, text)
                report.ok(ok, f"{name} with {settings}, {way} prints what it does by postgres_fdw", note)
    for way, mirror in mirrors.items():
        with open(mirror.server.log, encoding="utf-8", errors="replace") as log:
            report.ok(not re.search("PANIC:|was terminated by signal|TRAP:", log.read()), f"the server with {settings}, {way} has not crashed")
    report.ok(frames["min_write_rows 0"] > len(names), f"rows with {settings} go as frames", str(frames))
    report.comment(f"pieces with {settings}: {frames}")


def main(work):
    arguments = sys.argv[1:]
    say = None
    if arguments[:1] == ["-v"]:
        say = os.environ.get("TMPDIR", "/tmp") + "/mirrored"
        os.makedirs(say, exist_ok=True)
        arguments = arguments[1:]
    try:
        major = numbers(harness.pg_config("version"))[0]
        tests = cached_files(work, f"regress-{major}", r"[^/]+/src/test/regress/((?:sql|data)/[\w.]+)", "sql/insert.sql")
    except Unavailable as reason:
        report.skip("PostgreSQL's regression tests print over foreign tables what they do without pg_exchange", reason)
        return report.done()
    there = sorted(name[:-4] for name in os.listdir(tests + "/sql"))
    names = [name for pattern in arguments or FILES for name in fnmatch.filter(there, pattern)]
    for place, batch_size in itertools.product(PLACES, BATCH_SIZES):
        run_place(work, tests, names, place, batch_size, say)
    return report.done()


sys.exit(harness.main(main))
