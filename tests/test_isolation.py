"""What a test changes is undone, or reported."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet import registry
from tests import isolation, waiting


def _draws_and_name() -> tuple[float, float, float, str]:
    net = mx.gluon.nn.Dense(1)
    return random.random(), np.random.rand(), float(mx.nd.random.uniform().asscalar()), net.name


@pytest.fixture(scope="module")
def shared() -> tuple[float, float, float, str]:
    return _draws_and_name()


def test_what_tests_share_is_made_in_the_state_in_which_tests_begin(
    shared: tuple[float, float, float, str],
) -> None:
    assert _draws_and_name() == shared
    assert _draws_and_name() != shared
    isolation.begin_shared()
    assert _draws_and_name() == shared


def test_what_tests_share_is_not_made_with_the_settings_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MXNET_CHANGED", "1")
    with pytest.raises(AssertionError, match=r"MXNET_CHANGED changed before something that tests"):
        isolation.begin_shared()


def test_threads_of_a_test_end_before_the_next_test(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    isolation.begin()
    threading.Timer(0.2, order.append, ["timer"]).start()
    isolation.end()
    assert order == ["timer"]
    monkeypatch.setattr(isolation, "LAST_SECONDS", 0.1)
    gate = threading.Event()

    def wait() -> None:
        gate.wait(60)

    thread = threading.Thread(target=wait)
    isolation.begin()
    thread.start()
    try:
        with pytest.raises(AssertionError, match=r"did not end in 0 s: Thread-\d+ \(wait\)"):
            isolation.end()
    finally:
        gate.set()
        waiting.join(thread)


def test_changed_settings_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MXNET_CHANGED", "1")
    monkeypatch.setenv("MXNET_REMOVED", "1")
    monkeypatch.setenv("MXNET_SAME", "1")
    isolation.begin()
    before = isolation._states.pop()
    assert isolation._changed_settings(before) == []
    monkeypatch.setenv("MXNET_CHANGED", "2")
    monkeypatch.delenv("MXNET_REMOVED")
    monkeypatch.setenv("MIXNET_ADDED", "")
    monkeypatch.setenv("MXNET_SAME", "1")
    monkeypatch.setenv("OF_NO_SETTING", "1")
    variables = ["MIXNET_ADDED", "MXNET_CHANGED", "MXNET_REMOVED"]
    assert isolation._changed_settings(before) == variables
    monkeypatch.chdir(tmp_path)
    with mx.util.np_array(True):
        assert isolation._changed_settings(before) == [*variables, "the folder", "np arrays"]


def test_registered_names_are_forgotten_and_replaced_ones_restored() -> None:
    names = registry._registries[mx.init.Initializer]
    usual = dict(names)
    isolation.begin()

    class Zero(mx.init.Initializer):
        """Registered in place of another."""

    class OfThisTest(mx.init.Initializer):
        """A new name."""

    names["zero"], names["of_this_test"] = Zero, OfThisTest
    del names["one"]
    isolation.end()
    assert names == usual


def test_variables_of_a_record_may_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of its test's monkeypatch."""
    isolation.begin()
    monkeypatch.setenv("MXNET_CHANGED", "1")
    isolation.end()
    assert os.environ["MXNET_CHANGED"] == "1"
