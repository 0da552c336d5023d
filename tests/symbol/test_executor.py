"""Executors: other shapes in the same memory, backward, storage types. Numbers are MXNet 1.9.1's."""

import threading
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd, sym
from mixnet.base import MXNetError
from mixnet.symbol.executor import Executor
from tests.each_record import each_record
from tests.threads import in_threads


def dense(x_shape, req="null"):
    executor = sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc").simple_bind(
        mx.cpu(), grad_req=req, x=x_shape
    )
    executor.arg_dict["x"][:] = 1
    executor.arg_dict["fc_weight"][:] = 2
    return executor


def test_a_smaller_shape_is_the_first_part_of_the_same_memory() -> None:
    large = dense((4, 3), "write")
    small = large.reshape(x=(2, 3))
    assert small.forward(is_train=True)[0].asnumpy().tolist() == [[6.0, 6.0]] * 2
    small.arg_dict["x"][:] = 7
    assert large.arg_dict["x"].asnumpy()[:, 0].tolist() == [7.0, 7.0, 1.0, 1.0]
    small.backward([nd.ones((2, 2))])
    assert large.grad_dict["x"].asnumpy().tolist() == [[4.0] * 3] * 2 + [[0.0] * 3] * 2
    assert large.grad_dict["fc_weight"].asnumpy().tolist() == [[14.0] * 3] * 2  # of the new x
    smallest = small.reshape(x=(1, 3))
    smallest.arg_dict["x"][:] = 5
    assert large.arg_dict["x"].asnumpy()[:, 0].tolist() == [5.0, 7.0, 1.0, 1.0]


def test_arrays_of_the_same_shape_are_other_objects_for_the_same_memory() -> None:
    executor = sym.BatchNorm(sym.var("x"), name="bn").simple_bind(mx.cpu(), x=(4, 3))
    again = executor.reshape(x=(4, 3))
    for before, after in (
        (executor.arg_dict["x"], again.arg_dict["x"]),
        (executor.grad_dict["bn_gamma"], again.grad_dict["bn_gamma"]),
        (executor.aux_dict["bn_moving_mean"], again.aux_dict["bn_moving_mean"]),
    ):
        after[:] = 5
        assert before is not after
        assert (before.asnumpy() == 5).all()


def test_reshape_grows_arrays_on_request_in_new_memory() -> None:
    executor = dense((2, 3))
    with pytest.raises(mx.MXNetError, match="x would grow from"):
        executor.reshape(x=(5, 3))
    with pytest.raises(mx.MXNetError, match="fc_weight would grow"):
        executor.reshape(partial_shaping=True, x=(1, 6))
    larger = executor.reshape(allow_up_sizing=True, x=(5, 3))
    larger.arg_dict["x"][:] = 9
    assert executor.arg_dict["x"].asnumpy().tolist() == [[1.0] * 3] * 2
    assert larger.arg_dict["fc_weight"].asnumpy().tolist() == [[2.0] * 3] * 2


def test_backward_after_inference_and_with_gradients_to_spare() -> None:
    x, gradient = sym.var("x"), nd.zeros((2,))
    executor = (x * x).bind(mx.cpu(), {"x": nd.array([1.0, 2.0])}, args_grad={"x": gradient})
    executor.forward()
    executor.backward([nd.ones((2,))])
    assert gradient.asnumpy().tolist() == [2.0, 4.0]
    executor.forward(is_train=True)
    executor.backward([nd.ones((2,)) * 3, nd.ones((5,))])
    assert gradient.asnumpy().tolist() == [6.0, 12.0]


def test_the_symbol_that_is_bound_has_each_expression_once(monkeypatch) -> None:
    a, b = sym.var("a"), sym.var("b")
    twice = (a + b) + (a + b)
    counts = []
    for value in ("0", "1"):
        monkeypatch.setenv("MXNET_ELIMINATE_COMMON_EXPR", value)
        bound = twice.simple_bind(mx.cpu(), a=(2,), b=(2,)).get_optimized_symbol()
        counts.append(len(bound.get_internals()))
    assert counts[0] - counts[1] == 1


