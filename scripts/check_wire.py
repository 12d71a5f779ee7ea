#!/usr/bin/env python3
"""Hold the wire format against doc/wire.md and print TAP: the reader of test/wire_reader/, written from the
document alone, must understand what the server sends, and both must refuse the same.

  1. Streams made by hand (test/wire_reader/samples.py): those that are right are read, each that breaks one rule
     of the document is refused because of that rule; so are the document's own examples.
  2. Frames of real servers, of every type, encoding, codec, null layout, kind and form that there is, which is
     checked in the end, give the rows that COPY says the query has.
  3. pg_exchange's own receiver gets the streams of 1, from a server whose exchange.send is a function that
     returns them, and must say the same of each: these rows, or an error about an invalid frame.
  4. So does exchange.unpack, which gets them as pieces, and those of 2, too.
  5. Admissions, descriptions, written pieces, filters and inboxes, made or read by hand, are understood.
  6. The examples of doc/wire-types.md and doc/wire-example.md are what a server sends, and what doc/wire.md says
     that it refuses is refused. With --write, doc/wire-example.md is made anew.

The packages lz4 and zstandard come from PyPI, into a venv in the cache folder, where they are missing."""
import collections
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "test")]
import harness  # noqa: E402
import report  # noqa: E402
import wire_packages  # noqa: E402

CODECS = ("none", "lz4", "zstd")


# ---- 1: streams made by hand -------------------------------------------------------------------

def check_samples():
    for name, (sample, expected) in samples.GOOD.items():
        try:
            got = [row[0] for row in read_stream(samples.write(sample), sample.get("asked"))[1]]
        except Refused as refused:
            got = refused
        report.ok(got == expected, f"the reader reads a stream made by hand: {name}", f"expected {expected}, got {got}")
    for name, good, change, message in samples.broken():
        sample = samples.changed(samples.GOOD[good][0], change)
        try:
            got = f"accepted: {read_stream(samples.write(sample), sample.get('asked'))[1]}"
        except Refused as refused:
            got = str(refused)
        report.ok(message in got, f"the reader refuses a stream made by hand: {name}", f"expected an error with \"{message}\", got {got}")


def check_nesting():
    """The table of children in §6: every encoding in every child."""
    for name, sample, expected in samples.nesting():
        try:
            got = [row[0] for row in read_stream(samples.write(sample))[1]]
        except Refused as refused:
            got = refused
        if expected is None:
            report.ok("run length does not" in str(got), f"the reader refuses {name}", got)
        else:
            report.ok(got == expected, f"the reader reads {name}", f"expected {expected}, got {got}")


def check_values():
    """Values that a type does not have, and those next to them (doc/wire-types.md, 9)."""
    for name, (sample, _state, message) in samples.VALUES.items():
        try:
            got = f"accepted: {read_stream(samples.write(sample))[1]}"
        except Refused as refused:
            got = str(refused)
        report.ok(message in got, f"the reader refuses {name}", got)
    for sample, expected in samples.NEXT_VALUES:
        columns, rows = read_stream(samples.write(sample))
        got = b" ".join(copy_line(columns, row) for row in rows).decode()
        report.ok(got == expected, f"the reader reads {expected}", got)


