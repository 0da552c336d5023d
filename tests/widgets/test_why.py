"""Why? Answers agree with the recorded facts, in Python, in payloads, and on pages without a kernel."""

from __future__ import annotations

import gc
import sys

import pytest

import mixnet as mx
from mixnet.base import AttributeTypeError, MXNetError
from mixnet.gluon import nn
from mixnet.runtime.compile import watch
from mixnet.runtime.interpret.on_numpy.work import Cost
from mixnet.runtime.programs import decision, executable_cache
from mixnet.widgets import EngineTimeline, HybridizeStepper, MemoryView, ScalingView, View, page
from mixnet.widgets.why.fused import rule
from mixnet.widgets.why.layout import METHODS
from mixnet.widgets.why.still import MOST_PRINTED
from tests.widgets.examples import small_symbol


def convolutional() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.Conv2D(2, 1), nn.Flatten(), nn.Dense(3))
    net.initialize()
    return net


def test_recompilation_is_explained() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(2), nn.Dropout(0.5))
    net.initialize()
    (answer,) = mx.why(net)
    assert "It is not hybridized" in answer.text
    net.hybridize()
    (answer,) = mx.why(net)
    assert "has not been called" in answer.text
    net(mx.nd.ones((2, 3)))
    net(mx.nd.ones((2, 3)))
    (answer,) = mx.why(net)
    assert answer.text == "One graph was compiled." and len(answer.more) == 1
    net(mx.nd.ones((5, 3)))
    with mx.autograd.record():
        net(mx.nd.ones((5, 3)))
    net.cast("float16")
    net(mx.nd.ones((5, 3), dtype="float16"))
    (answer,) = mx.why(net)
    assert len(answer.more) == 1, "cast() drops what was compiled"
    net.cast("float32")
    for call in (mx.nd.ones((2, 3)), mx.nd.ones((5, 3))):
        net(call)
    with mx.autograd.record():
        net(mx.nd.ones((5, 3)))
    (answer,) = mx.why(net)
    assert "3 graphs were compiled" in answer.text
    assert "shape (2, 3) -> (5, 3)" in answer.more[1]
    assert answer.more[2].endswith("train mode: False -> True.")


@pytest.mark.usefixtures("compiling_at_once")
def test_recompilation_of_a_line_is_explained() -> None:
    watch.reset()
    for size, dtype in ((3001, "float32"), (3002, "float32"), (3002, "float64")):
        array = mx.nd.ones((size,), dtype=dtype)
        array.wait_to_read()
        (array * 2 - 0.5).asnumpy()
    (actual,) = [each for each in mx.why() if any("_mul_scalar" in fact for fact in each.more)]
    assert actual.text == "3 programs were compiled for this line."
    assert any("gets shapes (3002,) instead of (3001,)" in each for each in actual.more)
    assert any("gets dtypes float64 instead of float32" in each for each in actual.more)


@pytest.mark.usefixtures("compiling_at_once")
def test_an_attribute_that_changed_is_named() -> None:
    watch.reset()
    array = mx.nd.ones((3003, 2))
    array.wait_to_read()
    for axis in (0, 1):
        array.sum(axis=axis).asnumpy()
    assert any("axis=(1,) instead of (0,)" in fact for each in mx.why() for fact in each.more)


