#!/usr/bin/env python3
"""sqlsmith against foreign tables with exchanges: scripts/check_sqlsmith.py [QUERIES [SEED]]

20000 queries and seed 1 if not given. sqlsmith's queries make little sense, and many of them are errors. But none may crash a
server, and none may end in an internal error (SQLSTATE XX…) that the same query does not end in without exchanges. Prints TAP."""
import collections
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import harness  # noqa: E402
import report  # noqa: E402

SETTINGS = {"shared_buffers": "64MB", "autovacuum": "off", "jit": "off", "log_line_prefix": "%p %e "}
TIMEOUT = 7200  # seconds

SHARD = """
    CREATE EXTENSION pg_exchange;
    CREATE ROLE smith LOGIN;
    CREATE TABLE one AS SELECT i AS id, i % 10 AS a, i * 1000000007::bigint AS b, i / 7.0 AS c, 'word ' || i % 20 AS d, i % 3 = 0 AS e,
            date '2020-01-01' + i AS f, i / 3.0::float8 AS g, ARRAY[i, NULL] AS h, jsonb_build_object('i', i) AS j
        FROM generate_series(1, 500) i;
    CREATE TABLE two AS SELECT i AS id, md5(i::text)::uuid AS k, timestamptz '2020-01-01 00:00+00' + i * interval '1 hour' AS l,
            i * interval '1 hour' AS m, decode(md5(i::text), 'hex') AS n, ('x' || i)::varchar(10) AS o, inet '10.0.0.0' + i AS p,
            int4range(i, i + 5) AS q, nullif(i % 4, 0)::smallint AS r, xmlelement(name x, i) AS x
        FROM generate_series(1, 200) i;
    CREATE TABLE part_0 AS SELECT * FROM one WHERE id % 2 = 0;
    CREATE TABLE part_1 AS SELECT * FROM one WHERE id % 2 = 1;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO smith;
    ANALYZE;"""

# The coordinator's role is no superuser: functions that harm a server are out of its reach.
COORDINATOR = """
    CREATE ROLE smith LOGIN;
    ALTER ROLE smith SET statement_timeout = '2s';
    ALTER ROLE smith SET pg_exchange.slices = 2;
    CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{port}', dbname 'postgres', async_capable 'true');
    CREATE USER MAPPING FOR smith SERVER shard OPTIONS (user 'smith', password_required 'false');
    CREATE USER MAPPING FOR CURRENT_USER SERVER shard OPTIONS (user 'postgres');
    IMPORT FOREIGN SCHEMA public LIMIT TO (one, two) FROM SERVER shard INTO public;
    CREATE TABLE parts (LIKE one) PARTITION BY LIST ((id % 2));
    CREATE FOREIGN TABLE part_0 PARTITION OF parts FOR VALUES IN (0) SERVER shard;
    CREATE FOREIGN TABLE part_1 PARTITION OF parts FOR VALUES IN (1) SERVER shard;
    CREATE TABLE here AS SELECT i AS id, 'local ' || i AS d FROM generate_series(1, 50) i;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO smith;
    SET pg_exchange.enabled = off;
    ANALYZE;"""


def read_log(server):
    with open(server.log, encoding="utf-8", errors="replace") as log:
        return log.read()


def internal_errors(log):
    """{statement: first line of the error}, of those with SQLSTATE XX…."""
    found = {}
    for pid, message, rest in re.findall(r"^(\d+) XX\w{3} (?:ERROR|FATAL):  (.*)\n((?:(?!\1 \w{5} (?:ERROR|LOG|FATAL)).*\n)*)", log, re.M):
        statement = re.search(rf"^{pid} XX\w{{3}} STATEMENT:  ((?:.*\n)(?:\t.*\n)*)", rest, re.M)
        if statement:
            found[statement[1].replace("\n\t", "\n").strip()] = message
    return found


def ends_alike(coordinator, statement, message):
    """Does it end in the same error without exchanges?"""
    done = subprocess.run(["psql", "-X", "-q", "-h", coordinator.work, "-p", str(coordinator.port), "-U", "smith", "-d", "postgres"],
                          input=f"SET pg_exchange.enabled = off; BEGIN;\n{statement}\n;\nROLLBACK;", cwd=coordinator.work,
                          env=harness.environment(coordinator.work), capture_output=True, text=True, check=False,
                          **harness.as_server_user())
    return message in done.stderr


def main(work):
    count, seed = (sys.argv[1:] + ["20000", "1"][len(sys.argv) - 1:])[:2]
    subprocess.check_call([ROOT + "/scripts/install_deps.sh", "sqlsmith"])
    shard = harness.Server(work, "shard", {**SETTINGS, "log_statement": "all"})
    coordinator = harness.coordinator(work, SETTINGS)
    shard.sql(SHARD)
    coordinator.sql(COORDINATOR.format(port=shard.port))
    with open(work + "/sqlsmith.log", "w", encoding="utf-8") as log:
        done = subprocess.run(["sqlsmith", f"--target=host={work} port={coordinator.port} dbname=postgres user=smith",
                               "--exclude-catalog", f"--max-queries={count}", f"--seed={seed}"], cwd=work,
                              env=harness.environment(work), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                              check=False, timeout=TIMEOUT, **harness.as_server_user())
    log = read_log(coordinator)
    errors = collections.Counter(re.findall(r"^\d+ (\w{5}) ERROR: ", log, re.M))
    streams = len(re.findall(r"execute <unnamed>: SELECT exchange\.send", read_log(shard)))
    report.comment(f"{count} queries, {streams} streams; errors by SQLSTATE: " + ", ".join(f"{state} {n}" for state, n in errors.most_common()))
    for server in (coordinator, shard):
        crashes = re.findall(r".*(?:PANIC|was terminated by signal|TRAP: ).*", read_log(server))
        report.ok(not crashes, f"{server.name} has not crashed", "\n".join(crashes))
    # What went to the shard's log has come back as the coordinator's error.
    strange = {statement: message for statement, message in internal_errors(log).items() if not ends_alike(coordinator, statement, message)}
    report.ok(not strange, "there is no internal error but PostgreSQL's own",
              "\n".join(f"{message}\n{statement}" for statement, message in strange.items()))
    with open(work + "/sqlsmith.log", encoding="utf-8", errors="replace") as output:
        report.ok(done.returncode == 0, "sqlsmith ends by itself", output.read()[-2000:])
    report.ok(streams * 20 > int(count), "one query in twenty is a stream", f"{streams} streams")
    return report.done()


sys.exit(harness.main(main))
