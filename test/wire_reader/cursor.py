"""Bytes read in order and never beyond their end, and the error for what doc/wire.md forbids."""
import collections

# What has been read so far, as (what, number or name): tests ask whether they saw all there is.
seen = collections.Counter()


class Refused(Exception):
    """The bytes break a rule of doc/wire.md. The message names the rule, and what was there instead."""


def must(holds, rule, got=None):
    if not holds:
        raise Refused(rule if got is None else f"{rule}; got {got!r}")


class Cursor:
    """Bytes at ... end of data. Offsets, and so padding, count from the first byte of data."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    @property
    def left(self):
        return self.end - self.at

    def take(self, nbytes, what):
        must(0 <= nbytes <= self.left, f"{what} of {nbytes} bytes lies within what is there", self.left)
        self.at += nbytes
        return self.data[self.at - nbytes:self.at]

    def sub(self, nbytes, what):
        """A cursor over the next bytes, with the same offsets; this one goes on behind them."""
        self.take(nbytes, what)
        return Cursor(self.data, self.at - nbytes, self.at)

    def rest(self):
        """All that is left, as a cursor with offsets of its own."""
        return Cursor(self.take(self.left, "rest"))

    def uint(self, nbytes, what):
        return int.from_bytes(self.take(nbytes, what), "little")

    def zeros(self, nbytes, what):
        must(not any(self.take(nbytes, what)), f"{what} is zero")

    def pad(self):
        """Up to an offset divisible by 8."""
        self.zeros(-self.at % 8, "padding")

    def finish(self, what):
        must(self.left == 0, f"nothing follows {what}", self.left)
