"""TrainingBoard: its data against the logged values, its buttons against real threads, real trainings."""

from __future__ import annotations

import math
import re
import signal
import sys
import threading
import time
import traceback
from types import SimpleNamespace

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon
from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.widgets import StopTraining, TrainingBoard, View, live
from mixnet.widgets.board.data import CAPACITY, RECENT, Series, png
from mixnet.widgets.board.sender import Sender
from mixnet.widgets.board.store import Store
from tests.threads import in_threads
from tests.waiting import join, until

PATIENCE = 60  # seconds until a test fails; nothing takes that long


def curve(board: TrainingBoard, name: str) -> dict:
    (result,) = [series for series in board.payload["series"] if series["name"] == name]
    return result


# ---- what it keeps -----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 7, CAPACITY, CAPACITY + 1, 5 * CAPACITY + 3])
def test_long_curves_keep_means_extremes_and_the_newest(count: int) -> None:
    values = np.random.default_rng(count).normal(size=count)
    series = Series("loss")
    for step, value in enumerate(values):
        series.add(step, float(value))
    points = series.points
    assert len(points) <= CAPACITY + 1
    assert sum(p.count for p in points) == count
    assert sum(p.total for p in points) == pytest.approx(values.sum())
    at = 0
    for point in points:  # each represents its neighbours, and no others
        mine = values[at : at + point.count]
        assert point.low == mine.min() and point.high == mine.max()
        at += point.count
        assert point.step == at - 1
    recent = series.to_dict()["recent"]
    assert recent["step"] == list(range(max(0, count - RECENT), count))
    assert recent["value"] == pytest.approx(values[-RECENT:], rel=1e-4)


def test_values_that_are_not_finite_leave_a_gap() -> None:
    series = Series("loss")
    for step in range(3 * CAPACITY):
        series.add(step, math.nan if step == 500 else 1.0)
    shown = series.to_dict()
    gaps = [
        step for step, value in zip(shown["step"], shown["value"], strict=True) if value is None
    ]
    assert len(gaps) == 1 and abs(gaps[0] - 500) <= 4


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("training accuracy", "accuracy"),
        ("val_loss", "loss"),
        ("Train-mse", "mse"),
        ("loss", "loss"),
        ("trainable", "trainable"),
    ],
)
def test_curves_are_grouped_by_their_names(name: str, group: str) -> None:
    assert Series(name).group == group


def test_later_writes_do_not_change_logged_arrays() -> None:
    board = TrainingBoard()
    total = mx.nd.zeros((2,))
    for _ in range(3):
        total += mx.nd.array([1.0, 3.0])
        board.log(total=total, plain=np.float32(2), pair=[total, total * 3])
    assert curve(board, "total")["value"] == [2, 4, 6]
    assert curve(board, "pair")["value"] == [4, 8, 12]
    assert curve(board, "plain")["recent"] == {"step": [1, 2, 3], "value": [2, 2, 2]}


def test_logging_runs_nothing() -> None:
    board = TrainingBoard()
    before = mx.runtime.counters()["flushes"]
    x = mx.nd.ones((3,)) * 2
    board.log(loss=x)
    board.histogram("x", x)
    in_threads(1, lambda _: board._publish())  # as the sending thread does
    assert x.to_dict()["state"] == "pending" and mx.runtime.counters()["flushes"] == before
    assert curve(board, "loss")["value"] == [2], "its own thread may read"


def test_steps_are_counted_or_passed() -> None:
    board = TrainingBoard()
    board.log(a=1)
    board.log(step=10, a=1)
    board.log(a=1)
    assert curve(board, "a")["step"] == [1, 10, 11] and board.payload["step"] == 11


def test_more_values_of_a_step_are_not_another_step() -> None:
    board = TrainingBoard("t")
    for _ in range(3):
        board.log(loss=1.0)
    board.log(step=3, accuracy=0.5)
    assert board._of_live().times == 3
    payload = board.payload
    assert payload["step"] == 3 and {each["name"] for each in payload["series"]} == {
        "loss",
        "accuracy",
    }