def check_cut(frames):
    """A frame that ends early is refused wherever it ends, and a stream without its last frame is not complete."""
    accepted = []
    for frame in frames:
        for nbytes in range(0, len(frame), max(1, len(frame) // 50)):
            try:
                read_header(frame[:nbytes])
                accepted.append(nbytes)
            except Refused:
                pass
    report.ok(not accepted, "the reader refuses frames that are cut short", accepted)
    for name, part in (("without its end", frames[:-1]), ("without a batch", [frames[0], *frames[2:]]),
                       ("with a batch twice", [*frames[:2], *frames[1:]]), ("with a frame after its end", [*frames, frames[-1]]),
                       ("of no frame", [])):
        try:
            read_stream(part)
            report.ok(False, f"the reader refuses a stream {name}", "accepted")
        except Refused:
            report.ok(True, f"the reader refuses a stream {name}")


def check_examples():
    """The hexadecimal examples of doc/wire.md, each with the values that its text says."""
    with open(os.path.join(ROOT, "doc", "wire.md"), encoding="utf-8") as document:
        found = [bytes.fromhex(block) for block in re.findall(r"(?:^    [0-9a-f]{2}(?: {1,2}[0-9a-f]{2})*$\n?)+", document.read(), re.M)]
    expected = [({"columns": [(18, 1, 1)], "rows": 5}, {"encoding": 2}, [10, 11, 13, 10, 17]),
                ({"columns": [(1700, 3, 0)], "rows": 3}, {"encoding": 12, "scale": 2}, ["0.07", "NaN", "0.07"]),
                ({"columns": [(25, 2, 0)], "rows": 2}, {"encoding": 13}, [b"xy", b"a" * 100])]
    report.ok(len(found) == len(expected), "all examples of doc/wire.md are known here", found)
    for values, (stream, chunk, rows) in zip(found, expected):
        columns, got = read_stream(samples.write({**stream, "chunks": [{**chunk, "values": values}]}))
        got = [numeric_text(row[0]) if columns[0].klass == "numeric" else row[0] for row in got]
        report.ok(got == rows, f"an example of doc/wire.md has the values {rows}", got)


# ---- 2: what the server sends ------------------------------------------------------------------

def same_lsn(line):
    """A line of COPY with each pg_lsn as PostgreSQL 19 prints it: before, the
    number after the slash has no leading zeros."""
    return re.sub(rb"(?<![^\t])([0-9A-F]+/)([0-9A-F]{1,7})(?![^\t])",
                  lambda lsn: lsn[1] + lsn[2].rjust(8, b"0"), line)


class Capture:
    """Frames of queries, as psql gets them from a server."""

    def __init__(self, server, session):
        self.server, self.session = server, session
        self.version = int(session.run("SHOW server_version_num"))

    def columns(self, query):
        """(type, typmod) to ask for: built-in types as they are, others as text."""
        answer = self.session.run(
            f"DROP VIEW IF EXISTS captured; CREATE TEMP VIEW captured AS {query};"
            "SELECT string_agg(base::text, ',' ORDER BY attnum) FROM (SELECT attnum, CASE WHEN t.oid >= 16384 AND typbasetype = 0 "
            "THEN 0 ELSE coalesce(nullif(typbasetype, 0), t.oid) END AS base FROM pg_attribute JOIN pg_type t ON t.oid = atttypid "
            "WHERE attrelid = 'captured'::regclass) x")
        return [(int(oid), -1) for oid in answer.split("\n")[-1].split(",")]

    def frames(self, query, as_text=False, **request):
        columns = [(0, -1) for _ in self.columns(query)] if as_text else self.columns(query)
        if request.get("targets"):
            del columns[-1]
        text = words.request(columns, server_version=self.version, **request)
        return [bytes.fromhex(line[2:]) for line in self.session.run(f"SELECT exchange.send('{text}', t.*) FROM ({query}) t").split("\n")]

    def copied(self, query):
        """The lines of COPY."""
        path = os.path.join(self.server.work, "copied")
        self.session.run(f"COPY ({query}) TO '{path}'")
        with open(path, "rb") as file:
            return file.read().split(b"\n")[:-1]

    def compare(self, name, query, ordered=True, slices=None, explain=0, **request):
        """Do the frames say what COPY says? Returns them."""
        frames, expected = self.frames(query, slices=slices, explain=explain, **request), self.copied(query)
        try:
            columns, rows = read_stream(frames, slices and slices[:2], explain != 0)
        except Refused as refused:
            report.ok(False, f"frames have the rows of COPY: {name}", refused)
            return frames
        got = [same_lsn(copy_line(columns, row)) for row in rows]
        expected = [same_lsn(line) for line in expected]
        if not ordered:
            got, expected = sorted(got), sorted(expected)
        differing = [pair for pair in zip(got, expected) if pair[0] != pair[1]][:3]
        report.ok(got == expected, f"frames have the rows of COPY: {name}, {len(expected)} rows",
                  f"{len(got)} rows, {len(expected)} expected; differing: " + "\n".join(map(repr, differing)))
        if slices is None and explain == 0 and read_header(frames[0]).sender == 0:
            self.unpack(name, query, frames, expected, ordered)
        return frames

    def unpack(self, name, query, frames, expected, ordered):
        """Does exchange.unpack return the lines of COPY?"""
        self.session.run(f"DROP VIEW IF EXISTS captured; CREATE TEMP VIEW captured AS {query}")
        columns = self.session.run("SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum) "
                                   "FROM pg_attribute WHERE attrelid = 'captured'::regclass")
        piece = armoured(b"".join(frames))
        report.ok(disarmoured(piece) == b"".join(frames), f"armour is undone: {name}")
        got = list(map(same_lsn, self.copied(f"SELECT * FROM exchange.unpack({quoted(piece)}) AS t({columns})")))
        if not ordered:
            got = sorted(got)
        report.ok(got == expected, f"exchange.unpack returns the rows of COPY: {name}", f"{len(got)} rows, {len(expected)} expected")


def quoted(piece):
    """A text of any ASCII characters in SQL."""
    return f"convert_from('\\x{piece.encode().hex()}', 'SQL_ASCII')"


def raw_nbytes(chunk):
    """What doc/wire.md says that raw_nbytes counts for a chunk."""
    def eight(nbytes):
        return nbytes + -nbytes % 8
    nbytes = 24 + (eight((chunk.nrows + 7) // 8) if chunk.nulls is not None else 0)
    form, values = chunk.header.form, chunk.values
    if not values:
        return nbytes
    sent = [value for value in values if isinstance(value, bytes)]
    if form == 1:
        return nbytes + eight(packed_nbytes(values))
    if form == 2:
        elements = sum(len(value) for value in values if not isinstance(value, bytes))
        return nbytes + eight(8 + 8 + eight(4 * len(values)) + 8 + eight(elements * chunk.header.width) + packed_nbytes(sent))
    if chunk.header.encoding == 12:
        return nbytes + eight(8 + 8 + 8 * len(values) + 8 + eight(4 * len(sent)) + packed_nbytes(sent))
    return nbytes + eight(len(values) * chunk.header.width)


def check_sizes(name, frames):
    """What binds writers, and readers do not check: raw_nbytes of every batch."""
    wrong, schema = [], None
    for data in frames:
        frame, body = read_header(data), Cursor(data[40:])
        if frame.kind == 1:
            schema = read_schema(frame, body)
        elif frame.kind == 2:
            expected = sum(map(raw_nbytes, read_batch(frame, body, schema)))
            if frame.raw_nbytes != expected or frame.body_nbytes > frame.raw_nbytes:
                wrong.append((frame.sequence, frame.raw_nbytes, expected, frame.body_nbytes))
    report.ok(not wrong, f"raw_nbytes is what plain chunks would take, and the body has no more: {name}", wrong)


def check_captured(server):
    with harness.Session(server) as session:
        for path in ("test/matrix/shard.sql", "test/wire_reader/data.sql"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as script:
                session.run(script.read())
        ours = words.hello(sum(1 << encoding for encoding in ENCODINGS), 7)
        hello = words.read_hello(session.run(f"SELECT exchange.hello('{ours}')"))
        unknown = [bit for bit in range(32) if hello["encodings"] >> bit & 1 and bit not in ENCODINGS]
        report.ok(not unknown, "the reader knows every encoding that the server's hello names", unknown)
        report.ok(hello["codecs"] == 7 and hello["protocol"] == (1, 1), "the reader knows every codec and version of it", hello)
        everything = hello["encodings"]

        seen.clear()
        capture = Capture(server, session)
        for codec in CODECS:
            frames = capture.compare(f"every encoding, {codec}", "SELECT * FROM encoded", codec=codec, encodings=everything)
            check_sizes(f"every encoding, {codec}", frames)
        check_cut(frames)
        capture.compare("every type", "SELECT * FROM types WHERE id % 3 = 0 OR id > 5000 ORDER BY id", codec="lz4", encodings=everything)
        check_sizes("every type, plain", capture.compare("every type, plain", "SELECT * FROM types WHERE id % 20 = 0 OR id >= 6000"))
        capture.compare("everything as text", "SELECT * FROM types WHERE id % 20 = 0 OR id >= 6000", as_text=True, codec="zstd", encodings=everything)
        for encoding in ENCODINGS:
            capture.compare(f"encodings 0 and {encoding}", "SELECT * FROM encoded WHERE id % 6 = 0", codec="lz4", encodings=1 | 1 << encoding)
        capture.compare("small batches", "SELECT id, lengths FROM encoded", batch_rows=7, encodings=everything)
        capture.compare("no rows", "SELECT * FROM encoded WHERE id < 0")
        check_sizes("as toasted", capture.compare("as toasted", "SELECT * FROM toasted", codec="lz4", encodings=everything))
        check_slices(capture, everything)
        check_parallel(capture, everything)
        check_targets(capture, everything)
        check_chosen(capture, everything)
        check_command(server, capture)
        check_seen(everything)
        check_types(capture)
        check_type_examples(capture)
        check_example(capture)
        check_filters(capture)
        check_calls(capture)
        check_inboxes(capture)
    check_refusals(server)


def check_slices(capture, everything):
    rows, blocks = [], 0
    for slice in range(3):
        frames = capture.frames("SELECT * FROM big", encodings=everything, slices=(3, slice, blocks))
        stream = Stream((3, slice))
        rows += [copy_line(stream.columns, row) for frame in frames for row in stream.read(frame)]
        stream.finish()
        blocks = stream.slice_body.blocks
        report.ok(stream.slice_body.slices == 3 and blocks > 0, f"slice {slice} of 3 says that there are 3", stream.slice_body)
    report.ok(sorted(rows) == sorted(capture.copied("SELECT * FROM big")), f"each of {len(rows)} rows is in one slice")
    capture.compare("sorted, in one slice", "SELECT * FROM big ORDER BY id", slices=(3, 0, 0))


def check_parallel(capture, everything):
    capture.session.run("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
                        "SET parallel_leader_participation = off; SET max_parallel_workers_per_gather = 2")
    frames = capture.compare("parallel senders", "SELECT * FROM big", ordered=False, encodings=everything)
    senders = sorted({read_header(frame).sender for frame in frames})
    report.ok(len(senders) > 1 and 0 not in senders, "there is more than one parallel sender, and none is the backend", senders)
    capture.session.run("RESET ALL")


def check_targets(capture, everything):
    """Rows that are cut: each target's frames are a stream of its rows, in every codec; so are those of workers."""
    cases = [("encoded", 3, {"codec": codec}) for codec in CODECS] + [("big", 64, {"auto": (7, 1000, 0, 0, 1)}), ("types", 2, {"slices": (2, 0, 0)}),
                                                                                 ("toasted", 3, {"codec": "lz4"})]
    for table, targets, options in cases:
        cut_into(capture, f"{table}, {options}", table, targets, encodings=everything, **options)
        check_spread(capture, f"{table}, {options}", table, targets, encodings=everything, **options)
    capture.session.run("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
                        "SET parallel_leader_participation = off; SET max_parallel_workers_per_gather = 2")
    check_spread(capture, "by workers", "big", 3, encodings=everything, batch_rows=300, codec="lz4")
    cut_into(capture, "by workers, choices at random", "big", 3, encodings=everything, batch_rows=300, auto=(7, 1000, 0, 0, 1))
    frames = cut_into(capture, "by workers", "big", 5, encodings=everything, codec="lz4")
    senders = {read_header(frame).sender for frame in frames}
    report.ok(len(senders) > 5 and min(senders) >= 5, "there is more than one worker that cuts rows, and none is the backend", sorted(senders))
    capture.session.run("RESET ALL")
    for name, wrong in (("a target", [frame for frame in frames if read_header(frame).sender != max(senders)]),
                        ("an end frame of a target", frames[:-1])):
        try:
            read_targets(wrong, 5)
            report.ok(False, f"the reader refuses a stream that lacks {name}", "accepted")
        except Refused:
            report.ok(True, f"the reader refuses a stream that lacks {name}")


def cut_into(capture, name, table, targets, **request):
    """Does each target get its rows? The last but one has none, and every seventh row has no target. Returns the frames."""
    target = f"CASE WHEN id % 7 > 0 AND id % {targets} <> {targets - 2} THEN (id % {targets})::int4 END"
    frames = capture.frames(f"SELECT *, {target} FROM {table}", targets=targets, **request)
    slices = request.get("slices")
    try:
        columns, rows = read_targets(frames, targets, slices and slices[:2])
        alone = [read_stream([frame for frame in frames if read_header(frame).sender % targets == number], slices and slices[:2])[1]
                 for number in range(targets)]
    except Refused as refused:
        report.ok(False, f"each target gets its rows: {name}", refused)
        return frames
    wrong = []
    for number in range(targets):
        expected = sorted(map(same_lsn, capture.copied(f"SELECT * FROM {table} WHERE ({target}) = {number}")))
        got = sorted(same_lsn(copy_line(columns, row)) for row in rows[number])
        if got != expected if slices is None else not set(got) <= set(expected):
            wrong.append((number, len(got), len(expected)))
    report.ok(not wrong and alone == rows, f"each target gets its rows, {sum(map(len, rows))}, and its frames alone are a stream: {name}", wrong)
    return frames


def check_spread(capture, name, table, targets, **request):
    """Rows for any target come once, and are spread evenly; those for all come to each; others have their own target."""
    target = "CASE id % 5 WHEN 0 THEN NULL WHEN 1 THEN 0 WHEN 2 THEN -2 ELSE -1 END"
    slices = request.get("slices")
    try:
        columns, rows = read_targets(capture.frames(f"SELECT *, {target} FROM {table}", targets=targets, spread=True, **request), targets,
                                     slices and slices[:2])
    except Refused as refused:
        report.ok(False, f"rows are spread: {name}", refused)
        return
    if slices:
        return
    lines = [sorted(same_lsn(copy_line(columns, row)) for row in target_rows) for target_rows in rows]
    own, to_all, to_any = (sorted(map(same_lsn, capture.copied(f"SELECT * FROM {table} WHERE ({target}) = {number}"))) for number in (0, -2, -1))
    alone = [collections.Counter(got) - collections.Counter(to_all) for got in lines]
    alone[0] -= collections.Counter(own)
    dealt = sum(alone, collections.Counter())
    counts = [sum(got.values()) for got in alone]
    report.ok(dealt == collections.Counter(to_any) and sum(map(len, lines)) == len(own) + len(to_any) + targets * len(to_all),
              f"rows for any target come once, and those for all to each: {name}", (len(own), len(to_all), len(to_any), list(map(len, lines))))
    # each participant deals its rows in turn
    report.ok(max(counts) - min(counts) <= 3, f"rows for any target are spread evenly: {name}", counts)


def check_chosen(capture, everything):
    """Codec auto, with choices drawn at random; and the plan of a stream."""
    frames = capture.compare("choices at random", "SELECT * FROM big", ordered=False, batch_rows=300, encodings=everything, auto=(7, 1000, 0, 0, 1))
    choices = {header.choice for header in map(read_header, frames) if header.kind == 2}
    report.ok(choices == {0, 1, 2, 3}, "choices at random are all made", choices)
    stream = Stream(explain=True)
    for frame in capture.frames("SELECT * FROM big WHERE id < 100", explain=1):
        stream.read(frame)
    stream.finish()
    text, parsed = stream.plan[0], json.loads(stream.plan[1])
    report.ok("on big" in text and "Node Type" in parsed["Plan"], "the plan of a stream comes as text and as JSON", stream.plan)


def check_command(server, capture):
    """psql | python3 -m wire_reader, as its documentation has it."""
    query = "SELECT id, patched, escapes FROM encoded"
    request = words.request(capture.columns(query), codec="zstd")
    psql = subprocess.run([*server.psql_command(), "-c", "LOAD 'pg_exchange'", "-c", f"SELECT exchange.send('{request}', t.*) FROM ({query}) t"], check=False, text=True,
                          cwd=server.work, env=harness.environment(server.work), stdout=subprocess.PIPE, **harness.as_server_user())
    done = subprocess.run([sys.executable, "-B", "-m", "wire_reader"], input=psql.stdout.encode(), capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "test")})
    report.ok(done.stdout.split(b"\n")[:-1] == capture.copied(query), "psql | python3 -m wire_reader prints what COPY does", done.stderr.decode())
    query = "SELECT id, c_numeric, c_macaddr8 FROM types WHERE id < 3"
    done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts", "wire_dump.py"), query, "-h", server.work, "-p", str(server.port),
                           "-U", "postgres", "-d", "postgres"], capture_output=True, check=False)
    rows = [line.replace(b"\t", b"  ") for line in capture.copied(query)]
    report.ok(done.stdout.split(b"\n")[-3:-1] == rows and b"08 00 2b" in done.stdout, "scripts/wire_dump.py prints bytes and rows", done.stdout.decode() + done.stderr.decode())


def check_seen(everything):
    wanted = {("encoding", bit) for bit in range(32) if everything >> bit & 1}
    wanted |= {("child", encoding) for encoding in range(6)} | {("head",), ("method", 0), ("method", 1)}
    wanted |= {(what, value) for what in ("codec", "null_layout", "form") for value in range(3)}
    wanted |= {("kind", kind) for kind in (1, 2, 3, 4, 5)} | {("type", (1700, "numeric")), ("type", (3802, "text"))}
    for klass, types in (("fixed", FIXED_TYPES), ("array", ARRAY_TYPES), ("bytes", BYTES_TYPES)):
        wanted |= {("type", (oid, klass)) for oid in types}
    missing = sorted(str(what) for what in wanted if not seen[what if len(what) > 1 else what[0]])
    report.ok(not missing, f"captured frames have had every encoding, codec, layout, form, kind and type ({len(wanted)} things)", missing)


# ---- what doc/wire-types.md, doc/wire-example.md and doc/wire.md §9 show ------------------------

def document(name):
    with open(os.path.join(ROOT, "doc", name), encoding="utf-8") as file:
        return file.read()


def tables(text, *heading):
    """The rows of all tables of a document with these columns, each row a list of cells."""
    found = []
    for table in re.findall(rf"^\| {re.escape(' | '.join(heading))} \|\n\|[-|]+\|\n((?:^\|.*\n)+)", text, re.M):
        found += [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]
    return found


def check_types(capture):
    """The OIDs and classes of doc/wire-types.md are the server's and the reader's."""
    known = {**{oid: ("fixed", width) for oid, (width, _kind) in FIXED_TYPES.items()},
             **{oid: ("array", width) for oid, (width, _kind) in ARRAY_TYPES.items()},
             **{oid: ("bytes", None) for oid in BYTES_TYPES}, NUMERIC_TYPE: ("numeric", None)}
    rows = tables(document("wire-types.md"), "TYPE", "OID", "CLASS", "WIDTH", "VALUE")
    told = {int(oid): (klass, int(width) if width.isdigit() else None) for _type, oid, klass, width, _value in rows}
    report.ok(told == known and len(told) == len(rows), "the table of types is that of the reader", set(told.items()) ^ set(known.items()))
    wrong = [(type, oid) for type, oid, *_ in rows if capture.session.run(f"SELECT '{type.split(' ')[0]}'::regtype::oid::int") != oid]
    report.ok(not wrong, "the OIDs of the table of types are the server's", wrong)


def check_type_examples(capture):
    """The server sends each value of the tables of doc/wire-types.md as these bytes, and the reader understands them."""
    rows = tables(document("wire-types.md"), "TYPE", "VALUE", "BYTES")
    report.ok(len(rows) > 60, "doc/wire-types.md has examples of values", len(rows))
    for type, value, digits in rows:
        type, value, expected = type.split(", ")[0], value.strip("`"), bytes.fromhex(digits)
        if type.endswith(" (17)") and capture.version < 170000:
            continue
        frames = capture.frames(f"SELECT $px${value}$px$::{type.removesuffix(' (17)')} AS value")
        columns, values = read_stream(frames)
        payload = frames[1][64:]
        chunk = read_batch(read_header(frames[1]), Cursor(frames[1][40:]), columns)[0]
        sent = values[0][0] if columns[0].klass == "array" else payload[:chunk.header.stored_nbytes]
        report.ok(sent == expected, f"{type} {value} has the bytes of doc/wire-types.md", f"expected {digits}, got {sent.hex(' ')}")
        text = same_lsn(value_text(columns[0], values[0][0])).decode()
        report.ok(text == value, f"{type} {value} is read from its bytes", text)
    for type, value, _digits in rows:
        if ", scale " in type:
            frames = capture.frames(f"SELECT '{value.strip('`')}'::numeric AS value")
            report.ok(type == f"numeric, scale {read_stream(frames)[1][0][0].scale}", f"{type} {value} has that scale", type)


def check_example(capture):
    """doc/wire-example.md is what scripts/wire_dump.py prints; with --write it is made so."""
    text = document("wire-example.md")
    expected = f"```sql\n{wire_dump.EXAMPLE}\n```", f"```text\n{wire_dump.example(capture.session.run)}\n```"
    if sys.argv[1:] == ["--write"]:
        for language, block in zip(("sql", "text"), expected):
            text = re.sub(rf"^```{language}\n.*?^```$", lambda _: block, text, count=1, flags=re.M | re.S)
        with open(os.path.join(ROOT, "doc", "wire-example.md"), "w", encoding="utf-8") as file:
            file.write(text)
    differing = [pair for pair in zip(expected[1].split("\n"), re.search(r"^```text\n.*?^```$", text, re.M | re.S)[0].split("\n")) if pair[0] != pair[1]]
    report.ok(all(block in text for block in expected), "doc/wire-example.md shows what a server sends (--write makes it so)", differing[:3])


def refusals(words_of_request):
    """(SQLSTATE, what is wrong, statement); the one with an SQLSTATE of None is right."""
    right = words_of_request([(23, -1)])

    def send(request, query="SELECT 1", function="send"):
        return f"SELECT exchange.{function}('{request}', t.*) FROM ({query}) t"
    hello = words.hello(1, 1)
    yield None, "a word of a hello that nobody knows", f"SELECT exchange.hello('{hello} acme_x=1 y=')"
    yield "22023", "a hello without its words", "SELECT exchange.hello('protocol=1-1')"
    yield "22023", "a word twice", f"SELECT exchange.hello('{hello} export=0')"
    yield "22023", "two blanks", f"SELECT exchange.hello('{hello.replace(' ', '  ', 1)}')"
    yield "22023", "a hello of 513 bytes", f"SELECT exchange.hello('{hello} x={'x' * (510 - len(hello))}')"
    yield None, "a hello of 512 bytes", f"SELECT exchange.hello('{hello} x={'x' * (509 - len(hello))}')"
    yield None, "a hello without a common version", f"SELECT exchange.hello('{hello.replace('=1-1', '=2-9')}')"
    yield None, "a big-endian receiver", f"SELECT exchange.hello('{hello.replace('little', 'big')}')"
    yield None, "a request", send(right)
    yield None, "bits of encodings that nobody knows", send(words_of_request([(23, -1)], encodings=0xffffffff))
    yield None, "bits of codecs that nobody knows", send(words_of_request([(23, -1)], encodings=0xffffffff, auto=(0xffffffff, 1000, 0, 0, 0)))
    yield "22023", "a request of version 2", send(right.replace("version=1", "version=2", 1))
    yield "22023", "a request without plain", send(right.replace("encodings=1", "encodings=2"))
    yield "22023", "a codec that nobody knows", send(right.replace("codec=none", "codec=brotli"))
    yield "22023", "a word of a request that nobody knows", send(right.replace(" columns", " future=1 columns"))
    yield "22023", "words in another order", send(right.replace("codec=none level=0", "level=0 codec=none"))
    yield "22023", "a number out of range", send(right.replace("batch_rows=4096", "batch_rows=65537"))
    yield "22023", "something after the last word", send(right + " ")
    yield "22023", "too many columns", send(right + ",23:-1")
    yield "22023", "a slice that there is not", send(words_of_request([(23, -1)], slices=(2, 1, 9)))
    yield None, "slice 0 of a query without slices", send(words_of_request([(23, -1)], slices=(2, 0, 0)))
    yield "22023", "a target that is no int4", send(words_of_request([(23, -1)], targets=2), "SELECT 1, 1::int8")
    yield "22023", "a target out of range", send(words_of_request([(23, -1)], targets=2), "SELECT 1, 2")
    yield "22023", "targets in armour", send(words_of_request([(23, -1)], targets=2), "SELECT 1, 1", "send_text")
    yield "PX001", "a clause after the subquery", send(right) + " LIMIT 1"
    yield "PX001", "a table in place of the subquery", f"SELECT exchange.send('{right}', encoded) FROM encoded"
    yield "PX002", "the clock", send(right, "SELECT extract(year FROM now())::int")
    yield None, "the clock in armour", send(right, "SELECT extract(year FROM now())::int", "send_text")
    yield "PX002", "row locks", send(right, "SELECT id FROM encoded FOR UPDATE")
    yield "PX002", "the fingerprint of another session", send(words_of_request([(23, -1)], session=1))
    yield "22012", "an error of the query itself", send(right, "SELECT 1 / (id - id) FROM encoded")


def check_refusals(server):
    with harness.Session(server) as session:
        session.run("\\set ON_ERROR_STOP 0\n\\set VERBOSITY verbose")
        right = f"SELECT exchange.send('{words.request([(23, -1)])}', t.*) FROM (SELECT 1) t"
        for state in ("PX001", None):
            got = session.run(right)
            report.ok(got.startswith(f"ERROR:  {state}:") if state else got.startswith("\\x"), f"a first request: {state or 'answered the second time'}", got)
        for state, what, statement in refusals(words.request):
            got = session.run(statement)
            report.ok(f"ERROR:  {state}:" in got if state else "ERROR:" not in got, f"{what}: {state or 'accepted'}", got)
        session.run("CREATE ROLE visitor; REVOKE USAGE ON SCHEMA exchange FROM PUBLIC; SET ROLE visitor")
        got = session.run(right)
        report.ok("ERROR:  42501:" in got, "no right to use the schema: 42501", got)
        session.run("RESET ROLE; GRANT USAGE ON SCHEMA exchange TO PUBLIC")
    with harness.Session(server, "template1") as session:
        session.run("\\set ON_ERROR_STOP 0\n\\set VERBOSITY verbose")
        got = session.run(right)
        report.ok("ERROR:  3F000:" in got, "no pg_exchange: 3F000", got)


# ---- other calls of doc/wire.md, §11 to §15 --------------------------------------------------------

def check_filters(capture):
    """A filter made by hand has the keys that the server finds in it, and no others."""
    for name, of_key, literal, wanted in (
            ("bigint", int, "'{}'::int8", range(-300, 300, 3)), ("bytea", lambda n: str(n).encode() * (n % 5), "'\\x{}'::bytea", range(0, 300, 3)),
            ("text", lambda n: ("é" + str(n)) * (n % 4), "'{}'::text", range(0, 300, 3))):
        def stored(key):
            return key.encode() if isinstance(key, str) else key
        keys = [of_key(n) for n in range(-310 if name == "bigint" else 0, 310)]
        data = filters.make([stored(of_key(n)) for n in wanted], 7)
        array = ", ".join(literal.format(key.hex() if isinstance(key, bytes) else key) for key in keys)
        got = capture.session.run(f"SELECT string_agg(exchange.in_filter('\\x{data.hex()}', k)::int::text, '' ORDER BY n) "
                                  f"FROM unnest(ARRAY[{array}]) WITH ORDINALITY AS v(k, n)")
        expected = "".join(str(int(filters.has(data, stored(key)))) for key in keys)
        report.ok(got == expected and "0" in got, f"exchange.in_filter finds what a filter made by hand has: {name}", f"expected {expected}, got {got}")


def check_calls(capture):
    """Admissions, descriptions, orders and receipts."""
    session, ours = capture.session, words.hello(1, 1)
    hello, admission = words.read_after_hello(session.run(f"SELECT exchange.admit('{ours}', 'SELECT now()', false)"), words.ADMISSION)
    report.ok(hello["protocol"] == (1, 1) and int(admission["pid"]) == session.pid and admission["against"] == 'calls function "now"',
              "an admission is read", admission)
    frames = capture.frames("SELECT 1 AS a", session=int(admission["session"], 16))
    report.ok(read_stream(frames)[1] == [(1,)], "the fingerprint of an admission is that of the session")
    session.run("CREATE TEMP TABLE written (a int PRIMARY KEY, b text, c varchar)")
    statement = "INSERT INTO written VALUES ($1, $2, $3)"
    _, description = words.read_after_hello(session.run(f"SELECT exchange.describe('{ours}', '{statement}')"), words.DESCRIPTION)
    report.ok(description == {"against": "", "effects": "0", "exact": "1", "keys": "0", "columns": "23:-1,25:-1,1043:-1"}, "a description is read", description)
    query = "SELECT i AS a, 'row ' || i AS b, 'c' || i AS c FROM generate_series(1, 50) i"
    piece = b"".join(capture.frames(query.replace("'c' || i", "('c' || i)::varchar")))
    result = words.read_words(session.run(f"SELECT exchange.apply('version=1 batch_size=10', '{statement}', {quoted(armoured(piece))})"), words.RESULT)
    got = capture.copied("SELECT * FROM written ORDER BY a")
    report.ok(result["rows"] == "50" and got == capture.copied(query), "a piece made of a stream's frames is written", (result, got[:3]))
    held = words.read_words(session.run(f"SELECT exchange.apply('version=1 batch_size=10 hold=1', '{statement}', {quoted(armoured(piece))})"), words.HELD_ERROR)
    report.ok(held["error"] == "23505" and held["detail"] == "Key (a)=(1) already exists." and re.search("^pg_exchange row 0$", held["context"], re.M),
              "an error that is held is read", held)
    receipt = session.run(f"SELECT exchange.deposit('\\x{piece.hex()}')")
    report.ok(re.fullmatch(words.RECEIPT, receipt), "a receipt has its form", receipt)
    session.run("TRUNCATE written")
    result = words.read_words(session.run(f"SELECT exchange.apply('version=1 batch_size=10 deposit={receipt}', '{statement}', '')"), words.RESULT)
    report.ok(result["rows"] == "50", "a deposit is written", result)
    gone = session.run(f"SELECT exchange.apply('version=1 batch_size=10 deposit=1.{'0' * 16}.{'0' * 16}', '{statement}', '')")
    report.ok(re.fullmatch(r"rows=0 us=\d+ deposit=gone", gone), "a deposit that there is not is gone", gone)


def check_inboxes(capture):
    """Frames of two streams, one of them of several senders, are the rows of an inbox."""
    session = capture.session
    queries = "SELECT id, v FROM big WHERE id % 2 = 0", "SELECT id, v FROM big WHERE id % 2 = 1"
    first, second = capture.frames(queries[0]), capture.frames(f"SELECT *, (id % 3)::int4 FROM ({queries[1]}) q", targets=3, batch_rows=1000)
    records = b"".join(words.record(frame, 2, 5) for frame in second[:4]) + b"".join(words.record(frame, 2, 1) for frame in first)
    records += b"".join(words.record(frame, 2, 5) for frame in second[4:])
    session.run("BEGIN")
    kept = session.run(f"SELECT exchange.fill_inbox('\\x{records.hex()}')")
    got = capture.copied("SELECT * FROM exchange.inbox(2) AS t(id int, v text)")
    expected = [capture.copied(query) for query in queries]
    report.ok(int(kept) == sum(map(len, first + second)), "exchange.fill_inbox says how many bytes it has kept", kept)
    report.ok(got[:len(expected[0])] == expected[0] and sorted(got[len(expected[0]):]) == sorted(expected[1]), "the rows of an inbox are those of its sources", len(got))
    session.run("COMMIT")


# ---- 3: pg_exchange's receiver ------------------------------------------------------------------

def set_up_receiver(server, coordinator):
    """A database whose exchange.send returns the frames of table frames, and foreign tables of it. A coordinator asks
    the catalogs there whether its functions are the extension's, and they will say so, by a wrong operator."""
    hello = server.sql(f"SELECT exchange.hello('{words.hello(1, 1)}')")
    server.sql("CREATE DATABASE by_hand")
    server.sql(f"""
        CREATE SCHEMA exchange;
        CREATE TABLE frames (number int, frame bytea);
        CREATE FUNCTION exchange.hello(text) RETURNS text LANGUAGE sql AS $$ SELECT '{hello}' $$;
        CREATE FUNCTION exchange.admit(text, text, boolean) RETURNS text LANGUAGE sql VOLATILE AS $$
            SELECT '{hello}' || ' pid=' || pg_backend_pid() || ' session=0123456789abcdef snapshot='
                || CASE WHEN $3 THEN pg_export_snapshot() ELSE '-' END || ' idle=0 against=' $$;
        CREATE FUNCTION exchange.send(text, record) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
        BEGIN
            RETURN QUERY SELECT frame FROM public.frames ORDER BY number;
        END $$;
        SET allow_system_table_mods = on;
        INSERT INTO pg_extension SELECT 99999, 'pg_exchange', 10, oid, false, '1.1' FROM pg_namespace WHERE nspname = 'exchange';
        CREATE FUNCTION public.always(bigint, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
        UPDATE pg_operator SET oprcode = 'public.always' WHERE oprcode = 'int84eq'::regproc;""", "by_hand")
    coordinator.sql(f"""
        CREATE SERVER by_hand FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '{server.port}', dbname 'by_hand');
        CREATE USER MAPPING FOR CURRENT_USER SERVER by_hand OPTIONS (user 'postgres');""")
    for name, (sample, _) in samples.GOOD.items():
        types = coordinator.sql("SELECT " + ", ".join(f"{oid}::regtype" for oid, _, _ in sample["columns"])).split("|")
        columns = ", ".join(f"c{i} {type}" for i, type in enumerate(types))
        server.sql(f'CREATE TABLE "{name}" ({columns}); INSERT INTO "{name}" DEFAULT VALUES;', "by_hand")
        coordinator.sql(f'CREATE FOREIGN TABLE "{name}" ({columns}) SERVER by_hand')


def check_receiver(server, coordinator):
    set_up_receiver(server, coordinator)
    with harness.Session(server, "by_hand") as shard, harness.Session(coordinator) as session:
        session.run("\\set ON_ERROR_STOP 0\n\\set VERBOSITY verbose")

        def receive(table, sample):
            frames = samples.write(sample)
            session.run(f"SET pg_exchange.slices = {sample['asked'][0] if 'asked' in sample else 1}")
            shard.run("TRUNCATE frames; INSERT INTO frames VALUES " + ", ".join(
                f"({i}, '\\x{frame.hex()}')" for i, frame in enumerate(frames)))
            return session.run(f'COPY (SELECT * FROM "{table}") TO STDOUT')

        for name, (sample, _) in samples.GOOD.items():
            columns, rows = read_stream(samples.write(sample), sample.get("asked"))
            expected = b"\n".join(copy_line(columns, row) for row in rows).decode()
            got = receive(name, sample)
            report.ok(got == expected.rstrip("\n"), f"the receiver reads a stream made by hand: {name}", f"expected:\n{expected}\ngot:\n{got}")
        for name, good, change, _ in samples.broken():
            got = receive(good, samples.changed(samples.GOOD[good][0], change))
            report.ok(re.search(r"^ERROR:  (08P01|XX001): invalid frame from server", got, re.M), f"the receiver refuses a stream made by hand: {name}", got)


# ---- 4: exchange.unpack -------------------------------------------------------------------------

def check_unpack(server):
    with harness.Session(server) as session:
        session.run("\\set ON_ERROR_STOP 0\n\\set VERBOSITY verbose")

        def unpack(good, sample):
            columns = ", ".join(f"c{i} {session.run(f'SELECT {oid}::regtype')}" for i, (oid, _, _) in enumerate(samples.GOOD[good][0]["columns"]))
            return session.run(f"COPY (SELECT * FROM exchange.unpack({quoted(armoured(b''.join(samples.write(sample))))}) AS t({columns})) TO STDOUT")

        # A piece is not a slice, and has no plan.
        for name, (sample, _) in samples.GOOD.items():
            if "asked" not in sample:
                columns, rows = read_stream(samples.write(sample))
                expected = b"\n".join(copy_line(columns, row) for row in rows).decode().rstrip("\n")
                got = unpack(name, sample)
                report.ok(got == expected, f"exchange.unpack reads a stream made by hand: {name}", f"expected:\n{expected}\ngot:\n{got}")
        def unpack_one(sample):
            samples.GOOD["one"] = (sample, None)
            got = unpack("one", sample)
            del samples.GOOD["one"]
            return got

        for name, sample, expected in samples.nesting():
            got = unpack_one(sample)
            if expected is None:
                report.ok(re.search(r"^ERROR:  (08P01|XX001): invalid frame from the client", got, re.M), f"exchange.unpack refuses {name}", got)
            else:
                columns, rows = read_stream(samples.write(sample))
                expected = b"\n".join(copy_line(columns, row) for row in rows).decode()
                report.ok(got == expected, f"exchange.unpack reads {name}", f"expected:\n{expected}\ngot:\n{got}")
        for name, (sample, state, _message) in samples.VALUES.items():
            got = unpack_one(sample)
            report.ok(f"ERROR:  {state}:" in got, f"exchange.unpack refuses {name} with {state}", got)
        for sample, expected in samples.NEXT_VALUES:
            got = unpack_one(sample).replace("\n", " ")
            report.ok(got == expected, f"exchange.unpack reads {expected}", got)
        for name, good, change, _ in samples.broken():
            if "asked" not in samples.GOOD[good][0]:
                got = unpack(good, samples.changed(samples.GOOD[good][0], change))
                report.ok(re.search(r"^ERROR:  (08P01|XX001): invalid frame from the client", got, re.M),
                          f"exchange.unpack refuses a stream made by hand: {name}", got)


def check(work):
    check_samples()
    check_nesting()
    check_values()
    check_examples()
    server = harness.Server(work, "shard", {})
    coordinator = harness.coordinator(work, {})
    check_captured(server)
    check_receiver(server, coordinator)
    check_unpack(server)
    return report.done()


wire_packages.require()
import wire_dump  # noqa: E402
from wire_reader import filters, samples, words  # noqa: E402
from wire_reader.armour import armoured, disarmoured  # noqa: E402
from wire_reader.chunks import ENCODINGS, packed_nbytes  # noqa: E402
from wire_reader.cursor import Cursor, Refused, seen  # noqa: E402
from wire_reader.stream import (ARRAY_TYPES, BYTES_TYPES, FIXED_TYPES, NUMERIC_TYPE, Stream, read_batch, read_header, read_schema,  # noqa: E402
                                read_stream, read_targets)
from wire_reader.text import copy_line, numeric_text, value_text  # noqa: E402
sys.exit(harness.main(check))
