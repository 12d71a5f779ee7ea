"""Values as PostgreSQL's output functions write them, in UTC, with DateStyle ISO and IntervalStyle postgres.

Not about the wire format: this is how the test compares rows with what COPY says of them."""
import datetime
import decimal
import struct

from .chunks import Scaled

EPOCH = 2451545   # Julian day of 2000-01-01
DAY_US = 86400 * 1000000
ARRAY_ELEMENTS = {1000: 16, 1005: 21, 1007: 23, 1016: 20, 1021: 700, 1022: 701, 1028: 26, 1115: 1114, 1182: 1082, 1185: 1184}


def bits(integer, width):
    return integer.to_bytes(width, "little", signed=integer < 0)


def float_text(value, width):
    """The shortest decimal number that reads back as the same float, written as %g would."""
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if width == 8:
        shortest = repr(value)
    else:
        shortest = next(text for text in (f"{value:.{n}g}" for n in range(1, 10)) if as_float4(float(text)) == value)
    sign, digits, exponent = decimal.Decimal(shortest).as_tuple()
    digits = "".join(map(str, digits)).lstrip("0").rstrip("0") or "0"
    if value == 0:
        return "-0" if sign else "0"
    exponent = decimal.Decimal(shortest).adjusted()
    if exponent < -4 or exponent >= (15 if width == 8 else 6):
        text = digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{exponent:+03d}"
    elif exponent < 0:
        text = "0." + "0" * (-exponent - 1) + digits
    else:
        digits = digits.ljust(exponent + 1, "0")
        text = digits[:exponent + 1] + ("." + digits[exponent + 1:] if digits[exponent + 1:] else "")
    return "-" * sign + text


def as_float4(value):
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return None


def date_parts(days):
    """'2000-01-01' and ' BC' or '' of days since 2000-01-01, in the proleptic Gregorian calendar."""
    cycles, days = divmod(days + EPOCH - 1721426, 146097)   # 400 years; the Julian day is that of 0001-01-01
    date = datetime.date.fromordinal(days + 1)
    year = date.year + 400 * cycles
    return f"{year if year > 0 else 1 - year:04d}-{date.month:02d}-{date.day:02d}", "" if year > 0 else " BC"


def time_text(us):
    seconds, us = divmod(us, 1000000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}" + (f".{us:06d}".rstrip("0") if us else "")


def infinite(value, width):
    return {-1 << 8 * width - 1: "-infinity", (1 << 8 * width - 1) - 1: "infinity"}.get(value)


def date_text(days):
    return infinite(days, 4) or "".join(date_parts(days))


def timestamp_text(us, zone=""):
    if infinite(us, 8):
        return infinite(us, 8)
    days, us = divmod(us, DAY_US)
    date, era = date_parts(days)
    return f"{date} {time_text(us)}{zone}{era}"


def timetz_text(data):
    us, west = struct.unpack("<qi", data)
    hours, seconds = divmod(abs(west), 3600)
    zone = f"{'-' if west > 0 else '+'}{hours:02d}" + (f":{seconds // 60:02d}" if seconds else "") + (
        f":{seconds % 60:02d}" if seconds % 60 else "")
    return time_text(us) + zone


def interval_text(data):
    us, days, months = struct.unpack("<qii", data)
    if (us, days, months) == ((1 << 63) - 1, (1 << 31) - 1, (1 << 31) - 1):
        return "infinity"
    if (us, days, months) == (-1 << 63, -1 << 31, -1 << 31):
        return "-infinity"
    years, months = int(months / 12), months - 12 * int(months / 12)
    text, before = "", False
    for value, unit in ((years, "year"), (months, "mon"), (days, "day")):
        if value:
            text += f"{' ' if text else ''}{'+' if before and value > 0 else ''}{value} {unit}{'s' if value != 1 else ''}"
            before = value < 0
    if us or not text:
        sign = "-" if us < 0 else "+" if before else ""
        text += f"{' ' if text else ''}{sign}{time_text(abs(us))}"
    return text


