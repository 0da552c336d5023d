"""Training steps that run as one program over devices agree with steps of several programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import mixnet as mx
from mixnet import autograd, gluon, nd
from mixnet.runtime.programs import executable_cache
from mixnet.runtime.programs.executable_cache import bare_call
from mixnet.runtime.record import joint as joint_step
from mixnet.runtime.value.value import Value

CONTEXTS = [mx.cpu(i) for i in range(4)]
RNG = np.random.RandomState(5)
DATA = [(RNG.rand(16, 6).astype("float32"), RNG.randint(0, 3, 16)) for _ in range(6)]


def joint_steps() -> int:
    return mx.runtime.counters()["flushes"].get("step over devices", 0)


def trained(
    after: int, optimizer: str = "sgd", between: Any = None, **options: Any
) -> tuple[dict[str, list[np.ndarray]], int]:
    """Parameters on every context after six steps, and how many of them were one program."""
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(8, activation="relu", in_units=6), gluon.nn.Dense(3, in_units=8))
    mx.random.seed(1)
    net.initialize(mx.init.Xavier(), ctx=CONTEXTS)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, options)
    trainer._prepare()
    trainer._kvstore.handle._steps.after = after
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    before = joint_steps()
    for number, (x, y) in enumerate(DATA):
        parts = [
            (nd.array(x[4 * i : 4 * i + 4], ctx), nd.array(y[4 * i : 4 * i + 4], ctx))
            for i, ctx in enumerate(CONTEXTS)
        ]
        with autograd.record():
            losses = [loss_of(net(a), b) for a, b in parts]
        autograd.backward(losses)
        if between is not None:
            between(number, losses, net, trainer)
        trainer.step(16)
    values = {
        name: [each.asnumpy() for each in parameter.list_data()]
        for name, parameter in net.collect_params().items()
    }
    return values, joint_steps() - before


def check_alike(one: dict[str, list[np.ndarray]], other: dict[str, list[np.ndarray]]) -> None:
    for name, arrays in one.items():
        for array, each in zip(arrays, other[name], strict=True):
            assert np.array_equal(array, arrays[0]), name  # all devices have the same
            assert np.allclose(array, each, rtol=1e-5, atol=1e-6), name


def expected(count: int) -> int:
    """How many steps are one program: none where the contexts share a device."""
    return count if len({context.device for context in CONTEXTS}) == 4 else 0


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [("sgd", {"learning_rate": 0.1, "momentum": 0.9}), ("adam", {"wd": 0.01}), ("lamb", {})],
)
def test_a_joint_step_gives_the_same_parameters(optimizer: str, options: dict[str, float]) -> None:
    separate, none = trained(0, optimizer, **options)
    joint, count = trained(2, optimizer, **options)
    assert (none, count) == (0, expected(4))
    check_alike(joint, separate)


def test_a_step_of_a_module_is_joint() -> None:
    def trained_module(after: int) -> tuple[dict[str, list[np.ndarray]], int]:
        hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="hidden")
        out = mx.sym.FullyConnected(mx.sym.relu(hidden), num_hidden=3, name="out")
        module = mx.mod.Module(mx.sym.SoftmaxOutput(out, name="softmax"), context=CONTEXTS)
        x, y = (np.concatenate(each) for each in zip(*DATA, strict=True))
        batches = mx.io.NDArrayIter(x, y, 16)
        module.bind(batches.provide_data, batches.provide_label)
        mx.random.seed(1)
        module.init_params(mx.init.Xavier())
        options = {"learning_rate": 0.1, "momentum": 0.9}
        module.init_optimizer("device", "sgd", options)
        module._kvstore.handle._steps.after = after
        before = joint_steps()
        for batch in batches:
            module.forward_backward(batch)
            module.update()
        group = module._exec_group
        arrays = zip(group.param_names, group.param_arrays, strict=True)
        values = {name: [each.asnumpy() for each in row] for name, row in arrays}
        return values, joint_steps() - before

    separate, none = trained_module(0)
    joint, count = trained_module(2)
    assert (none, count) == (0, expected(4))
    check_alike(joint, separate)


def stepped() -> tuple[Any, list[nd.NDArray]]:
    """A store after three steps of one parameter, the last ones joint, and the parameter on all devices."""
    store = mx.kv.create("device")
    store.init("w", nd.ones(3))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
    store.handle._steps.after = 1
    weights = [nd.ones(3, ctx) for ctx in CONTEXTS]
    for _ in range(3):
        store._step(["w"], [[nd.ones(3, ctx) for ctx in CONTEXTS]], [weights])
    return store, weights


def test_parameters_of_a_joint_step_share_no_variable() -> None:
    store, weights = stepped()
    variable = nd.zeros(3)
    variable.attach_grad()
    store.pull("w", out=variable)
    with autograd.record():
        total = (variable * 2 + weights[0] * 10).sum()
    total.backward()
    assert variable.grad.asnumpy().tolist() == [2] * 3
    assert [each.asnumpy().tolist() for each in (variable, *weights)] == [[-11] * 3] * 5


def test_gradients_are_summed_before_backward_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA's schedule has one sum for each large gradient and common sums for small ones."""
    if not expected(1):
        pytest.skip("needs four devices")
    texts: list[str] = []

    def noted(compiled: Any) -> Any:
        texts.append(compiled.as_text())
        return bare_call(compiled)

    monkeypatch.setattr(executable_cache, "bare_call", noted)
    net = gluon.nn.HybridSequential()
    net.add(*[gluon.nn.Dense(160, in_units=160) for _ in range(3)])
    net.initialize(ctx=CONTEXTS)
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    trainer._prepare()
    trainer._kvstore.handle._steps.after = 1
    inputs = [nd.ones((2, 160), context) for context in CONTEXTS]
    for _ in range(2):
        with autograd.record():
            losses = [net(x).sum() for x in inputs]
        autograd.backward(losses)
        trainer.step(8)
    nd.waitall()
    assert texts and "is_scheduled=true" in texts[-1]
    lines = texts[-1].partition("\nENTRY")[2].splitlines()
    sums = [i for i, line in enumerate(lines) if " all-reduce(" in line]
    products = [i for i, line in enumerate(lines) if " dot(" in line or "dot_general" in line]
    assert len(sums) == 4 and sums[0] < products[-1]


