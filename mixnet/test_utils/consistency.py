"""Checking that symbols and blocks give the same in other dtypes, on other devices, and hybridized."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mixnet import autograd
from mixnet.context import Context, current_context
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.symbol.executor import Executor
from mixnet.symbol.symbol import Symbol
from mixnet.test_utils.check_operator import _asnumpy
from mixnet.test_utils.compare import assert_almost_equal
from mixnet.test_utils.tolerance import get_tols
from mixnet.util import np_array, np_shape


def check_consistency(
    sym: Symbol,
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    arg_params: Mapping[str, Any] | None = None,
    aux_params: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, NDArray] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: object = np.float64,
) -> Mapping[str, NDArray]:
    """Raise unless a symbol gives the same numbers on several contexts and in several dtypes.

    Args:
        sym: a symbol, or one for each entry of ``ctx_list``.
        ctx_list: of each run ``ctx``, shapes by argument name and ``type_dict``, dtypes by name.
        scale: standard deviation of random arguments.
        grad_req: which gradients are compared too.
        arg_params: arguments by name; random by default.
        aux_params: auxiliary states by name; 0 by default.
        rtol: relative tolerance; a dict by dtype; by default that of the coarser dtype.
        atol: absolute tolerance, likewise.
        raise_on_err: whether a difference is an error; it is logged otherwise.
        ground_truth: outputs and gradients by name to compare with; by default those of the run with
            the finest dtype.
        equal_nan: whether NaN equals NaN.
        use_uniform: whether random arguments are uniform in ±0.92 ``scale`` rather than normal.
        rand_type: dtype in which they are drawn.

    Returns:
        What was compared with.

    Raises:
        AssertionError: a difference; fewer than two runs; symbols with other arguments or outputs.
    """
    assert len(ctx_list) > 1, "check_consistency takes at least two entries in ctx_list."
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    assert len(symbols) == len(ctx_list), f"{len(symbols)} symbols, {len(ctx_list)} contexts."
    arguments, output_names = symbols[0].list_arguments(), symbols[0].list_outputs()
    for each in symbols[1:]:
        assert each.list_arguments() == arguments, (
            f"{each.list_arguments()} and {arguments} differ."
        )
        assert each.list_outputs() == output_names, f"{each.list_outputs()}, {output_names} differ."
    executors = [
        each.simple_bind(grad_req=grad_req, **run)
        for each, run in zip(symbols, ctx_list, strict=True)
    ]
    _fill(executors, dict(arg_params or {}), dict(aux_params or {}), scale, use_uniform, rand_type)
    backward = grad_req != "null"
    for executor in executors:
        executor.forward(is_train=backward)
        if backward:
            executor.backward(executor.outputs)
    dtypes = [np.dtype(each.outputs[0].dtype) for each in executors]
    finest = int(np.argmax([each.itemsize for each in dtypes]))
    truth: Mapping[str, NDArray] | None = ground_truth
    if truth is None:
        truth = {**executors[finest].output_dict, **_gradients(executors[finest])}
    for number, executor in enumerate(executors):
        if number == finest and ground_truth is None:
            continue
        results = {**executor.output_dict, **(_gradients(executor) if backward else {})}
        for name, value in results.items():
            expect = truth[name]
            try:
                tolerances = get_tols(value, expect.astype(value.dtype), rtol, atol)
                assert_almost_equal(
                    value, expect.asnumpy().astype(value.dtype), *tolerances,
                    (f"{ctx_list[number]['ctx']}_{name}", f"truth_{name}"), equal_nan=equal_nan,
                )  # fmt: skip
            except AssertionError as error:
                if raise_on_err:
                    raise
                logging.error("Run %d, %s: %s", number, name, error)
    return truth


def _gradients(executor: Executor) -> dict[str, NDArray]:
    return {name: each for name, each in executor.grad_dict.items() if each is not None}


def _fill(
    executors: Sequence[Executor], args: dict[str, Any], states: dict[str, Any], scale: float,
    uniform: bool, dtype: Any,
) -> None:  # fmt: skip
    """The same arguments and states for all."""
    for name, each in executors[0].arg_dict.items():
        if name not in args:
            drawn = (
                np.random.uniform(-0.92 * scale, 0.92 * scale, size=each.shape)
                if uniform
                else np.random.normal(size=each.shape, scale=scale)
            )
            args[name] = drawn.astype(dtype)
    for name in executors[0].aux_dict:
        states.setdefault(name, 0)
    for executor in executors:
        for name, target in executor.arg_dict.items():
            value = _asnumpy(args[name])
            target[:] = array(value.astype(target.dtype), ctx=target.context, dtype=target.dtype)
        for name, target in executor.aux_dict.items():
            target[:] = _asnumpy(states[name])
        for gradient in executor.grad_dict.values():
            if gradient is not None:
                gradient[:] = 0


def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any],
    data_l: Sequence[Any],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Raise unless a Gluon block gives the same outputs and gradients hybridized and not.

    Blocks are made and called under NumPy semantics; the second has the parameters of the first.

    Args:
        net_builder: makes the block; called with ``prefix='net_'``.
        data_l: its inputs.
        numpy_func: the same function of NumPy arrays, if the outputs are to be compared with it.
        test_grad: whether gradients of the inputs are compared.
        rtol: relative tolerance.
        atol: absolute tolerance.

    Raises:
        AssertionError: they differ.
    """
    results: list[list[np.ndarray]] = []
    parameters: dict[str, Any] = {}
    for hybridize in (False, True):
        inputs = [each.copy() for each in data_l]
        if test_grad:
            for each in inputs:
                each.attach_grad()
        with np_shape(), np_array():
            net = _built(net_builder, inputs, parameters)
            if hybridize:
                net.hybridize()
            # Twice: the first call of a hybridized block traces it.
            for _ in range(2):
                with autograd.record(train_mode=test_grad):
                    out = net(*inputs)
                if test_grad:
                    out.backward(out)
        results.append([out.asnumpy(), *([each.grad.asnumpy() for each in inputs] * test_grad)])
    for plain, hybrid in zip(*results, strict=True):
        assert_almost_equal(plain, hybrid, rtol=rtol, atol=atol)
    if numpy_func is not None:
        expected = numpy_func(*[each.asnumpy() for each in data_l])
        assert_almost_equal(results[0][0], expected, rtol=rtol, atol=atol)


