"""Checkpoints of networks with cells: the files store the weights of each gate separately."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from mixnet.checkpoint import load_checkpoint, save_checkpoint
from mixnet.rnn.cell import BaseRNNCell
from mixnet.symbol.symbol import Symbol, Variable


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Symbol | Sequence[Symbol] | None = None,
    begin_state: Symbol | Sequence[Symbol] | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> Any:
    """A cell over a sequence: the older name of ``cell.unroll``.

    Without ``inputs`` there are variables ``t0_data``, ``t1_data``, ... after ``input_prefix``.

    Args:
        length: number of steps.
        begin_state: the first states; zeros by default.
        layout: ``'NTC'`` or ``'TNC'``.
    """
    warnings.warn("rnn_unroll is deprecated. Call cell.unroll.", DeprecationWarning, stacklevel=2)
    if inputs is None:
        inputs = [Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


def _as_list(cells: Any) -> list[Any]:
    return [cells] if isinstance(cells, BaseRNNCell) else list(cells)


def save_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell],
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: dict[str, Any],
    aux_params: dict[str, Any],
) -> None:
    """Write symbol and parameters as ``save_checkpoint``, with the cells' weights unpacked.

    Args:
        cells: a cell or a list, those of the network.
        prefix: start of the paths.
        epoch: number in the parameters' file name.
        symbol: the network.
        arg_params: parameters by name.
        aux_params: states by name.
    """
    for cell in _as_list(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: str, epoch: int
) -> tuple[Symbol, dict[str, Any], dict[str, Any]]:
    """Symbol, parameters and states that ``save_rnn_checkpoint`` wrote, weights joined for ``cells``.

    The cells may be others than those that were saved: fused ones for single ones, or the reverse.

    Args:
        prefix: path without ``-symbol.json`` and ``-0007.params``.
        epoch: number of the checkpoint, 7 in this example.
    """
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _as_list(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: str, period: int = 1
) -> Callable[..., None]:
    """A callback after epochs that writes a checkpoint every ``period`` of them.

    Args:
        cells: a cell or a list, those of the network.
        prefix: start of the paths.
        period: epochs between checkpoints.
    """
    period = int(max(1, period))

    def _callback(
        iter_no: int, sym: Symbol | None = None, arg: Any = None, aux: Any = None
    ) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return _callback
