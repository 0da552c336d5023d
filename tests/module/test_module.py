"""Module by hand: binding, parameters, running, several devices; numbers are MXNet 1.9.1's."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests.module.networks import bound, mlp, norm, samples

FIXTURES = Path(__file__).parents[1] / "parity" / "fixtures"


def test_training_gives_the_numbers_of_mxnet(tmp_path: Path) -> None:
    facts = np.load(FIXTURES / "module_mlp.npz")
    symbol = mx.sym.load(str(FIXTURES / "module_mlp-symbol.json"))
    train = mx.io.NDArrayIter(facts["X"], facts["Y"], 4)
    module = mx.mod.Module(symbol)
    module.bind(train.provide_data, train.provide_label)
    start = {k[6:]: mx.nd.array(facts[k]) for k in facts.files if k.startswith("start:")}
    module.init_params(arg_params=start, aux_params={})
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    metric = mx.metric.create(["acc", "ce"])
    for epoch in range(2):
        train.reset()
        metric.reset()
        for batch in train:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        accuracy, entropy = metric.get()[1]
        assert accuracy == pytest.approx(float(facts[f"acc{epoch}"]))
        assert entropy == pytest.approx(float(facts[f"ce{epoch}"]), rel=1e-5)
    for name, array in module.get_params()[0].items():
        np.testing.assert_allclose(array.asnumpy(), facts[f"end:{name}"], rtol=1e-4, atol=1e-6)
    actual = module.predict(train).asnumpy()
    np.testing.assert_allclose(actual, facts["predict"], rtol=1e-4, atol=1e-6)
    module.save_checkpoint(str(tmp_path / "own"), 2, save_optimizer_states=True)
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    states = []
    for path in (tmp_path / "own-0002.states", FIXTURES / "module_mlp-0002.states"):
        updater.set_states(path.read_bytes())
        states.append(dict(updater.states))
    assert list(states[0]) == list(states[1]) == [0, 1, 2, 3]
    for own, real in zip(states[0].values(), states[1].values(), strict=True):
        np.testing.assert_allclose(own.asnumpy(), real.asnumpy(), rtol=1e-4, atol=1e-6)


def test_training_resumes_from_a_checkpoint_of_mxnet() -> None:
    facts = np.load(FIXTURES / "module_mlp.npz")
    module = mx.mod.Module.load(str(FIXTURES / "module_mlp"), 2, load_optimizer_states=True)
    assert module.params_initialized and not module.binded
    train = mx.io.NDArrayIter(facts["X"], facts["Y"], 4)
    module.bind(train.provide_data, train.provide_label)
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    assert set(module._updater.states) == {0, 1, 2, 3}
    np.testing.assert_allclose(module.predict(train).asnumpy(), facts["predict"], rtol=1e-5)
    before = module.get_params()[0]["fc1_weight"].asnumpy()
    train.reset()
    module.forward_backward(next(train))
    module.update()
    assert abs(module.get_params()[0]["fc1_weight"].asnumpy() - before).max() > 1e-4


def test_checkpoint_functions_of_mx_model_save_and_load(tmp_path: Path) -> None:
    args, auxs = mx.model.load_params(str(FIXTURES / "model_ckpt"), 1)
    np.testing.assert_array_equal(auxs["m"].asnumpy(), np.ones(2, "float32"))
    single = np.load(FIXTURES / "params_single.npz")
    np.testing.assert_array_equal(args["w"].asnumpy(), single[single.files[0]])
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 7, mlp(), args, auxs)
    symbol, again, states = mx.model.load_checkpoint(prefix, 7)
    assert symbol.list_arguments() == mlp().list_arguments()
    assert list(again) == ["w"] and list(states) == ["m"]


def test_files_that_are_not_checkpoints_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = str(tmp_path / "q")
    mx.nd.save(prefix + "-0001.params", {"zz:foo": mx.nd.ones(2)})
    assert mx.model.load_params(prefix, 1) == ({}, {})
    module, _ = bound()
    with pytest.raises(ValueError, match="Invalid param file"):
        module.load_params(prefix + "-0001.params")
    mx.nd.save(prefix + "-0001.params", {"foo": mx.nd.ones(2)})
    with pytest.raises(ValueError, match="'foo' does not begin with"):
        mx.model.load_params(prefix, 1)
    mx.nd.save(prefix + "-0001.params", [mx.nd.ones(2)])
    with pytest.raises(ValueError, match="without names"):
        mx.model.load_params(prefix, 1)
    mx.nd.save(prefix + "-0001.params", {})
    assert mx.model.load_params(prefix, 1) == ({}, {})
    assert f"Params file '{prefix}-0001.params' is empty" in caplog.messages
    with pytest.raises(FileNotFoundError):
        mx.model.load_checkpoint(str(tmp_path / "none"), 1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"data_names": ["dat"]}, "data_names=['dat']) but input with name 'dat' is not found in "),
        ({"fixed_param_names": ["zz"]}, "fixed_param_names=['zz'])"),
        ({"state_names": ["zz"]}, "Did you mean one of: data, softmax_label?"),
    ],
)
def test_names_that_the_symbol_lacks_are_refused(options: dict, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        mx.mod.Module(mlp(), **options)
    assert text in str(caught.value)


def test_labels_that_the_symbol_lacks_cause_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"label_names=\['lab'\]"):
        mx.mod.Module(mlp(), label_names=["lab"])
    module = mx.mod.Module(mlp())
    with pytest.raises(ValueError, match="Data provided by data_shapes don't match names") as c:
        module.bind([("dta", (4, 5))], [("softmax_label", (4,))])
    assert "names: dta vs. data." in str(c.value)
    with pytest.raises(AssertionError) as batch:
        module.bind([("data", (4, 5))], [("softmax_label", (5,))])
    assert str(batch.value) == (
        "all data must have the same batch size: batch_size = 4, but softmax_label has shape (5,)"
    )
    with pytest.warns(UserWarning, match=r"label_shapes don't match .*: none vs. softmax_label\."):
        mx.mod.Module(mlp()).bind([("data", (4, 5))])


def test_a_batch_without_some_of_the_data_is_refused() -> None:
    total = mx.sym.var("a") + mx.sym.var("b")
    module = mx.mod.Module(total, data_names=["a", "b"], label_names=None)
    module.bind([("a", (2, 3)), ("b", (2, 3))])
    module.init_params()
    ones = mx.nd.ones((2, 3))
    for batch in (
        mx.io.DataBatch([ones]),
        mx.io.DataBatch([ones], provide_data=[("a", (2, 3))]),
        mx.io.DataBatch([mx.nd.ones((4, 3))] * 2, provide_data=[("a", (4, 3)), ("c", (4, 3))]),
    ):
        with pytest.raises(ValueError, match="Data provided by data_shapes don't match names"):
            module.forward(batch)
    module.forward(mx.io.DataBatch([ones, ones]))
    assert (module.get_outputs()[0] == 2).asnumpy().all()


def test_methods_require_the_preceding_steps(caplog: pytest.LogCaptureFixture) -> None:
    module = mx.mod.Module(mlp())
    for call in (module.get_params, module.update, lambda: module.data_shapes):
        with pytest.raises(AssertionError):
            call()
    with pytest.raises(AssertionError, match=r"Module.init_params.*Call bind\("):
        module.init_params()
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    with pytest.raises(AssertionError):
        module.init_optimizer()
    module.init_params()
    module.init_optimizer()
    module.init_optimizer()
    assert caplog.messages == [
        "Already bound, ignoring bind()",
        "optimizer already initialized, ignoring...",
    ]
    with pytest.raises(AssertionError):
        module.get_input_grads()


def test_missing_parameters_are_reported() -> None:
    module, _ = bound()
    weight = {"fc1_weight": mx.nd.ones((4, 5))}
    with pytest.raises(RuntimeError, match="fc1_bias is not presented"):
        module.set_params(weight, {})
    with pytest.warns(UserWarning, match="init_params call ignored"):
        module.init_params(arg_params=weight)
    with pytest.warns(UserWarning, match="set_params call ignored"):
        module.set_params(weight, {}, allow_missing=True, force_init=False)
    module.set_params(weight, {}, allow_missing=True)
    assert module.get_params()[0]["fc1_weight"].asnumpy().sum() == 20
    extra = {**module.get_params()[0], "zz": mx.nd.ones((2,))}
    module.set_params(extra, {})
    with pytest.raises(ValueError, match='Find name "zz" that is not in the arguments'):
        module.set_params(extra, {}, allow_missing=True)
    module.set_params(extra, {}, allow_missing=True, allow_extra=True)
    with pytest.raises(mx.MXNetError, match=r"fc1_weight.*\(2,\).*\(4, 5\)"):
        module.set_params({**extra, "fc1_weight": mx.nd.ones((2,))}, {})


def test_parameters_without_values_need_an_initializer() -> None:
    module, _ = bound()
    with pytest.raises(TypeError, match="initializer must be an Initializer"):
        module.init_params(None, force_init=True)


class OwnModule(mx.mod.Module):
    def init_params(self, *args: Any, **kwargs: Any) -> None:
        super().init_params(*args, **kwargs)

    def init_optimizer(self, *args: Any, **kwargs: Any) -> None:
        super().init_optimizer(*args, **kwargs)


@pytest.mark.parametrize("kind", [mx.mod.Module, OwnModule])
def test_warnings_name_the_line_of_the_program(kind: type[mx.mod.Module]) -> None:
    module = kind(mlp())
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params()
    array = mx.nd.ones(2)
    with pytest.warns() as caught:
        module.init_params()
        module.set_params(*module.get_params(), force_init=False)
        module.init_optimizer(optimizer=mx.optimizer.SGD())
        array.copyto(array)
    assert [each.category for each in caught] == [UserWarning] * 3 + [RuntimeWarning]
    assert {each.filename for each in caught} == {__file__}


def test_modules_create_optimizers_by_name() -> None:
    module, _ = bound()
    module.init_optimizer()
    assert module._optimizer.rescale_grad == 0.25 and module._kvstore is None
    assert module._optimizer.idx2name == dict(
        enumerate(["fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"])
    )
    with pytest.warns(UserWarning, match=r"rescale_grad is not normalized .* \(1.0 vs. 0.25\)"):
        module.init_optimizer(optimizer=mx.optimizer.SGD(), force_init=True)
    with pytest.raises(TypeError, match="kvstore must be KVStore, str or None"):
        module.init_optimizer(kvstore=3, force_init=True)
    other = mx.mod.Module(mlp())
    with pytest.raises(AssertionError):
        other.borrow_optimizer(mx.mod.Module(mlp()))
    other.borrow_optimizer(module)
    assert other._optimizer is module._optimizer and other.optimizer_initialized


@pytest.mark.parametrize(
    ("axis", "devices", "expected"), [(None, 1, (4,)), (None, 2, (4,)), (0, 1, (4,)), (1, 1, (4,))]
)
def test_the_first_axis_of_an_output_is_assumed_to_be_the_batch(
    axis: int | None, devices: int, expected: tuple
) -> None:
    """MXNet 1.9.1 shows the batch size for sums over the batch, too."""
    total = mx.sym.sum(mx.sym.Variable("data"), axis=axis)
    contexts = [mx.cpu(i) for i in range(devices)]
    module = mx.mod.Module(total, label_names=None, context=contexts)
    module.bind([("data", (4, 3))])
    assert [shape for _, shape in module.output_shapes] == [expected]


def test_batches_may_have_other_shapes(recwarn: pytest.WarningsRecorder) -> None:
    module, batch = bound()
    module.forward(batch)
    four = module._exec_group.execs
    module.forward(mx.io.DataBatch([batch.data[0][:3]], [batch.label[0][:3]]))
    assert module.get_outputs()[0].shape == (3, 3)
    assert module.data_shapes[0].shape == (3, 5) and module.label_shapes[0].shape == (3,)
    assert module.output_shapes == [("softmax_output", (3, 3))]
    module.forward(batch)
    assert module._exec_group.execs is four, "each shape keeps its executors"
    module.forward(mx.io.DataBatch([batch.data[0][:2]]), is_train=False)
    assert module.get_outputs()[0].shape == (2, 3)
    module.forward_backward(batch)  # its labels count again
    expected = module._exec_group.grad_arrays[0][0].asnumpy()
    fresh, _ = bound()
    fresh.forward_backward(batch)
    np.testing.assert_array_equal(fresh._exec_group.grad_arrays[0][0].asnumpy(), expected)
    with pytest.raises(mx.MXNetError, match="changes fc1_weight from"):
        module.forward(mx.io.DataBatch([mx.nd.ones((2, 7))], [mx.nd.ones(2)]))
    module, batch = bound()
    module.reshape([("data", (2, 5))], [("softmax_label", (2,))])
    assert module.data_shapes[0].shape == (2, 5)


def test_gradients_of_inputs_are_written_or_added() -> None:
    net, params, states, train = norm()
    batch = next(iter(train))
    module = mx.mod.Module(net, context=[mx.cpu(0), mx.cpu(1)])
    module.bind(train.provide_data, train.provide_label, inputs_need_grad=True, grad_req="add")
    module.init_params(arg_params=params, aux_params=states)
    for _ in range(2):
        module.forward(batch)
        module.backward()
    once = mx.mod.Module(net, context=[mx.cpu(0), mx.cpu(1)])
    once.bind(train.provide_data, train.provide_label, inputs_need_grad=True)
    once.init_params(arg_params=params, aux_params=states)
    once.forward_backward(batch)
    twice = module.get_input_grads()[0].asnumpy()
    np.testing.assert_allclose(twice, 2 * once.get_input_grads()[0].asnumpy(), rtol=1e-5)
    assert [len(parts) for parts in module.get_input_grads(False)] == [2]


@pytest.mark.parametrize("kvstore", ["local", "device", None])
def test_two_devices_share_a_batch_by_their_work_load(kvstore: str | None, tmp_path: Path) -> None:
    net, params, states, train = norm()
    options = {"context": [mx.cpu(0), mx.cpu(1)], "work_load_list": [1, 3]}
    options["fixed_param_names"] = ["bn_beta"]
    momentum = {"learning_rate": 0.1, "momentum": 0.9}
    module = mx.mod.Module(net, **options)
    module.fit(
        train, num_epoch=2, arg_params=params, aux_params=states, kvstore=kvstore,
        optimizer_params=momentum,
    )  # fmt: skip
    args, auxs = module.get_params()
    # what MXNet 1.9.1 gives
    real = {
        "bn_gamma": [1.1007732, 0.99101925, 0.94223326],
        "fc_weight": [0.2478368, 0.11875207, 0.25030214],
        "bn_moving_mean": [0.19901516, 0.26295748, 0.17591551],
    }
    if kvstore is None:
        real = {
            "bn_gamma": [1.0543668, 0.99288774, 0.9760399],
            "fc_weight": [0.20847966, 0.1500328, 0.22756284],
            "bn_moving_mean": [0.19947183, 0.2492936, 0.19117025],
        }
    for name, values in real.items():
        actual = {**args, **auxs}[name].asnumpy().ravel()[:3]
        np.testing.assert_allclose(actual, values, rtol=1e-5, atol=1e-6)
    assert not args["bn_beta"].asnumpy().any()
    assert module._exec_group.slices == [slice(0, 1), slice(1, 4)]
    assert module._update_on_kvstore is (kvstore is not None)
    prefix = str(tmp_path / "two")
    module.save_checkpoint(prefix, 1, True)
    again = mx.mod.Module.load(prefix, 1, True, **options)
    again.bind(train.provide_data, train.provide_label)
    again.init_optimizer(kvstore=kvstore, optimizer_params=momentum)
    train.reset()
    batch = next(iter(train))
    for each in (module, again):
        each.forward_backward(batch)
        each.update()
    ours, theirs = module.get_params()[0], again.get_params()[0]
    np.testing.assert_array_equal(ours["fc_weight"].asnumpy(), theirs["fc_weight"].asnumpy())
    outputs = module.get_outputs(merge_multi_context=False)
    assert [part.shape for part in outputs[0]] == [(1, 3), (3, 3)]
    assert module.get_outputs()[0].shape == (4, 3)


def test_four_devices_train_as_one() -> None:
    data, labels, params = samples()
    results = []
    for contexts in ([mx.cpu(0)], [mx.cpu(i) for i in range(4)]):
        train = mx.io.NDArrayIter(data[:16], labels[:16], 8)
        module = mx.mod.Module(mlp(), context=contexts)
        module.fit(
            train, num_epoch=2, arg_params=params, kvstore="device", optimizer="adam",
            optimizer_params={"learning_rate": 0.05},
        )  # fmt: skip
        results.append(module.get_params()[0]["fc1_weight"].asnumpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-6)


def test_a_list_of_batches_is_one_a_device() -> None:
    data, labels, params = samples()
    whole = mx.io.DataBatch([mx.nd.array(data[:4])], [mx.nd.array(labels[:4])])
    parts = [
        mx.io.DataBatch([mx.nd.array(data[i : i + 2])], [mx.nd.array(labels[i : i + 2])])
        for i in (0, 2)
    ]
    module = mx.mod.Module(mlp(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(arg_params=params)
    module.forward(whole)
    expected = module.get_outputs()[0].asnumpy()
    module.forward(parts)
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), expected)
    metric = mx.metric.create("ce")
    module.update_metric(metric, [part.label for part in parts], pre_sliced=True)
    again = mx.metric.create("ce")
    module.update_metric(again, whole.label)
    assert metric.get() == again.get()
    parts[1].data[0] = mx.nd.ones((3, 5))
    with pytest.raises(AssertionError, match="need to have the same shape"):
        module.forward(parts)


def test_states_persist_between_batches() -> None:
    state = mx.sym.Variable("state", shape=(2, 3), dtype="float32")
    total = mx.sym.Variable("data") + state
    net = mx.sym.Group([total, mx.sym.BlockGrad(state * 2)])
    module = mx.mod.Module(net, label_names=[], state_names=["state"])
    module.bind([("data", (2, 3))])
    module.init_params()
    module.set_states(value=2)
    assert module.get_states(False)[0][0].asnumpy().tolist() == [[2] * 3] * 2
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))])
    module.forward(batch)
    assert module.get_outputs()[0].asnumpy().max() == 3
    module.set_states(states=module.get_outputs(False)[1:])
    module.forward(batch)
    assert module.get_outputs()[0].asnumpy().max() == 5
    with pytest.raises(
        AssertionError, match="get_states: merge_multi_context=True is not supported"
    ):
        module.get_states()
    with pytest.raises(AssertionError):
        module.set_states()
    with pytest.raises(AssertionError):
        module.set_states(states=[], value=1)


def test_shared_modules_have_common_parameters() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    first, second = (mx.mod.Module(net, label_names=None) for _ in range(2))
    first.bind([("data", (4, 5))])
    first.init_params(mx.init.One())
    first.init_optimizer()
    second.bind([("data", (2, 5))], shared_module=first)
    assert second.params_initialized and second._optimizer is first._optimizer
    first.forward(mx.io.DataBatch([mx.nd.ones((4, 5))]))
    first.backward([mx.nd.ones((4, 3))])
    first.update()
    second.forward(mx.io.DataBatch([mx.nd.ones((2, 5))]))
    np.testing.assert_allclose(second.get_outputs()[0].asnumpy()[0], [4.94] * 3, rtol=1e-6)
    with pytest.raises(AssertionError):
        mx.mod.Module(net, label_names=None).bind([("data", (2, 5))], shared_module=3)


def test_a_module_for_prediction_uses_the_weights_of_each_update() -> None:
    """The numbers are MXNet's with MXNET_SUBGRAPH_BACKEND=NONE: its oneDNN keeps old weights."""
    fully_connected = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    net = mx.sym.LinearRegressionOutput(fully_connected, mx.sym.Variable("label"))
    train, predict = (mx.mod.Module(net, label_names=["label"]) for _ in range(2))
    train.bind([("data", (2, 3))], [("label", (2, 2))])
    train.init_params(mx.init.Constant(0.5))
    train.init_optimizer(optimizer_params={"learning_rate": 0.1})
    predict.bind([("data", (1, 3))], [("label", (1, 2))], for_training=False, shared_module=train)
    examples = mx.io.DataBatch([mx.nd.array([[1, 2, 3], [0, 1, -1]])], [mx.nd.zeros((2, 2))])
    predictions = []
    for _ in range(3):
        predict.forward(mx.io.DataBatch([mx.nd.array([[1, 0, 2]])]))
        predictions.append(predict.get_outputs()[0].asnumpy()[0, 0])
        train.forward_backward(examples)
        train.update()
    np.testing.assert_allclose(predictions, [1.5, 0.9, 0.525], rtol=1e-6)


