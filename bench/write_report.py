"""The report of bench/write.py: goals, table, and figures of other majors."""
import csv
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import namedtuple

from goals import goals
from harness import ROOT, Failure, cache_dir

FDW, EXCHANGE, LOCAL = "postgres_fdw", "frames", "local table"
ONE_BY_ONE = "frames, batch_size 1"
PLAIN = "frames, uncompressed"
WAYS = (FDW, EXCHANGE, ONE_BY_ONE, PLAIN, LOCAL)

# What is measured: part of the benchmark, INSERT, COPY, UPDATE or DELETE, the
# table, and the schema that says how many servers it is on.
Case = namedtuple("Case", "part operation table place")

TABLES = {"heap4": "heap, 4 columns", "key4": "primary key, 4 columns",
          "heap16": "heap, 16 columns", "key16": "primary key, 16 columns",
          "text4": "heap, 4 columns with l_comment",
          "pgbench_accounts": "pgbench -i, four servers"}

# The goals: times as fast as postgres_fdw ...
FASTER = {("insert", "heap"): 5, ("insert", "key"): 2.5,
          ("insert", "text"): 5, ("links", "heap"): 8, ("changes", "heap"): 12}
COPY_FASTER, COPY_FASTER_BATCHED = 60, 4    # before PostgreSQL 16, and since
# ... and more
TWO_SERVERS = 0.6       # of the time of one
FOUR_LINKS = 3.5        # times as fast as one
FEWER_BYTES = 6         # times fewer than postgres_fdw, on slow links


class Results:
    """Medians of runs."""

    def __init__(self, runs):
        self.cells = {}
        for run in runs:
            case = Case(*(run[what] for what in Case._fields))
            key = int(run["major"]), case, run["way"]
            self.cells.setdefault(key, []).append(run)

    def cases(self):
        return list(dict.fromkeys((major, case)
                                  for major, case, _ in self.cells))

    def has(self, major, case, *ways):
        return all((major, case, way) in self.cells for way in ways)

    def rows(self, major, case, way):
        return int(self.cells[major, case, way][0]["rows"])

    def median(self, major, case, way, what="seconds"):
        return statistics.median(float(run[what]) for run in
                                 self.cells[major, case, way])

    def by_row(self, major, case, way, what="seconds"):
        """Seconds, bytes or CPU seconds of a row."""
        return (self.median(major, case, way, what) /
                self.rows(major, case, way))

    def ratio(self, major, case, way, other, what="seconds"):
        """How many times as much the way takes as the other one."""
        return (self.by_row(major, case, way, what) /
                self.by_row(major, case, other, what))


def title(major, case):
    place = {"servers": {"one": "one server", "two": "two servers"},
             "links": {"one": "one slow link", "four": "four slow links"}}
    words = [case.operation, TABLES[case.table],
             place.get(case.part, {}).get(case.place, "")]
    return ", ".join(word for word in words if word), f"PostgreSQL {major}"


def goal(major, case):
    """How many times as fast as postgres_fdw a case must be."""
    if case.part == "copy":
        return COPY_FASTER if major < 16 else COPY_FASTER_BATCHED
    return FASTER.get((case.part, case.table.rstrip("0123456789")))


def judge_places(results, major, case):
    """(text, whether it is met) for two servers, and for four links."""
    one = case._replace(place="one")
    verdicts = []
    for way in (EXCHANGE, PLAIN):
        if case.place == "one" or not (results.has(major, one, way) and
                                       results.has(major, case, way)):
            continue
        ratio = (results.by_row(major, case, way) /
                 results.by_row(major, one, way))
        if case.part == "servers":
            verdicts.append((f"takes {ratio:.2f} times as long as one server "
                             f"(at most {TWO_SERVERS:g})",
                             ratio <= TWO_SERVERS))
        else:
            verdicts.append((f"{way}: {1 / ratio:.1f} times as fast as one "
                             f"link (at least {FOUR_LINKS:g})",
                             1 / ratio >= FOUR_LINKS))
    return verdicts


def judge_case(results, major, case):
    verdicts = judge_places(results, major, case)
    if not results.has(major, case, FDW, EXCHANGE):
        return verdicts
    least = goal(major, case)
    if least:
        ratio = results.ratio(major, case, FDW, EXCHANGE)
        verdicts.append((f"{ratio:.1f} times as fast as postgres_fdw (at "
                         f"least {least:g})", ratio >= least))
    if case.part == "links":
        ratio = results.ratio(major, case, FDW, EXCHANGE, "bytes")
        verdicts.append((f"1/{ratio:.1f} of the bytes of postgres_fdw (at "
                         f"most 1/{FEWER_BYTES})", ratio >= FEWER_BYTES))
    return verdicts


def judge(results, plans):
    """All verdicts: [(text, whether it is met)]."""
    verdicts = []
    for major, case in results.cases():
        name = ", ".join(title(major, case))
        verdicts += [(f"{name}: {text}", met)
                     for text, met in judge_case(results, major, case)]
    for case, lines in plans.items():
        if not any(line.startswith("Transport: exchange") for line in lines):
            name = title("", case)[0]
            verdicts.append((f"{name}: {', '.join(lines) or 'no transport'}"
                             " in EXPLAIN", False))
    return verdicts


