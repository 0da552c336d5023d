"""Checking operators: outputs and gradients against expected values and finite differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.context import Context, current_context
from mixnet.ndarray.create import array, zeros
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse import cast_storage
from mixnet.symbol.executor import Executor
from mixnet.symbol.symbol import Group, Symbol, Variable
from mixnet.test_utils.compare import assert_almost_equal
from mixnet.test_utils.random_data import random_arrays
from mixnet.test_utils.tolerance import default_numeric_eps

if TYPE_CHECKING:
    import numpy.typing as npt

    from mixnet.dtype import DTypeLike

_FLOATS = (np.float16, np.float32, np.float64)


def simple_forward(
    sym: Symbol, ctx: Context | None = None, is_train: bool = False, **inputs: Any
) -> Any:
    """Outputs of a symbol as NumPy arrays: one, or a list.

    Args:
        sym: the symbol.
        ctx: where it runs.
        is_train: mode of operators that behave otherwise in training.
        inputs: its arguments by name, NumPy arrays.
    """
    ctx = ctx or current_context()
    executor = sym.bind(ctx, args={name: array(each, ctx=ctx) for name, each in inputs.items()})
    outputs = [each.asnumpy() for each in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def _asnumpy(value: object) -> np.ndarray:
    return value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)


def _placed(values: Mapping[str, Any], ctx: Context, dtype: DTypeLike) -> dict[str, NDArray]:
    """Arrays as they are, everything else as arrays of a dtype."""
    return {name: _as_array(each, ctx, dtype) for name, each in values.items()}


def _as_array(value: npt.ArrayLike | NDArray, ctx: Context, dtype: DTypeLike) -> NDArray:
    if isinstance(value, NDArray):
        return value
    return array(value, ctx=ctx, dtype=np.asarray(value).dtype if dtype == "asnumpy" else dtype)


def _gradient_arrays(
    before: Mapping[str, np.ndarray],
    arguments: Mapping[str, NDArray],
    stypes: Mapping[str, str],
    ctx: Context,
) -> dict[str, NDArray]:
    """Arrays for the gradients of arguments, which start with the numbers ``before``."""
    gradients = {}
    for name, start in before.items():
        gradient = array(start, ctx=ctx, dtype=arguments[name].dtype)
        stype = stypes.get(name, "default")
        gradients[name] = gradient if stype == "default" else cast_storage(gradient, stype)
    return gradients


def _by_name(names: Sequence[str], arrays: Any, role: str) -> dict[str, Any]:
    """A list or a dict of values as a dict.

    Raises:
        ValueError: a dict has other names.
    """
    if isinstance(arrays, Mapping):
        if set(arrays) != set(names):
            raise ValueError(
                f"The {role} of the symbol and the names given do not match. The symbol has "
                f"{', '.join(names) or 'none'}; given were {', '.join(arrays) or 'none'}."
            )
        return dict(arrays)
    return dict(zip(names, arrays, strict=False))


def _parse_location(
    sym: Symbol,
    location: Sequence[Any] | Mapping[str, Any] | None,
    ctx: Context | None,
    dtype: DTypeLike = np.float32,
) -> dict[str, NDArray]:
    """The arguments of a symbol as arrays.

    Args:
        sym: the symbol.
        location: values by name, or in the order of the arguments.
        ctx: where the arrays are made.
        dtype: float16, float32 or float64; ``'asnumpy'`` keeps that of each value.
    """
    assert dtype in _FLOATS or dtype == "asnumpy", f"dtype={dtype} is not float16, 32 or 64."
    names = sym.list_arguments()
    return _placed(_by_name(names, location, "arguments"), ctx or current_context(), dtype)


def _arrays_of(
    sym: Symbol, location: Any, aux_states: Any, ctx: Context, dtype: Any
) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Arguments and auxiliary states by name."""
    arguments = _parse_location(sym, location, ctx, dtype)
    return arguments, _parse_aux_states(sym, aux_states, ctx, dtype)


