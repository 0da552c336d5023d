"""Layout: image operators run with channels last, each with its fastest implementation.

MXNet's images are ``(batch, channels, height, width)``; fast convolutions on CPUs need channels
last. The pass rewrites convolutions and the operators between them, forward and backward, and
inserts transposes only where such a chain begins and ends. Weights keep their shape.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mixnet import config
from mixnet.graph.graph import Graph
from mixnet.graph.node import Entry, Node
from mixnet.ops.lowering import (
    batch_norm,
    convolution,
    grouped,
    integers,
    onednn,
    pooling,
    volumes,
)
from mixnet.ops.lowering.activation import RELU_GRADIENT
from mixnet.ops.lowering.lowering import Lowering
from mixnet.ops.nn.convolution import pads_to_reach
from mixnet.ops.nn.pooling import window_widths
from mixnet.ops.operator import Statics
from mixnet.ops.quantized.fused import body_order, parts_of
from mixnet.ops.registry import find
from mixnet.ops.schema.rewrites import ask
from mixnet.ops.tracing.any_layout import takes_any_layout
from mixnet.passes.differentiate import BackwardOp
from mixnet.passes.facts import Facts, Known

# The pass has a rule for each of these, and for pooling. For all other operators, the supported layouts are
# declared (``layout_axis``, ``any_layout``) or derived.
FUSED = "_sg_mkldnn_conv"
_CONVOLUTIONS = ("Convolution", "Deconvolution", FUSED)
_TO_LAST, _TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
_DIRECT = ("NCHW", None)


class Image:
    """An output in both layouts; the one that is not computed is created on first use."""

    __slots__ = ("_first", "_last")

    def __init__(self, first: Entry | None = None, last: Entry | None = None):
        self._first, self._last = first, last

    @property
    def computed_last(self) -> bool:
        """Whether channels-last is available without a transpose."""
        return self._last is not None

    @property
    def first(self) -> Entry:
        """The value with channels on axis 1; unchanged if it is not an image."""
        if self._first is None:
            assert self._last is not None
            self._first = _transposed(self._last, _TO_FIRST, "channels_first")
        return self._first

    @property
    def last(self) -> Entry:
        """The value with channels on the last axis."""
        if self._last is None:
            assert self._first is not None
            self._last = _transposed(self._first, _TO_LAST, "channels_last")
        return self._last


def _transposed(entry: Entry, axes: tuple[int, ...], suffix: str) -> Entry:
    op = find("transpose")
    statics, scalars = op.bind({"axes": axes})
    transpose = Node(op, statics, scalars, (entry,), f"{entry.node.name}_{suffix}")
    return Entry(transpose.made_from(entry.node))


ONEDNN_LEAST = 1_000_000_000
"""The number of multiplications from which a program uses oneDNN at once.

XLA cannot store programs that call oneDNN on disk, so every process compiles them again, which takes
seconds.
"""
ONEDNN_LEAST_HOT = 10_000_000
"""The same for a program that has run often."""


def choose_layout(graph: Graph, facts: Facts | None = None) -> Graph:
    """The graph with channels last where that pays, if it convolves images on a CPU.

    On other platforms XLA assigns layouts itself.
    """
    mode = config.get("MIXNET_LAYOUT")
    if mode == "off" or facts is None or facts.platform != "cpu" or facts.inputs is None:
        return graph
    if not any(_operator(node).name in _CONVOLUTIONS for node in graph.nodes if node.op):
        return graph
    specs = facts.specs(graph)
    least = ONEDNN_LEAST_HOT if facts.hot else ONEDNN_LEAST
    large = mode == "auto" and multiplications(graph, specs) >= least
    return _Rewrite(graph, specs, large and onednn.available(cache_folder())).run()


def multiplications(graph: Graph, specs: Mapping[Entry, Known]) -> int:
    """The number of multiplications in the convolutions of a graph and their gradients.

    Those of grouped convolutions count several times, because XLA needs several times as long for them.
    """
    total = 0
    for node in graph.nodes:
        if node.op is None or _operator(node).name not in _CONVOLUTIONS:
            continue
        known = _keywords(node)
        if _operator(node).name == FUSED:
            layer = parts_of(known["subgraphs"][0]).layer
            known = layer.op.keywords(layer.statics)
        if isinstance(node.op, BackwardOp):
            result, (data, weight), times = node.inputs[0], node.inputs[1:3], len(node.statics[2])
        else:
            result, (data, weight), times = Entry(node), node.inputs[:2], 1
        if _operator(node).name == "Deconvolution":
            result, data = data, result
        channels = specs[data][0][-1 if _is_last(known["layout"]) else 1]
        times *= grouped.work_factor(channels, known["num_group"])
        total += times * math.prod(specs[result][0]) * math.prod(specs[weight][0][1:])
    return total


def cache_folder() -> Path | None:
    """The folder in which results of trials are stored, beside XLA's programs; None if there is none."""
    named = jax.config.values["jax_compilation_cache_dir"]
    return None if not named or "://" in named else Path(named)


