"""The arrays of an ONNX file: which of them become parameters of the network, and under which names."""

from __future__ import annotations

import numpy as np

from mixnet import symbol as sym
from mixnet.onnx.load.specs import Specs
from mixnet.symbol.symbol import Symbol


class Arrays:
    """Arrays of a file and those computed from them, and the parameters that the network has so far.

    A graph shares it with its bodies: parameters have one name in all of them.

    Args:
        specs: where shapes and dtypes of parameters are noted.
    """

    def __init__(self, specs: Specs):
        self._specs = specs
        self.used: dict[str, np.ndarray] = {}
        """Parameters by name."""
        self.constants: set[str] = set()
        """Names of used arrays that are numbers of the program, such as scales and masks: not trained."""
        self._names: dict[int, str] = {}
        self._stored: set[int] = set()
        """Identities of arrays of the file, and of those computed from them; readers make all others."""
        self._referenced: list[np.ndarray] = []
        """Every array that is known by its identity, which must not pass to another one."""
        self._symbols: dict[str, Symbol] = {}

    def named(self, array: np.ndarray, name: str) -> np.ndarray:
        """An array of the file, which becomes a parameter of that name if it is used."""
        self._names[id(array)] = name
        return self.stored(array)

    def stored(self, array: np.ndarray) -> np.ndarray:
        """An array of the file or one computed from such; training may change it."""
        self._stored.add(id(array))
        self._referenced.append(array)
        return array

    def is_stored(self, value: object) -> bool:
        """Whether a value is an array of the file or computed from such."""
        return id(value) in self._stored

    def may_be_weights(self, value: np.ndarray) -> bool:
        """Whether a constant may be weights, of floats or of a byte each; other integers are extents."""
        if not self.is_stored(value) or not value.ndim:
            return False
        return _is_trained(value) or value.dtype in (np.int8, np.uint8)

    def symbol(self, array: np.ndarray, scope: str) -> Symbol:
        """The variable of an array, which is a parameter from now on.

        Args:
            array: of the file or made by a reader.
            scope: the node that needs it; an array without a name is named after that.
        """
        name = self._names.get(id(array))
        if name is None:
            number = 0
            while f"{scope}_constant{number}" in self.used:
                number += 1
            name = f"{scope}_constant{number}"
            self._names[id(array)] = name
            self._referenced.append(array)
        if name not in self.used:
            content = array.reshape(1) if array.ndim == 0 else array  # a symbol's arrays have axes
            self.used[name] = content
            if not self.is_stored(array) or not _is_trained(array):
                self.constants.add(name)
            variable = sym.Variable(name, shape=content.shape, dtype=content.dtype)
            self._symbols[name] = variable
            self._specs.note(variable._heads[0], content.shape, content.dtype)
        return self._symbols[name]


def _is_trained(array: np.ndarray) -> bool:
    """Whether an array of a file is one that training changes.

    Files do not tell weights from other numbers. Exporters write a program's own numbers, as the scale
    of attention, without axes, and masks with an infinity, of which an update would make NaN.
    """
    if array.dtype.kind != "f" and "float" not in array.dtype.name:  # bfloat16 is of kind V
        return False
    return array.ndim > 0 and bool(np.isfinite(array).all())