X, Y = sym.var("x"), sym.var("y")
# symbol, storage types of x and y, of the output, of the gradients of x and y
STORAGE = [
    (sym.abs(X), ("csr",), "csr", ("csr",)),
    (sym.sqrt(X), ("csr",), "csr", ("default",)),
    (sym.exp(X), ("row_sparse",), "default", ("default",)),
    (sym.exp(sym.abs(X)), ("csr",), "default", ("default",)),
    (X + X, ("row_sparse",), "row_sparse", ("row_sparse",)),
    (X + X, ("csr",), "csr", ("default",)),
    (X + 1, ("csr",), "default", ("default",)),
    (X > 1, ("row_sparse",), "row_sparse", ("row_sparse",)),
    (X >= 0, ("csr",), "default", ("csr",)),
    (sym.clip(X, -1, 1), ("row_sparse",), "row_sparse", ("default",)),
    (sym.cast_storage(X, stype="csr"), ("default",), "csr", ("csr",)),
    (sym.dot(X, Y), ("csr", "default"), "default", ("default", "row_sparse")),
    (sym.dot(X, Y, transpose_a=True), ("csr", "default"), "row_sparse", ("default", "default")),
    (sym.elemwise_mul(X, Y), ("default", "csr"), "csr", ("default", "default")),
    (sym.elemwise_sub(X, Y), ("csr", "csr"), "csr", ("csr", "csr")),
    (sym.broadcast_add(X, Y), ("csr", "csr"), "default", ("default", "default")),
    (
        sym.Embedding(X, Y, input_dim=2, output_dim=2, sparse_grad=True),
        ("default", "default"),
        "default",
        ("default", "row_sparse"),
    ),
]


@each_record(("symbol", "types", "output", "gradients"), STORAGE)
def test_storage_types_of_outputs_and_gradients(symbol, types, output, gradients) -> None:
    names = ("x", "y")[: len(types)]
    stypes = dict(zip(names, types, strict=True))
    shapes = dict.fromkeys(names, (2, 2))
    executor = symbol.simple_bind(mx.cpu(), stype_dict=stypes, **shapes)
    assert executor.outputs[0].stype == output
    assert tuple(executor.grad_dict[name].stype for name in names) == gradients


def test_a_sparse_output_has_what_the_dense_computation_gives() -> None:
    data = nd.array([[1, 0], [0, 2]])
    executor = sym.dot(X, Y, transpose_a=True).simple_bind(
        mx.cpu(), stype_dict={"x": "csr"}, grad_req={"x": "null", "y": "write"}, x=(2, 2), y=(2, 2)
    )
    executor.arg_dict["x"][:] = data
    executor.arg_dict["y"][:] = 3
    (out,) = executor.forward(is_train=True)
    assert out.stype == "row_sparse"
    np.testing.assert_array_equal(out.asnumpy(), [[3, 3], [6, 6]])
    executor.backward([nd.ones((2, 2))])
    np.testing.assert_array_equal(executor.grad_dict["y"].asnumpy(), [[1, 1], [2, 2]])


def test_the_gradient_of_a_row_sparse_argument_that_is_the_output() -> None:
    executor = sym.identity(X).simple_bind(mx.cpu(), stype_dict={"x": "row_sparse"}, x=(2, 2))
    executor.forward(is_train=True)
    executor.backward([nd.ones((2, 2))])
    assert executor.grad_dict["x"].asnumpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_outputs_are_on_the_device_of_their_group_before_forward_too() -> None:
    with mx.AttrScope(ctx_group="a"):
        first = mx.sym.Variable("x") * 2
    with mx.AttrScope(ctx_group="b"):
        second = first + 1
    heads = [first, second, mx.sym.BlockGrad(second)]  # the last one follows its input
    x = mx.nd.ones(2, ctx=mx.cpu(1))
    groups = {"a": mx.cpu(1), "b": mx.cpu(2)}
    executor = mx.sym.Group(heads).bind(mx.cpu(), {"x": x}, group2ctx=groups)
    assert [each.context for each in executor.outputs] == [mx.cpu(1), mx.cpu(2), mx.cpu(2)]
    assert [each.context for each in executor.forward()] == [mx.cpu(1), mx.cpu(2), mx.cpu(2)]


