#!/usr/bin/env python3
"""Lines of the pure layers (src/base, codec, wire, column, adapt) that the unit tests and the fuzzers' corpus run, by gcov.

Prints one line for each file, with the numbers of the lines that nothing runs, and fails if less than 95 % of all
lines are run. Takes gcc and the gcov that comes with it."""
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "test", "unit", "build", "coverage")
LAYERS = ("src/base/", "src/codec/", "src/wire/", "src/column/", "src/adapt/")
MINIMUM = 95.0


def make(folder):
    subprocess.check_call(["make", "-s", "-C", os.path.join(ROOT, "test", folder), "check", "VARIANT=coverage",
                           "CFLAGS=-O0 -g --coverage -fprofile-update=atomic"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def counts():
    """{file: {line: times}} over all objects: a header's inline functions are in many."""
    lines = {}
    for data in glob.glob(BUILD + "/src/**/*.gcda", recursive=True):
        out = subprocess.run(["gcov", "--json-format", "--stdout", data], cwd=BUILD, check=True, capture_output=True).stdout
        for source in json.loads(out)["files"]:
            path = os.path.relpath(os.path.normpath(os.path.join(ROOT, "test", "unit", source["file"])), ROOT)
            if not path.startswith(LAYERS):
                continue
            of_file = lines.setdefault(path, {})
            for line in source["lines"]:
                of_file[line["line_number"]] = of_file.get(line["line_number"], 0) + line["count"]
    return lines


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3 7"."""
    parts = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(f"{a}-{b}" if a < b else str(a) for a, b in parts)


def main():
    for old in glob.glob(BUILD + "/**/*.gcda", recursive=True):
        os.remove(old)
    make("unit")
    make("fuzz")
    total = run = 0
    for path, lines in sorted(counts().items()):
        missed = [number for number, times in lines.items() if times == 0]
        total += len(lines)
        run += len(lines) - len(missed)
        print(f"{path:28} {100 * (len(lines) - len(missed)) / len(lines):5.1f} % of {len(lines):4} lines"
              + (f"   not: {ranges(missed)}" if missed else ""))
    if total == 0:
        sys.exit("no coverage data")
    print(f"{'all':28} {100 * run / total:5.1f} % of {total:4} lines, at least {MINIMUM:g} wanted")
    return 0 if 100 * run / total >= MINIMUM else 1


sys.exit(main())
