"""The thread that sends a board's state to its page: rate-limited, and always the latest state."""

from __future__ import annotations

import threading
import time
from typing import Any

from mixnet.widgets import live

IDLE = 2.0  # seconds without news after which the thread ends; the next news start another
BYTES = 2e6  # a second, about, that a page gets
LINES = 2.0  # seconds between two lines of text, where there is no live view


class Sender:
    """Publishes a board after news, at most ``rate`` times a second."""

    def __init__(self, board: Any, rate: float):
        self._board, self._pause = board, 1 / rate
        self._news = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._last_sent = 0.0

    def wake(self) -> None:
        """There are news."""
        self._news.set()
        with self._lock:  # a thread that ends has looked for news in it, or is none any more
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mixnet board", daemon=True)
                self._thread.start()

    def finish(self) -> None:
        """Send now what is there: it is the last."""
        self._board._publish()
        self._board._renew_picture()
        if not live.available():
            print(self._board.summary())

    def _run(self) -> None:
        while True:
            if self._news.wait(IDLE):
                self._news.clear()
                self._board._publish()
                self._tell()
                # Images are sent whole each time: many of them more seldom.
                time.sleep(max(self._pause, self._board._weight() / BYTES))
                continue
            with self._lock:
                if self._news.is_set():
                    continue
                self._thread = None
            # A loop that says nothing for so long does not run any more: its last values may be read.
            if not self._board.running:
                self._board._publish(wait=True)
            self._board._renew_picture()
            return

    def _tell(self) -> None:
        now = time.monotonic()
        if self._board.running and now - self._last_sent >= LINES and not live.available():
            self._last_sent = now
            print(self._board.summary())
