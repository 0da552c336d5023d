"""Detection beyond the stored results: errors, inputs on which MXNet fails, and many boxes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import nd
from mixnet.base import AttributeValueError, DTypeError, ShapeError
from mixnet.runtime.interpret import patience
from tests.each_record import each_record

_MAP = (1, 4, 4, 4)
_ROI = {"pooled_size": (2, 2), "spatial_scale": 1.0}


@each_record(
    ("op", "shapes", "attrs", "error"),
    [
        ("_contrib_box_nms", [(6,)], {}, ShapeError),
        ("_contrib_box_nms", [(3, 5)], {}, AttributeValueError),
        ("_contrib_box_nms", [(3, 6)], {"score_index": 4}, AttributeValueError),
        ("_contrib_box_nms", [(3, 6)], {"id_index": 8}, AttributeValueError),
        ("_contrib_box_iou", [(3, 5), (3, 4)], {}, ShapeError),
        ("_contrib_box_decode", [(1, 3, 5), (1, 3, 4)], {}, ShapeError),
        ("_contrib_bipartite_matching", [(6,)], {"threshold": 0.5}, ShapeError),
        ("_contrib_MultiBoxPrior", [(6, 2, 2)], {}, ShapeError),
        ("_contrib_MultiBoxPrior", [_MAP], {"sizes": ()}, AttributeValueError),
        ("_contrib_MultiBoxPrior", [_MAP], {"steps": (1.0,)}, AttributeValueError),
        ("_contrib_MultiBoxTarget", [(1, 6, 4), (2, 3, 4), (2, 3, 6)], {}, ShapeError),
        ("_contrib_MultiBoxTarget", [(1, 6, 4), (2, 3, 5), (2, 3, 7)], {}, ShapeError),
        ("_contrib_MultiBoxDetection", [(1, 2, 4), (1, 17), (1, 4, 4)], {}, ShapeError),
        ("_contrib_Proposal", [(2, 24, 2, 2), (2, 48, 2, 2), (2, 3)], {}, ShapeError),
        ("_contrib_MultiProposal", [(1, 22, 2, 2), (1, 44, 2, 2), (1, 3)], {}, ShapeError),
        ("ROIPooling", [_MAP, (1, 4)], _ROI, ShapeError),
        ("ROIPooling", [_MAP, (1, 5)], {**_ROI, "pooled_size": (2,)}, AttributeValueError),
        ("_contrib_ROIAlign", [(4, 4, 4), (1, 5)], _ROI, ShapeError),
        ("_contrib_ROIAlign", [(1, 3, 4, 4), (1, 5)], {**_ROI, "position_sensitive": True}, ShapeError),
        ("_contrib_RROIAlign", [_MAP, (1, 5)], _ROI, ShapeError),
        ("_contrib_PSROIPooling", [_MAP, (1, 5)],
         {"spatial_scale": 1.0, "pooled_size": 2, "output_dim": 2}, ShapeError),
        ("_contrib_DeformablePSROIPooling", [_MAP, (1, 5), (1, 2, 3, 3)],
         {"spatial_scale": 1.0, "pooled_size": 2, "output_dim": 1, "group_size": 2}, ShapeError),
        ("_contrib_DeformableConvolution", [_MAP, (1, 8, 4, 4), (2, 4, 2, 2), (2,)],
         {"kernel": (2, 2), "num_filter": 2}, ShapeError),
        ("_contrib_DeformableConvolution", [_MAP, (1, 8, 3, 3), (2, 4, 2, 2), (2,)],
         {"kernel": (2, 2), "num_filter": 2, "num_deformable_group": 3}, AttributeValueError),
        ("Correlation", [(1, 2, 4, 4), (1, 2, 4, 5)], {}, ShapeError),
        ("Correlation", [(1, 2, 2, 2)] * 2, {"max_displacement": 3}, ShapeError),
        ("Crop", [(1, 2, 2, 2)], {"num_args": 1}, AttributeValueError),
        ("Crop", [(1, 2, 2, 2)], {"num_args": 1, "h_w": (2, 2), "offset": (1, 1)}, ShapeError),
        ("_contrib_fft", [(6,)], {}, ShapeError),
        ("_contrib_ifft", [(2, 5)], {}, ShapeError),
        ("_contrib_count_sketch", [(2, 6), (1, 5), (1, 6)], {"out_dim": 3}, ShapeError),
    ],
)  # fmt: skip
def test_bad_input_says_what_is_wrong(
    op: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=op.removeprefix("_contrib_")):
        getattr(nd, op)(*[nd.zeros(shape) for shape in shapes], **attrs)


@pytest.mark.parametrize("op", ["_contrib_box_nms", "_contrib_bipartite_matching"])
def test_integer_boxes_are_refused(op: str) -> None:
    attrs = {"threshold": 0.5} if "match" in op else {}
    with pytest.raises(DTypeError, match=op):
        getattr(nd, op)(nd.zeros((3, 6), dtype="int32"), **attrs)


def test_many_boxes_are_suppressed_as_one_by_one() -> None:
    rng = np.random.default_rng(3)
    low = rng.uniform(0, 1, (400, 2))
    corners = np.concatenate([low, low + rng.uniform(0.02, 0.2, (400, 2))], 1)
    scores = rng.permutation(400) / 400 + 0.001
    rows = np.c_[np.zeros(400), scores, corners].astype("float32")
    stored: list[int] = []
    for i in np.argsort(-scores):
        sides = np.minimum(corners[stored, 2:], corners[i, 2:])
        sides = sides - np.maximum(corners[stored, :2], corners[i, :2])
        both = np.prod(np.maximum(sides, 0), 1)
        area = np.prod(corners[:, 2:] - corners[:, :2], 1)
        if not (both / (area[stored] + area[i] - both) > 0.3).any():
            stored.append(i)
    actual = nd._contrib_box_nms(nd.array(rows), overlap_thresh=0.3).asnumpy()
    assert 128 < len(stored) < 400  # several tiles
    np.testing.assert_array_equal(actual[: len(stored)], rows[stored])
    assert (actual[len(stored) :] == -1).all()


def test_regions_of_no_picture_and_of_no_size() -> None:
    data = nd.arange(16).reshape((1, 1, 4, 4))
    rois = nd.array([[-1, 0, 0, 3, 3], [0, 1, 2, 1, 2]])
    for aligned, at in ((False, None), (True, 1.0 * 0.5 + 4 * 1.5)):
        out = nd._contrib_ROIAlign(
            data, rois, pooled_size=(1, 1), spatial_scale=1.0, sample_ratio=2, aligned=aligned
        ).asnumpy()
        assert out[0] == 0
        assert at is None or out[1] == at
    assert nd.ROIPooling(data, rois, **{**_ROI, "pooled_size": (1, 1)}).asnumpy()[0] == 0


@pytest.mark.parametrize("name", ["ROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign"])
def test_an_empty_batch_has_no_regions(name: str) -> None:
    columns = 6 if name == "_contrib_RROIAlign" else 5
    with mx.util.np_shape():
        pool, data = getattr(nd, name), nd.zeros((0, 3, 4, 4))
        assert pool(data, nd.zeros((0, columns)), **_ROI).asnumpy().shape == (0, 3, 2, 2)
        with pytest.raises(ShapeError, match="no picture for the 2 regions"):
            pool(data, nd.zeros((2, columns)), **_ROI)


def test_detection_in_an_empty_batch() -> None:
    with mx.util.np_shape():
        rows = nd.contrib.MultiBoxDetection(
            nd.zeros((0, 3, 6)), nd.zeros((0, 24)), nd.zeros((1, 6, 4))
        )
        assert rows.asnumpy().shape == (0, 6, 6)


def test_cells_of_regions_do_not_depend_on_how_a_quotient_is_rounded() -> None:
    # Thirds and sevenths of whole lengths end at whole elements.
    for length, bins in ((7, 3), (14, 7), (5, 5), (35, 7)):
        data = nd.arange(40).reshape((1, 1, 1, 40)).broadcast_to((1, 1, 2, 40))
        rois = nd.array([[0, 1, 0, length, 1]])
        actual = nd.ROIPooling(data, rois, pooled_size=(1, bins), spatial_scale=1.0).asnumpy()
        ends = np.ceil(np.arange(1, bins + 1, dtype="float32") * np.float32(length / bins))
        np.testing.assert_array_equal(actual[0, 0, 0], ends)


def test_shapes_of_the_other_inputs_of_a_deformable_convolution() -> None:
    names = ("data", "offset", "mask", "weight", "bias")
    symbol = mx.sym._contrib_ModulatedDeformableConvolution(
        *[mx.sym.Variable(n) for n in names], kernel=(3, 3), num_filter=4, pad=(1, 1)
    )
    shapes, _, _ = symbol.infer_shape(data=(2, 6, 5, 7))
    assert shapes == [(2, 6, 5, 7), (2, 18, 5, 7), (2, 9, 5, 7), (4, 6, 3, 3), (4,)]


@pytest.mark.parametrize(
    ("op", "attrs", "outputs"),
    [
        ("_contrib_box_nms", {}, ["output0"]),
        ("_contrib_box_encode", {}, ["output0", "output1"]),
        ("_contrib_bipartite_matching", {"threshold": 0.5}, ["output0", "output1"]),
        ("_contrib_MultiBoxTarget", {}, ["loc_target", "loc_mask", "cls_target"]),
        ("_contrib_MultiProposal", {}, ["output"]),
        ("_contrib_MultiProposal", {"output_score": True}, ["output", "score"]),
    ],
)
def test_names_of_outputs_are_mxnets(op: str, attrs: dict[str, Any], outputs: list[str]) -> None:
    symbol = getattr(mx.sym, op)(name="n", **attrs)
    assert symbol.list_outputs() == [f"n_{each}" for each in outputs]


@pytest.mark.parametrize("compiled", [False, True])
def test_boxes_by_their_centers_that_overlap_by_just_the_threshold(compiled: bool) -> None:
    # Sides of sevenths of which a third overlaps: the last digit of an area decides.
    rng = np.random.RandomState(5)
    low = np.round(rng.rand(60, 2) * 7) / 7
    boxes = np.concatenate([low, np.round(rng.rand(60, 2) * 3.5 + 1) / 7], -1).astype("float32")
    rows = nd.array(np.concatenate([rng.permutation(60)[:, None] / 60 + 0.01, boxes], -1))
    form = {"in_format": "center", "out_format": "center"}
    attrs = {"overlap_thresh": 1 / 3, "coord_start": 1, "score_index": 0, **form}
    with patience.compiling_at_once() if compiled else nullcontext():
        stay = nd.contrib.box_nms(rows, **attrs).asnumpy()[:, 0]
        shared = nd.contrib.box_iou(nd.array(boxes[:8]), nd.array(boxes[8:12]), format="center")
        bits = int(shared.asnumpy().view("int32").sum(dtype="int64"))
    # MXNet 1.9.1
    assert np.round(stay[stay > 0] * 60 - 0.6).astype(int).tolist() == [
        *range(59, 45, -1), 41, 40, 38, 36, 35, 27, 25, 23, 21, 20, 17, 16, 15, 13, 12, 10, 6, 1
    ]  # fmt: skip
    assert bits == 18134213478


def test_boxes_are_decoded_from_anchors_for_each_image() -> None:
    random = np.random.RandomState(0)
    data, anchors = nd.array(random.randn(2, 5, 4)), nd.array(random.rand(2, 5, 4))
    actual = nd.contrib.box_decode(data, anchors).asnumpy()
    for i in range(2):
        expected = nd.contrib.box_decode(data[i : i + 1], anchors[i : i + 1]).asnumpy()[0]
        np.testing.assert_allclose(actual[i], expected, rtol=1e-6)
