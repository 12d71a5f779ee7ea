#!/usr/bin/env python3
"""Plots of the suite's CSV files as SVG: plot.py FOLDER. Needs matplotlib; called by the benchmarks.

Each picture says what was measured, on what machine (from the report beside it), and how far the runs spread: lines on bars reach
from the fastest run to the slowest. Where an exchange loses, the picture says so, in the same type as everything else. The colors
are those of Okabe and Ito, and cividis: people who do not see all colors can tell them apart."""
import csv
import os
import re
import statistics
import textwrap
import sys

import matplotlib
import matplotlib.colors

matplotlib.use("svg")
from matplotlib import pyplot as plt  # noqa: E402

MODES = ("none", "fast", "high_compression")
AUTO_MODES = (*MODES, "auto", "postgres_fdw", "zstd tunnel")
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")   # Okabe and Ito, 2008
ASYNC = "postgres_fdw async"
# Ways to run a query, and their colors
TPCH_WAYS = {"one server": "0.6", "postgres_fdw": "C0", "exchange": "C1"}
JOIN_TITLES = {
    "joins": "Joins of tables on a coordinator and four servers",
    "star": "Star queries over 10 million facts on four servers",
}
TEXT = 9    # the size of titles and captions


def rows_of(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def said_in(folder, report, sentences):
    """What a report says of machine, scale and runs: its first sentences."""
    path = os.path.join(folder, report)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as text:
        paragraph = text.read().split("\n\n")[1]
    return " ".join(re.split(r"(?<=[.;])\s+(?=[A-Z0-9])", paragraph)[:sentences])


def spread(values):
    """(median, how far below it is the lowest, how far above it the highest)."""
    middle = statistics.median(values)
    return middle, middle - min(values), max(values) - middle


def listed(ratios):
    """'Q10 1.94, Q20 1.40': those of (ratio, name) that are losses, the largest first. Half a percent is none."""
    losses = [(ratio, name) for ratio, name in ratios if ratio > 1.005]
    return ", ".join(f"{name} {ratio:.2f}" for ratio, name in sorted(losses, reverse=True)) or "none"


def save(folder, name, caption=()):
    """caption: paragraphs below the picture."""
    figure = plt.gcf()
    lines = [line for text in caption if text for line in textwrap.wrap(text, int(figure.get_figwidth() * 14))]
    below = len(lines) * TEXT * 1.35 / 72
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + below)
    plt.tight_layout(rect=(0, below / (height + below), 1, 1))
    figure.text(0.01, below / (height + below), "\n".join(lines), fontsize=TEXT, va="top", linespacing=1.3)
    # No date and fixed ids, so that the same figures make the same file.
    plt.savefig(os.path.join(folder, name), metadata={"Date": None})
    plt.close()


def plot_tables(folder):
    rows = rows_of(folder, "tables.csv")
    if not rows:
        return
    tables = list(dict.fromkeys(row["table"] for row in rows))
    plt.figure(figsize=(8, 4))
    for number, mode in enumerate(MODES):
        values = [float(row["wire_bytes_per_row"]) for row in rows if row["mode"] == mode]
        plt.bar([i + (number - 1) * 0.27 for i in range(len(tables))], values, 0.25, label=mode)
    plt.xticks(range(len(tables)), tables)
    plt.ylabel("bytes per row")
    plt.title("Bytes per row on the wire: tables of TPC-H, by mode", fontsize=TEXT)
    plt.margins(y=0.25)
    plt.legend(title="mode", ncols=3)
    save(folder, "tables.svg", [said_in(folder, "suite.md", 1) + " Headers of frames are included. One run: bytes hardly vary. postgres_fdw and mode auto "
                                "were not part of this measurement.", "Tables of few rows gain least, because each frame and each column has a header."])


