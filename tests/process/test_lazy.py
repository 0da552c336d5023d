"""Names that modules import on first access."""

from __future__ import annotations

import fractions
import subprocess
import sys
from typing import Any

import pytest

from mixnet.process import lazy

SOURCES = {"parts": "fractions", "Fraction": "fractions:", "ratio": "fractions:Fraction"}


def module() -> dict[str, Any]:
    """The names of a module with hooks."""
    namespace: dict[str, Any] = {"__name__": "example", "__package__": "example", "own": 1}
    namespace["get"], namespace["names"] = lazy.names_later(namespace, SOURCES)
    return namespace


def test_a_name_stands_for_a_module_or_for_an_attribute_of_one() -> None:
    get = module()["get"]
    assert get("parts") is fractions
    assert get("Fraction") is get("ratio") is fractions.Fraction


def test_a_name_is_looked_up_once() -> None:
    namespace = module()
    assert "ratio" not in namespace
    value = namespace["get"]("ratio")
    assert namespace["ratio"] is value


def test_names_are_listed_before_they_are_imported() -> None:
    namespace = module()
    assert {"own", *SOURCES} <= set(namespace["names"]())
    assert {"own", *SOURCES} <= set(namespace["get"]("__all__"))
    assert not any(name.startswith("_") for name in namespace["get"]("__all__"))


def test_functions_are_called_after_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(lazy, "after_import", [lambda: calls.append("imported")])
    module()["get"]("parts")
    assert calls == ["imported"]


def test_an_unknown_name_is_an_error_with_a_similar_one() -> None:
    get = module()["get"]
    with pytest.raises(AttributeError, match=r"module 'example' has no attribute 'part'.*parts"):
        get("part")
    with pytest.raises(AttributeError, match=r"no attribute '__test__'\.$"):
        get("__test__")


def test_a_module_is_imported_when_an_attribute_is_read_or_set() -> None:
    """In a process of its own, where nothing else has imported the module."""
    program = """
import copy, pickle, sys
from types import ModuleType
from mixnet.process.lazy import ModuleOnUse

module = ModuleOnUse("colorsys")
assert isinstance(module, ModuleType) and module.__name__ == "colorsys"
assert "colorsys" not in sys.modules
assert module.rgb_to_hsv(1, 0, 0) == (0, 1, 1)
import colorsys
assert pickle.loads(pickle.dumps(module)) is colorsys
assert dir(module) == dir(colorsys) and repr(module) == repr(colorsys)
module.extra = 3
assert colorsys.extra == 3
del module.extra
assert not hasattr(colorsys, "extra")
try:
    module.missing
except AttributeError as error:
    assert "module 'colorsys' has no attribute 'missing'" in str(error)
else:
    raise AssertionError("no error")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_importing_the_package_makes_no_functions_of_operators() -> None:
    code = (
        "import mixnet, mixnet.ndarray.namespace as nd, mixnet.symbol.namespace as sym\n"
        "print(len(nd.OPERATORS._functions), len(sym.OPERATORS._functions))"
    )
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert all(int(each) < 20 for each in ran.stdout.split()), ran.stdout
