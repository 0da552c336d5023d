"""Computing on the host: a thread's operations run immediately, on NumPy arrays.

The samples of a data loader are computed this way: each has a different shape and needs a few small
operations, so compiling programs for them would take longer than everything else; and worker processes have
no devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import ContextError, MXNetError
from mixnet.context import Context
from mixnet.ops.generators.source import DrawnForHost
from mixnet.ops.lowering.host import ON_HOST
from mixnet.ops.random.threefry import fold_in
from mixnet.ops.schema.stream import is_table
from mixnet.runtime.interpret import on_numpy, patience
from mixnet.runtime.record.record import record
from mixnet.runtime.value.call import explained
from mixnet.runtime.value.handle import Handle
from mixnet.runtime.value.state import state, untraced
from mixnet.runtime.value.value import Spec, Value, adopt, array_of

if TYPE_CHECKING:
    import jax

    from mixnet.ops.operator import Operator, Statics


class HostRun:
    """Replaces a thread's trace: operations run immediately, and nothing is recorded.

    Args:
        alone: this process has no devices, so an operation that NumPy cannot do is an error, and
            Python operators and recorded operations run if every program is interpreted
            (:mod:`mixnet.runtime.forked`); otherwise, all of them run on their device as usual.
    """

    host = True

    def __init__(self, alone: bool = False):
        self.alone = alone

    def parameter(self, parameter: object, data: Any) -> Any:
        """The array that represents a block's parameter: here the array itself."""
        return data

    def run(
        self,
        op: Operator,
        statics: Statics,
        scalars: tuple[float, ...],
        values: Sequence[Value],
        context: Context | None,
    ) -> list[Value]:
        """The outputs of one operation, computed."""
        # An operation on a tape must run where its gradient will run.
        if state.recording and self._has_programs():
            return _recorded(op, statics, scalars, values, context)
        where = context or values[0].spec.context.compute
        arrays = [self.array(value) for value in values]
        rule = ON_HOST.get(op.name)
        if rule is not None:
            if op.takes_key:
                *inputs, stream = arrays
                keywords = op.keywords(statics, scalars[:-1])
                key = _key(stream, int(scalars[-1]))
                results = rule(*inputs, key=key, **keywords)
            else:
                results = rule(*arrays, **op.keywords(statics, scalars))
            if results is not NotImplemented:  # a rule may know only some dtypes or layouts
                outputs = results if isinstance(results, tuple) else (results,)
                return [host_value(each, where) for each in outputs]
        program = _program(op, statics, len(scalars), values)
        if program is None:
            if self.alone and not (op.calls_python and patience.is_only_way):
                raise _impossible(op)
            return _recorded(op, statics, scalars, values, context)
        results = program(*arrays, *[np.float64(each) for each in scalars])
        return [host_value(each, where) for each in results]

    def array(self, value: Value) -> np.ndarray:
        """The content of a value as a read-only NumPy array."""
        array = value.array
        if type(array) is np.ndarray:
            return array
        if self.alone:
            is_lost = array is None and not self._has_programs()
            if is_lost or value.spec.context.device_type == "gpu":
                raise MXNetError(
                    f"An array on {value.spec.context} of the main process was read in a worker "
                    f"process of a DataLoader, which has no devices. Keep the data of a dataset on "
                    f"the CPU, or use DataLoader(..., thread_pool=True)."
                )
        if array is None:
            with untraced():  # the value was recorded before this scope, for its device
                array = array_of(value)
        return np.asarray(array)

    def copied(self, value: Value, context: Context) -> Value | None:
        """``value`` on another context; None if a device has to copy it."""
        if self.alone:
            check_context(context)
        elif context.device_type == "gpu" or value.spec.context.device_type == "gpu":
            return None
        return host_value(self.array(value), context)

    def _has_programs(self) -> bool:
        """Whether operations can be recorded in segments, and run later."""
        return not self.alone or patience.is_only_way


def _recorded(
    op: Operator,
    statics: Statics,
    scalars: tuple[float, ...],
    values: Sequence[Value],
    context: Context | None,
) -> list[Value]:
    """The outputs of an operation that runs outside of the scope."""
    with untraced():
        return record(op, statics, scalars, tuple(values), context)


