"""``mx.numpy_op_signature``: find the function of ``mx.np`` or ``mx.npx`` with an operator's name."""

from __future__ import annotations

from typing import Any

from mixnet import numpy as mx_np
from mixnet import numpy_extension as mx_npx
from mixnet.base import AttributeValueError

_NP_OP_SUBMODULE_LIST = ["_random_", "_linalg_"]
_NP_EXT_OP_SUBMODULE_LIST = ["_image_", "_random_"]
_ROOMS: tuple[tuple[str, Any, list[str]], ...] = (
    ("_np_", mx_np, _NP_OP_SUBMODULE_LIST),
    ("_npx_", mx_npx, _NP_EXT_OP_SUBMODULE_LIST),
)


def _get_op_submodule_name(op_name: str, op_name_prefix: str, submodule_name_list: Any) -> str:
    """``_linalg_`` of ``_np__linalg_svd``; empty for operators of the module itself."""
    rest = op_name.removeprefix(op_name_prefix)
    return next((each for each in submodule_name_list if rest.startswith(each)), "")


def _get_builtin_op(op_name: str) -> Any:
    """The function that stands for an operator, None where neither module has its prefix.

    Raises:
        ValueError: the module has the prefix, but no such function.
    """
    for prefix, module, submodules in _ROOMS:
        if not op_name.startswith(prefix):
            continue
        submodule = _get_op_submodule_name(op_name, prefix, submodules)
        where = getattr(module, submodule.strip("_")) if submodule else module
        name = op_name[len(prefix) + len(submodule) :]
        operator = getattr(where, name, None)
        if operator is None:
            raise AttributeValueError(f"Cannot find operator {name} in module {where.__name__}.")
        return operator
    return None
