"""Pythons that mixnet refuses."""

from __future__ import annotations

import sys

import pytest

from mixnet.process import interpreter


def test_python_without_its_lock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(ImportError, match="PYTHON_GIL=1"):
        interpreter.check()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    interpreter.check()
    monkeypatch.delattr(sys, "_is_gil_enabled")
    interpreter.check()
