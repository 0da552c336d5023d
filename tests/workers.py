"""``pytest --workers``: tests in several processes, forked from one that has collected them.

Each worker of pytest-xdist imports and collects everything itself, and reports each test in many messages.
Workers here begin with the tests that the first process has collected, and send one message for each test.
They run groups of tests in order, one after the other.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest

from mixnet.private_jax.ending import clients
from tests.waiting import SECONDS

GROUP = pytest.StashKey[str]()  # of an item: one worker runs all tests of a group

# Plugins that tell people or write files: the first process does that.
REPORTING = (
    "TerminalReporter", "TerminalProgressPlugin", "LFPlugin", "NFPlugin", "StepwisePlugin", "LogXML",
    "_Failures",
)  # fmt: skip


class Worker:
    """A forked process, as the process that collected the tests knows it."""

    def __init__(self, pid: int, connection: Connection) -> None:
        self.pid, self.connection = pid, connection
        self.ended = os.pidfd_open(pid)  # readable when the process has ended
        self.tests: deque[int] = deque()  # that have not been reported

    def close(self) -> None:
        self.connection.close()
        os.close(self.ended)

    def wait(self, seconds: float) -> int:
        """Its exit code, a negative number for a signal; a worker that takes longer is killed."""
        if not wait([self.ended], seconds):
            os.kill(self.pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Workers:
    """Runs a session's tests in ``number`` processes; a plugin of the one that has collected them."""

    def __init__(self, config: pytest.Config, number: int) -> None:
        self._config, self._number = config, number
        self._workers: list[Worker] = []
        self._groups: deque[list[int]] = deque()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """XLA's threads do not survive a fork: no module may compute when it is imported."""
        had_computed = bool(clients())
        report = yield
        if clients() and not had_computed and report.passed:
            report.outcome = "failed"
            report.longrepr = (
                f"{collector.nodeid} computes when it is imported, so the workers that are forked afterwards "
                "could not. Create its arrays in a fixture with scope='module' or in its tests."
            )
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.config.option.collectonly or session.testsfailed or not session.items:
            return None
        groups: dict[str, list[int]] = {}
        for number, item in enumerate(session.items):
            groups.setdefault(item.stash[GROUP], []).append(number)
        self._groups.extend(groups.values())
        for _ in range(min(self._number, len(groups))):
            connection = self._fork()
            if connection is not None:
                _WorkersTests(session, connection).run()
                return True
        try:
            for worker in self._workers:
                self._assign(worker)
            self._listen(session)
        finally:
            self._end()
        return True

    def _fork(self) -> Connection | None:
        """Start a worker; in the worker, its connection."""
        here, there = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with (
            warnings.catch_warnings()
        ):  # about threads of JAX, which do not exist yet, and of OpenBLAS
            warnings.simplefilter("ignore")
            pid = os.fork()
        if pid:
            there.close()
            self._workers.append(Worker(pid, here))
            return None
        here.close()
        for worker in self._workers:
            worker.close()  # or they would not notice that the first process has ended
        return there

    def _assign(self, worker: Worker) -> bool:
        """Send a worker the next group; whether there was one."""
        worker.tests.extend(self._groups.popleft() if self._groups else ())
        worker.connection.send(list(worker.tests))
        return bool(worker.tests)

    def _listen(self, session: pytest.Session) -> None:
        """Report tests and assign groups until all tests have run."""
        working = list(self._workers)
        while working:
            ready = wait([each for worker in working for each in (worker.connection, worker.ended)])
            for worker in working.copy():
                if worker.connection not in ready and worker.ended not in ready:
                    continue
                self._receive(session, worker)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
                if not worker.tests and not self._assign(worker):
                    working.remove(worker)

    def _receive(self, session: pytest.Session, worker: Worker) -> None:
        """What a worker sends after a test, or nothing more if it has ended."""
        item = session.items[worker.tests[0]]
        try:
            if (
                not worker.connection.poll()
            ):  # a process that the worker forked may hold the connection
                raise EOFError
            reports, warned = pickle.loads(worker.connection.recv_bytes())
        except (EOFError, OSError):
            self._workers.remove(worker)
            message = f"its worker ended with exit code {worker.wait(SECONDS)}"
            worker.close()
            self._report(
                item, [pytest.TestReport(item.nodeid, item.location, {}, "failed", message, "call")]
            )
            raise session.Interrupted(f"a worker ended in {item.nodeid}") from None
        hook = self._config.hook
        for each in warned:
            hook.pytest_warning_recorded.call_historic(kwargs=each)
        worker.tests.popleft()
        self._report(
            item,
            [
                hook.pytest_report_from_serializable(config=self._config, data=data)
                for data in reports
            ],
        )

    def _report(self, item: pytest.Item, reports: Sequence[pytest.TestReport]) -> None:
        hook = self._config.hook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for each in reports:
            hook.pytest_runtest_logreport(report=each)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _end(self) -> None:
        """Wait for the workers, which tear down what they share and end after the tests that they run."""
        until = time.monotonic() + SECONDS
        for worker in self._workers:
            worker.connection.close()
        codes = {
            worker.pid: worker.wait(max(0.0, until - time.monotonic())) for worker in self._workers
        }
        if any(codes.values()) and sys.exc_info()[0] is None:
            raise RuntimeError(
                f"workers ended with other exit codes than 0 after their tests: {codes}"
            )


