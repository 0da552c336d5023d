"""Recurrent networks, CTC and linear algebra."""

import numpy as np

_rng = np.random.RandomState(11)


def _uniform(*shape):
    return _rng.uniform(-1, 1, shape).astype("float32")


def _definite(*shape):
    root = _rng.uniform(-1, 1, shape)
    product = np.matmul(root, np.swapaxes(root, -1, -2))
    return (product + np.eye(shape[-1])).astype("float32")


def _triangular(*shape):
    return (np.tril(_rng.uniform(0.2, 1, shape)) + np.eye(shape[-1])).astype("float32")


def _case(name, op, inputs, attrs=None, grads=None, **more):
    grads = list(inputs) if grads is None else grads
    return {
        "case": name, "op": op, "inputs": inputs, "attrs": attrs or {}, "grads": grads, **more,
    }  # fmt: skip


def _rnn(mode, layers, both, out=None, **attrs):
    units, state_size, batch, steps = 3, 4, 2, 5
    gates = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}[mode] * state_size
    sides, width = 1 + both, out or state_size
    size = 0
    for layer in range(layers):
        size += sides * gates * (width + 2 + (width * sides if layer else units))
        size += sides * width * state_size if out else 0
    inputs = {
        "data": _uniform(steps, batch, units),
        "parameters": _uniform(size) * np.float32(0.7),
        "state": _uniform(layers * sides, batch, width),
    }
    if mode == "lstm":
        inputs["state_cell"] = _uniform(layers * sides, batch, state_size)
    settings = {
        "state_size": state_size, "num_layers": layers, "mode": mode, "bidirectional": both,
        "projection_size": out, **attrs,
    }  # fmt: skip
    title = f"rnn_{mode}_{layers}{'_both' if both else ''}{'_projected' if out else ''}"
    if not attrs.get("state_outputs"):
        title += "_output_only"
    # MXNet has no training with a projection on a CPU.
    if out:
        return _case(title, "RNN", inputs, settings, [], train=False)
    return _case(title, "RNN", inputs, settings)


def _ctc(name, label, attrs=None, data_lengths=None, label_lengths=None, steps=6):
    inputs = {"data": _uniform(steps, len(label), 5) * 2, "label": np.array(label, "float32")}
    attrs = dict(attrs or {})
    for key, lengths in (("data_lengths", data_lengths), ("label_lengths", label_lengths)):
        if lengths is not None:
            attrs["use_" + key] = True
            inputs[key] = np.array(lengths, "float32")
    # With too few steps MXNet leaves the gradient uninitialized.
    return _case("ctc_" + name, "CTCLoss", inputs, attrs, [] if steps < 6 else ["data"])


_recurrent = [
    _rnn(mode, layers, both, state_outputs=True)
    for mode in ("rnn_relu", "rnn_tanh", "lstm", "gru")
    for layers, both in ((1, True), (3, False))
]
_recurrent += [
    _rnn("lstm", 2, True),
    _rnn("gru", 1, False),
    _rnn("lstm", 2, False, out=3, state_outputs=True),
]

_classification = [
    _ctc("padding_inside", [[1, 0, 2], [0, 1, 2], [4, 4, 4]]),
    _ctc("padding_inside_last", [[0, -1, 2], [-1, 1, 2], [3, 3, 3]], {"blank_label": "last"}),
    _ctc("too_few_steps", [[1, 1, 1], [1, 2, 3], [2, 2, 3]], steps=3),
    _ctc("label_lengths", [[1, 2, 2], [3, 3, 3], [3, 1, 2]], label_lengths=[1, 3, 0]),
    _ctc("data_lengths", [[1, 2, 3], [3, 3, 0], [4, 0, 0]], data_lengths=[3, 4, 5]),
    _ctc(
        "both_lengths", [[0, 2, 2], [3, 3, 3]], {"blank_label": "last"},
        data_lengths=[6, 5], label_lengths=[2, 3],
    ),
]  # fmt: skip

