"""The order in which MXNet lists the attributes of a node: that of its hash table.

MXNet keeps attributes in a ``std::unordered_map`` of libstdc++, built with that library's older
interface: chains of nodes in buckets, 11 of them at first, hashed by MurmurHash64A. A program
that prints ``attr_dict()`` shows its order.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_BUCKETS = (11, 23, 47, 97, 199, 409, 823, 1741)
"""Each is the smallest prime in libstdc++'s table that is at least twice the previous one."""

_WORD = (1 << 64) - 1
_FACTOR = 0xC6A4A7935BD1E995
_SEED = 0xC70F6907


def listed(names: Iterable[str]) -> list[str]:
    """Names in the order in which MXNet lists them, from the order in which they were set."""
    chain: list[str] = []
    size = 0
    for count, name in enumerate(names, start=1):
        if count > _BUCKETS[size]:
            size += 1
            chain = _chain(chain, _BUCKETS[size])
        _insert(chain, name, _BUCKETS[size])
    return chain


def _chain(names: Iterable[str], buckets: int) -> list[str]:
    chain: list[str] = []
    for name in names:
        _insert(chain, name, buckets)
    return chain


def _insert(chain: list[str], name: str, buckets: int) -> None:
    """Put a name before the others of its bucket, which are adjacent; a new bucket goes to the front."""
    bucket = _hash(name) % buckets
    places = (i for i, other in enumerate(chain) if _hash(other) % buckets == bucket)
    chain.insert(next(places, 0), name)


@lru_cache(maxsize=4096)
def _hash(name: str) -> int:
    """MurmurHash64A, as ``std::hash<std::string>`` of libstdc++ computes it on 64 bits."""
    content = name.encode()
    whole = len(content) & ~7
    state = (_SEED ^ (len(content) * _FACTOR)) & _WORD
    for begin in range(0, whole, 8):
        word = int.from_bytes(content[begin : begin + 8], "little")
        state = ((state ^ (_mixed(word * _FACTOR & _WORD) * _FACTOR & _WORD)) * _FACTOR) & _WORD
    if whole < len(content):
        state = ((state ^ int.from_bytes(content[whole:], "little")) * _FACTOR) & _WORD
    return _mixed(_mixed(state) * _FACTOR & _WORD)


def _mixed(word: int) -> int:
    return word ^ (word >> 47)
