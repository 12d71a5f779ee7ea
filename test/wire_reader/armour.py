"""The armour of section 12: bytes as characters from 1 to 127."""
from .cursor import must

BLOCK = 105


def symbols(data):
    bits = int.from_bytes(data, "little")
    return [bits >> 7 * i & 127 for i in range((8 * len(data) + 6) // 7)]


def armoured(data):
    """The text of data, as an ASCII string."""
    text = []
    for at in range(0, len(data), BLOCK):
        block = symbols(data[at:at + BLOCK])
        mask = next(mask for mask in range(127, 0, -1) if mask not in block)
        text += [mask, *(symbol ^ mask for symbol in block)]
    return bytes(text).decode("ascii")


def disarmoured(text):
    """The bytes of an armoured text."""
    data = b""
    size = 1 + len(symbols(bytes(BLOCK)))
    for at in range(0, len(text), size):
        block = text[at:at + size].encode("latin-1")
        must(all(1 <= char <= 127 for char in block), "armour consists of the characters 1 to 127")
        bits = sum((char ^ block[0]) << 7 * i for i, char in enumerate(block[1:]))
        nbytes = 7 * (len(block) - 1) // 8
        must(nbytes > 0 and len(symbols(bytes(nbytes))) == len(block) - 1, "a block has a length that some bytes have", len(block))
        must(bits < 1 << 8 * nbytes, "there are no bits after the last byte")
        data += bits.to_bytes(nbytes, "little")
    return data
