"""Readers of operators that take values between the elements of images."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.base import NotDefinedError
from mixnet.onnx.load.extents import is_open
from mixnet.onnx.load.layers import convolution_attributes, window
from mixnet.onnx.load.table import Call, reads

if TYPE_CHECKING:
    from mixnet.onnx.load.reading import Reading


@reads("GridSample")
def _(g: Reading, call: Call) -> Any:
    mode = call.get("mode", "linear")
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    extents = g.shape(call.x)[2:]
    grid = call.inputs[1]
    aligned = bool(call.get("align_corners", 0))
    count = len(extents)
    at = []
    # The last axis of the grid has the last axis of data first.
    for i, extent in enumerate(extents):
        part = g.op("slice_axis", grid, axis=-1, begin=count - 1 - i, end=count - i)
        part = g.op("_np_squeeze", part, axis=-1)
        factor, shift = (extent - 1) / 2, (extent - 1) / 2
        if not aligned:
            factor = extent / 2
        at.append(_scaled(g, part, factor, shift))
    return _Sampler(g, call.x, call.get("padding_mode", "zeros"), aligned).sampled(at, mode)


def _scaled(g: Reading, x: object, factor: float, shift: float) -> Any:
    return g.op("_npi_add_scalar", g.op("_npi_multiply_scalar", x, scalar=factor), scalar=shift)


class _Sampler:
    """Takes values at places of images.

    Args:
        g: the graph.
        x: ``(batch, channels, *extents)``.
        padding: ``zeros``, ``border`` or ``reflection``.
        aligned: whether reflection is at the centres of the outer elements, not at their edges.
    """

    def __init__(self, g: Reading, x: object, padding: str, aligned: bool):
        if padding not in ("zeros", "border", "reflection"):
            raise NotDefinedError(f"padding_mode={padding!r} is not one of ONNX's")
        self.g, self.padding, self.aligned = g, padding, aligned
        self.shape = g.shape(x)
        axes = (0, *range(2, len(self.shape)), 1)
        self.last = g.op("_np_transpose", x, axes=axes)  # channels last: an element is a row
        self.dtype = g.dtype(x)

    def sampled(self, at: list[Any], mode: str) -> Any:
        """``(batch, channels, *places)``.

        Args:
            at: places in elements, one array for each axis, ``(batch, *places)``.
            mode: ``linear``, ``nearest`` or ``cubic``.
        """
        g, extents = self.g, self.shape[2:]
        if mode != "cubic" and self.padding != "zeros":
            at = [self._inside(each, n) for each, n in zip(at, extents, strict=True)]
        if mode == "nearest":
            values = self._elements([g.op("_npi_around", each, decimals=0) for each in at])
        elif mode in ("linear", "cubic"):
            taps = [self._taps(each, mode) for each in at]
            values = None
            for chosen in itertools.product(*taps):
                weight = chosen[0][1]
                for _, other in chosen[1:]:
                    weight = g.op("_npi_multiply", weight, other)
                part = self._elements([place for place, _ in chosen])
                part = g.op("_npi_multiply", part, g.op("expand_dims", weight, axis=-1))
                values = part if values is None else g.op("_npi_add", values, part)
        else:
            raise NotDefinedError(f"mode={mode!r} is not one of ONNX's")
        return g.op("_np_moveaxis", values, source=-1, destination=1)

    def _taps(self, at: object, mode: str) -> list[tuple[Any, Any]]:
        """Elements beside a place along an axis, with their weights."""
        g = self.g
        first = g.op("BlockGrad", g.op("_npi_floor", at))
        share = g.op("_npi_subtract", at, first)
        if mode == "linear":
            rest = g.op("_npi_rsubtract_scalar", share, scalar=1.0)
            return [(first, rest), (g.op("_npi_add_scalar", first, scalar=1.0), share)]
        taps = []
        for step in (-1, 0, 1, 2):
            distance = g.op("_npi_absolute", g.op("_npi_add_scalar", share, scalar=float(-step)))
            weight = self._cubic(distance, near=step in (0, 1))
            taps.append((g.op("_npi_add_scalar", first, scalar=float(step)), weight))
        return taps

    def _cubic(self, distance: object, near: bool, a: float = -0.75) -> Any:
        """Keys' kernel within a distance of 1, or between 1 and 2."""
        numbers = (a + 2, -(a + 3), 0.0, 1.0) if near else (a, -5 * a, 8 * a, -4 * a)
        value = _scaled(self.g, distance, numbers[0], numbers[1])
        for each in numbers[2:]:
            value = _scaled(self.g, self.g.op("_npi_multiply", value, distance), 1.0, each)
        return value

    def _inside(self, at: object, extent: int) -> Any:
        """Places moved into the image, or reflected at its ends."""
        g = self.g
        if self.padding == "reflection":
            low, high = (0.0, extent - 1.0) if self.aligned else (-0.5, extent - 0.5)
            period = max(high - low, 1e-9)
            # A distance from the lower end that goes up to the period and down again.
            wrapped = g.op("_npi_absolute", _scaled(g, at, 1.0, -low))
            wrapped = g.op("_npi_mod_scalar", wrapped, scalar=2 * period)
            reflected = g.op("_npi_absolute", _scaled(g, wrapped, 1.0, -period))
            at = _scaled(g, reflected, -1.0, period + low)
        return g.op("clip", at, a_min=0.0, a_max=float(extent - 1))

    def _elements(self, places: list[Any]) -> Any:
        """The elements at whole places, ``(batch, *places, channels)``."""
        g, extents = self.g, self.shape[2:]
        if self.padding == "reflection":
            places = [self._inside(p, n) for p, n in zip(places, extents, strict=True)]
        index = [g.places(g.shape(places[0]), 0)]
        for each, extent in zip(places, extents, strict=True):
            cut = g.op("clip", each, a_min=0.0, a_max=float(extent - 1))
            index.append(g.op("Cast", cut, dtype="int64"))
        values = g.op("gather_nd", self.last, g.op("stack", *index, axis=0))
        if self.padding != "zeros":
            return values
        for each, extent in zip(places, extents, strict=True):
            for op, end in (
                ("_npi_greater_equal_scalar", 0),
                ("_npi_less_equal_scalar", extent - 1),
            ):
                mask = g.op("Cast", g.op(op, each, scalar=float(end)), dtype=self.dtype.name)
                values = g.op("_npi_multiply", values, g.op("expand_dims", mask, axis=-1))
        return values


