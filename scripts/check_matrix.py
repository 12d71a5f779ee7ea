#!/usr/bin/env python3
"""Build and test on several majors of PostgreSQL, and let those work with each other:
scripts/check_matrix.py [--tested MAJOR]... [--phases PHASE,...] [MAJOR]... (default: 15 16 17 18 19).

Each major is that of a Debian or Ubuntu release, in a throw-away root of its own (scripts/roots.py).
There
  1. scripts/check.py builds with strict warnings and runs the phases (default: those of PHASES); not for --tested majors, whose
     tests have run elsewhere: they are built and installed only;
  2. each major is the coordinator of each other one: the queries of test/matrix/queries.sql over tables with
     every type that travels raw (test/matrix/shard.sql) must return the same by exchange, in every mode, as by
     postgres_fdw, and EXPLAIN ANALYZE must say that it was an exchange. With a single major there is no pair.
$PG_EXCHANGE_ROOTS names a folder to keep the roots in; without it they are made anew and removed, some
700 MB each. $PG_EXCHANGE_CACHE (bench/harness.py) is shared with the roots.

Where roots cannot be had (no mmdebstrap, no archive, no right to mount), all is skipped with the reason. The
last line is "N passed, N failed", with ", N skipped" where there are any; the exit status says the same."""
import argparse
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "scripts")]
import harness  # noqa: E402
import report  # noqa: E402
import roots  # noqa: E402

PHASES = ("unit", "states", "regress", "isolation", "wire", "tap", "postgres_fdw", "upgrade")
MODES = ("none", "fast", "high_compression", "auto")
TREE = "/tmp/tree"   # in a root
TIMEOUT = 60         # seconds for one answer


# ---- one major -------------------------------------------------------------------------------

def make_root(major, work):
    """A fresh root of a major with the source tree in it."""
    print(f"== PostgreSQL {major}: root of {roots.RELEASES[major][0]}")
    started = time.monotonic()
    archive = roots.tarball(f"postgresql-{major}", major, [f"postgresql-{major}", *roots.TEST_PACKAGES], work,
                            unpack=[f"postgresql-server-dev-{major}"])
    root = roots.Root(archive, os.path.join(work, f"root-{major}"))
    shutil.copytree(ROOT, root.path + TREE, ignore=shutil.ignore_patterns(".git", "*.o", "*.d", "*.so", "*.bc",
                                                                          ".build-stamp", "__pycache__", "results"))
    _, version = root.run(f"/usr/lib/postgresql/{major}/bin/postgres", "--version")
    print(f"{version.strip()} ({time.monotonic() - started:.0f} s)")
    return root


def pg_config(major):
    return f"/usr/lib/postgresql/{major}/bin/pg_config"


