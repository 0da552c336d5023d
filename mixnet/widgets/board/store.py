"""The storage of logged values: pending values are read when they have been computed."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mixnet.ndarray.ndarray import NDArray
from mixnet.runtime.value.counters import counters
from mixnet.runtime.value.memory import live_bytes
from mixnet.units import how_many
from mixnet.widgets.board.data import Series, histogram, image, number, ready

EVENTS, IMAGES, HISTOGRAMS = 100, 12, 40
_SAMPLE = 0.25  # seconds between two samples of memory and throughput


class Store:
    """Curves, histograms, images and events of one board; for any thread."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.step = 0
        self.times = 0  # calls of log
        self.bad: dict[str, Any] | None = None  # the first value that was not finite
        self._series: dict[str, Series] = {}
        # Name, step, array, and a number that no other has.
        self._histograms: dict[str, tuple[str, int, Any, int]] = {}
        self._images: deque[tuple[str, int, Any, int]] = deque(maxlen=IMAGES)
        self._numbers = itertools.count()
        self._events: deque[dict[str, Any]] = deque(maxlen=EVENTS)
        self._speed, self._memory = Series("throughput"), Series("memory")
        self._unit = "steps/s"
        self._pending: deque[tuple[int, str, Any, int]] = deque()  # the last: `times` when it came
        self._reading = threading.RLock()  # values are added in the order in which they were logged
        self._drawn: dict[int, dict[str, Any]] = {}  # of histograms and images, made once
        self._compiled = counters()["programs_compiled"]
        self._last = self._since = time.monotonic()
        self._counted = 0  # steps that were computed at the last sample
        self._paused_since: float | None = None  # since when the loop stands still

    def log(self, step: int | None, values: dict[str, Any]) -> None:
        """A step: values as :func:`mixnet.widgets.board.data.held` gives them."""
        compiled = counters()["programs_compiled"]
        with self.lock:
            now = time.monotonic()
            if not self.times:
                self._since, self._counted = now, 1
            self._last = now
            before, self.step = self.step, self.step + 1 if step is None else int(step)
            # More values of the same step are not another step: the speed counts it once.
            self.times += not self.times or self.step != before
            self._pending += [(self.step, name, each, self.times) for name, each in values.items()]
            if compiled > self._compiled:
                more = compiled - self._compiled
                self.event("compile", f"{how_many(more, 'program')} compiled")
            self._compiled = compiled

    def event(self, kind: str, text: str) -> None:
        """A line of the list of events."""
        with self.lock:
            self._events.append({"step": self.step, "kind": kind, "text": text})

    def histogram(self, name: str, array: object) -> None:
        """The newest array of a name."""
        with self.lock:
            self._histograms.pop(name, None)
            self._histograms[name] = (name, self.step, array, next(self._numbers))
            while len(self._histograms) > HISTOGRAMS:
                self._histograms.pop(next(iter(self._histograms)))

    def image(self, name: str, array: object) -> None:
        """One more image."""
        with self.lock:
            self._images.append((name, self.step, array, next(self._numbers)))

    def silence(self) -> float:
        """Seconds since the last call of :meth:`log`."""
        return time.monotonic() - self._last

    def hold(self) -> None:
        """The loop stands still from here: until :meth:`clock` no time passes for the throughput."""
        with self.lock:
            self._paused_since = time.monotonic()

    def clock(self) -> None:
        """The throughput is counted from here: the loop was paused."""
        with self.lock:
            self._since, self._counted = time.monotonic(), self._computed()[0]
            self._paused_since = None

    def _computed(self) -> tuple[int, int]:
        """How many steps have all values computed, and the step at work: a loop records ahead."""
        for step, _, value, came in self._pending:
            if not ready(value):
                return came - 1, step
        return self.times, self.step

    def sample(self, batch_size: int | None, at_once: bool = False) -> None:
        """Note memory and throughput, if it is time (or ``at_once``, if there is none yet)."""
        with self._reading, self.lock:
            now = self._paused_since or time.monotonic()
            computed, step = self._computed()
            passed, steps = now - self._since, computed - self._counted
            first = at_once and not self._speed.points
            if steps <= 0 or passed <= 0 or not (passed >= _SAMPLE or first):
                return
            self._unit = "samples/s" if batch_size else "steps/s"
            self._speed.add(step, steps * (batch_size or 1) / passed)
            self._since, self._counted = now, computed
        size = live_bytes()
        with self.lock:
            self._memory.add(step, float(size))

    def drain(self, wait: bool, computed: Callable[[], None] = lambda: None) -> None:
        """Add to the curves what is computed; with ``wait`` all, which may run what is pending.

        Args:
            wait: for values that are pending.
            computed: called after each of these.
        """
        problem = self._wait_for_all(computed) if wait else None
        with self._reading:
            with self.lock:
                pending, self._pending = list(self._pending), deque()
            late: set[str] = set()
            rest: list[tuple[int, str, Any, int]] = []
            error: Exception | None = None
            for step, name, value, came in pending:
                if error is None and name not in late and (wait or ready(value)):
                    try:
                        self._add(step, name, number(value))
                    except Exception as raised:  # what should have been computed failed
                        error = raised
                elif error is None:
                    late.add(name)
                    rest.append((step, name, value, came))
            with self.lock:
                self._pending.extendleft(reversed(rest))
            error = error or problem
            if error is not None:
                raise error

    def _wait_for_all(self, computed: Callable[[], None]) -> Exception | None:
        """Wait for all values; the error of the first that could not be computed.

        Without a lock: a loop may have recorded many steps ahead, and meanwhile another thread draws those
        that are computed.
        """
        with self.lock:
            values = [value for _, _, value, _ in self._pending]
        for value in values:
            try:
                number(value)
            except Exception as error:
                return error
            computed()
        return None

    def _add(self, step: int, name: str, value: float) -> None:
        with self.lock:
            if name not in self._series:
                self._series[name] = Series(name)
            self._series[name].add(step, value)
            if not math.isfinite(value) and self.bad is None:
                self.bad = {"name": name, "step": step}
                text = "NaN" if math.isnan(value) else "infinite"
                self._events.append({"step": step, "kind": "nan", "text": f"{name} is {text}"})

    def to_dict(self, wait: bool) -> dict[str, Any]:
        """Plain data: the columns of the payload. With ``wait`` pending arrays are run for it."""
        with self.lock:
            spread, images = list(self._histograms.values()), list(self._images)
        known, self._drawn = self._drawn, {}
        shown = [_drawn(histogram, spread, known, wait), _drawn(image, images, known, wait)]
        with self.lock:
            self._drawn = {**shown[0], **shown[1]}
            speed, memory = self._speed.to_dict(), self._memory.to_dict()
            return {
                "step": self.step,
                "nan": self.bad,
                "series": [series.to_dict() for series in self._series.values()],
                "throughput": {"unit": self._unit, "step": speed["step"], "value": speed["value"]},
                "memory": {"step": memory["step"], "value": memory["value"]},
                "hist": list(shown[0].values()),
                "images": list(shown[1].values()),
                "events": list(self._events),
            }


def _drawn(
    make: Callable[[str, int, np.ndarray], dict[str, Any]],
    entries: list[tuple[str, int, Any, int]],
    known: dict[int, dict[str, Any]],
    wait: bool,
) -> dict[int, dict[str, Any]]:
    """Histograms or images to send, by their numbers; those that are pending are sent later."""
    drawn = {}
    for name, step, array, place in entries:
        if place in known:
            drawn[place] = known[place]
        elif not isinstance(array, NDArray):
            drawn[place] = make(name, step, array)
        elif wait or ready([array]):
            drawn[place] = make(name, step, array.asnumpy())
    return drawn