def test_gradients_of_outputs_without_one_may_be_left_out() -> None:
    a = mx.sym.Variable("a")
    executor = mx.sym.Group([a + 1, mx.sym.sum(a * a), mx.sym.BlockGrad(a)]).simple_bind(a=(2,))
    executor.arg_dict["a"][:] = 3
    executor.forward(is_train=True)
    monitor = mx.mon.Monitor(1, monitor_all=True)
    monitor.install(executor)
    monitor.tic()
    executor.backward([mx.nd.ones((2,)), mx.nd.ones((1,))])
    assert executor.grad_dict["a"].asnumpy().tolist() == [7, 7]
    assert monitor.toc()
    by_name = dict.fromkeys(executor.output_dict, mx.nd.ones((2,)))
    executor.backward(by_name | {executor._symbol.list_outputs()[1]: mx.nd.zeros((1,))})
    assert executor.grad_dict["a"].asnumpy().tolist() == [1, 1]
    with pytest.raises(mx.MXNetError, match=r"output 1, .*is not a loss"):
        executor.backward([mx.nd.ones((2,))])
    del by_name[executor._symbol.list_outputs()[1]]
    with pytest.raises(KeyError, match=r"has no gradient of sum\d+_output"):
        executor.backward(by_name)


@pytest.mark.parametrize("out_grads", [np.ones(2), [np.ones(2)], 3])
def test_gradients_of_outputs_are_arrays(out_grads: object) -> None:
    executor = (mx.sym.Variable("a") * 2).simple_bind(a=(2,))
    executor.forward(is_train=True)
    with pytest.raises(TypeError, match="must be arrays"):
        executor.backward(out_grads)


def test_a_shared_buffer_is_a_dict() -> None:
    with pytest.raises(ValueError, match="shared_buffer must be a dict"):
        mx.sym.Variable("a").simple_bind(a=(2,), shared_buffer=3)


def test_backward_needs_a_gradient_for_what_is_not_a_loss() -> None:
    x = mx.sym.Variable("x")
    executor = (x * 2).bind(mx.cpu(), {"x": mx.nd.ones(2)}, {"x": mx.nd.zeros(2)})
    executor.forward(is_train=True)
    with pytest.raises(
        mx.MXNetError, match=r"output 0, of '_mulscalar\d+' .*is not a loss.*out_grads.*make_loss"
    ):
        executor.backward()
    executor.backward(mx.nd.array([1, 10]))
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), [2, 20])
    for loss in (mx.sym.make_loss(x), mx.sym.MakeLoss(x), mx.sym.BlockGrad(x), x > 0):
        executor = loss.bind(mx.cpu(), {"x": mx.nd.ones(2)}, {"x": mx.nd.zeros(2)})
        executor.forward(is_train=True)
        executor.backward()


def test_arrays_that_replace_those_of_a_dict_are_not_read() -> None:
    executor = (sym.var("x") * 2).bind(mx.cpu(), {"x": nd.ones(2)}, {"x": nd.zeros(2)})
    executor.arg_dict["x"] = np.full((2,), 5.0)
    executor.grad_dict["x"] = nd.full((2,), 3)
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [2, 2]
    executor.backward([nd.ones(2)])
    assert executor.grad_arrays[0].asnumpy().tolist() == [2, 2]
    assert executor.grad_dict["x"].asnumpy().tolist() == [3, 3]
    assert executor.arg_arrays[0].asnumpy().tolist() == [1, 1]


def test_an_unknown_request_is_an_error_of_every_class_that_mxnet_has() -> None:
    symbol = mx.sym.Variable("x") * 2
    x = mx.nd.ones(2)
    for request in ("foo", ["foo"], {"x": "foo"}):
        # bind of one, bind of several, simple_bind
        for error in (KeyError, ValueError, RuntimeError):
            with pytest.raises(error, match=r"'foo'.*'write'"):
                symbol.bind(mx.cpu(), {"x": x}, {"x": x}, grad_req=request)
            with pytest.raises(error, match=r"'foo'.*'write'"):
                symbol.simple_bind(mx.cpu(), grad_req=request, x=(2,))
    with pytest.raises(MXNetError, match=r"grad_req=3.*a list"):
        symbol.bind(mx.cpu(), {"x": x}, grad_req=3)


