#!/usr/bin/env python3
"""Every test of the project: scripts/check.py [unit] [states] [regress] [isolation] [wire] [tap] [postgres_fdw] [monitoring] [docs]
[graph] [upgrade] [tpch] [cluster] [auto] [random] [aggregates] [joins] [sessions] [writes] [load] [scale]
(default: all).

First installs what is missing, builds with strict warnings and installs (scripts/build.sh). Then:
  unit     make -C test/unit check: the pure layers, without a server; make -C test/fuzz check: the
           fuzzers' corpus
  states   states of aggregates, made from plain values, against core's (scripts/check_states.py)
  regress  sql/ against expected/, by pg_regress in a server of its own (test/regress_schedule)
  isolation  test/isolation: what several sessions do at a time, by isolationtester in the same way
  wire     doc/wire.md against what the server sends and the receiver refuses (scripts/check_wire.py)
  tap      test/t/*.pl, one or more servers each, by PostgreSQL::Test::Cluster
  postgres_fdw  postgres_fdw's own suites, with and without the extension (scripts/check_postgres_fdw.py)
  monitoring  what prometheus-postgres-exporter makes of monitoring/queries.yaml, and the dashboard (scripts/check_monitoring.py)
  docs     what README.md, doc/operations.md and doc/tutorial.md tell their readers to do, and the references (scripts/check_docs.py)
  graph    pictures that scripts/exchange-graph makes of real EXPLAINs (scripts/check_graph.py)
  upgrade  updates of the extension, pg_dump, pg_upgrade (scripts/check_upgrade.py)
  tpch     every TPC-H table equal in every mode, memory bounded (scripts/check_tpch.py)
  cluster  the TPC-H queries over four servers equal to those of one (scripts/check_cluster.py)
  auto     mode auto follows a link whose rate changes in mid-scan (scripts/check_auto.py)
  random   random queries by exchange, by postgres_fdw and over local tables (scripts/check_random.py; fewer than it runs by itself)
  aggregates  random aggregate queries over partitions and on one server (scripts/check_aggregates.py; fewer than it runs by itself)
  joins    random join queries over several servers and on one (scripts/check_joins.py; fewer than it runs by itself)
  sessions  what several sessions see, by exchange and by postgres_fdw; remotes that break the protocol; a cancel
           at every message (scripts/check_sessions.py)
  writes   random writes, as frames and by postgres_fdw (scripts/check_writes.py; fewer than it runs by itself)
  load     32 clients at once (scripts/check_load.py)
  scale    32 foreign servers with 8 partitions each (scripts/check_scale.py)
Servers run as user "postgres" when called by root, else as the caller, on a copy of the tests in a
temporary folder (bench/harness.py). The phases of BESIDE run beside the others, and are shown after
them. A phase that cannot run counts as a failure. The last line is "N passed, N failed", with ", N skipped"
where there are any; the exit status says the same."""
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import harness  # noqa: E402
import report  # noqa: E402
from report import counts  # noqa: E402

TIMEOUT = int(os.environ.get("PG_EXCHANGE_TIMEOUT", 900))   # seconds for one command: a test that hangs fails
SIDE_BY_SIDE = 4    # files of TAP tests at a time: they mostly wait
BESIDE = ("regress", "sessions")    # phases that run beside the others
BUILT = "PG_EXCHANGE_BUILT"     # is set in the environment of who checks those


def say(text):
    print(text, flush=True)


def cannot_run(why, say=say):
    say(f"FAILED: {why}")
    report.add({"passed": 0, "failed": 1, "skipped": 0})


def show(path, lines=100, say=say):
    """The end of a log or diff, for a failed test."""
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as log:
            text = log.read().splitlines()
        say(f"---- {path}" + (f" (last {lines} of {len(text)} lines)" if len(text) > lines else ""))
        say("\n".join(text[-lines:]))


def result(line):
    """What a line of TAP, or of pg_regress before 16, says of a test: a key of report.counts; None if it is another line."""
    tap = re.match(r"(not )?ok +\d+\b(.*)", line)
    old = re.match(r"(?:test| ) +\S+ +\.\.\. (ok|FAILED)", line)
    if not tap and not old:
        # a test file that skips all: as TAP has it, and as prove does
        return "skipped" if re.match(r"1\.\.0\b.*# *skip|\S+\.pl \.+ skipped\b", line, re.I) else None
    if tap and re.search(r"# *skip\b", tap[2], re.I):
        return "skipped"
    if (tap and (not tap[1] or re.search(r"# *todo\b", tap[2], re.I))) or (old and old[1] == "ok"):
        return "passed"
    return "failed"


running = set()     # children, to be stopped if we are