class TestWhyItIsAlive:
    def test_a_parameter_and_its_gradient(self) -> None:
        net = nn.Dense(2, in_units=3, prefix="held_")
        net.initialize()
        x = mx.nd.ones((1, 3))
        with mx.autograd.record():
            loss = net(x).sum()
        loss.backward()
        mx.nd.waitall()
        assert "It is the data of parameter held_weight." in all_of(mx.why(net.weight.data()))
        assert "It is the gradient of parameter held_weight." in all_of(mx.why(net.weight.grad()))

    def test_why_tolerates_modules_whose_import_is_blocked(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "a_blocked_module", None)
        array = mx.nd.ones((2,))
        assert "the variable array" in all_of(mx.why(array))

    def test_what_the_tape_keeps_and_frees(self) -> None:
        w, answers = mx.nd.ones((3,)), []
        w.attach_grad()
        with mx.autograd.record():
            u = w * 2
            v = u * u
        v.wait_to_read()
        answers.append(all_of(mx.why(u)))
        v.backward()
        mx.nd.waitall()
        answers.append(all_of(mx.why(u)))
        assert (
            "saved for the gradient of elemwise_mul" in answers[0]
            or "saved for the gradient of broadcast_mul" in answers[0]
        )
        assert "saved for" not in answers[1] and "the variable u of" in answers[1]

    def test_a_state_of_the_optimizer(self) -> None:
        net = nn.Dense(1, in_units=1)
        net.initialize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
        with mx.autograd.record():
            loss = net(mx.nd.ones((1, 1)))
        loss.backward()
        trainer.step(1)
        mx.nd.waitall()
        (updater,) = trainer._updaters
        state = updater.states[0]
        assert "a state of the optimizer SGD" in all_of(mx.why(state))

    def test_pending_arrays_are_explained(self) -> None:
        x = mx.nd.ones((3,)) * 2
        assert "not been computed yet" in all_of(mx.why(x))


def all_of(answers: list) -> str:
    (answer,) = answers
    return " ".join([answer.text, *answer.more])


class TestKept:
    def test_an_activation_is_saved_for_its_gradient(self) -> None:
        view = MemoryView(small_symbol(), data=(8, 12), xla=False)
        holders = view.payload["why"]["kept"]["of"]
        for number, graph in enumerate(view.payload["graphs"]):
            arrays, names = graph["arrays"], graph["steps"]["name"]
            turn = graph["regions"][0]["end"]
            for i, readers in enumerate(arrays["readers"]):
                text = holders[f"{number}/{i}"][0]
                assert readers == [] or arrays["end"][i] > readers[-1]
                if arrays["kind"][i] == "O":
                    assert "It is an output" in text
                elif readers:
                    assert (
                        f"{names[readers[-1]]} reads it last, at step {readers[-1] + 1} of" in text
                    )
                    assert ("saved for a gradient" in text) == (arrays["kind"][i] == "A")
                    assert arrays["kind"][i] != "A" or readers[-1] >= turn
        (answer,) = mx.why(view, "act")
        assert "saved for a gradient" in answer.text

    def test_prediction_saves_nothing(self) -> None:
        view = MemoryView(small_symbol(), data=(8, 12), train=False, xla=False)
        assert not any(
            "gradient" in text for text, *_ in view.payload["why"]["kept"]["of"].values()
        )

    def test_live_memory_names_the_owner_of_each_array(self) -> None:
        gc.collect()  # networks of other tests
        with mx.runtime.memory() as log:
            net = nn.Dense(3000, in_units=3000, prefix="wide_")  # the largest of all
            net.initialize()
            mx.nd.waitall()
        view = MemoryView.live(log)
        texts = [text for text, *_ in view.payload["why"]["kept"]["of"].values()]
        assert "It was alive when the view was made: the data of parameter wide_weight." in texts


def row(
    number: int,
    times: tuple[int, int, int, int],
    reads: list,
    writes: list,
    thread: str = "mixnet compute:cpu(0) 0",
) -> dict:
    keys = ("pushed", "ready", "started", "ended")
    return {
        "number": number,
        "name": f"task{number}",
        "resource": "compute:cpu(0)",
        "priority": 0,
        "thread": thread,
        "reads": reads,
        "writes": writes,
        "source": None,
        "error": None,
        **dict(zip(keys, times, strict=True)),
    }


