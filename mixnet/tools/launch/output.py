"""The output of a process, line by line; of a command that starts all workers, by rank."""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import IO

from mixnet.tools.launch.plan import Process

_LAST_LINES = 20


def blocks(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Lines that came together, such as those of one traceback."""
    begun = b""
    while piece := os.read(stream.fileno(), 1 << 16):
        *lines, begun = (begun + piece).split(b"\n")
        if lines:
            yield lines
    if begun:
        yield [begun]


class Growing:
    """A file that another machine may write, read line by line as it grows.

    Args:
        path: it need not exist yet.
    """

    def __init__(self, path: str):
        self._path, self._place, self._begun = path, 0, b""

    def lines(self) -> list[bytes]:
        """The lines that have come since the last call."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._place)
                piece = file.read()
        except OSError:
            return []
        self._place += len(piece)
        *lines, self._begun = (self._begun + piece).split(b"\n")
        return lines

    def rest(self) -> list[bytes]:
        """All that is left, at the end."""
        lines, begun = self.lines(), self._begun
        self._begun = b""
        return [*lines, begun] if begun else lines


class Output:
    """Assigns lines to processes, and remembers the last ones of each.

    Args:
        process: that prints them.
    """

    def __init__(self, process: Process):
        self._process = process
        self._tag = re.compile(process.tag) if process.tag else None
        self._exit_of = re.compile(process.exit_of) if process.exit_of else None
        self._parts: dict[str, tuple[str, str]] = {}  # name and what has come of a line, by tag
        self._last: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=_LAST_LINES))
        self.codes: dict[str, int] = {}  # exit codes that the command reports of workers

    def lines(self, raw: Iterable[bytes]) -> Iterator[tuple[str, str]]:
        """Lines with the name of their process."""
        for each in raw:
            for name, line in self._complete(each.decode(errors="replace")):
                self._last[name].append(line)
                yield name, line

    def lines_of(self, rank: int, raw: Iterable[bytes]) -> list[tuple[str, str]]:
        """Lines of a worker that has a file of its own, with its name."""
        name = f"rank {rank}"
        named = [(name, each.decode(errors="replace")) for each in raw]
        self._last[name].extend(line for _, line in named)
        return named

    def rest(self) -> Iterator[tuple[str, str]]:
        """Unfinished lines, at the end of the output."""
        for name, line in self._parts.values():
            self._last[name].append(line)
            yield name, line

    def last(self, name: str) -> list[str]:
        """The last lines of a process."""
        return list(self._last.get(name, ()))

    def _complete(self, line: str) -> list[tuple[str, str]]:
        """The lines that this one completes: mpirun puts the pieces of several workers into one."""
        tags = list(self._tag.finditer(line)) if self._tag is not None else []
        if not tags:
            if self._exit_of is not None and (match := self._exit_of.search(line)):
                rank = int(match["rank"]) - self._process.first
                self.codes.setdefault(f"rank {rank}", int(match["code"]))
            return [(self._process.name, line)]
        complete = [(self._process.name, line[: tags[0].start()])] if tags[0].start() else []
        ends = [*(each.start() for each in tags[1:]), len(line)]
        for tag, end in zip(tags, ends, strict=True):
            _, begun = self._parts.get(tag[0], ("", ""))
            self._parts[tag[0]] = f"rank {tag[1]}", begun + line[tag.end() : end]
        return [*complete, self._parts.pop(tags[-1][0])]
