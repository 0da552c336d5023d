"""Record the shapes that MXNet 1.9.1 infers from partly known ones.

Run it with an interpreter that has mxnet 1.9.1; it needs nothing of mixnet::

    PYTHON tests/parity/record_unknown_shapes.py          # or --all, for three times as many questions

Each case is one operator. Beside each of its outputs stands a variable ``o0``, ``o1``, ... that
is added to it, so that a shape can be said of an output as well. A question hides extents (0),
ranks (None) or both of some variables. ``fixtures/unknown_shapes.json`` has, for each question,
the shapes that ``infer_shape_partial`` gives, or ``raises``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FIXTURE = Path(__file__).parent / "fixtures" / "unknown_shapes.json"

# operator, attributes, shapes of its inputs (None: follows from the others)
Case = tuple[str, dict[str, Any], list[tuple[int, ...]]]
CASES: list[Case] = [
    *(
        (name, {}, [(2, 3)])
        for name in (
            "exp",
            "sigmoid",
            "relu",
            "tanh",
            "sqrt",
            "abs",
            "negative",
            "BlockGrad",
            "identity",
            "zeros_like",
            "ones_like",
            "make_loss",
            "gamma",
            "round",
            "logical_not",
            "softsign",
            "erf",
            "size_array",
            "shape_array",
        )
    ),
    *(
        (name, {}, [(2, 3), (2, 3)])
        for name in (
            "elemwise_add",
            "elemwise_mul",
            "elemwise_sub",
            "elemwise_div",
            "_maximum",
            "_hypot",
            "reshape_like",
            "broadcast_like",
            "LinearRegressionOutput",
            "MAERegressionOutput",
            "LogisticRegressionOutput",
            "slice_like",
        )
    ),
    *(
        (name, {}, [(2, 3), (1, 3)])
        for name in ("broadcast_add", "broadcast_mul", "broadcast_equal")
    ),
    ("broadcast_like", {}, [(1, 3), (2, 3)]),
    ("broadcast_add", {}, [(2, 3), (2, 3)]),
    ("broadcast_sub", {}, [(2, 1, 4), (1, 3, 4)]),
    ("add_n", {}, [(2, 3), (2, 3), (2, 3)]),
    ("smooth_l1", {"scalar": 1.0}, [(2, 3)]),
    ("_plus_scalar", {"scalar": 1.0}, [(2, 3)]),
    ("clip", {"a_min": 0, "a_max": 1}, [(2, 3)]),
    ("Cast", {"dtype": "float16"}, [(2, 3)]),
    ("Activation", {"act_type": "relu"}, [(2, 3)]),
    ("LeakyReLU", {"act_type": "leaky"}, [(2, 3)]),
    ("LeakyReLU", {"act_type": "prelu"}, [(2, 3), (3,)]),
    ("LeakyReLU", {"act_type": "gelu"}, [(2, 3)]),
    ("Dropout", {"p": 0.5}, [(2, 3)]),
    ("softmax", {"axis": 1}, [(2, 3)]),
    ("log_softmax", {}, [(2, 3)]),
    ("SoftmaxActivation", {}, [(2, 3)]),
    ("SoftmaxOutput", {}, [(2, 3), (2,)]),
    ("SoftmaxOutput", {"multi_output": True}, [(2, 3, 4), (2, 4)]),
    ("SoftmaxOutput", {"preserve_shape": True}, [(2, 3, 4), (2, 3)]),
    ("SVMOutput", {}, [(2, 3), (2,)]),
    ("softmax_cross_entropy", {}, [(2, 3), (2,)]),
    ("dot", {}, [(2, 3), (3, 4)]),
    ("dot", {"transpose_a": True}, [(3, 2), (3, 4)]),
    ("dot", {"transpose_b": True}, [(2, 3), (4, 3)]),
    ("dot", {}, [(3,), (3,)]),
    ("dot", {}, [(2, 5, 3), (3, 4)]),
    ("batch_dot", {}, [(5, 2, 3), (5, 3, 4)]),
    ("batch_dot", {"transpose_a": True}, [(5, 3, 2), (5, 3, 4)]),
    ("FullyConnected", {"num_hidden": 4}, [(2, 3), (4, 3), (4,)]),
    ("FullyConnected", {"num_hidden": 4, "no_bias": True}, [(2, 3, 5), (4, 15)]),
    ("FullyConnected", {"num_hidden": 4, "flatten": False}, [(2, 5, 3), (4, 3), (4,)]),
    (
        "Convolution",
        {"num_filter": 4, "kernel": (3, 3), "pad": (1, 1), "stride": (2, 2)},
        [(2, 3, 8, 6), (4, 3, 3, 3), (4,)],
    ),
    ("Convolution", {"num_filter": 4, "kernel": (3,)}, [(2, 3, 8), (4, 3, 3), (4,)]),
    (
        "Convolution",
        {"num_filter": 4, "kernel": (1, 1), "no_bias": True},
        [(2, 3, 8, 6), (4, 3, 1, 1)],
    ),
    (
        "Convolution",
        {"num_filter": 4, "kernel": (3, 3), "num_group": 2, "dilate": (2, 2)},
        [(2, 4, 8, 9), (4, 2, 3, 3), (4,)],
    ),
    (
        "Convolution",
        {"num_filter": 4, "kernel": (2, 2, 2)},
        [(2, 3, 5, 6, 7), (4, 3, 2, 2, 2), (4,)],
    ),
    (
        "Deconvolution",
        {"num_filter": 4, "kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
        [(2, 3, 8, 6), (3, 4, 3, 3)],
    ),
    (
        "Deconvolution",
        {"num_filter": 4, "kernel": (3, 3), "target_shape": (16, 12), "stride": (2, 2)},
        [(2, 3, 8, 6), (3, 4, 3, 3)],
    ),
    ("Pooling", {"kernel": (2, 2), "stride": (2, 2), "pool_type": "max"}, [(2, 3, 8, 6)]),
    (
        "Pooling",
        {"kernel": (3, 3), "stride": (2, 2), "pooling_convention": "full", "pool_type": "avg"},
        [(2, 3, 8, 6)],
    ),
    ("Pooling", {"global_pool": True, "kernel": (2, 2), "pool_type": "max"}, [(2, 3, 8, 6)]),
    ("Pooling", {"kernel": (2,), "pool_type": "max"}, [(2, 3, 8)]),
    ("UpSampling", {"scale": 2, "sample_type": "nearest", "num_args": 1}, [(2, 3, 4, 5)]),
    ("BatchNorm", {}, [(2, 3, 4), (3,), (3,), (3,), (3,)]),
    ("BatchNorm", {"axis": -1}, [(2, 3, 4), (4,), (4,), (4,), (4,)]),
    ("LayerNorm", {}, [(2, 3), (3,), (3,)]),
    ("LayerNorm", {"axis": 1}, [(2, 3, 4), (3,), (3,)]),
    ("InstanceNorm", {}, [(2, 3, 4), (3,), (3,)]),
    ("GroupNorm", {"num_groups": 2}, [(2, 4, 5), (2,), (2,)]),
    ("L2Normalization", {}, [(2, 3)]),
    ("LRN", {"nsize": 3}, [(2, 3, 4, 4)]),
    ("Embedding", {"input_dim": 7, "output_dim": 5}, [(2, 3), (7, 5)]),
    (
        "RNN",
        {"state_size": 4, "num_layers": 1, "mode": "lstm"},
        [(3, 2, 5), (176,), (1, 2, 4), (1, 2, 4)],
    ),
    (
        "RNN",
        {
            "state_size": 4,
            "num_layers": 2,
            "mode": "gru",
            "bidirectional": True,
            "state_outputs": True,
        },
        [(3, 2, 5), (600,), (4, 2, 4)],
    ),
    ("RNN", {"state_size": 4, "num_layers": 1, "mode": "rnn_tanh"}, [(3, 2, 5), (44,), (1, 2, 4)]),
    ("Concat", {"dim": 1}, [(2, 3), (2, 4)]),
    ("Concat", {"dim": 0}, [(2, 3), (4, 3), (1, 3)]),
    ("Concat", {"dim": -1}, [(2, 3), (2, 4)]),
    ("stack", {"axis": 1}, [(2, 3), (2, 3)]),
    ("stack", {"axis": -1}, [(2, 3), (2, 3)]),
    ("SliceChannel", {"num_outputs": 2, "axis": 1}, [(2, 4)]),
    ("SliceChannel", {"num_outputs": 3, "axis": 1, "squeeze_axis": True}, [(2, 3, 4)]),
    ("SliceChannel", {"num_outputs": 2, "axis": -1}, [(3, 2, 4)]),
    ("_split_v2", {"indices": (), "sections": 2, "axis": 1}, [(2, 4)]),
    ("_split_v2", {"indices": (0, 1, 3), "axis": 1}, [(2, 4)]),
    ("Reshape", {"shape": (3, 2)}, [(2, 3)]),
    ("Reshape", {"shape": (-1, 2)}, [(2, 3)]),
    ("Reshape", {"shape": (0, -1)}, [(2, 3, 4)]),
    ("Reshape", {"shape": (0, 0, -1)}, [(2, 3, 4)]),
    ("Reshape", {"shape": (-2,)}, [(2, 3, 4)]),
    ("Reshape", {"shape": (-3, 0)}, [(2, 3, 4)]),
    ("Reshape", {"shape": (0, -3)}, [(2, 3, 4)]),
    ("Reshape", {"shape": (-3, -2)}, [(2, 3, 4)]),
    ("Reshape", {"shape": (-4, 1, 2, -2)}, [(2, 3, 4)]),
    ("Reshape", {"shape": (0, -4, -1, 2, 0)}, [(2, 6, 4)]),
    ("Reshape", {"shape": (-1,)}, [(2, 3, 4)]),
    ("Reshape", {"shape": (-1, 0), "reverse": True}, [(2, 3, 4)]),
    ("Reshape", {"shape": (0, 0)}, [(2, 3)]),
    ("Reshape", {"shape": (0, -1, 1, 1)}, [(2, 3)]),
    ("Flatten", {}, [(2, 3, 4)]),
    ("transpose", {}, [(2, 3, 4)]),
    ("transpose", {"axes": (1, 0, 2)}, [(2, 3, 4)]),
    ("SwapAxis", {"dim1": 0, "dim2": 2}, [(2, 3, 4)]),
    ("expand_dims", {"axis": 1}, [(2, 3)]),
    ("expand_dims", {"axis": -1}, [(2, 3)]),
    ("squeeze", {"axis": 1}, [(2, 1, 3)]),
    ("squeeze", {}, [(2, 1, 3)]),
    ("tile", {"reps": (2, 3)}, [(2, 3)]),
    ("tile", {"reps": (2, 1, 3)}, [(2, 3)]),
    ("repeat", {"repeats": 2, "axis": 1}, [(2, 3)]),
    ("repeat", {"repeats": 2}, [(2, 3)]),
    ("slice", {"begin": (0, 1), "end": (2, 3)}, [(2, 4)]),
    ("slice", {"begin": (None, 1), "end": (None, None)}, [(2, 4)]),
    ("slice", {"begin": (1,), "end": (2,)}, [(2, 4)]),
    ("slice_axis", {"axis": 1, "begin": 1, "end": 3}, [(2, 4)]),
    ("slice_axis", {"axis": 1, "begin": 1, "end": None}, [(2, 4)]),
    ("slice_axis", {"axis": 0, "begin": -1, "end": None}, [(2, 4)]),
    ("slice_axis", {"axis": -1, "begin": 0, "end": -1}, [(2, 4)]),
    ("slice_like", {"axes": (1,)}, [(2, 4), (3, 3)]),
    ("Crop", {"h_w": (2, 2), "num_args": 1}, [(1, 2, 4, 4)]),
    ("Pad", {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 2, 2)}, [(1, 2, 4, 4)]),
    ("reverse", {"axis": 0}, [(2, 3)]),
    ("broadcast_to", {"shape": (2, 3)}, [(2, 1)]),
    ("broadcast_to", {"shape": (0, 3)}, [(2, 1)]),
    ("broadcast_axis", {"axis": 1, "size": 3}, [(2, 1)]),
    ("where", {}, [(2, 3), (2, 3), (2, 3)]),
    ("where", {}, [(2,), (2, 3), (2, 3)]),
    ("pick", {"axis": 1}, [(2, 3), (2,)]),
    ("pick", {"axis": 0, "keepdims": True}, [(2, 3), (1, 3)]),
    ("one_hot", {"depth": 5}, [(2, 3)]),
    ("take", {}, [(4, 3), (2, 5)]),
    ("take", {"axis": 1}, [(4, 3), (2,)]),
    ("batch_take", {}, [(4, 3), (4,)]),
    ("gather_nd", {}, [(4, 3), (2, 5)]),
    ("scatter_nd", {"shape": (4, 3)}, [(5,), (2, 5)]),
    *(
        (name, attributes, [(2, 3, 4)])
        for name in ("sum", "mean")
        for attributes in (
            {},
            {"axis": 1},
            {"axis": (0, 2)},
            {"axis": 1, "keepdims": True},
            {"axis": 1, "exclude": True},
            {"keepdims": True},
        )
    ),
    ("max", {"axis": -1}, [(2, 3)]),
    ("prod", {"axis": 0}, [(2, 3)]),
    ("norm", {"axis": 1}, [(2, 3)]),
    ("argmax", {"axis": 1}, [(2, 3)]),
    ("argmax", {"axis": 1, "keepdims": True}, [(2, 3)]),
    ("argmax", {}, [(2, 3)]),
    ("argmax_channel", {}, [(2, 3)]),
    ("topk", {"k": 2}, [(2, 3)]),
    ("topk", {"k": 2, "ret_typ": "both", "axis": 0}, [(2, 3)]),
    ("sort", {}, [(2, 3)]),
    ("sort", {"axis": None}, [(2, 3)]),
    ("argsort", {"axis": 0}, [(2, 3)]),
    ("cumsum", {"axis": 0}, [(2, 3)]),
    ("diag", {}, [(3, 3)]),
    ("diag", {}, [(3,)]),
    ("SequenceMask", {"use_sequence_length": True}, [(4, 2, 3), (2,)]),
    ("SequenceMask", {}, [(4, 2, 3)]),
    ("SequenceLast", {}, [(4, 2, 3)]),
    ("SequenceLast", {"use_sequence_length": True}, [(4, 2, 3), (2,)]),
    ("SequenceReverse", {"use_sequence_length": True}, [(4, 2, 3), (2,)]),
    ("space_to_depth", {"block_size": 2}, [(1, 2, 4, 6)]),
    ("depth_to_space", {"block_size": 2}, [(1, 8, 2, 3)]),
    ("linalg_gemm2", {}, [(2, 3), (3, 4)]),
    ("linalg_potrf", {}, [(3, 3)]),
    ("linalg_syrk", {}, [(2, 3)]),
    ("khatri_rao", {}, [(2, 3), (4, 3)]),
    ("CTCLoss", {}, [(5, 2, 4), (2, 3)]),
    ("ROIPooling", {"pooled_size": (2, 2), "spatial_scale": 1.0}, [(1, 2, 6, 6), (3, 5)]),
    ("BilinearSampler", {}, [(1, 2, 6, 6), (1, 2, 3, 4)]),
    ("GridGenerator", {"transform_type": "affine", "target_shape": (3, 4)}, [(2, 6)]),
    (
        "SpatialTransformer",
        {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (3, 4)},
        [(2, 2, 6, 6), (2, 6)],
    ),
    ("Correlation", {}, [(1, 2, 4, 4), (1, 2, 4, 4)]),
    ("MakeLoss", {}, [(2, 3)]),
    ("IdentityAttachKLSparseReg", {}, [(2, 3)]),
    ("amp_cast", {"dtype": "float16"}, [(2, 3)]),
    ("amp_multicast", {"num_outputs": 2}, [(2, 3), (2, 3)]),
    ("_zeros", {"shape": (0, 3)}, []),
    ("_zeros", {"shape": (2, 3)}, []),
    ("_arange", {"start": 0, "stop": 6}, []),
    ("_random_uniform", {"shape": (2, 3)}, []),
    ("_contrib_arange_like", {"axis": 1}, [(2, 3)]),
    ("_contrib_div_sqrt_dim", {}, [(2, 3)]),
    ("_contrib_interleaved_matmul_selfatt_qk", {"heads": 2}, [(3, 2, 24)]),
    ("_contrib_AdaptiveAvgPooling2D", {"output_size": 2}, [(1, 2, 6, 6)]),
    ("_contrib_BilinearResize2D", {"height": 3, "width": 4}, [(1, 2, 6, 6)]),
    ("_sample_normal", {"shape": (4,)}, [(2,), (2,)]),
    ("_rnn_param_concat", {"dim": 0}, [(24,), (16,), (8,), (8,)]),
]


def symbol_of(mx: Any, case: Case) -> tuple[Any, int]:
    """The operator with a variable beside each output, and how many of these there are."""
    name, attributes, shapes = case
    inputs = [mx.sym.Variable(f"i{place}") for place in range(len(shapes))]
    operators = mx.sym._internal if name.startswith("_") else mx.sym
    if name.startswith("_contrib_"):
        operators, name = mx.sym.contrib, name.removeprefix("_contrib_")
    symbol = getattr(operators, name)(*inputs, name="op", **attributes)
    outputs = list(symbol)
    return mx.sym.Group([
        mx.sym.elemwise_add(each, mx.sym.Variable(f"o{place}"))
        for place, each in enumerate(outputs)
    ]), len(outputs)  # fmt: skip


def questions_of(
    inputs: list[Any], outputs: list[Any], every: bool = False
) -> list[dict[str, Any]]:
    """Partly known shapes of the inputs and outputs of a case, by name of a variable.

    Args:
        inputs: whole shapes.
        outputs: likewise.
        every: all questions; else a third of them, which is what is stored.
    """
    whole = {f"i{place}": shape for place, shape in enumerate(inputs)}
    results = {f"o{place}": shape for place, shape in enumerate(outputs)}
    hidden: list[dict[str, Any]] = [{}, whole, results]

    def open_at(shape: Any, axis: int) -> Any:
        return tuple(0 if place == axis else extent for place, extent in enumerate(shape))

    for known, beside in ((whole, {}), (whole, results), (results, {})):
        for name, shape in known.items():
            rest = {key: value for key, value in known.items() if key != name}
            hidden.append({**rest, **beside})
            hidden.append({**rest, **beside, name: (0,) * len(shape)})
            hidden.extend(
                {**rest, **beside, name: open_at(shape, axis)} for axis in range(len(shape))
            )
            if rest:
                hidden.append({name: shape})
    ranks = {name: (0,) * len(shape) for name, shape in whole.items()}
    hidden.extend([ranks, {**ranks, **results}])
    for axis in range(max((len(shape) for shape in inputs), default=0)):
        hidden.append({name: open_at(shape, axis) for name, shape in whole.items()})
    unique = {json.dumps(each, sort_keys=True): each for each in hidden}
    return list(unique.values())[:: None if every else 3]


def answer(symbol: Any, question: dict[str, Any], mistake: type[Exception]) -> Any:
    """Shapes by name as ``infer_shape_partial`` gives them, outputs last, or ``"raises"``."""
    known = {name: tuple(shape) for name, shape in question.items()}
    try:
        arguments, outputs, states = symbol.infer_shape_partial(**known)
    except mistake:
        return "raises"
    return [
        [None if each is None else list(each) for each in shapes]
        for shapes in (arguments, outputs, states)
    ]


def main() -> None:
    """Write the fixture."""
    import mxnet as mx

    rows = []
    for case in CASES:
        symbol, count = symbol_of(mx, case)
        known = {f"i{place}": shape for place, shape in enumerate(case[2])}
        arguments = dict(
            zip(symbol.list_arguments(), symbol.infer_shape_partial(**known)[0], strict=True)
        )
        outputs = [arguments[f"o{place}"] for place in range(count)]
        questions = questions_of(case[2], outputs, every="--all" in sys.argv)
        rows.append(
            {
                "case": case,
                "asked": [[each, answer(symbol, each, mx.MXNetError)] for each in questions],
            }
        )
    write_answers(FIXTURE, rows)


def write_answers(fixture: Path, rows: list[Any]) -> None:
    """Write cases with what was asked and answered, one in a line."""
    fixture.write_text("[\n" + ",\n".join(json.dumps(each) for each in rows) + "\n]\n")
    print(f"{sum(len(each['asked']) for each in rows)} answers of {len(rows)} cases in {fixture}")


if __name__ == "__main__":
    main()
