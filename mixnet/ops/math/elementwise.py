"""Elementwise arithmetic, comparison and maths: arrays of equal shape, or an array and a number."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import ShapeError
from mixnet.ops.array.plain import alike, filled_like, in_dtype
from mixnet.ops.math.quotient import quotient
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.schema import storage_rules
from mixnet.ops.schema.attributes import DType, Scalar
from mixnet.ops.schema.dtypes import (
    Dtypes,
    all_own,
    beside_number,
    infer_beside_number,
    number_of_dtype,
    to_dtype,
)
from mixnet.ops.schema.integer_layers import Fusion, Quantization
from mixnet.ops.schema.rewrites import COPY, NOTHING, Rewrites, alone, exactly, neutral, whole
from mixnet.ops.schema.shape_constraints import all_same, same_as_first, same_pairs
from mixnet.ops.schema.storage import Storage
from mixnet.private_jax.derivatives import CustomJVP

Precision = Literal["full"] | None
Function = Callable[..., Any]


@CustomJVP
def relu(data):
    """max(data, 0); the derivative at 0 is 0, at NaN it is NaN.

    The derivative is written by the result, which the next layer keeps anyway, not by the data.
    """
    return jax.lax.max(data, data.dtype.type(0))


@relu.defjvp
def _(primals, tangents):
    out = relu(*primals)
    return out, relu_gradient(tangents[0], out)


def relu_gradient(head: jax.Array, result: jax.Array) -> Any:
    """Gradient of relu's argument: ``head`` where the result is above 0, NaN where it is NaN.

    Args:
        head: gradient of the result.
        result: not below 0.
    """
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    is_above = jax.lax.gt(result, result.dtype.type(0))
    slope = jax.lax.select(is_above, filled_like(result, 1), result)
    return jax.lax.mul(in_dtype(slope, head.dtype), head)


def sign(data: jax.Array) -> Any:
    """-1, 0 or 1; 0 of NaN."""
    if not jnp.issubdtype(data.dtype, jnp.floating):
        return jnp.sign(data)
    one = jnp.ones_like(data)
    return jnp.where(data > 0, one, jnp.where(data < 0, -one, 0 * one))


@CustomJVP
def absolute(data):
    """|data|; the derivative at 0 is 0, where JAX has 1.

    Losses begin at 0 when weights do: their gradient must not point to either side.
    """
    return jnp.abs(data)


@absolute.defjvp
def _(primals, tangents):
    (data,), (tangent,) = primals, tangents
    return absolute(data), sign(data) * tangent


@CustomJVP
def _mod(x: jax.Array, y: jax.Array) -> Any:
    """Remainder with the divisor's sign; 0 for division by 0, as MXNet has it.

    Unlike NumPy's, a remainder of 0 is +0 where the signs of the numbers differ, and -0 is not below 0.
    """
    safe = jnp.where(y == 0, jnp.ones_like(y), y)
    rest = jnp.fmod(x, safe)
    zero = jnp.zeros_like(rest)
    shifted = rest + jnp.where(rest == 0, zero, safe)
    rest = jnp.where((x < 0) == (safe < 0), rest, shifted)
    return jnp.where(y == 0, zero, rest)


@_mod.defjvp
def _(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    times = jnp.where(y == 0, 0, jnp.floor(quotient(x, jnp.where(y == 0, 1, y))))
    return _mod(x, y), dx - times * dy


def _divide(x: jax.Array, y: jax.Array) -> Any:
    if jnp.issubdtype(x.dtype, jnp.floating):
        return quotient(x, y)
    x, y = jnp.broadcast_arrays(x, y)
    safe = jnp.where(y == 0, jnp.ones_like(y), y)
    # whole numbers are divided towards zero
    return jnp.where(y == 0, jnp.zeros_like(x), jax.lax.div(x, safe))


def _choice(holds: Function) -> Function:
    """The left number where ``holds(left, right)`` or it is NaN, else the right one.

    Where both are equal the gradient goes to the left one alone, and to none where one is NaN.
    """

    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    lax = jax.lax

    @CustomJVP
    def choose(x: jax.Array, y: jax.Array) -> Any:
        return lax.select(lax.bitwise_or(holds(x, y), lax.ne(x, x)), x, y)

    @choose.defjvp
    def _(primals: jax.Array, tangents: jax.Array) -> Any:
        (x, y), (dx, dy) = primals, tangents
        left = holds(x, y)
        not_right = lax.bitwise_or(left, lax.bitwise_or(lax.ne(x, x), lax.ne(y, y)))
        zero = filled_like(dx, 0)
        return choose(x, y), lax.add(lax.select(left, dx, zero), lax.select(not_right, zero, dy))

    return lambda x, y: choose(*alike(x, y))


_larger = _choice(jax.lax.ge)
_smaller = _choice(jax.lax.le)


def _power(x: jax.Array, y: jax.Array) -> Any:
    if x.dtype != y.dtype or not jnp.issubdtype(x.dtype, jnp.integer):
        return jnp.power(x, y)
    # Whole numbers: fractions are cut off, and what is too large becomes what a cast makes of it.
    limits = jnp.iinfo(x.dtype)
    wide = jnp.power(x.astype(jnp.float64), y.astype(jnp.float64))
    is_exact = (y >= 0) & (wide >= float(limits.min)) & (wide < float(limits.max) + 1)
    return jnp.where(is_exact, jnp.power(x, jnp.where(is_exact, y, 0)), to_dtype(wide, x.dtype))


@CustomJVP
def hypot(x: jax.Array, y: jax.Array) -> Any:
    """sqrt(x² + y²), of half precision computed in single; the derivatives at (0, 0) are 0.5."""
    if x.dtype == y.dtype and x.dtype.itemsize == 2 and jnp.issubdtype(x.dtype, jnp.floating):
        return jnp.hypot(x.astype(jnp.float32), y.astype(jnp.float32)).astype(x.dtype)
    return jnp.hypot(x, y)


@hypot.defjvp
def _(primals, tangents):
    # In this form an infinite tangent stays infinite: JAX's own divides it by itself.
    (x, y), (dx, dy) = primals, tangents
    length = hypot(x, y)
    is_zero = length == 0
    safe = jnp.where(is_zero, jnp.ones_like(length), length)
    slopes = [jnp.where(is_zero, 0.5, quotient(each, safe)).astype(length.dtype) for each in (x, y)]
    return length, slopes[0] * dx + slopes[1] * dy


def _directly(function: Function, general: Function) -> Function:
    """A function of ``jax.lax``, and of ``jax.numpy`` where arrays have to be promoted first."""

    def compute(x: jax.Array, y: jax.Array) -> Any:
        of_one_rank = x.ndim == y.ndim or not x.ndim or not y.ndim
        is_direct = of_one_rank and x.dtype == y.dtype and x.dtype != jnp.bool_
        return function(x, y) if is_direct else general(x, y)

    return compute


def _truth(function: Function) -> Function:
    return lambda x, y: function(x != 0, y != 0)


# name in operator names: function of two arrays, sentence, whether it has a gradient
BINARY: dict[str, tuple[Function, str, bool]] = {
    "add": (_directly(jax.lax.add, jnp.add), "Sum.", True),
    "sub": (_directly(jax.lax.sub, jnp.subtract), "Difference.", True),
    "mul": (_directly(jax.lax.mul, jnp.multiply), "Product.", True),
    "div": (_divide, "Quotient; of whole numbers it is truncated towards zero.", True),
    "mod": (_mod, "Remainder, with the sign of the divisor.", True),
    "power": (_power, "Left to the power of right.", True),
    "maximum": (_larger, "The larger one.", True),
    "minimum": (_smaller, "The smaller one.", True),
    "hypot": (hypot, "Length of the hypotenuse: sqrt(left² + right²).", True),
    "equal": (_directly(jax.lax.eq, jnp.equal), "1 where equal, else 0.", False),
    "not_equal": (_directly(jax.lax.ne, jnp.not_equal), "1 where different, else 0.", False),
    "greater": (_directly(jax.lax.gt, jnp.greater), "1 where left is greater, else 0.", False),
    "greater_equal": (
        _directly(jax.lax.ge, jnp.greater_equal),
        "1 where left is not less, else 0.",
        False,
    ),
    "lesser": (_directly(jax.lax.lt, jnp.less), "1 where left is less, else 0.", False),
    "lesser_equal": (
        _directly(jax.lax.le, jnp.less_equal),
        "1 where left is not greater, else 0.",
        False,
    ),
    "logical_and": (_truth(jnp.logical_and), "1 where both are not 0, else 0.", False),
    "logical_or": (_truth(jnp.logical_or), "1 where either is not 0, else 0.", False),
    "logical_xor": (_truth(jnp.logical_xor), "1 where exactly one is not 0, else 0.", False),
}

_SAME = {
    "add": ("elemwise_add", "_add", "_plus", "_Plus", "_sparse_elemwise_add"),
    "sub": ("elemwise_sub", "_sub", "_minus", "_Minus", "_sparse_elemwise_sub"),
    "mul": ("elemwise_mul", "_mul", "_Mul", "_sparse_elemwise_mul"),
    "div": ("elemwise_div", "_div", "_Div", "_sparse_elemwise_div"),
    "mod": ("_mod", "_Mod"),
    "power": ("_power", "_Power"),
    "maximum": ("_maximum", "_Maximum"),
    "minimum": ("_minimum", "_Minimum"),
    "hypot": ("_hypot", "_Hypot"),
    "equal": ("_equal", "_Equal"),
    "not_equal": ("_not_equal", "_Not_Equal"),
    "greater": ("_greater", "_Greater"),
    "greater_equal": ("_greater_equal", "_Greater_Equal"),
    "lesser": ("_lesser", "_Lesser"),
    "lesser_equal": ("_lesser_equal", "_Lesser_Equal"),
    "logical_and": ("_logical_and", "_Logical_And"),
    "logical_or": ("_logical_or", "_Logical_Or"),
    "logical_xor": ("_logical_xor", "_Logical_Xor"),
}

_SCALAR = {
    "add": ("_plus_scalar", "_PlusScalar"),
    "sub": ("_minus_scalar", "_MinusScalar"),
    "mul": ("_mul_scalar", "_MulScalar"),
    "div": ("_div_scalar", "_DivScalar"),
    "mod": ("_mod_scalar", "_ModScalar"),
    "maximum": ("_maximum_scalar", "_MaximumScalar", "_npi_maximum_scalar"),
    "minimum": ("_minimum_scalar", "_MinimumScalar", "_npi_minimum_scalar"),
    "hypot": ("_hypot_scalar", "_HypotScalar", "_npi_hypot_scalar"),
    "equal": ("_equal_scalar", "_EqualScalar"),
    "not_equal": ("_not_equal_scalar", "_NotEqualScalar"),
    "greater": ("_greater_scalar", "_GreaterScalar"),
    "greater_equal": ("_greater_equal_scalar", "_GreaterEqualScalar"),
    "lesser": ("_lesser_scalar", "_LesserScalar"),
    "lesser_equal": ("_lesser_equal_scalar", "_LesserEqualScalar"),
    "logical_and": ("_logical_and_scalar", "_LogicalAndScalar"),
    "logical_or": ("_logical_or_scalar", "_LogicalOrScalar"),
    "logical_xor": ("_logical_xor_scalar", "_LogicalXorScalar"),
}
_REFLECTED = {
    "sub": ("_rminus_scalar", "_RMinusScalar"),
    "div": ("_rdiv_scalar", "_RDivScalar"),
    "mod": ("_rmod_scalar", "_RModScalar"),
    "power": ("_rpower_scalar", "_RPowerScalar"),
}


def check_same_kind(name: str, lhs: jax.Array, rhs: jax.Array) -> None:
    """Raise unless both sides have one dtype.

    Raises:
        ShapeError: they have not; the message says how to cast.
    """
    if lhs.dtype != rhs.dtype:
        raise ShapeError(
            f"{name}: the left array is {lhs.dtype.name}, the right one {rhs.dtype.name}; both "
            f"must have the same dtype. Cast one: rhs.astype({lhs.dtype.name!r})."
        )


WHOLE = {"add": whole(np.add), "sub": whole(np.subtract), "mul": whole(np.multiply)}
"""Functions of integers, whose results are exact."""


_STORAGE = {
    "add": storage_rules.SUM,
    "sub": storage_rules.SUM,
    "mul": storage_rules.PRODUCT,
    **dict.fromkeys(("maximum", "minimum", "hypot"), storage_rules.ALIKE),
}
_SCALAR_STORAGE = {
    **dict.fromkeys(("add", "sub"), storage_rules.ADDED_SCALAR),
    **dict.fromkeys(("mul", "div"), storage_rules.ZERO_STAYS_LINEAR),
    **storage_rules.COMPARISONS,
}
FUSIONS = {"add": Fusion("sum")}
QUANTIZATIONS = {
    key: Quantization(f"_contrib_quantized_elemwise_{key}", sums=True) for key in ("add", "mul")
}


IN_FLOAT32 = frozenset({"power", "hypot"})
"""Functions whose results exceed the range of half precision even for small numbers."""


def _declare_same(key: str, function: Function, text: str, grad: bool) -> Op:
    name, *aliases = _SAME[key]

    def elementwise(lhs, rhs):
        if lhs.shape != rhs.shape:
            raise ShapeError(
                f"{name}: shapes {lhs.shape} and {rhs.shape} differ. Reshape one, or use the "
                f"broadcast_* operator of the same name."
            )
        check_same_kind(name, lhs, rhs)
        return in_dtype(function(lhs, rhs), lhs.dtype)

    elementwise.__doc__ = (
        f"{text} For two arrays of equal shape and dtype.\n\nSource: MXNet operator ``{name}``."
    )
    return op(
        name,
        booleans=False,
        aliases=aliases,
        differentiable=grad,
        precision="full" if key in IN_FLOAT32 else "widest",
        rewrites=Rewrites(keeps_dtype=True, constant=WHOLE.get(key)),
        shape_constraint=all_same,
        fusion=FUSIONS.get(key),
        quantization=QUANTIZATIONS.get(key),
        storage=_STORAGE.get(key),
    )(elementwise)


# The number that changes nothing. Sums with 0 are not among them: -0 + 0 is 0.
_NEUTRAL = {"sub": 0.0, "mul": 1.0, "div": 1.0}


def _declare_scalar(
    names: tuple[str, ...],
    function: Function,
    text: str,
    grad: bool,
    precision: Precision = None,
    rewrites: Rewrites = NOTHING,
    storage: Storage | None = None,
) -> Op:
    name = names[0]

    def with_number(data, *, scalar: Scalar = 1.0, is_int: bool = True):
        data = beside_number(data, is_int)
        return in_dtype(function(data, number_of_dtype(scalar, data.dtype)), data.dtype)

    with_number.__doc__ = f"{text} For an array and a number.\n\nSource: MXNet operator ``{name}``."
    declared = op(
        name,
        aliases=names[1:],
        differentiable=grad,
        precision=precision,
        rewrites=rewrites,
        shape_constraint=same_as_first,
        storage=storage,
    )(with_number)
    declared.infer_dtypes_of_known(infer_beside_number)
    return declared


for _key, (_function, _text, _grad) in BINARY.items():
    _declare_same(_key, _function, _text, _grad)
    _precision: Precision = "full" if _key in IN_FLOAT32 else None
    if _key in _SCALAR:
        _rewrites = Rewrites(unchanged=neutral(_NEUTRAL[_key])) if _key in _NEUTRAL else NOTHING
        _storage = _SCALAR_STORAGE.get(_key)
        _declare_scalar(_SCALAR[_key], _function, _text, _grad, _precision, _rewrites, _storage)
    if _key in _REFLECTED:
        _swapped = (lambda f: lambda data, number: f(number, data))(_function)
        _text = f"{_text} The number is on the left."
        _precision = "full" if _key == "div" else _precision  # by what may be almost 0
        _declare_scalar(_REFLECTED[_key], _swapped, _text, _grad, _precision)


@op("_power_scalar", aliases=["_PowerScalar"], precision="full", shape_constraint=same_as_first)
def power_scalar(data, *, scalar: float = 1.0, is_int: bool = True):
    """Array to the power of a number, which is structure: small whole powers are products.

    Source: MXNet operator ``_power_scalar``.
    """
    data = beside_number(data, is_int)
    if not jnp.issubdtype(data.dtype, jnp.floating):
        return _power(data, number_of_dtype(scalar, data.dtype))
    if float(scalar).is_integer() and abs(scalar) <= 16:
        return jax.lax.integer_pow(data, int(scalar))
    return jnp.power(data, jnp.asarray(scalar, data.dtype))


power_scalar.infer_dtypes_of_known(infer_beside_number)


@op(
    "_grad_add",
    booleans=False,
    one_dtype=True,
    shape_constraint=all_same,
    storage=storage_rules.SUM_OF_GRADIENTS,
)
def grad_add(lhs, rhs):
    """Sum of two gradients."""
    return lhs + rhs


@op(
    "add_n",
    booleans=False,
    one_dtype=True,
    aliases=["ElementWiseSum", "_sparse_add_n", "_sparse_ElementWiseSum"],
    rewrites=Rewrites(unchanged=alone),
    precision="widest",
    shape_constraint=all_same,
    storage=storage_rules.SUM_OF_ROWS,
)
def add_n(*args):
    """Sum of arrays of one shape.

    Source: MXNet operator ``add_n``.
    """
    if any(each.shape != args[0].shape for each in args):
        raise ShapeError(
            f"add_n: shapes {[each.shape for each in args]} differ; they must be equal."
        )
    if len({each.dtype for each in args}) > 1:
        return functools.reduce(jnp.add, args)
    return functools.reduce(jax.lax.add, args)


@add_n.set_flops()
def _(inputs, outputs):
    return (len(inputs) - 1) * math.prod(outputs[0])


@op(
    "_copy",
    aliases=["identity", "_copyto"],
    flops=0,
    rewrites=COPY,
    shape_constraint=same_as_first,
    storage=storage_rules.ZERO_STAYS_LINEAR,
)
def copy(data):
    """A copy of the array.

    Source: MXNet operator ``_copy``.
    """
    return data


@op(
    "ones_like",
    method=True,
    differentiable=False,
    flops=0,
    rewrites=Rewrites(made_like="_ones"),
    shape_constraint=same_as_first,
)
def ones_like(data):
    """Ones in the shape and dtype of ``data``."""
    return jnp.ones(data.shape, data.dtype)


@op(
    "zeros_like",
    method=True,
    differentiable=False,
    flops=0,
    rewrites=Rewrites(made_like="_zeros"),
    shape_constraint=same_as_first,
    aliases=["_sparse_zeros_like"],
    storage=storage_rules.ZERO_STAYS_WITHOUT_GRADIENT,
)
def zeros_like(data):
    """Zeros in the shape and dtype of ``data``."""
    return jnp.zeros(data.shape, data.dtype)


@op(
    "Cast",
    aliases=["cast", "_npx_cast", "_npi_cast"],
    passes_gradient=True,
    flops=0,
    rewrites=Rewrites(
        unchanged=lambda *, input_dtype, dtype: (
            input_dtype is not None and input_dtype == jnp.dtype(dtype)
        ),
        constant=lambda data, *, dtype: exactly(data, dtype),
    ),
    shape_constraint=same_as_first,
)
def cast(data, *, dtype: DType):
    """The array in another dtype; gradients pass, even through whole numbers.

    Source: MXNet operator ``Cast``.
    """
    return to_dtype(data, dtype)


@op(
    "amp_cast",
    passes_gradient=True,
    flops=0,
    dtypes=Dtypes(own=all_own),
    shape_constraint=same_as_first,
    bfloat16="unlisted",
)
def amp_cast(data, *, dtype: DType):
    """The array in another dtype if it holds floating-point numbers, else as it is.

    Source: MXNet operator ``amp_cast``.
    """
    return data.astype(dtype) if jnp.issubdtype(data.dtype, jnp.floating) else data


@amp_cast.infer_dtypes_of_known
def _(known, dtype):
    is_whole = known[0] is not None and known[0].kind in "biu"
    return (known, known) if is_whole else ((), ())


@op(
    "clip",
    booleans=False,
    method=True,
    fusion=Fusion("activation", lambda *, a_min: float(a_min) == 0),
    bfloat16="any",
    aliases=["_sparse_clip", "_npi_clip"],
    storage=storage_rules.CLIP,
)
def clip(data, *, a_min: Scalar, a_max: Scalar):
    """The array with values below ``a_min`` raised to it, and those above ``a_max`` lowered to that.

    The gradient is 1 within these limits and on them, else 0.

    Source: MXNet operator ``clip``.
    """
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    low, high = (
        jax.lax.broadcast(jax.lax.convert_element_type(each, data.dtype), data.shape)
        for each in (a_min, a_max)
    )
    above = jax.lax.select(jax.lax.lt(data, low), low, data)
    return jax.lax.select(jax.lax.gt(data, high), high, above)


@op("smooth_l1", booleans=False, precision="full", aliases=["_npx_smooth_l1"])
def smooth_l1(data, *, scalar: float = 1.0):
    """``0.5 (s x)²`` where ``|x| < 1/s²``, else ``|x| - 0.5/s²``; s is ``scalar``.

    Source: MXNet operator ``smooth_l1``.
    """
    squared = scalar * scalar
    bend = 1 / squared if squared else math.inf
    real = data if jnp.issubdtype(data.dtype, jnp.floating) else data.astype(jnp.float64)
    size = absolute(real)
    # Of jax.lax: jax.numpy's wrappers are most of the time that tracing takes.
    far = jax.lax.gt(size, filled_like(size, bend))
    # No overflow where it is not used, nor in the derivative.
    near = jax.lax.select(far, filled_like(real, 0), real)
    inner = jax.lax.mul(filled_like(real, 0.5 * squared), jax.lax.square(near))
    outer = jax.lax.sub(size, filled_like(size, bend / 2))
    return jax.lax.select(far, outer, inner).astype(data.dtype)


@op("hard_sigmoid", floats=True)
def hard_sigmoid(data, *, alpha: float = 0.2, beta: float = 0.5):
    """``alpha x + beta``, clipped to [0, 1].

    Source: MXNet operator ``hard_sigmoid``.
    """
    line = alpha * data + beta
    # Not clip: its derivative where the line meets a bound is neither side's, and 0 at NaN.
    outside = jnp.where(line <= 0, 0, jnp.where(line >= 1, 1, jax.lax.stop_gradient(line)))
    return jnp.where((line > 0) & (line < 1), line, outside).astype(data.dtype)


@op("_contrib_quadratic", booleans=False, storage=storage_rules.QUADRATIC)
def quadratic(data, *, a: Scalar = 0.0, b: Scalar = 0.0, c: Scalar = 0.0):
    """``a x² + b x + c``; of whole numbers it is truncated towards zero.

    Source: MXNet operator ``_contrib_quadratic``.
    """
    wide = data.astype(jnp.promote_types(data.dtype, jnp.float32))
    one, two, three = (jnp.asarray(each).astype(wide.dtype) for each in (a, b, c))
    return ((one * wide + two) * wide + three).astype(data.dtype)


@quadratic.set_gradient
def _(head, out, data, *, a, b, c):
    # The slope as one factor: an infinite gradient times the 0 of one term would be NaN.
    wide = data.astype(jnp.promote_types(data.dtype, jnp.float32))
    one, two = (jnp.asarray(each).astype(wide.dtype) for each in (a, b))
    return (head * (2 * one * wide + two)).astype(data.dtype)


@op("_contrib_div_sqrt_dim")
def div_sqrt_dim(data):
    """The array divided by the square root of its last extent, as attention scales its scores.

    Source: MXNet operator ``_contrib_div_sqrt_dim``.
    """
    return _divide(data, jnp.asarray(data.shape[-1] ** 0.5).astype(data.dtype))


def _multicast_outputs(num_outputs: int) -> int:
    return num_outputs


@op(
    "amp_multicast",
    num_args="num_outputs",
    outputs=_multicast_outputs,
    flops=0,
    dtypes=Dtypes(own=all_own),
    shape_constraint=same_pairs,
    bfloat16="unlisted",
)
def amp_multicast(*data, cast_narrow: bool = False):
    """Arrays of half and single precision, all cast to the wider dtype among them, or the narrower one.

    Arrays of other dtypes stay as they are.

    Source: MXNet operator ``amp_multicast``.
    """
    order = ("float16", "bfloat16", "float32")
    present = [name for name in order if any(each.dtype == name for each in data)]
    if not present:
        return data
    target = present[0] if cast_narrow else present[-1]
    return tuple(each.astype(target) if each.dtype in order else each for each in data)


@amp_multicast.infer_dtypes_of_known
def _(known, **_):
    is_whole = known and all(each is not None and each.kind in "biu" for each in known)
    return (known, known) if is_whole else ((), ())