class TestWaited:
    def test_for_a_write_for_a_read_and_for_a_thread(self) -> None:
        rows = [
            row(0, (0, 0, 0, 1000), [], [["batch", 1]]),
            row(1, (0, 0, 0, 2000), [], [["weights", 1]], "mixnet compute:cpu(0) 1"),
            row(2, (10, 2000, 2000, 3000), [["batch", 1], ["weights", 1]], [["loss", 1]]),
            row(3, (20, 3000, 3000, 3500), [], [["weights", 2]]),
            row(4, (30, 30, 3500, 3600), [], [["other", 1]]),
        ]
        view = EngineTimeline(rows)
        of = view.payload["why"]["waited"]["of"]
        assert set(of) == {"0/2", "0/3", "0/4"}, "the first two did not wait"
        assert of["0/2"] == [
            "It waited 1.99 µs for an array: task1 wrote weights, which this task reads. That "
            "was the last to finish.",
            "Before that, task0 wrote batch, which this task reads.",
        ]
        assert "task2 read weights, which this task writes" in of["0/3"][0]
        assert of["0/4"] == [
            "It was ready, and waited 3.47 µs for a thread. mixnet compute:cpu(0) 0 ran task3, "
            "task2, task0 meanwhile."
        ]
        (answer,) = mx.why(view, "task3")
        assert answer.ask == "Why did it wait?"
        view.choose(selected=[0, 2])
        assert mx.why(view)[0].of == "task2"

    def test_only_the_longest_waits_are_answered_for(self) -> None:
        rows = [row(i, (i, 2 * i, 10_000 + i, 10_001 + i), [], [["a", i + 1]]) for i in range(3000)]
        of = EngineTimeline(rows).payload["why"]["waited"]["of"]
        assert len(of) == 1000


class TestInterpretedOrCompiled:
    def test_the_decision_is_recorded_for_each_task(self) -> None:
        x = mx.nd.ones((37, 41))
        x.wait_to_read()
        with EngineTimeline() as view:
            (x * 3 + 1).wait_to_read()
            with mx.runtime.compiling_at_once():
                (x * 5 - 2).wait_to_read()
        of = view.payload["why"]["ran"]["of"]
        first, second = (text for (text,) in of.values())
        assert "It was interpreted, its 2 operations one by one on NumPy" in first
        assert (
            "before its first run: MIXNET_INTERPRET=0 or mx.runtime.compiling_at_once()" in second
        )
        assert "Why interpreted or compiled?" in {answer.ask for answer in view._printed_answers()}

    def test_a_program_is_compiled_when_its_runs_have_cost_as_much(self) -> None:
        x = mx.nd.ones((333, 334))
        x.wait_to_read()
        with EngineTimeline() as view:
            for _ in range(300):
                (mx.nd.dot(x, x.T) * 2).wait_to_read()
        texts = list(dict.fromkeys(text for (text,) in view.payload["why"]["ran"]["of"].values()))
        assert [text.split(",")[0] for text in texts] == [
            "It was interpreted",
            "It was still interpreted",
            "It was compiled",
        ]
        runs = texts[0].split("After ")[1].split(" ")[0]
        assert f"after {runs} runs that were interpreted" in texts[2]
        *_, last = [each for each in decision.of_lines() if __file__ in each]
        (answer, *_) = mx.why(last.rsplit("/")[-1])
        assert answer.text == texts[2] and answer.more == (f"Before: {texts[0]}",)

    def test_a_large_program_is_compiled_before_its_first_run(self) -> None:
        key = [(None,)] * 3, (), (), mx.cpu(), (0, 0)
        slow = type("Slow", (), {"cost": Cost(2.0, 1.0, 0.1), "is_python": False})
        slow.__len__ = lambda self: 3
        assert "one interpreted run is estimated at 2 s" in decision.sentence(
            executable_cache._first(key, slow())
        )

    def test_a_line_that_ran_nothing(self) -> None:
        with pytest.raises(MXNetError, match=r"no program is recorded for the line 'gone.py:1'"):
            mx.why("gone.py:1")


