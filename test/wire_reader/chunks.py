"""A chunk: the values of one column in one batch (doc/wire.md, 4 to 7)."""
import collections
import struct

import lz4.block
import zstandard

from . import integers
from .cursor import Cursor, must, seen
from .integers import Kind, child

FRAME_NBYTES_MAX = 0x3fffffff
FIXED, BYTES, ARRAY = range(3)                 # forms
NULLS_NONE, NULLS_ALL, NULLS_BITMAP = range(3)
NONE, LZ4, ZSTD = range(3)                     # codecs
ELEMENTS_MAX = 0x7ffffff

Header = collections.namedtuple(
    "Header", "encoding codec null_layout form width scale reserved nvalues encoded_nbytes stored_nbytes head_nbytes")
HEADER = struct.Struct("<6BH4I")

# A numeric that travels as a scaled integer; others are what numeric_send writes, as bytes.
Scaled = collections.namedtuple("Scaled", "integer scale")

# What the schema says of a column: class is text, fixed, bytes, numeric or array (stream.py); kind is that of its
# integers, None if its values are none; width 0 unless fixed or array.
Column = collections.namedtuple("Column", "type_oid typmod klass width kind")


class Chunk:
    """Its header, and once read: values (dense), and rows with None for nulls."""

    def __init__(self, header, column, nrows):
        self.header, self.column, self.nrows = header, column, nrows
        self.nulls = self.values = self.rows = None
        self.check_header()

    def check_header(self):
        h, column = self.header, self.column
        must(h.encoding in ENCODINGS, "the encoding of a chunk is known", h.encoding)
        must(h.codec in (NONE, LZ4, ZSTD), "the codec of a chunk is known", h.codec)
        must(h.null_layout in (NULLS_NONE, NULLS_ALL, NULLS_BITMAP), "the null layout of a chunk is known", h.null_layout)
        must(h.form in (FIXED, BYTES, ARRAY), "the form of a chunk is known", h.form)
        forms = {"text": [(BYTES, 0)], "bytes": [(BYTES, 0)], "fixed": [(FIXED, column.width)],
                 "numeric": [(FIXED, 8), (BYTES, 0)], "array": [(ARRAY, column.width)]}[column.klass]
        must((h.form, h.width) in forms, f"form and width are those of the column's class {column.klass}", (h.form, h.width))
        must(h.scale == 0 or (column.klass == "numeric" and h.form == FIXED and h.scale <= 18),
             "only scaled integers have a scale, of 18 at most", h.scale)
        must(h.reserved == 0, "the reserved field of a chunk is zero")
        must({NULLS_NONE: h.nvalues == self.nrows, NULLS_ALL: h.nvalues == 0,
              NULLS_BITMAP: 1 <= h.nvalues < self.nrows}[h.null_layout], "nvalues agrees with the null layout", h.nvalues)
        if h.null_layout == NULLS_ALL:
            must(h.encoding == 0 and h.codec == NONE and h.encoded_nbytes == h.stored_nbytes == 0,
                 "a chunk of nulls is plain, not compressed and empty")
        if h.codec == NONE:
            must(h.stored_nbytes == h.encoded_nbytes, "without a codec, stored_nbytes equals encoded_nbytes")
            must(h.head_nbytes == 0, "without a codec, head_nbytes is 0", h.head_nbytes)
        else:
            must(h.stored_nbytes < h.encoded_nbytes, "a codec saves something")
            must(h.head_nbytes <= h.stored_nbytes, "the head is part of the payload", h.head_nbytes)
        must(h.encoded_nbytes <= FRAME_NBYTES_MAX, "encoded_nbytes is within its limit", h.encoded_nbytes)
        self.check_encoding()

    def check_encoding(self):
        """The table of §6, and the sizes of §4 that are known beforehand."""
        h = self.header
        is_integers = h.form == FIXED and h.width in (1, 2, 4, 8)
        name, allowed = {
            0: ("plain", True), 1: ("constant", h.form != ARRAY), 2: ("frame of reference", is_integers),
            3: ("delta", is_integers), 4: ("run length", is_integers), 5: ("scaled", is_integers),
            6: ("decimal", h.form == FIXED and h.width in (4, 8)), 7: ("byte planes", h.form == FIXED),
            8: ("related", is_integers), 9: ("lengths and bytes", h.form == BYTES), 10: ("dictionary", h.form == BYTES),
            11: ("template", h.form == BYTES), 12: ("patched", h.form == FIXED and self.column.klass == "numeric"),
            13: ("as toasted", h.form == BYTES),
        }[h.encoding]
        must(allowed, f"encoding {name} is for this form and width", (h.form, h.width))
        if h.null_layout == NULLS_ALL:
            return
        if h.form == FIXED and h.encoding in (0, 1):
            size = h.width * (h.nvalues if h.encoding == 0 else 1)
            must(h.encoded_nbytes == size, f"encoded_nbytes of {name} is {size}", h.encoded_nbytes)
        elif h.form == BYTES and h.encoding == 0:
            must(h.encoded_nbytes >= h.nvalues, "a packed value has at least one byte", h.encoded_nbytes)
        elif h.encoding != 1:
            must(h.encoded_nbytes >= 8, "the parts of an encoding have at least 8 bytes", h.encoded_nbytes)

    def read(self, cursor, earlier, trace=None):
        """Read null bitmap and payload, which stand at the cursor. earlier: the chunks of the columns before; trace: for its encoded values."""
        h = self.header
        if h.null_layout == NULLS_BITMAP:
            self.nulls = cursor.uint((self.nrows + 7) // 8, "null bitmap")
            cursor.pad()
            must(self.nulls >> self.nrows == 0, "bits behind the last row are 0")
            must(bin(self.nulls).count("1") == self.nrows - h.nvalues, "the null bitmap has rows - nvalues bits")
        payload = cursor.take(h.stored_nbytes, "payload")
        cursor.pad()
        if h.null_layout == NULLS_ALL:
            self.values, self.rows = [], [None] * self.nrows
        else:
            encoded = Cursor(decompress(h, payload), trace=trace)
            self.values = ENCODINGS[h.encoding](self, encoded, earlier)
            encoded.finish("the encoded values")
            if self.column.klass == "numeric" and h.form == FIXED:
                self.values = [v if isinstance(v, bytes) else Scaled(v, h.scale) for v in self.values]
            check_values(self.column, self.values)
            dense = iter(self.values)
            self.rows = [None if self.nulls and self.nulls >> i & 1 else next(dense) for i in range(self.nrows)]
        for what in ("encoding", "codec", "null_layout", "form"):
            seen[what, getattr(h, what)] += 1
        seen["head"] += h.head_nbytes > 0
        seen["type", (self.column.type_oid, self.column.klass)] += h.nvalues > 0


def decompress(header, payload):
    head, compressed = payload[:header.head_nbytes], payload[header.head_nbytes:]
    nbytes = header.encoded_nbytes - header.head_nbytes
    if header.codec == NONE:
        return payload
    try:
        if header.codec == LZ4:
            values = lz4.block.decompress(compressed, uncompressed_size=nbytes)
        else:
            # What the frame says of its size must not be what memory is allocated by.
            must(zstandard.frame_content_size(compressed) in (nbytes, -1), "the zstd frame has the expected size")
            values = zstandard.ZstdDecompressor().decompress(compressed, max_output_size=nbytes, allow_extra_data=False)
    except (lz4.block.LZ4BlockError, zstandard.ZstdError) as error:
        must(False, "the payload can be decompressed", str(error))
    must(len(values) == nbytes, f"decompression yields {nbytes} bytes", len(values))
    return head + values


# ---- values (doc/wire-types.md, 9) -----------------------------------------------------------

TIME_MAX, ZONE_MAX = 86400000000, 57600
TIMESTAMPS = (-211813488000000000, 9223371331199999999, 8)
# By types of columns and elements: what, the lowest and the highest value, and the width if the extremes of it are infinities.
RANGES = {16: ("bool", 0, 1, 0), 1082: ("date", -2451545, 2145031948, 4), 1083: ("time", 0, TIME_MAX, 0),
          1114: ("timestamp", *TIMESTAMPS), 1184: ("timestamp", *TIMESTAMPS)}
RANGES_OF_ARRAYS = {1000: RANGES[16], 1182: RANGES[1082], 1115: RANGES[1114], 1185: RANGES[1184]}


def check_range(value, what, low, high, width):
    infinite = width and value in (-1 << 8 * width - 1, (1 << 8 * width - 1) - 1)
    must(low <= value <= high or infinite, f"a {what} is one of its type", value)


def check_values(column, values):
    if column.klass == "fixed" and column.type_oid in RANGES:
        for value in values:
            check_range(value, *RANGES[column.type_oid])
    elif column.klass == "fixed" and column.type_oid == 1266:
        for value in values:
            us, west = struct.unpack("<qi", value)
            check_range(us, "time", 0, TIME_MAX, 0)
            must(-ZONE_MAX < west < ZONE_MAX, "a zone is less than 16 hours away", west)
    elif column.klass == "array" and column.type_oid in RANGES_OF_ARRAYS:
        for elements in values:
            for value in elements if isinstance(elements, list) else []:
                check_range(value, *RANGES_OF_ARRAYS[column.type_oid])
    elif column.klass == "text" or (column.klass == "bytes" and column.type_oid != 17):
        must(not any(b"\0" in value for value in values), "a string has no zero byte")


# ---- packed values (5.2) ---------------------------------------------------------------------

def packed_value(cursor):
    if Cursor(cursor.data, cursor.at, cursor.end).uint(1, "header of a packed value") & 1:
        first = cursor.uint(1, "header of a packed value")
        must(first > 1, "a short header is for a size of 1 at least", first)
        return cursor.take((first >> 1) - 1, "packed value")
    padding = -cursor.at % 4
    cursor.zeros(padding, "padding of a packed value")
    header = cursor.uint(4, "long header of a packed value")
    must(header & 3 == 0, "bits 0 and 1 of a long header are 0", header)
    must((header >> 2) - 4 >= 127, "a long header is for 127 bytes and more", (header >> 2) - 4)
    return cursor.take((header >> 2) - 4, "packed value")


def packed(cursor, count):
    """count packed values, up to the end of the cursor, whose offsets must count from the first of them."""
    return [packed_value(cursor) for _ in range(count)]


# ---- encodings of chunks: (chunk, cursor over the encoded values, earlier chunks) -> values ---

def plain(chunk, cursor, _earlier):
    h = chunk.header
    if h.form == BYTES:
        return packed(cursor, h.nvalues)
    if h.form == ARRAY:
        return arrays(cursor, h.nvalues, chunk.column.kind)
    if chunk.column.kind:
        return integers.decode(0, cursor, h.nvalues, chunk.column.kind)
    return [cursor.take(h.width, "value") for _ in range(h.nvalues)]


def constant(chunk, cursor, _earlier):
    h = chunk.header
    if h.form == BYTES:
        return packed(cursor, 1) * h.nvalues
    if chunk.column.kind:
        return integers.decode(1, cursor, h.nvalues, chunk.column.kind)
    return [cursor.take(h.width, "value")] * h.nvalues


def as_integers(chunk, cursor, _earlier):
    return integers.decode(chunk.header.encoding, cursor, chunk.header.nvalues, chunk.column.kind)


def arrays(cursor, nvalues, kind):
    sent = cursor.uint(4, "values as sent")
    cursor.zeros(4, "reserved field of arrays")
    counts = child(cursor, nvalues, 4)
    must(counts.count(0) == sent, "there are as many counts of 0 as values as sent", counts.count(0))
    nelements = sum(count - 1 for count in counts if count > 0)
    must(nelements <= ELEMENTS_MAX, "the elements are within their limit", nelements)
    elements = iter(child(cursor, nelements, kind, may_be_runs=False))
    as_sent = iter(packed_rest(cursor, sent))
    return [[next(elements) for _ in range(count - 1)] if count else next(as_sent) for count in counts]


def packed_rest(cursor, count):
    rest = cursor.rest()
    values = packed(rest, count)
    rest.finish("the packed values")
    return values


def decimal(chunk, cursor, _earlier):
    width, nvalues = chunk.header.width, chunk.header.nvalues
    decimals = cursor.uint(1, "decimals")
    must(decimals <= 15, "decimals are 15 at most", decimals)
    cursor.zeros(3, "reserved field of decimals")
    exceptions = cursor.uint(4, "exceptions")
    must(exceptions <= nvalues, "exceptions are no more than values", exceptions)
    letter = "f" if width == 4 else "d"
    form = Kind(width, chunk.column.kind.signed)
    bits = []
    for number in child(cursor, nvalues, 8):
        value = struct.pack("<" + letter, narrow(float(number) / 10.0 ** decimals, width))
        bits += integers.plain(Cursor(value), 1, form)
    if exceptions:
        positions = ascending(child(cursor, exceptions, 4, may_be_runs=False), nvalues)
        for position, value in zip(positions, integers.plain(cursor, exceptions, form)):
            bits[position] = value
    return bits


def narrow(value, width):
    """What struct would refuse to make a binary32 of is infinite there."""
    if width == 8:
        return value
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def ascending(positions, nvalues):
    must(all(a < b for a, b in zip(positions, positions[1:])), "positions ascend")
    must(positions[-1] < nvalues, "positions are below the number of values", positions[-1])
    return positions


def byte_planes(chunk, cursor, _earlier):
    h = chunk.header
    planes = [child(cursor, h.nvalues, 1, may_be_runs=False) for _ in range(h.width)]
    values = Cursor(bytes(byte for value in zip(*planes) for byte in value))
    return plain(chunk, values, _earlier)


def related(chunk, cursor, earlier):
    number = cursor.uint(2, "number of the related column")
    must(number < len(earlier), "the related column is an earlier one", number)
    cursor.zeros(6, "reserved field of related")
    other = earlier[number]
    must(chunk.header.null_layout == other.header.null_layout == NULLS_NONE, "related columns have no nulls")
    must(other.column.klass == "fixed" and other.column.kind, "the related column is of class fixed, signed or unsigned")
    return [integers.fit(chunk.column.kind, value + difference)
            for value, difference in zip(other.values, child(cursor, chunk.header.nvalues, 8))]


def lengths_and_bytes(chunk, cursor, _earlier):
    pad = cursor.uint(4, "pad")
    cursor.zeros(4, "reserved field of lengths and bytes")
    must(chunk.header.nvalues * pad <= FRAME_NBYTES_MAX, "padded values are within the limit", pad)
    lengths = child(cursor, chunk.header.nvalues, 4)
    must(sum(lengths) == cursor.left, "lengths add up to the number of bytes", (sum(lengths), cursor.left))
    must(pad == 0 or max(lengths) <= pad, "no length is above pad", max(lengths))
    return [cursor.take(length, "value").ljust(pad) for length in lengths]


def dictionary(chunk, cursor, _earlier):
    entries = cursor.uint(4, "entries")
    must(1 <= entries <= chunk.header.nvalues, "entries are 1 to the number of values", entries)
    cursor.zeros(4, "reserved field of a dictionary")
    codes = child(cursor, chunk.header.nvalues, 2)
    must(max(codes) < entries, "codes are below entries", max(codes))
    values = packed_rest(cursor, entries)
    return [values[code] for code in codes]


def template(chunk, cursor, _earlier):
    length, ndigits = cursor.uint(1, "length"), cursor.uint(1, "digits")
    must(1 <= length <= 126, "the length of a template is 1 to 126", length)
    must(1 <= ndigits <= 18, "the digits of a template are 1 to 18", ndigits)
    cursor.zeros(6, "reserved field of a template")
    positions = ascending(list(cursor.take(ndigits, "positions")), length)
    text = bytearray(cursor.take(length, "text"))
    must(all(text[position] == 0x30 for position in positions), "the text has 0 at the positions", bytes(text))
    cursor.pad()
    values = []
    for number in child(cursor, chunk.header.nvalues, 8):
        must(0 <= number < 10 ** ndigits, "a number has the digits of its template", number)
        for position, digit in zip(positions, b"%0*d" % (ndigits, number)):
            text[position] = digit
        values.append(bytes(text))
    return values


def patched(chunk, cursor, _earlier):
    nvalues = chunk.header.nvalues
    exceptions = cursor.uint(4, "exceptions")
    must(1 <= exceptions <= nvalues, "exceptions are 1 to the number of values", exceptions)
    cursor.zeros(4, "reserved field of patched")
    values = child(cursor, nvalues, 8)
    positions = ascending(child(cursor, exceptions, 4), nvalues)
    for position, value in zip(positions, packed_rest(cursor, exceptions)):
        values[position] = value
    return values


def as_toasted(chunk, cursor, _earlier):
    nvalues = chunk.header.nvalues
    compressed, made = cursor.uint(4, "compressed values"), cursor.uint(4, "size of what they make")
    must(1 <= compressed <= nvalues, "compressed values are 1 to the number of values", compressed)
    must(made <= min(255 * chunk.header.encoded_nbytes, FRAME_NBYTES_MAX), "what they make is within its limits", made)
    positions = ascending(child(cursor, compressed, 4), nvalues)
    methods = child(cursor, compressed, 4)
    values, decompressed = packed_rest(cursor, nvalues), []
    for position, method in zip(positions, methods):
        must(method >> 30 in METHODS, "the method is pglz or lz4", method >> 30)
        nbytes = method & (1 << 30) - 1
        must(nbytes <= made, "a value is not larger than what all make", nbytes)
        values[position] = METHODS[method >> 30](values[position], nbytes)
        decompressed.append(values[position])
        seen["method", method >> 30] += 1
    must(packed_nbytes(decompressed) == made, "the size of what they make is right", packed_nbytes(decompressed))
    return values


def packed_nbytes(values):
    at = 0
    for value in values:
        at += 1 + len(value) if len(value) < 127 else -at % 4 + 4 + len(value)
    return at


def lz4_value(data, nbytes):
    try:
        value = lz4.block.decompress(data, uncompressed_size=nbytes)
    except lz4.block.LZ4BlockError as error:
        must(False, "a value can be decompressed", str(error))
    must(len(value) == nbytes, f"a value decompresses to {nbytes} bytes", len(value))
    return value


def pglz_value(data, nbytes):
    source, value = Cursor(data), bytearray()
    while len(value) < nbytes:
        control = source.uint(1, "control byte of pglz")
        for bit in range(8):
            if len(value) == nbytes:
                break
            if not control >> bit & 1:
                value += source.take(1, "byte of pglz")
                continue
            a, b = source.take(2, "copy of pglz")
            length, distance = a % 16 + 3, a // 16 * 256 + b
            if length == 18:
                length += source.uint(1, "length of pglz")
            must(1 <= distance <= len(value), "a copy begins within what has been made", distance)
            for _ in range(min(length, nbytes - len(value))):
                value.append(value[-distance])
    source.finish("a value by pglz")
    return bytes(value)


METHODS = {0: pglz_value, 1: lz4_value}

ENCODINGS = {0: plain, 1: constant, 2: as_integers, 3: as_integers, 4: as_integers, 5: as_integers, 6: decimal,
             7: byte_planes, 8: related, 9: lengths_and_bytes, 10: dictionary, 11: template, 12: patched, 13: as_toasted}
