"""Lines that no well-behaved source sends."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

BOM = b"\xef\xbb\xbf"

#: Values that are JSON, or nearly, and may trip up a reader.
VALUES = [
    b"1e308", b"-1e308", b"1e309", b"1e999", b"1e-400", b"5e-324", b"-0", b"-0.0", b"0.1e1", b"1E+2",
    b"9007199254740993", b"18446744073709551616", b"123456789012345678901234567890", b"9" * 400,
    b"1" * 5000, b"0." + b"3" * 3000, b"NaN", b"-NaN", b"nan", b"Infinity", b"-Infinity", b"inf",
    b"01", b"1.", b".5", b"+1", b"0x10", b"1_000", b"--1", b"1e", b"1e+",
    b"null", b"true", b"false", b"True", b"None", b"undefined", b"", b" ",
    b'""', b'" "', b'"1.5"', b'"NaN"', b'"-9999"', b'"1e999"', b"'a'", b'"\\u0000"', b'"\\ud800"',
    b'"\\udc00\\ud800"', b'"\\ud83d\\ude00"', b'"\\x41"', b'"\\"', b'"\\u12"', b'"\\n"', b'"\n"', b'"\t"',
    b'"\x00"', b'"\x1f"', b'"\x7f"', b'"\xff"', b'"\xc3\x28"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"',
    b'"\xc0\x80"', "\"e\u0301\u202e\"".encode(), '"\u2028"'.encode(), b'"' + b"x" * 3000 + b'"',
    b"{}", b"[]", b"[[]]", b"[1,2]", b"[1,NaN]", b'{"a":1}', b'{"a":{"b":null}}', b'[{"a":1},"b",null]',
]  # fmt: skip

#: Names with a meaning elsewhere, or that collide with others once flattened.
NAMES = [
    b'""', b'"a"', b'"b"', b'"y"', b'"id"', b'"w"', b'"skip"', b'"n"', b'"prediction"', b'"a.b"', b'"a.0"',
    b'"."', b'"a."', b'".a"', b'"__class__"', b'"__proto__"', b'"\\u0061"', b'"\\ud800"', b'"\\u0000"',
    b'"\xff"', b'"y\\u0000"', b'" y"', b'"Y"', b'"a=b"', b"a", b"'a'", b"1", b"null",
    b'"' + b"k" * 1500 + b'"',
]  # fmt: skip

DOCUMENTS = [
    b"", b" ", b"\t \t", b"\r", b"\x0b\x0c", b"\x00", b"\xff\xfe", BOM, BOM + b" ", b"{", b"}", b"{}", b"[]",
    b"null", b"1", b'"text"', b"NaN", b"Infinity", b"{}{}", b"{} {}", b"{},", b"[{}]", b"a,b,y", b"1.5,red,0",
    b"<x/>", b"a: 1", b"// {}", b"{/**/}", b'{"a" 1}', b'{"a":1 "b":2}', b'{"a":1,}', b'{,"a":1}', b'{"a":}',
    b'{"a":1,"a":2}', b'{"y":1,"y":0}', b'{"id":1,"id":2,"y":1}', b'{"a":{"b":1},"a.b":2}',
    b'{"a":[1],"a.0":"x"}', '{"a":1}'.encode("utf-16"), '{"a":1}'.encode("utf-32-le"), BOM + b'{"a":1}',
    BOM + b'{"a":NaN}',
]  # fmt: skip


def hostile_line(rng: random.Random, good: bytes, longest: int) -> bytes:
    """A line made from a good one, or from scratch.

    Parameters
    ----------
    rng
        The generator.
    good
        A valid line.
    longest
        Some lines are longer than this.
    """
    made = rng.choice(_KINDS)(rng, good, longest)
    return made.replace(b"\n", b" ")


def _document(rng: random.Random, good: bytes, longest: int) -> bytes:
    return rng.choice(DOCUMENTS)


def _strange_record(rng: random.Random, good: bytes, longest: int) -> bytes:
    pairs = [
        rng.choice(NAMES) + b":" + rng.choice([rng.choice(VALUES), b"1", b"0.5"])
        for _ in range(rng.randrange(1, 6))
    ]
    return b"{" + rng.choice([b",", b" , "]).join(pairs) + b"}"


def _strange_member(rng: random.Random, good: bytes, longest: int) -> bytes:
    name = rng.choice([*NAMES[:8], rng.choice(NAMES)])
    member = name + b":" + rng.choice(VALUES)
    return good[:-1] + b"," + member + b"}" if rng.random() < 0.5 else b"{" + member + b"," + good[1:]


def _mutated(rng: random.Random, good: bytes, longest: int) -> bytes:
    line = bytearray(good)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at, end = sorted(rng.randrange(len(line) + 1) for _ in range(2))
        change = rng.randrange(6)
        if change == 0:
            line[at : at + 1] = bytes([rng.randrange(256)])
        elif change == 1:
            line[at:at] = rng.choice(
                [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"-", b".", b"e", b"0"]
            )
        elif change == 2:
            del line[at : at + rng.choice([1, 1, 4])]
        elif change == 3:
            line[at:at] = line[at:end]
        elif change == 4:
            line[at : at + 1] = bytes(byte ^ 1 << rng.randrange(8) for byte in line[at : at + 1])
        else:
            del line[at:]
        line = line or bytearray(b"{")
    return bytes(line)


def _nested(rng: random.Random, good: bytes, longest: int) -> bytes:
    depth = rng.choice([2, 20, 126, 127, 128, 129, 253, 254, 255, 256, 1023, 1024, 1025, 5000, 50_000])
    left, right = rng.choice([(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
    core = rng.choice([b"1", b"NaN", b"null", b""])
    closed = right * rng.choice([depth, depth, depth - 1, 0])
    return b'{"a":' + left * depth + core + closed + rng.choice([b"}", b',"y":1}', b""])


def _wide(rng: random.Random, good: bytes, longest: int) -> bytes:
    n = rng.choice([50, 300])
    value = rng.choice([b"1", b"0.5", b'"x"', b"null", b"[1,2]"])
    kind = rng.randrange(3)
    if kind == 0:
        return b"{" + b",".join(b'"v%d":' % rng.randrange(400) + value for _ in range(n)) + b"}"
    if kind == 1:
        return b'{"a":[' + b",".join([value] * n) + b"]}"
    return b'{"a":1' + b" " * n + b"}" + b" " * n


def _long(rng: random.Random, good: bytes, longest: int) -> bytes:
    size = longest + rng.choice([-12, -11, -10, -9, -2, -1, 0, 1, 2, 100, longest])
    kind = rng.randrange(3)
    if kind == 0:
        return (b'{"skip":"%s"}' % (b"z" * size))[: max(size, 12)]
    if kind == 1:
        return good + b" " * max(size - len(good), 0)
    return b"\xff" * size


def _noise(rng: random.Random, good: bytes, longest: int) -> bytes:
    return rng.randbytes(rng.choice([1, 5, 60, 500]))


def _ascii(rng: random.Random, good: bytes, longest: int) -> bytes:
    """The same line written differently: escapes, spaces, another order."""
    record = json.loads(good)
    names = list(record)
    rng.shuffle(names)
    text = json.dumps(
        {name: record[name] for name in names}, separators=rng.choice([(", ", ": "), (",", " :\t")])
    )
    escaped = "".join(f"\\u{ord(c):04x}" if c.isalpha() and rng.random() < 0.1 else c for c in text)
    return rng.choice([text, escaped, f"  {text}\r", f"\t{text}\x0b", f"{text}\x00"]).encode()


_KINDS: list[Callable[[random.Random, bytes, int], bytes]] = [
    _document, _strange_record, _strange_member, _strange_member, _mutated, _mutated, _mutated, _nested,
    _wide, _long, _noise, _ascii,
]  # fmt: skip
