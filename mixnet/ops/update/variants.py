"""Variants of an update rule: float32 copies of half-precision weights, many weights per call.

A rule is written once, for one weight: ``rule(weight, grad, *states, **numbers)`` gives the new
weight and the new states. The functions here declare the operators that follow from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mixnet.base import DTypeError, OperatorValueError, ShapeError
from mixnet.ops.derive import array, attribute, parameters_of, present
from mixnet.ops.op import Op
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Scalars
from mixnet.ops.schema.dtypes import Dtypes

# Arrays of a rule that are one for all weights of a call; they come after those of the weights.
_SHARED = ("rescale_grad",)
_PLURAL = {"lr": "lrs", "wd": "wds"}


# Arrays in the precision of the weight; the others of a rule are float32 beside a float32 copy.
_AS_WEIGHT = ("weight", "grad")


def mixed_precision(name: str, rule: Op, writes_weight: bool = True, listed: bool = True) -> Op:
    """The rule on a float32 copy of the weight, ``weight32``; the weight is the copy, rounded.

    Args:
        name: the operator's name.
        rule: the operator for weights of one precision.
        writes_weight: whether the rule's first output is the new weight.
        listed: False for an operator that only variants are made of.
    """
    own = [each for each in rule.arrays if each not in _SHARED]
    arrays = [*own, "weight32", *rule.arrays[len(own) :]]
    states = [*rule.states, "weight32"] if writes_weight else rule.states
    full = [each for each in arrays if each not in _AS_WEIGHT]
    dtypes = Dtypes(
        own=dict.fromkeys(full, "float32"), accepts=dict.fromkeys(full, ("float32",)),
        result=None if writes_weight else "float32",
    )  # fmt: skip

    def update(*values: Any, **attributes: Any) -> Any:
        placed = dict(zip(arrays, values, strict=True))
        weight = placed["weight"]
        placed["weight"] = placed["weight32"]
        results = rule.function(*[placed[each] for each in rule.arrays], **attributes)
        if not writes_weight:
            return results
        results = results if isinstance(results, tuple) else (results,)
        return (results[0].astype(weight.dtype), *results[1:], results[0])

    text = _text(rule, " with a float32 copy of the weight, ``weight32``")
    present(update, name, text, [*map(array, arrays), *parameters_of(rule)])
    if not listed:
        return Op(name, update, integers=rule.integers, states=states, dtypes=dtypes)
    return op(
        name,
        integers=rule.integers,
        states=states,
        one_dtype=True,
        dtypes=dtypes,
        differentiable=False,
        in_amp_lists=rule.in_amp_lists,
        shape_constraint=rule.shape_constraint,
    )(update)


def several(
    name: str,
    rule: Op,
    *,
    plural: Mapping[str, str] = _PLURAL,
    count: str = "num_weights",
    order: Sequence[str] = (),
    in_amp_lists: bool = True,
) -> Op:
    """The rule for many weights in one call, with their arrays in turn and a number for each.

    Args:
        name: the operator's name.
        rule: the operator for one weight.
        plural: the rule's numbers that each weight has its own of, and what a list of them is
            called.
        count: attribute with the number of weights.
        order: the first attributes where they are in another order than the rule's.
        in_amp_lists: whether MXNet's lists for mixed precision name it.
    """

    def update(*data: jax.Array, **attributes: Any) -> Any:
        lists = {one: attributes.pop(plural_name) for one, plural_name in plural.items()}
        return _update_all(name, rule, data, lists, attributes.pop(count), attributes)

    parameters = []
    for each in parameters_of(rule):
        if each.name in plural:
            each = each.replace(
                name=plural[each.name], annotation=Scalars, default=inspect.Parameter.empty
            )
        parameters.append(each)
    parameters.sort(key=lambda each: order.index(each.name) if each.name in order else len(order))
    return _declare_several(update, name, rule, parameters, count, in_amp_lists)


def preloaded(name: str, rule: Op) -> Op:
    """The rule for many weights whose learning rates and decays are the last two arrays.

    Args:
        name: the operator's name.
        rule: the operator for one weight.
    """

    def update(*data: jax.Array, num_weights: int, **attributes: Any) -> Any:
        *own, lrs, wds = data if len(data) > 1 else (*data, None, None)
        lists = {"lr": lrs, "wd": wds}
        return _update_all(name, rule, own, lists, num_weights, attributes)

    parameters = [each for each in parameters_of(rule) if each.name not in _PLURAL]
    return _declare_several(
        update, name, rule, parameters, "num_weights", in_amp_lists=False, numbers=2
    )


def _update_all(
    name: str,
    rule: Op,
    data: Sequence[Any],
    lists: Mapping[str, Any],
    number: int,
    attributes: dict[str, Any],
) -> tuple[Any, ...]:
    """New weights, then the new states of each, from arrays in the order of the weights."""
    own = _own(rule)
    shared = data[number * len(own) :]
    if len(data) != number * len(own) + len(rule.arrays) - len(own):
        raise ShapeError(
            f"{name}: {len(data)} arrays for {number} weight(s); give {', '.join(own)} of the first "
            f"weight, then of the next."
        )
    for each, values in lists.items():
        if len(values) != number:
            raise OperatorValueError(
                f"{name}: {len(values)} value(s) of {each} for {number} weight(s); give one for each."
            )
    weights: list[Any] = []
    states: list[Any] = []
    for i in range(number):
        numbers = {each: values[i] for each, values in lists.items()}
        arrays = data[i * len(own) : (i + 1) * len(own)]
        placed = dict(zip(own, arrays, strict=True))
        _check_gradient(name, i, placed)
        copy = placed.get("weight32")
        needs_copy = copy is None or placed["weight"].dtype != jnp.float32
        if not needs_copy:  # such a weight is updated itself, and its copy stays as it is
            placed["weight32"] = placed["weight"]
        results = rule.function(*placed.values(), *shared, **numbers, **attributes)
        results = results if isinstance(results, tuple) else (results,)
        if not needs_copy:
            results = (*results[:-1], copy)
        weights.append(results[0])
        states += results[1:]
    return (*weights, *states)


def _check_gradient(name: str, number: int, arrays: Mapping[str, Any]) -> None:
    """Raise unless a weight and its gradient have one dtype, as for one weight in a call."""
    weight, grad = (arrays[each].dtype if each in arrays else None for each in _AS_WEIGHT)
    if weight is not None and grad is not None and weight != grad:
        raise DTypeError(
            f"{name}: weight {number} is {weight.name} and its gradient {grad.name}; both must have the "
            f"same dtype. Cast the gradient with astype({weight.name!r})."
        )


def _declare_several(
    update: Callable[..., Any],
    name: str,
    rule: Op,
    attributes: Sequence[inspect.Parameter],
    count: str,
    in_amp_lists: bool,
    numbers: int = 0,
) -> Op:
    """The operator; the last ``numbers`` arrays are float32 numbers of each weight."""
    own = _own(rule)
    places = [i for i, each in enumerate(own) if each in rule.states]

    def written(number: int) -> list[int]:
        return [len(own) * i + place for i in range(number) for place in places]

    shared = [each for each in attributes if each.name != "lazy_update"]
    data = inspect.Parameter("data", inspect.Parameter.VAR_POSITIONAL)
    text = _text(rule, " of several weights in one call")
    present(update, name, text, [data, *shared, attribute(count, int, 1)])
    return op(
        name,
        integers=rule.integers,
        outputs=_of_attribute(count, int),
        states=_of_attribute(count, written) if places else (),
        num_args=None,
        one_dtype="weight32" not in own,  # those with a copy may differ from weight to weight
        dtypes=_dtypes_of_several(rule, numbers),
        differentiable=False,
        in_amp_lists=in_amp_lists,
    )(update)


def _dtypes_of_several(rule: Op, numbers: int) -> Dtypes:
    """The rule's dtypes for the arrays of many weights, and float32 for those of numbers at the end."""
    own = _own(rule)
    full = rule.dtypes.accepts
    assert not callable(full)

    def places(count: int) -> dict[int, str]:
        end = max(count - numbers - sum(each in full for each in rule.arrays[len(own) :]), 0)
        repeated = [i for i in range(end) if own[i % len(own)] in full]
        return dict.fromkeys([*repeated, *range(end, count)], "float32")

    return Dtypes(
        own=places,
        accepts=lambda count: {place: (dtype,) for place, dtype in places(count).items()},
    )


def _of_attribute(name: str, answer: Callable[[int], Any]) -> Callable[..., Any]:
    """``answer`` as a function of the attribute of that name, as the registry asks it."""

    def ask(**known: Any) -> Any:
        return answer(known[name])

    only = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
    ask.__signature__ = inspect.Signature([only])  # type: ignore[attr-defined]
    return ask


def _own(rule: Op) -> list[str]:
    return [each for each in rule.arrays if each not in _SHARED]


def _text(rule: Op, variant: str) -> str:
    """The rule's docstring, changed to that of a variant."""
    own = (rule.__doc__ or "").partition("Source:")[0].strip()
    return f"``{rule.name}``{variant}.\n\n{own}"
