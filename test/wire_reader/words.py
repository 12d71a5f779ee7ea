"""Requests, hellos, and the lines that begin with a hello or are like one (doc/wire.md, 9 to 11, 13 and 15)."""
import re
import struct

from .cursor import must

# Each stands exactly once in a hello, but those of later versions, which may be missing; others are skipped.
HELLO = {"protocol": r"\d+-\d+", "codecs": r"\d+", "encodings": r"\d+", "endian": "little|big",
         "encoding": r"[A-Za-z0-9_-]{1,31}", "server_version": r"\d+", "instance": "[0-9a-f]{32}", "export": "[01]", "spread": "[01]",
         "pull": "[0-9a-f]{32}", "free": "quarter|few"}
LATER = {"spread", "pull", "free"}


def request(columns, encodings=1, codec="none", level=0, batch_rows=4096, batch_bytes=1 << 20, server_version=150000,
            auto=None, slices=None, explain=0, targets=0, spread=False, links=None, fetch_rows=0, fixed=False,
            session=None):
    """columns: (type OID, typmod) each; auto: (codecs, cpu_limit, link, idle, random) with codec auto; slices: (slices, slice, blocks)
    if a slice is wanted; explain: what to measure of the plan, if that is; targets: how many to cut the rows into, if they are to be;
    spread: may a row go to any of them (-1), or to all (-2)? links: (number, pulled, plain) if some are pulled;
    fetch_rows, fixed, session: only if they are known, wanted, required."""
    words = {"version": 1, "encodings": encodings, "codec": codec, "level": level, "batch_rows": batch_rows,
             "batch_bytes": batch_bytes, "server_version": server_version}
    if auto:
        words.update(zip(("codecs", "cpu_limit", "link", "idle", "random"), auto), codec="auto")
    if slices:
        words.update(zip(("slices", "slice", "blocks"), slices))
    if explain:
        words["explain"] = explain
    if targets:
        words["targets"] = targets
    if spread:
        words["spread"] = 1
    if links:
        words.update(links=links[0], pulled=f"{links[1]:016x}", plain=f"{links[2]:016x}")
    if fetch_rows:
        words["fetch_rows"] = fetch_rows
    if fixed:
        words["fixed"] = 1
    if session is not None:
        words["session"] = f"{session:016x}"
    words["columns"] = ",".join(f"{oid}:{typmod}" for oid, typmod in columns)
    return " ".join(f"{key}={value}" for key, value in words.items())


def hello(encodings, codecs, server_version=150000):
    return (f"protocol=1-1 codecs={codecs} encodings={encodings} endian=little encoding=UTF8 "
            f"server_version={server_version} instance={'0' * 32} export=0")


def read_hello(line):
    must(len(line.encode()) <= 512, "a hello has 512 bytes at most", len(line))
    found = {}
    for word in line.split(" "):
        key, equals, value = word.partition("=")
        must(key and equals, "a hello is made of key=value", word)
        if key in HELLO:
            must(key not in found, "each key stands once", key)
            must(re.fullmatch(HELLO[key], value), f"{key} has a value of its form", value)
            found[key] = value
    must(found.keys() | LATER == HELLO.keys(), "every key of a hello is there", sorted(HELLO.keys() - found.keys()))
    low, high = map(int, found["protocol"].split("-"))
    must(1 <= low <= high <= 65535, "protocol is a range of versions", found["protocol"])
    return {**found, "protocol": (low, high), **{key: int(found[key]) for key in ("codecs", "encodings", "server_version")}}


ESCAPED = r"(?:[A-Za-z0-9_.-]|%[0-9A-F]{2})*"
ADMISSION = {"pid": r"[1-9]\d*", "session": "[0-9a-f]{16}", "snapshot": "-|[0-9A-F][0-9A-F-]{0,62}", "idle": r"\d+", "against": ESCAPED}
DESCRIPTION = {"against": ESCAPED, "effects": "[01]", "exact": "[01]", "keys": "[01]", "columns": r"\d+:-?\d+(?:,\d+:-?\d+)*"}
RESULT = {"rows": r"\d+", "us": r"\d+"}
HELD_ERROR = {"error": "[0-9A-Z]{5}", **{word: ESCAPED for word in ("message", "detail", "hint", "context")}}
RECEIPT = r"[1-9]\d*(?:\.[0-9a-f]{16}){2}"


def unescaped(text):
    return re.sub(b"%(..)", lambda digits: bytes.fromhex(digits[1].decode()), text.encode()).decode()


def read_words(line, forms):
    """Words in this order, and nothing after the last."""
    pattern = " ".join(f"{key}=({form})" for key, form in forms.items())
    found = re.fullmatch(pattern, line)
    must(found, f"the words are {', '.join(forms)}", line)
    return {key: unescaped(value) if forms[key] == ESCAPED else value for key, value in zip(forms, found.groups())}


def read_after_hello(line, forms):
    """A hello, and these words."""
    first = next(iter(forms))
    hello_words, _, rest = line.partition(f" {first}=")
    return read_hello(hello_words), read_words(f"{first}={rest}", forms)


def record(frame, inbox, source):
    """A frame for exchange.fill_inbox."""
    return struct.pack("<IHH", len(frame), inbox, source) + frame
