#!/usr/bin/env python3
"""A TCP proxy that does harm on command, between a coordinator and a shard (Peer.pm starts it).

    fault_proxy.py PORT     listens on a port of 127.0.0.1, prints which, and forwards to PORT there

Connections are told apart by how they begin: "exchange" (application_name is pg_exchange), "cancel" (a
cancel request) and "other" (postgres_fdw's). Commands come by standard input, a line each, and are
answered by a line each:

    harm KIND ACTION AT [ARGUMENT]   when connections of KIND have got AT more bytes from the server:
        flip     the next byte goes on with bit ARGUMENT (0 to 7) inverted
        cut      the connection ends there, in an orderly way
        reset    it is reset
        hold     nothing goes on, either way, nor on new connections of KIND; TCP still acknowledges
        drop     the same, but packets of the coordinator are not even acknowledged: the network is gone.
                 Takes the right to set socket filters (OwnNamespaces.pm)
        delay    bytes go on in pieces of ARGUMENT bytes, a millisecond apart
    where AT is 0, hold and drop begin at once
    heal         no more harm. What was held goes on; connections whose packets were dropped end
    passed KIND  bytes that connections of KIND got since the last harm to them, or heal
    open KIND    how many connections of KIND are open

flip, cut and reset happen once. The end of standard input ends the proxy."""
import ctypes
import fcntl
import select
import socket
import struct
import sys
import termios
import threading
import time

from protocol import CANCEL, is_exchange, obey, read_startup

SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27         # Linux
REJECT_ALL = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))    # BPF: return 0
HELD = ("hold", "drop")

state = threading.Condition()   # guards what follows
harms = {}                      # kind -> Harm
passed = {}                     # kind -> bytes
links = set()
listener = socket.create_server(("127.0.0.1", 0), backlog=100)


class Harm:
    def __init__(self, action, at, argument):
        self.action, self.at, self.argument = action, at, argument
        self.begun = False      # hold, drop: the point was reached


class Link:
    def __init__(self, client):
        self.client, self.server, self.kind = client, None, ""
        self.over = self.dropped = False


def flush(sock):
    """Wait until what we sent was acknowledged, for a while."""
    for _ in range(100):
        if struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4))[0] == 0:
            break
        time.sleep(0.01)


def drop_packets(sock):
    """Let the kernel throw away what arrives for a socket, unacknowledged."""
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(REJECT_ALL))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def wait_while_held(link):
    """Returns False if the link is to end instead of going on."""
    with state:
        while True:
            harm = harms.get(link.kind)
            if link.over or not (harm and harm.begun):
                break
            state.wait()
        return not (link.over or link.dropped)


def begin_silence(harm, concerned):
    """Under the lock: nothing goes on from now on; packets that come over these links are dropped, if so wanted."""
    harm.begun = True
    for link in concerned:
        link.dropped = harm.action == "drop"
        if link.dropped:
            flush(link.client)
            drop_packets(link.client)
    if harm.action == "drop":
        drop_packets(listener)


def harm_data(link, harm, data, at):
    """Pass on data, of which the byte at is the first to be harmed. False: the link ends."""
    if harm.action == "flip":
        harmed = bytearray(data)
        harmed[at] ^= 1 << harm.argument
        link.client.sendall(harmed)
    elif harm.action == "delay":
        link.client.sendall(data[:at])
        for begin in range(at, len(data), harm.argument):
            link.client.sendall(data[begin:begin + harm.argument])
            time.sleep(0.001)
    else:
        link.client.sendall(data[:at])
        if harm.action == "reset":
            link.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if harm.action not in HELD:
            return False
        with state:
            begin_silence(harm, [link])
        if not wait_while_held(link):
            return False
        link.client.sendall(data[at:])
    return True


def take_harm(kind, nbytes):
    """Count bytes; the harm to be done to them, if any, and from which of them on."""
    with state:
        begin = passed.get(kind, 0)
        passed[kind] = passed.get(kind, 0) + nbytes
        harm = harms.get(kind)
        if harm is None or begin + nbytes <= harm.at:
            return None, 0
        if harm.action in ("flip", "cut", "reset"):
            harms.pop(kind)
        return harm, max(harm.at - begin, 0)


def downward(link):
    try:
        while data := link.server.recv(65536):
            harm, at = take_harm(link.kind, len(data))
            if harm is None:
                if not wait_while_held(link):
                    break
                link.client.sendall(data)
            elif not harm_data(link, harm, data, at):
                break
    except OSError:
        pass


def upward(link):
    try:
        while not link.over:
            if not select.select([link.client], [], [], 0.05)[0]:
                continue
            data = link.client.recv(65536)
            if not data or not wait_while_held(link):
                break
            link.server.sendall(data)
    except OSError:
        pass
    link.over = True
    with state:
        state.notify_all()
    try:
        link.server.shutdown(socket.SHUT_RDWR)      # wakes downward
    except OSError:
        pass


def serve(client, port):
    link = Link(client)
    try:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        packet, code = read_startup(client)
        link.kind = "cancel" if code == CANCEL else "exchange" if is_exchange(packet) else "other"
        with state:
            links.add(link)
        if wait_while_held(link):
            with socket.create_connection(("127.0.0.1", port)) as link.server:
                link.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                link.server.sendall(packet)
                up = threading.Thread(target=upward, args=[link], daemon=True)
                up.start()
                downward(link)
                link.over = True
                up.join()
    except OSError:
        pass
    client.close()
    with state:
        links.discard(link)


def accept(port):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=[client, port], daemon=True).start()


def command(words):
    with state:
        return obeyed(words)


def obeyed(words):
    if words[0] == "passed":
        return passed.get(words[1], 0)
    if words[0] == "open":
        return sum(link.kind == words[1] for link in links)
    if words[0] == "heal":
        for link in links:
            link.over |= link.dropped
        if any(harm.action == "drop" and harm.begun for harm in harms.values()):
            listener.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
        harms.clear()
        passed.clear()
    else:
        kind = words[1]
        passed[kind] = 0
        harms[kind] = harm = Harm(words[2], int(words[3]), int(words[4]) if len(words) > 4 else 0)
        if harm.action in HELD and harm.at == 0:
            begin_silence(harm, [link for link in links if link.kind == kind])
    state.notify_all()
    return "ok"


threading.Thread(target=accept, args=[int(sys.argv[1])], daemon=True).start()
obey(listener, command)
