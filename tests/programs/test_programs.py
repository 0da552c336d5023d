"""Whole programs print what MXNet 1.9.1 printed; ``python -m tests.benchmarks.whole_programs`` runs all of them."""

from __future__ import annotations

import logging
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from tests.benchmarks.whole_programs import PROGRAMS, differences, names, stored

QUICK = (
    "control_flow",
    "factorization_machine",
    "feedforward_model",
    "matrix_factorisation",
    "multi_task",
    "policy_gradient_symbol",
    "saving_and_loading",
    "sgd_from_scratch",
    "stacked_autoencoder",
    "symbol_anatomy",
    "text_cnn",
)


@pytest.fixture
def as_a_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A process of a user, as far as one can be had here: the name mxnet, an empty folder."""
    level, disabled, handlers = (
        logging.root.level,
        logging.root.manager.disable,
        logging.root.handlers[:],
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    mx.as_mxnet()
    monkeypatch.chdir(tmp_path)
    numbers = np.random.get_state()
    with mx.name.NameManager(), warnings.catch_warnings():
        yield
    np.random.set_state(numbers)
    for name in [each for each in sys.modules if each.partition(".")[0] == "mxnet"]:
        del sys.modules[name]
    logging.disable(disabled)
    logging.root.setLevel(level)
    logging.root.handlers[:] = handlers


@pytest.mark.parametrize("name", QUICK)
def test_a_program_prints_what_mxnet_printed(
    name: str, as_a_program: None, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = stored(name)
    assert expected
    warnings.simplefilter("ignore")
    runpy.run_path(str(PROGRAMS / f"{name}.py"), run_name="__main__")
    assert differences(capsys.readouterr().out, expected) == []


@pytest.mark.parametrize("name", names())
def test_what_mxnet_printed_is_stored(name: str) -> None:
    printed = stored(name)
    assert printed and len(printed.splitlines()) >= 3


def test_differences_are_of_words_and_of_more_than_the_last_digits() -> None:
    assert differences("loss 1.0001 [ 2.  3.]\n", "loss 1.0 [2. 3.]\n") == []
    assert differences("nan inf", "nan inf") == []
    assert len(differences("loss 1.01", "loss 1.0")) == 1
    assert len(differences("cost 1.0", "loss 1.0")) == 1
    assert differences("one\ntwo", "one") == ["2 lines for 1"]
