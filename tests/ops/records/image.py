"""Records of the image operators, and of those that sample images at other places."""

from __future__ import annotations

import numpy as np

from tests.ops.record import Record

_COLUMN = (-1, 1, 1)


def _normalized(x: np.ndarray) -> np.ndarray:
    mean, std = np.reshape((0.1, 0.2, 0.3), _COLUMN), np.reshape((0.5, 2.0, 3.0), _COLUMN)
    return (x - mean) / std


def _halved(x: np.ndarray) -> np.ndarray:
    h, w, c = x.shape
    return x.reshape(h // 2, 2, w // 2, 2, c).mean((1, 3))


def _between(x: np.ndarray) -> np.ndarray:
    """Rows and columns doubled less one: every other element a mean of its neighbours."""
    for axis in (2, 3):
        x = np.moveaxis(x, axis, 0)
        out = np.empty((2 * len(x) - 1, *x.shape[1:]))
        out[::2], out[1::2] = x, (x[1:] + x[:-1]) / 2
        x = np.moveaxis(out, 0, axis)
    return x


def _affine_places(theta: np.ndarray) -> np.ndarray:
    y, x = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(-1, 1, 2), indexing="ij")
    places = np.stack([x, y, np.ones_like(x)])
    return np.einsum("bij,jhw->bihw", theta.reshape(-1, 2, 3), places)


def _lit(x: np.ndarray) -> np.ndarray:
    directions = [
        [-0.5675, 0.7192, 0.4009],
        [-0.5808, -0.0045, -0.8140],
        [-0.5836, -0.6948, 0.4203],
    ]
    return x + directions @ (np.array([55.46, 4.794, 1.148]) * (0.1, 0.2, -0.3))


RECORDS = [
    Record("_image_to_tensor", [(2, 3, 3)], {}, lambda x: x.transpose(2, 0, 1) / 255,
           gradient=False),  # its result is single precision whatever the data are
    Record("_image_normalize", [(3, 2, 2)], {"mean": (0.1, 0.2, 0.3), "std": (0.5, 2.0, 3.0)},
           _normalized),
    Record("_image_resize", [(4, 6, 3)], {"size": (3, 2)}, _halved),
    Record("_image_crop", [(4, 5, 3)], {"x": 1, "y": 2, "width": 3, "height": 2},
           lambda x: x[2:4, 1:4]),
    Record("_image_flip_left_right", [(2, 3, 3)], {}, lambda x: x[:, ::-1]),
    Record("_image_flip_top_bottom", [(3, 2, 3)], {}, lambda x: x[::-1]),
    Record("_image_adjust_lighting", [(2, 2, 3)], {"alpha": (0.1, 0.2, -0.3)}, _lit),
    Record("_contrib_BilinearResize2D", [(1, 2, 3, 4)], {"height": 5, "width": 7}, _between),
    Record("GridGenerator", [(2, 6)], {"transform_type": "affine", "target_shape": (3, 2)},
           _affine_places),
    Record("BilinearSampler", [(1, 2, 3, 4), (1, 2, 2, 3)], {}, stored=True),
    Record("SpatialTransformer", [(1, 2, 3, 4), (1, 6)],
           {"target_shape": (2, 3), "transform_type": "affine", "sampler_type": "bilinear"},
           stored=True),
]  # fmt: skip

# Random operators: tests/ops/vision/test_image.py.
RANDOM = {
    f"_image_random_{each}"
    for each in (
        "flip_left_right", "flip_top_bottom", "brightness", "contrast", "saturation", "hue",
        "color_jitter", "lighting",
    )
}  # fmt: skip
