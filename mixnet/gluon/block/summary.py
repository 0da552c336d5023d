"""The table that ``Block.summary`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mixnet.base import CheckError
from mixnet.ndarray.ndarray import NDArray

if TYPE_CHECKING:
    from mixnet.gluon.block.block import Block

_ROW = "{:>20}  {:>42} {:>15}"


def _shapes(value: object) -> str:
    """Shapes of nested arrays as the table shows them: ``(2, 3), [(4,), (5,)]``."""
    if isinstance(value, (list, tuple)):
        return ", ".join(
            f"[{_shapes(each)}]" if isinstance(each, (list, tuple)) else _shapes(each)
            for each in value
        )
    return str(value.shape) if isinstance(value, NDArray) else str(value)


def _size(parameter: Any) -> int:
    size = 1
    for extent in parameter.shape or (0,):
        size *= extent
    return size


def summarize(root: Block, inputs: tuple[Any, ...]) -> None:
    """Run a block once and print its layers, output shapes and numbers of parameters.

    Args:
        root: the block.
        inputs: its inputs.

    Raises:
        CheckError: a block is hybridized, so that its parts do not run one by one.
    """
    rows: list[list[Any]] = []
    counted: set[Any] = set()
    counts = {"total": 0, "trainable": 0, "shared": 0}
    handles: list[Any] = []

    def note(block: Block, _: object, output: object) -> None:
        of_block = 0
        for each in block.params.values():
            size = _size(each)
            of_block += size
            counts["total"] += size
            counts["trainable"] += 0 if each.grad_req == "null" else size
            counts["shared"] += size if each in counted else 0
            counted.add(each)
        rows.append([f"{type(block).__name__}-{len(rows) + 1}", _shapes(output), of_block])

    def watch(block: Block) -> None:
        if block._active:
            raise CheckError(
                f'"{block.name}" is hybridized: its layers do not run one by one. Call '
                f"summary() before hybridize(), or hybridize(False) first."
            )
        if block._mx_is_layer:
            handles.append(block.register_forward_hook(note))

    try:
        root.apply(watch)
        root(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    line, double = "-" * 80, "=" * 80
    print(line)
    print(_ROW.format("Layer (type)", "Output Shape", "Param #"))
    print(double)
    print(_ROW.format("Input", _shapes(inputs), 0))
    for row in rows:
        print(_ROW.format(*row))
    print(double)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {counts['total']}")
    print(f"   Trainable params: {counts['trainable']}")
    print(f"   Non-trainable params: {counts['total'] - counts['trainable']}")
    print(f"Shared params in forward computation graph: {counts['shared']}")
    print(f"Unique parameters in model: {counts['total'] - counts['shared']}")
    print(line)
