"""Random aggregate queries, and the tables they ask: for check_aggregates.py.

A Query is a list of parts, each of which may be left out: that is how a
failure is made small. An Item of the select list says how far its value may
be from that of another server. The generator never asks for what no server
promises:

- Equal values that look different (1.0 and 1.00, -0 and 0, one day and 24
  hours, 'a' and 'A' in a case-insensitive collation) are shown in one form.
- A LIMIT stands over an order that leaves no choice.
- A query can raise one kind of error at most, and not below a LIMIT."""
import dataclasses

# (type, value of row i, may be null). k = 5 is a group of nulls alone.
# fx has sums that are exact in every order, fy has not; the squares of fh
# overflow. nu has NaN, infinities and many scales.
COLUMNS = {
    "id": ("int", "i", False),
    "k": ("int", "i % 9", True),
    "k2": ("smallint", "(h(i, 1) % 4)::smallint", True),
    "fk": ("int", "h(i, 2) % 90", True),
    "b": ("bool", "h(i, 3) % 3 = 0", True),
    "i2": ("smallint", "(h(i, 4) % 60000 - 30000)::smallint", True),
    "i4": ("int", "h(i, 5) - 1073741824", True),
    "i8": ("bigint", "(h(i, 6) - 1073741824)::bigint * 8589934000", True),
    "n": ("numeric(12,2)", "(h(i, 7) % 2000000 - 500000) / 100.0", True),
    "nu": ("numeric", "CASE h(i, 8) % 60 WHEN 0 THEN 'NaN'"
           " WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity'"
           " WHEN 3 THEN power(10::numeric, i % 40)"
           " WHEN 4 THEN 1.0 WHEN 5 THEN 1.00"
           " ELSE round(h(i, 9) / 7.0, i % 8) END::numeric", True),
    "fx": ("float8", "CASE h(i, 10) % 200 WHEN 0 THEN 'NaN'"
           " WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN '-0'"
           " WHEN 4 THEN '0' ELSE (h(i, 11) % 4000 - 2000) / 8.0 END::float8",
           True),
    "fy": ("float8", "0.1 + (h(i, 12) % 100000) / 97.0::float8", True),
    "fc": ("float8", "(i % 9 + 1) / 10.0::float8", True),
    "fh": ("float8", "(1 + h(i, 13) % 10) * 1e200::float8", True),
    "r4": ("float4", "(h(i, 14) % 1000) / 8.0::float4", True),
    "t": ("text", "CASE h(i, 15) % 4 WHEN 0 THEN md5(i::text)"
          " ELSE 'word ' || h(i, 16) % 15 END", True),
    "vc": ("varchar(12)", "left(md5((h(i, 17) % 40)::text), i % 13)", True),
    "bp": ("char(6)", "'x' || h(i, 18) % 7", True),
    "bu": ("bpchar", "'y' || h(i, 19) % 5 || repeat(' ', i % 3)", True),
    "ci": ('text COLLATE "ci"', "CASE i % 2 WHEN 0 THEN 'key '"
           " ELSE 'KEY ' END || h(i, 20) % 6", True),
    "d": ("date", "CASE h(i, 21) % 90 WHEN 0 THEN 'infinity'"
          " WHEN 1 THEN '-infinity'"
          " ELSE date '2020-01-01' + h(i, 22) % 700 END::date", True),
    "ts": ("timestamp", "timestamp '2021-01-01' + h(i, 23) % 99999"
           " * interval '7 minutes'", True),
    "tz": ("timestamptz", "timestamptz '2021-01-01 00:00+00' + h(i, 24)"
           " % 99999 * interval '13 seconds'", True),
    "tm": ("time", "time '00:00' + h(i, 25) % 86400 * interval '1 second'",
           True),
    "iv": ("interval", "CASE i % 3 WHEN 0 THEN h(i, 26) % 40 *"
           " interval '24 hours' WHEN 1 THEN h(i, 26) % 40 *"
           " interval '1 day' ELSE h(i, 26) % 9 * interval '1 month 7"
           " minutes' END", True),
    "o": ("oid", "h(i, 27)::oid", True),
    "ip": ("inet", "inet '10.0.0.0' + h(i, 28) % 300", True),
    "bi": ("bit(9)", "(h(i, 29) % 512)::bit(9)", True),
    "ar": ("int[]", "ARRAY[h(i, 30) % 5, NULL, i % 3]", True),
    "u": ("uuid", "md5((h(i, 31) % 50)::text)::uuid", True),
    "en": ("mood", "(ARRAY['sad', 'ok', 'happy'])[1 + h(i, 32) % 3]::mood",
           True),
    "dm": ("small", "h(i, 33) % 20", True),
}

