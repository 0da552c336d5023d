"""The operator ``Crop`` of older networks: crop an image to a size, or to the size of another."""

from __future__ import annotations

from mixnet.base import OperatorValueError, ShapeError
from mixnet.ops.registry import op
from mixnet.ops.schema.attributes import Shape


@op("Crop", floats=True, flops=0)
def crop(*data, offset: Shape = (0, 0), h_w: Shape = (0, 0), center_crop: bool = False):
    """An image cut to ``h_w``, or to the height and width of a second one.

    Args:
        data: one or two arrays ``(batch, channels, height, width)``; the second one is only
            measured.
        offset: row and column where the cut begins.
        h_w: height and width of the result, for one array.
        center_crop: cut around the middle; ``offset`` is ignored.

    Raises:
        AttributeValueError: ``offset`` or ``h_w`` is not two numbers, or the size is missing.
        ShapeError: the region is not inside the image.

    Source: MXNet operator ``Crop``.
    """
    if len(data) not in (1, 2) or any(each.ndim != 4 for each in data):
        shapes = [each.shape for each in data]
        raise ShapeError(f"Crop takes one or two arrays of four axes, not {shapes}.")
    image = data[0].shape[2:]
    size = data[1].shape[2:] if len(data) == 2 else h_w
    if len(offset) != 2 or len(size) != 2 or min(size) < 1:
        raise OperatorValueError(
            f"Crop: offset={offset} and h_w={h_w} must be two numbers, h_w positive ones; "
            "or give a second array."
        )
    if center_crop:
        offset = tuple((n - s) // 2 for n, s in zip(image, size, strict=True))
    begin, end = offset, tuple(o + s for o, s in zip(offset, size, strict=True))
    if min(begin) < 0 or any(e > n for e, n in zip(end, image, strict=True)):
        raise ShapeError(f"Crop: {size} from {offset} on does not lie in an image of {image}.")
    return data[0][:, :, begin[0] : end[0], begin[1] : end[1]]
