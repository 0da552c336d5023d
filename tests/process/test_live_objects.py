"""Objects in use can be visited while other threads add and drop objects."""

import sys
import threading

import pytest

from mixnet.process.live_objects import LiveObjects


class Item:
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
    objects = [Item(), Item()]
    for each in objects:
        live.add(each)
        live.add(each)
    assert set(live.all()) == set(objects)
    del each  # it refers to the last one
    last = objects.pop()
    objects.clear()
    assert live.all() == [last]


def test_discarded_objects_are_not_listed():
    live, objects = LiveObjects(), [Item(), Item()]
    for each in objects:
        live.add(each)
    live.discard(objects[0])
    live.discard(objects[0])
    assert live.all() == [objects[1]]


def test_equal_objects_are_different_objects():
    class Equal(dict):
        pass

    live, objects = LiveObjects(), [Equal(), Equal()]
    for each in objects:
        live.add(each)
    assert len(live.all()) == 2


def test_all_can_be_called_while_another_thread_adds(frequent_switches):
    live: LiveObjects[Item] = LiveObjects()
    stop = threading.Event()

    def add_and_drop():
        while not stop.is_set():
            objects = [Item() for _ in range(20)]
            for each in objects:
                live.add(each)

    threads = [threading.Thread(target=add_and_drop) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3000):
            assert all(isinstance(each, Item) for each in live.all())
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=60)
