"""Random numbers. The key is an input: the same key and draw index give the same numbers.

A distribution is declared once, as how to draw from it; three operators follow: ``_random_NAME``
with numbers as parameters, ``_random_NAME_like`` in the shape of an array, and ``_sample_NAME`` with
arrays of parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mixnet.base import DTypeError, OperatorValueError, ShapeError
from mixnet.ops.array.plain import in_dtype
from mixnet.ops.control import loops
from mixnet.ops.derive import array, attribute, present
from mixnet.ops.generators import source
from mixnet.ops.random import rejection
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import (
    DType,
    Extents,
    NonNegativeScalar,
    Positive,
    PositiveScalar,
    Scalar,
)
from mixnet.ops.schema.dtypes import Dtypes
from mixnet.ops.schema.ranges import Range
from mixnet.ops.schema.shape_constraints import begins_with_parameters


def parameter(number: Any, dtype: DTypeLike) -> Any:
    """A parameter of a distribution in the dtype that its numbers are drawn in, of NumPy if it is so."""
    if isinstance(number, (np.generic, np.ndarray)):
        return number.astype(working_dtype(dtype))
    return in_dtype(jnp.asarray(number), working_dtype(dtype))


def working_dtype(dtype: DTypeLike) -> Any:
    """The dtype to draw in: half precision has too few numbers between 0 and 1."""
    return np.dtype(np.float64 if jnp.dtype(dtype) == jnp.float64 else np.float32)


def drawn_dtype(key: Any, dtype: DTypeLike) -> Any:
    """:func:`working_dtype`, or that of MXNet's generators, which draw half precision in float64."""
    if source.is_drawn_by_host(key) and jnp.dtype(dtype) == jnp.float16:
        return np.dtype(np.float64)
    return working_dtype(dtype)


def between_0_and_1(key: jax.Array, shape: Sequence[int], dtype: DTypeLike) -> Any:
    """Uniform numbers in [0, 1): those of ``jax.random.uniform``, of float32 or float64."""
    # Random bits are the fraction of a number from 1 to 2.
    kind = np.dtype(dtype)
    words = np.dtype(f"uint{8 * kind.itemsize}")
    fraction = jax.lax.shift_right_logical(
        jax.random.bits(key, tuple(shape), words),
        words.type(8 * kind.itemsize - jnp.finfo(kind).nmant),
    )
    number = jax.lax.bitwise_or(fraction, kind.type(1).view(words))
    return jax.lax.sub(jax.lax.bitcast_convert_type(number, kind), kind.type(1))


def standard_uniform(key: Any, shape: Sequence[int], dtype: DTypeLike, shared: bool = False) -> Any:
    """Uniform numbers in [0, 1).

    Args:
        key: or what stands for MXNet's generators.
        shape: of the numbers.
        dtype: float32 or float64.
        shared: whether MXNet's many generators draw them, not the single one.
    """
    if source.is_drawn_by_host(key):
        return source.uniform(key, shape, dtype, shared=shared)
    return between_0_and_1(key, shape, dtype)


def standard_normal(key: Any, shape: Sequence[int], dtype: DTypeLike, shared: bool = False) -> Any:
    """Normal numbers with mean 0 and deviation 1; see :func:`standard_uniform`."""
    if source.is_drawn_by_host(key):
        return source.normal(key, shape, dtype, shared=shared)
    return jax.random.normal(key, shape, dtype)


def uniform(
    key: jax.Array,
    shape: Sequence[int],
    dtype: DTypeLike,
    low: jax.Array,
    high: jax.Array,
    shared: bool = True,
) -> Any:
    """Uniform numbers in [low, high)."""
    share = standard_uniform(key, shape, dtype, shared)
    if low.shape == high.shape == () and not isinstance(share, np.ndarray):
        return jax.lax.add(low, jax.lax.mul(jax.lax.sub(high, low), share))
    return low + (high - low) * share


def normal(
    key: jax.Array,
    shape: Sequence[int],
    dtype: DTypeLike,
    loc: jax.Array,
    scale: jax.Array,
    shared: bool = True,
) -> Any:
    """Normal numbers with mean ``loc`` and standard deviation ``scale``."""
    return loc + scale * standard_normal(key, shape, dtype, shared)


