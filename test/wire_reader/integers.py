"""Encodings 0 to 5 of integers, and the children that other encodings are made of (doc/wire.md, 6 to 6.6)."""
import collections
import struct

from .cursor import must, seen

PLAIN, CONSTANT, FRAME_OF_REFERENCE, DELTA, RUN_LENGTH, SCALED = range(6)
BLOCK = 256     # differences of a block
NESTED_MAX = 4  # encodings 3 to 5 inside each other

# What integers are: their width in bytes, and whether they are extended to 64 bits by their sign.
Kind = collections.namedtuple("Kind", "width signed")
CHILD_KINDS = {1: Kind(1, False), 2: Kind(2, False), 4: Kind(4, False), 8: Kind(8, True)}


def fit(kind, value):
    """An integer modulo 2^64 as a value of a kind, which it must be."""
    value %= 1 << 64
    if kind.signed and value >= 1 << 63:
        value -= 1 << 64
    low = -(1 << 8 * kind.width - 1) if kind.signed else 0
    must(low <= value < low + (1 << 8 * kind.width), "an integer is a value of its width and sign", value)
    return value


def plain(cursor, count, kind, *_nesting):
    data = cursor.take(count * kind.width, "plain integers")
    letter = {1: "b", 2: "h", 4: "i", 8: "q"}[kind.width]
    integers = list(struct.unpack(f"<{count}{letter if kind.signed else letter.upper()}", data))
    cursor.explain("integers " + " ".join(map(str, integers)))
    return integers


def constant(cursor, count, kind, *_nesting):
    return plain(cursor, 1, kind) * count


def frame_of_reference(cursor, count, kind, *_nesting):
    base = fit(kind, cursor.uint(8, "base"))
    bits = cursor.uint(1, "bits")
    must(1 <= bits <= 63 and bits < 8 * kind.width, "bits are 1 to 63 and fewer than the width has", bits)
    cursor.zeros(7, "reserved field of frame of reference")
    differences = []
    for _ in range(count // BLOCK):
        differences += unpack_block(cursor.take(BLOCK * bits // 8, "block"), bits)
    nrest = count % BLOCK
    stream = cursor.uint((nrest * bits + 7) // 8, "rest of the differences")
    rest = [stream >> i * bits & (1 << bits) - 1 for i in range(nrest)]
    cursor.explain("differences " + " ".join(map(str, rest)))
    differences += rest
    must(stream >> nrest * bits == 0, "bits behind the last difference are 0")
    highest = (1 << 8 * kind.width - kind.signed) - 1
    must(not differences or base + max(differences) <= highest, "base and difference make a value of the type")
    return [base + difference for difference in differences]


def unpack_block(data, bits):
    lanes, word = (8, 4) if bits <= 32 else (4, 8)
    words = struct.unpack(f"<{len(data) // word}{'I' if word == 4 else 'Q'}", data)
    differences = [0] * BLOCK
    for lane in range(lanes):
        stream = 0
        for w in range(bits):
            stream |= words[w * lanes + lane] << 8 * word * w
        for j in range(BLOCK // lanes):
            differences[j * lanes + lane] = stream >> j * bits & (1 << bits) - 1
    return differences


def delta(cursor, count, kind, *nesting):
    must(count >= 2, "delta has at least two values", count)
    value = cursor.uint(8, "first value")
    values = [fit(kind, value)]
    for difference in child(cursor, count - 1, 8, *nesting):
        value += difference
        values.append(fit(kind, value))
    return values


def run_length(cursor, count, kind, *nesting):
    runs = cursor.uint(4, "runs")
    must(1 <= runs <= count, "runs are 1 to the number of values", runs)
    cursor.zeros(4, "reserved field of run length")
    lengths = child(cursor, runs, 8, *nesting)
    values = child(cursor, runs, 8, *nesting)
    must(min(lengths) >= 0 and sum(lengths) + runs == count, "lengths of runs add up to the number of values",
         sum(lengths) + runs)
    return [fit(kind, value) for value, length in zip(values, lengths) for _ in range(length + 1)]


def scaled(cursor, count, kind, *nesting):
    base, factor = cursor.uint(8, "base"), cursor.uint(8, "factor")
    return [fit(kind, base + factor * quotient) for quotient in child(cursor, count, 8, *nesting)]


ENCODINGS = {PLAIN: plain, CONSTANT: constant, FRAME_OF_REFERENCE: frame_of_reference, DELTA: delta,
             RUN_LENGTH: run_length, SCALED: scaled}


def decode(encoding, cursor, count, kind, depth=0, may_be_runs=True):
    """count integers of a kind; depth: how many encodings 3 to 5 they stand in."""
    must(count > 0 or (encoding == PLAIN and cursor.left == 0), "no integers are plain and have 0 bytes")
    if encoding >= DELTA:
        must(depth < NESTED_MAX, f"encodings 3 to 5 stand inside each other {NESTED_MAX} deep at most")
        must(encoding != RUN_LENGTH or may_be_runs, "run length does not stand here")
        depth, may_be_runs = depth + 1, may_be_runs and encoding != RUN_LENGTH
    return ENCODINGS[encoding](cursor, count, kind, depth, may_be_runs)


def child(cursor, count, kind, depth=0, may_be_runs=True):
    """The integers of a child, which begins here. kind may be the width alone."""
    if isinstance(kind, int):
        kind = CHILD_KINDS[kind]
    encoding = cursor.uint(1, "encoding of a child")
    must(encoding in ENCODINGS, "the encoding of a child is 0 to 5", encoding)
    width = cursor.uint(1, "width of a child")
    must(width == kind.width, f"the width of this child is {kind.width}", width)
    cursor.zeros(2, "reserved field of a child")
    body = cursor.sub(cursor.uint(4, "size of a child"), "child")
    cursor.pad()
    integers = decode(encoding, body, count, kind, depth, may_be_runs)
    body.finish("the integers of a child")
    seen["child", encoding] += 1
    return integers
