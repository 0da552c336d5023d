"""Which block was running when a node of a network's graph was created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from mixnet.gluon.block import Block
from mixnet.graph.node import Node
from mixnet.ndarray.ndarray import NDArray
from mixnet.symbol.symbol import Symbol

Path = tuple[str, ...]


def children_of(parent: Block) -> Iterator[tuple[str, str, Block]]:
    """The children of a block: key, name in the program, and child.

    That is the attribute, ``conv1`` of ``self.conv1``; in a sequence what the child's names
    begin with, or its class and number.
    """
    used: set[str] = set()
    for key, child in parent._children.items():
        label = str(key)
        if label.isdigit():
            own = child.prefix.removeprefix(parent.prefix).strip("_")
            named = own and child.prefix.startswith(parent.prefix)
            label = own if named else f"{type(child).__name__} {key}"
        label = f"{label} ({key})" if label in used else label
        used.add(label)
        yield str(key), label, child


class Calls:
    """``with Calls(net):`` nodes that the blocks of a network make get its path of labels.

    A block that is called again is another block: ``cell``, ``cell #2`` and so on.

    Args:
        root: the network; nodes of its own have the path ``()``.
        loss: what is called on its output, a block or a function.

    ``of`` holds paths by node, ``kinds`` by path the class of the block and the prefix of its names.
    """

    def __init__(self, root: Block, loss: object = None):
        self.of: dict[Node, Path] = {}
        self.kinds: dict[Path, tuple[str, str]] = {(): (type(root).__name__, root.prefix)}
        self._labels: dict[int, str] = {}
        self._blocks: list[Block] = []
        self._stack: list[Path] = [()]
        self._times: Counter[Path] = Counter()
        self._handles: list[Any] = []
        self._below(root)
        if isinstance(loss, Block):
            self._labels[id(loss)] = "loss"
            self._blocks.append(loss)
            self._below(loss)

    def _below(self, parent: Block) -> None:
        stack = [parent]
        while stack:
            parent = stack.pop()
            for _, label, child in children_of(parent):
                if id(child) not in self._labels:
                    self._labels[id(child)] = label
                    self._blocks.append(child)
                    stack.append(child)

    def __enter__(self) -> Self:
        self._stack, self._times = [()], Counter()
        for block in self._blocks:
            self._handles.append(block.register_forward_pre_hook(self._enter))
            self._handles.append(block.register_forward_hook(self._leave))
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.detach()
        self._handles.clear()

    def _enter(self, block: Block, inputs: object) -> None:
        path = (*self._stack[-1], self._labels[id(block)])
        self._times[path] += 1
        if self._times[path] > 1:
            path = (*path[:-1], f"{path[-1]} #{self._times[path]}")
        self._push(path, block)

    def _push(self, path: Path, block: Block) -> None:
        self.kinds[path] = (type(block).__name__, block.prefix)
        self._stack.append(path)

    def _leave(self, block: Block, inputs: object, output: object) -> None:
        self._note(output, self._stack.pop(), set(_nodes(inputs)))

    def _note(self, output: object, path: Path, before: set[Node]) -> None:
        stack, visited = list(_nodes(output)), set(before)
        while stack:
            node = stack.pop()
            # On through what inner blocks have made, not into the blocks before this one.
            if node in visited or self.of.setdefault(node, path)[: len(path)] != path:
                continue
            visited.add(node)
            stack += [entry.node for entry in node.inputs]

    def note(self, output: object) -> None:
        """Assign the remaining operations below the output to the network itself."""
        self._note(output, (), set())

    def noted(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, its output noted."""

        def run(*arguments: object) -> Any:
            result = forward(*arguments)
            self.note(result)
            return result

        return run

    def run(self, block: Block, inputs: Sequence[Any]) -> Any:
        """Forward of the network, for a loss behind it: its nodes stand in a block of its name."""
        path = (block.name,)
        self._push(path, block)
        result = block(*inputs)
        self._stack.pop()
        self._note(result, path, set(_nodes(list(inputs))))
        return result

    def outside(self, loss: Any, *inputs: Any) -> Any:
        """The loss, outside of the network."""
        return loss(*inputs)


def _nodes(value: object) -> Iterator[Node]:
    """The nodes behind symbols, or behind arrays of a trace, in nested lists."""
    if isinstance(value, Symbol):
        yield from (entry.node for entry in value._heads)
    elif isinstance(value, NDArray):
        node = value._read().node
        if isinstance(node, Node):
            yield node
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _nodes(each)
    elif isinstance(value, dict):
        yield from _nodes(list(value.values()))
