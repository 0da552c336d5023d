"""Records of detection: boxes, anchors, regions, deformable layers, and their neighbours."""

from __future__ import annotations

import numpy as np

from tests.ops.record import Record


def _iou(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of corners of boxes, one pair at a time."""
    out = np.zeros((len(left), len(right)))
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
            both = np.prod(np.maximum(sides, 0))
            areas = [np.prod(np.maximum(c[2:] - c[:2], 0)) for c in (a, b)]
            out[i, j] = both / (sum(areas) - both) if both else 0
    return out


def _pairs(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    of_rows, of_columns = np.full(len(scores), -1), np.full(scores.shape[1], -1)
    for flat in np.argsort(-scores, axis=None):
        i, j = divmod(int(flat), scores.shape[1])
        if of_rows[i] < 0 and of_columns[j] < 0 and scores[i, j] > 0.2:
            of_rows[i], of_columns[j] = j, i
    return of_rows, of_columns


def _decoded(inputs: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    center = anchors[..., :2] + inputs[..., :2] * anchors[..., 2:]
    half = np.exp(inputs[..., 2:]) * anchors[..., 2:] / 2
    return np.concatenate([center - half, center + half], -1)


def _fft(x: np.ndarray) -> np.ndarray:
    result = np.fft.fft(x)
    return np.stack([result.real, result.imag], -1).reshape(len(x), -1)


def _ifft(x: np.ndarray) -> np.ndarray:
    pairs = x.reshape(len(x), -1, 2)
    return np.fft.ifft(pairs[..., 0] + 1j * pairs[..., 1]).real * pairs.shape[1]


def _sketch(x: np.ndarray, h: np.ndarray, s: np.ndarray) -> np.ndarray:
    out = np.zeros((len(x), 3))
    for i in range(x.shape[1]):
        out[:, int(h[0, i])] += s[0, i] * x[:, i]
    return out


# Regions are measured in the elements of the map; their picture is 0 or 1.
_MAP = (2, 4, 5, 6)

RECORDS = [
    Record("_contrib_box_nms", [(2, 5, 6)], {"overlap_thresh": 0.2}, stored=True, low=0.0),
    Record("_contrib_box_iou", [(3, 4), (2, 4)], {}, _iou, gradient=False),
    Record("_contrib_box_encode", [(1, 3), (1, 3), (1, 3, 4), (1, 2, 4), (4,), (4,)], {},
           stored=True, low=0.1, gradient=False, integers={0: 2, 1: 2}),
    Record("_contrib_box_decode", [(1, 3, 4), (1, 3, 4)], {}, _decoded, low=0.1, gradient=False),
    Record("_contrib_bipartite_matching", [(4, 3)], {"threshold": 0.2}, _pairs, gradient=False),
    Record("_contrib_MultiBoxPrior", [(1, 2, 3, 4)], {"sizes": (0.5, 0.2)}, stored=True,
           gradient=False),
    Record("_contrib_MultiBoxTarget", [(1, 6, 4), (2, 2, 5), (2, 3, 6)], {}, stored=True, low=0.1,
           gradient=False),
    Record("_contrib_MultiBoxDetection", [(2, 3, 6), (2, 24), (1, 6, 4)], {}, stored=True, low=0.1,
           gradient=False),
    Record("_contrib_Proposal", [(1, 6, 3, 4), (1, 12, 3, 4), (1, 3)],
           {"scales": (1.0,), "rpn_post_nms_top_n": 5, "feature_stride": 1, "rpn_min_size": 1},
           stored=True, low=0.1, gradient=False),
    Record("_contrib_MultiProposal", [(2, 6, 3, 4), (2, 12, 3, 4), (2, 3)],
           {"scales": (1.0,), "rpn_post_nms_top_n": 5, "feature_stride": 1, "rpn_min_size": 1},
           stored=True, low=0.1, gradient=False),
    Record("ROIPooling", [_MAP, (3, 5)], {"pooled_size": (2, 2), "spatial_scale": 1.0},
           stored=True, integers={1: 2}),
    Record("_contrib_ROIAlign", [_MAP, (3, 5)], {"pooled_size": (2, 2), "spatial_scale": 1.0},
           stored=True, integers={1: 2}),
    Record("_contrib_RROIAlign", [_MAP, (3, 6)], {"pooled_size": (2, 2), "spatial_scale": 1.0},
           stored=True, gradient=False, integers={1: 2}),
    Record("_contrib_PSROIPooling", [_MAP, (3, 5)],
           {"pooled_size": 2, "spatial_scale": 1.0, "output_dim": 1}, stored=True, integers={1: 2}),
    Record("_contrib_DeformablePSROIPooling", [_MAP, (3, 5), (3, 2, 2, 2)],
           {"pooled_size": 2, "spatial_scale": 1.0, "output_dim": 1, "group_size": 2,
            "part_size": 2, "sample_per_part": 2, "trans_std": 0.2}, stored=True, integers={1: 2}),
    Record("_contrib_DeformableConvolution", [(1, 2, 4, 5), (1, 8, 3, 4), (3, 2, 2, 2), (3,)],
           {"kernel": (2, 2), "num_filter": 3}, stored=True),
    Record("_contrib_ModulatedDeformableConvolution",
           [(1, 2, 4, 5), (1, 8, 3, 4), (1, 4, 3, 4), (3, 2, 2, 2), (3,)],
           {"kernel": (2, 2), "num_filter": 3}, stored=True),
    Record("Correlation", [(1, 2, 4, 5)] * 2, {"pad_size": 1}, stored=True),
    Record("Crop", [(1, 2, 4, 5)], {"h_w": (2, 3), "offset": (1, 2), "num_args": 1},
           lambda x: x[:, :, 1:3, 2:5]),
    Record("_contrib_fft", [(3, 5)], {}, _fft),
    Record("_contrib_ifft", [(3, 8)], {}, _ifft),
    Record("_contrib_count_sketch", [(2, 6), (1, 6), (1, 6)], {"out_dim": 3}, _sketch,
           integers={1: 3, 2: 2}),
]  # fmt: skip
