"""User-defined operators in Python: a node that calls back from the compiled program."""

from __future__ import annotations

import logging
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import jax
import numpy as np

from mixnet.base import MXNetError
from mixnet.ops.array.dynamic import needs_values
from mixnet.ops.registry import op
from mixnet.private_jax.ending import filter_callback_errors, forget_failed_callback


class Runner(Protocol):
    """What an operator of a user offers to the node; see ``mixnet.operator``.

    ``ticket`` is what a run gives for its gradient to find what the operator has kept.
    """

    arguments: list[str]
    outputs: list[str]
    states: list[str]
    has_open_shapes: bool

    def run_at_once(self, training: bool, instance: int, values: Sequence[Any]) -> list[Any]:
        """The values of the outputs, of an operator with open shapes."""

    def structs(self, inputs: Sequence[Any]) -> tuple[list[tuple[int, ...]], list[np.dtype]]:
        """Shapes and dtypes of the outputs for arguments of known ones."""

    def output_shapes(self, inputs: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Shapes of the outputs for arguments of known ones."""

    def output_storage(self, inputs: Sequence[str]) -> list[str]:
        """Storage types of the outputs for arguments of known ones."""

    def input_shapes(self, shapes: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """Shapes of arguments and states from those of some arguments."""

    def dtypes(self, known: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Dtypes of arguments and states, and of outputs, from those that are known; None for
        unknown ones.
        """

    def create(
        self, instance: int, shapes: Sequence[Sequence[int]], dtypes: Sequence[np.dtype]
    ) -> Any:
        """The operator of an instance for arguments and states of these shapes and dtypes."""

    def forward(
        self,
        training: bool,
        instance: int,
        inputs: Sequence[np.ndarray],
        states: Sequence[np.ndarray],
    ) -> tuple[list[np.ndarray], float, list[np.ndarray]]:
        """Outputs, ticket, new states."""

    def backward(
        self,
        ticket: float,
        heads: Sequence[np.ndarray],
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        states: Sequence[np.ndarray],
    ) -> list[np.ndarray]:
        """Gradients of the inputs, then new states."""


_raised: deque[tuple[str, Exception]] = deque(maxlen=16)


@contextmanager
def keep_errors(op_type: str = "") -> Iterator[None]:
    """Keep what Python raises that a program calls: XLA hands on its text alone.

    Args:
        op_type: the custom operator whose code runs; empty for code of the library.
    """
    try:
        yield
    except Exception as error:
        vars(error)["_is_raised_at_reader"] = True
        _raised.append((op_type, error))
        raise


def _is_news(record: logging.LogRecord) -> bool:
    """Whether JAX logs the error of a callback that nobody else tells: ours are raised at the reader."""
    error = record.exc_info[1] if record.exc_info else None
    is_raised = isinstance(error, KeyboardInterrupt) or hasattr(error, "_is_raised_at_reader")
    return not is_raised


filter_callback_errors(_is_news)

_INTERRUPT = re.compile("^KeyboardInterrupt", re.MULTILINE)


def explained(error: Exception) -> BaseException:
    """The error of a program in terms of the Python that raised in it, if any did."""
    text = str(error)
    for op_type, original in list(_raised):
        if error is original or (type(original).__name__ in text and str(original) in text):
            with suppress(ValueError):  # another thread, whose error has the same text, was quicker
                _raised.remove((op_type, original))
            forget_failed_callback()
            if not op_type:
                return original.with_traceback(None)
            wrapped = MXNetError(
                f"Custom: {op_type!r} raised {type(original).__name__}: {original}"
            )
            wrapped.__cause__ = original
            return wrapped
    if _INTERRUPT.search(text):  # in the operator's code, or in JAX's on the way there
        forget_failed_callback()
        return KeyboardInterrupt()
    return error


FACTORIES: dict[str, Callable[..., Runner]] = {}
registrations: Counter[str] = Counter()  # how often something was registered under a name
_runners: dict[Any, Runner] = {}


def add_factory(op_type: str, factory: Callable[..., Runner]) -> None:
    """Register a factory of runners; one that had the name before is forgotten."""
    before = FACTORIES.get(op_type)
    FACTORIES[op_type] = factory
    for key in [each for each in list(_runners) if each[0] is before]:
        _runners.pop(key, None)
    registrations[op_type] += 1


def runner_of(op_type: str, parameters: tuple[tuple[str, str], ...]) -> Runner:
    """The runner of a registered operator with these parameters.

    Raises:
        MXNetError: nothing is registered under that name.
    """
    factory = FACTORIES.get(op_type)
    if factory is None:
        known = ", ".join(sorted(FACTORIES)) or "none yet"
        raise MXNetError(
            f"Custom: op_type={op_type!r} is not registered; there are: {known}. Register it with "
            f"@mx.operator.register({op_type!r})."
        )
    key = (factory, parameters)
    runner = _runners.get(key)
    if runner is None:
        # Of two threads that get here, both use the runner of the first: it has what forward leaves for
        # backward.
        runner = _runners.setdefault(key, factory(**dict(parameters)))
    return runner


def _arguments(op_type: str, parameters: tuple) -> list[str]:
    runner = runner_of(op_type, parameters)
    return [*runner.arguments, *runner.states]


def _states(op_type: str, parameters: tuple) -> range:
    runner = runner_of(op_type, parameters)
    count = len(runner.arguments)
    return range(count, count + len(runner.states))


def _visible(op_type: str, parameters: tuple) -> int:
    return len(runner_of(op_type, parameters).outputs)


# The output behind the visible ones is the ticket, a number that floats hold exactly.
_TICKET = jax.ShapeDtypeStruct((1,), np.dtype("float32"))


@op(
    "Custom",
    recomputed="never",
    arguments=_arguments,
    outputs=lambda op_type, parameters: _visible(op_type, parameters) + 1,
    visible=_visible,
    output_names=lambda op_type, parameters: runner_of(op_type, parameters).outputs,
    states=_states,
    num_args="num_args_",
    calls_python=True,
    shares=lambda instance: instance or None,
    keeps_outputs=True,
    states_in_backward=True,
    precision="full",
    aliases=["_npi_Custom"],
)
def custom(
    *data,
    op_type: str,
    parameters: tuple = (),
    instance: int = 0,
    registration: int = 0,
    training,
):
    """The operator registered as ``op_type``; it runs in Python, on the host.

    Args:
        data: its arguments in order, then its auxiliary states.
        instance: calls with the same number, other than 0, share one operator object, as those of an
            executor do.
        registration: which of the registrations under this name is called, so that compiled programs of an
            earlier one are not used for it.

    Source: MXNet operator ``Custom``.
    """
    runner = runner_of(op_type, parameters)
    count = len(runner.arguments)
    shapes, dtypes = runner.structs(data[:count])
    if runner.has_open_shapes:
        raise needs_values(f"Custom: {op_type!r}")
    structs = [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)]
    structs += [_TICKET, *[jax.ShapeDtypeStruct(e.shape, e.dtype) for e in data[count:]]]

    def call(*values: Any) -> list[np.ndarray]:
        arrays = [np.asarray(each) for each in values]
        with keep_errors(op_type):
            outputs, ticket, states = runner.forward(
                training, instance, arrays[:count], arrays[count:]
            )
        return [*outputs, np.array([ticket], np.float32), *states]

    return tuple(jax.pure_callback(call, structs, *data))


