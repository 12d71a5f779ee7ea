"""Random cases of writing for scripts/check_writes.py.

A case is a schema c on two shards and a coordinator, and a script of statements that write to its foreign tables.
It is a function of the random numbers alone. What may differ between two correct ways to write is not asked for: the
values of sequences after an error (they are set anew), and how many rows a statement of the remote has if batch_size
is above 1."""
import re

# Types of columns: what they are called, and a value of the row i.
TYPES = {
    "int": "(i * 7919) % 100000 - 500",
    "bigint": "i * 1234567890123",
    "smallint": "(i % 60000 - 30000)::smallint",
    "numeric": "CASE i % 9 WHEN 0 THEN 'NaN'::numeric WHEN 1 THEN power(10::numeric, i % 50) ELSE i / 7.0 END",
    "numeric(8,2)": "(i % 100000) / 8.0",
    "float8": "CASE i % 9 WHEN 0 THEN '-Infinity' WHEN 1 THEN '-0' WHEN 2 THEN 'NaN' ELSE i / 3.0 END::float8",
    "float4": "(i % 1000) / 8.0::float4",
    "bool": "i % 3 = 0",
    "text": "CASE i % 7 WHEN 0 THEN '' WHEN 1 THEN E'tab\\t nl\\n bs\\\\ q\\'' WHEN 2 THEN 'é€😀' || i WHEN 3 THEN '\\N' "
            "ELSE 'word ' || i % 20 END",
    "varchar(12)": "left(md5(i::text), i % 13)",
    "char(6)": "'x' || i % 5",
    "name": "('n' || i % 50)::name",
    "date": "date '2020-01-01' + i % 3000",
    "timestamp": "timestamp '2020-01-01' + i * interval '17 minutes 3 ms'",
    "timestamptz": "timestamptz '1999-01-01 00:00+00' + i * interval '1 day 17 minutes'",
    "time": "time '00:00' + i * interval '1.5 s'",
    "timetz": "timetz '00:00+02' + i * interval '1.5 s'",
    "interval": "(i % 40) * interval '1 mon -1 day 3 hours'",
    "uuid": "md5(i::text)::uuid",
    "bytea": "decode(md5(i::text), 'hex')",
    "inet": "inet '10.0.0.0' + i",
    "macaddr": "('08:00:2b:01:02:' || lpad(to_hex(i % 256), 2, '0'))::macaddr",
    "bit(5)": "(i % 32)::bit(5)",
    "varbit": "(i % 9)::bit(6)::varbit",
    "int[]": "CASE i % 5 WHEN 0 THEN '{}' ELSE ARRAY[i, NULL, i % 5] END",
    "text[]": "ARRAY['a', 'b,\"' || i % 3, NULL, '']",
    "json": "json_build_object('k', i % 9)",
    "jsonb": "jsonb_build_object('k', i % 9, 'n', NULL)",
    "int4range": "int4range(i % 10, i % 10 + 3)",
    "point": "point(i, i / 3.0)",
    "tsvector": "to_tsvector('simple', 'a' || i % 7 || ' b')",
    "oid": "(i % 5000 + 1)::oid",
    "xml": "('<a n=\"' || i % 7 || '\"/>')::xml",
    "money": "(i % 1000)::money",
    "c.positive": "(i % 500 + 1)::c.positive",
    "c.word": "('w' || i % 30)::c.word",
    "c.mood": "(ARRAY['sad', 'ok', 'it''s']::c.mood[])[i % 3 + 1]",
    "c.pair": "ROW(i % 8, 'x,' || i % 3)::c.pair",
    "c.mood[]": "ARRAY['ok', 'sad']::c.mood[]",
    "c.positive[]": "ARRAY[i % 5 + 1]::c.positive[]",
}

# Types that the remote column has, where the local one has another: (local, remote, values or None).
MISMATCHES = [
    ("int", "bigint", None), ("bigint", "int", "i * 3::bigint"), ("int", "text", None), ("text", "int", "(i % 77)::text"),
    ("text", "c.mood", "(ARRAY['sad', 'ok'])[i % 2 + 1]"), ("text", "varchar(8)", "'v' || i % 999"),
    ("varchar(20)", "char(8)", "'c' || i % 99"), ("numeric", "numeric(9,2)", "(i % 1000) / 7.0"), ("numeric", "float8", "i / 8.0"),
    ("timestamp", "timestamptz", None), ("timestamptz", "timestamp", None), ("date", "timestamp", None),
    ("int", "c.positive", "i % 100 + 1"), ("text", "jsonb", "'{\"a\": ' || i || '}'"), ("text", "int[]", "'{1,' || i || '}'"),
    ("int", "numeric", None), ("float8", "numeric", "i / 16.0"), ("bool", "text", None), ("text", "bytea", "'\\x0' || i % 9"),
    ("text", "c.pair", "'(1,b)'"), ("c.mood", "text", None), ("c.positive", "int", None), ("smallint", "int", None),
    ("text", "interval", "i || ' days'"), ("float4", "float8", None), ("float8", "float4", "i / 4.0::float8"),
    ("text", "name", "'n' || i % 9"), ("char(6)", "text", None), ("text", "timestamptz", "'2020-01-0' || i % 9 + 1"),
]

