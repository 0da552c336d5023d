"""FeedForward: results and log lines are those of MXNet 1.9.1."""

from __future__ import annotations

import inspect
import logging
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.module.networks import mlp, samples

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*FeedForward has been deprecated"),
    # Its caller is mixnet, as in MXNet: by default, Python does not show it.
    pytest.mark.filterwarnings("ignore:An initializer takes mx.init.InitDesc"),
]

LINES = """\
Start training with [cpu(0)]
Epoch[0] Batch [0-2] accuracy=0.375000
Epoch[0] Batch [2-4] accuracy=0.375000
Epoch[0] Batch [4-6] accuracy=0.375000
Epoch[0] Resetting Data Iterator
Epoch[0] Time cost=#
Epoch[0] Validation-accuracy=0.375000
Epoch[1] Batch [0-2] accuracy=0.375000
Epoch[1] Batch [2-4] accuracy=0.500000
Epoch[1] Batch [4-6] accuracy=0.375000
Epoch[1] Resetting Data Iterator
Epoch[1] Time cost=#
Epoch[1] Validation-accuracy=0.375000""".splitlines()


def trained(**options: Any) -> Any:
    data, labels, params = samples()
    model = mx.model.FeedForward(
        mlp(), num_epoch=2, learning_rate=0.5, momentum=0.9, arg_params=params, numpy_batch_size=4
    )
    model.fit(mx.io.NDArrayIter(data, labels, 4), **options)
    return model


def test_training_gives_lines_and_numbers_of_mxnet(caplog: pytest.LogCaptureFixture) -> None:
    data, labels, _ = samples()
    with caplog.at_level(logging.INFO):
        model = trained(
            eval_data=(data[:8], labels[:8]), batch_end_callback=mx.callback.Speedometer(4, 2)
        )
    messages = [re.sub(r"\tSpeed: [\d.]+ samples/sec\t", " ", line) for line in caplog.messages]
    assert [re.sub(r"cost=\d+\.\d{3}$", "cost=#", line) for line in messages] == LINES
    bias = model.arg_params["fc1_bias"].asnumpy()[:3]
    np.testing.assert_allclose(bias, [-0.35163167, -0.30984294, -0.17153451], rtol=1e-5)
    train = mx.io.NDArrayIter(data, labels, 4)
    assert model.score(train) == pytest.approx(10 / 24)
    actual = model.predict(data[:3])
    assert isinstance(actual, np.ndarray) and actual.shape == (3, 3)
    np.testing.assert_allclose(actual[0], [0.37364975, 0.41810933, 0.20824094], rtol=1e-5)
    outputs, inputs, targets = model.predict(train, return_data=True)
    assert outputs.shape == (22, 3) and targets.shape == (22,)
    np.testing.assert_array_equal(inputs, data)
    assert model.predict(train, num_batch=2).shape == (8, 3)


def test_callbacks_see_the_variables_of_mxnet() -> None:
    data, labels, _ = samples()
    variables: dict[str, set[str]] = {}
    trained(
        eval_data=mx.io.NDArrayIter(data[:10], labels[:10], 4),
        batch_end_callback=lambda p: variables.update(batch=set(p.locals)),
        eval_batch_end_callback=lambda p: variables.update(eval_batch=set(p.locals)),
        eval_end_callback=lambda p: variables.update(eval_end=set(p.locals)),
    )
    names = set(inspect.signature(mx.model._train_multi_device).parameters)
    names |= {"data_batch", "do_reset", "epoch", "executor_manager", "nbatch", "tic", "updater"}
    assert names <= variables["batch"]
    assert names | {"eval_batch", "i", "toc", "total_num_batch"} <= variables["eval_batch"]
    assert names | {"toc", "total_num_batch"} <= variables["eval_end"]


def test_models_survive_files_and_pickles(tmp_path: Path) -> None:
    data, _, _ = samples()
    model = trained()
    model.save(str(tmp_path / "ff"))
    again = mx.model.FeedForward.load(str(tmp_path / "ff"), 2)
    assert again.begin_epoch == 2 and again.num_epoch is None
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    copy = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(copy.predict(data), model.predict(data))