def stop(child):
    try:
        os.killpg(child.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass


def run_tests(command, cwd, env=None, unprivileged=True, quiet=False, say=say):
    """Run a command and count its test lines; passed tests are shown unless quiet, comments also if
    that is "comments". A command that fails without having said which test did is a failure of its
    own; returns True if all went well."""
    who = harness.as_server_user() if unprivileged else {"start_new_session": True}
    seen, tail = {"passed": 0, "failed": 0, "skipped": 0}, []
    child = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", **who)
    running.add(child)
    timer = threading.Timer(TIMEOUT, stop, [child])
    timer.start()
    try:
        for line in child.stdout:
            if report.read_totals(line):
                continue    # the last line is ours
            tail = [*tail[-40:], line]
            kind = result(line)
            if kind:
                seen[kind] += 1
            if kind == "failed" or not quiet or (quiet == "comments" and line.startswith("#")):
                say(line.rstrip())
        status = child.wait()
    except BaseException:
        stop(child)
        child.wait(60)   # it may have servers of its own to stop
        raise
    finally:
        timer.cancel()
        running.discard(child)
    report.add(seen)
    if status != 0 and not seen["failed"]:
        say("".join(tail) if quiet else "")
        cannot_run(f"{' '.join(command)} ended with status {status}", say)
        return False
    if not any(seen.values()):
        cannot_run(f"{' '.join(command)} ran no test", say)
        return False
    return not seen["failed"]


def unit(_work):
    if not os.path.isdir(os.path.join(ROOT, "test", "unit")):
        return cannot_run("test/unit is missing")
    env = {**os.environ, "PG_CONFIG": harness.find_pg_config()}
    env.pop("MAKEFLAGS", None)
    # Built here, by whoever builds: no server is involved.
    for name in ("includes", "versions", "release"):
        run_tests([sys.executable, f"scripts/check_{name}.py"], ROOT, unprivileged=False, quiet=True)
    for folder in ("test/unit", "test/fuzz"):
        run_tests(["make", "-s", "-C", folder, "check", "WERROR=1"], ROOT, env, unprivileged=False, quiet=True)
    return None


def regress(work):
    run_suite(work, "regress", ROOT, "regress/pg_regress", "sql", "test/regress_schedule", [])


def isolation(work):
    run_suite(work, "isolation", os.path.join(ROOT, "test", "isolation"), "isolation/pg_isolation_regress", "specs",
              "test/isolation/schedule", ["postgres_fdw", "pg_exchange"])


def run_suite(work, name, source, tool, part, schedule, extensions):
    """Run a suite of pg_regress's kind in a server of its own, with the settings of test/regress.conf."""
    inputs = os.path.join(work, name)
    os.mkdir(inputs)
    for folder in (part, "expected"):
        if not os.path.isdir(os.path.join(source, folder)):
            return cannot_run(f"{os.path.relpath(os.path.join(source, folder), ROOT)}/ is missing")
        shutil.copytree(os.path.join(source, folder), os.path.join(inputs, folder))
    shutil.copy(os.path.join(ROOT, "test", "regress.conf"), inputs)
    shutil.copy(os.path.join(ROOT, schedule), inputs + "/schedule")
    own(inputs)

    with open(inputs + "/schedule", encoding="utf-8") as lines:
        scheduled = {test for line in lines if line.startswith("test:") for test in line.split()[1:]}
    for path in sorted(glob.glob(f"{inputs}/{part}/*")):
        if os.path.splitext(os.path.basename(path))[0] not in scheduled:
            cannot_run(f"{os.path.relpath(path, inputs)} is not in {schedule}")
    pgxs = os.path.normpath(os.path.join(os.path.dirname(harness.pg_config("pgxs")), "..", "test"))
    ok = run_tests([f"{pgxs}/{tool}", f"--temp-instance={inputs}/instance", f"--temp-config={inputs}/regress.conf",
                    f"--inputdir={inputs}", f"--outputdir={inputs}", f"--bindir={harness.pg_config('bindir')}",
                    f"--schedule={inputs}/schedule", "--dbname=regression", "--encoding=UTF8", "--no-locale",
                    *[f"--load-extension={extension}" for extension in extensions]], inputs, harness.environment(work))
    if not ok:
        show(inputs + "/regression.diffs", 400)
        server_log = inputs + "/log/postmaster.log"
        show(server_log if os.path.exists(server_log) else inputs + "/log/initdb.log", 40)
    return None


def tap(work):
    pgxs = os.path.normpath(os.path.join(os.path.dirname(harness.pg_config("pgxs")), "..", "test"))
    if not os.path.isdir(pgxs + "/perl/PostgreSQL/Test"):
        return cannot_run(f"{pgxs}/perl (PostgreSQL::Test::Cluster) is missing")
    tests = sorted(glob.glob(os.path.join(ROOT, "test", "t", "*.pl")))
    if not tests:
        return cannot_run("test/t/*.pl: no test there")
    folder = os.path.join(work, "tap")
    for part in ("t", "perl", "peers"):
        shutil.copytree(os.path.join(ROOT, "test", part), os.path.join(folder, part))
    own(folder)
    results = folder + "/tmp_check"
    # What prove_installcheck sets: TESTDIR alone up to 15, TESTDATADIR and TESTLOGDIR since 16.
    env = {**harness.environment(work), "TESTDIR": folder, "TESTDATADIR": results, "TESTLOGDIR": results + "/log",
           "PG_REGRESS": pgxs + "/regress/pg_regress", "PGPORT": "65432", "PERL5LIB": pgxs + "/perl",
           "PG_TEST_TIMEOUT_DEFAULT": str(TIMEOUT // 2)}    # what a busy machine may need; 180 s otherwise

    def run(path):
        """Run one file; what there is to say of it comes in one piece."""
        name, said, started = os.path.basename(path), [], time.monotonic()
        ok = run_tests(["prove", "--verbose", "-I", pgxs + "/perl", "-I", folder + "/perl", "t/" + name], folder, env,
                       quiet=True, say=said.append)
        said.append(f"t/{name:42} {'ok' if ok else 'FAILED'} {time.monotonic() - started:6.1f} s")
        if not ok:
            show(f"{results}/log/regress_log_{name[:-3]}", 80, said.append)
            for log in sorted(glob.glob(f"{results}/log/{name[:-3]}_*.log")):
                show(log, 40, said.append)
        say("\n".join(said))

    # Those that wait longest are among the last: so they begin first.
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        try:
            for done in concurrent.futures.as_completed([pool.submit(run, path) for path in reversed(tests)]):
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in list(running):
                stop(child)
            raise
    return None


def own(path):
    """Give a copied tree to the server user."""
    user = harness.server_user()
    for folder, folders, files in os.walk(path):
        for name in [".", *folders, *files]:
            os.chown(os.path.join(folder, name), user.pw_uid, user.pw_gid)


# A phase that is a script of its own: (arguments, which of its lines are shown, as run_tests has it).
SCRIPTS = {"states": ([], "comments"), "wire": ([], True), "postgres_fdw": ([], False), "monitoring": ([], False), "docs": ([], False), "graph": ([], False),
           "upgrade": ([], False),
           "tpch": ([], False), "cluster": ([], "comments"), "auto": ([], "comments"), "random": (["120", "3"], "comments"),
           "aggregates": (["300", "3"], "comments"), "joins": (["80", "3"], "comments"),
           "sessions": ([], "comments"), "writes": (["200", "3"], "comments"), "load": (["200"], "comments"),
           "scale": ([], "comments")}


def script(name):
    arguments, quiet = SCRIPTS[name]
    return lambda _work: run_tests([sys.executable, f"{ROOT}/scripts/check_{name}.py", *arguments], ROOT, unprivileged=False, quiet=quiet)


PHASES = {"unit": unit, "states": script("states"), "regress": regress, "isolation": isolation, "wire": script("wire"), "tap": tap,
          **{name: script(name) for name in SCRIPTS if name not in ("states", "wire")}}


def check(work, names):
    for name in names:
        say(f"== {name}")
        before, started = dict(counts), time.monotonic()
        try:
            PHASES[name](work)
        except (harness.Failure, OSError, subprocess.SubprocessError) as failure:
            cannot_run(str(failure))
        new = {what: counts[what] - before[what] for what in counts}
        say(f"== {name}: {report.totals(new)} ({time.monotonic() - started:.0f} s)")


def build():
    if os.environ.get(BUILT):
        return True
    say("== build")
    return subprocess.run([os.path.join(ROOT, "scripts", "build.sh")], stdin=subprocess.DEVNULL, check=False).returncode == 0


def check_alone(names):
    return harness.main(lambda work: check(work, names) or 0)


def check_beside(names, others):
    """Check the phases names, and others meanwhile, which have no need of more than one processor: what these print
    comes when all is done."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        child = subprocess.Popen([sys.executable, os.path.abspath(__file__), *others], env={**os.environ, BUILT: "1"},
                                 stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = check_alone(names)
            child.wait()
        finally:
            if child.poll() is None:
                stop(child)
                child.wait(60)
        output.seek(0)
        *lines, last = output.read().splitlines() or [""]
    say("\n".join(lines))
    found = report.read_totals(last)
    if found:
        report.add(found)
    else:
        cannot_run(f"{' '.join(others)}: {last}")
    return status


def main():
    names = sys.argv[1:] or list(PHASES)
    if not set(names) <= set(PHASES):
        sys.exit(__doc__)
    alone = [name for name in names if name not in BESIDE] or names
    beside = [name for name in names if name not in alone]
    if not build():
        cannot_run("scripts/build.sh")
    elif (check_beside(alone, beside) if beside else check_alone(alone)) != 0:
        counts["failed"] += 1
    say(report.totals(counts))
    return 1 if counts["failed"] else 0


sys.exit(main())
