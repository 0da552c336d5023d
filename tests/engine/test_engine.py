"""The engines against the serial result: order, errors, waiting, threads, fork."""

from __future__ import annotations

import contextvars
import faulthandler
import gc
import os
import subprocess
import sys
import threading
import time
import tracemalloc
import weakref
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixnet.base import MXNetError
from mixnet.engine import Engine, NaiveEngine, ThreadedEngine, Var
from mixnet.process.collector import collector_paused
from tests import processes
from tests.threads import in_threads
from tests.traced_memory import nothing_compiles
from tests.waiting import join, until

KINDS = {
    "naive": NaiveEngine,
    "one worker": ThreadedEngine,
    "four workers": lambda: ThreadedEngine({"compute": 4, "io": 2}),
    "pooled": lambda: ThreadedEngine({"compute": 3}, per_device=False),
}


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """Ends a test that hangs and prints the stacks of all threads."""
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(params=KINDS)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    tested = KINDS[request.param]()
    yield tested
    tested.stop()


@pytest.fixture
def threaded() -> Iterator[ThreadedEngine]:
    engine = ThreadedEngine({"compute": 4})
    yield engine
    engine.stop()


# ---- the law: any program of pushes gives the serial result -----------------------------------

STEP = st.tuples(
    st.lists(st.integers(0, 5), max_size=4),  # reads
    st.lists(st.integers(0, 5), min_size=0, max_size=3),  # writes
    st.integers(-2, 2),  # priority
    st.sampled_from(["compute", "compute:cpu(1)", "copy", "io", "communication"]),
    st.booleans(),  # wait for it
)


def run(engine: Engine | None, steps: list, slow: bool = False) -> tuple[list, list]:
    """The cells after all steps and the values that each step read; serial if there is no engine."""
    cells = [0] * 6
    variables = [Var(f"v{i}") for i in range(6)]
    values_read: list = [None] * len(steps)
    busy = [0] * 6  # how many write to a cell at this moment: more than one is an error

    def work(number: int, reads: list, writes: list) -> None:
        values_read[number] = [cells[i] for i in reads]
        for i in set(writes):
            busy[i] += 1
            assert busy[i] == 1
        if slow:
            time.sleep(0.0002)
        total = sum(cells[i] * (k + 1) for k, i in enumerate(reads)) % 1009
        for i in set(writes):
            cells[i] = (cells[i] * 3 + total + number) % 1009
            busy[i] -= 1

    for number, (reads, writes, priority, resource, sync) in enumerate(steps):
        if engine is None:
            work(number, reads, writes)
            continue
        push = engine.push_sync if sync else engine.push
        push(
            lambda n=number, r=reads, w=writes: work(n, r, w),
            [variables[i] for i in reads],
            [variables[i] for i in writes],
            resource,
            priority,
            f"step {number}",
        )
    if engine is not None:
        engine.wait_for_all()
        for i, var in enumerate(variables):
            assert var.version == sum(i in set(writes) for _, writes, *_ in steps)
            assert not var.queue and not var.holders
    return cells, values_read


@given(st.lists(STEP, max_size=40), st.sampled_from(sorted(KINDS)))
@settings(max_examples=150, deadline=None)
def test_any_program_gives_the_serial_result(steps: list, kind: str) -> None:
    engine = KINDS[kind]()
    try:
        assert run(engine, steps) == run(None, steps)
    finally:
        engine.stop()


@given(st.lists(STEP, min_size=20, max_size=60))
@settings(max_examples=20, deadline=None)
def test_slow_work_gives_the_serial_result(steps: list) -> None:
    engine = ThreadedEngine({"compute": 4, "io": 4, "copy": 2})
    try:
        assert run(engine, steps, slow=True) == run(None, steps)
    finally:
        engine.stop()


