#!/usr/bin/env python3
"""make bench-auto: is mode auto as good as the best fixed mode, whatever the data and the link?

Five kinds of data, over a link between two network namespaces (bench/netns.py; needs root) that is
unshaped, or shaped by tbf to 1 Gbit/s, 200 and 50 Mbit/s: in every mode, by postgres_fdw (fetch_size
10000), and by postgres_fdw through a tunnel that compresses with zstd -1 (bench/tunnel.py). All in
turns; medians. Each scan is made by a fresh backend that has connected before, so that auto knows
nothing of the link; and by one of a coordinator that has preloaded pg_exchange ("auto, shared"), so that
it knows what others have measured. Where the CPUs are what holds it up, scans differ by a tenth from one to the next:
there, a run of an exchange is the mean of several scans. Writes bench/report/auto.csv (of all scans),
auto.md and auto.svg (where matplotlib is to be had).

Exit status 1 if in any cell auto takes more than 1.10 times as long as the best fixed mode or 1.05
times as long as none, or auto, shared more than 1.03 times as long as the best fixed mode where the link is
slow, or any mode longer than postgres_fdw, or if auto is less than 1.8 times as fast
as the tunnel for lineitem on a shaped link. What is lost is printed as plainly as what is won."""
import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import time

import cluster
from harness import ROOT, Failure, Server, Session, exchange_nodes, load_tpch, main, plot, python_with
from netns import connect, namespaces, shape, why_not

LINKS = {"unshaped": None, "1 Gbit/s": 1000, "200 Mbit/s": 200, "50 Mbit/s": 50}
SCANS = {"unshaped": 8, "1 Gbit/s": 3}   # in a run of an exchange; else 1
FIXED = ("none", "fast", "high_compression")
SHARED = "auto, shared"   # by a coordinator whose sessions share what they have measured
SLOW = ("200 Mbit/s", "50 Mbit/s")
EXCHANGE = (*FIXED, "auto", SHARED)
TUNNEL = "zstd tunnel"
MODES = (*EXCHANGE, "postgres_fdw", TUNNEL)

# What is read: SQL over TPC-H at scale 0.25, and rows by link: half a second at least for the
# quickest mode, seconds for postgres_fdw.
DATA = {
    "lineitem": ("SELECT * FROM lineitem", (1500000, 1500000, 600000, 200000)),
    "customer text": ("SELECT c_name, c_address, c_phone, c_mktsegment, c_comment FROM customer, generate_series(1, 32) copy ORDER BY copy, c_custkey",
                      (1200000, 1000000, 300000, 90000)),
    "JSON documents": ("""SELECT l_orderkey AS id, json_build_object('order', l_orderkey, 'line', l_linenumber, 'status', l_linestatus,
        'quantity', l_quantity, 'price', l_extendedprice, 'shipped', l_shipdate, 'by', trim(l_shipmode), 'instructions', trim(l_shipinstruct),
        'notes', json_build_array(l_comment, reverse(l_comment))) AS document FROM lineitem""", (900000, 600000, 300000, 120000)),
    "random bytes": ("""SELECT i, (SELECT string_agg(decode(md5(i || ' ' || k), 'hex'), '') FROM generate_series(1, 64) k) AS bytes
        FROM generate_series(1, 300000) i""", (300000, 80000, 20000, 5000)),
    "UUIDs": ("SELECT md5('a' || i)::uuid AS id, md5('b' || i)::uuid AS parent FROM generate_series(1, 4000000) i",
              (4000000, 2000000, 400000, 100000)),
}


def table(data, link):
    return f"{data.split()[0].lower()}_{list(LINKS).index(link)}"


def tunnel_end(work, namespace, end, listen, target):
    """Start one end of the tunnel in a namespace; it ends with this script."""
    command = [python_with("zstandard"), os.path.join(ROOT, "bench", "tunnel.py"), end, *map(str, (*listen, *target))]
    child = subprocess.Popen(namespace.command("setpriv", "--pdeathsig", "KILL", *command), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, cwd=work, start_new_session=True)
    if child.stdout.readline() != b"listening\n":
        raise Failure(f"the tunnel's {end} end does not start")
    return child


