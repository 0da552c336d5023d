"""StableHLO programs: run by a process that has only JAX, and read as blocks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax import export

import mixnet as mx
from mixnet.gluon import nn, rnn
from mixnet.process import source

ALONE = """
import sys
import numpy as np
from jax import export

folder = sys.argv[1]
program = export.deserialize(bytearray(open(folder + "/net.stablehlo", "rb").read()))
assert program.platforms == ("cpu", "cuda", "tpu"), program.platforms
for name in ("two", "five"):
    np.save(f"{folder}/{name}-out.npy", program.call(np.load(f"{folder}/{name}.npy"))[0])
assert not any(name.partition(".")[0] == "mixnet" for name in sys.modules)
"""


def _convolutional() -> Any:
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, activation="relu"),
        nn.BatchNorm(),
        nn.MaxPool2D(),
        nn.Dropout(0.5),
        nn.Dense(3),
    )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def test_a_process_that_has_only_jax_runs_it_with_any_batch(tmp_path: Path) -> None:
    net = _convolutional()
    two, five = _random(2, 1, 8, 8), _random(5, 1, 8, 8)
    expected = [net(mx.nd.array(x)).asnumpy() for x in (two, five)]
    (path,) = net.export(
        str(tmp_path / "net"), format="stablehlo", dynamic_input_shapes=[("batch", 1, 8, 8)]
    )
    assert path == str(tmp_path / "net.stablehlo")
    np.save(tmp_path / "two.npy", two)
    np.save(tmp_path / "five.npy", five)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
        "JAX_PLATFORMS": "cpu"
    }
    run = subprocess.run(
        [sys.executable, "-P", "-c", ALONE, str(tmp_path)],
        capture_output=True, text=True, check=False, env=environment, cwd=tmp_path, timeout=240
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for name, reference in zip(("two", "five"), expected, strict=True):
        actual = np.load(tmp_path / f"{name}-out.npy")
        np.testing.assert_allclose(actual, reference, rtol=1e-5, atol=1e-6)


def test_a_block_that_trains_on(tmp_path: Path) -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh"), nn.Dense(2))
    net.initialize()
    net.hybridize()
    x = mx.nd.array(_random(3, 5))
    expected = net(x).asnumpy()
    paths = net.export(
        str(tmp_path / "net"), format="stablehlo", dynamic=True,
        dynamic_input_shapes=[(None, 5)], parameters="beside",
    )  # fmt: skip
    assert [Path(each).name for each in paths] == ["net.stablehlo", "net.safetensors"]

    block = mx.gluon.import_stablehlo(paths[0])
    np.testing.assert_allclose(block(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    gradients = []
    for each in (net, block):
        each.hybridize()
        with mx.autograd.record():
            loss = (each(x) ** 2).sum()
        loss.backward()
        gradients.append({n: p.grad().asnumpy() for n, p in each.collect_params().items()})
    assert set(gradients[0]) == set(gradients[1])
    for name, reference in gradients[0].items():
        np.testing.assert_allclose(gradients[1][name], reference, rtol=1e-4, atol=1e-5)
    before = float((block(x) ** 2).sum().asscalar())
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.05})
    trainer.step(1)
    assert float((block(x) ** 2).sum().asscalar()) < before
    assert block(mx.nd.ones((7, 5))).shape == (7, 2)  # another batch

    again = block.export(str(tmp_path / "again"), format="stablehlo")
    np.testing.assert_allclose(
        mx.gluon.import_stablehlo(again[0])(x).asnumpy(), block(x).asnumpy(), rtol=1e-5
    )
    with pytest.raises(mx.MXNetError, match="cannot hold"):
        block.export(str(tmp_path / "again"))


def test_a_symbol_with_a_loss_head_and_two_outputs(tmp_path: Path) -> None:
    data = mx.sym.Variable("data")
    dense = mx.sym.FullyConnected(data, num_hidden=3, name="dense")
    both = mx.sym.Group([mx.sym.SoftmaxOutput(dense, name="softmax"), dense])
    params = {"arg:dense_weight": mx.nd.array(_random(3, 4)), "dense_bias": mx.nd.ones((3,))}
    path = str(tmp_path / "net.stablehlo")
    mx.export.export_stablehlo(both, params, [(2, 4)], path=path, platforms=["cpu"])
    x = _random(2, 4)
    scores = x @ params["arg:dense_weight"].asnumpy().T + 1
    reference = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    block = mx.gluon.import_stablehlo(path)
    for actual, expected in zip(block(mx.nd.array(x)), (reference, scores), strict=True):
        np.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-5)


def test_recurrent_layers_are_exported(tmp_path: Path) -> None:
    net = rnn.LSTM(6, 2)
    net.initialize()
    net.hybridize()
    x = mx.nd.array(_random(4, 2, 3))
    expected = net(x).asnumpy()
    (path,) = net.export(str(tmp_path / "net"), format="stablehlo")
    states = [mx.nd.zeros((2, 2, 6))] * 2  # inputs of the graph, as in MXNet
    actual = mx.gluon.import_stablehlo(path)(x, *states)
    actual = actual[0] if isinstance(actual, list) else actual
    np.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_program_of_jax_itself(tmp_path: Path) -> None:
    def affine(params: Any, x: Any, y: Any) -> Any:
        return {"sum": x @ params["w"] + y}

    struct = jax.ShapeDtypeStruct
    program = export.export(jax.jit(affine))(
        {"w": struct((3, 2), "float32")}, struct((1, 3), "float32"), struct((1, 2), "float32")
    )
    path = tmp_path / "theirs.bin"
    path.write_bytes(program.serialize())
    w = _random(3, 2)
    mx.nd.save(str(tmp_path / "w.params"), {"w": mx.nd.array(w)})
    block = mx.gluon.import_stablehlo(path, params=tmp_path / "w.params")
    actual = block(mx.nd.ones((1, 3)), mx.nd.ones((1, 2)))
    np.testing.assert_allclose(actual.asnumpy(), w.sum(0, keepdims=True) + 1, rtol=1e-5)
    # It was written without its gradient.
    with pytest.raises(mx.MXNetError, match="gradients=True"):
        with mx.autograd.record():
            loss = block(mx.nd.ones((1, 3)), mx.nd.ones((1, 2))).sum()
        loss.backward()
        mx.nd.waitall()
    with pytest.raises(mx.MXNetError, match=r"theirs\.bin takes .* do not fit"):
        block(mx.nd.ones((2, 3)), mx.nd.ones((1, 2)))


def test_an_operator_that_cannot_leave(tmp_path: Path) -> None:
    data = mx.sym.Variable("data")
    with source.source_lines():
        noisy = mx.sym.broadcast_add(data, mx.sym.random.normal(shape=(2, 2), name="noise"))
    with pytest.raises(
        mx.MXNetError, match=r"node 'noise' .* StableHLO: it draws random numbers"
    ) as raised:
        mx.export.export_stablehlo(noisy, {}, [(2, 2)], path=str(tmp_path / "x"))
    assert "test_stablehlo.py" in str(raised.value)
    fixed = mx.sym.reshape(mx.sym.broadcast_add(data, mx.sym.ones((2, 2))), shape=(4,), name="four")
    with pytest.raises(mx.MXNetError, match="cannot be expressed in StableHLO"):
        mx.export.export_stablehlo(fixed, {}, [(2, 2)], path=str(tmp_path / "x"), dynamic=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"platforms": "cpu"}, "is not a list of some of cpu, cuda"),
        ({"platforms": ["abacus"]}, "abacus"),
        ({"parameters": "elsewhere"}, "not one of inside, beside"),
        ({"dynamic_input_shapes": [(None,)]}, "does not match the inputs"),
    ],
)
def test_invalid_arguments_are_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    net = nn.Dense(2)
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((1, 3)))
    with pytest.raises(mx.MXNetError, match=message):
        net.export(str(tmp_path / "net"), format="stablehlo", **options)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    net = nn.Dense(2)
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((1, 3)))
    return Path(net.export(str(tmp_path / "net"), format="stablehlo", parameters="beside")[0])


def test_damaged_files_are_errors(written: Path) -> None:
    content = written.read_bytes()
    changed = bytearray(content)
    changed[len(content) // 2] ^= 8
    for damaged, message in (
        (bytes(changed), "does not match the checksum"),
        (content[:-30], "truncated or damaged"),
        (content[:150], "truncated or damaged"),
        (b"", "not a StableHLO program"),
        (content[128:1000], "not a StableHLO program"),
        (content[128:].replace(b"ML\xefR", b"LM\xefR"), "not a StableHLO program"),
    ):
        written.write_bytes(damaged)
        with pytest.raises(mx.MXNetError, match=message) as raised:
            mx.gluon.import_stablehlo(written)
        assert "net.stablehlo" in str(raised.value)


def test_parameters_that_do_not_fit(written: Path) -> None:
    beside = written.with_suffix(".safetensors")
    arrays = mx.nd.load(str(beside))
    name = next(iter(arrays))
    mx.nd.save(str(beside), {name: mx.nd.ones((9,))})
    with pytest.raises(mx.MXNetError, match=r"the program .* takes"):
        mx.gluon.import_stablehlo(written)
    beside.unlink()
    with pytest.raises(mx.MXNetError, match=r"net\.safetensors"):
        mx.gluon.import_stablehlo(written)
