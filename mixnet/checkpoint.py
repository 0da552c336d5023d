"""Checkpoints: a symbol file and a parameter file with the epoch number in its name."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from mixnet.base import FileFormatError, checked_number
from mixnet.context import cpu
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.params_file import load as load_arrays
from mixnet.ndarray.params_file import save as save_arrays
from mixnet.symbol.symbol import Symbol
from mixnet.symbol.symbol import load as load_symbol

Arrays = dict[str, NDArray]


def params_name(prefix: str, epoch: int) -> str:
    """``prefix-0007.params``."""
    return numbered(prefix, epoch, "params")


def numbered(prefix: str, epoch: int, ending: str) -> str:
    """``prefix-0007.ending``.

    Raises:
        AttributeTypeError: ``epoch`` is not a number.
    """
    return f"{prefix}-{int(checked_number('epoch', epoch)):04d}.{ending}"


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Write ``prefix-symbol.json`` and ``prefix-0007.params``; each is complete or absent.

    Args:
        prefix: beginning of both paths.
        epoch: number in the name of the parameter file.
        symbol: the network; None writes parameters only.
        arg_params: parameters by name.
        aux_params: auxiliary states by name.
        remove_amp_cast: leave the casts of mixed precision out of the symbol file.
    """
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    save_parameters(params_name(prefix, epoch), arg_params, aux_params)
    logging.info('Saved checkpoint to "%s"', params_name(prefix, epoch))


def save_parameters(
    fname: str, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
) -> None:
    """Write a parameter file whose names begin with ``arg:`` or ``aux:``."""
    named = {f"arg:{name}": each.as_in_context(cpu()) for name, each in arg_params.items()}
    named |= {f"aux:{name}": each.as_in_context(cpu()) for name, each in aux_params.items()}
    save_arrays(fname, named)


def split_parameters(parameters: object, fname: str) -> tuple[Arrays, Arrays, list[str]]:
    """Parameters, states, and the names that are neither, of what a parameter file holds.

    Raises:
        FileFormatError: a name has no ``arg:`` or ``aux:`` before it, or arrays have no names.
    """
    if not isinstance(parameters, Mapping):
        raise FileFormatError(
            f"{fname} holds arrays without names; a checkpoint names them arg:... and aux:..."
        )
    kinds: dict[str, Arrays] = {"arg": {}, "aux": {}}
    others = []
    for key, array in parameters.items():
        kind, colon, name = key.partition(":")
        if not colon:
            raise FileFormatError(
                f"{fname} is not a checkpoint: {key!r} does not begin with 'arg:' or 'aux:'. Files of "
                f"save_parameters() are read with Block.load_parameters()."
            )
        if kind in kinds:
            kinds[kind][name] = array
        else:
            others.append(key)
    return kinds["arg"], kinds["aux"], others


def load_params(prefix: str, epoch: int) -> tuple[Arrays, Arrays]:
    """Parameters and auxiliary states of ``prefix-0007.params``.

    Args:
        epoch: number of the checkpoint, 7 in this example.

    Raises:
        FileNotFoundError: there is no such file.
        FileFormatError: it is truncated, corrupted or no checkpoint.
    """
    fname = params_name(prefix, epoch)
    arrays = load_arrays(fname)
    if not arrays:
        logging.warning("Params file '%s' is empty", fname)
        return {}, {}
    arg_params, aux_params, _ = split_parameters(arrays, fname)
    return arg_params, aux_params


def load_checkpoint(prefix: str, epoch: int) -> tuple[Symbol, Arrays, Arrays]:
    """Symbol, parameters and auxiliary states that ``save_checkpoint`` wrote.

    Args:
        prefix: path without ``-symbol.json`` and ``-0007.params``.
        epoch: number of the checkpoint, 7 in this example.

    Raises:
        FileNotFoundError: a file is missing.
        FileFormatError: a file is truncated, corrupted or of another kind.
    """
    symbol = load_symbol(f"{prefix}-symbol.json")
    arg_params, aux_params = load_params(prefix, epoch)
    return symbol, arg_params, aux_params