def test_noise_is_drawn_once_for_all_devices() -> None:
    check_alike(trained(1, "sgld")[0], trained(0, "sgld")[0])


def test_a_custom_optimizer_may_read_arrays() -> None:
    @mx.optimizer.register
    class Reading(mx.optimizer.Optimizer):
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            weight[:] = weight - 0.1 / 16 * nd.array(grad.asnumpy(), weight.context)

    separate, _ = trained(0, "sgd", learning_rate=0.1)
    joint, count = trained(1, "reading")
    assert count == 0
    check_alike(joint, separate)


def test_devices_that_did_not_record_the_same() -> None:
    def look(number: int, losses: list, net: Any, trainer: Any) -> None:
        if number == 3:
            losses[1].asnumpy()  # what was pending on one of them runs now
        if number == 4:
            (losses[2] * 2).asnumpy()

    separate, _ = trained(0)
    joint, count = trained(1, between=look)
    # Each backward is its own program, sums and updates are one.
    assert count == expected(5)
    check_alike(joint, separate)


def test_states_and_rates_in_between(tmp_path: Any) -> None:
    path = str(tmp_path / "states")

    def change(number: int, losses: list, net: Any, trainer: Any) -> None:
        if number == 3:
            trainer.save_states(path)
        if number == 4:
            trainer.load_states(path)
        if number == 5:
            trainer.set_learning_rate(0.01)

    options = {"learning_rate": 0.1, "momentum": 0.9}
    separate, _ = trained(0, between=change, **options)
    joint, count = trained(1, between=change, **options)
    assert count == expected(5)
    check_alike(joint, separate)


def test_a_step_is_planned_again_for_other_arrays_or_another_optimizer() -> None:
    class Halving(mx.optimizer.Optimizer):
        """Reads what it updates."""

        def create_state(self, index: Any, weight: nd.NDArray) -> None:
            return None

        def update(self, index: Any, weight: nd.NDArray, grad: nd.NDArray, state: Any) -> None:
            weight[:] = weight.asnumpy() / 2 - 0.1 * grad.asnumpy()

    def change(number: int, losses: list, net: Any, trainer: Any) -> None:
        store = trainer._kvstore
        if number == 3:  # other gradients, which are zero now
            for each in net.collect_params().values():
                each.grad_req = "add"
                for data in each.list_data():
                    data._fresh_grad = True
        if number == 4:
            store.set_optimizer(Halving())

    (one, steps), (other, none) = trained(1, between=change), trained(0, between=change)
    check_alike(one, other)
    assert (steps, none) == (expected(3), 0)


def test_an_error_before_the_step_loses_nothing() -> None:
    def broken(array: nd.NDArray) -> nd.NDArray:
        return nd.Custom(array, op_type="breaks_in_a_joint_step")

    @mx.operator.register("breaks_in_a_joint_step")
    class _Breaks(mx.operator.CustomOpProp):
        def create_operator(self, *arguments: Any) -> Any:
            class Operator(mx.operator.CustomOp):
                def forward(self, *arguments: Any) -> None:
                    raise ValueError("no gradient today")

                def backward(self, *arguments: Any) -> None:
                    """Not reached."""

            return Operator()

    store, weights = stepped()
    gradients = [nd.ones(3, ctx) for ctx in CONTEXTS]
    gradients[2] = broken(gradients[2])
    store._step(["w"], [gradients], [weights])
    with pytest.raises(mx.MXNetError, match="no gradient today"):
        weights[1].asnumpy()
    store._step(["w"], [[nd.ones(3, ctx) for ctx in CONTEXTS]], [weights])
    assert [each.asnumpy().tolist() for each in weights] == [[-15] * 3] * 4


def test_a_step_donates_the_buffers_of_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    net = gluon.nn.Dense(64, in_units=4096)
    net.initialize(ctx=CONTEXTS)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    trainer._prepare()
    trainer._kvstore.handle._steps.after = 1
    parts = [nd.ones((2, 4096), ctx) for ctx in CONTEXTS]
    original, shapes = joint_step.reusing, []

    def reusing(leaves: Sequence[Value], *arguments: Any) -> Any:
        slots, donated = original(leaves, *arguments)
        shapes.append([leaves[i].spec.shape for i in donated])
        return slots, donated

    monkeypatch.setattr(joint_step, "reusing", reusing)
    for _ in range(4):
        with autograd.record():
            losses = [net(part).sum() for part in parts]
        autograd.backward(losses)
        shapes.clear()
        trainer.step(2)
        nd.waitall()
    if expected(1):
        assert shapes == [[(64, 4096)]]