def plot_peers(folder):
    runs = rows_of(folder, "peers.csv")
    if not runs:
        return
    whats = list(dict.fromkeys(run["what"] for run in runs))
    seconds = {what: spread([float(run["seconds"]) for run in runs if run["what"] == what]) for what in whats}
    whats.sort(key=lambda what: seconds[what][0], reverse=True)
    plt.figure(figsize=(8, 4))
    for label, color, chosen in (("exchange, by mode", "C1", MODES), ("others", "C0", [what for what in whats if what not in MODES])):
        chosen = [what for what in whats if what in chosen]
        places = [whats.index(what) for what in chosen]
        bars = plt.barh(places, [seconds[what][0] for what in chosen], color=color, label=label,
                        xerr=list(zip(*(seconds[what][1:] for what in chosen))), error_kw={"elinewidth": 1, "capsize": 2})
        plt.bar_label(bars, fmt="%.1f s", padding=3)
    plt.yticks(range(len(whats)), whats)
    plt.margins(x=0.12)
    plt.xlabel("seconds")
    plt.title("SELECT * FROM lineitem, by every way there is", fontsize=TEXT)
    plt.legend()
    fdw = min(seconds[what][0] for what in whats if what.startswith("postgres_fdw"))
    best = min(seconds[mode][0] for mode in MODES)
    faster = [f"{what} ({seconds[what][0]:.1f} s)" for what in whats if what not in MODES and seconds[what][0] < best]
    save(folder, "peers.svg", [f"{said_in(folder, 'suite.md', 1)} Medians of {len(runs) // len(whats)} runs; lines: fastest to slowest. Mode auto was not part of this measurement: see auto.svg.",
                               f"The best mode takes 1/{fdw / best:.1f} of the time of the best postgres_fdw. Faster than every mode: {', '.join(faster) or 'none'}."])


def plot_auto(folder):
    """A heat map: each way's time over that of the quickest, by data and link."""
    scans = rows_of(folder, "auto.csv")
    if not scans:
        return
    modes = list(dict.fromkeys(scan["mode"] for scan in sorted(scans, key=lambda scan: AUTO_MODES.index(scan["mode"]))))
    cells = list(dict.fromkeys((scan["data"], scan["link"]) for scan in sorted(scans, key=lambda scan: scan["data"])))
    runs = {}
    for scan in scans:
        runs.setdefault((scan["data"], scan["link"], scan["mode"], scan["run"]), []).append(float(scan["seconds"]))
    times = [[statistics.median(statistics.mean(seconds) for key, seconds in runs.items() if key[:3] == (*cell, mode))
              for mode in modes] for cell in cells]
    ratios = [[seconds / min(row) for seconds in row] for row in times]
    spreads = [(max(means) - min(means)) / statistics.median(means) for cell in cells for mode in modes if (means := [
        statistics.mean(seconds) for key, seconds in runs.items() if key[:3] == (*cell, mode)])]
    plt.figure(figsize=(9.5, 0.36 * len(cells) + 1.6))
    norm = matplotlib.colors.LogNorm(1, 10, clip=True)
    image = plt.imshow(ratios, aspect="auto", cmap="cividis_r", norm=norm)
    for y, row in enumerate(ratios):
        for x, ratio in enumerate(row):
            plt.text(x, y, f"{times[y][x]:.2f} s  {ratio:.2f}", ha="center", va="center", fontsize=8,
                     color="white" if norm(ratio) > 0.45 else "black")
    bar = plt.colorbar(image, pad=0.02, ticks=[1, 2, 5, 10])
    bar.ax.set_yticklabels(["1", "2", "5", "10 or more"])
    bar.ax.minorticks_off()
    bar.set_label("times the fastest of the row")
    plt.xticks(range(len(modes)), modes)
    plt.yticks(range(len(cells)), [", ".join(cell) for cell in cells])
    plt.title("Scans by mode: seconds, and how many times the fastest of the row", fontsize=TEXT)
    auto, fixed = modes.index("auto"), [modes.index(mode) for mode in MODES]
    losses = [(row[auto] / min(row[i] for i in fixed), ", ".join(cell)) for cell, row in zip(cells, times)]
    others = [(times[y][modes.index(mode)] / times[y][modes.index(other)], f"{mode} than {other} ({', '.join(cell)})") for y, cell in enumerate(cells)
              for mode in (*MODES, "auto") for other in ("postgres_fdw", "zstd tunnel")]
    save(folder, "auto.svg", [f"{said_in(folder, 'auto.md', 2)} From run to run, a cell varies by {100 * statistics.median(spreads):.0f} % (median; at most {100 * max(spreads):.0f} %).",
                              "Where auto takes longer than the best fixed mode, and how many times as long: "
                              + listed(losses) + ".",
                              "Where a mode takes longer than postgres_fdw or the tunnel: " + listed(others) + "."])


