"""Operators on integers of 8 bits; those that MXNet computes on a CPU."""

import numpy as np

_rng = np.random.RandomState(11)


def _int8(*shape):
    return _rng.randint(-128, 128, shape).astype("int8")


def _uint8(*shape):
    return _rng.randint(0, 256, shape).astype("uint8")


def _ends(**ranges):
    """Two arrays for each range: ``data=(-1, 2)`` makes min_data and max_data."""
    bounds = {}
    for name, (low, high) in ranges.items():
        bounds["min_" + name] = np.array([low], "float32")
        bounds["max_" + name] = np.array([high], "float32")
    return bounds


def _case(name, op, inputs, attrs=None, **more):
    full = {"case": "quantized_" + name, "op": "_contrib_" + op, "inputs": inputs,
            "attrs": attrs or {}, "train": False}  # fmt: skip
    full.update(more)
    return full


_measured = {"min_calib_range": -2.0, "max_calib_range": 3.0}
_above = {"min_calib_range": 0.0, "max_calib_range": 3.0}
_data = _ends(data=(-1.5, 2))
_every = {"int8": np.arange(-128, 128).astype("int8"), "uint8": np.arange(256).astype("uint8")}

CASES = [
    _case("act", "quantized_act", {"data": _int8(2, 3, 4, 2), **_data}, {"act_type": "relu"}),
    _case("flatten_int8", "quantized_flatten", {"data": _int8(2, 3, 4), **_data}),
    _case("flatten_uint8", "quantized_flatten", {"data": _uint8(2, 3, 4), **_data}),
    _case("embedding", "quantized_embedding",
          {"data": np.array([[0, 4], [2, 9]], "float32"), "weight": _int8(5, 3),
           **_ends(weight=(-1, 0.5))}, {"input_dim": 5, "output_dim": 3}),
    _case("embedding_below", "quantized_embedding",
          {"data": np.array([1, -3], "int32"), "weight": _int8(5, 3), **_ends(weight=(-1, 0.5))},
          {"input_dim": 5, "output_dim": 3}),
]  # fmt: skip

for _type, _make in (("int8", _int8), ("uint8", _uint8)):
    for _title, _more in (
        ("valid", {"kernel": (2, 2), "stride": (2, 2)}),
        ("padded", {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}),
        ("unpadded", {"kernel": (3, 3), "pad": (1, 1), "count_include_pad": False}),
        ("full", {"kernel": (2, 2), "stride": (2, 2), "pooling_convention": "full"}),
        ("global", {"kernel": (2, 2), "global_pool": True}),
        ("volume", {"kernel": (2, 2, 2)}),
    ):
        for _pool in ("max", "avg"):
            # MXNet divides a mean that reaches beyond the data by the whole kernel here, and by
            # what lies inside for floats.
            if (_title, _pool) != ("full", "avg"):
                _shape = (1, 2, 3, 4, 3) if _title == "volume" else (2, 2, 5, 5)
                CASES.append(
                    _case(f"{_pool}_{_title}_{_type}", "quantized_pooling",
                          {"data": _make(*_shape), **_data}, {"pool_type": _pool, **_more})
                )  # fmt: skip
    _both = {"data": _make(2, 3, 2), "weight": _int8(4, 6)}
    _ranges = {"data": (-1.5, 2), "weight": (-1, 0.7)}
    CASES += [
        _case("fc_" + _type, "quantized_fully_connected",
              {**_both, "bias": _int8(4), **_ends(**_ranges, bias=(-3, 2))}, {"num_hidden": 4}),
        _case("fc_no_bias_" + _type, "quantized_fully_connected", {**_both, **_ends(**_ranges)},
              {"num_hidden": 4, "no_bias": True}),
        _case("fc_unflattened_" + _type, "quantized_fully_connected",
              {"data": _make(2, 2, 6), "weight": _int8(4, 6), "bias": _int8(4),
               **_ends(**_ranges, bias=(-0.3, 0.2))}, {"num_hidden": 4, "flatten": False}),
    ]  # fmt: skip

_pairs = {
    "int8": (_every["int8"][None], _int8(2, 256), (-1, 0.7), (-1, 1.5)),
    "int8_equal": (_every["int8"][None], _int8(2, 256), (-1, 2), (-1, 2)),
    "uint8": (_every["uint8"][None], _uint8(2, 256), (0.1, 0.7), (0, 0.9)),
    "uint8_int8": (_every["uint8"][None], _every["int8"][None], (0, 2), (-1, 1.5)),
    "int8_uint8": (_int8(1, 9), _uint8(2, 9), (-3, 1), (0, 2)),
}
for _title, (_one, _two, _first, _second) in _pairs.items():
    _names = {"arg0": _one, "arg1": _two}
    CASES.append(
        _case("concat_" + _title, "quantized_concat",
              {**_names, **_ends(arg0=_first, arg1=_second)}, {"num_args": 2, "dim": 0})
    )  # fmt: skip
