"""Streams made by hand: what a reader must accept, though no writer may make it, and what it must refuse.

A stream is made of dictionaries, so that a change of one of its parts makes a broken one:

    {"columns": [(type OID, class, width)], "rows": 5, "chunks": [chunk], "schema": {}, "batch": {}, "end": {}}

The last three override fields of the frames' headers, "body" the body. A stream with "asked", (slices, slice), is the answer
to a request for a slice, which begins with a slice frame, "slice". A chunk has the fields of its header where
they are not as computed, and "values", its encoded values; "nulls", the null bitmap as an integer; "payload" if that
is not the values through the codec. Sizes and CRCs are right unless they are overridden."""
import copy
import struct

import lz4.block
import zstandard

from .chunks import FRAME_NBYTES_MAX, HEADER, LZ4, ZSTD, Header, Scaled
from .stream import BATCH, END, FRAME, PLAN, SCHEMA, SLICE, VERSION, Frame, crc32c

INT2, INT4, INT8, OID, FLOAT4, FLOAT8, TEXT, NUMERIC, UUID, INT4S, XID8 = 21, 23, 20, 26, 700, 701, 25, 1700, 2950, 1007, 5069
TEXT_CLASS, FIXED, BYTES, NUMERICS, ARRAY = range(5)


def u32(*numbers):
    return struct.pack(f"<{len(numbers)}I", *numbers)


def u64(*numbers):
    return struct.pack(f"<{len(numbers)}Q", *(number % (1 << 64) for number in numbers))


def padded(data):
    return data + bytes(-len(data) % 8)


def child(encoding, width, data, **change):
    field = {"encoding": encoding, "width": width, "reserved": 0, "nbytes": len(data), "padding": bytes(-len(data) % 8), **change}
    return struct.pack("<BBHI", field["encoding"], field["width"], field["reserved"], field["nbytes"]) + data + field["padding"]


def plain_child(width, *numbers):
    return child(0, width, b"".join((number % (1 << 8 * width)).to_bytes(width, "little") for number in numbers))


def frame_of_reference(base, bits, rest):
    return u64(base) + bytes([bits]) + bytes(7) + rest


def packed(*values):
    return b"".join(bytes([2 * len(value) + 3]) + value for value in values)   # short ones


# ---- from dictionaries to bytes ----------------------------------------------------------------

def frame(body, change, **fields):
    fields = {"magic": b"PGXF", "version": VERSION, "choice": 0, "sender": 0, "sequence": 0, "rows": 0, "columns": 0,
              "reserved": 0, "raw_nbytes": 0, "body_nbytes": len(body), "crc32c": 0, **fields, **change}
    body = fields.pop("body", body)
    header = FRAME.pack(*Frame(**fields))[:36]
    crc = change.get("crc32c", crc32c(header, body))
    return header + u32(crc) + body


