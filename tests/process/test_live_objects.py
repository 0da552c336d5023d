"""Objects in use can be visited while other threads add and drop objects."""

import sys
import threading

import pytest

from mixnet.process.live_objects import LiveObjects
from tests.waiting import join


class Thing:
    pass


@pytest.fixture
def frequent_switches():
    """Threads take turns after every few lines."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_objects_are_listed_as_long_as_they_are_in_use():
    live = LiveObjects()
    things = [Thing(), Thing()]
    for member in things:
        live.add(member)
        live.add(member)
    assert set(live.all()) == set(things)
    del member
    last = things.pop()
    things.clear()
    assert live.all() == [last]


def test_discarded_objects_are_not_listed():
    live, things = LiveObjects(), [Thing(), Thing()]
    for member in things:
        live.add(member)
    live.discard(things[0])
    live.discard(things[0])
    assert live.all() == [things[1]]


def test_equal_objects_are_different_objects():
    class Equal(dict):
        pass

    live, things = LiveObjects(), [Equal(), Equal()]
    for member in things:
        live.add(member)
    assert len(live.all()) == 2


def test_all_can_be_called_while_another_thread_adds(frequent_switches):
    live: LiveObjects[Thing] = LiveObjects()
    stop = threading.Event()

    def add_and_drop():
        while not stop.is_set():
            things = [Thing() for _ in range(20)]
            for member in things:
                live.add(member)

    threads = [threading.Thread(target=add_and_drop) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3000):
            assert all(isinstance(member, Thing) for member in live.all())
    finally:
        stop.set()
        join(*threads)
