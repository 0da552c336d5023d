"""Random numbers of ``mx.np.random``: parameters are numbers or arrays that broadcast together.

A parameter that is None comes as an array, ``input1`` first. Where a sample is a smooth function of
its parameters, gradients flow into them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mixnet.base import (
    OperatorTypeError,
    OperatorValueError,
    ShapeError,
)
from mixnet.ops.derive import array, attribute, present
from mixnet.ops.generators import source
from mixnet.ops.random.sample import (
    check_one_dtype,
    floating,
    gamma,
    normal,
    one_of,
    parameter,
    standard_uniform,
    uniform,
    working_dtype,
)
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import (
    Count,
    DType,
    Extents,
    LongCount,
    NonNegativeScalar,
    PositiveScalar,
    Scalar,
)
from mixnet.ops.schema.ranges import Length, Range

_INPUTS = ("input1", "input2")

# MXNet's single generator draws for these operators.
_uniform, _normal = partial(uniform, shared=False), partial(normal, shared=False)
_uniform.__doc__, _normal.__doc__ = uniform.__doc__, normal.__doc__


def _standard_exponential(key: Any, shape: Sequence[int], dtype: DTypeLike) -> Any:
    if source.is_drawn_by_host(key):
        return -jnp.log(standard_uniform(key, shape, dtype))
    return jax.random.exponential(key, shape, dtype)


def _gumbel(
    key: jax.Array, shape: Sequence[int], dtype: DTypeLike, loc: jax.Array, scale: jax.Array
) -> Any:
    """Gumbel numbers around ``loc``."""
    if source.is_drawn_by_host(key):
        return loc - scale * jnp.log(_standard_exponential(key, shape, dtype))
    return loc + scale * jax.random.gumbel(key, shape, dtype)


def _logistic(
    key: jax.Array, shape: Sequence[int], dtype: DTypeLike, loc: jax.Array, scale: jax.Array
) -> Any:
    """Logistic numbers around ``loc``."""
    if source.is_drawn_by_host(key):
        share = standard_uniform(key, shape, dtype)
        return loc + scale * (jnp.log(share) - jnp.log(1 - share))
    return loc + scale * jax.random.logistic(key, shape, dtype)


def _exponential(key: jax.Array, shape: Sequence[int], dtype: DTypeLike, scale: jax.Array) -> Any:
    """Exponential numbers of mean ``scale``."""
    return scale * _standard_exponential(key, shape, dtype)


def _rayleigh(key: jax.Array, shape: Sequence[int], dtype: DTypeLike, scale: jax.Array) -> Any:
    """Rayleigh numbers: lengths of plane vectors with normal parts of deviation ``scale``."""
    return scale * jnp.sqrt(2 * _standard_exponential(key, shape, dtype))


def _pareto(key: jax.Array, shape: Sequence[int], dtype: DTypeLike, a: jax.Array) -> Any:
    """Numbers of Pareto's second kind with exponent ``a``, from 0 on."""
    return jnp.expm1(_standard_exponential(key, shape, dtype) / a)


def _power(key: jax.Array, shape: Sequence[int], dtype: DTypeLike, a: jax.Array) -> Any:
    """Numbers in [0, 1] with density ``a x^(a-1)``."""
    if source.is_drawn_by_host(key):  # MXNet draws one more than it needs
        share = source.uniform(key, (math.prod(shape) + 1,), dtype)
        return (1 - share[:-1].reshape(shape)) ** (1 / a)
    return (1 - standard_uniform(key, shape, dtype)) ** (1 / a)


def _weibull(key: jax.Array, shape: Sequence[int], dtype: DTypeLike, a: jax.Array) -> Any:
    """Weibull numbers of shape ``a`` and scale 1."""
    return _standard_exponential(key, shape, dtype) ** (1 / a)


def _gamma(
    key: jax.Array, shape: Sequence[int], dtype: DTypeLike, alpha: jax.Array, scale: jax.Array
) -> Any:
    """Gamma numbers of shape ``alpha`` and scale ``beta``."""
    if source.is_drawn_by_host(key):
        return source.accepted(key, "gamma", shape, dtype, alpha, scale)
    return gamma(key, shape, dtype, alpha, scale)


