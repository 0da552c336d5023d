"""The end of an exchange, and those that wait for it."""

from __future__ import annotations

import threading

import pytest

from mixnet.distributed.turns import Turn
from tests.waiting import join


def test_waiters_go_on_once_the_task_has_ended() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def done(error: BaseException | None) -> None:
        begun.set()
        may_end.wait(60)

    turn = Turn(iter(()), lambda: None)
    turn.done = done
    thread = threading.Thread(target=turn.run)
    thread.start()
    assert begun.wait(60)
    assert not turn.wait(0.05)
    may_end.set()
    join(thread)
    assert turn.wait(0)


def test_waiters_go_on_if_ending_the_task_fails() -> None:
    def done(error: BaseException | None) -> None:
        raise ValueError("the end")

    turn = Turn(iter(()), lambda: None)
    turn.done = done
    with pytest.raises(ValueError, match="the end"):
        turn.run()
    assert turn.wait(0)
