#!/usr/bin/env python3
"""The version in pg_exchange.control is the one that every other file names.

default_version there is the only place where a version is decided.  What else
names it (packages, CHANGELOG.md, documents) is compared with it, and the C
files name none: they ask the server's catalogs.

    scripts/check_versions.py [FOLDER]      FOLDER: another tree than this one

Prints TAP.  scripts/release asks the same questions, and more."""
import glob
import json
import os
import re
import sys

sys.dont_write_bytecode = True
import report  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def find(text, pattern):
    """The first group of the first line that matches; None if none does."""
    found = re.search(pattern, text, re.M)
    return found and found[1]


def version_of(root):
    return find(read(root, "pg_exchange.control"), r"^default_version = '(.*)'$")


def scripts(root):
    """The steps (from, to) of SQL scripts; from is None where a script installs."""
    names = [os.path.basename(path)[len("pg_exchange--"):-len(".sql")] for path in glob.glob(root + "/pg_exchange--*.sql")]
    return {tuple(name.split("--")) if "--" in name else (None, name) for name in names}


def reachable(root):
    """The versions that CREATE EXTENSION can install."""
    steps, there = scripts(root), {None}
    while more := {new for old, new in steps if old in there} - there:
        there |= more
    return there - {None}


def named(root):
    """What names the version: (file and place, what it says)."""
    meta = json.loads(read(root, "META.json"))
    spec = read(root, "packaging/pg_exchange.spec")
    changelog = read(root, "CHANGELOG.md")
    yield "META.json, version", meta["version"].removesuffix(".0")
    yield "META.json, provides", meta["provides"]["pg_exchange"]["version"].removesuffix(".0")
    yield "debian/changelog, first entry", find(read(root, "debian/changelog"), r"\Apg-exchange \((.*)-\d+\)")
    yield "packaging/pg_exchange.spec, Version", find(spec, r"^Version: +(\S+)$")
    yield "packaging/pg_exchange.spec, first entry of %changelog", find(spec, r"^%changelog\n.* - (\S+)-\d+$")
    for number in re.findall(r"pg_exchange-(\d[\d.]*\d)", spec):
        yield "packaging/pg_exchange.spec, names of archives", number
    yield "CHANGELOG.md, first section", find(changelog, r"\A(?:(?!^## ).*\n)*## (?:\[Unreleased\] — |\[)([\d.]+)")
    yield "doc/security.md, introduction", find(read(root, "doc/security.md"), r"figures are those of\s+version (.*)\.$")


def in_source(root):
    """String literals of C files that are a version of the extension."""
    versions = reachable(root)
    for path in sorted(glob.glob(root + "/src/**/*.[ch]", recursive=True)):
        for number, line in enumerate(read(root, os.path.relpath(path, root)).splitlines(), 1):
            if set(re.findall(r'"([\d.]+)"', line)) & versions:
                yield f"{os.path.relpath(path, root)}:{number}: {line.strip()}"


def disagreements(root):
    """A sentence for each file that names another version."""
    version = version_of(root)
    return [f"{place} says {what}; default_version of pg_exchange.control is {version}"
            for place, what in named(root) if what != version]


def check(root):
    version = version_of(root)
    problems = disagreements(root)
    report.ok(not problems, f"every file that names the version says {version}", "\n".join(problems))
    report.ok(version in reachable(root), f"SQL scripts lead to version {version}", sorted(scripts(root), key=str))
    literals = list(in_source(root))
    report.ok(not literals, "no C file names a version", "\n".join(literals))
    return report.done()


if __name__ == "__main__":
    sys.exit(check(sys.argv[1] if sys.argv[1:] else ROOT))