def gamma(
    key: jax.Array, shape: Sequence[int], dtype: DTypeLike, alpha: jax.Array, beta: jax.Array
) -> Any:
    """Gamma numbers of shape ``alpha`` and scale ``beta``."""
    if source.is_drawn_by_host(key):
        return source.accepted(key, "shared gamma", shape, dtype, alpha, beta)
    return beta * rejection.standard_gamma(key, alpha, shape, dtype)


def exponential(key: jax.Array, shape: Sequence[int], dtype: DTypeLike, lam: jax.Array) -> Any:
    """Exponential numbers of rate ``lam``."""
    if source.is_drawn_by_host(key):
        return -jnp.log(1 - standard_uniform(key, shape, dtype, shared=True)) / lam
    return jax.random.exponential(key, shape, dtype) / lam


def poisson(key: jax.Array, shape: Sequence[int], dtype: DTypeLike, lam: jax.Array) -> Any:
    """Poisson numbers of mean ``lam``."""
    if source.is_drawn_by_host(key):
        return source.accepted(key, "shared poisson", shape, np.float32, lam)
    return rejection.poisson(key, lam, shape, dtype)


def negative_binomial(
    key: jax.Array, shape: Sequence[int], dtype: DTypeLike, k: jax.Array, p: jax.Array
) -> Any:
    """Failures before success number ``k``, where each try succeeds with probability ``p``."""
    if source.is_drawn_by_host(key):
        return source.accepted(key, "shared negative binomial", shape, np.float32, k, p)
    first, second = jax.random.split(key)
    return poisson(second, shape, dtype, gamma(first, shape, dtype, k, (1 - p) / p))


def generalized_negative_binomial(
    key: jax.Array, shape: Sequence[int], dtype: DTypeLike, mu: jax.Array, alpha: jax.Array
) -> Any:
    """Counts of mean ``mu`` and variance ``mu + alpha mu²``."""
    if source.is_drawn_by_host(key):
        kind = "shared generalized negative binomial"
        return source.accepted(key, kind, shape, np.float32, mu, alpha)
    first, second = jax.random.split(key)
    spread = jnp.where(alpha > 0, alpha, 1)
    mixed = gamma(first, shape, dtype, 1 / spread, mu * spread)
    return poisson(second, shape, dtype, jnp.where(alpha > 0, mixed, mu))


@dataclass(frozen=True)
class Distribution:
    """How to draw from a distribution, and its parameters.

    Args:
        draw: numbers of a shape and dtype from a key and the parameters, which broadcast to it.
        parameters: names, with annotations and defaults.
        arrays: the parameters' names where they are arrays, if other names.
        check: makes from an operator's name what checks parameters that must go together.
        alias: one more name of ``_random_NAME``.
        by_attempts: whether MXNet draws until it accepts a number, so the parameters decide how many words it
            takes.
        on_numpy: whether ``draw`` computes with NumPy where it is given NumPy's numbers.
    """

    draw: Callable[..., Any]
    parameters: Mapping[str, tuple[Any, float]]
    arrays: Sequence[str] = ()
    check: Callable[[str], Callable[..., None] | None] = lambda name: None
    alias: str | None = None
    by_attempts: bool = False
    on_numpy: bool = False


def _rising(name: str) -> Callable[..., None]:
    def check(low: float, high: float) -> None:
        if not low <= high:
            raise OperatorValueError(
                f"{name}: low={low:g} is out of range: it must not be above high={high:g}."
            )

    return check


def _whole(name: str) -> Callable[..., None]:
    def check(k: float) -> None:
        if not float(k).is_integer():
            raise OperatorValueError(f"{name}: k={k:g} is out of range; give a whole number.")

    return check


DISTRIBUTIONS = {
    "uniform": Distribution(
        uniform, {"low": (Scalar, 0.0), "high": (Scalar, 1.0)}, check=_rising,
        alias="uniform", on_numpy=True,
    ),
    "normal": Distribution(
        normal, {"loc": (Scalar, 0.0), "scale": (PositiveScalar, 1.0)}, ("mu", "sigma"),
        alias="normal", on_numpy=True,
    ),
    "gamma": Distribution(
        gamma, {"alpha": (PositiveScalar, 1.0), "beta": (PositiveScalar, 1.0)},
        by_attempts=True,
    ),
    "exponential": Distribution(exponential, {"lam": (PositiveScalar, 1.0)}),
    "poisson": Distribution(
        poisson, {"lam": (NonNegativeScalar, 1.0)}, by_attempts=True,
    ),
    "negative_binomial": Distribution(
        negative_binomial,
        {"k": (NonNegativeScalar, 1), "p": (Annotated[Scalar, Range(above=0, high=1)], 1.0)},
        check=_whole, by_attempts=True,
    ),
    "generalized_negative_binomial": Distribution(
        generalized_negative_binomial,
        {"mu": (NonNegativeScalar, 1.0), "alpha": (NonNegativeScalar, 1.0)},
        by_attempts=True,
    ),
}  # fmt: skip


