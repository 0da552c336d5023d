"""``mx.nd.Custom``: call an operator registered with ``mx.operator`` on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.base import ShapeError
from mixnet.dtype import as_dtype
from mixnet.ndarray.invoke import Results, invoke_any
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.control.custom import registrations, runner_of
from mixnet.ops.registry import find
from mixnet.runtime.record.measure import UnknownSizeError
from mixnet.runtime.value.state import is_tracing, state


def Custom(*data: NDArray, op_type: str = "", **kwargs: Any) -> Results:
    """Call an operator written in Python.

    Args:
        data: its arguments in order, then its auxiliary states; or by name.
        op_type: name it was registered under.
        kwargs: its parameters, which reach it as strings.

    Raises:
        MXNetError: nothing is registered under that name.
        ShapeError: there are more arrays than it takes, or fewer.
        DTypeError: its ``infer_type`` wants arrays of other dtypes.
        MXNetError: its ``infer_shape`` or ``infer_type`` raised.
    """
    kwargs.pop("name", None)
    named = {k: kwargs.pop(k) for k in list(kwargs) if isinstance(kwargs[k], NDArray)}
    parameters = tuple(sorted((k, str(v)) for k, v in kwargs.items()))
    runner = runner_of(op_type, parameters)
    names = [*runner.arguments, *runner.states]
    arrays = [*data, *[named[name] for name in names[len(data) :] if name in named]]
    if len(arrays) != len(names):
        raise ShapeError(
            f"Custom: {op_type!r} takes {', '.join(names)}; {len(arrays)} array(s) were given."
        )
    # Both raise where the arrays do not fit. Shapes come first, as in MXNet: infer_type may read what
    # infer_shape kept.
    runner.output_shapes([each.shape for each in arrays[: len(runner.arguments)]])
    runner.dtypes([as_dtype(each.dtype) for each in arrays])
    if runner.has_open_shapes:
        if is_tracing():
            raise UnknownSizeError(
                f"Custom: {op_type!r} has open shapes: only values give them, and a graph that is being "
                f"traced has none. Call it outside of the hybridized block."
            )
        from mixnet.ndarray.open_custom import OpenCustom  # few programs need it

        outputs: list[NDArray] = OpenCustom(runner, op_type, bool(state.training))(*arrays)
        return outputs[0] if len(outputs) == 1 else outputs
    attributes = {
        "op_type": op_type,
        "parameters": parameters,
        "registration": registrations[op_type],
    }
    if not any(each._is_sparse for each in arrays):
        return invoke_any(find("Custom"), arrays, attributes)
    results = invoke_any(find("Custom"), _dense(arrays), attributes)
    types = runner.output_storage([each.stype for each in arrays[: len(runner.arguments)]])
    if isinstance(results, NDArray):
        return results.tostype(types[0])
    return [each.tostype(stype) for each, stype in zip(results, types, strict=True)]


def _dense(arrays: Sequence[NDArray]) -> list[NDArray]:
    """Arrays with their content on the tape, which is what forward reads of sparse ones, too."""
    return [NDArray._wrap(each._read()) if each._is_sparse else each for each in arrays]
