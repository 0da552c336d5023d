"""``import_stablehlo``: a StableHLO program as a block."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mixnet.base import NotDefinedError
from mixnet.gluon.block.symbol_block import SymbolBlock
from mixnet.symbol.symbol import Variable

if TYPE_CHECKING:
    from mixnet.context import Context


class ProgramBlock(SymbolBlock):
    """A block around a StableHLO program."""

    def export(
        self,
        path: str,
        epoch: int = 0,
        remove_amp_cast: bool = True,
        format: str = "mxnet",
        **options: object,
    ) -> tuple[str, ...]:
        """Export in the format ``stablehlo``; a symbol file cannot contain the program.

        Raises:
            NotDefinedError: another format is requested.
        """
        if format != "stablehlo":
            raise NotDefinedError(
                f"export: this block is a StableHLO program, which format {format!r} cannot hold. Use "
                f"format='stablehlo', or the file that it was loaded from."
            )
        return super().export(path, epoch, remove_amp_cast, format, **options)


def import_stablehlo(
    path: str | os.PathLike[str],
    ctx: Context | Sequence[Context] | None = None,
    params: str | os.PathLike[str] | None = None,
) -> SymbolBlock:
    """Create a block from a file written by ``export(format="stablehlo")`` or ``jax.export``.

    It predicts, and can be trained if the program has a gradient and takes its parameters as arguments.

    Args:
        path: of the program.
        ctx: a device, or a list, for the parameters; the current one by default.
        params: file of the parameters, if the first argument of the program's function is a dict of them;
            by default the safetensors file with the same name beside it. No other file is read.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: a file is truncated, damaged or of another format, or they do not go together.
    """
    from mixnet.export.program import load_stablehlo  # slow to import

    loaded = load_stablehlo(path, params)
    block = ProgramBlock(loaded.symbol, [Variable(name) for name in loaded.input_names])
    block._set_values(loaded.params, ctx)
    return block
