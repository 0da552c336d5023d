"""Detection: boxes, anchors, proposals, regions of interest, deformable layers, correlation."""

from __future__ import annotations

from typing import Any

import numpy as np

_rng = np.random.RandomState(11)
CASES: list[dict[str, Any]] = []


def _add(case: str, op: str, inputs: Any, attrs: Any = None, grads: Any = ()) -> None:
    CASES.append(
        {"case": case, "op": op, "inputs": inputs, "attrs": attrs or {}, "grads": list(grads)}
    )


def _uniform(*shape: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Any:
    """Few digits, so that the file stays small."""
    return (np.round(_rng.uniform(low, high, shape) * 128) / 128).astype(dtype)


def _corners(*shape: int, dtype: str = "float32") -> Any:
    """Boxes as corners."""
    low = _rng.uniform(0, 0.6, (*shape, 2))
    high = low + _rng.uniform(0.1, 0.5, (*shape, 2))
    return (np.round(np.concatenate([low, high], -1) * 256) / 256).astype(dtype)


def _detections(batch: int, boxes: int, classes: int = 3, dtype: str = "float32") -> Any:
    """Rows of class, score, box."""
    ids = _rng.randint(0, classes, (batch, boxes, 1))
    scores = _rng.permutation(batch * boxes).reshape(batch, boxes, 1) / 32
    return np.concatenate([ids, scores, _corners(batch, boxes)], -1).astype(dtype)


# ---- box_nms -----------------------------------------------------------------------------------
_NMS = "_contrib_box_nms"
_boxes = _detections(2, 12)
for _name, _attrs in {
    "default": {},
    "valid": {"overlap_thresh": 0.3, "valid_thresh": 0.4},
    "all_invalid": {"valid_thresh": 2.0},
    "ids": {"overlap_thresh": 0.2, "id_index": 0},
    "force": {"overlap_thresh": 0.2, "id_index": 0, "force_suppress": True},
    "background": {"overlap_thresh": 0.2, "id_index": 0, "background_id": 1},
    "background_no_id": {"overlap_thresh": 0.2, "background_id": 1},
    "topk": {"overlap_thresh": 0.2, "topk": 4},
    "topk_large": {"overlap_thresh": 0.2, "topk": 40},
    "center_out": {"overlap_thresh": 0.2, "out_format": "center"},
    "center_both": {"overlap_thresh": 0.2, "in_format": "center", "out_format": "center"},
    "center_in_topk": {"overlap_thresh": 0.2, "in_format": "center", "topk": 3, "id_index": 0},
}.items():
    _grads = ["data"] if _name in ("ids", "topk", "center_out") else []
    _add(f"box_nms2_{_name}", _NMS, {"data": _boxes}, _attrs, _grads)
_moved = np.concatenate([_corners(1, 6), _uniform(1, 6, 3)], -1)
_add("box_nms2_places", _NMS, {"data": _moved}, {"coord_start": 0, "score_index": 5}, ["data"])
_add("box_nms2_2d", _NMS, {"data": _boxes[0]}, {"overlap_thresh": 0.2})
_add("box_nms2_4d", _NMS, {"data": _boxes.reshape(2, 2, 6, 6)}, {"overlap_thresh": 0.2})
_ties = _boxes[:1].copy()
_ties[..., 1] = np.repeat([0.5, 0.25, 0.75], 4)
_add("box_nms2_ties", _NMS, {"data": _ties}, {"overlap_thresh": 0.3}, ["data"])
_add(
    "box_nms2_float64", _NMS, {"data": _boxes.astype("float64")}, {"overlap_thresh": 0.3}, ["data"]
)
_flat = _boxes[:1].copy()
_flat[0, :4, 4:] = _flat[0, :4, 2:4] - 0.1
_add("box_nms2_turned_boxes", _NMS, {"data": _flat}, {"overlap_thresh": 0.1})
_negative = _boxes.copy()
_negative[..., 0] = -1
_add("box_nms2_negative_ids", _NMS, {"data": _negative}, {"overlap_thresh": 0.2, "id_index": 0})

# ---- box_iou, encode, decode, matching -----------------------------------------------------------
_add("box_iou2_corner", "_contrib_box_iou", {"lhs": _corners(2, 3), "rhs": _corners(4)})
_add("box_iou2_center", "_contrib_box_iou", {"lhs": _corners(3), "rhs": _corners(2, 2)},
     {"format": "center"})  # fmt: skip
_add("box_iou2_one", "_contrib_box_iou", {"lhs": _corners(), "rhs": _corners(3)})
_zero = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0], [1, 0, 2, 1]], "float32")
_add("box_iou2_degenerate", "_contrib_box_iou", {"lhs": _zero, "rhs": _zero})
_add("box_iou2_float64", "_contrib_box_iou",
     {"lhs": _corners(3, dtype="float64"), "rhs": _corners(2, dtype="float64")})  # fmt: skip
