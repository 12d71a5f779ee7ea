#!/usr/bin/env python3
"""A forged PostgreSQL server: speaks the protocol, and lies at one moment of one's choice (Peer.pm starts it).

    forged_server.py     listens on a port of 127.0.0.1, prints which

It knows the statements of pg_exchange's and postgres_fdw's sessions by what is in them, and answers as a
server with the extension would that has the rows 1, 2 and 3 (i int) in every table. It lies to sessions of
pg_exchange's own alone: postgres_fdw's hears that a stream is allowed, and gets the three rows by send_text, or none
without it. Commands come by standard input, a line each, and are answered by a line each:

    lie MOMENT MESSAGES...   answer the next statements of that kind by these messages instead, until told otherwise
    honest                   no more lies
    seen                     the moments so far, since the last lie, that a session of pg_exchange has come to
    open                     how many connections are open

Moments: login, configure, genuine, hello, start, snapshot, prepare, query, explain, statistics, commit, rollback;
sync is the end of each. Messages: copyout, copyin, copyboth, empty, complete, rows (without end), results (without end),
notices (without end), parameters (without end), bytes (of one message, without end), silence, nothing, noise, textframes,
error:SQLSTATE (whose text is no UTF-8), fatal, hangup, truth."""
import os
import re
import socket
import struct
import threading
import time

from protocol import CANCEL, description, error, is_exchange, message, obey, read_startup

TABLE = [(0x82F63B78 ^ (i >> 1) if i & 1 else i >> 1) for i in range(256)]
for _ in range(7):
    TABLE = [(0x82F63B78 ^ (c >> 1) if c & 1 else c >> 1) for c in TABLE]
HELLO = (b"protocol=1-1 codecs=1 encodings=1 endian=little encoding=UTF8 server_version=%d "
         b"instance=0123456789abcdef0123456789abcdef export=1")
VERSION = int(os.environ.get("PG_VERSION_NUM", "150000"))
ADMISSION = HELLO + b" pid=4711 session=0123456789abcdef snapshot=%s idle=0 against="
state = threading.Lock()    # guards what follows
lies = {}                   # moment -> messages
seen = []
sessions = set()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def frame(kind, body, sequence, rows=0, columns=0, raw_nbytes=0):
    header = struct.pack("<4sHBBIIIHHQI", b"PGXF", 1, kind, 0, 0, sequence, rows, columns, 0, raw_nbytes, len(body))
    return header + struct.pack("<I", crc32c(header + body)) + body


def frames():
    """A schema of one int4, a batch of three of them, and the end."""
    chunk = struct.pack("<BBBBBBHIIII", 0, 0, 0, 0, 4, 0, 0, 3, 12, 12, 0) + struct.pack("<4i", 1, 2, 3, 0)
    sent = [frame(1, struct.pack("<IiBBH", 23, -1, 1, 4, 0), 0, columns=1), frame(2, chunk, 1, 3, 1, 40)]
    return [*sent, frame(3, struct.pack("<7Q", 3, 1, 40, sum(map(len, sent)), 0, 0, 0), 2)]


def armour(data):
    """The text that bytes travel as in postgres_fdw's session."""
    text = b""
    for at in range(0, len(data), 105):
        block, symbols = data[at:at + 105], []
        for group in (block[i:i + 7] for i in range(0, len(block), 7)):
            number = int.from_bytes(group, "little")
            symbols += [number >> 7 * i & 127 for i in range(len(group) + 1)]
        mask = next(m for m in range(127, 0, -1) if m not in symbols)
        text += bytes([mask] + [symbol ^ mask for symbol in symbols])
    return text


def row(*values):
    return message(b"D", struct.pack("!H", len(values)) + b"".join(
        struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value for value in values))


def complete(tag=b"SELECT 1"):
    return message(b"C", tag + b"\0")


FORGED = b"forged \xff\xfe\xc3"   # no UTF-8


def parameter(name, value):
    return message(b"S", name + b"\0" + value + b"\0")


