"""Operators written in Python: forward, gradient, in arrays, symbols and hybridized blocks."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from typing import Any, ClassVar

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, nd
from mixnet.ops.control import custom
from tests import processes
from tests.threads import in_threads


class Scaled(mx.operator.CustomOp):
    """Sigmoid times a factor, half in NumPy and half in arrays."""

    def __init__(self, factor: float):
        self.factor = factor

    def forward(self, is_train, req, in_data, out_data, aux):
        y = 1 / (1 + np.exp(-in_data[0].asnumpy()))
        self.assign(out_data[0], req[0], nd.array(y) * self.factor)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0] / self.factor
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor * y * (1 - y))


@mx.operator.register("test_scaled")
class ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, factor="1"):
        super().__init__()
        self.factor = float(factor)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Scaled(self.factor)


X = np.array([[-1.0, 0.0], [0.5, 2.0]], "float32")
Y = 3 / (1 + np.exp(-X))
SLOPE = Y * (1 - Y / 3)


def test_a_custom_operator_runs_on_arrays() -> None:
    x = nd.array(X)
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_scaled", factor=3)
        loss = (y * 2).sum()
    loss.backward()
    np.testing.assert_allclose(y.asnumpy(), Y, rtol=1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * SLOPE, rtol=1e-5)


def test_in_a_symbol_and_its_file() -> None:
    symbol = mx.sym.Custom(data=mx.sym.Variable("x"), op_type="test_scaled", factor=3, name="c")
    for each in (symbol, mx.sym.load_json(symbol.tojson())):
        gradient = nd.zeros(X.shape)
        executor = each.bind(mx.cpu(), {"x": nd.array(X)}, {"x": gradient})
        np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), Y, rtol=1e-5)
        executor.backward(nd.ones(X.shape))
        np.testing.assert_allclose(gradient.asnumpy(), SLOPE, rtol=1e-5)


def test_hybridized_and_on_large_arrays() -> None:
    net = mx.gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="test_scaled", factor=2) + 1)
    net.hybridize()
    x = np.random.rand(300, 300).astype("float32")
    for _ in range(3):
        actual = net(nd.array(x)).asnumpy()
    np.testing.assert_allclose(actual, 1 + 2 / (1 + np.exp(-x)), rtol=1e-5)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(mx.MXNetError, match="op_type='nothing' is not registered"):
        nd.Custom(nd.ones((1,)), op_type="nothing")


class Masked(mx.operator.CustomOp):
    """Keeps what is above ``k``; backward reads what forward kept in the operator."""

    def __init__(self, k: float):
        self.k = k

    def forward(self, is_train, req, in_data, out_data, aux):
        self.mask = in_data[0] > self.k
        self.assign(out_data[0], req[0], in_data[0] * self.mask)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.mask)


created: list = []


@mx.operator.register("test_masked")
class MaskedProp(mx.operator.CustomOpProp):
    def __init__(self, k):
        super().__init__()
        self.k = float(k)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        created.append((ctx, in_shapes, in_dtypes))
        return Masked(self.k)


@pytest.mark.parametrize("read", [False, True])
def test_each_call_creates_its_own_operator(read: bool) -> None:
    a, b = nd.array([1, 2, 3]), nd.array([3, 0, 5])
    a.attach_grad()
    b.attach_grad()
    created.clear()
    with autograd.record():
        first = nd.Custom(a, op_type="test_masked", k=1)
        second = nd.Custom(b, op_type="test_masked", k=1)
        if read:
            first.asnumpy(), second.asnumpy()
        z = first * 2 + second * 3
    z.backward()
    assert a.grad.asnumpy().tolist() == [0, 2, 2]
    assert b.grad.asnumpy().tolist() == [3, 0, 3]
    assert created == [(mx.cpu(0), [[3]], [0])] * 2


class Counting(mx.operator.CustomOp):
    """Adds a state and counts its calls in it, and in the operator."""

    calls = 0

    def forward(self, is_train, req, in_data, out_data, aux):
        self.calls += 1
        self.assign(out_data[0], req[0], in_data[0] + aux[0])
        self.assign(out_data[1], req[1], in_data[0] * self.calls)
        if is_train:
            aux[0][:] = aux[0] + 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] + out_grad[1] * aux[0])


@mx.operator.register("test_counting")
class CountingProp(mx.operator.CustomOpProp):
    def list_outputs(self):
        return ["sum", "product"]

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0], in_shape[0]], [in_shape[0]]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Counting()


def test_states_and_an_operator_that_lives_with_its_executor() -> None:
    symbol = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_counting", name="c")
    assert symbol.list_arguments() == ["x"]
    assert symbol.list_outputs() == ["c_sum", "c_product"]
    assert symbol.list_auxiliary_states() == ["c_count"]
    assert symbol.infer_shape(x=(2,)) == ([(2,)], [(2,), (2,)], [(2,)])
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    executor.arg_dict["x"][:] = [1, 2]
    executor.aux_dict["c_count"][:] = 0
    for step in (1, 2):
        added, times = executor.forward(is_train=True)
        assert added.asnumpy().tolist() == [step, step + 1]
        assert times.asnumpy().tolist() == [step, 2 * step]
        assert executor.aux_dict["c_count"].asnumpy().tolist() == [step] * 2
        executor.backward([nd.ones((2,)), nd.ones((2,))])
        assert executor.grad_dict["x"].asnumpy().tolist() == [1 + step] * 2


def test_every_executor_has_its_own_operators() -> None:
    symbol = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_counting", name="c")
    first, second = (symbol.simple_bind(mx.cpu(), x=(2,)) for _ in range(2))
    for executor in (first, second):
        executor.arg_dict["x"][:] = 1
    calls = [
        executor.forward(is_train=train)[1].asnumpy()[0]
        for executor, train in ((first, True), (first, False), (second, True), (first, True))
    ]
    assert calls == [1, 2, 1, 3]


def test_a_custom_operator_may_be_registered_again() -> None:
    def register(factor: float) -> None:
        class Times(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * factor)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                self.assign(in_grad[0], req[0], out_grad[0] * factor)

        @mx.operator.register("test_times")
        class TimesProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Times()

    x = nd.ones((2,))
    x.attach_grad()
    for factor in (2, 3):
        register(factor)
        symbol = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_times")
        for _ in range(3):  # the later runs take a compiled program
            with mx.autograd.record():
                y = nd.Custom(x, op_type="test_times") + 1
            y.backward()
            assert y.asnumpy()[0] == factor + 1 and x.grad.asnumpy()[0] == factor
            for each in (symbol, mx.sym.load_json(symbol.tojson())):
                assert each.eval(x=x)[0].asnumpy()[0] == factor


def test_a_custom_operator_writes_states() -> None:
    x, count = nd.array([1.0, 2.0]), nd.zeros((2,))
    x.attach_grad()
    for step in (1, 2):
        with autograd.record():
            added, times = nd.Custom(x, count, op_type="test_counting")
        added.backward()
        assert count.asnumpy().tolist() == [step] * 2
        assert x.grad.asnumpy().tolist() == [1, 1]
        assert times.asnumpy().tolist() == [1, 2]  # a call is an operator
    with pytest.raises(ValueError, match="takes data, count"):
        nd.Custom(x, op_type="test_counting")


def test_shapes_of_missing_arguments_are_inferred() -> None:
    class Prop(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    mx.operator.register("test_labelled")(Prop)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.Custom(net, name="loss", op_type="test_labelled")
    shapes, _, _ = net.infer_shape(data=(4, 5))
    assert dict(zip(net.list_arguments(), shapes, strict=True)) == {
        "data": (4, 5), "fc_weight": (3, 5), "fc_bias": (3,), "loss_label": (4,),
    }  # fmt: skip


class Refuses(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        raise ValueError("no negative numbers")


@mx.operator.register("test_refuses")
class RefusesProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Refuses()


@pytest.mark.parametrize("read", ["asnumpy", "wait_to_read", "asscalar", "__repr__", "__float__"])
def test_results_that_depend_on_a_failure_raise_it(read: str, capfd: pytest.CaptureFixture) -> None:
    total = (nd.Custom(nd.ones(3) - 5, op_type="test_refuses") * 2).sum()
    for _ in range(2):  # nothing has run before the first
        with pytest.raises(mx.MXNetError, match="'test_refuses' raised ValueError: no negative"):
            getattr(total, read)()
    assert "pure_callback" not in capfd.readouterr().err, "it is reported once, to the reader"


def test_the_naive_engine_raises_at_the_line() -> None:
    x = nd.ones(3)
    with mx.engine.using("NaiveEngine"), pytest.raises(mx.MXNetError, match="no negative"):
        nd.Custom(x - 5, op_type="test_refuses")


class RefusesLate(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        time.sleep(0.02)  # by then the program has been started, and its caller goes on
        raise ValueError("no negative numbers, ever")


@mx.operator.register("test_refuses_late")
class RefusesLateProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return RefusesLate()


@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEnginePerDevice"])
def test_a_late_failure_is_reported_like_an_early_one(kind: str) -> None:
    with mx.engine.using(kind):
        for _ in range(15):
            with pytest.raises(mx.MXNetError, match="'test_refuses_late' raised ValueError"):
                (nd.Custom(nd.ones(3) - 5, op_type="test_refuses_late") * 2).asnumpy()


def test_a_reported_failure_is_not_reported_again_at_exit() -> None:
    program = """