# Bad values: (local type, remote type) -> a value that the remote refuses.
BAD_VALUES = {
    ("bigint", "int"): "3000000000", ("text", "int"): "'x1'", ("text", "c.mood"): "'angry'", ("text", "varchar(8)"): "'longer than 8'",
    ("varchar(20)", "char(8)"): "'longer than 8'", ("numeric", "numeric(9,2)"): "1e12", ("int", "c.positive"): "-3",
    ("text", "jsonb"): "'{oops'", ("text", "int[]"): "'{1,b}'", ("text", "bytea"): "'\\xzz'", ("text", "c.pair"): "'(1,b'",
    ("text", "interval"): "'1 dayz'", ("text", "timestamptz"): "'2020-02-31'", ("float8", "float4"): "1e300",
}

TYPES_SQL = """CREATE DOMAIN c.positive AS int CHECK (VALUE > 0);
CREATE DOMAIN c.word AS text CONSTRAINT short_word CHECK (length(VALUE) < 9);
CREATE TYPE c.mood AS ENUM ('sad', 'ok', 'it''s');
CREATE TYPE c.pair AS (x int, y text);
"""

# What a shard has besides the tables. state has a line for each table and sequence; command runs what is inserted.
SHARD_SQL = """CREATE TABLE c.parent (p int PRIMARY KEY, note text);
INSERT INTO c.parent SELECT n, 'parent ' || n FROM generate_series(0, 9) n;
CREATE TABLE c.audit (n int GENERATED ALWAYS AS IDENTITY, what text);
CREATE FUNCTION c.state() RETURNS TABLE (name text, state text) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE t record;
BEGIN
    FOR t IN SELECT c.oid, c.relname, c.relkind FROM pg_class c WHERE relnamespace = 'c'::regnamespace
        AND (relkind = 'r' AND NOT relispartition OR relkind IN ('S', 'p')) ORDER BY relname
    LOOP
        name := t.relname;
        IF t.relkind = 'S' THEN
            EXECUTE format('SELECT last_value || '' '' || is_called FROM c.%I', t.relname) INTO state;
        ELSIF t.relname = 'audit' THEN    -- numbers differ after errors that were caught
            SELECT count(*) || ' ' || md5(coalesce(string_agg(what, ',' ORDER BY n), '')) FROM c.audit INTO state;
        ELSE
            EXECUTE format('SELECT count(*) || '' '' || md5(coalesce(string_agg(r::text, '','' ORDER BY r::text COLLATE "C"), '''')) FROM c.%I r',
                           t.relname) INTO state;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
CREATE VIEW c.state AS SELECT * FROM c.state();
CREATE VIEW c.command AS SELECT ''::text AS command;
CREATE FUNCTION c.command() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = c, pg_catalog AS $$
BEGIN
    EXECUTE NEW.command;
    RETURN NEW;
END $$;
CREATE TRIGGER command INSTEAD OF INSERT ON c.command FOR EACH ROW EXECUTE FUNCTION c.command();
CREATE FUNCTION c.restart(start bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE s name;
BEGIN
    FOR s IN SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'c'::regnamespace LOOP
        PERFORM setval(format('c.%I', s), start);
    END LOOP;
END $$;
CREATE FUNCTION c.modify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.k % 17 = 5 THEN RETURN NULL; END IF;
    IF NEW.k % 13 = 5 THEN NEW.k := NEW.k + 1000000; END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION c.leave_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN CASE WHEN NEW.k % 17 <> 5 THEN NEW END;
END $$;
CREATE FUNCTION c.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = c AS $$
BEGIN
    IF TG_LEVEL = 'STATEMENT' THEN
        INSERT INTO c.audit (what) VALUES (TG_WHEN || TG_OP);
        RETURN NULL;
    END IF;
    INSERT INTO c.audit (what) VALUES (TG_WHEN || TG_OP || CASE WHEN TG_OP <> 'INSERT' THEN OLD.k ELSE 0 END || ' ' ||
                                       CASE WHEN TG_OP <> 'DELETE' THEN NEW.k ELSE 0 END);
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE FUNCTION c.peek() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = c AS $$
DECLARE n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM c.%I', TG_TABLE_NAME) INTO n;
    INSERT INTO c.audit (what) VALUES (TG_OP || n);
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE FUNCTION c.complain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.k % 1000 = 666 THEN
        RAISE EXCEPTION 'refused %', NEW.k USING DETAIL = 'detail of ' || NEW.k, HINT = 'another one', ERRCODE = 'PX666', COLUMN = 'k';
    END IF;
    RETURN NEW;
END $$;
"""

COORDINATOR_SQL = """CREATE SEQUENCE c.local_numbers;
CREATE TABLE c.source AS SELECT i FROM generate_series(1, 400) i;
CREATE FUNCTION c.here(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN x; END $$;
CREATE FUNCTION c.volatile_here(x int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN x; END $$;
CREATE FUNCTION c.seen(x int) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN (SELECT count(*) FROM c.t WHERE k <= x); END $$;
CREATE FUNCTION c.seen_stable(x int) RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT count(*) FROM c.t WHERE k <= x); END $$;
CREATE FUNCTION c.sub(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF x % 3 = 0 THEN RAISE EXCEPTION 'caught here'; END IF;
    RETURN x;
EXCEPTION WHEN raise_exception THEN
    RETURN x;
END $$;
CREATE FUNCTION c.nudge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_LEVEL = 'STATEMENT' THEN RETURN NULL; END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    IF TG_WHEN = 'BEFORE' AND NEW.k % 10 = 7 THEN NEW.k := NEW.k + 500000; END IF;
    RETURN NEW;
END $$;
"""