class Session:
    def __init__(self, client):
        self.client, self.input, self.kind = client, client.makefile("rb"), "other"
        self.output, self.status, self.cursors = b"", b"I", {}

    def read(self, nbytes):
        data = self.input.read(nbytes)
        if len(data) < nbytes:
            raise OSError("closed")
        return data

    def flush(self):
        self.client.sendall(self.output)
        self.output = b""

    def flood(self, data, pause=0.0):
        self.flush()
        while True:
            self.client.sendall(data * 10)
            if pause:
                time.sleep(pause)

    def tell(self, lie):
        """Send something in place of the truth."""
        word, _, argument = lie.partition(":")
        endless = {"rows": row(b"x" * 100), "notices": message(b"N", b"SNOTICE\0VNOTICE\0C00000\0Mforged \xff\0\0"),
                   "results": description([23]) + row(b"1") + complete(), "parameters": parameter(b"TimeZone", b"forged")}
        if word in endless:
            self.output += description([25]) if word == "rows" else b""
            self.flood(endless[word], 0.001 if word in ("notices", "parameters") else 0)
        elif word == "bytes":
            self.output += b"D" + struct.pack("!I", 0x3FFFFFFF)
            self.flood(b"x" * 1000, 0.001)
        elif word in ("copyout", "copyin", "copyboth"):
            self.output += message({"copyout": b"H", "copyin": b"G", "copyboth": b"W"}[word], struct.pack("!bH", 0, 0))
        elif word == "silence":
            self.flush()
            self.input.read()
            raise OSError("closed")
        elif word == "empty":
            self.output += message(b"I")
        elif word == "complete":
            self.output += complete(b"DO")
        elif word == "textframes":
            self.output += description([25]) + b"".join(map(row, frames())) + complete()
        elif word == "noise":
            self.output += bytes(range(256))
        elif word == "error":
            self.output += error(b"ERROR", argument.encode(), FORGED)
        elif word == "fatal":
            self.output += error(b"FATAL", b"57P01", FORGED)
            self.flush()
        if word in ("fatal", "hangup"):
            raise OSError("hang up")

    def moment(self, sql):
        if self.kind != "exchange" and re.match("DECLARE|FETCH|CLOSE", sql):
            return "other"
        for what, pattern in (("statistics", r"pg_catalog\.pg_stats"), ("configure", r"^SELECT pg_catalog\.set_config\('search_path'"), ("prepare", "lock_timeout"),
                              ("genuine", "pg_identify_object"), ("hello", r"exchange\.hello\("), ("explain", "^EXPLAIN"),
                              ("query", r"exchange\.send\("), ("start", "^START"), ("snapshot", "^SET TRANSACTION SNAPSHOT"),
                              ("commit", "^COMMIT"), ("rollback", "^(ROLLBACK|ABORT)")):
            if re.search(pattern, sql):
                return what
        return "other"

    @staticmethod
    def rows(sql):
        """All that a cursor of postgres_fdw's has."""
        if "exchange.admit(" in sql:
            wants_snapshot = re.search(r"(text|NULL), true\)", sql) is not None
            answer = ADMISSION % (VERSION, b"00000003-00000001-1" if wants_snapshot else b"-")
            return row(b"<table><row><admit>" + answer + b"</admit></row></table>")
        return row(armour(b"".join(frames()))) if "exchange.send_text(" in sql else b""

    def truth(self, sql, moment):
        if moment == "hello":
            return description([25]) + row(HELLO % VERSION) + complete()
        if moment == "query":
            return description([17], 1) + b"".join(map(row, frames())) + complete()
        if moment == "configure":
            return description([25] * 5) + row(*[b"x"] * 5) + complete()
        if moment == "genuine":
            return description([25, 23]) + row(b"100ms", b"1") + complete()
        if moment == "prepare":
            return description([25, 23, 25]) + row(b"100ms", b"1", b"no stamp") + complete()
        if moment == "statistics":
            return description([25]) + row(b'["table", "public", "numbers", "3", "8192", "0", "t"]') + complete()
        if moment == "explain":
            return description([25]) + row(b"Result") + complete()
        if sql.startswith("DECLARE"):
            self.cursors[sql.split()[1]] = self.rows(sql)
        if sql.startswith("FETCH"):
            name = sql.split()[-1]
            rows, self.cursors[name] = self.cursors[name], b""
            return description([25]) + rows + complete(b"FETCH %d" % (rows != b""))
        if moment == "start":
            self.status = b"T"
        if moment in ("commit", "rollback"):
            self.status = b"I"
        return complete(sql.split()[0].encode())

    def execute(self, sql):
        moment = self.moment(sql)
        ours = self.kind == "exchange"
        with state:
            told = lies.get(moment, ["truth"]) if ours else ["truth"]
            if ours:
                seen.append(moment)
        for lie in told:
            if lie == "truth":
                self.output += self.truth(sql, moment)
            else:
                self.tell(lie)

    def log_in(self):
        packet, code = read_startup(self.client)
        if code == CANCEL:
            raise OSError("cancel request")
        if is_exchange(packet):
            self.kind = "exchange"
            with state:
                told = lies.get("login", [])
            for lie in told:
                self.tell(lie)
        self.output += message(b"R", struct.pack("!I", 0))
        for name, value in ((b"server_version", b"15.0"), (b"server_encoding", b"UTF8"), (b"client_encoding", b"UTF8"),
                            (b"standard_conforming_strings", b"on"), (b"integer_datetimes", b"on")):
            self.output += parameter(name, value)
        self.output += message(b"K", struct.pack("!II", 4711, 42)) + message(b"Z", b"I")
        self.flush()

    def serve(self):
        self.log_in()
        sql, failed = "", False
        while True:
            kind = self.read(1)
            body = self.read(struct.unpack("!I", self.read(4))[0] - 4)
            if kind == b"X":
                return
            if kind == b"Q":
                for statement in re.split(r"; (?=EXPLAIN |SELECT pg_catalog\.json_build_array)", body[:-1].decode()):
                    before = len(self.output)
                    self.execute(statement)
                    if self.output[before:before + 1] == b"E":
                        break
            elif kind == b"P":
                sql = body.split(b"\0")[1].decode()
                if not failed:
                    self.output += message(b"1")
            elif kind == b"B" and not failed:
                self.output += message(b"2")
            elif kind == b"E" and not failed:
                before = len(self.output)
                self.execute(sql)
                failed = self.output[before:before + 1] == b"E"
            if kind in b"QS":
                with state:
                    silent = self.kind == "exchange" and lies.get("sync") == ["nothing"]
                failed = False
                self.output += b"" if silent else message(b"Z", self.status)
            if kind in b"QSH":
                self.flush()


def run(client):
    session = Session(client)
    with state:
        sessions.add(session)
    try:
        session.serve()
    except OSError:
        pass
    with state:
        sessions.discard(session)
    client.close()


def accept(listener):
    while True:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=run, args=[client], daemon=True).start()


def command(words):
    with state:
        return obeyed(words)


def obeyed(words):
    if words[0] == "seen":
        return " ".join(seen)
    if words[0] == "open":
        return sum(session.kind == "exchange" for session in sessions)
    lies.clear()
    seen.clear()
    if words[0] == "lie":
        lies[words[1]] = words[2:]
    return "ok"


listener = socket.create_server(("127.0.0.1", 0), backlog=100)
threading.Thread(target=accept, args=[listener], daemon=True).start()
obey(listener, command)
