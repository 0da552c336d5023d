import importlib
import logging

import pytest

import mixnet as mx
from mixnet.legacy.misc import FactorScheduler, LearningRateScheduler


def test_the_first_factor_scheduler_multiplies_at_fixed_steps(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scheduler = FactorScheduler(step=3, factor=0.5)
    assert (scheduler.base_lr, scheduler.step, scheduler.factor) == (0.01, 3, 0.5)
    scheduler.base_lr = 0.1
    caplog.set_level(logging.INFO)
    rates = [scheduler(iteration) for iteration in range(10)]
    assert rates == [0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125]
    assert caplog.messages == [  # as MXNet 1.9.1 writes them
        "At Iteration [3]: Swith to new learning rate 0.05000",
        "At Iteration [6]: Swith to new learning rate 0.02500",
        "At Iteration [9]: Swith to new learning rate 0.01250",
    ]


@pytest.mark.parametrize(("step", "factor"), [(0, 0.5), (2, 1.0), (2, 2.0)])
def test_a_schedule_that_never_changes_the_rate_is_refused(step: int, factor: float) -> None:
    with pytest.raises(ValueError, match=r"step is 0|factor is"):
        FactorScheduler(step, factor)


def test_the_base_class_computes_no_rate() -> None:
    with pytest.raises(NotImplementedError, match="define it"):
        LearningRateScheduler()(1)


def test_schedulers_are_at_mxnets_path() -> None:
    module = importlib.import_module("mixnet.misc")
    assert module.FactorScheduler is FactorScheduler


def test_documentation_classes_are_at_mxnets_paths() -> None:
    module = importlib.import_module("mixnet.symbol_doc")
    product = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    assert module.SymbolDoc.get_output_shape(product, data=(2, 4)) == {"fc_output": (2, 3)}
    assert isinstance(importlib.import_module("mixnet.ndarray_doc").NDArrayDoc, type)