def one_of(name: str, dtype: str, choices: Sequence[str]) -> str:
    """The dtype of the numbers, if it is one of the choices.

    Raises:
        AttributeValueError: it is not.
    """
    if dtype not in choices:
        raise OperatorValueError(f"{name}: dtype={dtype!r} is not one of {', '.join(choices)}.")
    return dtype


def floating(name: str, dtype: str | None) -> str:
    """The dtype of the numbers, float32 by default.

    Raises:
        AttributeValueError: it is not a floating point dtype.
    """
    if not jnp.issubdtype(jnp.dtype(dtype or "float32"), jnp.floating):
        raise OperatorValueError(
            f"{name}: dtype={dtype!r} is not a floating point dtype; draw float32 and use astype()."
        )
    return dtype or "float32"


def check_one_dtype(name: str, dtypes: Iterable[np.dtype]) -> None:
    """Refuse arrays of parameters that have several dtypes.

    Raises:
        DTypeError: names the dtypes.
    """
    names = list(dict.fromkeys(each.name for each in dtypes))
    if len(names) > 1:
        raise DTypeError(
            f"{name}: the parameters are {' and '.join(names)}; all arrays must have the same dtype. Cast "
            f"those that differ with astype({names[0]!r})."
        )


def _drawn(
    distribution: Distribution,
    key: jax.Array,
    shape: Sequence[int],
    dtype: DTypeLike,
    parameters: Any,
) -> Any:
    # By attempts, MXNet draws half precision in float32.
    working = working_dtype(dtype) if distribution.by_attempts else drawn_dtype(key, dtype)
    values = [parameter(each, working) for each in parameters]
    drawn = distribution.draw(key, shape, working, *values)
    if isinstance(drawn, np.ndarray):
        return drawn.astype(jnp.dtype(dtype), copy=False)
    return in_dtype(drawn, jnp.dtype(dtype))


_KEY = attribute("key", Any)


_SHAPE, _DTYPE = attribute("shape", Extents, ()), attribute("dtype", DType | None, None)


def _declare(name: str, distribution: Distribution) -> None:
    """The operators of a distribution: with numbers or arrays as parameters, and in the shape of an array."""
    common = {
        "differentiable": False,
        "draws_per_element": True,
        "draws_as_mxnet": True,
        "draws_by_value": distribution.by_attempts,
    }
    text = distribution.draw.__doc__ or ""
    numbers = [attribute(each, kind, of) for each, (kind, of) in distribution.parameters.items()]
    _declare_of_numbers(name, distribution, text, numbers, common)
    _declare_like(name, distribution, text, numbers, common)
    _declare_of_arrays(name, distribution, text, common)


def _declare_of_numbers(
    name: str, distribution: Distribution, text: str, numbers: list[Any], common: dict[str, Any]
) -> None:
    registered = f"_random_{name}"

    def draw(*, shape: Any, ctx: str, dtype: Any, key: Any, **attributes: Any) -> Any:
        dtype = floating(registered, dtype)
        values = [attributes[each] for each in distribution.parameters]
        return _drawn(distribution, key, shape, dtype, values)

    present(draw, registered, text, [*numbers, _SHAPE, attribute("ctx", str, ""), _DTYPE, _KEY])
    operator = op(
        registered,
        aliases=[f"random_{name}", *filter(None, [distribution.alias])],
        check=distribution.check(registered),
        draws_on_numpy="shape" if distribution.on_numpy or distribution.by_attempts else None,
        shaped_by="shape",
        **common,
    )(draw)

    @operator.infer_outputs
    def results(stream: Any, *, shape: Any, dtype: Any, **attributes: object) -> list[Any]:
        return [(tuple(shape), jnp.dtype(floating(registered, dtype)))]


