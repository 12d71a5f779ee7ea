#!/usr/bin/env python3
"""Pictures of real EXPLAINs by scripts/exchange-graph: each is well-formed XML
that names each server and the bytes that went, and no text lies on another.

    scripts/check_graph.py            test
    scripts/check_graph.py --write    write the pictures of the documentation,
                                      doc/images (make pictures)

Four shards are databases of one server, whose connections are compressed as
those to another host would be.  Prints TAP."""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import harness  # noqa: E402
import report  # noqa: E402

PROGRAM = os.path.join(ROOT, "scripts", "exchange-graph")
IMAGES = os.path.join(ROOT, "doc", "images")
SHARDS = 4
SVG = "{http://www.w3.org/2000/svg}"
ROWS = 20000    # of a shard

BROADCAST = """SELECT p_brand, sum(l_extendedprice) FROM lineitem JOIN part ON p_partkey = l_partkey
    WHERE p_size < 10 GROUP BY p_brand"""
HASH_JOIN = "SET enable_mergejoin = off; SET enable_nestloop = off; SET pg_exchange.lookup_joins = off"
LOOKUP = "SET enable_mergejoin = off; SET enable_hashjoin = off; SET pg_exchange.runtime_filters = off"
SELECTIVE = "SELECT l_extendedprice, p_brand FROM lineitem JOIN part ON p_partkey = l_partkey WHERE p_size < 3"
# name: pg_exchange.join_exchange, other settings, query, what the picture must say
QUERIES = {
    "a broadcast": ("broadcast", "", BROADCAST, ["Broadcast", "part", "skew", "read sides"]),
    "a broadcast of another shard's rows": ("broadcast", "", "SELECT s_name, count(*) FROM lineitem JOIN supplier ON s_suppkey = l_suppkey GROUP BY s_name",
                                            ["Broadcast", "supplier"]),
    "a broadcast that is not sent": ("broadcast", f"SET plan_cache_mode = force_generic_plan; PREPARE p AS {BROADCAST}; EXECUTE p; SET pg_exchange.enabled = off",
                                     "EXECUTE p", ["Broadcast", "not sent:", "pg_exchange.enabled is off"]),
    "a gather": ("off", "", "SELECT l_partkey, l_extendedprice FROM lineitem", ["Gather", "skew"]),
    "a merge": ("off", "", "SELECT l_orderkey FROM lineitem ORDER BY l_partkey", ["Merge"]),
    "a plain scan": ("off", "", "SELECT * FROM supplier", ["supplier"]),
    "a runtime filter": ("off", HASH_JOIN, SELECTIVE, ["filter:", "rows not sent"]),
    "a lookup": ("off", LOOKUP, SELECTIVE, ["Lookup", "160 keys"]),
    "two exchanges": ("off", HASH_JOIN, "SELECT count(*) FROM (SELECT l_orderkey, s_name FROM lineitem JOIN supplier ON s_suppkey = l_suppkey OFFSET 0) x",
                      ["Gather", "supplier", "2 exchanges"]),
}


# Pictures of the documentation, and what their files are called
KEPT = {"a broadcast": "broadcast", "a gather": "gather"}


def cluster(work):
    """The coordinator, with lineitem over four shards, supplier on one and part here."""
    shards = harness.Server(work, "shards", {})
    coordinator = harness.coordinator(work, {})
    coordinator.sql("CREATE TABLE lineitem (l_orderkey int, l_partkey int, l_suppkey int, l_extendedprice numeric) PARTITION BY RANGE (l_orderkey);"
                    "CREATE TABLE part AS SELECT i AS p_partkey, 'Brand#' || i % 25 AS p_brand, 1 + i % 50 AS p_size,"
                    " 'note ' || i AS p_note FROM generate_series(1, 4000) i")
    for number in range(1, SHARDS + 1):
        name, rows = f"shard{number}", ROWS * (2 if number == SHARDS else 1)
        shards.sql(f"CREATE DATABASE {name}")
        shards.sql(f"CREATE EXTENSION pg_exchange; CREATE TABLE lineitem AS SELECT i + {number * 1000000} AS l_orderkey, 1 + i % 4000 AS l_partkey,"
                   f" 1 + i % 100 AS l_suppkey, (i % 90000) / 100.0 AS l_extendedprice FROM generate_series(1, {rows}) i;"
                   "CREATE TABLE supplier AS SELECT i AS s_suppkey, 'Supplier ' || i AS s_name FROM generate_series(1, 100) i; ANALYZE", name)
        coordinator.sql(f"CREATE SERVER {name} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{shards.port}', dbname '{name}');"
                        f"CREATE USER MAPPING FOR CURRENT_USER SERVER {name};"
                        f"CREATE FOREIGN TABLE lineitem_{number} PARTITION OF lineitem FOR VALUES FROM ({number * 1000000}) TO ({(number + 1) * 1000000})"
                        f" SERVER {name} OPTIONS (table_name 'lineitem')")
    coordinator.sql("CREATE FOREIGN TABLE supplier (s_suppkey int, s_name text) SERVER shard2; ANALYZE")
    return coordinator


