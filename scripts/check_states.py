#!/usr/bin/env python3
"""States of aggregates, made from plain values: the same as core's; prints TAP.

For each aggregate that src/tuple/agg_rule.c lists, over random data in groups and partitions of them:
  1. the state of a partition, made from the values of the plain aggregates, is what core's transition and
     serialization functions make of the same rows, byte for byte where core's is determined;
  2. core's combine and final functions make of the partitions' states what the aggregate returns for all rows;
  3. where that is an error, the SQLSTATE is the same.
Also: which aggregates have a rule, which are exact, and values that no rows can have.

The module test/states has the functions of SQL for it. Nothing here needs a second server or the extension."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import harness  # noqa: E402
import report  # noqa: E402

MODULE = os.path.join(ROOT, "test", "states")
ROWS = 4000

FUNCTIONS = """
CREATE FUNCTION states_query(text, bool) RETURNS text AS '{module}' LANGUAGE C STRICT;
CREATE FUNCTION states_key(oid, int, oid) RETURNS bool AS '{module}' LANGUAGE C STRICT;
CREATE FUNCTION states_state(text, text[]) RETURNS text AS '{module}' LANGUAGE C STRICT;
CREATE FUNCTION states_combine(internal, oid, text) RETURNS internal AS '{module}' LANGUAGE C;
CREATE FUNCTION states_final(internal) RETURNS text AS '{module}' LANGUAGE C;
CREATE AGGREGATE states_result(oid, text) (sfunc = states_combine, stype = internal, finalfunc = states_final);
CREATE AGGREGATE float8_state(float8) (sfunc = float8_accum, stype = float8[], initcond = '{{0,0,0}}');

-- What a query of one value returns, or SQLSTATE.
CREATE FUNCTION outcome(query text) RETURNS text AS $$
DECLARE
	result text;
BEGIN
	EXECUTE query INTO result;
	RETURN coalesce(result, 'NULL');
EXCEPTION WHEN OTHERS THEN
	RETURN 'SQLSTATE ' || SQLSTATE;
END $$ LANGUAGE plpgsql;

-- An aggregate that returns another one's state.
CREATE FUNCTION make_core(aggregate oid, name text) RETURNS void AS $$
DECLARE
	a pg_aggregate;
	types text;
BEGIN
	SELECT * INTO a FROM pg_aggregate WHERE aggfnoid = aggregate;
	types := pg_get_function_identity_arguments(aggregate);
	EXECUTE format('CREATE AGGREGATE %I(%s) (sfunc = %s, stype = %s%s%s)', name,
		CASE WHEN types = '' THEN '*' ELSE regexp_replace(types, '"any"', 'anyelement') END,
		a.aggtransfn::oid::regproc, format_type(a.aggtranstype, NULL),
		CASE WHEN a.aggtranstype = 'internal'::regtype THEN format(', finalfunc = %s', a.aggserialfn::oid::regproc) END,
		CASE WHEN a.agginitval IS NOT NULL THEN format(', initcond = %L', a.agginitval) END);
END $$ LANGUAGE plpgsql;
"""

# Groups k: 0 has no other values than NULL, 1 has a single row; in 2 to 5, columns *s have NaN or infinities.
# Numbers of floats are such that sums of any order are not all the same.
DATA = """
SELECT setseed(0.42);
CREATE TABLE numbers AS
SELECT CASE WHEN i = 1 THEN 1 ELSE (ARRAY[0, 2, 3, 4, 5, 6, 7, 8, 9])[1 + floor(random() * 9)::int] END AS k,
	floor(random() * 4)::int AS p, i, random() AS r, random() AS r2, random() AS r3
FROM generate_series(1, {rows}) i;