@reads("AffineGrid")
def _(g: Reading, call: Call) -> Any:
    theta, size = call.x, g.ints(call.inputs[1], "the size")
    extents = size[2:]
    if is_open(extents):
        raise NotDefinedError("a grid of open height and width is not supported")
    g.checked_shape([*extents, len(extents) + 1])
    aligned = call.get("align_corners", 0)
    axes = [
        np.linspace(-1, 1, n) if aligned and n > 1 else (2 * np.arange(n) + 1) / n - 1
        for n in extents
    ]
    grid = np.meshgrid(*axes, indexing="ij")[::-1]  # the last axis of data comes first
    places = np.stack([*grid, np.ones(extents)], -1).reshape(-1, len(extents) + 1)
    turned = g.op("SwapAxis", theta, dim1=1, dim2=2)
    out = g.op("_npi_matmul", places.astype(g.dtype(theta)), turned)
    return g.reshaped(out, (g.shape(theta)[0], *extents, len(extents)))


@reads("RoiAlign")
def _(g: Reading, call: Call) -> Any:
    if call.get("mode", "avg") != "avg":
        raise NotDefinedError("mode='max'; only means of regions can be read")
    dtype = g.dtype(call.x).name
    rows = g.op("Reshape", g.op("Cast", call.inputs[2], dtype=dtype), shape=(-1, 1))
    usual = "output_half_pixel" if g.opset < 16 else "half_pixel"
    return g.op(
        "_contrib_ROIAlign",
        call.x,
        g.op("Concat", rows, call.inputs[1], dim=1),
        pooled_size=(call.get("output_height", 1), call.get("output_width", 1)),
        spatial_scale=call.get("spatial_scale", 1.0),
        sample_ratio=call.get("sampling_ratio", 0) or -1,
        aligned=call.get("coordinate_transformation_mode", usual) == "half_pixel",
    )


@reads("DeformConv")
def _(g: Reading, call: Call) -> Any:
    weight, mask = g.shape(call.inputs[1]), call.input(4)
    kernel = list(weight[2:])
    strides, dilate, before, after = window(g, call, kernel)
    if before != after:
        raise NotDefinedError("padding that differs before and after is not supported")
    bias = [] if call.input(3) is None else [call.inputs[3]]
    name = "_contrib_ModulatedDeformableConvolution"
    if mask is None:
        name = "_contrib_DeformableConvolution"
    return g.op(
        name,
        *[call.x, call.inputs[2], *([] if mask is None else [mask]), call.inputs[1], *bias],
        **convolution_attributes(call, weight, strides, dilate, before),
        num_deformable_group=call.get("offset_group", 1),
        no_bias=not bias,
    )