def explain(coordinator, name, options="ANALYZE, VERBOSE, FORMAT JSON"):
    join_exchange, settings, query, _ = QUERIES[name]
    with harness.Session(coordinator) as session:
        session.run(f"SET pg_exchange.join_exchange = {join_exchange}; {settings}")
        return session.run(f"EXPLAIN ({options}) {query}")


def draw(text, *arguments):
    """The program's output and errors, for this input."""
    done = subprocess.run([sys.executable, PROGRAM, *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.stdout, done.stderr


def nodes_of(plan):
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes_of(child))]


# ---------------------------------------------------------------------
# What a picture shows
# ---------------------------------------------------------------------

def texts_of(svg):
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def width_of(element):
    """Of a text, as DejaVu Sans at 12 pixels has it, which is wider than other fonts."""
    widths = {"m": 11.7, "w": 9.8, "M": 10.4, "W": 11.9, "i": 3.4, "l": 3.4, "j": 3.4, "t": 4.8, "f": 4.3, "r": 5, " ": 3.9, ".": 3.9, ",": 3.9, "'": 3.3,
              "(": 4.7, ")": 4.7, ":": 4.1, "_": 6, "=": 10.1, "\u2248": 10.1}
    plain = sum(widths.get(c, 10.8 if ord(c) > 0x2000 else 8.3 if c.isupper() else 7.7) for c in element.text or "")
    return plain * (1.1 if "head" in element.get("class") else 1)


def area_of(element):
    """Left, top, right and bottom of a text."""
    x, y, width = float(element.get("x")), float(element.get("y")), width_of(element)
    left = x - width / 2 if element.get("text-anchor") == "middle" else x
    return left, y - 9, left + width, y + 2


def faults_of(svg):
    """Texts that lie on one another, beside the picture, or cross the edge of a box; boxes that lie on one another."""
    root = ElementTree.fromstring(svg)
    width, height = map(float, root.get("viewBox").split()[2:])
    texts = [(element.text or "", area_of(element)) for element in root.iter(f"{SVG}text")]
    boxes = [tuple(float(rect.get(key)) for key in ("x", "y", "width", "height")) for rect in root.iter(f"{SVG}rect") if rect.get("x")]
    found = [f"{text!r} is beside the picture" for text, (left, top, right, bottom) in texts if left < 0 or top < 0 or right > width or bottom > height]
    for i, (text, (left, top, right, bottom)) in enumerate(texts):
        found += [f"{text!r} lies on {other!r}" for other, area in texts[:i]
                  if left < area[2] and area[0] < right and top < area[3] and area[1] < bottom]
        found += [f"{text!r} crosses the edge of a box" for x, y, wide, tall in boxes
                  if top < y + tall and y < bottom and (left < x < right or left < x + wide < right)]
    found += [f"box {box} lies on {other}" for i, box in enumerate(boxes) for other in boxes[:i]
              if box[0] < other[0] + other[2] and other[0] < box[0] + box[2] and box[1] < other[1] + other[3] and other[1] < box[1] + box[3]]
    return found


def check_picture(name, text, words=()):
    """The picture of an EXPLAIN (ANALYZE): servers, bytes, and that it can be read."""
    svg, errors = draw(text)
    if not report.ok(svg, f"there is a picture of {name}", errors):
        return None
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as fault:
        report.ok(False, f"the picture of {name} is well-formed", fault)
        return None
    shown = texts_of(svg)
    exact = " ".join(element.text for element in root.iter(f"{SVG}title"))
    plan = json.loads(text)[0]["Plan"]
    servers = {node["Server"] for node in nodes_of(plan) if "Server" in node}
    report.ok(servers and servers <= set(shown), f"the picture of {name} has all servers", f"{servers} not all in {shown}")
    figures = [node["Wire Bytes"] for node in nodes_of(plan) if "Wire Bytes" in node]
    figures += [sent["Sent Bytes"] for node in nodes_of(plan) for sent in node.get("Sent", [])]
    missing = [figure for figure in figures if not re.search(rf"\b{figure} bytes", exact)]
    report.ok(not missing, f"the picture of {name} has all numbers of bytes", f"{missing} not in {exact}")
    lacking = [word for word in words if not any(word in line for line in shown)]
    report.ok(not lacking, f"the picture of {name} says what it is", f"{lacking} not in {shown}")
    report.ok(not faults_of(svg), f"no text of the picture of {name} lies on another", faults_of(svg))
    return svg


# ---------------------------------------------------------------------
# Plans that four shards do not have
# ---------------------------------------------------------------------