def set_up(work, options, here, there):
    """The coordinators, by whether they share: foreign tables stand in schema direct, and in schema tunnel."""
    settings = {**cluster.SETTINGS, "shared_buffers": "512MB", "listen_addresses": "*"}
    near, far = connect(here, there, 1)
    for namespace in (here, there):   # what was learned of the link before it was changed is no use
        namespace.run("sysctl", "-q", "-w", "net.ipv4.tcp_no_metrics_save=1")
    shard = Server(work, "shard", settings, there)
    with open(os.path.join(shard.data, "pg_hba.conf"), "a", encoding="utf-8") as hba:
        hba.write("host all all 10.99.0.0/16 trust\n")
    print("loading", flush=True)
    load_tpch(shard, 0.25, ("lineitem", "customer"))
    shard.sql("SELECT pg_reload_conf(); CREATE SCHEMA data; CREATE EXTENSION pg_exchange;")
    for data in options.data:
        query, sizes = DATA[data]
        for link, rows in zip(LINKS, sizes):
            if link in options.links:
                shard.sql(f"CREATE TABLE data.{table(data, link)} AS {query} LIMIT {max(int(rows * options.size), 1)}")
    shard.sql("VACUUM (FREEZE, ANALYZE); CHECKPOINT;")

    coordinators = [Server(work, name, {**settings, f"{preload}_preload_libraries": "pg_exchange"}, here)
                    for name, preload in (("coordinator", "session"), ("sharing", "shared"))]
    tunnel_port = 5999
    if TUNNEL in options.modes:
        tunnel_end(work, there, "far", (far, tunnel_port), ("127.0.0.1", shard.port))
        tunnel_end(work, here, "near", ("127.0.0.1", tunnel_port), (far, tunnel_port))
    for coordinator in coordinators:
        coordinator.sql("CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange;")
        cluster.add_server(coordinator, "direct", shard, host=far)
        coordinator.sql(f"""CREATE SERVER tunnel FOREIGN DATA WRAPPER postgres_fdw
                OPTIONS (host '127.0.0.1', port '{tunnel_port}', dbname 'postgres', fetch_size '10000');
            CREATE USER MAPPING FOR CURRENT_USER SERVER tunnel OPTIONS (user 'postgres');""")
        for schema in ("direct", "tunnel") if TUNNEL in options.modes else ("direct",):
            coordinator.sql(f"CREATE SCHEMA {schema}; IMPORT FOREIGN SCHEMA data FROM SERVER {schema} INTO {schema};")
    return coordinators


def received(here):
    """Bytes that have come in over the link, packet headers included."""
    return sum(int(line.split(":")[1].split()[0]) for line in here.run("cat", "/proc/net/dev").splitlines() if "link" in line)


def scan(coordinators, here, number, data, link, mode):
    """One scan of a run in a fresh backend that has connected before."""
    coordinator = coordinators[mode == SHARED]
    name = f"{'tunnel' if mode == TUNNEL else 'direct'}.{table(data, link)}"
    with Session(coordinator) as session:
        session.run("SET pg_exchange.min_bytes = 0;" +
                    (f"SET pg_exchange.compression = {mode.split(',')[0]};" if mode in EXCHANGE else "SET pg_exchange.enabled = off;"))
        session.run(f"SELECT 1 FROM {name} LIMIT 1")
        before = received(here)
        seconds, plan = session.explain(f"SELECT * FROM {name}")
        nbytes = received(here) - before
    nodes = exchange_nodes(plan)
    if len([node for node in nodes if str(node["Transport"]).startswith("exchange")]) != (mode in EXCHANGE):
        raise Failure(f"{data}, {link}, {mode}: {nodes}")
    chosen = {}
    if mode in ("auto", SHARED):
        chosen = {what: nodes[0][f"{what} Batches"] for what in ("Plain", "Encoded", "LZ4", "Zstd")}
    return {"run": number, "data": data, "link": link, "mode": mode, "seconds": round(seconds, 4), "mbytes": round(nbytes / 1e6, 3),
            "rows": int(plan["Actual Rows"]),
            "choices": " ".join(f"{what.lower()}:{count}" for what, count in chosen.items()),
            "link_mbit": nodes[0]["Link Rate (Mbit/s)"] if mode in ("auto", SHARED) else ""}


def cell(scans, data, link, mode):
    return [scan for scan in scans if (scan["data"], scan["link"], scan["mode"]) == (data, link, mode)]


def median(scans, data, link, mode):
    """Seconds: the median of the runs' means."""
    runs = {}
    for one in cell(scans, data, link, mode):
        runs.setdefault(one["run"], []).append(one["seconds"])
    return statistics.median(map(statistics.mean, runs.values()))


def judge(options, scans):
    """The goals: (text, whether it is met) for each cell and goal."""
    verdicts = []
    fixed = [mode for mode in FIXED if mode in options.modes]

    def verdict(where, text, value, limit, at_least=False):
        met = value >= limit if at_least else value <= limit
        verdicts.append((f"{where}: {text} {value:.2f} ({'at least' if at_least else 'at most'} {limit:.2f})", met))
    for data in options.data:
        for link in options.links:
            times = {mode: median(scans, data, link, mode) for mode in options.modes}
            best = min(fixed, key=times.get)
            where = f"{data}, {link}"
            verdict(where, f"auto / {best}, the best fixed mode", times["auto"] / times[best], 1.10)
            verdict(where, "auto / none", times["auto"] / times["none"], 1.05)
            if SHARED in times and link in SLOW:
                verdict(where, f"{SHARED} / {best}", times[SHARED] / times[best], 1.03)
            for mode in [mode for mode in EXCHANGE if mode in times and "postgres_fdw" in times]:
                verdict(where, f"{mode} / postgres_fdw", times[mode] / times["postgres_fdw"], 1.0)
            if data == "lineitem" and link != "unshaped" and TUNNEL in times:
                verdict(where, "zstd tunnel / auto", times[TUNNEL] / times["auto"], 1.8, at_least=True)
    return verdicts