def test_other_trainings_are_compared_at_the_same_step() -> None:
    board, other = TrainingBoard("mine"), TrainingBoard("theirs")
    for step in range(1, 4):
        board.log(loss=1 / step)
    for step in range(1, 6):
        other.log(loss=10 / step, accuracy=0.1 * step)
    assert board.compare(other) is board
    (run,) = board.payload["others"]
    assert run["title"] == "theirs" and run["series"][0]["value"] == [10, 5, 3.3333, 2.5, 2]
    assert board.summary().endswith("; theirs at this step: loss 3.33")
    rows = {row[0]: row[1:3] for row in board.table()[1]}
    assert rows["theirs: loss"] == [3, "3.33"] and rows["theirs: accuracy"] == [3, "0.3"]
    assert "B theirs: loss 2<" in board.svg(), "the last value of its curve"
    stored = View.of(board.payload, board.state)
    assert board.compare(stored).payload["others"][0]["title"] == "mine"
    assert board.compare().payload["others"] == []
    with pytest.raises(AttributeTypeError, match="expected TrainingBoards, got dict"):
        board.compare({})  # type: ignore[arg-type]


def test_nan_is_marked_with_its_step() -> None:
    board = TrainingBoard()
    for value in (1.0, mx.nd.array([0.0]) / 0, 2.0):
        board.log(loss=value)
    assert board.payload["nan"] == {"name": "loss", "step": 2} and board.status == "nan"
    assert curve(board, "loss")["value"] == [1, None, 2]
    assert "loss not finite since step 2" in board.summary() and "not finite" in board.svg()
    assert [e["step"] for e in board.payload["events"] if e["kind"] == "nan"] == [2]


@pytest.mark.usefixtures("compiling_at_once")
def test_compiled_programs_are_marked() -> None:
    def run(size: int) -> None:
        (mx.nd.ones((size, 3)) * 1.25 + 0.5).wait_to_read()

    for _ in range(3):
        run(5)  # known by now, however often the runtime looks before it compiles
    board = TrainingBoard()
    run(5)
    board.log(a=1)
    for _ in range(3):
        run(7)
        board.log(a=1)
    compiled = [e for e in board.payload["events"] if e["kind"] == "compile"]
    assert compiled and min(e["step"] for e in compiled) >= 2


def test_histograms_are_numpys() -> None:
    board = TrainingBoard()
    data = np.random.default_rng(0).normal(size=(30, 20)).astype("float32")
    data[0, 0] = np.nan
    board.histogram("w", mx.nd.array([0.0]))
    board.histogram("w", mx.nd.array(data))
    (shown,) = board.payload["hist"]
    counts, edges = np.histogram(data[np.isfinite(data)].astype("float64"), 32)
    assert shown["counts"] == counts.tolist() and shown["bad"] == 1
    assert (shown["low"], shown["high"]) == pytest.approx((edges[0], edges[-1]), rel=1e-4)


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 3), (3, 9, 7), (1, 9, 7), (200, 120)])
def test_images_are_png_files(shape: tuple[int, ...]) -> None:
    import base64

    import cv2

    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    board = TrainingBoard()
    board.image("x", pixels)
    (shown,) = board.payload["images"]
    data = np.frombuffer(base64.b64decode(shown["src"].split(",")[1]), np.uint8)
    decoded = cv2.imdecode(data, cv2.IMREAD_COLOR)[:, :, ::-1]
    expected = pixels if pixels.ndim == 2 or shape[-1] == 3 else pixels.transpose(1, 2, 0)
    stride = math.ceil(max(expected.shape[:2]) / 96)
    expected = np.broadcast_to(np.atleast_3d(expected), (*expected.shape[:2], 3))[
        ::stride, ::stride
    ]
    np.testing.assert_array_equal(decoded, expected)
    assert (shown["height"], shown["width"]) == expected.shape[:2]
    assert png(np.zeros((1, 1, 1), np.uint8)).startswith(b"\x89PNG")