CREATE TABLE filled AS SELECT k, p, r3 < 0.5 AS bo,
	floor(r * 65536 - 32768)::int::int2 AS i2,
	floor(r * 4294967296 - 2147483648)::int8::int4 AS i4,
	round((r::numeric - 0.5) * 18446744073709551614)::int8 AS i8,
	round((r::numeric - 0.5) * 10::numeric ^ floor(r2 * 50 - 20)::int, floor(r3 * 30)::int) AS n,
	((r - 0.5) * 1e9)::numeric(12, 2) AS n2,
	((r - 0.5) * 10 ^ (r2 * 6))::float4 AS f4, (r - 0.5) * 10 ^ (r2 * 12) AS f8, r2 * r AS g8,
	CASE WHEN r3 < 0.05 THEN CASE k WHEN 2 THEN 'NaN' WHEN 3 THEN 'inf' WHEN 4 THEN CASE WHEN r2 < 0.5 THEN 'inf' ELSE '-inf' END
		WHEN 5 THEN CASE WHEN r2 < 0.5 THEN '-inf' ELSE 'NaN' END END::float8 END AS special,
	make_interval(months => floor((r - 0.5) * 100)::int, days => floor((r2 - 0.5) * 1000)::int, secs => (r3 - 0.5) * 1e6) AS iv,
	'2000-01-01'::date + floor(r * 10000)::int AS d, '00:00'::time + r * interval '23 h' AS t,
	(('00:00'::time + r * interval '23 h')::text || '+' || floor(r2 * 12)::text)::timetz AS ttz,
	'2000-01-01'::timestamp + r * interval '30 years' AS ts, '2000-01-01Z'::timestamptz + r * interval '30 years' AS tstz,
	((r - 0.5) * 1e9)::numeric(12, 2)::money AS m, md5(i::text) AS s, md5(i::text)::varchar(20) AS vc, substr(md5(i::text), 1, 3)::char(5) AS bc,
	floor(r * 4294967296)::int8::oid AS o, ('10.' || floor(r * 255) || '.' || floor(r2 * 255) || '.0/24')::inet AS ip,
	('0/' || to_hex(floor(r * 1e9)::int))::pg_lsn AS lsn, ('(' || floor(r * 1000) || ',' || 1 + floor(r2 * 100) || ')')::tid AS tid,
	floor(r * 1e12)::int8::text::xid8 AS x8, floor(r * 65536)::int::bit(16) AS bi, ARRAY[floor(r * 100)::int, floor(r2 * 100)::int] AS arr,
	r3
FROM numbers;

CREATE TABLE data AS SELECT k, p, {columns},
	CASE WHEN special IS NOT NULL THEN special::numeric ELSE n END AS ns,
	CASE WHEN special IS NOT NULL THEN special ELSE f8 END AS f8s,
	CASE WHEN special IS NOT NULL THEN special::float4 ELSE f4 END AS f4s,
	{intervals} AS ivs
