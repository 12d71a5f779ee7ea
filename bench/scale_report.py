"""The report of bench/scale.py: goals, tables, and the files of runs."""
import csv
import os
import statistics
import time

from goals import goals

FDW, ASYNC, EXCHANGE = "postgres_fdw", "postgres_fdw async", "exchange"
WAYS = (FDW, ASYNC, EXCHANGE)
STREAMS = 4     # pg_exchange.max_connections_per_server, by default

# The goals, of these layouts
GOALS = ((128, 1), (128, 8))
FIRST_MAX = 1.0         # times postgres_fdw async's first query
LATER_MIN = 3.0         # times as fast as its later ones
PLANNING_MAX = 1.5      # times its planning
# Of any layout: bytes here of an idle connection of ours, and of a stream
# while it is read
IDLE_MAX = 96 * 1024
STREAM_MAX = 512 * 1024
LAYOUTS_MIN = 3         # for a line of the model


class Results:
    """What was measured, by layout and way."""

    def __init__(self, runs, looks):
        self.cells, self.looks = {}, looks
        for run in runs:
            key = (run["servers"], run["partitions"])
            self.cells.setdefault(key, {}).setdefault(run["way"],
                                                      []).append(run)

    def median(self, layout, way, what):
        return statistics.median(run[what] for run in
                                 self.cells[layout][way])

    def ratio(self, layout, what, over=ASYNC):
        """The exchange's figure over that of another way."""
        return (self.median(layout, EXCHANGE, what) /
                self.median(layout, over, what))

    def look(self, layout, way, streams=None):
        """Of the default number of streams, which was looked at first."""
        return next(look for look in self.looks
                    if (look["servers"], look["partitions"]) == layout and
                    look["way"] == way and streams in (None,
                                                       look["streams"]))


def slope(looks, what):
    """Bytes that one more connection of ours takes: over looks at the same
    layout with different limits. None if they do not differ."""
    points = [(look["own_connections"], look[what]) for look in looks]
    if len({x for x, _ in points}) < 2:
        return None
    return line_through(points)[1]


def slopes(results):
    """(layout, bytes of an idle connection, bytes of a stream)."""
    for layout in results.cells:
        looks = [look for look in results.looks
                 if (look["servers"], look["partitions"]) == layout and
                 look["way"] == EXCHANGE]
        idle = slope(looks, "idle")
        if idle is not None:
            yield layout, idle, slope(looks, "peak")


def name(layout):
    return f"{layout[0]} x {layout[1]}"


def judge(results):
    """(text, whether it is met) for each goal."""
    for layout in GOALS:
        if layout not in results.cells:
            continue
        first = results.ratio(layout, "first_s")
        yield (f"{name(layout)}: the first query of a session takes"
               f" {first:.2f} times as long as by {ASYNC} (at most"
               f" {FIRST_MAX:g})", first <= FIRST_MAX)
        later = 1 / results.ratio(layout, "later_s")
        yield (f"{name(layout)}: later ones are {later:.1f} times as fast"
               f" (at least {LATER_MIN:g})", later >= LATER_MIN)
        planning = results.ratio(layout, "plan_ms")
        yield (f"{name(layout)}: planning takes {planning:.2f} times as long"
               f" (at most {PLANNING_MAX:g})", planning <= PLANNING_MAX)
    measured = list(slopes(results))
    for what, number, most in (("an idle connection", 1, IDLE_MAX),
                               ("a stream that is read", 2, STREAM_MAX)):
        if measured:
            worst = max(measured, key=lambda line: line[number])
            yield (f"{what} takes at most {worst[number] / 1024:.0f} kB of the"
                   f" coordinator ({name(worst[0])}; at most"
                   f" {most // 1024} kB)", worst[number] <= most)


def times_table(results):
    columns = (("first query: s", "first_s", 2), ("later: s", "later_s", 2),
               ("first row: s", "first_row_s", 3),
               ("later: s", "first_row_later_s", 3),
               ("planning, first: ms", "plan_first_ms", 0),
               ("later: ms", "plan_ms", 1))
    lines = ["## Times", "",
             "| servers x partitions | way | " + " | ".join(
                 title for title, *_ in columns) +
             " | connections | CPU, first: s | later: s |",
             "|---|---|" + "--:|" * (len(columns) + 3)]
    for layout, ways in results.cells.items():
        for way, runs in ways.items():
            cells = [f"{results.median(layout, way, what):,.{digits}f}"
                     for _, what, digits in columns]
            own = runs[0]["own_connections"]
            cells.append(f"{runs[0]['fdw_connections']}" +
                         (f" + {own}" if way == EXCHANGE else ""))
            cells += [f"{results.median(layout, way, what):.2f}"
                      for what in ("first_cpu_s", "later_cpu_s")]
            lines.append(f"| {name(layout)} | {way} | {' | '.join(cells)} |")
    return [*lines, "", "Connections are those of one session:"
            " postgres_fdw's, and those of exchanges.", ""]


def ratios_table(results):
    lines = ["## Exchange and postgres_fdw", "",
             "How many times as fast an exchange is, and how many times as"
             " long planning takes:", "",
             "| servers x partitions | first query | later | first row |"
             " later | planning |", "|---|--:|--:|--:|--:|--:|"]
    for layout in results.cells:
        cells = [f"{1 / results.ratio(layout, what):.2f}" for what in
                 ("first_s", "later_s", "first_row_s", "first_row_later_s")]
        cells.append(f"{results.ratio(layout, 'plan_ms'):.2f}")
        lines.append(f"| {name(layout)} | {' | '.join(cells)} |")
    return [*lines, "", f"All against {ASYNC}.", ""]