def test_create_trains_a_model() -> None:
    data, labels, _ = samples()
    model = mx.model.FeedForward.create(
        mlp(), data, labels, num_epoch=1, learning_rate=0.1, eval_metric="ce"
    )
    assert sorted(model.arg_params) == ["fc1_bias", "fc1_weight", "fc2_bias", "fc2_weight"]
    assert model.kwargs["learning_rate"] == 0.1 and len(model.kwargs["param_idx2name"]) == 4


def test_several_devices_and_epochs_of_some_batches(caplog: pytest.LogCaptureFixture) -> None:
    data, labels, params = samples()
    contexts = [mx.cpu(0), mx.cpu(1)]
    model = mx.model.FeedForward(
        mlp(), num_epoch=1, epoch_size=3, arg_params=params, ctx=contexts, learning_rate=0.1
    )
    with caplog.at_level(logging.INFO):
        model.fit(
            mx.io.NDArrayIter(data, labels, 4), kvstore="device", logger=logging.getLogger("foo"),
            work_load_list=[1, 1],
        )  # fmt: skip
    assert [record.name for record in caplog.records] == ["foo", "foo"]
    assert caplog.messages[0] == "Start training with [cpu(0), cpu(1)]"
    single = mx.model.FeedForward(
        mlp(), num_epoch=1, epoch_size=3, arg_params=params, learning_rate=0.1
    )
    single.fit(mx.io.NDArrayIter(data, labels, 4))
    actual, expected = (m.arg_params["fc1_weight"].asnumpy() for m in (model, single))
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_networks_are_generated_by_bucket() -> None:
    class Batches(mx.io.DataIter):
        def __init__(self) -> None:
            super().__init__(2)
            self.default_bucket_key = 4
            self.reset()

        @property
        def provide_data(self) -> list[Any]:
            return [("data", (2, 4, 3))]

        @property
        def provide_label(self) -> list[Any]:
            return [("softmax_label", (2,))]

        def reset(self) -> None:
            self.left = [4, 2]

        def next(self) -> Any:
            if not self.left:
                raise StopIteration
            key = self.left.pop(0)
            return mx.io.DataBatch(
                [mx.nd.ones((2, key, 3))], [mx.nd.ones(2)], 0, bucket_key=key,
                provide_data=[("data", (2, key, 3))], provide_label=self.provide_label,
            )  # fmt: skip

    def network(length: int) -> Any:
        mean = mx.sym.mean(mx.sym.Variable("data"), axis=1)
        return mx.sym.SoftmaxOutput(
            mx.sym.FullyConnected(mean, num_hidden=2, name="fc"), name="softmax"
        )

    model = mx.model.FeedForward(network, num_epoch=1, initializer=mx.init.Zero())
    model.fit(Batches())
    np.testing.assert_allclose(model.arg_params["fc_bias"].asnumpy(), [-0.01, 0.01], rtol=1e-2)


def test_data_that_are_refused() -> None:
    data, labels, params = samples()
    model = mx.model.FeedForward(mlp(), num_epoch=1)
    for error, text, arguments in (
        (ValueError, "y must be specified when X is numpy.ndarray", (data,)),
        (ValueError, "The numbers of data points and labels not equal", (data, labels[:3])),
        (ValueError, "Label must be 1D or 2D", (data, np.zeros((22, 2)))),
        (TypeError, "y must be ndarray when X is numpy.ndarray", (data, [1, 2])),
        (TypeError, "X must be DataIter, NDArray or numpy.ndarray", ([1, 2], labels)),
        (TypeError, "Eval data must be DataIter, or NDArray/numpy", (data, labels, (data,))),
        (ValueError, "Eval data is NONE", (data, labels, (None, None))),
    ):
        with pytest.raises(error, match=text):
            model.fit(*arguments)
    inner = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="x")
    with pytest.raises(ValueError, match='Find duplicated argument name "x_weight"'):
        mx.model.FeedForward(mx.sym.FullyConnected(inner, num_hidden=1, name="x"))
    extra = {**params, "zz": mx.nd.ones(1)}
    stored = mx.model.FeedForward(mlp(), arg_params=extra, allow_extra_params=True)
    assert set(stored.arg_params) == set(params)