CASES.append(
    _case("concat_three", "quantized_concat",
          {"a": _int8(2, 3), "b": _int8(2, 1), "c": _int8(2, 4),
           **_ends(a=(-1, 1), b=(-3, 2), c=(-2, 0.5))}, {"num_args": 3})
)  # fmt: skip

for _title, (_one, _two, _measure) in {
    "int8": (_int8(2, 3, 4), _int8(2, 3, 4), None),
    "uint8": (_uint8(2, 3, 4), _uint8(2, 3, 4), None),
    "int8_measured": (_int8(2, 30), _int8(2, 30), _measured),
    "uint8_measured": (_uint8(2, 30), _uint8(2, 30), _above),
    # Without a measured range MXNet cuts uint8 numbers to int8 first; with one and uint8 on the
    # right it rounds them to int8 first, so that results differ by 1.
    "uint8_int8_measured": (_uint8(2, 30), _int8(2, 30), _measured),
}.items():
    CASES.append(
        _case("add_" + _title, "quantized_elemwise_add",
              {"lhs": _one, "rhs": _two, **_ends(lhs=(-1, 2), rhs=(-3, 1))}, _measure)
    )  # fmt: skip

# Products beyond the measured range wrap around in MXNet.
_wide = {"min_calib_range": -4.0, "max_calib_range": 6.5}
for _title, _more in {
    "sums": {}, "measured": _wide, "float": {"enable_float_output": True},
}.items():  # fmt: skip
    CASES.append(
        _case("mul_" + _title, "quantized_elemwise_mul",
              {"lhs": _int8(2, 30), "rhs": _int8(2, 30), **_ends(lhs=(-1, 2), rhs=(-3, 1))}, _more,
              symbol=True)
    )  # fmt: skip

_sums = _rng.randint(-(2**20), 2**20, (3, 10)).astype("int32")
_large = _rng.randint(-(2**31) + 1, 2**31 - 1, (3, 10)).astype("int32")
for _title, _values in (("sums", _sums), ("large", _large), ("above", np.abs(_sums))):
    for _type in ("int8", "uint8", "auto"):
        for _name, _more in (
            ("own", {}), ("measured", {"min_calib_range": -0.001, "max_calib_range": 0.0015}),
            ("measured_above", {"min_calib_range": 0.0, "max_calib_range": 1.5}),
        ):  # fmt: skip
            CASES.append(
                _case(f"requantize_{_title}_{_type}_{_name}", "requantize",
                      {"data": _values, **_ends(range=(-3, 2))}, {"out_type": _type, **_more})
            )  # fmt: skip
CASES.append(
    _case("requantize_halves", "requantize",
          {"data": np.arange(-40, 41).astype("int32") * (2**31 // 254), **_ends(range=(-1, 1))},
          {"min_calib_range": -1.0, "max_calib_range": 1.0})
)  # fmt: skip

for _title, _values, _more in (
    ("int8", _int8(2, 3, 4, 4), {}), ("flat", _int8(4, 3), {"eps": 0.1}),
):  # fmt: skip
    _statistics = {
        "gamma": np.array([1.5, 0.5, 2], "float32"), "beta": np.array([0.1, -0.2, 0.3], "float32"),
        "moving_mean": np.array([0.2, 0.1, -0.1], "float32"),
        "moving_var": np.array([1.1, 0.9, 0.4], "float32"),
    }  # fmt: skip
    # MXNet rounds uint8 data to int8 first, so that results differ by 1. It reads gamma even with
    # fix_gamma: that is False, or gamma 1.
    CASES.append(
        _case("batch_norm_" + _title, "quantized_batch_norm",
              {"data": _values, **_statistics, **_ends(data=(-1, 2))},
              {"fix_gamma": False, "min_calib_range": -3.0, "max_calib_range": 3.5, **_more})
    )  # fmt: skip
_statistics["gamma"] = np.ones(3, "float32")
CASES.append(
    _case("batch_norm_fixed", "quantized_batch_norm",
          {"data": _int8(2, 3, 4, 4), **_statistics, **_ends(data=(-1, 2))},
          {"min_calib_range": 0.0, "max_calib_range": 3.5})
)  # fmt: skip

# Flat histograms have thresholds so nearly equal that float32 sums decide.
for _bins, _quantized, _freedom in (
    (101, 15, 3), (801, 255, 4), (51, 7, 6), (100, 15, 7), (201, 31, 3), (255, 255, 5), (19, 6, 5),
):  # fmt: skip
    _values = _rng.standard_t(_freedom, size=2000)
    _end = np.abs(_values).max()
    _counts, _edges = np.histogram(_values, bins=_bins, range=(-_end, _end))
    CASES.append(
        _case(f"calibrate_{_bins}_{_quantized}", "calibrate_entropy",
              {"hist": _counts.astype("float32"), "hist_edges": _edges.astype("float32")},
              {"num_quantized_bins": _quantized}, close={"rtol": 1e-3, "atol": 1e-5})
    )  # fmt: skip
