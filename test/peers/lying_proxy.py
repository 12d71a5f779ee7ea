"""A proxy before a real server that knows PostgreSQL's protocol, and breaks it when it is told to.

It recognises the phase that a conversation is in by the SQL that passes. At the phase it is armed for,
it says something else than the server, or something more, or nothing: so whatever a coordinator and a
shard have to say to each other, every answer but one is right, and that one is as wrong as is wanted.
It can also hold each message back for a while, and count them (cancel_everywhere.py)."""
import re
import select
import socket
import struct
import threading
import time

from protocol import CANCEL, description, error, message, read_startup


class Lie:
    """What is said at a phase. when: before the answer, instead of it, in place of its row description or of
    its first row, or after that; then: go on, be stuck (silent until cancelled), close, reset."""

    def __init__(self, name, when, data=b"", then="go on", change=None):
        self.name, self.when, self.data, self.then, self.change = name, when, data, then, change


def change_format(body):
    """A row description whose columns have the other format."""
    n, at, out = struct.unpack("!H", body[:2])[0], 2, body[:2]
    for _ in range(n):
        end = body.index(b"\0", at) + 1
        fields = list(struct.unpack("!IHIhih", body[end:end + 18]))
        fields[5] = 1 - fields[5]
        out += body[at:end] + struct.pack("!IHIhih", *fields)
        at = end + 18
    return message(b"T", out)


def first_value(value):
    """A row with another first value: None for null, or bytes that stand as they are."""
    def change(body):
        n = struct.unpack("!H", body[:2])[0]
        rest, length = body[6:], struct.unpack("!i", body[2:6])[0]
        rest = rest[max(length, 0):]
        raw = struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
        return message(b"D", struct.pack("!H", n) + raw + rest)
    return change


