"""Arrays in several threads, failing operations, and the engine's work for the runtime."""

from __future__ import annotations

import gc
import os
import sys
import threading
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.engine import timeline
from mixnet.runtime.record import segment
from mixnet.runtime.value.state import state
from tests import processes
from tests.threads import in_threads
from tests.waiting import join

# ---- several threads ------------------------------------------------------------------------


def test_no_update_of_one_array_by_eight_threads_is_lost() -> None:
    total, rows = nd.zeros((4,)), nd.zeros((8, 3))

    def work(number: int) -> None:
        for i in range(60):
            nd.elemwise_add(total, nd.ones((4,)), out=total)
            total.__iadd__(1)
            rows[number] += 1
            if i % 20 == number:
                total.asnumpy()

    in_threads(8, work)
    np.testing.assert_array_equal(total.asnumpy(), np.full(4, 8 * 120))
    np.testing.assert_array_equal(rows.asnumpy(), np.full((8, 3), 60))


def test_threads_record_train_and_read_concurrently() -> None:
    def train(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        w = nd.array(rng.normal(size=(5, 1)))
        x, y = nd.array(rng.normal(size=(20, 5))), nd.array(rng.normal(size=(20, 1)))
        w.attach_grad()
        for _ in range(30):
            with autograd.record():
                loss = ((nd.dot(x, w) - y) ** 2).mean()
            loss.backward()
            w[:] = w - 0.1 * w.grad
            loss.asscalar()
        return w.asnumpy()

    alone = [train(seed) for seed in range(6)]
    together: dict[int, np.ndarray] = {}
    in_threads(6, lambda number: together.__setitem__(number, train(number)))
    for seed, expected in enumerate(alone):
        np.testing.assert_array_equal(together[seed], expected)


def test_one_thread_reads_what_another_has_only_recorded() -> None:
    x = nd.ones((3,)) * 2
    results: list = []
    in_threads(1, lambda _: results.append(x.asnumpy()))
    np.testing.assert_array_equal(results[0], [2, 2, 2])


def test_waitall_waits_for_all_threads() -> None:
    recorded, done = threading.Event(), threading.Event()
    recorded_arrays: list = []

    def record() -> None:
        recorded_arrays.append(nd.ones((2,)) + 5)
        recorded.set()
        done.wait(60)

    thread = threading.Thread(target=record)
    thread.start()
    recorded.wait(60)
    nd.waitall()
    assert recorded_arrays[0]._value.array is not None
    done.set()
    join(thread)


def test_a_loop_whose_results_are_never_read_is_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "MOST_AHEAD", 4)
    x = nd.ones((700, 700))
    x.wait_to_read()
    most = 0
    with mx.engine.bulk(1):
        for _ in range(40):
            x = nd.dot(x, x) * 1e-3  # takes too long to run in this thread
            most = max(most, len(state.handed_over[mx.cpu(0)]))
    assert 0 < most <= 4
    assert nd.all_finite(x).asscalar() == 1


# ---- bulk -----------------------------------------------------------------------------------


def test_bulk_runs_in_groups_and_the_rest_at_the_end() -> None:
    x = nd.ones((2,))
    x.wait_to_read()
    mx.runtime.reset_counters()
    with mx.engine.bulk(4):
        for _ in range(10):
            x = x + 1
    assert mx.runtime.counters()["flushes"] == {"bulk size": 3}
    nd.waitall()
    assert mx.runtime.counters()["operations"] == 10
    assert mx.engine.set_bulk_size(7) == 0
    assert mx.engine.set_bulk_size(0) == 7
    with pytest.raises(
        ValueError, match=r"set_bulk_size\(-1\): the size must be an integer of 0 or more"
    ):
        mx.engine.set_bulk_size(-1)


# ---- errors -----------------------------------------------------------------------------------


