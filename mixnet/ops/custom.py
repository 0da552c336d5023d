"""Operators written by users in Python: a node that calls back from the compiled program."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from mixnet.base import MXNetError
from mixnet.ops.registry import op


class Runner(Protocol):
    """What an operator of a user offers to the node; see ``mixnet.operator``."""

    arguments: list[str]
    outputs: list[str]

    def structs(self, inputs: Sequence[Any]) -> tuple[list[tuple[int, ...]], list[np.dtype]]:
        """Shapes and dtypes of the outputs for inputs of known ones."""

    def input_shapes(self, shapes: Sequence[Any]) -> list[tuple[int, ...]]:
        """Shapes of all inputs from those of some."""

    def forward(self, training: bool, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Outputs."""

    def backward(
        self, heads: Sequence[np.ndarray], inputs: Sequence[np.ndarray], outputs: Sequence[Any]
    ) -> list[np.ndarray]:
        """Gradients of the inputs."""


_raised: deque[tuple[str, Exception]] = deque(maxlen=16)


@contextmanager
def _kept(op_type: str) -> Iterator[None]:
    """Keep what the user's code raises: XLA hands on its text alone."""
    try:
        yield
    except Exception as error:
        _raised.append((op_type, error))
        raise


def explained(error: Exception) -> Exception:
    """The error of a program in terms of the custom operator that raised in it, if one did."""
    text = str(error)
    for op_type, original in list(_raised):
        if error is original or (type(original).__name__ in text and str(original) in text):
            _raised.remove((op_type, original))
            made = MXNetError(f"Custom: {op_type!r} raised {type(original).__name__}: {original}")
            made.__cause__ = original
            return made
    return error


FACTORIES: dict[str, Callable[..., Runner]] = {}
_made: dict[Any, Runner] = {}


def runner_of(op_type: str, parameters: tuple[tuple[str, str], ...]) -> Runner:
    """The runner of a registered operator with these parameters.

    Raises:
        MXNetError: nothing is registered under that name.
    """
    if op_type not in FACTORIES:
        known = ", ".join(sorted(FACTORIES)) or "none yet"
        raise MXNetError(
            f"Custom: op_type={op_type!r} is not registered; there are: {known}. Register it with "
            f"@mx.operator.register({op_type!r})."
        )
    key = (FACTORIES[op_type], parameters)
    if key not in _made:
        _made[key] = FACTORIES[op_type](**dict(parameters))
    return _made[key]


def _count(op_type: str, parameters: tuple) -> int:
    return len(runner_of(op_type, parameters).outputs)


@op("Custom", outputs=_count, num_args="num_args_", calls_python=True)
def custom(*data, op_type: str, parameters: tuple = (), training):
    """The operator registered as ``op_type``; it runs in Python, on the host.

    Args:
        data: its arguments in order.

    Source: MXNet operator ``Custom``.
    """
    runner = runner_of(op_type, parameters)
    shapes, dtypes = runner.structs(data)
    structs = [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)]

    def call(*inputs: Any) -> list[np.ndarray]:
        with _kept(op_type):
            return runner.forward(training, [np.asarray(each) for each in inputs])

    return tuple(jax.pure_callback(call, structs, *data))


@custom.set_gradient
def _(heads, outputs, *data, op_type, parameters, training):
    runner = runner_of(op_type, parameters)
    heads = heads if isinstance(heads, tuple) else (heads,)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    structs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in data]
    count = len(data)

    def call(*given: Any) -> list[np.ndarray]:
        arrays = [np.asarray(each) for each in given]
        inputs, results = arrays[len(heads) : len(heads) + count], arrays[len(heads) + count :]
        with _kept(op_type):
            return runner.backward(arrays[: len(heads)], inputs, results)

    found = jax.pure_callback(call, structs, *heads, *data, *outputs)
    return tuple(
        g if jnp.issubdtype(d.dtype, jnp.floating) else None
        for g, d in zip(found, data, strict=True)
    )
