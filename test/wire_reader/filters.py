"""The split-block Bloom filter of conditions (doc/wire.md, 14)."""
import struct

MASK = (1 << 64) - 1
SALTS = (0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31)


def finalize(x):
    x = x + 0x9e3779b97f4a7c15 & MASK
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def key_hash(key):
    """The hash value of a bigint, or of bytes."""
    if isinstance(key, int):
        return finalize(key & MASK)
    x = len(key)
    for at in range(0, len(key), 8):
        x ^= int.from_bytes(key[at:at + 8], "little") * 0x9e3779b97f4a7c15 & MASK
        x = (x << 29 | x >> 35) & MASK
        x = x * 0xbf58476d1ce4e5b9 & MASK
    return finalize(x)


def places(key, nblocks):
    """(block, bit of each of its words) of a key."""
    h = key_hash(key)
    return (h >> 32) * nblocks >> 32, [((h & 0xffffffff) * salt & 0xffffffff) >> 27 for salt in SALTS]


def make(keys, nblocks, encoding="UTF8"):
    words = [0] * 8 * nblocks
    for key in keys:
        block, bits = places(key, nblocks)
        for i, bit in enumerate(bits):
            words[8 * block + i] |= 1 << bit
    return b"PXBF" + b"\1\0\0\0" + struct.pack("<I", nblocks) + encoding.encode().ljust(20, b"\0") + struct.pack(f"<{len(words)}I", *words)


def has(data, key):
    nblocks, = struct.unpack_from("<I", data, 8)
    block, bits = places(key, nblocks)
    words = struct.unpack_from("<8I", data, 32 + 32 * block)
    return all(word >> bit & 1 for word, bit in zip(words, bits))
