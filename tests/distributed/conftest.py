"""What several tests of jobs need."""

from __future__ import annotations

import subprocess

import pytest

from tests import processes


@pytest.fixture
def forked_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that the library itself starts need not import mixnet in each of their processes."""
    monkeypatch.setattr(subprocess, "Popen", processes.Popen)
