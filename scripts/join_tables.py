"""Random tables for check_joins.py, on a coordinator and on shards.

A World is a handful of tables. Schema "here" of the coordinator has them as
local tables. Schema "there" has the same rows: in local tables, foreign
tables, partitions, children, and views of UNION ALL, over the databases of
the shards. A World is a function of the random numbers alone.

All tables have the same columns, whose types differ. Columns of one family
can be compared with one another."""

SHARDS = 3      # databases; a fourth server leads to the first of them again

# How a value is made of the number {0}, by type.
INTS = {
    "int": "{0}", "bigint": "{0}::bigint", "smallint": "{0}::smallint",
    "numeric": "CASE {0} % 29 WHEN 3 THEN 'NaN' WHEN 4 THEN 'Infinity'"
               " ELSE round({0}, {0} % 3) END::numeric",
    "numeric(8,2)": "{0}::numeric",
    "float8": "CASE {0} % 29 WHEN 3 THEN 'NaN' WHEN 0 THEN '-0'"
              " ELSE {0}::text END::float8",
    "float4": "{0}::float4", "small": "{0}",
}
WORD = "(ARRAY['key ', 'KEY ', 'clé ', 'k,\"''\\ '])[1 + {0} % 4]" \
       " || {0} / 2 || repeat(' ', ({0} + i) % 9 / 8)"
TEXTS = {"text": WORD, 'text COLLATE "C"': WORD, 'text COLLATE "ci"': WORD,
         "varchar(20)": WORD, "char(12)": WORD, "name": f"({WORD})::name",
         "word": WORD}
DAY = "CASE {0} WHEN 5 THEN 'infinity' ELSE date '2020-01-01' + {0} END"
TIMES = {"date": DAY + "::date", "timestamp": DAY + "::timestamp"
         " + (i % 4) / 3 * interval '12 hours'",
         "timestamptz": DAY + "::timestamptz"}
# All tables of a world have the same one of these.
OTHERS = {
    "uuid": "md5(({0})::text)::uuid", "bool": "{0} % 2 = 0",
    "mood": "(ARRAY['sad', 'ok', 'happy'])[1 + {0} % 3]::mood",
    "bytea": "decode(repeat(md5(({0})::text), {0} % 3), 'hex')",
    "interval": "CASE i % 2 WHEN 0 THEN {0} * interval '24 hours'"
                " ELSE {0} * interval '1 day' END",
    "inet": "inet '10.0.0.0' + {0}", "bit(9)": "({0} % 512)::bit(9)",
    "int[]": "ARRAY[{0}, NULL, {0} % 3]", "oid": "({0})::oid",
    "jsonb": "jsonb_build_object('n', {0})", "macaddr":
    "('08:00:2b:01:02:' || lpad(to_hex({0} % 256), 2, '0'))::macaddr",
    "time": "time '00:00' + {0} * interval '1 second'",
    "timetz": "timetz '00:00+02' + {0} * interval '1 second'",
    "text[]": "ARRAY['a,b', ({0})::text]", "\"char\"": "chr(65 + {0} % 50)"
    "::\"char\"", "int4range": "int4range({0}, {0} + 3)",
    "money": "({0})::money",
}
FAMILIES = {"id": "int", "k": "int", "fk": "int", "s": "int", "g": "int",
            "t": "text", "d": "time", "o": "other", "v": "number",
            "f": "number", "w": "wide"}
TYPES = """
    CREATE TYPE public.mood AS ENUM ('sad', 'ok', 'happy');
    CREATE DOMAIN public.small AS int CHECK (VALUE < 32000);
    CREATE DOMAIN public.word AS text;
    CREATE COLLATION public.ci (provider = icu,
        locale = 'und-u-ks-level2', deterministic = false);
    """
FUNCTION = """CREATE FUNCTION public.h(i int, n int) RETURNS int IMMUTABLE
    LANGUAGE sql RETURN hashint4(i * 997 + n) & 2147483647;"""
FOREIGN_KEYS = 200      # domain of fk: ids of most tables


