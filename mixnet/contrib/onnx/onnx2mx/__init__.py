"""Reading ONNX files, which mixnet does not do yet."""

from __future__ import annotations

from typing import Any, NoReturn

from mixnet.base import MXNetError


def _refuse(name: str) -> NoReturn:
    raise MXNetError(
        f"{name}: reading ONNX files is not part of mixnet yet. MXNet 1.9.1 reads them, and "
        f"mx.model.save_checkpoint there writes files that mx.model.load_checkpoint here loads."
    )


def import_model(model_file: str) -> Any:
    """A symbol and its parameters from an ONNX file.

    Raises:
        MXNetError: always.
    """
    _refuse("import_model")


def get_model_metadata(model_file: str) -> Any:
    """Names and shapes of inputs and outputs of an ONNX file.

    Raises:
        MXNetError: always.
    """
    _refuse("get_model_metadata")


def import_to_gluon(model_file: str, ctx: Any) -> Any:
    """A ``SymbolBlock`` from an ONNX file.

    Raises:
        MXNetError: always.
    """
    _refuse("import_to_gluon")
