"""ScalingView: the model by hand, the fit on data that was made with known parameters, measuring."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixnet.base import AttributeTypeError, AttributeValueError
from mixnet.distributed import Measured, MeasuredStep
from mixnet.widgets import ScalingView, measure_scaling
from mixnet.widgets.scaling.fit import fit
from mixnet.widgets.scaling.model import step_parts, throughput
from tests import processes

ROOT = Path(__file__).parents[2]
TRUE = {"t_compute": 2e-4, "batch": 64, "serial": 0.0, "alpha": 3e-5, "beta": 1e-9, "bytes": 5e7}


def run_of(model: dict[str, Any], counts: tuple[int, ...], batch: float = 64, origin: str = "real devices",
           noise: float = 0.0) -> dict[str, Any]:  # fmt: skip
    """A run computed by the formula, which is repeated here."""
    rng = np.random.default_rng(1)
    points = []
    for n in counts:
        seconds = batch * model["t_compute"] * (1 + model["serial"] * (n - 1))
        seconds += 2 * (n - 1) * model["alpha"] + 2 * (n - 1) / n * model["bytes"] * model["beta"]
        seconds *= 1 + noise * rng.standard_normal()
        points.append({"n": n, "thr": n * batch / seconds})
    return {
        "label": "made",
        "origin": origin,
        "batch": batch,
        "bytes": model["bytes"],
        "points": points,
    }


ROUND = {
    "t_compute": 0.01,
    "batch": 10,
    "serial": 0.5,
    "alpha": 0.002,
    "beta": 1e-8,
    "bytes": 3e6,
}
"""A model of round numbers, for results computed by hand."""


def test_a_modelled_step_agrees_with_a_calculation_by_hand() -> None:
    model = {**ROUND, "overlap": 0.1}
    parts = step_parts(model, 4)
    # 0.1 s of computing; 2·3·0.002 = 0.012 of latency, 1.5 · 3e6 · 1e-8 = 0.045 of transfer, 0.01
    # of both hidden.
    assert parts["compute"] == pytest.approx(0.1)
    assert parts["serial"] == pytest.approx(0.15)
    assert parts["hidden"] == pytest.approx(0.01)
    assert parts["latency"] == pytest.approx(0.012 * 47 / 57)
    assert parts["step"] == pytest.approx(0.1 + 0.15 + 0.047)
    assert throughput(model, 4) == pytest.approx(40 / 0.297)


def test_packed_words_are_gathered_not_added() -> None:
    ring = [step_parts(TRUE, n)["transfer"] for n in (2, 32, 64)]
    two_bits = [step_parts(TRUE, n, compression=16)["transfer"] for n in (2, 32, 64)]
    assert two_bits[0] == pytest.approx(ring[0] / 16)
    assert two_bits[1] == pytest.approx(ring[1]), "no fewer bytes from 32 devices on"
    assert two_bits[2] > ring[2]
    assert step_parts(TRUE, 8, compression=2)["transfer"] == pytest.approx(
        step_parts(TRUE, 8)["transfer"] / 2
    )


def test_fit_finds_the_parameters_that_the_data_was_made_with() -> None:
    model, note = fit([run_of(TRUE, (1, 2, 4, 8, 16))])
    assert model is not None and model["r2"] == pytest.approx(1) and model["error"] < 1e-6
    for name in ("t_compute", "alpha", "beta"):
        assert model[name] == pytest.approx(TRUE[name], rel=1e-5)
    assert model["serial"] == 0 and "cannot separate them: serial share" in note


def test_a_model_is_fitted_under_noise() -> None:
    model, _ = fit([run_of(TRUE, (1, 2, 3, 4, 6, 8, 12, 16), noise=0.01)])
    assert model is not None and 0.9 < model["r2"] <= 1 and 0 < model["error"] < 0.05
    assert model["t_compute"] == pytest.approx(TRUE["t_compute"], rel=0.05)
    assert model["beta"] == pytest.approx(TRUE["beta"], rel=0.15)


def test_cores_of_a_host_are_shared() -> None:
    true = {**TRUE, "serial": 0.4, "alpha": 0.0}
    model, note = fit([run_of(true, (1, 2, 4, 8), origin="simulated host devices")])
    assert model is not None and model["serial"] == pytest.approx(0.4) and model["alpha"] == 0
    assert "cannot separate them: latency" in note


def test_two_batches_tell_latency_from_sharing() -> None:
    true = {**TRUE, "serial": 0.2, "alpha": 1e-3}
    runs = [run_of(true, (1, 2, 4, 8), batch) for batch in (16, 128)]
    model, _ = fit(runs)
    assert model is not None
    for name in ("t_compute", "serial", "alpha", "beta"):
        assert model[name] == pytest.approx(true[name], rel=1e-4)


@pytest.mark.parametrize("counts", [(1,), (1, 2), (2, 2)])
def test_too_few_points_are_not_fitted(counts: tuple[int, ...]) -> None:
    view = ScalingView([run_of(TRUE, tuple(dict.fromkeys(counts)))])
    assert view.model is None and "too few" in view.payload["note"]
    with pytest.raises(AttributeValueError, match="too few"):
        view.predict(4)


def test_three_points_fit_two_parameters() -> None:
    model, note = fit([run_of(TRUE, (1, 2, 4))])
    assert model is not None and model["alpha"] == 0 and model["beta"] > 0
    assert "cannot separate them: serial share, latency" in note


def test_faster_than_ideal_gives_no_negative_parameter() -> None:
    points = [{"n": n, "thr": 100.0 * n**1.1} for n in (1, 2, 4, 8)]
    model, _ = fit(
        [{"label": "x", "origin": "real devices", "batch": 1, "bytes": 1e6, "points": points}]
    )
    assert model is not None and min(model["alpha"], model["beta"], model["serial"]) == 0
    assert model["error"] > 0.05, "and says that it is off"


def test_points_are_drawn_by_how_they_were_obtained() -> None:
    view = ScalingView(
        [run_of(TRUE, (1, 2)), run_of(TRUE, (1, 2), origin="simulated host devices")]
    )
    text = view.svg()
    assert text.count('<circle class="m') == 5, "two points in two panels, and the legend"
    assert {row[1] for row in view.table()[1]} == {"real devices", "simulated host devices"}
    assert "simulated host devices" in text and "real devices" in text


def test_a_model_that_is_passed_is_used_unchanged() -> None:
    # Chen et al., 2015: 1.574 s a batch of 144 on one machine, about 50 MB over 10 Gbit/s.
    model = {"t_compute": 1.574 / 144, "batch": 144, "bytes": 5e7, "beta": 8e-10}
    view = ScalingView([], model=model)
    ten = view.predict(10) / view.predict(1)
    assert ten == pytest.approx(10 * 1.574 / (1.574 + 1.8 * 5e7 * 8e-10))
    assert 9 < ten < 10


def test_errors_name_the_wrong_value() -> None:
    run = run_of(TRUE, (1, 2))
    with pytest.raises(AttributeValueError, match="nothing was measured"):
        ScalingView([])
    with pytest.raises(
        AttributeTypeError, match="as returned by measure_scaling, got a list of str"
    ):
        ScalingView(["x"])  # type: ignore[list-item]
    with pytest.raises(AttributeValueError, match="has no batch"):
        ScalingView([{key: run[key] for key in run if key != "batch"}])
    with pytest.raises(AttributeValueError, match=r"origin: expected one of real devices.*'cloud'"):
        ScalingView([{**run, "origin": "cloud"}])
    with pytest.raises(AttributeValueError, match="thr=0"):
        ScalingView([{**run, "points": [{"n": 1, "thr": 0}]}])
    with pytest.raises(AttributeValueError, match="1 to 1e12 samples per epoch"):
        ScalingView([run], samples=0)
    with pytest.raises(AttributeValueError, match="unknown speed"):
        ScalingView([], model={"t_compute": 1, "batch": 1, "speed": 3})
    with pytest.raises(AttributeValueError, match=r"expected different counts.*\(0,\)"):
        measure_scaling(lambda contexts: print, (0,))
    with pytest.raises(AttributeTypeError, match="return the step, do not run it"):
        measure_scaling(lambda contexts: 3, (1,), kind="cpu")  # type: ignore[arg-type, return-value]


def test_parameter_servers_agree_with_a_calculation_by_hand() -> None:
    # 8 workers, 2 servers of which each carries 4 times 3 MB at 10 ns a byte, once in and once out.
    served = {**ROUND, "jitter": 1.0, "servers": 2}
    parts = step_parts(served, 8)
    assert parts["transfer"] == pytest.approx(2 * 4 * 0.03) and parts["latency"] == pytest.approx(
        0.004
    )
    assert parts["waiting"] == 0, "without synchronization, no worker waits for a slow one"
    assert step_parts(served, 8, compression=16)["transfer"] == pytest.approx((1 + 1 / 16) * 0.12)
    assert step_parts({**served, "servers": 8}, 8)["transfer"] == pytest.approx(2 * 0.03)


def test_the_slowest_of_exponential_times() -> None:
    times = np.random.default_rng(0).exponential(0.01, (100_000, 5))
    drawn = (times.max(axis=1) - times.mean(axis=1)).mean()
    assert step_parts({**TRUE, "jitter": 0.01}, 5)["waiting"] == pytest.approx(drawn, rel=0.02)


def measured(counts: tuple[int, ...], wrong: float = 1.0) -> Measured:
    """Steps computed by the formula, repeated here; with 3 or more workers ``wrong`` times as long."""
    steps = []
    for n in counts:
        exchange = 2 * (n - 1) * 1e-3 + 2 * (n - 1) / n * 1e7 * 2e-9
        waiting = 0.004 * (sum(1 / k for k in range(1, n + 1)) - 1)
        seconds = (0.03 + waiting + exchange) * (wrong if n > 2 else 1)
        steps.append(
            MeasuredStep(n, seconds, seconds, seconds, 0.03, exchange, waiting, 2e-3 * (n - 1), 1e7)
        )
    return Measured("made", 16, 10_000_000, None, 5, tuple(steps))


def test_two_points_calibrate_and_the_others_check() -> None:
    view = ScalingView(measured((1, 2, 3, 4)))
    model = view.model
    assert model is not None and model["calibrated"] == [1, 2] and model["error"] < 1e-9
    assert model["alpha"] == pytest.approx(1e-3) and model["beta"] == pytest.approx(2e-9)
    assert model["jitter"] == pytest.approx(0.004) and model["t_compute"] == pytest.approx(
        0.03 / 16
    )
    assert model["serial"] == model["overlap"] == 0
    off = ScalingView(measured((1, 2, 3, 4), wrong=1.25)).model
    assert off is not None and [each["n"] for each in off["checked"]] == [3, 4]
    assert off["error"] == pytest.approx(0.25), (
        "the others are not fitted, so the model is seen to be wrong"
    )
    assert off["beta"] == pytest.approx(2e-9)


def test_what_the_whole_step_takes_less_than_its_parts_is_overlap() -> None:
    measurement = measured((1, 2))
    first, second = measurement.steps
    hidden = replace(second, seconds=second.seconds - 0.006)
    view = ScalingView(replace(measurement, steps=(first, hidden)))
    assert view.model is not None and view.model["overlap"] == pytest.approx(0.2)  # of 30 ms
    assert view.model["error"] is None and "measure a third device count" in view.payload["note"]
    assert view.predict(2) == pytest.approx(32 / hidden.seconds)


def test_what_the_whole_step_takes_more_than_its_parts_is_exchange() -> None:
    measurement = measured((1, 2))
    first, second = measurement.steps
    longer = replace(second, seconds=second.seconds + 0.02)
    view = ScalingView(replace(measurement, steps=(first, longer)))
    assert view.model is not None and view.model["overlap"] == 0
    # 20 ms for 10 MB, and 20 ms more.
    assert view.model["beta"] == pytest.approx((0.02 + 0.02) / 1e7)
    assert view.predict(2) == pytest.approx(32 / longer.seconds)


def test_cores_that_are_shared_show_in_computing() -> None:
    measurement = measured((2, 3, 4))
    steps = tuple(
        replace(each, compute=0.02 * (1 + 0.5 * (each.workers - 1))) for each in measurement.steps
    )
    model = ScalingView(replace(measurement, steps=steps)).model
    assert model is not None and model["calibrated"] == [2, 3]
    assert model["serial"] == pytest.approx(0.5) and model["t_compute"] == pytest.approx(0.02 / 16)


def test_bars_of_what_was_measured_and_of_the_model() -> None:
    view = ScalingView(measured((1, 2, 3)))
    text = view.svg()
    for label in ("1 measured", "2 model", "3 measured", "exchange, measured alone"):
        assert label in text
    uses = [row[-1] for row in view.table()[1]]
    assert uses == ["calibrates", "calibrates", "checks"]


def test_first_sight_names_only_what_is_drawn() -> None:
    measured = ScalingView.ten_machines()
    assert "measured points" in measured.payload["sight"]["text"]
    alone = ScalingView([], model=measured.payload["model"])
    assert "Nothing was measured" in alone.payload["sight"]["text"]


def test_ten_machines_are_modelled_as_in_the_paper() -> None:
    view = ScalingView.ten_machines()
    seconds = 1_281_167 / view.predict(10)
    assert 1400 <= seconds < 1480  # the paper says 1,400; that none of it overlaps costs 5 %
    assert 1_281_167 / view.predict(1) == pytest.approx(14_000)
    assert "a weak check" in view.payload["note"]


PROGRAM = """
import json
import mixnet as mx
from mixnet import autograd, gluon

