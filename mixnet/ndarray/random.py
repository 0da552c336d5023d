"""``mx.nd.random``: arrays of random numbers."""

from __future__ import annotations

from typing import Any

from mixnet.context import Context
from mixnet.dtype import as_dtype
from mixnet.ndarray.invoke import invoke
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find

_Parameter = float | NDArray


def _draw(
    scalar_op: str,
    sample_op: str,
    parameters: dict[str, Any],
    shape: Any,
    dtype: Any,
    ctx: Any,
    out: Any,
) -> Any:
    """Numbers as parameters: one distribution; arrays: ``shape`` numbers from each of them."""
    arrays = [each for each in parameters.values() if isinstance(each, NDArray)]
    if arrays:
        if len(arrays) != len(parameters):
            raise TypeError(
                f"{sample_op}: give {' and '.join(parameters)} all as arrays or all as numbers."
            )
        attributes = {"shape": () if shape is None else shape, "dtype": _name(dtype)}
        return invoke(find(sample_op), arrays, attributes, out)
    attributes = {**parameters, "shape": (1,) if shape is None else shape, "dtype": _name(dtype)}
    return invoke(find(scalar_op), (), {**attributes, "ctx": ctx}, out)


def _name(dtype: Any) -> str | None:
    return None if dtype in (None, "None") else as_dtype(dtype).name


def uniform(
    low: _Parameter = 0,
    high: _Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Uniform numbers in [low, high)."""
    parameters = {"low": low, "high": high}
    return _draw("_random_uniform", "_sample_uniform", parameters, shape, dtype, ctx, out)


def normal(
    loc: _Parameter = 0,
    scale: _Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Normal numbers with mean ``loc`` and standard deviation ``scale``."""
    parameters = {"loc": loc, "scale": scale}
    sample = {"mu": loc, "sigma": scale} if isinstance(loc, NDArray) else parameters
    return _draw("_random_normal", "_sample_normal", sample, shape, dtype, ctx, out)


def randn(*shape: int, **kwargs: Any) -> Any:
    """Normal numbers of the shape given as arguments."""
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    return normal(loc, scale, shape or (1,), **kwargs)


def randint(
    low: int,
    high: int,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Whole numbers in [low, high), int32 by default."""
    attributes = {"low": low, "high": high, "shape": (1,) if shape is None else shape}
    return invoke(
        find("_random_randint"), (), {**attributes, "dtype": _name(dtype), "ctx": ctx}, out
    )


def shuffle(data: NDArray, **kwargs: Any) -> Any:
    """The array with its first axis in random order."""
    return invoke(find("_shuffle"), (data,), {}, kwargs.get("out"))


def multinomial(
    data: NDArray,
    shape: Any = None,
    get_prob: bool = False,
    out: Any = None,
    dtype: Any = "int32",
    **kwargs: Any,
) -> Any:
    """Category numbers drawn with the probabilities ``data`` along its last axis."""
    attributes = {"shape": () if shape is None else shape, "get_prob": get_prob, "dtype": dtype}
    return invoke(find("_sample_multinomial"), (data,), attributes, out)


def _simple(op: str, sample: str, *names: str) -> Any:
    def draw(
        *args: Any,
        shape: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        given = dict(zip((*names, "shape", "dtype", "ctx", "out"), args, strict=False)) | kwargs
        parameters = {name: given.get(name, 1.0) for name in names}
        return _draw(
            op,
            sample,
            parameters,
            given.get("shape", shape),
            given.get("dtype", dtype),
            given.get("ctx", ctx),
            given.get("out", out),
        )

    draw.__name__ = draw.__qualname__ = op.removeprefix("_random_")
    draw.__doc__ = f"Numbers of the {draw.__name__} distribution with {', '.join(names)}."
    return draw


gamma = _simple("_random_gamma", "_sample_gamma", "alpha", "beta")
poisson = _simple("_random_poisson", "_sample_poisson", "lam")


def exponential(
    scale: _Parameter = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: Any = None,
    **kwargs: Any,
) -> Any:
    """Exponential numbers with mean ``scale``."""
    rate: Any = 1.0 / scale
    parameters = {"lam": rate}
    return _draw("_random_exponential", "_sample_exponential", parameters, shape, dtype, ctx, out)
