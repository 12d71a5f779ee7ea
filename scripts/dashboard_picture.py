"""A picture (SVG) of a Grafana dashboard from its JSON and the answers of a Prometheus, as Grafana lays it out.

scripts/check_monitoring.py --write makes the one of the documentation with it.  It knows the panels that our
dashboard has, stat and timeseries, and their units; not Grafana's other features.  The library of Python suffices."""
import json
import math
import re
import urllib.parse
import urllib.request
from xml.sax.saxutils import escape

COLUMN, ROW, GAP, HEAD = 50, 30, 8, 56     # pixels: a 24th of the width, a unit of height, between panels, the heading
LEGEND_LINE, LEFT, RIGHT = 15, 62, 20
# The colours of Okabe and Ito, which colour-blind people can tell apart; what shares a colour differs by its dashes.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#848f9a")
STYLE = """
text { font: 11px "DejaVu Sans", Verdana, "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.title { font-weight: bold; font-size: 12px } .head { font-weight: bold; font-size: 17px } .dim { fill: #59636e }
.back { fill: #f4f6f8 } .panel { fill: #ffffff; stroke: #c4ccd4 } .rule { stroke: #dde2e7 } .stat { font-size: 30px }
.line { fill: none; stroke-width: 1.6 } .area { stroke-width: 0.8; fill-opacity: 0.75 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .dim { fill: #9aa4af } .back { fill: #0d1117 }
.panel { fill: #1a212a; stroke: #39424d } .rule { stroke: #2c353f } }
"""


# ---- asking ------------------------------------------------------------------------------------

def ask(address, path, **arguments):
    """The data of Prometheus's answer; ValueError if it is an error."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = f"{address}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
    try:
        with opener.open(url, timeout=30) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as refused:
        raise ValueError(f"{arguments}: {refused.read().decode()}") from None


def with_variables(query, **values):
    """A query of the dashboard with Grafana's variables filled in: All, but for values."""
    values = {"__rate_interval": "10s", "__range": "5m", **values}
    return re.sub(r"\$(\w+)", lambda name: values.get(name[1], ".*"), query)


def name_of(legend, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda label: labels.get(label[1], ""), legend).strip()


def data_of(address, panel, start, end, step):
    """[(name, [(time, value)])] of a panel."""
    found = []
    for target in panel["targets"]:
        if panel["type"] == "stat":
            answers = ask(address, "query", query=with_variables(target["expr"], __range=f"{end - start:.0f}s"), time=end)["result"]
            found += [(panel["title"], [tuple(map(float, series["value"]))]) for series in answers]
        else:
            answers = ask(address, "query_range", query=with_variables(target["expr"]), start=start, end=end, step=step)["result"]
            found += [(name_of(target["legendFormat"], series["metric"]), [(float(t), float(v)) for t, v in series["values"] if v != "NaN"])
                      for series in answers]
    return sorted(found, key=lambda series: -sum(value for _, value in series[1]))


# ---- drawing -----------------------------------------------------------------------------------

def number(value, unit):
    """As Grafana writes it."""
    if unit == "short" and abs(value) < 1000:
        return f"{value:.0f}"
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    base, powers = (1024, ("", "Ki", "Mi", "Gi")) if unit == "bytes" else (1000, ("", "k", "M", "G"))
    power = min(len(powers) - 1, max(0, int(math.log(abs(value), base)))) if value else 0
    after = {"bytes": "B", "Bps": "B/s", "ops": "/s", "rowsps": "/s", "s": "s"}.get(unit, "")
    return f"{value / base ** power:.3g} {powers[power]}{after}".strip()


def top_of(highest):
    """A round number that is not below the highest value, and the step of its lines."""
    if highest <= 0:
        return 1, 0.5
    step = 10 ** math.floor(math.log10(highest / 2))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if 4 * factor * step >= highest)
    return step * math.ceil(highest / step - 1e-9), step


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def draw_stat(panel, series, x, y, width, height):
    value = series[0][1][-1][1] if series else None
    defaults = panel["fieldConfig"]["defaults"]
    colour = COLOURS[0]
    for step in defaults["thresholds"]["steps"]:
        if value is not None and (step["value"] is None or value >= step["value"]):
            colour = step["color"]
    shown = "no data" if value is None else number(value, defaults["unit"])
    return [f'<text x="{x + width / 2:.0f}" y="{y + height / 2 + 24:.0f}" class="stat" text-anchor="middle" style="fill: {colour}">{escape(shown)}</text>']