@pytest.mark.parametrize("request_of", ["add", ["null", "write"], {"x": "add"}])
def test_an_executor_knows_its_requests_as_they_were_written(request_of: Any) -> None:
    x, y = mx.nd.ones(2), mx.nd.ones(2)
    product = mx.sym.var("x") * mx.sym.var("y")
    executor = product.bind(mx.cpu(), [x, y], [x.copy(), y.copy()], grad_req=request_of)
    assert executor._grad_req == request_of
    assert product.simple_bind(mx.cpu(), x=(2,), y=(2,))._grad_req == "write"


def test_outputs_are_also_read_by_the_private_name_that_programs_call() -> None:
    executor = (mx.sym.var("x") * 3).bind(mx.cpu(), {"x": mx.nd.ones(2)})
    executor.forward()
    (output,) = executor._get_outputs()
    assert output.asnumpy().tolist() == [3, 3]


def test_backward_reads_a_label_that_was_computed_from_the_outputs() -> None:
    label = mx.sym.Variable("label")
    executor = mx.sym.LinearRegressionOutput(mx.sym.Variable("data"), label).simple_bind(
        mx.cpu(), data=(2,)
    )
    executor.arg_dict["data"][:] = 5
    for offset in (1, 2):
        (output,) = executor.forward(is_train=True)
        executor.arg_dict["label"][:] = output + offset
        executor.backward()
        assert executor.grad_dict["data"].asnumpy().tolist() == [-offset, -offset]
    executor.arg_dict["label"][:] = 0
    executor.backward()
    assert executor.grad_dict["data"].asnumpy().tolist() == [5, 5]


def test_backward_reads_weights_and_views_as_they_are_now() -> None:
    # MXNet 1.9.1 multiplies the results of forward by the weights that backward finds.
    data, weight = mx.nd.array([[1, 2]]), mx.nd.array([[3, 4], [5, 6]])
    symbol = mx.sym.FullyConnected(
        mx.sym.var("data"), mx.sym.var("weight"), no_bias=True, num_hidden=1
    )
    gradients = [mx.nd.zeros((1, 2)), mx.nd.zeros((1, 2))]
    executor = mx.sym.MakeLoss(mx.sym.square(symbol)).bind(mx.cpu(), [data, weight[1:2]], gradients)
    executor.forward(is_train=True)  # 17
    weight[1] = [7, 8]
    executor.backward()
    assert gradients[0].asnumpy().tolist() == [[34 * 7, 34 * 8]]
    assert gradients[1].asnumpy().tolist() == [[34, 68]]


def test_executors_of_two_threads_that_share_an_argument_have_their_own_gradients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weight = nd.ones((2,))
    gradients = [nd.zeros((2,)) for _ in range(2)]
    loss = sym.MakeLoss(sym.var("x") * sym.var("w"))
    executors = [
        loss.bind(mx.cpu(), {"x": nd.full((2,), 3 + i), "w": weight}, args_grad={"w": gradients[i]})
        for i in range(2)
    ]
    both_have_read, first_has_run, run = threading.Barrier(2), threading.Event(), Executor._run

    def run_in_order(self: Executor, *arguments: Any) -> Any:
        number = both_have_read.wait(60)  # 0 for the thread that came first
        if number:
            first_has_run.wait(60)
        outputs = run(self, *arguments)
        first_has_run.set()
        return outputs

    monkeypatch.setattr(Executor, "_run", run_in_order)

    def train(number: int) -> None:
        executors[number].forward(is_train=True)
        executors[number].backward()

    in_threads(2, train)
    assert [each.asnumpy().tolist() for each in gradients] == [[3.0, 3.0], [4.0, 4.0]]


def test_a_forward_that_fails_leaves_its_arguments_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weight, gradient = nd.ones((2,)), nd.zeros((2,))
    executor = sym.MakeLoss(sym.var("w") * 2).bind(mx.cpu(), {"w": weight}, {"w": gradient})

    def fail(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Executor, "_run", fail)
    with pytest.raises(KeyboardInterrupt):
        executor.forward(is_train=True)
    with mx.autograd.record():
        result = weight * 3
    with pytest.raises(MXNetError, match="it was not computed from a variable"):
        result.backward()
