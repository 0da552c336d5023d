"""Operations of segments are hashed once, and equal ones are one object."""

from __future__ import annotations

import pytest

from mixnet import cpu
from mixnet.runtime.compile import program_key
from mixnet.runtime.compile.program_key import Operations, ProgramKey, drop_operations, stored


def operations(*names: str) -> tuple[tuple[str, int], ...]:
    """Many operations: these, again and again."""
    return tuple([(name, number) for number in range(10) for name in names])


def test_equal_operations_are_one_object() -> None:
    first = stored(operations("add", "sub"))
    assert type(first) is Operations
    assert stored(operations("add", "sub")) is first
    assert stored(operations("sub", "add")) is not first
    assert first == operations("add", "sub")
    assert hash(first) == hash(operations("add", "sub"))


def test_few_operations_stay_as_they_are() -> None:
    few = operations("add")[:3]
    assert stored(few) is few


def test_keys_with_stored_operations_equal_those_with_plain_ones() -> None:
    plain = operations("add")
    known = {ProgramKey(plain, (1,), (), cpu(), (1, 0)): "a program"}
    assert known[stored(plain), (1,), (), cpu(), (1, 0)] == "a program"  # type: ignore[index]


def test_many_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    drop_operations()
    monkeypatch.setattr(program_key, "MOST_OPERATIONS", 15)
    first = stored(operations("a"))
    stored(operations("b"))
    assert stored(operations("a")) is first
    stored(operations("c"))
    assert stored(operations("a")) is not first
