"""Frames and the stream they make up (doc/wire.md, 1 to 4 and 8)."""
import collections
import struct

from .chunks import FRAME_NBYTES_MAX, HEADER as CHUNK_HEADER, Chunk, Column, Header as ChunkHeader
from .cursor import Cursor, must, seen
from .integers import Kind

VERSION = 1
ROWS_MAX, COLUMNS_MAX, SENDER_MAX = 65536, 1664, 1024
SCHEMA, BATCH, END, SLICE, PLAN = 1, 2, 3, 4, 5

Frame = collections.namedtuple(
    "Frame", "magic version kind choice sender sequence rows columns reserved raw_nbytes body_nbytes crc32c")
FRAME = struct.Struct("<4sHBBIIIHHQII")
SliceBody = collections.namedtuple("SliceBody", "slices blocks file reason")

CLASSES = {0: "text", 1: "fixed", 2: "bytes", 3: "numeric", 4: "array"}

# The types of each class (§3) by their OIDs in pg_type: {oid: (width, kind of integers)}.
FIXED_TYPES = {
    18: (1, Kind(1, True)),                                                          # "char"
    21: (2, Kind(2, True)),                                                          # int2
    **{oid: (4, Kind(4, True)) for oid in (23, 1082, 700)},                          # int4, date, float4
    **{oid: (8, Kind(8, True)) for oid in (20, 1083, 1114, 1184, 701)},              # int8, time, timestamp(tz), float8
    16: (1, Kind(1, False)),                                                         # bool
    **{oid: (4, Kind(4, False)) for oid in (26, 28)},                                # oid, xid
    **{oid: (8, Kind(8, False)) for oid in (5069, 3220)},                            # xid8, pg_lsn
    **{oid: (6, None) for oid in (829, 27)},                                         # macaddr, tid
    774: (8, Kind(8, False)),                                                        # macaddr8
    1266: (12, None),                                                                # timetz
    **{oid: (16, None) for oid in (1186, 2950)},                                     # interval, uuid
}
ARRAY_TYPES = {   # by those of their elements
    1005: FIXED_TYPES[21], 1007: FIXED_TYPES[23], 1182: FIXED_TYPES[1082], 1021: FIXED_TYPES[700], 1016: FIXED_TYPES[20],
    1022: FIXED_TYPES[701], 1115: FIXED_TYPES[1114], 1185: FIXED_TYPES[1184], 1000: FIXED_TYPES[16], 1028: FIXED_TYPES[26],
}
BYTES_TYPES = (25, 1043, 1042, 114, 17, 19)   # text, varchar, bpchar, json, bytea, name
NUMERIC_TYPE = 1700


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = crc32c_table()


def crc32c(*parts):
    crc = 0xffffffff
    for part in parts:
        for byte in part:
            crc = CRC_TABLE[(crc ^ byte) & 0xff] ^ crc >> 8
    return crc ^ 0xffffffff


def read_header(data):
    """Check everything about a frame but what is in its body."""
    must(len(data) >= FRAME.size, "a frame has 40 bytes at least", len(data))
    frame = Frame(*FRAME.unpack_from(data))
    must(frame.magic == b"PGXF", "magic is PGXF", frame.magic)
    must(frame.version == VERSION, "version is 1", frame.version)
    must(frame.kind in (SCHEMA, BATCH, END, SLICE, PLAN), "kind is known", frame.kind)
    choice_max = 3 if frame.kind == BATCH else 0
    must(frame.choice <= choice_max, f"the choice is 0 to {choice_max}", frame.choice)
    must(frame.reserved == 0, "the reserved field is 0", frame.reserved)
    must(frame.sender <= SENDER_MAX, f"senders are 0 to {SENDER_MAX}", frame.sender)
    rows_min, rows_max = (1, ROWS_MAX) if frame.kind == BATCH else (0, 0)
    must(rows_min <= frame.rows <= rows_max, f"rows are {rows_min} to {rows_max}", frame.rows)
    columns_min, columns_max = (1, COLUMNS_MAX) if frame.kind in (SCHEMA, BATCH) else (0, 0)
    must(columns_min <= frame.columns <= columns_max, f"columns are {columns_min} to {columns_max}", frame.columns)
    must(frame.raw_nbytes <= (FRAME_NBYTES_MAX if frame.kind == BATCH else 0), "raw_nbytes is within its limit",
         frame.raw_nbytes)
    must(frame.kind != BATCH or frame.raw_nbytes <= 8388608 + 256 * frame.body_nbytes, "raw_nbytes is within reach of the body", frame.raw_nbytes)
    must(frame.body_nbytes <= FRAME_NBYTES_MAX - FRAME.size, "body_nbytes is within its limit", frame.body_nbytes)
    must(frame.body_nbytes == len(data) - FRAME.size, "body_nbytes is what follows the header", frame.body_nbytes)
    must(crc32c(data[:36], data[FRAME.size:]) == frame.crc32c, "the CRC is right")
    return frame


