"""The estimator: its log lines and numbers are MXNet's, and training resumes from its checkpoints."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from mixnet import gluon
from mixnet.gluon import nn
from mixnet.gluon.contrib import estimator as es

X = np.random.RandomState(0).rand(20, 4).astype("float32")
Y = (X.sum(1) > 2).astype("float32")


def _loaders() -> tuple:
    pairs = gluon.data.ArrayDataset(X, Y)
    return gluon.data.DataLoader(pairs, 5), gluon.data.DataLoader(pairs, 10)


def _net(kind: type = nn.Sequential) -> nn.Block:
    net = kind()
    net.add(nn.Dense(3, activation="relu", in_units=4), nn.Dense(2, in_units=3))
    net.initialize()
    for i, each in enumerate(net.collect_params().values()):
        each.set_data(mx.nd.array(np.random.RandomState(i).uniform(-0.5, 0.5, each.shape)))
    return net


class _Lines(logging.Handler):
    """Stores log lines without their times."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(re.sub(r"[0-9.]+s\b", "Ts", record.getMessage()))


def _estimator(net: nn.Block | None = None, **options) -> tuple[es.Estimator, list[str]]:
    net = net or _net()
    options.setdefault("train_metrics", mx.metric.Accuracy())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    estimator = es.Estimator(
        net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, context=mx.cpu(), **options
    )
    keep = _Lines()
    estimator.logger.handlers[:] = [keep]
    return estimator, keep.lines


BEGIN = "Training begin: using optimizer SGD with current learning rate 0.5000 "


def test_a_run_logs_and_computes_what_mxnet_does() -> None:
    estimator, lines = _estimator()
    train, val = _loaders()
    estimator.fit(train, val, epochs=2)
    assert lines == [
        BEGIN,
        "Train for 2 epochs.",
        "[Epoch 0] Begin, current learning rate: 0.5000",
        "Validation Begin",
        "[Epoch 0] Finished in Ts, validation accuracy: 0.6000",
        "[Epoch 0] Finished in Ts, training accuracy: 0.4500",
        "[Epoch 1] Begin, current learning rate: 0.5000",
        "Validation Begin",
        "[Epoch 0] Finished in Ts, validation accuracy: 0.6000",
        "[Epoch 1] Finished in Ts, training accuracy: 0.5500",
        "Train finished using total Ts with 2 epochs. training accuracy: 0.5500",
    ]
    assert [each.get() for each in estimator.train_metrics] == [("training accuracy", 0.55)]
    assert [each.get() for each in estimator.val_metrics] == [("validation accuracy", 0.6)]


def test_progress_is_logged_between_batches() -> None:
    estimator, lines = _estimator()
    train, val = _loaders()
    handler = es.LoggingHandler(log_interval=2, metrics=estimator.train_metrics)
    estimator.fit(train, val, epochs=1, event_handlers=[handler])
    assert lines[3:5] == [
        "[Epoch 0][Batch 0][Samples 5] time/interval: Ts training accuracy: 0.8000",
        "[Epoch 0][Batch 2][Samples 15] time/interval: Ts training accuracy: 0.4000",
    ]
    estimator, lines = _estimator()
    estimator.fit(train, batches=3)
    assert lines[1] == "Train for 3 batches."
    assert lines[-1] == "Train finished using total Ts with 1 epochs. training accuracy: 0.4000"
    for wrong in ("x", 1.5):
        with pytest.raises(ValueError, match="must be a number of batches"):
            es.LoggingHandler(wrong)


def test_each_estimator_has_its_own_logger(capsys: pytest.CaptureFixture) -> None:
    with pytest.warns(UserWarning, match=r"SGD with learning rate 0\.001"):
        estimator = es.Estimator(_net(), gluon.loss.SoftmaxCrossEntropyLoss())
    estimator.evaluate(_loaders()[1])
    assert capsys.readouterr().out.startswith("Validation Begin\n[Epoch 0] Finished in ")
    assert [each.name for each in estimator.train_metrics] == [
        "training accuracy",
        "training softmaxcrossentropyloss",
    ]


def test_metrics_are_named_by_training_or_validation() -> None:
    estimator, _ = _estimator(
        train_metrics=[mx.metric.Accuracy(), mx.metric.CrossEntropy(name="ce")],
        val_metrics=[mx.metric.Accuracy(name="vacc")],
    )
    assert [each.name for each in estimator.train_metrics] == ["training accuracy", "training ce"]
    assert [each.name for each in estimator.val_metrics] == ["validation vacc"]
    trainer = estimator.trainer
    plain = es.Estimator(estimator.net, gluon.loss.L1Loss(), trainer=trainer)
    assert [each.name for each in plain.train_metrics] == ["training l1loss"]


