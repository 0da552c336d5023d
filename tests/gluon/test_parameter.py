"""Parameters and dictionaries of them: states, errors and texts of MXNet 1.9.1."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.gluon import nn
from mixnet.gluon.parameter import arrays
from tests.threads import all_at_once


def new(**kwargs) -> gluon.Parameter:
    parameter = gluon.Parameter("p", shape=(2, 3), **kwargs)
    parameter.initialize(mx.init.One())
    return parameter


def test_text_form_is_mxnets() -> None:
    assert repr(gluon.Parameter("p", shape=2)) == (
        "Parameter p (shape=(2,), dtype=<class 'numpy.float32'>)"
    )
    assert (
        repr(nn.Dense(2, prefix="d_").weight) == "Parameter d_weight (shape=(2, 0), dtype=float32)"
    )
    assert repr(gluon.Constant("c", nd.ones((2,)))) == (
        "Constant c (shape=(2,), dtype=<class 'numpy.float32'>)"
    )
    assert repr(nn.Dense(2, prefix="d_", use_bias=False).params) == (
        "d_ (\n  Parameter d_weight (shape=(2, 0), dtype=float32)\n)"
    )


def test_unknown_arguments_are_refused() -> None:
    with pytest.raises(AssertionError, match="'write', 'add' or 'null'"):
        gluon.Parameter("p", grad_req="sometimes")
    for option in ("stype", "grad_stype"):
        with pytest.raises(AssertionError, match="default, row_sparse, csr"):
            gluon.Parameter("p", **{option: "dense"})
    with pytest.raises(ValueError, match="is not complete"):
        gluon.Parameter("p").initialize()


@pytest.mark.parametrize("shape", [(3, 0.5), (3.0,), (3, "a"), (3, None)])
def test_extents_must_be_integers(shape: tuple) -> None:
    """0.5 was an unknown extent, and 3.0 was 3; MXNet 1.9.1 refuses both."""
    with pytest.raises(mx.MXNetError, match="'p': a shape is a tuple of whole numbers"):
        gluon.Parameter("p", shape=shape)


@pytest.mark.parametrize("shape", [(-3,), (3, -1)])
def test_extents_below_0_are_refused_as_in_mxnet(shape: tuple) -> None:
    with pytest.raises(AssertionError, match="below 0"):
        gluon.Parameter("p", shape=shape).initialize()
    with mx.util.np_shape(), pytest.raises(Exception, match=r"not\s+complete|below 0"):
        gluon.Parameter("p", shape=shape).initialize()


def test_a_parameter_without_a_value_says_why() -> None:
    parameter = nn.Dense(2, prefix="d_").weight
    for call in (parameter.data, parameter.grad, parameter.list_data, parameter.list_ctx):
        with pytest.raises(
            RuntimeError, match=r"'d_weight' has not been initialized.*initialize\(\)"
        ):
            call()
    with pytest.raises(ValueError, match="no value to move"):
        parameter.reset_ctx(mx.cpu())
    with pytest.raises(AssertionError, match="has not been initialized"):
        parameter.set_data(nd.ones((2, 3)))
    parameter = nn.Dense(2, prefix="d_").weight
    parameter.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    assert parameter.list_ctx() == [mx.cpu(0), mx.cpu(1)] and parameter._data is None
    with pytest.raises(gluon.DeferredInitializationError, match="deferred"):
        parameter.data()
    parameter.reset_ctx(mx.cpu(1))
    parameter.set_data(nd.ones((2, 3)))
    assert parameter.shape == (2, 3) and parameter.list_ctx() == [mx.cpu(1)]


def test_values_are_set_and_gradients_zeroed() -> None:
    parameter = new()
    with pytest.warns(UserWarning, match="force_reinit=True"):
        parameter.initialize()
    with autograd.record():
        loss = (parameter.data() * 3).sum()
    loss.backward()
    np.testing.assert_array_equal(parameter.grad().asnumpy(), np.full((2, 3), 3))
    parameter.zero_grad()
    np.testing.assert_array_equal(parameter.list_grad()[0].asnumpy(), 0)
    with pytest.raises(AssertionError, match=r"has shape \(2, 3\), but \(3, 3\) is needed"):
        parameter.set_data(nd.ones((3, 3)))
    with pytest.raises(RuntimeError, match=r"is on \[cpu\(0\)\], not on cpu\(1\)"):
        parameter.data(mx.cpu(1))
    assert parameter.data(mx.cpu_pinned(0)).context == mx.cpu(0)
    parameter.grad_req = "null"
    with pytest.raises(RuntimeError, match="grad_req is 'null'"):
        parameter.grad()
    parameter.grad_req = "add"
    for _ in range(2):
        with autograd.record():
            loss = (parameter.data() * 3).sum()
        loss.backward()
    np.testing.assert_array_equal(parameter.grad().asnumpy(), np.full((2, 3), 6))


def test_a_parameter_has_a_value_on_each_context() -> None:
    parameter = gluon.Parameter("p", shape=(2,))
    parameter.initialize(ctx=[mx.cpu(1), mx.cpu(2)])
    with pytest.raises(RuntimeError, match=r"not on cpu\(0\)"):
        parameter.data()
    with mx.cpu(2):
        assert parameter.data().context == mx.cpu(2)
    parameter.data(mx.cpu(1))[:] = 1
    parameter.data(mx.cpu(2))[:] = 4
    np.testing.assert_array_equal(parameter._reduce().asnumpy(), 2.5)  # what files hold
    parameter.reset_ctx(mx.cpu(0))
    np.testing.assert_array_equal(parameter.data().asnumpy(), 2.5)


def test_a_parameter_has_the_dtype_that_was_passed() -> None:
    parameter = new(dtype="float64")
    assert parameter.dtype == "float64" and parameter.data().dtype == np.float64
    with autograd.record():
        loss = parameter.data().sum()
    loss.backward()
    parameter.cast("float16")
    assert parameter.data().dtype == parameter.grad().dtype == np.float16
    np.testing.assert_array_equal(parameter.grad().asnumpy(), 1)
    parameter.dtype = "float32"
    assert parameter.data().dtype == np.float32


def test_variables_have_the_attributes_of_their_parameters() -> None:
    variable = gluon.Parameter("p", shape=(2, 3), lr_mult=2, init="zeros").var()
    assert variable.attr_dict()["p"] == {
        "__dtype__": "0", "__init__": "zeros", "__lr_mult__": "2", "__shape__": "(2, 3)",
        "__storage_type__": "0", "__wd_mult__": "1.0", "lr_mult": "2", "wd_mult": "1.0",
    }  # fmt: skip
    constant = gluon.Constant("c", [1, 2])
    assert "__init__" not in constant.var().attr_dict()["c"]


def test_constants_have_no_gradient() -> None:
    constant = gluon.Constant("c", [[1, 2]])
    constant.initialize(mx.init.One())  # its value is its own all the same
    assert constant.shape == (1, 2) and constant.grad_req == "null"
    with pytest.warns(UserWarning, match="is ignored"):
        constant.grad_req = "write"
    parameters = gluon.ParameterDict("m_")
    parameters.get("w", shape=(2,))
    first = parameters.get_constant("c", [[1, 2]])
    assert parameters.get_constant("c", nd.array([[1, 2]])) is first
    assert parameters.get_constant("c") is first
    with pytest.raises(AssertionError, match="another value"):
        parameters.get_constant("c", [[1, 3]])
    with pytest.raises(AssertionError, match="not a constant"):
        parameters.get_constant("w", 1)
    with pytest.raises(KeyError, match="no constant"):
        parameters.get_constant("d")


def test_getting_a_parameter_again_completes_its_shape() -> None:
    parameters = gluon.ParameterDict("m_")
    first = parameters.get("w", shape=(2, 0), allow_deferred_init=True)
    assert parameters.get("w", shape=(0, 5)) is first and first.shape == (2, 5)
    with pytest.raises(AssertionError, match=r"shape=\(3, 5\)"):
        parameters.get("w", shape=(3, 5))
    with pytest.raises(AssertionError, match=r"lr_mult=2"):
        parameters.get("w", lr_mult=2)
    assert parameters.get("w", dtype="float32", init="ones").init == "ones"
    assert parameters.prefix == "m_" and "m_w" in parameters and parameters["m_w"] is first
    with pytest.raises(KeyError, match="there are m_w"):
        parameters["w"]
    other = gluon.ParameterDict("m_")
    other.get("w", shape=(2,))
    with pytest.raises(AssertionError, match="named 'm_w'"):
        parameters.update(other)


def test_a_dictionary_initializes_and_changes_all_parameters() -> None:
    net = nn.HybridSequential(prefix="n_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=2), nn.Dense(1, in_units=2))
    parameters = net.collect_params()
    parameters.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    assert set(parameters.list_ctx()) == {mx.cpu(0), mx.cpu(1)}
    net.collect_params(".*bias").setattr("grad_req", "null")
    assert [each.grad_req for each in parameters.values()] == ["write", "null"] * 2
    parameters.reset_ctx(mx.cpu(0))
    assert parameters.list_ctx() == [mx.cpu(0)]
    with autograd.record():
        loss = net(nd.ones((1, 2))).sum()
    loss.backward()
    assert parameters["n_dense1_weight"].grad().asnumpy().tolist() == [[2, 2]]
    parameters.zero_grad()
    assert parameters["n_dense1_weight"].grad().asnumpy().tolist() == [[0, 0]]


def test_row_sparse_parameters_need_a_trainer() -> None:
    parameter = gluon.Parameter("p", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse")
    parameter.initialize(mx.init.One())
    rows = nd.array([1, 3])
    for call in (parameter.data, parameter.list_data):
        with pytest.raises(RuntimeError, match="row_sparse_data"):
            call()
    for call in (parameter.row_sparse_data, parameter.list_row_sparse_data):
        with pytest.raises(RuntimeError, match="no Trainer"):
            call(rows)

    class Rows:
        """What a Trainer does for such a parameter."""

        def _row_sparse_pull(self, parameter, out, row_id, full_idx=False):
            for each in out:
                each[:] = nd.array([[0, 0], [5, 5], [0, 0], [6, 6]])

    parameter._set_trainer(Rows())
    actual = parameter.row_sparse_data(rows)
    assert actual.stype == "row_sparse" and actual.indices.asnumpy().tolist() == [1, 3]
    with pytest.raises(TypeError, match="NDArray"):
        parameter.row_sparse_data([1])
    with pytest.raises(RuntimeError, match="cannot have two"):
        parameter._set_trainer(Rows())
    with pytest.raises(RuntimeError, match=r"call data\(\)"):
        new().row_sparse_data(rows)


def test_row_sparse_parameters_need_a_store() -> None:
    parameter = gluon.Parameter("p", shape=(4, 2), stype="row_sparse", grad_stype="row_sparse")
    parameter.initialize(mx.init.One())
    gluon.Trainer([parameter], "sgd", kvstore=None)
    with pytest.raises(TypeError, match="kvstore=None: row_sparse parameters need a store"):
        parameter.row_sparse_data(nd.array([1]))


class Tripled(gluon.Parameter):
    """A parameter that replaces another; its ``data`` is a multiple of the stored array."""

    def __init__(self, wrapped: gluon.Parameter):
        super().__init__(wrapped.name, shape=wrapped.shape)
        self._var, self._data, self._grad = wrapped._var, wrapped._data, wrapped._grad
        self._ctx_list, self._ctx_map = wrapped._ctx_list, wrapped._ctx_map
        self._trainer = wrapped._trainer

    def data(self, ctx=None):
        return self._check_and_get(self._data, ctx) * 3


class Traced(nn.HybridBlock):
    """Takes no symbols, so that hybridizing traces it on arrays."""

    def __init__(self, layer: nn.Dense):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return nd.FullyConnected(x, self.layer.weight.data(), no_bias=True, num_hidden=2)


@pytest.mark.parametrize("initialized", [False, True])
@pytest.mark.parametrize("form", ["imperative", "composed", "traced"])
def test_a_subclass_can_compute_its_data(form: str, initialized: bool) -> None:
    layer = nn.Dense(2, in_units=3, use_bias=False)
    if initialized:
        layer.initialize(mx.init.One())
    weight = Tripled(layer.weight)
    layer.params._params[weight.name] = layer._reg_params["weight"] = weight
    object.__setattr__(layer, "weight", weight)
    if not initialized:
        layer.initialize(mx.init.One())
    net = Traced(layer) if form == "traced" else layer
    if form != "imperative":
        net.hybridize()
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1})
    outputs = []
    for _ in range(2):
        with autograd.record():
            output = net(nd.array([[1, 2, 3]]))
        output.backward()
        assert weight.grad().asnumpy().tolist() == [[3, 6, 9]] * 2
        outputs.append(output.asnumpy()[0, 0])
        trainer.step(1)
    np.testing.assert_allclose(outputs, [18, 5.4], rtol=1e-6)
    np.testing.assert_allclose(weight._data[0].asnumpy(), [[0.4, -0.2, -0.8]] * 2, atol=1e-6)


def test_private_lists_of_arrays_are_those_of_mxnet() -> None:
    parameter = gluon.Parameter("p", shape=(2, 3))
    assert parameter._data is parameter._grad is parameter._ctx_list is parameter._ctx_map is None
    with pytest.raises(RuntimeError, match="has not been initialized"):
        parameter._check_and_get(parameter._data, mx.cpu())
    parameter.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(2)])
    assert parameter._ctx_list == [mx.cpu(0), mx.cpu(2)]
    assert parameter._ctx_map == [[], [0, None, 1]]
    assert parameter._check_and_get(parameter._grad, mx.cpu(2)) is parameter.grad(mx.cpu(2))
    assert parameter._check_and_get(parameter._data, list) == parameter.list_data()
    gradients = [nd.zeros((2, 3), ctx=each) for each in parameter._ctx_list]
    parameter._grad = gradients
    assert parameter.list_grad() == gradients


@pytest.mark.parametrize("call", ["initialize", "reset_ctx"])
def test_no_context_at_all_is_refused(call: str) -> None:
    parameter = gluon.Parameter("p", shape=(2,))
    parameter.initialize()
    options = {"force_reinit": True} if call == "initialize" else {}
    with pytest.raises(ValueError, match="ctx is empty"):
        getattr(parameter, call)(ctx=[], **options)
    assert parameter.list_ctx() == [mx.cpu()]


@pytest.mark.parametrize("setter", ["set_data", "in _data"])
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_gradient_reaches_what_a_parameter_was_set_from(setter: str, hybridized: bool) -> None:
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One())
    net.weight.grad_req = "null"
    if hybridized:
        net.hybridize()
    mean = nd.array([[1, 2]])
    mean.attach_grad()
    for _ in range(2):  # backward frees the graph: the parameter can be set again
        with autograd.record():
            sample = mean * 3
            if setter == "set_data":
                net.weight.set_data(sample)
            else:
                net.weight._data[0] = sample
            loss = net(nd.array([[4, 5]])) ** 2
        loss.backward()
        assert loss.asnumpy().tolist() == [[42**2]]
        assert mean.grad.asnumpy().tolist() == [[2 * 42 * 3 * 4, 2 * 42 * 3 * 5]]


def test_a_parameter_with_a_gradient_is_not_set_while_recording() -> None:
    weight = new()
    with autograd.record(), pytest.raises(mx.MXNetError, match=r"outside autograd\.record"):
        weight.set_data(nd.ones((2, 3)))


def test_zeroing_passes_by_an_array_without_a_gradient() -> None:
    weight = new()
    weight._data[0] = nd.ones((2, 3))
    weight.zero_grad()
    assert weight.data().asnumpy().tolist() == [[1] * 3] * 2


@pytest.mark.parametrize("where", ["_grad", "list_grad"])
@pytest.mark.parametrize("kvstore", [None, "local"])
def test_a_trainer_uses_the_gradient_that_replaces_one(where: str, kvstore: str | None) -> None:
    # Numbers of MXNet 1.9.1: backward writes to the same array as before.
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One())
    weight = net.weight
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0}, kvstore=kvstore)
    values = []
    for step in range(3):
        with autograd.record():
            loss = net(nd.array([[1, 2]]))
        loss.backward()
        if step == 1:
            gradients = weight._grad if where == "_grad" else weight.list_grad()
            gradients[0] = weight.grad() * 10
        trainer.step(1)
        values.append(weight.data().asnumpy()[0].tolist())
    assert values == [[0, -1], [-10, -21], [-20, -41]]
    assert weight.data().grad.asnumpy().tolist() == [[1, 2]]
    weight.zero_grad()
    assert weight.grad().asnumpy().tolist() == weight._grad[0].asnumpy().tolist() == [[0, 0]]
    assert weight.data().grad.asnumpy().tolist() == [[1, 2]]


def test_casting_keeps_replaced_gradients_and_new_requests_do_not() -> None:
    weight = gluon.Parameter("weight", shape=(2,))
    weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    for place, context in enumerate(weight.list_ctx()):
        weight._grad[place] = nd.array([7, place], ctx=context)
    weight.cast("float64")
    assert [each.asnumpy().tolist() for each in weight.list_grad()] == [[7, 0], [7, 1]]
    weight._grad[0] = nd.ones((2,), dtype="float64")
    weight.grad_req = "add"
    assert weight.grad(mx.cpu(0)).asnumpy().tolist() == [0, 0]


def test_an_item_of_list_data_can_be_replaced() -> None:
    weight = new()
    weight.list_data()[0] = nd.ones((2, 3)) * 5
    assert weight.data().asnumpy().tolist() == [[5] * 3] * 2


def test_initializing_twice_warns_at_the_line() -> None:
    net = nn.Dense(1, in_units=1)
    net.initialize()
    with pytest.warns(UserWarning, match="already initialized, ignoring") as warned:
        net.initialize()
    assert {each.filename for each in warned} == {__file__}


class Doubled(gluon.Parameter):
    """A parameter whose value is computed."""

    def data(self, ctx: mx.Context | None = None) -> nd.NDArray:
        return super().data(ctx) * 2


def initialized(cls: type[gluon.Parameter], name: str, **kwargs: Any) -> gluon.Parameter:
    parameter = cls(name, shape=(2,), init="ones", **kwargs)
    parameter.initialize()
    return parameter


def test_arrays_of_several_parameters_are_those_of_data() -> None:
    plain, doubled = initialized(gluon.Parameter, "plain"), initialized(Doubled, "doubled")
    result = arrays.arrays_on({"a": plain, "b": doubled}, mx.cpu())
    assert result["a"] is plain.data()
    assert result["b"].asnumpy().tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="'empty' has not been initialized"):
        arrays.arrays_on({"a": plain, "c": gluon.Parameter("empty", shape=(2,))}, mx.cpu())


def test_learned_parameters_keep_their_positions() -> None:
    fixed = initialized(gluon.Parameter, "fixed", grad_req="null")
    learned = [initialized(gluon.Parameter, "weight"), initialized(Doubled, "doubled")]
    ((first, a, values), (second, b, _)) = arrays.learned_arrays([fixed, *learned])
    assert (first, second) == (1, 2) and [a, b] == learned
    assert values == learned[0].list_data()
    assert [arrays.is_initialized(each) for each in (fixed, gluon.Parameter("x"))] == [True, False]


@pytest.mark.parametrize("deferred", [False, True])
def test_data_that_comes_too_early_still_gives_the_shape(deferred: bool) -> None:
    """As in MXNet, where ``initialize()`` after the error works."""
    parameter = gluon.Parameter("w", allow_deferred_init=deferred)
    with pytest.raises(AssertionError, match="call initialize"):
        parameter.set_data(nd.ones((4, 2)))
    assert parameter.shape == (4, 2)
    parameter.initialize("ones")
    np.testing.assert_array_equal(parameter.data().asnumpy(), np.ones((4, 2)))


@pytest.mark.parametrize("is_hybridized", [False, True])
def test_several_threads_may_call_a_network_first(is_hybridized: bool) -> None:
    drawn: list[str] = []

    class Slow(mx.init.Initializer):
        def _init_weight(self, name: str, data: nd.NDArray) -> None:
            drawn.append(str(name))
            time.sleep(0.05)
            data[:] = nd.random.uniform(shape=data.shape)

    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.BatchNorm(), nn.Dense(2))
    net.initialize(Slow())
    if is_hybridized:
        net.hybridize()
    results: list[np.ndarray] = []
    all_at_once(3, lambda _: results.append(net(nd.ones((2, 4))).asnumpy()))
    assert len(drawn) == len(set(drawn)) == 2, "each weight is drawn once"
    for result in results:
        np.testing.assert_allclose(result, net(nd.ones((2, 4))).asnumpy(), rtol=1e-5)


def test_an_initializer_may_wait_for_a_thread_that_creates_other_parameters() -> None:
    def create() -> None:
        inner = nn.Dense(2)
        inner.initialize()
        inner(nd.ones((1, 3))).wait_to_read()

    class Waiting(mx.init.Initializer):
        def _init_weight(self, name: str, data: nd.NDArray) -> None:
            thread = threading.Thread(target=create, daemon=True)
            thread.start()
            thread.join(20)
            assert not thread.is_alive(), "the other thread waits for this one"
            data[:] = 3

    net = nn.Dense(2, use_bias=False)
    net.initialize(Waiting())
    assert net(nd.ones((1, 4))).asnumpy().tolist() == [[12, 12]]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
def test_a_copy_of_a_deferred_parameter_has_a_lock_of_its_own(copied: Any) -> None:
    parameter = gluon.Parameter("w", shape=(2, 0), allow_deferred_init=True)
    parameter.initialize("ones")
    other = copied(parameter)
    assert other._creating is not parameter._creating
    other.shape = (2, 3)
    other._finish_deferred_init()
    assert other.data().asnumpy().sum() == 6
    assert parameter.shape == (2, 0)