NOTICE = message(b"N", b"SNOTICE\0VNOTICE\0C00000\0Mlisten\0\0")
COPY = struct.pack("!bH", 0, 0)
LIES = [
    Lie("a thousand notices", "before", NOTICE * 1000),
    Lie("a notice that is not text", "before", message(b"N", b"SNOTICE\0M\xff\xfe\xc3\0\0")),
    Lie("parameter status", "before", message(b"S", b"TimeZone\0Mars/Base\0")),
    Lie("another client_encoding", "before", message(b"S", b"client_encoding\0LATIN1\0")),
    Lie("standard_conforming_strings off", "before", message(b"S", b"standard_conforming_strings\0off\0")),
    Lie("a notification", "before", message(b"A", struct.pack("!I", 7) + b"channel\0payload\0")),
    Lie("key data", "before", message(b"K", struct.pack("!II", 1, 2))),
    Lie("authentication request", "before", message(b"R", struct.pack("!I", 3))),
    Lie("an error that is not expected", "before", error(b"ERROR", b"XX000", b"now?")),
    Lie("ReadyForQuery too early", "before", message(b"Z", b"I")),
    Lie("ReadyForQuery of a failed transaction", "before", message(b"Z", b"E")),
    Lie("a command tag too many", "before", message(b"C", b"SELECT 0\0")),
    Lie("an empty tag", "before", message(b"C", b"\0")),
    Lie("a row without description", "before", message(b"D", struct.pack("!Hi", 1, 1) + b"x")),
    Lie("a row description too many", "before", description([25])),
    Lie("CopyData", "before", message(b"d", b"x" * 100)),
    Lie("CopyDone", "before", message(b"c")),
    Lie("PortalSuspended", "before", message(b"s")),
    Lie("ParseComplete", "before", message(b"1")),
    Lie("a function's result", "before", message(b"V", struct.pack("!i", -1))),
    Lie("a message of unknown kind", "before", message(b"?", b"what")),
    Lie("a message of kind zero", "before", b"\0\0\0\0\4"),
    Lie("a length of zero", "before", b"D\0\0\0\0"),
    Lie("a negative length", "before", b"D\xff\xff\xff\xff"),
    Lie("a huge length", "before", b"D\x7f\xff\xff\xff", "stuck, broken"),
    Lie("a huge length of a notice", "before", b"N\x7f\xff\xff\xff", "stuck, broken"),
    Lie("half a message", "before", b"D\0\0\1\0" + b"x" * 50, "stuck, broken"),
    Lie("half a message, then the end", "before", b"D\0\0\1\0" + b"x" * 50, "close"),
    Lie("CopyOut", "instead", message(b"H", COPY), "stuck"),
    Lie("CopyIn", "instead", message(b"G", COPY), "stuck"),
    Lie("CopyBoth", "instead", message(b"W", COPY), "stuck"),
    Lie("CopyOut that ends", "instead", message(b"H", COPY) + message(b"d", b"1\tx\n") + message(b"c") + message(b"C", b"COPY 1\0")),
    Lie("CopyOut that ends with an error", "instead", message(b"H", COPY) + error(b"ERROR", b"XX000", b"no more")),
    Lie("an error", "instead", error(b"ERROR", b"XX000", b"not today")),
    Lie("a declined stream", "instead", error(b"ERROR", b"PX002", b"not today")),
    Lie("an error that is not text", "instead", error(b"ERROR", b"\xff\xfe\xc3\xff\xff", b"\xff\xfe\xc3")),
    Lie("an error without fields", "instead", message(b"E", b"\0")),
    Lie("FATAL, and the end", "instead", error(b"FATAL", b"57P01", b"terminating"), "close"),
    Lie("nothing but ReadyForQuery", "instead"),
    Lie("EmptyQueryResponse", "instead", message(b"I")),
    Lie("a tag alone", "instead", message(b"C", b"SELECT 1\0")),
    Lie("no rows", "instead", description([25]) + message(b"C", b"SELECT 0\0")),
    Lie("no columns", "instead", description([]) + message(b"D", b"\0\0") + message(b"C", b"SELECT 1\0")),
    Lie("very many columns", "instead", description([25] * 1600) + message(b"C", b"SELECT 0\0")),
    Lie("silence", "instead", b"", "stuck"),
    Lie("the end", "instead", b"", "close"),
    Lie("a reset", "instead", b"", "reset"),
    Lie("the other format", "description", change=change_format),
    Lie("a null", "row", change=first_value(None)),
    Lie("an empty value", "row", change=first_value(b"")),
    Lie("a value that is no text", "row", change=first_value(b"\xff\xfe\xc3")),
    Lie("a megabyte of letters", "row", change=first_value(b"x" * (1 << 20))),
    Lie("words of somebody else", "row", change=first_value(b"protocol=1-9999999999 pid=x session=%n snapshot='; -- idle=-1")),
    Lie("a row of no columns", "row", change=lambda body: message(b"D", b"\0\0")),
    Lie("a row of many columns", "row", change=lambda body: message(b"D", struct.pack("!H", 500) + struct.pack("!i", -1) * 500)),
    Lie("a value longer than its message", "row", change=lambda body: message(b"D", body[:2] + struct.pack("!i", 1 << 20) + body[6:])),
    Lie("silence after a row", "after row", b"", "stuck"),
    Lie("an error after a row", "after row", error(b"ERROR", b"XX000", b"no further")),
    Lie("CopyOut after a row", "after row", message(b"H", COPY), "stuck"),
    Lie("a row description after a row", "after row", description([25] * 3)),
    Lie("the end after a row", "after row", b"", "close"),
]
DEAF = [Lie("silence, deaf to cancels", "instead", b"", "deaf")]


