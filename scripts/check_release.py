#!/usr/bin/env python3
"""scripts/release, in a clone: it passes where all is ready, and each quick step fails when it should.  Prints TAP.

Skipped where there is no history (an archive, a shallow clone)."""
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import check_versions  # noqa: E402
import report  # noqa: E402

ROOT = check_versions.ROOT
VERSION = check_versions.version_of(ROOT)
TODAY = datetime.date.today()


def git(tree, *arguments):
    return subprocess.run(["git", "-C", tree, "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True).stdout


def replace(tree, path, pattern, text):
    """Replace what a regular expression finds first, and say if it finds nothing."""
    old = check_versions.read(tree, path)
    new = re.sub(pattern, lambda _: text, old, count=1, flags=re.M)
    if new == old:
        raise ValueError(f"{path} has nothing like {pattern}")
    with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
        file.write(new)


def make_ready(tree):
    """A release that may be made today: with the scripts as they are here, dates, and addresses."""
    for name in ("release", "check_versions.py"):
        shutil.copy2(os.path.join(ROOT, "scripts", name), os.path.join(tree, "scripts", name))
    changelogs = {"CHANGELOG.md": (r"^## .*$", f"## [{VERSION}] - {TODAY}"),
                  "packaging/pg_exchange.spec": (r"(?<=^%changelog\n)\* \w+ \w+ \d+ \d+", TODAY.strftime("* %a %b %d %Y")),
                  "debian/changelog": (r"(?<=>  )\w+, \d+ \w+ \d+", TODAY.strftime("%a, %d %b %Y"))}
    for path in git(tree, "ls-files").split():
        if path.startswith("bench/report/") and path.endswith(".md"):
            changelogs[path] = (r"20\d\d-\d\d-\d\d", str(TODAY))
    for path, (pattern, text) in changelogs.items():
        try:
            replace(tree, path, pattern, text)
        except ValueError:
            pass    # it is so already
    for path in git(tree, "ls-files", "META.json", "README.md", "doc", "debian", "packaging", ".github").split("\n")[:-1]:
        while re.search(r"\.example\b", check_versions.read(tree, path) if path.endswith((".md", ".json", "changelog", "control", "control.in", ".spec", ".yml", ".yaml")) else ""):
            replace(tree, path, r"\.example\b", ".org")
    for line in git(tree, "tag", "--list", "v" + VERSION).split():
        git(tree, "tag", "--delete", line)
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "ready")
    return git(tree, "rev-parse", "HEAD").strip()


def release(tree, *options):
    done = subprocess.run([sys.executable, "scripts/release", *options], cwd=tree, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


# What is wrong -> (file, what is replaced, by what; what scripts/release says)
FAULTS = {
    "another version in META.json": ("META.json", f'"{VERSION}.0"', '"9.9.0"', "META.json, version says 9.9"),
    "a section of CHANGELOG.md without a date": ("CHANGELOG.md", r"^## .*$", f"## [Unreleased] — {VERSION}", "the first section of"),
    "another date in the spec": ("packaging/pg_exchange.spec", r"(?<=^%changelog\n)\* \w+ \w+ \d+", "* Thu Jan 01", "the spec has"),
    "another date in debian/changelog": ("debian/changelog", r"(?<=>  )\w+, \d+ \w+", "Thu, 01 Jan", "debian/changelog has"),
    "an unstable META.json": ("META.json", '"stable"', '"testing"', "release_status"),
    "an address that ends in .example": ("README.md", r"\A", "<me@somewhere.example>\n", "addresses that end in .example"),
    "a changed script of 1.0": ("pg_exchange--1.0.sql", r"\A", "-- changed\n", "pg_exchange--1.0.sql is not what 1.0"),
    "an old benchmark report": ("bench/report/tpch.md", r"20\d\d-\d\d-\d\d", "2020-01-01", "bench/report/tpch.md was measured on 2020"),
}


def check(tree):
    ready = make_ready(tree)
    status, said = release(tree, "--cheap")
    report.ok(status == 0, "a tree that is ready passes the quick steps", said)
    for name, (path, pattern, text, message) in FAULTS.items():
        replace(tree, path, pattern, text)
        git(tree, "commit", "--quiet", "--all", "--message", name)
        status, said = release(tree, "--cheap")
        report.ok(status == 1 and message in said, f"{name} ends it", said)
        git(tree, "reset", "--quiet", "--hard", ready)
    replace(tree, "README.md", r"\A", "\n")
    status, said = release(tree, "--cheap")
    report.ok(status == 1 and "the tree has changes" in said, "a change that is not committed ends it", said)
    git(tree, "reset", "--quiet", "--hard", ready)
    git(tree, "rm", "--quiet", f"pg_exchange--1.0--{VERSION}.sql")
    git(tree, "commit", "--quiet", "--message", "no script")
    status, said = release(tree, "--cheap")
    report.ok(status == 1 and "leads from 1.0" in said, "a missing upgrade script ends it", said)
    git(tree, "reset", "--quiet", "--hard", ready)
    git(tree, "tag", "v" + VERSION)
    status, said = release(tree, "--cheap")
    report.ok(status == 1 and f"v{VERSION} exists" in said, "a tag that is there ends it", said)
    git(tree, "tag", "--delete", "v" + VERSION)
    status, said = release(tree, "--dry-run")
    report.ok(status == 0 and "make check-matrix" in said and not git(tree, "tag", "--list", "v" + VERSION), "--dry-run lists the steps", said)


def main():
    if not shutil.which("git"):
        report.skip("scripts/release stops where it should", "git is not installed")
        return report.done()
    found = subprocess.run(["git", "-C", ROOT, "cat-file", "-e", "b34c853^{commit}"], stderr=subprocess.DEVNULL, check=False)
    if found.returncode != 0:
        report.skip("scripts/release stops where it should", "the history is not here")
        return report.done()
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "clone")
        subprocess.check_call(["git", "clone", "--quiet", "--shared", ROOT, tree])
        check(tree)
    return report.done()


if __name__ == "__main__":
    sys.exit(main())
