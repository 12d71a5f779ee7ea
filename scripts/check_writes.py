#!/usr/bin/env python3
"""Random writes, as frames and by postgres_fdw: scripts/check_writes.py [CASES [SEED [FIRST]]]

2,000 cases and seed 1 if not given; CASES are made from number FIRST on, 0 if not given. Each case (scripts/write_cases.py) is a schema
and a script of statements, which runs twice: by postgres_fdw alone, and with writes as frames. What psql
prints must be equal: command tags, errors with all their fields, and a checksum of every table at the
shards after each statement. Prints TAP; the script of a case that fails is kept as a comment, and number and seed repeat it."""
import difflib
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))
import harness  # noqa: E402
import report  # noqa: E402
from write_cases import Case  # noqa: E402

SERVERS = {"shared_buffers": "64MB", "autovacuum": "off", "jit": "off", "fsync": "off", "full_page_writes": "off", "max_wal_size": "4GB"}
# Each piece leaves a line in the shard's log, with the statement that is applied.
SHARD = {**SERVERS, "log_statement": "all", "log_parameter_max_length": "300", "log_min_messages": "warning"}
TIMEOUT = "60s"
LINES_MAX = 30      # of a difference
SHOWN_MAX = 8       # cases whose difference is shown
LOOK = """CREATE FUNCTION c.look() RETURNS TABLE (shard int, name text, state text) LANGUAGE plpgsql SET pg_exchange.enabled = off AS $$
BEGIN
    RETURN QUERY SELECT 0, s.name, s.state FROM c.state0 s;
    RETURN QUERY SELECT 1, s.name, s.state FROM c.state1 s;
    IF to_regclass('c.t2') IS NOT NULL AND (SELECT relkind = 'r' FROM pg_class WHERE oid = to_regclass('c.t2')) THEN
        RETURN QUERY EXECUTE 'SELECT 2, ''t2'', count(*) || md5(coalesce(string_agg(r::text, '','' ORDER BY r::text COLLATE "C"), '''')) FROM c.t2 r';
    END IF;
END $$;
"""
EMPTY = "SET client_min_messages = warning; DROP SCHEMA IF EXISTS c CASCADE; CREATE SCHEMA c;\n"


class Nodes:
    """A coordinator, and a server whose two databases are the shards."""

    def __init__(self, work):
        self.work = work
        self.server = harness.Server(work, "shard", SHARD)
        self.coordinator = harness.coordinator(work, SERVERS)
        self.server.sql("CREATE ROLE writer LOGIN; CREATE DATABASE d0; CREATE DATABASE d1;")
        for number in range(2):
            self.server.sql("CREATE EXTENSION pg_exchange;", f"d{number}")
            for prefix, user in (("s", "postgres"), ("r", "writer")):
                self.coordinator.sql(f"""
                    CREATE SERVER {prefix}{number} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{self.server.port}', dbname 'd{number}');
                    CREATE USER MAPPING FOR CURRENT_USER SERVER {prefix}{number} OPTIONS (user '{user}');""")
        self.server.sql(f"""CREATE EXTENSION postgres_fdw;
            CREATE SERVER hop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{self.server.port}', dbname 'd1');
            GRANT USAGE ON FOREIGN SERVER hop TO writer;
            CREATE USER MAPPING FOR postgres SERVER hop OPTIONS (user 'postgres');
            CREATE USER MAPPING FOR writer SERVER hop OPTIONS (user 'writer', password_required 'false');""", "d0")
        self.shards = [harness.Session(self.server, f"d{number}") for number in range(2)]
        self.log_at = 0

    def run(self, case, prepare):
        """What psql prints of a case, after prepare; a server that has crashed gets time to come back."""
        for server in (self.server, self.coordinator):
            harness.wait_for(lambda server=server: is_up(server), True)
        for number, shard in enumerate(list(self.shards)):
            try:
                shard.run(EMPTY + case.shard[number])
            except harness.Failure:
                shard.kill()
                self.shards[number] = harness.Session(self.server, f"d{number}")
                self.shards[number].run(EMPTY + case.shard[number])
        path = f"{self.work}/case.sql"
        with open(path, "w", encoding="utf-8") as file:
            file.write("\\set VERBOSITY verbose\n\\set SHOW_CONTEXT always\n\\set QUIET 1\n\\set ON_ERROR_STOP 1\n" + EMPTY + case.here + LOOK +
                       f"RESET client_min_messages; SET statement_timeout = '{TIMEOUT}';\n" + case.settings + prepare +
                       "\\set ON_ERROR_STOP 0\n\\unset QUIET\n" + case.script)
        command = ["psql", "-X", "-A", "-h", self.work, "-p", str(self.coordinator.port), "-U", "postgres", "-d", "postgres", "-f", path]
        done = subprocess.run(command, cwd=self.work, env=harness.environment(self.work), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False, timeout=600, **harness.as_server_user())
        return with_sorted_rows([without_place(line) for line in done.stdout.splitlines() if not re.match("LOCATION:", line)])

    def new_log(self):
        """What the shard has logged since the last call."""
        with open(self.server.log, "rb") as log:
            log.seek(self.log_at)
            text = log.read()
        self.log_at += len(text)
        return text.decode("utf-8", "replace")


