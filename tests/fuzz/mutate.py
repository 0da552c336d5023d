"""Damage to the bytes of a file, the same for the same seed."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

Change = Callable[[bytearray, random.Random, Sequence[bytes]], bytearray]

_BYTES = (0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x22, 0x28, 0x2D, 0x5B, 0x7B)
_NUMBERS = {
    1: (0, 1, 0x7F, 0x80, 0xFF),
    2: (0, 1, 0x7FFF, 0x8000, 0xFFFF),
    4: (0, 1, 0xFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
    8: (0, 1, 0x7FFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
}
_TOKENS = (
    b"0", b"-1", b"1", b"2147483648", b"-9223372036854775809", b"99999999999999999999999999",
    b"9" * 5000, b"1e400", b"1e-400", b"-0.0", b"nan", b"inf", b"0x10", b"1_0", b"None", b"null",
    b"true", b"True", b"[]", b"{}", b"()", b'""', b"(", b")", b"[", b"]", b"{", b"}", b",", b":",
    b"\t", b"\n", b"\r", b" ", b"\0", b"#", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xef\xbb\xbf",
    b"(" * 500, b"[" * 3000, b'{"a":' * 3000, b"-" * 1000 + b"1", b"(0, 0)", b"(-1, -1)", b"(1, 2, 3, 4)",
    b"[[0, 0, 0]]", b"[1]", b"float32", b"..", b"/", b"a" * 300,
)  # fmt: skip
_WORD = re.compile(rb"[A-Za-z_]+|-?\d+(?:\.\d+)?|\s+|[^\sA-Za-z_\d]")


def _flip(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(data))
        data[at] ^= 1 << draw.randrange(8)
    return data


def _set(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    data[draw.randrange(len(data))] = draw.choice((*_BYTES, draw.randrange(256)))
    return data


def _number(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    """Another number in a field: at its boundaries, or a little off."""
    size = draw.choice([each for each in _NUMBERS if each <= len(data)])
    at = draw.randrange(len(data) - size + 1)
    at -= at % size if draw.random() < 0.7 else 0
    order = draw.choice(("little", "little", "big"))
    value = draw.choice(_NUMBERS[size])
    if draw.random() < 0.3:
        value = int.from_bytes(data[at : at + size], order) + draw.choice((-1, 1, -4, 4))
    data[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, order)
    return data


def _float(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    if len(data) < 4:
        return data
    at = draw.randrange(len(data) - 3)
    value = draw.choice((float("nan"), float("inf"), float("-inf"), -1.0, 1e38, 2.0, 7.0))
    data[at : at + 4] = struct.pack("<f", value)
    return data


def _cut(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    return data[: draw.randrange(len(data))]


def _delete(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    begin, end = _range(data, draw)
    del data[begin:end]
    return data


def _insert(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    at = draw.randrange(len(data) + 1)
    data[at:at] = draw.choice((draw.randbytes(draw.randrange(1, 9)), b"\0" * 4, b"\xff" * 8))
    return data


def _repeat(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    begin, end = _range(data, draw)
    at = draw.randrange(len(data) + 1)
    data[at:at] = data[begin:end] * draw.choice((1, 1, 2, 20))
    return data


def _splice(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    other = draw.choice(others)
    begin = draw.randrange(len(other) + 1)
    return data[: draw.randrange(len(data) + 1)] + other[begin:]


def _range(data: bytearray, draw: random.Random) -> tuple[int, int]:
    begin = draw.randrange(len(data))
    most = draw.choice((4, 16, 64, len(data)))
    return begin, min(begin + draw.randrange(1, most + 1), len(data))


def _words(data: bytearray, draw: random.Random) -> list[tuple[int, int]]:
    # Near a random place, since searching a whole long text costs more than loading it.
    start = draw.randrange(len(data)) if len(data) > 4096 else 0
    return [match.span() for match in _WORD.finditer(data, start, start + 4096)]


def _word(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    """A word becomes another one."""
    words = _words(data, draw)
    if words:
        begin, end = draw.choice(words)
        data[begin:end] = draw.choice(_TOKENS)
    return data


def _swap(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    """A word becomes one that stands elsewhere in the text."""
    words = _words(data, draw)
    if words:
        (begin, end), (first, last) = draw.choice(words), draw.choice(words)
        data[begin:end] = data[first:last]
    return data


def _token(data: bytearray, draw: random.Random, others: Sequence[bytes]) -> bytearray:
    at = draw.randrange(len(data) + 1)
    data[at:at] = draw.choice(_TOKENS)
    return data


_BINARY: Sequence[Change] = (
    _flip, _flip, _set, _set, _number, _number, _number, _float, _cut, _delete, _insert, _repeat, _splice,
)  # fmt: skip
_TEXT: Sequence[Change] = (
    _word, _word, _word, _swap, _swap, _token, _flip, _set, _cut, _delete, _repeat, _splice,
)  # fmt: skip


def is_text(content: bytes) -> bool:
    """Whether the content of a file is lines of text."""
    return not re.search(rb"[^\t\n\r\x20-\x7e\x80-\xff]", content) and content.isascii()


def mutated(content: bytes, others: Sequence[bytes], draw: random.Random) -> bytes:
    """The content with one to four kinds of damage.

    Args:
        content: of a valid file.
        others: contents of valid files of the format, to take pieces of.
        draw: the generator.
    """
    changes = _TEXT if is_text(content) else _BINARY
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 4))):
        if data:
            data = draw.choice(changes)(data, draw, others)
    return bytes(data[: 16 * len(content) + (1 << 16)])
