"""Records of normalization, windows, loss heads with a contract, and small operators."""

from __future__ import annotations

import numpy as np

from tests.ops.record import Record

_CHANNELS = [(4, 3), (3,), (3,), (3,), (3,)]
_FREE = {"fix_gamma": False}


def _adaptive(x: np.ndarray) -> np.ndarray:
    """Three windows over four rows, two over four columns."""
    rows = np.stack([x[:, :, i : i + 2].mean(2) for i in range(3)], 2)
    return rows.reshape(*rows.shape[:3], 2, 2).mean(-1)


def _group_norm(x: np.ndarray, g: np.ndarray, b: np.ndarray) -> np.ndarray:
    grouped = x.reshape(len(x), 2, -1)
    mean, var = grouped.mean(-1, keepdims=True), grouped.var(-1, keepdims=True)
    out = (grouped - mean) / np.sqrt(var + 1e-5) * g[:, None] + b[:, None]
    return out.reshape(x.shape)


def _lrn(x: np.ndarray) -> np.ndarray:
    padded = np.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    total = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    return x / (2 + 0.3 / 3 * total) ** 0.75


def _columns(x: np.ndarray) -> np.ndarray:
    """The 2 by 2 windows of 3 by 3 images."""
    result = np.stack([x[:, :, i : i + 2, j : j + 2] for i in (0, 1) for j in (0, 1)], -1)
    return result.reshape(len(x), -1, 4)


def _images(c: np.ndarray) -> np.ndarray:
    out = np.zeros((len(c), 2, 3, 3))
    parts = c.reshape(len(c), 2, 2, 2, 4)
    for k, (i, j) in enumerate((i, j) for i in (0, 1) for j in (0, 1)):
        out[:, :, i : i + 2, j : j + 2] += parts[..., k]
    return out


def _copied(old: np.ndarray, index: np.ndarray, new: np.ndarray) -> np.ndarray:
    out = old.copy()
    for i, row in zip(index.astype(int), new, strict=True):
        out[i] = row
    return out


def _filled(lhs: np.ndarray, mhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    out = lhs.copy()
    out[np.arange(3), rhs.astype(int)] = mhs
    return out


def _khatri_rao(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack([np.kron(a[:, i], b[:, i]) for i in range(a.shape[1])], 1)


_WINDOW = {"kernel": (2, 2)}

RECORDS = [
    Record("_contrib_SyncBatchNorm", _CHANNELS, {"key": "one", **_FREE}, stored=True,
           low=0.5, high=2.0),
    Record("_contrib_BatchNormWithReLU", _CHANNELS, _FREE, stored=True, low=0.5, high=2.0),
    Record("BatchNorm_v1", _CHANNELS, _FREE, stored=True, low=0.5, high=2.0),
    Record("GroupNorm", [(2, 4, 3), (2,), (2,)], {"num_groups": 2}, _group_norm),
    Record("L2Normalization", [(2, 3, 4)], {"mode": "channel"},
           lambda x: x / np.sqrt((x * x).sum(1, keepdims=True) + 1e-10)),
    Record("LRN", [(2, 5, 2, 2)], {"nsize": 3, "alpha": 0.3}, _lrn),
    Record("moments", [(2, 3, 4)], {"axes": (0, 2)}, lambda x: (x.mean((0, 2)), x.var((0, 2)))),
    Record("_contrib_AdaptiveAvgPooling2D", [(1, 2, 4, 4)], {"output_size": (3, 2)}, _adaptive),
    Record("Pooling_v1", [(1, 2, 4, 4)], {"kernel": (2, 2), "stride": (2, 2), "pool_type": "avg"},
           lambda x: x.reshape(1, 2, 2, 2, 2, 2).mean((3, 5))),
    Record("Convolution_v1", [(2, 3, 2, 2), (4, 3, 1, 1), (4,)],
           {"kernel": (1, 1), "num_filter": 4},
           lambda x, w, b: np.einsum("nchw,oc->nohw", x, w[..., 0, 0]) + b.reshape(-1, 1, 1)),
    Record("im2col", [(1, 2, 3, 3)], _WINDOW, _columns),
    Record("col2im", [(1, 8, 4)], {"output_size": (3, 3), **_WINDOW}, _images),
    Record("SVMOutput", [(3, 4), (3,)], {}, lambda x, y: x, gradient=False, integers={1: 4}),
    Record("IdentityAttachKLSparseReg", [(3, 4), (4,)], {}, lambda x, a: x, 0.1, 0.9,
           gradient=False),
    Record("_contrib_div_sqrt_dim", [(2, 5)], {}, lambda x: x / np.sqrt(5)),
    Record("_contrib_quadratic", [(2, 3)], {"a": 0.5, "b": -1.5, "c": 0.6},
           lambda x: 0.5 * x * x - 1.5 * x + 0.6),
    Record("_contrib_gradientmultiplier", [(2, 3)], {"scalar": 0.3}, np.copy, gradient=False),
    Record("_contrib_round_ste", [(2, 3)], {}, np.round, -3, 3, gradient=False),
    Record("_contrib_sign_ste", [(2, 3)], {}, np.sign, gradient=False),
    Record("_contrib_index_copy", [(4, 3), (2,), (2, 3)], {}, _copied, integers={1: 4}),
    Record("_contrib_index_array", [(2, 3)], {}, gradient=False,
           reference=lambda x: np.stack(np.indices(x.shape), -1)),
    Record("fill_element_0index", [(3, 4), (3,), (3,)], {}, _filled, gradient=False,
           integers={2: 4}),
    Record("_contrib_allclose", [(2, 3)] * 2, {"atol": 3.0}, lambda a, b: np.uint8(1),
           gradient=False),
    Record("khatri_rao", [(2, 3), (4, 3)], {}, _khatri_rao, gradient=False),
    Record("amp_multicast", [(2, 3), (4,)], {}, lambda x, y: (x, y)),
    Record("_histogram", [(20,)], {"bin_cnt": 4, "range": (-0.8, 0.8)}, gradient=False,
           reference=lambda x: np.histogram(x, 4, (-0.8, 0.8))),
]  # fmt: skip
