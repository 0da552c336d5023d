"""Every test starts from the same random state."""

from __future__ import annotations

import asyncio
import atexit
import faulthandler
import functools
import gc
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import jax
import pytest
from jaxlib import xla_client

import mixnet as mx
from mixnet.ops.tracing import trace_cache
from mixnet.runtime.interpret import patience
from mixnet.runtime.programs import executable_cache
from tests import compilation, isolation, processes

trace_cache.use(None)  # tests use only their own traces, not those of earlier runs

TESTS = Path(__file__).parent

# Two runs try the same examples, however busy the machine is; --hypothesis-profile=default tries others.
hypothesis.settings.register_profile(
    "same examples", derandomize=True, database=None, deadline=None, print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)  # fmt: skip
hypothesis.settings.load_profile("same examples")

# nbformat reads notebooks through jsonschema, which builds the grammars of addresses, three seconds in each
# worker, wherever their package is installed. No notebook has an address to be checked.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# A shell's background jobs ignore Ctrl-C, and hand that on to what they start: tests of interrupts
# would wait.
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONGEST_FOLDER = 40  # characters; programs add up to 60


def pytest_configure(config: pytest.Config) -> None:
    """Workers take the tests in our order, and programs are compiled quickly."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = (
            False  # xdist would run groups of one test, such as notebooks, last
        )
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Failures(config), "failures-at-once")
    config.pluginmanager.register(Hangs(), "hangs")
    _compile_quickly()
    # The default context of arrays in tests, such as gpu(0).
    context = os.environ.get("MIXNET_TEST_CONTEXT")
    if context:
        mx.test_utils.set_default_context(mx.context.as_context(context))
        if context.startswith("cpu"):
            jax.config.update("jax_default_device", "cpu")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Temporary files of tests, and of the programs that they start, are removed when the run has ended."""
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # which pytest keeps for a while
    folder, process = tempfile.mkdtemp(prefix="mixnet-tests-", dir=_short_folder()), os.getpid()
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    processes.start_servers_in(os.environ)

    @atexit.register
    def _remove() -> None:
        if os.getpid() == process:  # not a forked one
            shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> str:
    """Where temporary files go: Chromium has a socket there, whose path Linux limits to 107 characters."""
    usual = tempfile.gettempdir()
    return "/tmp" if len(usual) > LONGEST_FOLDER and os.access("/tmp", os.W_OK) else usual


class _Failures:
    """Prints a failure when it happens, so that a run that is stopped early has printed it, too."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._start = time.monotonic()

    @pytest.hookimpl(trylast=True)  # after the letter of the test
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = str(crash.message if crash is not None else report.longrepr).partition("\n")[
                0
            ]
            times = f"{time.monotonic() - self._start:.0f} s, took {report.duration:.0f} s"
            terminal.write(f"\n{report.when} of {report.nodeid} after {times}: {message[:300]}\n")


class Hangs:
    """A test that hangs ends its worker, and the run with it, after all threads' stacks were printed.

    pytest's own ``faulthandler_timeout`` starts a thread for every test and waits until it has ended: on busy
    cores, milliseconds each. One thread watches many tests here.
    """

    SECONDS = 1500.0 if os.environ.get("MIXNET_TEST_COURSE") else 420.0  # at least, for each test
    RENEWED = 30.0

    def __init__(self) -> None:
        self._stderr = os.dup(2)  # while pytest captures nothing
        self._start = -self.RENEWED

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, nextitem: pytest.Item | None) -> Iterator[None]:
        now = time.monotonic()
        if now - self._start >= self.RENEWED:
            self._start = now
            limit = self.SECONDS + self.RENEWED
            faulthandler.dump_traceback_later(limit, exit=True, file=self._stderr)
        result = yield
        if nextitem is None:  # a worker may wait long for the others' last tests
            faulthandler.cancel_dump_traceback_later()
        return result

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._stderr)


def _compile_quickly() -> None:
    """XLA reads its variable once, here; processes that tests start have the flags that users have.

    Kernels of most notebooks are an exception. With MIXNET_TEST_OPTIMIZED all have the flags of users, as in
    ``make jax-range``.
    """
    usual, flags = os.environ.get("XLA_FLAGS"), compilation.xla_flags()
    if flags is None:
        return
    os.environ["XLA_FLAGS"] = flags
    xla_client.CompileOptions()
    if usual is None:
        del os.environ["XLA_FLAGS"]
    else:
        os.environ["XLA_FLAGS"] = usual


# Folders whose tests wait for browsers, kernels, jobs and other processes, in order of their duration.
LONGEST = ("ui", "notebooks", "examples", "distributed", "fuzz", "docs")
# Folders that one worker runs, as all their files read the same syntax trees.
TOGETHER = ("architecture",)


def _group(item: pytest.Item) -> str:
    """What one worker runs: tests that share a server, a long test alone, a file or a folder."""
    mark = item.get_closest_marker("xdist_group")
    if mark is not None:
        return str(mark.args[0])
    if item.get_closest_marker("spread") is not None:
        return item.nodeid
    place = _place(item.path)
    folder = place.partition("/")[0]
    return folder if folder in TOGETHER else place


@functools.cache
def _place(path: Path) -> str:
    """A file below the folder of tests, without its ending."""
    return path.relative_to(TESTS).with_suffix("").as_posix()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One worker runs a file: what its tests share is made once, not once in each worker.

    Workers take groups in the order of the tests. The longest start first; otherwise one worker might still
    run one when the others have finished.
    """
    if not hasattr(config, "workerinput"):
        return
    groups = {item: _group(item) for item in items}
    for item, group in groups.items():
        if group != item.nodeid and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))
    sizes = Counter(groups.values())

    def start(item: pytest.Item) -> tuple[int, int]:
        folder, size = _place(item.path).partition("/")[0], sizes[groups[item]]
        if folder in LONGEST:
            return LONGEST.index(folder), size  # there, tests that stand alone are long
        if item.get_closest_marker("spread") is not None:
            # Long too: at the end of the run the other workers would wait for it.
            return len(LONGEST), 0
        return len(LONGEST) + 1, -size

    items.sort(key=start)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers more than cores: tests of pages, servers and other processes wait most of their time.

    With one more, two cores have nothing to do in a sixth of the time.
    """
    return int(os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS", (os.cpu_count() or 1) + 2))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    """Collecting makes millions of objects, none of them garbage: Python's collector looks for none.

    Later it leaves out what the modules and the tests are made of, as it would go through all of it in
    every ``gc.collect()`` of a test, and seldom starts by itself: with Python's thresholds it took a tenth
    of the tests' processor time, nearly all of it to go through what JAX keeps of its traces. After 10,000
    tests that would be seconds in each ``gc.collect()``, so what is left is set aside now and then, too.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        isolation.set_garbage_aside()
        gc.set_threshold(10_000, 10, 20)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> None:
    """What several tests share is the same, whichever of them needs it first."""
    if fixturedef.scope != "function":
        isolation.begin_shared()


@pytest.fixture
def no_running_loop():
    """For tests with loops of their own: a browser test of the same process leaves one running."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)


@pytest.fixture
def compiling_at_once():
    """For tests of compiled programs: every new one is compiled before it runs."""
    executable_cache.clear()
    with patience.compiling_at_once():
        yield
    executable_cache.clear()


@pytest.fixture(autouse=True)
def _isolated():
    isolation.begin()
    yield
    isolation.end()
