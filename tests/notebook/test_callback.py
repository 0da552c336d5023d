"""The loggers of ``mx.notebook.callback`` in a training, on frames that stand in for those of pandas."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.notebook.callback import LiveBokehChart, LiveTimeSeries, PandasLogger, args_wrapper


class _Frame(list[dict[str, Any]]):
    """Rows, of which pandas makes columns."""


def _concat(frames: list[_Frame], ignore_index: bool) -> _Frame:
    assert ignore_index, "rows are numbered anew, not from 0 again"
    return _Frame(row for frame in frames for row in frame)


@pytest.fixture(autouse=True)
def _pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = SimpleNamespace(DataFrame=lambda rows=(): _Frame(rows), concat=_concat)
    monkeypatch.setitem(sys.modules, "pandas", stand_in)


def _fitted(logger: PandasLogger, epochs: int) -> mx.mod.Module:
    labels = np.arange(12) % 2
    data = np.stack([labels, 1 - labels], 1).astype("float32")
    batches = mx.io.NDArrayIter(data, labels.astype("float32"), batch_size=3)
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.fit(batches, batches, num_epoch=epochs, **logger.callback_args())
    return module


def test_a_training_is_logged() -> None:
    logger = PandasLogger(batch_size=3, frequent=2)
    assert [len(each) for each in logger.all_dataframes.values()] == [0, 0, 0]
    module = _fitted(logger, epochs=2)
    rows = [(row["epoch"], row["minibatch_count"]) for row in logger.train_df]
    assert rows == [(0, 0), (0, 2), (1, 0), (1, 2)]
    assert [row["epoch"] for row in logger.eval_df] == [0, 1]
    assert len(logger.epoch_df) == 2
    times = [row["elapsed"] for row in logger.train_df]
    assert times == sorted(times)
    for row in logger.train_df:
        assert row["records_per_sec"] == pytest.approx(3 * row["batches_per_sec"])
    # The last evaluation is that of the trained module.
    labels = np.arange(12) % 2
    data = np.stack([labels, 1 - labels], 1).astype("float32")
    batches = mx.io.NDArrayIter(data, batch_size=3)
    right = (module.predict(batches).asnumpy().argmax(1) == labels).mean()
    assert logger.eval_df[-1]["accuracy"] == pytest.approx(right)


def test_several_loggers_are_arguments_of_one_training() -> None:
    loggers = [PandasLogger(batch_size=3), PandasLogger(batch_size=3)]
    arguments = args_wrapper(*loggers)
    assert set(arguments) == {"batch_end_callback", "eval_end_callback", "epoch_end_callback"}
    assert arguments["batch_end_callback"] == [each.train_cb for each in loggers]
    for callback in arguments["epoch_end_callback"]:
        callback(0, None, None, None)
    assert [len(each.epoch_df) for each in loggers] == [1, 1]


@pytest.mark.parametrize("make", [lambda: LiveBokehChart(None, "accuracy"), LiveTimeSeries])
def test_charts_that_bokeh_no_longer_draws(make: Any) -> None:
    with pytest.raises(mx.MXNetError, match=r"PandasLogger, and plot logger\.train_df"):
        make()