def plot_tpch(folder):
    """Seconds by query and way, one panel for each way to partition."""
    runs = [run for run in rows_of(folder, "tpch.csv")
            if run["way"] in TPCH_WAYS]
    if not runs:
        return
    layouts = list(dict.fromkeys(run["layout"] for run in runs))
    queries = list(dict.fromkeys(run["query"] for run in runs))
    cells = {}
    for run in runs:
        cells.setdefault((run["layout"], run["query"], run["way"]),
                         []).append(run)
    _, panels = plt.subplots(len(layouts), figsize=(9, 3.2 * len(layouts)),
                             squeeze=False)
    for panel, layout in zip(panels[:, 0], layouts):
        for number, (way, color) in enumerate(TPCH_WAYS.items()):
            bars = [(i, cells[layout, query, way])
                    for i, query in enumerate(queries)
                    if (layout, query, way) in cells]
            places = [i + (number - 1) * 0.27 for i, _ in bars]
            values = [statistics.median(float(run["seconds"])
                                        for run in cell) for _, cell in bars]
            spreads = [spread([float(run["seconds"]) for run in cell])[1:] for _, cell in bars]
            panel.bar(places, values, 0.25, label=way, color=color, yerr=list(zip(*spreads)), error_kw={"elinewidth": 0.8})
            for place, value, (_, cell) in zip(places, values, bars):
                if any(run["outcome"] for run in cell):
                    panel.text(place, value, "×", ha="center", va="bottom",
                               color="C3")
        panel.set_yscale("log")
        panel.set_xticks(range(len(queries)),
                         [query.replace(" ", "\n") for query in queries],
                         fontsize=8)
        panel.set_ylabel("seconds")
        panel.set_title(f"TPC-H, partitions by {layout} on four servers"
                        " (×: cut off)", fontsize=9)
    panels[0, 0].legend(fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.1))
    middle = {key: statistics.median(float(run["seconds"]) for run in cell) for key, cell in cells.items()}
    text = []
    for other in ("one server", "postgres_fdw"):
        losses = [(seconds / middle[layout, query, other], f"{query} ({layout})") for (layout, query, way), seconds in middle.items()
                  if way == "exchange" and (layout, query, other) in middle]
        text.append(f"Where an exchange takes longer than {other}, and how many times as long: {listed(losses)}.")
    save(folder, "tpch.svg", [said_in(folder, "tpch.md", 2) + " Mode auto; all servers are on one host, so nothing is compressed. Lines: fastest to slowest run.", *text])


def plot_write(folder):
    """Seconds of a million rows, by statement and way."""
    runs = rows_of(folder, "write.csv")
    if not runs:
        return
    cells = {}
    for run in runs:
        name = f"{run['operation']}, {run['table']}"
        if run["part"] == "links":
            name += f", {run['place']} slow link" + "s" * (
                run["place"] != "one")
        if run["part"] == "servers":
            name += f", {run['place']} server" + "s" * (run["place"] != "one")
        if run["part"] == "copy":
            name += f", {run['major']}"
        cells.setdefault(name, {}).setdefault(run["way"], []).append(
            float(run["seconds"]) / float(run["rows"]) * 1e6)
    ways = list(dict.fromkeys(run["way"] for run in runs))
    plt.figure(figsize=(9, 0.55 * len(cells) + 1.2))
    for number, way in enumerate(ways):
        bars = [(len(cells) - place, *spread(cell[way]))
                for place, cell in enumerate(cells.values()) if way in cell]
        drawn = plt.barh([bar[0] - 0.9 / len(ways) * (number - (len(ways) - 1) / 2) for bar in bars],
                         [bar[1] for bar in bars], 0.8 / len(ways), label=way, xerr=list(zip(*(bar[2:] for bar in bars))), error_kw={"elinewidth": 0.6})
        plt.bar_label(drawn, fmt="%.2g", padding=2, fontsize=7)
    plt.xscale("log")
    plt.margins(x=0.12)
    plt.yticks([len(cells) - place for place in range(len(cells))], cells,
               fontsize=8)
    plt.xlabel("seconds for a million rows")
    plt.title("Writing rows through foreign tables, by statement and way", fontsize=TEXT)
    plt.legend(fontsize=8)
    middle = {(name, way): statistics.median(seconds) for name, cell in cells.items() for way, seconds in cell.items()}
    text = []
    for other in ("postgres_fdw", "local table"):
        losses = [(middle[name, "frames"] / middle[name, other], name) for name in cells
                  if (name, "frames") in middle and (name, other) in middle]
        text.append(f"Where frames take longer than {'a ' if other == 'local table' else ''}{other}, and how many times as long: {listed(losses)}.")
    save(folder, "write.svg", [said_in(folder, "write.md", 2) + " Frames are in mode auto. Lines: fastest to slowest run.", *text])


