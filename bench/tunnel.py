#!/usr/bin/env python3
"""One end of a TCP tunnel that compresses with zstd: what people set up by hand for postgres_fdw.

    tunnel.py near LISTEN_HOST LISTEN_PORT CONNECT_HOST CONNECT_PORT [LEVEL]
    tunnel.py far  LISTEN_HOST LISTEN_PORT CONNECT_HOST CONNECT_PORT [LEVEL]

The near end takes plain connections and makes compressed ones to the far end, which makes plain ones
to the server. Each direction is one zstd stream, flushed whenever the sender has nothing more to say
at the moment. Needs the package zstandard. Prints a line when it listens."""
import select
import socket
import sys
import threading

import zstandard

CHUNK = 256 * 1024


def pump(source, target, convert, flush):
    """Copy until the source ends: convert(bytes) while there is more to read, then flush()."""
    try:
        while data := source.recv(CHUNK):
            out = convert(data)
            if flush and not select.select([source], [], [], 0)[0]:
                out += flush()
            if out:
                target.sendall(out)
    except OSError:
        pass
    finally:
        for end, how in ((source, socket.SHUT_RD), (target, socket.SHUT_WR)):
            try:
                end.shutdown(how)
            except OSError:
                pass


def serve(plain, packed, level):
    compressor = zstandard.ZstdCompressor(level=level).compressobj()
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    back = threading.Thread(target=pump, args=(packed, plain, decompressor.decompress, None))
    back.start()
    pump(plain, packed, compressor.compress, lambda: compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    back.join()
    plain.close()
    packed.close()


def main(end, listen_host, listen_port, connect_host, connect_port, level="1"):
    with socket.create_server((listen_host, int(listen_port))) as server:
        print("listening", flush=True)
        while True:
            accepted, _ = server.accept()
            made = socket.create_connection((connect_host, int(connect_port)))
            for each in (accepted, made):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain, packed = (accepted, made) if end == "near" else (made, accepted)
            threading.Thread(target=serve, args=(plain, packed, int(level)), daemon=True).start()


if __name__ == "__main__":
    if len(sys.argv) not in (6, 7) or sys.argv[1] not in ("near", "far"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
