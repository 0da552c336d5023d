"""Objects in use can be visited while other threads add and drop objects."""

import threading

from mixnet.process.live_objects import LiveObjects
from tests.threads import frequent_switches
from tests.waiting import join


class Example:
    pass


def test_objects_are_listed_as_long_as_they_are_in_use():
    live = LiveObjects()
    examples = [Example(), Example()]
    for example in examples:
        live.add(example)
        live.add(example)
    assert set(live.all()) == set(examples)
    del example
    last = examples.pop()
    examples.clear()
    assert live.all() == [last]


def test_discarded_objects_are_not_listed():
    live, examples = LiveObjects(), [Example(), Example()]
    for example in examples:
        live.add(example)
    live.discard(examples[0])
    live.discard(examples[0])
    assert live.all() == [examples[1]]


def test_equal_objects_are_different_objects():
    class Equal(dict):
        pass

    live, examples = LiveObjects(), [Equal(), Equal()]
    for example in examples:
        live.add(example)
    assert len(live.all()) == 2


def test_all_can_be_called_while_another_thread_adds():
    live: LiveObjects[Example] = LiveObjects()
    stop = threading.Event()

    def add_and_drop():
        while not stop.is_set():
            examples = [Example() for _ in range(20)]
            for example in examples:
                live.add(example)

    threads = [threading.Thread(target=add_and_drop) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        with frequent_switches():
            for _ in range(3000):
                assert all(isinstance(example, Example) for example in live.all())
    finally:
        stop.set()
        for thread in threads:
            join(thread)