def check(root, major, phases):
    """Run scripts/check.py there, passing on what it says; its totals are the last line it prints."""
    os.makedirs(harness.cache_dir(), exist_ok=True)
    child = root.popen(["scripts/check.py", *phases], cwd=TREE, binds=[(harness.cache_dir(), "/var/cache/pg_exchange")],
                       env={"PG_CONFIG": pg_config(major), "PG_EXCHANGE_CACHE": "/var/cache/pg_exchange"},
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    totals = None
    try:
        for line in child.stdout:
            totals = report.read_totals(line)
            if line.strip() and not totals:     # ours come at the end
                print(re.sub("^== ", f"== {major} ", line.rstrip()), flush=True)
    finally:
        child.kill()
        child.wait()
    if totals and totals["passed"] > 0:
        report.add(totals)
    else:
        report.ok(False, f"scripts/check.py runs tests on PostgreSQL {major}")


def build(root, major):
    status, out = root.run("scripts/build.sh", cwd=TREE, env={"PG_CONFIG": pg_config(major)})
    report.ok(status == 0, f"pg_exchange builds with strict warnings on PostgreSQL {major}", out)


# ---- two majors ------------------------------------------------------------------------------

class Node:
    """A server in a root, and one psql session in it, for as long as a with block."""

    def __init__(self, root, major, settings):
        self.root, self.major, self.settings = root, major, settings
        self.bin = os.path.dirname(pg_config(major))
        self.server = self.psql = self.log = None
        self.name = "node-" + "".join(c if c.isalnum() else "" for c in "".join(settings.values()))[:20]

    def __enter__(self):
        folder = f"/tmp/{self.name}"
        shutil.rmtree(self.root.path + folder, ignore_errors=True)
        status, out = self.root.run(f"{self.bin}/initdb", "-D", folder, "-A", "trust", "-U", "postgres", "-E", "UTF8",
                                    "--locale=C.UTF-8", "--no-sync", user="postgres", cwd="/tmp")
        if status != 0:
            raise harness.Failure(out)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        settings = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "/tmp",
                    "fsync": "off", "autovacuum": "off", "timezone": "UTC", **self.settings}
        self.log = open(f"{self.root.path}{folder}.log", "w", encoding="utf-8")
        self.server = self.root.popen(
            [f"{self.bin}/postgres", "-D", folder, *(w for k, v in settings.items() for w in ("-c", f"{k}={v}"))],
            user="postgres", cwd="/tmp", stdout=self.log, stderr=subprocess.STDOUT)
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                break
            time.sleep(0.1)
        self.connect()
        return self

    def connect(self):
        self.psql = self.root.popen(
            [f"{self.bin}/psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres",
             "-v", "VERBOSITY=terse", "postgres"], user="postgres", cwd="/tmp",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def __exit__(self, *_):
        for child in (self.psql, self.server):
            if child:
                child.kill()
                child.wait()
        self.log.close()

    def sql(self, text):
        """What psql prints for some SQL, errors included."""
        lines = []
        try:
            self.psql.stdin.write(text + "\n;\n\\echo :end-of-answer\n")
            self.psql.stdin.flush()
        except BrokenPipeError:
            pass
        for line in self.psql.stdout:
            if line == ":end-of-answer\n":
                return "".join(lines).rstrip("\n")
            lines.append(line)
        with open(self.log.name, encoding="utf-8") as log:
            raise harness.Failure(f"PostgreSQL {self.major}: psql ended: {''.join(lines)}\n{log.read()[-2000:]}")


def read(name):
    with open(os.path.join(ROOT, "test", "matrix", name), encoding="utf-8") as file:
        return file.read()


def raw_types():
    """The types that src/tuple/policy.c lets travel raw, as pg_type has them."""
    with open(os.path.join(ROOT, "src", "tuple", "policy.c"), encoding="utf-8") as file:
        names = re.findall(r"^\t\{(\w+)OID,", file.read(), re.M)
    return {re.sub("^(.*)array$", r"_\1", name.lower()) for name in names}


def queries():
    """(title, settings and query) of test/matrix/queries.sql."""
    for part in re.split(r"^-- ", read("queries.sql"), flags=re.M)[1:]:
        title, _, text = part.partition("\n")
        if ";" in text:
            yield title, text.strip().rstrip(";")


def pair(coordinator_root, coordinator_major, shard_root, shard_major):
    name = f"{coordinator_major} reads from {shard_major}"
    print(f"== PostgreSQL {coordinator_major} as coordinator, {shard_major} as shard")
    before, started = dict(report.counts), time.monotonic()
    with Node(shard_root, shard_major, {"cluster_name": "shard"}) as shard, \
            Node(coordinator_root, coordinator_major, {
                "cluster_name": "coordinator", "session_preload_libraries": "pg_exchange",
                "pg_exchange.local_scope": "none", "pg_exchange.min_bytes": "0"}) as coordinator:
        out = shard.sql("\\set ON_ERROR_STOP on\n" + read("shard.sql"))
        report.ok(out == "", f"{name}: shard.sql runs", out)
        out = coordinator.sql(f"\\set port {shard.port}\n" + read("coordinator.sql"))
        report.ok(out == "", f"{name}: coordinator.sql runs", out)
        listed = set(shard.sql("SELECT typname FROM pg_attribute JOIN pg_type t ON t.oid = atttypid "
                               "WHERE attrelid = 'types'::regclass AND attnum > 0").split())
        report.ok(raw_types() and raw_types() <= listed, f"{name}: shard.sql has every type that travels raw",
               f"not there: {raw_types() - listed}")
        for title, text in queries():
            compare(coordinator, f"{name}: equal answers to \"{title}\"", text)
    new = {what: report.counts[what] - before[what] for what in report.counts}
    print(f"== {name}: {report.totals(new)} ({time.monotonic() - started:.0f} s)")


def compare(coordinator, name, query):
    """One answer by postgres_fdw, and by exchange in each mode."""
    expected = coordinator.sql(f"SET pg_exchange.enabled = off; {query}")
    coordinator.sql("SET pg_exchange.enabled = on")
    for mode in MODES:
        got = coordinator.sql(f"SET pg_exchange.compression = {mode}; {query}")
        if got != expected or not expected:
            return report.ok(False, f"{name}, by {mode}", f"by postgres_fdw: {expected[:2000]}\nby exchange: {got[:2000]}")
    plan = coordinator.sql(re.sub(r"(?i)^(SELECT|EXECUTE)\b", r"EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) \1",
                                  query, flags=re.M))
    transports = set(re.findall(r"^ *Transport: (.*)", plan, re.M))
    if expected.startswith("ERROR:"):
        return report.ok(True, f"{name}, which is an error: {expected}")
    return report.ok(transports and all(transport.startswith("exchange v1, ") for transport in transports), f"{name}, {len(expected.splitlines())} lines by exchange", plan)


# ---- all -------------------------------------------------------------------------------------

def matrix(work, majors, tested, phases):
    ready = {}
    for major in majors:
        try:
            root = make_root(major, work)
        except roots.Unavailable as reason:
            report.skip(f"the tests pass on PostgreSQL {major}", f"no root: {reason}")
            continue
        failed = report.counts["failed"]
        if major in tested:
            build(root, major)
        else:
            check(root, major, phases)
        if report.counts["failed"] == failed or os.path.exists(
                f"{root.path}/usr/share/postgresql/{major}/extension/pg_exchange.control"):
            ready[major] = root
    for coordinator in ready:
        for shard in ready:
            if coordinator != shard:
                try:
                    pair(ready[coordinator], coordinator, ready[shard], shard)
                except (harness.Failure, OSError, subprocess.SubprocessError) as failure:
                    report.ok(False, f"{coordinator} reads from {shard}", failure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = sorted(roots.RELEASES)
    parser.add_argument("majors", nargs="*", type=int, metavar="MAJOR", help=f"one of {known}")
    parser.add_argument("--tested", action="append", type=int, default=[], choices=known, metavar="MAJOR")
    parser.add_argument("--phases", default=",".join(PHASES), metavar="PHASE,...", help="of scripts/check.py")
    options = parser.parse_args()
    majors = sorted(set(options.majors) or known)
    if not set(majors) <= set(known):
        parser.error(f"majors are {known}")
    try:
        roots.become_root(["PG_EXCHANGE_ROOTS", "PG_EXCHANGE_CACHE", "TMPDIR"])
        roots.prepare()
    except roots.Unavailable as reason:
        report.skip("the tests pass on every major", reason)
    else:
        with roots.work_folder() as work:
            matrix(work, majors, options.tested, options.phases.split(","))
    return report.done()


sys.exit(main())
