"""A call: an operator with static attributes on inputs of known specs. Created once and cached."""

from __future__ import annotations

from itertools import islice

from mixnet.base import ContextError, MXNetError
from mixnet.context import Context
from mixnet.ops.op import Op
from mixnet.ops.operator import Operator, Statics, is_own
from mixnet.ops.parameters import as_called
from mixnet.ops.reason import explain
from mixnet.passes.infer_shape import evaluate
from mixnet.runtime.value.turns import turns_of
from mixnet.runtime.value.value import Spec

MOST_CALLS = 4096
"""The most calls that an operator caches; beyond that, the older half is dropped."""


class Call:
    """The structure of one recorded operation; calls are compared by identity.

    ``outputs`` holds the specs of all outputs, states included, by abstract evaluation.
    """

    __slots__ = (
        "alone",
        "context",
        "in_caller",
        "num_scalars",
        "op",
        "outputs",
        "parties",
        "residuals",
        "specs",
        "statics",
        "turns",
        "visible",
    )

    def __init__(
        self,
        op: Operator,
        statics: Statics,
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
        # The number of devices with which it exchanges data.
        self.parties = op.parties(statics)
        # An operation that runs Python may fail or take long; it must not affect others.
        self.alone = op.calls_python
        self.in_caller = self.alone and op.runs_in_caller
        self.turns = turns_of(op.shared(statics)) if self.alone else ()
        # Hidden outputs that backward reads.
        self.residuals = op.num_residuals(statics)
        self.visible = op.num_visible(statics, len(specs))


def make_call(
    op: Operator, statics: Statics, specs: tuple[Spec, ...], scalars: int, context: Context | None
) -> Call:
    """Check a new call and cache it in ``op.calls``.

    Raises:
        ContextError: the inputs are on different devices.
        ShapeError: the operator does not accept these shapes and dtypes.
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
    if isinstance(op, Op) and op.lacks_arrays(statics, len(specs) - op.takes_key):
        raise explained(op, statics, specs, TypeError("an array was not given"))
    known = tuple([(spec.shape, spec.dtype) for spec in specs])
    try:
        results = evaluate(op, statics, known, scalars)
    except Exception as error:
        problem = explained(op, statics, specs, error)
        raise problem from problem.__cause__
    outputs = tuple([Spec.of(shape, dtype, where) for shape, dtype in results])
    call = Call(op, statics, specs, where, outputs, scalars)
    if len(op.calls) >= MOST_CALLS:
        for each in list(islice(op.calls, MOST_CALLS // 2)):
            op.calls.pop(each, None)
    op.calls[(statics, specs, context)] = call
    return call


def is_on_several_cpus(specs: tuple[Spec, ...]) -> bool:
    """Whether inputs are on different CPU contexts, which share one memory in MXNet."""
    contexts = {spec.context.compute for spec in specs}
    return len(contexts) > 1 and all(each.device_type == "cpu" for each in contexts)


def explained(
    op: Operator, statics: Statics, specs: tuple[Spec, ...], error: Exception
) -> Exception:
    """Rephrase an error of shape evaluation in the caller's terms.

    The error has no traceback yet, so the traceback starts where it is raised: a line inside one of
    mixnet's operators would not help the caller. JAX's error is its ``__context__``, which is shown only
    for the user's own operators.
    """
    by_user = is_own(op)
    if isinstance(error, MXNetError) and not by_user:
        # Without JAX's note that it has omitted frames.
        notes = getattr(error, "__notes__", ())
        error.__notes__ = [each for each in notes if "JAX" not in each]
        error.args = (as_called(str(error)), *error.args[1:])
        return error.with_traceback(None)
    if isinstance(error, MXNetError):
        return error
    explanation = explain(op, statics, [s.shape for s in specs], [s.dtype for s in specs], error)
    if by_user:
        explanation.__cause__ = error
    return explanation
