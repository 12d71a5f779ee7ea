"""A small client of PostgreSQL's wire protocol that never blocks once it is connected.

Of many sessions, each may wait for another: so a caller sends a query, and reads what has come by
then, for all sessions from one thread. Everything that a server says is kept, in its order, as lines
of text: rows, command tags, notices, errors with all their fields. Knows no TLS and no passwords."""
import hashlib
import socket
import struct

from protocol import CANCEL, message

# The fields of an error or notice that must be the same whatever way rows travel. Those left out are
# severity (kept as V, which is never translated), file, line and routine.
FIELDS = (("D", "DETAIL"), ("H", "HINT"), ("W", "CONTEXT"), ("q", "QUERY"), ("P", "POSITION"), ("s", "SCHEMA"),
          ("t", "TABLE"), ("c", "COLUMN"), ("d", "TYPE"), ("n", "CONSTRAINT"))
ROWS_SHOWN = 40   # beyond, a digest stands for the rows


def cstring(text):
    return text.encode() + b"\0"


def cancel(port, key):
    """Ask for a cancel of whatever the session with this key data does."""
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        sock.sendall(struct.pack("!II", 16, CANCEL) + key)
        sock.recv(1)   # the server closes the connection when the signal is sent


class Lost(Exception):
    """The connection cannot be made, or is gone."""


class Client:
    """One session. busy: a query is under way; lines: what it has answered so far; sqlstate: of its
    last error; lost: the connection is gone."""

    def __init__(self, port, database, user="postgres", **parameters):
        self.port, self.database, self.user = port, database, user
        self.busy = self.lost = False
        self.pid, self.key, self.status = 0, b"", "I"
        self.lines, self.sqlstate = [], ""
        self.ordered = self.quiet = False
        self._rows, self._collected, self._copy_data = [], None, b""
        self._buffer = b""
        self._portion = 0
        try:
            self.sock = socket.create_connection(("127.0.0.1", port), 30)
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            words = {"user": user, "database": database, "application_name": "session", **parameters}
            body = struct.pack("!I", 196608) + b"".join(cstring(k) + cstring(v) for k, v in words.items()) + b"\0"
            self.sock.sendall(struct.pack("!I", len(body) + 4) + body)
            self.busy = True
            while self.busy and not self.lost:
                self.read()
        except OSError as error:
            raise Lost(str(error)) from None
        if self.lost or not self.pid:
            raise Lost("\n".join(self.lines))
        self.sock.setblocking(False)
        self.lines = []

    def fileno(self):
        return self.sock.fileno()

    def _send(self, data):
        try:
            self.sock.setblocking(True)
            self.sock.sendall(data)
            self.sock.setblocking(False)
        except OSError:
            pass   # what the server said before it closed is still to be read

    def query(self, sql, ordered=False, quiet=False, copy_data="", portion=0):
        """Send a query. With portion, by the extended protocol, of which each Execute asks for so many rows."""
        self.busy, self.sqlstate = True, ""
        self.ordered, self.quiet, self._copy_data, self._portion = ordered, quiet, copy_data.encode(), portion
        if portion:
            self._send(message(b"P", b"\0" + cstring(sql) + b"\0\0") + message(b"B", b"\0\0" + b"\0\0" * 3)
                       + message(b"D", b"P\0") + message(b"E", b"\0" + struct.pack("!I", portion)) + message(b"H"))
        else:
            self._send(message(b"Q", cstring(sql)))

    def read(self):
        """Take in what has come."""
        try:
            data = self.sock.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end_rows()
            self.lines.append("connection lost")
            self.lost, self.busy = True, False
            self.sock.close()
            return
        self._buffer += data
        while len(self._buffer) >= 5:
            length = struct.unpack("!I", self._buffer[1:5])[0]
            if len(self._buffer) < length + 1:
                break
            kind, body = self._buffer[:1].decode(), self._buffer[5:length + 1]
            self._buffer = self._buffer[length + 1:]
            self._take(kind, body)

    def _take(self, kind, body):
        if kind == "D":
            self._rows.append(self._row(body))
        elif kind == "d":
            self._rows.append(body.decode(errors="replace").rstrip("\n"))
        elif kind == "C":
            self._end_rows()
            self.lines.append(body[:-1].decode())
            if self._portion:
                self._send(message(b"S"))
        elif kind == "s":   # the portal has more
            self._send(message(b"E", b"\0" + struct.pack("!I", self._portion)) + message(b"H"))
        elif kind in "EN":
            self._end_rows()
            self._report(body)
            if kind == "E" and self._portion:
                self._send(message(b"S"))
        elif kind == "G":
            self._send((message(b"d", self._copy_data) if self._copy_data else b"") + message(b"c"))
        elif kind == "A":
            channel, payload = body[4:-1].split(b"\0")
            self.lines.append(f"notification {channel.decode()} {payload.decode()}")
        elif kind == "K":
            self.pid, self.key = struct.unpack("!I", body[:4])[0], body
        elif kind == "R" and body != b"\0\0\0\0":
            raise Lost("server asks for a password")
        elif kind == "Z":
            self.status, self.busy = body.decode(), False

    @staticmethod
    def _row(body):
        values, at = [], 2
        for _ in range(struct.unpack("!H", body[:2])[0]):
            length = struct.unpack("!i", body[at:at + 4])[0]
            at += 4
            values.append("<null>" if length < 0 else body[at:at + length].decode(errors="replace"))
            at += max(length, 0)
        return " | ".join(values)

    def _end_rows(self):
        rows, self._rows = self._rows, []
        if self._collected is not None:
            self._collected += rows
            return
        if self.quiet or not rows:
            return
        if not self.ordered:
            rows.sort()
        if len(rows) > ROWS_SHOWN:
            digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()
            rows = [*rows[:3], f"... {len(rows)} rows, digest {digest[:16]}"]
        self.lines += ["  " + row.replace("\n", "\n  ") for row in rows]

    def _report(self, body):
        fields = {}
        for field in body.split(b"\0"):
            if field:
                fields[chr(field[0])] = field[1:].decode(errors="replace")
        severity = fields.get("V", fields.get("S", "?"))
        if severity in ("ERROR", "FATAL", "PANIC"):
            self.sqlstate = fields.get("C", "")
        self.lines.append(f"{severity} {fields.get('C')}: {fields.get('M')}")
        self.lines += [f"{name}: {fields[code]}" for code, name in FIELDS if code in fields]

    def run(self, sql):
        """Run a query to its end, however long that takes: the lines of its answer. An error raises Lost."""
        self.lines = []
        self.query(sql)
        self.sock.setblocking(True)
        while self.busy:
            self.read()
        if not self.lost:
            self.sock.setblocking(False)
        if self.lost or self.sqlstate:
            raise Lost("\n".join(self.lines))
        return self.lines

    def rows(self, sql):
        """The same: its rows, each a list of texts, for values without ' | ' in them."""
        self._collected = []
        try:
            self.run(sql)
            return [row.split(" | ") for row in self._collected]
        finally:
            self._collected = None

    def close(self):
        if not self.lost:
            self._send(message(b"X"))
            self.sock.close()
            self.lost = True
