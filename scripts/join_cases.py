"""Random join queries over the tables of join_tables.py: for check_joins.py.

A Query is a list of parts, each of which may be left out: that is how a
failure is made small. The generator never asks for what no server promises:

- Equal values that look different (1.0 and 1.00, -0 and 0, one day and 24
  hours, 'a' and 'A' in a case-insensitive collation) are shown in one form.
- A LIMIT stands over an order that leaves no choice.
- Only the select list can raise an error, where the result has the row.
- Collations of two sides that differ are settled by COLLATE."""
import dataclasses

from join_tables import FAMILIES, PARTITIONED

ROWS_MAX = 10000        # expected of a join
SHOWN_MAX = 1000        # more are summed up
EACH_MAX = 40          # rows for each of which a subquery may be run
EXECUTIONS = 7          # a plan is generic from the sixth on

COLLATIONS = {'text COLLATE "C"': '"C"', 'text COLLATE "ci"': '"ci"',
              "name": '"C"'}
INT_COLUMNS = ["id", "k", "fk", "s", "g"]


def collation(kind):
    return COLLATIONS.get(kind, '"default"')


@dataclasses.dataclass
class Relation:
    """What stands in FROM: its columns with their types, the columns that
    tell its rows apart, and how many rows it may have."""
    alias: str
    sql: str
    types: dict
    ids: list
    rows: float
    domains: dict
    table: str = ""     # its name, if it is one

    def has(self, column):
        return column in self.types

    def shown(self, column):
        return shown(f"{self.alias}.{column}", self.types[column])

    def keys(self):
        return [f"{self.alias}.{column}" for column in self.ids]


def shown(text, kind):
    """An expression in a form that is the same for all equal values."""
    if kind.startswith("numeric"):
        return f"trim_scale({text})"
    if kind in ("float8", "float4"):
        return f"({text} + 0.0)"
    if kind == "interval":
        return f"extract(epoch FROM {text})"
    if kind == 'text COLLATE "ci"':
        return f"lower({text})"
    if kind == "timetz":
        return f"({text} AT TIME ZONE 'UTC')"
    return text


@dataclasses.dataclass
class Query:
    """A query by its parts."""
    tables: list            # the first stands alone, others begin with JOIN
    items: list
    where: list = dataclasses.field(default_factory=list)
    groups: list = dataclasses.field(default_factory=list)
    having: list = dataclasses.field(default_factory=list)
    order: list = dataclasses.field(default_factory=list)
    ctes: list = dataclasses.field(default_factory=list)
    writes: list = dataclasses.field(default_factory=list)
    distinct: bool = False
    grouping: str = ""      # ROLLUP, CUBE: else plain
    limit: str = ""
    wrap: str = ""          # an outer query, with {} for this one
    values: tuple = ()      # of the parameter $1: one for each execution
    way: str = ""           # how it is sent; plain if empty
    loops: bool = True      # no hash or merge join is needed

    def sql(self):
        text = "SELECT " + ("DISTINCT " if self.distinct else "")
        text += f"{', '.join(self.items)} FROM {' '.join(self.tables)}"
        if self.where:
            text += " WHERE " + " AND ".join(self.where)
        if self.groups:
            text += f" GROUP BY {self.grouping}({', '.join(self.groups)})" \
                if self.grouping else " GROUP BY " + ", ".join(self.groups)
        if self.having:
            text += " HAVING " + " AND ".join(self.having)
        if self.order:
            text += " ORDER BY " + ", ".join(self.order)
        text += self.limit and " " + self.limit
        if self.wrap:
            text = self.wrap.format(text)
        if self.ctes:
            text = f"WITH {', '.join(self.ctes)} {text}"
        return text

    def is_ordered(self):
        return bool(self.order) and not self.wrap

    def text(self, explain=""):
        """What is sent to ask this query, or to have it explained."""
        sql = self.sql()
        before = "".join(statement + ";" for statement in self.writes)
        if self.values:
            if explain:
                return explain + sql.replace("$1", f"({self.values[0]})")
            return f"DEALLOCATE ALL; PREPARE p (int) AS {sql};" + "".join(
                f"EXECUTE p ({value});" for value in self.values)
        if explain:
            return f"BEGIN; {before} {explain} {sql}; ROLLBACK"
        if self.way == "CURSOR":
            return f"BEGIN; {before} DECLARE c SCROLL CURSOR FOR {sql};" \
                   " MOVE 3 FROM c; MOVE ABSOLUTE 0 FROM c;" \
                   " FETCH ALL FROM c; ROLLBACK"
        if self.way == "SAVEPOINT":
            return f"BEGIN; SAVEPOINT a; {before} {sql}; ROLLBACK TO a;" \
                   f" {sql}; COMMIT"
        if self.way or before:
            return f"BEGIN {self.way}; {before} {sql}; ROLLBACK"
        return sql

    def smaller(self):
        """Queries that are this one without one of its parts."""
        def without(name, number):
            values = list(getattr(self, name))
            del values[number]
            return dataclasses.replace(self, **{name: values})
        for name in ("wrap", "limit", "grouping", "way", "distinct"):
            if getattr(self, name):
                yield dataclasses.replace(self, **{name: type(
                    getattr(self, name))()})
        if len(self.values) > 1:
            yield dataclasses.replace(self, values=self.values[:-1])
        for name in ("writes", "where", "having", "order", "groups", "ctes"):
            for number in range(len(getattr(self, name))):
                if name != "order" or not self.limit:
                    yield without(name, number)
        for number in reversed(range(1, len(self.tables))):
            yield without("tables", number)
        for number in range(len(self.items)):
            if len(self.items) > 1:
                yield without("items", number)


