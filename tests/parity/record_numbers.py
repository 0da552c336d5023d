"""Record what symbols of MXNet 1.9.1's NumPy interface make of arrays and Python's numbers.

Run it with an interpreter that has mxnet 1.9.1; it needs nothing of mixnet::

    PYTHON tests/parity/record_numbers.py

``fixtures/numbers.json`` has, for each function of an array and a number in either order, dtype and
values of the result in a symbol, or ``raises``. Whether the number is whole counts there.
"""

from __future__ import annotations

import json
import operator
import sys
from pathlib import Path
from typing import Any

import numpy as np

FIXTURE = Path(__file__).parent / "fixtures" / "numbers.json"
FUNCTIONS = (
    "add", "subtract", "multiply", "true_divide", "mod", "power", "maximum", "minimum", "hypot",
    "arctan2", "ldexp", "equal", "not_equal", "greater", "less", "greater_equal", "less_equal",
    "bitwise_and", "bitwise_or", "bitwise_xor",
)  # fmt: skip
OPERATORS = ("add", "sub", "mul", "truediv", "mod", "pow", "eq", "ne", "lt", "gt", "le", "ge")
NUMBERS = (2, True, 2.0, 1.5, -1.5)
DTYPES = ("int32", "uint8", "bool", "float32")


def calls() -> list[list[Any]]:
    """Function (with a dot before Python's), dtype of the array, number, and whether it is on the left."""
    names = [*FUNCTIONS, *(f".{name}" for name in OPERATORS)]
    return [
        [name, dtype, number, left]
        for name in names
        for dtype in DTYPES
        for number in NUMBERS
        for left in (False, True)
    ]


def symbol_of(mx: Any, call: list[Any]) -> Any:
    """The symbol of a call; its array is ``x``."""
    name, _, number, left = call
    x = mx.sym.var("x").as_np_ndarray()
    function = getattr(operator, name[1:]) if name[0] == "." else getattr(mx.sym.np, name)
    return function(number, x) if left else function(x, number)


def answer(mx: Any, call: list[Any]) -> Any:
    """Dtype and values of the result, or ``"raises"``."""
    try:
        x = mx.np.array([1, 2, 3], dtype=call[1])
        result = symbol_of(mx, call).bind(mx.cpu(), {"x": x}).forward()[0].asnumpy()
    except mx.MXNetError:
        return "raises"
    return [result.dtype.name, [float(f"{float(each):.6g}") for each in result.reshape(-1)]]


def main() -> None:
    """Write the fixture."""
    import mxnet as mx

    mx.npx.set_np()
    rows = [[*call, answer(mx, call)] for call in calls()]
    FIXTURE.write_text("[\n" + ",\n".join(json.dumps(each) for each in rows) + "\n]\n")
    print(f"{len(rows)} answers in {FIXTURE}")


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
