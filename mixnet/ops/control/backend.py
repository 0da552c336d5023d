"""A part of a graph that is computed by something other than XLA."""

from __future__ import annotations

from typing import Any, Protocol

import jax

from mixnet.ops.registry import op


class Runner(Protocol):
    """What computes a part."""

    count: int

    def structs(self, inputs: jax.Array) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the outputs, from those of the inputs."""

    def run(self, *arrays: Any) -> list[Any]:
        """The outputs."""


@op(
    "_backend_part",
    num_args=None,
    outputs=lambda part: part.count,
    output_names=lambda part: [
        f"output{i}" if part.count > 1 else "output" for i in range(part.count)
    ],
    differentiable=False,
    calls_python=True,
    runs_in_caller=True,
    shares=lambda part: part,
    in_amp_lists=False,
)
def backend_part(*data, part: Any):
    """What a backend computes; see ``Symbol.optimize_for``.

    Args:
        data: what the part reads.
        part: computes it.
    """
    return tuple(jax.pure_callback(part.run, part.structs(data), *data))


@backend_part.infer_outputs
def _(*data: jax.Array, part: Any) -> list[tuple[tuple[int, ...], Any]]:
    inputs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in data]
    return [(each.shape, each.dtype) for each in part.structs(inputs)]