def _parse_aux_states(
    sym: Symbol,
    aux_states: Sequence[Any] | Mapping[str, Any] | None,
    ctx: Context | None,
    dtype: DTypeLike = np.float32,
) -> dict[str, NDArray]:
    """The auxiliary states of a symbol as arrays; none by default."""
    if aux_states is None:
        return {}
    assert dtype in _FLOATS or dtype == "asnumpy", f"dtype={dtype} is not float16, 32 or 64."
    names = sym.list_auxiliary_states()
    states = aux_states
    if not isinstance(aux_states, Mapping) and len(aux_states) < len(names):
        missing = names[len(aux_states)]
        raise ValueError(f"aux_states has no value for {missing!r}; give {', '.join(names)}.")
    return _placed(_by_name(names, states, "auxiliary states"), ctx or current_context(), dtype)


def numeric_grad(
    executor: Executor,
    location: Mapping[str, Any],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: DTypeLike = np.float32,
) -> dict[str, np.ndarray]:
    """Central differences of the sum of an executor's outputs.

    Args:
        executor: what is run.
        location: its arguments by name.
        aux_states: its auxiliary states by name.
        eps: step of the difference.
        use_forward_train: whether it runs in training mode.
        dtype: of the gradients.

    Returns:
        The gradients of the arguments of a floating dtype by name.
    """

    def put(name: str, value: np.ndarray) -> None:
        target = executor.arg_dict[name]
        placed = array(value, ctx=target.context, dtype=value.dtype)
        if target.stype != "default":
            placed = cast_storage(placed, target.stype)
        placed.copyto(target)

    def total() -> np.ndarray:
        # States move in training mode: each run starts with the given ones.
        for name, value in (aux_states or {}).items():
            executor.aux_dict[name][:] = value
        executor.forward(is_train=use_forward_train)
        summed: np.ndarray = np.sum(
            [each.asnumpy().astype(np.float64).sum() for each in executor.outputs]
        )
        return summed

    values = {name: np.array(_asnumpy(each)) for name, each in location.items()}
    gradients = {}
    for name, value in values.items():
        if value.dtype.kind != "f":
            continue
        gradient = np.zeros(value.shape, dtype)
        for index in np.ndindex(value.shape):
            original = value[index]
            sums = []
            for step in (eps / 2, -eps / 2):
                value[index] = original + step
                put(name, value)
                sums.append(total())
            gradient[index] = (sums[0] - sums[1]) / eps
            value[index] = original
        put(name, value)
        gradients[name] = gradient
    return gradients


_REQUESTS = ("write", "add", "null")


