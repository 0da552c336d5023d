"""fit, score and predict: results, calls and log lines are those of MXNet 1.9.1."""

from __future__ import annotations

import inspect
import logging
import os
import re
import subprocess
import sys
import textwrap
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from tests import processes
from tests.interrupts import press
from tests.module.networks import bound, mlp, samples
from tests.waiting import next_line

LINES = """\
Epoch[0] Batch [0-2] Speed accuracy=0.500000 cross-entropy=1.071139
Epoch[0] Batch [2-4] Speed accuracy=0.125000 cross-entropy=1.185974
Epoch[0] Train-accuracy=0.375000
Epoch[0] Train-cross-entropy=1.113804
Epoch[0] Time cost
Saved checkpoint to "ck-0001.params"
Epoch[0] Validation-accuracy=0.333333
Epoch[0] Validation-cross-entropy=1.154722
Epoch[1] Batch [0-2] Speed accuracy=0.333333 cross-entropy=1.094950
Epoch[1] Batch [2-4] Speed accuracy=0.500000 cross-entropy=1.090576
Epoch[1] Train-accuracy=0.416667
Epoch[1] Train-cross-entropy=1.091363
Epoch[1] Time cost
Saved checkpoint to "ck-0002.params"
Epoch[1] Validation-accuracy=0.333333
Epoch[1] Validation-cross-entropy=1.093117""".splitlines()


def _numbers(line: str) -> tuple[str, list[float]]:
    line = re.sub(r"\tSpeed: [\d.]+ samples/sec", " Speed", line).replace("\t", " ")
    line = re.sub(r"Time cost=\d+\.\d{3}$", "Time cost", line)
    results = [float(each) for each in re.findall(r"\d+\.\d{6}", line)]
    return re.sub(r"\d+\.\d{6}", "#", line), results


def _fitted(**options: object) -> object:
    data, labels, params = samples()
    train = mx.io.NDArrayIter(data, labels, 4)
    module = mx.mod.Module(mlp())
    settings = {"learning_rate": 0.5, "momentum": 0.9}
    module.fit(
        train, eval_metric=["acc", "ce"], num_epoch=2, arg_params=params,
        optimizer_params=settings, **options,
    )  # fmt: skip
    return module


def test_fit_logs_the_lines_of_mxnet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    data, labels, _ = samples()
    validation = mx.io.NDArrayIter(data[:10], labels[:10], 4)
    with caplog.at_level(logging.INFO):
        module = _fitted(
            eval_data=validation,
            batch_end_callback=mx.callback.Speedometer(4, 2),
            epoch_end_callback=mx.callback.do_checkpoint("ck"),
        )
    assert [_numbers(line)[0] for line in caplog.messages] == [_numbers(li)[0] for li in LINES]
    for actual, expected in zip(caplog.messages, LINES, strict=True):
        assert _numbers(actual)[1] == pytest.approx(_numbers(expected)[1], abs=2e-6)
    assert sorted(os.listdir()) == ["ck-0001.params", "ck-0002.params", "ck-symbol.json"]
    bias = module.get_params()[0]["fc1_bias"].asnumpy()
    np.testing.assert_allclose(bias, [-0.35163167, -0.30984294, -0.17153451, -0.1021513], rtol=1e-5)


def test_callbacks_get_what_mxnet_gives_them() -> None:
    data, labels, _ = samples()
    validation = mx.io.NDArrayIter(data[:10], labels[:10], 4)
    batch_ends, ends, scored, batches = [], [], [], []
    _fitted(
        eval_data=validation,
        batch_end_callback=lambda p: batch_ends.append((p.epoch, p.nbatch, set(p.locals))),
        epoch_end_callback=[lambda *a: ends.append((a[0], sorted(a[2]), a[3]))],
        eval_end_callback=lambda p: scored.append((p.epoch, p.nbatch, set(p.locals))),
        eval_batch_end_callback=lambda p: batches.append(p.nbatch),
    )
    assert [each[:2] for each in batch_ends] == [(e, n) for e in range(2) for n in range(6)]
    names = {"self", "train_data", "data_batch", "nbatch", "epoch", "eval_metric", "tic"}
    assert names | {"next_data_batch", "end_of_batch", "data_iter"} <= batch_ends[0][2]
    parameters = ["fc1_bias", "fc1_weight", "fc2_bias", "fc2_weight"]
    assert ends == [(0, parameters, {}), (1, parameters, {})]
    assert [each[:2] for each in scored] == [(0, 3), (1, 3)]
    assert {"actual_num_batch", "eval_batch", "eval_data", "num_batch"} <= scored[0][2]
    assert batches == [0, 1, 2] * 2


def test_callbacks_see_the_variables_of_fit() -> None:
    """MXNet's names, without those that only iterate over callbacks and metrics."""
    data, labels, _ = samples()
    arguments = set(inspect.signature(mx.mod.Module.fit).parameters)
    first = arguments | {"data_batch", "data_iter", "end_of_batch", "epoch", "nbatch"}
    first |= {"next_data_batch", "tic"}
    variables: dict[tuple[int, int], dict[str, Any]] = {}
    module = _fitted(
        eval_data=mx.io.NDArrayIter(data[:10], labels[:10], 4),
        batch_end_callback=lambda p: variables.update({(p.epoch, p.nbatch): dict(p.locals)}),
    )
    assert first <= set(variables[0, 0]) and not {"res", "toc"} & set(variables[0, 0])
    assert first | {"eval_name_vals", "res", "toc"} <= set(variables[1, 0])
    assert [variables[0, n]["end_of_batch"] for n in range(6)] == [False] * 5 + [True]
    assert all(each["self"] is module for each in variables.values())
    assert (variables[1, 3]["epoch"], variables[1, 3]["nbatch"]) == (1, 3)


