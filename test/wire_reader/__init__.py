"""A reader of the exchange wire format, written from doc/wire.md alone: not a line of it comes from src/.

It is there to show that the document suffices, and is asked by scripts/check_wire.py. Plain rather than
fast. An encoding more is a function and a line of ENCODINGS in chunks.py, with its rule in check_encoding.

    python3 -m wire_reader <frames     (PYTHONPATH=test; needs lz4 and zstandard from PyPI)

reads frames as psql -A -t prints them, one \\x... a line, and prints the rows as COPY would."""
