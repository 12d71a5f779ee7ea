#!/usr/bin/env python3
"""Print a stream byte by byte, with what each byte means: scripts/wire_dump.py QUERY [psql option ...]

The server that psql reaches with these options is asked for the rows of the query: the hello, the request, and the
frames that it sends are printed, then the rows. Every type is asked for as doc/wire-types.md has it; encodings are
all, there is no codec. What doc/wire.md forbids ends it with an error.

    scripts/wire_dump.py 'SELECT 1 AS a' -h shard1 -d postgres

doc/wire-example.md is made by example(), which scripts/check_wire.py compares with it. What differs from server to server
and from run to run is printed as dots there."""
import os
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "scripts"), os.path.join(ROOT, "test")]

KINDS = {1: "schema", 2: "batch", 3: "end", 4: "slice", 5: "plan"}
ENCODINGS = ("plain", "constant", "frame of reference", "delta", "run length", "scaled", "decimal", "byte planes", "related",
             "lengths and bytes", "dictionary", "template", "patched", "as toasted")
CODECS = ("none", "lz4", "zstd")
NULLS = ("none", "all", "bitmap")
FORMS = ("fixed", "bytes", "array")
BYTES_OF_LINE = 8

# Of doc/wire-example.md: every class, a constant, packed integers, nulls, scaled numerics, and arrays.
EXAMPLE = """SELECT * FROM (VALUES
    (10, date '2026-01-01', 1.50::numeric(6,2), 'AIR', '{1,2}'::int4[], inet '10.0.0.1'),
    (11, date '2026-01-01', NULL,               '',    '{}',            '10.0.0.2'),
    (13, date '2026-01-01', 2.25,               'Ä',   '{3}',           '10.0.0.3'),
    (10, date '2026-01-01', 0.07,               'SEA', '{4,NULL}',      '10.0.0.4'),
    (17, date '2026-01-01', 1.50,               'AIR', NULL,            '10.0.0.5'))
  AS v(id, day, price, mode, tags, host)"""


class Dump:
    """Lines of offset, bytes, and meaning, of one frame."""

    def __init__(self, data):
        self.data, self.at, self.lines = data, 0, []

    def take(self, nbytes, meaning, varies=False):
        data = self.data[self.at:self.at + nbytes]
        for start in range(0, max(nbytes, 1), BYTES_OF_LINE):
            part = data[start:start + BYTES_OF_LINE]
            digits = ".. " * len(part) if varies else part.hex(" ") + " "
            self.lines.append(f"{self.at + start:4}  {digits:<{3 * BYTES_OF_LINE}}  {meaning if start == 0 else ''}".rstrip())
        self.at += nbytes
        return data

    def text(self, line):
        self.lines.append(line)


def named(names, number):
    return f"{number} ({names[number]})"


def dump_header(dump, frame, varies):
    dump.take(8, f"magic, version {frame.version}, kind {named(KINDS, frame.kind)}, choice {frame.choice}")
    dump.take(8, f"sender {frame.sender}, sequence {frame.sequence}")
    dump.take(8, f"rows {frame.rows}, columns {frame.columns}, reserved")
    dump.take(8, f"raw_nbytes {frame.raw_nbytes}")
    dump.take(4, f"body_nbytes {frame.body_nbytes}")
    dump.take(4, "crc32c", varies)


def dump_schema(dump, columns):
    for number, column in enumerate(columns):
        dump.take(8, f"column {number}: type_oid {column.type_oid}, typmod {column.typmod}")
        dump.take(4, f"class {column.klass}, width {column.width}, reserved")


