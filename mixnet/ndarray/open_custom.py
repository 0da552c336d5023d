"""Custom operators whose output shapes depend on values: they run at once, where they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mixnet.autograd.function import Function
from mixnet.base import ShapeError
from mixnet.context import Context, cpu, current_context
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.control.custom import Runner, explained, keep_errors
from mixnet.runtime.value.value import Spec, Value
from mixnet.util import np_shape

_HOST = cpu(0)


class OpenOutput(NDArray):
    """An output that has the extents of what ``forward`` assigns to it."""

    __slots__ = ("_declared", "_is_assigned", "_title")

    _declared: tuple[int, ...]
    _is_assigned: bool
    _title: str

    @classmethod
    def declared(cls, title: str, shape: Sequence[int], dtype: np.dtype) -> OpenOutput:
        """An output that is still to be assigned.

        Args:
            title: names it, for errors.
            shape: with -1 for extents that are not known.
            dtype: of its elements.
        """
        extents = tuple(max(extent, 0) for extent in shape)
        self = cls._wrap(Value(Spec.of(extents, dtype, _HOST), np.zeros(extents, dtype)))
        self._declared, self._is_assigned, self._title = tuple(shape), False, title
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        is_whole = key is Ellipsis or (isinstance(key, slice) and key == slice(None))
        if self._is_assigned or not is_whole:
            super().__setitem__(key, value)
            return
        content = np.asarray(value.asnumpy() if isinstance(value, NDArray) else value)
        self._check(content.shape)
        self._value = _to_array(
            content.astype(self._spec.dtype, copy=False), NDArray, _HOST
        )._read()
        self._is_assigned = True

    def asnumpy(self) -> np.ndarray:
        """The content.

        Raises:
            ShapeError: ``forward`` has not assigned it, so that its shape is not known.
        """
        if not self._is_assigned:
            raise ShapeError(
                f"{self._title} has the open shape {self._declared}, and forward assigns nothing to it as "
                f"a whole. Call self.assign(out_data[i], req[i], array) with an array of its shape."
            )
        return super().asnumpy()

    def _check(self, shape: tuple[int, ...]) -> None:
        pairs = zip(self._declared, shape, strict=False)
        if len(shape) != len(self._declared) or any(d not in (-1, e) for d, e in pairs):
            raise ShapeError(
                f"{self._title}: forward assigns an array of shape {shape}, but infer_shape gives "
                f"{self._declared}, where -1 is any extent. Assign such an array, or change infer_shape."
            )


class OpenCustom(Function):
    """One call of a custom operator with open shapes; it waits for the arguments that it is called with.

    Args:
        runner: of the operator.
        op_type: the name that it is registered under.
        training: whether in training.
        instance: calls with the same number, other than 0, share one operator object.
    """

    def __init__(self, runner: Runner, op_type: str, training: bool, instance: int = 0):
        super().__init__()
        self._runner, self._op_type = runner, op_type
        self._training, self._instance = training, instance
        self._ticket = 0.0
        self._arrays: tuple[list[np.ndarray], list[np.ndarray]] = [], []

    def forward(self, *inputs: NDArray) -> list[NDArray]:
        arrays = [each.asnumpy() for each in inputs]
        try:
            with keep_errors(self._op_type):
                outputs, self._ticket, _ = self._runner.forward(
                    self._training, self._instance, arrays, []
                )
        except Exception as error:
            raise explained(error) from error.__cause__ or error
        self._arrays = arrays, outputs
        cls = type(inputs[0]) if inputs else NDArray
        context = inputs[0].context if inputs else current_context()
        return [_to_array(each, cls, context) for each in outputs]

    def backward(self, *head_gradients: Any) -> list[NDArray]:
        inputs, outputs = self._arrays
        gradients = self._runner.backward(
            self._ticket, [each.asnumpy() for each in head_gradients], inputs, outputs, []
        )
        first = head_gradients[0]
        return [_to_array(each, type(first), first.context) for each in gradients]


def _to_array(content: np.ndarray, cls: type[NDArray], context: Context) -> NDArray:
    """An array of a class with this content."""
    with np_shape(True):  # there may be no elements
        result = array(content, context, content.dtype)
    return cls._wrap(result._read())
