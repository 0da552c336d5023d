"""A hanging test does not make a run wait forever."""

import sys
from pathlib import Path

from tests import processes

SHORT_LIMIT = """
from tests.conftest import Hangs

Hangs.SECONDS, Hangs.RENEWED = 1.0, 0.5

def pytest_configure(config):
    config.pluginmanager.register(Hangs())
"""
TESTS = """
import time

def test_short():
    pass

def test_that_never_ends():
    time.sleep(100)
"""


def test_a_test_that_hangs_ends_the_run_and_shows_where(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(SHORT_LIMIT)
    (tmp_path / "test_hanging.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", str(tmp_path)]
    done = processes.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 1
    assert "test_short PASSED" in done.stdout and "passed" not in done.stdout
    assert "Timeout" in done.stderr and "in test_that_never_ends" in done.stderr