import mixnet as mx

class Refuses(mx.operator.CustomOp):
    def forward(self, *arguments):
        raise ValueError("no negative numbers")

@mx.operator.register("refuses")
class RefusesProp(mx.operator.CustomOpProp):
    def create_operator(self, *arguments):
        return Refuses()

with mx.engine.using("NaiveEngine"):
    try:
        mx.nd.Custom(mx.nd.ones(3), op_type="refuses")
    except mx.MXNetError as error:
        print(error)
"""
    process = processes.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=240
    )
    assert process.stdout == "Custom: 'refuses' raised ValueError: no negative numbers\n"
    assert process.stderr == ""


class Counted(mx.operator.CustomOp):
    """Counts how many calls are in it at once, and what it loses if there are two."""

    inside = most = 0

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def _work(self) -> None:
        Counted.inside += 1
        Counted.most = max(Counted.most, Counted.inside)
        calls = self.calls
        time.sleep(0.002)
        self.calls = calls + 1
        Counted.inside -= 1

    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self._work()
        self.assign(out_data[0], req[0], in_data[0] * 2 + self.calls * 0)

    def backward(
        self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
    ) -> None:
        self._work()
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


counted: list[Counted] = []


@mx.operator.register("counted_by_threads")
class CountedProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Counted:
        counted.append(Counted())
        return counted[-1]


def test_an_operator_of_one_executor_is_called_by_one_thread_at_a_time() -> None:
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="counted_by_threads", name="counted")
    bound = symbol.bind(mx.cpu(), {"x": nd.ones((2, 3))}, {"x": nd.zeros((2, 3))})
    bound.forward(is_train=True)[0].wait_to_read()
    counted.clear()
    Counted.most = 0

    def work(number: int) -> None:
        for _ in range(6):
            out = bound.forward(is_train=True)[0]
            bound.backward(nd.ones((2, 3)))
            np.testing.assert_array_equal(out.asnumpy(), np.full((2, 3), 2))

    in_threads(4, work)
    nd.waitall()
    assert Counted.most == 1
    assert not counted  # it was one object


def test_operators_of_a_block_and_of_different_blocks() -> None:
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.Custom(x, op_type="counted_by_threads") + 1

    one, others = Net(), [Net() for _ in range(4)]
    for net in (one, *others):
        net.hybridize()
        net(nd.ones((2, 3))).wait_to_read()
    Counted.most = 0

    def work(number: int) -> None:
        for i in range(6):
            out = one(nd.full((2, 3), number + i))
            np.testing.assert_array_equal(out.asnumpy(), np.full((2, 3), 2 * (number + i) + 1))

    in_threads(4, work)
    assert Counted.most == 1
    before = [each.calls for each in counted]
    assert sum(before) >= 24  # no count was lost

    def call_own(number: int) -> None:
        for _ in range(3):
            others[number](nd.ones((2, 3))).wait_to_read()

    in_threads(4, call_own)
    assert sum(each.calls for each in counted) == sum(before) + 12


def test_an_operator_that_waits_for_its_own_executor_is_an_error() -> None:
    class Waiting(mx.operator.CustomOp):
        again = True

        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            if Waiting.again:
                Waiting.again = False
                bound.forward()[0].asnumpy()
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("waiting_for_itself")
    class WaitingProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Waiting:
            return Waiting()

    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="waiting_for_itself")
    bound = symbol.bind(mx.cpu(), {"x": nd.ones((2, 3))})
    with pytest.raises(mx.MXNetError, match="waits for work that can only run after it"):
        bound.forward()[0].asnumpy()
    np.testing.assert_array_equal(bound.forward()[0].asnumpy(), np.ones((2, 3)))


class _Products(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[1])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[1])
        self.assign(in_grad[1], req[1], out_grad[0] * 1.5)


@mx.operator.register("products_of_integers")
class _ProductsProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data", "factor"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return _Products()


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_gradients_of_integers_are_what_backward_writes(dtype: str) -> None:
    data, factor = nd.array([1, 2, 3], dtype=dtype), nd.array([2, 3, 4], dtype=dtype)
    data.attach_grad()
    factor.attach_grad()
    with mx.autograd.record():
        result = nd.Custom(data, factor, op_type="products_of_integers")
    result.backward()
    assert result.asnumpy().tolist() == [2, 6, 12]
    assert data.grad.asnumpy().tolist() == [2, 3, 4]
    assert factor.grad.asnumpy().tolist() == [1, 1, 1]  # MXNet 1.9.1: 1.5 is cast to the dtype


def test_binding_creates_the_operator() -> None:
    """As MXNet 1.9.1 does: once for a bound node, again where it is bound with other shapes."""
    created: list[Any] = []

    class Doubling(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("created_when_bound")
    class DoublingProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            created.append((str(ctx), in_shapes, in_dtypes))
            if in_shapes[0] == [3]:
                raise OSError("no space")
            return Doubling()

    double = mx.sym.Custom(mx.sym.Variable("x"), op_type="created_when_bound")
    executor = double.simple_bind(mx.cpu(), x=(2,))
    assert created == [("cpu(0)", [[2]], [0])]
    for is_train in (False, True):
        executor.forward(is_train=is_train, x=mx.nd.ones(2))
        assert executor.outputs[0].asnumpy().tolist() == [2, 2]
    assert len(created) == 1
    executor.reshape(x=(1,))
    assert created[1:] == [("cpu(0)", [[1]], [0])]
    with pytest.raises(mx.MXNetError, match="raised OSError: no space"):
        double.simple_bind(mx.cpu(), x=(3,))


def test_states_are_among_what_an_operator_is_created_for() -> None:
    """What MXNet 1.9.1 gives ``create_operator``, and the attributes of the variables it makes."""
    created: list[Any] = []

    class Counting(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            aux[0][:] = aux[0] + 1
            self.assign(out_data[0], req[0], in_data[0] + in_data[1])

    @mx.operator.register("created_with_states")
    class CountingProp(mx.operator.CustomOpProp):
        def __init__(self, step="1"):
            super().__init__()

        def list_arguments(self):
            return ["left", "right"]

        def list_auxiliary_states(self):
            return ["count"]

        def infer_shape(self, in_shape):
            return [in_shape[0]] * 2, [in_shape[0]], [(1,)]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            created.append((in_shapes, in_dtypes))
            return Counting()

    total = mx.sym.Custom(mx.sym.Variable("x"), op_type="created_with_states", step=3, name="sum")
    attributes = {"op_type": "created_with_states", "step": "3"}
    assert total.attr_dict() == dict.fromkeys(("sum_right", "sum_count", "sum"), attributes)
    executor = total.simple_bind(mx.cpu(), x=(2, 3))
    executor.forward()
    nd.Custom(nd.ones(2), nd.ones(2), nd.zeros(1), op_type="created_with_states").wait_to_read()
    assert created == [([[2, 3], [2, 3], [1]], [0, 0, 0]), ([[2], [2], [1]], [0, 0, 0])]


def test_errors_of_shape_inference_are_reported() -> None:
    @mx.operator.register("shapes_that_raise")
    class RaisingProp(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            raise ValueError("only squares")

    with pytest.raises(mx.MXNetError, match=r"RaisingProp.infer_shape raised ValueError: only sq"):
        nd.Custom(nd.ones(2), op_type="shapes_that_raise")
    with pytest.raises(mx.MXNetError, match="op_type='' is not registered"):
        mx.sym.Custom(mx.sym.Variable("x"))


def test_numbers_are_cast_on_any_thread_without_a_warning() -> None:
    """XLA calls Python on threads whose smallest numbers are zero; NumPy warns there."""
    program = """
