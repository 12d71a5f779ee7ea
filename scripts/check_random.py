#!/usr/bin/env python3
"""Random queries, by exchange, by postgres_fdw and over local tables: scripts/check_random.py [QUERIES [SEED]]

200 queries and seed 1 if not given. The same text runs over foreign tables with pg_exchange, with settings drawn
anew for each query, over the same tables without it, and over local tables with the same rows: the answers
must be equal. What may differ is not asked for: sums of floats, the order of equal rows, errors that depend
on the order of evaluation. Prints TAP; a query that fails is shown with its settings, and number and seed
repeat it."""
import random
import re
import sys
import os

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))
import harness  # noqa: E402
import report  # noqa: E402

SERVERS = {"shared_buffers": "64MB", "autovacuum": "off", "jit": "off", "max_worker_processes": "16",
           "min_parallel_table_scan_size": "0", "parallel_setup_cost": "0", "parallel_tuple_cost": "0"}

# Each type that travels raw, some that go as text, and nulls everywhere; "parts" has partitions on three servers.
COLUMNS = {
    "id": ("int", "i"), "a": ("int", "(random() * 50)::int"), "b": ("bigint", "(random() * 1e12)::bigint - 500000000000"),
    "s": ("smallint", "(i % 7 - 3)::smallint"), "c": ("numeric", "(random() * 100000)::int / 100.0"),
    "v": ("numeric", "CASE i % 31 WHEN 0 THEN 'NaN'::numeric WHEN 1 THEN power(10::numeric, i % 40) ELSE i / 7.0 END"),
    "d": ("text", "CASE WHEN i % 3 = 0 THEN md5(i::text) ELSE 'word ' || (i % 20) END"),
    "l": ("varchar(12)", "left(md5((i % 100)::text), i % 13)"), "m": ("char(6)", "'x' || i % 5"),
    "e": ("date", "date '2020-01-01' + (random() * 1000)::int"),
    "f": ("timestamptz", "timestamptz '2020-01-01 00:00+00' + i * interval '17 minutes'"),
    "o": ("interval", "(i % 40) * interval '1 day 3 hours'"), "g": ("bool", "random() < 0.3"),
    "h": ("float8", "CASE i % 29 WHEN 0 THEN 'Infinity' WHEN 1 THEN 'NaN' ELSE i / 3.0 END::float8"),
    "q": ("float4", "(i % 1000) / 8.0::float4"), "r": ("int[]", "ARRAY[i, NULL, i % 5]"), "t": ("text[]", "ARRAY['a', 'b,' || i % 3]"),
    "j": ("jsonb", "jsonb_build_object('k', i % 9, 'n', NULL)"), "k": ("uuid", "md5(i::text)::uuid"),
    "n": ("bytea", "decode(md5(i::text), 'hex')"), "p": ("inet", "inet '10.0.0.0' + i"), "w": ("int4range", "int4range(i % 10, i % 10 + 3)"),
}
TABLES = {"one": 3000, "two": 400, "few": 12, "parts": 2000, "nothing": 0}
PARTITIONS = 3
INTS, NUMERICS, TEXTS, FLOATS = ["id", "a", "b", "s"], ["c", "v"], ["d", "l", "m"], ["h", "q"]
ORDERED = [*INTS, *NUMERICS, *TEXTS, *FLOATS, "e", "f", "o", "g", "k", "n", "p", "w", "r"]

SETTINGS = {
    "pg_exchange.compression": ["none", "fast", "high_compression"], "pg_exchange.slices": ["1", "1", "3"],
    "pg_exchange.max_connections_per_server": ["1", "2", "4"], "pg_exchange.batch_rows_max": ["1", "7", "100", "4096"],
    "pg_exchange.batch_bytes_max": ["1024", "64kB", "1MB"], "max_parallel_workers_per_gather": ["0", "0", "2"],
    "enable_partitionwise_join": ["off", "on"], "enable_partitionwise_aggregate": ["off", "on"], "enable_memoize": ["on", "off"],
    "work_mem": ["64kB", "4MB"], "pg_exchange.transport": ["auto", "auto", "session"],
}
# At most one of these is off: with nested loops alone, a query may take hours.
METHODS = ["enable_hashjoin", "enable_mergejoin", "enable_nestloop", "enable_material", "enable_sort", "enable_hashagg"]
TIMEOUT = "300s"


