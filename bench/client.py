"""A session whose waiting can be measured: PostgreSQL's wire protocol over a
Unix socket, simple queries alone, no passwords (standard library only).

psql shows no row before it has all of them, so it cannot tell when the first
one came. Rows of queries that are only timed are not kept."""
import socket
import struct
import time


class Error(Exception):
    """A statement has failed; sqlstate says how. fatal: so has the session."""

    def __init__(self, fields):
        super().__init__(f"{fields.get('C')}: {fields.get('M')}"
                         f" {fields.get('D', '')}".rstrip())
        self.sqlstate = fields.get("C", "")
        self.fatal = fields.get("V") in ("FATAL", "PANIC")


class Lost(Exception):
    """The connection cannot be made, or is gone."""


class Client:
    """One session; closed by close(), or as a context."""

    def __init__(self, server, database="postgres", options=""):
        self.pid, self._buffer = 0, b""
        try:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(f"{server.work}/.s.PGSQL.{server.port}")
            words = {"user": "postgres", "database": database,
                     "options": options, "client_encoding": "UTF8"}
            body = struct.pack("!I", 196608) + b"".join(
                word.encode() + b"\0" for pair in words.items()
                for word in pair) + b"\0"
            self.sock.sendall(struct.pack("!I", len(body) + 4) + body)
        except OSError as error:
            raise Lost(str(error)) from None
        self._answer(None)

    def _message(self):
        """The next one: its kind, and its body."""
        while len(self._buffer) < 5 or len(self._buffer) < 1 + struct.unpack(
                "!I", self._buffer[1:5])[0]:
            try:
                data = self.sock.recv(1 << 20)
            except OSError as error:
                raise Lost(str(error)) from None
            if not data:
                raise Lost("the server has closed the connection")
            self._buffer += data
        end = 1 + struct.unpack("!I", self._buffer[1:5])[0]
        kind, body = self._buffer[:1], self._buffer[5:end]
        self._buffer = self._buffer[end:]
        return kind, body

    def _answer(self, rows):
        """Read all of an answer; its rows are appended to a list."""
        error = None
        while True:
            kind, body = self._message()
            if kind == b"D" and rows is not None:
                rows.append(_values(body))
            elif kind == b"K":
                self.pid = struct.unpack("!I", body[:4])[0]
            elif kind == b"E":
                error = _error(body)
                if error.fatal:
                    raise error
            elif kind == b"Z":
                break
        if error:
            raise error

    def _send(self, sql):
        body = sql.encode() + b"\0"
        try:
            self.sock.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)
        except OSError as error:
            raise Lost(str(error)) from None

    def run(self, sql):
        """The rows of all statements, each a list of texts or None."""
        rows = []
        self._send(sql)
        self._answer(rows)
        return rows

    def value(self, sql):
        """The first value of the first row."""
        return self.run(sql)[0][0]

    def timed(self, sql):
        """(seconds, rows) of a statement."""
        started = time.monotonic()
        rows = self.run(sql)
        return time.monotonic() - started, rows

    def first_row(self, sql):
        """Seconds until the first row of a query is here. The session has
        then to be closed: the other rows are still on their way."""
        started = time.monotonic()
        self._send(sql)
        while True:
            kind, body = self._message()
            if kind == b"D":
                return time.monotonic() - started
            if kind == b"E":
                raise _error(body)
            if kind == b"Z":
                raise Lost("the query has no rows")

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _error(body):
    return Error({chr(field[0]): field[1:].decode(errors="replace")
                  for field in body.split(b"\0") if field})


def _values(body):
    values, at = [], 2
    for _ in range(struct.unpack("!H", body[:2])[0]):
        length = struct.unpack("!i", body[at:at + 4])[0]
        at += 4
        values.append(None if length < 0 else
                      body[at:at + length].decode(errors="replace"))
        at += max(length, 0)
    return values