class Proxy(threading.Thread):
    """Listens on a port and leads to another. arm(phase, lie) for one lie, once; seen: the phases so far."""

    def __init__(self, upstream, delay=0.0):
        super().__init__(daemon=True)
        self.upstream, self.delay = upstream, delay
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.connections, self.seen = [], []
        self.phase = self.lie = None
        self.told = False
        self.started = 0
        self.count, self.at_count = 0, None
        self.late = {}      # phase -> seconds that its statement is held back
        self.start()

    def arm(self, phase=None, lie=None):
        with self.lock:
            self.phase, self.lie, self.told, self.started = phase, lie, False, 0
            self.seen = []

    def count_to(self, number=None, action=None):
        """Call action when so many messages have passed from now on."""
        with self.lock:
            self.count, self.at_count = 0, (number, action) if number else None

    def passed(self, delayed=True):
        """A message passes: held back, and counted. Rows after the first, and settings that the server tells, are not."""
        if not self.delay or not delayed:
            return
        time.sleep(self.delay)
        with self.lock:
            self.count += 1
            due = self.at_count and self.count == self.at_count[0]
            action = self.at_count[1] if due else None
        if action:
            action()

    def takes(self, phase):
        """Is this the phase to lie at? Only once."""
        with self.lock:
            if phase not in self.seen:
                self.seen.append(phase)
            if phase == self.phase and not self.told:
                return self.lie
            return None

    def run(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections = [c for c in self.connections if c.is_alive()]
            Connection(self, sock).start()

    def drop_all(self):
        for connection in list(self.connections):
            connection.hang_up()

    def close(self):
        self.listener.close()
        self.drop_all()


class Connection(threading.Thread):
    """One conversation."""

    def __init__(self, proxy, sock):
        super().__init__(daemon=True)
        self.proxy, self.client = proxy, sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server = None
        self.key = b""
        self.statements, self.portals, self.cursors = {}, {}, {}
        self.pending = []          # [phase, is it a simple query], of what is not answered yet
        self.is_stream = self.stuck = self.swallow = False
        self.deaf = self.broken = False
        self.status = self.last_kind = b"I"

    def hang_up(self):
        for sock in (self.client, self.server):
            if sock:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def run(self):
        try:
            self.talk()
        except (OSError, struct.error, ValueError):
            pass
        finally:
            for sock in (self.client, self.server):
                if sock:
                    sock.close()

    def talk(self):
        packet, code = read_startup(self.client)
        if code == CANCEL:
            self.pass_cancel(packet)
            return
        self.server = socket.create_connection(("127.0.0.1", self.proxy.upstream), 10)
        self.server.settimeout(None)
        self.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.proxy.lock:
            self.proxy.connections.append(self)
            self.proxy.started += 1
            number = min(self.proxy.started, 2)
        self.place = ("first", "second")[number - 1]
        self.pending.append([f"startup of the {self.place} connection", True])
        self.proxy.passed()
        self.server.sendall(packet)
        buffers = {self.client: b"", self.server: b""}
        while True:
            for sock in select.select([self.client, self.server], [], [])[0]:
                data = sock.recv(1 << 16)
                if not data:
                    return
                buffers[sock] += data
                rest = buffers[sock]
                while len(rest) >= 5 and len(rest) > (length := struct.unpack("!I", rest[1:5])[0]):
                    kind, body, rest = rest[:1], rest[5:length + 1], rest[length + 1:]
                    if sock is self.client:
                        self.from_client(kind, body)
                    else:
                        self.from_server(kind, body)
                buffers[sock] = rest

    def pass_cancel(self, packet):
        with self.proxy.lock:
            asked = next((c for c in self.proxy.connections if c.key == packet[8:]), None)
        if asked and asked.deaf:
            return
        with socket.create_connection(("127.0.0.1", self.proxy.upstream), 10) as sock:
            sock.sendall(packet)
            sock.settimeout(5)
            sock.recv(1)
        if asked and asked.stuck:
            asked.let_go()

    def let_go(self):
        """Somebody cancels what we are silent about."""
        if self.broken:
            self.hang_up()
            return
        self.stuck = False
        self.client.sendall(error(b"ERROR", b"57014", b"canceling statement due to user request"))
        # What the server has said meanwhile is not passed on; its last word may have come already.
        if not self.swallow:
            self.client.sendall(message(b"Z", b"E" if self.status != b"I" else b"I"))

    # ---- what passes ----

    def phase_of(self, sql):
        """The phase that a statement belongs to."""
        if match := re.match(r"(DECLARE|FETCH|CLOSE|MOVE)\b.*?\b(c\d+)\b", sql, re.S):
            verb, cursor = match[1].lower(), match[2]
            if verb == "declare":
                self.cursors[cursor] = ("question" if "pg_export_snapshot" in sql or "exchange.admit" in sql
                                        else "session" if "exchange.send_text" in sql else "rows")
            return f"{self.cursors.get(cursor, 'rows')}: {verb}"
        if "exchange.hello" in sql and "pg_extension" not in sql:
            self.is_stream = True
            return "hello"
        if "SET TRANSACTION SNAPSHOT" in sql:
            self.is_stream = True
            return "stream: snapshot"
        if "exchange.send(" in sql:
            self.is_stream = True
            return "stream: query"
        if "lock_timeout" in sql:
            return "stream: prepare"
        if "pg_extension" in sql or "pg_depend" in sql:
            return "check"
        word = sql.split(None, 1)[0].rstrip(";").upper() if sql.strip() else "nothing"
        if word == "SET":
            return f"settings of the {self.place} connection"
        return ("stream: " if self.is_stream else "") + {"START": "start", "COMMIT": "commit", "ROLLBACK": "rollback", "ABORT": "rollback",
                                                        "SAVEPOINT": "savepoint", "RELEASE": "release"}.get(word, word.lower())

    def from_client(self, kind, body):
        self.proxy.passed()
        if self.stuck:
            return   # what is sent into silence: CopyFail and the like
        if kind == b"Q":
            phase = self.phase_of(body[:-1].decode(errors="replace"))
            time.sleep(self.proxy.late.get(phase, 0.0))
            self.pending.append([phase, True])
        elif kind == b"P":
            name, sql = body.split(b"\0")[:2]
            self.statements[name] = sql.decode(errors="replace")
        elif kind == b"B":
            portal, name = body.split(b"\0")[:2]
            self.portals[portal] = self.statements.get(name, "")
        elif kind == b"E":
            self.pending.append([self.phase_of(self.portals.get(body.split(b"\0")[0], "")), False])
        elif kind == b"S":
            self.pending.append(["sync", True])
        self.server.sendall(message(kind, body))

    def from_server(self, kind, body):
        if kind == b"K":
            self.key = body
        if kind == b"Z":
            self.status = body
        if self.stuck:
            if kind == b"Z":
                self.swallow = False
                self.forget(kind)
            return
        if self.swallow:
            if kind != b"Z":
                return
            self.swallow = False
            while self.pending and not self.pending[0][1]:
                self.pending.pop(0)
        elif self.pending and kind not in b"SNA12tn" and self.lied(kind, body):
            return
        self.proxy.passed(kind != b"S" and (kind != b"D" or self.last_kind != b"D"))
        self.last_kind = kind
        self.client.sendall(message(kind, body))
        self.forget(kind)

    def forget(self, kind):
        if self.pending and (kind == b"Z" or (kind in b"CEsI" and not self.pending[0][1])):
            self.pending.pop(0)

    def lied(self, kind, body):
        """Say something else than this message, if it is time; False if it is to be passed on as well."""
        lie = self.proxy.takes(self.pending[0][0])
        if not lie:
            return False
        replaced = {"description": b"T", "row": b"D", "after row": b"D"}.get(lie.when)
        if (replaced and kind != replaced) or (lie.when == "before" and kind == b"Z" and self.pending[0][0] == "sync"):
            return False
        with self.proxy.lock:
            self.proxy.told = True
        if lie.when == "after row":
            self.client.sendall(message(kind, body))
        self.client.sendall(lie.change(body) if lie.change else lie.data)
        if lie.then == "reset":
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.client.close()
            raise OSError("closed")
        if lie.then == "close":
            raise OSError("closed")
        if lie.then != "go on":
            self.stuck, self.deaf, self.broken = True, lie.then == "deaf", lie.then == "stuck, broken"
            self.swallow = kind != b"Z"
            return True
        if lie.when == "instead":
            self.swallow = kind != b"Z"
            return kind != b"Z"
        return lie.when != "before"
