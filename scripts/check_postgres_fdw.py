#!/usr/bin/env python3
"""Run postgres_fdw's own tests under pg_exchange and print TAP.

The suites of contrib/postgres_fdw (regression and isolation) run seven times in temporary servers: without
pg_exchange, and with it preloaded and taking every scan, once for each pg_exchange.transport, with writes that
go as frames from the first row (pg_exchange.min_write_rows = 0), and from the 129th. The outputs
may differ from that without in EXPLAIN text alone, and where test/postgres_fdw_differences says so:
scripts/compare_regress.py judges that.

The tests are fetched from the source package of the distribution's PostgreSQL of this major version
(scripts/source.py), and kept in harness.cache_dir(). Where they cannot be had, all is skipped. Needs
the network on first use only."""
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "scripts")]
import harness  # noqa: E402
import report  # noqa: E402
from source import Unavailable, cached_files, numbers  # noqa: E402

TIMEOUT = 300   # seconds for one suite
WITHOUT = ""
WITH = """session_preload_libraries = 'pg_exchange'
pg_exchange.local_scope = none
pg_exchange.min_bytes = 0
pg_exchange.transport = {}
pg_exchange.min_write_rows = {}
"""
TRANSPORTS = ("auto", "stream", "session")
MIN_WRITE_ROWS = (0, 128)


def postgres_fdw_tests(work):
    """Folder with the Makefile, sql/, specs/ and expected/ of contrib/postgres_fdw, fetched on first use."""
    return cached_files(work, f"postgres_fdw-{numbers(harness.pg_config('version'))[0]}",
                        r"[^/]+/contrib/postgres_fdw/(Makefile|(?:sql|specs|expected)/[\w.]+)", "Makefile")


# ---- the suites ------------------------------------------------------------------------------

def run_suite(work, tests, tool, names, conf, extensions):
    """Run one suite in a temporary server of its own; (folder of its results, whether all was as expected)."""
    folder = tempfile.mkdtemp(prefix="suite-", dir=work)
    shutil.copytree(tests, folder, dirs_exist_ok=True)
    with open(folder + "/suite.conf", "w", encoding="utf-8") as file:
        file.write(conf)
    subprocess.check_call(["chown", "-R", str(harness.server_user().pw_uid), folder])
    pgxs = os.path.normpath(os.path.join(os.path.dirname(harness.pg_config("pgxs")), "..", "test"))
    command = [f"{pgxs}/{tool}", f"--temp-instance={folder}/instance", f"--temp-config={folder}/suite.conf",
               f"--inputdir={folder}", f"--outputdir={folder}", f"--bindir={harness.pg_config('bindir')}",
               "--encoding=UTF8", "--no-locale", "--dbname=contrib_regression",
               *[f"--load-extension={extension}" for extension in extensions], *names]
    with open(folder + "/suite.log", "w", encoding="utf-8") as log:
        done = subprocess.run(command, cwd=folder, env=harness.environment(work), stdin=subprocess.DEVNULL, stdout=log,
                              stderr=subprocess.STDOUT, check=False, timeout=TIMEOUT, **harness.as_server_user())
    if not all(os.path.exists(f"{folder}/results/{name}.out") for name in names):
        with open(folder + "/suite.log", encoding="utf-8") as log:
            raise harness.Failure(f"{' '.join(command)} did not run its tests:\n{log.read()}")
    return folder, done.returncode == 0


def compare(without, with_exchange, suite, name):
    """Whether the output of a test differs only as it may, and what scripts/compare_regress.py says."""
    one, two = (f"{folder}/results/{name}.out" for folder in (without, with_exchange))
    known = [os.path.join(ROOT, "test", "postgres_fdw_differences")] if suite == "REGRESS" else []
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "compare_regress.py"), one, two, *known],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode == 0, done.stdout


def count_exchanges(folder, name):
    """How many nodes of its plans are exchanges: proves that there was something to compare."""
    with open(f"{folder}/results/{name}.out", encoding="utf-8") as file:
        return file.read().count("Custom Scan (ExchangeReceive)")


def main(work):
    try:
        tests = postgres_fdw_tests(work)
    except Unavailable as reason:
        report.skip("postgres_fdw's tests print what they do without pg_exchange", reason)
        return report.done()
    with open(tests + "/Makefile", encoding="utf-8") as file:
        makefile = file.read().replace("\\\n", " ")
    for suite, tool, extensions in (("REGRESS", "regress/pg_regress", []),
                                    ("ISOLATION", "isolation/pg_isolation_regress", ["postgres_fdw"])):
        found = re.search(rf"^{suite} *= *(.*)", makefile, re.M)
        names = found[1].split() if found else []
        if not names:
            continue
        without, as_expected = run_suite(work, tests, tool, names, WITHOUT, extensions)
        if not as_expected:   # the tests may be of another minor version
            report.comment(f"{suite}: expected output differs here even without pg_exchange; comparing with what it is here")
        for transport, rows in itertools.product(TRANSPORTS, MIN_WRITE_ROWS):
            with_exchange, _ = run_suite(work, tests, tool, names, WITH.format(transport, rows), [*extensions, "pg_exchange"])
            settings = f"transport {transport}, min_write_rows {rows}"
            for name in names:
                ok, note = compare(without, with_exchange, suite, name)
                report.ok(ok, f"{suite.lower()} {name} differs only as it may with {settings}", note)
                if name == "postgres_fdw":
                    exchanges = count_exchanges(with_exchange, name)
                    report.ok(exchanges > 0, f"its plans have exchanges with {settings}")
    return report.done()


sys.exit(harness.main(main))
