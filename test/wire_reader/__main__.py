"""Frames from standard input, \\x and hexadecimal digits a line, as rows of COPY's text format."""
import sys

from .cursor import Refused
from .stream import Stream
from .text import copy_line


def main():
    stream = Stream()
    try:
        for line in sys.stdin:
            for row in stream.read(bytes.fromhex(line.strip().removeprefix("\\x"))):
                sys.stdout.buffer.write(copy_line(stream.columns, row) + b"\n")
        stream.finish()
    except (Refused, ValueError) as error:
        sys.stdout.flush()
        sys.exit(f"error: {error}")


main()
