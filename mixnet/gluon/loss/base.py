"""The base class of losses: weights, the shape of labels, the mean over a sample."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mixnet import ndarray as ndarray
from mixnet.array_like import shape_of
from mixnet.base import (
    CheckError,
    NotAnArrayError,
    NotDefinedError,
    ShapeError,
    SizeError,
    numeric_types,
)
from mixnet.gluon.block import HybridBlock
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.sparse_array import BaseSparseNDArray
from mixnet.numpy.ndarray import ndarray as np_ndarray
from mixnet.symbol.numpy.symbol import _Symbol as NumpySymbol
from mixnet.symbol.symbol import Symbol
from mixnet.util import is_np_array as is_np_array

if TYPE_CHECKING:
    from types import ModuleType

    from mixnet.gluon.block.tensor import Tensor


def _apply_weighting(
    F: ModuleType,
    loss: Any,
    weight: Any = None,
    sample_weight: Tensor | None = None,
) -> Any:
    """The loss times the weights of its samples, times a number.

    Args:
        F: ``mx.nd`` or ``mx.sym``.
        loss: per element.
        weight: a number, None for 1.
        sample_weight: broadcast to the loss.

    Raises:
        CheckError: ``weight`` is not a number.
    """
    if sample_weight is not None:
        # mx.np also multiplies by booleans, such as masks.
        loss = loss * sample_weight if is_np_array() else F.broadcast_mul(loss, sample_weight)
    if weight is not None:
        if not isinstance(weight, numeric_types):
            raise CheckError(
                f"weight={weight!r} is not a number; weights of samples go into the call, as "
                f"sample_weight."
            )
        loss = loss * weight
    return loss


def _reshape_like(F: ModuleType, x: Tensor, y: Tensor) -> Any:
    """``x`` in the shape of ``y``.

    Raises:
        NotAnArrayError: ``x`` is not an array.
        ShapeError: their sizes differ.
    """
    if not isinstance(x, (NDArray, Symbol)):
        raise NotAnArrayError(
            f"an NDArray is needed, not {x!r:.60}; make one with mx.nd.array(...)"
        )
    if isinstance(x, BaseSparseNDArray):
        x.reshape(y.shape)  # raises
    sizes = [math.prod(each.shape) for each in (x, y) if isinstance(each, NDArray)]
    if len(sizes) == 2 and sizes[0] != sizes[1]:
        error = ShapeError if sizes[1] > sizes[0] else SizeError  # as reshape
        raise error(f"shapes {x.shape} and {y.shape} must have the same number of elements")
    return F.reshape_like(x, y)


def _as_kind(result: Any, like: Tensor) -> Any:
    """Convert an array or symbol to the semantics (NumPy's or MXNet's) of another."""
    return result.as_np_ndarray() if isinstance(like, (np_ndarray, NumpySymbol)) else result


class Loss(HybridBlock):
    """Base of losses.

    Args:
        weight: factor of the loss, None for 1.
        batch_axis: axis of the samples.
        kwargs: ``prefix``, ``params``.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any):
        super().__init__(**kwargs)
        if not (weight is None or isinstance(weight, numeric_types)):
            raise CheckError(
                f"{type(self).__name__}: weight={weight!r:.60} is not a number; weights of samples go "
                f"into the call, as sample_weight."
            )
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def __call__(self, *args: Any) -> Any:
        """The loss of every sample.

        Raises:
            NotAnArrayError: an input that has no default is None.
            MXNetError: raised by ``hybrid_forward``; the message gives the shapes of the inputs.
        """
        for each in args:  # each step comes here
            if each is None:
                self._mx_check_none(args)
                break
        try:
            return super().__call__(*args)
        except (ShapeError, NotAnArrayError) as error:
            if not any(isinstance(each, NDArray) for each in args):
                raise
            names = list(inspect.signature(self.hybrid_forward).parameters)[1:]
            inputs = ", ".join(
                f"{name}: {each.shape if isinstance(each, NDArray) else repr(each)[:40]}"
                for name, each in zip(names, args, strict=False)
            )
            raise type(error)(
                f"{type(self).__name__} does not take ({inputs}): {str(error).rstrip('.')}."
                f"{self._mx_hint(*args)}"
            ) from None

    def _mx_check_none(self, args: Sequence[object]) -> None:
        inputs = list(inspect.signature(self.hybrid_forward).parameters.values())[1:]
        for parameter, each in zip(inputs, args, strict=False):
            if each is None and parameter.default is parameter.empty:
                raise NotAnArrayError(
                    f"{type(self).__name__}: {parameter.name} is None. If a network computed it, its forward "
                    "has to return its result."
                )

    def _mx_hint(self, *args: object) -> str:
        """Advice for inputs whose shapes do not match, with a leading space."""
        return ""

    def hybrid_forward(self, F: ModuleType, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The loss of every sample; to be overridden."""
        raise NotDefinedError(f"{type(self).__name__} does not define hybrid_forward.")

    def _mx_per_sample(self, F: ModuleType, loss: Any, sample_weight: Any) -> Any:
        """The weighted loss, its mean over a sample."""
        return self._mx_mean(F, _apply_weighting(F, loss, self._weight, sample_weight))

    def _mx_mean(self, F: ModuleType, loss: Any) -> Any:
        """The mean over every sample; an array without axes is one sample."""
        return loss if shape_of(loss) == () else F.mean(loss, axis=self._batch_axis, exclude=True)
