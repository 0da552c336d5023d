"""Custom operators whose shapes depend on values do what ``boolean_mask`` does, with its gradients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd, npx, sym


class Positive(mx.operator.CustomOp):
    def forward(self, is_train: int, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], x[x > 0])

    def backward(
        self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
    ) -> None:
        x = in_data[0].asnumpy()
        gradient = np.zeros_like(x)
        gradient[x > 0] = out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], gradient)


@mx.operator.register("positive_elements")
class PositiveProp(mx.operator.CustomOpProp):
    has_open_shapes = True

    def infer_shape(self, in_shape: Any) -> Any:
        return in_shape, [(-1,)], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
        return Positive()


VALUES = ([1, -2, 3, 4], [-1, 2, -3, -4], [1, 2, 3, 4])


def positive(F: Any, x: Any) -> Any:
    return F.Custom(x, op_type="positive_elements")


def masked(F: Any, x: Any) -> Any:
    return F.contrib.boolean_mask(x, x > 0)


def gradients(function: Callable[[Any], Any]) -> list[list[list[float]]]:
    """Results and gradients of the sum of squares for all values."""
    results = []
    for values in VALUES:
        x = nd.array(values)
        x.attach_grad()
        with autograd.record():
            y = function(x * 2)
            total = (y * y).sum()
        total.backward()
        results.append([y.asnumpy().tolist(), x.grad.asnumpy().tolist()])
    return results


@pytest.mark.parametrize("hybrid", [False, True])
def test_arrays_and_blocks_agree_with_boolean_mask(hybrid: bool) -> None:
    class Chosen(gluon.HybridBlock):
        def __init__(self, choose: Callable[[Any, Any], Any]):
            super().__init__()
            self.choose = choose

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.choose(F, F.relu(x)) * 3

    nets = Chosen(positive), Chosen(masked)
    for net in nets:
        net.hybridize(hybrid)
    results = gradients(nets[0])
    assert results == gradients(nets[1])
    assert results[0] == [[6, 18, 24], [72, 0, 216, 288]]


def test_symbols_agree_with_boolean_mask() -> None:
    x = sym.var("x")
    chosen = positive(sym, x * 2)
    with pytest.warns(UserWarning, match="cannot be inferred"):
        assert chosen.infer_shape(x=(4,)) == (None, None, None)
    gradient = nd.zeros((4,))
    executor = sym.make_loss((chosen * chosen).sum()).bind(
        mx.cpu(), {"x": nd.zeros((4,))}, {"x": gradient}
    )
    for values, expected in zip(VALUES, gradients(lambda x: positive(nd, x)), strict=True):
        executor.forward(is_train=True, x=nd.array(values))
        executor.backward()
        assert gradient.asnumpy().tolist() == expected[1]


def test_no_elements_and_arrays_of_numpy() -> None:
    assert positive(nd, nd.array([-1, -2])).shape == (0,)
    npx.set_np()
    try:
        chosen = positive(nd, mx.np.array([1, -2, 3], dtype="float64"))
        assert type(chosen) is mx.np.ndarray
        assert chosen.dtype == np.float64
        assert chosen.tolist() == [1, 3]
    finally:
        npx.reset_np()


def test_an_operator_without_arguments() -> None:
    class Counting(mx.operator.CustomOp):
        def forward(self, is_train: int, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], np.arange(3))

    @mx.operator.register("counts_to_three")
    class Prop(mx.operator.CustomOpProp):
        has_open_shapes = True

        def list_arguments(self) -> list[str]:
            return []

        def infer_shape(self, in_shape: Any) -> Any:
            return [], [(-1,)], []

        def infer_type(self, in_type: Any) -> Any:
            return [], ["float32"], []

        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
            return Counting()

    assert nd.Custom(op_type="counts_to_three").asnumpy().tolist() == [0, 1, 2]


def test_each_thread_gets_its_own_results() -> None:
    results = {}

    def run(count: int) -> None:
        results[count] = positive(nd, nd.arange(-count, count + 1)).asnumpy().tolist()

    threads = [threading.Thread(target=run, args=(count,)) for count in range(1, 9)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=60)
    assert results == {count: list(range(1, count + 1)) for count in range(1, 9)}


class Silent(Positive):
    def forward(self, *args: Any, **kwargs: Any) -> None:
        pass


class Wrong(Positive):
    def forward(self, is_train: int, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        out_data[0][:] = nd.ones((2, 2))


class Failing(Positive):
    def forward(self, *args: Any, **kwargs: Any) -> None:
        raise KeyError("missing")


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (Silent, r"'output' has the open shape \(-1,\).* self\.assign\(out_data"),
        (Wrong, r"assigns an array of shape \(2, 2\).* infer_shape gives \(-1,\)"),
        (Failing, "raised KeyError: 'missing'"),
    ],
)
@pytest.mark.parametrize("bound", [False, True])
def test_mistakes_in_forward_are_errors(
    operator: type[Positive], message: str, bound: bool
) -> None:
    class Prop(PositiveProp):
        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
            return operator()

    mx.operator.register("mistaken")(Prop)
    with pytest.raises(mx.MXNetError, match=message):
        if bound:
            executor = sym.Custom(sym.var("x"), op_type="mistaken").bind(
                mx.cpu(), {"x": nd.ones((2,))}
            )
            executor.forward()[0].asnumpy()
        else:
            nd.Custom(nd.ones((2,)), op_type="mistaken")


def test_unsupported_uses_are_refused() -> None:
    class Closed(PositiveProp):
        has_open_shapes = False

    class WithState(PositiveProp):
        def list_auxiliary_states(self) -> list[str]:
            return ["count"]

    mx.operator.register("closed_shapes")(Closed)
    with pytest.raises(mx.MXNetError, match=r"gives \(-1,\) .* has_open_shapes = True"):
        nd.Custom(nd.ones((2,)), op_type="closed_shapes")
    mx.operator.register("open_with_state")(WithState)
    with pytest.raises(mx.MXNetError, match="open shapes, and the auxiliary states count"):
        nd.Custom(nd.ones((2,)), nd.ones((1,)), op_type="open_with_state")
    outputs, _ = sym.contrib.foreach(
        lambda item, state: (positive(sym, item), state), sym.var("data"), sym.var("state")
    )
    with pytest.raises(mx.MXNetError, match="outside of its loops and branches"):
        outputs.bind(mx.cpu(), {"data": nd.ones((2, 3)), "state": nd.ones((1,))}).forward()