class Table:
    """A table by its columns, rows, and how it is spread."""

    def __init__(self, rng, name, world):
        self.name, self.salt = name, rng.randrange(10**6)
        self.rows = rng.choice(world.sizes)
        self.types = {
            "id": rng.choice(["int", "int", "bigint"]),
            "k": rng.choice(list(INTS)), "fk": rng.choice(list(INTS)),
            "s": rng.choice(list(INTS)), "g": rng.choice(list(INTS)),
            "t": rng.choice(list(TEXTS)), "d": rng.choice(list(TIMES)),
            "o": world.other, "v": "numeric(12,2)", "f": "float8",
            "w": "text"}
        if rng.random() < 0.5:      # as many other tables have them
            self.types.update(k="int", fk="int", t="text", d="date")
        self.nulls = {column: rng.choice([0, 0, 5, 5, 40, 100 if
                                          rng.random() < 0.1 else 15])
                      for column in FAMILIES if column != "id"}
        self.domains = {"id": max(self.rows, 1), "k": world.keys,
                        "fk": FOREIGN_KEYS, "s": 9, "g": 7, "t": world.words,
                        "d": world.days, "o": 2 if world.other == "bool"
                        else 3 if world.other == "mood" else 20,
                        "v": 400, "f": 300, "w": 10**6}
        self.shift = rng.choice([0] * 6 + [world.keys // 2, world.keys * 3])
        # Of a hundred rows, so many have the same key.
        self.hot = rng.choice([0] * 4 + [35, 60])
        self.layout = rng.choice(world.layouts)
        self.first_server = rng.randrange(SHARDS + 1)
        self.analyzed = rng.random() < 0.7
        self.indexed = rng.random() < 0.5
        # How many times as large planners take the table for: small tables
        # are not worth what is done about large ones.
        self.enlarged = rng.choice([1, 1, 30, 300, 1000])

    # ---- rows ----

    def column_list(self):
        return ", ".join(f"{name} {kind}" for name, kind
                         in self.types.items())

    def values(self):
        """The select list that makes the row i."""
        numbers = {
            "k": f"(CASE WHEN {self.h(12)} % 100 < {self.hot} THEN 4 ELSE"
                 f" {self.h(1)} % {self.domains['k']} + {self.shift} END)",
            "fk": f"(1 + {self.h(2)} % {FOREIGN_KEYS})",
            "s": f"(CASE {self.h(3)} % 3 WHEN 0 THEN 7"
                 f" ELSE {self.h(4)} % 300 END)",
            "g": f"({self.h(5)} % 7)"}
        for salt, column in enumerate("tdo", 6):
            numbers[column] = f"({self.h(salt)} % {self.domains[column]})"
        made = {"id": "i"}
        for kinds in (INTS, TEXTS, TIMES, OTHERS):
            for column, number in numbers.items():
                if column not in made and self.types[column] in kinds:
                    made[column] = kinds[self.types[column]].format(number)
        made["v"] = f"({self.h(9)} % 40000 - 5000) / 100.0"
        made["f"] = f"({self.h(10)} % 4000 - 2000) / 8.0::float8"
        made["w"] = f"md5(({self.h(11)})::text)"
        return ", ".join(
            made[column] if not self.nulls.get(column) else
            f"CASE WHEN {self.h(20 + salt)} % 100 < {self.nulls[column]}"
            f" THEN NULL ELSE {made[column]} END"
            for salt, column in enumerate(FAMILIES))

    def h(self, salt):
        return f"h(i, {self.salt + salt})"

    def insert(self, first, rows):
        """A statement that inserts rows from number first on."""
        return f"INSERT INTO {self.name} SELECT {self.values()}" \
               f" FROM generate_series({first}, {first + rows - 1}) i"

    # ---- how it is spread ----

    def kind(self):
        return self.layout[0]

    def partition_key(self):
        return self.layout[1] if self.kind() in PARTITIONED else None

    def leaves(self):
        """(name, what stands before SERVER, server) of each foreign table
        and partition; the server is None for a local one."""
        kind = self.kind()
        if kind in ("foreign", "remote view"):
            yield self.name, f"({self.column_list()})", self.first_server
        for number, values in enumerate(self.layout[2:]):
            server = (self.first_server + number) % (SHARDS + 1)
            name = f"{self.name}_{number}"
            if kind == "inherited":
                yield name, f"() INHERITS ({self.name})", server
            elif kind == "union":
                yield name, f"({self.column_list()})", server
            elif values.startswith("local "):
                yield (name, f"PARTITION OF {self.name} {values[6:]}", None)
            elif values.startswith("sub "):
                yield (name, f"PARTITION OF {self.name} {values[4:]}"
                       " PARTITION BY HASH (id)", None)
                for part in range(2):
                    yield (f"{name}_{part}", f"PARTITION OF {name} FOR VALUES"
                           f" WITH (MODULUS 2, REMAINDER {part})",
                           (server + part) % SHARDS)
            else:
                yield name, f"PARTITION OF {self.name} {values}", server

    def is_remote(self):
        """Are all its partitions on servers?"""
        return self.kind() in PARTITIONED and \
            "local " not in "".join(self.layout[2:])

    def there(self):
        """The SQL that makes the table in schema there."""
        kind, columns = self.kind(), self.column_list()
        text = ""
        if kind in ("local", "inherited"):
            text += f"CREATE TABLE {self.name} ({columns});"
        elif kind in PARTITIONED:
            text += f"CREATE TABLE {self.name} ({columns}) PARTITION BY" \
                    f" {kind} ({self.layout[1]});"
        for name, definition, server in self.leaves():
            if server is None:
                text += f"CREATE TABLE {name} {definition};"
            else:
                text += f"CREATE FOREIGN TABLE {name} {definition} SERVER" \
                        f" s{server} OPTIONS (schema_name 'c');"
        if kind == "union":
            text += f"CREATE VIEW {self.name} AS " + " UNION ALL ".join(
                f"SELECT * FROM {name}" for name, _, _ in self.leaves()) + ";"
        return text

    def fill(self):
        """The SQL that copies the rows of schema here to schema there."""
        if self.kind() not in ("inherited", "union"):
            return f"INSERT INTO {self.name} SELECT * FROM here.{self.name};"
        names = [name for name, _, _ in self.leaves()]
        if self.kind() == "inherited":
            names.append(self.name)
        return "".join(
            f"INSERT INTO {name} SELECT * FROM here.{self.name}"
            f" WHERE id % {len(names)} = {number};"
            for number, name in enumerate(names))

    def at_shard(self, shard):
        """The SQL that makes what a shard has of it."""
        text = ""
        for name, _, server in self.leaves():
            if server is None or server % SHARDS != shard:
                continue
            base = f"{name}_base" if self.kind() == "remote view" else name
            text += f"CREATE TABLE c.{base} ({self.column_list()});"
            if self.indexed:
                text += f"CREATE INDEX ON c.{base} (id);" \
                        f"CREATE INDEX ON c.{base} (k);"
            if base != name:
                text += f"CREATE VIEW c.{name} AS SELECT * FROM c.{base};"
        return text

    def analyze(self):
        """The SQL that makes statistics of what stands in schema there."""
        names = [name for name, _, _ in self.leaves()]
        if self.kind() not in ("union", "foreign", "remote view"):
            names.append(self.name)
        return f"ANALYZE {', '.join(names)};" + self.enlarge(names) \
            if self.analyzed else ""

    def enlarge(self, names):
        names = ", ".join(f"'{name}'::regclass" for name in names)
        return f"UPDATE pg_class SET reltuples = reltuples *" \
               f" {self.enlarged} WHERE oid IN ({names}) AND reltuples > 0;"

    def analyze_at_shard(self, shard):
        """The same for a shard's tables."""
        names = [f"c.{name}_base" if self.kind() == "remote view"
                 else f"c.{name}" for name, _, server in self.leaves()
                 if server is not None and server % SHARDS == shard]
        return f"ANALYZE {', '.join(names)};" + self.enlarge(names) \
            if names else ""


PARTITIONED = ("HASH", "RANGE", "LIST")


def hash_parts(count):
    return [f"FOR VALUES WITH (MODULUS {count}, REMAINDER {number})"
            for number in range(count)]


def range_parts(bounds):
    ends = ["MINVALUE", *map(str, bounds), "MAXVALUE"]
    return [f"FOR VALUES FROM ({low}) TO ({high})"
            for low, high in zip(ends, ends[1:])]


def layouts(rng, keys):
    """How tables may be spread: (kind, key, part, ...) each.

    Two tables with the same one have partitions that match, on the same
    servers or on others."""
    def some_local(parts):
        """Some partitions are local, or are partitioned themselves."""
        return [rng.choice([""] * 10 + ["local ", "sub "]) + part
                for part in parts]
    keys_in = sorted(rng.sample(range(1, keys * 2), 2))
    ids_in = sorted(rng.sample(range(2, 400), rng.choice([1, 2, 3])))
    days_in = ["'2020-01-08'", "'2020-01-20'"]
    by_list = ["FOR VALUES IN (0, 1)", "FOR VALUES IN (2, NULL, 5)",
               "DEFAULT"]
    made = [("HASH", key, *some_local(hash_parts(rng.choice([2, 3, 4]))))
            for key in ("id", "k", "k", "fk", "t", "d")]
    made += [("RANGE", "id", *some_local(range_parts(ids_in))),
             ("RANGE", "k", *some_local(range_parts(keys_in)), "DEFAULT"),
             ("RANGE", "d", *some_local(range_parts(days_in)), "DEFAULT"),
             ("LIST", "g", *some_local(by_list)),
             ("LIST", "(id % 3)", *some_local(
                 [f"FOR VALUES IN ({number})" for number in range(3)]))]
    return made


class World:
    """Tables, and the SQL that makes them."""

    def __init__(self, rng):
        self.keys = rng.choice([15, 60, 300])
        self.words, self.days = rng.choice([10, 50]), rng.choice([10, 60])
        self.other = rng.choice(list(OTHERS))
        self.sizes = rng.choice([[0, 40, 200, 500], [6, 60, 150, 300],
                                 [30, 200, 200, 400]])
        self.large = rng.random() < 0.08
        # Few ways to partition, so that some tables are partitioned alike.
        made = layouts(rng, self.keys)
        self.layouts = rng.sample(made, 3) * 2 + [
            ("local",), ("local",), ("foreign",), ("foreign",),
            ("remote view",) if rng.random() < 0.5 else ("foreign",),
            ("inherited", "", "", ""), ("union", "", "", "")]
        self.tables = [Table(rng, f"t{number}", self)
                       for number in range(1, 8)]
        self.local = Table(rng, "loc", self)
        self.local.layout, self.local.rows = ("local",), 40
        self.tables.append(self.local)
        if self.large:      # more keys than a list of them may have
            table = self.tables[0]
            table.rows = rng.choice([11000, 15000])
            table.domains.update(k=table.rows * 4 // 3, id=table.rows)
            table.types["k"] = rng.choice(["int", "bigint", "numeric"])
        # Of servers to the first shard there are two.
        self.options = [
            f"use_remote_estimate '{rng.choice(['true', 'false'])}',"
            f" fetch_size '{rng.choice([7, 100, 1000])}', batch_size '500',"
            f" async_capable '{rng.choice(['true', 'false'])}',"
            f" fdw_tuple_cost '{rng.choice(['0.01', '0.2', '0.5'])}'"
            for _ in range(SHARDS + 1)]

    def table(self, name):
        return next(table for table in self.tables if table.name == name)

    def at_shard(self, shard):
        return "SET client_min_messages = warning;" \
            "DROP SCHEMA IF EXISTS c CASCADE; CREATE SCHEMA c;" + "".join(
                table.at_shard(shard) for table in self.tables)

    def analyze_at_shard(self, shard):
        return "".join(table.analyze_at_shard(shard)
                       for table in self.tables)

    def at_coordinator(self, port):
        """Both schemas, with rows; the shards have their tables."""
        text = "SET client_min_messages = warning;" \
            "SET pg_exchange.enabled = off;" \
            "DROP SCHEMA IF EXISTS here, there CASCADE;" \
            "CREATE SCHEMA here; CREATE SCHEMA there;"
        for number, options in enumerate(self.options):
            text += f"""DROP SERVER IF EXISTS s{number} CASCADE;
                CREATE SERVER s{number} FOREIGN DATA WRAPPER postgres_fdw
                OPTIONS (host '127.0.0.1', port '{port}',
                dbname 'd{number % SHARDS}', {options});
                CREATE USER MAPPING FOR CURRENT_USER SERVER s{number}
                OPTIONS (user 'postgres');"""
        text += "SET search_path = here, public;"
        for table in self.tables:
            name = table.name
            text += f"CREATE TABLE {name} ({table.column_list()});" \
                    f"{table.insert(1, table.rows)};"
            text += "".join(f"CREATE INDEX ON {name} ({column});"
                            for column in ("id", "k", "fk", "s", "t"))
            text += f"ANALYZE {name};"
        text += "SET search_path = there, public;"
        for table in self.tables:
            text += table.there() + table.fill() + table.analyze()
        return text

    def checks(self):
        """A query for each table, with the same answer in both schemas."""
        return [f"SELECT count(*), sum(hashtextextended(x::text, 0)::numeric)"
                f" FROM {table.name} x" for table in self.tables]