def test_branches_of_a_diamond_run_in_parallel(threaded: ThreadedEngine) -> None:
    #   a -> b -> d      b and c run side by side, d after both
    #   a -> c -> d
    a, b, c, d = (Var(n) for n in "abcd")
    meeting = threading.Barrier(2, timeout=20)
    order: list[str] = []
    threaded.push(lambda: order.append("a"), (), (a,))
    threaded.push(lambda: (meeting.wait(), order.append("b")), (a,), (b,))
    threaded.push(lambda: (meeting.wait(), order.append("c")), (a,), (c,))
    threaded.push(lambda: order.append("d"), (b, c), (d,))
    # this thread may run one of the two while it waits, a worker the other
    threaded.wait_for_var(d)
    assert order[0] == "a" and order[3] == "d" and set(order[1:3]) == {"b", "c"}


def test_a_reader_after_a_queued_writer_waits_for_it(threaded: ThreadedEngine) -> None:
    var, gate, order = Var(), threading.Event(), []
    threaded.push(lambda: (gate.wait(20), order.append("first reader")), (var,))
    threaded.push(lambda: order.append("writer"), (), (var,))
    threaded.push(lambda: order.append("second reader"), (var,))
    gate.set()
    threaded.wait_for_all()
    assert order == ["first reader", "writer", "second reader"]


def test_waiting_for_all_waits_for_what_running_work_pushes(threaded: ThreadedEngine) -> None:
    started, done = threading.Event(), []

    def outer() -> None:
        started.wait(20)
        threaded.push(lambda: (time.sleep(0.05), done.append("inner")), (), (Var(),))

    threaded.push(outer, (), (Var(),))
    threading.Timer(0.05, started.set).start()
    threaded.wait_for_all()
    assert done == ["inner"]


@pytest.mark.parametrize("waits_for_all", [True, False])
def test_work_that_waits_for_all_does_not_wait_for_work_that_waits_for_it(
    engine: Engine, waits_for_all: bool
) -> None:
    both, variables = threading.Barrier(2), [Var("a"), Var("b")]

    def first() -> None:
        both.wait(60)
        engine.wait_for_all()

    def second() -> None:
        both.wait(60)
        engine.wait_for_all() if waits_for_all else engine.wait_for_var(variables[0])

    def push(number: int) -> None:
        engine.push((first, second)[number], (), (variables[number],), ("io", "copy")[number])

    in_threads(2, push, 60)
    in_threads(1, lambda _: engine.wait_for_all(), 60)


def test_a_pool_that_cannot_start_a_thread_starts_one_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    engine, var, done = ThreadedEngine(), Var("v"), threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        engine.push(lambda: None, (), (var,))
        engine.wait_for_var(var)  # the work runs in this thread
    engine.push(done.set, (), (var,))
    assert done.wait(60)
    engine.stop()


def test_priorities_decide_among_what_is_ready() -> None:
    engine = ThreadedEngine({"compute": 1})
    gate, started, order = threading.Event(), threading.Event(), []
    engine.push(lambda: (started.set(), gate.wait(20)), name="holds the only worker")
    started.wait(20)
    for priority in (0, 5, -3, 5, 1):
        engine.push(lambda p=priority: order.append(p), priority=priority)
    gate.set()
    # Not wait_for_all, in which this thread would run tasks, too.
    until(lambda: len(order) == 5)
    assert order == [5, 5, 1, 0, -3]
    engine.stop()


def test_each_resource_has_its_own_workers() -> None:
    engine = ThreadedEngine()
    gate, done = threading.Event(), threading.Event()
    engine.push(lambda: gate.wait(20), resource="io")
    engine.push(done.set, resource="copy")
    assert done.wait(20), "a copy waits for an I/O worker"
    gate.set()
    engine.stop()


# ---- waiting ------------------------------------------------------------------------------------


def test_work_that_is_waited_for_runs_in_the_waiting_thread(engine: Engine) -> None:
    where: list[int] = []
    engine.push_sync(lambda: where.append(threading.get_ident()), (), (Var(),))
    assert where == [threading.get_ident()]


def test_a_worker_that_waits_does_not_starve_its_pool() -> None:
    engine = ThreadedEngine({"compute": 1})
    inner, outer, log = Var("inner"), Var("outer"), []

    def work() -> None:
        engine.push(lambda: log.append("inner"), (), (inner,))
        engine.wait_for_var(inner)
        log.append("outer")

    engine.push(work, (), (outer,))
    until(lambda: len(log) == 2)
    assert log == ["inner", "outer"]
    engine.stop()


