"""Every operator reports arrays and axes that do not fit in its caller's terms."""

from __future__ import annotations

from typing import Any

import pytest

import mixnet as mx
from mixnet.ndarray.invoke import invoke_any
from mixnet.ops import OPERATORS
from tests.mistakes.test_mistakes import INTERNAL

SHAPES = (
    [(2, 3), (4, 5), (7,), (1, 1), (9,), (2,), (3,), (4,), (5,)],
    [(2, 3, 4)] * 9,
)
# Something for an attribute that must be given, by what it is.
VALUES: dict[str, Any] = {
    "a whole number": 2,
    "a number": 0.5,
    "a shape": (2, 2),
    "a string": "x",
    "a tuple of numbers": (0.5,),
    "a dtype": "float32",
    "a boolean": True,
}
CALLED = {
    op.name: op
    for op in OPERATORS.values()
    if (op.arrays or op.variadic) and not op.calls_python and not op.over_devices
}


def _attributes(op: Any) -> list[dict[str, Any]]:
    required = {
        each.name: VALUES.get(each.kind, each.kind.split("'")[1] if "'" in each.kind else 1)
        for each in op.attributes.values()
        if each.required
    }
    far = {
        name: (7,) if op.attributes[name].kind == "a shape" else 7
        for name in ("axis", "axes", "dim")
        if name in op.attributes
    }
    return [required, {**required, **far}] if far else [required]


@pytest.mark.parametrize("start", range(0, len(CALLED), 100))
def test_wrong_arrays_and_axes_are_reported_in_the_callers_terms(start: int) -> None:
    raised = False
    for op in list(CALLED.values())[start : start + 100]:
        count = 2 if op.variadic else len(op.arrays)
        for shapes in SHAPES:
            for attributes in _attributes(op):
                arrays = [mx.nd.ones(shape) for shape in shapes[:count]]
                try:
                    invoke_any(op, arrays, dict(attributes))
                except mx.MXNetError as error:
                    raised = True
                    actual = INTERNAL.search(str(error))
                    assert not actual, f"{op.name}{shapes[:count]} {attributes}: {error}"
    assert raised