import mixnet as mx

class Halving(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 1.5)

@mx.operator.register("halving")
class HalvingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Halving()

print(mx.nd.Custom(mx.nd.array([1, 2], dtype="int32"), op_type="halving").asnumpy().tolist())
"""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert (run.stdout, run.returncode) == ("[1, 2]\n", 0), run.stderr


class _Counts(mx.operator.CustomOp):
    """Adds 1 to its state in forward and 10 in backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)
        aux[0][:] = aux[0] + 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)
        aux[0][:] = aux[0] + 10


@mx.operator.register("counts_both_ways")
class _CountsProp(mx.operator.CustomOpProp):
    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, in_shape, [(1,)]

    def create_operator(self, ctx, shapes, dtypes):
        return _Counts()


def test_backward_writes_states() -> None:
    """The numbers are MXNet 1.9.1's."""
    x, count = mx.nd.array([1, 2]), mx.nd.zeros(1)
    x.attach_grad()

    def call(times: int) -> mx.nd.NDArray:
        y = x
        with mx.autograd.record():
            for _ in range(times):
                y = mx.nd.Custom(y, count, op_type="counts_both_ways")
        return y

    call(1).backward()
    assert (count.asscalar(), x.grad.asnumpy().tolist()) == (11, [2, 2])
    call(2).backward()
    assert (count.asscalar(), x.grad.asnumpy().tolist()) == (33, [4, 4])
    y = call(1)
    y.backward(retain_graph=True)
    assert count.asscalar() == 44
    y.backward()
    assert count.asscalar() == 54
    mx.autograd.grad(call(1), [x])
    assert count.asscalar() == 65


