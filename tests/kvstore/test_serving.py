"""A server accepts connections again after the system had no room for one."""

from __future__ import annotations

import errno
import os
import socket
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from mixnet.kvstore import serving


class Ended(Exception):
    """What ends a server in a test."""


class Listener:
    """A listening socket whose calls have these outcomes."""

    def __init__(self, *outcomes: socket.socket | BaseException):
        self._outcomes = iter(outcomes)

    def accept(self) -> tuple[socket.socket, None]:
        outcome = next(self._outcomes)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome, None


def accept_all(monkeypatch: pytest.MonkeyPatch, *outcomes: Any) -> list[float]:
    """Accept connections until there are no more; returns the pauses between."""
    pauses: list[float] = []
    monkeypatch.setattr(serving, "time", SimpleNamespace(sleep=pauses.append))
    with pytest.raises(Ended):
        serving.Serving("")._accept(Listener(*outcomes, Ended()), None, b"")  # type: ignore[arg-type]
    return pauses


def test_a_server_without_room_for_connections_waits_and_reports_it_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    served, ours = threading.Event(), socket.socket()
    monkeypatch.setattr(serving, "_serve", lambda accepted, *_: served.set())
    full = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    with ours:
        pauses = accept_all(monkeypatch, full, full, full, ours)
        assert served.wait(60)
    assert len(pauses) == 3 and min(pauses) > 0
    assert capfd.readouterr().err.count("Too many open files") == 1


def test_a_server_outlives_that_it_can_start_no_thread(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def thread(**_: Any) -> threading.Thread:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(serving, "threading", SimpleNamespace(Thread=thread))
    ours = socket.socket()
    assert len(accept_all(monkeypatch, ours)) == 1
    assert ours.fileno() == -1  # the worker sees that its connection is closed, and tries again
    assert "can't start new thread" in capfd.readouterr().err