# rows, and how the table is spread (check_aggregates.prepare). "loc" is a
# local table on both sides, "void" has partitions without rows.
TABLES = {"parts": 1500, "byk": 1200, "dimk": 250, "many": 700, "inh": 500,
          "uni": 600, "one": 500, "dim": 90, "loc": 30, "void": 0}
BIG = ["parts", "parts", "byk", "byk", "many", "inh", "uni", "one"]
SMALL = ["dimk", "dim", "loc"]

INTS = ["i2", "i4", "i8", "k", "k2", "fk", "id"]
NUMBERS = [*INTS, "n", "nu"]
FLOATS = ["fx", "fy", "fc", "r4"]
# How equal values of a column are made to look equal.
SHOWN = {"nu": "trim_scale({})", "fx": "({} + 0.0)", "bu": "{}::text",
         "ci": "lower({})", "iv": "extract(epoch FROM {})"}
SORTABLE = ["k", "k2", "fk", "b", "i2", "i4", "i8", "n", "fy", "t", "vc",
            "bp", "d", "ts", "tz", "tm", "o", "ip", "bi", "u", "id", "dm"]
MINMAX = ["i2", "i4", "i8", "n", "nu", "fx", "fy", "r4", "t", "vc", "bp",
          "bu", "ci", "d", "ts", "tz", "tm", "iv", "o", "ip", "ar", "en",
          "dm", "k", "id"]
# The errors that a query may raise: division by zero, overflow, invalid text
# and the root of a negative number.
RISKS = ["22012", "22003", "22P02", "2201F"]
# What an item may be off by: see check_aggregates.close.
EXACT, LINEAR, SQUARE = "exact", "linear", "square"


@dataclasses.dataclass
class Item:
    """A column of the result; group is what GROUP BY has, if it is a key."""
    sql: str
    tolerance: str = EXACT
    group: str = ""
    keep: bool = False


