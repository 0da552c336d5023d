"""``--workers``: what forked workers report is what one process would."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import processes

CONFTEST = """
import pytest
from tests.conftest import pytest_addoption, pytest_sessionstart
from tests.workers import GROUP, Workers

def pytest_configure(config):
    if number := int(config.getoption("workers")):
        config.pluginmanager.register(Workers(config, number), "workers")

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        item.stash[GROUP] = item.path.stem

@pytest.fixture(scope="session")
def shared():
    yield
    import os
    print("torn down by", os.getpid(), file=open("ends.txt", "a"))

@pytest.fixture(scope="module")
def of_module(shared):
    yield
    print("module", file=open("ends.txt", "a"))
"""

ORDINARY = """
import os, sys, warnings
import pytest

def test_passes(shared, of_module, tmp_path):
    print(os.getpid(), file=open("workers.txt", "a"))

def test_fails(shared, of_module):
    print("printed by the test")
    os.system("echo printed by a program")
    assert [1] == [2]

@pytest.mark.skip(reason="not today")
def test_skipped(): pass

@pytest.mark.xfail
def test_expected(): assert 0

@pytest.mark.filterwarnings("default")
def test_warns(): warnings.warn("careful", FutureWarning)

@pytest.fixture
def broken():
    yield
    raise ValueError("while torn down")

def test_with_error(broken): pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def run(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "."]
    return processes.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def summary(output: str) -> str:
    return re.sub(r" in [\d.]+s", "", output.rstrip().rpartition("\n")[2])


def test_reports_are_those_of_one_process(folder: Path) -> None:
    for name in "abcd":
        (folder / f"test_{name}.py").write_text(ORDINARY)
    alone = run(folder, "-q", "-rA", "--workers", "0")
    forked = run(folder, "-q", "-rA", "--workers", "3")
    assert alone.returncode == forked.returncode == 1
    assert summary(forked.stdout) == summary(alone.stdout)
    assert summary(alone.stdout).startswith("4 failed, 12 passed, 4 skipped, 4 xfailed, 4 warnings")
    kinds = ("PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL")
    for line in (each for each in alone.stdout.splitlines() if each.startswith(kinds)):
        assert line in forked.stdout
    for part in ("printed by the test", "printed by a program", "FutureWarning: careful"):
        assert forked.stdout.count(part) >= 4


def test_what_belongs_to_the_session_is_shared_and_torn_down_once_in_each_worker(
    folder: Path,
) -> None:
    for name in "abcd":
        (folder / f"test_{name}.py").write_text(ORDINARY)
    run(folder, "--workers", "2")
    workers = set((folder / "workers.txt").read_text().split())
    ends = (folder / "ends.txt").read_text().splitlines()
    assert len(workers) == 2 and ends.count("module") == 4
    assert sorted(each for each in ends if each != "module") == sorted(
        f"torn down by {each}" for each in workers
    )


def test_a_worker_that_ends_fails_its_test_and_ends_the_run(folder: Path) -> None:
    code = "import os\ndef test_a(): pass\ndef test_b(): os.{}\ndef test_c(): pass\n"
    for death, number in (("_exit(3)", 3), ("kill(os.getpid(), 9)", -9)):
        (folder / "test_death.py").write_text(code.format(death))
        done = run(folder, "--workers", "2")
        assert done.returncode == 2
        assert f"its worker ended with exit code {number}" in done.stdout
        assert "FAILED test_death.py::test_b" in done.stdout
        assert "1 failed, 1 passed" in done.stdout


def test_the_first_failure_ends_the_run_where_that_is_wanted(folder: Path) -> None:
    (folder / "test_failures.py").write_text("def test_a(): assert 0\ntest_b = test_c = test_a\n")
    done = run(folder, "--workers", "2", "-x")
    assert done.returncode == 1 and "1 failed" in done.stdout


def test_an_error_after_the_last_test_is_one(folder: Path) -> None:
    code = "import atexit, os\ndef test_a(): atexit.register(os._exit, 7)\n"
    (folder / "test_end.py").write_text(code)
    done = run(folder, "--workers", "1")
    assert done.returncode != 0 and "other exit codes than 0" in done.stdout + done.stderr


def test_ctrl_c_ends_the_workers_too(folder: Path) -> None:
    code = """
import os, signal, time
def test_a(shared):
    os.killpg(0, signal.SIGINT)  # as a terminal does
    time.sleep(60)
"""
    for name in "ab":
        (folder / f"test_{name}.py").write_text(code)
    start = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--workers", "2", "."]
    done = processes.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, start_new_session=True
    )
    assert done.returncode == 2 and "KeyboardInterrupt" in done.stdout
    assert time.monotonic() - start < 60
    assert (folder / "ends.txt").read_text().count("torn down by") >= 1


def test_modules_that_compute_are_refused(folder: Path) -> None:
    code = "import mixnet as mx\nX = mx.nd.ones(2).asnumpy()\ndef test_a(): pass\n"
    (folder / "test_computing.py").write_text(code)
    done = run(folder, "--workers", "2")
    assert done.returncode == 2
    assert "test_computing.py computes when it is imported" in done.stdout


@pytest.mark.parametrize("number", [0, 2])
def test_temporary_files_are_removed(folder: Path, number: int) -> None:
    code = """
import subprocess, sys, tempfile
def test_a():
    program = "import tempfile; print(tempfile.mkdtemp())"
    print(tempfile.mkdtemp(), file=open("folders.txt", "a"))
    subprocess.run([sys.executable, "-c", program], stdout=open("folders.txt", "a"), check=True)
"""
    for name in "ab":
        (folder / f"test_{name}.py").write_text(code)
    assert run(folder, "--workers", str(number)).returncode == 0
    folders = [Path(line) for line in (folder / "folders.txt").read_text().splitlines()]
    assert len(set(folders)) == 4 and not any(each.exists() for each in folders)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers=some"], "neither 'auto' nor a number"),
        (["--workers=2", "-n2"], "exclude each other"),
    ],
)
def test_wrong_options(options: list[str], message: str) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", *options, "tests/test_units.py"]
    folder = Path(__file__).parents[1]
    done = processes.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 4 and message in done.stderr