def legend(names, x, y, width):
    """Lines of (x, y, number of the series), from the bottom up to y."""
    lines, at = [[]], x
    for i, name in enumerate(names):
        wide = 26 + 7 * len(name)
        if at + wide > x + width and lines[-1]:
            lines.append([])
            at = x
        lines[-1].append((at, i))
        at += wide
    return [(at, y - LEGEND_LINE * (len(lines) - 1 - row), i) for row, line in enumerate(lines) for at, i in line]


def draw_series(panel, series, x, y, width, height, start, end):
    defaults = panel["fieldConfig"]["defaults"]
    stacked = defaults["custom"]["stacking"]["mode"] == "normal"
    places = legend([name for name, _ in series], x + 12, y + height - 10, width - 24)
    top, bottom = y + 34, (min(at[1] for at in places) if places else y + height) - 34
    times = sorted({t for _, values in series for t, _ in values})
    heights, below = [], dict.fromkeys(times, 0.0)
    for _, values in series:
        base = dict(below) if stacked else dict.fromkeys(times, 0.0)
        line = [(t, base[t], base[t] + value) for t, value in values]
        below.update({t: high for t, _, high in line})
        heights.append(line)
    highest, step = top_of(max((high for line in heights for _, _, high in line), default=0))

    def across(t):
        return x + LEFT + (t - start) / (end - start) * (width - LEFT - RIGHT)

    def up(value):
        return bottom - value / highest * (bottom - top)
    out = []
    for i in range(round(highest / step) + 1):
        out.append(f'<path d="M{x + LEFT} {up(i * step):.1f}H{x + width - RIGHT}" class="rule"/>')
        out.append(text(x + LEFT - 6, up(i * step) + 4, number(i * step, defaults["unit"]), "dim", "end"))
    for second in range(0, int(end - start) + 1, 20):
        out.append(text(across(start + second), bottom + 15, f"{second} s", "dim", "middle"))
    for i, line in enumerate(heights):
        colour, dashes = COLOURS[i % len(COLOURS)], "" if i < len(COLOURS) else ' stroke-dasharray="5 3"'
        if stacked and not any(high > low for _, low, high in line):
            continue    # its edge would lie on that of another
        if stacked:
            edge = " ".join(f"{across(t):.1f},{up(high):.1f}" for t, _, high in line)
            back = " ".join(f"{across(t):.1f},{up(low):.1f}" for t, low, _ in reversed(line))
            out.append(f'<polygon points="{edge} {back}" class="area" fill="{colour}" stroke="{colour}"{dashes}/>')
        elif line:
            edge = " ".join(f"{across(t):.1f},{up(high):.1f}" for t, _, high in line)
            out.append(f'<polyline points="{edge}" class="line" stroke="{colour}"{dashes}/>')
    for at, height_of, i in places:
        out.append(f'<path d="M{at:.0f} {height_of - 4}h14" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="4"/>')
        out.append(text(at + 19, height_of, series[i][0]))
    return out


def draw(dashboard, data, start, end, note):
    """The SVG. data: {id of a panel: what data_of() returns}."""
    width = 24 * COLUMN + GAP
    height = HEAD + ROW * max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"]) + GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
           f"<title>{escape(dashboard['title'])}: the dashboard</title><style>{STYLE}</style>",
           f'<rect width="{width}" height="{height}" class="back"/>', text(16, 24, dashboard["title"], "head"), text(16, 44, note, "dim")]
    for panel in dashboard["panels"]:
        grid = panel["gridPos"]
        x, y = grid["x"] * COLUMN + GAP, HEAD + grid["y"] * ROW
        wide, tall = grid["w"] * COLUMN - GAP, grid["h"] * ROW - GAP
        out.append(f'<rect x="{x}" y="{y}" width="{wide}" height="{tall}" rx="4" class="panel"/>')
        out.append(text(x + 12, y + 19, panel["title"], "title"))
        if panel["type"] == "stat":
            out += draw_stat(panel, data[panel["id"]], x, y, wide, tall)
        else:
            out += draw_series(panel, data[panel["id"]], x, y, wide, tall, start, end)
    return "\n".join([*out, "</svg>"]) + "\n"