@mx.operator.register("breaks_at_nine")
class BreaksAtNine(mx.operator.CustomOpProp):
    """Passes its input on; a nine in it is an error."""

    def create_operator(self, ctx, shapes, dtypes):
        class Operator(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                if (in_data[0].asnumpy() == 9).any():
                    raise ValueError("there is a nine")
                self.assign(out_data[0], req[0], in_data[0] * 1)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                self.assign(in_grad[0], req[0], out_grad[0])

        return Operator()


def test_a_failed_operation_is_raised_at_its_readers_and_nowhere_else() -> None:
    good = nd.ones((2,)) + 1
    bad = nd.Custom(nd.array([9.0]), op_type="breaks_at_nine")
    below = bad * 2
    other = good * 3
    np.testing.assert_array_equal(other.asnumpy(), [6, 6])
    for array in (below, bad, below):
        with pytest.raises(mx.MXNetError, match="raised ValueError: there is a nine") as caught:
            array.asnumpy()
        assert any(__file__ in note for note in caught.value.__notes__)
    nd.waitall()  # already raised
    np.testing.assert_array_equal(good.asnumpy(), [2, 2])


@pytest.mark.parametrize(
    "read",
    [
        lambda array: array.asscalar(),
        lambda array: array.wait_to_read(),
        lambda array: np.from_dlpack(array),
    ],
)
def test_the_first_reader_of_a_dependent_result_gets_the_error(read: Any) -> None:
    total = nd.zeros((1,))
    total += nd.Custom(nd.array([9.0]), op_type="breaks_at_nine")
    # The program that reads the failure is handed over by this very read, and itself ends well.
    with pytest.raises(mx.MXNetError, match="raised ValueError: there is a nine"):
        read(total)


def test_waitall_raises_unread_errors() -> None:
    lost = nd.Custom(nd.array([9.0]), op_type="breaks_at_nine")
    with pytest.raises(mx.MXNetError, match="there is a nine"):
        nd.waitall()
    nd.waitall()
    with pytest.raises(mx.MXNetError, match="there is a nine"):  # there is still no value
        lost.wait_to_read()


def test_writing_to_a_failed_array_clears_its_error() -> None:
    x = nd.Custom(nd.array([9.0]), op_type="breaks_at_nine")
    with pytest.raises(mx.MXNetError, match="there is a nine"):
        x.wait_to_read()
    x[:] = 4
    assert x.asscalar() == 4


def test_an_error_in_a_hybridized_block_leaves_later_calls_unaffected() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.HybridLambda(lambda F, x: F.Custom(x * 1, op_type="breaks_at_nine")))
    net.hybridize()
    x, y = nd.array([9.0, 1]), nd.array([3.0, 1])
    with pytest.raises(mx.MXNetError, match="there is a nine"):
        net(x).asnumpy()
    np.testing.assert_array_equal(net(y).asnumpy(), [3, 1])


# ---- files ------------------------------------------------------------------------------------


def test_saving_in_the_background_writes_the_contents_at_the_call(tmp_path) -> None:
    path = str(tmp_path / "weights.params")
    x = nd.arange(1000)
    saving = nd.save(path, {"x": x}, wait=False)
    x += 1
    assert nd.load(path)["x"][5].asscalar() == 5  # reading waits for writing
    saving.wait()
    assert saving.done and "done" in repr(saving)
    again = nd.save(path, [x])
    assert again is None
    assert nd.load(path)[0][5].asscalar() == 6


def test_saving_in_the_background_that_fails_says_so(tmp_path) -> None:
    saving = nd.save(str(tmp_path / "nowhere" / "x.params"), [nd.ones((2,))], wait=False)
    with pytest.raises(FileNotFoundError, match=r"folder .* does not exist"):
        saving.wait()
    nd.waitall()
    net = gluon.nn.Dense(2, in_units=2)
    net.initialize()
    saving = net.save_parameters(str(tmp_path / "net.params"), wait=False)
    saving.wait()
    net.load_parameters(str(tmp_path / "net.params"))


# ---- the timeline of a program -----------------------------------------------------------------


def test_the_timeline_shows_segments_copies_and_files(recorded_timeline: None, tmp_path) -> None:
    x = nd.array([1.0, 2]) + 1
    y = x * 2
    y.asnumpy()
    nd.save(str(tmp_path / "x.params"), [x])
    rows = timeline.to_dict()["rows"]
    kinds = [row["resource"] for row in rows]
    segment = next(row for row in rows if row["name"].startswith("segment of 2"))
    copy = next(row for row in rows if row["name"] == "asnumpy")
    assert segment["resource"] == "compute:cpu(0)" and "io" in kinds
    assert copy["reads"] == segment["writes"]  # the copy reads the version that the segment made
    assert segment["ended"] <= copy["started"]
    assert __file__ in segment["source"]


def test_the_naive_engine_runs_each_operation_immediately() -> None:
    with mx.engine.using("NaiveEngine"):
        x = nd.ones((2,)) + 1
        assert x._value.array is not None
    y = nd.ones((2,)) + 1
    assert y._value.array is None
    with (
        pytest.raises(ValueError, match="'Fast' is not an engine; use NaiveEngine"),
        mx.engine.using("Fast"),
    ):
        pass


