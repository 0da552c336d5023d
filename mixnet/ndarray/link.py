"""Views: where an array lies in another one's storage, read from there and written to it."""

from __future__ import annotations

import math
from typing import Any

from mixnet.autograd.tape import Mark
from mixnet.ops.registry import find
from mixnet.runtime.devices.host_value import copy_of_part, part_on_host
from mixnet.runtime.record.record import record
from mixnet.runtime.value.value import Value


class Link:
    """Attributes that a plain handle does not have: its place in another's storage, its mark, its views.

    ``base`` is the handle whose storage a view shares, from element ``offset`` on, as ``shape``;
    views of views share the first one's base. ``version`` counts writes to a base and ``read_version`` is
    the base's version that a view has read. ``detached`` views stand on no tape. A view of a view
    that is a variable is read from that one, its ``origin``, so that gradients reach it: ``start``
    is where in the origin, or else in the base, it begins.
    """

    __slots__ = (
        "base",
        "detached",
        "mark",
        "offset",
        "origin",
        "read_version",
        "shape",
        "start",
        "version",
    )

    def __init__(self) -> None:
        self.base: Any = None
        self.offset = 0
        self.origin: Any = None
        self.start = 0
        self.shape: tuple[int, ...] = ()
        self.mark: Mark | None = None
        self.version = 0
        self.read_version = -1
        self.detached = False

    def content(self, value: Value, at_once: bool = False) -> Value:
        """The content of the view, from the value of its origin or else of its base.

        Args:
            value: the whole.
            at_once: copy the part without an operation, if that is possible, however large it is.
        """
        spec = value.spec
        if self.detached:
            value = value.alias()
            if spec.shape == self.shape:
                return value
        if spec.shape == self.shape:
            return value
        if math.prod(self.shape) == math.prod(spec.shape):
            return reshaped(value, self.shape)
        part: Value | None
        if at_once:
            part = copy_of_part(value, self.start, self.shape, value.spec.context)
        else:
            part = part_on_host(value, self.start, self.shape)
        if part is not None:
            return part
        op = find("_view")
        statics, scalars = op.bind({"offset": float(self.start), "shape": self.shape})
        return record(op, statics, scalars, (value,))[0]

    def written_to(self, whole: Value, value: Value) -> Value:
        """The content of the base, ``whole``, with ``value`` where the view is."""
        if value.spec.shape == whole.spec.shape:
            return value
        if math.prod(self.shape) == math.prod(whole.spec.shape):
            return reshaped(value, whole.spec.shape)
        op = find("_view_write")
        statics, scalars = op.bind({"offset": float(self.offset)})
        return record(op, statics, scalars, (whole, value))[0]


def reshaped(value: Value, shape: tuple[int, ...]) -> Value:
    """The elements of a value in exactly this shape."""
    # To Reshape a 0 means "as it was" and no axes mean nothing; the operator of mx.np takes both.
    name, attribute = (
        ("Reshape", "shape") if shape and 0 not in shape else ("_np_reshape", "newshape")
    )
    op = find(name)
    statics, _ = op.bind({attribute: shape})
    return record(op, statics, (), (value,))[0]
