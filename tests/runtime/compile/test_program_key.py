"""Operations of segments are hashed once, and equal ones are one object."""

from __future__ import annotations

import pytest

from mixnet import cpu
from mixnet.runtime.compile import program_key
from mixnet.runtime.compile.program_key import Operations, ProgramKey, drop_operations, stored


def test_equal_operations_are_one_object() -> None:
    first = stored((("add", 0, -1), ("sub", 1, 0)))
    assert type(first) is Operations
    assert stored((("add", 0, -1), ("sub", 1, 0))) is first
    assert stored((("add", 0, -1), ("sub", 0, 1))) is not first
    assert first == (("add", 0, -1), ("sub", 1, 0))
    assert hash(first) == hash((("add", 0, -1), ("sub", 1, 0)))


def test_keys_with_stored_operations_equal_those_with_plain_ones() -> None:
    plain = (("add", 0, -1),)
    known = {ProgramKey(plain, (1,), (), cpu(), (1, 0)): "a program"}
    assert known[stored(plain), (1,), (), cpu(), (1, 0)] == "a program"  # type: ignore[index]


def test_many_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    drop_operations()
    monkeypatch.setattr(program_key, "MOST_OPERATIONS", 5)
    first = stored((("a",), ("b",), ("c",)))
    stored((("d",), ("e",), ("f",)))
    assert stored((("a",), ("b",), ("c",))) is first
    stored((("g",),))
    assert stored((("a",), ("b",), ("c",))) is not first
