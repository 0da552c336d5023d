"""The functions of ``mx.nd.random`` and ``mx.sym.random``, defined once for arrays and symbols.

A face is what tells arrays from symbols: the class of a parameter that is one of them, and how an
operator is called on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeKindError, NotAnArrayError, ZeroError, _Null
from mixnet.dtype import dtype_name
from mixnet.ndarray.signed import signed
from mixnet.ops.random.sample import DISTRIBUTIONS
from mixnet.ops.schema.arguments import checked
from mixnet.ops.schema.attributes import PositiveScalar, Scalar

if TYPE_CHECKING:
    from mixnet.dtype import DTypeLike

_DESCRIPTIONS = {
    "low": "the smallest number.",
    "high": "above the largest number.",
    "data": "probabilities, along the last axis.",
    "shape": "shape of the result.",
    "get_prob": "whether the logarithms of the probabilities are returned, too.",
    "ctx": "device of the result; by default the current one, or that of arrays of parameters.",
    "out": "an array for the result, which is returned.",
    "dtype": "dtype of the result, int32 by default.",
    "kwargs": "``name`` and ``attr`` of a symbol's node; arrays have none.",
}
"""Arguments that a function does not describe itself."""

_Functions = dict[str, Callable[..., Any]]


@dataclass(frozen=True)
class Face:
    """Arrays or symbols.

    Args:
        kind: their class.
        call: calls an operator by its name, on a sequence of them, with attributes; ``name``,
            ``ctx`` and ``out`` may be among these.
        extra: parameters of every function beside those of the distribution, all None by default.
        shape: shape of the numbers if the caller gives none.
        get_prob: default of ``multinomial``.
        like: makes the function of an operator by its name and the function's.
    """

    kind: type
    call: Callable[[str, Sequence[Any], dict[str, Any]], Any]
    extra: tuple[str, ...]
    shape: tuple[int, ...] | None
    get_prob: bool
    like: Callable[[str, str], Callable[..., Any]]


def functions(face: Face) -> _Functions:
    """All functions of a face by name."""
    by_name = {name: _distribution(face, name) for name in DISTRIBUTIONS}
    for name in DISTRIBUTIONS:
        by_name[f"{name}_like"] = face.like(f"_random_{name}_like", f"{name}_like")
    normal = by_name["normal"]

    def randn(*shape: int, **kwargs: Any) -> Any:
        """Normal numbers of the shape given as arguments; see ``normal`` for the others."""
        return normal(shape=shape or _Null, **kwargs)

    def randint(**attributes: Any) -> Any:
        """Whole numbers in [low, high), int32 by default."""
        return face.call("_random_randint", (), _numbers(face, attributes))

    def check_kind(name: str, data: object) -> None:
        if not isinstance(data, face.kind):
            raise NotAnArrayError(
                f"{name}: data must be of the class {face.kind.__name__}, not {type(data).__name__}. Make "
                f"an array with mx.nd.array(...), a symbol with mx.sym.Variable(name)."
            )

    def multinomial(data: Any, **attributes: Any) -> Any:
        """Category numbers drawn with the probabilities ``data`` along its last axis.

        With ``get_prob`` their log-probabilities too, which have a gradient.
        """
        attributes["dtype"] = _dtype_name(attributes["dtype"])
        if attributes["shape"] in (_Null, None):
            attributes["shape"] = ()
        check_kind("multinomial", data)
        return face.call("_sample_multinomial", (data,), attributes)

    def shuffle(data: Any, **kwargs: Any) -> Any:
        """The array with its first axis in random order.

        Args:
            data: an array or a symbol.
            kwargs: ``out`` for arrays; ``name`` and ``attr`` for symbols.
        """
        check_kind("shuffle", data)
        return face.call("_shuffle", (data,), kwargs)

    shape = {"shape": _Null, "dtype": None}
    drawn = {"shape": _Null, "get_prob": face.get_prob}
    out = {"out": None} if "out" in face.extra else {}
    return by_name | {
        "randn": randn,
        "randint": signed(
            randint, ["low", "high"], shape | dict.fromkeys(face.extra), _DESCRIPTIONS
        ),
        "multinomial": signed(
            multinomial, ["data"], drawn | out | {"dtype": "int32"}, _DESCRIPTIONS
        ),
        "shuffle": shuffle,
    }


def _distribution(face: Face, name: str) -> Callable[..., Any]:
    """The function of a distribution: of numbers, or of arrays with ``shape`` draws from each."""
    declared = DISTRIBUTIONS[name]
    parameters = {each: int(default) for each, (_, default) in declared.parameters.items()}
    if name == "exponential":  # the function takes the mean, the operators the rate
        parameters = {"scale": 1}

    def draw(**attributes: Any) -> Any:
        values = [attributes.pop(each) for each in parameters]
        arrays = [each for each in values if isinstance(each, face.kind)]
        if any(each is None for each in values):
            raise AttributeKindError(
                f"{name}: {' and '.join(parameters)} must be numbers or {face.kind.__name__}s, not None."
            )
        if name == "exponential":
            scale = values[0]
            if not arrays:
                checked(name, "scale", scale, Scalar)
                if scale == 0:  # MXNet divides by it
                    raise ZeroError(f"{name}: scale=0 is out of range; give a number above 0.")
                checked(name, "scale", scale, PositiveScalar)
            values = [1.0 / scale]
        if not arrays:
            attributes |= dict(zip(declared.parameters, values, strict=True))
            return face.call(f"_random_{name}", (), _numbers(face, attributes))
        if len(arrays) != len(values):
            raise NotAnArrayError(
                f"{name}: give {' and '.join(parameters)} all as {face.kind.__name__} or all as "
                f"numbers."
            )
        if attributes["shape"] in (_Null, 0):
            attributes["shape"] = ()
        attributes["dtype"] = _dtype_name(attributes["dtype"])
        attributes.pop("ctx", None)  # where the parameters are
        return face.call(f"_sample_{name}", values, attributes)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = (
        f"{declared.draw.__doc__}\n\n"
        f"Args:\n"
        f"    {', '.join(parameters)}: numbers, or arrays of one shape: ``shape`` draws for each.\n"
        f"    shape: shape of the result; where the parameters are arrays, after theirs.\n"
        f"    dtype: a floating point dtype, float32 by default."
    )
    if name == "exponential":
        draw.__doc__ = draw.__doc__.replace("rate ``lam``", "mean ``scale``")
    rest = {"shape": _Null, "dtype": None, **dict.fromkeys(face.extra)}
    return signed(draw, [], parameters | rest, _DESCRIPTIONS)


def _numbers(face: Face, attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes of an operator whose parameters are numbers."""
    if attributes["shape"] is _Null:
        attributes["shape"] = face.shape if attributes.get("out") is None else None
    attributes["dtype"] = _dtype_name(attributes["dtype"])
    return attributes


def _dtype_name(dtype: DTypeLike) -> str | None:
    return None if dtype in (None, "None") else dtype_name(dtype)