def test_waiting_for_oneself_is_an_error_not_a_hang(threaded: ThreadedEngine) -> None:
    a, b = Var("a"), Var("b")

    def work() -> None:
        threaded.push(lambda: None, (a,), (b,), name="after")
        threaded.wait_for_var(b)

    with pytest.raises(MXNetError, match="work that can only run after it"):
        threaded.push_sync(work, (), (a,), name="before")
    with pytest.raises(MXNetError):  # a failed, so b did
        threaded.wait_for_var(b)
    threaded.wait_for_all()


def test_a_push_in_work_that_waits_for_the_work_is_an_error(threaded: ThreadedEngine) -> None:
    a = Var("a")
    with pytest.raises(MXNetError, match="after it"):
        threaded.push_sync(lambda: threaded.push_sync(lambda: None, (), (a,)), (), (a,), name="x")
    a.error = None
    threaded.push_sync(lambda: None, (), (a,))  # the order is intact
    assert not a.queue and not a.holders


def test_the_context_of_the_pusher_is_the_one_of_the_work(engine: Engine) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    results: list[str] = []
    variable.set("pusher's")
    engine.push(lambda: results.append(variable.get()))
    variable.set("changed")
    engine.wait_for_all()
    assert results == ["pusher's"] or isinstance(engine, NaiveEngine)


# ---- errors -------------------------------------------------------------------------------------


def fail(message: str = "broken") -> None:
    raise ValueError(message)


def test_an_error_propagates_along_variables_only(engine: Engine) -> None:
    a, b, c, other = Var("a"), Var("b"), Var("c"), Var("other")
    ran: list[str] = []
    engine.push(fail, (), (a,), name="breaks")
    engine.push(lambda: ran.append("b"), (a,), (b,))
    engine.push(lambda: ran.append("c"), (b,), (c,))
    engine.push(lambda: ran.append("other"), (), (other,))
    engine.wait_for_var(other)
    for var in (c, b, a, c):  # every waiter gets the error
        with pytest.raises(ValueError, match="broken") as caught:
            engine.wait_for_var(var)
        assert any("raised by breaks" in note for note in caught.value.__notes__)
    assert ran == ["other"]
    engine.wait_for_all()  # it was reported: not raised again


def test_the_error_names_the_line_that_pushed(engine: Engine) -> None:
    var = Var()
    engine.push(fail, (), (var,), name="breaks")
    with pytest.raises(ValueError) as caught:
        engine.wait_for_var(var)
    line = fail.__code__.co_filename + ":"
    assert any(line in note for note in caught.value.__notes__)


def test_waiting_for_all_raises_unreported_errors(engine: Engine) -> None:
    engine.push(lambda: fail("first"), (), (Var(),))
    engine.push(lambda: fail("second"), (), (Var(),))
    with pytest.raises(ValueError) as caught:
        engine.wait_for_all()
    assert any("1 other operation(s) failed too" in note for note in caught.value.__notes__)
    engine.wait_for_all()


def test_a_write_clears_the_error_of_a_variable(engine: Engine) -> None:
    var = Var()
    engine.push(fail, (), (var,))
    with pytest.raises(ValueError):
        engine.wait_for_var(var)
    engine.push(lambda: None, (), (var,))
    engine.wait_for_var(var)


def test_an_update_of_a_failed_variable_fails(engine: Engine) -> None:
    var, ran = Var(), []
    engine.push(fail, (), (var,))
    engine.push(lambda: ran.append(1), (var,), (var,))
    with pytest.raises(ValueError):
        engine.wait_for_var(var)
    assert ran == []


def test_a_deleted_variable_is_refused(engine: Engine) -> None:
    var, ran = Var("weights"), []
    engine.push(lambda: ran.append(1), (), (var,))
    engine.delete_variable(var)
    with pytest.raises(MXNetError, match=r"'weights'.*was deleted"):
        engine.push(lambda: None, (var,))
    engine.wait_for_all()
    assert ran == [1]


