"""The garbage collector is paused while graphs are built, and always enabled again."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import pytest

import mixnet as mx
from mixnet.process import collector
from mixnet.process.collector import collector_paused
from tests.waiting import join


def test_nothing_is_collected_inside():
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the outer one still builds"
    assert gc.isenabled()


def test_an_error_inside_switches_it_on_again():
    with pytest.raises(KeyboardInterrupt), collector_paused():
        raise KeyboardInterrupt
    assert gc.isenabled()


def test_a_collector_that_the_program_switched_off_stays_off():
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_threads_may_build_at_the_same_time():
    inside, leave = threading.Event(), threading.Event()

    def build():
        with collector_paused():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=build)
    thread.start()
    inside.wait(10)
    with collector_paused():
        pass
    assert not gc.isenabled(), "the other thread still builds"
    leave.set()
    join(thread)
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_collects():
    with collector_paused():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not gc.isenabled()


def test_a_failing_block_leaves_the_collector_on():
    class Fails(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            assert not gc.isenabled()
            raise RuntimeError("from the block")

    net = Fails()
    net.hybridize()
    with pytest.raises(RuntimeError, match="from the block"):
        net(mx.nd.ones((2, 2)))
    assert gc.isenabled()


def test_nothing_is_collected_while_mixnet_is_imported() -> None:
    program = (
        "import gc\ncollections = []\n"
        "gc.callbacks.append(lambda phase, info: collections.append(info['generation']))\n"
        "import mixnet\nprint(collections.count(2), gc.isenabled())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.split() == ["0", "True"]


def test_it_is_on_after_one_thread_has_begun_while_another_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[threading.Thread] = []
    leave = threading.Event()

    def build() -> None:
        with collector_paused():
            leave.wait(60)

    class Collector:
        enabled = True

        def isenabled(self) -> bool:
            return self.enabled

        def disable(self) -> None:
            self.enabled = False

        def enable(self) -> None:
            self.enabled = True
            if not threads:
                threads.append(threading.Thread(target=build))
                threads[0].start()
                threads[0].join(0.1)

    fake = Collector()
    monkeypatch.setattr(collector, "gc", fake)
    with collector_paused():
        pass
    leave.set()
    join(*threads)
    assert fake.enabled
