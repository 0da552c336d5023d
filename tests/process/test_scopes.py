"""Scopes end in whatever way they are left."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

import mixnet as mx
from mixnet import gluon
from tests.line_interrupts import interrupted
from tests.waiting import join

# Python cannot raise an interrupt in a finalizer; it prints a warning and continues.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

Scopes = Callable[[], AbstractContextManager[Any]]
SCOPES: dict[str, Scopes] = {
    "block": lambda: gluon.nn.Dense(2, prefix="net_").name_scope(),
    "prefix": lambda: mx.name.Prefix("outer_"),
    "attributes": lambda: mx.AttrScope(group="outer"),
    "context": lambda: mx.cpu(1),
    "shape": lambda: mx.util.np_shape(),
    "array": lambda: mx.util.np_array(),
    "bulk": lambda: mx.engine.bulk(7),
}


def settings() -> tuple[object, ...]:
    """What the scopes change."""
    with mx.name.NameManager():
        block = gluon.nn.Dense(2).prefix
    size = mx.engine.set_bulk_size(0)
    mx.engine.set_bulk_size(size)
    name = mx.name.current().get("x", "x")
    attributes = mx.AttrScope.current.get(None)
    flags = (mx.util.is_np_shape(), mx.util.is_np_array())
    return block.rstrip("0123456789_"), name, attributes, mx.current_context(), flags, size


@pytest.mark.parametrize("kind", SCOPES)
def test_an_interrupt_anywhere_leaves_no_scope_open(kind: str) -> None:
    before = settings()
    folders = ("mixnet/process/", "block/scope.py", "name.py", "attribute.py", "util.py", "bulk.py")

    def work() -> None:
        with SCOPES[kind]():
            pass

    at = 1
    while place := interrupted(at, folders, work):
        assert settings() == before, place
        at += 1
    assert at > 10
    assert settings() == before


@pytest.mark.parametrize("kind", SCOPES)
def test_scopes_in_generators_may_end_in_any_order(kind: str) -> None:
    before = settings()

    def inside(scope: AbstractContextManager[Any]) -> Iterator[None]:
        with scope:
            yield

    first, second = inside(SCOPES[kind]()), inside(SCOPES[kind]())
    next(first)
    next(second)
    within = settings()
    assert within != before
    first.close()  # type: ignore[attr-defined]
    assert settings() == within
    second.close()  # type: ignore[attr-defined]
    assert settings() == before


@pytest.mark.parametrize("kind", SCOPES)
def test_a_scope_object_may_be_used_by_two_threads(kind: str) -> None:
    scope, before = SCOPES[kind](), settings()
    entered, leave = threading.Event(), threading.Event()
    results: list[object] = []

    def work() -> None:
        results.append(settings())
        with scope:
            entered.set()
            leave.wait(20)
        results.append(settings())

    thread = threading.Thread(target=work)
    with scope:
        thread.start()
        assert entered.wait(20)
    assert settings() == before
    leave.set()
    join(thread)
    assert results[0] == results[1]


def test_a_copy_of_a_scope_has_not_been_entered() -> None:
    net = gluon.nn.Dense(2, prefix="net_")
    with net.name_scope():
        other = copy.deepcopy(net)
        again = pickle.loads(pickle.dumps(net))
    for each in (other, again):
        with each.name_scope():
            assert gluon.nn.Dense(1).prefix == "net_dense0_"
    assert gluon.nn.Dense(1).prefix.startswith("dense")