FROM filled;
UPDATE data SET {nulls} WHERE k = 0;
"""
COLUMNS = "bo i2 i4 i8 n n2 f4 f8 g8 iv d t ttz ts tstz m s vc bc o ip lsn tid x8 bi arr".split()
TYPMOD = {"n2": "numeric(12,2)", "vc": "varchar(20)", "bc": "char(5)", "bi": "bit(16)"}

VARIANCES = ("var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp")
REGRESSION = ("corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx",
              "regr_sxy", "regr_syy")
# Aggregates that core computes in parts and that have no rule: of types that are not built-in, or equal nothing by value, of later
# versions than the oldest remote, or of results that are as large as their rows.
WITHOUT_RULE = {"any_value(anyelement)", "max(anyenum)", "min(anyenum)", "max(record)", "min(record)", "max(bytea)", "min(bytea)",
                "max(oid8)", "min(oid8)", "range_intersect_agg(anyrange)", "range_intersect_agg(anymultirange)",
                "string_agg(text,text)", "string_agg(bytea,bytea)", "array_agg(anynonarray)", "array_agg(anyarray)"}


def aggregates():
    """Each aggregate: (its signature, its call, whether its state may differ in last digits)."""
    found = [("count()", "count(*)", False), ("count(\"any\")", "count(i4)", False), ("count(\"any\")", "count(s)", False),
             ("sum(money)", "sum(m)", False)]
    for call in ("regr_count(f8, f8s)", "regr_count(f4, i4)"):
        found.append(("regr_count(float8,float8)", call, False))
    numbers = [("int2", "i2"), ("int4", "i4"), ("int8", "i8"), ("numeric", "n"), ("numeric", "n2"), ("numeric", "ns"),
               ("numeric", "n2 * (1 - n) + i4"), ("int8", "i2 * int8 '10000'"), ("int4", "i2 * 100"), ("int8", "i8 / 3 + i4 * int8 '2'"), ("int4", "i4 / 4 - i2"),
               ("float4", "f4"), ("float8", "f8"), ("float8", "f8s"), ("float4", "f4s"), ("float8", "f8 * f4 + g8")]
    for kind, column in numbers:
        for name in ("sum", "avg", *VARIANCES):
            found.append((f"{name}({kind})", f"{name}({column})", kind.startswith("float")))
    for call in REGRESSION:
        for columns in ("f8, g8", "f8s, g8", "g8, f8s", "f8, 3", "0.1, f8", "f8 + g8, i2"):
            found.append((f"{call}(float8,float8)", f"{call}({columns})", True))
    for name in ("sum", "avg"):
        for column in ("iv", "ivs"):
            found.append((f"{name}(interval)", f"{name}({column})", False))
    for name in ("bool_and", "bool_or", "every"):
        found.append((f"{name}(bool)", f"{name}(bo)", False))
    for name in ("bit_and", "bit_or", "bit_xor"):
        for kind, column in (("int2", "i2"), ("int4", "i4"), ("int8", "i8"), ("bit", "bi")):
            found.append((f"{name}({kind})", f"{name}({column})", False))
    for name in ("min", "max"):
        for kind, column in (("int2", "i2"), ("int4", "i4"), ("int8", "i8"), ("numeric", "n"), ("numeric", "ns"), ("float4", "f4"),
                             ("float8", "f8s"), ("date", "d"), ("time", "t"), ("timetz", "ttz"), ("timestamp", "ts"),
                             ("timestamptz", "tstz"), ("interval", "ivs"), ("money", "m"), ("text", "s"), ("text", "vc"),
                             ("bpchar", "bc"), ("oid", "o"), ("inet", "ip"), ("pg_lsn", "lsn"), ("tid", "tid"), ("xid8", "x8"),
                             ("anyarray", "arr")):
            found.append((f"{name}({kind})", f"{name}({column})", False))
    with_filter = [(signature, f"{call} FILTER (WHERE i2 > 0 OR bo)", loose) for signature, call, loose in found
                   if call.startswith(("count", "sum", "avg", "covar_pop", "stddev(", "min"))]
    return found + with_filter


def plain_query(session, query):
    """A query of plain aggregates, and the array of their values as text."""
    text = session.run(f"SELECT states_query($q${query}$q$, false)").rstrip(";")
    n = len(re.findall(r" AS a\d+\b", text))
    return text, "ARRAY[" + ", ".join(f"CASE WHEN a{i} IS NOT NULL THEN format('%s', a{i}) END" for i in range(1, n + 1)) + "]", n


def states_of(session, query):
    """SQL that returns the states of a query's groups."""
    text, values, _ = plain_query(session, query)
    return f"SELECT k, p, states_state($q${query}$q$, {values}) AS state FROM ({text}) plain"


# Do two states differ?  Not in how many numbers have the greatest scale, which core keeps for moving windows only. If
# there are numbers that are not finite, core also has how many, and what the others are: then only results are compared.
DIFFER_NUMERIC = """
	CASE WHEN right(c.state, 48) <> repeat('0', 48) THEN right(s.state, 48) = repeat('0', 48)
	ELSE overlay(s.state PLACING '' FROM length(s.state) - 63 FOR 16) <> overlay(c.state PLACING '' FROM length(c.state) - 63 FOR 16) END"""
DIFFER_INTERVAL = """
	CASE WHEN right(c.state, 32) <> repeat('0', 32) THEN right(s.state, 32) = repeat('0', 32) ELSE s.state <> c.state END"""
# Numbers that come from n * (x / n): by how much two roundings may change them.
DIFFER_FLOAT = """
	(s.state::float8[])[1:2] <> (c.state::float8[])[1:2] OR
	CASE WHEN (s.state::float8[])[3] = (c.state::float8[])[3] THEN false
	ELSE abs((s.state::float8[])[3] - (c.state::float8[])[3]) > 4.5e-16 * (c.state::float8[])[3] END"""