def test_backward_of_an_executor_writes_states() -> None:
    """The numbers are MXNet 1.9.1's."""
    symbol = mx.sym.Custom(mx.sym.Variable("x"), op_type="counts_both_ways", name="c")
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    counts = []
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(2))
        counts.append(executor.aux_dict["c_count"].asscalar())
    executor.forward(is_train=False)
    assert [*counts, executor.aux_dict["c_count"].asscalar()] == [11, 22, 23]


@pytest.mark.parametrize("hybridized", [False, True])
def test_backward_of_a_block_writes_states(hybridized: bool) -> None:
    """Two operators share a state; the numbers are MXNet 1.9.1's."""

    class Net(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.count = self.params.get("count", shape=(1,), init="zeros", grad_req="null")

        def hybrid_forward(self, F, x, count):
            y = F.Custom(x, count, op_type="counts_both_ways") + 1
            return F.Custom(y, count, op_type="counts_both_ways")

    net = Net()
    net.initialize()
    if hybridized:
        net.hybridize()
    x = mx.nd.array([1, 2])
    x.attach_grad()
    for expected in (22, 44):
        with mx.autograd.record():
            y = net(x)
        y.backward()
        assert net.count.data().asscalar() == expected
        assert x.grad.asnumpy().tolist() == [4, 4]


def test_an_operator_without_arguments() -> None:
    class Four(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], mx.nd.arange(4))

    @mx.operator.register("four")
    class FourProp(mx.operator.CustomOpProp):
        def list_arguments(self):
            return []

        def infer_shape(self, in_shape):
            return in_shape, [(4,)], []

        def infer_type(self, in_type):
            return in_type, [np.float32], []

        def create_operator(self, ctx, shapes, dtypes):
            return Four()

    assert mx.nd.Custom(op_type="four").asnumpy().tolist() == [0, 1, 2, 3]
    product = mx.sym.Custom(op_type="four") * mx.sym.Variable("x")
    executor = product.simple_bind(mx.cpu(), x=(4,))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(4))
    assert executor.grad_dict["x"].asnumpy().tolist() == [0, 1, 2, 3]