@dataclasses.dataclass
class Query:
    """A query by its parts."""
    tables: list            # the first stands alone, others begin with JOIN
    where: list
    items: list             # keys first
    having: list
    grouping: str = ""      # ROLLUP, CUBE, SETS: else plain
    distinct: bool = False
    order: str = ""         # how the items are sorted, one letter for each
    limit: str = ""
    wrap: str = ""          # an outer query, with {} for this one
    values: tuple = ()      # of parameters $1 …, all bigint
    way: str = ""           # EXECUTE, CURSOR: else as it is

    def text(self, explain=""):
        """What is sent to ask this query, or to have it explained."""
        execute = self.sql()
        if self.values:
            types = ", ".join("bigint" for _ in self.values)
            return f"DEALLOCATE ALL; PREPARE p ({types}) AS {execute};" \
                   f" {explain} EXECUTE p ({', '.join(self.values)})"
        if self.way == "EXECUTE":
            return f"DEALLOCATE ALL; PREPARE p AS {execute};" \
                   f" {explain} EXECUTE p"
        if self.way == "CURSOR" and not explain:
            return f"BEGIN; DECLARE c CURSOR FOR {execute}; FETCH 3 FROM c;" \
                   " SAVEPOINT s; FETCH ALL FROM c; COMMIT"
        return explain + execute

    def keys(self):
        return [item for item in self.items if item.group]

    def sql(self):
        text = "SELECT " + ("DISTINCT " if self.distinct else "")
        text += ", ".join(item.sql for item in self.items)
        text += " FROM " + " ".join(self.tables)
        if self.where:
            text += " WHERE " + " AND ".join(self.where)
        groups = [f"({item.group})" for item in self.keys()]
        if groups and self.grouping == "SETS":
            sets = [", ".join(groups), groups[0], groups[-1], ""]
            text += " GROUP BY GROUPING SETS (" + ", ".join(
                f"({one})" for one in dict.fromkeys(sets)) + ")"
        elif groups:
            text += f" GROUP BY {self.grouping}({', '.join(groups)})" \
                if self.grouping else " GROUP BY " + ", ".join(groups)
        if self.having:
            text += " HAVING " + " AND ".join(self.having)
        if self.order:
            text += " ORDER BY " + ", ".join(
                str(number) + {"a": "", "d": " DESC", "f": " NULLS FIRST",
                               "l": " DESC NULLS LAST"}[letter]
                for number, letter in self.ordering())
        text += self.limit and " " + self.limit
        return self.wrap.format(text) if self.wrap else text

    def ordering(self):
        """Pairs of the number of an item and how it is sorted."""
        keys = self.keys()
        sorted_items = keys or self.items
        return [(self.items.index(item) + 1, self.order[n % len(self.order)])
                for n, item in enumerate(sorted_items)]

    def smaller(self):
        """Queries that are this one without one of its parts."""
        def without(name, number):
            values = list(getattr(self, name))
            del values[number]
            return dataclasses.replace(self, **{name: values})
        for name in ("where", "having"):
            for number in range(len(getattr(self, name))):
                yield without(name, number)
        if len(self.tables) > 1:
            yield without("tables", len(self.tables) - 1)
        for number, item in enumerate(self.items):
            if len(self.items) > 1 and not item.keep:
                yield without("items", number)
        for name in ("grouping", "limit", "wrap", "order", "way"):
            if getattr(self, name) and not (name == "order" and self.limit) \
                    and not (name == "limit" and self.values):
                yield dataclasses.replace(self, **{name: ""})


# What a query is about: each is a method of Generator.
FORMS = ["groups"] * 6 + ["whole"] * 3 + [
    "top", "top", "distinct", "count_distinct", "correlated", "semi",
    "nested", "lateral"]


