"""Inference around operators of MXNet's NumPy and others from partly known shapes, against MXNet 1.9.1."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import pytest

import mixnet as mx
from tests.each_record import each_record
from tests.parity.record_edges import is_numpys
from tests.parity.record_operator_inference import FIXTURE, symbol_of
from tests.parity.record_unknown_dtypes import answer as dtypes_answer
from tests.parity.record_unknown_shapes import answer
from tests.parity.test_unknown_shapes import difference

ROWS = json.loads(FIXTURE.read_text())

# MXNet takes arrays that it does not know for empty ones, and adds up what it knows of the axis of joining.
COUNTS_UNKNOWN_AS_0 = {"_contrib_quantized_concat", "_npi_concatenate"}

# MXNet infers dtypes for arrays of two dtypes, and refuses these when it computes.
REFUSES_WHEN_CALLED = {"_contrib_allclose"}


def identifier(row: Any) -> str:
    """The operator of a row."""
    return str(row["call"]["op"])


@pytest.mark.parametrize("row", [each for each in ROWS if each["asked"]], ids=identifier)
@pytest.mark.filterwarnings("ignore:The shapes of these arguments")
def test_shapes_are_inferred_as_in_mxnet(row: Any) -> None:
    name = identifier(row)
    symbol = symbol_of(mx, row["call"])
    wrong = []
    with mx.util.np_shape(is_numpys(name)):
        for question, theirs in row["asked"]:
            ours = json.loads(json.dumps(answer(symbol, question, mx.MXNetError)))
            mismatch = difference(name, ours, theirs)
            is_open = not {"i0", "i1"} <= question.keys()
            if mismatch and not (name in COUNTS_UNKNOWN_AS_0 and is_open):
                wrong.append(f"{question}: {mismatch}")
    assert not wrong, "\n".join(wrong)


@each_record("row", [each for each in ROWS if each["dtypes"]], ids=identifier)
def test_dtypes_are_inferred_as_in_mxnet(row: Any) -> None:
    symbol = symbol_of(mx, row["call"])
    wrong = []
    for question, theirs in row["dtypes"]:
        ours = dtypes_answer(symbol, question, mx.MXNetError)
        if theirs == "raises":
            continue  # MXNet wants some dtype that it could infer, or refuses float16
        if ours == "raises":
            if identifier(row) not in REFUSES_WHEN_CALLED:
                wrong.append(f"{question}: refused")
            continue
        inputs = {f"i{place}" for place in range(len(row["call"]["inputs"]))}
        for mine, expected in zip(chain(*ours), chain(*theirs), strict=True):
            # A result's dtype stays open where it depends on an input's that is not known.
            is_open = mine is None and not inputs <= question.keys()
            if mine != expected and expected is not None and not is_open:
                wrong.append(f"{question}: {mine} in place of {expected}")
    assert not wrong, "\n".join(wrong)
