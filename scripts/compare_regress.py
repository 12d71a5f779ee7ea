#!/usr/bin/env python3
"""Compare the output of a test file run with pg_exchange to that without: they may differ in EXPLAIN
text alone, and where a file of known differences says so.

    scripts/compare_regress.py WITHOUT WITH [KNOWN]

WITHOUT and WITH are what psql -a or isolationtester printed. The answer of an EXPLAIN, with its
header QUERY PLAN and its row count, is taken out of both; the rest must be equal, line by line, but
for the hunks in KNOWN:

    # the reason, in as many lines as it needs
    @@ the statement, for people
     a line of context
    -a line of WITHOUT
    +a line of WITH

A hunk is known if exactly its lines are there, with the one equal line before and after them. White
space and the width of rulers do not count. Known hunks that were not found are listed: another major
version may not have them.

Then the plans are compared: ExchangeReceive stands for Foreign Scan and ExchangeGather for Append or
Merge Append, and their own lines are left out. Plans that still differ are listed, with the statement; they are no failure.

Exit status: 0 equal or known, 1 different, 2 cannot read."""
import difflib
import re
import sys

# The lines that an exchange adds to the node it replaces, under it or above its child.
OWN_LINES = re.compile(r"(Server|Compression|Transport|Wire|Time|Request): ")



def read_blocks(path):
    """([(line number, line)] with each EXPLAIN answer as one placeholder, [(statement, plan lines)])."""
    with open(path, encoding="utf-8") as file:
        source = file.read().splitlines()
    lines, plans, at = [], [], 0
    while at < len(source):
        end = None
        if source[at].strip() == "QUERY PLAN" and re.fullmatch("-+", source[at + 1] if at + 1 < len(source) else ""):
            end = next((i for i in range(at + 2, len(source)) if re.fullmatch(r"\(\d+ rows?\)", source[i])), None)
        if end is None:   # an answer that was cut short is compared as it is
            lines.append((at + 1, source[at]))
            at += 1
        else:
            plans.append((statement_before(source, at), source[at + 2:end]))
            lines.append((at + 1, "<plan>"))
            at = end + 1
    return lines, plans


def statement_before(source, at):
    """The statement that ends right above line `at`."""
    first = at - 1
    while first > max(at - 20, 0) and not re.match(r"(step \w+: *)?(EXPLAIN|EXECUTE)\b", source[first].strip(), re.I):
        first -= 1
    return source[max(first, 0):at]


def shape(plan):
    """Lines of a plan as they would be without exchanges."""
    kept = []
    for line in (line.rstrip().removesuffix("+").rstrip() for line in plan):
        below_gather = bool(kept) and "(ExchangeGather)" in kept[-1]
        if line.strip() == "Exchange Type: Merge":
            kept[-1] = kept[-1].replace("Custom Scan (ExchangeGather)", "Merge Append")
        elif line.strip() == "Exchange Type: Gather":
            kept[-1] = kept[-1].replace("Custom Scan (ExchangeGather)", "Append")
        elif not OWN_LINES.match(line.strip()) and not (below_gather and line.strip().startswith("Output: ")):
            kept.append(line.replace("Custom Scan (ExchangeReceive)", "Foreign Scan"))
    return kept


def not_async(plan):
    return [line.replace("Async Foreign Scan", "Foreign Scan") for line in plan]


def hunks(old, new):
    """(line number in old, lines) of each run of changed lines, with an equal line before and after it."""
    old_text, new_text = [line for _, line in old], [line for _, line in new]
    for what, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old_text, new_text, autojunk=False).get_opcodes():
        if what != "equal":
            yield (old[i1 - 1][0] if i1 else 0), (
                [" " + line for line in old_text[max(i1 - 1, 0):i1]] + ["-" + line for line in old_text[i1:i2]] +
                ["+" + line for line in new_text[j1:j2]] + [" " + line for line in old_text[i2:i2 + 1]])


def loose(line):
    """A hunk's line without what may differ from run to run."""
    return line[:1] + re.sub(r"-{2,}", "--", " ".join(line[1:].split()))


def is_known(known, hunk):
    return list(map(loose, known)) == list(map(loose, hunk))


def read_known(path):
    """[(title, hunk)] of a file of known differences."""
    known, has_reason = [], False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            if line.startswith("#"):
                has_reason = True
            elif line.startswith("@@") and has_reason:
                known.append((line[2:].strip(), []))
            elif line[:1] in (" ", "-", "+") and line and known:
                known[-1][1].append(line)
            elif line:
                raise ValueError(f"{path}:{number}: neither a reason (#), @@ under one, nor a line of a hunk")
    return known


def compare_plans(old_plans, new_plans):
    """List the plans whose shape differs; returns a summary."""
    same = only_async = 0
    for (statement, old), (_, new) in zip(old_plans, new_plans):
        old, new = shape(old), shape(new)
        if old == new:
            same += 1
        elif not_async(old) == not_async(new):
            only_async += 1
        else:
            print("plan of another shape:")
            for line in [*statement, *list(difflib.unified_diff(not_async(old), not_async(new), lineterm="", n=1))[2:]]:
                if not line.startswith("@@"):
                    print("    " + line)
    return f"{same} of {len(old_plans)} plans of the same shape, {only_async} more but for async"


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        (old, old_plans), (new, new_plans) = map(read_blocks, sys.argv[1:3])
        known = read_known(sys.argv[3]) if len(sys.argv) == 4 else []
    except (OSError, ValueError) as failure:
        print(f"compare-regress: {failure}", file=sys.stderr)
        return 2

    unknown, found = 0, set()
    for number, hunk in hunks(old, new):
        match = next((k for k, (_, lines) in enumerate(known) if k not in found and is_known(lines, hunk)), None)
        if match is None:
            unknown += 1
            print(f"@@ unknown difference after line {number}")
            print("\n".join(hunk))
        else:
            found.add(match)
    for k, (title, _) in enumerate(known):
        print(("known difference: " if k in found else "known difference that did not occur: ") + title)

    # With another number of plans, the text differs too.
    plans = compare_plans(old_plans, new_plans) if len(old_plans) == len(new_plans) else "plans not compared"
    print(f"{plans}; {len(found)} known differences, {unknown} unknown")
    return 1 if unknown else 0


sys.exit(main())