def _impossible(op: Operator) -> MXNetError:
    return MXNetError(
        f"{op.name} needs a device, and worker processes of a DataLoader have none: they "
        f"compute with NumPy. Use NumPy for it in the dataset or in batchify_fn, or use "
        f"DataLoader(..., thread_pool=True) or num_workers=0."
    )


def _key(stream: np.ndarray, number: int) -> Any:
    """The key of a draw for a NumPy rule, or the numbers of a table."""
    if is_table(stream):
        return DrawnForHost(stream, number)
    return fold_in(stream[:2], int(stream[2]) + number)


def host_value(array: object, context: Context) -> Value:
    """A value from a NumPy array that will not be modified."""
    array = np.asarray(array)
    value = Value(Spec.of(array.shape, array.dtype, context), array)
    value.shared = True  # the memory may be shared, so it is never reused for results
    return value


def on_device(value: Value) -> Value:
    """The value on its device, if it was computed on the host; otherwise itself.

    A device that shares the host's memory uses the array as it is, since it is never written to.
    """
    array = value.array
    if type(array) is not np.ndarray:
        return value
    with untraced():
        adopted = adopt(array, value.spec.context)
    adopted.shared = True  # other objects may share the memory
    return adopted


def check_context(context: Context) -> None:
    """Raise an error if a worker process would put an array on a device.

    Raises:
        ContextError: the device is a GPU.
    """
    if context.device_type == "gpu":
        raise ContextError(
            f"A worker process of a DataLoader cannot put an array on {context}: it has no "
            f"devices. Move batches in the training loop, with as_in_context()."
        )


@contextmanager
def on_host(alone: bool = False) -> Iterator[None]:
    """Scope in which this thread computes with NumPy; nothing changes within a trace.

    Autograd does not record across the scope: a tape recorded inside is independent of the one outside.

    Args:
        alone: this process has no devices.
    """
    before, recording = state.trace, state.recording
    if before is not None:  # a trace records operations that run later; it must not contain results
        yield
        return
    state.trace, state.recording = HostRun(alone), False
    try:
        yield
    finally:
        state.trace, state.recording = before, recording


def put_on_device(value: Any) -> None:
    """Move the arrays in nested lists, tuples and dictionaries from the host to their devices."""
    if isinstance(value, (list, tuple)):
        for each in value:
            put_on_device(each)
    elif isinstance(value, dict):
        for each in value.values():
            put_on_device(each)
    elif isinstance(value, Handle):
        link = value._link
        # A view has read its base, and reads it again after it is written.
        for handle in (value, None if link is None else link.base):
            if handle is not None and type(handle._value.array) is np.ndarray:
                handle._value = on_device(handle._value)


_programs: dict[Any, Callable[..., list[np.ndarray]] | None] = {}
_MOST_PROGRAMS = 4096
"""The most cached programs; images have many shapes."""


def _program(
    op: Operator, statics: Statics, scalars: int, values: Sequence[Value]
) -> Callable[..., list[np.ndarray]] | None:
    """The operator for arrays of these specs on NumPy; None if it cannot run there."""
    specs = tuple([value.spec for value in values])
    key = (op, statics, scalars, specs)
    if key in _programs:
        return _programs[key]
    if op.calls_python:
        return None
    count = len(specs)
    structs = [spec.struct for spec in specs]

    def apply(*arrays: jax.Array) -> Any:
        return op.apply(statics, list(arrays[:count]), list(arrays[count:]))

    try:
        program: Callable[..., list[np.ndarray]] | None = on_numpy.compiled(
            apply, *structs, *[_SCALAR] * scalars
        )
    except on_numpy.NoRuleError:
        program = None
    except Exception as error:
        problem = explained(op, statics, specs, error)
        raise problem from problem.__cause__
    if len(_programs) >= _MOST_PROGRAMS:
        _programs.clear()
    _programs[key] = program
    return program


_SCALAR = np.float64(0)