def test_backward_requires_training() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (4, 5))], for_training=False)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((4, 5))]))
    with pytest.raises(AssertionError, match="re-bind with for_training=True"):
        module.backward([mx.nd.ones((4, 3))])
    with pytest.raises(AssertionError):
        mx.mod.Module(net, label_names=None).bind(
            [("data", (4, 5))], for_training=False, inputs_need_grad=True
        )


def test_half_precision_inputs_make_half_precision_parameters() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([mx.io.DataDesc("data", (4, 5), "float16")])
    module.init_params()
    assert module.get_params()[0]["fc_weight"].dtype is np.float16


def test_groups_of_nodes_run_on_their_devices() -> None:
    with mx.AttrScope(ctx_group="a"):
        hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    with mx.AttrScope(ctx_group="b"):
        net = mx.sym.FullyConnected(hidden, num_hidden=2, name="fc2")
    for groups in ({"a": mx.cpu(0), "b": mx.cpu(1)}, [{"a": mx.cpu(0), "b": mx.cpu(1)}]):
        module = mx.mod.Module(net, label_names=None, group2ctxs=groups)
        module.bind([("data", (4, 5))])
        module.init_params(mx.init.One())
        module.init_optimizer()
        module.forward(mx.io.DataBatch([mx.nd.ones((4, 5))]))
        module.backward([mx.nd.ones((4, 2))])
        module.update()
        assert module.get_outputs()[0].asnumpy().tolist() == [[20, 20]] * 4
        actual = module._exec_group.param_arrays[2][0]
        assert actual.context == mx.cpu(1) and actual.asnumpy()[0, 0] == pytest.approx(0.95)
    with pytest.raises(AssertionError, match="group 'a' has 2 devices for 1 contexts"):
        mx.mod.Module(net, label_names=None, group2ctxs={"a": [mx.cpu(0), mx.cpu(1)]}).bind(
            [("data", (4, 5))]
        )