def differ(signature, serial):
    if serial in ("numeric_avg_serialize", "numeric_serialize"):
        return DIFFER_NUMERIC
    if serial == "interval_avg_serialize":
        return DIFFER_INTERVAL
    if re.match(r"(avg|var|stddev)\w*\(float[48]\)", signature):
        return DIFFER_FLOAT
    return "s.state <> c.state"


def compare(session, signature, call, loose, cores):
    """One aggregate: its states, and its results."""
    oid, serial, internal = session.run(
        f"""SELECT aggfnoid::oid || ' ' || aggserialfn || ' ' || (aggtranstype = 'internal'::regtype)
            FROM pg_aggregate WHERE aggfnoid = '{signature}'::regprocedure""").split()
    core = f"core_{oid}"
    if core not in cores:
        session.run(f"SELECT make_core({oid}, '{core}')")
        cores.add(core)
    core_call = re.sub(r"^\w+", core, call)
    query = f"SELECT k, p, {call} FROM data GROUP BY k, p"
    session.run(f"""
        DROP TABLE IF EXISTS ours, theirs;
        CREATE TEMP TABLE ours AS {states_of(session, query)};
        CREATE TEMP TABLE theirs AS SELECT k, p, CASE WHEN {core_call} IS NOT NULL THEN format('%s', {core_call}) END AS state FROM data GROUP BY k, p""")
    # Core's state of no numbers is not always NULL; that ours has the same result is seen below.
    nulls = "s.state IS NOT NULL AND c.state IS NULL" if internal == "true" else "(s.state IS NULL) <> (c.state IS NULL)"
    differing = session.run(f"""
        SELECT format('group %s, partition %s: %s instead of %s', k, p, s.state, c.state) FROM ours s FULL JOIN theirs c USING (k, p)
        WHERE {nulls} OR ({differ(signature, serial)}) LIMIT 3""")
    report.ok(not differing, f"the states of {call} are those of core", differing)
    if "arr" in call:
        return  # the result is of a polymorphic type
    if loose:   # core's own result depends on the order: so compare what core makes of both states
        wanted = f"SELECT k, states_result({oid}, state ORDER BY p) AS result FROM theirs GROUP BY k"
        same = """o.result IS NOT DISTINCT FROM t.result OR
            abs(o.result::float8 - t.result::float8) <= 1e-12 * abs(t.result::float8)"""
    else:
        wanted = f"SELECT k, CASE WHEN {call} IS NOT NULL THEN format('%s', {call}) END AS result FROM data GROUP BY k"
        same = "o.result IS NOT DISTINCT FROM t.result"
    differing = session.run(f"""
        SELECT format('group %s: %s instead of %s', k, o.result, t.result)
        FROM (SELECT k, states_result({oid}, state ORDER BY p) AS result FROM ours GROUP BY k) o FULL JOIN ({wanted}) t USING (k)
        WHERE ({same}) IS NOT TRUE LIMIT 3""")
    report.ok(not differing, f"{call} of the states is that of all rows", differing)


# Rows (p, x) of a type, and aggregates that overflow, or nearly do.
ERRORS = [
    ("float8", "(1, 1e308), (1, 1e308)", ("sum", "avg", "var_pop")),
    ("float8", "(1, 1e308), (2, 1e308)", ("sum", "avg", "var_pop")),
    ("float8", "(1, 1e200), (1, 2e200)", ("sum", "avg", "stddev")),
    ("float8", "(1, 1e200), (2, 2e200)", ("sum", "avg", "stddev")),
    ("float8", "(1, 1.3e154), (1, -1.3e154)", ("avg", "var_pop")),
    ("float8", "(1, 0.9e154), (1, -0.9e154)", ("avg", "var_pop")),
    ("float8", "(1, 'inf'), (2, '-inf')", ("sum", "avg", "stddev")),
    ("float4", "(1, 3e38), (1, 3e38)", ("sum", "avg", "stddev")),
    ("float4", "(1, 3e38), (2, 3e38)", ("sum", "avg", "stddev")),
    ("int8", "(1, 9223372036854775807), (1, 9223372036854775807), (2, 9223372036854775807)", ("sum", "avg", "stddev")),
    ("int8", "(1, -9223372036854775808), (2, -9223372036854775808)", ("sum", "avg", "var_pop")),
    ("int4", "(1, -2147483648), (1, -2147483648), (2, 2147483647)", ("sum", "avg", "var_pop", "stddev")),
    ("interval", "(1, '178000000 years'), (1, '178000000 years')", ("sum", "avg")),
    ("interval", "(1, '178000000 years'), (2, '178000000 years')", ("sum", "avg")),
    ("interval", "(1, '1 month 1 day 1 s'), (2, '-3 months')", ("sum", "avg")),
    ("bit varying", "(1, '101'), (1, '1')", ("bit_and", "bit_xor")),
    ("bit varying", "(1, '101'), (2, '1')", ("bit_or", "bit_xor")),
    ("money", "(1, '92233720368547758.07'), (2, '0.01')", ("sum",)),
    ("numeric", "(1, 1e131071), (2, 9e131071)", ("sum", "avg")),
    ("numeric", "(1, 'inf'), (2, '-inf')", ("sum", "avg", "stddev")),
    ("numeric", "(1, 'inf')", ("var_samp", "var_pop")),
    ("numeric", "(1, 1.10), (2, 1.1)", ("sum", "avg", "stddev", "min", "max")),
    ("numeric", "(1, 1e-16380), (2, 10000000000000000)", ("sum", "avg")),
]