def plot_joins(folder):
    """Seconds by query and way: the star queries, and the others."""
    runs = rows_of(folder, "joins.csv")
    if not runs:
        return
    ways = list(dict.fromkeys(run["way"] for run in runs))
    parts = [(title, [run for run in runs
                      if (run["part"] == "star") == (title == "star")])
             for title in ("joins", "star")]
    parts = [part for part in parts if part[1]]
    counts = [len({(run["query"], run["link"]) for run in chosen})
              for _, chosen in parts]
    _, panels = plt.subplots(
        len(parts), squeeze=False, figsize=(9, 0.4 * sum(counts) + 2),
        gridspec_kw={"height_ratios": counts})
    for panel, (title, chosen) in zip(panels[:, 0], parts):
        cells = {}
        for run in chosen:
            name = run["query"] if title == "star" else \
                f"{run['query']}, {run['link']} Mbit/s"
            cells.setdefault(name, {}).setdefault(run["way"], []).append(run)
        for number, way in enumerate(ways):
            bars = [(-place, cell[way]) for place, cell
                    in enumerate(cells.values()) if way in cell]
            spreads = [spread([float(run["seconds"]) for run in cell])
                       for _, cell in bars]
            drawn = panel.barh(
                [place - 0.8 * (number + 0.5) / len(ways) + 0.4
                 for place, _ in bars],
                [middle for middle, _, _ in spreads], 0.8 / len(ways),
                label=way, color=TPCH_WAYS.get(way, f"C{number}"),
                xerr=list(zip(*(reach[1:] for reach in spreads))),
                error_kw={"elinewidth": 0.6})
            panel.bar_label(drawn, [
                "×" if any(run["outcome"] for run in cell) else ""
                for _, cell in bars], padding=2, fontsize=7)
        panel.set_xscale("log")
        panel.set_yticks([-place for place in range(len(cells))], cells,
                         fontsize=7)
        panel.set_xlabel("seconds, median (×: cut off or wrong)")
        panel.set_title(JOIN_TITLES[title], fontsize=TEXT)
        panel.margins(y=0.02)
    panels[0, 0].legend(fontsize=7, ncols=3, loc="lower center",
                        bbox_to_anchor=(0.4, 1.02 + 0.5 / counts[0]))
    middle = medians(runs, ("query", "link", "way"), "seconds")
    text = []
    for other in ("one server", "postgres_fdw", "version 1.0's plan"):
        losses = [(seconds / middle[query, link, other],
                   f"{query} ({link} Mbit/s)")
                  for (query, link, way), seconds in middle.items()
                  if way == "exchange" and (query, link, other) in middle]
        text.append(f"Where an exchange takes longer than {other}, and how"
                    f" many times as long: {listed(losses)}.")
    save(folder, "joins.svg", [
        said_in(folder, "joins.md", 4) + " Mode auto. Lines: fastest to"
        " slowest run.", *text])


def medians(runs, keys, what):
    """{keys' values: the median of a column}."""
    cells = {}
    for run in runs:
        cells.setdefault(tuple(run[key] for key in keys), []).append(
            float(run[what]))
    return {key: statistics.median(values) for key, values in cells.items()}


def plot_scale(folder):
    """By number of servers: times, planning, memory; a line for each way and
    number of partitions."""
    runs = rows_of(folder, "scale.csv")
    if not runs:
        return
    looks = [{**look, "peak_mb": float(look["peak"]) / 2**20,
              "idle_mb": float(look["idle"]) / 2**20}
             for look in rows_of(folder, "scale_memory.csv")
             if look["streams"] == "4"]
    _, panels = plt.subplots(3, 2, figsize=(9, 10))
    for panel, (source, what, title) in zip(panels.flat, (
            (runs, "first_s", "first query of a session: seconds"),
            (runs, "later_s", "later queries: seconds"),
            (runs, "first_row_s", "first row of a session: seconds"),
            (runs, "plan_ms", "planning: ms"),
            (looks, "peak_mb", "the backend in the query: MB"),
            (looks, "idle_mb", "the backend afterwards: MB"))):
        cells = medians(source, ("way", "partitions", "servers"), what)
        for number, way in enumerate(dict.fromkeys(
                run["way"] for run in runs)):
            for style, partitions in zip(("-o", "--s", ":^"), dict.fromkeys(
                    run["partitions"] for run in runs)):
                points = sorted((int(key[2]), value) for key, value
                                in cells.items()
                                if key[:2] == (way, partitions))
                panel.plot(*zip(*points), style, color=f"C{number}",
                           markersize=4, label=f"{way}, {partitions} each")
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_title(title, fontsize=9)
        ticks = sorted({int(run["servers"]) for run in runs})
        panel.set_xticks(ticks, ticks)
        panel.set_xlabel("servers", fontsize=8)
    panels[0, 0].legend(fontsize=6)
    plt.suptitle("One table over many servers, by partitions on each",
                 fontsize=TEXT)
    text = []
    for what, name in (("first_s", "first queries"),
                       ("later_s", "later queries"),
                       ("first_row_s", "the first row of a session"),
                       ("plan_ms", "planning")):
        cells = medians(runs, ("servers", "partitions", "way"), what)
        losses = [(seconds / cells[servers, partitions, ASYNC],
                   f"{servers} x {partitions}")
                  for (servers, partitions, way), seconds in cells.items()
                  if way == "exchange" and (servers, partitions, ASYNC) in cells]
        text.append(f"Where {name} by exchanges take longer than by"
                    " postgres_fdw async, and how many times as long:"
                    f" {listed(losses)}.")
    save(folder, "scale.svg", [said_in(folder, "scale.md", 3) +
                               " Medians.", *text])


