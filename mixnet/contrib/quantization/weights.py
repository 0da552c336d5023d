"""``quantize_weights``: store weights as 8-bit or 4-bit integers and compute in floats."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.context import Context, cpu
from mixnet.contrib.quantization.net import block_of, excluded_nodes
from mixnet.contrib.quantization.options import check_names
from mixnet.gluon.block.export_formats import symbol_and_arrays
from mixnet.gluon.block.hybrid import HybridBlock
from mixnet.gluon.block.symbol_block import SymbolBlock
from mixnet.ndarray.create import array
from mixnet.ops.quantized.rows import HALF
from mixnet.passes import quantize_weights as rewriting
from mixnet.passes.quantize_weights import Rows

MOST = {8: 127, 4: 7}
"""The greatest integer; the least is as far from 0."""


def quantize_weights(
    network: HybridBlock,
    bits: int = 8,
    group_size: int | None = None,
    exclude_layers: Collection[str] | None = None,
    exclude_layers_match: Collection[str] | None = None,
    ctx: Context = cpu(),
) -> SymbolBlock:
    """A block whose dense layers and embeddings store their weights as integers, from a trained float one.

    It needs no examples: the outputs of layers stay floats, and each call restores a weight
    before it is used. So files and parameters take a quarter or an eighth of their size, but
    predicting is not faster. Weights that other operators read, too, are unchanged. This is an
    extension: MXNet 1.9.1 cannot read the saved symbol.

    Args:
        network: a ``HybridBlock`` that was hybridized and called.
        bits: 8 or 4 for each number.
        group_size: how many numbers of a row (an output of a dense layer, a word of an
            embedding) share a step; by default all. With 4 bits, 32 is usual: a large number then
            makes only its own group coarser.
        exclude_layers: names of nodes whose weights stay.
        exclude_layers_match: parts of such names.
        ctx: device of the result's parameters.

    Raises:
        AttributeTypeError: the network is not a ``HybridBlock``.
        AttributeValueError: ``bits`` is another number; ``group_size`` does not divide a row; or
            there is nothing to quantize.
        MXNetError: the network was not hybridized and called.
    """
    if not isinstance(network, HybridBlock):
        raise AttributeTypeError(
            f"quantize_weights: network must be a HybridBlock, not {type(network).__name__}."
        )
    if bits not in MOST:
        raise AttributeValueError(f"quantize_weights: bits={bits!r:.60} is not 8 or 4.")
    check_names(
        "quantize_weights", exclude_layers=exclude_layers, exclude_layers_match=exclude_layers_match
    )
    traced, prefixed = symbol_and_arrays(network)
    # Names without arg: and aux:.
    arrays = {name.partition(":")[2]: each for name, each in prefixed.items()}
    known = set(arrays)
    weights = rewriting.weights_of(
        traced.graph, excluded_nodes(traced, exclude_layers, exclude_layers_match)
    )
    rows: dict[str, Rows] = {}
    for name, node in weights.items():
        if name in arrays:
            weight = arrays.pop(name).asnumpy()
            rows[name] = _rows(node.name, weight, bits, group_size)
            integers, step = _rounded(weight.reshape(len(weight), -1), rows[name])
            arrays[f"{name}_quantize"] = array(integers, dtype=integers.dtype)
            arrays[f"{name}_step"] = array(step, dtype=step.dtype)
    if not rows:
        raise AttributeValueError(
            "quantize_weights: the network has no dense layer and no embedding whose weight can be "
            "quantized; quantize_net_v2 quantizes convolutions."
        )
    quantized = type(traced)(rewriting.quantize_weights(traced.graph, rows).heads)
    names = [each for each in traced.list_inputs() if each not in known]
    return block_of(quantized, names, arrays, ctx)


def _rows(layer: str, weight: np.ndarray, bits: int, group_size: int | None) -> Rows:
    size = int(np.prod(weight.shape[1:]))
    if group_size is None:
        return Rows(bits, size, 1)
    if not isinstance(group_size, int) or group_size <= 0 or size % group_size:
        raise AttributeValueError(
            f"quantize_weights: group_size={group_size!r:.60} does not divide the {size} numbers in a "
            f"row of {layer!r}; give a divisor, or leave the layer out with "
            f"exclude_layers=[{layer!r}]."
        )
    return Rows(bits, size, size // group_size)


def _rounded(weight: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """A weight's integers as they are stored, and the steps of its groups."""
    parts = weight.astype(np.float32).reshape(len(weight), rows.groups, -1)
    end = np.abs(parts).max(-1, keepdims=True)
    most = MOST[rows.bits]
    step = (end / most).astype(weight.dtype)
    step[step == 0] = 1  # a group of zeros, or of numbers too small for half precision
    exact = np.round(parts / step.astype(np.float32))
    integers = np.clip(exact, -most, most).astype(np.int8).reshape(len(weight), rows.size)
    return _packed(integers) if rows.bits == 4 else integers, step[..., 0]


def _packed(integers: np.ndarray) -> np.ndarray:
    """Two numbers of 4 bits in a byte, the first in the low half."""
    even = np.pad(integers, ((0, 0), (0, integers.shape[1] % 2))) + HALF
    packed: np.ndarray = (even[:, ::2] | (even[:, 1::2] << 4)).astype(np.uint8)
    return packed