def test_many_large_images_slow_the_updates_down() -> None:
    board = TrainingBoard()
    light = board._weight()
    for i in range(12):
        board.image(str(i), np.random.default_rng(i).integers(0, 256, (96, 96, 3), np.uint8))
    size = len(board.to_json())
    assert light == 0 and size / 2 < board._weight() < 2 * size


def test_only_the_newest_images_are_kept() -> None:
    board = TrainingBoard()
    for i in range(20):
        board.image(str(i), mx.nd.ones((4, 4)) * i)
    assert [image["name"] for image in board.payload["images"]] == [str(i) for i in range(8, 20)]


# ---- threads and buttons -----------------------------------------------------------------------


def endless(board: TrainingBoard) -> None:
    while True:
        board.log(a=1)
        board.checkpoint()


def test_an_interrupted_wait_leaves_the_training_alone() -> None:
    board = TrainingBoard()
    board.start(endless)
    main = threading.get_ident()

    def waits() -> bool:
        *callers, last = traceback.extract_stack(sys._current_frames()[main])
        return last.filename == threading.__file__ and any(
            "board.wait(" in (each.line or "") for each in callers
        )

    def interrupt() -> None:
        until(waits)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        board.wait(PATIENCE)
    join(thread)
    assert board.running and board.status == "run"
    board.stop()
    assert board.wait(PATIENCE) and board.status == "stop"


def test_what_cannot_train_is_refused_before_it_starts() -> None:
    board = TrainingBoard()
    with pytest.raises(
        AttributeTypeError, match=r"got None.*without calling it: board.start\(train"
    ):
        board.start(None)  # type: ignore[arg-type]
    with pytest.raises(AttributeTypeError, match=r"<lambda>\(\) is called with the board: "):
        board.start(lambda: None)  # type: ignore[arg-type, misc]
    assert board.status == "new" and not board.running
    board.start(lambda *boards, rate=0.1: boards[0].log(a=rate))
    assert board.wait(PATIENCE) and board.payload["step"] == 1


def test_stop_leaves_the_loop() -> None:
    board = TrainingBoard()
    board.start(endless)
    until(lambda: board.payload["step"] > 3)
    assert board.running and board.status == "run"
    with pytest.raises(mx.MXNetError, match="already training"):
        board.start(endless)
    board.stop()
    assert board.wait(PATIENCE) and not board.running
    assert board.status == "stop" and board.payload["events"][-1]["kind"] == "stop"
    board.start(lambda board: board.log(a=1))  # an old order is forgotten
    assert board.wait(PATIENCE) and board.status == "done"


def test_the_board_pauses_steps_and_resumes() -> None:
    board = TrainingBoard()
    board.pause()
    board.start(endless)
    until(lambda: board.status == "pause")
    for steps in range(2, 6):
        board.message({"do": "step"})
        until(lambda steps=steps: board.payload["step"] == steps and board.status == "pause")
        time.sleep(0.01)
        assert board.payload["step"] == steps
    board.message({"do": "resume"})
    until(lambda: board.payload["step"] > 20)
    board.message({"do": "pause"})
    until(lambda: board.status == "pause")
    assert not board.wait(0.01), "it waits, it has not ended"
    board.message({"do": "stop"})
    assert board.wait(PATIENCE)


def test_a_page_shows_when_the_training_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    board, sent = TrainingBoard(), []
    # A sender that publishes at once, before the thread that has news goes on.
    monkeypatch.setattr(board._sender, "wake", lambda: sent.append(board.status))
    board.pause()
    board.start(endless)
    until(lambda: board.status == "pause")
    until(lambda: sent[-1] == "pause", 10)
    board.stop()
    assert board.wait(PATIENCE)


def test_errors_of_the_training_are_shown_and_raised() -> None:
    board = TrainingBoard()

    def train(board: TrainingBoard) -> None:
        board.log(loss=1)
        raise ZeroDivisionError("a bad line")

    board.start(train)
    with pytest.raises(ZeroDivisionError, match="a bad line") as caught:
        board.wait(PATIENCE)
    assert caught.traceback[-1].name == "train", "with the user's own line"
    assert board.status == "error" and "a bad line" in board.payload["events"][-1]["text"]
    board.start(lambda board: None)
    assert board.wait(PATIENCE)