def test_an_unknown_resource_is_refused(engine: Engine) -> None:
    with pytest.raises(MXNetError, match="no resource 'disk'; use one of compute, copy"):
        engine.push(lambda: None, resource="disk")


def test_unread_errors_are_reported_at_exit() -> None:
    code = (
        "from mixnet.engine import push, Var\n"
        "def fail(): raise ValueError('lost?')\n"
        "push(fail, (), (Var(),), name='saving')\n"
    )
    process = processes.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert "nobody waited for it: ValueError: lost?" in process.stderr
    assert process.returncode == 0


# ---- many pushes, many threads, processes ------------------------------------------------------


def test_a_hundred_thousand_pushes_leak_no_memory() -> None:
    engine = ThreadedEngine()
    variables = [Var(f"v{i}") for i in range(8)]
    counts = [0] * 8

    def work(i: int) -> None:
        counts[i] += 1

    works = [lambda i=i: work(i) for i in range(8)]

    def push(times: int) -> None:
        for k in range(times):
            i = k % 8
            engine.push(works[i], (variables[(i + 1) % 8],), (variables[i],))
            if k % 1000 == 0:
                engine.wait_for_var(variables[i])  # bounds what is pending
        engine.wait_for_all()

    nothing_compiles()
    push(10_000)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    push(80_000)
    tracemalloc.start()
    push(10_000)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert sum(counts) == 100_000
    assert all(var.version == 12_500 for var in variables)
    assert after - before < 100_000
    assert not engine._pending and all(not var.queue for var in variables)
    engine.stop()


def test_eight_threads_push_and_wait_concurrently(threaded: ThreadedEngine) -> None:
    variables = [Var(f"v{i}") for i in range(5)]
    cells = [0] * 5

    def add(i: int, j: int) -> None:
        value = cells[i]
        if (i + j) % 3 == 0:
            time.sleep(0)
        cells[i] = value + 1

    def user(seed: int) -> None:
        for k in range(400):
            i, j = (seed + k) % 5, (seed * 3 + k) % 5
            reads = () if i == j else (variables[j],)
            push = threaded.push_sync if k % 7 == 0 else threaded.push
            push(lambda i=i, j=j: add(i, j), reads, (variables[i],), priority=k % 3)
            if k % 50 == 0:
                threaded.wait_for_var(variables[j])
            if k % 200 == 0:
                threaded.wait_for_all()

    in_threads(8, user)
    threaded.wait_for_all()
    assert sum(cells) == 8 * 400
    assert [var.version for var in variables] == cells