def report(options, scans, version):
    several = [f"{count} scans ({link})" for link, count in SCANS.items() if link in options.links]
    lines = ["# Mode auto", "",
             f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores for both servers, {version.split(' on ')[0]}. Medians of {options.runs} "
             "interleaved runs; seconds of `EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM table` at the client, in fresh backends. " +
             (f"A run of an exchange is the mean of {' or '.join(several)}. " if several else "") +
             "Bold is the fastest; what auto chose is counted in batches of one scan. Tables differ in size by link: compare within a row.", "",
             "| data | link | rows | " + " | ".join(options.modes) + " | auto chose | auto / best fixed | auto, shared / best fixed |",
             "|---|---|--:|" + "--:|" * len(options.modes) + "---|--:|--:|"]
    for data in options.data:
        for link in options.links:
            times = {mode: median(scans, data, link, mode) for mode in options.modes}
            least = min(times.values())
            texts = [f"**{times[mode]:.2f}**" if times[mode] == least else f"{times[mode]:.2f}" for mode in options.modes]
            last = cell(scans, data, link, "auto")[-1]
            chosen = ", ".join(word.replace(":", " ") for word in last["choices"].split() if not word.endswith(":0"))
            best = min(times[mode] for mode in FIXED if mode in times)
            lines.append(f"| {data} | {link} | {last['rows']:,} | {' | '.join(texts)} | {chosen} | {times['auto'] / best:.2f} | "
                         + (f"{times[SHARED] / best:.2f} |" if SHARED in times else "|"))
    verdicts = judge(options, scans)
    missed = [text for text, met in verdicts if not met]
    lines += ["", f"Goals: {len(verdicts) - len(missed)} of {len(verdicts)} met" + ("." if not missed else "; missed:"), ""]
    lines += [f"- **missed** {text}" for text in missed]
    return lines, missed


def write(options, scans):
    os.makedirs(options.output, exist_ok=True)
    with open(os.path.join(options.output, "auto.csv"), "w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, scans[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(scans)


def take_turns(options):
    """(number of the run, link, data, mode) of each scan, modes in another order each time."""
    for number in range(options.runs):
        for link in options.links:
            for data in options.data:
                for turn in range(SCANS.get(link, 1)):
                    shift = (number + turn) % len(options.modes)
                    for mode in options.modes[shift:] + options.modes[:shift]:
                        if turn == 0 or mode in EXCHANGE:
                            yield number, link, data, mode


def bench(options, work):
    reason = why_not()
    if reason:
        raise Failure(f"cannot measure: {reason}")
    with namespaces(2) as (here, there):
        coordinators = set_up(work, options, here, there)
        scans, turns, started = [], list(take_turns(options)), time.monotonic()
        shaped = None
        for number, link, data, mode in turns:
            if link != shaped:
                if scans:
                    write(options, scans)
                shape(here, there, 1, LINKS[link])
                shaped = link
                # Another server, as far as anybody knows; and one scan by which the others know it.
                coordinators[True].sql(f"ALTER SERVER direct OPTIONS (SET fetch_size '{10000 + len(scans)}')")
                if SHARED in options.modes:
                    scan(coordinators, here, number, options.data[0], link, SHARED)
            one = scan(coordinators, here, number, data, link, mode)
            scans.append(one)
            print(f"[{len(scans)}/{len(turns)}] {time.monotonic() - started:4.0f} s  {link}, {data}, {mode}: {one['seconds']:.2f} s, "
                  f"{one['mbytes']:.1f} MB {one['choices']} {one['link_mbit']}", flush=True)
        write(options, scans)
        version = coordinators[False].sql("SELECT version()")
    lines, missed = report(options, scans, version)
    with open(os.path.join(options.output, "auto.md"), "w", encoding="utf-8") as target:
        target.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    plot(options.output)
    print(f"\nwritten: {options.output}/auto.md, auto.csv, auto.svg")
    return 1 if missed else 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--runs", type=int, default=5, help="runs of each cell (5)")
parser.add_argument("--size", type=float, default=1.0, help="size of the tables, in parts of the usual (1)")
parser.add_argument("--links", default=",".join(LINKS), help=f"of {', '.join(LINKS)}")
parser.add_argument("--data", default=",".join(DATA), help=f"of {', '.join(DATA)}")
parser.add_argument("--modes", default=",".join(MODES), help=f"of {', '.join(MODES)}; none, fast and auto at least")
parser.add_argument("--output", default=os.path.join(ROOT, "bench", "report"), help="folder for the report")
arguments = parser.parse_args()
arguments.links, arguments.data, arguments.modes = (re.split(",(?! )", text) for text in (arguments.links, arguments.data, arguments.modes))
sys.exit(main(lambda work: bench(arguments, work)))
