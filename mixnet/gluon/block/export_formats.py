"""The formats of ``HybridBlock.export`` other than MXNet's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mixnet.base import AttributeValueError, StateError, did_you_mean
from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.value.value import Spec

if TYPE_CHECKING:
    from mixnet.gluon.block.hybrid import HybridBlock


def _onnx(
    block: HybridBlock, path: str, arrays: dict[str, NDArray], specs: Sequence[Spec], **options: Any
) -> tuple[str, ...]:
    from mixnet.onnx.mx2onnx import export_model  # slow to import

    symbol, shapes, dtypes = _described(block, specs, options)
    fname = _with_ending(path, ".onnx")
    return (export_model(symbol, arrays, shapes, dtypes, fname, **options),)


def _stablehlo(
    block: HybridBlock, path: str, arrays: dict[str, NDArray], specs: Sequence[Spec], **options: Any
) -> tuple[str, ...]:
    from mixnet.export.stablehlo import export_stablehlo  # slow to import

    symbol, shapes, dtypes = _described(block, specs, options)
    fname = _with_ending(path, ".stablehlo")
    return export_stablehlo(symbol, arrays, shapes, dtypes, fname, **options)


def _described(
    block: HybridBlock, specs: Sequence[Spec], options: dict[str, Any]
) -> tuple[Any, list[Any], list[Any]]:
    """A block's symbol, and the shapes and dtypes of the inputs that it reads, in the order of a
    call's arguments.

    Extents that the options make dynamic are: ``dynamic`` is set, and shapes of unread arguments are dropped.
    """
    names = block._mx_input_names(len(specs))
    symbol = block.to_symbol()
    known = set(symbol.list_inputs())
    read = [i for i, name in enumerate(names) if name in known]
    shapes = options.get("dynamic_input_shapes")
    options.setdefault("dynamic", shapes is not None)
    if shapes is not None and len(shapes) == len(specs):
        options["dynamic_input_shapes"] = [shapes[i] for i in read]
    options["input_names"] = [names[i] for i in read]
    return symbol, [specs[i].shape for i in read], [specs[i].dtype for i in read]


def _with_ending(path: str, ending: str) -> str:
    path = os.fspath(path)
    return path if path.endswith(ending) else path + ending


FORMATS: dict[str, Callable[..., tuple[str, ...]]] = {"onnx": _onnx, "stablehlo": _stablehlo}
"""A function that writes a format, from block, path, arrays by name, specs of the inputs, and options."""


def export_as(
    name: str,
    block: HybridBlock,
    path: str,
    arrays: dict[str, NDArray],
    specs: Sequence[Spec],
    options: dict[str, Any],
) -> tuple[str, ...]:
    """Export a block in a format; returns the paths.

    Raises:
        AttributeValueError: there is no such format.
    """
    if name not in FORMATS:
        raise AttributeValueError(
            f"export: format={name!r} is not one of mxnet, {', '.join(FORMATS)}.{did_you_mean(name, FORMATS)}"
        )
    return FORMATS[name](block, path, arrays, specs, **options)


def symbol_and_arrays(block: HybridBlock) -> tuple[Any, dict[str, NDArray]]:
    """The graph, and its parameters by name with the prefix ``arg:`` or ``aux:``.

    Raises:
        StateError: the network was not hybridized and called.
    """
    if not block._cached_graph and not block._mx_cache:
        raise StateError(
            "export: hybridize the network and call it with data first, so that its graph is known."
        )
    symbol = block.to_symbol()
    states = set(symbol.list_auxiliary_states())
    by_name = {each.name: each for each in block.collect_params().values()}
    return symbol, {
        f"{'aux' if name in states else 'arg'}:{name}": by_name[name]._reduce()
        for name in symbol.list_inputs()
        if name in by_name
    }


def example_specs(block: HybridBlock) -> list[Spec]:
    """Shapes and dtypes of the arrays of the first call.

    Raises:
        StateError: the network has not been called.
    """
    if not block._mx_cache:
        raise StateError(
            "export: call the hybridized network with data first, so that the shapes of "
            "its inputs are known."
        )
    specs, _, _ = next(iter(block._mx_cache))
    return list(specs)