def _array_inputs(names: Sequence[str]) -> Callable[..., tuple[str, ...]]:
    """Which arrays a call takes: one for each of these parameters that is not a number."""

    def arguments(**attributes: Any) -> tuple[str, ...]:
        return _INPUTS[: sum(attributes[name] is None for name in names)]

    parameters = [attribute(name, Any) for name in names]
    arguments.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return arguments


def _parameters(name: str, parameters: dict[str, Any], inputs: Sequence[Any]) -> list[Any]:
    """The parameters in order: numbers as they are, the others from the inputs."""
    arrays = iter([each for each in inputs if each is not None])
    values = [next(arrays, None) if each is None else each for each in parameters.values()]
    if any(each is None for each in values) or next(arrays, None) is not None:
        raise OperatorTypeError(
            f"{name}: give each of {', '.join(parameters)} either as a number or as an array."
        )
    return values


def _full_shape(name: str, size: Any, parameters: Sequence[Any], batch: bool) -> tuple[int, ...]:
    """Shape of the result: ``size``, or the parameters' own; with ``batch`` one before the other."""
    own = jnp.broadcast_shapes(*(jnp.shape(each) for each in parameters))
    if not size:
        return own
    if batch:
        return (*size, *own)
    try:
        fits = jnp.broadcast_shapes(own, tuple(size)) == tuple(size)
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"{name}: parameters of shape {own} do not broadcast to size={size}.")
    return tuple(size)


def _declare(
    name: str,
    draw: Callable[..., Any],
    parameters: dict[str, Any],
    *,
    dtypes: bool = False,
    batch: bool = False,
    differentiable: bool = True,
    as_mxnet: bool = True,
) -> None:
    """Declare an operator.

    Args:
        name: its name.
        draw: numbers of a shape and dtype from a key and the parameters.
        parameters: names, with annotation and default; ``...`` for none.
        dtypes: whether it has the attribute ``dtype``.
        batch: whether ``size`` stands before the shape of the parameters, or is the whole shape.
        differentiable: whether gradients flow into the parameters.
        as_mxnet: whether it draws from MXNet's generators.
    """

    def drawn(
        *inputs: jax.Array, size: Any, ctx: str, key: Any, dtype: Any = None, **attributes: Any
    ) -> Any:
        dtype = floating(name, dtype)
        check_one_dtype(name, [each.dtype for each in inputs if each is not None])
        working = working_dtype(dtype)
        if source.is_drawn_by_host(key):
            if draw is not _gamma:
                working = np.dtype(np.float32)  # whatever the result is
            elif inputs and inputs[0] is not None and not source.knows_arrays(key):
                # How much MXNet draws is not known before the parameters are.
                key = source.key_of(key)
        values = [parameter(each, working) for each in _parameters(name, attributes, inputs)]
        shape = _full_shape(name, size, values, batch)
        return draw(key, shape, working, *values).astype(dtype)

    def results(
        *inputs: Any, size: Any, ctx: str, dtype: Any = None, **attributes: Any
    ) -> list[Any]:
        check_one_dtype(name, [dtype for _, dtype in inputs[:-1]])
        arrays = [np.broadcast_to(0, shape) for shape, _ in inputs[:-1]]
        values = _parameters(name, attributes, arrays)
        own = [each if isinstance(each, np.ndarray) else 0 for each in values]
        return [(_full_shape(name, size, own, batch), jnp.dtype(floating(name, dtype)))]

    numbers = [
        attribute(each, kind | None, inspect.Parameter.empty if of is ... else of)
        for each, (kind, of) in parameters.items()
    ]
    numbers += [attribute("size", Extents | None, None), attribute("ctx", str, "cpu")]
    if dtypes:
        numbers.append(attribute("dtype", DType | None, "float32"))
    inputs = [array(each).replace(default=None) for each in _INPUTS[: len(parameters)]]
    present(drawn, name, draw.__doc__ or "", [*inputs, *numbers, attribute("key", Any)])
    on_numpy = as_mxnet and draw in (_uniform, _normal)
    # MXNet keeps the standard draw as a hidden second output, and numbers the names then.
    outputs = ("output0",) if differentiable and name != "_npi_gamma" else ("output",)
    declared = op(name, arguments=_array_inputs(list(parameters)), output_names=outputs,
                  differentiable=differentiable, draws_per_element=True, draws_as_mxnet=as_mxnet,
                  draws_by_value=draw is _gamma,
                  draws_on_numpy="size" if on_numpy else None, in_amp_lists=as_mxnet)(drawn)  # fmt: skip
    declared.infer_outputs(results)


