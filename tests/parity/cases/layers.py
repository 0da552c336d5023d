"""Cases of normalization layers, loss heads and small operators; recorded with oneDNN on.

Left out: gradients of SyncBatchNorm and BatchNormWithReLU in prediction, which are read from memory
that was never written; GroupNorm with one gamma for each channel, which its own shapes forbid.
"""

import numpy as np

_rng = np.random.RandomState(13)


def _data(*shape):
    return _rng.uniform(-1, 1, shape).astype("float32")


def _positive(*shape):
    return _rng.uniform(0.2, 1.5, shape).astype("float32")


CASES = []


def _case(name, op, inputs, grads=None, train=True, states=(), symbol=False, **attrs):
    if not isinstance(inputs, (dict, list)):
        inputs = {"data": inputs}
    if grads is None:
        grads = list(inputs) if isinstance(inputs, dict) else []
    case = {"case": name, "op": op, "inputs": inputs, "attrs": attrs, "grads": grads}
    if states:
        case["states"] = list(states)
    CASES.append({**case, "train": train, "symbol": symbol})


def _batch(shape, axis=1):
    count = shape[axis]
    return {
        "data": _data(*shape), "gamma": _positive(count), "beta": _data(count),
        "moving_mean": _data(count), "moving_var": _positive(count),
    }  # fmt: skip


_MOVING = ("moving_mean", "moving_var")
_LEARNT = ["data", "gamma", "beta"]
_MODES = {
    "default": {}, "gamma": {"fix_gamma": False}, "global": {"use_global_stats": True},
    "global_gamma": {"use_global_stats": True, "fix_gamma": False},
    "outputs": {"output_mean_var": True, "fix_gamma": False}, "eps": {"eps": 0.1, "momentum": 0.5},
}  # fmt: skip
_NORMS = {
    "batchnorm": ("BatchNorm", {}, (2, 3, 4)),
    "batchnorm_4d": ("BatchNorm", {}, (2, 3, 2, 2)),
    "sync": ("_contrib_SyncBatchNorm", {"key": "one"}, (2, 3, 2, 2)),
    "relu": ("_contrib_BatchNormWithReLU", {}, (2, 3, 2, 2)),
    "v1": ("BatchNorm_v1", {}, (2, 3, 2, 2)),
}
for _kind, (_op, _attrs, _shape) in _NORMS.items():
    for _mode, _more in _MODES.items():
        if _mode in ("global", "eps") and _kind != "batchnorm":
            continue
        for _train in (True, False):
            _backward = _train or (_kind.startswith("batchnorm") and "global" in _mode)
            if not _train and _kind == "sync" and _mode == "outputs":
                continue  # never written either
            _case(
                f"bn_{_kind}_{_mode}_{'train' if _train else 'predict'}",
                _op,
                _batch(_shape),
                _LEARNT if _backward else [],
                _train,
                _MOVING,
                _kind == "v1",
                **_attrs,
                **_more,
            )
for _axis in (-1, 0, 2):
    _case(
        f"bn_axis_{_axis}",
        "BatchNorm",
        _batch((3, 4, 2), _axis),
        _LEARNT,
        states=_MOVING,
        fix_gamma=False,
        axis=_axis,
    )
_case("bn_2d", "BatchNorm", _batch((4, 3)), _LEARNT, states=_MOVING, fix_gamma=False)
_case("bn_5d", "BatchNorm", _batch((2, 2, 2, 1, 2)), _LEARNT, states=_MOVING, fix_gamma=False)


def _affine(shape, count):
    return {"data": _data(*shape), "gamma": _positive(count), "beta": _data(count)}


for _axis, _count in ((-1, 4), (1, 3), (0, 2)):
    _case(
        f"layernorm_outputs_{_axis}",
        "LayerNorm",
        _affine((2, 3, 4), _count),
        axis=_axis,
        output_mean_var=True,
        eps=0.01,
    )
for _groups in (1, 2, 4):
    _case(f"groupnorm_{_groups}", "GroupNorm", _affine((2, 4, 3), _groups), num_groups=_groups)
_case(
    "groupnorm_outputs",
    "GroupNorm",
    _affine((2, 4, 2, 2), 2),
    num_groups=2,
    eps=0.01,
    output_mean_var=True,
)
_case("groupnorm_divides", "GroupNorm", _affine((2, 4, 3), 3), [], num_groups=3)
_case("groupnorm_2d", "GroupNorm", _affine((2, 4), 1), [])
for _mode in ("instance", "channel", "spatial"):
    _case(f"l2_{_mode}_3d", "L2Normalization", _data(2, 3, 4), mode=_mode)
    _case(f"l2_{_mode}_5d", "L2Normalization", _data(2, 2, 3, 2, 2), mode=_mode, eps=0.1)
_case("l2_2d", "L2Normalization", _data(3, 4))
_case("l2_zero", "L2Normalization", np.zeros((2, 3), "float32"), [])
_case("l2_channel_2d", "L2Normalization", _data(3, 4), [], mode="channel")
for _size in (1, 4, 5, 7):
    _case(f"lrn_{_size}", "LRN", _data(1, 6, 2, 2), nsize=_size, alpha=0.3, beta=0.6, knorm=1.5)
_case("lrn_default", "LRN", _data(1, 6, 2, 2), nsize=3)
for _axes in ((0,), (-1,), (1, 2), (0, 1, 2)):
    for _keep in (False, True):
        _case(f"moments_{_axes}_{_keep}", "moments", _data(2, 3, 4), axes=_axes, keepdims=_keep)
_case("moments_half", "moments", np.array([[1, 2, 3], [0.5, 1, 4.5]], "float16"), [], axes=(1,))