FORMS = ["rows"] * 6 + ["sums"] * 3 + ["moved"] * 2 + ["groups"] * 3 + \
    ["whole", "distinct", "subqueries", "subqueries", "combined", "window"]
WAYS = [""] * 9 + ["PARAMETER"] * 3 + ["CURSOR"] * 2 + ["WRITES"] * 3 + [
    "ISOLATION LEVEL SERIALIZABLE", "ISOLATION LEVEL REPEATABLE READ",
    "SAVEPOINT"]
KINDS = ["JOIN"] * 6 + ["LEFT JOIN"] * 4 + ["RIGHT JOIN", "FULL JOIN"]


class Generator:
    """Queries over a world, each a function of the random numbers alone."""

    def __init__(self, rng, world, form=None):
        self.rng, self.world = rng, world
        self.form = form        # one of FORMS; None: all of them
        self.ctes, self.used, self.aliases = [], [], 0
        self.parameter = False
        self.tables = world.tables

    def pick(self, *choices):
        return self.rng.choice(choices)

    def often(self, probability):
        return self.rng.random() < probability

    def alias(self):
        self.aliases += 1
        return f"a{self.aliases}"

    # ---- relations ----

    def any_table(self):
        # Few tables, so that some join themselves.
        if not self.used or self.often(0.75):
            self.used.append(self.rng.choice(self.tables))
        return self.rng.choice(self.used)

    def table(self, most=10**9):
        alias = self.alias()
        table = self.any_table()
        if table.rows > most:
            table = self.world.local
        return Relation(alias, f"{table.name} {alias}", dict(table.types),
                        ["id"], table.rows, dict(table.domains), table.name)

    def relation(self):
        """A table, or a subquery with some of its columns."""
        if self.often(0.7):
            return self.table()
        return getattr(self, self.pick("filtered", "grouped", "limited",
                                       "united", "listed", "shared"))()

    def columns_of(self, inner):
        """Some columns of a relation, and always its ids."""
        names = [name for name in inner.types if name not in inner.ids]
        names = [*inner.ids, *self.rng.sample(names, self.rng.randint(
            3, len(names)))]
        return {name: inner.types[name] for name in names}

    def derived(self, inner, body, types, ids=None, rows=None):
        alias = self.alias()
        return Relation(alias, f"({body}) {alias}", types,
                        ids or inner.ids, rows or inner.rows,
                        {name: inner.domains.get(name, 100)
                         for name in types})

    def body(self, inner, types):
        columns = ", ".join(f"{inner.alias}.{name}" for name in types)
        return f"SELECT {columns} FROM {inner.sql}"

    def filtered(self):
        inner = self.table()
        types = self.columns_of(inner)
        body = self.body(inner, types) + f" WHERE {self.condition(inner)}"
        return self.derived(inner, body + self.pick("", "", " OFFSET 0"),
                            types)

    def grouped(self):
        inner = self.table()
        key = self.pick("k", "g", "fk", "t", "d")
        kind = inner.types[key]
        body = f"SELECT {inner.alias}.{key}, min({inner.alias}.id) AS id," \
               f" count(*) AS n, max({inner.alias}.v) AS v" \
               f" FROM {inner.sql} GROUP BY 1"
        types = {key: kind, "id": inner.types["id"], "n": "bigint",
                 "v": "numeric"}
        return self.derived(inner, body, types, ["id"], min(
            inner.rows, inner.domains[key]))

    def limited(self):
        inner = self.table()
        types, rows = self.columns_of(inner), self.rng.randint(1, 200)
        order = self.pick("", f"{inner.alias}.v DESC, ",
                          f"{inner.alias}.g NULLS FIRST, ")
        body = self.body(inner, types) + f" ORDER BY {order}" \
            f"{inner.alias}.id LIMIT {rows}"
        return self.derived(inner, body, types, rows=min(rows, inner.rows))

    def united(self):
        """UNION ALL; its columns have one type whatever the tables have."""
        one, two = self.table(1000), self.table(1000)
        casts = {"k": "numeric", "fk": "float8", "t": 'text COLLATE "C"',
                 "d": "timestamp", "v": "numeric"}
        bodies = []
        for number, part in enumerate((one, two)):
            columns = "".join(
                f", {part.alias}.{name}::{kind.replace(' COLLATE', '')}"
                f" AS {name}".replace('::text "C"', '::text COLLATE "C"')
                for name, kind in casts.items())
            bodies.append(f"SELECT {number} AS n, {part.alias}.id{columns}"
                          f" FROM {part.sql} WHERE {self.condition(part)}")
        types = {"n": "int", "id": "bigint", **casts}
        return self.derived(one, " UNION ALL ".join(bodies), types,
                            ["n", "id"], one.rows + two.rows)

    def listed(self):
        """VALUES, or a function."""
        alias = self.alias()
        if self.often(0.5):
            rows = self.rng.randint(1, 60)
            sql = f"generate_series(1, {rows}) {alias} (id)"
            return Relation(alias, sql, {"id": "int"}, ["id"], rows,
                            {"id": rows})
        rows = [f"({number}, {self.rng.randint(0, self.world.keys)},"
                f" {self.pick('NULL', '3', '5')}::int, 'key {number}')"
                for number in range(self.rng.randint(1, 30))]
        sql = f"(VALUES {', '.join(rows)}) {alias} (id, k, g, t)"
        types = {"id": "int", "k": "int", "g": "int", "t": "text"}
        return Relation(alias, sql, types, ["id"], len(rows),
                        {"id": 30, "k": 30, "g": 5, "t": 30})

    def shared(self):
        """A common table expression, which the query may use again."""
        inner = self.table()
        types = self.columns_of(inner)
        name = f"c{len(self.ctes)}"
        self.ctes.append(
            f"{name} AS {self.pick('', 'MATERIALIZED', 'NOT MATERIALIZED')}"
            f" ({self.body(inner, types)} WHERE {self.condition(inner)})")
        alias = self.alias()
        return Relation(alias, f"{name} {alias}", types, inner.ids,
                        inner.rows, inner.domains)

    def lateral(self, outer):
        """For each row of a relation, rows or an aggregate of a table."""
        inner = self.table(1000)
        on, _ = self.equality(outer, inner)
        if self.often(0.5):
            types = self.columns_of(inner)
            body = f"{self.body(inner, types)} WHERE {on} ORDER BY" \
                   f" {inner.alias}.id LIMIT {self.rng.randint(1, 9)}"
            return self.derived(inner, "LATERAL" + body, types, rows=3)
        body = f"SELECT count(*) AS n, max({inner.alias}.id) AS id," \
               f" sum({inner.alias}.v) AS v FROM {inner.sql} WHERE {on}"
        types = {"n": "bigint", "id": "bigint", "v": "numeric"}
        return self.derived(inner, "LATERAL" + body, types, ["id"], 1)

    # ---- conditions; each with the part of all pairs that it leaves ----

    def compared(self, one, name, two, other):
        """An equality of two columns, with a collation if there are two."""
        left, right = f"{one.alias}.{name}", f"{two.alias}.{other}"
        if FAMILIES.get(name) == "text":
            collations = {collation(one.types[name]),
                          collation(two.types[other])}
            if len(collations) > 1:
                right += f" COLLATE {self.rng.choice(sorted(collations))}"
        operator = "=" if self.often(0.95) else "IS NOT DISTINCT FROM"
        domains = one.domains.get(name, 100), two.domains.get(other, 100)
        return f"{left} {operator} {right}" if self.often(0.6) else \
            f"{right} {operator} {left}", 1.3 / max(*domains, 1)

    def equality(self, one, two):
        pairs = [("fk", "id")] * 3 + [("id", "fk")] * 2 + [
            ("k", "k")] * 4 + [(name, name) for name in (
                "s", "g", "t", "t", "d", "d", "o", "id", "fk")] + [
            ("k", "fk"), ("id", "k"), ("n", "g"), ("v", "v")]
        pairs = [pair for pair in pairs if one.has(pair[0])
                 and two.has(pair[1])]
        name, other = self.rng.choice(pairs)
        if self.often(0.12):
            made = self.expression(one, two)
            if made:
                return made
        return self.compared(one, name, two, other)

    def expression(self, one, two):
        """An equality of expressions; None if they have not the columns."""
        a, b = one.alias, two.alias
        made = [("k", "k", f"{a}.k + 1 = {b}.k", 60),
                ("k", "k", f"coalesce({a}.k, -1) = coalesce({b}.k, -1)", 15),
                ("id", "g", f"{a}.id % 7 = {b}.g", 7),
                ("fk", "id", f"abs({a}.fk) = {b}.id + 0", 100),
                ("d", "d", f"{a}.d::date = {b}.d::date", 10),
                ("w", "w", f"left({a}.w, 2) = left({b}.w, 2)", 200),
                ("k", "k", f"({a}.k, {a}.id % 2) = ({b}.k, {b}.id % 2)", 60),
                ("g", "g", f"{a}.g * 2 = {b}.g * 2", 7),
                ("t", "t", f"lower({a}.t::text COLLATE \"C\") ="
                 f" {b}.t::text COLLATE \"C\"", 20)]
        made = [(text, 1 / domain) for name, other, text, domain in made
                if one.has(name) and two.has(other)]
        return self.rng.choice(made) if made else None

    def inequality(self, one, two):
        """A join condition that is no equality, for others beside it."""
        a, b = one.alias, two.alias
        made = [f"{a}.id <> {b}.id", f"abs({a}.id - {b}.id) < 90"]
        for name, text in (("k", f"{a}.k < {b}.k"), ("v", f"{a}.v > {b}.v"),
                           ("g", f"({a}.g = {b}.g OR {a}.id < {b}.id)"),
                           ("k", f"{b}.k BETWEEN {a}.k AND {a}.k + 30"),
                           ("g", f"{a}.g + {b}.g <> 5"),
                           ("w", f"{a}.w || {b}.w LIKE '%a1%'")):
            if one.has(name) and two.has(name):
                made.append(text)
        return self.rng.choice(made)

    def condition(self, relation):
        """A condition on one relation."""
        a, number = relation.alias, self.rng.randint(0, 60)
        made = [f"{a}.id % 3 <> {number % 3}", f"{a}.id % 5 < 4",
                f"{a}.id < {number * 20}", f"{a}.id > {number}",
                f"{a}.id IN (1, 2, {number}, 99)"]
        if self.parameter and self.often(0.4):
            made = [f"{a}.{name} {sign} $1" for name in INT_COLUMNS
                    if relation.has(name) for sign in ("=", "<", ">=")]
        elif self.often(0.75):
            texts = {
                "k": (f"{a}.k < {number}", f"{a}.k = {number % 15}",
                      f"{a}.k <> 7", f"{a}.k IN (1, 4, {number})"),
                "g": (f"{a}.g = {number % 7}", f"{a}.g IS NOT NULL",
                      f"({a}.g > 2 OR {a}.id < {number})"),
                "s": (f"{a}.s = 7", f"{a}.s <> 7"),
                "t": (f"{a}.t::text LIKE 'k%' COLLATE \"C\"",
                      f"{a}.t IS NOT NULL"),
                "v": (f"{a}.v > {number}", f"{a}.v BETWEEN -10 AND 190"),
                "d": (f"{a}.d > date '2020-01-{1 + number % 9:02}'",),
                "w": (f"{a}.w LIKE '%{number % 10}%'",),
                "f": (f"{a}.f < {number}",), "o": (f"{a}.o IS NOT NULL",)}
            names = [name for name in texts if relation.has(name)]
            if names:
                made = texts[self.rng.choice(names)]
        return self.rng.choice(made)

    def semijoin(self, outer, small=False):
        """IN, EXISTS and their opposites."""
        inner = self.table(400 if small else 2000)
        on, _ = self.equality(outer, inner)
        also = f" AND {self.condition(inner)}" if self.often(0.5) else ""
        if self.often(0.15):
            also += f" AND {self.inequality(outer, inner)}"
        if self.often(0.15):
            third = self.table(400)
            also += f" AND EXISTS (SELECT FROM {third.sql} WHERE" \
                    f" {self.equality(inner, third)[0]})"
        exists = f"EXISTS (SELECT FROM {inner.sql} WHERE {on}{also})"
        names = [name for name in ("k", "g", "fk", "id", "d")
                 if outer.has(name)]
        name = self.rng.choice(names)
        one = f"{outer.alias}.{name}"
        where = f" WHERE {self.condition(inner)}" if self.often(0.6) else ""
        chosen = f"SELECT {inner.alias}.{name} FROM {inner.sql}{where}"
        pair = f"({outer.alias}.id % 4, {one}) IN (SELECT {inner.alias}.id" \
               f" % 4, {inner.alias}.{name} FROM {inner.sql}{where})"
        # NOT IN may be a scan for each row of the outer side.
        nots = [f"{one} NOT IN ({chosen})", f"{one} NOT IN (SELECT"
                f" {inner.alias}.{name} FROM {inner.sql} WHERE"
                f" {inner.alias}.{name} IS NOT NULL{also})"
                ] if outer.rows <= EACH_MAX else []
        return self.pick(exists, exists, exists, f"NOT {exists}",
                         f"NOT {exists}", f"NOT {exists}",
                         f"{one} IN ({chosen})", f"{one} IN ({chosen})",
                         f"{one} = ANY ({chosen})", pair, *nots)

    # ---- what is joined ----

    def join(self, relations, rows):
        """One more relation: what follows FROM, and the rows then."""
        outer = self.rng.choice(relations)
        if rows <= EACH_MAX and self.often(0.15):
            inner = self.lateral(outer)
            relations.append(inner)
            sql = inner.sql.replace("(LATERAL", "LATERAL (", 1)
            return f"{self.pick('JOIN', 'LEFT JOIN')} {sql} ON true", rows * 3
        kind = self.rng.choice(KINDS)
        if self.often(0.1):     # with itself
            again = [one for one in relations if one.table]
            inner = self.same_table(self.rng.choice(again)) if again \
                else self.table()
        else:
            inner = self.relation()
        conditions, part = self.on(outer, inner)
        after = rows * inner.rows * part
        if after > ROWS_MAX:    # too many: each row finds one at most
            conditions = [f"{inner.alias}.id = {outer.alias}.id"]
            after = max(rows, inner.rows)
        if kind != "JOIN":
            after = max(after, rows, inner.rows)
        if kind == "FULL JOIN":     # equalities alone can be
            after = rows * inner.rows / self.world.keys + rows + inner.rows
            name = self.pick("id", "k") if after <= ROWS_MAX and \
                outer.has("k") and inner.has("k") else "id"
            conditions = [f"{outer.alias}.{name} = {inner.alias}.{name}"]
        relations.append(inner)
        sql = inner.sql
        if kind in ("JOIN", "LEFT JOIN") and self.often(0.12):
            third = self.relation()
            more, part = self.on(inner, third)
            if after * third.rows * part <= ROWS_MAX:
                sql = f"({sql} {self.pick('JOIN', 'LEFT JOIN')} {third.sql}" \
                      f" ON {' AND '.join(more)})"
                after = max(after, after * third.rows * part)
                relations.append(third)
        return f"{kind} {sql} ON {' AND '.join(conditions)}", after

    def same_table(self, relation):
        alias = self.alias()
        return dataclasses.replace(
            relation, alias=alias, sql=f"{relation.table} {alias}")

    def on(self, outer, inner):
        """Join conditions, and the part of all pairs that they leave."""
        text, part = self.equality(outer, inner)
        conditions = [text]
        # Further ones that many pairs of rows fulfil
        for name in self.pick("", "", "", "", "", "g", "s", "gs", "o"):
            if outer.has(name) and inner.has(name):
                text, less = self.compared(outer, name, inner, name)
                conditions.append(text)
                part *= less
        if self.often(0.15):
            conditions.append(self.inequality(outer, inner))
        if self.often(0.15):
            conditions.append(self.condition(self.pick(outer, inner)))
        if self.often(0.03) and outer.rows * inner.rows < 3000:
            return [self.inequality(outer, inner)], 1.0
        return conditions, part

    def source(self):
        """(relations, tables, where, rows) of a query."""
        first = self.relation()
        relations, tables, rows = [first], [first.sql], max(first.rows, 1)
        where = []
        if self.often(0.3):
            limit = self.rng.randint(9, EACH_MAX)
            where.append(f"{first.alias}.id < {limit}")
            rows = first.rows = max(min(rows, limit), 1)
        for _ in range(self.pick(0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 4)):
            text, rows = self.join(relations, rows)
            tables.append(text)
        for relation in relations:
            if self.often(0.1):
                where.append(self.condition(relation))
        while len(relations) == 1 and not where or self.often(0.15):
            where.append(self.semijoin(self.rng.choice(relations)))
        if len(relations) == 1:
            where.append(self.semijoin(first))
        return relations, tables, where, rows

    # ---- what is selected ----

    def items(self, relations):
        made = []
        for relation in relations:
            names = self.rng.sample(list(relation.types), min(
                len(relation.types), self.pick(1, 2, 3)))
            made += [relation.shown(name) for name in names]
            if relation.table and self.often(0.1):
                made.append(self.pick(f"{relation.alias}::text",
                                      f"{relation.alias} IS NULL"))
        one, two = self.rng.choice(relations), self.rng.choice(relations)
        if self.often(0.3):
            made.append(self.pick(
                f"{one.alias}.id + {two.alias}.id",
                f"coalesce({one.alias}.id, {two.alias}.id)",
                f"CASE WHEN {self.condition(one)} THEN {two.alias}.id END"))
        if self.often(0.04):
            made.append(f"1000 / ({one.alias}.id - {self.rng.randint(1, 90)})")
        return made

    def ids(self, relations):
        return [key for relation in relations for key in relation.keys()]

    def total_order(self, relations):
        made = []
        if self.often(0.5):
            one = self.rng.choice(relations)
            name = self.rng.choice(list(one.types))
            if one.types[name] not in ("jsonb",):
                made.append(f"{one.alias}.{name}")
        made += self.rng.sample(self.ids(relations),
                                len(self.ids(relations)))
        return [text + self.pick("", "", "", " DESC", " NULLS FIRST",
                                 " DESC NULLS LAST") for text in made]

    def aggregate(self, relations):
        one = self.rng.choice(relations)
        name = self.rng.choice(list(one.types))
        kind, column = one.types[name], f"{one.alias}.{name}"
        number = self.rng.choice([n for n in ("id", "v", "f", "n")
                                  if one.has(n)])
        what = f"{one.alias}.{number}"
        ids = ", ".join(self.ids(relations))
        filtered = f" FILTER (WHERE {self.condition(one)})" \
            if self.often(0.12) else ""
        least = column if kind not in (
            "uuid", "bool", "bit(9)", "jsonb", "bytea", "macaddr",
            '"char"', "int4range", "name", "mood") else f"{one.alias}.id"
        least_kind = kind if least == column else "int"
        made = self.pick(
            "count(*)", "count(*)", f"count({column})", f"sum({what})",
            f"sum({what})", f"avg({what})", f"min({least})", f"max({least})",
            f"count(DISTINCT {column})", f"sum(DISTINCT {one.alias}.id)",
            f"array_agg({one.alias}.id ORDER BY {ids})",
            f"string_agg({one.alias}.id::text, ',' ORDER BY {ids} DESC)",
            f"bool_or({one.alias}.id % 2 = 0)", f"sum({what} * 2)",
            f"count(CASE WHEN {self.condition(one)} THEN 1 END)")
        if made.startswith(("min", "max")):
            return shown(made + filtered, least_kind)
        if made.startswith(("sum", "avg")):
            return f"trim_scale(({made}{filtered})::numeric)"
        return made + filtered

    def limit(self):
        return self.pick(
            f"LIMIT {self.rng.randint(0, 40)}",
            f"LIMIT {self.rng.randint(1, 400)}",
            f"LIMIT {self.rng.randint(1, 20)} OFFSET"
            f" {self.rng.randint(0, 9)}", f"OFFSET {self.pick(0, 3, 20)}",
            f"FETCH FIRST {self.rng.randint(1, 30)} ROWS WITH TIES")

    # ---- queries ----

    def query(self):
        way = self.rng.choice(WAYS)
        self.parameter = way == "PARAMETER"
        query = getattr(self, self.form or self.rng.choice(FORMS))()
        query.ctes = self.ctes
        query.loops = self.aliases <= 4 and all(
            table.rows < 1000 for table in self.used)
        if way == "PARAMETER":
            query.values = tuple(self.pick(
                str(self.rng.randint(0, 60)), "7", "NULL", "100", "-1")
                for _ in range(EXECUTIONS))
        elif way == "WRITES":
            query.writes = self.writes()
            if self.often(0.2):
                query.way = self.pick("CURSOR", "SAVEPOINT",
                                      "ISOLATION LEVEL SERIALIZABLE")
        else:
            query.way = way
        return query

    def writes(self):
        """Statements that change tables of the query."""
        made = []
        tables = [table for table in dict.fromkeys(self.used)
                  if table.kind() != "union" and table.rows < 2000
                  ] or [self.world.local]
        for _ in range(self.pick(1, 1, 2, 3)):
            table, number = self.rng.choice(tables), self.rng.randint(0, 4)
            insert = table.insert(100001 + 1000 * len(made),
                                  self.pick(1, 3, 200))
            if table.kind() == "remote view":   # it has no ctid
                made.append(insert)
                continue
            columns = {"v": "v + 1", "w": "'new ' || id"}
            if table.kind() not in PARTITIONED:
                columns.update(k=f"{number}", g="NULL")
            column = self.rng.choice(list(columns))
            made.append(self.pick(
                insert, insert, f"DELETE FROM {table.name} WHERE id % 5 ="
                f" {number}", f"UPDATE {table.name} SET {column} ="
                f" {columns[column]} WHERE id % 4 = {number}"))
        return made

    def rows(self):
        relations, tables, where, rows = self.source()
        query = Query(tables, self.items(relations), where)
        if self.often(0.4):
            query.order = self.total_order(relations)
            if self.often(0.7) and "1000 /" not in query.items[-1]:
                query.limit = self.limit()
        if rows > SHOWN_MAX and not query.limit.startswith(
                ("LIMIT", "FETCH")):
            query.wrap = "SELECT count(*), sum(hashtextextended(q::text, 0)" \
                         "::numeric) FROM ({}) q"
            if query.limit:     # OFFSET
                query.limit = ""
        elif self.often(0.08):
            columns = ", ".join(f"c{n}" for n in range(len(query.items)))
            query.wrap = f"SELECT * FROM ({{}}) q ({columns})" \
                         f" JOIN {self.pick('loc', 't2')} r ON r.id = 3"
        return query

    def groups(self):
        relations, tables, where, rows = self.source()
        keys = []
        for _ in range(self.pick(1, 1, 1, 2, 2, 3)):
            one = self.rng.choice(relations)
            names = [name for name in ("k", "g", "s", "t", "d", "o", "fk",
                                       "n", "id") if one.has(name)]
            name = self.rng.choice(names)
            keys.append((f"{one.alias}.{name}", one.types[name]))
        keys = list(dict.fromkeys(keys))
        items = [shown(*key) for key in keys]
        items += [self.aggregate(relations)
                  for _ in range(self.pick(0, 1, 1, 2, 3))]
        query = Query(tables, items, where, [key for key, _ in keys])
        one = self.rng.choice(relations)
        if self.often(0.2):
            query.having = [self.pick(
                f"count(*) > {self.rng.randint(0, 2)}",
                f"max({one.alias}.id) > {self.rng.randint(0, 40)}",
                f"sum({one.alias}.id) IS NOT NULL",
                f"count(DISTINCT {one.alias}.id) < 9")]
        if self.often(0.08):
            query.grouping = self.pick("ROLLUP", "CUBE")
        elif self.often(0.3) and not any("1000 /" in i for i in items):
            query.order = [key + self.pick("", " DESC", " NULLS FIRST")
                           for key in query.groups]
            if self.often(0.6):
                query.limit = self.limit()
        elif rows > ROWS_MAX or self.often(0.1):
            columns = ", ".join(f"c{n}" for n in range(len(items)))
            query.wrap = "SELECT count(*), sum(hashtextextended(q::text, 0)" \
                         f"::numeric) FROM ({{}}) q ({columns})"
        return query

    def whole(self):
        relations, tables, where, _ = self.source()
        return Query(tables, [self.aggregate(relations) for _ in range(
            self.pick(1, 2, 3, 5))], where)

    def sums(self, derived=("filtered", "limited", "grouped")):
        """Plain aggregates over inner joins: servers can do parts of them."""
        relations = [self.table()]
        tables, where = [relations[0].sql], []
        rows = relations[0].rows
        for _ in range(self.pick(1, 1, 1, 2, 3)):
            outer = self.rng.choice(relations)
            inner = getattr(self, self.pick("table", "table", "table",
                                            *derived))()
            on, part = self.equality(outer, inner)
            if rows * inner.rows * part > ROWS_MAX:
                on, part = f"{inner.alias}.id = {outer.alias}.id", 0
            rows = max(rows, rows * inner.rows * part)
            relations.append(inner)
            tables.append(f"JOIN {inner.sql} ON {on}")
        for relation in relations:
            if self.often(0.3):
                where.append(self.condition(relation))
        items, groups = [], []
        for _ in range(self.pick(0, 1, 1, 2)):
            one = self.rng.choice(relations)
            name = self.pick(*(name for name in ("id", "g", "k", "t", "d",
                                                 "s") if one.has(name)))
            groups.append(f"{one.alias}.{name}")
            items.append(one.shown(name))
        for _ in range(self.pick(1, 2, 3, 4)):
            one = self.rng.choice(relations)
            name = self.pick(*(name for name in ("id", "v", "f", "n")
                               if one.has(name)))
            what = f"{one.alias}.{name}"
            items.append(self.pick(
                "count(*)", f"count({what})", f"min({what})", f"max({what})",
                *[f"trim_scale({word}({what})::numeric)"
                  for word in ("sum", "sum", "avg")]))
        return Query(tables, items, where, groups)

    def moved(self):
        """The same over tables of servers, whose rows may all be moved."""
        self.tables = [table for table in self.world.tables
                       if table.is_remote()] or self.tables
        return self.sums(("table", "grouped"))

    def distinct(self):
        relations, tables, where, _ = self.source()
        one = self.rng.choice(relations)
        names = self.rng.sample(list(one.types), min(2, len(one.types)))
        return Query(tables, [one.shown(name) for name in names], where,
                     distinct=True)

    def subqueries(self):
        """Subqueries in the select list, for each of few rows."""
        relations, tables, where, rows = self.source()
        query = Query(tables, self.items(relations), where)
        outer = relations[0]
        if rows > EACH_MAX:
            query.tables = [outer.sql]
            query.items = [outer.shown("id")]
            query.where = [f"{outer.alias}.id < {EACH_MAX}"]
        for _ in range(self.pick(1, 1, 2)):
            inner = self.table(1000)
            on, _ = self.equality(outer, inner)
            a = inner.alias
            query.items.append(self.pick(
                f"(SELECT count(*) FROM {inner.sql} WHERE {on})",
                f"(SELECT trim_scale(sum({a}.v)) FROM {inner.sql} WHERE"
                f" {on} AND {self.condition(inner)})",
                f"EXISTS (SELECT FROM {inner.sql} WHERE {on})",
                f"ARRAY(SELECT {a}.id FROM {inner.sql} WHERE {on} ORDER BY"
                f" {a}.id LIMIT 9)",
                f"(SELECT max({a}.id) FROM {inner.sql} WHERE {on})",
                f"{outer.alias}.id IN (SELECT {a}.fk FROM {inner.sql})",
                f"(SELECT count(*) FROM {inner.sql})"))
        return query

    def combined(self):
        """Two joins by UNION, INTERSECT or EXCEPT."""
        parts = []
        for _ in range(2):
            relations, tables, where, _ = self.source()
            items = [f"{self.rng.choice(relations).alias}.id::bigint",
                     self.pick("1", f"{relations[0].alias}.id % 4")]
            parts.append(Query(tables, items, where).sql())
        word = self.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT",
                         "EXCEPT ALL")
        one, two = (part.replace("{", "{{").replace("}", "}}")
                    for part in parts)
        return Query(["loc"], ["1"], wrap=f"SELECT count(*), sum(o.n),"
                     f" sum(o.n * o.m) FROM ({one} {word} {two}) o (n, m)"
                     " CROSS JOIN ({} LIMIT 1) l")

    def window(self):
        relations, tables, where, rows = self.source()
        ids = ", ".join(self.ids(relations))
        one = self.rng.choice(relations)
        query = Query(tables, [*self.items(relations)[:2], self.pick(
            f"row_number() OVER (ORDER BY {ids})",
            f"count(*) OVER (PARTITION BY {one.alias}.id)",
            f"trim_scale(sum({one.alias}.id) OVER (ORDER BY {ids} ROWS 3"
            " PRECEDING))")], where)
        if rows > SHOWN_MAX:
            query.wrap = "SELECT count(*), sum(hashtextextended(q::text, 0)" \
                         "::numeric) FROM ({}) q"
        return query