_batch = [
    _case(
        "gemm_transposed", "_linalg_gemm",
        {"A": _uniform(2, 4, 3), "B": _uniform(2, 5, 4), "C": _uniform(2, 3, 5)},
        {"transpose_a": True, "transpose_b": True, "alpha": 1.5, "beta": -0.5},
    ),
    _case(
        "gemm_axis", "_linalg_gemm",
        {"A": _uniform(2, 3, 2, 4), "B": _uniform(2, 4, 2, 5), "C": _uniform(2, 3, 2, 5)},
        {"axis": 1},
    ),
    _case(
        "gemm2_axis", "_linalg_gemm2", {"A": _uniform(4, 2, 3), "B": _uniform(4, 2, 5)},
        {"axis": 0, "transpose_a": True, "alpha": 0.5},
    ),
    _case("gemm2_batch", "_linalg_gemm2", {"A": _uniform(2, 2, 3, 4), "B": _uniform(2, 2, 4, 1)}),
    _case("syrk_batch", "_linalg_syrk", {"A": _uniform(2, 3, 4)}, {"alpha": 2.0}),
    _case("potrf_batch", "_linalg_potrf", {"A": _definite(2, 3, 3)}),
    _case("potrf_lower_is_read", "_linalg_potrf",
          {"A": _definite(3, 3) + np.triu(_uniform(3, 3), 1)}),
    _case("potri_batch", "_linalg_potri", {"A": _triangular(2, 3, 3)}),
    _case("potri_lower_is_read", "_linalg_potri",
          {"A": _triangular(3, 3) + np.triu(_uniform(3, 3), 1)}),
    _case("gelqf_batch", "_linalg_gelqf", {"A": _uniform(2, 3, 5)}),
    _case("gelqf_square", "_linalg_gelqf", {"A": _uniform(3, 3)}),
    _case("syevd_batch", "_linalg_syevd", {"A": _definite(3, 4, 4)}),
    _case("syevd_lower_is_read", "_linalg_syevd",
          {"A": _definite(3, 3) + np.triu(_uniform(3, 3), 1)}),
    _case("inverse_batch", "_linalg_inverse", {"A": _definite(2, 3, 3)}),
    _case("det_batch", "_linalg_det", {"A": _uniform(2, 2, 3, 3)}),
    _case("slogdet_batch", "_linalg_slogdet", {"A": _uniform(3, 3, 3)}),
    _case("slogdet_singular", "_linalg_slogdet",
          {"A": np.array([[[1, 2], [2, 4]], [[1, 2], [2, 3]]], "float32")}),
    _case("sumlogdiag_batch", "_linalg_sumlogdiag", {"A": _definite(2, 3, 3)}),
]  # fmt: skip
for _op, _matrix in (("trmm", _uniform(2, 3, 3)), ("trsm", _uniform(2, 3, 3) + 2 * np.eye(3))):
    for _number, (_transpose, _right, _lower) in enumerate(
        [(True, False, True), (False, True, True), (True, True, False), (False, False, False)]
    ):
        _batch.append(
            _case(
                f"{_op}_{_number}", f"_linalg_{_op}",
                {
                    "A": _matrix.astype("float32"),
                    "B": _uniform(2, 2, 3) if _right else _uniform(2, 3, 2),
                },
                {"transpose": _transpose, "rightside": _right, "lower": _lower, "alpha": 0.5},
            )
        )  # fmt: skip
for _offset, _lower in ((0, True), (0, False), (1, True), (-1, False), (2, False)):
    _settings = {"offset": _offset, "lower": _lower}
    _title = f"trian_{_offset}_{_lower}"
    _batch.append(_case("make" + _title, "_linalg_maketrian", {"A": _uniform(2, 6)}, _settings))
    _batch.append(
        _case("extract" + _title, "_linalg_extracttrian", {"A": _uniform(2, 4, 4)}, _settings)
    )
