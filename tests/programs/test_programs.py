"""Whole programs print what MXNet 1.9.1 printed; ``python -m tests.benchmarks.whole_programs``
runs all of them.
"""

from __future__ import annotations

import runpy
import warnings

import pytest

from tests.benchmarks.whole_programs import PROGRAMS, differences, names, stored
from tests.each_record import each_record

QUICK = (
    "bert_own_tokenizer",
    "control_flow",
    "ddpg_pendulum",
    "factorization_machine",
    "feedforward_model",
    "layers_on_bucketing",
    "matrix_factorisation",
    "multi_task",
    "policy_gradient_symbol",
    "ppo_chain",
    "saving_and_loading",
    "session_recommenders",
    "sgd_from_scratch",
    "stacked_autoencoder",
    "state_space_models",
    "symbol_anatomy",
    "text_cnn",
    "threads_and_replay",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_program_prints_what_mxnet_printed(
    name: str, as_a_program: None, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = stored(name)
    assert expected
    warnings.simplefilter("ignore")
    runpy.run_path(str(PROGRAMS / f"{name}.py"), run_name="__main__")
    assert differences(capsys.readouterr().out, expected) == []


@each_record("name", names())
def test_the_output_of_mxnet_is_stored(name: str) -> None:
    printed = stored(name)
    assert printed and len(printed.splitlines()) >= 3


def test_differences_are_of_words_and_of_more_than_the_last_digits() -> None:
    assert differences("loss 1.0001 [ 2.  3.]\n", "loss 1.0 [2. 3.]\n") == []
    assert differences("nan inf", "nan inf") == []
    assert len(differences("loss 1.01", "loss 1.0")) == 1
    assert len(differences("cost 1.0", "loss 1.0")) == 1
    assert differences("one\ntwo", "one") == ["2 lines for 1"]
