"""Operations of Python operators are counted under their names, as in MXNet 1.9.1."""

from __future__ import annotations

import json
from typing import Any

import mixnet as mx
from mixnet import autograd, nd, profiler


class Doubled(mx.operator.CustomOp):
    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        nd.zeros((5, 5))
        self.assign(out_data[0], req[0], in_data[0] + 1)

    def backward(
        self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
    ) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@mx.operator.register("counted_doubled")
class DoubledProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> mx.operator.CustomOp:
        return Doubled()


def test_custom_operators_and_the_operators_that_they_call_have_rows(config: dict) -> None:
    profiler.set_config(profile_all=True, **config)
    profiler.set_state("run")
    try:
        profiler.dumps(reset=True)
        x = nd.ones((3, 3))
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x, op_type="counted_doubled")
        y.backward()
        nd.waitall()
        times = json.loads(profiler.dumps(format="json"))["Time"]
    finally:
        profiler.set_state("stop")
    actual = set(times["Custom Operator"])
    assert {
        "counted_doubled::pure_python",
        "counted_doubled::_zeros",
        "counted_doubled::_plus_scalar",
        "_backward_counted_doubled::pure_python",
        "_backward_counted_doubled::_mul_scalar",
    } <= actual
    assert not any("::" in name for name in times["operator"])