for _offset in (0, -2):
    _settings = {"offset": _offset}
    _title = f"diag_{_offset}"
    _batch.append(_case("make" + _title, "_linalg_makediag", {"A": _uniform(2, 3)}, _settings))
    _batch.append(
        _case("extract" + _title, "_linalg_extractdiag", {"A": _uniform(2, 4, 4)}, _settings)
    )

_others = [
    _case("selfatt_qk_heads", "_contrib_interleaved_matmul_selfatt_qk",
          {"queries_keys_values": _uniform(4, 2, 27)}, {"heads": 3}),
    _case("selfatt_valatt_heads", "_contrib_interleaved_matmul_selfatt_valatt",
          {"queries_keys_values": _uniform(4, 2, 27), "attention": _uniform(6, 4, 4)},
          {"heads": 3}),
    _case("encdec_qk_heads", "_contrib_interleaved_matmul_encdec_qk",
          {"queries": _uniform(3, 2, 9), "keys_values": _uniform(4, 2, 18)}, {"heads": 3}),
    _case("encdec_valatt_heads", "_contrib_interleaved_matmul_encdec_valatt",
          {"keys_values": _uniform(4, 2, 18), "attention": _uniform(6, 3, 4)}, {"heads": 3}),
    _case(
        "hawkesll", "_contrib_hawkesll",
        {
            "lda": _uniform(3, 2) + np.float32(1.5), "alpha": _uniform(2) + np.float32(1.1),
            "beta": _uniform(2) + np.float32(1.5), "state": _uniform(3, 2) + np.float32(1),
            "lags": _uniform(3, 4) + np.float32(1.1),
            "marks": _rng.randint(0, 2, (3, 4)).astype("int32"),
            "valid_length": np.array([2, 4, 0], "float32"),
            "max_time": np.array([5, 9, 7], "float32"),
        },
        {}, ["lda", "alpha", "beta"],
    ),
]  # fmt: skip
_numbers = np.concatenate([_uniform(20) * 3, np.float32([0, 0.5, 1.5, 2.5, -0.5, 4])])
_range = {"min_calib_range": -1.0, "max_calib_range": 2.0}
for _type in ("int8", "uint8"):
    for _low, _high in ((-1.0, 2.0), (-4.0, 2.0), (0.0, 3.0)):
        _ends = {
            "min_range": np.array([_low], "float32"), "max_range": np.array([_high], "float32"),
        }  # fmt: skip
        _title = f"{_type}_{_low:g}_{_high:g}"
        _others.append(
            _case("quantize_" + _title, "_contrib_quantize", {"data": _numbers, **_ends},
                  {"out_type": _type}, [])
        )  # fmt: skip
        _whole = np.array(
            [[-128, -127, -1, 0, 1, 127], [0, 1, 127, 128, 254, 255]][_type[0] == "u"]
        )
        _others.append(
            _case("dequantize_" + _title, "_contrib_dequantize",
                  {"data": _whole.astype(_type), **_ends}, {}, [])
        )  # fmt: skip
    _others.append(
        _case("quantize_v2_whole_" + _type, "_contrib_quantize_v2", {"data": _whole.astype(_type)},
              {"out_type": _type}, [])
    )  # fmt: skip
for _type in ("int8", "uint8", "auto"):
    for _title, _ends in (
        ("own", {}), ("measured", _range), ("above_0", {**_range, "min_calib_range": 0.0}),
        ("half", {"min_calib_range": -1.0}),
    ):  # fmt: skip
        _others.append(
            _case(f"quantize_v2_{_type}_{_title}", "_contrib_quantize_v2", {"data": _numbers},
                  {"out_type": _type, **_ends}, [])
        )  # fmt: skip
# MXNet takes three axes here, of a recurrent network; with others it ends the process.
_steps = _uniform(3, 2, 4) * 2
_others.append(_case("quantize_asym", "_contrib_quantize_asym", {"data": _steps}, {}, []))
_others.append(
    _case("quantize_asym_measured", "_contrib_quantize_asym", {"data": _steps}, _range, [])
)

CASES = _recurrent + _classification + _batch + _others
