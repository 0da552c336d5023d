"""Pythons that mixnet refuses, and when threads take turns."""

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


def test_turns_are_prompt_within_a_scope() -> None:
    before = sys.getswitchinterval()
    with interpreter.prompt_turns():
        assert sys.getswitchinterval() == pytest.approx(min(before, interpreter.PROMPT))
    assert sys.getswitchinterval() == pytest.approx(before)
    with pytest.raises(KeyError), interpreter.prompt_turns():
        raise KeyError
    assert sys.getswitchinterval() == pytest.approx(before)
