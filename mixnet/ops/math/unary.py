"""Functions of every element of one array: each is a row of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from mixnet.ops.math.elementwise import absolute, relu, sign
from mixnet.ops.math.quotient import quotient
from mixnet.ops.registry import op
from mixnet.ops.row_gradient import stored_rows
from mixnet.ops.schema.dtypes import to_dtype
from mixnet.ops.schema.rewrites import Rewrites
from mixnet.ops.schema.shape_constraints import same_as_first
from mixnet.ops.schema.storage import Storage
from mixnet.ops.schema.storage_rules import (
    ZERO_STAYS,
    ZERO_STAYS_IN_BOTH,
    ZERO_STAYS_LINEAR,
    ZERO_STAYS_WITHOUT_GRADIENT,
)
from mixnet.private_jax.derivatives import CustomJVP

Function = Callable[..., Any]


def half_in_single(function: Function) -> Function:
    """Half precision is computed in single precision, as in MXNet: only the result is rounded."""

    def run(data: Any) -> Any:
        if data.dtype.itemsize < 4:
            return to_dtype(function(data.astype(jnp.float32)), data.dtype)
        return function(data)

    return run


def _float_only(function: Function, exact: bool) -> Function:
    """Maths of whole numbers, computed in double precision and cast back as MXNet does.

    Args:
        exact: half precision gives the exact result.
    """
    of_floats = function if exact else half_in_single(function)

    def run(data: Any) -> Any:
        if jnp.issubdtype(data.dtype, jnp.floating):
            return of_floats(data)
        return to_dtype(function(data.astype(jnp.float64)), data.dtype)

    return run


def _round(data: jax.Array) -> Any:
    return jnp.trunc(data + jnp.copysign(jnp.asarray(0.5, data.dtype), data))


def _rint(data: jax.Array) -> Any:
    below, above = jnp.floor(data), jnp.ceil(data)
    return jnp.where(data - below <= above - data, below, above)


def _cbrt(data: jax.Array) -> Any:
    return jnp.cbrt(data)


def _gamma(data: jax.Array) -> Any:
    """Infinite at 0, with its sign; NaN at the whole numbers below it, where both signs meet."""
    below = jnp.minimum(data, 0)
    size = jnp.exp(jax.scipy.special.gammaln(data))
    signed = jnp.sign(jnp.sin(jnp.pi * below) + (data > 0)) * size
    pole = (data < 0) & (data == jnp.floor(data))
    signed_infinity = quotient(jnp.ones_like(data), jax.lax.stop_gradient(data))
    return jnp.where(pole, jnp.nan, jnp.where(data == 0, signed_infinity, signed))


@CustomJVP
def soft_sign(data: jax.Array) -> Any:
    """x / (1 + |x|); the derivative at infinity is 0."""
    return quotient(data, 1 + jnp.abs(data))


@soft_sign.defjvp
def _(primals: jax.Array, tangents: jax.Array) -> Any:
    (data,), (tangent,) = primals, tangents
    return soft_sign(data), quotient(tangent, jnp.square(1 + jnp.abs(data)))


@CustomJVP
def _arccosh(data: jax.Array) -> Any:
    """Its derivative is 0 at both infinities."""
    return jnp.arccosh(data)


@_arccosh.defjvp
def _(primals: jax.Array, tangents: jax.Array) -> Any:
    (data,), (tangent,) = primals, tangents
    return _arccosh(data), tangent * jax.lax.rsqrt((data - 1) * (data + 1))


@dataclass(frozen=True, eq=False)
class Unary:
    """A function of every element, from which an operator is made.

    Args:
        function: of an array.
        text: what it does.
        in_float: whether whole numbers are computed in floating point, and the result is cut back.
        gradient: whether it has one.
        precision: see :class:`mixnet.ops.op.Op`.
        bfloat16: the same.
        storage: the same.
        sparse: whether MXNet has it as ``_sparse_NAME`` too.
        aliases: further names.
        numpy: whether ``mx.np`` has an operator of its own for it, ``_npi_NAME``.
        twins: names of that where they are others.
        activation: whether it is an activation function.
    """

    function: Function
    text: str
    in_float: bool = True
    gradient: bool = True
    precision: Literal["full"] | None = None
    bfloat16: Literal["any"] | None = None
    storage: Storage | None = None
    sparse: bool = True
    aliases: tuple[str, ...] = ()
    numpy: bool = True
    twins: tuple[str, ...] = ()
    activation: bool = False


UNARY = {
    "abs": Unary(absolute, "Absolute value.", in_float=False, bfloat16="any", storage=ZERO_STAYS_IN_BOTH,
        numpy=False, twins=("_npi_absolute", "_npi_abs")),
    "negative": Unary(jnp.negative, "Opposite sign.", in_float=False, storage=ZERO_STAYS_LINEAR,
        aliases=("_negative",)),
    "sign": Unary(sign, "-1, 0 or 1.", in_float=False, gradient=False, storage=ZERO_STAYS_IN_BOTH),
    "round": Unary(_round, "Nearest whole number, halves away from zero.", gradient=False,
        storage=ZERO_STAYS_WITHOUT_GRADIENT, numpy=False),
    "rint": Unary(_rint, "Nearest whole number, halves downwards.", gradient=False,
        storage=ZERO_STAYS_WITHOUT_GRADIENT),
    "ceil": Unary(jnp.ceil, "Rounded up to a whole number.", gradient=False,
        storage=ZERO_STAYS_WITHOUT_GRADIENT),
    "floor": Unary(jnp.floor, "Rounded down to a whole number.", gradient=False,
        storage=ZERO_STAYS_WITHOUT_GRADIENT),
    "trunc": Unary(jnp.trunc, "Whole part.", gradient=False, storage=ZERO_STAYS_WITHOUT_GRADIENT),
    "fix": Unary(jnp.trunc, "Nearest whole number towards zero.", gradient=False,
        storage=ZERO_STAYS_WITHOUT_GRADIENT),
    "square": Unary(jnp.square, "Square.", in_float=False, precision="full", bfloat16="any",
        storage=ZERO_STAYS_IN_BOTH),
    "sqrt": Unary(jnp.sqrt, "Square root.", bfloat16="any", storage=ZERO_STAYS),
    "rsqrt": Unary(jax.lax.rsqrt, "One over the square root.", precision="full", numpy=False),
    "cbrt": Unary(_cbrt, "Cube root.", storage=ZERO_STAYS),
    "rcbrt": Unary(lambda x: quotient(1, jnp.cbrt(x)), "One over the cube root.", precision="full",
        sparse=False, numpy=False),
    "reciprocal": Unary(lambda x: quotient(1, x), "Reciprocal.", precision="full", sparse=False),
    "exp": Unary(jnp.exp, "Exponential.", precision="full"),
    "expm1": Unary(jnp.expm1, "Exponential minus one.", precision="full", storage=ZERO_STAYS),
    "log": Unary(jnp.log, "Natural logarithm.", precision="full"),
    "log10": Unary(jnp.log10, "Logarithm to base 10.", precision="full"),
    "log2": Unary(jnp.log2, "Logarithm to base 2.", precision="full"),
    "log1p": Unary(jnp.log1p, "Natural logarithm of one plus the number.", precision="full",
        storage=ZERO_STAYS),
    "sin": Unary(jnp.sin, "Sine of radians.", storage=ZERO_STAYS),
    "cos": Unary(jnp.cos, "Cosine of radians."),
    "tan": Unary(jnp.tan, "Tangent of radians.", precision="full", storage=ZERO_STAYS),
    "arcsin": Unary(jnp.arcsin, "Inverse sine, in radians.", precision="full", storage=ZERO_STAYS),
    "arccos": Unary(jnp.arccos, "Inverse cosine, in radians.", precision="full"),
    "arctan": Unary(jnp.arctan, "Inverse tangent, in radians.", storage=ZERO_STAYS),
    "sinh": Unary(jnp.sinh, "Hyperbolic sine.", precision="full", storage=ZERO_STAYS),
    "cosh": Unary(jnp.cosh, "Hyperbolic cosine.", precision="full"),
    "tanh": Unary(jnp.tanh, "Hyperbolic tangent.", bfloat16="any", storage=ZERO_STAYS, activation=True),
    "arcsinh": Unary(jnp.arcsinh, "Inverse hyperbolic sine.", storage=ZERO_STAYS),
    "arccosh": Unary(_arccosh, "Inverse hyperbolic cosine."),
    "arctanh": Unary(jnp.arctanh, "Inverse hyperbolic tangent.", precision="full", storage=ZERO_STAYS),
    "degrees": Unary(jnp.degrees, "Radians to degrees.", storage=ZERO_STAYS),
    "radians": Unary(jnp.radians, "Degrees to radians.", storage=ZERO_STAYS),
    "sigmoid": Unary(jax.nn.sigmoid, "1 / (1 + exp(-x)).", numpy=False, twins=("_npx_sigmoid",),
        activation=True),
    "softsign": Unary(soft_sign, "x / (1 + |x|).", sparse=False, numpy=False, activation=True),
    "erf": Unary(jax.scipy.special.erf, "Error function.", sparse=False, aliases=("_npx_erf",), numpy=False),
    "erfinv": Unary(jax.scipy.special.erfinv, "Inverse of the error function.", precision="full",
        sparse=False, aliases=("_npx_erfinv",), numpy=False),
    "gamma": Unary(_gamma, "Gamma function.", precision="full", aliases=("_npx_gamma",), numpy=False),
    "gammaln": Unary(jax.scipy.special.gammaln, "Logarithm of the gamma function.", precision="full",
        aliases=("_npx_gammaln",), numpy=False),
    "logical_not": Unary(lambda x: x == 0, "1 where 0, else 0.", in_float=False, gradient=False, sparse=False,
        numpy=False),
    "relu": Unary(relu, "max(x, 0).", in_float=False, bfloat16="any", storage=ZERO_STAYS_IN_BOTH, numpy=False,
        twins=("_npx_relu",), activation=True),
}  # fmt: skip
_KEEPS_DTYPE = Rewrites(keeps_dtype=True)
NUMPY_TWINS = {
    name: row.twins or (f"_npi_{name}",) for name, row in UNARY.items() if row.twins or row.numpy
}


def _rows_of(compute: Function) -> Callable[..., Any]:
    """The row gradient of a function of every element, by the rows that MXNet stores.

    Those are the rows of the array and those of the head, also where the gradient is 0: lazy updates
    change their states. A row of zeros counts as not stored.
    """

    def rule(head, data):
        (values,) = jax.vjp(compute, data)[1](head)
        return stored_rows(head, data), values

    return rule


def _declare_unary(name: str, row: Unary) -> None:
    rounds = not row.gradient  # to whole numbers, which half precision does exactly
    compute = _float_only(row.function, exact=rounds) if row.in_float else row.function
    activation = name if row.activation else None

    def unary(data):
        return to_dtype(compute(data), data.dtype)

    unary.__doc__ = (
        f"{row.text} Element by element.\n\nArgs:\n    data: any shape and dtype; the result has them "
        f"too.\n\nSource: MXNet operator ``{name}``."
    )
    common: dict[str, Any] = {
        "differentiable": row.gradient,
        "rewrites": _KEEPS_DTYPE,
        "shape_constraint": same_as_first,
        "activation": activation,
        "booleans": False,
    }
    if name in NUMPY_TWINS:
        # MXNet has these a second time, and symbol files of mx.np networks name them so.
        def of_numpy(x):
            return unary(x)

        main, *others = NUMPY_TWINS[name]
        of_numpy.__doc__ = unary.__doc__
        compares = {"booleans": True} if name == "logical_not" else {}
        op(main, aliases=others, **common | compares)(unary if "npx" in main else of_numpy)
    declared = op(
        name,
        aliases=(*row.aliases, *[f"_sparse_{name}"] * row.sparse),
        method=True,
        precision=row.precision,
        bfloat16=row.bfloat16,
        storage=row.storage,
        **common,
    )(unary)
    if row.storage is ZERO_STAYS_IN_BOTH and row.gradient:
        declared.set_row_gradient("data", has_zero_rows=True)(_rows_of(unary))


for _name, _row in UNARY.items():
    _declare_unary(_name, _row)
