"""Running a JAX function on NumPy arrays: its primitives one by one, without a device or compiler.

What computes on the host, beside a program that uses the devices, runs this way: the samples of a
data loader, in threads or in processes that must not touch a device. It is slower than a compiled
program and quicker than compiling one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from mixnet.ops.threefry import MASK, fold_in, threefry

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


class NoRuleError(Exception):
    """A primitive that has no rule for NumPy; its name is the argument."""


def compiled(function: Callable[..., Any], *specs: Any) -> Callable[..., list[np.ndarray]]:
    """A function of JAX arrays as one of NumPy arrays, for arguments of these specs.

    Raises:
        NoRuleError: it uses a primitive that is not known here.
    """
    with jax.enable_x64(True):
        closed = jax.make_jaxpr(function)(*specs)
    return _steps(closed)


def _steps(closed: Any) -> Callable[..., list[np.ndarray]]:
    """The equations as a list of calls on numbered places."""
    jaxpr = closed.jaxpr
    places: dict[Any, int] = {}
    constants: list[Any] = []

    def place(variable: Any) -> int:
        if isinstance(variable, Literal):
            aval: Any = variable.aval
            constants.append(np.asarray(variable.val, aval.dtype))
            return -len(constants)
        return places[variable]

    def new(variable: Any) -> int:
        places[variable] = len(places)
        return places[variable]

    for variable, value in zip(jaxpr.constvars, closed.consts, strict=True):
        constants.append(np.asarray(value))
        places[variable] = -len(constants)
    inputs = [new(variable) for variable in jaxpr.invars]
    steps = []
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name not in RULES:
            raise NoRuleError(name)
        run = RULES[name](equation, **equation.params)
        read = [place(variable) for variable in equation.invars]
        steps.append((run, read, [new(variable) for variable in equation.outvars]))
    outputs = [place(variable) for variable in jaxpr.outvars]
    dtypes = [_dtype(v.aval) for v in jaxpr.outvars]
    size = max(places.values(), default=-1) + 1
    constants.reverse()

    def run_all(*arrays: Any) -> list[np.ndarray]:
        slots = [None] * size + constants
        for where, array in zip(inputs, arrays, strict=True):
            slots[where] = array
        with np.errstate(all="ignore"):
            for run, read, written in steps:
                found = run(*[slots[i] for i in read])
                if len(written) == 1:
                    slots[written[0]] = found
                else:
                    for where, each in zip(written, found, strict=True):
                        slots[where] = each
        found = []
        for where, dtype in zip(outputs, dtypes, strict=True):
            found.append(np.asarray(slots[where], dtype))
        return found

    return run_all


def _dtype(aval: Any) -> Any:
    """NumPy's dtype; None for random keys, which are arrays of two words each."""
    return None if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended) else aval.dtype


# ---- rules: from a primitive's parameters to what computes it -----------------------------------


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def declare(make: Rule) -> Rule:
        for name in names:
            RULES[name] = make
        return make

    return declare


def _plain(name: str, function: Callable[..., Any]) -> None:
    RULES[name] = lambda equation, **params: function