class Generator:
    """Queries, each a function of the random numbers alone."""

    def __init__(self, rng):
        self.rng = rng

    def pick(self, *choices):
        return self.rng.choice(choices)

    def often(self, probability):
        return self.rng.random() < probability

    # ---- expressions over the tables in scope: [(alias, columns)] ----

    def column(self, scope, columns):
        found = [(alias, name) for alias, names in scope for name in names if name in columns]
        return "{}.{}".format(*self.rng.choice(found)) if found else None

    def int(self, scope, depth=2):
        column = self.column(scope, INTS)
        if column is None or depth == 0 and self.often(0.3):
            return str(self.rng.randint(-5, 60))
        if depth == 0 or self.often(0.4):
            return column
        one, two = self.int(scope, depth - 1), self.int(scope, depth - 1)
        text = self.column(scope, TEXTS)
        return self.pick(f"(({one}) % 1000 + ({two}) % 1000)", f"(({one}) % 100 * (({two}) % 100))", f"abs(({one}) % 100)",
                         f"CASE WHEN {self.condition(scope, depth - 1)} THEN {one} ELSE {two} END", f"coalesce({one}, {two})",
                         f"greatest({one}, {two})", f"length({text})" if text else one, f"nullif({one}, {two})")

    def text(self, scope):
        column = self.column(scope, TEXTS)
        if column is None:
            return self.pick("'word 3'", "'x'", "''", "NULL::text")
        return self.pick(column, column, f"upper({column})", f"{column} || '-'", f"substr({column}, 2, 4)", f"{column}::text",
                         f"coalesce({column}, 'none')", "'word 3'")

    def condition(self, scope, depth=2):
        if depth > 0 and self.often(0.4):
            one, two = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return self.pick(f"({one} AND {two})", f"({one} OR {two})", f"(NOT {one})", f"({one} IS NOT TRUE)")
        any_column = self.column(scope, list(COLUMNS)) or "1"
        number = self.column(scope, NUMERICS) or "2.5"
        date = self.column(scope, ["e"]) or "date '2021-05-05'"
        number_text = str(self.rng.randint(0, 60))
        return self.pick(
            f"{self.int(scope, min(depth, 1))} {self.pick('<', '<=', '=', '<>', '>', '>=')} {self.int(scope, min(depth, 1))}",
            f"{self.int(scope, 0)} IN ({number_text}, 7, {self.rng.randint(0, 3000)})", f"{any_column} IS {self.pick('', 'NOT ')}NULL",
            f"{self.text(scope)} LIKE '%{self.pick('1', 'a', 'word', 'x')}%'", f"{self.text(scope)} {self.pick('<', '=', '>')} {self.text(scope)}",
            f"{number} BETWEEN {number_text} AND {number_text} + 300", f"{date} > date '2020-01-01' + {self.rng.randint(0, 1000)}",
            f"{self.int(scope, 0)} = ANY (ARRAY[1, 5, {number_text}])", self.column(scope, ["g"]) or "true",
            f"{self.int(scope, 0)} IS DISTINCT FROM {self.int(scope, 0)}")

    def value(self, scope):
        """Anything that has an order, to be shown."""
        return self.pick(self.int(scope), self.text(scope), self.column(scope, ORDERED) or "1", self.column(scope, ORDERED) or "2",
                         self.column(scope, list(COLUMNS)) or "3")

    # ---- tables ----

    def source(self, depth, correlated=()):
        """What stands in FROM, and its scope."""
        alias = f"x{self.rng.randrange(10**6)}"
        if depth == 0 or self.often(0.6):
            table = self.pick("one", "two", "two", "few", "parts", "nothing")
            return f"{table} {alias}", [(alias, list(COLUMNS))]
        text, names = self.subquery(depth - 1, correlated)
        return f"({text}) {alias}", [(alias, names)]

    def subquery(self, depth, correlated=()):
        """One that can be joined: its columns keep names and types."""
        names = sorted(self.rng.sample(list(COLUMNS), self.rng.randint(2, 8)) + ["id"])
        names = list(dict.fromkeys(names))

        def part():
            table = self.pick("one", "two", "few", "parts")
            scope = [("y", list(COLUMNS))]
            where = self.condition([*scope, *correlated])
            return f"SELECT {', '.join('y.' + name for name in names)} FROM {table} y WHERE {where}"
        text = part()
        if self.often(0.25):
            text = f"{text} UNION ALL {part()}"
        elif self.often(0.3):
            text += f" ORDER BY {', '.join('y.' + name for name in names if name in ORDERED)} LIMIT {self.rng.randint(0, 200)}" \
                if set(names) <= set(ORDERED) else " OFFSET 0"
        elif self.often(0.3):
            text += " OFFSET 0"
        return text, names

    def tables(self):
        text, scope = self.source(1)
        for _ in range(self.pick(0, 0, 1, 1, 2)):
            lateral = self.often(0.15)
            if lateral:
                alias = f"z{self.rng.randrange(10**6)}"
                inner, names = self.subquery(0, scope)
                more, more_scope = f"LATERAL (SELECT * FROM ({inner}) s LIMIT 5000) {alias}", [(alias, names)]
            else:
                more, more_scope = self.source(1)
            left, right = self.column(scope, INTS), self.column(more_scope, INTS)
            kind = self.pick("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN" if lateral else "RIGHT JOIN", "JOIN" if lateral else "FULL JOIN")
            left, right = self.pick((self.column(scope, ["id"]), self.column(more_scope, ["id"])), (left, right))
            on = f"{left} = {right}"
            if kind != "FULL JOIN" and self.often(0.3):
                on += f" AND {self.condition([*scope, *more_scope], 0)}"
            text, scope = f"{text} {kind} {more} ON {on}", [*scope, *more_scope]
        return text, scope

    def where(self, scope):
        conditions = [self.condition(scope) for _ in range(self.pick(0, 1, 1, 2))]
        if self.often(0.2):
            table, mine = self.pick("one", "two", "few", "parts"), self.column(scope, INTS)
            inner = f"SELECT {{}} FROM {table} u WHERE {self.condition([('u', list(COLUMNS))], 1)}"
            conditions.append(self.pick(f"{mine} IN ({inner.format('u.a')})", f"EXISTS ({inner.format('1')} AND u.id = {mine})",
                                        f"NOT EXISTS ({inner.format('1')} AND u.id = {mine})",
                                        f"{mine} > (SELECT avg(n) FROM ({inner.format('u.a')}) v(n))"))
        return " WHERE " + " AND ".join(conditions) if conditions else ""

    def aggregate(self, scope):
        text = f"({self.text(scope)})::text"
        number, ordered = self.column(scope, NUMERICS) or "1", self.column(scope, [c for c in ORDERED if c not in ("g", "k", "n", "w")]) or "1"
        return self.pick("count(*)", f"count({self.value(scope)})", f"sum({self.int(scope)})", f"sum({number})", f"min({ordered})", f"max({ordered})",
                         f"count(DISTINCT {self.value(scope)}::text)", f"bool_or({self.condition(scope, 0)})",
                         f"string_agg({text}, ',' ORDER BY {text} COLLATE \"C\")",
                         f"sum({self.int(scope)}) FILTER (WHERE {self.condition(scope, 0)})",
                         f"md5(array_agg({text} ORDER BY {text} COLLATE \"C\")::text)")

    def query(self):
        text, scope = self.tables()
        where = self.where(scope)
        form = self.pick("rows", "rows", "rows", "top", "groups", "groups", "whole", "distinct", "window", "set", "cte")
        if form == "groups":
            keys = [self.pick(self.int(scope, 1), self.text(scope), self.column(scope, ["a", "s", "m", "e", "g"]) or "1")
                    for _ in range(self.pick(1, 1, 2))]
            having = f" HAVING count(*) > {self.rng.randint(0, 3)}" if self.often(0.3) else ""
            keys = [f"({key}) || ''" if key.isdigit() or key.startswith("'") else key for key in keys]   # not a position
            aggregates = [self.aggregate(scope) for _ in range(self.pick(1, 2, 3))]
            return f"SELECT {', '.join(keys + aggregates)} FROM {text}{where} GROUP BY {', '.join(f'({key})' for key in keys)}{having}"
        if form == "whole":
            return f"SELECT {', '.join(self.aggregate(scope) for _ in range(self.pick(1, 2, 4)))} FROM {text}{where}"
        values = [self.value(scope) for _ in range(self.pick(1, 2, 4, 6))]
        numbered = ", ".join(f"{value} AS c{n}" for n, value in enumerate(values))
        rows = f"SELECT {numbered} FROM {text}{where}"
        if form == "top":
            return f"SELECT * FROM ({rows}) o ORDER BY {', '.join(f'c{n}::text' for n in range(len(values)))} LIMIT {self.rng.randint(0, 300)}"
        if form == "distinct":
            return f"SELECT DISTINCT {', '.join(f'({value})::text' for value in values)} FROM {text}{where}"
        if form == "window":
            key = self.int(scope, 1)
            return f"SELECT c0, count(*) OVER (PARTITION BY k), rank() OVER (PARTITION BY k ORDER BY c0::text) FROM (SELECT {values[0]} AS c0, {key} AS k FROM {text}{where}) o"
        if form == "set":
            other = self.pick("one", "two", "parts")
            return (f"SELECT {self.int(scope, 1)} AS n FROM {text}{where} {self.pick('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')} "
                    f"SELECT o.{self.pick('id', 'a', 's')} FROM {other} o WHERE {self.condition([('o', list(COLUMNS))], 1)}")
        if form == "cte":
            return f"WITH w AS {self.pick('MATERIALIZED', 'NOT MATERIALIZED')} ({rows}) SELECT w.c0, o.n FROM w, (SELECT count(*) AS n FROM w) o"
        return rows