class _WorkersTests:
    """Runs the tests that are assigned to a worker; a plugin of the forked process."""

    def __init__(self, session: pytest.Session, connection: Connection) -> None:
        self._session, self._connection = session, connection
        self._reports: list[dict[str, Any]] = []
        self._warnings: list[dict[str, Any]] = []

    def run(self) -> None:
        """Run groups of tests until an empty one comes, or the first process has ended."""
        self._separate()
        items = self._session.items
        try:
            while numbers := self._connection.recv():
                # After a group nothing stays but what belongs to the session, whatever the next group is.
                following = [*(items[number] for number in numbers[1:]), self._session]
                for number, each in zip(numbers, following, strict=True):
                    self._session.config.hook.pytest_runtest_protocol(
                        item=items[number], nextitem=each
                    )
                    self._connection.send_bytes(pickle.dumps((self._reports, self._warnings)))
                    self._reports.clear()
                    self._warnings.clear()
        except (EOFError, ConnectionError):
            pass
        self._session.testsfailed = 0  # reported: the exit code says whether the worker ended well

    def _separate(self) -> None:
        """Give the worker what it must not share: captured output, a temporary folder, no reports."""
        config = self._session.config
        manager = config.pluginmanager
        for plugin in manager.get_plugins():
            if type(plugin).__name__ in REPORTING:
                manager.unregister(plugin)
        manager.unregister(manager.get_plugin("workers"))
        manager.register(self, "workers")
        name = f"worker{os.getpid()}"
        config.workerinput = {"workerid": name}  # type: ignore[attr-defined]  # which plugins look for
        capture = manager.get_plugin("capturemanager")
        if capture is not None:
            capture.stop_global_capturing()
            capture.start_global_capturing()
            capture.suspend_global_capture()
        factory = config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp = factory.getbasetemp() / name
        factory._basetemp.mkdir()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self._session.config
        self._reports.append(
            config.hook.pytest_report_to_serializable(config=config, report=report)
        )

    def pytest_warning_recorded(
        self,
        warning_message: warnings.WarningMessage,
        when: str,
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        text = f"{warning_message.category.__name__}: {warning_message.message}"
        copy = warnings.WarningMessage(
            UserWarning(text), UserWarning, warning_message.filename, warning_message.lineno
        )
        self._warnings.append(
            {"warning_message": copy, "when": when, "nodeid": nodeid, "location": location}
        )
