"""Exchanges between CPU devices of the process, computed on the host, whose memory they share.

XLA needs a third of a second to compile a program over several devices, and its collectives wake threads
that wait for each other: a sum of small arrays takes ten times as long as in NumPy, one of large arrays
equally long. So sums never need a program. Other exchanges run on NumPy, as programs do, until compiling
them pays off.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import islice
from typing import Any

import jax
import numpy as np

from mixnet.context import Context
from mixnet.ops.schema.over_devices import AXIS, Exchange
from mixnet.ops.tracing.traced import trace_function
from mixnet.runtime.devices.collective import Rows, _sum, interpret_by
from mixnet.runtime.devices.to_device import to_device
from mixnet.runtime.interpret import on_numpy, patience
from mixnet.runtime.interpret.on_numpy.work import Cost, total
from mixnet.runtime.value.value import Spec


def _sums(rows: Rows, contexts: Sequence[Context]) -> Rows:
    """The sum of each row, added in the order of the contexts, on all of them."""
    sums = []
    for row in rows:
        total = np.asarray(reduce(np.add, [np.asarray(each) for each in row]))
        sums.append(_on_all([total] * len(row), contexts))
    return sums


def _on_all(parts: Sequence[np.ndarray], contexts: Sequence[Context]) -> list[Any]:
    """Arrays on their contexts. They share no memory, since a program may reuse the buffer of one."""
    placed: list[Any] = []
    for part, context in zip(parts, contexts, strict=True):
        spec = Spec.of(part.shape, part.dtype, context)
        placed.append(to_device(part if not placed else part.copy(), spec))
    return placed


class _Interpreted:
    """An exchange on NumPy.

    Args:
        exchange: the computation of a device.
        known: shapes and dtypes of the arrays on one device.
        count: how many devices there are.
    """

    def __init__(self, exchange: Exchange, known: Sequence[tuple[Any, Any]], count: int):
        of_all = jax.vmap(lambda *arrays: exchange(arrays), axis_name=AXIS)
        jaxpr = trace_function(of_all, [((count, *shape), dtype) for shape, dtype in known], 0)
        self.run = on_numpy.closed(jaxpr)
        whole = Cost(0, 0, patience.WHOLE_SECONDS)
        self.runs = patience.interpreted_runs(total([on_numpy.cost(jaxpr), whole]))


_MOST = 1000
_interpreted: dict[Any, _Interpreted | None] = {}


def exchanged_on_host(exchange: Exchange, rows: Rows, contexts: Sequence[Context]) -> Rows | None:
    """The results of an exchange; None when a program should compute it.

    Args:
        exchange: see :func:`~mixnet.runtime.devices.collective.run_on_mesh`.
        rows: arrays of one shape and dtype, one for each context.
        contexts: on CPUs.
    """
    if not patience.interprets():
        return None
    if exchange is not _sum:
        return _by_numpy(exchange, rows, contexts)
    # A sum of booleans is a count in XLA, "any" in NumPy.
    if any(row[0].dtype == np.bool_ for row in rows):
        return None
    return on_numpy.quietly(_sums, rows, contexts)


def _by_numpy(exchange: Exchange, rows: Rows, contexts: Sequence[Context]) -> Rows | None:
    known = tuple([(row[0].shape, row[0].dtype) for row in rows])
    key = (exchange, known, len(contexts))
    if key not in _interpreted:
        if len(_interpreted) >= _MOST:
            for each in list(islice(_interpreted, _MOST // 2)):
                _interpreted.pop(each, None)
        try:
            _interpreted[key] = _Interpreted(exchange, known, len(contexts))
        except on_numpy.NoRuleError:
            _interpreted[key] = None
    interpreted = _interpreted.get(key)
    if interpreted is None or interpreted.runs <= 0:
        return None
    interpreted.runs -= 1
    stacked = [np.stack([np.asarray(each) for each in row]) for row in rows]
    results = on_numpy.quietly(interpreted.run, *stacked)
    return [_on_all([np.array(part) for part in result], contexts) for result in results]


interpret_by(exchanged_on_host)
