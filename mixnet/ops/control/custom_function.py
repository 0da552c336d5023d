"""The node of an ``autograd.Function`` in a symbol: its outputs are known, its Python code is not."""

from __future__ import annotations

from typing import Any

from mixnet.base import MXNetError
from mixnet.ops.registry import op


@op(
    "_CustomFunction",
    outputs=lambda results: len(results) or 1,
    num_args=None,
    differentiable=False,
    calls_python=True,
)
def custom_function(*data, results: tuple = ()):
    """A call of an ``autograd.Function`` that ``autograd.get_symbol`` came across. It has no value.

    Args:
        data: its inputs.
        results: shape and dtype of each of its outputs.

    Raises:
        MXNetError: always, as a symbol has no Python code.

    Source: MXNet operator ``_CustomFunction``.
    """
    raise _no_code()


@custom_function.infer_outputs
def _(*inputs: Any, results: tuple) -> list[Any]:
    if not results:
        raise _no_code()
    return list(results)


@custom_function.infer_dtypes
def _(known: Any, results: tuple) -> tuple[list[Any], list[Any]]:
    return [None] * len(known), [dtype for _, dtype in results]


def _no_code() -> MXNetError:
    return MXNetError(
        "A symbol that was made of a recorded autograd.Function has no Python code, so it "
        "cannot run. Write the function as a mx.operator.CustomOp, or run what comes before and after it."
    )