_samples = np.array([[1, 0, -1, 1, 0.5], [0.6, 1, 1, -1, 1]], "float32")
_matches = np.array([[0, 1, 2, 2, 1], [2, 1, 0, 0, 1]], "float32")
_add("box_encode", "_contrib_box_encode",
     {"samples": _samples, "matches": _matches, "anchors": _corners(2, 5), "refs": _corners(2, 3),
      "means": np.array([0.0, 0.1, -0.1, 0.2], "float32"),
      "stds": np.array([0.1, 0.2, 0.3, 0.4], "float32")})  # fmt: skip
for _name, _attrs in {
    "default": {},
    "stds": {"std0": 0.1, "std1": 0.2, "std2": 0.3, "std3": 0.4},
    "clip": {"clip": 0.3},
    "corner": {"format": "corner", "std0": 0.1},
}.items():
    _add(f"box_decode_{_name}", "_contrib_box_decode",
         {"data": _uniform(2, 4, 4, low=-1), "anchors": _corners(1, 4)}, _attrs)  # fmt: skip
_scores = _uniform(2, 4, 5)
_scores_ties = np.round(_scores * 4) / 4
for _name, _data, _attrs in [
    ("descend", _scores, {"threshold": 0.3}),
    ("ascend", _scores, {"threshold": 0.6, "is_ascend": True}),
    ("topk", _scores, {"threshold": 0.1, "topk": 2}),
    ("high", _scores, {"threshold": 2.0}),
    ("ties", _scores_ties, {"threshold": 0.25}),
    ("ties_ascend", _scores_ties, {"threshold": 0.75, "is_ascend": True}),
    ("2d", _scores[0], {"threshold": 0.0}),
    ("tall", _uniform(5, 3), {"threshold": 1e-12}),
    ("4d", _scores.reshape(1, 2, 4, 5), {"threshold": 0.2}),
]:
    _add(f"bipartite_{_name}", "_contrib_bipartite_matching", {"data": _data}, _attrs)

# ---- the single-shot detector ---------------------------------------------------------------------
_PRIOR, _TARGET, _DETECT = (f"_contrib_MultiBox{n}" for n in ("Prior", "Target", "Detection"))
_map = np.zeros((2, 3, 3, 5), "float32")
for _name, _attrs in {
    "default": {},
    "many": {"sizes": (0.5, 0.25, 0.1), "ratios": (1, 2, 0.5)},
    "clip": {"sizes": (0.9, 0.4), "ratios": (1, 3), "clip": True},
    "steps": {"sizes": (0.4,), "steps": (0.2, 0.1), "offsets": (0.1, 0.9)},
    "ratio_first": {"sizes": (0.4, 0.2), "ratios": (2, 1)},
}.items():
    _add(f"multiboxprior2_{_name}", _PRIOR, {"data": _map}, _attrs)
_anchor = _corners(1, 10)
_label = np.concatenate([_rng.randint(0, 3, (2, 3, 1)), _corners(2, 3)], -1).astype("float32")
_label[0, 2:] = -1
_label[1, 1:] = -1
_near = _label.copy()
_near[:, :, 1:] = np.where(_label[:, :, :1] < 0, -1, _anchor[0, [[2, 5, 7], [1, 3, 8]]] + 0.01)
_pred = _uniform(2, 4, 10, low=-2, high=2)
for _name, _corners, _attrs in [
    ("default", _label, {}),
    ("near", _near, {}),
    ("low", _near, {"overlap_threshold": 0.1}),
    ("bipartite_only", _near, {"overlap_threshold": -1.0}),
    ("variances", _near, {"variances": (0.2, 0.3, 0.4, 0.5)}),
    ("mining", _near, {"negative_mining_ratio": 2.0}),
    ("mining_thresh", _near, {"negative_mining_ratio": 3.0, "negative_mining_thresh": 0.1}),
    ("mining_least", _label, {"negative_mining_ratio": 0.5, "minimum_negative_samples": 4}),
    ("mining_ignore", _near, {"negative_mining_ratio": 1.0, "ignore_label": -2.0}),
    ("empty", np.full_like(_label, -1), {}),
    ("empty_mining", np.full_like(_label, -1), {"negative_mining_ratio": 3.0}),
    ("six", np.concatenate([_near, _near[..., :1]], -1), {}),
]:
    _add(f"multiboxtarget2_{_name}", _TARGET,
         {"anchor": _anchor, "label": _corners, "cls_pred": _pred}, _attrs)  # fmt: skip