def check_numeric_gradient(
    sym: Symbol,
    location: Sequence[Any] | Mapping[str, Any] | None,
    aux_states: Sequence[Any] | Mapping[str, Any] | None = None,
    numeric_eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    grad_nodes: object = None,
    use_forward_train: bool = True,
    ctx: Context | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: DTypeLike = np.float32,
) -> None:
    """Raise unless the gradients of a symbol agree with finite differences.

    The outputs are multiplied by random numbers and summed, so that gradients of all of them are
    seen.

    Args:
        sym: the symbol.
        location: its arguments by name, or in order.
        aux_states: its auxiliary states, likewise.
        numeric_eps: step of the differences; by default that of ``default_numeric_eps``.
        rtol: relative tolerance.
        atol: absolute tolerance.
        grad_nodes: names of the arguments whose gradients are checked, or a dict from name to
            ``'write'``, ``'add'`` or ``'null'``; by default all, ``'write'``.
        use_forward_train: whether the differences run in training mode.
        ctx: where it runs.
        grad_stype_dict: storage types of gradients by name.
        dtype: float16, float32 or float64.

    Raises:
        AssertionError: a gradient differs.
        ValueError: names that do not match; ``grad_nodes`` of another type.
    """
    assert dtype in _FLOATS, f"dtype={dtype} is not float16, float32 or float64."
    ctx = ctx or current_context()
    eps = default_numeric_eps()[np.dtype(dtype)] if numeric_eps is None else numeric_eps
    arguments, states = _arrays_of(sym, location, aux_states, ctx, dtype)
    requests = _requests(sym, grad_nodes)
    shapes = {name: each.shape for name, each in arguments.items()}
    _, out_shapes, _ = sym.infer_shape(**shapes)
    projections = [f"__random_proj{i or ''}" for i in range(len(out_shapes))]
    weights = [Variable(each) for each in projections]
    parts = [sym[i] for i in range(len(out_shapes))]
    heads = [_weighted(part, weight) for part, weight in zip(parts, weights, strict=True)]
    output = Group(heads) if len(heads) > 1 else heads[0]
    for name, shape in zip(projections, out_shapes, strict=True):
        # Away from zero: a gradient times nothing shows nothing.
        arguments[name] = array(np.random.rand(*shape) + 0.1, ctx=ctx, dtype=dtype)
        shapes[name] = shape
    before = {name: _random_like(arguments[name]) for name in requests}
    for shape in out_shapes:
        # MXNet also has gradients of the projections: what a program draws next is the same.
        random_arrays(shape)
    gradients = _gradient_arrays(before, arguments, grad_stype_dict or {}, ctx)
    executor = output.bind(
        ctx,
        args=arguments,
        args_grad=gradients,
        grad_req={**dict.fromkeys(arguments, "null"), **requests},
        aux_states=states,
    )
    values = {name: each.asnumpy() for name, each in arguments.items()}
    initial = {name: each.asnumpy() for name, each in states.items()}
    executor.forward(is_train=True)
    executor.backward([array(np.ones(e.shape), ctx=ctx, dtype=e.dtype) for e in executor.outputs])
    symbolic = {name: executor.grad_dict[name].asnumpy() for name in requests}
    checked = {name: values[name] for name in values if name in requests}
    numeric = numeric_grad(executor, checked, initial, eps, use_forward_train, dtype)
    for name, request in requests.items():
        names = (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        expected = before[name] if request == "null" else numeric[name]
        actual = symbolic[name] - before[name] if request == "add" else symbolic[name]
        assert_almost_equal(expected, actual, rtol, atol, names)


def _requests(sym: Symbol, grad_nodes: object) -> dict[str, str]:
    """How the gradient of each argument is written, of those that are checked."""
    if grad_nodes is None:
        return dict.fromkeys(sym.list_arguments(), "write")
    if isinstance(grad_nodes, (list, tuple)):
        return dict.fromkeys(grad_nodes, "write")
    if not isinstance(grad_nodes, Mapping):
        raise ValueError(f"grad_nodes takes names or a dict, not {type(grad_nodes).__name__}.")
    for request in grad_nodes.values():
        if request not in _REQUESTS:
            raise KeyError(request)
    return dict(grad_nodes)


def _random_like(like: NDArray) -> np.ndarray:
    return np.asarray(random_arrays(like.shape), like.dtype)


def _weighted(part: Symbol, weight: Symbol) -> Symbol:
    """The product as a loss; it takes MXNet's automatic names, so that names of a program that
    checks gradients are MXNet's as well.
    """
    from mixnet import symbol

    if isinstance(part, symbol.numpy._Symbol):
        loss: Symbol = symbol.make_loss((part * weight.as_np_ndarray()).as_nd_ndarray())
        return loss
    loss = symbol.make_loss(part * weight)
    return loss


def check_symbolic_forward(
    sym: Symbol,
    location: Any,
    expected: Any,
    rtol: Any = None,
    atol: Any = None,
    aux_states: Any = None,
    ctx: Context | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[NDArray]:
    """Raise unless the outputs of a symbol are the expected ones.

    Args:
        sym: the symbol.
        location: its arguments by name, or in order.
        expected: its outputs by name, or in order.
        rtol: relative tolerance.
        atol: absolute tolerance.
        aux_states: its auxiliary states, as the arguments.
        ctx: where it runs.
        equal_nan: whether NaN equals NaN.
        dtype: float16, float32 or float64; ``'asnumpy'`` keeps that of each value.

    Returns:
        The outputs.

    Raises:
        AssertionError: an output differs.
        ValueError: names that do not match.
    """
    ctx = ctx or current_context()
    arguments, states = _arrays_of(sym, location, aux_states, ctx, dtype)
    names = sym.list_outputs()
    references = [expected[name] for name in names] if isinstance(expected, Mapping) else expected
    gradients = {name: zeros(each.shape, ctx, each.dtype) for name, each in arguments.items()}
    executor = sym.bind(ctx, args=arguments, args_grad=gradients, aux_states=states)
    executor.forward(is_train=False)
    for name, expect, actual in zip(names, references, executor.outputs, strict=False):
        labels = (f"EXPECTED_{name}", f"FORWARD_{name}")
        assert_almost_equal(_as(expect, dtype), actual, rtol, atol, labels, equal_nan=equal_nan)
    outputs: list[NDArray] = executor.outputs
    return outputs


def _as(value: object, dtype: Any) -> np.ndarray:
    """A value as it is when it is an array, numbers and lists in the dtype of the check."""
    array = _asnumpy(value)
    is_array = isinstance(value, (np.ndarray, NDArray))
    if is_array or dtype == "asnumpy" or array.dtype.kind != "f":
        return array
    return array.astype(dtype)


def check_symbolic_backward(
    sym: Symbol,
    location: Sequence[Any] | Mapping[str, Any] | None,
    out_grads: Sequence[Any] | Mapping[str, Any] | None,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Sequence[Any] | Mapping[str, Any] | None = None,
    grad_req: Any = "write",
    ctx: Context | None = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: DTypeLike = np.float32,
) -> dict[str, NDArray]:
    """Raise unless the gradients of a symbol are the expected ones.

    Args:
        sym: the symbol.
        location: its arguments by name, or in order.
        out_grads: gradients of its outputs by name, or in order; None for outputs that are losses.
        expected: gradients of arguments by name, or of all in order.
        rtol: relative tolerance.
        atol: absolute tolerance.
        aux_states: its auxiliary states, as the arguments.
        grad_req: ``'write'``, ``'add'`` or ``'null'``: for all, in order, or by name. With ``'add'`` the
            gradients start with random numbers.
        ctx: where it runs.
        grad_stypes: storage types of gradients by name.
        equal_nan: whether NaN equals NaN.
        dtype: float16, float32 or float64; ``'asnumpy'`` keeps that of each value.

    Returns:
        The gradients by name.

    Raises:
        AssertionError: a gradient differs.
        ValueError: names that do not match.
    """
    ctx = ctx or current_context()
    arguments, states = _arrays_of(sym, location, aux_states, ctx, dtype)
    names = sym.list_arguments()
    references = (
        dict(expected)
        if isinstance(expected, Mapping)
        else dict(zip(names, expected, strict=False))
    )
    before = {
        name: np.asarray(np.random.normal(size=np.shape(each)), arguments[name].dtype)
        for name, each in references.items()
    }
    gradients = _gradient_arrays(before, arguments, grad_stypes or {}, ctx)
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, (list, tuple)):
        requests = dict(zip(names, grad_req, strict=False))
    else:
        requests = dict(grad_req)
    requests = {name: requests.get(name, "null") if name in gradients else "null" for name in names}
    executor = sym.bind(
        ctx, args=arguments, args_grad=gradients, aux_states=states, grad_req=requests
    )
    executor.forward(is_train=True)
    executor.backward(_heads(sym, out_grads, ctx, dtype))
    actual = {name: executor.grad_dict[name] for name in gradients}
    for name, expect in references.items():
        request = requests[name]
        value = actual[name].asnumpy()
        if request == "add":
            value = value - before[name]
        reference = before[name] if request == "null" else _as(expect, dtype)
        labels = (f"EXPECTED_{name}", f"BACKWARD_{name}")
        assert_almost_equal(reference, value, rtol, atol, labels, equal_nan=equal_nan)
    return actual


def _heads(
    sym: Symbol,
    out_grads: Sequence[Any] | Mapping[str, Any] | None,
    ctx: Context,
    dtype: DTypeLike,
) -> Any:
    """Gradients of the outputs as arrays."""
    if out_grads is None:
        return None
    names = sym.list_outputs()
    gradients = [out_grads[each] for each in names] if isinstance(out_grads, Mapping) else out_grads
    return [_as_array(each, ctx, dtype) for each in gradients]
