"""Start the processes of a job, prefix their output, and end all of them if one fails."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from mixnet.distributed.job import EXIT_LOST
from mixnet.tools.launch.output import Growing, Output, blocks
from mixnet.tools.launch.plan import LaunchError, Process

GRACE = 5.0  # seconds for others to say why they end
OTHERS = 3.0  # seconds for the scheduler and servers to end after the workers
NAMES = 1.0  # seconds for the scheduler to name the worker that was lost
LOGS = 1.0  # seconds for the last lines in files of other machines to be seen here
TERM = 10.0  # seconds between asking a process to end and ending it
_OF_TERMINALS = (signal.SIGHUP, signal.SIGQUIT)  # at their end, and at Ctrl-\
_RESTARTS = 20  # of servers, in one job
_LOST_MEANING = "the others lost it; was it stopped, its machine switched off, or the network cut?"
_LOST = re.compile(r"mixnet scheduler: (rank \d+) \(")
_SILENT = re.compile(r"mixnet scheduler: (rank \d+) \(.*\) (?:has not answered|cannot be reached)")


@dataclass
class Running:
    """A process that was started."""

    process: Process
    handle: subprocess.Popen[bytes]
    output: Output
    readers: tuple[threading.Thread, ...] = ()
    ended: float = 0.0  # when, by time.monotonic

    @property
    def code(self) -> int | None:
        """Its exit code, as a shell has it; None while it runs."""
        status = self.handle.poll()
        if status is not None and not self.ended:
            self.ended = time.monotonic()
        return status if status is None or status >= 0 else 128 - status


class Supervisor:
    """Runs processes to their end.

    Args:
        out: where their output goes, each line marked with the name of its process.
    """

    def __init__(self, out: IO[str] | None = None):
        self.out = out or sys.stdout
        self.running: list[Running] = []
        self.signal = 0  # that ended the launcher
        self._restarts = 0
        self._printing = threading.Lock()

    def run(self, processes: Sequence[Process]) -> int:
        """Start processes and wait for the workers; the exit code of the job.

        That of the worker that failed first, 128 and the number of the signal where one killed it.

        Raises:
            LaunchError: a program does not exist.
        """
        # A launcher that was started with nohup, or by a script in the background, ignores them.
        heard = [each for each in _OF_TERMINALS if signal.getsignal(each) is not signal.SIG_IGN]
        before = {
            number: signal.signal(number, self._interrupt)
            for number in (signal.SIGINT, signal.SIGTERM, *heard)
        }
        try:
            for process in processes:
                self.running.append(self._start(process))
            failed = self._wait()
            name = self._name(failed) if failed is not None else ""
            is_lost = failed is not None and failed.code is None
        finally:
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)
        if self.signal:
            self._say(
                f"mixnet-launch: ended by {signal.Signals(self.signal).name}, and all processes with it."
            )
            return 128 + self.signal
        if failed is None:
            return 0
        code = failed.output.codes.get(name) or failed.code or 1
        if is_lost:
            code = EXIT_LOST
        for line in _report(failed, name, _LOST_MEANING if is_lost else _meaning(code)):
            self._say(line)
        return code

    def _start(self, process: Process) -> Running:
        try:
            # In a session of its own: signals of the terminal reach the launcher alone, which ends
            # them all, and their own children too.
            handle = subprocess.Popen(
                process.command,
                env={**os.environ, **process.environment, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE if process.holds_stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            program = process.command[0]
            hint = f" Start it with Python: python {program}" if program.endswith(".py") else ""
            raise LaunchError(
                f"{process.name} cannot be started: {program}: {error.strerror}.{hint}"
            ) from None
        started = Running(process, handle, Output(process))
        work = (self._read, self._follow) if process.logs else (self._read,)
        started.readers = tuple(
            threading.Thread(target=each, args=(started,), daemon=True) for each in work
        )
        for reader in started.readers:
            reader.start()
        return started

    def _read(self, running: Running) -> None:
        assert running.handle.stdout is not None
        output = running.output
        for block in blocks(running.handle.stdout):
            self._say(*(f"[{name}] {line}" for name, line in output.lines(block)))
        self._say(*(f"[{name}] {line}" for name, line in output.rest()))

    def _follow(self, running: Running) -> None:
        """Print what workers write to files, until a while after their end."""
        files = [Growing(path) for path in running.process.logs]
        while not running.ended or time.monotonic() < running.ended + LOGS:
            for rank, file in enumerate(files):
                self._say_of(running, rank, file.lines())
            time.sleep(0.2)
        for rank, file in enumerate(files):
            self._say_of(running, rank, file.rest())

    def _say_of(self, running: Running, rank: int, raw: Sequence[bytes]) -> None:
        self._say(*(f"[{name}] {line}" for name, line in running.output.lines_of(rank, raw)))

    def _say(self, *lines: str) -> None:
        """Print lines; none of other processes come between them."""
        if lines:
            with self._printing:
                print("\n".join(lines), file=self.out, flush=True)

    def _interrupt(self, number: int, frame: object) -> None:
        self.signal = number

    def _wait(self) -> Running | None:
        """Until all workers have ended, or one failed; which failed first."""
        workers = [each for each in self.running if each.process.is_worker]
        while not self.signal:
            codes = [each.code for each in workers]
            if any(codes):
                return self._first(workers)
            if all(code == 0 for code in codes):
                self._let_end(OTHERS, [each for each in self.running if not each.process.is_worker])
                return None
            self._start_again()
            scheduler = self.running[0]
            if not scheduler.process.is_worker and scheduler.code:
                self._let_end(GRACE, workers, except_silent=True)
                return self._first([*workers, scheduler])
            time.sleep(0.05)
        return None

    def _start_again(self) -> None:
        """Start servers that were killed: they go on from their databases."""
        for place, each in enumerate(self.running):
            if each.process.comes_back and each.code and self._restarts < _RESTARTS:
                self._restarts += 1
                self._say(
                    f"mixnet-launch: {each.process.name} ended ({_meaning(each.code)}); starts again"
                )
                self.running[place] = self._start(each.process)

    def _first(self, candidates: Sequence[Running]) -> Running:
        """Of those that failed the first one that did so by itself."""
        self._let_end(GRACE, candidates, except_silent=True)
        failed = [each for each in candidates if each.code]
        by_themselves = [each for each in failed if not _is_of_another(each.code)]
        # The scheduler ended because of it.
        of_all = [each for each in failed if each.process.starts_all]
        if not any(each.process.is_worker for each in (*by_themselves, *of_all)):
            # What the others have lost may seem to run: its machine cannot be reached.
            names = self._lost()
            unreachable = [
                each for each in candidates if each.code is None and each.process.name in names
            ]
            failed = unreachable or failed
            by_themselves = [] if unreachable else by_themselves
        return min(of_all or by_themselves or failed, key=lambda each: each.ended)

    def _name(self, failed: Running) -> str:
        """Which process that was; of several workers that one command started, the scheduler knows."""
        if not failed.process.starts_all:
            return failed.process.name
        self._let_end(NAMES, [self.running[0]])
        _read_all(failed)
        codes = failed.output.codes
        lost = self._lost()
        causes = [name for name, code in codes.items() if not _is_of_another(code)]
        return [*lost, *causes, failed.process.name][0]

    def _lost(self, pattern: re.Pattern[str] = _LOST) -> list[str]:
        """The worker that the scheduler says was lost, if it does."""
        _read_all(self.running[0])
        lines = self.running[0].output.last("scheduler")
        return [match[1] for line in lines if (match := pattern.match(line))]

    def _let_end(
        self, seconds: float, processes: Sequence[Running], except_silent: bool = False
    ) -> None:
        """Wait until processes have ended; not for those of which the scheduler says that they are silent."""
        end = time.monotonic() + seconds
        while not self.signal and time.monotonic() < end:
            silent = self._lost(_SILENT) if except_silent else []
            if all(each.code is not None or each.process.name in silent for each in processes):
                return
            time.sleep(0.05)

    def _end_all(self) -> None:
        """End what runs: by SIGTERM to each one's session, after a while by SIGKILL."""
        workers = [each for each in self.running if each.process.is_worker]
        others = [each for each in self.running if not each.process.is_worker]
        # JAX aborts a worker whose scheduler has ended, even while it saves its state.
        for group, number in itertools.product((workers, others), (signal.SIGTERM, signal.SIGKILL)):
            left = [each for each in group if each.code is None]
            for each in left:
                self._end(each, number)
            end = time.monotonic() + TERM
            while any(each.code is None for each in left) and time.monotonic() < end:
                time.sleep(0.02)
        for each in self.running:
            for reader in each.readers:
                reader.join(LOGS + 1)

    def _end(self, running: Running, number: signal.Signals) -> None:
        handle = running.handle
        if handle.stdin is not None:
            handle.stdin.close()
            # Its connection is needed for what the program prints until its end.
            if number == signal.SIGTERM and running.process.name not in self._lost():
                return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(handle.pid, number)
            os.killpg(handle.pid, signal.SIGCONT)  # a stopped one reacts to no SIGTERM


def _read_all(running: Running) -> None:
    """Wait until all that an ended process printed has been read, by a thread that may be late.

    Not for long: what it started may still hold its output open.
    """
    if running.code is not None:
        for reader in running.readers:
            reader.join(max(0.0, running.ended + LOGS - time.monotonic()))


def _report(failed: Running, name: str, meaning: str) -> list[str]:
    where = f" on {failed.process.host}" if failed.process.host else ""
    last = [f"    {line}" for line in failed.output.last(name)] or ["    (it printed nothing)"]
    return [f"mixnet-launch: {name}{where} failed first ({meaning}). Its last lines:", *last]


def _is_of_another(code: int | None) -> bool:
    """Whether a worker ended because another one had."""
    return code in (EXIT_LOST, 128 + signal.SIGABRT)


def _meaning(code: int) -> str:
    """The meaning of a shell's exit code."""
    if code > 128 and code - 128 in signal.Signals._value2member_map_:
        return f"killed by {signal.Signals(code - 128).name}"
    return f"exit code {code}"
