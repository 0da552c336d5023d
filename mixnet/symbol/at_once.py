"""Calls of a network that is one part of a backend: past the engine, in the calling thread.

A prediction of a small network takes a few milliseconds, after which the processor's caches hold
none of the code that records operations and hands them over: that took half a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from mixnet.engine.timeline import timeline
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.devices.host_value import HostValue
from mixnet.runtime.devices.to_device import to_device
from mixnet.runtime.trace.graph_op import by_operator
from mixnet.runtime.value.memory import logs
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value, array_of
from mixnet.symbol.backend import whole_part
from mixnet.symbol.symbol import Symbol


class AtOnce:
    """The part that is all of a symbol, as a function of the network's inputs.

    Args:
        part: from :func:`mixnet.symbol.backend.whole_part`.
        places: of its inputs, among the arrays of a call.
    """

    def __init__(self, part: Any, places: Sequence[int]):
        self._part, self._places = part, places
        self._outputs: dict[tuple[Spec, ...], list[Spec] | None] = {}

    @classmethod
    def of(cls, symbol: Symbol, names: Sequence[str]) -> AtOnce | None:
        """The function; None if a symbol is more than a part, or its backend has to be called in turns.

        Args:
            symbol: optimized for a backend.
            names: of the arrays of a call.
        """
        part, inputs = whole_part(symbol)
        if part is None or not part.backend.is_thread_safe or not set(inputs) <= set(names):
            return None
        return cls(part, [names.index(each) for each in inputs])

    def __call__(self, leaves: Sequence[NDArray]) -> list[NDArray] | None:
        """The outputs; None if the call has to be recorded: for those who watch, or to report an error.

        Args:
            leaves: arrays of one context.
        """
        if timeline.on or logs or by_operator.on or state.isolation is not None:
            return None
        values = [leaves[i]._read() for i in self._places]
        specs = tuple([each.spec for each in values])
        try:
            outputs = self._outputs[specs]
        except KeyError:
            outputs = self._outputs[specs] = self._specs(specs)
        if outputs is None:
            return None
        host_arrays = [_on_host(each) for each in values]
        try:
            results = self._part.call(host_arrays)
        except Exception:  # the recorded call reports it, with the user's line
            return None
        cls, arrays = type(leaves[0]), []
        for result, spec in zip(results, outputs, strict=True):
            data = self._own(result, spec.dtype)
            if data.shape != spec.shape:
                return None
            arrays.append(cls._wrap(HostValue(spec, data)))
        return arrays

    def _own(self, result: object, dtype: np.dtype) -> np.ndarray:
        """A result as an array that nothing else writes to."""
        if self._part.backend.gives_new_arrays:
            if type(result) is np.ndarray and result.dtype is dtype and result.flags.c_contiguous:
                return result
            return np.asarray(result, dtype, order="C")
        return np.array(result, dtype, order="C")

    def _specs(self, inputs: tuple[Spec, ...]) -> list[Spec] | None:
        """The specs of the outputs; None if they are not for this path."""
        contexts = {each.context for each in inputs}
        context = contexts.pop() if len(contexts) == 1 else None
        if context is None or context.device.platform != "cpu":
            return None
        try:
            structs = self._part.structs(inputs)
        except Exception:
            return None
        specs = [Spec.of(tuple(each.shape), np.dtype(each.dtype), context) for each in structs]
        with jax.enable_x64(True):
            for each in specs:  # the layout of an array with 64 bits is made where JAX knows them
                to_device(np.zeros(each.shape, each.dtype), each)
        return specs


def _on_host(value: Value) -> np.ndarray:
    """The content of a value of a CPU context as a NumPy array, not copied where that is possible."""
    if type(value) is HostValue:
        data = value.host_array
        return np.asarray(array_of(value)) if data is None else data
    view: np.ndarray | None = getattr(value, "view", None)
    if view is None:
        view = np.asarray(array_of(value))
        value.view, value.shared = view, True
    return view