@custom.set_runs_at_once
def _(op_type, parameters):
    return runner_of(op_type, parameters).has_open_shapes


def run_at_once(attributes: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
    """The outputs of an operator with open shapes.

    Args:
        attributes: of the call.
        values: of its arguments.
    """
    runner = runner_of(attributes["op_type"], attributes["parameters"])
    return runner.run_at_once(attributes["training"], attributes["instance"], values)


@custom.infer_inputs
def _(op_type, parameters, **shapes):
    runner = runner_of(op_type, parameters)
    return runner.input_shapes(shapes) if shapes.keys() >= set(runner.arguments[:1]) else {}


@custom.infer_outputs
def _(*inputs, op_type, parameters, **others):
    runner = runner_of(op_type, parameters)
    count = len(runner.arguments)
    arguments, states = inputs[:count], inputs[count:]
    if any(dtype is None for _, dtype in arguments):  # only shapes are wanted
        shapes = runner.output_shapes([shape for shape, _ in arguments])
        dtypes: list[Any] = [None] * len(shapes)
    else:
        structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in arguments]
        shapes, dtypes = runner.structs(structs)
    return [*zip(shapes, dtypes, strict=True), (_TICKET.shape, _TICKET.dtype), *states]


@custom.infer_dtypes
def _(known, op_type, parameters, **others):
    return runner_of(op_type, parameters).dtypes(known)


@custom.set_gradient
def _(heads, outputs, *data, op_type, parameters, instance, registration, training):
    runner = runner_of(op_type, parameters)
    result_count, count = len(runner.outputs), len(runner.arguments)
    structs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in data]

    def call(*values: Any) -> list[np.ndarray]:
        arrays = iter([np.asarray(each) for each in values])
        ticket = float(next(arrays)[0])
        parts = [
            [next(arrays) for _ in range(each)]
            for each in (result_count, count, result_count, len(runner.states))
        ]
        with keep_errors(op_type):
            return runner.backward(ticket, *parts)

    # Those that forward has left, or what the arrays hold when backward comes, see ``autograd.tape``.
    inputs = [*heads[:result_count], *data[:count], *outputs[:result_count]]
    states = outputs[result_count + 1 :]
    return tuple(jax.pure_callback(call, structs, outputs[result_count], *inputs, *states))
