"""Runs workers, watches them, and stores findings as files that can be replayed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.formats import find
from tests.fuzz.worker import Loader

ROOT = Path(__file__).parents[2]
FINDINGS = ROOT / "build" / "fuzz"
SEED = 20
HANGS = 30.0  # seconds that no file may take
_START = 120.0  # seconds to import and to load the valid files
_STRETCH = 20_000  # mutations of one process


Work = tuple[str, int, int]
"""A format, and the first and the end of the numbers of its mutations."""


@dataclass(frozen=True)
class Finding:
    """A mutation that did not load as it should."""

    format: str
    seed: int
    number: int
    problem: str
    path: Path | None

    def __str__(self) -> str:
        replay = f"\nreplay: python -m tests.fuzz --replay {self.path}" if self.path else ""
        return f"{self.format}, seed {self.seed}, mutation {self.number}: {self.problem}{replay}"


def run(names: Sequence[str], count: int, seed: int = SEED, most: int = 100) -> list[Finding]:
    """Load mutations of some formats.

    Args:
        names: of the formats.
        count: mutations of each.
        seed: of the mutations.
        most: findings to stop at.
    """
    results: list[Finding] = []
    work: list[Work] = [(name, 0, count) for name in names]
    while work and len(results) < most:
        now, work = _stretch(work)
        problems, left = _in_process(now, seed)
        results += [_stored(name, seed, number, problem) for name, number, problem in problems]
        work = [*left, *work]
    return results


def _stretch(work: Sequence[Work]) -> tuple[list[Work], list[Work]]:
    """Mutations for one process, and the rest."""
    now: list[Work] = []
    room = _STRETCH
    for place, (name, begin, end) in enumerate(work):
        cut = min(end, begin + room)
        now.append((name, begin, cut))
        room -= cut - begin
        if cut < end:
            return now, [(name, cut, end), *work[place + 1 :]]
        if not room:
            return now, list(work[place + 1 :])
    return now, []


def _in_process(work: Sequence[Work], seed: int) -> tuple[list[tuple[str, int, str]], list[Work]]:
    """Findings of one process, and the mutations that it did not reach."""
    with tempfile.TemporaryDirectory() as folder:
        progress, findings, errors = (Path(folder) / each for each in ("at", "found", "said"))
        for each in (progress, findings, errors):
            each.touch()
        options = {"seed": seed, "work": work, "progress": str(progress), "findings": str(findings)}
        command = [sys.executable, "-m", "tests.fuzz.worker", json.dumps(options)]
        with errors.open("w") as log:
            worker = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
            at, since = b"", time.monotonic()
            while worker.poll() is None:
                time.sleep(0.05)
                now = progress.read_bytes()
                if now != at:
                    at, since = now, time.monotonic()
                elif time.monotonic() - since > (HANGS if at else _START):
                    worker.kill()
                    worker.wait(30)
        at = progress.read_bytes()
        text = errors.read_text(errors="replace")[-3000:]
        rows = [json.loads(line) for line in findings.read_text().splitlines()]
    problems = [(row["format"], row["number"], row["problem"]) for row in rows]
    code = worker.returncode
    if not code:
        return problems, []
    if not at or code > 0:
        raise RuntimeError(f"{work[0][0]} and others: the valid files do not load.\n{text}")
    step, number = map(int, at.split())
    reason = f"ended by signal {-code}" if code != -9 else f"no answer in {HANGS:g} s, or killed"
    name, _, end = work[step]
    problems.append((name, number, f"{reason}\n{text}"))
    return problems, [(name, number + 1, end), *work[step + 1 :]]


def _stored(name: str, seed: int, number: int, problem: str) -> Finding:
    """The finding, with its file."""
    with tempfile.TemporaryDirectory() as folder:
        path, content = Loader(find(name), Path(folder)).mutation(seed, number)
        stored = FINDINGS / name / f"{number}.{path.name}"
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_bytes(content)
    return Finding(name, seed, number, problem, stored)


def replay(path: Path) -> str | None:
    """Load a stored file in this process; returns what is wrong, or None."""
    name = path.parent.name
    original = path.name.partition(".")[2]
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    try:
        loader = Loader(find(name), folder)
        target = next(each for each in loader.files if each.name == original)
        return loader.load(target, path.read_bytes())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
