#!/usr/bin/env python3
"""Run the regression tests on a PostgreSQL under valgrind: scripts/check_valgrind.py [phase of scripts/check.py …]

Without phases: regress. The server is that of check-assert (scripts/source.py), which also tells valgrind what palloc
does; PostgreSQL's own suppressions come with it. Fails if a test fails, or if valgrind reports an error anywhere. Takes half an hour:
under valgrind, everything is some thirty times slower. VALGRIND_OPTS=--track-origins=yes says where bytes without a value come from, in
twice the time."""
import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "scripts")]
import harness  # noqa: E402
import source  # noqa: E402

TIMEOUT = 4 * 3600

# In place of bin/postgres. Questions about its version need no valgrind, nor does initdb's bootstrap.
WRAPPER = """#!/bin/sh
case "$1" in
-V | --version | --boot | --single | --check | -C) exec "{real}" "$@" ;;
esac
exec valgrind --quiet --leak-check=no --trace-children=yes --num-callers=30 \\
	--suppressions="{suppressions}" --gen-suppressions=all --log-file="{logs}/%p.log" "{real}" "$@"
"""


def wrap(prefix, logs):
    real = prefix + "/bin/postgres.real"
    os.rename(prefix + "/bin/postgres", real)
    with open(prefix + "/bin/postgres", "w", encoding="utf-8") as wrapper:
        wrapper.write(WRAPPER.format(real=real, suppressions=prefix + "/valgrind.supp", logs=logs))
    os.chmod(prefix + "/bin/postgres", 0o755)
    os.mkdir(logs)
    os.chown(logs, harness.server_user().pw_uid, harness.server_user().pw_gid)


def report(logs):
    """Show each different error once; returns how many there are."""
    seen = {}
    for path in sorted(glob.glob(logs + "/*.log")):
        with open(path, encoding="utf-8", errors="replace") as log:
            text = log.read()
        for block in re.split(r"^\{\n", re.sub(r"^==\d+== ?", "", text, flags=re.M), flags=re.M):
            frames = re.findall(r"^ +(?:at|by) 0x[0-9A-F]+: (.*)", block, re.M)
            if frames:
                seen.setdefault(tuple(frames[:6]), block)
    for block in seen.values():
        print(re.sub("^", "# ", block.strip(), flags=re.M))
    processes = len(glob.glob(logs + "/*.log"))
    print(f"{processes} processes under valgrind, {len(seen)} different errors", flush=True)
    return len(seen) if processes else 1


def main(work):
    prefix = source.checked_server(work)
    wrap(prefix, work + "/valgrind-logs")
    failed = subprocess.call([ROOT + "/scripts/check.py", *(sys.argv[1:] or ["regress"])],
                             env={**source.environment(prefix), "PG_EXCHANGE_TIMEOUT": str(TIMEOUT), "COPT": "-Og -g"})
    return 1 if report(work + "/valgrind-logs") or failed else 0


sys.exit(harness.main(main))