def compare_errors(session):
    for kind, rows, names in ERRORS:
        values = re.sub(r"\((\d+), '?(.*?)'?\)", rf"(1, \1, '\2'::{kind})", rows)
        session.run(f"DROP TABLE IF EXISTS rows; CREATE TABLE rows (k, p, x) AS VALUES {values}")
        for name in names:
            query = f"SELECT k, p, {name}(x) FROM rows GROUP BY k, p"
            argument = {"bit varying": "bit"}.get(kind, kind)
            wanted = session.run(f"SELECT outcome('SELECT CASE WHEN {name}(x) IS NOT NULL THEN format(''%s'', {name}(x)) END FROM rows')")
            got = session.run(f"""SELECT outcome($o$SELECT states_result('{name}({argument})'::regprocedure, state ORDER BY p)
                                                 FROM ({states_of(session, query)}) s$o$)""")
            report.ok(same_outcome(got, wanted), f"{name} of {kind} {rows} is {wanted[:40]}", f"it is {got[:200]}")


def same_outcome(got, wanted):
    try:
        return got == wanted or abs(float(got) - float(wanted)) <= 1e-15 * abs(float(wanted))
    except ValueError:
        return False


def check_rules(session):
    """Which aggregates have a rule, which have an exact one, and which types are exact keys."""
    without = session.run("""
        SELECT a.aggfnoid::regprocedure FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid, LATERAL (
            SELECT string_agg(CASE t WHEN 'anyarray'::regtype THEN 'NULL::int4[]' WHEN '"any"'::regtype THEN 'NULL::int4'
                WHEN 'anyenum'::regtype THEN 'NULL::colour' WHEN 'anynonarray'::regtype THEN 'NULL::int4'
                WHEN 'anyelement'::regtype THEN 'NULL::int4' WHEN 'anyrange'::regtype THEN 'NULL::int4range'
                WHEN 'anymultirange'::regtype THEN 'NULL::int4multirange' WHEN 'record'::regtype THEN 'ROW(1)'
                ELSE format('NULL::%s', t::regtype) END, ', ' ORDER BY i) AS list
            FROM unnest(p.proargtypes) WITH ORDINALITY u(t, i)) arguments
        WHERE a.aggcombinefn <> 0 AND a.aggkind = 'n' AND a.aggfnoid < 16384 AND states_query(format('SELECT %s(%s)', p.proname, coalesce(list, '*')), false) IS NULL
        ORDER BY 1""").split("\n")
    report.ok(set(without) <= WITHOUT_RULE, "every aggregate that core computes in parts has a rule, or is known to have none",
              " ".join(set(without) - WITHOUT_RULE))

    for call in ("string_agg(s, ',')", "array_agg(i4)", "sum(DISTINCT i4)", "sum(i4 ORDER BY i2)", "mode() WITHIN GROUP (ORDER BY i4)",
                 "mine(i4)", "max(e)"):
        got = session.run(f"SELECT states_query($q$SELECT {call} FROM odd$q$, false) IS NULL")
        report.ok(got == "t", f"{call} has no rule", got)

    exact = {"count(*)": True, "sum(i4)": True, "sum(n)": True, "avg(n)": True, "stddev(n)": True, "avg(iv)": True, "sum(f4)": False,
             "sum(f8)": False, "avg(f8)": False, "variance(f4)": False, "corr(f8, f8)": False, "min(i4)": True, "min(n)": False,
             "min(n2)": True, "max(f8)": False, "max(iv)": False, "max(s)": True, "max(vc)": True, "max(bc)": True, "max(bp)": False,
             "max(d)": True, "max(arr)": False, "bool_and(bo)": True, "bit_or(i4)": True, "max(n2 + 1)": False, "max(dom)": True,
             "max(s COLLATE loose)": False, "max(ip)": True}
    for call, wanted in exact.items():
        if "loose" in call and session.run("SELECT count(*) FROM pg_collation WHERE collname = 'loose'") == "0":
            report.skip(f"{call} is not exact", "no ICU")
            continue
        got = session.run(f"SELECT states_query($q$SELECT {call} FROM odd$q$, true) IS NOT NULL")
        report.ok(got == ("t" if wanted else "f"), f"{call} is {'' if wanted else 'not '}exact", got)

    for column, wanted in {"i4": True, "n": False, "n2": True, "f8": False, "iv": False, "s": True, "bc": True, "bp": False, "bo": True,
                           "dom": True, "e": False, "arr": False, "j": False}.items():
        got = session.run(f"""SELECT states_key(atttypid, atttypmod, attcollation) FROM pg_attribute
                              WHERE attrelid = 'odd'::regclass AND attname = '{column}'""")
        report.ok(got == ("t" if wanted else "f"), f"as a key, {column} is {'' if wanted else 'not '}exact", got)


