"""Records of the basic operators: element-wise, shape, indexing, reductions, plain networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.record import Record


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: function(x != 0, y != 0)


_erf = np.vectorize(math.erf)
_lgamma = np.vectorize(math.lgamma)
_gamma = np.vectorize(math.gamma)


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


_BINARY = {
    "add": (np.add, True), "sub": (np.subtract, True), "mul": (np.multiply, True),
    "div": (np.divide, True), "mod": (np.mod, True), "power": (np.power, True),
    "maximum": (np.maximum, True), "minimum": (np.minimum, True), "hypot": (np.hypot, True),
    "equal": (np.equal, False), "not_equal": (np.not_equal, False),
    "greater": (np.greater, False), "greater_equal": (np.greater_equal, False),
    "lesser": (np.less, False), "lesser_equal": (np.less_equal, False),
    "logical_and": (_truth(np.logical_and), False), "logical_or": (_truth(np.logical_or), False),
    "logical_xor": (_truth(np.logical_xor), False),
}  # fmt: skip
_REDUCTIONS: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum
}  # fmt: skip


def _reduced_at(reduce: Any, x: np.ndarray, v: np.ndarray, i: np.ndarray) -> np.ndarray:
    out = x.copy()
    reduce.at(out, tuple(i.astype(int)), v)
    return out


_SAME = {
    key: f"elemwise_{key}" if key in ("add", "sub", "mul", "div") else f"_{key}" for key in _BINARY
}
_SCALAR = {"add": "_plus_scalar", "sub": "_minus_scalar"}


def _binary() -> list[Record]:
    records = []
    for key, (function, smooth) in _BINARY.items():
        common = {"low": 0.3, "high": 2.0, "gradient": smooth}
        records.append(Record(_SAME[key], [(2, 3), (2, 3)], {}, function, **common))
        records.append(Record(f"broadcast_{key}", [(2, 1), (1, 3)], {}, function, **common))
        name = _SCALAR.get(key, f"_{key}_scalar")
        records.append(
            Record(name, [(2, 3)], {"scalar": 1.7}, lambda x, f=function: f(x, 1.7), **common)
        )
    for key in ("sub", "div", "mod", "power"):
        function = _BINARY[key][0]
        name = {"sub": "_rminus_scalar"}.get(key, f"_r{key}_scalar")
        records.append(
            Record(name, [(2, 3)], {"scalar": 1.7}, lambda x, f=function: f(1.7, x), 0.3, 1.5)
        )
    return records


_UNARY: dict[str, tuple[Callable[..., Any], float, float]] = {
    "abs": (np.abs, 0.2, 2), "negative": (np.negative, -1, 1), "square": (np.square, -1, 1),
    "sqrt": (np.sqrt, 0.3, 2), "rsqrt": (lambda x: 1 / np.sqrt(x), 0.3, 2),
    "cbrt": (np.cbrt, 0.3, 2), "rcbrt": (lambda x: 1 / np.cbrt(x), 0.3, 2),
    "reciprocal": (np.reciprocal, 0.3, 2), "exp": (np.exp, -1, 1), "expm1": (np.expm1, -1, 1),
    "log": (np.log, 0.3, 2), "log10": (np.log10, 0.3, 2), "log2": (np.log2, 0.3, 2),
    "log1p": (np.log1p, -0.5, 2), "sin": (np.sin, -1, 1), "cos": (np.cos, -1, 1),
    "tan": (np.tan, -1, 1), "arcsin": (np.arcsin, -0.9, 0.9), "arccos": (np.arccos, -0.9, 0.9),
    "arctan": (np.arctan, -1, 1), "sinh": (np.sinh, -1, 1), "cosh": (np.cosh, -1, 1),
    "tanh": (np.tanh, -1, 1), "arcsinh": (np.arcsinh, -1, 1), "arccosh": (np.arccosh, 1.2, 3),
    "arctanh": (np.arctanh, -0.8, 0.8), "degrees": (np.degrees, -1, 1),
    "radians": (np.radians, -1, 1), "sigmoid": (_sigmoid, -2, 2),
    "softsign": (lambda x: x / (1 + np.abs(x)), 0.1, 2), "erf": (_erf, -1, 1),
    "gamma": (_gamma, 0.4, 3), "gammaln": (_lgamma, 0.4, 3),
    "relu": (lambda x: np.maximum(x, 0), 0.1, 1), "_copy": (np.copy, -1, 1),
}  # fmt: skip
_STEPS: dict[str, Callable[..., Any]] = {
    "sign": np.sign, "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "rint": lambda x: np.ceil(x - 0.5), "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc,
    "fix": np.trunc, "logical_not": lambda x: x == 0, "ones_like": np.ones_like,
    "zeros_like": np.zeros_like,
}  # fmt: skip


def _one_hot(x: np.ndarray) -> np.ndarray:
    return (x[..., None] == np.arange(4)).astype(float)


def _batch_dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b


def _dense(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1) @ w.T + b


def _conv(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Stride 2, padding 1, written out."""
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    size = (x.shape[2] - w.shape[2]) // 2 + 1
    out = np.zeros((x.shape[0], w.shape[0], size, size))
    for i in range(size):
        for j in range(size):
            window = x[:, :, 2 * i : 2 * i + w.shape[2], 2 * j : 2 * j + w.shape[3]]
            out[:, :, i, j] = np.einsum("nchw,ochw->no", window, w) + b
    return out


