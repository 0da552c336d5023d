"""Functions of ``mx.np`` that NumPy computes on the host, as in MXNet.

They read the values of their arrays, have no gradient, and cannot be part of a compiled graph.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as onp

from mixnet.autograd.scope import is_recording
from mixnet.autograd.tape import on_tape
from mixnet.base import GradientError, MXNetError, UnknownAttributeError
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.ndarray import ndarray

if TYPE_CHECKING:
    from mixnet.numpy.call import Operand

# MXNet 1.9.1's list. Functions that some versions of NumPy lack are below.
NAMES = [
    "allclose",
    "apply_along_axis",
    "apply_over_axes",
    "argpartition",
    "array_equal",
    "array_equiv",
    "choose",
    "compress",
    "corrcoef",
    "correlate",
    "count_nonzero",
    "cov",
    "digitize",
    "divmod",
    "float_power",
    "frexp",
    "heaviside",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "i0",
    "in1d",
    "interp",
    "intersect1d",
    "isclose",
    "isin",
    "ix_",
    "lexsort",
    "min_scalar_type",
    "modf",
    "msort",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "ndim",
    "packbits",
    "partition",
    "piecewise",
    "poly",
    "polyadd",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "positive",
    "promote_types",
    "ptp",
    "real",
    "result_type",
    "roots",
    "searchsorted",
    "select",
    "setdiff1d",
    "setxor1d",
    "signbit",
    "size",
    "spacing",
    "take_along_axis",
    "trapz",
    "tril_indices_from",
    "trim_zeros",
    "triu_indices_from",
    "union1d",
    "unpackbits",
    "unwrap",
    "vander",
    "alltrue",
]


def _count_nonzero(a: Any, axis: Any = None, **kwargs: Any) -> Any:
    count = onp.count_nonzero(a, axis, **kwargs)
    return int(count) if axis is None and isinstance(count, onp.generic) else count


# What newer versions of NumPy have not, or give in another class.
_OURS: dict[str, Any] = {
    "in1d": lambda ar1, ar2, **kw: onp.isin(onp.ravel(ar1), ar2, **kw),
    # A Python number without an axis, whatever the version.
    "count_nonzero": _count_nonzero,
    "msort": lambda a: onp.sort(a, axis=0),
    "trapz": getattr(onp, "trapezoid", getattr(onp, "trapz", None)),
    "alltrue": onp.all,
}

# NumPy itself took these out in 1.20; MXNet's names raise there too.
FINANCIAL = ["mirr", "npv", "pv", "ppmt", "rate"]


# Of dtypes, from low to high.
_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def _to_host(value: object) -> Any:
    if isinstance(value, NDArray):
        return value.asnumpy()
    if isinstance(value, (list, tuple)):
        return type(value)(_to_host(each) for each in value)
    return value


def _dtypes(values: Iterable[Any]) -> list[Any]:
    """Dtypes of the arrays with axes among values and in their lists."""
    of_arrays = [each.dtype for each in values if isinstance(each, onp.ndarray) and each.ndim]
    lists = [each for each in values if isinstance(each, (list, tuple))]
    return of_arrays + [dtype for each in lists for dtype in _dtypes(each)]


def _weak(value: Any, dtype: Any) -> Any:
    """A scalar as a Python number, where NumPy 1 lets arrays of that dtype decide on the result's.

    They do if the scalar is of no higher kind. NumPy 2 lets them decide only beside Python numbers,
    of which functions that make arrays of their arguments make float64 or int64.
    """
    if not isinstance(value, (onp.generic, onp.ndarray)) or value.ndim or value.dtype == dtype:
        return value
    if _KINDS.get(value.dtype.kind, 4) > _KINDS.get(dtype.kind, 4):
        return value
    if dtype.kind in "iu" and not onp.iinfo(dtype).min <= int(value) <= onp.iinfo(dtype).max:
        return value
    return value.item()


def _from_host(value: object) -> Any:
    if isinstance(value, onp.ndarray) and value.dtype.kind in "fiub":
        return ndarray._from_source(value)
    if isinstance(value, tuple):
        return tuple(_from_host(each) for each in value)
    if isinstance(value, list):
        return [_from_host(each) for each in value]
    return value


def _has_gradient(value: Operand) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_gradient(each) for each in value)
    return isinstance(value, NDArray) and on_tape(value._read())


def _has_array(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_array, value))
    return isinstance(value, NDArray)


_DOCSTRING = """``numpy.{0}``, with its arguments, computed by NumPy.

Arrays are read, which waits for them. The result is an ``mx.np`` array if an argument is one, else what
NumPy returns.

Raises:
    GradientError: an argument has a gradient, inside ``autograd.record()``.
"""


def on_host(
    name: str, function: Callable[..., Any], module: str = "mixnet.numpy"
) -> Callable[..., Any]:
    """A function of arrays that NumPy computes, which programs find in a module.

    Without an MXNet array among its arguments, the made function returns what NumPy returned.
    It raises GradientError where a gradient would have to go through it.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        if is_recording() and (_has_gradient(args) or _has_gradient(list(kwargs.values()))):
            raise GradientError(
                f"mx.np.{name} is computed by NumPy and has no gradient. Call it outside "
                f"autograd.record(), or on x.detach()."
            )
        host = {key: _to_host(value) for key, value in kwargs.items()}
        values = _to_host(args)
        if dtypes := _dtypes([*values, *host.values()]):
            dtype = onp.result_type(*dtypes)
            values = tuple(_weak(each, dtype) for each in values)
            host = {
                key: value if key == "out" else _weak(value, dtype) for key, value in host.items()
            }
        result = function(*values, **host)
        return _from_host(result) if _has_array([*args, *kwargs.values()]) else result

    run.__module__, run.__name__, run.__qualname__ = module, name, name
    run.__doc__ = _DOCSTRING.format(name)
    run.__wrapped__ = function  # type: ignore[attr-defined]
    return run


def _removed(name: str) -> Callable[..., Any]:
    def run(*args: object, **kwargs: object) -> Any:
        raise MXNetError(
            f"mx.np.{name}: NumPy removed its financial functions in version 1.20; the package "
            f"numpy_financial has them."
        )

    run.__name__ = run.__qualname__ = name
    run.__doc__ = "Raises: NumPy removed its financial functions; numpy_financial has them."
    return run


FUNCTIONS = {
    **{name: on_host(name, _OURS.get(name) or getattr(onp, name)) for name in NAMES},
    **{name: _removed(name) for name in FINANCIAL},
}

_ON_DEVICE = ("argwhere", "extract", "flatnonzero", "rollaxis")
"""Functions of MXNet's list that run on the device here."""


def __getattr__(name: str) -> Any:
    if name == "__all__":  # what `import *` brings
        return sorted({*FUNCTIONS, *_ON_DEVICE})
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name in _ON_DEVICE:
        return vars(importlib.import_module("mixnet.numpy"))[name]
    raise UnknownAttributeError(f"module {__name__!r} has no attribute {name!r}.")