def write_chunk(chunk, column, nrows):
    _oid, klass, width = column
    values, codec = chunk["values"], chunk.get("codec", 0)
    head = chunk.get("head_nbytes", 0)
    payload = chunk.get("payload")
    if payload is None:
        payload = values if codec not in (LZ4, ZSTD) else values[:head] + (
            lz4.block.compress(values[head:], store_size=False) if codec == LZ4
            else zstandard.ZstdCompressor().compress(values[head:]))
    form = chunk.get("form", {TEXT_CLASS: 1, FIXED: 0, BYTES: 1, NUMERICS: 0, ARRAY: 2}[klass])
    fields = {"encoding": 0, "codec": codec, "null_layout": 2 if "nulls" in chunk else 0, "form": form,
              "width": 0 if form == 1 else 8 if klass == NUMERICS else width, "scale": 0, "reserved": 0,
              "nvalues": nrows - bin(chunk.get("nulls", 0)).count("1"), "encoded_nbytes": len(values),
              "stored_nbytes": len(payload), "head_nbytes": head}
    header = Header(**{key: chunk.get(key, value) for key, value in fields.items()})
    bitmap = chunk["nulls"].to_bytes((nrows + 7) // 8, "little") if "nulls" in chunk else b""
    return HEADER.pack(*header), padded(bitmap) + payload + chunk.get("padding", bytes(-len(payload) % 8))


def write(stream):
    """The frames of a stream."""
    columns, nrows = stream["columns"], stream["rows"]
    slice = [frame(b"", stream["slice"], kind=SLICE)] if "slice" in stream else []
    schema = frame(b"".join(struct.pack("<IiBBH", oid, -1, klass, width, 0) for oid, klass, width in columns),
                   stream.get("schema", {}), kind=SCHEMA, columns=len(columns), sequence=len(slice))
    parts = [write_chunk(chunk, column, nrows) for chunk, column in zip(stream["chunks"], columns)]
    body = b"".join(header for header, _ in parts) + b"".join(payload for _, payload in parts)
    raw = max(len(body), 1 << 20)   # a figure that readers do not check
    batch = frame(body, stream.get("batch", {}), kind=BATCH, sequence=1 + len(slice), rows=nrows, columns=len(columns), raw_nbytes=raw)
    totals = struct.pack("<7Q", nrows, 1, raw, len(b"".join(slice) + schema + batch), 0, 0, 0)
    return [*slice, schema, batch, frame(totals, stream.get("end", {}), kind=END, sequence=2 + len(slice))]


def changed(stream, change):
    """A copy of a stream that change has had its way with."""
    stream = copy.deepcopy(stream)
    change(stream)
    return stream


def one(column, rows, **chunk):
    return {"columns": [column], "rows": rows, "chunks": [chunk]}


def set_chunk(**fields):
    return lambda stream: stream["chunks"][0].update(fields)


def set_frame(which, **fields):
    return lambda stream: stream.setdefault(which, {}).update(fields)


# ---- streams that are right: name -> (stream, rows of the first column) ------------------------

FOUR = packed(b"AIR", b"", b"RAIL", b"SHIP")
LONG = b"x" * 200
PGLZ, LZ4_VALUE = bytes.fromhex("02610f0151"), lz4.block.compress(b"a" * 100, store_size=False)
SENT = bytes((0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INT4))   # what array_send makes of {}
GOOD = {
    "plain": (one((INT4, FIXED, 4), 3, values=u32(1, 2, 0xffffffff)), [1, 2, -1]),
    "nulls": (one((INT2, FIXED, 2), 10, nulls=0b1000000001, values=struct.pack("<8h", *range(8))),
              [None, *range(8), None]),
    "all null": (one((INT4, FIXED, 4), 3, null_layout=1, nvalues=0, values=b""), [None] * 3),
    "constant": (one((UUID, FIXED, 16), 3, encoding=1, values=bytes(range(16))), [bytes(range(16))] * 3),
    "constant text": (one((TEXT, BYTES, 0), 3, encoding=1, values=packed(b"same")), [b"same"] * 3),
    "long constant": (one((TEXT, BYTES, 0), 2, encoding=1, values=u32(4 * 204) + LONG), [LONG] * 2),
    "frame of reference": (one((INT8, FIXED, 8), 5, encoding=2, values=frame_of_reference(-3, 3, b"\xc8\x70")), [-3, -2, 0, -3, 4]),
    # difference i is i mod 2: lanes of equal parity, words of all zeros or all ones
    "block": (one((INT4, FIXED, 4), 257, encoding=2, values=frame_of_reference(5, 1, u32(0, 0xffffffff) * 4 + b"\x01")),
              [5 + i % 2 for i in range(256)] + [6]),
    "delta": (one((INT4, FIXED, 4), 3, encoding=3, values=u64(7) + plain_child(8, -1, 10)), [7, 6, 16]),
    "run length": (one((INT4, FIXED, 4), 5, encoding=4, values=u32(2, 0) + plain_child(8, 1, 2) + plain_child(8, -9, 9)),
                   [-9, -9, 9, 9, 9]),
    "scaled": (one((XID8, FIXED, 8), 2, encoding=5, values=u64(-1, 2) + plain_child(8, 0, -1)), [(1 << 64) - 1, (1 << 64) - 3]),
    "nested": (one((INT4, FIXED, 4), 5, encoding=3, values=u64(1) + child(3, 8, u64(1) + child(5, 8, u64(0, 1) + child(
        3, 8, u64(1) + plain_child(8, 1, 1))))), [1, 2, 4, 8, 15]),
    "decimal": (one((FLOAT8, FIXED, 8), 3, encoding=6, values=b"\x02\0\0\0" + u32(1) + plain_child(8, 150, 0, -25) + plain_child(
        4, 1) + struct.pack("<d", -0.0)), [struct.unpack("<q", struct.pack("<d", x))[0] for x in (1.5, -0.0, -0.25)]),
    "byte planes": (one((INT2, FIXED, 2), 2, encoding=7, values=plain_child(1, 1, 2) + plain_child(1, 0, 1)), [1, 258]),
    "lengths and bytes": (one((TEXT, BYTES, 0), 3, encoding=9, values=u32(0, 0) + plain_child(4, 1, 0, 2) + b"abc"), [b"a", b"", b"bc"]),
    "blanks": (one((TEXT, BYTES, 0), 2, encoding=9, values=u32(4, 0) + plain_child(4, 1, 4) + b"abcde"), [b"a   ", b"bcde"]),
    "dictionary": (one((TEXT, BYTES, 0), 3, encoding=10, values=u32(4, 0) + plain_child(2, 2, 0, 2) + FOUR), None),
    "template": (one((TEXT, BYTES, 0), 2, encoding=11, values=bytes((4, 2, 0, 0, 0, 0, 0, 0)) + padded(b"\x01\x03" + b"#0-0") + plain_child(
        8, 7, 42)), [b"#0-7", b"#4-2"]),
    "template that is a short one": (one((TEXT, BYTES, 0), 1, encoding=11, values=bytes((1, 1, 0, 0, 0, 0, 0, 0)) + padded(
        b"\0" + b"0") + plain_child(8, 9)), [b"9"]),
    "scaled numerics": (one((NUMERIC, NUMERICS, 0), 2, scale=2, values=u64(7, -100)), [Scaled(7, 2), Scaled(-100, 2)]),
    "numerics as sent": (one((NUMERIC, NUMERICS, 0), 1, form=1, values=packed(bytes((0, 0, 0, 0, 0xc0, 0, 0, 0)))),
                         [bytes((0, 0, 0, 0, 0xc0, 0, 0, 0))]),
    "patched": (one((NUMERIC, NUMERICS, 0), 2, scale=2, encoding=12, values=u32(1, 0) + plain_child(8, 7, 0) + plain_child(
        4, 1) + packed(bytes((0, 0, 0, 0, 0xc0, 0, 0, 0)))), [Scaled(7, 2), bytes((0, 0, 0, 0, 0xc0, 0, 0, 0))]),
    "arrays": (one((INT4S, ARRAY, 4), 3, values=u32(1, 0) + plain_child(4, 3, 0, 1) + plain_child(4, 5, 6) + packed(SENT)), [[5, 6], SENT, []]),
    "no values as sent": (one((INT4S, ARRAY, 4), 1, values=u32(0, 0) + plain_child(4, 1) + plain_child(4)), [[]]),
    "long values": (one((TEXT, BYTES, 0), 3, values=packed(b"a") + b"\0\0" + u32(4 * 204) + LONG + packed(b"b")), [b"a", LONG, b"b"]),
    "lz4": (one((TEXT, BYTES, 0), 1, codec=LZ4, values=u32(4 * 204) + LONG), [LONG]),
    "zstd": (one((TEXT, BYTES, 0), 1, codec=ZSTD, values=u32(4 * 204) + LONG), [LONG]),
    "zstd with a head": (one((TEXT, BYTES, 0), 1, encoding=9, codec=ZSTD, head_nbytes=24,
                             values=u32(0, 0) + plain_child(4, 200) + LONG), [LONG]),
    "as toasted": (one((TEXT, BYTES, 0), 3, encoding=13, values=u32(2, 101 + 101) + plain_child(4, 0, 2) + plain_child(
        4, 100, 1 << 30 | 100) + packed(PGLZ, b"xy", LZ4_VALUE)), [b"a" * 100, b"xy", b"a" * 100]),
    # a, then a copy of 3 + 255 + 15 bytes where 9 are left; then bytes one by one, in a second group
    "copy beyond the end": (one((TEXT, BYTES, 0), 1, encoding=13, values=u32(1, 11) + plain_child(4, 0) + plain_child(4, 10) + packed(
        b"\2a\x0f\1\xff")), [b"a" * 10]),
    "group of bytes": (one((TEXT, BYTES, 0), 1, encoding=13, values=u32(1, 10) + plain_child(4, 0) + plain_child(4, 9) + packed(
        b"\0abcdefgh\0i")), [b"abcdefghi"]),
    "related": ({"columns": [(INT4, FIXED, 4), (OID, FIXED, 4)], "rows": 2, "chunks": [
        {"values": u32(10, 0xffffffff)}, {"encoding": 8, "values": u64(0) + plain_child(8, 5, 1)}]}, [10, -1]),
}
GOOD["slices that are one"] = (
    {**GOOD["plain"][0], "asked": (3, 0), "slice": {"body": u32(1, 0, 0, 3), "body_nbytes": 16}}, GOOD["plain"][1])
GOOD["dictionary"] = (changed(GOOD["dictionary"][0], set_chunk(values=u32(3, 0) + plain_child(2, 2, 0, 2) + packed(b"AIR", b"", b"RAIL"))),
                      [b"RAIL", b"AIR", b"RAIL"])


# ---- what must be refused: (what is wrong, which good stream, change, part of the message) -----

def second(**fields):
    return lambda stream: stream["chunks"][1].update(fields)


def schema_of(oid, klass, width, reserved=0):
    return set_frame("schema", body=struct.pack("<IiBBH", oid, -1, klass, width, reserved))


def values_of(*parts):
    return set_chunk(values=b"".join(parts))


def broken_frames():
    for kind in ("schema", "batch", "end"):
        yield f"magic of {kind}", "plain", set_frame(kind, magic=b"PGXG"), "magic"
        yield f"version of {kind}", "plain", set_frame(kind, version=2), "version"
        yield f"choice of {kind}", "plain", set_frame(kind, choice=4 if kind == "batch" else 1), "choice"
        yield f"reserved field of {kind}", "plain", set_frame(kind, reserved=1), "reserved"
        yield f"CRC of {kind}", "plain", set_frame(kind, crc32c=0), "CRC"
        yield f"sequence of {kind}", "plain", set_frame(kind, sequence=7), "sequence"
        yield f"body_nbytes of {kind}", "plain", set_frame(kind, body_nbytes=8), "body_nbytes is what follows"
    yield "kind 0", "plain", set_frame("batch", kind=0), "kind"
    yield "kind 6", "plain", set_frame("batch", kind=6), "kind"
    yield "a plan unasked", "plain", set_frame("end", kind=PLAN, sequence=0, body=u32(1, 2) + b"Pln", body_nbytes=11), "only if it was asked"
    yield "huge body_nbytes", "plain", set_frame("batch", body_nbytes=FRAME_NBYTES_MAX), "body_nbytes is within"
    yield "no rows", "plain", set_frame("batch", rows=0), "rows are 1"
    yield "too many rows", "plain", set_frame("batch", rows=65537), "rows are 1"
    yield "rows of a schema", "plain", set_frame("schema", rows=1), "rows are 0"
    yield "rows of an end", "plain", set_frame("end", rows=1), "rows are 0"
    yield "no columns", "plain", set_frame("schema", columns=0), "columns are 1"
    yield "too many columns", "plain", set_frame("schema", columns=1665), "columns are 1"
    yield "columns of an end", "plain", set_frame("end", columns=1), "columns are 0"
    yield "raw_nbytes", "plain", set_frame("batch", raw_nbytes=FRAME_NBYTES_MAX + 1), "raw_nbytes is within"
    yield "raw_nbytes beyond the body's reach", "plain", set_frame("batch", raw_nbytes=16 << 20), "raw_nbytes is within reach"
    yield "a sender beyond all workers", "plain", set_frame("batch", sender=1025), "senders are 0"
    yield "raw_nbytes of an end", "plain", set_frame("end", raw_nbytes=8), "raw_nbytes is within"
    yield "a column too many", "plain", set_frame("batch", columns=2), "columns of the schema"
    yield "a slice frame unasked", "plain", set_frame("schema", kind=SLICE, columns=0, body=u32(2, 100, 1, 0), body_nbytes=16), "slice"
    yield "a batch first", "plain", set_frame("schema", kind=BATCH, rows=1, raw_nbytes=100), "schema comes before"
    yield "a second schema", "plain", set_frame("batch", kind=SCHEMA, rows=0, raw_nbytes=0), "schema comes once"
    yield "an end for a batch", "plain", set_frame("batch", kind=END, rows=0, columns=0, raw_nbytes=0), "end frame's rows"
    yield "another sender's end", "plain", set_frame("end", sender=1, sequence=0), "schema comes before"
    for number, total in enumerate(("rows", "batches", "raw_nbytes", "wire_nbytes")):
        totals = [3, 1, 1 << 20, 52 + 40 + 24 + 16, 0, 0, 0]
        totals[number] += 1
        yield f"total of {total}", "plain", set_frame("end", body=struct.pack("<7Q", *totals)), f"end frame's {total}"
    yield "a short end", "plain", set_frame("end", body=bytes(40), body_nbytes=40), "end frame's rows"
    for what, body, message in (
            ("slices 0", (0, 0, 0, 1), "slices are 3 or 1"), ("slices other than asked for", (2, 100, 1, 0), "slices are 3 or 1"),
            ("one slice without a reason", (1, 0, 0, 0), "has a reason"), ("reason 5", (1, 0, 0, 5), "has a reason"),
            ("reason of several slices", (3, 100, 1, 1), "need no reason"), ("blocks of one slice", (1, 100, 0, 3), "has a reason"),
            ("file of one slice", (1, 0, 1, 3), "has a reason"), ("a slice frame that is too long", (1, 0, 0, 3, 0), "nothing follows"),
            ("a slice frame that is too short", (1, 0, 0), "slice body")):
        yield what, "slices that are one", set_frame("slice", body=u32(*body), body_nbytes=4 * len(body)), message
    yield "no slice frame", "slices that are one", lambda stream: stream.pop("slice") and None, "schema comes once"
    yield "a second slice frame", "slices that are one", set_frame(
        "schema", kind=SLICE, columns=0, body=u32(1, 0, 0, 3), body_nbytes=16), "slice frame comes first"
    yield "class 5", "plain", schema_of(INT4, 5, 4), "class of a column"
    yield "reserved field of a column", "plain", schema_of(INT4, FIXED, 4, 1), "reserved"
    yield "width of a type", "plain", schema_of(INT4, FIXED, 8), "width of this type"
    yield "fixed text", "plain", schema_of(TEXT, FIXED, 4), "may be of class fixed"
    yield "bytes of an integer", "plain", schema_of(INT4, BYTES, 0), "may be of class bytes"
    yield "width of text", "plain", schema_of(TEXT, BYTES, 4), "width of this type"
    yield "numeric integer", "plain", schema_of(INT4, NUMERICS, 0), "may be of class numeric"
    yield "array of text", "plain", schema_of(1009, ARRAY, 8), "may be of class array"
    yield "bytes behind the schema", "plain", set_frame("schema", body=bytes.fromhex("17000000ffffffff01040000") + bytes(12), body_nbytes=24), "nothing follows"


def broken_chunks():
    for field, value, message in (
            ("encoding", 99, "encoding of a chunk"), ("codec", 3, "codec of a chunk"), ("null_layout", 3, "null layout"),
            ("form", 3, "form of a chunk"), ("form", 1, "form and width"), ("width", 8, "form and width"), ("scale", 1, "scale"),
            ("reserved", 1, "reserved"), ("nvalues", 2, "nvalues"), ("nvalues", 4, "nvalues"), ("encoded_nbytes", 16, "stored_nbytes equals"),
            ("head_nbytes", 1, "head_nbytes is 0"), ("payload", bytes(16), "stored_nbytes equals"), ("encoding", 9, "for this form"),
            ("encoding", 12, "for this form"), ("encoding", 1, "encoded_nbytes of constant"), ("padding", b"\0\0\0\1", "padding"),
            ("padding", bytes(12), "nothing follows")):
        yield f"{field} {value}", "plain", set_chunk(**{field: value}), message
    yield "scale 19", "scaled numerics", set_chunk(scale=19), "scale"
    yield "scale of numerics as sent", "numerics as sent", set_chunk(scale=1), "scale"
    yield "encoding of integers for text", "constant text", set_chunk(encoding=3), "for this form"
    yield "constant arrays", "arrays", set_chunk(encoding=1), "for this form"
    yield "decimal of width 2", "byte planes", set_chunk(encoding=6), "for this form"
    yield "delta of uuid", "constant", set_chunk(encoding=3), "for this form"
    yield "nulls that are not", "nulls", set_chunk(nvalues=10, null_layout=2), "nvalues"
    yield "a bit too few", "nulls", set_chunk(nulls=0b1, nvalues=8), "rows - nvalues bits"
    yield "a bit behind the last row", "nulls", set_chunk(nulls=0b10000000001, nvalues=8), "bits behind the last row"
    yield "all null with values", "all null", set_chunk(nvalues=1), "nvalues"
    yield "all null with a payload", "all null", set_chunk(values=bytes(8)), "chunk of nulls"
    yield "all null with an encoding", "all null", set_chunk(encoding=1), "chunk of nulls"
    for codec in ("lz4", "zstd"):
        good = write_chunk(GOOD[codec][0]["chunks"][0], GOOD[codec][0]["columns"][0], 1)[1]
        stored = HEADER.unpack(write_chunk(GOOD[codec][0]["chunks"][0], GOOD[codec][0]["columns"][0], 1)[0])[9]
        yield f"{codec} that saves nothing", codec, set_chunk(payload=bytes(204)), "saves something"
        yield f"{codec} cut short", codec, set_chunk(payload=good[:stored - 1]), "decompress"
        yield f"{codec} with a byte behind it", codec, set_chunk(payload=good[:stored] + b"\0"), "decompress"
        yield f"{codec} that yields less", codec, set_chunk(encoded_nbytes=205), "size" if codec == "zstd" else "yields"
        yield f"{codec} that yields more", codec, set_chunk(encoded_nbytes=203), "size" if codec == "zstd" else "decompress"
        yield f"{codec} of noise", codec, set_chunk(payload=b"\xff" * 20), "decompress"
        yield f"{codec} with a head too long", codec, set_chunk(head_nbytes=100, payload=b"\xff" * 20), "head"
    yield "sizes that add up to too much", "related", second(
        codec=LZ4, encoded_nbytes=FRAME_NBYTES_MAX, payload=bytes(8)), "add up to the raw size"


def broken_integers():
    good = GOOD["frame of reference"][0]["chunks"][0]["values"]
    yield "0 bits", "frame of reference", values_of(frame_of_reference(-3, 0, b"")), "bits are 1"
    yield "64 bits", "frame of reference", values_of(frame_of_reference(-3, 64, bytes(40))), "bits are 1"
    yield "as many bits as the width has", "block", values_of(frame_of_reference(0, 32, bytes(1028))), "bits are 1"
    yield "base beyond the type", "block", values_of(frame_of_reference(1 << 31, 1, bytes(33))), "value of its width"
    yield "sum beyond the type", "block", values_of(frame_of_reference((1 << 31) - 1, 1, b"\xff" * 32 + b"\1")), "make a value"
    yield "a sum that wraps around", "frame of reference", values_of(frame_of_reference((1 << 63) - 1, 3, b"\xc8\x70")), "make a value"
    yield "reserved field of frame of reference", "frame of reference", values_of(good[:15], b"\1", good[16:]), "reserved"
    yield "bits behind the last difference", "frame of reference", values_of(good[:-1], b"\xf0"), "behind the last"
    yield "differences too few", "frame of reference", values_of(good[:-1]), "within what is there"
    yield "differences too many", "frame of reference", values_of(good, b"\0"), "nothing follows"
    yield "delta beyond the type", "delta", values_of(u64(7), plain_child(8, 1 << 31, 0)), "value of its width"
    yield "delta whose first is beyond", "delta", values_of(u64(1 << 31), plain_child(8, -1, 0)), "value of its width"
    yield "delta of one value", "delta", lambda s: (s.update(rows=1), set_chunk(values=u64(7) + child(0, 8, b""))(s)), "at least two"
    yield "no runs", "run length", values_of(u32(0, 0), plain_child(8), plain_child(8)), "runs are 1"
    yield "runs too many", "run length", values_of(u32(6, 0), plain_child(8, *[0] * 6), plain_child(8, *[0] * 6)), "runs are 1"
    yield "runs too short", "run length", values_of(u32(2, 0), plain_child(8, 1, 1), plain_child(8, -9, 9)), "add up"
    yield "runs too long", "run length", values_of(u32(2, 0), plain_child(8, 1, 3), plain_child(8, -9, 9)), "add up"
    yield "a negative length", "run length", values_of(u32(2, 0), plain_child(8, -2, 5), plain_child(8, -9, 9)), "add up"
    yield "reserved field of run length", "run length", values_of(u32(2, 1), plain_child(8, 1, 2), plain_child(8, -9, 9)), "reserved"
    yield "a run's value beyond the type", "run length", values_of(u32(2, 0), plain_child(8, 1, 2), plain_child(8, 1 << 31, 9)), "value of its width"
    yield "run length inside run length", "run length", values_of(u32(2, 0), child(4, 8, u32(1, 0) + plain_child(8, 1) + plain_child(
        8, 1)), plain_child(8, -9, 9)), "run length does not"
    pair = child(4, 8, u32(1, 0) + plain_child(8, 1) + plain_child(8, 0))   # 0, 0 as a run
    yield "run length inside delta inside run length", "run length", values_of(
        u32(3, 0), plain_child(8, 0, 1, 1), child(3, 8, u64(-9) + pair)), "run length does not"
    deep = plain_child(8, 0, 0, 0, 0, 0)
    for _ in range(4):
        deep = child(5, 8, u64(0, 1) + deep)
    yield "5 encodings inside each other", "nested", set_chunk(encoding=5, values=u64(0, 1) + deep), "4 deep"
    first = u64(7)
    for what, change, message in (("encoding 6", {"encoding": 6}, "encoding of a child"), ("width 4", {"width": 4}, "width of this child"),
                                  ("reserved field", {"reserved": 1}, "reserved"), ("nbytes too large", {"nbytes": 24}, "within what is there"),
                                  ("nbytes too small", {"nbytes": 8}, "within what is there")):
        yield f"child: {what}", "delta", values_of(first, child(**{"encoding": 0, "width": 8, "data": u64(-1, 10), **change})), message
    yield "child: padding", "lengths and bytes", values_of(u32(0, 0), child(0, 4, u32(1, 0, 2), padding=b"\0\0\0\1"), b"abc"), "padding"
    yield "child: bytes behind the integers", "delta", values_of(first, child(0, 8, u64(-1, 10, 0))), "nothing follows"
    yield "child of none that is not plain", "no values as sent", values_of(u32(0, 0), plain_child(4, 1), child(1, 4, b"")), "no integers"
    yield "child of none with bytes", "no values as sent", values_of(u32(0, 0), plain_child(4, 1), child(0, 4, bytes(4))), "no integers"


def broken_others():
    def decimal(decimals=2, reserved=0, exceptions=1, positions=(1,), values=struct.pack("<d", 0)):
        return values_of(bytes((decimals, reserved, 0, 0)), u32(exceptions), plain_child(8, 150, 0, -25), plain_child(4, *positions), values)
    yield "16 decimals", "decimal", decimal(decimals=16), "decimals are 15"
    yield "reserved field of decimals", "decimal", decimal(reserved=1), "reserved"
    yield "exceptions too many", "decimal", decimal(exceptions=4, positions=(0, 1, 2, 3), values=bytes(32)), "exceptions are no more"
    yield "positions that do not ascend", "decimal", decimal(exceptions=2, positions=(1, 0), values=bytes(16)), "ascend"
    yield "positions that are equal", "decimal", decimal(exceptions=2, positions=(1, 1), values=bytes(16)), "ascend"
    yield "position beyond the values", "decimal", decimal(positions=(3,)), "positions are below"
    yield "positions as runs", "decimal", values_of(b"\x02\0\0\0", u32(1), plain_child(8, 150, 0, -25), child(
        4, 4, u32(1, 0) + plain_child(8, 0) + plain_child(8, 1)), struct.pack("<d", 0)), "run length does not"
    yield "plane too many", "byte planes", values_of(*[plain_child(1, 1, 2)] * 3), "nothing follows"
    yield "related to itself", "related", second(values=u64(1) + plain_child(8, 5, 1)), "earlier one"
    yield "reserved field of related", "related", second(values=u64(1 << 16) + plain_child(8, 5, 1)), "reserved"
    yield "related beyond the type", "related", second(values=u64(0) + plain_child(8, -11, 1)), "value of its width"
    yield "related with nulls", "related", second(values=u64(0) + plain_child(8, 5), nulls=1), "no nulls"
    yield "related to text", "related", lambda s: (s["columns"].__setitem__(0, (TEXT, BYTES, 0)), s["chunks"][0].update(
        values=packed(b"a", b"b"))), "class fixed"
    yield "related to numerics", "related", lambda s: (s["columns"].__setitem__(0, (NUMERIC, NUMERICS, 0)), s["chunks"][0].update(
        values=u64(1, 2))), "class fixed"
    yield "lengths too short", "lengths and bytes", values_of(u32(0, 0), plain_child(4, 1, 0, 1), b"abc"), "add up"
    yield "lengths too long", "lengths and bytes", values_of(u32(0, 0), plain_child(4, 1, 0, 3), b"abc"), "add up"
    yield "reserved field of lengths", "lengths and bytes", values_of(u32(0, 1), plain_child(4, 1, 0, 2), b"abc"), "reserved"
    yield "length above pad", "blanks", values_of(u32(3, 0), plain_child(4, 1, 4), b"abcde"), "above pad"
    yield "pad beyond the limit", "blanks", values_of(u32(1 << 29, 0), plain_child(4, 1, 4), b"abcde"), "padded values"
    words = packed(b"AIR", b"", b"RAIL")
    yield "no entries", "dictionary", values_of(u32(0, 0), plain_child(2, 2, 0, 2), words), "entries are 1"
    yield "entries too many", "dictionary", values_of(u32(4, 0), plain_child(2, 2, 0, 2), FOUR), "entries are 1"
    yield "code beyond the entries", "dictionary", values_of(u32(2, 0), plain_child(2, 2, 0, 2), packed(b"AIR", b"")), "codes are below"
    yield "entry that is not there", "dictionary", values_of(u32(3, 0), plain_child(2, 2, 0, 2), packed(b"AIR", b"")), "within what is there"
    yield "entry beyond their number", "dictionary", values_of(u32(2, 0), plain_child(2, 1, 0, 1), words), "nothing follows"
    yield "reserved field of a dictionary", "dictionary", values_of(u32(3, 1), plain_child(2, 2, 0, 2), words), "reserved"

    def template(length=4, digits=2, reserved=0, positions=b"\1\3", text=b"#0-0", numbers=(7, 42), padding=None):
        start = positions + text
        return values_of(bytes((length, digits, reserved, 0, 0, 0, 0, 0)), start + (bytes(-len(start) % 8) if padding is None else padding),
                         plain_child(8, *numbers))
    yield "template of length 0", "template", template(length=0, text=b""), "length of a template"
    yield "template of length 127", "template", template(length=127, text=b"0" * 127), "length of a template"
    yield "no digits", "template", template(digits=0, positions=b""), "digits of a template"
    yield "19 digits", "template", template(length=20, digits=19, positions=bytes(range(19)), text=b"0" * 20), "digits of a template"
    yield "reserved field of a template", "template", template(reserved=1), "reserved"
    yield "digits that do not ascend", "template", template(positions=b"\3\1"), "ascend"
    yield "digit beyond the text", "template", template(positions=b"\1\4"), "positions are below"
    yield "text without 0 there", "template", template(text=b"#1-0"), "text has 0"
    yield "padding of a template", "template", template(padding=b"\0\1"), "padding"
    yield "number of too many digits", "template", template(numbers=(7, 100)), "digits of its template"
    yield "negative number", "template", template(numbers=(7, -1)), "digits of its template"
    nan = bytes((0, 0, 0, 0, 0xc0, 0, 0, 0))
    numbers = plain_child(8, 7, 0)
    yield "no exceptions", "patched", values_of(u32(0, 0), numbers, plain_child(4)), "exceptions are 1"
    yield "patches too many", "patched", values_of(u32(3, 0), numbers, plain_child(4, 0, 1, 2), packed(nan, nan, nan)), "exceptions are 1"
    yield "reserved field of patched", "patched", values_of(u32(1, 1), numbers, plain_child(4, 1), packed(nan)), "reserved"
    yield "patches that do not ascend", "patched", values_of(u32(2, 0), numbers, plain_child(4, 1, 1), packed(nan, nan)), "ascend"
    yield "patch beyond the values", "patched", values_of(u32(1, 0), numbers, plain_child(4, 2), packed(nan)), "positions are below"
    yield "exception too many", "patched", values_of(u32(1, 0), numbers, plain_child(4, 1), packed(nan, nan)), "nothing follows"
    yield "patched integers", "scaled", set_chunk(encoding=12), "for this form"

    def toasted(compressed=2, made=202, positions=(0, 2), methods=(100, 1 << 30 | 100), values=(PGLZ, b"xy", LZ4_VALUE)):
        return values_of(u32(compressed, made), plain_child(4, *positions), plain_child(4, *methods), packed(*values))
    yield "no compressed values", "as toasted", toasted(0, 0, (), ()), "compressed values are 1"
    yield "compressed values too many", "as toasted", toasted(4, 404, (0, 1, 2, 3), (100,) * 4), "compressed values are 1"
    yield "compressed values that do not ascend", "as toasted", toasted(positions=(2, 2)), "ascend"
    yield "compressed value beyond the values", "as toasted", toasted(positions=(0, 3)), "positions are below"
    yield "method 2", "as toasted", toasted(methods=(100, 2 << 30 | 100)), "method is"
    yield "what is made, too small", "as toasted", toasted(made=201), "what they make is right"
    yield "what is made, too large", "as toasted", toasted(made=203), "what they make is right"
    yield "what is made, beyond 255 times", "as toasted", toasted(made=255 * 200), "within its limits"
    yield "lz4 value that is longer", "as toasted", toasted(methods=(100, 1 << 30 | 99), made=201), "decompress"
    yield "lz4 value that is shorter", "as toasted", toasted(methods=(100, 1 << 30 | 101), made=203), "decompress"
    yield "lz4 value with a byte behind it", "as toasted", toasted(values=(PGLZ, b"xy", LZ4_VALUE + b"\0")), "decompress"
    yield "pglz value that is shorter", "as toasted", toasted(methods=(101, 1 << 30 | 100), made=203), "byte of pglz"
    yield "pglz value with a byte behind it", "as toasted", toasted(values=(PGLZ + b"\0", b"xy", LZ4_VALUE)), "nothing follows"
    yield "pglz copy from before the start", "as toasted", toasted(values=(b"\2a\x0f\2\x51", b"xy", LZ4_VALUE)), "copy begins"
    yield "pglz copy of distance 0", "as toasted", toasted(values=(b"\2a\x0f\0\x51", b"xy", LZ4_VALUE)), "copy begins"
    yield "pglz cut short", "as toasted", toasted(values=(PGLZ[:-1], b"xy", LZ4_VALUE)), "within what is there"
    yield "value too many as toasted", "as toasted", toasted(values=(PGLZ, b"xy", LZ4_VALUE, b"z")), "nothing follows"
    counts, elements = plain_child(4, 3, 0, 1), plain_child(4, 5, 6)
    yield "counts of 0 too many", "arrays", values_of(u32(0, 0), counts, elements), "as many counts"
    yield "counts of 0 too few", "arrays", values_of(u32(2, 0), counts, elements, packed(SENT, SENT)), "as many counts"
    yield "reserved field of arrays", "arrays", values_of(u32(1, 1), counts, elements, packed(SENT)), "reserved"
    yield "an element too many", "arrays", values_of(u32(1, 0), counts, plain_child(4, 5, 6, 7), packed(SENT)), "nothing follows"
    yield "elements beyond the limit", "arrays", values_of(u32(1, 0), plain_child(4, 1 << 31, 0, 1), elements, packed(SENT)), "elements are within"
    yield "value as sent too many", "arrays", values_of(u32(1, 0), counts, elements, packed(SENT, SENT)), "nothing follows"
    yield "elements as runs", "arrays", values_of(u32(1, 0), counts, child(4, 4, u32(1, 0) + plain_child(8, 1) + plain_child(
        8, 5)), packed(SENT)), "run length does not"
    long = u32(4 * 204) + LONG
    yield "short header of 1", "long values", values_of(packed(b"a"), b"\1", packed(b"b")), "short header"
    yield "padding of a value", "long values", values_of(packed(b"a"), b"\0\1", long, packed(b"b")), "padding"
    yield "padding before a short value", "long values", values_of(packed(b"a"), b"\0\0", packed(b"bcd", b"c")), "bits 0 and 1"
    yield "padding behind the last value", "long values", values_of(packed(b"a", b"b", b"c"), b"\0\0"), "nothing follows"
    yield "bits of a long header", "long values", values_of(packed(b"a"), b"\0\0", u32(4 * 204 + 2), LONG, packed(b"b")), "bits 0 and 1"
    yield "long header for 126 bytes", "long values", values_of(packed(b"a"), b"\0\0", u32(4 * 130), LONG[:126], packed(b"b")), "127 bytes"
    yield "value beyond the end", "long values", values_of(packed(b"a"), b"\0\0", u32(4 * 304), LONG), "within what is there"
    yield "long constant with padding", "long constant", values_of(bytes(4), long), "long header"
    yield "two constants", "constant text", values_of(packed(b"same", b"same")), "nothing follows"


def every_encoding(width, *numbers):
    """(name, child of these integers) for each encoding that children have, and for runs below another one."""
    def runs(*of):
        return child(4, 8, u32(len(of), 0) + plain_child(8, *[0] * len(of)) + plain_child(8, *of))
    differences = [b - a for a, b in zip(numbers, numbers[1:])]
    low, bits = min(numbers), max(1, (max(numbers) - min(numbers)).bit_length())
    rest = sum(number - low << i * bits for i, number in enumerate(numbers)).to_bytes((len(numbers) * bits + 7) // 8, "little")
    yield "plain", plain_child(width, *numbers)
    if len(set(numbers)) == 1:
        yield "constant", child(1, width, (numbers[0] % (1 << 8 * width)).to_bytes(width, "little"))
    yield "frame of reference", child(2, width, frame_of_reference(low, bits, rest))
    yield "delta", child(3, width, u64(numbers[0]) + plain_child(8, *differences))
    yield "run length", child(4, width, runs(*numbers)[8:])
    yield "scaled", child(5, width, u64(0, 1) + plain_child(8, *numbers))
    yield "run length below delta", child(3, width, u64(numbers[0]) + runs(*differences))
    yield "run length below scaled", child(5, width, u64(0, 1) + runs(*numbers))


def nesting():
    """The table of children in §6: (name, column, fields of a chunk of two values, rows), for each encoding of each child.
    rows is None if the encoding may not stand there."""
    nan = bytes((0, 0, 0, 0, 0xc0, 0, 0, 0))
    halves = [struct.unpack("<q", struct.pack("<d", x))[0] for x in (0.5, 0.0)]
    parents = [   # parent, child, may it be runs, column, fields, width and integers of the child, what is before and behind it, rows
        ("delta", "differences", True, (INT4, FIXED, 4), {"encoding": 3, "rows": 3}, 8, (1, 1), u64(7), b"", [7, 8, 9]),
        ("run length", "lengths", False, (INT4, FIXED, 4), {"encoding": 4, "rows": 4}, 8, (1, 1), u32(2, 0), plain_child(8, 5, 6), [5, 5, 6, 6]),
        ("run length", "values", False, (INT4, FIXED, 4), {"encoding": 4}, 8, (5, 5), u32(2, 0) + plain_child(8, 0, 0), b"", [5, 5]),
        ("scaled", "quotients", True, (INT4, FIXED, 4), {"encoding": 5}, 8, (3, 4), u64(1, 2), b"", [7, 9]),
        ("decimal", "numbers", True, (FLOAT8, FIXED, 8), {"encoding": 6}, 8, (5, 0), b"\1\0\0\0" + u32(0), b"", halves),
        ("decimal", "positions", False, (FLOAT8, FIXED, 8), {"encoding": 6}, 4, (0, 1), b"\1\0\0\0" + u32(2) + plain_child(8, 9, 9),
         struct.pack("<2q", *halves), halves),
        ("byte planes", "first plane", False, (INT2, FIXED, 2), {"encoding": 7}, 1, (1, 1), b"", plain_child(1, 0, 1), [1, 257]),
        ("byte planes", "second plane", False, (INT2, FIXED, 2), {"encoding": 7}, 1, (0, 1), plain_child(1, 1, 1), b"", [1, 257]),
        ("lengths and bytes", "lengths", True, (TEXT, BYTES, 0), {"encoding": 9}, 4, (1, 1), u32(0, 0), b"ab", [b"a", b"b"]),
        ("dictionary", "codes", True, (TEXT, BYTES, 0), {"encoding": 10}, 2, (0, 0), u32(1, 0), packed(b"a"), [b"a", b"a"]),
        ("template", "numbers", True, (TEXT, BYTES, 0), {"encoding": 11}, 8, (7, 8), bytes((1, 1, 0, 0, 0, 0, 0, 0)) + padded(b"\0" + b"0"), b"", [b"7", b"8"]),
        ("patched", "numbers", True, (NUMERIC, NUMERICS, 0), {"encoding": 12}, 8, (7, 7), u32(1, 0), plain_child(4, 1) + packed(nan), [Scaled(7, 0), nan]),
        ("patched", "positions", True, (NUMERIC, NUMERICS, 0), {"encoding": 12}, 4, (0, 1), u32(2, 0) + plain_child(8, 0, 0), packed(nan, nan), [nan, nan]),
        ("as toasted", "positions", True, (TEXT, BYTES, 0), {"encoding": 13}, 4, (0, 1), u32(2, 202), plain_child(4, 100, 100) + packed(PGLZ, PGLZ), [b"a" * 100] * 2),
        ("as toasted", "methods", True, (TEXT, BYTES, 0), {"encoding": 13}, 4, (100, 100), u32(2, 202) + plain_child(4, 0, 1), packed(PGLZ, PGLZ), [b"a" * 100] * 2),
        ("arrays", "counts", True, (INT4S, ARRAY, 4), {}, 4, (2, 2), u32(0, 0), plain_child(4, 5, 6), [[5], [6]]),
        ("arrays", "elements", False, (INT4S, ARRAY, 4), {}, 4, (5, 5), u32(0, 0) + plain_child(4, 2, 2), b"", [[5], [5]]),
    ]
    for parent, which, may_be_runs, column, fields, width, numbers, before, behind, rows in parents:
        for encoding, data in every_encoding(width, *numbers):
            stream = one(column, fields.get("rows", 2), values=before + data + behind,
                         **{key: value for key, value in fields.items() if key != "rows"})
            allowed = may_be_runs or "run length" not in encoding
            yield f"{encoding} for {which} of {parent}", stream, rows if allowed else None


# ---- values that their types do not have: name -> (stream, SQLSTATE of the extension, part of the reader's message) ---------

def us(number):
    return struct.pack("<q", number)


VALUES = {
    "bool 2": (one((16, FIXED, 1), 1, values=b"\2"), "22P03", "bool"),
    "bool 2 in an array": (one((1000, ARRAY, 1), 1, values=u32(0, 0) + plain_child(4, 2) + plain_child(1, 2)), "22P03", "bool"),
    "a date too early": (one((1082, FIXED, 4), 1, values=struct.pack("<i", -2451546)), "22008", "date"),
    "a date too late": (one((1082, FIXED, 4), 1, values=struct.pack("<i", 2145031949)), "22008", "date"),
    "a date too late in an array": (one((1182, ARRAY, 4), 1, values=u32(0, 0) + plain_child(4, 2) + plain_child(4, 2145031949)), "22008", "date"),
    "a negative time": (one((1083, FIXED, 8), 1, values=us(-1)), "22008", "time"),
    "a time beyond the day": (one((1083, FIXED, 8), 1, values=us(86400000001)), "22008", "time"),
    "a timetz beyond the day": (one((1266, FIXED, 12), 1, values=us(86400000001) + bytes(4)), "22008", "time"),
    "a zone too far west": (one((1266, FIXED, 12), 1, values=us(0) + struct.pack("<i", 57600)), "22009", "zone"),
    "a zone too far east": (one((1266, FIXED, 12), 1, values=us(0) + struct.pack("<i", -57600)), "22009", "zone"),
    "a timestamp too early": (one((1114, FIXED, 8), 1, values=us(-211813488000000001)), "22008", "timestamp"),
    "a timestamp too late": (one((1184, FIXED, 8), 1, values=us(9223371331200000000)), "22008", "timestamp"),
    "a zero byte in a text": (one((TEXT, BYTES, 0), 1, values=packed(b"a\0")), "22021", "zero byte"),
}
# The values next to them are good.
NEXT_VALUES = [
    (one((1082, FIXED, 4), 4, values=struct.pack("<4i", -2451545, 2145031948, -1 << 31, (1 << 31) - 1)), "4714-11-24 BC 5874897-12-31 -infinity infinity"),
    (one((1083, FIXED, 8), 2, values=us(0) + us(86400000000)), "00:00:00 24:00:00"),
    (one((1266, FIXED, 12), 2, values=us(0) + struct.pack("<i", 57599) + us(86400000000) + struct.pack("<i", -57599)), "00:00:00-15:59:59 24:00:00+15:59:59"),
    (one((1114, FIXED, 8), 4, values=us(-211813488000000000) + us(9223371331199999999) + us(-1 << 63) + us((1 << 63) - 1)),
     "4714-11-24 00:00:00 BC 294276-12-31 23:59:59.999999 -infinity infinity"),
]


def broken():
    yield from broken_frames()
    yield from broken_chunks()
    yield from broken_integers()
    yield from broken_others()
