#!/usr/bin/env python3
"""Run tests on a PostgreSQL that has its assertions: scripts/check_assert.py [phase of scripts/check.py …]

Without phases: regress isolation tap. The server is built from the distribution's source package of the
installed major version (scripts/source.py) on first use, which takes some minutes."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "scripts")]
import harness  # noqa: E402
import source  # noqa: E402


def main(work):
    prefix = source.checked_server(work)
    return subprocess.call([ROOT + "/scripts/check.py", *(sys.argv[1:] or ["regress", "isolation", "tap"])],
                           env=source.environment(prefix))


sys.exit(harness.main(main))