def test_errors_of_the_engine_are_raised() -> None:
    class Breaks(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise OSError("no such sample")

    @mx.operator.register("board_breaks")
    class BreaksProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Breaks()

    def train(board: TrainingBoard) -> None:
        board.log(loss=mx.nd.Custom(mx.nd.ones((2,)), op_type="board_breaks"))

    board = TrainingBoard()
    board.start(train)
    with pytest.raises(mx.MXNetError, match="no such sample"):
        board.wait(PATIENCE)
    assert board.status == "error"


def test_a_custom_loop_gets_the_exception() -> None:
    board = TrainingBoard()
    board.checkpoint()
    board.stop()
    with pytest.raises(StopTraining):
        board.checkpoint()
    board.checkpoint()  # it was reported once
    board.log(a=1)
    assert board.status == "stop"


def test_scopes_of_the_caller_hold_in_the_thread() -> None:
    threads = []
    with mx.cpu(0):
        board = TrainingBoard()
        board.start(lambda board: threads.append(threading.current_thread().name))
        board.wait(PATIENCE)
    assert threads == ["mixnet training"]


def test_learning_rate_of_a_trainer() -> None:
    weight = gluon.Parameter("w", shape=(1,))
    weight.initialize()
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 0.5})
    board = TrainingBoard()
    assert board.learning_rate is None and board.payload["learning_rate"] is None
    board.attach(trainer)
    assert board.payload["learning_rate"] == 0.5
    board.message({"learning_rate": 0.01})
    assert trainer.learning_rate == 0.01 and board.learning_rate == 0.01
    board.message({"learning_rate": -1})
    assert trainer.learning_rate == 0.01 and "positive" in board.payload["events"][-1]["text"]
    with pytest.raises(AttributeValueError, match="positive number, got nan"):
        board.learning_rate = math.nan
    schedule = mx.lr_scheduler.FactorScheduler(10, base_lr=0.1)
    scheduled = gluon.Trainer([weight], "sgd", {"learning_rate": 0.1, "lr_scheduler": schedule})
    board.attach(scheduled)
    board.message({"learning_rate": 0.2})
    assert scheduled.learning_rate == pytest.approx(0.1)
    assert "schedul" in board.payload["events"][-1]["text"].lower()


def test_the_page_gets_few_updates_and_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget", reason="pip install 'mixnet[widgets]'")
    board = TrainingBoard(rate=20)
    sent = []
    board.widget.observe(lambda change: sent.append(change["new"]), "payload")

    def train(board: TrainingBoard) -> None:
        for i in range(2000):
            board.log(loss=i)
            board.checkpoint()
        board.log(loss=-1)

    began = time.monotonic()
    board.start(train)
    board.wait(PATIENCE)
    passed = time.monotonic() - began
    assert 1 <= len(sent) <= passed * 20 + 3
    assert sent[-1]["series"][0]["recent"]["value"][-1] == -1
    assert sent[-1]["status"] == "done" and sent[-1]["running"] is False
    # A loop in the caller's own thread: the last value follows by itself.
    board.log(loss=-2)
    until(lambda: board.widget.payload["series"][0]["recent"]["value"][-1] == -2)


@pytest.mark.skipif(not live.available(), reason="pip install 'mixnet[widgets]'")
def test_waiting_sends_the_last_state_again(monkeypatch: pytest.MonkeyPatch) -> None:
    board, sent = TrainingBoard(), []
    monkeypatch.setattr(type(board.widget), "send_state", lambda self, key=None: sent.append(
        (threading.current_thread().name, self.payload["status"], key)
    ))  # fmt: skip
    board.start(lambda board: board.log(loss=1.0))
    assert board.wait()
    assert sent[-1] == (threading.current_thread().name, "done", "payload")


