"""Update rules refuse what does not have the shape of the weight, as MXNet 1.9.1 does: nothing broadcasts."""

from __future__ import annotations

from typing import Any

import pytest

from mixnet import nd
from mixnet.base import ShapeError

RULES: list[tuple[str, int, dict[str, Any]]] = [
    ("sgd_update", 2, {"lr": 0.1}),
    ("nag_mom_update", 3, {"lr": 0.1, "momentum": 0.9}),
    ("ftrl_update", 4, {"lr": 0.1}),
    ("mp_sgd_update", 3, {"lr": 0.1}),
    ("multi_sgd_mom_update", 3, {"lrs": [0.1], "wds": [0], "momentum": 0.9, "num_weights": 1}),
]


@pytest.mark.parametrize(("name", "count", "numbers"), RULES)
def test_arrays_have_the_shape_of_the_weight(name: str, count: int, numbers: Any) -> None:
    rule = getattr(nd, name)
    for place in range(1, count):
        arrays = [nd.ones((2, 2)) for _ in range(count)]
        arrays[place] = nd.ones((1, 2))
        with pytest.raises(ShapeError, match=r"update: \w+ has shape .*\(1, 2\).*same shape"):
            rule(*arrays, out=arrays[0], **numbers)
        assert (arrays[0].asnumpy() == 1).all()
    rule(*[nd.ones((2, 2)) for _ in range(count)], **numbers).wait_to_read()