class Noise(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.random.uniform(shape=(2,)))


@mx.operator.register("test_noise")
class NoiseProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Noise()


def test_custom_operators_draw_from_their_own_generators() -> None:
    for _ in range(2):  # MXNet 1.9.1 drew these numbers, the first time
        mx.random.seed(4)
        first, second = (nd.Custom(nd.zeros(2), op_type="test_noise").asnumpy() for _ in range(2))
        np.testing.assert_allclose(first, [0.54881352, 0.59284461], rtol=1e-6)
        np.testing.assert_allclose(second, [0.71518934, 0.84426576], rtol=1e-6)
        drawn = nd.random.uniform(shape=(2,)).asnumpy()
        np.testing.assert_allclose(drawn, [0.32544485, 0.40147772], rtol=1e-6)


def test_threads_that_need_a_new_operator_at_the_same_time_share_its_runner() -> None:
    # The runner has what forward leaves for backward: with two of them, gradients were those of other calls.
    runners: list[Any] = []

    def factory() -> Any:
        if len(runners) < 1:
            runners.append(None)
            in_threads(1, lambda _: runners.append(custom.runner_of("test_two_threads", ())))
        return object()

    custom.add_factory("test_two_threads", factory)
    runners.append(custom.runner_of("test_two_threads", ()))
    _, quicker, slower = runners
    assert slower is quicker


