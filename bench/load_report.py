"""The report of bench/load.py: goals, tables, and the files of figures."""
import csv
import os
import statistics
import time

from goals import goals

FDW, EXCHANGE = "postgres_fdw", "exchange"
WAYS = (FDW, EXCHANGE)
PERCENTILES = (50, 90, 95, 99, 100)
PARTS = {"kinds": "Each kind alone", "mix": "All kinds at once",
         "kill": "While shards are killed"}

# The goals: throughput of each kind alone, by that of postgres_fdw
LOOKUPS_MIN, OTHERS_MIN = 0.98, 3.0
GROWTH_MAX = 1.05       # of memory, from the middle of a run to its end
LOOKS_MIN = 40          # at memory; fewer do not tell growth from noise


def percentile(ordered, number):
    return ordered[min(len(ordered) - 1, len(ordered) * number // 100)]


def line_of(part, way, kind, number, taken, seconds):
    """A line of load.csv, of the seconds that each transaction took."""
    ordered = sorted(taken) or [float("nan")]
    return {"part": part, "way": way, "kind": kind, "run": number,
            "seconds": seconds, "transactions": len(taken),
            "per_second": round(len(taken) / seconds, 2),
            **{f"p{percent}_ms": round(percentile(ordered, percent) * 1000, 2)
               for percent in PERCENTILES}}


def median(lines, part, way, kind, what="per_second"):
    return statistics.median(line[what] for line in lines
                             if (line["part"], line["way"], line["kind"]) ==
                             (part, way, kind))


def kinds_of(lines, part):
    return list(dict.fromkeys(line["kind"] for line in lines
                              if line["part"] == part))


def settled(memory, part, way):
    """The looks at all sessions, once they were there."""
    samples = [look for look in memory
               if (look["part"], look["way"]) == (part, way)]
    most = max((look["here"] for look in samples), default=0)
    return [look for look in samples if look["here"] == most]


def levels(looks, what):
    """Medians of an eighth of the looks: in the middle, and at the end."""
    window = len(looks) // 8 + 1
    return [statistics.median(look[what] for look in chosen) for chosen in
            (looks[len(looks) // 2:][:window], looks[-window:])]


def growth(memory, part, way, what):
    """Memory at the end by that in the middle; None if the time was short."""
    looks = settled(memory, part, way)
    if len(looks) < LOOKS_MIN:
        return None
    middle, end = levels(looks, what)
    return end / middle


def judge(measured):
    """(text, whether it is met) for each goal."""
    lines = measured.lines
    for kind in kinds_of(lines, "kinds"):
        ratio = (median(lines, "kinds", EXCHANGE, kind) /
                 median(lines, "kinds", FDW, kind))
        least = LOOKUPS_MIN if kind == "lookup" else OTHERS_MIN
        yield (f"{kind}: {ratio:.2f} times postgres_fdw's throughput (at"
               f" least {least:g})", ratio >= least)
    for part in ("mix", "kill"):
        for what, where in (("here_bytes", "the coordinator"),
                            ("there_bytes", "the shards")):
            grown = growth(measured.memory, part, EXCHANGE, what)
            # Backends of shards that were killed are new ones.
            if grown and (part, what) != ("kill", "there_bytes"):
                yield (f"{part}: the backends of {where} take {grown:.2f}"
                       " times as much at the end as in the middle (at most"
                       f" {GROWTH_MAX:g})", grown <= GROWTH_MAX)
    yield (f"errors that should not be: {len(measured.errors)}",
           not measured.errors)


def table(lines, part):
    text = [f"## {PARTS[part]}", "",
            "| kind | way | transactions a second | median: ms | " +
            " | ".join(f"{percent} %" for percent in PERCENTILES[1:-1]) +
            " | longest |", "|---|---|" + "--:|" * (len(PERCENTILES) + 1)]
    for kind in kinds_of(lines, part):
        for way in WAYS:
            cells = [f"{median(lines, part, way, kind):,.1f}",
                     *(f"{median(lines, part, way, kind, what):,.1f}"
                       for what in (f"p{percent}_ms"
                                    for percent in PERCENTILES))]
            text.append(f"| {kind} | {way} | {' | '.join(cells)} |")
    return [*text, ""]


def memory_table(memory):
    text = ["## Memory", "",
            "| part | way | backends here | MB in the middle | at the end |"
            " backends there | MB in the middle | at the end |",
            "|---|---|--:|--:|--:|--:|--:|--:|"]
    for part, way in dict.fromkeys((look["part"], look["way"])
                                   for look in memory):
        looks = settled(memory, part, way)
        here = [f"{nbytes / 2**20:.0f}"
                for nbytes in levels(looks, "here_bytes")]
        there = [f"{nbytes / 2**20:.0f}"
                 for nbytes in levels(looks, "there_bytes")]
        text.append(f"| {part} | {way} | {looks[-1]['here']} |"
                    f" {' | '.join(here)} | {looks[-1]['there']} |"
                    f" {' | '.join(there)} |")
    return [*text, "", "Anonymous memory of all backends together; pages that"
            " they share with the postmaster count for each.", ""]


def report(options, measured, version):
    lines = [
        "# Load", "",
        f"{time.strftime('%Y-%m-%d')}: {options.sessions} sessions on the"
        f" coordinator, four shards, on one machine with {os.cpu_count()}"
        f" cores, {version.split(' on ')[0]}. Each kind alone:"
        f" {options.rounds} runs of {options.kind_seconds} s by each way, in"
        f" turns, medians. The mix: {options.seconds} s by each way."
        + (f" With shards that are killed: {options.kill_seconds} s, one every"
           f" {options.period:g} s for {options.down:g} s."
           if kinds_of(measured.lines, "kill") else "") +
        f" The first {options.warm} s of a run of pgbench do not count."
        f" fetch_size is 1000, batch_size {options.batch_size}. The machine's load was"
        f" {options.load[0]:.1f} before the run.", "",
        "![Latencies by kind, and memory over time](load.svg)", ""]
    for part in PARTS:
        if kinds_of(measured.lines, part):
            lines += table(measured.lines, part)
    if measured.memory:
        lines += memory_table(measured.memory)
    verdicts, missed = goals(judge(measured))
    lines += verdicts
    lines += [f"- {error}" for error in measured.errors]
    return lines, missed


def write_csv(options, name, rows):
    if not rows:
        return
    with open(os.path.join(options.output, name), "w", encoding="utf-8",
              newline="") as target:
        writer = csv.DictWriter(target, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write(options, measured, version):
    """Write the report; the goals that are missed."""
    os.makedirs(options.output, exist_ok=True)
    write_csv(options, "load.csv", measured.lines)
    write_csv(options, "load_memory.csv", measured.memory)
    lines, missed = report(options, measured, version)
    with open(os.path.join(options.output, "load.md"), "w",
              encoding="utf-8") as target:
        target.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    return missed
