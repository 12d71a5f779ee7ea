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
    """Bytes at ... end of data. Offsets, and so padding, count from the first byte of data.

    trace, if there is one, is a list that gets (offset, number of bytes, what they are) of all that is read, in any order.
    Its offsets count from origin before data."""

    def __init__(self, data, at=0, end=None, trace=None, origin=0):
        self.data, self.at, self.end = data, at, len(data) if end is None else end
        self.trace, self.origin = trace, origin

    @property
    def left(self):
        return self.end - self.at

    def skip(self, nbytes, what):
        must(0 <= nbytes <= self.left, f"{what} of {nbytes} bytes lies within what is there", self.left)
        self.at += nbytes
        return self.data[self.at - nbytes:self.at]

    def take(self, nbytes, what):
        data = self.skip(nbytes, what)
        if self.trace is not None and nbytes > 0:
            self.trace.append((self.origin + self.at - nbytes, nbytes, what))
        return data

    def sub(self, nbytes, what):
        """A cursor over the next bytes, with the same offsets; this one goes on behind them."""
        self.skip(nbytes, what)
        return Cursor(self.data, self.at - nbytes, self.at, self.trace, self.origin)

    def rest(self):
        """All that is left, as a cursor with offsets of its own."""
        origin = self.origin + self.at
        return Cursor(self.skip(self.left, "rest"), trace=self.trace, origin=origin)

    def uint(self, nbytes, what):
        number = int.from_bytes(self.take(nbytes, what), "little")
        self.explain(f"{what} {number}")
        return number

    def explain(self, what):
        """Say more of what was read last."""
        if self.trace:
            self.trace[-1] = (*self.trace[-1][:2], what)

    def zeros(self, nbytes, what):
        must(not any(self.take(nbytes, what)), f"{what} is zero")

    def pad(self):
        """Up to an offset divisible by 8."""
        self.zeros(-self.at % 8, "padding")

    def finish(self, what):
        must(self.left == 0, f"nothing follows {what}", self.left)