_same = np.repeat(_anchor[:, :5], 2, 1)
_add("multiboxtarget2_ties", _TARGET, {"anchor": _same, "label": _near, "cls_pred": _pred},
     {"overlap_threshold": 0.1, "negative_mining_ratio": 2.0})  # fmt: skip
_prob = np.exp(_uniform(2, 4, 10, low=-2, high=2))
_prob = np.round(_prob / _prob.sum(1, keepdims=True) * 512).astype("float32") / 512
_loc = _uniform(2, 40, low=-1)
for _name, _attrs in {
    "default": {},
    "noclip": {"clip": False},
    "threshold": {"threshold": 0.4},
    "nothing": {"threshold": 1.0},
    "background": {"background_id": 2},
    "nms": {"nms_threshold": 0.1},
    "nms_off": {"nms_threshold": 0.0},
    "nms_one": {"nms_threshold": 1.0},
    "force": {"nms_threshold": 0.1, "force_suppress": True},
    "topk": {"nms_threshold": 0.1, "nms_topk": 3, "force_suppress": True},
    "variances": {"variances": (0.2, 0.3, 0.4, 0.5)},
}.items():
    _add(f"multiboxdetection2_{_name}", _DETECT,
         {"cls_prob": _prob, "loc_pred": _loc, "anchor": _anchor}, _attrs)  # fmt: skip
_even = np.round(_prob * 8) / 8
_add("multiboxdetection2_ties", _DETECT, {"cls_prob": _even, "loc_pred": _loc, "anchor": _anchor})

# ---- region proposals --------------------------------------------------------------------------
_few = {"scales": (1.0, 2.0), "ratios": (0.5, 1.0, 2.0), "feature_stride": 8,
        "rpn_post_nms_top_n": 8, "rpn_min_size": 2}  # fmt: skip
_info = np.array([[32, 40, 1.0], [23, 37, 1.5]], "float32")
_objects = _rng.permutation(2 * 12 * 20).reshape(2, 12, 4, 5).astype("float32") / 512
_deltas = _uniform(2, 24, 4, 5, low=-0.5, high=0.5)
_rpn = {"cls_prob": _objects, "bbox_pred": _deltas, "im_info": _info}
_rpn_one = {key: value[:1] for key, value in _rpn.items()}
for _name, _attrs in {
    "score": {"output_score": True},
    "threshold": {"threshold": 0.3, "output_score": True},
    "min_size": {"rpn_min_size": 14, "output_score": True},
    "iou_loss": {"iou_loss": True, "output_score": True},
    "pad": {
        "threshold": 0.05,
        "rpn_pre_nms_top_n": 20,
        "rpn_post_nms_top_n": 15,
        "output_score": True,
    },
}.items():
    if _name in ("score", "pad"):
        _add(f"proposal2_{_name}", "_contrib_Proposal", _rpn_one, {**_few, **_attrs})
    _add(f"multiproposal_{_name}", "_contrib_MultiProposal", _rpn, {**_few, **_attrs})
_more = {"cls_prob": _uniform(1, 24, 3, 4), "bbox_pred": _uniform(1, 48, 3, 4, low=-0.2, high=0.2),
         "im_info": np.array([[48, 64, 1.0]], "float32")}  # fmt: skip
_add("multiproposal_default_anchors", "_contrib_MultiProposal", _more, {"rpn_post_nms_top_n": 10})