def test_training_stops_early() -> None:
    estimator, lines = _estimator()
    train, val = _loaders()
    handler = es.EarlyStoppingHandler(
        estimator.train_metrics[0], patience=1, mode="max", min_delta=10
    )
    estimator.fit(train, val, epochs=6, event_handlers=[handler])
    assert (handler.best, handler.wait, handler.stopped_epoch) == (0.45, 1, 1)
    assert lines[-2] == (
        "[Epoch 1] EarlyStoppingHanlder: early stopping due to training accuracy not improving"
    )
    with pytest.warns(UserWarning, match="a larger mse is assumed to be better"):
        assert es.EarlyStoppingHandler(mx.metric.MSE()).monitor_op is np.greater
    assert es.EarlyStoppingHandler(mx.metric.Loss("my loss")).monitor_op is np.less
    with pytest.raises(ValueError, match="must be one of the metrics"):
        es.EarlyStoppingHandler("accuracy")


def test_a_monitor_that_is_nan_is_reported(tmp_path: Path) -> None:
    estimator, _ = _estimator()
    train, _ = _loaders()
    for make in (
        lambda metric: es.EarlyStoppingHandler(metric, mode="max"),
        lambda metric: es.CheckpointHandler(
            str(tmp_path), monitor=metric, save_best=True, mode="max"
        ),
    ):
        with pytest.warns(RuntimeWarning, match="accuracy is NaN. If it is never updated"):
            estimator.fit(train, epochs=1, event_handlers=[make(mx.metric.Accuracy())])


def test_training_resumes_from_checkpoints(tmp_path: Path) -> None:
    folder = str(tmp_path)
    train, val = _loaders()
    estimator, lines = _estimator()
    handler = es.CheckpointHandler(
        folder, "m", estimator.val_metrics[0], 1, save_best=True, mode="max", max_checkpoints=2
    )
    estimator.fit(train, val, epochs=4, event_handlers=[handler])
    assert sorted(os.listdir(folder)) == [
        f"m-{each}.{kind}"
        for each in ("best", "epoch2batch12", "epoch3batch16")
        for kind in ("params", "states")
    ]
    assert (
        f"[Epoch 3] CheckpointHandler: trained total 17 batches, saving model at {folder} with "
        f"prefix: m-epoch3batch16" in lines
    )
    after = [each.data().asnumpy() for each in estimator.net.collect_params().values()]

    more, lines = _estimator()
    again = es.CheckpointHandler(folder, "m", resume_from_checkpoint=True, verbose=1)
    more.fit(train, val, epochs=6, event_handlers=[again])
    assert lines[0] == (
        "CheckpointHandler: Checkpoint resumed from epoch 3 batch 16, continue to train for "
        "2 epochs "
    )
    assert lines[-1] == "Train finished using total Ts with 2 epochs. training accuracy: 0.6500"
    assert "m-epoch5batch24.params" in os.listdir(folder)

    whole, _ = _estimator()
    whole.fit(train, epochs=4)
    for one, other in zip(whole.net.collect_params().values(), after, strict=True):
        np.testing.assert_allclose(one.data().asnumpy(), other, rtol=1e-6)

    for options, error, message in (
        ({"epochs": 6}, ValueError, "already has 6 epochs"),
        ({"batches": 9}, AssertionError, "must use the same unit"),
    ):
        with pytest.raises(error, match=message):
            more.fit(train, event_handlers=[again], **options)
    with pytest.raises(ValueError, match="save_best needs monitor"):
        es.CheckpointHandler(folder, save_best=True)


def test_checkpoints_of_a_hybrid_network_have_its_graph(tmp_path: Path) -> None:
    net = _net(nn.HybridSequential)
    net.hybridize()
    estimator, _ = _estimator(net)
    handler = es.CheckpointHandler(str(tmp_path), batch_period=2, epoch_period=None)
    estimator.fit(_loaders()[0], epochs=1, event_handlers=[handler])
    names = ["model-epoch0batch1", "model-epoch0batch3"]
    assert handler.saved_checkpoints == names
    read = gluon.SymbolBlock.imports(str(tmp_path / "model-symbol.json"), ["data"])
    assert {each.name for each in net.collect_params().values()} <= set(read.collect_params())


def test_checkpoints_have_the_graph_that_inferred_the_shapes(tmp_path: Path) -> None:
    """As in MXNet: a block that infers its shapes from the first batch need not be hybridized."""
    for units, files in ((0, ["model-symbol.json"]), (4, [])):
        net = nn.Dense(2, in_units=units)
        net.initialize()
        estimator, _ = _estimator(net)
        folder = tmp_path / str(units)
        estimator.fit(_loaders()[0], epochs=1, event_handlers=[es.CheckpointHandler(str(folder))])
        assert [each.name for each in folder.glob("*.json")] == files