_case(
    "deconv_3d",
    "Deconvolution",
    {"data": _data(1, 2, 3, 3, 3), "weight": _data(2, 2, 2, 2, 2), "bias": _data(2)},
    kernel=(2, 2, 2),
    num_filter=2,
    stride=(2, 1, 2),
    no_bias=False,
)
_case(
    "deconv_dilate",
    "Deconvolution",
    {"data": _data(1, 2, 3, 3), "weight": _data(2, 2, 2, 2)},
    kernel=(2, 2),
    num_filter=2,
    stride=(2, 1),
    dilate=(2, 2),
)

_scores = {"data": _data(3, 4), "label": np.array([0, 3, 1], "float32")}
for _i, _attrs in enumerate((
    {}, {"use_linear": True}, {"margin": 0.3, "regularization_coefficient": 0.5},
    {"use_linear": True, "margin": 0.1, "regularization_coefficient": 3.0},
)):  # fmt: skip
    _case(f"svm_{_i}", "SVMOutput", _scores, ["data"], **_attrs)
for _i, _attrs in enumerate(({}, {"penalty": 0.1, "momentum": 0.6, "sparseness_target": 0.2})):
    _case(
        f"sparse_reg_{_i}",
        "IdentityAttachKLSparseReg",
        {
            "data": _rng.uniform(0.1, 0.9, (3, 4)).astype("float32"),
            "moving_avg": np.full(4, 0.5, "float32"),
        },
        ["data"],
        states=["moving_avg"],
        symbol=True,
        **_attrs,
    )

_case("div_sqrt_dim_int", "_contrib_div_sqrt_dim", np.array([[10, 21, 32, 47]], "int32"), [])
_case("div_sqrt_dim_3d", "_contrib_div_sqrt_dim", _data(2, 2, 3))
_case("quadratic_grad", "_contrib_quadratic", _data(2, 3), a=0.5, b=-1.5, c=0.6)
_case("quadratic_int", "_contrib_quadratic", np.array([1, 2, -3], "int32"), [], a=0.5, b=1.5, c=0.6)
_case("gradientmultiplier", "_contrib_gradientmultiplier", _data(2, 3), scalar=0.37, is_int=False)
_halves = np.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 0.3], "float32")
_case("round_ste", "_contrib_round_ste", _halves)
_case("sign_ste", "_contrib_sign_ste", _halves)

_old, _new = _data(4, 3), _data(2, 3)
for _name, _index in (("plain", [3, 1]), ("twice", [0, 0])):
    for _dtype in ("int32", "int64", "float32"):
        _case(
            f"index_copy_{_name}_{_dtype}",
            "_contrib_index_copy",
            {"old": _old, "index": np.array(_index, _dtype), "new": _new},
            ["old", "new"] if _name == "plain" and _dtype != "float32" else [],
        )
_case(
    "index_copy_count",
    "_contrib_index_copy",
    {"old": _old, "index": np.array([0, 1, 2], "int64"), "new": _new},
    [],
)
_case("index_array_all", "_contrib_index_array", _data(2, 3), [])
_case("index_array_axes", "_contrib_index_array", _data(2, 3, 2), [], axes=(2, 0))
_case("index_array_last", "_contrib_index_array", _data(2, 3), [], axes=(-1,))
_case(
    "fill_element",
    "fill_element_0index",
    {"lhs": _data(3, 4), "mhs": _data(3), "rhs": np.array([0, 3, 1], "float32")},
    [],
)
_case(
    "fill_element_outside",
    "fill_element_0index",
    {"lhs": _data(4, 4), "mhs": _data(4), "rhs": np.array([0, -1, 4, 2.7], "float32")},
    [],
)
_case(
    "fill_element_3d",
    "fill_element_0index",
    {"lhs": _data(3, 4, 2), "mhs": _data(3), "rhs": np.zeros(3, "float32")},
    [],
)

_nan = np.array([1, np.nan, np.inf], "float32")
for _name, _a, _b, _attrs in (
    ("nan", _nan, _nan, {}), ("nan_not", _nan, _nan, {"equal_nan": False}),
    ("far", np.float32([1]), np.float32([1.1]), {"rtol": 0.05}),
    ("near", np.float32([1]), np.float32([1.1]), {"rtol": 0.2}),
    ("int", np.int32([1, 2]), np.int32([1, 2]), {}), ("shape", _data(2), _data(1), {}),
):  # fmt: skip
    _case(f"allclose_{_name}", "_contrib_allclose", {"a": _a, "b": _b}, [], **_attrs)
_case("khatri_rao_1", "khatri_rao", [_data(2, 3)])
_case("khatri_rao_3", "khatri_rao", [_data(2, 3), _data(4, 3), _data(2, 3)])
_case("khatri_rao_columns", "khatri_rao", [_data(2, 3), _data(3, 4)])

_values = np.array([0, 1, 2, 3, 4, 5, -1, 2.5, 9.99, 10], "float32")
for _dtype in ("float32", "float64", "int32", "uint8"):
    _case(
        f"histogram_{_dtype}",
        "_histogram",
        np.abs(_values).astype(_dtype),
        [],
        bin_cnt=5,
        range=(0.0, 10.0),
    )
_case(
    "histogram_edges",
    "_histogram",
    {"data": _values, "bins": np.array([0, 1, 2.5, 9.99], "float32")},
    [],
)
_case(
    "histogram_edges_int",
    "_histogram",
    {"data": _values.astype("int32"), "bins": np.array([0, 1, 2, 9], "int32")},
    [],
)
_case("histogram_no_range", "_histogram", _values, [], bin_cnt=5)
_random = _rng.normal(size=200).astype("float32")
_case("histogram_many", "_histogram", _random, [], bin_cnt=7, range=(-1.3, 2.1))