def _declare_like(
    name: str, distribution: Distribution, text: str, numbers: list[Any], common: dict[str, Any]
) -> None:
    registered = f"_random_{name}_like"

    def draw(data: jax.Array, *, key: Any, **attributes: Any) -> Any:
        if not jnp.issubdtype(data.dtype, jnp.floating):
            raise DTypeError(
                f"{registered}: data is {data.dtype}; give an array of floating point."
            )
        values = [attributes[each] for each in distribution.parameters]
        return _drawn(distribution, key, data.shape, data.dtype, values)

    parameters = [array("data"), *numbers, _KEY]
    present(draw, registered, f"{text[:-1]}, in the shape and dtype of ``data``.", parameters)
    op(registered, check=distribution.check(registered), **common)(draw)


def _declare_of_arrays(
    name: str, distribution: Distribution, text: str, common: dict[str, Any]
) -> None:
    registered = f"_sample_{name}"

    def draw(*arrays: jax.Array, shape: Any, dtype: Any, key: Any) -> Any:
        dtype = floating(registered, dtype)
        check_one_dtype(registered, [each.dtype for each in arrays])
        if len({each.shape for each in arrays}) > 1:
            shapes = " and ".join(str(each.shape) for each in arrays)
            raise ShapeError(
                f"{registered}: parameters of shapes {shapes}; give them the same shape."
            )
        if distribution.by_attempts and source.is_drawn_by_host(key):
            # How much MXNet draws is not known before the parameters are.
            key = key if source.knows_arrays(key) else source.key_of(key)
        placed = [each.reshape(each.shape + (1,) * len(shape)) for each in arrays]
        return _drawn(distribution, key, arrays[0].shape + tuple(shape), dtype, placed)

    text = f"{text[:-1]}: ``shape`` of them for each element of the parameters."
    arrays = [array(each) for each in distribution.arrays or distribution.parameters]
    present(draw, registered, text, [*arrays, _SHAPE, _DTYPE, _KEY])
    op(
        registered,
        aliases=[f"sample_{name}"],
        dtypes=Dtypes(result=lambda attributes: attributes["dtype"] or "float32"),
        shape_constraint=begins_with_parameters,
        **common,
    )(draw)


for _name, _distribution in DISTRIBUTIONS.items():
    _declare(_name, _distribution)


def _check_range(low: float, high: float) -> None:
    if not float(low).is_integer() or not float(high).is_integer() or low >= high:
        raise OperatorValueError(
            f"randint: low={low:g}, high={high:g}, but they must be whole numbers with low < high."
        )


@op(
    "_random_randint",
    aliases=["random_randint", "_npi_random_randint"],
    check=_check_range,
    differentiable=False,
    draws_as_mxnet=True,
    shaped_by="shape",
)
def random_randint(
    *,
    low: Scalar,
    high: Scalar,
    shape: Extents = (),
    ctx: str = "",
    dtype: DType | None = None,
    key,
):
    """Whole numbers in [low, high), int32 by default.

    Raises:
        AttributeValueError: ``low`` is not below ``high``, or ``dtype`` is neither int32 nor int64.

    Source: MXNet operator ``_random_randint``.
    """
    dtype = one_of("_random_randint", dtype or "int32", ("int32", "int64"))
    first, end = jnp.asarray(low).astype(jnp.int64), jnp.asarray(high).astype(jnp.int64)
    if source.is_drawn_by_host(key):
        pairs = source.words(key, math.prod(shape), 2, shared=True).reshape(-1, 2)
        high_word, low_word = pairs[:, 0].astype(jnp.uint64), pairs[:, 1].astype(jnp.uint64)
        number = (high_word << np.uint64(31)) + low_word
        within = number % (end - first).astype(jnp.uint64)
        return (first + within.astype(jnp.int64)).reshape(shape).astype(dtype)
    return jax.random.randint(key, shape, first, end, jnp.int64).astype(dtype)


def _multinomial_outputs(get_prob: bool) -> int:
    return 2 if get_prob else 1