def memory_table(results):
    lines = ["## Memory", "",
             "MB of the coordinator's backend that nobody else has; MB of a"
             " backend on the other side:", "",
             "| servers x partitions | way | streams a server | connections |"
             " fresh | planned | most | idle | there: backends | MB each |",
             "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for look in results.looks:
        cells = [look["streams"] if look["way"] == EXCHANGE else "",
                 f"{look['fdw_connections']} + {look['own_connections']}",
                 *(f"{look[what] / 2**20:.1f}" for what in
                   ("fresh", "planned", "peak", "idle")), look["there"],
                 f"{look['there_private'] / 2**20:.1f}"]
        lines.append(f"| {look['servers']} x {look['partitions']} |"
                     f" {look['way']} | {' | '.join(map(str, cells))} |")
    lines += ["", "What one more connection takes of the coordinator, from"
              " the runs with different numbers of streams:", "",
              "| servers x partitions | idle: kB | while it is read: kB |",
              "|---|--:|--:|"]
    lines += [f"| {name(layout)} | {idle / 1024:.0f} | {peak / 1024:.0f} |"
              for layout, idle, peak in slopes(results)]
    return [*lines, ""]


def line_through(points):
    """(a, b) of y = a + b * x, by least squares."""
    mean = [statistics.mean(values) for values in zip(*points)]
    spread = sum((x - mean[0]) ** 2 for x, _ in points)
    b = sum((x - mean[0]) * (y - mean[1])
            for x, y in points) / spread if spread else 0.0
    return mean[1] - b * mean[0], b


def connections(run):
    return run["fdw_connections"] + run["own_connections"]


def model_lines(results, way):
    """(name, unit of x, unit of y, points) of each line of the model."""
    layouts = [layout for layout in results.cells
               if way in results.cells[layout]]

    def points(x, y):
        return [(x(layout), y(layout)) for layout in layouts]

    def of_run(what, scale=1.0):
        return lambda layout: scale * results.median(layout, way, what)

    def parts(layout):
        return layout[0] * layout[1]

    def opened(layout):
        return connections(results.cells[layout][way][0])

    def grown(what, since):
        def get(layout):
            look = results.look(layout, way)
            return (look[what] - look[since]) / 1024
        return get

    yield "planning", "partition", "ms", points(parts, of_run("plan_ms"))
    yield "later queries", "partition", "ms", points(
        parts, of_run("later_s", 1000))
    yield "first query, more than later ones", "connection", "ms", points(
        opened, lambda layout: of_run("first_s", 1000)(layout) -
        of_run("later_s", 1000)(layout))
    yield "memory when planned", "partition", "kB", points(
        parts, grown("planned", "fresh"))
    yield "idle memory, more than when planned", "connection", "kB", points(
        opened, grown("idle", "planned"))


def model_table(results):
    """Constants of doc/scaling.md, how well they fit, and where they lead."""
    lines = ["## The model", "",
             "A figure is a constant and so much for each partition or"
             " connection (least squares over the layouts above). The largest"
             " error is that of a layout, in the unit of the figure. The last"
             " two columns are what it says of 1,000 servers; an exchange"
             " has two connections to each if there is one partition, and"
             f" {STREAMS + 1} if there are eight.", "",
             "| way | figure | constant | for each | largest error |"
             " 1,000 x 1 | 1,000 x 8 |", "|---|---|--:|--:|--:|--:|--:|"]
    for way in WAYS:
        for figure, each, unit, points in model_lines(results, way):
            if len({x for x, _ in points}) < LAYOUTS_MIN:
                continue
            a, b = line_through(points)
            error = max((abs(a + b * x - y) for x, y in points))
            own = (1, STREAMS) if way == EXCHANGE else (0, 0)
            far = [1000, 8000] if each == "partition" else [
                1000 * (1 + count) for count in own]
            lines.append(
                f"| {way} | {figure} | {a:,.1f} {unit} | {b:,.3f} {unit} a"
                f" {each} | {error:,.1f} {unit} | " + " | ".join(
                    f"{a + b * x:,.0f} {unit}" for x in far) + " |")
    return [*lines, ""]


def report(options, results, version):
    lines = [
        "# Many servers, many partitions", "",
        f"{time.strftime('%Y-%m-%d')}: {options.rows:,} rows over foreign"
        f" servers that are databases of {options.instances} instances, on"
        f" one machine with {os.cpu_count()} cores,"
        f" {version.split(' on ')[0]}. Medians of {options.runs} interleaved"
        f" runs, each in fresh sessions. {FDW} and {ASYNC} run without the"
        f" library; {ASYNC} is with async_capable, which the servers have."
        " Connections are those of one host, so frames are not compressed."
        f" The machine's load was {options.load[0]:.1f} before the run and"
        f" {os.getloadavg()[0]:.1f} at its end.", "",
        "![Seconds and memory by number of servers](scale.svg)", "",
        *times_table(results), *ratios_table(results),
        *memory_table(results), *model_table(results)]
    verdicts, missed = goals(judge(results))
    lines += verdicts
    return lines, missed


def write_csv(options, file_name, rows):
    with open(os.path.join(options.output, file_name), "w",
              encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write(options, runs, looks, version):
    """Write the report; the goals that are missed."""
    os.makedirs(options.output, exist_ok=True)
    write_csv(options, "scale.csv", runs)
    write_csv(options, "scale_memory.csv", looks)
    lines, missed = report(options, Results(runs, looks), version)
    with open(os.path.join(options.output, "scale.md"), "w",
              encoding="utf-8") as target:
        target.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    return missed