def _built(build: Callable[..., Any], inputs: Sequence[Any], parameters: dict[str, Any]) -> Any:
    """A new block with ``parameters``; if there are none yet, its own are put there."""
    net = build(prefix="net_")
    net.initialize()
    net(*inputs)  # shapes may wait for data
    collected = net.collect_params()
    if parameters:
        for name, value in parameters.items():
            collected[name].set_data(value)
    else:
        parameters.update({name: each.data().copy() for name, each in collected.items()})
    return net


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two symbols are the same operators joined the same way; names and attributes aside.

    Args:
        sym1: a symbol.
        sym2: a symbol.
    """

    def structure(sym: Symbol) -> list[Any]:
        data = json.loads(sym.tojson())
        return [(node["op"], [each[:2] for each in node["inputs"]]) for node in data["nodes"]]

    return structure(sym1) == structure(sym2)


def check_speed(
    sym: Symbol,
    location: Mapping[str, Any] | None = None,
    ctx: Context | None = None,
    N: int = 20,
    grad_req: str | Sequence[str] | Mapping[str, str] | None = None,
    typ: str = "whole",
    **kwargs: object,
) -> float:
    """Seconds that a run of a symbol takes.

    Args:
        sym: the symbol.
        location: its arguments by name; by default normal numbers of the shapes in ``kwargs``.
        ctx: where it runs.
        N: runs that are timed, after one that is not.
        grad_req: which gradients are computed; ``'write'`` by default.
        typ: ``'whole'`` for forward and backward, ``'forward'``.
        kwargs: shapes of arguments, as for ``simple_bind``.

    Raises:
        ValueError: another ``typ``.
    """
    if typ not in ("whole", "forward"):
        raise ValueError(f"typ={typ!r} is neither 'whole' nor 'forward'.")
    ctx = ctx or current_context()
    if location is None:
        executor = sym.simple_bind(ctx, grad_req=grad_req or "write", **kwargs)
        values: Mapping[str, Any] = {
            name: np.random.normal(size=each.shape) for name, each in executor.arg_dict.items()
        }
    else:
        values = location
        shapes = {name: np.shape(each) for name, each in location.items()}
        executor = sym.simple_bind(ctx, grad_req=grad_req or "write", **shapes)
    for name, value in values.items():
        executor.arg_dict[name][:] = array(_asnumpy(value), ctx=ctx)

    def run() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(executor.outputs)
        for each in (*executor.outputs, *(g for g in executor.grad_arrays if g is not None)):
            each.wait_to_read()

    run()
    start = time.time()
    for _ in range(N):
        run()
    return (time.time() - start) / N