def numeric_text(value):
    if isinstance(value, Scaled):
        digits = str(abs(value.integer)).zfill(value.scale + 1)
        at = len(digits) - value.scale
        return "-" * (value.integer < 0) + digits[:at] + ("." + digits[at:] if value.scale else "")
    ndigits, weight, sign, dscale = struct.unpack_from(">HhHH", value)
    if sign in (0xc000, 0xd000, 0xf000):
        return {0xc000: "NaN", 0xd000: "Infinity", 0xf000: "-Infinity"}[sign]
    digits = "".join(f"{digit:04d}" for digit in struct.unpack_from(f">{ndigits}H", value, 8))
    point = 4 * (weight + 1)
    if point < 0:
        digits, point = "0" * -point + digits, 0
    digits = digits.ljust(point + dscale, "0")
    return "-" * (sign == 0x4000) + (digits[:point].lstrip("0") or "0") + ("." + digits[point:point + dscale] if dscale else "")


def char_text(value):
    value %= 256
    return "" if value == 0 else chr(value) if value < 128 else f"\\{value:03o}"


def tid_text(data):
    high, low, offset = struct.unpack("<3H", data)
    return f"({high << 16 | low},{offset})"


def uuid_text(data):
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def fixed_text(type_oid, value):
    if type_oid == 16:
        return "ft"[value]
    if type_oid == 18:
        return char_text(value)
    if type_oid in (700, 701):
        width = 4 if type_oid == 700 else 8
        return float_text(struct.unpack("<f" if width == 4 else "<d", bits(value, width))[0], width)
    return {
        1082: date_text, 1083: time_text, 1114: timestamp_text, 1184: lambda us: timestamp_text(us, "+00"),
        1266: timetz_text, 1186: interval_text, 2950: uuid_text, 27: tid_text,
        829: lambda data: data.hex(":"), 774: lambda number: number.to_bytes(8, "little").hex(":"),
        3220: lambda lsn: f"{lsn >> 32:X}/{lsn & 0xffffffff:X}",
    }.get(type_oid, str)(value)


def array_text(type_oid, value):
    element_oid = ARRAY_ELEMENTS[type_oid]
    if not isinstance(value, bytes):
        return "{" + ",".join(element_text(element_oid, element) for element in value) + "}"
    # array_send: dimensions, flags, type of the elements; size and lower bound of each dimension; elements
    ndim, _flags, _type = struct.unpack_from(">iiI", value)
    bounds = [struct.unpack_from(">ii", value, 12 + 8 * i) for i in range(ndim)]
    at, elements = 12 + 8 * ndim, []
    while at < len(value):
        nbytes = struct.unpack_from(">i", value, at)[0]
        at += 4
        if nbytes < 0:
            elements.append("NULL")
        else:
            elements.append(element_text(element_oid, int.from_bytes(
                value[at:at + nbytes], "big", signed=element_oid not in (16, 26))))
            at += nbytes
    for size, _ in reversed(bounds[1:]):
        elements = ["{" + ",".join(elements[i:i + size]) + "}" for i in range(0, len(elements), size)]
    prefix = "".join(f"[{low}:{low + size - 1}]" for size, low in bounds) + "=" if any(low != 1 for _, low in bounds) else ""
    return prefix + "{" + ",".join(elements) + "}"


def element_text(type_oid, value):
    text = fixed_text(type_oid, value)
    return f'"{text}"' if " " in text else text


def value_text(column, value):
    """A value that is not null, as bytes."""
    if column.klass == "numeric":
        return numeric_text(value).encode()
    if column.klass == "fixed":
        return fixed_text(column.type_oid, value).encode()
    if column.klass == "array":
        return array_text(column.type_oid, value).encode()
    return b"\\x" + value.hex().encode() if column.klass == "bytes" and column.type_oid == 17 else value


ESCAPES = {ord(char): "\\" + escape for char, escape in zip("\b\f\n\r\t\v\\", "bfnrtv\\")}


def copy_line(columns, row):
    """A row as COPY writes it in text format, without the line's end."""
    return b"\t".join(
        b"\\N" if value is None else value_text(column, value).decode("utf-8", "surrogateescape").translate(ESCAPES)
        .encode("utf-8", "surrogateescape") for column, value in zip(columns, row))
