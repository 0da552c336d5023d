"""Names that modules import on first access."""

from __future__ import annotations

import fractions
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
