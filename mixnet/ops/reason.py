"""Error messages for inputs that an operator does not accept, in terms of the caller's arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from mixnet.base import MXNetError, ShapeError
from mixnet.ops.op import Op
from mixnet.ops.operator import Operator, Statics, is_own
from mixnet.ops.parameters import as_called
from mixnet.ops.schema.attributes import Dynamic

Shape = tuple[int, ...]

_SHAPE = r"[\[(]([\d, ]*)[\])]"


def _shape(text: str) -> str:
    extents = [each.strip() for each in text.split(",") if each.strip()]
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"


# What JAX and NumPy say of shapes, and what it means for who called the operator. What is not here
# is left out: the inputs and the signature say more than the name of an internal function.
_SENTENCES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (
        r"axis (-?\d+) is out of bounds for array of dimension (\d+)",
        lambda m: f"axis {m[1]} does not exist in an array of {m[2]} axes",
    ),
    (
        r"[Tt]oo many indices.*array is (\d+)-dimensional, but (\d+) were indexed",
        lambda m: f"{m[2]} axes are named, the array has {m[1]}",
    ),
    (
        r"cannot reshape array of shape " + _SHAPE + r" \(size (\d+)\) into shape " + _SHAPE,
        lambda m: f"{m[2]} elements of shape {_shape(m[1])} do not fit into {_shape(m[3])}",
    ),
    (
        r"(?:incompatible shapes for broadcasting|Incompatible shapes for broadcasting): "
        r"(?:shapes=\[)?" + _SHAPE + r", " + _SHAPE,
        lambda m: f"shapes {_shape(m[1])} and {_shape(m[2])} do not fit",
    ),
    (
        r"cannot select an axis to squeeze out which has size not equal to one, got shape="
        + _SHAPE
        + r" and dimensions="
        + _SHAPE,
        lambda m: f"axis {_shape(m[2])} of {_shape(m[1])} does not have the extent 1",
    ),
    (r"division by zero", lambda m: "a number that it divides by is 0"),
)


def explain(
    op: Operator,
    statics: Statics,
    shapes: Sequence[Shape],
    dtypes: Sequence[np.dtype],
    error: Exception,
) -> ShapeError:
    """The error for inputs that an operator failed on while its shapes were evaluated.

    Args:
        op: the operator.
        statics: its bound attributes.
        shapes: of its inputs.
        dtypes: of its inputs.
        error: what its function, JAX or NumPy raised.
    """
    if op.takes_key:  # the last input is no array of the caller's
        shapes, dtypes = shapes[:-1], dtypes[:-1]
    inputs = ", ".join(
        f"{op.arrays[i] if i < len(op.arrays) else i}: {dtype.name}{list(shape)}"
        for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    )
    declared = op if isinstance(op, Op) else None
    changed = ", ".join(_changed_attributes(declared, statics)) if declared else ""
    because = reason(op, statics, shapes, error)
    usage = ""
    if declared and (not because or "not given" in because):
        usage = f" Call it as {declared.usage()}."
    return ShapeError(
        f"{declared.title if declared else op.name} does not take inputs "
        f"({inputs}){f' with {changed}' if changed else ''}"
        f"{f': {because}' if because else ''}.{usage}"
    )


def _changed_attributes(op: Op, statics: Statics) -> list[str]:
    """The attributes of a call that are not the default ones."""
    known = op.keywords(statics)
    return [
        f"{name}={known[name]!r}"
        for name, each in op.attributes.items()
        if not isinstance(known[name], Dynamic) and known[name] != each.default
    ]


def reason(op: Operator, statics: Statics, shapes: Sequence[Shape | None], error: Exception) -> str:
    """Why it failed, without a full stop; nothing if that cannot be said in the caller's words.

    Args: as of :func:`explain`.
    """
    text = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    if is_own(op) or isinstance(error, MXNetError):
        return as_called(text)
    misfit = _misfit(op, statics, shapes, text) if isinstance(op, Op) else ""
    if misfit:
        return misfit
    for pattern, sentence in _SENTENCES:
        match = re.search(pattern, text)
        if match:
            return sentence(match)
    return _no_axis(op, statics, shapes) if isinstance(op, Op) else ""


def _no_axis(op: Op, statics: Statics, shapes: Sequence[Shape | None]) -> str:
    """An axis of the attributes that the first input does not have."""
    if not shapes or shapes[0] is None:
        return ""
    known, count = op.keywords(statics), len(shapes[0])
    for name in ("axis", "axes", "dim", "dim1", "dim2"):
        value = known.get(name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, int) and not -count <= each < count:
                return f"{name}={each} does not exist in an array of {count} axes"
    return ""


def _misfit(op: Op, statics: Statics, shapes: Sequence[Shape | None], text: str) -> str:
    """The first input that is left out, or has another shape than follows from the first one."""
    names = op.argument_names(statics)
    if op.variadic:
        return "" if shapes else "it needs at least one array"
    if op.lacks_arrays(statics, len(shapes)) or (len(shapes) < len(names) and "NoneType" in text):
        return f"array {names[len(shapes)]!r} was not given"
    pairs = zip(names, shapes, strict=False)
    known = {name: tuple(shape) for name, shape in pairs if shape is not None}
    try:
        needed = op.infer_input_shapes(statics, known)
    except Exception:  # its rule stumbles as well
        return ""
    for name, shape in needed.items():
        if name in known and tuple(shape) != known[name]:
            return f"{name} has shape {known[name]}, the other inputs need {tuple(shape)}"
    return ""