def read_schema(frame, body):
    columns = []
    for _ in range(frame.columns):
        type_oid, typmod, klass, width, reserved = struct.unpack("<IiBBH", body.take(12, "description of a column"))
        must(klass in CLASSES, "the class of a column is known", klass)
        must(reserved == 0, "the reserved field of a column is 0")
        klass, kind = CLASSES[klass], None
        if klass == "fixed":
            must(type_oid in FIXED_TYPES, "the type may be of class fixed", type_oid)
            expected, kind = FIXED_TYPES[type_oid]
        elif klass == "array":
            must(type_oid in ARRAY_TYPES, "the type may be of class array", type_oid)
            expected, kind = ARRAY_TYPES[type_oid]
        else:
            must(klass != "bytes" or type_oid in BYTES_TYPES, "the type may be of class bytes", type_oid)
            must(klass != "numeric" or type_oid == NUMERIC_TYPE, "the type may be of class numeric", type_oid)
            expected, kind = 0, Kind(8, True) if klass == "numeric" else None
        must(width == expected, f"the width of this type is {expected}", width)
        columns.append(Column(type_oid, typmod, klass, width, kind))
    body.finish("the schema")
    return columns


def read_batch(frame, body, columns, traces=None):
    """The chunks of a batch. traces: for each column, a list for what its encoded values are (Cursor)."""
    must(frame.columns == len(columns), f"a batch has the {len(columns)} columns of the schema", frame.columns)
    headers = [ChunkHeader(*CHUNK_HEADER.unpack(body.take(CHUNK_HEADER.size, "chunk header"))) for _ in columns]
    chunks = [Chunk(header, column, frame.rows) for header, column in zip(headers, columns)]
    must(sum(header.encoded_nbytes for header in headers) <= frame.raw_nbytes, "the encoded sizes add up to the raw size at most")
    for number, chunk in enumerate(chunks):
        chunk.read(body, chunks[:number], traces and traces[number])
    body.finish("the batch")
    return chunks


class Sender:
    """What has come from one sender."""

    def __init__(self):
        self.frames = self.rows = self.batches = self.raw_nbytes = self.wire_nbytes = 0
        self.has_schema = self.ended = False


