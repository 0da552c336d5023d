"""Ranges of attributes: values are refused or accepted as in MXNet 1.9.1."""

from __future__ import annotations

import json
from typing import Any

import mixnet as mx
from mixnet.base import MXNetError
from mixnet.ndarray.invoke import invoke_any
from mixnet.ops import OPERATORS
from tests.each_record import each_record
from tests.parity.record_ranges import FIXTURE, arrays_of, is_numpys, symbol_text, text

QUESTIONS = json.loads(FIXTURE.read_text())


def refusal(question: dict[str, Any], name: str, value: Any) -> Exception | None:
    """The error of a call, None if there is none; shapes are evaluated, nothing is computed."""
    attributes = {**question["attributes"], name: value}
    try:
        with mx.util.np_shape(is_numpys(question["op"])):
            if question["symbolic"]:
                loaded = symbol_text(question["op"], len(question["shapes"]), attributes)
                mx.sym.load_json(loaded).infer_shape_partial(x0=tuple(question["shapes"][0]))
            else:
                inputs = [mx.nd.array(each, dtype=each.dtype) for each in arrays_of(question)]
                options = {key: text(each) for key, each in attributes.items()}
                invoke_any(OPERATORS[question["op"]], inputs, options)
    except Exception as error:
        return error
    return None


# Where mixnet refuses what MXNet takes: by attribute, or operator and attribute, and why.
STRICTER = {
    "NaN": "it is in no range; MXNet compares with both ends, which no NaN is beyond",
    "state_size": "MXNet infers shapes of a network of no units, which it cannot compute",
    "num_layers": "MXNet infers shapes of a network of no layers, which it cannot compute",
    "projection_size": "MXNet infers shapes of a projection to nothing, which it cannot compute",
    "_linalg_gemm.axis": "MXNet infers the shape of matrices on an axis that the arrays do not have",
    "heads": "MXNet reads beside the projections if heads do not divide them",
    "broadcast_like.lhs_axes": "MXNet takes axes before the first for the first",
    "sections": "MXNet cuts into parts that reach beyond the array",
    "repeat": "MXNet divides by a negative number",
    "pad": "MXNet infers the shape of negative padding, which it cannot compute",
    "adj": "MXNet infers the shape of negative padding, which it cannot compute",
    "num_filter": "MXNet takes -1 for a number that is not known yet, and computes nothing",
    "eps": "the square root of a negative number: MXNet gives NaN",
    "momentum": "shares of the old and the new statistics are from 0 to 1; others diverge",
    "ratios": "the square root of a negative number: MXNet gives NaN",
    "output_dim": "MXNet reads beside the maps if there are fewer",
    "pooled_size": "MXNet reads beside the maps if there are fewer",
    "group_size": "MXNet reads beside the maps if there are fewer",
    "part_size": "MXNet reads beside the offsets if there are fewer",
    "sample_per_part": "MXNet divides by 0 samples",
    "kernel_size": "MXNet adds nothing up",
    "max_displacement": "MXNet reads before the array",
    "stride1": "MXNet has a negative number of places",
    "stride2": "MXNet has a negative number of places",
    "_image_crop.x": "MXNet reads before the image",
    "_image_crop.y": "MXNet reads before the image",
    "scale_width": "MXNet ignores a scale of the width that stands without one of the height",
    "num_groups": "MXNet takes -1 for a number that is not known yet, and computes nothing",
    "nsize": "a window of no channels",
    "output_size": "a picture without pixels",
    "kernel": "MXNet infers the shape of a window of negative extent, which it cannot compute",
    "stride": "MXNet infers the shape of negative steps, which it cannot compute",
    "dilate": "MXNet infers the shape of negative steps, which it cannot compute",
    "bin_cnt": "MXNet divides by 0 bins",
    "_npi_insert_slice.axis": "MXNet reads beside the values, which do not fit",
    "_contrib_quantized_rnn.p": "a call with int8 data, which mixnet tells from the shapes",
    "p": "probabilities are from 0 to 1",
    "_npi_choice.a": "MXNet takes negative numbers of places for large ones",
    "n": "MXNet takes -1 for no draws",
    "N": "MXNet takes too many rows for none",
    "ndev": "a number of devices",
    "M": "MXNet takes negative numbers of columns for as many as rows, too many for none",
}  # fmt: skip
# Where mixnet takes what MXNet refuses.
LOOSER = {
    "axis": "negative axes, and one that is named twice, as in other operators",
    "axes": "negative axes, and one that is named twice, as in other operators",
    "shape": "arrays without elements are arrays",
    "reps": "arrays without elements are arrays",
    "Pad.pad_width": "all axes can be padded",
    "heads": "one head is a number of heads",
    "_linspace.repeat": "MXNet has the attribute by a mistake and takes none but 1",
    "_npi_arange.repeat": "MXNet has the attribute by a mistake and takes none but 1",
    "_npi_dsplit.sections": "MXNet crashes for one part",
    "_random_negative_binomial.k": "MXNet reads it as text that must be a whole number",
    "pvals": "the last is what is left of 1",
}


@each_record("question", QUESTIONS, ids=lambda question: question["op"])
def test_values_are_refused_or_accepted_as_in_mxnet(question: dict[str, Any]) -> None:
    for name, facts in question["facts"].items():
        for value, answer in facts:
            error = refusal(question, name, value)
            assert error is None or isinstance(error, MXNetError), (name, value, error)
            if (error is None) != (answer == "accepts"):
                known = LOOSER if error is None else STRICTER
                keys = (f"{question['op']}.{name}", name, "NaN" if value != value else None)
                different = f"MXNet {answer} {name}={value}, mixnet {error or 'accepts'}"
                assert any(key in known for key in keys), different