@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEngine", "ThreadedEnginePerDevice"])
def test_engine_types_by_environment(kind: str) -> None:
    code = (
        "import mixnet as mx\n"
        "x = mx.nd.ones((3,)) * 2\n"
        "for _ in range(5): x += 1\n"
        "print(mx.engine.current.kind, x.asnumpy().tolist())\n"
    )
    process = processes.run(
        [sys.executable, "-c", code],
        env={**os.environ, "MXNET_ENGINE_TYPE": kind},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert process.stdout.strip() == f"{kind} [7.0, 7.0, 7.0]", process.stderr


def test_programs_end_cleanly_with_work_under_way() -> None:
    code = (
        "import mixnet as mx, time\n"
        "mx.engine.push(lambda: (time.sleep(0.3), print('ran')), name='late')\n"
        "x = mx.nd.ones((3,)) + 1\n"
    )
    process = processes.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert process.stdout == "ran\n" and process.stderr == "" and process.returncode == 0


# ---- threads that wait for each other ---------------------------------------------------------


def test_two_threads_that_read_each_others_pending_arrays() -> None:
    latest = [nd.ones((4,)), nd.ones((4,)) * 3]

    def work(me: int) -> None:
        for _ in range(3000):
            latest[me] = latest[me] * 0.5 + latest[1 - me] * 0.5

    in_threads(2, work)
    for each in latest:
        actual = each.asnumpy()
        assert ((actual >= 1) & (actual <= 3)).all()


@mx.operator.register("adds_one_in_place")
class AddsOneInPlace(mx.operator.CustomOpProp):
    """Adds 1 in place to its own copy, as operators in Python do."""

    def create_operator(self, ctx, shapes, dtypes):
        class Operator(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                gate.wait(60)
                copy = in_data[0].copy()
                copy += 1
                self.assign(out_data[0], req[0], copy)

        return Operator()


gate = threading.Event()  # closed: the operator waits
gate.set()


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_an_operator_in_python_updates_while_the_program_does(size: int) -> None:
    a, total = nd.ones((3,)), nd.zeros((3,))

    def work(_: int) -> None:
        with mx.engine.bulk(size):
            for _ in range(30):
                y = nd.Custom(a, op_type="adds_one_in_place")
                for _ in range(3):
                    total.__iadd__(y)

    in_threads(1, work)
    np.testing.assert_array_equal(total.asnumpy(), [180, 180, 180])


def test_frequent_readers_of_one_pending_segment_are_not_throttled() -> None:
    from mixnet.runtime.record.record import flush
    from mixnet.runtime.value.state import state

    def program() -> tuple[nd.NDArray, list[nd.NDArray]]:
        y = nd.Custom(nd.ones((3,)), op_type="adds_one_in_place")
        results = [y + i for i in range(30)]
        for weight in [y * i for i in range(30)]:
            nd.sgd_update(weight, y, lr=0.1, out=weight)
        return y, results

    program()
    nd.waitall()
    ahead = len(state.handed_over[mx.cpu(0)])
    gate.clear()
    try:
        y, results = program()
        # Thirty uses of one waiting program count once.
        assert len(state.handed_over[mx.cpu(0)]) - ahead <= 1
        assert y._value.array is None, "nothing of this needed the value"
    finally:
        gate.set()
    flush()
    assert results[3].asnumpy()[0] == 5


def test_an_operation_that_waits_for_itself_is_an_error() -> None:
    holder: list[nd.NDArray] = []

    @mx.operator.register("reads_its_result")
    class ReadsItsResult(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            class Operator(mx.operator.CustomOp):
                def forward(self, is_train, req, in_data, out_data, aux):
                    started.wait(30)
                    self.assign(out_data[0], req[0], holder[0] + 1)
                    out_data[0].asnumpy()

            return Operator()

    started = threading.Event()
    holder.append(nd.Custom(nd.ones((2,)), op_type="reads_its_result"))
    started.set()
    with pytest.raises(mx.MXNetError, match="waits for work that can only run after it"):
        holder[0].asnumpy()


def test_concurrent_flushes_lose_no_operation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mixnet.runtime.programs import first_sight
    from mixnet.runtime.record.record import hand_over_all

    # Segments end at random places: running operations one by one avoids compiling new programs.
    monkeypatch.setattr(first_sight, "runs_by_operator", lambda key, program: True)
    interval, done = sys.getswitchinterval(), threading.Event()
    one = nd.ones((2,))

    def hand_over() -> None:
        while not done.is_set():
            hand_over_all("a test")

    others = [threading.Thread(target=hand_over) for _ in range(2)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in others:
            thread.start()
        for _ in range(300):
            total = nd.zeros((2,))
            for _ in range(40):
                total = total + one
            np.testing.assert_array_equal(total.asnumpy(), [40, 40])
    finally:
        done.set()
        sys.setswitchinterval(interval)
        join(*others)


def test_a_finalizer_that_records_disturbs_nothing() -> None:
    class Leaves:
        def __del__(self) -> None:
            left.append(nd.ones((2,)) * 3)

    left: list[nd.NDArray] = []
    x = nd.ones((2,))
    thresholds = gc.get_threshold()
    gc.set_threshold(5)  # the collector runs while operations are being recorded
    try:
        for _ in range(200):
            cycle = [Leaves()]
            cycle.append(cycle)
            del cycle
            y = ((x + 1) * 2 - x) * x
            np.testing.assert_array_equal(y.asnumpy(), [3, 3])
    finally:
        gc.set_threshold(*thresholds)
    assert len(left) > 100
    for each in left:
        np.testing.assert_array_equal(each.asnumpy(), [3, 3])
