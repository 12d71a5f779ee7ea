"""PostgreSQL's protocol, for programs that stand in for a server or a proxy.

Also the loop of those that take commands by standard input."""
import os
import struct
import sys

# Codes in place of a protocol version.
CANCEL, SSL, GSS = 80877102, 80877103, 80877104


def message(kind, body=b""):
    return kind + struct.pack("!I", len(body) + 4) + body


def error(severity, code, text):
    return message(b"E", b"S%s\0V%s\0C%s\0M%s\0\0"
                   % (severity, severity, code, text))


def description(types, binary=0):
    """A row description of columns of these types."""
    columns = [b"c\0" + struct.pack("!IHIhih", 0, 0, oid, -1, -1, binary)
               for oid in types]
    return message(b"T", struct.pack("!H", len(types)) + b"".join(columns))


def receive(sock, nbytes):
    data = b""
    while len(data) < nbytes:
        more = sock.recv(nbytes - len(data))
        if not more:
            raise OSError("closed")
        data += more
    return data


def read_startup(client):
    """The first packet of a connection, and its code. Declines encryption."""
    while True:
        head = receive(client, 8)
        length, code = struct.unpack("!II", head)
        packet = head + receive(client, length - 8)
        if code not in (SSL, GSS):
            return packet, code
        client.sendall(b"N")


def is_exchange(packet):
    """Does a startup packet begin a connection of pg_exchange's own?"""
    return b"\0application_name\0pg_exchange\0" in packet


def obey(listener, command):
    """Print the port, then answer each line of standard input (Peer.pm).

    The answer is what command(words) returns."""
    print(listener.getsockname()[1], flush=True)
    for line in sys.stdin:
        print(command(line.split()), flush=True)
    os._exit(0)     # whatever the threads do