# ---- servers -----------------------------------------------------------------------------------

def column_list():
    return ", ".join(f"{name} {type_name}" for name, (type_name, _) in COLUMNS.items())


def values(name):
    """One in eleven is null, but for id."""
    return ", ".join(f"CASE WHEN (i + {number}) % 11 <> 0 OR '{column}' = 'id' THEN {value} END AS {column}"
                     for number, (column, (_, value)) in enumerate(COLUMNS.items()))


def prepare(shard, coordinator):
    shard.sql("CREATE EXTENSION pg_exchange; SELECT setseed(0.5);" + "".join(
        f"CREATE TABLE {name} ({column_list()}); INSERT INTO {name} SELECT {values(name)} FROM generate_series(1, {rows}) i;"
        for name, rows in TABLES.items()) + "".join(
            f"CREATE TABLE parts_{number} AS SELECT * FROM parts WHERE id % {PARTITIONS} = {number};" for number in range(PARTITIONS)) + "ANALYZE;")
    coordinator.sql("CREATE SCHEMA here; CREATE SCHEMA there;" + "".join(
        f"""CREATE SERVER s{number} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{shard.port}', dbname 'postgres',
                fetch_size '1000', async_capable '{'true' if number else 'false'}');
            CREATE USER MAPPING FOR CURRENT_USER SERVER s{number} OPTIONS (user 'postgres');""" for number in range(PARTITIONS)))
    coordinator.sql("SET pg_exchange.enabled = off;" + "".join(
        f"CREATE FOREIGN TABLE there.{name} ({column_list()}) SERVER s{number % 2} OPTIONS (schema_name 'public', use_remote_estimate '{'true' if number % 2 else 'false'}');"
        f"CREATE TABLE here.{name} ({column_list()}); INSERT INTO here.{name} SELECT * FROM there.{name};"
        for number, name in enumerate(TABLES) if name != "parts") + "".join(f"""
            CREATE TABLE {schema}.parts ({column_list()}) PARTITION BY LIST ((id % {PARTITIONS}));""" for schema in ("here", "there")) + "".join(f"""
            CREATE FOREIGN TABLE there.parts_{number} PARTITION OF there.parts FOR VALUES IN ({number}) SERVER s{number} OPTIONS (schema_name 'public');
            CREATE TABLE here.parts_{number} PARTITION OF here.parts FOR VALUES IN ({number});""" for number in range(PARTITIONS)) +
                    "INSERT INTO here.parts SELECT * FROM there.parts; ANALYZE;")


