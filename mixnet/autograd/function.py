"""Functions with a gradient written by the user in Python."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.autograd.scope import RecordingScope
from mixnet.base import (
    AttributeTypeError,
    CheckError,
    GradientError,
    MXNetError,
    NotDefinedError,
    ShapeError,
)
from mixnet.graph.node import Entry, Node
from mixnet.ops.operator import Operator, Statics
from mixnet.ops.registry import find
from mixnet.runtime.record.record import record as record_operation
from mixnet.runtime.value.handle import Handle
from mixnet.runtime.value.state import state
from mixnet.runtime.value.value import Spec, Value


class FunctionOp(Operator):
    """The node of one call of a :class:`Function`."""

    differentiable = True
    starts_gradients = True  # backward may return any gradient, whatever arrives

    def __init__(self, function: Function, inputs: Sequence[Spec], outputs: Sequence[Any]):
        super().__init__()
        self.user_function = function
        self.inputs = inputs
        self.name = type(function).__name__
        self.results = tuple([(each.shape, each._spec.dtype) for each in outputs])
        self.outputs = [(each._wrap, each.shape, each._zeros_like) for each in outputs]

    def num_outputs(self, statics: Statics = (), num_inputs: int = 0) -> int:
        return len(self.outputs)

    def backward_node(self, node: Node, heads: Sequence[Any], wrt: Sequence[int]) -> Node:
        headed = tuple(i for i, head in enumerate(heads) if head is not None)
        inputs = tuple(head for head in heads if head is not None)
        return Node(_FunctionBackward(self), (headed, tuple(wrt)), (), inputs, self.name)


class _FunctionBackward(Operator):
    forward: FunctionOp

    def __init__(self, forward: FunctionOp):
        super().__init__()
        self.forward = forward
        self.name = f"_backward_{forward.name}"

    def run_values(self, statics: Statics, values: Sequence[Value]) -> list[Value]:
        headed, wrt = statics
        cotangents = dict(zip(headed, values, strict=True))
        heads = [
            wrap(cotangents[i]) if i in cotangents else zeros()
            for i, (wrap, _, zeros) in enumerate(self.forward.outputs)
        ]
        with RecordingScope(False, None):
            try:
                gradients = self.forward.user_function.backward(*heads)
            except MXNetError:
                raise
            except Exception as error:
                raise MXNetError(
                    f"{self.forward.name}.backward raised {type(error).__name__}: {error}\n"
                    f"{''.join(traceback.format_tb(error.__traceback__)[1:])}"
                ) from error
        gradients = list(gradients) if isinstance(gradients, (list, tuple)) else [gradients]
        if len(gradients) != len(self.forward.inputs):
            raise GradientError(
                f"{self.forward.name}.backward returned {len(gradients)} gradient(s), but forward took "
                f"{len(self.forward.inputs)} input(s); return one gradient for each."
            )
        with RecordingScope(False, None):
            return [self._assigned(gradients[i], self.forward.inputs[i]) for i in wrt]

    def _assigned(self, gradient: object, spec: Spec) -> Value:
        """``gradient`` with the shape and dtype of its input, as if it were assigned to an array of them."""
        if not isinstance(gradient, Handle):
            raise GradientError(
                f"{self.forward.name}.backward returned {gradient!r:.60}, which is not an array; return "
                f"one gradient for each input."
            )
        if gradient.shape == spec.shape and gradient.dtype == spec.dtype:
            return gradient._read()
        zeros = find("_zeros")
        statics, _ = zeros.bind({"shape": spec.shape, "dtype": spec.dtype.name})
        target = gradient._wrap(record_operation(zeros, statics, (), (), spec.context)[0])
        try:
            target[:] = gradient
        except ShapeError:
            raise GradientError(
                f"{self.forward.name}.backward returned a gradient of shape {gradient.shape} for an input "
                f"of shape {spec.shape}; return one that broadcasts to it."
            ) from None
        value: Value = target._read()
        return value


class Function:
    """Base of functions with their own gradient: override ``forward`` and ``backward``.

    ``forward(*inputs)`` computes on arrays and is not recorded; ``backward(*head_gradients)``
    returns one gradient for each input. Store arrays that backward needs with ``save_for_backward``.
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *arrays: object) -> None:
        """Store arrays for ``backward``, as ``self.saved_tensors``."""
        self.saved_tensors = arrays

    def __call__(self, *inputs: Any) -> Any:
        """Run forward; while recording, backward will call ``self.backward``."""
        if self._used:
            raise CheckError(
                f"Each {type(self).__name__} object can be called once; make a new one per call."
            )
        self._used = True
        with RecordingScope(False, None):
            results = self.forward(*inputs)
        if not state.recording:
            return results
        outputs = list(results) if isinstance(results, (list, tuple)) else [results]
        for each in outputs:
            if not isinstance(each, Handle):
                raise AttributeTypeError(
                    f"{type(self).__name__}.forward returned {each!r:.60}, which is not an array; return "
                    f"one array or several."
                )
        values = tuple(each._read() for each in inputs)
        if any(value.node is not None for value in values):
            # Outputs get values of their own, because forward may have returned an input itself.
            copies = [each._wrap(each._read().alias()) for each in outputs]
            entries = tuple(
                Entry(Node(None, name="constant")) if v.node is None else Entry(v.node, v.index)
                for v in values
            )
            op = FunctionOp(self, [value.spec for value in values], outputs)
            node = Node(op, (), (), entries, op.name, None, values)
            for i, each in enumerate(copies):
                value = each._read()
                value.node, value.index = node, i
            outputs = copies
        if isinstance(results, tuple):
            return tuple(outputs)
        return outputs if isinstance(results, list) else outputs[0]

    if TYPE_CHECKING:  # overridden with the inputs that a program has
        forward: Callable[..., Any]
        backward: Callable[..., Any]
    else:

        def forward(self, *inputs: Any) -> Any:
            """Outputs from inputs."""
            raise NotDefinedError(f"{type(self).__name__} does not define forward(self, *inputs).")

        def backward(self, *head_gradients: object) -> Any:
            """Gradients of the inputs from those of the outputs.

            Args:
                head_gradients: an array for each output.
            """
            raise NotDefinedError(
                f"{type(self).__name__} does not define backward(self, *gradients)."
            )