def check_plain(session):
    """What the remote is asked for."""
    for call, wanted in {
            "avg(n2)": "count(n2), sum(n2)",
            "sum(n * (1 - n2))": "count(*) FILTER (WHERE ((n IS NOT NULL) AND (n2 IS NOT NULL))), sum((n * ((1)::numeric - n2)))",
            "sum(n * 2)": "count(n), sum((n * (2)::numeric))",
            "sum(n * 2) FILTER (WHERE bo)": "count(n) FILTER (WHERE bo), sum((n * (2)::numeric)) FILTER (WHERE bo)",
            "avg(n + n2) FILTER (WHERE bo)":
                "count(*) FILTER (WHERE (bo AND (n IS NOT NULL) AND (n2 IS NOT NULL))), sum((n + n2)) FILTER (WHERE bo)",
            "sum(coalesce(n, 0))": "count(COALESCE(n, (0)::numeric)), sum(COALESCE(n, (0)::numeric))",
            "sum(abs(n))": "count(abs(n)), sum(abs(n))",
            "stddev(i4)": "count(i4), sum(i4), sum(((i4)::bigint * (i4)::bigint))",
            "stddev(i8)": "count(i8), sum(i8), sum(((i8)::numeric * (i8)::numeric))",
            "avg(f4)": "count(f4), sum((f4)::double precision), var_pop((f4)::double precision)"}.items():
        text, _, _ = plain_query(session, f"SELECT {call} FROM odd")
        got = re.sub(r" AS a\d+\b|^\s*SELECT\s+|\s+FROM odd$", "", text.strip())
        got = re.sub(r"\s+", " ", got)
        got = re.sub(r"\bodd\.", "", got)
        report.ok(got == wanted, f"for {call}, a remote is asked for {wanted}", got)