_ENDS: dict[str, Any] = {"low": (Scalar, ...), "high": (Scalar, ...)}
_PLACE: dict[str, Any] = {"loc": (Scalar, ...), "scale": (NonNegativeScalar, ...)}
_SCALE: dict[str, Any] = {"scale": (NonNegativeScalar, 1.0)}
_SHAPE: dict[str, Any] = {"a": (PositiveScalar, None)}
_GAMMA: dict[str, Any] = {"shape": (PositiveScalar, ...), "scale": (PositiveScalar, ...)}
_declare("_npi_uniform", _uniform, _ENDS, dtypes=True, differentiable=False)
_declare("_npi_uniform_n", _uniform, _ENDS, dtypes=True, batch=True, differentiable=False)
_declare("_npi_normal", _normal, _PLACE, dtypes=True)
_declare("_npi_normal_n", _normal, _PLACE, dtypes=True, batch=True)
# Noise that leaves MXNet's generators alone, for what draws there from one that no seed reaches.
_declare("_noise", _normal, _PLACE, dtypes=True, as_mxnet=False)
_declare("_npi_gamma", _gamma, _GAMMA, dtypes=True, differentiable=False)
_declare("_npi_gumbel", _gumbel, _PLACE)
_declare("_npi_logistic", _logistic, _PLACE)
_declare("_npi_exponential", _exponential, _SCALE)
_declare("_npi_rayleigh", _rayleigh, _SCALE)
_declare("_npi_pareto", _pareto, _SHAPE)
_declare("_npi_powerd", _power, _SHAPE, differentiable=False)
_declare("_npi_weibull", _weibull, _SHAPE)


def _bernoulli_inputs(prob: jax.Array, logit: jax.Array) -> tuple[str, ...]:
    return ("input1",) if prob is None and logit is None else ()


@op(
    "_npi_bernoulli",
    arguments=_bernoulli_inputs,
    differentiable=False,
    draws_as_mxnet=True,
)
def bernoulli(
    input1=None,
    *,
    prob: Annotated[Scalar, Range(0, 1)] | None,
    logit: Scalar | None,
    size: Extents | None = None,
    ctx: str = "cpu",
    dtype: DType = "float32",
    is_logit: bool,
    key,
):
    """1 with probability ``prob``, else 0.

    Args:
        input1: probabilities, or logits with ``is_logit``, if neither is a number.
        logit: logarithm of ``prob / (1 - prob)``.

    Raises:
        AttributeTypeError: there is neither a probability nor a logit.
        AttributeValueError: MXNet has no result of that dtype.
        ShapeError: the parameter does not broadcast to ``size``.

    Source: MXNet operator ``_npi_bernoulli``.
    """
    name = "_npi_bernoulli"
    one_of(name, dtype, ("bool", "float16", "float32", "float64", "int32", "uint8"))
    value = input1
    if value is None:
        value = logit if is_logit else prob
    if value is None:
        raise OperatorTypeError(f"{name}: give prob, logit or an array of either.")
    chance = parameter(value, "float32")
    if is_logit:
        chance = jax.nn.sigmoid(chance)
    shape = _full_shape(name, size, [chance], False)
    if source.is_drawn_by_host(key):
        return (source.uniform(key, shape, np.float32) < chance).astype(dtype)
    return jax.random.bernoulli(key, chance, shape).astype(dtype)


def _choice_inputs(a: jax.Array, weighted: bool) -> tuple[str, ...]:
    return _INPUTS[: int(a is None) + int(weighted)]