class Stream:
    """Frames of one query in the order in which they came. slice: (slices, slice) if one was asked for; explain: was the plan?
    targets: how many the rows were to be cut into."""

    def __init__(self, slice=None, explain=False, targets=1):
        self.slice, self.slice_body = slice, None
        self.targets = targets
        self.explain, self.plan = explain, None
        self.columns, self.senders = None, {}

    def read(self, data):
        """Read a frame; the rows it brings: tuples of values, None for null (chunks.py says what values are)."""
        frame = read_header(data)
        must(self.plan is None, "no frame comes after the plan")
        if frame.kind == PLAN:
            self.read_plan(frame, Cursor(Cursor(data, FRAME.size).take(frame.body_nbytes, "body")))
            return []
        sender = self.senders.setdefault(frame.sender, Sender())
        must(not sender.ended, "no frame comes after a sender's end frame")
        must(frame.sequence == sender.frames, f"the sequence number is {sender.frames}", frame.sequence)
        body = Cursor(data, FRAME.size)
        body = Cursor(body.take(body.left, "body"))
        seen["kind", frame.kind] += 1
        seen["choice", frame.choice] += frame.kind == BATCH
        rows = []
        if frame.kind == SLICE:
            must(self.slice and sender.frames == 0, "a slice frame comes first, and only if one was asked for")
            self.read_slice(body)
        elif frame.kind == SCHEMA:
            must(not sender.has_schema and sender.frames == (1 if self.slice else 0), "a schema comes once, before batches")
            columns = read_schema(frame, body)
            must(self.columns in (None, columns), "all schemas of a stream are the same")
            self.columns, sender.has_schema = columns, True
        else:
            must(sender.has_schema, "the schema comes before batches and end")
            if frame.kind == BATCH:
                rows = list(zip(*(chunk.rows for chunk in read_batch(frame, body, self.columns))))
            else:
                self.read_end(body, sender)
        sender.frames += 1
        sender.wire_nbytes += len(data)
        if frame.kind == BATCH:
            sender.rows += frame.rows
            sender.batches += 1
            sender.raw_nbytes += frame.raw_nbytes
        return rows

    def read_plan(self, frame, body):
        must(self.explain, "a plan comes only if it was asked for")
        must(frame.sender == frame.sequence == 0, "a plan is nobody's", (frame.sender, frame.sequence))
        self.check_ends()
        seen["kind", frame.kind] += 1
        text_nbytes, json_nbytes = body.uint(4, "plan body"), body.uint(4, "plan body")
        text, json = (bytes(body.take(nbytes, "plan")) for nbytes in (text_nbytes, json_nbytes))
        body.finish("the plan body")
        self.plan = text.decode(), json.decode()

    def read_slice(self, body):
        got = SliceBody(*(body.uint(4, "slice body") for _ in SliceBody._fields))
        body.finish("the slice body")
        must(self.slice_body in (None, got), "all slice frames of a stream are the same")
        slices, number = self.slice
        must(got.slices in (slices, 1), f"slices are {slices} or 1", got.slices)
        if got.slices == 1:
            must(number == 0, "only slice 0 can turn out to be all there is")
            must(got.blocks == got.file == 0 and 1 <= got.reason <= 4, "one slice alone has a reason", got)
        else:
            must(got.reason == 0, "several slices need no reason", got.reason)
        self.slice_body = got

    def read_end(self, body, sender):
        for name in ("rows", "batches", "raw_nbytes", "wire_nbytes"):
            total = body.uint(8, "totals")
            must(total == getattr(sender, name), f"the end frame's {name} are what came, {getattr(sender, name)}", total)
        body.take(24, "times and link_rate")
        body.finish("the end body")
        sender.ended = True

    def finish(self):
        """The query has ended: is the stream complete?"""
        self.check_ends()
        must(not self.explain or self.plan is not None, "the plan that was asked for is there")

    def check_ends(self):
        must(self.senders, "a stream has a sender at least")
        must(all(sender.ended for sender in self.senders.values()), "every sender has sent its end frame")
        participants = {number // self.targets for number in self.senders}
        must(len(self.senders) == len(participants) * self.targets, "every participant has sent frames for each target",
             sorted(self.senders))


def read_stream(frames, slice=None, explain=False):
    """(columns, rows) of a whole stream."""
    stream = Stream(slice, explain)
    rows = [row for frame in frames for row in stream.read(frame)]
    stream.finish()
    return stream.columns, rows


def read_targets(frames, targets, slice=None, explain=False):
    """(columns, rows of each target) of a whole stream whose rows are cut into targets."""
    stream = Stream(slice, explain, targets)
    rows = [[] for _ in range(targets)]
    for frame in frames:
        rows[read_header(frame).sender % targets] += stream.read(frame)
    stream.finish()
    return stream.columns, rows
