"""The jaxpr of an operator for given shapes and dtypes, traced once and cached."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import jax
import numpy as np

from mixnet.base import MXNetError
from mixnet.ops.operator import Operator, Statics, is_own
from mixnet.ops.tracing import stored, trace_cache
from mixnet.ops.tracing.family import Family
from mixnet.ops.tracing.template import Call, kind_of
from mixnet.private_jax.jaxprs import ClosedJaxpr
from mixnet.private_jax.tracing import flat_tracer, whole_tracebacks

Known = tuple[tuple[int, ...], np.dtype]  # shape and dtype

MOST_TRACES = 10_000
"""Number of cached jaxprs beyond which the older half is dropped."""

_NUMBER: Known = ((), np.dtype("float64"))
"""The spec with which scalar inputs are traced."""

_traces: dict[Any, ClosedJaxpr] = {}
_families: dict[Any, Family] = {}

KIND = "templates"
"""The kind of a stored entry: a list of the templates of a family."""


def traced(op: Operator, statics: Statics, inputs: tuple[Known, ...], scalars: int) -> ClosedJaxpr:
    """The jaxpr of ``op.apply``: its inputs are the arrays, then the scalars.

    Args:
        op: the operator.
        statics: its bound attributes.
        inputs: shape and dtype of each array.
        scalars: the number of scalar inputs.

    Raises:
        Exception: the operator's error for such inputs.
    """
    key = (op, statics, inputs, scalars)
    jaxpr = _traces.get(key)
    if jaxpr is None:
        jaxpr = _written_or_traced(op, statics, inputs, scalars)
        if len(_traces) >= MOST_TRACES:
            for each in list(islice(_traces, MOST_TRACES // 2)):
                _traces.pop(each, None)
        _traces[key] = jaxpr
    return jaxpr


def _written_or_traced(
    op: Operator, statics: Statics, inputs: tuple[Known, ...], scalars: int
) -> ClosedJaxpr:
    """The jaxpr, created from traces for other shapes if these determine it."""
    # A user's function may treat few elements differently from many.
    if is_own(op.forward or op):
        return _traced(op, statics, inputs, scalars)
    call = Call(statics, inputs)
    kind = kind_of(call) or call  # without an open extent, there is no other call of the kind
    key = (op, kind, scalars)
    family = _families.get(key)
    if family is None:
        if len(_families) >= MOST_TRACES:
            _families.clear()
        family = _families[key] = Family()
        templates = stored.find(KIND, *key)
        if templates is not None:
            family.know(templates)
    jaxpr = family.at(call, lambda other: trace(op, other, scalars))
    if jaxpr is None and trace_cache.recall(family, *key):
        jaxpr = family.at(call, lambda other: trace(op, other, scalars))
    if jaxpr is None:
        jaxpr = _traced(op, statics, inputs, scalars)
        family.learn(call, jaxpr)
    return jaxpr


def _traced(op: Operator, statics: Statics, inputs: tuple[Known, ...], scalars: int) -> ClosedJaxpr:
    count = len(inputs)

    def run(*arrays: Any) -> Any:
        return op.apply(statics, arrays[:count], arrays[count:])

    return trace_function(run, inputs, scalars)


def trace_function(function: Any, inputs: Sequence[Known], scalars: int) -> ClosedJaxpr:
    """The jaxpr of a function of arrays and then of float64 numbers."""
    known = (*inputs, *[_NUMBER] * scalars)
    if _trace is not None:
        try:
            with whole_tracebacks():
                return _traced_flat(function, known)
        except MXNetError:
            raise
        except Exception:  # traced again below, JAX's error names the operator's own lines
            pass
    structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in known]
    with whole_tracebacks(), jax.enable_x64(True):
        return jax.make_jaxpr(function)(*structs)


def _traced_flat(function: Any, known: Sequence[Known]) -> ClosedJaxpr:
    """The same in a third of the time: nested jits are inlined instead of traced one by one."""
    avals = [jax.core.ShapedArray(shape, dtype) for shape, dtype in known]
    with jax.enable_x64(True), jax.disable_jit():
        assert _trace is not None
        jaxpr, constants = _trace(_flat(function), avals)
    return ClosedJaxpr(jaxpr, constants)


def _flat(function: Any) -> Any:
    def run(*arrays: Any) -> list[Any]:
        results = function(*arrays)
        return list(results) if isinstance(results, (tuple, list)) else [results]

    return run


_trace = flat_tracer()


def trace(op: Operator, call: Call, scalars: int) -> ClosedJaxpr:
    """The jaxpr of a call, always by tracing.

    Args:
        op: the operator.
        call: its attributes and inputs.
        scalars: how many numbers are inputs too.

    Raises:
        Exception: what the operator raises for such inputs.
    """
    return _traced(op, call.statics, tuple(call.inputs), scalars)


def families() -> list[tuple[Any, Family]]:
    """The families so far, by their keys."""
    return list(_families.items())


def clear() -> None:
    """Forget all traces."""
    _traces.clear()
    _families.clear()