SETTINGS = {
    "pg_exchange.min_write_rows": ["0", "0", "0", "1", "5", "128"], "pg_exchange.compression": ["auto", "none", "fast", "high_compression"],
    "pg_exchange.batch_rows_max": ["4096", "4096", "1", "7", "100"], "pg_exchange.receive_buffer": ["64MB", "64MB", "1MB"],
    "pg_exchange.write_streams": ["0", "0", "1"], "pg_exchange.remote_statistics": ["on", "on", "off"], "pg_exchange.transport": ["auto", "auto", "stream", "session"],
    "enable_hashjoin": ["on", "off"], "datestyle": ["ISO", "SQL, DMY", "German"], "intervalstyle": ["postgres", "sql_standard"],
    "extra_float_digits": ["1", "-5"], "bytea_output": ["hex", "escape"], "timezone": ["UTC", "America/New_York"],
}
BATCH_SIZES = [1, 1, 7, 100, 1000]


class Column:
    """A column of the target, here and there."""

    def __init__(self, name, local, remote, value):
        self.name, self.local, self.remote, self.value = name, local, remote, value
        self.remote_name, self.extra, self.here, self.local_extra = name, "", True, ""
        self.generated, self.not_null, self.bad = False, False, []

    def remote_sql(self):
        return f'"{self.remote_name}" {self.remote}{self.extra}'

    def remote_plain(self):
        """The column of a foreign table at the remote."""
        return f'"{self.remote_name}" {self.remote}' + (self.local_extra if self.generated else "")

    def local_sql(self):
        option = f" OPTIONS (column_name '{self.remote_name}')" if self.remote_name != self.name else ""
        return f'"{self.name}" {self.local}{option}{self.local_extra}'

    def local_plain(self):
        return f'"{self.name}" {self.local}{self.local_extra}'