def test_without_anywidget_there_are_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "available", lambda: False)
    board = TrainingBoard("digits")
    board.start(lambda board: board.log(loss=0.25))
    assert board.wait(PATIENCE)
    assert "digits: done, step 1, loss 0.25" in capsys.readouterr().out
    assert set(board._repr_mimebundle_()[0]) == {"text/plain", "text/html"}


def test_the_sending_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixnet.widgets.board.sender.IDLE", 0.02)
    board = TrainingBoard()
    sender: Sender = board._sender
    board.log(a=1)
    until(lambda: sender._thread is None)
    board.log(a=2)
    until(lambda: sender._thread is None)
    assert curve(board, "a")["value"] == [1, 2]


def test_news_that_arrive_while_the_sending_thread_ends_are_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mixnet.widgets.board.sender.IDLE", 0.01)
    sent: list[bool] = []
    board = SimpleNamespace(
        running=False, _publish=lambda wait=None: sent.append(bool(wait)),
        _renew_picture=lambda: None, _weight=lambda: 0, summary=str,
    )  # fmt: skip
    sender = Sender(board, 100)

    news, wakes = threading.Event(), []

    def is_set() -> bool:  # nothing yet; then there are news before the thread has ended
        is_pending = news.is_set()
        if not wakes:
            wakes.append(threading.Thread(target=sender.wake))
            wakes[0].start()
            time.sleep(0.05)
        return is_pending

    sender._news = SimpleNamespace(  # type: ignore[assignment]
        is_set=is_set, set=news.set, clear=news.clear, wait=news.wait
    )
    sender.wake()
    until(lambda: sent.count(False) == 2)


def test_a_drawing_is_not_replaced_by_an_older_one() -> None:
    board = TrainingBoard()
    drawn, data, began, done = [], board._of_live(), threading.Event(), threading.Event()
    to_dict = data.to_dict

    def slow(wait: bool) -> dict:
        stored = to_dict(wait)
        if threading.current_thread().name == "older":
            began.set()
            done.wait(0.2)
        drawn.append(stored["step"])
        return stored

    data.to_dict = slow  # type: ignore[method-assign]
    older = threading.Thread(target=board._publish, name="older")
    older.start()
    assert began.wait(PATIENCE)
    board._data.step = 7  # type: ignore[union-attr]
    assert board.payload["step"] == 7
    done.set()
    older.join(PATIENCE)
    assert drawn == [0, 7] and board._payload["step"] == 7


def test_stored_boards_can_be_displayed() -> None:
    board = TrainingBoard("x")
    board.log(a=1)
    stored = View.of(board.payload)
    assert stored.summary() == board.summary() and stored.status == "done"
    for call in (lambda: stored.log(a=2), stored.pause, stored.stop):
        with pytest.raises(mx.MXNetError, match="was loaded"):
            call()
    stored.message({"do": "pause"})  # from a page that is still open
    assert stored.status == "done"


def test_bad_input_is_an_error() -> None:
    board = TrainingBoard()
    for call, error, text in [
        (lambda: board.log(a="much"), AttributeTypeError, "a: expected a number, an array"),
        (lambda: board.log(a=[mx.nd.ones(1), 2]), None, ""),
        (
            lambda: board.image("x", np.zeros((2, 3, 4))),
            AttributeValueError,
            r"got shape \(2, 3, 4\)",
        ),
        (lambda: board.histogram("x", np.array(["a"])), AttributeTypeError, "array of numbers"),
        (lambda: board.attach(3), AttributeTypeError, "expected a Trainer.*got int"),
        (lambda: TrainingBoard(rate=50), AttributeValueError, "rate <= 20"),
    ]:
        if error is not None:
            with pytest.raises(error, match=text):
                call()
    with pytest.raises(mx.MXNetError, match=r"use log\(\)"):
        board.payload = {}


# ---- real trainings ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    result = load_digits()
    return (result.data[:600] / 16).astype("float32"), result.target[:600].astype("float32")


def network() -> gluon.nn.HybridSequential:
    mx.random.seed(1)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(32, activation="relu"), gluon.nn.Dense(10))
    net.initialize(mx.init.Xavier())
    return net


