"""The report of bench/joins.py: goals, tables, and the file of runs."""
import csv
import os
import statistics
import time

from goals import goals

FDW, EXCHANGE, SERVER = "postgres_fdw", "exchange", "one server"
FDW_100 = "postgres_fdw, fetch_size 100"    # its default; elsewhere 10000
NO_FILTERS, CLASSIC = "no runtime filters", "version 1.0's plan"
BROADCAST, PARTITION = "broadcast", "hash partition"

# Settings of each way to run a query. A way is left out if the extension does
# not know its settings.
JOIN = "pg_exchange.join_exchange"
WAYS = {
    SERVER: {}, FDW: {"pg_exchange.enabled": "off"},
    FDW_100: {"pg_exchange.enabled": "off"}, EXCHANGE: {},
    NO_FILTERS: {"pg_exchange.runtime_filters": "off"},
    CLASSIC: {"pg_exchange.runtime_filters": "off", JOIN: "off",
              "pg_exchange.lookup_joins": "off",
              "pg_exchange.partial_aggregates": "off",
              "pg_exchange.partitionwise": "off",
              "pg_exchange.remote_statistics": "off"},
    BROADCAST: {JOIN: "broadcast"}, PARTITION: {JOIN: "hash_partition"},
}

# The goals: how many times as fast by an exchange as by ...
FASTER = {"keys": {FDW: 20, FDW_100: 20, CLASSIC: 5},
          "part": {FDW: 4, FDW_100: 4, CLASSIC: 2},
          "orders": {FDW: 4, FDW_100: 4, CLASSIC: 2}}
STAR_MAX = 1.2      # of the time of one server, for all queries together
NOTES = {"keys": "1,000 keys", "part": "lineitem and part",
         "orders": "lineitem and orders", "star": "Star"}


class Results:
    """Medians of runs."""

    def __init__(self, runs):
        self.cells = {}
        for run in runs:
            key = run["part"], run["query"], run["link"], run["way"]
            self.cells.setdefault(key, []).append(run)

    def rows(self, part):
        return list(dict.fromkeys(key[:3] for key in self.cells
                                  if key[0] == part))

    def ways(self, part):
        return [way for way in WAYS if any(
            key[0] == part and key[3] == way for key in self.cells)]

    def has(self, row, *ways):
        return all((*row, way) in self.cells for way in ways)

    def median(self, row, way, what="seconds"):
        return statistics.median(float(run[what])
                                 for run in self.cells[(*row, way)])

    def outcome(self, row, way):
        """"", or what went wrong in one of the runs."""
        return max(run["outcome"] for run in self.cells[(*row, way)])

    def plan(self, row, way):
        return self.cells[(*row, way)][0]["plan"]

    def total(self, part, way, what="seconds"):
        return sum(self.median(row, way, what) for row in self.rows(part)
                   if self.has(row, way))


def title(row):
    part, query, link = row
    return query if part == "star" else f"{query}, {link} Mbit/s"


def judge_row(results, row):
    """(text, whether it is met) for each goal of a query."""
    for way in results.ways(row[0]):
        if results.has(row, way) and results.outcome(row, way) in (
                "differs", "failed"):
            yield f"{title(row)}, {way}: {results.outcome(row, way)}", False
    for way, least in FASTER.get(row[0], {}).items():
        if results.has(row, way, EXCHANGE):
            ratio = (results.median(row, way) /
                     results.median(row, EXCHANGE))
            yield (f"{title(row)}: {ratio:.1f} times as fast as {way}"
                   f" (at least {least:g})",
                   ratio >= least and not results.outcome(row, EXCHANGE))
    if row[0] == "orders" and results.has(row, EXCHANGE):
        plan = results.plan(row, EXCHANGE)
        yield (f"{title(row)}: the plan has {plan or 'no exchange of joins'}"
               " (HashPartition)", "HashPartition" in plan)


