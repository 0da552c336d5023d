"""Ask MXNet 1.9.1 which dtypes follow from that of one array, and store its answers.

Run it with an interpreter that has mxnet 1.9.1; it needs nothing of mixnet::

    PYTHON tests/parity/record_unknown_dtypes.py

The cases are those of ``record_unknown_shapes.py``: one operator, and beside each of its outputs a variable
``o0``, ``o1``, ... that is added to it. A question says the dtype of one variable, or of all inputs, of which
one differs.
``fixtures/unknown_dtypes.json`` has, for each question, the dtypes that ``infer_type_partial`` gives, or
``raises``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.parity.record_unknown_shapes import CASES, symbol_of, write_answers

FIXTURE = Path(__file__).parent / "fixtures" / "unknown_dtypes.json"
DTYPES = ("float16", "float64", "int32")


def questions_of(inputs: int, outputs: int) -> list[dict[str, str]]:
    """Dtypes by name of a variable."""
    of_inputs = [f"i{place}" for place in range(inputs)]
    names = of_inputs + [f"o{place}" for place in range(outputs)]
    questions: list[dict[str, str]] = [{}, *({name: dtype} for name in names for dtype in DTYPES)]
    if inputs > 1:
        same = dict.fromkeys(of_inputs, "float32")
        questions += [same, *({**same, name: "float16"} for name in of_inputs)]
    return questions


def answer(symbol: Any, question: dict[str, str], mistake: type[Exception]) -> Any:
    """Dtypes as ``infer_type_partial`` gives them, or ``"raises"``."""
    try:
        arguments, outputs, states = symbol.infer_type_partial(**question)
    except mistake:
        return "raises"
    return [
        [None if each is None else np.dtype(each).name for each in dtypes]
        for dtypes in (arguments, outputs, states)
    ]


def main() -> None:
    """Write the fixture."""
    import mxnet as mx

    rows = []
    for case in {(case[0], len(case[2])): case for case in CASES}.values():
        symbol, count = symbol_of(mx, case)
        questions = questions_of(len(case[2]), count)
        rows.append(
            {
                "case": case,
                "asked": [[each, answer(symbol, each, mx.MXNetError)] for each in questions],
            }
        )
    write_answers(FIXTURE, rows)


if __name__ == "__main__":
    main()
