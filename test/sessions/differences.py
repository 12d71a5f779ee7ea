"""Differences between postgres_fdw and an exchange that are by intent: the file "differences"."""
import difflib
import fnmatch
import re


class Entry:
    def __init__(self, scenario, variants, line):
        self.scenario, self.variants, self.line = scenario, variants, line
        self.reason, self.changes, self.used = [], [], False


def read(path):
    """Entries: "== scenario (variants)", the reason in prose, then lines with - (postgres_fdw) and + (exchange)."""
    entries = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            if match := re.match(r"== (\S+) \((.*)\)$", line):
                entries.append(Entry(match[1], [v.strip() for v in match[2].split(",")], number))
            elif line.startswith("#") or not line:
                continue
            elif not entries:
                raise ValueError(f"{path}, line {number}: an entry begins with ==")
            elif line[0] in "-+":
                entries[-1].changes.append(line)
            else:
                entries[-1].reason.append(line)
    for entry in entries:
        if not entry.reason or not entry.changes:
            raise ValueError(f"{path}, line {entry.line}: an entry has a reason and changed lines")
    return entries


def changes(reference, other):
    """The lines that differ: each with - or + before it."""
    return [line[0] + line[2:] for line in difflib.ndiff(reference, other) if line[0] in "-+"]


def by_intent(entries, scenario, variant, changed):
    """The entry that says that exactly these lines differ."""
    for entry in entries:
        if entry.scenario == scenario and any(fnmatch.fnmatch(variant, pattern) for pattern in entry.variants) \
                and entry.changes == changed:
            entry.used = True
            return entry
    return None