class Generator:
    """Queries, each a function of the random numbers alone."""

    def __init__(self, rng, form=None):
        self.rng = rng
        self.only = form        # one of FORMS; None: all of them
        self.error = ""         # the kind of error that this query may raise
        self.listed = True      # all aggregates can be computed in parts

    def pick(self, *choices):
        return self.rng.choice(choices)

    def often(self, probability):
        return self.rng.random() < probability

    def some(self, values, most):
        return self.rng.sample(values, self.rng.randint(1, most))

    # ---- expressions; alias is the table they are over ----

    def number(self, alias, columns=INTS):
        return f"{alias}.{self.rng.choice(columns)}"

    def risky(self, alias):
        """An integer expression that may raise this query's error."""
        return {"22012": f"(1000 / ({alias}.k - {self.rng.randint(0, 12)}))",
                "22003": f"({alias}.i4 * {self.pick(1, 2, 3000)})",
                "22P02": f"({alias}.vc || '{self.pick('7', '')}')::int",
                "2201F": f"sqrt({alias}.i4 + {self.pick(0, 2147480000)}.0)"
                         "::int",
                }[self.error]

    def expression(self, alias, depth=1):
        """An integer or numeric expression without errors."""
        one, two = (self.number(alias, ["i2", "k", "k2", "fk", "id"])
                    for _ in range(2))
        if depth and self.often(0.3):
            return self.pick(
                f"CASE WHEN {self.condition(alias)} THEN {one} END",
                f"coalesce({one}, {self.rng.randint(0, 9)})",
                f"({one}::int * {two})", f"({one} % 7)", f"abs({two})",
                f"({alias}.n * (1 - {alias}.k2 / 10.0))",
                f"nullif({one}::int, {two})", f"length({alias}.t)",
                f"({alias}.i8 / 1000)", f"round({alias}.n, 1)")
        return self.number(alias, NUMBERS)

    def condition(self, alias):
        """A condition that never raises an error."""
        rng = self.rng
        number = rng.randint(0, 90)
        return self.pick(
            f"{alias}.fk {self.pick('<', '>', '=', '<>', '<=')} {number}",
            f"{alias}.k = {number % 10}", f"{alias}.b", f"NOT {alias}.b",
            f"{alias}.k IN (1, 5, {number % 10})",
            f"{alias}.id % 5 = {number % 5}",
            f"{alias}.{rng.choice(list(COLUMNS))} IS NULL",
            f"{alias}.{rng.choice(list(COLUMNS))} IS NOT NULL",
            f"{alias}.t LIKE '%{self.pick('1', 'a', 'word')}%'",
            f"{alias}.d > date '2020-01-01' + {number * 8}",
            f"{alias}.n BETWEEN {number} AND {number * 200}",
            f"{alias}.i4 > {rng.randint(-10**9, 10**9)}",
            f"({alias}.k = {number % 9} OR {alias}.fk > {number})",
            f"{alias}.fx > {number}", f"{alias}.vc < '5'",
            f"{alias}.id < {number * 20}", f"{alias}.id > {number * 10}",
            f"{alias}.ci = 'Key {number % 6}'", f"{alias}.k2 > 7")

    def key(self, alias):
        """A key to group by."""
        if self.error and self.often(0.1):
            text = self.risky(alias)
            return Item(text, group=text)
        if self.often(0.3):
            text = self.pick(
                f"{alias}.k % 3", f"{alias}.k + {alias}.k2",
                f"{alias}.b IS TRUE", f"left({alias}.t, 3)",
                f"coalesce({alias}.k, -1)", f"upper({alias}.vc)",
                f"extract(year FROM {alias}.ts)",
                f"date_trunc('month', {alias}.ts)",
                f"CASE WHEN {alias}.fk > 40 THEN 'many' ELSE 'few' END",
                f"{alias}.i2 > 0", f"length({alias}.t)",
                f"{alias}.n > 100", f"'c'::text || {alias}.k",
                f"{alias}.id / 400")
            return Item(text, group=text)
        name = self.pick("k", "k", "k", "k2", "k2", "b", "fk", "bp", "vc",
                         "ci", "bu", "nu", "fx", "fc", "d", "iv", "u", "ip",
                         "bi", "en", "dm", "ar", "r4", "t")
        column = f"{alias}.{name}"
        return Item(SHOWN.get(name, "{}").format(column), group=column)

    def filter(self, alias):
        if self.error and self.often(0.1):
            return f" FILTER (WHERE {self.risky(alias)} > 3)"
        return f" FILTER (WHERE {self.condition(alias)})" \
            if self.often(0.2) else ""

    def aggregate(self, alias):
        where = self.filter(alias)
        if self.error and self.often(0.4):
            text = self.risky(alias)
            return Item(f"{self.pick('sum', 'max', 'count', 'avg')}"
                        f"({text}){where}")
        kinds = ["count", "sum", "sum", "avg", "avg", "minmax", "minmax",
                 "bool", "bit", "variance", "float", "float", "two",
                 "interval"]
        if not self.listed:
            kinds += ["distinct", "distinct", "other", "other"]
        kind = self.pick(*kinds)
        if kind == "count":
            return Item(self.pick(
                "count(*)", f"count({alias}.{self.pick(*COLUMNS)})",
                f"count({self.expression(alias)})") + where)
        if kind in ("sum", "avg"):
            return Item(f"{kind}({self.expression(alias)}){where}")
        if kind == "minmax":
            name = self.rng.choice(MINMAX)
            text = f"{self.pick('min', 'max')}({alias}.{name}){where}"
            return Item(SHOWN.get(name, "{}").format(text))
        if kind == "bool":
            return Item(f"{self.pick('bool_and', 'bool_or', 'every')}"
                        f"({self.condition(alias)}){where}")
        if kind == "bit":
            name = self.pick("i2", "i4", "i8", "bi")
            return Item(f"{self.pick('bit_and', 'bit_or', 'bit_xor')}"
                        f"({alias}.{name}){where}")
        if kind == "variance":
            name = self.pick("variance", "var_pop", "var_samp", "stddev",
                             "stddev_pop", "stddev_samp")
            return Item(f"{name}({self.number(alias, NUMBERS)}){where}")
        if kind == "float":
            return self.float_aggregate(alias, where)
        if kind == "two":
            name = self.pick("covar_pop", "covar_samp", "corr", "regr_avgx",
                             "regr_avgy", "regr_count", "regr_intercept",
                             "regr_r2", "regr_slope", "regr_sxx", "regr_sxy",
                             "regr_syy")
            return Item(f"{name}({alias}.fy, {alias}.r4){where}", SQUARE)
        if kind == "interval":
            name = self.pick("sum", "avg")
            return Item(f"{name}({alias}.iv){where}")
        if kind == "distinct":
            name = self.pick("count", "sum", "avg", "min", "max")
            argument = self.pick("k", "fk", "i2", "n") \
                if name != "count" else self.rng.choice(SORTABLE)
            return Item(f"{name}(DISTINCT {alias}.{argument}){where}")
        return Item(self.pick(      # these are never computed in parts
            f"string_agg({alias}.bp, ',' ORDER BY {alias}.id)",
            f"array_agg({alias}.k ORDER BY {alias}.id)",
            f"sum({alias}.fy ORDER BY {alias}.id)",
            f"mode() WITHIN GROUP (ORDER BY {alias}.fk)",
            f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {alias}.n)"))

    def float_aggregate(self, alias, where):
        name = self.pick("sum", "avg", "variance", "var_pop", "stddev",
                         "stddev_pop", "var_samp")
        column = self.rng.choice(FLOATS)
        if self.error == "22003" and self.often(0.5):
            column, name = "fh", self.pick("avg", "stddev", "sum")
        text = f"{name}({alias}.{column}){where}"
        if column in ("fx", "r4") and name in ("sum", "avg"):
            return Item(text)
        return Item(text, LINEAR if name in ("sum", "avg") else SQUARE)

    # ---- what a query is made of ----

    def table(self, names, alias):
        if names is BIG and self.often(0.06):
            return f"(SELECT * FROM one UNION ALL SELECT * FROM" \
                   f" {self.pick('dim', 'loc', 'parts')}) {alias}"
        if self.often(0.03):
            return f"void {alias}"
        return f"{self.rng.choice(names)} {alias}"

    def on(self, one, two):
        if self.often(0.25):
            name = self.pick("bp", "vc", "nu", "fx", "iv", "ci", "u", "dm",
                             "en", "ts", "bu", "n", "fc", "ar", "d", "ip")
            return f"{two}.{name} = {one}.{name}"
        return self.pick(f"{two}.id = {one}.fk", f"{two}.id = {one}.fk",
                         f"{two}.k = {one}.k", f"{two}.fk = {one}.fk",
                         f"{two}.k = {one}.k AND {two}.k2 = {one}.k2",
                         f"{two}.t = {one}.t", f"{two}.id = {one}.k2",
                         f"{two}.id = {one}.fk + 1", f"{two}.nu = {one}.k",
                         f"{two}.fk = {one}.i8 % 50", f"{two}.bp = {one}.t")

    def source(self, joins):
        """The list of tables, whose aliases are x, y, z."""
        aliases = "xyz"[:joins + 1]
        tables = [self.table(SMALL if joins and self.often(0.3) else BIG,
                             "x")]
        for one, two in zip(aliases, aliases[1:]):
            kind = self.pick("JOIN", "JOIN", "JOIN", "LEFT JOIN",
                             "RIGHT JOIN" if joins == 1 else "JOIN")
            on = self.on(one, two)
            if self.often(0.2):
                on += f" AND {self.condition(two)}"
            names = SMALL if "JOIN" == kind or self.often(0.6) else BIG
            tables.append(f"{kind} {self.table(names, two)} ON {on}")
        return tables, aliases

    def conditions(self, aliases):
        found = [self.condition(self.pick(*aliases))
                 for _ in range(self.pick(0, 0, 1, 1, 2))]
        if self.often(0.15):
            found.append(self.semijoin(self.pick(*aliases)))
        if self.often(0.1):
            text = self.correlation(self.pick(*aliases))
            found.append(self.pick(
                text, text, text, f"({self.condition(aliases[0])} OR {text})",
                f"NOT ({text})", f"({text}) IS NOT TRUE"))
        return found

    def semijoin(self, alias):
        """IN, EXISTS and their opposites."""
        inner = self.table(self.pick(BIG, SMALL), "s")
        where = f" WHERE {self.condition('s')}" if self.often(0.7) else ""
        also = where.replace(" WHERE ", " AND ")
        return self.pick(
            f"{alias}.fk IN (SELECT s.fk FROM {inner}{where})",
            f"{alias}.fk IN (SELECT s.id FROM {inner}{where})",
            f"{alias}.k NOT IN (SELECT s.k FROM {inner} WHERE"
            f" s.k IS NOT NULL{also})",
            f"EXISTS (SELECT FROM {inner} WHERE s.id = {alias}.fk{also})",
            f"NOT EXISTS (SELECT FROM {inner} WHERE s.fk ="
            f" {alias}.fk{also})",
            f"EXISTS (SELECT FROM {inner} WHERE s.fk = {alias}.fk AND"
            f" s.k2 <> {alias}.k2{also})",
            f"NOT EXISTS (SELECT FROM {inner} WHERE s.fk = {alias}.fk AND"
            f" s.k2 > {alias}.k2{also})",
            f"{alias}.fk = ANY (SELECT s.fk FROM {inner}{where} ORDER BY"
            f" s.fk LIMIT {self.rng.randint(1, 20)})",
            f"({alias}.k, {alias}.k2) IN (SELECT s.k, s.k2 FROM"
            f" {inner}{where})")

    def correlation(self, alias):
        """A comparison with an aggregate over what belongs to a row.

        Some rows do: without a rewrite each of them is a remote query."""
        inner = self.table(BIG, "q")
        key = self.pick("fk = {}.fk", "fk = {}.id", "k = {}.k",
                        "k = {0}.k AND q.k2 = {0}.k2", "id = {}.fk",
                        "t = {}.t").format(alias)
        where = f"q.{key}"
        if self.often(0.5):
            where += f" AND {self.condition('q')}"
        if self.often(0.15):
            where += f" AND {self.semijoin('q')}"
        value, aggregate = self.pick(
            ("n", "0.5 * avg(q.n)"), ("i4", "max(q.i4)"), ("n", "min(q.n)"),
            ("k", "count(*)"), ("i8", "sum(q.i8) / 3"), ("n", "avg(q.i4)"),
            ("fk", "count(q.b)"), ("i4", "coalesce(sum(q.i2), 0)"),
            ("i4", "min(q.i4) + max(q.i4)"), ("n", "0.2 * sum(q.n)"),
            ("k", "count(*) + 1"), ("nu", "max(q.nu)"), ("i2", "avg(q.k)"))
        comparison = self.pick("<", ">", "=", "<=", ">=", "<>")
        low = self.rng.randint(1, 1000)
        some = f"{alias}.id BETWEEN {low} AND {low + self.pick(60, 400)}" \
               " AND " if self.often(0.9) else ""
        return f"{some}{alias}.{value} {comparison} (SELECT {aggregate}" \
               f" FROM {inner} WHERE {where})"

    def having(self, aliases):
        if self.error and self.often(0.1):
            return [f"1000 / (count(*) - {self.rng.randint(1, 30)}) > 0"] \
                if self.error == "22012" else []
        if not self.often(0.2):
            return []
        alias = self.pick(*aliases)
        return [self.pick(
            f"count(*) > {self.rng.randint(0, 40)}",
            f"sum({alias}.i2) > 0", f"max({alias}.n) IS NOT NULL",
            f"avg({alias}.k) < 6", f"bool_or({alias}.b)",
            f"count(DISTINCT {alias}.fk) > 3", f"min({alias}.i4) < 0")]

    def letters(self):
        return "".join(self.pick(*"aaadfl") for _ in range(3))

    def limit(self):
        rng = self.rng
        return self.pick(
            f"LIMIT {rng.randint(0, 30)}", f"LIMIT {rng.randint(1, 300)}",
            f"LIMIT {rng.randint(1, 20)} OFFSET {rng.randint(0, 200)}",
            f"OFFSET {rng.randint(0, 900)}", "LIMIT NULL", "LIMIT ALL",
            f"FETCH FIRST {rng.randint(1, 40)} ROWS ONLY",
            f"LIMIT {rng.randint(1, 20)}::bigint * 2", "LIMIT 0",
            f"LIMIT (SELECT {rng.randint(1, 9)} + count(*) FROM loc)")

    # ---- queries ----

    def query(self):
        self.error = self.pick(*RISKS) \
            if self.often(0.12) else ""
        self.listed = self.often(0.75)
        query = self.form()
        if self.often(0.08):
            query.way = self.pick("EXECUTE", "CURSOR")
        return query

    def form(self):
        return getattr(self, self.only or self.pick(*FORMS))()

    def groups(self):
        tables, aliases = self.source(self.pick(0, 0, 0, 0, 1, 1, 2))
        keys = [self.key(self.pick(*aliases))
                for _ in range(self.pick(1, 1, 1, 2, 2, 3))]
        items = keys + [self.aggregate(self.pick(*aliases))
                        for _ in range(self.pick(0, 1, 1, 2, 3, 5))]
        query = Query(tables, self.conditions(aliases), items,
                      self.having(aliases))
        if self.often(0.12):
            query.grouping = self.pick("ROLLUP", "CUBE", "SETS")
        elif self.often(0.35):
            query.order = self.letters()
            if not self.error and self.often(0.5):
                query.limit = self.limit()
        return query

    def whole(self):
        tables, aliases = self.source(self.pick(0, 0, 0, 0, 1, 2))
        items = [self.aggregate(self.pick(*aliases))
                 for _ in range(self.pick(1, 1, 2, 3, 6))]
        return Query(tables, self.conditions(aliases), items,
                     self.having(aliases))

    def top(self):
        """Rows, sorted, and the first of them."""
        self.error = ""
        joins = self.pick(0, 0, 0, 0, 1)
        tables, aliases = self.source(joins)
        items = [Item(f"{self.pick(*aliases)}.{name}", keep=True)
                 for name in self.some(SORTABLE, 3)]
        if self.often(0.6):
            items += [Item(f"{alias}.id", keep=True) for alias in aliases]
        if not joins and "UNION" not in tables[0] and self.often(0.5):
            items = [item for item in items if item.sql != "x.id"]
            items += [Item("x.id", keep=True)]
            items += [Item(self.pick("x.i8", "x.t", "x.n + x.k", "x.nu",
                                     "upper(x.vc)", "x.ar"))
                      for _ in range(self.pick(1, 2))]
        query = Query(tables, self.conditions(aliases), items, [],
                      order=self.letters(), limit=self.limit())
        if self.often(0.15):    # what is tied must all be shown
            query.items = [Item(f"x.{self.pick(*SORTABLE)}", keep=True)]
            query.limit = f"FETCH FIRST {self.rng.randint(1, 30)} ROWS" \
                          " WITH TIES"
        elif self.often(0.15):
            query.limit = self.pick("LIMIT $1", "LIMIT $1 OFFSET $2",
                                    "OFFSET $2 LIMIT $1")
            query.values = tuple(
                self.pick(str(self.rng.randint(0, 60)), "NULL", "0", "-1",
                          "40") for _ in range(query.limit.count("$")))
        if self.often(0.2):
            columns = ", ".join(f"c{n}" for n in range(len(query.items)))
            query.wrap = self.pick(
                f"SELECT * FROM ({{}}) o ({columns})",
                f"SELECT count(*), count(c0) FROM ({{}}) o ({columns})")
        return query

    def lateral(self):
        """For each row, the first rows or an aggregate of another table."""
        self.error = ""
        outer = self.table(SMALL, "x")
        inner = self.table(BIG, "q")
        where = f"q.{self.pick('fk', 'k', 'id')} = x.{self.pick('fk', 'k')}"
        if self.often(0.5):
            where += f" AND {self.condition('q')}"
        name = self.pick(*SORTABLE)
        order = self.pick("", " DESC", " NULLS FIRST")
        inside = self.pick(
            f"SELECT q.{name} AS c FROM {inner} WHERE {where} ORDER BY"
            f" q.{name}{order} {self.limit()}",
            f"SELECT {self.pick('count', 'max', 'sum')}(q.i4) AS c FROM"
            f" {inner} WHERE {where}",
            f"SELECT q.k AS c FROM {inner} WHERE {where} GROUP BY q.k",
            f"SELECT DISTINCT q.k2 AS c FROM {inner} WHERE {where}")
        on = self.pick("", f"y.c IS NOT NULL AND {self.condition('x')}")
        tables = [outer, f"{self.pick('JOIN', 'LEFT JOIN')} LATERAL"
                  f" ({inside}) y ON {on or 'true'}"]
        if self.often(0.5):
            items = [Item("x.id"), Item("y.c")]
        else:
            items = [Item("x.k", group="x.k"), Item("count(y.c)"),
                     self.aggregate("x")]
        return Query(tables, [self.condition("x")], items, [])

    def distinct(self):
        tables, aliases = self.source(self.pick(0, 0, 1))
        items = [dataclasses.replace(self.key(self.pick(*aliases)), group="")
                 for _ in range(self.pick(1, 1, 2, 3))]
        query = Query(tables, self.conditions(aliases), items, [],
                      distinct=True)
        if self.often(0.3):
            query.order = self.letters()
            if not self.error:
                query.limit = self.limit()
        return query

    def count_distinct(self):
        tables, aliases = self.source(self.pick(0, 0, 0, 1))
        alias = self.pick(*aliases)
        name = self.rng.choice(list(COLUMNS))
        items = [self.key(self.pick(*aliases))
                 for _ in range(self.pick(0, 1, 1, 2))]
        items += [Item(f"count(DISTINCT {alias}.{name}){self.filter(alias)}")]
        if self.often(0.3):
            items.append(self.aggregate(alias))
        if self.often(0.3):
            items.append(Item(f"max({alias}.k)"))
        if self.often(0.3):
            items.append(Item("count(*)"))
        return Query(tables, self.conditions(aliases), items,
                     self.having(aliases))

    def correlated(self):
        return self.rows_where(self.correlation)

    def semi(self):
        return self.rows_where(self.semijoin)

    def rows_where(self, condition):
        """Rows, or aggregates over them, that fulfil a condition."""
        tables, aliases = self.source(self.pick(0, 1, 1))
        where = self.conditions(aliases)[:1]
        where.append(condition(self.pick(*aliases)))
        if self.often(0.5):
            items = [self.aggregate(self.pick(*aliases))
                     for _ in range(self.pick(1, 2))]
            if self.often(0.4):
                items.insert(0, self.key(self.pick(*aliases)))
            return Query(tables, where, items, [])
        items = [Item(f"{alias}.{name}") for alias in aliases
                 for name in self.pick(("id",), ("id", "n"), ("k", "i8"))]
        if self.often(0.15):
            inner = self.correlation("x")
            items.append(Item(inner[inner.index("(SELECT"):]))
        return Query(tables, where, items, [])

    def nested(self):
        """A query over a query with aggregates."""
        inner = self.groups()
        inner.items = [item for item in inner.items
                       if item.tolerance == EXACT]
        columns = ", ".join(f"c{n}" for n in range(len(inner.items)))
        inner.wrap = self.pick(
            f"SELECT count(*), count(c0) FROM ({{}}) o ({columns})",
            f"SELECT o.* FROM ({{}}) o ({columns}) WHERE c0 IS NOT NULL",
            f"SELECT c0, count(*) FROM ({{}}) o ({columns}) GROUP BY c0",
            f"WITH o ({columns}) AS MATERIALIZED ({{}}) SELECT o.* FROM o"
            " JOIN loc ON loc.id < 4")
        return inner