def test_the_static_form_prints_answers() -> None:
    view = MemoryView(small_symbol(), data=(8, 12), xla=False)
    still = view.html()
    answer = still[still.index("<summary>Why is it still in memory?</summary>") :]
    assert "<b>act</b>: It is saved for a gradient" in answer
    assert answer.count("<li>") == MOST_PRINTED


class TestFusedAndLayout:
    def test_the_rule_between_two_pieces(self) -> None:
        assert "The second is a library call" in rule("fusion", "library call", 1, False)
        assert "leaves the program" in rule("fusion", "kernel", 3, True)
        assert "3 times" in rule("fusion", "kernel", 3, False)
        assert "records no reason" in rule("fusion", "kernel", 1, False)

    def test_look_answers_questions(self) -> None:
        view = mx.look(convolutional(), mx.nd.ones((2, 3, 8, 8)))
        p = view.payload
        by_label = {label: name for name, label in p["labels"].items()}
        row = str(p["graph"]["names"].index(by_label["Conv2D 1"]))
        assert p["lowered"][row][:2] == ["Convolution_channels_last", "dot"]
        assert METHODS["dot"] in p["why"]["layout"]["of"][row][0]
        for key, texts in p["why"]["fused"]["of"].items():
            of = [i for i, piece in enumerate(p["pieces"]) if int(key) in piece["rows"]]
            assert all(
                f"runs in piece {i + 1} " in text
                for text in texts
                for i in of
                if f"in piece {i + 1} (" in text[:60]
            )
        questions = {answer.ask for answer in mx.why(view, "Conv2D 1")}
        assert {"Why this layout?", "Why is it still in memory?"} <= questions
        with pytest.raises(MXNetError, match=r"nothing is named 'conv9'; the names are "):
            mx.why(view, "conv9")

    def test_the_stepper_answers_questions(self) -> None:
        net = convolutional()
        net.hybridize()
        x = mx.nd.ones((2, 3, 8, 8))
        net(x)
        view = HybridizeStepper(net, mx.nd.ones((4, 3, 8, 8)))
        (answer,) = mx.why(view)
        assert "data: shape (2, 3, 8, 8) -> (4, 3, 8, 8)" in answer.text
        groups = view.payload["programs"][0]["groups"]
        for key, texts in view.payload["why"]["fused"]["of"].items():
            group = groups[int(key.split("/")[1])]
            assert all(
                f"Piece {k + 1} " in text for k, text in zip(group["reads"], texts, strict=False)
            )


def test_slower_than_the_model() -> None:
    point = {"compute": 0.1, "exchange": 0.05, "waiting": 0.0, "message": 0.001}
    points = [
        {"n": 1, "thr": 640.0, **point, "exchange": 0.0},
        {"n": 2, "thr": 2 * 64 / 0.15, **point},
        {"n": 4, "thr": 4 * 64 / 0.5, **point, "waiting": 0.3},
    ]
    run = {
        "label": "net",
        "origin": "processes of one machine",
        "batch": 64,
        "bytes": 1e6,
        "points": points,
    }
    view = ScalingView([run])
    (answer,) = mx.why(view)
    assert answer.of == "net, 4 devices" and "A step on 4 devices took 500 ms" in answer.text
    assert answer.text.endswith("Most of it is waiting for the slowest worker.")


def test_answers_are_stored_with_the_view() -> None:
    view = MemoryView(small_symbol(), data=(8, 12), xla=False)
    packed = page.unpack(page.pack(view.payload))
    again = View.of(packed, {"plan": "both", "selected": 0})
    assert str(mx.why(again)) == str(mx.why(view, again.selected))


def test_questions_without_facts_are_errors() -> None:
    with pytest.raises(
        AttributeTypeError, match=r"why: int has no recorded data. Ask about a HybridBlock"
    ):
        mx.why(3)
    with pytest.raises(AttributeTypeError, match=r"a name \('x'\) asks about a part of a view"):
        mx.why(mx.nd.ones((1,)), "x")
    assert "No data was recorded that would answer this." in str(mx.why(EngineTimeline([])))