def dump_batch(dump, frame, columns, chunks, pieces):
    for number, chunk in enumerate(chunks):
        h = chunk.header
        dump.take(8, f"column {number}: {ENCODINGS[h.encoding]}, codec {CODECS[h.codec]}, nulls {NULLS[h.null_layout]}")
        dump.lines[-1] += f", {FORMS[h.form]}" + (f", width {h.width}" if h.width else "") + (f", scale {h.scale}" if columns[number].klass == "numeric" else "")
        dump.take(8, f"nvalues {h.nvalues}, encoded_nbytes {h.encoded_nbytes}")
        dump.take(8, f"stored_nbytes {h.stored_nbytes}, head_nbytes {h.head_nbytes}")
    for number, chunk in enumerate(chunks):
        dump.text(f"      column {number}:")
        if chunk.nulls is not None:
            dump.take((frame.rows + 7) // 8, "null bitmap")
            dump.take(-(dump.at - 40) % 8, "padding")
        if chunk.header.codec:
            dump.take(chunk.header.stored_nbytes, f"payload, {CODECS[chunk.header.codec]}")
        else:
            for _offset, nbytes, meaning in sorted(pieces[number]):
                if meaning == "packed value" and columns[number].klass in ("text", "bytes"):
                    meaning += f" {dump.data[dump.at:dump.at + nbytes].decode('utf-8', 'replace')!r}"
                dump.take(nbytes, meaning)
        if (padding := -(dump.at - 40) % 8):
            dump.take(padding, "padding")


def dump_end(dump, body, varies):
    for number, (name, total) in enumerate(zip(("rows", "batches", "raw_nbytes", "wire_nbytes", "encode_us", "send_wait_us", "link_rate"),
                                               struct.unpack("<7Q", body))):
        dump.take(8, name if varies and number > 3 else f"{name} {total}", varies and number > 3)


def dump_frame(data, columns, varies):
    """The lines of a frame, and the columns of the schema if it is one. varies: print dots for what differs from run to run."""
    frame, dump, body = read_header(data), Dump(data), Cursor(data[40:])
    dump_header(dump, frame, varies and frame.kind == 3)
    if frame.kind == 1:
        columns = read_schema(frame, body)
        dump_schema(dump, columns)
    elif frame.kind == 2:
        pieces = [[] for _ in columns]
        dump_batch(dump, frame, columns, read_batch(frame, body, columns, pieces), pieces)
    elif frame.kind == 3:
        dump_end(dump, data[40:], varies)
    else:
        dump.take(frame.body_nbytes, "body")
    if dump.at != len(data):
        raise ValueError(f"{len(data) - dump.at} bytes of a frame are not explained")
    return dump.lines, columns


def dump_frames(frames, varies=False):
    """The lines of a whole stream, and its rows."""
    lines, columns = [], None
    for number, data in enumerate(frames):
        kind = KINDS[read_header(data).kind]
        frame_lines, columns = dump_frame(data, columns, varies)
        lines += [f"Frame {number}, {kind}, {len(data)} bytes", *frame_lines, ""]
    columns, rows = read_stream(frames)
    return [*lines, "The rows", *(copy_line(columns, row).decode().replace("\t", "  ") for row in rows)]


def columns_of(run, query):
    """(type, typmod) of the query's columns, as a request has them: 0 for types without a class."""
    answer = run(f"CREATE TEMP VIEW wire_dump AS {query};"
                 "SELECT string_agg(format('%s %s', base, typmod), ',' ORDER BY attnum) FROM (SELECT attnum, coalesce(nullif(typbasetype, 0), t.oid) AS base, "
                 "CASE WHEN typbasetype = 0 THEN atttypmod ELSE typtypmod END AS typmod FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid "
                 "WHERE attrelid = 'wire_dump'::regclass) x; DROP VIEW wire_dump")
    known = {*FIXED_TYPES, *ARRAY_TYPES, *BYTES_TYPES, NUMERIC_TYPE}
    pairs = [tuple(map(int, pair.split())) for pair in answer.split("\n")[-1].split(",")]
    return [pair if pair[0] in known else (0, -1) for pair in pairs]


def stream_of(run, query, version):
    """(hello, request, frames) of a query, in a session whose SQL is run by run()."""
    ours = words.hello((1 << len(ENCODINGS)) - 1, 1, version)
    theirs = run(f"SELECT exchange.hello('{ours}')")
    request = words.request(columns_of(run, query), encodings=(1 << len(ENCODINGS)) - 1, server_version=version)
    frames = run(f"SELECT exchange.send('{request}', t.*) FROM ({query}) t").split("\n")
    return ours, theirs, request, [bytes.fromhex(frame[2:]) for frame in frames]


def wrapped(line, sign):
    """Words of a line, in several lines if it is long."""
    lines, room = [], 76
    for word in line.split(" "):
        if not lines or len(lines[-1]) + len(word) >= room:
            lines.append(sign + word)
        else:
            lines[-1] += " " + word
    return lines


def example(run):
    """The text of doc/wire-example.md that is made by this script."""
    ours, theirs, request, frames = stream_of(run, EXAMPLE, 150000)
    words.read_hello(theirs)
    theirs = re.sub(r"\b(instance|pull)=\S+", r"\1=" + "." * 32, re.sub(r"\bserver_version=\S+", "server_version=......", theirs))
    return "\n".join(["The hello of the receiver, and the answer", *wrapped(ours, "> "), *wrapped(theirs, "< "), "",
                      "The request", *wrapped(request, "> "), "", *dump_frames(frames, True)])


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    query, options = arguments[0].rstrip("; \n"), arguments[1:]
    process = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(sql):
        process.stdin.write(f"{sql}\n;\n\\echo :end-of-answer\n")
        process.stdin.flush()
        lines = []
        for line in process.stdout:
            if line == ":end-of-answer\n":
                return "".join(lines).rstrip("\n")
            lines.append(line)
        sys.exit(1)   # psql has said why

    ours, theirs, request, frames = stream_of(run, query, int(run("SHOW server_version_num")))
    print("\n".join(["> " + ours, "< " + theirs, "> " + request, "", *dump_frames(frames)]))


if __name__ == "__main__":
    import wire_packages
    wire_packages.require()
from wire_reader import words  # noqa: E402
from wire_reader.cursor import Cursor  # noqa: E402
from wire_reader.stream import (ARRAY_TYPES, BYTES_TYPES, FIXED_TYPES, NUMERIC_TYPE, read_batch, read_header, read_schema,  # noqa: E402
                                read_stream)
from wire_reader.text import copy_line  # noqa: E402

if __name__ == "__main__":
    main(sys.argv[1:])