def train_digits(
    digits, board: TrainingBoard | None, rates: dict[int, float] | None = None
) -> list[float]:
    """A plain loop; the losses of its steps, read at the end."""
    x, y = (mx.nd.array(each) for each in digits)
    net, loss_of = network(), gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    if board is not None:
        board.attach(trainer, batch_size=100)
    losses = []
    for step in range(24):
        at = step % 6 * 100
        with autograd.record():
            loss = loss_of(net(x[at : at + 100]), y[at : at + 100])
        loss.backward()
        trainer.step(100)
        losses.append(loss)
        if board is not None:
            board.log(loss=loss)
            board.checkpoint()
    return [float(loss.mean().asscalar()) for loss in losses]


def test_a_gluon_loop_is_the_same_with_and_without_board(digits) -> None:
    alone = train_digits(digits, None)
    before = mx.runtime.counters()
    board = TrainingBoard()
    losses: list[float] = []
    board.start(lambda board: losses.extend(train_digits(digits, board)))
    board.wait(PATIENCE)
    assert losses == pytest.approx(alone, rel=1e-5), "training is not touched"
    assert curve(board, "loss")["value"] == pytest.approx(alone, rel=1e-4)
    assert alone[-1] < alone[0] / 2
    after = mx.runtime.counters()
    assert after["programs_compiled"] - before["programs_compiled"] <= 1, "the same programs"
    assert (
        board.payload["throughput"]["unit"] == "samples/s" and board.payload["throughput"]["value"]
    )
    assert board.payload["memory"]["value"][-1] > 0
    assert board.status == "done"


def test_an_estimator_logs_to_a_board_and_is_stopped_by_it(digits) -> None:
    from mixnet.gluon.contrib.estimator import Estimator

    x, y = digits
    dataset = gluon.data.ArrayDataset(mx.nd.array(x), mx.nd.array(y))
    net = network()
    loader = gluon.data.DataLoader(dataset, 100)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    estimator = Estimator(
        net,
        gluon.loss.SoftmaxCrossEntropyLoss(),
        train_metrics=mx.metric.Accuracy(),
        trainer=trainer,
    )
    board = TrainingBoard()
    board.start(
        lambda board: estimator.fit(loader, loader, epochs=3, event_handlers=[board.handler()])
    )
    board.wait(PATIENCE)
    losses = curve(board, "loss")["value"]
    assert len(losses) == 18 and losses[-1] < losses[0]
    accuracy = curve(board, "validation accuracy")
    assert accuracy["step"] == [6, 12, 18]
    right = (net(mx.nd.array(x)).asnumpy().argmax(1) == y).mean()
    assert accuracy["value"][-1] == pytest.approx(right, rel=1e-4)
    assert board.learning_rate == 0.5
    # And it stops as the estimator does.
    ended = []

    class Tells(gluon.contrib.estimator.TrainEnd):
        def train_end(self, estimator, *args, **kwargs):
            ended.append(True)

    board.start(
        lambda b: estimator.fit(loader, epochs=10_000, event_handlers=[b.handler(), Tells()])
    )
    until(lambda: board.payload["step"] > 20)
    board.stop()
    assert board.wait(PATIENCE) and ended == [True] and board.status == "stop"


def test_module_fit_logs_to_a_board_and_is_stopped_by_it(digits) -> None:
    x, y = digits
    data = mx.sym.var("data")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=32), act_type="relu")
    output = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=10), name="softmax")
    module = mx.mod.Module(output)
    batches = mx.io.NDArrayIter(x, y, 100)

    def fit(board: TrainingBoard, epochs: int) -> None:
        module.fit(batches, num_epoch=epochs, eval_metric="acc", initializer=mx.init.Xavier(),
                   optimizer_params={"learning_rate": 0.5}, batch_end_callback=board.callback(),
                   force_init=True, force_rebind=True)  # fmt: skip

    board = TrainingBoard()
    board.start(lambda board: fit(board, 3))
    board.wait(PATIENCE)
    accuracy = curve(board, "accuracy")
    assert board.payload["step"] == 18 and accuracy["step"][-1] == 18
    assert accuracy["value"][-1] > accuracy["value"][0]
    assert board.learning_rate == 0.5 and board.payload["throughput"]["unit"] == "samples/s"
    board.start(lambda board: fit(board, 10_000))
    until(lambda: board.payload["step"] > 25)
    board.stop()
    assert board.wait(PATIENCE) and board.status == "stop"