def test_handlers_are_called_in_order() -> None:
    messages = []

    class Mine(es.TrainBegin, es.TrainEnd, es.EpochBegin, es.EpochEnd, es.BatchBegin, es.BatchEnd):
        def __init__(self, name: str, priority: float):
            self.name, self.priority = name, priority

        def _tell(self, event: str, facts: dict) -> None:
            messages.append((self.name, event, sorted(facts)))

        def train_begin(self, estimator, *args, **kwargs):
            self._tell("train begins", kwargs)

        def train_end(self, estimator, *args, **kwargs):
            self._tell("train ends", kwargs)

        def epoch_begin(self, estimator, *args, **kwargs):
            self._tell("epoch begins", kwargs)

        def epoch_end(self, estimator, *args, **kwargs):
            self._tell("epoch ends", kwargs)

        def batch_begin(self, estimator, *args, **kwargs):
            self._tell("batch begins", kwargs)

        def batch_end(self, estimator, *args, **kwargs):
            self._tell("batch ends", kwargs)
            return True

    estimator, _ = _estimator()
    estimator.fit(_loaders()[0], epochs=1, event_handlers=[Mine("second", 5), Mine("first", -5)])
    assert messages == [
        (name, event, facts)
        for event, facts in (
            ("train begins", []),
            ("epoch begins", []),
            ("batch begins", ["batch"]),
            ("batch ends", ["batch", "label", "loss", "pred"]),
            ("epoch ends", []),
            ("train ends", []),
        )
        for name in ("first", "second")
    ]


def test_several_contexts_and_a_custom_batch_processor_train() -> None:
    sizes = []

    class Processor(es.BatchProcessor):
        def fit_batch(self, estimator, train_batch, batch_axis=0):
            actual = super().fit_batch(estimator, train_batch, batch_axis)
            sizes.append([len(each) for each in actual])
            return actual

    contexts = [mx.cpu(0), mx.cpu(1)]
    net = _net()
    net.collect_params().reset_ctx(contexts)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    estimator = es.Estimator(
        net, gluon.loss.SoftmaxCrossEntropyLoss(), mx.metric.Accuracy(),
        trainer=trainer, context=contexts, batch_processor=Processor(),
    )  # fmt: skip
    estimator.logger.handlers[:] = []
    pairs = gluon.data.ArrayDataset(X, Y)
    estimator.fit(gluon.data.DataLoader(pairs, 4), epochs=1)
    assert sizes == [[2] * 4] * 5
    assert estimator.train_metrics[0].get()[1] == pytest.approx(0.6)


def test_arguments_of_a_wrong_kind_are_refused() -> None:
    net, loss = _net(), gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    for options, message in (
        ({"loss": "x"}, "must be a loss"),
        ({"train_metrics": ["acc"]}, "list of metrics"),
        ({"trainer": "sgd"}, "must be a gluon.Trainer"),
        ({"context": "cpu"}, "list of contexts"),
        ({"batch_processor": 1}, "method fit_batch"),
    ):
        with pytest.raises(ValueError, match=message):
            es.Estimator(net, **{"loss": loss, "trainer": trainer, **options})
    estimator, _ = _estimator()
    train, _ = _loaders()
    for arguments, message in (
        ({"train_data": train}, "give exactly one of them"),
        ({"train_data": train, "epochs": 1, "batches": 1}, "give exactly one of them"),
        ({"train_data": [1], "epochs": 1}, "takes a gluon.data.DataLoader"),
        ({"train_data": train, "epochs": 1, "event_handlers": [1]}, "EventHandler"),
        (
            {"train_data": train, "epochs": 1,
             "event_handlers": es.MetricHandler([mx.metric.Accuracy()])},
            "is not one of estimator",
        ),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            estimator.fit(**arguments)
    with pytest.warns(UserWarning, match="the initializer is ignored"):
        es.Estimator(net, loss, trainer=trainer, initializer=mx.init.Zero())


@pytest.mark.parametrize("arguments", [{"epochs": 0}, {"batches": 0}, {"epochs": 0, "batches": 0}])
def test_at_least_one_epoch_or_batch_is_required(arguments: dict[str, int]) -> None:
    estimator, lines = _estimator()
    with pytest.raises(ValueError, match="at least 1, not epochs"):
        estimator.fit(_loaders()[0], **arguments)
    assert lines == []


def test_resuming_counts_batches_in_file_names_from_zero(tmp_path: Path) -> None:
    """MXNet 1.9.1: four batches, the number of the file is 3; it is 4 where nothing is to be resumed."""
    for resume, number in ((True, 3), (False, 4)):
        estimator, _ = _estimator()
        folder = tmp_path / str(resume)
        handler = es.CheckpointHandler(str(folder), "my", resume_from_checkpoint=resume)
        estimator.fit(_loaders()[0], epochs=1, event_handlers=[handler])
        assert f"my-epoch0batch{number}.params" in os.listdir(folder)


def test_a_metric_handler_without_metrics() -> None:
    assert es.MetricHandler(None).metrics == []