def is_up(server):
    try:
        return server.sql("SELECT 1") == "1"
    except harness.Failure:
        return False


def without_place(line):
    return re.sub(r"^psql:\S+?:\d+: ", "", line)


def with_sorted_rows(lines):
    """Lines with the rows that an UPDATE or DELETE returns in an order of ours: they come as another plan has them."""
    for at, line in enumerate(lines):
        if re.match(r"(UPDATE|DELETE) \d", line) and at and (returned := re.fullmatch(r"\((\d+) rows?\)", lines[at - 1])):
            first = at - 1 - int(returned[1])
            lines[first:at - 1] = sorted(lines[first:at - 1])
    return lines


def pieces(log):
    """{operation: pieces that were applied}."""
    found = {}
    for statement in re.findall(r"exchange\.apply\('[^']*'::pg_catalog\.text, '(\w+) ", log):
        found[statement] = found.get(statement, 0) + 1
    return found


def is_error(lines):
    return [re.sub("^ERROR: *", "", line) for line in lines if line.startswith("ERROR:")]


def run(work, count, seed, first):
    nodes = Nodes(work)
    # With statistics of the remote, rows would come in the order of other joins, in which triggers fire.
    by_frames = "SET pg_exchange.writes = on; SET pg_exchange.remote_statistics = off;\n"
    by_fdw = "SET pg_exchange.enabled = off; SET pg_exchange.writes = off;\n"
    different, broken, errors, sent, cases_sent = [], [], {}, {}, 0
    for number in range(first, first + count):
        if number % 100 == 99:
            report.comment(f"{number + 1}: {len(different)} differ")
        case = Case(random.Random(f"{seed}/{number}"), work)
        expected = nodes.run(case, by_fdw)
        nodes.new_log()
        got = nodes.run(case, by_frames)
        now = pieces(nodes.new_log())
        cases_sent += bool(now)
        for operation, times in now.items():
            sent[operation] = sent.get(operation, 0) + times
        for error in is_error(expected):
            errors[error[:5]] = errors.get(error[:5], 0) + 1
        if not any("state" in line for line in expected):
            broken.append(number)
            report.comment(f"case {number} of seed {seed} has no answer:\n" + "\n".join(expected[-12:]))
        if expected != got:
            different.append(number)
            if len(different) <= SHOWN_MAX:
                lines = list(difflib.unified_diff(expected, got, "postgres_fdw", "frames", lineterm="", n=3))
                report.comment(f"case {number} of seed {seed}, by {now or 'postgres_fdw'}:\n" + "\n".join(lines[:LINES_MAX]))
    report.comment(f"{count} cases, {sum(errors.values())} errors, {cases_sent} with frames: {sent}, {len(different)} differ: {different}")
    report.comment("errors: " + ", ".join(f"{state} {times}" for state, times in sorted(errors.items(), key=lambda item: -item[1])))
    report.ok(not different, f"{count} random cases have equal answers")
    report.ok(not broken, "all of them have answers")
    if count >= 100:
        report.ok(cases_sent * 4 >= count, "many of them write frames", f"{cases_sent} of {count}")
        report.ok(set(sent) == {"INSERT", "UPDATE", "DELETE"}, "each kind of statement is written as frames", str(sent))
    for server in (nodes.coordinator, nodes.server):
        with open(server.log, encoding="utf-8", errors="replace") as log:
            report.ok(not re.search("PANIC|was terminated by signal|TRAP", log.read()), f"{server.name} has not crashed")
    return report.done()


def main(work):
    arguments = sys.argv[1:]
    if arguments[:1] == ["--show"]:
        case = Case(random.Random(f"{arguments[1]}/{arguments[2]}"), "/tmp")
        print(f"-- shard 0\n{case.shard[0]}\n-- shard 1\n{case.shard[1]}\n-- coordinator\n{case.here}\n{case.settings}\n{case.script}")
        return 0
    count = int(arguments[0]) if arguments else 2000
    return run(work, count, arguments[1] if len(arguments) > 1 else "1", int(arguments[2]) if len(arguments) > 2 else 0)


sys.exit(harness.main(main))
