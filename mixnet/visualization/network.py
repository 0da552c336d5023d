"""``mx.viz.plot_network``: a symbol as a ``graphviz.Digraph``."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mixnet.base import ShapeError
from mixnet.dtype import as_dtype
from mixnet.graph.node import Entry, Node
from mixnet.ops.schema.attributes import numbers
from mixnet.symbol.symbol import Symbol
from mixnet.visualization.drawing import draw
from mixnet.visualization.summary import no_symbol, shapes_of

if TYPE_CHECKING:
    from mixnet.visualization.digraph import Digraph

_WEIGHTS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var",
            "_running_mean")  # fmt: skip
_BOX = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
# ColorBrewer's "Set3", as MXNet's pictures have it.
_INPUT, _WEIGHTED, _ACTIVATION, _NORMALIZATION, _POOLING, _RESHAPING, _OTHER = (
    "#8dd3c7", "#fb8072", "#ffffb3", "#bebada", "#80b1d3", "#fdb462", "#fccde5",
)  # fmt: skip
_COLOURS = {
    "layer": _WEIGHTED, "normalization": _NORMALIZATION, "activation": _ACTIVATION,
    "pooling": _POOLING, "reshaping": _RESHAPING,
}  # fmt: skip


def _crossed(attrs: Mapping[str, str], name: str) -> str:
    """``"3x3"`` of the attribute ``(3, 3)``; ``"1"`` where it is not set."""
    return "x".join(map(str, numbers(attrs.get(name, "1"))))


def _label(node: Node) -> str:
    attrs = node.attrs
    match node.op.name:
        case "Convolution":
            sizes = f"{_crossed(attrs, 'kernel')}/{_crossed(attrs, 'stride')}"
            return f"Convolution\n{sizes}, {attrs['num_filter']}"
        case "FullyConnected":
            return f"FullyConnected\n{attrs['num_hidden']}"
        case "Activation":
            return f"Activation\n{attrs['act_type']}"
        case "LeakyReLU":
            return f"LeakyReLU\n{attrs.get('act_type', 'Leaky')}"
        case "Pooling":
            sizes = f"{_crossed(attrs, 'kernel')}/{_crossed(attrs, 'stride')}"
            return f"Pooling\n{attrs.get('pool_type', 'max')}, {sizes}"
        case "Custom":
            return attrs["op_type"]
    return node.name


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Any] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] = {},
    hide_weights: bool = True,
) -> Any:
    """The graph of a symbol for Graphviz: a ``graphviz.Digraph``.

    Where Graphviz's program ``dot`` is not installed, notebooks, ``render()`` and ``pipe("svg")``
    show the drawing of :func:`mixnet.visualization.draw` instead.

    Args:
        symbol: the network.
        title: name of the graph.
        save_format: file format that ``render()`` writes: ``'pdf'``, ``'png'``, ``'svg'``, ...
        shape: shapes of inputs by name; with them edges carry shapes, without the batch axis.
        dtype: dtypes of inputs by name; with them edges carry dtypes.
        node_attrs: Graphviz attributes of all nodes, over the usual ones.
        hide_weights: leave out parameters and moving averages.

    Raises:
        ImportError: the Python package ``graphviz`` is missing.
        TypeError: ``symbol`` is not a Symbol.
        ShapeError: the shapes do not determine all others.
    """
    if not isinstance(symbol, Symbol):
        raise no_symbol(symbol)
    shapes = shapes_of(symbol, shape) if shape is not None else {}
    types = _dtypes(symbol, dtype) if dtype is not None else {}
    nodes = symbol.graph.nodes
    repeated = [name for name, count in Counter(node.name for node in nodes).items() if count > 1]
    if repeated:
        warnings.warn(
            "There are multiple variables with the same name in your graph, this may result in "
            f"cyclic graph. Repeated names: {','.join(repeated)}",
            RuntimeWarning,
            stacklevel=2,
        )
    picture = _digraph(title, save_format)
    picture.drawing = draw(symbol, shape)
    usual = {**_BOX, **node_attrs}
    hidden = set()
    for node in nodes:
        if node.is_variable:
            if node.name.endswith(_WEIGHTS):  # Graphviz makes them plain where edges lead to them
                hidden |= {node.name} if hide_weights else set()
                continue
            attr = {**usual, "shape": "oval", "fillcolor": _INPUT}
            picture.node(name=node.name, label=node.name, **attr)
        else:
            colour = _COLOURS.get(node.op.family or "", _OTHER)
            attr = {**usual, "fillcolor": colour}
            picture.node(name=node.name, label=_label(node), **attr)
    for node in nodes:
        for entry in node.inputs:
            if entry.node.name in hidden:
                continue
            label = "x".join(map(str, shapes[entry][1:])) if shapes else ""
            if types:
                label += f"({types[entry]})"
            picture.edge(
                tail_name=node.name, head_name=entry.node.name, dir="back", arrowtail="open",
                label=label,
            )  # fmt: skip
    return picture


def _dtypes(symbol: Symbol, known: Mapping[str, Any]) -> dict[Entry, str]:
    internals = symbol.get_internals()
    _, dtypes, _ = internals.infer_type(**known)
    if dtypes is None:
        raise ShapeError(
            f"The dtypes of all arrays cannot be inferred from {dict(known)}; give more in dtype."
        )
    pairs = zip(internals._heads, dtypes, strict=True)
    return {entry: as_dtype(dtype).name for entry, dtype in pairs}


def _digraph(title: str, save_format: str) -> Digraph:
    """An empty graph; graphviz is loaded when the first one is made."""
    logger = logging.getLogger("graphviz")  # its debug lines help nobody
    logger.setLevel(logger.level or logging.WARNING)
    try:
        from mixnet.visualization.digraph import Digraph
    except ImportError:
        raise ImportError(
            "Draw network requires graphviz library: pip install graphviz. "
            "mx.viz.draw(symbol) needs no other package."
        ) from None
    return Digraph(name=title, format=save_format)