class Case:
    """One schema and script; each part is made once, by __init__."""

    def __init__(self, rng, folder):
        self.rng, self.folder = rng, folder
        self.shard, self.here, self.script, self.statements = ["", ""], "", "", 0
        self.batch_size = rng.choice(BATCH_SIZES)
        self.server = "r" if rng.random() < 0.15 else "s"     # r: as the user writer
        self.settings = "".join(f"SET {name} = '{rng.choice(choices)}';\n" for name, choices in SETTINGS.items())
        self.shape = self.pick("plain", "plain", "plain", "plain", "plain", "partitions", "partitions", "partitioned there", "view", "child", "hop")
        self.make_columns()
        self.make_table()
        count = rng.choice([1, 2, 3, 4, 5])
        while self.statements < count:
            self.make_step()

    def pick(self, *choices):
        return self.rng.choice(choices)

    def often(self, probability):
        return self.rng.random() < probability

    # ---- the table -----------------------------------------------------------------------

    def make_columns(self):
        key = Column("k", "int", "int", "i")
        self.columns, self.key = [key], key
        for number in range(self.pick(1, 2, 3, 5, 8)):
            name = self.pick("a", "b", "Col ", "é") + str(number)
            if self.often(0.3):
                local, remote, value = self.rng.choice(MISMATCHES)
                column = Column(name, local, remote, value or TYPES[local])
                if (local, remote) in BAD_VALUES:
                    column.bad.append(BAD_VALUES[local, remote])
            else:
                local = self.rng.choice(list(TYPES))
                column = Column(name, local, local, TYPES[local])
                if local == "text" and self.often(0.3):
                    column.value = "repeat(md5(i::text), i % 70)"
            if self.often(0.1):
                column.remote_name = f"there {number}"
            self.columns.append(column)
            if self.often(0.15):
                column.not_null, column.extra = True, column.extra + " NOT NULL"
                if column.local != "c.word":
                    column.bad.append("NULL")
        if self.often(0.25):
            column = Column("chk", "int", "int", "i % 50")
            column.extra = " CONSTRAINT chk_small CHECK (chk < 1000)"
            column.bad += ["5000"]
            self.columns.append(column)
        if self.often(0.2):
            column = Column("f", "int", "int", "i % 10")
            column.extra = " REFERENCES c.parent" + self.pick("", "", " DEFERRABLE INITIALLY DEFERRED", " ON DELETE CASCADE")
            column.bad += ["77"]
            self.columns.append(column)
        if self.often(0.15) and self.shape != "partitioned there":
            column = Column("u", "int", "int", "i + 5")
            column.extra = " UNIQUE" + self.pick("", "", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED")
            column.bad += ["i + 3"]
            self.columns.append(column)
        self.rng.shuffle(self.columns)
        self.add_special_columns()

    def add_special_columns(self):
        """Columns that no statement gives a value."""
        if self.often(0.15):
            column = Column("gen", "int", "int", None)
            column.extra = " GENERATED ALWAYS AS (k * 2) STORED"
            column.generated, column.here = True, self.often(0.7)
            column.local_extra = " GENERATED ALWAYS AS (k * 2) STORED"
            self.columns.append(column)
        if self.often(0.1):
            column = Column("inv", "numeric", "numeric", None)
            column.extra, column.generated, column.here = " GENERATED ALWAYS AS (100.0 / (k % 1000 - 666)) STORED", True, False
            self.columns.append(column)
        if self.often(0.2):
            column = Column("ident", "bigint", "bigint", None)
            column.extra, column.generated, column.here = f" GENERATED {self.pick('ALWAYS', 'BY DEFAULT')} AS IDENTITY", True, False
            self.columns.append(column)
        if self.often(0.2):
            column = Column("dflt", "text", "text", None)
            column.extra, column.generated, column.here = " DEFAULT " + self.pick("'fixed'", "nextval('c.numbers')::text", "CURRENT_USER"), True, False
            self.columns.append(column)
        if self.often(0.15):
            column = Column("ldflt", "int", "int", None)
            column.local_extra = " DEFAULT " + self.pick("42", "nextval('c.local_numbers')::int")
            self.columns.insert(self.rng.randrange(len(self.columns) + 1), column)

    def given(self):
        """Columns that a statement may give a value."""
        return [column for column in self.columns if column.value and column.here]

    def remote_table(self, name, shard, tail=""):
        """A table at a shard."""
        # Tables of a server that share a sequence would see the order of statements.
        columns = [column.remote_sql().replace("c.numbers", f"c.numbers_{name}") for column in self.columns]
        self.shard[shard] += f"CREATE SEQUENCE c.numbers_{name};\n"
        constraints = []
        if self.primary_key:
            constraints.append(f'PRIMARY KEY (k){self.pk_deferrable}')
        self.shard[shard] += f"CREATE TABLE c.{name} ({', '.join(columns + constraints)}){tail};\n"

    def make_table(self):
        self.primary_key = self.often(0.6)
        self.pk_deferrable = self.pick("", "", "", " DEFERRABLE INITIALLY DEFERRED")
        self.bad_key = []
        if self.primary_key:
            self.bad_key.append("i - 1")
        for shard in range(2):
            self.shard[shard] += TYPES_SQL + SHARD_SQL
        self.here += TYPES_SQL + COORDINATOR_SQL
        options = f"batch_size '{self.batch_size}'" if self.batch_size > 1 or self.often(0.2) else ""
        tables = []
        if self.shape == "partitions":
            tables = self.make_partitions(options)
        elif self.shape == "partitioned there":
            self.remote_table("t", 0, " PARTITION BY RANGE (k)")
            self.shard[0] += "CREATE TABLE c.t_low PARTITION OF c.t FOR VALUES FROM (MINVALUE) TO (20100);\n"
            self.shard[0] += f"CREATE TABLE c.t_high PARTITION OF c.t FOR VALUES FROM (20100) TO ({self.pick('MAXVALUE', '40200')});\n"
        elif self.shape == "view":
            self.remote_table("base", 0)
            tables = [(0, "base")]
            check = self.pick("", " WITH CHECK OPTION")
            self.shard[0] += f"CREATE VIEW c.t AS SELECT * FROM c.base WHERE k % 1000 <> 667{check};\n"
            self.bad_key.append("i / 1000 * 1000 + 667") if check else None
        elif self.shape == "hop":
            self.remote_table("t", 1)
            tables = [(1, "t")]
            columns = [column.remote_plain() for column in self.columns if not column.generated or column.here]
            option = f" OPTIONS (batch_size '{self.pick(1, 7)}')"
            self.shard[0] += f"CREATE FOREIGN TABLE c.t ({', '.join(columns)}) SERVER hop{option};\n"
        else:
            self.remote_table("t", 0)
        tables = tables or [(0, "t")]
        if self.shape == "child":
            self.shard[0] += "CREATE TABLE c.kid () INHERITS (c.t);\n"
        if self.shape != "partitions":
            columns = [column.local_sql() for column in self.columns if column.here]
            if self.often(0.2):
                self.rng.shuffle(columns)
            self.here += f"CREATE FOREIGN TABLE c.t ({', '.join(columns)}) SERVER {self.server}0 {f'OPTIONS ({options})' if options else ''};\n"
        if self.often(0.15):
            self.here += "ALTER TABLE c.t ADD COLUMN gone int; ALTER TABLE c.t DROP COLUMN gone;\n"
        if self.often(0.15) and self.shape == "plain":
            self.shard[0] += "ALTER TABLE c.t ADD COLUMN gone int; ALTER TABLE c.t DROP COLUMN gone;\n"
        for shard, name in tables:
            self.add_remote_rules(shard, name)
        self.add_source(next((name for shard, name in tables if shard == 0), "t"))
        if self.shape == "partitioned there" and self.often(0.5):
            self.add_trigger_below(self.pick("t_low", "t_high"))
        self.add_local_rules()
        if self.shape == "partitions" and self.often(0.2):
            self.here += (f"CREATE TRIGGER nudge_some {self.pick('BEFORE', 'AFTER')} INSERT ON c.t{self.pick(0, 1, 2)} "
                          "FOR EACH ROW EXECUTE FUNCTION c.nudge();\n")
        for shard in range(2):
            self.shard[shard] += "GRANT ALL ON ALL TABLES IN SCHEMA c TO writer; GRANT ALL ON ALL SEQUENCES IN SCHEMA c TO writer; GRANT USAGE ON SCHEMA c TO writer;\n"
            if self.server == "r" and self.often(0.1):
                self.shard[shard] += f"REVOKE {self.pick('INSERT', 'UPDATE', 'DELETE', 'SELECT')} ON ALL TABLES IN SCHEMA c FROM writer;\n"
                self.shard[shard] += "GRANT ALL ON c.state, c.command TO writer;\n"
            self.here += (f"CREATE FOREIGN TABLE c.state{shard} (name text, state text) SERVER s{shard} OPTIONS (table_name 'state');\n"
                          f"CREATE FOREIGN TABLE c.command{shard} (command text) SERVER {self.server}{shard} OPTIONS (table_name 'command');\n")

    def add_source(self, name):
        """Rows of the first shard, by a function that looks at the target there."""
        self.shard[0] += (f"CREATE FUNCTION c.looks() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN (SELECT count(*) FROM c.{name}); END';\n"
                          "CREATE VIEW c.there AS SELECT i, c.looks() AS seen FROM generate_series(1, 700) i;\n")
        self.here += f"CREATE FOREIGN TABLE c.there (i int, seen bigint) SERVER s0 OPTIONS (fetch_size '{self.pick(100, 100, 7, 1000)}');\n"

    def make_partitions(self, options):
        """Partitions at two servers, and one here. The bounds of hash partitions would depend on the platform."""
        by = self.pick("RANGE (k)", "LIST ((k % 3))")
        bounds = ["FROM (MINVALUE) TO (10100)", "FROM (10100) TO (20050)", f"FROM (20050) TO ({self.pick('MAXVALUE', '40200')})"] \
            if by.startswith("RANGE") else ["IN (0)", "IN (1)", f"IN (2{self.pick('', ', NULL')})"]
        columns = [column.local_plain() for column in self.columns if column.here]
        self.here += f"CREATE TABLE c.t ({', '.join(columns)}) PARTITION BY {by};\n"
        local, tables = self.pick(None, None, 2), []
        for number, bound in enumerate(bounds):
            part = ("FROM" in bound and f"FOR VALUES {bound}") or f"FOR VALUES {bound}"
            if number == local:
                self.here += f"CREATE TABLE c.t{number} PARTITION OF c.t {part};\n"
                continue
            server = number % 2
            self.remote_table(f"t{number}", server)
            tables.append((server, f"t{number}"))
            names = {column.name: column for column in self.columns if column.here and column.remote_name != column.name}
            wanted = ", ".join(filter(None, [options]))
            if self.often(0.3):     # with its columns in another order
                shuffled = self.rng.sample(columns, len(columns))
                self.here += f"CREATE FOREIGN TABLE c.t{number} (gone int, {', '.join(shuffled)}) SERVER {self.server}{server} {f'OPTIONS ({wanted})' if wanted else ''};\n"
                self.here += f"ALTER TABLE c.t{number} DROP COLUMN gone; ALTER TABLE c.t ATTACH PARTITION c.t{number} {part};\n"
            else:
                self.here += f"CREATE FOREIGN TABLE c.t{number} PARTITION OF c.t {part} SERVER {self.server}{server} {f'OPTIONS ({wanted})' if wanted else ''};\n"
            for column in names.values():
                self.here += f"ALTER FOREIGN TABLE c.t{number} ALTER COLUMN \"{column.name}\" OPTIONS (column_name '{column.remote_name}');\n"
        return tables

    def add_remote_rules(self, shard, name):
        """Triggers, indexes and policies at the shard."""
        events = self.pick("INSERT", "INSERT OR UPDATE", "INSERT OR UPDATE OR DELETE")
        if self.often(0.12):
            kind = self.pick("AFTER", "BEFORE", "AFTER")
            self.shard[shard] += f"CREATE TRIGGER zz_note {kind} {events} ON c.{name} FOR EACH ROW EXECUTE FUNCTION c.note();\n"
        if self.often(0.08) and self.shape not in ("partitioned there",):
            self.shard[shard] += f"CREATE TRIGGER modify BEFORE INSERT ON c.{name} FOR EACH ROW EXECUTE FUNCTION c.modify();\n"
        if self.often(0.1):
            self.shard[shard] += f"CREATE TRIGGER complain {self.pick('BEFORE', 'AFTER')} INSERT OR UPDATE ON c.{name} FOR EACH ROW EXECUTE FUNCTION c.complain();\n"
            self.bad_key.append("i / 1000 * 1000 + 666")
        if any(column.name == "inv" for column in self.columns):
            self.bad_key.append("i / 1000 * 1000 + 666")
        if self.batch_size == 1 and self.often(0.1):
            self.shard[shard] += f"CREATE TRIGGER note_all {self.pick('AFTER', 'BEFORE')} {events} ON c.{name} EXECUTE FUNCTION c.note();\n"
        if self.batch_size == 1 and self.often(0.1):
            self.shard[shard] += f"CREATE TRIGGER peek {self.pick('AFTER', 'BEFORE')} {events} ON c.{name} FOR EACH ROW EXECUTE FUNCTION c.peek();\n"
        if self.often(0.15):
            self.shard[shard] += f"CREATE INDEX ON c.{name} (k, (k % 7));\n"
        if self.often(0.07) and self.shape != "partitioned there":
            self.shard[shard] += f"ALTER TABLE c.{name} ADD CONSTRAINT no_twins_{name} EXCLUDE (k WITH =);\n"
            self.bad_key.append("i - 2")
        if self.often(0.05):
            self.shard[shard] += f"CREATE RULE twice AS ON INSERT TO c.{name} DO ALSO INSERT INTO c.audit (what) VALUES ('rule ' || NEW.k);\n"
        if self.often(0.04):
            self.shard[shard] += f"CREATE RULE sieve AS ON INSERT TO c.{name} WHERE NEW.k % 7 = 3 DO INSTEAD NOTHING;\n"
        if self.often(0.05) and self.shape == "plain":
            self.shard[shard] += (f"CREATE TABLE c.follower (k int REFERENCES c.{name} ON DELETE {self.pick('CASCADE', 'RESTRICT', 'SET NULL')} ON UPDATE CASCADE);\n"
                                  if self.primary_key and not self.pk_deferrable else "")
        if self.often(0.5 if self.server == "r" else 0.05):
            self.shard[shard] += (f"ALTER TABLE c.{name} ENABLE ROW LEVEL SECURITY;\n"
                                  f"CREATE POLICY see ON c.{name} USING (k % 100 <> 13) WITH CHECK (k % 1000 <> 668);\n")
            self.bad_key.append("i / 1000 * 1000 + 668")

    def add_trigger_below(self, name):
        """A trigger of a partition at the shard."""
        when, function = self.pick(("BEFORE", "leave_out"), ("AFTER", "leave_out"), ("AFTER", "note"), ("AFTER", "complain"))
        self.shard[0] += f"CREATE TRIGGER below {when} INSERT ON c.{name} FOR EACH ROW EXECUTE FUNCTION c.{function}();\n"
        if function == "complain":
            self.bad_key.append("i / 1000 * 1000 + 666")

    def add_local_rules(self):
        self.target = "c.t"
        if self.often(0.07):
            self.here += f"CREATE TRIGGER nudge {self.pick('BEFORE', 'AFTER')} {self.pick('INSERT', 'INSERT OR UPDATE OR DELETE')} ON c.t {self.pick('FOR EACH ROW', 'FOR EACH STATEMENT')} EXECUTE FUNCTION c.nudge();\n" \
                if self.shape != "partitions" else "CREATE TRIGGER nudge AFTER INSERT ON c.t EXECUTE FUNCTION c.nudge();\n"
        if self.often(0.07):
            self.here += f"CREATE VIEW c.v AS SELECT * FROM c.t WHERE k % 1000 <> 669{self.pick('', ' WITH CHECK OPTION')};\n"
            self.target = "c.v"
            self.bad_key.append("i / 1000 * 1000 + 669")

    # ---- statements ----------------------------------------------------------------------

    def rows(self):
        """(first, last): usually new, sometimes in the way of rows that are there."""
        count = self.pick(1, 2, 3, 10, 50, 128, 129, 300, 300, 300, 300, 2500)
        first = 10000 * (self.statements + 1) if self.often(0.8) else 10000 * max(self.statements, 1)
        return first, first + count - 1

    def bad_rows(self, first, last, columns):
        """{column: [(row, value)]} of rows that somebody refuses; None is an error of the source."""
        bad = {}
        if self.often(0.55):
            return bad
        if self.often(0.25):
            return {None: [(self.rng.randint(first, last), "")]}
        possible = [(column, value) for column in columns for value in column.bad] + [(self.key, value) for value in self.bad_key]
        # Which of two faults a statement of many rows meets first depends on its plan: a cast may be folded when it is planned.
        if self.batch_size > 1 and possible:
            possible = [self.rng.choice(possible)]
            # Rows may be faults by their keys: these were there before, or triggers and policies refuse them.
            if (first <= 10000 * self.statements or last - first >= 660) and possible[0][1] in BAD_VALUES.values():
                return bad
        for _ in range(self.pick(1, 1, 2, 3)):
            if possible:
                column, value = self.rng.choice(possible)
                bad.setdefault(column, []).append((self.rng.randint(first, last), value))
        return bad

    def expression(self, column, number, bad):
        value = column.value
        # Rows that the statement has written so far; with batches, how many that are is no promise.
        if self.batch_size == 1 and column.local in ("int", "bigint") and column.remote in ("int", "bigint") and self.often(0.06) \
                and column is not self.key and not column.bad:
            value = self.pick("c.seen(i)", "c.seen_stable(i)", "(SELECT count(*) FROM c.t y WHERE y.k <= i)", "(SELECT count(*) FROM c.t y)",
                              "(SELECT count(*) FROM c.state0 y, c.t z WHERE z.k < i)")
        if not column.not_null and column is not self.key and self.often(0.7):
            value = f"CASE WHEN i % 11 <> {number} THEN {value} END"
        for row, wrong in bad.get(column, []):
            value = f"CASE WHEN i = {row} THEN {wrong} ELSE {value} END"
        return f"({value})::{column.local}"

    def select(self, columns, bad, first, last, order=True):
        expressions = [self.expression(column, number, bad) for number, column in enumerate(columns)]
        source = f"generate_series({first}, {last}) i"
        if self.often(0.3) and last - first < 400:
            source = f"(SELECT i + {first - 1} AS i FROM c.source WHERE i <= {last - first + 1} OFFSET 0) s"
        elif order and self.often(0.3) and last - first < 400:
            source = f"(SELECT i + {first - 1} AS i, seen FROM c.there WHERE i <= {last - first + 1} OFFSET 0) s"
        where = ""
        for row, _ in bad.get(None, []):
            where = f" WHERE 1 / (i - {row}) IS NOT NULL"
        if self.often(0.05):
            where += (" AND " if where else " WHERE ") + self.pick("c.volatile_here(i) = i", "c.sub(i) = i")
        if "c.there" in source:     # unsorted, so that rows are written while others are read
            return f"SELECT {', '.join(expressions)} FROM {source}{where}{' AND' if where else ' WHERE'} (i + seen / 50) % 5 > 0"
        return f"SELECT {', '.join(expressions)} FROM {source}{where}" + (" ORDER BY i" if order and "SELECT" in source else "")

    def some_columns(self):
        columns = self.given()
        if self.often(0.25):
            columns = [column for column in columns if column is self.key or column.not_null or self.often(0.6)]
        if self.often(0.2):
            self.rng.shuffle(columns)
        return columns

    def insert(self, returning=True):
        columns, (first, last) = self.some_columns(), self.rows()
        bad = self.bad_rows(first, last, columns)
        text = f"INSERT INTO {self.target} ({', '.join(self.quoted(columns))}) "
        if self.often(0.2) and last - first < 60 and None not in bad:
            text += "VALUES " + ", ".join(
                "(" + ", ".join(self.literal(column, number, bad, row) for number, column in enumerate(columns)) + ")" for row in range(first, last + 1))
        else:
            text += self.select(columns, bad, first, last)
        if self.often(0.12) and not (bad and self.batch_size > 1):     # the clause is a fault where constraints are deferrable
            text += " ON CONFLICT DO NOTHING"
        if returning and self.often(0.07):
            text += " RETURNING k"
        return text

    def literal(self, column, number, bad, row):
        wrong = [value for at, value in bad.get(column, []) if at == row]
        value = wrong[0] if wrong else column.value
        if not wrong and not column.not_null and column is not self.key and row % 11 == number:
            return "NULL"
        return f"(SELECT ({value})::{column.local} FROM (VALUES ({row})) x(i))"

    def quoted(self, columns):
        return [f'"{column.name}"' for column in columns]

    def copy(self):
        """Rows go to a file first; a local error is a word in place of a number there."""
        columns, (first, last) = self.some_columns(), self.rows()
        bad = self.bad_rows(first, last, columns)
        broken = [row for row, _ in bad.pop(None, [])]
        path = f"{self.folder}/rows{self.statements}"
        csv = self.pick("", "", " (FORMAT csv)", " (FORMAT binary)")
        rows = self.select(columns, bad, first, last)
        if broken and "binary" not in csv:
            expressions = [f"CASE WHEN i = {broken[0]} THEN 'broken' ELSE ({self.expression(c, n, bad)})::text END" if c is self.key
                           else self.expression(c, n, bad) for n, c in enumerate(columns)]
            rows = f"SELECT {', '.join(expressions)} FROM generate_series({first}, {last}) i"
        where = f" WHERE k % {self.pick(2, 5)} = 0" if self.often(0.15) else ""
        self.script += f"COPY ({rows}) TO '{path}'{csv};\n"
        return f"COPY {'c.t'} ({', '.join(self.quoted(columns))}) FROM '{path}'{csv}{where}"

    def update(self):
        columns = [column for column in self.given() if column is not self.key] or [self.key]
        column = self.key if self.often(0.1) else self.rng.choice(columns)
        first, last = self.rows()
        row = self.rng.randint(first, last)
        value = re.sub(r"\bi\b", "(x.k + 1)", column.value) if column is not self.key else "x.k + 300000"
        if column.bad and column is not self.key and self.often(0.2):
            wrong = re.sub(r"\bi\b", "x.k", column.bad[0])
            value = f"CASE WHEN x.k = {row} THEN {wrong} ELSE {value} END"
        condition = self.pick("c.here(k) % 3 = 0", "c.sub(k) % 3 < 2", "c.here(k) % 3 > 0", f"c.here(k) < {row}", "true", "k % 5 = 1", "c.here(k) IS NOT NULL")
        source = self.pick("", "", "", " FROM c.source s")
        # With better estimates another plan may be chosen, in which the function looks at another time.
        if "remote_statistics = 'off'" in self.settings and self.often(0.3):
            source = " FROM (SELECT i, seen FROM c.there OFFSET 0) s"
        if "there" in source:
            condition += " AND s.seen % 3 < 2"
        if source:
            condition += f" AND s.i {self.pick('', '/ 2 * 2')} = {self.target}.k - {first - 1}".replace(self.target + ".", "x.")
        returning = " RETURNING x.k" if self.often(0.05) else ""
        return f'UPDATE {self.target} x SET "{column.name}" = ({value})::{column.local}{source} WHERE {condition}{returning}'

    def delete(self):
        condition = self.pick("c.here(k) % 4 = 0", "c.here(k) IS NOT NULL", "k % 7 = 3", "c.here(k) % 2 = 1")
        source = self.pick("", "", "", " USING c.source s")
        if source:
            condition += f" AND s.i {self.pick('', '/ 2')} = x.k % 400"
        return f"DELETE FROM {self.target} x{source} WHERE {condition}" + (" RETURNING x.k" if self.often(0.05) else "")

    def statement(self, returning=True):
        self.statements += 1
        kinds = ["insert", "insert", "insert"] if self.statements == 1 else ["insert", "insert", "copy", "update", "update", "update", "delete", "delete"]
        return getattr(self, self.rng.choice(kinds + ["copy"]))()

    def plain_statement(self):
        """One that PL/pgSQL can run."""
        self.statements += 1
        return self.pick(self.insert, self.insert, self.update, self.delete)().split(" RETURNING")[0]

    def look(self, error=False):
        """The state of both shards, and a reader of what was written; after an error the sequences are set anew."""
        restart = self.restart()
        self.script += restart if error else f"\\if :ERROR\n{restart}\\endif\n"
        self.script += "SELECT * FROM c.look();\n"
        if self.often(0.3):
            self.script += f"SELECT count(*), sum(k) FROM (SELECT k FROM {self.target} OFFSET 0) s;\n"

    def restart(self, into=""):
        """SQL, or PL/pgSQL that puts what it does not want into a variable."""
        sql = "".join(f"INSERT INTO c.command{shard} VALUES ('SELECT c.restart({1000 * self.statements})') RETURNING 1{into};\n" for shard in range(2))
        return sql + f"SELECT setval('c.local_numbers', {1000 * self.statements}){into};\n"

    def add(self, text):
        self.script += text

    def one(self):
        """A statement, after what it needs."""
        self.add(self.statement() + ";\n")

    def make_step(self):
        """A statement, a transaction, a block with an exception."""
        form = self.pick("plain", "plain", "plain", "plain", "transaction", "savepoint", "block", "loop", "prepared", "self", "two")
        if form == "plain":
            self.one()
            self.look()
        elif form == "transaction":
            self.add(f"BEGIN{self.pick('', '', ' ISOLATION LEVEL SERIALIZABLE')};\n")
            for _ in range(self.pick(1, 2)):
                self.one()
                self.look()
            self.add(self.pick("COMMIT;\n", "COMMIT;\n", "ROLLBACK;\n"))
            self.look(True)
        elif form == "savepoint":
            self.add("BEGIN;\n")
            if self.often(0.5):
                self.one()
            self.add("SAVEPOINT one;\n")
            self.one()
            self.add(self.pick("ROLLBACK TO one;\n" + self.restart(), "RELEASE one;\n"))
            if self.often(0.5):
                self.one()
            self.add("COMMIT;\n")
            self.look(True)
        elif form == "block":
            first, raising, second = self.plain_statement(), self.pick("", "", "RAISE EXCEPTION $$on purpose$$;"), self.plain_statement()
            self.add(f"DO $do$ DECLARE n bigint; BEGIN\n  {first};\n  GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% rows', n;\n"
                     f"  {raising}\nEXCEPTION WHEN OTHERS THEN\n"
                     f"  RAISE NOTICE 'caught % %', SQLSTATE, SQLERRM;\n{self.restart(' INTO n')}  {second};\nEND $do$;\n")
            self.look(True)
        elif form == "loop":
            self.add(f"DO $do$ DECLARE n bigint; BEGIN FOR step IN 1..3 LOOP\n  BEGIN {self.plain_statement()};\n"
                     f"  EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM;\n{self.restart(' INTO n')}  END;\n"
                     "END LOOP; END $do$;\n")
            self.look(True)
        elif form == "prepared":
            text = self.plain_statement()
            self.add(f"SET plan_cache_mode = {self.pick('auto', 'force_generic_plan')};\nPREPARE p{self.statements} AS {text};\n" +
                     f"EXECUTE p{self.statements};\n\\if :ERROR\n{self.restart()}\\endif\n" * self.pick(1, 2, 7))
            self.look(True)
        elif form == "self":
            columns = [self.key] + [column for column in self.some_columns() if column is not self.key]
            names = self.quoted(columns)
            self.statements += 1
            # With batches it is no promise how many rows a scan sees that begins later, if partitions are scanned in their order.
            order = "k" if self.batch_size == 1 else "k + 0"
            self.add(f"INSERT INTO {self.target} ({', '.join(names)}) SELECT {', '.join(['k + 200000', *names[1:]])} FROM c.t ORDER BY {order};\n")
            self.look()
        else:
            one, two = self.plain_statement(), self.plain_statement()
            self.add(f"WITH w AS ({one} RETURNING 1) {two};\n")
            self.look()
