"""Write ``installed.pyi``: array methods that no class body defines, for type checkers and editors.

Operators become methods when ``mixnet.ndarray`` is imported (``install`` in ``operators.py``,
``methods.py``, ``indexing.py`` and ``display.py``), so that each is declared once, in the
registry. Tools that read source do not see them there. This file says them again, and a test
compares the two::

    python -m mixnet.ndarray.build_installed
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mixnet.ndarray import ndarray
from mixnet.ndarray.ndarray import NDArray
from mixnet.ops.registry import OPERATORS

PATH = Path(__file__).with_name("installed.pyi")
_HEAD = '''\
"""What `install` gives arrays beside the body of `NDArray`.

Written by `python -m mixnet.ndarray.build_installed`.
"""

from typing import Any, Self

from mixnet.context import Context
from mixnet.ndarray.ndarray import NDArray

class Installed:
'''
_SAME_KIND = {
    f"__{prefix}{name}__"
    for prefix in ("", "r", "i")
    for name in ("add", "sub", "mul", "truediv", "mod", "pow", "div", "lt", "le", "gt", "ge")
}
_NAMES = {"NDArray", "Self", "bool", "str"}
_PROPERTIES = {"T": "NDArray", "ctx": "Context", "device": "Context"}


def text() -> str:
    """The expected content of the file."""
    return _HEAD + "".join(_declaration(name, each) for name, each in sorted(_installed()))


def _installed() -> Iterator[tuple[str, Any]]:
    """Attributes of the class that its body does not define, by name."""
    tree = ast.parse(inspect.getsource(ndarray))
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    (body,) = (each.body for each in classes if each.name == NDArray.__name__)
    written = {getattr(each, "name", "") for each in body}
    for name, each in vars(NDArray).items():
        is_alias = name.startswith("_") and name in OPERATORS  # a name for other faces
        is_method = inspect.isroutine(each) or isinstance(each, property)
        if name not in written and is_method and not is_alias:
            yield name, each


def _declaration(name: str, each: object) -> str:
    if isinstance(each, property):
        return f"    @property\n    def {name}(self) -> {_PROPERTIES[name]}: ...\n"
    if name in _SAME_KIND:
        return f"    def {name}(self, other: Any) -> Self: ...\n"
    if name in ("__eq__", "__ne__"):
        return f"    def {name}(self, other: object) -> Any: ...\n"
    if isinstance(each, classmethod):
        return f"    @classmethod\n    def {name}(cls, *args: Any, **kwargs: Any) -> Any: ...\n"
    if name.startswith("__"):
        return _special(name, each)
    sentence = (inspect.getdoc(each) or "").partition("\n")[0]
    docstring = f'\n        """{sentence}"""\n' if sentence else " ...\n"
    return f"    def {name}(self, *args: Any, **kwargs: Any) -> {_result(name, each)}:{docstring}"


def _result(name: str, method: Any) -> str:
    """The return type of a method: as annotated, or by the outputs of the operator that it calls."""
    declared = inspect.signature(method).return_annotation
    if declared is inspect.Signature.empty and name in OPERATORS:
        return "NDArray" if OPERATORS[name].has_one_output else "Any"
    return declared if declared in _NAMES else "Any"


def _special(name: str, each: Any) -> str:
    """A special method of Python, called with exactly the arguments that it declares."""
    arguments = [f"{name}: Any" for name in list(inspect.signature(each).parameters)[1:]]
    result = {"__getitem__": "Self", "__neg__": "Self", "__abs__": "Self", "__setitem__": "None",
              "__repr__": "str", "__str__": "str", "__hash__": "int"}  # fmt: skip
    listed = ", ".join(["self", *arguments])
    return f"    def {name}({listed}) -> {result.get(name) or _result(name, each)}: ...\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