def _pool(x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


def _layer_norm(x: np.ndarray, g: np.ndarray, b: np.ndarray) -> np.ndarray:
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * g + b


def _instance_norm(x: np.ndarray, g: np.ndarray, b: np.ndarray) -> np.ndarray:
    mean, var = x.mean(2, keepdims=True), x.var(2, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-3) * g[:, None] + b[:, None]


def _last(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.stack([x[max(int(n), 1) - 1, i] for i, n in enumerate(lengths)])


def _reversed_steps(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    columns = [np.r_[x[: int(n), i][::-1], x[int(n) :, i]] for i, n in enumerate(lengths)]
    return np.stack(columns, 1)


_TENSOR = [
    Record("add_n", [(2, 3)] * 3, {}, lambda a, b, c: a + b + c),
    Record("_grad_add", [(2, 3)] * 2, {}, np.add),
    Record("Cast", [(2, 3)], {"dtype": "float64"}, np.copy),
    Record("amp_cast", [(2, 3)], {"dtype": "float64"}, np.copy),
    Record("clip", [(4, 5)], {"a_min": -0.4, "a_max": 0.5}, lambda x: np.clip(x, -0.4, 0.5)),
    Record(
        "smooth_l1", [(4, 5)], {"scalar": 1.0},
        lambda x: np.where(abs(x) < 1, 0.5 * x * x, abs(x) - 0.5), -2, 2,
    ),
    Record("hard_sigmoid", [(4, 5)], {}, lambda x: np.clip(0.2 * x + 0.5, 0, 1), -4, 4),
    Record("broadcast_to", [(2, 1)], {"shape": (0, 3)}, lambda x: np.broadcast_to(x, (2, 3))),
    Record("broadcast_axis", [(2, 1)], {"axis": 1, "size": 3}, lambda x: np.tile(x, (1, 3))),
    Record("broadcast_like", [(2, 1), (2, 3)], {}, lambda x, y: np.broadcast_to(x, y.shape)),
    Record(
        "where", [(3, 2)] * 3, {}, lambda c, x, y: np.where(c != 0, x, y), integers={0: 2},
    ),
    Record("sum", [(2, 3, 4)], {"axis": (0, 2)}, lambda x: x.sum((0, 2))),
    Record("mean", [(2, 3, 4)], {"axis": 1, "exclude": True}, lambda x: x.mean((0, 2))),
    Record("prod", [(2, 3)], {"axis": 1}, lambda x: x.prod(1), 0.3, 2),
    Record("nansum", [(2, 3)], {"axis": 1}, lambda x: np.nansum(x, 1)),
    Record("nanprod", [(2, 3)], {"axis": 1}, lambda x: np.nanprod(x, 1), 0.3, 2),
    Record("max", [(2, 3)], {"axis": 1}, lambda x: x.max(1)),
    Record("min", [(2, 3)], {"axis": 1, "keepdims": True}, lambda x: x.min(1, keepdims=True)),
    Record("norm", [(2, 3)], {"axis": 1}, lambda x: np.sqrt((x * x).sum(1))),
    Record("argmax", [(2, 3)], {"axis": 1}, lambda x: x.argmax(1), gradient=False),
    Record("argmin", [(2, 3)], {"axis": 1}, lambda x: x.argmin(1), gradient=False),
    Record("argmax_channel", [(2, 3)], {}, lambda x: x.argmax(1), gradient=False),
    Record("sort", [(2, 5)], {}, lambda x: np.sort(x, -1)),
    Record("argsort", [(2, 5)], {}, lambda x: np.argsort(x, -1), gradient=False),
    Record("topk", [(2, 5)], {"k": 2, "ret_typ": "value"}, lambda x: np.sort(x, -1)[:, ::-1][:, :2]),
    Record("_np_cumsum", [(2, 5)], {"axis": 1}, lambda x: np.cumsum(x, 1)),
    Record("Reshape", [(2, 3, 4)], {"shape": (-3, 0)}, lambda x: x.reshape(6, 4)),
    Record("reshape_like", [(2, 6), (3, 4)], {}, lambda x, y: x.reshape(y.shape)),
    Record("Flatten", [(2, 3, 4)], {}, lambda x: x.reshape(2, 12)),
    Record("transpose", [(2, 3, 4)], {"axes": (1, 2, 0)}, lambda x: x.transpose(1, 2, 0)),
    Record("SwapAxis", [(2, 3, 4)], {"dim1": 0, "dim2": 2}, lambda x: np.swapaxes(x, 0, 2)),
    Record("expand_dims", [(2, 3)], {"axis": 1}, lambda x: x[:, None]),
    Record("squeeze", [(2, 1, 3)], {}, np.squeeze),
    Record("Concat", [(2, 3), (2, 2)], {"dim": 1}, lambda a, b: np.concatenate([a, b], 1)),
    Record("stack", [(2, 3), (2, 3)], {"axis": 1}, lambda a, b: np.stack([a, b], 1)),
    Record("SliceChannel", [(2, 4)], {"num_outputs": 2}, lambda x: (x[:, :2], x[:, 2:])),
    Record(
        "_split_v2", [(5, 2)], {"indices": (0, 1, 3), "axis": 0},
        lambda x: (x[:1], x[1:3], x[3:]),
    ),
    Record("slice", [(4, 5)], {"begin": (1, None), "end": (3, 4)}, lambda x: x[1:3, :4]),
    Record(
        "_slice_assign", [(4, 5), (2, 4)], {"begin": (1, None), "end": (3, 4)},
        lambda x, y: np.concatenate([x[:1], np.concatenate([y, x[1:3, 4:]], 1), x[3:]]),
    ),
    Record(
        "_slice_assign_scalar", [(4, 5)], {"scalar": 2.0, "begin": (1, None), "end": (3, 4)},
        lambda x: np.where(np.outer((np.arange(4) // 1 % 3 > 0), np.arange(5) < 4), 2.0, x),
    ),
    Record("_identity_with_attr_like_rhs", [(2, 3), (2, 3)], {}, lambda x, y: x),
    Record("slice_axis", [(4, 5)], {"axis": 1, "begin": 1, "end": None}, lambda x: x[:, 1:]),
    Record("slice_like", [(4, 5), (2, 3)], {}, lambda x, y: x[:2, :3]),
    Record("reverse", [(2, 3)], {"axis": 1}, lambda x: x[:, ::-1]),
    Record("repeat", [(2, 3)], {"repeats": 2, "axis": 1}, lambda x: np.repeat(x, 2, 1)),
    Record("tile", [(2, 3)], {"reps": (2, 2)}, lambda x: np.tile(x, (2, 2))),
    Record(
        "Pad", [(1, 1, 2, 3)],
        {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 2, 0), "constant_value": 0.5},
        lambda x: np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 0)), constant_values=0.5),
    ),
    Record("depth_to_space", [(1, 4, 2, 3)], {"block_size": 2}, stored=True),
    Record("space_to_depth", [(1, 1, 4, 6)], {"block_size": 2}, stored=True),
    Record("shape_array", [(2, 3)], {}, lambda x: np.array(x.shape), gradient=False),
    Record("size_array", [(2, 3)], {}, lambda x: np.array([x.size]), gradient=False),
    Record("diag", [(3, 3)], {}, np.diag),
    Record("take", [(4, 3), (2,)], {}, lambda a, i: a[i.astype(int)], integers={1: 4}),
    Record(
        "batch_take", [(3, 4), (3,)], {}, lambda a, i: a[np.arange(3), i.astype(int)],
        integers={1: 4}, dtypes={1: "int32"},
    ),
    Record(
        "pick", [(3, 4), (3,)], {}, lambda a, i: a[np.arange(3), i.astype(int)], integers={1: 4}
    ),
    Record("one_hot", [(3,)], {"depth": 4}, _one_hot, gradient=False, integers={0: 4}),
    Record(
        "gather_nd", [(3, 4), (2, 5)], {}, lambda a, i: a[tuple(i.astype(int))], integers={1: 3}
    ),
    Record("scatter_nd", [(1,), (1, 1)], {"shape": (3,)}, stored=True, integers={1: 1}),
    Record(
        "_scatter_set_nd", [(3,), (1,), (1, 1)], {"shape": (3,)},
        lambda x, v, i: np.where(np.arange(3) == i[0, 0], v[0], x), integers={2: 3},
    ),
    *(
        Record(
            "_scatter_reduce_nd", [(3,), (5,), (1, 5)], {"shape": (3,), "reduction": reduction},
            lambda x, v, i, reduce=reduce: _reduced_at(reduce, x, v, i), integers={2: 3},
        )
        for reduction, reduce in _REDUCTIONS.items()
    ),
    Record(
        "_with_extents", [(1, 3), (4, 2)],
        {"operator": "broadcast_to", "attributes": "{'shape': (shape0[0], 3)}"},
        lambda x, y: np.broadcast_to(x, (4, 3)),
    ),
    Record(
        "_extents", [(4, 2)], {"values": "(2*shape0[0], shape0[1])"}, lambda x: np.array([8, 2]),
        gradient=False,
    ),
    Record("_of_shape", [(2, 3)], {"shape": (0, 3)}, lambda x: x),
    Record(
        "_ravel_multi_index", [(2, 4)], {"shape": (3, 3)}, gradient=False, integers={0: 3},
        reference=lambda i: np.ravel_multi_index(tuple(i.astype(int)), (3, 3)),
    ),
    Record(
        "_unravel_index", [(4,)], {"shape": (3, 4)}, gradient=False, integers={0: 12},
        reference=lambda i: np.array(np.unravel_index(i.astype(int), (3, 4))),
    ),
    Record(
        "Embedding", [(2, 3), (5, 4)], {"input_dim": 5, "output_dim": 4},
        lambda i, w: w[i.astype(int)], integers={0: 5},
    ),
    Record(
        "_contrib_SparseEmbedding", [(2, 3), (5, 4)], {"input_dim": 5, "output_dim": 4},
        lambda i, w: w[i.astype(int)], integers={0: 5},
    ),
    Record(
        "SequenceMask", [(3, 2), (2,)], {"use_sequence_length": True, "value": 0.5},
        lambda x, n: np.where(np.arange(3)[:, None] < n, x, 0.5), integers={1: 4},
    ),
    Record(
        "SequenceLast", [(3, 2, 2), (2,)], {"use_sequence_length": True}, _last, integers={1: 4},
    ),
    Record(
        "SequenceReverse", [(3, 2), (2,)], {"use_sequence_length": True}, _reversed_steps,
        integers={1: 4},
    ),
    Record("dot", [(2, 3), (3, 4)], {}, np.dot),
    Record("batch_dot", [(2, 3, 4), (2, 4, 5)], {}, _batch_dot),
    Record("_zeros", [], {"shape": (2, 3)}, lambda: np.zeros((2, 3)), gradient=False),
    Record("_ones", [], {"shape": (2, 3)}, lambda: np.ones((2, 3)), gradient=False),
    Record("_full", [], {"shape": (2,), "value": 3.0}, lambda: np.full(2, 3.0), gradient=False),
    Record("_eye", [], {"N": 3, "k": 1}, lambda: np.eye(3, k=1), gradient=False),
    Record("_arange", [], {"start": 1.0, "stop": 5.0}, lambda: np.arange(1.0, 5.0), gradient=False),
    Record(
        "_linspace", [], {"start": 0.0, "stop": 1.0, "num": 5}, lambda: np.linspace(0, 1, 5), gradient=False
    ),
    Record(
        "_contrib_arange_like", [(2, 3)], {"start": 1.0, "repeat": 2},
        lambda x: 1.0 + np.arange(6).reshape(2, 3) // 2, gradient=False,
    ),
    Record("_view", [(3, 4)], {"offset": 4, "shape": (2, 2)}, lambda x: x.ravel()[4:8].reshape(2, 2)),
    Record("_view_write", [(4,), (2,)], {"offset": 1}, lambda x, v: np.r_[x[:1], v, x[3:]]),
    Record("_broadcast_cast", [(1, 3)], {"shape": (2, 3), "dtype": "float64"},
           lambda x: np.tile(x, (2, 1))),
    Record("_block", [(3, 4)], {"begin": (1, 1), "size": (2, 2), "shape": (2, 2)},
           lambda x: x[1:3, 1:3]),
    Record("_block_write", [(3,), (1,)], {"begin": (1,), "size": (1,)},
           lambda x, v: np.r_[x[:1], v, x[2:]]),
    Record("_index", [(5, 3)], {"pattern": ((None, None, 2), (2, None, None))}, lambda x: x[::2, 2:]),
    Record("_index_write", [(4,), (2,)], {"pattern": ((None, None, 2),)},
           lambda x, v: np.array([v[0], x[1], v[1], x[3]])),
]  # fmt: skip

_NETWORK = [
    Record("FullyConnected", [(4, 2, 3), (5, 6), (5,)], {"num_hidden": 5}, _dense),
    Record(
        "Convolution", [(2, 3, 5, 5), (4, 3, 3, 3), (4,)],
        {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "num_filter": 4}, _conv,
    ),
    Record("Deconvolution", [(1, 2, 3, 3), (2, 2, 2, 2)], {"kernel": (2, 2), "num_filter": 2},
           stored=True),
    Record("Pooling", [(2, 2, 4, 4)], {"kernel": (2, 2), "stride": (2, 2)}, _pool),
    Record("UpSampling", [(1, 2, 2, 2)], {"scale": 2, "sample_type": "nearest"},
           lambda x: x.repeat(2, 2).repeat(2, 3)),
    Record("Activation", [(2, 3)], {"act_type": "softrelu"}, lambda x: np.log1p(np.exp(x))),
    Record("LeakyReLU", [(2, 3)], {"slope": 0.1}, lambda x: np.where(x > 0, x, 0.1 * x)),
    Record("Dropout", [(2, 3)], {"p": 0.0}, np.copy),
    Record("BatchNorm", [(4, 3), (3,), (3,), (3,), (3,)], {"fix_gamma": False}, stored=True,
           low=0.5, high=2.0),
    Record("LayerNorm", [(2, 5), (5,), (5,)], {}, _layer_norm),
    Record("InstanceNorm", [(2, 3, 4), (3,), (3,)], {}, _instance_norm),
    Record("softmax", [(2, 5)], {}, _softmax),
    Record("log_softmax", [(2, 5)], {}, lambda x: np.log(_softmax(x))),
    Record("softmin", [(2, 5)], {}, lambda x: _softmax(-x)),
    Record("SoftmaxActivation", [(2, 5)], {}, _softmax),
    Record("softmax_cross_entropy", [(3, 4), (3,)], {}, integers={1: 4},
           reference=lambda x, y: -np.log(_softmax(x))[np.arange(3), y.astype(int)].sum()[None]),
    Record("SoftmaxOutput", [(3, 4), (3,)], {}, lambda x, y: _softmax(x), gradient=False,
           integers={1: 4}),
    Record("LinearRegressionOutput", [(3, 4)] * 2, {}, lambda x, y: x, gradient=False),
    Record("MAERegressionOutput", [(3, 4)] * 2, {}, lambda x, y: x, gradient=False),
    Record("LogisticRegressionOutput", [(3, 4)] * 2, {}, lambda x, y: _sigmoid(x), gradient=False),
    Record("MakeLoss", [(3, 4)], {}, np.copy, gradient=False),
    Record("make_loss", [(3, 4)], {}, np.copy, gradient=False),
    Record("BlockGrad", [(3, 4)], {}, np.copy, gradient=False),
    Record("sgd_update", [(3,)] * 2, {"lr": 0.1, "wd": 0.01},
           lambda w, g: w - 0.1 * (g + 0.01 * w), gradient=False),
    Record("sgd_mom_update", [(3,)] * 3, {"lr": 0.1, "momentum": 0.9},
           lambda w, g, m: w + 0.9 * m - 0.1 * g, gradient=False),
    Record("adam_update", [(3,)] * 4, {"lr": 0.1}, low=0.1, gradient=False,
           reference=lambda w, g, m, v: w - 0.1 * (0.9 * m + 0.1 * g)
           / (np.sqrt(0.999 * v + 0.001 * g * g) + 1e-8)),
]  # fmt: skip

# The result is the user's: tests/ops/control/test_custom.py.
# What a backend computes: tests/symbol/test_backend.py. Fused layers: tests/contrib/quantization.
RANDOM = {
    "Custom",
    "_CustomFunction",
    "_backend_part",
    "_sg_mkldnn_conv",
    "_sg_mkldnn_fully_connected",
}

RECORDS = [
    *_binary(),
    *(Record(n, [(2, 3)], {}, f, low, high) for n, (f, low, high) in _UNARY.items()),
    *(Record(n, [(2, 3)], {}, f, -3, 3, gradient=False) for n, f in _STEPS.items()),
    Record("erfinv", [(2, 3)], {}, stored=True, low=-0.8, high=0.8),
    Record(
        "_full_like_value", [(2, 3)], {"value": 2.0}, lambda x: np.full_like(x, 2), gradient=False
    ),
    *_TENSOR,
    *_NETWORK,
]