def table_line(results, major, case):
    def cell(way, what, form):
        if not results.has(major, case, way):
            return ""
        value = results.median(major, case, way, what)
        if what == "bytes":
            value = results.by_row(major, case, way, what)
        text = format(value, form)
        if (what == "seconds" and
                results.rows(major, case, way) !=
                results.rows(major, case, EXCHANGE)):
            text += f" ({results.rows(major, case, way):,} rows)"
        return text
    ratio = cpu = ""
    if results.has(major, case, FDW, EXCHANGE):
        ratio = f"{results.ratio(major, case, FDW, EXCHANGE):.1f}"
        ours, theirs = (sum(results.by_row(major, case, way, what)
                            for what in ("coordinator_cpu", "shard_cpu"))
                        for way in (EXCHANGE, FDW))
        cpu = f"{theirs / ours:.1f}" if ours else ""
    cells = [*title(major, case),
             *(cell(way, "seconds", ".2f") for way in WAYS), ratio,
             *(cell(way, "bytes", ".1f") for way in (FDW, EXCHANGE)),
             cell(EXCHANGE, "coordinator_cpu", ".2f"),
             cell(EXCHANGE, "shard_cpu", ".2f"), cpu]
    return f"| {' | '.join(cells)} |"


def report(options, results, plans, version):
    lines = [
        "# Writes", "",
        f"{time.strftime('%Y-%m-%d')}: {options.rows:,} rows of TPC-H "
        f"lineitem by INSERT and COPY, {options.changes:,} by UPDATE and "
        "DELETE. A coordinator and four servers on one machine with "
        f"{os.cpu_count()} cores, {version.split(' on ')[0]}. 4 columns are "
        "l_orderkey, l_linenumber, l_extendedprice and l_shipdate (or "
        "l_comment); the first two are the primary key. Seconds at the "
        f"client, medians of {options.runs} interleaved runs. postgres_fdw "
        "has batch_size 1000. Frames have mode auto. Slow links have "
        f"{options.mbit} Mbit/s. The machine's load was "
        f"{options.load[0]:.1f} before the run and {os.getloadavg()[1]:.1f} "
        "at its end. Bytes are those of both directions, with "
        "packet headers. CPU seconds are those of frames; times less CPU: "
        "than postgres_fdw, of all servers together.", "",
        "| statement | server | " + " | ".join(WAYS) +
        " | times as fast | B/row, postgres_fdw | B/row, frames"
        " | CPU, coordinator | CPU, shards | times less CPU |",
        "|---|---|" + "--:|" * (len(WAYS) + 6)]
    lines += [table_line(results, *key) for key in results.cases()]
    verdicts, missed = goals(judge(results, plans))
    lines += ["", *verdicts]
    if any(plans.values()):
        lines += ["", "## What EXPLAIN (ANALYZE) says of frames", ""]
        lines += [f"- {title('', case)[0]}: {'; '.join(said)}"
                  for case, said in plans.items() if said]
    return lines, missed


def write(options, runs, plans, version):
    """Write the report; the goals that are missed."""
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "write.csv"), "w",
              encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, runs[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(runs)
    lines, missed = report(options, Results(runs), plans, version)
    with open(os.path.join(options.output, "write.md"), "w",
              encoding="utf-8") as target:
        target.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    return missed


def run_in_root(major, options):
    """The runs of COPY with another major; none if that cannot be had."""
    sys.path.append(os.path.join(ROOT, "scripts"))
    import roots
    tree, config = "/tmp/tree", f"/usr/lib/postgresql/{major}/bin/pg_config"
    try:
        roots.prepare()
        with roots.work_folder() as work:
            root = roots.Root(roots.tarball(
                f"postgresql-{major}", major,
                [f"postgresql-{major}", *roots.TEST_PACKAGES], work,
                unpack=[f"postgresql-server-dev-{major}"]),
                os.path.join(work, "root"))
            shutil.copytree(ROOT, root.path + tree, ignore=(
                shutil.ignore_patterns(".git", "*.o", "*.d", "*.so", "*.bc",
                                       ".build-stamp", "__pycache__",
                                       "results")))
            os.makedirs(cache_dir(), exist_ok=True)
            child = root.popen(
                ["sh", "-ec", "scripts/build.sh; exec python3 bench/write.py "
                 "--parts copy --majors '' --no-plot --output /tmp/report "
                 f"--rows {options.rows} --runs {options.runs} "
                 f"--settings '{options.settings}'"],
                cwd=tree, binds=[(cache_dir(), "/var/cache/pg_exchange")],
                env={"PG_CONFIG": config,
                     "PG_EXCHANGE_CACHE": "/var/cache/pg_exchange"},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            out = child.communicate()[0]
            path = root.path + "/tmp/report/write.csv"
            if not os.path.exists(path):
                raise Failure(f"PostgreSQL {major} in its root:\n"
                              f"{out[-3000:]}")
            with open(path, encoding="utf-8", newline="") as runs:
                return list(csv.DictReader(runs))
    except roots.Unavailable as reason:
        print(f"PostgreSQL {major} was not measured: {reason}")
        return []