def judge(results):
    verdicts = []
    for part in NOTES:
        for row in results.rows(part):
            verdicts += judge_row(results, row)
    rows = results.rows("star")
    if rows and all(results.has(row, SERVER, EXCHANGE) for row in rows):
        wrong = [row[1] for row in rows if results.outcome(row, EXCHANGE)]
        verdicts.append((f"star: {len(rows) - len(wrong)} of {len(rows)}"
                         " answers are one server's", not wrong))
        ratio = (results.total("star", EXCHANGE) /
                 results.total("star", SERVER))
        verdicts.append((f"star: all queries take {ratio:.2f} times as long"
                         f" as on one server (at most {STAR_MAX:g})",
                         ratio <= STAR_MAX))
    return verdicts


def cell(results, row, way, what="seconds"):
    if not results.has(row, way):
        return ""
    value = results.median(row, way, what)
    if what == "bytes":
        return f"{value / 1e6:,.2f}"
    outcome = results.outcome(row, way)
    if outcome == "cut off":
        return f"> {value:.0f}"
    return f"{value:.3f}" + (f" **{outcome}**" if outcome else "")


def table(results, part):
    """The lines of a part's table."""
    ways = results.ways(part)
    sent = [way for way in ways if way != SERVER]
    lines = [f"## {NOTES[part]}", "",
             "| query | " + " | ".join([
                 *(f"{way}: s" for way in ways),
                 *(f"{way}: MB" for way in sent)]) +
             " | exchanges |",
             "|---|" + "--:|" * (len(ways) + len(sent)) + "---|"]
    for row in results.rows(part):
        cells = [title(row), *(cell(results, row, way) for way in ways),
                 *(cell(results, row, way, "bytes") for way in sent),
                 results.plan(row, EXCHANGE)
                 if results.has(row, EXCHANGE) else ""]
        lines.append(f"| {' | '.join(cells)} |")
    sums = ["sum", *(f"{results.total(part, way):.2f}" for way in ways),
            *(f"{results.total(part, way, 'bytes') / 1e6:,.2f}"
              for way in sent), ""]
    cpu = ", ".join(
        f"{way} {results.total(part, way, 'cpu'):.1f} +"
        f" {results.total(part, way, 'shard_cpu'):.1f}" for way in ways)
    return [*lines, f"| {' | '.join(sums)} |", "",
            f"CPU seconds of the coordinator or one server, and of the"
            f" shards: {cpu}.", ""]


def report(options, results, version):
    lines = [
        "# Joins", "",
        f"{time.strftime('%Y-%m-%d')}: a coordinator and four servers behind"
        f" links of {' and '.join(map(str, options.links))} Mbit/s, and one"
        f" server with all rows, on one machine with {os.cpu_count()} cores,"
        f" {version.split(' on ')[0]}. TPC-H at scale {options.scale:g},"
        f" {options.rows:,} rows for the keys, {options.facts:,} facts, star"
        f" queries of seed {options.seed}. Seconds at the client, medians of"
        f" {options.runs} interleaved runs ({options.fdw_runs} by {FDW} and"
        f" {CLASSIC}). fetch_size is 10000, except where it is said to be"
        f" 100. A query is cut off after {options.limit} s. \"{CLASSIC}"
        "\" is by exchanges without what came later: lookups, partial"
        " aggregates, runtime filters and exchanges of joins. MB are those"
        " of both directions, with packet headers. The machine's load was"
        f" {options.load[0]:.1f} before the run and {os.getloadavg()[0]:.1f}"
        " at its end.", ""]
    for part in NOTES:
        if results.rows(part):
            lines += table(results, part)
    verdicts, missed = goals(judge(results))
    lines += verdicts
    return lines, missed


def write(options, runs, version):
    """Write the report; the goals that are missed."""
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "joins.csv"), "w",
              encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, runs[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(runs)
    lines, missed = report(options, Results(runs), version)
    with open(os.path.join(options.output, "joins.md"), "w",
              encoding="utf-8") as target:
        target.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    return missed