def test_feed_forward_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match=r"Please use mxnet.mod.Module instead"):
        mx.model.FeedForward(mlp())


def test_statistics_of_batch_normalization_begin_as_in_mxnet() -> None:
    normed = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn", fix_gamma=False)
    network = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(normed, num_hidden=2), name="softmax")
    for initializer in (mx.init.Uniform(0.1), mx.init.Mixed([".*"], [mx.init.Uniform(0.1)])):
        model = mx.model.FeedForward(network, num_epoch=1, initializer=initializer)
        model.fit(mx.io.NDArrayIter(np.full((2, 3), 5, "float32"), np.zeros(2), 2))
        assert model.aux_params["bn_moving_mean"].asnumpy() == pytest.approx([0.5] * 3)
        assert model.aux_params["bn_moving_var"].asnumpy() == pytest.approx([0.9] * 3)


def test_initializers_are_called_with_plain_names() -> None:
    names: list[tuple[type, str]] = []

    def fill(name: str, array: mx.nd.NDArray) -> None:
        names.append((type(name), name))
        array[:] = 1

    network = mx.sym.IdentityAttachKLSparseReg(mlp(), name="kl")
    model = mx.model.FeedForward(network, initializer=fill)  # type: ignore[arg-type]
    model._init_params([("data", (2, 4)), ("softmax_label", (2,))])
    assert (str, "kl_moving_avg") in names and {each for each, _ in names} == {str}


def test_the_loop_of_early_programs() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.Variable("label"))
    params = {"fc_weight": mx.nd.zeros((1, 2))}
    data = mx.io.NDArrayIter(np.ones((4, 2), "f"), np.ones(4, "f"), 2, label_name="label")
    store, on_store = mx.model._create_kvstore("local", 1, params)
    optimizer = mx.optimizer.create("sgd", learning_rate=0.25, rescale_grad=0.5)
    batches: list[int] = []
    mx.model._train_multi_device(
        net, [mx.cpu()], net.list_arguments(), ["fc_weight"], [], params, {}, 0, 1, None, optimizer,
        store, on_store, data, eval_metric=mx.metric.create("mse"),
        batch_end_callback=lambda param: batches.append(param.nbatch),
    )  # fmt: skip
    assert batches == [1, 2]
    np.testing.assert_allclose(params["fc_weight"].asnumpy(), [[0.375, 0.375]])  # MXNet 1.9.1's


def test_data_that_do_not_fit_the_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    """The printed lines are those of MXNet 1.9.1."""
    network = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    network = mx.sym.LinearRegressionOutput(network, mx.sym.var("softmax_label"))
    params = {"fc_weight": mx.nd.ones((1, 4)), "fc_bias": mx.nd.zeros(1)}
    model = mx.model.FeedForward(network, arg_params=params, aux_params={}, numpy_batch_size=4)
    np.testing.assert_array_equal(model.predict(np.ones((4, 4), "float32")), [[4.0]] * 4)
    capsys.readouterr()
    with pytest.raises(mx.MXNetError):
        model.predict(np.ones((8, 3), "float32"))
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "infer_shape error. Arguments:",
        "  fc_weight: (1, 4)",
        "  fc_bias: (1,)",
        "  data: (4, 3)",
    ]
    assert model.predict(np.ones((2, 4), "float32")).tolist() == [[4.0], [4.0]]


def test_training_does_not_repeat_warnings_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: shown.append(str(message)))
    warnings.simplefilter("default")  # once for each line, as unittest and Python's -W default
    for _ in range(3):
        warnings.warn("a line of the program", stacklevel=1)
        trained()
    assert shown.count("a line of the program") == 1