@op(
    "_sample_multinomial",
    aliases=["sample_multinomial"],
    outputs=_multinomial_outputs,
    draws_as_mxnet=True,
)
def sample_multinomial(
    data,
    *,
    shape: Extents = (),
    get_prob: bool = False,
    dtype: DType = "int32",
    key,
):
    """Category numbers drawn with the probabilities along the last axis; log-probabilities too.

    The gradient of the log-probabilities is that of the logarithm of the probabilities drawn.

    Args:
        data: ``(..., categories)``, adding up to 1 along the last axis.

    Returns:
        ``(..., *shape)``, ``(1,)`` where that is empty; with ``get_prob`` the log-probabilities in
        the same shape.

    Raises:
        DTypeError: ``data`` is not floating point.
        AttributeValueError: MXNet has no category numbers of that dtype.

    Source: MXNet operator ``_sample_multinomial``.
    """
    one_of("_sample_multinomial", dtype, ("int32", "uint8", "float16", "float32", "float64"))
    if not jnp.issubdtype(data.dtype, jnp.floating):
        raise DTypeError(f"_sample_multinomial: data is {data.dtype}; give probabilities.")
    batch = data.shape[:-1]
    chances = data.reshape((*batch, *(1,) * len(shape), data.shape[-1]))
    if source.is_drawn_by_host(key):
        ends = jnp.cumsum(jax.lax.stop_gradient(chances).astype(jnp.float32), -1)
        share = source.uniform(key, (*batch, *shape), np.float32)
        drawn = jnp.minimum((share[..., None] > ends).sum(-1), data.shape[-1] - 1)
    else:
        logits = jnp.log(jax.lax.stop_gradient(chances))
        drawn = jax.random.categorical(key, logits, -1, shape=(*batch, *shape))
    drawn = drawn.reshape(drawn.shape or (1,))
    if not get_prob:
        return drawn.astype(dtype)
    every = jnp.broadcast_to(chances, (*drawn.shape, data.shape[-1]))
    return drawn.astype(dtype), jnp.log(jnp.take_along_axis(every, drawn[..., None], -1)[..., 0])


@op(
    "_sample_unique_zipfian",
    outputs=2,
    output_names=("output0", "output1"),
    differentiable=False,
    draws_as_mxnet=True,
)
def sample_unique_zipfian(*, range_max: Positive, shape: Extents = (), key):
    """Distinct numbers below ``range_max``, k in proportion to ``log((k + 1.5) / (k + 0.5))``.

    Returns:
        ``(rows, count)`` of numbers that differ within a row, and the number of draws for each row,
        ``(rows,)``; both int64.

    Raises:
        ShapeError: ``shape`` does not have two axes.
        AttributeValueError: there are fewer numbers than a row needs.

    Source: MXNet operator ``_sample_unique_zipfian``.
    """
    if len(shape) != 2:
        raise ShapeError(f"_sample_unique_zipfian: shape={shape} must be (rows, count).")
    rows, count = shape
    if count > range_max:
        raise OperatorValueError(
            f"_sample_unique_zipfian: {count} different numbers do not exist below "
            f"range_max={range_max}."
        )
    if source.is_drawn_by_host(key):
        return source.unique_zipfian(key, range_max, rows, count)

    def row(key: jax.Array) -> tuple[Any, Any]:
        def missing(state: jax.Array) -> Any:
            return state[1] < count

        def draw(state: jax.Array) -> Any:
            drawn, number, tries = state
            share = jax.random.uniform(jax.random.fold_in(key, tries), (), jnp.float64)
            value = jnp.rint(jnp.exp(share * math.log(range_max))).astype(jnp.int64) - 1
            value = jnp.clip(value, 0, range_max - 1)
            new = ~jnp.any(drawn == value)
            drawn = drawn.at[number].set(jnp.where(new, value, drawn[number]))
            return drawn, number + new, tries + 1

        start = (jnp.full((count,), -1, jnp.int64), jnp.int64(0), jnp.int64(0))
        drawn, _, tries = loops.while_loop(missing, draw, start)
        return drawn, tries

    return jax.vmap(row)(jax.random.split(key, rows))


@op(
    "_shuffle",
    aliases=["shuffle", "_npi_shuffle"],
    differentiable=False,
    draws_as_mxnet=True,
    bfloat16="any",
)
def shuffle(data, *, key):
    """The slices along the first axis in random order.

    Source: MXNet operator ``_shuffle``.
    """
    if source.is_drawn_by_host(key):
        rows = data.ndim > 1
        return data[source.order(key, data.shape[0], rows)] if data.ndim else data
    return jax.random.permutation(key, data)
