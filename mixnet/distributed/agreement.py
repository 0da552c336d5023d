"""Agreement: all processes of a job make the same exchanges in the same order, checked before they run.

Exchanges must be called in the same order by all processes: otherwise one adds unrelated arrays, waits
forever, or ends the process. So each exchange has a description. If one description follows another that it
did not follow the last time, the processes ask the scheduler whether all of them have called the same. A
training loop repeats itself: after its first iterations no message is sent, except where something else
comes between, such as a barrier after an epoch. All processes have the same history until they differ, so
they expect the same next exchange, and a process that calls another one asks.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mixnet.base import MXNetError

if TYPE_CHECKING:
    from mixnet.runtime.value.value import Spec

LONGEST_TEXT = 600  # characters of a description that an error shows
_LONGEST_LINE = 300  # characters of a file's path and line, which it shows as well
_REMEMBERED = 4096  # exchanges that another process may still ask about


@dataclass(frozen=True)
class Description:
    """Describes one exchange, in the same words in all processes.

    Args:
        text: such as ``sum of 'weight' (3, 4) float32``.
    """

    text: str

    @property
    def digest(self) -> int:
        """A number for the whole text."""
        return zlib.crc32(self.text.encode())

    def message(self, number: int, line: str | None = None) -> dict[str, Any]:
        """The message sent to the scheduler.

        Args:
            number: of the exchange.
            line: ``file:line`` of the program that called it, which may differ between processes.
        """
        return {"number": number, "digest": self.digest, "text": self.called_at(line)}

    def called_at(self, line: str | None) -> str:
        """The text and the line that called the exchange, shortened."""
        return self.text[:LONGEST_TEXT] + (f" at {line[-_LONGEST_LINE:]}" if line else "")


@lru_cache(maxsize=4096)
def described(
    name: str, labels: tuple[Any, ...], specs: tuple[Spec, ...], purpose: str
) -> Description:
    """The description of an exchange of arrays.

    Args:
        name: of the operation.
        labels: of the arrays, such as their keys; or none.
        specs: of the arrays.
        purpose: the end of the text.
    """
    keys = [f"{label!r} " for label in labels] or [""] * len(specs)
    parts = [f"{key}{spec.shape} {spec.dtype.name}" for key, spec in zip(keys, specs, strict=True)]
    return Description(f"{name} of {', '.join(parts)}{purpose}")


class DisagreementError(MXNetError):
    """The workers of a job called different exchanges. The text names the line of each."""

    names_lines = True


class Agreement:
    """One process's record of the order of exchanges.

    Args:
        say: sends a message to the scheduler.
    """

    def __init__(self, say: Callable[..., None]):
        self._say = say
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self.count = 0  # of exchanges that were noted
        self.begun = 0  # the number of the last one that has begun
        self._previous = ""
        self._successors: dict[str, str] = {}  # of each text, the one that followed it last
        # By number, those that were not asked about, with the lines that called them.
        self._descriptions: dict[int, tuple[Description, str | None]] = {}
        self._requested: set[int] = set()  # by others, not reached here yet
        self._agreed: set[int] = set()
        self._unsaid: deque[dict[str, Any]] = deque()  # questions on their way to the scheduler
        self.difference: DisagreementError | None = None

    def note(self, description: Description, line: str | None = None) -> int:
        """Record the next exchange of this process. ``speak`` sends it, once the caller holds no lock.

        Args:
            description: of the exchange.
            line: ``file:line`` of the program that calls it.

        Returns:
            its number for ``wait``; 0 if there is nothing to wait for.
        """
        with self._lock:
            self.count += 1
            number, previous = self.count, self._previous
            self._previous = description.text
            is_expected = self._successors.get(previous) == description.text
            if is_expected:
                is_requested = self._take(number, description, line)
            else:
                self._successors[previous] = description.text
            if not is_expected or is_requested:
                self._unsaid.append(description.message(number, line))
        return 0 if is_expected else number

    def speak(self) -> None:
        """Send the recorded questions. May wait for the network."""
        while self._unsaid:
            try:
                message = self._unsaid.popleft()
            except IndexError:  # another thread was faster
                return
            self._say(ask=message)

    def _take(self, number: int, description: Description, line: str | None) -> bool:
        """Record an exchange without asking about it; returns whether others ask about it."""
        self._descriptions[number] = description, line
        self._descriptions.pop(number - _REMEMBERED, None)
        return number in self._requested

    def wait(self, number: int, is_over: Callable[[], bool]) -> None:
        """Wait until all processes have reached the same exchange, or ``is_over``.

        Raises:
            DisagreementError: they have not.
        """
        self.speak()  # the thread that noted them may have been interrupted
        if not number and self.difference is None:
            return
        with self._lock:
            while number and number not in self._agreed and not is_over():
                if self.difference is not None:
                    break
                self._changed.wait(1)
            self._agreed.discard(number)
            if self.difference is not None:
                raise self.difference

    def hear(self, message: dict[str, Any]) -> None:
        """Process a message from the scheduler."""
        answer = None
        with self._lock:
            if "agreed" in message:
                self._agreed.add(message["agreed"])
            if "asked" in message:
                number = message["asked"]
                self._requested.add(number)
                if number in self._descriptions:
                    description, line = self._descriptions[number]
                    answer = description.message(number, line)
            # The first difference explains all later ones.
            if "differ" in message and self.difference is None:
                self.difference = DisagreementError(_difference(message["differ"]))
            self._changed.notify_all()
        if answer is not None:
            self._say(ask=answer)

    def end(self, error: DisagreementError) -> None:
        """Fail all exchanges with this error, unless there is one already."""
        with self._lock:
            self.difference = self.difference or error
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake all waiting threads, so that they check again whether it is over."""
        with self._lock:
            self._changed.notify_all()


def _difference(texts: dict[str, str]) -> str:
    parts = "; ".join(f"rank {rank}: {text}" for rank, text in sorted(texts.items()))
    return (
        f"The workers come to different exchanges, which cannot be added up. {parts}. Push the same "
        f"keys, of the same shapes and dtypes, in the same order in all workers (keys of one call may "
        f"be in any order), give all of them as many batches, and their optimizers the same settings."
    )


class Questions:
    """The scheduler's record of the exchanges that processes asked about.

    Args:
        workers: how many there are.
    """

    def __init__(self, workers: int):
        self._workers = workers
        self._open: dict[int, dict[int, dict[str, Any]]] = {}

    def ask(self, rank: int, message: dict[str, Any]) -> dict[str, Any]:
        """The answer for all workers to a question of one; empty while some questions are missing.

        Raises:
            KeyError: no question is in the message.
        """
        number = int(message["number"])
        messages = self._open.setdefault(number, {})
        messages[rank] = message
        first = min(self._open)  # a difference after an open question may be a consequence of it
        texts = {str(rank): str(each["text"]) for rank, each in self._open[first].items()}
        if len({each["digest"] for each in self._open[first].values()}) > 1:
            return {"differ": texts}
        if len(messages) < self._workers:
            return {"asked": number} if len(messages) == 1 else {}
        if len({each["digest"] for each in messages.values()}) > 1:
            return {}
        del self._open[number]
        later = min(self._open, default=number)
        others = self._open.get(later, {})
        if len({each["digest"] for each in others.values()}) > 1:
            return {"differ": {str(rank): str(each["text"]) for rank, each in others.items()}}
        return {"agreed": number}
