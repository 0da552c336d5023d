"""BucketingModule: networks by bucket with common parameters; numbers are MXNet 1.9.1's."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx


def network(length: int) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    embedded = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=10, output_dim=4, name="emb")
    scores = mx.sym.FullyConnected(mx.sym.sum(embedded, axis=1), num_hidden=3, name="fc")
    label = mx.sym.Variable("softmax_label")
    return mx.sym.SoftmaxOutput(scores, label, name="softmax"), ("data",), ("softmax_label",)


def parameters() -> dict[str, Any]:
    draw = np.random.RandomState(0)
    embedding, weight = draw.rand(10, 4), draw.rand(3, 4)
    return {
        "emb_weight": mx.nd.array(embedding), "fc_weight": mx.nd.array(weight),
        "fc_bias": mx.nd.zeros(3),
    }  # fmt: skip


class Sentences(mx.io.DataIter):
    """Batches of two sentences, of lengths 5, 3, 4, 3."""

    def __init__(self) -> None:
        super().__init__(2)
        self.default_bucket_key = 5
        self.provide_data, self.provide_label = self._described(5)
        self.reset()

    @staticmethod
    def _described(length: int) -> tuple[list[Any], list[Any]]:
        return [mx.io.DataDesc("data", (2, length))], [mx.io.DataDesc("softmax_label", (2,))]

    def reset(self) -> None:
        self.number = 0

    def next(self) -> Any:
        if self.number >= 4:
            raise StopIteration
        length = [5, 3, 4, 3][self.number]
        self.number += 1
        draw = np.random.RandomState(self.number)
        data = mx.nd.array(draw.randint(0, 10, (2, length)))
        label = mx.nd.array(draw.randint(0, 3, 2))
        described, labels = self._described(length)
        return mx.io.DataBatch(
            [data], [label], pad=0, bucket_key=length, provide_data=described, provide_label=labels
        )


@pytest.fixture(scope="module")
def trained() -> Any:
    module = mx.mod.BucketingModule(network, default_bucket_key=5)
    module.fit(
        Sentences(), num_epoch=2, arg_params=parameters(), eval_metric=mx.metric.Perplexity(None),
        optimizer_params={"learning_rate": 0.1}, initializer=None,
    )  # fmt: skip
    return module


def test_training_logs_and_gives_the_numbers_of_mxnet(caplog: pytest.LogCaptureFixture) -> None:
    module = mx.mod.BucketingModule(network, default_bucket_key=5)
    assert module.data_names == ("data",) and module.output_names == ["softmax_output"]
    with caplog.at_level(logging.INFO):
        module.fit(
            Sentences(), num_epoch=2, arg_params=parameters(), initializer=None,
            eval_metric=mx.metric.Perplexity(None), optimizer_params={"learning_rate": 0.1},
        )  # fmt: skip
    lines = [line for line in caplog.messages if "Train" in line]
    results = [float(line.removeprefix(f"Epoch[{i}] Train-perplexity=")) for i, line in
             enumerate(lines)]  # fmt: skip
    assert results == pytest.approx([3.051071, 2.962357], rel=1e-5)
    weight = module.get_params()[0]["fc_weight"].asnumpy().ravel()[:3]
    np.testing.assert_allclose(weight, [0.23465553, 0.35620037, 0.7538479], rtol=1e-5)
    assert module.data_shapes[0].shape == (2, 3), "the bucket of the last batch"
    assert dict(module.score(Sentences(), "acc")) == {"accuracy": 0.625}
    predicted = module.predict(Sentences()).asnumpy()
    np.testing.assert_allclose(predicted[0], [0.06829512, 0.331965, 0.5997399], rtol=1e-4)


def test_buckets_share_arrays(trained: Any) -> None:
    modules = list(trained._buckets.values())
    assert len(modules) == 3
    first = modules[0]._exec_group.execs[0]
    for each in modules[1:]:
        executor = each._exec_group.execs[0]
        for own, shared in (
            (executor.arg_dict["fc_weight"], first.arg_dict["fc_weight"]),
            (executor.grad_dict["fc_weight"], first.grad_dict["fc_weight"]),
        ):
            before = shared.asnumpy()
            own[:] = 3
            assert (shared.asnumpy() == 3).all()
            shared[:] = before
        assert each._updater is modules[0]._updater


def test_two_devices_train_as_one() -> None:
    contexts = [mx.cpu(0), mx.cpu(1)]
    module = mx.mod.BucketingModule(network, default_bucket_key=5, context=contexts)
    batches = Sentences()
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(arg_params=parameters(), aux_params={})
    module.init_optimizer(kvstore="device", optimizer="adam")
    for batch in batches:
        module.prepare(batch)
        module.forward(batch)
        module.backward()
        module.update()
    weight = module.get_params()[0]["fc_weight"].asnumpy().ravel()[:3]
    np.testing.assert_allclose(weight, [0.36366105, 0.4462772, 0.71383953], rtol=1e-5)


def test_checkpoints_are_saved_and_loaded(trained: Any, tmp_path: Path) -> None:
    prefix = str(tmp_path / "bb")
    trained.save_checkpoint(prefix, 2)
    assert sorted(os.listdir(tmp_path)) == [
        "bb-0002.params", "bb-3-symbol.json", "bb-4-symbol.json", "bb-5-symbol.json", "bb.buckets",
    ]  # fmt: skip
    again = mx.mod.BucketingModule.load(prefix, 2, sym_gen=network, default_bucket_key=5)
    assert again.params_initialized and not again.binded
    batches = Sentences()
    again.bind(batches.provide_data, batches.provide_label, for_training=False)
    batch = batches.next()
    short = batches.next()
    for each in (batch, short):
        again.forward(each)
        trained.forward(each, is_train=False)
        actual, expected = again.get_outputs()[0].asnumpy(), trained.get_outputs()[0].asnumpy()
        np.testing.assert_allclose(actual, expected, rtol=1e-6)
    with pytest.raises(AssertionError, match=r"BucketingModule.load needs sym_gen"):
        mx.mod.BucketingModule.load(prefix, 2, default_bucket_key=5)
    with pytest.raises(AssertionError, match="needs default_bucket_key"):
        mx.mod.BucketingModule.load(prefix, 2, network)
    with pytest.raises(AssertionError, match="load_dict needs sym_dict"):
        mx.mod.BucketingModule.load_dict(sym_gen=network, default_bucket_key=5)


def test_wrong_arguments_are_refused(trained: Any, caplog: pytest.LogCaptureFixture) -> None:
    batches = Sentences()
    shapes = batches.provide_data, batches.provide_label
    with pytest.raises(AssertionError):
        mx.mod.BucketingModule(network)
    fresh = mx.mod.BucketingModule(network, 5)
    with pytest.raises(AssertionError, match=r"switch_bucket.*Call bind\("):
        fresh.switch_bucket(3, None)
    with pytest.raises(AssertionError, match="shared_module for BucketingModule is not supported"):
        fresh.bind(*shapes, shared_module=trained)
    trained.bind(*shapes)
    trained.init_optimizer()
    assert caplog.messages[-2:] == [
        "Already bound, ignoring bind()",
        "optimizer already initialized, ignoring.",
    ]
    with pytest.raises(ValueError, match="data_names"):
        mx.mod.BucketingModule(lambda n: (network(n)[0], ("dta",), ("softmax_label",)), 5)


def test_a_bucket_with_its_own_parameters_is_refused() -> None:
    def growing(length: int) -> Any:
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name=f"fc{length}")
        return net, ("data",), None

    module = mx.mod.BucketingModule(growing, 5)
    module.bind([("data", (2, 4))])
    module.init_params()
    with pytest.raises(mx.MXNetError, match="has no fc3_bias, fc3_weight"):
        module.switch_bucket(3, [("data", (2, 4))])