def _operator(node: Node) -> Any:
    """The operator of a node, or the one whose gradient it is."""
    return node.op.forward if isinstance(node.op, BackwardOp) else node.op


def _keywords(node: Node) -> dict[str, Any]:
    """Attributes of a node's operator, or of the one whose gradient it is."""
    op = _operator(node)
    keywords: dict[str, Any] = op.keywords(
        node.statics[0] if isinstance(node.op, BackwardOp) else node.statics
    )
    return keywords


def _is_last(layout: str | None) -> bool:
    """Whether channels are the last axis."""
    return layout is not None and layout.endswith("C")


class _Rewrite:
    """Rewrites a graph in one traversal, inputs before users."""

    def __init__(self, graph: Graph, specs: dict[Entry, Known], with_onednn: bool):
        self.graph = graph
        self.specs = specs
        self.with_onednn = with_onednn
        self.images: dict[Entry, Image] = {}
        self.relus = {node.inputs[0]: node for node in graph.nodes if _is_relu(node)}
        self.uses = Counter(graph.heads)
        for node in graph.nodes:
            # The gradient of relu can be computed from its result as well.
            read = node.inputs[:1] if self._relu_of_gradient(node) else node.inputs
            self.uses.update(read)

    def run(self) -> Graph:
        """The rewritten graph."""
        for node in self.graph.nodes:
            relu = self._relu_of_gradient(node)
            if relu is not None:  # it reads an input of the gradient, so it can be visited first
                self._visit(relu)
            self._visit(node)
        return self.graph.with_heads(self.images[e].first for e in self.graph.heads)

    def _visit(self, node: Node) -> None:
        if Entry(node) in self.images:
            return
        if node.is_variable:
            self.images[Entry(node)] = Image(Entry(node))
            return
        images = self._rewritten(node)
        if images is None:
            copied = node.replaced(tuple(self.images[e].first for e in node.inputs))
            images = [Image(Entry(copied, e.index)) for e in self._outputs(node)]
        for i, image in enumerate(images):
            self.images[Entry(node, i)] = image

    def _outputs(self, node: Node) -> list[Entry]:
        outputs: list[Entry] = []
        while Entry(node, len(outputs)) in self.specs:
            outputs.append(Entry(node, len(outputs)))
        return outputs

    def _rewritten(self, node: Node) -> list[Image] | None:
        """Images of the node's outputs; None to leave the node unchanged."""
        op = _operator(node)
        rule: Callable[[Node, dict[str, Any]], list[Image] | None]
        backward = isinstance(node.op, BackwardOp)
        if op.name == "Convolution":
            rule = self._convolution_gradients if backward else self._convolution
        elif op.name == "Deconvolution":
            rule = self._deconvolution_gradients if backward else self._deconvolution
        elif op.name == FUSED:
            rule = self._fused_integers
        elif not any(self.images[e].computed_last for e in node.inputs):
            return None
        elif op.name == "Pooling":
            rule = self._pooling_gradient if backward else self._pooling
        elif op.layout_axis is not None:
            rule = self._naming_axis
        elif op.any_layout and not backward:
            return self._same(node, node.statics)
        elif op.name == "_contrib_quantized_pooling":
            rule = self._pooling_of_integers
        elif self._takes_any_layout(node):
            rule = self._any_layout
        else:
            return None
        return rule(node, _keywords(node))

    def _shape(self, entry: Entry) -> tuple[int, ...]:
        return self.specs[entry][0]

    # ---- convolution --------------------------------------------------------------------------

    def _plan(self, data: Entry, weight: Entry, known: dict[str, Any]) -> dict[str, Any] | None:
        """Attributes of the lowering, and the library that computes it; None to leave the node unchanged."""
        if len(known["kernel"]) != 2 or known["layout"] not in _DIRECT:
            return None
        return self._window(data, weight, known)

    def _window(self, data: Entry, weight: Entry, known: dict[str, Any]) -> dict[str, Any] | None:
        """Attributes of the window, and the method; None unless all dtypes are one float type."""
        dtypes = {self.specs[data][1], self.specs[weight][1]}
        dtype = dtypes.pop()
        if dtypes or dtype.kind != "f":
            return None
        axes = len(known["kernel"])
        plan = {
            "stride": known["stride"] or (1,) * axes,
            "dilate": known["dilate"] or (1,) * axes,
            "pad": known["pad"] or (0,) * axes,
            "groups": known["num_group"],
        }
        stride, dilate, pad = (plan[name][-2:] for name in ("stride", "dilate", "pad"))
        channels = self._shape(data)[-1 if _is_last(known["layout"]) else 1]
        each = channels // plan["groups"]
        if self.with_onednn and dtype == np.float32 and onednn.computes(each, stride):
            return {**plan, "method": "onednn"}
        if plan["groups"] > 1:
            long = convolution.takes_columns(stride, dilate)
            return {**plan, "method": "columns" if long else "grouped"}
        pointwise = known["kernel"][-2:] == (1, 1) and pad == (0, 0)
        return {**plan, "method": "dot" if pointwise else "xla"}

    def _inputs_of(self, data: Entry, *parameters: Entry) -> list[Entry]:
        """Data with channels last, and parameters as they are."""
        return [self.images[data].last, *[self.images[each].first for each in parameters]]

    def _convolution(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        data, weight, *bias = node.inputs
        plan = self._plan(data, weight, known)
        if plan is None:
            if len(known["kernel"]) == 3:
                return self._volumes(node, known, node.inputs, ())
            return self._grouped(grouped.CONVOLUTION, node, known, node.inputs, {})
        inputs = self._inputs_of(data, weight, *bias)
        plan["fusions"] = ("BIAS",) if bias else ()
        return [_image(convolution.CONVOLUTION, inputs, plan, node)]

    def _convolution_gradients(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        _, headed, wrt = node.statics
        if headed != (0,):
            return None
        head, data, weight, *_ = node.inputs
        plan = self._plan(data, weight, known)
        if plan is None:
            arrays = (head, data, weight)
            if len(known["kernel"]) == 3:
                return self._volumes(node, known, arrays, wrt)
            return self._grouped(grouped.GRADIENTS, node, known, arrays, {"wrt": wrt})
        attributes = self._as_data_gradient(plan, known["kernel"], self._shape(data)[2:])
        inputs = (self.images[head].last, self.images[weight].first)
        return [
            _image(convolution.DATA_GRADIENT, inputs, attributes, node)
            if position == 0
            else self._gradient_of_parameter(position, node, known, plan, head, data)
            for position in wrt
        ]

    def _gradient_of_parameter(
        self,
        position: int,
        node: Node,
        known: dict[str, Any],
        plan: dict[str, Any],
        result: Entry,
        data: Entry,
    ) -> Image:
        """The gradient of the weight (1) or the bias (2) of the convolution from ``data`` to ``result``."""
        if position == 2:
            head = self.images[node.inputs[0]].last
            return Image(Entry(_lowered(convolution.BIAS_GRADIENT, (head,), {}, node)))
        method = convolution.weight_gradient_method(
            plan["method"],
            plan,
            self._shape(node.inputs[2]),
            self._shape(data)[0],
            self.images[data].computed_last,
        )
        attributes = {**plan, "kernel": known["kernel"], "method": method}
        inputs = (self.images[result].last, self.images[data].last)
        return Image(Entry(_lowered(convolution.WEIGHT_GRADIENT, inputs, attributes, node)))

    def _grouped(
        self,
        op: Lowering,
        node: Node,
        known: dict[str, Any],
        inputs: Sequence[Entry],
        more: dict[str, Any],
    ) -> list[Image] | None:
        """Grouped channels in one dimension, or channels last: each has its own lowering."""
        dtypes = {self.specs[each][1] for each in inputs}
        if known["num_group"] == 1 or len(dtypes) > 1 or dtypes.pop().kind != "f":
            return None
        axes = len(known["kernel"])
        attributes = {
            **more,
            "stride": known["stride"] or (1,) * axes,
            "dilate": known["dilate"] or (1,) * axes,
            "pad": known["pad"] or (0,) * axes,
            "groups": known["num_group"],
            "channels_last": _is_last(known["layout"]),
        }
        lowered = _lowered(op, tuple(self.images[each].first for each in inputs), attributes, node)
        count = len(more["wrt"]) if more else 1
        return [Image(Entry(lowered, i)) for i in range(count)]

    def _volumes(
        self, node: Node, known: dict[str, Any], inputs: Sequence[Entry], wrt: Sequence[int]
    ) -> list[Image] | None:
        """A convolution with three spatial axes, or its gradients: it has its own lowering."""
        data, weight = inputs[1:3] if wrt else inputs[:2]
        plan = self._window(data, weight, known)
        if plan is None or known["kernel"][0] > volumes.MOST_STEPS:
            return None
        last = _is_last(known["layout"])
        method = plan.pop("method")
        attributes: dict[str, Any] = {**plan, "channels_last": last}
        if wrt:
            window = {name: each if name == "groups" else each[1:] for name, each in plan.items()}
            window["kernel"] = known["kernel"][1:]
            batch, *extents, channels = self._shape(data)
            if not last:
                batch, channels, *extents = self._shape(data)
            attributes["wrt"] = wrt
            attributes["data_method"] = convolution.data_gradient_method(
                method, window, extents[1:]
            )
            each = (known["num_filter"], channels // plan["groups"], *window["kernel"])
            attributes["weight_method"] = convolution.weight_gradient_method(
                method, window, each, batch
            )
        else:
            attributes["method"] = method
        op = volumes.GRADIENTS if wrt else volumes.CONVOLUTION
        lowered = _lowered(op, tuple(self.images[each].first for each in inputs), attributes, node)
        return [Image(Entry(lowered, i)) for i in range(max(1, len(wrt)))]

    def _as_data_gradient(
        self, plan: dict[str, Any], kernel: Sequence[int], extents: Sequence[int]
    ) -> dict[str, Any]:
        """The attributes of the gradient of a convolution's data with these extents."""
        method = convolution.data_gradient_method(
            plan["method"], {**plan, "kernel": kernel}, extents
        )
        return {**plan, "extents": tuple(extents), "method": method}

    # ---- transposed convolution: the gradient of a convolution's data ---------------------------

    def _deconvolution(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        data, weight, *bias = node.inputs
        plan = self._plan_of_transposed(Entry(node), data, weight, known)
        if plan is None:
            return None
        attributes = self._as_data_gradient(plan, known["kernel"], self._shape(Entry(node))[2:])
        inputs = self._inputs_of(data, weight, *bias)
        return [_image(convolution.DECONVOLUTION, inputs, attributes, node)]

    def _deconvolution_gradients(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        _, headed, wrt = node.statics
        if headed != (0,):
            return None
        head, data, weight, *_ = node.inputs
        plan = self._plan_of_transposed(head, data, weight, known)
        if plan is None:
            return None
        # The roles of the convolution's data and result are swapped: its head is the data here.
        inputs = (self.images[head].last, self.images[weight].first)
        return [
            _image(convolution.CONVOLUTION, inputs, plan, node)
            if position == 0
            else self._gradient_of_parameter(position, node, known, plan, data, head)
            for position in wrt
        ]

    def _plan_of_transposed(
        self, result: Entry, data: Entry, weight: Entry, known: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The plan of the convolution whose data corresponds to the result of a transposed one."""
        pad = known["pad"]
        if any(known["target_shape"]):
            pad, _ = pads_to_reach(
                self._shape(data)[2:], known["kernel"], known["stride"], known["dilate"],
                known["target_shape"],
            )  # fmt: skip
        return self._plan(result, weight, {**known, "pad": pad})

    # ---- integers -----------------------------------------------------------------------------

    def _fused_integers(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        """A fused convolution of integers: unchanged integers of its weight, and the products."""
        if not known["quantized"]:
            return None
        body = known["subgraphs"][0]
        parts = parts_of(body)
        by_name = dict(zip(body_order(parts), node.inputs, strict=False))
        measured = known["min_calib_range"] is not None and known["max_calib_range"] is not None
        names = integers.weight_names(parts)
        by_channel = measured or known["enable_float_output"]
        fused = Node(
            integers.WEIGHTS,
            (("body", body), ("by_channel", by_channel)),
            (),
            tuple(self.images[by_name[name]].first for name in names),
            f"{node.name}_weights",
        ).made_from(node)
        layer = parts.layer.op.keywords(parts.layer.statics)
        each = self._shape(by_name["data"])[1] // layer["num_group"]
        able = self.with_onednn and onednn.computes(each, layer["stride"] or (1, 1))
        ranges = node.inputs[len(body_order(parts)) :]
        images = [by_name["data"], *[by_name[name] for name in ("sum",) if name in by_name]]
        data, *added = [self.images[each].last for each in images]
        inputs = (
            data, *[Entry(fused, i) for i in range(3)], *added, *[self.images[e].first for e in ranges],
        )  # fmt: skip
        attributes = {
            "body": body,
            "method": "onednn" if able else "xla",
            "low": known["min_calib_range"],
            "high": known["max_calib_range"],
            "as_floats": known["enable_float_output"],
        }
        lowered = _lowered(integers.CONVOLUTION, inputs, attributes, node)
        lowered_images = [Image(last=Entry(lowered))]
        if not known["enable_float_output"]:
            lowered_images += [Image(Entry(lowered, 1)), Image(Entry(lowered, 2))]
        states = [self.images[by_name[n]] for n in ("mean", "var") if n in by_name]
        return lowered_images + states

    def _pooling_of_integers(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        data, low, high = node.inputs
        windows = self._windows(data, known) if known["pool_type"] == "max" else None
        if windows is not None:
            pooled = _image(pooling.POOLING, (self.images[data].last,), windows, node)
            return [pooled, self.images[low], self.images[high]]
        if known["layout"] not in _DIRECT or len(self._shape(data)) != 4:
            return None
        return self._same(node, node.op.rebind(node.statics, layout="NHWC"))

    # ---- pooling ------------------------------------------------------------------------------

    def _windows(self, data: Entry, known: dict[str, Any]) -> dict[str, Any] | None:
        shape = self._shape(data)
        if len(shape) != 4 or known["layout"] not in _DIRECT or known["pool_type"] == "lp":
            return None
        extents = shape[2:]
        if known["global_pool"]:
            known = {**known, "kernel": extents, "stride": (), "pad": ()}
        stride, pad = known["stride"] or (1, 1), known["pad"] or (0, 0)
        widths = window_widths(extents, known["kernel"], stride, pad, known["pooling_convention"])
        windows = {
            "kernel": known["kernel"],
            "stride": stride,
            "widths": widths,
            "pool_type": known["pool_type"],
        }
        if known["pool_type"] == "avg":
            include = known["count_include_pad"] in (None, True)
            windows["counts"] = pooling.window_counts(
                extents, known["kernel"], stride, pad, widths, include
            )
        return windows

    def _pooling(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        windows = self._windows(node.inputs[0], known)
        if windows is None:
            return None
        return [_image(pooling.POOLING, (self.images[node.inputs[0]].last,), windows, node)]

    def _pooling_gradient(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        head, data = node.inputs
        windows = self._windows(data, known)
        if windows is None:
            return None
        windows["extents"] = self._shape(data)[2:]
        read = (head, data) if known["pool_type"] == "max" else (head,)
        inputs = tuple(self.images[each].last for each in read)
        return [_image(pooling.POOLING_GRADIENT, inputs, windows, node)]

    # ---- the rest -----------------------------------------------------------------------------

    def _naming_axis(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        """Normalization and joining: the same operator on another axis."""
        op = _operator(node)
        name = op.layout_axis
        if known[name] not in (1, -3):
            return None
        backward = isinstance(node.op, BackwardOp)
        if op.name == "BatchNorm" and backward:
            images = self._batch_norm_gradient(node, known)
            if images is not None:
                return images
        forward = op.rebind(node.statics[0] if backward else node.statics, **{name: 3})
        statics = (forward, *node.statics[1:]) if backward else forward
        return self._same(node, statics)

    def _batch_norm_gradient(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        _, headed, wrt = node.statics
        by_batch = known["training"] and not known["use_global_stats"]
        if headed != (0,) or not by_batch:
            return None
        head, data, gamma, _, moving, _ = node.inputs
        attributes = {
            "axis": 3,
            "eps": known["eps"],
            "fix_gamma": known["fix_gamma"],
            "wide": self.specs[moving][1].name,
            "wrt": wrt,
        }
        inputs = (self.images[head].last, self.images[data].last, self.images[gamma].first)
        lowered = _lowered(batch_norm.BATCH_NORM_GRADIENT, inputs, attributes, node)
        return [
            Image(last=Entry(lowered, i)) if position == 0 else Image(Entry(lowered, i))
            for i, position in enumerate(wrt)
        ]

    def _takes_any_layout(self, node: Node) -> bool:
        """Whether an operator takes any layout, if all images that it reads have the same."""
        specs = [self.specs[entry] for entry in node.inputs]
        return takes_any_layout(node.op, node.statics, specs, len(node.scalars), _TO_LAST)

    def _any_layout(self, node: Node, known: dict[str, Any]) -> list[Image] | None:
        relu = self._relu_of_gradient(node)
        if relu is not None:
            inputs = (self.images[node.inputs[0]].last, self.images[Entry(relu)].last)
            return [_image(RELU_GRADIENT, inputs, {}, node)]
        fused = self._fused(node)
        return [fused] if fused is not None else self._same(node, node.statics)

    def _same(self, node: Node, statics: Statics) -> list[Image]:
        """The operator itself on images with channels last."""
        inputs = tuple(
            self.images[e].last if len(self._shape(e)) == 4 else self.images[e].first
            for e in node.inputs
        )
        copied = Node(node.op, statics, node.scalars, inputs, node.name, node.attrs)
        copied.made_from(node)
        return [
            Image(last=Entry(copied, e.index))
            if len(self._shape(e)) == 4
            else Image(Entry(copied, e.index))
            for e in self._outputs(node)
        ]

    def _relu_of_gradient(self, node: Node) -> Node | None:
        """For the gradient of relu at a value: the node that computed relu of that value."""
        if not isinstance(node.op, BackwardOp) or len(node.inputs) != 2:
            return None
        relu = self.relus.get(node.inputs[1])
        if relu is None or relu.op is not node.op.forward or relu.statics != node.statics[0]:
            return None
        return relu

    def _fused(self, node: Node) -> Image | None:
        """A convolution that also adds an array or applies relu, if nothing else reads its result."""
        if _is_relu(node):
            producer = self._unshared(node.inputs[0])
            return None if producer is None else _with_fusion(producer, "RELU", (), node)
        if node.op.fusion is not None and node.op.fusion.part == "sum":
            one, two = node.inputs
            if self._shape(one) != self._shape(two) or self.specs[one][1] != self.specs[two][1]:
                return None
            for entry, other in ((one, two), (two, one)):
                producer = self._unshared(entry)
                if producer is not None and one != two:
                    return _with_fusion(producer, "BINARY_ADD", (self.images[other].last,), node)
        return None

    def _unshared(self, entry: Entry) -> Node | None:
        """The convolution that computes an entry, if only one node reads it."""
        if self.uses[entry] != 1 or not self.images[entry].computed_last:
            return None
        producer = self.images[entry].last.node
        return producer if producer.op is convolution.CONVOLUTION else None


def _is_relu(node: Node) -> bool:
    activation = None if node.is_variable else node.op.activation
    if callable(activation):
        activation = ask(activation, node.op.keywords(node.statics))
    return activation == "relu"


def _lowered(op: Lowering, inputs: Sequence[Entry], attributes: dict[str, Any], node: Node) -> Node:
    name = node.name
    if isinstance(node.op, BackwardOp):  # one node may become several
        name = f"{name}_{op.name.split('_', 1)[-1]}"
    return Node(op, tuple(attributes.items()), (), tuple(inputs), name).made_from(node)


def _image(op: Lowering, inputs: Sequence[Entry], attributes: dict[str, Any], node: Node) -> Image:
    return Image(last=Entry(_lowered(op, inputs, attributes, node)))


def _with_fusion(layer: Node, fusion: str, operands: Sequence[Entry], node: Node) -> Image | None:
    attributes = dict(layer.statics)
    if not {"RELU", fusion}.isdisjoint(attributes["fusions"]):
        return None
    attributes["fusions"] = (*attributes["fusions"], fusion)
    fused = Node(
        layer.op,
        tuple(attributes.items()),
        (),
        (*layer.inputs, *operands),
        f"{layer.name}+{node.name.rpartition('/')[-1]}",
    )
    return Image(last=Entry(fused.made_from(layer)))