# ---- regions of interest -----------------------------------------------------------------------
_features = _rng.permutation(2 * 4 * 7 * 9).reshape(2, 4, 7, 9).astype("float32") / 256
_rois = np.array([
    [0, 0, 0, 6, 5], [1, 1.3, 2.6, 7.2, 5.9], [0, 4.5, 3.5, 4.5, 3.5], [1, 6, 4, 14, 12],
    [0, -3.2, -2.7, 3.1, 4.4], [0, 12, 10, 15, 14], [1, 5, 5, 2, 1], [0, 0.5, 1.5, 2.5, 3.5],
], "float32")  # fmt: skip
_on = {"data": _features, "rois": _rois}
for _name, _attrs in {
    "2x2": {"pooled_size": (2, 2), "spatial_scale": 1.0},
    "3x2_half": {"pooled_size": (3, 2), "spatial_scale": 0.5},
    "large": {"pooled_size": (5, 7), "spatial_scale": 1.0},
    "odd": {"pooled_size": (3, 7), "spatial_scale": 0.7},
}.items():
    _add(f"roipooling2_{_name}", "ROIPooling", _on, _attrs, ["data"])
_add("roipooling2_ties", "ROIPooling", {"data": np.round(_features * 3), "rois": _rois},
     {"pooled_size": (2, 2), "spatial_scale": 1.0}, ["data"])  # fmt: skip
for _name, _attrs in {
    "fixed": {"pooled_size": (2, 2), "spatial_scale": 1.0, "sample_ratio": 2},
    "adaptive": {"pooled_size": (2, 3), "spatial_scale": 1.0},
    "adaptive_zero": {"pooled_size": (2, 2), "spatial_scale": 1.0, "sample_ratio": 0},
    "half": {"pooled_size": (3, 2), "spatial_scale": 0.5, "sample_ratio": 3},
    "aligned": {"pooled_size": (2, 2), "spatial_scale": 1.0, "sample_ratio": 2, "aligned": True},
    "aligned_adaptive": {"pooled_size": (2, 2), "spatial_scale": 0.7, "aligned": True},
    "position": {"pooled_size": (2, 2), "spatial_scale": 1.0, "sample_ratio": 2,
                 "position_sensitive": True},
}.items():  # fmt: skip
    # MXNet ends the process for an aligned region without an area.
    _inputs = {**_on, "rois": np.delete(_rois, [2, 6], 0)} if "aligned" in _attrs else _on
    _grads = {"fixed": ["data", "rois"], "adaptive": ["data"], "position": ["data"]}.get(_name, [])
    _add(f"roialign2_{_name}", "_contrib_ROIAlign", _inputs, _attrs, _grads)
_turned = np.array([
    [0, 4, 3, 5, 3, 0], [1, 4, 3, 5, 3, 30], [0, 3.3, 2.2, 4, 6, -45], [1, 8, 6, 6, 4, 120],
    [0, 2, 2, 0.2, 0.3, 10],
], "float32")  # fmt: skip
for _name, _attrs in {
    "fixed": {"pooled_size": (2, 2), "spatial_scale": 1.0, "sampling_ratio": 2},
    "adaptive": {"pooled_size": (2, 3), "spatial_scale": 1.0},
    "half": {"pooled_size": (3, 2), "spatial_scale": 0.5, "sampling_ratio": 1},
}.items():
    _add(f"rroialign_{_name}", "_contrib_RROIAlign", {"data": _features, "rois": _turned}, _attrs)