def with_fragments(text, n):
    """A plan of a broadcast, with n fragments on n servers, whose names are long and have characters that XML escapes."""
    plan = json.loads(text)
    node = next(node for node in nodes_of(plan[0]["Plan"]) if node.get("Exchange Type") == "Broadcast")
    receive, sent = node["Plans"][0]["Plans"][0], node["Sent"][0]
    names = ["server_" + "of_the_<west>_&_" * (i % 5) + str(i) for i in range(n)]
    node["Plans"][0]["Plans"] = [{**receive, "Server": name, "Wire Bytes": 10 ** (i % 12)} for i, name in enumerate(names)]
    node["Sent"] = [{**sent, "Server": name, "Sent Bytes": 7 * 10 ** (i % 11), "Sent Rows": 10 ** (i % 12)} for i, name in enumerate(names)]
    return json.dumps(plan)


def as_hash_partition(text):
    """The plan of a broadcast as that of a hash partition."""
    plan = json.loads(text)
    node = next(node for node in nodes_of(plan[0]["Plan"]) if node.get("Exchange Type") == "Broadcast")
    servers = [sent["Server"] for sent in node["Sent"]]
    node.update({"Exchange Type": "HashPartition", "Skew": 1.03, "Partition Time": 12.5, "Fill Time": 3.25, "Sources": [
        {"Server": server, "Relation": relation, "Rows": 1000 + i, "Bytes": 4321 + i} for i, server in enumerate(servers) for relation in ("orders", "lineitem")]})
    node["Plans"] = node["Plans"][:1]
    return json.dumps(plan)


def check_sizes(text):
    faults = {}
    for n in range(1, 17):
        svg, errors = draw(with_fragments(text, n))
        names = texts_of(svg) if svg else []
        faults[n] = faults_of(svg) if svg else [errors]
        faults[n] += [] if sum(name.startswith("server_") for name in names) == n else ["servers are missing"]
    report.ok(not any(faults.values()), "1 to 16 servers can be read", {n: faults[n][:3] for n in faults if faults[n]})


def check_many(text):
    """More fragments than there is room for: those of a server are one box."""
    plan = json.loads(text)
    node = next(node for node in nodes_of(plan[0]["Plan"]) if node.get("Exchange Type") == "Broadcast")
    node["Plans"][0]["Plans"] *= 8
    node["Sent"] *= 8
    svg, errors = draw(json.dumps(plan))
    if not report.ok(svg, "there is a picture of many fragments", errors):
        return
    shown = texts_of(svg)
    exact = " ".join(element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}title"))
    sums = [8 * sent["Sent Bytes"] for sent in node["Sent"]]
    report.ok(shown.count("8 tables") == SHARDS and all(f"{figure} bytes" in exact for figure in sums),
              "many fragments of a server are one box, with the sum of their bytes", f"{shown} {exact}")


def check_inputs(coordinator, text):
    """What else the program takes, and refuses."""
    framed = "                QUERY PLAN\n------------------\n" + " +\n".join(text.splitlines()) + "\n(1 row)\n"
    report.ok(draw(framed)[0] == draw(text)[0] != "", "psql's frame around the plan does no harm")
    plain = explain(coordinator, "a broadcast", "FORMAT JSON")
    svg, errors = draw(plain)
    report.ok(svg and not faults_of(svg) and "shard4" in svg, "a plan that was not run has a picture, too", errors)
    out, errors = draw(coordinator.sql("EXPLAIN (FORMAT JSON) SELECT count(*) FROM part"))
    report.ok(not out and "no exchange" in errors, "a plan without exchanges is refused", errors)
    out, errors = draw("no plan")
    report.ok(not out and "no JSON" in errors, "what is no plan is refused", errors)
    dsn = f"host=127.0.0.1 port={coordinator.port} user=postgres dbname=postgres"
    svg, errors = draw("", "--dsn", dsn, "--sql", "SELECT * FROM lineitem")
    report.ok("shard3" in svg and not faults_of(svg), "the program runs a query itself", errors)


def check(work):
    coordinator = cluster(work)
    pictures = {}
    for name, (_, _, _, words) in QUERIES.items():
        pictures[name] = check_picture(name, explain(coordinator, name), words)
    if pictures["two exchanges"]:
        texts = texts_of(pictures["two exchanges"])
        report.ok(texts.index("Receive") < texts.index("Gather"), "the side of a hash join that is read first is shown first", texts)
    if "--write" in sys.argv:
        os.makedirs(IMAGES, exist_ok=True)
        for name, kind in KEPT.items():
            with open(os.path.join(IMAGES, f"exchange-graph-{kind}.svg"), "w", encoding="utf-8") as file:
                file.write(pictures[name])
        return report.done()
    broadcast = explain(coordinator, "a broadcast")
    check_picture("a hash partition", as_hash_partition(broadcast), ["HashPartition", "orders", "skew 1.03", "partition 12.5 ms", "fill 3.2 ms"])
    check_sizes(broadcast)
    check_many(broadcast)
    check_inputs(coordinator, broadcast)
    return report.done()


sys.exit(harness.main(check))
