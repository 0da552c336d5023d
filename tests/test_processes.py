"""Forked processes of the process server behave like newly started ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import isolation, processes
from tests.waiting import next_line

DESCRIBE = """
import os, sys
loaded = sorted({"numpy", "jax", "mixnet"} & set(sys.modules))
import mixnet as mx
print(loaded, os.getppid(), sys.argv, __name__, os.getcwd(), sys.path[0], sys.stdin.read())
print((mx.nd.ones((3,)) * 2).sum().asscalar(), os.environ.get("MXNET_ENGINE_TYPE"))
"""


@pytest.fixture(autouse=True)
def _servers() -> None:
    """Both servers run."""
    for variable in (None, "NaiveEngine"):
        for _ in range(2):
            _own({} if variable is None else {"MXNET_ENGINE_TYPE": variable}, "-c", "pass")


def _own(variables: dict[str, str], *arguments: str, input: str = "") -> list[str]:
    done = processes.run(
        [sys.executable, *arguments], env={**os.environ, **variables}, input=input,
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_program_gets_what_it_would_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = _own({}, "-c", DESCRIBE, "a", "b", input="in")
    loaded = "['jax', 'mixnet', 'numpy']"
    assert printed == [
        f"{loaded} {os.getpid()} ['-c', 'a', 'b'] __main__ {tmp_path}  in", "6.0 None"
    ]  # fmt: skip
    program = tmp_path / "program.py"
    program.write_text(DESCRIBE)
    printed = _own({}, str(program), "a")
    assert printed == [
        f"{loaded} {os.getpid()} ['{program}', 'a'] __main__ {tmp_path} {tmp_path} ", "6.0 None"
    ]  # fmt: skip
    assert _own({}, "-m", "json.tool", input="[]") == ["[]"]


def test_settings_that_are_read_at_import_are_read(tmp_path: Path) -> None:
    printed = _own({"MXNET_ENGINE_TYPE": "NaiveEngine"}, "-c", DESCRIBE)
    assert printed[0].startswith("['jax', 'numpy']") and printed[1] == "6.0 NaiveEngine"
    printed = _own({"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}, "-c", DESCRIBE)
    assert printed[0].startswith("[] ")


def test_an_import_that_changes_the_library_path_disables_no_server() -> None:
    """The end of a test, in which OpenCV may have been imported, restores it."""
    initial = os.environ.get(isolation.LIBRARY_PATH)
    os.environ[isolation.LIBRARY_PATH] = "/folder/of/a/package"
    assert _own({}, "-c", DESCRIBE)[0].startswith("[] ")
    isolation.restore_library_path()
    assert os.environ.get(isolation.LIBRARY_PATH) == initial
    assert _own({}, "-c", DESCRIBE)[0].startswith("['jax', 'mixnet', 'numpy']")


def test_an_import_of_scikit_learn_disables_no_server() -> None:
    imported = {"KMP_DUPLICATE_LIB_OK": "True", "KMP_INIT_AT_FORK": "FALSE"}
    assert _own(imported, "-c", DESCRIBE)[0].startswith("['jax', 'mixnet', 'numpy']")


def test_a_server_imports_with_the_variables_of_its_kind() -> None:
    server = processes._Server.start(("numpy", "jax"), {"JAX_LOG_COMPILES": "1"})
    try:
        assert server.serves({**os.environ, "JAX_LOG_COMPILES": "1"})
        assert not server.serves(os.environ)
    finally:
        server.end()


def test_settings_of_the_test_that_needs_a_server_first_are_not_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    initial = dict(os.environ)
    monkeypatch.setenv("JAX_LOG_COMPILES", "1")
    server = processes._Server.start(("numpy", "jax"), {})
    try:
        assert server.serves(initial) and not server.serves(os.environ)
    finally:
        server.end()


def test_options_of_python_and_setup_functions_start_a_fresh_process() -> None:
    assert _own({}, "-W", "ignore", "-c", DESCRIBE)[0].startswith("[] ")
    done = processes.Popen(
        [sys.executable, "-c", DESCRIBE],
        preexec_fn=lambda: None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert done.communicate(timeout=240)[0].startswith("[] ")


def test_errors_and_exit_codes() -> None:
    def end(program: str) -> tuple[int, str]:
        done = processes.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stderr

    assert end("import sys; sys.exit(5)") == (5, "")
    assert end("import os; os._exit(6)") == (6, "")
    assert end("\nraise ValueError('no')") == (
        1, 'Traceback (most recent call last):\n  File "<string>", line 2, in <module>\nValueError: no\n'
    )  # fmt: skip
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=1)


def test_signals_and_pipes() -> None:
    program = "import atexit, time\natexit.register(print, 'end')\nprint('here', flush=True)\ntime.sleep(60)"
    for number, rest in ((signal.SIGINT, "end\n"), (signal.SIGTERM, ""), (signal.SIGKILL, "")):
        process = processes.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        with process:
            assert next_line(process) == "here\n"
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            assert (process.returncode, out) == (-number, rest)
            assert ("KeyboardInterrupt" in err) == (number == signal.SIGINT)


def test_a_process_leads_its_group_before_its_number_is_known() -> None:
    """Who interrupts its group, as Jupyter does, would otherwise interrupt the tests."""
    for _ in range(20):
        process = processes.Popen(
            [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
        )
        try:
            assert os.getpgid(process.pid) == os.getsid(process.pid) == process.pid
        finally:
            process.kill()
            process.wait(60)


@pytest.mark.skipif(
    not isolation.null_is_a_device(),
    reason=f"workers would read {os.devnull}, a file here; as root: mknod null c 1 3; mv null {os.devnull}",
)
def test_a_launcher_forks_its_workers(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os\n" + DESCRIBE + "print(os.environ['DMLC_ROLE'], os.getsid(0) == os.getpid())\n"
    )
    launch = ["-m", "mixnet.tools.launch", "--launcher", "local", "-n", "2"]
    lines = _own({}, *launch, sys.executable, str(program))
    for rank in range(2):
        printed = [each for each in lines if each.startswith(f"[rank {rank}] ")]
        assert len(printed) == 3, lines
        first, second, third = printed
        assert "['jax', 'mixnet', 'numpy']" in first and str(os.getpid()) not in first.split()
        assert second.endswith("6.0 None") and third.endswith("worker True")


def test_unbuffered_output_is_written_immediately() -> None:
    program = "import sys, time\nprint(*{'mixnet'} & {*sys.modules}, end='!')\ntime.sleep(60)"
    process = processes.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
    )
    with process:
        try:
            assert process.stdout is not None and process.stdout.read(7) == b"mixnet!"
        finally:
            process.kill()