def test_prepare_ignores_parameters_that_are_not_sparse() -> None:
    module, batch = bound()
    module.init_optimizer()
    with pytest.warns(UserWarning, match="No need to call sparse_row_id_fn"):
        module.prepare(batch, sparse_row_id_fn=lambda b: {})
    with pytest.warns(UserWarning, match="not invoked for BaseModule"):
        mx.mod.BaseModule().prepare(batch, lambda b: {})


def test_a_training_step_is_one_program() -> None:
    module, batch = bound()
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    counters = []
    for rate in (0.1, 0.05, 0.02):
        module._optimizer.lr = rate
        module.forward_backward(batch)
        module.update()
        mx.nd.waitall()
        counters.append(mx.runtime.counters())
    first, _, last = counters
    assert last["programs_compiled"] == first["programs_compiled"]
    assert last["cache_hits"] == first["cache_hits"] + 2
    assert last["flushes"]["Module.update"] == first["flushes"]["Module.update"] + 2
    assert last["flushes"]["Module.forward"] == first["flushes"]["Module.forward"]


@pytest.mark.usefixtures("compiling_at_once")
def test_new_parameters_take_over_the_buffers_of_the_old() -> None:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=300, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([("data", (2, 500))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer(optimizer_params={"momentum": 0.9})
    batch = mx.io.DataBatch([mx.nd.ones((2, 500))], [mx.nd.zeros(2)])
    donated = []
    for _ in range(3):
        module.forward_backward(batch)
        module.update()
        mx.nd.waitall()
        donated.append(mx.runtime.counters()["donated_bytes"])
    assert donated[2] - donated[1] >= 2 * 300 * 500 * 4, "weight and momentum"


def test_equal_arguments_have_separate_gradients() -> None:
    first, second = mx.sym.Variable("a"), mx.sym.Variable("b")
    executor = (first * 2 + second * 3).simple_bind(mx.cpu(), a=(2,), b=(2,))
    shared = mx.nd.ones((2,))
    shared.copyto(executor.arg_dict["a"])
    shared.copyto(executor.arg_dict["b"])
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(2))
    assert executor.grad_dict["a"].asnumpy().tolist() == [2, 2]
    assert executor.grad_dict["b"].asnumpy().tolist() == [3, 3]


def test_states_of_the_optimizer_exist_after_training() -> None:
    module, batch = bound()
    module.init_optimizer(optimizer="adam")
    module.forward(batch, is_train=False)
    assert not module._updater.states
    module.forward_backward(batch)
    module.update()
    assert set(module._updater.states) == {0, 1, 2, 3}


def test_logging_uses_the_logger_that_was_passed(caplog: pytest.LogCaptureFixture) -> None:
    data, labels, params = samples()
    module = mx.mod.Module(mlp(), logger=logging.getLogger("mine"))
    with caplog.at_level(logging.INFO):
        module.fit(mx.io.NDArrayIter(data, labels, 11), num_epoch=1, arg_params=params)
    assert {record.name for record in caplog.records} == {"mine"}


def test_loaded_parameters_are_read_and_saved_before_bind(tmp_path):
    module = mx.mod.Module.load(str(FIXTURES / "module_mlp"), 2)
    args, _ = module.get_params()
    module.save_params(str(tmp_path / "again.params"))
    again = mx.nd.load(str(tmp_path / "again.params"))
    assert sorted(again) == sorted(f"arg:{name}" for name in args)


def test_backward_accepts_gradients_of_the_first_outputs() -> None:
    label = mx.sym.BlockGrad(mx.sym.Variable("softmax_label"))
    module = mx.mod.Module(mx.sym.Group([mx.sym.Variable("data") * 3, label]))
    module.bind([("data", (2, 1))], [("softmax_label", (2,))], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 1))], [mx.nd.ones(2)]))
    module.backward([mx.nd.array([[1], [10]])])
    np.testing.assert_array_equal(module.get_input_grads()[0].asnumpy(), [[3], [30]])


def test_another_object_than_a_batch_is_an_attribute_error() -> None:
    """MXNet reads an attribute of it, so programs may catch that."""
    module = mx.mod.Module(mlp())
    module.bind([("data", (2, 5))], [("softmax_label", (2,))])
    module.init_params()
    for call in (
        lambda: module.forward(3),
        lambda: module.install_monitor(3),
        lambda: module.fit([1], num_epoch=1),
        lambda: mx.io.ResizeIter(3, 2),
        lambda: mx.io.PrefetchingIter(3),
    ):
        with pytest.raises(AttributeError):
            call()
    with pytest.raises(TypeError, match="sym_gen"):
        mx.mod.BucketingModule(lambda key: 3, 3).bind([("data", (2, 5))])


def test_an_interrupted_bind_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    module = mx.mod.Module(mlp())

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mixnet.module.module.parameters_like", interrupt)
        with pytest.raises(KeyboardInterrupt):
            module.bind([("data", (4, 6))], [("softmax_label", (4,))])
    assert not module.binded
    module.bind([("data", (4, 6))], [("softmax_label", (4,))])
    module.init_params()
    assert module.get_params()[0]
