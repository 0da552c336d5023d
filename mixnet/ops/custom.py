"""Operators written by users in Python: a node that calls back from the compiled program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        return runner.backward(
            arrays[: len(heads)], arrays[len(heads) : len(heads) + count],
            arrays[len(heads) + count :],
        )  # fmt: skip

    found = jax.pure_callback(call, structs, *heads, *data, *outputs)
    return tuple(
        g if jnp.issubdtype(d.dtype, jnp.floating) else None
        for g, d in zip(found, data, strict=True)
    )
