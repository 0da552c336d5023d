"""Update rules of ``mx.nd.contrib`` whose loss scale may be a number, and rules for lists of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixnet.base import ShapeError
from mixnet.ndarray.adamw import adamw_function
from mixnet.ndarray.create import full
from mixnet.ndarray.invoke import Results, invoke_any
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import find


def _scale(rescale_grad: float | NDArray, weight: NDArray) -> NDArray:
    """The loss scale as an array where the weight is."""
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(weight.context)
    return full((1,), rescale_grad, weight.context)


def _turns(rule: str, *lists: Sequence[NDArray]) -> list[NDArray]:
    """The arrays of the first weight, then of the next.

    Raises:
        ShapeError: the lists differ in length, or are empty.
    """
    lengths = [len(each) for each in lists]
    if min(lengths) != max(lengths) or not lengths[0]:
        raise ShapeError(
            f"contrib.{rule}: the lists have {lengths} arrays; give one in each for every weight."
        )
    return [array for turn in zip(*lists, strict=True) for array in turn]


def _call(op: str, arrays: Sequence[NDArray], attributes: dict[str, Any]) -> Results:
    del attributes["name"]  # names are a symbol's
    return invoke_any(find(op), arrays, attributes, attributes.pop("out"))


adamw_update = adamw_function("_adamw_update", _scale, _call, __name__)
mp_adamw_update = adamw_function("_mp_adamw_update", _scale, _call, __name__)


def _multi_adamw(
    name: str,
    lists: tuple[Sequence[NDArray], ...],
    rescale_grad: float | NDArray,
    numbers: dict[str, Any],
    out: NDArray | Sequence[NDArray] | None,
) -> Results:
    """Call the operator ``name`` on lists of arrays; the first of them are the weights."""
    arrays = _turns(name, *lists)
    arrays.append(_scale(rescale_grad, lists[0][0]))
    return invoke_any(find(f"_{name}"), arrays, numbers, out)


def multi_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    rescale_grad: float | NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: object,
) -> Results:
    """``adamw_update`` of several weights in one call; ``size`` is their number, or 0.

    Args:
        grads: a gradient for each weight.
        mean: a state for each weight, written.
        var: a state for each weight, written.
        rescale_grad: the loss scale for all, a number or an array of one.
        lrs: a learning rate for each weight.
        wds: a weight decay for each weight.
        etas: a factor of step and decay for each weight.
        out: arrays for the new weights, usually ``weights``.
        name: has no effect on arrays.
        kwargs: ``beta1``, ``beta2``, ``epsilon`` and ``clip_gradient``, for all weights.

    Raises:
        ShapeError: the lists differ in length.
    """
    lists = (weights, grads, mean, var)
    numbers = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights), **kwargs}
    return _multi_adamw("multi_adamw_update", lists, rescale_grad, numbers, out)


def multi_mp_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    rescale_grad: float | NDArray,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: object,
) -> Results:
    """``multi_adamw_update`` of half-precision weights with their float32 copies.

    Args:
        grads: a gradient for each weight.
        mean: a state for each weight, written.
        var: a state for each weight, written.
        weights32: float32 copies of the weights, written.
        rescale_grad: the loss scale for all, a number or an array of one.
        lrs: a learning rate for each weight.
        wds: a weight decay for each weight.
        etas: a factor of step and decay for each weight.
        out: arrays for the new weights, usually ``weights``.
        name: has no effect on arrays.
        size: number of weights, or 0.
        kwargs: ``beta1``, ``beta2``, ``epsilon`` and ``clip_gradient``, for all weights.

    Raises:
        ShapeError: the lists differ in length.
    """
    lists = (weights, grads, mean, var, weights32)
    numbers = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights), **kwargs}
    return _multi_adamw("multi_mp_adamw_update", lists, rescale_grad, numbers, out)


def multi_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: NDArray | Sequence[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs: object,
) -> Results:
    """One step of LAMB of several weights in one call; ``num_tensors`` is their number, or 0.

    Args:
        grads: a gradient for each weight.
        mean: states, written.
        var: states, written.
        step_count: number of the step of each weight, from 1.
        lrs: a learning rate for each weight.
        wds: a weight decay for each weight.
        out: arrays for the new weights, usually ``weights``.
        kwargs: the other attributes of LAMB, for all weights.

    Raises:
        ShapeError: the lists differ in length.
    """
    arrays = _turns("multi_lamb_update", weights, grads, mean, var)
    numbers = {
        "learning_rates": lrs, "wds": wds, "step_count": step_count,
        "num_tensors": num_tensors or len(weights),
    }  # fmt: skip
    return invoke_any(find("_multi_lamb_update"), arrays, {**numbers, **kwargs}, out)


def multi_mp_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: NDArray | Sequence[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs: object,
) -> Results:
    """``multi_lamb_update`` of half-precision weights with their float32 copies.

    Args:
        grads: a gradient for each weight.
        mean: a state for each weight, written.
        var: a state for each weight, written.
        weights32: float32 copies of the weights, written.
        step_count: number of the step of each weight, from 1.
        lrs: a learning rate for each weight.
        wds: a weight decay for each weight.
        out: arrays for the new weights, usually ``weights``.
        num_tensors: number of weights, or 0.
        kwargs: the other attributes of LAMB, for all weights.

    Raises:
        ShapeError: the lists differ in length.
    """
    arrays = _turns("multi_mp_lamb_update", weights, grads, mean, var, weights32)
    numbers = {
        "learning_rates": lrs, "wds": wds, "step_count": step_count,
        "num_tensors": num_tensors or len(weights),
    }  # fmt: skip
    return invoke_any(find("_multi_mp_lamb_update"), arrays, {**numbers, **kwargs}, out)