def test_errors_with_equal_texts_in_several_threads_are_not_logged() -> None:
    mine, other = ValueError("the same text"), ValueError("the same text")
    for error in (mine, other):
        with pytest.raises(ValueError, match="same"), custom.keep_errors("test"):
            raise error
    for _ in range(3):  # the third finds none left
        custom.explained(RuntimeError("XLA: ValueError: the same text"))
    for error in (mine, other):
        record = logging.LogRecord("jax", 40, "", 1, "", (), (ValueError, error, None))
        assert not custom._is_news(record)
    unknown = (ValueError, ValueError("of another library"), None)
    assert custom._is_news(logging.LogRecord("jax", 40, "", 1, "", (), unknown))


@pytest.mark.usefixtures("compiling_at_once")
def test_an_interrupt_in_a_compiled_program_is_an_interrupt() -> None:
    class Interrupted(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise KeyboardInterrupt

    @mx.operator.register("test_interrupted")
    class InterruptedProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Interrupted()

    with pytest.raises(KeyboardInterrupt):
        nd.Custom(nd.ones((2,)), op_type="test_interrupted").asnumpy()
    nd.waitall()
    assert nd.ones((2,)).asnumpy().tolist() == [1, 1]


class Widened(mx.operator.CustomOp):
    """The input times its width."""

    def __init__(self, width: int):
        self.width = width

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * self.width)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.width)


@mx.operator.register("test_widened")
class WidenedProp(mx.operator.CustomOpProp):
    """Keeps what ``infer_shape`` found for ``create_operator``."""

    inferred: ClassVar[list[Any]] = []

    def infer_shape(self, in_shape):
        self.inferred.append(in_shape[0])
        self.width = in_shape[0][1]
        return in_shape, in_shape, []

    def infer_type(self, in_type):
        self.inferred.append(np.dtype(in_type[0]).name)
        return in_type, in_type, []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Widened(self.width)


def test_operators_of_two_shapes_are_created_from_their_own_infer_shape() -> None:
    names = {"a": (1, 2), "b": (1, 3)}
    both = mx.sym.Group([mx.sym.Custom(mx.sym.var(each), op_type="test_widened") for each in names])
    executor = both.simple_bind(mx.cpu(), **names)
    executor.forward(True, **{name: nd.ones(shape) for name, shape in names.items()})
    # MXNet's numbers: each node has the width of its own input.
    assert [each.asnumpy().tolist() for each in executor.outputs] == [[[2, 2]], [[3, 3, 3]]]
    executor.backward([nd.ones(shape) for shape in names.values()])
    assert executor.grad_dict["a"].asnumpy().tolist() == [[2, 2]]
    assert executor.grad_dict["b"].asnumpy().tolist() == [[3, 3, 3]]


def test_shapes_and_types_are_inferred_once_per_call() -> None:
    for shape in ((4, 2), (4, 5), (4, 2)):
        WidenedProp.inferred.clear()
        x = nd.ones(shape)
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x, op_type="test_widened")
        y.backward()
        assert x.grad.asnumpy().tolist() == [[shape[1]] * shape[1]] * 4
        # MXNet infers each once.
        assert WidenedProp.inferred.count(list(shape)) == 1
        assert WidenedProp.inferred.count("float32") <= 1


class Dividing(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        numbers = np.ones(2, np.float32) / np.zeros(2, np.float32)
        self.assign(out_data[0], req[0], nd.array(numbers))


@mx.operator.register("test_dividing")
class DividingProp(mx.operator.CustomOpProp):
    def list_arguments(self) -> list[str]:
        return []

    def infer_shape(self, in_shape: Any) -> Any:
        return [], [[2]], []

    def infer_type(self, in_type: Any) -> Any:
        return [], [np.float32], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Dividing()


def test_operators_run_without_a_compiler_and_with_numpys_warnings() -> None:
    before = mx.runtime.counters()["programs_compiled"]
    for _ in range(2):  # its result depends on nothing, but the operator runs each time
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            y = (nd.Custom(op_type="test_dividing") + 1).asnumpy()
        assert np.isposinf(y).all()
    assert mx.runtime.counters()["programs_compiled"] == before