_maps = _uniform(2, 8, 7, 9)
_inside = _rois[[0, 1, 2, 4, 7]]
_on_maps = {"data": _maps, "rois": _inside}
for _name, _attrs in {
    "plain": {"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 2},
    "half": {"spatial_scale": 0.5, "output_dim": 2, "pooled_size": 2},
    "groups": {"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 3, "group_size": 2},
    "groups_odd": {"spatial_scale": 0.7, "output_dim": 2, "pooled_size": 7, "group_size": 2},
}.items():
    _add(f"psroipooling2_{_name}", "_contrib_PSROIPooling", _on_maps, _attrs, ["data"])
for _name, _parts, _attrs in [
    ("plain", 2, {"pooled_size": 2, "part_size": 2, "sample_per_part": 2, "trans_std": 0.1}),
    ("parts", 2, {"pooled_size": 3, "part_size": 2, "sample_per_part": 3, "trans_std": 0.2}),
    ("default_part", 3, {"pooled_size": 3, "trans_std": 0.1}),
    ("no_trans", 2, {"pooled_size": 2, "part_size": 2, "sample_per_part": 2, "no_trans": True}),
]:
    _trans = _uniform(5, 2, _parts, _parts, low=-1)
    _inputs = {"data": _maps, "rois": _inside, "trans": _trans}
    if _attrs.get("no_trans"):
        _inputs.pop("trans")
    _add(f"deformable_psroi_{_name}", "_contrib_DeformablePSROIPooling", _inputs,
         {"spatial_scale": 0.9, "output_dim": 2, "group_size": 2, **_attrs},
         ["data"] if _attrs.get("no_trans") else ["data", "trans"])  # fmt: skip
_classes = _uniform(5, 4, 2, 2, low=-1)
_add("deformable_psroi_classes", "_contrib_DeformablePSROIPooling",
     {"data": _maps, "rois": _inside, "trans": _classes},
     {"spatial_scale": 1.0, "output_dim": 2, "group_size": 2, "pooled_size": 2, "part_size": 2,
      "sample_per_part": 2, "trans_std": 0.1}, ["data", "trans"])  # fmt: skip

# ---- deformable convolutions -------------------------------------------------------------------
for _name, _offsets, _weight, _attrs in [
    ("plain", (2, 8, 4, 5), (3, 4, 2, 2), {"kernel": (2, 2)}),
    ("pad_stride", (1, 18, 3, 3), (3, 4, 3, 3), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}),
    ("dilate", (1, 8, 3, 4), (3, 4, 2, 2), {"kernel": (2, 2), "dilate": (2, 2)}),
    ("groups", (1, 16, 4, 5), (4, 2, 2, 2),
     {"kernel": (2, 2), "num_group": 2, "num_deformable_group": 2}),
]:  # fmt: skip
    for _version in (1, 2):
        _inputs = {
            "data": _uniform(_offsets[0], 4, 5, 6, low=-1),
            "offset": _uniform(*_offsets, low=-1.7, high=1.7),
            "mask": _uniform(_offsets[0], _offsets[1] // 2, *_offsets[2:]),
            "weight": _uniform(*_weight, low=-1),
            "bias": _uniform(_weight[0], low=-1),
        }
        if _version == 1:
            _inputs.pop("mask")
        if _name == "dilate":
            _inputs.pop("bias")
            _attrs = {**_attrs, "no_bias": True}
        _op = f"_contrib_{'Modulated' if _version == 2 else ''}DeformableConvolution"
        # The gradients of the second version need a GPU in MXNet.
        _grads = list(_inputs) if _version == 1 else ()
        _add(f"deformable{_version}_{_name}", _op, _inputs,
             {"num_filter": _weight[0], **_attrs}, _grads)  # fmt: skip

_still = {"data": _uniform(1, 2, 4, 4, low=-1), "offset": np.zeros((1, 18, 4, 4), "float32"),
          "weight": _uniform(2, 2, 3, 3, low=-1), "bias": _uniform(2)}  # fmt: skip
_add("deformable1_zero_offset", "_contrib_DeformableConvolution", _still,
     {"kernel": (3, 3), "pad": (1, 1), "num_filter": 2}, list(_still))  # fmt: skip

# ---- correlation and crop ----------------------------------------------------------------------
for _name, _attrs in {
    "default": {},
    "pad": {"pad_size": 2, "max_displacement": 2},
    "kernel": {"kernel_size": 3, "max_displacement": 2, "pad_size": 3},
    "strides": {"kernel_size": 1, "max_displacement": 3, "pad_size": 3, "stride1": 2, "stride2": 2},
    "difference": {"kernel_size": 3, "max_displacement": 1, "pad_size": 2, "is_multiply": False},
    "even": {"kernel_size": 2, "max_displacement": 1, "pad_size": 1},
    "stride2_uneven": {"max_displacement": 3, "pad_size": 3, "stride2": 2, "is_multiply": False},
}.items():
    _inputs = {"data1": _uniform(2, 2, 4, 5, low=-1), "data2": _uniform(2, 2, 4, 5, low=-1)}
    _add(f"correlation2_{_name}", "Correlation", _inputs, _attrs, ["data1", "data2"])
_pictures = [_uniform(2, 3, 6, 7), _uniform(2, 1, 3, 4)]
for _name, _count, _attrs in [
    ("sizes", 1, {"h_w": (2, 3), "num_args": 1}),
    ("offset", 1, {"h_w": (2, 3), "offset": (1, 2), "num_args": 1}),
    ("center", 1, {"h_w": (3, 3), "center_crop": True, "num_args": 1}),
    ("like", 2, {"num_args": 2}),
    ("like_offset", 2, {"num_args": 2, "offset": (3, 3)}),
    ("like_center", 2, {"num_args": 2, "center_crop": True}),
]:
    _add(f"crop2_{_name}", "Crop", _pictures[:_count], _attrs, ["arg0", "arg1"][:_count])