@op("_npi_choice", arguments=_choice_inputs, differentiable=False, draws_as_mxnet=True)
def choice(
    input1=None,
    input2=None,
    *,
    a: LongCount | None,
    size: Extents | None,
    ctx: str = "cpu",
    replace: bool = True,
    weighted: bool = False,
    key,
):
    """Draw positions from ``range(a)``, int64.

    Args:
        input1: if ``a`` is None, the array from whose positions are drawn.
        input2: with ``weighted``, the probability of each position; ``input1`` if ``a`` is a number.
        replace: whether a position may be drawn again.

    Raises:
        AttributeValueError: without ``replace``, more positions are to be drawn than there are.
        ShapeError: the number of probabilities differs from that of positions.

    Source: MXNet operator ``_npi_choice``.
    """
    inputs = [each for each in (input1, input2) if each is not None]
    places = inputs.pop(0).size if a is None else a
    chances = inputs[0].reshape(-1) if weighted else None
    shape = tuple(size or ())
    count = 1
    for extent in shape:
        count *= extent
    if not replace and count > places:
        raise OperatorValueError(
            f"_npi_choice: {count} of {places} places cannot differ; use replace=True."
        )
    if chances is not None and chances.size != places:
        raise ShapeError(f"_npi_choice: {chances.size} probabilities for {places} places.")
    if not places and count:
        raise OperatorValueError(f"_npi_choice: there are {places} places to draw from.")
    if source.is_drawn_by_host(key):
        return _choice_by_mxnet(key, places, shape, replace, chances)
    return jax.random.choice(key, places, shape, replace, chances).astype(jnp.int64)


def _choice_by_mxnet(
    key: Any, places: int, shape: tuple[int, ...], replace: bool, chances: Any
) -> Any:
    count = math.prod(shape)
    if not replace and chances is None:
        return source.choice(key, places, count).reshape(shape)
    if not replace:
        share = source.uniform(key, (places,), np.float32)
        order = jnp.argsort(-jnp.log(share) / chances.astype(jnp.float32))
        return order[:count].reshape(shape).astype(jnp.int64)
    if chances is None:
        word = source.words(key, math.prod(shape)).astype(jnp.int64)
        return (word % places).reshape(shape)
    share = source.uniform(key, shape, np.float32)
    ends = jnp.cumsum(chances.astype(jnp.float32))
    return jnp.minimum((share[..., None] > ends).sum(-1), places - 1).astype(jnp.int64)


def _check_shares(pvals: jax.Array) -> None:
    if pvals is not None and sum(pvals[:-1]) > 1 + 1e-12:
        raise OperatorValueError(f"_npi_multinomial: pvals={pvals} add up to more than 1.")


def _multinomial_inputs(pvals: jax.Array) -> tuple[str, ...]:
    return ("a",) if pvals is None else ()


@op(
    "_npi_multinomial",
    arguments=_multinomial_inputs,
    check=_check_shares,
    differentiable=False,
    draws_as_mxnet=True,
)
def multinomial(
    a=None,
    *,
    n: Count,
    pvals: Annotated[tuple[float, ...], Length(1, math.inf), Range(0, 1)] | None = None,
    size: Extents | None = None,
    key,
):
    """How often each category occurs in ``n`` draws, int64; the last one has the remaining probability.

    Args:
        a: the probabilities, if ``pvals`` is None.

    Returns:
        ``(*size, categories)``.

    Raises:
        AttributeValueError: ``pvals`` add up to more than 1.

    Source: MXNet operator ``_npi_multinomial``.
    """
    chances = jnp.asarray(a if pvals is None else pvals).astype(jnp.float64)
    chances = chances.at[-1].set(jnp.maximum(1 - jnp.sum(chances[:-1]), 0))
    shape = (*(size or ()), chances.shape[-1])
    if source.is_drawn_by_host(key):
        return _multinomial_by_mxnet(key, n, chances, shape, spare=pvals is not None)
    return jax.random.multinomial(key, jnp.float64(n), chances, shape=shape).astype(jnp.int64)


def _multinomial_by_mxnet(
    key: Any, n: int, chances: Any, shape: tuple[int, ...], spare: bool
) -> Any:
    """Counts of ``n`` numbers between the ends of the categories.

    Args:
        key: of the host.
        n: how many numbers a row of the result takes.
        chances: of each category.
        shape: of the result.
        spare: whether MXNet draws a number for each category too, which nothing reads.
    """
    rows, categories = math.prod(shape[:-1]), shape[-1]
    drawn = source.uniform(key, (rows * n + spare * categories,), np.float64)
    share = drawn[: rows * n].reshape(rows, 1, n)
    below = (share < jnp.cumsum(chances)[:-1, None]).sum(-1)
    ends = jnp.concatenate([jnp.zeros((rows, 1), np.int64), below, jnp.full((rows, 1), n)], axis=1)
    return jnp.diff(ends, axis=1).reshape(shape).astype(jnp.int64)
