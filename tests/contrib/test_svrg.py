"""SVRG: corrected gradients; numbers of the first epochs are MXNet 1.9.1's."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet.contrib.svrg_optimization.svrg_module import SVRGModule
from mixnet.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer

RATE = (("learning_rate", 0.1),)


def regression(samples: int = 12) -> tuple[Any, dict[str, Any], Any]:
    draw = np.random.RandomState(0)
    data = draw.rand(12, 5).astype("float32")
    target = (data @ draw.rand(5)).astype("float32")
    params = {"fc1_weight": mx.nd.array(draw.rand(1, 5)), "fc1_bias": mx.nd.zeros(1)}
    dense = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc1")
    net = mx.sym.LinearRegressionOutput(dense, mx.sym.Variable("lin_reg_label"), name="lro")
    train = mx.io.NDArrayIter(data[:samples], target[:samples], 4, label_name="lin_reg_label")
    return net, params, train


def module_of(net: Any, **options: Any) -> Any:
    return SVRGModule(net, ["data"], ["lin_reg_label"], **options)


def ready(train: Any, module: Any, params: Any) -> Any:
    module.bind(train.provide_data, train.provide_label)
    module.init_params(arg_params=params, aux_params={})
    module.init_optimizer(kvstore="local", optimizer="sgd", optimizer_params=RATE)
    return module


def test_two_epochs_give_the_numbers_of_mxnet() -> None:
    net, params, train = regression()
    module = ready(train, module_of(net, update_freq=2), params)
    assert isinstance(module._optimizer, _SVRGOptimizer)
    assert list(module._optimizer.idx2name.values()) == [
        "fc1_weight", "fc1_bias", "fc1_weight_full", "fc1_bias_full",
    ]  # fmt: skip
    module.update_full_grads(train)
    losses = []
    for _ in range(2):
        train.reset()
        metric = mx.metric.create("mse")
        for batch in train:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        losses.append(metric.get()[1])
    assert losses == pytest.approx([0.29802514612, 0.14951927463], rel=1e-5)
    weight = module.get_params()[0]["fc1_weight"].asnumpy()[0]
    expected = [0.26261544, 0.705618, 0.02845264, 0.6993425, 0.06359657]
    np.testing.assert_allclose(weight, expected, rtol=1e-5)


def test_padding_does_not_count_in_the_mean_gradient() -> None:
    net, params, train = regression(10)
    module = ready(train, module_of(net, update_freq=1), params)
    module.update_full_grads(train)
    actual = module._param_dict[0]["fc1_weight"].asnumpy()[0]
    expected = [1.6526184, 1.5408758, 1.4768305, 1.9102428, 0.75631297]
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_fit_logs_and_two_devices_train_as_one(caplog: pytest.LogCaptureFixture) -> None:
    weights = []
    for contexts in ([mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]):
        net, params, train = regression()
        module = module_of(net, update_freq=2, context=contexts)
        with caplog.at_level(logging.INFO):
            module.fit(
                train, eval_data=train, eval_metric="mse", num_epoch=3, arg_params=params,
                optimizer_params=(("learning_rate", 0.1), ("momentum", 0.9)),
            )  # fmt: skip
        kinds = [line.split("=")[0] for line in caplog.messages]
        assert kinds == [
            f"Epoch[{epoch}] {kind}"
            for epoch in range(3)
            for kind in ("Train-mse", "Time cost", "Validation-mse")
        ]
        caplog.clear()
        weights.append(module.get_params()[0]["fc1_weight"].asnumpy())
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-4)


def test_a_new_mean_gradient_replaces_the_last() -> None:
    net, params, train = regression()
    module = ready(train, module_of(net, update_freq=1), params)
    results = []
    for _ in range(2):
        module.update_full_grads(train)
        results.append(module._param_dict[0]["fc1_weight"].asnumpy())
    np.testing.assert_array_equal(results[0], results[1])


def test_update_freq_must_be_a_positive_integer() -> None:
    net, _, _ = regression()
    with pytest.raises(ValueError, match="must be a positive integer"):
        module_of(net, update_freq=0)
    for wrong in (1.5, None):
        with pytest.raises(TypeError, match="must be an integer"):
            module_of(net, update_freq=wrong)
