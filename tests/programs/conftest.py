"""Fixtures for programs written for MXNet."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from tests.legacy.restored import taken_back


@pytest.fixture
def as_a_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The environment of a user's process, as far as possible here: the name mxnet, an empty folder."""
    level, disabled, handlers = (
        logging.root.level,
        logging.root.manager.disable,
        logging.root.handlers[:],
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.chdir(tmp_path)
    numbers = np.random.get_state()
    with mx.name.NameManager(), warnings.catch_warnings(), np.printoptions(), taken_back():
        mx.as_mxnet()
        yield
    mx.npx.reset_np()
    np.random.set_state(numbers)
    for name in [each for each in sys.modules if each.partition(".")[0] == "mxnet"]:
        del sys.modules[name]
    logging.disable(disabled)
    logging.root.setLevel(level)
    logging.root.handlers[:] = handlers
