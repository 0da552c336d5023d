"""Programs that run modules by hand: two networks against each other, losses in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import mixnet as mx
from mixnet.module.executor_group import DataParallelExecutorGroup


def test_two_modules_train_against_each_other() -> None:
    """A generator learns from the gradient that the discriminator has for its input."""
    generated = mx.sym.FullyConnected(mx.sym.Variable("noise"), num_hidden=2, name="g")
    judged = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="d")
    judged = mx.sym.LogisticRegressionOutput(judged, mx.sym.Variable("label"), name="out")
    generator = mx.mod.Module(generated, data_names=["noise"], label_names=None)
    generator.bind([("noise", (4, 3))])
    judge = mx.mod.Module(judged, label_names=["label"])
    judge.bind([("data", (4, 2))], [("label", (4,))], inputs_need_grad=True)
    for module in (generator, judge):
        module.init_params(mx.init.Constant(0.1))
        module.init_optimizer(optimizer_params={"learning_rate": 1.0})
    noise = mx.io.DataBatch([mx.nd.ones((4, 3))], [])
    generator.forward(noise, is_train=True)
    images = generator.get_outputs()
    judge.forward(mx.io.DataBatch(images, [mx.nd.ones((4,))]), is_train=True)
    judge.backward()
    difference = judge.get_input_grads()
    generator.backward(difference)
    generator.update()
    # by NumPy
    weight, inputs = np.full((2, 3), 0.1), np.ones((4, 3))
    score = (inputs @ weight.T) @ np.full((1, 2), 0.1).T + 0
    slope = (1 / (1 + np.exp(-score)) - 1) * 0.1
    np.testing.assert_allclose(difference[0].asnumpy(), np.repeat(slope, 2, 1), rtol=1e-5)
    expected = weight - np.repeat(slope, 2, 1).T @ inputs / 4
    actual = generator.get_params()[0]["g_weight"].asnumpy()
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


class Identity(mx.operator.CustomOp):
    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0])

    def backward(
        self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
    ) -> None:
        self.assign(in_grad[0], req[0], out_data[0] - in_data[1].reshape((-1, 1)))


@mx.operator.register("distance_for_modules")
class Distance(mx.operator.CustomOpProp):
    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
        return Identity()


def test_a_custom_loss_declares_the_shape_of_its_label() -> None:
    scores = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    net = mx.sym.Custom(data=scores, name="loss", op_type="distance_for_modules")
    assert net.infer_shape(data=(4, 5))[0] == [(4, 5), (1, 5), (1,), (4,)]
    data = np.arange(20, dtype="float32").reshape(4, 5) / 20
    train = mx.io.NDArrayIter(data, data.sum(1), 4, label_name="loss_label")
    module = mx.mod.Module(net, label_names=["loss_label"])
    module.fit(
        train, num_epoch=40, eval_metric="mse", optimizer_params={"learning_rate": 0.2},
        initializer=mx.init.Zero(),
    )  # fmt: skip
    assert dict(module.score(train, "mse"))["mse"] < 0.05


def test_a_program_may_bind_a_module_itself() -> None:
    """As MXNet's ``bind`` does it, which programs copy to change it."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.binded = module.for_training = True
    module._data_shapes, module._label_shapes = [mx.io.DataDesc("data", (2, 3))], None
    module._exec_group = DataParallelExecutorGroup(
        module._symbol, module._context, module._work_load_list, module._data_shapes,
        module._label_shapes, module._param_names, True, False, None, logger=module.logger,
        fixed_param_names=module._fixed_param_names, state_names=module._state_names,
    )  # fmt: skip
    module._total_exec_bytes = module._exec_group._total_exec_bytes
    module._arg_params = {"fc_weight": mx.nd.zeros((1, 3))}
    module._aux_params = {}
    module.init_params(mx.init.One())
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))], None))
    assert module.get_outputs()[0].asnumpy().tolist() == [[3], [3]]
    assert module._total_exec_bytes >= 0