class Asker:
    """A session with some settings, made anew after an error."""

    def __init__(self, server, setup):
        self.server, self.setup, self.session = server, setup + f"SET statement_timeout = '{TIMEOUT}'; SET timezone = 'UTC';", None

    def ask(self, sql):
        """The rows in some order of ours, or the SQLSTATE."""
        try:
            if not self.session:
                self.session = harness.Session(self.server)
                self.session.run("\\set VERBOSITY verbose\n\\pset null NULL\n" + self.setup)
            return sorted(self.session.run(sql).split("\n"))
        except harness.Failure as failure:
            self.session.kill()
            self.session = None
            found = re.search(r"(?:ERROR|FATAL):  (\w{5}): (.*)", str(failure))
            return ["ERROR " + " ".join(found.groups())] if found else ["ERROR " + str(failure)[-300:]]


def difference(answers):
    names = list(answers)
    lines = []
    for name in names[1:]:
        only = [[row for row in answers[one] if row not in set(answers[two])][:3] for one, two in ((names[0], name), (name, names[0]))]
        lines.append(f"{name} against {names[0]}: {len(answers[name])} and {len(answers[names[0]])} rows; only {name}: {only[1]}; only {names[0]}: {only[0]}")
    return "\n".join(lines)


def run(work, count, seed):
    shard = harness.Server(work, "shard", SERVERS)
    coordinator = harness.coordinator(work, SERVERS)
    prepare(shard, coordinator)
    local = Asker(coordinator, "SET search_path = here;")
    off = Asker(coordinator, "SET search_path = there; SET pg_exchange.enabled = off;")
    on = Asker(coordinator, "SET search_path = there;")
    different, slow, errors, rows, exchanges, sessions, fallbacks = 0, 0, {}, 0, 0, 0, {}
    for number in range(count):
        if number % 100 == 99:
            report.comment(f"{number + 1} of {count}")
        rng = random.Random(f"{seed}/{number}")
        sql = Generator(rng).query()
        settings = "".join(f"SET {name} = '{rng.choice(choices)}'; " for name, choices in SETTINGS.items())
        method = rng.choice(METHODS)
        settings += "".join(f"SET {name} = {'off' if name == method else 'on'}; " for name in METHODS)
        answers = {"local": local.ask(sql), "postgres_fdw": off.ask(sql), "exchange": on.ask(settings + sql)}
        if answers["local"][0].startswith("ERROR"):
            errors[answers["local"][0]] = errors.get(answers["local"][0], 0) + 1
        rows += len(answers["local"])
        if any(answer[0].startswith("ERROR 57014") for answer in answers.values()):
            slow += 1
            continue
        if len({tuple(answer) for answer in answers.values()}) > 1:
            different += 1
            report.comment(f"query {number} of seed {seed}: {settings}\n{sql}\n{difference(answers)}")
        if number % 10 == 0:   # the settings still hold
            plan = "\n".join(on.ask(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}"))
            exchanges += len(re.findall("Transport: exchange", plan))
            sessions += len(re.findall("Transport: exchange.*session", plan))
            for reason in re.findall(r"Transport: postgres_fdw \((.*)\)", plan):
                fallbacks[reason] = fallbacks.get(reason, 0) + 1
    report.comment(f"{count} queries, {rows} rows, {sum(errors.values())} with an error, {slow} took too long, {different} differ")
    for text, times in {**errors, **fallbacks}.items():
        report.comment(f"{times} times: {text}")
    report.ok(different == 0, f"{count} random queries have equal answers")
    report.ok(sum(errors.values()) * 20 <= count, "few of them are errors")
    report.ok(slow * 20 <= count, "few of them take too long")
    report.ok(rows > count * 10, "most of them have rows")
    report.ok(exchanges * 10 > count * 0.5, "they travel by exchange", f"{exchanges} in a tenth of them")
    if count >= 100:
        report.ok(0 < sessions < exchanges, "some of them travel by postgres_fdw's session", f"{sessions} of {exchanges}")
    for server in (coordinator, shard):
        with open(server.log, encoding="utf-8", errors="replace") as log:
            report.ok(not re.search("PANIC|was terminated by signal|TRAP", log.read()), f"{server.name} has not crashed")
    return report.done()


def main(work):
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    return run(work, count, sys.argv[2] if len(sys.argv) > 2 else "1")


sys.exit(harness.main(main))
