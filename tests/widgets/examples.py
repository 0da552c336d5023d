"""One small view of each kind, for the tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable

import mixnet as mx
from mixnet.widgets import ArrayView, View


def array() -> View:
    x = mx.nd.arange(120).reshape((2, 3, 4, 5))
    x.wait_to_read()
    return ArrayView(x)


EXAMPLES: dict[str, Callable[[], View]] = {"array": array}