def test_workers_end_with_stop_and_start_again() -> None:
    engine = ThreadedEngine({"compute": 2})
    done: list[int] = []
    for i in range(20):
        engine.push(lambda i=i: done.append(i))
    engine.stop()
    assert len(done) == 20
    assert not [t for pool in engine._pools.values() for t in pool.threads]
    again = threading.Event()
    engine.push(again.set)
    assert again.wait(20)
    engine.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_a_working_engine() -> None:
    code = """
import os, threading, time
from mixnet.engine import ThreadedEngine, Var
engine, var, done = ThreadedEngine({"compute": 2}), Var("v"), []
for i in range(50):
    engine.push(lambda i=i: (time.sleep(0.001), done.append(i)), (), (var,))
child = os.fork()
if child == 0:
    assert done == list(range(50)), done  # fork waited for what was pushed
    engine.push(lambda: done.append("child"), (), (var,))
    engine.wait_for_var(var)
    os._exit(0 if done[-1] == "child" else 3)
engine.push(lambda: done.append("parent"), (), (var,))
engine.wait_for_var(var)
_, status = os.waitpid(child, 0)
assert done[-1] == "parent"
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 0, process.stderr


# ---- work that ends later than its function ------------------------------------------------------


def test_work_that_ends_later_holds_its_variables(threaded: Engine) -> None:
    var, order, ends = Var("v"), [], []
    threaded.push_async(ends.append, (), (var,))
    threaded.push(lambda: order.append("after"), (var,))
    until(lambda: bool(ends))
    assert order == [] and var.version == 0
    ends[0](None)
    ends[0](None)  # the second time says nothing
    threaded.wait_for_all()
    assert order == ["after"] and var.version == 1


def test_work_that_ends_later_can_fail(threaded: Engine) -> None:
    var, ends = Var("v"), []
    threaded.push_async(ends.append, (), (var,), name="later")
    until(lambda: bool(ends))
    threading.Timer(0.05, lambda: ends[0](ValueError("in the end"))).start()
    with pytest.raises(ValueError, match="in the end"):
        threaded.wait_for_var(var)


def test_work_that_fails_before_it_ends_later(threaded: Engine) -> None:
    def start(done: object) -> None:
        raise ValueError("at the start")

    var = Var("v")
    threaded.push_async(start, (), (var,))
    with pytest.raises(ValueError, match="at the start"):
        threaded.wait_for_var(var)


def test_a_waiting_thread_asks_for_progress_and_can_be_refused(threaded: Engine) -> None:
    var, after, ends, waits = Var("v"), Var("after"), [], []

    def ask(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            ends[0](ValueError("given up"))

    threaded.push_async(ends.append, (), (var,), on_wait=ask)
    threaded.push(lambda: None, (var,), (after,))
    with pytest.raises(ValueError, match="given up"):
        threaded.wait_for_var(after)
    assert waits[0] == 0 and waits[1] >= 1


def test_two_tasks_may_end_at_the_same_time(threaded: Engine) -> None:
    first, second, ends = Var("first"), Var("second"), []

    def start(done: object) -> None:
        ends.append(done)
        if len(ends) == 2:
            for each in ends:
                each(None)

    threaded.push_async(start, (), (first,))
    threaded.push_async(start, (), (second,))
    threaded.wait_for_var(first)
    threaded.wait_for_var(second)
    assert first.version == second.version == 1


def test_short_tasks_run_on_the_thread_that_made_them_ready(threaded: Engine) -> None:
    var, threads, gate = Var("v"), [], threading.Event()

    def start(done: Callable[[BaseException | None], None]) -> None:
        threads.append(threading.current_thread())
        done(None)

    threaded.push_async(start, (), (var,), quick=True)
    assert threads == [threading.current_thread()] and var.version == 1
    before: list[threading.Thread] = []

    def work() -> None:
        assert gate.wait(60)
        before.append(threading.current_thread())

    threaded.push(work, (), (var,), "copy")
    threaded.push_async(start, (), (var,), quick=True)
    until(lambda: not threaded._pools["copy"].heap)  # a worker has taken it
    assert len(threads) == 1  # not before what it waits for
    gate.set()
    threaded.wait_for_var(var)
    assert var.version == 3 and threads[1:] == before


def test_nothing_of_ended_asynchronous_work_stays(threaded: Engine) -> None:
    class Work:
        def __call__(self, done: Callable[[BaseException | None], None]) -> None:
            done(None)

    ended: list[weakref.ref[Work]] = []
    with collector_paused():  # by reference counts alone
        for quick in (True, False):
            work, var = Work(), Var("v")
            ended.append(weakref.ref(work))
            threaded.push_async(work, (), (var,), quick=quick)
            del work
            threaded.wait_for_var(var)
        threaded.stop()  # a worker has seen what a waiting thread ran in its place
    assert [each() for each in ended] == [None, None]


def test_a_reader_of_the_naive_engine_waits_for_the_work_of_another_thread() -> None:
    engine, var = NaiveEngine(), Var("v")
    begun, may_end = threading.Event(), threading.Event()
    results: list[int] = []

    def work() -> None:
        begun.set()
        assert may_end.wait(60)
        time.sleep(0.1)
        results.append(1)
        engine.wait_for_var(var)  # its own: no wait

    def use(number: int) -> None:
        if number:
            assert begun.wait(60)
            may_end.set()
            engine.wait_for_var(var)
            assert results == [1]
        else:
            engine.push(work, (), (var,))

    in_threads(2, use)
    assert not engine._thread_of and not var.holders


def test_threads_of_the_naive_engine_that_wait_for_each_other_get_an_error() -> None:
    engine, variables, both = NaiveEngine(), [Var("a"), Var("b")], threading.Barrier(2)
    errors: list[BaseException] = []

    def use(number: int) -> None:
        def work() -> None:
            both.wait(60)
            try:
                engine.wait_for_var(variables[1 - number])
            except MXNetError as error:
                errors.append(error)

        engine.push(work, (), (variables[number],))

    in_threads(2, use, 60)
    (error,) = errors
    assert "wait for each other" in str(error)


def test_waiting_for_all_waits_for_the_work_of_other_threads_of_the_naive_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine, begun, may_end = NaiveEngine(), threading.Event(), threading.Event()
    wait, results = engine._changed.wait, []

    def wait_while_it_ends() -> bool:
        may_end.set()
        return wait(60)

    def work() -> None:
        begun.set()
        assert may_end.wait(60)
        results.append(1)

    def use(number: int) -> None:
        if number:
            assert begun.wait(60)
            engine.wait_for_all()
            assert results == [1]
        else:
            engine.push(work, (), (Var("v"),))

    monkeypatch.setattr(engine._changed, "wait", wait_while_it_ends)
    in_threads(2, use, 60)


def test_the_naive_engine_forgets_a_claimed_task_that_is_given_up() -> None:
    engine, var = NaiveEngine(), Var("v")
    in_threads(1, lambda _: engine.release(engine.claim(lambda: None, (), (var,))))
    engine.wait_for_var(var)
    assert not engine._thread_of


def test_the_naive_engine_does_not_wait_for_a_later_end() -> None:
    engine, var = NaiveEngine(), Var("v")
    engine.push_async(lambda done: done(None), (), (var,))
    assert var.version == 1 and var.error is None
    engine.push_async(lambda done: None, (), (var,), name="never")
    with pytest.raises(MXNetError, match=r"never had not ended.*Use the ThreadedEngine"):
        engine.wait_for_var(var)


def test_on_wait_is_called_at_exit() -> None:
    program = (
        "from mixnet.engine import ThreadedEngine, Var\n"
        "engine, ends = ThreadedEngine(), []\n"
        "def ask(seconds):\n"
        "    ends[0](ValueError('given up'))\n"
        "engine.push_async(ends.append, (), (Var('v'),), on_wait=ask)\n"
    )
    done = processes.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0 and "nobody waited for it: ValueError: given up" in done.stderr


def test_an_idle_worker_does_not_keep_others_from_starting() -> None:
    """A burst of tasks gets as many threads as are allowed, even after earlier work."""
    engine = ThreadedEngine({"io": 4})
    engine.push_sync(lambda: None, resource="io")
    first = Var("first")
    engine.push(lambda: None, (), (first,), "io")
    engine.wait_for_var(first)
    time.sleep(0.05)  # the one worker sleeps
    together, most, lock = 0, 0, threading.Lock()
    four = threading.Event()

    def work() -> None:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
            if together == 4:
                four.set()
        four.wait(10)
        with lock:
            together -= 1

    for _ in range(8):
        engine.push(work, resource="io")
    assert four.wait(10), f"{most} tasks ran at once, of 4 that may"
    engine.wait_for_all()
    assert most == 4
    engine.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_that_ends_its_thread_leaves_the_pool_a_thread() -> None:
    engine = ThreadedEngine({"io": 1})
    workers: list[threading.Thread] = []
    for _ in range(2):
        begun, leave, ended = threading.Event(), threading.Event(), threading.Event()

        def end_thread(begun: threading.Event = begun, leave: threading.Event = leave) -> None:
            workers.append(threading.current_thread())
            begun.set()
            leave.wait(30)
            sys.exit()

        engine.push(end_thread, resource="io")
        assert begun.wait(30)
        engine.push(ended.set, resource="io")  # waits for the only thread
        leave.set()
        assert ended.wait(30), "no thread is left to run it"
    engine.stop()
    join(*workers)  # pytest would blame the next test for what a thread raises later