def _in_dtype(equation: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    dtype = equation.outvars[0].aval.dtype
    return lambda *arrays: np.asarray(function(*arrays)).astype(dtype, copy=False)


def _sign(x: Any) -> Any:
    return np.sign(x)


def _divide(x: Any, y: Any) -> Any:
    if np.asarray(x).dtype.kind not in "iu":
        return np.divide(x, y)
    safe = np.where(y == 0, 1, y)
    whole = np.trunc(np.true_divide(x, safe)) if np.abs(x).max(initial=0) < 2**52 else x // safe
    return np.where(y == 0, -1, whole).astype(np.asarray(x).dtype)


def _logical_shift(x: Any, y: Any) -> Any:
    unsigned = np.dtype(f"u{np.asarray(x).dtype.itemsize}")
    bits = unsigned.itemsize * 8
    moved = np.right_shift(np.asarray(x).view(unsigned), np.minimum(y, bits - 1).astype(unsigned))
    return np.where(np.asarray(y) >= bits, 0, moved).astype(unsigned).view(np.asarray(x).dtype)


def _left_shift(x: Any, y: Any) -> Any:
    bits = np.asarray(x).dtype.itemsize * 8
    moved = np.left_shift(x, np.minimum(y, bits - 1))
    return np.where(np.asarray(y) >= bits, 0, moved).astype(np.asarray(x).dtype)


_PLAIN: dict[str, Callable[..., Any]] = {
    "neg": np.negative, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "cbrt": np.cbrt,
    "abs": np.abs, "sign": _sign, "floor": np.floor, "ceil": np.ceil, "is_finite": np.isfinite,
    "not": np.invert, "square": np.square, "add": np.add, "add_any": np.add, "sub": np.subtract,
    "mul": np.multiply, "div": _divide, "quotient": np.divide, "rem": np.fmod, "max": np.maximum, "min": np.minimum,
    "pow": np.power, "atan2": np.arctan2, "nextafter": np.nextafter, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "shift_left": _left_shift,
    "shift_right_logical": _logical_shift, "shift_right_arithmetic": np.right_shift,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "copy": lambda x: x, "copy_p": lambda x: x,
    "stop_gradient": lambda x: x, "random_wrap": lambda x: x, "random_unwrap": lambda x: x,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "lt_to": lambda x, y: (x < y) | (np.isnan(y) & ~np.isnan(x)),
    "population_count": lambda x: np.bitwise_count(x).astype(x.dtype),
}  # fmt: skip
for _name, _function in _PLAIN.items():
    _plain(_name, _function)


@_rule("optimization_barrier", "device_put")
def _same(equation: Any, **_: Any) -> Any:
    return (lambda x: x) if len(equation.outvars) == 1 else (lambda *arrays: arrays)


@_rule("rsqrt")
def _rsqrt(equation: Any, **_: Any) -> Any:
    return _in_dtype(equation, lambda x: 1 / np.sqrt(x))


@_rule("logistic")
def _logistic(equation: Any, **_: Any) -> Any:
    return _in_dtype(equation, lambda x: 1 / (1 + np.exp(-x)))


@_rule("integer_pow")
def _integer_pow(equation: Any, y: int, **_: Any) -> Any:
    return _in_dtype(equation, lambda x: x**y if y >= 0 else 1 / x ** (-y))


@_rule("erf_inv")
def _erf_inv(equation: Any, **_: Any) -> Any:
    # M. Giles, "Approximating the erfinv function" (2010), single precision.
    if equation.outvars[0].aval.dtype != np.float32:
        raise NoRuleError("erf_inv")
    near = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
            -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
    far = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
           -0.0076224613, 0.00943887047, 1.00167406, 2.83297682)  # fmt: skip

    def run(x: Any) -> Any:
        w = -np.log1p(-x * x)
        small = w < 5
        w = np.where(small, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
        p = np.where(small, np.float32(near[0]), np.float32(far[0]))
        for one, other in zip(near[1:], far[1:], strict=True):
            p = np.where(small, np.float32(one), np.float32(other)) + p * w
        return np.where(np.abs(x) == 1, x * np.float32(np.inf), p * x).astype(np.float32)

    return run


@_rule("erf", "erfc", "lgamma")
def _special(equation: Any, **_: Any) -> Any:
    function = getattr(math, equation.primitive.name)

    def each(x: float) -> float:
        try:
            return function(x)
        except ValueError:  # a pole
            return math.inf

    return _in_dtype(equation, np.vectorize(each, otypes="d"))


@_rule("reduce_precision")
def _reduce_precision(equation: Any, exponent_bits: int, mantissa_bits: int, **_: Any) -> Any:
    kinds = {(5, 10): np.float16, (8, 23): np.float32, (11, 52): np.float64}
    if (exponent_bits, mantissa_bits) not in kinds:
        raise NoRuleError("reduce_precision")
    return _in_dtype(equation, lambda x: np.asarray(x).astype(kinds[exponent_bits, mantissa_bits]))


@_rule("round")
def _round(equation: Any, rounding_method: Any, **_: Any) -> Any:
    if int(rounding_method) == 1:
        return np.rint
    return _in_dtype(equation, lambda x: np.trunc(x + np.copysign(0.5, x)))


@_rule("convert_element_type")
def _convert(equation: Any, new_dtype: Any, **_: Any) -> Any:
    dtype = np.dtype(new_dtype)

    def run(x: Any) -> Any:
        x = np.asarray(x)
        if dtype.kind in "iu" and x.dtype.kind == "f":
            # XLA keeps to the range where C leaves the result open; no number is 0.
            limits = np.iinfo(dtype)
            wide = x.astype(np.float64) if dtype.itemsize >= 4 else x
            if not np.isfinite(wide).all():
                wide = np.nan_to_num(wide)
            found = np.clip(wide, limits.min, limits.max).astype(dtype)
            return np.where(wide >= 2.0**63, limits.max, found) if dtype.itemsize == 8 else found
        return x.astype(dtype, copy=False)

    return run


@_rule("bitcast_convert_type")
def _bitcast(equation: Any, new_dtype: Any, **_: Any) -> Any:
    dtype = np.dtype(new_dtype)
    if equation.invars[0].aval.dtype.itemsize != dtype.itemsize:
        raise NoRuleError("bitcast_convert_type")
    return lambda x: np.ascontiguousarray(x).reshape(np.shape(x)).view(dtype)


@_rule("select_n")
def _select(equation: Any, **_: Any) -> Any:
    if len(equation.invars) == 3:
        return _choose
    return lambda which, *cases: np.choose(which, cases)


def _choose(which: Any, no: Any, yes: Any) -> Any:
    # A single condition is usual, to do something to an image or not: nothing is copied then.
    if which.size == 1 or (which.size and not any(which.strides)):
        return yes if which.flat[0] else no
    return np.where(which, yes, no)


# ---- shape --------------------------------------------------------------------------------------


@_rule("broadcast_in_dim")
def _broadcast(equation: Any, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    between = [1] * len(shape)
    for axis, extent in zip(broadcast_dimensions, equation.invars[0].aval.shape, strict=True):
        between[axis] = extent
    return lambda x: np.broadcast_to(np.reshape(x, between), shape)


@_rule("reshape", "squeeze", "expand_dims")
def _to_shape(equation: Any, **_: Any) -> Any:
    aval = equation.outvars[0].aval
    shape = aval.shape + (2,) if _dtype(aval) is None else aval.shape
    return lambda x: np.reshape(x, shape)


@_rule("transpose")
def _transpose(equation: Any, permutation: Any, **_: Any) -> Any:
    return lambda x: np.transpose(x, permutation)


@_rule("rev")
def _rev(equation: Any, dimensions: Any, **_: Any) -> Any:
    return lambda x: np.flip(x, dimensions)


@_rule("slice")
def _slice(equation: Any, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Any:
    steps = strides or [1] * len(start_indices)
    key = tuple(slice(*each) for each in zip(start_indices, limit_indices, steps, strict=True))
    return lambda x: x[key]


def _window(starts: Sequence[Any], sizes: Sequence[int], shape: Sequence[int]) -> tuple[Any, ...]:
    """Slices of ``sizes`` at ``starts``, moved inside as XLA does."""
    found = []
    for start, size, extent in zip(starts, sizes, shape, strict=True):
        begin = min(max(int(start), 0), extent - size)
        found.append(slice(begin, begin + size))
    return tuple(found)


@_rule("dynamic_slice")
def _dynamic_slice(equation: Any, slice_sizes: Any, **_: Any) -> Any:
    return lambda x, *starts: x[_window(starts, slice_sizes, x.shape)]


@_rule("dynamic_update_slice")
def _dynamic_update_slice(equation: Any, **_: Any) -> Any:
    def run(x: Any, update: Any, *starts: Any) -> Any:
        made = np.array(x)
        made[_window(starts, update.shape, x.shape)] = update
        return made

    return run


@_rule("concatenate")
def _concatenate(equation: Any, dimension: int, **_: Any) -> Any:
    return lambda *arrays: np.concatenate(arrays, dimension)


@_rule("stack")
def _stack(equation: Any, **params: Any) -> Any:
    shape = equation.outvars[0].aval.shape
    axis = params.get("axis", params.get("dimension", 0))
    return lambda *arrays: np.stack(arrays, axis).reshape(shape)


@_rule("split")
def _split(equation: Any, sizes: Any, axis: int, **_: Any) -> Any:
    ends = np.cumsum(sizes)[:-1]
    if len(equation.outvars) == 1:
        return lambda x: x
    return lambda x: np.split(x, ends, axis)


@_rule("tile")
def _tile(equation: Any, reps: Any, **_: Any) -> Any:
    return lambda x: np.tile(x, reps)


@_rule("pad")
def _pad(equation: Any, padding_config: Any, **_: Any) -> Any:
    shape = equation.outvars[0].aval.shape

    def run(x: Any, value: Any) -> Any:
        made = np.full(shape, value, x.dtype)
        to, take = [], []
        for (low, _, inner), extent, out in zip(padding_config, x.shape, shape, strict=True):
            step = inner + 1
            first = max(0, -(low // step)) if low < 0 else 0
            last = extent
            while last > first and low + (last - 1) * step >= out:
                last -= 1
            take.append(slice(first, last))
            begin = low + first * step
            to.append(slice(begin, begin + (last - first - 1) * step + 1 if last > first else begin,
                            step))  # fmt: skip
        made[tuple(to)] = x[tuple(take)]
        return made

    return run


@_rule("iota")
def _iota(equation: Any, dtype: Any, shape: Any, dimension: int, **_: Any) -> Any:
    between = [1] * len(shape)
    between[dimension] = shape[dimension]
    made = np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(between), shape)
    return lambda: made


@_rule("gather")
def _gather(
    equation: Any,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: Any,
    fill_value: Any = None,
    **_: Any,
) -> Any:
    numbers = dimension_numbers
    shape, dtype = equation.outvars[0].aval.shape, equation.outvars[0].aval.dtype
    fills = "FILL" in str(mode)
    if fill_value is None:
        fill_value = np.nan if dtype.kind == "f" else 0
        if dtype.kind in "iu":
            fill_value = np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    batching = dict(
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    )
    offset = numbers.offset_dims
    batch = [axis for axis in range(len(shape)) if axis not in offset]
    gone = {*numbers.collapsed_slice_dims, *batching}
    kept = [a for a in range(len(slice_sizes)) if a not in gone]

    def run(x: Any, indices: Any) -> Any:
        heads = np.moveaxis(np.asarray(indices, np.int64), -1, 0)  # one array for each index axis
        inside = np.ones(heads.shape[1:], bool)
        starts: list[Any] = [0] * x.ndim
        for axis, head in zip(numbers.start_index_map, heads, strict=True):
            limit = x.shape[axis] - slice_sizes[axis]
            inside &= (head >= 0) & (head <= limit)
            starts[axis] = np.clip(head, 0, limit)
        for axis, source in batching.items():
            starts[axis] = _along(source, inside.shape)
        places = []
        ends = len(kept)
        for axis in range(x.ndim):
            start = np.reshape(starts[axis], np.shape(starts[axis]) + (1,) * ends)
            if axis in kept:
                window = np.arange(slice_sizes[axis])
                start = start + window.reshape((-1,) + (1,) * (ends - 1 - kept.index(axis)))
            places.append(start)
        found = np.broadcast_to(x[tuple(places)], inside.shape + tuple(
            slice_sizes[axis] for axis in kept))  # fmt: skip
        if fills and not inside.all():
            found = np.where(inside.reshape(inside.shape + (1,) * ends), found, fill_value)
        order = [0] * len(shape)
        for source, target in enumerate([*batch, *offset]):
            order[target] = source
        return np.transpose(found, order).astype(dtype, copy=False)

    return run


def _along(axis: int, shape: Sequence[int]) -> np.ndarray:
    """Numbers from 0 that grow along one axis of a shape, and broadcast along the others."""
    return np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])


_COMBINE: dict[str, Callable[..., Any]] = {
    "scatter": lambda old, new: new, "scatter-add": np.add, "scatter-mul": np.multiply,
    "scatter-max": np.maximum, "scatter-min": np.minimum,
}  # fmt: skip


@_rule(*_COMBINE)
def _scatter(equation: Any, dimension_numbers: Any, **_: Any) -> Any:
    numbers = dimension_numbers
    combine = _COMBINE[equation.primitive.name]
    batching = dict(
        zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    )

    def run(x: Any, indices: Any, updates: Any) -> Any:
        made = np.array(x)
        windows = numbers.update_window_dims
        batch = [axis for axis in range(updates.ndim) if axis not in windows]
        rows = np.transpose(updates, [*batch, *windows])
        rows = rows.reshape(-1, *[updates.shape[axis] for axis in windows])
        gone = {*numbers.inserted_window_dims, *batching}
        kept = [a for a in range(x.ndim) if a not in gone]
        size = [1] * x.ndim
        for axis, window in zip(kept, windows, strict=True):
            size[axis] = updates.shape[window]
        heads = np.reshape(indices, (-1, indices.shape[-1]))
        places = np.ndindex(indices.shape[:-1])
        for head, row, at in zip(heads, rows, places, strict=True):
            key = [slice(0, extent) for extent in size]
            for axis, source in batching.items():
                key[axis] = slice(at[source], at[source] + 1)
            outside = False
            for axis, start in zip(numbers.scatter_dims_to_operand_dims, head, strict=True):
                begin = int(start)
                outside |= begin < 0 or begin + size[axis] > x.shape[axis]
                key[axis] = slice(begin, begin + size[axis])
            if outside:
                continue
            part = row.reshape(size)
            made[tuple(key)] = combine(made[tuple(key)], part)
        return made

    return run


# ---- reducing -----------------------------------------------------------------------------------


def _reduction(function: Any) -> Rule:
    def make(equation: Any, axes: Any, **_: Any) -> Any:
        axes = tuple(axes)
        return _in_dtype(equation, lambda x: function(x, axis=axes))

    return make


def _sum(x: Any, axis: Any) -> Any:
    # Half precision is added up in single, as devices do.
    narrow = x.dtype.kind == "V" or (x.dtype.kind == "f" and x.dtype.itemsize < 4)
    return np.sum(x, axis=axis, dtype=np.float32 if narrow else x.dtype)


_REDUCE: dict[str, Callable[..., Any]] = {
    "reduce_sum": _sum, "reduce_max": np.max, "reduce_min": np.min, "reduce_prod": np.prod,
    "reduce_and": np.all, "reduce_or": np.any,
}  # fmt: skip
for _name, _function in _REDUCE.items():
    RULES[_name] = _reduction(_function)


@_rule("argmax", "argmin")
def _argument(equation: Any, axes: Any, index_dtype: Any, **_: Any) -> Any:
    function = getattr(np, equation.primitive.name)
    return _in_dtype(equation, lambda x: function(x, axis=axes[0]))


@_rule("cumsum", "cumprod", "cummax", "cummin")
def _cumulative(equation: Any, axis: int, reverse: bool, **_: Any) -> Any:
    accumulate = {
        "cumsum": np.add.accumulate, "cumprod": np.multiply.accumulate,
        "cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate,
    }[equation.primitive.name]  # fmt: skip
    if reverse:
        return _in_dtype(equation, lambda x: np.flip(accumulate(np.flip(x, axis), axis), axis))
    return _in_dtype(equation, lambda x: accumulate(x, axis))


@_rule("sort")
def _sort(equation: Any, dimension: int, num_keys: int, **_: Any) -> Any:
    def run(*arrays: Any) -> Any:
        # lexsort's last key is the first to decide.
        order = np.lexsort(arrays[:num_keys][::-1], axis=dimension)
        found = [np.take_along_axis(each, order, dimension) for each in arrays]
        return found[0] if len(found) == 1 else found

    return run


@_rule("dot_general")
def _dot(equation: Any, dimension_numbers: Any, **_: Any) -> Any:
    (left, right), (left_batch, right_batch) = dimension_numbers
    names = iter(range(64))
    dims = [v.aval.ndim for v in equation.invars]
    one = [next(names) for _ in range(dims[0])]
    two = [next(names) for _ in range(dims[1])]
    for a, b in zip((*left, *left_batch), (*right, *right_batch), strict=True):
        two[b] = one[a]
    rest = [one[i] for i in range(dims[0]) if i not in (*left, *left_batch)]
    rest += [two[i] for i in range(dims[1]) if i not in (*right, *right_batch)]
    out = [one[i] for i in left_batch] + rest
    return _in_dtype(equation, lambda x, y: np.einsum(x, one, y, two, out, optimize=True))


# ---- functions inside ---------------------------------------------------------------------------


@_rule("pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
       "custom_vjp_call_jaxpr", "checkpoint", "remat2")  # fmt: skip
def _inner(equation: Any, **params: Any) -> Any:
    inner = next(
        params[name] for name in ("jaxpr", "call_jaxpr", "fun_jaxpr", "fun") if name in params
    )
    if not hasattr(inner, "consts"):
        inner = ClosedJaxpr(inner, ())
    return _result(_steps(inner), equation)


def _result(run: Callable[..., list[Any]], equation: Any) -> Callable[..., Any]:
    if len(equation.outvars) == 1:
        return lambda *arrays: run(*arrays)[0]
    return run


@_rule("cond")
def _cond(equation: Any, branches: Any, **_: Any) -> Any:
    runs = [_steps(branch) for branch in branches]

    def run(which: Any, *arrays: Any) -> list[Any]:
        return runs[min(max(int(which), 0), len(runs) - 1)](*arrays)

    return _result(run, equation)


@_rule("while")
def _while(
    equation: Any, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int, **_: Any
) -> Any:
    test, body = _steps(cond_jaxpr), _steps(body_jaxpr)

    def run(*arrays: Any) -> list[Any]:
        of_test = arrays[:cond_nconsts]
        of_body = arrays[cond_nconsts : cond_nconsts + body_nconsts]
        carried = list(arrays[cond_nconsts + body_nconsts :])
        while True:
            going = np.asarray(test(*of_test, *carried)[0])
            if not going.any():
                return carried
            found = body(*of_body, *carried)
            if going.ndim:  # several loops side by side: those that have ended stay as they are
                shapes = [going.shape + (1,) * (each.ndim - going.ndim) for each in found]
                found = [
                    np.where(going.reshape(shape), new, old)
                    for shape, new, old in zip(shapes, found, carried, strict=True)
                ]
            carried = found

    return _result(run, equation)


@_rule("scan")
def _scan(equation: Any, jaxpr: Any, length: int, reverse: bool, **_: Any) -> Any:
    body = _steps(jaxpr)

    # How many are constants, carried and stacked is written down differently by each JAX; ranks tell it too:
    # what is stacked has one axis more than the body sees.
    def alike(outside: Any, inside: Any) -> int:
        return sum(a.aval.ndim == b.aval.ndim for a, b in zip(outside, inside, strict=True))

    inside = getattr(jaxpr, "jaxpr", jaxpr)
    num_carry = alike(equation.outvars, inside.outvars)
    num_consts = alike(equation.invars, inside.invars) - num_carry
    stacked = equation.outvars[num_carry:]

    def run(*arrays: Any) -> list[Any]:
        constants = arrays[:num_consts]
        carried = list(arrays[num_consts : num_consts + num_carry])
        rows = arrays[num_consts + num_carry :]
        made = [np.empty(v.aval.shape, v.aval.dtype) for v in stacked]
        for i in reversed(range(length)) if reverse else range(length):
            found = body(*constants, *carried, *[each[i] for each in rows])
            carried = found[:num_carry]
            for each, value in zip(made, found[num_carry:], strict=True):
                each[i] = value
        return [*carried, *made]

    return _result(run, equation)


# ---- random numbers: threefry, the same bits as on a device -------------------------------------


@_rule("random_fold_in")
def _fold_in(equation: Any, **_: Any) -> Any:
    if equation.outvars[0].aval.shape:
        raise NoRuleError("random_fold_in of several keys")
    return fold_in


@_rule("random_bits")
def _bits(equation: Any, bit_width: int, shape: Any, **_: Any) -> Any:
    if equation.invars[0].aval.shape:
        raise NoRuleError("random_bits of several keys")
    dtype = np.dtype(f"u{bit_width // 8}")
    size = math.prod(shape)

    def run(key: Any) -> Any:
        if size <= 4:
            pairs = [threefry(key, 0, i) for i in range(size)]
            high = np.array([pair[0] for pair in pairs], np.uint32)
            low = np.array([pair[1] for pair in pairs], np.uint32)
        else:
            count = np.arange(size, dtype=np.uint64)
            high, low = threefry(
                key, (count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)
            )
        if bit_width == 64:
            return ((high.astype(np.uint64) << np.uint64(32)) | low).reshape(shape)
        return (high ^ low).astype(dtype).reshape(shape)

    return run


@_rule("random_split")
def _random_split(equation: Any, shape: Any, **_: Any) -> Any:
    if equation.invars[0].aval.shape:
        raise NoRuleError("random_split of several keys")
    size = math.prod(shape)

    def run(key: Any) -> Any:
        made = [threefry(key, i >> 32, i & MASK) for i in range(size)]
        return np.array(made, np.uint32).reshape(*shape, 2)

    return run


@_rule("random_seed")
def _seed(equation: Any, **_: Any) -> Any:
    raise NoRuleError("random_seed")