def test_batches_do_not_outlive_their_callback() -> None:
    batches: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def note(param: Any) -> None:
        batches.append(weakref.ref(param.locals["data_batch"]))
        alive.append(sum(batch() is not None for batch in batches))

    _fitted(batch_end_callback=note)
    assert len(alive) == 12 and max(alive) <= 2


def test_score_and_predict_use_all_batches() -> None:
    data, labels, _ = samples()
    validation = mx.io.NDArrayIter(data[:10], labels[:10], 4)
    module = _fitted()
    assert module.score(validation, "acc") == [("accuracy", pytest.approx(1 / 3))]
    some = dict(module.score(validation, mx.metric.create(["acc", "ce"]), num_batch=2))
    assert some == {"accuracy": 0.375, "cross-entropy": pytest.approx(1.0884331, rel=1e-5)}
    actual = module.predict(validation)
    assert actual.shape == (10, 3)
    expected = [0.37364975, 0.41810933, 0.20824094]
    np.testing.assert_allclose(actual.asnumpy()[-1], expected, rtol=1e-5)
    parts = module.predict(validation, merge_batches=False)
    assert [[each.shape for each in part] for part in parts] == [[(4, 3)], [(4, 3)], [(2, 3)]]
    (listed,) = module.predict(validation, always_output_list=True)
    np.testing.assert_array_equal(listed.asnumpy(), actual.asnumpy())
    assert module.predict(validation, num_batch=1).shape == (4, 3)
    assert module.predict(validation, num_batch=0) == []
    steps = [(o[0].shape, n, b.pad) for o, n, b in module.iter_predict(validation)]
    assert steps == [((4, 3), 0, 0), ((4, 3), 1, 0), ((2, 3), 2, 2)]
    assert module.predict(data[:5]).shape == (5, 3)
    assert module.predict(mx.nd.array(data[:2])).shape == (2, 3)
    with pytest.raises(ValueError, match="eval_data must be of type NDArray or DataIter"):
        module.predict([1, 2])


def test_several_outputs_are_predicted() -> None:
    data = mx.sym.Variable("data")
    module = mx.mod.Module(mx.sym.Group([data * 2, mx.sym.sum(data)]), label_names=None)
    train = mx.io.NDArrayIter(np.ones((6, 2), "float32"), batch_size=3)
    module.bind(train.provide_data, for_training=False)
    module.init_params()
    actual = module.predict(train)
    assert [each.shape for each in actual] == [(6, 2), (2,)]


def test_fit_requires_a_number_of_epochs() -> None:
    data, labels, _ = samples()
    with pytest.raises(AssertionError, match="please specify number of epochs"):
        mx.mod.Module(mlp()).fit(mx.io.NDArrayIter(data, labels, 4))


def test_a_second_fit_continues_the_training(caplog: pytest.LogCaptureFixture) -> None:
    data, labels, _ = samples()
    module = _fitted()
    before = module.get_params()[0]["fc2_bias"].asnumpy()
    with pytest.warns(UserWarning, match="init_params call ignored"):
        module.fit(mx.io.NDArrayIter(data, labels, 4), num_epoch=3, begin_epoch=2)
    assert "Already bound, ignoring bind()" in caplog.messages
    assert abs(module.get_params()[0]["fc2_bias"].asnumpy() - before).max() > 1e-3


def test_features_inside_a_network_can_be_computed() -> None:
    module, batch = bound()
    args, auxs = module.get_params()
    inside = mlp().get_internals()["relu1_output"]
    features = mx.mod.Module(inside, label_names=None)
    features.bind([("data", (4, 5))], for_training=False)
    features.set_params(args, auxs, allow_extra=True)
    features.forward(batch)
    weight, bias = args["fc1_weight"].asnumpy(), args["fc1_bias"].asnumpy()
    expected = np.maximum(batch.data[0].asnumpy() @ weight.T + bias, 0)
    np.testing.assert_allclose(features.get_outputs()[0].asnumpy(), expected, rtol=1e-5)


def test_interrupting_a_training_leaves_nothing_half_done(tmp_path: Path) -> None:
    program = """
        import sys, threading
        import numpy as np
        import mixnet as mx
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64, name="fc")
        net = mx.sym.SoftmaxOutput(net, name="softmax")
        train = mx.io.NDArrayIter(np.ones((64, 256), "float32"), np.zeros(64), 8)
        module = mx.mod.Module(net)
        told = lambda p: print("batch", flush=True) if p.nbatch == 3 and p.epoch == 1 else None
        try:
            module.fit(train, num_epoch=10**6, batch_end_callback=told,
                       epoch_end_callback=mx.callback.do_checkpoint("net"))
        except KeyboardInterrupt:
            mx.nd.waitall()
            own = [t for t in threading.enumerate() if not t.daemon]
            print("interrupted", len(own), flush=True)
    """
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(program))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = processes.Popen(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert next_line(process) == "batch\n"
        time.sleep(0.2)
        output = press(process)
    finally:
        process.kill()
    assert output.startswith("interrupted") and process.returncode == 0
    written = sorted(tmp_path.glob("net*"))
    assert not list(tmp_path.glob(".net*")), "no unfinished file is left"
    for each in written:
        if each.suffix == ".params":
            assert set(mx.nd.load(str(each))) == {"arg:fc_weight", "arg:fc_bias"}
