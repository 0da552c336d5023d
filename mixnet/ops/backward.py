"""Gradients of operators: from heads and inputs, by the derivative of the forward operator."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import ShapeError
from mixnet.ops.attributes import ONE
from mixnet.ops.derive import array, parameters_of, present
from mixnet.ops.elementwise import quadratic
from mixnet.ops.gradient import gradient_multiplier
from mixnet.ops.hawkes import hawkesll
from mixnet.ops.indexing import index_copy
from mixnet.ops.registry import Op, op


def gradients(
    forward: Any,
    statics: Any,
    scalars: Sequence[Any],
    heads: Sequence[Any],
    headed: Sequence[int],
    inputs: Sequence[Any],
    wanted: Sequence[int],
) -> tuple[Any, ...]:
    """Gradients of the inputs ``wanted``, in their order; zeros for those of whole numbers.

    Args:
        forward: the operator; it is called again.
        statics: its bound attributes.
        scalars: its numbers that are inputs.
        heads: gradients of some outputs.
        headed: which outputs these are.
        inputs: all that the operator was called with.
        wanted: which of them are asked for.
    """
    return outputs_and_gradients(forward, statics, scalars, heads, headed, inputs, wanted)[1]


def outputs_and_gradients(
    forward: Any,
    statics: Any,
    scalars: Sequence[Any],
    heads: Sequence[Any],
    headed: Sequence[int],
    inputs: Sequence[Any],
    wanted: Sequence[int],
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """All outputs of the operator, and what :func:`gradients` says: both of one computation."""
    real = [i for i in wanted if jnp.issubdtype(inputs[i].dtype, jnp.floating)]

    def run(*varied: Any) -> tuple[tuple, tuple]:
        placed = list(inputs)
        for i, value in zip(real, varied, strict=True):
            placed[i] = value
        outputs = tuple(forward.apply(statics, placed, scalars))
        return tuple(outputs[i] for i in headed), outputs

    differentiated, pull, outputs = jax.vjp(run, *[inputs[i] for i in real], has_aux=True)
    cotangents = tuple(_as_cotangent(h, o) for h, o in zip(heads, differentiated, strict=True))
    found = dict(zip(real, pull(cotangents), strict=True))
    return outputs, tuple(
        found[i] if i in found else jnp.zeros(inputs[i].shape, inputs[i].dtype) for i in wanted
    )


def _as_cotangent(head: Any, output: Any) -> Any:
    if not jnp.issubdtype(output.dtype, jnp.floating):
        return jnp.zeros(output.shape, jax.dtypes.float0)
    return head.astype(output.dtype)


def _declare_backward(forward: Op, heads: int = 1, reads_inputs: bool = True) -> Op:
    """The operator with a gradient of each input of ``forward``.

    Args:
        forward: named ``_contrib_<name>``; the new one is ``_contrib_backward_<name>``.
        heads: how many outputs it has.
        reads_inputs: whether the gradients depend on the inputs, which then follow the heads.
    """
    called = forward.name.replace("_contrib_", "_contrib_backward_")
    count = len(forward.arrays)
    inputs_text = f", then {', '.join(forward.arrays)}" if reads_inputs else ""

    def backward(*data: Any, **attributes: Any) -> tuple[Any, ...]:
        expected = heads + count if reads_inputs else heads
        if len(data) != expected:
            raise ShapeError(
                f"{called}: {len(data)} array(s), but it takes {expected}: gradients of the "
                f"{heads} output(s){inputs_text}."
            )
        names = forward.attributes
        statics = tuple(ONE if each in forward.dynamic else attributes[each] for each in names)
        scalars = [attributes[each] for each in forward.dynamic]
        inputs = data[heads:] if reads_inputs else data
        return gradients(
            forward, statics, scalars, data[:heads], range(heads), inputs, range(count)
        )

    text = (
        f"Gradients of the inputs of ``{forward.name}``, from those of its outputs{inputs_text}.\n\n"
        f"Raises:\n    ShapeError: another number of arrays."
    )
    if reads_inputs:
        arrays = inspect.Parameter("data", inspect.Parameter.VAR_POSITIONAL)
    else:
        arrays = array("data")
    present(backward, called, text, [arrays, *parameters_of(forward)])
    return op(called, outputs=count, num_args=None)(backward)


_declare_backward(gradient_multiplier, reads_inputs=False)
_declare_backward(hawkesll, heads=2)
_declare_backward(index_copy)
_declare_backward(quadratic)