def test_a_pause_does_not_count_as_a_slow_step(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(
        "mixnet.widgets.board.store.time", SimpleNamespace(monotonic=lambda: now[0])
    )
    store = Store()
    store.log(None, {})
    for _ in range(10):
        now[0] += 0.1
        store.log(None, {})
    store.hold()
    now[0] += 60
    store.sample(None)
    assert store._speed.recent[-1][1] == pytest.approx(10), "ten steps in a second, and a pause"
    store.clock()
    for _ in range(10):
        now[0] += 0.1
        store.log(None, {})
    store.sample(None)
    assert store._speed.recent[-1][1] == pytest.approx(10)


def test_computed_values_are_drawn_while_the_loop_waits_for_others() -> None:
    """A loop that waits for its recorded steps does not block other readers."""
    store, is_waiting, go_on = Store(), threading.Event(), threading.Event()

    def slow() -> np.ndarray:
        is_waiting.set()
        assert go_on.wait(60)
        return np.ones(1)

    pending = SimpleNamespace(to_dict=lambda: {"state": "pending"}, asnumpy=slow)
    store.log(None, {"loss": 2.0})
    store.log(None, {"loss": [pending]})
    loop = threading.Thread(target=store.drain, args=(True,))
    loop.start()
    assert is_waiting.wait(60)
    store.drain(False)
    assert [value for _, value in store._series["loss"].recent] == [2.0]
    go_on.set()
    join(loop)
    assert [value for _, value in store._series["loss"].recent] == [2.0, 1.0]


def test_the_throughput_counts_what_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that records a hundred steps ahead does not count as faster."""
    now = [100.0]
    monkeypatch.setattr(
        "mixnet.widgets.board.store.time", SimpleNamespace(monotonic=lambda: now[0])
    )
    store, states = Store(), [{"state": "pending"} for _ in range(101)]
    for state in states:
        store.log(None, {"loss": [SimpleNamespace(to_dict=lambda state=state: state)]})
    for computed in (11, 21):
        now[0] += 1
        for state in states[:computed]:
            state["state"] = "ready"
        store.sample(None)
        assert store._speed.recent[-1] == (computed + 1, pytest.approx(10))


def test_a_fast_training_has_its_throughput_in_thousands_everywhere() -> None:
    board = TrainingBoard("net")
    board.log(loss=1.0)
    speed = {"unit": "samples/s", "step": [1, 2], "value": [1000.0, 1650.0]}
    fast = View.of({**board.payload, "throughput": speed})
    assert fast.summary().endswith(", 1.65 k samples/s")
    assert ">1.65 k<" in fast.svg() and ">1650<" not in fast.svg()


def test_values_that_are_not_finite_are_logged_as_events() -> None:
    for value, expected in ((math.nan, "loss is NaN"), (-math.inf, "loss is infinite")):
        board = TrainingBoard("net")
        board.log(loss=value)
        assert board.payload["events"][0]["text"] == expected


def test_many_curves_are_summed_up() -> None:
    board = TrainingBoard("net")
    board.log(**{f"m{number}": number for number in range(12)})
    text = board.summary()
    assert ", m7 7, 4 more curves" in text and "m8 " not in text


def test_a_long_name_leaves_room_for_its_value() -> None:
    board = TrainingBoard("net")
    board.log(**{"a" * 80: 0.123})
    picture = board.svg()
    title = max(re.findall(r">(a+…)<", picture), key=len)
    assert 10 <= len(title) <= 32 and ">0.123<" in picture
