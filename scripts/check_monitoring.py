#!/usr/bin/env python3
"""Run the exporter with monitoring/queries.yaml over a coordinator that has scanned, and print TAP.

What it serves must agree with the views; the dashboard and the alerts must name no metric and no label that is not
served, and the dashboard leave none out; README.md must list them all. psql.sql must run. A Prometheus, if there is
one, must find each query of the dashboard right and each of its numbers there, and each alert must fire when it
should (alerts_test.yaml).

    scripts/check_monitoring.py --write    the picture of the dashboard in the documentation, of a load of LOAD_SECONDS

POSTGRES_EXPORTER and PROMETHEUS name other programs than those in PATH; promtool is looked for beside the latter."""
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import harness  # noqa: E402
import dashboard_picture as picture  # noqa: E402
import report  # noqa: E402

FOLDER = os.path.join(ROOT, "monitoring")
PROGRAM = os.environ.get("POSTGRES_EXPORTER") or shutil.which("prometheus-postgres-exporter")
PROMETHEUS = os.environ.get("PROMETHEUS") or shutil.which("prometheus")
START_SECONDS = 180     # on a busy machine
LOAD_SECONDS = 100
PICTURE = os.path.join(ROOT, "doc", "images", "dashboard.svg")


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


@contextlib.contextmanager
def exporter(work, server):
    """Yield the address of a running exporter's metrics."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    queries = os.path.join(work, "queries.yaml")
    shutil.copy(os.path.join(FOLDER, "queries.yaml"), queries)
    os.chmod(queries, 0o644)
    env = {**harness.environment(work),
           "DATA_SOURCE_NAME": f"postgresql://exporter@127.0.0.1:{server.port}/postgres?sslmode=disable"}
    with open(os.path.join(work, "exporter.log"), "w+", encoding="utf-8") as log:
        child = subprocess.Popen([PROGRAM, f"--web.listen-address=127.0.0.1:{port}", f"--extend.query-path={queries}",
                                  "--disable-default-metrics", "--disable-settings-metrics"],
                                 cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **harness.as_server_user())
        try:
            yield f"http://127.0.0.1:{port}/metrics"
        finally:
            child.terminate()
            child.wait(30)
            log.seek(0)
            for line in log:
                if re.search(r"level=(warn|error)", line):
                    print(f"# {line.rstrip()}", flush=True)


@contextlib.contextmanager
def prometheus(work, address):
    """Yield the address of a Prometheus that asks the exporter each second."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    target = address.split("/")[2]
    config = os.path.join(work, "prometheus.yml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f"global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n"
                   f"scrape_configs: [{{job_name: pg_exchange, static_configs: [{{targets: ['{target}']}}]}}]\n")
    os.chmod(config, 0o644)
    with open(os.path.join(work, "prometheus.log"), "w", encoding="utf-8") as log:
        child = subprocess.Popen([PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={work}/prometheus", f"--web.listen-address=127.0.0.1:{port}"],
                                 cwd=work, env=harness.environment(work), stdin=subprocess.DEVNULL, stdout=log, stderr=log, **harness.as_server_user())
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            child.terminate()
            child.wait(30)


def ask(address, query):
    """The answer of a Prometheus that may still be starting; [] then."""
    try:
        return picture.ask(address, "query", query=query)["result"]
    except (OSError, ValueError):
        return []


def scrape(address):
    """{metric: {labels as a sorted tuple: value}} of our metrics."""
    deadline = time.monotonic() + START_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            with opener.open(address, timeout=10) as answer:
                text = answer.read().decode()
            break
        except (urllib.error.URLError, ConnectionError, TimeoutError) as failure:
            if time.monotonic() > deadline:
                raise harness.Failure(f"the exporter does not answer: {failure}") from None
            time.sleep(0.2)
    found = {}
    for name, labels, value in re.findall(r"^(pg_exchange_\w+)\{(.*)\} (\S+)$", text, re.M):
        pairs = tuple(sorted(pair for pair in re.findall(r'(\w+)="([^"]*)"', labels) if pair[0] != "server"))
        found.setdefault(name, {})[pairs] = float(value)
    return found


def labels_of(series):
    return {key for labels in series for key, _ in labels}


def prepare(coordinator, shard):
    """Scans in two modes, one that falls back, one that fails, one that is refused a connection, and a join on the shard."""
    shard.sql("CREATE EXTENSION pg_exchange; CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 50000) i;"
              "CREATE TABLE written (id int, name text); CREATE VIEW broken AS SELECT id, 1 / (40000 - id) AS q FROM events; CREATE DATABASE bare; ANALYZE")
    coordinator.sql(f"""CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange; CREATE ROLE exporter LOGIN IN ROLE pg_monitor;
        CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{shard.port}', dbname 'postgres');
        CREATE SERVER bare FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{shard.port}', dbname 'bare');
        CREATE USER MAPPING FOR CURRENT_USER SERVER shard; CREATE USER MAPPING FOR CURRENT_USER SERVER bare;
        CREATE FOREIGN TABLE written (id int, name text) SERVER shard;
        CREATE FOREIGN TABLE events (id int, name text) SERVER shard; CREATE FOREIGN TABLE broken (id int, q int) SERVER shard;
        CREATE FOREIGN TABLE databases (datname name) SERVER bare OPTIONS (schema_name 'pg_catalog', table_name 'pg_database')""")
    scan(coordinator, "fast")
    scan(coordinator, "high_compression")
    coordinator.sql("SELECT count(*) FROM databases WHERE random() < 2")
    with contextlib.suppress(harness.Failure):
        coordinator.sql("SELECT sum(q) FROM broken WHERE random() < 2")
    coordinator.sql("SET pg_exchange.slices = 2; SET pg_exchange.max_connections_per_backend = 1;"
                    "SELECT count(name), sum(id) FROM events WHERE random() < 2")
    coordinator.sql("INSERT INTO written SELECT i, 'row ' || i FROM generate_series(1, 1000) i")
    coordinator.sql("WITH w AS (INSERT INTO written SELECT i, 'row ' || i FROM generate_series(1, 1000) i RETURNING id) SELECT count(*) FROM w")
    coordinator.sql("SET pg_exchange.join_exchange = broadcast; CREATE TABLE kinds AS SELECT generate_series(1, 5) AS id;"
                    "SELECT k.id, count(*) FROM events e JOIN kinds k ON k.id = e.id GROUP BY 1")


def scan(coordinator, mode):
    coordinator.sql(f"SET pg_exchange.compression = {mode}; SELECT count(name), sum(id) FROM events WHERE random() < 2")


def check_values(metrics, coordinator):
    """What is served is what the views say."""
    def total(name, **labels):
        return sum(value for pairs, value in metrics.get(name, {}).items() if set(labels.items()) <= set(pairs))
    columns = {"scans": "scans", "streams": "streams", "sessions": "sessions", "errors": "errors", "rows": "rows", "batches": "batches",
               "plain_batches": "batches_plain", "raw_bytes": "raw_bytes", "connections_refused": "connections_refused",
               "writes": "writes", "write_fallbacks": "write_fallbacks", "sent_rows": "rows_sent", "sent_bytes": "bytes_sent"}
    expected = {(f"pg_exchange_{metric}_total", ()): column for metric, column in columns.items()}
    for locality in ("local", "remote"):
        for codec in ("none", "lz4", "zstd"):
            expected["pg_exchange_wire_bytes_total", (("codec", codec), ("locality", locality))] = f"{locality}_bytes_{codec}"
    for reason in ("disabled", "no_extension", "incompatible", "connection", "snapshot", "own_writes", "declined"):
        expected["pg_exchange_fallbacks_total", (("reason", reason),)] = f"fallbacks_{reason}"
    for kind, column in (("filtered_scan", "filtered_scans"), ("lookup", "lookups"), ("semi_join", "semi_joins"), ("broadcast", "broadcasts"),
                         ("hash_partition", "hash_partitions"), ("not_sent", "joins_not_sent")):
        expected["pg_exchange_joins_total", (("kind", kind),)] = column
    for kind, column in (("broadcast", "broadcast_bytes"), ("hash_partition", "partition_bytes")):
        expected["pg_exchange_joins_sent_bytes_total", (("kind", kind),)] = column
    answer = coordinator.sql(f"SELECT {', '.join(f'sum({column})' for column in expected.values())} FROM exchange.pg_stat_exchange")
    for ((name, labels), column), value in zip(expected.items(), answer.split("|")):
        got = total(name, **dict(labels))
        report.ok(got == float(value), f"{name}{dict(labels) or ''} is the view's {column}", f"got {got}, expected {value}")
    for part in ("encode", "send_wait", "receive_wait", "decode"):
        ms = float(coordinator.sql(f"SELECT sum({part}_time) FROM exchange.pg_stat_exchange"))
        got = total("pg_exchange_time_seconds_total", part=part)
        report.ok(ms > 0 and abs(got - ms / 1000) < 1e-6, f"pg_exchange_time_seconds_total of {part} is the view's", f"got {got} s, expected {ms} ms")
    for name, labels, least in (("scans", {"srvname": "shard"}, 3), ("errors", {"srvname": "shard"}, 1),
                                ("fallbacks", {"srvname": "bare", "reason": "no_extension"}, 1),
                                ("connections_refused", {"srvname": "shard"}, 1),
                                ("writes", {"srvname": "shard"}, 1), ("write_fallbacks", {"srvname": "shard"}, 1),
                                ("sent_rows", {"srvname": "shard"}, 1000), ("sent_bytes", {"srvname": "shard"}, 1000),
                                ("joins", {"srvname": "shard", "kind": "broadcast"}, 1),
                                ("joins_sent_bytes", {"srvname": "shard", "kind": "broadcast"}, 100),
                                ("wire_bytes", {"codec": "lz4", "locality": "local"}, 1000),
                                ("wire_bytes", {"codec": "zstd", "locality": "local"}, 1000)):
        got = total(f"pg_exchange_{name}_total", **labels)
        report.ok(got >= least, f"there are {name} of {labels}", f"got {got}, expected {least} or more")


def check_dashboard(metrics):
    dashboard = json.loads(read("grafana-dashboard.json"))
    ids = [panel["id"] for panel in dashboard["panels"]]
    report.ok(len(set(ids)) == len(ids), "each panel has an id of its own", ids)
    queries = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [(f"variable {variable['name']}", variable["query"]["query"]) for variable in dashboard["templating"]["list"]
                if variable["type"] == "query"]
    named = set()
    for title, query in queries:
        names = set(re.findall(r"\bpg_\w+", query))
        named |= names
        report.ok(names and names <= set(metrics), f"the metrics of the dashboard's \"{title}\" are served", f"not served: {names - set(metrics)}")
        wanted = set(re.findall(r"(\w+)=~", query)) | set(re.findall(r", (\w+)\)$", query))
        chosen = {"datname", "usename", "srvname"}
        served = [chosen & labels_of(metrics.get(name, {})) for name in names]
        if not title.startswith("variable"):
            selected = set(re.findall(r"(\w+)=~", query))
            report.ok(all(labels <= selected for labels in served), f"the dashboard's \"{title}\" is of the chosen database, user and server", f"of {selected}")
        for grouping in re.findall(r"\bby \(([^)]*)\)", query):
            wanted |= set(re.split(r", *", grouping))
        missing = {label for label in wanted - {"instance"} for name in names if label not in labels_of(metrics.get(name, {}))}
        report.ok(wanted and not missing, f"the labels of the dashboard's \"{title}\" are served", f"wanted {wanted}, not served: {missing}")
    report.ok(named == set(metrics), "the dashboard shows every metric", f"not shown: {set(metrics) - named}")


def check_alerts(metrics):
    text = read("alerts.yaml")
    names = set(re.findall(r"\bpg_exchange_\w+", text))
    report.ok(names and names <= set(metrics), "the metrics of the alerts are served", f"not served: {names - set(metrics)}")
    wanted = [(label, name) for labels, name in re.findall(r"\bby \(([^)]*)\) \((?:rate\()?(\w+)", text) for label in set(re.split(r", *", labels)) - {"instance"}]
    missing = [(label, name) for label, name in wanted if label not in labels_of(metrics.get(name, {}))]
    report.ok(wanted and not missing, "the labels of the alerts are served", f"not served: {missing}")
    alerts, tested = (set(re.findall(pattern, read(name))) for pattern, name in ((r"alert: (\w+)", "alerts.yaml"), (r"alertname: (\w+)", "alerts_test.yaml")))
    report.ok(alerts == tested, "each alert has a test", alerts ^ tested)


def check_rules():
    tool = os.path.join(os.path.dirname(PROMETHEUS), "promtool")
    for arguments in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        done = subprocess.run([tool, *arguments], cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        report.ok(done.returncode == 0, f"promtool {' '.join(arguments)}", done.stdout)


def wait_for_answer(address, query):
    """What Prometheus answers, or why not. A busy machine may miss a scrape: it has nothing to say then, until the next one."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            answers = picture.ask(address, "query", query=query)["result"]
        except ValueError as refused:
            return str(refused)
        if answers or time.monotonic() > deadline:
            return answers
        time.sleep(0.5)


def check_queries(address, coordinator):
    """A Prometheus answers each query of the dashboard."""
    def scans():
        return max((float(series["value"][1]) for series in ask(address, "sum(pg_exchange_scans_total)")), default=0)
    harness.wait_for(lambda: scans() > 0, True)
    before = scans()
    scan(coordinator, "fast")
    report.ok(harness.wait_for(lambda: scans() > before, True), "Prometheus sees the next scan")
    dashboard = json.loads(read("grafana-dashboard.json"))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            answers = wait_for_answer(address, picture.with_variables(target["expr"], __rate_interval="5m"))
            report.ok(isinstance(answers, list) and answers, f"Prometheus answers the dashboard's \"{panel['title']}\"", answers)
            if panel["type"] == "stat":
                report.ok(len(answers) == 1, f"\"{panel['title']}\" is one number", answers)


def run_load(coordinator):
    """What the picture shows: scans by several ways, a join, writes, errors, a server without the extension."""
    coordinator.sql("CREATE TABLE source AS SELECT i AS id, 'written ' || i AS name FROM generate_series(1, 5000) i")
    started = time.monotonic()
    turn = 0
    while (passed := time.monotonic() - started) < LOAD_SECONDS:
        scan(coordinator, "auto" if passed < LOAD_SECONDS / 3 else "high_compression" if passed < LOAD_SECONDS * 2 / 3 else "none")
        coordinator.sql("SET pg_exchange.join_exchange = broadcast; SELECT k.id, count(*) FROM events e JOIN kinds k ON k.id = e.id GROUP BY 1")
        if turn % 3 == 0:
            coordinator.sql("INSERT INTO written SELECT * FROM source")
            coordinator.sql("SELECT count(*) FROM databases WHERE random() < 2")
            coordinator.sql("SET pg_exchange.transport = session; SELECT count(name) FROM events WHERE random() < 2")
        if turn % 20 == 19:
            with contextlib.suppress(harness.Failure):
                coordinator.sql("SELECT sum(q) FROM broken WHERE random() < 2")
            coordinator.sql("SET pg_exchange.slices = 2; SET pg_exchange.max_connections_per_backend = 1; SELECT count(name) FROM events WHERE random() < 2")
        turn += 1
        time.sleep(0.2)


def write_picture(address, coordinator):
    harness.wait_for(lambda: bool(ask(address, "pg_exchange_scans_total")), True)
    start = time.time()
    run_load(coordinator)
    end = time.time()
    dashboard = json.loads(read("grafana-dashboard.json"))
    data = {panel["id"]: picture.data_of(address, panel, start, end, 1) for panel in dashboard["panels"]}
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(picture.draw(dashboard, data, start, end, f"grafana-dashboard.json with {end - start:.0f} seconds of a test load, drawn by"
                                " scripts/check_monitoring.py --write. First mode auto, then high_compression, then none."))


def check_readme(metrics):
    text, listed = read("README.md"), set()
    for names in re.findall(r"^\| (`pg_exchange_\w+`.*?) \|", text, re.M):
        listed |= {name if name.startswith("pg_") else "pg_exchange" + name for name in re.findall(r"`(\w+)`", names)}
    report.ok(listed == set(metrics), "README.md lists all metrics, and no others", f"differ: {listed ^ set(metrics)}")


def check(work):
    shard = harness.Server(work, "shard", {})
    coordinator = harness.Server(work, "coordinator", {"shared_preload_libraries": "pg_exchange", "pg_exchange.min_bytes": "0",
                                                       "pg_exchange.local_scope": "none"})
    prepare(coordinator, shard)
    with exporter(work, coordinator) as address:
        metrics = scrape(address)
        if "--write" in sys.argv:
            with prometheus(work, address) as asked:
                write_picture(asked, coordinator)
            return 0
        check_values(metrics, coordinator)
        check_dashboard(metrics)
        check_alerts(metrics)
        check_readme(metrics)
        scan(coordinator, "none")
        later = scrape(address)
        if PROMETHEUS:
            check_rules()
            with prometheus(work, address) as asked:
                check_queries(asked, coordinator)
        else:
            report.skip("a Prometheus answers the dashboard's queries", "prometheus is not installed, and apt-get cannot get it")
        for name in ("pg_exchange_scans_total", "pg_exchange_rows_total", "pg_exchange_wire_bytes_total"):
            before, after = sum(metrics[name].values()), sum(later[name].values())
            report.ok(after > before, f"{name} rises with the next scan", f"{before}, then {after}")
    try:
        out = coordinator.sql(read("psql.sql"))
        report.ok(len(re.findall(r"^(?:Servers|Bytes|Why|Joins|Writes|Streams|Connections|Open)", out, re.M)) == 8, "psql.sql runs", out)
    except harness.Failure as failure:
        report.ok(False, "psql.sql runs", failure)
    return report.done()


if PROGRAM is None:
    report.skip("the exporter serves what the views say", "prometheus-postgres-exporter is not installed, and apt-get cannot get it")
    sys.exit(report.done())
sys.exit(harness.main(check))
