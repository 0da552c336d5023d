"""The arrays of parameters, as each step reads them: in one call for many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mixnet.gluon.parameter.parameter import Parameter
from mixnet.runtime.value.state import state

if TYPE_CHECKING:
    from mixnet.context import Context
    from mixnet.ndarray.ndarray import NDArray


def arrays_on(parameters: Mapping[str, Parameter], context: Context) -> dict[str, NDArray]:
    """``data(context)`` of parameters, by the same names.

    Raises:
        DeferredInitializationError: one waits for the first data.
        UninitializedError: one was not initialized, or is not on that context.
    """
    arrays = {}
    is_traced = state.trace is not None
    for name, each in parameters.items():
        # Without a call: every step comes here.
        if is_traced or type(each) is not Parameter or each._stype != "default":
            array = None
        else:
            array = each._arrays.get(context)
        arrays[name] = each.data(context) if array is None else array
    return arrays


def learned_arrays(
    parameters: Sequence[Parameter],
) -> list[tuple[int, Parameter, list[NDArray]]]:
    """The parameters with gradients: their positions, and their arrays on all contexts."""
    learned = []
    for i, each in enumerate(parameters):
        if type(each) is Parameter and each._arrays:  # without calls: every step comes here
            if each._grad_req != "null":
                learned.append((i, each, list(each._arrays.values())))
        elif each.grad_req != "null":
            learned.append((i, each, arrays_of(each)))
    return learned


def arrays_of(parameter: Parameter) -> list[NDArray]:
    """The arrays of a parameter, one per context, also of a row_sparse one."""
    if type(parameter) is not Parameter and parameter._stype == "default":
        return parameter.list_data()  # may be overridden
    parameter._check()
    return list(parameter._arrays.values())


def gradients_of(parameter: Parameter, arrays: list[NDArray] | None = None) -> list[NDArray]:
    """The gradients of a parameter, one per context; ``arrays`` are those of the parameter, if at hand."""
    if has_other_gradients(parameter):
        return parameter.list_grad()
    return [each.grad for each in arrays or arrays_of(parameter)]


def has_other_gradients(parameter: Parameter) -> bool:
    """Whether ``list_grad()`` may return other arrays than those to which backward writes."""
    # A method of a subclass may be overridden.
    return type(parameter) is not Parameter or bool(parameter._replaced_gradients)


def is_initialized(parameter: Parameter) -> bool:
    """Whether a parameter has arrays; one with deferred initialization has none yet."""
    return bool(parameter._arrays)
