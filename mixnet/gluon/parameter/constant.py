"""Constant: a parameter that is not learned."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from mixnet import initializer
from mixnet.gluon.parameter.parameter import Parameter
from mixnet.ndarray.create import array
from mixnet.ndarray.ndarray import NDArray
from mixnet.numpy.creation import array as np_array
from mixnet.symbol.symbol import Symbol
from mixnet.util import is_np_array, set_module

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@set_module("mixnet.gluon.parameter")
class Constant(Parameter):
    """A parameter that is not learned.

    Args:
        name: its name.
        value: an array or numbers.
    """

    def __init__(self, name: str, value: ArrayLike):
        if not isinstance(value, NDArray):
            value = np_array(value) if is_np_array() else array(value)
        self.value = value
        super().__init__(
            name,
            grad_req="null",
            shape=value.shape,
            dtype=value.dtype,
            init=initializer.Constant(value),
        )

    def __repr__(self) -> str:
        return f"Constant {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def grad_req(self) -> str:
        """Always ``null``; another request is ignored with a warning."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warnings.warn(
                f'Constant parameter "{self.name}" does not support grad_req other than "null", '
                f'and new value "{req}" is ignored.',
                stacklevel=2,
            )

    def var(self) -> Symbol:
        """A symbol variable for the constant, without its value as an attribute."""
        if self._var is None:
            init, self.init = self.init, None
            try:
                super().var()
            finally:
                self.init = init
        return super().var()
