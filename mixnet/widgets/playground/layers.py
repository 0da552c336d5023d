"""The layers of a network by attribute path, and replacing one by another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mixnet.base import AttributeValueError
from mixnet.gluon import nn
from mixnet.gluon.block import Block, HybridBlock
from mixnet.gluon.contrib.nn import Identity
from mixnet.widgets.graph.calls import children_of

ACTIVATIONS = ("relu", "sigmoid", "tanh", "softrelu", "softsign")


class Layers:
    """The layers of a network, and their current replacements.

    Args:
        net: the network; it is changed, and :meth:`restore` undoes all of it.
    """

    def __init__(self, net: HybridBlock):
        self._net = net
        # path -> the block around it, its name there, the layer itself
        self._places: dict[str, tuple[Block, str, Block]] = {}
        self._paths: dict[str, str] = {}  # the same by attributes and numbers alone: body.0
        for path, keys, parent, name, layer in _walk(net, "", ""):
            self._places[path] = parent, name, layer
            self._paths[keys] = path
        self.changes: dict[str, str] = {}
        """Changes of layers, by path: ``off``, or the name of an activation."""

    @property
    def names(self) -> list[str]:
        """Paths of all layers, as named in the graph: ``body.Dense 0``, ``conv1``, ``conv1.act``."""
        return list(self._places)

    @property
    def activations(self) -> list[str]:
        """Paths of the layers that are named activations."""
        return [path for path, place in self._places.items() if isinstance(place[2], nn.Activation)]

    def off(self, path: str) -> None:
        """Replace a layer by the identity.

        Raises:
            AttributeValueError: there is no such layer.
        """
        path = self._known(path)
        self._replace(path, Identity(prefix=self._layer(path).prefix))
        self.changes[path] = "off"

    def activate(self, path: str, name: str) -> None:
        """Replace an activation by another one.

        Raises:
            AttributeValueError: there is no such activation.
        """
        path = self._known(path)
        if path not in self.activations:
            raise AttributeValueError(
                f"activate: {path!r} is not an activation; the activations are "
                f"{', '.join(self.activations) or 'none'}."
            )
        if name not in ACTIVATIONS:
            raise AttributeValueError(
                f"activate: expected one of {', '.join(ACTIVATIONS)}, got {name!r}."
            )
        self._replace(path, nn.Activation(name, prefix=self._layer(path).prefix))
        self.changes[path] = name

    def on(self, path: str) -> None:
        """Put a layer back.

        Raises:
            AttributeValueError: there is no such layer.
        """
        path = self._known(path)
        self._replace(path, self._layer(path))
        self.changes.pop(path, None)

    def set(self, changes: Mapping[str, str]) -> None:
        """Apply exactly the given changes, which were recorded earlier.

        Args:
            changes: as :attr:`changes` was then.
        """
        self.restore()
        for path, activation in changes.items():
            self.off(path) if activation == "off" else self.activate(path, activation)

    def restore(self) -> None:
        """Put all layers back."""
        for path in list(self.changes):
            self.on(path)

    def _known(self, path: str) -> str:
        path = self._paths.get(path, path)
        self._layer(path)
        return path

    def _layer(self, path: str) -> Block:
        if path not in self._places:
            raise AttributeValueError(
                f"no layer is named {path!r}; the layers are {', '.join(self.names)}."
            )
        return self._places[path][2]

    def _replace(self, path: str, block: Block) -> None:
        parent, name, _ = self._places[path]
        now = parent._children[name]
        if getattr(parent, name, None) is now:
            object.__setattr__(parent, name, block)  # a block refuses another class
        parent._children[name] = block
        # The graphs of all enclosing blocks contain the old block.
        for each in self._net._mx_walk():
            if isinstance(each, HybridBlock):
                each._clear_cached_op()


def _walk(
    block: Block, before: str, keys_before: str
) -> Iterator[tuple[str, str, Block, str, Block]]:
    for key, label, child in children_of(block):
        path, keys = f"{before}{label}", f"{keys_before}{key}"
        yield path, keys, block, key, child
        yield from _walk(child, f"{path}.", f"{keys}.")