steps = []

def make_step(contexts):
    steps.append([str(each) for each in contexts])
    net = gluon.nn.Dense(4, in_units=3)
    net.initialize(ctx=contexts)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore="device")
    parts = [mx.nd.ones((8, 3), ctx=each) for each in contexts]
    def step():
        with autograd.record():
            losses = [net(x).sum() for x in parts]
        autograd.backward(losses)
        trainer.step(8 * len(contexts))
    return step

runs = mx.widgets.measure_scaling(make_step, (4, 1, 2), repeats=3, batch=8, gradient_bytes=64)
view = mx.widgets.ScalingView(runs)
try:
    mx.widgets.measure_scaling(make_step, (1, 9), kind="cpu")
except mx.MXNetError as error:
    message = str(error)
print(json.dumps([steps, runs, view.payload["note"], message]))
"""


def test_measured_on_several_cpu_devices_of_one_process() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "MIXNET_CPU_DEVICES"}
    done = processes.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          env={**environment, "PYTHONPATH": str(ROOT)}, timeout=240)  # fmt: skip
    assert done.returncode == 0, done.stderr
    counts, (run,), note, message = json.loads(done.stdout.splitlines()[-1])
    assert counts[0] == ["cpu(0)", "cpu(1)", "cpu(2)", "cpu(3)"] and len(counts) == 3
    assert run["origin"] == "simulated host devices" and run["batch"] == 8 and run["bytes"] == 64
    assert [point["n"] for point in run["points"]] == [1, 2, 4]
    for point in run["points"]:
        assert 0 < point["lo"] <= point["thr"] <= point["hi"] and point["repeat"] == 3
    assert "simulated host devices" in note
    assert "9 CPU devices" in message and "MIXNET_CPU_DEVICES=9" in message
