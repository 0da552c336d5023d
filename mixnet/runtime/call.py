"""A call: an operator with static attributes on inputs of known specs. Made once, remembered."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from mixnet.base import ContextError, MXNetError, ShapeError
from mixnet.context import Context
from mixnet.ops.attributes import Dynamic
from mixnet.runtime.value import Spec

_SCALAR = jax.ShapeDtypeStruct((), np.dtype("float64"))


class Call:
    """The structure of one recorded operation; calls are compared by identity.

    ``outputs`` holds the specs of all outputs, states included, by abstract evaluation.
    """

    __slots__ = (
        "alone",
        "context",
        "num_scalars",
        "op",
        "outputs",
        "parties",
        "residuals",
        "specs",
        "statics",
        "visible",
    )

    def __init__(
        self,
        op: Any,
        statics: Any,
        specs: tuple[Spec, ...],
        context: Context,
        outputs: tuple[Spec, ...],
        num_scalars: int,
    ):
        self.op = op
        self.statics = statics
        self.specs = specs
        self.context = context
        self.outputs = outputs
        self.num_scalars = num_scalars
        # Which devices it computes with, if not by itself.
        self.parties = op.parties(statics) if getattr(op, "over_devices", None) else None
        # An operation that runs Python may fail or take long: nothing else shall with it.
        self.alone = getattr(op, "calls_python", False)
        # Hidden outputs kept for backward.
        keeps = getattr(op, "keeps_outputs", False)
        self.residuals = op.num_residuals(statics) if keeps else getattr(op, "residuals", 0)
        self.visible = op.num_visible(statics, len(specs))


def make_call(
    op: Any, statics: Any, specs: tuple[Spec, ...], scalars: int, context: Context | None
) -> Call:
    """Check a call that was never seen and remember it in ``op.calls``.

    Raises:
        ContextError: the inputs are on different devices.
        ShapeError: the operator does not take these shapes and dtypes.
    """
    where = context or specs[0].context.compute
    for spec in specs:
        if spec.context is not where and spec.context.compute is not where.compute:
            raise ContextError(
                f"{op.name}: inputs are on different devices: "
                f"{', '.join(str(each.context) for each in specs)}. Move them to one with "
                f"as_in_context()."
            )
    where.device  # a device that does not exist is an error here, at the user's line  # noqa: B018
    structs = [spec.struct for spec in specs]
    numbers = [_SCALAR] * scalars
    try:
        with jax.enable_x64(True):
            found = jax.eval_shape(lambda a, s: op.apply(statics, a, s), structs, numbers)
    except MXNetError:
        raise
    except Exception as error:
        raise explain(op, statics, specs, error) from error
    outputs = tuple(Spec.of(tuple(s.shape), np.dtype(s.dtype), where) for s in found)
    call = Call(op, statics, specs, where, outputs, scalars)
    op.calls[(statics, specs, context)] = call
    return call


def explain(op: Any, statics: Any, specs: tuple[Spec, ...], error: Exception) -> ShapeError:
    """An error in the user's terms for one that JAX raised while evaluating shapes."""
    names = getattr(op, "arrays", ())
    inputs = ", ".join(
        f"{names[i] if i < len(names) else i}: {spec.dtype.name}{list(spec.shape)}"
        for i, spec in enumerate(specs)
    )
    keywords = op.keywords if hasattr(op, "signature_text") else None
    known = keywords(statics) if keywords else {}
    stated = {k: v for k, v in known.items() if v not in (None, ()) and type(v) is not Dynamic}
    given = ", ".join(f"{k}={v!r}" for k, v in stated.items())
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    usage = f" Call it as {op.signature_text()}." if keywords else ""
    return ShapeError(
        f"{op.name} does not take inputs ({inputs}) with {given or 'no attributes'}: "
        f"{reason}{usage}"
    )