def plot_load(folder):
    """Percentiles of latencies by kind, throughput, and memory over time."""
    lines = rows_of(folder, "load.csv")
    if not lines:
        return
    memory = rows_of(folder, "load_memory.csv")
    kinds = list(dict.fromkeys(line["kind"] for line in lines))
    parts = [part for part in ("kinds", "mix", "kill")
             if any(line["part"] == part for line in lines)]
    ways = list(dict.fromkeys(line["way"] for line in lines))
    _, panels = plt.subplots(len(parts) + 1, 2, squeeze=False,
                             figsize=(9, 3 * len(parts) + 3))
    for row, part in zip(panels, parts):
        chosen = [line for line in lines if line["part"] == part]
        for number, way in enumerate(ways):
            places = [i + 0.4 * (number - 0.5) for i in range(len(kinds))]
            cells = medians(chosen, ("way", "kind"), "per_second")
            row[0].bar(places, [cells[way, kind] for kind in kinds], 0.36,
                       label=way, color=f"C{number}")
            for percent, marker in ((50, "o"), (90, "_"), (99, "^")):
                cells = medians(chosen, ("way", "kind"), f"p{percent}_ms")
                row[1].plot(places, [cells[way, kind] for kind in kinds],
                            marker, color=f"C{number}",
                            label=f"{way}, {percent} %")
        for panel, title in zip(row, ("transactions a second", "ms")):
            panel.set_yscale("log")
            panel.set_xticks(range(len(kinds)), kinds, fontsize=8)
            panel.set_title(f"{part}: {title}", fontsize=9)
    for panel, what in zip(panels[-1], ("here", "there")):
        for part, way in dict.fromkeys(
                (look["part"], look["way"]) for look in memory):
            points = [(float(look["seconds"]),
                       float(look[what + "_bytes"]) / 2**20)
                      for look in memory
                      if (look["part"], look["way"]) == (part, way)]
            panel.plot(*zip(*points), label=f"{part}, {way}",
                       color=f"C{ways.index(way)}",
                       linestyle="-" if part == "mix" else ":")
        panel.set_title("backends of the " + (
            "coordinator" if what == "here" else "shards") +
            ": MB over seconds", fontsize=9)
        if memory:
            panel.legend(fontsize=6)
    panels[0, 1].legend(fontsize=6)
    plt.suptitle("Many sessions at once, by kind of transaction",
                 fontsize=TEXT)
    text = []
    for part in parts:
        cells = medians([line for line in lines if line["part"] == part],
                        ("kind", "way"), "per_second")
        losses = [(cells[kind, "postgres_fdw"] / cells[kind, "exchange"], kind)
                  for kind in kinds if (kind, "exchange") in cells and
                  (kind, "postgres_fdw") in cells]
        text.append(f"{part}: where exchanges get less done than"
                    " postgres_fdw, and how many times less:"
                    f" {listed(losses)}.")
    save(folder, "load.svg", [said_in(folder, "load.md", 3), *text])


matplotlib.rcParams["svg.hashsalt"] = "pg_exchange"
matplotlib.rcParams["axes.prop_cycle"] = plt.cycler(color=COLORS)
plot_tables(sys.argv[1])
plot_peers(sys.argv[1])
plot_auto(sys.argv[1])
plot_tpch(sys.argv[1])
plot_write(sys.argv[1])
plot_joins(sys.argv[1])
plot_scale(sys.argv[1])
plot_load(sys.argv[1])