def check_lies(session):
    """Values that no rows can have."""
    common = int(session.run("SELECT current_setting('server_version_num')")) >= 190000
    internal_interval = int(session.run("SELECT current_setting('server_version_num')")) >= 170000
    lies = [("count(*)", ["NULL"]), ("count(*)", ["-1"]), ("avg(i4)", ["0", "5"]), ("avg(i4)", ["3", "NULL"]), ("avg(i4)", ["NULL", "3"]),
            ("sum(i8)", ["-3", "5"]), ("sum(i8)", ["1", "1.5"]), ("sum(i8)", ["1", "NaN"]), ("sum(i8)", ["1", "1e40"]), ("sum(i8)", ["1", "-1e38000"]),
            ("sum(n)", ["0", "1"]), ("sum(n)", ["1", "NULL"]), ("stddev(n)", ["1", "NaN", "1"]), ("stddev(n)", ["1", "1", "NULL"]),
            ("avg(f8)", ["1", "1", "-1"]), ("avg(f8)", ["1", "1", "NULL"]), ("avg(f8)", ["0", "NULL", "0"]),
            ("avg(iv)", ["1", "NULL"]), ("avg(iv)", ["-1", "1 s"]),
            ("corr(f8, f8)", ["1", "1", "-1", "1", "1", "1"] + ["1"] * 4 * common),
            ("corr(f8, f8)", ["1", "1", "1", "1", "1", "NULL"] + ["1"] * 4 * common)]
    if internal_interval:
        lies.append(("sum(iv)", ["1", "NULL"]))
    for call, values in lies:
        got = session.run(f"SELECT outcome($o$SELECT states_state('SELECT {call} FROM odd', '{{{','.join(values)}}}')$o$)")
        report.ok(got == "SQLSTATE XX001", f"{call} of the values {', '.join(values)} is refused", got)
    # The limits of a sum of 128 bits.
    for value in ("170141183460469231731687303715884105727", "-170141183460469231731687303715884105727"):
        got = session.run(f"""SELECT states_result('sum(int8)'::regprocedure, states_state('SELECT sum(i8) FROM odd', '{{1,{value}}}'))""")
        report.ok(got == value, f"a sum of int8 may be {value}", got)


def check(work):
    out = subprocess.run(["make", "-s", "-C", MODULE, f"PG_CONFIG={harness.find_pg_config()}"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if not report.ok(out.returncode == 0, "test/states builds with strict warnings", out.stdout):
        return report.done()
    module = os.path.join(work, "states.so")
    shutil.copy(os.path.join(MODULE, "build", "states.so"), module)
    os.chmod(module, 0o755)

    server = harness.Server(work, "states", {"max_parallel_workers_per_gather": "0", "jit": "off", "client_min_messages": "warning"})
    with harness.Session(server) as session:
        session.run(FUNCTIONS.format(module=module))
        version = int(session.run("SELECT current_setting('server_version_num')"))
        infinite = """CASE WHEN special IS NULL THEN iv WHEN special = 'inf' THEN 'infinity' WHEN special = '-inf' THEN '-infinity' ELSE '1 day' END"""
        intervals = infinite if version >= 170000 else "iv"
        if version >= 170000:   # the sum of both infinities is an error: have one of them in a group
            intervals = intervals.replace("'-infinity'", "CASE WHEN k = 5 THEN '-infinity' ELSE 'infinity' END::interval")
        columns = ", ".join(f"(CASE WHEN hashint4((r3 * 1e9)::int + {i}) % 10 <> 0 THEN {c} END)::{TYPMOD[c]} AS {c}" if c in TYPMOD
                            else f"CASE WHEN hashint4((r3 * 1e9)::int + {i}) % 10 <> 0 THEN {c} END AS {c}"
                            for i, c in enumerate(COLUMNS))
        nulls = ", ".join(f"{c} = NULL" for c in [*COLUMNS, "ns", "f8s", "f4s", "ivs"])
        session.run(DATA.format(rows=ROWS, columns=columns, intervals=intervals, nulls=nulls))
        session.run("""
            CREATE TYPE colour AS ENUM ('red', 'blue');
            CREATE DOMAIN price AS numeric(10, 2);
            CREATE AGGREGATE mine(int) (sfunc = int4pl, stype = int, combinefunc = int4pl);
            CREATE TABLE odd AS SELECT i2, i4, i8, n, n2, f4, f8, iv, d, s, vc, bc, 'x'::bpchar AS bp, bo, arr, ip, 1::price AS dom, 'red'::colour AS e, '{}'::jsonb AS j FROM data;
            DO $$ BEGIN
                CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
            EXCEPTION WHEN OTHERS THEN NULL;
            END $$;""")
        cores = set()
        for signature, call, loose in aggregates():
            compare(session, signature, call, loose, cores)
        compare_errors(session)
        check_rules(session)
        check_plain(session)
        check_lies(session)
    return report.done()


sys.exit(harness.main(check))
