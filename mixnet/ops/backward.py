"""Gradients of operators: computed from head gradients and inputs by differentiating the forward function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import MXNetError, ShapeError
from mixnet.ops.array.indexing import index_copy
from mixnet.ops.array.plain import filled_like, in_dtype
from mixnet.ops.derive import array, parameters_of, present
from mixnet.ops.math.elementwise import quadratic
from mixnet.ops.math.gradient import gradient_multiplier
from mixnet.ops.math.hawkes import hawkesll
from mixnet.ops.op import Op
from mixnet.ops.operator import Statics
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import ONE
from mixnet.ops.schema.dtypes import to_dtype
from mixnet.private_jax.reverse import vjp


def gradients(
    forward: Any,
    statics: Statics,
    scalars: Sequence[Any],
    heads: Sequence[Any],
    headed: Sequence[int],
    inputs: Sequence[Any],
    wrt: Sequence[int],
) -> tuple[Any, ...]:
    """Gradients of the inputs ``wrt``, in their order.

    Those of whole numbers are what real numbers in their place have, cast to whole numbers.

    Args:
        forward: the operator; it is called again.
        statics: its bound attributes.
        scalars: its numbers that are inputs.
        heads: gradients of some outputs.
        headed: which outputs these are.
        inputs: all that the operator was called with.
        wrt: which of them are asked for.
    """
    _, pull = with_gradients(forward, statics, scalars, inputs, headed, wrt, reads_outputs=False)
    return pull(heads, headed, wrt)


def with_gradients(
    forward: Any,
    statics: Statics,
    scalars: Sequence[Any],
    inputs: Sequence[Any],
    headed: Sequence[int],
    wrt: Sequence[int],
    reads_outputs: bool = True,
) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
    """All outputs of an operator, and a function that gives gradients without computing it again.

    Args:
        forward: the operator.
        statics: its bound attributes.
        scalars: its numbers that are inputs.
        inputs: what it is called with.
        headed: the outputs that may get gradients.
        wrt: the inputs whose gradients may be asked for.
        reads_outputs: whether the caller reads the outputs; otherwise they may be shapes and dtypes alone.

    Returns:
        The outputs, and ``pull(heads, headed, wrt)`` for some of ``headed`` and of ``wrt``,
        as in :func:`gradients`.
    """
    if forward.passes_gradient:
        return tuple(forward.apply(statics, inputs, scalars)), _passing(inputs)
    kinds = {inputs[i].dtype for i in wrt}
    whole = {kind for kind in kinds if jnp.issubdtype(kind, jnp.integer)}
    declared = None if whole else forward.with_declared_gradient(statics, inputs, scalars)
    if declared is not None:
        outputs, rule = declared
        return outputs, _by_rule(outputs, rule, inputs)
    stand_ins = _in_real_numbers(inputs, whole) if whole else list(inputs)
    real = [i for i in wrt if jnp.issubdtype(stand_ins[i].dtype, jnp.floating)]

    def run(*varied: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        placed = list(stand_ins)
        for i, value in zip(real, varied, strict=True):
            placed[i] = value
        outputs = tuple(forward.apply(statics, placed, scalars))
        return tuple(outputs[i] for i in headed), outputs

    if whole:
        try:
            jax.eval_shape(run, *[stand_ins[i] for i in real])
        except (MXNetError, TypeError, ValueError):
            # Nothing that takes real numbers, as bitwise_and: without a gradient.
            stand_ins = list(inputs)
            real = [i for i in wrt if jnp.issubdtype(inputs[i].dtype, jnp.floating)]

    varied = [stand_ins[i] for i in real]
    primal, pull, outputs = vjp(run, *varied, reads_results=reads_outputs)
    if whole and reads_outputs:
        outputs = tuple(forward.apply(statics, inputs, scalars))

    def gradients_of(
        heads: Sequence[Any], some: Sequence[int], positions: Sequence[int]
    ) -> tuple[Any, ...]:
        head_cotangents = dict(zip(some, heads, strict=True))
        cotangents = tuple(
            _as_cotangent(head_cotangents.get(i), output)
            for i, output in zip(headed, primal, strict=True)
        )
        gradients = dict(zip(real, pull(cotangents), strict=True))
        return tuple(
            to_dtype(gradients[i], inputs[i].dtype)
            if i in gradients
            else jnp.zeros(inputs[i].shape, inputs[i].dtype)
            for i in positions
        )

    return outputs, gradients_of


def _by_rule(outputs: Sequence[Any], pull: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
    """Gradients by a rule for all outputs and inputs; of other outputs the heads are zeros."""

    def gradients_of(
        heads: Sequence[Any], some: Sequence[int], positions: Sequence[int]
    ) -> tuple[Any, ...]:
        cotangents = dict(zip(some, heads, strict=True))
        placed = [_as_cotangent(cotangents.get(i), output) for i, output in enumerate(outputs)]
        gradients = pull(placed)
        return tuple(_like(gradients[i], inputs[i]) for i in positions)

    return gradients_of


def _like(gradient: Any, array: Any) -> Any:
    """A gradient in the shape and dtype of its array; zeros for None."""
    if gradient is None:
        return filled_like(array, 0)
    if gradient.shape != array.shape:
        gradient = jnp.broadcast_to(gradient, array.shape)
    return in_dtype(gradient, array.dtype)


def _passing(inputs: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    """Gradients of a cast: the head in the dtype of the input."""

    def gradients_of(
        heads: Sequence[Any], some: Sequence[int], positions: Sequence[int]
    ) -> tuple[Any, ...]:
        return tuple(to_dtype(heads[0], inputs[i].dtype) for i in positions)

    return gradients_of


def _in_real_numbers(inputs: Sequence[Any], kinds: Collection[Any]) -> list[Any]:
    """The inputs, those of some whole dtypes cast to a real one: JAX has no derivative by integers.

    It is the dtype of the real inputs, if there are any, for many operators want one dtype.
    """
    dtypes = [each.dtype for each in inputs if jnp.issubdtype(each.dtype, jnp.floating)]
    wide = dtypes[0] if dtypes else jnp.float64
    return [each.astype(wide) if each.dtype in kinds else each for each in inputs]


def _as_cotangent(head: Any, output: Any) -> Any:
    if not jnp.issubdtype(output.dtype, jnp.floating):
        return jnp.zeros(output.shape, jax.dtypes.float0)
    return filled_like(output, 0) if head is None else in_dtype(head, output.dtype)


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
    several = inspect.Parameter("data", inspect.Parameter.VAR_POSITIONAL)
    arrays = several if reads_inputs else array("data")
    present(backward, called, text, [arrays, *parameters_of(forward)])
    return op(called, outputs=count, num_args=None, in_amp_lists=False)(backward)


_declare_backward(gradient_multiplier, reads_inputs=False)
_declare_backward(hawkesll, heads=2)
_declare_backward(index_copy)
_declare_backward(quadratic)
