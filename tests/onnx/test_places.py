"""Values between the elements of images against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mixnet as mx
from tests.onnx.models import agrees, computed, floats, model_of, saved
from tests.onnx.runtime import onnx

make = onnx.helper.make_node


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_images_are_sampled_at_places(
    mode: str, padding: str, aligned: int, tmp_path: Path
) -> None:
    node = make(
        "GridSample", ["x", "at"], ["y"], mode=mode, padding_mode=padding, align_corners=aligned
    )
    x, at = floats(2, 3, 5, 4), 1.5 * floats(2, 6, 7, 2)  # a part of the places is outside
    model = model_of([node], {"x": x.shape, "at": at.shape}, ["y"], opset=20)
    agrees(model, tmp_path / "net.onnx", 1e-4, x=x, at=at)


def test_volumes_are_sampled_at_places(tmp_path: Path) -> None:
    node = make("GridSample", ["x", "at"], ["y"], align_corners=1)
    x, at = floats(1, 2, 3, 4, 5), 1.2 * floats(1, 2, 3, 2, 3)
    model = model_of([node], {"x": x.shape, "at": at.shape}, ["y"], opset=20)
    agrees(model, tmp_path / "net.onnx", 1e-4, x=x, at=at)


def test_places_have_gradients(tmp_path: Path) -> None:
    node = make("GridSample", ["x", "at"], ["y"], align_corners=1)
    model = model_of([node], {"x": [1, 1, 3, 4], "at": [1, 1, 1, 2]}, ["y"], opset=20)
    block = mx.contrib.onnx.import_to_gluon(str(saved(model, tmp_path / "net.onnx")), mx.cpu())
    rows, columns = np.mgrid[:3, :4]
    x = mx.nd.array((10 * rows + columns)[None, None])
    at = mx.nd.array([[[[0.1, 0.3]]]])  # across 4 columns, down 3 rows
    at.attach_grad()
    with mx.autograd.record():
        y = block(x, at)
    y.backward()
    np.testing.assert_allclose(y.asscalar(), 10 * 1.3 + 1.65, rtol=1e-5)
    np.testing.assert_allclose(at.grad.asnumpy().ravel(), [1.5, 10], rtol=1e-5)


@pytest.mark.parametrize("opset", [10, 16])
@pytest.mark.parametrize("ratio", [0, 2])
def test_means_of_regions_are_imported(ratio: int, opset: int, tmp_path: Path) -> None:
    node = make(
        "RoiAlign", ["x", "regions", "images"], ["y"], output_height=2, output_width=3,
        sampling_ratio=ratio, spatial_scale=0.5,
    )  # fmt: skip
    x, images = floats(2, 3, 8, 9), np.array([0, 1, 1])
    regions = np.float32([[0, 0, 9, 7], [2, 3, 12, 15], [4, 4, 5, 9]])
    model = model_of([node], {"x": x.shape}, ["y"], opset, regions=regions, images=images)
    agrees(model, tmp_path / "net.onnx", x=x)


@pytest.mark.parametrize("masked", [False, True])
def test_a_convolution_whose_offsets_are_whole(masked: bool, tmp_path: Path) -> None:
    """Every tap one row lower: the convolution of an image that is moved by a row."""
    x, weight = floats(1, 2, 6, 5), floats(3, 2, 3, 3)
    offset = np.zeros((1, 18, 4, 3), "float32")
    offset[:, ::2] = 1
    mask = np.full((1, 9, 4, 3), 0.5, "float32")
    names = ["x", "w", "offset", *(["", "mask"] if masked else [])]
    arrays = {"w": weight, "offset": offset, **({"mask": mask} if masked else {})}
    model = model_of([make("DeformConv", names, ["y"])], {"x": x.shape}, ["y"], 19, **arrays)
    (ours,) = computed(model, tmp_path / "net.onnx", x=x)
    moved = np.concatenate([x[:, :, 1:], np.zeros((1, 2, 1, 5), "float32")], axis=2)
    windows = np.lib.stride_tricks.sliding_window_view(moved, (3, 3), axis=(2, 3))
    expected = np.einsum("bcijkl,fckl->bfij", windows, weight) * (0.5 if masked else 1)
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)
