"""MXNet 1.9.1 and mixnet read each other's optimizer states; files that request other objects are refused."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as onp
import pytest

import mixnet as mx
from mixnet.base import FileFormatError
from mixnet.optimizer.state_file import dumps, loads
from tests.each_record import each_record
from tests.threads import in_threads

HERE = Path(__file__).parent / "fixtures"
PARITY = Path(__file__).parents[1] / "parity" / "fixtures"
FILES = [
    *sorted(HERE.glob("*.states")),
    *(PARITY / f"{name}.states" for name in ("trainer_sgd", "trainer_adam", "module_mlp-0002")),
]


@each_record("path", FILES, ids=lambda path: path.stem)
def test_states_of_mxnet_are_rewritten_byte_for_byte(path: Path) -> None:
    content = path.read_bytes()
    assert dumps(loads(content)) == content


def _run(name: str, **kwargs: Any) -> bytes:
    """The steps that made the files of this folder under MXNet."""
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, multi_precision=True, **kwargs))
    weight = mx.nd.ones((2,), dtype="float16")
    updater(0, weight * 1, weight)
    weight = mx.nd.ones((2, 3))
    updater("q", weight * 1, weight)
    return updater.get_states(True)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [("adam", {}), ("sgd", {"momentum": 0.9}), ("nadam", {}), ("rmsprop", {"centered": True})],
)
def test_the_same_steps_give_the_same_file(name: str, kwargs: dict[str, Any]) -> None:
    assert _run(name, **kwargs) == (HERE / f"{name}.states").read_bytes()


def test_a_thread_may_train_while_states_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    weight = mx.nd.ones((2,))
    updater(0, weight, weight)
    updater.states.update(dict.fromkeys(range(1, 1000)))  # as many as pickle reads before it writes
    to_bytes = mx.nd.NDArray._to_bytes

    def train_meanwhile(array: mx.nd.NDArray) -> bytes:
        in_threads(1, lambda _: updater(len(updater.states), weight, weight))
        return to_bytes(array)

    monkeypatch.setattr(mx.nd.NDArray, "_to_bytes", train_meanwhile)
    states, _ = loads(updater.get_states(True))
    assert len(states) == 1000
    assert len(updater.states) == 1001


def test_a_scheduler_is_saved_with_its_optimizer(capsys: pytest.CaptureFixture[str]) -> None:
    scheduler = mx.lr_scheduler.MultiFactorScheduler([3, 5], 0.1)
    optimizer = mx.optimizer.SGD(
        learning_rate=0.5,
        momentum=0.9,
        lr_scheduler=scheduler,
        param_idx2name={0: "a_bias", 1: "b"},
    )
    assert "has been overwritten by ``learning_rate``" in capsys.readouterr().out
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.ones((2,))
    updater(0, weight * 1, weight)
    updater(1, weight * 1, weight)
    assert updater.get_states(True) == (HERE / "sched.states").read_bytes()
    other = mx.optimizer.get_updater(mx.optimizer.Adam())
    other.set_states(updater.get_states(True))
    assert type(other.optimizer) is mx.optimizer.SGD
    assert other.optimizer.lr_scheduler.step == [3, 5]
    assert other.optimizer.param_dict == {}
    assert other.states_synced == {0: False, 1: False}


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_training_resumes_from_states_of_mxnet(name: str) -> None:
    numbers = onp.load(PARITY / f"trainer_{name}.npz")
    updater = mx.optimizer.get_updater(mx.optimizer.create(name))
    updater.set_states((PARITY / f"trainer_{name}.states").read_bytes())
    weight, bias = mx.nd.array(numbers["W2"]), mx.nd.array(numbers["B2"])
    x, y = mx.nd.array(numbers["X"]), mx.nd.array(numbers["Y"])
    for each in (weight, bias):
        each.attach_grad()
    for _ in range(2):
        with mx.autograd.record():
            loss = mx.nd.square(mx.nd.FullyConnected(x, weight, bias, num_hidden=2) - y) / 2
            loss = loss.mean(axis=1)
        loss.backward()
        updater([0, 1], [bias.grad, weight.grad], [bias, weight])
    onp.testing.assert_allclose(weight.asnumpy(), numbers["W4"], rtol=1e-5, atol=1e-6)
    onp.testing.assert_allclose(bias.asnumpy(), numbers["B4"], rtol=1e-5, atol=1e-6)


def test_arrays_of_every_kind_are_saved_and_loaded() -> None:
    data = onp.arange(6, dtype="float32").reshape(3, 2)
    states = {
        0: mx.nd.array(data, dtype="float16"),
        1: (None, mx.np.array(data)),
        "a": [mx.nd.array(data).tostype("row_sparse"), onp.float32(0.5), data],
    }
    actual = loads(dumps(states))
    assert type(actual[1][1]) is mx.np.ndarray
    assert actual["a"][0].stype == "row_sparse"
    assert (actual["a"][1], type(actual["a"][1])) == (0.5, onp.float32)
    for each in (actual[0], actual[1][1], actual["a"][0]):
        onp.testing.assert_array_equal(each.asnumpy(), data)
    onp.testing.assert_array_equal(actual["a"][2], data)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_old_and_new_protocols_are_read(protocol: int) -> None:
    class Renamed(pickle._Pickler):  # type: ignore[name-defined]
        def save_global(self, item: Any, name: str | None = None) -> None:
            if item is mx.nd.NDArray:
                self.write(b"cmxnet.ndarray.ndarray\nNDArray\n")
            else:
                super().save_global(item, name)

        def reducer_override(self, item: Any) -> Any:
            if isinstance(item, mx.nd.NDArray):
                return mx.nd.NDArray, (None,), {"handle": bytearray(item._to_bytes())}
            return NotImplemented

    import io

    file = io.BytesIO()
    Renamed(file, protocol).dump({0: mx.nd.array([1.0, 2.0]), 1: None})
    actual = loads(file.getvalue())
    assert actual[0].asnumpy().tolist() == [1, 2]
    assert actual[1] is None


class Thrown:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo thrown",)


def test_a_file_that_asks_for_more_is_refused() -> None:
    for harmful in (Thrown(), [{}, Thrown()]):
        with pytest.raises(FileFormatError, match=r"refer to (posix|nt)\.system"):
            loads(pickle.dumps(harmful))
    with pytest.raises(FileFormatError, match=r"builtins\.eval"):
        loads(b"cbuiltins\neval\n(V1+1\ntR.")
    with pytest.raises(FileFormatError, match="change a class"):
        loads(b"cmxnet.optimizer.optimizer\nSGD\n}Vupdate\nN\x85sb.".replace(b"\x85", b""))
    with pytest.raises(FileFormatError, match="outside the file"):
        loads(b"Pfoo\n.")


def test_broken_files_say_so() -> None:
    content = (HERE / "adam.states").read_bytes()
    for broken in (b"", content[:100], b"hello", content[:200] + b"\xff" * 20 + content[220:]):
        with pytest.raises(FileFormatError, match=r"no optimizer states|corrupted|truncated"):
            loads(broken)


def test_custom_optimizers_are_saved_and_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(mx.optimizer.SGD):
        pass

    Mine.__qualname__ = "Mine"
    monkeypatch.setitem(globals(), "Mine", Mine)
    content = dumps(({}, Mine(learning_rate=0.5)))
    assert b"tests.optimizer.test_state_file" in content
    actual = loads(content)[1]
    assert type(actual) is Mine
    assert actual.lr == 0.5


def test_optimizers_are_pickled_and_copied() -> None:
    import copy

    optimizer = mx.optimizer.LAMB(learning_rate=0.5, param_dict={0: "a parameter"})
    optimizer._update_count([0, 1])
    for actual in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        assert actual.__getstate__() == optimizer.__getstate__()
        assert actual.param_dict == {}
